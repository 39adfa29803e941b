"""The metadata files that trex's `parse_trtexec_log.py` makes from a log.

Its rules: sections of `[I]` lines, each ended by the first line without a colon; a value is what stands between the
first and the second colon, so values that hold colons are cut. Some numbers become floats, latencies become lists.
"""

from __future__ import annotations

import re
from typing import Any

_INFO = re.compile(r"^\[[^\]]+\] \[I\] (?P<message>.*)$")
_FLOATS = ("Throughput", "Total Host Walltime", "Total GPU Compute Time")
_LISTS = ("Latency", "Enqueue Time", "H2D Latency", "GPU Compute Time", "D2H Latency")
_DEVICE_FLOATS = ("Compute Clock Rate", "Memory Bus Width", "Memory Clock Rate", "Compute Capability", "SMs")
_NUMBER = re.compile(r"= ([0-9.e+-]+) ms")


def build_metadata(log: str, whole: bool = False) -> dict[str, Any]:
    """Contents of `*.build.metadata.json`. With `whole`, values keep their colons, as later tools write them."""
    titles = ("Model Options", "Build Options", "Device Information")
    return {_key(title): _section(log, title, whole) for title in titles}


def profile_metadata(log: str, whole: bool = False) -> dict[str, Any]:
    """Contents of `*.profile.metadata.json`."""
    summary: dict[str, Any] = dict(_section(log, "Performance summary", whole))
    for label in _FLOATS:
        summary[label] = float(summary[label].split()[0])
    for label in _LISTS:
        summary[label] = [float(number) for number in _NUMBER.findall(summary[label])]
    device: dict[str, Any] = dict(_section(log, "Device Information", whole))
    for label in _DEVICE_FLOATS:
        if label in device:
            device[label] = float(device[label].split()[0])
    return {
        "performance_summary": summary,
        "inference_options": _section(log, "Inference Options", whole),
        "device_information": device,
    }


def _key(title: str) -> str:
    return title.lower().replace(" ", "_")


def _section(log: str, title: str, whole: bool) -> dict[str, str]:
    messages = iter(match["message"] for match in map(_INFO.match, log.split("\n")) if match)
    for message in messages:
        if message == f"=== {title} ===":
            break
    found = {}
    for message in messages:
        if ":" not in message:
            break
        label, rest = message.split(":", 1)
        found[label.strip()] = (rest if whole else rest.split(":", 1)[0]).strip()
    return found
