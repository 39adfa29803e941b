"""What the first key of its kind would wait for, computed before it is pressed."""

from __future__ import annotations

from trex_tui.analysis.columns import derived
from trex_tui.analysis.lanes import whole_lanes
from trex_tui.engine.engine import Engine
from trex_tui.faults import note
from trex_tui.filtering.compile import values_of
from trex_tui.reports.layer_text import node_shares
from trex_tui.widgets.layer_tree import MOST_LANES, MOST_LANES_NARROW


def warm(engine: Engine) -> None:
    """Compute what is kept of an engine: products and roofs, names to filter by, the dataflow, times by ONNX node.

    Half a second at 20 000 layers; meant for a thread, once the engine is on screen.
    """
    try:
        _warm(engine)
    except Exception as error:  # noqa: BLE001 - who wants one of these computes it again, and tells what is wrong
        note(error)


def _warm(engine: Engine) -> None:
    derived(engine)
    values = values_of(engine)
    _ = values.folded_names
    for column in ("kind", "precision", "latency_ms", "latency_pct"):
        values.counts(column)
    for most in (MOST_LANES, MOST_LANES_NARROW):
        whole_lanes(engine, most)
    node_shares(engine)
