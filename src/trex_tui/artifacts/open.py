"""Open foreign files safely, and parse JSON as TensorRT and other tools write it.

Devices, pipes without a writer, and endless files are rejected. Bytes that are not UTF-8 are replaced, and told.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from trex_tui.errors import ARCHIVES, ArtifactError, Note, Severity, describe_os_error

MOST_BYTES = 2 << 30
"""Limit of a file that is read completely: seven million timing rows, or an engine of a million layers."""
LARGEST_NUMBER = 1e15
"""No value of trtexec is larger; up to here sums stay finite and precise enough."""
COPY_AGAIN = "copy or export it again"
"""Remedy of a file that is empty, truncated or damaged."""
OUTSIDE = "it is outside of the allowed directories"
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Do not wait for a writer: a pipe without one is empty."""
_OUT_OF_MEMORY = "exceeds the memory of this machine; use one with more memory"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
GZIP_MARK = b"\x1f\x8b"
PIECE_BYTES = 32 * 1024
"""Bytes decoded at once. Larger pieces are slower: their lines no longer fit the processor's cache."""
_MOST_PACKED = 250
"""Largest compression ratio. Logs reach about 20, a decompression bomb 1,000."""
_HARMLESS_BYTES = 4 << 20
"""Bytes that are decompressed whatever the ratio."""
_MOST_LEVELS = 16
_TOO_DEEP = "(nested too deeply)"

_allowed: tuple[str, ...] = ()
"""Real paths of the only directories that are read; empty for all."""


def confine(directories: Iterable[Path]) -> None:
    """Read only files below these directories from now on, links resolved; without a directory, all files again."""
    global _allowed
    _allowed = tuple(os.path.realpath(directory) for directory in directories)


def is_allowed(path: str | Path) -> bool:
    """Return whether a path, links resolved, is below the directories of `confine`, or unpacked from an archive."""
    if not _allowed:
        return True
    real = os.path.realpath(path)
    unpacked = (os.path.realpath(directory) for directory in ARCHIVES)
    return any(
        real == directory or real.startswith(directory.rstrip(os.sep) + os.sep)
        for directory in (*_allowed, *unpacked)
    )


def open_bytes(path: Path, *, may_be_pipe: bool = False) -> BinaryIO:
    """Open a regular file, unbuffered. The type is checked after opening, since the file may be replaced before.

    Args:
        may_be_pipe: Accept a pipe as well, as in `build-log <(zcat net.log.gz)`.

    Raises:
        OSError: It cannot be opened, or has another type; `strerror` is the end of a sentence about the file.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, "it is not a valid path") from error
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise OSError(errno.EINVAL, "it is not a regular file") from error
        raise
    try:
        if _allowed:
            # The file that was opened, not only its path: a link may have changed in between.
            real = os.path.realpath(path)
            if not is_allowed(real) or not os.path.samestat(os.fstat(descriptor), os.lstat(real)):
                raise PermissionError(errno.EACCES, OUTSIDE)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISFIFO(mode) and may_be_pipe:
            os.set_blocking(descriptor, True)  # it has a writer, or ends at once
        elif stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        elif not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
        return os.fdopen(descriptor, "rb", buffering=0)
    except BaseException:
        os.close(descriptor)
        raise


def read_piece(file: BinaryIO, size: int) -> bytes:
    """Read up to `size` bytes; none at the end.

    Raises:
        OSError: It cannot be read, or would block, as some files of the kernel do.
    """
    piece = file.read(size)
    if piece is None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return piece


def read_fully(file: BinaryIO, size: int) -> bytes:
    """Read `size` bytes, fewer only at the end of the file. A single read returns at most 2 GiB.

    Raises:
        OSError: It cannot be read.
    """
    pieces = []
    missing = size
    while missing > 0 and (piece := read_piece(file, missing)):
        pieces.append(piece)
        missing -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def read_head(path: Path, size: int) -> bytes:
    """Read the first bytes of a regular file, as many as there are.

    Raises:
        OSError: As `open_bytes`, or it cannot be read.
    """
    with open_bytes(path) as file:
        return read_fully(file, size)


def unpack_head(head: bytes, size: int) -> bytes:
    """Return the head of a file after decompression, at most `size` bytes; the head itself if it is not compressed.

    Raises:
        zlib.error: It is damaged.
    """
    return zlib.decompressobj(wbits=31).decompress(head, size) if head.startswith(GZIP_MARK) else head


class PackedError(ValueError):
    """Compressed data is damaged; the text is the end of a sentence whose subject is the file."""


def unpack(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield data after decompression; data that is not compressed as it is. The gzip module would lose what is before damage.

    Raises:
        PackedError: The data is damaged, truncated, or a decompression bomb.
    """
    unpacker = None
    is_inside = False
    taken = given = 0
    for number, data in enumerate(pieces):
        if number == 0 and data.startswith(GZIP_MARK):
            unpacker = zlib.decompressobj(wbits=31)
        if unpacker is None:
            yield data
            continue
        taken += len(data)
        while data:
            try:
                piece = unpacker.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                raise PackedError(f"is damaged inside its compression ({error}); {COPY_AGAIN}") from error
            yield piece
            given += len(piece)
            if given > max(_HARMLESS_BYTES, _MOST_PACKED * taken):
                raise PackedError(f"unpacks to more than {_MOST_PACKED} times its size; unpack it first")
            is_inside, data = not unpacker.eof, unpacker.unconsumed_tail
            if unpacker.eof:  # another member may follow
                data = unpacker.unused_data.lstrip(b"\0")
                unpacker = zlib.decompressobj(wbits=31)
    if unpacker is not None:
        yield unpacker.flush()
    if is_inside:
        raise PackedError(f"ends in the middle of its compression; {COPY_AGAIN}")


