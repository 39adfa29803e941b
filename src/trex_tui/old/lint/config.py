"""The lint configuration, read from configuration files and options, and suppressions appended to a file.

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

In a `pyproject.toml` the table is `tool.trex-tui.lint`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from trex_tui.old.analysis.gates import Gate, GateError, GateMetrics, parse_gate
from trex_tui.old.artifacts.input_files import finite_number
from trex_tui.old.config import (
    NOT_UTF_8,
    PROJECT_NAME,
    ConfigPlace,
    ConfigTable,
    config_tables,
    parse_toml,
    read_config,
)
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import TrexError, describe_os_error
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.model import FindingSeverity, Rule
from trex_tui.old.lint.registry import Registry, similar
from trex_tui.old.text import printable


@dataclass(frozen=True, slots=True)
class Suppression:
    """Findings that the user has reviewed and hides.

    Attributes:
        rules: Ids or families; empty for every rule.
        layers: A filter; matching layers are removed from findings, and findings without remaining layers are hidden. Empty
            for whole findings, including those about no layer.
        reason: The reason; never empty.
        origin: File and key: `trex-tui.toml: lint.suppress[2]`.
    """

    rules: tuple[str, ...]
    layers: str
    reason: str
    origin: str


@dataclass(frozen=True, slots=True)
class LintConfig:
    """Settings of lint.

    Attributes:
        select: Ids or families of the rules to run; empty for all.
        ignore: Ids or families of rules not to run; takes precedence over `select`.
        thresholds: Changed thresholds of rules by name: `CONV003.waste_pct`.
        min_severity: The lowest severity to keep; `GOOD` keeps strengths too.
        fail_on: The lowest severity that makes the command fail, or a gate on the number of findings of an engine; None for
            never.
        suppressions: In the order of the files; the first that matches a layer applies.
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
    """Return whether ids or families include a rule."""
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
    """Return the merged configuration of all files.

    A file with higher precedence replaces `select`, `ignore`, the severities and single thresholds; suppressions of all files
    apply.

    Args:
        file: Read only this file.

    Raises:
        TrexError: A file cannot be read or has an invalid value.
    """
    tables = config_tables(environ) if file is None else [read_config(file)]
    config = LintConfig()
    for table in tables:
        config = updated(config, table, rules)
    return config


def updated(config: LintConfig, table: ConfigTable, rules: Registry) -> LintConfig:
    """Return a configuration overridden by a file.

    Raises:
        TrexError: The file has an invalid value; the message has file and key.
    """
    values = table.values.get(TABLE, {})
    if not isinstance(values, dict):
        raise TrexError(f"{table.place(TABLE)} must be a table; write [{table.prefix}{TABLE}]")
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


def rule_names(names: Sequence[str], rules: Registry, origin: str | ConfigPlace) -> tuple[str, ...]:
    """Return canonical ids and families.

    Raises:
        TrexError: A name is neither; the message begins with `origin`.
    """
    try:
        return tuple(dict.fromkeys(rules.checked_name(name) for name in names))
    except TrexError as error:
        raise TrexError(f"{origin}: {error}") from None


def restrict(
    config: LintConfig,
    rules: Registry,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    min_severity: str | None = None,
    *,
    prefix: str = "",
) -> LintConfig:
    """Return a configuration with other rules: `select` replaces that of the files, `ignore` is added to it.

    Args:
        select, ignore: Ids or families of rules.
        min_severity: Least severity of findings; None for that of the configuration.
        prefix: Before the name of an argument in messages: `--` for options.

    Raises:
        TrexError: A rule or a severity does not exist.
    """
    if select:
        config = replace(config, select=rule_names(select, rules, f"{prefix}select"))
    if ignore:
        ignored = rule_names(ignore, rules, f"{prefix}ignore")
        config = replace(config, ignore=(*config.ignore, *ignored))
    if min_severity is None:
        return config
    if min_severity not in MIN_SEVERITIES:
        known = ", ".join(MIN_SEVERITIES)
        raise TrexError(f"{prefix}min_severity: no severity {min_severity!r}; use one of {known}")
    return replace(config, min_severity=FindingSeverity(min_severity))


