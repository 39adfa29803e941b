"""A comparison of engines: sections, the object of `diff --json`, and the part to show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from itertools import chain
from math import fsum
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.compare.block_noise import describe_block_verdicts
from trex_tui.old.analysis.compare.gate_metrics import format_compared, format_metric
from trex_tui.old.analysis.compare.model import (
    BECOMES,
    Block,
    Cause,
    Change,
    ChangeKind,
    Comparison,
    Difference,
    Match,
    Outcome,
    Row,
    Verdict,
    letter,
)
from trex_tui.old.analysis.compare.reasons import CAUSE_NAMES, causes_by_block
from trex_tui.old.analysis.energy import power_statistics
from trex_tui.old.analysis.filter import filter_engines
from trex_tui.old.analysis.gates import FAILED, NOT_JUDGED, PASSED, GateResult
from trex_tui.old.analysis.modules import first_node
from trex_tui.old.analysis.short_names import ShortNames
from trex_tui.old.analysis.timing import end_to_end
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import Diagnostic, Severity
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import (
    Cell,
    Column,
    Section,
    Table,
    drop_empty_columns,
    make_table,
)
from trex_tui.old.report.render_json import diagnostic_object, plain
from trex_tui.old.report.render_markdown import comment_markdown
from trex_tui.old.report.table_files import table_csv
from trex_tui.old.report.views.accuracy import accuracy_evidence, engines_sections
from trex_tui.old.report.views.damage import damage_section
from trex_tui.old.text import MISSING, format_ms, plural, printable

if TYPE_CHECKING:
    from trex_tui.old.analysis.compare.builds import BuildDifference

DIFF_SCHEMA = "trex-tui/diff/1"
DIFF_TOP = 20
"""Blocks in text, Markdown and HTML without `--top`."""
MOST_COLUMNS = 8
"""Engines that fit side by side; with more, tables have the baseline and the fastest."""
MOST_GROUPS = 20
"""Rows of a matrix; the others are summed in one row."""
LEAST_PART = 12
"""Minimum characters of a part in a list; otherwise the end of the list is cut instead."""
MOST_PARTS = 3
"""Maximum number of parts of a tactic in a table."""
CAUTIONS = "cautions"
"""Id of the section of cautions."""
REASONS = "reasons"
"""Id of the table of causes; its rows are the reasons of a difference, in order, and their sum."""
_FOLDED = frozenset({"by-kind", "by-precision", "by-module"})
"""Sections that are folded in Markdown."""
_MATCHES = {Match.SIGNATURE: "structure", Match.ORDER: "structure"}
"""Evidence in the five words of the schema; `evidence` has the exact one."""


@dataclass(frozen=True)
class Shown:
    """A comparison, and the part of it to show.

    Attributes:
        comparison: The whole comparison, to which totals always refer.
        blocks: Blocks that match the filter, by the magnitude of their delta.
        top: Maximum number of blocks in tables; None for all.
        filter_text: The filter; empty for none.
        gates: Results of the gates.
        diagnostics: Of files that belong to none of the engines.
        builds: Per engine but the baseline, why the builder chose other tactics; empty if not requested.
    """

    comparison: Comparison
    blocks: Sequence[Block]
    top: int | None = DIFF_TOP
    filter_text: str = ""
    gates: Sequence[GateResult] = ()
    diagnostics: Sequence[Diagnostic] = ()
    builds: Sequence[BuildDifference] = ()

    @property
    def rows(self) -> Sequence[Block]:
        """Return the blocks in a table: those that differ in time or otherwise, the largest delta first."""
        blocks = [block for block in self.blocks if block.delta_ms or block.changes or block.absent]
        return blocks[: self.top]

    @property
    def columns(self) -> Sequence[int]:
        """Return the indices of the engines in tables."""
        positions = range(len(self.comparison.engines))
        if len(positions) <= MOST_COLUMNS:
            return positions
        best = [position for position in self.comparison.ranking if position != self.comparison.baseline]
        return sorted([self.comparison.baseline, *best[: MOST_COLUMNS - 1]])

    @property
    def rest_sentence(self) -> str:
        """Return how many blocks the table shows, and by which filter."""
        shown, known = len(self.rows), len(self.comparison.blocks)
        words = (
            f"{shown} of {plural(known, 'block')}" if shown < known else f"all of {plural(known, 'block')}"
        )
        return f"{words}, largest difference first" + (
            f"; filter: {self.filter_text}" if self.filter_text else ""
        )


def filtered(comparison: Comparison, text: str) -> list[Block]:
    """Find the blocks with a matching layer in any engine, by the magnitude of their delta.

    Raises:
        FilterError: The text is not an expression.
    """
    blocks = comparison.by_delta()
    if not text.strip():
        return list(blocks)
    matching = [{layer.index for layer in layers} for layers in filter_engines(comparison.engines, text)]
    return [
        block
        for block in blocks
        if any(not indices.isdisjoint(layers) for indices, layers in zip(matching, block.layers, strict=True))
    ]


def find_layers(comparison: Comparison, block: Block, engine: int) -> list[Layer]:
    """Find the layers of an engine in a block."""
    return [comparison.engines[engine].layers[index] for index in block.layers[engine]]


def signed_ms(value: float | None, digits: int = 4) -> str:
    """Format a difference with its sign; with a real minus, to distinguish it from a dash."""
    if value is None:
        return MISSING
    text = format_ms(abs(value), digits)
    if not float(text):
        return text
    return ("−" if value < 0 else "+") + text


def describe_changes(block: Block, *, brief: bool = False) -> str:
    """Describe the changes of a block: `precision FP16⇒INT8, tactic`, `only in B`.

    With more than two engines each change has the letters of its engines: `not in D; B, C: tactic, formats`.

    Args:
        brief: Only state values for precisions, if there is little room.
    """
    if block.is_one_sided:
        return f"only in {letter(next(position for position, layers in enumerate(block.layers) if layers))}"
    letters: dict[str, list[str]] = {}
    for position in range(len(block.layers)):
        changes = [
            _describe_change(change, brief=brief) for change in block.changes if change.engine == position
        ]
        if changes:
            letters.setdefault(", ".join(changes), []).append(letter(position))
    absent = [f"not in {', '.join(map(letter, block.absent))}"] if block.absent else []
    if len(block.layers) == 2:
        return "; ".join(letters)
    return "; ".join([*absent, *(f"{', '.join(names)}: {text}" for text, names in letters.items())])


def _describe_change(change: Change, *, brief: bool, most: int = 24) -> str:
    kind, before, after = change.kind, printable(change.before), printable(change.after)
    if change.parts:
        names = [part.part for part in change.parts]
        more = ["…"] if len(names) > MOST_PARTS else []
        return kind.value if brief else f"{kind.value} ({', '.join(names[:MOST_PARTS] + more)})"
    if kind is ChangeKind.TACTIC or len(before) + len(after) > most or "→" in before + after:
        return kind.value
    what = "" if brief and kind is ChangeKind.PRECISION else f"{kind.value} "
    return f"{what}{before}{BECOMES}{after}"


def shorten_parts(text: str, width: int) -> str:
    """Cut a list with `; ` between its parts: each part is cut at its end, so that none looks like another."""
    parts = text.split("; ")
    left = width - 2 * (len(parts) - 1)
    if len(text) <= width:
        return text
    if left < LEAST_PART * len(parts):
        return _head(text, width)
    # The shortest takes the width it needs and leaves the rest to the next.
    for waiting, position in enumerate(sorted(range(len(parts)), key=lambda position: len(parts[position]))):
        parts[position] = _head(parts[position], left // (len(parts) - waiting))
        left -= len(parts[position])
    return "; ".join(parts)


def _head(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


class Matrix(str, Enum):
    """Groupings of times; the values are used in headings."""

    KIND = "kind"
    PRECISION = "precision"
    MODULE = "module"


def sections(shown: Shown) -> Iterator[Section]:
    """Yield sections of a comparison: those of the overview, sums by three properties, and the blocks."""
    yield from overview_sections(shown)
    for matrix in Matrix:
        rows = find_rows(shown.comparison, matrix)
        if rows and [row.key for row in rows] != [""]:
            yield Section(f"by-{matrix.value}", f"By {matrix.value}", tables=[matrix_table(shown, matrix)])
    yield _blocks(shown)
    if shown.builds:
        from trex_tui.old.report.views.compare_builds import why_section  # logs are read for --why alone

        names = {block.index: block_name(shown.comparison, block) for block in shown.blocks}
        short = ComparisonNames(shown.comparison)
        for builds in shown.builds:
            yield why_section(shown.comparison, builds, names, short.fit_text, shown.top, signed_ms)


def overview_sections(shown: Shown, *, has_method: bool = True) -> Iterator[Section]:
    """Yield warnings, the differences and their reasons, the engines, accuracy and ranking: the text of the Compare screen.

    Args:
        has_method: Whether to describe the method of the verdicts.
    """
    comparison = shown.comparison
    cautions = [printable(caution.text) for caution in comparison.cautions]
    cautions += damage_section(
        diagnostic for diagnostic in shown.diagnostics if diagnostic.severity is Severity.ERROR
    ).sentences
    if cautions:
        yield Section(CAUTIONS, "Cautions", sentences=cautions, is_warning=True)
    if shown.gates:
        yield _gates(shown)
    for position in shown.columns:
        difference, verdict = comparison.differences[position], comparison.verdicts[position]
        if difference is not None and verdict is not None:
            yield from _difference(comparison, difference, verdict, has_method=has_method)
    yield Section("engines", "Engines", tables=[_engines(comparison)])
    yield from engines_sections(comparison.engines)
    if len(comparison.engines) > 2:
        yield _ranking(comparison)


def _gates(shown: Shown) -> Section:
    """Return a row for each gate and engine; failed ones first, then those that are not judged."""
    columns = (
        Column("state", "gate"),
        Column("gate", "condition", flex=True),
        Column("engine", ""),
        Column("value", "value", is_number=True),
        Column("baseline", "baseline", is_number=True),
        Column("compared", "change", is_number=True),
        Column("interval", "95 % interval of the change"),
        Column("note", "note", flex=True),
    )
    rows = []
    for result in sorted(shown.gates, key=lambda result: (FAILED, NOT_JUDGED, PASSED).index(result.state)):
        gate = result.gate
        compared = (
            format_compared(gate, result.compared) if gate.is_relative and result.fell is not None else None
        )
        low, high = result.interval or (None, None)
        metric = gate.metric
        rows.append(
            (
                result.state,
                Cell(gate.text, printable(gate.text)),
                letter(result.index),
                *(
                    None if value is None else Cell(value, format_metric(metric, value))
                    for value in (result.value, result.baseline)
                ),
                None if compared is None else Cell(result.compared, compared),
                None
                if low is None or high is None
                else Cell(f"{low} to {high}", f"{_signed(metric, low)} to {_signed(metric, high)}"),
                Cell(result.note, printable(result.note)) if result.note else None,
            )
        )
    table = drop_empty_columns(make_table("gates", columns, rows, noun="gate"))
    is_bad = any(result.fell is not False for result in shown.gates)
    return Section("gates", "Gates", sentences=[_count_gates(shown)], tables=[table], is_warning=is_bad)


def _signed(metric: str, value: float) -> str:
    return ("−" if value < 0 else "+") + format_metric(metric, abs(value))


def _count_gates(shown: Shown) -> str:
    """Return `1 failed, 1 not judged, 3 passed.`"""
    counts = Counter(result.state for result in shown.gates)
    parts = [f"{counts[state]} {state}" for state in (FAILED, NOT_JUDGED, PASSED) if counts[state]]
    return f"{', '.join(parts)}."


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
        Column("batch", "batch", is_number=True, format=str),
        Column("power_w", "mean W", is_number=True),
        Column(
            "energy_per_inference_j",
            f"J per {'sample' if comparison.per_batch else 'inference'}",
            is_number=True,
        ),
    )
    rows = []
    for position, (side, engine) in enumerate(zip(comparison.sides, comparison.engines, strict=True)):
        latency = end_to_end(engine)
        median = latency.summary.median_ms if latency else None
        power = power_statistics(engine)
        energy = power.energy_per_inference_j if power else None
        is_baseline = position == comparison.baseline
        rows.append(
            (
                letter(position),
                Cell(side.label, printable(side.label) + (" (baseline)" if is_baseline else "")),
                side.device,
                side.tensorrt_version,
                engine.precision,
                side.layers,
                side.matched_layers,
                side.latency_sum_ms,
                None if median is None else median / side.per,
                engine.weights_bytes,
                side.batch,
                power.power_w.mean if power and power.power_w else None,
                None if energy is None else energy / side.per,
            )
        )
    return drop_empty_columns(make_table("engines", columns, rows, noun="engine"))


def _difference(
    comparison: Comparison, difference: Difference, verdict: Verdict, *, has_method: bool
) -> Iterator[Section]:
    """Yield the result with its causes, then its basis."""
    name = letter(difference.engine)
    title = f"{name} against {letter(comparison.baseline)}: {describe_verdict(verdict)}"
    tables = [reasons_table(comparison, difference)] if difference.reasons else []
    yield Section(
        difference_id(difference.engine), title, sentences=[printable(difference.headline)], tables=tables
    )
    lines = [f"End to end: {printable(verdict.why)}"]
    if has_method and verdict.outcome is not Outcome.UNKNOWN and verdict.method:
        lines.append(f"Method: {printable(verdict.method)}.")
    if noise := difference.noise:
        lines.append(
            f"Unchanged layers: times within {noise.pct:.1f} % ({noise.source}) or a tick of the timer "
            f"({noise.tick_ms:.4g} ms)."
        )
    matches = difference.matches.items()
    counts = [f"{count} by {match.value}" for match, count in matches if match is not Match.NONE]
    if alone := difference.matches.get(Match.NONE):
        counts.append(f"{alone} in one engine only")
    if judged := describe_block_verdicts(comparison, difference.engine):
        lines.append(judged)
    lines.append(f"Blocks matched: {', '.join(counts) or 'none'}.")
    suffix = "" if len(comparison.engines) == 2 else f" on {name}"
    yield Section(f"evidence-{name.lower()}", f"Evidence{suffix}", sentences=lines)


def reasons_table(comparison: Comparison, difference: Difference) -> Table:
    """Return a row for each cause, and their sum."""
    unit = "ms per sample" if comparison.per_batch else "ms"
    columns = (
        Column("cause", "cause", format=CAUSE_NAMES.__getitem__, help="Cause of the difference."),
        Column(
            "delta_ms",
            f"Δ {unit}",
            is_number=True,
            format=signed_ms,
            help="Sum of the differences of its layers.",
        ),
        Column(
            "decrease_ms", "faster", is_number=True, format=signed_ms, help="Sum of the negative differences."
        ),
        Column(
            "increase_ms", "slower", is_number=True, format=signed_ms, help="Sum of the positive differences."
        ),
        Column("layers", "layers", help="Number of layers in each engine."),
        Column("what", "what", flex=True, help="Layers by kind and change, largest difference first."),
    )
    rows: list[Sequence[Any]] = [
        (
            reason.cause,
            reason.delta_ms,
            reason.decrease_ms,
            reason.increase_ms,
            ":".join(map(str, reason.layers)),
            Cell(reason.text, printable(reason.text)),
        )
        for reason in difference.reasons
    ]
    rows.append((Cell(None, "Σ"), difference.delta_ms, None, None, None, None))
    return make_table(REASONS, columns, rows, noun="cause")


def describe_outcome(verdict: Verdict) -> str:
    """Return `slower (+1.20 %), within one run`."""
    pct = verdict.difference_pct
    has_difference = pct is not None and verdict.outcome in (Outcome.FASTER, Outcome.SLOWER)
    change = f" ({pct:+.2f} %)".replace("-", "−") if has_difference else ""
    return ", ".join(filter(None, (f"{verdict.outcome.value}{change}", verdict.scope)))


def describe_verdict(verdict: Verdict) -> str:
    """Return `faster −0.2098 ms (−42.05 %), 95 % interval −0.2103 to −0.2093`; only the outcome without measurements."""
    if verdict.difference_ms is None or verdict.difference_pct is None:
        return verdict.outcome.value
    change = f"{verdict.difference_pct:+.2f} %".replace("-", "−")
    text = f"{verdict.outcome.value} {signed_ms(verdict.difference_ms)} ms ({change})"
    if verdict.interval_ms is None:
        return text
    low, high = map(signed_ms, verdict.interval_ms)
    return f"{text}, {100 * verdict.level:.0f} % interval {low} to {high}"


def difference_id(position: int) -> str:
    """Return the id of the section about an engine and the baseline."""
    return f"difference-{letter(position).lower()}"


def _ranking(comparison: Comparison) -> Section:
    columns = (
        Column("rank", "", format=str),
        Column("engine", "engine", flex=True),
        Column("latency_ms", "ms", is_number=True),
        Column("ratio", "to the best", is_number=True, format=lambda ratio: f"{ratio:.3f}×"),
    )
    best = next((comparison.ranking_ms[position] for position in comparison.ranking), None)
    rows = []
    for rank, position in enumerate(comparison.ranking, start=1):
        value, label = comparison.ranking_ms[position], comparison.sides[position].label
        ratio = value / best if value is not None and best else None
        name = Cell(label, f"{letter(position)} {printable(label)}")
        rows.append((None if value is None else rank, name, value, ratio))
    table = make_table("ranking", columns, rows, noun="engine")
    return Section("ranking", "Ranking", sentences=[f"By {comparison.ranked_by}."], tables=[table])


def _time_columns(positions: Sequence[int], counted: str = "") -> Iterator[Column]:
    for position in positions:
        key, title = f"{letter(position).lower()}_latency_ms", f"{letter(position)} ms{counted}"
        yield Column(key, title, is_number=True, help=f"Time in engine {letter(position)}{counted}.")


def _delta_columns(positions: Sequence[int]) -> Iterator[Column]:
    for position in positions:
        key = f"{letter(position).lower()}_delta_ms"
        yield Column(
            key,
            f"Δ {letter(position)}",
            is_number=True,
            format=signed_ms,
            help=f"Time in {letter(position)} less that in the baseline.",
        )


def verdict_values(comparison: Comparison, position: int) -> Iterator[tuple[str, str, str]]:
    """Yield verdict and difference of an engine: label, value, and the key of its term."""
    verdict, difference = comparison.verdicts[position], comparison.differences[position]
    name = letter(position)
    if verdict is not None:
        yield f"{name}, verdict", verdict.outcome.value, "verdict.outcome"
        yield f"{name}, difference of medians", signed_ms(verdict.difference_ms), "verdict.difference_ms"
        if verdict.interval_ms is not None:
            low, high = map(signed_ms, verdict.interval_ms)
            yield f"{name}, interval", f"{low} to {high}", "verdict.interval_ms"
        if verdict.method:
            yield f"{name}, method", printable(verdict.method), "verdict.method"
    if difference is not None:
        yield f"{name}, difference of layer times", signed_ms(difference.delta_ms), "differences.delta_ms"


def find_rows(comparison: Comparison, matrix: Matrix) -> Sequence[Row]:
    """Return the sums by a property."""
    return {
        Matrix.KIND: comparison.by_kind,
        Matrix.PRECISION: comparison.by_precision,
        Matrix.MODULE: comparison.by_module,
    }[matrix]


def matrix_table(shown: Shown, matrix: Matrix, *, has_counts: bool = True) -> Table:
    """Return a row per group and one of the sums; a column per engine, then the deltas.

    Args:
        has_counts: Add numbers of layers after the times.
    """
    comparison, positions = shown.comparison, shown.columns
    others = [position for position in positions if position != comparison.baseline]

    def time(row: Row, position: int) -> Cell:
        count = f" ({row.layers[position]})" if has_counts else ""
        return Cell(row.latency_ms[position], format_ms(row.latency_ms[position]) + count)

    rows = find_rows(comparison, matrix)
    cells: list[Sequence[Any]] = [
        (
            Cell(row.key, printable(row.key) or f"(no {matrix.value})"),
            *(time(row, position) for position in positions),
            *(row.deltas_ms[position] for position in others),
        )
        for row in rows[:MOST_GROUPS]
    ]
    if rest := rows[MOST_GROUPS:]:
        cells.append(
            (
                Cell(None, plural(len(rest), "other")),
                *(sum_known(row.latency_ms[position] for row in rest) for position in positions),
                *(sum_known(row.deltas_ms[position] for row in rest) for position in others),
            )
        )
    differences = (comparison.differences[position] for position in others)
    cells.append(
        (
            Cell(None, "Σ"),
            *(comparison.sides[position].latency_sum_ms for position in positions),
            *(difference.delta_ms if difference else None for difference in differences),
        )
    )
    columns = (
        Column("group", "", flex=True, help=f"The {matrix.value} of the layers."),
        *_time_columns(positions, " (layers)" if has_counts else ""),
        *_delta_columns(others),
    )
    return make_table(f"by-{matrix.value}", columns, cells, noun="group")


def sum_known(values: Iterable[float | None]) -> float | None:
    """Return the sum of known values; None if there are none."""
    known = [value for value in values if value is not None]
    return fsum(known) if known else None


def _blocks(shown: Shown) -> Section:
    comparison, positions = shown.comparison, shown.columns
    if not shown.rows:
        has_layers = any(side.layers for side in comparison.sides)
        sentence = (
            "No differences: all blocks have the same time and layers." if has_layers else "No layers known."
        )
        return Section("blocks", "Layers", sentences=[sentence])
    others = [position for position in positions if position != comparison.baseline]
    judged = [position for position in others if shown.rows[0].verdicts]
    names = ComparisonNames(comparison)
    columns = (
        Column("block", "block", flex=True, width=24, shorten=names.fit_label, is_fitted_first=True),
        Column("layers", "layers", priority=1),
        Column("match", "match", priority=2),
        *_time_columns(positions),
        *_delta_columns(others),
        *_verdict_columns(judged),
        Column("changed", "changed", flex=True, width=24, shorten=shorten_parts),
    )
    rows = [
        (
            Cell(block_name(comparison, block), printable(names.label(block))),
            block.shape,
            block.match,
            *(block.latency_ms[position] if block.layers[position] else None for position in positions),
            *(comparison.delta_ms(block, position) for position in others),
            *(verdict.outcome if (verdict := block.verdicts[position]) else None for position in judged),
            Cell(changed := describe_changes(block), changed),
        )
        for block in shown.rows
    ]
    table = make_table("blocks", columns, rows, noun="block")
    return Section("blocks", "Layers", sentences=[shown.rest_sentence], tables=[table])


def _verdict_columns(positions: Sequence[int]) -> Iterator[Column]:
    for position in positions:
        yield Column(
            f"{letter(position).lower()}_verdict",
            f"{letter(position)} noise",
            help=f"Yes if the time in {letter(position)} differs beyond the noise of the single times of the layers.",
        )


def describe_block_verdict(block: Block, position: int) -> str:
    """Return `faster beyond noise, 95 % interval −0.0103 to −0.0093 ms, 100 calls each`; empty without a verdict."""
    verdict = block.verdicts[position] if block.verdicts else None
    if verdict is None:
        return ""
    words = {
        Outcome.SAME: "within noise",
        Outcome.UNKNOWN: "noise not judged: too few calls",
    }.get(verdict.outcome, f"{verdict.outcome.value} beyond noise")
    first, second = verdict.calls
    calls = f"{plural(first, 'call')} each" if first == second else f"{first} and {plural(second, 'call')}"
    if verdict.interval_ms is None:
        return f"{words}, {calls}"
    low, high = map(signed_ms, verdict.interval_ms)
    return f"{words}, 95 % interval {low} to {high} ms, {calls}"


def block_name(comparison: Comparison, block: Block) -> str:
    """Name a block by its label or its first layer; the text is not yet printable."""
    if block.label:
        return block.label
    return _first_layer(comparison, block).name


def _first_layer(comparison: Comparison, block: Block) -> Layer:
    position = next(position for position, layers in enumerate(block.layers) if layers)
    return find_layers(comparison, block, position)[0]


def _first_place(comparison: Comparison, block: Block) -> str:
    """Return the engine and the index of the first layer of a block, as the end of its label."""
    position = next(position for position, layers in enumerate(block.layers) if layers)
    return f" · {letter(position)} {find_layers(comparison, block, position)[0].index}"


def _named_layer(comparison: Comparison, block: Block) -> Layer | None:
    """Return the layer that names a block; None if its label is not a layer's."""
    if not block.label:
        return _first_layer(comparison, block)
    layers = (
        layer for position in range(len(block.layers)) for layer in find_layers(comparison, block, position)
    )
    return next((layer for layer in layers if layer.name == block.label), None)


