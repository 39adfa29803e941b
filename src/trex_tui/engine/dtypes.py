"""Data types and tensor formats, out of every spelling that TensorRT 8.2 to 11 has for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache


class DataType(str, Enum):
    """An element type. Values are TensorRT's short names; `bits` decides the size of a tensor."""

    FP64 = "FP64"
    FP32 = "FP32"
    TF32 = "TF32"
    FP16 = "FP16"
    BF16 = "BF16"
    FP8 = "FP8"
    FP4 = "FP4"
    E8M0 = "E8M0"
    INT64 = "INT64"
    INT32 = "INT32"
    INT16 = "INT16"
    INT8 = "INT8"
    INT4 = "INT4"
    UINT64 = "UINT64"
    UINT32 = "UINT32"
    UINT16 = "UINT16"
    UINT8 = "UINT8"
    BOOL = "BOOL"

    @property
    def bits(self) -> int:
        """Size of one element in bits; TF32 is stored in 32, BOOL in 8."""
        return _BITS[self]

    @property
    def is_float(self) -> bool:
        """Floating point of 16 bits or more: not the result of a quantization."""
        return self in _FLOAT

    @property
    def is_quantized(self) -> bool:
        """A type that exists to hold quantized values: INT8, INT4, FP8, FP4."""
        return self in _QUANTIZED


_BITS = {
    DataType.FP64: 64,
    DataType.FP32: 32,
    DataType.TF32: 32,
    DataType.FP16: 16,
    DataType.BF16: 16,
    DataType.FP8: 8,
    DataType.FP4: 4,
    DataType.E8M0: 8,
    DataType.INT64: 64,
    DataType.INT32: 32,
    DataType.INT16: 16,
    DataType.INT8: 8,
    DataType.INT4: 4,
    DataType.UINT64: 64,
    DataType.UINT32: 32,
    DataType.UINT16: 16,
    DataType.UINT8: 8,
    DataType.BOOL: 8,
}
_FLOAT = frozenset({DataType.FP64, DataType.FP32, DataType.TF32, DataType.FP16, DataType.BF16})
_QUANTIZED = frozenset({DataType.INT8, DataType.INT4, DataType.FP8, DataType.FP4})

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
    **{one.value.lower(): one for one in DataType},
}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")


@lru_cache(maxsize=1024)
def parse_data_type(text: str) -> DataType | None:
    """The first data type named in `text`, in whatever spelling; None if none is.

    >>> parse_data_type("Channel major FP16 format where channel % 8 == 0").value, parse_data_type("Half").value
    ('FP16', 'FP16')
    """
    for word in _WORD.findall(text):
        found = _ALIASES.get(word.lower())
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class TensorFormat:
    """How a tensor's elements lie in memory.

    Attributes:
        text: As in the file.
        layout: `NCHW`, `NHWC`, `NC/nHWn`, `NDHWC`, …; None where the file states only a type, as for Myelin tensors.
        vector: Elements of the channel dimension that lie together; the channels are padded to a multiple of it.
        spatial_dims: 2, or 3 for volumetric layouts.
    """

    text: str
    layout: str | None
    vector: int = 1
    spatial_dims: int = 2


_VECTOR_WORDS = {"two": 2, "four": 4, "eight": 8, "sixteen": 16, "thirty-two": 32, "sixty-four": 64}
_WIDE = re.compile(r"([A-Za-z-]+) wide channel vectorized", re.IGNORECASE)
_CHANNEL_MULTIPLE = re.compile(r"channel (?:% (\d+) == 0|== (\d+))", re.IGNORECASE)
# Enumerators of nvinfer1::TensorFormat, which TensorRT 10 and later put in parentheses.
_ENUMERATOR = re.compile(r"\bk(?P<dla>DLA_)?(?P<name>LINEAR|CD?HW|D?HWC)(?P<vector>\d*)\b")


@lru_cache(maxsize=1024)
def parse_format(text: str) -> TensorFormat:
    """Take a format string apart. Anything unknown keeps its text and has no layout.

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
    vector = int(multiple[1] or multiple[2]) if multiple else 1
    if "channel major" in lowered:
        return TensorFormat(text, f"N{space}C{vector if vector > 1 else ''}", max(vector, 1), dims)
    if "row major" in lowered:
        return TensorFormat(text, f"NC{space}", 1, dims)
    if match := _ENUMERATOR.search(text):
        return _format_of_enumerator(text, match["name"], int(match["vector"] or 1))
    return TensorFormat(text, None)


def _format_of_enumerator(text: str, name: str, vector: int) -> TensorFormat:
    dims = 3 if "D" in name else 2
    space = "DHW" if dims == 3 else "HW"
    if name == "LINEAR":
        return TensorFormat(text, "NCHW")
    if name.endswith("C"):
        return TensorFormat(text, f"N{space}C{vector if vector > 1 else ''}", vector, dims)
    return TensorFormat(text, f"NC/{vector}{space}{vector}", vector, dims)
