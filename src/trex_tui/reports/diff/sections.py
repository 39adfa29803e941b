"""A comparison as sentences and tables, which text, Markdown and HTML then only draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from trex_tui.analysis.compare.model import Block, Comparison, Difference, Row, Verdict
from trex_tui.analysis.latency import end_to_end
from trex_tui.reports.diff.choice import Shown, change_words, layers_of, letter, signed_ms
from trex_tui.text import MISSING, format_bytes, format_ms, plural, printable, shorten_middle

MOST_REASONS = 8
MOST_GROUPS = 12
_WORDS = {"Engines": 5, "Layers": 3}
"""Section -> how many columns of its table come before the numbers; one elsewhere."""
LEAST_PART = 12
"""Cells of a part in a list, or the end of the whole is left out."""
SMALLEST_MS = 0.00005
"""Less is shown as zero."""


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and cells, all harmless text.

    Attributes:
        wide: Columns that give way where there is no room: texts.
        lists: Columns whose texts are parts with `; ` between, each about another engine.
    """

    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    wide: frozenset[int] = frozenset({0})
    lists: frozenset[int] = frozenset()

    def fitted(self, column: int, text: str, width: int) -> str:
        """A cell's text in so many cells: its middle gives way; of parts the end of each, so that none passes for another."""
        return _fitted_parts(text, width) if column in self.lists else shorten_middle(text, width)


