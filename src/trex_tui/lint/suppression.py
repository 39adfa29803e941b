"""Writing down that a finding is to be left out, and why: a table at the end of a configuration file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trex_tui.config import PROJECT_NAME, ConfigTable, parse_toml, read_config
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.lint.config import SUPPRESS, TABLE, LintConfig, Suppression, updated
from trex_tui.lint.registry import Registry

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def make_filter(layers: Sequence[Layer]) -> str:
    """A filter that lets exactly the layers of these names through; empty for no layers."""
    from trex_tui.analysis.filter import unparse
    from trex_tui.analysis.filter.parser import ColumnTest, Literal, Operator

    names = tuple(Literal(name) for name in dict.fromkeys(layer.name for layer in layers))
    return unparse(ColumnTest("name", Operator.EQUAL, names)) if names else ""


def suppression_table(rules: Sequence[str], layers: str, reason: str, prefix: str = "") -> str:
    """The table as it is written, each line ended by a newline.

    Args:
        prefix: What stands before the key in the file, as `ConfigTable` has it.
    """
    lines = [f"[[{prefix}{TABLE}.{SUPPRESS}]]"]
    if rules:
        lines.append(f"rules = [{', '.join(map(_quoted, rules))}]")
    if layers:
        lines.append(f"layers = {_quoted(layers)}")
    lines.append(f"reason = {_quoted(reason)}")
    return "".join(f"{line}\n" for line in lines)


def _quoted(text: str) -> str:
    """A basic string of TOML."""
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if char.isprintable() else f"\\U{ord(char):08X}"


def append_suppression(
    path: Path, rules: Sequence[str], layers: str, reason: str, registry: Registry
) -> Suppression:
    """Write a suppression at the end of a configuration file; what is there stays, byte for byte.

    Args:
        path: `trex-tui.toml`, which is made if it is not there, or a `pyproject.toml`.
        rules: Ids or families; empty for every rule.
        layers: A filter; empty for whole findings.
        reason: Why, in words.

    Returns:
        The suppression as the file states it from now on.

    Raises:
        TrexError: The file cannot be read, understood or written, or holds its suppressions in a form that a table at the end
            cannot join; or the suppression is none that could be read again.
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
        raise TrexError(f"{path}: cannot be written: {error.strerror or error}") from error
    return suppression


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise TrexError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise TrexError(f"{path}: is not valid TOML (it is not UTF-8)") from error


def _as_read_again(path: Path, prefix: str, old: str, added: str, registry: Registry) -> Suppression:
    """What the file will say. Nothing is written that would not be understood, or would change what stands there."""
    before = _lint_config(path, prefix, old, registry)
    try:
        after = _lint_config(path, prefix, old + added, registry)
    except TrexError as error:
        raise TrexError(f"{error}; nothing was written") from None
    if after.suppressions[:-1] != before.suppressions:
        raise TrexError(f"{path}: a suppression cannot be added at its end; nothing was written")
    return after.suppressions[-1]


def _lint_config(path: Path, prefix: str, text: str, registry: Registry) -> LintConfig:
    table = parse_toml(text, path)
    for key in prefix.rstrip(".").split(".") if prefix else ():
        table = table.get(key, {})
    return updated(LintConfig(), ConfigTable(path, prefix, table), registry)
