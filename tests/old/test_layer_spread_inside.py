"""Single times of layers, as an IProfiler writes them: percentile and spread of each layer."""

from __future__ import annotations

import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import chain, write_graph
from small_engines import write
from test_layer_spread import TIMES, engine_folder
from trex_tui import load_engine
from trex_tui.old.artifacts.layer_spread import LayerSpread
from trex_tui.old.artifacts.profile import read_profile
from trex_tui.old.lint.model import Judged
from trex_tui.old.lint.run import run
from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.cells import draw
from trex_tui.old.report.charts.figure import HERE, Subject
from trex_tui.old.report.charts.spread_charts import make_box
from trex_tui.old.report.charts.svg_elements import PALETTE
from trex_tui.old.report.views.layer_details import layer_lines
from trex_tui.old.widgets.table_columns import latency_columns

STAMP = "20241121-00:00:01.50"


def spread_of(tmp_path: Path, samples: list[Any]) -> LayerSpread | None:
    document = {"conv1": samples, "conv2": [1.0], "relu": [2.0]}
    return read_profile(write(tmp_path / "x.trt_layer_latency.json", document)).spreads[0]


@pytest.mark.parametrize("samples", [TIMES, [[ms, STAMP] for ms in TIMES]], ids=["times", "with stamps"])
def test_percentile_and_spread(tmp_path: Path, samples: list[Any]) -> None:
    spread = spread_of(tmp_path, samples)
    assert spread is not None
    assert (spread.samples, spread.p99_ms) == (100, 3.0)
    assert spread.cv_pct == pytest.approx(100 * statistics.pstdev(TIMES) / statistics.fmean(TIMES))


@pytest.mark.parametrize(
    ("samples", "known", "p99_ms", "cv_pct"),
    [
        ([2.0], [2.0], 2.0, None),
        ([0.0, 0.0], [0.0, 0.0], 0.0, None),
        ([1.0, None, "x", -1.0, [], 3.0], [1.0, 3.0], 3.0, 50.0),
    ],
)
def test_few_and_damaged_samples(
    tmp_path: Path, samples: list[Any], known: list[float], p99_ms: float, cv_pct: float | None
) -> None:
    spread = spread_of(tmp_path, samples)
    assert spread is not None
    assert (list(spread.times_ms), spread.p99_ms, spread.cv_pct) == (known, p99_ms, cv_pct)


def test_details_of_a_layer(tmp_path: Path) -> None:
    engine = load_engine(engine_folder(tmp_path))
    text = "\n".join(line.text for line in layer_lines(engine, engine.layers[0]))
    assert "median 1.0000 ms · p99 3.0000 ms · CV " in text


@given(times=st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_a_box_holds_all_times(times: list[float]) -> None:
    box = make_box(times)
    assert box.low <= box.first <= box.middle <= box.third <= box.high
    assert box.middle == statistics.median(times)
    inside = [time for time in times if box.low <= time <= box.high]
    assert len(inside) + len(box.beyond) == len(times)


def test_chart_marks_every_layer(artifacts: Path) -> None:
    engine = load_engine(artifacts / "torch-trt" / "resnet18")
    subject = Subject(engine, engine.layers, PALETTE, current=engine.layers[3])
    drawing = draw(CHARTS_BY_ID["spread"], subject, 100, 60)
    assert set(drawing.spot_of_layer) == set(range(26))
    assert any(HERE in "".join(span.text for span in line) for line in drawing.lines)


def test_chart_without_single_times(artifacts: Path) -> None:
    engine = load_engine(artifacts / "edge-vision" / "results" / "resnet18")
    chart = CHARTS_BY_ID["spread"]
    assert not chart.needs(engine)
    assert chart.make(Subject(engine, engine.layers, PALETTE)).form is None


def rule_of(tmp_path: Path, samples: dict[str, list[float]]) -> Judged | None:
    folder = engine_folder(tmp_path)
    write(folder / "trt_layer_latency.json", samples)
    result = run(load_engine(folder))
    return next((finding for finding in result.findings if finding.rule.id == "MEASURE006"), None)


STEADY = {"conv2": [1.0] * 100, "conv3": [2.0] * 100}


def test_rule_for_unstable_layers(tmp_path: Path) -> None:
    found = rule_of(tmp_path, {"conv1": TIMES, **STEADY})
    assert found is not None
    evidence = {item.name: item.value for item in found.finding.evidence}
    assert found.finding.layers == (0,)
    assert (evidence["median_ms"], evidence["p99_ms"], evidence["samples"]) == (1.0, 3.0, 100)
    assert evidence["p99_beyond_median_ms"] == pytest.approx(2.0)
    assert "+2 ms in all" in found.finding.message


@pytest.mark.parametrize(
    "times",
    [
        [1.0] * 98 + [1.2, 9.0],  # the 99th percentile is within 1.25 times
        [0.004] * 98 + [0.006, 0.006],  # two steps of the timer
        [1.0, 9.0] * 10,  # too few
    ],
)
def test_layers_that_are_stable_or_not_judged(tmp_path: Path, times: list[float]) -> None:
    assert rule_of(tmp_path, {"conv1": times, **STEADY}) is None


def test_the_noise_of_layers_is_a_column_of_the_latency_tab_where_it_is_known(tmp_path: Path) -> None:
    write_graph(tmp_path / "net.graph.json", chain("a", "b"))
    path = tmp_path / "net.profile.json"
    shown = []
    for document in ({"a": [1.0, 2.0], "b": [1.0, 1.5]}, [{"name": "a", "averageMs": 1.5}]):
        path.write_text(json.dumps(document), encoding="utf-8")
        shown.append({column.key for column in latency_columns(load_engine(tmp_path))})
    assert shown[0] - shown[1] == {"cv_pct"}
