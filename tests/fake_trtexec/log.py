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
        self.command = " ".join([release.program, *arguments])

    def banner(self, word: str) -> None:
        self.raw(f"&&&& {word} TensorRT.{self.release.program} {self.release.tag} # {self.command}")

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

    def section(self, title: str, pairs: list[tuple[str, object]], *, end: bool = False) -> None:
        self.info(f"=== {title} ===", *(f"{key}: {value}" for key, value in pairs))
        if end:
            self.info("")


def options_section(log: Log, options: dict[str, list[str]]) -> None:
    """Model, build, system, inference and reporting options."""
    release = log.release

    def one(flag: str, default: str = "") -> str:
        return options.get(flag, [default])[-1]

    def enabled(flag: str) -> str:
        return "Enabled" if flag in options else "Disabled"

    loads = "--loadEngine" in options
    model: list[tuple[str, object]] = [("Format", "*" if loads else "ONNX"), ("Model", one("--onnx"))]
    log.section("Model Options", [*model, ("Output", "")], end=not release.before(10, 0, 0))
    if not loads or release.before(9, 0, 0):
        log.section("Build Options", _build_pairs(release, options, one, enabled))
    plugins = "Plugins" if release.before(10, 16, 0) else "Loaded static plugins"
    system = [("Device", one("--device", "0")), ("DLACore", one("--useDLACore")), (plugins, "")]
    log.section("System Options", system, end=not release.before(8, 6, 0))
    eleven = not release.before(11, 0, 0)
    transfers = "--includeDataTransfers" in options if eleven else "--noDataTransfers" not in options
    graph = release.uses_graph(options)
    inference = [
        ("Batch", "Explicit"),
        ("Input inference shapes", one("--shapes", "model")),
        ("Iterations", one("--iterations", "10")),
        ("Duration", f"{one('--duration', '3')}s (+ {one('--warmUp', '200')}ms warm up)"),
        (
            "Streams" if release.before(8, 6, 0) else "Inference Streams",
            one("--infStreams", one("--streams", "1")),
        ),
        ("Data transfers", "Enabled" if transfers else "Disabled"),
        ("Spin-wait", "Enabled" if eleven else enabled("--useSpinWait")),
        ("CUDA Graph", "Enabled" if graph else "Disabled"),
    ]
    if not eleven:
        inference.append(("Separate profiling", enabled("--separateProfileRun")))
    log.section("Inference Options", [*inference, ("Inputs", "")])
    percentiles = one("--percentile", "99" if release.before(8, 5, 0) else "90,95,99")
    reporting = [
        ("Verbose", enabled("--verbose")),
        ("Averages", f"{one('--avgRuns', '10')} inferences"),
        ("Percentile" if release.before(8, 5, 0) else "Percentiles", percentiles),
        ("Export timing to JSON file", one("--exportTimes")),
    ]
    log.section("Reporting Options", reporting, end=True)


def _build_pairs(release: Release, options, one, enabled) -> list[tuple[str, object]]:
    names = {"--fp16": "FP16", "--bf16": "BF16", "--int8": "INT8", "--fp8": "FP8", "--int4": "INT4"}
    precision = "+".join(["FP32", *(name for flag, name in names.items() if flag in options)])
    if "--stronglyTyped" in options or not release.before(11, 0, 0):
        precision = "Strongly Typed"
    workspace = one("--memPoolSize", "workspace:default").partition(":")[2]
    pools = f"workspace: {workspace} MiB, dlaSRAM: default, dlaLocalDRAM: default, dlaGlobalDRAM: default"
    pairs: list[tuple[str, object]] = []
    if release.before(10, 0, 0):
        pairs.append(("Max batch", "explicit batch"))
    pairs.append(
        ("Workspace", f"{one('--workspace', '16')} MiB")
        if release.before(8, 4, 0)
        else ("Memory Pools", pools)
    )
    pairs += [("avgTiming", 8), ("Precision", precision)]
    if not release.before(8, 6, 0):
        pairs.append(("Tempfile Controls", "{ in_memory: allow, temporary: allow }"))
    skip = "Skip inference" if not release.before(8, 6, 0) else "Build only"
    pairs += [
        (skip, "Enabled" if {"--skipInference", "--buildOnly"} & set(options) else "Disabled"),
        ("Save engine", one("--saveEngine")),
        ("Load engine", one("--loadEngine")),
        ("Profiling verbosity", 2 if one("--profilingVerbosity") == "detailed" else 0),
        ("timingCacheFile", one("--timingCacheFile")),
        ("Input(s)s format", "fp32:CHW"),
        ("Refit", enabled("--refit")),
    ]
    return pairs


def device_section(log: Log) -> None:
    release = log.release
    uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef"
    pairs: list[tuple[str, object]] = [("Selected Device", "NVIDIA GeForce RTX 3060 Laptop GPU")]
    if not release.before(9, 1, 0):
        first = ("  Device 0", f'"NVIDIA GeForce RTX 3060 Laptop GPU" UUID: {uuid}')
        pairs = [
            ("Available Devices", ""),
            first,
            *pairs,
            ("Selected Device ID", 0),
            ("Selected Device UUID", uuid),
        ]
    clock = "" if release.before(8, 6, 0) else "Application "
    pairs += [
        ("Compute Capability", "8.6"),
        ("SMs", 30),
        ("Device Global Memory", "5938 MiB"),
        ("Shared Memory per SM", "100 KiB"),
        ("Memory Bus Width", "192 bits (ECC disabled)"),
        (f"{clock}Compute Clock Rate", "1.425 GHz"),
        (f"{clock}Memory Clock Rate", "7.001 GHz"),
    ]
    if not release.is_rtx:
        log.section("Device Information", pairs, end=True)
    log.info(f"TensorRT version: {release.version}")
    log.trt("I", "[MemUsageChange] Init CUDA: CPU +2, GPU +0, now: CPU 17, GPU 1021 (MiB)")


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
