"""Single times of layers, as an IProfiler writes them: percentile and spread of each layer."""

from __future__ import annotations

import csv
import io
import json
import statistics
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explained import assert_keys_explained
from helpers import chain, layer, strict_json, tensor, write_graph
from trex_tui import load_engine
from trex_tui.old.artifacts.layer_spread import LayerSpread
from trex_tui.old.artifacts.profile import read_profile
from trex_tui.old.cli import main
from trex_tui.old.lint.model import Judged
from trex_tui.old.lint.run import run
from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.cells import draw
from trex_tui.old.report.charts.figure import HERE, Subject
from trex_tui.old.report.charts.spread_charts import make_box
from trex_tui.old.report.charts.svg_elements import PALETTE
from trex_tui.old.report.views.layer_details import layer_lines
from trex_tui.old.widgets.table_columns import latency_columns
from tui import write

STAMP = "20241121-00:00:01.50"
TIMES = [1.0] * 98 + [3.0, 9.0]


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


def engine_folder(tmp_path: Path) -> Path:
    layers = [
        layer("conv1", inputs=[tensor("x", 1, 8)], outputs=[tensor("a", 1, 8)]),
        layer("conv2", inputs=[tensor("a", 1, 8)], outputs=[tensor("b", 1, 8)]),
        layer("conv3", inputs=[tensor("b", 1, 8)], outputs=[tensor("c", 1, 8)]),
    ]
    write(tmp_path / "trt_engine_info.json", {"Layers": layers, "Bindings": ["x", "c"]})
    write(tmp_path / "trt_layer_latency.json", {"conv1": TIMES, "conv2": [1.0] * 100, "conv3": [2.0] * 100})
    return tmp_path


def test_columns_and_filter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(engine_folder(tmp_path))
    arguments = [
        "layers",
        folder,
        "--columns",
        "name,p50_ms,p99_ms,cv_pct",
        "--filter",
        "cv_pct > 10",
        "--json",
    ]
    assert main(arguments) == 0
    (row,) = strict_json(capsys.readouterr().out)["layers"]
    assert (row["name"], row["median_ms"], row["p99_ms"]) == ("conv1", 1.0, 3.0)
    assert row["cv_pct"] == pytest.approx(73.9, abs=10)


def test_details_of_a_layer(tmp_path: Path) -> None:
    engine = load_engine(engine_folder(tmp_path))
    text = "\n".join(line.text for line in layer_lines(engine, engine.layers[0]))
    assert "median 1.0000 ms · p99 3.0000 ms · CV " in text


@pytest.mark.parametrize("name", ["alexnet", "resnet18", "mobilenet_v2"])
def test_real_dumps(artifacts: Path, name: str) -> None:
    folder = artifacts / "torch-trt" / name
    samples = json.loads((folder / "trt_layer_latency.json").read_text(encoding="utf-8"))
    engine = load_engine(folder)
    assert [timed.name for timed in engine.layers if timed.latency is None] == []
    for timed in engine.layers:
        times = samples[timed.name]
        assert timed.latency is not None
        spread = timed.latency.spread
        assert spread is not None
        assert spread.samples == len(times) == 100
        assert spread.p99_ms == sorted(times)[-2]
        if spread.cv_pct is not None:
            assert spread.cv_pct == pytest.approx(100 * statistics.pstdev(times) / statistics.fmean(times))


def test_trtexec_states_no_single_times(artifacts: Path) -> None:
    engine = load_engine(artifacts / "edge-vision" / "results" / "mobilenet_v2")
    assert all(timed.latency is None or timed.latency.spread is None for timed in engine.layers)


def set_of(folder: Path, samples: dict[str, list[float]], info: str) -> str:
    folder.mkdir()
    (folder / "trt_engine_info.json").write_text(info, encoding="utf-8")
    write(folder / "trt_layer_latency.json", samples)
    return str(folder)


