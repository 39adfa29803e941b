"""A log in place of JSON files, and beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_buildlog_reader import BUILD, STAMP

from helpers import ARTIFACTS, layer, messages, tensor, write_graph, write_profile
from trex_tui.old.analysis.build import build_seconds, by_tuning_time, layer_choices
from trex_tui.old.buildlog import log_records as as_records
from trex_tui.old.buildlog import read_build_log
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.errors import ArtifactError

LOGS = ARTIFACTS / "logs"
real = pytest.mark.skipif(not LOGS.is_dir(), reason=f"no real logs at {LOGS}")

PROFILE = f"""\
&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --loadEngine=net.engine --dumpProfile
{STAMP} [I] === Build Options ===
{STAMP} [I] Precision: FP32
{STAMP} [I]
{STAMP} [I] === Device Information ===
{STAMP} [I] Selected Device: NVIDIA Test
{STAMP} [I]
{STAMP} [I] === Profile (100 iterations ) ===
{STAMP} [I]    Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer
{STAMP} [I]       10.00       0.1000       0.0990      80.0   conv + relu
{STAMP} [I]        2.50       0.0250       0.0240      20.0   5 a layer of 2 numbers 3.0
{STAMP} [I]       12.50       0.1250       0.1230     100.0   Total
{STAMP} [I]
&&&& PASSED TensorRT.trtexec [TensorRT v8601] # trtexec --loadEngine=net.engine --dumpProfile
"""


def test_layers_and_times_from_two_logs(tmp_path: Path) -> None:
    (tmp_path / "net.build.log").write_text(BUILD)
    (tmp_path / "net.profile.log").write_text(PROFILE)
    engine = load_engine(tmp_path / "net.build.log")
    (only,) = engine.layers
    assert (only.name, only.layer_type, only.tactic_value) == (
        "conv + relu",
        "CaskConvolution",
        "0x0000000000000002",
    )
    assert [(one.name, one.shape, one.dtype) for one in only.inputs] == [("in", (-1, 4), DataType.FP32)]
    assert [(one.name, one.shape, one.dtype) for one in only.outputs] == [("out", (-1, 4), DataType.FP16)]
    assert (only.inputs[0].format.vector, only.outputs[0].format.vector) == (1, 8)
    assert only.latency is not None
    assert (only.latency.average_ms, only.latency.median_ms, only.latency.total_ms) == (0.1, 0.099, 10.0)
    assert engine.profile_iterations == 100
    assert [(one.name, one.is_input) for one in engine.bindings] == [("in", True), ("out", False)]
    assert engine.device_name == "NVIDIA Test"
    assert (
        engine.metadata.builder_precision == "FP32+FP16"
    )  # of the build, not the default a loading run prints
    told = " ".join(messages(engine.diagnostics))
    assert "layers are taken from the log" in told
    assert "match no layer of the graph" in told


def test_times_alone(tmp_path: Path) -> None:
    (tmp_path / "net.profile.log").write_text(PROFILE)
    engine = load_engine(tmp_path / "net.profile.log")
    assert [(one.name, one.latency_ms) for one in engine.layers] == [
        ("conv + relu", 0.1),
        ("5 a layer of 2 numbers 3.0", 0.025),
    ]
    assert engine.latency_sum_ms == 0.125
    assert engine.metadata.builder_precision is None


def test_the_table_of_old_versions(tmp_path: Path) -> None:
    head, rows = (
        "   Layer   Time (ms)   Avg. Time (ms)   Time %",
        "  images to nvm       33.99           0.0852      1.1",
    )
    text = PROFILE.replace("   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer", head)
    kept = [line for line in text.splitlines() if "conv + relu" not in line and "5 a layer" not in line]
    place = next(number for number, line in enumerate(kept) if head in line) + 1
    total = next(number for number, line in enumerate(kept) if "Total" in line)
    kept[total] = f"{STAMP} [I]   Total       33.99           0.0852      100.0"
    kept.insert(place, f"{STAMP} [I] {rows}")
    (tmp_path / "a.log").write_text("\n".join(kept) + "\n")
    table = read_build_log(tmp_path / "a.log").profile
    assert table is not None
    (row,) = table.rows
    assert (row.name, row.total_ms, row.average_ms, row.median_ms, row.percentage) == (
        "images to nvm",
        33.99,
        0.0852,
        None,
        1.1,
    )
    assert table.total is not None


def test_json_files_win(tmp_path: Path) -> None:
    (tmp_path / "net.build.log").write_text(BUILD)
    (tmp_path / "net.profile.log").write_text(PROFILE)
    write_graph(tmp_path / "net.graph.json", [layer("other", inputs=[tensor("a", 1)])])
    engine = load_engine(tmp_path / "net.build.log")
    assert [one.name for one in engine.layers] == ["other"]
    assert not engine.has_profile  # times of a log must not be mixed with layers of another file
    write_profile(tmp_path / "net.profile.json", [("other", 0.5)])
    assert load_engine(tmp_path).layers[0].latency_ms == 0.5
    metadata = {
        "performance_summary": {"Throughput": 1.0},
        "device_information": {"Selected Device": "other GPU"},
    }
    (tmp_path / "net.profile.metadata.json").write_text(json.dumps(metadata))
    assert load_engine(tmp_path).device_name == "other GPU"


def test_a_log_that_tells_of_no_layer(tmp_path: Path) -> None:
    (tmp_path / "net.build.log").write_text("\n".join(BUILD.splitlines()[:8]) + "\n")
    with pytest.raises(
        ArtifactError, match=r"net\.build\.log: has no layers and no times; needs --dumpLayerInfo"
    ):
        load_engine(tmp_path / "net.build.log")


@real
def test_real_logs_open() -> None:
    counts: dict[str, list[int]] = {}
    for path in sorted(LOGS.glob("*.log")):
        engine = load_engine(path)
        counts.setdefault(path.name[:9], []).append(len(engine.layers))
        assert engine.device_name
        assert engine.tensorrt_version == path.name[3 : path.name.index("_")]
    assert counts == {"trt10.16.": [6, 15, 0, 9], "trt8.4.1_": [12], "trt8.6.0_": [15, 15]}
    detailed = load_engine(LOGS / "trt10.16.1_H100_skipInference_dumpLayerInfo_detailed.log")
    conv = detailed.layers[0]
    assert conv.tactic is not None
    assert (conv.weights_bytes, conv.stream, conv.onnx_nodes) == (832 * 4, 0, ("node_conv2d", "node_relu"))
    assert [(one.name, one.is_input) for one in detailed.bindings] == [
        ("x", True),
        ("y", False),
        ("z", False),
    ]


# --- joined with the engine ---------------------------------------------------------------------------------------------


def engine_with(folder: Path, **attributes: object):  # type: ignore[no-untyped-def]
    raw = layer(
        "conv + relu",
        "CaskConvolution",
        [tensor("in", 1, 4, dtype="Row major linear FP32")],
        [tensor("out", 1, 4, dtype="Channel major FP16 format where channel % 8 == 0")],
        **attributes,
    )
    write_graph(folder / "net.graph.json", [raw, layer("unknown to the log")])
    return load_engine(folder / "net.graph.json")


def test_join_by_tactic(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(BUILD)
    trace = read_build_log(tmp_path / "x.log")
    found, unknown = layer_choices(
        trace, engine_with(tmp_path, TacticValue="0x0000000000000002", TacticName="kernel b")
    )
    assert (found.agrees, found.is_ambiguous) == (True, False)
    assert found.chosen is not None
    assert found.second is not None
    assert (found.chosen.id, found.chosen.time_ms, found.second.id, found.margin_pct) == (2, 0.25, 1, 100.0)
    assert found.fastest == found.chosen
    assert (unknown.tuning, unknown.agrees, unknown.chosen) == (None, None, None)
    assert not found.is_near_tie


def test_join_that_disagrees_says_so(tmp_path: Path) -> None:
    (tmp_path / "x.log").write_text(BUILD)
    trace = read_build_log(tmp_path / "x.log")
    other, _ = layer_choices(trace, engine_with(tmp_path, TacticValue="0x0000000000000009"))
    assert (other.agrees, other.combination, other.chosen) == (False, None, None)
    silent, _ = layer_choices(trace, engine_with(tmp_path))
    assert silent.agrees is None
    assert silent.combination is not None  # the only one tried


def test_a_choice_that_is_not_the_fastest(tmp_path: Path) -> None:
    text = BUILD.replace(
        "Chose Runner Type: CaskConvolution Tactic: 0x0000000000000002",
        "Chose Runner Type: CaskConvolution Tactic: 0x0000000000000001",
    )
    (tmp_path / "x.log").write_text(text)
    trace = read_build_log(tmp_path / "x.log")
    found, _ = layer_choices(trace, engine_with(tmp_path, TacticValue="0x0000000000000001"))
    assert found.chosen is not None
    assert found.fastest is not None
    assert (found.chosen.id, found.fastest.id, found.margin_pct) == (1, 2, -50.0)


@real
def test_kernels_inside_myelin_layers_find_their_table(tmp_path: Path) -> None:
    trace = read_build_log(LOGS / "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log")
    (tuning,) = [
        one
        for one in trace.tunings
        if one.strategy == 3 and one.name == "{ForeignNode[node_conv2d_1...node_relu_1]}"
    ]
    (combination,) = [one for one in tuning.combinations if one.inputs[0].startswith("Half(784")]
    (table,) = combination.runners[0].myelin
    write_graph(
        tmp_path / "net.graph.json",
        [
            layer(
                "node_conv2d_1_myl3_1",
                "conv",
                [tensor("a", 1, 32, 14, 14)],
                [tensor("b", 1, 64, 14, 14)],
                TacticName=table.tactics[0].kernel,
                Metadata="[ONNX Layer: node_conv2d_1]\x1e[ONNX Layer: node_relu_1]",
            )
        ],
    )
    (choice,) = layer_choices(trace, load_engine(tmp_path))
    assert choice.tuning is tuning
    assert choice.table is not None
    assert choice.agrees is True
    assert choice.chosen is not None
    assert choice.second is not None
    assert choice.chosen.time_ms == table.tactics[0].time_ms
    assert choice.second.time_ms == table.tactics[1].time_ms


@real
def test_order_by_tuning_time() -> None:
    trace = read_build_log(LOGS / "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log")
    times = [one.seconds for one in by_tuning_time(trace)]
    assert times == sorted((one or 0.0 for one in times), reverse=True)
    assert build_seconds(trace.phases) == 9.55249
    assert build_seconds(()) is None


@real
def test_metadata_is_what_trex_writes_but_whole() -> None:
    trace = read_build_log(LOGS / "trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log")
    document = as_records.metadata_document(trace)
    assert list(document) == [
        "model_options",
        "build_options",
        "performance_summary",
        "inference_options",
        "device_information",
    ]
    assert document["build_options"]["Memory Pools"].endswith("dlaGlobalDRAM: default")
    assert document["performance_summary"]["Latency"] == [0.157104, 0.453369, 0.160819, 0.160095, 0.167969]
    assert document["performance_summary"]["Throughput"] == 6175.47
    device = document["device_information"]
    assert (device["SMs"], device["Compute Clock Rate"], device["Memory Bus Width"]) == (16.0, 1.645, 256.0)
    loaded = as_records.metadata_document(
        read_build_log(LOGS / "trt10.16.1_H100_loadEngine_cudagraph_verbose.log")
    )
    assert list(loaded) == ["performance_summary", "inference_options", "device_information"]


@real
@pytest.mark.parametrize("log", sorted(LOGS.glob("*.log")), ids=lambda path: path.name[:40])
def test_an_engine_out_of_a_log_ran_what_its_log_lists(log: Path) -> None:
    trace = read_build_log(log)
    if trace.dump is None:
        pytest.skip("lists no layers")
    listed = [(choice.name, choice.combination) for choice in layer_choices(trace)]
    assert [(choice.name, choice.combination) for choice in layer_choices(trace, load_engine(log))] == listed
