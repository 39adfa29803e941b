"""A chart as the content of a file: SVG, PNG, or the text that the explorer shows."""

from __future__ import annotations

from dataclasses import dataclass

from trex_tui.errors import TrexError
from trex_tui.report.charts.figure import Chart, Palette, Subject

MARK = "trex-tui/chart/1"
"""Stands in every SVG and PNG, so that the next run may replace it."""
NO_COLOURS = Palette(lambda _: "", lambda _: "")
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


def draw_picture(chart: Chart, subject: Subject) -> str:
    """A chart as an SVG file.

    Raises:
        TrexError: There is nothing to draw.
    """
    from trex_tui.report.charts.svg_painter import picture

    drawn = picture(
        chart.id,
        subject.engine,
        layers=subject.layers,
        axes=subject.axes,
        value=subject.value,
        color=subject.color,
        x=subject.x,
        size=subject.size,
        standalone=True,
    )
    if drawn.svg is None:
        words = " ".join((*drawn.words, *drawn.missing))
        raise TrexError(f"{subject.engine.name}: nothing to draw. {words}")
    return f"{drawn.svg}\n<!-- {MARK} -->\n"


def chart_file(form: str, chart: Chart, subject: Subject) -> str | bytes:
    """A chart as `svg`, `png` or `text`.

    Raises:
        TrexError: There is nothing to draw, or PNG cannot be made.
    """
    if form == "text":
        return draw_text(chart, subject)
    svg = draw_picture(chart, subject)
    if form == "png":
        from trex_tui.report.charts.png import mark_png, render_png

        return mark_png(render_png(svg), MARK)
    return svg


def draw_text(chart: Chart, subject: Subject, size: tuple[int, int] = _TEXT_SIZE) -> str:
    """The chart of the explorer, in columns and rows."""
    from trex_tui.report.charts.cells import draw

    lines = draw(chart, subject, *size).lines
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in lines)
