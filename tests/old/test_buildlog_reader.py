"""Logs as they come: cut off, packed, behind foreign prefixes, mixed, old, hostile."""

from __future__ import annotations

import gzip
import random
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import ARTIFACTS
from trex_tui.old.buildlog import BuildTrace, lines, read_build_log, reader
from trex_tui.old.buildlog.build_trace import DumpForm
from trex_tui.old.buildlog.layer_tuning import SkipReason, TuningOutcome

LOGS = ARTIFACTS / "logs"
REAL = sorted(LOGS.glob("*.log")) if LOGS.is_dir() else []
STAMP = "[11/21/2026-10:00:00]"

BUILD = f"""\
&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx --verbose
{STAMP} [I] === Build Options ===
{STAMP} [I] Precision: FP32+FP16
{STAMP} [I] Input build shape: a=1x1
{STAMP} [I] Input build shape: b=2x2
{STAMP} [I]
{STAMP} [V] [TRT] Original: 3 layers
{STAMP} [V] [TRT] Running: ConvReluFusion on conv
{STAMP} [V] [TRT] ConvReluFusion: Fusing conv with relu
{STAMP} [V] [TRT] After vertical fusions: 2 layers
{STAMP} [V] [TRT] =============== Computing costs for
{STAMP} [V] [TRT] *************** Autotuning format combination: Float(4,2,1), Half(4,2:8,1) -> Half(4,2:8,1) ***************
{STAMP} [V] [TRT] --------------- Timing Runner: conv + relu (CaskConvolution[0x80000009])
{STAMP} [V] [TRT] Tactic Name: kernel_a Tactic: 0x0000000000000001 Time: 0.5
{STAMP} [V] [TRT] Tactic Name: kernel b numSplitK: 1 Tactic: 0x0000000000000002 Time: 0.25
{STAMP} [V] [TRT] Tactic: 0x0000000000000003 skipped. Scratch requested: 4096, available: 1024
{STAMP} [V] [TRT] Tactic: 0x0000000000000004 Time: 0.75
{STAMP} [V] [TRT] conv + relu (CaskConvolution[0x80000009]) profiling completed in 1.5 seconds. Fastest Tactic: 0x0000000000000002 Time: 0.25
{STAMP} [V] [TRT] --------------- Timing Runner: conv + relu (CudnnConvolution[0x80000000])
{STAMP} [V] [TRT] CudnnConvolution has no valid tactics for this config, skipping
{STAMP} [V] [TRT] >>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: 0x0000000000000002
{STAMP} [W] [TRT] Some thing in layer 7 is odd
{STAMP} [W] [TRT] Some thing in layer 8 is odd
{STAMP} [V] [TRT] Engine Layer Information:
Layer(CaskConvolution): conv + relu, Tactic: 0x0000000000000002, in (Float[-1,4]) -> out (Half[-1,4:8])
{STAMP} [I] Engine built in 2.5 sec.
&&&& PASSED TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx --verbose
"""  # noqa: E501 - as printed


def read(path: Path, text: str | bytes) -> BuildTrace:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_build_log(path)


def told(trace: BuildTrace) -> dict[str, object]:
    """What a log tells, without where."""
    (tuning,) = trace.tunings
    return {
        "tuned": tuning.name,
        "formats": [
            (one.inputs, one.outputs, one.chosen_runner, one.chosen_id) for one in tuning.combinations
        ],
        "tactics": [(one.id, one.name, one.time_ms) for trial in tuning.trials() for one in trial.tactics],
        "outcomes": [(one.runner, one.outcome, one.seconds, len(one.skipped)) for one in tuning.trials()],
        "passes": [
            (one.name, one.layers, [(step.rule, step.layer, step.other) for step in one.fusions])
            for one in trace.passes
        ],
        "messages": [(one.severity, one.count, one.text) for one in trace.messages],
        "dump": [(one.name, one.layer_type, one.tactic_id, one.raw) for one in trace.dumps[0].layers],
        "phases": [(one.kind, one.seconds) for one in trace.phases],
        "options": trace.options.build,
        "status": [(run.tensorrt_version, run.status) for run in trace.runs],
    }


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return told(read(tmp_path_factory.mktemp("plain") / "a.log", BUILD))


