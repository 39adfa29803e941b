"""A chart as the content of a file: SVG, PNG, or the text that the explorer shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.engine.columns import LayerColumn
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.report.charts.figure import Chart, Palette, Subject

MARK = "trex-tui/chart/1"
"""Stands in every SVG and PNG, so that the next run may replace it."""
_TEXT_SIZE = (100, 30)


@dataclass(frozen=True, slots=True)
class ShownChart:
    """A chart as it is on screen.

    Attributes:
        text: As drawn.
    """

    chart: Chart
    subject: Subject
    text: str


def draw_shown(shown: ShownChart) -> str:
    """A chart on screen as SVG.

    Raises:
        TrexError: There is nothing to draw.
    """
    from trex_tui.report.charts.svg_painter import picture

    subject = shown.subject
    drawn = picture(
        shown.chart.id,
        subject.engine,
        layers=subject.layers,
        axes=subject.axes,
        value=subject.value,
        color=subject.color,
        standalone=True,
    )
    if drawn.svg is None:
        raise TrexError(f"Nothing to draw. {' '.join((*drawn.words, *drawn.missing))}")
    return f"{drawn.svg}\n<!-- {MARK} -->\n"


def chart_file(
    form: str,
    chart: Chart,
    engine: Engine,
    layers: Sequence[Layer],
    value: LayerColumn | None = None,
    color: LayerColumn | None = None,
) -> str | bytes:
    """A chart of some layers.

    Args:
        form: `svg`, `png` or `text`.
        layers: In execution order.
        value, color: As in `Subject`.

    Raises:
        TrexError: There is nothing to draw, or PNG cannot be made.
    """
    if form == "text":
        return draw_text(chart, engine, layers, value, color)
    from trex_tui.report.charts.png import mark_png, render_png
    from trex_tui.report.charts.svg_painter import picture

    drawn = picture(chart.id, engine, layers=layers, value=value, color=color, standalone=True)
    if drawn.svg is None:
        raise TrexError(f"{engine.name}: nothing to draw. {' '.join((*drawn.words, *drawn.missing))}")
    if form == "png":
        return mark_png(render_png(drawn.svg), MARK)
    return f"{drawn.svg}\n<!-- {MARK} -->\n"


def draw_text(
    chart: Chart,
    engine: Engine,
    layers: Sequence[Layer],
    value: LayerColumn | None = None,
    color: LayerColumn | None = None,
    size: tuple[int, int] = _TEXT_SIZE,
) -> str:
    """The chart of the explorer without colours, in columns and rows."""
    from trex_tui.report.charts.cells import draw

    plain = Palette(lambda _: "", lambda _: "")
    subject = Subject(engine, layers, plain, len(layers) < len(engine.layers), value=value, color=color)
    lines = draw(chart, subject, *size).lines
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)
