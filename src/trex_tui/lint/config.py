"""The lint configuration, read from configuration files and options, and suppressions appended to a file.

    [lint]
    select = ["CONV", "QDQ001"]           # default: every rule
    ignore = ["FMT004"]
    min_severity = "info"                 # error, warning, info, good
    fail_on = "warning"                   # error, warning, info, never, or a gate such as "warning > 5"

    [[lint.suppress]]
    rules = ["QDQ001"]                    # default: every rule
    layers = 'name:*head*'                # a filter; default: whole findings
    reason = "the head stays FP32 for accuracy"

In a `pyproject.toml` the table is `tool.trex-tui.lint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trex_tui.analysis.gates import Gate, GateError, GateMetrics, parse_gate
from trex_tui.config import PROJECT_NAME, ConfigTable, parse_toml, read_config, read_configuration
from trex_tui.engine.filter import quote_value
from trex_tui.errors import TrexError, describe_os_error
from trex_tui.lint.rule import ERROR, GOOD, FindingSeverity, Rule
from trex_tui.lint.rules import RuleSet, similar
from trex_tui.text import did_you_mean, printable


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

    def concerns(self, rule: Rule) -> bool:
        return not self.rules or rule.is_named_by(self.rules)


@dataclass(frozen=True, slots=True)
class LintConfig:
    """Settings of lint.

    Attributes:
        select: Ids or families of the rules to run; empty for all.
        ignore: Ids or families of rules not to run; takes precedence over `select`.
        min_severity: The lowest severity to keep; `GOOD` keeps strengths too.
        fail_on: The lowest severity that makes the command fail, or a gate on the number of findings of an engine; None for
            never.
        suppressions: In the order of the files; the first that matches a layer applies.
        shows_all: Findings with a saving below `run.MINOR_PCT` are listed too.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    min_severity: FindingSeverity = GOOD
    fail_on: FindingSeverity | Gate | None = ERROR
    suppressions: tuple[Suppression, ...] = ()
    shows_all: bool = False

    def wants(self, rule: Rule) -> bool:
        is_selected = not self.select or rule.is_named_by(self.select)
        return is_selected and not rule.is_named_by(self.ignore)


TABLE, SUPPRESS, NEVER = "lint", "suppress", "never"
MIN_SEVERITIES = tuple(severity.value for severity in FindingSeverity)
FAIL_ON = (*(severity.value for severity in FindingSeverity if severity is not GOOD), NEVER)
COUNTS = GateMetrics(("error", "warning", "info", "findings"), ("warning > 5", "findings > 0"))
_KEYS = ("select", "ignore", "min_severity", "fail_on", SUPPRESS)
_SUPPRESS_KEYS = ("rules", "layers", "reason")


def find_config(rules: RuleSet, file: Path | None = None) -> LintConfig:
    """Return the merged configuration of all files.

    A file with higher precedence replaces `select`, `ignore` and the severities; suppressions of all files apply.

    Args:
        file: Read only this file.

    Raises:
        TrexError: A file cannot be read or has an invalid value.
    """
    config = LintConfig()
    for table in read_configuration() if file is None else [read_config(file)]:
        config = _update(config, table, rules)
    return config


def restrict(
    config: LintConfig,
    rules: RuleSet,
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
        config = replace(config, select=_check_names(select, rules, f"{prefix}select"))
    if ignore:
        config = replace(config, ignore=(*config.ignore, *_check_names(ignore, rules, f"{prefix}ignore")))
    if min_severity is None:
        return config
    if min_severity not in MIN_SEVERITIES:
        known = ", ".join(MIN_SEVERITIES)
        name = f"{prefix}min-severity" if prefix else "min_severity"
        raise TrexError(f"{name}: no severity {min_severity!r}; use one of {known}")
    return replace(config, min_severity=FindingSeverity(min_severity))


def parse_fail_on(value: object, origin: str) -> FindingSeverity | Gate | None:
    """Parse a severity, `never` or a gate as in `LintConfig`.

    Raises:
        TrexError: The value is invalid; the message begins with `origin`.
    """
    if value == NEVER:
        return None
    if isinstance(value, str) and value in FAIL_ON:
        return FindingSeverity(value)
    if not isinstance(value, str) or value.strip().isalpha():
        known = f"use one of {', '.join(FAIL_ON)}, or a gate such as {COUNTS.examples[0]}"
        hint = did_you_mean(value.strip(), FAIL_ON) if isinstance(value, str) else ""
        raise TrexError(f"{origin}: {printable(str(value))[:40]} is invalid; {hint or known}")
    try:
        return parse_gate(value, COUNTS)
    except GateError as error:
        raise TrexError(f"{origin}: {error}") from None


def format_fail_on(fail_on: FindingSeverity | Gate | None) -> str:
    """Format the value as in the configuration file."""
    return fail_on.text if isinstance(fail_on, Gate) else fail_on.value if fail_on else NEVER


# Files


def _update(config: LintConfig, table: ConfigTable, rules: RuleSet) -> LintConfig:
    """Return a configuration overridden by a file."""
    values = table.values.get(TABLE, {})
    if not isinstance(values, dict):
        raise TrexError(f"{table.place(TABLE)} must be a table; write [{table.prefix}{TABLE}]")
    _check_keys(values, _KEYS, table, TABLE)
    places = {key: table.place(f"{TABLE}.{key}") for key in _KEYS}
    changes: dict[str, Any] = {}
    for key in ("select", "ignore"):
        if key in values:
            changes[key] = _check_names(_strings(values[key], places[key]), rules, places[key])
    if "min_severity" in values:
        if values["min_severity"] not in MIN_SEVERITIES:
            shown = printable(str(values["min_severity"]))[:40]
            raise TrexError(
                f"{places['min_severity']}: {shown} is invalid; use one of {', '.join(MIN_SEVERITIES)}"
            )
        changes["min_severity"] = FindingSeverity(values["min_severity"])
    if "fail_on" in values:
        changes["fail_on"] = parse_fail_on(values["fail_on"], places["fail_on"])
    if SUPPRESS in values:
        changes["suppressions"] = (*config.suppressions, *_read_suppressions(values[SUPPRESS], rules, table))
    return replace(config, **changes)


def _check_names(names: Sequence[str], rules: RuleSet, origin: str) -> tuple[str, ...]:
    """Return canonical ids and families."""
    try:
        return tuple(dict.fromkeys(rules.check_name(name) for name in names))
    except TrexError as error:
        raise TrexError(f"{origin}: {error}") from None


def _check_keys(values: Mapping[str, Any], known: Sequence[str], table: ConfigTable, key: str) -> None:
    for name in values:
        if name not in known:
            hint = similar(name, known) or f"known are {', '.join(known)}"
            raise TrexError(f"{table.place(f'{key}.{name}')}: no key {printable(name)!r}; {hint}")


def _strings(value: object, origin: str) -> list[str]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(text, str) for text in listed):
        raise TrexError(f'{origin} must be a list of strings; write ["CONV001"]')
    return listed


