r"""The filter language: one line of text that selects rows of a table with columns, such as the layers of an engine.

    conv -reformat                     names have the word `conv`, and not `reformat`
    kind:gemm,convolution ms>50us      columns: any of several values; numbers with units
    tactic:xmma name=/fc/Gemm          a part of free text; the whole text
    (bound:bandwidth or roof<20) name~"layer1\..*conv"

Precedence, highest first: comparison, `not` and `-`, `and` (also implied between adjacent terms), `or`. Names of layers hold
nearly every character (`/a/Conv + PWN(/b/Relu)`), so a bare word extends to the next space or parenthesis, unless it begins
like a comparison: a name directly followed by an operator.
"""

from __future__ import annotations

import operator
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd

from trex_tui.column import Column
from trex_tui.engine.attributes import RAW_PREFIX
from trex_tui.engine.dtypes import MEANINGS, TYPE_NAMES
from trex_tui.engine.regex import BadRegexError, compile_regex, longest_text
from trex_tui.errors import TrexError
from trex_tui.frames import is_number, plain_values
from trex_tui.text import did_you_mean, parse_quantity, plural

MOST_CHARACTERS = 10_000
DEEPEST = 40
"""Largest depth of nested parentheses."""
MOST_SECONDS = 2.0
"""Time limit of a regular expression for all values together."""
_EXCERPT = 32
_SHORTEST_PREFIX = 3
_MOST_NAMED, _MOST_SUGGESTED = 5, 1000
_ORDERS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_UNITS = {
    "ms": ("milliseconds", "us ms s"),
    "s": ("seconds", "us ms s"),
    "%": ("percent", "%"),
    "W": ("watts", "mW W"),
    "J": ("joules", "uJ mJ J"),
    "mJ": ("millijoules", "uJ mJ J"),
}
"""Unit of a column -> as `parse_quantity` names it, and the units that its numbers may have."""
_FLAGS = {"yes": "yes", "no": "no", "true": "yes", "false": "no", "1": "yes", "0": "no"}


class Table(Protocol):
    """A table that is filtered: the layers of an engine, or a row per engine. Words are searched in its column `name`."""

    @property
    def columns(self) -> Mapping[str, Column]: ...
    def column(self, key: str) -> pd.Series: ...


Mask = Callable[[Table], Any]
"""Returns an array: whether each row of a table matches."""


class FilterError(TrexError):
    """An invalid expression.

    Args:
        text: The expression.
        position: Position of the error, from 0; the length of `text` if something is missing at the end.
        message: What was expected, or what is wrong.
        hint: What to write instead; may be empty.
    """

    def __init__(self, text: str, position: int, message: str, hint: str = "") -> None:
        self.text, self.position, self.message = text, position, message
        self._sentence, self._hint = f"{message} at column {position + 1}", f"; {hint}" if hint else ""
        super().__init__(self._sentence + self._hint)

    @property
    def is_incomplete(self) -> bool:
        """True if more text could make it valid."""
        return self.position >= len(self.text)

    @property
    def pointed(self) -> str:
        """Message, and the expression around the position with a caret before it."""
        before, after = self.text[: self.position], self.text[self.position :]
        head = before if len(before) <= _EXCERPT else "…" + before[-_EXCERPT:]
        tail = after if len(after) <= _EXCERPT else after[:_EXCERPT] + "…"
        return f"{self._sentence}: {head}^{tail}{self._hint}"


def find_matches(
    table: Table, text: str, *, others: Sequence[Table] = (), is_typing: bool = False
) -> pd.Series:
    """Return a boolean per row: whether the filter matches it; all rows for an empty text.

    Args:
        table: The table.
        text: The filter.
        others: Tables that the same filter is used on: a column that only they have is missing here.
        is_typing: The text may end with the beginning of a known word, which matches all words that begin so.

    Raises:
        FilterError: The text is not a filter, or a regular expression in it takes too long.
    """
    mask = _Parser(text, [table, *others], is_typing=is_typing).parse()
    return pd.Series(mask(table), table.column("name").index, dtype=bool)


def describe_no_match(table: Table, text: str, noun: str = "layer", *, is_typing: bool = False) -> str:
    """Return `0 of 14 layers match`, with a value of the filter that no row has and the nearest existing one."""
    parser = _Parser(text, [table], is_typing=is_typing)
    parser.parse()
    absent = next((f": {reason}" for test in parser.tests for reason in _absent_values(table, *test)), "")
    return f"0 of {plural(len(table.column('name')), noun)} match{absent}"


