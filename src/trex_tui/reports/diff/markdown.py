"""A comparison as Markdown that fits a comment on a pull request."""

from __future__ import annotations

from trex_tui.reports.diff.choice import Shown, labels
from trex_tui.reports.diff.sections import sections
from trex_tui.reports.document import Section, Table
from trex_tui.reports.markdown import escaped

LONGEST_CELL = 60
"""Cells longer than this lose their middle: a forge would give all the width to one column."""
_FOLDED = ("By kind", "By precision", "By module")


def diff_markdown(shown: Shown) -> str:
    """Headline, reasons and blocks open; matrices folded. Names are escaped."""
    comparison = shown.comparison
    names = [escaped(name) for name in labels(comparison, shown.columns)]
    lines = [f"### {' · '.join(names)}", ""]
    for section in sections(shown):
        lines += _section(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def _section(section: Section) -> list[str]:
    body = []
    if section.is_warning:
        body += [
            f"> **{escaped(section.title)}**",
            ">",
            *(f"> - {escaped(line)}" for line in section.sentences),
            "",
        ]
    elif section.title in _FOLDED:
        body += ["<details>", f"<summary>{escaped(section.title)}</summary>", ""]
    else:
        body += [f"#### {escaped(section.title)}", ""]
        body += [f"- {escaped(line.strip())}" for line in section.sentences]
        body += [""] if section.sentences else []
    for table in section.tables:
        body += [*_table(table), ""]
    if section.title in _FOLDED:
        body += ["</details>", ""]
    return body


def _table(table: Table) -> list[str]:
    rules = ["---:" if column.is_number else "---" for column in table.columns]
    titles = [escaped(column.title) for column in table.columns]
    lines = [f"| {' | '.join(titles)} |", f"|{'|'.join(rules)}|"]
    for row in table.rows:
        cells = (
            escaped(column.shorten(column.text(value), LONGEST_CELL))
            for column, value in zip(table.columns, row, strict=True)
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines
