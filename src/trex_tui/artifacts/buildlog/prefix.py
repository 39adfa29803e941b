"""What stands before a message: TensorRT's own mark, with a time stamp or without."""

from __future__ import annotations

import calendar
from functools import lru_cache
from typing import NamedTuple

from trex_tui.artifacts.foreign import STAMPED, UNSTAMPED

_WORDS = {"VERBOSE": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "INTERNAL_ERROR": "F"}


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
    if match := STAMPED.search(line):
        letter = match["severity"] or match["severity2"]
        is_library = bool(match["library"] or match["severity2"])
        stamp, message = match["stamp"], line[match.end() :]
        return Prefix(letter, is_library, seconds_of(stamp), f"[{stamp}] ", message, line[: match.start()])
    if match := UNSTAMPED.match(line):
        letter = _WORDS.get(match["word"] or match["word2"] or "", match["letter"] or "V")
        return Prefix(letter, True, None, "", line[match.end() :], "")
    return Prefix("", False, None, "", line, "")


def starts_of(line: str) -> list[int]:
    """Where prefixes with a time stamp begin in a line."""
    return [match.start() for match in STAMPED.finditer(line)]


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
