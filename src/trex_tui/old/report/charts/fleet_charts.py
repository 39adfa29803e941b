"""Charts of many engines: two measures with their Pareto front, shares of kinds, a measure over time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.fleet.engine_columns import COLUMNS_BY_NAME, KIND_ENDING, Better, FleetColumn
from trex_tui.old.fleet.pareto import find_front
from trex_tui.old.fleet.table import FleetRow
from trex_tui.old.report.charts.coloring import OTHERS, PATTERNS, TONES, format_value, group_texts
from trex_tui.old.report.charts.figure import (
    MUTED,
    PRIMARY,
    SECONDARY,
    Bar,
    BarPart,
    Bars,
    Dot,
    Figure,
    Key,
    Lines,
    Points,
    Roof,
    Scale,
    Series,
    Target,
    Tick,
    kind_keys,
    log_scale,
    spread,
)
from trex_tui.old.report.colours import kind_style, precision_style
from trex_tui.old.text import plural, printable

FRONT_SIGN, OTHER_SIGN = "◆", "∙"
_SIGNS = "●■▲▼◇□△▽"
_WIDE_RANGE = 20.0
"""Ratio of largest to smallest from which an axis is logarithmic."""
_LEAST_POINTS = 2
_MOST_SERIES = len(TONES)
_DAY_S = 86_400.0


def name_row(row: FleetRow) -> str:
    """Return the name of a row, with its run if its files have several."""
    run = row.value("run")
    return str(row.value("engine")) + ("" if run is None else f" run {run}")


def pareto_figure(
    rows: Sequence[FleetRow],
    x: FleetColumn,
    y: FleetColumn,
    color: FleetColumn | None = None,
    current: FleetRow | None = None,
) -> Figure:
    """Draw two measures of engines of one model, the front marked.

    Args:
        rows: The target of a dot has the index of its row.
        color: The column whose values the colours show.
        current: The row to mark.
    """
    places = [
        place
        for place, row in enumerate(rows)
        if row.value(x.name) is not None and row.value(y.name) is not None
    ]
    known = [rows[place] for place in places]
    missing: tuple[str, ...] = ()
    if len(known) < len(rows):
        missing = (f"{plural(len(rows) - len(known), 'engine')} without {x.name} or {y.name} not shown.",)
    if not known:
        return Figure((f"No engine with {x.name} and {y.name}.",), missing, marks_layer=False)
    points = [(row.value(x.name), row.value(y.name)) for row in known]
    front = find_front(points, is_x_higher=x.better is Better.HIGHER, is_y_higher=y.better is Better.HIGHER)
    styles, keys = _colors(known, color)
    on_front = set(front)
    dots = [
        Dot(
            px,
            py,
            "bold $current" if row is current else style,
            FRONT_SIGN if index in on_front else OTHER_SIGN,
        )
        for index, (row, (px, py), style) in enumerate(zip(known, points, styles, strict=True))
    ]
    corners = list(_steps([points[index] for index in front]))
    names = [name_row(known[index]) for index in front]
    words = (
        f"{plural(len(known), 'engine')}; front of {len(front)}: {', '.join(names[:4])}"
        + (f" and {len(names) - 4} more." if len(names) > 4 else "."),
        f"{_direction(x)}, {_direction(y)}.",
    )

    def target(index: int) -> Target:
        row = known[index]
        figures = ", ".join(_describe(column, row) for column in filter(None, (x, y, color)))
        return Target(name_row(row), figures, places[index])

    roofs = [Roof("", corners, SECONDARY)] if len(corners) > 1 else []
    form = Points(
        dots,
        _axis([point[0] for point in points], x),
        _axis([point[1] for point in points], y),
        [Key(FRONT_SIGN, "front", PRIMARY), *keys],
        target,
        roofs=roofs,
    )
    return Figure(words, missing, form, marks_layer=False)


def _steps(front: Sequence[tuple[float, float]]) -> Iterable[tuple[float, float]]:
    """Yield the corners of the line between reached and unreached values."""
    yield front[0]
    for (_, before), (x, y) in pairwise(front):
        yield x, before
        yield x, y


def _direction(measure: FleetColumn) -> str:
    word = {Better.LOWER: "lower is better", Better.HIGHER: "higher is better", Better.NEITHER: "as it is"}
    return f"{measure.title}: {word[measure.better]}"


def _describe(column: FleetColumn, row: FleetRow) -> str:
    value = row.value(column.name)
    text = ", ".join(map(str, value)) if isinstance(value, list) else format_value(column, value)
    return f"{column.title} {printable(text)}"


def _axis(values: Sequence[float], column: FleetColumn) -> Scale:
    low, high = min(values), max(values)
    title = column.title if column.unit in ("", "milliseconds", "bytes") else f"{column.title}, {column.unit}"
    if low > 0 and high / low >= _WIDE_RANGE:
        return log_scale(values, f"{title} (log)", lambda value: format_value(column, value))
    scale = spread(values, title)
    return (
        replace(scale, words=lambda value: format_value(column, value)) if column.unit == "bytes" else scale
    )


def _colors(rows: Sequence[FleetRow], color: FleetColumn | None) -> tuple[list[str], list[Key]]:
    """Return the style of each row, and the legend."""
    if color is None:
        return [PRIMARY] * len(rows), []
    values = [row.value(color.name) for row in rows]
    plain = [", ".join(value) if isinstance(value, list) else value for value in values]
    texts = group_texts(color, plain)
    by_count = [text for text, _ in Counter(texts).most_common()]
    if color.name == "precision":
        types = {dtype.value: dtype for dtype in DataType}
        looks = {text: precision_style(types.get(text)) for text in by_count}
    else:
        looks = dict(zip(by_count, TONES, strict=False))
    keys = [Key("■", printable(text), looks[text]) for text in by_count if text in looks]
    if len(looks) < len(by_count):
        keys.append(Key("■", OTHERS, MUTED))
    return [looks.get(text, MUTED) for text in texts], keys


def _has_bad_profile(missing: object) -> bool:
    return isinstance(missing, (list, tuple)) and "bad profile" in missing


def kind_shares_figure(rows: Sequence[FleetRow], *, is_share: bool = True) -> Figure:
    """Draw the layer times by kind, a bar for each engine.

    Args:
        rows: The target of a bar has the index of its row.
        is_share: Bars have equal lengths; else the length is the sum of the layer times.
    """
    total = COLUMNS_BY_NAME["latency_sum_ms"]
    places = [place for place, row in enumerate(rows) if row.value(total.name)]
    timed = [rows[place] for place in places]
    missing: tuple[str, ...] = ()
    if len(timed) < len(rows):
        others = [row for row in rows if not row.value(total.name)]
        damaged = sum(_has_bad_profile(row.value("missing")) for row in others)
        why = "needs --exportProfile" if damaged < len(others) else "unusable profile"
        why += f"; {damaged} with an unusable profile" if 0 < damaged < len(others) else ""
        missing = (f"{plural(len(others), 'engine')} without layer times not shown ({why}).",)
    if not timed:
        return Figure(("No engine has layer times.",), missing, marks_layer=False)
    weights: dict[LayerKind, float] = defaultdict(float)
    for row in timed:
        for kind in LayerKind:
            weights[kind] += row.value(f"{kind.value}{KIND_ENDING}") or 0.0
    ordered = sorted((kind for kind in weights if weights[kind] > 0), key=lambda kind: -weights[kind])
    patterns = {kind: PATTERNS[place % len(PATTERNS)] for place, kind in enumerate(ordered)}
    bars = []
    for place, row in zip(places, timed, strict=True):
        whole = row.value(total.name)
        scale = 1.0 if is_share else whole / 100.0
        parts = tuple(
            BarPart(share * scale, f"{kind.value}  {share:.1f} %", kind_style(kind), patterns[kind])
            for kind in ordered
            if (share := row.value(f"{kind.value}{KIND_ENDING}"))
        )
        target = Target(name_row(row), ", ".join(row.value("main_kinds") or ()), place)
        text = format_value(total, whole)
        bars.append(
            Bar(name_row(row), sum(part.value for part in parts), (text,), parts=parts, target=target)
        )
    form = Bars(
        bars,
        ("ms",),
        "% of the layer times" if is_share else "layer times, ms",
        kind_keys(weights, kind_style, lambda kind: patterns[kind]),
        lambda index: f"{plural(len(bars) - index, 'further engine')}",
        top=100.0 if is_share else None,
    )
    title = "Shares by kind, % of the layer times" if is_share else "Layer times by kind"
    words = (f"{title}: {plural(len(timed), 'engine')}.",)
    return Figure(words, missing, form, marks_layer=False)


def trend_figure(rows: Sequence[FleetRow], measure: FleetColumn) -> Figure:
    """Draw a measure over the date of the capture: a line per model, device, precision and batch."""
    series: dict[str, list[tuple[datetime, float, int]]] = defaultdict(list)
    for place, row in enumerate(rows):
        date, value = row.value("date"), row.value(measure.name)
        if date is not None and value is not None:
            parts = [row.value(name) for name in ("model", "device", "precision", "batch")]
            series[" · ".join(str(part) for part in parts if part is not None)].append(
                (datetime.fromisoformat(date), value, place)
            )
    lines = {name: sorted(points) for name, points in series.items() if len(points) >= _LEAST_POINTS}
    if not lines:
        words = (f"No model has {measure.name} at two dates.",)
        return Figure(words, marks_layer=False)
    shown = sorted(lines, key=lambda name: -len(lines[name]))[:_MOST_SERIES]
    missing: tuple[str, ...] = ()
    if len(shown) < len(lines):
        missing = (f"{len(lines) - len(shown)} further series not shown.",)
    dates = [date for name in shown for date, _, _ in lines[name]]
    first = min(dates)
    drawn = [
        Series(
            printable(name),
            [((date - first).total_seconds() / _DAY_S, value) for date, value, _ in lines[name]],
            tone,
            sign,
        )
        for name, tone, sign in zip(shown, TONES, _SIGNS, strict=False)
    ]
    values = [value for name in shown for _, value, _ in lines[name]]
    x = spread([point[0] for line in drawn for point in line.points], "date")
    dots = [
        Dot(px, py, line.style, line.sign, title=_date_title(rows[place], measure), place=place)
        for name, line in zip(shown, drawn, strict=True)
        for (px, py), (_, _, place) in zip(line.points, lines[name], strict=True)
    ]
    form = Lines(drawn, x, spread(values, measure.title), ticks=_date_ticks(dates, x), dots=dots)
    words = (
        f"{measure.title} over {plural(len(dates), 'build')}, {first:%Y-%m-%d} to {max(dates):%Y-%m-%d}.",
    )
    return Figure(words, missing, form, marks_layer=False)


def _date_title(row: FleetRow, measure: FleetColumn) -> str:
    return f"{name_row(row)}  {row.value('date')}, {_describe(measure, row)}"


def _date_ticks(dates: Sequence[datetime], x: Scale) -> Sequence[Tick]:
    first, last = min(dates), max(dates)
    middle = first + (last - first) / 2
    ticks: dict[str, float] = {}
    for date in (first, middle, last):
        fraction = x.fraction((date - first).total_seconds() / _DAY_S)
        ticks.setdefault(f"{date:%Y-%m-%d}", fraction)
    return [(fraction, label) for label, fraction in ticks.items()]
