"""Engines in, the whole report out."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.errors import Diagnostic
from trex_tui.reports.diff.choice import Shown
from trex_tui.reports.document import TOP, Document
from trex_tui.reports.lint.report import EngineReport
from trex_tui.reports.report.comparison import comparison_part
from trex_tui.reports.report.engine import engine_part
from trex_tui.text import plural, printable


def make_report(
    engines: Sequence[EngineReport],
    compared: Shown | None = None,
    diagnostics: Sequence[Diagnostic] = (),
    top: int | None = TOP,
) -> Document:
    """The comparison first, then a part for each engine.

    Args:
        engines: Each with what lint says of it.
        compared: None for one engine.
        diagnostics: Of files that belong to none of them.
        top: Rows of a table; None for all.
    """
    names = [printable(one.engine.name) for one in engines]
    title = (
        " · ".join(names) if len(names) < 4 else f"{names[0]} and {plural(len(names) - 1, 'other engine')}"
    )
    parts = [comparison_part(compared)] if compared else []
    parts += [
        engine_part(number, one, top, is_alone=compared is None)
        for number, one in enumerate(engines, start=1)
    ]
    return Document(title, parts, tuple(diagnostics))
