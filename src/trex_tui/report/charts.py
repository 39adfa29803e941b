"""Charts as data: a frame, two columns and a few words. The painters draw them in the terminal and outside.

Bins, sums, ranks and "unknown" are computed here. A new chart is a function and a line in `CHARTS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from trex_tui.analysis.device import find_device
from trex_tui.analysis.memory import live_bytes
from trex_tui.analysis.roofline import roofline
from trex_tui.analysis.timing import measured_queries
from trex_tui.column import Column, is_missing
from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_names, short_tactics
from trex_tui.errors import TrexError
from trex_tui.frames import TEXT, is_number
from trex_tui.report.absence import no_layers, no_profile, no_queries
from trex_tui.report.selection import named_column
from trex_tui.text import did_you_mean, join_words, plural

Kind = Literal["bar", "column", "histogram", "line", "scatter"]
UNKNOWN, OTHERS = "unknown", "others"
_BINS = 40
_WINDOWS = 200
"""Parts of a run that a chart over time shows."""
_MOST_COLORS = 8
_MOST_BARS = 20
_TAIL_FACTOR = 3.0
"""Latencies beyond this multiple of the distance of the 95th percentile from the median are counted, not drawn."""
_PERCENTILES = (50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
_INDEX = Column("index", "Layer", "Position in the order of execution.")
_LAYERS = Column("layers", "Layers", "Number of layers.")
_NAMES = {"latency_ms": "Time", "precision": "Precision", "latency_pct": "Share of the time", "name": "Layer"}
_WHOLE, _MOSTLY = 0.1, 0.9
"""Distance from a whole multiple of the timer's step, and the share of differences that are nearer to one."""


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """A chart.

    Attributes:
        kind: `bar` is horizontal with categories in y, `column` vertical over numbers; `histogram` has bins of equal width,
            `x` their middles.
        frame: What is drawn; the layers by their index, where its rows are layers.
        color: Column of categories that colors tell apart; stacked in bars.
        marks: Label -> place of a vertical line.
        ticks: Label -> place on the x axis; empty for round numbers.
        lines: Label -> points of a reference line.
        is_log: Both axes are logarithmic.
        note: What is not shown, or why nothing is.
        shorten: Cuts the label of a bar to a number of characters; None for a cut in its middle.
    """

    kind: Kind
    title: str
    frame: pd.DataFrame
    x: Column
    y: Column
    color: Column | None = None
    marks: Mapping[str, float] = field(default_factory=dict)
    ticks: Mapping[str, float] = field(default_factory=dict)
    lines: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)
    is_log: bool = False
    note: str = ""
    shorten: Callable[[str, int], str] | None = None


class Choice(NamedTuple):
    """What the user chose for a chart.

    Attributes:
        rows: Mask of the layers; None for all.
        top: Number of layers or groups; None for a number that fits.
    """

    rows: pd.Series | None = None
    x: str | None = None
    y: str | None = None
    color: str | None = None
    top: int | None = None


class ChartKind(NamedTuple):
    """An entry of `CHARTS`.

    Attributes:
        title: Its name in a list.
        help: What the chart shows, in a few words.
        axes: The columns that the user can choose: of `x`, `y` and `color`.
    """

    title: str
    help: str
    make: Callable[[Engine, Choice], Chart]
    axes: tuple[str, ...] = ()


def make_chart(engine: Engine, name: str, choice: Choice = Choice()) -> Chart:  # noqa: B008 - it is constant
    """Return a chart of an engine.

    Raises:
        TrexError: There is no such chart or column, or the chart has no such axis.
    """
    if name not in CHARTS:
        raise TrexError(
            f"no chart {name!r}; {did_you_mean(name, CHARTS) or f'choose one of {join_words(CHARTS)}'}"
        )
    kind = CHARTS[name]
    for axis in ("x", "y", "color"):
        if getattr(choice, axis) is not None and axis not in kind.axes:
            fitting = ", ".join(other for other, entry in CHARTS.items() if axis in entry.axes)
            option = "--color-by" if axis == "color" else f"--{axis}"
            raise TrexError(f"{option}: the chart {name} has a fixed one; choose a chart of {fitting}")
    return kind.make(engine, choice)


COLORS = {
    "convolution": (6, "#14696f"), "gemm": (3, "#b5651d"), "attention": (11, "#e0a030"), "pointwise": (2, "#3a6b2c"),
    "scale": (10, "#6da34d"), "reduction": (4, "#3040a8"), "normalization": (12, "#5a6ee0"), "softmax": (12, "#7a8cf0"),
    "pooling": (4, "#27408b"), "reformat": (1, "#a04000"), "quantize": (9, "#d98880"), "plugin": (5, "#96103c"),
    "fused": (13, "#8e5fb0"), "myelin": (13, "#8e5fb0"), UNKNOWN: (8, "#999999"), OTHERS: (7, "#bbbbbb"),
    "FP32": (1, "#5f1c06"), "TF32": (9, "#a0452f"), "FP16": (3, "#b58900"), "BF16": (11, "#d6b656"), "INT8": (6, "#0c8a7a"),
    "FP8": (14, "#2fd6b5"), "INT4": (4, "#16286e"), "FP4": (12, "#4f6bd6"), "median": (6, "#14696f"), "max": (3, "#b5651d"),
}  # fmt: skip
"""Word of a category -> color number of a terminal, whose theme chooses the tone, and color of a picture."""
_OTHER_COLORS = (
    *((6, "#14696f"), (3, "#b5651d"), (2, "#3a6b2c"), (4, "#3040a8"), (5, "#96103c")),
    *((14, "#2fa6a6"), (11, "#e0a030"), (10, "#6da34d"), (12, "#5a6ee0")),
)


def choose_colors(chart: Chart) -> dict[str, tuple[int, str]]:
    """Return the colors of the categories of a chart; that of the empty text for a chart without."""
    if chart.color is None:
        return {"": _OTHER_COLORS[0]}
    words = list(dict.fromkeys(chart.frame[chart.color.key].tolist()))
    known = {word: COLORS[word] for word in words if word in COLORS}
    free = [color for color in _OTHER_COLORS if color not in known.values()] or list(_OTHER_COLORS)
    others = [word for word in words if word not in known]
    return {**known, **{word: free[place % len(free)] for place, word in enumerate(others)}}


def choose_color(word: str | None) -> str:
    """Return the color of a category in a picture."""
    return COLORS.get(word or UNKNOWN, COLORS[OTHERS])[1]


# Layers


def _layers(engine: Engine, choice: Choice) -> Chart:
    """Times, or another number, of the layers in order of execution."""
    y, color = _number(engine, choice.y or "latency_ms"), named_column(engine, choice.color or "kind")
    frame, note = _known(engine, choice, y, color)
    if choice.top:
        frame = frame.nlargest(choice.top, y.key).sort_index()
    return Chart("column", f"{_name(y)} of the layers in order", frame, _INDEX, y, color, note=note)


def _bars(engine: Engine, choice: Choice) -> Chart:
    """The largest layers, or groups of layers, by a number."""
    x, color = named_column(engine, choice.x or "name"), named_column(engine, choice.color or "kind")
    if choice.y is None and x.key != "name" and len(engine) and not engine.has_profile:
        y, note = _LAYERS, no_profile(engine)
        frame = _chosen(engine, choice, x.key, color.key).assign(layers=1)
        frame[color.key] = _words(frame[color.key], color)
    else:
        y = _number(engine, choice.y or "latency_ms")
        frame, note = _known(engine, choice, y, color, x)
    if x.key == "name":  # equal names are different layers
        repeated = frame["name"].duplicated()
        names = [
            f"{name} #{index}" if is_repeated else name
            for index, name, is_repeated in zip(frame.index, frame["name"], repeated, strict=True)
        ]
        frame["name"] = pd.Series(names, frame.index, TEXT)
    short = {"name": short_names, "tactic": short_tactics}.get(x.key)
    shorten = short(engine).fit if short else None
    return replace(_rank(frame, x, y, color, choice.top or _MOST_BARS, note), shorten=shorten)


