"""Text beside a comparison, in a separate module so that other text widgets do not import comparisons."""

from __future__ import annotations

from collections.abc import Callable

from trex_tui.old.report.views.compare_story import Goal, Story
from trex_tui.old.widgets.text_view import LinkedText, TextLine, text_lines

LEAST_IN_VIEW = 2
"""Lines below the title of the totals that must be visible for the totals to count as in view."""


class CompareText(LinkedText):
    """Text of a comparison for a width, with links to blocks and layers."""

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._tell: Callable[[int], Story] = lambda _: Story()
        self._story: tuple[int, Story] | None = None

    def tell(self, tell: Callable[[int], Story], *, from_top: bool) -> None:
        """Show the text that `tell` makes for a width in cells."""
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
        """Scroll to the totals; return False if they are in view or missing."""
        return self._show_line(self._story[1].totals if self._story is not None else None)

    def show_cautions(self) -> None:
        """Scroll to the cautions if they are not in view."""
        self._show_line(self._story[1].cautions if self._story is not None else None)

    def _show_line(self, number: int | None) -> bool:
        """Scroll to a line; return False if it is in view."""
        if number is None:
            return False
        row = self._starts()[number]
        first = self.scroll_offset.y
        if first <= row < first + self.size.height - LEAST_IN_VIEW:
            return False
        self.scroll_to(y=row, animate=False)
        return self.scroll_offset.y != first
