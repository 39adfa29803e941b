"""The ONNX model of an engine: its nodes at the layers, also inside closed blocks."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from helpers import ARTIFACTS, layer, tensor, write_graph
from trex_tui.__main__ import main

onnx = pytest.importorskip("onnx")
MODELS = ARTIFACTS / "onnx"
ENGINES = {
    name: ARTIFACTS / "edge-vision" / "results" / name / f"{name}_fp16.graph.json"
    for name in ("alexnet", "resnet18", "mobilenet_v2")
}
real = pytest.mark.skipif(not MODELS.is_dir(), reason="no real models")


def make_model(
    path: Path, nodes: list[Any], initializers: list[Any] = (), inputs: Any = None, outputs: Any = None
) -> Path:  # type: ignore[assignment]
    """Write a model whose inputs and outputs have four elements unless stated."""

    def infos(names: Any) -> list[Any]:
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in names.items()
        ]

    graph = helper.make_graph(
        nodes, "net", infos(inputs or {"x": [1, 4]}), infos(outputs or {"y": [1, 4]}), list(initializers)
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def weight(name: str, shape: list[int], value: float = 1.0) -> Any:
    size = 1
    for extent in shape:
        size *= extent
    return helper.make_tensor(name, TensorProto.FLOAT, shape, [value] * size)


def relu(name: str, source: str, target: str) -> Any:
    return helper.make_node("Relu", [source], [target], name)


def make_engine(tmp_path: Path, *layers: tuple[str, list[str], list[str]]) -> Path:
    """Write layer information; returns its folder."""
    tmp_path.mkdir(parents=True, exist_ok=True)
    listed = [
        layer(
            name,
            inputs=[tensor(source, [1, 4]) for source in inputs],
            outputs=[tensor(target, [1, 4]) for target in outputs],
        )
        for name, inputs, outputs in layers
    ]
    return write_graph(tmp_path / "net.graph.json", listed, bindings=["x", "y"]).parent


@real
def test_layers_have_columns_and_filters_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["layers", str(ENGINES["alexnet"]), "--onnx", str(MODELS / "alexnet.onnx"), "--json"]
    assert (
        main(
            [
                *arguments,
                "--filter",
                "op:Gemm",
                "--columns",
                "name,onnx_ops,onnx_macs,onnx_params,onnx_params_bytes",
            ]
        )
        == 0
    )
    rows = json.loads(capsys.readouterr().out)["layers"]
    assert [row["onnx_macs"] for row in rows] == [37748736, 16777216, 4096000]
    assert rows[0]["onnx_ops"] == ["Gemm", "Relu"]
    assert rows[2]["onnx_params"] == 4096 * 1000 + 1000
    assert rows[2]["onnx_params_bytes"] == 4 * (4096 * 1000 + 1000)


def test_files_that_are_no_model_cost_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = make_engine(tmp_path, ("a", ["x"], ["y"]))
    whole = make_model(tmp_path / "whole.onnx", [relu("a", "x", "y")]).read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "noise.onnx").write_bytes(random.Random(1).randbytes(5000))
    with (tmp_path / "huge.onnx").open("wb") as file:
        file.truncate(3 << 30)
    for name, words in {
        "cut": "is not an ONNX model, or is damaged",
        "empty": "is not an ONNX model, or is damaged",
        "noise": "is not an ONNX model, or is damaged",
        "huge": "is too large: 3.0 GiB",
    }.items():
        command = ["layers", str(engine), "--onnx", str(tmp_path / f"{name}.onnx"), "--json"]
        assert main(command) == 0
        out, err = capsys.readouterr()
        assert words in err, name
        errors = [note["file"] for note in json.loads(out)["diagnostics"] if note["severity"] == "error"]
        assert errors == [str(tmp_path / f"{name}.onnx")]
        assert main([*command, "--strict"]) == 2
        capsys.readouterr()
    assert main(["layers", str(engine), "--onnx", str(tmp_path / "absent.onnx")]) == 2
    assert "does not exist; check the path" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["layers", str(engine), "--onnx", str(tmp_path / "whole.onnx"), "--json"]) == 0
    assert "install trex-tui with its extra onnx" in capsys.readouterr().err


@pytest.mark.parametrize(("depth", "is_read"), [(4, True), (20, False)])
def test_nested_subgraphs_are_read_up_to_a_depth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], depth: int, is_read: bool
) -> None:
    returned = [helper.make_tensor_value_info("o", TensorProto.FLOAT, [1, 4])]
    graph = helper.make_graph([relu("inner", "x", "o")], "g", [], returned)
    leaf = helper.make_graph([relu("other", "x", "o")], "g", [], returned)
    for level in range(depth):
        choice = helper.make_node("If", ["flag"], ["o"], f"if{level}", then_branch=graph, else_branch=leaf)
        graph = helper.make_graph([choice], "g", [], returned)
    last = helper.make_node("If", ["flag"], ["y"], "d", then_branch=graph, else_branch=leaf)
    make_model(tmp_path / "m.onnx", [relu("a", "x", "b"), last])
    engine = make_engine(tmp_path / "set", ("{ForeignNode[a...d]}", ["x"], ["y"]))
    assert main(["layers", str(engine), "--onnx", str(tmp_path / "m.onnx")]) == 0
    error = capsys.readouterr().err
    assert error.count("\n") == (0 if is_read else 1), error
    assert is_read or error.endswith("m.onnx: is nested too deeply; flatten its If, Loop and Scan nodes\n"), (
        error
    )


def test_external_data_and_impossible_extents_cost_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No path in the model is followed, and no tensor is allocated."""
    outside = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[-4, 1 << 62, 1 << 62])
    outside.data_location = TensorProto.EXTERNAL
    outside.external_data.add(key="location", value="../outside.bin")
    (tmp_path / "outside.bin").mkdir()
    nodes = [relu("a", "x", "b"), helper.make_node("Mul", ["b", "w"], ["y"], "d")]
    (tmp_path / "models").mkdir()
    model = make_model(tmp_path / "models" / "m.onnx", nodes, [outside])
    engine = make_engine(tmp_path / "set", ("{ForeignNode[a...d]}", ["x"], ["y"]))
    assert (
        main(["layers", str(engine), "--onnx", str(model), "--json", "--columns", "onnx_ops,onnx_params"])
        == 0
    )
    (row,) = json.loads(capsys.readouterr().out)["layers"]
    assert (row["onnx_ops"], row["onnx_params"]) == (["Mul", "Relu"], 0)


