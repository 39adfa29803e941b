"""`trex-tui diff` and `trex-tui report`: compare engines, and write documents about engines."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.analysis.compare import Pin, compare
from trex_tui.old.analysis.compare.gate_metrics import METRICS, judge
from trex_tui.old.analysis.compare.names import parse_rename
from trex_tui.old.analysis.compare.pins import NamedPin, find_pins, read_pins
from trex_tui.old.analysis.filter import FilterError
from trex_tui.old.analysis.gates import parse_gate
from trex_tui.old.cli.engines import collect_inputs, load_each
from trex_tui.old.cli.options import top_rows
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter, make_chart_writer
from trex_tui.old.cli.runs import load_runs
from trex_tui.old.errors import Diagnostic, ExitCode, Severity, TrexError
from trex_tui.old.report.report_file import make_document, render_document
from trex_tui.old.report.views.compare import Shown, filtered, sections
from trex_tui.old.text import did_you_mean, plural, printable, shorten_middle

_MOST_NAME = 60

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.old.analysis.compare import Comparison
    from trex_tui.old.analysis.compare.builds import BuildDifference
    from trex_tui.old.analysis.gates import Gate
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.lint.model import LintResult


def run_diff(options: argparse.Namespace) -> int:
    """Compare the engines and print the result; the exit code shows whether a gate failed.

    Raises:
        TrexError: Fewer than two engines, an invalid baseline, filter or gate.
    """
    result = make_chart_writer(options) if options.chart else ResultWriter(options)
    renames = [parse_rename(text) for text in options.rename]
    pins = read_pins(Path(options.pins)) if options.pins is not None else []
    groups, strays = load_runs(options)
    engines = [runs[0] for runs in groups]
    every_run = [run for runs in groups for run in runs]
    result.inputs = collect_inputs(every_run, options)
    result.report((*strays, *_list_errors(every_run)))
    gates = [parse_gate(text, METRICS) for text in options.fail_on]
    if len(engines) < 2:
        present = f"only {printable(engines[0].name)}" if engines else "none"
        raise TrexError(f"diff compares two or more engines; there is {present}")
    baseline = find_baseline(engines, options.baseline)
    comparison = compare(
        engines,
        baseline=baseline,
        align=options.align,
        pins=_find_pins(pins, engines, baseline, options.pins),
        renames=renames,
        per_batch=options.per_sample,
        repeats=[runs[1:] for runs in groups],
    )
    text = (options.filter or "").strip()
    try:
        blocks = filtered(comparison, text)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None
    if not blocks:
        complain(f"0 of {plural(len(comparison.blocks), 'block')} match")
    needs_lint = any(gate.metric == "findings" for gate in gates)
    counter = _FindingCounter(comparison.engines, gates) if needs_lint else None
    results = judge(comparison, gates, significant=options.significant, count_findings=counter)
    builds = _explain_builds(comparison) if options.why else ()
    shown = Shown(comparison, blocks, top_rows(options), text, results, strays, builds)
    if options.chart:
        _write_chart(options.chart, shown, result)
    else:
        _write_comparison(shown, result)
    for gate in results:
        if gate.fell is not False:
            complain(f"gate {gate.state}: {gate.gate.text}: {gate.why}")
    if any(gate.fell is None for gate in results):
        return result.exit_code(ExitCode.BAD_INPUT)
    return result.exit_code(ExitCode.FINDINGS if any(gate.fell for gate in results) else ExitCode.OK)


def _explain_builds(comparison: Comparison) -> list[BuildDifference]:
    """Return why the builder chose other tactics, from the logs of the engines."""
    from trex_tui.old.analysis.compare.builds import BuildComparison, load_build

    builds = BuildComparison(
        comparison, [load_build(engine, position) for position, engine in enumerate(comparison.engines)]
    )
    return [builds.explain(engine) for engine in comparison.others]


def _list_errors(engines: Sequence[Engine]) -> list[Diagnostic]:
    """Return the errors about files that engines could not read completely, each once."""
    errors = [
        diagnostic
        for engine in engines
        for diagnostic in engine.diagnostics
        if diagnostic.severity is Severity.ERROR
    ]
    return list(dict.fromkeys(errors))


class _FindingCounter:
    """Counts the lint findings of engines, with the configuration that `trex-tui lint` uses."""

    def __init__(self, engines: Sequence[Engine], gates: Sequence[Gate]) -> None:
        """Check the severities and rules that gates name.

        Raises:
            TrexError: A rule or severity does not exist.
        """
        from trex_tui.old.lint.model import FindingSeverity
        from trex_tui.old.lint.registry import registry

        self._rules = registry()
        self._engines = engines
        self._results: dict[int, LintResult] = {}
        known = [*(severity.value for severity in FindingSeverity), *(rule.id for rule in self._rules.rules)]
        folded = {name.casefold() for name in known}
        for gate in gates:
            if gate.metric == "findings" and gate.part and gate.part.casefold() not in folded:
                hint = did_you_mean(gate.part, known)
                text = f"unknown severity or rule {gate.part!r} in gate {gate.text!r}"
                raise TrexError(f"{text}{'; ' if hint else ''}{hint}")

    def __call__(self, engine: int, part: str) -> float | None:
        """Return the number of findings of a severity or rule, or of all; None if a rule failed."""
        from trex_tui.old.lint.config import find_config
        from trex_tui.old.lint.run import run

        if engine not in self._results:
            self._results[engine] = run(self._engines[engine], find_config(os.environ, self._rules, None))
        result = self._results[engine]
        if result.failed:
            return None
        return sum(
            part.casefold() in ("", found.rule.id.casefold(), found.severity.value)
            for found in result.findings
        )


def _find_pins(named: Sequence[NamedPin], engines: Sequence[Engine], baseline: int, file: str) -> list[Pin]:
    """Return the pins of a file, by layer index. Prints a message for each pin whose layers are missing."""
    pins, missing = find_pins(named, engines, baseline)
    for pin in missing:
        names = " and ".join(
            printable(shorten_middle(end.name, _MOST_NAME)) for end in (pin.baseline, pin.other)
        )
        words = f"no two engines have layers {names}; remove the pin"
        place = Diagnostic(Severity.WARNING, Path(file), pin.where, words)
        complain(f"warning: {printable(str(place))}")
    return pins


def find_baseline(engines: Sequence[Engine], wanted: str | None) -> int:
    """Return the engine that `--baseline` names, or the first.

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
    why = "several engines have the name" if named else "no engine"
    raise TrexError(f"--baseline: {why} {wanted!r}; there are: {known}")


