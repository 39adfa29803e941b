"""HTML pages without external resources: one file, light and dark, readable in print, with a strict policy.

A page holds at most one script and one style sheet, both from this module; the policy names them by their hashes, so a
browser runs no script from a name. Every text passes through `safe`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from itertools import groupby, repeat

from trex_tui.old.report.charts.catalogue import CHARTS_BY_ID
from trex_tui.old.report.charts.svg_elements import ROOT, stylesheet
from trex_tui.old.report.charts.svg_painter import Picture, figure_picture, picture
from trex_tui.old.report.document import (
    BAR_SCALE,
    Cell,
    ChartReference,
    Column,
    Document,
    FigureChart,
    Part,
    Section,
    Table,
    describe_folded,
    displayed,
    number,
)
from trex_tui.old.report.render_json import REPORT_SCHEMA
from trex_tui.old.text import printable, shorten_middle

_LONGEST = 240
"""Longer texts are cut in the middle: a name may have 16 384 characters; JSON holds them whole."""
_LONGEST_HINT = 2_000
"""Characters in the tooltip of a text that is cut."""
_ONE_LINE = 24
"""Texts up to this length stay on one line."""
_SHORT = 12
"""Rows of a table that is printed on one page; of a longer one only these are printed."""

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --muted: #6b6b6b; --warn: #b35a00; --bar: #3a7bd5;
  --page: #fff; --ink: #1a1a1a; }
@media (prefers-color-scheme: dark) {
  :root { --muted: #a5a5a5; --warn: #ffb454; --bar: #6fa8ff; --page: #16181d; --ink: #e4e4e4; }
}
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem;
  background: var(--page); color: var(--ink); overflow-wrap: break-word; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .3rem; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; } h4 { font-size: .95rem; margin: 1rem 0 .2rem; }
section.warning { border-left: 4px solid var(--warn); padding-left: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: right; vertical-align: top;
  border-bottom: 1px solid var(--line); white-space: nowrap; }
th { color: var(--muted); font-weight: 600; }
td.text, th.text { text-align: left; white-space: normal; }
td.text { overflow-wrap: anywhere; min-width: 4rem; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
"""
_PRINT_STYLE = """
@media print {
  :root { color-scheme: light; --muted: #555; --warn: #b35a00; --bar: #3a7bd5; --page: #fff; --ink: #000; }
  @page { size: A4 landscape; margin: 8mm; }
  body { font-size: 7.5pt; line-height: 1.25; margin: 0; max-width: none; padding: 0; }
  h1, h2, h3, h4 { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 6.7pt; max-width: 100%; } th, td { padding: .05rem .5rem .08rem 0; }
  td.text { min-width: 2.5rem; }
  thead { display: table-header-group; break-inside: avoid; }
  tr, figure { break-inside: avoid; }
}
"""
_REPORT_STYLE = """
nav ul { columns: 18rem; } nav { border-bottom: 1px solid var(--line); padding-bottom: .6rem; }
a { color: inherit; } h3 a { text-decoration: none; } h3 a:hover, h3 a:focus-visible { text-decoration: underline; }
dl { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .1rem 1rem; margin: .4rem 0; }
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0; cursor: pointer; text-align: inherit; }
th button:hover, th button:focus-visible { text-decoration: underline; }
th[aria-sort="ascending"] button::after { content: " \\25B4"; }
th[aria-sort="descending"] button::after { content: " \\25BE"; }
td.bar { width: 7rem; min-width: 4rem; padding-top: .5rem; } td.bar svg { display: block; width: 100%; height: .7em; }
td.scale { color: var(--muted); font-size: .92em; } td.bar rect { fill: currentColor; }
td.bar .plain { color: var(--bar); } td.text { min-width: 10rem; }
td.word { white-space: nowrap; min-width: 0; }
h2 { border-top: 2px solid var(--line); padding-top: .8rem; margin-top: 2.4rem; }
.tiles { display: flex; flex-wrap: wrap; gap: .8rem; margin: .6rem 0; }
.tiles div { border: 1px solid var(--line); border-radius: 6px; padding: .5rem 1rem; color: var(--muted); flex: 1 1 12rem; }
.tiles b { display: block; font-size: 1.5rem; color: var(--ink); font-variant-numeric: tabular-nums; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); gap: 0 1.5rem; }
.tables { display: flex; flex-wrap: wrap; gap: 0 2.5rem; } .tables > div { max-width: 100%; min-width: 0; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: 0 2rem; }
:target { outline: 2px solid var(--bar); }
figure { margin: 1rem 0; max-width: 56rem; } figure svg { width: 100%; height: auto; display: block; }
figcaption { color: var(--muted); font-size: .9rem; } figcaption b { color: var(--ink); }
.printed { display: none; } .rest { color: var(--muted); font-size: .9em; margin: .2rem 0; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; } dd { margin: 0 0 .4rem; } figure { overflow-x: auto; } figure svg { min-width: 36rem; }
}
@media print {
  nav, details, .screen { display: none; } .printed { display: block; }
  .long tbody tr:nth-child(n + 13) { display: none; }
  .long td.text { max-width: 85mm; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
  h2 { margin-top: .8rem; } h3 { margin: .5rem 0 .1rem; } h4 { margin: .3rem 0 .1rem; }
  .charts { grid-template-columns: 1fr 1fr; gap: 0 .8rem; }
  .tables:has(tbody tr:nth-child(9)) { clear: both; }
  .charts:not(:has(figure:not(.screen) ~ figure:not(.screen))) {
    float: left; width: 49%; margin-right: 1%; grid-template-columns: 1fr;
  }
  h2, .cards { clear: both; }
  figure { margin: .3rem 0; break-inside: avoid; } figcaption { font-size: 6.5pt; line-height: 1.25; }
  .cards { grid-template-columns: repeat(4, 1fr); } .cards section, .short { break-inside: avoid; }
  .tables { gap: 0 1.5rem; } .tables > div { max-width: 100%; } dl { gap: 0 .8rem; grid-template-columns: max-content 1fr; }
  .tiles div { padding: .2rem .6rem; } td.bar { width: 4rem; }
  th button { display: contents; } th[aria-sort] button::after { content: ""; }
}
"""

