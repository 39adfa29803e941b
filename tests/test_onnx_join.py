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
from trex_tui import Engine, load_engine, load_engines
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


def make_engine(tmp_path: Path, *layers: tuple[str, list[str], list[str]]) -> Engine:
    tmp_path.mkdir(parents=True, exist_ok=True)
    listed = [
        layer(
            name,
            inputs=[tensor(source, [1, 4]) for source in inputs],
            outputs=[tensor(target, [1, 4]) for target in outputs],
        )
        for name, inputs, outputs in layers
    ]
    return load_engine(write_graph(tmp_path / "net.graph.json", listed, bindings=["x", "y"]), onnx=False)


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
    engine = make_engine(tmp_path, ("a", ["x"], ["y"])).source.directory
    whole = make_model(tmp_path / "whole.onnx", [relu("a", "x", "y")]).read_bytes()
    (tmp_path / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.onnx").touch()
    (tmp_path / "noise.onnx").write_bytes(random.Random(1).randbytes(5000))
    with (tmp_path / "huge.onnx").open("wb") as file:
        file.truncate(3 << 30)
    for name, words in {
        "cut": "damaged",
        "empty": "damaged",
        "noise": "damaged",
        "huge": "is too large: 3.0 GiB",
        "absent": "cannot be read",
    }.items():
        assert main(["layers", str(engine), "--onnx", str(tmp_path / f"{name}.onnx")]) == 2
        assert words in capsys.readouterr().err, name
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert main(["layers", str(engine), "--onnx", str(tmp_path / "whole.onnx")]) == 2
    assert "pip install 'trex-tui[onnx]'" in capsys.readouterr().err


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
    engine = make_engine(tmp_path / "set", ("{ForeignNode[a...d]}", ["x"], ["y"])).source.directory
    assert main(["layers", str(engine), "--onnx", str(tmp_path / "m.onnx")]) == (0 if is_read else 2)
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
    engine = make_engine(tmp_path / "set", ("{ForeignNode[a...d]}", ["x"], ["y"])).source.directory
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
    assert document["engine_weights_by_type"]["FP16"] > 11_000_000
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
    directory = make_engine(
        tmp_path / "set", ("{ForeignNode[product...again]}", ["x"], ["y"])
    ).source.directory
    document = json.loads((directory / "net.graph.json").read_text().replace("[1, 4]", "[2, 4]"))
    (directory / "net.graph.json").write_text(json.dumps(document))
    assert main(["summary", str(directory), "--onnx", str(path), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    (block,) = summary["engines"][0]["onnx"]["blocks"]
    # 2 x 4 x 4 multiply-accumulates each; 64 bytes of weights, 32 of each activation
    assert (block["layer"], block["macs"], block["params"], block["params_bytes"]) == (0, 64, 16, 64)
    product, activation = block["operators"]
    assert product == {
        "op": "MatMul",
        "count": 2,
        "macs": 64,
        "params": 16,
        "params_bytes": 64,
        "moved_bytes": 256,
        "intensity": 0.5,
    }
    assert (activation["op"], activation["macs"], activation["moved_bytes"]) == ("Relu", 0, 64)
    first = block["nodes"][0]
    assert (first["input_shapes"], first["output_shapes"]) == ([[2, 4], [4, 4]], [[2, 4]])
    assert (first["macs"], first["moved_bytes"], first["intensity"]) == (32, 128, 0.5)


def test_work_of_a_block_is_unknown_where_a_shape_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("Mystery", ["x"], ["p"], "mystery", domain="custom"),
        helper.make_node("MatMul", ["p", "w"], ["y"], "product"),
    ]
    path = make_model(tmp_path / "m.onnx", nodes, [weight("w", [4, 4])])
    directory = make_engine(
        tmp_path / "set", ("{ForeignNode[mystery...product]}", ["x"], ["y"])
    ).source.directory
    assert main(["summary", str(directory), "--onnx", str(path), "--json"]) == 0
    (block,) = json.loads(capsys.readouterr().out)["engines"][0]["onnx"]["blocks"]
    for work in (block, *block["operators"], *block["nodes"]):
        assert work["moved_bytes"] is work["intensity"] is None
    product = block["nodes"][1]
    assert (product["macs"], product["params_bytes"]) == (None, 64)
    assert product["input_shapes"] == [None, [4, 4]]
    assert block["macs"] is None


def test_every_key_of_the_model_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = make_model(tmp_path / "m.onnx", [relu("a", "x", "b"), relu("lost", "b", "y")])
    directory = make_engine(tmp_path, ("a", ["x"], ["b"]), ("Identity", ["t1"], ["t2"])).source.directory
    assert main(["summary", str(directory), "--onnx", str(path), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["engines"][0]["onnx"]["nodes_in_no_layer"] == ["lost"]


@real
def test_the_annotated_model_is_the_model_with_metadata(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, source = tmp_path / "net.annotated.onnx", MODELS / "resnet18.onnx"
    before = source.read_bytes()
    arguments = ["export", str(ENGINES["resnet18"].parent), "--onnx", str(source), "-o"]
    assert main([*arguments, str(target)]) == 0
    assert "48 nodes with a layer" in capsys.readouterr().err
    written = onnx.load(target, load_external_data=False)
    first = {entry.key: entry.value for entry in written.graph.node[0].metadata_props}
    assert first["trex_tui.layer"] == "/conv1/Conv + /relu/Relu"
    assert (first["trex_tui.layer_index"], first["trex_tui.precision"]) == ("1", "FP16")
    assert float(first["trex_tui.layer_ms"]) == pytest.approx(0.0288, rel=0.01)
    for node in written.graph.node:
        del node.metadata_props[:]
    assert written == onnx.load(source, load_external_data=False)
    assert main([*arguments, str(source), "--format", "onnx-annotated", "--force"]) == 2
    assert source.read_bytes() == before


def test_an_annotated_model_needs_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = make_engine(tmp_path, ("a", ["x"], ["y"]))
    assert main(["export", str(engine.source.directory), "-o", str(tmp_path / "y.annotated.onnx")]) == 2
    assert "name it with --onnx" in capsys.readouterr().err


def chain(path: Path, *names: str) -> Path:
    """Write a model whose nodes follow each other; names beginning with `x` are not those of `named_engine`."""
    tensors = ["x", *(f"t{step}" for step in range(1, len(names))), "y"]
    return make_model(path, [relu(name, *tensors[step : step + 2]) for step, name in enumerate(names)])


def named_engine(directory: Path) -> Path:
    """Write a set with a block of all nodes from a to d."""
    return make_engine(directory, ("{ForeignNode[a...d]}", ["x"], ["y"])).source.directory


def summarized(
    capsys: pytest.CaptureFixture[str], path: Path, *options: str
) -> tuple[dict[str, Any] | None, list[str]]:
    """Return `onnx` and the notes of `summary --json`."""
    assert main(["summary", str(path), "--json", *options]) == 0
    engine = json.loads(capsys.readouterr().out)["engines"][0]
    return engine["onnx"], [note["message"] for note in engine["diagnostics"]]


def test_a_model_beside_the_files_is_used_unless_it_is_switched_off(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = named_engine(tmp_path / "set")
    chain(directory / "any.onnx", *"abcd")
    used, _ = summarized(capsys, directory)
    assert used is not None
    assert (used["file"], used["is_given"], used["nodes_in_layers"]) == (
        str(directory / "any.onnx"),
        False,
        4,
    )
    assert summarized(capsys, directory, "--no-onnx")[0] is None
    given, _ = summarized(capsys, directory, "--onnx", str(directory / "any.onnx"))
    assert given is not None
    assert given["is_given"]
    assert main(["summary", str(directory)]) == 0
    assert "any.onnx, found beside the files" in capsys.readouterr().out


def test_a_model_beside_the_files_is_that_of_the_name_or_the_metadata(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = named_engine(tmp_path / "set")
    for name in ("first", "second"):
        chain(directory / f"{name}.onnx", *"abcd")
    assert summarized(capsys, directory) == (None, [])
    chain(directory / "net.onnx", *"abcd")
    used, _ = summarized(capsys, directory)
    assert used is not None
    assert used["file"] == str(directory / "net.onnx")
    (directory / "net.build.metadata.json").write_text(
        json.dumps(
            {"model_options": {"Format": "ONNX", "Model": "/elsewhere/second.onnx"}, "build_options": {}}
        )
    )
    used, _ = summarized(capsys, directory)
    assert used is not None
    assert used["file"] == str(directory / "second.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert summarized(capsys, directory)[0] is None


def test_a_model_is_not_followed_outside_the_directories_that_were_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = named_engine(tmp_path / "results" / "set")
    outside = chain(tmp_path / "results" / "net.onnx", *"abcd")
    (directory / "net.onnx").symlink_to(outside)
    stated = {"model_options": {"Format": "ONNX", "Model": str(outside)}, "build_options": {}}
    (directory / "net.build.metadata.json").write_text(json.dumps(stated))
    assert summarized(capsys, directory)[0] is None
    used, _ = summarized(capsys, tmp_path / "results")
    assert used is not None
    assert used["file"] == str(outside)


def test_a_model_beside_the_files_that_may_be_another_costs_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    layers = [(name, [f"t{step}"], [f"t{step + 1}"]) for step, name in enumerate("abcd")]
    directory = make_engine(tmp_path / "set", *layers).source.directory
    model = chain(directory / "net.onnx", *"abc", "else")
    assert summarized(capsys, directory) == (
        None,
        ["not used: it has 3 of 4 node names of the layers; name it with --onnx to use it"],
    )
    assert summarized(capsys, directory, "--onnx", str(model))[0] is not None
    chain(model, *"pqrs")
    _, (note,) = summarized(capsys, directory)
    assert note.startswith("not used: does not belong to net: the model has 0 of 4 node names")
    model.write_bytes(b"no model")
    _, (note,) = summarized(capsys, directory)
    assert note.startswith("not used: is not an ONNX model, or is damaged")
    with model.open("wb") as file:
        file.truncate(300 << 20)
    assert summarized(capsys, directory)[1] == ["not used: 300 MiB; name it with --onnx to use it"]
    model.rename(directory / "other.onnx")
    chain(directory / "other.onnx", *"pqrs")
    assert summarized(capsys, directory) == (None, [])


def test_python_finds_the_same_model_as_the_commands(tmp_path: Path) -> None:
    directory = named_engine(tmp_path / "set")
    assert load_engine(directory).onnx is None
    chain(tmp_path / "net.onnx", *"abcd")
    assert load_engine(directory).onnx is None, "above the directory that was named"
    (engine,) = load_engines(tmp_path)
    assert engine.onnx.model.path == tmp_path / "net.onnx"
    chain(directory / "net.onnx", *"abcd")
    assert load_engine(directory).onnx.model.path == directory / "net.onnx"
    assert not load_engine(directory).onnx.is_given
    assert load_engine([directory / "net.graph.json"]).onnx is not None
    assert load_engine(directory, onnx=False).onnx is None
    assert load_engine(directory, onnx=tmp_path).onnx.model.path == tmp_path / "net.onnx"
