"""Match layers between matched layers: sequences of similar layers, and regions that do the same work split differently.

Both work in gaps: the unmatched layers between matched ones. A sequence is aligned by its longest common subsequence, so that
of several equal blocks with one missing, most still find a partner; which one is missing remains unknown. A region is a
connected set of unmatched layers. If a region of each engine lies between the same matched layers, the two become one block.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

from trex_tui.old.analysis.compare.model import Match
from trex_tui.old.analysis.compare.names import LIGHT
from trex_tui.old.analysis.compare.pairing import OPEN, Pairing
from trex_tui.old.analysis.compare.traits import Trait, same_core
from trex_tui.old.lazy_dataclass import dataclass

SEQUENCE, REGION = 0.4, 0.7
"""Confidence of a match by position in a sequence, and of a region."""
_MOST_CELLS = 250_000
"""Size of the table of a common subsequence, in cells, beyond which only equal starts and ends of a gap are matched."""
_MOST_IN_REGION = 16
_INPUT, _OUTPUT = -10, -11
"""Placeholders for network inputs and outputs around a region."""


def align_sequences(pairing: Pairing) -> None:
    """Match layers with similar signatures within the gaps between layers that both engines run in the same order.

    Similar layers side by side, such as the heads of a fork, are only matched if both engines have equally many.
    """
    gaps: dict[int, tuple[list[int], list[int]]] = {}
    backbone = pairing.backbone()
    for side in (0, 1):
        traits, chain = pairing.traits(side), backbone[side]
        layers = [
            layer
            for layer in pairing.open(side)
            if not traits.of[layer].passive and traits.of[layer].signature is not None
        ]
        for layer in sorted(layers, key=traits.order.__getitem__):
            gaps.setdefault(bisect_right(chain, traits.order[layer]), ([], []))[side].append(layer)
    for lefts, rights in gaps.values():
        if not lefts or not rights:
            continue
        keys = [_keys(pairing, side, layers) for side, layers in enumerate((lefts, rights))]
        uneven = _uneven_forks(pairing, (lefts, rights), keys)
        for left, right in _common_subsequence(*keys):
            if keys[0][left] not in uneven:
                pairing.join(
                    [lefts[left]],
                    [rights[right]],
                    Match.ORDER,
                    SEQUENCE,
                    "the same place in a sequence of layers of the same kind and shapes",
                )


def _keys(pairing: Pairing, side: int, layers: Sequence[int]) -> list[Hashable]:
    return [pairing.loose_key(side, layer) for layer in layers]


def _uneven_forks(
    pairing: Pairing, gap: tuple[Sequence[int], Sequence[int]], keys: Sequence[Sequence[Hashable]]
) -> set[Hashable]:
    """Return keys of layers side by side of which one engine has more than the other."""
    counts = [Counter(own) for own in keys]
    siblings: set[Hashable] = set()
    for side in (0, 1):
        before = pairing.traits(side).before
        forks = Counter((key, before[layer]) for layer, key in zip(gap[side], keys[side], strict=True))
        siblings |= {key for (key, _), count in forks.items() if count > 1}
    return {key for key in siblings if counts[0][key] != counts[1][key]}


def _common_subsequence(ours: Sequence[Hashable], theirs: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Yield the positions of a longest common subsequence; equal starts and ends first, which is cheap."""
    start, end = 0, 0
    shorter = min(len(ours), len(theirs))
    while start < shorter and ours[start] == theirs[start]:
        yield start, start
        start += 1
    while end < shorter - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
        yield len(ours) - end, len(theirs) - end
    rows, columns = ours[start : len(ours) - end], theirs[start : len(theirs) - end]
    if not rows or not columns or len(rows) * len(columns) > _MOST_CELLS:
        return
    lengths = [[0] * (len(columns) + 1)]
    for key in reversed(rows):
        below = lengths[-1]
        line = [0] * (len(columns) + 1)
        for column in range(len(columns) - 1, -1, -1):
            line[column] = (
                below[column + 1] + 1 if key == columns[column] else max(below[column], line[column + 1])
            )
        lengths.append(line)
    lengths.reverse()
    row = column = 0
    while row < len(rows) and column < len(columns):
        if rows[row] == columns[column]:
            yield start + row, start + column
            row, column = row + 1, column + 1
        elif lengths[row + 1][column] >= lengths[row][column + 1]:
            row += 1
        else:
            column += 1


@dataclass(frozen=True, slots=True)
class _Region:
    """Connected unmatched working layers of one engine.

    Attributes:
        before, after: Labels of the blocks around it, including `_INPUT` and `_OUTPUT`.
        results: Shapes of its outputs, without the batch.
    """

    layers: list[int]
    before: frozenset[int]
    after: frozenset[int]
    results: Hashable


def join_regions(pairing: Pairing) -> None:
    """Join a region of each engine into a block if they are alone between the same blocks and have the same result."""
    regions: dict[tuple[frozenset[int], frozenset[int]], tuple[list[_Region], list[_Region]]] = {}
    for side in (0, 1):
        for region in _regions(pairing, side):
            key = (region.before, region.after)
            regions.setdefault(key, ([], []))[side].append(region)
    for (before, after), (ours, theirs) in regions.items():
        if (
            len(ours) != 1
            or len(theirs) != 1
            or not before
            or not after
            or before | after <= {_INPUT, _OUTPUT}
        ):
            continue
        left, right = ours[0].layers, theirs[0].layers
        if ours[0].results != theirs[0].results or len(left) + len(right) > _MOST_IN_REGION:
            continue
        if not _same_work(
            *([pairing.trait(side, layer) for layer in layers] for side, layers in enumerate((left, right)))
        ):
            continue
        pairs = _pairs_by_weights(pairing, left, right)
        why = (
            f"all layers between the same matched layers, with the same result ({len(left)} to {len(right)})"
        )
        if not pairs:
            pairing.join(left, right, Match.STRUCTURE, REGION, why)
        for first, second in pairs:
            pairing.join(
                [first], [second], Match.STRUCTURE, REGION, f"{why}, and the same kernel and weights"
            )


