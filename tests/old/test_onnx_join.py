"""The ONNX model of an engine: its nodes at the layers, also inside closed blocks."""

from __future__ import annotations

import json
import random
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explained import assert_keys_explained
from helpers import ARTIFACTS, layer, some, tensor, write_graph
from onnx_regions import close_region, random_region, without_metadata
from trex_tui import load_engine, load_engines
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.analysis.onnx_model import model as onnx_model
from trex_tui.old.analysis.onnx_model.content import layer_contents, list_parts
from trex_tui.old.analysis.onnx_model.join import OnnxJoin, join_model
from trex_tui.old.analysis.onnx_model.model import OnnxModel, infer_shapes, read_model
from trex_tui.old.analysis.onnx_model.patterns import find_patterns
from trex_tui.old.analysis.onnx_model.search import join_file
from trex_tui.old.app import TrexApp
from trex_tui.old.cli import main
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.layer_words import OPEN_BLOCK
from trex_tui.old.errors import ArtifactError
from trex_tui.old.report.views.layer_details import layer_lines
from trex_tui.old.report.views.onnx_model import onnx_lines
from trex_tui.old.screens.engine import EngineScreen
from tui import LARGE, Session, running, screen_text

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402 - behind the check

MODELS = ARTIFACTS / "onnx"
ENGINES = {
    name: ARTIFACTS / "edge-vision" / "results" / name / f"{name}_fp16.graph.json"
    for name in ("alexnet", "resnet18", "mobilenet_v2")
}
real = pytest.mark.skipif(not MODELS.is_dir(), reason="no real models")


def real_pair(name: str) -> tuple[Engine, OnnxModel]:
    return load_engine(ENGINES[name]), read_model(MODELS / f"{name}.onnx")


def node_names(join: OnnxJoin, index: int) -> set[str]:
    return {join.model.nodes[node].name for node in join.layers[index].nodes}


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


# Real engines


@real
@pytest.mark.parametrize("name", ENGINES)
def test_names_alone_find_what_the_metadata_states(name: str) -> None:
    engine, model = real_pair(name)
    stated, named = join_model(engine, model), join_model(without_metadata(engine), model)
    assert not stated.missing
    assert stated.found == stated.stated > 15
    for listed in engine.layers:
        assert node_names(stated, listed.index) == set(listed.onnx_nodes)
        assert node_names(named, listed.index) == set(listed.onnx_nodes), listed.name


@real
@pytest.mark.parametrize("has_tensors", [True, False])
@pytest.mark.parametrize("name", ENGINES)
def test_closed_regions_get_back_their_nodes(name: str, has_tensors: bool) -> None:
    """A node too many is one that the engine states in no layer, such as a flatten that TensorRT removes."""
    engine, model = real_pair(name)
    order = {node.name: node.index for node in model.nodes}
    known = {node for listed in engine.layers for node in listed.onnx_nodes}
    chance = random.Random(22)
    for _ in some(range(200), 40):
        closed = close_region(engine, random_region(engine, chance), order, has_tensors=has_tensors)
        join = join_model(closed.engine, model)
        found = node_names(join, closed.index)
        assert found & known == closed.nodes, closed.engine.layers[closed.index].name
        assert join.layers[closed.index].is_block
        assert not join.layers[closed.index].doubtful


@real
@pytest.mark.parametrize("name", ENGINES)
def test_a_model_of_another_network_is_refused_with_the_share(name: str) -> None:
    engine, _ = real_pair(name)
    for other in ("alexnet", "resnet18", "mobilenet_v2", "vit_b_16"):
        if other != name:
            with pytest.raises(
                ArtifactError, match=r"does not belong to \w+: the model has \d+ of \d+ node names \(\d+ %\)"
            ):
                join_model(engine, read_model(MODELS / f"{other}.onnx"))


