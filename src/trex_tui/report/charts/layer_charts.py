"""What happens along the execution: the time of each layer, and the memory for activations."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from trex_tui.analysis.memory import ActivationMemory, activation_memory
from trex_tui.analysis.structure import UNKNOWN, Total, sum_latency_ms, total_by
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer
from trex_tui.report.charts.cells import (
    BAR_SIGN,
    Curve,
    Scale,
    Tick,
    bar_entries,
    column_span,
    count_scale,
    draw_columns,
    draw_curves,
    kind_entries,
    largest_of_columns,
    legend_rows,
    lying_bar,
    nice_step,
    plot_area,
    put_row,
)
from trex_tui.report.charts.figure import HERE, HERE_STYLE, NO_LAYER, NO_PROFILE, WARNING, Figure, Subject
from trex_tui.report.charts.grid import Part, Span, apart, cells_of, shorten
from trex_tui.text import format_bytes, format_count, format_ms, format_pct, plural

_PEAK, _BOTH = "▲", "◆"
"""The layer with most memory, and where that is the current one."""
_LEAST_WITH_GAP = 3
"""Columns that a layer has if one of them is to stay empty, so that neighbours can be told apart."""


@dataclass(frozen=True, slots=True)
class Along:
    """What the charts are of: a value for each of some layers in execution order.

    Attributes:
        layers: Whose values.
        values: In the unit of `y`.
        styles: Of each bar.
        y: The scale.
        legend: What the colours mean.
        marks: Places of layers with a sign and a style.
    """

    layers: Sequence[Layer]
    values: Sequence[float]
    styles: Sequence[str]
    y: Scale
    legend: Sequence[Span] = ()
    marks: Sequence[tuple[int | None, str, str]] = ()

    def paint(self, part: Part) -> None:
        """Draw it into a part of a grid."""
        area = plot_area(part, index_ticks(self.layers, part.width // 10), "layer", self.y, self.legend)
        _draw_along(area, [value / self.y.high for value in self.values], self.styles)
        for place, sign, style in self.marks:
            _mark_place(area, place, len(self.layers), sign, style)


def layers_figure(subject: Subject, width: int) -> Figure:
    """Time of each layer, in the order in which they run."""
    layers = subject.layers
    if not layers:
        return Figure((NO_LAYER,))
    total = sum_latency_ms(layers)
    if total is None:
        return Figure((NO_PROFILE,))
    slowest = max(layers, key=lambda layer: layer.latency_ms or 0.0)
    words = (
        f"Time of each layer in execution order: {plural(len(layers), 'layer')}, {format_ms(total)} ms; the slowest is layer "
        f"{slowest.index} with {format_ms(slowest.latency_ms)} ms.",
        *_crowd_words(len(layers), width),
    )
    untimed = sum(layer.latency_ms is None for layer in layers)
    missing = (f"{plural(untimed, 'layer')} without a time stand empty.",) if untimed else ()
    data = _times_of(subject)
    return Figure(words, missing, data.paint, data=data)


def _crowd_words(count: int, width: int) -> tuple[str, ...]:
    if count <= width:
        return ()
    return (f"About {-(-count // width)} layers share a column, which shows the slowest of them.",)


def _times_of(subject: Subject) -> Along:
    layers = subject.layers
    times = [layer.latency_ms or 0.0 for layer in layers]
    y = count_scale(max(times), "ms")
    current = subject.shown_current
    here = next((place for place, layer in enumerate(layers) if layer is current), None)
    styles = [subject.palette.kind(layer.kind) for layer in layers]
    return Along(
        layers, times, styles, y, bar_entries(layers, subject.palette.kind), [(here, HERE, HERE_STYLE)]
    )


def index_ticks(layers: Sequence[Layer], most: int) -> list[Tick]:
    """The indices of layers, which a filter leaves gaps in."""
    count = len(layers)
    step = max(1, -(-count // max(1, most)))
    for round_step in (1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500, 1000, 2000, 2500, 5000):
        if round_step >= step:
            step = round_step
            break
    return [((place + 0.5) / count, str(layers[place].index)) for place in range(0, count, step)]


def _draw_along(area: Part, heights: Sequence[float], styles: Sequence[str]) -> None:
    """A bar for each value over the whole width; the largest where several share a column."""
    count, width = len(heights), area.width
    if count > width:
        shown = largest_of_columns(heights, width)
        draw_columns(area, [heights[place] for place in shown], [styles[place] for place in shown])
        return
    columns, looks = [0.0] * width, [""] * width
    for place, height in enumerate(heights):
        start, end = column_span(place, count, width)
        end -= end - start >= _LEAST_WITH_GAP
        columns[start:end] = [height] * (end - start)
        looks[start:end] = [styles[place]] * (end - start)
    draw_columns(area, columns, looks)


def _mark_place(area: Part, place: int | None, count: int, mark: str, style: str) -> None:
    """Colour the bar of a value, and put a mark above it, or into its top where there is no room."""
    if place is None:
        return
    start, end = column_span(place, count, area.width)
    end -= end - start >= _LEAST_WITH_GAP
    top = next((row for row in range(area.height) if not area.is_blank(start, row, end - start)), area.height)
    for row in range(top, area.height):
        area.restyle(start, row, style, end - start)
    area.put((start + end - 1) // 2, max(0, top - 1), mark, style)


@lru_cache(maxsize=4)
def _activations(engine: Engine) -> ActivationMemory:
    return activation_memory(engine)


def memory_figure(subject: Subject, width: int) -> Figure:
    """What is live while each layer runs."""
    engine = subject.engine
    found = _activations(engine)
    if found.peak_bytes is None or found.peak_index is None:
        return Figure(("No tensor of known size is listed: what is live while a layer runs is unknown.",))
    current = subject.current
    here = f"; {format_bytes(found.live_bytes[current.index])} at layer {current.index}" if current else ""
    mark = _BOTH if current and current.index == found.peak_index else _PEAK
    words = (
        f"Memory for activations while each layer runs: at most {format_bytes(found.peak_bytes)} at layer "
        f"{found.peak_index} ({mark}), in {plural(len(found.live_at_peak), 'tensor')}{here}.",
        *(("Of all layers: what is live does not depend on the filter.",) if subject.is_filtered else ()),
        *_memory_crowd(len(engine.layers), width),
    )
    missing: tuple[str, ...] = ()
    if found.unknown:
        missing = (f"{plural(found.unknown, 'tensor')} of unknown size left out: the peak is a lower bound.",)
    data = _memory_of(subject, found)
    return Figure(words, missing, data.paint, data=data)


def _memory_crowd(count: int, width: int) -> tuple[str, ...]:
    if count <= width:
        return ()
    return (f"About {-(-count // width)} layers share a column, which shows the most.",)


def _memory_of(subject: Subject, found: ActivationMemory) -> Along:
    layers = subject.engine.layers
    unit, words = _bytes_unit(found.peak_bytes or 0)
    y = count_scale((found.peak_bytes or 0) / unit, f"live activations, {words}")
    values = [size / unit for size in found.live_bytes]
    marks: list[tuple[int | None, str, str]] = [(found.peak_index, _PEAK, WARNING)]
    if subject.current is not None:
        is_peak = subject.current.index == found.peak_index
        marks.append((subject.current.index, _BOTH if is_peak else HERE, HERE_STYLE))
    return Along(layers, values, ["$primary"] * len(values), y, (), marks)


def _bytes_unit(size: int) -> tuple[float, str]:
    for power, words in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return float(1024**power), words
    return 1.0, "B"


MOST_OF_IT = 80.0
"""Percent of the time that the chart names the layers of."""


@dataclass(frozen=True, slots=True)
class Pareto:
    """Layers by time.

    Attributes:
        layers: Those with a time, the slowest first.
        shares_pct: Share of each in the time of all of them.
        cumulative_pct: Share of the first, the first two, and so on; the last is 100.
        most: How many layers take `MOST_OF_IT` percent together.
    """

    layers: tuple[Layer, ...]
    shares_pct: tuple[float, ...]
    cumulative_pct: tuple[float, ...]
    most: int


def pareto(layers: Sequence[Layer]) -> Pareto | None:
    """Sort layers by time and add up; None if none takes any."""
    timed = sorted(
        (layer for layer in layers if layer.latency_ms is not None),
        key=lambda layer: (-(layer.latency_ms or 0.0), layer.index),
    )
    sums = list(accumulate(layer.latency_ms or 0.0 for layer in timed))
    if not sums or sums[-1] <= 0:
        return None
    shares = tuple(100.0 * (layer.latency_ms or 0.0) / sums[-1] for layer in timed)
    cumulative = tuple(100.0 * one / sums[-1] for one in sums)
    most = next(place for place, pct in enumerate(cumulative, start=1) if pct >= MOST_OF_IT)
    return Pareto(tuple(timed), shares, cumulative, most)


def pareto_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001 - every chart is asked so
    """Cumulative share of the time over the layers, the slowest first."""
    if not subject.layers:
        return Figure((NO_LAYER,))
    found = pareto(subject.layers)
    if found is None:
        return Figure((NO_PROFILE,))
    count = len(found.layers)
    total = sum(layer.latency_ms or 0.0 for layer in found.layers)
    few = 100.0 * found.most / count
    parts = [
        f"Share of the time over layers, the slowest first: {found.most} of {plural(count, 'layer')} ({few:.0f} %) take "
        f"{found.cumulative_pct[found.most - 1]:.1f} % of {format_ms(total)} ms."
    ]
    place = _place_of(subject, found)
    if place is not None and subject.current is not None:
        parts.append(
            f"Layer {subject.current.index} is number {place + 1} by time; up to it, {found.cumulative_pct[place]:.1f} %."
        )
    untimed = len(subject.layers) - count
    missing = (f"{plural(untimed, 'layer')} without a time left out.",) if untimed else ()
    return Figure(tuple(parts), missing, lambda part: _paint(part, found, place), data=found)


def _place_of(subject: Subject, found: Pareto) -> int | None:
    return next((place for place, layer in enumerate(found.layers) if layer is subject.current), None)


def _paint(part: Part, found: Pareto, here: int | None) -> None:
    count = len(found.layers)
    y = Scale(0.0, 100.0, "% of the time")
    legend = [Span("━ added up", "$secondary"), Span("  ■ each layer", "$primary")]
    area = plot_area(part, rank_ticks(count, part.width // 10), "layers, the slowest first", y, legend)
    _draw_shares(area, found.shares_pct)
    xs = [(place + 0.5) / count for place in range(count)]
    ys = [pct / 100.0 for pct in found.cumulative_pct]
    step = max(
        1, count // (4 * area.width)
    )  # the curve never falls: between two of its points it cannot stray
    kept = sorted({*range(0, count, step), count - 1})
    draw_curves(area, [Curve([xs[place] for place in kept], [ys[place] for place in kept], "$secondary")])
    _mark_most(area, found)
    if here is not None:
        column = min(area.width - 1, int(xs[here] * area.width))
        area.put(column, area.height - 1 - y.cell(found.cumulative_pct[here], area.height), HERE, HERE_STYLE)


def _draw_shares(area: Part, shares: Sequence[float]) -> None:
    count, width = len(shares), area.width
    if count > width:
        values = [shares[place] for place in largest_of_columns(shares, width)]
    else:
        values = [0.0] * width
        for place, share in enumerate(shares):
            start, end = column_span(place, count, width)
            values[start : end - (end - start > 2)] = [share] * (end - start - (end - start > 2))
    draw_columns(area, [value / 100.0 for value in values], ["$primary"] * width)


def _mark_most(area: Part, found: Pareto) -> None:
    """A line across at 80 %, one down where it is reached, and the number of layers."""
    row = area.height - 1 - int(MOST_OF_IT / 100.0 * area.height)
    column = min(area.width - 1, int((found.most - 0.5) / len(found.layers) * area.width))
    for x in range(area.width):
        if area.is_blank(x, row):
            area.put(x, row, "┄", WARNING)
    for y in range(row + 1, area.height):
        if area.is_blank(column, y):
            area.put(column, y, "┊", WARNING)
    area.put(column, row, "▲", WARNING)
    label = f"{MOST_OF_IT:.0f} % in {plural(found.most, 'layer')}"
    _ = area.label(column + 2, row + 1, label, WARNING) or area.label(column + 2, row + 2, label, WARNING)


def rank_ticks(count: int, most: int) -> list[Tick]:
    """Round ranks out of `count`, and the first."""
    step = max(1, round(nice_step(count / max(2, most))))
    ranks = [1, *range(step, count + 1, step)] if step > 1 else list(range(1, count + 1))
    return [((rank - 0.5) / count, str(rank)) for rank in ranks]


NO_TACTIC = "(no kernel named)"
LEAST_BAR = 8
"""A bar of fewer cells tells nothing: before that, names are cut."""
_HASH = re.compile(r"_0x[0-9a-fA-F]{6,}|_[0-9a-f]{16,}$|_myl\d+_\d+$")
_GAP = 2
_HIGH = 14
"""From so many rows on, a legend may have two of them."""
_MUTED = "$muted"


@lru_cache(maxsize=4096)
def tactic_group(name: str | None) -> str:
    """A kernel's name without the hash that tells generated kernels of the same operators apart."""
    return _HASH.sub("", name) if name else NO_TACTIC


