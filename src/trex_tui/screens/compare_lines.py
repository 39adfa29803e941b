"""Lines above and below the blocks of a comparison: verdict, sums by cause, the block under the cursor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import NamedTuple

from textual.content import Content

from trex_tui.compare.blocks import letter
from trex_tui.compare.noise import Outcome
from trex_tui.compare.reasons import CAUSE_NAMES, Cause
from trex_tui.report.document import Section
from trex_tui.report.text import align_table, render_section
from trex_tui.report.views.compare import Shown, list_sections
from trex_tui.report.views.verdicts import describe_verdict
from trex_tui.screens.block_rows import Blocks, Layers
from trex_tui.screens.pane import describe_layer
from trex_tui.text import MISSING, format_ms, format_signed_ms, plural, printable, shorten_middle
from trex_tui.widgets.text import Line, styled

_OUTCOMES = {
    Outcome.FASTER: ("faster", "bold $success"),
    Outcome.SLOWER: ("slower", "bold $error"),
    Outcome.SAME: ("same", "bold"),
    Outcome.UNKNOWN: ("significance unknown", "bold"),
}
_MOST_LABEL = 32
_OF_ENGINES = ("difference", "evidence")
"""Keys of the sections about one engine each."""


def head_line(blocks: Blocks, others: Sequence[int], width: int) -> Content:
    """Return engines, latencies and verdicts with their intervals: as much as has room."""
    comparison = blocks.comparison
    count = len(comparison.cautions)
    cautions = (
        styled(("  ⚠ ", "bold $warning"), (plural(count, "caution"), "$warning")) if count else styled("")
    )
    network = _describe_network(blocks, others)
    lines = [network + line + end for line in _list_heads(blocks, others) for end in (cautions, cautions[:4])]
    return next((line for line in lines if line.cell_length <= width), lines[-1])


def _describe_network(blocks: Blocks, others: Sequence[int]) -> Content:
    """Return that engines are of different networks."""
    comparison = blocks.comparison
    first = blocks.layers[0]
    parts = []
    for other in others:
        if not comparison.differences[other].is_related:
            pairs = [(bool(own), bool(its)) for own, its in zip(first, blocks.layers[other], strict=True)]
            both, total = pairs.count((True, True)), len(pairs) - pairs.count((False, False))
            name = "" if len(others) == 1 else f"{letter(other)} "
            parts.append(f"{name}{both} of {total}")
    text = f"Different networks: {', '.join(parts)} blocks match"
    return styled((text, "bold $warning"), " · ") if parts else styled("")


def _list_heads(blocks: Blocks, others: Sequence[int]) -> Iterator[Content]:
    """Yield lines that say less and less."""
    ends = (0, *others)
    names = [
        styled((f"{letter(end)} ", "$accent"), shorten_middle(blocks.labels[end], _MOST_LABEL))
        for end in ends
    ]
    times = [_describe_time(blocks, end, others) for end in ends]
    timed = [name + time for name, time in zip(names, times, strict=True)]
    whole = [styled(), *(styled(" ") + _describe_outcome(blocks, other) for other in others)]
    brief = [styled(), *(styled(" ") + _describe_outcome(blocks, other, is_brief=True) for other in others)]
    letters = [styled((letter(end), "$accent")) for end in ends]
    is_single = len(others) == 1
    for subjects, verdicts, start in (
        (timed, whole, 0),
        *([(names, whole, 0), (names, whole, 1), (letters, whole, 1)] if is_single else []),
        (timed, brief, 0),
        (names, brief, 0),
        (letters, brief, 1),
    ):
        parts = [subject + verdict for subject, verdict in zip(subjects, verdicts, strict=True)]
        yield styled(" · ").join(parts[start:])


def _describe_time(blocks: Blocks, end: int, others: Sequence[int]) -> Content:
    """Return the median latency that was judged."""
    comparison = blocks.comparison
    for other in others:
        values = comparison.verdicts[other].judgement.values
        if values is not None and end in (0, other):
            return styled(" ", (f"{format_ms(values[end == other])} ms", "bold"))
    return styled()


def _describe_outcome(blocks: Blocks, other: int, *, is_brief: bool = False) -> Content:
    comparison = blocks.comparison
    verdict, difference = comparison.verdicts[other], comparison.differences[other]
    word, style = _OUTCOMES[verdict.outcome]
    if is_brief or not difference.is_related:
        pct = verdict.judgement.difference_pct
        pct = difference.delta_pct if pct is None else pct
        change = "" if pct is None else f" {pct:+.2f} %".replace("-", "−")
        return styled((word, style), change)
    text = describe_verdict(comparison, other).removesuffix(", noise unknown")
    if verdict.outcome is Outcome.UNKNOWN:
        return styled((word, style), f" {text}" if text != "unknown" else "")
    return styled((word, style), text.removeprefix(word))


def sum_line(blocks: Blocks, others: Sequence[int], shown: Sequence[int]) -> Content:
    """Return the sums of the layer times, and the causes of their difference, which add up to it."""
    comparison = blocks.comparison
    is_whole = len(shown) == len(blocks)
    ends = (0, *others)
    parts = []
    for end in ends:
        sum_ms = comparison.sides[end].latency_sum_ms
        total = "no profile" if sum_ms is None else format_ms(sum_ms)
        known = [time for block in shown if (time := blocks.times[end][block]) is not None]
        part = "" if is_whole else f"{format_ms(sum(known)) if known else MISSING} of "
        parts.append(styled(f"{letter(end)} {part}{total}"))
    for other in others:
        delta = comparison.differences[other].delta_ms
        name = "Δ" if len(others) == 1 else f"Δ{letter(other)}"
        parts.append(styled(f"{name} ", _signed(delta)))
    what = "Layers " if is_whole else f"{len(shown)} of {plural(len(blocks), 'block')}: "
    line = styled(what) + styled(" · ").join(parts) + styled(f" {comparison.unit}")
    reasons = comparison.differences[others[0]].reasons
    if len(others) > 1 or reasons.empty:
        return line
    causes = [
        styled(_signed(delta), f" {CAUSE_NAMES[Cause(cause)]}")
        for cause, delta in zip(reasons["cause"], reasons["delta_ms"], strict=True)
    ]
    return line + styled(" = ") + styled("  ").join(causes)


def _signed(delta: float | None) -> tuple[str, str]:
    if delta is None:
        return MISSING, "$muted"
    return format_signed_ms(delta), "$error" if delta > 0 else "$success" if delta < 0 else "$muted"


def describe_row(blocks: Blocks, block: int | None, others: Sequence[int]) -> str:
    """Return what differs in a block, and how it was matched."""
    if block is None:
        return "Layers that take no time: Enter shows them."
    row = blocks.comparison.blocks.iloc[block]
    changes = blocks.describe_changes(block, tuple(others))
    if row["confidence"]:
        changes = changes or "nothing changed"
        return f"{changes} · matched by {row['evidence']}, {100 * row['confidence']:.0f} % · {row['why']}"
    return " · ".join(filter(None, (changes, row["why"])))


def status_lines(blocks: Blocks, layers: Layers, ends: Sequence[int]) -> Content:
    """Return a line per engine: layer, kernel, formats, name; of several layers those of the slowest."""
    lines = []
    for end in ends:
        text = MISSING
        if layers and layers[end]:
            main = blocks.main_layer(end, layers[end])
            more = f" +{len(layers[end]) - 1}" if len(layers[end]) > 1 else ""
            text = f"{main}{more} · {describe_layer(blocks.comparison.engines[end], main)}"
        lines.append(styled((letter(end), "$accent"), f" {text}"))
    return Content("\n").join(lines)


# Causes


class CauseChosen(NamedTuple):
    """A link to the blocks of a cause, the largest first."""

    blocks: tuple[int, ...]


def cause_lines(blocks: Blocks, others: Sequence[int], width: int) -> Iterator[Line]:
    """Yield the causes of the differences, which add up, and evidence; then cautions, engines and sums."""
    comparison = blocks.comparison
    shown = Shown(comparison, comparison.blocks.index, 1)
    ends = {letter(other).lower(): other for other in others}
    sections = takewhile(lambda section: section.key != "blocks", list_sections(shown))
    for section in sorted(sections, key=lambda section: not section.key.startswith(_OF_ENGINES)):
        name, _, end = section.key.partition("-")
        if name in _OF_ENGINES and end not in ends:
            continue
        if name == "difference":
            yield from _list_causes(blocks, section, ends[end], width, has_title=len(ends) > 1)
        else:
            yield from map(Line, _draw(section, width))
        yield Line(styled(""))


def _list_causes(
    blocks: Blocks, section: Section, other: int, width: int, *, has_title: bool
) -> Iterator[Line]:
    """Yield a line per cause, a link to its blocks. The verdict stands above, unless there are several engines."""
    if has_title:
        yield Line(styled((printable(section.title), "bold")))
    links = [*map(CauseChosen, blocks.comparison.differences[other].reasons["blocks"]), None]
    for number, row in enumerate(align_table(section, width)):
        yield Line(styled((row, "" if number else "$muted")), links[number - 1] if number else None)


def _draw(section: Section, width: int) -> Iterator[Content]:
    """Yield the lines of a section; a warning in the color of the theme: Rich's yellow is faint on white."""
    lines = render_section(replace(section, is_warning=False), width).split("\n", allow_blank=True)
    style = "$warning" if section.is_warning else ""
    return (Content.from_rich_text(line).stylize_before(style) for line in lines)
