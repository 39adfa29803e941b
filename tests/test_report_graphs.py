"""Graphs and traces of engines, each read back by the program that people read it with."""

from __future__ import annotations

import io
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import layer, strict_json, tensor, timing_row, write_graph, write_json, write_profile
from trex_tui.analysis.columns import ALL_COLUMNS as COLUMNS
from trex_tui.analysis.timing import measured_queries
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.report import graphs
from trex_tui.report.graphs import (
    Graph,
    choose_layers,
    draw,
    make_graph,
    write_dot,
    write_graphml,
    write_node_link,
    write_trace,
)
from trex_tui.text import printable

SAMPLES = Path(__file__).resolve().parents[1] / "sample_artifacts"
needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"
KEYS = ("index", "name", "kind", "latency_ms", "tactic", "onnx_nodes")
HOSTILE = (
    "<b>bold</b>",
    "<<table><tr><td>x</td></tr></table>>",
    "a & b &amp; &#60;script&#62; &lt;",
    r"\N \G \L \l \r \n \E \T \H \\",
    "ends in a backslash\\",
    'quote " and \\" and \\\\"',
    "new\nline\rand\ttab",
    "\x1b]0;title\x07\x1b[31m\x00\x1e\x1f\x7f\x9b",
    "\u202egnp.exe\u2066\u200b\ufeff\u2028",
    "lone \ud800 surrogate",
    "{a|b}|<port>:n",
    "a -> b; } digraph { /* x */ // y # z",
    "]]> <!-- --> <?xml?> <![CDATA[",
    '=HYPERLINK("http://x","y")',
    "\t=1",
    "漢字 and 🦖 and é",
    "x" * 40_000,
    "&" * 17_000,
    " ",
    "twice",
    "twice",
)


def chain_of(names: Sequence[str], folder: Path) -> Engine:
    """An engine in which each layer reads what the one before wrote."""
    layers = [
        layer(
            name,
            "kgen",
            [tensor(f"{names[place - 1]}{place - 1}" if place else "in", 1, 8)],
            [tensor(f"{name}{place}", 1, 8)],
            TacticName=name,
            Metadata=f"[ONNX Layer: {name}]",
        )
        for place, name in enumerate(names)
    ]
    write_graph(folder / "net.graph.json", layers, ["in", f"{names[-1]}{len(names) - 1}"])
    rows: list[dict[str, Any]] = [{"count": 10}]
    rows += [{"name": name, "timeMs": 1, "averageMs": 0.1, "percentage": 1} for name in names]
    write_json(folder / "net.profile.json", rows)
    return load_engine(folder)


@pytest.fixture
def reusing(tmp_path: Path) -> Engine:
    """Five layers on one scratch tensor: `s` holds two values, and `state` goes around a loop."""
    layers = [
        layer("a", "kgen", [tensor("in", 4), tensor("state", 4)], [tensor("s", 4)], StreamId=0),
        layer("b", "kgen", [tensor("s", 4), tensor("weights", 9)], [tensor("t", 4)], StreamId=1),
        layer("c", "kgen", [tensor("t", 4)], [tensor("s", 8)], StreamId=0),
        layer("d", "kgen", [tensor("t", 4)], [tensor("s", 4)], StreamId=0),
        layer("e", "kgen", [tensor("s", 8)], [tensor("state", 4), tensor("out", 4)], StreamId=1),
    ]
    write_graph(tmp_path / "loop.graph.json", layers, ["in", "out"])
    times = [("a", 1.0), ("b", 0.5), ("c", 0.25), ("d", 0.125), ("e", 2.0)]
    write_profile(tmp_path / "loop.profile.json", times)
    return load_engine(tmp_path / "loop.graph.json")


@pytest.fixture
def hostile(tmp_path: Path) -> Engine:
    return chain_of(HOSTILE, tmp_path / "hostile")


@pytest.fixture(scope="module")
def real() -> Engine:
    return load_engine(SAMPLES / "resnet-a100" / "qat")


@pytest.fixture(scope="module")
def names_only() -> Engine:
    return load_engine(SAMPLES / "names-only")


def graph_of(engine: Engine, *, keys: Sequence[str] = KEYS) -> Graph:
    return make_graph(engine, list(range(len(engine))), [COLUMNS[key] for key in keys])


