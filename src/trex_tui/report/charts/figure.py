"""What a chart is made of, and how it is laid out: title, plot, and sentences with the numbers behind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.report.charts.grid import Grid, Line, Part, Span, cells_of, shorten
from trex_tui.text import is_number_with_unit, printable

HERE = "●"
HERE_STYLE = "bold $accent"
TITLE_STYLE = "bold $primary"
WARNING = "$warning"
NO_PROFILE = (
    "No profile in this set: the times of the layers are unknown. `trtexec --exportProfile` makes one."
)
NO_LAYER = "No layer matches the filter."

_LEAST_PLOT = (20, 6)
"""In fewer columns or rows, words tell more."""


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles of what has a colour throughout the program, as theme tokens."""

    kind: Callable[[LayerKind], str]
    precision: Callable[[DataType | None], str]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """What a chart is about.

    Attributes:
        layers: Those that a filter left, in execution order.
        is_filtered: Whether there is a filter.
        current: The current layer, whether the filter leaves it or not.
        axes: Which two of `m`, `n` and `k` a chart of products shows.
    """

    engine: Engine
    layers: Sequence[Layer]
    palette: Palette
    is_filtered: bool = False
    current: Layer | None = None
    axes: tuple[str, str] = ("m", "n")

    @property
    def shown_current(self) -> Layer | None:
        """The current layer, unless the filter hides it."""
        current = self.current
        return current if current is not None and any(one is current for one in self.layers) else None


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart before it has a size.

    Attributes:
        words: Sentences below it: what it shows, and the numbers behind.
        missing: Sentences on what it does not show, and why.
        paint: Draws it; None where there is nothing to draw.
        marks_layer: Whether it marks the current layer.
        data: What `paint` draws, for those who draw it elsewhere; None where there is nothing to draw.
    """

    words: tuple[str, ...]
    missing: tuple[str, ...] = ()
    paint: Callable[[Part], None] | None = None
    marks_layer: bool = True
    data: object | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """An entry of the catalogue.

    Attributes:
        id: Stable name.
        title: A few words.
        help: What it answers, in a sentence.
        make: Makes it for a subject and a number of columns.
        has_axes: Whether it follows `Subject.axes`.
    """

    id: str
    title: str
    help: str
    make: Callable[[Subject, int], Figure]
    has_axes: bool = False


def draw(chart: Chart, subject: Subject, width: int, height: int) -> tuple[Line, ...]:
    """The chart in exactly `height` lines of exactly `width` cells."""
    figure = chart.make(subject, width)
    grid = Grid(width, height)
    _draw_title(grid, chart.title, subject if figure.marks_layer and figure.paint else None)
    words = [(printable(text), "") for text in figure.words] + [
        (printable(text), WARNING) for text in figure.missing
    ]
    lines = [Span(part, style) for text, style in words for part in wrapped(text, width)]
    rows = height - 1 - min(len(lines), max(2, height // 3))
    if figure.paint is None or width < _LEAST_PLOT[0] or rows < _LEAST_PLOT[1]:
        _draw_words(grid, lines, 2 if height > len(lines) + 2 else 1)
        return grid.lines()
    figure.paint(grid.part(0, 1, width, rows))
    _draw_words(grid, lines, rows + 1)
    return grid.lines()


def _draw_title(grid: Grid, title: str, subject: Subject | None) -> None:
    grid.put(0, 0, shorten(title, grid.width), TITLE_STYLE)
    if subject is None or subject.current is None:
        return
    layer = subject.current
    hidden = "" if subject.shown_current else ", which the filter hides"
    room = grid.width - len(cells_of(title)) - 3
    start = f"{HERE} layer {layer.index}"
    name = f"{start}  {shorten(layer.name, room - len(start) - len(hidden) - 2)}{hidden}"
    shown = name if room > len(start) + len(hidden) + 12 else start
    if room >= len(start):
        grid.put(grid.width - len(cells_of(shown)), 0, shown, HERE_STYLE)


def _draw_words(grid: Grid, lines: Sequence[Span], first: int) -> None:
    """The sentences from a row on; an ellipsis where they are more than there is room for."""
    for row, line in enumerate(lines[: grid.height - first], start=first):
        is_cut = row == grid.height - 1 and row - first + 1 < len(lines)
        text = line.text[: grid.width - 2].rstrip() + " …" if is_cut else line.text
        grid.put(0, row, text, line.style)


def as_sentence(text: str) -> str:
    """With a capital at the beginning and a full stop at the end."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"


def wrapped(text: str, width: int) -> list[str]:
    """Text in lines of at most `width` cells, broken between words, but not between a number and its unit; words longer
    than a line are broken as well."""
    lines: list[str] = []
    line, used = "", 0
    for word in _pieces(text):
        cells = cells_of(word)
        if line and used + 1 + len(cells) > width:
            lines.append(line)
            line, used = "", 0
        while len(cells) > width > 1:
            lines.append("".join(cells[:width]))
            cells = cells[width:]
        line, used = (
            (f"{line} {''.join(cells)}", used + 1 + len(cells)) if line else ("".join(cells), len(cells))
        )
    return [*lines, line] if line else lines


def _pieces(text: str) -> list[str]:
    """The words, each number together with its unit."""
    pieces: list[str] = []
    for word in text.split(" "):
        if pieces and is_number_with_unit(pieces[-1], word):
            pieces[-1] += f" {word}"
        else:
            pieces.append(word)
    return pieces
