"""Partition the layers of several engines into blocks, with times and changes.

Every engine is matched with the baseline, remaining layers with the other engines, and the matches are joined. A block with
layers of three engines consists of two matches; its confidence is the lower of the two. Two engines that are fused
differently from the baseline may join several of its layers into one block: then their times cannot be separated.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from trex_tui.column import Column
from trex_tui.compare.changes import Change, find_changes, find_surroundings
from trex_tui.compare.layers import EngineLayers, Evidence, Layer, Match
from trex_tui.compare.match import Matched, match_layers
from trex_tui.frames import FLOAT, text_array

_MOST_NODES = 3
_BY_STRUCTURE = (Evidence.STRUCTURE, Evidence.SIGNATURE, Evidence.ORDER)


@dataclass(frozen=True, slots=True)
class Block:
    """Layers of all engines that do the same work. Every layer is in exactly one block.

    Attributes:
        layers: Per engine, the indices of its layers, ascending; empty if the engine has none.
        evidence: The weakest evidence that holds the block together; `NONE` if only one engine has layers in it.
        confidence: Confidence of the match, from 0 to 1; 0 for a block of one engine. At least this share of the matches with
            a confidence is right on real pairs and on engines with known changes.
        why: The evidence in a sentence.
    """

    layers: tuple[tuple[int, ...], ...]
    evidence: Evidence
    confidence: float
    why: str


class _Union:
    """Disjoint sets of the layers of all engines; one number per layer."""

    def __init__(self, sizes: Iterable[int]) -> None:
        self._offsets = [0]
        for size in sizes:
            self._offsets.append(self._offsets[-1] + size)
        self._parents = list(range(self._offsets[-1]))

    def root(self, engine: int, layer: int) -> int:
        parents = self._parents
        node = self._offsets[engine] + layer
        while parents[node] != node:
            parents[node] = parents[parents[node]]
            node = parents[node]
        return node

    def join(self, engine: int, layer: int, other_engine: int, other: int) -> None:
        roots = self.root(engine, layer), self.root(other_engine, other)
        self._parents[max(roots)] = min(roots)


def find_blocks(engines: Sequence[EngineLayers], baseline: int) -> tuple[list[Block], dict[int, Matched]]:
    """Put every layer of every engine into one block.

    Returns:
        The blocks in execution order of the baseline, and per other engine its match with the baseline.
    """
    union = _Union(map(len, engines))
    evidence: list[tuple[int, Match]] = []

    def take(first: int, second: int, matches: Iterable[Match]) -> None:
        for match in matches:
            start = match.left[0].index
            for engine, layers in ((first, match.left), (second, match.right)):
                for layer in layers:
                    union.join(first, start, engine, layer.index)
            evidence.append((first, match))

    others = [index for index in range(len(engines)) if index != baseline]
    matched = {other: match_layers(engines[baseline], engines[other]) for other in others}
    for other in others:
        take(baseline, other, matched[other].pair.matches)
    open_layers = {other: {layer.index for layer in matched[other].pair.open(1)} for other in others}
    for number, second in enumerate(others):
        for first in others[:number]:
            if open_layers[first] and open_layers[second]:
                known = _find_anchors(matched[first], matched[second])
                taken = [set(range(len(engines[index]))) - open_layers[index] for index in (first, second)]
                known += [([layer], []) for layer in taken[0]] + [([], [layer]) for layer in taken[1]]
                pair = match_layers(engines[first], engines[second], known).pair
                fresh = [match for match in pair.matches if not match.left[0].is_excluded]
                take(first, second, fresh)
                open_layers[second] -= {layer.index for match in fresh for layer in match.right}
    return _collect(engines, baseline, union, evidence), matched


def _find_anchors(first: Matched, second: Matched) -> list[tuple[list[int], list[int]]]:
    """Return layers of two engines matched with the same layer of the baseline, one each: anchors for the rest."""
    through = {match.left[0].index: match.right[0].index for match in first.pair.matches if match.is_pair}
    return [
        ([through[match.left[0].index]], [match.right[0].index])
        for match in second.pair.matches
        if match.is_pair and match.left[0].index in through
    ]


def _collect(
    engines: Sequence[EngineLayers], baseline: int, union: _Union, evidence: Iterable[tuple[int, Match]]
) -> list[Block]:
    members: dict[int, list[list[int]]] = defaultdict(lambda: [[] for _ in engines])
    for engine, own_layers in enumerate(engines):
        for layer in range(len(own_layers)):
            members[union.root(engine, layer)][engine].append(layer)
    matches: dict[int, list[Match]] = defaultdict(list)
    for engine, match in evidence:
        matches[union.root(engine, match.left[0].index)].append(match)
    positions = _find_positions(engines, baseline, union)
    blocks = []
    for root in sorted(members, key=positions.__getitem__):
        layers = tuple(map(tuple, members[root]))
        if own := matches.get(root):
            weakest = max(own, key=lambda match: match.evidence.rank)
            confidence = min(match.confidence for match in own)
            blocks.append(Block(layers, weakest.evidence, confidence, weakest.why))
        else:
            blocks.append(Block(layers, Evidence.NONE, 0.0, "no match in another engine"))
    return blocks


def _find_positions(
    engines: Sequence[EngineLayers], baseline: int, union: _Union
) -> dict[int, tuple[int, int, int]]:
    """Return positions of blocks: by their first layer in the baseline, else after the preceding layer of their engine."""
    positions: dict[int, tuple[int, int, int]] = {}
    for layer in range(len(engines[baseline])):
        positions.setdefault(union.root(baseline, layer), (layer, 0, 0))
    for engine, layers in enumerate(engines):
        last = -1
        for layer in range(len(layers)):
            root = union.root(engine, layer)
            if root not in positions:
                positions[root] = (last, 1 + engine, layer)
            elif positions[root][1] == 0:
                last = positions[root][0]
            else:
                last = max(last, positions[root][0])
    return positions


# The table


def letter(position: int) -> str:
    """Return the letter of an engine by its position: A, B, C, D."""
    return chr(ord("A") + position)


def key_of(position: int, key: str) -> str:
    """Return the key of an engine's column: `b_latency_ms`."""
    return f"{letter(position).lower()}_{key}"


