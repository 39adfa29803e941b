"""What a person wants of lint: which rules, from which severity on, with which numbers, and what is left alone and why.

The lint configuration out of configuration files and options.

    [lint]
    select = ["CONV", "QDQ001"]           # default: every rule
    ignore = ["FMT004"]
    min_severity = "info"                 # error, warning, info, good
    fail_on = "warning"                   # error, warning, info, never, or a gate such as "warning > 5"

    [lint.thresholds]
    "CONV003.waste_pct" = 15

    [[lint.suppress]]
    rules = ["QDQ001"]                    # default: every rule
    layers = 'name:*head*'                # a filter; default: whole findings
    reason = "the head stays FP32 for accuracy"

In a `pyproject.toml` the same stands under `tool.trex-tui.lint`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trex_tui.analysis.gates import Gate, GateError, GateMetrics, parse_gate
from trex_tui.artifacts.input_files import finite_number
from trex_tui.config import ConfigTable, config_tables, read_config
from trex_tui.errors import TrexError
from trex_tui.lint.model import FindingSeverity, Rule
from trex_tui.lint.registry import Registry, similar
from trex_tui.text import printable


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings that somebody has judged and wants left out.

    Attributes:
        rules: Ids or families; empty for every rule.
        layers: A filter; the findings lose the layers that match, and are left out when none remains. Empty for whole
            findings, also those about no layer.
        reason: Why, in words; never empty.
        origin: Where it is stated: `trex-tui.toml: lint.suppress[2]`.
    """

    rules: tuple[str, ...]
    layers: str
    reason: str
    origin: str


