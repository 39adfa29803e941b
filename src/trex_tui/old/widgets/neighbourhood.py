"""The neighbourhood of a layer drawn with boxes: producers above, the layer, consumers below. No line is wider than asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region
from textual.message import Message

from trex_tui.old.analysis.dataflow import (
    LEAST_DEPTH,
    MOST_DEPTH,
    Branch,
    Neighbour,
    Neighbourhood,
    Rest,
    fitted,
    neighbourhood,
)
from trex_tui.old.analysis.modules import label_in, module_path
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.colours import kind_style, precision_style
from trex_tui.old.text import MISSING, format_ms, printable
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.table_model import fit
from trex_tui.old.widgets.text_view import TextLine, TextView

SLOT = 23
"""Minimum cells for a box and the gap beside it."""
WIDEST, WIDEST_CENTRE = 44, 62
BOX_HEIGHT = 4
GAP = 2
REPEATED, LOOP = "=", "◉"
LEGEND = {
    REPEATED: f"{REPEATED} is also drawn elsewhere",
    LOOP: f"{LOOP} value of the previous iteration",
}
NOTHING_BEFORE = "no producers"
NOTHING_BEHIND = "no consumers"
NOTHING_KNOWN = "connections unknown"

_CORNERS = {"layer": "┌─┐│└┘", "rest": "╭─╮│╰╯", "centre": "╔═╗║╚╝"}
_LEAVING = {"layer": "┬", "rest": "┬", "centre": "╤"}
ARROW = "▼"
# Which of up, down, left, right a character of a connection leads to.
_CONNECTIONS = {
    (True, True, False, False): "│",
    (True, True, True, True): "┼",
    (True, True, True, False): "┤",
    (True, True, False, True): "├",
    (True, False, True, True): "┴",
    (False, True, True, True): "┬",
    (True, False, True, False): "┘",
    (True, False, False, True): "└",
    (False, True, True, False): "┐",
    (False, True, False, True): "┌",
    (False, False, True, True): "─",
}


@dataclass(frozen=True, slots=True)
class Box:
    """Position of a box.

    Attributes:
        shown: The layer in it, or those for which there was no room.
        level: Links from the layer in the middle: negative for producers, positive for consumers.
        centre: Column of its connections.
    """

    shown: Layer | Rest
    level: int
    region: Region
    centre: int
    marks: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn neighbourhood: its boxes from top to bottom and from left to right, and its lines."""

    boxes: tuple[Box, ...]
    lines: tuple[Content, ...]

    @property
    def middle(self) -> int:
        return next(number for number, box in enumerate(self.boxes) if box.level == 0)

    def box_at(self, x: int, y: int) -> int | None:
        return next((number for number, box in enumerate(self.boxes) if box.region.contains(x, y)), None)

    def step(self, number: int, down: int, right: int) -> int:
        """Return the box below or above another, the nearest of its level; or the one beside it."""
        here = self.boxes[number]
        if right:
            beside = [n for n, box in enumerate(self.boxes) if box.level == here.level]
            return beside[max(0, min(len(beside) - 1, beside.index(number) + right))]
        there = [n for n, box in enumerate(self.boxes) if box.level == here.level + down]
        return min(there, key=lambda n: abs(self.boxes[n].centre - here.centre), default=number)


