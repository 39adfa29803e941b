"""The ONNX model of an engine: its nodes at the layers, also inside closed blocks."""

from __future__ import annotations

import json
import math
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper

from helpers import ARTIFACTS, REPOSITORY, layer, tensor, write_graph
from trex_tui import full_frame, load_engine
from trex_tui.__main__ import main
from trex_tui.frames import plain_values

onnx = pytest.importorskip("onnx")
MODELS = ARTIFACTS / "onnx"
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
    return helper.make_tensor(name, TensorProto.FLOAT, shape, [value] * math.prod(shape))


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


def test_a_model_of_another_engine_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = make_model(tmp_path / "m.onnx", [relu("p", "x", "b"), relu("q", "b", "y")])
    layers = [(name, [f"t{step}"], [f"t{step + 1}"]) for step, name in enumerate("abcd")]
    directory = make_engine(tmp_path / "set", *layers)
    assert main(["summary", str(directory), "--onnx", str(model), "--json"]) == 0
    (engine,) = json.loads(capsys.readouterr().out)["engines"]
    assert engine["onnx"] is None
    assert "the model has 0 of 4 node names" in engine["diagnostics"][-1]["message"]


def test_nodes_by_name(tmp_path: Path) -> None:
    """Conv → Relu → Flatten → MatMul, of 1×2×4×4."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "/stem/Conv"),
        relu("/stem/Relu", "c", "r"),
        helper.make_node("Flatten", ["r"], ["f"], "/Flatten"),
        helper.make_node("MatMul", ["f", "m"], ["y"], "/head/MatMul"),
    ]
    constants = [weight("w", [3, 2, 3, 3]), weight("m", [12, 5])]
    ends: Any = {"x": [1, 2, 4, 4]}, {"y": [1, 5]}
    model = make_model(tmp_path / "net.onnx", nodes, constants, *ends)
    names = ("/stem/Conv + /stem/Relu", "reshape_before_/head/MatMul", "/head/MatMul")
    engine = load_engine(make_engine(tmp_path, *((name, ["a"], ["b"]) for name in names)), onnx=model)
    assert engine.layers["onnx_nodes"].tolist() == [("/stem/Conv", "/stem/Relu"), (), ("/head/MatMul",)]
    frame = full_frame(engine)
    assert plain_values(frame["onnx_evidence"]) == ["name", None, "name"]
    assert plain_values(frame["onnx_ops"]) == [("Conv", "Relu"), None, ("MatMul",)]
    assert plain_values(frame["onnx_macs"]) == [3 * 2 * 2 * 2 * 9, None, 12 * 5]
    assert plain_values(frame["onnx_params_bytes"]) == [216, None, 240]


@real
@pytest.mark.parametrize(("name", "stated"), [("alexnet", 19), ("resnet18", 48)])
def test_every_node_that_a_real_engine_states_is_in_its_model(name: str, stated: int) -> None:
    engine = load_engine(REPOSITORY / "sample_artifacts" / name, onnx=MODELS / f"{name}.onnx")
    assert len({node for nodes in engine.layers["onnx_nodes"] for node in nodes}) == stated
    assert engine.onnx.missing == ()
    unplaced = {engine.onnx.model.nodes[index].op for index in engine.onnx.unplaced}
    assert not unplaced & {"Conv", "Gemm", "MatMul"}
    frame = full_frame(engine)
    both = frame[frame["macs"].notna() & frame["onnx_macs"].notna()]
    assert (both["macs"] == both["onnx_macs"]).all()
