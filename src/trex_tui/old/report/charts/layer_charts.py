"""Charts of the times of layers: by what they do, along the execution, and the slowest first."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import accumulate, groupby

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.filter import format_operand
from trex_tui.old.analysis.short_names import ShortTactics
from trex_tui.old.analysis.structure import UNKNOWN, Total, sum_latency_ms, total_by
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.absence import no_layer, no_profile
from trex_tui.old.report.charts import column_charts, value_charts
from trex_tui.old.report.charts.coloring import color_layers
from trex_tui.old.report.charts.figure import (
    BAR_SIGN,
    HERE,
    HERE_STYLE,
    MUTED,
    PRIMARY,
    SECONDARY,
    WARNING,
    Bar,
    BarPart,
    Bars,
    Chart,
    Columns,
    Curve,
    Figure,
    Flag,
    Key,
    Mark,
    Scale,
    Subject,
    Target,
    Tick,
    has_times,
    kind_keys,
    layer_target,
    nice_step,
)
from trex_tui.old.report.charts.value_charts import find_quantity
from trex_tui.old.text import format_count, format_ms, format_pct, plural

NO_TACTIC = "(no kernel named)"
MOST_OF_IT = 80.0
"""Percent of the time covered by the layers named in the Pareto chart."""
_HASH = re.compile(r"_0x[0-9a-fA-F]{6,}|_[0-9a-f]{16,}$|_myl\d+_\d+$")


# By group


def time_by_kind(subject: Subject) -> Figure:
    """Draw time by kind."""
    kinds = {kind.value: kind for kind in LayerKind}
    return _shares(
        subject, "kind", lambda layer: layer.kind.value, lambda key: subject.palette.kind(kinds[key])
    )


def time_by_precision(subject: Subject) -> Figure:
    """Draw time by precision."""
    if subject.layers and not any(layer.precision for layer in subject.layers):
        return Figure(("Precision of these layers unknown.",))
    precisions = {dtype.value: dtype for dtype in DataType}
    return _shares(
        subject,
        "precision",
        lambda layer: layer.precision.value if layer.precision else None,
        lambda key: subject.palette.precision(precisions.get(key)),
    )


def kinds_by_color(subject: Subject) -> Figure:
    """Draw time by kind, each bar divided by a column, by default the precision."""
    figure = time_by_kind(subject)
    if not isinstance(figure.form, Bars):
        return figure
    coloring = color_layers(subject, "precision")
    is_timed = sum_latency_ms(subject.layers) is not None
    sizes: dict[tuple[str, str], list[float]] = {}
    for layer in subject.layers:
        size = (layer.latency_ms or 0.0) if is_timed else 1.0
        sizes.setdefault((layer.kind.value, coloring.group(layer).text), []).append(size)
        sizes.setdefault(("", coloring.group(layer).text), []).append(size)
    unit = " ms" if is_timed else ""

    def parts(kind: str) -> Iterator[BarPart]:
        for group in coloring.groups:
            if each := sizes.get((kind, group.text)):
                size = math.fsum(each)
                number = format_ms(size) if is_timed else format_count(size)
                yield BarPart(size, f"{group.text}  {number}{unit}", group.style, group.pattern)

    bars = [replace(bar, parts=tuple(parts(bar.label))) for bar in figure.form.bars]
    whole = math.fsum(part.value for part in parts("")) or 1.0
    shares = ", ".join(
        f"{group.text} {format_pct(100.0 * part.value / whole)} %"
        for group, part in zip(coloring.groups, parts(""), strict=True)
    )
    words = f"Of the {'time' if is_timed else 'layers'}, by {coloring.column.name}: {shares}."
    keys = [key for key, part in zip(coloring.pattern_keys, parts(""), strict=True) if part.value > 0]
    return Figure((*figure.words, words), figure.missing, replace(figure.form, bars=bars, keys=keys))


def reformats_by_origin(subject: Subject) -> Figure:
    """Draw the time of reformats by origin, quantizations that run as reformats included."""
    column = ALL_COLUMNS_BY_NAME["origin"]

    def origin(layer: Layer) -> str | None:
        text: str | None = column.value(subject.engine, layer)
        return text

    layers = [layer for layer in subject.layers if layer.kind is LayerKind.REFORMAT or origin(layer)]
    if subject.layers and not layers:
        return Figure(("No reformats here.",))
    style = subject.palette.kind(LayerKind.REFORMAT)

    def filter_of(key: str) -> str:
        kind = f" kind:{LayerKind.REFORMAT.value}" if key == UNKNOWN else ""
        return _group_filter("origin", key) + kind

    return _shares(replace(subject, layers=layers), "origin", origin, lambda _: style, filter_of=filter_of)


def time_by_tactic(subject: Subject) -> Figure:
    """Draw time by kernel."""
    if subject.layers and not any(layer.tactic for layer in subject.layers):
        return Figure(("No kernel names here.",))
    kinds = _main_kinds(subject.layers)

    def style(key: str) -> str:
        return MUTED if key == NO_TACTIC else subject.palette.kind(kinds[key])

    shown = Counter(kind for key, kind in kinds.items() if key != NO_TACTIC)
    keys = kind_keys(shown, subject.palette.kind, lambda _: BAR_SIGN)
    tactics: dict[str, dict[str, None]] = {}
    for layer in subject.layers:
        if layer.tactic:
            tactics.setdefault(tactic_group(layer.tactic), {})[layer.tactic] = None

    def filter_of(key: str) -> str:
        return f"tactic={','.join(map(format_operand, tactics[key]))}" if key in tactics else "tactic:none"

    figure = _shares(subject, "kernel", lambda layer: tactic_group(layer.tactic), style, keys, filter_of)
    if isinstance(figure.form, Bars):
        names = ShortTactics(kinds)
        figure = replace(figure, form=replace(figure.form, fit=names.fit))
    hashed = [name for group, names in tactics.items() for name in names if name != group]
    if hashed and figure.form:
        note = f" {plural(len(hashed), 'generated kernel')} without their hashes."
        return replace(figure, words=(figure.words[0] + note, *figure.words[1:]))
    return figure


@lru_cache(maxsize=4096)
def tactic_group(name: str | None) -> str:
    """Return a kernel's name without the hash that distinguishes generated kernels of the same operators."""
    return _HASH.sub("", name) if name else NO_TACTIC


