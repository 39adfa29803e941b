"""Regular expressions of users: compiled only if their time stays bounded.

Python's regular expressions backtrack, and cannot be interrupted within one text. So patterns are limited before they run: in
length, in the number of repetitions of variable length, and in repetitions or alternatives within a repetition, as in
`(a+)+` or `(a|aa)*`, whose time doubles with each character. The remaining patterns are polynomial: `.*a.*b` on a name of
thousands of characters is slow, but ends; longer texts are refused.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from typing import Any

MOST_CHARACTERS = 200
_MOST_REPEATS = 10
_MOST_UNBOUNDED = 4
_FEW_TIMES = 4
"""Largest count of a repetition that may contain other repetitions."""
_MANY_TIMES = 1000
_LONGEST_TEXTS = (sys.maxsize, 20_000, 4_000)
"""Indexed by the number of unlimited repetitions. Names of real engines have some hundred characters, few have thousands."""
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_sre: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")


class BadRegexError(ValueError):
    """A pattern that is invalid or not allowed; the message has the reason."""


def compile_regex(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to be searched ignoring case.

    Raises:
        BadRegexError: It is not a regular expression, or its time may be unbounded.
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
    """Return the length up to which texts are searched for a pattern of `compile_regex`, so that the search ends in seconds.

    One unlimited repetition takes the square of the length at the worst, two take the cube.
    """
    unbounded = sum(most > _MANY_TIMES for most, _ in _variable_repeats(_sre.parse(pattern, re.IGNORECASE)))
    return _LONGEST_TEXTS[min(unbounded, len(_LONGEST_TEXTS) - 1)]


def _check(tree: Any) -> None:  # noqa: ANN401 - Python's own, untyped
    repeats = list(_variable_repeats(tree))
    if len(repeats) > _MOST_REPEATS or sum(most > _MANY_TIMES for most, _ in repeats) > _MOST_UNBOUNDED:
        raise BadRegexError("too many repetitions in a regular expression")
    for most, body in repeats:
        if most > _FEW_TIMES and any(
            name in ("BRANCH", "GROUPREF") or _is_variable(name, argument) for name, argument in _nodes(body)
        ):
            raise BadRegexError("repetitions or alternatives within a repetition can take forever")


def _variable_repeats(tree: Any) -> Iterator[tuple[int, Any]]:  # noqa: ANN401
    """Yield the maximum count and the content of every repetition that has a variable count or contains others."""
    for name, argument in _nodes(tree):
        if name in _REPEATS:
            least, most, body = argument
            if least != most or any(_is_variable(*node) for node in _nodes(body)):
                yield int(most), body


def _is_variable(name: str, argument: Any) -> bool:  # noqa: ANN401
    return name in _REPEATS and argument[0] != argument[1]


def _nodes(tree: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Yield every operation of a parsed pattern, with its argument, including nested ones."""
    if isinstance(tree, _sre.SubPattern):
        for operation, argument in tree.data:
            yield str(operation), argument
            yield from _nodes(argument)
    elif isinstance(tree, (tuple, list)):
        for part in tree:
            yield from _nodes(part)
