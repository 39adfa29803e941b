"""What comes over a connection: a log up to our own last line, and files one behind the other."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

from trex_tui.capture.ssh import ConnectionLostError
from trex_tui.errors import TrexError

_TAIL = 256
"""Bytes; our own last line is shorter."""


class Sieve:
    """Passes on what comes, up to a mark; keeps back what may be its beginning."""

    def __init__(self, mark: bytes, feed: Callable[[bytes], None]) -> None:
        self.mark = mark
        self.sink = feed
        self.kept = b""
        self.is_over = False

    def feed(self, data: bytes) -> None:
        """Take a piece."""
        if self.is_over:
            return
        data = self.kept + data
        place = data.find(self.mark)
        if place >= 0:
            self.is_over, self.kept = True, b""
        else:
            longest = min(len(data), len(self.mark) - 1)
            kept = next((n for n in range(longest, 0, -1) if self.mark.startswith(data[-n:])), 0)
            place = len(data) - kept
            self.kept = data[place:]
        if place:
            self.sink(data[:place])

    def close(self) -> None:
        """No more comes: what was kept back was no mark."""
        if self.kept:
            self.sink(self.kept)
            self.kept = b""


def cut_end(log: Path, word: str) -> tuple[int, int] | None:
    """Take the last line of ours off a log.

    Returns:
        Exit code as a shell has it (128 and more: a signal), and whether children were left; None if there is no such line.

    Raises:
        OSError: The log cannot be read.
    """
    with log.open("r+b") as file:
        begin = max(0, file.seek(0, os.SEEK_END) - _TAIL)
        file.seek(begin)
        tail = file.read()
        place = tail.rfind(word.encode() + b" ")
        words = tail[place:].split() if place >= 0 else []
        if len(words) != 3 or not tail.endswith(b"\n") or not (words[1] + words[2]).isdigit():
            return None
        file.truncate(begin + place)
    return int(words[1]), int(words[2])


def unpack(pieces: Iterator[bytes], targets: list[Path], host: str) -> None:
    """Write files that come one after the other, each behind its size; one that the other side has not is left out.

    Raises:
        ConnectionLostError: The stream ends too early; no half of a file is left.
        OSError: A file cannot be written.
    """
    rest = b""
    for target in targets:
        while b"\n" not in rest:
            rest += _more(pieces, target, host)
        size, _, rest = rest.partition(b"\n")
        if not size.strip().isdigit():
            continue
        left = int(size)
        # Of this process alone: somebody else may be fetching the same file.
        part = target.with_name(f".trex-tui.{secrets.token_hex(8)}.part")
        try:
            with part.open("xb") as file:
                while left:
                    rest = rest or _more(pieces, target, host)
                    file.write(rest[:left])
                    rest, left = rest[left:], left - min(left, len(rest))
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
    for _ in pieces:  # to its end, where a failure shows
        pass


def _more(pieces: Iterator[bytes], target: Path, host: str) -> bytes:
    try:
        return next(pieces)
    except StopIteration:
        raise ConnectionLostError(f"{host}: the connection ended before {target.name} was here") from None
    except TrexError as error:
        raise ConnectionLostError(f"{error} (while {target.name} came)") from None
