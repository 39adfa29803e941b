"""Scaling of a model over the batch or the shape of its inputs: times per sample, and layers that change what limits them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.compare import compare
from trex_tui.old.analysis.thresholds import Bound
from trex_tui.old.analysis.timing import end_to_end
from trex_tui.old.engine.engine import Engine
from trex_tui.old.fleet.engine_values import VALUES
from trex_tui.old.fleet.history import split_models
from trex_tui.old.lazy_dataclass import dataclass

NEAR_BEST_PCT = 95.0
"""Points with at least this share of the best rate of samples are good enough."""
BOUNDS = (Bound.LAUNCH, Bound.LATENCY, Bound.BANDWIDTH, Bound.COMPUTE)
"""In the order in which a layer passes them as its work grows."""


@dataclass(frozen=True, slots=True)
class ScalingPoint:
    """One engine, or one run of a dynamic engine.

    Attributes:
        batch: Samples per query; None if unknown.
        elements: Elements of all inputs; None if a shape is unknown.
        samples_per_s: Throughput times batch, else batch over median.
        efficiency_pct: Samples per second in percent of the best point.
        marginal_ms: Further time per further sample, against the next smaller batch.
        bound_pcts: What limits layers -> share of the layer times, of those where it is known; empty without roofs.
    """

    engine: Engine
    batch: int | None
    elements: int | None
    median_ms: float | None
    p99_ms: float | None
    throughput_qps: float | None
    per_sample_ms: float | None
    samples_per_s: float | None
    efficiency_pct: float | None
    marginal_ms: float | None
    bound_pcts: dict[Bound, float]


@dataclass(frozen=True, slots=True)
class BoundChange:
    """Layers that do the same work, limited by something else at other points.

    Attributes:
        label: Name of the main layer, as in the files.
        bounds: What limits it at each point; None where it is unknown.
        latency_ms: Its time at each point.
    """

    label: str
    kind: str
    bounds: tuple[Bound | None, ...]
    latency_ms: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class Scaling:
    """The points of one model, the smallest first.

    Attributes:
        is_by_shape: The batch is the same or unknown, so that points are in the order of the inputs' size.
        good_enough: The first point near the best rate of samples; None if rates are unknown.
        changes: Layers that change what limits them, the largest share of time first.
    """

    name: str
    points: tuple[ScalingPoint, ...]
    is_by_shape: bool
    good_enough: int | None
    changes: tuple[BoundChange, ...]


def find_scalings(engines: Sequence[Engine]) -> list[Scaling]:
    """Return the points of each model, device and precision, the model with most points first."""
    groups: dict[object, list[tuple[Engine]]] = defaultdict(list)
    for engine in engines:
        tensors = sorted((binding.is_input is not False, binding.name) for binding in engine.bindings)
        groups[(tuple(tensors), engine.device_name, engine.precision)].append((engine,))
    models = [[runs[0] for runs in model] for group in groups.values() for model in split_models(group)]
    return sorted(map(_make_scaling, models), key=lambda scaling: -len(scaling.points))


def _make_scaling(engines: Sequence[Engine]) -> Scaling:
    batches = {engine: VALUES["batch"](engine) for engine in engines}
    is_by_shape = len(set(batches.values())) == 1 and len(engines) > 1
    elements = {engine: _elements(engine) for engine in engines}
    size = elements if is_by_shape else batches
    ordered = sorted(engines, key=lambda engine: (size[engine] is None, size[engine] or 0))
    raw = [_measure(engine, batches[engine], elements[engine]) for engine in ordered]
    best = max((point.samples_per_s for point in raw if point.samples_per_s), default=None)
    points = tuple(_relate(raw, index, best) for index in range(len(raw)))
    good = next(
        (index for index, point in enumerate(points) if (point.efficiency_pct or 0.0) >= NEAR_BEST_PCT), None
    )
    changes = tuple(_find_changes(ordered)) if len(ordered) > 1 else ()
    return Scaling(points[0].engine.name, points, is_by_shape, good, changes)


def _elements(engine: Engine) -> int | None:
    shapes = [binding.shape for binding in engine.bindings if binding.is_input]
    if not shapes or any(shape is None or min(shape, default=1) < 1 for shape in shapes):
        return None
    return sum(math.prod(shape) for shape in shapes if shape is not None)


def _measure(engine: Engine, batch: int | None, elements: int | None) -> ScalingPoint:
    latency = end_to_end(engine)
    median = None if latency is None else latency.summary.median_ms
    throughput = None if latency is None else latency.throughput_qps
    rate = throughput if throughput is not None else 1000.0 / median if median else None
    return ScalingPoint(
        engine,
        batch,
        elements,
        median,
        None if latency is None else latency.summary.percentiles_ms.get(99),
        throughput,
        median / batch if median is not None and batch else None,
        rate * batch if rate is not None and batch else None,
        None,
        None,
        _bound_pcts(engine),
    )


def _relate(points: Sequence[ScalingPoint], index: int, best: float | None) -> ScalingPoint:
    """Return a point with its values against the best one and the one before."""
    point = points[index]
    marginal = None
    if index and point.median_ms is not None and point.batch:
        before = points[index - 1]
        if before.median_ms is not None and before.batch and before.batch < point.batch:
            marginal = (point.median_ms - before.median_ms) / (point.batch - before.batch)
    efficiency = 100.0 * point.samples_per_s / best if point.samples_per_s and best else None
    return replace(point, efficiency_pct=efficiency, marginal_ms=marginal)


def _bound_pcts(engine: Engine) -> dict[Bound, float]:
    times: dict[Bound, float] = defaultdict(float)
    for index, point in derived(engine).roofline.points.items():
        time_ms = engine.layers[index].latency_ms
        if point.bound is not None and time_ms:
            times[point.bound] += time_ms
    total = math.fsum(times.values())
    return {bound: 100.0 * times.get(bound, 0.0) / total for bound in BOUNDS} if total else {}


def _find_changes(engines: Sequence[Engine]) -> Iterator[BoundChange]:
    """Yield layers that change what limits them, the longest first."""
    found = []
    for block in compare(engines).blocks:
        mains = [
            max(indices, key=lambda index: engine.layers[index].latency_ms or 0.0) if indices else None
            for engine, indices in zip(engines, block.layers, strict=True)
        ]
        bounds = tuple(
            None
            if main is None or (point := derived(engine).roofline.points.get(main)) is None
            else point.bound
            for engine, main in zip(engines, mains, strict=True)
        )
        if len({bound for bound in bounds if bound is not None}) > 1:
            times = tuple(
                None if main is None else engine.layers[main].latency_ms
                for engine, main in zip(engines, mains, strict=True)
            )
            found.append(BoundChange(block.label, block.kind, bounds, times))
    yield from sorted(found, key=lambda change: -max(filter(None, change.latency_ms), default=0.0))
