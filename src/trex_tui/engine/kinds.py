"""One small vocabulary for what a layer does, over Cask, Cuda, Cudnn, Myelin, DLA and plugin layers alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from trex_tui.engine.dtypes import DataType


class LayerKind(str, Enum):
    """What a layer does. The values are the vocabulary of `by_kind` and of the frame's column `kind`."""

    CONVOLUTION = "convolution"
    """Convolutions and deconvolutions, with whatever is fused into them."""
    GEMM = "gemm"
    """Matrix multiplications, fully connected layers."""
    ATTENTION = "attention"
    """Fused multi-head attention."""
    POINTWISE = "pointwise"
    """Element by element: activations, elementwise arithmetic, generated kernels of these."""
    REDUCTION = "reduction"
    """Sums, means, maxima, norms, top-k."""
    SOFTMAX = "softmax"
    POOLING = "pooling"
    SCALE = "scale"
    QUANTIZE = "quantize"
    """Quantize and dequantize layers that run on their own, also as reformat, scale or generated kernel."""
    REFORMAT = "reformat"
    """Copies that change layout or type."""
    SHUFFLE = "shuffle"
    """Transposes, reshapes, copies."""
    SLICE = "slice"
    """Slices, pads, gathers, scatters."""
    CONCAT = "concat"
    RESIZE = "resize"
    CONSTANT = "constant"
    PLUGIN = "plugin"
    FUSED = "fused"
    """Several operators in one layer of which none can be named as the main one, such as a whole DLA subgraph."""
    MYELIN = "myelin"
    """An opaque Myelin subgraph (`{ForeignNode[…]}`) or a Myelin kernel that does not tell what it does."""
    SHAPE = "shape"
    """Shape computations on the host, `shape_call` among them."""
    SYNC = "sync"
    """`signal` and `wait` between streams, and training stations: no work of their own."""
    NOOP = "noop"
    """Layers that TensorRT kept in the list but does not run."""
    OTHER = "other"

    @property
    def is_work(self) -> bool:
        """Whether layers of this kind compute or move data; constants, NoOps, `signal`/`wait` and `shape_call` do not."""
        return self not in _NO_WORK

    @property
    def multiplies(self) -> bool:
        """Whether layers of this kind are there to multiply matrices: convolution, GEMM, attention."""
        return self in _MULTIPLYING


_MULTIPLYING = frozenset({LayerKind.CONVOLUTION, LayerKind.GEMM, LayerKind.ATTENTION})
_NO_WORK = frozenset({LayerKind.CONSTANT, LayerKind.NOOP, LayerKind.SYNC, LayerKind.SHAPE})

