"""Compare engines: match layers by evidence, attribute times, list changes, judge differences beyond noise.

`compare(engines)` returns a `Comparison`. The package needs only the standard library.
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
