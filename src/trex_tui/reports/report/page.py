"""A report as one HTML file: sortable tables, inline charts, nothing from outside."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from trex_tui.reports.document import Column, Document, Part, Section, Table, number
from trex_tui.reports.html import bullets, page, safe
from trex_tui.reports.report.document import SCHEMA
from trex_tui.svg.catalogue import Picture, picture
from trex_tui.svg.style import ROOT, stylesheet

_LONGEST = 240
"""Longer texts lose their middle: a name may have 16 384 characters; JSON holds them whole."""
_ONE_LINE = 24
"""Texts up to this length stay on one line."""
_SHORT = 12
"""Rows of a table that is printed on one page."""

_STYLE = """
nav ul { columns: 18rem; } nav { border-bottom: 1px solid var(--line); padding-bottom: .6rem; }
a { color: inherit; } h3 a { text-decoration: none; } h3 a:hover, h3 a:focus-visible { text-decoration: underline; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .1rem 1rem; margin: .4rem 0; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit; }
th button:hover, th button:focus-visible { text-decoration: underline; }
th[aria-sort="ascending"] button::after { content: " \\25B4"; }
th[aria-sort="descending"] button::after { content: " \\25BE"; }
td.bar { width: 7rem; min-width: 4rem; padding-top: .5rem; } td.bar svg { display: block; width: 100%; height: .7em; }
td.bar rect { fill: currentColor; } td.bar .plain { color: var(--bar); } td.text { min-width: 10rem; }
td.word { white-space: nowrap; min-width: 0; }
h2 { border-top: 2px solid var(--line); padding-top: .8rem; margin-top: 2.4rem; }
figure { margin: 1rem 0; max-width: 56rem; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--muted); font-size: .9rem; } figcaption b { color: var(--ink); }
.rest { color: var(--muted); font-size: .9rem; margin: .2rem 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; } dd { margin: 0 0 .4rem; } }
@media print {
  nav { display: none; } figure { break-inside: avoid; } figure svg { max-height: 85vh; } .short { break-inside: avoid; }
  th button { display: contents; } th[aria-sort] button::after { content: ""; }
}
"""

# Numbers begin with the largest, words with A; the third click restores the order of the report. Unknown values stay last.
_SCRIPT = """
"use strict";
for (const button of document.querySelectorAll("th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), body = head.closest("table").tBodies[0], place = head.cellIndex;
    const isText = head.className === "text", first = isText ? "ascending" : "descending";
    const second = isText ? "descending" : "ascending", now = head.getAttribute("aria-sort");
    const order = now === first ? second : now === second ? "none" : first;
    for (const other of head.parentNode.cells) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", order);
    const rows = [...body.rows];
    rows.forEach((row, index) => { if (row.dataset.place === undefined) row.dataset.place = index; });
    const key = (row) => {
      const cell = row.cells[place];
      return isText ? cell.textContent : cell.dataset.value === undefined ? null : Number(cell.dataset.value);
    };
    const sign = order === "descending" ? -1 : 1;
    rows.sort((a, b) => {
      if (order !== "none") {
        const x = key(a), y = key(b);
        if (x !== y && (x === null || y === null)) return x === null ? 1 : -1;
        const by = isText ? x.localeCompare(y, "en", { numeric: true }) : x - y;
        if (by) return sign * by;
      }
      return a.dataset.place - b.dataset.place;
    });
    body.append(...rows);
  });
}
"""


def report_page(report: Document) -> str:
    """The whole page. Every text of a file is escaped, and the policy lets no other script run than that for sorting."""
    return page(report.title, _body(report), f"{_STYLE}{stylesheet()}", _SCRIPT, SCHEMA)


def _body(report: Document) -> Iterator[str]:
    yield f"<h1>{safe(report.title)}</h1>"
    yield '<nav aria-label="Contents"><ul>'
    for part in report.parts:
        yield f'<li><a href="#{part.id}">{safe(part.title)}</a><ul>'
        for section in part.sections:
            yield f'<li><a href="#{_anchor(part, section)}">{safe(section.title)}</a></li>'
        yield "</ul></li>"
    yield "</ul></nav>"
    yield from bullets([f"{one.severity.value}: {one}" for one in report.diagnostics])
    for part in report.parts:
        yield f'<h2 id="{part.id}">{safe(part.title)}</h2>'
        for section in part.sections:
            yield from _section(part, section)


def _anchor(part: Part, section: Section) -> str:
    return f"{part.id}-{section.id}"


def _section(part: Part, section: Section) -> Iterator[str]:
    anchor = _anchor(part, section)
    yield f'<section id="{anchor}" class="{"warning" if section.is_warning else "plain"}">'
    yield f'<h3><a href="#{anchor}">{safe(section.title)}</a></h3>'
    charts = [picture(chart.id, chart.engine) for chart in section.charts]
    said = {sentence for chart in charts for sentence in (*chart.words, *chart.missing)}
    yield from bullets([sentence for sentence in section.sentences if sentence not in said])
    if section.facts:
        yield "<dl>"
        yield from (f"<dt>{safe(label)}</dt><dd>{safe(words)}</dd>" for label, words in section.facts)
        yield "</dl>"
    yield from map(_figure, charts)
    for table in section.tables:
        yield from _table(table)
    yield "</section>"


def _figure(found: Picture) -> str:
    """A chart with its sentences; the sentences alone, which say why, where there is nothing to draw."""
    told = " ".join(map(safe, (*found.words, *found.missing)))
    return f"<figure><figcaption><b>{safe(found.title)}.</b> {told}</figcaption>{found.svg or ''}</figure>"


def _table(table: Table) -> Iterator[str]:
    if table.title:
        yield f"<h4>{safe(table.title)}</h4>"
    tops = [table.largest(index) if column.has_bar else None for index, column in enumerate(table.columns)]
    texts = [table.texts(index) for index in range(len(table.columns))]
    kinds = [
        "number"
        if column.is_number
        else "text"
        if max(map(len, column_texts), default=0) > _ONE_LINE
        else "text word"
        for column, column_texts in zip(table.columns, texts, strict=True)
    ]
    group = "scroll short" if len(table.rows) <= _SHORT else "scroll"
    label = f' aria-label="{safe(table.title)}"' if table.title else ""
    yield f'<div class="{group}"><table{label}><thead><tr>'
    yield "".join(map(_head, table.columns))
    yield "</tr></thead><tbody>"
    for row, row_texts, style in zip(
        table.rows, zip(*texts, strict=True), table.styles or repeat(""), strict=False
    ):
        cells = map(_cell, table.columns, kinds, row, row_texts, tops, repeat(style))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
    if table.rest:
        yield f'<p class="rest">{safe(table.rest)}</p>'


def _head(column: Column) -> str:
    kind = "number" if column.is_number else "text"
    told = f' title="{safe(column.help)}"' if column.help else ""
    shown = f'<button type="button"{told}>{safe(column.title)}</button>' if column.title else ""
    sorts = ' aria-sort="none"' if shown else ""
    bar = "<td></td>" if column.has_bar else ""
    return f'<th scope="col" class="{kind}"{sorts}>{shown}</th>{bar}'


def _cell(column: Column, kind: str, value: object, text: str, top: float | None, style: str) -> str:
    if not column.is_number:
        return f'<td class="{kind}">{safe(column.shorten(text, _LONGEST))}</td>'
    known = number(value)
    data = "" if known is None else f' data-value="{known!r}"'
    bar = "" if top is None else f'<td class="bar">{_bar(known, top, style)}</td>'
    return f"<td{data}>{safe(text)}</td>{bar}"


def _bar(value: float | None, top: float, style: str) -> str:
    if not value or value < 0 or not top:
        return ""
    rect = f'<rect class="{safe(style) or "plain"}" width="{100.0 * value / top:.2f}" height="10"/>'
    return (
        f'<svg class="{ROOT}" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">{rect}</svg>'
    )
