"""The file that trtexec's `--exportOutput` writes: a JSON list of `{"name", "dimensions": "4x10", "values": […]}`.

Read by its fixed skeleton, because it need not be JSON: names are not escaped, `nan` and `inf` are printed bare, and for an
output whose shape depends on the data a sentence with its final shape stands among the values. Numbers have six significant
digits, the default of C++ streams.
"""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.accuracy.tensors import held
from trex_tui.artifacts.jsonfile import read_text
from trex_tui.engine.dtypes import DataType
from trex_tui.errors import ArtifactError

if TYPE_CHECKING:
    from trex_tui.accuracy.tensors import Array

PRINTED_DIGITS = 6
_HEAD = re.compile(
    r'\{ "name" : "(?P<name>.*)"\r?\n\s*, "dimensions" : "(?P<dims>[^"\n]*)"\r?\n\s*, "values" : \[ '
)
_FINAL_SHAPE = re.compile(r"\s*Final shape is (?P<dims>\S*) reported by the output allocator\.\s*")
_END = re.compile(r"\s\]\r?\n\s*\}")


def read_outputs(path: Path, types: dict[str, DataType | None]) -> dict[str, Array]:
    """The outputs in the file, by name; each in the type that `types` states for it.

    Raises:
        ArtifactError: The file is cut off, or no such file at all.
    """
    text = read_text(path)
    found: dict[str, Array] = {}
    place = 0
    while head := _HEAD.search(text, place):
        end = _END.search(text, head.end() - 1)
        if end is None:
            raise ArtifactError(path, f"is truncated in the values of {head['name']!r}")
        body, dims = text[head.end() : end.start()], head["dims"]
        if final := _FINAL_SHAPE.match(body):
            body, dims = body[final.end() :], final["dims"]
        found[head["name"]] = _values(path, head["name"], dims, body, types.get(head["name"]))
        place = end.end()
    if text[place:].strip() != "]":
        raise ArtifactError(
            path, "is truncated" if found or text.startswith("[") else "holds no outputs of trtexec"
        )
    return found


def _values(path: Path, name: str, dims: str, body: str, dtype: DataType | None) -> Array:
    import numpy as np

    whole = dtype in (DataType.INT64, DataType.INT32)  # 2^53 and more would not fit a double
    try:
        shape = tuple(int(one) for one in dims.split("x") if one)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "error", DeprecationWarning
            )  # what numpy before 2.3 says of text that is no number
            # A fifth of the time that a list of floats takes, and an eighth of its memory.
            values: Array = np.fromstring(body, np.int64 if whole else np.float64, sep=",")
    except (ValueError, OverflowError, DeprecationWarning):
        raise ArtifactError(path, f"the values of {name!r} are no numbers") from None
    if values.size != math.prod(shape) or any(extent < 0 for extent in shape):
        raise ArtifactError(
            path, f"{name!r} has {values.size} values, but its dimensions are {dims or 'none'}"
        )
    return held(values.reshape(shape), dtype)
