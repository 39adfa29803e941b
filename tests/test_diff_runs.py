"""Several runs of an engine in `trex-tui diff`: the spread between runs is noise."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from test_diff_gates import steady_rows, write_engine, write_rows
from test_file_runs import log_text, three_runs
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
    _, document, _ = run_diff(capsys, "--runs", *before, "--", *after)
    verdict = document["verdict"]
    assert (verdict["outcome"], verdict["runs"]) == ("not distinguishable", [3, 3])
    assert verdict["scope"] == "3 runs against 3"
    assert verdict["medians_ms"] == pytest.approx([1.001, 1.001], abs=5e-4)
    assert [len(engine["runs"]) for engine in document["engines"]] == [3, 3]
    assert len(document["engines"]) == 2
    assert "end-to-end latencies use all" in document["cautions"][0]["text"]


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
    code, document, _ = run_diff(capsys, *options, "--significant", "--runs", *before, "--", *after)
    assert code == 1
    assert document["verdict"]["outcome"] == "slower"
    states = [gate["state"] for gate in document["gates"]]
    assert states == ["failed", "failed", "failed", "passed"]
    assert document["gates"][0]["value"] == pytest.approx(1.051, abs=1e-3)
    assert "3 runs against 3" in document["gates"][0]["note"]


@pytest.mark.parametrize("later", [["--fail-on", "latency_median_ms > +50%"], ["--top", "3"]])
def test_options_may_follow_the_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], later: list[str]
) -> None:
    paths = [write_engine(tmp_path / name, rows=steady_rows(1)) for name in "abc"]
    code, document, _ = run_diff(capsys, "--runs", paths[0], paths[1], "--", paths[2], *later)
    assert (code, document["verdict"]["runs"]) == (0, [2, 1])
    code, document, _ = run_diff(capsys, "--runs", paths[0], paths[1], "--runs", paths[2], *later)
    assert (code, document["verdict"]["runs"]) == (0, [2, 1])


def test_what_is_no_list_of_runs_is_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = write_engine(tmp_path / "a")
    for arguments in (
        ["--runs", engine, engine],
        ["--runs", engine, "--"],
        [engine, "--runs", engine, "--", engine],
    ):
        code, document, err = run_diff(capsys, *arguments)
        assert (code, document) == (2, {})
        assert len(err.splitlines()) == 1
        assert "--runs" in err


def copy_as(folder: Path, name: str, rows: Sequence[float], **options: Any) -> None:
    """Write the set `net` of a folder under another name."""
    written = write_engine(folder / "temporary", rows=rows, **options)
    for file in list(written.iterdir()):
        file.rename(folder / file.name.replace("net", name, 1))
    written.rmdir()


def test_sets_measured_again_are_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, level in (("net", 1.0), ("net.again-2", 1.01), ("net.again-3", 0.99), ("other", 1.0)):
        copy_as(tmp_path, name, steady_rows(1, level))
    _, document, err = run_diff(capsys, tmp_path)
    assert [engine["name"] for engine in document["engines"]] == ["net", "other"]
    assert document["engines"][0]["runs"] == ["net", "net.again-2", "net.again-3"]
    assert (document["verdict"]["runs"], document["verdict"]["outcome"]) == ([3, 1], "not distinguishable")
    assert err == ""


def test_repeats_of_a_capture_are_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("net", "other"):
        copy_as(tmp_path, name, steady_rows(1))
    copy_as(tmp_path / "net.repeat-2", "net", steady_rows(2, 1.01))
    _, document, _ = run_diff(capsys, tmp_path)
    assert [len(engine["runs"]) for engine in document["engines"]] == [2, 1]


def test_another_batch_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy_as(tmp_path, "net", steady_rows(1), shape=(1, 8, 4, 4))
    copy_as(tmp_path, "net.again-2", steady_rows(2, 1.9), shape=(2, 8, 4, 4))
    copy_as(tmp_path, "other", steady_rows(3), shape=(1, 8, 4, 4))
    _, document, err = run_diff(capsys, tmp_path)
    assert len(document["engines"]) == 3
    assert "batch 2 against 1" in err


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
    assert document["verdict"]["outcome"] == "no verdict"
    _, document, _ = run_diff(capsys, "--runs", *sides[0], "--", *sides[1])
    assert (document["verdict"]["outcome"], document["verdict"]["runs"]) == ("slower", [3, 3])


def test_two_runs_alone_are_what_is_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("net", "net.again-2"):
        copy_as(tmp_path, name, steady_rows(1))
    _, document, _ = run_diff(capsys, tmp_path)
    assert [engine["name"] for engine in document["engines"]] == ["net", "net.again-2"]
    assert document["verdict"]["scope"] == "within one run"


def write_file_of_runs(folder: Path, levels: Sequence[float]) -> Path:
    """One timing file to which several runs were appended."""
    write_engine(folder)
    texts = []
    for seed, level in enumerate(levels):
        write_rows(folder / "part.json", steady_rows(seed, level))
        texts.append((folder / "part.json").read_text(encoding="utf-8"))
    (folder / "part.json").unlink()
    (folder / "net.timing.json").write_text("\n".join(texts), encoding="utf-8")
    return folder


def test_runs_in_one_file_are_repeats_where_a_person_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing says that they are of one batch: by themselves they are no repeats."""
    several = write_file_of_runs(tmp_path / "a", [1.0, 1.01, 0.99])
    other = write_engine(tmp_path / "b", rows=steady_rows(7))
    _, document, _ = run_diff(capsys, several, other)
    assert document["verdict"]["runs"] == [1, 1]
    _, document, _ = run_diff(capsys, "--runs", several, "--", other)
    assert document["verdict"]["runs"] == [3, 1]
    assert document["engines"][0]["runs"] == ["a/net", "a/net run 1", "a/net run 2"]