def build_frame(
    engines: Sequence[EngineLayers], baseline: int, per: Sequence[int], blocks: Sequence[Block]
) -> pd.DataFrame:
    """Return a row per block, in execution order of the baseline, with layers of other engines where they run.

    Columns of each engine begin with its letter: `a_layers`, `a_latency_ms`, and `b_delta_ms`, `b_delta_pct` of those but the
    baseline. An engine with times but no layer in a block spends 0 there, so its times add up to its sum of layer times.

    Args:
        per: Per engine, the divisor of its times.
    """
    members = [
        [[engine.layers[index] for index in own] for engine, own in zip(engines, block.layers, strict=True)]
        for block in blocks
    ]
    main = [_find_main_layer(layers, baseline) for layers in members]
    columns: dict[str, Any] = {
        "label": text_array(map(_label, main)),
        "kind": text_array(layer.kind.value for layer in main),
        "evidence": text_array(block.evidence.value for block in blocks),
        "confidence": pd.array([block.confidence for block in blocks], FLOAT),
        "why": text_array(block.why for block in blocks),
    }
    for position, engine in enumerate(engines):
        columns[key_of(position, "layers")] = objects(block.layers[position] for block in blocks)
        times = [_add_times(layers[position], engine, per[position]) for layers in members]
        columns[key_of(position, "latency_ms")] = pd.array(times, FLOAT)
    frame = pd.DataFrame(columns).rename_axis("block")
    first = frame[key_of(baseline, "latency_ms")]
    for position in range(len(engines)):
        if position != baseline:
            is_there = np.array([bool(block.layers[position] or block.layers[baseline]) for block in blocks])
            delta = (frame[key_of(position, "latency_ms")] - first).where(is_there)
            frame[key_of(position, "delta_ms")] = delta
            frame[key_of(position, "delta_pct")] = 100.0 * delta / first.where(first > 0)
    return frame


