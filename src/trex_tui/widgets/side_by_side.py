"""Table of the blocks of a comparison: two engines side by side, or a row per block with the times of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
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
_USUAL_NAME, _USUAL_CHANGED = 40, 24
"""Cells of the names of two engines from which the changes have so many beside them."""
_USUAL_TEXT = 30
_WIDE = 150
"""Cells of the table from which two bars are wide."""
_BAR, _WIDE_BAR, _WIDEST_BAR = 8, 12, 24
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
            is_wide = self.size.width >= _WIDE and len(self._keys("_bar")) == 2
            size = _WIDE_BAR if is_wide else _BAR, False
        else:
            width, is_right = super()._measure(column)
            usual = max(_USUAL_TEXT, self.size.width // 4)
            self._usual_width = min(self._usual_width, usual)
            size = (
                min(width, usual) if column.key == "changed" else width,
                is_right or column.key == "a_index",
            )
        self._sizes[column.key] = size
        return size

    def _lay_out(self) -> None:
        super()._lay_out()
        bars = self._keys("_bar")
        if self._is_pair:
            self._lay_out_pair(self._keys("_name"))
        elif 0 < sum(cell.column.key in bars for cell in self._cells) < len(bars):  # all or none
            section = self.section
            columns = [column for column in section.columns if column.key not in bars]
            self.section = replace(section, columns=columns)
            super()._lay_out()
            self.section = section

    @property
    def _is_pair(self) -> bool:
        return len(self._keys("_name")) == 2

    def _keys(self, end: str) -> list[str]:
        return [column.key for column in self.section.columns if column.key.endswith(end)]

    def _lay_out_pair(self, names: Sequence[str]) -> None:
        """Give both names the same room, and both engines the same columns."""
        columns = [column for column in self.section.columns if column.key != "changed"]
        widths = {key: width for key, (width, _) in self._sizes.items()}

        def count_free() -> int:
            fixed = sum(widths[column.key] for column in columns if column.key not in names)
            return self.size.width - 2 - fixed - GAP * (len(columns) - 1)

        while count_free() < 2 * _LEAST_NAME and (last := max(column.priority for column in columns)):
            columns = [column for column in columns if column.priority != last]
        free = count_free()
        for_names = free - _USUAL_CHANGED - GAP if free > 2 * _USUAL_NAME + _USUAL_CHANGED else free
        widths |= dict.fromkeys(names, max(1, min(max(widths[key] for key in names), for_names // 2)))
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
            is_left = key == "a_bar" and self._is_pair
            bar = _draw_mirrored(value, cell.width) if is_left else format_bar(value, cell.width)
            kind = kind_style(self._column_values("kind")[row]) or "$primary"
            is_plain = bool(ground) and self.app.current_theme.ansi  # reversed, a full block is a hole
            return [Segment(set_cell_size(bar, cell.width), self._style(kind, "" if is_plain else ground))]
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
            is_same = all(self._column_values(other)[row] == value for other in self._keys("_precision"))
            return "$muted" if is_same else precision_style(value)
        if key == "link":
            return "$muted" if state == QUIET else "$accent"
        return "$muted" if state or key.endswith(("_index", "_verdict")) or key == "shape" else ""


def _draw_mirrored(share: float | None, width: int) -> str:
    """Return a bar from the right: there are blocks of one, four and eight eighths of a cell."""
    full, rest = divmod(max(1, round(8 * width * min(share, 1.0))), 8) if share else (0, 0)
    end = "" if not rest else "▕" if rest < 3 else "▐" if rest < 7 else "█"
    return (end + "█" * full).rjust(width)
