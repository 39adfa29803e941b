"""Which class draws which tab."""

from __future__ import annotations

from trex_tui.screens.build import BuildPane
from trex_tui.screens.charts import ChartsPane
from trex_tui.screens.compare import ComparePane
from trex_tui.screens.latency import LatencyPane
from trex_tui.screens.layers import LayersPane
from trex_tui.screens.lint import LintPane
from trex_tui.screens.memory import MemoryPane
from trex_tui.screens.overview import OverviewPane
from trex_tui.screens.pane import EnginePane

PANES: dict[str, type[EnginePane]] = {
    "overview": OverviewPane,
    "layers": LayersPane,
    "latency": LatencyPane,
    "charts": ChartsPane,
    "memory": MemoryPane,
    "lint": LintPane,
    "build": BuildPane,
    "compare": ComparePane,
}
"""By the identifier of `actions.TABS`."""