def _time_by(key: str, color: str | None = None) -> Callable[[Engine, Choice], Chart]:
    return lambda engine, choice: _bars(engine, choice._replace(x=key, color=color or key))


def _rank(frame: pd.DataFrame, by: Column, y: Column, color: Column | None, top: int, note: str) -> Chart:
    """Return bars of the sums by a column, the largest first; few large ones of many."""
    frame[by.key] = _formatted(frame[by.key], by)
    sums = frame.groupby(by.key)[y.key].sum(min_count=1).sort_values(ascending=False, kind="stable")
    if len(sums) > top:
        note = f"{top} of {plural(len(sums), _name(by).lower())} shown. {note}".rstrip()
    kept = sums.index[:top]
    keys = list(dict.fromkeys([by.key, *([color.key] if color else [])]))
    frame = frame[frame[by.key].isin(kept)].groupby(keys, sort=False)[y.key].sum(min_count=1).reset_index()
    order = {value: place for place, value in enumerate(kept)}
    frame = frame.sort_values(by.key, key=lambda values: values.map(order), kind="stable", ignore_index=True)
    title = f"{_name(y)} by {_name(by).lower()}"
    title += f" and {_name(color).lower()}" if color and color != by else ""
    return Chart("bar", title, frame, y, by, color if color and color.key in frame else None, note=note)


def _scatter(engine: Engine, choice: Choice) -> Chart:
    """Two numbers of each layer."""
    x, y = _number(engine, choice.x or "macs"), _number(engine, choice.y or "latency_ms")
    color = named_column(engine, choice.color or "kind")
    frame, note = _known(engine, choice, y, color, x)
    unknown = int(frame[x.key].isna().sum())
    note = f"{plural(unknown, 'layer')} without {x.title} not shown. {note}".rstrip() if unknown else note
    frame = frame.dropna(subset=[x.key])
    is_positive = len(frame) > 1 and bool((frame[[x.key, y.key]] > 0).all(axis=None))
    is_log = is_positive and bool(frame[x.key].max() > 100 * frame[x.key].min())
    return Chart("scatter", f"{_name(y)} against {_name(x)}", frame, x, y, color, is_log=is_log, note=note)


def _roofline(engine: Engine, choice: Choice) -> Chart:
    """Operations per second over operations per byte, with the roofs of the device."""
    x, y = engine.columns["flops_per_byte"], engine.columns["achieved_flops_per_s"]
    color = named_column(engine, choice.color or "kind")
    frame = _chosen(engine, choice, "name", x.key, y.key, color.key)
    count = len(frame)
    frame = frame.dropna(subset=[x.key, y.key])
    frame = frame[(frame[[x.key, y.key]].astype(float) > 0).all(axis=1)]
    frame[color.key] = _words(frame[color.key], color)
    hidden = count - len(frame)
    note = f"{plural(hidden, 'layer')} without operations, bytes or time not shown." if hidden else ""
    note = no_profile(engine) if not engine.has_profile else note
    return Chart(
        "scatter", "Roofline", frame, x, y, color, lines=_roofs(engine, frame[x.key]), is_log=True, note=note
    )


def _roofs(engine: Engine, intensities: pd.Series) -> dict[str, tuple[tuple[float, float], ...]]:
    """Return the slope of the memory and the ceilings of the precisions that the layers compute in."""
    bandwidth = find_device(engine).peak_bandwidth_bytes_per_s
    if bandwidth is None or intensities.empty:
        return {}
    left, right = (
        10 ** math.floor(math.log10(intensities.min())),
        10 ** math.ceil(math.log10(intensities.max())),
    )
    peaks = roofline(engine)["peak_flops_per_s"].groupby(engine.layers["precision"]).max().dropna()
    highest = max([*peaks, bandwidth * left])
    lines: dict[str, tuple[tuple[float, float], ...]] = {
        "memory": ((left, left * bandwidth), (highest / bandwidth, highest))
    }
    for word, peak in peaks.items():
        ridge = peak / bandwidth
        lines[f"{word} peak"] = ((ridge, peak), (max(right, 2 * ridge), peak))
    return lines


