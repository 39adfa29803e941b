"""The committed sample sets: up to date with their generator, consistent, and true to the facts they model."""

import importlib
import json
import math
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SAMPLES = ROOT / "tests/old/sample_artifacts"
COMPLETE = {
    "alexnet": "alexnet_fp16",
    "alexnet_fp32": "alexnet_fp32",
    "alexnet_int8": "alexnet.qat.onnx.engine",
    "transformer_fp8": "encoder_fp8",
}
STEMS = {**COMPLETE, "names_only": "squeezenet_fp16"}
KINDS = (
    "graph.json",
    "profile.json",
    "timing.json",
    "build.log",
    "profile.log",
    "build.metadata.json",
    "profile.metadata.json",
)
WARMUP_MS = {"alexnet": 5000, "alexnet_fp32": 5000, "alexnet_int8": 200, "transformer_fp8": 200}
TIMING_KEYS = [
    "startEnqMs",
    "endEnqMs",
    "startH2dMs",
    "endH2dMs",
    "startComputeMs",
    "endComputeMs",
    "startD2hMs",
    "endD2hMs",
    "h2dMs",
    "computeMs",
    "d2hMs",
    "latencyMs",
]

every_set = pytest.mark.parametrize("name", STEMS)
every_complete_set = pytest.mark.parametrize("name", COMPLETE)


def path_of(name: str, kind: str) -> Path:
    return SAMPLES / name / f"{STEMS[name]}.{kind}"


def load(name: str, kind: str):
    return json.loads(path_of(name, kind).read_bytes())


def layer_name(layer) -> str:
    return layer if isinstance(layer, str) else layer["Name"]


def shares(name: str) -> Counter:
    """Percentage of the layers' time per layer type."""
    found = Counter()
    layers = load(name, "graph.json")["Layers"]
    for layer, row in zip(layers, load(name, "profile.json")[1:], strict=True):
        found[layer["LayerType"]] += row["percentage"]
    return found


def measured(name: str):
    return [row for row in load(name, "timing.json") if row["startComputeMs"] >= WARMUP_MS[name]]


def percentile(ordered, percent):
    return ordered[len(ordered) - 1 - int((1 - percent / 100) * len(ordered))]


@pytest.fixture(scope="module")
def regenerated(tmp_path_factory):
    directory = tmp_path_factory.mktemp("samples")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        try:
            importlib.import_module("make_samples").write_samples(directory)
        finally:
            for module in [one for one in sys.modules if one.split(".")[0] in ("samples", "make_samples")]:
                del sys.modules[module]
    return directory


def test_committed_files_are_what_the_script_writes(regenerated):
    fresh = {path.relative_to(regenerated): path for path in regenerated.rglob("*") if path.is_file()}
    committed = {path.relative_to(SAMPLES) for path in SAMPLES.rglob("*") if path.is_file()}
    assert committed - {Path("README.md")} == set(fresh)
    different = [
        str(name) for name, path in fresh.items() if path.read_bytes() != (SAMPLES / name).read_bytes()
    ]
    assert not different, "run python scripts/make_samples.py"


@every_complete_set
def test_complete_sets_have_all_files(name):
    assert all(path_of(name, kind).is_file() for kind in KINDS)


def test_names_only_has_neither_timing_nor_metadata():
    kinds = {path.name.removeprefix(f"{STEMS['names_only']}.") for path in (SAMPLES / "names_only").iterdir()}
    assert kinds == {"graph.json", "profile.json", "profile.log"}


def test_the_samples_stay_small():
    sizes = {path: path.stat().st_size for path in SAMPLES.rglob("*") if path.is_file()}
    assert sum(sizes.values()) < 3_000_000
    assert all(size < 60_000 for path, size in sizes.items() if path.suffix == ".log")


def test_the_readme_says_what_they_are():
    text = (SAMPLES / "README.md").read_text(encoding="utf-8")
    assert "modelled, not measured" in text
    assert all(f"`{name}`" in text for name in STEMS)


@every_set
def test_profile_lists_the_layers_in_order(name):
    layers = load(name, "graph.json")["Layers"]
    rows = load(name, "profile.json")
    assert [layer_name(layer) for layer in layers] == [row["name"] for row in rows[1:]]