_FRAGMENT_STYLE = """
.trex-tui dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 1rem; margin: 0; }
.trex-tui dt { opacity: .7; width: auto; white-space: nowrap; } .trex-tui dd { margin: 0; width: auto; }
.trex-tui h4 { margin: .6rem 0 .2rem; }
.trex-tui td.text, .trex-tui th.text { text-align: left; } .trex-tui td.bar svg { width: 7rem; height: .7em; }
.trex-tui td.bar rect { fill: #3a7bd5; } .trex-tui section.warning { border-left: 4px solid #b35a00; padding-left: 1rem; }
.trex-tui .scroll { overflow-x: auto; }
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


def safe(text: str) -> str:
    """Escape a text for elements and quoted attributes."""
    return escape(printable(text))


def page(title: str, body: Iterable[str], style: str = "", script: str = "", kind: str = "") -> str:
    """Return the whole page.

    Args:
        title: Not yet escaped.
        body: Lines of HTML.
        style: Added to the style of all pages, before that for print.
        script: Run when the page has been read; empty for a page without scripts.
        kind: Name of the producer, for programs.
    """
    sheet = f"{_STYLE}{style}{_PRINT_STYLE}"
    policy = f"default-src 'none'; style-src '{_hash(sheet)}'"
    policy += f"; script-src '{_hash(script)}'" if script else ""
    return "\n".join(
        (
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}; base-uri &#x27;none&#x27;; '
            'form-action &#x27;none&#x27;">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            *([f'<meta name="generator" content="{safe(kind)}">'] if kind else []),
            f"<title>{safe(title)}</title>",
            f"<style>{sheet}</style>",
            "</head>",
            "<body>",
            *body,
            *([f"<script>{script}</script>"] if script else []),
            "</body>",
            "</html>",
            "",
        )
    )


def _hash(source: str) -> str:
    """Hash the exact text between the tags, as the policy requires."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii")


def bullets(lines: Sequence[str]) -> Iterable[str]:
    """Yield sentences as a list."""
    if lines:
        yield "<ul>" + "".join(f"<li>{safe(line.strip())}</li>" for line in lines) + "</ul>"


def document_page(document: Document, kind: str = REPORT_SCHEMA) -> str:
    """Return the HTML of a document. Every text is escaped, and the policy allows no script but the one for sorting.

    Args:
        kind: Name of the producer, for programs.
    """
    return page(document.title, _body(document), f"{_REPORT_STYLE}{stylesheet()}", _SCRIPT, kind)


def sections_page(title: str, sections: Iterable[Section]) -> str:
    """Return the HTML of sections without charts, and without a script."""
    return page(title, [f"<h1>{safe(title)}</h1>", *_plain_sections(sections, "h2")])


def sections_fragment(title: str, sections: Iterable[Section]) -> str:
    """Return HTML of sections for the page of someone else, such as a notebook: no charts, no script, own styles."""
    lines = ('<div class="trex-tui">', f"<style>{_FRAGMENT_STYLE}</style>", f"<h3>{safe(title)}</h3>")
    return "\n".join((*lines, *_plain_sections(sections, "h4"), "</div>"))


