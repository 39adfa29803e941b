"""All charts, in the order in which they are offered."""

from __future__ import annotations

from trex_tui.report.charts.figure import Chart
from trex_tui.report.charts.icicle import icicle_figure
from trex_tui.report.charts.latency_charts import histogram_figure, over_time_figure, percentile_figure
from trex_tui.report.charts.layer_charts import (
    kind_figure,
    layers_figure,
    memory_figure,
    pareto_figure,
    precision_figure,
    tactic_figure,
)
from trex_tui.report.charts.scatter_charts import efficiency_figure, product_figure, roofline_figure

CHARTS: tuple[Chart, ...] = (
    Chart("histogram", "Histogram", "How the latencies of single queries are distributed.", histogram_figure),
    Chart("over-time", "Over time", "How the latency changes during the run.", over_time_figure),
    Chart(
        "percentiles", "Percentiles", "What so many percent of the queries stay within.", percentile_figure
    ),
    Chart("kind", "Time by kind", "What the layers do that take the time.", kind_figure),
    Chart("precision", "Time by precision", "Which precisions take the time.", precision_figure),
    Chart("tactic", "Time by kernel", "Which kernels take the time.", tactic_figure),
    Chart("layers", "Layers in order", "The time of each layer along the execution.", layers_figure),
    Chart("pareto", "Pareto", "How few layers take most of the time.", pareto_figure),
    Chart("products", "M, N, K", "The sizes of the matrix products.", product_figure, has_axes=True),
    Chart("roofline", "Roofline", "How close the layers come to what the device can do.", roofline_figure),
    Chart("efficiency", "Efficiency", "The share of the roof against time.", efficiency_figure),
    Chart("memory", "Memory in order", "Live activations along the execution.", memory_figure),
    Chart("icicle", "Modules", "The time over the modules of the network.", icicle_figure),
)
CHARTS_BY_ID = {chart.id: chart for chart in CHARTS}
