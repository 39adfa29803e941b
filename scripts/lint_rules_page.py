"""The list of lint rules in docs/lint-rules.md."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.lint.rule import Rule
from trex_tui.lint.rules import FAMILIES, load_rules
from trex_tui.report.formats import escape_markdown


def rules_markdown() -> str:
    """A table of all rules by family, and a section for each."""
    rules = load_rules().rules
    lines = ["", "| rule | severity | |", "|---|---|---|"]
    for family, subject in FAMILIES.items():
        lines.append(f"| **{family}** | | {escape_markdown(subject)} |")
        members = (rule for rule in rules if rule.family == family)
        lines += [
            f"| [{rule.id}](#{rule.id.lower()}) | {rule.severity.value} | {escape_markdown(rule.title)} |"
            for rule in members
        ]
    lines += [line for rule in rules for line in _section(rule)]
    return "\n".join(lines) + "\n\n"


def _section(rule: Rule) -> Iterator[str]:
    yield from ("", f"### {rule.id}", "", f"**{escape_markdown(rule.title)}** ({rule.severity.value})", "")
    remedies = (rule.remedy,) if isinstance(rule.remedy, str) else rule.remedy
    texts = {
        "Condition": (rule.looks_for,),
        "Exceptions": (rule.not_when,),
        "Why": (rule.why,),
        "Remedy": remedies,
    }
    texts |= {"Saving": (rule.estimate,), "Formula": (rule.formula,)}
    for label, alternatives in texts.items():
        if any(alternatives):
            joined = " *Else:* ".join(escape_markdown(text) for text in alternatives)
            yield f"- *{label}:* {joined}"
    if rule.columns:
        yield f"- *Reads:* {', '.join(f'`{name}`' for name in rule.columns)}"
    if rule.references:
        yield f"- *Read on:* {', '.join(map(_link, rule.references))}"


def _link(reference: str) -> str:
    """Return `Name: https://…` as a link."""
    name, separator, address = reference.rpartition(": http")
    return f"[{escape_markdown(name)}](http{address})" if separator else escape_markdown(reference)
