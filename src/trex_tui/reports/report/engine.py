"""All there is to say of one engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trex_tui.reports.document import Part, Section
from trex_tui.reports.lint.report import EngineReport
from trex_tui.reports.report.build import build_sections
from trex_tui.reports.report.evidence import accuracy_sections, capture_sections
from trex_tui.reports.report.findings import lint_sections, note_sections
from trex_tui.reports.report.layers import group_sections, hot_sections, memory_sections, roofline_sections
from trex_tui.reports.report.subject import Subject, subject_of
from trex_tui.reports.report.timing import summary_sections, timing_sections
from trex_tui.text import printable

SECTIONS: tuple[Callable[[Subject], Iterator[Section]], ...] = (
    summary_sections,
    capture_sections,
    timing_sections,
    hot_sections,
    group_sections,
    memory_sections,
    roofline_sections,
    lint_sections,
    build_sections,
    note_sections,
)
"""What makes the sections about an engine, in the order of the report; each yields none where it has nothing to say."""


def engine_part(number: int, lint: EngineReport, top: int | None, *, is_alone: bool = True) -> Part:
    """The part about an engine.

    Args:
        number: From 1.
        lint: The engine, and what lint says of it.
        top: Rows of a table; None for all.
        is_alone: No comparison stands before it, which has what is known of the outputs.
    """
    subject = subject_of(lint, top)
    makers = (*SECTIONS, accuracy_sections) if is_alone else SECTIONS
    sections = [section for make in makers for section in make(subject)]
    return Part(f"engine-{number}", printable(lint.engine.name), sections, engine=lint.engine)
