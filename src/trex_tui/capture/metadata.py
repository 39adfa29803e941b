"""The metadata files that trex's log parser wrote, out of a log of ours: same sections, same keys, values whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trex_tui.artifacts.buildlog.as_records import role_document
from trex_tui.artifacts.buildlog.outline import read_outline


def metadata_of_log(path: Path, role: str) -> dict[str, dict[str, Any]]:
    """The content of `.build.metadata.json` or `.profile.metadata.json`.

    Raises:
        ArtifactError: The log cannot be read.
    """
    return role_document(read_outline(path), role)


def write_metadata(log: Path, role: str, target: Path) -> None:
    """Write it beside the log.

    Raises:
        ArtifactError: The log cannot be read.
        OSError: The file cannot be written.
    """
    target.write_text(json.dumps(metadata_of_log(log, role), indent=4) + "\n", encoding="utf-8")