@real
def test_work_and_parameters_of_real_models_are_those_of_their_definitions() -> None:
    """Counts that torchvision publishes for these networks."""
    published = {
        "alexnet": (714_188_480, 61_100_840),
        "mobilenet_v2": (300_774_272, None),
        "vit_b_16": (17_563_828_224, 86_567_656),
    }
    for name, (macs, params) in published.items():
        engine = load_engine(ENGINES["alexnet"])
        model = read_model(MODELS / f"{name}.onnx")
        whole = engine.layers[1]._replace(
            index=0,
            name=f"{{ForeignNode[{model.nodes[0].name}...{model.nodes[-1].name}]}}",
            inputs=(),
            outputs=(),
            onnx_nodes=(),
        )
        joined = join_file(replace(engine, layers=(whole,), bindings=()), model.path)
        content = layer_contents(joined)[0]
        assert content is not None
        assert content.macs == macs
        assert params is None or content.params == params


@real
def test_patterns_of_a_vision_transformer() -> None:
    model = read_model(MODELS / "vit_b_16.onnx")
    labels = [pattern.label for pattern in find_patterns(model, infer_shapes(model, {}))]
    counts = {label: labels.count(label) for label in labels}
    assert counts == {"attention (12 heads, 64)": 12, "layer norm": 25, "GELU": 12, "MLP": 12}


# Hard cases


def test_branches_between_the_ends_are_in_the_block(tmp_path: Path) -> None:
    nodes = [
        relu("a", "x", "a"),
        relu("b", "a", "b"),
        relu("c", "a", "c"),
        helper.make_node("Add", ["b", "c"], ["d"], "d"),
        relu("e", "d", "y"),
    ]
    model = read_model(make_model(tmp_path / "m.onnx", nodes))
    join = join_model(
        make_engine(tmp_path, ("{ForeignNode[a...d]}", ["x"], ["hidden"]), ("e", ["hidden"], ["y"])), model
    )
    assert node_names(join, 0) == {"a", "b", "c", "d"}
    assert join.layers[0].evidence == "range"
    assert node_names(join, 1) == {"e"}


def test_a_node_that_feeds_the_block_from_aside_is_in_it_unless_a_layer_claims_it(tmp_path: Path) -> None:
    nodes = [relu("a", "x", "a"), relu("side", "x", "s"), helper.make_node("Add", ["a", "s"], ["y"], "b")]
    model = read_model(make_model(tmp_path / "m.onnx", nodes))
    open_side = join_model(make_engine(tmp_path, ("{ForeignNode[a...b]}", ["x"], ["y"])), model)
    assert node_names(open_side, 0) == {"a", "side", "b"}
    claimed = join_model(
        make_engine(tmp_path, ("side", ["x"], ["s"]), ("{ForeignNode[a...b]}", ["x", "s"], ["y"])), model
    )
    assert node_names(claimed, 1) == {"a", "b"}


def test_a_block_ends_at_its_inputs(tmp_path: Path) -> None:
    nodes = [
        relu(name, source, target)
        for name, source, target in [("a", "x", "a"), ("b", "a", "b"), ("c", "b", "c"), ("d", "c", "y")]
    ]
    model = read_model(make_model(tmp_path / "m.onnx", nodes))
    engine = make_engine(
        tmp_path, ("{ForeignNode[a...b]}", ["x"], ["b"]), ("{ForeignNode[c...d]}", ["b"], ["y"])
    )
    join = join_model(engine, model)
    assert [node_names(join, index) for index in (0, 1)] == [{"a", "b"}, {"c", "d"}]
    assert not join.repeated


def test_nodes_between_two_blocks_without_known_tensors_are_doubtful(tmp_path: Path) -> None:
    nodes = [
        relu(name, source, target)
        for name, source, target in [
            ("a", "x", "a"),
            ("b", "a", "b"),
            ("m", "b", "m"),
            ("c", "m", "c"),
            ("d", "c", "y"),
        ]
    ]
    model = read_model(make_model(tmp_path / "m.onnx", nodes))
    engine = make_engine(
        tmp_path, ("{ForeignNode[a...b]}", ["x"], ["t1"]), ("{ForeignNode[c...d]}", ["t1"], ["t2"])
    )
    join = join_model(engine, model)
    middle = model.by_name["m"]
    assert [listed.doubtful for listed in join.layers] == [middle, middle]
    assert set(join.repeated) == set(middle)


