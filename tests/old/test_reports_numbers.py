"""The numbers of `summary --json`, and the same as sentences."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from helpers import OLD_SAMPLES, chain, real_sets, write_graph, write_profile, write_sample_set
from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.gap import gap
from trex_tui.old.analysis.memory import activation_memory, traffic_bytes
from trex_tui.old.analysis.modules import by_module
from trex_tui.old.analysis.structure import (
    critical_path,
    describe_streams,
    device_transitions,
    reformats,
    sum_latency_ms,
)
from trex_tui.old.analysis.timing import timing_statistics
from trex_tui.old.engine import Engine, LayerKind, load_engine, load_engines
from trex_tui.old.engine.model import Device
from trex_tui.old.report.render_json import plain
from trex_tui.old.report.views.engine import (
    MOST_REFORMATS,
    MOST_TENSORS,
    number_sentences,
    numbers,
)
from trex_tui.old.report.views.totals import by_tensor_cores

KEYS = {
    "memory": {
        "traffic_bytes",
        "stated",
        "peak_live_activation_bytes",
        "peak_layer",
        "live_at_peak",
        "live_at_peak_count",
        "tensors_of_unknown_size",
    },
    "compute": {"macs", "layers_with_macs", "layers_without_macs", "by_tensor_cores"},
    "roofline": {
        "floor_ms",
        "layers_by_bound",
        "latency_ms_by_bound",
        "roof_pct_by_bound",
        "notes",
        "assumptions",
    },
    "structure": {
        "critical_path",
        "streams",
        "streams_note",
        "device_transitions",
        "reformats",
        "by_module",
        "by_module_note",
    },
}
MORE_KEYS = {"device_model", "timing", "enqueue", "gap", "dla", "power", "onnx", "session"}
BOUNDS = {"compute", "bandwidth", "latency", "launch", "unknown"}
SAMPLES = OLD_SAMPLES


def check(engine: Engine) -> dict[str, Any]:
    """What holds for every engine."""
    found = numbers(engine)
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text) == found
    assert set(found) == set(KEYS) | MORE_KEYS
    for key, parts in KEYS.items():
        assert set(found[key]) == parts
    assert set(found["roofline"]["layers_by_bound"]) == BOUNDS
    for label, sentences in number_sentences(engine).items():
        assert label.isprintable()
        sentence = " ".join(sentences)
        assert sentence.isprintable()
        assert sentence
        assert "None" not in sentence
        assert "nan" not in sentence.split()
    return found


@pytest.mark.parametrize("real", real_sets())
def test_real_engines(real: Any) -> None:
    agree(real.engine())


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="no samples beside the tests")
def test_samples() -> None:
    for engine in load_engines(SAMPLES):
        agree(engine)


def agree(engine: Engine) -> None:
    """Every number is that of the analysis."""
    found = check(engine)
    memory, facts = activation_memory(engine), derived(engine)
    assert found["memory"]["traffic_bytes"] == traffic_bytes(engine)
    assert found["memory"]["peak_live_activation_bytes"] == memory.peak_bytes
    assert found["memory"]["tensors_of_unknown_size"] == memory.unknown
    assert found["memory"]["live_at_peak_count"] == len(memory.live_at_peak)
    assert len(found["memory"]["live_at_peak"]) == min(MOST_TENSORS, len(memory.live_at_peak))
    if memory.peak_index is not None:
        assert found["memory"]["peak_layer"]["index"] == memory.peak_index
    known = [one.macs for one in facts.compute if one.macs is not None]
    assert found["compute"]["macs"] == (sum(known) if known else None)
    assert found["compute"]["layers_with_macs"] == len(known)
    missing = sum(found["compute"]["layers_without_macs"].values())
    assert missing == sum(bool(one.reason) for one in facts.compute)
    units = found["compute"]["by_tensor_cores"]
    assert sum(one["layers"] for one in units.values()) <= len(known) + missing
    assert set(units) <= {"yes", "no", "unknown"}
    assert sum(found["roofline"]["layers_by_bound"].values()) == len(facts.roofline.points)
    statistics = timing_statistics(engine)
    assert found["timing"] == plain(statistics)
    assert found["gap"] == plain(gap(engine, statistics))
    structure(engine, found["structure"])


def structure(engine: Engine, found: dict[str, Any]) -> None:
    path, changes = critical_path(engine), reformats(engine)
    if path is None:
        assert found["critical_path"] is None
    else:
        assert found["critical_path"]["latency_ms"] == path.latency_ms
        assert found["critical_path"]["layers"] == [one.index for one in path.layers]
    assert found["streams_note"] == describe_streams(engine)
    assert len(found["device_transitions"]) == len(device_transitions(engine))
    assert found["reformats"]["layers"] == len(changes)
    assert found["reformats"]["latency_ms"] == sum_latency_ms(
        one for one in engine.layers if one.kind is LayerKind.REFORMAT
    )
    assert len(found["reformats"]["slowest"]) == min(MOST_REFORMATS, len(changes))
    assert found["by_module"] == [
        {"name": one.name, "latency_ms": one.latency_ms, "layers": one.layers} for one in by_module(engine)
    ]


class TestByHand:
    def test_a_small_set(self, tmp_path: Path) -> None:
        engine = load_engine(write_sample_set(tmp_path))
        found = check(engine)
        # The GEMM is 1 × 1024 × 10; the convolution does not list its kernel.
        assert found["compute"]["macs"] == 10_240
        assert found["compute"]["layers_with_macs"] == 1
        assert list(found["compute"]["layers_without_macs"].values()) == [1]
        # The name of the convolution's kernel leaves the unit open, and the GEMM has none.
        assert set(found["compute"]["by_tensor_cores"]) == {"unknown"}
        assert found["structure"]["critical_path"]["latency_pct"] == pytest.approx(100)
        # Into the convolution go 3 channels padded to 4, out come 16.
        assert found["memory"]["peak_live_activation_bytes"] == 2 * (4 * 64 + 16 * 64)
        assert found["memory"]["peak_layer"] == {"index": 1, "name": "/features/Conv + /features/Relu"}

    def test_names_only(self, tmp_path: Path) -> None:
        found = check(load_engine(write_graph(tmp_path / "net.graph.json", ["/a/Conv", "relu"])))
        assert found["compute"]["macs"] is None
        assert found["compute"]["layers_without_macs"] == {"only the layer's name is known": 1}
        assert found["memory"]["traffic_bytes"] is None
        assert found["memory"]["peak_live_activation_bytes"] is None
        assert found["structure"]["critical_path"] is None
        assert found["timing"] is None

    def test_a_profile_alone(self, tmp_path: Path) -> None:
        write_profile(tmp_path / "net.profile.json", [("/m/a", 1.0), ("/n/b", 3.0)])
        found = check(load_engine(tmp_path))
        assert found["structure"]["by_module"][0] == {"name": "n", "latency_ms": 3.0, "layers": 1}
        assert found["memory"]["peak_layer"] is None

    def test_no_layers_at_all(self, tmp_path: Path) -> None:
        found = check(load_engine(write_graph(tmp_path / "net.graph.json", [])))
        assert found["compute"]["macs"] is None
        assert found["structure"]["reformats"] == {"layers": 0, "latency_ms": None, "slowest": []}

    def test_dangerous_names_are_harmless_in_sentences(self, tmp_path: Path) -> None:
        write_graph(tmp_path / "net.graph.json", chain("\x1b[31mred", "a\nb\u202e", "[bold]x"), ["t0", "t3"])
        check(load_engine(tmp_path))

    def test_tensor_cores_by_time(self, artifacts: Path) -> None:
        engine = load_engine(artifacts / "edge-vision" / "results" / "alexnet")
        totals = {one.key: one for one in by_tensor_cores(engine)}
        # The three fully connected layers are matrix-vector products on CUDA cores: most of the time.
        assert (totals["no"].layers, totals["yes"].layers) == (3, 5)
        assert totals["no"].latency_pct == pytest.approx(72.5, abs=0.1)


class Pair(NamedTuple):
    first: int
    second: float


class TestPlain:
    """What becomes of values that JSON does not know."""

    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, None),
            (True, True),
            (1.5, 1.5),
            (math.nan, None),
            (math.inf, None),
            (Device.DLA, "DLA"),
            (Path("a") / "b", str(Path("a") / "b")),
            ((1, math.nan), [1, None]),
            (frozenset({3}), [3]),
            (Pair(1, -math.inf), {"first": 1, "second": None}),
            (
                {None: 1, Device.GPU: 2, 99.9: 3, 50.0: 4, "k": 5},
                {"unknown": 1, "GPU": 2, "p99.9": 3, "p50": 4, "k": 5},
            ),
        ],
    )
    def test_values(self, value: Any, expected: Any) -> None:
        assert plain(value) == expected

    def test_a_layer_is_its_index_and_name(self, tmp_path: Path) -> None:
        layers: Sequence[Any] = load_engine(write_graph(tmp_path / "net.graph.json", ["a", "b"])).layers
        assert plain(layers) == [{"index": 0, "name": "a"}, {"index": 1, "name": "b"}]

    def test_what_has_no_plain_form(self) -> None:
        with pytest.raises(TypeError, match="object"):
            plain(object())
