"""Lines of text that keep their indentation when they are wrapped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual.app import RenderResult
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget

from trex_tui.text import is_number_with_unit

LEAST_ROOM = 12
"""Where indentation would leave fewer cells than this, what goes on stands at the left edge."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line, safe for a terminal.

    Attributes:
        content: What it says, its own indentation included.
        indent: Cells before whatever has to go on in further lines.
    """

    content: Content
    indent: int = 0

    def wrap(self, width: int) -> list[Content]:
        """The line in as many lines as `width` cells make of it."""
        plain = self.content.plain
        if width <= 0 or (len(plain) if plain.isascii() else self.content.cell_length) <= width:
            return [self.content]
        indent = self.indent if width - self.indent >= LEAST_ROOM else 0
        parts = [self.content[start:end] for start, end in _spans(plain, width, width - indent)]
        return [parts[0], *(part.pad_left(indent) for part in parts[1:])]


def _spans(text: str, first: int, others: int) -> Iterator[tuple[int, int]]:
    """Where the lines begin and end: `first` cells for the first, `others` for the rest.

    A line ends at a space in its second half that does not part a number from its unit, else in the middle of a word:
    names are long and have no spaces.
    """
    start, room = 0, first
    while start < len(text):
        end = _end_in(text, start, room)
        if end < len(text):
            middle = start + (end - start) // 2
            space = text.rfind(" ", middle, end + 1)
            while space > start and is_number_with_unit(text[start:space], text[space + 1 :]):
                space = text.rfind(" ", middle, space)
            end = space if space > start else end
        yield start, end
        start, room = end, others
        while text[start : start + 1] == " ":
            start += 1


def _end_in(text: str, start: int, room: int) -> int:
    """The end of what fits into `room` cells from `start` on: a character at least."""
    if text.isascii():  # a name of thousands of characters is looked at line by line
        return min(len(text), start + max(1, room))
    used = 0
    for index in range(start, len(text)):
        used += cell_len(text[index])
        if used > room:
            return max(index, start + 1)
    return len(text)


class WrappedLines(Widget):
    """Shows lines, as high as they need."""

    DEFAULT_CSS = """
    WrappedLines { width: 1fr; height: auto; }
    """

    def __init__(self, lines: Sequence[TextLine] = (), *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._lines = lines

    def show(self, lines: Sequence[TextLine]) -> None:
        """Replace the lines."""
        self._lines = lines
        self.refresh(layout=True)

    def wrapped(self, width: int) -> list[Content]:
        """The lines as they stand in `width` cells."""
        return [part for line in self._lines for part in line.wrap(width)]

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - Textual's
        """The longest line."""
        return max((line.content.cell_length for line in self._lines), default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        """The lines after wrapping."""
        return len(self.wrapped(width))

    def render(self) -> RenderResult:
        """The wrapped lines."""
        return Content("\n").join(self.wrapped(self.content_size.width))
