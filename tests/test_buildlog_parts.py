"""Parts of logs are enough, and what a log lacks or lost is stated."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from log_kit import (
    BUILD,
    CASES,
    REAL,
    STAMP,
    content,
    needs_cases,
    needs_logs,
    number,
    read,
)
from trex_tui.artifacts.kinds import FileKind, recognize
from trex_tui.artifacts.metadata import Facts, parse_latency
from trex_tui.buildlog import lines
from trex_tui.buildlog.failures import find_failure
from trex_tui.buildlog.reader import read_log
from trex_tui.buildlog.records import find_profile, with_log
from trex_tui.buildlog.trace import BuildTrace, find_bursts


def messages(*texts: str) -> str:
    return "".join(f"{STAMP} [I] {text}\n" for text in texts)


def performance(trace: BuildTrace) -> dict[str, str]:
    return with_log(Facts(), trace, "log").performance


# --- results -----------------------------------------------------------------------------------------------------------


@needs_cases
def test_only_the_compute_time_of_two_runs() -> None:
    path = CASES / "08-fallback-of-parts/dynamic.log"
    for run, median, shapes in ((1, 29.2378, "x=16x40320, xlen=16"), (2, 27.1708, None)):
        trace = read_log(path, run)
        latency = parse_latency(performance(trace)["GPU Compute Time"])
        assert latency is not None
        assert latency.median_ms == median
        assert trace.options.build["Precision"] == "FP32+FP16"
        assert trace.run_options.inference.get("Input inference shape") == shapes
    assert len(read_log(path).measured) == 2
    stated = read_log(path, 1).options.build["Input build shape (profile 0)"]
    assert stated == "x=1x4000+64x40320+64x300000, xlen=1+64+64"


@pytest.mark.parametrize("prefix", ["[I] ", ""])
def test_figures_that_a_document_has_wrapped(tmp_path: Path, prefix: str) -> None:
    path = tmp_path / "notes.log"
    path.write_text(
        f"{prefix}=== Performance summary ===\n{prefix}Throughput: 2 qps\n"
        f"{prefix}Latency: min = 1 ms, max = 9 ms,\nmean = 5 ms, median = 4 ms,\npercentile(99%) = 8 ms\n"
        f"{prefix}GPU Compute Time: min = 0.5 ms, max = 3 ms,\nmean = 2 ms, median = 1.5 ms\n"
    )
    values = performance(read_log(path))
    latency, compute = (parse_latency(values[label]) for label in ("Latency", "GPU Compute Time"))
    assert latency is not None
    assert compute is not None
    assert (latency.median_ms, latency.mean_ms, compute.median_ms) == (4, 5, 1.5)
    path.write_text("[I] Building engine\nThroughput: 0.51 image/s\n")
    assert read_log(path).performance is None


def test_figures_written_in_other_ways(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text(
        "```\n=== Performance Summary (batch=8) ===\nThroughput: 85.66 qps\n"
        "Latency: min=11.36ms, max=14.62ms, mean=11.67ms, median=11.43ms\n"
        "Percentile(90%)=12.21ms, Percentile(99%)=13.62ms\n"
        "GPU Compute Time: min = 3.1 ms, max 6.2 ms, mean 5.9 ms, median 6.0 ms, percentile(99%) 6.1 ms\n```\n"
    )
    assert recognize(path).kind is FileKind.BUILD_LOG
    values = performance(read_log(path))
    latency, compute = (parse_latency(values[label]) for label in ("Latency", "GPU Compute Time"))
    assert latency is not None
    assert compute is not None
    assert (latency.min_ms, latency.median_ms) == (11.36, 11.43)
    assert latency.percentiles_ms == {90: 12.21, 99: 13.62}
    assert (compute.max_ms, compute.mean_ms, compute.percentiles_ms) == (6.2, 5.9, {99: 6.1})


def test_a_later_line_and_command_are_no_other_result(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    figures = "min = 1 ms, max = 3 ms, mean = 2 ms, median = 2 ms"
    path.write_text(
        f"{STAMP} [I] Throughput: 500 qps\n{STAMP} [I] GPU Compute Time: {figures}\n{STAMP} [I] Enqueue Time: {figures}\n"
        "&&&& PASSED TensorRT.trtexec [TensorRT v101000] [b31] # trtexec --onnx=a.onnx\n\n"
        f"trtexec --onnx=a.onnx --fp16\n# it was:\n{STAMP} [I] Enqueue Time: {figures.replace('2', '4')}\n"
    )
    trace = read_log(path)
    assert performance(trace)["Throughput"] == "500 qps"
    assert trace.options.build.get("Precision") != "FP32+FP16"


@pytest.mark.parametrize("prefix", ["", f"{STAMP} [I] "])
def test_advice_of_several_pasted_runs(tmp_path: Path, prefix: str) -> None:
    path, warning = tmp_path / "notes.md", prefix.replace("[I]", "[W]")
    figures = "min = 1 ms, max = 3 ms, mean = 2 ms, median = 2 ms"
    path.write_text(
        "".join(
            f"```\n{prefix}=== Performance summary ===\n{prefix}Throughput: 500 qps\n{prefix}GPU Compute Time: {figures}\n"
            f"{warning}* GPU compute time is unstable, with coefficient of variance = {variation}%.\n"
            f"{warning}  If not already in use, locking GPU clock frequency may help.\n```\n* an item\n"
            for variation in (59.4, 7.5)
        )
    )
    for run, variation in ((1, 59.4), (2, 7.5)):
        trace = read_log(path, run)
        assert trace.performance is not None
        assert trace.performance.variation_pct == variation
        assert [message.count for message in trace.messages] == [2]
        assert trace.messages[0].text.endswith("may help.")


def test_averages_and_the_number_of_queries(tmp_path: Path) -> None:
    text = messages(
        "Timing trace has 145 queries over 3.05 s",
        "Average on 10 runs - GPU latency: 20.9 ms - Host latency: 21 ms (end to end 21.1 ms, enqueue 0.5 ms)",
        "Average on 10 runs - GPU latency: 20.7 ms",
        "Average over 10 runs is 20.8 ms (host walltime is 20.9 ms, 99% percentile time is 21).",
    )
    trace = read(tmp_path / "a.log", text)
    assert [tuple(row)[1:] for row in trace.averages] == [
        (10, 20.9, 21.0, 0.5, 21.1),
        (10, 20.7, None, None, None),
        (10, 20.8, 20.9, None, None),
    ]
    assert performance(trace) == {"GPU Compute Time": "mean = 20.8 ms", "Throughput": "47.541 qps"}


OLD_SUMMARY = messages(
    "Host Latency",
    "min: 638.401 ms (end to end 638.402 ms)",
    "max: 646.992 ms (end to end 646.993 ms)",
    "mean: 643.169 ms (end to end 643.17 ms)",
    "median: 643.202 ms (end to end 643.203 ms)",
    "percentile: 646.5 ms at 99% (end to end 646.6 ms at 99%)",
    "throughput: 0 qps",
    "walltime: 7.07 s",
    "Enqueue Time",
    "min: 3.4 ms",
    "max: 5.1 ms",
    "median: 4.6 ms",
    "GPU Compute",
    "min: 566.9 ms",
    "median: 567.5 ms",
    "total compute time: 7.06 s",
)


def test_the_summary_of_tensorrt_7(tmp_path: Path) -> None:
    """It prints 0 queries per second for an explicit batch: unknown."""
    assert performance(read(tmp_path / "a.log", OLD_SUMMARY)) == {
        "Latency": "min = 638.401 ms, max = 646.992 ms, mean = 643.169 ms, median = 643.202 ms, "
        "percentile(99%) = 646.5 ms",
        "End-to-End Host Latency": "min = 638.402 ms, max = 646.993 ms, mean = 643.17 ms, median = 643.203 ms, "
        "percentile(99%) = 646.6 ms",
        "Total Host Walltime": "7.07 s",
        "Enqueue Time": "min = 3.4 ms, max = 5.1 ms, median = 4.6 ms",
        "GPU Compute Time": "min = 566.9 ms, median = 567.5 ms",
        "Total GPU Compute Time": "7.06 s",
    }


TABLE = (
    "=== Profile (490 iterations ) ===",
    "         Layer   Time (ms)   Avg. Time (ms)   Time %",
    " conv1 + relu1      217.14             0.44      6.9",
    "         pool5        6.21             0.01      0.2",
    "         Total      223.35             0.45    100.0",
)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("prefix", [f"{STAMP} [I] ", ""])
def test_a_pasted_table(tmp_path: Path, prefix: str, first: int) -> None:
    text = "".join(f"{prefix}{line}\n" for line in TABLE[first:]) + "and a line after it\n"
    trace = read(tmp_path / "a.log", text)
    assert trace.profile is not None
    assert [(row.name, row.total_ms) for row in trace.profile.rows] == [
        ("conv1 + relu1", 217.14),
        ("pool5", 6.21),
    ]
    assert trace.profile.iterations == (490 if first == 0 else None)


@needs_cases
def test_averages_with_two_decimals_are_recomputed() -> None:
    profile = find_profile(read_log(CASES / "14-old-table/alexnet.log"))
    assert profile is not None
    averages = {row.name: row.average_ms for row in profile.rows}
    assert averages["norm1"] == pytest.approx(0.0903, abs=1e-4)
    assert averages["pool5"] == pytest.approx(0.0127, abs=1e-4)
    assert profile.sum_ms == pytest.approx(6.411, abs=1e-3)
    assert "rounded to 10 µs" in profile.notes[0].message


@needs_cases
def test_a_table_without_all_its_rows() -> None:
    path = CASES / "06-truncated-table/ocr_logs.txt"
    for run, total, missing in ((1, 9.9309, 16.5), (2, 9.4376, 17.5)):
        profile = find_profile(read_log(path, run))
        assert profile is not None
        assert profile.stated_total_ms == pytest.approx(total, abs=1e-4)
        assert profile.missing_pct == pytest.approx(missing, abs=0.5)
        assert " are missing: the rest sums to" in profile.notes[-1].message
    assert not find_profile(read_log(CASES / "05-banner-command/backbone.log")).missing_pct  # type: ignore[union-attr]


@pytest.mark.parametrize(("share", "total"), [("0.5", 1.0), ("50.0", None), ("0.0", None)])
def test_a_table_that_is_cut_before_its_total(tmp_path: Path, share: str, total: float | None) -> None:
    row = f"1.0 0.0050 0.0050 {share}"
    path = tmp_path / "notes.log"
    path.write_text(
        "[I] === Profile (200 iterations ) ===\n[I] Time(ms) Avg.(ms) Median(ms) Time(%) Layer\n"
        f"[I] {row} a\n[I] {row} b\n[I] {row} c\n...\n"
    )
    profile = find_profile(read_log(path))
    assert profile is not None
    assert profile.stated_total_ms == (total if total is None else pytest.approx(total))


def test_a_list_of_layers_that_leaves_some_out(tmp_path: Path) -> None:
    path = tmp_path / "notes.log"
    layer = "Layer(Reformat): a, Tactic: 0x0, x (Float[1]) -> y (Half[1])"
    path.write_text(
        f"{STAMP} [V] [TRT] Engine Layer Information:\n{layer}\n...\n{layer.replace(': a', ': b')}\n"
    )
    trace = read_log(path)
    assert [layer.raw["Name"] for layer in trace.layer_lists[0].layers] == ["a", "b"]
    assert [(note.message, note.is_incomplete) for note in trace.notes] == [
        ("has a list of layers that leaves some out (...)", True)
    ]


def test_json_of_layers_that_ends_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_text('```\n{"Layers": ["a"\n,"b"\n```\n\n```\nThroughput: 500 qps\n```\n')
    trace = read_log(path)
    assert performance(trace) == {"Throughput": "500 qps"}
    (note,) = trace.notes
    assert note.message.startswith("has layer information whose JSON ends in the middle")
    assert (note.where, note.is_incomplete) == ("line 2", True)


@needs_cases
def test_bursts_and_variation() -> None:
    trace = read_log(CASES / "19-stability-first-screen/trt_build.log")
    bursts = find_bursts(trace.averages)
    assert bursts is not None
    assert bursts.median_ms == pytest.approx(1.393, abs=1e-3)
    assert 1.5 < bursts.slow_ms < 1.8
    assert 5 < bursts.every < 7.5
    assert trace.performance is not None
    assert trace.performance.variation_pct == 22.3591
    assert find_bursts(read_log(CASES / "08-fallback-of-parts/averages.log").averages) is None


# --- options -----------------------------------------------------------------------------------------------------------


@needs_cases
def test_the_command_of_a_banner_states_the_options() -> None:
    trace = read_log(CASES / "05-banner-command/backbone.log")
    build = trace.options.build
    assert (build["Precision"], build["Profiling verbosity"]) == ("FP32+FP16", "2")
    assert build["Input(s)s format"] == "fp16:chw,int32:chw,int32:chw"
    assert trace.options.system["Plugins"] == "build/libpointpillar_core.so"
    assert not trace.has_printed_options
    assert with_log(Facts(), trace, "log").builder_precision == "FP32+FP16"
    other = read_log(CASES / "01-enqueue-blocked/transformer.log")
    assert other.options.build["Precision"] == "FP32+BF16"
    shapes = other.options.build["Input build shape (profile 0)"]
    assert "hidden_states=1x3364x64+1x6032x64+1x10816x64" in shapes
    assert "hidden_states=1x10816x64" in other.run_options.inference["Input inference shape"]


@pytest.mark.parametrize(
    ("version", "command", "precision"),
    [
        ("v8601", "--onnx=a.onnx --best", "FP32+FP16+INT8"),
        ("v8601", "--onnx=a.onnx", "FP32"),
        ("v101300", "--onnx=a.onnx --stronglyTyped", "Strongly Typed"),
        ("v110100", "--onnx=a.onnx", "Strongly Typed"),
        ("v101100", "--onnx=a --fp16 --precisionConstraints=obey", "FP32+FP16 (obey precision constraints)"),
        ("v8601", "--loadEngine=a.plan --fp16", None),
    ],
)
def test_precision_of_a_command(tmp_path: Path, version: str, command: str, precision: str | None) -> None:
    trace = read(
        tmp_path / "a.log", f"&&&& PASSED TensorRT.trtexec [TensorRT {version}] # trtexec {command}\n"
    )
    assert trace.options.build.get("Precision") == precision


@needs_cases
def test_pasted_commands_are_those_of_their_results() -> None:
    runs = read_log(CASES / "13-impossible-throughput/notes.md").measured
    assert [run.inference["Batch"] for run in runs] == ["1024", "32768"]


def test_requests_by_name(tmp_path: Path) -> None:
    banner = (
        "TensorRT.trtexec [TensorRT v101100] # trtexec --onnx=a.onnx --fp16 --precisionConstraints=prefer"
    )
    command = "--layerPrecisions=a:fp32,b*:int8 --layerOutputTypes=c:fp16+fp32 --layerDeviceTypes=d:DLA"
    for text in (f"&&&& PASSED {banner} {command}\n", f"&&&& RUNNING {banner} {command}\n{STAMP} [I] x\n"):
        assert [tuple(request) for request in read(tmp_path / "a.log", text).requests] == [
            ("precision", "a", "fp32", "prefer"),
            ("precision", "b*", "int8", "prefer"),
            ("output type", "c", "fp16+fp32", "prefer"),
            ("device", "d", "DLA", ""),
        ]


# --- DLA, memory -------------------------------------------------------------------------------------------------------


def test_the_reason_before_a_fallback(tmp_path: Path) -> None:
    text = f"""\
{STAMP} [W] [TRT] DLA LAYER: Batch size 128 for layer mul exceeds max batch size allowed of 32.
{STAMP} [W] [TRT] Default DLA is enabled but layer mul is not supported on DLA, falling back to GPU.
{STAMP} [W] [TRT] Layer '/model.24/Constant_1' (CONSTANT): Unsupported on DLA. Switching this layer's device type to GPU.
{STAMP} [I] [TRT] ---------- Layers Running on DLA ----------
{STAMP} [I] [TRT] [DlaLayer] {{ForeignNode[Conv_0...Relu_9]}}
{STAMP} [I] [TRT] ---------- Layers Running on GPU ----------
{STAMP} [I] [TRT] [GpuLayer] CONVOLUTION: Conv_10
{STAMP} [I] [TRT] [GpuLayer] PWN(Sigmoid_1)
"""
    dla = read(tmp_path / "a.log", text).dla
    assert (dla.dla_layers, dla.gpu_layers) == (
        ("{ForeignNode[Conv_0...Relu_9]}",),
        ("Conv_10", "PWN(Sigmoid_1)"),
    )
    assert [(part.layer, part.layer_type, bool(part.detail)) for part in dla.fallbacks] == [
        ("mul", "", True),
        ("/model.24/Constant_1", "CONSTANT", False),
    ]


def test_skipped_tactics_without_a_layer(tmp_path: Path) -> None:
    """Up to 8.x `insuficient` repeats MiB of the device; a large size is bytes."""
    text = f"""\
{STAMP} [TRT] [W] Tactic Device request: 1000MB Available: 302MB. Device memory is insufficient to use tactic.
{STAMP} [TRT] [W] UNSUPPORTED_STATE: Skipping tactic 44 due to insufficient memory on requested size of 1048576000 detected for tactic 0x6e2a3c7a7fc5e4e1.
{STAMP} [TRT] [W] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 2688 detected for tactic 0x0000000000000000.
{STAMP} [W] [TRT] Skipping tactic 3 due to insuficient memory on requested size of 2243 detected for tactic 4.
{STAMP} [W] [TRT] Skipping tactic 0 due to insuficient memory on requested size of 29147520 detected for tactic 0.
"""  # noqa: E501 - as printed
    assert [tuple(tactic)[1:5] for tactic in read(tmp_path / "a.log", text).skipped] == [
        ("0x6e2a3c7a7fc5e4e1", "device memory", 1000 << 20, 302 << 20),
        (number(0), "workspace", 2688, None),
        (number(4), "device memory", 2243 << 20, None),
        (number(0), "workspace", 29147520, None),
    ]


MYELIN_SKIPS = f"""\
{STAMP} [V] [TRT] =============== Computing costs for net
{STAMP} [V] [TRT] *************** Autotuning format combination: Float(1) -> Float(1) ***************
{STAMP} [V] [TRT] --------------- Timing Runner: net (Myelin[0x80000023])
{STAMP} [V] [TRT]  (foreignNode) [pass.cpp:2131: run_passes] Exceeded mem budget of 2688. Need 852992
{STAMP} [V] [TRT]  (foreignNode) [pass.cpp:2131: run_passes] Exceeded mem budget of 2688. Need 50176
{STAMP} [W] [TRT] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 2688 detected for tactic 0x0000000000000000.
{STAMP} [W] [TRT] UNSUPPORTED_STATE: Skipping tactic 1 due to insufficient memory on requested size of 2688 detected for tactic 0x0000000000000001.
"""  # noqa: E501 - as printed


def test_what_a_tactic_of_myelin_needed(tmp_path: Path) -> None:
    """A need belongs to the skip right after it that names its budget, and to no other."""
    (tuning,) = read(tmp_path / "a.log", MYELIN_SKIPS).tunings
    assert [(tactic.requested_bytes, tactic.available_bytes) for tactic in tuning.skipped] == [
        (852992, 2688),
        (None, 2688),
    ]


# --- damage ------------------------------------------------------------------------------------------------------------


def notes_of(trace: BuildTrace) -> list[tuple[str, str]]:
    return [(note.severity.value, note.message.partition(":")[0]) for note in trace.notes]


def test_a_log_that_ends_early(tmp_path: Path) -> None:
    """The middle of a line is damage; the end of a line before trtexec has ended is a warning."""
    unfinished = ("warning", "ends before trtexec does")
    cut = ("error", "is cut off in the middle of a line, which was left out")
    lines_of_build = BUILD.splitlines(keepends=True)
    path = tmp_path / "a.log"
    assert notes_of(read(path, BUILD)) == notes_of(read(path, BUILD[:-1])) == []
    assert notes_of(read(path, "".join(lines_of_build[:-1]))) == [unfinished]
    assert notes_of(read(path, "".join(lines_of_build[:15])[:-3])) == [cut, unfinished]
    # Without banners, as a program in Python writes it.
    python = "".join(lines_of_build[6:15])
    assert notes_of(read(path, python)) == []
    assert notes_of(read(path, python[:-3])) == [cut]
    # A pasted part without the end of its last line.
    assert notes_of(read(path, f"{STAMP} [I] Throughput: 5 qps\n{STAMP} [I] La")) == [("warning", cut[1])]


@needs_logs
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_damaged_bytes(tmp_path: Path, path: Path) -> None:
    source = random.Random(7)
    data = bytearray(path.read_bytes())
    for _ in range(len(data) // 200):
        data[source.randrange(len(data))] = source.randrange(256)
    assert read(tmp_path / "a.log", bytes(data)).lines > 50


@given(
    st.lists(
        st.sampled_from(BUILD.splitlines())
        | st.text(max_size=80)
        | st.builds(lambda text: f"{STAMP} [V] [TRT] {text}", st.text(max_size=60))
        | st.builds(lambda text: f"{STAMP} [W] {text}", st.text(max_size=60)),
        max_size=40,
    )
)
def test_any_lines_in_any_order_are_survived(
    tmp_path_factory: pytest.TempPathFactory, parts: list[str]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.log"
    for tuning in read(path, "\n".join(parts).encode("utf-8", errors="surrogatepass")).tunings:
        assert (tuning.seconds or 0) >= 0
        assert all(part.chosen_ms is None or part.chosen_ms >= 0 for part in tuning.combinations)


def test_a_log_that_begins_in_the_middle(tmp_path: Path) -> None:
    place = BUILD.index(f"{STAMP} [V] [TRT] Tactic Name: kernel_a")
    (tuning,) = read(tmp_path / "a.log", BUILD[place:]).tunings
    assert [tactic.id for trial in tuning.trials() for tactic in trial.tactics] == [
        number(1),
        number(2),
        number(4),
    ]


def test_endless_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = f"{STAMP} [V] [TRT] " + "x" * 1_000_000 + "\n"
    trace = read(tmp_path / "a.log", endless + BUILD + endless)
    assert (content(trace)["tuned"], trace.notes) == ("conv + relu", ())
    monkeypatch.setattr(lines, "_ENDLESS_LINE", 100_000)
    (note,) = read(tmp_path / "b.log", BUILD + "\0" * 1_000_000).notes
    assert (note.severity.value, "has a line of more than" in note.message) == ("error", True)


FILLERS = (
    " ",
    "(",
    " (a",
    " -> ",
    ", Tactic: 1, ",
    " Host Persistent: 1",
    "[ONNX Layer: ",
    "' (A): ",
    " with ",
    "{ ",
    "a:",
)
HEADS = (
    "",
    "Layers: ",
    '{"Layers"',
    "Name: a, LayerType: B, Inputs: [",
    "Layer(A): n, Tactic: 1, ",
    "Layer: ",
    "Layer '",
    "=== Profile (",
    "=== ",
    "Average on 10 runs ",
    "Tactic Name: ",
    "a Set Tactic Name: ",
    "Adding reformat layer: ",
    "Engine built in 1",
    "Loaded engine size: 1",
    "DLA supports only 1 subgraphs per DLA core. ",
    "Could not find any implementation for node ",
    "Input binding for ",
    "After ",
    "trtexec ",
    "2026-11-21 10:00:00 [W:onnxruntime:",
    "Nov 21 10:00:00 ",
    "a-1 |",
)


@pytest.mark.parametrize("filler", FILLERS)
def test_no_line_takes_long(tmp_path: Path, filler: str) -> None:
    """A pattern that is quadratic in blanks took 1.4 s for 30 kB, and 20 s for 120 kB."""
    for head in HEADS:
        text = head + filler * (120_000 // len(filler))
        for before in (
            "",
            f"{STAMP} [V] [TRT] ",
            f"{STAMP} [E] [TRT] ",
            f"{STAMP} [I] ",
            f"{STAMP} [I] Layers:\n",
        ):
            began = time.process_time()
            find_failure(read(tmp_path / "a.log", f"{before}{text}\n"))
            assert time.process_time() - began < 0.4, (head, before)


def test_messages_of_a_kind_are_one(tmp_path: Path) -> None:
    many = "".join(
        f"{STAMP} [W] [TRT] {'ab'[place % 2]} number {place} 'x{place}'\n" for place in range(3000)
    )
    letters = "abcdefghijklmnopqrst"
    distinct = "".join(f"{STAMP} [E] {a}{b}{c} q\n" for a in letters for b in letters for c in letters)
    trace = read(tmp_path / "a.log", many + distinct)
    assert trace.count_messages() == {"W": 3000, "E": 8000}
    assert [message.count for message in trace.messages if message.severity == "W"] == [1500, 1500]
    assert len(trace.messages) <= 2001


def test_a_log_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    trace = read(path, BUILD)
    assert read_log(path) is trace
    path.write_text(BUILD + "one more line\n")
    assert read_log(path).lines == trace.lines + 1
