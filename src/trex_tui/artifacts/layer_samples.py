"""Times of single calls of layers, each with the time of its end: `{"conv1": [[0.4, "20241121-00:00:01.50"], …]}`.

An `IProfiler` that records the time of each call writes such a file. `profile` reads the durations; this module reads the end
times, so that samples of power can be aligned with them.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from trex_tui.artifacts.open import finite_number, load_json
from trex_tui.artifacts.sensors import parse_time


class LayerSample(NamedTuple):
    """One call of a layer: its duration, and its end in seconds since 1970 in the local time of the machine."""

    name: str
    time_ms: float
    end_s: float


def read_layer_samples(path: Path) -> tuple[LayerSample, ...]:
    """Read the calls in the order of the file; empty if it has no times of day.

    Raises:
        ArtifactError: The file cannot be read.
    """
    root = load_json(path)
    samples = []
    for name, calls in root.items() if isinstance(root, dict) else ():
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, list) and len(call) == 2 and isinstance(call[1], str):
                time_ms, end_s = finite_number(call[0]), parse_time(call[1])
                if time_ms is not None and time_ms >= 0 and end_s is not None:
                    samples.append(LayerSample(name, time_ms, end_s))
    return tuple(samples)
