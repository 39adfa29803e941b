"""A comparison as one HTML file: no script, no network, light and dark, readable in print."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from trex_tui.reports.diff.choice import Shown, labels
from trex_tui.reports.diff.sections import Section, Table, sections

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; --line: #8884; --muted: #777; --warn: #b35a00; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
section.warning { border-left: 4px solid var(--warn); padding-left: 1rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .2rem .7rem .2rem 0; text-align: right; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--muted); font-weight: 600; }
td.text, th.text { text-align: left; overflow-wrap: anywhere; }
ul { margin: .2rem 0; padding-left: 1.2rem; }
"""


def diff_page(shown: Shown) -> str:
    """The whole page. Every name is escaped, and a policy forbids whatever would be more than text."""
    title = escape(" · ".join(labels(shown.comparison, shown.columns)))
    body = "\n".join(part for section in sections(shown) for part in _section(section))
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{body}\n</body>\n</html>\n"
    )


def _section(section: Section) -> Iterator[str]:
    yield f'<section class="{"warning" if section.is_warning else "plain"}"><h2>{escape(section.title)}</h2>'
    if section.lines:
        yield "<ul>" + "".join(f"<li>{escape(line.strip())}</li>" for line in section.lines) + "</ul>"
    if section.table:
        yield from _table(section.table)
    yield "</section>"


def _table(table: Table) -> Iterator[str]:
    kinds = [
        "text" if column in table.wide or column == 0 else "number" for column in range(len(table.headings))
    ]
    yield '<div class="scroll"><table><thead><tr>'
    yield "".join(
        f'<th class="{kind}">{escape(head)}</th>' for kind, head in zip(kinds, table.headings, strict=True)
    )
    yield "</tr></thead><tbody>"
    for row in table.rows:
        cells = (f'<td class="{kind}">{escape(cell)}</td>' for kind, cell in zip(kinds, row, strict=True))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"
