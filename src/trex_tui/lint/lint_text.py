"""Words and small sums that rules share: how a layer is called, why something was not checked, what time it is worth."""

from __future__ import annotations

import math
from collections.abc import Iterable

from trex_tui.engine.model import Layer
from trex_tui.text import printable, shorten_middle

NO_PROFILE = "no layer times: run trtexec with --exportProfile and --separateProfileRun"
NO_DETAILS = (
    "no layer details: build with --profilingVerbosity=detailed and export with --exportLayerInfo, then the layers have "
    "tensors and tactics"
)
NO_TIMING = "no timing run: run trtexec with --exportTimes, or keep its log or performance summary"
NO_BUILD_LOG = (
    "needs the verbose build log: build with trtexec --verbose and keep the output beside the other files as "
    "NAME.build.log"
)

_NAME_WIDTH = 60


def called(layer: Layer) -> str:
    """A layer's name for a sentence: harmless, and not longer than half a line."""
    return f"'{shorten_middle(printable(layer.name), _NAME_WIDTH)}'"


def whole_time(layers: Iterable[Layer]) -> dict[int, float]:
    """Stakes of layers that could go altogether: index -> milliseconds. Layers without a time are left out."""
    return {layer.index: layer.latency_ms for layer in layers if layer.latency_ms is not None}


def time_of(layers: Iterable[Layer]) -> float | None:
    """Sum of the layers' times in milliseconds; None if none of them has one."""
    known = [layer.latency_ms for layer in layers if layer.latency_ms is not None]
    return math.fsum(known) if known else None


def time_text(milliseconds: float | None, share_pct: float | None = None) -> str:
    """`0.0412 ms, 3.1 %` for the middle of a sentence; `time unknown` without a profile."""
    if milliseconds is None:
        return "time unknown"
    text = f"{milliseconds:.4g} ms"
    return text if share_pct is None else f"{text}, {share_pct:.1f} %"


def indices(layers: Iterable[Layer]) -> tuple[int, ...]:
    """Places of layers in execution order, each once."""
    return tuple(sorted({layer.index for layer in layers}))


def ran(layer: Layer) -> bool:
    """Whether it takes time as far as is known: a layer with a measured time of 0 does not, one without a profile may."""
    return layer.latency_ms is None or layer.latency_ms > 0


_TENSORRT = "https://docs.nvidia.com/deeplearning/tensorrt"
_PERFORMANCE = "https://docs.nvidia.com/deeplearning/performance"

TENSOR_CORES = (
    "TensorRT Developer Guide, Optimizing for Tensor Cores: "
    f"{_TENSORRT}/developer-guide/index.html#optimize-tensor-cores"
)
CONVOLUTION_GUIDE = (
    f"Convolutional Layers User's Guide: {_PERFORMANCE}/dl-performance-convolutional/index.html"
)
MATRIX_GUIDE = (
    "Matrix Multiplication Background User's Guide: "
    f"{_PERFORMANCE}/dl-performance-matrix-multiplication/index.html"
)
CUTLASS = (
    "CUTLASS, Functionality (Simt: CUDA cores, TensorOp: tensor cores): "
    "https://docs.nvidia.com/cutlass/media/docs/cpp/functionality.html"
)
QUANTIZED_TYPES = (
    f"TensorRT, Working with Quantized Types: {_TENSORRT}/latest/inference-library/work-quantized-types.html"
)
RESIDUAL_QDQ = (
    "TensorFlow Quantization Toolkit, Add Custom QDQ Insertion Case: "
    f"{_TENSORRT}/tensorflow-quantization-toolkit/docs/docs/add_custom_qdq_cases.html"
)
FUSIONS = f"TensorRT, Layer Fusion Catalog: {_TENSORRT}/latest/performance/fusion-catalog.html"
TRTEXEC = f"TensorRT, Command-Line Programs: {_TENSORRT}/latest/reference/command-line-programs.html"


def issue(number: int) -> str:
    """A thread of NVIDIA/TensorRT."""
    return f"NVIDIA/TensorRT#{number}: https://github.com/NVIDIA/TensorRT/issues/{number}"
