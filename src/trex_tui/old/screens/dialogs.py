"""Dialogs: text, choice, columns, prompt and path."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

from rich.cells import cell_len
from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from trex_tui.old.errors import TrexError
from trex_tui.old.report.path_completion import common_beginning, completions, typed_path
from trex_tui.old.screens.services import compute
from trex_tui.old.text import printable, shorten_middle
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.chrome import KeyFooter
from trex_tui.old.widgets.filter_bar import NO_CONTROLS, Harmless
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.text_view import TextBlock, TextLine, TextScroll

Result = TypeVar("Result")
LEAST_WIDTH = 12


def is_open(screen: Screen[Any]) -> bool:
    """Return whether a screen is still on the stack, so that it can be dismissed.

    Several Enters may arrive in one packet: what they choose is in the queue of the window when the first one closes it, and
    Textual would close the screen below for each of the others.
    """
    return screen in screen.app.screen_stack


def bring_to_top(screen: Screen[Any]) -> bool:
    """Close the windows over a screen, which Textual would dismiss instead; return False if the screen is closed."""
    while is_open(screen) and screen.app.screen is not screen:
        screen.app.pop_screen()
    return is_open(screen)


class Dialog(ModalScreen[Result]):
    """A window that Esc and q close without a result."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.DIALOG)
    # In fewer cells a list would have no width, and Textual fails to wrap its options.
    HORIZONTAL_BREAKPOINTS = [(0, "-tiny"), (LEAST_WIDTH, "-roomy")]  # noqa: RUF012

    DEFAULT_CSS = """
    Dialog {
        align: center middle;
        background: $background 60%;
        & > .dialog, & > .dialog:focus {
            width: auto;
            height: auto;
            min-width: 34;
            max-width: 96%;
            max-height: 90%;
            padding: 0 1;
            border: round $primary;
            border-title-color: $accent;
            border-title-style: bold;
            border-subtitle-color: $text-muted;
            background: $surface;
        }
        &.-tiny > .dialog { max-width: 34; }
    }
    """

    def on_mount(self) -> None:
        """Show the keys of this window in the footer of the screen below."""
        self.set_class(
            self.app.size.width < LEAST_WIDTH, "-tiny"
        )  # Breakpoints count after the first layout.
        self.bindings_updated_signal.subscribe(self, self._tell_footer)

    def on_unmount(self) -> None:
        """Show the keys of the screen or window below again."""
        self._tell_footer()

    def _tell_footer(self, _: object = None) -> None:
        stack = self.app.screen_stack
        footers = [footer for screen in stack for footer in screen.query(KeyFooter)]
        if footers and stack[-1].is_attached:
            footers[-1].follow(stack[-1])

    def dismiss(self, result: Result | None = None) -> AwaitComplete:
        return super().dismiss(result) if bring_to_top(self) else AwaitComplete()

    def action_dismiss_dialog(self) -> None:
        self.dismiss(None)


class TextScreen(Dialog[None]):
    """Window with text, as wide as the text."""

    DEFAULT_CSS = """
    TextScreen TextBlock { width: auto; max-width: 100%; }
    """

    hint = "j k scroll · Esc closes"
    """Keys shown in the border."""

    def __init__(self, title: str, lines: Sequence[TextLine]) -> None:
        super().__init__()
        self._title, self._lines = title, lines

    def compose(self) -> ComposeResult:
        window = TextScroll(TextBlock(self._lines), classes="dialog")
        window.border_title = self._title
        window.border_subtitle = self.hint
        yield window


_CHOOSE_HINT = "/ find · Enter chooses · Esc closes"
_BORDER_CELLS = 6
"""Cells around a title in a border: corners, lines and blanks."""


class ChoiceList(OptionList):
    """Option list with vi keys that looks like a window."""

    DEFAULT_CSS = """
    ChoiceList.dialog {
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

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Count lines; in no cells, as after a resize and before the breakpoints count, Textual fails to wrap them."""
        return super().get_content_height(container, viewport, max(width, LEAST_WIDTH))

    def action_page_up(self) -> None:
        if has_room(self):
            super().action_page_up()  # type: ignore[no-untyped-call]

    def action_page_down(self) -> None:
        if has_room(self):
            super().action_page_down()  # type: ignore[no-untyped-call]