def draw(
    around: Neighbourhood, width: int, selected: int | None = None, inside: Sequence[str] = ()
) -> Drawing:
    """Draw a neighbourhood into `width` cells.

    Args:
        selected: Which box is drawn as the one under the cursor.
        inside: Lines in the box of the middle, below its facts.
    """
    width = max(width, SLOT)
    above, below = fitted(around.producers, width // SLOT), fitted(around.consumers, width // SLOT)
    levels: dict[int, list[_Placed]] = {}
    _place(above, 0, width, 0, -1, levels)
    _place(below, 0, width, 0, 1, levels)
    levels[0] = levels[0][:1]
    order = sorted(levels)
    canvas = _Canvas(width)
    boxes: list[Box] = []
    is_known = around.layer.layer_type is not None
    if is_known and not around.producers.behind:
        canvas.sentence(NOTHING_BEFORE)
    for level in order:
        if level > 0:
            canvas.connect(_joined(levels, level), flows_to_child=True)
        top = canvas.height
        for placed in levels[level]:
            lines = inside if level == 0 else ()
            box = placed.box(top, len(lines))
            canvas.box(box, _leads(box, levels, around), lines, is_selected=len(boxes) == selected)
            boxes.append(box)
        if level < 0:
            canvas.connect(_joined(levels, level), flows_to_child=False)
    if not around.consumers.behind:
        canvas.sentence(NOTHING_BEHIND if is_known else NOTHING_KNOWN)
    for mark, words in LEGEND.items():
        if any(mark in box.marks for box in boxes):
            canvas.sentence(words)
    return Drawing(tuple(boxes), tuple(canvas.lines()))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A branch, the columns reserved for it, and the position of its parent's connections."""

    branch: Branch
    start: int
    end: int
    level: int
    parent: int

    @property
    def centre(self) -> int:
        return self.start + (self.end - self.start) // 2

    def box(self, top: int, inside: int = 0) -> Box:
        """Args: inside: Lines below the facts."""
        shown, marks = self.branch.shown, ""
        widest = WIDEST if self.level else WIDEST_CENTRE
        width = min(self.end - self.start - GAP, widest)
        region = Region(self.centre - width // 2, top, width, BOX_HEIGHT + inside)
        if isinstance(shown, Neighbour):
            marks = (LOOP if shown.is_loop else "") + (REPEATED if shown.is_repeated else "")
        return Box(
            shown.layer if isinstance(shown, Neighbour) else shown, self.level, region, self.centre, marks
        )


def _place(
    branch: Branch,
    start: int,
    end: int,
    level: int,
    side: int,
    levels: dict[int, list[_Placed]],
    parent: int = 0,
) -> None:
    placed = _Placed(branch, start, end, level, parent)
    levels.setdefault(level, []).append(placed)
    used = 0
    for child in branch.behind:
        left = start + used * (end - start) // branch.slots
        used += child.slots
        right = start + used * (end - start) // branch.slots
        _place(child, left, right, level + side, side, levels, placed.centre)


def _joined(levels: dict[int, list[_Placed]], level: int) -> list[tuple[int, list[int]]]:
    """Return the parents with children on a level, and the positions of these."""
    children: dict[int, list[int]] = {}
    for placed in levels[level]:
        children.setdefault(placed.parent, []).append(placed.centre)
    return sorted(children.items())


def _leads(box: Box, levels: dict[int, list[_Placed]], around: Neighbourhood) -> tuple[bool, bool]:
    """Return whether connections enter a box at its top, and leave it at its bottom."""
    if box.level == 0:
        return bool(around.producers.behind), bool(around.consumers.behind)
    beyond = levels.get(box.level + (1 if box.level > 0 else -1), [])
    has_behind = any(placed.parent == box.centre for placed in beyond)
    return (has_behind, True) if box.level < 0 else (True, has_behind)


class _Canvas:
    """Lines that grow downwards and are filled from left to right."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._lines: list[list[tuple[int, Content]]] = []

    @property
    def height(self) -> int:
        return len(self._lines)

    def _put(self, y: int, x: int, content: Content) -> None:
        while len(self._lines) <= y:
            self._lines.append([])
        self._lines[y].append((x, content))

    def lines(self) -> Iterable[Content]:
        for pieces in self._lines:
            line = Content("")
            for x, piece in pieces:
                line = line.pad_right(x - line.cell_length) + piece
            yield line.pad_right(self.width - line.cell_length)

    def sentence(self, text: str) -> None:
        text = fit(text, min(len(text), self.width))
        self._put(self.height, (self.width - len(text)) // 2, Content.styled(text, "$muted"))

    def connect(self, joined: Sequence[tuple[int, list[int]]], *, flows_to_child: bool) -> None:
        y = self.height
        for parent, children in joined:
            first, last = min([parent, *children]), max([parent, *children])
            text = ""
            for x in range(first, last + 1):
                ends = (x == parent, x in children) if flows_to_child else (x in children, x == parent)
                text += _CONNECTIONS[(*ends, x > first, x < last)]
            self._put(y, first, Content.styled(text, "$muted"))

    def box(self, box: Box, leads: tuple[bool, bool], inside: Sequence[str], *, is_selected: bool) -> None:
        look = "rest" if isinstance(box.shown, Rest) else "layer" if box.level else "centre"
        corners, region = _CORNERS[look], box.region
        style = "bold $accent" if is_selected else "$current" if look == "centre" else "$muted"
        port = box.centre - region.x - 1
        top = list(corners[1] * (region.width - 2))
        bottom = list(top)
        if leads[0]:
            top[port] = ARROW
        if leads[1]:
            bottom[port] = _LEAVING[look]
        self._put(region.y, region.x, Content.styled(corners[0] + "".join(top) + corners[2], style))
        room = region.width - 4
        below = [Content.styled(fit(line, room), "$muted") for line in inside]
        for offset, text in enumerate((*_box_text(box, room), *below), start=1):
            # The cursor's box is reversed too, so that it shows without colours.
            inner = Content.styled(text.plain, "reverse") if is_selected else text
            side = Content.styled(corners[3], style)
            self._put(region.y + offset, region.x, Content.assemble(side, " ", inner, " ", side))
        self._put(
            region.bottom - 1, region.x, Content.styled(corners[4] + "".join(bottom) + corners[5], style)
        )


def _box_text(box: Box, room: int) -> tuple[Content, Content]:
    shown = box.shown
    time = MISSING if shown.latency_ms is None else f"{format_ms(shown.latency_ms)} ms"
    if isinstance(shown, Rest):
        more = fit(f"+{len(shown.layers)} more", room)
        return Content.styled(more, "bold"), Content(fit(time, room, right=True))
    number = f"{box.marks} {shown.index} " if box.marks else f"{shown.index} "
    title = fit(number + _name(shown, room - len(number)), room, middle=True)
    precision = shown.precision.value if shown.precision else "?"
    left = room - len(precision) - len(time) - 2
    if left < len(shown.kind.value) and time.endswith(" ms"):
        # The unit goes before the kind is cut.
        time = time.removesuffix(" ms")
        left += 3
    facts = Content.assemble(
        (fit(shown.kind.value, max(0, left)), kind_style(shown.kind)),
        " ",
        (precision, precision_style(shown.precision)),
        " ",
        time,
    )
    return Content.styled(title, "bold" if not box.level else ""), facts.truncate(room)


def _name(layer: Layer, room: int) -> str:
    """Return the whole name if it fits, else its last module and operator."""
    if len(printable(layer.name)) <= room:
        return layer.name
    return label_in(layer, max(0, len(module_path(layer)) - 1))


@dataclass
class BoxOpened(Message):
    layer: Layer


@dataclass
class RestOpened(Message):
    """Request to choose among all neighbours on one side of a layer."""

    layer: Layer
    outgoing: bool


class NeighbourhoodView(TextView):
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
        drawing = self.drawing(width)
        if drawing is None:
            return [TextLine(Content.styled("Select a layer to see its neighbours.", "$muted"))]
        return [TextLine(line) for line in drawing.lines]

    def drawing(self, width: int) -> Drawing | None:
        if self.centre is None:
            return None
        key = (self.centre.index, self.depth, width, self.selected)
        if self._drawn is None or self._drawn[0] != key:
            around = neighbourhood(self.engine, self.centre, self.depth)
            self._drawn = (key, draw(around, width, self.selected, self._list_nodes(self.centre)))
        return self._drawn[1]

    def _list_nodes(self, layer: Layer) -> Sequence[str]:
        if self.engine.onnx is None:
            return ()
        from trex_tui.old.report.views.onnx_model import node_tree  # most engines have no model

        return node_tree(self.engine, layer)

    @property
    def current(self) -> Drawing | None:
        return self.drawing(self.text_width) if self.text_width > 0 else None

    def show(self, layer: Layer | None) -> None:
        if layer is not self.centre:
            self.centre = layer
            self._start_over()

    def on_resize(self) -> None:
        self._start_over()

    def on_show(self) -> None:
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
        drawing = self.current
        if drawing:
            self._select(drawing.step(self.selected, down, right))

    def action_to_end(self, direction: int) -> None:
        drawing = self.current
        if drawing:
            self._select(0 if direction < 0 else len(drawing.boxes) - 1)

    def go_deeper(self, step: int) -> None:
        depth = max(LEAST_DEPTH, min(MOST_DEPTH, self.depth + step))
        if depth != self.depth:
            self.depth = depth
            self._start_over()

    def action_open(self) -> None:
        """Go to the layer under the cursor; if several share a box, ask."""
        drawing = self.current
        if drawing is None:
            return
        box = drawing.boxes[self.selected]
        if isinstance(box.shown, Rest):
            self.post_message(RestOpened(box.shown.of, box.level > 0))
        elif box.level:
            self.post_message(BoxOpened(box.shown))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        drawing = self.current
        number = drawing.box_at(offset.x, self.scroll_offset.y + offset.y) if drawing and offset else None
        if number is not None:
            event.stop()
            self._select(number)
            self.action_open()
