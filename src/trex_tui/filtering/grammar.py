"""The parts of a filter expression, and how they are written.

Precedence, strongest first: comparison, `not` and `-`, `and` (which is also what nothing between two terms means), `or`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from trex_tui.errors import TrexError

KEYWORDS = ("and", "or", "not")
_EXCERPT = 32


class FilterError(TrexError):
    """An expression that cannot be understood.

    Args:
        text: The expression.
        position: Where in it, from 0; the length of `text` where something is missing at the end.
        message: What was expected, or what is wrong.
    """

    def __init__(self, text: str, position: int, message: str) -> None:
        self.text, self.position, self.message = text, position, message
        super().__init__(f"{message} at column {position + 1}")

    @property
    def is_incomplete(self) -> bool:
        """Whether more text could mend it."""
        return self.position >= len(self.text)

    @property
    def pointed(self) -> str:
        """The sentence, and the expression around the place with a caret before it."""
        before, after = self.text[: self.position], self.text[self.position :]
        head = before if len(before) <= _EXCERPT else "…" + before[-_EXCERPT:]
        tail = after if len(after) <= _EXCERPT else after[:_EXCERPT] + "…"
        return f"{self}: {head}^{tail}"


class Operator(str, Enum):
    """How a column is compared; `:` is another way to write `=`."""

    EQUAL = ":"
    UNEQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    MATCHES = "~"


@dataclass(frozen=True, slots=True)
class Literal:
    """Text to be equal to, in any case."""

    text: str


@dataclass(frozen=True, slots=True)
class Glob:
    """Text in which `*` stands for any characters; a lone `*` for any value that is there."""

    pattern: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number in the unit of its column."""

    value: float


@dataclass(frozen=True, slots=True)
class Missing:
    """No value: `?` or `none`."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, searched in any case.

    Attributes:
        position: Where it stands in the text, for errors while searching.
    """

    regex: str
    position: int = field(default=0, compare=False)


Operand: TypeAlias = "Literal | Glob | Number | Missing | Pattern"


@dataclass(frozen=True, slots=True)
class Word:
    """The name contains the text, in any case."""

    text: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """A column against one of several operands. A missing value satisfies none of them but `Missing`.

    Attributes:
        column: Full name, not an alias.
        operands: Several for `:` (any of them) and `!=` (none of them), else one.
    """

    column: str
    operator: Operator
    operands: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The layers that the term leaves out, those whose value is missing among them."""

    term: Expression


@dataclass(frozen=True, slots=True)
class And:
    """All of the terms; without any, every layer."""

    terms: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the terms."""

    terms: tuple[Expression, ...]


Expression: TypeAlias = "Word | Comparison | Not | And | Or"

EVERYTHING = And(())
"""What an empty text says."""


def negation(term: Expression) -> Expression:
    """`not term`, without a second `not` inside."""
    return term.term if isinstance(term, Not) else Not(term)


def conjunction(terms: Sequence[Expression]) -> Expression:
    """All of one or more terms, in a flat list."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, And) else (term,))]
    return flat[0] if len(flat) == 1 else And(tuple(flat))


def disjunction(terms: Sequence[Expression]) -> Expression:
    """Any of one or more terms, in a flat list."""
    flat = [part for term in terms for part in (term.terms if isinstance(term, Or) else (term,))]
    return flat[0] if len(flat) == 1 else Or(tuple(flat))


def unparse(expression: Expression) -> str:
    """The expression as text, which parses to the same again."""
    if isinstance(expression, Word):
        return quoted(expression.text) if needs_quotes(expression.text) else expression.text
    if isinstance(expression, Comparison):
        values = ",".join(map(_operand_text, expression.operands))
        return f"{expression.column}{expression.operator.value}{values}"
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
        return '"' + re.sub(r'(?s)\\.|"', lambda found: found[0].replace('"', '\\"', 1), operand.regex) + '"'
    return quoted(operand.text) if needs_quotes(operand.text) else operand.text


def needs_quotes(text: str) -> bool:
    """Whether the text without quotes might be read as something else."""
    return (
        re.fullmatch(r"[A-Za-z0-9_./][A-Za-z0-9_./+-]*", text) is None
        or text.casefold() in KEYWORDS
        or text.casefold() == "none"
    )


def quoted(text: str) -> str:
    """The text in quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
