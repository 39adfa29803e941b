"""Shares of the time as bars: by kind, by precision, by what bounds the layers, by tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from trex_tui.analysis.roofline import Bound
from trex_tui.analysis.totals import Total, total_by_kind, total_by_precision
from trex_tui.colours import kind_style, precision_style
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.reports.numbers import by_bound, by_tensor_cores
from trex_tui.text import format_count, format_ms, format_pct
from trex_tui.widgets.bars import Bar, BarTable

HEADINGS = ("n", "ms", "%")
"""Layers, their time, and its share."""
_BOUNDS = {
    Bound.COMPUTE.value: "$success",
    Bound.BANDWIDTH.value: "$secondary",
    Bound.LAUNCH.value: "$warning",
}
_PRECISION_STYLES = {one.value: precision_style(one) for one in DataType}
_TENSOR_CORES = {"yes": "$success", "no": "$warning"}


def kind_style_of(name: str) -> str:
    """Style of a kind by its name."""
    return kind_style(LayerKind(name))


def precision_style_of(name: str) -> str:
    """Style of a precision by its name; `unknown` is one."""
    return _PRECISION_STYLES.get(name, "$muted")


def share_tables(engine: Engine, layers: Sequence[Layer]) -> list[BarTable]:
    """Time by kind and by precision, of some of an engine's layers."""
    return [
        _share_table(engine, "By kind", total_by_kind(engine, layers), kind_style_of),
        _share_table(engine, "By precision", total_by_precision(engine, layers), precision_style_of),
    ]


def computed_share_tables(engine: Engine, layers: Sequence[Layer], notes: Sequence[str]) -> list[BarTable]:
    """Time by bound and by tensor cores: needs the products of all layers, and computes them if nobody has.

    Args:
        notes: Sentences on what is unknown of the bounds.
    """
    bounds, cores = by_bound(engine, layers), by_tensor_cores(engine, layers)
    told = [total for total in bounds if total.key in _BOUNDS]
    shown = bounds if told else []
    tables = [_share_table(engine, "Bound by", shown, _style_in(_BOUNDS), tuple(notes))]
    if any(total.key in _TENSOR_CORES for total in cores):
        tables.append(_share_table(engine, "Tensor cores", cores, _style_in(_TENSOR_CORES)))
    return tables


def _style_in(styles: Mapping[str, str]) -> Callable[[str], str]:
    return lambda key: styles.get(key, "$muted")


def _share_table(
    engine: Engine,
    title: str,
    totals: Sequence[Total],
    style_of: Callable[[str], str],
    notes: tuple[str, ...] = (),
) -> BarTable:
    """Totals as bars against the largest: by time or, without a profile, by layers."""
    timed = engine.has_profile
    sizes = [total.latency_ms or 0.0 if timed else float(total.layers) for total in totals]
    top = max(sizes, default=0.0)
    bars = [
        Bar(
            total.key,
            (format_count(total.layers), format_ms(total.latency_ms), format_pct(total.latency_pct))
            if timed
            else (format_count(total.layers),),
            size / top if top else None,
            style_of(total.key),
        )
        for total, size in zip(totals, sizes, strict=True)
    ]
    headings = (HEADINGS if timed else HEADINGS[:1]) if totals else ()
    return BarTable(title, headings, tuple(bars), notes)
