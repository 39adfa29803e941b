"""Totals of layers by a shared property, the critical path, streams, device transitions and reformats."""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, NamedTuple

from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Device, Layer, Tensor

UNKNOWN = "unknown"
"""Layers with an unknown grouping value."""


class Total(NamedTuple):
    """A group of layers.

    Attributes:
        key: Their shared value.
        layers: Number of layers, NoOps and constants included.
        latency_ms: Sum of their times; None if none of them was profiled.
        latency_pct: Share of the engine's `latency_sum_ms`; over all groups it adds up to 100.
    """

    key: str
    layers: int
    latency_ms: float | None
    latency_pct: float | None


def total_by(
    engine: Engine, key: Callable[[Layer], str | int | None], layers: Iterable[Layer] | None = None
) -> list[Total]:
    """Group layers and add up their time; the slowest group first, then the largest, then by name.

    Args:
        engine: Engine whose total is the base of the percentages.
        key: Group of a layer: a number, a text or a member of an enum of texts; None becomes `UNKNOWN`.
        layers: Some of the engine's layers; by default all.
    """
    chosen = engine.layers if layers is None else list(layers)
    names = list(map(key, chosen))
    groups: dict[str | int | None, Sequence[Layer]] = {}
    if len(set(names)) == 1:
        groups[names[0]] = chosen
    else:
        lists: dict[str | int | None, list[Layer]] = defaultdict(list)
        for name, layer in zip(names, chosen, strict=True):
            lists[None if name == "" else name].append(layer)
        groups.update(lists)
    return _total_groups(engine, groups)


def _total_groups(engine: Engine, groups: Mapping[Any, Sequence[Layer]]) -> list[Total]:
    totals = [_total(engine, _name_group(value), group) for value, group in groups.items()]
    return sorted(totals, key=lambda total: (-(total.latency_ms or 0.0), -total.layers, total.key))


def _name_group(value: str | int | None) -> str:
    return UNKNOWN if value in (None, "") else str(getattr(value, "value", value))


def _total(engine: Engine, key: str, layers: Sequence[Layer]) -> Total:
    latency_ms = engine.latency_sum_ms if len(layers) == len(engine.layers) else sum_latency_ms(layers)
    whole = engine.latency_sum_ms
    pct = 100.0 * latency_ms / whole if latency_ms is not None and whole else None
    return Total(key, len(layers), latency_ms, pct)


class CrossTotal(NamedTuple):
    """Layers that have the same values in some columns.

    Attributes:
        values: In the order of the columns; None if unknown.
        layers, latency_ms, latency_pct: As in `Total`.
    """

    values: tuple[Any, ...]
    layers: int
    latency_ms: float | None
    latency_pct: float | None


def total_by_columns(
    engine: Engine, columns: Sequence[LayerColumn], layers: Iterable[Layer] | None = None
) -> list[CrossTotal]:
    """Group layers by the values of columns and add up their time.

    Groups with the same value in the first column are adjacent; on each level the slowest come first, as in `total_by`.

    Args:
        layers: Some of the engine's layers; by default all.
    """
    groups: dict[tuple[Any, ...], list[Layer]] = {}
    sizes: dict[tuple[Any, ...], list[float]] = {}
    for layer in engine.layers if layers is None else layers:
        values = tuple(known_value(column.value(engine, layer)) for column in columns)
        groups.setdefault(values, []).append(layer)
        for end in range(1, len(values) + 1):
            size = sizes.setdefault(values[:end], [0.0, 0.0])
            size[0] += layer.latency_ms or 0.0
            size[1] += 1

    def order(values: tuple[Any, ...]) -> list[tuple[float, float, str]]:
        return [
            (-sizes[values[: end + 1]][0], -sizes[values[: end + 1]][1], str(value))
            for end, value in enumerate(values)
        ]

    totals = {values: _total(engine, "", groups[values]) for values in sorted(groups, key=order)}
    return [
        CrossTotal(values, total.layers, total.latency_ms, total.latency_pct)
        for values, total in totals.items()
    ]


