"""A reader: layer times as CSV, `layer,milliseconds`, become a profile."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from trex_tui.artifacts.file_kinds import ArtifactKind
from trex_tui.artifacts.readers import Reader

HEADER = "layer,milliseconds"


def recognizes(path: Path, head: str) -> bool:
    """Return whether a file begins with the header."""
    return path.suffix == ".csv" and head.startswith(HEADER)


def convert(text: str) -> list[dict[str, Any]]:
    """Return the rows as `--exportProfile` writes them."""
    rows = list(csv.DictReader(text.splitlines()))
    times = [float(row["milliseconds"]) for row in rows]
    total = sum(times)
    return [
        {"count": 1},
        *(
            {
                "name": row["layer"],
                "timeMs": ms,
                "averageMs": ms,
                "percentage": 100 * ms / total if total else 0,
            }
            for row, ms in zip(rows, times, strict=True)
        ),
    ]


READER = Reader("layer times as CSV", ArtifactKind.PROFILE, recognizes, convert)
