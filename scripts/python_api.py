"""The Python API as Markdown, from the docstrings of the names that `trex_tui` exports: the source of docs/python.md."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import trex_tui

FUNCTIONS = ("load_engine", "load_engines")
CLASSES = ("Engine", "Engines", "Timing", "Summary", "Findings", "EngineComparison", "Svg")
_HEADING = re.compile(r"(Args|Raises|Attributes):")


def api_markdown() -> str:
    """The functions, then each class with its members."""
    parts = [line for name in FUNCTIONS for line in _entry(name, getattr(trex_tui, name), "###")]
    for name in CLASSES:
        parts += _class(getattr(trex_tui, name))
    return "\n".join(["", *parts, ""])


def _class(kind: type) -> Iterator[str]:
    yield f"### {kind.__name__}"
    yield ""
    yield from docstring_markdown(inspect.getdoc(kind) or "")
    for name, member in _members(kind):
        yield from _entry(name, member, "####")


def _members(kind: type) -> Iterator[tuple[str, Any]]:
    """Public members that the API defines, those of the class first, then inherited ones."""
    known: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("trex_tui.old.api"):
            for name, member in vars(base).items():
                if not name.startswith("_") and _docstring(member):
                    known.setdefault(name, member)
    yield from known.items()


def _docstring(member: Any) -> str:  # noqa: ANN401 - any member of a class
    if isinstance(member, (property, cached_property, classmethod)) or inspect.isfunction(member):
        return inspect.getdoc(member) or ""
    return ""


def _entry(name: str, member: Any, heading: str) -> Iterator[str]:  # noqa: ANN401
    yield f"{heading} {name}{_signature(member)}"
    yield ""
    yield from docstring_markdown(_docstring(member))


def _signature(member: Any) -> str:  # noqa: ANN401
    function: Callable[..., Any] | None = getattr(member, "__func__", member if callable(member) else None)
    if function is None:
        return ""
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in "".join(parameters):
            parameters.append("\\*")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}"
        star = "\\*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        parameters.append(f"{star}{parameter.name}{default}")
    return f"({', '.join(parameters)})"


def docstring_markdown(text: str) -> Iterator[str]:
    """Prose as it is, sections as lists, examples as code."""
    for block in text.split("\n\n"):
        lines = block.splitlines()
        heading = _HEADING.fullmatch(lines[0]) if lines else None
        if lines and lines[0].startswith(">>>"):
            yield from ("```pycon", *lines, "```", "")
        elif heading:
            yield from (f"{heading[1].replace('Args', 'Arguments')}:", "", *_items(lines[1:]), "")
        elif lines:
            yield from (*lines, "")


def _items(lines: list[str]) -> Iterator[str]:
    """Entries of a section: a name, a colon, and a text that goes on in indented lines."""
    joined: list[str] = []
    for line in inspect.cleandoc("\n".join(lines)).splitlines():
        if line.startswith(" "):
            joined[-1] += f" {line.strip()}"
        else:
            joined.append(line)
    for entry in joined:
        names, _, rest = entry.partition(": ")
        yield f"- `{names}`: {rest}"
