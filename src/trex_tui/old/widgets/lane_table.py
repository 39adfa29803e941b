"""Table of two engines of a comparison side by side: one layer of each in a row."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, ClassVar

from textual.binding import BindingType

from trex_tui.old.analysis.compare.lanes import LaneRow, align_lanes
from trex_tui.old.analysis.compare.model import Block, Comparison, Match
from trex_tui.old.report.colours import precision_style
from trex_tui.old.report.views.compare import ComparisonNames
from trex_tui.old.report.views.compare_lanes import BLOCK, DELTA, LANES, LINK, lane_columns, lane_key
from trex_tui.old.report.views.compare_story import format_delta_ms, layer_ms
from trex_tui.old.text import format_ms
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.block_table import BlockRow
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.table_columns import textual_columns
from trex_tui.old.widgets.table_model import PlacedColumn, SortKey, TableColumn, place_columns

BAR_WIDTH = 8
_OF_LANES = ("index", "precision", "bar")
"""Columns of both lanes that narrow terminals omit."""


def row_key(row: LaneRow) -> Hashable:
    """Identity of a row while the comparison exists."""
    return row.block.index, row.number


class LaneTable(VirtualTable[LaneRow]):
    """The lanes of the baseline and of another engine, in execution order.

    Attributes:
        engine: Index of the engine in the right lane.
        lane: The lane that keys act on: 0 for the left, 1 for the right.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LANES)

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        self.comparison: Comparison | None = None
        self.engine = 1
        self.lane = 0
        super().__init__(id=id)

    def show(self, comparison: Comparison, engine: int) -> None:
        """Prepare the lanes of an engine; `show_blocks` shows their rows."""
        self.comparison, self.engine = comparison, engine
        self.set_rows(())
        self.set_columns(self._columns(comparison))
        self._mark_lane()

    def show_blocks(self, blocks: Sequence[Block]) -> None:
        """Show the layers of these blocks only."""
        assert self.comparison is not None
        self.set_rows(align_lanes(self.comparison, self.engine, blocks), keep=row_key)

    @property
    def engines(self) -> tuple[int, int]:
        """Indices of the engines in the left and in the right lane."""
        assert self.comparison is not None
        return self.comparison.baseline, self.engine

    @property
    def cursor_block_row(self) -> BlockRow | None:
        """The layer under the cursor in the selected lane; in a gap, the block."""
        row = self.cursor_item
        if row is None:
            return None
        layer = row.layers[self.lane]
        return BlockRow(row.block) if layer is None else BlockRow(row.block, self.engines[self.lane], layer)

    def go_to(self, block: Block, engine: int | None = None, layer: int | None = None) -> bool:
        """Put the cursor on a block, or on a layer in it; return False if the block is hidden."""
        number = 0
        if engine in self.engines and layer in block.layers[engine]:
            self.choose_lane(self.engines.index(engine))
            number = block.layers[engine].index(layer)
        index = self._model.index_of_key((block.index, number))
        return index is not None and self.move_to(self._model.rows[index])

    def choose_lane(self, lane: int) -> None:
        """Select the lane that keys act on."""
        if lane != self.lane:
            self.lane = lane
            self._mark_lane()
            if self.cursor_item is not None:
                self._announced = None
                self._announce()

    def _mark_lane(self) -> None:
        self.current_column = lane_key(self.engines[self.lane], "layer")

    def action_choose_lane(self, lane: int) -> None:
        self.choose_lane(lane)

    # Order: that of execution, always

    @property
    def title_keys(self) -> Sequence[SortKey]:
        return ()

    def cycle_sort(self, column_key: str) -> None:
        """Select a lane by a click on one of its titles."""
        for lane, engine in enumerate(self.engines):
            if column_key.startswith(lane_key(engine, "")):
                self.choose_lane(lane)

    # Columns

    def _place(self) -> list[PlacedColumn[LaneRow]]:
        """Return the visible columns: those that both lanes have appear in both or neither."""
        placed, absent = super()._place(), set[str]()
        while lonely := self._find_lonely({cell.column.key for cell in placed}):
            absent |= lonely
            columns = [column for column in self.columns if column.key not in absent]
            placed = place_columns(columns, self.scrollable_content_region.width, self.current_column)
        self._placed = placed
        return placed

    def _find_lonely(self, keys: set[str]) -> set[str]:
        """Return the keys of a lane whose counterpart in the other lane is missing."""
        if self.comparison is None:
            return set()
        pairs = ({lane_key(engine, name) for engine in self.engines} for name in _OF_LANES)
        return {key for pair in pairs if len(pair & keys) == 1 for key in pair & keys}

    def _columns(self, comparison: Comparison) -> list[TableColumn[LaneRow]]:
        names = ComparisonNames(comparison)
        longest = max(
            (
                layer.latency_ms / comparison.sides[engine].per
                for engine in self.engines
                for layer in comparison.engines[engine].layers
                if layer.latency_ms is not None
            ),
            default=0.0,
        )
        changes: dict[str, dict[str, Any]] = {
            LINK: {"style": _link_style},
            DELTA: {
                "text": lambda row: "" if row.number else format_delta_ms(row.block.deltas_ms[self.engine]),
                "style": lambda row: _delta_style(row, self.engine),
            },
        }
        for lane, engine in enumerate(self.engines):
            changes |= _lane_changes(comparison, names, engine, lane, longest)
        shown = [column for column in lane_columns(comparison, self.engine) if column.key != BLOCK]
        columns = textual_columns(shown, LANES, **changes)
        keys = [column.key for column in columns]
        left, right = (
            _bar_column(comparison, engine, lane, longest) for lane, engine in enumerate(self.engines)
        )
        columns.insert(keys.index(lane_key(self.engine, "latency_ms")) + 1, right)
        columns.insert(keys.index(lane_key(comparison.baseline, "latency_ms")), left)
        return columns


