"""Which class draws which tab."""

from __future__ import annotations

from trex_tui.screens.latency import LatencyPane
from trex_tui.screens.layers import LayersPane
from trex_tui.screens.pane import EnginePane

PANES: dict[str, type[EnginePane]] = {
    "layers": LayersPane,
    "latency": LatencyPane,
}
"""By the identifier of `actions.TABS`."""
