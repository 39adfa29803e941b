"""Find all rules: the built-in ones, with a module per family in `lint/rules`, and those of third parties.

A package provides rules by an entry point of the group `trex_tui.lint_rules`, which names a `Rule`, an iterable of them, or a
module that has some::

    [project.entry-points."trex_tui.lint_rules"]
    ours = "our_package.rules"
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from trex_tui.old.errors import Diagnostic, Severity, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint import rules as builtin
from trex_tui.old.lint.model import Rule
from trex_tui.old.plugins import Loaded, find_entry_points, load_plugins
from trex_tui.old.text import did_you_mean, printable

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "trex_tui.lint_rules"
ID = re.compile(r"[A-Z]{2,}[0-9]{3}|[A-Z]{2,}-[A-Z]{2,}")
"""Form of ids: `CONV001`, `OK-TC`."""


@dataclass(frozen=True, slots=True)
class Registry:
    """Rules, by id.

    Attributes:
        rules: In the order of their ids.
        diagnostics: Rules of third parties that could not be loaded.
    """

    rules: tuple[Rule, ...]
    diagnostics: tuple[Diagnostic, ...] = ()

    def rule(self, rule_id: str) -> Rule:
        """Return the rule of an id, ignoring case.

        Raises:
            TrexError: The rule does not exist; the message has the most similar ids.
        """
        wanted = rule_id.strip().upper()
        for rule in self.rules:
            if rule.id == wanted:
                return rule
        raise TrexError(unknown(f"no rule {rule_id!r}", wanted, [rule.id for rule in self.rules]))

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rule.family for rule in self.rules))

    @property
    def thresholds(self) -> dict[str, float]:
        """Return the thresholds that a configuration may change, with their defaults."""
        return {name: value for rule in self.rules for name, value in rule.named_thresholds.items()}

    def checked_name(self, name: str) -> str:
        """Return the canonical form of an id or a family, ignoring case.

        Raises:
            TrexError: It is neither.
        """
        wanted = name.strip().upper().rstrip("-")
        known = [*(rule.id for rule in self.rules), *self.families]
        if wanted not in known:
            raise TrexError(unknown(f"no rule or family {name!r}", wanted, known))
        return wanted


def unknown(complaint: str, wanted: str, known: Sequence[str]) -> str:
    """Return an error message with the most similar known names."""
    return f"{printable(complaint)}; {similar(wanted, known) or '`trex-tui lint --rules` lists them'}"


def similar(wanted: str, known: Sequence[str]) -> str:
    """Return `did you mean A or B?`; empty if nothing is similar."""
    return did_you_mean(wanted, known, 3, 0.5)


@lru_cache(maxsize=1)
def registry() -> Registry:
    """Return the rules of this installation, cached."""
    return collect(builtin_modules(), find_entry_points(GROUP))


def builtin_modules() -> list[ModuleType]:
    """Return the modules of `lint/rules`."""
    names = sorted(module.name for module in pkgutil.iter_modules(builtin.__path__))
    return [import_module(f"{builtin.__name__}.{name}") for name in names if not name.startswith("_")]


def collect(modules: Iterable[ModuleType], plugins: Iterable[EntryPoint] = ()) -> Registry:
    """Collect rules of modules and plug-ins. A plug-in that fails, or has an id already in use, is a diagnostic.

    Raises:
        ValueError: Two modules have the same id, or an id has another form than `ID`.
    """
    rules: dict[str, Rule] = {}
    for module in modules:
        for rule in _list_rules(module):
            if rules.get(rule.id) is rule:
                continue  # imported from another module
            problem = _find_problem(rule, rules)
            if problem:
                raise ValueError(f"{module.__name__}: {problem}")
            rules[rule.id] = rule
    diagnostics: list[Diagnostic] = []
    for plugin in load_plugins(plugins, "lint rules", _list_rules):
        diagnostics += _add_rules(plugin, rules)
    return Registry(tuple(rules[rule_id] for rule_id in sorted(rules)), tuple(diagnostics))


def _add_rules(plugin: Loaded, rules: dict[str, Rule]) -> Iterator[Diagnostic]:
    """Add the rules of a plug-in; yield what is wrong with it."""
    if plugin.problem is not None:
        yield plugin.problem
    for rule in plugin.objects:
        problem = _find_problem(rule, rules)
        if problem:
            yield Diagnostic(Severity.WARNING, None, plugin.where, f"{problem}; skipped")
        else:
            rules[rule.id] = rule


def _list_rules(source: Any) -> list[Any]:  # noqa: ANN401 - whatever an entry point names
    """Return `RULES` of a module, else every rule at its top level; the content of an iterable; or the one rule."""
    if isinstance(source, Rule):
        return [source]
    if hasattr(source, "RULES"):
        return list(source.RULES)
    if isinstance(source, ModuleType):
        return [value for value in vars(source).values() if isinstance(value, Rule)]
    return list(source)


def _find_problem(rule: Any, rules: dict[str, Rule]) -> str:  # noqa: ANN401 - whatever a plug-in offers
    if not isinstance(rule, Rule):
        return f"{type(rule).__name__} is not a Rule"
    if not ID.fullmatch(rule.id):
        return f"{rule.id!r} is not an id such as CONV001 or OK-TC"
    return f"duplicate id {rule.id}" if rule.id in rules else ""
