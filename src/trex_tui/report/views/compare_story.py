"""A comparison as the lines of its screen. Text and numbers only, no terminal.

Engines are called by the letters of their columns: A is the baseline, or whatever stands first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from rich.cells import cell_len, set_cell_size

from trex_tui.analysis.compare.model import Block, Comparison, Difference, Outcome, Row, Verdict
from trex_tui.analysis.timing import end_to_end
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.views.compare import (
    block_name,
    letter,
    matches_text,
    ranked,
    reason_lines,
    signed_ms,
    sum_known,
)
from trex_tui.report.views.layer_details import Line
from trex_tui.text import MISSING, format_bytes, format_ms, plural, printable, shorten_middle

MOST_REASONS = 12
MOST_GROUPS = 40
"""Rows of a matrix; the others are summed in one row."""
LEAST_LABEL, MOST_LABEL = 8, 28
SLOWER, FASTER = "▲", "▼"
LEAST_NAME = 8


class Matrix(str, Enum):
    """What times are summed by; the values stand in headings."""

    KIND = "kind"
    PRECISION = "precision"
    MODULE = "module"


@dataclass(frozen=True, slots=True)
class Goal:
    """Target of a line: a block, or a layer.

    Attributes:
        block: Place of the block; None if it is a layer.
        engine, layer: Place of the engine in the comparison, and index of the layer in it.
    """

    block: int | None = None
    engine: int = 0
    layer: int = 0


@dataclass(slots=True)
class Story:
    """Lines; the target of a line is the position of its goal.

    Attributes:
        totals: Number of the line where the totals begin; None if there are none.
    """

    lines: list[Line] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    totals: int | None = None

    def say(self, text: str, style: str = "plain", *, label: str = "", indent: int = 0) -> None:
        self.lines.append(Line(text, style, label, indent))

    def link(self, text: str, goal: Goal, *, label: str = "", indent: int = 0) -> None:
        self.lines.append(Line(text, label=label, indent=indent, target=len(self.goals)))
        self.goals.append(goal)


def format_delta_ms(value: float | None) -> str:
    """Format a difference with its sign and a triangle, so that nothing depends on colour."""
    text = signed_ms(value)
    return {"+": f"{SLOWER} ", "−": f"{FASTER} "}.get(text[:1], "") + text


def format_ratio(ratio: float | None) -> str:
    """Format a ratio as a change in percent with its sign; from a hundredfold on as a factor."""
    if ratio is None:
        return MISSING
    pct = 100.0 * (ratio - 1.0)
    if abs(pct) >= 10_000:
        return f"{ratio:.0f}×"
    text = f"{abs(pct):.1f}"
    return f"{'' if not float(text) else '−' if pct < 0 else '+'}{text} %"


def is_changed(block: Block) -> bool:
    """Whether engines differ in the block by more than its time."""
    return bool(block.changes or block.absent)


def layer_ms(comparison: Comparison, position: int, layer: Layer) -> float | None:
    """Latency of a layer in the unit of the comparison: per inference or per sample."""
    return None if layer.latency_ms is None else layer.latency_ms / comparison.sides[position].per


def describe_formats(layer: Layer) -> str:
    """Types and layouts of inputs and outputs: `FP16 NHWC8 → INT8 NC/32HW32`; `FP16` if all are that."""
    parts = [
        ", ".join(dict.fromkeys(tensor.description for tensor in tensors)) or MISSING
        for tensors in (layer.inputs, layer.outputs)
    ]
    return " → ".join(dict.fromkeys(parts)) if layer.inputs or layer.outputs else ""


# The lines above and below the table


def describe_engines(comparison: Comparison, width: int) -> str:
    """Name the engines with their verdicts in a line; names are shortened where there is no room."""
    count = len(comparison.cautions)
    warning = f"⚠ {plural(count, 'caution')} · " if count else ""
    warning += "per sample · " if comparison.per_batch else ""
    verdicts = [_describe_verdict(comparison, position) for position in range(len(comparison.engines))]
    names = [printable(side.label) for side in comparison.sides]
    taken = cell_len(warning) + sum(2 + cell_len(words) for words in verdicts) + 3 * (len(names) - 1)
    room = max(LEAST_NAME, (width - taken) // len(names))
    parts = [
        f"{letter(position)} {shorten_middle(name, room)}{words}"
        for position, (name, words) in enumerate(zip(names, verdicts, strict=True))
    ]
    whole = warning + " · ".join(parts)
    if cell_len(whole) <= width:
        return whole
    # The table and the words beside it name the engines; what is said about each stands nowhere else in a line.
    others = [(letter(position), verdicts[position]) for position in comparison.others]
    named = warning + " · ".join(f"{name}{words}" for name, words in others)
    if cell_len(named) <= width:
        return named
    # The share of a difference tells it in fewer letters than its milliseconds.
    brief = " · ".join(
        f"{letter(position)}{_describe_verdict(comparison, position, is_brief=True)}"
        for position in comparison.others
    )
    return (f"⚠ {count} · " if count else "") + ("per sample · " if comparison.per_batch else "") + brief


def _describe_verdict(comparison: Comparison, position: int, *, is_brief: bool = False) -> str:
    verdict, difference = comparison.verdicts[position], comparison.differences[position]
    if verdict is None or difference is None:
        return ""
    if verdict.difference_ms is not None and verdict.difference_pct is not None:
        ratio = format_ratio(1.0 + verdict.difference_pct / 100.0)
        time = "" if is_brief else f" {signed_ms(verdict.difference_ms)} ms"
        return f": {verdict.outcome.value}{time} ({ratio})"
    if difference.delta_ms is not None:
        ratio = format_ratio(difference.ratio)
        time = "" if is_brief else f", layers {signed_ms(difference.delta_ms)} ms"
        return f": {verdict.outcome.value}{time} ({ratio})"
    return f": {verdict.outcome.value}"


def describe_sums(
    comparison: Comparison,
    blocks: Sequence[Block],
    remarks: Iterable[str] = (),
    *,
    only_changed: bool = False,
) -> str:
    """Sum the times and differences of the blocks shown, beside those of all."""
    whole = len(blocks) == len(comparison.blocks)
    count = plural(len(comparison.blocks), "block")
    changed = " changed" if only_changed else ""
    parts = [count + changed if whole else f"{len(blocks)}{changed} of {count}"]
    for position, side in enumerate(comparison.sides):
        total = format_ms(side.latency_sum_ms)
        shown = format_ms(sum_known(block.latency_ms[position] for block in blocks))
        parts.append(f"{letter(position)} {total}" if whole else f"{letter(position)} {shown}/{total}")
    for position in comparison.others:
        difference = comparison.differences[position]
        total = signed_ms(difference.delta_ms if difference else None)
        shown = signed_ms(sum_known(block.deltas_ms[position] for block in blocks))
        name = "Δ" if len(comparison.engines) == 2 else f"Δ{letter(position)}"
        parts.append(f"{name} {total}" if whole else f"{name} {shown}/{total}")
    parts[-1] += " ms"
    parts += remarks
    lacking = sum(side.unprofiled_layers for side in comparison.sides if side.latency_sum_ms is not None)
    if lacking:
        parts.append(f"{plural(lacking, 'layer')} without a time in no sum")
    return " · ".join(parts)


def describe_block(block: Block) -> str:
    """Describe the evidence for a block in a line."""
    if block.is_one_sided:
        return block.why
    return f"{block.match.value} {100 * block.confidence:.0f} %: {block.why}"


def describe_layer(position: int, layer: Layer) -> str:
    """Describe a layer in a line."""
    precision = layer.precision.value if layer.precision else "precision unknown"
    parts = [
        f"{letter(position)} layer {layer.index}",
        precision,
        layer.tactic or "",
        describe_formats(layer),
    ]
    return " · ".join(part for part in (*parts, layer.name) if part)


# The story of the whole


def overview_story(comparison: Comparison, matrix: Matrix, width: int) -> Story:
    """Lines about the whole comparison, warnings first.

    Args:
        width: Cells for a line of the tables.
    """
    story = Story()
    for caution in comparison.cautions:
        story.say(caution.text, "warning", label="⚠")
    for position in comparison.others:
        difference, verdict = comparison.differences[position], comparison.verdicts[position]
        if difference is not None and verdict is not None:
            _difference(story, comparison, difference, verdict)
    _engines(story, comparison, width)
    if len(comparison.engines) > 2:
        _ranking(story, comparison)
    rows = {
        Matrix.KIND: comparison.by_kind,
        Matrix.PRECISION: comparison.by_precision,
        Matrix.MODULE: comparison.by_module,
    }[matrix]
    following = list(Matrix)[(list(Matrix).index(matrix) + 1) % len(Matrix)]
    story.totals = len(story.lines)
    unit = "ms per sample" if comparison.per_batch else "ms"
    story.say(f"By {matrix.value}, {unit} (t: by {following.value})", "section")
    for line in _matrix_lines(comparison, rows, width):
        story.say(line)
    return story


def _difference(story: Story, comparison: Comparison, difference: Difference, verdict: Verdict) -> None:
    position = difference.engine
    story.say(f"{letter(position)} against {letter(comparison.baseline)}: {verdict.outcome.value}", "heading")
    story.say(verdict.why)
    if verdict.outcome is not Outcome.UNKNOWN and verdict.method:
        story.say(verdict.method, "muted")
    story.say(difference.headline)
    for text, reason in reason_lines(difference, MOST_REASONS):
        if reason is not None and reason.blocks:
            story.link(text, Goal(reason.blocks[0]), indent=2)
        else:
            story.say(text, "muted" if reason is None else "plain", indent=2)
    matches = matches_text(difference)
    alone = next((count for match, count in difference.matches.items() if match.value == "none"), 0)
    story.say(
        f"Blocks: {matches or 'none matched'}{f', {alone} in one engine only' if alone else ''}.", "muted"
    )


def _engines(story: Story, comparison: Comparison, width: int) -> None:
    story.say("Engines", "section")
    for position, side in enumerate(comparison.sides):
        engine = comparison.engines[position]
        role = " (baseline)" if position == comparison.baseline else ""
        name = shorten_middle(printable(side.label), max(LEAST_NAME, width - 6 - len(role)))
        story.say(f"{name}{role}", label=letter(position))
        story.say("  " + " · ".join(_engine_facts(comparison, position, engine)), "muted", indent=2)


def _engine_facts(comparison: Comparison, position: int, engine: Engine) -> list[str]:
    side = comparison.sides[position]
    latency = end_to_end(engine)
    sample = " per sample" if side.per != 1 else ""
    facts = [
        f"layers {format_ms(side.latency_sum_ms)} ms{sample}"
        if side.latency_sum_ms is not None
        else "no profile",
        f"median {format_ms(latency.summary.median_ms / side.per)} ms{sample}"
        if latency is not None and latency.summary.median_ms is not None
        else "",
        f"{side.matched_layers} of {plural(side.layers, 'layer')} matched",
        f"weights {format_bytes(engine.weights_bytes)}" if engine.weights_bytes is not None else "",
        engine.precision.value if engine.precision else "",
        printable(side.device or ""),
        f"TensorRT {printable(side.tensorrt_version)}" if side.tensorrt_version else "",
        f"batch {side.batch}" if side.batch is not None else "",
    ]
    return [fact for fact in facts if fact]


def _ranking(story: Story, comparison: Comparison) -> None:
    story.say(f"Ranking, by {comparison.ranked_by}", "section")
    for rank, position, value, ratio in ranked(comparison):
        factor = "" if ratio is None else f" · {ratio:.3f}×"
        mark = MISSING if rank is None else str(rank)
        name = printable(comparison.sides[position].label)
        story.say(f"{letter(position)}  {format_ms(value)} ms{factor}  {name}", label=mark, indent=2)


# Matrices


def _matrix_lines(comparison: Comparison, rows: Sequence[Row], width: int) -> list[str]:
    """Lines of a table; without room for them, the differences of further engines are left out."""
    positions, others = range(len(comparison.engines)), list(comparison.others)
    entries = [(printable(row.key) or "(none)", row.latency_ms, row.deltas_ms) for row in rows[:MOST_GROUPS]]
    if rest := rows[MOST_GROUPS:]:
        times = tuple(sum_known(row.latency_ms[position] for row in rest) for position in positions)
        deltas = tuple(sum_known(row.deltas_ms[position] for row in rest) for position in positions)
        entries.append((f"{len(rest)} more", times, deltas))
    sums = tuple(difference.delta_ms if difference else 0.0 for difference in comparison.differences)
    entries.append(("Σ", tuple(side.latency_sum_ms for side in comparison.sides), sums))
    cells = [
        (
            name,
            [format_ms(times[position]) for position in positions],
            [format_delta_ms(deltas[position]) for position in others],
        )
        for name, times, deltas in entries
    ]
    heads = (
        [f"{letter(position)} ms" for position in positions],
        [f"Δ {letter(position)}" for position in others],
    )
    time_width = max(len(text) for _, times, _ in [("", *heads), *cells] for text in times)
    delta_width = max(len(text) for _, _, deltas in [("", *heads), *cells] for text in deltas)
    label = max(len("by"), *(cell_len(name) for name, _, _ in cells))

    def room(deltas: int) -> int:
        return width - (time_width + 2) * len(positions) - (delta_width + 2) * deltas

    shown = len(others)
    while shown > 1 and room(shown) < LEAST_LABEL:
        shown -= 1
    label = max(LEAST_LABEL, min(label, room(shown), MOST_LABEL))
    return [
        _padded(name, label)
        + "".join(f"  {text:>{time_width}}" for text in times)
        + "".join(f"  {text:>{delta_width}}" for text in deltas[:shown])
        for name, times, deltas in [("", *heads), *cells]
    ]


def _padded(text: str, width: int) -> str:
    return set_cell_size(shorten_middle(text, width), width)


# The story of a block


def block_story(comparison: Comparison, block: Block) -> Story:
    """Lines about a block: its evidence, what differs, and its layers."""
    story = Story()
    story.say(block_name(comparison, block), "heading")
    module = f" · module {'/'.join(block.module)}" if block.module else ""
    story.say(f"{block.kind} · layers {block.shape}{module}")
    story.say(describe_block(block))
    story.say("Time", "section")
    for position in range(len(comparison.engines)):
        story.say(_describe_time(comparison, block, position), label=letter(position), indent=2)
    if block.changes:
        story.say("What changed", "section")
        for change in block.changes:
            engine = "" if len(comparison.engines) == 2 else f"{letter(change.engine)} "
            words = f"{change.before or MISSING} → {change.after or MISSING}"
            story.say(words, label=f"{engine}{change.kind.value}", indent=2)
    for position, indices in enumerate(block.layers):
        for index in indices:
            _layer(story, comparison, position, comparison.engines[position].layers[index])
    return story


def _describe_time(comparison: Comparison, block: Block, position: int) -> str:
    if not block.layers[position]:
        return f"no layer · {format_delta_ms(block.deltas_ms[position])} ms"
    words = f"{format_ms(block.latency_ms[position])} ms"
    if position == comparison.baseline:
        return words
    return (
        f"{words} · {format_delta_ms(block.deltas_ms[position])} ms · {format_ratio(block.ratios[position])}"
    )


def _layer(story: Story, comparison: Comparison, position: int, layer: Layer) -> None:
    story.say(f"Layer {layer.index} of {letter(position)}", "section")
    story.link(layer.name, Goal(None, position, layer.index), indent=2)
    precision = layer.precision.value if layer.precision else MISSING
    story.say(
        f"{format_ms(layer_ms(comparison, position, layer))} ms · {precision} · {layer.kind.value}", indent=2
    )
    if layer.tactic:
        story.say(layer.tactic, label="tactic", indent=2)
    if formats := describe_formats(layer):
        story.say(formats, label="formats", indent=2)
