"""Read the lines of a log in pieces of a few kilobytes, so that neither the file nor a single line must fit into memory.

trtexec writes warnings and errors to stderr, all else to stdout, and both may go to one file. stdout is buffered in blocks,
so that a line of it may be split in two, with whole lines of stderr between the halves. The first half is held until the
second arrives.
"""

from __future__ import annotations

import calendar
import codecs
import re
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple

from trex_tui.artifacts.open import COPY_AGAIN, open_bytes, read_piece
from trex_tui.buildlog.banner import MARK
from trex_tui.buildlog.log_prefixes import ESCAPE, STAMPED, UNSTAMPED, strip_prefixes
from trex_tui.buildlog.tuner import STAMP_INSIDE
from trex_tui.errors import ArtifactError, describe_os_error

GZIP_MARK = b"\x1f\x8b"
PIECE_BYTES = 32 * 1024
"""Bytes decoded at once. Larger pieces are slower: their lines no longer fit the processor's cache."""

LONGEST_LINE = 1 << 20
"""Characters kept per line; metadata of a large Myelin layer takes several hundred thousand."""
_ENDLESS_LINE = 64 << 20
"""Length from which a line is not text and its file not a log: a file full of zeros."""
_MOST_PACKED = 250
"""Largest compression ratio. Logs reach about 20, a decompression bomb 1,000."""
_HARMLESS_BYTES = 64 << 20
"""Bytes that are decompressed whatever the ratio."""

_LEAST_READING_S = 10.0
_READING_S_PER_MIB = 10.0
"""Processor seconds allowed for a compressed log, several times what real logs need. A byte limit is not enough: 64 MiB
of empty lines take a hundred times as long as 64 MiB of a log.
"""

_HALF_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8})?$")
_LONGEST_BEFORE = 400
"""Maximum number of characters before a banner in its line."""


@dataclass(slots=True)
class ReadState:
    """State of the file after the last piece.

    Attributes:
        damage: Why it could not be read to its end, as the end of a sentence; empty if it could.
        cut_off: Whether its last line is incomplete.
        shortened: Number of lines longer than `LONGEST_LINE`.
        read_bytes: Bytes of the file read so far, before decompression.
        is_packed: Whether the file is compressed.
    """

    damage: str = ""
    cut_off: bool = False
    shortened: int = 0
    read_bytes: int = 0
    is_packed: bool = False


