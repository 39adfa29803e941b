"""Documents as text, for a terminal, a pane, a pipe or a file.

Tables are aligned here: Rich's table takes 14 s of processor time for 20,000 layers, this 0.9 s.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from trex_tui.column import Column, is_missing
from trex_tui.errors import Note, Severity
from trex_tui.report.document import Document, Section
from trex_tui.text import format_bar, printable, shorten_middle

Shorten = Callable[[str, int], str]
"""Cuts a text to a number of characters."""

GAP = 2
_WIDEST_BAR = 24
_LEAST_BAR = 8 + GAP
"""Cells kept free for the bars of a table."""
_LEAST_WITH_BAR, _WIDEST_WITH_BAR = 80, 120
"""Cells of a terminal from which there are bars, and of lines that have them elsewhere."""
_NARROWEST = 8
"""Cells that a text keeps before columns are left out."""
_WIDEST_CHART, _CHART_HEIGHT = 100, 16
_SEVERITY_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_ASCII = str.maketrans(
    {chr(code): "+" for code in range(0x2500, 0x2580)}  # lines of boxes
    | {chr(code): "#" for code in range(0x2580, 0x25A0)}  # blocks
    | {chr(code): "." for code in range(0x2801, 0x2900)}  # braille
    | dict(zip("─│▏▎▍▌▋▊▉•■✓–…×µ·→←⇒≥≤≈Σ±²°÷−Δ", "-|---=|##*#v-~xu|><=><~S~2o/-d", strict=True))
)
"""Each sign is replaced by one character, so that tables stay aligned."""


def render_text(document: Document, width: int | None = None, *, is_unfolded: bool = False) -> Text:
    """Return a document as text.

    Args:
        width: Cells of a terminal, which lines fit; None for a pipe or a file, where nothing is cut.
        is_unfolded: Show options at their default too.
    """
    blocks: list[Text] = []
    for part in (document, *document.parts):
        if document.parts and part is not document:
            blocks.append(Text(printable(part.title), "bold underline"))
        for section in part.shown:
            if not section.title and not section.key.startswith("chart") and blocks and not blocks[-1]:
                blocks.pop()  # it goes on with the section before
            blocks += [render_section(section, width, is_unfolded=is_unfolded), Text()]
        notes = list(render_notes(part.notes, width))
        blocks += [*notes, Text()] if notes else []
    while blocks and not blocks[-1]:
        blocks.pop()
    return Text("\n").join(blocks)


def render_section(section: Section, width: int | None = None, *, is_unfolded: bool = False) -> Text:
    """Return a section as text, with its chart; arguments as of `render_text`."""
    emphasis = "yellow" if section.is_warning else ""
    lines = [Text(section.title, f"bold {emphasis}".rstrip())] if section.title else []
    for sentence in section.sentences:
        lines += [Text(line, emphasis) for line in wrap(sentence, width)]
    lines += _render_facts(section, width, is_unfolded=is_unfolded)
    if section.chart is not None:
        from trex_tui.report.plotext_painter import paint

        lines.append(paint(section.chart, min(width or _WIDEST_CHART, _WIDEST_CHART), _CHART_HEIGHT))
    if table := align_table(section, width):
        heading, *rows = table
        lines.append(Text(heading, "dim", no_wrap=True))
        lines += [Text("\n".join(rows), no_wrap=True)] if rows else []
    lines += [Text(section.rest, "dim")] if section.rest else []
    return Text("\n").join(lines)


def render_notes(notes: Iterable[Note], width: int | None = None) -> Iterator[Text]:
    """Yield a line per note, the damage first."""
    for severity, style in _SEVERITY_STYLES.items():
        for note in notes:
            if note.severity is severity:
                yield from (
                    Text(line, style) for line in wrap(f"{severity.value}: {printable(str(note))}", width)
                )


def _render_facts(section: Section, width: int | None, *, is_unfolded: bool) -> Iterator[Text]:
    shown = [fact for fact in section.facts if fact.column.title and (is_unfolded or not fact.is_folded)]
    folded = sum(fact.is_folded for fact in section.facts)
    label = max((cell_len(fact.column.title) for fact in shown), default=0) + GAP
    for fact in shown:
        first, *others = wrap(str(fact), width and max(_NARROWEST, width - label))
        title = _align_cell(printable(fact.column.title), label, is_right=False)
        yield Text.assemble((title, "dim"), first)
        yield from (Text(" " * label + line) for line in others)
    if folded and not is_unfolded:
        yield Text(f"{folded} more: --all", "dim")


def wrap(text: str, width: int | None) -> list[str]:
    """Return the lines of a text; words are kept whole, leading blanks indent the further lines too."""
    lines = text.split("\n")
    if width is None:
        return lines
    wrapped: list[str] = []
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        wrapped += textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False) or [""]
    return wrapped


def to_ascii(text: str) -> str:
    """Return a text of the same width with ASCII in place of the signs that this program writes; letters stay."""
    return text if text.isascii() else text.translate(_ASCII)


# Tables


def align_table(section: Section, width: int | None = None) -> list[str]:
    """Return the heading and the rows of a table as lines; empty without rows.

    In a narrow terminal columns are left out by their priority, then texts are shortened. No number is cut.
    """
    if section.frame is None or section.frame.empty or not section.columns:
        return []
    columns = [
        _Cells(column, cells, section.frame[column.key].tolist())
        for column, cells in zip(section.columns, section.cells(), strict=True)
    ]
    least_bar = _LEAST_BAR if section.bar and (width is None or width >= _LEAST_WITH_BAR) else 0
    if width is not None:
        columns = _fit(columns, width - least_bar, section)
    lines = [
        (" " * GAP).join(cells).rstrip()
        for cells in zip(*(column.lines() for column in columns), strict=True)
    ]
    longest = max(map(cell_len, lines)) + GAP
    room = min(_WIDEST_BAR, (width or _WIDEST_WITH_BAR) - longest)
    if not least_bar or room < least_bar - GAP:
        return lines
    bars = [format_bar(share, room) for share in section.bars()]
    return [
        (_align_cell(line, longest, is_right=False) + bar).rstrip()
        for line, bar in zip(lines, ("", *bars), strict=True)
    ]


class _Cells:
    """A column of a table that is aligned: its heading and texts."""

    def __init__(self, column: Column, cells: Sequence[str], values: Sequence[object]) -> None:
        self.column, self._values = column, values
        self.texts = [printable(column.title), *cells]
        known = [value for value in values if not is_missing(value)]
        self.is_number = bool(known) and all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in known
        )
        self.width = max(map(cell_len, self.texts))
        # Numbers are not shortened.
        self.least = self.width if self.is_number else min(self.width, column.width or _NARROWEST)

    def shorten(self, width: int, shorten: Shorten) -> None:
        """Cut the texts to a width; names are given to `shorten` as in the file, others as they are shown."""
        heading, *texts = self.texts
        names = [
            value if isinstance(value, str) else text for text, value in zip(texts, self._values, strict=True)
        ]
        self.texts = [
            _fit_cell(heading, width, shorten_middle),
            *(_fit_cell(name, width, shorten) for name in names),
        ]
        self.width = max(map(cell_len, self.texts))

    def lines(self) -> list[str]:
        return [_align_cell(text, self.width, is_right=self.is_number) for text in self.texts]


def _fit(columns: list[_Cells], width: int, section: Section) -> list[_Cells]:
    """Leave out columns, the largest priority first, until the shortest texts fit; then share the room among the texts."""
    kept = list(columns)
    while sum(cells.least + GAP for cells in kept) - GAP > width and any(
        cells.column.priority for cells in kept
    ):
        kept.remove(max(reversed(kept), key=lambda cells: cells.column.priority))
    texts = sorted((cells for cells in kept if not cells.is_number), key=lambda cells: cells.column.priority)
    room = width + GAP - sum(cells.width + GAP for cells in kept if cells.is_number)
    for place, cells in enumerate(texts):  # those that matter most take what they need
        room -= GAP
        left = room - sum(other.least + GAP for other in texts[place + 1 :])
        if cells.width > left:
            cells.shorten(max(cells.least, left), section.shorten.get(cells.column.key, _cut))
        room -= cells.width
    return kept


def _cut(text: str, width: int) -> str:
    return shorten_middle(printable(text), width)


def _fit_cell(text: str, width: int, shorten: Shorten) -> str:
    """Return a text in a number of cells; East Asian letters take two."""
    letters = width
    while cell_len(shown := shorten(text, letters)) > width and letters > 1:
        letters -= 1
    return shown


def _align_cell(text: str, width: int, *, is_right: bool) -> str:
    blanks = " " * (width - cell_len(text))
    return blanks + text if is_right else text + blanks
