"""Blocks with times, labels and changes, out of the partition."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trex_tui.analysis.compare.changes import Surroundings, changes_between
from trex_tui.analysis.compare.model import Block, Match
from trex_tui.analysis.compare.partition import Found
from trex_tui.analysis.compare.traits import Traits
from trex_tui.analysis.hierarchy import module_path
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer

_MOST_NODES = 3


def build_blocks(
    traits: Sequence[Traits], baseline: int, per: Sequence[int], found: Sequence[Found]
) -> tuple[Block, ...]:
    """Make the blocks of a comparison.

    Args:
        per: Per engine, what its times are divided by.
        found: The partition.
    """
    around = [Surroundings(one.engine) for one in traits]
    return tuple(_block(place, one, traits, baseline, per, around) for place, one in enumerate(found))


def _block(
    index: int,
    found: Found,
    traits: Sequence[Traits],
    baseline: int,
    per: Sequence[int],
    around: Sequence[Surroundings],
) -> Block:
    members = [
        [one.engine.layers[layer] for layer in layers]
        for one, layers in zip(traits, found.layers, strict=True)
    ]
    times = tuple(
        _latency_ms(one.engine, layers, divisor)
        for one, layers, divisor in zip(traits, members, per, strict=True)
    )
    main = _main_layer(members, baseline)
    named = found.match not in (Match.STRUCTURE, Match.SIGNATURE, Match.ORDER)
    return Block(
        index=index,
        layers=found.layers,
        match=found.match,
        matches=found.matches,
        confidence=found.confidence,
        why=found.why,
        latency_ms=times,
        deltas_ms=deltas(times, baseline),
        ratios=tuple(_ratio(time, times[baseline]) for time in times),
        changes=tuple(
            change
            for place, layers in enumerate(members)
            if place != baseline and layers and members[baseline]
            for change in changes_between(
                place,
                (members[baseline], layers),
                (traits[baseline], traits[place]),
                (around[baseline], around[place]),
                named=named,
            )
        ),
        label=_label(main),
        kind=main.kind.value,
        module=module_path(main),
    )


def _latency_ms(engine: Engine, layers: Sequence[Layer], per: int) -> float | None:
    if not layers:
        return 0.0 if engine.has_profile else None
    known = [layer.latency_ms for layer in layers if layer.latency_ms is not None]
    return math.fsum(known) / per if known else None


def deltas(times: Sequence[float | None], baseline: int) -> tuple[float | None, ...]:
    """Each time minus the baseline's; None where one of both is unknown."""
    first = times[baseline]
    return tuple(None if time is None or first is None else time - first for time in times)


def _ratio(time: float | None, first: float | None) -> float | None:
    return time / first if time is not None and first else None


def _main_layer(members: Sequence[Sequence[Layer]], baseline: int) -> Layer:
    """The layer that a block is called after: the slowest that works, of the baseline if it has one here."""
    layers = members[baseline] or next(layers for layers in members if layers)
    return max(
        layers,
        key=lambda layer: (layer.kind.is_work, layer.latency_ms or 0.0, layer.kind.multiplies, -layer.index),
    )


def _label(layer: Layer) -> str:
    """The layer's name, or its nodes if Myelin made the name up."""
    if not layer.name.startswith("__my") or not layer.onnx_nodes:
        return layer.name
    more = len(layer.onnx_nodes) - _MOST_NODES
    nodes = " + ".join(layer.onnx_nodes[:_MOST_NODES])
    return f"{nodes} + {more} more" if more > 0 else nodes
