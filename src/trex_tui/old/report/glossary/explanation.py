"""`trex-tui explain`, the explanations on screens, docs/numbers.md and docs/glossary.md: terms as text, JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from trex_tui.old.engine.layer_names import describe_layer_name
from trex_tui.old.errors import TrexError
from trex_tui.old.lint.model import Rule
from trex_tui.old.report.glossary.lint import FAMILIES
from trex_tui.old.report.glossary.registry import (
    Entry,
    all_subjects,
    column_entry,
    find_beginning,
    find_related,
    find_terms,
    suggest,
)
from trex_tui.old.report.glossary.term import Subject, Term, find_unit
from trex_tui.old.report.glossary.words import TRTEXEC_WORDS, WORDS, find_words, word_names
from trex_tui.old.report.render_lint import explain_text, rules_document, rules_text
from trex_tui.old.text import plural, printable

EXPLAIN_SCHEMA = "trex-tui/explain/2"
LAYER_NAME = Subject("name", "Name of a layer", "explain, i, palette, details", "the name itself", ())
"""Subject of names of layers, which are explained by their parts."""
MOST_IN_FULL = 4
"""Maximum number of terms shown in full; more are listed with a line each."""
_WIDTH = 80
_SHORTEST_HINT = 3
"""Shorter names are similar to too many others to be suggested."""


class Explanation(NamedTuple):
    """Result of a query.

    Attributes:
        entries: Terms.
        rules: Lint rules: one, or those of a family.
        family: Letters of the family; empty for none.
        related: Keys of other terms with the same suffix.
    """

    query: str
    entries: Sequence[Entry] = ()
    rules: Sequence[Rule] = ()
    family: str = ""
    related: Sequence[str] = ()


def explain(query: str) -> Explanation:
    """Explain a term by key, label or path, a column, a word, the name of a layer, a lint rule or a family of rules.

    Raises:
        TrexError: Nothing has that name; the message suggests similar names.
    """
    from trex_tui.old.lint.registry import registry

    entries = find_terms(query)
    column = column_entry(query)
    if column is not None and column not in entries:
        entries = [column, *entries]
    words = [Entry(subject, word) for subject, word in find_words(query)]
    if entries:
        others = [entry for entry in words if entry.subject.id != TRTEXEC_WORDS]  # the numbers say more
        return Explanation(query, [*entries, *others], related=find_related(query, entries))
    rules = registry().rules
    upper = query.strip().upper()
    if found := [rule for rule in rules if rule.id == upper]:
        return Explanation(query, rules=found)
    if found := [rule for rule in rules if rule.family == upper]:
        return Explanation(query, words, rules=found, family=upper)
    if words:
        return Explanation(query, words)
    if entries := find_beginning(query):
        return Explanation(query, entries)
    if meaning := describe_layer_name(query):
        return Explanation(query, [Entry(LAYER_NAME, Term(printable(query), meaning, unit=""))])
    hint = suggest(
        query, [*(rule.id for rule in rules), *(name for name in word_names() if len(name) > _SHORTEST_HINT)]
    )
    raise TrexError(f"unknown name {query!r}; {hint or '`trex-tui explain` lists all names'}")


# Text


def explanation_text(explanation: Explanation) -> str:
    """Return terms in full, or a line each if there are many; rules as `lint --explain` prints them."""
    if explanation.family:
        text = FAMILIES.get(explanation.family, "")
        words = "".join(f"{_entry_text(entry)}\n" for entry in explanation.entries)
        head = f"{explanation.family}\n" + (f"  {text}\n" if text else "")
        return f"{words}{head}\n{rules_text(explanation.rules)}"
    if explanation.rules:
        return explain_text(explanation.rules[0])
    entries = explanation.entries
    if len(entries) > MOST_IN_FULL:
        head = f"{plural(len(entries), 'term')}; `trex-tui explain KEY` shows one in full.\n\n"
        return head + _lines(entries)
    parts = [_entry_text(entry) for entry in entries]
    if explanation.related:
        related = wrap(f"see also {', '.join(explanation.related)}", _WIDTH, subsequent_indent=" " * 9)
        parts.append("".join(f"{line}\n" for line in related))
    return "\n".join(parts)


def _entry_text(entry: Entry) -> str:
    key, definition, *facts = entry_lines(entry)
    lines = [key, *wrap(definition, _WIDTH, initial_indent="  ", subsequent_indent="  ")]
    for fact in facts:
        lines += wrap(fact, _WIDTH, initial_indent="  ", subsequent_indent=" " * 10)
    return "".join(f"{line}\n" for line in lines)


def entry_lines(entry: Entry) -> Iterator[str]:
    """Yield the key, the definition, then labels, unit, formula, source and places, a line each."""
    yield entry.term.key
    yield entry.term.definition
    for label, text in _facts(entry):
        yield f"{label:<8}{text}"


def _facts(entry: Entry) -> Iterator[tuple[str, str]]:
    term = entry.term
    facts = (
        ("label", " · ".join(term.labels)),
        ("unit", find_unit(term)),
        ("formula", term.formula),
        ("source", term.source or entry.subject.source),
        ("values", ", ".join(term.values)),
        ("keys", term.entries),
        ("shown", entry.subject.shown),
        ("gate", ", ".join(term.gates)),
    )
    return ((label, text) for label, text in facts if text)


def overview_text() -> str:
    """Return a line per term, under the titles of the subjects; families of rules at the end."""
    parts = [
        f"{subject.title}  ({subject.shown})\n" + _lines([Entry(subject, term) for term in subject.terms])
        for subject in (*all_subjects(), *WORDS)
    ]
    width = max(map(len, FAMILIES))
    families = "".join(f"  {name:<{width}}  {text}\n" for name, text in FAMILIES.items())
    return "\n".join([*parts, f"Lint rules  (trex-tui lint --rules lists them)\n{families}"])


def _lines(entries: Sequence[Entry]) -> str:
    width = min(max(len(entry.term.key) for entry in entries), 32)
    return "".join(
        f"  {entry.term.key:<{width}}  {_first_sentence(entry.term.definition)}\n" for entry in entries
    )


def _first_sentence(text: str) -> str:
    return text.split(". ", 1)[0].rstrip(".") + "."


# JSON


def explain_document(explanations: Sequence[Explanation] | None = None) -> dict[str, Any]:
    """Return the object that `explain --json` prints.

    Args:
        explanations: None for all terms.
    """
    if explanations is None:
        entries = [Entry(subject, term) for subject in (*all_subjects(), *WORDS) for term in subject.terms]
        rules: list[Rule] = []
    else:
        entries = [entry for explanation in explanations for entry in explanation.entries]
        rules = [rule for explanation in explanations for rule in explanation.rules]
    return {
        "schema": EXPLAIN_SCHEMA,
        "terms": [_term_object(entry) for entry in entries],
        "rules": rules_document(rules)["rules"],
    }


def _term_object(entry: Entry) -> dict[str, Any]:
    term = entry.term
    return {
        "key": term.key,
        "subject": entry.subject.id,
        "labels": list(term.labels),
        "definition": term.definition,
        "unit": find_unit(term) or None,
        "values": list(term.values) or None,
        "formula": term.formula or None,
        "source": term.source or entry.subject.source,
        "shown": entry.subject.shown,
        "gates": list(term.gates),
    }


# Markdown


def words_markdown() -> str:
    """Return a table per vocabulary, for docs/glossary.md."""
    lines: list[str] = []
    for subject in WORDS:
        lines += ["", f"## {subject.title}", "", f"Source: {_cell(subject.source)}.", ""]
        lines += ["| word | also | meaning |", "|---|---|---|"]
        for term in subject.terms:
            also = ", ".join(f"`{_code(label)}`" for label in term.labels)
            lines.append(f"| `{_code(term.key)}` | {also} | {_cell(term.definition)} |")
    return "\n".join(lines).lstrip("\n") + "\n"


def _code(text: str) -> str:
    """Return a name in backticks, for a Markdown table."""
    return text.replace("|", "\\|")


def glossary_markdown() -> str:
    """Return a table per subject, for docs/numbers.md."""
    lines: list[str] = []
    for subject in all_subjects():
        lines += ["", f"## {subject.title}", ""]
        lines += [f"Shown in: {_cell(subject.shown)}. Source, unless stated: {_cell(subject.source)}.", ""]
        lines += ["| key | label | unit | meaning |", "|---|---|---|---|"]
        for term in subject.terms:
            formula = f"<br>= {_cell(term.formula)}" if term.formula else ""
            source = f"<br>Source: {_cell(term.source)}" if term.source not in ("", subject.source) else ""
            labels = _cell(", ".join(_distinct_labels(term.labels)))
            meaning = f"{_cell(term.definition)}{formula}{source}"
            lines.append(f"| `{term.key}` | {labels} | {find_unit(term)} | {meaning} |")
    return "\n".join(lines).lstrip("\n") + "\n"


def _distinct_labels(labels: Sequence[str]) -> list[str]:
    """Return the labels without repetitions that differ in case only."""
    return [*{label.casefold(): label for label in reversed(labels) if label}.values()][::-1]


def _cell(text: str) -> str:
    """Return a text of the glossary for a Markdown table; names in backticks stay code."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
