"""Charts of a number of layers: by default the time, else any numeric column."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.short_names import short_names
from trex_tui.old.analysis.statistics import percentile
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.absence import no_layer, no_profile
from trex_tui.old.report.charts.coloring import color_layers, format_value
from trex_tui.old.report.charts.figure import (
    Bar,
    Bars,
    Chart,
    Figure,
    Histogram,
    Mark,
    Subject,
    Target,
    has_times,
    layer_target,
)
from trex_tui.old.report.charts.sampling import count_bins
from trex_tui.old.report.document import is_missing
from trex_tui.old.text import format_pct, plural, shorten_middle

TIME = "latency_ms"
_ADDITIVE = ("_ms", "_bytes", "macs", "_count")
"""Suffixes of columns that add up over layers."""
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_MARKED_PERCENTILES = (50.0, 90.0)
_MOST_BARS, _MOST_CHOSEN_BARS = 32, 100
"""Number of bars in a picture: of all layers, which fits a page, and of chosen ones."""
_LONGEST_TEXT = 24
"""Maximum characters of a value of the colour column beside a bar."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number of each layer of a chart.

    Attributes:
        values: By layer index; None where unknown.
        known: The layers with a value.
        scale: Size and name of the unit of the axis; the name is empty if the title of the column has it.
    """

    column: LayerColumn
    layers: Sequence[Layer]
    values: Mapping[int, float | None]
    known: Sequence[Layer]
    scale: tuple[float, str]

    @property
    def is_time(self) -> bool:
        return self.column.name == TIME

    @property
    def title(self) -> str:
        return "Time" if self.is_time else self.column.name

    @property
    def adds_up(self) -> bool:
        """True if the sum over layers is meaningful."""
        return self.column.name.endswith(_ADDITIVE)

    @property
    def superlative(self) -> str:
        return "slowest" if self.is_time else "largest"

    @property
    def axis(self) -> str:
        """Title of the axis, with the unit of `scaled` values at its end."""
        _, unit = self.scale
        return f"{self.column.title}, {unit}" if unit else self.column.title

    def scaled(self, layer: Layer) -> float | None:
        """Return the value of a layer in the unit of the axis."""
        value = self.values[layer.index]
        return None if value is None else value / self.scale[0]

    def explain_nothing(self, engine: Engine) -> str:
        """Return the sentence for layers without any value."""
        return no_profile(engine) if self.is_time else f"No {self.column.name} in these layers."

    @property
    def sum_text(self) -> str:
        """Return the sum after a comma, for a number that adds up; else an empty text."""
        return f", {self.words(sum_known(self.values.values()))}{self.unit}" if self.adds_up else ""

    @property
    def unit(self) -> str:
        """Return the unit after a number; bytes are formatted with their own."""
        return {"milliseconds": " ms", "percent": " %", "bytes": ""}.get(
            self.column.unit, f" {self.column.unit}" if self.column.unit else ""
        )

    def words(self, value: float) -> str:
        """Return a value without its unit."""
        return format_value(self.column, value)

    def text(self, layer: Layer) -> str:
        """Return the value of a layer with its unit."""
        value = self.values[layer.index]
        return format_value(self.column, value) + ("" if value is None else self.unit)

    def describe_missing(self, consequence: str) -> tuple[str, ...]:
        """Return a sentence on the layers without a value, and how they are treated."""
        count = len(self.layers) - len(self.known)
        what = "a time" if self.is_time else self.column.name
        return (f"{plural(count, 'layer')} without {what} {consequence}.",) if count else ()


def find_bytes_unit(size: float) -> tuple[float, str]:
    """Return size and name of the largest binary unit that fits a size."""
    for power, name in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return float(1024**power), name
    return 1.0, "B"


def find_quantity(subject: Subject) -> Quantity:
    """Return the number that a chart of layers shows."""
    column = subject.value or ALL_COLUMNS_BY_NAME[TIME]
    values: dict[int, float | None] = {}
    for layer in subject.layers:
        value = column.value(subject.engine, layer)
        values[layer.index] = None if is_missing(value) or not math.isfinite(value) else value
    known = [layer for layer in subject.layers if values[layer.index] is not None]
    return Quantity(column, subject.layers, values, known, _find_scale(column, values))


def _find_scale(column: LayerColumn, values: Mapping[int, float | None]) -> tuple[float, str]:
    """Return the unit of an axis for the largest of some values."""
    largest = max((abs(value) for value in values.values() if value is not None), default=0.0)
    if column.unit == "bytes":
        return find_bytes_unit(largest)
    return next(((size, name) for size, name in _PREFIXES if largest >= size), (1.0, ""))


def sum_known(values: Iterable[float | None]) -> float:
    """Return the sum of the finite numbers among some values."""
    return math.fsum(value for value in values if value is not None and math.isfinite(value))


def layer_bars(subject: Subject) -> Figure:
    """Draw the layers with the largest values as bars with names."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    quantity = find_quantity(subject)
    layers = sorted(quantity.known, key=lambda layer: (-(quantity.values[layer.index] or 0.0), layer.index))
    if not layers:
        return Figure((quantity.explain_nothing(subject.engine),))
    coloring = color_layers(subject, "kind")
    current = subject.shown_current
    whole = sum_known(quantity.column.values(subject.engine)) if quantity.adds_up else 0.0
    has_share = whole > 0

    def share(part: Sequence[Layer]) -> float:
        return 100.0 * math.fsum(quantity.values[layer.index] or 0.0 for layer in part) / whole

    unit, size = quantity.unit, quantity.scale[0]

    def draw(layer: Layer) -> Bar:
        value = quantity.values[layer.index] or 0.0
        text = quantity.words(value)
        return Bar(
            layer.name,
            value / size,
            (
                str(layer.index),
                shorten_middle(coloring.text(layer), _LONGEST_TEXT),
                text,
                *([format_pct(100.0 * value / whole)] if has_share else []),
            ),
            coloring.style(layer),
            layer is current,
            target=layer_target(layer, text + unit),
        )

    bars = list(map(draw, layers))
    headings = ("#", coloring.column.title, quantity.column.title, *(["%"] if has_share else []))

    def rest(first: int) -> str:
        others = layers[first:]
        return f"and {len(others)} more" + (f": {format_pct(share(others))} %" if has_share else "")

    of_engine = f", {format_pct(share(layers))} % of the engine" if has_share else ""
    words = (
        f"{quantity.title} of {plural(len(layers), 'layer')}, the {quantity.superlative} first"
        f"{quantity.sum_text}{of_engine}; colours show {coloring.column.name}."
    )
    keys = coloring.legend(layer for layer in layers if quantity.values[layer.index])
    most = _MOST_CHOSEN_BARS if subject.is_filtered else _MOST_BARS
    names, by_name = short_names(subject.engine), {layer.name: layer for layer in layers}
    form = Bars(
        bars,
        headings,
        quantity.axis,
        keys,
        rest,
        most,
        fit=lambda name, width: names.fit(by_name[name], width),
    )
    return Figure((words,), quantity.describe_missing("left out"), form)


