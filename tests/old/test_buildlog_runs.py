"""Several runs in one log: which one is described, and that nothing of the others is mixed in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS
from trex_tui.old.analysis.build import build_seconds, phase_shares
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.buildlog import BuildTrace, read_build_log
from trex_tui.old.buildlog import log_records as as_records
from trex_tui.old.buildlog.build_trace import PhaseKind
from trex_tui.old.buildlog.reader import read_outline
from trex_tui.old.errors import ArtifactError

LOGS = ARTIFACTS / "logs"
BUILD_84 = LOGS / "trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log"
BUILD_86 = LOGS / "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log"
RUN_86 = LOGS / "trt8.6.0_RTX3090_loadEngine_dumpLayerInfo_verbose.log"
TERSE_10 = LOGS / "trt10.16.1_H100_skipInference_dumpLayerInfo_detailed.log"
needs_logs = pytest.mark.skipif(not LOGS.is_dir(), reason=f"no real logs at {LOGS}")

STAMP = "[11/21/2026-10:00:00]"
BANNER = "TensorRT.trtexec [TensorRT v8601] # trtexec"


def read(path: Path, data: bytes | str) -> BuildTrace:
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return read_build_log(path)


def lines(*messages: str) -> str:
    """Messages of trtexec's; those that begin with a rule or a bracket of severity are as they are."""
    return "".join(f"{one}\n" if one.startswith("&&&&") else f"{STAMP} {one}\n" for one in messages)


def notes(trace: BuildTrace) -> list[str]:
    return [one.message for one in trace.diagnostics]


# Runs of trtexec


@needs_logs
def test_a_build_and_a_run_of_its_engine(tmp_path: Path) -> None:
    built, ran = read_build_log(BUILD_86), read_build_log(RUN_86)
    trace = read(tmp_path / "both.log", BUILD_86.read_bytes() + RUN_86.read_bytes())
    assert trace.options == built.options
    assert trace.run_options == ran.options != built.options
    assert trace.phases == built.phases
    assert trace.memory == built.memory
    assert (trace.tunings, trace.passes, trace.network_inputs) == (
        built.tunings,
        built.passes,
        ("tensor-0",),
    )
    assert trace.performance is not None
    assert ran.performance is not None
    assert trace.performance.values == ran.performance.values
    assert {one.form for one in trace.dumps} == {one.form for one in (*built.dumps, *ran.dumps)}
    assert trace.diagnostics == ()
    build, profile = (as_records.role_document(trace, role) for role in ("build", "profile"))
    assert build["build_options"] == built.options.build
    assert profile == as_records.role_document(ran, "profile")
    document = as_records.metadata_document(trace)
    assert document["build_options"]["Save engine"] == "model-FP32.plan"
    assert document["performance_summary"]["Throughput"] == 20565.7
    filled = as_records.with_log(Metadata(), trace, "build log")
    assert (filled.build_options["Skip inference"], bool(filled.performance)) == ("Enabled", True)
    assert filled.inference_options == ran.options.inference


@needs_logs
def test_a_run_before_the_build_is_of_another_engine(tmp_path: Path) -> None:
    built = read_outline(BUILD_86)
    path = tmp_path / "both.log"
    path.write_bytes(RUN_86.read_bytes() + BUILD_86.read_bytes())
    trace = read_outline(path)
    assert (trace.options, trace.run_options) == (built.options, built.options)
    assert (trace.performance, trace.trace, trace.bindings) == (None, None, ())
    assert [one.form for one in trace.dumps] == [one.form for one in built.dumps]
    (note,) = trace.diagnostics
    assert (
        note.message == "the run before the build is of another engine: what was measured there is left out"
    )
    assert (
        path.read_text().splitlines()[int(note.where.split()[1]) - 1].endswith("=== Performance summary ===")
    )


