"""Bars in text: tables of a document, and a strip chart in execution order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.cells import cell_len
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from trex_tui.old.analysis.dla import total_by_device
from trex_tui.old.analysis.structure import total_by_kind, total_by_precision
from trex_tui.old.analysis.thresholds import Bound
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Device, Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.grid import Grid
from trex_tui.old.report.charts.sampling import column_span, index_at, largest_of_columns
from trex_tui.old.report.colours import kind_style, precision_style
from trex_tui.old.report.document import Table, number
from trex_tui.old.report.views.totals import by_bound, by_tensor_cores, totals_table
from trex_tui.old.text import format_bar, printable
from trex_tui.old.widgets.table_model import fit

GAP = 2
"""Gap between a figure and the text before it, in cells."""
LEAST_BAR, MOST_BAR = 4, 40
"""Width of a bar in cells: less is unreadable, more adds nothing."""
LONGEST_LABEL = 16
OF_ALL = "of all"
"""Heading of bars that are shares of a whole."""
_TRACK = "∙"


def bar_lines(tables: Sequence[Table], width: int) -> list[list[Content]]:
    """Return the lines of each table, its title first; figures and bars of all tables are aligned.

    The first column names a row, the one that has bars gives its bar, and `styles` are those of names and bars. In narrow
    terminals, the first figures are dropped first. A bar is a share of the whole, which dots complete; bars in tables,
    relative to the largest value, have none.
    """
    grids = [_texts(table) for table in tables]
    rows = [row for grid in grids for row in grid]
    label = min(max((cell_len(row[0]) for row in rows), default=0), LONGEST_LABEL)
    count = max(map(len, rows), default=1)
    widths = [max(cell_len(row[index]) for row in rows if index < len(row)) for index in range(1, count)]
    while len(widths) > 1 and label + _room(widths) + GAP + LEAST_BAR > width:
        del widths[0]
    length = max(0, min(width - label - _room(widths) - GAP, MOST_BAR))
    dropped = count - len(widths)
    bar_title = " " * GAP + OF_ALL if length >= len(OF_ALL) else ""

    def line(row: list[str], label_style: str, style: str) -> Content:
        cells = zip(row[dropped:], widths, strict=False)
        figures = "".join(" " * GAP + fit(cell, width, right=True) for cell, width in cells)
        return Content.assemble((fit(row[0], label, middle=True), label_style), (figures, style))

    return [
        [
            Content.assemble(
                line(head, "bold $primary", "$muted"), (bar_title if table.rows else "", "$muted")
            ),
            *(
                Content.assemble(line(row, style, ""), " " * GAP, *_share_bar(fraction, length, style))
                if length
                else line(row, style, "")
                for row, style, fraction in zip(grid, table.styles, _fractions(table), strict=True)
            ),
        ]
        for table, (head, *grid) in zip(tables, grids, strict=True)
    ]


def _texts(table: Table) -> list[list[str]]:
    titles = [column.title for column in table.columns[1:]] if table.rows else []
    cells = [table.texts(index) for index in range(len(table.columns))]
    return [[table.title, *titles], *map(list, zip(*cells, strict=True))]


def _fractions(table: Table) -> list[float | None]:
    bar_index = next(index for index, column in enumerate(table.columns) if column.has_bar)
    values = [number(row[bar_index]) for row in table.rows]
    whole = 100.0 if table.columns[bar_index].key.endswith("_pct") else sum(value or 0.0 for value in values)
    return [value / whole if value is not None and whole else None for value in values]


def _share_bar(fraction: float | None, length: int, style: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return a bar, and dots from its end to the full width."""
    bar = format_bar(fraction, length)
    return (bar, style), (_TRACK * (length - len(bar)) if fraction is not None else "", "$muted")


def _room(widths: Sequence[int]) -> int:
    return sum(width + GAP for width in widths)


_BOUNDS = {
    Bound.COMPUTE.value: "$success",
    Bound.BANDWIDTH.value: "$secondary",
    Bound.LATENCY.value: "$accent",
    Bound.LAUNCH.value: "$warning",
}
_PRECISION_STYLES = {data_type.value: precision_style(data_type) for data_type in DataType}
_DEVICES = {Device.GPU.value: "$success", Device.DLA.value: "$accent"}
_TENSOR_CORES = {"yes": "$success", "no": "$warning"}


def find_kind_style(name: str) -> str:
    return kind_style(LayerKind(name))


def find_precision_style(name: str) -> str:
    """Return the style of a precision; `unknown` is one too."""
    return _PRECISION_STYLES.get(name, "$muted")


def share_tables(engine: Engine, layers: Sequence[Layer]) -> list[Table]:
    """Return the time by kind and precision of some layers; with a DLA, also by device."""
    kinds = totals_table("by_kind", "Kind", total_by_kind(engine, layers))
    precisions = totals_table("by_precision", "Precision", total_by_precision(engine, layers))
    tables = [_drawn(engine, kinds, find_kind_style), _drawn(engine, precisions, find_precision_style)]
    if devices := total_by_device(engine, layers):
        tables.append(_drawn(engine, totals_table("by_device", "Device", devices), _style_in(_DEVICES)))
    return tables