@every_set
def test_profile_adds_up(name):
    (head, *rows) = load(name, "profile.json")
    total = math.fsum(row["timeMs"] for row in rows)
    assert math.fsum(row["percentage"] for row in rows) == pytest.approx(100, abs=0.01)
    for row in rows:
        assert row["timeMs"] == pytest.approx(row["averageMs"] * head["count"], rel=1e-4)
        assert row["percentage"] == pytest.approx(row["timeMs"] / total * 100, rel=1e-4)
        assert row["medianMs"] == pytest.approx(row["averageMs"], rel=0.02)


@every_set
def test_physical_layout_of_profile_and_graph(name):
    profile = path_of(name, "profile.json").read_text()
    assert profile.startswith('[\n  { "count" : ')
    assert '\n, { "name" : "' in profile
    assert profile.endswith(" }\n]\n")
    start = '{"Layers": ["' if name == "names_only" else '{"Layers": [{\n  "Name": "'
    assert path_of(name, "graph.json").read_text().startswith(start)


@every_complete_set
def test_timing_rows(name):
    rows = load(name, "timing.json")
    assert all(list(row) == TIMING_KEYS for row in rows)
    assert all(row["h2dMs"] == row["d2hMs"] == 0 for row in rows)
    assert all(row["latencyMs"] == row["computeMs"] for row in rows)
    before = len(rows) - len(measured(name))
    assert before > 500 if name == "alexnet_int8" else before == 0


@every_complete_set
def test_summary_follows_from_the_timing_rows(name):
    rows = measured(name)
    summary = load(name, "profile.metadata.json")["performance_summary"]
    times = sorted(row["computeMs"] for row in rows)
    middle = len(times) // 2
    median = times[middle] if len(times) % 2 else (times[middle - 1] + times[middle]) / 2
    tail = [percentile(times, percent) for percent in (90, 95, 99)]
    expected = [times[0], times[-1], math.fsum(times) / len(times), median, *tail]
    assert summary["GPU Compute Time"] == pytest.approx(expected, rel=1e-5)
    assert summary["Latency"] == summary["GPU Compute Time"]
    assert summary["H2D Latency"] == summary["D2H Latency"] == [0.0] * 7
    wall = summary["Total Host Walltime"]
    assert summary["Throughput"] == pytest.approx(len(rows) / wall, rel=1e-4)
    assert wall == pytest.approx((rows[-1]["endD2hMs"] - rows[0]["startH2dMs"]) / 1000, rel=1e-4)
    assert summary["Total GPU Compute Time"] == pytest.approx(math.fsum(times) / 1000, rel=1e-5)


@every_complete_set
def test_metadata_repeats_the_log(name):
    log = path_of(name, "profile.log").read_text()
    summary = load(name, "profile.metadata.json")["performance_summary"]
    assert f"] [I] Throughput: {summary['Throughput']:g} qps\n" in log
    assert f"median = {summary['Latency'][3]:g} ms" in log
    pools = load(name, "build.metadata.json")["build_options"]["Memory Pools"]
    assert pools.startswith("workspace: default") if name == "transformer_fp8" else pools == "workspace"


@every_set
def test_logs_begin_and_end_with_a_banner(name):
    versions = {"alexnet_int8": "v8502", "transformer_fp8": "v110000", "names_only": "v8601"}
    for path in (SAMPLES / name).glob("*.log"):
        lines = path.read_text().rstrip("\n").split("\n")
        number = versions.get(name, "v100400")
        assert lines[0].startswith(f"&&&& RUNNING TensorRT.trtexec [TensorRT {number}]")
        assert lines[-1] == lines[0].replace("RUNNING", "PASSED")


@every_complete_set
def test_every_tensor_has_a_producer_but_inputs_and_constants(name):
    graph = load(name, "graph.json")
    known = set(graph["Bindings"]) if "Bindings" in graph else {one["Name"] for one in graph["I/O Tensors"]}
    for layer in graph["Layers"]:
        unknown = {tensor["Name"] for tensor in layer["Inputs"]} - known
        assert layer["LayerType"] == "gemm" or not unknown
        known |= {tensor["Name"] for tensor in layer["Outputs"]}


