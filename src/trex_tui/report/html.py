"""A document as one self-contained page: no network, charts as pictures inside; with JavaScript only on request."""

from __future__ import annotations

from typing import Any

from trex_tui.errors import Severity, TrexError
from trex_tui.frames import is_number, plain_values
from trex_tui.report.document import Document, Section
from trex_tui.report.formats import how_to_install
from trex_tui.text import printable

_EXTRA = how_to_install("report")


def render_html(document: Document, *, is_interactive: bool = False) -> str:
    """Return the page. Charts need Altair; without it a sentence stands in their place.

    Args:
        is_interactive: Charts show values under the pointer; the page is 800 kB larger.

    Raises:
        TrexError: Jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError:
        raise TrexError(f"HTML needs Jinja2: {_EXTRA}") from None
    environment = Environment(
        loader=PackageLoader("trex_tui.report"),
        autoescape=True,
        finalize=_show,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(zip=zip, bars=_bars, is_number=is_number, picture=_picture)
    specs = _specifications(document) if is_interactive else {}
    return environment.get_template("page.html").render(
        document=document,
        parts=[document, *document.parts],
        notes=[
            (note.severity is Severity.ERROR, f"{note.severity.value}: {note}")
            for note in document.all_notes()
        ],
        specs=specs,
        javascript=_javascript() if specs else "",
    )


def _show(value: Any) -> Any:  # noqa: ANN401 - what a template writes
    """Make characters visible that change what is read; Markup is ours."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else printable(value)


def _bars(section: Section) -> list[float]:
    """Return the length of the bar of each row in percent."""
    assert section.frame is not None
    values = [value or 0.0 for value in plain_values(section.frame[section.bar])]
    top = max(values, default=0.0) or 1.0
    return [round(100.0 * value / top, 1) for value in values]


def _picture(section: Section) -> str:
    """Return the chart of a section as SVG; a sentence without Altair."""
    from markupsafe import Markup, escape

    assert section.chart is not None
    try:
        from trex_tui.report.altair_painter import to_svg
    except ImportError:
        return escape(f"Charts need Altair and vl-convert: {_EXTRA}")
    return Markup(to_svg(section.chart))  # Vega escapes the texts in its pictures


def _specifications(document: Document) -> dict[str, Any]:
    try:
        from trex_tui.report.altair_painter import build
    except ImportError:
        return {}
    charts = [section.chart for _, section in document.walk() if section.chart is not None]
    return {f"chart-{number}": build(chart).to_dict() for number, chart in enumerate(charts)}


def _javascript() -> str:
    import vl_convert

    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
