"""A chart that is drawn elsewhere, and the list of those there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from trex_tui.report.charts.grid import Line, cells_of

_GAP = "  "


@dataclass
class ChartResized(Message):
    """There is another room for the chart now."""


@dataclass
class ChartPicked(Message):
    """A person pointed at the title of a chart: its place in the list."""

    place: int


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
        """Replace the chart."""
        self.lines = lines
        self.refresh()

    @property
    def plain(self) -> str:
        """The text of the chart."""
        return "\n".join("".join(span.text for span in line) for line in self.lines)

    def on_resize(self) -> None:
        """Ask for a chart of the new size."""
        self.post_message(ChartResized())

    def render(self) -> RenderResult:
        """The lines, with their theme tokens resolved."""
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
        """Say which is shown."""
        self._current = current
        self.refresh()

    @property
    def _is_row(self) -> bool:
        return self.size.height == 1

    def _label(self, place: int) -> str:
        return f"{place + 1:>2} {self._titles[place]}" if not self._is_row else self._titles[place]

    def render(self) -> RenderResult:
        """The titles; the current one is told by a sign as well."""
        if self._is_row:
            return self._row(self.content_size.width)
        labels = []
        for place in range(len(self._titles)):
            is_current = place == self._current
            style = "bold $accent" if is_current else ""
            labels.append(Content.styled(f"{'▸' if is_current else ' '}{self._label(place)}", style))
        return Content("\n").join(labels)

    def _row(self, width: int) -> Content:
        parts = [Content.styled(f"{self._current + 1}/{len(self._titles)}", "$muted")]
        for place in self._places(width):
            is_current = place == self._current
            label = f"▸{self._label(place)}" if is_current else self._label(place)
            parts.append(Content.styled(label, "bold $accent" if is_current else "$muted"))
        return Content(_GAP).join(parts)

    def _places(self, width: int) -> list[int]:
        """The titles that there is room for: the current one, and neighbours on both sides in turn."""
        used = len(f"{self._current + 1}/{len(self._titles)}")
        shown = [self._current]
        used += len(_GAP) + 1 + len(cells_of(self._titles[self._current]))
        before, after = self._current - 1, self._current + 1
        while before >= 0 or after < len(self._titles):
            grown = False
            for place in (after, before):
                if 0 <= place < len(self._titles) and place not in shown:
                    needed = len(_GAP) + len(cells_of(self._titles[place]))
                    if used + needed <= width:
                        used += needed
                        shown.append(place)
                        grown = True
            if not grown:
                break
            before, after = min(shown) - 1, max(shown) + 1
        return sorted(shown)

    def on_click(self, event: events.Click) -> None:
        """Tell which title a person pointed at."""
        offset = event.get_content_offset(self)
        if offset is None:
            return
        place = self._place_at(offset.x) if self._is_row else offset.y
        if place is not None and place < len(self._titles):
            event.stop()
            self.post_message(ChartPicked(place))

    def _place_at(self, x: int) -> int | None:
        start = len(f"{self._current + 1}/{len(self._titles)}")
        for place in self._places(self.content_size.width):
            start += len(_GAP)
            end = start + len(cells_of(self._titles[place])) + (place == self._current)
            if start <= x < end:
                return place
            start = end
        return None
