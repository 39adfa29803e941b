"""Dataflow around layers: lanes beside a list of layers, and the neighbourhood of one layer.

Lanes are drawn as `git log --graph` draws history. Each value that a later row reads has a lane, from the row of its layer
down to its last reader; below that the lane is free again. A row is joined only to the lanes it reads from:

    ●         a
    ├─●       b reads a, which others read too
    │ ●       c reads b
    ●─┘       d reads c and a
    ├─●       e reads d
    ├─│─●     f reads d, and passes behind the lane of e

If a graph is wider than the available space, the values that would occupy a lane longest share the last lane, drawn double
(`║`), in which values are not distinguished.

A neighbourhood has the producers of a layer on one side and its consumers on the other, a few links deep. Both sides are
trees, so that each link is drawn once and no two cross: a layer that is reached in two ways appears in both places, and is
only expanded where it is nearest.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import field

from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer, Link
from trex_tui.old.lazy_dataclass import dataclass

LAYER, ALONE, LOOP = "●", "○", "◉"
"""A layer; a layer without links to other rows; a layer at either end of a link from the previous iteration."""
PASSING, SHARED = "│", "║"
JOINTS = {
    # Position of the joint in the connection, and whether the lane ends there.
    ("left", False): "├",
    ("left", True): "└",
    ("middle", False): "┼",
    ("middle", True): "┴",
    ("right", False): "┤",
    ("right", True): "┘",
}
SHARED_JOINTS = {False: "╢", True: "╜"}


@dataclass(frozen=True, slots=True)
class Lanes:
    """Text beside each row.

    Attributes:
        rows: `width` characters each, all of them one cell wide.
        width: Cells.
        shared: Number of values that share the last lane; 0 if every connection is drawn separately.
    """

    rows: tuple[str, ...]
    width: int
    shared: int


@dataclass(frozen=True, slots=True)
class _Row:
    """Content of a row, with lanes as bits: equal rows are drawn once.

    Attributes:
        mark: Symbol of its layer.
        lane: Lane of the layer.
        open: Lanes from above.
        read: Lanes among them that it reads.
        ended: Lanes among them that end here.
    """

    mark: str
    lane: int
    open: int
    read: int
    ended: int


def layer_lanes(engine: Engine, layers: Sequence[Layer], most: int) -> Lanes:
    """Return the lanes of some layers of an engine, in their order; links to other layers are left out.

    Args:
        most: Largest number of lanes, without the shared one.
    """
    position = {layer.index: row for row, layer in enumerate(layers)}
    links: list[tuple[int, int]] = []
    loops: set[int] = set()
    for link in engine.links:
        source, target = position.get(link.source), position.get(link.target)
        if source is None or target is None:
            continue
        if link.is_loop or source >= target:
            loops |= {source, target}
        else:
            links.append((source, target))
    return draw_lanes(len(layers), links, most, loops)


@per_engine
def whole_lanes(engine: Engine, most: int) -> Lanes:
    """Return the lanes of all layers, as `layer_lanes`; cached, since a tenth of a second is too long for a key press."""
    return layer_lanes(engine, engine.layers, most)


def draw_lanes(
    count: int, links: Iterable[tuple[int, int]], most: int, loops: Collection[int] = frozenset()
) -> Lanes:
    """Draw the links between `count` rows, each from a row to a lower one. Linear in rows and links.

    Args:
        loops: Rows to mark as ends of upward links, which are not drawn.
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
    return _drawn(rows, most, len(sharing))


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


def _drawn(rows: Sequence[_Row], most: int, shared: int) -> Lanes:
    lanes = max(((row.open | 1 << row.lane).bit_length() for row in rows), default=0)
    drawings: dict[_Row, str] = {}
    texts = []
    for row in rows:
        text = drawings.get(row)
        if text is None:
            text = drawings[row] = _draw(row, lanes, most)
        texts.append(text)
    return Lanes(tuple(texts), max(0, 2 * lanes - 1), shared)


def _draw(row: _Row, lanes: int, most: int) -> str:
    ends = row.read | 1 << row.lane
    first, final = (ends & -ends).bit_length() - 1, ends.bit_length() - 1
    cells = []
    for lane in range(lanes):
        bit = 1 << lane
        if lane == row.lane:
            cell = row.mark
        elif row.read & bit:
            is_end = bool(row.ended & bit)
            side = "left" if lane == first else "right" if lane == final else "middle"
            cell = SHARED_JOINTS[is_end] if lane == most else JOINTS[side, is_end]
        elif row.open & bit:
            cell = SHARED if lane == most else PASSING
        else:
            cell = "─" if first < lane < final else " "
        cells += [cell, "─" if first <= lane < final else " "]
    return "".join(cells[:-1])


LEAST_DEPTH, MOST_DEPTH = 1, 3


