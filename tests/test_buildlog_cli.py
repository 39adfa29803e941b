"""`trex-tui build-log` and `trex-tui metadata`."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

import pytest

from build_cases import BUILD, STEM, write_log
from helpers import ARTIFACTS, strict_json, write_graph, write_json
from trex_tui.__main__ import main
from trex_tui.report.views.build import decode_format

EVIL = "evil \x1b[31m|\x9b2J"
HEADER = """\
[08/12/2023-10:00:00] [I] [TRT] ----------------------------------------------------------------
[08/12/2023-10:00:00] [I] [TRT] Input filename:   models/net.onnx
[08/12/2023-10:00:00] [I] [TRT] ONNX IR version:  0.0.8
[08/12/2023-10:00:00] [I] [TRT] Opset version:    17
[08/12/2023-10:00:00] [I] [TRT] Producer name:    pytorch
[08/12/2023-10:00:00] [I] [TRT] Producer version: 2.1.0
[08/12/2023-10:00:00] [V] [TRT] Loaded shared library libnvinfer_builder_resource.so.10.4.0
[08/12/2023-10:00:00] [V] [TRT] Original: 4 layers
"""
CHANGE = (
    "[08/12/2023-10:00:01] [I] [TRT] [MemUsageChange] {}: CPU {:+d}, GPU {:+d}, now: CPU {}, GPU {} (MiB)\n"
)
FUSING = """\
[08/12/2023-10:00:02] [V] [TRT] Running: ConvReluFusion on conv{0}
[08/12/2023-10:00:02] [V] [TRT] ConvReluFusion: Fusing conv{0} with relu{0}
"""


def words(text: str) -> list[str]:
    """The lines of a text, with single blanks."""
    return [" ".join(line.split()) for line in text.splitlines()]


def test_model_memory_and_fusions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of long tables the first rows are shown; `--top 0` shows all."""
    path = tmp_path / "net.build.log"
    changes = [CHANGE.format(f"step {n}", n, 0, 100 + n, 50) for n in range(5)]
    changes.append(CHANGE.format("Init cuBLAS", 500, 20, 600, 70))
    changes.append(CHANGE.format("TensorRT-managed allocation in building engine", 0, 900, 0, 900))
    fusions = "".join(FUSING.format(n) for n in range(4))
    path.write_text(
        HEADER
        + fusions
        + "[08/12/2023-10:00:03] [V] [TRT] After vertical fusions: 4 layers\n"
        + "".join(changes)
    )
    assert main(["build-log", str(path), "--top", "2"]) == 0
    lines = words(capsys.readouterr().out)
    assert "TensorRT 10.4.0 (from libnvinfer_builder_resource.so.10.4.0)" in lines
    assert "ONNX models/net.onnx, opset 17, IR 0.0.8, by pytorch 2.1.0" in lines
    at = lines.index("Memory over the build: up to 70 MiB on the GPU, 600 MiB on the host")
    assert lines[at + 2] == "step 0 50 0 100 0 18"
    assert lines[at + 4] == "2 of 7 events; --top 0 shows all."
    assert main(["build-log", str(path), "--top", "0"]) == 0
    printed = capsys.readouterr().out
    assert "Init cuBLAS" in printed
    assert "shows all" not in printed
    assert main(["build-log", str(path), "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    assert document["schema"] == "trex-tui/build-log/3"
    assert document["onnx"]["Opset version"] == "17"
    assert document["tensorrt_library"] == "libnvinfer_builder_resource.so.10.4.0"
    assert len(document["memory"]) == 7
    assert [one["layer"] for one in document["passes"][1]["fusions"]] == [f"conv{n}" for n in range(4)]


def write_both(folder: Path) -> Path:
    """A set with the log of its build and that of its profile run."""
    write_log(folder)
    write_graph(folder / "tiny.graph.json", ["a"])
    lines = [
        "&&&& RUNNING TensorRT.trtexec [TensorRT v8601] # trtexec --loadEngine=tiny.engine",
        "[11/21/2026-10:00:00] [I] === Performance summary ===",
        "[11/21/2026-10:00:00] [I] Throughput: 100 qps",
        "[11/21/2026-10:00:00] [I] Latency: min = 9 ms, max = 11 ms, mean = 10 ms, median = 10 ms",
        "&&&& PASSED TensorRT.trtexec [TensorRT v8601] # trtexec --loadEngine=tiny.engine",
    ]
    (folder / "tiny.profile.log").write_text("\n".join(lines) + "\n")
    return folder


def test_the_log_of_a_set_is_that_of_its_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_both(tmp_path / "tiny")
    assert main(["build-log", str(folder)]) == 0
    of_set = capsys.readouterr().out
    assert main(["build-log", str(folder / "tiny.build.log")]) == 0
    assert capsys.readouterr().out == of_set
    assert of_set.startswith("Passed: engine built in 2.500 s\n")
    monkeypatch.chdir(folder)
    assert main(["build-log", "--layer", "stem"]) == 0
    assert "sm80_f16_b" in capsys.readouterr().out
    assert main(["build-log", "tiny.profile.log"]) == 0
    assert capsys.readouterr().out.startswith("Passed: engine loaded, inference measured\nTimes ")
    (folder / "tiny.build.log").unlink()
    assert main(["build-log"]) == 0
    assert "latency median 10 ms" in capsys.readouterr().out


def test_tactics_of_a_layer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each has its distance to the one in the engine, and its formats in words; those not timed have the reason."""
    folder = write_log(tmp_path)
    assert main(["build-log", str(folder), "--layer", STEM, "--top", "3"]) == 0
    lines = words(capsys.readouterr().out)
    assert lines[:2] == [STEM, "5 tactics timed in 2 combinations of formats, 1 skipped, 1.000 s (line 20)."]
    rows = [line for line in lines if line.startswith("0.")]
    assert rows[0].startswith("0.2000 0.00 chosen sm80_f16_b CaskConvolution FP16 NCHW → FP16 NCHW")
    assert rows[1].startswith("0.2020 1.00 – sm80_f16_a")
    assert lines[-1] == "3 of 6 tactics; --top 0 shows all."
    assert main(["build-log", str(folder), "--layer", "stem", "--top", "0"]) == 0
    skipped = next(line for line in words(capsys.readouterr().out) if line.endswith("0x0000000000000006"))
    assert "Scratch requested: 4096, available: 1024" in skipped
    assert main(["build-log", str(folder), "--layer", "stem", "--json"]) == 0
    document = strict_json(capsys.readouterr().out)
    assert [tuning["name"] for tuning in document["tunings"]] == [STEM]
    assert document["reformat_costs"] is None
    assert main(["build-log", str(folder), "--layer", "nothing"]) == 2
    assert "no layer 'nothing' was tuned" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Half(3136,1:8,112,4)", "FP16 NHWC8"),
        ("Float(784,784,28,1)", "FP32 NCHW"),
        ("Float(25088,1,896,32)", "FP32 NHWC"),
        ("Half(1568,49:2,7,1)", "FP16 NC/2HW2"),
        ("Int8(98,49:32,7,1)", "INT8 NC/32HW32"),
        ("Half(392,1:8,392,392)", "FP16 NHWC8"),
        ("Half(1568,1:2,1,1)", "FP16 NC/2HW2"),
        ("Float(3136,1,1,1)", "FP32 NCHW"),
        ("Half(40,20,4,2,1)", "FP16 NCDHW"),
        ("Half(512,1:2)", "FP16 /2"),
        ("Int64(1)", "INT64"),
        ("Float((* 784 E0),28,1)", "Float((* 784 E0),28,1)"),
    ],
)
def test_strides_are_decoded(text: str, words: str) -> None:
    assert decode_format(text) == words


def test_every_format_has_the_same_sections(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(write_log(tmp_path))
    titles = ["Phases", "Passes", "Tactics by layer", "Warnings and errors", "Log"]
    for form, mark in (("md", "### {}\n"), ("html", ">{}</h3>"), ("text", "\n{}\n")):
        assert main(["build-log", folder, "--format", form]) == 0
        printed = capsys.readouterr().out
        places = [printed.find(mark.format(title)) for title in titles]
        assert places == sorted(places), form
        assert places[0] > 0, form


def test_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """1 for a run that failed, 2 for a log that ends within a line; without its last banner it is incomplete."""
    log = write_log(tmp_path) / "tiny.build.log"
    log.write_text(BUILD.replace("&&&& PASSED", "&&&& FAILED"))
    assert main(["build-log", str(log)]) == 1
    assert capsys.readouterr().out.startswith("Failed\nCause ")
    log.write_text(BUILD[: BUILD.index("Chose Runner") + 5])
    assert main(["build-log", str(log)]) == 2
    captured = capsys.readouterr()
    assert "cut off" in captured.out + captured.err
    log.write_text(BUILD[: BUILD.index("&&&& PASSED")])
    assert main(["build-log", str(log)]) == 0
    assert capsys.readouterr().out.startswith("Unfinished (the log ends before trtexec does): engine built")
    assert main(["build-log", str(log), "--strict"]) == 2
    # Bytes of a damaged disk between two lines.
    half = BUILD.index("\n", len(BUILD) // 2) + 1
    log.write_bytes(BUILD[:half].encode() + bytes(range(128, 256)) * 9000 + b"\n" + BUILD[half:].encode())
    assert main(["build-log", str(log)]) == 0
    assert "has bytes that are not UTF-8" in " ".join(capsys.readouterr())
    assert main(["build-log", str(log), "--strict"]) == 2
    (tmp_path / "text.txt").write_text("hello\n")
    sample = "RAM 1/2MB (lfb 1x4MB) CPU [1%@1190,off] EMC_FREQ 0% GR3D_FREQ 9% GPU@38C VDD_IN 5542mW/5542mW\n"
    (tmp_path / "tegrastats.log").write_text(sample * 3)
    write_json(
        tmp_path / "times.json", [{"count": 1}, {"name": "a", "timeMs": 1, "averageMs": 1, "percentage": 100}]
    )
    for name, message in (
        ("text.txt", "is not a log of trtexec or a TensorRT builder"),
        ("times.json", "is a profile, not of a build; `trex-tui summary` shows it\n"),
        ("tegrastats.log", "`trex-tui summary` shows it with the layer information or times of its set"),
        ("absent.log", "No such file or directory"),
    ):
        capsys.readouterr()
        assert main(["build-log", str(tmp_path / name)]) == 2
        assert message in capsys.readouterr().err


def test_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(BUILD.encode())))
    assert main(["build-log", "-"]) == 0
    assert capsys.readouterr().out.startswith("Passed: engine built in 2.500 s\n")


ANSWERS = {
    "cases/01-enqueue-blocked/transformer.log": "enqueue median 1663.6 ms.*for 1×6032×64.*run at hidden_states 1×10816×64",
    "cases/02-tiny-batched-gemm/int8/bnudc_int8.log": r"FP32\+INT8.*workspace 2.00 KiB.*workspace:2048MiB",
    "cases/03-constraints-ignored/core.build.log": "1 no such layer.*myl3_4 .*FP16 +a kernel, no node",
    "cases/04-dla-fallback-log/build.log": r"2 layers on the DLA.*unsupported on DLA \(6\), limit of 16 subgraphs.*\(3\)",
    "cases/05-banner-command/backbone.log": r"ForeignNode.*21.0 % of 1.611 ms.*FP32\+FP16",
    "cases/06-truncated-table/ocr_logs.txt": "run 1 .*run 2 .*shown.*78.5 % of 9.438 ms.*17 % of the time are missing",
    "cases/08-fallback-of-parts/averages.log": "2.1173 to 2.1692 ms",
    "cases/08-fallback-of-parts/dynamic.log": "29.24 ms.*--shapes=x:16x40320.*27.17 ms",
    "cases/08-fallback-of-parts/skipped.log": "lack of device memory.*302 MiB free.*drop_caches",
    "cases/09-other-prefixes/ds.log": "INT8 calibration file not specified. Trying FP16 mode",
    "cases/09-other-prefixes/ds10.log": "all layers fall back: DLA needs profiles whose min, opt and max shapes are equal",
    "cases/09-other-prefixes/ort.log": "too little memory.*1.58 GiB.*trt_max_workspace_size",
    "cases/10-no-kernel-for-memory/build-8.2.log": "Failed.*needs 27.8 MiB.*--workspace=28",
    "cases/10-no-kernel-for-memory/build.log": "Failed.*needs 1.58 GiB.*set_memory_pool_limit",
    "cases/11-passed-but-not-loaded/falsepass.log": "Failed although trtexec printed PASSED.*got 10.7.0.23",
    "cases/14-old-table/alexnet.log": r"fc6 \+ relu6: 36.5 % of 6.411 ms",
    "cases/15-dla-two-outputs/dla.log": "block of 31.11 ms, timed in .* output reformatter 0",
    "cases/16-memory-of-a-load/load.log": "engine 1 to 2 MiB, activations 10.0 MiB, persistent 1.52 MiB",
    "cases/18-closed-block-claims/attn.log": "97.7 % of 5.887 ms",
    "cases/19-stability-first-screen/trt_build.log": "coefficient of variation 22.4 %.*1.9 times the median; bursts",
    "artifacts/logs/trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log": "built in 2.948 s.*tactics selection, 1.751 s",
    "artifacts/logs/trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log": "built in 9.552 s.*1 355 tactics",
    "artifacts/logs/trt8.6.0_RTX3090_loadEngine_dumpLayerInfo_verbose.log": "median 0.052002 ms.*variation 45.3 %",
    "artifacts/logs/trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log": "1.00 KiB allowed.*14.811 s.*strategy 3 is kept",
    "artifacts/logs/trt10.16.1_H100_dumpProfile_noSeparate.log": "node_conv2d_1_myl3_1: 13.7 %",
    "artifacts/logs/trt10.16.1_H100_loadEngine_cudagraph_verbose.log": "median 0.038818 ms.*24897 qps",
    "artifacts/logs/trt10.16.1_H100_skipInference_dumpLayerInfo_detailed.log": "in 8.051 s.*9 in the engine.*weights 12.5",
    "artifacts/rtx/gpt2l_fp8.rtx-sm86.log": "Failed.*fp8_e4m3, which sm86 does not have",
    "artifacts/rtx/mobilenet_v2.rtx-sm75.log": r"Failed.*Turing \(SM75\) cannot run .*no FP32 GEMM",
    "artifacts/rtx/nonzero.rtx-sm89.log": "Probably failed.*a plugin is missing: NonZero",
    "artifacts/rtx/resnet18.rtx-sm89.log": "built in 0.631 s.*subgraph compilation.*61 % of the build.*weights 44.6 MiB",
}
"""Log -> the answer to the question that it was published with."""


@pytest.mark.skipif(not ARTIFACTS.is_dir(), reason=f"no real logs at {ARTIFACTS}")
@pytest.mark.parametrize("log", ANSWERS)
def test_the_answer_is_in_the_first_ten_lines(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["build-log", str(ARTIFACTS.parent / log)])
    head = "\n".join(capsys.readouterr().out.splitlines()[:10])
    assert re.search(ANSWERS[log], head, re.DOTALL), head


def test_odd_results_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No number, no name that a terminal obeys, a table that is cut off, more than one column of averages."""
    stamp = "[06/15/2022-05:43:34] [I]"
    lines = [
        f"{stamp} === Trace details ===",
        f"{stamp} Average on 10 runs - GPU latency: 1 ms - Host latency: nan ms (end to end 4 ms, enqueue 0.5 ms)",
        f"{stamp} Average on 30 runs - GPU latency: 3 ms - Host latency: nan ms (end to end 8 ms, enqueue 0.5 ms)",
        f"{stamp} === Performance summary ===",
        f"{stamp} Throughput: 12 {EVIL} qps",
        f"{stamp} === Profile (7 iterations ) ===",
        f"{stamp}   Layer   Time (ms)   Avg. Time (ms)   Time %",
        f"{stamp}   a     7.00   1.0000   nan",
        f"{stamp}   {EVIL}    14.00   2.0000   66.7",
    ]
    path = tmp_path / "net.profile.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert main(["build-log", str(path), "--top", "1"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "Slowest layer  evil |\\u009b2J: 66.7 % of 3 ms in 2 layers" in out
    assert "Averages  2 groups of queries" in out
    assert "1 of 2 layers; --top 0 shows all." in out
