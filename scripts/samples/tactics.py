"""The autotuner's part of a build log: which kernels were timed for a layer, and which was chosen."""

from __future__ import annotations

import re

from samples import cpp
from samples.logbook import Log
from samples.model import Layer

_TILE = re.compile(r"tilesize\d+x\d+x\d+_stage\d+")
_CUDNN_TILE = re.compile(r"_\d+x\d+_")
_WINDOW = re.compile(r"WINDOWSIZE_\d+|kMAX_\d+")
_TILES = ("256x64x32_stage3", "128x128x32_stage4", "64x128x64_stage3", "32x64x64_stage5", "128x32x64_stage4")
_RUNNER_IDS = {"CaskConvolution": "0x80000009", "CaskPooling": "0x8000002f", "Myelin": "0x80000023"}
_OTHER_RUNNERS = {
    "CaskConvolution": ("CudaDepthwiseConvolution", "FusedConvActConvolution"),
    "CudaPooling": ("CudnnPooling",),
    "TiledPooling": ("CudaPooling",),
}


def rivals(kernel: str) -> list[str]:
    """Other kernels of the same family that could be timed against this one."""
    if _TILE.search(kernel):
        return [_TILE.sub(f"tilesize{tile}", kernel) for tile in _TILES]
    if "pooling" in kernel:
        return [_WINDOW.sub("WINDOWSIZE_0", kernel), kernel.replace("NOT_PROPAGATE", "PROPAGATE") + "_3D"]
    return [_CUDNN_TILE.sub(f"_{tile}_", kernel) for tile in ("128x32", "128x128", "256x64")]


def _timed(layer: Layer) -> list[tuple[str, str, float]]:
    """(kernel, tactic, ms) of what was timed; the engine's own choice is the fastest but not the first."""
    noise = cpp.Noise(f"tactics {layer.name}")
    best = layer.average_ms * noise.uniform(0.93, 0.99)
    if not layer.tactic_name:
        ids = [f"0x{number:016x}" for number in (0, 1, 2)]
        others = [("", one, best * noise.uniform(1.05, 2.4)) for one in ids if one != layer.tactic_value]
    else:
        names = [name for name in rivals(layer.tactic_name) if name != layer.tactic_name]
        others = [(name, cpp.tactic_value(name), best * noise.uniform(1.03, 2.6)) for name in names]
    middle = len(others) // 2
    chosen = (layer.tactic_name, layer.tactic_value, best)
    return [*others[:middle], chosen, *others[middle:]]


def write_autotuning(log: Log, layer: Layer, release: int) -> None:
    """All messages about one layer in its chosen formats."""
    head = f" {layer.name}" if release >= 1000 else " "
    log.trt(f"=============== Computing costs for{head}")
    sources = ", ".join(tensor.strides_text for tensor in layer.inputs)
    targets = ", ".join(tensor.strides_text for tensor in layer.outputs)
    log.trt(f"*************** Autotuning format combination: {sources} -> {targets} ***************")
    if release < 806:
        for runner in _OTHER_RUNNERS.get(layer.kind, ()):
            log.trt(f"--------------- Timing Runner: {layer.name} ({runner})")
            log.trt(f"{runner} has no valid tactics for this config, skipping")
        _write_old(log, layer)
    else:
        _write_new(log, layer)
        for runner in ("CaskFlattenConvolution",) if layer.kind == "CaskConvolution" else ():
            log.trt(f"Skipping {runner}: No valid tactics for {layer.name}")
    log.trt(f">>>>>>>>>>>>>>> Chose Runner Type: {layer.kind} Tactic: {layer.tactic_value}")


def _write_old(log: Log, layer: Layer) -> None:
    """Up to 8.5: a kernel is named before it is timed."""
    log.trt(f"--------------- Timing Runner: {layer.name} ({layer.kind})")
    for kernel, tactic, ms in _timed(layer):
        if kernel:
            log.trt(f"{layer.name} Set Tactic Name: {kernel} Tactic: {tactic}")
        log.trt(f"Tactic: {tactic} Time: {cpp.text(ms)}")
    log.trt(f"Fastest Tactic: {layer.tactic_value} Time: {_fastest(layer)}")


