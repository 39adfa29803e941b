"""Graphviz, where it is installed: pictures of DOT, within a time limit."""

from __future__ import annotations

import shutil
import subprocess

from trex_tui.errors import TrexError
from trex_tui.text import printable, shorten_middle

INSTALL = "install Graphviz (apt install graphviz, dnf install graphviz, brew install graphviz)"


class DotTimeoutError(TrexError):
    """`dot` took longer than it was given."""


def dot_program() -> str | None:
    """Where `dot` lies; None if it is not installed."""
    return shutil.which("dot")


def drawn_by_dot(program: str, text: str, form: str, seconds: float) -> tuple[bytes, str]:
    """The picture, and what `dot` had to say.

    Args:
        text: DOT.
        form: `svg` or `png`.
        seconds: Time limit.

    Raises:
        DotTimeoutError: It took longer.
        TrexError: It failed; the message is its own.
    """
    try:
        done = subprocess.run(
            [program, f"-T{form}"],
            input=text.encode("utf-8"),
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DotTimeoutError(f"dot took longer than {seconds:g} s") from None
    except OSError as error:
        raise TrexError(f"{program} cannot be run: {error.strerror or error}") from error
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    told = shorten_middle(printable(said), 300)
    if done.returncode != 0 or not done.stdout:
        reason = told or f"exit code {done.returncode}"
        raise TrexError(f"dot could not draw it: {reason}")
    return done.stdout, told
