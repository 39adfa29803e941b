"""The lines of a log, in pieces of a few kilobytes, so that neither the file nor a line of it need fit into memory."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from trex_tui.artifacts.sniff import GZIP_MARK
from trex_tui.errors import ArtifactError

PIECE_BYTES = 32 * 1024
"""What is decoded at once. Larger pieces are slower: their lines no longer fit the processor's cache."""
LONGEST_LINE = 1 << 20
"""Characters of a line that are kept; metadata of a large Myelin layer takes some hundred thousand."""

_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(slots=True)
class ReadState:
    """What is known of the file once the last piece is read.

    Attributes:
        damage: Why it could not be read to its end, as the end of a sentence; empty if it could.
        cut_off: Whether its last line has no end.
        shortened: How many lines were longer than `LONGEST_LINE`.
        read_bytes: How much of the file has been read so far, packed as it is.
    """

    damage: str = ""
    cut_off: bool = False
    shortened: int = 0
    read_bytes: int = 0


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
        return path.open("rb", buffering=0)
    except OSError as error:
        raise ArtifactError(path, f"cannot be read: {error.strerror or error}") from error


def lines_of(file: BinaryIO, state: ReadState) -> Iterator[list[str]]:
    """Lists of lines without their ends; `state` is complete when they are.

    A last line that does not end is given only if it is a banner: half a number is not a number.
    """
    yield from _lines(_texts(file, state), state)


def _texts(file: BinaryIO, state: ReadState) -> Iterator[str]:
    decoder: codecs.IncrementalDecoder | None = None
    for data in _bytes(file, state):
        if decoder is None:
            wide = data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)  # as PowerShell redirects
            decoder = codecs.getincrementaldecoder("utf-16" if wide else "utf-8-sig")(errors="replace")
        text = decoder.decode(data)
        if "\x1b" in text:
            text = _ESCAPE.sub("", text)
        yield text
    if decoder is not None:
        yield decoder.decode(b"", final=True)


def _bytes(file: BinaryIO, state: ReadState) -> Iterator[bytes]:
    try:
        data = file.read(PIECE_BYTES)
        if data.startswith(GZIP_MARK):
            yield from _unpacked(data, file, state)
            return
        while data:
            state.read_bytes += len(data)
            yield data
            data = file.read(PIECE_BYTES)
    except OSError as error:
        state.damage = f"cannot be read to its end: {error.strerror or error}"


def _unpacked(data: bytes, file: BinaryIO, state: ReadState) -> Iterator[bytes]:
    """Unpack by hand: the gzip module throws away what stands before the damage."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        while data:
            state.read_bytes = file.tell()
            piece = unpacker.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
            if unpacker.eof:
                data = unpacker.unused_data or file.read(PIECE_BYTES)
                if not data.strip(b"\0"):
                    return
                unpacker = zlib.decompressobj(wbits=31)
            else:
                data = unpacker.unconsumed_tail or file.read(PIECE_BYTES)
    except zlib.error as error:
        state.damage = f"is damaged inside its compression ({error})"
        return
    if rest := unpacker.flush():
        yield rest
    state.damage = "ends in the middle of its compression"


def _lines(texts: Iterator[str], state: ReadState) -> Iterator[list[str]]:
    rest = ""
    overlong = False
    for text in texts:
        if overlong:
            place = text.find("\n")
            if place < 0:
                continue
            text = text[place:]
            overlong = False
        lines = (rest + text).split("\n")
        rest = lines.pop()
        if "\r" in text or (lines and "\r" in lines[0]):
            lines = [line.rstrip("\r") for line in lines]
        if lines:
            yield lines
        if len(rest) > LONGEST_LINE:
            rest = rest[:LONGEST_LINE]
            overlong = True
            state.shortened += 1
    if rest:
        if rest.startswith("&&&& "):
            yield [rest.rstrip("\r")]
        else:
            state.cut_off = True
