"""Match the layers of two engines: by names and metadata, by structure, and finally by execution order.

Evidence is used in order of strength; contradictory evidence is ignored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from trex_tui.compare.layers import EngineLayers, Evidence, Layer, Match
from trex_tui.compare.names import (
    LIGHT,
    is_numbered,
    myelin_graph,
)
from trex_tui.compare.nodes import match_names, may_share
from trex_tui.compare.pair import Groups, Pair
from trex_tui.compare.structure import absorb_fused, align_sequences, has_open_work, match_by_structure

LEAST_RELATED = 0.3
"""Share of the working layers matched by good evidence; below it two engines may be of different models."""
_LEAST_ALIKE = 0.6
"""Share of layers with equal kind and shapes, or of equal kinds in sequence without shapes, that indicates one model."""
_LEAST_TO_COMPARE = 6
_LEAST_COMMON_NODES = 0.5
_MOST_CONTRADICTED = 0.1
_LEAST_LINKS = 8
_LEAST_LINK_AGREEMENT = 0.25
_LEAST_PAIRS = 4
_MOST_READERS = 32
_LEAST_FITTING = 0.5


@dataclass(frozen=True, slots=True)
class Matched:
    """The layers of two engines, matched.

    Attributes:
        are_names_refused: Equal names belong to different work, so that names were not used.
        is_related: Whether the engines seem to be of one model: good evidence matches enough layers, or enough layers have
            equal kinds and shapes.
        are_few: Whether good evidence matches less than `LEAST_RELATED` of the working layers of one of them.
    """

    pair: Pair
    are_names_refused: bool
    is_related: bool
    are_few: bool


def match_layers(left: EngineLayers, right: EngineLayers) -> Matched:
    """Match the layers of two engines."""
    numbers = _judge_numbers(left, right)
    has_numbers = numbers is _Numbers.HOLD
    have_paths = all(
        any("/" in node for layer in side.layers for node in layer.nodes) for side in (left, right)
    )

    def start() -> Pair:
        return Pair(left.of_side(0, has_numbers=has_numbers), right.of_side(1, has_numbers=has_numbers))

    pair = start()
    deferred = match_names(pair)
    are_refused = numbers is _Numbers.CONTRADICTED and not have_paths
    if not _names_hold(pair, deferred):
        pair, deferred, are_refused = start(), [], True
    match_by_structure(pair)
    _match_passive(pair, by_role=not are_refused)
    is_related = _is_matched(pair) or _look_alike(pair) or _are_nameless(pair)
    if is_related:
        _match_by_order(pair)
        absorb_fused(pair)
        if has_open_work(pair):
            align_sequences(pair)
            match_by_structure(pair, is_fused_otherwise=True)
            align_sequences(pair)
            absorb_fused(pair)
            _match_passive(pair, by_role=not are_refused)
        _fill_closed_blocks(pair)
    _match_deferred(pair, deferred)
    return Matched(pair, are_refused, is_related, not _is_matched(pair))


# Can names be trusted?


class _Numbers(Enum):
    """Reliability of numbered nodes (`Conv_22`), since each export numbers its nodes anew."""

    HOLD = "hold"
    FEW_COMMON = "few common"
    """Most numbers of one engine are not in the other: common ones are coincidence."""
    CONTRADICTED = "contradicted"
    """Most are in both, on layers with different work."""


def _judge_numbers(left: EngineLayers, right: EngineLayers) -> _Numbers:
    """Judge whether numbered nodes identify the same work in both engines."""
    ours, theirs = (
        {
            node: layer
            for layer in side.layers
            if not layer.parts.role
            for node, weight in layer.nodes.items()
            if weight >= LIGHT and is_numbered(node)
        }
        for side in (left, right)
    )
    common = ours.keys() & theirs.keys()
    if len(common) < _LEAST_COMMON_NODES * min(len(ours), len(theirs)):
        return _Numbers.FEW_COMMON
    contradicted = sum(not may_share(ours[node], theirs[node]) for node in common)
    return _Numbers.CONTRADICTED if contradicted > _MOST_CONTRADICTED * len(common) else _Numbers.HOLD


def _names_hold(pair: Pair, deferred: Sequence[tuple[Layer, Layer]]) -> bool:
    """Return whether the matches by name agree with the structure of the engines.

    Exporters number nodes (`Conv_22`), so two exports of a model, or two models, share names by chance, for different work.
    Names are valid if most pairs do the same kind of work, and have the same neighbours in both engines.

    Args:
        deferred: Pairs of equal names that were not matched, since their kernels differ.
    """
    pairs = [(match.left[0], match.right[0]) for match in pair.matches if match.is_pair]
    known = len(pairs) + len(deferred)
    fitting = sum(_have_same_kind(left, right) for left, right in pairs)
    if known >= _LEAST_PAIRS and fitting < _LEAST_FITTING * known:
        return False
    links = agreeing = 0
    for left, right in pairs:
        after = [layer.match for layer in left.after if layer.match is not None and layer.match.is_pair]
        theirs = _readers_through_open(right) if after else set()
        links += len(after)
        agreeing += sum(match.right[0] in theirs for match in after)
    return links < _LEAST_LINKS or agreeing >= _LEAST_LINK_AGREEMENT * links


def _readers_through_open(layer: Layer) -> set[Layer]:
    """Return the layers that read from a layer, directly or through a few unmatched layers."""
    readers: set[Layer] = set()
    waiting = list(layer.after)
    while waiting and len(readers) < _MOST_READERS:
        reader = waiting.pop()
        if reader not in readers:
            readers.add(reader)
            if reader.match is None:
                waiting.extend(reader.after)
    return readers


def _have_same_kind(left: Layer, right: Layer) -> bool:
    if left.is_passive or right.is_passive:
        return left.is_passive and right.is_passive
    return left.has_same_core(right) and (left.kind is right.kind or not left.family or not right.family)


def _match_deferred(pair: Pair, deferred: Iterable[tuple[Layer, Layer]]) -> None:
    """Match equal names with different kernels that have no better match: layers that were changed in the model."""
    for left, right in deferred:
        if left.is_open and right.is_open and left.fits(right):
            why = "the same name, but kernel or channels differ"
            pair.join([left], [right], Evidence.NAME, 0.5, why)


# Passive layers, and what is left


def _match_passive(pair: Pair, *, by_role: bool) -> None:
    """Match reformats, Q/DQ and other passive layers: by role and served layer, then by neighbours.

    Args:
        by_role: Whether names may be used to determine the role and the served layer.
    """
    if by_role:
        why = "same role for the same matched layer"
        _join_unique(pair, pair.group(_role_key), Evidence.NAME, 0.9, why)
    _join_unique(pair, pair.group(_between_key), Evidence.STRUCTURE, 0.8, "between the same matched layers")
    for layer in (*pair.open(0), *pair.open(1)):
        match = _find_closed_block(layer)
        if match is not None:
            pair.add(match, layer, match.confidence, match.why)


def _join_unique(pair: Pair, groups: Groups, evidence: Evidence, confidence: float, why: str) -> None:
    for left, right in groups:
        if len(left) == len(right) == 1:
            pair.join(left, right, evidence, confidence, why)


def _role_key(layer: Layer) -> Hashable:
    if layer.served is None or layer.served.match is None:
        return None
    return layer.served.match, layer.parts.role


def _between_key(layer: Layer) -> Hashable:
    before = frozenset(other.match for other in layer.before)
    after = frozenset(other.match for other in layer.after)
    if not layer.is_passive or (not before and not after) or None in before or None in after:
        return None
    return layer.kind, layer.loose, before, after


def _find_closed_block(layer: Layer) -> Match | None:
    """Return the match of a closed block of the other engine that contains all neighbours of a passive layer, else None."""
    matches = {other.match for other in (*layer.before, *layer.after)}
    if not layer.is_passive or len(matches) != 1:
        return None
    match = matches.pop()
    others = [] if match is None else match.sides[1 - layer.side]
    return match if len(others) == 1 and others[0].parts.ends else None


def _match_by_order(pair: Pair) -> None:
    """Match unmatched layers by signature within the gaps between layers that both engines run in the same order.

    Layers with equal signatures are matched in order only if both engines have equally many: otherwise it is unknown which
    one is missing. Where an engine has names only, a layer is matched with the only one of its kind.
    """
    are_known = all(any(layer.signature is not None for layer in side.layers) for side in pair.sides)
    for gap in pair.group_gaps((*pair.open(0), *pair.open(1))).values():
        for left, right in [] if are_known else pair.group(_kind_key, [*gap[0], *gap[1]]):
            if len(left) == len(right) == 1:
                why = f"the only {left[0].kind.value} between the same matched layers"
                pair.join(left, right, Evidence.ORDER, 0.4, why)
        for left, right in pair.group(_order_key, [*gap[0], *gap[1]]):
            if len(left) != len(right):
                continue
            evidence, confidence = Evidence.ORDER, 0.4
            why = f"execution order, among {len(left)} layers of the same kind and shapes"
            if len(left) == 1 and left[0].signature is None:
                why = "layers without a name between the same layers"
            elif len(left) == 1:
                evidence, confidence = Evidence.SIGNATURE, 0.6
                why = "unique kind, shapes and attributes between matched neighbours"
            for our_layer, other in zip(left, right, strict=True):
                pair.join([our_layer], [other], evidence, confidence, why)


def _order_key(layer: Layer) -> Hashable:
    if layer.signature is None and layer.name.strip():  # without a name nothing but the place is known
        return None
    return layer.kind.value if layer.is_passive else "", layer.signature


def _fill_closed_blocks(pair: Pair) -> None:
    """Add what else a closed block contains: the rest of its Myelin graph; without a graph of the layers, all in its place.

    `_myl5_2` is the kernel 2 of the Myelin graph 5, which is one `{ForeignNode[…]}` if its kernels are not listed.
    """
    for match in pair.matches:
        for closed, others in (match.sides, match.sides[::-1]):
            if len(closed) == 1 and closed[0].is_closed_block:
                numbers = {myelin_graph(layer.name) for layer in others} - {None}
                rest = [
                    layer
                    for layer in pair.sides[1 - closed[0].side].layers
                    if myelin_graph(layer.name) in numbers
                ]
                if all(layer.match is match or layer.is_open for layer in rest):
                    for layer in rest:
                        if layer.is_open:
                            why = "the kernels of one Myelin graph, and the closed block that contains them"
                            pair.add(match, layer, 0.7, why)
    if all(any(layer.before for layer in side.layers) for side in pair.sides):
        return
    for gap in pair.group_gaps((*pair.open(0), *pair.open(1))).values():
        working = [[layer for layer in layers if not layer.is_passive] for layers in gap]
        if all(working) and any(len(own) == 1 and own[0].is_closed_block for own in working):
            left, right = ([layer for layer in layers if not layer.parts.role] for layers in gap)
            pair.join(left, right, Evidence.ORDER, 0.4, "all layers between the same matched layers")


def _kind_key(layer: Layer) -> Hashable:
    return layer.kind if layer.family and not layer.is_passive and layer.name.strip() else None


# Are these engines of one model?


def _is_matched(pair: Pair) -> bool:
    """Return whether at least `LEAST_RELATED` of the working layers of each engine are matched, without passive ones."""
    matched = [[layer.match is not None for layer in layers] for layers in _list_active(pair)]
    if not all(matched):
        return bool(pair.matches)
    return all(sum(own) >= LEAST_RELATED * len(own) for own in matched)


def _list_active(pair: Pair) -> list[list[Layer]]:
    return [[layer for layer in side.layers if not layer.is_passive] for side in pair.sides]


def _are_nameless(pair: Pair) -> bool:
    """Return whether no layer has a name, so that nothing but their places can relate the engines."""
    return not any(layer.name.strip() for side in pair.sides for layer in side.layers)


def _look_alike(pair: Pair) -> bool:
    """Return whether the working layers have similar kinds and shapes; if shapes are unknown, similar sequences of kinds."""
    active = _list_active(pair)
    if min(map(len, active)) < _LEAST_TO_COMPARE:
        return False
    known: list[Counter[Hashable]] = [
        Counter(layer.loose for layer in layers if layer.loose is not None) for layers in active
    ]
    if all(own.total() * 2 >= len(layers) for own, layers in zip(known, active, strict=True)):
        return _overlap(*known) >= _LEAST_ALIKE
    kinds = [[layer.kind for layer in layers] for layers in active]
    rows: list[Counter[Hashable]] = [Counter(zip(own, own[1:], own[2:], strict=False)) for own in kinds]
    return _overlap(*rows) >= _LEAST_ALIKE


def _overlap(ours: Counter[Hashable], theirs: Counter[Hashable]) -> float:
    """Return the number of common elements of two multisets over the size of the larger one."""
    return (ours & theirs).total() / max(1, ours.total(), theirs.total())