def _plain_sections(sections: Iterable[Section], heading: str) -> Iterator[str]:
    for section in sections:
        kind = "warning" if section.is_warning else "plain"
        yield f'<section class="{kind}"><{heading}>{safe(section.title)}</{heading}>'
        yield from bullets(section.sentences)
        yield from _all_facts(section)
        for table in section.tables:
            yield from _table(table)
        yield "</section>"


def _body(document: Document) -> Iterator[str]:
    yield f"<h1>{safe(document.title)}</h1>"
    is_alone = len(document.parts) == 1
    rows = {part.id: _find_rows(part) for part in document.parts}
    for part in document.parts[:1]:
        for section in part.sections[:1]:
            yield from _section(part, section, rows, has_title=False)
    yield '<nav aria-label="Contents"><ul>'
    for part in document.parts:
        head = "" if is_alone else f'<li><a href="#{part.id}">{safe(part.title)}</a><ul>'
        yield head
        for section in part.sections:
            yield f'<li><a href="#{_anchor(part, section)}">{safe(section.title)}</a></li>'
        yield "</ul></li>" if head else ""
    yield "</ul></nav>"
    yield from bullets([f"{diagnostic.severity.value}: {diagnostic}" for diagnostic in document.diagnostics])
    for index, part in enumerate(document.parts):
        yield f'<div id="{part.id}"></div>' if is_alone else f'<h2 id="{part.id}">{safe(part.title)}</h2>'
        if hidden := list(_list_hidden(part)):
            yield f'<p class="rest printed">On the screen only: {safe(", ".join(hidden))}.</p>'
        for is_card, sections in groupby(part.sections[index == 0 :], _is_card):
            yield '<div class="cards">' if is_card else ""
            for section in sections:
                yield from _section(part, section, rows)
            yield "</div>" if is_card else ""


def _list_hidden(part: Part) -> Iterator[str]:
    """Yield the titles of sections and charts that are not printed."""
    for section in part.sections:
        if not section.is_printed:
            yield section.title
            continue
        for chart in section.charts:
            if not chart.is_printed:
                yield (
                    chart.title
                    if isinstance(chart, FigureChart)
                    else (chart.chart or CHARTS_BY_ID[chart.id]).titled(chart.engine.layers).title
                )


def _is_card(section: Section) -> bool:
    """Return whether it has facts only: several of them stand side by side."""
    return bool(section.facts) and not (section.charts or section.tables or section.highlights)


def _find_rows(part: Part) -> dict[int, str]:
    """Return the anchor of the row about each layer that a table of the part has: of its first row."""
    tables = [table for section in part.sections for table in section.tables]
    return {
        layer: f"{part.id}-layer-{layer}" for table in reversed(tables) for layer in reversed(table.layers)
    }


def _anchor(part: Part, section: Section) -> str:
    return f"{part.id}-{section.id}"


def _section(
    part: Part, section: Section, rows: Mapping[str, Mapping[int, str]], *, has_title: bool = True
) -> Iterator[str]:
    """Yield a section.

    Args:
        rows: By part, the anchor of the row about a layer, by its index.
    """
    anchor = _anchor(part, section)
    kind = "warning" if section.is_warning else "plain"
    yield f'<section id="{anchor}" class="{kind if section.is_printed else f"{kind} screen"}">'
    yield f'<h3><a href="#{anchor}">{safe(section.title)}</a></h3>' if has_title else ""
    if section.highlights:
        tiles = (f"<div><b>{safe(text)}</b>{safe(label)}</div>" for label, text in section.highlights)
        yield f'<div class="tiles">{"".join(tiles)}</div>'
    charts = list(map(_picture, section.charts))
    captions = {sentence for chart in charts for sentence in (*chart.words, *chart.missing)}
    yield from bullets([sentence for sentence in section.sentences if sentence not in captions])
    yield from _all_facts(section)
    if charts:
        yield '<div class="charts">'
        for chart, reference in zip(charts, section.charts, strict=True):
            yield _figure(chart, is_printed=reference.is_printed)
        yield "</div>"
    if section.tables:
        yield '<div class="tables">'
        for table in section.tables:
            yield "<div>"
            yield from _table(table, rows[part.id], rows.get(table.part or part.id))
            yield "</div>"
        yield "</div>"
    yield "</section>"


def _all_facts(section: Section) -> Iterator[str]:
    yield from _facts(section.facts)
    if section.folded:
        yield f"<details><summary>{describe_folded(section)}</summary>"
        yield from _facts(section.folded)
        yield "</details>"


def _picture(chart: ChartReference | FigureChart) -> Picture:
    if isinstance(chart, FigureChart):
        return figure_picture(chart.id, chart.title, "", chart.figure)
    return picture(chart.chart or chart.id, chart.engine)


