"""JSON text of documents, indented. `json.dumps` encodes indented text in Python step by step: four times slower."""

from __future__ import annotations

import json
from json.encoder import encode_basestring_ascii
from typing import Any

_STEP = "  "


def format_json(document: object) -> str:
    """Return the text that `json.dumps(document, indent=2, allow_nan=False)` returns.

    Raises:
        ValueError: A number is NaN or infinite.
        TypeError: A value is of no JSON type, or a key is no text.
    """
    return _format(document, "\n")


def _format(value: Any, line: str) -> str:  # noqa: ANN401 - any JSON value
    """Return the text of a value.

    Args:
        line: Line break and indentation of the value.
    """
    if value is None:
        return "null"
    kind = type(value)
    if kind is str:
        return encode_basestring_ascii(value)
    if kind is float and value - value == 0.0:
        return float.__repr__(value)
    if kind is int:
        return int.__repr__(value)
    if kind is dict and value:
        inner = line + _STEP
        items = [f"{encode_basestring_ascii(key)}: {_format(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(items)}{line}}}"
    if kind in (list, tuple) and value:
        inner = line + _STEP
        return f"[{inner}{f',{inner}'.join([_format(item, inner) for item in value])}{line}]"
    # Truth values, empty objects and lists, subclasses, and errors.
    return json.dumps(value, indent=2, allow_nan=False).replace("\n", line)
