"""A chart as the content of a file: SVG, PNG, or the text that the explorer shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from trex_tui.old.analysis.columns import columns_named
from trex_tui.old.artifacts.output_files import OutputKind
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.figure import Chart, Figure, Palette, Subject

if TYPE_CHECKING:
    from trex_tui.old.report.charts.cells import Drawing

MARK = "trex-tui/chart/1"
"""Mark in every SVG and PNG, so that the next run may replace it."""
CHART_FORMATS = ("svg", "png", "text")
CHART = OutputKind("trex-tui layers --chart", ("trex-tui/chart/",))
NO_COLOURS = Palette(lambda _: "", lambda _: "")
_TEXT_SIZE = (100, 30)


@dataclass(frozen=True, slots=True)
class ShownChart:
    """A chart as on screen.

    Attributes:
        text: The drawn characters.
    """

    chart: Chart
    subject: Subject
    text: str


def make_subject(
    chart: Chart,
    engine: Engine,
    layers: Sequence[Layer],
    columns: Mapping[str, str | None],
    names: Mapping[str, str],
) -> Subject:
    """Return the subject of a chart.

    Args:
        layers: Layers to show, in any order.
        columns: Name of a column by field of `Subject`: `x`, `value`, `size`, `color`; None for the default of the chart.
        names: Names of these fields in messages, if they differ.

    Raises:
        TrexError: A name is not a column, or the chart has no use for it.
    """
    chosen: dict[str, Any] = {
        role: columns_named([name], engine)[0] for role, name in columns.items() if name
    }
    for role, column in chosen.items():
        if not getattr(chart, f"has_{role}"):
            is_color = role == "color"
            why = f"the colours of chart {chart.id} are fixed" if is_color else f"not for chart {chart.id}"
            raise TrexError(f"{names.get(role, role)}: {why}")
        if not column.is_number and role != "color" and not (role == "x" and chart.has_groups):
            raise TrexError(f"{names.get(role, role)}: {column.name} is not a numeric column")
    shown = sorted(layers, key=attrgetter("index"))
    subject = Subject(engine, shown, NO_COLOURS, is_filtered=len(shown) < len(engine.layers))
    return replace(subject, **chosen)


def draw_picture(chart: Chart, subject: Subject) -> str:
    """Return a chart as an SVG file.

    Raises:
        TrexError: There is nothing to draw.
    """
    from trex_tui.old.report.charts.svg_painter import picture

    drawn = picture(
        chart,
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
        words = " ".join((*drawn.words, *drawn.missing)).rstrip(".")
        raise TrexError(f"{subject.engine.name}: nothing to draw; {words[:1].lower()}{words[1:]}")
    return f"{drawn.svg}\n<!-- {MARK} -->\n"


def chart_file(form: str, chart: Chart, subject: Subject) -> str | bytes:
    """Return a chart as `svg`, `png` or `text`.

    Raises:
        TrexError: There is nothing to draw, or PNG cannot be made.
    """
    if form == "text":
        return draw_text(chart, subject)
    svg = draw_picture(chart, subject)
    if form == "png":
        from trex_tui.old.report.charts.png import mark_png, render_png

        return mark_png(render_png(svg), MARK)
    return svg


def draw_text(chart: Chart, subject: Subject, size: tuple[int, int] = _TEXT_SIZE) -> str:
    """Return the chart of the explorer, in columns and rows."""
    from trex_tui.old.report.charts.cells import draw

    return _text_of(draw(chart, subject, *size))


def draw_figure_text(figure: Figure, title: str, size: tuple[int, int] = _TEXT_SIZE) -> str:
    """Return a figure without an engine, in columns and rows."""
    from trex_tui.old.report.charts.cells import draw_figure

    return _text_of(draw_figure(figure, title, *size))


def _text_of(drawing: Drawing) -> str:
    return "".join("".join(span.text for span in line).rstrip() + "\n" for line in drawing.lines)
