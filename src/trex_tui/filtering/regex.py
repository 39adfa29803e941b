r"""Regular expressions that people type, kept from taking forever.

Python's matcher backtracks, and cannot be interrupted within one text. So patterns are limited before they run: in
length, in the number of repetitions of variable length, and in repetitions or alternatives within a repetition, as in
`(a+)+` or `(a|aa)*`, whose time doubles with each character. What remains is at worst polynomial: `.*a.*b` on a name of
thousands of characters is slow, not endless; longer ones are refused, and `compile` stops between two values when all
together take too long.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

MOST_CHARACTERS = 200
MOST_REPEATS = 10
MOST_UNBOUNDED = 4
FEW_TIMES = 4
"""A repetition of up to so many times may hold others."""
_MANY_TIMES = 1000
_LONGEST_TEXTS = (sys.maxsize, 20_000, 4_000)
"""By the number of repetitions without an end. Names of real engines have some hundred characters, a few have thousands."""

_sre: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class BadRegexError(ValueError):
    """A pattern that is wrong or not allowed; its text says why."""


def compile_regex(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to be searched for in any case.

    Raises:
        BadRegexError: It is no regular expression, or it might take forever.
    """
    if len(pattern) > MOST_CHARACTERS:
        raise BadRegexError(f"a regular expression has at most {MOST_CHARACTERS} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _check(_sre.parse(pattern, re.IGNORECASE))
            return re.compile(pattern, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as error:
        raise BadRegexError(f"not a regular expression ({error})") from None


def longest_text(pattern: str) -> int:
    """Characters of a text up to which a pattern that `compile_regex` takes is searched for, so that it ends in seconds.

    One repetition without an end takes the square of the length at the worst, two take the cube.
    """
    unbounded = sum(most > _MANY_TIMES for most, _ in _variable_repeats(_sre.parse(pattern, re.IGNORECASE)))
    return _LONGEST_TEXTS[min(unbounded, len(_LONGEST_TEXTS) - 1)]


def _check(tree: Any) -> None:  # noqa: ANN401 - Python's own, untyped
    repeats = list(_variable_repeats(tree))
    if len(repeats) > MOST_REPEATS or sum(most > _MANY_TIMES for most, _ in repeats) > MOST_UNBOUNDED:
        raise BadRegexError("too many repetitions in a regular expression")
    for most, body in repeats:
        if most > FEW_TIMES and any(
            name in ("BRANCH", "GROUPREF") or _is_variable(name, argument) for name, argument in _nodes(body)
        ):
            raise BadRegexError("repetitions or alternatives within a repetition can take forever")


def _variable_repeats(tree: Any) -> Iterator[tuple[int, Any]]:  # noqa: ANN401
    """How often at most, and what, for every repetition that does not say exactly how often, or that holds others."""
    for name, argument in _nodes(tree):
        if name in _REPEATS:
            least, most, body = argument
            if least != most or any(_is_variable(*node) for node in _nodes(body)):
                yield int(most), body


def _is_variable(name: str, argument: Any) -> bool:  # noqa: ANN401
    return name in _REPEATS and argument[0] != argument[1]


def _nodes(tree: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Every operation of a parsed pattern, with its argument, those inside others too."""
    if isinstance(tree, _sre.SubPattern):
        for operation, argument in tree.data:
            yield str(operation), argument
            yield from _nodes(argument)
    elif isinstance(tree, (tuple, list)):
        for part in tree:
            yield from _nodes(part)
