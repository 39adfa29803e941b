"""The engine in a few rows: a column of blocks per layer, or per group of neighbours, along the execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.events import Click
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from trex_tui.text import ELLIPSIS

BLOCKS = " ▁▂▃▄▅▆▇█"
_CURRENT, _PEAK = "●", "▲"


def draw_sparkline(values: Sequence[float], lowest: float, highest: float) -> str:
    """Return a block per value, between two values.

    >>> draw_sparkline([1.0, 1.5, 2.0], 1.0, 2.0)
    '▁▅█'
    """
    span = highest - lowest or 1.0
    return "".join(BLOCKS[1 + round(7 * min(1.0, max(0.0, (value - lowest) / span)))] for value in values)


class LayerStrip(Widget):
    """Numbers of the layers as columns from left to right; the current layer and one more are marked below."""

    DEFAULT_CSS = """
    LayerStrip { height: 5; padding: 0 1; background: $surface; color: $primary; }
    """

    @dataclass
    class Clicked(Message):
        """A click on the column of a layer."""

        layer: int

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._values: Sequence[float] = ()
        self._title = self._note = ""
        self._styles: Sequence[str] = ()
        self._current: int | None = None
        self._peak: int | None = None

    def show(
        self, values: Sequence[float], title: str, peak: int | None = None, styles: Sequence[str] = ()
    ) -> None:
        """Show a number per layer.

        Args:
            title: What the columns are, in the first line.
            peak: A layer that is marked.
            styles: Style of each layer; empty for the same.
        """
        self._values, self._title, self._peak, self._styles = values, title, peak, styles
        self.refresh()

    def mark(self, layer: int | None, note: str = "") -> None:
        """Mark the current layer; `note` stands at the right end of the first line."""
        self._current, self._note = layer, note
        self.refresh()

    def render_line(self, y: int) -> Strip:
        width, height = self.size
        if y == 0:
            return self._line(self._draw_title(width))
        if y == height - 1:
            return self._line(self._draw_axis(width))
        return self._line(self._draw_columns(width, height - 2, height - 2 - y))

    def _line(self, parts: Sequence[tuple[str, str]]) -> Strip:
        base = self.visual_style
        return Strip(
            [
                Segment(text, (base + Style.parse(style) if style else base).rich_style)
                for text, style in parts
            ]
        )

    def _draw_title(self, width: int) -> list[tuple[str, str]]:
        note = f"  {_CURRENT} {self._note}" if self._note else ""
        room = max(0, width - cell_len(note))
        title = (
            self._title if cell_len(self._title) <= room else set_cell_size(self._title, room - 1) + ELLIPSIS
        )
        return [(set_cell_size(title, room), "$foreground"), (note, "$current")]

    def _draw_axis(self, width: int) -> list[tuple[str, str]]:
        count = len(self._values)
        if not count or width <= 0:
            return [(" " * width, "")]
        last = str(count - 1)
        cells = [(" ", "$muted")] * width
        cells[0] = ("0", "$muted")
        cells[-len(last) :] = [(sign, "$muted") for sign in last]
        for layer, sign, style in ((self._peak, _PEAK, "$warning"), (self._current, _CURRENT, "$current")):
            if layer is not None:
                cells[self._middle_of(layer, width)] = (sign, style)
        return _join(cells)

    def _draw_columns(self, width: int, rows: int, below: int) -> list[tuple[str, str]]:
        """Draw a row of the columns, `below` rows above the axis."""
        top = max(self._values, default=0.0)
        cells = []
        for column in range(width if top > 0 else 0):
            layer = max(self._layers_at(column, width), key=self._values.__getitem__)
            eighths = max(1, round(8 * rows * self._values[layer] / top)) if self._values[layer] > 0 else 0
            is_current = self._current is not None and self._current in self._layers_at(column, width)
            style = "$current" if is_current else self._styles[layer] if self._styles else ""
            cells.append((BLOCKS[min(8, max(0, eighths - 8 * below))], style))
        return _join(cells or [(" ", "")] * width)

    def _layers_at(self, column: int, width: int) -> range:
        count = len(self._values)
        first = column * count // width
        return range(first, max(first + 1, (column + 1) * count // width))

    def _middle_of(self, layer: int, width: int) -> int:
        return min(width - 1, int((layer + 0.5) * width / len(self._values)))

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is not None and self._values:
            self.post_message(self.Clicked(self._layers_at(offset.x, self.size.width)[0]))


def _join(cells: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Join neighbours of one style."""
    parts: list[tuple[str, str]] = []
    for text, style in cells:
        if parts and parts[-1][1] == style:
            parts[-1] = (parts[-1][0] + text, style)
        else:
            parts.append((text, style))
    return parts