class ComparisonNames:
    """Short names of the blocks of a comparison and of their layers: a layer has one name in every engine."""

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        layers = (layer for engine in comparison.engines for layer in engine.layers)
        self._names = ShortNames(
            chain(
                ((layer.name, first_node(layer)) for layer in layers),
                (
                    (block.label, block.label)
                    for block in comparison.blocks
                    if _named_layer(comparison, block) is None
                ),
            )
        )
        self.fit_text = self._names.fit_text
        self.fit_layer = self._names.fit
        counts = Counter(block_name(comparison, block) for block in comparison.blocks)
        self._marks = {
            block.index: _first_place(comparison, block)
            for block in comparison.blocks
            if counts[block_name(comparison, block)] > 1
        }
        """By index of the block, what distinguishes it from others of its name."""
        self._marked = {
            printable(self.label(block)): block for block in comparison.blocks if block.index in self._marks
        }

    def label(self, block: Block) -> str:
        """Return the name of a block; if others have it too, with its first layer: `conv1 · B 12`."""
        return block_name(self._comparison, block) + self._marks.get(block.index, "")

    def fit_label(self, label: str, width: int) -> str:
        """Return a printable label in at most `width` characters; the layer in it stays whole."""
        block = self._marked.get(label)
        return self.fit_text(label, width) if block is None else self.fit_block(block, width)

    @property
    def longest(self) -> int | None:
        """Characters of the longest short name; None if there are too many names."""
        return self._names.longest

    def fit_block(self, block: Block, width: int) -> str:
        """Return the short name of a block in at most `width` characters."""
        layer, mark = _named_layer(self._comparison, block), self._marks.get(block.index, "")
        room = max(0, width - len(mark))
        name = self._names.fit_name(block.label, room) if layer is None else self._names.fit(layer, room)
        return name + mark


