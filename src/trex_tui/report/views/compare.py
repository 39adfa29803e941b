"""A comparison of engines: sections, the object of `diff --json`, and what of it is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any

from trex_tui.analysis.compare.model import (
    Block,
    Change,
    ChangeKind,
    Comparison,
    Difference,
    Match,
    Reason,
    Row,
    Verdict,
)
from trex_tui.analysis.filter import filter_layers
from trex_tui.analysis.gates import GateResult
from trex_tui.analysis.timing import end_to_end
from trex_tui.engine.model import Layer
from trex_tui.report.document import Cell, Column, Section, Table, make_table
from trex_tui.report.render_csv import csv_text
from trex_tui.report.render_html import sections_page
from trex_tui.report.render_json import plain
from trex_tui.report.render_markdown import comment_markdown
from trex_tui.report.views.accuracy import accuracy_evidence, engines_sections
from trex_tui.text import MISSING, format_ms, plural, printable, shorten_middle

DIFF_SCHEMA = "trex-tui/diff/1"
DIFF_TOP = 20
"""Blocks in text, Markdown and HTML without `--top`."""
MOST_COLUMNS = 8
"""Engines that fit side by side; of more, tables hold the baseline and the fastest."""
MOST_REASONS = 8
MOST_GROUPS = 12
LEAST_PART = 12
"""Characters of a part in a list; where there is no room for as many, the end of the list is cut instead."""
SMALLEST_MS = 0.00005
"""Smaller differences are shown as 0.0000."""
_FOLDED = frozenset({"by-kind", "by-precision", "by-module"})
"""Sections that a reader of Markdown opens."""
_MATCHES = {Match.SIGNATURE: "structure", Match.ORDER: "structure"}
"""Evidence in the five words of the schema; `evidence` has the exact one."""


@dataclass(frozen=True)
class Shown:
    """A comparison, and the part of it to show.

    Attributes:
        comparison: The whole; totals are always of the whole.
        blocks: What the filter leaves, by the magnitude of their delta.
        top: How many of them tables show; None for all.
        filter_text: What was filtered by; empty for nothing.
        gates: Gates that were judged.
    """

    comparison: Comparison
    blocks: Sequence[Block]
    top: int | None = DIFF_TOP
    filter_text: str = ""
    gates: Sequence[GateResult] = ()

    @property
    def rows(self) -> Sequence[Block]:
        """The blocks that a table shows: those that differ in time or otherwise, the largest delta first."""
        blocks = [block for block in self.blocks if block.delta_ms or block.changes or block.absent]
        return blocks[: self.top]

    @property
    def columns(self) -> Sequence[int]:
        """Indices of the engines that tables show."""
        positions = range(len(self.comparison.engines))
        if len(positions) <= MOST_COLUMNS:
            return positions
        best = [position for position in self.comparison.ranking if position != self.comparison.baseline]
        return sorted([self.comparison.baseline, *best[: MOST_COLUMNS - 1]])

    @property
    def rest_words(self) -> str:
        """How many blocks the table shows, and by which filter."""
        shown, known = len(self.rows), len(self.comparison.blocks)
        words = (
            f"{shown} of {plural(known, 'block')}" if shown < known else f"all of {plural(known, 'block')}"
        )
        return f"{words}, the largest difference first" + (
            f"; filter: {self.filter_text}" if self.filter_text else ""
        )


def filtered(comparison: Comparison, text: str) -> list[Block]:
    """Find the blocks of which a layer in any engine matches, by the magnitude of their delta.

    Raises:
        FilterError: The text is no expression.
    """
    blocks = comparison.by_delta()
    if not text.strip():
        return list(blocks)
    matching = [{layer.index for layer in filter_layers(engine, text)} for engine in comparison.engines]
    return [
        block
        for block in blocks
        if any(not indices.isdisjoint(layers) for indices, layers in zip(matching, block.layers, strict=True))
    ]


def find_layers(comparison: Comparison, block: Block, engine: int) -> list[Layer]:
    """Find the layers of an engine in a block."""
    return [comparison.engines[engine].layers[index] for index in block.layers[engine]]


def signed_ms(value: float | None, digits: int = 4) -> str:
    """Format a difference with its sign; a true minus, so that it is not taken for a dash."""
    if value is None:
        return MISSING
    text = format_ms(abs(value), digits)
    if not float(text):
        return text
    return ("−" if value < 0 else "+") + text


def letter(position: int) -> str:
    """Name an engine in headings of tables: A, B, … Z, then AA."""
    head, tail = divmod(position, 26)
    return (letter(head - 1) if head else "") + chr(ord("A") + tail)


def describe_changes(block: Block, *, brief: bool = False) -> str:
    """Describe what differs in a block: `precision FP16→INT8, tactic`, `only in B`.

    Of more than two engines it says which, by the letters of their columns: `not in D; B, C: tactic, formats`.

    Args:
        brief: Of precisions only which they are, where there is little room.
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
    if kind is ChangeKind.TACTIC or len(before) + len(after) > most:
        return kind.value
    what = "" if brief and kind is ChangeKind.PRECISION else f"{kind.value} "
    return f"{what}{before}→{after}"


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
    for waiting, position in enumerate(sorted(range(len(parts)), key=lambda position: len(parts[position]))):
        parts[position] = _head(parts[position], left // (len(parts) - waiting))
        left -= len(parts[position])
    return "; ".join(parts)


def _head(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def sections(shown: Shown) -> Iterator[Section]:
    """Sections of a comparison, warnings first."""
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
    for position in shown.columns:
        difference, verdict = comparison.differences[position], comparison.verdicts[position]
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
    for position, (side, engine) in enumerate(zip(comparison.sides, comparison.engines, strict=True)):
        latency = end_to_end(engine)
        median = latency.summary.median_ms if latency else None
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
            )
        )
    return make_table("engines", columns, rows, noun="engine")


