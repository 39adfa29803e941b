"""All charts, in the order in which they are offered."""

from __future__ import annotations

from trex_tui.old.report.charts import (
    latency_charts,
    layer_charts,
    module_charts,
    power_charts,
    scatter_charts,
    spread_charts,
)
from trex_tui.old.report.charts.figure import Chart

CHARTS: tuple[Chart, ...] = (
    *latency_charts.CHARTS,
    *layer_charts.CHARTS,
    *spread_charts.CHARTS,
    *scatter_charts.CHARTS,
    *module_charts.CHARTS,
    *power_charts.CHARTS,
)
CHARTS_BY_ID = {chart.id: chart for chart in CHARTS}