def parse_fail_on(value: object, origin: str | ConfigPlace) -> FindingSeverity | Gate | None:
    """Parse a severity, `never` or a gate as in `LintConfig`.

    Raises:
        TrexError: The value is invalid; the message begins with `origin`.
    """
    if value == NEVER:
        return None
    if isinstance(value, str) and value in FAIL_ON:
        return FindingSeverity(value)
    if not isinstance(value, str) or value.strip().isalpha():
        known = f"{', '.join(FAIL_ON)}, not a gate such as {COUNTS.examples[0]}"
        raise TrexError(f"{origin}: {printable(str(value))[:40]} is invalid; use one of {known}")
    try:
        return parse_gate(value, COUNTS)
    except GateError as error:
        raise TrexError(f"{origin}: {error}") from None


def format_fail_on(fail_on: FindingSeverity | Gate | None) -> str:
    """Format the value as in the configuration file."""
    return fail_on.text if isinstance(fail_on, Gate) else fail_on.value if fail_on else NEVER


def _check_keys(values: Mapping[str, Any], known: Sequence[str], origin: ConfigPlace) -> None:
    for key in values:
        if key not in known:
            hint = similar(key, known) or f"known are {', '.join(known)}"
            raise TrexError(f"{origin.at(key)}: no key {printable(key)!r}; {hint}")


def _choice(
    values: Mapping[str, Any], key: str, known: Sequence[str], places: Mapping[str, ConfigPlace]
) -> str:
    value = values[key]
    if value not in known:
        raise TrexError(
            f"{places[key]}: {printable(str(value))[:40]} is invalid; use one of {', '.join(known)}"
        )
    return str(value)


def _strings(value: object, origin: ConfigPlace) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise TrexError(f'{origin} must be a list of strings; write ["CONV001"]')
    return listed


def _read_thresholds(value: object, rules: Registry, origin: ConfigPlace) -> dict[str, float]:
    if not isinstance(value, dict):
        raise TrexError(f"{origin} must be a table; write [{origin.table.prefix}{origin.key}]")
    known = rules.thresholds
    numbers = {}
    for key, stated in _flatten(value).items():
        if key not in known:
            hint = similar(key, list(known)) or "`trex-tui lint --explain ID` lists the thresholds of a rule"
            raise TrexError(f"{origin.at(key)}: no threshold {printable(key)!r}; {hint}")
        number = finite_number(stated)
        if number is None or math.isnan(number):
            shown = printable(str(stated))[:40]
            raise TrexError(f"{origin.at(key)}: {key} = {shown} is not a number; write one without quotes")
        numbers[key] = number
    return numbers


def _flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested tables: TOML parses `CONV003.waste_pct = 15` as a table in a table."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{prefix}{key}"
        flat |= _flatten(value, f"{name}.") if isinstance(value, dict) else {name: value}
    return flat


def _read_suppressions(value: object, rules: Registry, origin: ConfigPlace) -> list[Suppression]:
    if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
        raise TrexError(f"{origin} must be tables; write [[{origin.table.prefix}{origin.key}]]")
    return [
        _read_suppression(table, rules, origin.below(f"[{number}]")) for number, table in enumerate(value, 1)
    ]


def _read_suppression(value: Mapping[str, Any], rules: Registry, origin: ConfigPlace) -> Suppression:
    _check_keys(value, _SUPPRESS_KEYS, origin)
    for key in ("layers", "reason"):
        if not isinstance(value.get(key, ""), str):
            raise TrexError(f"{origin.below(f'.{key}')} must be a string; put it in quotes")
    reason, layers = " ".join(value.get("reason", "").split()), value.get("layers", "").strip()
    if not reason:
        raise TrexError(f'{origin}: reason is missing; add reason = "…"')
    names = rule_names(
        _strings(value.get("rules", []), origin.below(".rules")), rules, origin.below(".rules")
    )
    if not names and not layers:
        raise TrexError(
            f"{origin}: rules or layers are missing; add one: without both it would suppress everything"
        )
    if layers:
        _check_filter(layers, origin.below(".layers"))
    return Suppression(names, layers, reason, origin.name)


