"""Types of arguments, for the parsers of all commands."""

from __future__ import annotations

import argparse
import math
import re

# shtab.FILE, the completion of paths. Importing shtab for it would cost every command 44 ms.
FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def whole(text: str) -> int:
    """Parse a whole number, 0 included.

    Raises:
        argparse.ArgumentTypeError: It is not a whole number, or has more than nine digits.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"not a whole number: {text!r}")
    if len(text) > 9:
        raise argparse.ArgumentTypeError(f"more than 999999999: {text!r}")
    return int(text)


def positive(text: str) -> int:
    """Parse a whole number from 1.

    Raises:
        argparse.ArgumentTypeError: It is not a whole number from 1.
    """
    if whole(text) == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return int(text)


def seconds(text: str) -> float:
    """Parse seconds as trtexec does: `3`, or `0.5`; a whole number stays an integer.

    Raises:
        argparse.ArgumentTypeError: It is not a number, or has more than nine digits before the point or six after it.
    """
    match = re.fullmatch(r"[0-9]{1,9}(?:\.([0-9]{1,6}))?", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"not a number of seconds such as 3 or 0.5: {text!r}")
    return float(text) if (match[1] or "").strip("0") else int(text.split(".")[0])


def duration(text: str) -> float:
    """Parse `90`, `90s`, `30m` or `2h` into seconds.

    Raises:
        argparse.ArgumentTypeError: It is not a duration, or 0.
    """
    match = re.fullmatch(r"(\d{1,7}(?:\.\d+)?)([smh]?)", text)
    if match is None or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"not a duration such as 90s, 30m or 2h: {text!r}")
    return float(match[1]) * _UNITS[match[2]]


def interval(text: str) -> int:
    """Parse milliseconds between samples, 50 to 1000.

    Raises:
        argparse.ArgumentTypeError: It is not a number in this range.
    """
    if not text.isdecimal() or len(text) > 4 or not 50 <= int(text) <= 1000:
        raise argparse.ArgumentTypeError(f"not a number of milliseconds from 50 to 1000: {text!r}")
    return int(text)


def number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(f"not a number: {text!r}")
    return value


def limit(text: str) -> float:
    if number(text) < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return float(text)


def input_shape(text: str) -> tuple[str, tuple[int, ...]]:
    name, colon, dims = text.rpartition(":")
    extents = dims.split("x") if dims not in ("", "scalar") else []
    if not colon or not name or not all(extent.isdecimal() and len(extent) < 10 for extent in extents):
        raise argparse.ArgumentTypeError(f"not a shape such as images:1x3x640x640: {text!r}")
    return name, tuple(map(int, extents))


def input_type(text: str) -> tuple[str, str]:
    name, colon, kind = text.rpartition(":")
    if not colon or not name or not kind:
        raise argparse.ArgumentTypeError(f"not a type such as images:fp16: {text!r}")
    return name, kind


def input_range(text: str) -> tuple[str, tuple[float, float]]:
    parts = text.rsplit(":", 2)
    if len(parts) != 3 or not parts[0]:
        raise argparse.ArgumentTypeError(f"not a range such as ids:0:30521: {text!r}")
    low, high = number(parts[1]), number(parts[2])
    if low > high or max(abs(low), abs(high)) > 2**53:
        raise argparse.ArgumentTypeError(f"not a range from low to high: {text!r}")
    return parts[0], (low, high)


def shape_profile(text: str) -> tuple[str, str, str]:
    """Parse `min=x:1x3,opt=x:4x3,max=x:8x3` into the smallest, typical and largest shapes.

    Raises:
        argparse.ArgumentTypeError: One is missing or repeated.
    """
    parts = re.split(r",(?=(?:min|opt|max)=)", text)
    pairs = [part.partition("=") for part in parts]
    found = {key: spec for key, _, spec in pairs}
    if len(pairs) != 3 or found.keys() != {"min", "opt", "max"} or not all(found.values()):
        raise argparse.ArgumentTypeError(f"not min=INPUT:1x3,opt=INPUT:4x3,max=INPUT:8x3: {text!r}")
    return found["min"], found["opt"], found["max"]


def clock(text: str) -> str:
    if text != "max" and whole(text) == 0:
        raise argparse.ArgumentTypeError("0 MHz")
    return text
