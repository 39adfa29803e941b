"""`trex-tui times` and `layers --chart`, and the one way in which CSV is written."""

from __future__ import annotations

import csv
import io
import json
import random
import resource
import shutil
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from helpers import ARTIFACTS, REPOSITORY, timing_row, write_json, write_sample_set
from test_reports import golden
from trex_tui.old.analysis.columns import ALL_COLUMNS, derived
from trex_tui.old.analysis.timing import timing_statistics
from trex_tui.old.cli import main
from trex_tui.old.cli.engine_parsers import CHART_IDS
from trex_tui.old.engine import load_engine
from trex_tui.old.report.charts.svg_painter import IDS
from trex_tui.old.report.render_json import plain
from trex_tui.old.report.table_files import csv_text, table_csv
from trex_tui.old.report.views.engine import numbers
from trex_tui.old.report.views.layer_table import layers_table
from trex_tui.old.report.views.timing import read_times, series_csv, summary_csv
from tui import named_engine

SVGS = ["latency_histogram.svg", "latency_percentiles.svg", "latency_over_time.svg", "enqueue_compute.svg"]
TABLES = ["summary.csv", "latency_series.csv", "latency_percentiles.csv", "enqueue_compute_series.csv"]


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 1200 queries after a warm-up, every number round."""
    chance = random.Random(3)
    rows, start = [timing_row(100.0, 9.0)], 1000.0
    for _ in range(1200):
        rows.append(timing_row(start, 0.5 + chance.randrange(8) / 64))
        start += 1.0
    return write_json(tmp_path_factory.mktemp("timed") / "net.timing.json", rows)


def test_text(timed, capsys):
    assert main(["times", str(timed), "--batch", "4"]) == 0
    shown, told = capsys.readouterr()
    assert shown == golden("times.txt", shown)
    assert told == ""


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


def test_files_of_others_are_not_written_over(timed, tmp_path, capsys):
    command = ["times", str(timed), "--outdir", str(tmp_path)]
    mine = tmp_path / "latency_series.csv"
    mine.write_text("mine")
    assert main(command) == 2
    assert (
        "latency_series.csv exists and was not written by `trex-tui times`; write elsewhere, or replace it with"
        " --force" in capsys.readouterr().err
    )
    assert [one.name for one in tmp_path.iterdir()] == [mine.name]  # none, rather than some
    assert main([*command, "--force"]) == 0
    assert mine.read_text().startswith("row,")
    mine.write_text("older")
    assert main(command) == 0  # what it wrote itself it may write again
    assert mine.read_text().startswith("row,")
    (tmp_path / "summary.json").write_text('{"schema": "other", "files": ["summary.csv"]}')
    assert main(command) == 2
    (tmp_path / "file").write_text("")
    assert main(["times", str(timed), "--outdir", str(tmp_path / "file")]) == 2
    capsys.readouterr()
    assert main(["times", str(timed), "--outdir", str(timed.parent)]) == 2
    assert "holds the artifacts; write to another directory" in capsys.readouterr().err
    assert list(timed.parent.iterdir()) == [timed]


def test_a_directory_per_engine(timed, tmp_path, capsys):
    for name in ("one", "two"):
        write_json(tmp_path / "in" / f"{name}.timing.json", json.loads(timed.read_text())[:60])
    assert main(["times", str(tmp_path / "in"), "--outdir", str(tmp_path / "out")]) == 0
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == ["one", "two"]
    capsys.readouterr()
    assert main(["times", str(tmp_path / "in"), "--json"]) == 0
    assert [run["engine"] for run in json.loads(capsys.readouterr().out)["engines"]] == ["one", "two"]


def test_no_file_of_another_engine_stays_unsaid(timed, tmp_path, capsys):
    rows = json.loads(timed.read_text())[:60]
    for name in ("one", "two"):
        write_json(tmp_path / "in" / f"{name}.timing.json", rows)
    short = write_json(tmp_path / "short.json", [{"time_ms": 2.0}])
    out = tmp_path / "out"

    def told(*paths: Path, force: bool = False) -> str:
        arguments = [*map(str, paths), "--outdir", str(out), *(["--force"] if force else [])]
        assert main(["times", *arguments]) == 0
        return capsys.readouterr().err

    told(timed)
    message = told(tmp_path / "in")
    assert sorted(path.name for path in out.iterdir()) == ["one", "two"]
    assert message.count("removed stale") == len(["summary.json", *TABLES, *SVGS])
    message = told(timed)
    assert f"warning: {out / 'one'}: stale file of an earlier run, not removed" in message
    (out / "summary.json").write_text('{"schema": "trex-tui/times/2"}')
    message = told(short, force=True)
    assert f"removed stale {out / 'enqueue_compute.svg'}" in message
    assert not (out / "enqueue_compute.svg").exists()
    (out / "enqueue_compute.svg").write_text("mine")
    (out / "summary.json").write_text("{}")
    assert f"warning: {out / 'enqueue_compute.svg'} is not from this run; not removed" in told(
        short, force=True
    )
    assert (out / "enqueue_compute.svg").read_text() == "mine"


def test_a_file_of_another_tool(tmp_path, capsys):
    root = {"perIteration": [{"iter": place, "latency_us": 500 + place} for place in range(5)]}
    path = write_json(tmp_path / "bench.json", root)
    assert main(["times", str(path), "--json"]) == 0
    shown, told = capsys.readouterr()
    (run,) = json.loads(shown)["engines"]
    assert run["assumed"] == "is not in trtexec's format; read as 5 rows at perIteration of latency in µs"
    assert run["assumed"] in told
    assert run["throughput_qps"] is None  # no stamps: queries may have overlapped
    odd = write_json(tmp_path / "odd.json", [{"time": 2.0, "id": 1}])
    assert main(["times", str(odd)]) == 0  # which discovery would not take for an artifact
    assert main(["times", str(odd), "--outdir", str(tmp_path / "out")]) == 0
    assert not (tmp_path / "out" / "enqueue_compute.svg").exists()


@pytest.mark.parametrize(
    ("root", "words"),
    [
        ([{"a": 1}], "has no timing rows"),
        ({"times": [1], "unit": "eggs"}, "unknown time unit"),
        ("{", "has no timing rows"),
    ],
)
def test_what_is_no_timing_file(tmp_path, capsys, root: Any, words: str):
    assert main(["times", str(write_json(tmp_path / "x.json", root))]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert "x.json" in error


def test_without_a_run(tmp_path, capsys):
    write_sample_set(tmp_path)
    for path in tmp_path.glob("*"):
        if "graph" not in path.name:
            path.unlink()
    assert main(["times", str(tmp_path)]) == 2
    assert "no timing rows and no performance summary" in capsys.readouterr().err
    assert main(["times", str(tmp_path), "--batch", "0"]) == 2
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["times", str(tmp_path), "--batch", "99999999999"])
    assert "more than 999999999: '99999999999'" in capsys.readouterr().err
    stamps = write_json(tmp_path / "s.json", {"runs": [{"startComputeMs": 1, "endComputeMs": 2}] * 2})
    assert main(["times", str(stamps)]) == 2
    assert (
        "neither latency nor compute time in 2 rows of the timing file, and no performance summary"
        in capsys.readouterr().err
    )


def test_a_printed_summary_stands_in_for_rows(tmp_path):
    summary = {"performance_summary": {"Throughput": 1995.29, "Latency": [1, 9, 2, 3, 4, 5, 6]}}
    write_json(tmp_path / "a.profile.metadata.json", summary)
    write_json(tmp_path / "a.graph.json", {"Layers": ["one"], "Bindings": []})
    assert main(["times", str(tmp_path), "--outdir", str(tmp_path / "out")]) == 0
    names = sorted(one.name for one in (tmp_path / "out").iterdir())
    assert names == ["latency_percentiles.csv", "latency_percentiles.svg", "summary.csv", "summary.json"]


def test_damaged_files_are_listed_beside_the_tables(timed, tmp_path):
    """For who reads the CSV files only; the next run from whole files removes the list."""
    out, profile = tmp_path / "out", tmp_path / "in" / "net.profile.json"
    profile.parent.mkdir()
    shutil.copy(timed, profile.parent)
    profile.write_text('[{"count": 100}, {"name": "a"', encoding="utf-8")
    assert main(["times", str(profile.parent), "--outdir", str(out)]) == 0
    (row,) = read_csv((out / "diagnostics.csv").read_text())
    assert (row["severity"], Path(row["file"]).name) == ("error", profile.name)
    assert "diagnostics.csv" in json.loads((out / "summary.json").read_text())["files"]
    profile.unlink()
    assert main(["times", str(profile.parent), "--outdir", str(out)]) == 0
    assert not (out / "diagnostics.csv").exists()


def test_png(timed, tmp_path, monkeypatch, capsys):
    command = ["times", str(timed), "--png"]
    assert main(command) == 2
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main([*command, "--outdir", str(tmp_path / "out")]) == 2
    assert "PNG needs rsvg-convert" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    if shutil.which("rsvg-convert") is None:
        pytest.skip("rsvg-convert (librsvg2-bin) is not installed")
    assert main([*command, "--outdir", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "latency_histogram.png").read_bytes()[:4] == b"\x89PNG"


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
    alexnet = str(REPOSITORY / "tests/old/sample_artifacts" / "alexnet")
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
    assert main(["layers", str(REPOSITORY / "tests/old/sample_artifacts" / "names_only"), "--chart", "products"]) == 2
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
    alexnet = str(REPOSITORY / "tests/old/sample_artifacts" / "alexnet")
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


def test_any_columns_make_a_scatter_and_bars(capsys):
    chart = ["layers", str(REPOSITORY / "tests/old/sample_artifacts" / "alexnet"), "--format", "text", "--chart"]
    columns = ["--x", "macs", "--y", "ms", "--color", "bound", "--size", "weights"]
    assert main([*chart, "scatter", *columns]) == 0
    assert (
        "latency_ms over macs: 8 layers; colours show bound, sizes weights_bytes." in capsys.readouterr().out
    )
    assert main([*chart, "bar", "--x", "kind", "--y", "ms"]) == 0
    assert "Sum of latency_ms by kind" in capsys.readouterr().out
    for options, problem in (
        (["scatter", "--x", "mcas"], "no column 'mcas'; did you mean macs?"),
        (["scatter", "--x", "kind"], "--x: kind is not a numeric column"),
        (["bar", "--y", "kind"], "--y: kind is not a numeric column"),
        (["bar", "--size", "macs"], "--size: not for chart bar"),
        (["kind", "--x", "macs"], "--x: not for chart kind"),
    ):
        assert main([*chart, *options]) == 2
        assert problem in capsys.readouterr().err
    assert main(["layers", chart[1], "--x", "macs"]) == 2


@pytest.mark.skipif(shutil.which("rsvg-convert") is None, reason="rsvg-convert is not installed")
def test_a_chart_as_png_is_marked_and_replaced(tmp_path):
    chart = ["layers", str(REPOSITORY / "tests/old/sample_artifacts" / "alexnet"), "--chart", "kind-precision"]
    target = tmp_path / "x.png"
    for _ in range(2):
        assert main([*chart, "-o", str(target)]) == 0
        assert target.read_bytes().startswith(b"\x89PNG")
        assert b"trex-tui/chart/1" in target.read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--chart", "kind", "--color", "kind"], "--color: the colours of chart kind are fixed"),
        (
            ["--chart", "kind-precision", "--value", "macs"],
            ("--y: not for chart kind-precision"),
        ),
        (["--chart", "bar", "--value", "kind"], "--y: kind is not a numeric column"),
        (["--chart", "bar", "--color", "kid"], "no column 'kid'; did you mean kind?"),
        (["--color", "kind"], "--x, --y, --size and --color need --chart"),
        (["--format", "svg"], "--format svg: not available here"),
    ],
)
def test_options_of_charts_that_make_no_sense(options, message, capsys):
    assert main(["layers", str(REPOSITORY / "tests/old/sample_artifacts" / "alexnet"), *options]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("stamp", ["Infinity", "-Infinity", "NaN", "1e308", "1e400", '"x"'])
def test_files_of_a_run_with_a_stamp_that_is_no_time(tmp_path, capsys, stamp: str):
    rows = json.dumps([timing_row(float(row), 1.0) for row in range(3)])
    file = tmp_path / "net.timing.json"
    file.write_text(rows.replace('"startComputeMs": 0', f'"startComputeMs": {stamp}, "was": 0', 1))
    assert stamp in file.read_text()
    assert main(["times", str(file), "--outdir", str(tmp_path / "out")]) == 0
    assert "enqueue_compute.svg" in capsys.readouterr().err
    assert (tmp_path / "out/enqueue_compute.svg").read_text().count("query") > 0


@pytest.mark.parametrize("most_bytes", [0, 10, 600, 20_000])
def test_a_full_disk_leaves_all_files_or_none(timed, tmp_path, capsys, most_bytes: int):
    """Files of a limited size stand for the disk: the system refuses to write more in the same way."""
    out = tmp_path / "a/out"
    _, hard = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        code = main(["times", str(timed), "--outdir", str(out)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert code == 2
    assert "cannot be written: File too large" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert main(["times", str(timed), "--outdir", str(out)]) == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        assert main(["times", str(timed), "--outdir", str(out), "--batch", "4"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before
    capsys.readouterr()