def _main_kinds(layers: Sequence[Layer]) -> dict[str, LayerKind]:
    """Return, for each kernel, the kind of layers with most of its time."""
    times: dict[str, dict[LayerKind, float]] = {}
    for layer in layers:
        of_kernel = times.setdefault(tactic_group(layer.tactic), {})
        of_kernel[layer.kind] = of_kernel.get(layer.kind, 0.0) + (layer.latency_ms or 0.0)
    return {kernel: max(of_kernel, key=of_kernel.__getitem__) for kernel, of_kernel in times.items()}


def _shares(
    subject: Subject,
    what: str,
    key: Callable[[Layer], str | None],
    style: Callable[[str], str],
    keys: Sequence[Key] = (),
    filter_of: Callable[[str], str] | None = None,
) -> Figure:
    """Return totals as bars: name, number of layers, milliseconds, share.

    Args:
        what: Description of a group.
        filter_of: Filter for a group; by default `what` is a column.
    """
    filter_of = filter_of or partial(_group_filter, what)
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    totals = total_by(subject.engine, key, subject.layers)
    times = [total.latency_ms for total in totals if total.latency_ms is not None]
    current = subject.shown_current
    here = (key(current) or UNKNOWN) if current is not None else None
    is_timed = bool(times)
    bars = [
        Bar(
            total.key,
            (total.latency_ms or 0.0) if is_timed else float(total.layers),
            (format_count(total.layers), format_ms(total.latency_ms), format_pct(total.latency_pct))[
                : 3 if is_timed else 1
            ],
            style(total.key),
            total.key == here,
            target=Target(
                total.key, _describe_group(total, is_timed=is_timed), filter_text=filter_of(total.key)
            ),
        )
        for total in totals
    ]
    headings, unit = (("n", "ms", "%"), "time, ms") if is_timed else (("n",), "layers")
    form = Bars(bars, headings, unit, keys, partial(_describe_rest, totals, is_timed=is_timed))
    counted = f"{plural(len(subject.layers), 'layer')} in {plural(len(totals), what)}"
    if not is_timed:
        missing = subject.engine.explain_absence(
            "Layer counts (times need --exportProfile).", ArtifactKind.PROFILE
        )
        return Figure((f"Layers by {what}: {counted}.",), (missing,), form)
    share = sum(total.latency_pct or 0.0 for total in totals)
    words = f"Time by {what}: {counted}, {format_ms(sum(times))} ms, {format_pct(share)} % of the engine."
    untimed = sum(layer.latency_ms is None for layer in subject.layers)
    lacking = (f"{plural(untimed, 'layer')} without a time counted as layers only.",) if untimed else ()
    return Figure((words,), lacking, form)


