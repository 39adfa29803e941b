"""Data types and tensor formats, parsed from all spellings of TensorRT 8.2 to 11."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from trex_tui.text import MISSING, format_count


class DataType(str, Enum):
    """An element type. Values are TensorRT's short names.

    Attributes:
        bits: Size of one element in memory; 32 for TF32, 8 for BOOL.
        is_float: Floating point of 16 bits or more, that is, not quantized.
        is_quantized: A type for quantized values.
        is_integer: Whole numbers, which are counted in operations, not in floating-point operations.
    """

    bits: int
    is_float: bool
    is_quantized: bool
    is_integer: bool

    def __new__(cls, text: str, bits: int = 0, role: str = "") -> DataType:
        """Store the facts in the member: a lookup by member would hash it in Python, a million times per engine."""
        member = str.__new__(cls, text)
        member._value_ = text
        member.bits, member.is_float, member.is_quantized = bits, role == "float", role == "quantized"
        member.is_integer = "INT" in text
        return member

    __hash__ = str.__hash__  # Enum's own is in Python

    FP64 = "FP64", 64, "float"
    FP32 = "FP32", 32, "float"
    TF32 = "TF32", 32, "float"
    FP16 = "FP16", 16, "float"
    BF16 = "BF16", 16, "float"
    FP8 = "FP8", 8, "quantized"
    FP4 = "FP4", 4, "quantized"
    E8M0 = "E8M0", 8
    INT64 = "INT64", 64
    INT32 = "INT32", 32
    INT16 = "INT16", 16
    INT8 = "INT8", 8, "quantized"
    INT4 = "INT4", 4, "quantized"
    UINT64 = "UINT64", 64
    UINT32 = "UINT32", 32
    UINT16 = "UINT16", 16
    UINT8 = "UINT8", 8
    BOOL = "BOOL", 8


def _describe(dtype: DataType) -> str:
    if dtype.is_quantized or dtype.is_float:
        return f"{'Quantized' if dtype.is_quantized else 'Floating point'}, {dtype.bits} bits."
    return f"Whole number, {dtype.bits} bits."


MEANINGS = {dtype.value: _describe(dtype) for dtype in DataType}
MEANINGS |= {"BOOL": "Truth value, 8 bits.", "E8M0": "Scale of a block of values, 8 bits."}
MEANINGS |= {"TF32": "Floating point: FP32 in memory, 19 bits in the product."}
"""Data type -> meaning."""


def format_rate(per_s: float | None, data_type: DataType | None) -> str:
    """Operations per second with their unit.

    >>> format_rate(43.8e12, DataType.FP16), format_rate(87e12, DataType.INT8), format_rate(None, None)
    ('43.8 TFLOP/s', '87 TOPS', '–')
    """
    if per_s is None:
        return MISSING
    count, is_integer = format_count(per_s), data_type is not None and data_type.is_integer
    gap = " " if count[-1:].isdigit() else ""
    return f"{count}{gap}{'OPS' if is_integer else 'FLOP/s'}"


# Other spellings, lower case. Layouts say "FP16", Myelin tensors "Half", FP4 comes as "FP4E2M1".
_ALIASES = {
    "float": DataType.FP32,
    "float32": DataType.FP32,
    "half": DataType.FP16,
    "float16": DataType.FP16,
    "bfloat16": DataType.BF16,
    "float8": DataType.FP8,
    "fp8e4m3": DataType.FP8,
    "fp8e4m3fn": DataType.FP8,
    "e4m3": DataType.FP8,
    "float4": DataType.FP4,
    "fp4e2m1": DataType.FP4,
    "e2m1": DataType.FP4,
    "double": DataType.FP64,
    "float64": DataType.FP64,
    "boolean": DataType.BOOL,
    **{data_type.value.lower(): data_type for data_type in DataType},
}
TYPE_NAMES = {spelling: data_type.value for spelling, data_type in _ALIASES.items()}
"""Every spelling in lower case -> the value of the type."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@lru_cache(maxsize=1024)
def parse_data_type(text: str) -> DataType | None:
    """Return the first data type named in `text`, in any spelling; None without one.

    >>> parse_data_type("Channel major FP16 format where channel % 8 == 0").value, parse_data_type("Half").value
    ('FP16', 'FP16')
    """
    for word in _WORD.findall(text):
        data_type = _ALIASES.get(word.lower())
        if data_type is not None:
            return data_type
    return None


@dataclass(frozen=True, slots=True)
class TensorFormat:
    """Memory layout of a tensor.

    Attributes:
        text: As in the file.
        layout: `NCHW`, `NHWC`, `NC/nHWn`, `NDHWC`, …; None if the file states only a type, as for Myelin tensors.
        vector: Number of adjacent elements of the channel dimension; the channels are padded to a multiple of it.
        spatial_dims: 2, or 3 for volumetric layouts.
        row_bytes: Rows are padded to a multiple of this, as DLA requires; 1 for no padding.
    """

    text: str
    layout: str | None
    vector: int = 1
    spatial_dims: int = 2
    row_bytes: int = 1

    def __hash__(self) -> int:
        """Hash the text alone: it determines the rest and is fast."""
        return hash(self.text)

    @property
    def channels_last(self) -> bool:
        """True if the channels of one position are adjacent."""
        return self.layout is not None and self.layout.startswith(("NHWC", "NDHWC"))