@dataclass(frozen=True, slots=True)
class LintConfig:
    """How to lint.

    Attributes:
        select: Ids or families of the rules to run; empty for all.
        ignore: Ids or families of rules not to run; stronger than `select`.
        thresholds: Numbers of rules that are not to be the rule's own, by name: `CONV003.waste_pct`.
        min_severity: The mildest severity to keep; `GOOD` keeps what is well done too.
        fail_on: The mildest severity that makes the command fail, or a gate on the number of findings of an engine; None for
            never.
        suppressions: In the order they are stated; the first that fits a layer counts.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    thresholds: Mapping[str, float] = field(default_factory=dict)
    min_severity: FindingSeverity = FindingSeverity.GOOD
    fail_on: FindingSeverity | Gate | None = FindingSeverity.ERROR
    suppressions: tuple[Suppression, ...] = ()

    def wants(self, rule: Rule) -> bool:
        selected = not self.select or names_rule(self.select, rule)
        return selected and not names_rule(self.ignore, rule)


def names_rule(names: tuple[str, ...], rule: Rule) -> bool:
    """Whether ids or families name a rule."""
    return rule.id in names or rule.family in names


TABLE = "lint"
SUPPRESS = "suppress"
NEVER = "never"
MIN_SEVERITIES = tuple(severity.value for severity in FindingSeverity)
FAIL_ON = (*(severity.value for severity in FindingSeverity if severity is not FindingSeverity.GOOD), NEVER)
COUNTS = GateMetrics(("error", "warning", "info", "findings"), ("warning > 5", "findings > 0"))
_KEYS = ("select", "ignore", "min_severity", "fail_on", "thresholds", SUPPRESS)
_SUPPRESS_KEYS = ("rules", "layers", "reason")


def find_config(environ: Mapping[str, str], rules: Registry, file: Path | None = None) -> LintConfig:
    """What the configuration files say together.

    A stronger file replaces `select`, `ignore` and the severities of a weaker one, and single thresholds; suppressions of all
    files hold.

    Args:
        file: Read this one alone.

    Raises:
        TrexError: A file cannot be read, or says something that cannot be.
    """
    tables = config_tables(environ) if file is None else [read_config(file)]
    config = LintConfig()
    for table in tables:
        config = updated(config, table, rules)
    return config


def updated(config: LintConfig, table: ConfigTable, rules: Registry) -> LintConfig:
    """A configuration with what a file says over it.

    Raises:
        TrexError: The file says something that cannot be; the message has file and key.
    """
    values = table.values.get(TABLE, {})
    if not isinstance(values, dict):
        raise TrexError(f"{table.place(TABLE)} must be a table")
    _check_keys(values, _KEYS, table.place(TABLE))
    places = {key: table.place(f"{TABLE}.{key}") for key in _KEYS}
    changes: dict[str, Any] = {}
    for key in ("select", "ignore"):
        if key in values:
            changes[key] = rule_names(_strings(values[key], places[key]), rules, places[key])
    if "min_severity" in values:
        changes["min_severity"] = FindingSeverity(_choice(values, "min_severity", MIN_SEVERITIES, places))
    if "fail_on" in values:
        changes["fail_on"] = parse_fail_on(values["fail_on"], places["fail_on"])
    if "thresholds" in values:
        stated = _read_thresholds(values["thresholds"], rules, places["thresholds"])
        changes["thresholds"] = {**config.thresholds, **stated}
    if SUPPRESS in values:
        stated_here = _read_suppressions(values[SUPPRESS], rules, places[SUPPRESS])
        changes["suppressions"] = (*config.suppressions, *stated_here)
    return replace(config, **changes)


def rule_names(names: Sequence[str], rules: Registry, place: str) -> tuple[str, ...]:
    """Ids and families as rules have them.

    Raises:
        TrexError: One is neither; `place` stands in front.
    """
    try:
        return tuple(dict.fromkeys(rules.checked_name(name) for name in names))
    except TrexError as error:
        raise TrexError(f"{place}: {error}") from None


def parse_fail_on(value: object, place: str) -> FindingSeverity | Gate | None:
    """A severity, `never` or a gate as `LintConfig` has it.

    Raises:
        TrexError: It is none of them; `place` stands in front.
    """
    if value == NEVER:
        return None
    if isinstance(value, str) and value in FAIL_ON:
        return FindingSeverity(value)
    if not isinstance(value, str) or value.strip().isalpha():
        known = f"{', '.join(FAIL_ON)}, and no gate such as {COUNTS.examples[0]}"
        raise TrexError(f"{place}: {printable(str(value))[:40]} is none of {known}")
    try:
        return parse_gate(value, COUNTS)
    except GateError as error:
        raise TrexError(f"{place}: {error}") from None


def format_fail_on(fail_on: FindingSeverity | Gate | None) -> str:
    """As a person writes it."""
    return fail_on.text if isinstance(fail_on, Gate) else fail_on.value if fail_on else NEVER


def _check_keys(values: Mapping[str, Any], known: Sequence[str], place: str) -> None:
    for key in values:
        if key not in known:
            hint = similar(key, known) or f"known are {', '.join(known)}"
            raise TrexError(f"{place}: no key {printable(key)!r}; {hint}")


def _choice(values: Mapping[str, Any], key: str, known: Sequence[str], places: Mapping[str, str]) -> str:
    value = values[key]
    if value not in known:
        raise TrexError(f"{places[key]}: {printable(str(value))[:40]} is none of {', '.join(known)}")
    return str(value)


def _strings(value: object, place: str) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise TrexError(f'{place} must be a list of texts, such as ["CONV001"]')
    return listed


def _read_thresholds(value: object, rules: Registry, place: str) -> dict[str, float]:
    if not isinstance(value, dict):
        raise TrexError(f"{place} must be a table")
    known = rules.thresholds
    numbers = {}
    for key, stated in _flatten(value).items():
        if key not in known:
            hint = similar(key, list(known)) or "`trex-tui lint --explain ID` tells those of a rule"
            raise TrexError(f"{place}: no threshold {printable(key)!r}; {hint}")
        number = finite_number(stated)
        if number is None or math.isnan(number):
            raise TrexError(f"{place}: {key} = {printable(str(stated))[:40]} is no number")
        numbers[key] = number
    return numbers


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """TOML takes `CONV003.waste_pct = 15` for a table in a table."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        flat |= _flatten(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def _read_suppressions(value: object, rules: Registry, place: str) -> list[Suppression]:
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise TrexError(f"{place} must be tables [[{place.rpartition(': ')[2]}]]")
    return [_read_suppression(table, rules, f"{place}[{number}]") for number, table in enumerate(value, 1)]


def _read_suppression(value: Mapping[str, Any], rules: Registry, place: str) -> Suppression:
    _check_keys(value, _SUPPRESS_KEYS, place)
    for key in ("layers", "reason"):
        if not isinstance(value.get(key, ""), str):
            raise TrexError(f"{place}.{key} must be a text")
    reason, layers = " ".join(value.get("reason", "").split()), value.get("layers", "").strip()
    if not reason:
        raise TrexError(f"{place}: it needs a reason")
    names = rule_names(_strings(value.get("rules", []), f"{place}.rules"), rules, f"{place}.rules")
    if not names and not layers:
        raise TrexError(f"{place}: it needs rules or layers; without either it would leave out everything")
    if layers:
        _check_filter(layers, f"{place}.layers")
    return Suppression(names, layers, reason, place)


def _check_filter(text: str, place: str) -> None:
    from trex_tui.analysis.filter import FilterError, parse

    try:
        parse(text)
    except FilterError as error:
        raise TrexError(f"{place}: {error.pointed}") from None
