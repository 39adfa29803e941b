"""Choose the columns of a table, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets.option_list import Option

from trex_tui.screens.choose import Options
from trex_tui.screens.dialog import Dialog


class _Columns(Options):
    """The list; Enter accepts it as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.toggle_column", show=False),
        Binding("J,shift+down", "screen.shift(1)", show=False),
        Binding("K,shift+up", "screen.shift(-1)", show=False),
        Binding("d", "screen.defaults", show=False),
        Binding("enter", "screen.accept", show=False),
    ]


class ColumnsScreen(Dialog[tuple[str, ...]]):
    """The result is the keys of the columns to show, in order.

    Args:
        titles: Key -> what is shown, of all columns there are.
        shown: Those shown now, in order.
        defaults: Those that `d` brings back.
    """

    def __init__(self, titles: dict[str, str], shown: Sequence[str], defaults: Sequence[str]) -> None:
        super().__init__()
        self._titles, self._defaults = titles, list(defaults)
        self._order: list[str] = []
        self._shown: set[str] = set()
        self._take(shown)

    def _take(self, shown: Sequence[str]) -> None:
        self._shown = set(shown)
        self._order = [*shown, *(key for key in self._titles if key not in self._shown)]

    def compose(self) -> ComposeResult:
        """The columns with their marks."""
        choices = _Columns(*map(self._option, self._order), classes="dialog")
        choices.border_title = "Columns"
        choices.border_subtitle = "Space show · J K move · d reset · Enter done"
        yield choices

    def _option(self, key: str) -> Option:
        mark = "x" if key in self._shown else " "
        return Option(Content(f"[{mark}] {self._titles[key]}"))

    def _redraw(self, highlighted: int) -> None:
        choices = self.query_one(_Columns)
        choices.clear_options()
        choices.add_options(map(self._option, self._order))
        choices.highlighted = highlighted

    def action_toggle_column(self) -> None:
        """Show or hide the column; the last one stays."""
        at = self.query_one(_Columns).highlighted
        if at is not None:
            changed = self._shown ^ {self._order[at]}
            self._shown = changed or self._shown
            self._redraw(min(at + 1, len(self._order) - 1))

    def action_shift(self, step: int) -> None:
        """Move the column."""
        at = self.query_one(_Columns).highlighted
        if at is not None and 0 <= at + step < len(self._order):
            self._order[at], self._order[at + step] = self._order[at + step], self._order[at]
            self._redraw(at + step)

    def action_defaults(self) -> None:
        """The columns as they were before anybody chose."""
        self._take(self._defaults)
        self._redraw(0)

    def action_accept(self) -> None:
        """Close with the columns marked."""
        self.dismiss(tuple(key for key in self._order if key in self._shown))
