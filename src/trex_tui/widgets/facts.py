"""Labels and what is known, in lines; sections with headings; and a widget for lines that depend on the width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual.content import Content
from textual.geometry import Size

from trex_tui.text import printable
from trex_tui.widgets.wrapped_lines import TextLine, WrappedLines

EMPTY = TextLine(Content(""))
LABEL_WIDTH = 13


def heading_line(text: str) -> TextLine:
    """The title of a section."""
    return TextLine(Content.styled(printable(text), "bold $primary"))


def sentence_line(text: str, style: str = "") -> TextLine:
    """A paragraph."""
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


class FittedLines(WrappedLines):
    """Shows lines that are made for its width, as high as they need.

    Args:
        make: Returns the lines for a number of cells. Longer ones are wrapped.
    """

    def __init__(self, make: Callable[[int], Sequence[TextLine]], *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._make = make
        self._made: tuple[int, list[Content]] | None = None

    def renew(self) -> None:
        """Make the lines anew: what they tell has changed."""
        self._made = None
        self.refresh(layout=True)

    def wrapped(self, width: int) -> list[Content]:
        """The lines as they stand in `width` cells."""
        if self._made is None or self._made[0] != width:
            self._made = (width, [part for line in self._make(width) for part in line.wrap(width)])
        return self._made[1]

    def get_content_width(self, container: Size, viewport: Size) -> int:  # noqa: ARG002 - Textual's
        """All there is."""
        return container.width