_VECTOR_WORDS = {"two": 2, "four": 4, "eight": 8, "sixteen": 16, "thirty-two": 32, "sixty-four": 64}
_WIDE = re.compile(r"([A-Za-z-]{1,40}) wide channel vectorized", re.IGNORECASE)
_CHANNEL_MULTIPLE = re.compile(r"channel (?:% (\d{1,6}) == 0|== (\d{1,6})\b)", re.IGNORECASE)
_COLUMN_STRIDE = re.compile(r"column stride % (\d{1,6}) == 0", re.IGNORECASE)
# Spelling that buildlog.layer_dump creates for `32:8` among the extents of a builder's log.
_GROUPED = re.compile(r"\b(\d{1,6}) elements of the ")
# Enumerators of nvinfer1::TensorFormat, which TensorRT 10 and later put in parentheses.
_ENUMERATOR = re.compile(r"\bk(?P<dla>DLA_)?(?P<name>LINEAR|CD?HW|D?HWC)(?P<vector>\d{0,6})\b")


@lru_cache(maxsize=1024)
def parse_format(text: str) -> TensorFormat:
    """Parse a format string. Anything unknown keeps its text and has no layout.

    >>> parse_format("Thirty-two wide channel vectorized row major Int8 format").layout
    'NC/32HW32'
    """
    lowered = text.lower()
    dims = 3 if "3 spatial dimensions" in lowered else 2
    space = "DHW" if dims == 3 else "HW"
    if match := _WIDE.search(text):
        vector = _VECTOR_WORDS.get(match[1].lower(), 1)
        return TensorFormat(text, f"NC/{vector}{space}{vector}", vector, dims)
    multiple = _CHANNEL_MULTIPLE.search(text)
    vector = max(1, int(multiple[1] or multiple[2])) if multiple else 1
    stride = _COLUMN_STRIDE.search(text)
    row_bytes = max(1, int(stride[1])) if stride else 1
    if "channel major" in lowered:
        return TensorFormat(text, f"N{space}C{vector if vector > 1 else ''}", vector, dims, row_bytes)
    if "row major" in lowered:
        return TensorFormat(text, f"NC{space}", 1, dims, row_bytes)
    if match := _ENUMERATOR.search(text):
        return _format_of_enumerator(
            text, match["name"], int(match["vector"] or 1) or 1, match["dla"] is not None
        )
    grouped = _GROUPED.search(text)
    return TensorFormat(text, None, max(1, int(grouped[1])) if grouped else 1)


# nvinfer1::TensorFormat: kDLA_LINEAR rounds the stride of a row up to 64 bytes, kDLA_HWC4 to 32 (or 64 on some DLAs).
_DLA_ROW_BYTES = {"LINEAR": 64, "HWC": 32}


def _format_of_enumerator(text: str, name: str, vector: int, is_dla: bool) -> TensorFormat:
    dims = 3 if "D" in name else 2
    space = "DHW" if dims == 3 else "HW"
    if name == "LINEAR":
        return TensorFormat(text, "NCHW", row_bytes=_DLA_ROW_BYTES["LINEAR"] if is_dla else 1)
    if name.endswith("C"):
        row_bytes = _DLA_ROW_BYTES["HWC"] if is_dla else 1
        return TensorFormat(text, f"N{space}C{vector if vector > 1 else ''}", vector, dims, row_bytes)
    return TensorFormat(text, f"NC/{vector}{space}{vector}", vector, dims)


@lru_cache(maxsize=8192)  # few shapes and formats, requested many times
def allocated_bytes(shape: tuple[int, ...], dtype: DataType, layout: TensorFormat) -> int:
    """Return the bytes of a tensor whose extents are all known.

    Vectorized and channel-major layouts round the channels up to their vector: an image of 3 channels in `NHWC4` takes 4. DLA
    layouts pad every row to a number of bytes. (Developer guide, "I/O formats"; `nvinfer1::TensorFormat`.) trex counts
    neither. Types of less than a byte are packed.

    Args:
        shape: Logical extents, in the order N, C, then the spatial ones, whatever the layout.
        dtype: Element type.
        layout: Layout with the vector and the row padding.
    """
    extents = list(shape)
    channel = _channel_index(len(extents), layout)
    if channel is not None:
        extents[channel] = -(-extents[channel] // layout.vector) * layout.vector
    if layout.row_bytes > 1 and extents:
        # Without spatial dimensions the channels form the row.
        in_row = layout.channels_last and channel is not None and channel < len(extents) - 1
        row = extents[-1] * (extents[channel] if channel is not None and in_row else 1)
        rows = math.prod(extents) // row if row else 0
        row_bytes = -(-row * dtype.bits // 8)
        return rows * -(-row_bytes // layout.row_bytes) * layout.row_bytes
    return -(-math.prod(extents) * dtype.bits // 8)


def _channel_index(rank: int, layout: TensorFormat) -> int | None:
    """Return the index of the channels: directly before the spatial dimensions; 1 for a tensor without other dimensions."""
    if layout.layout is None or rank < 2:
        return None
    if layout.vector == 1 and layout.row_bytes == 1:
        return None
    return rank - layout.spatial_dims - 1 if rank > layout.spatial_dims else 1