def _memory(engine: Engine, choice: Choice) -> Chart:
    """Activations that are live while each layer runs."""
    values = live_bytes(engine)
    frame = pd.DataFrame({"index": values.index, "live_bytes": values.astype(float).to_numpy()}).dropna()
    if choice.rows is not None:
        frame = frame[frame["index"].isin(choice.rows.index[choice.rows])]
    y = Column(
        "live_bytes", "Live activations", "Activations that are live while the layer runs, padding included."
    )
    note = "" if len(frame) else no_layers(engine) if engine.layers.empty else "No sizes of tensors."
    return Chart(
        "column", "Live activations by layer", frame.set_index("index", drop=False), _INDEX, y, note=note
    )


def _chosen(engine: Engine, choice: Choice, *keys: str) -> pd.DataFrame:
    frame = engine.frame(*dict.fromkeys(keys))
    if "index" not in frame:
        frame.insert(0, "index", frame.index)
    return frame if choice.rows is None else frame[choice.rows]


def _known(
    engine: Engine, choice: Choice, number: Column, color: Column | None = None, other: Column | None = None
) -> tuple[pd.DataFrame, str]:
    """Return the chosen layers with a number, the values of the color as few words; and a note about the others."""
    keys = [column.key for column in (number, color, other) if column]
    frame = _chosen(engine, choice, "name", *keys)
    unknown = int(frame[number.key].isna().sum())
    frame = frame.dropna(subset=[number.key])
    if color is not None and (other is None or color.key != other.key):
        frame[color.key] = _words(frame[color.key], color)
    if frame.empty:
        is_time = number.key.endswith("_ms") and not engine.has_profile
        reason = (
            no_layers(engine) if unknown == 0 else no_profile(engine) if is_time else f"No {number.title}."
        )
        return frame, reason
    return frame, f"{plural(unknown, 'layer')} without {number.title} not shown." if unknown else ""


def _words(values: pd.Series, column: Column) -> pd.Series:
    """Return categories of few different values: numbers in four ranges, rare texts as `others`."""
    if is_number(values) and values.nunique() > _MOST_COLORS:
        ranges = pd.qcut(values.astype(float), 4, duplicates="drop")
        return (
            ranges.map(lambda r: f"{column.format(r.left)} to {column.format(r.right)}")
            .astype(TEXT)
            .fillna(UNKNOWN)
        )
    words = _formatted(values, column)
    frequent = words.value_counts().index[: _MOST_COLORS - 1]
    return words if words.nunique() <= _MOST_COLORS else words.where(words.isin(frequent), OTHERS)


def _formatted(values: pd.Series, column: Column) -> pd.Series:
    """Return the words of a column; not by `map`, whose text cannot hold every character of JSON."""
    words = [UNKNOWN if is_missing(value) else column.format(value) for value in values]
    return pd.Series(words, values.index, TEXT)


def _name(column: Column) -> str:
    """Return a column in a title: `Time` for `ms`."""
    return _NAMES.get(column.key, column.title)


def _number(engine: Engine, name: str) -> Column:
    column = named_column(engine, name)
    if not is_number(engine.column(column.key)):
        raise TrexError(f"{column.key} is not a number; choose a numeric column such as latency_ms")
    return column


# Queries


def _latency(engine: Engine) -> tuple[pd.DataFrame, Column]:
    """Return the measured queries that have a latency, else a compute time; and which of the two."""
    queries = measured_queries(engine)
    for key, title in (("latency_ms", "Latency"), ("compute_ms", "Compute")):
        if key in queries and queries[key].notna().any():
            known = queries.dropna(subset=[key])
            return known, Column(key, title)
    return queries.iloc[:0], Column("latency_ms", "Latency")