# ParameterType, then LayerType: lower case, exact.
_TYPES = {
    "convolution": LayerKind.CONVOLUTION,
    "deconvolution": LayerKind.CONVOLUTION,
    "convactpool": LayerKind.CONVOLUTION,
    "correlation": LayerKind.CONVOLUTION,
    "conv_act_pool": LayerKind.CONVOLUTION,
    "conv": LayerKind.CONVOLUTION,
    "deconv": LayerKind.CONVOLUTION,
    "gemm": LayerKind.GEMM,
    "fusion": LayerKind.FUSED,
    "fullyconnected": LayerKind.GEMM,
    "matrixmultiply": LayerKind.GEMM,
    "matmul": LayerKind.GEMM,
    "einsum": LayerKind.GEMM,
    "kgen_mha": LayerKind.ATTENTION,
    "mha": LayerKind.ATTENTION,
    "attention": LayerKind.ATTENTION,
    "activation": LayerKind.POINTWISE,
    "elementwise": LayerKind.POINTWISE,
    "pointwise": LayerKind.POINTWISE,
    "unary": LayerKind.POINTWISE,
    "cast": LayerKind.REFORMAT,
    "select": LayerKind.POINTWISE,
    "softmax": LayerKind.SOFTMAX,
    "logsoftmaxtopk": LayerKind.SOFTMAX,
    "reduce": LayerKind.REDUCTION,
    "topk": LayerKind.REDUCTION,
    "raggedsoftmax": LayerKind.SOFTMAX,
    "normalization": LayerKind.REDUCTION,
    "lrn": LayerKind.REDUCTION,
    "cumulative": LayerKind.REDUCTION,
    "pooling": LayerKind.POOLING,
    "maxpool": LayerKind.POOLING,
    "avgpool": LayerKind.POOLING,
    "scale": LayerKind.SCALE,
    "quantize": LayerKind.QUANTIZE,
    "dequantize": LayerKind.QUANTIZE,
    "dynamicquantize": LayerKind.QUANTIZE,
    "reformat": LayerKind.REFORMAT,
    "myelinreformat": LayerKind.REFORMAT,
    "shuffle": LayerKind.SHUFFLE,
    "reshape": LayerKind.SHUFFLE,
    "transpose": LayerKind.SHUFFLE,
    "copy": LayerKind.SHUFFLE,
    "identity": LayerKind.SHUFFLE,
    "reversesequence": LayerKind.SHUFFLE,
    "slice": LayerKind.SLICE,
    "padding": LayerKind.SLICE,
    "gather": LayerKind.SLICE,
    "scatter": LayerKind.SLICE,
    "concatenation": LayerKind.CONCAT,
    "concat": LayerKind.CONCAT,
    "resize": LayerKind.RESIZE,
    "gridsample": LayerKind.RESIZE,
    "constant": LayerKind.CONSTANT,
    "fill": LayerKind.CONSTANT,
    "shape": LayerKind.SHAPE,
    "shape_call": LayerKind.SHAPE,
    "shapehostto": LayerKind.SHAPE,
    "signal": LayerKind.SYNC,
    "wait": LayerKind.SYNC,
    "trainstation": LayerKind.SYNC,
    "noop": LayerKind.NOOP,
    "myelin": LayerKind.MYELIN,
    "foreignnode": LayerKind.MYELIN,
    "dla": LayerKind.FUSED,
}
# Parts of a LayerType that no ParameterType explained, in order of precedence.
_PARTS = (
    ("mha", LayerKind.ATTENTION),
    ("attention", LayerKind.ATTENTION),
    ("conv", LayerKind.CONVOLUTION),
    ("gemm", LayerKind.GEMM),
    ("matrixmultiply", LayerKind.GEMM),
    ("matmul", LayerKind.GEMM),
    ("fullyconnected", LayerKind.GEMM),
    ("softmax", LayerKind.SOFTMAX),
    ("pool", LayerKind.POOLING),
    ("plugin", LayerKind.PLUGIN),
    ("pointwise", LayerKind.POINTWISE),
    ("elementwise", LayerKind.POINTWISE),
    ("activation", LayerKind.POINTWISE),
    ("reduce", LayerKind.REDUCTION),
    ("norm", LayerKind.REDUCTION),
    ("topk", LayerKind.REDUCTION),
    ("quantize", LayerKind.QUANTIZE),
    ("reformat", LayerKind.REFORMAT),
    ("resize", LayerKind.RESIZE),
    ("concat", LayerKind.CONCAT),
    ("gather", LayerKind.SLICE),
    ("scatter", LayerKind.SLICE),
    ("slice", LayerKind.SLICE),
    ("shuffle", LayerKind.SHUFFLE),
    ("shape", LayerKind.SHAPE),
    ("constant", LayerKind.CONSTANT),
    ("dla", LayerKind.FUSED),
)
# Starts of names, where a name is all there is (names-only engines, profiles without a graph).
_NAMES = (
    (re.compile(r"Reformatting CopyNode|.* copy$| .*(?:from|to) nvm$"), LayerKind.REFORMAT),
    (re.compile(r"PWN\(|PWN_"), LayerKind.POINTWISE),
    (re.compile(r"\{ForeignNode\["), LayerKind.MYELIN),
    (re.compile(r"\(Unnamed Layer\* \d+\) \[(?P<type>\w+)\]"), None),
)
# What TensorRT puts around a product is named after it: `reshape_before_MatMul-9` is none.
_INSERTED = re.compile(r"(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:before|after)_(?:(?! \+ ).)*")
_OPERATOR = re.compile(r"(?:^|[/_.\s+])(?P<operator>[A-Z][A-Za-z]+)(?:[-_.\s+/]|\d|$)")
_ONNX_OPERATORS = {
    "conv": LayerKind.CONVOLUTION,
    "convtranspose": LayerKind.CONVOLUTION,
    "gemm": LayerKind.GEMM,
    "matmul": LayerKind.GEMM,
    "maxpool": LayerKind.POOLING,
    "averagepool": LayerKind.POOLING,
    "globalaveragepool": LayerKind.POOLING,
    "softmax": LayerKind.SOFTMAX,
    "quantizelinear": LayerKind.QUANTIZE,
    "dequantizelinear": LayerKind.QUANTIZE,
    "resize": LayerKind.RESIZE,
    "concat": LayerKind.CONCAT,
    "transpose": LayerKind.SHUFFLE,
    "reshape": LayerKind.SHUFFLE,
    "flatten": LayerKind.SHUFFLE,
    "slice": LayerKind.SLICE,
    "gather": LayerKind.SLICE,
    "relu": LayerKind.POINTWISE,
    "sigmoid": LayerKind.POINTWISE,
    "add": LayerKind.POINTWISE,
    "mul": LayerKind.POINTWISE,
    "reducemean": LayerKind.REDUCTION,
    "shuffle": LayerKind.SHUFFLE,
    "constant": LayerKind.CONSTANT,
}
# The main operator of a fused name wins over what is fused to it.
_PRECEDENCE = (
    LayerKind.CONVOLUTION,
    LayerKind.GEMM,
    LayerKind.SOFTMAX,
    LayerKind.POOLING,
    LayerKind.REDUCTION,
    LayerKind.RESIZE,
    LayerKind.CONCAT,
    LayerKind.POINTWISE,
    LayerKind.QUANTIZE,
    LayerKind.SLICE,
    LayerKind.SHUFFLE,
    LayerKind.CONSTANT,
)

