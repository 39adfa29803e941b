"""Select layers by a filter, and complete a filter while it is typed.

Values of a column are computed when a filter first needs it and stored in the engine, so that each further key costs a pass
over a list. Every term checks only the layers that the terms before it left.
"""

from __future__ import annotations

import math
import operator
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from typing import Any, Protocol

from trex_tui.old.analysis.columns import ALIASES, engine_columns, find_abbreviated_column, find_column
from trex_tui.old.analysis.filter.parser import (
    And,
    ColumnTest,
    Expression,
    FilterError,
    Glob,
    Literal,
    Missing,
    Not,
    Number,
    Operator,
    Or,
    Pattern,
    Word,
    column_text,
    compile_regex,
    longest_text,
    needs_quotes,
    parse,
    quoted,
)
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import did_you_mean, plural

MOST_SECONDS = 2.0
"""Time limit of a regular expression for all values together."""

_ORDERS: dict[Operator, Callable[[float, float], bool]] = {
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.MORE: operator.gt,
    Operator.AT_LEAST: operator.ge,
}
Test = Callable[[Any], bool]


class _TooSlowError(Exception):
    def __init__(self, position: int) -> None:
        self.position = position


def filter_layers(
    engine: Engine, text: str, *, is_typing: bool = False, allows_absent: bool = False
) -> list[Layer]:
    """Return the layers that a filter matches, in execution order; all of them for an empty text.

    Args:
        is_typing, allows_absent: As in `parse`.

    Raises:
        FilterError: The text is not an expression, or a regular expression in it takes too long.
    """
    expression = parse(text, [engine], is_typing=is_typing, allows_absent=allows_absent)
    return _select_in_time(engine, expression, text)


def filter_engines(engines: Sequence[Engine], text: str) -> list[list[Layer]]:
    """Filter several engines as `filter_layers`: an attribute that only some of them have is missing in the others."""
    expression = parse(text, engines)
    return [_select_in_time(engine, expression, text) for engine in engines]


def _select_in_time(engine: Engine, expression: Expression, text: str) -> list[Layer]:
    indices = select_rows(engine_values(engine), expression, text)
    return [engine.layers[index] for index in indices]


def describe_no_match(engine: Engine, text: str, *, is_typing: bool = False) -> str:
    """Return `0 of 14 layers match`, with a value of the filter that no layer has and the nearest existing one."""
    sentence = f"0 of {plural(len(engine.layers), 'layer')} match"
    expression = parse(text, [engine], is_typing=is_typing, allows_absent=True)
    absent = next(_absent_values(engine_values(engine), expression), "")
    return f"{sentence}: {absent}" if absent else sentence


def _absent_values(values: FilterValues, expression: Expression) -> Iterator[str]:
    if isinstance(expression, (And, Or)):
        for term in expression.terms:
            yield from _absent_values(values, term)
    elif isinstance(expression, Word):
        if not any(expression.text.casefold() in name for name in values.folded_names):
            yield f"no name contains '{expression.text}'"
    elif isinstance(expression, ColumnTest) and expression.operator in (Operator.HAS, Operator.EQUAL):
        counts, finds_part = values.counts(expression.column), _finds_part(values, expression)
        for operand in expression.operands:
            if isinstance(operand, Literal) and not any(map(_operand_test(operand, finds_part), counts)):
                known = {str(part) for value in counts for part in _parts(value)}
                hint = did_you_mean(operand.text, known) if len(known) <= MOST_SUGGESTED else ""
                yield f"no {expression.column} '{operand.text}'" + (f"; {hint}" if hint else "")


def select(engine: Engine, expression: Expression) -> list[Layer]:
    """Return the layers that an expression matches, in execution order."""
    values = engine_values(engine)
    return [engine.layers[index] for index in _select(values, expression, range(len(values.folded_names)))]


class FilterValues(Protocol):
    """The values of a table that is filtered; a row per layer, or per engine of a fleet."""

    @property
    def folded_names(self) -> Sequence[str]:
        """Name of each row, ignoring case, in which words are searched."""

    def of(self, column: str) -> Sequence[Any]:
        """Return a value per row: a number, text, or a tuple of texts; None for missing values and empty texts."""

    def counts(self, column: str) -> Mapping[Any, int]:
        """Return how often each value of a column occurs."""

    def is_free_text(self, column: str) -> bool:
        """Return whether `:` searches within the texts of a column."""


def select_rows(values: FilterValues, expression: Expression, text: str) -> Sequence[int]:
    """Return the indices of the rows that an expression matches, in their order.

    Args:
        text: The expression as typed, for errors.

    Raises:
        FilterError: A regular expression takes too long.
    """
    try:
        return _select(values, expression, range(len(values.folded_names)))
    except _TooSlowError as error:
        message = "this regular expression takes too long; start it with letters"
        raise FilterError(text, error.position, message) from None


