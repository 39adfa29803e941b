"""Every real set against expectations computed here from the plain JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from helpers import REAL_SETS, RealSet, real_sets
from test_engine_real import EVERY, PROFILED
from trex_tui.old.analysis.structure import total_by_kind, total_by_precision
from trex_tui.old.analysis.timing import summarize, without_warmup
from trex_tui.old.artifacts import find
from trex_tui.old.engine import LayerKind
from trex_tui.old.engine.columns import build_frame
from trex_tui.old.engine.engine import load_set
from trex_tui.old.engine.model import Device

# The printed mean of two runs is not that of their rows, whichever rows count as warm-up, though minimum, maximum, median
# and percentile are: the file does not tell what else trtexec averaged. Relative deviation.
INEXACT_MEANS = {"resnet-qat": 2.1e-5, "mobilenet-qat-TITANRTX/mobilenet.qat": 1e-5}


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


@EVERY
def test_nothing_of_a_real_set_is_an_error(real: RealSet) -> None:
    (found,) = find(real.path("graph"))
    engine = load_set(found)
    assert [str(one) for one in engine.diagnostics if one.severity.value == "error"] == []
    graph = real.path("graph").read_text(encoding="utf-8")
    assert engine.names_only is all(isinstance(one, str) for one in json.loads(graph, strict=False)["Layers"])
