"""Several runs in one file: each is a run, none are added, one is shown and can be chosen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from helpers import profile_line, profile_text
from trex_tui.__main__ import main

RUNS = ((1013, 0.5), (477, 1.0), (15, 40.0))
"""Iterations, and the time of each layer, which grows with the batch."""


def profile(names: tuple[str, ...] = ("a", "b"), count: int = 10, ms: float = 0.5) -> str:
    return profile_text([profile_line(name, ms) for name in names], count)


def appended(path: Path, *texts: str) -> Path:
    path.write_text("".join(texts), encoding="utf-8")
    return path


def three_runs(path: Path) -> Path:
    return appended(path, *(profile(count=count, ms=ms) for count, ms in RUNS))


def rows_of_runs(text: str) -> list[list[str]]:
    """The cells of the table of runs."""
    lines = text.split("\nRuns\n")[1].split("\n\n")[0].splitlines()
    return [re.split(r" {2,}", line) for line in lines]


BATCHES = (1, 8, 64)
QPS = (500.5, 222.25, 31.5)


def log_text(batch: int, qps: float, *more: str, engine: str = "x.engine", times: str = "") -> str:
    """A log of a run without a profile; `more` are further options."""
    options = [
        f"--loadEngine={engine}",
        f"--batch={batch}",
        *([f"--exportTimes={times}"] if times else []),
        *more,
    ]
    banner = f"TensorRT.trtexec [TensorRT v8502] # trtexec {' '.join(options)}"
    stamp = "[11/23/2026-04:00:00] [I] "
    lines = [
        f"&&&& RUNNING {banner}",
        *(f"{stamp}{line}" for line in ("=== Inference Options ===", f"Batch: {batch}", "")),
        *(f"{stamp}{line}" for line in ("=== Performance summary ===", f"Throughput: {qps} qps")),
        f"{stamp}Latency: min = 1 ms, max = 3 ms, mean = 2 ms, median = {1000 / qps:.6g} ms, percentile(99%) = 3 ms",
        f"{stamp}",
        f"&&&& PASSED {banner}",
    ]
    return "\n".join(lines) + "\n"


def log_of_runs(path: Path) -> Path:
    return appended(path, *(log_text(batch, qps) for batch, qps in zip(BATCHES, QPS, strict=True)))


@pytest.mark.parametrize("number", [1, 2, 3])
def test_a_run_of_a_log_is_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int) -> None:
    path = str(log_of_runs(tmp_path / "x.profile.log"))
    assert main(["summary", "--json", "--run", str(number), path]) == 0
    captured = capsys.readouterr()
    (engine,) = json.loads(captured.out)["engines"]
    assert engine["timing"]["throughput_qps"] == QPS[number - 1]
    assert [run["number"] for run in engine["runs"] if run["is_shown"]] == [number]
    assert "warning: x.profile.log: holds" not in captured.err
    assert main(["times", "--json", "--run", str(number), path]) == 0
    (times,) = json.loads(capsys.readouterr().out)["engines"]
    assert times["timing"]["throughput_qps"] == QPS[number - 1]
    assert [run["throughput_qps"] for run in times["runs"]] == list(QPS)
    assert main(["build-log", "--json", "--run", str(number), path]) == 0
    log = json.loads(capsys.readouterr().out)
    assert log["performance"]["values"]["Throughput"] == f"{QPS[number - 1]} qps"
    assert [run["number"] for run in log["measured_runs"] if run["is_shown"]] == [number]


@pytest.mark.parametrize("command", ["summary", "times"])
def test_text_lists_the_runs_of_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = str(log_of_runs(tmp_path / "x.profile.log"))
    assert main([command, path]) == 0
    rows = rows_of_runs(capsys.readouterr().out)
    assert [row[1:] for row in rows] == [
        ["Run", "Shown", "Median ms", "qps", "Options"],
        ["1", "no", "1.9980", "500.50", "--batch=1"],
        ["2", "no", "4.4994", "222.25", "--batch=8"],
        ["3", "yes", "31.7460", "31.50", "--batch=64"],
    ]
    assert main([command, path, "--run", "4"]) == 2
    assert "no run 4; the file holds runs 1 to 3" in capsys.readouterr().err
