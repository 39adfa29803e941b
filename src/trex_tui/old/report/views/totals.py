"""Groups of layers with their time: a table, and groups by bound or by tensor cores."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.old.analysis.columns import YES_NO, derived
from trex_tui.old.analysis.compute import uses_tensor_cores
from trex_tui.old.analysis.structure import UNKNOWN, Total, layers_by_kind, total_by
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.document import Column, Table, make_table

_WORKING = "kind!=" + ",".join(kind.value for kind in LayerKind if not kind.is_work)
_MULTIPLYING = "kind:" + ",".join(kind.value for kind in LayerKind if kind.multiplies)
_FILTER_COLUMNS = {
    "by_kind": "kind",
    "by_precision": "precision",
    "by_device": "device",
    "by_bound": "bound",
    "by_tensor_cores": "tensor_cores",
}


def group_filter(table: str, key: str) -> str:
    """Return the filter that the layers of a group match, and no others.

    Args:
        table: Id of the table of groups.
        key: The group.
    """
    value = f"{_FILTER_COLUMNS[table]}:{'none' if key == UNKNOWN else key}"
    if table == "by_tensor_cores":
        return f"{value} {_MULTIPLYING}"
    return f"{value} {_WORKING}" if table == "by_bound" and key == UNKNOWN else value


def by_tensor_cores(engine: Engine, layers: Sequence[Layer] | None = None) -> list[Total]:
    """Return the time of the layers that multiply, by use of tensor cores: `yes`, `no`, `unknown`.

    Args:
        layers: Some of the engine's layers; by default all.
    """
    if layers is None:
        groups = layers_by_kind(engine)
        multiplying = [layer for kind, group in groups.items() if kind.multiplies for layer in group]
    else:
        multiplying = [layer for layer in layers if layer.kind.multiplies]
    return total_by(engine, lambda layer: YES_NO[uses_tensor_cores(layer)], multiplying)


def by_bound(engine: Engine, layers: Sequence[Layer]) -> list[Total]:
    """Return the time of the layers that compute or move data, by bound."""
    points = derived(engine).roofline.points

    def bound(layer: Layer) -> str | None:
        limit = points[layer.index].bound
        return limit.value if limit else None

    return total_by(engine, bound, (layer for layer in layers if layer.index in points))


def bound_table(engine: Engine, layers: Sequence[Layer], heading: str = "Bound by") -> Table:
    """Return layers by bound, with the share of the roof that each group reaches."""
    by_share = derived(engine).roofline.roof_pct_by_bound(layers)
    shares = {bound.value: share for bound, share in by_share.items()}
    share = Column(
        "roof_pct",
        "% roof",
        value=lambda total: shares.get(total.key),
        is_number=True,
        help="Sum of the roof times over the sum of the times.",
    )
    return totals_table("by_bound", "Bound by", by_bound(engine, layers), heading, more=[share])


def totals_table(
    id: str,  # noqa: A002 - as the field of Table
    title: str,
    totals: Sequence[Total],
    heading: str = "",
    styles: Sequence[str] = (),
    more: Sequence[Column] = (),
) -> Table:
    """Return groups of layers with their time, a bar for each.

    Args:
        title: Title of the column of groups.
        styles: Styles of the bars, as `svg.style` names them.
        more: Columns after the usual ones.
    """
    columns = (
        Column("key", title, value=lambda total: total.key),
        Column("layers", "Layers", value=lambda total: total.layers, is_number=True),
        Column("latency_ms", "ms", value=lambda total: total.latency_ms, is_number=True, has_bar=True),
        Column("latency_pct", "%", value=lambda total: total.latency_pct, is_number=True),
        *more,
    )
    return make_table(
        id, columns, totals, noun="group", title=heading or f"By {title.lower()}", styles=styles
    )