def _facts(facts: Sequence[tuple[str, str]]) -> Iterator[str]:
    if facts:
        yield "<dl>"
        yield from (f"<dt>{safe(label)}</dt><dd>{safe(text)}</dd>" for label, text in facts)
        yield "</dl>"


def _figure(chart: Picture, *, is_printed: bool) -> str:
    """Return a chart with its sentences; only the sentences if there is nothing to draw."""
    caption = " ".join(map(safe, (*chart.words, *chart.missing)))
    kind = "" if is_printed else ' class="screen"'
    return f"<figure{kind}><figcaption><b>{safe(chart.title)}.</b> {caption}</figcaption>{chart.svg or ''}</figure>"


def _table(
    table: Table, rows: Mapping[int, str] | None = None, links: Mapping[int, str] | None = None
) -> Iterator[str]:
    """Yield a table; in a report its columns can be sorted, and long texts are cut, with the full text as tooltip.

    Args:
        rows: In a report, the anchor of the row about a layer.
        links: In a report, the anchors that links to layers lead to.
    """
    is_report = rows is not None
    table = displayed(table)
    anchors = rows or {}
    if table.title:
        yield f"<h4>{safe(table.title)}</h4>"
    tops = [table.largest(index) if column.has_bar else None for index, column in enumerate(table.columns)]
    whole = [table.texts(index) for index in range(len(table.columns))]
    texts = [
        [text if len(text) <= _LONGEST else column.shorten(text, _LONGEST) for text in texts]
        if is_report and not column.is_number
        else texts
        for column, texts in zip(table.columns, whole, strict=True)
    ]
    kinds = [
        "number"
        if column.is_number
        else "text"
        if max(map(len, column_texts), default=0) > _ONE_LINE
        else "text word"
        for column, column_texts in zip(table.columns, texts, strict=True)
    ]
    is_long = is_report and len(table.rows) > _SHORT
    group = "scroll long" if is_long else "scroll short" if len(table.rows) <= _SHORT else "scroll"
    label = f' aria-label="{safe(table.title)}"' if table.title else ""
    yield f'<div class="{group}"><table{label}><thead><tr>'
    yield "".join(_head(column, top, is_report) for column, top in zip(table.columns, tops, strict=True))
    yield "</tr></thead><tbody>"
    for row, row_texts, row_whole, style, layer in zip(
        table.rows,
        zip(*texts, strict=True),
        zip(*whole, strict=True),
        table.styles or repeat(""),
        table.layers or repeat(-1),
        strict=False,
    ):
        cells = map(
            _cell, table.columns, kinds, row, row_texts, row_whole, tops, repeat(style), repeat(links or {})
        )
        mark = f' id="{anchors[layer]}"' if layer in anchors else ""
        yield f"<tr{mark}>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
    if table.shown_part:
        yield f'<p class="rest{" screen" if is_long else ""}">{safe(table.shown_part)}.</p>'
    if is_long:
        printed = replace(table, rows=table.rows[:_SHORT], total=table.rows_total)
        yield f'<p class="rest printed">{safe(printed.shown_part)}; all are on the screen.</p>'


def _head(column: Column, top: float | None, is_sortable: bool) -> str:
    kind = "number" if column.is_number else "text"
    help_ = f' title="{safe(column.help)}"' if column.help else ""
    shown, sorts = safe(column.title), ""
    if is_sortable and shown:
        shown, sorts = f'<button type="button"{help_}>{shown}</button>', ' aria-sort="none"'
    bar = f'<td class="scale">{BAR_SCALE if top else ""}</td>' if column.has_bar else ""
    return f'<th scope="col" class="{kind}"{sorts}>{shown}</th>{bar}'


def _cell(
    column: Column,
    kind: str,
    value: object,
    text: str,
    whole: str,
    top: float | None,
    style: str,
    anchors: Mapping[int, str],
) -> str:
    if anchors and isinstance(value, Cell) and value.parts:
        links = [
            f'<a href="#{anchors[layer]}">{safe(shorten_middle(part, _LONGEST))}</a>'
            if layer is not None and layer in anchors
            else safe(shorten_middle(part, _LONGEST))
            for part, layer in value.parts
        ]
        return f'<td class="{kind}">{"; ".join(links)}</td>'
    if not column.is_number:
        parts = [shorten_middle(whole, _LONGEST_HINT)] if text != whole else []
        if column.explain is not None and (meaning := column.explain(value)):
            parts.append(meaning)
        hint = f' title="{safe(". ".join(parts))}"' if parts else ""
        return f'<td class="{kind}"{hint}>{safe(text)}</td>'
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
