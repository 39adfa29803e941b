"""Layer kinds: one small vocabulary for Cask, Cuda, Cudnn, Myelin, DLA and plugin layers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.layer_words import GENERATED, split_operators


class LayerKind(str, Enum):
    """Kind of work of a layer, with its meaning. The values are those of the column `kind`."""

    meaning: str

    def __new__(cls, text: str, meaning: str = "") -> LayerKind:
        """Store the meaning in the member."""
        member = str.__new__(cls, text)
        member._value_, member.meaning = text, meaning
        return member

    __hash__ = str.__hash__  # Enum's own is in Python

    CONVOLUTION = "convolution", "Convolutions and deconvolutions, with everything fused into them."
    GEMM = "gemm", "Matrix products, fully connected layers."
    ATTENTION = "attention", "Fused multi-head attention."
    POINTWISE = "pointwise", "Activations, arithmetic element by element, and generated kernels of these."
    REDUCTION = "reduction", "Sums, means, maxima, top-k."
    NORMALIZATION = "normalization", "Layer, instance, group and RMS norms, local response normalization."
    SOFTMAX = "softmax", "Softmax."
    POOLING = "pooling", "Pooling."
    SCALE = "scale", "Scale and shift per channel or element."
    QUANTIZE = (
        "quantize",
        "Separate quantize and dequantize layers, also as reformat, scale or generated kernel.",
    )
    REFORMAT = "reformat", "Copies that change layout or type."
    SHUFFLE = "shuffle", "Transposes, reshapes, copies."
    SLICE = "slice", "Slices, pads, gathers, scatters."
    CONCAT = "concat", "Concatenations."
    RESIZE = "resize", "Resizes and grid samples."
    CONSTANT = "constant", "Constants and filled memory."
    PLUGIN = "plugin", "Operators of plugin libraries."
    FUSED = "fused", "Several operators in one layer without a main one, such as a whole DLA subgraph."
    MYELIN = (
        "myelin",
        "A closed Myelin subgraph (`{ForeignNode[…]}`), or a Myelin kernel of unknown operation.",
    )
    SHAPE = "shape", "Shape computations on the host."
    SYNC = "sync", "Signals and waits between streams, jumps, ends of DLA copies: no computation."
    NOOP = "noop", "Layers that are listed but do not run."
    OTHER = "other", "Layers of unknown types."

    @property
    def is_work(self) -> bool:
        """True if layers of this kind compute or move data."""
        return self not in _NO_WORK

    @property
    def multiplies(self) -> bool:
        """True if layers of this kind multiply matrices: convolution, GEMM, attention."""
        return self in _MULTIPLYING


_MULTIPLYING = frozenset({LayerKind.CONVOLUTION, LayerKind.GEMM, LayerKind.ATTENTION})
_NO_WORK = frozenset({LayerKind.CONSTANT, LayerKind.NOOP, LayerKind.SYNC, LayerKind.SHAPE})

_KINDS_OF_TYPES = {
    LayerKind.CONVOLUTION: "convolution deconvolution convactpool correlation conv_act_pool conv deconv",
    LayerKind.GEMM: "gemm fullyconnected matrixmultiply matmul einsum",
    LayerKind.FUSED: "fusion dla",
    LayerKind.ATTENTION: "kgen_mha mha attention",
    LayerKind.POINTWISE: "activation elementwise pointwise unary add select",
    LayerKind.REFORMAT: "cast reformat myelinreformat",
    LayerKind.SOFTMAX: "softmax logsoftmaxtopk raggedsoftmax",
    LayerKind.REDUCTION: "reduce topk cumulative",
    LayerKind.NORMALIZATION: "normalization lrn",
    LayerKind.POOLING: "pooling maxpool avgpool",
    LayerKind.SCALE: "scale",
    LayerKind.QUANTIZE: "quantize dequantize dynamicquantize",
    LayerKind.SHUFFLE: "shuffle reshape transpose copy identity reversesequence",
    LayerKind.SLICE: "slice padding gather scatter",
    LayerKind.CONCAT: "concatenation concat",
    LayerKind.RESIZE: "resize gridsample",
    LayerKind.CONSTANT: "constant fill memset",
    LayerKind.SHAPE: "shape shape_call shapehostto",
    LayerKind.SYNC: "signal wait cjmp jmp trainstation",
    LayerKind.NOOP: "noop",
    LayerKind.MYELIN: "myelin foreignnode",
}
"""ParameterType, then LayerType: lower case, exact."""
_TYPES = {name: kind for kind, names in _KINDS_OF_TYPES.items() for name in names.split()}
_PARTS = (
    (LayerKind.ATTENTION, "mha attention"),
    (LayerKind.CONVOLUTION, "conv"),
    (LayerKind.GEMM, "gemm matrixmultiply matmul fullyconnected"),
    (LayerKind.SOFTMAX, "softmax"),
    (LayerKind.POOLING, "pool"),
    (LayerKind.PLUGIN, "plugin"),
    (LayerKind.POINTWISE, "pointwise elementwise activation"),
    (LayerKind.REDUCTION, "reduce"),
    (LayerKind.NORMALIZATION, "norm"),
    (LayerKind.REDUCTION, "topk"),
    (LayerKind.QUANTIZE, "quantize"),
    (LayerKind.REFORMAT, "reformat"),
    (LayerKind.RESIZE, "resize"),
    (LayerKind.CONCAT, "concat"),
    (LayerKind.SLICE, "gather scatter slice"),
    (LayerKind.SHUFFLE, "shuffle"),
    (LayerKind.SHAPE, "shape"),
    (LayerKind.CONSTANT, "constant"),
    (LayerKind.FUSED, "dla"),
)
"""Substrings of a LayerType without a known ParameterType, in order of precedence."""
# Prefixes of names, if only the name is known (names-only engines, profiles without a graph).
_NAMES = (
    (
        re.compile(r"Reformatting CopyNode|.* (?:copy|(?:from|to) nvm|(?:in|out)put reformatter \d+)$"),
        LayerKind.REFORMAT,
    ),
    (re.compile(r".* copy finish$"), LayerKind.SYNC),
    (re.compile(r"\{(?!ForeignNode\[)[^{}]*,[^{}]*\}$"), LayerKind.FUSED),
    (re.compile(r"PWN\(|PWN_"), LayerKind.POINTWISE),
    (re.compile(r"\{ForeignNode\["), LayerKind.MYELIN),
    (re.compile(r"\(Unnamed Layer\* \d+\) \[(?P<type>\w+)\]"), None),
    (re.compile(r"\[(?P<type>[A-Z_]+)\]-\["), None),
)
# Layers that TensorRT inserts around a product are named after it: `reshape_before_MatMul-9` is not a product.
_INSERTED = re.compile(r"(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:before|after)_(?:(?! \+ ).)*")
_OPERATOR = re.compile(r"(?:^|(?<=[/_.\s+]))(?P<operator>[A-Z][A-Za-z]+)(?=[-_.\s+/]|\d|$)")
_OPERATORS = {
    LayerKind.CONVOLUTION: "conv convtranspose convinteger qlinearconv deformconv",
    LayerKind.GEMM: "gemm matmul matmulinteger qlinearmatmul einsum",
    LayerKind.SOFTMAX: "softmax logsoftmax",
    LayerKind.POOLING: "maxpool averagepool globalaveragepool globalmaxpool lppool globallppool",
    LayerKind.NORMALIZATION: "layernormalization instancenormalization groupnormalization rmsnormalization lpnormalization "
    "simplifiedlayernormalization skiplayernormalization meanvariancenormalization lrn",
    LayerKind.REDUCTION: "reducemean reducesum reducemax reducemin reduceprod reducel reducelogsum reducelogsumexp "
    "reducesumsquare argmax argmin topk cumsum",
    LayerKind.RESIZE: "resize upsample gridsample",
    LayerKind.CONCAT: "concat",
    LayerKind.SCALE: "batchnormalization",
    LayerKind.POINTWISE: "relu sigmoid add mul sub div pow exp log sqrt neg abs erf tanh clip min max where equal greater "
    "less greaterorequal lessorequal not and or xor leakyrelu prelu elu selu celu gelu hardsigmoid hardswish softplus "
    "softsign mish swish biasadd floor ceil round sign sin cos reciprocal mod isnan isinf sum mean",
    LayerKind.QUANTIZE: "quantizelinear dequantizelinear dynamicquantizelinear",
    LayerKind.SLICE: "slice gather gathernd gatherelements scatternd scatterelements split pad expand tile",
    LayerKind.SHUFFLE: "transpose reshape flatten squeeze unsqueeze shuffle identity depthtospace spacetodepth",
    LayerKind.REFORMAT: "cast castlike",
    LayerKind.CONSTANT: "constant constantofshape",
}
"""ONNX operators, in lower case without digits. The main operator of a fused name decides: the first kind of these."""
_ONNX_OPERATORS = {name: kind for kind, names in _OPERATORS.items() for name in names.split()}

_WORD = re.compile(r"[A-Za-z]+")
_KINDS_OF_WORDS = {
    LayerKind.CONVOLUTION: "conv convolution deconv deconvolution dwconv",
    LayerKind.GEMM: "fc dense linear gemm matmul matrix",
    LayerKind.POOLING: "pool pooling maxpool avgpool",
    LayerKind.SCALE: "bn batchnorm scale",
    LayerKind.NORMALIZATION: "layernorm groupnorm instancenorm lrn normalization",
    LayerKind.POINTWISE: "relu sigmoid tanh prelu elementwise activation unary",
    LayerKind.CONCAT: "concat concatenation",
    LayerKind.RESIZE: "upsample upsampling resize",
    LayerKind.SHUFFLE: "reshape transpose permute flatten shuffle",
    LayerKind.SLICE: "slice gather",
    LayerKind.SOFTMAX: "softmax",
    LayerKind.REDUCTION: "reduce",
    LayerKind.CONSTANT: "constant",
    LayerKind.ATTENTION: "gptattention",
}
"""Words of nodes whose names state no ONNX operator."""
_NODE_WORDS = {word: kind for kind, words in _KINDS_OF_WORDS.items() for word in words.split()}

# Generated Myelin kernels are named after their operators, about four letters each: `__myl_CastMulAdd_myl8_464`.
_MATMUL_OPERATORS = frozenset({"Fc", "Gemm", "Bmm", "Mma", "Dot"})
_REDUCTION_OPERATORS = frozenset({"Sum", "Mean", "Maxr", "Minr", "Prod", "Topk", "Bott", "Argm"})
_NORMALIZATION = re.compile(r"MeanSubMul|MeanSub\w*Mean|Mean\w*(?:Rsqr|Sqrt)")
"""Differences from a mean that are squared, or a mean of squares under a root."""
_PRODUCT_NODE = re.compile(r"(?:^|[/_])(?:Gemm|MatMul|linear|matmul|addmm|mm|bmm)(?:_\d+)?$")
"""An ONNX node, or a node of PyTorch's exporter, that is a matrix product."""
_MOVE_OPERATORS = frozenset(
    {"Resh", "Res", "Tran", "Move", "Repl", "Slic", "Conc", "Gath", "Scat", "Copy", "Shuf", "Pad"}
)
_CONVERSION_OPERATORS = _MOVE_OPERATORS | {"Cast", "Mul", "Add", "Div", "Min", "Max", "Roun", "Clip"}


