"""Lines of text of which some lead to layers: they can be chosen and followed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message

from trex_tui.report.views.compare_story import Goal, Story
from trex_tui.report.views.layer_details import Line, find_targets, label_width
from trex_tui.text import printable
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.text_view import TextLine, TextView

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
    """A person wants to go to the layer of this index."""

    index: int


class LinkedText(TextView):
    """Scrolls over lines; those with a target can be chosen with `l` and `h`, and followed with Enter or the mouse."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_in(Place.DETAILS),
        Binding("enter", "follow", show=False),
    ]

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.chosen: int | None = None
        """Number of the line that Enter follows."""
        self.lines: Sequence[Line] = ()

    def make_lines(self, width: int) -> list[TextLine]:  # noqa: ARG002 - they wrap by themselves
        return text_lines(self.lines, self.chosen)

    def show_lines(self, lines: Sequence[Line], *, from_top: bool) -> None:
        """Show other lines; `from_top` if they are about something else."""
        self.lines = lines
        if from_top:
            self.chosen = None
            self.scroll_to(y=0, animate=False)
        self.renew()

    def _starts(self) -> list[int]:
        """The first row of each line, and the row behind the last."""
        rows = [0]
        for line in self.make_lines(self.text_width):
            rows.append(rows[-1] + len(line.wrap(self.text_width)))
        return rows

    # Links

    def action_next_link(self, step: int) -> None:
        links = find_targets(self.lines)
        if not links:
            self.notify("Nothing here leads to another layer.", markup=False)
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
    """The lines in colours; texts behind labels stand below each other, section by section."""
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


LEAST_IN_VIEW = 2
"""Lines below the title of the totals without which they are not in view."""


class CompareText(LinkedText):
    """A story that is told for the width there is; some of its lines lead to blocks and layers."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._tell: Callable[[int], Story] = lambda _: Story()
        self._story: tuple[int, Story] | None = None

    def tell(self, tell: Callable[[int], Story], *, from_top: bool) -> None:
        """Show what `tell` makes for a number of cells."""
        self._tell, self._story = tell, None
        self.show_lines((), from_top=from_top)

    def make_lines(self, width: int) -> list[TextLine]:
        if self._story is None or self._story[0] != width:
            self._story = width, self._tell(width)
        self.lines = self._story[1].lines
        return text_lines(self.lines, self.chosen)

    def goal(self, target: int) -> Goal:
        assert self._story is not None  # a line was followed, so there are lines
        return self._story[1].goals[target]

    def show_totals(self) -> bool:
        """Scroll to the totals; False if they are in view already, or there are none."""
        number = self._story[1].totals if self._story is not None else None
        if number is None:
            return False
        row = self._starts()[number]
        first = self.scroll_offset.y
        if first <= row < first + self.size.height - LEAST_IN_VIEW:
            return False
        self.scroll_to(y=row, animate=False)
        return self.scroll_offset.y != first
