"""HTML pages that need nothing from outside: one file, light and dark, readable in print, with a strict policy.

A page may hold one script and one style sheet, both of ours; the policy names them by their hashes, so that a browser runs
neither another script nor an attribute that a name smuggled in. Every text goes through `safe`.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from trex_tui.text import printable

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
  @page { size: A4 landscape; margin: 12mm; }
  body { font-size: 9pt; margin: 0; max-width: none; padding: 0; }
  h1, h2, h3, h4 { break-after: avoid; }
  .scroll { overflow: visible; }
  table { font-size: 8pt; max-width: 100%; }
  thead { display: table-header-group; break-inside: avoid; }
  tr, figure { break-inside: avoid; }
}
"""


class Heading(NamedTuple):
    """The head of a column."""

    text: str
    is_text: bool = False


def safe(text: str) -> str:
    """Text in which HTML sees nothing but letters, in elements and in quoted attributes."""
    return escape(printable(text))


def page(title: str, body: Iterable[str], style: str = "", script: str = "", kind: str = "") -> str:
    """The whole page.

    Args:
        title: Not yet escaped.
        body: Lines of HTML.
        style: Beside the style of all pages, before that for print.
        script: Run when the page has been read; empty for a page without any.
        kind: What wrote it, for programs that look.
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
    """As a policy names a source: of the exact text between the tags."""
    return "sha256-" + base64.b64encode(hashlib.sha256(source.encode("utf-8")).digest()).decode("ascii")


def plain_table(headings: Sequence[Heading], rows: Iterable[Sequence[str]]) -> Iterable[str]:
    """A table of texts, not yet escaped."""
    kinds = ["text" if heading.is_text else "number" for heading in headings]
    yield '<div class="scroll"><table><thead><tr>'
    yield "".join(
        f'<th scope="col" class="{kind}">{safe(heading.text)}</th>'
        for kind, heading in zip(kinds, headings, strict=True)
    )
    yield "</tr></thead><tbody>"
    for row in rows:
        cells = (f'<td class="{kind}">{safe(cell)}</td>' for kind, cell in zip(kinds, row, strict=True))
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table></div>"


def bullets(lines: Sequence[str]) -> Iterable[str]:
    """Sentences as a list; nothing for none."""
    if lines:
        yield "<ul>" + "".join(f"<li>{safe(line.strip())}</li>" for line in lines) + "</ul>"
