"""Attributes of layers by type: kernels, strides, weights, operations. One table of the keys of all TensorRT versions.

Fused layers prefix the keys of their parts (`ConvKernel`, `PoolingWindowSize`, `PointWiseExpressionOperations`); TensorRT
before 8.4 has `Instructions` where later versions have `Operations`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.dtypes import parse_data_type
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_pattern import lazy_pattern

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine

_MOST_INTEGER = 2**63 - 1
_OPERATION = lazy_pattern(r"pwgen::(\w+)\s*\(")
_MOST_AXES = 64


class Attribute:
    """An attribute of a layer; calling it returns the value, or None if the layer has none of the keys.

    Args:
        convert: Converts the value of the file; returns None for an unexpected type.
        keys: Keys of the layer's object; the first that has a value is used.
    """

    def __init__(self, convert: Callable[[Any], Any], *keys: str) -> None:
        self._convert = convert
        self.keys = keys

    def __call__(self, layer: Layer) -> Any:  # noqa: ANN401 - any cell
        attributes = layer.attributes
        for key in self.keys:
            if key in attributes:
                value = self._convert(attributes[key])
                if value is not None:
                    return value
        return None


def _parse_extents(raw: Any) -> tuple[int, ...] | None:  # noqa: ANN401 - whatever the file has
    if not isinstance(raw, list) or not raw:
        return None
    for item in raw:
        if type(item) is not int or item < 0:
            return None
    return tuple(raw)


def _parse_count(raw: Any) -> int | None:  # noqa: ANN401
    return raw if type(raw) is int and 0 <= raw <= _MOST_INTEGER else None


def _parse_positive(raw: Any) -> int | None:  # noqa: ANN401
    return _parse_count(raw) or None


def _parse_flag(raw: Any) -> bool | None:  # noqa: ANN401
    return bool(raw) if type(raw) in (bool, int) and raw in (0, 1) else None


def _parse_text(raw: Any) -> str | None:  # noqa: ANN401
    return raw if isinstance(raw, str) and raw else None


def _parse_axes(raw: Any) -> tuple[int, ...] | None:  # noqa: ANN401
    """Return dimensions from 0; a number is TensorRT's bit mask, in which 2 is dimension 1."""
    if type(raw) is int and 0 < raw < 1 << _MOST_AXES:
        return tuple(axis for axis in range(raw.bit_length()) if raw >> axis & 1)
    return _parse_extents(raw)