def known_value(value: Any) -> Any:  # noqa: ANN401 - any cell
    """Return the value of a column; None for NaN and for empty texts and lists, which mean unknown."""
    return None if value is None or value in ("", ()) or value != value else value


def sum_latency_ms(layers: Iterable[Layer]) -> float | None:
    """Return the sum of the known times; None if no layer has one."""
    known = [
        latency.average_ms
        for layer in layers
        if (latency := layer.latency) is not None and latency.average_ms is not None
    ]
    return math.fsum(known) if known else None


def total_by_kind(engine: Engine, layers: Iterable[Layer] | None = None) -> list[Total]:
    """Return totals by `LayerKind`, of some layers or of all."""
    if layers is None:
        return _total_groups(engine, layers_by_kind(engine))
    return total_by(engine, attrgetter("kind"), layers)


@per_engine
def layers_by_kind(engine: Engine) -> Mapping[LayerKind, Sequence[Layer]]:
    """Return the layers of each kind that occurs, in their order, cached in the engine."""
    groups: dict[LayerKind, list[Layer]] = {}
    for layer in engine.layers:
        group = groups.get(layer.kind)
        if group is None:
            group = groups[layer.kind] = []
        group.append(layer)
    return groups


def total_by_precision(engine: Engine, layers: Iterable[Layer] | None = None) -> list[Total]:
    """Return totals by the precision that layers compute in, of some layers or of all."""
    return total_by(engine, attrgetter("precision"), layers)


def hottest(layers: Iterable[Layer], count: int) -> Sequence[Layer]:
    """Return the slowest layers, the slowest first, without layers that have no time."""
    timed = (layer for layer in layers if layer.latency_ms is not None)
    return heapq.nsmallest(count, timed, key=lambda layer: (-(layer.latency_ms or 0.0), layer.index))


def find_by_time(layers: Iterable[Layer], here: Layer | None, step: int) -> Layer | None:
    """Return the next faster layer, or with a negative step the next slower one; None if there is none.

    Args:
        here: Where to begin; without a time, or None, at the slowest layer.
    """

    def rank(layer: Layer) -> tuple[float, int]:
        return -(layer.latency_ms or 0.0), layer.index

    timed = (layer for layer in layers if layer.latency_ms is not None)
    if here is None or here.latency_ms is None:
        return min(timed, key=rank, default=None)
    if step > 0:
        return min((layer for layer in timed if rank(layer) > rank(here)), key=rank, default=None)
    return max((layer for layer in timed if rank(layer) < rank(here)), key=rank, default=None)


class CriticalPath(NamedTuple):
    """The slowest chain of layers, each feeding the next.

    Attributes:
        layers: In execution order.
        latency_ms: Sum of their times: a lower bound for every schedule over streams, with the times of the profile.
        latency_pct: Its share of the sum over all layers; 100 for an engine without branches.
    """

    layers: tuple[Layer, ...]
    latency_ms: float
    latency_pct: float


def critical_path(engine: Engine) -> CriticalPath | None:
    """Return the longest path by latency, without loops. Linear in the number of links.

    None without a profile, and if no layer lists tensors: then the links are unknown.

    Layers without a time count as taking none. Waiting between streams (`signal`, `wait`) is not a tensor and makes no link.
    """
    total = engine.latency_sum_ms
    if not total or not engine.has_graph or not any(layer.inputs for layer in engine.layers):
        return None
    best = [layer.latency_ms or 0.0 for layer in engine.layers]
    before: list[int | None] = [None] * len(best)
    # Links are ordered by reader, and writers come before readers: one pass is sufficient.
    for link in engine.links:
        if link.is_loop:
            continue
        through = best[link.source] + (engine.layers[link.target].latency_ms or 0.0)
        if through > best[link.target]:
            best[link.target], before[link.target] = through, link.source
    last = max(range(len(best)), key=best.__getitem__)
    path: list[Layer] = []
    index: int | None = last
    while index is not None:
        path.append(engine.layers[index])
        index = before[index]
    latency_ms = sum_latency_ms(path) or 0.0
    return CriticalPath(tuple(reversed(path)), latency_ms, 100.0 * (latency_ms / total))


