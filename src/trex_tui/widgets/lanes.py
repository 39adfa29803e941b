"""The graph in the terminal: lanes beside a list of layers, and a layer between its neighbours.

Lanes are drawn as `git log --graph` draws history. A value that a later row reads has a lane, from the row of its layer
down to its last reader; a row is joined only to the lanes it reads from:

    ●         a
    ├─●       b reads a, which others read too
    │ ●       c reads b
    ●─┘       d reads c and a

In a graph wider than the room the values that would occupy a lane longest share the last one, which is drawn double (`║`).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from rich.cells import cell_len, set_cell_size
from textual.binding import BindingType
from textual.content import Content
from textual.events import Click, Resize
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual

from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_names
from trex_tui.frames import plain_values, total
from trex_tui.text import MISSING, format_ms
from trex_tui.widgets.actions import GRAPH, bindings
from trex_tui.widgets.theme import kind_style, precision_style

LAYER, ALONE, LOOP = "●", "○", "◉"
"""A layer; one without links to other rows; one at an end of a link from the previous iteration."""
_JOINTS = {
    ("left", False): "├", ("left", True): "└", ("middle", False): "┼",
    ("middle", True): "┴", ("right", False): "┤", ("right", True): "┘",
}  # fmt: skip
"""Position of a joint in the connection of a row, and whether the lane ends there -> sign."""


class Lanes(NamedTuple):
    """Text beside each row.

    Attributes:
        rows: `width` cells each.
        shared: Number of values that share the last lane; 0 if each has its own.
    """

    rows: list[str]
    width: int
    shared: int


class _Row(NamedTuple):
    """A row, with lanes as bits: that of its layer, those open from above, those it reads, those that end."""

    mark: str
    lane: int
    open: int
    read: int
    ended: int


def layer_lanes(engine: Engine, layers: Sequence[int], most: int) -> Lanes:
    """Return the lanes of some layers, in their order; links to other layers are left out.

    Args:
        most: Largest number of lanes, without the shared one.
    """
    position = {layer: row for row, layer in enumerate(layers)}
    links, loops = [], set()
    frame = engine.links
    for source, target, is_loop in zip(
        frame["source"].tolist(), frame["target"].tolist(), frame["is_loop"].tolist(), strict=True
    ):
        if source in position and target in position:
            ends = position[source], position[target]
            if is_loop or ends[0] >= ends[1]:
                loops |= {*ends}
            else:
                links.append(ends)
    return draw_lanes(len(layers), links, most, loops)


def draw_lanes(
    count: int, links: Iterable[tuple[int, int]], most: int, loops: Collection[int] = frozenset()
) -> Lanes:
    """Draw the links between `count` rows, each from a row to a lower one. Linear in rows and links.

    Args:
        loops: Rows to mark as ends of upward links, which are not drawn.

    >>> draw_lanes(3, [(0, 1), (0, 2), (1, 2)], 4).rows
    ['●  ', '├─●', '●─┘']
    """
    sources: list[set[int]] = [set() for _ in range(count)]
    last = list(range(count))
    for source, target in links:
        sources[target].add(source)
        last[source] = max(last[source], target)
    sharing = _without_own_lane(last, most)
    own_lanes = (1 << most) - 1
    lane_of = [0] * count
    opened = passing = 0
    rows: list[_Row] = []
    for row in range(count):
        read = ended = 0
        for source in sources[row]:
            bit = 1 << lane_of[source]
            read |= bit
            if last[source] == row:
                ended |= bit & own_lanes
                passing -= source in sharing
        if read >> most and not passing:
            ended |= 1 << most
        free = ended & own_lanes or ~opened & own_lanes
        lane = most if row in sharing or not free else (free & -free).bit_length() - 1
        mark = LOOP if row in loops else LAYER if read or last[row] > row else ALONE
        rows.append(_Row(mark, lane, opened, read, ended))
        lane_of[row] = lane
        opened &= ~ended
        if last[row] > row:
            opened |= 1 << lane
            passing += row in sharing
    lanes = max(((row.open | 1 << row.lane).bit_length() for row in rows), default=0)
    return Lanes([_draw_row(row, lanes, most) for row in rows], max(0, 2 * lanes - 1), len(sharing))


def _without_own_lane(last: Sequence[int], most: int) -> set[int]:
    """Return the smallest set of values that must share a lane, so that at most `most` others are open at once.

    Args:
        last: Last reader of each row's value; the row itself without readers.
    """
    sharing: set[int] = set()
    longest: list[tuple[int, int]] = []
    ending = [0] * len(last)
    opened = 0
    for row, end in enumerate(last):
        opened -= ending[row]
        if end == row:
            continue
        heapq.heappush(longest, (-end, -row))
        ending[end] += 1
        opened += 1
        if opened > most:
            end_of_longest, longest_row = heapq.heappop(longest)
            sharing.add(-longest_row)
            ending[-end_of_longest] -= 1
            opened -= 1
    return sharing


def _draw_row(row: _Row, lanes: int, most: int) -> str:
    ends = row.read | 1 << row.lane
    first, final = (ends & -ends).bit_length() - 1, ends.bit_length() - 1
    cells = []
    for lane in range(lanes):
        bit, is_shared = 1 << lane, lane == most
        if lane == row.lane:
            cell = row.mark
        elif row.read & bit:
            is_end = bool(row.ended & bit)
            side = "left" if lane == first else "right" if lane == final else "middle"
            cell = ("╜" if is_end else "╢") if is_shared else _JOINTS[side, is_end]
        elif row.open & bit:
            cell = "║" if is_shared else "│"
        else:
            cell = "─" if first < lane < final else " "
        cells += [cell, "─" if first <= lane < final else " "]
    return "".join(cells[:-1])


# A layer between its neighbours

_SLOT, _WIDEST, _WIDEST_MIDDLE, _BOX_HEIGHT = 26, 44, 60, 4
_CORNERS = {"layer": "┌─┐│└┘", "rest": "╭─╮│╰╯", "middle": "╔═╗║╚╝"}
_CONNECTIONS = {
    (True, True, False, False): "│", (True, True, True, True): "┼", (True, True, True, False): "┤",
    (True, True, False, True): "├", (True, False, True, True): "┴", (False, True, True, True): "┬",
    (True, False, True, False): "┘", (True, False, False, True): "└", (False, True, True, False): "┐",
    (False, True, False, True): "┌", (False, False, True, True): "─",
}  # fmt: skip
"""Whether a sign of a connection leads up, down, left, right -> the sign."""


class _Box(NamedTuple):
    """A box: one layer, or several for which there was no room; `level` is -1 for producers, 0, or 1."""

    layers: tuple[int, ...]
    level: int
    region: Region

    @property
    def center(self) -> int:
        return self.region.x + self.region.width // 2


_Put = Callable[[int, int, Content], None]


class Sandwich(ScrollView, can_focus=True):
    """Producers above a layer, consumers below; arrows go from box to box, Enter opens one."""

    DEFAULT_CSS = (
        "Sandwich { background: $surface; scrollbar-size-vertical: 1; overflow-x: hidden; padding: 0 1; }"
    )
    BINDINGS: ClassVar[list[BindingType]] = bindings(GRAPH)

    selected: reactive[int] = reactive(0, repaint=False, init=False)

    @dataclass
    class Opened(Message):
        """A box was opened: of one layer, or of several to choose from."""

        layers: tuple[int, ...]

    def __init__(self, engine: Engine, *, id: str | None = None, classes: str = "") -> None:  # noqa: A002
        super().__init__(id=id, classes=classes)
        self.engine = engine
        self.middle: int | None = None
        self._boxes: list[_Box] = []
        self._lines: list[Content] = []

    def show(self, layer: int | None) -> None:
        """Show the neighbours of a layer."""
        self.middle = layer
        self._start()

    def on_resize(self, _: Resize) -> None:
        self._start()

    def _start(self) -> None:
        """Place and draw the boxes; the cursor stands in the middle."""
        self._place()
        middle = next((number for number, box in enumerate(self._boxes) if box.level == 0), 0)
        self.set_reactive(Sandwich.selected, middle)
        self._draw()
        self._keep_in_view()

    def watch_selected(self) -> None:
        self._draw()
        self._keep_in_view()

    def _keep_in_view(self) -> None:
        if self._boxes:
            box = self._boxes[self.selected].region
            self.scroll_to_region(Region(0, box.y, 1, box.height), animate=False, center=True, x_axis=False)

    # Layout

    def _place(self) -> None:
        """Place the boxes for the width."""
        self._boxes = []
        width = self.scrollable_content_region.width
        if self.middle is None or width < _SLOT:
            return
        links = self.engine.links
        above = sorted(set(links.loc[links["target"].eq(self.middle), "source"].tolist()))
        below = sorted(set(links.loc[links["source"].eq(self.middle), "target"].tolist()))
        y = 0
        for level, layers in ((-1, above), (0, [self.middle]), (1, below)):
            groups = self._group(layers, width // _SLOT)
            for number, group in enumerate(groups):
                left, right = (place * width // len(groups) for place in (number, number + 1))
                cells = min(right - left - 2, _WIDEST if level else _WIDEST_MIDDLE)
                region = Region(left + (right - left - cells) // 2, y, cells, _BOX_HEIGHT)
                self._boxes.append(_Box(group, level, region))
            y += _BOX_HEIGHT + 1 if groups else 1

    def _group(self, layers: Sequence[int], slots: int) -> list[tuple[int, ...]]:
        """Return a box per layer; where there are too many the slowest have their own, the others share one."""
        if len(layers) <= slots:
            return [(layer,) for layer in layers]
        times = self.engine.layers["latency_ms"].fillna(0.0)
        slowest = sorted(layers, key=lambda layer: -times[layer])
        own, rest = slowest[: slots - 1], slowest[slots - 1 :]
        return [*((layer,) for layer in sorted(own)), tuple(sorted(rest))]

    # Drawing

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        pieces: dict[int, list[tuple[int, Content]]] = {}

        def put(x: int, y: int, text: Content) -> None:
            pieces.setdefault(y, []).append((x, text))

        middle = next((box for box in self._boxes if box.level == 0), None)
        if middle is not None:
            for level, words in ((-1, "no producers"), (1, "no consumers")):
                others = [box for box in self._boxes if box.level == level]
                line = middle.region.y - 1 if level < 0 else middle.region.bottom
                if others:
                    self._connect(put, line, middle, others, is_down=level > 0)
                else:
                    known = words if self.engine.inputs[self.middle or 0] else "connections unknown"
                    put(middle.center - len(known) // 2, line, Content.styled(known, "$muted"))
            for number, box in enumerate(self._boxes):
                self._draw_box(put, box, is_selected=number == self.selected)
        self._lines = []
        for y in range(max(pieces, default=-1) + 1):
            row = Content("")
            for x, piece in sorted(pieces.get(y, ()), key=lambda item: item[0]):
                row = row.pad_right(x - row.cell_length) + piece
            self._lines.append(row)
        self.virtual_size = Size(width, len(self._lines))
        self.refresh()

    def _connect(self, put: _Put, y: int, middle: _Box, others: Sequence[_Box], *, is_down: bool) -> None:
        centers = {box.center for box in others}
        first, last = min(middle.center, *centers), max(middle.center, *centers)
        text = ""
        for x in range(first, last + 1):
            ends = (x == middle.center, x in centers) if is_down else (x in centers, x == middle.center)
            text += _CONNECTIONS[(*ends, x > first, x < last)]
        put(first, y, Content.styled(text, "$muted"))

    def _draw_box(self, put: _Put, box: _Box, *, is_selected: bool) -> None:
        look = "middle" if box.level == 0 else "rest" if len(box.layers) > 1 else "layer"
        corners, region = _CORNERS[look], box.region
        style = "bold $accent" if is_selected else "$current" if look == "middle" else "$muted"
        top, bottom = list(corners[1] * (region.width - 2)), list(corners[1] * (region.width - 2))
        levels = {other.level for other in self._boxes}
        place = box.center - region.x - 1
        if box.level == 1 or (box.level == 0 and -1 in levels):
            top[place] = "▼"
        if box.level == -1 or (box.level == 0 and 1 in levels):
            bottom[place] = "╤" if look == "middle" else "┬"
        room = region.width - 4
        put(region.x, region.y, Content.styled(corners[0] + "".join(top) + corners[2], style))
        for number, text in enumerate(self._describe(box, room), start=1):
            inner = Content.styled(text.plain, "reverse") if is_selected else text
            side = Content.styled(corners[3], style)
            put(region.x, region.y + number, Content.assemble(side, " ", inner, " ", side))
        put(region.x, region.bottom - 1, Content.styled(corners[4] + "".join(bottom) + corners[5], style))

    def _describe(self, box: _Box, room: int) -> tuple[Content, Content]:
        """Return the two lines in a box: name; kind, precision and time."""
        times = self.engine.layers["latency_ms"].iloc[list(box.layers)]
        time = total(times)
        shown = MISSING if time is None else f"{format_ms(time)} ms"
        if len(box.layers) > 1:
            return Content.styled(set_cell_size(f"{len(box.layers)} more", room), "bold"), Content(
                shown.rjust(room)[:room]
            )
        layer = box.layers[0]
        row = {
            key: plain_values(self.engine.layers[key].iloc[[layer]])[0]
            for key in ("name", "kind", "precision")
        }
        name = f"{layer} {short_names(self.engine).fit(row['name'], max(1, room - len(str(layer)) - 1))}"
        precision = row["precision"] or "?"
        left = max(0, room - cell_len(precision) - cell_len(shown) - 2)
        facts = Content.assemble(
            (set_cell_size(row["kind"], left), kind_style(row["kind"])),
            " ",
            (precision, precision_style(precision)),
            f" {shown}",
        )
        return Content.styled(set_cell_size(name, room), "" if box.level else "bold"), facts

    def render_line(self, y: int) -> Strip:
        width, row = self.scrollable_content_region.width, self.scroll_offset.y + y
        if row >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        strips = Visual.to_strips(self, self._lines[row], width, 1, self.visual_style)
        return strips[0] if strips else Strip.blank(width, self.rich_style)

    # Moves

    def action_beside(self, step: int) -> None:
        """Go to the box beside."""
        self._go(lambda box, here: box.level == here.level and (box.center - here.center) * step > 0)

    def action_across(self, step: int) -> None:
        """Go to the box above or below."""
        self._go(lambda box, here: box.level == here.level + step)

    def _go(self, is_there: Callable[[_Box, _Box], bool]) -> None:
        if self._boxes:
            here = self._boxes[self.selected]
            there = [number for number, box in enumerate(self._boxes) if is_there(box, here)]
            self.selected = min(
                there, key=lambda n: abs(self._boxes[n].center - here.center), default=self.selected
            )

    def action_open(self) -> None:
        if self._boxes and self._boxes[self.selected].level:
            self.post_message(self.Opened(self._boxes[self.selected].layers))

    def on_click(self, event: Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        found = [
            n
            for n, box in enumerate(self._boxes)
            if box.region.contains(offset.x, self.scroll_offset.y + offset.y)
        ]
        if found:
            self.selected = found[0]
            self.action_open()