def diff_document(shown: Shown) -> dict[str, Any]:
    """Return the object that `diff --json` prints.

    Over all blocks, each engine's `latency_ms` adds up to its `latency_sum_ms`; a filter omits blocks, and `blocks_total` is
    their total number.
    """
    comparison = shown.comparison
    causes = _list_causes(comparison)
    return {
        "schema": DIFF_SCHEMA,
        "baseline": comparison.baseline,
        "align": comparison.align.value,
        "per_batch": comparison.per_batch,
        "is_unit_stated": comparison.is_unit_stated,
        "engines": [_engine(comparison, position) for position in range(len(comparison.engines))],
        "cautions": plain(comparison.cautions),
        "verdict": plain(comparison.verdict),
        "verdicts": plain(comparison.verdicts),
        "differences": plain(comparison.differences),
        "accuracy": plain(accuracy_evidence(comparison.engines)),
        "ranking": {
            "by": comparison.ranked_by,
            "engines": list(comparison.ranking),
            "latency_ms": list(comparison.ranking_ms),
        },
        "by_kind": plain(comparison.by_kind),
        "by_precision": plain(comparison.by_precision),
        "by_module": plain(comparison.by_module),
        "filter": shown.filter_text or None,
        "blocks_total": len(comparison.blocks),
        "blocks": [
            _block(comparison, block, [of_engine.get(block.index) for of_engine in causes])
            for block in sorted(shown.blocks, key=lambda block: block.index)
        ],
        "gates": [_gate(result) for result in shown.gates],
        "why": _why(shown),
        "diagnostics": list(map(diagnostic_object, shown.diagnostics)),
    }


