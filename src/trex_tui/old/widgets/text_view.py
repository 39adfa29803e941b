"""Lines of text that keep their indentation when they are wrapped, and the widgets that show them.

A widget as high as its text, in a container that scrolls, costs a layout of the whole screen whenever the text is another:
three frames for each `j` beside a table. A `TextView` is as high as the screen gives it, and new text is a single frame.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import RenderResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.visual import Visual
from textual.widget import Widget

from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.layer_details import Line, find_targets, label_width
from trex_tui.old.text import is_number_with_unit, printable
from trex_tui.old.widgets.actions import Place, bindings_in

if TYPE_CHECKING:
    from trex_tui.old.lint.model import Judged

_SEPARATORS = "_-,"
LEAST_ROOM = 12
"""Minimum cells beside an indentation; with fewer, continued lines start at the left edge."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line, safe for a terminal.

    Attributes:
        content: What it says, its own indentation included.
        indent: Cells before whatever has to go on in further lines.
        target: What it leads to; None for nothing. Only `TextColumns` follows it.
    """

    content: Content
    indent: int = 0
    target: object = None

    def wrap(self, width: int) -> list[Content]:
        """Wrap the line to `width` cells."""
        plain = self.content.plain
        if width <= 0 or (len(plain) if plain.isascii() else self.content.cell_length) <= width:
            return [self.content]
        indent = self.indent if width - self.indent >= LEAST_ROOM else 0
        parts = [self.content[start:end] for start, end in _spans(plain, width, width - indent)]
        return [parts[0], *(part.pad_left(indent) for part in parts[1:])]


def _spans(text: str, first: int, others: int) -> Iterator[tuple[int, int]]:
    """Return the start and end of each line: `first` cells for the first, `others` for the rest.

    A line ends at a space in its second half that does not part a number from its unit, else behind a separator of names
    there, or before a slash: names are long and have no spaces.
    """
    start, room = 0, first
    while start < len(text):
        end = _end_in(text, start, room)
        if end < len(text):
            middle = start + (end - start) // 2
            space = text.rfind(" ", middle, end + 1)
            while space > start and is_number_with_unit(text[start:space], text[space + 1 :]):
                space = text.rfind(" ", middle, space)
            end = space if space > start else max(start + 1, _end_in_word(text, middle, end))
        yield start, end
        start, room = end, others
        while text[start : start + 1] == " ":
            start += 1


def _end_in_word(text: str, middle: int, end: int) -> int:
    slash = text.rfind("/", middle, end + 1)
    return slash if slash > 0 else max(text.rfind(sign, middle, end) for sign in _SEPARATORS) + 1 or end


def _end_in(text: str, start: int, room: int) -> int:
    """Return the end of the text from `start` on that fits into `room` cells: at least one character."""
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
    """Return a line per label and value; long values continue below their beginning."""
    return [
        TextLine(
            Content.assemble((f"{printable(label):<{label_width}} ", "$muted"), printable(value)),
            label_width + 1,
        )
        for label, value in facts
    ]


def sections(*parts: Sequence[TextLine]) -> list[TextLine]:
    """Join the non-empty parts with an empty line between."""
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
"""Keys that Textual's containers lack."""


