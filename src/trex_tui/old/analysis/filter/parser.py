"""Filter expressions: their parts, columns and regular expressions, and the parser.

Precedence, highest first: comparison, `not` and `-`, `and` (also implied between adjacent terms), `or`. The parser works by
recursive descent; the grammar is in the docstrings of its methods. Layer names hold nearly every character
(`/a/Conv + PWN(/b/Relu)`), so a bare word extends to the next space or parenthesis, unless it begins like a comparison: a
name directly followed by an operator.

Python's regular expressions backtrack, and cannot be interrupted within one text. So patterns are limited before they run: in
length, in the number of repetitions of variable length, and in repetitions or alternatives within a repetition, as in
`(a+)+` or `(a|aa)*`, whose time doubles with each character. The remaining patterns are polynomial: `.*a.*b` on a name of
thousands of characters is slow, but ends; longer texts are refused, and `selection` stops between two values if all together
take too long.
"""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from trex_tui.old.analysis.columns import find_abbreviated_column, suggest_column
from trex_tui.old.engine.columns import RAW_PREFIX, UNKNOWN_TYPE
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import did_you_mean, parse_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.engine.model import Layer

KEYWORDS = ("and", "or", "not")
_EXCERPT = 32


class FilterColumn(Protocol):
    """A column that a filter can compare, with the attributes of `engine.columns.LayerColumn`."""

    @property
    def name(self) -> str: ...
    @property
    def dtype(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def vocabulary(self) -> Mapping[str, str]: ...
    @property
    def is_number(self) -> bool: ...
    @property
    def is_free_text(self) -> bool: ...


class FilterColumns(Protocol):
    """The columns of a table that is filtered."""

    def find(self, name: str) -> FilterColumn | None:
        """Return the column with a name, a short name or the beginning of one; None if there is none."""

    def suggest(self, name: str) -> str:
        """Return `did you mean latency_ms?` for an unknown name; empty if nothing is similar."""


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
        self._sentence = f"{message} at column {position + 1}"
        self._hint = f"; {hint}" if hint else ""
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


class Operator(str, Enum):
    """Comparison operator of a column. `:` searches in free text (names, tactics, attributes); elsewhere it is `=`."""

    HAS = ":"
    EQUAL = "="
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    MATCHES = "~"


@dataclass(frozen=True, slots=True)
class Literal:
    """Text to compare with or to search, ignoring case."""

    text: str


@dataclass(frozen=True, slots=True)
class Glob:
    """Text in which `*` stands for any characters; a lone `*` for any known value."""

    pattern: str

    def fits(self, text: str) -> bool:
        """Return whether the whole text matches the pattern, ignoring case; in linear time, unlike `fnmatch`."""
        folded = text.casefold()
        first, *middle, last = self.pattern.casefold().split("*")
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


@dataclass(frozen=True, slots=True)
class Number:
    """A number in the unit of its column."""

    value: float


@dataclass(frozen=True, slots=True)
class Missing:
    """No value: `?` or `none`."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, searched ignoring case.

    Attributes:
        position: Its position in the text, for errors while searching.
    """

    regex: str
    position: int = field(default=0, compare=False)


Operand: TypeAlias = "Literal | Glob | Number | Missing | Pattern"


@dataclass(frozen=True, slots=True)
class Word:
    """The name contains the text, ignoring case."""

    text: str


@dataclass(frozen=True, slots=True)
class ColumnTest:
    """A column compared with one or more operands. A missing value matches only `Missing`.

    Attributes:
        column: Full name, not an alias.
        operands: Several for `:` and `=` (any of them) and `!=` (none of them), else one.
    """

    column: str
    operator: Operator
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The layers that the term does not match, including those with a missing value."""

    term: Expression


@dataclass(frozen=True, slots=True)
class And:
    """All of the terms; every layer without terms."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the terms."""

    terms: tuple[Expression, ...]


Expression: TypeAlias = "Word | ColumnTest | Not | And | Or"

EVERYTHING = And(())
"""The filter of an empty text."""


def negation(term: Expression) -> Expression:
    """Return `not term`, without a double `not`."""
    return term.term if isinstance(term, Not) else Not(term)


def conjunction(terms: Sequence[Expression]) -> Expression:
    """Return the conjunction of one or more terms, as a flat list."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, And) else (term,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(terms: Sequence[Expression]) -> Expression:
    """Return the disjunction of one or more terms, as a flat list."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Or) else (term,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def join_filters(first: str, second: str) -> str:
    """Return an expression for the layers that match both.

    >>> join_filters("conv or pool", "kind:gemm"), join_filters("", "kind:gemm")
    ('(conv or pool) kind:gemm', 'kind:gemm')
    """
    first, second = first.strip(), second.strip()
    if not first or first == second or first.endswith(f" {second}"):
        return first or second
    has_or = " or " in first.casefold()
    return f"({first}) {second}" if has_or else f"{first} {second}"


def unparse(expression: Expression) -> str:
    """Return the expression as text that parses to the same expression."""
    if isinstance(expression, Word):
        return quoted(expression.text) if needs_quotes(expression.text) else expression.text
    if isinstance(expression, ColumnTest):
        values = ",".join(map(_operand_text, expression.operands))
        return f"{column_text(expression.column)}{expression.operator.value}{values}"
    if isinstance(expression, Not):
        return f"not {_within(expression.term, Not, And, Or)}"
    if isinstance(expression, And):
        return " ".join([_within(term, Or) for term in expression.terms])
    return " or ".join([unparse(term) for term in expression.terms])


def _within(term: Expression, *weaker: type) -> str:
    return f"({unparse(term)})" if isinstance(term, weaker) else unparse(term)


def _operand_text(operand: Operand) -> str:
    if isinstance(operand, Number):
        return repr(operand.value)
    if isinstance(operand, Missing):
        return "none"
    if isinstance(operand, Glob):
        return operand.pattern
    if isinstance(operand, Pattern):
        return '"' + re.sub(r'(?s)\\.|"', lambda match: match[0].replace('"', '\\"', 1), operand.regex) + '"'
    return format_operand(operand.text)


def format_operand(text: str) -> str:
    """Return a text as a value of a column, in quotes if necessary."""
    return quoted(text) if needs_quotes(text) else text


def format_indices(layers: Iterable[Layer]) -> str:
    """Return the filter for some layers: `index:3,5`."""
    return f"index:{','.join(str(layer.index) for layer in layers)}"


def column_text(name: str) -> str:
    """Return the name of a column as written in a filter: `attr."My Key"`."""
    key = name.removeprefix(RAW_PREFIX)
    return name if re.fullmatch(_KEY, key) else f"{RAW_PREFIX}{quoted(key)}"


def needs_quotes(text: str) -> bool:
    """Return whether the text without quotes might be parsed differently."""
    return (
        re.fullmatch(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*", text) is None
        or text.casefold() in KEYWORDS
        or text.casefold() == "none"
    )


def quoted(text: str) -> str:
    """Return the text in quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


MOST_PATTERN_CHARACTERS = 200
MOST_REPEATS = 10
MOST_UNBOUNDED = 4
FEW_TIMES = 4
"""Largest count of a repetition that may contain other repetitions."""
_MANY_TIMES = 1000
_LONGEST_TEXTS = (sys.maxsize, 20_000, 4_000)
"""Indexed by the number of unlimited repetitions. Names of real engines have some hundred characters, few have thousands."""

_sre: Any = importlib.import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


class BadRegexError(ValueError):
    """A pattern that is invalid or not allowed; the message has the reason."""


def compile_regex(pattern: str) -> re.Pattern[str]:
    """Compile a pattern to be searched ignoring case.

    Raises:
        BadRegexError: It is not a regular expression, or its time may be unbounded.
    """
    if len(pattern) > MOST_PATTERN_CHARACTERS:
        raise BadRegexError(f"a regular expression has at most {MOST_PATTERN_CHARACTERS} characters")
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
    if len(repeats) > MOST_REPEATS or sum(most > _MANY_TIMES for most, _ in repeats) > MOST_UNBOUNDED:
        raise BadRegexError("too many repetitions in a regular expression")
    for most, body in repeats:
        if most > FEW_TIMES and any(
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


_WRITTEN = {
    "milliseconds": "us ms s",
    "percent": "%",
    "watts": "mW W",
    "joules": "uJ mJ J",
}


def parse_number(text: str, column: FilterColumn) -> float | None:
    """Return the number in the column's unit: `4Mi`, `50us`, `2%`; None if it is not finite, or the unit does not fit."""
    return parse_quantity(text, column.unit)


def list_units(column: FilterColumn) -> str:
    """Return the possible units of a column, for an error message."""
    return _WRITTEN.get(column.unit, "k M G Ki Mi Gi")


MOST_CHARACTERS = 10_000
DEEPEST = 40
"""Largest depth of nested parentheses."""

_BARE_WORD = re.compile(r"[^\s()]+")
_KEY = r"""[^\s()":~<>=!]+"""
_NAME = rf"""(?i:attr)\.(?:{_KEY}|"(?:[^"\\]|\\.)*")|[A-Za-z_][A-Za-z0-9_]*"""
_COLUMN = re.compile(rf"({_NAME})(?:([:~])|\s*(>=|<=|!=|[=<>]))", re.DOTALL)
_OPERATOR = re.compile(r">=|<=|!=|[:~=<>]")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_TIMES = re.compile(r"(?<=[\d?])×(?=[\d?-])")
"""Separator of extents on screen; values use an x."""
_BARE_VALUE = re.compile(r'[^\s(),"]+')


def parse(
    text: str,
    engines: Sequence[Engine] = (),
    *,
    is_typing: bool = False,
    allows_absent: bool = False,
) -> Expression:
    """Parse a filter.

    Args:
        engines: One of them must have an attribute `attr.X`; if empty, every attribute is accepted.
        is_typing: The text may end with the beginning of a value of a fixed vocabulary, which matches all values with it.
        allows_absent: Accept an attribute that no engine has.

    Raises:
        FilterError: With position and message.
    """
    return parse_with(text, _LayerColumns(engines or [None], allows_absent), is_typing=is_typing)


def parse_with(text: str, columns: FilterColumns, *, is_typing: bool = False) -> Expression:
    """Parse a filter of any table; arguments and errors as for `parse`."""
    if len(text) > MOST_CHARACTERS:
        raise FilterError(text, MOST_CHARACTERS, f"longer than {MOST_CHARACTERS} characters")
    return _ExpressionParser(text, columns, is_typing).expression()


@dataclass(frozen=True, slots=True)
class _LayerColumns:
    """The columns of layers; None instead of an engine for any attribute."""

    engines: Sequence[Engine | None]
    allows_absent: bool

    def find(self, name: str) -> FilterColumn | None:
        for engine in self.engines:
            column = find_abbreviated_column(name, engine)
            if column is not None:
                return column
        return find_abbreviated_column(name) if self.allows_absent else None

    def suggest(self, name: str) -> str:
        return suggest_column(name, self.engines[0])


class _ExpressionParser:
    def __init__(self, text: str, columns: FilterColumns, is_typing: bool) -> None:
        self._text = text
        self._columns = columns
        self._is_typing = is_typing
        self._position = 0
        self._depth = 0
        self._before = ""
        """Text before a required term."""

    def expression(self) -> Expression:
        """expression = [disjunction]"""
        if self._at_end():
            return EVERYTHING
        parsed = self._disjunction()
        if not self._at_end():
            raise self._error("`)` without a `(` before it")
        return parsed

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

    def _comparison(self, match: re.Match[str]) -> Expression:
        """comparison = column ("~" regex | ("<" | "<=" | ">" | ">=") number | (":" | "=" | "!=") value {"," value})"""
        column = self._column(match[1])
        symbol = match[2] or match[3]
        operator = Operator(symbol)
        start = match.start(2) if match[2] else match.start(3)
        if operator is Operator.MATCHES and column.is_number:
            raise self._error(f"{column.name} is a number, which `~` does not match", start)
        is_order = operator not in (Operator.HAS, Operator.EQUAL, Operator.UNEQUAL, Operator.MATCHES)
        if is_order and not column.is_number and column.dtype != UNKNOWN_TYPE:
            raise self._error(f"{column.name} is text, which `{symbol}` does not compare", start)
        self._position = match.end()
        if operator is Operator.MATCHES:
            return ColumnTest(column.name, operator, (self._regex(),))
        if is_order:
            return ColumnTest(column.name, operator, (self._number(column, symbol),))
        operands = self._values(column, symbol)
        while self._text.startswith(",", self._position):
            self._position += 1
            operands += self._values(column, ",")
        return ColumnTest(column.name, operator, tuple(dict.fromkeys(operands)))

    def _column(self, text: str) -> FilterColumn:
        """column = name | short name | the beginning of one column | "attr." key | "attr." quoted"""
        head, quote, key = text.partition('"')
        name = head + _without_escapes(key[:-1]) if quote else text
        column = self._columns.find(name)
        if column is None:
            hint = self._columns.suggest(name) or "put text of a name in quotes"
            raise self._error(f"no column '{name}'", hint=hint)
        return column

    def _values(self, column: FilterColumn, after: str) -> list[Operand]:
        """value = "?" | "none" | "*" | number | quoted | text, which may hold `*`"""
        self._skip_space()
        start = self._position
        if self._is_next('"') and not column.is_number:
            return self._parse_words(column, _without_escapes(self._quoted()), start)
        match = _BARE_VALUE.match(self._text, start)
        if match is not None and match[0].casefold() in ("?", "none"):
            self._position = match.end()
            return [Missing()]
        if match is not None and (match[0] == "*" or not column.is_number):
            self._position = match.end()
            if "*" not in match[0]:
                return self._parse_words(column, match[0], start)
            glob = Glob(match[0])
            if column.vocabulary and not any(glob.fits(value) for value in column.vocabulary.values()):
                raise self._unknown_value(column, match[0], start)
            return [glob]
        if column.is_number:
            return [self._number(column, after)]
        raise self._error(f"expected a value after `{after}`")

    def _parse_words(self, column: FilterColumn, text: str, start: int) -> list[Operand]:
        """Return the text, or values of a fixed vocabulary that equal it or, while it is typed, begin with it."""
        if not column.vocabulary:
            return [Literal(_TIMES.sub("x", text))]
        folded = text.casefold()
        if folded in column.vocabulary:
            return [Literal(column.vocabulary[folded])]
        if self._is_typing and self._position == len(self._text):
            begun = [value for word, value in column.vocabulary.items() if word.startswith(folded)]
            if begun:
                return [Literal(value) for value in begun]
        raise self._unknown_value(column, text, start)

    def _unknown_value(self, column: FilterColumn, text: str, start: int) -> FilterError:
        values = list(dict.fromkeys(column.vocabulary.values()))
        hint = did_you_mean(text, values) or f"the values are {', '.join(values)}"
        return self._error(f"no {column.name} '{text}'", start, hint)

    def _number(self, column: FilterColumn, after: str) -> Number:
        self._skip_space()
        match = _BARE_VALUE.match(self._text, self._position)
        if match is None:
            raise self._error(f"expected a number after `{after}`")
        value = parse_number(match[0], column)
        if value is None:
            if match[0][0] in "0123456789.":
                raise self._error(
                    f"expected a number, which for {column.name} may end in {list_units(column)},"
                )
            raise self._error(f"expected a number after `{after}`")
        self._position = match.end()
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
        match = _QUOTED.match(self._text, self._position)
        if match is None:
            opened = self._position + 1
            raise self._error(f"expected a quote that closes the one of column {opened}", len(self._text))
        self._position = match.end()
        return match[1]

    # Lookahead

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
        """Return the next keyword as written; empty if there is none."""
        self._skip_space()
        match = _BARE_WORD.match(self._text, self._position)
        return match[0] if match is not None and match[0].casefold() in KEYWORDS else ""

    def _took_keyword(self, keyword: str) -> bool:
        word = self._keyword()
        if word.casefold() != keyword:
            return False
        self._before, self._position = word, self._position + len(word)
        return True

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._position)
        assert match is not None
        self._position = match.end()
        return match[0]

    def _error(self, message: str, position: int | None = None, hint: str = "") -> FilterError:
        return FilterError(self._text, self._position if position is None else position, message, hint)


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