def _why(shown: Shown) -> list[dict[str, Any]] | None:
    if not shown.builds:
        return None
    from trex_tui.old.report.views.compare_builds import why_objects  # logs are read for --why alone

    return why_objects(shown.builds, {block.index for block in shown.blocks})


def _list_causes(comparison: Comparison) -> list[dict[int, Cause]]:
    """Return, per engine, block index -> cause of its difference."""
    return [{} if found is None else causes_by_block(found) for found in comparison.differences]


def _engine(comparison: Comparison, position: int) -> dict[str, Any]:
    side, engine = comparison.sides[position], comparison.engines[position]
    latency = end_to_end(engine)
    return {
        "name": side.label,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
        "runs": [run.name for run in comparison.repeats[position]],
        "layers": side.layers,
        "matched_layers": side.matched_layers,
        "matched_pct": side.matched_pct,
        "latency_sum_ms": side.latency_sum_ms,
        "unprofiled_layers": side.unprofiled_layers,
        "latency_median_ms": latency.summary.median_ms if latency else None,
        "batch": side.batch,
        "per": side.per,
        "device": side.device,
        "tensorrt_version": side.tensorrt_version,
        "precision": engine.precision.value if engine.precision else None,
        "weights_bytes": engine.weights_bytes,
        "diagnostics": [
            diagnostic_object(diagnostic)
            for diagnostic in dict.fromkeys(
                diagnostic for run in comparison.repeats[position] for diagnostic in run.diagnostics
            )
        ],
    }


