"""What feeds a layer and what it feeds, a few steps far: the sandwich of producers, the layer, consumers.

Both sides are trees, so that each link is drawn once and no two cross: a layer that is reached in two ways stands in both
places, and what is behind it is followed only where it is nearest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.engine.engine import Engine
from trex_tui.engine.links import Link
from trex_tui.engine.model import Layer

LEAST_DEPTH, MOST_DEPTH = 1, 3


@dataclass(slots=True)
class Neighbour:
    """A layer, and those behind it: its producers on the side of the producers, its consumers on the other.

    Attributes:
        tensors: Names of the tensors that join it to the layer it stands at.
        is_loop: They are of the iteration before.
        is_repeated: It stands elsewhere too, nearer or further left; what is behind it is shown there.
        behind: In execution order.
    """

    layer: Layer
    tensors: tuple[str, ...] = ()
    is_loop: bool = False
    is_repeated: bool = False
    behind: list[Neighbour] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """A layer between its producers and its consumers; both have the layer itself as their root."""

    layer: Layer
    producers: Neighbour
    consumers: Neighbour
    depth: int


def producers_of(engine: Engine, layer: Layer) -> list[Neighbour]:
    """The layers that write what a layer reads, each once, in execution order."""
    return _neighbours(engine, engine.producers(layer), lambda link: link.source)


def consumers_of(engine: Engine, layer: Layer) -> list[Neighbour]:
    """The layers that read what a layer writes, each once, in execution order."""
    return _neighbours(engine, engine.consumers(layer), lambda link: link.target)


def _neighbours(engine: Engine, links: Iterable[Link], other_end: Callable[[Link], int]) -> list[Neighbour]:
    found: dict[int, list[Link]] = {}
    for link in links:
        found.setdefault(other_end(link), []).append(link)
    return [
        Neighbour(
            engine.layers[index],
            tuple(dict.fromkeys(link.tensor for link in found[index])),
            all(link.is_loop for link in found[index]),
        )
        for index in sorted(found)
    ]


def neighbourhood(engine: Engine, layer: Layer, depth: int) -> Neighbourhood:
    """The layers up to `depth` links away from a layer."""
    return Neighbourhood(
        layer, _tree(engine, layer, depth, producers_of), _tree(engine, layer, depth, consumers_of), depth
    )


def _tree(
    engine: Engine, layer: Layer, depth: int, behind: Callable[[Engine, Layer], list[Neighbour]]
) -> Neighbour:
    root = Neighbour(layer)
    seen = {layer.index}
    level = [root]
    for _ in range(depth):
        beyond: list[Neighbour] = []
        for one in level:
            one.behind = behind(engine, one.layer)
            for other in one.behind:
                other.is_repeated = other.layer.index in seen
                seen.add(other.layer.index)
                if not other.is_repeated:
                    beyond.append(other)
        level = beyond
    return root


@dataclass(frozen=True, slots=True)
class Rest:
    """Neighbours for which there is no room.

    Attributes:
        of: The layer they belong to.
        latency_ms: Sum of their times; None if none of them was profiled.
    """

    of: Layer
    layers: tuple[Layer, ...]
    latency_ms: float | None


@dataclass(frozen=True, slots=True)
class Branch:
    """What is drawn of a neighbour: itself, and in `slots` places beside each other what is behind it."""

    shown: Neighbour | Rest
    slots: int
    behind: tuple[Branch, ...] = ()


def fitted(root: Neighbour, slots: int) -> Branch:
    """What fits beside each other in so many places; the slowest stay, the others become a `Rest`.

    Near layers go before far ones: a place goes to what is behind a layer only when all its siblings have theirs.
    """
    return _fitted(root, max(1, slots))


def _fitted(one: Neighbour, slots: int) -> Branch:
    kept, rest = list(one.behind), None
    if len(kept) > slots:
        slowest = sorted(kept, key=lambda other: -(other.layer.latency_ms or 0.0))
        kept = sorted(slowest[: slots - 1], key=lambda other: other.layer.index)
        others = [other.layer for other in slowest[slots - 1 :]]
        ordered = tuple(sorted(others, key=lambda layer: layer.index))
        rest = Branch(Rest(one.layer, ordered, sum_latency_ms(ordered)), 1)
    room = _shared_out([_wanted(other) for other in kept], slots - (1 if rest else 0))
    branches = [_fitted(other, share) for other, share in zip(kept, room, strict=True)]
    if rest:
        branches.append(rest)
    return Branch(one, max(1, sum(branch.slots for branch in branches)), tuple(branches))


def _wanted(one: Neighbour) -> int:
    """Places that would show all that is behind."""
    return max(1, sum(map(_wanted, one.behind)))


def _shared_out(wanted: Sequence[int], slots: int) -> list[int]:
    """One place for each, then one more in turn to those that want more."""
    given = [1] * len(wanted)
    left = slots - len(wanted)
    while left > 0:
        hungry = [place for place, want in enumerate(wanted) if given[place] < want]
        if not hungry:
            break
        for place in hungry[:left]:
            given[place] += 1
        left -= len(hungry[:left])
    return given
