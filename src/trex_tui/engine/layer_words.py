"""Words in types and names of layers: LayerType of the file, and the operators that Myelin abbreviates in names of kernels.

NVIDIA publishes no list of the abbreviations: they are read off real engines, whose metadata state the ONNX nodes of each
kernel, and off names in public reports. They have four letters from TensorRT 10.0 on, and three before.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Word(NamedTuple):
    """A word of TensorRT.

    Attributes:
        name: As in files.
        definition: Sentences, the answer in the first.
        labels: Other names with the same meaning.
    """

    name: str
    definition: str
    labels: tuple[str, ...] = ()


GENERATED = re.compile(r"_*__myl_(?P<operators>[A-Z][A-Za-z]*)_")
"""Name of a kernel that Myelin generated."""
OPERATORS = {
    "Abs": "absolute value",
    "Add": "add",
    "And": "logical and",
    "Argm": "index of the maximum or minimum",
    "Bmm": "batched matrix product",
    "Bott": "bottom k",
    "Cast": "cast",
    "Ceil": "round up",
    "Clip": "clip",
    "Conc": "concatenate",
    "Copy": "copy",
    "Corr": "convolution",
    "Cos": "cosine",
    "Cums": "running sum",
    "Div": "divide",
    "Dot": "matrix product",
    "Eql": "equal",
    "Erf": "error function",
    "Exp": "exponential",
    "Fc": "fully connected",
    "Floo": "round down",
    "Gath": "gather",
    "Gemm": "matrix product",
    "Gnor": "group norm",
    "Grid": "grid sample",
    "Gtr": "greater than",
    "Inor": "instance norm",
    "Iota": "sequence of numbers",
    "Log": "logarithm",
    "Lt": "less than",
    "Max": "maximum",
    "Maxr": "maximum along an axis",
    "Mean": "mean",
    "Min": "minimum",
    "Minr": "minimum along an axis",
    "Mma": "matrix product on Tensor Cores",
    "Move": "copy",
    "Mul": "multiply",
    "Neg": "negate",
    "Not": "logical not",
    "Or": "logical or",
    "Pad": "pad",
    "Pow": "power",
    "Prod": "product along an axis",
    "Quan": "quantize",
    "Relu": "ReLU",
    "Repl": "replicate",
    "Res": "reshape or resize",
    "Resh": "reshape",
    "Resi": "resize",
    "Reve": "reverse",
    "Roun": "round",
    "Rsqr": "reciprocal square root",
    "Scat": "scatter",
    "Sele": "select",
    "Shuf": "shuffle",
    "Sigm": "sigmoid",
    "Silu": "SiLU",
    "Sin": "sine",
    "Slic": "slice",
    "Sqrt": "square root",
    "Sub": "subtract",
    "Sum": "sum",
    "Tanh": "hyperbolic tangent",
    "Topk": "top k",
    "Tran": "transpose",
}
"""Operators in names of generated kernels, as Myelin abbreviates them."""
_LEAST_LETTERS = 3
_TOKEN = re.compile(r"[A-Z][a-z]*")
CONTINUATION = "Etc"
"""End of the name of a generated kernel that has further operators."""


@lru_cache(maxsize=4096)  # few different ones; the names differ in numbers
def split_operators(text: str) -> tuple[str, ...]:
    """Return the operators in the name of a generated kernel, as in `OPERATORS` where they are known.

    >>> split_operators("CasMeaSubMul"), split_operators("CastMean")
    (('Cast', 'Mean', 'Sub', 'Mul'), ('Cast', 'Mean'))
    """
    return tuple(map(_complete, _TOKEN.findall(text)))


def _complete(token: str) -> str:
    if token in OPERATORS or len(token) < _LEAST_LETTERS:
        return token
    whole = [name for name in OPERATORS if name.startswith(token)]
    return whole[0] if len(whole) == 1 else token


LAYER_TYPES = (
    Word("CaskConvolution", "Convolution by a prebuilt kernel of NVIDIA's kernel library (CASK), with what "
        "is fused into it: bias, activation, sum. The tactic names the kernel.",
        labels=("Convolution", "CaskFlattenConvolution", "CudnnConvolution", "conv")),
    Word("CaskGemmConvolution", "Convolution of size 1×1, computed as a matrix product by a prebuilt kernel.",
        labels=("CublasConvolution", "GemmConvolution")),
    Word("CaskDeconvolution", "Transposed convolution by a prebuilt kernel.",
        labels=("Deconvolution", "deconv", "CaskDeconvolutionV2", "CudnnDeconvolution", "GemmDeconvolution")),
    Word("CudaDepthwiseConvolution", "Depthwise convolution: each channel has its own filter."),
    Word("FusedConvActConvolution", "Convolution and its activation in one kernel that is made for the "
        "pair."),
    Word("ConvActPool", "Convolution, activation and pooling in one kernel.",
        labels=("conv_act_pool", "CaskConvActPool")),
    Word("correlation", "Convolution as Myelin names it: the filter is not flipped."),
    Word("gemm", "Matrix product, from MatMul, Gemm or a 1×1 convolution.",
        labels=("MatrixMultiply", "CaskGemmMatrixMultiply", "CublasMatrixMultiply", "FullyConnected", "CublasLt",)),
    Word("fusion", "Several operators in one kernel of Myelin, usually around a matrix product."),
    Word("runtime_fusion", "Matrix product or convolution with what is fused into it, as one kernel that "
        "TensorRT-RTX compiles on the device.", labels=("runtime_function",)),
    Word("memset", "Memory filled with a value, such as the start of a sum or of a state."),
    Word("cjmp", "Conditional jump: an earlier target closes a loop, a later one passes over a branch.",
        labels=("jmp",)),
    Word("copy", "Copy of a tensor, also between device (`d2h`) and host (`h2d`)."),
    Word("kgen", "Kernel that Myelin generated for several operators. Its name spells them: "
        "`__myl_MulSumAdd` multiplies, sums and adds.", labels=("KGEN", "generated kernel")),
    Word("kgen_mha", "Generated kernel of multi-head attention: both matrix products and the softmax between "
        "them in one kernel.", labels=("mha", "fMHA", "Attention", "MultiHeadAttention")),
    Word("Myelin", "TensorRT's compiler that generates kernels for whole subgraphs, such as transformer "
        "blocks. A layer of this type is a whole subgraph (`{ForeignNode[a...b]}`) whose kernels are not "
        "listed."),
    Word("MyelinReformat", "Change of layout or type at the edge of a Myelin subgraph."),
    Word("dla", "Subgraph that runs on the deep learning accelerator of a Jetson, as one layer.",
        labels=("DLA",)),
    Word("Reformat", "Copy of a tensor to another layout or type, because two layers want different ones. It "
        "computes nothing."),
    Word("NoOp", "Layer that is listed but does not run: its tensor is only seen under another shape or "
        "name."),
    Word("Scale", "Multiply, add and power per channel or element; also a lone quantization or batch norm."),
    Word("PointWiseV2", "Operators that work element by element (add, ReLU, sigmoid, …), fused into one "
        "generated kernel.", labels=("PointWise", "Activation", "ParametricReLU")),
    Word("ElementWise", "Operation on two tensors, element by element: sum, product, maximum."),
    Word("Unary", "Operation on one tensor, element by element: exponential, square root, negation."),
    Word("CaskPooling", "Pooling by a prebuilt kernel.",
        labels=("Pooling", "maxpool", "avgpool", "CudnnPooling", "CudaPooling", "TiledPooling", "pool")),
    Word("CudaSoftMax", "Softmax along one axis.",
        labels=("SoftMax", "SoftMaxV2", "CudaSoftMaxV2", "RaggedSoftMax", "LogSoftmaxTopK")),
    Word("Reduce", "Sum, mean, maximum or product along axes."),
    Word("TopK", "The k largest or smallest elements along an axis, and their indices."),
    Word("Cumulative", "Running sum along an axis."),
    Word("Normalization", "Layer, instance, group or RMS norm in one kernel.",
        labels=("LRN", "InstanceNormalization")),
    Word("Shuffle", "Transpose and reshape.", labels=("Reshape", "Transpose", "Identity", "ReverseSequence")),
    Word("Slice", "Part of a tensor, with steps."),
    Word("Gather", "Elements of a tensor by a tensor of indices."),
    Word("Scatter", "Elements written into a tensor at indices."),
    Word("Padding", "Zeros or other values around a tensor."),
    Word("Concatenation", "Tensors joined along an axis. Often removed: producers write into one tensor.",
        labels=("Concat",)),
    Word("Resize", "Scaling of a tensor by interpolation.", labels=("CaskResize",)),
    Word("GridSample", "Interpolation of a tensor at given points."),
    Word("Constant", "Tensor that is part of the engine."),
    Word("Fill", "Tensor filled with a constant, a sequence or random numbers."),
    Word("Quantize", "Conversion to INT8, FP8, INT4 or FP4 with a scale.", labels=("DynamicQuantize",)),
    Word("Dequantize", "Conversion from a quantized type back to floating point."),
    Word("Cast", "Conversion to another type."),
    Word("Select", "Elements of one of two tensors, by a condition."),
    Word("NonZero", "Indices of the elements that are not 0. Their number is known only when it runs."),
    Word("OneHot", "Tensor with a one at each index, and zeros elsewhere."),
    Word("NMS", "Non-maximum suppression: the best of boxes that overlap."),
    Word("Loop", "Repeated part of the network.",
        labels=("LoopOutput", "TripLimit", "Recurrence", "Iterator")),
    Word("Conditional", "Part of the network that runs by a condition.", labels=("If", "Condition")),
    Word("Assertion", "Check of a condition when the engine is built or runs. It computes nothing."),
    Word("Einsum", "Sum of products by an index formula."),
    Word("PluginV2", "Operator from a plugin library, as registered by its author. TensorRT neither fuses "
        "nor times what is inside.",
        labels=("PluginV3", "PluginV2DynamicExt", "PluginV2IOExt", "PluginV2Ext", "Plugin")),
    Word("signal", "Mark in a stream that another stream waits for. It computes nothing."),
    Word("wait", "Wait of a stream for the signal of another. Its time is that of the other stream's work."),
    Word("shape_call", "Computation of shapes on the host, for dynamic shapes.",
        labels=("Shape", "ShapeHostTo")),
    Word("DeviceToShapeHost", "Copy of a shape between device and host, for shapes that depend on data.",
        labels=("DeviceToShapeHostCopy", "ShapeHostToDevice", "ShapeHostToDeviceCopy", "ShapeHostToDeviceNative",)),
    Word("TrainStation", "Point at which an engine synchronizes with the host, for shapes that depend on "
        "data."),
)  # fmt: skip
"""Types of layers."""


_BY_NAME = {name.casefold(): word for word in LAYER_TYPES for name in (*word.labels, word.name)}


def find_layer_type(*types: str | None) -> Word | None:
    """The word of the first type that has one."""
    return next((word for type_ in types if type_ and (word := _BY_NAME.get(type_.casefold()))), None)