def test_what_it_tells(plain: dict[str, object]) -> None:
    assert plain["tuned"] == "conv + relu"
    assert plain["formats"] == [(("Float(4,2,1)", "Half(4,2:8,1)"), ("Half(4,2:8,1)",), "CaskConvolution", 2)]
    assert plain["tactics"] == [(1, "kernel_a", 0.5), (2, "kernel b numSplitK: 1", 0.25), (4, None, 0.75)]
    assert plain["outcomes"] == [
        ("CaskConvolution", TuningOutcome.TIMED, 1.5, 1),
        ("CudnnConvolution", TuningOutcome.NO_VALID_TACTIC, None, 0),
    ]
    assert plain["messages"] == [("W", 2, "Some thing in layer 7 is odd")]
    assert plain["options"] == {"Precision": "FP32+FP16", "Input build shape": "a=1x1, b=2x2"}
    assert plain["status"] == [("8.6.1", "PASSED")]


def prefixed(prefix: Callable[[int], str]) -> str:
    return "".join(f"{prefix(number)}{line}\n" for number, line in enumerate(BUILD.splitlines()))


@pytest.mark.parametrize(
    "text",
    [
        BUILD.replace("\n", "\r\n"),
        BUILD.replace("[V] [TRT]", "[TRT] [V]").replace("[W] [TRT]", "[TRT] [W]"),
        prefixed(lambda _: "trt_1    | "),
        prefixed(lambda number: f"2026-11-21T10:00:{number:02}.{number * 77777:09}Z "),
        prefixed(lambda number: f"Nov {number % 20 + 1:>2} 10:00:00 orin trtexec[4242]: "),
        "".join(f"\x1b[33m{line}\x1b[0m\n" for line in BUILD.splitlines()),
        "\ufeff" + BUILD,
        "Starting the build\n\n" + BUILD + "done\n",
    ],
    ids=["crlf", "python", "compose", "docker", "journald", "colours", "mark", "shell"],
)
def test_foreign_dress(tmp_path: Path, plain: dict[str, object], text: str) -> None:
    assert told(read(tmp_path / "a.log", text)) == plain


@pytest.mark.parametrize("form", ["gzip", "two members", "utf-16", "gzip of utf-16"])
def test_packed_and_wide(tmp_path: Path, plain: dict[str, object], form: str) -> None:
    data = BUILD.encode("utf-16" if "utf-16" in form else "utf-8")
    if form == "two members":
        data = gzip.compress(data[:1000]) + gzip.compress(data[1000:]) + b"\0" * 512
    elif "gzip" in form:
        data = gzip.compress(data)
    assert told(read(tmp_path / "a.log", data)) == plain


def test_two_streams_in_one_line(tmp_path: Path, plain: dict[str, object]) -> None:
    """`tee` of stdout and stderr: a warning in the middle of another line, which goes on below."""
    warning = f"{STAMP} [W] [TRT] Some thing in layer 7 is odd"
    without = BUILD.replace(f"{warning}\n", "")
    for cut in ("Tactic Name: ker", "Timing Ru", "Chose Runn", "After vert", "Layer(Cask", "Engine bui"):
        mixed = without.replace(cut, f"{cut}{warning}\n", 1)
        assert mixed != without
        found = told(read(tmp_path / "a.log", mixed))
        found["messages"], tactics = sorted(found["messages"]), sorted(found["tactics"])  # type: ignore[call-overload]
        assert tactics == sorted(plain["tactics"]), cut  # type: ignore[call-overload]
        assert {key: one for key, one in found.items() if key not in ("tactics", "messages")} == {
            key: one for key, one in plain.items() if key not in ("tactics", "messages")
        }, cut
        assert sum(one[1] for one in found["messages"]) == 2, cut  # type: ignore[union-attr]


