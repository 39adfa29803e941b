"""Parts of a log, where the rest is not asked for: its options and results.

They stand under headings of trtexec's own, so that a log of hundreds of megabytes need only be searched, not read.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from trex_tui.artifacts.buildlog.lines import ReadState, lines_of, open_log
from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.artifacts.buildlog.outline import read_outline
from trex_tui.artifacts.buildlog.reader import Reader
from trex_tui.artifacts.jsonfile import gc_paused
from trex_tui.artifacts.sniff import GZIP_MARK

SHORT_BYTES = 4 << 20
"""Logs up to this size are read rather than searched."""

_CHUNK = 4 << 20
_MARKS = (b"[I] === ", b"utomatically overriding shape", b"utomatically setting shape")
"""Headings, and what is said where trtexec chose a shape."""
_BEFORE, _BEHIND = 16 * 1024, 128 * 1024
"""What is read around a heading: the banner before the first, and all of the longest section."""


def read_sections(path: Path) -> BuildTrace:
    """Read what stands under headings, options, device and performance of all runs, and the shapes that trtexec chose.

    All else is left out or in part.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    with open_log(path) as file:
        try:
            head = file.read(4)
            size = file.seek(0, io.SEEK_END)
            if size <= SHORT_BYTES or head.startswith((GZIP_MARK, b"\xff\xfe", b"\xfe\xff")):
                return read_outline(path)
            parts = b"\n".join(_around_headings(file))
        except OSError:
            return read_outline(path)
    with gc_paused():
        return Reader(path).read_pieces(lines_of(io.BytesIO(parts), ReadState()))


def _around_headings(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines around each heading and the like, without overlap."""
    done = 0
    for place in _marked(file):
        if place + _BEHIND // 2 <= done:
            continue
        start = max(place - _BEFORE, done)
        file.seek(start)
        data = file.read(place + _BEHIND - start)
        done = start + len(data)
        if start:
            data = data[data.find(b"\n") + 1 :]
        yield data[: data.rfind(b"\n")]


def _marked(file: BinaryIO) -> list[int]:
    """Where headings and the like stand in a file."""
    places = []
    file.seek(0)
    offset, rest = 0, b""
    longest = max(map(len, _MARKS))
    while chunk := file.read(_CHUNK):
        data = rest + chunk
        for mark in _MARKS:
            # What ends within the bytes that were there before has been found.
            place = data.find(mark, max(len(rest) - len(mark) + 1, 0))
            while place >= 0:
                places.append(offset + place)
                place = data.find(mark, place + 1)
        rest = data[-(longest - 1) :]
        offset += len(data) - len(rest)
    return sorted(places)
