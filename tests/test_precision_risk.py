"""`trex-tui precision-risk`: planted overflow, cancellation and tiny variances are found; a real model runs in time."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from helpers import ARTIFACTS, REPOSITORY, THOROUGH
from trex_tui.cli.main import main

needs_models = pytest.mark.skipif(not (ARTIFACTS / "onnx").is_dir(), reason="no real models")
F32, F16 = TensorProto.FLOAT, TensorProto.FLOAT16
PLANTED = {
    "scale_up": "overflow",
    "after_scale": "overflowing input",
    "norm": "inner overflow",
    "difference": "rounding",
    "variance": "rounding",
    "add_epsilon": "rounding",
    "root": "rounding",
}


def _planted(path: Path, kind: int = F32) -> Path:
    """A model with an overflow, a normalization of large values, a cancellation and a variance of 1e-9 among plain nodes."""
    dtype = np.float32 if kind == F32 else np.float16
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"], "plain"),
        helper.make_node("Relu", ["a"], ["r"], "relu"),
        helper.make_node("Mul", ["r", "thousand"], ["b"], "scale_up"),
        helper.make_node("Mul", ["b", "thousandth"], ["c"], "after_scale"),
        helper.make_node("Mul", ["r", "ten"], ["d"], "grow"),
        helper.make_node("LayerNormalization", ["d", "one"], ["n"], "norm", axis=-1),
        helper.make_node("Add", ["r", "tiny"], ["s"], "shift"),
        helper.make_node("Sub", ["s", "r"], ["t"], "difference"),
        helper.make_node("Mul", ["r", "nano"], ["v"], "variance"),
        helper.make_node("Add", ["v", "epsilon"], ["e"], "add_epsilon"),
        helper.make_node("Sqrt", ["e"], ["q"], "root"),
        helper.make_node("Concat", ["c", "n", "t", "q"], ["y"], "join", axis=0),
    ]
    constants = {
        "thousand": 5000,
        "thousandth": 1e-3,
        "ten": 10,
        "tiny": 1e-4,
        "nano": 1e-12,
        "epsilon": 1e-12,
    }
    weights = [numpy_helper.from_array(np.asarray(value, dtype), name) for name, value in constants.items()]
    weights += [numpy_helper.from_array(np.ones(8, dtype), "one")]
    weights += [numpy_helper.from_array(np.eye(8, dtype=dtype) * 50, "w")]
    values = [
        helper.make_tensor_value_info(name, kind, shape) for name, shape in (("x", ["n", 8]), ("y", None))
    ]
    graph = helper.make_graph(nodes, "planted", values[:1], values[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def _ask(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> Any:
    assert main(["precision-risk", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_planted_risks_are_found_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = _planted(tmp_path / "planted.onnx")
    document = _ask(capsys, "--onnx", str(model), "--shapes", "x:4x8", "--range", "x:0.5:1")
    risks = {row["node"]: row["risk"] for row in document["nodes"]}
    assert {node: risk for node, risk in risks.items() if risk} == PLANTED
    assert {"plain", "relu", "grow", "shift"} <= risks.keys()
    assert document["nodes_fp32"] == [row["node"] for row in document["nodes"][: len(PLANTED)]]
    assert "--layerPrecisions=" in document["layer_precisions"]
    assert "scale_up:fp32" in shlex.split(document["layer_precisions"])[1]


def test_magnitudes_are_those_of_numpy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = _planted(tmp_path / "planted.onnx")
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    x = np.linspace(0.1, 1, 16, dtype=np.float32).reshape(2, 8)
    np.save(inputs / "x.npy", x)
    document = _ask(capsys, "--onnx", str(model), "--shapes", "x:2x8", "--inputs", str(inputs))
    rows = {row["node"]: row for row in document["nodes"]}
    scaled = np.maximum(x * np.float32(50), 0) * np.float32(5000)
    assert rows["scale_up"]["max_abs_value"] == pytest.approx(scaled.max())
    assert rows["scale_up"]["over_fp16_pct"] == pytest.approx(100 * np.mean(scaled > 65504))
    rounded = x.astype(np.float16).astype(np.float32) * np.float32(50)
    exact = x * np.float32(50)
    error = np.linalg.norm(rounded - exact) / np.linalg.norm(exact)
    assert rows["plain"]["fp16_error"] == pytest.approx(error, rel=1e-3)
    assert rows["plain"]["bf16_error"] > 4 * rows["plain"]["fp16_error"]
    assert rows["norm"]["inner_max_value"] == pytest.approx((500 * x.max()) ** 2, rel=1e-5)
    assert document["inputs"]["kind"] == "files"


def test_a_model_in_fp16_is_widened(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = _planted(tmp_path / "half.onnx", F16)
    document = _ask(capsys, "--onnx", str(model), "--shapes", "x:4x8", "--range", "x:0.5:1")
    risks = {row["node"]: row["risk"] for row in document["nodes"]}
    assert risks["scale_up"] == "overflow"
    largest = max(row["max_abs_value"] for row in document["nodes"])
    assert largest > 65504  # not infinite, as it would be in FP16


def test_loops_and_branches_are_one_node_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    branches = [
        helper.make_graph(
            [helper.make_node("Mul", ["x", factor], [f"{factor}_out"], f"inner_{factor}")],
            factor,
            [],
            [helper.make_tensor_value_info(f"{factor}_out", F32, [4])],
        )
        for factor in ("small", "large")
    ]
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["total"], "sum", keepdims=0),
        helper.make_node("Greater", ["total", "zero"], ["is_large"], "greater"),
        helper.make_node(
            "If", ["is_large"], ["y"], "branch", then_branch=branches[1], else_branch=branches[0]
        ),
    ]
    weights = {"small": 1.0, "large": 1e6, "zero": 0.0}
    graph = helper.make_graph(
        nodes,
        "branches",
        [helper.make_tensor_value_info("x", F32, [4])],
        [helper.make_tensor_value_info("y", F32, [4])],
        [numpy_helper.from_array(np.float32(value), name) for name, value in weights.items()],
    )
    path = tmp_path / "branches.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    document = _ask(capsys, "--onnx", str(path), "--range", "x:0.5:1")
    assert {row["node"]: row["risk"] for row in document["nodes"]} == {"branch": "overflow", "sum": ""}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--onnx", "planted.onnx"], "input x has dynamic shapes; add, for example, --shapes x:1x8"),
        (["--onnx", "planted.onnx", "--shapes", "x:4x9"], "--shapes x:4x9 does not match input x"),
        (["--onnx", "planted.onnx", "--shapes", "z:4x8,x:4x8"], "no input z; there are x"),
        (["--onnx", "text.onnx"], "text.onnx: is not an ONNX model"),
        (["--onnx", "missing.onnx"], "--onnx: missing.onnx: does not exist"),
        (["--onnx", "plugin.onnx"], "onnxruntime cannot run node strange (NoSuchOperator)"),
        ([], "the model is missing; add --onnx MODEL"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments, message
) -> None:
    monkeypatch.chdir(tmp_path)
    _planted(tmp_path / "planted.onnx")
    (tmp_path / "text.onnx").write_text("not a model\n" * 40)
    plugin = onnx.load(_planted(tmp_path / "plugin.onnx"))
    plugin.graph.node[0].op_type, plugin.graph.node[0].name = "NoSuchOperator", "strange"
    plugin.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    onnx.save(plugin, tmp_path / "plugin.onnx")
    assert main(["precision-risk", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def _with_weights(name: str, directory: Path) -> Path:
    """A real model, whose weights are not shipped, with random ones."""
    source = ARTIFACTS / "onnx" / f"{name}.onnx"
    path = Path(shutil.copyfile(source, directory / source.name))
    model = onnx.load(path, load_external_data=False)
    places = [{e.key: e.value for e in tensor.external_data} for tensor in model.graph.initializer]
    size = max(int(place["offset"]) + int(place["length"]) for place in places if place)
    values = np.random.default_rng(0).standard_normal(size // 4).astype(np.float32) * 0.02
    values.tofile(directory / f"{name}.weights")
    return path


@needs_models
def test_nodes_are_joined_to_the_layers_of_an_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = _with_weights("alexnet", tmp_path)
    loud = onnx.load(model)
    weight = next(tensor for tensor in loud.graph.initializer if tensor.name == "features.3.bias")
    weight.CopyFrom(numpy_helper.from_array(np.full(192, 1e6, np.float32), weight.name))
    onnx.save(loud, model)
    document = _ask(capsys, str(REPOSITORY / "sample_artifacts/alexnet"), "--onnx", str(model))
    rows = {row["node"]: row for row in document["nodes"]}
    row = rows["/features/features.3/Conv"]
    assert row["risk"] == "overflow"
    assert "/features/features.3/Conv" in row["layer"]
    assert row["layer_precision"] == "FP16"
    assert main(["precision-risk", str(REPOSITORY / "sample_artifacts/alexnet"), "--onnx", str(model)]) == 0
    assert "run below FP32 in alexnet" in capsys.readouterr().out


@needs_models
def test_the_result_in_a_set_marks_its_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(REPOSITORY / "sample_artifacts/alexnet", tmp_path / "set")
    conv, pool = "/features/features.3/Conv", "/features/features.2/MaxPool"
    risks = [
        {"node": conv, "risk": "rounding", "fp16_error": 0.25},
        {"node": "/features/features.4/Relu", "risk": "overflow", "fp16_error": None},
        {"node": pool, "risk": "", "fp16_error": 0.0002},
    ]
    content = {"schema": "trex-tui/precision-risk/1", "nodes": risks}
    (tmp_path / "set/alexnet_fp16.precision-risk.json").write_text(json.dumps(content))
    assert main(["layers", str(tmp_path / "set"), "--columns", "name,fp16_risk,fp16_error", "--json"]) == 0
    rows = {
        row["name"]: (row["fp16_risk"], row["fp16_error"])
        for row in json.loads(capsys.readouterr().out)["layers"]
    }
    assert rows[f"{conv} + /features/features.4/Relu"] == ("overflow", 0.25)
    assert rows[pool] == (None, 0.0002)
    assert main(["lint", str(tmp_path / "set"), "--all", "--json"]) == 0
    (finding,) = [
        one
        for one in json.loads(capsys.readouterr().out)["engines"][0]["findings"]
        if one["rule"] == "PREC007"
    ]
    assert [layer["name"] for layer in finding["layers"]] == [f"{conv} + /features/features.4/Relu"]
    assert "overflow" in finding["message"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "alexnet_fp16.precision-risk.json",
            '{"schema": "trex-tui/precision-risk/1", "nodes": [{"node": "/a',
        ),
        ("alexnet_fp16.precision-risk.json", '{"schema": "trex-tui/precision-risk/1"}'),
        (
            "alexnet_fp16.accuracy/output_diff.json",
            '{"schema": "trex-tui/accuracy/2", "outputs": [{"name": "x", "m',
        ),
    ],
)
def test_a_damaged_result_is_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str
) -> None:
    shutil.copytree(REPOSITORY / "sample_artifacts/alexnet", tmp_path / "set")
    (tmp_path / "set" / name).parent.mkdir(exist_ok=True)
    (tmp_path / "set" / name).write_text(text)
    for command in ("summary", "layers", "engines", "lint"):
        assert main([command, str(tmp_path / "set"), "--strict", "--json"]) == 2
        assert Path(name).name in capsys.readouterr().out


@needs_models
def test_missing_weights_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copyfile(ARTIFACTS / "onnx/resnet18.onnx", tmp_path / "resnet18.onnx")
    assert main(["precision-risk", "--onnx", str(tmp_path / "resnet18.onnx")]) == 2
    assert (
        "its weights resnet18.weights are missing; copy that file beside the model" in capsys.readouterr().err
    )


@pytest.mark.skipif(not THOROUGH, reason="takes 20 s; TREX_TUI_THOROUGH=1 runs it")
@needs_models
def test_a_transformer_takes_less_than_two_minutes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = _ask(capsys, "--onnx", str(_with_weights("vit_b_16", tmp_path)))
    assert len(document["nodes"]) > 500


@needs_models
def test_damage_of_the_set_is_stated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = _with_weights("alexnet", tmp_path)
    shutil.copytree(REPOSITORY / "sample_artifacts/damaged", tmp_path / "set")
    assert main(["precision-risk", str(tmp_path / "set"), "--onnx", str(model), "--json", "--strict"]) == 2
    assert "is truncated" in json.dumps(json.loads(capsys.readouterr().out)["diagnostics"])