def _absent_values(
    table: Table, column: Column | None, operands: Collection[_Operand], test: Mask
) -> Iterator[str]:
    if column is None:
        if not test(table).any():
            yield f"no name contains '{next(iter(operands)).text}'"
        return
    known = {part for cell in _cells(column, table.column(column.key)) for part in _parts(cell)} - {None}
    for operand in operands:
        if operand.text is not None and not any(map(operand.test, known)):
            hint = did_you_mean(operand.text, known) if len(known) <= _MOST_SUGGESTED else ""
            yield f"no {column.key} '{operand.text}'" + (f"; {hint}" if hint else "")


def join_filters(first: str, second: str) -> str:
    """Return an expression for the rows that match both.

    >>> join_filters("conv or pool", "kind:gemm"), join_filters("", "kind:gemm")
    ('(conv or pool) kind:gemm', 'kind:gemm')
    """
    first, second = first.strip(), second.strip()
    if not first or first == second or first.endswith(f" {second}"):
        return first or second
    return f"({first}) {second}" if " or " in first.casefold() else f"{first} {second}"


def quote_value(text: str) -> str:
    """Return a text as a value of a column, in quotes if it would otherwise be read differently."""
    is_plain = re.fullmatch(r"(?!(?:and|or|not|none)$)[A-Za-z0-9_./][A-Za-z0-9_./+-]*", text, re.IGNORECASE)
    return text if is_plain else _quote(text)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# Columns


def find_column(table: Table, name: str, *, may_be_short: bool = False) -> Column | None:
    """Return the column with a key or short name, ignoring case; None if there is none.

    Of raw attributes only letters and digits count: `attr.out_maps` finds `attr.OutMaps`.

    Args:
        may_be_short: Also return the only column that begins with the name.
    """
    folded, columns = name.casefold(), table.columns
    if name in columns or folded in columns:
        return columns.get(name) or columns[folded]
    names = [(alias, column) for column in columns.values() for alias in (*column.aliases, column.key)]
    if folded.startswith(RAW_PREFIX):
        raw = (
            column for alias, column in names if alias.startswith(RAW_PREFIX) and _fold(alias) == _fold(name)
        )
        return next(raw, None)
    exact = [column for alias, column in names if alias == folded]
    if exact or not may_be_short or len(folded) < _SHORTEST_PREFIX:
        return exact[0] if exact else None
    begun = {column.key: column for alias, column in names if alias.startswith(folded)}
    return next(iter(begun.values())) if len(begun) == 1 else None


