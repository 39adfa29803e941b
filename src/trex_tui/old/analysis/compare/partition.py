"""Partition all layers of several engines into blocks, with times and labels.

Every engine is matched with the baseline, remaining layers with the other engines, and the matches are joined. A block with
layers of three engines consists of two matches; its confidence is the lower of the two. Two engines that are fused
differently from the baseline may join several of its layers into one block: then their times cannot be separated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from trex_tui.old.analysis.compare.align import Aligned, align_pair
from trex_tui.old.analysis.compare.block_modules import find_modules
from trex_tui.old.analysis.compare.changes import Surroundings, changes_between
from trex_tui.old.analysis.compare.model import Align, Block, Match, Pin
from trex_tui.old.analysis.compare.pairing import JoinedLayers
from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass

Evidence = tuple[tuple[int, int], int, JoinedLayers]
"""A layer of a block, the engine that was matched with it, and the match."""

_STRENGTH = {match: rank for rank, match in enumerate(Match)}


@dataclass(frozen=True, slots=True)
class Found:
    """A block without times: layers per engine, and evidence; as in `model.Block`."""

    layers: tuple[tuple[int, ...], ...]
    match: Match
    matches: tuple[Match | None, ...]
    confidence: float
    why: str


class _Union:
    """Disjoint sets of the layers of all engines; one number per layer."""

    def __init__(self, traits: Sequence[Traits]) -> None:
        self.offsets = [0]
        for trait in traits:
            self.offsets.append(self.offsets[-1] + len(trait))
        self.parents = list(range(self.offsets[-1]))

    def root(self, engine: int, layer: int) -> int:
        parents = self.parents
        node = self.offsets[engine] + layer
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def join(self, first: tuple[int, int], second: tuple[int, int]) -> None:
        first_root, other = self.root(*first), self.root(*second)
        self.parents[max(first_root, other)] = min(first_root, other)


def partition(
    traits: Sequence[Traits], baseline: int, mode: Align, pins: Sequence[Pin]
) -> tuple[list[Found], dict[int, Aligned]]:
    """Put every layer of every engine into one block.

    Returns:
        The blocks in execution order of the baseline, and per other engine its alignment with the baseline.
    """
    union = _Union(traits)
    evidence: list[Evidence] = []
    aligned: dict[int, Aligned] = {}
    others = [index for index in range(len(traits)) if index != baseline]
    for other in others:
        own = [(pin.baseline_layer, pin.layer) for pin in pins if pin.engine == other]
        aligned[other] = align_pair(traits[baseline], traits[other], mode, own)
        _take(union, evidence, baseline, other, aligned[other].pairing.blocks)
    left = {other: set(aligned[other].pairing.open(1)) for other in others}
    for index, second in enumerate(others):
        for first in others[:index]:
            if left[first] and left[second]:
                given = _common(aligned[first], aligned[second])
                alignment = align_pair(
                    traits[first], traits[second], mode, among=(left[first], left[second]), given=given
                )
                fresh = alignment.pairing.blocks[len(given) :]
                _take(union, evidence, first, second, fresh)
                left[second] -= {layer for block in fresh for layer in block.right}
    return _collect(traits, baseline, union, evidence), aligned


def _take(
    union: _Union,
    evidence: list[Evidence],
    first: int,
    second: int,
    blocks: Sequence[JoinedLayers],
) -> None:
    for block in blocks:
        start = (first, block.left[0])
        for layer in block.left:
            union.join(start, (first, layer))
        for layer in block.right:
            union.join(start, (second, layer))
        evidence.append((start, second, block))


def _common(first: Aligned, second: Aligned) -> list[tuple[list[int], list[int]]]:
    """Return layers of two engines matched with the same layer of the baseline, one each: anchors for the rest."""
    through = {block.left[0]: block.right[0] for block in first.pairing.blocks if block.is_pair}
    return [
        ([through[block.left[0]]], block.right)
        for block in second.pairing.blocks
        if block.is_pair and block.left[0] in through
    ]


def _collect(
    traits: Sequence[Traits],
    baseline: int,
    union: _Union,
    evidence: list[Evidence],
) -> list[Found]:
    members: dict[int, list[list[int]]] = defaultdict(lambda: [[] for _ in traits])
    for engine, trait in enumerate(traits):
        for layer in range(len(trait)):
            members[union.root(engine, layer)][engine].append(layer)
    weakest: dict[int, JoinedLayers] = {}
    least: dict[int, float] = {}
    own: dict[tuple[int, int], Match] = {}
    for start, engine, block in evidence:
        root = union.root(*start)
        known = weakest.get(root)
        if known is None or _STRENGTH[block.match] > _STRENGTH[known.match]:
            weakest[root] = block
        least[root] = min(least.get(root, 1.0), block.confidence)
        own[root, engine] = max(own.get((root, engine), block.match), block.match, key=_STRENGTH.__getitem__)
    places = _places(traits, baseline, union)
    groups = []
    for root in sorted(members, key=places.__getitem__):
        layers = tuple(map(tuple, members[root]))
        by = weakest.get(root)
        if by is None:
            nobody = (None,) * len(traits)
            groups.append(Found(layers, Match.NONE, nobody, 0.0, "no match in another engine"))
        else:
            matches = tuple(own.get((root, engine)) for engine in range(len(traits)))
            groups.append(Found(layers, by.match, matches, least[root], by.why))
    return groups


def _places(traits: Sequence[Traits], baseline: int, union: _Union) -> dict[int, tuple[int, int, int]]:
    """Return positions of blocks: by their first layer in the baseline, else after the preceding layer of their engine."""
    places: dict[int, tuple[int, int, int]] = {}
    for layer in range(len(traits[baseline])):
        places.setdefault(union.root(baseline, layer), (layer, 0, 0))
    for engine, trait in enumerate(traits):
        last = -1
        for layer in range(len(trait)):
            root = union.root(engine, layer)
            if root not in places:
                places[root] = (last, 1 + engine, layer)
            elif places[root][1] == 0:
                last = places[root][0]
            else:
                last = max(last, places[root][0])
    return places


_MOST_NODES = 3


def build_blocks(
    traits: Sequence[Traits], baseline: int, per: Sequence[int], groups: Sequence[Found]
) -> tuple[Block, ...]:
    """Return the blocks of a comparison.

    Args:
        per: Per engine, the divisor of its times.
        groups: The partition.
    """
    around = [Surroundings(trait.engine) for trait in traits]
    modules = find_modules(traits, baseline, [group.layers for group in groups])
    return tuple(
        _block(index, group, modules[index], traits, baseline, per, around)
        for index, group in enumerate(groups)
    )


def _block(
    index: int,
    group: Found,
    module: tuple[str, ...],
    traits: Sequence[Traits],
    baseline: int,
    per: Sequence[int],
    around: Sequence[Surroundings],
) -> Block:
    members = [
        [engine_traits.engine.layers[layer] for layer in layers]
        for engine_traits, layers in zip(traits, group.layers, strict=True)
    ]
    times = tuple(
        _latency_ms(engine_traits.engine, layers, divisor)
        for engine_traits, layers, divisor in zip(traits, members, per, strict=True)
    )
    main = _main_layer(members, baseline)
    named = group.match not in (Match.STRUCTURE, Match.SIGNATURE, Match.ORDER)
    return Block(
        index=index,
        layers=group.layers,
        match=group.match,
        matches=group.matches,
        confidence=group.confidence,
        why=group.why,
        latency_ms=times,
        deltas_ms=deltas(times, baseline),
        ratios=tuple(_ratio(time, times[baseline]) for time in times),
        changes=tuple(
            change
            for engine_index, layers in enumerate(members)
            if engine_index != baseline and layers and members[baseline]
            for change in changes_between(
                engine_index,
                (members[baseline], layers),
                (traits[baseline], traits[engine_index]),
                (around[baseline], around[engine_index]),
                named=named,
            )
        ),
        label=_label(main),
        kind=main.kind.value,
        module=module,
    )


def _latency_ms(engine: Engine, layers: Sequence[Layer], per: int) -> float | None:
    if not layers:
        return 0.0 if engine.has_profile else None
    known = [layer.latency_ms for layer in layers if layer.latency_ms is not None]
    return math.fsum(known) / per if known else None


def deltas(times: Sequence[float | None], baseline: int) -> tuple[float | None, ...]:
    """Return each time minus the baseline's; None if one of both is unknown."""
    first = times[baseline]
    return tuple(None if time is None or first is None else time - first for time in times)


def _ratio(time: float | None, first: float | None) -> float | None:
    return time / first if time is not None and first else None


def _main_layer(members: Sequence[Sequence[Layer]], baseline: int) -> Layer:
    """Return the layer that names a block: the slowest working layer, of the baseline if it has one here."""
    layers = members[baseline] or next(layers for layers in members if layers)
    return max(
        layers,
        key=lambda layer: (layer.kind.is_work, layer.latency_ms or 0.0, layer.kind.multiplies, -layer.index),
    )


def _label(layer: Layer) -> str:
    """Return the layer's name, or its nodes if Myelin generated the name."""
    if not layer.name.startswith("__my") or not layer.onnx_nodes:
        return layer.name
    more = len(layer.onnx_nodes) - _MOST_NODES
    nodes = " + ".join(layer.onnx_nodes[:_MOST_NODES])
    return f"{nodes} + {more} more" if more > 0 else nodes
