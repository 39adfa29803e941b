"""`explain`: what a number, a word of TensorRT, or the name of a layer or tactic means."""

from __future__ import annotations

import argparse
import re

from trex_tui.cli.options import CommandParser, add_result
from trex_tui.cli.results import Result
from trex_tui.errors import TrexError

HELP = "Explain a number, a word, or the name of a layer or tactic"
ARGUMENTS = "[NAME ...]"
EPILOG = """\
NAME is a key or path in JSON (memory.traffic_bytes), a heading ('Critical
path'), a column of layers or engines, a lint rule or a family of rules, a word
of TensorRT, a type of layers, or the name of a layer or of a tactic, which is
taken apart. `trex-tui explain layers`, `engines`, `gap` … list the columns of a
table.

examples:
  trex-tui explain
  trex-tui explain p99 throughput
  trex-tui explain 'Critical path'
  trex-tui explain CONV001
  trex-tui explain kgen '||' averageMs NC/32HW32
  trex-tui explain __myl_MulSumAdd_myl0_3
  trex-tui explain latency_ms --json
"""
_RULE = re.compile(r"[A-Z]{2,8}(\d{3}|-[A-Z]{2,8})?")


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: list all names")
    add_result(parser, ("text", "json", "md"), schema="explain/3", has_strict=False)


def run(options: argparse.Namespace) -> int:
    from trex_tui.report.terms import explain, suggest
    from trex_tui.report.views.lint import explain_rule, list_rule_terms
    from trex_tui.report.views.terms import explain_terms, list_terms

    result = Result(options)
    if not options.names or options.names in (["layers"], ["engines"]):
        return result.write(list_terms("".join(options.names), list_rule_terms()))
    found = []
    for name in options.names:
        rules = explain_rule(name) if _RULE.fullmatch(name.upper()) else []
        terms = [*rules, *explain(name)]
        if not terms and (table := list_terms(name.casefold())).sections and len(options.names) == 1:
            return result.write(table)
        if not terms:
            known = [term.name for term in list_rule_terms()]
            hint = suggest(name, known) or "`trex-tui explain` lists all names"
            raise TrexError(f"unknown name {name!r}; {hint}")
        found.append((name, terms))
    return result.write(explain_terms(found))
