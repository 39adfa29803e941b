"""What rules there are, and what each looks for: as text, Markdown and JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from trex_tui.lint.model import Rule
from trex_tui.report.render_markdown import escaped
from trex_tui.text import printable

SCHEMA = "trex-tui/lint-rules/1"
_WIDTH = 80


def rules_text(rules: Sequence[Rule]) -> str:
    """A line per rule: id, severity, title."""
    width = max((len(rule.id) for rule in rules), default=0)
    return "".join(
        f"{rule.id:<{width}}  {rule.severity.value:<7}  {printable(rule.title)}\n" for rule in rules
    )


def explain_text(rule: Rule) -> str:
    """Everything about a rule."""
    lines = [f"{rule.id}  {printable(rule.title)}  ({rule.severity.value})"]
    for label, text in _parts(rule):
        lines += ["", label, *_indented(text)]
    return "".join(f"{line}\n" for line in lines)


def _indented(text: str) -> list[str]:
    indent = "  "
    return [
        wrapped
        for line in text.split("\n")
        for wrapped in textwrap.wrap(
            printable(line),
            _WIDTH,
            initial_indent=indent,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _parts(rule: Rule) -> Iterator[tuple[str, str]]:
    parts = (
        ("Looks for", rule.looks_for),
        ("Not when", rule.not_when),
        ("Why", rule.why),
        ("What to do", rule.remedy),
        ("Thresholds", "\n".join(f"{name} = {value:g}" for name, value in rule.named_thresholds.items())),
        ("Reads", ", ".join(rule.columns)),
        ("References", "\n".join(rule.references)),
    )
    return ((label, text) for label, text in parts if text)


def rules_markdown(rules: Sequence[Rule]) -> str:
    """A table of all, and a section for each."""
    lines = ["| rule | severity | |", "|---|---|---|"]
    lines += [
        f"| [{rule.id}](#{rule.id.lower()}) | {rule.severity.value} | {escaped(rule.title)} |"
        for rule in rules
    ]
    return "\n".join(lines) + "\n" + "".join(f"\n{explain_markdown(rule)}" for rule in rules)


def explain_markdown(rule: Rule) -> str:
    """A section about a rule."""
    lines = [f"## {rule.id}", "", f"**{escaped(rule.title)}** ({rule.severity.value})"]
    for label, text in _parts(rule):
        if label in ("References", "Thresholds"):
            lines += ["", f"{label}:", "", *(f"- {_linked(line)}" for line in text.split("\n"))]
        elif label == "Reads":
            lines += ["", f"{label}: {', '.join(f'`{name}`' for name in rule.columns)}"]
        else:
            lines += ["", f"*{label}.* {escaped(text)}"]
    return "\n".join(lines) + "\n"


def _linked(reference: str) -> str:
    """`Name: https://…` as a link; a threshold as code."""
    name, separator, address = reference.rpartition(": http")
    if separator and not any(char in address for char in " ()<>"):
        return f"[{escaped(name)}](http{address})"
    return f"`{reference}`" if " = " in reference else escaped(reference)


def rules_document(rules: Sequence[Rule]) -> dict[str, Any]:
    """The object that `lint --rules --format json` prints; `--explain` prints that of one rule."""
    return {
        "schema": SCHEMA,
        "rules": [
            {
                "id": rule.id,
                "family": rule.family,
                "title": rule.title,
                "severity": rule.severity.value,
                "looks_for": rule.looks_for,
                "not_when": rule.not_when or None,
                "why": rule.why,
                "remedy": rule.remedy,
                "references": list(rule.references),
                "columns": list(rule.columns),
                "thresholds": rule.named_thresholds,
            }
            for rule in rules
        ],
    }
