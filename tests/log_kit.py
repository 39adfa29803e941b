"""A small verbose log of TensorRT 8.6, and what a trace of a log holds apart from the lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from helpers import ARTIFACTS
from trex_tui.buildlog.lines import parse_prefix
from trex_tui.buildlog.reader import read_log
from trex_tui.buildlog.trace import BuildTrace

LOGS = ARTIFACTS / "logs"
REAL = sorted(LOGS.glob("*.log")) if LOGS.is_dir() else []
CASES = ARTIFACTS.parent / "cases"
RTX = ARTIFACTS / "rtx"
needs_logs = pytest.mark.skipif(not REAL, reason=f"no real logs at {LOGS}")
needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason=f"no cases at {CASES}")
needs_rtx = pytest.mark.skipif(not RTX.is_dir(), reason=f"no logs of TensorRT-RTX at {RTX}")
BUILD_84 = LOGS / "trt8.4.1_GTX1070_build_verbose_fp16_dynshape.log"
BUILD_86 = LOGS / "trt8.6.0_RTX3090_build_verbose_fp16_dynshape_skipInference.log"
BUILD_10 = LOGS / "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape.log"
RUN_86 = LOGS / "trt8.6.0_RTX3090_loadEngine_dumpLayerInfo_verbose.log"
RUN_10 = LOGS / "trt10.16.1_H100_loadEngine_cudagraph_verbose.log"
PROFILE_10 = LOGS / "trt10.16.1_H100_dumpProfile_noSeparate.log"

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


def number(digit: int) -> str:
    """Return the number of a tactic as a trace has it."""
    return f"0x{digit:016x}"


def read(path: Path, text: str | bytes) -> BuildTrace:
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return read_log(path)


def content(trace: BuildTrace) -> dict[str, object]:
    """What the small log states, without the lines."""
    (tuning,) = trace.tunings
    return {
        "tuned": tuning.name,
        "formats": [
            (part.inputs, part.outputs, part.chosen_runner, part.chosen_id) for part in tuning.combinations
        ],
        "tactics": [tuple(tactic) for trial in tuning.trials() for tactic in trial.tactics],
        "outcomes": [
            (trial.runner, trial.outcome, trial.seconds, len(trial.skipped)) for trial in tuning.trials()
        ],
        "passes": [
            (part.name, part.layers, [(step.rule, step.layer, step.other) for step in part.fusions])
            for part in trace.passes
        ],
        "messages": [(message.severity, message.count, message.text) for message in trace.messages],
        "layers": [layer.raw for layer in trace.layer_lists[0].layers],
        "phases": [(phase.kind, phase.seconds) for phase in trace.phases],
        "options": trace.options.build,
        "status": [(run.tensorrt_version, run.status) for run in trace.runs],
    }


LEVELS = {"V": "DEBUG", "I": "INFO", "W": "WARNING", "E": "ERROR", "": "INFO"}


def with_prefix(text: str, prefix: Callable[[str, int], str]) -> str:
    """The lines of a log behind a prefix made of their level and their number."""
    lines = enumerate(text.splitlines())
    return "".join(f"{prefix(LEVELS[parse_prefix(line).severity], place)}{line}\n" for place, line in lines)
