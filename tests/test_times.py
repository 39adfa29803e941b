"""`trex-tui times` and `layers --chart`, and the one way in which CSV is written."""

from __future__ import annotations

import csv
import io
import json
import random
import resource
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import OLD_SAMPLES, golden, timing_row, write_json, write_sample_set
from trex_tui.__main__ import main

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


def test_any_columns_make_a_scatter_and_bars(capsys):
    chart = ["layers", str(OLD_SAMPLES / "alexnet"), "--format", "text", "--chart"]
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
    chart = ["layers", str(OLD_SAMPLES / "alexnet"), "--chart", "kind-precision"]
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
    assert main(["layers", str(OLD_SAMPLES / "alexnet"), *options]) == 2
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
