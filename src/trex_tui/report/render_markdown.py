"""Text of others inside Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trex_tui.engine.engine import Engine
from trex_tui.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.report.charts.cells import draw, lying_bar
from trex_tui.report.charts.figure import Palette, Subject
from trex_tui.report.document import Column, Document, Section, Table, number
from trex_tui.report.render_json import REPORT_SCHEMA
from trex_tui.text import printable, shorten_middle


def escaped(text: str) -> str:
    """Text in which Markdown and HTML see nothing but letters, on one line; `@`, `#` and addresses reach nobody."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for char in "\\`*_{}[]()#|~!":
        text = text.replace(char, "\\" + char)
    return text.replace("@", "&#64;").replace("://", "&#58;//")


LONGEST_CELL = 60
"""Names in tables longer than this lose their middle: a forge would give all the width to one column."""
_LONGEST_WORDS = 400
_BAR_CELLS = 16
_CHART_SIZE = (100, 20)
"""Columns and rows of a chart; what forges show beside their own margins."""
_CHARTS = ("histogram", "percentiles", "over-time", "memory", "roofline")
"""Those of the report's charts that say something without colour, and that no table with bars says better."""
_NAMES = ("name", "tactic", "layers")
_PLAIN = Palette(lambda _: "", lambda _: "")
_TICKS = re.compile("`+")


def report_markdown(report: Document) -> str:
    """The whole report. Every text of a file is escaped."""
    return (
        "\n".join([f"<!-- {REPORT_SCHEMA} -->", f"# {escaped(report.title)}", "", *_body(report)]).rstrip(
            "\n"
        )
        + "\n"
    )


def _body(report: Document) -> Iterator[str]:
    for one in report.diagnostics:
        yield f"- {one.severity.value}: {escaped(str(one))}"
    if report.diagnostics:
        yield ""
    for part in report.parts:
        yield f"## {escaped(part.title)}"
        yield ""
        for section in part.sections:
            yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield f"### {escaped(section.title)}"
    yield ""
    mark = "> - " if section.is_warning else "- "
    lines = [f"{mark}{escaped(sentence.strip())}" for sentence in section.sentences]
    lines += [f"- **{escaped(label)}:** {_words(text)}" for label, text in section.facts]
    yield from lines
    if lines:
        yield ""
    for chart in section.charts:
        if chart.id in _CHARTS:
            yield from _chart(chart.engine, chart.id)
    for table in section.tables:
        yield from _table(table)


def _words(text: str) -> str:
    return escaped(shorten_middle(printable(text), _LONGEST_WORDS))


def _chart(engine: Engine, id: str) -> Iterator[str]:  # noqa: A002 - as the field of Chart
    """The chart of the explorer, in a fence that nothing in it can close."""
    lines = [
        "".join(span.text for span in line).rstrip()
        for line in draw(CHARTS_BY_ID[id], Subject(engine, engine.layers, _PLAIN), *_CHART_SIZE)
    ]
    longest = max((len(found) for line in lines for found in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from lines
    yield fence
    yield ""


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"**{escaped(table.title)}**"
        yield ""
    heads, rules = [], []
    for column in table.columns:
        heads += [escaped(column.title)] + ([""] if column.has_bar else [])
        rules += ["---:" if column.is_number else "---"] + (["---"] if column.has_bar else [])
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join(rules)}|"
    tops = [table.largest(place) for place in range(len(table.columns))]
    for row in table.rows:
        cells = [
            text
            for column, value, top in zip(table.columns, row, tops, strict=True)
            for text in _cells(column, value, top)
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    if table.rest:
        yield f"*{escaped(table.rest)}*"
        yield ""


def _cells(column: Column, value: object, top: float) -> list[str]:
    longest = LONGEST_CELL if column.key in _NAMES else _LONGEST_WORDS
    text = column.text(value)
    shown = escaped(text if column.is_number else column.shorten(text, longest))
    bar = lying_bar((number(value) or 0.0) / top, _BAR_CELLS) if top else ""
    return [shown, bar] if column.has_bar else [shown]