def test_shared_weights_count_once_and_shape_arithmetic_is_folded(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["p"], "first"),
        helper.make_node("MatMul", ["p", "w2"], ["q"], "second"),
        helper.make_node("Shape", ["x"], ["shape"], "shape"),
        helper.make_node("Reshape", ["q", "shape"], ["y"], "reshape"),
    ]
    data = [
        onnx.numpy_helper.from_array(__import__("numpy").ones((4, 4), "float32"), name)
        for name in ("w1", "w2")
    ]
    path = make_model(tmp_path / "m.onnx", nodes, data)
    engine = join_file(make_engine(tmp_path, ("{ForeignNode[first...reshape]}", ["x"], ["y"])), path)
    content = layer_contents(engine)[0]
    assert content is not None
    assert (content.params, content.params_bytes, content.macs) == (16, 64, 32)
    assert [engine.onnx.model.nodes[node].name for node in engine.onnx.folded] == ["shape"]


def test_nodes_without_a_name_and_with_the_same_name(tmp_path: Path) -> None:
    nodes = [relu("", "x", "a"), relu("twin", "a", "b"), relu("twin", "b", "c"), relu("", "c", "y")]
    model = read_model(make_model(tmp_path / "m.onnx", nodes))
    join = join_model(
        make_engine(tmp_path, ("node_of_a", ["x"], ["a"]), ("twin + node_of_y", ["a"], ["y"])), model
    )
    assert node_names(join, 0) == {"node_of_a"}
    assert join.layers[1].nodes == (1, 2, 3)


def test_nodes_of_subgraphs_are_between_the_tensors_around_them(tmp_path: Path) -> None:
    def branch(name: str) -> Any:
        node = helper.make_node("Relu", ["a"], ["inner"], name)
        return helper.make_graph(
            [node], name, [], [helper.make_tensor_value_info("inner", TensorProto.FLOAT, [1, 4])]
        )

    nodes = [
        relu("a", "x", "a"),
        helper.make_node(
            "If", ["flag"], ["i"], "choice", then_branch=branch("then"), else_branch=branch("other")
        ),
        relu("b", "i", "y"),
    ]
    flag = helper.make_tensor_value_info("flag", TensorProto.BOOL, [])
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4]), flag],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
    )
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    model = read_model(tmp_path / "m.onnx")
    assert {node.name: node.path for node in model.nodes if node.path} == {
        "then": ("choice",),
        "other": ("choice",),
    }
    join = join_model(make_engine(tmp_path, ("{ForeignNode[a...b]}", ["x"], ["y"])), model)
    assert node_names(join, 0) == {"a", "choice", "then", "other", "b"}


def test_names_with_separators_in_them(tmp_path: Path) -> None:
    nodes = [relu("a + b", "x", "p"), relu("c...d", "p", "q"), relu("e, f", "q", "y")]
    model = read_model(make_model(tmp_path / "m.onnx", nodes))
    join = join_model(
        make_engine(
            tmp_path, ("PWN(PWN(a + b), c...d)", ["x"], ["q"]), ("{ForeignNode[c...d...e, f]}", ["q"], ["y"])
        ),
        model,
    )
    assert node_names(join, 0) == {"a + b", "c...d"}
    assert "e, f" in node_names(join, 1)


def test_reformats_and_copies_have_no_nodes(tmp_path: Path) -> None:
    model = read_model(make_model(tmp_path / "m.onnx", [relu("a", "x", "p"), relu("b", "p", "y")]))
    engine = make_engine(
        tmp_path,
        ("Reformatting CopyNode for Input Tensor 0 to a", ["x"], ["r"]),
        ("a", ["r"], ["p"]),
        ("a_copy_output", ["p"], ["p2"]),
        ("b", ["p2"], ["y"]),
    )
    assert [listed.nodes for listed in join_model(engine, model).layers] == [(), (0,), (), (1,)]


def test_most_products_of_the_model_in_no_layer_refuse_it(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("MatMul", ["x" if step == 0 else f"t{step - 1}", "w"], [f"t{step}"], f"m{step}")
        for step in range(6)
    ]
    model = read_model(make_model(tmp_path / "m.onnx", [*nodes, relu("r", "t5", "y")], [weight("w", [4, 4])]))
    with pytest.raises(ArtifactError, match=r"2 of 6 convolutions and matrix products of the model \(33 %\)"):
        join_model(make_engine(tmp_path, ("m0", ["x"], ["t0"]), ("m1", ["t0"], ["t1"])), model)


