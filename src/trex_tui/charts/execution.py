"""What happens along the execution: the time of each layer, and the memory for activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from trex_tui.analysis.memory import ActivationMemory, activation_memory
from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.charts.axes import Scale, Tick, count_scale, plot_area
from trex_tui.charts.bars import column_span, draw_columns, largest_of_columns
from trex_tui.charts.figure import HERE, HERE_STYLE, NO_LAYER, NO_PROFILE, WARNING, Figure, Subject
from trex_tui.charts.grid import Part, Span
from trex_tui.charts.legend import bar_entries
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.text import format_bytes, format_ms, plural

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
