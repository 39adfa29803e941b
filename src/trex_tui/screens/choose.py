"""Choose one of a few things."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from trex_tui.screens.dialog import Dialog
from trex_tui.text import printable
from trex_tui.widgets.table import VirtualTable


class Options(OptionList):
    """An option list for vim hands; in a window it looks like one."""

    DEFAULT_CSS = """
    Options.dialog {
        padding: 0;
        &:focus { background-tint: transparent; }
        &:ansi > .option-list--option-highlighted, &:nocolor > .option-list--option-highlighted {
            color: $foreground;
            background: $surface;
            text-style: reverse;
        }
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "cursor_down", show=False),
        Binding("k", "cursor_up", show=False),
        Binding("g", "first", show=False),
        Binding("G", "last", show=False),
        Binding("ctrl+d", "page_down", show=False),
        Binding("ctrl+u", "page_up", show=False),
    ]

    def action_page_up(self) -> None:
        """Turn a page."""
        if has_room(self):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        """Turn a page."""
        if has_room(self):
            super().action_page_down()  # type: ignore[no-untyped-call]


def has_room(options: OptionList) -> bool:
    """Whether a line of a list is on screen: without, Textual fails to turn its pages."""
    return bool(options.scrollable_content_region)


class ChooseScreen(Dialog[str]):
    """A list to choose from; the result is the key of the choice, or None."""

    def __init__(self, title: str, options: dict[str, str], current: str | None = None) -> None:
        """Args: options: Key -> what is shown; current: where the cursor starts."""
        super().__init__()
        self._title, self._options, self._current = title, options, current

    def compose(self) -> ComposeResult:
        """The options."""
        options = [Option(Content(printable(text))) for text in self._options.values()]
        choices = Options(*options, classes="dialog")
        choices.border_title = Content(self._title).markup  # names in it are no markup
        choices.border_subtitle = "Enter chooses · Esc closes"
        yield choices

    def on_mount(self) -> None:
        """Start on the current choice."""
        keys = list(self._options)
        choices = self.query_one(Options)
        choices.highlighted = keys.index(self._current) if self._current in keys else 0

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(list(self._options)[event.option_index])


def choose_sort(table: VirtualTable[Any], natural: str = "execution order") -> None:
    """Offer the columns of a table; the choice sorts, choosing the sorted one again reverses.

    Args:
        natural: What the order of the rows is called when no column decides.
    """
    titles = {column.key: f"{column.title}  ({column.key})".strip() for column in table.columns}
    current = table.sort_keys[0].column if table.sort_keys else None

    def sort(key: str | None) -> None:
        if key is None:
            return
        if key and table.sort_keys and table.sort_keys[0].column == key:
            table.reverse_sort()
        else:
            table.sort_by(key or None)

    options = {"": natural, **titles}
    table.app.push_screen(ChooseScreen("Sort by", options, table.current_column or current), sort)
