"""Rules and engines for the tests of lint as a whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from helpers import chain, write_graph, write_json
from trex_tui.api import load_engine
from trex_tui.engine.model import Engine
from trex_tui.lint import rules as known_rules
from trex_tui.lint import run as running
from trex_tui.lint.context import Context
from trex_tui.lint.rule import WARNING, Finding, FindingSeverity, NotChecked, Rule
from trex_tui.lint.rules import RuleSet, collect
from trex_tui.report.views import lint as view

HOSTILE = 'evil \x1b[31m|x| <b>&"q"\n::error::x%0A\u202e` [a](http://x) @all ]]>'
"""A layer's name with something for every format to trip over."""


def rule(
    rule_id: str,
    *said: Finding | NotChecked,
    severity: FindingSeverity = WARNING,
    check: Callable[[Context], Iterable[Finding | NotChecked]] | None = None,
    **more: Any,
) -> Rule:
    """A rule that says the same of every engine, or what `check` says."""
    words = {
        "title": f"Title of {rule_id}",
        "looks_for": "Something.",
        "why": "It costs time.",
        "remedy": f"Mend {rule_id}.",
        "references": ("A document: https://example.com/a",),
        "columns": (),
    }
    return Rule(id=rule_id, severity=severity, check=check or (lambda _: said), **{**words, **more})


def rule_set(*rules: Rule) -> RuleSet:
    """These rules in the order of the ids, as an installation has them."""
    return collect(rules)


def engine_of(folder: Path, *times: float | None, names: Sequence[str] = ()) -> Engine:
    """A chain of layers with these times; without any time, there is no profile."""
    names = names or [f"layer{place}" for place in range(len(times))]
    write_graph(folder / "net.graph.json", chain(*names), ["t0", f"t{len(names)}"])
    known = [(name, ms) for name, ms in zip(names, times, strict=True) if ms is not None]
    if known:
        total = sum(ms for _, ms in known) or 1.0
        rows = [
            {"name": name, "timeMs": ms * 10, "averageMs": ms, "percentage": 100.0 * ms / total}
            for name, ms in known
        ]
        write_json(folder / "net.profile.json", [{"count": 10}, *rows])
    return load_engine(folder)


@pytest.fixture
def use_rules(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Call it with rules, and there are no others."""

    def use(*rules: Rule) -> None:
        for module in (known_rules, running, view):
            monkeypatch.setattr(module, "load_rules", lambda: rule_set(*rules))

    return use
