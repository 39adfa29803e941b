"""Engines compared: layers matched by evidence, times that add up, changes, verdicts beyond noise.

`compare(engines)` returns a `Comparison`. Nothing here needs more than the standard library.
"""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.analysis.compare.model import (
    Align,
    Block,
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
from trex_tui.engine.engine import Engine

__all__ = [
    "Align",
    "Block",
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


def compare(
    engines: Sequence[Engine],
    *,
    baseline: int = 0,
    align: Align | str = Align.AUTO,
    pins: Sequence[Pin] = (),
    per_batch: bool = False,
) -> Comparison:
    """Compare two or more engines.

    Args:
        engines: In the order of the columns.
        baseline: Place of the engine that the others are compared with.
        align: Which evidence may match layers.
        pins: Matches that a person made; they go before all evidence.
        per_batch: Divide every time by the engine's batch: milliseconds per sample.

    Raises:
        TrexError: Fewer than two engines; no such baseline, layer or engine; `per_batch` with an unknown batch; an unknown
            `align`.
    """
    raise NotImplementedError
