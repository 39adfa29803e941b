"""The work of a layer: multiply-accumulates, and the M, N, K of its matrix product.

A convolution is the implicit GEMM it runs as: M output positions times N output channels, each a sum over K weights, so that
M·N·K are the MACs, for grouped and depthwise convolutions too. (trex leaves the groups out of K, and its MACs fail for
anything but four dimensions.) If the file lacks information, the result is a reason, never a guess.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import pandas as pd

from trex_tui.column import Column, by_key
from trex_tui.engine.attributes import parse_count, parse_extents
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, Port, per_engine
from trex_tui.engine.tactics import parse_tactic
from trex_tui.frames import INT, TEXT, plain_values, text_array, total

MOST_MACS = 2**53
"""A larger product means a damaged file; smaller ones are whole numbers of a float."""
_MOST_ELEMENTS = 2**44
_KEYS = ("macs", "gemm_m", "gemm_n", "gemm_k", "gemm_batch", "compute_note")
PADDED = "with padded channels"
WORKING = frozenset(kind.value for kind in LayerKind if kind.is_work)
"""Kinds that compute or move data; constants, NoOps, `signal`/`wait` and `shape_call` do not."""


class Product(NamedTuple):
    """Matrix product of a layer: `macs == batch * m * n * k`, more for attention. Unknown values are None.

    Attributes:
        note: Why `macs` is None, or what it includes; empty for layers without relevant multiplications.
    """

    macs: int | None = None
    m: int | None = None
    n: int | None = None
    k: int | None = None
    batch: int | None = None
    note: str = ""


NOTHING = Product()
"""Product of layers without multiplications, which only move bytes."""


class _Layer(NamedTuple):
    """What the product of a layer depends on."""

    types: str
    tactic: str | None
    attributes: Mapping[str, Any]
    inputs: list[Port]
    outputs: list[Port]


@per_engine
def products(engine: Engine) -> pd.DataFrame:
    """Return macs, gemm_m, gemm_n, gemm_k, gemm_batch and compute_note of all layers."""
    types = (plain_values(engine.layers[key]) for key in ("kind", "layer_type", "parameter_type", "tactic"))
    attributes = engine.attributes or [{}] * len(engine)
    rows = zip(*types, attributes, engine.inputs, engine.outputs, strict=True)
    found = [
        find_product(kind, layer_type, _Layer(f"{layer_type} {parameter_type}".lower(), *rest))
        for kind, layer_type, parameter_type, *rest in rows
    ]
    frame = pd.DataFrame(found, engine.layers.index, columns=pd.Index(_KEYS), dtype=object)
    frame["compute_note"] = frame["compute_note"].replace("", None)
    return frame.astype(dict.fromkeys(_KEYS[:-1], INT) | {"compute_note": TEXT})


def find_product(kind: str, layer_type: str | None, layer: _Layer) -> Product:
    """Return the product of a convolution, GEMM or attention; `NOTHING` for every other kind."""
    read = _READERS.get(kind)
    if read is None:
        return NOTHING
    if layer_type is None:
        return Product(note="only the layer's name is known")
    if not layer.inputs or not layer.outputs:
        return Product(note="no inputs or outputs listed")
    if volume(layer.inputs[0].shape) is None or volume(layer.outputs[0].shape) is None:
        return Product(note="a dimension is dynamic; export the layer information in the profile run")
    product = read(layer)
    if any(extent is not None and not 0 <= extent <= MOST_MACS for extent in product[:-1]):
        return Product(note="implausible extents")
    return product


def volume(shape: Sequence[int]) -> int | None:
    """Return the number of elements; None if a dimension is dynamic, or if the number exceeds any memory."""
    elements = None if any(extent < 0 for extent in shape) else math.prod(shape)
    return None if elements is None or elements > _MOST_ELEMENTS else elements


def extents(attributes: Mapping[str, Any], key: str) -> tuple[int, ...] | None:
    """Return an attribute such as `Kernel` or, in fused layers, `ConvKernel`; None if it is no list of extents."""
    values = (parse_extents(attributes.get(name)) for name in (key, f"Conv{key}"))
    return next((value for value in values if value), None)


def count(attributes: Mapping[str, Any], key: str) -> int | None:
    """Return an attribute such as `Groups` or `ConvGroups`; None if it is no positive number."""
    values = (parse_count(attributes.get(name)) for name in (key, f"Conv{key}"))
    return next((value for value in values if value), None)


def _listed_weights(attributes: Mapping[str, Any]) -> int:
    listed = (attributes.get(key) for key in ("Weights", "ConvWeights", "weights"))
    counts = (parse_count(weights.get("Count")) for weights in listed if isinstance(weights, dict))
    return next((number for number in counts if number is not None), 0)


def _multiply(m: int, n: int, k: int, batch: int = 1) -> Product:
    return Product(batch * m * n * k, m, n, k, batch)


# Convolutions


def _convolution(layer: _Layer) -> Product:
    source, target = layer.inputs[0].shape, layer.outputs[0].shape
    kernel, groups, note = extents(layer.attributes, "Kernel"), count(layer.attributes, "Groups") or 1, ""
    if kernel is None and (weights := _filter_among_inputs(layer)):
        kernel, whole = weights[2:], target if "deconv" in layer.types else source
        groups = whole[1] // weights[1]
        is_depthwise = groups > 1 and groups == weights[0] and weights[1] > 1
        note = PADDED if is_depthwise and layer.inputs[0].dtype == "INT8" else ""
    if kernel is None:
        tactic = parse_tactic(layer.tactic)
        kernel = tactic.filter_shape if tactic and len(target) == 4 else None  # `t1r3s3`, of one group
    if kernel is None:
        return Product(note="the file does not list the kernel's size, as for Myelin convolutions")
    if len(source) < len(kernel) + 2 or len(target) < 2:
        return Product(note=f"shapes {source} and {target} do not match a kernel of {len(kernel)} dimensions")
    channels, maps = source[1], count(layer.attributes, "OutMaps") or target[1]
    if channels % groups or maps % groups:
        return Product(
            note=f"{channels} input and {maps} output channels are not divisible into {groups} groups"
        )
    steps = extents(layer.attributes, "Stride"), extents(layer.attributes, "Dilation")
    if min((*kernel, *(steps[0] or ()), *(steps[1] or ())), default=1) < 1:
        return Product(note="implausible kernel, stride or dilation")
    taps = math.prod(kernel)
    if "deconv" in layer.types:  # every input position contributes a whole kernel to the output
        return _multiply(source[0] * math.prod(source[2:]), maps // groups * taps, channels)
    positions = _convolved(layer.attributes, source[2:], kernel) or target[2:]
    product = _multiply(source[0] * math.prod(positions), maps, channels // groups * taps)
    return product._replace(note=note)


def _convolved(
    attributes: Mapping[str, Any], source: Sequence[int], kernel: Sequence[int]
) -> tuple[int, ...] | None:
    """Return output positions of the convolution in a fused conv-activation-pool layer; None for other layers."""
    strides, before, after = (extents(attributes, key) for key in ("Stride", "PrePadding", "PostPadding"))
    if "ConvStride" not in attributes or not strides or not before or not after:
        return None
    dilations = extents(attributes, "Dilation") or (1,) * len(kernel)
    parts = zip(source, kernel, strides, before, after, dilations, strict=False)
    return tuple(
        (size + pre + post - dilation * (taps - 1) - 1) // step + 1
        for size, taps, step, pre, post, dilation in parts
    )


def _filter_among_inputs(layer: _Layer) -> tuple[int, ...] | None:
    """Return the shape of a constant `[K, C/g, R, S]`, or `[C, K/g, R, S]` of a deconvolution."""
    source, target = layer.inputs[0].shape, layer.outputs[0].shape
    if len(source) < 3 or len(source) != len(target):
        return None
    rows, columns = (source[1], target[1]) if "deconv" in layer.types else (target[1], source[1])
    for tensor in layer.inputs[1:]:
        shape = tensor.shape
        is_filter = tensor.is_constant and len(shape) == len(source) and min(shape) >= 1
        if is_filter and shape[0] == rows and columns % shape[1] == 0:
            return shape
    return None


# Matrix products


def _gemm(layer: _Layer) -> Product:
    operands = [
        (port, size) for port in layer.inputs if len(port.shape) >= 2 and (size := volume(port.shape))
    ]
    weights = sorted(
        (port.shape for port, _ in operands if port.is_constant), key=lambda shape: -math.prod(shape)
    )
    activations = [port.shape for port, _ in operands if not port.is_constant]
    result = layer.outputs[0].shape
    if not activations:
        return Product(note="no matrix input")
    if listed := _listed_weights(layer.attributes):
        return _by_weights(activations[0], result, listed)
    for matrix in weights:
        product = _by_matrix(activations, matrix, result)
        if product.macs is not None:
            return product
    if len(activations) > 1:
        product = _batched(activations[0], activations[1], result)
        if product.macs is not None:
            return product
        # Inputs with the shape of the result are added to it after the product.
        activations = [shape for shape in activations if shape != result] or activations[:1]
        if len(activations) > 1:
            return Product(note="several inputs; the shapes do not show which are multiplied")
    return _with_hidden_weights(activations[0], result)


_NO_GEMM = "the shapes of inputs and output do not match a GEMM"
_HIDDEN = "weights not listed, and their size does not follow from the shapes"


def _by_matrix(
    activations: Sequence[tuple[int, ...]], matrix: tuple[int, ...], result: tuple[int, ...]
) -> Product:
    """Return the product with a constant as second operand: one matrix for all rows, or one for each product of a batch.

    Constants that are only added, such as a bias, have no side of extent K or N.
    """
    product = NOTHING
    for activation in activations:
        if math.prod(matrix[:-2]) > 1:
            product = _batched(activation, matrix, result)
            if product.macs is not None:
                return product
        product = _by_weights(activation, result, math.prod(matrix))
        sides = set(accumulate(matrix, operator.mul))
        if product.macs is not None and (product.k in sides or product.n in sides):
            return product
    return Product(note=product.note or _NO_GEMM)


def _by_weights(activation: tuple[int, ...], result: tuple[int, ...], weights: int) -> Product:
    """Return the product of an activation and a matrix of known volume: leading dimensions fold into M.

    With M rows, M·K is the activation, K·N the matrix and M·N the result, so M² = activation · result / weights.
    """
    size, out = math.prod(activation), math.prod(result)
    squared, rest = divmod(size * out, weights) if weights else (0, 1)
    m = math.isqrt(squared)
    if rest or m == 0 or m * m != squared or size % m or out % m:
        return Product(note=_NO_GEMM)
    return _multiply(m, out // m, size // m)


def _batched(first: tuple[int, ...], second: tuple[int, ...], result: tuple[int, ...]) -> Product:
    """Return the product of two activations: the last two dimensions of the result are M and N, the others the batch."""
    if len(result) < 2:
        return Product(note="the output is not a matrix")
    m, n = result[-2:]
    batch = math.prod(result[:-2])
    for k in dict.fromkeys((first[-1], first[-2])):
        rows = m * k if k else 0
        # An operand may be shared by the whole batch.
        is_first = rows and math.prod(first) in (batch * rows, rows)
        if is_first and math.prod(second) in (batch * k * n, k * n):
            return _multiply(m, n, k, batch)
    return Product(note=_NO_GEMM)


def _with_hidden_weights(source: tuple[int, ...], target: tuple[int, ...]) -> Product:
    """Return the product of an activation and a matrix that the file does not list.

    If the rows of the activation are rows of the result, K is its last dimension; if its last dimension is kept, as rows or
    as columns, K is the dimension before.
    """
    if not target:
        return Product(note="the output is not a matrix")
    row = target[-2:][0]
    if math.prod(source[:-1]) == math.prod(target[:-1]) or source[-2] == row:
        k = source[-1]
    elif source[-1] in (row, target[-1]):  # as columns: a 1×1 convolution of NCHW data
        k = source[-2]
    else:
        return Product(note=_HIDDEN)
    m, out = math.prod(source) // k if k else 0, math.prod(target)
    return Product(note=_HIDDEN) if not m or out % m else _multiply(m, out // m, k)


# Attention


def _attention(layer: _Layer) -> Product:
    """Return the product of fused attention with Q `[…, Sq, D]`, K and V `[…, Sk, D]` (K may be transposed).

    It has two products of batch·Sq·Sk·D. M, N, K are those of the first one, Q times K transposed. The softmax between is
    not counted.
    """
    matrices = [port.shape for port in layer.inputs if len(port.shape) >= 3 and volume(port.shape)]
    if len(matrices) < 3:
        return Product(note="Q, K and V are not all listed")
    query, key, out = matrices[0], matrices[1], math.prod(layer.outputs[0].shape)
    rows, depth = query[-2:]
    batch = math.prod(query[:-2])
    shared = math.prod(key[:-2])  # several heads of Q may share one of K and V
    keys, rest = divmod(math.prod(key), shared * depth)
    width, rest_out = divmod(out, batch * rows)
    fits = not rest and not rest_out and batch % shared == 0 and {keys, depth} == set(key[-2:])
    # A mask may be between K and V.
    if not fits or not any(math.prod(matrix) == shared * keys * width for matrix in matrices[2:]):
        return Product(note="the shapes of Q, K and V do not match")
    return Product(batch * rows * keys * (depth + width), rows, keys, depth, batch)


_READERS = {
    LayerKind.CONVOLUTION.value: _convolution,
    LayerKind.GEMM.value: _gemm,
    LayerKind.ATTENTION.value: _attention,
}


# Facts about kernels and control flow


def tensor_cores(engine: Engine) -> pd.Series:
    """Return whether kernels run on tensor cores, by the tactic's name or the layer's type: yes, no, or NA if unknown."""
    answers = []
    layers = engine.layers
    for name, layer_type in zip(
        plain_values(layers["tactic"]), plain_values(layers["layer_type"]), strict=True
    ):
        tactic = parse_tactic(name)
        uses = tactic.tensor_cores if tactic else None
        if uses is None and layer_type == "CudaDepthwiseConvolution":
            uses = False
        answers.append(None if uses is None else "yes" if uses else "no")
    return pd.Series(text_array(answers), layers.index)


@per_engine
def control_flow(engine: Engine) -> pd.Series:
    """Return `loop` for layers that may run more than once per query, `branch` for those that may not run, NA for others.

    A jump to an earlier layer closes a loop; a jump forward passes over a branch.
    """
    words: list[str | None] = [None] * len(engine)
    jumps = sorted(engine.jumps, key=lambda jump: jump[1] <= jump[0])  # loops last: a layer of both is a loop
    for layer, target in jumps:
        first, end, word = (layer + 1, target, "branch") if target > layer else (target, layer + 1, "loop")
        words[first:end] = [word] * (end - first)
    return pd.Series(text_array(words), engine.layers.index)


class ComputeFacts(NamedTuple):
    """Work of an engine. The keys are described in `FACTS`."""

    macs: float | None
    is_at_least: bool
    layers_with_macs: int
    layers_without_macs: dict[str, int]
    layers_with_padding: int


@per_engine
def compute_facts(engine: Engine) -> ComputeFacts:
    """Return the work of all layers, and the reasons of layers whose work is unknown."""
    frame = products(engine)
    notes = frame["compute_note"].where(frame["macs"].isna()).value_counts()
    return ComputeFacts(
        macs=total(frame["macs"]),
        is_at_least=len(notes) > 0 or engine.has_loops,
        layers_with_macs=int(frame["macs"].count()),
        layers_without_macs={str(reason): int(number) for reason, number in notes.items()},
        layers_with_padding=int((frame["macs"].notna() & frame["compute_note"].notna()).sum()),
    )


_OF_LAYERS = "layer information: Kernel, Groups, Dimensions"
FACTS = by_key(
    Column("macs", "MACs", "Multiply-accumulates of all layers; two operations each.", "Σ macs", _OF_LAYERS),
    Column("is_at_least", "At least", "More work is possible: MACs of a layer are unknown, or a loop runs "
        "again."),
    Column("layers_with_macs", "Layers with MACs",
        "Convolutions, GEMMs and attention layers with known MACs."),
    Column("layers_without_macs", "Layers without MACs", "Reason -> number of layers."),
    Column("layers_with_padding", "Layers with padding", "Layers whose MACs include padded channels."),
)  # fmt: skip
