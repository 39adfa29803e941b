"""What there is to say of a comparison, beside its blocks."""

from __future__ import annotations

from collections.abc import Callable

from trex_tui.reports.comparison import Goal, Story
from trex_tui.widgets.linked_lines import LinkedLines, text_lines
from trex_tui.widgets.wrapped_lines import TextLine

LEAST_IN_VIEW = 2
"""Lines below the title of the totals without which they are not in view."""


class CompareWords(LinkedLines):
    """Lines that somebody makes for the width there is; some lead to blocks and layers."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._tell: Callable[[int], Story] = lambda _: Story()
        self._story: tuple[int, Story] | None = None

    def tell(self, tell: Callable[[int], Story], *, from_top: bool) -> None:
        """Show what `tell` makes for a number of cells."""
        self._tell, self._story = tell, None
        self.show_lines((), from_top=from_top)

    def make_lines(self, width: int) -> list[TextLine]:
        """The lines for so many cells."""
        if self._story is None or self._story[0] != width:
            self._story = width, self._tell(width)
        self.lines = self._story[1].lines
        return text_lines(self.lines, self.chosen)

    def goal(self, target: int) -> Goal:
        """Where the target of a line leads."""
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