def layer_distribution(subject: Subject) -> Figure:
    """Draw the distribution of a value over the layers."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    quantity = find_quantity(subject)
    ordered = sorted(value for value in quantity.values.values() if value is not None)
    if not ordered:
        return Figure((quantity.explain_nothing(subject.engine),))
    scaled = sorted(value for layer in quantity.known if (value := quantity.scaled(layer)) is not None)
    marks = [
        Mark(
            percentile(scaled, pct),
            f"p{pct:g} {quantity.words(percentile(ordered, pct))}",
            short=f"p{pct:g}",
        )
        for pct in _MARKED_PERCENTILES
    ]
    figures = [f"{mark.label}{quantity.unit}" for mark in marks]
    words = (
        f"{quantity.title} of {plural(len(ordered), 'layer')}: {', '.join(figures)}, "
        f"max {quantity.words(ordered[-1])}{quantity.unit}{quantity.sum_text.replace(', ', '; in all ', 1)}."
    )
    limits = (min(0.0, scaled[0]), scaled[-1])
    form = Histogram(
        partial(count_bins, scaled, limits),
        quantity.axis,
        "layers",
        marks,
        partial(_bin_target, quantity, ordered),
    )
    return Figure((words,), quantity.describe_missing("left out"), form, marks_layer=False)


def _bin_target(
    quantity: Quantity, ordered: Sequence[float], low: float, high: float, below: int, count: int
) -> Target:
    """Return the target of a bin, which filters by its smallest and largest value, since the next bin has its end."""
    values, name = ordered[below : below + count], quantity.column.name
    return Target(
        f"{low:.4g} to {high:.4g} {quantity.scale[1]}".rstrip(),
        plural(count, "layer"),
        filter_text=f"{name}>={values[0]!r} {name}<={values[-1]!r}",
    )


CHARTS = (
    Chart(
        "distribution",
        "Distribution",
        "Distribution of layer times or other values.",
        layer_distribution,
        has_value=True,
        needs=has_times,
    ),
)
