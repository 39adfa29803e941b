"""Head of a serialized engine (plan file): its mark, the version that built it, and what a tool wrote before it.

`ftrt` begins plans of TensorRT 8.6 and later, `vtrt` those of TensorRT-RTX; the version is bytes 24 to 26, as trtexec's
`--getPlanVersionOnly` reads it. Plans before that begin with `ptrt`, and have no version where trtexec looks for one.
Ultralytics writes the length of a JSON object in 4 bytes, little endian, then the object, before the plan; trtexec cannot
load such a file. Nothing else of a plan is read.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from trex_tui.artifacts.open import open_bytes, read_fully

_MARK, _RTX_MARK, _OLD_MARK = b"ftrt", b"vtrt", b"ptrt"
_MARKS = (_MARK, _RTX_MARK, _OLD_MARK)
_HEAD_BYTES = 28
_LENGTH_BYTES = 4
_MOST_METADATA = 1 << 20
_FIRST_MAJOR, _LAST_MAJOR = 8, 20
"""Major versions of TensorRT that the byte of a plan may be; others are damage."""
_SHOWN_METADATA = ("description", "task", "imgsz", "batch", "version")
_MOST_CHARACTERS = 60


class PlanHead(NamedTuple):
    """Head of a plan.

    Attributes:
        is_old: Whether it has the mark of plans before TensorRT 8.6.
        version: As trtexec reads it, `10.4.0` or `RTX 1.7.1`; None where it cannot.
        metadata_bytes: Bytes before the plan; 0 for none.
        metadata: The JSON object in them; empty where it is damaged.
    """

    is_old: bool
    version: str | None
    metadata_bytes: int
    metadata: dict[str, object]


def has_plan_mark(head: bytes) -> bool:
    """Return whether a file may be a plan, by its first bytes."""
    return head.startswith(_MARKS) or head[_LENGTH_BYTES : _LENGTH_BYTES + 1] == b"{"


def read_plan_head(path: Path) -> PlanHead | None:
    """Read the head of a plan; None if the file is none.

    Raises:
        OSError: The file cannot be read.
    """
    with open_bytes(path) as file:
        head = read_fully(file, _HEAD_BYTES)
        if head.startswith(_MARKS):
            return _make_head(head, b"")
        length = int.from_bytes(head[:_LENGTH_BYTES], "little")
        if head[_LENGTH_BYTES : _LENGTH_BYTES + 1] != b"{" or not 2 <= length <= _MOST_METADATA:
            return None
        file.seek(_LENGTH_BYTES)
        metadata = read_fully(file, length)
        plan = read_fully(file, _HEAD_BYTES)
        return _make_head(plan, metadata) if plan.startswith(_MARKS) else None


def _make_head(plan: bytes, metadata: bytes) -> PlanHead:
    version = None
    if len(plan) == _HEAD_BYTES:
        number = f"{plan[24]}.{plan[25]}.{plan[26]}"
        if plan.startswith(_MARK) and _FIRST_MAJOR <= plan[24] <= _LAST_MAJOR:
            version = number
        elif plan.startswith(_RTX_MARK) and 1 <= plan[24] <= _LAST_MAJOR:
            version = f"RTX {number}"
    size = _LENGTH_BYTES + len(metadata) if metadata else 0
    return PlanHead(plan.startswith(_OLD_MARK), version, size, _read_metadata(metadata))


def _read_metadata(text: bytes) -> dict[str, object]:
    try:
        root = json.loads(text.decode("utf-8")) if text else None
    except (ValueError, RecursionError):
        return {}
    return root if isinstance(root, dict) else {}


def describe_plan(head: PlanHead) -> str:
    """Description of a plan, as the end of a sentence: `a TensorRT 8.6.1 plan`."""
    if head.is_old:
        text = "an older TensorRT plan (ptrt), version not stated"
    elif head.version:
        text = f"a TensorRT {head.version} plan".replace("TensorRT RTX", "TensorRT-RTX")
    else:
        text = "a TensorRT plan, version unknown"
    return f"{text}, {describe_metadata(head)}" if head.metadata_bytes else text


def describe_metadata(head: PlanHead) -> str:
    """Description of the bytes before a plan, and how to remove them."""
    known = [
        f"{key} {json.dumps(head.metadata[key])[:_MOST_CHARACTERS]}"
        for key in _SHOWN_METADATA
        if head.metadata.get(key) is not None
    ]
    shown = f" ({', '.join(known)})" if known else ""
    return (
        f"after {head.metadata_bytes} bytes of Ultralytics metadata{shown}: trtexec cannot load it until they are "
        f"removed (tail -c +{head.metadata_bytes + 1} FILE)"
    )