def has_room(options: OptionList) -> bool:
    """Return whether a line of a list is on screen; otherwise Textual fails to page."""
    return bool(options.scrollable_content_region)


class ChooseScreen(Dialog[str]):
    """A list to choose from; the result is the key of the chosen option, or None."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "find", "find")]

    def __init__(self, title: str, options: dict[str, str], current: str | None = None) -> None:
        """Args: options: Key -> what is shown; current: where the cursor starts."""
        super().__init__()
        self._title, self._options, self._current = title, options, current

    def compose(self) -> ComposeResult:
        options = [Option(Content(printable(text))) for text in self._options.values()]
        choices = ChoiceList(*options, classes="dialog")
        choices.border_title = Content(self._title).markup  # names in it are no markup
        choices.border_subtitle = _CHOOSE_HINT
        choices.styles.min_width = max(cell_len(self._title), cell_len(_CHOOSE_HINT)) + _BORDER_CELLS
        yield choices

    def on_mount(self) -> None:
        keys = list(self._options)
        choices = self.query_one(ChoiceList)
        choices.highlighted = keys.index(self._current) if self._current in keys else 0

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(list(self._options)[event.option_index])

    def action_find(self) -> None:
        find_in_list(self.query_one(ChoiceList), list(self._options.values()))


def choose_sort(table: VirtualTable[Any], natural: str = "execution order") -> None:
    """Offer the columns of a table; the choice sorts, choosing the sorted one again reverses.

    Args:
        natural: What the order of the rows is called when no column decides.
    """
    titles = {
        column.key: column.title if column.title == column.key else f"{column.title}  ({column.key})".strip()
        for column in table.columns
    }
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


OFF_SCREEN = "off screen"


class _Columns(ChoiceList):
    """The list of columns."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "screen.toggle_column", show=False),
        Binding("J,shift+down", "screen.shift(1)", show=False),
        Binding("K,shift+up", "screen.shift(-1)", show=False),
        Binding("d", "screen.defaults", show=False),
        Binding("enter", "screen.accept", show=False),
    ]