def describe_columns(count: int, baseline: int) -> dict[str, Column]:
    """Return the columns of the blocks of a comparison of some engines."""
    columns = [
        Column("block", "block", "Position in the order of the baseline's execution."),
        Column(
            "label", "layer", "Name of the main layer: the slowest, of the baseline if it has one.", width=24
        ),
        Column("kind", "kind", "Kind of the main layer."),
        Column("evidence", "match", "Weakest evidence that the layers do the same work."),
        Column("confidence", "confidence", "At least this share of such matches is right."),
        Column("why", "why", "The evidence in words."),
    ]
    first = letter(baseline)
    for position in range(count):
        own = letter(position)
        columns.append(Column(key_of(position, "layers"), f"{own} layers", f"Layers of {own}."))
        columns.append(Column(key_of(position, "latency_ms"), f"{own} ms", f"Time of the layers of {own}."))
    for position in range(count):
        own = letter(position)
        compared = (
            ("delta_ms", f"Δ {own}", f"Time in {own} less that in {first}."),
            ("delta_pct", f"Δ {own} %", f"The same in percent of the time in {first}."),
            ("changed", f"{own} changed", f"What differs from {first}."),
            ("cause", f"{own} cause", "Cause of the difference in time."),
            ("verdict", f"{own} noise", "Whether the times differ by more than the noise of single times."),
            ("delta_low_ms", f"Δ {own} from", "Lower edge of the 95 % interval of the difference."),
            ("delta_high_ms", f"Δ {own} to", "Upper edge of the 95 % interval of the difference."),
        )
        for key, title, text in compared if position != baseline else ():
            columns.append(Column(key_of(position, key), title, text))
    return {column.key: column for column in columns}


def objects(values: Iterable[object]) -> pd.Series:
    """Return a column of tuples."""
    return pd.Series([*values], dtype=object)


def _find_main_layer(members: Sequence[Sequence[Layer]], baseline: int) -> Layer:
    """Return the layer that names a block: the slowest working layer, of the baseline if it has one here."""
    layers = members[baseline] or next(layers for layers in members if layers)

    def rank(layer: Layer) -> tuple[bool, float, bool, int]:
        return layer.kind.is_work, layer.row.latency_ms or 0.0, layer.kind.multiplies, -layer.index

    return max(layers, key=rank)


def _label(layer: Layer) -> str:
    """Return the layer's name, or its nodes if Myelin generated the name."""
    nodes = layer.row.onnx_nodes
    if not layer.name.startswith("__my") or not nodes:
        return layer.name
    more = len(nodes) - _MOST_NODES
    listed = " + ".join(nodes[:_MOST_NODES])
    return f"{listed} + {more} more" if more > 0 else listed


def _add_times(layers: Sequence[Layer], engine: EngineLayers, per: int) -> float | None:
    if not layers:
        return 0.0 if engine.engine.has_profile else None
    known = [layer.row.latency_ms for layer in layers if layer.row.latency_ms is not None]
    return math.fsum(known) / per if known else None


def list_changes(
    engines: Sequence[EngineLayers], baseline: int, position: int, blocks: Sequence[Block]
) -> list[list[Change]]:
    """Return the changes of each block between the baseline and an engine."""
    pair = engines[baseline], engines[position]
    around = find_surroundings(pair[0]), find_surroundings(pair[1])
    changes: list[list[Change]] = []
    for block in blocks:
        before = [pair[0].layers[index] for index in block.layers[baseline]]
        after = [pair[1].layers[index] for index in block.layers[position]]
        are_shared = block.evidence not in _BY_STRUCTURE
        is_there = before and after
        changes.append(
            find_changes(before, after, pair, around, are_names_shared=are_shared) if is_there else []
        )
    return changes
