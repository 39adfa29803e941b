"""`trex-tui lint`: findings of engines, with possible savings and remedies."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts.output_files import OutputKind
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.errors import ExitCode, TrexError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.old.lint.config import LintConfig
    from trex_tui.old.lint.model import Rule
    from trex_tui.old.lint.registry import Registry
    from trex_tui.old.report.views.lint import LintReport


LINT = OutputKind("trex-tui lint", ("trex-tui/lint/", '"name": "trex-tui"'))


def run_lint(options: argparse.Namespace) -> int:
    """Lint every engine and print the report; the exit code shows whether a finding as severe as `--fail-on` remains.

    Raises:
        TrexError: A rule, a filter or the configuration is invalid, or there is no engine; or, after printing everything, a
            rule failed or a file is damaged, so that `fail_on` cannot be judged.
    """
    from trex_tui.old.cli.engines import collect_inputs, filter_indices, load_all
    from trex_tui.old.lint.registry import registry
    from trex_tui.old.lint.run import run
    from trex_tui.old.report.views.lint import EngineReport, LintReport

    rules = registry()
    if options.rules or options.explain:
        _write_rules([rules.rule(options.explain)] if options.explain else rules.rules, options)
        return int(ExitCode.OK)
    result = ResultWriter(options, kind=LINT)
    config = _configure(options, rules)
    engines, strays = load_all(options)
    result.inputs = collect_inputs(engines, options)
    reports = [
        EngineReport(engine, run(engine, config, layers=indices if options.filter else None))
        for engine, indices in zip(engines, filter_indices(engines, options.filter), strict=True)
    ]
    report = LintReport(tuple(reports), config, (*strays, *rules.diagnostics))
    result.report((*report.diagnostics, *(note for engine in engines for note in engine.diagnostics)))
    _write(report, rules, result)
    _print_remarks(report)
    _check_broken(report)
    _check_damage(report, result)
    return result.exit_code(ExitCode.FINDINGS if report.fails else ExitCode.OK)


def _configure(options: argparse.Namespace, rules: Registry) -> LintConfig:
    """Return the configuration of the files, overridden by the options."""
    from trex_tui.old.lint.config import find_config, parse_fail_on, restrict

    config = find_config(os.environ, rules, Path(options.config) if options.config else None)
    select, ignore = _split(options.select), _split(options.ignore)
    config = restrict(config, rules, select, ignore, options.min_severity, prefix="--")
    if options.fail_on:
        config = replace(config, fail_on=parse_fail_on(options.fail_on, "--fail-on"))
    return config


def _split(options: Sequence[str] | None) -> list[str]:
    return [name for option in options or () for name in option.split(",") if name.strip()]


def _write_rules(rules: Sequence[Rule], options: argparse.Namespace) -> None:
    from trex_tui.old.report import render_lint as view

    result = ResultWriter(options, ("text", "json", "md"))
    if result.format == "json":
        result.write_json(view.rules_document(rules))
    elif result.format == "md":
        result.write(view.explain_markdown(rules[0]) if options.explain else view.rules_markdown(rules))
    else:
        result.write(view.explain_text(rules[0]) if options.explain else view.rules_text(rules))


def _write(report: LintReport, rules: Registry, result: ResultWriter) -> None:
    from trex_tui.old.report import render_lint

    if result.format == "json":
        result.write_json(render_lint.lint_document(report), known=result.damage)
    elif result.format == "sarif":
        from trex_tui.old.report.render_sarif import lint_sarif

        wanted = [rule for rule in rules.rules if report.config.wants(rule)]
        result.write_json(lint_sarif(report, wanted), known=result.damage)
    elif result.format == "github":
        result.write(render_lint.lint_github(report), known=result.damage)
    elif result.format == "md":
        result.write(render_lint.lint_markdown(report))
    else:
        result.draw(lambda console: render_lint.print_lint(report, console))


def _check_broken(report: LintReport) -> None:
    """Raise if a rule failed: a gate that could not check everything must not pass silently."""
    from trex_tui.old.lint.config import format_fail_on
    from trex_tui.old.text import plural

    broken = report.broken_rules
    if report.config.fail_on is not None and broken:
        raise TrexError(
            f"{plural(len(broken), 'rule')} failed ({', '.join(broken)}): findings at or above "
            f"{format_fail_on(report.config.fail_on)} are unknown; skip with --ignore {','.join(broken)}"
        )


def _check_damage(report: LintReport, result: ResultWriter) -> None:
    """Raise if a file is damaged: rules have not seen its content, so the gate is not judged."""
    from trex_tui.old.lint.config import format_fail_on

    if report.config.fail_on is not None and result.damage:
        first = result.damage[0]
        raise TrexError(
            f"{first.file or 'a file'} is damaged: findings at or above "
            f"{format_fail_on(report.config.fail_on)} are unknown; replace the file, or use --fail-on never"
        )


def _print_remarks(report: LintReport) -> None:
    """Print remarks about the run, not about the engines, on stderr."""
    from trex_tui.old.cli.output import complain
    from trex_tui.old.crash_log import where_noted

    noted = where_noted() if report.broken_rules else ""
    for linted in report.engines:
        for name in linted.result.failed:
            complain(f'warning: {linted.engine.name}: rule {name} failed; see "not checked" ({noted})')
    used = {judged.origin for linted in report.engines for judged in linted.result.suppressed}
    for suppression in report.config.suppressions:
        if suppression.origin not in used:
            complain(f"info: {suppression.origin}: suppression matches nothing")
    for line in report.failures:
        complain(line)