def _kind(layer: Layer) -> str:
    return layer.kind.value


def _precision(layer: Layer) -> str | None:
    return layer.precision.value if layer.precision else None


def _tactic(layer: Layer) -> str:
    return tactic_group(layer.tactic)


def kind_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001 - every chart is asked so
    """Time by what the layers do."""
    kinds = {kind.value: kind for kind in LayerKind}
    return _figure(subject, "kind", _kind, lambda key: subject.palette.kind(kinds[key]))


def precision_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Time by the type that layers compute in."""
    if subject.layers and not any(map(_precision, subject.layers)):
        return Figure(("No layer here tells the precision it computes in.",))
    precisions = {one.value: one for one in DataType}
    return _figure(
        subject, "precision", _precision, lambda key: subject.palette.precision(precisions.get(key))
    )


def tactic_figure(subject: Subject, width: int) -> Figure:  # noqa: ARG001
    """Time by kernel."""
    if subject.layers and not any(layer.tactic for layer in subject.layers):
        return Figure(("No layer here names its kernel.",))
    kinds = _main_kinds(subject.layers)

    def style(key: str) -> str:
        return _MUTED if key == NO_TACTIC else subject.palette.kind(kinds[key])

    shown = Counter(kind for key, kind in kinds.items() if key != NO_TACTIC)
    legend = kind_entries(shown, subject.palette.kind, lambda _: BAR_SIGN)
    figure = _figure(subject, "kernel", _tactic, style, legend)
    hashed = {layer.tactic for layer in subject.layers if layer.tactic and _tactic(layer) != layer.tactic}
    if hashed and figure.paint:
        note = f" Hashes are left out of the names of {plural(len(hashed), 'generated kernel')}."
        return replace(figure, words=(figure.words[0] + note, *figure.words[1:]))
    return figure


def _main_kinds(layers: Sequence[Layer]) -> dict[str, LayerKind]:
    """Of each kernel, the kind of layers that it runs longest for."""
    times: dict[str, dict[LayerKind, float]] = {}
    for layer in layers:
        of_kernel = times.setdefault(_tactic(layer), {})
        of_kernel[layer.kind] = of_kernel.get(layer.kind, 0.0) + (layer.latency_ms or 0.0)
    return {kernel: max(of_kernel, key=of_kernel.__getitem__) for kernel, of_kernel in times.items()}


def _figure(
    subject: Subject,
    what: str,
    key: Callable[[Layer], str | None],
    style: Callable[[str], str],
    legend: Sequence[Span] = (),
) -> Figure:
    if not subject.layers:
        return Figure((NO_LAYER,))
    totals = total_by(subject.engine, key, subject.layers)
    times = [total.latency_ms for total in totals if total.latency_ms is not None]
    current = subject.shown_current
    here = (key(current) or UNKNOWN) if current is not None else None
    bars = Shares(totals, style, here, bool(times), legend)
    counted = f"{plural(len(subject.layers), 'layer')} in {plural(len(totals), what)}"
    missing: tuple[str, ...] = ()
    if not times:
        words = f"Layers by {what}: {counted}."
        missing = (
            "No time is known: the bars are numbers of layers. `trtexec --exportProfile` tells times.",
        )
    else:
        share = sum(total.latency_pct or 0.0 for total in totals)
        words = f"Time by {what}: {counted}, {format_ms(sum(times))} ms, {format_pct(share)} % of the engine."
        untimed = sum(layer.latency_ms is None for layer in subject.layers)
        if untimed:
            missing = (f"{plural(untimed, 'layer')} without a time count as layers only.",)
    return Figure((words,), missing, bars.paint, data=bars)


@dataclass(frozen=True, slots=True)
class Shares:
    """Totals as lines: name, number of layers, milliseconds, share, bar; the legend tells what the colours mean."""

    totals: Sequence[Total]
    style: Callable[[str], str]
    here: str | None
    is_timed: bool
    legend: Sequence[Span] = ()

    def cells(self, total: Total) -> tuple[str, ...]:
        """The numbers of a line."""
        if not self.is_timed:
            return (format_count(total.layers),)
        return (format_count(total.layers), format_ms(total.latency_ms), format_pct(total.latency_pct))

    def size(self, total: Total) -> float:
        """How long its bar is: milliseconds, or layers where no time is known."""
        return (total.latency_ms or 0.0) if self.is_timed else float(total.layers)

    @property
    def headings(self) -> tuple[str, ...]:
        """Of the numbers of a line."""
        return ("n", "ms", "%") if self.is_timed else ("n",)

    def paint(self, part: Part) -> None:
        """Draw it into a part of a grid."""
        legend = legend_rows(self.legend, part.width, part.width, 2 if part.height >= _HIGH else 1)
        for row, spans in enumerate(legend):
            put_row(part, row, spans)
        part = part.part(0, len(legend) - 1, part.width, part.height - len(legend) + 1)
        rows = part.height - 2
        shown = list(self.totals) if len(self.totals) <= rows else list(self.totals[: rows - 1])
        step = 2 if 2 * len(self.totals) <= rows + 1 else 1
        table = [self.headings, *map(self.cells, shown)]
        widths = [max(len(row[place]) for row in table) for place in range(len(self.headings))]
        figures = sum(widths) + _GAP * len(widths)
        longest = max(len(cells_of(shorten(total.key, part.width))) for total in shown)
        names = min(longest, max(12, part.width - 2 - figures - _GAP - max(LEAST_BAR, part.width // 4)))
        start, bar = 2 + names + figures + _GAP, part.width - 2 - names - figures - _GAP
        labels = apart([total.key for total in shown], names)
        self._put_cells(part, 1, self.headings, widths, 2 + names, _MUTED)
        top = max(map(self.size, self.totals)) or 1.0
        for place, total in enumerate(shown):
            row, style = 2 + place * step, self.style(total.key)
            is_here = total.key == self.here
            if is_here:
                part.put(0, row, HERE, HERE_STYLE)
            part.put(2, row, labels[place], HERE_STYLE if is_here else style)
            self._put_cells(part, row, self.cells(total), widths, 2 + names, "")
            part.put(start, row, lying_bar(self.size(total) / top, bar), style)
        self._tell_rest(part, self.totals[len(shown) :])

    @staticmethod
    def _put_cells(
        part: Part, row: int, cells: Sequence[str], widths: Sequence[int], x: int, style: str
    ) -> None:
        for cell, width in zip(cells, widths, strict=True):
            x += _GAP + width
            part.put(x - len(cell), row, cell, style)

    def rest_words(self, rest: Sequence[Total]) -> str:
        """What the lines that are left out add up to."""
        layers = sum(total.layers for total in rest)
        time = sum(total.latency_ms or 0.0 for total in rest)
        words = f"and {len(rest)} more: {plural(layers, 'layer')}"
        return f"{words}, {format_ms(time)} ms" if self.is_timed else words

    def _tell_rest(self, part: Part, rest: Sequence[Total]) -> None:
        if not rest:
            return
        words = self.rest_words(rest)
        hides_here = any(total.key == self.here for total in rest)
        part.put(2, part.height - 1, shorten(words, part.width - 2), HERE_STYLE if hides_here else _MUTED)
        if hides_here:
            part.put(0, part.height - 1, HERE, HERE_STYLE)