def _pairs_by_weights(pairing: Pairing, left: Sequence[int], right: Sequence[int]) -> list[tuple[int, int]]:
    """Return pairs of region layers identified by kernel and weights alone; empty unless all are identified."""
    owners: list[dict[Hashable, int]] = []
    for side, layers in enumerate((left, right)):
        cores = {layer: pairing.trait(side, layer).core for layer in layers}
        keys = {layer: (core[0], *core[2:]) for layer, core in cores.items() if core and core[-1]}
        owner: dict[Hashable, int] = {key: layer for layer, key in keys.items()}
        if len(owner) != len(layers):
            return []
        owners.append(owner)
    if owners[0].keys() != owners[1].keys():
        return []
    return [(layer, owners[1][key]) for key, layer in owners[0].items()]


def absorb_fused(pairing: Pairing) -> None:
    """Put an unmatched layer into the block of the only layer that it reads from, if the other engine has it fused there.

    The layer of the other engine then has the result of both, is read by the readers of the unmatched layer, and either its
    result has another shape than that of the layer alone, or it names more nodes.
    """
    for side in (0, 1):
        traits, others = pairing.traits(side), pairing.traits(1 - side)
        for layer in list(pairing.open(side)):
            trait = traits.of[layer]
            if trait.passive or trait.signature is None or trait.family == "multiply":
                continue
            label = _label_of_only_source(pairing, side, layer)
            if label is None:
                continue
            block = pairing.blocks[label]
            source, fused = (block.left[0], block.right[0])[:: -1 if side else 1]
            if others.result_shapes(fused) != traits.result_shapes(layer) or not _same_readers(
                pairing, side, layer, fused
            ):
                continue
            is_reshaped = traits.result_shapes(source) != traits.result_shapes(layer)
            if is_reshaped or _count_work(others.of[fused]) > _count_work(traits.of[source]):
                pairing.add(label, side, layer, REGION, "one layer there has the output of two layers here")
                block.match = Match.STRUCTURE


def _label_of_only_source(pairing: Pairing, side: int, layer: int) -> int | None:
    """Return the block, of one layer each, of the layer that alone feeds this layer and nothing else."""
    traits = pairing.traits(side)
    sources = traits.before[layer]
    if len(sources) != 1 or traits.after[sources[0]] != (layer,):
        return None
    label = pairing.labels[side][sources[0]]
    if label == OPEN or not pairing.blocks[label].is_pair or pairing.blocks[label].match is Match.MANUAL:
        return None
    return label


def _same_readers(pairing: Pairing, side: int, layer: int, other: int) -> bool:
    readers = [pairing.labels[side][reader] for reader in pairing.traits(side).after[layer]]
    others = [pairing.labels[1 - side][reader] for reader in pairing.traits(1 - side).after[other]]
    return OPEN not in readers and set(readers) == set(others)


def _count_work(trait: Trait) -> int:
    """Return the number of working nodes of a layer."""
    return sum(weight >= LIGHT and node[0] != "@" for node, weight in trait.nodes.items())


def _regions(pairing: Pairing, side: int) -> Iterator[_Region]:
    traits, labels = pairing.traits(side), pairing.labels[side]
    members = [layer for layer in pairing.open(side) if not traits.of[layer].passive]
    seen: set[int] = set()
    for start in members:
        if start in seen:
            continue
        seen.add(start)
        layers, waiting = [], [start]
        before: set[int] = set()
        after: set[int] = set()
        while waiting:
            layer = waiting.pop()
            layers.append(layer)
            for near, around, end in ((traits.before, before, _INPUT), (traits.after, after, _OUTPUT)):
                if not near[layer]:
                    around.add(end)
                for other in near[layer]:
                    if labels[other] != OPEN:
                        around.add(labels[other])
                    elif other not in seen and pairing.is_open(side, other):
                        seen.add(other)
                        waiting.append(other)
        inside = set(layers)
        last = [layer for layer in layers if not inside & set(traits.after[layer])]
        results = tuple(sorted(traits.result_shapes(layer) for layer in last))
        yield _Region(sorted(layers), frozenset(before), frozenset(after), results)


def _same_work(ours: Sequence[Trait], theirs: Sequence[Trait]) -> bool:
    """Return whether kinds and weights allow that two sets of layers do the same work."""
    if len(ours) == len(theirs) == 1:
        return same_core(ours[0], theirs[0])
    if any(not trait.family for trait in (*ours, *theirs)):
        return True
    families = [{trait.family for trait in traits} for traits in (ours, theirs)]
    if ("multiply" in families[0]) is not ("multiply" in families[1]):
        return False
    weights = [_weights(traits) for traits in (ours, theirs)]
    return None in weights or weights[0] == weights[1]


def _weights(traits: Sequence[Trait]) -> int | None:
    """Return the weights of all layers that multiply; None if unknown for one of them."""
    counts = [trait.core[-1] if trait.core else None for trait in traits if trait.family == "multiply"]
    return None if None in counts else sum(count for count in counts if isinstance(count, int))
