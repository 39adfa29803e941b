"""Explanations of names, and the list of all that can be explained."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from trex_tui.column import Column
from trex_tui.report.document import Document, Fact, Section
from trex_tui.report.terms import Term, list_numbers, list_words, normalize
from trex_tui.text import printable

_IN_FULL = 4
"""Number of terms of a name that are shown in full; of more a line each."""


def explain_terms(found: Iterable[tuple[str, Sequence[Term]]]) -> Document:
    """Return the explanations of names.

    Args:
        found: Each name as it was asked for, with its terms.
    """
    sections: list[Section] = []
    terms: list[dict[str, object]] = []
    for name, entries in found:
        terms += [{"query": name, **entry._asdict()} for entry in entries]
        if len(entries) <= _IN_FULL:
            sections += map(explain_term, entries)
        else:
            lines = [Fact(Column("", entry.name), None, entry.meaning) for entry in entries]
            sections.append(Section("", printable(name), lines, audience="people"))
    return Document("explain", "Explanations", sections, data={"terms": terms}, version=3)


def explain_term(term: Term) -> Section:
    """Return the explanation of a term."""
    texts = {
        "Also": ", ".join(label for label in term.labels if normalize(label) != normalize(term.name)),
        "Unit": term.unit,
        "Formula": term.formula,
        "Source": term.source,
        "Of": term.subject,
    }
    facts = [Fact(Column("", title), None, printable(text)) for title, text in texts.items() if text]
    facts += [
        Fact(Column("", word), None, meaning) for word, meaning in (term.words or {}).items() if meaning
    ]
    return Section("", term.name, facts, [term.meaning] if term.meaning else [], audience="people")


def list_terms(subject: str = "", more: Iterable[Term] = ()) -> Document:
    """Return all names, by subject.

    Args:
        subject: Beginning of the subjects; empty for all.
        more: Further terms.
    """
    by_subject: dict[str, list[Term]] = defaultdict(list)
    for term in (*list_numbers(), *list_words(), *more):
        if term.subject.startswith(subject):
            by_subject[term.subject].append(term)
    sections = []
    for name, terms in by_subject.items():
        title = f"{name[:1].upper()}{name[1:]}"
        if subject:
            facts = [Fact(Column("", term.name), None, term.meaning or "–") for term in terms]
            sections.append(Section("", title, facts, audience="people"))
        else:
            sections.append(
                Section(
                    "",
                    title,
                    sentences=[", ".join(dict.fromkeys(term.name for term in terms))],
                    audience="people",
                )
            )
    listed = [{"name": term.name, "subject": term.subject} for terms in by_subject.values() for term in terms]
    return Document("explain", "Names", sections, data={"terms": listed}, version=3)
