"""`trex-tui times` and `layers --chart`, and the one way in which CSV is written."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET

import pytest

from helpers import ARTIFACTS, OLD_SAMPLES, timing_row, write_json
from small_engines import named_engine
from test_times import SVGS, TABLES, read_csv, timed
from trex_tui.__main__ import main
from trex_tui.old.analysis.columns import ALL_COLUMNS, derived
from trex_tui.old.analysis.timing import timing_statistics
from trex_tui.old.cli.engine_parsers import CHART_IDS
from trex_tui.old.engine import load_engine
from trex_tui.old.report.charts.svg_painter import IDS
from trex_tui.old.report.render_json import plain
from trex_tui.old.report.table_files import csv_text, table_csv
from trex_tui.old.report.views.engine import numbers
from trex_tui.old.report.views.layer_table import layers_table
from trex_tui.old.report.views.timing import read_times, series_csv, summary_csv

__all__ = ["timed"]


def test_document_has_the_numbers_of_the_summary(timed, capsys):
    assert main(["times", str(timed), "--json", "--batch", "4"]) == 0
    document = json.loads(capsys.readouterr().out)
    (run,) = document["engines"]
    engine = load_engine(timed)
    assert document["schema"] == "trex-tui/times/2"
    assert {key: run[key] for key in ("timing", "enqueue")} == {
        key: numbers(engine)[key] for key in ("timing", "enqueue")
    }
    assert run["throughput_samples_per_s"] == 4 * run["throughput_qps"]
    assert (run["batch"], run["batch_source"], run["assumed"]) == (4, "--batch", None)
    assert run["file"] == str(timed)


def test_files(timed, tmp_path, capsys):
    out = tmp_path / "a" / "b"
    assert main(["times", str(timed), "--outdir", str(out)]) == 0
    shown, told = capsys.readouterr()
    assert shown == ""
    names = sorted(one.name for one in out.iterdir())
    assert names == sorted(["summary.json", *TABLES, *SVGS])
    assert sorted(line.rpartition("/")[2] for line in told.splitlines()) == names
    for name in SVGS:
        assert ET.fromstring((out / name).read_text()).get("role") == "img"
    statistics = timing_statistics(load_engine(timed))
    summary = {row["metric"]: row["value"] for row in read_csv((out / "summary.csv").read_text())}
    assert float(summary["latency_p99_ms"]) == statistics.latency.percentiles_ms[99.0]
    assert (summary["queries"], summary["warmup_queries"], summary["batch"]) == ("1200", "1", "")
    series = read_csv((out / "latency_series.csv").read_text())
    assert [float(row["latency_ms"]) for row in series] == load_engine(timed).timing.latency_ms.tolist()[1:]
    assert (series[0]["row"], series[0]["start_ms"], series[2]["start_ms"]) == ("1", "0.0", "2.0")
    both = read_csv((out / "enqueue_compute_series.csv").read_text())
    assert list(both[0]) == ["row", "start_ms", "enqueue_ms", "compute_ms"]
    percentiles = {row["percentile"]: row for row in read_csv((out / "latency_percentiles.csv").read_text())}
    assert float(percentiles["99.9"]["latency_ms"]) == statistics.latency.percentiles_ms[99.9]
    document = json.loads((out / "summary.json").read_text())
    assert document["engines"][0]["timing"] == plain(statistics)
    assert sorted(document["files"]) == names


def test_names_cannot_become_formulas(tmp_path):
    names = [
        "=cmd|' /C calc'!A0",
        "+1+1",
        "-2-3",
        "@SUM(A1)",
        "  =1",
        "\t=1",
        "plain",
        'with "quotes", comma',
    ]
    engine = load_engine(named_engine(tmp_path, names))
    rows = read_csv(table_csv(layers_table(engine, engine.layers, ALL_COLUMNS)))
    shown = [row["name"] for row in rows][: len(names)]
    assert not [name for name in shown if name.lstrip().startswith(("=", "+", "-", "@"))]
    assert shown[0] == "'=cmd|' /C calc'!A0"
    assert shown[6:] == ["plain", 'with "quotes", comma']


def test_csv_leaves_numbers_alone():
    text = csv_text(["=a", "b"], [[-0.1, None], [float("nan"), 3], [("x", "=y"), "-1"], [True, "\ud800\0"]])
    assert text == "'=a,b\n-0.1,\n,3\nx;=y,'-1\nTrue,\\ud800␀\n"


@pytest.mark.parametrize("first", "=+-@＝＋－＠﹦﹢﹣﹫−")
def test_no_text_in_csv_begins_a_formula(first):
    texts = [f"{first}x", f" {first}x", f"\u3000{first}x"]
    lines = csv_text(["name"], [[text] for text in texts]).splitlines()[1:]
    assert lines == [f"'{first}x", f"' {first}x", f"' {first}x"]


def test_controls_in_csv_are_shown():
    assert csv_text(["name"], [["\t=1"], ["\r=1"], ["\n=1"], ["\ufeff=1"]]).splitlines()[1:] == [
        "␉=1",
        "␍=1",
        "␊=1",
        "\\ufeff=1",
    ]


def test_csv_of_times_has_no_formula_either(tmp_path):
    path = write_json(tmp_path / "=net.timing.json", [timing_row(300.0, 0.5)])
    run = read_times(load_engine(path))
    assert "engine,'=net" in summary_csv(run).splitlines()
    assert series_csv(run).splitlines()[1].startswith("0,0.0,0.5")


def test_layers_as_a_chart(capsys, monkeypatch):
    alexnet = str(OLD_SAMPLES / "alexnet")
    assert set(CHART_IDS) == set(IDS)
    assert main(["layers", alexnet, "--chart", "svg", "--filter", "kind:convolution"]) == 0
    drawn = ET.fromstring(capsys.readouterr().out)
    told = drawn.findtext("{http://www.w3.org/2000/svg}desc")
    assert told.startswith("Time of each layer in execution order: 5 layers, ")
    assert main(["layers", alexnet, "--chart", "kind", "--sort", "latency_ms", "--top", "2"]) == 0
    assert "2 layers in 1 kind" in capsys.readouterr().out
    with monkeypatch.context() as terminal:
        terminal.setattr(sys.stdout, "isatty", lambda: True)
        assert main(["layers", alexnet, "--chart", "kind"]) == 0
        shown = capsys.readouterr().out
        assert "<svg" not in shown
        assert "gemm" in shown
    assert main(["layers", alexnet, "--chart", "kind", "--format", "csv"]) == 2
    assert main(["layers", str(OLD_SAMPLES / "names_only"), "--chart", "products"]) == 2
    assert "nothing to draw; no GEMM sizes here" in capsys.readouterr().err


def test_real_runs(tmp_path):
    if not ARTIFACTS.is_dir():
        pytest.skip(f"no real artifacts at {ARTIFACTS}")
    folder = ARTIFACTS / "edge-vision" / "results" / "alexnet"
    assert main(["times", str(folder), "--outdir", str(tmp_path)]) == 0
    summary = {row["metric"]: row["value"] for row in read_csv((tmp_path / "summary.csv").read_text())}
    run = load_engine(folder)
    assert float(summary["latency_median_ms"]) == run.metadata.latency().median_ms
    assert len(read_csv((tmp_path / "latency_series.csv").read_text())) == 6039


def test_a_chart_is_written_to_a_file_as_its_ending_says(tmp_path, capsys, monkeypatch):
    alexnet = str(OLD_SAMPLES / "alexnet")
    chart = ["layers", alexnet, "--chart", "bar"]
    for name in ("x.svg", "x.txt"):
        target = tmp_path / name
        assert main([*chart, "-o", str(target)]) == 0
        assert capsys.readouterr().err == f"trex-tui: wrote {target}\n"
        assert "the slowest first" in target.read_text()
    assert main([*chart, "--top", "3", "-o", str(tmp_path / "x.svg")]) == 0, "its own file is replaced"
    engine = load_engine(alexnet)
    slowest = sorted(engine.layers, key=lambda layer: -(layer.latency_ms or 0.0))[:3]
    root, namespace = ET.parse(tmp_path / "x.svg").getroot(), "{http://www.w3.org/2000/svg}"
    titles = [rect.findtext(f"{namespace}title") or "" for rect in root.iter(f"{namespace}rect")]
    assert [title.split("  ")[0] for title in titles if title] == [layer.name for layer in slowest]
    assert main([*chart, "--value", "macs", "--top", "1", "-o", "-"]) == 0
    macs = max(engine.layers, key=lambda layer: derived(engine).compute[layer.index].macs or 0)
    assert macs.name in capsys.readouterr().out
    foreign = tmp_path / "mine.svg"
    foreign.write_text("<svg/>")
    assert main([*chart, "-o", str(foreign)]) == 2
    assert foreign.read_text() == "<svg/>"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([*chart, "-o", str(tmp_path / "x.png")]) == 2
    assert "rsvg-convert" in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()
