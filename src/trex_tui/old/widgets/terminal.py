"""Abilities of the terminal, determined before Textual is imported, which reads the environment on import."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from importlib import import_module

from trex_tui.old.errors import TrexError
from trex_tui.old.text import printable

PLAIN_THEME = "ansi-dark"
"""Textual's theme of the terminal's own 16 colours. With NO_COLOR it is the only one that emits no colour at all: Textual
turns the colours of the others into greys."""

_DRIVER_VARIABLE = "TEXTUAL_DRIVER"
"""Set by textual-serve: a browser draws what goes through a pipe."""
_SIXTEEN_COLOURS = ("linux", "vt100", "vt220", "ansi", "cons25", "screen")


def prepare_environment(environ: MutableMapping[str, str]) -> None:
    """Choose Textual's theme for terminals without many colours, unless the user chose one."""
    term = environ.get("TERM", "")
    few_colours = term in _SIXTEEN_COLOURS or term.endswith("-16color")
    if environ.get("NO_COLOR") or (few_colours and not environ.get("COLORTERM")):
        environ.setdefault("TEXTUAL_THEME", PLAIN_THEME)


def check_driver(environ: Mapping[str, str]) -> None:
    """Refuse a terminal driver that Textual cannot load.

    Raises:
        TrexError: The variable names none.
    """
    name = environ.get(_DRIVER_VARIABLE, "")
    module, _, driver = name.partition(":")
    try:
        is_driver = not name or hasattr(import_module(module), driver)
    except (ImportError, ValueError):
        is_driver = False
    if not is_driver:
        raise TrexError(
            f"{_DRIVER_VARIABLE}={printable(name)}: there is no such driver; write MODULE:CLASS, or unset it"
        )


def can_draw(environ: MutableMapping[str, str], *, is_terminal: bool) -> bool:
    """Return whether there is a terminal that understands cursor movement, or a browser that acts as one."""
    if environ.get(_DRIVER_VARIABLE, "").endswith(":WebDriver"):
        return True
    return is_terminal and environ.get("TERM", "") not in ("", "dumb", "unknown")
