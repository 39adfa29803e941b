"""Logs of several runs: the last build, the measurements of its engine, and the run that is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples
from log_kit import BUILD_84, BUILD_86, RUN_86, STAMP, needs_logs, read
from trex_tui.artifacts.kinds import FileKind, recognize
from trex_tui.artifacts.metadata import Facts
from trex_tui.buildlog.reader import read_log
from trex_tui.buildlog.records import with_log
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.errors import ArtifactError

BANNER = "TensorRT.trtexec [TensorRT v8601] # trtexec"


def lines(*messages: str) -> str:
    """Messages with a stamp; banners are as they are."""
    return "".join(f"{text}\n" if text.startswith("&&&&") else f"{STAMP} {text}\n" for text in messages)


def notes(trace: BuildTrace) -> list[str]:
    return [note.message for note in trace.notes]


# --- runs of trtexec ---------------------------------------------------------------------------------------------------


@needs_logs
def test_a_build_and_a_run_of_its_engine(tmp_path: Path) -> None:
    built, ran = read_log(BUILD_86), read_log(RUN_86)
    trace = read(tmp_path / "both.log", BUILD_86.read_bytes() + RUN_86.read_bytes())
    assert trace.options == built.options
    assert trace.run_options == ran.options != built.options
    for name in ("phases", "memory", "tunings", "passes", "network_tensors"):
        assert getattr(trace, name) == getattr(built, name)
    assert trace.performance is not None
    assert ran.performance is not None
    assert trace.performance.values == ran.performance.values
    assert [found.form for found in trace.layer_lists] == ["names", "builder"]
    assert trace.notes == ()
    facts = with_log(Facts(), trace, "build log")
    assert (facts.build_options["Skip inference"], facts.throughput_qps) == ("Enabled", 20565.7)
    assert facts.inference_options == ran.options.inference


@needs_logs
def test_a_run_before_the_build_is_of_another_engine(tmp_path: Path) -> None:
    built, path = read_log(BUILD_86), tmp_path / "both.log"
    trace = read(path, RUN_86.read_bytes() + BUILD_86.read_bytes())
    assert (trace.options, trace.run_options) == (built.options, built.options)
    assert (trace.performance, trace.averages, trace.bindings) == (None, (), ())
    (note,) = trace.notes
    assert (
        note.message == "the run before the build is of another engine: what was measured there is left out"
    )
    line = path.read_text().splitlines()[int(note.where.split()[1]) - 1]
    assert line.endswith("=== Performance summary ===")


@needs_logs
def test_a_run_of_another_engine_after_the_build(tmp_path: Path) -> None:
    built = read_log(BUILD_86)
    other = RUN_86.read_bytes().replace(b"model-FP32.plan", b"other.plan")
    trace = read(tmp_path / "both.log", BUILD_86.read_bytes() + other)
    assert (trace.performance, trace.profile, trace.layer_lists) == (None, None, built.layer_lists)
    words = "the run after the build loads another engine (other.plan, not model-FP32.plan)"
    assert notes(trace) == [f"{words}: what was measured there is left out"]
    moved = RUN_86.read_bytes().replace(b"./model-FP32.plan", b"/mnt/models/model-FP32.plan")
    assert read(tmp_path / "moved.log", BUILD_86.read_bytes() + moved).performance is not None


def run(command: str, number: int, *messages: str, end: str = "PASSED") -> str:
    head = [
        f"&&&& RUNNING {BANNER} {command}",
        "[I] === Model Options ===",
        f"[I] Model: {number}",
        "[I] === Inference Options ===",
        f"[I] Iterations: {number}",
        "[I] ",
    ]
    return lines(*head, *messages, *([f"&&&& {end} {BANNER} {command}"] if end else []))


def build(number: int, *more: str) -> str:
    return run(
        f"--onnx={number}.onnx",
        number,
        "[I] [TRT] [MemUsageChange] Init builder kernel library: CPU +1, GPU +1, now: CPU 5, GPU 5 (MiB)",
        "[I] Start parsing network model.",
        "[I] [TRT] Input filename:   net.onnx",
        "[V] [TRT] Original: 24 layers",
        "[V] [TRT] After vertical fusions: 10 layers",
        f"[V] [TRT] Engine generation completed in {number} seconds.",
        f"[I] Engine built in {number} sec.",
        *more,
    )


def timed(number: int) -> tuple[str, ...]:
    return "[I] === Performance summary ===", f"[I] Throughput: {number} qps", "[I] "


KINDS = ("build", "timed build", "load", "timed load", "failed", "cut off", "help")


def of_kind(kind: str, number: int) -> str:
    results = timed(number) if kind.startswith("timed") else ()
    if kind.endswith("build"):
        return build(number, *results)
    if kind.endswith("load"):
        return run("--loadEngine=a.plan", number, f"[I] Engine loaded in {number} sec.", *results)
    if kind == "failed":
        return run("--onnx=x", number, "[I] Start parsing network model.", "[E] no such file", end="FAILED")
    if kind == "cut off":
        return run("--onnx=y", number, "[I] Start parsing network model.", end="")
    return lines(f"&&&& RUNNING {BANNER} --help")


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
def test_the_last_build_and_the_measurements_after_it(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "runs.log"
    trace = read(path, "".join(of_kind(kind, number) for number, kind in enumerate(kinds, 1)))
    numbered = list(enumerate(kinds, 1))
    builds = [number for number, kind in numbered if kind.endswith("build")]
    printed = [number for number, kind in numbered if kind != "help"]
    shown = builds[-1] if builds else printed[-1] if printed else None
    assert trace.options.model.get("Model") == (None if shown is None else str(shown))
    phases = [(phase.kind, phase.seconds) for phase in trace.phases]
    if builds:
        assert phases == [("engine generation", shown), ("engine build", shown)]
        assert [part.layers for part in trace.passes] == [24, 10]
    else:
        is_load = shown is not None and kinds[shown - 1].endswith("load")
        assert phases == ([("engine loading", shown)] if is_load else [])
    first = builds[-1] if builds else 1
    measured = [number for number, kind in numbered if kind.startswith("timed") and number >= first]
    throughput = trace.performance.values["Throughput"] if trace.performance else None
    assert throughput == (f"{measured[-1]} qps" if measured else None)
    iterations = measured[-1] if measured else printed[-1] if printed else None
    assert trace.run_options.inference.get("Iterations") == (None if iterations is None else str(iterations))
    assert ("holds " in " ".join(notes(trace))) is (len(builds) > 1)
    statuses = {"failed": "FAILED", "cut off": None, "help": None}
    assert [run.status for run in trace.runs] == [statuses.get(kind, "PASSED") for kind in kinds]


@settings(max_examples=examples(40))
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
def test_a_run_is_described_as_if_the_log_ended_after_it(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    texts = [of_kind(kind, number) for number, kind in enumerate(kinds, 1)]
    path = tmp_path_factory.getbasetemp() / "wanted.log"
    read(path, "".join(texts))
    measured = [index for index, kind in enumerate(kinds) if kind.startswith("timed")]
    for number, index in enumerate(measured, 1):
        ended = read(tmp_path_factory.getbasetemp() / "ended.log", "".join(texts[: index + 1]))
        trace = read_log(path, run=number)
        for name in ("options", "run_options", "phases", "performance", "passes"):
            assert getattr(trace, name) == getattr(ended, name)
        assert trace.shown_number == number
        assert [run.number for run in trace.measured] == list(range(1, len(measured) + 1))
    with pytest.raises(ArtifactError, match=f"no run {len(measured) + 1}"):
        read_log(path, run=len(measured) + 1)


def test_runs_without_banners(tmp_path: Path) -> None:
    text = "".join(line for line in (build(1) + build(2)).splitlines(True) if not line.startswith("&&&&"))
    trace = read(tmp_path / "a.log", text)
    assert (trace.runs, trace.options.model) == ((), {"Model": "2"})
    assert notes(trace) == ["holds 2 builds; the last one is shown"]
    assert [phase.seconds for phase in trace.phases] == [2.0, 2.0]
    assert read(tmp_path / "a.log", lines("[I] === Build Options ===", "[I] Load engine: a.plan")).only_loads
    failed = run("--onnx=x", 1, "[E] no such file", end="FAILED")
    assert not read(tmp_path / "a.log", failed).only_loads
    assert read(tmp_path / "a.log", failed + of_kind("load", 2)).only_loads
    ended = read(tmp_path / "a.log", of_kind("load", 1).partition("\n")[2])
    assert (ended.only_loads, ended.shown_run) == (True, ended.runs[0])


@pytest.mark.parametrize("prefix", [f"{STAMP} [I] ", f"    {STAMP} [I] ", ""])
def test_results_of_several_runs_in_notes(tmp_path: Path, prefix: str) -> None:
    def results(number: int) -> str:
        texts = (
            "=== Trace details ===",
            "Trace averages of 10 runs:",
            f"Average on 10 runs - GPU latency: {number} ms - Host latency: {number} ms (enqueue 0.1 ms)",
            "",
            "=== Performance summary ===",
            f"Throughput: {number} qps",
            f"Latency: min = 1 ms, max = 9 ms, mean = 5 ms, median = {number} ms, percentile(99%) = 9 ms",
            "",
            f"=== Profile ({number} iterations ) ===",
            "   Layer   Time (ms)   Avg. Time (ms)   Median Time (ms)   Time %",
            f"    conv        1.00           {number}.00               1.00    100.0",
            "   Total        1.00           1.0000               1.00    100.0",
            "",
        )
        return f"{number}. batch {number}\n" + "".join(f"{prefix}{text}\n" for text in texts)

    path = tmp_path / "notes.txt"
    path.write_text("".join(map(results, (1, 2, 3))))
    for number in (1, 2, 3, None):
        trace, shown = read_log(path, run=number), number or 3
        assert trace.performance is not None
        assert trace.profile is not None
        assert trace.performance.values["Throughput"] == f"{shown} qps"
        assert (trace.profile.iterations, trace.profile.rows[0].average_ms) == (shown, shown)
        assert [(run.number, run.is_shown) for run in trace.measured] == [(n, n == shown) for n in (1, 2, 3)]


def test_a_run_that_starts_others(tmp_path: Path) -> None:
    child, parent = "--onnx=m.onnx --setBuildRoute=a={}", "--onnx=m.onnx --tuneBuildRoutes"
    task = "TensorRT.trtexec [TensorRT v110100] [b106] [iter={}] BuildRoute = 'a={}'"
    passed = lines(
        f"&&&& TASK_BEGIN {task.format(0, 0)}",
        f"&&&& RUNNING {BANNER} {child.format(0)}",
        "[I] Engine built in 3.5 sec.",
        f"&&&& PASSED {BANNER} {child.format(0)}",
        f"&&&& TASK_END {task.format(0, 0)}",
    )
    killed = lines(
        f"&&&& TASK_BEGIN {task.format(1, 1)}",
        f"&&&& RUNNING {BANNER} {child.format(1)}",
        f"&&&& TASK_ABORT {task.format(1, 1)}",
    )
    begin, end = lines(f"&&&& RUNNING {BANNER} {parent}"), lines(f"&&&& PASSED {BANNER} {parent}")
    trace = read(tmp_path / "a.log", begin + passed + end)
    assert [run.status for run in trace.runs] == ["PASSED", "PASSED"]
    assert ([phase.seconds for phase in trace.phases], notes(trace)) == ([3.5], [])
    trace = read(tmp_path / "a.log", begin + passed + killed + end)
    assert ([run.status for run in trace.runs], notes(trace)) == (["PASSED", "PASSED", None], [])
    trace = read(tmp_path / "a.log", begin + passed)
    assert notes(trace) == ["ends before trtexec does: there is no PASSED or FAILED at its end"]


# --- programs without banners ------------------------------------------------------------------------------------------


@needs_logs
@pytest.mark.parametrize("source", [BUILD_84, BUILD_86], ids=["8.4", "8.6"])
def test_two_builds_of_a_program_in_python(tmp_path: Path, source: Path) -> None:
    """The library's lines of a real build twice, as Python's logger prints them."""
    data = source.read_bytes().splitlines(keepends=True)
    once_printed = b"".join(
        b"%s [TRT] %s %s" % (line[:21], line[22:25], line[32:]) for line in data if line[25:32] == b" [TRT] "
    )
    once, twice = read(tmp_path / "a.log", once_printed), read(tmp_path / "b.log", once_printed * 2)
    assert len(twice.tunings) == len(once.tunings) > 5
    assert [part.name for part in twice.passes] == [part.name for part in once.passes]
    assert [phase.seconds for phase in twice.phases] == [phase.seconds for phase in once.phases]
    assert (notes(once), notes(twice)) == ([], ["holds 2 builds; the last one is shown"])
    # The builder and the network are made once.
    start = once_printed.rindex(b"\n", 0, once_printed.index(b" Original: ")) + 1
    again = read(tmp_path / "c.log", once_printed + once_printed[start:])
    assert len(again.tunings) == len(once.tunings)
    assert again.onnx == once.onnx
    assert notes(again) == ["holds 2 builds; the last one is shown"]


def test_what_is_no_second_build(tmp_path: Path) -> None:
    ended = ("[TRT] [V] Original: 5 layers", "[TRT] [V] Engine generation completed in 1.5 seconds.")
    calibration = "[TRT] [I] Calibration completed in 2.5 seconds."
    calibrated = read(tmp_path / "a.log", lines(*ended, calibration, *ended))
    assert (notes(calibrated), len(calibrated.passes)) == ([], 2)
    builder = (
        "[TRT] [I] [MemUsageChange] Init builder kernel library: CPU +1, GPU +1, now: CPU 5, GPU 5 (MiB)"
    )
    asked = read(tmp_path / "a.log", lines(*ended, builder))
    assert (len(asked.passes), notes(asked)) == (1, [])
    parsed = read(tmp_path / "a.log", lines("[TRT] [V] Adding network input: x with dtype: float32", *ended))
    assert ([tensor.name for tensor in parsed.network_tensors], notes(parsed)) == (["x"], [])


def test_results_of_two_runs_are_not_mixed(tmp_path: Path) -> None:
    table = "   Layer   Time (ms)   Avg. Time (ms)   Time %\n    {}        1.00           1.0000    100.0\n"
    texts = (
        "=== Performance summary ===",
        "Throughput: 5 qps",
        "Latency: min = 1 ms, max = 2 ms, mean = 1 ms",
    )
    notes = tmp_path / "notes.txt"
    heading = "=== Profile (7 iterations ) ==="
    one, two = (
        "".join(f"[I] {line}\n" for line in (heading, *table.format(name).splitlines(), "")) for name in "ab"
    )
    notes.write_text("".join(f"[I] {text}\n" for text in texts) + one + "\n" + two)
    trace = read_log(notes)
    assert trace.profile is not None
    assert [run.is_shown for run in trace.measured] == [True, False]
    assert [row.name for row in trace.profile.rows] == ["a"]


def test_builds_of_polygraphy(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    builds = "".join(
        f"[I] Building engine with configuration:\n    Flags | [FP16]\n[I] Finished engine building in {seconds} seconds\n"
        for seconds in (17.004, 2.5)
    )
    path.write_text(f"[V] Loaded Module: tensorrt | Version: 8.6.0 | Path: ['x']\n{builds}")
    trace = read_log(path)
    assert recognize(path).kind is FileKind.BUILD_LOG
    assert [(phase.kind, phase.seconds) for phase in trace.phases] == [("engine build", 2.5)]
    assert trace.tensorrt_version == "8.6.0"
    assert any("holds 2 builds" in note.message for note in trace.notes)


def test_messages_in_a_list_of_a_document(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text("- Why:\n  [W] [TRT] Layer '/pool' (REDUCE): Unsupported on DLA. Switching ... to GPU.\n")
    (fallback,) = read_log(path).dla.fallbacks
    assert (fallback.layer, fallback.layer_type) == ("/pool", "REDUCE")