def arrows(graph: Graph) -> Counter[tuple[str, str, str]]:
    name = dict(graph.nodes(data="label"))
    return Counter((name[a], name[b], role) for a, b, role in graph.edges(data="role"))


def test_memory_that_is_used_again(reusing: Engine) -> None:
    plain = graph_of(reusing)
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


def test_readers_of_an_output_are_linked_once(tmp_path: Path) -> None:
    layers = [
        layer("a", "kgen", [tensor("in", 4)], [tensor("out", 4)]),
        layer("b", "kgen", [tensor("out", 4)], [tensor("more", 4)]),
    ]
    write_graph(tmp_path / "net.graph.json", layers, ["in", "out", "more"])
    graph = graph_of(load_engine(tmp_path))
    assert arrows(graph) == Counter(
        {("in", "a", "data"): 1, ("a", "out", "data"): 1, ("a", "b", "data"): 1, ("b", "more", "data"): 1}
    )


def test_nodes_stand_in_an_order_in_which_data_runs_forward(real: Engine, reusing: Engine) -> None:
    for engine in (real, reusing):
        graph = graph_of(engine)
        order = {node: place for place, node in enumerate(graph)}
        assert all(
            (order[source] < order[target]) != (role == "loop")
            for source, target, role in graph.edges(data="role")
        )


def names_in(engine: Engine, filter_text: str, radius: int = 0) -> str:
    from trex_tui.report.selection import choose_rows

    return "".join(engine.layers["name"][choose_layers(engine, choose_rows(engine, filter_text), radius)])


def test_parts_of_the_graph(reusing: Engine) -> None:
    assert names_in(reusing, "ms>0.4") == "abe"
    assert names_in(reusing, "ms>1.5", radius=1) == "acde", "the loop leads from e to a"
    assert names_in(reusing, "name:b", radius=1) == "abcd"


# Files


def same(network: Any, graph: Graph, text: Any) -> None:
    """The same nodes, edges and names, however often a name occurs."""
    assert set(network.nodes) == set(graph.nodes)
    for node, data in graph.nodes(data=True):
        told = network.nodes[node]
        for key, value in data.items():
            assert told[key] == (text(value) if isinstance(value, str) else value)
    ends = [
        sorted((a, b, data["role"], data["tensor"]) for a, b, data in one.edges(data=True))
        for one in (graph, network)
    ]
    assert [(a, b, role, text(name)) for a, b, role, name in ends[0]] == ends[1] or sorted(
        (a, b, role, text(name)) for a, b, role, name in ends[0]
    ) == ends[1]


@pytest.mark.parametrize("which", ["hostile", "reusing", "real", "names_only"])
def test_files_come_back_as_they_were(which: str, request: pytest.FixtureRequest) -> None:
    engine: Engine = request.getfixturevalue(which)
    keys = tuple(COLUMNS) if which == "real" else KEYS
    graph = graph_of(engine, keys=keys)
    same(nx.read_graphml(io.BytesIO(write_graphml(graph)), force_multigraph=True), graph, printable)
    document = strict_json(write_node_link(engine, graph))
    assert document["schema"] == "trex-tui/graph/1"
    assert document["engine"] == engine.name
    same(nx.node_link_graph(document, edges="edges"), graph, str)


