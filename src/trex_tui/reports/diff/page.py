"""A comparison as one HTML file: no script, no network, light and dark, readable in print."""

from __future__ import annotations

from collections.abc import Iterator

from trex_tui.reports.diff.choice import Shown, labels
from trex_tui.reports.diff.sections import sections
from trex_tui.reports.document import Section
from trex_tui.reports.html import Heading, bullets, page, plain_table, safe


def diff_page(shown: Shown) -> str:
    """The whole page. Every name is escaped, and a policy forbids whatever would be more than text."""
    title = " · ".join(labels(shown.comparison, shown.columns))
    body = [part for section in sections(shown) for part in _section(section)]
    return page(title, [f"<h1>{safe(title)}</h1>", *body])


def _section(section: Section) -> Iterator[str]:
    yield f'<section class="{"warning" if section.is_warning else "plain"}"><h2>{safe(section.title)}</h2>'
    yield from bullets(section.sentences)
    for table in section.tables:
        headings = [Heading(column.title, not column.is_number) for column in table.columns]
        rows = zip(*(table.texts(index) for index in range(len(headings))), strict=True)
        yield from plain_table(headings, rows)
    yield "</section>"