@pytest.fixture
def halves(tmp_path: Path, artifacts: Path) -> tuple[str, str, str]:
    """A real engine's odd and even calls as two engines, and the even ones with a layer that takes 0.01 ms longer."""
    source = artifacts / "torch-trt" / "resnet18"
    info = (source / "trt_engine_info.json").read_text(encoding="utf-8")
    samples = json.loads((source / "trt_layer_latency.json").read_text(encoding="utf-8"))
    even = {name: times[::2] for name, times in samples.items()}
    odd = {name: times[1::2] for name, times in samples.items()}
    slowest = max(odd, key=lambda name: sum(odd[name]))
    worse = odd | {slowest: [time + 0.01 for time in odd[slowest]]}
    sets = {"even": even, "odd": odd, "worse": worse}
    even_path, odd_path, worse_path = (set_of(tmp_path / name, times, info) for name, times in sets.items())
    return even_path, odd_path, worse_path


def blocks_of(capsys: pytest.CaptureFixture[str], *paths: str) -> list[dict[str, Any]]:
    assert main(["diff", *paths, "--json", "--top", "0"]) == 0
    document = strict_json(capsys.readouterr().out)
    assert_keys_explained("diff", document)
    blocks: list[dict[str, Any]] = document["blocks"]
    return blocks


def test_equal_engines_do_not_differ_beyond_noise(
    halves: tuple[str, str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = [block["verdicts"][1]["outcome"] for block in blocks_of(capsys, halves[0], halves[1])]
    assert len(outcomes) == 26
    assert outcomes.count("not distinguishable") >= 24


def test_one_slower_layer_is_found(halves: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    blocks = blocks_of(capsys, halves[0], halves[2])
    slower = [block for block in blocks if block["verdicts"][1]["outcome"] == "slower"]
    worst = max(blocks, key=lambda block: block["delta_ms"])
    assert worst in slower
    assert len(slower) <= 2
    assert worst["verdicts"][0] is None
    low, high = worst["verdicts"][1]["interval_ms"]
    assert low < 0.01 < high
    assert worst["verdicts"][1]["difference_ms"] == pytest.approx(worst["delta_ms"], abs=1e-9)
    assert worst["verdicts"][1]["calls"] == [50, 50]


def test_verdicts_in_text_and_csv(halves: tuple[str, str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", halves[0], halves[2], "--top", "3"]) == 0
    text = capsys.readouterr().out
    assert "Single times of layers judge 26 blocks: " in text
    assert "B noise" in text
    assert main(["diff", halves[0], halves[2], "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert sum(row["verdict_1"] == "slower" for row in rows) >= 1


def test_no_verdicts_without_single_times_of_both(
    halves: tuple[str, str, str], artifacts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = str(artifacts / "edge-vision" / "results" / "resnet18")
    assert {block["verdicts"] is None for block in blocks_of(capsys, halves[0], other)} == {True}


def test_few_calls_are_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    info = json.dumps({"Layers": chain("conv1", "conv2", "conv3"), "Bindings": []})
    few = {f"conv{number}": [1.0, 1.1, 1.2] for number in (1, 2, 3)}
    paths = [set_of(tmp_path / name, few, info) for name in ("a", "b")]
    outcomes = {block["verdicts"][1]["outcome"] for block in blocks_of(capsys, *paths)}
    assert outcomes <= {"no verdict", "not distinguishable"}


@given(times=st.lists(st.floats(0, 1e6), min_size=1, max_size=60))
def test_a_box_holds_all_times(times: list[float]) -> None:
    box = make_box(times)
    assert box.low <= box.first <= box.middle <= box.third <= box.high
    assert box.middle == statistics.median(times)
    inside = [time for time in times if box.low <= time <= box.high]
    assert len(inside) + len(box.beyond) == len(times)


@pytest.mark.parametrize("form", ["text", "svg"])
def test_chart_of_the_spread(tmp_path: Path, artifacts: Path, form: str) -> None:
    path = tmp_path / f"spread.{form}"
    folder = str(artifacts / "torch-trt" / "resnet18")
    assert main(["layers", folder, "--chart", "spread", "--format", form, "-o", str(path)]) == 0
    text = path.read_text(encoding="utf-8")
    assert "2600 calls of 26 layers" in text
    assert "┃" in text if form == "text" else text.count("<rect") >= 24


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
