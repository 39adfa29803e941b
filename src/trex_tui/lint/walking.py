"""Steps along the data flow that rules share: past what moves nothing, and chains where every layer has one reader."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator

from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.lint.context import Context

IDLE = frozenset({LayerKind.NOOP, LayerKind.SYNC})
"""Kinds that only stand between two layers."""

MOST_VISITED = 64
"""Layers that one search looks at: real engines have a handful between two that matter, damaged files any number."""


def beyond(
    context: Context, start: Layer, through: Collection[LayerKind], *, forward: bool
) -> Iterator[Layer]:
    """The nearest layers whose kind is not in `through`, before or behind `start`; each once, nearest first."""
    step = context.consumers if forward else context.producers
    seen, waiting = {start.index}, deque(step(start))
    while waiting and len(seen) < MOST_VISITED:
        layer = waiting.popleft()
        if layer.index in seen:
            continue
        seen.add(layer.index)
        if layer.kind in through:
            waiting.extend(step(layer))
        else:
            yield layer


def only_reader(context: Context, layer: Layer) -> Layer | None:
    """The one layer that reads what `layer` writes; None if several do, or if it is an output of the network."""
    readers = context.consumers(layer)
    if len(readers) != 1 or context.writes_network_output(layer) or len(layer.outputs) != 1:
        return None
    return readers[0]


def only_reader_beyond(
    context: Context, layer: Layer, through: Collection[LayerKind]
) -> tuple[list[Layer], Layer] | None:
    """The one reader beyond layers of some kinds, each of which has one reader itself, with the layers between."""
    between: list[Layer] = []
    reader = only_reader(context, layer)
    while reader is not None and reader.kind in through and len(between) < MOST_VISITED:
        between.append(reader)
        reader = only_reader(context, reader)
    return None if reader is None or reader.index == layer.index else (between, reader)


def main_stream(context: Context) -> int | None:
    """The stream with most time; None if layers name none."""
    sums: dict[int, float] = {}
    for layer in context.layers:
        if layer.stream is not None:
            sums[layer.stream] = sums.get(layer.stream, 0.0) + (layer.latency_ms or 0.0)
    return max(sums, key=lambda stream: (sums[stream], -stream)) if sums else None
