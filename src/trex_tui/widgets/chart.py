"""A chart that is drawn elsewhere, and the list of those there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from trex_tui.report.charts.grid import Line, split_cells

_GAP = "  "


@dataclass
class ChartResized(Message):
    """There is another room for the chart now."""


@dataclass
class ChartPicked(Message):
    """A person pointed at the title of a chart, the one at an index of the list."""

    index: int


class ChartView(Widget, can_focus=True):
    """Shows lines as they are; they are as large as it is, or will be soon."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ChartView { width: 1fr; height: 1fr; padding: 0 1; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.lines: Sequence[Line] = ()

    def show(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self.refresh()

    @property
    def plain(self) -> str:
        return "\n".join("".join(span.text for span in line) for line in self.lines)

    def on_resize(self) -> None:
        self.post_message(ChartResized())

    def render(self) -> RenderResult:
        return Content("\n").join(Content.assemble(*line) for line in self.lines)


class ChartList(Widget):
    """The titles: below each other, or in one row around the current one."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    ChartList {
        width: 24; height: 1fr; padding: 0 1; background: $surface; text-wrap: nowrap; text-overflow: clip;
    }
    """

    def __init__(self, titles: Sequence[str], *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._titles = titles
        self._current = 0

    def mark(self, current: int) -> None:
        self._current = current
        self.refresh()

    @property
    def _is_row(self) -> bool:
        return self.size.height == 1

    @property
    def _counter(self) -> str:
        return f"{self._current + 1}/{len(self._titles)}"

    def _label(self, index: int) -> str:
        """The current title is told by a sign as well."""
        is_current = index == self._current
        if self._is_row:
            return f"▸{self._titles[index]}" if is_current else self._titles[index]
        return f"{'▸' if is_current else ' '}{index + 1:>2} {self._titles[index]}"

    def render(self) -> RenderResult:
        def styled(index: int, other: str) -> Content:
            return Content.styled(self._label(index), "bold $accent" if index == self._current else other)

        if not self._is_row:
            return Content("\n").join(styled(index, "") for index in range(len(self._titles)))
        titles = [styled(index, "$muted") for index in self._visible]
        return Content(_GAP).join([Content.styled(self._counter, "$muted"), *titles])

    @property
    def _visible(self) -> range:
        """The titles that there is room for in a row: the current one, and neighbours on both sides in turn."""
        first = last = self._current
        used = len(self._counter) + len(_GAP) + len(split_cells(self._label(self._current)))
        has_grown = True
        while has_grown:
            has_grown = False
            for index in (last + 1, first - 1):
                if 0 <= index < len(self._titles):
                    needed = len(_GAP) + len(split_cells(self._label(index)))
                    if used + needed <= self.content_size.width:
                        used += needed
                        first, last, has_grown = min(first, index), max(last, index), True
        return range(first, last + 1)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        index = self._index_at(offset.x) if self._is_row else offset.y
        if index is not None and index < len(self._titles):
            event.stop()
            self.post_message(ChartPicked(index))

    def _index_at(self, x: int) -> int | None:
        start = len(self._counter)
        for index in self._visible:
            start += len(_GAP)
            end = start + len(split_cells(self._label(index)))
            if start <= x < end:
                return index
            start = end
        return None
