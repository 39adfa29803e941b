"""Quote arguments for shells: for people to paste, and for scripts."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence


def quote(argument: str) -> str:
    """Quote one argument for people. What a terminal would act on, and bytes that are no UTF-8, become `$'\\033'`, which
    bash, zsh and ksh understand.
    """
    if argument.isprintable():
        return shlex.quote(argument)
    return "$'" + "".join(map(_escape, argument)) + "'"


def _escape(char: str) -> str:
    if char in "\\'":
        return f"\\{char}"
    if char == "\n":
        return "\\n"
    return char if char.isprintable() else _octal(char)


def _octal(char: str) -> str:
    """Return the bytes of a character as octal escapes: a hexadecimal escape would swallow following digits."""
    try:
        data = os.fsencode(char)
    except UnicodeEncodeError:
        data = char.encode("utf-8", errors="surrogatepass")
    return "".join(f"\\{byte:03o}" for byte in data)


def command_line(argv: Sequence[str]) -> str:
    """Return the whole command on one line, for people."""
    return " ".join(map(quote, argv))


def shell_word(text: str) -> str:
    """Quote a word for any POSIX shell, on one line; `$nl` is a newline.

    Control characters and bytes that are not UTF-8 are made by `printf`.
    """
    if text and all((char.isalnum() and char.isascii()) or char in "@%+=:,./-_" for char in text):
        return text
    pieces: list[str] = []
    plain = ""
    for char in text:
        if char.isprintable() and char != "'":
            plain += char
            continue
        pieces += [f"'{plain}'"] if plain else []
        plain = ""
        pieces.append({"'": "\\'", "\n": '"$nl"'}.get(char) or f"\"$(printf '{_octal(char)}')\"")
    pieces += [f"'{plain}'"] if plain or not pieces else []
    return "".join(pieces)


def as_operand(path: str) -> str:
    """Return a path that no program mistakes for an option."""
    return f"./{path}" if path.startswith("-") else path
