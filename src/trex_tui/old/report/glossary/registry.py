"""All terms: those of the subjects, the columns of layers, and the columns of tables with their own help."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from trex_tui.old.analysis.columns import ALL_COLUMNS
from trex_tui.old.analysis.columns import find_column as find_layer_column
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.report import document
from trex_tui.old.report.document import Column
from trex_tui.old.report.glossary.accuracy import ACCURACY
from trex_tui.old.report.glossary.build_log import BUILD_LOG
from trex_tui.old.report.glossary.capture import CAPTURE
from trex_tui.old.report.glossary.comparison import COMPARISON
from trex_tui.old.report.glossary.details import DETAILS
from trex_tui.old.report.glossary.dla import DLA
from trex_tui.old.report.glossary.document import DOCUMENT
from trex_tui.old.report.glossary.engine import COMPUTE, ENGINE, MEMORY, STRUCTURE
from trex_tui.old.report.glossary.fleet import FLEET
from trex_tui.old.report.glossary.history import HISTORY
from trex_tui.old.report.glossary.lint import LINT
from trex_tui.old.report.glossary.onnx_model import ONNX_MODEL
from trex_tui.old.report.glossary.plan import PLAN
from trex_tui.old.report.glossary.power import POWER
from trex_tui.old.report.glossary.scaling import SCALING
from trex_tui.old.report.glossary.session import SESSION
from trex_tui.old.report.glossary.term import Subject, Term
from trex_tui.old.report.glossary.timing import GAP, TIMING
from trex_tui.old.report.views import (
    accuracy,
    build,
    dla,
    fleet,
    history,
    lint,
    memory,
    power,
    scaling,
    session,
    split_model,
)
from trex_tui.old.text import close_matches

SUBJECTS = (
    ENGINE,
    PLAN,
    TIMING,
    GAP,
    POWER,
    MEMORY,
    COMPUTE,
    STRUCTURE,
    DLA,
    ONNX_MODEL,
    SESSION,
    LINT,
    COMPARISON,
    FLEET,
    HISTORY,
    SCALING,
    BUILD_LOG,
    ACCURACY,
    CAPTURE,
    DETAILS,
    DOCUMENT,
)
TABLES: dict[str, tuple[tuple[str, Sequence[Column]], ...]] = {
    "engine": (("parts", split_model.PART_COLUMNS), ("hottest", split_model.HOT_COLUMNS)),
    "lint": (("findings", lint.SCREEN_COLUMNS), ("findings", lint.FINDING_COLUMNS)),
    "power": (("layer_energy", power.COLUMNS), ("power.layers", power.COLUMNS)),
    "session": (
        ("session.providers", session.PROVIDER_COLUMNS),
        ("session.engines", session.ENGINE_COLUMNS),
        ("session.fallbacks", session.FALLBACK_COLUMNS),
    ),
    "dla": (("dla_blocks", dla.COLUMNS), ("dla.blocks", dla.COLUMNS)),
    "memory": (("memory_by_kind", memory.KIND_COLUMNS), ("layers", memory.LAYER_COLUMNS)),
    "build-log": (
        ("phases", build.PHASE_OUTLINE),
        ("passes", build.PASS_OUTLINE),
        ("tunings", (*build.LAYERS, *build.TUNING_COLUMNS)),
        ("slowest_tunings", (*build.LAYERS, *build.TUNING_COLUMNS)),
        ("tactics", build.TACTICS),
        ("memory", build.MEMORY),
        ("strategies", build.STRATEGIES),
        ("messages", build.MESSAGES),
    ),
    "engines": (("engines.rows", fleet.TABLE_COLUMNS),),
    "history": (
        ("builds", history.BUILD_COLUMNS),
        ("changes", history.CHANGE_COLUMNS),
        ("causes", history.CAUSE_COLUMNS),
        ("first_builds", history.CAUSE_COLUMNS),
        ("spread", history.SPREAD_COLUMNS),
        ("spread.layers", history.SPREAD_COLUMNS),
    ),
    "scaling": (("scalings.points", scaling.POINT_COLUMNS), ("limits", scaling.LIMIT_COLUMNS)),
    "accuracy": (("likeness", accuracy.LIKENESS),),
}
"""Subject -> tables whose columns are explained by `Column.help`: id of the table, and its columns."""
_SEPARATORS = re.compile(r"[\s_\-]+")
_INDEX = re.compile(r"\[[^\]]*\]")
_MOST_RELATED = 8
_MOST_BEGINNINGS = 3


class Entry(NamedTuple):
    """A term and its subject."""

    subject: Subject
    term: Term


def column_term(column: LayerColumn) -> Term:
    """Return the term of a column of layers."""
    return Term(
        column.name,
        column.description,
        labels=(column.title, *column.aliases),
        values=tuple(dict.fromkeys(column.vocabulary.values())),
        unit=column.unit,
        formula=column.formula,
        source=column.source,
    )


LAYER_COLUMNS = Subject(
    "layer",
    "Columns of layers",
    "Layers, Charts, Memory; layers, export, --filter",
    "layer information",
    tuple(map(column_term, ALL_COLUMNS)),
)


@lru_cache(maxsize=1)
def all_subjects() -> tuple[Subject, ...]:
    """Return every subject with its terms, including those of tables."""
    return LAYER_COLUMNS, *map(_with_tables, SUBJECTS)


def _with_tables(subject: Subject) -> Subject:
    known = {path for term in subject.terms for path in term.paths}
    terms: dict[str, Term] = {}
    for table, columns in TABLES.get(subject.id, ()):
        for column in columns:
            key = f"{table}.{column.key}"
            if column.help and key not in known and (table, column.key) not in _COLUMNS_OF_LAYERS:
                unit = document.find_unit(column)
                terms.setdefault(key, Term(key, column.help, labels=(column.title,), unit=unit))
    return replace(subject, terms=(*subject.terms, *terms.values()))


_COLUMNS_OF_LAYERS = {("layers", column.name) for column in ALL_COLUMNS}


@lru_cache(maxsize=1)
def all_entries() -> tuple[Entry, ...]:
    """Return every term with its subject."""
    return tuple(Entry(subject, term) for subject in all_subjects() for term in subject.terms)


def column_entry(name: str) -> Entry | None:
    """Return a column of layers by its name, a short name or `attr.KEY`; None if there is none."""
    column = find_layer_column(name.strip())
    return None if column is None else Entry(LAYER_COLUMNS, column_term(column))


# Paths in JSON


@lru_cache(maxsize=1)
def _patterns() -> dict[str, list[tuple[tuple[str, ...], Entry]]]:
    """Return last part of a path -> paths with that suffix, reversed, the longest first."""
    patterns: dict[str, list[tuple[tuple[str, ...], Entry]]] = {}
    for entry in all_entries():
        prefix = ("layers", "layers") if entry.subject is LAYER_COLUMNS else ()
        for path in entry.term.paths:
            parts = tuple(reversed((*prefix, *split_path(path))))
            patterns.setdefault(parts[0], []).append((parts, entry))
    for found in patterns.values():
        found.sort(key=lambda pattern: -len(pattern[0]))
    return patterns


def split_path(path: str) -> list[str]:
    """Split a path into parts; percentiles such as `p99.9_ms` stay whole."""
    return re.split(r"\.(?!\d)", path)


def find_path(parts: Sequence[str]) -> Entry | None:
    """Find the term of a key in JSON: the one that matches the longest suffix of its path.

    Args:
        parts: Name of the document, then the keys down to the value, without indices of lists.
    """
    reverse = tuple(reversed(parts))
    for pattern, entry in _patterns().get(reverse[0], ()) if reverse else ():
        if len(pattern) <= len(reverse) and all(
            expected in ("*", part) for expected, part in zip(pattern, reverse, strict=False)
        ):
            return entry
    return None


def find_column(table: str, key: str, help_: str = "") -> str:
    """Explain a column of a table: by its own help, else by the term of `TABLE.KEY`; empty if there is none.

    The columns of layers are those of the table `layers`.
    """
    if help_:
        return help_
    entry = find_path((table, table, key))
    return entry.term.definition if entry else ""


# Queries


def find_terms(query: str) -> list[Entry]:
    """Find terms by key, label, path in JSON or suffix of a key; the closest kind of match only.

    >>> [entry.term.key for entry in find_terms("Critical path")]
    ['critical_path']
    """
    wanted = normalize(_INDEX.sub("", query))
    for match in (_has_key, _has_label, _has_end):
        if entries := [entry for entry in all_entries() if match(entry.term, wanted)]:
            return entries
    if wanted.endswith("_ms") and (entries := find_terms(wanted.removesuffix("_ms"))):
        return entries
    parts = split_path(_INDEX.sub("", query.strip()))
    entry = find_path(parts) if len(parts) > 1 else None
    return [entry] if entry else []


def find_beginning(query: str) -> list[Entry]:
    """Find terms with a name that begins with the words of a query; none if there are many."""
    wanted = f"{normalize(query)}_"
    entries = [
        entry
        for entry in all_entries()
        if any(
            normalize(name).replace(",", "").startswith(wanted)
            for name in (entry.term.tail, *entry.term.labels, *entry.term.gates)
        )
    ]
    return entries if len(entries) <= _MOST_BEGINNINGS else []


def find_label(label: str) -> Entry | None:
    """Return the term of a label beside a fact: columns of layers only if nothing else has it."""
    entries = [entry for entry in all_entries() if _has_label(entry.term, normalize(label))] or find_terms(
        label
    )
    return min(entries, key=lambda entry: entry.subject is LAYER_COLUMNS, default=None)


def find_related(query: str, entries: Iterable[Entry]) -> list[str]:
    """Return keys with the same suffix as a query that are not among its results."""
    wanted, known = normalize(query), {entry.term.key for entry in entries}
    keys = (entry.term.key for entry in all_entries() if _has_end(entry.term, wanted))
    return [key for key in dict.fromkeys(keys) if key not in known][:_MOST_RELATED]


def suggest(query: str, more: Iterable[str] = ()) -> str:
    """Return `did you mean A or B?`; empty if nothing is similar.

    Args:
        more: Other possible names.
    """
    names: dict[str, str] = {}
    for entry in all_entries():
        for name in (entry.term.key, entry.term.tail, *entry.term.labels, *entry.term.gates):
            names.setdefault(normalize(name), name)
    for name in more:
        names.setdefault(normalize(name), name)
    similar = [names[name] for name in close_matches(normalize(query), names, 3)]
    return f"did you mean {' or '.join(similar)}?" if similar else ""


@lru_cache(maxsize=8192)
def normalize(text: str) -> str:
    """Convert to lower case, words joined by `_`."""
    return _SEPARATORS.sub("_", text.strip().strip(":`").casefold())


def _has_key(term: Term, wanted: str) -> bool:
    return any(normalize(path) == wanted for path in term.paths)


def _has_label(term: Term, wanted: str) -> bool:
    return any(normalize(label) == wanted for label in (*term.labels, *term.gates))


def _has_end(term: Term, wanted: str) -> bool:
    if "." not in wanted:
        return normalize(term.tail) == wanted
    return any(normalize(path).endswith(f".{wanted}") for path in term.paths)


# Keys of a document


def walk_keys(value: object, parts: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield paths of all keys in a JSON document that a term should explain. Keys that are data become `*`, as in terms.

    Args:
        parts: Path of `value`, the name of the document first.
    """
    if isinstance(value, list):
        for item in value:
            yield from walk_keys(item, parts)
    elif isinstance(value, dict):
        entry = find_path(parts) if len(parts) > 1 else None
        if entry is not None and entry.term.is_verbatim:
            return
        has_data = entry is not None and bool(entry.term.entries)
        for key, item in value.items():
            path = (*parts, "*" if has_data else str(key))
            if not has_data:
                yield path
            yield from walk_keys(item, path)