def _histogram(engine: Engine, _: Choice) -> Chart:
    """Distribution of the latencies of single queries."""
    queries, x = _latency(engine)
    y = Column("queries", "Queries")
    values = queries[x.key].astype(float)
    if values.empty:
        return Chart(
            "histogram", x.title, pd.DataFrame(columns=[x.key, y.key]), x, y, note=no_queries(engine)
        )
    marks = {f"p{percent:g}": float(np.percentile(values, percent)) for percent in (50, 90, 95, 99)}
    reach = _TAIL_FACTOR * max(marks["p95"] - marks["p50"], 1e-3 * marks["p50"])
    shown = values[values.between(marks["p50"] - reach, max(marks["p50"] + reach, marks["p99"]))]
    hidden, tick = len(values) - len(shown), _find_step(np.asarray(values, np.float64))
    bins = _bin(shown, x, y, tick)
    notes = [f"Min {values.min():.4f}, mean {values.mean():.4f}, max {values.max():.4f} ms."]
    if hidden:
        notes.append(f"{plural(hidden, 'query', 'queries')} outside not shown.")
    if left_out := len(engine.queries) - len(measured_queries(engine)):
        notes.append(f"{plural(left_out, 'query', 'queries')} of warm-up excluded.")
    if tick:
        notes.append(f"Timer step {1000 * tick:.2g} µs.")
    title = f"{x.title} of {len(values)} queries"
    return Chart("histogram", title, bins, x, y, marks=marks, note=" ".join(notes))


def _percentiles(engine: Engine, _: Choice) -> Chart:
    """Latency by percentile; the axis stretches the tail."""
    queries, y = _latency(engine)
    values = queries[y.key].astype(float).sort_values(ignore_index=True)
    x = Column("tail", "Percentile")
    if values.empty:
        return Chart(
            "line", "Percentiles", pd.DataFrame(columns=[x.key, y.key]), x, y, note=no_queries(engine)
        )
    ranks = np.unique(np.concatenate([np.linspace(0, 90, 91), 100 - np.geomspace(10, 100 / len(values), 90)]))
    frame = pd.DataFrame(
        {"percentile_pct": ranks, "tail": _stretch(ranks), y.key: np.percentile(values, ranks)}
    )
    ticks = {f"p{p:g}": float(_stretch(p)) for p in _PERCENTILES if p <= ranks[-1]}
    return Chart("line", f"Percentiles of {len(values)} queries", frame, x, y, ticks={"min": 0.0, **ticks})


def _stretch(percentile: Any) -> Any:  # noqa: ANN401 - a number, or an array of them
    return -np.log10(np.maximum(1.0 - np.asarray(percentile) / 100.0, 1e-9))


def _over_time(engine: Engine, _: Choice) -> Chart:
    """Median and maximum of the latency in windows of the run."""
    queries, y = _latency(engine)
    if queries.empty:
        x = Column("query", "Query")
        return Chart(
            "line", "Latency over time", pd.DataFrame(columns=["query", y.key]), x, y, note=no_queries(engine)
        )
    start = queries["start_compute_ms"] if "start_compute_ms" in queries else pd.Series(dtype="Float64")
    if len(start) and start.notna().all() and start.is_monotonic_increasing:
        x, place = Column("run_s", "Time"), (start - start.iloc[0]).astype(float).to_numpy() / 1000.0
    else:
        x, place = Column("query", "Query"), np.arange(len(queries), dtype=float)
    values = pd.DataFrame({x.key: place, y.key: queries[y.key].astype(float).to_numpy()})
    windows = np.arange(len(values)) * _WINDOWS // max(_WINDOWS, len(values))
    grouped = values.groupby(windows)
    parts = [
        pd.DataFrame(
            {x.key: grouped[x.key].mean(), y.key: getattr(grouped[y.key], name)(), "statistic": name}
        )
        for name in ("median", "max")
    ]
    title = f"{y.title} over time: {len(values)} queries"
    return Chart("line", title, pd.concat(parts, ignore_index=True), x, y, Column("statistic", "Statistic"))


