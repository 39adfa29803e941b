"""A comparison as Markdown that fits a comment on a pull request."""

from __future__ import annotations

from trex_tui.reports.diff.choice import Shown, labels
from trex_tui.reports.diff.sections import Section, Table, is_text, sections
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
            *(f"> - {escaped(line)}" for line in section.lines),
            "",
        ]
    elif section.title in _FOLDED:
        body += ["<details>", f"<summary>{escaped(section.title)}</summary>", ""]
    else:
        body += [f"#### {escaped(section.title)}", ""]
        body += [f"- {escaped(line.strip())}" for line in section.lines]
        body += [""] if section.lines else []
    if section.table:
        body += [*_table(section, section.table), ""]
    if section.title in _FOLDED:
        body += ["</details>", ""]
    return body


def _table(section: Section, table: Table) -> list[str]:
    rules = ["---" if is_text(section, column) else "---:" for column in range(len(table.headings))]
    lines = [f"| {' | '.join(map(escaped, table.headings))} |", f"|{'|'.join(rules)}|"]
    for row in table.rows:
        cells = [escaped(table.fitted(column, cell, LONGEST_CELL)) for column, cell in enumerate(row)]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