@real
def test_summary_has_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["summary", str(ENGINES["resnet18"]), "--onnx", str(MODELS / "resnet18.onnx")]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["engines"][0]["onnx"]
    assert (document["nodes"], document["nodes_in_layers"], document["nodes_in_no_layer"]) == (
        49,
        48,
        ["/Flatten"],
    )
    assert (document["params"], document["params_bytes"]) == (11_684_712, 46_738_848)
    assert document["names_found"] == document["names_stated"] == 48
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "48 of 49 in layers, 0 folded, 1 in no layer: /Flatten" in shown
    assert "engine 22.3 MiB (50.00 %)" in shown


def test_a_closed_block_has_its_operators_and_nodes_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["p"], "product"),
        relu("act", "p", "q"),
        helper.make_node("MatMul", ["q", "w"], ["y"], "again"),
    ]
    outputs = {"y": [2, 4]}
    path = make_model(tmp_path / "m.onnx", nodes, [weight("w", [4, 4])], {"x": [2, 4]}, outputs)
    directory = make_engine(tmp_path / "set", ("{ForeignNode[product...again]}", ["x"], ["y"]))
    document = json.loads((directory / "net.graph.json").read_text().replace("[1, 4]", "[2, 4]"))
    (directory / "net.graph.json").write_text(json.dumps(document))
    assert main(["summary", str(directory), "--onnx", str(path), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    (block,) = summary["engines"][0]["onnx"]["blocks"]
    # 2 x 4 x 4 multiply-accumulates each; 64 bytes of weights, which both products share
    assert (block["layer"], block["macs"], block["params"], block["params_bytes"]) == (0, 64, 16, 64)
    assert block["operators"] == {"MatMul": 2, "Relu": 1}
    assert [node["name"] for node in block["nodes"]] == ["product", "act", "again"]
    assert main(["summary", str(directory), "--onnx", str(path)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert any(
        line.startswith("0  {ForeignNode[product...again]}") and line.endswith("MatMul ×2, Relu")
        for line in shown
    )


def test_work_of_a_block_is_unknown_where_a_shape_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("Mystery", ["x"], ["p"], "mystery", domain="custom"),
        helper.make_node("MatMul", ["p", "w"], ["y"], "product"),
    ]
    path = make_model(tmp_path / "m.onnx", nodes, [weight("w", [4, 4])])
    directory = make_engine(tmp_path / "set", ("{ForeignNode[mystery...product]}", ["x"], ["y"]))
    assert main(["summary", str(directory), "--onnx", str(path), "--json"]) == 0
    (block,) = json.loads(capsys.readouterr().out)["engines"][0]["onnx"]["blocks"]
    assert (block["macs"], block["params_bytes"]) == (None, 64)


def test_every_key_of_the_model_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_model(tmp_path / "m.onnx", [relu("a", "x", "b"), relu("lost", "b", "y")])
    directory = make_engine(tmp_path, ("a", ["x"], ["b"]), ("Identity", ["t1"], ["t2"]))
    assert main(["summary", str(directory), "--onnx", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["engines"][0]["onnx"]["nodes_in_no_layer"] == ["lost"]
    for key in document["engines"][0]["onnx"]:
        if key not in ("file", "names_missing", "blocks"):
            assert main(["explain", f"onnx.{key}"]) == 0
            assert "ONNX model (`summary`)" in capsys.readouterr().out


def test_a_model_of_another_engine_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = make_model(tmp_path / "m.onnx", [relu("p", "x", "b"), relu("q", "b", "y")])
    layers = [(name, [f"t{step}"], [f"t{step + 1}"]) for step, name in enumerate("abcd")]
    directory = make_engine(tmp_path / "set", *layers)
    assert main(["summary", str(directory), "--onnx", str(model), "--json"]) == 0
    (engine,) = json.loads(capsys.readouterr().out)["engines"]
    assert engine["onnx"] is None
    assert "the model has 0 of 4 node names" in engine["diagnostics"][-1]["message"]
