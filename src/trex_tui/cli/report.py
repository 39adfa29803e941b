"""`trex-tui diff` and `trex-tui report`: engines side by side, and documents about engines."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.analysis.compare import compare
from trex_tui.analysis.compare.gate_metrics import METRICS, judge
from trex_tui.analysis.filter import FilterError
from trex_tui.analysis.gates import parse_gate
from trex_tui.artifacts.input_files import gc_paused
from trex_tui.artifacts.output_files import OutputKind, check_output, list_inputs, write_output
from trex_tui.cli.engines import load_each
from trex_tui.cli.output import complain, print_text
from trex_tui.cli.parser import REPORT_FORMATS
from trex_tui.errors import ExitCode, TrexError
from trex_tui.report.document import TOP, Document
from trex_tui.report.path_completion import typed_path
from trex_tui.report.views.compare import DIFF_TOP, Shown, filtered, sections
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


def run_diff(options: argparse.Namespace) -> int:
    """Compare the engines, print the result, and tell by the exit code whether a gate fell.

    Raises:
        TrexError: Fewer than two engines, no such baseline, a filter or a gate that makes no sense.
    """
    engines, strays = load_each(options)
    for diagnostic in strays:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    gates = [parse_gate(text, METRICS) for text in options.fail_on]
    if len(engines) < 2:
        present = f"only {printable(engines[0].name)}" if engines else "none"
        raise TrexError(f"diff compares two or more engines; there is {present}")
    baseline = find_baseline(engines, options.baseline)
    comparison = compare(engines, baseline=baseline, align=options.align, per_batch=options.per_batch)
    text = (options.filter or "").strip()
    try:
        blocks = filtered(comparison, text)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None
    results = judge(comparison, gates, significant=options.significant)
    top = DIFF_TOP if options.top is None else options.top or None
    _print_comparison(Shown(comparison, blocks, top, text, results), options.format)
    fallen = [result for result in results if result.fell]
    for result in fallen:
        sys.stderr.write(f"trex-tui: gate fell: {printable(result.gate.text)}: {printable(result.why)}\n")
    return int(ExitCode.FINDINGS if fallen else ExitCode.OK)


def find_baseline(engines: Sequence[Engine], wanted: str | None) -> int:
    """Find the engine that `--baseline` names, or the first.

    Raises:
        TrexError: There is no such engine, or several of that name.
    """
    if wanted is None:
        return 0
    named = [index for index, engine in enumerate(engines) if engine.name == wanted]
    if len(named) == 1:
        return named[0]
    if wanted.isdecimal() and 1 <= int(wanted) <= len(engines):
        return int(wanted) - 1
    known = ", ".join(f"{number} {printable(engine.name)}" for number, engine in enumerate(engines, start=1))
    why = "several engines are called" if named else "no engine"
    raise TrexError(f"--baseline: {why} {wanted!r}; there are: {known}")


def _print_comparison(shown: Shown, output: str) -> None:
    if output == "text":
        from trex_tui.report.render_text import print_sections

        print_text(partial(print_sections, sections(shown)))
    else:
        from trex_tui.report.export import ExportFormat, comparison_as

        sys.stdout.write(comparison_as(ExportFormat(output), shown))


def run_report(options: argparse.Namespace) -> int:
    """Load, judge, compare, write.

    Raises:
        TrexError: The file cannot be written, is not a report, or its ending names no format; no such baseline.
    """
    output = None if options.output == _STDOUT else Path(typed_path(options.output))
    form = _format(output, options.format)
    engines, strays = load_each(options)
    if output is not None:
        inputs = list_inputs((engine.source for engine in engines), options.paths)
        check_output(output, REPORT, inputs, force=options.force)
    text = _render(_make_document(options, engines, strays), form)
    for diagnostic in strays:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    if output is None:
        sys.stdout.write(text)
    else:
        write_output(output, text)
    return int(ExitCode.OK)


def _format(output: Path | None, wanted: str | None) -> str:
    ending = output.suffix[1:].lower() if output else ""
    if ending == "pdf":
        raise TrexError("no PDF is written: write the report as .html, open it in a browser and print it")
    form = wanted or (_ENDINGS.get(ending) if output else "md")
    if form is None:
        raise TrexError(f"{output}: the ending names no format; --format takes {', '.join(REPORT_FORMATS)}")
    return form


def _make_document(
    options: argparse.Namespace, engines: Sequence[Engine], strays: Sequence[Diagnostic]
) -> Document:
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
        comparison = compare(engines, baseline=find_baseline(engines, options.baseline))
        compared = Shown(comparison, comparison.by_delta(), top)
    elif options.baseline is not None:
        raise TrexError(
            f"--baseline: there is only {printable(engines[0].name)}, and nothing to compare with it"
        )
    with gc_paused():
        linted = [EngineReport(engine, run(engine, config)) for engine in engines]
        return make_report(linted, compared, (*strays, *rules.diagnostics), top)


def _render(report: Document, form: str) -> str:
    if form == "html":
        from trex_tui.report.render_html import document_page

        return document_page(report)
    if form == "md":
        from trex_tui.report.render_markdown import document_markdown

        return document_markdown(report)
    from trex_tui.report.render_json import document_object

    return json.dumps(document_object(report), indent=2, allow_nan=False) + "\n"
