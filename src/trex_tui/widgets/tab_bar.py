"""The names of the screens with the digits that lead to them, and what is filtered."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from trex_tui.text import ELLIPSIS, printable, shorten_middle

LEAST_REMARK = 12
"""Cells that a remark gets before the tabs are drawn with fewer words."""
SHORT_TITLE = 4


@dataclass
class TabChosen(Message):
    """A person clicked on a tab."""

    tab: str


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
        parts = []
        for tab, label in self._labels():
            parts.append(Content.styled(label, "bold reverse $primary" if tab == self.active else ""))
        left = Content(" ").join(parts)
        room = self.content_size.width - left.cell_length - 2
        remark = Content.styled(fit_remark(printable(self.remark), max(0, room)), "$warning")
        gap = max(0, self.content_size.width - left.cell_length - remark.cell_length)
        return Content.assemble(left, " " * gap, remark)

    def _labels(self) -> list[tuple[str, str]]:
        """The tabs as they have room beside a remark: with blanks around, without, cut, only the active one in words."""
        numbered = [
            (tab, str(number), title, self._badges.get(tab, ""))
            for number, (tab, title) in enumerate(self._tabs.items(), start=1)
        ]
        room = self.content_size.width - min(LEAST_REMARK, len(self.remark)) - (2 if self.remark else 0)
        wide = [(tab, f" {number} {title}{badge} ") for tab, number, title, badge in numbered]
        plain = [(tab, label.strip()) for tab, label in wide]
        short = [
            (tab, f"{number} {title if tab == self.active else _cut(title)}{badge}")
            for tab, number, title, badge in numbered
        ]
        brief = [
            (tab, f"{number} {title}{badge}" if tab == self.active else f"{number}{badge}")
            for tab, number, title, badge in numbered
        ]
        fitting = (labels for labels in (wide, plain, short) if _length(labels) <= room)
        return next(fitting, brief)

    def on_click(self, event: events.Click) -> None:
        """Go to the tab that was clicked."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        start = 0
        for tab, label in self._labels():
            if start <= offset.x < start + len(label):
                self.post_message(TabChosen(tab))
                return
            start += len(label) + 1


def _length(labels: list[tuple[str, str]]) -> int:
    return sum(len(label) + 1 for _, label in labels) - 1


def _cut(title: str) -> str:
    return title if len(title) <= SHORT_TITLE else title[: SHORT_TITLE - 1] + ELLIPSIS