def _parse_operations(raw: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    """Return the functions that the statements call; a statement without a call is returned unchanged."""
    if not isinstance(raw, list):
        return None
    statements = [statement for statement in raw if isinstance(statement, str) and statement]
    return tuple(name for statement in statements for name in _OPERATION.findall(statement) or [statement])


def _parse_length(raw: Any) -> int | None:  # noqa: ANN401
    return len(raw) if isinstance(raw, list) else None


def _parse_weights_count(raw: Any) -> int | None:  # noqa: ANN401
    return _parse_count(raw.get("Count")) if isinstance(raw, dict) else None


def _parse_weights_type(raw: Any) -> str | None:  # noqa: ANN401
    text = raw.get("Type") if isinstance(raw, dict) else None
    dtype = parse_data_type(text) if isinstance(text, str) else None
    return dtype.value if dtype else None


KERNEL = Attribute(_parse_extents, "Kernel", "ConvKernel")
STRIDE = Attribute(_parse_extents, "Stride", "ConvStride")
PRE_PADDING = Attribute(_parse_extents, "PrePadding", "ConvPrePadding")
POST_PADDING = Attribute(_parse_extents, "PostPadding", "ConvPostPadding")
PADDING_MODE = Attribute(_parse_text, "PaddingMode", "ConvPaddingMode")
DILATION = Attribute(_parse_extents, "Dilation", "ConvDilation")
GROUPS = Attribute(_parse_positive, "Groups", "ConvGroups")
OUT_MAPS = Attribute(_parse_positive, "OutMaps", "ConvOutMaps")
ACTIVATION = Attribute(_parse_text, "Activation", "ConvActivation")
WEIGHTS_COUNT = Attribute(_parse_weights_count, "Weights", "ConvWeights", "weights")
WEIGHTS_TYPE = Attribute(_parse_weights_type, "Weights", "ConvWeights", "weights")
HAS_SPARSE_WEIGHTS = Attribute(_parse_flag, "HasSparseWeights", "ConvHasSparseWeights")
BIAS_COUNT = Attribute(_parse_weights_count, "Bias", "ConvBias")
BIAS_TYPE = Attribute(_parse_weights_type, "Bias", "ConvBias")
POOLING_TYPE = Attribute(_parse_text, "PoolingType", "PoolingPoolingType")
WINDOW_SIZE = Attribute(_parse_extents, "WindowSize", "PoolingWindowSize")
AXES = Attribute(_parse_axes, "Axes", "ReduceAxes")
ORIGIN = Attribute(_parse_text, "Origin")
_OPERATION_KEYS = ("Operations", "PointWiseExpressionOperations", "Instructions")
OPERATIONS = Attribute(_parse_operations, *_OPERATION_KEYS)
_STATED_OPERATIONS = Attribute(
    _parse_count, "NbOperations", "NbPointWiseExpressionOperations", "NbInstructions"
)
_LISTED_OPERATIONS = Attribute(_parse_length, *_OPERATION_KEYS)
_HAS_BIAS = Attribute(_parse_flag, "HasBias", "ConvHasBias")
_HAS_RELU = Attribute(_parse_flag, "HasReLU", "ConvHasReLU")


def count_operations(layer: Layer) -> int | None:
    """Return the number of pointwise operations, as stated or listed."""
    stated: int | None = _STATED_OPERATIONS(layer)
    listed: int | None = _LISTED_OPERATIONS(layer)
    return listed if stated is None else stated


def has_bias(layer: Layer) -> bool | None:
    """Return whether a convolution adds a bias; if not stated, determined by the length of the bias."""
    stated: bool | None = _HAS_BIAS(layer)
    count: int | None = BIAS_COUNT(layer)
    return count > 0 if stated is None and count is not None else stated


def has_relu(layer: Layer) -> bool | None:
    """Return whether a ReLU is fused; if not stated, determined by the activation."""
    stated: bool | None = _HAS_RELU(layer)
    if stated is not None or KERNEL(layer) is None:
        return stated
    activation: str | None = ACTIVATION(layer)
    return None if activation is None else activation == "RELU"


@lru_cache(maxsize=1024)
def format_extents(extents: tuple[int, ...] | None) -> str | None:
    """Return extents joined by x: `3x3`."""
    return "x".join(map(str, extents)) if extents else None


# Raw attributes

_FIELDS: dict[str, Callable[[Layer], Any]] = {
    "LayerType": attrgetter("layer_type"),
    "ParameterType": attrgetter("parameter_type"),
    "TacticName": attrgetter("tactic"),
    "TacticValue": attrgetter("tactic_value"),
    "StreamId": attrgetter("stream"),
}
"""Keys that a layer stores in its own fields."""


@per_engine
def list_raw_keys(engine: Engine) -> dict[str, str]:
    """Return raw keys that are not fields of `Layer` -> the pandas type that holds all values of the key."""
    kinds: dict[str, set[type]] = {}
    for layer in engine.layers:
        for key, value in layer.attributes.items():
            if value is not None:
                kinds.setdefault(key, set()).add(_find_type(value))
    return {key: _find_dtype(types) for key, types in kinds.items()}


def list_fields(engine: Engine) -> dict[str, str]:
    """Return the same as `list_raw_keys` for the keys that are fields of `Layer`."""
    return {
        key: "Int64" if key == "StreamId" else "string"
        for key, get in _FIELDS.items()
        if any(get(layer) is not None for layer in engine.layers)
    }


def _find_type(value: Any) -> type:  # noqa: ANN401
    if isinstance(value, bool):
        return bool
    if isinstance(value, int) and abs(value) <= _MOST_INTEGER:
        return int
    return float if isinstance(value, float) and math.isfinite(value) else str


def _find_dtype(types: set[type]) -> str:
    if types <= {int, float}:
        return "Int64" if types == {int} else "float64"
    return "boolean" if types == {bool} else "string"


def read_raw(layer: Layer, key: str, *, as_text: bool) -> Any:  # noqa: ANN401 - any cell
    """Return the value of a key as in the file; None if the layer has none.

    Args:
        as_text: Return JSON for values other than text.
    """
    value = _FIELDS[key](layer) if key in _FIELDS else layer.attributes.get(key)
    if value is None or isinstance(value, str) or not as_text:
        return value
    return json.dumps(value, ensure_ascii=False)
