"""Graph files, ONNX, tables and traces, each read back by the library that people read it with."""

from __future__ import annotations

import io
import json
import math
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest
from graph_cases import HOSTILE, chain_of, names_only_engine, reusing_engine
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS, layer, strict_json, tensor, timing_row, write_graph, write_json
from trex_tui.old.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.engine.columns import COLUMNS, build_frame
from trex_tui.old.errors import TrexError
from trex_tui.old.report.graph import graph_files
from trex_tui.old.report.graph.engine_graph import GraphOptions, build_graph
from trex_tui.old.report.graph.model import EngineGraph
from trex_tui.old.report.graph.onnx_file import write_onnx
from trex_tui.old.report.graph.trace import LAYERS, QUERIES, trace_document
from trex_tui.old.report.table_files import write_parquet, write_xlsx
from trex_tui.old.text import printable

FEW = [ALL_COLUMNS_BY_NAME[name] for name in ("index", "name", "kind", "latency_ms", "tactic", "onnx_nodes")]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return chain_of(HOSTILE, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def reusing(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return reusing_engine(tmp_path_factory.mktemp("reusing"))


@pytest.fixture(scope="module")
def real() -> Engine:
    if not ARTIFACTS.is_dir():
        pytest.skip(f"no real artifacts at {ARTIFACTS}")
    return load_engine(ARTIFACTS / "trex" / "resnet-A100" / "qat")


def same(network: Any, graph: EngineGraph, text: Any) -> None:
    """The same nodes, edges and names, however often a name occurs."""
    assert set(network.nodes) == {node.id for node in graph.nodes}
    for node in graph.nodes:
        told = network.nodes[node.id]
        assert told["label"] == text(node.name)
        assert told["role"] == node.role.value
        if node.layer is not None:
            assert told["name"] == text(node.layer.name)
            assert told["kind"] == node.layer.kind.value
            assert told.get("latency_ms") == node.layer.latency_ms
    found = sorted((a, b, told["role"], told["tensor"]) for a, b, told in network.edges(data=True))
    ids = [node.id for node in graph.nodes]
    assert found == sorted(
        (ids[one.source], ids[one.target], one.role.value, text(one.tensor)) for one in graph.edges
    )


@pytest.mark.parametrize("which", ["hostile", "reusing", "real"])
def test_graph_files_come_back_as_they_were(which: str, request: pytest.FixtureRequest) -> None:
    engine: Engine = request.getfixturevalue(which)
    graph = build_graph(engine, GraphOptions(constants=True, highlight="index:0"))
    columns = ALL_COLUMNS if which == "real" else FEW
    graphml = graph_files.write_graphml(engine, graph, columns)
    same(nx.read_graphml(io.BytesIO(graphml), force_multigraph=True), graph, printable)
    document = graph_files.graph_document(engine, graph, columns)
    assert document["schema"] == "trex-tui/graph/1"
    back = strict_json(json.dumps(document))
    same(nx.node_link_graph(back, edges="edges"), graph, str)


@settings(max_examples=10)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=12))
def test_any_names_come_back(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        engine = chain_of(names, Path(folder))
    graph = build_graph(engine, GraphOptions(constants=True))
    graphml = graph_files.write_graphml(engine, graph, FEW)
    same(nx.read_graphml(io.BytesIO(graphml), force_multigraph=True), graph, printable)


def test_graph_files_state_the_columns(real: Engine) -> None:
    document = graph_files.graph_document(real, build_graph(real, GraphOptions()), ALL_COLUMNS)
    nodes = {one["id"]: one for one in document["nodes"]}
    for one in real.layers:
        told = nodes[f"layer_{one.index}"]
        for column in COLUMNS:
            value = column.value(real, one)
            value = ";".join(value) if isinstance(value, tuple) else value
            assert told.get(column.name) == value, column.name


@pytest.mark.parametrize("which", ["hostile", "reusing", "real", "names"])
def test_onnx_is_valid(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    engine = names_only_engine(tmp_path) if which == "names" else request.getfixturevalue(which)
    model = onnx.load_from_string(write_onnx(engine, build_graph(engine, GraphOptions())))
    onnx.checker.check_model(model)
    assert [node.name for node in model.graph.node] == [
        f"{one.index} {printable(one.name)}" for one in engine.layers
    ]
    if which == "real":
        assert [one.name for one in model.graph.input] == ["input.1"]
        assert [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim] == [32, 3, 224, 224]
        producers = {name: node for node in model.graph.node for name in node.output}
        pairs = {
            (int(producers[name].name.split()[0]), int(node.name.split()[0]))
            for node in model.graph.node
            for name in node.input
            if name in producers
        }
        assert pairs == {(link.source, link.target) for link in engine.links}
    if which == "reusing":
        inputs = {node.name: list(node.input) for node in model.graph.node}
        assert inputs["0 a"] == ["in", "state (iteration before)"]
        assert inputs["4 e"] == ["s#2", "s#3"], "both writers of one value"


def test_onnx_of_a_part_has_inputs_from_outside(reusing: Engine) -> None:
    onnx = pytest.importorskip("onnx")
    model = onnx.load_from_string(write_onnx(reusing, build_graph(reusing, GraphOptions(query="e"))))
    onnx.checker.check_model(model)
    assert [one.name for one in model.graph.input] == ["s"]


@pytest.mark.parametrize("which", ["hostile", "real"])
def test_parquet_holds_the_frame(which: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("pyarrow")
    engine: Engine = request.getfixturevalue(which)
    frame = pd.read_parquet(io.BytesIO(write_parquet(engine, COLUMNS)))
    assert list(frame.columns) == list(build_frame(engine).columns)
    for name in ("latency_ms", "weights_bytes", "kind", "precision", "tactic_value", "stream"):
        pd.testing.assert_series_equal(frame[name], build_frame(engine)[name], check_dtype=False)
    assert frame["onnx_nodes"].map(len).tolist() == build_frame(engine)["onnx_nodes"].map(len).tolist()
    encodable = [name.encode("utf-8", "backslashreplace").decode() for name in build_frame(engine)["name"]]
    assert frame["name"].tolist() == encodable
    assert len(pd.read_parquet(io.BytesIO(write_parquet(engine, COLUMNS, {1, 3})))) == 2


@pytest.mark.parametrize("which", ["hostile", "real"])
def test_excel_holds_values_and_no_formula(which: str, request: pytest.FixtureRequest) -> None:
    pytest.importorskip("xlsxwriter")
    openpyxl = pytest.importorskip("openpyxl")
    engine: Engine = request.getfixturevalue(which)
    data = write_xlsx(engine, FEW)
    assert data == write_xlsx(engine, FEW)
    sheet = openpyxl.load_workbook(io.BytesIO(data))["layers"]
    rows = list(sheet.iter_rows(values_only=True))
    assert rows[0] == tuple(column.name for column in FEW)
    assert {cell.data_type for row in sheet.iter_rows() for cell in row} <= {"s", "n"}
    for row, one in zip(rows[1:], engine.layers, strict=True):
        assert row[0] == one.index
        assert row[3] == one.latency_ms
        shown = printable(one.name)
        assert (row[1] or "") == shown or len(shown) > 32_767 == len(row[1])


def test_a_missing_library_is_named(real: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("pyarrow", "xlsxwriter", "onnx"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(TrexError, match=r"pip install 'trex-tui\[parquet\]'"):
        write_parquet(real, FEW)
    with pytest.raises(TrexError, match=r"pip install 'trex-tui\[xlsx\]'"):
        write_xlsx(real, FEW)
    with pytest.raises(TrexError, match=r"pip install 'trex-tui\[onnx\]'"):
        write_onnx(real, build_graph(real, GraphOptions()))


def check_trace(document: dict[str, Any]) -> dict[tuple[int, int], list[dict[str, Any]]]:
    """What the format asks for: keys by phase, and on each track no event that begins before the one before has ended."""
    strict_json(json.dumps(document, allow_nan=False))
    tracks: dict[tuple[int, int], list[dict[str, Any]]] = {}
    named = set()
    for event in document["traceEvents"]:
        assert {"name", "ph", "ts", "pid", "tid", "args"} <= event.keys()
        assert event["ph"] in ("X", "M")
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert event["ts"] >= 0
            tracks.setdefault((event["pid"], event["tid"]), []).append(event)
        elif event["name"] == "thread_name":
            named.add((event["pid"], event["tid"]))
    assert named == tracks.keys()
    for events in tracks.values():
        assert all(first["ts"] + first["dur"] <= second["ts"] + 1e-4 for first, second in pairwise(events))
    return tracks


def test_trace_adds_up_to_the_profile(real: Engine, reusing: Engine, hostile: Engine) -> None:
    for engine in (real, reusing, hostile):
        tracks = check_trace(trace_document(engine))
        layers = sorted(
            (one for key in tracks if key[0] == LAYERS for one in tracks[key]), key=lambda one: one["ts"]
        )
        total = math.fsum(one["dur"] for one in layers) / 1000
        assert total == pytest.approx(engine.latency_sum_ms, rel=1e-9)
        assert layers[-1]["ts"] + layers[-1]["dur"] == pytest.approx(1000 * total, rel=1e-9)
        assert [one["args"]["index"] for one in layers] == [one.index for one in engine.layers]
        assert [one["name"] for one in layers] == [one.name for one in engine.layers]
    streams = check_trace(trace_document(reusing))
    assert {key: [one["name"] for one in events] for key, events in streams.items()} == {
        (LAYERS, 1): ["a", "c", "d"],
        (LAYERS, 2): ["b", "e"],
    }
    computes = check_trace(trace_document(real))[QUERIES, 3]
    assert real.timing is not None
    assert len(computes) == real.timing.rows
    stated = [one["args"]["computeMs"] for one in computes]
    assert stated == list(real.timing.columns["computeMs"])


def test_trace_of_queries_alone(tmp_path: Path) -> None:
    rows = [timing_row(1.0, 0.5), timing_row(1.2, 0.5), timing_row(2.0, 0.5), timing_row(1.6, 0.3)]
    rows[3]["computeMs"] = "nan"  # type: ignore[assignment]
    write_json(tmp_path / "only.timing.json", rows)
    document = trace_document(load_engine(tmp_path))
    tracks = check_trace(document)
    assert [one["args"]["row"] for one in tracks[QUERIES, 3]] == [0, 3, 2]
    assert [one["args"]["row"] for one in tracks[QUERIES, 103]] == [1], "it begins while the first computes"
    assert document["otherData"]["queries"] == 4
    assert document["otherData"]["layers"] == 0
    write_json(
        tmp_path / "bare" / "bare.timing.json",
        [{"latencyMs": 2.0, "computeMs": 1.0}, {"latencyMs": 2.5, "computeMs": 1.5}],
    )
    bare = check_trace(trace_document(load_engine(tmp_path / "bare")))
    assert [(one["ts"], one["dur"]) for one in bare[QUERIES, 3]] == [(0, 1000), (1000, 1500)]


def test_trace_without_times(tmp_path: Path) -> None:
    write_graph(
        tmp_path / "net.graph.json", [layer("one", "kgen", [tensor("a", 1)], [tensor("b", 1)])], ["a", "b"]
    )
    with pytest.raises(TrexError, match="no times to trace"):
        trace_document(load_engine(tmp_path))