def _difference(comparison: Comparison, difference: Difference, verdict: Verdict) -> Section:
    position = difference.engine
    lines = [printable(difference.headline), f"End to end: {verdict.outcome.value}: {printable(verdict.why)}"]
    lines += [f"  {printable(text)}" for text, _ in reason_lines(difference, MOST_REASONS)]
    if matches := matches_text(difference):
        lines.append(f"Blocks matched: {matches}.")
    title = f"{letter(position)} against {letter(comparison.baseline)}"
    return Section(f"difference-{letter(position).lower()}", title, sentences=lines)


def reason_lines(difference: Difference, most: int) -> list[tuple[str, Reason | None]]:
    """Sentences on where a difference comes from: at most `most` reasons, then the sum of the others without a reason."""
    lines: list[tuple[str, Reason | None]] = [(reason.text, reason) for reason in difference.reasons[:most]]
    if rest := difference.reasons[most:]:
        total = signed_ms(fsum(reason.delta_ms for reason in rest))
        lines.append((f"{total} ms in {plural(len(rest), 'smaller group')}", None))
    if abs(difference.unattributed_ms) >= SMALLEST_MS:
        text = f"{signed_ms(difference.unattributed_ms)} ms in layers without a time on one side"
        lines.append((text, None))
    return lines


def matches_text(difference: Difference) -> str:
    """Count the matched blocks by evidence; empty for none."""
    matches = difference.matches.items()
    return ", ".join(f"{count} by {match.value}" for match, count in matches if match is not Match.NONE)


def ranked(comparison: Comparison) -> Iterator[tuple[int | None, int, float | None, float | None]]:
    """Rank, index, milliseconds and ratio to the best of each engine; None where the time is unknown."""
    best = next((comparison.ranking_ms[position] for position in comparison.ranking), None)
    for rank, position in enumerate(comparison.ranking, start=1):
        value = comparison.ranking_ms[position]
        yield (
            None if value is None else rank,
            position,
            value,
            value / best if value is not None and best else None,
        )


def _ranking(comparison: Comparison) -> Section:
    columns = (
        Column("rank", "", format=str),
        Column("engine", "engine", flex=True),
        Column("latency_ms", "ms", is_number=True),
        Column("ratio", "to the best", is_number=True, format=lambda ratio: f"{ratio:.3f}×"),
    )
    rows = [
        (
            rank,
            Cell(label := comparison.sides[position].label, f"{letter(position)} {printable(label)}"),
            value,
            ratio,
        )
        for rank, position, value, ratio in ranked(comparison)
    ]
    table = make_table("ranking", columns, rows, noun="engine")
    return Section("ranking", "Ranking", sentences=[f"By {comparison.ranked_by}."], tables=[table])


def _delta_columns(positions: Sequence[int]) -> Iterator[Column]:
    for position in positions:
        key = f"{letter(position).lower()}_delta_ms"
        yield Column(key, f"Δ {letter(position)}", is_number=True, format=signed_ms)