@needs_logs
def test_a_run_of_another_engine_behind_the_build(tmp_path: Path) -> None:
    built = read_outline(BUILD_86)
    other = RUN_86.read_bytes().replace(b"model-FP32.plan", b"other.plan")
    trace = read_outline(written(tmp_path / "both.log", BUILD_86.read_bytes() + other))
    assert (trace.performance, trace.profile, trace.dumps) == (None, None, built.dumps)
    words = "the run after the build loads another engine (other.plan, not model-FP32.plan)"
    assert notes(trace) == [f"{words}: what was measured there is left out"]
    moved = RUN_86.read_bytes().replace(b"./model-FP32.plan", b"/mnt/models/model-FP32.plan")
    assert (
        read_outline(written(tmp_path / "moved.log", BUILD_86.read_bytes() + moved)).performance is not None
    )


@needs_logs
def test_runs_of_two_engines(tmp_path: Path) -> None:
    other = RUN_86.read_bytes().replace(b"model-FP32.plan", b"other.plan")
    silent = other.replace(b"=== Performance summary ===", b"--- nothing ---")
    trace = read_outline(written(tmp_path / "both.log", RUN_86.read_bytes() + silent))
    assert trace.performance is None
    assert len(notes(trace)) == 1
    assert "(other.plan, not model-FP32.plan)" in notes(trace)[0]


def written(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@needs_logs
def test_two_builds_share_no_option_and_no_second(tmp_path: Path) -> None:
    terse, old = TERSE_10.read_bytes(), BUILD_84.read_bytes()
    path = tmp_path / "builds.log"
    path.write_bytes(terse + old)
    trace, last = read_outline(path), read_outline(BUILD_84)
    assert (trace.options, trace.tensorrt_version) == (last.options, "8.4.1")
    assert as_records.metadata_document(trace) == as_records.metadata_document(last)
    assert notes(trace) == ["holds 2 builds; the last one is shown"]
    once, twice = read_build_log(TERSE_10), read(path, terse * 2)
    assert build_seconds(twice.phases) == 8.05109
    shares = [(one.kind, one.seconds, one.count) for one in phase_shares(twice)]
    assert shares == [(one.kind, one.seconds, one.count) for one in phase_shares(once)]
    assert [len(one.layers) for one in twice.dumps] == [len(one.layers) for one in once.dumps]


def run(command: str, number: int, *messages: str, end: str = "PASSED") -> str:
    told = [
        f"&&&& RUNNING {BANNER} {command}",
        "[I] === Model Options ===",
        f"[I] Model: {number}",
        "[I] === Inference Options ===",
        f"[I] Iterations: {number}",
        "[I] ",
        *messages,
    ]
    return lines(*told, *([f"&&&& {end} {BANNER} {command}"] if end else []))


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
    if kind.endswith("build"):
        return build(number, *(timed(number) if kind.startswith("timed") else ()))
    if kind.endswith("load"):
        messages = timed(number) if kind.startswith("timed") else ()
        return run("--loadEngine=a.plan", number, f"[I] Engine loaded in {number} sec.", *messages)
    if kind == "failed":
        return run("--onnx=x", number, "[I] Start parsing network model.", "[E] no such file", end="FAILED")
    if kind == "cut off":
        return run("--onnx=y", number, "[I] Start parsing network model.", end="")
    return lines(f"&&&& RUNNING {BANNER} --help")


@settings(max_examples=60)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
def test_the_last_build_and_what_was_timed_from_there_on(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "runs.log"
    trace = read(path, "".join(of_kind(kind, number) for number, kind in enumerate(kinds, 1)))
    assert read_outline(path).options == trace.options
    assert read_outline(path).phases == trace.phases
    builds = [number for number, kind in enumerate(kinds, 1) if kind.endswith("build")]
    printed = [number for number, kind in enumerate(kinds, 1) if kind != "help"]
    shown = builds[-1] if builds else printed[-1] if printed else None
    assert trace.options.model.get("Model") == (None if shown is None else str(shown))
    stated = [(one.kind, one.seconds) for one in trace.phases]
    if builds:
        assert stated == [(PhaseKind.ENGINE_GENERATION, shown), (PhaseKind.ENGINE_BUILD, shown)]
        assert [one.layers for one in trace.passes] == [24, 10]
    else:
        is_load = shown is not None and kinds[shown - 1].endswith("load")
        assert stated == ([(PhaseKind.LOADING, shown)] if is_load else [])
    measured = [
        number
        for number, kind in enumerate(kinds, 1)
        if kind.startswith("timed") and number >= (builds[-1] if builds else 1)
    ]
    throughput = trace.performance.values["Throughput"] if trace.performance else None
    assert throughput == (f"{measured[-1]} qps" if measured else None)
    iterations = measured[-1] if measured else printed[-1] if printed else None
    assert trace.run_options.inference.get("Iterations") == (None if iterations is None else str(iterations))
    assert ("holds " in " ".join(notes(trace))) is (len(builds) > 1)
    assert [run.status for run in trace.runs] == [
        {"failed": "FAILED", "cut off": None, "help": None}.get(kind, "PASSED") for kind in kinds
    ]


@settings(max_examples=40)
@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=6))
def test_a_wanted_run_is_told_as_if_the_log_ended_behind_it(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str]
) -> None:
    texts = [of_kind(kind, number) for number, kind in enumerate(kinds, 1)]
    path = tmp_path_factory.getbasetemp() / "wanted.log"
    read(path, "".join(texts))
    measured = [index for index, kind in enumerate(kinds) if kind.startswith("timed")]
    for number, index in enumerate(measured, 1):
        ended = read(tmp_path_factory.getbasetemp() / "ended.log", "".join(texts[: index + 1]))
        for read_log in (read_build_log, read_outline):
            trace = read_log(path, run=number)
            assert (trace.options, trace.run_options) == (ended.options, ended.run_options)
            assert (trace.phases, trace.performance) == (ended.phases, ended.performance)
            assert [len(one.fusions) for one in trace.passes] == [len(one.fusions) for one in ended.passes]
            assert trace.shown_number == number
            assert [one.number for one in trace.measured] == list(range(1, len(measured) + 1))
    with pytest.raises(ArtifactError, match=f"no run {len(measured) + 1}"):
        read_build_log(path, run=len(measured) + 1)


