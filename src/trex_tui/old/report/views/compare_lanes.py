"""Two engines side by side: the columns of their lanes, for the screen and for files."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from trex_tui.old.analysis.compare.lanes import LaneRow, align_lanes
from trex_tui.old.analysis.compare.model import Block, Comparison, Match, letter
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.document import Column, Listing, make_table
from trex_tui.old.report.views.compare import describe_changes
from trex_tui.old.report.views.compare_story import format_delta_ms, layer_ms
from trex_tui.old.text import printable

LANES_SCHEMA = "trex-tui/lanes/1"
LANES = "lanes"
"""Id of the table of lanes."""
BLOCK, LINK, DELTA, CHANGED = "block", "link", "delta_ms", "changed"
"""Keys of the columns that belong to both lanes."""
LEFT_ONLY, RIGHT_ONLY = "‹──", "──›"
"""Links of layers that only one engine has."""
SAME, DIFFERENT = "───", "─≠─"
"""Links of a layer to another, without and with a change."""
PINNED = "─●─"
"""Link of a pinned pair."""


def lane_key(engine: int, name: str) -> str:
    """Return the key of a column of one lane: `a_latency_ms`."""
    return f"{letter(engine).lower()}_{name}"


def lane_columns(comparison: Comparison, engine: int) -> list[Column]:
    """Return the columns of the lanes of the baseline and of another engine, from left to right.

    Args:
        engine: Index of the other engine.
    """
    left = _own_columns(comparison, comparison.baseline, 0)
    right = _own_columns(comparison, engine, 1)
    return [
        Column(
            BLOCK,
            "block",
            value=lambda row: row.block.index,
            is_number=True,
            format=str,
            help="Position of the block in execution order of the baseline.",
        ),
        *left,
        Column(
            LINK,
            "",
            value=draw_link,
            width=3,
            help="─── one layer to one, ─≠─ with a change, ─●─ pinned, ┬ ┼ ┴ several to several, ‹ or › only in one engine.",
        ),
        Column(
            DELTA,
            "Δ ms",
            value=lambda row: None if row.number else comparison.delta_ms(row.block, engine),
            is_number=True,
            format=format_delta_ms,
            width=9,
            help="Latency of the block minus the baseline's, next to its first layers: ▲ slower, ▼ faster.",
        ),
        *reversed(right),
        Column(
            CHANGED,
            "Changed",
            value=lambda row: "" if row.number else describe_changes(row.block, brief=True),
            width=14,
            flex=True,
            priority=6,
            help="Difference from the baseline, next to the first layers of a block.",
        ),
    ]


def _own_columns(comparison: Comparison, engine: int, lane: int) -> list[Column]:
    """Return the columns of a lane, from outside to inside."""
    name = letter(engine)

    def key(suffix: str) -> str:
        return lane_key(engine, suffix)

    def of_layer(value: Callable[[Layer], object]) -> Callable[[LaneRow], object]:
        return lambda row: None if (layer := row.layers[lane]) is None else value(layer)

    return [
        Column(
            key("index"),
            f"{name} #",
            value=of_layer(lambda layer: layer.index),
            is_number=True,
            format=str,
            width=5,
            priority=4,
            help=f"Position of the layer in the execution order of {name}; ↑ where it runs before one above it.",
        ),
        Column(
            key("layer"),
            f"{name} {printable(comparison.sides[engine].label)}",
            value=of_layer(lambda layer: layer.name),
            width=17,
            flex=True,
            help=f"Layer of {name}; empty where only the other engine has one.",
        ),
        Column(
            key("precision"),
            "Prec",
            value=of_layer(lambda layer: layer.precision),
            width=5,
            priority=3,
            help=f"Precision of the layer of {name}.",
        ),
        Column(
            key("latency_ms"),
            f"{name} ms",
            value=of_layer(lambda layer: layer_ms(comparison, engine, layer)),
            is_number=True,
            width=7,
            help=f"Latency of the layer of {name}.",
        ),
    ]


def draw_link(row: LaneRow) -> str:
    """Draw the link between the layers of a row; `row.counts` has their number."""
    lefts, rights = row.counts
    if not rights:
        return LEFT_ONLY
    if not lefts:
        return RIGHT_ONLY
    if lefts == rights == 1:
        if row.block.match is Match.MANUAL:
            return PINNED
        return DIFFERENT if row.block.changes else SAME
    has_left, has_right = (layer is not None for layer in row.layers)
    position = 0 if not row.number else 2 if row.number == max(row.counts) - 1 else 1
    joint = ("┬┼┴" if has_left and has_right else " ┤┘" if has_left else " ├└")[position]
    return f"{'─' if has_left else ' '}{joint}{'─' if has_right else ' '}"


def lanes_listing(comparison: Comparison, engine: int, blocks: Iterable[Block] | None = None) -> Listing:
    """Return the lanes as a separate table, for files: without links, since rows name their block."""
    rows = align_lanes(comparison, engine, blocks)
    names = (comparison.sides[index].label for index in (comparison.baseline, engine))
    columns = [column for column in lane_columns(comparison, engine) if column.key != LINK]
    table = make_table(LANES, columns, rows)
    return Listing(LANES_SCHEMA, " ⇒ ".join(names), table, "engines")
