"""LAUNCH and HOT: relative to the engine's own floor, never to a fixed number of microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers import chain
from lint_kit import check, engine_of, only, queries, silent, unchecked
from trex_tui.api import load_engine
from trex_tui.lint.rule import Confidence, FindingSeverity
from trex_tui.lint.run import run_rules


def profiled(times: list[float], **more: Any) -> Any:
    names = [f"layer{place}" for place in range(len(times))]
    return engine_of(chain(*names), times=times, **more)


TINY = [0.004] * 30 + [0.1]
"""A floor of 4 µs, thirty layers at it, 0.22 ms in all."""


def test_many_tiny_layers() -> None:
    found = only("LAUNCH001", profiled(TINY))
    assert found.severity is FindingSeverity.WARNING
    assert len(found.layers) == 30
    assert found.saving_ms == pytest.approx(30 * 0.002)


def test_a_cuda_graph_that_is_in_use_is_no_remedy() -> None:
    assert only("LAUNCH001", profiled(TINY)).remedy.startswith("Use a CUDA graph")
    graph = only("LAUNCH001", profiled(TINY, inference={"CUDA Graph": "Enabled"}))
    assert graph.remedy.startswith("A CUDA graph is already in use")


@pytest.mark.parametrize(
    "times",
    [
        [0.004] * 19 + [0.1] * 10,
        [0.004] * 30 + [5.0],
        [0.1] + [0.01 * (1 + place / 3) for place in range(30)],
    ],
    ids=["too few", "too little time", "spread out"],
)
def test_not_bound_by_launches(times: list[float]) -> None:
    silent("LAUNCH001", profiled(times))


def test_one_iteration_is_too_coarse() -> None:
    assert "1 iteration" in unchecked("LAUNCH001", profiled(TINY, iterations=1))


def test_auxiliary_streams_do_not_count() -> None:
    layers = [
        raw | {"StreamId": int(place < 30)} for place, raw in enumerate(chain(*(f"l{n}" for n in range(31))))
    ]
    silent("LAUNCH001", engine_of(layers, times=[0.004] * 30 + [0.5]))


def enqueuing(enqueue_ms: float, times: Sequence[float] = (0.5, 0.5), **more: Any) -> Any:
    rows = queries([1.0] * 20)
    rows = [
        row | {"startEnqMs": row["startEnqMs"], "endEnqMs": row["startEnqMs"] + enqueue_ms} for row in rows
    ]
    return profiled(list(times), rows=rows, **more)


def test_enqueue_bound() -> None:
    layers = [0.02] * 25
    found = only("LAUNCH002", enqueuing(1.2, layers))
    assert found.engine_saving_ms == pytest.approx(1.2 - 25 * 0.02, rel=1e-3), (
        "the compute time includes gaps"
    )
    assert found.remedy.startswith("Use a CUDA graph")
    slow = only("LAUNCH002", enqueuing(0.9, [0.06] * 25))
    assert slow.engine_saving_ms is None, "the layers take longer"
    graph = only("LAUNCH002", enqueuing(1.2, layers, inference={"CUDA Graph": "Enabled"}))
    assert graph.engine_saving_ms is None
    assert "batch" in graph.remedy
    silent("LAUNCH002", enqueuing(0.79, layers))


def test_the_host_waits_in_enqueue() -> None:
    """A launch takes microseconds, not half a millisecond."""
    assert "the host blocks in enqueue" in unchecked("LAUNCH002", enqueuing(1.2))
    orin = {"Selected Device": "Orin", "Compute Capability": 8.7}
    layers = [0.012] * 15
    assert "blocks" in unchecked("LAUNCH002", enqueuing(1.2, layers))
    assert only("LAUNCH002", enqueuing(1.2, layers, device=orin)), "launches of a Jetson take longer"


def test_enqueue_that_the_stamps_do_not_resolve() -> None:
    late = [
        row | {"endEnqMs": row["endEnqMs"] + 9e6, "startEnqMs": row["startEnqMs"] + 9e6}
        for row in queries([1.0] * 20)
    ]
    assert "resolution of 10 ms" in unchecked("LAUNCH002", profiled([0.5, 0.5], rows=late))


def copying(h2d: float, d2h: float, **more: Any) -> Any:
    rows = queries([1.0] * 20, h2dMs=h2d, d2hMs=d2h, computeMs=1.0, latencyMs=1.0 + h2d + d2h)
    return profiled([0.5, 0.5], rows=rows, **more)


def test_copies() -> None:
    found = only("LAUNCH004", copying(0.2, 0.2))
    assert found.engine_saving_ms == pytest.approx(0.4)
    assert "29 %" in found.message
    assert "to the device" in only("LAUNCH004", copying(1.0, 0.0)).message
    silent("LAUNCH004", copying(0.1, 0.1))


def test_copies_that_overlap_with_compute() -> None:
    """A query every 1.01 ms although a single one takes 2.8 ms: the copies bind nothing."""
    found = only("LAUNCH004", copying(0.9, 0.9, performance={"Throughput": "990 qps"}))
    assert found.severity is FindingSeverity.INFO
    assert found.saving_ms is None
    assert "overlap with compute" in found.message
    partly = only("LAUNCH004", copying(0.9, 0.9, performance={"Throughput": "800 qps"}))
    assert partly.engine_saving_ms == pytest.approx(0.25)


def test_copies_that_were_switched_off() -> None:
    assert "--noDataTransfers" in unchecked("LAUNCH004", copying(0.0, 0.0))
    assert "--noDataTransfers" in unchecked(
        "LAUNCH004", copying(0.3, 0.3, inference={"Data transfers": "Disabled"})
    )


def test_no_newer_tensorrt_for_an_old_jetson(tmp_path: Path) -> None:
    log = tmp_path / "net.log"
    for capability, is_advised in (("8.7", True), ("7.2", False)):
        lines = (
            "=== Device Information ===",
            "Selected Device: Jetson",
            f"Compute Capability: {capability}",
            "TensorRT version: 8.5.2",
            "",
        )
        table = ("=== Profile (9 iterations ) ===", "   Layer   Time (ms)   Avg. Time (ms)   Time %")
        rows = (
            "  {ForeignNode[a...b]}   8.10   0.9000   90.0",
            "  c   0.90   0.1000   10.0",
            "  Total   9.00   1.0000   100.0",
        )
        log.write_text("".join(f"[01/02/2026-03:04:05] [I] {line}\n" for line in (*lines, *table, *rows)))
        (hot,) = (one for one in run_rules(load_engine(log)).findings if one.rule.id == "HOT001")
        assert ("closed blocks" in hot.remedy) is is_advised


def test_hot_layer() -> None:
    found = only("HOT001", profiled([0.01] * 20 + [0.05]))
    assert found.layers == (20,)
    assert found.confidence is Confidence.HIGH
    assert found.saving_ms is None
    rows = [(f"layer{place}", 0.01) for place in range(20)] + [("hot", 0.05)]
    assert "--profilingVerbosity=detailed" in only("HOT001", engine_of(None, profile=rows)).remedy
    silent("HOT001", profiled([0.01] * 20 + [0.02]))
    silent("HOT001", profiled([0.3, 0.3, 0.4]))


def test_without_measurements() -> None:
    bare = engine_of(chain("a", "b"))
    for rule in ("LAUNCH001", "HOT001"):
        assert "--exportProfile" in unchecked(rule, bare)
    for rule in ("LAUNCH002", "LAUNCH004"):
        assert "--exportTimes" in unchecked(rule, bare)
    assert check("LAUNCH001", profiled([0.1] * 5)) == ([], [])