# Commands


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


@pytest.mark.parametrize("cycle", [["x", "c"], ["x", "b"]])
def test_cycles_of_nodes_end(tmp_path: Path, cycle: list[str]) -> None:
    nodes = [helper.make_node("Add", cycle, ["b"], "a"), relu("b", "b", "c"), relu("d", "c", "y")]
    model = make_model(tmp_path / "m.onnx", nodes)
    engine = join_file(make_engine(tmp_path / "set", ("{ForeignNode[a...d]}", ["x"], ["y"])), model)
    assert node_names(engine.onnx, 0) == {"a", "b", "d"}
    assert layer_contents(engine)[0] is not None


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


def test_nesting_beyond_what_the_library_reads_is_damage(tmp_path: Path) -> None:
    """ModelProto.graph is field 7, GraphProto.node 1, NodeProto.attribute 5, AttributeProto.g 6."""

    def field(number: int, content: bytes) -> bytes:
        size, length = len(content), b""
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        return bytes([number << 3 | 2]) + length + bytes([size]) + content

    content = b""
    for _ in range(300):
        content = field(1, field(5, field(6, content)))
    path = tmp_path / "m.onnx"
    path.write_bytes(field(7, content))
    with pytest.raises(ArtifactError, match=r"is not an ONNX model, or is damaged"):
        read_model(path)


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


# What is inside a layer


def closed_transformer() -> Engine:
    """The transformer's blocks in one layer, joined to the model."""
    engine = load_engine(ENGINES["alexnet"])
    name = "{ForeignNode[/encoder/layers/encoder_layer_0/ln_1/LayerNormalization.../heads/head/Gemm]}"
    block = engine.layers[1]._replace(index=0, name=name, inputs=(), outputs=(), onnx_nodes=())
    return join_file(replace(engine, layers=(block,), bindings=()), MODELS / "vit_b_16.onnx")


@real
def test_details_of_a_closed_block_show_its_content() -> None:
    engine = closed_transformer()
    lines = list(onnx_lines(engine, engine.layers[0]))
    texts = [f"{line.label}  {line.text}".strip() for line in lines]
    assert lines[0].style == "section"
    assert "between its ends" in texts[0]
    assert any("17.6 G MACs · 86.6 M parameters, 330 MiB in the model" in text for text in texts)
    assert any(text.startswith("roof ") and " ms in FP16 and " in text for text in texts)
    patterns = next(line.text for line in lines if line.label == "patterns")
    assert "attention (12 heads, 64) ×12" in patterns
    tree = [line for line in lines if "encoder_layer_" in line.text]
    assert len(tree) >= 12
    assert all(
        "attention (12 heads, 64)" in line.text and "MLP" in line.text for line in tree if " · " in line.text
    )
    assert texts[-1] == OPEN_BLOCK
    assert len(lines) < 60


@real
def test_parts_of_a_layer_add_up() -> None:
    engine = closed_transformer()
    parts = [part for part in list_parts(engine, engine.layers[0]) if part.depth == 0]
    content = layer_contents(engine)[0]
    assert content is not None
    assert sum(len(part.nodes) for part in parts) == sum(content.ops.values())
    assert sum(part.macs or 0 for part in parts) == content.macs


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
    assert_keys_explained("summary", summary)
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
    assert_keys_explained("summary", document)


@real
async def test_the_details_on_the_screen_show_what_is_inside() -> None:
    options = LoadOptions(onnx=MODELS / "resnet18.onnx")
    async with running(ENGINES["resnet18"].parent, LARGE, tab="layers", options=options) as session:
        await session.press("G", "k")
        shown = screen_text(session.app)
        assert "ONNX nodes (1, from its metadata)" in shown
        assert "Gemm  /fc/Gemm" in shown


# Export


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


