"""What the sections about an engine are made from: computed once, by the calls of `summary --json` and `lint --json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trex_tui.engine.engine import Engine
from trex_tui.report.document import TOP
from trex_tui.report.views.engine import Analysis, analyse, engine_summary
from trex_tui.report.views.lint import EngineReport


@dataclass(frozen=True, slots=True)
class Subject:
    """An engine and what is known of it.

    Attributes:
        summary: What `summary --json` has of it.
        analysis: What the overview computes.
        lint: What `lint` says.
        top: Rows of a table; None for all.
    """

    engine: Engine
    summary: Mapping[str, Any]
    analysis: Analysis
    lint: EngineReport
    top: int | None = TOP


def subject_of(lint: EngineReport, top: int | None = TOP) -> Subject:
    """Compute it: seconds for 20 000 layers."""
    engine = lint.engine
    return Subject(engine, engine_summary(engine), analyse(engine), lint, top)
