"""Commands as people can paste them into a shell. Only ever printed: nothing here is executed."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence


def quoted(argument: str) -> str:
    """One argument. What a terminal would act on, and bytes that are no UTF-8, become `$'\\x1b'` (bash, zsh, ksh)."""
    if argument.isprintable():
        return shlex.quote(argument)
    return "$'" + "".join(map(_escaped, argument)) + "'"


def _escaped(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char == "\n":
        return "\\n"
    if char.isprintable():
        return char
    try:
        data = os.fsencode(char)
    except UnicodeEncodeError:
        data = char.encode("utf-8", errors="surrogatepass")
    # Octal: a hexadecimal escape would swallow digits that follow.
    return "".join(f"\\{byte:03o}" for byte in data)


def command_line(argv: Sequence[str]) -> str:
    """The whole command on one line."""
    return " ".join(map(quoted, argv))
