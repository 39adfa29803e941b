"""`trex-tui diff`: engines side by side."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from trex_tui.analysis.compare import compare
from trex_tui.analysis.compare.gate_metrics import METRICS, judge
from trex_tui.analysis.filter import FilterError
from trex_tui.analysis.gates import parse_gate
from trex_tui.cli.engines import load_each
from trex_tui.cli.output import complain
from trex_tui.errors import ExitCode, TrexError
from trex_tui.report.views.compare import DIFF_TOP, Shown, filtered, sections
from trex_tui.text import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.engine.engine import Engine


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
        found = f"only {printable(engines[0].name)}" if engines else "none"
        raise TrexError(f"diff compares two or more engines; there is {found}")
    baseline = baseline_place(engines, options.baseline)
    comparison = compare(engines, baseline=baseline, align=options.align, per_batch=options.per_batch)
    text = (options.filter or "").strip()
    try:
        blocks = filtered(comparison, text)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None
    results = judge(comparison, gates, significant=options.significant)
    top = DIFF_TOP if options.top is None else options.top or None
    _print(Shown(comparison, blocks, top, text, results), options.format)
    fallen = [result for result in results if result.fell]
    for result in fallen:
        sys.stderr.write(f"trex-tui: gate fell: {printable(result.gate.text)}: {printable(result.why)}\n")
    return int(ExitCode.FINDINGS if fallen else ExitCode.OK)


def baseline_place(engines: Sequence[Engine], wanted: str | None) -> int:
    """The engine that a person names, or the first.

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
    known = ", ".join(f"{place} {printable(engine.name)}" for place, engine in enumerate(engines, start=1))
    why = "several engines are called" if named else "no engine"
    raise TrexError(f"--baseline: {why} {wanted!r}; there are: {known}")


def _print(shown: Shown, output: str) -> None:
    if output == "text":
        from functools import partial

        from trex_tui.cli.output import print_text
        from trex_tui.report.render_text import print_sections

        print_text(partial(print_sections, sections(shown)))
    else:
        from trex_tui.report.export import ExportFormat, comparison_as

        sys.stdout.write(comparison_as(ExportFormat(output), shown))