def test_signed_decimal_tactics_of_8_0(tmp_path: Path) -> None:
    text = f"""\
{STAMP} [V] [TRT] *************** Autotuning Reformat:Float(1536,3,1) -> Half(1536,3,1) ***************
{STAMP} [V] [TRT] --------------- Timing Runner: Optimizer Reformat (Reformat)
{STAMP} [V] [TRT] Tactic: 1002 Time: 0.008192
{STAMP} [V] [TRT] Tactic: 0 Time: 0.006144
{STAMP} [V] [TRT] Fastest Tactic: 0 Time: 0.006144
{STAMP} [V] [TRT] *************** Autotuning format combination: Float(1) -> Float(3) ***************
{STAMP} [V] [TRT] --------------- Timing Runner: conv (CaskConvolution)
{STAMP} [V] [TRT] conv Set Tactic Name: volta_scudnn_128x64 Tactic: -9153228964338181824
{STAMP} [V] [TRT] Tactic: -9153228964338181824 Time: 0.02
{STAMP} [V] [TRT] Tactic: 7144526460361122478 Time: 0.03
{STAMP} [V] [TRT] Fastest Tactic: -9153228964338181824 Time: 0.02
{STAMP} [V] [TRT] >>>>>>>>>>>>>>> Chose Runner Type: CaskConvolution Tactic: -9153228964338181824
{STAMP} [V] [TRT] *************** Autotuning format combination: Half(1) -> Half(3) ***************
{STAMP} [V] [TRT] --------------- Timing Runner: pool (TiledPooling)
{STAMP} [V] [TRT] TiledPooling has no valid tactics for this config, skipping
{STAMP} [V] [TRT] Layer(CaskConvolution): conv, Tactic: -9153228964338181824, x:0[Float(-2,1)] -> y[Float(-2,3)]
"""
    trace = read(tmp_path / "a.log", text)
    assert [one.name for one in trace.tunings] == [
        "conv",
        "pool",
    ]  # nothing but the runner tells that another layer begins
    (combination,) = trace.tunings[0].combinations
    wanted = -9153228964338181824 % 2**64
    assert (combination.chosen_id, combination.chosen_ms) == (wanted, 0.02)
    chosen = [one.name for one in combination.runners[0].tactics if one.id == wanted]
    assert chosen == ["volta_scudnn_128x64"]
    assert [one.name for one in combination.runners[0].tactics] == ["volta_scudnn_128x64", None]
    assert trace.reformat_costs[0].time_ms == 0.006144
    assert trace.dump is not None
    assert (trace.dump.layers[0].tactic_id, trace.dump.layers[0].raw["Inputs"][0]["Dimensions"]) == (
        wanted,
        [-1, 1],
    )


def test_dla(tmp_path: Path) -> None:
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
    assert dla.dla_layers == ("{ForeignNode[Conv_0...Relu_9]}",)
    assert dla.gpu_layers == ("Conv_10", "PWN(Sigmoid_1)")
    assert [(one.layer, bool(one.reason)) for one in dla.fallbacks] == [
        ("mul", True),
        ("/model.24/Constant_1", False),
    ]


def test_memory_that_was_not_there(tmp_path: Path) -> None:
    text = f"""\
{STAMP} [V] [TRT] =============== Computing costs for conv
{STAMP} [V] [TRT] *************** Autotuning format combination: Float(1) -> Float(1) ***************
{STAMP} [V] [TRT] --------------- Timing Runner: conv (CaskConvolution[0x1])
{STAMP} [W] [TRT] Tactic Device request: 4096MB Available: 307MB. Device memory is insufficient to use tactic.
{STAMP} [W] [TRT] Skipping tactic 3 due to insufficient memory on requested size of 4294967296 detected for tactic 0x0000000000000004.
{STAMP} [W] [TRT] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 2688 detected for tactic 0x0000000000000000.
"""  # noqa: E501 - as printed
    skipped = read(tmp_path / "a.log", text).tunings[0].skipped
    assert [(one.reason, one.id, one.requested_bytes) for one in skipped] == [
        (SkipReason.DEVICE_MEMORY, 4, 4096 << 20),
        (SkipReason.WORKSPACE, 0, 2688),
    ]


