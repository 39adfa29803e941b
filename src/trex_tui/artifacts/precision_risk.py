"""Read the JSON of `trex-tui precision-risk`: nodes of an ONNX model that FP16 makes inaccurate."""

from __future__ import annotations

from pathlib import Path

from trex_tui.artifacts.open import finite_number, load_json
from trex_tui.errors import ArtifactError


def read_precision_risk(path: Path) -> dict[str, tuple[str, float | None]]:
    """Return node -> risk, empty for none, and error in FP16, None where it overflows.

    Raises:
        ArtifactError: It is not JSON, or lists no nodes.
    """
    root = load_json(path)
    rows = root.get("nodes") if isinstance(root, dict) else None
    if not isinstance(rows, list):
        raise ArtifactError(path, "lists no nodes; write it with `trex-tui precision-risk --json`")
    return {
        str(row.get("node")): (str(row.get("risk") or ""), finite_number(row.get("fp16_error")))
        for row in rows
        if isinstance(row, dict)
    }
