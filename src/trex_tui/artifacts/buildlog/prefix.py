"""What stands before a message: trtexec's stamp, Python's logger, and whatever docker or journald put before both.

`[MM/DD/YYYY-HH:MM:SS] [V] msg` is trtexec, `… [V] [TRT] msg` the library, `[stamp] [TRT] [V] msg` the library through
Python's `trt.Logger`. Older Python and other programs print `[TensorRT] VERBOSE: msg`, `INFO: [TRT]: msg` or `[TRT]    msg`.
"""

from __future__ import annotations

import calendar
import re
from functools import lru_cache
from typing import NamedTuple

_STAMPED = re.compile(
    r"\[(?P<stamp>\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d)\] "
    r"(?:\[(?P<severity>[VIWEF])\] ?(?P<library>\[TRT\] ?)?|\[TRT\] \[(?P<severity2>[VIWEF])\] ?)"
)
_UNSTAMPED = re.compile(
    r"(?:\[(?:TensorRT|TRT)\] (?P<word>VERBOSE|INFO|WARNING|ERROR|INTERNAL_ERROR): "
    r"|(?P<word2>VERBOSE|INFO|WARNING|ERROR): \[?(?:TensorRT|TRT)\]?:? "
    r"|\[TRT\] \[(?P<letter>[VIWEF])\] "
    r"|\[TRT\] {2,})"
)
_WORDS = {"VERBOSE": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "INTERNAL_ERROR": "F"}
_VARYING = re.compile(r"(\d+)|(\s+)|([A-Z][a-z]{2}(?= ))")


class Prefix(NamedTuple):
    """A line taken apart.

    Attributes:
        severity: V, I, W, E or F; empty where the line has no prefix of its own.
        is_library: Said by the library, not by trtexec.
        stamp: Seconds, from an arbitrary start; None without a time stamp.
        text: The time stamp with its brackets and the space behind it, verbatim; empty without one.
        message: The rest of the line.
        before: What stood before the stamp.
    """

    severity: str
    is_library: bool
    stamp: int | None
    text: str
    message: str
    before: str


def take_apart(line: str) -> Prefix:
    """Split one line. A line without any prefix is all message, with no severity."""
    if match := _STAMPED.search(line):
        letter = match["severity"] or match["severity2"]
        is_library = bool(match["library"] or match["severity2"])
        stamp, message = match["stamp"], line[match.end() :]
        return Prefix(letter, is_library, seconds_of(stamp), f"[{stamp}] ", message, line[: match.start()])
    if match := _UNSTAMPED.match(line):
        letter = _WORDS.get(match["word"] or match["word2"] or "", match["letter"] or "V")
        return Prefix(letter, True, None, "", line[match.end() :], "")
    return Prefix("", False, None, "", line, "")


def starts_of(line: str) -> list[int]:
    """Where prefixes with a time stamp begin in a line."""
    return [match.start() for match in _STAMPED.finditer(line)]


@lru_cache(maxsize=64)
def seconds_of(stamp: str) -> int | None:
    """Seconds since 1970 of `MM/DD/YYYY-HH:MM:SS`, in whatever zone it was printed; None for no real date."""
    month, day, year = int(stamp[:2]), int(stamp[3:5]), int(stamp[6:10])
    hour, minute, second = int(stamp[11:13]), int(stamp[14:16]), int(stamp[17:19])
    if not (
        1 <= month <= 12 and 1 <= day <= 31 and year >= 1970 and hour < 24 and minute < 60 and second < 61
    ):
        return None
    return calendar.timegm((year, month, day, hour, minute, second))


def pattern_of(before: str) -> re.Pattern[str]:
    """What matches the same foreign prefix on other lines, where its numbers, spaces and month may differ."""
    parts = []
    end = 0
    for match in _VARYING.finditer(before):
        parts.append(re.escape(before[end : match.start()]))
        parts.append(r"\d+" if match[1] else r"\s+" if match[2] else "[A-Z][a-z]{2}")
        end = match.end()
    parts.append(re.escape(before[end:]))
    text = "".join(parts)
    # Without a time stamp behind it, the last space may be missing: an empty message ends there.
    return re.compile(text[:-3] + r"\s?" if text.endswith(r"\s+") else text)
