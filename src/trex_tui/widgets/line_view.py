"""Lines of text to scroll in, drawn as far as they are in view.

A widget as high as its text, in a container that scrolls, costs a layout of the whole screen whenever the text is another:
three frames for each `j` beside a table. This one is as high as the screen gives it, and new text is a single frame.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.content import Content
from textual.selection import Selection
from textual.strip import Strip
from textual.visual import Visual

from trex_tui.widgets.scroll import MOVES, LineScroll, scroll_half_page
from trex_tui.widgets.wrapped_lines import TextLine


class LineView(LineScroll, can_focus=True):
    """Scrolls over the lines that `make_lines` makes for its width; longer ones are wrapped."""

    DEFAULT_CSS = """
    LineView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """
    # A scrollbar that came and went would be a layout of the screen; this one is empty where all lines fit.

    BINDINGS: ClassVar[list[BindingType]] = [*MOVES]

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._wrapped: tuple[int, list[Content]] | None = None
        """The lines, and the width they are wrapped to."""
        self._strips: dict[int, Strip] = {}

    def make_lines(self, width: int) -> Sequence[TextLine]:
        """The lines for so many cells."""
        raise NotImplementedError

    def renew(self) -> None:
        """Make the lines anew: what they tell has changed."""
        self._wrapped = None
        self._fit()

    def wrapped(self, width: int) -> list[Content]:
        """The lines as they stand in `width` cells."""
        if self._wrapped is None or self._wrapped[0] != width:
            self._wrapped = width, [part for line in self.make_lines(width) for part in line.wrap(width)]
        return self._wrapped[1]

    @property
    def text_width(self) -> int:
        """Cells there are for a line."""
        return self.scrollable_content_region.width

    @property
    def _rows(self) -> list[Content]:
        """The lines as they stand now."""
        return self.wrapped(self.text_width) if self.text_width > 0 else []

    def _fit(self) -> None:
        self._strips.clear()
        self.set_line_count(len(self._rows))
        self.refresh()

    def on_resize(self) -> None:
        """There is another room for the lines now."""
        self._fit()

    def notify_style_update(self) -> None:
        """Other colours, or other borders."""
        super().notify_style_update()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        """Draw the line that stands in row `y` of the view."""
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
        """The text that a person marked with the mouse."""
        return selection.extract("\n".join(row.plain for row in self._rows)), "\n"

    def action_half_page(self, direction: int) -> None:
        """Scroll by half of what is in view."""
        scroll_half_page(self, direction)


class FittedView(LineView):
    """A view of lines that somebody else makes.

    Args:
        make: Returns the lines for a number of cells.
    """

    def __init__(self, make: Callable[[int], Sequence[TextLine]], *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._make = make

    def make_lines(self, width: int) -> Sequence[TextLine]:
        """The lines for so many cells."""
        return self._make(width)
