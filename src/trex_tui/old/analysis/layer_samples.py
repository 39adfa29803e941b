"""Outliers among the single times of layers, where the profile has these."""

from __future__ import annotations

from trex_tui.old.analysis.stability import Outliers, find_outliers
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer

LEAST_SAMPLES = 40
"""Minimum number of single times for a judgement."""


@per_engine
def layer_outliers(engine: Engine) -> dict[int, Outliers]:
    """Return the outliers of each layer with single times, by its index, cached in the engine."""
    return {
        layer.index: find_outliers(layer.latency.spread.times_ms)
        for layer in engine.layers
        if layer.latency is not None and layer.latency.spread is not None and layer.latency.spread.samples
    }


def has_samples(engine: Engine) -> bool:
    """Return whether layers have single times."""
    return any(
        layer.latency is not None and layer.latency.spread is not None and layer.latency.spread.samples
        for layer in engine.layers
    )


def count_outliers(engine: Engine, layer: Layer) -> int | None:
    """Return the number of single times far from the level around them; None without single times."""
    outliers = layer_outliers(engine).get(layer.index)
    return None if outliers is None else outliers.large
