"""The queries of the timing run, for the charts that are about them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from trex_tui.analysis.latency import warmup_ms, without_warmup
from trex_tui.analysis.robust import percentile
from trex_tui.analysis.stability import Stability, stability
from trex_tui.engine.engine import Engine
from trex_tui.text import format_ms, plural

NO_ROWS = "No timing rows in this set: single queries are unknown. `trtexec --exportTimes` writes them."
_EDGE_FACTOR = 3.0
"""Values this many times farther from where a tail begins than that is from the median stand at the edge."""


@dataclass(frozen=True, slots=True)
class Queries:
    """Latencies of the measurement, without the warm-up and without rows that have no number.

    Attributes:
        values_ms, starts_s: In order; seconds from the first start, None without stamps.
        ordered_ms: The same values, sorted.
        warmup, unknown: Rows left out.
        what: Which column it is.
    """

    values_ms: Sequence[float]
    starts_s: Sequence[float] | None
    ordered_ms: Sequence[float]
    warmup: int
    unknown: int
    what: str

    @property
    def count(self) -> int:
        """How many."""
        return len(self.values_ms)

    def limits_ms(self, tail_pct: float) -> tuple[float, float]:
        """Between which values a chart spreads: all of them, unless those in the tails lie far out."""
        return limits_of(self.ordered_ms, tail_pct)

    @property
    def left_out(self) -> tuple[str, ...]:
        """What is missing, in sentences."""
        parts = []
        if self.unknown:
            parts.append(f"{plural(self.unknown, 'row')} without a number left out.")
        return tuple(parts)

    @property
    def counted(self) -> str:
        """How many, and what was left out before them."""
        skipped = f", {plural(self.warmup, 'query', 'queries')} of warm-up left out" if self.warmup else ""
        return f"{plural(self.count, 'query', 'queries')}{skipped}"


def limits_of(ordered: Sequence[float], tail_pct: float) -> tuple[float, float]:
    """Between which of some sorted values a chart spreads: all of them, unless those in the tails lie far out."""
    middle, low, high = (percentile(ordered, pct) for pct in (50.0, tail_pct, 100.0 - tail_pct))
    spread = max(high - middle, middle - low, middle * 1e-4, 1e-6)
    least, most = low - _EDGE_FACTOR * spread, high + _EDGE_FACTOR * spread
    return max(ordered[0], least), min(ordered[-1], most)


@lru_cache(maxsize=4)
def queries_of(engine: Engine) -> Queries | None:
    """The queries of an engine's timing run; None without any. Kept for the last few engines."""
    timing = engine.timing
    if timing is None:
        return None
    key, what = ("latencyMs", "latency") if timing.latency_ms else ("computeMs", "compute time")
    rows, skipped = without_warmup(timing, warmup_ms(engine))
    whole = timing.columns.get(key, ())[rows.start : rows.stop]
    stamps = timing.columns.get("startComputeMs", ())[rows.start : rows.stop]
    known = [place for place, value in enumerate(whole) if value == value]
    if not known:
        return None
    values = [whole[place] for place in known]
    starts = [stamps[place] for place in known] if len(stamps) == len(whole) else []
    seconds = None
    # A list equals its sorted self although it holds NaN, since comparing looks at identity first.
    if starts and starts == sorted(starts) and not any(map(math.isnan, starts)):
        seconds = [(start - starts[0]) / 1000.0 for start in starts]
    return Queries(values, seconds, sorted(values), skipped, len(whole) - len(known), what)


@lru_cache(maxsize=4)
def judgement_of(engine: Engine) -> Stability | None:
    """What `analysis.stability` finds in the same queries."""
    queries = queries_of(engine)
    if queries is None:
        return None
    starts = None if queries.starts_s is None else [1000.0 * start for start in queries.starts_s]
    return stability(queries.values_ms, starts)


def percentile_words(ordered: Sequence[float], percentiles: Sequence[float]) -> str:
    """Percentiles of sorted values in one line."""
    return " · ".join(f"p{pct:g} {format_ms(percentile(ordered, pct))}" for pct in percentiles) + " ms"
