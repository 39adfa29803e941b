"""Columns of the layers that need nothing above the engine: functions over all layers, then the table."""

from __future__ import annotations

from trex_tui.column import Column

_COLUMNS = (
    Column("name", "Layer", "Name of the layer.", source="layer information: Name"),
    Column("kind", "Kind", "Kind of work, with the same names for all TensorRT versions."),
    Column("precision", "Prec", "Type that the layer computes in."),
    Column(
        "latency_ms",
        "ms",
        "Mean time of the layer per iteration of the profile run.",
        source="profile: averageMs",
    ),
)
COLUMNS = {column.key: column for column in _COLUMNS}