def scroll_half_page(widget: Widget, direction: int) -> None:
    widget.scroll_relative(y=direction * max(1, widget.size.height // 2), animate=False)


class TextScroll(VerticalScroll, can_focus=True):
    """A container that scrolls as less does."""

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    def action_half_page(self, direction: int) -> None:
        scroll_half_page(self, direction)


class LineScroll(ScrollView):
    """Draws only the lines in view; its layout does not depend on their number."""

    def set_line_count(self, count: int) -> None:
        """Set the number of lines to scroll over.

        Textual lays out the whole screen when `virtual_size` changes; nothing but the scrollbar looks different.
        """
        if count != self.virtual_size.height:
            self.set_reactive(Widget.virtual_size, Size(0, count))
            self._scroll_update(self.virtual_size)


LineMaker = Callable[[int], Sequence[TextLine]]
"""Makes lines for a width in cells; longer ones are wrapped."""


class TextBlock(Widget):
    """Text as high as its lines, which are given, or made for the available width."""

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
    # Always present, since showing and hiding a scrollbar lays out the screen; it is empty if all lines fit.

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    def __init__(self, make: LineMaker | None = None, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._make = make
        self._wrapped: tuple[int, list[Content]] | None = None
        """The lines, and the width they are wrapped to."""
        self._strips: dict[int, Strip] = {}
        self._painted: tuple[int, list[Content]] | None = None
        """What the strips are of."""
        # No text has links as Textual makes them: it would look at the styles of all ancestors for each line.
        self.set_reactive(Widget.auto_links, False)

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
        """Draw the rows that are others than before: of the text beside a table, half are the same for the next row.

        Rows of a hidden text are drawn with the layout that shows it.
        """
        width, rows = self.text_width, self._rows
        if width <= 0:
            self.refresh()
            return
        others = self._drop_strips(width, rows)
        self.set_line_count(len(rows))
        if others is None:
            self.refresh()
            return
        first, size = self.scroll_offset.y, self.size
        regions = [
            Region(0, row - first, size.width, 1) for row in others if first <= row < first + size.height
        ]
        if regions:
            self.refresh(*regions)

    def _drop_strips(self, width: int, rows: list[Content]) -> list[int] | None:
        """Drop the strips of rows that are others than those drawn; return their numbers, None for all."""
        painted, self._painted = self._painted, (width, rows)
        if painted is None or painted[0] != width:
            self._strips.clear()
            return None
        if painted[1] is rows:
            return []
        pairs = enumerate(zip_longest(rows, painted[1]))
        others = [
            number
            for number, (row, before) in pairs
            if row is None or before is None or not row.is_same(before)
        ]
        for number in others:
            self._strips.pop(number, None)
        return others

    def on_resize(self) -> None:
        self._fit()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()
        self._painted = None

    def render_line(self, y: int) -> Strip:
        row, rows, width = self.scroll_offset.y + y, self._rows, self.text_width
        if row >= len(rows):
            return Strip.blank(self.size.width, self.visual_style.rich_style)
        if self.text_selection is not None:
            return self._selected_strip(row)
        self._drop_strips(width, rows)
        strip = self._strips.get(row)
        if strip is None:
            (strip,) = Visual.to_strips(self, rows[row], width, 1, self.visual_style)
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


LONGEST_LABEL = 24
_STYLES = {
    "heading": "bold",
    "section": "$primary",
    "plain": "",
    "muted": "$muted",
    "warning": "bold $warning",
}
_LINK, _CHOSEN_LINK = "$secondary", "reverse"


@dataclass
class LinkFollowed(Message):
    """Open a layer by its index, or a finding."""

    target: int | Judged


class LinkedText(TextView):
    """Scrollable lines; those with a target are selected with `l` and `h`, and followed with Enter or the mouse."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_in(Place.DETAILS),
        Binding("enter", "follow", show=False),
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.chosen: int | None = None
        """Index of the selected line."""
        self.lines: Sequence[Line] = ()

    def make_lines(self, width: int) -> list[TextLine]:  # noqa: ARG002 - they wrap by themselves
        return text_lines(self.lines, self.chosen)

    def show_lines(self, lines: Sequence[Line], *, from_top: bool) -> None:
        """Show other lines, from the top if the subject changed."""
        self.lines = lines
        if from_top:
            self.chosen = None
            self.scroll_to(y=0, animate=False)
        self.renew()

    def _starts(self) -> list[int]:
        """Return the first row of each line, and the row after the last."""
        rows = [0]
        for line in self.make_lines(self.text_width):
            rows.append(rows[-1] + len(line.wrap(self.text_width)))
        return rows

    # Links

    def action_next_link(self, step: int) -> None:
        links = find_targets(self.lines)
        if not links:
            self.notify("No links here.", markup=False)
            return
        if self.chosen in links:
            position = max(0, min(len(links) - 1, links.index(self.chosen) + step))
        else:
            position = 0 if step > 0 else len(links) - 1
        self._choose(links[position])

    def _choose(self, number: int) -> None:
        self.chosen = number
        self.renew()
        rows = self._starts()
        region = Region(0, rows[number], 1, rows[number + 1] - rows[number])
        self.scroll_to_region(region, animate=False, x_axis=False)

    def choose(self, number: int | None) -> None:
        """Select a line again, without scrolling to it."""
        if number is None or number in find_targets(self.lines):
            self.chosen = number
            self.renew()

    def action_follow(self) -> None:
        target = None if self.chosen is None else self.lines[self.chosen].target
        if target is None:
            self.action_next_link(1)
        else:
            self.post_message(LinkFollowed(target))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        number = bisect_right(self._starts(), self.scroll_offset.y + offset.y) - 1
        if number < len(self.lines) and self.lines[number].target is not None:
            event.stop()
            self._choose(number)
            self.action_follow()


def text_lines(lines: Sequence[Line], chosen: int | None = None) -> list[TextLine]:
    """Return the lines in colours; texts after labels are aligned, section by section."""
    made: list[TextLine] = []
    starts = [number for number, line in enumerate(lines) if line.style == "section" and number]
    for start, end in pairwise([0, *starts, len(lines)]):
        width = min(label_width(lines[start:end]), LONGEST_LABEL)
        made += [_text_line(lines[number], width, is_chosen=number == chosen) for number in range(start, end)]
    return made


def _text_line(line: Line, width: int, *, is_chosen: bool) -> TextLine:
    text, style = printable(line.text), _STYLES[line.style]
    if line.target is not None:
        style = _CHOSEN_LINK if is_chosen else _LINK
    label = f"{printable(line.label):<{width}}  " if line.label else ""
    label_style = style if line.style == "warning" else "$muted"
    content = Content.assemble(" " * line.indent, (label, label_style), (text, style))
    return TextLine(content, line.indent + (width + 2 if label else 2 if line.indent else 0))
