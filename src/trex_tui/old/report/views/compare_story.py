"""A comparison as the lines of its screen. Text and numbers only, no terminal.

Engines are named by the letters of their columns: A is the baseline, or the first engine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from rich.cells import cell_len, set_cell_size

from trex_tui.old.analysis.compare.model import BECOMES, Block, Change, Comparison, letter
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import Section, Table
from trex_tui.old.report.render_text import table_lines
from trex_tui.old.report.views.compare import (
    CAUTIONS,
    REASONS,
    Matrix,
    Shown,
    block_name,
    describe_block_verdict,
    difference_id,
    matrix_table,
    overview_sections,
    signed_ms,
    sum_known,
)
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.text import MISSING, format_ms, plural, printable, shorten_middle

MOST_LABEL = 28
"""Cells of the name of a row in a matrix."""
MOST_CHANGE = 30
"""Characters of a change in a line; longer ones take a line for each engine."""
SLOWER, FASTER = "▲", "▼"
ZERO = signed_ms(0.0)
LEAST_NAME = 8
LEAST_CAUTION = 24
"""Cells for the beginning of a caution."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Target of a line: a block, a layer, or the full cautions.

    Attributes:
        block: Index of the block; None if it is a layer.
        engine, layer: Index of the engine in the comparison, and index of the layer in it.
        is_cautions: Whether it leads to the cautions.
    """

    block: int | None = None
    engine: int = 0
    layer: int = 0
    is_cautions: bool = False


@dataclass(slots=True)
class Story:
    """Lines; the target of a line is the index of its goal.

    Attributes:
        cautions, totals: Numbers of the lines where they begin; None if there are none.
    """

    lines: list[Line] = field(default_factory=list)
    goals: list[Goal] = field(default_factory=list)
    cautions: int | None = None
    totals: int | None = None

    def say(self, text: str, style: str = "plain", *, label: str = "", indent: int = 0) -> None:
        self.lines.append(Line(text, style, label, indent))

    def link(self, text: str, goal: Goal, style: str = "plain", *, label: str = "", indent: int = 0) -> None:
        self.lines.append(Line(text, style, label, indent, target=len(self.goals)))
        self.goals.append(goal)


def format_delta_ms(value: float | None) -> str:
    """Format a difference with its sign and a triangle, independent of colour."""
    text = signed_ms(value)
    return {"+": f"{SLOWER} ", "−": f"{FASTER} "}.get(text[:1], "") + text


def format_ratio(ratio: float | None) -> str:
    """Format a ratio as a change in percent with its sign; from 100 times on as a factor."""
    if ratio is None:
        return MISSING
    pct = 100.0 * (ratio - 1.0)
    if abs(pct) >= 10_000:
        return f"{ratio:.0f}×"
    text = f"{abs(pct):.1f}"
    return f"{'' if not float(text) else '−' if pct < 0 else '+'}{text} %"


def is_changed(block: Block) -> bool:
    """Return whether engines differ in the block by more than its time."""
    return bool(block.changes or block.absent)


def layer_ms(comparison: Comparison, position: int, layer: Layer) -> float | None:
    """Return the latency of a layer in the unit of the comparison: per inference or per sample."""
    return None if layer.latency_ms is None else layer.latency_ms / comparison.sides[position].per


def describe_formats(layer: Layer) -> str:
    """Return types and layouts of inputs and outputs: `FP16 NHWC8 → INT8 NC/32HW32`; `FP16` if all are equal."""
    parts = [
        ", ".join(dict.fromkeys(tensor.description for tensor in tensors)) or MISSING
        for tensors in (layer.inputs, layer.outputs)
    ]
    return " → ".join(dict.fromkeys(parts)) if layer.inputs or layer.outputs else ""


# The lines above and below the table


def describe_engines(comparison: Comparison, width: int) -> str:
    """Name the engines with their latencies and verdicts in a line; names are shortened if necessary."""
    count = len(comparison.cautions)
    warning = f"⚠ {plural(count, 'caution')} · " if count else ""
    warning += "per sample · " if comparison.per_batch else ""
    positions = range(len(comparison.engines))
    verdicts = [_describe_verdict(comparison, position) for position in positions]
    briefs = [_describe_verdict(comparison, position, is_brief=True) for position in positions]
    times = _describe_medians(comparison)
    names = [printable(side.label) for side in comparison.sides]
    # With both latencies the difference is in percent only if there is no room for more.
    for texts in (
        [f"{time}{words}" for time, words in zip(times, verdicts, strict=True)],
        [f"{time}{words}" for time, words in zip(times, briefs, strict=True)],
        verdicts,
    ):
        taken = cell_len(warning) + sum(2 + cell_len(text) for text in texts) + 3 * (len(names) - 1)
        room = max(LEAST_NAME, (width - taken) // len(names))
        parts = [
            f"{letter(position)} {shorten_middle(name, room)}{text}"
            for position, (name, text) in enumerate(zip(names, texts, strict=True))
        ]
        whole = warning + " · ".join(parts)
        if cell_len(whole) <= width:
            return whole
    # The table and the text beside it name the engines; this line is the only one with their results.
    others = [(letter(position), verdicts[position]) for position in comparison.others]
    named = warning + " · ".join(f"{name}{words}" for name, words in others)
    if cell_len(named) <= width:
        return named
    # The share of a difference is shorter than its milliseconds.
    brief = " · ".join(f"{letter(position)}{briefs[position]}" for position in comparison.others)
    return (f"⚠ {count} · " if count else "") + ("per sample · " if comparison.per_batch else "") + brief


def _describe_medians(comparison: Comparison) -> list[str]:
    """Return the median latency of each engine, after a blank; empty if unknown."""
    medians: dict[int, float] = {}
    for position, verdict in enumerate(comparison.verdicts):
        if verdict is not None and verdict.medians_ms is not None:
            medians.setdefault(comparison.baseline, verdict.medians_ms[0])
            medians[position] = verdict.medians_ms[1]
    return [
        f" {format_ms(medians[position])} ms" if position in medians else ""
        for position in range(len(comparison.engines))
    ]


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
    """Return the sums of times and differences of the shown blocks, beside those of all."""
    whole = len(blocks) == len(comparison.blocks)
    count = plural(len(comparison.blocks), "block")
    if only_changed:
        parts = [f"{len(blocks)} of {len(comparison.blocks)} changed"]
    else:
        parts = [count if whole else f"{len(blocks)} of {count}"]
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
        parts.append(f"{plural(lacking, 'layer')} without a time excluded")
    return " · ".join(parts)


def describe_block(block: Block) -> str:
    """Describe the evidence for a block in a line."""
    if block.is_one_sided:
        return block.why
    return f"matched by {block.match.value}, {100 * block.confidence:.0f} %: {block.why}"


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


def overview_story(
    comparison: Comparison, matrix: Matrix, width: int, *, has_all_cautions: bool = False
) -> Story:
    """Return the sections of `diff` without its blocks, which have a separate table; reasons lead to blocks.

    The differences come first, then the cautions in a line.

    Args:
        matrix: The sums to show.
        width: Cells for a line of the tables.
        has_all_cautions: Whether the cautions are shown in full.
    """
    story, shown = Story(), Shown(comparison, ())
    goals = {
        (difference_id(difference.engine), index): Goal(reason.blocks[0])
        for difference in comparison.differences
        if difference is not None
        for index, reason in enumerate(difference.reasons)
    }
    sections = list(overview_sections(shown, has_method=False))
    differences = {difference_id(position) for position in comparison.others}
    for section in sorted(sections, key=lambda section: section.id not in differences):
        if section.id == CAUTIONS:
            story.cautions = len(story.lines)
        if section.id == CAUTIONS and not has_all_cautions:
            story.link(_fold(section.sentences, width - 3), Goal(is_cautions=True), "warning", label="⚠")
        else:
            _add_section(story, section, goals, width)
    following = list(Matrix)[(list(Matrix).index(matrix) + 1) % len(Matrix)]
    story.totals = len(story.lines)
    unit = "ms per sample" if comparison.per_batch else "ms"
    story.say(f"By {matrix.value}, {unit} (t: by {following.value})", "section")
    for line in _matrix_lines(matrix_table(shown, matrix, has_counts=False), width):
        story.say(line)
    return story


def _fold(cautions: Sequence[str], width: int) -> str:
    """Return the number of cautions, and the beginning of the first if there is room; a single short one in full."""
    if len(cautions) == 1 and cell_len(cautions[0]) <= width:
        return cautions[0]
    head = f"{plural(len(cautions), 'caution')}: Enter or w"
    room = width - len(head) - len(" · ")
    if room < LEAST_CAUTION:
        return head
    return f"{head} · {set_cell_size(cautions[0], room - 1).rstrip()}…"


def _add_section(story: Story, section: Section, goals: Mapping[tuple[str, int], Goal], width: int) -> None:
    """Add a section.

    Args:
        goals: Section and row of its table of reasons -> target of the row.
    """
    if section.is_warning:
        for sentence in section.sentences:
            story.say(sentence, "warning", label="⚠")
        return
    story.say(section.title, "section")
    for sentence in section.sentences:
        story.say(sentence)
    for table in section.tables:
        lines = table_lines(table, width)
        is_wide = max(map(cell_len, lines)) > width
        if table.id == REASONS:
            own = [goals.get((section.id, index)) for index in range(len(table.rows))]
            if is_wide:
                _add_reasons(story, table, own)
            else:
                header = len(lines) - len(own)
                for line, goal in zip(lines, [None] * header + own, strict=True):
                    _add_line(story, line, goal)
        elif is_wide:
            _add_records(story, table)
        else:
            for line in lines:
                story.say(line)


def _add_line(story: Story, text: str, goal: Goal | None) -> None:
    if goal is None:
        story.say(text)
    else:
        story.link(text, goal)


def _add_reasons(story: Story, table: Table, goals: Sequence[Goal | None]) -> None:
    """Add the rows of the table of causes if it is too wide: the sum and the cause, then the rest without zeros."""
    texts = [table.texts(index) for index in range(len(table.columns))]
    for row, goal in zip(zip(*texts, strict=True), goals, strict=True):
        cause, delta, *_ = row
        _add_line(story, f"{delta}  {cause}", goal)
        pairs = zip(table.columns[2:], row[2:], strict=True)
        facts = [
            text if column.key == "what" else f"{column.title} {text}"
            for column, text in pairs
            if text not in (MISSING, ZERO)
        ]
        if facts:
            story.say(" · ".join(facts), "muted", indent=2)


def _add_records(story: Story, table: Table) -> None:
    """Add the rows of a table that is too wide, each as separate lines; a first column without a title is the label."""
    start = 0 if table.columns[0].title else 1
    texts = [table.texts(index) for index in range(len(table.columns))]
    for row in zip(*texts, strict=True):
        story.say(row[start], label=row[0] if start else "")
        pairs = zip(table.columns[start + 1 :], row[start + 1 :], strict=True)
        facts = [f"{column.title} {text}" for column, text in pairs if text != MISSING]
        story.say(" · ".join(facts), "muted", indent=2)


def _matrix_lines(table: Table, width: int) -> list[str]:
    """Return lines of a matrix; if there is no room, the differences of further engines are omitted."""
    deltas = sum(column.key.endswith("_delta_ms") for column in table.columns)
    while True:
        lines = table_lines(table, width, MOST_LABEL)
        if deltas <= 1 or max(map(cell_len, lines)) <= width:
            return lines
        deltas -= 1
        table = replace(table, columns=table.columns[:-1], rows=[row[:-1] for row in table.rows])


# The story of a block


def block_story(comparison: Comparison, block: Block, why: Iterable[Line] = ()) -> Story:
    """Return lines about a block: its evidence, changes, and layers.

    Args:
        why: Why the builder chose other tactics.
    """
    story = Story()
    story.say(block_name(comparison, block), "heading")
    module = f" · module {'/'.join(block.module)}" if block.module else ""
    story.say(f"{block.kind} · layers {block.shape}{module}")
    story.say(describe_block(block))
    story.say("Time", "section")
    for position in range(len(comparison.engines)):
        story.say(_describe_time(comparison, block, position), label=letter(position), indent=2)
        if verdict := describe_block_verdict(block, position):
            story.say(verdict, "muted", indent=4)
    if block.changes:
        story.say("What changed", "section")
        for change in block.changes:
            _describe_change(story, comparison, change)
    story.lines += why
    for position, indices in enumerate(block.layers):
        for index in indices:
            _layer(story, comparison, position, comparison.engines[position].layers[index])
    return story


def _describe_change(story: Story, comparison: Comparison, change: Change) -> None:
    """Add a change, then the differing parts of a tactic.

    Before and after are on one line; on two if both are long, or lead from inputs to outputs.
    """
    letters = letter(comparison.baseline), letter(change.engine)
    engine = "" if len(comparison.engines) == 2 else f"{letters[1]} "
    entries = [(f"{engine}{change.kind.value}", change.before, change.after, 2)]
    entries += [(part.part, part.before, part.after, 4) for part in change.parts]
    for label, before, after, indent in entries:
        texts = before or MISSING, after or MISSING
        if sum(map(len, texts)) <= MOST_CHANGE and not any("→" in text for text in texts):
            story.say(f" {BECOMES} ".join(texts), label=label, indent=indent)
        else:
            story.say(f"{letters[0]} {texts[0]}", label=label, indent=indent)
            story.say(f"{letters[1]} {texts[1]}", label=" ", indent=indent)


def _describe_time(comparison: Comparison, block: Block, position: int) -> str:
    if not block.layers[position]:
        delta = comparison.delta_ms(block, position)
        return "no layer" if delta is None else f"no layer · {format_delta_ms(delta)} ms"
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
