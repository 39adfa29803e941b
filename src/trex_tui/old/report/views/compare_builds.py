"""Reasons for changed tactics: a table of the blocks of a comparison, the lines of one block, and their JSON."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from trex_tui.old.analysis.build import Contender
from trex_tui.old.analysis.compare.builds import (
    TACTIC_DIGITS,
    BlockBuild,
    BuildChoice,
    BuildComparison,
    BuildDifference,
    describe_blocks,
    describe_fate,
)
from trex_tui.old.analysis.compare.model import Block, Comparison, letter
from trex_tui.old.analysis.short_names import ShortTactics
from trex_tui.old.buildlog.layer_tuning import hex_id
from trex_tui.old.report.document import Cell, Column, Section, drop_empty_columns, make_table
from trex_tui.old.report.render_json import plain
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.text import format_ms, printable

WHY_TITLE = "Why the builder chose other tactics"
WHY = "why"
"""Id of the table of builds."""
_MOST_CANDIDATES = 8
"""Candidates of a block in lines."""
_COLUMNS = (
    Column("block", "block", flex=True, help="Name of the block, in the row of the baseline."),
    Column("delta_ms", "Δ ms", is_number=True, help="Difference of the measured times of the layers."),
    Column("because", "because", help="Why the builds differ, according to their logs."),
    Column("engine", "", help="The engine."),
    Column("tactic", "tactic", flex=True, help="Tactic of the engine."),
    Column(
        "builder_ms",
        "builder ms",
        is_number=True,
        format=partial(format_ms, digits=TACTIC_DIGITS),
        help="Time that the builder measured for its choice.",
    ),
    Column("margin_pct", "second %", is_number=True, help="Margin of the second fastest tactic, in percent."),
    Column("timed", "timed", is_number=True, format=str, help="Tactics timed in the formats of the choice."),
    Column("skipped", "skipped", is_number=True, format=str, help="Tactics not timed in these formats."),
    Column("other", "other engine's tactic", flex=True, help="Outcome of the other engine's tactic here."),
)


def why_section(
    comparison: Comparison,
    difference: BuildDifference,
    names: Mapping[int, str],
    shorten: Callable[[str, int], str],
    top: int | None,
    signed_ms: Callable[[float | None], str],
) -> Section:
    """Return the blocks whose tactic changed, two rows each.

    Args:
        names: Index of each block to show -> its name.
        shorten: Cuts these names to a number of characters.
        top: Maximum number of blocks; None for all.
        signed_ms: Formats differences.
    """
    engine, baseline = letter(difference.engine), letter(comparison.baseline)
    title = f"Why the builder chose other tactics for {engine} than for {baseline}"
    sentences = list(map(printable, difference.problems))
    shown = [block for block in difference.blocks if block.block in names]
    if shown:
        sentences.append(describe_blocks(difference))
    elif len(difference.problems) < 2:
        sentences.append("No tactic changed.")
    rows = [
        row
        for block in shown[:top]
        for row in _rows(comparison, difference.engine, block, names[block.block])
    ]
    tactics = ShortTactics(
        choice.tactic for block in shown for choice in block.choices if choice.tactic is not None
    )
    changes: dict[str, dict[str, Any]] = {
        "delta_ms": {"format": signed_ms},
        "block": {"shorten": shorten, "is_fitted_first": True},
        "tactic": {"shorten": tactics.fit},
    }
    columns = [replace(column, **changes.get(column.key, {})) for column in _COLUMNS]
    table = drop_empty_columns(make_table(WHY, columns, rows, total=2 * len(shown), noun="row"))
    tables = [table] if rows else []
    return Section(f"why-{engine.lower()}", title, sentences=sentences, tables=tables)


def _rows(comparison: Comparison, engine: int, block_build: BlockBuild, name: str) -> Iterator[Sequence[Any]]:
    delta = comparison.blocks[block_build.block].deltas_ms[engine]
    heads = (
        (name, delta, block_build.because),
        (Cell(name, ""), Cell(delta, ""), Cell(block_build.because, "")),
    )
    for head, choice in zip(heads, block_build.choices, strict=True):
        yield (
            *head,
            letter(choice.engine),
            choice.tactic,
            choice.chosen.time_ms if choice.chosen else None,
            choice.margin_pct,
            None if choice.problem else len(choice.candidates),
            None if choice.problem else len(choice.skipped),
            choice.problem or describe_fate(choice.other),
        )


def block_why_lines(builds: BuildComparison, block: Block) -> Iterator[Line]:
    """Yield details of a block, for each engine whose tactic differs from the baseline's; then missing information."""
    found = (builds.explain_block(block, engine) for engine in builds.comparison.others)
    explained = [block_build for block_build in found if block_build is not None]
    if not explained:
        return
    if any(build.facts is not None for build in builds.builds):
        for block_build in explained:
            yield from why_lines(block_build)
    else:
        yield Line(WHY_TITLE, "section")
    for build in builds.builds:
        if build.problem:
            yield Line(build.problem, "muted", indent=2)


def why_lines(block_build: BlockBuild) -> Iterator[Line]:
    """Yield details of a block: the conclusion, then what each build timed and skipped."""
    yield Line(WHY_TITLE, "section")
    yield Line(f"{block_build.because.value}. {block_build.why}", indent=2)
    for choice in block_build.choices:
        yield from _choice_lines(choice)


def _choice_lines(choice: BuildChoice) -> Iterator[Line]:
    name = letter(choice.engine)
    if choice.problem:
        yield Line(choice.problem, "muted", label=f"{name} build", indent=2)
        return
    notes = [f"{len(choice.candidates)} timed", f"{len(choice.skipped)} skipped"]
    notes += ["from the timing cache"] if choice.is_cached else []
    notes += [f"timed as {choice.reused_from}"] if choice.reused_from else []
    yield Line(" · ".join(notes), label=f"{name} build", indent=2)
    if choice.formats:
        yield Line(choice.formats, "muted", indent=4)
    shown = list(choice.candidates[:_MOST_CANDIDATES])
    if choice.chosen is not None and not any(_is_same(choice.chosen, contender) for contender in shown):
        shown.append(choice.chosen)
    for contender in shown:
        label = contender.name or (hex_id(contender.id) if contender.id is not None else contender.runner)
        is_chosen = choice.chosen is not None and _is_same(choice.chosen, contender)
        text = f"{format_ms(contender.time_ms, TACTIC_DIGITS)} ms · {label}"
        yield Line(text, label="chosen" if is_chosen else "", indent=4)
    if (rest := len(choice.candidates) - len(shown)) > 0:
        yield Line(f"and {rest} more", "muted", indent=4)


def _is_same(chosen: Contender, contender: Contender) -> bool:
    if chosen.id is None or contender.id is None:
        return chosen.name == contender.name
    return (chosen.runner, chosen.id) == (contender.runner, contender.id)


def why_objects(differences: Sequence[BuildDifference], blocks: Collection[int]) -> list[dict[str, Any]]:
    """Return the builds for JSON; numbers of tactics as the log prints them."""
    return [
        {
            "engine": difference.engine,
            "problems": list(difference.problems),
            "blocks": [_with_hex(plain(block)) for block in difference.blocks if block.block in blocks],
        }
        for difference in differences
    ]


def _with_hex(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Convert numbers of tactics to text: JSON readers lose digits of 64 bits."""
    if isinstance(value, dict):
        return {
            key: hex_id(item) if key == "id" and isinstance(item, int) else _with_hex(item)
            for key, item in value.items()
        }
    return [_with_hex(item) for item in value] if isinstance(value, list) else value
