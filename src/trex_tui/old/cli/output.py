"""Output of commands on stderr."""

from __future__ import annotations

import contextlib
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than this
if TYPE_CHECKING:
    from typing import TextIO


def complain(message: str) -> None:
    """Write one line to stderr, without control characters."""
    from trex_tui.old.text import printable

    write_message(f"trex-tui: {printable(message)}\n")


def write_message(text: str) -> None:
    """Write to stderr. If it cannot be written the text is lost: it is not a result and does not change the exit code."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        abandon(sys.stderr)


def abandon(stream: TextIO) -> None:
    """Make the interpreter discard the rest of a stream at its exit."""
    import os

    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
