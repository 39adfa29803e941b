"""Every real set against expectations computed here from the plain JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers import REAL_SETS, RealSet, real_sets
from trex_tui.old.analysis.structure import total_by_kind, total_by_precision
from trex_tui.old.analysis.timing import summarize, without_warmup
from trex_tui.old.artifacts import find
from trex_tui.old.engine import LayerKind
from trex_tui.old.engine.columns import build_frame
from trex_tui.old.engine.engine import load_set
from trex_tui.old.engine.model import Device

EVERY = pytest.mark.parametrize("real", real_sets(every=True))
PROFILED = pytest.mark.parametrize("real", real_sets(having=["graph", "profile"], every=True))

# The printed mean of two runs is not that of their rows, whichever rows count as warm-up, though minimum, maximum, median
# and percentile are: the file does not tell what else trtexec averaged. Relative deviation.
INEXACT_MEANS = {"resnet-qat": 2.1e-5, "mobilenet-qat-TITANRTX/mobilenet.qat": 1e-5}


def make_name(raw: Any) -> str:
    return raw if isinstance(raw, str) else raw["Name"]


def test_every_set_is_found_with_its_files(artifacts: Path) -> None:
    """Other sets may lie beside those that are known here."""
    found = [{kind.value: path for kind, path in files.files.items()} for files in find(artifacts)]
    for real in REAL_SETS:
        assert {kind: artifacts / real.folder / name for kind, name in real.files.items()} in found


@EVERY
def test_any_file_of_a_set_opens_the_whole_set(real: RealSet) -> None:
    for path in real.paths():
        (found,) = find(path)
        assert set(found.files.values()) == set(real.paths())


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


@EVERY
def test_every_detailed_layer_is_of_a_known_kind_and_type(real: RealSet) -> None:
    engine = real.engine()
    assert engine.dla_blocks == (), "none was built for a DLA"
    assert all(found.device is not Device.DLA for found in engine.layers)
    if engine.names_only:
        return
    assert {layer.kind for layer in engine.layers} - {LayerKind.OTHER} == {
        layer.kind for layer in engine.layers
    }
    untyped = {
        tensor.format.text
        for layer in engine.layers
        for tensor in layer.inputs + layer.outputs
        if tensor.dtype is None
    }
    assert untyped <= {"Unknown format", "None", "N/A due to dynamic shapes"}


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


@PROFILED
def test_sums_add_up(real: RealSet) -> None:
    engine = real.engine()
    expected = math.fsum(row["averageMs"] for row in real.rows())
    assert engine.latency_sum_ms == pytest.approx(expected, rel=1e-12)
    for totals in (total_by_kind(engine), total_by_precision(engine)):
        assert sum(total.layers for total in totals) == len(engine.layers)
        assert math.fsum(total.latency_ms or 0.0 for total in totals) == pytest.approx(expected, rel=1e-12)
        assert math.fsum(total.latency_pct or 0.0 for total in totals) == pytest.approx(100.0, rel=1e-12)


@EVERY
def test_without_a_profile_no_time_is_invented(real: RealSet) -> None:
    engine = real.engine()
    if "profile" in real.files:
        assert engine.has_profile
        return
    assert not engine.has_profile
    assert engine.latency_sum_ms is None
    assert {layer.latency_ms for layer in engine.layers} <= {None}
    assert {total.latency_ms for total in total_by_kind(engine)} <= {None}
    assert build_frame(engine)["latency_ms"].isna().all()


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


@EVERY
def test_frame_agrees_with_layers(real: RealSet) -> None:
    engine = real.engine()
    frame = build_frame(engine)
    assert len(frame) == len(engine.layers)
    assert frame["name"].tolist() == [layer.name for layer in engine.layers]
    assert frame["kind"].tolist() == [layer.kind.value for layer in engine.layers]
    for column, values in (
        ("latency_ms", [layer.latency_ms for layer in engine.layers]),
        ("io_bytes", [layer.io_bytes for layer in engine.layers]),
        ("weights_bytes", [layer.weights_bytes for layer in engine.layers]),
        ("stream", [layer.stream for layer in engine.layers]),
    ):
        assert [
            None if missing else value
            for value, missing in zip(frame[column], frame[column].isna(), strict=True)
        ] == values
    if engine.latency_sum_ms is not None:
        assert frame["latency_ms"].sum() == pytest.approx(engine.latency_sum_ms, rel=1e-12)
        assert frame["latency_pct"].sum() == pytest.approx(100.0, rel=1e-12)


@pytest.mark.parametrize("real", real_sets(having=["timing", "profile_metadata"], every=True))
def test_timing_rows_give_the_printed_summary(real: RealSet) -> None:
    """The rows after the warm-up are those that trtexec summed up: its numbers come out to the digits it prints."""
    engine = real.engine()
    printed = real.json("profile_metadata")["performance_summary"]["Latency"]
    assert engine.timing is not None
    rows, skipped = without_warmup(engine.timing, 200.0)
    assert skipped == sum(row["startComputeMs"] < 200.0 for row in real.json("timing"))
    ours = summarize(sorted(engine.timing.latency_ms[row] for row in rows))
    values = [ours.min_ms, ours.max_ms, ours.median_ms, ours.percentiles_ms[99.0]]
    assert [f"{value:.6g}" for value in values] == [f"{printed[place]:.6g}" for place in (0, 1, 3, -1)]
    assert ours.mean_ms == pytest.approx(printed[2], rel=INEXACT_MEANS.get(real.name, 5e-6), abs=0)


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


@EVERY
def test_nothing_of_a_real_set_is_an_error(real: RealSet) -> None:
    (found,) = find(real.path("graph"))
    engine = load_set(found)
    assert [str(one) for one in engine.diagnostics if one.severity.value == "error"] == []
    graph = real.path("graph").read_text(encoding="utf-8")
    assert engine.names_only is all(isinstance(one, str) for one in json.loads(graph, strict=False)["Layers"])
