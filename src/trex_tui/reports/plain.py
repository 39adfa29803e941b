"""Results of the analysis as what JSON knows: dictionaries, lists, strings, numbers and null."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from trex_tui.engine.model import Layer
from trex_tui.errors import Diagnostic


def plain(value: Any) -> Any:  # noqa: ANN401 - any result
    """Return `value` with dataclasses and named tuples as objects, enums as their values, layers as index and name.

    NaN and infinity, which JSON has no words for, are null.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Layer):
        return {"index": value.index, "name": value.name}
    if isinstance(value, Path):
        return str(value)
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key): plain(one) for key, one in value.items()}
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, (Sequence, set, frozenset)):
        return [plain(one) for one in value]
    raise TypeError(f"no plain form of {type(value).__name__}")


def diagnostic_object(diagnostic: Diagnostic) -> dict[str, Any]:
    """A remark on a file, as every document has it."""
    return {
        "severity": diagnostic.severity.value,
        "file": str(diagnostic.file) if diagnostic.file else None,
        "where": diagnostic.where or None,
        "message": diagnostic.message,
    }


def _key(key: Any) -> str:  # noqa: ANN401 - any key
    """Keys of objects: enums by value, percentiles as `p99.9`, None as `unknown`."""
    if isinstance(key, Enum):
        return str(key.value)
    if isinstance(key, float):
        return f"p{key:g}"
    return "unknown" if key is None else str(key)
