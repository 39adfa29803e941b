"""The metadata files that trex's log parser wrote, out of a log of ours: same sections, same keys, values whole.

trex cut every value at its second colon; here `Memory Pools` and paths are what the log says. Numbers and lists are as trex
has them, so old readers go on reading.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_LINE = re.compile(rb"^\[[^\]]{19}\] \[I\] ?(?!\[TRT\])(.*?)\s*$")
_HEADING = re.compile(r"^=== (.+?) ===$")
_SECTIONS = {
    "Model Options": "model_options",
    "Build Options": "build_options",
    "Inference Options": "inference_options",
    "Device Information": "device_information",
    "Performance summary": "performance_summary",
}
_BUILD = ("model_options", "build_options", "device_information")
_PROFILE = ("performance_summary", "inference_options", "device_information")
_NUMBERS = frozenset(("Throughput", "Total Host Walltime", "Total GPU Compute Time"))
_DEVICE_NUMBERS = frozenset(
    ("Compute Clock Rate", "Memory Bus Width", "Memory Clock Rate", "Compute Capability", "SMs")
)
_LISTS = frozenset(("Latency", "Enqueue Time", "H2D Latency", "GPU Compute Time", "D2H Latency"))
_PAIR = re.compile(r"(min|max|mean|median|percentile\(([\d.]+)%\)) = ([-+\d.eE]+) ms")
_LISTED_PERCENTILES = ((99.0,), (90.0, 95.0, 99.0))
"""What a bare list of 5 or 7 numbers is taken for; with other percentiles the text stays, which names them."""


def sections_of_log(path: Path) -> dict[str, dict[str, str]]:
    """Section (`build_options`) -> label -> value, verbatim; of several runs in one log the last.

    Raises:
        OSError: The log cannot be read.
    """
    found: dict[str, dict[str, str]] = {}
    current: dict[str, str] | None = None
    with path.open("rb") as file:
        for raw in file:
            match = _LINE.match(raw[:65536])
            if match is None:
                continue  # warnings stand between the lines of a section
            text = match[1].decode("utf-8", errors="replace")
            if heading := _HEADING.match(text):
                name = _SECTIONS.get(heading[1])
                current = found.setdefault(name, {}) if name else None
                if current is not None:
                    current.clear()
            elif ":" not in text:
                current = None
            elif current is not None:
                key, _, value = text.partition(":")
                current[key.strip()] = value.strip()
    return found


def metadata_of_log(path: Path, role: str) -> dict[str, dict[str, Any]]:
    """The content of `.build.metadata.json` or `.profile.metadata.json`.

    Raises:
        OSError: The log cannot be read.
    """
    sections = sections_of_log(path)
    wanted = _BUILD if role == "build" else _PROFILE
    return {
        name: {key: _value(name, key, text) for key, text in sections.get(name, {}).items()}
        for name in wanted
    }


def write_metadata(log: Path, role: str, target: Path) -> None:
    """Write it beside the log.

    Raises:
        OSError: The log cannot be read, or the file not be written.
    """
    target.write_text(json.dumps(metadata_of_log(log, role), indent=4) + "\n", encoding="utf-8")


def _value(section: str, key: str, text: str) -> Any:  # noqa: ANN401 - JSON
    is_number = key in _NUMBERS if section == "performance_summary" else key in _DEVICE_NUMBERS
    if section in ("performance_summary", "device_information") and is_number:
        match = re.match(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text)
        return float(match[0]) if match else text
    if section == "performance_summary" and key in _LISTS:
        pairs = _PAIR.findall(text)
        percentiles = tuple(float(one) for _, one, _ in pairs if one)
        if len(pairs) >= 4 and percentiles in _LISTED_PERCENTILES:
            return [float(value) for _, _, value in pairs]
    return text