def _lane_changes(
    comparison: Comparison, names: ComparisonNames, engine: int, lane: int, longest: float
) -> dict[str, dict[str, Any]]:
    """Properties of the columns of a lane that only screens use."""

    def key(name: str) -> str:
        return lane_key(engine, name)

    def time(row: LaneRow) -> float | None:
        layer = row.layers[lane]
        return None if layer is None else layer_ms(comparison, engine, layer)

    def index(row: LaneRow) -> str:
        layer = row.layers[lane]
        return "" if layer is None else f"{'↑' if row.are_early[lane] else ''}{layer.index}"

    return {
        key("index"): {
            "text": index,
            "style": lambda row: "$warning" if row.are_early[lane] else "$muted",
            "align": "right" if lane == 0 else "left",
        },
        key("layer"): {
            "text": lambda row: "" if (layer := row.layers[lane]) is None else layer.name,
            "shorten": lambda row, width: (
                "" if (layer := row.layers[lane]) is None else names.fit_layer(layer, width)
            ),
            "style": _name_style,
        },
        key("precision"): {
            "text": lambda row: (
                ""
                if (layer := row.layers[lane]) is None or layer.precision is None
                else layer.precision.value
            ),
            "style": lambda row: (
                None if (layer := row.layers[lane]) is None else precision_style(layer.precision)
            ),
        },
        key("latency_ms"): {
            "text": lambda row: "" if row.layers[lane] is None else format_ms(time(row)),
            "width": max(6, len(format_ms(longest))),
        },
    }


def _bar_column(comparison: Comparison, engine: int, lane: int, longest: float) -> TableColumn[LaneRow]:
    """A bar for the time of a layer; both lanes share one scale. A separate column, so that others can outrank it."""

    def share(row: LaneRow) -> float | None:
        layer = row.layers[lane]
        value = None if layer is None else layer_ms(comparison, engine, layer)
        return None if value is None or not longest else value / longest

    return TableColumn(
        lane_key(engine, "bar"),
        "",
        share,
        text=lambda _: "",
        width=0,
        bar=share,
        bar_width=BAR_WIDTH,
        priority=5,
    )


def _is_alike(row: LaneRow) -> bool:
    return all(row.counts) and not row.block.changes


def _name_style(row: LaneRow) -> str:
    return "$muted" if _is_alike(row) else ""


def _link_style(row: LaneRow) -> str:
    if row.block.match is Match.MANUAL:
        return "bold $warning"
    return "$muted" if _is_alike(row) else "$accent"


def _delta_style(row: LaneRow, engine: int) -> str:
    delta = row.block.deltas_ms[engine]
    if not delta:
        return "$muted"
    return "$error" if delta > 0 else "$success"