def classify(
    layer_type: str | None,
    parameter_type: str | None,
    name: str,
    tactic: str | None = None,
    *,
    origin: object = None,
    input_type: DataType | None = None,
    output_type: DataType | None = None,
    onnx_nodes: Sequence[str] = (),
) -> LayerKind:
    """Determine the kind of a layer.

    Args:
        layer_type: `LayerType` of the file; None if only names are known.
        parameter_type: `ParameterType`, which native layers have.
        name: The layer's name.
        tactic: `TacticName`; for Myelin kernels it lists the operators as well.
        origin: `Origin` of a reformat; `QDQ` marks a quantization that runs as a reformat.
        input_type: Type of the first input.
        output_type: Type of the first output.
        onnx_nodes: The ONNX nodes that the layer computes.
    """
    if not layer_type:
        return classify_name(name)
    kind = _of_types(layer_type, parameter_type)
    if kind is LayerKind.REFORMAT and origin == "QDQ":
        return LayerKind.QUANTIZE
    if kind in (LayerKind.SCALE, LayerKind.POINTWISE) and _crosses(input_type, output_type):
        return LayerKind.QUANTIZE if kind is LayerKind.SCALE else kind
    if kind in (LayerKind.OTHER, LayerKind.FUSED) or layer_type == "kgen":
        generated = _of_generated(tactic or "") or _of_generated(name)
        if generated is not None:
            operators, generated_kind = generated
            if operators <= _CONVERSION_OPERATORS and _crosses(input_type, output_type):
                return LayerKind.QUANTIZE
            is_product = generated_kind is LayerKind.REDUCTION and _sums_products(operators, onnx_nodes)
            return LayerKind.GEMM if is_product else generated_kind
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
    for kind, parts in _PARTS:
        if any(part in lowered for part in parts.split()):
            return kind
    return LayerKind.OTHER