# Generated Myelin kernels are called after their operators, four letters or so each: `__myl_CastMulAdd_myl8_464`.
_GENERATED = re.compile(r"__myl_(?P<operators>[A-Z][A-Za-z]*)_")
_GENERATED_OPERATOR = re.compile(r"[A-Z][a-z]*")
_MATMUL_OPERATORS = frozenset({"Fc", "Gemm", "Bmm", "Mma", "Dot"})
_REDUCTION_OPERATORS = frozenset({"Sum", "Mean", "Maxr", "Minr", "Prod", "Topk", "Argm"})
_MOVE_OPERATORS = frozenset(
    {"Resh", "Res", "Tran", "Move", "Repl", "Slic", "Conc", "Gath", "Scat", "Copy", "Shuf", "Pad"}
)
_QUANTIZE_OPERATORS = frozenset({"Cast", "Mul", "Add", "Div", "Min", "Max", "Roun", "Clip"})


def classify(
    layer_type: str | None,
    parameter_type: str | None,
    name: str,
    tactic: str | None = None,
    *,
    origin: str | None = None,
    input_types: Sequence[DataType | None] = (),
    output_types: Sequence[DataType | None] = (),
) -> LayerKind:
    """Name what a layer does.

    Args:
        layer_type: `LayerType` of the file; None where only names are known.
        parameter_type: `ParameterType`, which native layers have.
        name: The layer's name.
        tactic: `TacticName`; Myelin kernels tell their operators there as well.
        origin: `Origin` of a reformat; `QDQ` marks a quantization that runs as one.
        input_types: Types of the inputs, in order.
        output_types: Types of the outputs, in order.
    """
    if not layer_type:
        return classify_name(name)
    kind = _of_types(layer_type, parameter_type)
    if kind is LayerKind.REFORMAT and origin == "QDQ":
        return LayerKind.QUANTIZE
    if kind in (LayerKind.SCALE, LayerKind.POINTWISE) and _crosses(input_types, output_types):
        return LayerKind.QUANTIZE if kind is LayerKind.SCALE else kind
    if kind in (LayerKind.OTHER, LayerKind.FUSED) or layer_type == "kgen":
        generated = _of_generated(tactic or "") or _of_generated(name)
        if generated is not None:
            operators, found = generated
            if operators <= _QUANTIZE_OPERATORS | _MOVE_OPERATORS and _crosses(input_types, output_types):
                return LayerKind.QUANTIZE
            return found
        if layer_type == "kgen":
            return LayerKind.ATTENTION if "mha" in f"{name} {tactic}".lower() else LayerKind.MYELIN
        if kind is LayerKind.FUSED and tactic and "gemm" in tactic:
            return LayerKind.GEMM
    if kind is LayerKind.MYELIN and "DLA" in layer_type:
        return LayerKind.FUSED
    return kind