def _block(comparison: Comparison, block: Block, causes: Sequence[Cause | None]) -> dict[str, Any]:
    positions = range(len(comparison.engines))
    return {
        "index": block.index,
        "layers": [
            [layer.name for layer in find_layers(comparison, block, position)] for position in positions
        ],
        "layer_indices": [list(indices) for indices in block.layers],
        "label": block.label,
        "kind": block.kind,
        "module": list(block.module),
        "match": _MATCHES.get(block.match, block.match.value),
        "evidence": block.match.value,
        "confidence": block.confidence,
        "why": block.why,
        "latency_ms": plain(block.latency_ms),
        "delta_ms": plain(block.delta_ms),
        "deltas_ms": plain(block.deltas_ms),
        "ratio": plain(block.ratio),
        "changed": [kind.value for kind in block.changed],
        "changes": plain(block.changes),
        "causes": [None if cause is None else cause.value for cause in causes],
        "changed_by_engine": [[kind.value for kind in block.changed_in(position)] for position in positions],
        "not_in": list(block.absent),
        "verdicts": plain(block.verdicts) or None,
    }


def _gate(result: GateResult) -> dict[str, Any]:
    return {
        "gate": result.gate.text,
        "engine": result.index,
        "state": result.state,
        "fell": result.fell,
        "value": result.value,
        "baseline": result.baseline,
        "compared": result.compared,
        "interval": plain(result.interval),
        "significance": result.significance or None,
        "note": result.note or None,
        "why": result.why,
    }