class ColumnsScreen(Dialog[tuple[str, ...]]):
    """Choose and order columns; the result is their keys.

    Args:
        titles: Key -> title, of all columns.
        shown: Keys of the shown columns, in order.
        defaults: Keys that `d` restores.
        fitting: Returns those of some columns that fit on screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("slash", "find", "find")]

    def __init__(
        self,
        titles: dict[str, str],
        shown: Sequence[str],
        defaults: Sequence[str],
        fitting: Callable[[Sequence[str]], Container[str]],
    ) -> None:
        super().__init__()
        self._titles, self._defaults, self._fitting = titles, list(defaults), fitting
        self._order: list[str] = []
        self._shown: set[str] = set()
        self._take(shown)

    def _take(self, shown: Sequence[str]) -> None:
        self._shown = set(shown)
        self._order = [*shown, *(key for key in self._titles if key not in self._shown)]

    def compose(self) -> ComposeResult:
        choices = _Columns(classes="dialog")
        choices.border_subtitle = "Space show · J K move · d reset · / find · Enter"
        yield choices

    def on_mount(self) -> None:
        self._redraw(0)

    def on_resize(self) -> None:
        """Update which columns fit when the table below has its size."""
        self.call_after_refresh(self._draw_again)

    @property
    def _chosen(self) -> tuple[str, ...]:
        return tuple(key for key in self._order if key in self._shown)

    def _option(self, key: str, off_screen: Container[str]) -> Option:
        mark = "x" if key in self._shown else " "
        remark = f" · {OFF_SCREEN}" if key in off_screen else ""
        return Option(Content(f"[{mark}] {self._titles[key]}{remark}"))

    def _redraw(self, highlighted: int | None) -> None:
        choices, chosen = self.query_one(_Columns), self._chosen
        fitting = self._fitting(chosen)
        off_screen = [key for key in chosen if key not in fitting]
        choices.border_title = (
            f"Columns: {len(off_screen)} of {len(chosen)} {OFF_SCREEN}" if off_screen else "Columns"
        )
        choices.clear_options()
        choices.add_options(self._option(key, off_screen) for key in self._order)
        choices.highlighted = highlighted

    def _draw_again(self) -> None:
        if self.is_mounted:
            self._redraw(self.query_one(_Columns).highlighted)

    def action_toggle_column(self) -> None:
        """Show or hide the column; the last one stays."""
        at = self.query_one(_Columns).highlighted
        if at is not None:
            changed = self._shown ^ {self._order[at]}
            self._shown = changed or self._shown
            self._redraw(min(at + 1, len(self._order) - 1))

    def action_shift(self, step: int) -> None:
        at = self.query_one(_Columns).highlighted
        if at is not None and 0 <= at + step < len(self._order):
            self._order[at], self._order[at + step] = self._order[at + step], self._order[at]
            self._redraw(at + step)

    def action_defaults(self) -> None:
        self._take(self._defaults)
        self._redraw(0)

    def action_find(self) -> None:
        find_in_list(self.query_one(_Columns), [self._titles[key] for key in self._order])

    def action_accept(self) -> None:
        self.dismiss(self._chosen)


class PromptInput(Input):
    """Text line in which `q` is a letter; up and down go to the list."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,ctrl+p", "screen.step(-1)", show=False),
        Binding("down,ctrl+n", "screen.step(1)", show=False),
    ]