def _groups(id_: str, shown: Shown, rows: Sequence[Row]) -> Table | None:
    """A matrix: a row per group, a column per engine, then the deltas."""
    comparison, positions = shown.comparison, shown.columns
    if not rows or [row.key for row in rows] == [""]:
        return None
    others = [position for position in positions if position != comparison.baseline]
    cells = [
        (
            Cell(row.key, printable(row.key) or "(no module)"),
            *(
                Cell(
                    row.latency_ms[position],
                    f"{format_ms(row.latency_ms[position])} ({row.layers[position]})",
                )
                for position in positions
            ),
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
    columns = (
        Column("group", "", flex=True),
        *(
            Column(
                f"{letter(position).lower()}_latency_ms", f"{letter(position)} ms (layers)", is_number=True
            )
            for position in positions
        ),
        *_delta_columns(others),
    )
    return make_table(id_, columns, cells, noun="group")


def sum_known(values: Iterable[float | None]) -> float | None:
    """Add what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return fsum(known) if known else None


def _blocks(shown: Shown) -> Section:
    comparison, positions = shown.comparison, shown.columns
    if not shown.rows:
        sentence = "Nothing differs: every block has the same time and the same layers."
        return Section("blocks", "Layers", sentences=[sentence])
    others = [position for position in positions if position != comparison.baseline]
    columns = (
        Column("block", "block", flex=True),
        Column("layers", "layers"),
        Column("match", "match"),
        *(
            Column(f"{letter(position).lower()}_latency_ms", f"{letter(position)} ms", is_number=True)
            for position in positions
        ),
        *_delta_columns(others),
        Column("changed", "changed", flex=True, shorten=shorten_parts),
    )
    rows = [
        (
            block_name(comparison, block),
            block.shape,
            block.match,
            *(block.latency_ms[position] if block.layers[position] else None for position in positions),
            *(block.deltas_ms[position] for position in others),
            Cell(changed := describe_changes(block), changed),
        )
        for block in shown.rows
    ]
    table = make_table("blocks", columns, rows, noun="block")
    return Section("blocks", "Layers", sentences=[shown.rest_words], tables=[table])


def block_name(comparison: Comparison, block: Block) -> str:
    """Name a block by its label or its first layer; the text is not yet printable."""
    if block.label:
        return block.label
    position = next(position for position, layers in enumerate(block.layers) if layers)
    return find_layers(comparison, block, position)[0].name


def diff_document(shown: Shown) -> dict[str, Any]:
    """The object that `diff --json` prints.

    Over all blocks, each engine's `latency_ms` adds up to its `latency_sum_ms`; a filter leaves blocks out, and
    `blocks_total` says how many there are.
    """
    comparison = shown.comparison
    return {
        "schema": DIFF_SCHEMA,
        "baseline": comparison.baseline,
        "align": comparison.align.value,
        "per_batch": comparison.per_batch,
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
            _block(comparison, block) for block in sorted(shown.blocks, key=lambda block: block.index)
        ],
        "gates": [_gate(result) for result in shown.gates],
    }


def _engine(comparison: Comparison, position: int) -> dict[str, Any]:
    side, engine = comparison.sides[position], comparison.engines[position]
    latency = end_to_end(engine)
    return {
        "name": side.label,
        "files": {kind.value: str(path) for kind, path in engine.files.items()},
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
    }


def _block(comparison: Comparison, block: Block) -> dict[str, Any]:
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
        "changed_by_engine": [[kind.value for kind in block.changed_in(position)] for position in positions],
        "not_in": list(block.absent),
    }


def _gate(result: GateResult) -> dict[str, Any]:
    return {
        "gate": result.gate.text,
        "engine": result.index,
        "fell": result.fell,
        "value": result.value,
        "baseline": result.baseline,
        "compared": result.compared,
        "why": result.why,
    }


def diff_csv(shown: Shown) -> str:
    """A line per block, in the order of the baseline's execution, with a column of names and one of times per engine.

    Of more than two engines there is a column per engine of what changed in it, too, behind all that two have.
    """
    comparison = shown.comparison
    positions = range(len(comparison.engines))
    heads = [f"{name}_{position}" for name in ("layers", "latency_ms", "delta_ms") for position in positions]
    headings = ["block", "kind", "module", "evidence", "confidence", *heads, "changed", "label"]
    if len(positions) > 2:
        headings += [f"changed_{position}" for position in positions]
    ordered = sorted(shown.blocks, key=lambda block: block.index)
    return csv_text(headings, (_csv_row(comparison, block) for block in ordered))


def _csv_row(comparison: Comparison, block: Block) -> Iterator[object]:
    yield from (block.index, block.kind, "/".join(block.module), block.match.value, f"{block.confidence:.2f}")
    positions = range(len(comparison.engines))
    for position in positions:
        yield "; ".join(layer.name for layer in find_layers(comparison, block, position))
    yield from (*block.latency_ms, *block.deltas_ms)
    yield from (";".join(kind.value for kind in block.changed), block.label)
    if len(positions) > 2:
        yield from (";".join(kind.value for kind in block.changed_in(position)) for position in positions)


def diff_markdown(shown: Shown) -> str:
    """Markdown for a comment on a pull request: reasons and blocks open, matrices folded."""
    return comment_markdown(_title(shown), sections(shown), _FOLDED)


def diff_page(shown: Shown) -> str:
    """HTML without a script; a policy forbids whatever would be more than text."""
    return sections_page(_title(shown), sections(shown))


def _title(shown: Shown) -> str:
    return " · ".join(printable(shown.comparison.sides[position].label) for position in shown.columns)
