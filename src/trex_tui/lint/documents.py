"""Public documents that rules refer to, by name and address."""

from __future__ import annotations

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