def read_lines(path: Path, state: ReadState) -> Iterator[list[str]]:
    """Yield lists of lines of a file without their ends; afterwards `state` is complete.

    An incomplete last line is returned only if it is a banner, since a number in it may be truncated. Prefixes added by other
    programs are removed.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    with open_log(path) as file:
        yield from strip_prefixes(_lines(_texts(file, state), state))


def open_log(path: Path) -> BinaryIO:
    """Open a log, which may be a pipe.

    Raises:
        ArtifactError: It cannot be opened.
    """
    try:
        return open_bytes(path, may_be_pipe=True)
    except OSError as error:
        raise ArtifactError(path, describe_os_error(error)) from error


def _texts(file: BinaryIO, state: ReadState) -> Iterator[str]:
    decoder: codecs.IncrementalDecoder | None = None
    half = ""
    for data in plain_pieces(file, state):
        if decoder is None:
            wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as PowerShell redirects
            decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")(errors="replace")
        text = half + decoder.decode(data)
        half = ""
        if "\x1b" in text:
            text = ESCAPE.sub("", text)
            if match := _HALF_ESCAPE.search(text):
                text, half = text[: match.start()], match[0]
        yield text
    if decoder is not None:
        yield half + decoder.decode(b"", final=True)


def plain_pieces(file: BinaryIO, state: ReadState) -> Iterator[bytes]:
    """Yield the bytes of a log, decompressed if necessary; `state.damage` has the reason of an early end."""
    try:
        data = read_piece(file, PIECE_BYTES)
        if data.startswith(GZIP_MARK):
            state.is_packed = True
            yield from _unpacked(data, file, state)
            return
        while data:
            state.read_bytes += len(data)
            yield data
            data = read_piece(file, PIECE_BYTES)
    except OSError as error:
        state.damage = describe_os_error(error, "cannot be read to its end")


def _unpacked(data: bytes, file: BinaryIO, state: ReadState) -> Iterator[bytes]:
    """Decompress without the gzip module, which discards data before the damage."""
    unpacker = zlib.decompressobj(wbits=31)
    taken, given = len(data), 0
    began_s = time.thread_time()
    try:
        while data:
            state.read_bytes = taken
            piece = unpacker.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
                given += len(piece)
            if excess := _find_excess(taken, given, began_s):
                state.damage = excess
                return
            if unpacker.eof:
                data = unpacker.unused_data
                if not data:
                    data = read_piece(file, PIECE_BYTES)
                    taken += len(data)
                if not data.strip(b"\0"):
                    return
                unpacker = zlib.decompressobj(wbits=31)
            else:
                data = unpacker.unconsumed_tail
                if not data:
                    data = read_piece(file, PIECE_BYTES)
                    taken += len(data)
    except zlib.error as error:
        state.damage = f"is damaged inside its compression ({error}); {COPY_AGAIN}"
        return
    if rest := unpacker.flush():
        yield rest
    state.damage = f"ends in the middle of its compression; {COPY_AGAIN}"


def _find_excess(taken: int, given: int, began_s: float) -> str:
    """Return the limit that a compressed log exceeds; empty if none.

    Args:
        taken: Bytes read so far.
        given: Bytes after decompression.
        began_s: Processor time of this thread when reading began. With wall time the result would depend on the load of the
            machine.
    """
    if given > _HARMLESS_BYTES and given > _MOST_PACKED * taken:
        return (
            f"unpacks to more than {_MOST_PACKED} times its size, unlike any log; unpack it to read all of it"
        )
    if time.thread_time() - began_s > _LEAST_READING_S + _READING_S_PER_MIB * taken / 2**20:
        return "takes too long to read for its size; unpack it to read all of it"
    return ""


def _lines(texts: Iterator[str], state: ReadState) -> Iterator[list[str]]:
    rest = ""
    overlong = 0
    for text in texts:
        if overlong:
            end = text.find("\n")
            if end < 0:
                overlong += len(text)
                if overlong > _ENDLESS_LINE:
                    state.damage = (
                        f"has a line of more than {_ENDLESS_LINE >> 20} million characters; {COPY_AGAIN}"
                    )
                    return
                continue
            text = text[end:]
            overlong = 0
        lines = (rest + text).split("\n")
        rest = lines.pop()
        if "\r" in text or (lines and "\r" in lines[0]):
            lines = [line.rstrip("\r") for line in lines]
        if lines:
            yield lines
        if len(rest) > LONGEST_LINE:
            rest, overlong = rest[:LONGEST_LINE], len(rest)
            state.shortened += 1
    if rest:
        if rest.startswith("&&&& ") or MARK.search(rest[:_LONGEST_BEFORE]):
            yield [rest.rstrip("\r")]
        else:
            state.cut_off = True


_WORDS = {"VERBOSE": "V", "INFO": "I", "WARNING": "W", "ERROR": "E", "INTERNAL_ERROR": "F"}


class Prefix(NamedTuple):
    """A line split into its parts.

    Attributes:
        severity: V, I, W, E or F; empty if the line has no prefix of its own.
        is_library: Printed by the library, not by trtexec.
        stamp: Seconds, from an arbitrary start; None without a time stamp.
        text: The time stamp with its brackets and the following space, verbatim; empty without a time stamp.
        message: The rest of the line.
        before: Text before the time stamp.
    """

    severity: str
    is_library: bool
    stamp: int | None
    text: str
    message: str
    before: str


def parse_prefix(line: str) -> Prefix:
    """Split one line. A line without any prefix is all message, with no severity."""
    if match := STAMPED.search(line):
        letter = match["severity"] or match["severity2"]
        is_library = bool(match["library"] or match["severity2"])
        stamp, message = match["stamp"], line[match.end() :]
        return Prefix(letter, is_library, parse_stamp(stamp), f"[{stamp}] ", message, line[: match.start()])
    if match := UNSTAMPED.match(line):
        letter = _WORDS.get(match["word"] or match["word2"] or "", match["letter"] or match["letter2"] or "V")
        is_library = match["letter2"] is None or match["library"] is not None
        return Prefix(letter, is_library, None, "", line[match.end() :], "")
    return Prefix("", False, None, "", line, "")


def find_prefixes(line: str) -> list[int]:
    """Return the positions of prefixes with a time stamp in a line."""
    return [match.start() for match in STAMPED.finditer(line)]


@lru_cache(maxsize=64)
def parse_stamp(stamp: str) -> int | None:
    """Return the seconds since 1970 of `MM/DD/YYYY-HH:MM:SS`, in the time zone of the log; None for an invalid date."""
    month, day, year = int(stamp[:2]), int(stamp[3:5]), int(stamp[6:10])
    hour, minute, second = int(stamp[11:13]), int(stamp[14:16]), int(stamp[17:19])
    if not (
        1 <= month <= 12 and 1 <= day <= 31 and year >= 1970 and hour < 24 and minute < 60 and second < 61
    ):
        return None
    return calendar.timegm((year, month, day, hour, minute, second))


_ON_STDERR = frozenset("WEF")
_MOST_BETWEEN = 10_000
"""Lines of stderr after which the second half is no longer expected."""


class LogStreams:
    """Reads lines that may be split, and passes on whole lines.

    Args:
        on_prefix: Receives a line with a prefix.
        bare: Receives a line without a prefix.

    Attributes:
        broken: The first half of a line; empty if none is held.
        lost: Number of dropped lines, whose second half is missing: a number in them may be truncated.
    """

    def __init__(self, on_prefix: Callable[[Prefix], None], bare: Callable[[str], None]) -> None:
        self._on_prefix = on_prefix
        self._bare = bare
        self.broken = ""
        self.lost = 0
        self._began = self._until = 0
        self._severity = ""

    def line(self, number: int, line: str) -> None:
        """Read a line with one prefix, none, or two."""
        if self.broken and (number > self._until + 1 or number > self._began + _MOST_BETWEEN):
            self.settle()
        prefix = parse_prefix(line)
        if not prefix.severity or (self.broken and not prefix.text):
            self._without_prefix(number, line)  # a line may also be split between its time stamp and `[TRT]`
            return
        starts = []
        if prefix.before or STAMP_INSIDE in prefix.message:
            starts = find_prefixes(line)[0 if prefix.before else 1 :]
        if starts:
            self._two_in_one(number, line, starts, is_rest=bool(prefix.before))
            return
        if self.broken and prefix.severity in _ON_STDERR and prefix.stamp is not None:
            self._until, self._severity = number, prefix.severity
        else:
            self.settle()
        self._on_prefix(prefix)

    def _two_in_one(self, number: int, line: str, starts: list[int], *, is_rest: bool) -> None:
        """Read a half line followed by another line; `is_rest` if the half has no prefix and may continue an earlier half."""
        half = line[: starts[0]]
        if is_rest and self.broken and len(self.broken) < LONGEST_LINE:
            half = self.broken + half
        else:
            self.settle()
            self._began = number
        self.broken, self._until = half, number
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            prefix = parse_prefix(line[start:end])
            self._severity = prefix.severity
            self._on_prefix(prefix)

    def _without_prefix(self, number: int, line: str) -> None:
        match = MARK.search(line) if "&&&& " in line else None
        if match is not None:
            self.settle()
            self._bare(line[match.start() :])
        elif self.broken and line[:2].isspace() and len(line) > 2 and self._severity in "EF":
            self._until = number  # of an error of several lines
            self._bare(line)
        elif self.broken and line:
            joined, self.broken = self.broken + line, ""
            self.line(number, joined)
        elif self.broken:
            self._hand_on()  # the second half was only the end of the line
        elif line:
            self._bare(line)

    def settle(self) -> None:
        """Give up waiting for the second half of a line."""
        if self.broken and self._severity in _ON_STDERR and parse_prefix(self.broken).severity:
            self.broken = ""
            self.lost += 1
        self._hand_on()

    def _hand_on(self) -> None:
        line, self.broken = self.broken, ""
        if line:
            prefix = parse_prefix(line)
            if prefix.severity:
                self._on_prefix(prefix)
            else:
                self._bare(line)
