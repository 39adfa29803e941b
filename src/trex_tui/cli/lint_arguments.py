"""The options of `trex-tui lint`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

FORMATS = ("text", "json", "sarif", "github", "md")
SEVERITIES = ("error", "warning", "info", "good")
FAIL_ON = ("error", "warning", "info", "never")

_EXAMPLES = """\
examples:
  trex-tui lint results/alexnet                        what is wrong, what it costs, what to do
  trex-tui lint results/ --fail-on warning             exit code 1 if anything is a warning or worse
  trex-tui lint results/alexnet --select CONV,QDQ001   only these families and rules
  trex-tui lint results/alexnet --filter 'pct>1'       only what is found about these layers
  trex-tui lint results/ --format sarif > lint.sarif   for a code host
  trex-tui lint --rules                                every rule
  trex-tui lint --explain CONV001                      what a rule looks for, why, what to do

Select, ignore, thresholds and suppressions with their reasons can stand in trex-tui.toml under [lint], or in
pyproject.toml under [tool.trex-tui.lint]. The exit code is 1 when a finding at or above --fail-on remains, and
the default of that is error: warnings are chances to be faster, not mistakes. It is 2 when a rule broke, since
nobody knows what it would have found; --ignore leaves the rule out, --fail-on never lets it be.
"""


def add_lint(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    add_paths: Callable[[argparse.ArgumentParser], None],
) -> None:
    """Add the command and its options.

    Args:
        add_paths: Adds those of every command that loads engines.
    """
    lint = commands.add_parser(
        "lint",
        help="what is wrong with each engine, what it costs, and what to do",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_paths(lint)
    lint.add_argument(
        "--select",
        action="append",
        metavar="IDS",
        help="only these rules or families, e.g. CONV,QDQ001; instead of those of a file",
    )
    lint.add_argument(
        "--ignore",
        action="append",
        metavar="IDS",
        help="not these rules or families, and not those of a file",
    )
    lint.add_argument(
        "--min-severity", choices=SEVERITIES, help="leave out what is milder; default: good, which is all"
    )
    lint.add_argument(
        "--fail-on",
        choices=FAIL_ON,
        help="exit with 1 if something as severe or worse is found; default: error",
    )
    lint.add_argument("--filter", metavar="EXPR", help="only what is found about the layers that match")
    lint.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    lint.add_argument("--config", metavar="FILE", help="read the configuration from this file alone")
    lint.add_argument("--rules", action="store_true", help="list the rules and exit")
    lint.add_argument("--explain", metavar="ID", help="tell all about a rule and exit")
