"""`explain`: what a number, a word of TensorRT, or the name of a layer or tactic means."""

from __future__ import annotations

import argparse
import re

from trex_tui.cli.options import CommandParser, add_result
from trex_tui.cli.results import Result
from trex_tui.errors import TrexError

HELP = "Explain a number, a word of TensorRT, or the name of a layer or tactic"
ARGUMENTS = "[NAME ...]"
EPILOG = """\
NAME is a key or path in JSON (memory.traffic_bytes), a heading ('Critical
path'), a column of layers or engines, a lint rule or a family of rules, a word
of TensorRT, a type of layers, or the name of a layer or of a tactic, which is
taken apart. `trex-tui explain layers`, `engines` list the columns of a table.

examples:
  trex-tui explain
  trex-tui explain p99 throughput
  trex-tui explain 'Critical path'
  trex-tui explain CONV001
  trex-tui explain kgen '||' averageMs NC/32HW32
  trex-tui explain __myl_MulSumAdd_myl0_3
  trex-tui explain latency_ms --json
"""
_RULE = re.compile(r"[A-Z]{2,8}\d{0,3}")


def add_arguments(parser: CommandParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="default: list all names")
    add_result(parser, ("text", "json", "md"), schema="explain/3", has_strict=False)


def run(options: argparse.Namespace) -> int:
    from trex_tui.cli.main import run_old
    from trex_tui.report.terms import explain, suggest
    from trex_tui.report.views.terms import explain_terms, list_terms

    result = Result(options)
    if not options.names or options.names in (["layers"], ["engines"]):
        return result.write(list_terms(*options.names))
    found = []
    for name in options.names:
        terms = explain(name)
        if not terms and _RULE.fullmatch(name.upper()):
            return run_old(["explain", *options.names, *(["--json"] if result.format == "json" else [])])
        if not terms:
            raise TrexError(f"unknown name {name!r}; {suggest(name) or '`trex-tui explain` lists all names'}")
        found.append((name, terms))
    return result.write(explain_terms(found))