def diff_csv(shown: Shown) -> str:
    """Return `all_blocks_table` as CSV."""
    return table_csv(all_blocks_table(shown))


def all_blocks_table(shown: Shown) -> Table:
    """Return a row per block, in the order of the baseline's execution, with a column of names and one of times per engine.

    With more than two engines there is also a column of changes per engine. The last columns are the causes of the
    differences, per engine but the baseline.
    """
    comparison = shown.comparison
    positions = range(len(comparison.engines))
    heads = [f"{name}_{position}" for name in ("layers", "latency_ms", "delta_ms") for position in positions]
    headings = ["block", "kind", "module", "evidence", "confidence", *heads, "changed", "label"]
    if len(positions) > 2:
        headings += [f"changed_{position}" for position in positions]
    headings += [f"cause_{position}" for position in comparison.others]
    judged = comparison.others if any(block.verdicts for block in comparison.blocks) else ()
    headings += [f"verdict_{position}" for position in judged]
    ordered = sorted(shown.blocks, key=lambda block: block.index)
    causes = _list_causes(comparison)
    columns = [Column(heading, heading, is_number="_ms_" in heading) for heading in headings]
    rows = [list(_block_cells(comparison, block, causes)) for block in ordered]
    return Table("blocks", columns, rows, noun="block")