def _crosses(first: DataType | None, last: DataType | None) -> bool:
    """Return whether data is converted between floating point and a quantized type."""
    if first is None or last is None:
        return False
    return (first.is_float and last.is_quantized) or (first.is_quantized and last.is_float)


def _of_generated(name: str) -> tuple[frozenset[str], LayerKind] | None:
    """Return operators and kind of a generated Myelin kernel from its name; None for other names."""
    match = GENERATED.match(name) if name.startswith("__myl_") else None
    return None if match is None else _of_operator_names(match["operators"])


@lru_cache(maxsize=4096)  # few different results; the names differ in numbers
def _of_operator_names(text: str) -> tuple[frozenset[str], LayerKind]:
    names = split_operators(text)
    operators = frozenset(names)
    kind = _of_operators(operators)
    is_norm = "Inor" in names or (kind is LayerKind.REDUCTION and _NORMALIZATION.search("".join(names)))
    return operators, LayerKind.NORMALIZATION if is_norm else kind


def _sums_products(operators: frozenset[str], onnx_nodes: Sequence[str]) -> bool:
    """Return whether a generated sum is a matrix product: products with few rows are generated as products and a sum."""
    return {"Mul", "Sum"} <= operators and any(map(_PRODUCT_NODE.search, onnx_nodes))


