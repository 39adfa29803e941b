"""The log: lines as trtexec and libnvinfer of a release print them, in their order."""

from __future__ import annotations

import sys

from release import Release

STAMP = "[07/07/2026-02:11:26]"
LAYERS = ("conv1 + relu1", "pool1", "conv2 + relu2", "fc1", "softmax")
"""The network that every engine holds."""


class Log:
    """Writes lines at once: V and I to stdout, the others to stderr."""

    def __init__(self, release: Release, arguments: list[str], *, verbose: bool) -> None:
        self.release = release
        self.verbose = verbose
        self.command = " ".join(["trtexec", *arguments])

    def banner(self, word: str) -> None:
        self.raw(f"&&&& {word} TensorRT.trtexec {self.release.tag} # {self.command}")

    def raw(self, text: str, *, stream: str = "stdout") -> None:
        data = (text + "\n").encode("utf-8", errors="surrogateescape")
        out = getattr(sys, stream).buffer
        out.write(data)
        out.flush()

    def line(self, severity: str, text: str) -> None:
        if severity != "V" or self.verbose:
            self.raw(f"{STAMP} [{severity}] {text}", stream="stderr" if severity in "WEF" else "stdout")

    def info(self, *texts: str) -> None:
        for text in texts:
            self.line("I", text)

    def trt(self, severity: str, *texts: str) -> None:
        for text in texts:
            self.line(severity, f"[TRT] {text}")

    def section(self, title: str, pairs: list[tuple[str, object]]) -> None:
        self.info(f"=== {title} ===", *(f"{key}: {value}" for key, value in pairs))


def options_section(log: Log, options: dict[str, list[str]]) -> None:
    """Options of the model, the build and the run, and the device."""
    release = log.release

    def one(flag: str, default: str = "") -> str:
        return options.get(flag, [default])[-1]

    loads = "--loadEngine" in options
    names = {"--fp16": "FP16", "--bf16": "BF16", "--int8": "INT8", "--fp8": "FP8", "--int4": "INT4"}
    precision = "+".join(["FP32", *(name for flag, name in names.items() if flag in options)])
    log.section("Model Options", [("Format", "*" if loads else "ONNX"), ("Model", one("--onnx"))])
    if not loads:
        log.section(
            "Build Options", [("Precision", precision), ("timingCacheFile", one("--timingCacheFile"))]
        )
    log.section("System Options", [("Device", one("--device", "0")), ("DLACore", one("--useDLACore"))])
    run = [
        ("Input inference shapes", one("--shapes", "model")),
        ("Duration", f"{one('--duration', '3')}s (+ {one('--warmUp', '200')}ms warm up)"),
        ("CUDA Graph", "Enabled" if release.uses_graph(options) else "Disabled"),
    ]
    log.section("Inference Options", run)
    device: list[tuple[str, object]] = [("Selected Device", "NVIDIA GeForce RTX 3060 Laptop GPU")]
    if not release.before(9, 1, 0):
        device.append(("Selected Device UUID", "GPU-01234567-89ab-cdef-0123-456789abcdef"))
    log.section("Device Information", [*device, ("Compute Capability", "8.6"), ("SMs", 30)])
    log.info("", f"TensorRT version: {release.version}")


def tuning(log: Log, layer: str) -> None:
    """What a verbose build prints while it times the tactics of a layer."""
    release = log.release
    head = "=============== Computing costs for "
    log.trt("V", head + ("" if release.before(10, 0, 0) else layer))
    runner = "CaskConvolution" if release.before(8, 6, 0) else "CaskConvolution[0x80000009]"
    log.trt("V", f"--------------- Timing Runner: {layer} ({runner})")
    for tactic, time in ((0x1A2B, 0.0123), (0x3C4D, 0.0117)):
        if release.before(8, 6, 0):
            log.trt("V", f"Tactic: 0x{tactic:016x} Time: {time}")
        else:
            log.trt("V", f"Tactic Name: sm80_xmma_fprop_{tactic:x} Tactic: 0x{tactic:016x} Time: {time}")
    if release.before(8, 6, 0):
        log.trt("V", "Fastest Tactic: 0x0000000000003c4d Time: 0.0117")
    else:
        done = f"{layer} ({runner}) profiling completed in 0.01 seconds. Fastest Tactic: 0x0000000000003c4d Time: 0.0117"
        log.trt("V", done)


def summary(log: Log, percentiles: list[str], *, transfers: bool) -> None:
    def numbers(*values: float) -> str:
        names = ("min", "max", "mean", "median")
        parts = [f"{name} = {value:g} ms" for name, value in zip(names, values, strict=True)]
        return ", ".join(parts + [f"percentile({p}%) = {values[1]:g} ms" for p in percentiles])

    copies = numbers(0.05, 0.06, 0.055, 0.055) if transfers else numbers(0, 0, 0, 0)
    log.info("=== Performance summary ===", "Throughput: 2012.22 qps")
    log.info(f"Latency: {numbers(0.490234, 0.500977, 0.495324, 0.495605)}")
    if log.release.before(8, 4, 0):
        log.info(f"End-to-End Host Latency: {numbers(0.9, 1.0, 0.95, 0.95)}")
    log.info(f"Enqueue Time: {numbers(0.001, 0.02, 0.002, 0.0015)}", f"H2D Latency: {copies}")
    log.info(f"GPU Compute Time: {numbers(0.490234, 0.500977, 0.495324, 0.495605)}", f"D2H Latency: {copies}")
    log.info("Total Host Walltime: 3.00117 s", "Total GPU Compute Time: 2.99126 s")
    log.info("Explanations of the performance metrics are printed in the verbose logs.", "")
