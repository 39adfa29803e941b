"""Charts of any columns: one over another as points, or one in the groups of another as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.filter import MOST_CHARACTERS, format_indices, format_operand
from trex_tui.old.analysis.structure import UNKNOWN, known_value
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.absence import no_layer
from trex_tui.old.report.charts.coloring import Coloring, color_layers, format_value
from trex_tui.old.report.charts.figure import (
    HERE_SIGN,
    HERE_STYLE,
    MUTED,
    PRIMARY,
    Bar,
    BarPart,
    Bars,
    Chart,
    Dot,
    Figure,
    Key,
    Points,
    Scale,
    Subject,
    Target,
    format_tick,
    has_times,
    layer_target,
    log_scale,
    spread,
)
from trex_tui.old.report.charts.value_charts import Quantity, find_quantity, layer_bars, sum_known
from trex_tui.old.text import format_pct, plural

_DEFAULT_X = ("macs", "footprint_bytes", "index")
_LOG_RATIO = 50.0
"""Ratio of largest to smallest value from which an axis is logarithmic."""
_SIZES = ((0.5, "●"), (0.1, "•"), (0.0, "∙"))
"""Minimum share of the largest size, and sign of a point."""


def scatter(subject: Subject) -> Figure:
    """Draw one number of each layer over another; colours show a third column, sizes a fourth."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    x, y = _find_x(subject), find_quantity(subject)
    size = None if subject.size is None else find_quantity(replace(subject, value=subject.size))
    known = [
        layer
        for layer in subject.layers
        if x.values[layer.index] is not None and y.values[layer.index] is not None
    ]
    if not known:
        return Figure((f"No layers with both {x.column.name} and {y.column.name}.",))
    coloring, current = color_layers(subject, "kind"), subject.shown_current
    ordered = sorted(known, key=lambda layer: (layer is current, layer.latency_ms or 0.0))
    dots = [
        Dot(
            x.scaled(layer) or 0.0,
            y.scaled(layer) or 0.0,
            HERE_STYLE if layer is current else coloring.style(layer),
            HERE_SIGN if layer is current else _find_sign(size, layer),
        )
        for layer in ordered
    ]

    def target(index: int) -> Target:
        layer = ordered[index]
        shown = [x, y] if size is None else [x, y, size]
        figures = [f"{quantity.column.name} {quantity.text(layer)}" for quantity in shown]
        return layer_target(layer, "  ".join([*figures, coloring.text(layer)]))

    words = (
        f"{y.column.name} over {x.column.name}: {plural(len(known), 'layer')}; colours show {coloring.column.name}"
        + ("." if size is None else f", sizes {size.column.name}.")
    )
    missing = len(subject.layers) - len(known)
    lacking = (f"{plural(missing, 'layer')} without {x.column.name} or {y.column.name} not shown.",)
    keys = [*_size_keys(size), *coloring.legend(known)]
    form = Points(dots, _find_scale(x, known), _find_scale(y, known), keys, target)
    return Figure((words,), lacking if missing else (), form)


def _find_x(subject: Subject) -> Quantity:
    """Return the chosen column, else the first default column with values."""
    if subject.x is not None:
        return find_quantity(replace(subject, value=subject.x))
    found = (find_quantity(replace(subject, value=ALL_COLUMNS_BY_NAME[name])) for name in _DEFAULT_X)
    return next(quantity for quantity in found if quantity.known or quantity.column.name == _DEFAULT_X[-1])


def _find_scale(quantity: Quantity, layers: Sequence[Layer]) -> Scale:
    """Return a scale; logarithmic if the values span a wide range."""
    values = [quantity.scaled(layer) or 0.0 for layer in layers]
    low, high = min(values), max(values)
    if low > 0 and high / low > _LOG_RATIO:
        return log_scale(values, f"{quantity.axis} (log)", format_tick)
    return spread(values, quantity.axis, from_zero=high > 0)


def _find_sign(size: Quantity | None, layer: Layer) -> str:
    if size is None:
        return _SIZES[0][1]
    largest = _find_largest(size)
    share = (size.values[layer.index] or 0.0) / largest if largest else 0.0
    return next((sign for least, sign in _SIZES if share >= least), _SIZES[-1][1])


def _find_largest(size: Quantity) -> float:
    return max((size.values[layer.index] or 0.0 for layer in size.known), default=0.0)