def _block_cells(
    comparison: Comparison, block: Block, causes: Sequence[dict[int, Cause]]
) -> Iterator[object]:
    yield from (
        block.index,
        block.kind,
        "/".join(block.module),
        block.match.value,
        round(block.confidence, 2),
    )
    positions = range(len(comparison.engines))
    for position in positions:
        yield "; ".join(layer.name for layer in find_layers(comparison, block, position))
    yield from (*block.latency_ms, *block.deltas_ms)
    yield from (";".join(kind.value for kind in block.changed), block.label)
    if len(positions) > 2:
        yield from (";".join(kind.value for kind in block.changed_in(position)) for position in positions)
    for position in comparison.others:
        cause = causes[position].get(block.index)
        yield None if cause is None else cause.value
    if block.verdicts:
        for position in comparison.others:
            yield verdict.outcome.value if (verdict := block.verdicts[position]) else None


def diff_markdown(shown: Shown) -> str:
    """Return Markdown for a comment on a pull request: reasons and blocks open, matrices folded."""
    return comment_markdown(comparison_title(shown), sections(shown), _FOLDED)


def diff_page(shown: Shown) -> str:
    """Return HTML without a script; a policy forbids everything but text."""
    from trex_tui.old.report.render_html import sections_page  # 10 ms, needed for pages only

    return sections_page(comparison_title(shown), sections(shown))


def comparison_title(shown: Shown) -> str:
    """Return names, the verdict and the gates: `A main · B pr: slower (+1.20 %), within one run · 1 failed, 2 passed`."""
    comparison = shown.comparison
    parts = []
    for position in shown.columns:
        verdict = comparison.verdicts[position]
        outcome = f": {describe_outcome(verdict)}" if verdict else ""
        parts.append(f"{letter(position)} {printable(comparison.sides[position].label)}{outcome}")
    if shown.gates:
        parts.append(f"gates: {_count_gates(shown).rstrip('.')}")
    return " · ".join(parts)
