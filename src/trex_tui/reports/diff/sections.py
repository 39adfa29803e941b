"""A comparison as sentences and tables, which text, Markdown and HTML then only draw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trex_tui.analysis.compare.model import Block, Comparison, Difference, Row, Verdict
from trex_tui.analysis.latency import end_to_end
from trex_tui.reports.accuracy import engines_sections
from trex_tui.reports.diff.choice import Shown, change_words, layers_of, letter, signed_ms
from trex_tui.reports.document import Cell, Column, Section, Table, make_table
from trex_tui.text import format_ms, plural, printable, shorten_middle

MOST_REASONS = 8
MOST_GROUPS = 12
LEAST_PART = 12
"""Cells of a part in a list, or the end of the whole is left out."""
SMALLEST_MS = 0.00005
"""Less is shown as zero."""


def shorten_parts(text: str, width: int) -> str:
    """Cut a list with `; ` between its parts: the end of each part gives way, so that none passes for another."""
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


def sections(shown: Shown) -> Iterator[Section]:
    """All there is to say, the gravest first."""
    comparison = shown.comparison
    if cautions := [printable(caution.text) for caution in comparison.cautions]:
        yield Section("cautions", "Before you compare", sentences=cautions, is_warning=True)
    if shown.gates:
        lines = [
            f"{'FELL' if result.fell else 'held'}  {printable(result.gate.text)}  —  {printable(result.why)}"
            for result in shown.gates
        ]
        has_fallen = any(result.fell for result in shown.gates)
        yield Section("gates", "Gates", sentences=lines, is_warning=has_fallen)
    yield Section("engines", "Engines", tables=[_engines(comparison)])
    for place in shown.columns:
        difference, verdict = comparison.differences[place], comparison.verdicts[place]
        if difference is not None and verdict is not None:
            yield _difference(comparison, difference, verdict)
    yield from engines_sections(comparison.engines)
    if len(comparison.engines) > 2:
        yield _ranking(comparison)
    for id_, title, rows in (
        ("by-kind", "By kind", comparison.by_kind),
        ("by-precision", "By precision", comparison.by_precision),
        ("by-module", "By module", comparison.by_module),
    ):
        if table := _groups(id_, shown, rows):
            yield Section(id_, title, tables=[table])
    yield _blocks(shown)


def _engines(comparison: Comparison) -> Table:
    unit = "ms per sample" if comparison.per_batch else "ms"
    columns = (
        Column("letter", ""),
        Column("engine", "engine", flex=True),
        Column("device", "device", flex=True),
        Column("tensorrt_version", "TensorRT"),
        Column("precision", "precision"),
        Column("layers", "layers", is_number=True, format=str),
        Column("matched_layers", "matched", is_number=True, format=str),
        Column("latency_sum_ms", f"Σ layers {unit}", is_number=True),
        Column("latency_median_ms", f"median {unit}", is_number=True),
        Column("weights_bytes", "weights", is_number=True),
    )
    rows = []
    for place, (side, engine) in enumerate(zip(comparison.sides, comparison.engines, strict=True)):
        latency = end_to_end(engine)
        median = latency.summary.median_ms if latency else None
        is_baseline = place == comparison.baseline
        rows.append(
            (
                letter(place),
                Cell(side.label, printable(side.label) + (" (baseline)" if is_baseline else "")),
                side.device,
                side.tensorrt_version,
                engine.precision,
                side.layers,
                side.matched_layers,
                side.latency_sum_ms,
                None if median is None else median / side.per,
                engine.weights_bytes,
            )
        )
    return make_table("engines", columns, rows, noun="engine")


def _difference(comparison: Comparison, difference: Difference, verdict: Verdict) -> Section:
    place = difference.engine
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
    title = f"{letter(place)} against {letter(comparison.baseline)}"
    return Section(f"difference-{letter(place).lower()}", title, sentences=lines)


def _ranking(comparison: Comparison) -> Section:
    columns = (
        Column("rank", "", format=str),
        Column("engine", "engine", flex=True),
        Column("latency_ms", "ms", is_number=True),
        Column("ratio", "to the best", is_number=True, format=lambda ratio: f"{ratio:.3f}×"),
    )
    rows = []
    best = next((comparison.ranking_ms[place] for place in comparison.ranking), None)
    for rank, place in enumerate(comparison.ranking, start=1):
        value = comparison.ranking_ms[place]
        label = comparison.sides[place].label
        ratio = value / best if value is not None and best else None
        name = Cell(label, f"{letter(place)} {printable(label)}")
        rows.append((None if value is None else rank, name, value, ratio))
    table = make_table("ranking", columns, rows, noun="engine")
    return Section("ranking", "Ranking", sentences=[f"By {comparison.ranked_by}."], tables=[table])


def _delta_columns(places: Sequence[int]) -> Iterator[Column]:
    for place in places:
        key = f"{letter(place).lower()}_delta_ms"
        yield Column(key, f"Δ {letter(place)}", is_number=True, format=signed_ms)


def _groups(id_: str, shown: Shown, rows: Sequence[Row]) -> Table | None:
    """A matrix: a row per group, a column per engine, then the deltas."""
    comparison, places = shown.comparison, shown.columns
    if not rows or [row.key for row in rows] == [""]:
        return None
    others = [place for place in places if place != comparison.baseline]
    cells = [
        (
            Cell(row.key, printable(row.key) or "(no module)"),
            *(
                Cell(row.latency_ms[place], f"{format_ms(row.latency_ms[place])} ({row.layers[place]})")
                for place in places
            ),
            *(row.deltas_ms[place] for place in others),
        )
        for row in rows[:MOST_GROUPS]
    ]
    if rest := rows[MOST_GROUPS:]:
        cells.append(
            (
                Cell(None, plural(len(rest), "other")),
                *(_sum([row.latency_ms[place] for row in rest]) for place in places),
                *(_sum([row.deltas_ms[place] for row in rest]) for place in others),
            )
        )
    columns = (
        Column("group", "", flex=True),
        *(
            Column(f"{letter(place).lower()}_latency_ms", f"{letter(place)} ms (layers)", is_number=True)
            for place in places
        ),
        *_delta_columns(others),
    )
    return make_table(id_, columns, cells, noun="group")


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _blocks(shown: Shown) -> Section:
    comparison, places = shown.comparison, shown.columns
    if not shown.rows:
        sentence = "Nothing differs: every block has the same time and the same layers."
        return Section("blocks", "Layers", sentences=[sentence])
    others = [place for place in places if place != comparison.baseline]
    columns = (
        Column("block", "block", flex=True),
        Column("layers", "layers"),
        Column("match", "match"),
        *(
            Column(f"{letter(place).lower()}_latency_ms", f"{letter(place)} ms", is_number=True)
            for place in places
        ),
        *_delta_columns(others),
        Column("changed", "changed", flex=True, shorten=shorten_parts),
    )
    rows = [
        (
            _name(comparison, block),
            block.shape,
            block.match,
            *(block.latency_ms[place] if block.layers[place] else None for place in places),
            *(block.deltas_ms[place] for place in others),
            Cell(changed := change_words(block), changed),
        )
        for block in shown.rows
    ]
    table = make_table("blocks", columns, rows, noun="block")
    return Section("blocks", "Layers", sentences=[shown.rest_words], tables=[table])


def _name(comparison: Comparison, block: Block) -> str:
    """The label; of layers that stand for themselves their own name."""
    if block.label:
        return block.label
    place = next(place for place, layers in enumerate(block.layers) if layers)
    return layers_of(comparison, block, place)[0].name
