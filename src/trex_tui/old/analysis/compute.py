"""Compute the work of a layer: multiply-accumulates, and the M, N, K of its matrix product.

Convolutions are treated as the implicit GEMM they run as: M output positions times N output channels, each a sum over K
weights, so that M·N·K are the MACs, for grouped and depthwise convolutions too. (trex leaves the groups out of K, and its
MACs fail for anything but four dimensions.) If the file lacks information, the result is a reason, never a guess.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from trex_tui.old.engine.attributes import (
    DILATION,
    GROUPS,
    KERNEL,
    OUT_MAPS,
    POST_PADDING,
    PRE_PADDING,
    STRIDE,
    WEIGHTS_COUNT,
)
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.engine.tactics import parse_tactic


class Compute(NamedTuple):
    """Matrix product of a layer.

    Attributes:
        macs: Multiply-accumulates of one execution; two floating-point operations each. None if unknown.
        m, n, k: Extents of the (implicit) matrix product.
        batch: Independent products of that size: `macs == batch * m * n * k`, twice that for attention.
        reason: Why `macs` is None; empty if it is known, and for layers without relevant multiplications.
    """

    macs: int | None = None
    m: int | None = None
    n: int | None = None
    k: int | None = None
    batch: int | None = None
    reason: str = ""

    @property
    def flops(self) -> int | None:
        """Number of floating-point (or integer) operations: a MAC is two."""
        return None if self.macs is None else 2 * self.macs


def is_depthwise(layer: Layer) -> bool:
    """Return whether each channel is convolved separately, which no tensor-core kernel does."""
    if layer.layer_type and _names_depthwise(layer.layer_type):
        return True
    groups = GROUPS(layer) or 1
    return (
        groups > 1
        and len(layer.inputs[0].shape if layer.inputs else ()) > 2
        and groups == layer.inputs[0].shape[1]
    )


@lru_cache(maxsize=1024)  # few types, requested for every layer
def _names_depthwise(layer_type: str) -> bool:
    return "depthwise" in layer_type.lower()


def uses_tensor_cores(layer: Layer) -> bool | None:
    """Return whether a layer's kernel runs on tensor cores, by the tactic's name or the layer's type; None if unknown."""
    if layer.tactic is not None:
        tactic = parse_tactic(layer.tactic)
        if tactic is not None and tactic.tensor_cores is not None:
            return tactic.tensor_cores
    return False if layer.layer_type == "CudaDepthwiseConvolution" else None


MOST_MACS = 2**80
"""A larger product means a damaged file. Smaller ones, and their quotients, fit a float."""

NOTHING = Compute()
"""Product of layers without multiplications, which only move bytes."""

_NAME_ONLY = Compute(reason="only the layer's name is known")


def compute_products(layer: Layer) -> Compute:
    """Return the product of a convolution, GEMM or attention; `NOTHING` for every other kind."""
    reader = _READERS.get(layer.kind)
    if reader is None:
        return NOTHING
    if layer.layer_type is None:
        return _NAME_ONLY
    if not layer.inputs or not layer.outputs:
        return Compute(reason="no inputs or outputs listed")
    if layer.inputs[0].volume is None or layer.outputs[0].volume is None:
        return Compute(reason="a dimension is dynamic; export the layer information in the profile run")
    products = reader(layer)
    if products.macs is not None:
        extents = (products.m, products.n, products.k, products.batch, products.macs)
        if products.macs > MOST_MACS or any(extent is not None and extent < 0 for extent in extents):
            return Compute(reason="implausible extents")
    return products


def _product(m: int, n: int, k: int, batch: int = 1) -> Compute:
    return Compute(batch * m * n * k, m, n, k, batch)


# Convolutions