def computed_share_tables(engine: Engine, layers: Sequence[Layer]) -> list[Table]:
    """Return the time by bound and tensor cores; computes the products of all layers if necessary."""
    bounds, cores = by_bound(engine, layers), by_tensor_cores(engine, layers)
    known_bounds = bounds if any(total.key in _BOUNDS for total in bounds) else []
    tables = [_drawn(engine, totals_table("by_bound", "Bound", known_bounds, "Bound by"), _style_in(_BOUNDS))]
    if any(total.key in _TENSOR_CORES for total in cores):
        table = totals_table("by_tensor_cores", "Tensor cores", cores, "Tensor cores")
        tables.append(_drawn(engine, table, _style_in(_TENSOR_CORES)))
    return tables


def _style_in(styles: dict[str, str]) -> Callable[[str], str]:
    return lambda key: styles.get(key, "$muted")


def _drawn(engine: Engine, table: Table, style_of: Callable[[str], str]) -> Table:
    """Return a table in terminal colours; without a profile, with bars for the numbers of layers."""
    name, layers, *times = table.columns
    shown = [name, replace(layers, title="n", has_bar=not engine.has_profile)]
    shown += (
        [replace(time, has_bar=time.key == "latency_pct") for time in times] if engine.has_profile else []
    )
    rows = [row[: len(shown)] for row in table.rows]
    return replace(table, columns=shown, rows=rows, styles=[style_of(row[0]) for row in table.rows])


PEAK, HERE, BOTH = "▲", "●", "◆"


def draw_bars(values: Sequence[int], width: int, height: int) -> Grid:
    """Draw bars above an empty row for the marks and the axis. Columns shared by several values show the largest."""
    from trex_tui.old.report.charts.cells import draw_columns  # 6 ms, and the first frame has no chart

    count, top, below = len(values), max(values) or 1, height - 1
    is_crowded = count > width
    shown = (
        largest_of_columns(values, width) if is_crowded else [index_at(x, count, width) for x in range(width)]
    )
    grid = Grid(width, height)
    heights = [values[index] / top for index in shown]
    draw_columns(grid.part(0, 0, width, below), heights, ["$primary"] * width)
    return grid


def draw_marks(bars: Grid, count: int, *, peak: int | None = None, here: int | None = None) -> Grid:
    """Return the bars of `count` values with two values marked by colour and in the last row; `bars` stays unchanged.

    The last row also has the first and the last index, unless a mark is at their position.
    """
    grid, below = bars.copy(), bars.height - 1
    marked: set[int] = set()
    for index, sign, style in ((peak, PEAK, "$warning"), (here, HERE, "$current")):
        if index is not None:
            start, end = column_span(index, count, bars.width)
            for row in range(below):
                grid.restyle(start, row, style, end - start)
            column = (start + end - 1) // 2
            grid.put(column, below, BOTH if column in marked else sign, style)
            marked.add(column)
    first, last = "0", str(count - 1)
    if bars.width > len(last):
        for text, columns in ((first, range(bars.width)), (last, range(bars.width - len(last), 0, -1))):
            place = next((x for x in columns if marked.isdisjoint(range(x, x + len(text)))), None)
            if place is not None:
                grid.put(place, below, text, "$muted")
                marked.update(range(place - 1, place + len(text) + 1))
    return grid


@dataclass
class StripClicked(Message):
    """Click on the chart; `index` is the first value there."""

    index: int


class StripChart(Widget):
    """The chart, with a line of text above and the marks below."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    StripChart { height: 5; padding: 0 1; background: $surface; }
    """

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._values: Sequence[int] = ()
        self._title, self._words = "", ""
        self._peak: int | None = None
        self._here: int | None = None
        self._bars: Grid | None = None

    def show(self, values: Sequence[int], title: str, peak: int | None) -> None:
        """Replace the values; without values only the title is shown."""
        self._values, self._title, self._peak, self._bars = values, title, peak, None
        self.refresh()

    def mark(self, here: int | None, words: str) -> None:
        if (here, words) != (self._here, self._words):
            self._here, self._words = here, words
            self.refresh()

    def render(self) -> RenderResult:
        width, height = self.content_size
        lines = [self._heading(width)]
        if self._values and height > 2 and width > 0:
            if self._bars is None or (self._bars.width, self._bars.height) != (width, height - 1):
                self._bars = draw_bars(self._values, width, height - 1)
            grid = draw_marks(self._bars, len(self._values), peak=self._peak, here=self._here)
            lines += [Content.assemble(*line) for line in grid.lines()]
        return Content("\n").join(lines)

    def _heading(self, width: int) -> Content:
        peak = f"{PEAK} " if self._peak is not None else ""
        left = Content.assemble((peak, "$warning"), printable(self._title))
        right = (
            Content.assemble((f"{HERE} ", "$current"), printable(self._words)) if self._words else Content("")
        )
        gap = width - left.cell_length - right.cell_length
        if gap < 2:
            return left.truncate(width, ellipsis=True)
        return Content.assemble(left, " " * gap, right)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self._values and offset.y > 0:
            event.stop()
            self.post_message(StripClicked(index_at(offset.x, len(self._values), self.content_size.width)))
