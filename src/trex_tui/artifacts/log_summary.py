"""The performance summary in a trtexec log, for sets whose log nobody has turned into metadata."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

_HEADING = "=== Performance summary ==="
_LINE = re.compile(
    r"\[I\] (Throughput|Latency|Enqueue Time|H2D Latency|GPU Compute Time|D2H Latency"
    r"|Total Host Walltime|Total GPU Compute Time): (.+?)\s*$"
)
MOST_LINES = 40
"""Lines behind the heading that are looked at; the summary has eight, warnings may stand between."""


def performance_in_log(path: Path) -> dict[str, str]:
    """Label -> value of the last performance summary in a log, as printed; empty if it has none or cannot be read."""
    found: dict[str, str] = {}
    left = 0
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for raw in file:
                line = raw[:4096].decode("utf-8", errors="replace")
                if _HEADING in line:
                    found, left = {}, MOST_LINES
                elif left:
                    left -= 1
                    if match := _LINE.search(line):
                        found[match[1]] = match[2]
    except (OSError, EOFError, zlib.error):
        return found
    return found
