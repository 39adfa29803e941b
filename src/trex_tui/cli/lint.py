"""`trex-tui lint`: what is wrong with engines, what it costs, and what to do."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.cli.engines import load_all
from trex_tui.crash_log import where_noted
from trex_tui.errors import ExitCode, TrexError
from trex_tui.lint.config import LintConfig, fail_on_of, find_config, rule_names
from trex_tui.lint.model import Rule, Severity
from trex_tui.lint.registry import Registry, registry
from trex_tui.lint.run import run
from trex_tui.report.views.lint import EngineReport, LintReport
from trex_tui.text import plural

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.engine.engine import Engine
    from trex_tui.lint.model import LintResult


def run_lint(options: argparse.Namespace) -> int:
    """Lint every engine, print the report, and tell by the exit code whether something as severe as `--fail-on` remains.

    Raises:
        TrexError: A rule, a filter or the configuration makes no sense, or there is no engine; or, with everything printed, a
            rule broke and nobody knows whether `fail_on` would have been reached.
    """
    rules = registry()
    if options.rules or options.explain:
        listed = [rules.rule(options.explain)] if options.explain else list(rules.rules)
        _print_rules(listed, options)
        return int(ExitCode.OK)
    config = configured(options, rules)
    engines, strays = load_all(options)
    reports = [EngineReport(engine, _linted(engine, config, options.filter)) for engine in engines]
    report = LintReport(tuple(reports), config, (*strays, *rules.diagnostics))
    _print(report, rules, options.format)
    _narrate(report)
    _check_judged(report)
    return int(ExitCode.FINDINGS if report.fails else ExitCode.OK)


def configured(options: argparse.Namespace, rules: Registry) -> LintConfig:
    """What files say, with the options over it.

    Raises:
        TrexError: One of them says something that cannot be.
    """
    file = Path(options.config) if options.config else None
    config = find_config(os.environ, rules, file)
    if options.select:
        config = replace(config, select=rule_names(_ids(options.select), rules, "--select"))
    if options.ignore:
        ignored = rule_names(_ids(options.ignore), rules, "--ignore")
        config = replace(config, ignore=(*config.ignore, *ignored))
    if options.min_severity:
        config = replace(config, min_severity=Severity(options.min_severity))
    if options.fail_on:
        config = replace(config, fail_on=fail_on_of(options.fail_on))
    return config


def _ids(options: Sequence[str]) -> list[str]:
    return [name for option in options for name in option.split(",") if name.strip()]


def _linted(engine: Engine, config: LintConfig, text: str | None) -> LintResult:
    if not text:
        return run(engine, config)
    from trex_tui.analysis.filter import FilterError, filter_layers

    try:
        chosen = filter_layers(engine, text)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None
    return run(engine, config, layers=[layer.index for layer in chosen])


def _print_rules(rules: Sequence[Rule], options: argparse.Namespace) -> None:
    from trex_tui.report.views import lint_rules as report

    if options.format == "json":
        from trex_tui.cli.output import print_json

        print_json(report.rules_document(rules))
    elif options.format == "md":
        text = report.explain_markdown(rules[0]) if options.explain else report.rules_markdown(rules)
        sys.stdout.write(text)
    elif options.format == "text":
        sys.stdout.write(report.explain_text(rules[0]) if options.explain else report.rules_text(rules))
    else:
        raise TrexError(f"rules can be had as text, json or md, not as {options.format}")


def _print(report: LintReport, rules: Registry, form: str) -> None:
    from trex_tui.cli.output import print_json, print_text

    if form == "json":
        from trex_tui.report.render_lint import lint_document

        print_json(lint_document(report))
    elif form == "sarif":
        from trex_tui.report.render_sarif import lint_sarif

        print_json(lint_sarif(report, [rule for rule in rules.rules if report.config.wants(rule)]))
    elif form == "github":
        from trex_tui.report.render_lint import lint_github

        sys.stdout.write(lint_github(report))
    elif form == "md":
        from trex_tui.report.render_lint import lint_markdown

        sys.stdout.write(lint_markdown(report))
    else:
        from functools import partial

        from trex_tui.report.render_lint import print_lint

        print_text(partial(print_lint, report))


def _check_judged(report: LintReport) -> None:
    """A gate that could not look must not pass in silence, and what it did find may not be all."""
    fail_on, broken = report.config.fail_on, report.broken_rules
    if fail_on is not None and broken:
        names = ", ".join(broken)
        raise TrexError(
            f"{plural(len(broken), 'rule')} broke ({names}): whether anything is at or above {fail_on.value} "
            f"cannot be judged; --ignore {','.join(broken)} leaves {'it' if len(broken) == 1 else 'them'} out"
        )


def _narrate(report: LintReport) -> None:
    """What is about the run and not about the engines: on stderr."""
    from trex_tui.cli.output import complain

    for diagnostic in (*report.diagnostics, *(d for one in report.engines for d in one.engine.diagnostics)):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    told = where_noted() if report.broken_rules else ""
    for one in report.engines:
        for name in one.result.failed:
            complain(f"warning: {one.engine.name}: rule {name} broke; see what was not checked ({told})")
    used = {taken.origin for one in report.engines for taken in one.result.suppressed}
    for suppression in report.config.suppressions:
        if suppression.origin not in used:
            complain(f"info: {suppression.origin}: suppresses nothing here")
    fail_on = report.config.fail_on
    if report.fails and fail_on:
        count = sum(
            found.severity.rank <= fail_on.rank for one in report.engines for found in one.result.findings
        )
        complain(f"{plural(count, 'finding')} at or above {fail_on.value}")
