"""The gap between layers and end to end: by hand in both directions, and on every real set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from helpers import RealSet, layer, profile_line, profile_text, real_sets, timing_row, write_graph, write_json
from trex_tui.old.analysis.gap import Direction, Gap, gap, on_grid_pct
from trex_tui.old.engine import load_engine

# Σ/end to end, overhead in µs a layer, iterations, share of times on the timer's grid.
EXPECTED = {
    "alexnet_fp16": (1.058, 2.04, 14590, 0),
    "resnet18_fp16": (1.313, 3.47, 21071, 0),
    "resnet-A100/fp16/resnet": (1.179, 6.19, 1, 100),
    "resnet-A100/fp32/resnet": (1.067, 5.54, 1, 100),
    "resnet-qat": (1.241, 6.09, 1, 100),
    "tf-resnet-RTX3090/fp16/resnet": (1.063, 4.14, 1, 85),
    "tf-resnet-RTX3090/fp32/resnet": (1.019, 3.22, 1, 92),
    "mobilenet-qat-TITANRTX/mobilenet.qat": (1.339, 1.66, 6610, 0),
    "mobilenet-qat-8.4EA/mobilenet.qat": (1.444, 2.40, 4216, 0),
}


def gap_of(
    folder: Path,
    times: list[float | None],
    latency: float | None = None,
    *,
    count: int = 100,
    medians: bool = True,
    streams: list[int] | None = None,
    row: dict[str, float] | None = None,
    options: dict[str, str] | None = None,
) -> Gap | None:
    """Layers with these times (None: no profile row), and queries of this latency."""
    names = [f"layer{place}" for place in range(len(times))]
    extra = [{"StreamId": stream} for stream in streams] if streams else [{}] * len(names)
    write_graph(
        folder / "net.graph.json", [layer(name, **more) for name, more in zip(names, extra, strict=True)]
    )
    pairs = [(name, time) for name, time in zip(names, times, strict=True) if time is not None]
    if pairs:
        lines = [
            profile_line(name, time, median=time if medians else None, count=count) for name, time in pairs
        ]
        (folder / "net.profile.json").write_text(profile_text(lines, count), encoding="utf-8")
    if latency is not None:
        rows = [timing_row(300.0 + 2.0 * query * latency, latency) | (row or {}) for query in range(10)]
        write_json(folder / "net.timing.json", rows)
    if options:
        write_json(folder / "net.profile.metadata.json", {"inference_options": options})
    return gap(load_engine(folder))


def told(found: Gap | None) -> str:
    assert found is not None
    return " ".join(found.sentences)


def test_layers_longer_than_end_to_end(tmp_path: Path) -> None:
    found = gap_of(tmp_path, [0.3, 0.2, 0.0], 0.49, options={"CUDA Graph": "Enabled"})
    assert found is not None
    assert found.direction is Direction.LAYERS
    assert (found.layers_timed, found.layers_zero, found.layers_left_out) == (2, 1, 0)
    assert found.sum_average_ms == found.sum_median_ms == pytest.approx(0.5)
    assert (found.latency_ms, found.compute_ms) == (0.49, 0.49)
    assert found.difference_ms == found.compute_difference_ms == pytest.approx(0.01)
    assert found.ratio == pytest.approx(0.5 / 0.49)
    assert found.overhead_us_per_layer == pytest.approx(5.0)
    assert set(found.unknown) == {"streams"}
    assert "5.0 µs/layer over 2 layers" in told(found)
    assert "CUDA graph" in told(found)
    assert "unusual" not in told(found)


def test_an_unusual_overhead_is_told(tmp_path: Path) -> None:
    assert "unusual" in told(gap_of(tmp_path, [0.3, 0.2], 0.4))


def test_end_to_end_longer_for_copies(tmp_path: Path) -> None:
    copies = {"computeMs": 0.49, "h2dMs": 0.4, "d2hMs": 0.1}
    found = gap_of(tmp_path, [0.3, 0.2], 0.99, row=copies)
    assert found is not None
    assert found.direction is Direction.END_TO_END
    assert found.copies_ms == pytest.approx(0.5)
    assert found.difference_ms == pytest.approx(-0.49)
    assert found.overhead_us_per_layer == pytest.approx(5.0)
    assert "0.5 ms of copies" in told(found)
    assert "The compute time exceeds" not in told(found)


def test_end_to_end_longer_for_gaps_and_enqueue(tmp_path: Path) -> None:
    found = gap_of(tmp_path, [0.3, 0.2], 1.0, row={"startEnqMs": 300.0, "endEnqMs": 301.0})
    assert found is not None
    assert found.direction is Direction.END_TO_END
    assert found.overhead_us_per_layer == pytest.approx(-250.0)
    assert "by 0.5 ms" in told(found)
    assert "Enqueue-bound" in told(found)


def test_equal_within_half_a_percent(tmp_path: Path) -> None:
    found = gap_of(tmp_path, [0.3, 0.2], 0.501)
    assert found is not None
    assert found.direction is Direction.EQUAL


def test_without_a_profile_there_is_no_gap(tmp_path: Path) -> None:
    assert gap_of(tmp_path, [None, None], 0.5) is None


def test_what_is_unknown_has_a_reason(tmp_path: Path) -> None:
    found = gap_of(tmp_path, [0.3, None], medians=False)
    assert found is not None
    unknown = (
        "direction",
        "sum_median_ms",
        "latency_ms",
        "compute_ms",
        "difference_ms",
        "ratio",
        "copies_ms",
    )
    for name in (*unknown, "compute_difference_ms", "overhead_us_per_layer", "streams"):
        assert getattr(found, name) is None
        assert found.unknown[name]
    assert found.layers_left_out == 1
    assert "end-to-end latency unknown" in told(found)
    assert "1 layer without a profile time" in told(found)


def test_several_streams_are_told(tmp_path: Path) -> None:
    found = gap_of(tmp_path, [0.3, 0.2, 0.1], 0.4, streams=[0, 1, 1])
    assert found is not None
    assert found.streams == 2
    assert "2 streams" in told(found)


def test_one_iteration_on_the_grid_of_the_timer_is_warned_of(tmp_path: Path) -> None:
    found = gap_of(tmp_path, [0.001024 * 7, 0.001024 * 300, 0.5], 0.8, count=1)
    assert found is not None
    assert found.on_grid_pct == pytest.approx(200 / 3)
    assert "1 iteration:" in told(found)
    assert "timer's step" not in told(found)
    assert "100 %" in told(gap_of(tmp_path / "all", [0.001024 * 7, 0.001024 * 300], 0.3, count=1))


def test_share_on_the_grid() -> None:
    assert on_grid_pct([0.0, 0.001024, 0.012288, 0.0123, 0.0005]) == 50.0
    assert on_grid_pct([0.0]) is None


@pytest.mark.parametrize("real", real_sets(having=["profile", "timing"], every=True))
def test_real_sets_fit_the_known_figures(real: RealSet) -> None:
    found = gap(real.engine())
    assert found is not None
    ratio, overhead, iterations, on_grid = EXPECTED[real.name]
    assert found.ratio == pytest.approx(ratio, abs=0.0006)
    assert found.overhead_us_per_layer == pytest.approx(overhead, abs=0.006)
    assert 1.65 <= found.overhead_us_per_layer <= 6.2
    assert found.iterations == iterations
    assert found.on_grid_pct == pytest.approx(on_grid, abs=0.5)
    assert found.direction is Direction.LAYERS
    assert found.copies_ms == 0.0
    assert ("1 iteration:" in told(found)) is (iterations == 1)
    assert (found.sum_median_ms is None) is ("8.4EA" in real.name)


def _without_timing() -> list[Any]:
    timed = {one.id for one in real_sets(having=["timing"], every=True)}
    return [one for one in real_sets(having=["profile"], every=True) if one.id not in timed]


@pytest.mark.parametrize("real", _without_timing())
def test_real_sets_without_timing_say_so(real: RealSet) -> None:
    found = gap(real.engine())
    assert found is not None
    assert found.ratio is None
    assert found.unknown["ratio"] == "no timing rows and no performance summary"
    assert found.streams == {"tofp16": 6, "diffusion-controlnet": 1}[real.name]


@pytest.mark.parametrize("last", [None, 0.1])
def test_layers_without_a_time_are_named_where_the_sum_is_short(tmp_path: Path, last: float | None) -> None:
    found = gap_of(tmp_path, [0.3, 0.2, last], 0.9)
    assert ("layers without a profile time, launch gaps" in told(found)) == (last is None)
