"""The report of engines as the content of a file: the one maker of command and Python API."""

from __future__ import annotations

import os
from collections.abc import Sequence

from trex_tui.old.analysis.compare import compare
from trex_tui.old.artifacts.input_files import gc_paused
from trex_tui.old.artifacts.output_files import OutputKind
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import Diagnostic
from trex_tui.old.report.document import TOP, Document
from trex_tui.old.report.json_text import format_json

REPORT = OutputKind("trex-tui report", ("trex-tui/report/",))


def make_document(
    engines: Sequence[Engine],
    *,
    baseline: int = 0,
    top: int | None = TOP,
    diagnostics: Sequence[Diagnostic] = (),
) -> Document:
    """Return the report of engines, compared if there are several, with the lint configuration of the user.

    Args:
        baseline: Index of the engine that the others are compared with.
        top: Maximum rows of a table; None for all.
        diagnostics: Of files that belong to none of the engines.

    Raises:
        TrexError: A configuration file is invalid.
    """
    from trex_tui.old.lint.config import find_config
    from trex_tui.old.lint.registry import registry
    from trex_tui.old.lint.run import run
    from trex_tui.old.report.views.compare import Shown
    from trex_tui.old.report.views.lint import EngineReport
    from trex_tui.old.report.views.report import make_report

    rules = registry()
    config = find_config(os.environ, rules, None)
    compared = None
    if len(engines) > 1:
        comparison = compare(engines, baseline=baseline)
        compared = Shown(comparison, comparison.by_delta(), top)
    with gc_paused():
        linted = [EngineReport(engine, run(engine, config)) for engine in engines]
        return make_report(linted, compared, (*diagnostics, *rules.diagnostics), top)


def render_document(document: Document, form: str) -> str:
    """Return the document as `html`, `md` or `json`."""
    if form == "html":
        from trex_tui.old.report.render_html import document_page

        return document_page(document)
    if form == "md":
        from trex_tui.old.report.render_markdown import document_markdown

        return document_markdown(document)
    from trex_tui.old.report.render_json import document_object

    return format_json(document_object(document)) + "\n"
