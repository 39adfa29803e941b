"""Completion of a filter that is being typed, and examples of the language for help texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.analysis.filter.parser import ALIASES, LISTS, find_column, needs_quotes, quoted
from trex_tui.analysis.filter.selection import engine_values
from trex_tui.engine.columns import LayerColumn
from trex_tui.engine.engine import Engine

EXAMPLES: tuple[tuple[str, str], ...] = (
    ("conv -relu", "names with conv and without relu, in any case"),
    ("kind:gemm,convolution pct>2", "one of these kinds, and more than 2 % of the time"),
    ("(bound:launch or ms<10us) not stream:0", "and is what stands between; or; not; parentheses"),
    ('name~"layer1\\..*conv" io>=4Mi', "a regular expression; sizes in k M G Ki Mi Gi, times in us ms s"),
    ("tactic:*xmma* weights:none", "* stands for any text; none for a missing value, * alone for any value"),
    ('"a (b)" precision!=int8', "quotes take text as it is; comparisons are : = != < <= > >= ~"),
)
"""Expression, and what it says. The first four are the most telling."""


MOST_OPTIONS = 40
MOST_NUMBERS = 40
"""Columns with more different numbers are measures, of which nobody types one."""

_TOKEN = re.compile(r'\s+|[()]|((?:"(?:\\.|[^"\\])*"?|[^\s()"])+)', re.DOTALL)
_STARTED = re.compile(r"-*([A-Za-z_][A-Za-z0-9_]*)(:|!=|=)?(.*)", re.DOTALL)
_VALUES = re.compile(r'((?:"(?:\\.|[^"\\])*"|[^",])*,)*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Completion:
    """Ways to go on.

    Attributes:
        text: What has been typed.
        start: Where the part begins that an option replaces.
        options: The likeliest first.
    """

    text: str
    start: int
    options: tuple[str, ...]

    @property
    def completed(self) -> str:
        return self.text[: self.start] + self.options[0]

    @property
    def ghost(self) -> str | None:
        """The text as typed and the rest of the first option; None if that does not begin with what was typed, or cannot be
        drawn as it is."""
        typed = self.text[self.start :]
        rest = self.options[0][len(typed) :]
        if not self.options[0].casefold().startswith(typed.casefold()) or not rest.isprintable():
            return None
        return self.text + rest


@lru_cache(maxsize=4)  # a key is answered in three places
def complete(engine: Engine, text: str) -> Completion | None:
    """What could follow the text, or end the word that it ends with; None for nothing."""
    tokens = list(_TOKEN.finditer(text))
    started = _STARTED.fullmatch(tokens[-1][1] or "") if tokens else None
    if started is None:
        return None
    name, operator, rest = started.groups()
    if operator:
        column, before = find_column(name), _VALUES.match(rest)
        typed = rest[before.end() :] if before else rest
        options = _values(engine, column, typed) if column is not None else []
    else:
        typed = name
        options = [] if rest else _names(name)
    options = [option for option in options if option != typed][:MOST_OPTIONS]
    return Completion(text, len(text) - len(typed), tuple(options)) if options else None


def _names(typed: str) -> list[str]:
    folded = typed.casefold()
    found = [column for column in ALL_COLUMNS if column.name.startswith(folded)]
    short = [name for name in ALIASES if name.startswith(folded)]
    names = [_with_operator(column.name, column) for column in found]
    names += [_with_operator(name, find_column(name)) for name in short]
    return sorted(names, key=lambda name: name[:-1] != folded)


def _with_operator(name: str, column: LayerColumn | None) -> str:
    """`kind:`, `latency_ms>`: the comparison that makes most sense."""
    is_measure = column is not None and column.is_number and (column.unit or column.dtype == "float64")
    return f"{name}>" if is_measure else f"{name}:"


def _values(engine: Engine, column: LayerColumn, typed: str) -> list[str]:
    """Values of a column that begin as typed, the most frequent first."""
    if column.is_number and (column.unit or column.dtype == "float64"):
        return []
    counts = engine_values(engine).counts(column.name)
    if column.is_number and len(counts) > MOST_NUMBERS:
        return []
    wanted = typed.removeprefix('"').casefold()
    totals: dict[str, int] = {}
    for value, count in counts.items():
        for part in _parts(value, column):
            totals[part] = totals.get(part, 0) + count
    ordered = sorted(totals, key=lambda part: (-totals[part], part))
    fitting = [part for part in ordered if part.casefold().startswith(wanted)]
    return [
        quoted(part) if typed.startswith('"') or needs_quotes(part) else part
        for part in fitting[: MOST_OPTIONS + 1]
    ]


def _parts(value: Any, column: LayerColumn) -> tuple[str, ...]:  # noqa: ANN401 - any cell
    if value is None:
        return ()
    return tuple(dict.fromkeys(value)) if column.name in LISTS else (str(value),)
