"""Opening a file that others named: no device, no end of a pipe that nobody writes to, nothing that has no end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Not waiting for a writer: a pipe without one is empty."""


def open_bytes(path: Path, *, may_be_pipe: bool = False) -> BinaryIO:
    """A regular file, unbuffered. What the path leads to is looked at once it is open: it may have been swapped since.

    Args:
        may_be_pipe: Take a pipe as well, as in `build-log <(zcat net.log.gz)`.

    Raises:
        OSError: It cannot be opened, or is something else; `strerror` is the end of a sentence about the file.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, "it is not a valid path") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode) and may_be_pipe:
            os.set_blocking(descriptor, True)  # it has a writer, or ends at once
        elif not stat.S_ISREG(mode):
            if stat.S_ISDIR(mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            raise OSError(errno.EINVAL, "it is not a regular file")
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def read_piece(file: BinaryIO, size: int) -> bytes:
    """Up to so many bytes; none at the end.

    Raises:
        OSError: It cannot be read, or would have to be waited for, as some files of the kernel.
    """
    piece = file.read(size)
    if piece is None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return piece


def read_head(path: Path, size: int) -> bytes:
    """The first bytes of a regular file, as many as there are.

    Raises:
        OSError: As `open_bytes`, or it cannot be read.
    """
    with open_bytes(path) as file:
        return read_fully(file, size)


def read_fully(file: BinaryIO, size: int) -> bytes:
    """So many bytes, fewer only at the end of the file. One read gives 2 GiB at the most.

    Raises:
        OSError: It cannot be read.
    """
    pieces = []
    missing = size
    while missing > 0 and (piece := read_piece(file, missing)):
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
