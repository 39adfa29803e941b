"""Parts of a chart before it has a size: scales, marks, legends, six forms, and sentences with the numbers.

A chart is one function that takes a `Subject` and returns a `Figure`. `cells` draws it in a terminal, `svg_painter` as SVG.
Styles are theme tokens (`bold $accent`), or whatever the palette of the subject gives.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from operator import itemgetter
from typing import NamedTuple

from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.colours import kind_style

HERE, HERE_SIGN, HERE_STYLE = "●", "◉", "bold $current"
"""Signs of the current layer beside bars and among points, and the style of both."""
BAR_SIGN = "■"
PRIMARY, SECONDARY, ACCENT, WARNING, MUTED = "$primary", "$secondary", "$accent", "$warning", "$muted"
NO_SAMPLES = "No single times of layers (needs an IProfiler that writes {layer: [ms, …]})."
_LEAST_LOG_TICKS = 3
"""Minimum number of round values in range; with fewer, a logarithmic axis has evenly spaced ticks."""

_LEAST_LOG = 1e-150
"""Smallest value on a logarithmic axis; its reciprocal is the largest."""

Tick = tuple[float, str]
"""Position on the axis, 0 to 1, and label."""


# Scales


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to places.

    Attributes:
        low, high: The values at the ends; `low` is less than `high`.
        title: Title of the axis, with its unit.
        is_log: True for a logarithmic scale; both ends are above zero.
        words: Formats a value as label; by default with as many digits as the steps need.
        is_count: True if values and ticks are whole numbers.
    """

    low: float
    high: float
    title: str
    is_log: bool = False
    words: Callable[[float], str] | None = None
    is_count: bool = False

    def fraction(self, value: float) -> float:
        """Return the position of a value, 0 to 1; outside that for values out of range."""
        if self.is_log:
            low = math.log(self.low)
            return (math.log(max(value, _LEAST_LOG)) - low) / (math.log(self.high) - low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self, most: int) -> list[Tick]:
        """Return round values with different labels, at most `most` if they are evenly spaced."""
        values, digits = self._log_values(most) if self.is_log else self._linear_values(most)
        words = self.words or (lambda value: f"{value:.{digits}f}")
        by_label: dict[str, float] = {}
        for value in values:
            by_label.setdefault(words(value), value)
        return [(self.fraction(value), label) for label, value in by_label.items()]

    def _linear_values(self, most: int) -> tuple[list[float], int]:
        step = nice_step((self.high - self.low) / max(1, most))
        if self.is_count:
            step = max(1.0, math.ceil(step))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        digits = next(
            (
                count
                for count in range(16)
                if round(step * 10**count) >= 1 and abs(step * 10**count - round(step * 10**count)) < 1e-6
            ),
            16,
        )
        return [number * step for number in range(first, min(last, first + 99) + 1)], digits

    def _log_values(self, most: int) -> tuple[list[float], int]:
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for factors in ((1, 2, 5), (1, 3), (1,)):
            values = [factor * 10.0**power for power in range(first, last + 1) for factor in factors]
            values = [value for value in values if self.low * 0.999 <= value <= self.high * 1.001]
            if len(values) <= most:
                break
        if len(values) < _LEAST_LOG_TICKS:
            return self._linear_values(most)
        return values[:: -(-len(values) // max(1, most))], max(0, -math.floor(math.log10(values[0]) + 1e-9))


def nice_step(least: float) -> float:
    """Return the smallest of 1, 2, 2.5 and 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(max(least, 1e-300)))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= least * (1 - 1e-9))


def log_scale(values: Sequence[float], title: str, words: Callable[[float], str]) -> Scale:
    """Return a logarithmic scale around values above zero, with a margin."""
    # A quotient of a damaged file's values, or of their margins, may be no float.
    low, high = (min(max(value, _LEAST_LOG), 1 / _LEAST_LOG) for value in (min(values), max(values)))
    margin = math.exp(0.04 * (math.log(high) - math.log(low))) if high > low else 2.0
    return Scale(low / margin, high * margin, title, is_log=True, words=words)


def spread(values: Sequence[float], title: str, *, from_zero: bool = False) -> Scale:
    """Return a scale around values, without NaN.

    Args:
        title: Title of the axis, with its unit.
        from_zero: Begin at zero, unless a value is below.
    """
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = min(known), max(known)
    if from_zero and low >= 0:
        return Scale(0.0, high or 1.0, title)
    margin = (high - low) * 0.04 or abs(high) * 0.05 or 1.0
    return Scale(low - margin, high + margin, title)


# Legends and marks


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of a legend: sign, meaning and style. Without a sign, the text is used as it is."""

    sign: str
    text: str
    style: str


def kind_keys(
    weights: Mapping[LayerKind, float], style: Callable[[LayerKind], str], sign: Callable[[LayerKind], str]
) -> list[Key]:
    """Return keys of the kinds, the heaviest first; kinds of one sign and colour share a key: `■ gemm, attention`.

    Args:
        weights: Values for the order, such as milliseconds; kinds without one are omitted.
        style: Style of an entry, by the first of its kinds.
    """
    looks: dict[tuple[str, str], list[LayerKind]] = {}
    for kind in sorted((kind for kind in weights if weights[kind] > 0), key=lambda kind: -weights[kind]):
        # Bold is no colour: a block looks the same with it.
        looks.setdefault((sign(kind), kind_style(kind).rpartition(" ")[2]), []).append(kind)
    return [
        Key(mark, ", ".join(kind.value for kind in kinds), style(kinds[0]))
        for (mark, _), kinds in looks.items()
    ]


def bar_keys(weights: Iterable[tuple[LayerKind, float]], style: Callable[[LayerKind], str]) -> list[Key]:
    """Return the kinds of bars or blocks in their colours, by the sum of their weights."""
    sums: dict[LayerKind, float] = {}
    for kind, weight in weights:
        sums[kind] = sums.get(kind, 0.0) + weight
    return kind_keys(sums, style, lambda _: BAR_SIGN)


@dataclass(frozen=True, slots=True)
class Mark:
    """A broken line across the plot, with a label.

    Attributes:
        at: Value of x; for a level, of y.
        short: Label in a terminal, if it differs.
        top: Value of y at which an upright line ends; None for the full height.
    """

    at: float
    label: str
    style: str = ACCENT
    is_level: bool = False
    short: str | None = None
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """Layer or group shown by a bar, column, point or block.

    Attributes:
        label: Its name: a layer with its index, a kind, a range.
        figures: Its values, in words.
        layer: Index of the layer, in a chart of engines of the engine; None for a group.
        filter_text: Filter for the layers of a group; empty if there is none.
    """

    label: str
    figures: str = ""
    layer: int | None = None
    filter_text: str = ""

    @property
    def text(self) -> str:
        return f"{self.label}  {self.figures}" if self.figures else self.label


def layer_target(layer: Layer, figures: str) -> Target:
    """A layer with its values."""
    return Target(f"{layer.index}  {layer.name}", figures, layer.index)


# Forms


class BarPart(NamedTuple):
    """A part of a bar; `pattern` is its fill character in a terminal: a blank omits it in every format."""

    value: float
    label: str
    style: str
    pattern: str


class Box(NamedTuple):
    """A box plot on a line: ends of the whiskers, quartiles, median, and the values beyond the whiskers."""

    low: float
    first: float
    middle: float
    third: float
    high: float
    beyond: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Bar:
    """A line of a bar chart.

    Attributes:
        value: Length of its bar; None if unknown: no bar is drawn.
        texts: Figures beside its name, under the headings.
        is_here: True if the current layer is in it.
        parts: Parts of the bar from the left, which add up to its value; empty for a bar of one colour.
        target: Target of a selection; None if the bar cannot be selected.
        box: Box plot drawn instead of the bar.
    """

    label: str
    value: float | None
    texts: tuple[str, ...] = ()
    style: str = PRIMARY
    is_here: bool = False
    parts: tuple[BarPart, ...] = ()
    target: Target | None = None
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Horizontal bars with names and figures.

    Attributes:
        headings: Headings of the figures.
        unit: Meaning of the length of a bar.
        rest: Sum of the bars from an index on, in words, for bars that do not fit.
        most: Number of bars in a picture, which determines its height.
        first: Index of the first bar in a terminal that cannot show all.
        together: Number of bars in a group, between which there is no blank line.
        fit: Shortens a name to a number of characters, different from those of the other bars; by default `grid.apart`.
        top: Value at the end of the axis; None for that of the longest bar. Values of boxes beyond it are drawn at the end.
    """

    bars: Sequence[Bar]
    headings: Sequence[str] = ()
    unit: str = ""
    keys: Sequence[Key] = ()
    rest: Callable[[int], str] = lambda _: ""
    most: int = 25
    first: int = 0
    together: int = 1
    fit: Callable[[str, int], str] | None = None
    top: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """A line over columns: one value of the vertical axis per column."""

    name: str
    values: Sequence[float]
    style: str


@dataclass(frozen=True, slots=True)
class Flag:
    """A marked column: with a sign above it or, if there is a curve, on the curve."""

    index: int
    sign: str
    label: str
    style: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Vertical bars side by side; where several share a place, the largest.

    Attributes:
        values, styles: Value and style of each column.
        target: Target of a column, by its index.
        ticks: Positions from 0 to 1 with labels, for a maximum number.
        marks: Marks with x from 0 to 1.
    """

    values: Sequence[float]
    styles: Sequence[str]
    y: Scale
    x_title: str
    ticks: Callable[[int], Sequence[Tick]]
    target: Callable[[int], Target]
    keys: Sequence[Key] = ()
    curve: Curve | None = None
    marks: Sequence[Mark] = ()
    flags: Sequence[Flag] = ()


@dataclass(frozen=True, slots=True)
class Bins:
    """Counts in bins of equal width; together with those below and above, they cover all values."""

    low: float
    width: float
    counts: tuple[int, ...]
    below: int
    above: int

    @property
    def high(self) -> float:
        """Upper end of the last bin."""
        return self.low + self.width * len(self.counts)


@dataclass(frozen=True, slots=True)
class Histogram:
    """Histogram of values; `bins` counts them in a limited number of bins.

    Attributes:
        target: Target of a bin, by its ends, the number of values below it, and its count.
    """

    bins: Callable[[int], Bins]
    x_title: str
    y_title: str
    marks: Sequence[Mark] = ()
    target: Callable[[float, float, int, int], Target] | None = None


@dataclass(frozen=True, slots=True)
class Series:
    """Points joined by lines.

    Attributes:
        points: x and y in the units of the axes, NaN where unknown: the line has a gap there.
        sign: Sign in the legend of a terminal.
        is_faint: True for the background of another line.
        is_dense: True to draw minimum, maximum and median if there are more points than columns.
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: str = PRIMARY
    sign: str = "━"
    is_faint: bool = False
    is_dense: bool = False

    def value_at(self, x: float) -> float | None:
        """Return y of the last point up to `x`, whose values ascend; None before the first, and in a gap."""
        index = bisect_right(self.points, x, key=itemgetter(0)) - 1
        value = self.points[index][1] if index >= 0 else math.nan
        return value if value == value else None


@dataclass(frozen=True, slots=True)
class Dot:
    """A point; `title` is the tooltip, `label` the text beside it, `place` the index as in `Target.layer`."""

    x: float
    y: float
    style: str = PRIMARY
    sign: str = "●"
    title: str = ""
    label: str = ""
    place: int | None = None


@dataclass(frozen=True, slots=True)
class Lines:
    """Values over other values.

    Attributes:
        x, y: The scales.
        ticks: Ticks of x that replace round values.
        keys: Legend of the marks, in addition to the series.
        dots: Labelled dots on the lines.
        limits: Values of y beyond which a point is drawn at the edge with a sign, in a terminal.
        has_legend: True if the series have different names.
        names_ends: True to write the name of each series at its end, in a terminal.
        target: Target of a point of the first series, by its index; by default the values of all series there.
    """

    series: Sequence[Series]
    x: Scale
    y: Scale
    ticks: Sequence[Tick] | None = None
    keys: Sequence[Key] = ()
    dots: Sequence[Dot] = ()
    marks: Sequence[Mark] = ()
    limits: tuple[float, float] | None = None
    has_legend: bool = True
    names_ends: bool = False
    target: Callable[[int], Target] | None = None

    def target_of(self, index: int) -> Target:
        """Return the target of a point of the first series."""
        if self.target is not None:
            return self.target(index)
        x, _ = self.series[0].points[index]
        values = [(each.name, each.value_at(x)) for each in self.series]
        figures = [f"{name} {value:.5g}" for name, value in values if value is not None]
        return Target(f"{x:.5g} {self.x.title}", "  ".join(figures))


@dataclass(frozen=True, slots=True)
class Roof:
    """A limit in a chart of points: points joined by lines.

    Attributes:
        name: Name at its end.
        detail: Further text beside the name, if there is room.
        knee: A point of it with a label.
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: str = SECONDARY
    detail: str = ""
    knee: tuple[float, float, str] | None = None


@dataclass(frozen=True, slots=True)
class Points:
    """Points, the last on top.

    Attributes:
        x, y: The scales, which may be logarithmic.
        target: Target of a point, by its index; by default its title.
        roofs: Roofs, the highest first.
        slope: A point on the slope of all roofs, with its label.
        roof_key: Description of the roofs, for the legend.
    """

    dots: Sequence[Dot]
    x: Scale
    y: Scale
    keys: Sequence[Key] = ()
    target: Callable[[int], Target] | None = None
    marks: Sequence[Mark] = ()
    roofs: Sequence[Roof] = ()
    slope: tuple[float, float, str] | None = None
    roof_key: str = ""

    def target_of(self, index: int) -> Target:
        return self.target(index) if self.target else Target(self.dots[index].title)


@dataclass(frozen=True, slots=True)
class IcicleBlock:
    """A module or a layer in the icicle.

    Attributes:
        label: Name of the module or layer; `+3` for parts too narrow to distinguish, which share a block.
        size: Milliseconds or, without any time, number of layers.
        start, width: Position and width in the units of the subject's width.
        depth: Depth in the hierarchy; 0 for all layers.
        kind: Kind with most of its time.
        is_here: True if the current layer is in it.
        inside: The blocks below, whose widths add up to its width.
        layer: Index of the layer; None for a module.
    """

    label: str
    size: float
    start: int
    width: int
    depth: int
    kind: LayerKind | None
    is_here: bool
    inside: tuple[IcicleBlock, ...] = field(default=())
    layer: int | None = None

    @property
    def levels(self) -> int:
        """Maximum depth of the stacked blocks."""
        return 1 + max((block.levels for block in self.inside), default=0)

    def every(self) -> Iterable[IcicleBlock]:
        """Yield the block and all blocks on top of it."""
        yield self
        for block in self.inside:
            yield from block.every()


@dataclass(frozen=True, slots=True)
class Blocks:
    """An icicle: blocks on top of their parts.

    Attributes:
        style: Style of a block.
        size: Time and share of a block, in words.
    """

    root: IcicleBlock
    style: Callable[[IcicleBlock], str]
    size: Callable[[IcicleBlock], str]
    keys: Sequence[Key] = ()


Form = Bars | Columns | Histogram | Lines | Points | Blocks


# Charts


@dataclass(frozen=True, slots=True)
class Palette:
    """Styles with one meaning in the whole program."""

    kind: Callable[[LayerKind], str]
    precision: Callable[[DataType | None], str]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """Subject of a chart.

    Attributes:
        layers: Layers that match the filter, in execution order.
        is_filtered: True if there is a filter.
        current: The current layer, even if the filter hides it.
        axes: Two of `m`, `n` and `k`, for a chart of products.
        width: Available cells or pixels.
        value: Numeric column of a chart of layers; None for the default of the chart.
        color: Column shown by colour; None for the default of the chart.
        x: Column of the horizontal axis or of the groups; None for the default of the chart.
        size: Numeric column shown by the size of points; None for none.
    """

    engine: Engine
    layers: Sequence[Layer]
    palette: Palette
    is_filtered: bool = False
    current: Layer | None = None
    axes: tuple[str, str] = ("m", "n")
    width: int = 80
    value: LayerColumn | None = None
    color: LayerColumn | None = None
    x: LayerColumn | None = None
    size: LayerColumn | None = None

    @property
    def shown_current(self) -> Layer | None:
        """The current layer, unless the filter hides it."""
        current = self.current
        return current if current is not None and any(layer is current for layer in self.layers) else None


@dataclass(frozen=True, slots=True)
class Figure:
    """A chart before it has a size.

    Attributes:
        words: Sentences below it: its content and its numbers.
        missing: Sentences on omitted data, with the reason.
        form: The drawing; None if there is nothing to draw.
        marks_layer: True if it marks the current layer.
    """

    words: tuple[str, ...]
    missing: tuple[str, ...] = ()
    form: Form | None = None
    marks_layer: bool = True


@dataclass(frozen=True, slots=True)
class Chart:
    """An entry of the catalogue.

    Attributes:
        id: Stable name.
        title: A few words.
        help: Its content, in a sentence.
        make: Makes the figure.
        has_axes: True if it uses `Subject.axes`.
        has_value, has_color, has_x, has_size: True if it uses `Subject.value`, `color`, `x` and `size`.
        has_groups: True if `Subject.x` may be any column, whose values make groups; else it is numeric.
        needs: Returns whether an engine probably has the data; cheap.
        untimed: Title and help if it counts layers because none has a time; empty if it never does.
    """

    id: str
    title: str
    help: str
    make: Callable[[Subject], Figure]
    has_axes: bool = False
    has_value: bool = False
    has_color: bool = False
    has_x: bool = False
    has_size: bool = False
    has_groups: bool = False
    needs: Callable[[Engine], bool] = lambda _: True
    untimed: tuple[str, str] | tuple[()] = ()

    def titled(self, layers: Iterable[Layer]) -> Chart:
        """Return the chart with the title and help of what it draws of these layers."""
        if not self.untimed or any(layer.latency_ms is not None for layer in layers):
            return self
        title, help_ = self.untimed
        return replace(self, title=title, help=help_)


def has_times(engine: Engine) -> bool:
    """Return whether layers have times."""
    return engine.has_profile


def format_tick(value: float) -> str:
    """Return a short label: 0.01, 1, 100, 10 k, 1 M."""
    for limit, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= limit * 0.9999:
            size = 1e3 if prefix == "k" else limit
            return f"{value / size:g} {prefix}"
    return f"{value:g}"
