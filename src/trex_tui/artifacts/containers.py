"""Lines as container runtimes keep them: a record a line, with the stream it came from, cut where it was long.

docker's json-file driver: `{"log":"…\\n","stream":"stderr","time":"2026-07-07T02:10:59.123Z"}`. A record without an end
of line goes on in the next one of the same stream (docker cuts at 16 KiB).
CRI (containerd, CRI-O), as in `/var/log/pods`: `2026-07-07T02:10:59.123456789Z stdout F …`. P instead of F: goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator

from trex_tui.artifacts.foreign import ESCAPE

LONGEST_LINE = 1 << 20
"""Characters of a line that are kept; metadata of a large Myelin layer takes some hundred thousand."""

_JSON = re.compile(r'\s*\{\s*"(?:log|stream|time|attrs)"\s*:')
_CRI = re.compile(
    r"\d{4}-\d\d-\d\dT\S{8,30} (?P<stream>stdout|stderr) (?P<tag>[PF])(?::\S+)?(?: (?P<text>.*))?$"
)

_Record = tuple[str, str, bool]
"""Stream, text, and whether its line ends with it."""


def _docker_record(line: str) -> _Record | None:
    if not _JSON.match(line):
        return None
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = record.get("log") if isinstance(record, dict) else None
    if not isinstance(text, str):
        return None
    return str(record.get("stream")), text.rstrip("\r\n"), text.endswith("\n")


def _cri_record(line: str) -> _Record | None:
    match = _CRI.match(line)
    return (match["stream"], match["text"] or "", match["tag"] == "F") if match else None


class Unwrapper:
    """Takes the lines of a log out of their records. Each line gives one, so that they keep their numbers."""

    def __init__(self, record_of: Callable[[str], _Record | None]) -> None:
        self._record_of = record_of
        self._held: dict[str, str] = {}

    def unwrap(self, line: str) -> str:
        """The line that ends with this record; empty where it goes on. What is no record is given as it is."""
        record = self._record_of(line)
        if record is None:
            return "" if _JSON.match(line) else line
        stream, text, is_end = record
        if stream in self._held:
            text = self._held.pop(stream) + text
        if is_end:
            return ESCAPE.sub("", text).replace("\n", " ") if "\x1b" in text or "\n" in text else text
        if len(self._held) < 8:
            self._held[stream] = text[:LONGEST_LINE]
        return ""

    def rest(self) -> list[str]:
        """What has no end when the log has."""
        return [text for text in self._held.values() if text.startswith("&&&& ")]


def unwrapper_of(line: str) -> Unwrapper | None:
    """What takes records like this line apart; None if it is none."""
    for record_of in (_docker_record, _cri_record):
        if record_of(line) is not None:
            return Unwrapper(record_of)
    return None


def unwrapped(pieces: Iterable[list[str]]) -> Iterator[list[str]]:
    """The lines of a log without their records, if the first that is not blank is one; else as they are."""
    pieces = iter(pieces)
    for lines in pieces:
        first = next((line for line in lines if line and not line.isspace()), None)
        unwrapper = unwrapper_of(first) if first is not None else None
        if unwrapper is not None:
            yield list(map(unwrapper.unwrap, lines))
            for more in pieces:
                yield list(map(unwrapper.unwrap, more))
            if rest := unwrapper.rest():
                yield rest
            return
        yield lines
        if first is not None:
            yield from pieces
            return


def unwrapped_head(text: str) -> str | None:
    """The beginning of a file without its records; None if it holds none."""
    first, _, _ = text.lstrip().partition("\n")
    unwrapper = unwrapper_of(first)
    return "\n".join(map(unwrapper.unwrap, text.splitlines())) if unwrapper else None