def _group_filter(column: str, key: str) -> str:
    """Return the filter for the layers of a group of a column's values."""
    return f"{column}:{'none' if key == UNKNOWN else format_operand(key)}"


def _describe_group(total: Total, *, is_timed: bool) -> str:
    layers = plural(total.layers, "layer")
    times = f"  {format_ms(total.latency_ms)} ms  {format_pct(total.latency_pct)} %"
    return layers + times if is_timed else layers


def _describe_rest(totals: Sequence[Total], first: int, *, is_timed: bool) -> str:
    """Return the sum of the totals from an index on."""
    rest = totals[first:]
    words = f"and {len(rest)} more: {plural(sum(total.layers for total in rest), 'layer')}"
    time = sum(total.latency_ms or 0.0 for total in rest)
    return f"{words}, {format_ms(time)} ms" if is_timed else words


# Along the execution


def layers_in_order(subject: Subject) -> Figure:
    """Draw a value of each layer, by default its time, in execution order."""
    layers = subject.layers
    if not layers:
        return Figure((no_layer(subject.engine),))
    quantity = find_quantity(subject)
    known = quantity.known
    if not known:
        return Figure((quantity.explain_nothing(subject.engine),))
    coloring = color_layers(subject, "kind")
    values = [quantity.scaled(layer) or 0.0 for layer in layers]
    largest = max(known, key=lambda layer: quantity.values[layer.index] or 0.0)
    words = (
        f"{quantity.title} of each layer in execution order: {plural(len(layers), 'layer')}{quantity.sum_text}; the "
        f"{quantity.superlative} is layer {largest.index} with {quantity.text(largest)}.",
        *describe_crowding(len(layers), subject.width, f"the {quantity.superlative} of them"),
    )
    missing = quantity.describe_missing("left empty") if len(known) < len(layers) else ()
    current = subject.shown_current
    flags = [Flag(index, HERE, "", HERE_STYLE) for index, layer in enumerate(layers) if layer is current]
    form = columns_of_layers(
        layers,
        values,
        [coloring.style(layer) for layer in layers],
        quantity.axis,
        keys=coloring.legend(layer for layer in layers if quantity.values[layer.index]),
        flags=flags,
    )
    return Figure(words, missing, form)


