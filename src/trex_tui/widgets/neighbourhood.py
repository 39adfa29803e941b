"""The neighbourhood of a layer to look at and to walk in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message

from trex_tui.actions import Place
from trex_tui.analysis.neighbourhood import LEAST_DEPTH, MOST_DEPTH, Rest, neighbourhood
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.line_view import LineView
from trex_tui.widgets.neighbourhood_boxes import Drawing, draw
from trex_tui.widgets.wrapped_lines import TextLine


@dataclass
class BoxOpened(Message):
    """A person wants to go to a layer."""

    layer: Layer


@dataclass
class RestOpened(Message):
    """A person wants to choose among all neighbours on one side of a layer."""

    layer: Layer
    outgoing: bool


class NeighbourhoodView(LineView):
    """Producers, the layer, consumers, with a cursor among their boxes.

    Attributes:
        centre: The layer in the middle; None where nothing is drawn.
        depth: Links to follow on each side.
        selected: Which of the boxes has the cursor.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_in(Place.NEIGHBOURHOOD),
        Binding("j,down", "step(1, 0)", show=False),
        Binding("k,up", "step(-1, 0)", show=False),
        Binding("g,home", "to_end(-1)", show=False),
        Binding("G,end", "to_end(1)", show=False),
        Binding("enter", "open", show=False),
    ]

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.engine = engine
        self.centre: Layer | None = None
        self.depth = LEAST_DEPTH
        self.selected = 0
        self._drawn: tuple[tuple[int, int, int, int], Drawing] | None = None

    def make_lines(self, width: int) -> list[TextLine]:
        """The drawing, or what it is waiting for."""
        drawing = self.drawing(width)
        if drawing is None:
            return [TextLine(Content.styled("A layer has neighbours; this is a group of them.", "$muted"))]
        return [TextLine(line) for line in drawing.lines]

    def drawing(self, width: int) -> Drawing | None:
        """What is drawn in so many cells."""
        if self.centre is None:
            return None
        key = (self.centre.index, self.depth, width, self.selected)
        if self._drawn is None or self._drawn[0] != key:
            around = neighbourhood(self.engine, self.centre, self.depth)
            self._drawn = (key, draw(around, width, self.selected))
        return self._drawn[1]

    @property
    def current(self) -> Drawing | None:
        """What is on screen."""
        return self.drawing(self.text_width) if self.text_width > 0 else None

    def show(self, layer: Layer | None) -> None:
        """Show a layer between its neighbours, the cursor on it."""
        if layer is not self.centre:
            self.centre = layer
            self._start_over()

    def on_resize(self) -> None:
        """What fits has changed."""
        self._start_over()

    def on_show(self) -> None:
        """Begin on the layer itself."""
        self._start_over()

    def _start_over(self) -> None:
        self.border_title = f"depth {self.depth} of {MOST_DEPTH}: < > · v details"
        self.selected = -1
        drawing = self.current
        self.selected = drawing.middle if drawing else 0
        self.renew()
        self._scroll_to_cursor(center=True)

    def _scroll_to_cursor(self, *, center: bool = False) -> None:
        drawing = self.current
        if drawing and 0 <= self.selected < len(drawing.boxes):
            box = drawing.boxes[self.selected].region
            region = Region(0, box.y, 1, box.height)
            self.scroll_to_region(region, animate=False, center=center, x_axis=False)

    def _select(self, number: int) -> None:
        self.selected = number
        self.renew()
        self._scroll_to_cursor()

    def action_step(self, down: int, right: int) -> None:
        """Go to the box beside, above or below."""
        drawing = self.current
        if drawing:
            self._select(drawing.step(self.selected, down, right))

    def action_to_end(self, direction: int) -> None:
        """Go to the first box, or to the last."""
        drawing = self.current
        if drawing:
            self._select(0 if direction < 0 else len(drawing.boxes) - 1)

    def go_deeper(self, step: int) -> None:
        """Follow one link more, or one less."""
        depth = max(LEAST_DEPTH, min(MOST_DEPTH, self.depth + step))
        if depth != self.depth:
            self.depth = depth
            self._start_over()

    def action_open(self) -> None:
        """Go to the layer under the cursor; where several are one box, choose among them."""
        drawing = self.current
        if drawing is None:
            return
        box = drawing.boxes[self.selected]
        if isinstance(box.shown, Rest):
            self.post_message(RestOpened(box.shown.of, box.level > 0))
        elif box.level:
            self.post_message(BoxOpened(box.shown))

    def on_click(self, event: events.Click) -> None:
        """Go to the layer that was clicked."""
        offset = event.get_content_offset(self)
        drawing = self.current
        number = drawing.box_at(offset.x, self.scroll_offset.y + offset.y) if drawing and offset else None
        if number is not None:
            event.stop()
            self._select(number)
            self.action_open()