@settings(max_examples=10)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=12))
def test_any_names_come_back(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        graph = graph_of(chain_of(names, Path(folder)))
    same(nx.read_graphml(io.BytesIO(write_graphml(graph)), force_multigraph=True), graph, printable)


# DOT


def plain(text: str | None) -> str:
    """Without what Graphviz does to blanks."""
    return re.sub(r"\s+", " ", (text or "").replace("\u00a0", " ")).strip()


def check_as_drawn(engine: Engine, color_by: str = "kind") -> ElementTree.Element:
    """Graphviz shows exactly the nodes and edges that it was given, and nothing that leads elsewhere."""
    graph = graph_of(engine)
    picture = draw(write_dot(engine, graph, color_by), "svg")
    root = ElementTree.fromstring(picture)
    boxes = {one.findtext(f"{SVG}title"): one for one in root.iter(f"{SVG}g") if one.get("class") == "node"}
    assert boxes.keys() == set(graph.nodes)
    for node, data in graph.nodes(data=True):
        (link,) = boxes[node].iter(f"{SVG}a")
        assert link.get(f"{XLINK}href") is None
        told = plain(link.get(f"{XLINK}title"))
        assert plain(printable(re.sub(r"\n", " ", data["label"])))[:1000] in told
    assert sum(one.get("class") == "edge" for one in root.iter(f"{SVG}g")) == len(graph.edges)
    assert not any(one.tag in (f"{SVG}image", f"{SVG}script", f"{SVG}table") for one in root.iter())
    return root


@needs_dot
def test_hostile_names_stay_names(hostile: Engine) -> None:
    check_as_drawn(hostile)


@needs_dot
def test_loops_constants_and_names_only(reusing: Engine, names_only: Engine) -> None:
    for engine in (reusing, names_only):
        check_as_drawn(engine)


@needs_dot
@pytest.mark.parametrize("column", ["kind", "precision", "latency"])
def test_colours(real: Engine, names_only: Engine, column: str) -> None:
    for engine in (real, names_only):
        check_as_drawn(engine, column)


def test_damage_is_in_the_title_of_the_graph() -> None:
    engine = load_engine(SAMPLES / "damaged")
    title = write_dot(engine, graph_of(engine)).splitlines()[1]
    assert "is truncated: the JSON ends in the middle" in title


def test_dot_is_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TrexError, match=r"need Graphviz \(dot is not on PATH\)"):
        draw("digraph {}", "svg")
    (tmp_path / "dot").write_text("#!/bin/sh\necho 'syntax error' >&2\nexit 1\n", encoding="utf-8")
    (tmp_path / "dot").chmod(0o755)
    with pytest.raises(TrexError, match=r"syntax error"):
        draw("digraph {", "svg")
    (tmp_path / "dot").write_text("#!/bin/sh\nexec /bin/sleep 30\n", encoding="utf-8")
    monkeypatch.setattr(graphs, "_TIMEOUT_S", 0.1)
    with pytest.raises(TrexError, match=r"choose fewer layers"):
        draw("digraph {}", "svg")


# Traces


def check_trace(text: str) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """What the format asks for: keys by phase, and on each track no event that begins before the one before has ended."""
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in strict_json(text)["traceEvents"]:
        assert {"name", "ph", "pid"} <= event.keys()
        assert event["ph"] in ("X", "M")
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["ts"] >= 0
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
    for events in tracks.values():
        assert all(first["ts"] + first["dur"] <= second["ts"] + 1e-4 for first, second in pairwise(events))
    return tracks


def test_a_trace_adds_up_to_the_profile(real: Engine, reusing: Engine, hostile: Engine) -> None:
    for engine in (real, reusing, hostile):
        tracks = check_trace(write_trace(engine, list(range(len(engine)))))
        layers = sorted(
            (one for events in tracks.values() for one in events if "index" in one["args"]),
            key=lambda one: one["ts"],
        )
        total = sum(one["dur"] for one in layers) / 1000
        assert total == pytest.approx(engine.latency_sum_ms, rel=1e-9)
        assert [one["args"]["index"] for one in layers] == list(range(len(engine)))
    by_stream = check_trace(write_trace(reusing, range(5)))
    assert [[one["name"] for one in events] for _, events in sorted(by_stream.items())] == [
        ["a", "c", "d"],
        ["b", "e"],
    ]


def test_a_trace_has_the_queries(real: Engine) -> None:
    tracks = check_trace(write_trace(real, []))
    assert len(tracks[2, 3]) == len(measured_queries(real))


def test_a_trace_of_queries_that_overlap(tmp_path: Path) -> None:
    rows = [timing_row(1.0, 0.5), timing_row(1.2, 0.5), timing_row(2.0, 0.5), timing_row(1.6, 0.3)]
    write_json(tmp_path / "only.timing.json", rows)
    assert check_trace(write_trace(load_engine(tmp_path), []))


def test_a_trace_needs_times(tmp_path: Path) -> None:
    write_graph(
        tmp_path / "net.graph.json", [layer("one", "kgen", [tensor("a", 1)], [tensor("b", 1)])], ["a", "b"]
    )
    with pytest.raises(TrexError, match="no times"):
        write_trace(load_engine(tmp_path), [0])