_SENSORS = {"power_w": "Power", "gpu_temperature_c": "Temperature", "gpu_clock_mhz": "GPU clock"}


def _power(engine: Engine, choice: Choice) -> Chart:
    """Power, temperature or clock during the run."""
    key = choice.y or "power_w"
    if key not in _SENSORS:
        raise TrexError(f"--y {key}: not sampled; choose {', '.join(_SENSORS)}")
    y, x = Column(key, _SENSORS[key]), Column("run_s", "Time")
    log = engine.power
    if log is None or key not in log.columns:
        note = f"No samples of {y.title.lower()} (needs a log of tegrastats or nvidia-smi, or `capture --monitor`)."
        return Chart("line", y.title, pd.DataFrame(columns=[x.key, key]), x, y, note=note)
    times = log.run_s if len(log.run_s) else log.local_s if len(log.local_s) else range(log.samples)
    frame = pd.DataFrame({"run_s": times, key: log.columns[key]}, dtype=float).dropna()
    frame["run_s"] -= frame["run_s"].min()
    return Chart("line", f"{y.title} over time", frame, x, y)


def _find_step(values: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Return the step of the timer, if most differences of the values are multiples of one; else 0."""
    different = np.unique(values)
    if not 2 < len(different) < len(values) // 4:
        return 0.0
    steps = np.diff(different)
    step = float(np.median(steps))
    multiples = steps / step
    are_whole = np.abs(multiples - np.round(multiples)) < _WHOLE
    return step if float(are_whole.mean()) > _MOSTLY else 0.0


def _bin(values: pd.Series, x: Column, counts: Column, tick: float = 0.0) -> pd.DataFrame:
    """Return the middles of bins and the number of values in each; bins are whole ticks of a timer wide."""
    known = values.astype(float).to_numpy()
    if not len(known):
        return pd.DataFrame(columns=[x.key, counts.key])
    bins: Any = min(_BINS, max(5, round(2 * len(known) ** 0.5)))
    width, low = (known.max() - known.min()) / bins, known.min() - tick / 2
    if tick and width > 0:
        width = math.ceil(width / tick - 1e-9) * tick
        bins = low + width * np.arange(math.floor((known.max() - low) / width) + 2)
    numbers, edges = np.histogram(known, bins)
    return pd.DataFrame({x.key: (edges[:-1] + edges[1:]) / 2, counts.key: numbers})


CHARTS: dict[str, ChartKind] = {
    "histogram": ChartKind("Latency histogram", "distribution of the latency", _histogram),
    "over-time": ChartKind("Latency over time", "latency over time", _over_time),
    "percentiles": ChartKind("Percentiles", "percentiles of the latency", _percentiles),
    "kind": ChartKind("Time by kind", "time by kind", _time_by("kind")),
    "precision": ChartKind("Time by precision", "time by precision", _time_by("precision")),
    "kind-precision": ChartKind(
        "Kind by precision", "time by kind and precision", _time_by("kind", "precision")
    ),
    "tactic": ChartKind("Time by tactic", "time by tactic", _time_by("tactic", "kind")),
    "layers": ChartKind("Layers in order", "layers in order of execution", _layers, ("y", "color")),
    "bar": ChartKind("Slowest layers", "largest layers or groups", _bars, ("x", "y", "color")),
    "scatter": ChartKind("Scatter", "two columns of each layer", _scatter, ("x", "y", "color")),
    "roofline": ChartKind(
        "Roofline", "operations against bytes, with the peaks of the device", _roofline, ("color",)
    ),
    "memory": ChartKind("Live activations", "live activations by layer", _memory),
    "power": ChartKind("Power", "power, temperature or clock over time", _power, ("y",)),
}
"""Every chart of an engine, by name, in the order of lists."""
