"""Logs of every producer, behind the prefixes of other programs, packed, wide, and with two streams in one file."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from log_kit import (
    BUILD,
    BUILD_84,
    STAMP,
    content,
    needs_logs,
    number,
    read,
    with_prefix,
)
from trex_tui.artifacts.kinds import FileKind, recognize
from trex_tui.buildlog.lines import parse_prefix
from trex_tui.buildlog.reader import read_log

DATE = "2026-11-21 10:00:00,123"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    return content(read(tmp_path_factory.mktemp("plain") / "a.log", BUILD))


def test_the_small_log(plain: dict[str, object]) -> None:
    assert plain["tuned"] == "conv + relu"
    formats = (("Float(4,2,1)", "Half(4,2:8,1)"), ("Half(4,2:8,1)",), "CaskConvolution", number(2))
    assert plain["formats"] == [formats]
    assert plain["tactics"] == [
        (number(1), "kernel_a", 0.5),
        (number(2), "kernel b numSplitK: 1", 0.25),
        (number(4), None, 0.75),
    ]
    assert plain["outcomes"] == [
        ("CaskConvolution", "timed", 1.5, 1),
        ("CudnnConvolution", "no valid tactic", None, 0),
    ]
    assert plain["messages"] == [("W", 2, "Some thing in layer 7 is odd")]
    assert plain["options"] == {"Precision": "FP32+FP16", "Input build shape": "a=1x1, b=2x2"}
    assert plain["status"] == [("8.6.1", "PASSED")]


# --- what relays add ---------------------------------------------------------------------------------------------------

RELAYS: dict[str, Callable[[str, int], str]] = {
    "compose": lambda _, __: "trt-build-1     |  ",
    "compose of one digit": lambda _, __: "trt_1    | ",
    "Kubernetes": lambda level, place: (
        f"2026-11-21T10:00:00.{place:09}Z {'stderr' if level == 'WARNING' else 'stdout'} F "
    ),
    "GitLab": lambda level, place: f"2026-11-21T10:00:00.{place:06}Z 01{'E' if level == 'WARNING' else 'O'} ",
    "GitHub": lambda _, place: f"2026-11-21T10:00:00.{place:07}Z ",
    "journald": lambda _, place: f"Nov {place % 20 + 1:>2} 10:00:00 orin trtexec[4242]: ",
    "streams": lambda level, _: f"[{'stderr' if level == 'WARNING' else 'stdout'}] ",
    "indentation": lambda _, __: "        ",
    "quotation": lambda _, __: "> ",
}


@pytest.mark.parametrize("name", RELAYS)
def test_relays(tmp_path: Path, plain: dict[str, object], name: str) -> None:
    trace = read(tmp_path / "a.log", with_prefix(BUILD, RELAYS[name]))
    assert content(trace) == plain
    assert not trace.notes
    assert trace.lines == BUILD.count("\n")
    # A log behind another that has no prefix.
    both = read(tmp_path / "a.log", BUILD.replace("conv", "old") * 40 + with_prefix(BUILD, RELAYS[name]))
    assert [note.message for note in both.notes] == ["holds 41 builds; the last one is shown"]
    assert both.tunings[-1].name == "conv + relu"


@pytest.mark.parametrize("name", ["compose", "GitHub"])
def test_lines_of_other_programs_behind_a_relay(tmp_path: Path, plain: dict[str, object], name: str) -> None:
    other = {"compose": "web-1           |  GET /20\n", "GitHub": "##[group]Run trtexec\n"}[name]
    text = with_prefix(BUILD, RELAYS[name]).replace("\n", f"\n{other}")
    assert content(read(tmp_path / "a.log", text)) == plain


# --- producers ---------------------------------------------------------------------------------------------------------

PRODUCERS: dict[str, Callable[[str], str]] = {
    "trtexec": lambda level: f"{STAMP} [{level[0].replace('D', 'V')}] [TRT] ",
    "trt.Logger": lambda level: f"{STAMP} [TRT] [{level[0].replace('D', 'V')}] ",
    "trt.Logger without stamps": lambda level: f"[TRT] [{level[0].replace('D', 'V')}] ",
    "trtexec without stamps": lambda level: f"[{level[0].replace('D', 'V')}] [TRT] ",
    "TensorRT 7": lambda level: f"[TensorRT] {level.replace('DEBUG', 'VERBOSE')}: ",
    "DeepStream": lambda level: f"{level}: [TRT]: ",
    "Torch-TensorRT": lambda level: f"{level}: [Torch-TensorRT TensorRT Conversion Context] - ",
    "torch_tensorrt": lambda level: f"{level}:torch_tensorrt [TensorRT Conversion Context]:",
    "ONNX Runtime": lambda level: (
        "2026-11-21 10:00:00.112233445 [W:onnxruntime:Default, tensorrt_execution_provider.h:86 log] "
        f"[2026-11-21 09:00:00 {level.replace('DEBUG', 'VERBOSE'):>7}] "
    ),
    "ONNX Runtime in a program's logger": lambda level: (
        f"W onnxruntime: [2026-11-21 10:00:00 {level.replace('DEBUG', 'VERBOSE'):>7}] "
    ),
    "basicConfig": lambda level: f"{level}:TRT:",
    "dated": lambda level: f"{DATE} - trt - {level} - ",
    "in brackets": lambda level: f"[{DATE}] [{level}] [trt] ",
    "in brackets, small": lambda level: f"[{DATE}] [{level.lower()}]  ",
    "padded": lambda level: f"{level:<8} ",
    "dated and padded": lambda level: f"{DATE} {level:<8} [relay.py:42] ",
    "loguru": lambda level: f"2026-11-21 10:00:00.123 | {level:<8} | relay:main:42 - ",
    "glog": lambda level: f"{level[0]}1121 10:00:00.123456  4711 relay.cc:12] ",
    "none": lambda _: "",
}
"""Producer -> what it puts before a message of a level."""


@pytest.mark.parametrize("name", PRODUCERS)
def test_producers(tmp_path: Path, plain: dict[str, object], name: str) -> None:
    """Messages of the library; a list of layers is one message of many lines."""
    levels = {"V": "DEBUG", "W": "WARNING"}
    text = ""
    for line in BUILD.splitlines():
        prefix = parse_prefix(line)
        if prefix.is_library:
            text += f"{PRODUCERS[name](levels[prefix.severity])}{prefix.message}\n"
        elif line.startswith("Layer("):
            text += f"{line}\n"
    path = tmp_path / "a.log"
    for end in ("\n", "\r\n"):
        trace = read(path, text.replace("\n", end))
        found = content(trace)
        wanted = dict(plain)
        if name == "none":
            wanted["messages"] = []  # nothing marks a warning
        for key in ("tuned", "formats", "tactics", "outcomes", "passes", "messages", "layers"):
            assert found[key] == wanted[key], key
        assert not trace.notes


def test_time_passes_where_a_logger_states_the_date(tmp_path: Path) -> None:
    lines_of_logger = [
        f"2026-11-21 10:00:{second:02},000 - trt - INFO - layer {second} done" for second in range(30)
    ]
    assert read(tmp_path / "a.log", "\n".join(lines_of_logger) + "\n").stated_seconds == 29.0
    assert read(tmp_path / "b.log", "INFO:trt:layer done\n" * 3).stated_seconds is None


@pytest.mark.parametrize(
    "text", ["INFO: Tactic: a plan Time: soon\n", "Registered plugin creator - ::X\n" * 3]
)
def test_text_that_is_no_log(tmp_path: Path, text: str) -> None:
    trace = read(tmp_path / "a.txt", text)
    assert (trace.tunings, trace.passes, trace.messages) == ((), (), ())


# --- bytes -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        BUILD.replace("\n", "\r\n"),
        "".join(f"\x1b[33m{line}\x1b[0m\n" for line in BUILD.splitlines()),
        "\ufeff" + BUILD,
        "Starting the build\n\n" + BUILD + "done\n",
    ],
    ids=["crlf", "colours", "mark", "shell"],
)
def test_terminals_and_shells(tmp_path: Path, plain: dict[str, object], text: str) -> None:
    assert content(read(tmp_path / "a.log", text)) == plain


@pytest.mark.parametrize("form", ["gzip", "two members", "utf-16", "gzip of utf-16"])
def test_packed_and_wide(tmp_path: Path, plain: dict[str, object], form: str) -> None:
    data = BUILD.encode("utf-16" if "utf-16" in form else "utf-8")
    if form == "two members":
        data = gzip.compress(data[:1000]) + gzip.compress(data[1000:]) + b"\0" * 512
    elif "gzip" in form:
        data = gzip.compress(data)
    assert content(read(tmp_path / "a.log", data)) == plain


def test_a_bomb_and_a_damaged_gzip(tmp_path: Path) -> None:
    bomb = gzip.compress(b"a line \n" * (1 << 20))
    assert "unpacks to more than 250 times its size" in read(tmp_path / "a.log", bomb).notes[0].message
    packed = gzip.compress(BUILD.encode())
    cut, damaged = packed[:-30], packed[:200] + b"\0" * 40 + packed[240:]
    for data in (cut, damaged):
        note = read(tmp_path / "a.log", data).notes[0]
        assert (note.severity.value, "compression" in note.message) == ("error", True)


@given(st.lists(st.sampled_from(BUILD.splitlines()) | st.text(), max_size=30))
def test_any_prefix_is_survived(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    path = tmp_path_factory.mktemp("any") / "a.log"
    for before in ("", "{", f"{STAMP} ", "INFO ", "a-1  | "):
        data = "\n".join(before + part for part in parts).encode("utf-8", errors="surrogatepass")
        assert read(path, data).lines <= data.count(b"\n") + 1


# --- two streams in one file -------------------------------------------------------------------------------------------

_STDERR = re.compile(rb"\[[\d/:-]{19}\] (?:\[TRT\] )?\[[WEF]\]")


def test_a_warning_in_the_middle_of_a_line(tmp_path: Path, plain: dict[str, object]) -> None:
    warning = f"{STAMP} [W] [TRT] Some thing in layer 7 is odd"
    without = BUILD.replace(f"{warning}\n", "")
    for cut in ("Tactic Name: ker", "Timing Ru", "Chose Runn", "After vert", "Layer(Cask", "Engine bui"):
        found = content(read(tmp_path / "a.log", without.replace(cut, f"{cut}{warning}\n", 1)))
        assert sum(message[1] for message in found.pop("messages")) == 2, cut  # type: ignore[attr-defined]
        assert sorted(found.pop("tactics")) == plain["tactics"], cut  # type: ignore[call-overload]
        assert found == {key: plain[key] for key in found}, cut


def test_stamps_of_several_messages_in_one_line(tmp_path: Path) -> None:
    """A real form (onnx/tensorflow-onnx#1632): stdout has the stamps, stderr the messages."""
    switched = "[W] [TRT] DLA only supports FP16 and Int8 precision type. "
    switched += "Switching (Unnamed Layer* {}) [{}] device type to GPU."
    text = "\n".join(
        (
            f"{STAMP} {STAMP} {STAMP} " + switched.format(95, "Shape"),
            switched.format(96, "Constant"),
            "[W] [TRT] (Unnamed Layer* 97) [Concatenation]: DLA only supports concatenation on the C dimension.",
            switched.format(97, "Concatenation"),
            "[W] [TRT] Default DLA is enabled but layer net/split is not supported on DLA, falling back to GPU.",
        )
    )
    trace = read(tmp_path / "a.log", text + "\n")
    assert trace.dla.by_reason == {
        ("DLA has FP16 and INT8 only", "SHAPE"): 1,
        ("DLA has FP16 and INT8 only", "CONSTANT"): 1,
        ("DLA has FP16 and INT8 only", "CONCATENATION"): 1,
        ("unsupported on DLA", ""): 1,
    }
    assert "on the C dimension" in trace.dla.fallbacks[2].detail
    assert not trace.notes


@needs_logs
@pytest.mark.parametrize("block", [309, 512, 4096])  # of 309 the first half is a prefix without `[TRT]`
def test_blocks_of_any_size_give_the_same(tmp_path: Path, block: int) -> None:
    """stdout is written in blocks, stderr at once."""
    out, buffer = bytearray(), b""
    for line in BUILD_84.read_bytes().splitlines(keepends=True):
        if _STDERR.match(line):
            out += line
        else:
            buffer += line
            size = len(buffer) - len(buffer) % block
            out, buffer = out + buffer[:size], buffer[size:]
    whole, trace = read_log(BUILD_84), read(tmp_path / "mixed.log", bytes(out + buffer))
    for found in (whole, trace):
        assert (len(found.tunings), len(found.passes), found.notes) == (
            len(whole.tunings),
            len(whole.passes),
            (),
        )
        assert sum(tuning.tactic_count for tuning in found.tunings) == 178
        assert found.count_messages() == whole.count_messages()
    assert [layer.raw for layer in trace.layer_lists[0].layers] == [
        layer.raw for layer in whole.layer_lists[0].layers
    ]


def test_a_half_without_its_rest_is_no_number(tmp_path: Path) -> None:
    """A warning in the middle of a time, and another stamped line, or nothing, where the rest should be."""
    tactic = f"{STAMP} [V] [TRT] Tactic: 0x0000000000000001 Time: 0."
    warnings = f"{STAMP} [W] [TRT] one\n{STAMP} [E] two\n"
    heads = f"{STAMP} [V] [TRT] *************** Autotuning format combination: Float(1) -> Half(1) ***************\n"
    heads += f"{STAMP} [V] [TRT] --------------- Timing Runner: conv (CaskConvolution)\n"
    other = f"{STAMP} [V] [TRT] Tactic: 0x0000000000000002 Time: 0.5\n"
    for rest, times, notes in (
        ("25\n", [0.25], 0),
        ("", [], 1),
        (other, [0.5], 1),
        (f"25\n{other}", [0.25, 0.5], 0),
        (f"25{STAMP} [W] [TRT] three\n\n", [0.25], 0),
        ("   the second line of an error\n25\n", [0.25], 0),
    ):
        trace = read(tmp_path / "a.log", f"{heads}{tactic}{warnings}{rest}")
        found = [
            tactic.time_ms
            for tuning in trace.tunings
            for trial in tuning.trials()
            for tactic in trial.tactics
        ]
        assert found == times
        assert len(trace.notes) == notes
        assert trace.messages[0].text == "one"


@pytest.mark.parametrize("between", ["\\n", "\\r\\n", " / "])
def test_a_report_has_the_log_in_one_line(tmp_path: Path, between: str) -> None:
    banner = "&&&& RUNNING TensorRT.trtexec # trtexec"
    whole = f"{banner}\n{STAMP} [E] one\n{STAMP} [E] two\n{banner.replace('RUNNING', 'FAILED')}"
    expected = read(tmp_path / "a.log", whole + "\n")
    for text in (whole.replace("\n", between), f"said:\n{whole.replace(chr(10), between)}\n"):
        trace = read(tmp_path / "b.log", text)
        assert [message.text for message in trace.messages] == ["one", "two"]
        assert [run.status for run in trace.runs] == [run.status for run in expected.runs] == ["FAILED"]


# --- one recogniser ----------------------------------------------------------------------------------------------------

PARTS = {
    "TensorRT 7": "[TensorRT] INFO: Detected 1 inputs\n[TensorRT] ERROR: Network must have at least one output\n",
    "Torch-TensorRT": "DEBUG: [Torch-TensorRT] - Layers:\nName: a, LayerType: B, Inputs: [], Outputs: []\n",
    "torch_tensorrt": "WARNING:torch_tensorrt [TensorRT Conversion Context]:Running layernorm in FP16\n",
    "DeepStream": "INFO: [TRT]: [MemUsageChange] Init CUDA: CPU +1, GPU +0, now: CPU 5, GPU 5 (MiB)\n",
    "jetson-inference": "[TRT]    Loaded engine size: 3 MiB\n",
    "ONNX Runtime": "E onnxruntime: [2026-11-21 10:00:00   ERROR] Error Code: 9: Skipping tactic 0x1 [a.h:8 log]\n",
    "Polygraphy": "[!] fp16 in CreateConfig is not available on TensorRT version 11.2.1.2.\n",
    "a quoted layer": "> Name: a, LayerType: B, Inputs: [], Outputs: []\n",
    "memory of Torch-TensorRT": "INFO:torch_tensorrt [TensorRT Conversion Context]:Total Host Persistent Memory: 352\n",
    "Triton": "I0421 02:31:36.062498 89829 logging.cc:49] Loaded engine size: 72 MiB\n",
    "an error alone": "[E] IBuilderConfig::getFlag: Error Code 3: API Usage Error (Parameter check failed)\n",
    "averages": "Average on 10 runs - GPU latency: 2.1 ms - Host latency: 2.2 ms (enqueue 2.1 ms)\n",
    "compute time": "GPU Compute Time: min = 28.4406 ms, max = 30.3124 ms, mean = 29.2394 ms, median = 29.2378 ms\n",
    "summary of TensorRT 7": f"{STAMP} [I] Host Latency\n{STAMP} [I] min: 638 ms (end to end 638 ms)\n",
    "banner": "&&&& PASSED TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=a.onnx --fp16\n",
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_are_recognised_as_logs(tmp_path: Path, name: str) -> None:
    path = tmp_path / "part.log"
    trace = read(path, PARTS[name])
    assert recognize(path).kind is FileKind.BUILD_LOG
    assert not trace.is_empty