def precision_in_order(subject: Subject) -> Figure:
    """Draw the precision of each layer in execution order: a column per layer, a level per precision."""
    layers = subject.layers
    if not layers:
        return Figure((no_layer(subject.engine),))
    if not any(layer.precision for layer in layers):
        return Figure(("Precision of these layers unknown.",))
    known = {layer.precision for layer in layers if layer.precision is not None}
    levels = sorted(known, key=lambda dtype: (dtype.bits, dtype.value))
    level_of = {dtype: float(level) for level, dtype in enumerate(levels, start=1)}
    runs = [(dtype, len(list(run))) for dtype, run in groupby(layers, key=lambda layer: layer.precision)]
    counts = Counter(dtype for dtype, _ in runs)
    parts = [
        f"{dtype.value if dtype else UNKNOWN} {plural(counts[dtype], 'run')}, longest "
        f"{max(length for each, length in runs if each is dtype)}"
        for dtype in sorted(counts, key=lambda dtype: (dtype is None, dtype.value if dtype else ""))
    ]
    words = (
        f"Precision of each layer in execution order: {plural(len(layers), 'layer')} in "
        f"{plural(len(runs), 'run')} of one precision: {'; '.join(parts)}.",
        *describe_crowding(len(layers), subject.width, "the widest precision of them"),
    )
    current = subject.shown_current

    def target(index: int) -> Target:
        layer = layers[index]
        time = "" if layer.latency_ms is None else f"  {format_ms(layer.latency_ms)} ms"
        return kind_target(layer, f"{layer.precision.value if layer.precision else UNKNOWN}{time}")

    form = Columns(
        [level_of[layer.precision] if layer.precision else 0.0 for layer in layers],
        [subject.palette.precision(layer.precision) for layer in layers],
        Scale(
            0.0,
            float(len(levels)),
            "precision",
            words=lambda level: levels[round(level) - 1].value if level else "",
            is_count=True,
        ),
        "layer",
        partial(_index_ticks, layers),
        target,
        [Key(BAR_SIGN, dtype.value, subject.palette.precision(dtype)) for dtype in levels],
        flags=[Flag(index, HERE, "", HERE_STYLE) for index, layer in enumerate(layers) if layer is current],
    )
    unknown = sum(layer.precision is None for layer in layers)
    lacking = (f"{plural(unknown, 'layer')} of unknown precision left empty.",) if unknown else ()
    return Figure(words, lacking, form)


def columns_of_layers(
    layers: Sequence[Layer],
    values: Sequence[float],
    styles: Sequence[str],
    y_title: str,
    *,
    keys: Sequence[Key] = (),
    flags: Sequence[Flag] = (),
) -> Columns:
    """Return a column for each layer in execution order; the title ends with the unit of the values."""
    unit = y_title.rpartition(", ")[2]
    return Columns(
        values,
        styles,
        Scale(0.0, max(values) or 1.0, y_title),
        "layer",
        partial(_index_ticks, layers),
        lambda index: kind_target(layers[index], f"{values[index]:.5g} {unit}"),
        keys,
        flags=flags,
    )


def kind_target(layer: Layer, figures: str) -> Target:
    """Return a layer with its kind and values."""
    return layer_target(layer, f"{layer.kind.value}  {figures}")


def describe_crowding(count: int, width: int, shown: str) -> tuple[str, ...]:
    """Return a sentence on layers that share columns, and on those shown."""
    return (
        (f"About {-(-count // width)} layers share a column, which shows {shown}.",) if count > width else ()
    )


