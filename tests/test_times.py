"""`trex-tui times`, and charts of layers and times."""

from __future__ import annotations

import csv
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from helpers import golden, timing_row, write_json, write_sample_set
from trex_tui.__main__ import main

SAMPLES = Path(__file__).resolve().parents[1] / "sample_artifacts"
ALEXNET = str(SAMPLES / "alexnet")
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def timed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 1200 queries after a warm-up, every number round."""
    chance = random.Random(3)
    rows, start = [timing_row(100.0, 9.0)], 1000.0
    for _ in range(1200):
        rows.append(timing_row(start, 0.5 + chance.randrange(8) / 64))
        start += 1.0
    return write_json(tmp_path_factory.mktemp("timed") / "net.timing.json", rows)


def test_text(timed: Path, capsys: Captured) -> None:
    assert main(["times", str(timed), "--batch", "4"]) == 0
    shown, told = capsys.readouterr()
    assert shown == golden("times.txt", shown)
    assert told == ""


def test_json(timed: Path, capsys: Captured) -> None:
    assert main(["times", str(timed), "--batch", "4", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "trex-tui/times/3"
    (run,) = document["engines"]
    assert (run["name"], run["batch"], run["batch_source"]) == ("net", 4, "--batch")
    timing = run["timing"]
    assert (timing["queries"], timing["warmup_queries"]) == (1200, 1)
    assert timing["latency"]["p99_ms"] == 0.609375
    assert timing["samples_per_s"] == pytest.approx(4 * timing["throughput_qps"])
    assert run["stability"]["verdict"] == "stable"


def test_csv_has_a_row_per_statistic(timed: Path, tmp_path: Path, capsys: Captured) -> None:
    assert main(["times", str(timed), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["statistic"] for row in rows][:3] == ["min", "median", "mean"]
    assert rows[0]["latency_ms"] == "0.5"
    for name in ("one", "two"):
        write_json(tmp_path / f"{name}.timing.json", json.loads(timed.read_text(encoding="utf-8"))[:60])
    assert main(["times", str(tmp_path), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["engine"] for row in rows} == {"one", "two"}


def test_a_file_of_another_tool(tmp_path: Path, capsys: Captured) -> None:
    path = write_json(tmp_path / "bench.json", {"latencies_us": [500 + place for place in range(5)]})
    assert main(["times", str(path), "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["engines"]
    assert [note["message"] for note in run["diagnostics"]] == [
        "is not in trtexec's format; read as 5 rows at latencies_us of latency in µs"
    ]
    assert run["timing"]["throughput_qps"] is None  # no stamps: queries may have overlapped
    odd = write_json(tmp_path / "odd.json", {"times": [1.5, 2.5]})
    assert main(["times", str(odd)]) == 0
    assert "unit unknown" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("root", "words"),
    [
        ([{"a": 1}], "is JSON of an unknown kind (keys: a)"),
        ({"times": [1], "unit": "eggs"}, "has the unknown time unit 'eggs'; export it in ms, us, ns or s"),
        ({"runs": [{"startComputeMs": 1, "endComputeMs": 2}] * 2}, "is JSON of an unknown kind"),
    ],
)
def test_what_is_no_timing_file(tmp_path: Path, capsys: Captured, root: Any, words: str) -> None:
    assert main(["times", str(write_json(tmp_path / "x.json", root))]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"trex-tui: error: {tmp_path / 'x.json'}: {words}")


def test_without_a_run(tmp_path: Path, capsys: Captured) -> None:
    write_sample_set(tmp_path / "net")
    for path in (tmp_path / "net").glob("*"):
        if "graph" not in path.name:
            path.unlink()
    assert main(["times", str(tmp_path / "net")]) == 2
    assert capsys.readouterr().err == (
        "trex-tui: error: net: No end-to-end latency (needs --exportTimes or a profile log).\n"
    )
    with pytest.raises(SystemExit):
        main(["times", str(tmp_path), "--batch", "0"])
    assert "argument --batch: must be at least 1" in capsys.readouterr().err


def test_a_printed_summary_stands_in_for_rows(tmp_path: Path, capsys: Captured) -> None:
    summary = {"performance_summary": {"Throughput": 1995.29, "Latency": [1, 9, 2, 3, 4, 5, 6]}}
    write_json(tmp_path / "a.profile.metadata.json", summary)
    write_json(tmp_path / "a.graph.json", {"Layers": ["one"], "Bindings": []})
    assert main(["times", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    table = next(number for number, line in enumerate(lines) if line.startswith("ms "))
    assert [line.split() for line in lines[table : table + 4]] == [
        ["ms", "latency"], ["min", "1.0000"], ["median", "3.0000"], ["mean", "2.0000"],
    ]  # fmt: skip
    assert "Source      performance summary that trtexec printed" in lines


def test_averages_are_no_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stamp = "[01/02/2026-03:04:05] [I]"
    average = "Average on 10 runs - GPU latency: 2 ms - Host latency: 3 ms (enqueue 1 ms)"
    (tmp_path / "net.log").write_text(f"{stamp} Trace averages of 10 runs:\n{stamp} {average}\n")
    assert main(["times", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "averages that trtexec printed" in shown
    assert "no median of the enqueue time" in shown


@pytest.mark.parametrize("stamp", ["Infinity", "-Infinity", "NaN", "1e308", "1e400", '"x"'])
def test_a_stamp_that_is_no_time(tmp_path: Path, capsys: Captured, stamp: str) -> None:
    rows = json.dumps([timing_row(float(row), 1.0) for row in range(3)])
    file = tmp_path / "net.timing.json"
    file.write_text(
        rows.replace('"startComputeMs": 0', f'"startComputeMs": {stamp}, "was": 0', 1), encoding="utf-8"
    )
    assert stamp in file.read_text(encoding="utf-8")
    assert main(["times", str(file), "--format", "md"]) == 0
    assert "latency" in capsys.readouterr().out


class TestCharts:
    def test_any_columns_make_a_scatter_and_bars(self, capsys: Captured) -> None:
        chart = ["layers", ALEXNET, "--chart"]
        assert main([*chart, "scatter", "--x", "macs", "--y", "ms", "--color-by", "bound"]) == 0
        shown = capsys.readouterr().out
        assert "6 layers without MACs not shown." in shown
        assert "bandwidth" in shown
        assert main([*chart, "bar", "--x", "kind", "--y", "macs"]) == 0
        assert "convolution" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            (["scatter", "--x", "mcas"], "no column 'mcas'; did you mean macs?"),
            (["scatter", "--x", "kind"], "kind is not a number; choose a numeric column"),
            (["bar", "--y", "kind"], "kind is not a number; choose a numeric column"),
            (["bar", "--color-by", "kid"], "no column 'kid'; did you mean kind?"),
            (
                ["kind", "--x", "macs"],
                "--x: the chart kind has a fixed one; choose a chart of bar, scatter",
            ),
            (
                ["kind", "--color-by", "kind"],
                "--color-by: the chart kind has a fixed one; choose a chart of layers, bar",
            ),
            (["kind", "--format", "csv"], "--format csv: not available here; choose text, svg, png, json"),
        ],
    )
    def test_options_that_make_no_sense(self, options: list[str], problem: str, capsys: Captured) -> None:
        assert main(["layers", ALEXNET, "--chart", *options]) == 2
        assert problem in capsys.readouterr().err

    def test_json_has_the_numbers(self, capsys: Captured) -> None:
        assert main(["layers", ALEXNET, "--chart", "scatter", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert (document["schema"], document["chart"]) == ("trex-tui/chart/1", "scatter")
        assert {"name", "macs", "latency_ms", "kind"} <= set(document["rows"][0])

    @pytest.mark.parametrize(("name", "start"), [("x.png", b"\x89PNG"), ("x.svg", b"<svg")])
    def test_pictures(self, name: str, start: bytes, tmp_path: Path) -> None:
        pytest.importorskip("altair")
        assert main(["layers", ALEXNET, "--chart", "kind-precision", "-o", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_bytes().startswith(start)


def test_a_summary_without_latency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.log").write_text(
        "[I] === Performance summary ===\n[I] GPU Compute Time: min = 1 ms, max = 2 ms, mean = 1 ms, median = 1 ms\n"
        "[I] === Profile (9 iterations ) ===\n[I]   Layer   Time (ms)   Avg. Time (ms)   Time %\n"
        "[I]   conv    9.00    1.0000    100.0\n[I]   Total    9.00    1.0000    100.0\n"
    )
    assert main(["summary", str(tmp_path)]) == 0
    assert "no latency in timing rows or performance summary" in capsys.readouterr().out
