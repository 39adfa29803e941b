"""Several runs of an engine in `trex-tui diff`: the spread between runs is noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from test_diff_gates import steady_rows, write_engine
from test_file_runs import three_runs
from trex_tui.__main__ import main


def run_diff(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, dict[str, Any], str]:
    code = main(["diff", *map(str, arguments), "--json"])
    shown = capsys.readouterr()
    return code, json.loads(shown.out) if shown.out else {}, shown.err


def write_runs(root: Path, name: str, levels: Sequence[float]) -> list[Path]:
    return [
        write_engine(root / f"{name}{number}", rows=steady_rows(Random(name).randrange(99) + number, level))
        for number, level in enumerate(levels, start=1)
    ]


LEVELS = (1.0, 1.008, 0.995), (1.004, 0.996, 1.003)


def test_the_spread_between_runs_is_in_the_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = (write_runs(tmp_path, name, levels) for name, levels in zip("ab", LEVELS, strict=True))
    _, single, _ = run_diff(capsys, before[0], after[0])
    assert single["verdict"]["outcome"] == "slower"
    assert single["verdict"]["scope"] == "within one run"
    assert "within one run" in single["verdict"]["why"]
    _, document, _ = run_diff(capsys, "--runs", *before, "--runs", *after)
    verdict = document["verdict"]
    assert (verdict["outcome"], verdict["runs"]) == ("same", [3, 3])
    assert verdict["scope"] == "3 runs against 3"
    assert verdict["medians_ms"] == pytest.approx([1.001, 1.001], abs=5e-4)
    assert [len(engine["runs"]) for engine in document["engines"]] == [3, 3]
    assert len(document["engines"]) == 2


def test_a_difference_beyond_the_spread_is_found_and_gates_use_all_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = write_runs(tmp_path, "a", LEVELS[0])
    after = write_runs(tmp_path, "b", [level * 1.05 for level in LEVELS[1]])
    gates = [
        "latency_median_ms > +3%",
        "latency_p99_ms > +3%",
        "throughput_qps < -3%",
        "latency_mean_ms > +7%",
    ]
    options = [word for gate in gates for word in ("--fail-on", gate)]
    code, document, _ = run_diff(capsys, *options, "--significant", "--runs", *before, "--runs", *after)
    assert code == 1
    assert document["verdict"]["outcome"] == "slower"
    states = [gate["state"] for gate in document["gates"]]
    assert states == ["failed", "failed", "failed", "passed"]
    assert document["gates"][0]["value"] == pytest.approx(1.051, abs=1e-3)
    assert "3 runs against 3" in document["gates"][0]["note"]


def test_options_may_follow_the_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [write_engine(tmp_path / name, rows=steady_rows(1)) for name in "abc"]
    for later in (["--fail-on", "latency_median_ms > +50%"], ["--top", "3"]):
        code, document, _ = run_diff(capsys, "--runs", paths[0], paths[1], "--runs", paths[2], *later)
        assert (code, document["verdict"]["runs"]) == (0, [2, 1])
    capsys.readouterr()
    assert main(["diff", "--json", "--runs", *map(str, paths[:2]), "--", str(paths[2])]) == 0
    assert json.loads(capsys.readouterr().out)["verdict"]["runs"] == [2, 1]
    assert main(["diff", "--runs", *map(str, paths[:2]), "--", str(paths[2]), "--json"]) == 2
    assert capsys.readouterr().err == "trex-tui: error: --json: does not exist; check the path\n"


def test_what_is_no_list_of_runs_is_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = write_engine(tmp_path / "a")
    code, document, err = run_diff(capsys, "--runs", engine, engine)
    assert (code, document) == (2, {})
    assert len(err.splitlines()) == 1
    assert "--runs" in err


def test_printed_medians_of_several_runs_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without rows the noise within a run is unknown, but not that between runs."""
    sides = []
    for name, base in (("a", 1.0), ("b", 1.2)):
        sides.append([])
        for number, factor in enumerate((1.0, 1.01, 0.99)):
            folder = write_engine(tmp_path / f"{name}{number}")
            median = f"{base * factor} ms"
            text = f"min = 0.5 ms, max = 2 ms, mean = {median}, median = {median}"
            metadata = {"performance_summary": {"Latency": text}}
            (folder / "net.profile.metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
            sides[-1].append(folder)
    _, document, _ = run_diff(capsys, sides[0][0], sides[1][0])
    assert document["verdict"]["outcome"] == "unknown"
    _, document, _ = run_diff(capsys, "--runs", *sides[0], "--runs", *sides[1])
    assert (document["verdict"]["outcome"], document["verdict"]["runs"]) == ("slower", [3, 3])


def test_two_runs_of_one_file_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = three_runs(tmp_path / "x.profile.json")
    for paths in ([path], [path, path]):
        code, document, err = run_diff(capsys, *paths, "--run-a", "1", "--run-b", "2")
        assert (code, "note:" in err) == (0, False)
        names = [(engine["name"], engine["latency_sum_ms"]) for engine in document["engines"]]
        assert names == [("x run 1", 1.0), ("x run 2", 2.0)]
    _, document, _ = run_diff(capsys, path, "--run-a", "1")
    assert [engine["name"] for engine in document["engines"]] == ["x run 1", "x run 3"]


def test_runs_of_two_files_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [three_runs(tmp_path / f"{name}.profile.json") for name in "xy"]
    _, document, _ = run_diff(capsys, *paths, "--run-b", "1")
    assert [(engine["name"], engine["latency_sum_ms"]) for engine in document["engines"]] == [
        ("x", 80.0),
        ("y run 1", 1.0),
    ]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["x", "--run-a", "2", "--run-b", "2"],
            "x run 2: both are the same run; choose two runs with --run-a and --run-b",
        ),
        (["x", "--run-a", "3"], "x run 3: both are the same run; choose two runs"),
        (["x", "--run-a", "1", "--run-b", "4"], "no run 4; the file holds runs 1 to 3"),
        (["x", "--run-a", "1", "--run", "2"], "--run cannot be combined with --run-a and --run-b"),
        (
            ["--run-a", "1", "--runs", "x", "--runs", "y"],
            "--runs cannot be combined with --run-a and --run-b",
        ),
    ],
)
def test_runs_that_cannot_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], reason: str
) -> None:
    paths = {name: str(three_runs(tmp_path / f"{name}.profile.json")) for name in "xy"} | {".": str(tmp_path)}
    code, document, err = run_diff(capsys, *(paths.get(argument, argument) for argument in arguments))
    assert (code, document) == (2, {})
    assert reason in err
    assert err.count("\n") == 1
