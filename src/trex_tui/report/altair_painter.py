"""Draw charts outside of the terminal with Altair: SVG and PNG without a browser, specifications for pages and notebooks."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from trex_tui.column import Column
from trex_tui.report.charts import Chart, choose_colors
from trex_tui.text import printable, shorten_middle

_WIDTH, _HEIGHT, _BAR, _LABEL = 680, 280, 20, 44
_TICKS = 8
"""Most on the lower axis, where longer numbers would overlap."""
_LARGE = "abs(datum.value) < 1000 ? datum.label : format(datum.value, '~s')"
_MARK = "crimson"
_COLUMNS = ("histogram", "column")
_MARKS = {"line": "mark_line", "scatter": "mark_circle"}

alt.data_transformers.disable_max_rows()  # of 5,000: an engine may have more layers


def build(chart: Chart) -> Any:  # noqa: ANN401 - one of Altair's chart classes
    """Return the Altair chart of a chart."""
    frame = _plain(chart.frame)
    title = alt.TitleParams(printable(chart.title), subtitle=[printable(chart.note)] if chart.note else [])
    if frame.empty:
        return (
            alt.Chart(pd.DataFrame({"x": []}), title=title).mark_point().properties(width=_WIDTH, height=20)
        )
    if chart.kind == "bar":
        frame[chart.y.key] = _fit_labels(chart, frame[chart.y.key])
    base: Any = alt.Chart(frame, title=title)
    encoding: dict[str, Any] = {
        "x": _axis(chart, chart.x),
        "y": alt.Y(chart.y.key, type="nominal", sort=None, title=None, axis=alt.Axis(labelLimit=260))
        if chart.kind == "bar"
        else _axis(chart, chart.y),
        "tooltip": [alt.Tooltip(str(key)) for key in frame],
    }
    if chart.color:
        colors = choose_colors(chart)
        scale = alt.Scale(domain=list(colors), range=[color for _, color in colors.values()])
        encoding["color"] = alt.Color(chart.color.key, type="nominal", title=chart.color.title, scale=scale)
    drawn = getattr(base, _MARKS.get(chart.kind, "mark_bar"))(**_style(chart)).encode(**encoding)
    height = alt.Step(_BAR) if chart.kind == "bar" else _HEIGHT
    return alt.layer(*_lines(chart), drawn, *_rules(chart)).properties(width=_WIDTH, height=height)


def to_svg(chart: Chart) -> str:
    """Return a chart as SVG."""
    import vl_convert  # 60 MB, of the extra `report`

    return str(vl_convert.vegalite_to_svg(build(chart).to_dict()))


def to_png(chart: Chart) -> bytes:
    """Return a chart as PNG, at twice the size for sharp text."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(build(chart).to_dict(), scale=2))


def _fit_labels(chart: Chart, labels: pd.Series) -> pd.Series:
    """Return labels short enough for the axis, unless two became one bar."""
    cut = chart.shorten or shorten_middle
    short = {label: cut(label, _LABEL) if len(label) > _LABEL else label for label in labels.unique()}
    return labels.map(short) if len(set(short.values())) == len(short) else labels


def _style(chart: Chart) -> dict[str, Any]:
    """Return options of the mark: columns as wide as their bins, which Vega-Lite would draw five pixels wide."""
    if chart.kind in _COLUMNS:
        return {"width": max(1.0, _measure_column(chart) - 0.5)}
    return {"color": choose_colors(chart)[""][1]} if chart.color is None else {}


def _measure_column(chart: Chart) -> float:
    return _WIDTH / max(1, len(chart.frame))


def _axis(chart: Chart, column: Column) -> Any:  # noqa: ANN401
    encode = alt.X if column is chart.x else alt.Y
    is_from_zero = chart.kind == "bar" or (column is chart.y and chart.kind != "line")
    scale = alt.Scale(type="log") if chart.is_log else alt.Scale(zero=is_from_zero, nice=False)
    if column is chart.x and chart.kind in _COLUMNS:
        scale.padding = _measure_column(chart) / 2
    options: dict[str, Any] = {"title": column.label, "scale": scale}
    if chart.is_log or column.unit.is_written:
        options["axis"] = alt.Axis(labelExpr=_LARGE, tickCount=_TICKS)
    elif column is chart.x:
        options["axis"] = alt.Axis(tickCount=_TICKS)
    if column is chart.x and chart.ticks:
        words = "".join(
            f"abs(datum.value - {place}) < 1e-6 ? '{label}' : " for label, place in chart.ticks.items()
        )
        options["axis"] = alt.Axis(values=list(chart.ticks.values()), labelExpr=f"{words}''")
    return encode(column.key, type="quantitative", **options)


def _lines(chart: Chart) -> list[Any]:
    lines: list[Any] = []
    for label, points in chart.lines.items():
        frame = pd.DataFrame(points, columns=[chart.x.key, chart.y.key]).assign(line=label)
        base = alt.Chart(frame).encode(x=chart.x.key, y=chart.y.key, tooltip="line")
        lines.append(base.mark_line(color="gray", strokeWidth=1))
    return lines


def _rules(chart: Chart) -> list[Any]:
    rules: list[Any] = []
    for row, (label, place) in enumerate(chart.marks.items()):
        base = alt.Chart(pd.DataFrame({"x": [place]})).encode(x="x:Q")
        rules.append(base.mark_rule(color=_MARK, strokeDash=[4, 3]))
        rules.append(base.mark_text(text=label, y=8 + 12 * row, dx=3, align="left", color=_MARK))
    return rules


def _plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame of floats and printable texts; Altair's JSON has no other missing value than null."""
    columns = {
        key: frame[key].astype(float)
        if pd.api.types.is_numeric_dtype(frame[key])
        else pd.Series(
            [printable(str(value)) for value in frame[key].tolist()], index=frame.index, dtype=object
        )
        for key in frame
    }
    return pd.DataFrame(columns)
