"""The report: a comparison of the engines, then the sections about each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from trex_tui.old.errors import Diagnostic
from trex_tui.old.report.document import TOP, Column, Document, Part, Section, engine_part_id, make_table
from trex_tui.old.report.plugin_sections import plugin_sections
from trex_tui.old.report.views.accuracy import engines_sections
from trex_tui.old.report.views.build import build_sections
from trex_tui.old.report.views.compare import Shown, diff_document
from trex_tui.old.report.views.compare_charts import sections_with_charts
from trex_tui.old.report.views.cover import comparison_cover, engine_cover
from trex_tui.old.report.views.cross_tables import cross_sections
from trex_tui.old.report.views.engine import (
    EngineSubject,
    detail_sections,
    make_subject,
    summary_sections,
)
from trex_tui.old.report.views.layers import group_sections, hot_sections, roofline_sections
from trex_tui.old.report.views.lint import EngineReport, lint_sections
from trex_tui.old.report.views.memory import memory_sections
from trex_tui.old.report.views.timing import timing_sections
from trex_tui.old.text import plural, printable


def accuracy_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield results of `accuracy` about the engine."""
    yield from engines_sections([subject.engine])


def findings_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield lint results of the engine."""
    return lint_sections(subject.lint, subject.top)


NOTE_COLUMNS = (
    Column("severity", "Severity", value=lambda note: note.severity.value),
    Column("file", "File", value=lambda note: note.file.name if note.file else None),
    Column("where", "Where", value=lambda note: note.where or None),
    Column("message", "Remark", value=lambda note: note.message),
)


def note_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield diagnostics of the engine's files."""
    if notes := subject.engine.diagnostics:
        table = make_table("notes", NOTE_COLUMNS, notes, top=subject.top, noun="remark")
        yield Section("notes", "Problems in the input files", tables=[table])


def comparison_part(shown: Shown, reports: Sequence[EngineReport]) -> Part:
    """Return a first page, then the sections of `diff`; JSON holds the object of `diff --json`, with the shown blocks."""
    data = diff_document(replace(shown, blocks=shown.rows))
    parts = [comparison_cover(shown, reports), *sections_with_charts(shown)]
    return Part("comparison", "Comparison", parts, data=data)


SECTIONS: tuple[Callable[[EngineSubject], Iterator[Section]], ...] = (
    findings_sections,
    note_sections,
    summary_sections,
    timing_sections,
    hot_sections,
    group_sections,
    cross_sections,
    memory_sections,
    roofline_sections,
    build_sections,
    plugin_sections,
    detail_sections,
)
"""Views of the sections about an engine, in the order of the report: findings before detail."""


def engine_part(number: int, lint: EngineReport, top: int | None, *, is_alone: bool = True) -> Part:
    """Return the part about an engine.

    Args:
        number: From 1.
        lint: The engine with its lint results.
        top: Maximum rows of a table; None for all.
        is_alone: There is no comparison before it, which would have the accuracy results.
    """
    subject = make_subject(lint, top)
    makers = (*SECTIONS, accuracy_sections) if is_alone else SECTIONS
    sections = [engine_cover(subject)] if is_alone else []
    sections += [section for make in makers for section in make(subject)]
    return Part(engine_part_id(number - 1), printable(lint.engine.name), sections, engine=lint.engine)


def make_report(
    engines: Sequence[EngineReport],
    compared: Shown | None = None,
    diagnostics: Sequence[Diagnostic] = (),
    top: int | None = TOP,
) -> Document:
    """Return the comparison first, then a part for each engine.

    Args:
        engines: Each with its lint results.
        compared: None for one engine.
        diagnostics: Of files that belong to none of them.
        top: Maximum rows of a table; None for all.
    """
    names = [printable(lint.engine.name) for lint in engines]
    title = "TensorRT engine report: " + (
        " · ".join(names) if len(names) < 4 else f"{names[0]} and {plural(len(names) - 1, 'other engine')}"
    )
    parts = [comparison_part(compared, engines)] if compared else []
    parts += [
        engine_part(number, lint, top, is_alone=compared is None)
        for number, lint in enumerate(engines, start=1)
    ]
    return Document(title, parts, tuple(diagnostics))
