"""What becomes of a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trex_tui.artifacts.kinds import ArtifactKind


@dataclass(frozen=True, slots=True)
class Converted:
    """A file that is to be written.

    Attributes:
        source: What it is made of.
        content: Its bytes; None for those of the source, which nothing need change.
        changes: What was changed, a clause each; empty for a copy.
        remarks: What trex cannot do with it.
    """

    kind: ArtifactKind
    source: Path
    content: bytes | None
    changes: Sequence[str] = ()
    remarks: Sequence[str] = ()


def is_plain_json(data: bytes) -> bool:
    """Whether Python's own `json.load` reads it as it is: UTF-8 without a mark, and strictly JSON."""
    try:
        json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        return False
    return True


def json_bytes(root: object) -> bytes:
    """JSON that any reader takes: ASCII, control characters escaped."""
    return (json.dumps(root, indent=1) + "\n").encode("ascii")
