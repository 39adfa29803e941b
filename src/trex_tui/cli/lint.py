"""`trex-tui lint`: what is wrong with engines, what it costs, and what to do."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.errors import ExitCode, TrexError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.engine.engine import Engine
    from trex_tui.lint.config import LintConfig
    from trex_tui.lint.model import LintResult, Rule
    from trex_tui.lint.registry import Registry
    from trex_tui.report.views.lint import LintReport


def run_lint(options: argparse.Namespace) -> int:
    """Lint every engine, print the report, and tell by the exit code whether something as severe as `--fail-on` remains.

    Raises:
        TrexError: A rule, a filter or the configuration makes no sense, or there is no engine; or, with everything printed, a
            rule broke and nobody knows whether `fail_on` would have been reached.
    """
    from trex_tui.cli.engines import load_all
    from trex_tui.lint.registry import registry
    from trex_tui.report.views.lint import EngineReport, LintReport

    rules = registry()
    if options.rules or options.explain:
        _print_rules([rules.rule(options.explain)] if options.explain else rules.rules, options)
        return int(ExitCode.OK)
    config = _configure(options, rules)
    engines, strays = load_all(options)
    reports = [EngineReport(engine, _lint(engine, config, options.filter)) for engine in engines]
    report = LintReport(tuple(reports), config, (*strays, *rules.diagnostics))
    _print(report, rules, options.format)
    _print_remarks(report)
    _check_broken(report)
    return int(ExitCode.FINDINGS if report.fails else ExitCode.OK)


def _configure(options: argparse.Namespace, rules: Registry) -> LintConfig:
    """What files say, with the options over it."""
    from trex_tui.lint.config import find_config, parse_fail_on, rule_names
    from trex_tui.lint.model import Severity

    config = find_config(os.environ, rules, Path(options.config) if options.config else None)
    if options.select:
        config = replace(config, select=rule_names(_split(options.select), rules, "--select"))
    if options.ignore:
        ignored = rule_names(_split(options.ignore), rules, "--ignore")
        config = replace(config, ignore=(*config.ignore, *ignored))
    if options.min_severity:
        config = replace(config, min_severity=Severity(options.min_severity))
    if options.fail_on:
        config = replace(config, fail_on=parse_fail_on(options.fail_on, "--fail-on"))
    return config


def _split(options: Sequence[str]) -> list[str]:
    return [name for option in options for name in option.split(",") if name.strip()]


def _lint(engine: Engine, config: LintConfig, text: str | None) -> LintResult:
    from trex_tui.lint.run import run

    if not text:
        return run(engine, config)
    from trex_tui.analysis.filter import FilterError, filter_layers

    try:
        layers = filter_layers(engine, text)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None
    return run(engine, config, layers=[layer.index for layer in layers])


def _print_rules(rules: Sequence[Rule], options: argparse.Namespace) -> None:
    from trex_tui.report import render_lint as view

    if options.format == "json":
        from trex_tui.cli.output import print_json

        print_json(view.rules_document(rules))
    elif options.format == "md":
        sys.stdout.write(view.explain_markdown(rules[0]) if options.explain else view.rules_markdown(rules))
    elif options.format == "text":
        sys.stdout.write(view.explain_text(rules[0]) if options.explain else view.rules_text(rules))
    else:
        raise TrexError(f"rules can be had as text, json or md, not as {options.format}")


def _print(report: LintReport, rules: Registry, form: str) -> None:
    from trex_tui.cli.output import print_json, print_text
    from trex_tui.report import render_lint

    if form == "json":
        print_json(render_lint.lint_document(report))
    elif form == "sarif":
        from trex_tui.report.render_sarif import lint_sarif

        print_json(lint_sarif(report, [rule for rule in rules.rules if report.config.wants(rule)]))
    elif form == "github":
        sys.stdout.write(render_lint.lint_github(report))
    elif form == "md":
        sys.stdout.write(render_lint.lint_markdown(report))
    else:
        print_text(lambda console: render_lint.print_lint(report, console))


def _check_broken(report: LintReport) -> None:
    """A gate that could not look must not pass in silence, and what it did find may not be all."""
    from trex_tui.lint.config import format_fail_on
    from trex_tui.text import plural

    broken = report.broken_rules
    if report.config.fail_on is not None and broken:
        raise TrexError(
            f"{plural(len(broken), 'rule')} broke ({', '.join(broken)}): whether anything is at or above "
            f"{format_fail_on(report.config.fail_on)} cannot be judged; --ignore {','.join(broken)} leaves "
            f"{'it' if len(broken) == 1 else 'them'} out"
        )


def _print_remarks(report: LintReport) -> None:
    """What is about the run and not about the engines: on stderr."""
    from trex_tui.cli.output import complain
    from trex_tui.crash_log import where_noted

    of_engines = (diagnostic for linted in report.engines for diagnostic in linted.engine.diagnostics)
    for diagnostic in (*report.diagnostics, *of_engines):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    noted = where_noted() if report.broken_rules else ""
    for linted in report.engines:
        for name in linted.result.failed:
            complain(f"warning: {linted.engine.name}: rule {name} broke; see what was not checked ({noted})")
    used = {judged.origin for linted in report.engines for judged in linted.result.suppressed}
    for suppression in report.config.suppressions:
        if suppression.origin not in used:
            complain(f"info: {suppression.origin}: suppresses nothing here")
    for line in report.failures:
        complain(line)