def decode_text(data: bytes) -> str:
    """Decode UTF-8 with or without BOM, or UTF-16 with one (as from a PowerShell redirect); other bytes become U+FFFD."""
    if data[:2] in _UTF16_MARKS:
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def read_text(path: Path, notes: list[Note] | None = None) -> str:
    """Return the text of a file, decoded as `decode_text` does.

    Args:
        notes: Receives a warning about bytes that are not UTF-8.

    Raises:
        ArtifactError: The file cannot be read, or is larger than `MOST_BYTES`.
    """
    try:
        with open_bytes(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MOST_BYTES:
                message = f"is too large: {size / 2**30:.1f} GiB; at most {MOST_BYTES >> 30} GiB are read, so export less"
                raise ArtifactError(path, message)
            data = read_fully(file, size)
            if data.startswith(GZIP_MARK):
                data = b"".join(unpack([data]))
    except OSError as error:
        raise ArtifactError(path, describe_os_error(error)) from error
    except PackedError as error:
        raise ArtifactError(path, str(error)) from error
    except MemoryError as error:
        raise ArtifactError(path, _OUT_OF_MEMORY) from error
    if data[:2] not in _UTF16_MARKS:
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            if notes is not None:
                line = data.count(b"\n", 0, error.start) + 1
                column = error.start - data.rfind(b"\n", 0, error.start)
                message = f"is not UTF-8: byte 0x{data[error.start]:02x} and the like are read as U+FFFD; {COPY_AGAIN}"
                place = f"line {line} column {column}"
                notes.append(Note(Severity.WARNING, path, place, message, is_incomplete=True))
    return decode_text(data)


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector while many objects are made: it would visit them again and again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def parse_json(text: str, path: Path) -> Any:  # noqa: ANN401 - JSON is whatever the file holds
    """Parse JSON, accepting raw control characters inside strings: TensorRT 8.6 writes U+001E unescaped.

    A string that holds JSON again, as `json.dump(model.model_dump_json())` writes it, is parsed too.

    Raises:
        ArtifactError: With line and column of the error.
    """
    if not text or text.isspace():
        raise ArtifactError(path, f"is empty; {COPY_AGAIN}")
    try:
        with gc_paused():
            root = json.loads(text, strict=False)
            return json.loads(root, strict=False) if holds_json(root) else root
    except json.JSONDecodeError as error:
        # An error in the last few characters means that the text is truncated.
        if error.pos >= len(text.rstrip()) - 1 or error.msg.startswith("Unterminated string"):
            cause = error.msg.lower().removesuffix(" starting at")
            message = f"is truncated: the JSON ends in the middle ({cause}); {COPY_AGAIN}"
        else:
            message = f"is not valid JSON ({error.msg.lower()}); export it again"
        raise ArtifactError(path, message, f"line {error.lineno} column {error.colno}") from error
    except RecursionError as error:
        raise ArtifactError(path, "is nested too deeply; export it again") from error
    except ValueError as error:  # an integer with thousands of digits
        raise ArtifactError(path, f"is not usable JSON ({error}); export it again") from error
    except MemoryError as error:
        raise ArtifactError(path, _OUT_OF_MEMORY) from error


def holds_json(value: object) -> bool:
    """Return whether a value is a text that begins as a JSON object or list."""
    return isinstance(value, str) and value.lstrip()[:1] in ("{", "[")


def load_json(path: Path, notes: list[Note] | None = None) -> Any:  # noqa: ANN401 - JSON is whatever the file holds
    """Read and parse one file.

    Raises:
        ArtifactError: As `read_text` and `parse_json`.
    """
    return parse_json(read_text(path, notes), path)


def parse_documents(text: str, path: Path) -> list[Any]:
    """Parse consecutive JSON documents in a file, as appending creates them; usually there is one.

    Raises:
        ArtifactError: As `parse_json`, if the text is neither one document nor several lists or objects.
    """
    try:
        return [parse_json(text, path)]
    except ArtifactError as error:
        documents = _parse_consecutive(text)
        # JSON Lines have a row per document, not a run.
        if not documents or not all(isinstance(root, list) or _has_container(root) for root in documents):
            raise error
        return documents


def _parse_consecutive(text: str) -> list[Any]:
    """Return every document of a text; empty if a part of it is not JSON."""
    decoder = json.JSONDecoder(strict=False)
    documents, position = [], 0
    try:
        while position < len(text):
            if text[position].isspace():
                position += 1
                continue
            root, position = decoder.raw_decode(text, position)
            documents.append(root)
    except (ValueError, RecursionError, MemoryError):
        return []
    return documents


def _has_container(root: object) -> bool:
    return isinstance(root, dict) and any(isinstance(value, (dict, list)) for value in root.values())


_TOKEN = re.compile(r'"(?:[^"\\]|\\.|\\\Z)*(?:"|\Z)|[\[\]{},]', re.DOTALL)
"""Tokens of nested JSON; a string may be incomplete."""


def parse_head(text: str) -> Any:  # noqa: ANN401 - JSON is whatever the file holds
    """Parse the beginning of truncated JSON: all complete parts; None if it is not JSON.

    >>> parse_head('{"layers": [{"name": "conv", "ms": 1}, {"name": "re')
    {'layers': [{'name': 'conv', 'ms': 1}, {}]}
    """
    closing: list[str] = []
    end = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("{", "["):
            closing.append("}" if token == "{" else "]")
        elif token in ("}", "]") and (not closing or closing.pop() != token):
            return None
        if token[0] != '"':
            end = match.start() if token == "," else match.end()
    try:
        return json.loads(text[:end] + "".join(reversed(closing)), strict=False)
    except (ValueError, RecursionError):
        return None


def finite_number(value: Any) -> float | None:  # noqa: ANN401 - any JSON value
    """Return the number of a JSON value; None for other values, and for impossible measurements: `nan`, `inf`, 1e300."""
    if type(value) is not float and type(value) is not int:
        return None
    return float(value) if -LARGEST_NUMBER <= value <= LARGEST_NUMBER else None


def positive_count(value: Any) -> int | None:  # noqa: ANN401 - any JSON value
    """Return the count of a JSON value; None for other values, and for impossible counts: 0, 10 ** 400."""
    return value if type(value) is int and 0 < value <= LARGEST_NUMBER else None


def without_depths(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values without those nested deeper than anything TensorRT writes: printing and comparing them recurses."""
    return {key: _TOO_DEEP if _is_deep(value, _MOST_LEVELS) else value for key, value in values.items()}


def _is_deep(value: Any, levels: int) -> bool:  # noqa: ANN401 - any JSON value
    if not isinstance(value, (dict, list)):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return not levels or any(_is_deep(item, levels - 1) for item in inside)
