"""The ONNX model of an engine: its nodes at the layers, also inside closed blocks."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper
from onnx_regions import close_region, random_region, without_metadata
from tui import LARGE, Session, running, screen_text

from helpers import some
from test_onnx_join import (
    ENGINES,
    MODELS,
    chain,
    make_engine,
    make_model,
    named_engine,
    onnx,
    real,
    relu,
    weight,
)
from trex_tui import ArtifactError, load_engine
from trex_tui.__main__ import main
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.analysis.onnx_model import model as onnx_model
from trex_tui.old.analysis.onnx_model.content import layer_contents, list_parts
from trex_tui.old.analysis.onnx_model.join import OnnxJoin, join_model
from trex_tui.old.analysis.onnx_model.model import OnnxModel, infer_shapes, read_model
from trex_tui.old.analysis.onnx_model.patterns import find_patterns
from trex_tui.old.analysis.onnx_model.search import join_file
from trex_tui.old.app import TrexApp
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.layer_words import OPEN_BLOCK
from trex_tui.old.report.views.layer_details import layer_lines
from trex_tui.old.report.views.onnx_model import onnx_lines
from trex_tui.old.screens.engine import EngineScreen


def real_pair(name: str) -> tuple[Engine, OnnxModel]:
    return load_engine(ENGINES[name]), read_model(MODELS / f"{name}.onnx")


def node_names(join: OnnxJoin, index: int) -> set[str]:
    return {join.model.nodes[node].name for node in join.layers[index].nodes}


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


@pytest.mark.parametrize("cycle", [["x", "c"], ["x", "b"]])
def test_cycles_of_nodes_end(tmp_path: Path, cycle: list[str]) -> None:
    nodes = [helper.make_node("Add", cycle, ["b"], "a"), relu("b", "b", "c"), relu("d", "c", "y")]
    model = make_model(tmp_path / "m.onnx", nodes)
    engine = join_file(make_engine(tmp_path / "set", ("{ForeignNode[a...d]}", ["x"], ["y"])), model)
    assert node_names(engine.onnx, 0) == {"a", "b", "d"}
    assert layer_contents(engine)[0] is not None


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
async def test_the_details_on_the_screen_show_what_is_inside() -> None:
    options = LoadOptions(onnx=MODELS / "resnet18.onnx")
    async with running(ENGINES["resnet18"].parent, LARGE, tab="layers", options=options) as session:
        await session.press("G", "k")
        shown = screen_text(session.app)
        assert "ONNX nodes (1, from its metadata)" in shown
        assert "Gemm  /fc/Gemm" in shown


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
