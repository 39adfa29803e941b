"""Lines of text that keep their indentation when they are wrapped, and two widgets for them: `TextBlock` and `TextView`.

A widget as high as its text, in a container that scrolls, costs a layout of the whole screen whenever the text is another:
three frames for each `j` beside a table. A `TextView` is as high as the screen gives it, and new text is a single frame.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from trex_tui.text import is_number_with_unit, printable

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


def wrap_lines(lines: Iterable[TextLine], width: int) -> list[Content]:
    return [part for line in lines for part in line.wrap(width)]


EMPTY = TextLine(Content(""))
LABEL_WIDTH = 13


def heading_line(text: str) -> TextLine:
    return TextLine(Content.styled(printable(text), "bold $primary"))


def sentence_line(text: str, style: str = "") -> TextLine:
    return TextLine(Content.styled(printable(text), style))


def fact_lines(facts: Iterable[tuple[str, str]], label_width: int = LABEL_WIDTH) -> list[TextLine]:
    """A line for each label and value; long values go on below their beginning."""
    return [
        TextLine(
            Content.assemble((f"{printable(label):<{label_width}} ", "$muted"), printable(value)),
            label_width + 1,
        )
        for label, value in facts
    ]


def sections(*parts: Sequence[TextLine]) -> list[TextLine]:
    """The parts that say something, with an empty line between."""
    lines: list[TextLine] = []
    for part in parts:
        if part:
            lines += [*([EMPTY] if lines else []), *part]
    return lines


MOVES: tuple[BindingType, ...] = (
    Binding("j", "scroll_down", show=False),
    Binding("k", "scroll_up", show=False),
    Binding("g", "scroll_home", show=False),
    Binding("G", "scroll_end", show=False),
    Binding("ctrl+d", "half_page(1)", show=False),
    Binding("ctrl+u", "half_page(-1)", show=False),
)
"""What Textual's containers have no keys for."""


def scroll_half_page(widget: Widget, direction: int) -> None:
    widget.scroll_relative(y=direction * max(1, widget.size.height // 2), animate=False)


class TextScroll(VerticalScroll, can_focus=True):
    """A container that scrolls as less does."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    def action_half_page(self, direction: int) -> None:
        scroll_half_page(self, direction)


class LineScroll(ScrollView):
    """Draws lines itself, those in view; its own place does not depend on how many there are."""

    def set_line_count(self, count: int) -> None:
        """Say how many lines there are to scroll over.

        Textual lays out the whole screen when `virtual_size` changes; nothing but the scrollbar looks different.
        """
        if count != self.virtual_size.height:
            self.set_reactive(Widget.virtual_size, Size(0, count))
            self._scroll_update(self.virtual_size)


LineMaker = Callable[[int], Sequence[TextLine]]
"""Makes lines for a number of cells; longer ones are wrapped."""


class TextBlock(Widget):
    """Text as high as it needs, in lines that are given, or made for the width there is."""

    DEFAULT_CSS = """
    TextBlock { width: 1fr; height: auto; }
    """

    def __init__(
        self,
        lines: Sequence[TextLine] = (),
        *,
        make: LineMaker | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self._lines, self._make = lines, make
        self._wrapped: tuple[int, list[Content]] | None = None

    def show(self, lines: Sequence[TextLine]) -> None:
        self._lines = lines
        self.renew()

    def renew(self) -> None:
        self._wrapped = None
        self.refresh(layout=True)

    def wrapped(self, width: int) -> list[Content]:
        if self._wrapped is None or self._wrapped[0] != width:
            self._wrapped = width, wrap_lines(self._make(width) if self._make else self._lines, width)
        return self._wrapped[1]

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - Textual's
        if self._make is not None:
            return container.width
        return max((line.content.cell_length for line in self._lines), default=0)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002 - Textual's
        return len(self.wrapped(width))

    def render(self) -> RenderResult:
        return Content("\n").join(self.wrapped(self.content_size.width))


class TextView(LineScroll, can_focus=True):
    """Text to scroll in, drawn as far as it is in view.

    Args:
        make: Makes the lines; without it, a subclass does in `make_lines`.
    """

    DEFAULT_CSS = """
    TextView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """
    # A scrollbar that came and went would be a layout of the screen; this one is empty where all lines fit.

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    def __init__(self, make: LineMaker | None = None, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._make = make
        self._wrapped: tuple[int, list[Content]] | None = None
        """The lines, and the width they are wrapped to."""
        self._strips: dict[int, Strip] = {}

    def make_lines(self, width: int) -> Sequence[TextLine]:
        return self._make(width) if self._make else ()

    def renew(self) -> None:
        self._wrapped = None
        self._fit()

    def wrapped(self, width: int) -> list[Content]:
        if self._wrapped is None or self._wrapped[0] != width:
            self._wrapped = width, wrap_lines(self.make_lines(width), width)
        return self._wrapped[1]

    @property
    def text_width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def _rows(self) -> list[Content]:
        return self.wrapped(self.text_width) if self.text_width > 0 else []

    def _fit(self) -> None:
        self._strips.clear()
        self.set_line_count(len(self._rows))
        self.refresh()

    def on_resize(self) -> None:
        self._fit()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        row = self.scroll_offset.y + y
        if row >= len(self._rows):
            return Strip.blank(self.size.width, self.visual_style.rich_style)
        if self.text_selection is not None:
            return self._selected_strip(row)
        strip = self._strips.get(row)
        if strip is None:
            (strip,) = Visual.to_strips(self, self._rows[row], self.text_width, 1, self.visual_style)
            self._strips[row] = strip = strip.apply_offsets(0, row)
        return strip

    # Selecting with the mouse

    def _selected_strip(self, row: int) -> Strip:
        whole = Content("\n").join(self._rows)
        return Visual.to_strips(self, whole, self.text_width, len(self._rows), self.visual_style)[row]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selection.extract("\n".join(row.plain for row in self._rows)), "\n"

    def action_half_page(self, direction: int) -> None:
        scroll_half_page(self, direction)