class PromptScreen(Dialog[Result]):
    """A text line with a remark and a list below; the line keeps the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss_dialog", "close", priority=True)]

    DEFAULT_CSS = """
    PromptScreen > Vertical.dialog {
        width: 76;
        & Input { width: 1fr; height: 1; border: none; padding: 0; background: $panel; }
        & Input:focus { border: none; }
        & Static { height: auto; color: $warning; }
        & OptionList { height: auto; max-height: 12; border: none; padding: 0; background: $surface; }
        & OptionList > .option-list--option-highlighted { text-style: reverse; }
        &:ansi OptionList > .option-list--option-highlighted { color: $foreground; background: $surface; }
    }
    """

    title_text = ""
    hint = "Enter accepts · ↑ ↓ choose · Esc closes"
    placeholder = ""

    def __init__(self, text: str = "", remark: str = "") -> None:
        super().__init__()
        self._text, self._remark = text, remark

    def compose(self) -> ComposeResult:
        window = Vertical(classes="dialog")
        window.border_title = self.title_text
        window.border_subtitle = self.hint
        with window:
            yield PromptInput(
                self._text,
                placeholder=self.placeholder,
                compact=True,
                select_on_focus=False,
                restrict=NO_CONTROLS,
                highlighter=Harmless(),
            )
            yield Static(Content(printable(self._remark)), id="remark")
            choices = OptionList()
            choices.can_focus = False
            yield choices

    def on_mount(self) -> None:
        self.line.focus()
        self.say(self._remark)

    @property
    def line(self) -> Input:
        return self.query_one(PromptInput)

    @property
    def choices(self) -> OptionList:
        return self.query_one(OptionList)

    def say(self, words: str) -> None:
        """Show a remark below the line; an empty one hides it."""
        remark = self.query_one("#remark", Static)
        remark.update(Content(printable(words)))
        remark.display = bool(words)

    def offer(self, texts: list[str], highlighted: int | None = None) -> None:
        self.choices.clear_options()
        self.choices.add_options([Option(Content(shorten_middle(printable(text), 70))) for text in texts])
        self.choices.highlighted = highlighted
        self.choices.display = bool(texts)

    def action_step(self, step: int) -> None:
        count = self.choices.option_count
        if count:
            now = self.choices.highlighted
            chosen = (now + step) % count if now is not None else (0 if step > 0 else count - 1)
            self.choices.highlighted = chosen
            self.chosen(chosen)

    def chosen(self, index: int) -> None:
        """Take a choice from the list."""
        raise NotImplementedError

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.chosen(event.option_index)

    def on_click(self, event: events.Click) -> None:
        """Keep the focus on the line."""
        if event.widget is not self:
            self.line.focus()


_WORD = re.compile(r"[\w.%]+")


class FindScreen(PromptScreen[int]):
    """Find an entry of a list by parts of its text; the result is its index."""

    title_text = "Find"
    hint = "↑ ↓ choose · Enter goes to it · Esc closes"
    placeholder = "part of a title or a name, or a short name"

    def __init__(self, texts: Sequence[str]) -> None:
        super().__init__()
        self._texts = texts
        self._offered: list[int] = []

    def on_mount(self) -> None:
        super().on_mount()
        self._follow("")

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        self._follow(event.value)

    def _follow(self, typed: str) -> None:
        """Offer entries that contain every word, whole words first."""
        words = typed.casefold().split()
        folded = [text.casefold() for text in self._texts]
        self._offered = [index for index, text in enumerate(folded) if all(word in text for word in words)]
        self._offered.sort(key=lambda index: not set(words) <= set(_WORD.findall(folded[index])))
        self.offer([self._texts[index] for index in self._offered], 0 if self._offered else None)

    def chosen(self, index: int) -> None:
        """Do nothing before Enter."""

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._offered[event.option_index])

    @on(Input.Submitted)
    def _submitted(self) -> None:
        at = self.choices.highlighted
        if at is not None:
            self.dismiss(self._offered[at])


def find_in_list(choices: OptionList, texts: Sequence[str]) -> None:
    """Ask for a part of a text, and highlight the matching entry."""

    def go_to(index: int | None) -> None:
        if index is not None:
            choices.highlighted = index

    choices.app.push_screen(FindScreen(texts), go_to)


class OpenScreen(PromptScreen[str]):
    """Ask for a path; below the line, completions or recent paths."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("tab", "complete", "complete", priority=True)]

    title_text = "Open"
    hint = "Tab completes · ↑ ↓ choose · Enter opens · Esc closes"
    placeholder = "directory or file; below: recent"

    def __init__(self, recent: Sequence[str] = (), text: str = "", remark: str = "") -> None:
        super().__init__(text, remark)
        self._recent = list(recent)
        self._offered: list[str] = []
        self._filled_in = ""
        """Text that the list put into the line, which does not update the list."""
        self._followed = ""
        """Text that the list was made for."""

    def on_mount(self) -> None:
        super().on_mount()
        self._follow(self.line.value)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        if event.value not in (self._filled_in, self._followed):
            self.say("")
            self._follow(event.value)

    def _follow(self, text: str) -> None:
        self._filled_in, self._followed = "", text
        if text.strip():
            make, take = partial(completions, text), partial(self._take_completions, text)
            compute(self, "The completion of paths", make, take, self._refuse_completions)
        else:
            self._show(self._recent)

    def _take_completions(self, text: str, paths: list[str]) -> None:
        if text == self.line.value:
            self._show(paths)

    def _refuse_completions(self, problem: str) -> bool:
        self.say(problem)
        return True

    def _show(self, paths: list[str]) -> None:
        self._offered = paths
        self.offer(paths)

    def chosen(self, index: int) -> None:
        self._fill_in(self._offered[index])

    def _fill_in(self, text: str) -> None:
        self._filled_in = text
        self.line.value = text
        self.line.cursor_position = len(text)

    def action_complete(self) -> None:
        """Complete the text up to the common part of all candidates; enter the directory it names."""
        text = self.line.value
        if not text.strip():
            return
        self._fill_in(common_beginning(completions(text), text))
        self._follow(self.line.value)

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        try:
            self.dismiss(typed_path(event.value))
        except TrexError as error:
            self.say(str(error))
