"""A lint rule: layers with a large share of the time."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.lint.context import Context, details
from trex_tui.lint.model import Finding, Severity, finding, rule


@rule(
    "EXAMPLE001",
    "Layer takes a large share of the time",
    Severity.INFO,
    looks_for="A layer of 30 % of the time or more.",
    why="It bounds what all other changes can save.",
    remedy="Make this layer smaller first.",
    columns=("latency_ms",),
    needs=(details,),
    thresholds={"share_pct": 30.0},
)
def large_share(context: Context, share_pct: float) -> Iterator[Finding]:
    """Yield a finding per layer."""
    for layer in context.layers:
        if context.share_pct(layer) >= share_pct:
            yield finding(f"{layer.name} takes {context.format_time(layer)}.", [layer])
