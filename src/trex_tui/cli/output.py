"""How commands print results: with Rich for people, as JSON for scripts."""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than this
if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console


def print_text(draw: Callable[[Console], None]) -> None:
    """Print with Rich. In a pipe nothing is cut to a width that no one looks at, nor padded to it."""
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False, soft_wrap=False)
    if console.is_terminal:
        draw(console)
        return
    console.width = 1_000_000
    with console.capture() as captured:
        draw(console)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def print_json(document: object) -> None:
    """Print one JSON value, indented; never NaN."""
    import json

    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def complain(message: str) -> None:
    """Say on stderr, in one harmless line, what is no result."""
    from trex_tui.text import printable

    sys.stderr.write(f"trex-tui: {printable(message)}\n")
