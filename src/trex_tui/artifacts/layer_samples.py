"""Times of single calls of layers, each with the time of its end: `{"conv1": [[0.4, "20241121-00:00:01.50"], …]}`.

An `IProfiler` that records the time of each call writes such a file. `profile` reads the durations; this module reads the end
times, so that samples of power can be aligned with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.open import finite_number, load_json
from trex_tui.artifacts.sensors import parse_time


@dataclass(frozen=True, slots=True)
class LayerSample:
    """One call of a layer.

    Attributes:
        name: The layer.
        cycle: Number of the call of this layer, from 1.
        time_ms: Duration.
        end_s: End: seconds since 1970 in the local time of the machine.
    """

    name: str
    cycle: int
    time_ms: float
    end_s: float


def read_layer_samples(path: Path) -> tuple[LayerSample, ...]:
    """Read the calls in the order of the file; empty if it has no times of day.

    Raises:
        ArtifactError: The file cannot be read.
    """
    root = load_json(path)
    if not isinstance(root, dict):
        return ()
    return tuple(
        sample
        for name, calls in root.items()
        if isinstance(calls, list)
        for cycle, call in enumerate(calls, start=1)
        if (sample := _read_call(name, cycle, call)) is not None
    )


def _read_call(name: str, cycle: int, call: object) -> LayerSample | None:
    if not (isinstance(call, list) and len(call) == 2 and isinstance(call[1], str)):
        return None
    time_ms, end_s = finite_number(call[0]), parse_time(call[1])
    return (
        None if time_ms is None or time_ms < 0 or end_s is None else LayerSample(name, cycle, time_ms, end_s)
    )
