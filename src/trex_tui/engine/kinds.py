"""Layer kinds: one small vocabulary for Cask, Cuda, Cudnn, Myelin, DLA and plugin layers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from functools import lru_cache

from trex_tui.engine.dtypes import DataType
from trex_tui.engine.layer_words import split_operators


class LayerKind(str, Enum):
    """Kind of work of a layer. The values are the vocabulary of `by_kind` and of the frame's column `kind`."""

    CONVOLUTION = "convolution"
    """Convolutions and deconvolutions, including everything fused into them."""
    GEMM = "gemm"
    """Matrix multiplications, fully connected layers."""
    ATTENTION = "attention"
    """Fused multi-head attention."""
    POINTWISE = "pointwise"
    """Element by element: activations, elementwise arithmetic, generated kernels of these."""
    REDUCTION = "reduction"
    """Sums, means, maxima, top-k."""
    NORMALIZATION = "normalization"
    """Layer, instance, group and RMS norms, local response normalization."""
    SOFTMAX = "softmax"
    POOLING = "pooling"
    SCALE = "scale"
    QUANTIZE = "quantize"
    """Separate quantize and dequantize layers, also as reformat, scale or generated kernel."""
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
    """Several operators in one layer without a main one, such as a whole DLA subgraph."""
    MYELIN = "myelin"
    """An opaque Myelin subgraph (`{ForeignNode[…]}`) or a Myelin kernel of unknown operation."""
    SHAPE = "shape"
    """Shape computations on the host, such as `shape_call`."""
    SYNC = "sync"
    """`signal` and `wait` between streams, training stations, ends of DLA copies: no computation."""
    NOOP = "noop"
    """Layers that TensorRT kept in the list but does not run."""
    OTHER = "other"

    __hash__ = str.__hash__  # Enum's own is a Python function, and kinds are looked up millions of times

    @property
    def is_work(self) -> bool:
        """True if layers of this kind compute or move data; constants, NoOps, `signal`/`wait` and `shape_call` do not."""
        return self not in _NO_WORK

    @property
    def multiplies(self) -> bool:
        """True if layers of this kind multiply matrices: convolution, GEMM, attention."""
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
    "normalization": LayerKind.NORMALIZATION,
    "lrn": LayerKind.NORMALIZATION,
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
# Substrings of a LayerType without a known ParameterType, in order of precedence.
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
    ("norm", LayerKind.NORMALIZATION),
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
_FIRST_CHARACTERS = ("R", "{", "P", "(", "[")
_WORDS = (" copy", " from nvm", " to nvm", "put reformatter ")
"""Substrings of which every name that `_NAMES` matches has one."""
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
_NODE_WORDS = {
    **dict.fromkeys(("conv", "convolution", "deconv", "deconvolution", "dwconv"), LayerKind.CONVOLUTION),
    **dict.fromkeys(("fc", "dense", "linear", "gemm", "matmul", "matrix"), LayerKind.GEMM),
    **dict.fromkeys(("pool", "pooling", "maxpool", "avgpool"), LayerKind.POOLING),
    **dict.fromkeys(("bn", "batchnorm", "scale"), LayerKind.SCALE),
    **dict.fromkeys(
        ("layernorm", "groupnorm", "instancenorm", "lrn", "normalization"), LayerKind.NORMALIZATION
    ),
    **dict.fromkeys(
        ("relu", "sigmoid", "tanh", "prelu", "elementwise", "activation", "unary"), LayerKind.POINTWISE
    ),
    **dict.fromkeys(("concat", "concatenation"), LayerKind.CONCAT),
    **dict.fromkeys(("upsample", "upsampling", "resize"), LayerKind.RESIZE),
    **dict.fromkeys(("reshape", "transpose", "permute", "flatten", "shuffle"), LayerKind.SHUFFLE),
    **dict.fromkeys(("slice", "gather"), LayerKind.SLICE),
    "softmax": LayerKind.SOFTMAX,
    "reduce": LayerKind.REDUCTION,
    "constant": LayerKind.CONSTANT,
    "gptattention": LayerKind.ATTENTION,
}
"""Words of nodes whose names state no ONNX operator -> kind."""

# Generated Myelin kernels are named after their operators, about four letters each: `__myl_CastMulAdd_myl8_464`.
_GENERATED = re.compile(r"__myl_(?P<operators>[A-Z][A-Za-z]*)_")
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
    for part, kind in _PARTS:
        if part in lowered:
            return kind
    return LayerKind.OTHER


def _crosses(first: DataType | None, last: DataType | None) -> bool:
    """Return whether data is converted between floating point and a quantized type."""
    if first is None or last is None:
        return False
    return (first.is_float and last.is_quantized) or (first.is_quantized and last.is_float)


def _of_generated(name: str) -> tuple[frozenset[str], LayerKind] | None:
    """Return operators and kind of a generated Myelin kernel from its name; None for other names."""
    match = _GENERATED.match(name) if name.startswith("__myl_") else None
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
_DIGITS = bytes.maketrans(b"123456789", b"000000000")


def classify_name(name: str) -> LayerKind:
    """Guess the kind from the name alone: TensorRT's own prefixes, then ONNX operators in the names of exporters."""
    # The digits in a name do not matter, and many names differ only in them.
    return _classify_pattern(name.encode("utf-8", "surrogatepass").translate(_DIGITS))


def classify_names(names: Iterable[str]) -> Iterator[LayerKind]:
    """As `classify_name` of each, in less time: a profile has hundreds of thousands."""
    return map(
        _classify_pattern, [name.encode("utf-8", "surrogatepass").translate(_DIGITS) for name in names]
    )


@lru_cache(maxsize=4096)
def _classify_pattern(masked: bytes) -> LayerKind:
    name = masked.decode("utf-8", "surrogatepass")
    generated = _of_generated(name)
    if generated is not None:
        return generated[1]
    # Substring tests first: a profile without a graph has names only.
    if name.startswith(_FIRST_CHARACTERS) or any(word in name for word in _WORDS):
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
