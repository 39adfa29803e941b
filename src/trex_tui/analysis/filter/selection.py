"""Selection of layers by a filter.

Values of a column are computed when a filter first asks for it and kept with the engine, so that each further key costs
a pass over a list. Every term looks only at what the terms before it left.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from time import perf_counter
from typing import Any

from trex_tui.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.analysis.filter.parser import (
    LISTS,
    And,
    ColumnTest,
    Expression,
    FilterError,
    Glob,
    Literal,
    Missing,
    Not,
    Number,
    Operand,
    Operator,
    Pattern,
    Word,
    compile_regex,
    longest_text,
    parse,
)
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer

MOST_SECONDS = 2.0
"""What a regular expression may take for all values together."""

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


def filter_layers(engine: Engine, text: str) -> list[Layer]:
    """The layers that a filter lets through, in execution order; all of them for an empty text.

    Raises:
        FilterError: The text is no expression, or a regular expression in it takes too long.
    """
    expression = parse(text)
    try:
        return select(engine, expression)
    except _TooSlowError as error:
        message = "this regular expression takes too long; see whether it can begin with letters"
        raise FilterError(text, error.position, message) from None


def select(engine: Engine, expression: Expression) -> list[Layer]:
    """The layers that an expression lets through, in execution order."""
    found = _select(engine_values(engine), expression, range(len(engine.layers)))
    return [engine.layers[index] for index in found]


class EngineValues:
    """The values of an engine's layers, column by column, as they are first asked for."""

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
        """A value per layer: a number, text, or a tuple of texts; None where it is missing or there is no text."""
        if column not in self._columns:
            value = ALL_COLUMNS_BY_NAME[column].value
            normal = _split if column in LISTS else _plain
            self._columns[column] = [normal(value(self._engine, layer)) for layer in self._engine.layers]
        return self._columns[column]

    def counts(self, column: str) -> Counter[Any]:
        """How often each value of a column is there."""
        if column not in self._counts:
            self._counts[column] = Counter(self.of(column))
        return self._counts[column]


@lru_cache(maxsize=8)
def engine_values(engine: Engine) -> EngineValues:
    """The values of an engine. Kept for the last few engines."""
    return EngineValues(engine)


def _plain(value: Any) -> Any:  # noqa: ANN401 - any cell
    return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value


def _split(value: Any) -> tuple[str, ...] | None:  # noqa: ANN401 - any cell
    parts = value.split(", ") if isinstance(value, str) else value
    return tuple([part for part in parts if part]) or None


def _select(values: EngineValues, expression: Expression, among: Sequence[int]) -> Sequence[int]:
    """Those of the layers `among` that the expression lets through, in their order."""
    if isinstance(expression, Word):
        word, names = expression.text.casefold(), values.folded_names
        return [index for index in among if word in names[index]]
    if isinstance(expression, ColumnTest):
        column, test = values.of(expression.column), _make_test(expression)
        accepted = {value for value in values.counts(expression.column) if test(value)}
        return [index for index in among if column[index] in accepted]
    if isinstance(expression, Not):
        unwanted = set(_select(values, expression.term, among))
        return [index for index in among if index not in unwanted]
    if isinstance(expression, And):
        for term in expression.terms:
            among = _select(values, term, among)
        return among
    found: set[int] = set()
    for term in expression.terms:
        found.update(_select(values, term, [index for index in among if index not in found]))
    return [index for index in among if index in found]


def _make_test(comparison: ColumnTest) -> Test:
    if comparison.operator in _ORDERS:
        (operand,) = comparison.operands
        assert isinstance(operand, Number)
        order, bound = _ORDERS[comparison.operator], operand.value
        return lambda value: value is not None and order(value, bound)
    tests = [_operand_test(operand, comparison.column in LISTS) for operand in comparison.operands]
    if comparison.operator is Operator.UNEQUAL:
        return lambda value: value is not None and not any(test(value) for test in tests)
    return lambda value: any(test(value) for test in tests)


def _operand_test(operand: Operand, is_list: bool) -> Test:
    if isinstance(operand, Missing):
        return lambda value: value is None
    if operand == Glob("*"):
        return lambda value: value is not None
    if isinstance(operand, Number):
        number = operand.value
        return lambda value: value is not None and math.isclose(value, number, rel_tol=1e-9)
    test = _text_test(operand)
    if is_list:
        return lambda value: value is not None and any(test(part) for part in value)
    return lambda value: value is not None and test(value)


def _text_test(operand: Literal | Glob | Pattern) -> Callable[[str], bool]:
    if isinstance(operand, Literal):
        text = operand.text.casefold()
        return lambda value: value.casefold() == text
    if isinstance(operand, Glob):
        parts = operand.pattern.casefold().split("*")
        return lambda value: _fits_glob(value.casefold(), parts)
    search, position = compile_regex(operand.regex).search, operand.position
    longest, deadline = longest_text(operand.regex), perf_counter() + MOST_SECONDS

    def matches(value: str) -> bool:
        if len(value) > longest or perf_counter() > deadline:
            raise _TooSlowError(position)
        return search(value) is not None

    return matches


def _fits_glob(text: str, parts: Sequence[str]) -> bool:
    """Whether the parts follow each other in the text, with anything between; in linear time, unlike `fnmatch`."""
    first, *middle, last = parts
    end = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last) or len(first) > end:
        return False
    place = len(first)
    for part in middle:
        found = text.find(part, place, end)
        if found < 0:
            return False
        place = found + len(part)
    return True