MYELIN_SKIPS = f"""\
{STAMP} [V] [TRT] =============== Computing costs for net
{STAMP} [V] [TRT] *************** Autotuning format combination: Float(1) -> Float(1) ***************
{STAMP} [V] [TRT] --------------- Timing Runner: net (Myelin[0x80000023])
{STAMP} [V] [TRT]  (foreignNode) [pass.cpp:2131: run_passes] Exceeded mem budget of 2688. Need 852992
{STAMP} [V] [TRT]  (foreignNode) [pass.cpp:2131: run_passes] Exceeded mem budget of 2688. Need 50176
{STAMP} [W] [TRT] UNSUPPORTED_STATE: Skipping tactic 0 due to insufficient memory on requested size of 2688 detected for tactic 0x0000000000000000.
{STAMP} [W] [TRT] UNSUPPORTED_STATE: Skipping tactic 1 due to insufficient memory on requested size of 2688 detected for tactic 0x0000000000000001.
{STAMP} [V] [TRT]  (foreignNode) [pass.cpp:2131: run_passes] Exceeded mem budget of 4096. Need 50176
{STAMP} [W] [TRT] UNSUPPORTED_STATE: Skipping tactic 2 due to insufficient memory on requested size of 2688 detected for tactic 0x0000000000000002.
{STAMP} [V] [TRT] --------------- Timing Runner: net (CaskConvolution[0x1])
{STAMP} [W] [TRT] Skipping tactic 3 due to insuficient memory on requested size of 2243 detected for tactic 4.
"""  # noqa: E501 - as printed


def test_what_a_skipped_tactic_needed(tmp_path: Path) -> None:
    """A need belongs to the skip right after it that names its budget, and to no other."""
    skipped = read(tmp_path / "a.log", MYELIN_SKIPS).tunings[0].skipped
    assert [(one.reason, one.id, one.requested_bytes, one.available_bytes) for one in skipped] == [
        (SkipReason.WORKSPACE, 0, 852992, 2688),
        (SkipReason.WORKSPACE, 1, None, 2688),
        (SkipReason.WORKSPACE, 2, None, 2688),
        (SkipReason.DEVICE_MEMORY, 4, 2243 << 20, None),
    ]


def test_memory_of_layers_in_the_words_of_each_release(tmp_path: Path) -> None:
    text = f"""\
{STAMP} [V] [TRT] Layer: conv Host Persistent: 1 Device Persistent: 2 Scratch Memory: 3
{STAMP} [V] [TRT] Layer: conv Host Persistent: 4 bytes Device Persistent: 5 bytes Scratch Memory: 6 bytes
{STAMP} [V] [TRT] Layer: conv1 + relu1 HostPersistent: 512 DevicePersistent: 3328
{STAMP} [V] [TRT] Layer: Conv_37 Weights: 0 HostPersistent: 1664 DevicePersistent: 271360
{STAMP} [V] [TRT] Layer: a HostPersistent: 1 b HostPersistent: 7 DevicePersistent: 8
{STAMP} [V] [TRT] Layer: cut HostPersistent: 7 Device
"""
    found = read(tmp_path / "a.log", text).layer_memory
    assert [
        (one.line, one.name, one.host_persistent_bytes, one.device_persistent_bytes, one.scratch_bytes)
        for one in found
    ] == [
        (1, "conv", 1, 2, 3),
        (2, "conv", 4, 5, 6),
        (3, "conv1 + relu1", 512, 3328, None),
        (4, "Conv_37", 1664, 271360, None),
        (5, "a HostPersistent: 1 b", 7, 8, None),
    ]


def test_a_log_that_begins_in_the_middle(tmp_path: Path) -> None:
    place = BUILD.index(f"{STAMP} [V] [TRT] Tactic Name: kernel_a")
    (tuning,) = read(tmp_path / "a.log", BUILD[place:]).tunings
    assert [one.id for trial in tuning.trials() for one in trial.tactics] == [1, 2, 4]


def test_several_builds_show_the_last(tmp_path: Path) -> None:
    banner, options = BUILD.split("\n", 1)
    second = f"{banner}\n{STAMP} [I] Start parsing network model.\n{options}"
    first = second.replace("conv", "old")
    trace = read(tmp_path / "a.log", first + second)
    assert [one.name for one in trace.tunings] == ["conv + relu"]
    assert [one.message for one in trace.diagnostics] == ["holds 2 builds; the last one is shown"]
    assert [run.status for run in trace.runs] == ["PASSED", "PASSED"]


def facts(trace: BuildTrace) -> list[tuple[object, ...]]:
    """All that is timed, in order."""
    return [
        (tuning.name, tuning.strategy, combination.text, trial.runner, tactic)
        for tuning in trace.tunings
        for combination in tuning.combinations
        for trial in combination.runners
        for tactic in trial.tactics
    ]


