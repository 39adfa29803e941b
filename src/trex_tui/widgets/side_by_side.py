"""Table of the blocks of a comparison: two engines side by side, or a row per block with the times of all."""

from __future__ import annotations

from typing import Any

from rich.cells import set_cell_size
from rich.segment import Segment

from trex_tui.column import Column, is_missing
from trex_tui.text import format_bar
from trex_tui.widgets.table import GAP, Cell, Row, TreeTable
from trex_tui.widgets.theme import kind_style, precision_style

QUIET, LAYER, FOLD = "quiet", "layer", "fold"
"""States of a row: nothing differs, it is a layer of the block above, it stands for blocks that take no time."""
_ON_SIDES = ("_index", "_name", "_precision", "_bar", "_latency_ms")
"""Ends of the keys of what an engine has only with layers in the row."""
_LEAST_NAME, _LEAST_CHANGED = 16, 14
_BAR_WIDTHS = ((150, 12), (0, 8))
"""Cells of the table from which the bars have so many."""
_WIDEST_BAR = 24
_MOST_PCT = 10_000.0


class DeltaColumn(Column):
    """A difference with its sign; with a triangle, its direction is seen without colors."""

    def format(self, value: Any, *, with_unit: bool = False) -> str:  # noqa: ANN401 - as in the base class
        if is_missing(value) or not self.key.endswith("_pct"):
            text = super().format(value, with_unit=with_unit)
            return {"+": "▲ ", "−": "▼ "}.get(text[:1], "") + text
        return f"{value:+.1f} %".replace("-", "−") if value < _MOST_PCT else f"{1 + value / 100:.0f}×"


class BlockTable(TreeTable):
    """Rows that expand to the layers of their block.

    Keys of the columns of an engine begin with its letter. Columns that are not shown: `kind` of the block, `state` of the
    row, `there` (the letters of the engines with layers in the row). With the names of two engines, these get equal room.
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._sizes: dict[str, tuple[int, bool]] = {}

    def is_expandable(self, row: Row) -> bool:
        """Return whether a row has others below."""
        return self.has_children(self._positions[row])

    # Layout

    def _measure(self, column: Column) -> tuple[int, bool]:
        if column.key.endswith("_bar"):
            size = next(cells for least, cells in _BAR_WIDTHS if self.size.width >= least), False
        else:
            width, is_right = super()._measure(column)
            size = width, is_right or column.key == "a_index"
        self._sizes[column.key] = size
        return size

    def _lay_out(self) -> None:
        super()._lay_out()
        columns = [column for column in self.section.columns if column.key != "changed"]
        names = [column.key for column in columns if column.key.endswith("_name")]
        if len(names) != 2:
            return
        widths = {key: width for key, (width, _) in self._sizes.items()}

        def count_free() -> int:
            fixed = sum(widths[column.key] for column in columns if column.key not in names)
            return self.size.width - 2 - fixed - GAP * (len(columns) - 1)

        while count_free() < 2 * _LEAST_NAME and (last := max(column.priority for column in columns)):
            columns = [column for column in columns if column.priority != last]
        free = count_free()
        widths |= dict.fromkeys(names, max(1, min(max(widths[key] for key in names), free // 2)))
        free -= 2 * widths[names[0]]
        changed = [column for column in self.section.columns if column.key == "changed"]
        if changed and free > _LEAST_CHANGED:
            columns += changed
            widths["changed"] = min(widths["changed"], free - GAP)
            free -= widths["changed"] + GAP
        bars = [column.key for column in columns if column.key.endswith("_bar")]
        for key in bars:
            widths[key] = min(_WIDEST_BAR, widths[key] + max(0, free) // len(bars))
        self._cells = [Cell(column, widths[column.key], self._sizes[column.key][1]) for column in columns]

    # Painting

    def _render_cell(self, row: int, cell: Cell, ground: str) -> list[Segment]:
        key = cell.column.key
        value = self._column_values(key)[row]
        if key.endswith("_bar"):
            bar = set_cell_size(format_bar(value, cell.width), cell.width)
            kind = kind_style(self._column_values("kind")[row]) or "$primary"
            is_plain = bool(ground) and self.app.current_theme.ansi  # reversed, a full block is a hole
            return [Segment(bar, self._style(kind, "" if is_plain else ground))]
        if key != self._name_key and self._is_empty(row, key, value):
            return [Segment(" " * cell.width, self._style("", ground))]
        if value is None:
            return [Segment(self._write(value, cell), self._style("$muted", ground))]
        return super()._render_cell(row, cell, ground)

    def _is_empty(self, row: int, key: str, value: Any) -> bool:  # noqa: ANN401 - any cell
        """Return whether there is nothing to know, unlike an unknown value."""
        if self._column_values("state")[row] in (LAYER, FOLD) and value is None:
            return True
        return key.endswith(_ON_SIDES) and key[:1].upper() not in self._column_values("there")[row]

    def _cell_style(self, row: int, key: str, value: Any) -> str:  # noqa: ANN401 - any cell
        state = self._column_values("state")[row]
        if key.endswith(("_delta_ms", "_delta_pct")):
            return "$muted" if state == QUIET or not value else "$error" if value > 0 else "$success"
        if key.endswith("_precision"):
            keys = [cell.column.key for cell in self._cells if cell.column.key.endswith("_precision")]
            is_same = all(self._column_values(other)[row] == value for other in keys)
            return "$muted" if is_same else precision_style(value)
        if key == "link":
            return "$muted" if state == QUIET else "$accent"
        return "$muted" if state or key.endswith(("_index", "_verdict")) or key == "shape" else ""