@lru_cache(maxsize=1024)
def _of_types(layer_type: str, parameter_type: str | None) -> LayerKind:
    for text in (layer_type, parameter_type):
        # A NoOp keeps its ParameterType, and so does a signal: the LayerType decides for those.
        if text and _TYPES.get(text.lower()) in _NO_WORK:
            return _TYPES[text.lower()]
    for text in (parameter_type, layer_type):
        if text and text.lower() in _TYPES:
            return _TYPES[text.lower()]
    lowered = layer_type.lower()
    for part, kind in _PARTS:
        if part in lowered:
            return kind
    return LayerKind.OTHER


def _crosses(inputs: Sequence[DataType | None], outputs: Sequence[DataType | None]) -> bool:
    """Whether data goes from floating point to a quantized type or back."""
    first, last = (types[0] if types else None for types in (inputs, outputs))
    if first is None or last is None:
        return False
    return (first.is_float and last.is_quantized) or (first.is_quantized and last.is_float)


@lru_cache(maxsize=4096)
def _of_generated(name: str) -> tuple[frozenset[str], LayerKind] | None:
    """Operators and kind of a generated Myelin kernel, out of its name; None if it is not called that way."""
    match = _GENERATED.match(name)
    if match is None:
        return None
    operators = frozenset(_GENERATED_OPERATOR.findall(match["operators"]))
    return operators, _of_operators(operators)


def _of_operators(operators: frozenset[str]) -> LayerKind:
    if operators & _MATMUL_OPERATORS:
        return LayerKind.GEMM
    if {"Exp", "Sum"} <= operators:
        return LayerKind.SOFTMAX
    if operators & _REDUCTION_OPERATORS:
        return LayerKind.REDUCTION
    if operators & {"Resi", "Grid"}:
        return LayerKind.RESIZE
    if operators <= _MOVE_OPERATORS:
        if "Conc" in operators:
            return LayerKind.CONCAT
        return LayerKind.SLICE if operators & {"Slic", "Gath", "Scat", "Pad"} else LayerKind.SHUFFLE
    if operators <= _MOVE_OPERATORS | {"Cast"}:
        return LayerKind.REFORMAT
    return LayerKind.POINTWISE


@lru_cache(maxsize=4096)
def classify_name(name: str) -> LayerKind:
    """Guess from the name alone: TensorRT's own prefixes, then the ONNX operators that exporters put into names."""
    generated = _of_generated(name)
    if generated is not None:
        return generated[1]
    for pattern, kind in _NAMES:
        if match := pattern.match(name):
            return kind or _ONNX_OPERATORS.get(match["type"].lower(), LayerKind.OTHER)
    if "mha" in name.lower():
        return LayerKind.ATTENTION
    if name.startswith("dummy_shape_call"):
        return LayerKind.SHAPE
    plain = _INSERTED.sub("Reshape", name)
    found = {_ONNX_OPERATORS.get(match["operator"].lower()) for match in _OPERATOR.finditer(plain)}
    return next((kind for kind in _PRECEDENCE if kind in found), LayerKind.OTHER)