def _write_comparison(shown: Shown, result: ResultWriter) -> None:
    """Write the comparison. It lists the damaged files, except in CSV."""
    if result.format == "text":
        from trex_tui.old.report.render_text import print_sections

        result.draw(partial(print_sections, sections(shown)), known=result.damage)
    else:
        from trex_tui.old.report.export import ExportFormat, comparison_as

        known = () if result.format == "csv" else result.damage
        result.write(comparison_as(ExportFormat(result.format), shown), known=known)


def _write_chart(what: str, shown: Shown, result: ResultWriter) -> None:
    from trex_tui.old.report.chart_file import chart_file, make_subject
    from trex_tui.old.report.views.compare_charts import find_chart

    engine = shown.comparison.engines[shown.comparison.baseline]
    chart = find_chart(shown, what)
    result.check_binary()
    result.write(chart_file(result.format, chart, make_subject(chart, engine, engine.layers, {}, {})))


def run_report(options: argparse.Namespace) -> int:
    """Load engines and write the report.

    Raises:
        TrexError: The file cannot be written, is not a report, or has an unknown suffix; or the baseline is invalid.
    """
    result = ResultWriter(options)
    engines, strays = load_each(options)
    result.check(collect_inputs(engines, options))
    result.report((*strays, *_list_errors(engines)))
    if len(engines) == 1 and options.baseline is not None:
        raise TrexError(f"--baseline: only one engine, {printable(engines[0].name)}; add another path")
    document = make_document(
        engines,
        baseline=find_baseline(engines, options.baseline),
        top=top_rows(options),
        diagnostics=strays,
    )
    result.write(render_document(document, result.format), known=result.damage)
    return result.exit_code()