def _check_filter(text: str, origin: ConfigPlace) -> None:
    from trex_tui.old.analysis.filter import FilterError, parse

    try:
        parse(text)
    except FilterError as error:
        raise TrexError(f"{origin}: {error.pointed}") from None


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def make_filter(layers: Sequence[Layer]) -> str:
    """Return a filter that matches exactly the layers of these names; empty for no layers."""
    from trex_tui.old.analysis.filter import unparse
    from trex_tui.old.analysis.filter.parser import ColumnTest, Literal, Operator

    names = tuple(Literal(name) for name in dict.fromkeys(layer.name for layer in layers))
    return unparse(ColumnTest("name", Operator.EQUAL, names)) if names else ""


def suppression_table(rules: Sequence[str], layers: str, reason: str, prefix: str = "") -> str:
    """Return the table as TOML text, each line ended by a newline.

    Args:
        prefix: Prefix of the key in the file, as in `ConfigTable`.
    """
    lines = [f"[[{prefix}{TABLE}.{SUPPRESS}]]"]
    if rules:
        lines.append(f"rules = [{', '.join(map(_quoted, rules))}]")
    if layers:
        lines.append(f"layers = {_quoted(layers)}")
    lines.append(f"reason = {_quoted(reason)}")
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str) -> str:
    """Return a basic string of TOML."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\U{ord(char):08X}"


def append_suppression(
    path: Path, rules: Sequence[str], layers: str, reason: str, registry: Registry
) -> Suppression:
    """Append a suppression to a configuration file; existing content stays, byte for byte.

    Args:
        path: `trex-tui.toml`, which is created if missing, or a `pyproject.toml`.
        rules: Ids or families; empty for every rule.
        layers: A filter; empty for whole findings.
        reason: The reason.

    Returns:
        The suppression as it is read from the file from now on.

    Raises:
        TrexError: The file cannot be read, parsed or written, or has its suppressions in a form that a table at the end
            cannot extend; or the suppression is invalid.
    """
    old = _read(path)
    is_project = path.name == PROJECT_NAME
    prefix = read_config(path).prefix if old else ("tool.trex-tui." if is_project else "")
    added = suppression_table(rules, layers, reason, prefix)
    if old:
        added = ("" if old.endswith("\n") else "\n") + "\n" + added
    if "\r\n" in old:
        added = added.replace("\n", "\r\n")
    suppression = _as_read_again(path, prefix, old, added, registry)
    try:
        with path.open("ab") as file:
            file.write(added.encode("utf-8"))
    except OSError as error:
        raise TrexError(f"{path}: {describe_os_error(error, 'cannot be written')}") from error
    return suppression


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise TrexError(f"{path}: {describe_os_error(error)}") from error
    except ValueError as error:
        raise TrexError(f"{path}: {NOT_UTF_8}") from error


def _as_read_again(path: Path, prefix: str, old: str, added: str, registry: Registry) -> Suppression:
    """Return the suppression as read from the new content; raises if that is invalid or changes other settings."""
    before = _lint_config(path, prefix, old, registry)
    try:
        after = _lint_config(path, prefix, old + added, registry)
    except TrexError as error:
        raise TrexError(f"{error}; nothing was written") from None
    if after.suppressions[:-1] != before.suppressions:
        raise TrexError(f"{path}: cannot append a suppression; nothing was written")
    return after.suppressions[-1]


def _lint_config(path: Path, prefix: str, text: str, registry: Registry) -> LintConfig:
    table = parse_toml(text, path)
    for key in prefix.rstrip(".").split(".") if prefix else ():
        table = table.get(key, {})
    return updated(LintConfig(), ConfigTable(path, prefix, table, text), registry)
