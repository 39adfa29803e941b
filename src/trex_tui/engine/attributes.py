"""Attributes of layers by type: kernels, strides, weights, operations. One table of the keys of all TensorRT versions.

Fused layers prefix the keys of their parts (`ConvKernel`, `PoolingWindowSize`); TensorRT before 8.4 has `Instructions` where
later versions have `Operations`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pandas as pd

from trex_tui.column import RARE, Column
from trex_tui.engine.dtypes import MEANINGS, parse_data_type
from trex_tui.frames import FLAG, FLOAT, INT, TEXT, text_array
from trex_tui.text import printable

if TYPE_CHECKING:
    from trex_tui.engine.model import Engine

RAW_PREFIX = "attr."
_NO_ATTRIBUTES = ("Name", "Inputs", "Constants", "Outputs")
_MOST_INTEGER = 2**63 - 1
_MOST_AXES = 64
_OPERATION = re.compile(r"pwgen::(\w+)\s*\(")
_OPERATIONS = ("Operations", "PointWiseExpressionOperations", "Instructions")


def read_attribute(engine: Engine, keys: Sequence[str], parse: Callable[[Any], Any]) -> list[Any]:
    """Return the value of the first key that a layer has and that `parse` accepts, for all layers; None without one."""
    values = []
    for raw in engine.attributes:
        parsed = (parse(raw[key]) for key in keys if key in raw)
        values.append(next((value for value in parsed if value is not None), None))
    return values


def parse_extents(raw: object) -> tuple[int, ...] | None:
    """Return a list of dimensions; None for anything else."""
    if not isinstance(raw, list) or not raw or not all(type(item) is int and item >= 0 for item in raw):
        return None
    return tuple(raw)


def parse_count(raw: object) -> int | None:
    """Return a whole number from 0; None for anything else."""
    return raw if type(raw) is int and 0 <= raw <= _MOST_INTEGER else None


def format_extents(extents: Sequence[int] | None) -> str | None:
    """Return dimensions joined by x: `3x3`."""
    return "x".join(map(str, extents)) if extents else None


def _parse_shape(raw: object) -> str | None:
    return format_extents(parse_extents(raw))


def _parse_positive(raw: object) -> int | None:
    return parse_count(raw) or None


def _parse_flag(raw: object) -> bool | None:
    return bool(raw) if type(raw) in (bool, int) and raw in (0, 1) else None


def _parse_text(raw: object) -> str | None:
    return raw if isinstance(raw, str) and raw else None


def _parse_axes(raw: object) -> str | None:
    """Return dimensions from 0; a number is TensorRT's bit mask, in which 2 is dimension 1."""
    axes: Iterable[int] | None = parse_extents(raw)
    if type(raw) is int and 0 < raw < 1 << _MOST_AXES:
        axes = (axis for axis in range(raw.bit_length()) if raw >> axis & 1)
    return None if axes is None else ", ".join(map(str, axes))


def _parse_operations(raw: object) -> tuple[str, ...] | None:
    """Return the functions that the statements call; a statement without a call is returned unchanged."""
    if not isinstance(raw, list):
        return None
    statements = [statement for statement in raw if isinstance(statement, str) and statement]
    return tuple(name for statement in statements for name in _OPERATION.findall(statement) or [statement])


def _parse_weights_count(raw: object) -> int | None:
    return parse_count(raw.get("Count")) if isinstance(raw, dict) else None


def _parse_weights_type(raw: object) -> str | None:
    text = raw.get("Type") if isinstance(raw, dict) else None
    dtype = parse_data_type(text) if isinstance(text, str) else None
    return dtype.value if dtype else None


def _has_bias(engine: Engine) -> pd.Series:
    stated = read_attribute(engine, ("HasBias", "ConvHasBias"), _parse_flag)
    return pd.Series(pd.array(stated, FLAG)).fillna(engine.column("bias_count") > 0)


def _has_relu(engine: Engine) -> pd.Series:
    stated = read_attribute(engine, ("HasReLU", "ConvHasReLU"), _parse_flag)
    is_relu = engine.column("activation").eq("RELU").where(engine.column("kernel").notna())
    return pd.Series(pd.array(stated, FLAG)).fillna(is_relu)


def _n_operations(engine: Engine) -> pd.Series:
    keys = ("NbOperations", "NbPointWiseExpressionOperations", "NbInstructions")
    stated = read_attribute(engine, keys, parse_count)
    lengths = read_attribute(engine, _OPERATIONS, lambda raw: len(raw) if isinstance(raw, list) else None)
    return pd.Series(pd.array(stated, INT)).fillna(pd.Series(pd.array(lengths, INT)))


# Raw attributes


def raw_columns(objects: Iterable[Mapping[str, Any]]) -> dict[str, Column]:
    """Return a column `attr.KEY` for each attribute, in the order of first appearance."""
    keys = dict.fromkeys(key for raw in objects for key in raw)
    return {f"{RAW_PREFIX}{printable(key)}": _raw_column(key) for key in keys if key not in _NO_ATTRIBUTES}


def _raw_column(key: str) -> Column:
    name = f"{RAW_PREFIX}{printable(key)}"
    text = f"`{printable(key)}` of the layer's object in the file; lists and objects as JSON."
    source = f"layer information: {printable(key)}"
    compute = partial(_read_raw, key=key)
    return Column(name, name, text, source=source, priority=RARE, is_free_text=True, compute=compute)