def by_stream(engine: Engine) -> list[Total]:
    """Return layers and time by `StreamId`; streams run concurrently, so the times do not add up to a latency."""
    return total_by(engine, attrgetter("stream"))


def describe_streams(engine: Engine) -> str:
    """Return a sentence about the streams and what can overlap."""
    streams = [total for total in by_stream(engine) if total.key != "unknown"]
    if not engine.layers:
        return "unknown: no layers"
    if not streams:
        names_only = all(layer.layer_type is None for layer in engine.layers)
        return "unknown: layer names only" if names_only else "unknown (listed from TensorRT 8.6 on)"
    if len(streams) == 1:
        return "One stream."
    busiest = streams[0]
    waits = sum(layer.kind is LayerKind.SYNC for layer in engine.layers)
    if busiest.latency_ms is None or not engine.latency_sum_ms:
        return f"{len(streams)} streams, {waits} signals and waits; overlap unknown without a profile."
    others = engine.latency_sum_ms - busiest.latency_ms
    return (
        f"{len(streams)} streams, {waits} signals and waits: stream {busiest.key} is busiest with "
        f"{busiest.latency_ms:.4f} ms; at most {others:.4f} ms of the others can overlap with it."
    )


class Transition(NamedTuple):
    """A tensor passed from one device to another."""

    source: Layer
    target: Layer
    tensor: str


def device_transitions(engine: Engine) -> list[Transition]:
    """Return every link between a GPU and a DLA layer: each is a copy and a wait."""
    return [
        Transition(engine.layers[link.source], engine.layers[link.target], link.tensor)
        for link in engine.links
        if {engine.layers[link.source].device, engine.layers[link.target].device} == {Device.GPU, Device.DLA}
    ]


class Reformat(NamedTuple):
    """A layer that changes type or layout, with its neighbours.

    Attributes:
        layer: The reformat.
        source, target: Type and layout before and after: `FP16 NCHW`, `FP16 NHWC8`.
        changes_type: Whether the type changes, not only the layout.
        producers: Layers that write its input; empty for an input of the network.
        consumers: Layers that read its output; empty for an output of the network.
    """

    layer: Layer
    source: str
    target: str
    changes_type: bool
    producers: tuple[Layer, ...]
    consumers: tuple[Layer, ...]


def reformats(engine: Engine) -> list[Reformat]:
    """Return all reformats, the slowest first. Quantizations that run as reformats are not included."""
    costs = [
        _reformat(engine, layer)
        for layer in layers_by_kind(engine).get(LayerKind.REFORMAT, ())
        if layer.inputs and layer.outputs
    ]
    return sorted(costs, key=lambda cost: -(cost.layer.latency_ms or 0.0))


def _reformat(engine: Engine, layer: Layer) -> Reformat:
    source: Tensor = layer.inputs[0]
    target: Tensor = layer.outputs[0]
    return Reformat(
        layer,
        source.description,
        target.description,
        source.dtype is not None and target.dtype is not None and source.dtype is not target.dtype,
        _layers(engine, [link.source for link in engine.producers(layer)]),
        _layers(engine, [link.target for link in engine.consumers(layer)]),
    )


def _layers(engine: Engine, indices: Sequence[int]) -> tuple[Layer, ...]:
    return tuple(engine.layers[index] for index in dict.fromkeys(indices))


def reformat_latency_ms(engine: Engine) -> float | None:
    """Return the time of all reformats; None if none was profiled."""
    return sum_latency_ms(layers_by_kind(engine).get(LayerKind.REFORMAT, ()))


def find_batch(engine: Engine) -> int | None:
    """Return samples per inference: the first extent that all inputs of several dimensions share; None if unknown."""
    extents = {
        binding.shape[0]
        for binding in engine.bindings
        if binding.is_input and binding.shape and len(binding.shape) > 1
    }
    extent = extents.pop() if len(extents) == 1 else None
    return extent if extent is not None and extent > 0 else None