@pytest.fixture(scope="module")
def wholes() -> dict[Path, tuple[bytes, BuildTrace]]:
    if not REAL:
        pytest.skip(f"no real logs at {LOGS}")
    return {path: (path.read_bytes(), read_build_log(path)) for path in REAL}


@pytest.fixture(scope="module")
def cut_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cut") / "cut.log"


@given(part=st.integers(0, 10**9), which=st.integers(0, 100), packed=st.booleans())
def test_cut_off_anywhere_keeps_what_stands_before(
    wholes: dict[Path, tuple[bytes, BuildTrace]], cut_file: Path, part: int, which: int, packed: bool
) -> None:
    path = REAL[which % len(REAL)]
    data, whole = wholes[path]
    size = part % (len(data) + 1)
    cut = data[:size]
    if packed:
        cut_file.write_bytes(gzip.compress(cut, 1)[:-8])
    else:
        cut_file.write_bytes(cut)
    trace = read_build_log(cut_file)
    assert facts(trace) == facts(whole)[: len(facts(trace))]
    for name in ("phases", "memory", "layer_memory", "reformats", "bindings"):
        part_of, all_of = getattr(trace, name), getattr(whole, name)
        assert part_of == all_of[: len(part_of)]
    finished = cut[: cut.rfind(b"\n") + 1]
    times = sum(b"] Tactic" in line and b" Time: " in line for line in finished.splitlines())
    rows = len(re.findall(rb"\(foreignNode\) +\d+, 0\.", finished))
    reformats = sum(one.combination.tactic_count for one in trace.reformat_costs)
    assert sum(one.tactic_count for one in trace.tunings) + reformats == times + rows
    assert (
        sum(len(one.fusions) for one in trace.passes) == len(trace.fusions) == finished.count(b"] Running: ")
    )
    if trace.dump is not None and trace.dump.form is DumpForm.BUILDER:
        assert len(trace.dump.layers) == finished.count(b"\nLayer(")
    assert trace.lines == finished.count(b"\n") + cut[len(finished) :].startswith(b"&&&& ")


@given(
    st.lists(
        st.one_of(
            st.sampled_from(BUILD.splitlines()),
            st.text(max_size=80),
            st.builds(lambda line, cut: line[cut:], st.sampled_from(BUILD.splitlines()), st.integers(0, 120)),
            st.builds(lambda text: f"{STAMP} [V] [TRT] {text}", st.text(max_size=60)),
            st.builds(lambda text: f"{STAMP} [W] {text}", st.text(max_size=60)),
        ),
        max_size=40,
    )
)
def test_any_lines_in_any_order_are_survived(cut_file: Path, parts: list[str]) -> None:
    text = "\n".join(parts).encode("utf-8", errors="surrogatepass")
    trace = read(cut_file, text)
    for tuning in trace.tunings:
        assert (tuning.seconds or 0) >= 0
        for combination in tuning.combinations:
            assert combination.text
            assert combination.chosen_ms is None or combination.chosen_ms >= 0