def _read_raw(engine: Engine, key: str) -> pd.Series:
    """Return an attribute as in the file: numbers, flags, or text, in which lists and objects are JSON."""
    values = [raw.get(key) for raw in engine.attributes]
    types = {type(value) for value in values if value is not None}
    if types == {bool}:
        return pd.Series(pd.array(values, FLAG))
    numbers = [value for value in values if isinstance(value, (int, float))]
    is_finite = all(abs(value) <= _MOST_INTEGER for value in numbers)  # neither inf nor nan is
    if types and types <= {int, float} and is_finite:
        return pd.Series(pd.array(values, INT if types == {int} else FLOAT))
    return pd.Series(text_array(None if value is None else _write_raw(value) for value in values))


def _write_raw(value: object) -> str:
    try:
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deeply)"


# The table


def _attribute(
    key: str,
    title: str,
    text: str,
    parse: Callable[[Any], Any],
    keys: str,
    kind: Any = TEXT,  # noqa: ANN401 - a type of pandas
    **more: Any,  # noqa: ANN401 - fields of the column
) -> Column:
    """Return a column of an attribute, whichever of its keys a version of TensorRT has."""
    names = tuple(keys.split())

    def compute(engine: Engine) -> pd.Series:
        return pd.Series(pd.array(read_attribute(engine, names, parse), kind))

    source = f"layer information: {' or '.join(names)}"
    return Column(key, title, text, source=source, priority=RARE, compute=compute, **more)


_WEIGHTS = "Weights ConvWeights weights"
ATTRIBUTES = (
    _attribute("kernel", "Kernel", "Filter of a convolution: height x width.", _parse_shape,
        "Kernel ConvKernel"),
    _attribute("stride", "Stride", "Stride of a convolution, pooling or slice.", _parse_shape,
        "Stride ConvStride"),
    _attribute("pre_padding", "Pre pad", "Padding before the data: top x left.", _parse_shape,
        "PrePadding ConvPrePadding"),
    _attribute("post_padding", "Post pad", "Padding after it: bottom x right.", _parse_shape,
        "PostPadding ConvPostPadding"),
    _attribute("padding_mode", "Pad mode", "Mode of padding and rounding.", _parse_text,
        "PaddingMode ConvPaddingMode"),
    _attribute("dilation", "Dilation", "Dilation of a convolution.", _parse_shape, "Dilation ConvDilation"),
    _attribute("groups", "Groups", "Groups of a convolution; as many as channels in a depthwise one.",
        _parse_positive, "Groups ConvGroups", INT),
    _attribute("out_maps", "Out maps", "Output channels of a convolution.", _parse_positive,
        "OutMaps ConvOutMaps", INT),
    _attribute("activation", "Activation", "Activation fused into the layer.", _parse_text,
        "Activation ConvActivation"),
    Column("has_bias", "Bias", "Yes if a convolution adds a bias; where the file does not state it, if it "
        "lists one.", source="layer information: HasBias or Bias", priority=RARE, compute=_has_bias),
    Column("has_relu", "ReLU", "Yes if a ReLU is fused into a convolution; where the file does not state it, "
        "if `activation` is RELU.", source="layer information: HasReLU or Activation", priority=RARE,
        compute=_has_relu),
    _attribute("weights_count", "Weights n", "Elements of the weights.", _parse_weights_count, _WEIGHTS, INT),
    _attribute("weights_type", "Weights type", "Type of the weights.", _parse_weights_type, _WEIGHTS,
        words=MEANINGS),
    _attribute("has_sparse_weights", "Sparse", "Yes if the kernel uses structured sparsity of the weights.",
        _parse_flag, "HasSparseWeights ConvHasSparseWeights", FLAG),
    _attribute("bias_count", "Bias n", "Elements of the bias.", _parse_weights_count, "Bias ConvBias", INT),
    _attribute("bias_type", "Bias type", "Type of the bias.", _parse_weights_type, "Bias ConvBias",
        words=MEANINGS),
    _attribute("pooling_type", "Pooling", "MAX, AVERAGE or a blend of both.", _parse_text,
        "PoolingType PoolingPoolingType"),
    _attribute("window_size", "Window", "Window of a pooling: height x width.", _parse_shape,
        "WindowSize PoolingWindowSize"),
    _attribute("axes", "Axes", "Dimensions, from 0, of a reduction or softmax. TensorRT writes a bit mask: 2 "
        "is dimension 1.", _parse_axes, "Axes ReduceAxes", is_list=True),
    _attribute("operations", "Operations", "Operations of a pointwise layer, or of those fused into a layer, "
        "in their order: iMul, iPlus.", _parse_operations, " ".join(_OPERATIONS), object, is_list=True),
    Column("n_operations", "Ops", "Number of these operations.", source="layer information: NbOperations, "
        "NbPointWiseExpressionOperations or NbInstructions, else the list", priority=RARE,
        compute=_n_operations),
    _attribute("origin", "Origin", "Why a reformat exists: REFORMAT between layouts or types, QDQ, SLICE.",
        _parse_text, "Origin"),
)  # fmt: skip
"""Columns of attributes; NA if a layer or a file has none."""