@dataclass(slots=True)
class Neighbour:
    """A layer, and those behind it: its producers on the side of the producers, its consumers on the other.

    Attributes:
        tensors: Names of the tensors that link it to the layer in front of it.
        is_loop: They are from the previous iteration.
        is_repeated: It also appears elsewhere, nearer or further left, and is expanded there.
        behind: In execution order.
    """

    layer: Layer
    tensors: tuple[str, ...] = ()
    is_loop: bool = False
    is_repeated: bool = False
    behind: list[Neighbour] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A layer between its producers and its consumers; both trees have the layer itself as root."""

    layer: Layer
    producers: Neighbour
    consumers: Neighbour
    depth: int


def list_producers(engine: Engine, layer: Layer) -> list[Neighbour]:
    """Return the layers that write a layer's inputs, each once, in execution order."""
    return _neighbours(engine, engine.producers(layer), lambda link: link.source)


def list_consumers(engine: Engine, layer: Layer) -> list[Neighbour]:
    """Return the layers that read a layer's outputs, each once, in execution order."""
    return _neighbours(engine, engine.consumers(layer), lambda link: link.target)


def _neighbours(engine: Engine, links: Iterable[Link], other_end: Callable[[Link], int]) -> list[Neighbour]:
    links_by_layer: dict[int, list[Link]] = {}
    for link in links:
        links_by_layer.setdefault(other_end(link), []).append(link)
    return [
        Neighbour(
            engine.layers[index],
            tuple(dict.fromkeys(link.tensor for link in links_by_layer[index])),
            all(link.is_loop for link in links_by_layer[index]),
        )
        for index in sorted(links_by_layer)
    ]


def neighbourhood(engine: Engine, layer: Layer, depth: int) -> Neighbourhood:
    """Return the layers up to `depth` links away from a layer."""
    return Neighbourhood(
        layer, _tree(engine, layer, depth, list_producers), _tree(engine, layer, depth, list_consumers), depth
    )


def _tree(
    engine: Engine, layer: Layer, depth: int, behind: Callable[[Engine, Layer], list[Neighbour]]
) -> Neighbour:
    root = Neighbour(layer)
    seen = {layer.index}
    level = [root]
    for _ in range(depth):
        beyond: list[Neighbour] = []
        for neighbour in level:
            neighbour.behind = behind(engine, neighbour.layer)
            for other in neighbour.behind:
                other.is_repeated = other.layer.index in seen
                seen.add(other.layer.index)
                if not other.is_repeated:
                    beyond.append(other)
        level = beyond
    return root


@dataclass(frozen=True, slots=True)
class Rest:
    """Neighbours that do not fit.

    Attributes:
        of: The layer they belong to.
        latency_ms: Sum of their times; None if none of them was profiled.
    """

    of: Layer
    layers: tuple[Layer, ...]
    latency_ms: float | None


@dataclass(frozen=True, slots=True)
class Branch:
    """Drawn part of a neighbour: the layer and, in `slots` boxes side by side, the layers behind it."""

    shown: Neighbour | Rest
    slots: int
    behind: tuple[Branch, ...] = ()


def fitted(root: Neighbour, slots: int) -> Branch:
    """Reduce neighbours to at most this many boxes: the slowest stay, the others become a `Rest`.

    Near layers have priority over far ones: layers behind a layer get a box only if all its siblings have theirs.
    """
    return _fitted(root, max(1, slots))


def _fitted(neighbour: Neighbour, slots: int) -> Branch:
    kept, rest = list(neighbour.behind), None
    if len(kept) > slots:
        slowest = sorted(kept, key=lambda other: -(other.layer.latency_ms or 0.0))
        kept = sorted(slowest[: slots - 1], key=lambda other: other.layer.index)
        others = [other.layer for other in slowest[slots - 1 :]]
        ordered = tuple(sorted(others, key=lambda layer: layer.index))
        rest = Branch(Rest(neighbour.layer, ordered, sum_latency_ms(ordered)), 1)
    room = _shared_out([_wanted(other) for other in kept], slots - (1 if rest else 0))
    branches = [_fitted(other, share) for other, share in zip(kept, room, strict=True)]
    if rest:
        branches.append(rest)
    return Branch(neighbour, max(1, sum(branch.slots for branch in branches)), tuple(branches))


def _wanted(neighbour: Neighbour) -> int:
    """Return the number of boxes that would show everything behind."""
    return max(1, sum(map(_wanted, neighbour.behind)))


def _shared_out(wanted: Sequence[int], slots: int) -> list[int]:
    """Give each neighbour a box, then further boxes in turn to those that need more."""
    given = [1] * len(wanted)
    left = slots - len(wanted)
    while left > 0:
        hungry = [index for index, want in enumerate(wanted) if given[index] < want]
        if not hungry:
            break
        for position in hungry[:left]:
            given[position] += 1
        left -= len(hungry[:left])
    return given
