"""`lint`: findings of engines, with possible savings and remedies; the exit code is a gate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.cli.options import CommandParser, add_file, add_filter, add_paths, add_result, split_names
from trex_tui.cli.results import Result, complain
from trex_tui.errors import ExitCode, Severity, TrexError

if TYPE_CHECKING:
    from trex_tui.lint.config import LintConfig
    from trex_tui.lint.rules import RuleSet
    from trex_tui.report.document import Document
    from trex_tui.report.views.lint import Linted

HELP = "Find problems and possible savings"
EPILOG = """\
Exit code 1: a finding is at or above --fail-on. Code 2: that cannot be judged,
since a file is damaged or a rule failed.

examples:
  trex-tui lint results/alexnet
  trex-tui lint results/ --fail-on warning
  trex-tui lint results/ --fail-on 'warning > 5'
  trex-tui lint results/alexnet --select QDQ,CONV001 --ignore HOT
  trex-tui lint results/alexnet --filter 'name:layer3' --all
  trex-tui lint results/ --format sarif -o lint.sarif
  trex-tui lint --rules
"""


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    group = parser.add_argument_group("lint options")
    group.add_argument(
        "--fail-on",
        metavar="WHEN",
        help="exit with 1 for findings of at least this severity (error, warning, info; never), or if an "
        "engine meets a gate on their number such as 'warning > 5'; default: error",
    )
    group.add_argument(
        "--min-severity",
        metavar="SEVERITY",
        help="least severity to show: error, warning, info or good; default: good",
    )
    group.add_argument("--all", action="store_true", help="also list findings below 0.5 %% of the time")
    group.add_argument(
        "--select", metavar="A,B", action="append", help="only these rules or families: CONV001, QDQ"
    )
    group.add_argument("--ignore", metavar="A,B", action="append", help="not these rules or families")
    add_file(
        group,
        "--config",
        metavar="FILE",
        help="read only this configuration; default: trex-tui.toml and pyproject.toml",
    )
    group.add_argument(
        "--rules", action="store_true", help="list all rules; `trex-tui explain ID` describes one"
    )
    add_filter(parser)
    add_result(parser, ("text", "json", "md", "sarif", "github"), schema="lint/3")


def run(options: argparse.Namespace) -> int:
    from trex_tui.cli.loading import Loader
    from trex_tui.engine.filter import describe_no_match
    from trex_tui.lint.rules import load_rules
    from trex_tui.lint.run import run_rules
    from trex_tui.report.selection import choose_rows
    from trex_tui.report.views.lint import Linted, lint_document, rules_document

    rules = load_rules()
    if options.rules:
        return Result(options, ("text", "json", "md")).write(rules_document(rules.rules))
    result = Result(options)
    config = _configure(options, rules)
    loader = Loader(options)
    loaded, strays = loader.load_all()
    engines = []
    for engine in loaded:
        rows = choose_rows(engine, options.filter)
        layers = rows.index[rows].tolist() if options.filter else None
        if options.filter and not layers:
            complain(describe_no_match(engine, options.filter))
        engines.append(Linted(engine, run_rules(engine, config, rules, layers)))
    notes, inputs = [*strays, *rules.notes], loader.inputs()
    document = lint_document(engines, config, notes)
    if result.format in ("sarif", "github"):
        from trex_tui.report.sarif import write_github, write_sarif

        result.report(document.damage())
        wanted = [rule for rule in rules.rules if config.wants(rule)]
        is_sarif = result.format == "sarif"
        result.write_content(
            write_sarif(engines, wanted, notes) if is_sarif else write_github(engines, notes), inputs
        )
    else:
        result.write(document, inputs)
    _print_remarks(engines, config)
    _check_judged(engines, config, document)
    fails = any(linted.result.fails(config.fail_on) for linted in engines)
    return result.exit_code(document, ExitCode.FINDINGS if fails else ExitCode.OK)


def _configure(options: argparse.Namespace, rules: RuleSet) -> LintConfig:
    """Return the configuration of the files, overridden by the options."""
    from trex_tui.lint.config import find_config, parse_fail_on, restrict

    config = find_config(rules, Path(options.config).expanduser() if options.config else None)
    select, ignore = _split(options.select), _split(options.ignore)
    config = restrict(config, rules, select, ignore, options.min_severity, prefix="--")
    if options.fail_on:
        config = replace(config, fail_on=parse_fail_on(options.fail_on, "--fail-on"))
    return replace(config, shows_all=options.all)


def _split(values: Sequence[str] | None) -> list[str]:
    return [name for value in values or () for name in split_names(value)]


def _check_judged(engines: Sequence[Linted], config: LintConfig, document: Document) -> None:
    """Check that rules have seen everything, so that a gate does not pass for what it has not seen.

    Raises:
        TrexError: A rule failed, or a file is damaged.
    """
    from trex_tui.analysis.gates import why_not_judged
    from trex_tui.lint.config import format_fail_on
    from trex_tui.text import plural

    if config.fail_on is None:
        return
    unknown = f"findings at or above {format_fail_on(config.fail_on)} are unknown"
    failed = sorted({name for linted in engines for name in linted.result.failed})
    if failed:
        raise TrexError(
            f"{plural(len(failed), 'rule')} failed ({', '.join(failed)}): {unknown}; skip with --ignore "
            f"{','.join(failed)}"
        )
    reasons = [
        f"{linted.engine.name}: {reason}"
        for linted in engines
        if (reason := why_not_judged(linted.engine, "findings"))
    ]
    reasons += [str(note) for note in document.notes if note.severity is Severity.ERROR]
    if reasons:
        raise TrexError(f"{reasons[0]}: {unknown}; replace the file, or use --fail-on never")


def _print_remarks(engines: Sequence[Linted], config: LintConfig) -> None:
    """Print what is about the run, not about the engines: failed rules, useless suppressions, and why the command fails."""
    from trex_tui.lint.config import format_fail_on
    from trex_tui.report.views.lint import count_findings

    for engine, result in engines:
        for name in result.failed:
            complain(f'warning: {engine.name}: rule {name} failed; see "not checked"')
    used = {finding.origin for linted in engines for finding in linted.result.suppressed}
    for suppression in config.suppressions:
        if suppression.origin not in used:
            complain(f"info: {suppression.origin}: suppression matches nothing")
    for engine, result in engines:
        if result.fails(config.fail_on):
            complain(
                f"gate failed: {format_fail_on(config.fail_on)}: {engine.name}: {count_findings(result)}"
            )
