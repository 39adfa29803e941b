"""Every real set against expectations computed here from the plain JSON."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from helpers import RealSet, real_sets

EVERY = pytest.mark.parametrize("real", real_sets(every=True))
PROFILED = pytest.mark.parametrize("real", real_sets(having=["graph", "profile"], every=True))


def make_name(raw: Any) -> str:
    return raw if isinstance(raw, str) else raw["Name"]


@EVERY
def test_layers_are_those_of_the_file_in_order(real: RealSet) -> None:
    engine = real.engine()
    assert [layer.name for layer in engine.layers] == [make_name(raw) for raw in real.layers()]
    assert [layer.index for layer in engine.layers] == list(range(len(real.layers())))
    seen: Counter[str] = Counter()
    for layer in engine.layers:
        assert layer.occurrence == seen[layer.name]
        seen[layer.name] += 1


@EVERY
def test_bindings_are_those_of_the_file(real: RealSet) -> None:
    root = real.json("graph")
    engine = real.engine()
    names = root.get("Bindings", [])
    assert list(dict.fromkeys(one.name for one in engine.bindings)) == names
    if engine.names_only:
        assert {one.is_input for one in engine.bindings} <= {None}
        return
    read = {tensor["Name"] for raw in real.layers() for tensor in raw["Inputs"]}
    written = {tensor["Name"] for raw in real.layers() for tensor in raw["Outputs"]}
    for one in engine.bindings:
        assert one.name in (read if one.is_input else written)


@EVERY
def test_tensors_keep_names_and_extents(real: RealSet) -> None:
    for layer, raw in zip(real.engine().layers, real.layers(), strict=True):
        if isinstance(raw, str):
            assert layer.layer_type is None
            assert layer.inputs == layer.outputs == ()
            continue
        assert layer.layer_type == raw["LayerType"]
        for tensors, originals in ((layer.inputs, raw["Inputs"]), (layer.outputs, raw["Outputs"])):
            assert [one.name for one in tensors] == [one["Name"] for one in originals]
            assert [list(one.shape) for one in tensors] == [one["Dimensions"] for one in originals]


@PROFILED
def test_times_are_those_of_the_profile(real: RealSet) -> None:
    engine = real.engine()
    rows: dict[tuple[str, int], dict[str, Any]] = {}
    seen: Counter[str] = Counter()
    for row in real.rows():
        rows[row["name"], seen[row["name"]]] = row
        seen[row["name"]] += 1
    matched = 0
    for layer in engine.layers:
        row = rows.get((layer.name, layer.occurrence))
        if row is None:
            assert layer.latency is None
            continue
        matched += 1
        assert layer.latency is not None
        assert layer.latency.average_ms == row["averageMs"]
        assert layer.latency.median_ms == row.get("medianMs")
        assert layer.latency.total_ms == row["timeMs"]
        assert layer.latency.trtexec_pct == row["percentage"]
    assert matched == len(rows) == len(real.rows())
    (count,) = [one["count"] for one in real.json("profile") if "count" in one]
    assert engine.profile_iterations == count


@EVERY
def test_links_join_writers_and_readers(real: RealSet) -> None:
    engine = real.engine()
    if engine.names_only:
        assert engine.links == ()
        return
    raw = real.layers()
    for link in engine.links:
        assert link.tensor in [tensor["Name"] for tensor in raw[link.source]["Outputs"]]
        assert raw[link.target]["Inputs"][link.port]["Name"] == link.tensor
        assert link.is_loop is (link.source >= link.target)
    # Every input that some layer wrote has at least one link, and no other has.
    written = {tensor["Name"] for one in raw for tensor in one["Outputs"]}
    expected = {
        (target, port)
        for target, one in enumerate(raw)
        for port, tensor in enumerate(one["Inputs"])
        if tensor["Name"] in written
    }
    assert {(link.target, link.port) for link in engine.links} == expected
    assert engine.graph.number_of_nodes() == len(raw)
    assert engine.graph.number_of_edges() == len(engine.links)


@pytest.mark.parametrize("real", real_sets(every=True))
def test_number_of_links(real: RealSet) -> None:
    """Each pair of a writer and a reader of a tensor is a link, but where a tensor is written anew after it was read."""
    layers = [raw for raw in real.layers() if isinstance(raw, dict)]
    writers = Counter(tensor["Name"] for raw in layers for tensor in raw["Outputs"])
    pairs = sum(writers[tensor["Name"]] for raw in layers for tensor in raw["Inputs"])
    links = real.engine().links
    assert len(links) == {"tofp16": 1714}.get(real.name, pairs)
    assert not any(link.is_loop for link in links)


@pytest.mark.parametrize("real", real_sets(having=["timing"], every=True))
def test_timing_columns_are_those_of_the_file(real: RealSet) -> None:
    timing = real.engine().timing
    rows = real.json("timing")
    assert timing is not None
    assert timing.rows == len(rows)
    for key in ("latencyMs", "computeMs", "startComputeMs"):
        assert timing.columns[key].tolist() == [row[key] for row in rows]
    assert set(timing.columns) == set(rows[0])


@pytest.mark.parametrize("real", real_sets(having=["profile_metadata"], every=True))
def test_performance_and_device_are_those_of_the_metadata(real: RealSet) -> None:
    engine = real.engine()
    metadata = real.json("profile_metadata")
    assert engine.device_name == metadata["device_information"]["Selected Device"]
    assert engine.metadata.throughput_qps == metadata["performance_summary"]["Throughput"]
    summary = engine.metadata.latency()
    values = metadata["performance_summary"]["Latency"]
    assert summary is not None
    assert [summary.min_ms, summary.max_ms, summary.mean_ms, summary.median_ms] == values[:4]
    assert list(summary.percentiles_ms.values()) == values[4:]
    assert list(summary.percentiles_ms) == ([99.0] if len(values) == 5 else [90.0, 95.0, 99.0])
    build = real.json("build_metadata")["build_options"]
    assert engine.metadata.builder_precision == build["Precision"]
