"""Joining the files of a set: precedence, runs, damage, and numbers that contradict each other."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from helpers import ARTIFACTS, layer, tensor, write_graph, write_json
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine
from trex_tui.errors import ArtifactError, Severity, TrexError
from trex_tui.frames import plain_rows, plain_values

CASES = ARTIFACTS.parent / "cases"
RTX = ARTIFACTS / "rtx"
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="no cases beside the artifacts")
needs_rtx = pytest.mark.skipif(not RTX.is_dir(), reason="no logs of TensorRT-RTX among the artifacts")


def _notes(engine: Engine, severity: Severity) -> list[str]:
    return [str(note) for note in engine.notes if note.severity is severity]


def _row(name: str, average: float) -> dict[str, object]:
    return {"name": name, "timeMs": 10 * average, "averageMs": average, "medianMs": average}


def test_a_profile_alone(tmp_path: Path) -> None:
    write_json(tmp_path / "n.profile.json", [{"count": 3}, _row("/a/Conv", 0.5), _row("/a/Conv", 0.25)])
    engine = load_engine(tmp_path)
    assert engine.layers["occurrence"].tolist() == [0, 1]
    assert engine.layers["latency_ms"].tolist() == [0.5, 0.25]
    assert engine.layers["kind"].tolist() == ["convolution"] * 2
    assert not engine.has_graph
    assert engine.links.empty
    assert _notes(engine, Severity.WARNING) == [
        f"{tmp_path / 'n.profile.json'}: no layer information: layers are known by name and time only"
    ]


def test_rows_without_layer_and_layers_without_row(tmp_path: Path) -> None:
    write_graph(tmp_path / "n.graph.json", [layer("a"), layer("b")])
    write_json(tmp_path / "n.profile.json", [{"count": 1}, _row("a", 0.5), _row("c", 0.25)])
    engine = load_engine(tmp_path)
    assert engine.unmatched_rows == 1
    first, second = _notes(engine, Severity.WARNING)
    assert "1 of 2 rows match no layer of the graph and are excluded (0.25 ms; the first: 'c')" in first
    assert "has no row for 1 of 2 layers (the first: 'b')" in second
    write_json(tmp_path / "n.profile.json", [{"count": 1}, _row("x", 0.5)])
    (error,) = _notes(load_engine(tmp_path), Severity.ERROR)
    assert "does not match this graph" in error


def test_optimization_profiles(tmp_path: Path) -> None:
    names = ["a", "b", "a [profile 1]"]
    write_graph(tmp_path / "n.graph.json", [layer(name) for name in names], ["x", "y [profile 1]"])
    engine = load_engine(tmp_path)
    assert engine.optimization_profiles == {0: 2, 1: 1}
    assert engine.optimization_profile == 0
    write_json(tmp_path / "n.profile.json", [{"count": 1}, _row("a [profile 1]", 0.5)])
    assert load_engine(tmp_path).layers["name"].tolist() == ["a [profile 1]"], "the profiled one"
    assert load_engine(tmp_path, optimization_profile=0).layers["name"].tolist() == ["a", "b"]
    with pytest.raises(TrexError, match="optimization profile 3 does not exist; the engine has profile 0, 1"):
        load_engine(tmp_path, optimization_profile=3)


def test_runs_are_never_added_up(tmp_path: Path) -> None:
    write_graph(tmp_path / "n.graph.json", [layer("a"), layer("b")])
    runs = [[{"count": 1}, _row("a", time), _row("b", time)] for time in (0.5, 0.25)]
    text = "\n".join(str(run).replace("'", '"') for run in runs)
    (tmp_path / "n.profile.json").write_text(text, encoding="utf-8")
    engine = load_engine(tmp_path)
    assert engine.latency_sum_ms == 0.5, "the last one that fits"
    shown = [(row["number"], row["is_shown"], row["sum_ms"]) for row in plain_rows(engine.runs)]
    assert shown == [(1, False, 1.0), (2, True, 0.5)]
    assert (
        "has 2 runs; shown is run 2 (2 layers, 1 iteration, sum 0.5 ms)"
        in _notes(engine, Severity.WARNING)[0]
    )
    chosen = load_engine(tmp_path, run=1)
    assert chosen.latency_sum_ms == 1.0
    assert _notes(chosen, Severity.WARNING) == []
    with pytest.raises(ArtifactError, match="no run 3; the file holds runs 1 to 2"):
        load_engine(tmp_path, run=3)


# TensorRT 11

RANGE = {"MinShape": [1, 8], "OptShape": [4, 8], "MaxShape": [8, 8], "Format": "Row major linear FP16 format"}
IO = [
    {"Name": "x", "IOMode": "Input", "DataType": "Half", "Dimensions": [-1, 8], "ProfileInfo": [RANGE]},
    {"Name": "y", "IOMode": "Output", "DataType": "Float", "Dimensions": [-1, 4]},
]


def _eleven(name: str, *shape: int, dtype: str = "Half") -> dict[str, object]:
    return {
        "Name": name,
        "Dimensions": list(shape),
        "Datatype": dtype,
        "Format": "(Linear) Row major linear format",
    }


def test_inputs_of_the_network_are_no_weights(tmp_path: Path) -> None:
    """A constant that two layers read is part of the engine once, and of the traffic of each."""
    constant, names = _eleven("w", 8, 4), ("x", "t", "y")
    layers = [
        {
            "Name": source,
            "LayerType": "gemm",
            "Inputs": [_eleven(source, -1, 8)],
            "Constants": [constant],
            "Outputs": [_eleven(target, -1, 4)],
        }
        for source, target in pairwise(names)
    ]
    engine = load_engine(write_json(tmp_path / "n.graph.json", {"Layers": layers, "I/O Tensors": IO}))
    assert plain_values(engine.layers["weights_bytes"]) == [64, 64]
    assert engine.known_weights_bytes == 64
    first, second = plain_rows(engine.bindings)
    assert (first["role"], first["shape"], first["dtype"], first["format"]) == (
        "input",
        (-1, 8),
        "FP16",
        "NCHW",
    )
    assert (first["min_shape"], first["opt_shape"], first["max_shape"]) == ((1, 8), (4, 8), (8, 8))
    assert (second["role"], second["dtype"], second["min_shape"]) == ("output", "FP32", None)
    assert engine.tensors["is_constant"].tolist() == [False, True, False, False, True, False]


RTX_WEIGHTS = {
    "alexnet.rtx-sm89": 244_403_368,
    "conv3d.rtx-sm89": 62_000,
    "det_topk.rtx-sm89": 27_992,
    "lstm.rtx-sm89": 2_390_088,
    "gpt2l_fp8.rtx-sm89": 8_593_508,
    "gpt2l_fp16.rtx-sm89": 16_912_440,
    "resnet18.rtx-sm89": 46_738_856,
}


@needs_rtx
@pytest.mark.parametrize("name", RTX_WEIGHTS)
def test_weights_of_real_logs_are_those_of_their_constants(name: str) -> None:
    engine = load_engine(RTX / f"{name}.log")
    stated = engine.facts.memory.weights_bytes
    assert stated is not None
    assert engine.known_weights_bytes == pytest.approx(stated, rel=0.02)
    assert engine.known_weights_bytes <= RTX_WEIGHTS[name]
    assert not any("lists weights" in str(note) for note in engine.notes)
    assert engine.bindings["role"].notna().all()
    assert {"input", "output"} == {*engine.bindings["role"]}


@needs_rtx
def test_a_loop_makes_sums_lower_bounds() -> None:
    engine = load_engine(RTX / "lstm.rtx-sm89.log")
    assert engine.has_loops
    assert (124, 67) in engine.jumps
    (note,) = [str(note) for note in engine.notes if "has a loop" in str(note)]
    assert "layer 124 (clp___mye1051_myl0_124) back to layer 67" in note
    assert "at least" in note
    assert not load_engine(RTX / "alexnet.rtx-sm89.log").has_loops


def test_branches_and_loops(tmp_path: Path) -> None:
    raw = [layer(name, kind) for name, kind in zip("abcd", ("memset", "cjmp", "kgen", "kgen"), strict=True)]
    raw[1] |= {"JumpTargetThen": "d", "JumpTargetElse": "c"}
    engine = load_engine(write_graph(tmp_path / "n.graph.json", raw))
    assert engine.jumps == [(1, 2), (1, 3)]
    assert not engine.has_loops
    assert any("has branches" in str(note) for note in engine.notes)
    assert engine.layers["kind"].tolist()[:2] == ["constant", "sync"]
    raw[1] |= {"JumpTargetThen": "a", "JumpTargetElse": "<EXIT>"}
    engine = load_engine(write_graph(tmp_path / "n.graph.json", raw))
    assert engine.jumps == [(1, 0), (1, 4)]
    assert engine.has_loops


def test_weights_that_contradict_the_log(tmp_path: Path) -> None:
    raw = [
        layer(
            "a",
            "CaskConvolution",
            [tensor("x", 8)],
            [tensor("y", 8)],
            Weights={"Type": "Half", "Count": 50_000},
        )
    ]
    write_graph(tmp_path / "n.graph.json", raw, ["x", "y"])
    banner = "TensorRT.trtexec [TensorRT v101600] # trtexec --onnx=n.onnx"
    total = "[11/27/2026-10:00:00] [I] [TRT] Total Weights Memory: {} bytes"
    log = f"&&&& RUNNING {banner}\n{total}\n&&&& PASSED {banner}\n"
    (tmp_path / "n.build.log").write_text(log.format(400_000), encoding="utf-8")
    engine = load_engine(tmp_path / "n.graph.json")
    assert engine.facts.memory.weights_bytes == 400_000
    assert any("lists weights of 97.7 KiB; the builder states 391 KiB" in str(note) for note in engine.notes)
    (tmp_path / "n.build.log").write_text(log.format(100_352), encoding="utf-8")
    assert not any("lists weights" in str(note) for note in load_engine(tmp_path / "n.graph.json").notes)


# Cases of users


@needs_cases
def test_shares_of_a_truncated_table_refer_to_its_total() -> None:
    engine = load_engine(CASES / "06-truncated-table")
    assert engine.stated_total_ms == pytest.approx(9.4376)
    assert engine.latency_sum_ms == pytest.approx(7.7888)
    assert engine.column("latency_pct").max() == pytest.approx(100 * 7.4056 / 9.4376)
    assert engine.column("latency_pct").sum() < 83


@needs_cases
def test_a_dla_block_with_two_output_reformatters() -> None:
    engine = load_engine(CASES / "15-dla-two-outputs")
    (block,) = plain_rows(engine.dla_blocks)
    assert (block["layer"], block["wait"], block["conversions"]) == (1, 2, (3,))
    assert engine.column("dla_role").tolist()[1:4] == ["block", "wait", "conversion"]
    assert engine.layers["latency_ms"][engine.layers["device"].eq("DLA")].sum() == pytest.approx(
        31.1122, abs=1e-3
    )
