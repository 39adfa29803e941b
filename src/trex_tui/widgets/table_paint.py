"""The header and the rows of a table as strips of styled segments.

Each strip is exactly as wide as asked. Neighbouring cells that look alike become one segment, which keeps
what Textual filters, crops and writes short.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from trex_tui.text import MISSING
from trex_tui.widgets.table_layout import GAP, MARGIN, PlacedColumn, bar, clean, fit
from trex_tui.widgets.table_model import Row, SortKey

MARK = "•"
_SUPERSCRIPTS = "¹²³⁴⁵⁶⁷⁸⁹"

Run = tuple[str, Style]


@dataclass(frozen=True, slots=True)
class Looks:
    """The styles of a table's parts, resolved for the current theme and focus."""

    row: Style
    cursor: Style
    header: Style
    header_sorted: Style
    header_current: Style
    bar: Style
    missing: Style
    mark: Style
    empty: Style


def row_strip(
    row: Row,
    placed: Sequence[PlacedColumn[Row]],
    width: int,
    looks: Looks,
    resolve: Callable[[str | Style], Style],
    *,
    is_cursor: bool,
    is_marked: bool,
) -> Strip:
    """Draw one row. On the cursor's row all cells look alike, so that they are readable on its background."""
    base = looks.cursor if is_cursor else looks.row
    runs: list[Run] = [(MARK if is_marked else " ", base if is_cursor else looks.mark)]
    for number, place in enumerate(placed):
        if number:
            runs.append((" " * GAP, base))
        runs.extend(_cell(row, place, base, None if is_cursor else looks, resolve))
    return _strip(runs, width, base)


def header_strip(
    placed: Sequence[PlacedColumn[Row]],
    width: int,
    looks: Looks,
    sort_keys: Sequence[SortKey],
    current: str | None,
) -> Strip:
    """Draw the titles, the sorted ones with an arrow, and with their rank where several columns sort."""
    runs: list[Run] = [(" " * MARGIN, looks.header)]
    for number, place in enumerate(placed):
        if number:
            runs.append((" " * GAP, looks.header))
        arrow = sort_arrow(place.column.key, sort_keys)
        style = looks.header_sorted if arrow else looks.header
        if place.column.key == current:
            style = looks.header_current
        runs.append((_title(place, arrow), style))
    return _strip(runs, width, looks.header)


def empty_strip(text: str, line: int, width: int, looks: Looks) -> Strip:
    """Draw line number `line` of the sentence that stands where rows would."""
    lines = textwrap.wrap(clean(text), max(1, width - 2 * MARGIN))
    content = " " * MARGIN + lines[line] if line < len(lines) else ""
    return _strip([(fit(content, width), looks.empty)], width, looks.empty)


def sort_arrow(key: str, sort_keys: Sequence[SortKey]) -> str:
    """`▲` where the column called `key` sorts ascending, `▼` descending; with its rank among several."""
    for rank, sort_key in enumerate(sort_keys):
        if sort_key.column == key:
            arrow = "▼" if sort_key.descending else "▲"
            return arrow + (_SUPERSCRIPTS[rank : rank + 1] if len(sort_keys) > 1 else "")
    return ""


def _cell(
    row: Row,
    place: PlacedColumn[Row],
    base: Style,
    looks: Looks | None,
    resolve: Callable[[str | Style], Style],
) -> Iterable[Run]:
    """The runs of one cell; without `looks` all of it is in the base style."""
    column = place.column
    text = column.cell_text(row)
    style = base
    if looks is not None:
        wanted = column.style(row) if column.style is not None else None
        if wanted is not None:
            style = base + resolve(wanted)
        elif text == MISSING:
            style = looks.missing
    if place.text_width:
        right = column.align == "right"
        middle = (column.flex or not right) and not column.keeps_head
        yield fit(text, place.text_width, right=right, middle=middle), style
    if place.bar_width and column.bar is not None:
        if place.text_width:
            yield " ", base
        yield bar(column.bar(row), place.bar_width), looks.bar if looks is not None else base


def _title(place: PlacedColumn[Row], arrow: str) -> str:
    """The title over its column: at the edge of the text if it fits there, otherwise over the bar as well."""
    title = clean(place.column.title)
    right = place.column.align == "right"
    label_width = cell_len(title) + len(arrow)
    room = place.text_width if label_width <= place.text_width else place.width
    if label_width > room:
        title = fit(title, max(0, room - len(arrow))).rstrip()
    elif arrow and label_width < room:
        arrow = f"{arrow} " if right else f" {arrow}"
    label = arrow + title if right else title + arrow
    return fit(fit(label, room, right=right and room == place.text_width), place.width)


def _strip(runs: Iterable[Run], width: int, base: Style) -> Strip:
    """Join runs that look alike, and pad or crop to `width`."""
    segments: list[Segment] = []
    texts: list[str] = []
    style = base
    for text, run_style in runs:
        if run_style is not style and run_style != style:
            if texts:
                segments.append(Segment("".join(texts), style))
            texts, style = [], run_style
        texts.append(text)
    segments.append(Segment("".join(texts), style))
    return Strip(segments).adjust_cell_length(width, base)
