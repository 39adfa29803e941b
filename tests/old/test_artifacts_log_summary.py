"""The performance summary out of a log: where no metadata has it, and only there."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from helpers import OLD_SAMPLES
from trex_tui.old.analysis.timing import end_to_end, timing_statistics
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.engine import load_engine

SAMPLES = OLD_SAMPLES
LOG = """\
&&&& RUNNING TensorRT.trtexec [TensorRT v100400] # trtexec --loadEngine=a.engine
[11/21/2026-10:00:00] [I] === Performance summary ===
[11/21/2026-10:00:00] [I] Throughput: 1995.29 qps
[11/21/2026-10:00:00] [I] Latency: min = 0.49 ms, max = 0.52 ms, mean = 0.5 ms, median = 0.499 ms, percentile(99%) = 0.51 ms
[11/21/2026-10:00:00] [I] GPU Compute Time: min = 0.48 ms, max = 0.51 ms, mean = 0.49 ms, median = 0.489 ms
"""


@pytest.mark.parametrize("name", ["a.profile.log", "a.profile.log.gz"])
def test_tells_latency_and_its_source(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.graph.json").write_text(json.dumps({"Layers": [{"Name": "x", "LayerType": "NoOp"}]}))
    data = LOG.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    engine = load_engine(tmp_path)
    found = end_to_end(engine)
    assert found is not None
    assert (found.summary.median_ms, found.summary.percentiles_ms) == (0.499, {99.0: 0.51})
    assert found.throughput_qps == 1995.29
    assert found.source == "profile_log: performance_summary"
    statistics = timing_statistics(engine)
    assert statistics is not None
    assert statistics.compute is not None
    assert statistics.compute.median_ms == 0.489
    assert "profile_log" in statistics.origin


def test_the_samples_log_says_what_its_metadata_says() -> None:
    performance = read_build_log(SAMPLES / "alexnet" / "alexnet_fp16.profile.log").performance
    assert performance is not None
    printed = performance.values
    metadata = json.loads(
        (SAMPLES / "alexnet" / "alexnet_fp16.profile.metadata.json").read_text(encoding="utf-8")
    )
    assert float(printed["Throughput"].split()[0]) == metadata["performance_summary"]["Throughput"]
    assert printed["Latency"].startswith(f"min = {metadata['performance_summary']['Latency'][0]} ms")


def test_metadata_wins(tmp_path: Path) -> None:
    (tmp_path / "a.graph.json").write_text(json.dumps({"Layers": [{"Name": "x", "LayerType": "NoOp"}]}))
    (tmp_path / "a.profile.log").write_text(LOG)
    performance = {"performance_summary": {"Throughput": 1.0, "Latency": [1, 2, 1.5, 1.25, 2]}}
    (tmp_path / "a.profile.metadata.json").write_text(json.dumps(performance))
    found = end_to_end(load_engine(tmp_path))
    assert found is not None
    assert (found.summary.median_ms, found.source) == (1.25, "profile_metadata: performance_summary")


def test_a_log_that_cannot_be_read_costs_the_log(tmp_path: Path) -> None:
    (tmp_path / "a.graph.json").write_text(json.dumps({"Layers": [{"Name": "x", "LayerType": "NoOp"}]}))
    (tmp_path / "a.profile.log.gz").write_bytes(gzip.compress(LOG.encode() * 2000)[:400])
    engine = load_engine(tmp_path)
    assert len(engine.layers) == 1
