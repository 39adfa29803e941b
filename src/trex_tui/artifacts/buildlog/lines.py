"""The lines of a log, in pieces of a few kilobytes, so that neither the file nor a line of it need fit into memory."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from trex_tui.artifacts.containers import LONGEST_LINE, unwrapped
from trex_tui.artifacts.foreign import BANNER, ESCAPE, undressed
from trex_tui.artifacts.opening import open_bytes, read_piece
from trex_tui.artifacts.sniff import GZIP_MARK
from trex_tui.errors import ArtifactError

PIECE_BYTES = 32 * 1024
"""What is decoded at once. Larger pieces are slower: their lines no longer fit the processor's cache."""

_ENDLESS_LINE = 64 << 20
"""Characters after which a line is none, and its file no log any more: a disk full of zeros."""
_MOST_PACKED = 250
"""How many times its size a packed log may have. Logs are packed twenty-fold; a bomb, a thousand-fold."""
_HARMLESS_BYTES = 64 << 20
"""What is unpacked whatever the ratio."""

_HALF_ESCAPE = re.compile(r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8})?$")
_LONGEST_BEFORE = 400
"""Characters in which a banner begins, whatever stands before it."""


@dataclass(slots=True)
class ReadState:
    """What is known of the file once the last piece is read.

    Attributes:
        damage: Why it could not be read to its end, as the end of a sentence; empty if it could.
        cut_off: Whether its last line has no end.
        shortened: How many lines were longer than `LONGEST_LINE`.
        read_bytes: How much of the file has been read so far, packed as it is.
        is_packed: Whether it is packed.
    """

    damage: str = ""
    cut_off: bool = False
    shortened: int = 0
    read_bytes: int = 0
    is_packed: bool = False


def read_lines(path: Path, state: ReadState) -> Iterator[list[str]]:
    """Lists of lines of a file without their ends, see `lines_of`.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    with open_log(path) as file:
        yield from lines_of(file, state)


def open_log(path: Path) -> BinaryIO:
    """Open a log for `lines_of`.

    Raises:
        ArtifactError: It cannot be opened.
    """
    try:
        return open_bytes(path, may_be_pipe=True)
    except OSError as error:
        raise ArtifactError(path, f"cannot be read: {error.strerror or error}") from error


def lines_of(file: BinaryIO, state: ReadState) -> Iterator[list[str]]:
    """Lists of lines without their ends; `state` is complete when they are.

    A last line that does not end is given only if it is a banner: half a number is not a number. What a container runtime
    or another program has put around the lines is taken off.
    """
    yield from undressed(unwrapped(_lines(_texts(file, state), state)))


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
    """The bytes of a log, unpacked where it is packed; `state.damage` tells why they end before their time."""
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
        state.damage = f"cannot be read to its end: {error.strerror or error}"


def _unpacked(data: bytes, file: BinaryIO, state: ReadState) -> Iterator[bytes]:
    """Unpack by hand: the gzip module throws away what stands before the damage."""
    unpacker = zlib.decompressobj(wbits=31)
    taken, given = len(data), 0
    try:
        while data:
            state.read_bytes = taken
            piece = unpacker.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
                given += len(piece)
            if given > _HARMLESS_BYTES and given > _MOST_PACKED * taken:
                state.damage = f"unpacks to more than {_MOST_PACKED} times its size, as no log does"
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
        state.damage = f"is damaged inside its compression ({error})"
        return
    if rest := unpacker.flush():
        yield rest
    state.damage = "ends in the middle of its compression"


def _lines(texts: Iterator[str], state: ReadState) -> Iterator[list[str]]:
    rest = ""
    overlong = 0
    for text in texts:
        if overlong:
            place = text.find("\n")
            if place < 0:
                overlong += len(text)
                if overlong > _ENDLESS_LINE:
                    state.damage = (
                        f"has a line of more than {_ENDLESS_LINE >> 20} million characters, as no log does"
                    )
                    return
                continue
            text = text[place:]
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
        if rest.startswith("&&&& ") or BANNER.search(rest[:_LONGEST_BEFORE]):
            yield [rest.rstrip("\r")]
        else:
            state.cut_off = True
