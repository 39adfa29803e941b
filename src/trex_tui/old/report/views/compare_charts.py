"""Charts of a comparison: times of groups of layers or of blocks, the bars of all engines below each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from trex_tui.old.analysis.compare.model import Comparison, Difference, letter
from trex_tui.old.analysis.compare.reasons import CAUSE_NAMES
from trex_tui.old.analysis.filter import format_operand
from trex_tui.old.analysis.structure import UNKNOWN
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.absence import no_layer
from trex_tui.old.report.charts.coloring import PATTERNS
from trex_tui.old.report.charts.figure import (
    BAR_SIGN,
    Bar,
    BarPart,
    Bars,
    Chart,
    Figure,
    Key,
    Subject,
    Target,
    kind_keys,
)
from trex_tui.old.report.charts.grid import shorten
from trex_tui.old.report.colours import kind_style
from trex_tui.old.report.document import ChartReference, Section
from trex_tui.old.report.views.compare import (
    ComparisonNames,
    Matrix,
    Shown,
    block_name,
    find_rows,
    sections,
    signed_ms,
)
from trex_tui.old.text import format_count, format_ms, plural, printable

_STYLES = ("$secondary", "$primary", "$accent", "$success", "$warning", "$error")
"""Of the engines, in their order; the letter before each bar distinguishes them without colour."""
_MOST_GROUPS_DRAWN = 12
"""Groups in a picture."""
_SECTIONS = {"compare-block": "blocks"}
"""Chart -> its section, where the names differ."""
_MOST_BLOCKS = 500
"""Blocks with the largest differences."""


@dataclass(frozen=True, slots=True)
class _Group:
    """The bars of a group.

    Attributes:
        layers, latency_ms, deltas_ms: By engine, as in `Row` and `Block`.
        filter_text: Filter for its layers; empty if there is none.
        layer: Index of its first layer in the engine of the chart; None for groups, and where it has none.
    """

    name: str
    layers: Sequence[int]
    latency_ms: Sequence[float | None]
    deltas_ms: Sequence[float | None]
    filter_text: str = ""
    layer: int | None = None


def _draw_matrix(shown: Shown, matrix: Matrix, _: Subject) -> Figure:
    has_filter = matrix is not Matrix.MODULE
    groups = [
        _Group(
            printable(row.key) or f"(no {matrix.value})",
            row.layers,
            row.latency_ms,
            row.deltas_ms,
            f"{matrix.value}:{'none' if row.key == UNKNOWN else format_operand(row.key)}"
            if has_filter
            else "",
        )
        for row in find_rows(shown.comparison, matrix)
    ]
    return _draw(shown, groups, matrix.value, shorten)


def _draw_blocks(shown: Shown, subject: Subject) -> Figure:
    comparison = shown.comparison
    engines = comparison.engines
    own = next(
        (place for place, engine in enumerate(engines) if engine is subject.engine), comparison.baseline
    )
    names = ComparisonNames(comparison)
    blocks = shown.blocks[:_MOST_BLOCKS]
    groups = [
        _Group(
            block_name(comparison, block),
            [len(layers) for layers in block.layers],
            [time if layers else None for time, layers in zip(block.latency_ms, block.layers, strict=True)],
            [comparison.delta_ms(block, place) for place in range(len(engines))],
            layer=next(iter(block.layers[own]), None),
        )
        for block in blocks
    ]
    by_name = {group.name: block for group, block in zip(reversed(groups), reversed(blocks), strict=True)}

    def fit(name: str, width: int) -> str:
        return names.fit_block(by_name[name], width)

    return _draw(shown, groups, "block", fit)


def _draw(shown: Shown, groups: Sequence[_Group], what: str, fit: Callable[[str, int], str]) -> Figure:
    if not groups:
        return Figure((no_layer(shown.comparison.engines[shown.comparison.baseline]),))
    comparison, places = shown.comparison, shown.columns
    is_timed = any(time is not None for group in groups for time in group.latency_ms)
    bars = [
        bar for group in groups for bar in _group_bars(group, places, comparison.baseline, is_timed=is_timed)
    ]
    unit = "ms per sample" if comparison.per_batch else "ms"
    headings = ("", "n", unit, "Δ") if is_timed else ("", "n")
    keys = [
        Key(BAR_SIGN, f"{letter(place)} {printable(comparison.sides[place].label)}", _style(place))
        for place in places
    ]
    form = Bars(
        bars,
        headings,
        f"time, {unit}" if is_timed else "layers",
        keys,
        partial(_describe_rest, len(groups), len(places), what),
        _MOST_GROUPS_DRAWN * len(places) + 1,
        together=len(places),
        fit=lambda name, width: fit(name, width) if name else "",
    )
    words = f"Time by {what}, the largest difference first: {plural(len(groups), what)}."
    if not is_timed:
        damaged = [engine for engine in comparison.engines if engine.find_damage(ArtifactKind.PROFILE)]
        engine = (damaged or comparison.engines)[0]
        why = engine.explain_need("needs --exportProfile", ArtifactKind.PROFILE)
        words = f"Layers by {what}: {plural(len(groups), what)}. No layer times ({why})."
    left = len(shown.blocks) - len(groups) if what == "block" else 0
    return Figure(
        (words,), (f"{plural(left, 'block')} with smaller differences not shown.",) if left else (), form
    )


def _style(place: int) -> str:
    return _STYLES[place % len(_STYLES)]


def _group_bars(group: _Group, places: Sequence[int], baseline: int, *, is_timed: bool) -> Iterator[Bar]:
    """Yield a bar for each engine; the first has the name of the group."""
    for number, place in enumerate(places):
        count, time = group.layers[place], group.latency_ms[place]
        delta = "" if place == baseline else signed_ms(group.deltas_ms[place])
        texts = (letter(place), format_count(count), *((format_ms(time), delta) if is_timed else ()))
        figures = "  ".join(
            (
                plural(count, "layer"),
                *((f"{format_ms(time)} ms", f"Δ {delta} ms" if delta else "") if is_timed else ()),
            )
        )
        yield Bar(
            "" if number else group.name,
            time if is_timed else float(count),
            texts,
            _style(place),
            target=Target(f"{letter(place)}  {group.name}", figures.rstrip(), group.layer, group.filter_text),
        )


def _describe_rest(groups: int, engines: int, what: str, first: int) -> str:
    left = groups - first // engines
    return f"and {left} more {what}s" if left != 1 else f"and 1 more {what}"


def comparison_charts(shown: Shown) -> tuple[Chart, ...]:
    """Return the charts of a comparison: one per matrix, and that of the blocks."""
    matrices = (
        Chart(
            f"compare-{matrix.value}",
            f"Compare by {matrix.value}",
            f"Time of each engine by {matrix.value}.",
            partial(_draw_matrix, shown, matrix),
        )
        for matrix in Matrix
    )
    return (
        *matrices,
        Chart(
            "compare-block",
            "Compare blocks",
            "Time of each engine in each block.",
            partial(_draw_blocks, shown),
        ),
    )


def reasons_figure(comparison: Comparison, difference: Difference) -> Figure | None:
    """Draw a waterfall from the layer sum of the baseline to that of an engine, a step per cause.

    Returns:
        None if a sum is unknown, or without a cause.
    """
    before, after = (
        comparison.sides[index].latency_sum_ms for index in (comparison.baseline, difference.engine)
    )
    if not before or after is None or not difference.reasons:
        return None
    steps = [(CAUSE_NAMES[reason.cause], reason.delta_ms) for reason in difference.reasons]
    if signed_ms(difference.unattributed_ms).strip("+−") != signed_ms(0.0):
        steps.append(("unknown times", difference.unattributed_ms))
    bars = [_sum_bar(comparison, comparison.baseline, before)]
    level = before
    for name, delta in steps:
        low, size = max(0.0, min(level, level + delta)), abs(delta)
        style = "$error" if delta > 0 else "$success"
        parts = (BarPart(low, "", style, " "), BarPart(size, name, style, "█"))
        bars.append(Bar(name, low + size, (signed_ms(delta),), style, parts=parts))
        level += delta
    bars.append(_sum_bar(comparison, difference.engine, after))
    unit = "ms per sample" if comparison.per_batch else "ms"
    first, last = letter(comparison.baseline), letter(difference.engine)
    words = f"Layer sums of {first} and {last}, and the causes of the difference: {signed_ms(after - before)} {unit}."
    keys = [Key(BAR_SIGN, "slower", "$error"), Key(BAR_SIGN, "faster", "$success")]
    return Figure((words,), form=Bars(bars, (unit,), f"layer time, {unit}", keys), marks_layer=False)


def _sum_bar(comparison: Comparison, place: int, time: float) -> Bar:
    label = f"{letter(place)} {printable(comparison.sides[place].label)}"
    return Bar(label, time, (format_ms(time),), _style(place))


def kinds_figure(shown: Shown) -> Figure | None:
    """Draw the layer times by kind, a stacked bar for each engine; None if no engine has times."""
    comparison = shown.comparison
    rows = [row for row in comparison.by_kind if any(row.latency_ms)]
    if not rows:
        return None
    kinds = {row.key: LayerKind(row.key) for row in rows}
    patterns = {row.key: PATTERNS[number % len(PATTERNS)] for number, row in enumerate(rows)}
    bars = []
    for place in shown.columns:
        parts = tuple(
            BarPart(time, f"{row.key}  {format_ms(time)} ms", kind_style(kinds[row.key]), patterns[row.key])
            for row in rows
            if (time := row.latency_ms[place])
        )
        total = sum(part.value for part in parts)
        label = f"{letter(place)} {printable(comparison.sides[place].label)}"
        bars.append(Bar(label, total, (format_ms(total),), _style(place), parts=parts))
    weights = {kinds[row.key]: sum(time or 0.0 for time in row.latency_ms) for row in rows}
    keys = kind_keys(weights, kind_style, lambda kind: patterns[kind.value])
    unit = "ms per sample" if comparison.per_batch else "ms"
    words = f"Layer times by kind: {plural(len(bars), 'engine')}."
    return Figure((words,), form=Bars(bars, (unit,), f"layer time, {unit}", keys), marks_layer=False)


def find_chart(shown: Shown, what: str) -> Chart:
    """Return the chart of the times by kind, precision, module or block."""
    return next(chart for chart in comparison_charts(shown) if chart.id == f"compare-{what}")


def sections_with_charts(shown: Shown) -> Iterator[Section]:
    """Yield the sections of a comparison; those with times of groups or blocks have a chart."""
    engine = shown.comparison.engines[shown.comparison.baseline]
    charts = {
        _SECTIONS.get(chart.id, chart.id.replace("compare-", "by-")): chart
        for chart in comparison_charts(shown)
    }
    for section in sections(shown):
        chart = charts.get(section.id)
        if chart is not None and section.tables:
            is_printed = chart.id == "compare-block"  # The first page has the kinds.
            section = replace(section, charts=[ChartReference(chart.id, engine, chart, is_printed)])
        yield section
