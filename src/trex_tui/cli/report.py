"""`trex-tui report`: all there is to say of one or more engines, in one file."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.artifacts.input_files import gc_paused
from trex_tui.artifacts.output_files import OutputKind, check_output, inputs_of, write_output
from trex_tui.cli.engines import load_each
from trex_tui.cli.output import complain
from trex_tui.cli.parser import REPORT_FORMATS
from trex_tui.errors import TrexError
from trex_tui.report.document import TOP, Document
from trex_tui.report.path_completion import typed_path
from trex_tui.text import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.engine.engine import Engine
    from trex_tui.errors import Diagnostic

_STDOUT = "-"
_ENDINGS = {"html": "html", "htm": "html", "md": "md", "markdown": "md", "json": "json"}
REPORT = OutputKind("trex-tui report", ("trex-tui/report/",))
"""Every format of a report states the schema near its beginning."""


def run_report(options: argparse.Namespace) -> int:
    """Load, judge, compare, write.

    Raises:
        TrexError: The file cannot be written, would not be one of ours, or its ending names no format; no such baseline.
    """
    output = None if options.output == _STDOUT else Path(typed_path(options.output))
    form = _format(output, options.format)
    engines, strays = load_each(options)
    if output is not None:
        inputs = inputs_of((engine.source for engine in engines), options.paths)
        check_output(output, REPORT, inputs, force=options.force)
    text = _text(_report(options, engines, strays), form)
    for diagnostic in strays:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    if output is None:
        sys.stdout.write(text)
        return 0
    write_output(output, text)
    return 0


def _format(output: Path | None, wanted: str | None) -> str:
    ending = output.suffix[1:].lower() if output else ""
    if ending == "pdf":
        raise TrexError("no PDF is written: write the report as .html, open it in a browser and print it")
    form = wanted or (_ENDINGS.get(ending) if output else "md")
    if form is None:
        raise TrexError(f"{output}: the ending names no format; --format takes {', '.join(REPORT_FORMATS)}")
    return form


def _report(options: argparse.Namespace, engines: Sequence[Engine], strays: Sequence[Diagnostic]) -> Document:
    from trex_tui.lint.config import find_config
    from trex_tui.lint.registry import registry
    from trex_tui.lint.run import run
    from trex_tui.report.views.lint import EngineReport
    from trex_tui.report.views.report import make_report

    rules = registry()
    config = find_config(os.environ, rules, None)
    top = TOP if options.top is None else options.top or None
    compared = None
    if len(engines) > 1:
        from trex_tui.analysis.compare import compare
        from trex_tui.cli.diff import baseline_place
        from trex_tui.report.views.compare import Shown

        comparison = compare(engines, baseline=baseline_place(engines, options.baseline))
        compared = Shown(comparison, comparison.by_delta(), top)
    elif options.baseline is not None:
        raise TrexError(
            f"--baseline: there is only {printable(engines[0].name)}, and nothing to compare with it"
        )
    with gc_paused():
        linted = [EngineReport(engine, run(engine, config)) for engine in engines]
        return make_report(linted, compared, (*strays, *rules.diagnostics), top)


def _text(report: Document, form: str) -> str:
    if form == "html":
        from trex_tui.report.render_html import document_page

        return document_page(report)
    if form == "md":
        from trex_tui.report.render_markdown import document_markdown

        return document_markdown(report)
    import json

    from trex_tui.report.render_json import document_object

    return json.dumps(document_object(report), indent=2, allow_nan=False) + "\n"
