"""Search in the current list: text, start and current match."""

from __future__ import annotations

from typing import Any

from trex_tui.old.text import printable
from trex_tui.old.widgets.table import VirtualTable


class ListSearch:
    """Search in a table; rows without a match stay.

    Attributes:
        text: Text of the last search; empty before the first one.
        number: Match under the cursor, from 1; 0 for none.
        count: Number of matches.
        is_shown: True while the cursor is on a match, whose number the screen shows.
    """

    def __init__(self) -> None:
        self.text = ""
        self.number = self.count = 0
        self.is_shown = False
        self._table: VirtualTable[Any] | None = None
        self._origin: object = None

    @property
    def result(self) -> str:
        return f"{self.number} of {self.count}" if self.count else "no match"

    @property
    def remark(self) -> str:
        """Return `search conv 2 of 5`; empty without a search."""
        return f"search {printable(self.text)}  {self.result}" if self.is_shown else ""

    def begin(self, table: VirtualTable[Any]) -> None:
        self._table, self._origin = table, table.place()

    def look_for(self, text: str) -> None:
        """Go to the first match from the start of the search."""
        if self._table is not None:
            self._table.return_to(self._origin)
            self.text = text
            self.go(self._table, 0)

    def cancel(self) -> None:
        """Go back to the start of the search."""
        if self._table is not None:
            self._table.return_to(self._origin)
        self.is_shown = False

    def go(self, table: VirtualTable[Any], step: int) -> None:
        """Go to the next match, or with -1 to the previous one."""
        self.number, self.count = table.search(self.text, step) if self.text.strip() else (0, 0)
        self.is_shown = bool(self.text.strip())