def test_alexnet_reproduces_the_published_figures():
    summary = load("alexnet", "profile.metadata.json")["performance_summary"]
    assert summary["Throughput"] == 1995.29
    assert summary["Latency"][3] == pytest.approx(0.499, abs=0.0005)
    found = shares("alexnet")
    assert found["gemm"] == pytest.approx(69, abs=1)
    assert found["CaskConvolution"] == pytest.approx(27, abs=1)
    assert found["CaskPooling"] == pytest.approx(1, abs=0.5)
    device = load("alexnet", "profile.metadata.json")["device_information"]
    assert device["Selected Device"] == "NVIDIA GeForce RTX 3060 Laptop GPU"
    assert (device["SMs"], device["Memory Bus Width"], device["Compute Capability"]) == (30.0, 192.0, 8.6)


def test_alexnet_has_its_published_shapes_and_weights():
    layers = load("alexnet", "graph.json")["Layers"]
    convolutions = [layer for layer in layers if layer["LayerType"] == "CaskConvolution"]
    assert [layer["Outputs"][0]["Dimensions"][1:] for layer in convolutions] == [
        [64, 55, 55],
        [192, 27, 27],
        [384, 13, 13],
        [256, 13, 13],
        [256, 13, 13],
    ]
    parameters = sum(layer["Weights"]["Count"] + layer["Bias"]["Count"] for layer in convolutions)
    for layer in layers:
        if layer["LayerType"] == "gemm":
            weights, bias = layer["Inputs"][1]["Dimensions"], layer["Inputs"][4]["Dimensions"]
            parameters += math.prod(weights) + math.prod(bias)
    assert parameters == 61_100_840


def test_fp32_is_the_same_network_but_slower():
    half, single = (load(name, "graph.json")["Layers"] for name in ("alexnet", "alexnet_fp32"))
    assert [layer["Name"] for layer in half] == [layer["Name"] for layer in single]
    latencies = [
        load(name, "profile.metadata.json")["performance_summary"]["Latency"][3] for name in COMPLETE
    ]
    int8, fp16, fp32 = latencies[2], latencies[0], latencies[1]
    assert int8 < fp16 < fp32 == pytest.approx(0.9, abs=0.05)


def test_int8_shows_what_it_was_made_for():
    layers = load("alexnet_int8", "graph.json")["Layers"]
    assert not any("StreamId" in layer or "Metadata" in layer for layer in layers)
    names = Counter(layer["Name"] for layer in layers)
    assert [count for count in names.values() if count > 1] == [2]
    kinds = Counter(layer["LayerType"] for layer in layers)
    assert (kinds["Scale"], kinds["NoOp"]) == (1, 2)
    assert "QDQ" in {layer.get("Origin") for layer in layers}


def test_transformer_shows_what_it_was_made_for():
    graph = load("transformer_fp8", "graph.json")
    assert list(graph) == ["Layers", "I/O Tensors", "ProfilingVerbosity", "Engine Metadata"]
    layers = graph["Layers"]
    assert {layer["StreamId"] for layer in layers} == {0, 1, 2}
    signals, waits = (
        {layer["EventId"]: layer["StreamId"] for layer in layers if layer["LayerType"] == kind}
        for kind in ("signal", "wait")
    )
    assert signals.keys() == waits.keys()
    assert all(signals[event] != waits[event] for event in signals)
    assert sum(layer["Name"].startswith("_gemm_mha_v2") for layer in layers) == 2
    types = {tensor["Datatype"] for layer in layers for tensor in layer["Inputs"] + layer["Outputs"]}
    assert types == {"FP8", "BFloat16", "Half", "Float"}
    dynamic = [one for one in graph["I/O Tensors"] if one["IOMode"] == "Input" and -1 in one["Dimensions"]]
    assert [one["ProfileInfo"][0]["MaxShape"] for one in dynamic] == [[32, 128, 256]]


def test_names_only_log_says_why():
    assert "ProfilingVerbosity::kLAYER_NAMES_ONLY" in path_of("names_only", "profile.log").read_text()
    assert all(isinstance(layer, str) for layer in load("names_only", "graph.json")["Layers"])
