"""Tables out of what the analysis returns: layers, totals, figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from trex_tui.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.analysis.totals import Total
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.reports.document import Column, Table, make_table
from trex_tui.reports.layers import cell_text
from trex_tui.svg.style import kind_class

_BARS = frozenset({"latency_ms"})


def layer_table(
    id: str,  # noqa: A002 - as the field of Table
    engine: Engine,
    layers: Sequence[Layer],
    names: Iterable[str],
    total: int,
    title: str = "",
) -> Table:
    """Layers with some of the columns of `trex-tui layers`.

    Args:
        layers: Those that are shown.
        total: How many there are to show.
    """
    columns = [ALL_COLUMNS_BY_NAME[name] for name in names]
    heads = [
        Column(
            one.name,
            one.title,
            is_number=one.is_number,
            unit=one.unit,
            format=partial(cell_text, one),
            help=one.description.replace("`", ""),
            has_bar=one.name in _BARS,
        )
        for one in columns
    ]
    rows = [[column.value(engine, layer) for column in columns] for layer in layers]
    styles = [kind_class(layer.kind) for layer in layers]
    return Table(id, heads, rows, total=total, noun="layer", title=title, styles=styles)


def totals_table(
    id: str,  # noqa: A002
    heading: str,
    totals: Sequence[Total],
    title: str = "",
    styles: Sequence[str] = (),
) -> Table:
    """Groups of layers with their time, a bar for each.

    Args:
        styles: Of the bars, as `svg.style` names them.
    """
    heads = (
        word_column("key", heading),
        number_column("layers", "Layers"),
        number_column("latency_ms", "ms", has_bar=True),
        number_column("latency_pct", "%"),
    )
    rows = [(one.key, one.layers, one.latency_ms, one.latency_pct) for one in totals]
    return table(id, heads, rows, what="group", title=title or f"By {heading.lower()}", styles=styles)


def table(
    id: str,  # noqa: A002
    columns: Sequence[Column],
    rows: Iterable[Sequence[Any]],
    *,
    top: int | None = None,
    what: str = "row",
    title: str = "",
    styles: Sequence[str] = (),
) -> Table:
    """Raw values of any kind, told as the names of the columns ask for.

    Args:
        top: Rows to show; None for all.
    """
    return make_table(id, columns, rows, top=top, noun=what, title=title, styles=styles)


def word_column(name: str, heading: str, help: str = "") -> Column:  # noqa: A002
    """A column of text."""
    return Column(name, heading, help=help)


def number_column(name: str, heading: str, *, has_bar: bool = False, help: str = "") -> Column:  # noqa: A002
    """A column of numbers, in the unit that its name ends with."""
    return Column(name, heading, is_number=True, has_bar=has_bar, help=help)
