"""Layers as rows of a table: their columns, the letter of their worst finding, and colors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pandas as pd

from trex_tui.column import Column
from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_names, short_tactics
from trex_tui.frames import TEXT, text_array
from trex_tui.lint.run import LintResult
from trex_tui.report.absence import no_layers
from trex_tui.report.document import Section, drop_empty_columns
from trex_tui.widgets.theme import LETTERS, precision_style

MARK = Column(
    "severity", "", "Worst finding about the layer: E error, W warning, i info.", width=1, priority=0
)
_SIGNS = {severity: letter for letter, severity in LETTERS.items()}


def make_section(
    engine: Engine,
    index: pd.Index,
    keys: Sequence[str],
    lint: LintResult | None = None,
    *,
    is_brief: bool = True,
) -> Section:
    """Return a section of layers in an order; in a narrow table the last columns leave first.

    Args:
        is_brief: Leave out columns without values.
    """
    frame = engine.frame(*keys).loc[index]
    columns = [replace(engine.columns[key], priority=_priority(key, place)) for place, key in enumerate(keys)]
    if "output_precision" in frame and "precision" in frame:
        is_same = frame["output_precision"].eq(frame["precision"]).fillna(False)
        frame["output_precision"] = frame["output_precision"].mask(is_same, "")
    reasons = [] if len(index) else [no_layers(engine)]
    section = Section(
        "layers", "Layers", (), reasons, frame, columns, noun="layer", shorten=shorteners(engine)
    )
    section = drop_empty_columns(section) if is_brief else section
    return add_marks(
        replace(section, bar="latency_pct" if engine.has_profile and "latency_pct" in keys else ""), lint
    )


def add_marks(section: Section, lint: LintResult | None) -> Section:
    """Return a section of layers with the letter of the worst finding before each; without findings as it is."""
    if lint is None or not lint.by_layer or section.frame is None:
        return section
    worst = {layer: _SIGNS.get(findings[0].severity.value, "") for layer, findings in lint.by_layer.items()}
    letters = pd.Series(
        text_array(worst.get(row, "") for row in section.frame.index), section.frame.index, TEXT
    )
    frame = section.frame.assign(**{MARK.key: letters})
    return replace(section, frame=frame, columns=[MARK, *section.columns])


def _priority(key: str, place: int) -> int:
    return {"index": 0, "name": 0, "latency_ms": 0, "latency_pct": 1, "precision": 2, "kind": 3}.get(
        key, place + 4
    )


def shorteners(engine: Engine) -> dict[str, Callable[[str, int], str]]:
    """Return the functions that cut names so that different ones stay different, for `Section.shorten`."""
    return {"name": short_names(engine).fit, "tactic": short_tactics(engine).fit}


def layer_styles(engine: Engine) -> dict[str, Callable[[Any], str]]:
    """Return the styles of the cells of an engine's layers: its main precision is quiet, others stand out."""
    times = (
        engine.layers["latency_ms"].fillna(0.0) if engine.has_profile else pd.Series(1.0, engine.layers.index)
    )
    by_precision = times.groupby(engine.layers["precision"]).sum()
    main = str(by_precision.idxmax()) if len(by_precision) else ""

    def style(precision: str) -> str:
        return "$muted" if precision == main else precision_style(precision)

    return {"precision": style, "output_precision": style}