def _convolution(layer: Layer) -> Compute:
    groups = GROUPS(layer) or 1
    kernel = KERNEL(layer)
    if kernel is None and (weights := _filter_among_inputs(layer)):
        kernel, groups = weights.shape[2:], _find_groups(layer, weights)
    if kernel is None:
        kernel = _kernel_of_tactic(layer)
    if kernel is None:
        return Compute(reason="the file does not list the kernel's size, as for Myelin convolutions")
    source, target = layer.inputs[0].shape, layer.outputs[0].shape
    rank = len(kernel) + 2
    if len(source) < rank or len(target) < 2:
        return Compute(
            reason=(f"shapes {source} and {target} do not match a kernel of {len(kernel)} dimensions")
        )
    channels, maps = source[1], OUT_MAPS(layer) or target[1]
    if channels % groups or maps % groups:
        return Compute(
            reason=f"{channels} input and {maps} output channels are not divisible into {groups} groups"
        )
    if min((*kernel, *(STRIDE(layer) or ()), *(DILATION(layer) or ())), default=1) < 1:
        return Compute(reason="implausible kernel, stride or dilation")
    if _is_transposed(layer):
        # Every input position contributes a whole kernel to the output.
        return _product(source[0] * math.prod(source[2:]), maps // groups * math.prod(kernel), channels)
    positions = _convolved(layer, source[2:], kernel) or target[2:]
    return _product(source[0] * math.prod(positions), maps, channels // groups * math.prod(kernel))


def _is_transposed(layer: Layer) -> bool:
    return "deconv" in f"{layer.layer_type} {layer.parameter_type}".lower()


def _convolved(layer: Layer, source: Sequence[int], kernel: Sequence[int]) -> tuple[int, ...] | None:
    """Return output positions of the convolution in a fused conv-activation-pool layer; None for other layers."""
    if "ConvStride" not in layer.attributes:
        return None
    strides, before, after = STRIDE(layer), PRE_PADDING(layer), POST_PADDING(layer)
    if not strides or not before or not after:
        return None
    dilations = DILATION(layer) or (1,) * len(kernel)
    parts = zip(source, kernel, strides, before, after, dilations, strict=False)
    return tuple(
        (size + pre + post - dil * (k - 1) - 1) // step + 1 for size, k, step, pre, post, dil in parts
    )


def _filter_among_inputs(layer: Layer) -> Tensor | None:
    """Return a constant `[K, C/g, R, S]`, or `[C, K/g, R, S]` of a deconvolution."""
    source, target = layer.inputs[0].shape, layer.outputs[0].shape
    if len(source) < 3 or len(source) != len(target):
        return None
    rows, columns = (source[1], target[1]) if _is_transposed(layer) else (target[1], source[1])
    for tensor in layer.inputs[1:]:
        shape = tensor.shape
        if tensor.name not in layer.constant_inputs or len(shape) != len(source) or min(shape) < 1:
            continue
        if shape[0] == rows and columns % shape[1] == 0:
            return tensor
    return None


def _find_groups(layer: Layer, weights: Tensor) -> int:
    whole = layer.outputs[0] if _is_transposed(layer) else layer.inputs[0]
    return whole.shape[1] // weights.shape[1]


def _kernel_of_tactic(layer: Layer) -> tuple[int, ...] | None:
    """Return the filter shape in the kernel's name: `t1r3s3`. Only for two spatial dimensions, and for one group."""
    tactic = parse_tactic(layer.tactic)
    if tactic is None or tactic.filter_shape is None or len(layer.outputs[0].shape) != 4:
        return None
    return tactic.filter_shape


# Matrix products


def _gemm(layer: Layer) -> Compute:
    operands = [tensor for tensor in layer.inputs if len(tensor.shape) >= 2 and tensor.volume]
    weights = [tensor for tensor in operands if tensor.name in layer.constant_inputs]
    weights.sort(key=lambda tensor: -(tensor.volume or 0))
    activations = [tensor for tensor in operands if tensor.name not in layer.constant_inputs]
    result = layer.outputs[0]
    if not activations:
        return Compute(reason="no matrix input")
    listed = WEIGHTS_COUNT(layer)
    if listed:
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
        activations = [
            activation for activation in activations if activation.shape != result.shape
        ] or activations[:1]
        if len(activations) > 1:
            return Compute(reason="several inputs; the shapes do not show which are multiplied")
    return _with_hidden_weights(activations[0], result)


def _by_matrix(activations: Sequence[Tensor], matrix: Tensor, result: Tensor) -> Compute:
    """Return the product with a constant as second operand: one matrix for all rows, or one for each product of a batch.

    Constants that are only added, such as a bias, have no side of extent K or N.
    """
    product = NOTHING
    for activation in activations:
        if math.prod(matrix.shape[:-2]) > 1:
            product = _batched(activation, matrix, result)
            if product.macs is not None:
                return product
        product = _by_weights(activation, result, matrix.volume or 0)
        sides = set(accumulate(matrix.shape, operator.mul))
        if product.macs is not None and (product.k in sides or product.n in sides):
            return product
    return Compute(reason=product.reason or "the shapes of inputs and output do not match a GEMM")


def _by_weights(activation: Tensor, result: Tensor, weights: int) -> Compute:
    """Return the product of an activation and a matrix of known volume: leading dimensions fold into M.

    With M rows, M·K is the activation, K·N the matrix and M·N the result, so M² = activation · result / weights.
    """
    volume, out = activation.volume or 0, result.volume or 0
    squared, rest = divmod(volume * out, weights) if weights else (0, 1)
    m = math.isqrt(squared)
    if rest or m == 0 or m * m != squared or volume % m or out % m:
        return Compute(reason="the shapes of inputs and output do not match a GEMM")
    return _product(m, out // m, volume // m)


def _batched(first: Tensor, second: Tensor, result: Tensor) -> Compute:
    """Return the product of two activations: the last two dimensions of the result are M and N, the others the batch."""
    if len(result.shape) < 2:
        return Compute(reason="the output is not a matrix")
    m, n = result.shape[-2:]
    batch = math.prod(result.shape[:-2])
    for k in dict.fromkeys((first.shape[-1], first.shape[-2])):
        rows = m * k if k else 0
        # An operand may be shared by the whole batch.
        if rows and first.volume in (batch * rows, rows) and second.volume in (batch * k * n, k * n):
            return _product(m, n, k, batch)
    return Compute(reason="the shapes of inputs and output do not match a GEMM")


def _with_hidden_weights(activation: Tensor, result: Tensor) -> Compute:
    """Return the product of an activation and a matrix that the file does not list.

    If the rows of the activation are rows of the result, K is its last dimension; if its last dimension is kept, as rows or
    as columns, K is the dimension before.
    """
    source, target = activation.shape, result.shape
    volume, out = activation.volume or 0, result.volume or 0
    if not target:
        return Compute(reason="the output is not a matrix")
    if math.prod(source[:-1]) == math.prod(target[:-1]) or source[-2] == target[-2:][0]:
        k = source[-1]
    elif source[-1] == target[-2:][0]:
        k = source[-2]
    elif source[-1] == target[-1]:
        # The weights multiply from the left, as in a 1×1 convolution of NCHW data.
        k = source[-2]
    else:
        return Compute(reason="weights not listed, and their size does not follow from the shapes")
    m = volume // k if k else 0
    if not m or out % m:
        return Compute(reason="weights not listed, and their size does not follow from the shapes")
    return _product(m, out // m, k)


# Attention


def _attention(layer: Layer) -> Compute:
    """Return the product of fused attention with Q `[…, Sq, D]`, K and V `[…, Sk, D]` (K may be transposed).

    It has two products of batch·Sq·Sk·D. M, N, K are those of the first one, Q times K transposed. The softmax between is not
    counted.
    """
    matrices = [tensor for tensor in layer.inputs if len(tensor.shape) >= 3 and tensor.volume]
    if len(matrices) < 3:
        return Compute(reason="Q, K and V are not all listed")
    query, key, out = matrices[0], matrices[1], layer.outputs[0].volume or 0
    rows, depth = query.shape[-2:]
    batch = math.prod(query.shape[:-2])
    # Several heads of Q may share one of K and V.
    shared = math.prod(key.shape[:-2])
    keys, rest = divmod(key.volume or 0, shared * depth)
    width, rest_out = divmod(out, batch * rows)
    fits = not rest and not rest_out and batch % shared == 0 and {keys, depth} == set(key.shape[-2:])
    # A mask may be between K and V.
    if not fits or not any(matrix.volume == shared * keys * width for matrix in matrices[2:]):
        return Compute(reason="the shapes of Q, K and V do not match")
    return Compute(batch * rows * keys * (depth + width), rows, keys, depth, batch)


_READERS = {
    LayerKind.CONVOLUTION: _convolution,
    LayerKind.GEMM: _gemm,
    LayerKind.ATTENTION: _attention,
}