@given(st.binary(max_size=4000))
def test_bytes_are_survived(cut_file: Path, data: bytes) -> None:
    read(cut_file, data)
    read(cut_file, b"\x1f\x8b\x08\0\0\0\0\0\0\3" + data)
    read(cut_file, gzip.compress(BUILD.encode())[: len(data)] + data)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_damaged_bytes_in_a_real_log(tmp_path: Path, path: Path) -> None:
    source = random.Random(7)
    data = bytearray(path.read_bytes())
    for _ in range(len(data) // 200):
        data[source.randrange(len(data))] = source.randrange(256)
    trace = read(tmp_path / "a.log", bytes(data))
    assert trace.lines > 50


def test_endless_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: dict[str, object]) -> None:
    for module in (lines, reader):
        monkeypatch.setattr(module, "LONGEST_LINE", 100_000)
    endless = f"{STAMP} [V] [TRT] " + "x" * 1_000_000 + "\n"
    trace = read(tmp_path / "a.log", endless + BUILD + endless)
    assert told(trace) == plain
    assert [one.message for one in trace.diagnostics] == [
        "has lines of more than 100000 characters (2), which were cut there"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "*************** Autotuning format combination: " + "(" * 20_000,
        "--------------- Timing Runner: " + " (a" * 20_000,
        "x [" + " -> " * 20_000 + "] got cached result: ",
        "Adding reformat layer: " + " (a) from b" * 10_000,
        "a: Fusing " + " with " * 20_000,
        "Layer(A): " + ", Tactic: 1, " * 10_000,
        "Layer: " + " Host Persistent: 1" * 10_000,
        "(foreignNode) Autotuning op " + "[ONNX Layer: " * 10_000,
        "Skipping tactic a due to " * 10_000,
        " (foreignNode)" + " 1, " * 20_000,
        "Set Tactic Name: " + " Tactic: 1" * 10_000,
        "Layer '" + "' (A): " * 10_000,
        "Layer '" * 20_000,
        "*************** Autotuning format combination: " + " -> a" * 30_000,
        "Layer(A): n, Tactic: 1, " + "a" * 150_000,
        "Layer(A): n, Tactic: 1, -> " + "a (" * 50_000,
        "Layer(A): n, Tactic: 1, -> " + "a[Half(" * 20_000 + ")]",
        "a: 1 available tactics, " * 8_000,
        "Engine built in " + "1" * 150_000 + "x",
        "Created engine with size: " + "1" * 150_000 + "x",
        "DLA supports only 1 subgraphs per DLA core. " * 5_000,
        "After " + ": 1 layers" * 20_000,
        "Input binding for " + " with dimensions 1" * 10_000,
    ],
)
def test_lines_made_to_take_long(tmp_path: Path, text: str) -> None:
    """Patterns that go back and forth over a line would take minutes here."""
    read(tmp_path / "a.log", f"{STAMP} [V] [TRT] {text}\n{STAMP} [W] [TRT] {text} DLA\n{STAMP} [I] {text}\n")
    inspected = (
        "Name: a, LayerType: B, Inputs: [" + "], Outputs: [" + "{ " * 20_000 + "}]" + ", A: [" * 20_000
    )
    read(tmp_path / "a.log", f"{STAMP} [I] Layers:\n{text}\n{inspected}\nBindings:\n{text}\n")


def test_messages_of_a_kind_are_one(tmp_path: Path) -> None:
    many = "".join(
        f"{STAMP} [W] [TRT] {'ab'[number % 2]} number {number} 'x{number}' 0x{number:x}\n"
        for number in range(5000)
    )
    distinct = "".join(
        f"{STAMP} [E] {'z' * (number // 50)}{chr(97 + number % 50 // 2)} y{'q' * (number % 2)}\n"
        for number in range(5000)
    )
    trace = read(tmp_path / "a.log", many + distinct)
    assert trace.count_messages() == {"W": 5000, "E": 5000}
    assert len([one for one in trace.messages if one.severity == "W"]) == 2
    assert len(trace.messages) <= 2001


def test_errors_are_kept_with_what_follows(tmp_path: Path) -> None:
    text = f"""\
{STAMP} [E] [TRT] ModelImporter.cpp:726: While parsing node number 3 [Foo -> "y"]:
    the plugin is not there
{STAMP} [E] Parsing model failed
&&&& FAILED TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=net.onnx
"""
    trace = read(tmp_path / "a.log", text)
    assert [one.text for one in trace.messages] == [
        'ModelImporter.cpp:726: While parsing node number 3 [Foo -> "y"]: the plugin is not there',
        "Parsing model failed",
    ]
    assert [run.status for run in trace.runs] == ["FAILED"]


def test_memory_does_not_grow_with_what_tells_nothing(tmp_path: Path) -> None:
    """Twenty times as many lines of the parser at work take no more memory: nothing of them is kept."""
    noise = "".join(f"{STAMP} [V] [TRT] Searching for input: tensor {number}\n" for number in range(2000))
    noise += "".join(f"{STAMP} [V] [TRT] layer {number} at work\n" for number in range(2000))
    peaks = []
    for times in (1, 20):
        path = tmp_path / f"{times}.log"
        path.write_text(BUILD + noise * times)
        read_build_log(path)  # what is imported and compiled on the way
        tracemalloc.start()
        trace = read_build_log(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert trace.lines == len(BUILD.splitlines()) + 4000 * times
    assert peaks[1] < 1.2 * peaks[0]
