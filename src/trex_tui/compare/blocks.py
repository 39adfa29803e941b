"""Partition the layers of several engines into blocks, with times and changes.

Every engine is matched with the first one, the baseline. A block with layers of three engines consists of two matches; its
confidence is the lower of the two. Two engines that are fused differently from the baseline may join several of its layers
into one block: then their times cannot be separated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from trex_tui.column import Column
from trex_tui.compare.changes import Change, find_changes, find_surroundings
from trex_tui.compare.layers import EngineLayers, Evidence, Layer, Match
from trex_tui.compare.match import Matched
from trex_tui.frames import FLOAT, text_array

_MOST_NODES = 3
_BY_STRUCTURE = (Evidence.STRUCTURE, Evidence.SIGNATURE, Evidence.ORDER)


@dataclass(slots=True, eq=False)
class Block:
    """Layers of all engines that do the same work. Every layer is in exactly one block.

    Attributes:
        layers: Per engine, its layers, ascending; empty if the engine has none.
        matches: The matches that hold it together; none if only one engine has layers in it.
    """

    layers: list[list[Layer]]
    matches: list[Match] = field(default_factory=list)


def find_blocks(engines: Sequence[EngineLayers], matched: Mapping[int, Matched]) -> list[Block]:
    """Put every layer of every engine into one block.

    Args:
        matched: Per engine but the baseline, its match with the baseline.

    Returns:
        The blocks in execution order of the baseline; layers that it lacks follow the preceding layer of their engine.
    """

    owners = [Block([[layer], *([] for _ in engines[1:])]) for layer in engines[0].layers]
    for engine, found in matched.items():
        for match in found.pair.matches:
            block, *_ = joined = dict.fromkeys(owners[layer.index] for layer in match.left)
            if len(joined) > 1:
                block = _join(joined)
                for layer in block.layers[0]:
                    owners[layer.index] = block
            block.layers[engine] += [engines[engine].layers[layer.index] for layer in match.right]
            block.matches.append(match)
    places = {block: (number, 0, 0) for number, block in reversed([*enumerate(owners)])}
    for engine in matched:
        own_blocks = {layer: block for block in places for layer in block.layers[engine]}
        last = -1
        for layer in engines[engine].layers:
            if layer in own_blocks:
                last = places[own_blocks[layer]][0]
            else:
                alone = Block([[layer] if position == engine else [] for position in range(len(engines))])
                places[alone] = (last, engine, layer.index)
    for block in places:
        for layers in block.layers:
            layers.sort(key=lambda layer: layer.index)
    return sorted(places, key=places.__getitem__)


def _join(blocks: Iterable[Block]) -> Block:
    layers = [
        [layer for own in members for layer in own]
        for members in zip(*(block.layers for block in blocks), strict=True)
    ]
    return Block(layers, [match for block in blocks for match in block.matches])


# The table


def letter(position: int) -> str:
    """Return the letter of an engine by its position: A, B, C, D."""
    return chr(ord("A") + position)


def key_of(position: int, key: str) -> str:
    """Return the key of an engine's column: `b_latency_ms`."""
    return f"{letter(position).lower()}_{key}"


def build_frame(engines: Sequence[EngineLayers], per: Sequence[int], blocks: Sequence[Block]) -> pd.DataFrame:
    """Return a row per block.

    Columns of each engine begin with its letter: `a_layers`, `a_latency_ms`, and `b_delta_ms`, `b_delta_pct` of those but the
    baseline. An engine with times but no layer in a block spends 0 there, so its times add up to its sum of layer times.

    Args:
        per: Per engine, the divisor of its times.
    """
    main = [_find_main_layer(block) for block in blocks]
    weakest = [max(block.matches, key=lambda match: match.evidence.rank, default=None) for block in blocks]
    columns: dict[str, Any] = {
        "label": text_array(map(_label, main)),
        "kind": text_array(layer.kind.value for layer in main),
        "evidence": text_array((match.evidence if match else Evidence.NONE).value for match in weakest),
        "confidence": pd.array(
            [min((match.confidence for match in block.matches), default=0.0) for block in blocks], FLOAT
        ),
        "why": text_array(match.why if match else "no match in another engine" for match in weakest),
    }
    for position, engine in enumerate(engines):
        own = [block.layers[position] for block in blocks]
        columns[key_of(position, "layers")] = objects(
            tuple(layer.index for layer in layers) for layers in own
        )
        times = [_add_times(layers, engine, per[position]) for layers in own]
        columns[key_of(position, "latency_ms")] = pd.array(times, FLOAT)
    frame = pd.DataFrame(columns).rename_axis("block")
    first = frame["a_latency_ms"]
    for position in range(1, len(engines)):
        is_there = frame["a_layers"].map(bool) | frame[key_of(position, "layers")].map(bool)
        delta = (frame[key_of(position, "latency_ms")] - first).where(is_there)
        frame[key_of(position, "delta_ms")] = delta
        frame[key_of(position, "delta_pct")] = 100.0 * delta / first.where(first > 0)
    return frame


def describe_columns(count: int) -> dict[str, Column]:
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
    for position in range(count):
        own = letter(position)
        columns.append(Column(key_of(position, "layers"), f"{own} layers", f"Layers of {own}."))
        columns.append(Column(key_of(position, "latency_ms"), f"{own} ms", f"Time of the layers of {own}."))
    for position in range(1, count):
        own = letter(position)
        columns += [
            Column(key_of(position, key), title, text)
            for key, title, text in (
                ("delta_ms", f"Δ {own}", f"Time in {own} less that in A."),
                ("delta_pct", f"Δ {own} %", "The same in percent of the time in A."),
                ("changed", f"{own} changed", "What differs from A."),
                ("cause", f"{own} cause", "Cause of the difference in time."),
                (
                    "verdict",
                    f"{own} noise",
                    "Whether the times differ by more than the noise of single times.",
                ),
                ("delta_low_ms", f"Δ {own} from", "Lower edge of the 95 % interval of the difference."),
                ("delta_high_ms", f"Δ {own} to", "Upper edge of the 95 % interval of the difference."),
            )
        ]
    return {column.key: column for column in columns}


def objects(values: Iterable[object]) -> pd.Series:
    """Return a column of tuples."""
    return pd.Series([*values], dtype=object)


def _find_main_layer(block: Block) -> Layer:
    """Return the layer that names a block: the slowest working layer, of the baseline if it has one here."""

    def rank(layer: Layer) -> tuple[bool, float, bool, int]:
        return layer.kind.is_work, layer.row.latency_ms or 0.0, layer.kind.multiplies, -layer.index

    return max(next(filter(None, block.layers)), key=rank)


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
    engines: Sequence[EngineLayers], position: int, blocks: Sequence[Block]
) -> list[list[Change]]:
    """Return the changes of each block between the baseline and an engine."""
    pair = engines[0], engines[position]
    around = find_surroundings(pair[0]), find_surroundings(pair[1])
    changes: list[list[Change]] = []
    for block in blocks:
        before, after = block.layers[0], block.layers[position]
        are_shared = not any(match.evidence in _BY_STRUCTURE for match in block.matches)
        is_there = before and after
        changes.append(
            find_changes(before, after, pair, around, are_names_shared=are_shared) if is_there else []
        )
    return changes
