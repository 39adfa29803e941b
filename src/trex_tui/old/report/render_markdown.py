"""Documents as Markdown that a forge renders: tables with bars of block characters, and charts in characters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.report.document import (
    BAR_SCALE,
    ChartReference,
    Column,
    Document,
    FigureChart,
    Section,
    Table,
    describe_folded,
    displayed,
    number,
)
from trex_tui.old.report.render_json import REPORT_SCHEMA
from trex_tui.old.text import format_bar, printable, shorten_middle

LONGEST_CELL = 60
"""Names in tables longer than this lose their middle: a forge would give all the width to one column."""
_LONGEST_TEXT = 400
_BAR_CELLS = 16
_CHART_SIZE = (100, 20)
"""Columns and rows of a chart; what forges show beside their own margins."""
_CHARTS = frozenset(
    {"histogram", "percentiles", "over-time", "power", "temperature", "clock", "memory", "roofline"}
)
"""Charts that are readable without colour, and that a table with bars does not replace."""
_NAMES = frozenset({"name", "tactic", "layers"})
_NAME = lazy_pattern(r"[\w.]+")
"""Headings that Markdown takes as they are."""
_TICKS = lazy_pattern("`+")


def escaped(text: str) -> str:
    """Escape a text for Markdown and HTML, on one line; `@`, `#` and addresses become no links."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for char in "\\`*_{}[]()#|~!":
        text = text.replace(char, "\\" + char)
    return text.replace("@", "&#64;").replace("://", "&#58;//")


def document_markdown(document: Document) -> str:
    """Markdown of a document. Every text is escaped."""
    lines = [f"<!-- {REPORT_SCHEMA} -->", f"# {escaped(document.title)}", ""]
    lines += [
        f"- {diagnostic.severity.value}: {escaped(str(diagnostic))}" for diagnostic in document.diagnostics
    ]
    lines += [""] if document.diagnostics else []
    for part in document.parts:
        lines += [f"## {escaped(part.title)}", ""]
        for section in part.sections:
            lines += _section_lines(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def sections_markdown(title: str, sections: Iterable[Section]) -> str:
    """Markdown of sections below a heading, whole."""
    lines = [f"## {escaped(title)}", "", *(line for section in sections for line in _section_lines(section))]
    return "\n".join(lines).rstrip("\n") + "\n"


def comment_markdown(title: str, sections: Iterable[Section], folded: frozenset[str] = frozenset()) -> str:
    """Markdown of sections, short enough for a comment on a pull request.

    Args:
        folded: Ids of sections that a reader opens.
    """
    lines = [f"### {escaped(title)}", ""]
    for section in sections:
        sentences = [escaped(sentence.strip()) for sentence in section.sentences]
        is_folded = section.id in folded
        if section.is_warning:
            lines += warning_markdown(section)
        elif is_folded:
            lines += ["<details>", f"<summary>{escaped(section.title)}</summary>", ""]
        else:
            lines += [f"#### {escaped(section.title)}", "", *(f"- {line}" for line in sentences)]
            lines += [""] if sentences else []
        for table in section.tables:
            lines += [*table_markdown(table, lambda _: LONGEST_CELL), ""]
        lines += ["</details>", ""] if is_folded else []
    return "\n".join(lines).rstrip("\n") + "\n"


def warning_markdown(section: Section) -> list[str]:
    """Lines of a section that is to be seen before any number: a quote with a bullet per sentence."""
    bullets = (f"> - {escaped(sentence.strip())}" for sentence in section.sentences)
    return [f"> **{escaped(section.title)}**", ">", *bullets, ""]


def table_markdown(
    table: Table, longest: Callable[[Column], int] | None = None, *, has_bars: bool = True
) -> Iterator[str]:
    """Lines of a table; texts are escaped, and bars stand beside the columns that have them.

    Args:
        longest: Characters of the texts of a column; None to cut nothing.
        has_bars: False for a listing, which keeps empty columns too.
    """
    table = displayed(table, is_complete=not has_bars)
    columns = table.columns if has_bars else [replace(column, has_bar=False) for column in table.columns]
    heads, rules = [], []
    tops = [table.largest(index) if column.has_bar else 0.0 for index, column in enumerate(columns)]
    for column, top in zip(columns, tops, strict=True):
        # Keys need no escapes: an underscore inside a word is no markup.
        title = column.title if _NAME.fullmatch(column.title) else escaped(column.title)
        heads += [title] + ([BAR_SCALE if top else ""] if column.has_bar else [])
        rules += ["---:" if column.is_number else "---"] + (["---"] if column.has_bar else [])
    yield f"| {' | '.join(heads)} |"
    yield f"|{'|'.join(rules)}|"
    for row in table.rows:
        cells = [
            text
            for column, value, top in zip(columns, row, tops, strict=True)
            for text in _cells(column, value, top, longest)
        ]
        yield f"| {' | '.join(cells)} |"


def _longest(column: Column) -> int:
    return LONGEST_CELL if column.key in _NAMES else _LONGEST_TEXT


def _cells(column: Column, value: object, top: float, longest: Callable[[Column], int] | None) -> list[str]:
    text = column.text(value)
    if longest is not None and not column.is_number and len(text) > longest(column):
        text = column.shorten(text, longest(column))
    if not column.has_bar:
        return [escaped(text)]
    return [escaped(text), format_bar((number(value) or 0.0) / top, _BAR_CELLS) if top else ""]


def _fact_lines(facts: Iterable[tuple[str, str]]) -> list[str]:
    return [
        f"- **{escaped(label)}:** {escaped(shorten_middle(printable(text), _LONGEST_TEXT))}"
        for label, text in facts
    ]


def _section_lines(section: Section) -> Iterator[str]:
    yield f"### {escaped(section.title)}"
    yield ""
    if section.highlights:
        yield " · ".join(f"**{escaped(text)}** {escaped(label)}" for label, text in section.highlights)
        yield ""
    mark = "> - " if section.is_warning else "- "
    lines = [f"{mark}{escaped(sentence.strip())}" for sentence in section.sentences]
    lines += _fact_lines(section.facts)
    yield from lines
    if lines:
        yield ""
    if section.folded:
        yield from (f"<details><summary>{describe_folded(section)}</summary>", "")
        yield from _fact_lines(section.folded)
        yield from ("", "</details>", "")
    for chart in section.charts:
        if isinstance(chart, FigureChart) or chart.id in _CHARTS:
            yield from _chart_lines(chart)
    for table in section.tables:
        if table.title:
            yield f"**{escaped(table.title)}**"
            yield ""
        yield from table_markdown(table, _longest)
        yield ""
        if table.rest:
            yield f"*{escaped(table.rest)}*"
            yield ""


def _chart_lines(chart: ChartReference | FigureChart) -> Iterator[str]:
    """The chart of the explorer, in a fence that nothing in it can close."""
    from trex_tui.old.report.chart_file import NO_COLOURS, draw_figure_text, draw_text
    from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
    from trex_tui.old.report.charts.figure import Subject

    if isinstance(chart, FigureChart):
        text = draw_figure_text(chart.figure, chart.title, _CHART_SIZE)
    else:
        subject = Subject(chart.engine, chart.engine.layers, NO_COLOURS)
        text = draw_text(CHARTS_BY_ID[chart.id], subject, _CHART_SIZE)
    lines = text.splitlines()
    longest = max((len(ticks) for line in lines for ticks in _TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield from lines
    yield fence
    yield ""
