"""What commands print on stderr."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than this
if TYPE_CHECKING:
    from typing import TextIO


def complain(message: str) -> None:
    """Write one harmless line to stderr."""
    from trex_tui.text import printable

    write_message(f"trex-tui: {printable(message)}\n")


def write_message(text: str) -> None:
    """Write to stderr. Where it cannot be written the text is lost: it is no result, and changes no exit code."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        abandon(sys.stderr)


def abandon(stream: TextIO) -> None:
    """Have the interpreter flush what is left of a stream to nowhere at its exit."""
    import os

    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
