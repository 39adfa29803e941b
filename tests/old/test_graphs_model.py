"""The graph of an engine: what stands in it, what is joined, what is written into boxes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from graph_cases import names_only_engine, reusing_engine

from helpers import ARTIFACTS, RealSet, layer, real_sets, write_graph
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.errors import TrexError
from trex_tui.old.report.graph.engine_graph import GraphOptions, build_graph, label_parts
from trex_tui.old.report.graph.model import HIGHLIGHT, UNKNOWN, ColorBy, EdgeRole, EngineGraph, NodeRole


@pytest.fixture
def reusing(tmp_path: Path) -> Engine:
    return reusing_engine(tmp_path)


def arrows(graph: EngineGraph) -> Counter[tuple[str, str, str]]:
    names = [node.name for node in graph.nodes]
    return Counter((names[edge.source], names[edge.target], edge.role.value) for edge in graph.edges)


@pytest.mark.parametrize(
    "prefix", ["resnet-A100/fp16/", "resnet-A100/qat/", "tf-resnet-RTX3090/fp32/", "mobilenet-qat-TITANRTX/"]
)
def test_nodes_and_edges_are_those_of_trex(trex_reference: dict[str, Any], prefix: str) -> None:
    """trex leaves NoOps out and joins what they join: one box and one arrow less."""
    (key,) = (key for key in trex_reference if key.startswith(f"trex/{prefix}"))
    reference = trex_reference[key]["plan_graph"]
    folder = (ARTIFACTS / key).parent
    engine = load_engine(sorted(folder.glob(f"{(ARTIFACTS / key).name}.*.json")))
    noops = sum(layer.kind is LayerKind.NOOP for layer in engine.layers)
    graph = build_graph(engine, GraphOptions())
    layers = sum(node.role is NodeRole.LAYER for node in graph.nodes)
    assert layers == reference["default"]["layer_nodes"] + noops
    assert len(graph.nodes) - layers == reference["default"]["memory_nodes"]
    assert len(graph.edges) == reference["default"]["edges"] + noops


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_nodes_stand_in_an_order_in_which_data_runs_forward(real: RealSet) -> None:
    engine = real.engine()
    graph = build_graph(engine, GraphOptions())
    order = [node.order for node in graph.nodes]
    assert order == sorted(order)
    assert all((edge.source < edge.target) != (edge.role is EdgeRole.LOOP) for edge in graph.edges)
    assert len({node.id for node in graph.nodes}) == len(graph.nodes)


def test_memory_that_is_used_again(reusing: Engine) -> None:
    plain = build_graph(reusing, GraphOptions())
    assert arrows(plain) == Counter(
        {
            ("in", "a", "data"): 1,
            ("e", "a", "loop"): 1,
            ("a", "b", "data"): 1,
            ("b", "c", "data"): 1,
            ("b", "d", "data"): 1,
            ("c", "e", "data"): 1,
            ("d", "e", "data"): 1,
            ("e", "out", "data"): 1,
        }
    )
    every = build_graph(reusing, GraphOptions(constants=True))
    roles = Counter(node.role for node in every.nodes)
    assert roles[NodeRole.CONSTANT] == roles[NodeRole.INPUT] == roles[NodeRole.OUTPUT] == 1
    (weights,) = (node for node in every.nodes if node.role is NodeRole.CONSTANT)
    assert weights.lines == ("weights", "9 FP16")
    assert arrows(every) - arrows(plain) == Counter({("weights", "b", "data"): 1})


def test_names_only(tmp_path: Path) -> None:
    graph = build_graph(names_only_engine(tmp_path), GraphOptions(constants=True))
    assert sorted(node.name for node in graph.nodes) == ["conv", "fc", "in", "out", "relu"]
    assert not graph.edges
    assert {node.role for node in graph.nodes} == {NodeRole.LAYER, NodeRole.BINDING}


def layers_in(engine: Engine, **options: Any) -> str:
    graph = build_graph(engine, GraphOptions(**options))
    return "".join(node.name for node in graph.nodes if node.layer)


def test_parts_of_the_graph(reusing: Engine) -> None:
    assert layers_in(reusing, query="ms>0.4") == "abe"
    assert layers_in(reusing, query="ms>1.5", radius=1) == "acde", "the loop leads from e to a"
    assert layers_in(reusing, around="b", radius=1) == "abcd"
    assert layers_in(reusing, around="#1", radius=0) == "b"
    assert layers_in(reusing, around="4", radius=0) == "e"
    assert layers_in(reusing, around="b", radius=1, query="ms<0.3") == "cd"
    part = build_graph(reusing, GraphOptions(query="b"))
    assert part.title.startswith("loop · 1 of 5 layers · 0.5000 ms")
    assert [node.name for node in part.nodes] == ["b"], "inputs and outputs of others stay out"
    marked = build_graph(reusing, GraphOptions(highlight="ms>=1"))
    assert [node.name for node in marked.nodes if node.is_highlighted] == ["a", "e"]
    assert HIGHLIGHT not in {color for node in marked.nodes for color in (node.paint.fill, node.paint.line)}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"query": "kind:"}, "--filter: "),
        ({"query": "zzz"}, "0 of 5 layers match: no name contains 'zzz'; nothing to draw"),
        ({"highlight": "ms>"}, "--highlight: "),
        ({"around": "zzz"}, "no layer name contains 'zzz'"),
        ({"around": ""}, "5 layers match (0 a, 1 b, 2 c, …)"),
        ({"around": "7"}, "layer 7 does not exist; use 0 to 4"),
        ({"around": "a", "radius": 0, "query": "b"}, "no layer matches both --around and --filter"),
    ],
)
def test_what_cannot_be_chosen_is_said(reusing: Engine, options: dict[str, Any], told: str) -> None:
    with pytest.raises(TrexError) as caught:
        build_graph(reusing, GraphOptions(**options))
    assert told in str(caught.value)


def test_labels_and_colours(reusing: Engine) -> None:
    parts = tuple(label_parts("name, kind,latency,share,shape,tactic,stream"))
    graph = build_graph(reusing, GraphOptions(labels=parts, color=ColorBy.LATENCY, metadata=True))
    a, e = (next(node for node in graph.nodes if node.name == name) for name in "ae")
    assert a.lines == ("a", "myelin · 1.0000 ms · 25.81 %", "4, 4 → 4", "–", "Stream 0")
    assert "StreamId" in a.tooltip or "stream: 0" in a.tooltip
    assert "latency_ms: 1.0000 ms" in a.tooltip
    assert [text for text, _ in graph.legend][-1] == "2.0000 ms"
    assert e.paint == graph.legend[-1][1], "the slowest has the last colour of the legend"
    by_precision = build_graph(reusing, GraphOptions(color=ColorBy.PRECISION))
    assert [text for text, _ in by_precision.legend] == ["FP16"]
    with pytest.raises(TrexError, match="--labels: no column 'nothing'; `trex-tui explain` lists them"):
        label_parts("name,nothing")
    with pytest.raises(TrexError, match=r"--labels: no column 'kinds'; did you mean kind\?"):
        label_parts("kinds")


def test_labels_of_attributes(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "a.graph.json", [layer("a", "Any", [], [], Kernel=[3, 3], Groups=2)])
    engine = load_engine(path)
    parts = tuple(label_parts("name,kernel,attr.groups,attr.Stride"))
    (node,) = build_graph(engine, GraphOptions(labels=parts)).nodes
    assert node.lines == ("a", "3x3 · attr.Groups 2")


def test_colours_of_what_is_unknown(tmp_path: Path) -> None:
    engine = names_only_engine(tmp_path)
    for color in (ColorBy.PRECISION, ColorBy.LATENCY):
        graph = build_graph(engine, GraphOptions(color=color))
        assert {node.paint for node in graph.nodes if node.layer} == {UNKNOWN}
        assert [text for text, _ in graph.legend] == [
            "not profiled" if color is ColorBy.LATENCY else "unknown"
        ]