@pytest.mark.parametrize(("batches", "runs"), [((1, 1, 1), 3), ((1, 1, 8), 1)])
def test_runs_in_one_file_are_repeats_where_the_log_states_equal_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], batches: Sequence[int], runs: int
) -> None:
    several = write_file_of_runs(tmp_path / "a", [1.0, 1.01, 0.99])
    logs = [log_text(batch, 500.0, times=f"{number}.json") for number, batch in enumerate(batches)]
    (several / "net.profile.log").write_text("".join(logs), encoding="utf-8")
    _, document, _ = run_diff(capsys, several, write_engine(tmp_path / "b", rows=steady_rows(7)))
    assert document["verdict"]["runs"] == [runs, 1]


def test_two_runs_of_one_file_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = three_runs(tmp_path / "x.profile.json")
    for paths in ([path], [path, path]):
        code, document, err = run_diff(capsys, *paths, "--run-a", "1", "--run-b", "2")
        assert (code, "note:" in err) == (0, False)
        names = [(engine["name"], engine["latency_sum_ms"]) for engine in document["engines"]]
        assert names == [("x run 1", 1.0), ("x run 2", 2.0)]
    _, document, _ = run_diff(capsys, path, "--run-a", "1")
    assert [engine["name"] for engine in document["engines"]] == ["x run 1", "x run 3"]
    _, _, err = run_diff(capsys, path, path)
    assert "note: both paths are the same run; choose two runs with --run-a and --run-b\n" in err


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
            "x: both are run 2; choose two runs with --run-a and --run-b",
        ),
        (["x", "--run-a", "3"], "x: both are run 3; choose two runs"),
        (["x", "--run-a", "1", "--run-b", "4"], "no run 4; the file holds runs 1 to 3"),
        (["x", "x", "x", "--run-a", "1"], "--run-a and --run-b need one or two paths; 3 given"),
        ([".", "--run-a", "1"], "2 engines found (x, y); give the path of one"),
        (["x", "--run-a", "1", "--run", "2"], "--run cannot be combined with --run-a and --run-b"),
        (["--run-a", "1", "--runs", "x", "--", "y"], "--runs cannot be combined with --run-a and --run-b"),
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
