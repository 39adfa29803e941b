"""`trex-tui dla`: the documented limits of the DLA applied to models, and the subgraphs that result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from helpers import ARTIFACTS
from trex_tui.cli.main import main

F32 = TensorProto.FLOAT


def save(
    path: Path, nodes: list[Any], shape: tuple[Any, ...] = (1, 8, 16, 16), **weights: tuple[int, ...]
) -> Path:
    """A model with input x and output y of any shape."""
    constants = [numpy_helper.from_array(np.ones(size, np.float32), name) for name, size in weights.items()]
    inputs, outputs = (
        [helper.make_tensor_value_info("x", F32, shape)],
        [helper.make_tensor_value_info("y", F32, None)],
    )
    graph = helper.make_graph(nodes, "net", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def ask(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:
    assert main(["dla", "--onnx", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def reasons(document: Any) -> dict[str, str]:
    return {row["node"]: row["reason"] for row in document["nodes"] if row["device"] == "GPU"}


def test_an_operator_in_the_middle_splits_the_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv1", pads=[1] * 4),
        helper.make_node("Erf", ["a"], ["b"], "erf"),
        helper.make_node("Conv", ["b", "w"], ["c"], "conv2", pads=[1] * 4),
        helper.make_node("Relu", ["c"], ["d"], "relu"),
        helper.make_node("Add", ["d", "a"], ["y"], "add"),
    ]
    document = ask(capsys, save(tmp_path / "net.onnx", nodes, w=(8, 8, 3, 3)))
    subgraphs = {row["node"]: row["subgraph"] for row in document["nodes"]}
    assert subgraphs == {"conv1": 0, "erf": None, "conv2": 1, "relu": 1, "add": 1}
    assert document["subgraphs"] == 2
    assert document["dla_macs_pct"] == 100
    # conv1 -> erf and erf -> conv2; conv1 -> add stays on the DLA
    assert document["crossings"] == 2
    assert document["crossings_bytes"] == 2 * 8 * 16 * 16 * 2
    (reason,) = document["reasons"]
    assert (reason["reason"], reason["subgraphs_without"]) == ("Erf: not supported by the DLA", 1)
    assert reason["change"] == "Relu, or Sigmoid and Mul"


@pytest.mark.parametrize(
    ("node", "weights", "reason"),
    [
        (("Conv", ["x", "w"], {"strides": [16, 16]}), {"w": (8, 8, 3, 3)}, "Conv: stride above 8"),
        (("Conv", ["x", "w"], {"pads": [17] * 4}), {"w": (8, 8, 33, 33)}, "Conv: kernel above 32"),
        (("MaxPool", ["x"], {"kernel_shape": [9, 9]}), {}, "MaxPool: kernel above 8"),
        (("ConvTranspose", ["x", "w"], {"pads": [1] * 4}), {"w": (8, 8, 3, 3)}, "ConvTranspose: padding"),
        (("Concat", ["x", "x"], {"axis": 2}), {}, "Concat: not along channels"),
        (("MatMul", ["x", "x"], {}), {}, "MatMul: both operands are computed"),
        (("Softmax", ["x"], {"axis": 1}), {}, ""),
        (("Relu", ["x"], {}), {}, ""),
        (("GlobalAveragePool", ["x"], {}), {}, "GlobalAveragePool: not supported by the DLA"),
    ],
)
def test_limits_of_operators(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], node: Any, weights: Any, reason: str
) -> None:
    op, inputs, attributes = node
    if op == "Conv" and "w" in weights:
        attributes = {"kernel_shape": list(weights["w"][2:]), **attributes}
    nodes = [helper.make_node(op, inputs, ["y"], "node", **attributes)]
    document = ask(capsys, save(tmp_path / "net.onnx", nodes, **weights))
    assert reasons(document) == ({"node": reason} if reason else {})


def test_dynamic_shapes_need_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path / "net.onnx", [helper.make_node("Relu", ["x"], ["y"], "relu")], ("n", 8, 16, 16))
    document = ask(capsys, path)
    assert reasons(document) == {"relu": "dynamic or unknown shape"}
    assert "give them with --shapes" in document["doubts"][0]
    assert reasons(ask(capsys, path, "--shapes", "x:1x8x16x16")) == {}
    assert reasons(ask(capsys, path, "--shapes", "x:1x8x9000x16")) == {"relu": "dimension above 8,192"}
    assert main(["dla", "--onnx", str(path), "--shapes", "z:1x8x16x16"]) == 2
    assert "--shapes: no input z; there are x" in capsys.readouterr().err


@pytest.mark.skipif(not (ARTIFACTS / "onnx").is_dir(), reason="no real models")
@pytest.mark.parametrize(("name", "subgraphs"), [("alexnet", 2), ("resnet18", 2), ("mobilenet_v2", 2)])
def test_real_models(name: str, subgraphs: int, capsys: pytest.CaptureFixture[str]) -> None:
    """All but the head runs on the DLA; Flatten is what trtexec's logs name too."""
    path = ARTIFACTS / "onnx" / f"{name}.onnx"
    document = ask(capsys, path)
    assert document["subgraphs"] == subgraphs
    assert "/Flatten" in reasons(document)
    assert document["dla_macs_pct"] > 90
    assert main(["dla", "--onnx", str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(f"can run on the DLA, in {subgraphs} subgraphs.")


@pytest.mark.skipif(not (ARTIFACTS / "onnx").is_dir(), reason="no real models")
def test_a_transformer_exceeds_the_limit(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dla", "--onnx", str(ARTIFACTS / "onnx/vit_b_16.onnx")]) == 0
    text = capsys.readouterr().out
    assert "A DLA core holds 16 subgraphs" in text
    assert "Largest cause: MatMul: both operands are computed (24 nodes)" in text


def test_no_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.onnx").write_text("no model")
    for name in ("net.onnx", "missing.onnx"):
        assert main(["dla", "--onnx", str(tmp_path / name)]) == 2
        assert capsys.readouterr().err.count("\n") == 1
