"""The tables of an engine and its graph, recounted from the files."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import networkx as nx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import REPOSITORY, RealSet, layer, real_sets, tensor, write_graph
from trex_tui.api import load_engine
from trex_tui.engine.dtypes import parse_data_type, parse_format
from trex_tui.engine.graph import find_links
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_rows, plain_values

SAMPLE = REPOSITORY / "sample_artifacts" / "alexnet"
TYPES = {
    "Float": 32,
    "FP32": 32,
    "Half": 16,
    "FP16": 16,
    "Int8": 8,
    "INT8": 8,
    "Int32": 32,
    "Int64": 64,
    "Bool": 8,
}


@pytest.fixture(scope="module")
def alexnet() -> Engine:
    return load_engine(SAMPLE)


def _load(real: RealSet, kind: str = "graph") -> Engine:
    return load_engine(real.path(kind))


# Recounts


@pytest.mark.parametrize("real", real_sets())
def test_a_row_per_layer_in_the_order_of_the_file(real: RealSet) -> None:
    engine, objects = _load(real), real.layers()
    names = [raw if isinstance(raw, str) else raw["Name"] for raw in objects]
    assert engine.layers["name"].tolist() == names
    assert engine.layers.index.tolist() == list(range(len(names)))
    seen: Counter[str] = Counter()
    for name, occurrence in zip(names, engine.layers["occurrence"], strict=True):
        assert occurrence == seen[name]
        seen[name] += 1
    assert [raw["Name"] for raw in engine.attributes] == names


@pytest.mark.parametrize("real", real_sets(having=["profile"]))
def test_times_are_those_of_the_profile(real: RealSet) -> None:
    engine, rows = _load(real), defaultdict(list)
    for row in real.rows():
        rows[row["name"]].append(row)
    expected = [rows[name].pop(0) if rows[name] else {} for name in engine.layers["name"]]
    for column, key in (("latency_ms", "averageMs"), ("median_ms", "medianMs"), ("total_ms", "timeMs")):
        assert plain_values(engine.layers[column]) == [row.get(key) for row in expected]
    assert engine.unmatched_rows == sum(map(len, rows.values()))
    known = [row["averageMs"] for row in expected if row]
    assert engine.latency_sum_ms == pytest.approx(math.fsum(known), rel=1e-12)
    assert engine.column("latency_pct").sum() == pytest.approx(100.0)
    slowest = engine.layers["latency_ms"].idxmax()
    assert engine.column("cumulative_pct")[slowest] == pytest.approx(engine.column("latency_pct")[slowest])
    assert engine.column("cumulative_pct").max() == pytest.approx(100.0)


@pytest.mark.parametrize("real", real_sets())
def test_bytes_of_tensors(real: RealSet) -> None:
    engine = _load(real)
    objects = [raw for raw in real.layers() if isinstance(raw, dict)]
    if not objects:
        assert engine.tensors.empty
        assert engine.has_names_only
        return
    listed = [
        (index, role, entry["Name"], tuple(entry["Dimensions"]), entry["Format/Datatype"])
        for index, raw in enumerate(objects)
        for key, role in (("Inputs", "input"), ("Outputs", "output"))
        for entry in raw.get(key, ())
    ]
    rows = plain_rows(engine.tensors)
    assert [tuple(row[key] for key in ("layer", "role", "name", "shape")) for row in rows] == [
        entry[:4] for entry in listed
    ]
    sizes: dict[int, list[int | None]] = defaultdict(list)
    for row, (index, *_, shape, text) in zip(rows, listed, strict=True):
        sizes[index].append(row["bytes"])
        bits = TYPES.get(text)  # the bare types of Myelin; layouts are tested apart
        if bits and min(shape, default=0) >= 0:
            assert row["bytes"] == -(-math.prod(shape) * bits // 8) == row["allocated_bytes"]
    totals = [None if None in sizes[index] else sum(sizes[index]) for index in range(len(engine))]  # type: ignore[arg-type]
    assert plain_values(engine.column("io_bytes")) == totals


def test_unknown_is_missing_never_0(tmp_path: Path) -> None:
    raw = [
        layer("a", "CaskConvolution", [tensor("x", -1, 3, dtype="Half")], [tensor("y", 1, 8, dtype="Odd")]),
        layer("b", "kgen", [], [tensor("z", 1)]),
        {"Name": "c"},
    ]
    engine = load_engine(write_graph(tmp_path / "n.graph.json", raw, ["x"]))
    assert plain_values(engine.tensors["bytes"]) == [None, None, 2]
    assert plain_values(engine.tensors["volume"]) == [None, 8, 1]
    assert plain_values(engine.column("io_bytes")) == [None, 2, None]
    assert plain_values(engine.column("latency_ms")) == [None] * 3
    assert plain_values(engine.column("latency_pct")) == [None] * 3
    assert engine.latency_sum_ms is None
    assert plain_values(engine.column("weights_bytes")) == [None, 0, None], "a convolution hides its filter"
    assert plain_values(engine.column("input_shapes")) == ["-1x3", None, None]
    assert engine.bindings["shape"].tolist() == [(-1, 3)]


def test_layers_that_are_no_layers(tmp_path: Path) -> None:
    """Damage of one entry costs that entry."""
    raw = [layer("a"), 7, {"LayerType": "kgen"}, layer("b", StreamId="x", Inputs=3, Outputs=[1, {"Name": 4}])]
    engine = load_engine(write_graph(tmp_path / "n.graph.json", raw))
    assert engine.layers["name"].tolist() == ["a", "(layer 2 without a name)", "b"]
    assert plain_values(engine.layers["stream"]) == [None] * 3
    assert engine.tensors["name"].tolist() == [""]
    assert engine.links.empty
    assert [note.where for note in engine.notes if note.where] == ["Layers[1]", "Layers[2]"]


# Dataflow


def _frame(tensors: list[tuple[int, str, int, str]]) -> pd.DataFrame:
    frame = pd.DataFrame(tensors, columns=["layer", "role", "port", "name"])
    return frame.assign(dtype="FP16", bytes=pd.array([2] * len(frame), "Int64"))


def _links(frame: pd.DataFrame) -> set[tuple[Any, ...]]:
    links = find_links(frame)
    rows = list(links[["source", "target", "tensor", "port", "is_loop"]].itertuples(index=False, name=None))
    assert len(set(rows)) == len(rows)
    return set(rows)


def _check_links(links: pd.DataFrame, tensors: pd.DataFrame) -> None:
    """Every link joins a writer and a reader of the same name, and every read of what is written has one."""
    layers = {
        role: {name: {*group["layer"]} for name, group in rows.groupby("name")}
        for role, rows in tensors.groupby("role")
    }
    written, read = layers.get("output", {}), layers.get("input", {})
    for source, target, name, is_loop in links[["source", "target", "tensor", "is_loop"]].itertuples(
        index=False
    ):
        assert source in written[name]
        assert target in read[name]
        assert is_loop or source <= target
    joined = {*links[["target", "tensor"]].itertuples(index=False, name=None)}
    assert joined == {(layer, name) for name in written.keys() & read.keys() for layer in read[name]}


@pytest.mark.parametrize("real", real_sets())
def test_links_of_real_engines(real: RealSet) -> None:
    engine = _load(real)
    _check_links(engine.links, engine.tensors)
    assert not engine.links["is_loop"].any()


@given(
    st.lists(st.tuples(st.sampled_from(["input", "output"]), st.sampled_from("abc")), min_size=1, max_size=30)
)
def test_links_join_a_writer_and_a_reader(ends: list[tuple[str, str]]) -> None:
    """Each layer reads before it writes, at most three tensors of each."""
    tensors = _frame([(at // 3, role, at, name) for at, (role, name) in enumerate(ends)])
    tensors = tensors.sort_values(["layer", "role", "port"], ignore_index=True)
    _check_links(find_links(tensors), tensors)


def test_a_concatenation_that_was_removed_keeps_all_its_writers() -> None:
    rows = [(0, "output", 0, "cat"), (1, "output", 0, "cat"), (2, "input", 0, "cat")]
    rows += [(3, "output", 0, "cat"), (4, "input", 0, "cat")]
    assert _links(_frame(rows)) == {
        (0, 2, "cat", 0, False),
        (1, 2, "cat", 0, False),
        (3, 4, "cat", 0, False),  # written after a read: another value in the same memory
    }


def test_a_loop_reads_the_value_of_the_iteration_before() -> None:
    rows = [(0, "input", 0, "state"), (0, "output", 0, "x"), (1, "input", 0, "x"), (1, "output", 0, "state")]
    assert _links(_frame(rows)) == {(1, 0, "state", 0, True), (0, 1, "x", 0, False)}


# networkx


@pytest.mark.parametrize("real", real_sets(having=["profile"]))
def test_every_real_graph_is_written_and_its_longest_path_is_that_of_times(
    real: RealSet, tmp_path: Path
) -> None:
    engine = _load(real)
    nx.write_graphml(engine.graph, tmp_path / "net.graphml")
    json.dumps(nx.node_link_data(engine.graph, edges="edges"))
    times = engine.layers["latency_ms"].fillna(0.0).tolist()
    longest = [0.0] * len(engine)  # of the layers before each layer
    links = engine.links.sort_values("target")
    for source, target in zip(links["source"], links["target"], strict=True):
        longest[target] = max(longest[target], longest[source] + times[source])
    path = nx.dag_longest_path(engine.graph, weight="latency_ms")
    assert sum(times[node] for node in path[:-1]) == pytest.approx(max(longest))


# Layouts


@pytest.mark.parametrize(
    ("text", "dtype", "layout", "shape", "allocated"),
    [
        ("Row major linear FP16 format", "FP16", "NCHW", [1, 3, 8, 8], 384),
        ("Channel major FP16 format where channel % 8 == 0", "FP16", "NHWC8", [1, 3, 8, 8], 1024),
        ("Thirty-two wide channel vectorized row major Int8 format", "INT8", "NC/32HW32", [1, 3, 8, 8], 2048),
        ("Half", "FP16", None, [1, 3, 8, 8], 384),
    ],
)
def test_padding_of_layouts(
    tmp_path: Path, text: str, dtype: str, layout: str | None, shape: list[int], allocated: int
) -> None:
    raw = [layer("a", "Reformat", [tensor("x", *shape, dtype=text)], [])]
    row = plain_rows(load_engine(write_graph(tmp_path / "n.graph.json", raw, ["x"])).tensors)[0]
    assert (row["dtype"], row["format"], row["format_text"]) == (dtype, layout, text)
    assert row["allocated_bytes"] == allocated
    assert row["bytes"] == math.prod(shape) * parse_data_type(text).bits // 8
    assert parse_format(text).layout == layout