class EngineValues:
    """The values of an engine's layers by column, computed on first use."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._columns: dict[str, list[Any]] = {}
        self._counts: dict[str, Counter[Any]] = {}
        self._folded_names: list[str] | None = None

    @property
    def folded_names(self) -> list[str]:
        if self._folded_names is None:
            self._folded_names = [layer.name.casefold() for layer in self._engine.layers]
        return self._folded_names

    def of(self, column: str) -> list[Any]:
        """Return a value per layer: a number, text, or a tuple of texts; None for missing values and empty texts."""
        if column not in self._columns:
            source = find_column(column, self._engine)
            if source is None:  # an attribute that only other engines have
                self._columns[column] = [None] * len(self._engine.layers)
            else:
                normal = _split if source.is_list else plain_value
                self._columns[column] = [normal(value) for value in source.values(self._engine)]
        return self._columns[column]

    def counts(self, column: str) -> Counter[Any]:
        """Return how often each value of a column occurs."""
        if column not in self._counts:
            self._counts[column] = Counter(self.of(column))
        return self._counts[column]

    def is_free_text(self, column: str) -> bool:
        source = find_column(column)
        return source is not None and source.is_free_text


@per_engine
def engine_values(engine: Engine) -> EngineValues:
    """Return the values of an engine, cached in it."""
    return EngineValues(engine)


def plain_value(value: Any) -> Any:  # noqa: ANN401 - any cell
    """Return a value as filters compare it: flags as words, None for empty texts and NaN."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value


def _split(value: Any) -> tuple[str, ...] | None:  # noqa: ANN401 - any cell
    parts = value.split(", ") if isinstance(value, str) else value or ()
    return tuple([part for part in parts if part]) or None


def _select(values: FilterValues, expression: Expression, among: Sequence[int]) -> Sequence[int]:
    """Return those of the layers `among` that the expression matches, in their order."""
    if isinstance(expression, Word):
        word, names = expression.text.casefold(), values.folded_names
        return [index for index in among if word in names[index]]
    if isinstance(expression, ColumnTest):
        column, test = values.of(expression.column), _make_test(values, expression)
        accepted = {value for value in values.counts(expression.column) if test(value)}
        return [index for index in among if column[index] in accepted]
    if isinstance(expression, Not):
        unwanted = set(_select(values, expression.term, among))
        return [index for index in among if index not in unwanted]
    if isinstance(expression, And):
        for term in expression.terms:
            among = _select(values, term, among)
        return among
    matching: set[int] = set()
    for term in expression.terms:
        matching.update(_select(values, term, [index for index in among if index not in matching]))
    return [index for index in among if index in matching]


def _make_test(values: FilterValues, comparison: ColumnTest) -> Test:
    if comparison.operator in _ORDERS:
        (operand,) = comparison.operands
        assert isinstance(operand, Number)
        order, bound = _ORDERS[comparison.operator], operand.value
        return lambda value: isinstance(value, (int, float)) and order(value, bound)
    finds_part = _finds_part(values, comparison)
    numbers = [operand.value for operand in comparison.operands if isinstance(operand, Number)]
    others = (operand for operand in comparison.operands if not isinstance(operand, Number))
    tests = [_operand_test(operand, finds_part) for operand in others]
    if numbers:
        tests.append(_number_test(numbers))
    if comparison.operator is Operator.UNEQUAL:
        return lambda value: value is not None and not any(test(value) for test in tests)
    return lambda value: any(test(value) for test in tests)


def _number_test(numbers: Sequence[float]) -> Test:
    """Return a test for any of many numbers, such as the indices of the layers of a group."""
    ordered = sorted(numbers)

    def holds(value: Any) -> bool:  # noqa: ANN401 - any cell
        if not isinstance(value, (int, float)):
            return False
        place = bisect_left(ordered, value)
        return any(math.isclose(value, near, rel_tol=1e-9) for near in ordered[max(0, place - 1) : place + 1])

    return holds


def _finds_part(values: FilterValues, comparison: ColumnTest) -> bool:
    return comparison.operator is Operator.HAS and values.is_free_text(comparison.column)


def _operand_test(operand: Missing | Literal | Glob | Pattern, finds_part: bool) -> Test:
    if isinstance(operand, Missing):
        return lambda value: value is None
    if operand == Glob("*"):
        return lambda value: value is not None
    test = _text_test(operand, finds_part)

    def holds(value: Any) -> bool:  # noqa: ANN401 - any cell
        if isinstance(value, tuple):
            return any(test(part) for part in value)
        return isinstance(value, str) and test(value)

    return holds


def _text_test(operand: Literal | Glob | Pattern, finds_part: bool) -> Callable[[str], bool]:
    if isinstance(operand, Literal):
        text = operand.text.casefold()
        return (
            (lambda value: text in value.casefold()) if finds_part else lambda value: value.casefold() == text
        )
    if isinstance(operand, Glob):
        return operand.fits
    search, position = compile_regex(operand.regex).search, operand.position
    longest, deadline = longest_text(operand.regex), perf_counter() + MOST_SECONDS

    def matches(value: str) -> bool:
        if len(value) > longest or perf_counter() > deadline:
            raise _TooSlowError(position)
        return search(value) is not None

    return matches


