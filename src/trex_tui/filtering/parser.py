"""Text to expression, by recursive descent: the grammar is in the methods' docstrings.

Layer names hold nearly every character (`/a/Conv + PWN(/b/Relu)`), so a bare word is whatever stands between spaces and
parentheses, unless it begins like a comparison: a name, and an operator right behind it.
"""

from __future__ import annotations

import re

from trex_tui.engine.columns import Column
from trex_tui.filtering.columns import find_column, nearest_names, parse_number, units_of
from trex_tui.filtering.grammar import (
    EVERYTHING,
    KEYWORDS,
    Comparison,
    Expression,
    FilterError,
    Glob,
    Literal,
    Missing,
    Number,
    Operand,
    Operator,
    Pattern,
    Word,
    conjunction,
    disjunction,
    negation,
)
from trex_tui.filtering.regex import BadRegexError, compile_regex

MOST_CHARACTERS = 10_000
DEEPEST = 40
"""Parentheses within parentheses."""

_BARE_WORD = re.compile(r"[^\s()]+")
_COLUMN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:([:~])|\s*(>=|<=|!=|[=<>]))")
_OPERATOR = re.compile(r">=|<=|!=|[:~=<>]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_BARE_VALUE = re.compile(r'[^\s(),"]+')


def parse(text: str) -> Expression:
    """Parse a filter.

    Raises:
        FilterError: With the place and a sentence.
    """
    if len(text) > MOST_CHARACTERS:
        raise FilterError(text, MOST_CHARACTERS, f"longer than {MOST_CHARACTERS} characters")
    return _Parser(text).expression()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._depth = 0
        self._before = ""
        """What stands before a term that must follow."""

    def expression(self) -> Expression:
        """expression = [disjunction]"""
        if self._at_end():
            return EVERYTHING
        found = self._disjunction()
        if not self._at_end():
            raise self._error("`)` without a `(` before it")
        return found

    def _disjunction(self) -> Expression:
        """disjunction = conjunction {"or" conjunction}"""
        terms = [self._conjunction()]
        while self._took_keyword("or"):
            terms.append(self._conjunction())
        return disjunction(terms)

    def _conjunction(self) -> Expression:
        """conjunction = negation {["and"] negation}"""
        terms = [self._negation()]
        while self._took_keyword("and") or not self._ends_conjunction():
            terms.append(self._negation())
        return conjunction(terms)

    def _ends_conjunction(self) -> bool:
        return self._at_end() or self._is_next(")") or self._keyword().casefold() == "or"

    def _negation(self) -> Expression:
        """negation = {"not" | "-"} term"""
        is_negated = False
        while True:
            if self._took_keyword("not"):
                is_negated = not is_negated
            elif self._is_next("-"):
                self._before, self._position = "-", self._position + 1
                if self._text[self._position : self._position + 1].isspace():
                    raise self._error("expected a term right after `-`")
                is_negated = not is_negated
            else:
                term = self._term()
                return negation(term) if is_negated else term

    def _term(self) -> Expression:
        """term = "(" disjunction ")" | comparison | quoted | word"""
        if self._at_end():
            raise self._error(f"expected a term after `{self._before}`")
        if self._is_next("("):
            return self._in_parentheses()
        if self._is_next('"'):
            return Word(_without_escapes(self._quoted()))
        column = _COLUMN.match(self._text, self._position)
        if column is not None:
            return self._comparison(column)
        operator = _OPERATOR.match(self._text, self._position)
        wrong = operator[0] if operator else self._keyword() or (")" if self._is_next(")") else "")
        if wrong:
            needed = "a column" if operator else "a term"
            raise self._error(f"expected {needed} before `{wrong}`")
        return Word(self._take(_BARE_WORD))

    def _in_parentheses(self) -> Expression:
        opened = self._position
        if self._depth == DEEPEST:
            raise self._error(f"more than {DEEPEST} parentheses within each other")
        self._depth += 1
        self._before, self._position = "(", opened + 1
        inside = self._disjunction()
        if not self._is_next(")"):
            raise self._error(f"expected `)` for the `(` of column {opened + 1}")
        self._position += 1
        self._depth -= 1
        return inside

    def _comparison(self, found: re.Match[str]) -> Expression:
        """comparison = column ("~" regex | ("<" | "<=" | ">" | ">=") number | (":" | "=" | "!=") value {"," value})"""
        column = find_column(found[1])
        if column is None:
            raise self._error(_no_column(found[1]))
        symbol = found[2] or found[3]
        operator = Operator.EQUAL if symbol == "=" else Operator(symbol)
        place = found.start(2) if found[2] else found.start(3)
        if operator is Operator.MATCHES and column.is_number:
            raise self._error(f"{column.name} is a number, which `~` does not match", place)
        is_order = operator not in (Operator.EQUAL, Operator.UNEQUAL, Operator.MATCHES)
        if is_order and not column.is_number:
            raise self._error(f"{column.name} is text, which `{symbol}` does not compare", place)
        self._position = found.end()
        if operator is Operator.MATCHES:
            return Comparison(column.name, operator, (self._regex(),))
        if is_order:
            return Comparison(column.name, operator, (self._number(column, symbol),))
        operands = [self._value(column, symbol)]
        while self._text.startswith(",", self._position):
            self._position += 1
            operands.append(self._value(column, ","))
        return Comparison(column.name, operator, tuple(operands))

    def _value(self, column: Column, after: str) -> Operand:
        """value = "?" | "none" | "*" | number | quoted | text, which may hold `*`"""
        self._skip_space()
        if self._is_next('"') and not column.is_number:
            return Literal(_without_escapes(self._quoted()))
        found = _BARE_VALUE.match(self._text, self._position)
        if found is not None and found[0].casefold() in ("?", "none"):
            self._position = found.end()
            return Missing()
        if found is not None and (found[0] == "*" or not column.is_number):
            self._position = found.end()
            return Glob(found[0]) if "*" in found[0] else Literal(found[0])
        if column.is_number:
            return self._number(column, after)
        raise self._error(f"expected a value after `{after}`")

    def _number(self, column: Column, after: str) -> Number:
        self._skip_space()
        found = _BARE_VALUE.match(self._text, self._position)
        if found is None:
            raise self._error(f"expected a number after `{after}`")
        value = parse_number(found[0], column)
        if value is None:
            if found[0][0] in "0123456789.":
                raise self._error(
                    f"expected a number, which for {column.name} may end in {units_of(column)},"
                )
            raise self._error(f"expected a number after `{after}`")
        self._position = found.end()
        return Number(value)

    def _regex(self) -> Pattern:
        """regex = quoted, in which only `\\"` is not part of the pattern, or all up to a space or a `)` too many"""
        self._skip_space()
        start = self._position
        if self._is_next('"'):
            raw = self._quoted()
        else:
            raw = self._text[start : _end_of_bare_regex(self._text, start)]
            if not raw:
                raise self._error("expected a regular expression after `~`")
            self._position = start + len(raw)
        pattern = re.sub(r"(?s)\\(.)", lambda pair: '"' if pair[1] == '"' else pair[0], raw)
        try:
            compile_regex(pattern)
        except BadRegexError as error:
            raise self._error(str(error), start) from None
        return Pattern(pattern, start)

    def _quoted(self) -> str:
        """quoted = '"' … '"'; a backslash before `"` or itself is not part of the text"""
        found = _QUOTED.match(self._text, self._position)
        if found is None:
            opened = self._position + 1
            raise self._error(f"expected a quote that closes the one of column {opened}", len(self._text))
        self._position = found.end()
        return found[1]

    # Looking ahead

    def _skip_space(self) -> None:
        while self._text[self._position : self._position + 1].isspace():
            self._position += 1

    def _at_end(self) -> bool:
        self._skip_space()
        return self._position == len(self._text)

    def _is_next(self, char: str) -> bool:
        self._skip_space()
        return self._text.startswith(char, self._position)

    def _keyword(self) -> str:
        """The keyword that comes next, as it is written; empty if none does."""
        self._skip_space()
        found = _BARE_WORD.match(self._text, self._position)
        return found[0] if found is not None and found[0].casefold() in KEYWORDS else ""

    def _took_keyword(self, keyword: str) -> bool:
        found = self._keyword()
        if found.casefold() != keyword:
            return False
        self._before, self._position = found, self._position + len(found)
        return True

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._position)
        assert found is not None
        self._position = found.end()
        return found[0]

    def _error(self, message: str, position: int | None = None) -> FilterError:
        return FilterError(self._text, self._position if position is None else position, message)


def _no_column(name: str) -> str:
    near = nearest_names(name)
    if near:
        return f"no column `{name}` (nearest: {', '.join(near)})"
    return f"no column `{name}` (put text of a name in quotes)"


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
