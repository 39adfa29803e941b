"""The numbers of rules that a configuration may change: their names and what they are by themselves.

Rules ask `Context.threshold("CONV003.waste_pct", 10.0)`. Names and defaults are read out of those calls in the source of the
rules' modules, so that they stand in one place. A name that is no literal cannot be found, and so cannot be configured.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from trex_tui.lint.model import Rule


def thresholds(rules: Iterable[Rule]) -> dict[str, float | None]:
    """Default by name; None where the default is no constant."""
    modules = {getattr(rule.check, "__module__", None) or "" for rule in rules}
    found: dict[str, float | None] = {}
    for name in sorted(modules):
        module = sys.modules.get(name)
        if module is not None:
            found |= _of_module(module)
    return dict(sorted(found.items()))


@lru_cache(maxsize=64)
def _of_module(module: ModuleType) -> dict[str, float | None]:
    try:
        tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return {}  # installed without its source
    return {name: _number(default, module) for name, default in _asked(tree)}


def _asked(tree: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
            name, default = node.args
            is_name = isinstance(name, ast.Constant) and isinstance(name.value, str)
            if node.func.attr == "threshold" and is_name:
                yield ast.literal_eval(name), default


def _number(default: ast.expr, module: ModuleType) -> float | None:
    value = getattr(module, default.id, None) if isinstance(default, ast.Name) else None
    if isinstance(default, ast.Constant):
        value = default.value
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
