"""Several runs in one file: each is a run, none are added, one is shown and can be chosen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from helpers import (
    OLD_SAMPLES,
    messages,
    write_graph,
    write_json,
)
from test_file_runs import BATCHES, QPS, RUNS, appended, log_of_runs, log_text, profile, three_runs, timings
from trex_tui import Severity, TrexError
from trex_tui.__main__ import main
from trex_tui.old.analysis.trtexec_runs import timed_run
from trex_tui.old.artifacts.profile import read_profiles
from trex_tui.old.artifacts.timing import read_timings
from trex_tui.old.engine import load_engine


@pytest.mark.parametrize("separator", ["", "\n", " "])
def test_appended_profiles_are_runs(tmp_path: Path, separator: str) -> None:
    texts = [profile(count=count, ms=ms).rstrip() + separator for count, ms in RUNS]
    runs = read_profiles(appended(tmp_path / "p.json", *texts))
    assert [(run.iterations, run.sum_ms, len(run.rows)) for run in runs] == [
        (1013, 1.0, 2),
        (477, 2.0, 2),
        (15, 80.0, 2),
    ]
    assert not any(run.diagnostics for run in runs)


def test_second_count_begins_a_run(tmp_path: Path) -> None:
    rows = [{"name": name, "timeMs": 5, "averageMs": 0.5, "percentage": 50} for name in "ab"]
    path = write_json(tmp_path / "p.json", [{"count": 10}, *rows, {"count": 20}, *rows, {"count": 30}, *rows])
    assert [(run.iterations, len(run.rows)) for run in read_profiles(path)] == [(10, 2), (20, 2), (30, 2)]


def test_count_behind_the_rows_is_no_run(tmp_path: Path) -> None:
    row = {"name": "a", "timeMs": 5, "averageMs": 0.5, "percentage": 100}
    (run,) = read_profiles(write_json(tmp_path / "p.json", [row, {"count": 10}]))
    assert (run.iterations, len(run.rows)) == (10, 1)


@pytest.mark.parametrize("name", ['say "hi"', "back\\slash"])
def test_runs_with_names_that_are_no_json(tmp_path: Path, name: str) -> None:
    texts = [profile(("a", name), count, ms) for count, ms in RUNS]
    runs = read_profiles(appended(tmp_path / "p.json", *texts))
    assert [(run.iterations, [row.name for row in run.rows]) for run in runs] == [
        (count, ["a", name]) for count, _ in RUNS
    ]


def test_last_run_cut_off_is_not_shown(tmp_path: Path) -> None:
    whole, cut = profile(("a", "b", "c")), profile(("a", "b", "c"), 99)
    path = appended(tmp_path / "x.profile.json", whole, cut[: cut.index('"b"')])
    engine = load_engine(path)
    assert (engine.profile_iterations, engine.latency_sum_ms) == (10, 1.5)


def test_last_run_is_shown_and_the_warning_names_all(tmp_path: Path) -> None:
    engine = load_engine(three_runs(tmp_path / "x.profile.json"))
    assert (engine.profile_iterations, engine.latency_sum_ms, len(engine.layers)) == (15, 80.0, 2)
    (warning,) = (note for note in engine.diagnostics if "runs" in note.message)
    assert warning.severity is Severity.WARNING
    assert warning.message == (
        "has 3 runs; shown is run 3 (2 layers, 15 iterations, sum 80 ms); "
        "not shown: run 1 (2 layers, 1013 iterations, sum 1 ms); run 2 (2 layers, 477 iterations, sum 2 ms); "
        "--run N chooses another"
    )


def test_run_of_the_graph_is_shown(tmp_path: Path) -> None:
    """Of two networks in one file the one that the layer information is of."""
    write_graph(tmp_path / "x.graph.json", ["a", "b"])
    appended(tmp_path / "x.profile.json", profile(), profile(("c", "d", "e"), 7))
    engine = load_engine(tmp_path)
    assert (engine.profile_iterations, engine.latency_sum_ms) == (10, 1.0)
    assert engine.profile_rows_unmatched == 0


@pytest.mark.parametrize(("number", "total"), [(1, 1.0), (2, 2.0), (3, 80.0)])
def test_a_run_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, total: float
) -> None:
    path = three_runs(tmp_path / "x.profile.json")
    assert load_engine(path, run=number).latency_sum_ms == total
    assert main(["summary", "--json", "--run", str(number), str(path)]) == 0
    (engine,) = json.loads(capsys.readouterr().out)["engines"]
    assert engine["latency_sum_ms"] == total
    assert [run["run"] for run in engine["runs"] if run["shown"]] == [number]
    assert [run["latency_sum_ms"] for run in engine["runs"]] == [1.0, 2.0, 80.0]


def test_no_such_run(tmp_path: Path) -> None:
    path = three_runs(tmp_path / "x.profile.json")
    with pytest.raises(TrexError, match="no run 4; the file holds runs 1 to 3"):
        load_engine(path, run=4)
    single = appended(tmp_path / "y.profile.json", profile())
    with pytest.raises(TrexError, match="no run 2; the file holds one run"):
        load_engine(single, run=2)
    assert load_engine(single, run=1).runs == ()


def test_timings_are_runs(tmp_path: Path) -> None:
    runs = read_timings(timings(tmp_path / "t.json", 0.5, 2.0))
    assert [list(run.latency_ms) for run in runs] == [[0.5, 0.5], [2.0, 2.0]]


def test_timing_follows_the_run_of_the_profile(tmp_path: Path) -> None:
    three_runs(tmp_path / "x.profile.json")
    timings(tmp_path / "x.timing.json", 0.5, 1.0, 40.0)
    for number, latency in ((None, 40.0), (1, 0.5), (2, 1.0)):
        engine = load_engine(tmp_path, run=number)
        assert engine.timing is not None
        assert list(engine.timing.latency_ms) == [latency, latency]
    assert [(run.queries, run.median_ms) for run in engine.runs if run.queries] == [
        (2, 0.5),
        (2, 1.0),
        (2, 40.0),
    ]


def test_file_without_the_run_is_left_out(tmp_path: Path) -> None:
    """Times of another run must not stand beside those of the wanted one."""
    three_runs(tmp_path / "x.profile.json")
    timings(tmp_path / "x.timing.json", 0.5, 1.0)
    engine = load_engine(tmp_path, run=3)
    assert (engine.latency_sum_ms, engine.timing) == (80.0, None)
    assert any("not the selected run" in message for message in messages(engine.diagnostics))


def test_log_beside_states_the_options(tmp_path: Path) -> None:
    three_runs(tmp_path / "x.profile.json")
    commands = [
        f"trtexec --loadEngine=x.engine --batch={batch} --exportProfile=x{batch}" for batch in (1, 8, 64)
    ]
    lines = []
    for command in commands:
        banner = f"TensorRT.trtexec [TensorRT v8502] # {command}"
        lines += [f"&&&& RUNNING {banner}", "[11/23/2026-04:00:00] [I] === Inference Options ==="]
        lines += ["[11/23/2026-04:00:00] [I] Starting inference", f"&&&& PASSED {banner}"]
    (tmp_path / "x.profile.log").write_text("\n".join(lines) + "\n")
    engine = load_engine(tmp_path)
    assert [run.options for run in engine.runs] == ["--batch=1", "--batch=8", "--batch=64"]


def test_lines_of_json_are_no_runs(tmp_path: Path) -> None:
    """JSON Lines: a record per line without a list around them."""
    rows = [{"count": 10}, {"name": "a", "timeMs": 5, "averageMs": 0.5, "percentage": 50}]
    path = appended(tmp_path / "p.json", "\n".join(map(json.dumps, [*rows, rows[1]])))
    with pytest.raises(TrexError, match="not valid JSON"):
        read_profiles(path)


def test_a_log_of_several_runs_states_which_is_shown(tmp_path: Path) -> None:
    engine = load_engine(log_of_runs(tmp_path / "x.profile.log"))
    assert engine.metadata.throughput_qps == 31.5
    assert [(run.number, run.throughput_qps, run.options) for run in engine.runs] == [
        (1, 500.5, "--batch=1"),
        (2, 222.25, "--batch=8"),
        (3, 31.5, "--batch=64"),
    ]
    (warning,) = (note for note in engine.diagnostics if "has 3 runs" in note.message)
    assert warning.severity is Severity.WARNING
    assert "shown is run 3 (median 31.75 ms, 31.5 qps, --batch=64); not shown: run 1" in warning.message


def test_a_log_of_one_run_lists_none(tmp_path: Path) -> None:
    engine = load_engine(appended(tmp_path / "x.profile.log", log_text(1, 500.5)))
    assert engine.runs == ()
    assert not any("holds" in message for message in messages(engine.diagnostics))


def test_runs_of_a_log_and_of_a_profile_agree_by_order(tmp_path: Path) -> None:
    three_runs(tmp_path / "x.profile.json")
    log_of_runs(tmp_path / "x.profile.log")
    for number, qps in enumerate(QPS, start=1):
        engine = load_engine(tmp_path, run=number)
        assert (engine.profile_iterations, engine.metadata.throughput_qps) == (RUNS[number - 1][0], qps)
        assert [run.number for run in engine.runs if run.is_shown] == [number, number]
        shown = {run.options for run in engine.runs if run.is_shown}
        assert shown == {f"--batch={BATCHES[number - 1]}"}


def test_log_follows_the_run_that_fits_the_graph(tmp_path: Path) -> None:
    write_graph(tmp_path / "x.graph.json", ["a", "b"])
    appended(tmp_path / "x.profile.json", profile(), profile(("c", "d", "e"), 7))
    appended(tmp_path / "x.profile.log", log_text(1, 500.5), log_text(8, 222.25))
    engine = load_engine(tmp_path)
    assert (engine.profile_iterations, engine.metadata.throughput_qps) == (10, 500.5)


def test_file_of_one_run_is_of_the_run_that_wrote_it(tmp_path: Path) -> None:
    timings(tmp_path / "x.timing.json", 2.0)
    appended(
        tmp_path / "x.profile.log",
        log_text(1, 500.5, times="out/x.timing.json"),
        log_text(8, 222.25, times="y.json"),
    )
    engine = load_engine(tmp_path)
    assert (engine.metadata.throughput_qps, engine.timing is None) == (500.5, False)
    assert load_engine(tmp_path, run=1).timing is not None
    other = load_engine(tmp_path, run=2)
    assert (other.metadata.throughput_qps, other.timing) == (222.25, None)
    assert any("has one run, not run 2" in message for message in messages(other.diagnostics))


def test_log_of_one_run_does_not_stand_beside_another_run(tmp_path: Path) -> None:
    three_runs(tmp_path / "x.profile.json")
    appended(tmp_path / "x.profile.log", log_text(1, 500.5))
    assert load_engine(tmp_path).metadata.throughput_qps == 500.5
    other = load_engine(tmp_path, run=2)
    assert (other.latency_sum_ms, other.metadata.throughput_qps) == (2.0, None)
    assert load_engine(tmp_path, run=1).metadata.throughput_qps is None
    assert load_engine(tmp_path, run=3).metadata.throughput_qps == 500.5  # trtexec overwrites: the last


def test_metadata_state_which_run_of_a_log_is_theirs(tmp_path: Path) -> None:
    log_of_runs(tmp_path / "x.profile.log")
    write_json(tmp_path / "x.profile.metadata.json", {"performance_summary": {"Throughput": 222.25}})
    assert [run.number for run in load_engine(tmp_path).runs if run.is_shown] == [2]
    assert load_engine(tmp_path, run=1).metadata.throughput_qps == 500.5
    three_runs(tmp_path / "x.profile.json")
    engine = load_engine(tmp_path)
    assert (engine.profile_iterations, engine.metadata.throughput_qps) == (15, 31.5)


def test_runs_of_other_engines_are_runs(tmp_path: Path) -> None:
    texts = [log_text(1, 500.5, engine="one.engine"), log_text(8, 222.25, engine="eight.engine")]
    path = appended(tmp_path / "x.profile.log", *texts)
    assert load_engine(path).metadata.throughput_qps == 222.25
    chosen = load_engine(path, run=1)
    assert chosen.metadata.throughput_qps == 500.5
    assert chosen.metadata.inference_options["Batch"] == "1"


def test_runs_without_banners_are_named_by_their_options(tmp_path: Path) -> None:
    texts = [log_text(batch, qps).splitlines(keepends=True) for batch, qps in zip(BATCHES, QPS, strict=True)]
    path = appended(tmp_path / "x.profile.log", *("".join(lines[1:-1]) for lines in texts))
    assert [run.options for run in load_engine(path).runs] == ["Batch: 1", "Batch: 8", "Batch: 64"]


def test_profile_table_in_a_log_is_of_the_chosen_run(tmp_path: Path) -> None:
    log = (OLD_SAMPLES / "alexnet/alexnet_fp16.profile.log").read_text(encoding="utf-8")
    once = load_engine(appended(tmp_path / "once.profile.log", log))
    twice = appended(
        tmp_path / "twice.profile.log", log, log.replace("(11204 iterations )", "(5 iterations )")
    )
    assert [load_engine(twice, run=number).profile_iterations for number in (1, 2)] == [11204, 5]
    assert (
        load_engine(twice).latency_sum_ms == load_engine(twice, run=1).latency_sum_ms == once.latency_sum_ms
    )


def test_run_with_a_profile_table_alone(tmp_path: Path) -> None:
    log = (OLD_SAMPLES / "alexnet/alexnet_fp16.profile.log").read_text(encoding="utf-8")
    silent = log.replace("=== Performance summary ===", "nothing").replace("Duration: 1s", "Duration: 2s")
    path = appended(tmp_path / "x.profile.log", log, silent, log)
    assert load_engine(path, run=1).metadata.throughput_qps is not None
    chosen = load_engine(path, run=2)
    assert (chosen.metadata.throughput_qps, chosen.profile_iterations) == (None, 11204)
    assert [(run.number, run.throughput_qps is None) for run in chosen.runs if run.is_shown] == [(2, True)]
    assert timed_run(chosen).inference["Duration"].startswith("2s")
