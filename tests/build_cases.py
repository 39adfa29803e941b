"""A small verbose log of TensorRT 8.6, of the engine that `small_engines.small_engine` writes."""

from __future__ import annotations

from pathlib import Path

STEM = "/stem/conv/Conv + /stem/relu/Relu"
HEAD = "/head/fc/Gemm"
GONE = "/gone/Conv"
HALF, FLOAT = "Half(4096,1024,32,1)", "Float(4096,1024,32,1)"


def trial(
    layer: str, kind: str, seconds: float, fastest: int, *timed: tuple[str, int, float], more: str = ""
) -> str:
    """The lines of one runner: name, number and time of its tactics, and `more`."""
    runner = f"{layer} ({kind}[0x80000009])"
    lines = [f"--------------- Timing Runner: {runner}"]
    lines += [f"Tactic Name: {name} Tactic: 0x{number:016x} Time: {time}" for name, number, time in timed]
    lines += [more] if more else []
    best = next(time for _, number, time in timed if number == fastest)
    done = f"{runner} profiling completed in {seconds} seconds."
    return "\n".join([*lines, f"{done} Fastest Tactic: 0x{fastest:016x} Time: {best}"])


def formats(name: str) -> str:
    return f"*************** Autotuning format combination: {name} -> {name} ***************"


CONV = "CaskConvolution"
F16 = ("sm80_f16_a", 3, 0.202), ("sm80_f16_b", 4, 0.2), ("sm80_f16_c", 5, 0.9)
SKIPPED = f"Tactic: 0x{6:016x} skipped. Scratch requested: 4096, available: 1024"
TUNED = f"""\
=============== Computing costs for
{formats(FLOAT)}
{trial(STEM, CONV, 0.25, 2, ("sm80_f32_a", 1, 0.5), ("sm80_f32_b", 2, 0.4))}
--------------- Timing Runner: {STEM} (CudnnConvolution[0x80000009])
CudnnConvolution has no valid tactics for this config, skipping
>>>>>>>>>>>>>>> Chose Runner Type: {CONV} Tactic: 0x{2:016x}
{formats(HALF)}
{trial(STEM, CONV, 0.75, 4, *F16, more=SKIPPED)}
>>>>>>>>>>>>>>> Chose Runner Type: {CONV} Tactic: 0x{4:016x}
=============== Computing costs for
{formats(HALF)}
{trial(HEAD, "CaskGemmConvolution", 0.5, 7, ("gemm_a", 7, 0.3), ("gemm_b", 8, 0.6))}
>>>>>>>>>>>>>>> Chose Runner Type: CaskGemmConvolution Tactic: 0x{7:016x}
=============== Computing costs for
{formats(HALF)}
{trial(GONE, CONV, 0.125, 9, ("k", 9, 0.1))}
>>>>>>>>>>>>>>> Chose Runner Type: {CONV} Tactic: 0x{9:016x}
"""
PASSES = """\
Original: 12 layers
Running: ConvReluFusion on /stem/conv/Conv
ConvReluFusion: Fusing /stem/conv/Conv with /stem/relu/Relu
After vertical fusions: 11 layers
After reformat layers: 12 layers
"""


def log_text(verbose: str = "") -> str:
    """The log as trtexec prints it, with these lines of a verbose one."""
    stamp = "[11/21/2026-10:00:0{}] [{}] "
    option = " --verbose" if verbose else ""
    banner = f"TensorRT.trtexec [TensorRT v8601] # trtexec --onnx=tiny.onnx --saveEngine=tiny.engine{option}"
    head = """\
=== Build Options ===
Precision: FP32+FP16
Memory Pools: workspace: 1024 MiB

=== Device Information ===
Selected Device: NVIDIA Test GPU

TensorRT version: 8.6.1
[TRT] [MemUsageChange] Init CUDA: CPU +100, GPU +0, now: CPU 200, GPU 500 (MiB)
[TRT] [MemUsageChange] Init cuDNN: CPU +50, GPU +100, now: CPU 250, GPU 600 (MiB)"""
    lines = [f"&&&& RUNNING {banner}", *(stamp.format(0, "I") + line for line in head.split("\n"))]
    said = [("W", "Layer 7 is odd"), ("W", "Layer 8 is odd"), ("E", "Something broke")]
    said += [("V", line) for line in verbose.splitlines()]
    lines += [f"{stamp.format(2, severity)}[TRT] {line}" for severity, line in said]
    lines += [stamp.format(4, "I") + "Engine built in 2.5 sec.", f"&&&& PASSED {banner}"]
    return "\n".join(lines) + "\n"


BUILD = log_text(f"{PASSES}{TUNED}Formats and tactics selection completed in 1.75 seconds.")
QUIET = log_text()


def write_log(folder: Path, text: str = BUILD) -> Path:
    """The log of `tiny`; returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tiny.build.log").write_text(text, encoding="utf-8")
    return folder
