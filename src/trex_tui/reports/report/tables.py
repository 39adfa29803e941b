"""Tables out of what the analysis returns: layers, totals, figures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from trex_tui.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.analysis.totals import Total
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.reports.layers import cell_text
from trex_tui.reports.plain import plain
from trex_tui.reports.report.model import Cell, Column, Table
from trex_tui.svg.style import kind_class
from trex_tui.text import MISSING, format_bytes, format_count, format_ms, format_pct, printable

_BARS = frozenset({"latency_ms"})
_PLACES = frozenset({"first", "last", "line"})
"""Numbers that name something, and so are never rounded."""
_FORMATS: tuple[tuple[str, str, Callable[[float | None], str]], ...] = (
    ("_ms", "milliseconds", format_ms),
    ("_pct", "percent", format_pct),
    ("_bytes", "bytes", format_bytes),
)


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
            not one.is_number,
            one.name in _BARS,
            one.description.replace("`", ""),
            one.unit,
        )
        for one in columns
    ]
    rows = []
    for layer in layers:
        values = [(column, column.value(engine, layer)) for column in columns]
        rows.append([Cell(plain(value), cell_text(column, value)) for column, value in values])
    return Table(id, heads, rows, total, "layer", title, [kind_class(layer.kind) for layer in layers])


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
    every = list(rows)
    cells = [
        [
            word(value) if column.is_text else number(column.name, value)
            for column, value in zip(columns, row, strict=True)
        ]
        for row in every[:top]
    ]
    return Table(id, columns, cells, len(every), what, title, styles)


def word_column(name: str, heading: str, help: str = "") -> Column:  # noqa: A002
    """A column of text."""
    return Column(name, heading, is_text=True, help=help)


def number_column(name: str, heading: str, *, has_bar: bool = False, help: str = "") -> Column:  # noqa: A002
    """A column of numbers, in the unit that its name ends with."""
    unit = next((unit for suffix, unit, _ in _FORMATS if name.endswith(suffix)), "")
    return Column(name, heading, has_bar=has_bar, help=help, unit=unit)


def word(value: str | None) -> Cell:
    """Text of a file or of ours."""
    return Cell(value, printable(value) if value else MISSING)


def number(name: str, value: float | None) -> Cell:
    """A number in the unit that its name ends with."""
    return Cell(plain(value), number_text(name, value))


def number_text(name: str, value: float | None) -> str:
    """As people read it; the unit is in the heading, but for bytes."""
    for suffix, _, form in _FORMATS:
        if name.endswith(suffix):
            return form(value)
    if name.endswith("_qps"):
        return MISSING if value is None else f"{value:.2f}"
    if name == "seconds":
        return MISSING if value is None else f"{value:.3f}"
    if name in _PLACES:
        return MISSING if value is None else str(value)
    return format_count(value)