def _fold(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def suggest_column(table: Table, name: str) -> str:
    """Return `did you mean latency_ms?` for a name that is no column; empty if nothing is similar."""
    names = [*table.columns, *(alias for column in table.columns.values() for alias in column.aliases)]
    raw = [key for key in table.columns if key.startswith(RAW_PREFIX)]
    if not name.casefold().startswith(RAW_PREFIX):
        return did_you_mean(name, [key for key in names if not key.startswith(RAW_PREFIX)], cutoff=0.7)
    more = " …" if len(raw) > _MOST_NAMED else ""
    known = (
        f"the layers have {', '.join(raw[:_MOST_NAMED])}{more}" if raw else "the layers have no attributes"
    )
    return did_you_mean(name, raw, cutoff=0.7) or known


def _spellings(column: Column, series: pd.Series) -> Mapping[str, str]:
    """Return lower-case spelling -> known word of a column; empty for a column of any text."""
    if pd.api.types.is_bool_dtype(series) or set(column.words or ()) == {"yes", "no"}:
        return _FLAGS
    return TYPE_NAMES if column.words == MEANINGS else {word.casefold(): word for word in column.words or ()}


# The parser

_KEY = r"""[^\s()":~<>=!]+"""
_NAME = rf"""(?i:attr)\.(?:{_KEY}|"(?:[^"\\]|\\.)*")|[A-Za-z_][A-Za-z0-9_]*"""
_COLUMN = re.compile(rf"\s*({_NAME})(?:([:~])|\s*(>=|<=|!=|[=<>]))", re.DOTALL)
_OPERATOR = re.compile(r"\s*(>=|<=|!=|[:~=<>])")
_QUOTED = re.compile(r'\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_AND, _OR, _NOT = (re.compile(rf"\s*{word}(?=[\s()]|$)", re.IGNORECASE) for word in ("and", "or", "not"))
_MISPLACED = re.compile(r"\s*((?:and|or)(?=[\s()]|$)|\))", re.IGNORECASE)
_MINUS, _OPEN, _CLOSE, _END = (re.compile(rf"\s*{mark}") for mark in ("-", r"\(", r"\)", "$"))
_COMMA = re.compile(",")
_WORD = re.compile(r"\s*([^\s()]+)")
_VALUE = re.compile(r'\s*([^\s(),"]+)')
_TIMES = re.compile(r"(?<=[\d?])×(?=[\d?-])")
"""Separator of dimensions on screen; values use an x."""
_STOP = re.compile(r"\s*(?:$|\)|or(?=[\s()]|$))", re.IGNORECASE)


class _Operand(NamedTuple):
    """What a column is compared with: a test of a value (None for a missing one), and the text that values should have."""

    test: Callable[[Any], bool]
    text: str | None = None


class _Parser:
    """Recursive descent; the grammar is in the docstrings.

    Attributes:
        tests: Words and equalities that are not negated: column (None for a word), operands, mask.
    """

    def __init__(self, text: str, tables: Sequence[Table], *, is_typing: bool = False) -> None:
        self._text, self._tables, self._is_typing = text, tables, is_typing
        self._position = self._depth = self._negations = 0
        self._before = ""
        self.tests: list[tuple[Column | None, list[_Operand], Mask]] = []

    def parse(self) -> Mask:
        """expression = [alternatives]"""
        if len(self._text) > MOST_CHARACTERS:
            raise FilterError(self._text, MOST_CHARACTERS, f"longer than {MOST_CHARACTERS} characters")
        if self._accept(_END):
            return lambda _: True
        mask = self._alternatives()
        if not self._accept(_END):
            raise self._error("`)` without a `(` before it")
        return mask

    def _alternatives(self) -> Mask:
        """alternatives = conjunction {"or" conjunction}"""
        masks = [self._conjunction()]
        while self._accept(_OR):
            masks.append(self._conjunction())
        return lambda table: np.logical_or.reduce([mask(table) for mask in masks])

    def _conjunction(self) -> Mask:
        """conjunction = negation {["and"] negation}"""
        masks = [self._negation()]
        while self._accept(_AND) or not _STOP.match(self._text, self._position):
            masks.append(self._negation())
        return lambda table: np.logical_and.reduce([mask(table) for mask in masks])

    def _negation(self) -> Mask:
        """negation = {"not" | "-"} term"""
        is_negated = False
        while self._accept(_NOT) or self._accept(_MINUS):
            if self._before == "-" and self._text[self._position : self._position + 1].isspace():
                raise self._error("expected a term right after `-`", self._position)
            is_negated = not is_negated
        self._negations += is_negated
        mask = self._term()
        self._negations -= is_negated
        return (lambda table: ~mask(table)) if is_negated else mask

    def _term(self) -> Mask:
        """term = "(" alternatives ")" | comparison | quoted | word"""
        if self._accept(_END):
            raise self._error(f"expected a term after `{self._before}`")
        if opened := self._accept(_OPEN):
            return self._parenthesis(opened.end())
        if match := _COLUMN.match(self._text, self._position):
            return self._comparison(match)
        if (text := self._quoted()) is not None:
            return self._word(text)
        if match := _OPERATOR.match(self._text, self._position):
            raise self._error(f"expected a column before `{match[1]}`")
        if match := _MISPLACED.match(self._text, self._position):
            raise self._error(f"expected a term before `{match[1]}`")
        word = self._accept(_WORD)
        return self._word(word[1] if word else "")

    def _parenthesis(self, opened: int) -> Mask:
        if self._depth == DEEPEST:
            raise self._error(f"more than {DEEPEST} parentheses within each other")
        self._depth += 1
        mask = self._alternatives()
        if not self._accept(_CLOSE):
            raise self._error(f"expected `)` for the `(` of column {opened}")
        self._depth -= 1
        return mask

    def _word(self, text: str) -> Mask:
        folded = text.casefold()

        def mask(table: Table) -> Any:  # noqa: ANN401 - an array
            return np.array([folded in name.casefold() for name in table.column("name")], dtype=bool)

        self._remember(None, [_Operand(bool, text)], mask)
        return mask

    def _remember(self, column: Column | None, operands: list[_Operand], mask: Mask) -> None:
        if not self._negations:
            self.tests.append((column, operands, mask))

    def _comparison(self, match: re.Match[str]) -> Mask:
        """comparison = column ("~" regex | ("<" | "<=" | ">" | ">=") number | (":" | "=" | "!=") value {"," value})"""
        column, series = self._column(match[1], match.start(1))
        symbol, place = match[2] or match[3], match.start(2 if match[2] else 3)
        if symbol == "~" and is_number(series):
            raise self._error(f"{column.key} is a number, which `~` does not match", place)
        if symbol in _ORDERS and not is_number(series):
            raise self._error(f"{column.key} is text, which `{symbol}` does not compare", place)
        self._position = match.end()
        if symbol in _ORDERS:
            number, compare = self._number(column, symbol), _ORDERS[symbol]
            operands = [_Operand(lambda value: value is not None and compare(value, number))]
        elif symbol == "~":
            operands = [self._regex()]
        else:
            finds_part = symbol == ":" and column.is_free_text
            numbers: set[str] = set()
            operands = self._values(column, series, symbol, numbers, finds_part=finds_part)
            while self._accept(_COMMA):
                operands += self._values(column, series, ",", numbers, finds_part=finds_part)
            if numbers:  # one test for the thousand layers of a group
                operands.append(_Operand(lambda value: _digits(value) in numbers))

        def mask(table: Table) -> Any:  # noqa: ANN401 - an array
            return _compare(table, column, symbol, operands)

        if symbol in (":", "="):
            self._remember(column, operands, mask)
        return mask

    def _column(self, text: str, start: int) -> tuple[Column, pd.Series]:
        """column = key | short name | the beginning of one column | "attr." key | "attr." quoted"""
        head, quote, key = text.partition('"')
        name = head + _without_escapes(key[:-1]) if quote else text
        for table in self._tables:
            if column := find_column(table, name, may_be_short=True):
                return column, table.column(column.key)
        hint = suggest_column(self._tables[0], name) or "put text of a name in quotes"
        raise self._error(f"no column '{name}'", start, hint)

    def _values(
        self, column: Column, series: pd.Series, after: str, numbers: set[str], *, finds_part: bool
    ) -> list[_Operand]:
        """value = "?" | "none" | "*" | number, added to `numbers` | quoted | text, which may hold `*`"""
        start = self._position
        quoted = None if is_number(series) else self._quoted()
        match = self._accept(_VALUE) if quoted is None else None
        word = match[1] if match else ""
        if word.casefold() in ("?", "none"):
            return [_Operand(lambda value: value is None)]
        if word == "*":
            return [_Operand(lambda value: value is not None)]
        if is_number(series):
            self._position = start
            numbers.add(_digits(self._number(column, after)))
            return []
        if match is None and quoted is None:
            raise self._error(f"expected a value after `{after}`")
        text, known = word or quoted or "", _spellings(column, series)
        fits = [text] if not known else self._find_words(text, known, is_glob="*" in word)
        if not fits:
            words = list(dict.fromkeys(known.values()))
            hint = did_you_mean(text, words) or f"the values are {', '.join(words)}"
            raise self._error(f"no {column.key} '{text}'", start, hint)
        if "*" in word:
            return [_Operand(lambda value: value is not None and _fits_glob(text, value))]
        return [_text_operand(_TIMES.sub("x", fit), finds_part=finds_part) for fit in fits]

    def _find_words(self, text: str, known: Mapping[str, str], *, is_glob: bool) -> list[str]:
        """Return the known words that a text is, fits or, while it is typed, begins."""
        if is_glob:
            return [word for word in known.values() if _fits_glob(text, word)]
        folded = text.casefold()
        if folded in known or not (self._is_typing and self._position == len(self._text)):
            return [known[folded]] if folded in known else []
        return list(dict.fromkeys(word for spelling, word in known.items() if spelling.startswith(folded)))

    def _number(self, column: Column, after: str) -> float:
        start, match = self._position, self._accept(_VALUE)
        unit, written = _UNITS.get(column.unit.name, ("bytes", "k M G Ki Mi Gi"))
        value = parse_quantity(match[1], unit) if match else None
        if value is not None:
            return value
        if match is None or match[1][0] not in "0123456789.":
            raise self._error(f"expected a number after `{after}`", start)
        raise self._error(f"expected a number, which for {column.key} may end in {written},", start)

    def _regex(self) -> _Operand:
        """regex = quoted, in which only `\\"` is not part of the pattern, or all up to a space or a `)` too many"""
        start = self._skip_space(self._position)
        match = _QUOTED.match(self._text, start)
        end = match.end() if match else _end_of_bare_regex(self._text, start)
        raw = match[1] if match else self._text[start:end]
        if not raw:
            raise self._error("expected a regular expression after `~`")
        try:
            pattern = compile_regex(
                re.sub(r"(?s)\\(.)", lambda pair: '"' if pair[1] == '"' else pair[0], raw)
            )
        except BadRegexError as error:
            raise self._error(str(error), start) from None
        self._position = end
        longest, deadline = longest_text(pattern.pattern), perf_counter() + MOST_SECONDS

        def test(value: str | None) -> bool:
            if value is None:
                return False
            if len(value) > longest or perf_counter() > deadline:
                raise self._error("this regular expression takes too long; start it with letters", start)
            return pattern.search(value) is not None

        return _Operand(test)

    def _quoted(self) -> str | None:
        """quoted = '"' … '"'; a backslash before `"` or itself is not part of the text"""
        start = self._skip_space(self._position)
        if not self._text.startswith('"', start):
            return None
        match = self._accept(_QUOTED)
        if match is None:
            raise self._error(f"expected a quote that closes the one of column {start + 1}", len(self._text))
        return _without_escapes(match[1])

    def _accept(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Return the match of a pattern at the position, and move behind it; None if it does not match."""
        match = pattern.match(self._text, self._position)
        if match is not None:
            self._position, self._before = match.end(), match[0].strip() or self._before
        return match

    def _skip_space(self, position: int) -> int:
        return len(self._text) - len(self._text[position:].lstrip())

    def _error(self, message: str, position: int | None = None, hint: str = "") -> FilterError:
        place = self._skip_space(self._position if position is None else position)
        return FilterError(self._text, place if position is None else max(place, position), message, hint)


def _without_escapes(raw: str) -> str:
    return re.sub(r'\\(["\\])', r"\1", raw)


def _end_of_bare_regex(text: str, start: int) -> int:
    depth, position = 0, start
    while position < len(text) and not text[position].isspace():
        if text[position] == ")" and depth == 0:
            break
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        position += 2 if text[position] == "\\" else 1
    return min(position, len(text))


# Comparisons


def _text_operand(text: str, *, finds_part: bool) -> _Operand:
    folded = text.casefold()
    if finds_part:
        return _Operand(lambda value: value is not None and folded in value.casefold(), text)
    return _Operand(lambda value: value is not None and value.casefold() == folded, text)


def _digits(number: float | None) -> str:
    """Return the digits by which numbers are equal: 200 µs are 0.2 ms."""
    return "" if number is None else f"{number:.9g}"


def _fits_glob(pattern: str, text: str) -> bool:
    """Return whether a text fits a pattern, in which `*` is any text, ignoring case; in linear time, unlike `fnmatch`."""
    folded = text.casefold()
    first, *middle, last = pattern.casefold().split("*")
    end = len(folded) - len(last)
    if not folded.startswith(first) or not folded.endswith(last) or len(first) > end:
        return False
    position = len(first)
    for part in middle:
        start = folded.find(part, position, end)
        if start < 0:
            return False
        position = start + len(part)
    return True


def _compare(table: Table, column: Column, symbol: str, operands: Sequence[_Operand]) -> Any:  # noqa: ANN401 - an array
    """Return which rows a comparison holds for; a missing value equals only `none`."""
    cells: list[Any] = [None] * len(table.column("name"))
    if column.key in table.columns:  # else an attribute that only other tables have
        cells = _cells(column, table.column(column.key))
    fits = {
        cell: any(operand.test(part) for part in _parts(cell) for operand in operands) for cell in set(cells)
    }
    mask = np.array([fits[cell] for cell in cells], dtype=bool)
    return ~mask & np.array([cell is not None for cell in cells], dtype=bool) if symbol == "!=" else mask


def _cells(column: Column, series: pd.Series) -> list[Any]:
    """Return a value per row as filters compare it: flags as words, lists as tuples, None for missing and empty ones."""
    values = plain_values(series)
    if pd.api.types.is_bool_dtype(series):
        return [None if value is None else "yes" if value else "no" for value in values]
    if column.is_list:
        values = [
            tuple(filter(None, value.split(", "))) if isinstance(value, str) else value for value in values
        ]
    return [None if value in ("", ()) else value for value in values]


def _parts(cell: Any) -> tuple[Any, ...]:  # noqa: ANN401 - any cell
    return tuple(dict.fromkeys(cell)) if isinstance(cell, tuple) else (cell,)


# Completion

_MOST_OPTIONS = 40
_MOST_NUMBERS = 40
"""Columns with more different numbers are measurements, without suggestions."""
_TOKEN = re.compile(r'\s+|[()]|((?:"(?:\\.|[^"\\])*"?|[^\s()"])+)', re.DOTALL)
_STARTED = re.compile(r"-*([A-Za-z_][A-Za-z0-9_.]*)(:|!=|=)?(.*)", re.DOTALL)
_VALUES = re.compile(r'((?:"(?:\\.|[^"\\])*"|[^",])*,)*', re.DOTALL)


class Completion(NamedTuple):
    """Ways to continue a filter.

    Attributes:
        text: The typed text.
        start: Start of the part that an option replaces.
        options: The most likely first.
    """

    text: str
    start: int
    options: tuple[str, ...]

    @property
    def completed(self) -> str:
        """The text with the first option."""
        return self.text[: self.start] + self.options[0]

    @property
    def ghost(self) -> str | None:
        """The text completed by the first option; None if that does not begin with it, or cannot be drawn unchanged."""
        typed, option = self.text[self.start :], self.options[0]
        rest = option[len(typed) :]
        return (
            self.text + rest
            if option.casefold().startswith(typed.casefold()) and rest.isprintable()
            else None
        )


def complete(table: Table, text: str) -> Completion | None:
    """Return what could follow the text, or complete its last word; None if there is nothing."""
    tokens = list(_TOKEN.finditer(text))
    started = _STARTED.fullmatch(tokens[-1][1] or "") if tokens else None
    if started is None or (started[3] and not started[2]):
        return None
    typed, options = started[1], []
    if not started[2]:
        options = _list_names(table, typed)
    elif column := find_column(table, started[1], may_be_short=True):
        before = _VALUES.match(started[3])
        typed = started[3][before.end() if before else 0 :]
        options = _list_values(column, table.column(column.key), typed)
    options = [option for option in options if option != typed][:_MOST_OPTIONS]
    return Completion(text, len(text) - len(typed), tuple(options)) if options else None


def _list_names(table: Table, typed: str) -> list[str]:
    """Return keys and short names that begin with the typed text, with their most useful operator: `kind:`, `latency_ms>`."""
    folded, columns = typed.casefold(), table.columns.values()
    names = [(column.key, column) for column in columns]
    names += [
        (alias, column) for column in columns for alias in column.aliases if not alias.startswith(RAW_PREFIX)
    ]
    options = []
    for name, column in names:
        if name.casefold().startswith(folded):
            raw = name.removeprefix(RAW_PREFIX)
            written = name if re.fullmatch(_KEY, raw) else f"{RAW_PREFIX}{_quote(raw)}"
            options.append(written + (">" if _is_measure(column, table.column(column.key)) else ":"))
    return sorted(options, key=lambda option: option[:-1] != folded)


def _is_measure(column: Column, series: pd.Series) -> bool:
    """Return whether a column holds measurements, which are compared by size."""
    return is_number(series) and (bool(column.unit.name) or pd.api.types.is_float_dtype(series))


def _list_values(column: Column, series: pd.Series, typed: str) -> list[str]:
    """Return the values of a column that begin with the typed text, the most frequent first."""
    if is_number(series):
        is_category = not _is_measure(column, series) and series.nunique() <= _MOST_NUMBERS
        parts: list[tuple[str, ...]] = [(str(value),) for value in series.dropna()] if is_category else []
    else:
        parts = [_parts(cell) for cell in _cells(column, series)]
    counts = Counter(part for cell in parts for part in cell if part is not None)
    wanted = typed.removeprefix('"').casefold()
    ordered = sorted(counts, key=lambda part: (-counts[part], part))
    fitting = [part for part in ordered if part.casefold().startswith(wanted)][: _MOST_OPTIONS + 1]
    return [_quote(part) if typed.startswith('"') else quote_value(part) for part in fitting]