def _size_keys(size: Quantity | None) -> list[Key]:
    if size is None:
        return []
    largest = _find_largest(size)
    *classes, (_, last) = _SIZES
    return [
        *(Key(sign, f"≥ {size.words(least * largest)}{size.unit}", MUTED) for least, sign in classes),
        Key(last, "less", MUTED),
    ]


def bars(subject: Subject) -> Figure:
    """Draw the layers with the largest values, or the sums or means of groups of layers."""
    return layer_bars(subject) if subject.x is None else _group_bars(subject, subject.x)


def _group_bars(subject: Subject, column: LayerColumn) -> Figure:
    """Draw a bar for each value of a column: the sum over its layers if that is meaningful, else the mean."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    quantity = find_quantity(subject)
    if not quantity.known:
        return Figure((quantity.explain_nothing(subject.engine),))
    groups: dict[str, list[Layer]] = {}
    for layer in quantity.known:
        value = known_value(column.value(subject.engine, layer))
        groups.setdefault(UNKNOWN if value is None else format_value(column, value), []).append(layer)
    values = {text: _summarize(quantity, layers) for text, layers in groups.items()}
    ordered = sorted(groups, key=lambda text: (-values[text], text))
    whole = sum_known(values.values()) if quantity.adds_up else 0.0
    coloring = color_layers(subject, column.name)
    has_parts = quantity.adds_up and subject.color is not None
    made = []
    for text in ordered:
        layers, figure = groups[text], f"{quantity.words(values[text])}{quantity.unit}"
        share = [format_pct(100.0 * values[text] / whole)] if whole > 0 else []
        made.append(
            Bar(
                text,
                values[text] / quantity.scale[0],
                (str(len(layers)), quantity.words(values[text]), *share),
                PRIMARY if subject.color is not None else coloring.style(layers[0]),
                any(layer is subject.shown_current for layer in layers),
                _find_parts(quantity, coloring, layers) if has_parts else (),
                Target(
                    text,
                    f"{plural(len(layers), 'layer')}  {figure}",
                    None,
                    _format_filter(column, text, layers, subject),
                ),
            )
        )
    how = "Sum" if quantity.adds_up else "Mean"
    counted = f"{plural(len(quantity.known), 'layer')} in {plural(len(made), 'group')}"
    words = f"{how} of {quantity.column.name} by {column.name}: {counted}."
    headings = ("n", quantity.column.title, *(["%"] if whole > 0 else []))
    keys = coloring.pattern_keys if has_parts else []
    form = Bars(made, headings, quantity.axis, keys, lambda first: f"and {len(made) - first} more")
    return Figure((words,), quantity.describe_missing("left out"), form)


def _summarize(quantity: Quantity, layers: Sequence[Layer]) -> float:
    total = math.fsum(quantity.values[layer.index] or 0.0 for layer in layers)
    return total if quantity.adds_up else total / len(layers)


def _find_parts(quantity: Quantity, coloring: Coloring, layers: Sequence[Layer]) -> tuple[BarPart, ...]:
    parts = []
    for group in coloring.groups:
        size = math.fsum(quantity.scaled(layer) or 0.0 for layer in layers if coloring.group(layer) is group)
        if size:
            parts.append(BarPart(size, f"{group.text}  {size:.4g}", group.style, group.pattern))
    return tuple(parts)


def _format_filter(column: LayerColumn, text: str, layers: Sequence[Layer], subject: Subject) -> str:
    """Return the filter for the layers of a group, whose values have one text; empty if it would be too long."""
    if text == UNKNOWN:
        return f"{column.name}:none"
    values = [column.value(subject.engine, layer) for layer in layers]
    if column.is_number:
        low, high = min(values), max(values)
        return f"{column.name}={low!r}" if low == high else f"{column.name}>={low!r} {column.name}<={high!r}"
    if column.is_list or not isinstance(values[0], (str, bool)):
        text = format_indices(layers)
        return text if len(text) <= MOST_CHARACTERS else ""
    return f"{column.name}{'=' if column.is_free_text else ':'}{format_operand(text)}"


CHARTS = (
    Chart(
        "bar",
        "Top layers",
        "Layers, or groups of them, with the largest time or another value.",
        bars,
        has_x=True,
        has_groups=True,
        has_value=True,
        has_color=True,
        needs=has_times,
    ),
    Chart(
        "scatter",
        "Scatter",
        "Any number of layers over another.",
        scatter,
        has_x=True,
        has_value=True,
        has_size=True,
        has_color=True,
        needs=has_times,
    ),
)