def _of_operators(operators: frozenset[str]) -> LayerKind:
    if "Corr" in operators:
        return LayerKind.CONVOLUTION
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


_NAMED_AFTER = re.compile(r"uantizeLinear(?:_\d+)?$")
"""A Q/DQ node named after its tensor, as quantizers do: `/stem/Conv_output_0_DequantizeLinear`."""
_DIGITS = str.maketrans("123456789", "000000000")


def classify_name(name: str) -> LayerKind:
    """Guess the kind from the name alone: TensorRT's own prefixes, then ONNX operators in the names of exporters."""
    return _classify_pattern(name.translate(_DIGITS))  # many names differ only in digits, which do not matter


@lru_cache(maxsize=4096)
def _classify_pattern(name: str) -> LayerKind:
    generated = _of_generated(name)
    if generated is not None:
        return generated[1]
    for pattern, kind in _NAMES:
        if match := pattern.match(name):
            if kind is not None:
                return kind
            layer_type = match["type"].lower().replace("_", "")
            return _ONNX_OPERATORS.get(layer_type) or _TYPES.get(layer_type, LayerKind.OTHER)
    if "mha" in name.lower():
        return LayerKind.ATTENTION
    if name.startswith("dummy_shape_call"):
        return LayerKind.SHAPE
    plain = _INSERTED.sub("Reshape", name) if "_before_" in name or "_after_" in name else name
    if "uantizeLinear" in plain:
        nodes = plain.split(" + ")
        plain = " + ".join("QuantizeLinear" if _NAMED_AFTER.search(node) else node for node in nodes)
    kinds = {_ONNX_OPERATORS.get(operator.lower()) for operator in _OPERATOR.findall(plain)}
    # TensorRT merges products of one input into one kernel; names of Caffe networks state no operator for it.
    unknown = LayerKind.CONVOLUTION if " || " in name else LayerKind.OTHER
    known = next((kind for kind in _OPERATORS if kind in kinds), unknown)
    return _guess_by_words(name) if known is LayerKind.OTHER else known


def _guess_by_words(name: str) -> LayerKind:
    """Guess the kind from words in lower-case or capital names, as Caffe, Keras, Gluon and TensorRT-LLM give them.

    Of a fused layer the first node must be known: it may be the main one.
    """
    kinds = [_kind_of_words(part) for part in name.replace("re_lu", "relu").split(" + ")]
    if kinds[0] is LayerKind.OTHER:
        return LayerKind.OTHER
    return next((kind for kind in (*_OPERATORS, *kinds) if kind in kinds), LayerKind.OTHER)


def _kind_of_words(node: str) -> LayerKind:
    """Return the kind of the last known word in the last component of a node's name that has one."""
    for component in reversed(node.split("/")):
        for word in reversed(_WORD.findall(component)):
            if kind := _NODE_WORDS.get(word.lower()):
                return kind
    return LayerKind.OTHER
