"""Every known way to fail, in every release: one sentence, a remedy, exit code 3, logs kept, a good set untouched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from capture_bench import Bench
from fake_trtexec import ENDS, calls
from helpers import some
from trex_tui.capture.plan import RunPlan
from trex_tui.capture.trtexec import Trtexec, parse_version
from trex_tui.capture.verdict import find_broken_file

# Failure of the stand-in -> key of the verdict, the run that fails, words of the sentence, words of the remedy.
KNOWN = {
    "no_gpu": ("no_gpu", "build", "no usable GPU", "nvidia-smi"),
    "bad_onnx": ("bad_onnx", "build", "cannot be parsed", "onnx.checker"),
    "unsupported_op": (
        "unsupported_op",
        "build",
        "node 12 of the model, operator GridSample3D",
        "newer TensorRT",
    ),
    "missing_plugin": ("missing_plugin", "build", "plugin", "--plugin"),
    "no_implementation": ("no_implementation", "build", "no kernel for {ForeignNode[a...b]}", "--workspace"),
    "out_of_memory": ("out_of_memory", "build", "out of memory", "lower --workspace"),
    "unsupported_sm": ("unsupported_sm", "build", "SM 0xc00", "newer TensorRT"),
    "dla_fallback": ("dla_fallback", "build", "DLA", "--allow-gpu-fallback"),
    "no_dla": ("no_dla", "build", "no such DLA", "remove --dla"),
    "nvmap_permission": ("nvmap_permission", "build", "/dev/nvmap", "video and render"),
    "shapes_static": ("shapes_static", "build", "model's shapes are fixed", "remove --shapes"),
    "shapes_unknown": ("shapes_unknown", "build", "name x", "input names of the model"),
    "shapes_missing": ("shapes_missing", "build", "none are given", "--min-shapes"),
    "missing_library": ("missing_library", "build", "libnvinfer.so.10", "LD_LIBRARY_PATH"),
    "killed": ("killed", "build", "SIGKILL", "dmesg"),
    "crash": ("crashed", "build", "SIGSEGV", "log"),
    "no_banner": ("no_banner", "build", "without PASSED", "log"),
    "no_engine": ("files", "build", "net.engine: No such file", "df"),
    "empty_engine": ("files", "build", "net.engine is empty", "df"),
    "late_exit": ("unknown", "build", "exit code 1", ""),
    "plan_device@profile": (
        "plan_device",
        "profile",
        "capability 7.5 here, 8.6 in the engine",
        "on this device",
    ),
    "missing_creator@profile": ("missing_plugin", "profile", "MyPlugin_TRT", "--plugin"),
    "shapes_range@profile": (
        "shapes_range",
        "profile",
        "outside the range of the engine",
        "--shapes",
    ),
    "runtime_oom@profile": ("out_of_memory", "profile", "out of memory", "nvidia-smi"),
    "illegal_access@profile": ("illegal_access", "profile", "illegal memory access", "plugins"),
    "half_graph@profile": ("files", "profile", "net.graph.json is truncated", "df"),
    "half_profile@profile": ("files", "profile", "net.profile.json", "df"),
    "half_timing@profile": ("files", "profile", "net.timing.json is truncated", "df"),
    "no_graph@profile": ("files", "profile", "net.graph.json was not written", "df"),
    "no_profile@profile": ("files", "profile", "net.profile.json was not written", "df"),
    "no_timing@profile": ("files", "profile", "net.timing.json was not written", "df"),
    "empty_profile@profile": ("files", "profile", "nothing was profiled", "df"),
}
OLD, NEW = "8.2.1", "11.1.0"


@pytest.mark.parametrize("version", some([NEW, OLD, "8.6.1"]))
@pytest.mark.parametrize("failure", KNOWN)
def test_known_failures(bench: Bench, monkeypatch: pytest.MonkeyPatch, failure: str, version: str) -> None:
    bench.programs(version)
    key, role, sentence, remedy = KNOWN[failure]
    monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
    result = bench.capture(version)
    assert (result.passed, result.interrupted) == (False, False)
    assert result.verdict is not None
    assert result.run is not None
    assert (result.verdict.key, result.run.role) == (key, role)
    assert sentence in result.verdict.sentence
    assert remedy in result.verdict.remedy
    assert "\n" not in str(result.verdict)
    assert result.log is not None
    assert result.log.is_file(), "the log is kept"
    assert result.directory == bench.outdir / "net.failed"
    assert not list(bench.outdir.glob("net.*.json")), "nothing that looks like a set"
    assert not list(bench.outdir.rglob("net.graph.json"))
    kept = result.log.read_bytes()
    assert all(line.encode() in kept for line in result.last if line.isascii())


class TestCudaGraph:
    @pytest.mark.parametrize("version", ENDS)
    def test_once_more_without(self, bench: Bench, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
        bench.programs(version)
        record = bench.place / "calls"
        monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(record))
        monkeypatch.setenv("FAKE_TRTEXEC_FAIL", "cuda_graph")
        result = bench.capture(version, repeat=2)
        assert result.passed
        assert any("cannot be captured in a CUDA graph" in one for one in result.remarks)
        runs = calls(record)
        graphs = [
            "--noCudaGraph" not in one if parse_version(version) >= (11,) else "--useCudaGraph" in one
            for one in runs[1:]
        ]
        assert graphs == [True, False, False], "tried once; the second profile run does not try again"
        assert ".net.attempts/1.net.engine.profile.log" in bench.names()
        failed = bench.outdir / ".net.attempts/1.net.engine.profile.log"
        assert b"cudaErrorStreamCapture" in failed.read_bytes()


class TestOddities:
    @pytest.mark.parametrize(
        ("failure", "remark"),
        [("skipped_tactics", "not enough memory"), ("graph_ignored", "measured without")],
    )
    def test_remarks(self, bench: Bench, monkeypatch: pytest.MonkeyPatch, failure: str, remark: str) -> None:
        bench.programs("10.4.0")
        monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
        result = bench.capture()
        assert result.passed
        assert any(remark in text for text in result.remarks)

    def test_timeout(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        bench.programs("10.4.0")
        monkeypatch.setenv("FAKE_TRTEXEC_FAIL", "hang")
        result = bench.capture(timeout_s=0.3)
        assert result.verdict is not None
        assert result.verdict.key == "timed_out"
        assert result.verdict.sentence == "ended after 0.3 s, the time allowed"
        assert "--timeout" in result.verdict.remedy
        assert result.log is not None
        assert result.log.is_file()

    def test_a_good_set_survives(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        assert bench.capture().passed
        before = bench.bytes()
        for failure in ("crash@build", "half_profile@profile", "killed@profile"):
            monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
            assert not bench.capture(force=True).passed
            after = bench.bytes()
            assert {
                name: data for name, data in after.items() if not name.startswith("net.failed/")
            } == before


@pytest.mark.parametrize(
    ("version", "data", "told"),
    [
        ("10.4.0", b"0123456789", "net.engine is not a serialized engine"),
        ("10.4.0", b"ftrt\0\0\0\0\0\0", "net.engine is truncated"),
        ("8.5.1", b"0123456789", ""),
    ],
)
def test_an_engine_of_a_few_bytes(
    tmp_path: Path, programs: Callable[[str], Trtexec], version: str, data: bytes, told: str
) -> None:
    """trtexec says PASSED; before 8.6 nothing is known of plans."""
    engine = tmp_path / "net.engine"
    engine.write_bytes(data)
    run = RunPlan("build", 1, ("trtexec",), tmp_path / "log", engine)
    assert find_broken_file(run, programs(version)) == told