def test_a_directory_has_the_model_by_its_name_or_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = make_engine(tmp_path / "set", ("a", ["x"], ["y"]))
    models = tmp_path / "models"
    models.mkdir()
    command = ["summary", str(engine.source.directory), "--json", "--onnx", str(models)]
    assert main(command) == 2
    assert "has no ONNX model" in capsys.readouterr().err
    (models / "link.onnx").symlink_to(make_model(tmp_path / "outside.onnx", [relu("a", "x", "y")]))
    assert main(command) == 2
    make_model(models / "other.onnx", [relu("else", "x", "y")])
    capsys.readouterr()
    assert main(command) == 2
    assert "other.onnx: does not belong to net" in capsys.readouterr().err
    make_model(models / "third.onnx", [relu("a", "x", "y")])
    assert main(command) == 2
    assert "has 2 ONNX models; name the file of net" in capsys.readouterr().err
    make_model(models / "net.onnx", [relu("a", "x", "y")])
    capsys.readouterr()
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["engines"][0]["onnx"]["file"] == str(models / "net.onnx")
    stated = replace(engine, metadata=replace(engine.metadata, model_options={"Model": "/build/third.onnx"}))
    assert join_file(stated, models).onnx.model.path == models / "third.onnx"


# A model beside the files


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


def test_commands_read_a_model_beside_the_files_only_where_they_show_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = named_engine(tmp_path / "set")
    chain(directory / "net.onnx", *"abcd")
    read: list[str] = []

    def count(path: Path, *_: int) -> OnnxModel:
        read.append(path.name)
        return real_read(path, *_)

    real_read = onnx_model._read
    monkeypatch.setattr(onnx_model, "_read", count)
    for arguments, times in (
        (["layers"], 0),
        (["layers", "--columns", "name,onnx_ops"], 1),
        (["layers", "--filter", "op:Relu"], 1),
        (["layers", "--json"], 1),
        (["export", "--format", "dot"], 0),
        (["lint"], 1),
    ):
        read.clear()
        assert main([arguments[0], str(directory), *arguments[1:]]) in (0, 1), arguments
        assert len(read) == times, arguments
    capsys.readouterr()


async def test_the_explorer_adds_a_model_when_the_engine_is_on_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(EngineScreen, "notify", lambda _, message, **__: told.append(message))
    directory = named_engine(tmp_path / "set")
    chain(directory / "net.onnx", *"abcd")
    for finds_onnx in (True, False):
        options = LoadOptions(finds_onnx=finds_onnx)
        async with running(directory, LARGE, tab="layers", options=options) as session:
            shown = screen_text(session.app)
            assert ("ONNX nodes (4, between its ends)" in shown) is finds_onnx
            assert told == ["net.onnx: ONNX nodes of 1 layer"] * finds_onnx
            told.clear()


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


@pytest.mark.parametrize(
    ("pair", "models"),
    [(("first", "second"), ["first", "second"]), (("bare", "second"), ["second", "second"])],
)
async def test_engines_that_are_compared_get_their_models(
    tmp_path: Path, pair: tuple[str, ...], models: list[str]
) -> None:
    for name in ("first", "second", "bare"):
        directory = named_engine(tmp_path / name)
        if name != "bare":
            chain(directory / "net.onnx", *"abcd")
    app = TrexApp([str(tmp_path / name) for name in pair], LoadOptions(finds_onnx=True))

    def found() -> list[str]:
        screen = app.screen
        engines = (
            (screen.engine, *screen.compare_job.choice.others) if isinstance(screen, EngineScreen) else ()
        )
        return [engine.onnx.model.path.parent.name for engine in engines if engine.onnx]

    async with app.run_test(size=LARGE) as pilot:
        await Session(app, pilot).until(lambda: found() == models, f"models of {models}")


def test_a_closed_block_without_a_model_points_to_the_option(tmp_path: Path) -> None:
    engine = make_engine(tmp_path, ("{ForeignNode[a...b]}", ["x"], ["t"]), ("c", ["t"], ["y"]))
    first, second = ("\n".join(line.text for line in layer_lines(engine, listed)) for listed in engine.layers)
    assert "--onnx FILE shows the nodes between its ends." in first
    assert "--onnx" not in second
