"""The metadata files that trex's log parser wrote, out of a log of ours: same sections, same keys, values whole."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from trex_tui.artifacts.buildlog.as_records import role_document
from trex_tui.artifacts.buildlog.outline import read_outline
from trex_tui.capture.clocks import without_ids


def metadata_of_log(path: Path, role: str) -> dict[str, dict[str, Any]]:
    """The content of `.build.metadata.json` or `.profile.metadata.json`.

    Raises:
        ArtifactError: The log cannot be read.
    """
    return role_document(read_outline(path), role)


def write_metadata(log: Path, role: str, target: Path, *, with_ids: bool = False) -> None:
    """Write it beside the log; what names a GPU among others of its kind only on request, though the log keeps it.

    Raises:
        ArtifactError: The log cannot be read.
        OSError: The file cannot be written.
    """
    found = metadata_of_log(log, role)
    if not with_ids and (device := found.get("device_information")):
        found["device_information"] = {
            key: without_ids(value) if isinstance(value, str) else value for key, value in device.items()
        }
    target.write_text(json.dumps(found, indent=4) + "\n", encoding="utf-8")
