"""A quantity along the execution, drawn with eighths of a cell over the whole width, with two marks below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from trex_tui.text import printable

_EIGHTHS = " ▁▂▃▄▅▆▇█"
PEAK, HERE, BOTH = "▲", "●", "◆"


def column_at(index: int, count: int, width: int) -> int:
    """The column in which value number `index` of `count` stands; its first one where a value has several."""
    if count < width:
        return -(-index * width // count) if count else 0
    return index * width // count


def index_at(column: int, count: int, width: int) -> int:
    """The first value that stands in a column."""
    return min(count - 1, -(-column * count // width)) if count > width else column * count // width


def column_values(values: Sequence[int], width: int) -> list[int]:
    """The largest value of each column: where values outnumber columns, no peak is lost."""
    count = len(values)
    if not count or width <= 0:
        return []
    if count <= width:
        return [values[index_at(column, count, width)] for column in range(width)]
    starts = [index_at(column, count, width) for column in range(width)] + [count]
    return [max(values[start:end]) for start, end in pairwise(starts)]


def strip_rows(values: Sequence[int], width: int, height: int) -> list[str]:
    """The chart as `height` rows of `width` characters, the top first; anything above zero shows."""
    columns = column_values(values, width)
    top = max(columns, default=0)
    eighths = [max(1, round(8 * height * value / top)) if value > 0 else 0 for value in columns]
    return [
        "".join(_EIGHTHS[min(8, max(0, filled - 8 * (height - 1 - row)))] for filled in eighths)
        for row in range(height)
    ]


@dataclass
class StripClicked(Message):
    """A person pointed at a place of the chart: `index` is the first value there."""

    index: int


class StripChart(Widget):
    """The chart, a line of words above it and the marks below."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    StripChart { height: 5; padding: 0 1; background: $surface; }
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._values: Sequence[int] = ()
        self._title, self._words = "", ""
        self._peak: int | None = None
        self._here: int | None = None

    def show(self, values: Sequence[int], title: str, peak: int | None) -> None:
        """Replace the values; without any, the title stands alone."""
        self._values, self._title, self._peak = values, title, peak
        self.refresh()

    def mark(self, here: int | None, words: str) -> None:
        if (here, words) != (self._here, self._words):
            self._here, self._words = here, words
            self.refresh()

    def render(self) -> RenderResult:
        width, height = self.content_size
        lines = [self._heading(width)]
        if self._values and height > 2 and width > 0:
            rows = strip_rows(self._values, width, height - 2)
            lines += [self._coloured(row) for row in rows]
            lines.append(self._marks(width))
        return Content("\n").join(lines)

    def _heading(self, width: int) -> Content:
        peak = f"{PEAK} " if self._peak is not None else ""
        left = Content.assemble((peak, "$warning"), printable(self._title))
        right = (
            Content.assemble((f"{HERE} ", "$accent"), printable(self._words)) if self._words else Content("")
        )
        gap = width - left.cell_length - right.cell_length
        if gap < 2:
            return left.truncate(width, ellipsis=True)
        return Content.assemble(left, " " * gap, right)

    def _coloured(self, row: str) -> Content:
        content = Content.styled(row, "$primary")
        for index, style in ((self._peak, "$warning"), (self._here, "$accent")):
            if index is not None:
                start, end = self._span(index, len(row))
                content = content.stylize(style, start, end)
        return content

    def _span(self, index: int, width: int) -> tuple[int, int]:
        start = column_at(index, len(self._values), width)
        return start, max(start + 1, column_at(index + 1, len(self._values), width))

    def _marks(self, width: int) -> Content:
        last = str(len(self._values) - 1)
        cells = list("0".ljust(width - len(last)) + last) if width > len(last) else [" "] * width
        styles = ["$muted"] * width
        places = {}
        for index, mark, style in ((self._peak, PEAK, "$warning"), (self._here, HERE, "$accent")):
            if index is not None:
                start, end = self._span(index, width)
                place = (start + end - 1) // 2
                cells[place], styles[place] = BOTH if place in places else mark, style
                places[place] = mark
        return Content("").join(
            [Content.styled(cell, style) for cell, style in zip(cells, styles, strict=True)]
        )

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self._values and offset.y > 0:
            event.stop()
            self.post_message(StripClicked(index_at(offset.x, len(self._values), self.content_size.width)))
