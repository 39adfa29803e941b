"""Engines compared: layers matched by evidence, times that add up, changes, verdicts beyond noise.

`compare(engines)` returns a `Comparison`. Nothing here needs more than the standard library.
"""

from __future__ import annotations

from trex_tui.analysis.compare.comparison import compare
from trex_tui.analysis.compare.model import (
    Align,
    Block,
    Cause,
    Caution,
    CautionKind,
    Change,
    ChangeKind,
    Comparison,
    Difference,
    Match,
    Outcome,
    Pin,
    Reason,
    Row,
    Side,
    Verdict,
)

__all__ = [
    "Align",
    "Block",
    "Cause",
    "Caution",
    "CautionKind",
    "Change",
    "ChangeKind",
    "Comparison",
    "Difference",
    "Match",
    "Outcome",
    "Pin",
    "Reason",
    "Row",
    "Side",
    "Verdict",
    "compare",
]
