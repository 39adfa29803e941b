"""Spread of the single times of a layer, as an `IProfiler` records them."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LayerSpread:
    """Spread of the single times of a layer.

    Attributes:
        times_ms: The times in order; empty where a file states their spread alone.
        p99_ms: The 99th percentile as trtexec defines it: the largest time of fewer than 100; None without single times.
        cv_pct: Standard deviation in percent of the mean; None of fewer than 2 times, or where all are 0.
    """

    times_ms: Sequence[float]
    p99_ms: float | None
    cv_pct: float | None

    @property
    def samples(self) -> int:
        """Number of times."""
        return len(self.times_ms)


def measure_spread(times_ms: Sequence[float]) -> LayerSpread:
    """Measure the spread of at least one time."""
    kept, count = array("d", times_ms), len(times_ms)
    p99 = sorted(kept)[max(count - 1 - count // 100, 0)]
    mean = math.fsum(kept) / count
    if count < 2 or not mean:
        return LayerSpread(kept, p99, None)
    deviation = math.sqrt(math.fsum([(time - mean) ** 2 for time in kept]) / count)
    return LayerSpread(kept, p99, 100.0 * deviation / mean)
