"""Milliseconds at stake: what a finding may claim, and what all of them together can win."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from trex_tui.lint.model import Finding
from trex_tui.lint.result import Stakes


def within_layers(finding: Finding, latency_ms: Mapping[int, float]) -> Finding:
    """The finding with no stake below 0 or above the time of its layer; without stakes of layers whose time is unknown.

    Args:
        latency_ms: Time by layer index, of the layers that have one.
    """
    stakes = {
        index: min(max(stake, 0.0), latency_ms[index])
        for index, stake in sorted(finding.stakes_ms.items())
        if index in latency_ms and not math.isnan(stake)
    }
    engine_stake = finding.engine_stake_ms
    if engine_stake is not None:
        engine_stake = max(engine_stake, 0.0) if math.isfinite(engine_stake) else None
    if stakes == finding.stakes_ms and engine_stake == finding.engine_stake_ms:
        return finding
    return replace(finding, stakes_ms=stakes, engine_stake_ms=engine_stake)


def union_of_stakes(
    findings: Iterable[Finding], sum_ms: float | None = None, median_compute_ms: float | None = None
) -> Stakes:
    """What findings can win together.

    Args:
        findings: With stakes as `within_layers` leaves them.
        sum_ms: Sum of the layers' times.
        median_compute_ms: Of the timing run.
    """
    largest: dict[int, float] = {}
    engine_ms: float | None = None
    for finding in findings:
        for index, stake in finding.stakes_ms.items():
            largest[index] = max(stake, largest.get(index, 0.0))
        if finding.engine_stake_ms is not None:
            engine_ms = max(finding.engine_stake_ms, engine_ms or 0.0)
    layers_ms = math.fsum(largest.values()) if largest else None
    return Stakes(layers_ms, engine_ms, _end_to_end(layers_ms, engine_ms, sum_ms, median_compute_ms))


def _end_to_end(
    layers_ms: float | None, engine_ms: float | None, sum_ms: float | None, median_compute_ms: float | None
) -> float | None:
    if median_compute_ms is None or (layers_ms is None and engine_ms is None):
        return None
    scaled = 0.0
    if layers_ms is not None:
        if not sum_ms:
            return None
        scaled = layers_ms * min(1.0, median_compute_ms / sum_ms)
    return min(scaled + (engine_ms or 0.0), median_compute_ms)
