"""Checks that everything shown has an explanation: keys of JSON documents, labels of facts, columns of tables."""

from __future__ import annotations

from collections.abc import Iterable

from trex_tui.old.report.document import Section
from trex_tui.old.report.glossary.registry import find_column, find_path, find_terms, walk_keys

REMEDY = (
    "add a Term to the subject's file in src/trex_tui/old/report/glossary/ (see ARCHITECTURE.md, Recipes)"
)


def assert_keys_explained(name: str, document: object) -> None:
    """Every key of a JSON document has a term; keys that are data are those below a term with `entries`."""
    missing = {".".join(path) for path in walk_keys(document, (name,)) if find_path(path) is None}
    assert not missing, f"no explanation for {', '.join(sorted(missing))}: {REMEDY}"


def assert_labels_explained(labels: Iterable[str]) -> None:
    """Every label has a term."""
    missing = {label for label in labels if not find_terms(label)}
    assert not missing, (
        f"no explanation for {', '.join(sorted(missing))}: {REMEDY}, with the label in `labels`"
    )


def assert_sections_explained(sections: Iterable[Section]) -> None:
    """Every label of a fact has a term, and every column of a table a help or a term."""
    missing = set()
    for section in sections:
        missing |= {
            f"label {label!r} of section {section.id}" for label, _ in section.facts if not find_terms(label)
        }
        missing |= {
            f"column {table.id}.{column.key}"
            for table in section.tables
            for column in table.columns
            if not find_column(table.id, column.key, column.help)
        }
    assert not missing, (
        f"no explanation for {', '.join(sorted(missing))}: {REMEDY}, with the label in `labels`"
    )
