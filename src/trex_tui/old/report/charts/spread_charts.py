"""Spread of the single times of layers as box plots, where the profile has them."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.old.analysis.layer_samples import count_outliers, has_samples
from trex_tui.old.analysis.statistics import median_of_sorted
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.absence import no_layer
from trex_tui.old.report.charts.figure import (
    NO_SAMPLES,
    Bar,
    Bars,
    Box,
    Chart,
    Figure,
    Key,
    Subject,
    kind_keys,
    layer_target,
)
from trex_tui.old.text import format_ms, format_pct, plural

_WHISKER = 1.5
"""Whiskers end at the last time within this many interquartile ranges of the box (Tukey)."""


def make_box(times_ms: Sequence[float]) -> Box:
    """Return the box of at least one time."""
    ordered = sorted(times_ms)
    count = len(ordered)
    middle = median_of_sorted(ordered)
    first = median_of_sorted(ordered[: (count + 1) // 2])
    third = median_of_sorted(ordered[count // 2 :])
    reach = _WHISKER * (third - first)
    inside = [time for time in ordered if first - reach <= time <= third + reach]
    far = tuple(time for time in ordered if not first - reach <= time <= third + reach)
    return Box(inside[0], first, middle, third, inside[-1], far)


def layer_spreads(subject: Subject) -> Figure:
    """Draw a box of the single times of each layer, the largest median first."""
    if not subject.layers:
        return Figure((no_layer(subject.engine),))
    sampled = [
        (layer, spread)
        for layer in subject.layers
        if layer.latency is not None and (spread := layer.latency.spread) is not None and spread.samples
    ]
    if not sampled:
        return Figure((subject.engine.explain_absence(NO_SAMPLES, ArtifactKind.PROFILE),))
    boxed = [(layer, spread, make_box(spread.times_ms)) for layer, spread in sampled]
    boxed.sort(key=lambda entry: (-entry[2].middle, entry[0].index))
    counts = {layer.index: count_outliers(subject.engine, layer) or 0 for layer, _ in sampled}
    # The axis ends at the 99th percentiles: one stray time would squeeze all boxes into a line.
    top = max(max(box.high, spread.p99_ms or 0.0) for _, spread, box in boxed)
    bars = [
        Bar(
            layer.name,
            box.middle,
            (
                str(layer.index),
                format_ms(box.middle),
                format_pct(spread.cv_pct),
            ),
            subject.palette.kind(layer.kind),
            layer is subject.shown_current,
            target=layer_target(
                layer,
                f"median {format_ms(box.middle)} ms  p99 {format_ms(spread.p99_ms)} ms  "
                f"max {format_ms(max(spread.times_ms))} ms  {counts[layer.index]}/{spread.samples} outliers",
            ),
            box=box,
        )
        for layer, spread, box in boxed
    ]
    beyond = sum(time > top for _, spread, _ in boxed for time in spread.times_ms)
    samples = sum(spread.samples for _, spread in sampled)
    words = (
        f"{plural(samples, 'call')} of {plural(len(sampled), 'layer')}: box from the first to the third quartile, line at "
        f"the median, whiskers to {_WHISKER:g} interquartile ranges, dots beyond."
    )
    missing = [f"{plural(beyond, 'time')} beyond the axis, drawn at its end."] if beyond else []
    untimed = len(subject.layers) - len(sampled)
    missing += [f"{plural(untimed, 'layer')} without single times not shown."] if untimed else []
    layers: list[Layer] = [layer for layer, _ in sampled]
    weights = {kind: sum(layer.kind is kind for layer in layers) for kind in {layer.kind for layer in layers}}
    keys: list[Key] = kind_keys(weights, subject.palette.kind, lambda _: "■")
    headings = ("#", "median ms", "CV %")
    form = Bars(
        bars, headings, "time of a call, ms", keys, lambda first: f"and {len(bars) - first} more", top=top
    )
    return Figure((words,), tuple(missing), form)


CHARTS = (
    Chart(
        "spread",
        "Spread",
        "Spread of the single times of each layer.",
        layer_spreads,
        needs=has_samples,
    ),
)