def _write_new(log: Log, layer: Layer) -> None:
    """From 8.6 on: name, tactic and time on one line, and the time that the search took."""
    runner = f"{layer.name} ({layer.kind}[{_RUNNER_IDS.get(layer.kind, '0x80000010')}])"
    log.trt(f"--------------- Timing Runner: {runner}")
    timed = _timed(layer)
    for kernel, tactic, ms in timed:
        named = f"Tactic Name: {kernel} " if kernel else ""
        log.trt(f"{named}Tactic: {tactic} Time: {cpp.text(ms)}")
    took = cpp.text(0.0123 * len(timed))
    fastest = f"Fastest Tactic: {layer.tactic_value} Time: {_fastest(layer)}"
    log.trt(f"{runner} profiling completed in {took} seconds. {fastest}")


def _fastest(layer: Layer) -> str:
    return cpp.text(min(ms for _, _, ms in _timed(layer)))


def write_reformat_autotuning(log: Log, layer: Layer, release: int) -> None:
    """The three ways to make a copy, timed for an inserted reformat."""
    source, target = layer.inputs[0], layer.outputs[0]
    noise = cpp.Noise(f"reformat {layer.name}")
    if release >= 1000:
        log.trt("=============== Computing reformatting costs for available format set")
    log.trt(f"=============== Computing reformatting costs{':' if release >= 1000 else ''}")
    log.trt(
        f"*************** Autotuning Reformat: {source.strides_text} -> {target.strides_text} ***************"
    )
    runner = f"Optimizer Reformat({source.name} -> <out>) (Reformat"
    log.trt(f"--------------- Timing Runner: {runner}{'[0x80000006])' if release >= 806 else ')'}")
    best = layer.average_ms * 0.96
    times = {layer.tactic_value: best}
    for tactic in ("0x00000000000003e8", "0x00000000000003ea", "0x0000000000000000"):
        times.setdefault(tactic, best * noise.uniform(1.1, 3.0))
        log.trt(f"Tactic: {tactic} Time: {cpp.text(times[tactic])}")
    fastest = f"Fastest Tactic: {layer.tactic_value} Time: {cpp.text(best)}"
    if release >= 806:
        fastest = f"{runner}[0x80000006]) profiling completed in 0.00842173 seconds. {fastest}"
    log.trt(fastest)


def write_myelin_table(log: Log, layer: Layer) -> None:
    """Myelin's own search for a matrix product: a sorted table, the chosen kernel first."""
    noise = cpp.Noise(f"myelin {layer.name}")
    onnx = layer.extra["Metadata"]
    log.trt(f" (foreignNode) Autotuning op {layer.name.rsplit('_myl', 1)[0]}: {onnx}")
    log.trt(" (foreignNode) Sorted table of all evaluated tactics:")
    log.trt(
        " (foreignNode) tactic_id, cost(in ms), cost/fastest_cost, prediction_correlation, kernel_name, tactic_hash, "
        "tunable_parameter"
    )
    names = [layer.tactic_name]
    names += (
        rivals(layer.tactic_name)[:4]
        if _TILE.search(layer.tactic_name)
        else [
            layer.tactic_name.replace("param4x32x32", f"param{one}")
            for one in ("8x32x32", "4x16x32", "2x64x32")
        ]
    )
    ratio = 1.0
    for number, name in enumerate(names):
        cost = layer.average_ms * 0.96 * ratio
        kernel_hash = cpp.digest(f"myelin {name}", 13)
        correlation = noise.uniform(0.7, 1.0)
        log.trt(
            f" (foreignNode) {number:4d}, {cost:.7f}, {ratio:.5f}, {correlation:.5f}, {name}, 0x{kernel_hash},"
        )
        ratio += noise.uniform(0.02, 0.3)