def _index_ticks(layers: Sequence[Layer], most: int) -> list[Tick]:
    """Return the indices of layers, which have gaps under a filter."""
    count = len(layers)
    step = max(1, -(-count // max(1, most)))
    round_steps = (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000)
    step = next((round_step for round_step in round_steps if round_step >= step), step)
    return [((rank + 0.5) / count, str(layers[rank].index)) for rank in range(0, count, step)]


# The slowest first


@dataclass(frozen=True, slots=True)
class Pareto:
    """Layers by time.

    Attributes:
        layers: Layers with a time, the slowest first.
        shares_pct: Share of each in the time of all of them.
        cumulative_pct: Share of the first, the first two, and so on; the last is 100.
        most: Number of layers that take `MOST_OF_IT` percent together.
    """

    layers: tuple[Layer, ...]
    shares_pct: tuple[float, ...]
    cumulative_pct: tuple[float, ...]
    most: int


def compute_pareto(layers: Sequence[Layer]) -> Pareto | None:
    """Sort layers by time and add up; None if none has a time."""
    timed = sorted(
        (layer for layer in layers if layer.latency_ms is not None),
        key=lambda layer: (-(layer.latency_ms or 0.0), layer.index),
    )
    sums = list(accumulate(layer.latency_ms or 0.0 for layer in timed))
    if not sums or sums[-1] <= 0:
        return None
    shares = tuple(100.0 * (layer.latency_ms or 0.0) / sums[-1] for layer in timed)
    cumulative = tuple(100.0 * time / sums[-1] for time in sums)
    most = next(count for count, pct in enumerate(cumulative, start=1) if pct >= MOST_OF_IT)
    return Pareto(tuple(timed), shares, cumulative, most)


def pareto(subject: Subject) -> Figure:
    """Draw the cumulative share of the time over the layers, slowest first."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    data = compute_pareto(subject.layers)
    if data is None:
        return Figure((no_profile(subject.engine),))
    layers, count = data.layers, len(data.layers)
    total = sum(layer.latency_ms or 0.0 for layer in layers)
    words = [
        f"Cumulative time, slowest layers first: {data.most} of {plural(count, 'layer')} "
        f"({100.0 * data.most / count:.0f} %) take {data.cumulative_pct[data.most - 1]:.1f} % of "
        f"{format_ms(total)} ms."
    ]
    here = next((index for index, layer in enumerate(layers) if layer is subject.current), None)
    if here is not None:
        words.append(
            f"Layer {layers[here].index} is number {here + 1} by time; up to it, {data.cumulative_pct[here]:.1f} %."
        )
    untimed = len(subject.layers) - count
    missing = (f"{plural(untimed, 'layer')} without a time excluded.",) if untimed else ()
    form = Columns(
        data.shares_pct,
        [PRIMARY] * count,
        Scale(0.0, 100.0, "% of the time"),
        "layers, slowest first",
        partial(_rank_ticks, count),
        lambda index: kind_target(
            layers[index],
            f"{format_ms(layers[index].latency_ms)} ms  {format_pct(data.shares_pct[index])} %",
        ),
        [Key("━", "added up", SECONDARY), Key(BAR_SIGN, "each layer", PRIMARY)],
        Curve("added up", data.cumulative_pct, SECONDARY),
        [
            Mark(MOST_OF_IT, f"{MOST_OF_IT:g} %", WARNING, is_level=True, short=""),
            Mark(
                (data.most - 0.5) / count,
                f"{MOST_OF_IT:g} % in {plural(data.most, 'layer')}",
                WARNING,
                top=MOST_OF_IT,
            ),
        ],
        [] if here is None else [Flag(here, HERE, "", HERE_STYLE)],
    )
    return Figure(tuple(words), missing, form)


def _rank_ticks(count: int, most: int) -> list[Tick]:
    """Return round ranks out of `count`, and the first."""
    step = max(1, round(nice_step(count / max(2, most))))
    ranks = [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))
    return [((rank - 0.5) / count, str(rank)) for rank in ranks]


def _has_precisions(engine: Engine) -> bool:
    return any(layer.precision for layer in engine.layers)


def _has_tactics(engine: Engine) -> bool:
    return any(layer.tactic for layer in engine.layers)


def _has_reformats(engine: Engine) -> bool:
    origin = ALL_COLUMNS_BY_NAME["origin"]
    return any(
        layer.kind is LayerKind.REFORMAT or origin.value(engine, layer) is not None for layer in engine.layers
    )


CHARTS = (
    Chart(
        "kind",
        "Time by kind",
        "Time by layer kind.",
        time_by_kind,
        untimed=("Layers by kind", "Number of layers by kind."),
    ),
    Chart(
        "precision",
        "Time by precision",
        "Time by layer precision.",
        time_by_precision,
        needs=_has_precisions,
        untimed=("Layer precisions", "Number of layers by precision."),
    ),
    Chart(
        "kind-precision",
        "Kind by precision",
        "Precisions of each layer kind.",
        kinds_by_color,
        has_color=True,
    ),
    Chart(
        "tactic",
        "Time by kernel",
        "Time by kernel name.",
        time_by_tactic,
        needs=_has_tactics,
        untimed=("Layers by kernel", "Number of layers by kernel name."),
    ),
    Chart(
        "reformats",
        "Reformats",
        "Reformat time by origin.",
        reformats_by_origin,
        needs=_has_reformats,
        untimed=("Reformats", "Number of reformats by origin."),
    ),
    Chart(
        "layers",
        "Layers in order",
        "Layer times in execution order.",
        layers_in_order,
        has_value=True,
        has_color=True,
        needs=has_times,
    ),
    Chart(
        "precision-order",
        "Precision order",
        "Precision of the layers in execution order.",
        precision_in_order,
        needs=_has_precisions,
    ),
    *column_charts.CHARTS,
    *value_charts.CHARTS,
    Chart("pareto", "Pareto", "Cumulative time by layer.", pareto, needs=has_times),
)
