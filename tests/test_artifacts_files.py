"""Content of single files: recognized whatever their name is, read as they are, or refused with a reason."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import (
    ARTIFACTS,
    GRAPH,
    PROFILE,
    STAMP,
    RealSet,
    chain,
    examples,
    messages,
    names_of,
    plain_json,
    real_sets,
    timing_row,
    write_files,
    write_graph,
    write_json,
)
from power_kit import monitor_csv, tegrastats_line
from trex_tui.artifacts import archive
from trex_tui.artifacts import open as opening
from trex_tui.artifacts.discover import find_one, find_sets
from trex_tui.artifacts.kinds import FileKind, recognize
from trex_tui.artifacts.layer_info import NAMES_ONLY, read_layer_info
from trex_tui.artifacts.layer_samples import read_layer_samples
from trex_tui.artifacts.manifest import changes, read_capture_manifest, tells_throttling
from trex_tui.artifacts.metadata import LatencySummary, number_in, parse_latency, read_metadata
from trex_tui.artifacts.open import confine, read_text
from trex_tui.artifacts.outputs import read_accuracy
from trex_tui.artifacts.plan import describe_plan, read_plan_head
from trex_tui.artifacts.power import MEASURING, PowerLog, Producer, read_idle_power_w, read_power_log
from trex_tui.artifacts.profile import read_profiles
from trex_tui.artifacts.timing import read_timings
from trex_tui.artifacts.write import (
    Inputs,
    check_output,
    remove_stale,
    write_atomically,
    write_output,
)
from trex_tui.cli.main import main
from trex_tui.errors import ARCHIVES, ArtifactError, Severity, TrexError

CASES = ARTIFACTS.parent / "cases"
LOG = (
    f"&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=a.onnx --saveEngine=a\n{STAMP} hello\n"
)
RUN_LOG = LOG.replace("--onnx=a.onnx --saveEngine=a", "--loadEngine=a")
HELP = "&&&& RUNNING TensorRT.trtexec [TensorRT v101601] [b11] # trtexec --help\n=== Model Options ===\n  --onnx=<file>\n"
PLAN = b"ftrt" + bytes(20) + bytes([8, 6, 1, 6]) + bytes(100)
OLD_PLAN = b"ptrt" + bytes(100)
ENGINE = b"\0\xff" * 40


def artifact(*parts: str) -> Path:
    path = ARTIFACTS.joinpath(*parts)
    return path if path.exists() else pytest.skip(f"no real artifacts at {ARTIFACTS}")


# Recognition


@pytest.mark.parametrize("name", ["any", "x.json", "config.log", "profile.txt"])
@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (GRAPH, FileKind.GRAPH),
        (GRAPH["Layers"], FileKind.GRAPH),
        ({"Layers": ["a", "b"]}, FileKind.GRAPH),
        ({"ProfilingVerbosity": "detailed", "I/O Tensors": [], "Layers": GRAPH["Layers"]}, FileKind.GRAPH),
        (GRAPH["Layers"][0], FileKind.GRAPH),
        (PROFILE, FileKind.PROFILE),
        ([timing_row(0, 1)], FileKind.TIMING),
        ({"build_options": {"Precision": "FP16"}}, FileKind.BUILD_METADATA),
        ({"device_information": {"SMs": 3}, "performance_summary": {"a": 1}}, FileKind.PROFILE_METADATA),
        ([{"Name": "A100", "ComputeCapability": [8, 0], "CUDA_VERSION": 11040}], FileKind.DEVICE_METADATA),
        ({"avg_idle_power": 3e6}, FileKind.IDLE_POWER),
        ({"schema": "trex-tui/capture/1"}, FileKind.MANIFEST),
        ({"schema": "trex-tui/accuracy/1", "outputs": []}, FileKind.ACCURACY),
        (LOG, FileKind.BUILD_LOG),
        (RUN_LOG, FileKind.PROFILE_LOG),
        (gzip.compress(LOG.encode(), mtime=0), FileKind.BUILD_LOG),
        (gzip.compress(b'{"Layers": []}', mtime=0), FileKind.GRAPH),
        (RUN_LOG.encode("utf-16"), FileKind.PROFILE_LOG),
        (f"step 3: {STAMP} [TRT] x\n", None),
        (f"stdout | {STAMP} hello\n" * 2, None),
        (tegrastats_line(3, 12.0), FileKind.MONITOR),
        ("timestamp, power.draw [W]\n2024/11/02 10:21:03.000, 12.00 W\n", FileKind.MONITOR),
        ("20241121-00:00:01.50,5000.0,800.0\n", FileKind.MONITOR),
        (PLAN, FileKind.PLAN),
        (OLD_PLAN, FileKind.PLAN),
        (b"vtrt" + bytes(100), FileKind.PLAN),
    ],
)
def test_the_content_decides(tmp_path: Path, name: str, content: Any, kind: FileKind | None) -> None:
    write_files(tmp_path, {name: content})
    found = recognize(tmp_path / name)
    expected = kind or (FileKind.PROFILE_LOG if "profile" in name else FileKind.BUILD_LOG)
    assert (found.kind, found.reason) == (expected, "")


@pytest.mark.parametrize(
    "text",
    [
        "[TensorRT] VERBOSE: Registered plugin creator - ::NMS_TRT version 1\n",
        "INFO: [TRT]: [MemUsageChange] Init CUDA: CPU +3, GPU +0\n",
        "[TRT] [V] Tactic: 0x1 Time: 0.1\n",
        "[I] [TRT] Loaded engine size: 5 MiB\n",
        "[I] === Performance summary ===\n",
        "=== Performance summary ===\n",
        "2024-05-01 10:00:00 INFO trt: Registering layer: a\n2024-05-01 10:00:01 INFO trt: Registering layer: b\n",
    ],
)
def test_messages_of_the_library_make_a_log(tmp_path: Path, text: str) -> None:
    write_files(tmp_path, {"any.txt": text})
    assert recognize(tmp_path / "any.txt").kind is FileKind.BUILD_LOG


DAMAGED_GZIP = b"\x1f\x8b\x08\0\0\0\0\0\0\3" + b"\xff" * 50


TEXT = "is text, but not JSON or a trtexec log; name a file that trtexec exported"
BINARY = "is binary but not a TensorRT plan; name a file that trtexec exported"
CUT = "is truncated: the JSON ends in the middle (expecting ',' delimiter); copy or export it again"
UNKNOWN = "is JSON of an unknown kind (keys: answer); name a file that trtexec exported"
LFS = "is a pointer of Git LFS, not the file; fetch it with `git lfs pull`"
NO_SAMPLES = (
    "has no samples of tegrastats, nvidia-smi or `trex-tui capture`; record it again with one of these"
)


@pytest.mark.parametrize(
    ("name", "content", "reason", "is_damaged"),
    [
        ("a.graph.json", b"", "is empty; copy or export it again", True),
        ("a.txt", b"", "is empty; copy or export it again", False),
        ("build.log", " \n" * 10, "has white space only; copy or export it again", True),
        ("a.graph.json", "hello", TEXT, True),
        ("notes.txt", "hello", TEXT, False),
        ("a.profile.json", bytes(range(256)) * 8, BINARY, True),
        ("any", '{"a": [1, 2', CUT, True),
        ("help.log", HELP, "is output of trtexec, but not the log of a run", False),
        ("a.log.gz", DAMAGED_GZIP, "is a damaged gzip file; copy or export it again", True),
        ("a.zip", b"PK\3\4...", "is a zip archive; unpack it, and name the directory", False),
        ("a.profile.json", "version https://git-lfs.github.com/spec/v1\n", LFS, True),
        ("a.graph.json", {"answer": 42}, UNKNOWN, True),
        ("a.monitor.csv", "a,b\n1,2\n", NO_SAMPLES, True),
    ],
)
def test_what_is_no_artifact(tmp_path: Path, name: str, content: Any, reason: str, is_damaged: bool) -> None:
    write_files(tmp_path, {name: content})
    assert recognize(tmp_path / name) == (None, reason, is_damaged, False)
    with pytest.raises(ArtifactError) as failure:
        find_sets(tmp_path / name)
    assert str(failure.value) == f"{tmp_path / name}: {reason}"


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("config.json", {"answer": 42, "Layers": 5}, "is JSON of an unknown kind (keys: answer, Layers)"),
        ("labels.json", [1, 2, 3], "is JSON of an unknown kind (keys: none)"),
        ("x.json", {"config": {"backend": "pytorch"}, "latencies": [1.0]}, "is a benchmark of pytorch, not of TensorRT"),
        ("times.json", {"times": 3, "latency": "low"}, "is JSON of an unknown kind (keys: times, latency)"),
    ],
)  # fmt: skip
def test_json_of_other_programs_is_foreign(tmp_path: Path, name: str, content: Any, reason: str) -> None:
    found = recognize(write_json(tmp_path / name, content))
    assert (found.kind, found.is_damaged, found.is_foreign) == (None, False, True)
    assert found.reason == f"{reason}; name a file that trtexec exported"


# Layer information


@pytest.mark.parametrize("real", real_sets(having=["graph"], every=True))
def test_every_layer_of_a_real_graph(real: RealSet) -> None:
    info = read_layer_info(real.path("graph"))
    raw = real.layers()
    assert info.names_only == all(isinstance(entry, str) for entry in raw)
    assert list(info.layers) == [{"Name": entry} if isinstance(entry, str) else entry for entry in raw]
    assert messages(info.notes) == ([NAMES_ONLY] if info.names_only else [])
    root = real.json("graph")
    assert info.bindings == tuple(root.get("Bindings", ()) if isinstance(root, dict) else ())


def test_printed_layers_are_those_of_the_json() -> None:
    """`get_layer_information(i)` in a loop, with a line before each."""
    folder = CASES / "07-inspector-print"
    if not folder.is_dir():
        pytest.skip(f"no cases at {CASES}")
    (good,) = (folder / "good").glob("*.json")
    assert read_layer_info(folder / "layer_info.json").layers == read_layer_info(good).layers


def test_tensorrt_11_lists_io_tensors(tmp_path: Path) -> None:
    tensors = [{"Name": "x", "IOMode": "Input"}, {"Name": "y", "IOMode": "Output"}, 7]
    root = {"Layers": chain("a"), "I/O Tensors": tensors, "Engine Metadata": {"Multi-Device": "Disabled"}}
    info = read_layer_info(write_json(tmp_path / "a.json", root))
    assert (info.bindings, info.io_tensors) == (("x", "y"), tuple(tensors[:2]))
    assert list(info.extra) == ["Engine Metadata"]
    assert messages(info.notes) == ["1 entries are not tensors; skipped"]


def test_odd_entries_are_told(tmp_path: Path) -> None:
    raw = [5, None, {"LayerType": "kgen"}, {"Name": 7}, *chain("one")]
    info = read_layer_info(write_graph(tmp_path / "a.json", raw, [1, {"Name": "x"}]))
    names = ["(layer 2 without a name)", "(layer 3 without a name)", "one"]
    assert [layer["Name"] for layer in info.layers] == names
    assert [(note.where, note.message) for note in info.notes] == [
        ("Layers[0]", "is a number, not a layer; skipped"),
        ("Layers[1]", "is null, not a layer; skipped"),
        ("Layers[2]", "has no Name; using its index"),
        ("Layers[3]", "has no Name; using its index"),
        ("Bindings", "1 entries have no name; skipped"),
    ]


@pytest.mark.parametrize(
    ("text", "message", "where"),
    [
        (" \n", "is empty", ""),
        ('{"Layers": [{"Name": "a", "Inp', "is truncated: the JSON ends in the middle", "line 1 column 27"),
        ('{"Layers": [\n{]}, {"Name": "b"}]}', "is not valid JSON", "line 2 column 2"),
        ('{"Layers": {}}', 'is not layer information: no list "Layers"', ""),
        ("7", 'is not layer information: no list "Layers"', ""),
        ("[" * 200_000, "is nested too deeply", ""),
        ('{"Layers": [' + "9" * 5000 + "]}", "is not usable JSON", ""),
    ],
    ids=["blank", "cut", "syntax", "object", "number", "deep", "long number"],
)  # fmt: skip
def test_unusable_layer_information(tmp_path: Path, text: str, message: str, where: str) -> None:
    path = tmp_path / "a.graph.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ArtifactError) as failure:
        read_layer_info(path)
    assert failure.value.note.message.startswith(message)
    assert (failure.value.note.file, failure.value.note.where) == (path, where)


def test_bytes_that_are_not_utf_8_are_told_with_their_place(tmp_path: Path) -> None:
    """The name of a layer changed without a word, so that its row of the profile matched nothing."""
    path = tmp_path / "a.graph.json"
    path.write_bytes(b'{"Layers": [\n{"Name": "caf\xe9", "LayerType": "x"}]}')
    info = read_layer_info(path)
    assert info.layers[0]["Name"] == "caf\ufffd"
    (note,) = info.notes
    assert (note.severity, note.where) == (Severity.WARNING, "line 2 column 14")
    assert str(note).startswith(f"{path}:2: is not UTF-8: byte 0xe9 and the like are read as U+FFFD")
    path.write_bytes(b'[{"count": 1},\n{"name": "\xff", "timeMs": 1, "averageMs": 1, "percentage": 100}]')
    assert [note.where for note in read_profiles(path)[0].notes] == ["line 2 column 11"]
    path.write_bytes(b'{"build_options": {"Precision": "\xff"}}')
    assert [note.severity for note in read_metadata([path])[1]] == [Severity.WARNING]


@pytest.mark.parametrize("form", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a.graph.json"
    path.write_bytes(json.dumps({"Layers": chain("café")}, ensure_ascii=False).encode(form))
    info = read_layer_info(path)
    assert (info.layers[0]["Name"], info.notes) == ("café", ())


# Plans


def with_metadata(metadata: bytes, plan: bytes = PLAN) -> bytes:
    return len(metadata).to_bytes(4, "little") + metadata + plan


@pytest.mark.parametrize(
    ("content", "version", "text"),
    [
        (PLAN, "8.6.1", "a TensorRT 8.6.1 plan"),
        (b"ftrt" + bytes(20) + bytes([10, 16, 1, 11]), "10.16.1", "a TensorRT 10.16.1 plan"),
        (b"vtrt" + bytes(20) + bytes([1, 7, 1, 116]), "RTX 1.7.1", "a TensorRT-RTX 1.7.1 plan"),
        (OLD_PLAN, None, "an older TensorRT plan (ptrt), version not stated"),
        (b"ftrt" + bytes(24), None, "a TensorRT plan, version unknown"),
        (b"ftrt" + bytes(20) + b"\xff\xff\xff\xff", None, "a TensorRT plan, version unknown"),
        (
            with_metadata(b'{"task": "detect", "x": "\x1b"}'),
            "8.6.1",
            'a TensorRT 8.6.1 plan, after 32 bytes of Ultralytics metadata: trtexec cannot load it until they are removed '
            "(tail -c +33 FILE)",
        ),
    ],
)  # fmt: skip
def test_heads_of_plans(tmp_path: Path, content: bytes, version: str | None, text: str) -> None:
    path = tmp_path / "net.engine"
    path.write_bytes(content)
    head = read_plan_head(path)
    assert head is not None
    assert (head.version, describe_plan(head)) == (version, text)
    assert recognize(path).kind is FileKind.PLAN


@pytest.mark.parametrize(
    "content", [b"ftr", b"\x02\0\0\0{}", with_metadata(b"{}", b"none"), b"\x01\0\0\0{" + PLAN, b"[  \n{}]"]
)
def test_what_is_no_plan(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "net.bin"
    path.write_bytes(content)
    assert read_plan_head(path) is None
    assert recognize(path).kind is None


# Metadata, manifest, comparison of outputs


def test_latency_lines() -> None:
    line = "min = 1 ms, max = 3 ms, mean = 2 ms, median = 2.5 ms, percentile(90%) = 2.9 ms, percentile(99%) = 3e0 ms"
    assert parse_latency(line) == LatencySummary(1.0, 3.0, 2.0, 2.5, {90.0: 2.9, 99.0: 3.0})
    assert parse_latency([1, 3, 2, 2.5, 3]) == LatencySummary(1.0, 3.0, 2.0, 2.5, {99.0: 3.0})
    assert parse_latency([1, 3, 2, 2.5, 3, 4]) == LatencySummary(1.0, 3.0, 2.0, 2.5)
    assert (parse_latency("fast"), parse_latency([1]), parse_latency(None)) == (None, None, None)
    assert [number_in(text) for text in ("1.425 GHz", "192 bits", "none", True, 7)] == [
        1.425,
        192.0,
        None,
        None,
        7.0,
    ]


def test_damaged_metadata(tmp_path: Path) -> None:
    good = write_json(tmp_path / "a.json", {"build_options": {"DLACore": "0"}, "odd": 3})
    broken = write_files(tmp_path, {"b.json": '{"build'}) / "b.json"
    facts, notes = read_metadata([good, broken, write_json(tmp_path / "c.json", 7)])
    assert facts.asks_for_dla
    assert [(note.severity, note.where) for note in notes] == [
        (Severity.WARNING, "odd"),
        (Severity.ERROR, "line 1 column 2"),
        (Severity.ERROR, ""),
    ]


GPU = {
    "name": "X",
    "driver": "550",
    "sm_clock_mhz": 1300,
    "throttle_reasons": [],
    "throttle_counters_us": {"sw_power_cap": 10},
}
MANIFEST = {
    "schema": "trex-tui/capture/1",
    "status": "complete",
    "trex_tui": "1.0",
    "started": "2026-01-02T03:04:05Z",
    "trtexec": {"version": "10.4.0", "build": 26},
    "model": {"path": "net.onnx"},
    "clocks": {"target_mhz": 1300, "locked": True, "released": True},
    "host": {"before": {"gpus": [GPU]}, "after": {"gpus": [{**GPU, "throttle_counters_us": {"sw_power_cap": 20}}]}},
    "runs": [
        {"role": "build", "passed": True, "command": ["trtexec", "--onnx=net.onnx"]},
        {"role": "profile", "passed": False, "failure": "cuda_graph"},
        {"role": "profile", "passed": True, "command": ["trtexec", "--loadEngine=net.engine"]},
    ],
    "files": {"net.graph.json": {"bytes": 3}, "net.profile.json": {"bytes": 2, "sha256": "0"}},
    "remarks": ["x" * 600, 7],
}  # fmt: skip


def test_a_manifest(tmp_path: Path) -> None:
    path = write_json(tmp_path / "net.capture.json", MANIFEST)
    files = [
        write_files(tmp_path, {name: "{}"}) / name for name in ("net.graph.json", "net.profile.json", "c")
    ]
    manifest = read_capture_manifest(path, [*files, path])
    assert (manifest.status, manifest.trtexec_version, manifest.trtexec_build) == ("complete", "10.4.0", "26")
    assert str(manifest.started) == "2026-01-02 03:04:05+00:00"
    assert (manifest.build_command[1], manifest.command[1]) == ("--onnx=net.onnx", "--loadEngine=net.engine")
    assert (manifest.is_without_graph, manifest.is_remote, manifest.model) == (True, False, "net.onnx")
    assert [len(remark) for remark in manifest.remarks] == [500]
    assert manifest.changed == ("net.graph.json", "net.profile.json")
    assert manifest.before is not None
    assert manifest.after is not None
    assert list(changes(manifest.before, manifest.after)) == [
        ("throttled", "the GPU was throttled: sw power cap")
    ]
    assert tells_throttling(manifest.before, manifest.after)
    assert manifest.notes == ()


def test_any_manifest_is_facts_or_unknown(tmp_path: Path) -> None:
    odd = {"schema": "trex-tui/capture/9", "host": [1], "runs": {}, "clocks": [], "started": 5, "remarks": 7}
    manifest = read_capture_manifest(write_json(tmp_path / "a.json", odd))
    assert (manifest.clocks, manifest.before, manifest.started, manifest.command) == (None, None, None, ())
    assert "is from another version of trex-tui" in messages(manifest.notes)[0]
    with pytest.raises(ArtifactError, match="is not a capture manifest"):
        read_capture_manifest(write_json(tmp_path / "b.json", [1]))


def test_comparisons_of_outputs(tmp_path: Path) -> None:
    ours = {
        "schema": "trex-tui/accuracy/1",
        "outputs": [{"name": "y", "max_abs": 0.5, "mae": None, "samples": 4}],
    }
    theirs = {"y": {"mean_abs_error": 0.1, "cos_sim": 0.8, "top1_match": 0.5}, "z": {"shape": [1]}}
    expected = {"mae": 0.1, "cosine": 0.8, "argmax_agreement_pct": 50.0}
    for document, values in ((ours, {"max_abs": 0.5}), (theirs, expected)):
        assert read_accuracy(write_json(tmp_path / "output_diff.json", document)) == [values]
    with pytest.raises(ArtifactError, match="has no metrics of outputs"):
        read_accuracy(write_json(tmp_path / "output_diff.json", {}))


# Power


def power_log(tmp_path: Path, text: str) -> PowerLog:
    path = tmp_path / "net.monitor.csv"
    path.write_text(text, encoding="utf-8")
    assert recognize(path).kind is FileKind.MONITOR
    return read_power_log(path)


def test_own_samples(tmp_path: Path) -> None:
    log = power_log(tmp_path, monitor_csv(reasons=["none", "power cap; hardware slowdown", ""]))
    assert (log.producer, log.samples, log.power_of, log.interval_s) == (Producer.TREX_TUI, 8, "GPU", 0.1)
    assert list(log.columns["power_w"]) == [40.0, 41.0, 60.0, 100.0, 120.0, 110.0, 130.0, 500.0]
    assert [stage == MEASURING for stage in log.stages] == [False, False, *[True] * 5, False]
    assert list(log.reasons)[3:6] == [(), ("power cap", "hardware slowdown"), None]
    assert list(log.run_s)[:3] == [0.1, 0.6, 1.1]


@pytest.mark.parametrize("stamp", ["", "20261121 10:00:01 "])
def test_dmon_of_nvidia_smi(tmp_path: Path, stamp: str) -> None:
    head = ("#Date Time gpu" if stamp else "# gpu") + " pwr gtemp mtemp sm mem enc dec mclk pclk"
    units = "# Idx W C C % % % % MHz MHz"
    row = f"{stamp}  0  70  48  -  {{}}  1  0  0  7000  1350"
    log = power_log(tmp_path, "\n".join([head, units, row.format(5), head, units, row.format(11)]))
    assert (log.producer, log.samples, log.power_of, log.notes) == (Producer.NVIDIA_SMI, 2, "GPU", ())
    keys = ("power_w", "gpu_temperature_c", "gpu_clock_mhz", "memory_clock_mhz")
    assert [log.columns[key][0] for key in keys] == [70.0, 48.0, 1350.0, 7000.0]
    assert list(log.columns["gpu_utilization_pct"]) == [5.0, 11.0]


def test_tegrastats(tmp_path: Path) -> None:
    lines = [tegrastats_line(second, 10.0 + second) for second in (3, 4, 5)]
    log = power_log(tmp_path, "\n".join([*lines, "broken"]))
    assert (log.producer, log.power_of, log.interval_s) == (Producer.TEGRASTATS, "VDD_IN", 1.0)
    assert list(log.columns["power_w"]) == [13.0, 14.0, 15.0]
    assert list(log.rails["VDD_SOC"]) == [0.5] * 3
    assert [log.columns[key][0] for key in ("gpu_clock_mhz", "memory_clock_mhz", "gpu_temperature_c")] == [
        1300,
        665,
        50,
    ]
    assert messages(log.notes) == ["1 line of 4 could not be read; skipped"]
    unstamped = power_log(tmp_path, "\n".join(tegrastats_line(3, 10.0, is_stamped=False) for _ in range(3)))
    assert (unstamped.interval_s, unstamped.is_interval_assumed, len(unstamped.local_s)) == (1.0, True, 0)


def test_a_real_query_without_a_header() -> None:
    log = read_power_log(artifact("power", "nvidia-smi-query-gh200.csv"))
    assert log.producer is Producer.NVIDIA_SMI
    assert log.samples == len(read_text(artifact("power", "nvidia-smi-query-gh200.csv")).splitlines())
    assert log.interval_s == pytest.approx(0.2, abs=0.05)
    assert "has no header: column 2 is read as the power" in messages(log.notes)[0]


def test_throttle_reasons_and_several_gpus(tmp_path: Path) -> None:
    header = "timestamp, index, power.draw [W], clocks_throttle_reasons.active, clocks_throttle_reasons.sw_power_cap"
    rows = [
        f"2024/11/02 10:21:0{second}.000, {gpu}, {watts} W, {mask}, {flag}"
        for second in (3, 4)
        for gpu, watts, mask, flag in (
            (0, 20.0, "0x0000000000000001", "Not Active"),
            (1, 90.0, "0x4", "Active"),
        )
    ]
    log = power_log(tmp_path, "\n".join([header, *rows, header]))
    assert (list(log.columns["power_w"]), list(log.reasons)) == ([90.0, 90.0], [("power cap",)] * 2)
    assert messages(log.notes) == ["has samples of 2 GPUs; using '1' (highest power)"]


def test_real_logs_of_a_sensor() -> None:
    folder = artifact("power", "fuzzylabs")
    log = read_power_log(folder / "simple" / "simple_power_log.log")
    lines = read_text(folder / "simple" / "simple_power_log.log").split()
    volts = [tuple(map(float, line.split(",")[1:])) for line in lines]
    assert list(log.columns["power_w"]) == pytest.approx([mv * ma / 1e6 for mv, ma in volts])
    assert read_idle_power_w(folder / "idling_power.json") == pytest.approx(
        plain_json(folder / "idling_power.json")["avg_idle_power"] / 1e6
    )
    calls = plain_json(folder / "multiple_layers" / "trt_profiling" / "trt_layer_latency.json")
    samples = read_layer_samples(folder / "multiple_layers" / "trt_profiling" / "trt_layer_latency.json")
    assert [(sample.name, sample.time_ms) for sample in samples] == [
        (name, call[0]) for name, ones in calls.items() for call in ones
    ]


# Archives


NAME = "net.onnx.engine"


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    archive.forget()


def packed(path: Path, files: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in files.items():
            file.writestr(name, content if isinstance(content, (str, bytes)) else json.dumps(content))
    return path


def test_what_trex_archives_joins_the_files_beside_it(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{NAME}.graph.json": GRAPH, f"{NAME}.profile.json": PROFILE})
    tea = packed(tmp_path / f"{NAME}.tea", {f"{NAME}.build.log": LOG, "engine.trt": PLAN + bytes(100_000)})
    expected = {
        "graph": f"{NAME}.graph.json",
        "profile": f"{NAME}.profile.json",
        "build_log": f"{NAME}.build.log",
        "engine": "net.onnx.engine",
    }
    for path in (tmp_path, tea, tmp_path / f"{NAME}.graph.json"):
        source = find_one(path)
        assert (names_of(source.files), source.name, source.notes) == (expected, "net", ())
    assert (
        source.files[FileKind.PLAN].stat().st_size < 10_000
    )  # a plan is gigabytes; its head has the version


def test_what_is_no_archive_costs_itself_alone(tmp_path: Path) -> None:
    write_files(tmp_path, {f"{NAME}.graph.json": GRAPH, f"{NAME}.tea": b"PK\x03\x04 not really"})
    with pytest.raises(ArtifactError, match="cannot be unpacked"):
        find_sets(tmp_path / f"{NAME}.tea")
    assert messages(find_one(tmp_path).notes) == [
        "cannot be unpacked (File is not a zip file); unpack it, and name the directory"
    ]
    built = packed(tmp_path / "c" / "x.tea", {"build.txt": "Loaded engine", "engine.trt": PLAN})
    with pytest.raises(ArtifactError, match=r"x\.tea: has no log and no layer information"):
        find_sets(built)
    locked = packed(tmp_path / "d" / "x.tea", {"x.graph.json": GRAPH})
    data = locked.read_bytes()
    head, central = data.index(b"PK\x03\x04"), data.index(b"PK\x01\x02")
    bits = bytearray(data)
    bits[head + 6] |= 1
    bits[central + 8] |= 1
    locked.write_bytes(bytes(bits))
    with pytest.raises(ArtifactError, match="is encrypted, password required"):
        find_sets(locked)


def test_names_of_members_lead_nowhere(tmp_path: Path) -> None:
    files = {
        f"../../{NAME}.graph.json": GRAPH,
        f"/{NAME}.profile.json": PROFILE,
        "a\\..\\..\\evil.json": "[]",
        "run.sh": "#!/bin/sh",
        f"deep/er/{NAME}.build.log": LOG,
        "n" * 300 + ".json": "[]",
    }
    source = find_one(packed(tmp_path / "in" / f"{NAME}.tea", files))
    (root,) = ARCHIVES
    assert [str(path.relative_to(root)) for path in source.files.values()] == [
        f"{NAME}.graph.json",
        f"{NAME}.profile.json",
        f"deep/er/{NAME}.build.log",
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in"]
    assert not any(path.suffix == ".sh" for path in root.rglob("*"))
    archive.forget()
    assert not root.exists()


def test_a_trap_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1000)
    limits = "exceeds the limits of an archive of one engine"
    assert archive.unpack(packed(tmp_path / "a.tea", {"a.json": "x" * 1001})).problem == limits
    monkeypatch.setattr(archive, "MOST_MEMBERS", 2)
    assert archive.unpack(packed(tmp_path / "b.tea", {"a": "", "b": "", "c": ""})).problem == limits
    assert archive.unpack(tmp_path / "absent.tea").problem.startswith("cannot be read: ")


# Opening


def test_only_allowed_directories_are_read(tmp_path: Path) -> None:
    write_files(tmp_path, {"in/a.graph.json": GRAPH, "out/b.graph.json": GRAPH})
    (tmp_path / "in" / "b.graph.json").symlink_to(tmp_path / "out" / "b.graph.json")
    confine([tmp_path / "in"])
    try:
        assert recognize(tmp_path / "in" / "a.graph.json").kind is FileKind.GRAPH
        for path in (tmp_path / "out" / "b.graph.json", tmp_path / "in" / "b.graph.json"):
            with pytest.raises(ArtifactError, match="it is outside of the allowed directories"):
                read_layer_info(path)
        source = find_one(tmp_path / "in")
        assert names_of(source.files) == {"graph": "a.graph.json"}
    finally:
        confine([])


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "MOST_BYTES", 10)
    with pytest.raises(ArtifactError, match="is too large"):
        read_layer_info(write_graph(tmp_path / "a.json", ["a"]))


# Writing


def test_an_existing_file_needs_force(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    check_output(path, Inputs(), force=False)
    write_output(path, "caf\u00e9\udc80")
    assert path.read_bytes() == "café\\udc80".encode()
    with pytest.raises(TrexError, match=r"out\.txt exists; write elsewhere, or replace it with --force"):
        check_output(path, Inputs(), force=False)
    with pytest.raises(TrexError, match="exists; write elsewhere"):
        write_output(path, "x", replace=False)
    check_output(path, Inputs(), force=True)
    write_output(path, b"new")
    assert path.read_bytes() == b"new"
    with pytest.raises(TrexError, match="does not exist; create it first"):
        check_output(tmp_path / "no" / "x", Inputs(), force=True)
    with pytest.raises(TrexError, match="is not a regular file"):
        check_output(tmp_path, Inputs(), force=True)


def test_an_input_is_never_replaced(tmp_path: Path) -> None:
    path = write_graph(tmp_path / "set" / "a.graph.json", ["a"])
    inputs = Inputs([path])
    link, hard = tmp_path / "link", tmp_path / "hard"
    link.symlink_to(path)
    os.link(path, hard)
    for target in (path, link, hard, tmp_path / "set" / ".." / "set" / "a.graph.json"):
        with pytest.raises(TrexError, match="an input file; write elsewhere"):
            check_output(target, inputs, force=True)
    tea = packed(tmp_path / "b.tea", {"b.graph.json": GRAPH})
    unpacked = Inputs(find_one(tea).files.values())
    with pytest.raises(TrexError, match=r"b\.tea is an input file"):
        unpacked.check(tea)


def test_files_appear_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "a.txt"
    write_atomically(path, "old", make_directory=True)
    monkeypatch.setattr(
        Path, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    with pytest.raises(TrexError, match=r"a\.txt cannot be written: No space left on device; free space"):
        write_output(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["a.txt"]
    assert [file.name for file in tmp_path.iterdir()] == ["new"]
    monkeypatch.undo()
    link = tmp_path / "link"
    link.symlink_to(path)
    write_output(link, "through")
    assert (link.is_symlink(), path.read_text()) == (True, "through")


def test_leftovers_of_killed_writers_are_removed(tmp_path: Path) -> None:
    for name, age_s in ((".trex-tui-a.tmp", 4000), (".trex-tui-b.tmp", 60), (".trex-tui-x", 1e6)):
        file = tmp_path / name
        file.write_text("")
        os.utime(file, (time.time() - age_s,) * 2)
    remove_stale(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == [".trex-tui-b.tmp", ".trex-tui-x"]


# Anything


@settings(max_examples=examples(200), deadline=None)
@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    readers: list[Any] = [
        read_layer_info,
        read_profiles,
        read_timings,
        read_power_log,
        read_capture_manifest,
        read_accuracy,
    ]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "a.graph.json")
        path.write_bytes(data)
        found = recognize(path)
        assert (found.kind is None) == bool(found.reason)
        read_metadata([path])
        for reader in readers:
            with contextlib.suppress(ArtifactError):
                reader(path)
        with contextlib.suppress(ArtifactError):
            find_sets(path)


@pytest.mark.parametrize("layers", ["[]", "[1, null]"])
def test_layer_information_without_layers_is_an_error(tmp_path, layers, capsys):
    (tmp_path / "net.graph.json").write_text(f'{{"Layers": {layers}, "Bindings": ["x"]}}')
    for command in ("summary", "layers", "engines"):
        code = main([command, str(tmp_path)])
        said = capsys.readouterr()
        assert (code, "lists no layers" in said.err + said.out) == (0 if command == "engines" else 2, True)
