"""Lines of facts: headings, labels with values, bars; and texts of them in columns side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rich.cells import cell_len
from textual.containers import Horizontal
from textual.content import Content

from trex_tui.report.document import Section
from trex_tui.text import format_bar, printable
from trex_tui.widgets.text import Line, LinkedText, styled

LABEL = 13
"""Cells of a label, with the gap behind it."""
_WIDEST_LABEL = 22
_STATISTIC, _FIGURE = 7, 8
EMPTY = Line(Content(""))


def heading(title: str) -> Line:
    """Return the title of what follows."""
    return Line(Content.styled(printable(title), "bold $primary"))


def sentence(text: str, style: str = "") -> Line:
    """Return a sentence."""
    return Line(Content.styled(printable(text), style))


def fact(label: str, text: str, width: int = LABEL) -> Line:
    """Return a label with a value, which wraps beside it."""
    return Line(styled((f"{label:<{width}}", "$muted"), printable(text)), indent=width)


def fact_lines(section: Section, *, is_unfolded: bool = False, key: str = "") -> Iterator[Line]:
    """Yield the facts and the sentences of a section.

    Args:
        is_unfolded: Yield options at their default too.
        key: The key that unfolds them.
    """
    facts = [fact for fact in section.facts if fact.column.title and (is_unfolded or not fact.is_folded)]
    longest = max((cell_len(shown.column.title) + 1 for shown in facts), default=0)
    width = max(LABEL, min(longest, _WIDEST_LABEL))
    yield from (fact(shown.column.title, str(shown), width) for shown in facts)
    folded = sum(fact.is_folded for fact in section.facts)
    if folded and not is_unfolded:
        yield sentence(f"{folded} more: {key}", "$muted")
    yield from map(sentence, section.sentences)


def table_lines(section: Section, width: int) -> Iterator[Line]:
    """Yield a table of numbers; the last columns are left out where it is narrow."""
    shown = section.columns[: max(2, 1 + (width - _STATISTIC) // _FIGURE)]
    titles = [column.title for column in shown]
    for number, (name, *cells) in enumerate((titles, *section.rows())):
        figures = "".join(f"{cell:>{_FIGURE}}" for cell in cells[: len(shown) - 1])
        yield Line(styled((f"{name:<{_STATISTIC}}", "$muted"), (figures, "" if number else "$muted")))


class Bar(NamedTuple):
    """A row of bars.

    Attributes:
        numbers: Texts before the bar.
        value: Length of the bar; None for none.
        link: What Enter opens.
    """

    name: str
    numbers: Sequence[str]
    value: float | None
    style: str = ""
    link: Any = None


def bar_lines(
    title: str, heads: Sequence[tuple[str, int]], bars: Sequence[Bar], width: int, name_width: int
) -> Iterator[Line]:
    """Yield a title with the heads of the numbers, and a row per bar, the largest as long as there is room.

    Args:
        heads: Title and cells of each number.
    """
    top = max((bar.value for bar in bars if bar.value is not None), default=0.0)
    room = max(0, width - name_width - sum(cells for _, cells in heads) - 2)
    yield Line(
        styled(
            (f"{title:<{name_width}}", "bold $primary"),
            (_align([head for head, _ in heads], heads), "$muted"),
        )
    )
    for bar in bars:
        blocks = format_bar(bar.value / top, room) if bar.value is not None and top > 0 else ""
        style = bar.style or "$primary"
        # Where the cursor reverses colors, a reversed block would be a hole.
        parts = (
            (f"{bar.name:<{name_width}}", bar.style),
            _align(bar.numbers, heads),
            "  ",
            (f"{blocks:<{room}}", f"not reverse {style}"),
        )
        yield Line(styled(*parts), bar.link)


def _align(texts: Sequence[str], heads: Sequence[tuple[str, int]]) -> str:
    return "".join(f"{text:>{cells}}" for text, (_, cells) in zip(texts, heads, strict=True))


def count_rows(lines: Iterable[Line], width: int) -> int:
    """Return about how many rows lines take."""
    return sum(max(1, -(-line.content.cell_length // width)) for line in lines)


class FactColumn(LinkedText):
    """A column: `j` and `k` go from link to link, and scroll beyond the last."""

    DEFAULT_CSS = "FactColumn { width: 1fr; height: 100%; }"

    def on_focus(self) -> None:
        if self.chosen is None:
            self.action_next_link()

    def action_move(self, rows: int) -> None:
        before = self.chosen
        (self.action_next_link if rows > 0 else self.action_previous_link)()
        if self.chosen == before:
            super().action_move(rows)


class FactColumns(Horizontal):
    """Blocks of lines in columns side by side: each block goes to the column with most room."""

    MOST = 3

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(*(FactColumn() for _ in range(self.MOST)), id=id)

    @property
    def columns(self) -> list[FactColumn]:
        return list(self.query(FactColumn))

    def show(self, count: int, width: int, blocks: Iterable[tuple[int | None, Sequence[Line]]]) -> int:
        """Show blocks in a number of columns; return about how many rows the longest has.

        Args:
            width: Cells of a line.
            blocks: A column, or None for the shortest, and the lines; from the last column for negative numbers.
        """
        filled: list[list[Line]] = [[] for _ in range(count)]
        for place, lines in blocks:
            column = (
                min(filled, key=lambda column: count_rows(column, width)) if place is None else filled[place]
            )
            if lines:
                column += [*([EMPTY] if column else []), *lines]
        for number, text in enumerate(self.columns):
            text.display = number < count
            text.show(filled[number] if number < count else ())
        return max(count_rows(column, width) for column in filled)
