"""The little that is read of logs and plans so far: which TensorRT wrote them."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from trex_tui.artifacts.input_files import decode_text, read_head
from trex_tui.artifacts.sniff import HEAD_BYTES, unpacked_head

_BANNER = re.compile(r"TensorRT\.trtexec \[TensorRT v(\d{1,9})\]")
_VERSION_LINE = re.compile(r"TensorRT version: (\d{1,9}\.\d{1,9}\.\d{1,9})")


def version_of_number(number: int) -> str:
    """Decode the number in trtexec's banner.

    Up to 9.3 it is major·1000 + minor·100 + patch, from 10.0 on major·10000 + minor·100 + patch.

    >>> version_of_number(8601), version_of_number(101601)
    ('8.6.1', '10.16.1')
    """
    if number < 10_000:
        return f"{number // 1000}.{number // 100 % 10}.{number % 100}"
    return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"


def version_of_log(path: Path) -> str | None:
    """TensorRT version stated in the head of a trtexec log, or None."""
    try:
        data = unpacked_head(read_head(path, HEAD_BYTES))
    except (OSError, zlib.error):
        return None
    head = decode_text(data)
    if match := _VERSION_LINE.search(head):
        return match[1]
    if match := _BANNER.search(head):
        return version_of_number(int(match[1]))
    return None


def version_of_plan(path: Path) -> str | None:
    """TensorRT version that built a plan file: bytes 24 to 26 of plans of 8.6 and later; None where they make no sense."""
    try:
        head = read_head(path, 28)
    except OSError:
        return None
    if len(head) < 28 or not head.startswith(b"ftrt") or not 8 <= head[24] <= 20:
        return None
    return f"{head[24]}.{head[25]}.{head[26]}"