def _read_suppressions(value: object, rules: RuleSet, table: ConfigTable) -> list[Suppression]:
    key = f"{TABLE}.{SUPPRESS}"
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise TrexError(f"{table.place(key)} must be tables; write [[{table.prefix}{key}]]")
    return [
        _read_suppression(entry, rules, table, f"{key}[{number}]") for number, entry in enumerate(value, 1)
    ]


def _read_suppression(value: Mapping[str, Any], rules: RuleSet, table: ConfigTable, key: str) -> Suppression:
    _check_keys(value, _SUPPRESS_KEYS, table, key)
    place = table.place(key)
    for name in ("layers", "reason"):
        if not isinstance(value.get(name, ""), str):
            raise TrexError(f"{table.place(f'{key}.{name}')} must be a string; put it in quotes")
    reason, layers = " ".join(value.get("reason", "").split()), value.get("layers", "").strip()
    if not reason:
        raise TrexError(f'{place}: reason is missing; add reason = "…"')
    origin = table.place(f"{key}.rules")
    names = _check_names(_strings(value.get("rules", []), origin), rules, origin)
    if not names and not layers:
        raise TrexError(
            f"{place}: rules or layers are missing; add one: without both it would suppress everything"
        )
    return Suppression(names, layers, reason, f"{table.path}: {table.prefix}{key}")


# Suppressions written by the explorer

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def make_filter(names: Sequence[str]) -> str:
    """Return a filter that matches exactly the layers of these names; empty for none."""
    return f"name={','.join(map(quote_value, dict.fromkeys(names)))}" if names else ""


def append_suppression(
    path: Path, rules: Sequence[str], layers: str, reason: str, known: RuleSet
) -> Suppression:
    """Append a suppression to a configuration file; existing content stays, byte for byte.

    Args:
        path: `trex-tui.toml`, which is created if missing, or a `pyproject.toml`.
        rules: Ids or families; empty for every rule.
        layers: A filter; empty for whole findings.
        reason: The reason.
        known: All rules.

    Returns:
        The suppression as it is read from the file from now on.

    Raises:
        TrexError: The file cannot be read, parsed or written, or has its suppressions in a form that a table at the end
            cannot extend; or the suppression is invalid.
    """
    old = read_config(path) if path.exists() else ConfigTable(path, _prefix_of(path), {})
    lines = [f"[[{old.prefix}{TABLE}.{SUPPRESS}]]"]
    lines += [f"rules = [{', '.join(map(_quoted, rules))}]"] if rules else []
    lines += [f"layers = {_quoted(layers)}"] if layers else []
    lines.append(f"reason = {_quoted(reason)}")
    added = "".join(f"{line}\n" for line in lines)
    if old.text:
        added = ("" if old.text.endswith("\n") else "\n") + "\n" + added
    if "\r\n" in old.text:
        added = added.replace("\n", "\r\n")
    suppression = _read_again(old, added, known)
    try:
        with path.open("ab") as file:
            file.write(added.encode("utf-8"))
    except OSError as error:
        raise TrexError(f"{path}: {describe_os_error(error, 'cannot be written')}") from error
    return suppression


def _prefix_of(path: Path) -> str:
    return "tool.trex-tui." if path.name == PROJECT_NAME else ""


def _quoted(text: str) -> str:
    """Return a basic string of TOML."""
    escaped = (_ESCAPES.get(char) or (char if char.isprintable() else f"\\U{ord(char):08X}") for char in text)
    return f'"{"".join(escaped)}"'


def _read_again(old: ConfigTable, added: str, rules: RuleSet) -> Suppression:
    """Return the suppression as read from the new content; raises if that is invalid or changes other settings."""
    before = _update(LintConfig(), old, rules)
    try:
        root: Any = parse_toml(old.text + added, old.path)
        for key in filter(None, old.prefix.split(".")):
            root = root.get(key, {})
        after = _update(LintConfig(), ConfigTable(old.path, old.prefix, root, old.text + added), rules)
    except TrexError as error:
        raise TrexError(f"{error}; nothing was written") from None
    if after.suppressions[:-1] != before.suppressions:
        raise TrexError(f"{old.path}: cannot append a suppression; nothing was written")
    return after.suppressions[-1]