def test_runs_whose_banners_are_lost(tmp_path: Path) -> None:
    text = "".join(line for line in (build(1) + build(2)).splitlines(True) if not line.startswith("&&&&"))
    trace = read(tmp_path / "a.log", text)
    assert (trace.runs, trace.options.model) == ((), {"Model": "2"})
    assert notes(trace) == ["holds 2 builds; the last one is shown"]
    assert build_seconds(trace.phases) == 2.0
    loaded = read(tmp_path / "a.log", lines("[I] === Build Options ===", "[I] Load engine: a.plan"))
    assert loaded.only_loads
    failed = run("--onnx=x", 1, "[E] no such file", end="FAILED")
    assert not read(tmp_path / "a.log", failed).only_loads
    assert read(tmp_path / "a.log", failed + of_kind("load", 2)).only_loads
    ended = read(tmp_path / "a.log", of_kind("load", 1).partition("\n")[2])
    assert (ended.only_loads, ended.shown_run) == (True, ended.runs[0])


@pytest.mark.parametrize("prefix", [f"{STAMP} [I] ", f"    {STAMP} [I] ", ""])
def test_results_of_several_runs_in_notes_are_runs(tmp_path: Path, prefix: str) -> None:
    def run(number: int) -> str:
        results = (
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
        return f"{number}. batch {number}\n" + "".join(f"{prefix}{one}\n" for one in results)

    path = tmp_path / "notes.txt"
    path.write_text("".join(map(run, (1, 2, 3))))
    for number in (1, 2, 3, None):
        trace, shown = read_build_log(path, run=number), number or 3
        assert trace.performance is not None
        assert trace.profile is not None
        assert trace.performance.values["Throughput"] == f"{shown} qps"
        assert (trace.profile.iterations, trace.profile.rows[0].average_ms) == (shown, shown)
        assert [(one.number, one.is_shown) for one in trace.measured] == [
            (one, one == shown) for one in (1, 2, 3)
        ]


def test_a_run_that_starts_others(tmp_path: Path) -> None:
    child, parent = "--onnx=m.onnx --setBuildRoute=a={}", "--onnx=m.onnx --tuneBuildRoutes"
    task = "TensorRT.trtexec [TensorRT v110100] [b106] [iter={}] BuildRoute = 'a={}'"
    one = lines(
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
    trace = read(tmp_path / "a.log", begin + one + end)
    assert [(run.command.split()[-1], run.status) for run in trace.runs] == [
        ("--tuneBuildRoutes", "PASSED"),
        ("--setBuildRoute=a=0", "PASSED"),
    ]
    assert (build_seconds(trace.phases), notes(trace)) == (3.5, [])
    trace = read(tmp_path / "a.log", begin + one + killed + end)
    assert [run.status for run in trace.runs] == ["PASSED", "PASSED", None]
    assert notes(trace) == []
    trace = read(tmp_path / "a.log", begin + one)
    assert [run.status for run in trace.runs] == [None, "PASSED"]
    assert notes(trace) == ["ends before trtexec does: there is no PASSED or FAILED at its end"]


# Programs without banners


@needs_logs
def test_two_builds_of_a_program_without_banners(tmp_path: Path) -> None:
    """Of each version: the library's lines of a real build twice, as Python's logger prints them."""
    path = tmp_path / "python.log"
    for source in (BUILD_84, BUILD_86):
        data = source.read_bytes().splitlines(keepends=True)
        said = b"".join(
            b"%s [TRT] %s %s" % (line[:21], line[22:25], line[32:])
            for line in data
            if line[25:32] == b" [TRT] "
        )
        once, twice = read(path, said), read(path, said * 2)
        assert len(twice.tunings) == len(once.tunings) > 5
        assert [one.name for one in twice.passes] == [one.name for one in once.passes]
        assert [one.seconds for one in twice.phases] == [one.seconds for one in once.phases]
        assert len(twice.reformats) == len(once.reformats)
        assert (notes(once), notes(twice)) == ([], ["holds 2 builds; the last one is shown"])
        outline = read_outline(path)
        assert (outline.phases, outline.onnx) == (twice.phases, twice.onnx)
        # The builder and the network are made once.
        start = said.index(b" Original: ")
        start = said.rindex(b"\n", 0, start) + 1
        again = read(path, said + said[start:])
        assert len(again.tunings) == len(once.tunings)
        assert again.onnx == once.onnx
        assert notes(again) == ["holds 2 builds; the last one is shown"]


def test_what_is_no_second_build(tmp_path: Path) -> None:
    ended = ("[TRT] [V] Original: 5 layers", "[TRT] [V] Engine generation completed in 1.5 seconds.")
    calibrated = read(
        tmp_path / "a.log", lines(*ended, "[TRT] [I] Calibration completed in 2.5 seconds.", *ended)
    )
    assert notes(calibrated) == []
    assert len(calibrated.passes) == 2
    builder = (
        "[TRT] [I] [MemUsageChange] Init builder kernel library: CPU +1, GPU +1, now: CPU 5, GPU 5 (MiB)"
    )
    asked = read(tmp_path / "a.log", lines(*ended, builder))
    assert (len(asked.passes), notes(asked)) == (1, [])
    parsed = read(tmp_path / "a.log", lines("[TRT] [V] Adding network input: x with dtype: float32", *ended))
    assert (parsed.network_inputs, notes(parsed)) == (("x",), [])


# Options


def test_input_files_stand_below_their_label(tmp_path: Path) -> None:
    trace = read(
        tmp_path / "a.log",
        lines(
            "[I] === Build Options ===",
            "[I] Input build shape (profile 0): a=1x3",
            "[I] Input build shape (profile 0): b=1x4",
            "[I] Strongly typed",
            "[I] === Inference Options ===",
            "[I] Input inference shape: a=1x3",
            "[I] Inputs:",
            r"[I] a<-C:\d\a.bin",
            "[I] in:0<-/d/b.bin",
            "[I] Debug Tensor Save Destinations:",
            "[I] /tmp/x",
            "[I] ",
            "[I] Engine loaded in 1.53 sec.",
        ),
    )
    assert trace.options.build == {"Input build shape (profile 0)": "a=1x3, b=1x4", "Strongly typed": ""}
    assert trace.options.inference == {
        "Input inference shape": "a=1x3",
        "Inputs": r"a<-C:\d\a.bin, in:0<-/d/b.bin",
        "Debug Tensor Save Destinations": "/tmp/x",
    }
    assert [(one.kind, one.seconds) for one in trace.phases] == [(PhaseKind.LOADING, 1.53)]
