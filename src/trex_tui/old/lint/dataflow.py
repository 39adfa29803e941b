"""Position of a layer in the data flow: at an edge of the network, and between which products. Computed once per engine.

One pass in each direction over the layers in execution order, so that rules that need this for every layer stay linear.
Values that a loop carries over from the previous iteration are not followed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator

from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.engine.tactics import parse_tactic
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.context import TRANSPARENT, Context

QUANTIZED_PRODUCT = 1
FLOAT_PRODUCT = 2

MOVING_OPERATORS = frozenset({"Cast", "Move", "Tran", "Resh", "Res", "Slic", "Conc", "Repl", "Copy"})
"""Operators of generated kernels, as Myelin shortens them, that move data or change its type."""


@dataclass(frozen=True, slots=True)
class Flow:
    """Results by layer index.

    Attributes:
        before: Kinds of products that feed a layer through movement only: a union of `QUANTIZED_PRODUCT` and `FLOAT_PRODUCT`.
        behind: Kinds of products that read it, likewise.
        at_input: Layers that read an input of the network, directly or after NoOps.
        at_output: Layers that write an output of the network, directly or before NoOps.
    """

    before: tuple[int, ...]
    behind: tuple[int, ...]
    at_input: frozenset[int]
    at_output: frozenset[int]

    @property
    def at_edge(self) -> frozenset[int]:
        return self.at_input | self.at_output


@per_engine
def compute_flow(engine: Engine) -> Flow:
    """Return the flow of an engine, cached for the last few engines."""
    context, layers = Context(engine), engine.layers
    products = [0] * len(layers)
    for layer in context.multiplying:
        products[layer.index] = QUANTIZED_PRODUCT if context.is_quantized(layer) else FLOAT_PRODUCT

    def sweep(
        links: Iterable[tuple[int, int]], is_at_edge: Callable[[Layer], bool]
    ) -> tuple[tuple[int, ...], frozenset[int]]:
        """Return kinds of products by layer, and the layers at the edge.

        Args:
            links: Pairs of a layer and a neighbour, ordered so that those of the neighbour come first.
            is_at_edge: Returns whether a layer itself is at the edge.
        """
        kinds = [0] * len(layers)
        edge = {layer.index for layer in layers if is_at_edge(layer)}
        for index, neighbour in links:
            kind = layers[neighbour].kind
            kinds[index] |= products[neighbour] or (kinds[neighbour] if kind in TRANSPARENT else 0)
            if kind is LayerKind.NOOP and neighbour in edge:
                edge.add(index)
        return tuple(kinds), frozenset(edge)

    # Links are ordered by reader, and a writer comes before its readers.
    forward = [(link.target, link.source) for link in engine.links if not link.is_loop]
    backward = sorted(((source, target) for target, source in forward), reverse=True)
    before, at_input = sweep(forward, context.reads_network_input)
    behind, at_output = sweep(backward, context.writes_network_output)
    return Flow(before, behind, at_input, at_output)


def conversion(layer: Layer) -> tuple[Tensor, Tensor] | None:
    """Return the first data input and the first output; None if one is missing or has no type."""
    source = next(iter(layer.data_inputs), None)
    target = layer.outputs[0] if layer.outputs else None
    if source is None or target is None or source.dtype is None or target.dtype is None:
        return None
    return source, target


def operators(layer: Layer) -> tuple[str, ...]:
    """Return the operators of a generated Myelin kernel, from its tactic or its name; empty for every other layer."""
    tactic = parse_tactic(layer.tactic or layer.name) if layer.layer_type == "kgen" else None
    return tactic.operators if tactic else ()


def is_movement(layer: Layer) -> bool:
    """Return whether a layer only moves data or changes its type: copies, transposes, slices, concatenations, Q and DQ."""
    if layer.kind in (LayerKind.REFORMAT, LayerKind.QUANTIZE, LayerKind.SHUFFLE, LayerKind.CONCAT):
        return True
    names = operators(layer)
    return bool(names) and MOVING_OPERATORS.issuperset(names)


IDLE = frozenset({LayerKind.NOOP, LayerKind.SYNC})
"""Kinds that only move or convert data between two layers."""

MOST_VISITED = 64
"""Limit of layers per search: real engines have a handful between two relevant layers, damaged files any number."""


def beyond(
    context: Context, start: Layer, through: Collection[LayerKind], *, forward: bool
) -> Iterator[Layer]:
    """Yield the nearest layers whose kind is not in `through`, before or after `start`; each once, nearest first."""
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
    """Return the only layer that reads the outputs of `layer`; None if there are several, or it feeds an output."""
    readers = context.consumers(layer)
    if len(readers) != 1 or context.writes_network_output(layer) or len(layer.outputs) != 1:
        return None
    return readers[0]


def only_reader_beyond(
    context: Context, layer: Layer, through: Collection[LayerKind]
) -> tuple[list[Layer], Layer] | None:
    """Return the only reader after layers of some kinds, each with a single reader, and the layers between."""
    between: list[Layer] = []
    reader = only_reader(context, layer)
    while reader is not None and reader.kind in through and len(between) < MOST_VISITED:
        between.append(reader)
        reader = only_reader(context, reader)
    return None if reader is None or reader.index == layer.index else (between, reader)


def main_stream(context: Context) -> int | None:
    """Return the stream with most time; None if layers have no stream."""
    sums: dict[int, float] = {}
    for layer in context.layers:
        if layer.stream is not None:
            sums[layer.stream] = sums.get(layer.stream, 0.0) + (layer.latency_ms or 0.0)
    return max(sums, key=lambda stream: (sums[stream], -stream)) if sums else None
