"""Match layers by structure: signature and neighbourhood, then sequences and regions between matched layers.

Neighbourhoods are compared by colour refinement (Weisfeiler and Leman, 1968): a layer's colour is its signature; each round
adds the colours of the layers before and after it. A matched layer keeps the colour of its match. Equal colours that occur
once in each engine are a match. From matched layers, matches spread along the graph to every neighbour with a unique colour.

Builders fuse a sum into one or the other of the layers that it reads. Matches do not spread from a pair of layers of which
only one contains the sum: their readers read different values.

A sequence of layers in a gap is aligned by its longest common blocks, so that of several equal blocks with one missing,
most still find a partner; which one is missing remains unknown. A region is a connected set of unmatched layers. If a region
of each engine lies between the same matched layers, the two do the same work.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from trex_tui.compare.layers import BY_NAME, MULTIPLY, Evidence, Layer, Match, Shapes
from trex_tui.compare.pair import Pair
from trex_tui.engine.layer_words import split_operators

Key = Callable[[Layer], Hashable]
"""What matched layers have in common."""

_ROUNDS = 8
_PASSES = 4
_UNKNOWN = -1
"""Colour of a layer that distinguishes nothing."""
_SEQUENCE, _AMBIGUOUS, _REGION = 0.4, 0.6, 0.7
"""Confidence of a match by position in a sequence; of one of several layers of a kind, where no name shows which of them are
missing in the other engine; and of a region."""
_MOST_CELLS = 250_000
"""Product of the numbers of layers in a gap beyond which it is too long to be aligned."""
_MOST_IN_REGION = 16
_INPUT, _OUTPUT = "input", "output"
"""Placeholders for network inputs and outputs around a region."""


def match_by_structure(pair: Pair, *, is_fused_otherwise: bool = False) -> None:
    """Match unmatched layers by signature and neighbourhood. Linear in the links of unmatched layers.

    Args:
        is_fused_otherwise: A layer may also match one that reads from more or fewer layers, as with a fused sum.
    """
    if not has_open_work(pair):
        return
    refinement = _Refinement(pair)
    refinement.match(lambda layer: layer.signature)
    refinement.match(lambda layer: layer.loose_key)
    for _ in range(_PASSES):
        before = len(pair.matches)
        _join_regions(pair)
        if len(pair.matches) == before:
            break
        refinement.match(lambda layer: layer.loose_key)
    if is_fused_otherwise:
        refinement.match(lambda layer: layer.loose)


def has_open_work(pair: Pair) -> bool:
    """Return whether both engines have unmatched working layers of known kind and shapes."""
    return all(any(layer.is_work for layer in pair.open(side)) for side in (0, 1))


class _Refinement:
    """Matches layers by colour refinement, and spreads matches along the graph."""

    def __init__(self, pair: Pair) -> None:
        self._pair = pair
        ours, theirs = (
            Counter(layer.loose for layer in side.layers if not layer.is_passive) for side in pair.sides
        )
        self._uneven = {key for key in ours.keys() | theirs.keys() if ours[key] != theirs[key]}
        self._grounded = {match for match in pair.matches if match.evidence in BY_NAME}
        """Matches by name, and those that spread from them."""

    def match(self, key: Key) -> None:
        """Match layers with equal keys and neighbourhoods until nothing new is found."""
        matches = self._pair.matches
        if not has_open_work(self._pair):
            return
        self._spread(key, matches)
        for _ in range(_PASSES):
            before = len(matches)
            self._refine(key)
            self._spread(key, matches[before:])
            if len(matches) == before:
                break

    def _refine(self, key: Key) -> None:
        numbers: dict[Hashable, int] = {}

        def number(value: Hashable) -> int:
            return numbers.setdefault(value, len(numbers))

        members = [layer for side in (0, 1) for layer in self._pair.open(side) if layer.is_work]
        if len({layer.side for layer in members}) < 2:
            return
        colours = {layer: number(key(layer)) for layer in members}
        matched = {match: number(match) if _is_anchor(match) else _UNKNOWN for match in self._pair.matches}

        def see(layer: Layer) -> int:
            return colours.get(layer, _UNKNOWN) if layer.match is None else matched[layer.match]

        rounds = []
        for _ in range(_ROUNDS):
            colours = {
                layer: number(
                    (own, tuple(sorted(map(see, layer.before))), tuple(sorted(map(see, layer.after))))
                )
                for layer, own in colours.items()
            }
            rounds.append(colours)
        for depth in range(_ROUNDS, 0, -1):
            self._join_unique(rounds[depth - 1], depth)

    def _join_unique(self, colours: dict[Layer, int], depth: int) -> None:
        for left, right in self._pair.group(colours.__getitem__, colours):
            if len(left) != 1 or len(right) != 1 or not (left[0].before or left[0].after):
                continue
            near = (*left[0].before, *left[0].after)
            reach = "" if depth == 1 else f" to {depth} layers away"
            why = f"unique kind, shapes and surroundings{reach} in each engine"
            is_grounded = any(layer.match in self._grounded for layer in near)
            self._join(left[0], right[0], 0.8 if depth == 1 else 0.9, why, is_grounded=is_grounded)

    def _spread(self, key: Key, matches: Iterable[Match]) -> None:
        waiting = deque(matches)
        while waiting:
            match = waiting.popleft()
            if not _is_anchor(match):
                continue
            left, right = match.left[0], match.right[0]
            for near, word in (
                ((*left.after, *right.after), "reads from"),
                ((*left.before, *right.before), "feeds"),
            ):
                # A sum is fused into one or the other of two equal layers that it adds.
                working = [
                    layer for layer in near if layer.is_work and (word != "feeds" or not _has_twin(layer))
                ]
                for lefts, rights in self._pair.group(key, working):
                    if len(lefts) == len(rights) == 1:
                        why = f"it {word} a matched layer, and its kind and shapes are unique there"
                        is_grounded = match in self._grounded
                        waiting.append(self._join(lefts[0], rights[0], 0.85, why, is_grounded=is_grounded))

    def _join(self, left: Layer, right: Layer, confidence: float, why: str, *, is_grounded: bool) -> Match:
        if _has_twin(left) or _has_twin(right) or (not is_grounded and left.loose in self._uneven):
            confidence = _AMBIGUOUS
        match = self._pair.join([left], [right], Evidence.STRUCTURE, confidence, why)
        if is_grounded:
            self._grounded.add(match)
        return match


def _is_anchor(match: Match) -> bool:
    """Return whether two layers read from equally many layers: then they write the same values."""
    return match.is_pair and len(match.left[0].before) == len(match.right[0].before)


def _has_twin(layer: Layer) -> bool:
    """Return whether a layer adds the result of an equal layer to its own, or its result is added by one."""
    if len(layer.after) == 1 and _adds(layer.after[0], layer):
        return True
    return any(_adds(layer, other) for other in layer.before[1:])


def _adds(layer: Layer, other: Layer) -> bool:
    """Return whether a layer alone reads another one that does equal work, as a further input."""
    return other in layer.before[1:] and other.loose == layer.loose and other.after == (layer,)


# Sequences


def align_sequences(pair: Pair) -> None:
    """Match layers with similar signatures within the gaps between layers that both engines run in the same order.

    Similar layers side by side, such as the heads of a fork, are only matched if both engines have equally many.
    """
    working = [layer for layer in (*pair.open(0), *pair.open(1)) if layer.is_work]
    for gap in pair.group_gaps(working).values():
        if not all(gap) or len(gap[0]) * len(gap[1]) > _MOST_CELLS:
            continue
        uneven = _find_uneven_forks(gap)
        left_keys, right_keys = ([layer.loose_key for layer in layers] for layers in gap)
        matcher = SequenceMatcher(None, left_keys, right_keys, autojunk=False)
        for start, other, size in matcher.get_matching_blocks():
            for left, right in zip(gap[0][start : start + size], gap[1][other:], strict=False):
                if left.loose_key not in uneven:
                    why = "the same place in a sequence of layers of the same kind and shapes"
                    pair.join([left], [right], Evidence.ORDER, _SEQUENCE, why)


def _find_uneven_forks(gap: tuple[list[Layer], list[Layer]]) -> set[Hashable]:
    """Return keys of layers side by side of which one engine has more than the other."""
    ours, theirs = (Counter(layer.loose_key for layer in layers) for layers in gap)
    siblings: set[Hashable] = set()
    for layers in gap:
        forks = Counter((layer.loose_key, layer.before) for layer in layers)
        siblings |= {key for (key, _), count in forks.items() if count > 1}
    return {key for key in siblings if ours[key] != theirs[key]}


# Regions


@dataclass(frozen=True, slots=True)
class _Region:
    """Connected unmatched working layers of one engine.

    Attributes:
        before, after: The matches around it, including `_INPUT` and `_OUTPUT`.
        results: Shapes of its outputs, without the batch.
    """

    layers: list[Layer]
    before: frozenset[Match | str]
    after: frozenset[Match | str]
    results: tuple[Shapes, ...]


def _join_regions(pair: Pair) -> None:
    """Match a region of each engine if they are alone between the same matches and have the same result."""
    regions: dict[Hashable, tuple[list[_Region], list[_Region]]] = {}
    for side in (0, 1):
        for region in _find_regions(pair, side):
            regions.setdefault((region.before, region.after), ([], []))[side].append(region)
    for ours, theirs in regions.values():
        if len(ours) == len(theirs) == 1 and _do_same_work(ours[0], theirs[0]):
            left, right = ours[0].layers, theirs[0].layers
            pairs = _pair_by_weights(left, right)
            why = "all layers between the same matched layers, with the same result"
            why += f" ({len(left)} to {len(right)})"
            if not pairs:
                pair.join(left, right, Evidence.STRUCTURE, _REGION, why)
            for first, second in pairs:
                detail = f"{why}, and the same kernel and weights"
                pair.join([first], [second], Evidence.STRUCTURE, _REGION, detail)


def _find_regions(pair: Pair, side: int) -> Iterator[_Region]:
    seen: set[Layer] = set()
    for start in pair.open(side):
        if start in seen or start.is_passive:
            continue
        seen.add(start)
        layers, waiting = [], [start]
        before: set[Match | str] = set()
        after: set[Match | str] = set()
        while waiting:
            layer = waiting.pop()
            layers.append(layer)
            for near, around, end in ((layer.before, before, _INPUT), (layer.after, after, _OUTPUT)):
                if not near:
                    around.add(end)
                for other in near:
                    if other.match is not None:
                        around.add(other.match)
                    elif other not in seen and other.is_open:
                        seen.add(other)
                        waiting.append(other)
        inside = set(layers)
        last = [layer for layer in layers if inside.isdisjoint(layer.after)]
        results = tuple(sorted(layer.results for layer in last))
        layers.sort(key=lambda layer: layer.index)
        yield _Region(layers, frozenset(before), frozenset(after), results)


def _do_same_work(ours: _Region, theirs: _Region) -> bool:
    """Return whether ends, kinds and weights allow that two regions do the same work.

    A closed block takes all that is left between its ends.
    """
    if not ours.before or not ours.after or ours.before | ours.after <= {_INPUT, _OUTPUT}:
        return False
    left, right = ours.layers, theirs.layers
    if any(len(layers) == 1 and layers[0].is_closed_block for layers in (left, right)):
        return True
    if ours.results != theirs.results or len(left) + len(right) > _MOST_IN_REGION:
        return False
    if len(left) == len(right) == 1:
        return left[0].has_same_core(right[0])
    if not all(layer.family for layer in (*left, *right)):
        return True
    families = [{layer.family for layer in layers} for layers in (left, right)]
    if (MULTIPLY in families[0]) is not (MULTIPLY in families[1]):
        return False
    weights = [_count_weights(layers) for layers in (left, right)]
    return None in weights or weights[0] == weights[1]


def _count_weights(layers: Sequence[Layer]) -> int | None:
    """Return the weights of all layers that multiply; None if unknown for one of them."""
    counts = [layer.core[-1] if layer.core else None for layer in layers if layer.family == MULTIPLY]
    return None if None in counts else sum(count for count in counts if isinstance(count, int))


def _pair_by_weights(left: Sequence[Layer], right: Sequence[Layer]) -> list[tuple[Layer, Layer]]:
    """Return pairs of layers of two regions identified by kernel and weights alone; empty unless all are identified."""
    owners: list[dict[Hashable, Layer]] = [
        {(layer.core[0], *layer.core[2:]): layer for layer in layers if layer.core and layer.core[-1]}
        for layers in (left, right)
    ]
    if len(owners[0]) != len(left) or len(owners[1]) != len(right) or owners[0].keys() != owners[1].keys():
        return []
    return [(layer, owners[1][key]) for key, layer in owners[0].items()]


# Layers fused in one engine only


def absorb_fused(pair: Pair) -> None:
    """Add an unmatched layer to the match of its only source, or of its only reader, if the other engine has both fused.

    The layer of the other engine then has the neighbours of both, and does more than the matched layer alone.
    """
    for layer in (*pair.open(0), *pair.open(1)):
        if not layer.is_work or layer.family == MULTIPLY:
            continue
        for near, back, far in ((layer.before, "after", "after"), (layer.after, "before", "before")):
            if len(near) != 1 or getattr(near[0], back) != (layer,):
                continue
            match = near[0].match
            if match is None or not match.is_pair:
                continue
            fused = match.partner(near[0])
            if _contains(fused, near[0], layer) and _have_same(getattr(layer, far), getattr(fused, far)):
                why = "one layer there does the work of two layers here"
                pair.add(match, layer, _REGION, why)
                match.evidence = Evidence.STRUCTURE
                break


def _have_same(neighbours: Iterable[Layer], others: Iterable[Layer]) -> bool:
    matches = {neighbour.match for neighbour in neighbours}
    return None not in matches and matches == {other.match for other in others}


def _contains(fused: Layer, matched: Layer, layer: Layer) -> bool:
    """Return whether a layer does the work of a matched layer and of a further one, by results, nodes, or operators."""
    last = layer if layer in matched.after else matched
    if fused.results != last.results:
        return False
    if last is layer and (
        matched.results != layer.results or len(fused.working_nodes) > len(matched.working_nodes)
    ):
        return True
    operators = [
        Counter(split_operators(own.name.removeprefix("__myl_").partition("_myl")[0]))
        for own in (fused, matched, layer)
    ]
    return (
        all(own.is_generic for own in (fused, matched, layer)) and operators[0] == operators[1] + operators[2]
    )
