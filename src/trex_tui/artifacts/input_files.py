"""Files of others: opened safely, and JSON as TensorRT writes it.

No device is opened, no end of a pipe that nobody writes to, nothing that has no end. Garbage collection is paused while
parsing: a parse makes nothing but containers that stay, and the collector walking over them again and again costs more than
the parse itself.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from trex_tui.errors import ArtifactError

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


_CONTAINERS = frozenset((dict, list))
_MOST_LEVELS = 16
_TOO_DEEP = "(nested too deeply)"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
MOST_BYTES = 2 << 30
"""Of a file that is read whole: seven million timing rows, or an engine of a million layers. More has no purpose here."""
_LARGEST_NUMBER = 1e15
"""Nothing that trtexec measures or counts is larger; up to here sums stay finite and exact enough."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Keep the cyclic collector from running; restore it as it was."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def finite_number(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    """The number that a JSON value is; None for anything else, and for what cannot be a measurement: `nan`, `inf`, 1e300."""
    if type(value) is not float and type(value) is not int:
        return None
    return float(value) if -_LARGEST_NUMBER <= value <= _LARGEST_NUMBER else None


def without_depths(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, but for those nested deeper than anything TensorRT writes: what prints or compares them recurses."""
    for value in values.values():
        if type(value) in _CONTAINERS and _is_deep(value, _MOST_LEVELS):
            return {key: _TOO_DEEP if _is_deep(one, _MOST_LEVELS) else one for key, one in values.items()}
    return values


def _is_deep(value: Any, levels: int) -> bool:  # noqa: ANN401 - any JSON value
    if type(value) not in _CONTAINERS:
        return False
    if not levels:
        return True
    inside = value.values() if type(value) is dict else value
    return any(type(item) in _CONTAINERS and _is_deep(item, levels - 1) for item in inside)


def decode_text(data: bytes) -> str:
    """UTF-8 with or without a mark, or UTF-16 with one (a PowerShell redirect writes that).

    Bytes that are not UTF-8 become U+FFFD: a layer name in another encoding must not cost the file.
    """
    if data[:2] in _UTF16_MARKS:
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def read_text(path: Path) -> str:
    """Return the text of a file, decoded as `decode_text` does.

    Raises:
        ArtifactError: The file cannot be read, or is larger than `MOST_BYTES`.
    """
    try:
        with open_bytes(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MOST_BYTES:
                message = f"is too large: {size / 2**30:.1f} GiB; at most {MOST_BYTES >> 30} GiB are read"
                raise ArtifactError(path, message)
            data = read_fully(file, size)
    except OSError as error:
        raise ArtifactError(path, f"cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise ArtifactError(path, "is too large for this machine's memory") from error
    return decode_text(data)


def parse_json(text: str, path: Path) -> Any:  # noqa: ANN401 - JSON is whatever the file holds
    """Parse JSON, accepting raw control characters inside strings: TensorRT 8.6 writes U+001E unescaped.

    Raises:
        ArtifactError: With line and column where the text stops being JSON.
    """
    if not text or text.isspace():
        raise ArtifactError(path, "is empty")
    try:
        with gc_paused():
            return json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        # An error in the last few characters means that the text ends too early.
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string"):
            message = f"is truncated: the JSON ends in the middle ({error.msg.lower().removesuffix(' starting at')})"
        else:
            message = f"is not valid JSON ({error.msg.lower()})"
        raise ArtifactError(path, message, f"line {error.lineno} column {error.colno}") from error
    except RecursionError as error:
        raise ArtifactError(path, "is nested too deeply to be an artifact") from error
    except ValueError as error:  # an integer with thousands of digits
        raise ArtifactError(path, f"is not usable JSON ({error})") from error
    except MemoryError as error:
        raise ArtifactError(path, "is too large for this machine's memory") from error


def load_json(path: Path) -> Any:  # noqa: ANN401 - JSON is whatever the file holds
    """Read and parse one file.

    Raises:
        ArtifactError: As `read_text` and `parse_json`.
    """
    return parse_json(read_text(path), path)