EXAMPLES: tuple[tuple[str, str], ...] = (
    ("conv -relu", "names with conv and without relu, case-insensitive"),
    ("kind:gemm,convolution pct>2", "one of these kinds with more than 2 % of the time"),
    ("(bound:launch or ms<10us) not stream:0", "terms are combined with and; or, not and parentheses"),
    (
        "kernel:3x3 groups>1 tactic:xmma",
        "attributes are columns; : matches part of names, tactics and other free text",
    ),
    (
        'attr.Kernel:"[3, 3]" name=/stem/Conv',
        "attr.KEY is a raw attribute; = matches the whole text",
    ),
    ('name~"layer1\\..*conv" io>=4Mi', "a regular expression; sizes in k M G Ki Mi Gi, times in us ms s"),
    ("tactic:*xmma* weights:none", "* matches any text; none is a missing value, * alone any value"),
    ('"a (b)" precision!=int8', "quotes mark literal text; comparisons are : = != < <= > >= ~"),
)
"""Expression and meaning; the first four are the most useful."""


MOST_OPTIONS = 40
MOST_SUGGESTED = 1000
"""Largest number of values searched for a suggestion."""
MOST_NUMBERS = 40
"""Columns with more different numbers are measurements, without suggestions."""

_TOKEN = re.compile(r'\s+|[()]|((?:"(?:\\.|[^"\\])*"?|[^\s()"])+)', re.DOTALL)
_STARTED = re.compile(r"-*([A-Za-z_][A-Za-z0-9_.]*)(:|!=|=)?(.*)", re.DOTALL)
_VALUES = re.compile(r'((?:"(?:\\.|[^"\\])*"|[^",])*,)*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Completion:
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
        return self.text[: self.start] + self.options[0]

    @property
    def ghost(self) -> str | None:
        """The text completed by the first option; None if that does not begin with it, or cannot be drawn unchanged."""
        typed = self.text[self.start :]
        rest = self.options[0][len(typed) :]
        if not self.options[0].casefold().startswith(typed.casefold()) or not rest.isprintable():
            return None
        return self.text + rest


def complete(engine: Engine, text: str) -> Completion | None:
    """Return what could follow the text, or complete its last word; None if there is nothing."""
    latest = _latest_completion(engine)  # requested in three places per key
    if latest.get("text") != text:
        latest.update(text=text, completion=_complete(engine, text))
    completion: Completion | None = latest["completion"]
    return completion


@per_engine
def _latest_completion(_: Engine) -> dict[str, Any]:
    return {}


def _complete(engine: Engine, text: str) -> Completion | None:
    tokens = list(_TOKEN.finditer(text))
    started = _STARTED.fullmatch(tokens[-1][1] or "") if tokens else None
    if started is None:
        return None
    name, operator, rest = started.groups()
    if operator:
        column, before = find_abbreviated_column(name, engine), _VALUES.match(rest)
        typed = rest[before.end() :] if before else rest
        options = _values(engine, column, typed) if column is not None else []
    else:
        typed = name
        options = [] if rest else _names(engine, name)
    options = [option for option in options if option != typed][:MOST_OPTIONS]
    return Completion(text, len(text) - len(typed), tuple(options)) if options else None


def _names(engine: Engine, typed: str) -> list[str]:
    folded = typed.casefold()
    columns = [column for column in engine_columns(engine) if column.name.casefold().startswith(folded)]
    short = [name for name in ALIASES if name.startswith(folded)]
    names = [_with_operator(column_text(column.name), column) for column in columns]
    names += [_with_operator(name, find_column(name)) for name in short]
    return sorted(names, key=lambda name: name[:-1] != folded)


def _with_operator(name: str, column: LayerColumn | None) -> str:
    """Return `kind:`, `latency_ms>`: the column with its most useful operator."""
    is_measure = column is not None and column.is_number and (column.unit or column.dtype == "float64")
    return f"{name}>" if is_measure else f"{name}:"


def _values(engine: Engine, column: LayerColumn, typed: str) -> list[str]:
    """Return the values of a column that begin with the typed text, the most frequent first."""
    if column.is_number and (column.unit or column.dtype == "float64"):
        return []
    counts = engine_values(engine).counts(column.name)
    if column.is_number and len(counts) > MOST_NUMBERS:
        return []
    wanted = typed.removeprefix('"').casefold()
    totals: dict[str, int] = {}
    for value, count in counts.items():
        for part in _parts(value):
            totals[part] = totals.get(part, 0) + count
    ordered = sorted(totals, key=lambda part: (-totals[part], part))
    fitting = [part for part in ordered if part.casefold().startswith(wanted)]
    return [
        quoted(part) if typed.startswith('"') or needs_quotes(part) else part
        for part in fitting[: MOST_OPTIONS + 1]
    ]


def _parts(value: Any) -> tuple[str, ...]:  # noqa: ANN401 - any cell
    if value is None:
        return ()
    return tuple(dict.fromkeys(value)) if isinstance(value, tuple) else (str(value),)
