"""Table with expandable rows. Subclasses define the hierarchy and its order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from rich.cells import cell_len

from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.table_model import Row, TableColumn

EXPANDED_SIGN, COLLAPSED_SIGN = "▾", "▸"


class Position(NamedTuple):
    """Position of a row. (A tuple, because a keystroke makes 20 000 of them.)

    Attributes:
        guides: Guide lines before the name.
        parent: Key of its parent row; None at the top.
        is_expanded: None if it cannot have rows below.
    """

    guides: str
    parent: Hashable
    is_expanded: bool | None


class ExpandableTable(VirtualTable[Row]):
    """The rows that are not collapsed. `expanded` has the keys of expanded rows, hidden ones included."""

    indent_below_top: ClassVar[str] = ""

    def __init__(
        self,
        columns: Iterable[TableColumn[Row]] = (),
        *,
        id: str,  # noqa: A002 - Textual's name
        empty_text: str = "Nothing to show",
    ) -> None:
        super().__init__(id=id, empty_text=empty_text)
        self.expanded: set[Any] = set()
        self._positions: dict[Hashable, Position] = {}
        self.set_columns(columns)

    def set_columns(self, columns: Iterable[TableColumn[Row]]) -> None:
        """Replace the columns; the column `name` shows the hierarchy."""
        super().set_columns(self._drawn(column) if column.key == "name" else column for column in columns)

    def _drawn(self, column: TableColumn[Row]) -> TableColumn[Row]:
        drawn = replace(column, text=lambda row: self.draw_name(row, column.cell_text(row)))
        shorten = column.shorten
        if shorten is None:
            return drawn

        def shorten_name(row: Row, width: int) -> str:
            guides = cell_len(self.draw_name(row, ""))
            return self.draw_name(row, shorten(row, max(0, width - guides)))

        return replace(drawn, shorten=shorten_name)

    def rows_below(self, row: Row | None) -> Sequence[Row]:
        """Return the rows below a row, in the order of display; for None, the top rows."""
        raise NotImplementedError

    def row_key(self, row: Row) -> Hashable:
        raise NotImplementedError

    def is_expandable(self, row: Row) -> bool:
        """Return whether a row can have rows below it."""
        raise NotImplementedError

    def rebuild(self) -> None:
        """Update the expanded rows; the cursor stays on its row."""
        rows: list[Row] = []
        positions: dict[Hashable, Position] = {}
        # Depth first without recursion: names may nest as deep as they like.
        pending = self._pending(None, None, "")
        while pending:
            row, parent, indent, is_last = pending.pop()
            key = self.row_key(row)
            is_expanded = key in self.expanded if self.is_expandable(row) else None
            guides = "" if parent is None else indent + ("└╴" if is_last else "├╴")
            rows.append(row)
            positions[key] = Position(guides, parent, is_expanded)
            if is_expanded:
                below = indent + ("  " if is_last else "│ ") if parent is not None else self.indent_below_top
                pending += self._pending(row, key, below)
        self._positions = positions
        self.set_rows(rows, keep=self.row_key)

    def _pending(self, row: Row | None, key: Hashable, indent: str) -> list[tuple[Row, Hashable, str, bool]]:
        """Return the rows below a row in reverse, since rows are taken from the end."""
        below = self.rows_below(row)
        last = len(below) - 1
        return [(row, key, indent, number == last) for number, row in enumerate(below)][::-1]

    def position(self, row: Row) -> Position:
        return self._positions[self.row_key(row)]

    def draw_name(self, row: Row, name: str) -> str:
        """Return a name with guides and the sign for expanding."""
        guides, _, is_expanded = self.position(row)
        sign = "" if is_expanded is None else f"{EXPANDED_SIGN if is_expanded else COLLAPSED_SIGN} "
        return f"{guides}{sign}{name}"

    def go_to_key(self, key: Hashable) -> bool:
        """Put the cursor on the row with this key; False if it is not shown."""
        index = self._model.index_of_key(key)
        return index is not None and self.move_to(self._model.rows[index])

    def expandable_keys(self) -> set[Hashable]:
        keys: set[Hashable] = set()
        pending = list(self.rows_below(None))
        while pending:
            row = pending.pop()
            if self.is_expandable(row):
                keys.add(self.row_key(row))
                pending += self.rows_below(row)
        return keys

    def _toggle(self, row: Row) -> None:
        self.expanded ^= {self.row_key(row)}
        self.rebuild()

    # Actions

    def action_select(self) -> None:
        """Expand or collapse; a row without rows below it is left to the parent."""
        row = self.cursor_item
        if row is not None and self.position(row).is_expanded is not None:
            self._toggle(row)
        else:
            super().action_select()

    def action_expand(self) -> None:
        """Expand the row; on an expanded one, go to its first child."""
        row = self.cursor_item
        if row is None:
            return
        is_expanded = self.position(row).is_expanded
        if is_expanded:
            self.cursor_row += 1
        elif is_expanded is not None:
            self._toggle(row)

    def action_collapse(self) -> None:
        """Collapse the row; on a collapsed one, go to its parent."""
        row = self.cursor_item
        if row is None:
            return
        _, parent, is_expanded = self.position(row)
        if is_expanded:
            self._toggle(row)
        elif parent is not None:
            self.go_to_key(parent)

    def action_expand_all(self) -> None:
        self.expanded |= self.expandable_keys()
        self.rebuild()

    def action_collapse_all(self) -> None:
        """Collapse every row; the cursor goes to the outermost ancestor of its row."""
        row = self.cursor_item
        key = None if row is None else self.row_key(row)
        while key is not None and (parent := self._positions[key].parent) is not None:
            key = parent
        self.expanded = set()
        self.rebuild()
        self.go_to_key(key)
