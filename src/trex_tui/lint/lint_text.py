"""Text that rules share: names and times for sentences, why something was not checked, public documents."""

from __future__ import annotations

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
TIMED_ALONE = "The builder measured each tactic alone, a few times: its times are no latencies of the engine."

_NAME_WIDTH = 60


def quote(name: str) -> str:
    """A name for a sentence: harmless, and not longer than half a line."""
    return f"'{shorten_middle(printable(name), _NAME_WIDTH)}'"


def quote_layer(layer: Layer) -> str:
    """A layer's name for a sentence."""
    return quote(layer.name)


def latencies(layers: Iterable[Layer]) -> dict[int, float]:
    """What could be won if layers went altogether: index -> milliseconds. Layers without a time are left out."""
    return {layer.index: layer.latency_ms for layer in layers if layer.latency_ms is not None}


def format_time(milliseconds: float | None, share_pct: float | None = None) -> str:
    """`0.0412 ms, 3.1 %` for the middle of a sentence; `time unknown` without a profile."""
    if milliseconds is None:
        return "time unknown"
    text = f"{milliseconds:.4g} ms"
    return text if share_pct is None else f"{text}, {share_pct:.1f} %"


def takes_time(layer: Layer) -> bool:
    """Whether it takes time as far as is known: a layer with a measured time of 0 does not, one without a profile may."""
    return layer.latency_ms is None or layer.latency_ms > 0


# Public documents that rules refer to, by name and address.

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
COMMAND_LINE_PROGRAMS = (
    "Command-Line Programs (trtexec): "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html"
)
BEST_PRACTICES = (
    "Best Practices for TensorRT Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/best-practices.html"
)
BUILDER_PERFORMANCE = (
    "Optimizing Builder Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/builder-performance.html"
)
FUSION_CATALOG = (
    "Layer Fusion Catalog, TensorRT documentation: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/fusion-catalog.html"
)
WORKSPACE_FAQ = (
    "Frequently Asked Questions, workspace size: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/troubleshooting-faq.html"
)


def issue(number: int) -> str:
    """A thread of NVIDIA/TensorRT."""
    return f"NVIDIA/TensorRT#{number}: https://github.com/NVIDIA/TensorRT/issues/{number}"
