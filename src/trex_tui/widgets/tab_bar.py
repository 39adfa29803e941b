"""The names of the screens with the digits that lead to them, and what is filtered."""

from __future__ import annotations

from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from trex_tui.text import printable, shorten_middle

LEAST_REMARK = 12
"""Cells that a remark gets before the tabs are drawn with fewer words."""
SHORT_TITLE = 4


@dataclass
class TabChosen(Message):
    """A person clicked on a tab."""

    tab: str


LEAST_REMARK = 24
"""Cells that titles leave to a remark of that length and more."""
_FORMS = (
    (" ", " ", 99),
    ("", "  ", 99),
    ("", " ", 99),
    ("", " ", 4),
    ("", " ", 3),
    ("", " ", 2),
    ("", " ", 0),
)
"""Blanks around a label and between labels, and letters of the titles that are not active: the first that fits."""


def fit_remark(remark: str, room: int) -> str:
    """A remark `/filter  2 of 9 layers` in so many cells: the noun goes first, then the middle of the filter."""
    if len(remark) <= room:
        return remark
    text, gap, count = remark.removesuffix("s").removesuffix(" layer").rpartition("  ")
    left = room - len(gap) - len(count)
    return shorten_middle(text, left) + gap + count if left > 1 else shorten_middle(count, room)


class TabBar(Widget):
    """One line of tabs, with a remark at the right end."""

    DEFAULT_CSS = """
    TabBar {
        height: 1;
        background: $surface;
        color: $text-muted;
        padding: 0 1;
    }
    """

    active: reactive[str] = reactive("")
    remark: reactive[str] = reactive("")
    """What is filtered; empty for nothing."""

    def __init__(self, tabs: dict[str, str]) -> None:
        """Args: tabs: Identifier -> title; the first is reached by `1`."""
        super().__init__(id="tabs")
        self._tabs = tabs
        self._badges: dict[str, str] = {}

    def badge(self, tab: str, words: str) -> None:
        """Put a few letters behind a title; empty takes them away."""
        self._badges[tab] = words
        self.refresh()

    def render(self) -> RenderResult:
        """The tabs; the active one reversed, so that it shows without colour too."""
        labels, gap = self._fitted()
        parts = [
            Content.styled(label, "bold reverse $primary" if tab == self.active else "")
            for tab, label in labels
        ]
        left = Content(gap).join(parts)
        room = self.content_size.width - left.cell_length - 2
        remark = Content.styled(fit_remark(printable(self.remark), max(0, room)), "$warning")
        between = max(0, self.content_size.width - left.cell_length - remark.cell_length)
        return Content.assemble(left, " " * between, remark)

    def _fitted(self) -> tuple[list[tuple[str, str]], str]:
        """Label of each tab, and what stands between: as much of them as leaves room for the remark."""
        room = self.content_size.width - (2 + min(len(self.remark), LEAST_REMARK) if self.remark else 0)
        for padding, gap, longest in _FORMS:
            labels = [
                (tab, f"{padding}{self._label(number, tab, longest)}{padding}")
                for number, tab in enumerate(self._tabs, start=1)
            ]
            if sum(cell_len(label) for _, label in labels) + len(gap) * (len(labels) - 1) <= room:
                break
        return labels, gap

    def _label(self, number: int, tab: str, longest: int) -> str:
        """Digit, title and badge; where titles are cut, the active one is whole."""
        title = self._tabs[tab] if tab == self.active else self._tabs[tab][:longest]
        return f"{number} {title}".rstrip() + self._badges.get(tab, "")

    def on_click(self, event: events.Click) -> None:
        """Go to the tab that was clicked."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        start = 0
        labels, gap = self._fitted()
        for tab, label in labels:
            if start <= offset.x < start + cell_len(label):
                self.post_message(TabChosen(tab))
                return
            start += cell_len(label) + len(gap)
