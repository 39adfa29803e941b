"""Compare engines: match layers by evidence, attribute times, list changes, judge differences beyond noise.

`compare(engines)` returns a `Comparison`. The package needs only the standard library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex_tui.old import lazy_names

if TYPE_CHECKING:
    from trex_tui.old.analysis.compare.comparison import compare
    from trex_tui.old.analysis.compare.model import (
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

__getattr__ = lazy_names(
    __name__, {"comparison": ("compare",), "model": tuple(name for name in __all__ if name != "compare")}
)
"""The explorer needs `Align` at its start, and the rest where engines are compared."""