def _fitted_parts(text: str, width: int) -> str:
    parts = text.split("; ")
    left = width - 2 * (len(parts) - 1)
    if len(parts) == 1:
        return shorten_middle(text, width)
    if len(text) <= width:
        return text
    if left < LEAST_PART * len(parts):
        return _head(text, width)
    # The shortest takes what it needs, and what it leaves goes to the next.
    for waiting, place in enumerate(sorted(range(len(parts)), key=lambda place: len(parts[place]))):
        parts[place] = _head(parts[place], left // (len(parts) - waiting))
        left -= len(parts[place])
    return "; ".join(parts)


def _head(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences, and perhaps a table.

    Attributes:
        is_warning: It is to be seen before any number.
    """

    title: str
    lines: Sequence[str] = field(default=())
    table: Table | None = None
    is_warning: bool = False


def is_text(section: Section, column: int) -> bool:
    """Whether a column of the section's table holds words, which stand on the left."""
    assert section.table is not None
    return column in section.table.wide or column < _WORDS.get(section.title, 1)


def sections(shown: Shown) -> Iterator[Section]:
    """All there is to say, the gravest first."""
    comparison = shown.comparison
    if cautions := [printable(caution.text) for caution in comparison.cautions]:
        yield Section("Before you compare", cautions, is_warning=True)
    fallen = [result.why for result in shown.gates if result.fell]
    if shown.gates:
        lines = [
            f"{'FELL' if result.fell else 'held'}  {printable(result.gate.text)}  —  {printable(result.why)}"
            for result in shown.gates
        ]
        yield Section("Gates", lines, is_warning=bool(fallen))
    yield Section("Engines", table=_engines(comparison))
    for place in shown.columns:
        difference, verdict = comparison.differences[place], comparison.verdicts[place]
        if difference is not None and verdict is not None:
            yield _difference(comparison, difference, verdict)
    from trex_tui.reports.accuracy import engines_sections  # which needs Section and Table of this module

    yield from engines_sections(comparison.engines)
    if len(comparison.engines) > 2:
        yield _ranking(comparison)
    for title, rows in (
        ("By kind", comparison.by_kind),
        ("By precision", comparison.by_precision),
        ("By module", comparison.by_module),
    ):
        if table := _groups(shown, rows):
            yield Section(title, table=table)
    yield _blocks(shown)


def _engines(comparison: Comparison) -> Table:
    rows = []
    for place, side in enumerate(comparison.sides):
        latency = end_to_end(comparison.engines[place])
        median = latency.summary.median_ms if latency else None
        engine = comparison.engines[place]
        is_baseline = place == comparison.baseline
        rows.append(
            (
                letter(place),
                printable(side.label) + (" (baseline)" if is_baseline else ""),
                printable(side.device or MISSING),
                printable(side.tensorrt_version or MISSING),
                engine.precision.value if engine.precision else MISSING,
                str(side.layers),
                f"{side.matched_layers}",
                format_ms(side.latency_sum_ms),
                format_ms(None if median is None else median / side.per),
                format_bytes(engine.weights_bytes),
            )
        )
    unit = "ms per sample" if comparison.per_batch else "ms"
    headings = (
        "",
        "engine",
        "device",
        "TensorRT",
        "precision",
        "layers",
        "matched",
        f"Σ layers {unit}",
        f"median {unit}",
        "weights",
    )
    return Table(headings, rows, frozenset({1, 2}))


def _difference(comparison: Comparison, difference: Difference, verdict: Verdict) -> Section:
    place = difference.engine
    title = f"{letter(place)} against {letter(comparison.baseline)}"
    lines = [printable(difference.headline), f"End to end: {verdict.outcome.value}: {printable(verdict.why)}"]
    rest = difference.reasons[MOST_REASONS:]
    lines += [f"  {printable(reason.text)}" for reason in difference.reasons[:MOST_REASONS]]
    if rest:
        lines.append(
            f"  {signed_ms(sum(reason.delta_ms for reason in rest))} ms in {plural(len(rest), 'smaller group')}"
        )
    if abs(difference.unattributed_ms) >= SMALLEST_MS:
        lines.append(f"  {signed_ms(difference.unattributed_ms)} ms in layers without a time on one side")
    matches = ", ".join(
        f"{count} by {match.value}" for match, count in difference.matches.items() if match.value != "none"
    )
    if matches:
        lines.append(f"Blocks matched: {matches}.")
    return Section(title, lines)


def _ranking(comparison: Comparison) -> Section:
    rows = []
    best = next((comparison.ranking_ms[place] for place in comparison.ranking), None)
    for rank, place in enumerate(comparison.ranking, start=1):
        value = comparison.ranking_ms[place]
        factor = f"{value / best:.3f}×" if value is not None and best else MISSING
        name = f"{letter(place)} {printable(comparison.sides[place].label)}"
        rows.append((str(rank) if value is not None else MISSING, name, format_ms(value), factor))
    return Section(
        "Ranking",
        [f"By {comparison.ranked_by}."],
        Table(("", "engine", "ms", "to the best"), rows, frozenset({1})),
    )


def _groups(shown: Shown, rows: Sequence[Row]) -> Table | None:
    """A matrix: a row per group, a column per engine, then the deltas."""
    comparison, places = shown.comparison, shown.columns
    if not rows or [row.key for row in rows] == [""]:
        return None
    others = [place for place in places if place != comparison.baseline]
    cells = [
        (
            printable(row.key) or "(no module)",
            *(f"{format_ms(row.latency_ms[place])} ({row.layers[place]})" for place in places),
            *(signed_ms(row.deltas_ms[place]) for place in others),
        )
        for row in rows[:MOST_GROUPS]
    ]
    if rest := rows[MOST_GROUPS:]:
        cells.append(
            (
                plural(len(rest), "other"),
                *(f"{format_ms(_sum([row.latency_ms[place] for row in rest]))}" for place in places),
                *(signed_ms(_sum([row.deltas_ms[place] for row in rest])) for place in others),
            )
        )
    heads = (
        *(f"{letter(place)} ms (layers)" for place in places),
        *(f"Δ {letter(place)}" for place in others),
    )
    return Table(("", *heads), cells)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _blocks(shown: Shown) -> Section:
    comparison, places = shown.comparison, shown.columns
    others = [place for place in places if place != comparison.baseline]
    rows = [
        (
            printable(_name(comparison, block)),
            block.shape,
            block.match.value,
            *(format_ms(block.latency_ms[place]) if block.layers[place] else MISSING for place in places),
            *(signed_ms(block.deltas_ms[place]) for place in others),
            change_words(block),
        )
        for block in shown.rows
    ]
    heads = (*(f"{letter(place)} ms" for place in places), *(f"Δ {letter(place)}" for place in others))
    if not rows:
        return Section("Layers", ["Nothing differs: every block has the same time and the same layers."])
    changed = 3 + len(heads)
    headings = ("block", "layers", "match", *heads, "changed")
    table = Table(headings, rows, frozenset({0, changed}), frozenset({changed}))
    return Section("Layers", [shown.rest_words], table)


def _name(comparison: Comparison, block: Block) -> str:
    """The label; of layers that stand for themselves their own name."""
    if block.label:
        return block.label
    place = next(place for place, layers in enumerate(block.layers) if layers)
    return layers_of(comparison, block, place)[0].name
