"""Profiles of other tools: position of the layers, meaning of the keys, merged rows, and notes."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

TIMES = {"conv1": 0.5, "relu1": 0.25, "conv2": 0.125}
"""Milliseconds, on average."""
ROWS = [
    {"name": name, "timeMs": 10 * ms, "averageMs": ms, "medianMs": ms, "percentage": 1}
    for name, ms in TIMES.items()
]
COUNT = {"count": 10}


def each(**keys: float) -> list[dict[str, Any]]:
    """A row per layer: its name, and its time in milliseconds times a factor for each key."""
    return [{"name": name} | {key: ms * factor for key, factor in keys.items()} for name, ms in TIMES.items()]


FORMS: dict[str, Any] = {
    "layers": {"layers": ROWS},
    "profile": {"profile": ROWS},
    "profile, layers": {"profile": {"layers": ROWS}},
    "below other keys": {"engine": "net", "results": [{"batch": 1, "profile": {"layers": ROWS}}]},
    "both": {"layers": ROWS, "profile": ROWS},
    "a count within": {"layers": [COUNT, *ROWS]},
    "avgMs": each(avgMs=1),
    "avg_ms": {"layers": each(avg_ms=1)},
    "average_ms": {"layers": each(average_ms=1)},
    "Layers": {"Layers": [{"Name": name, "avg_ms": ms} for name, ms in TIMES.items()]},
    "mean_ms": {"layers": each(mean_ms=1)},
    "mean latency": {"layers": each(latency_mean_ms=1)},
    "avgUs": {"layers": each(avgUs=1000)},
    "seconds": {"layers": each(avg_s=0.001)},
    "nanoseconds": {"layers": each(time_ns=1e6)},
    "a unit beside": {"unit": "us", "layers": each(avg=1000)},
    "a unit of each": {"layers": [{"name": name, "time": {"mean": ms * 1000, "unit": "us"}} for name, ms in TIMES.items()]},
    "a value with its unit": {"layers": [{"name": name, "avg": {"value": ms, "unit": "ms"}} for name, ms in TIMES.items()]},
    "timeMs alone": {"layers": each(timeMs=1)},
    "timeMs and a count": [COUNT, *each(timeMs=10)],
    "sum and calls": {"layers": [{**row, "calls": 4} for row in each(total_ms=4)]},
    "layer": {"results": [{"layer": name, "latency_ms": ms} for name, ms in TIMES.items()]},
    "numbers": {"layers": TIMES},
    "numbers in µs": {"layer_times_us": {name: ms * 1000 for name, ms in TIMES.items()}},
    "numbers and their sum": {"layers": {**TIMES, "total_ms": 0.875, "iterations": 10}},
    "objects": {"layers": {name: {"avg_ms": ms} for name, ms in TIMES.items()}},
    "deep objects": {"net": {"profile": {name: {"gpu": {"avg": ms}} for name, ms in TIMES.items()}}},
    "samples": {name: [ms / 2, ms, ms * 1.5] for name, ms in TIMES.items()},
    "samples with stamps": {name: [[ms, "20250101-10:00:00.00"]] * 3 for name, ms in TIMES.items()},
    "samples of rows": {"layers": [{"name": name, "timeMs": [ms, ms]} for name, ms in TIMES.items()]},
    "columns": {"name": list(TIMES), "mean_ms": list(TIMES.values())},
    "columns of pandas": {
        "Layer": dict(enumerate(TIMES)), "Time %": {0: 9, 1: 8, 2: 7}, "Avg. Time (ms)": dict(enumerate(TIMES.values())),
    },
    "pairs": {"layers": [list(item) for item in TIMES.items()]},
    "rows again": {"layers": ROWS + ROWS},
    "each row again": {"layers": [row for row in ROWS for _ in range(2)]},
    "rows again in a list": ROWS + ROWS,
    "a sum below": {"layers": [*each(avg_ms=1), {"name": "Total", "avg_ms": 0.875}]},
}  # fmt: skip


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text('a"\\[]{},:\n', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text('b"\\[{', max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
