"""Layers and their time, added up by something they have in common."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer

UNKNOWN = "unknown"
"""The group of layers for which the grouping value is unknown."""


@dataclass(frozen=True, slots=True)
class Total:
    """A group of layers.

    Attributes:
        key: What they have in common.
        layers: How many they are, NoOps and constants included.
        latency_ms: Sum of their times; None if none of them was profiled.
        latency_pct: Share of the engine's `latency_sum_ms`; over all groups it adds up to 100.
    """

    key: str
    layers: int
    latency_ms: float | None
    latency_pct: float | None


def total_by(
    engine: Engine, key: Callable[[Layer], str | None], layers: Iterable[Layer] | None = None
) -> list[Total]:
    """Group layers and add up their time; the slowest group first, then the largest, then by name.

    Args:
        engine: Whose total the percentages refer to.
        key: Group of a layer; None becomes `UNKNOWN`.
        layers: Some of the engine's layers; by default all.
    """
    groups: dict[str, list[Layer]] = {}
    for layer in engine.layers if layers is None else layers:
        groups.setdefault(key(layer) or UNKNOWN, []).append(layer)
    totals = [_total(engine, name, group) for name, group in groups.items()]
    return sorted(totals, key=lambda total: (-(total.latency_ms or 0.0), -total.layers, total.key))


def _total(engine: Engine, key: str, layers: list[Layer]) -> Total:
    latency_ms = sum_latency_ms(layers)
    whole = engine.latency_sum_ms
    pct = 100.0 * latency_ms / whole if latency_ms is not None and whole else None
    return Total(key, len(layers), latency_ms, pct)


def sum_latency_ms(layers: Iterable[Layer]) -> float | None:
    """Sum of the known times; None if no layer has one."""
    known = [layer.latency_ms for layer in layers if layer.latency_ms is not None]
    return math.fsum(known) if known else None


def total_by_kind(engine: Engine, layers: Iterable[Layer] | None = None) -> list[Total]:
    """Totals by `LayerKind`, of some layers or of all."""
    return total_by(engine, lambda layer: layer.kind.value, layers)


def total_by_precision(engine: Engine, layers: Iterable[Layer] | None = None) -> list[Total]:
    """Totals by the precision that layers compute in, of some layers or of all."""
    return total_by(engine, lambda layer: layer.precision.value if layer.precision else None, layers)


def hottest(layers: Iterable[Layer], count: int) -> Sequence[Layer]:
    """The layers that take longest, the slowest first; those without a time are none of them."""
    timed = (layer for layer in layers if layer.latency_ms is not None)
    return heapq.nsmallest(count, timed, key=lambda layer: (-(layer.latency_ms or 0.0), layer.index))
