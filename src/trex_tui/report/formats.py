"""The table of output formats. A new one is a function here and a line in `WRITERS`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.column import Column
from trex_tui.errors import Note, TrexError
from trex_tui.report.absence import how_to_install
from trex_tui.report.document import Document, Section, plain_document, plain_note
from trex_tui.text import format_bar, plural, printable, shorten_middle

if TYPE_CHECKING:
    import pandas as pd

_FORMULA = tuple("=+-@＝＋－＠﹦﹢﹣﹫−")
"""Signs that begin a formula, with the full-width and small forms that spreadsheets of East Asian locales accept."""
_MOST_IN_CELL = 32_767
"""Characters of a cell in Excel (Microsoft: "Excel specifications and limits")."""
_BAR_CELLS = 16
_LONGEST_NAME, _LONGEST_TEXT, _LEAST_TEXT = 60, 400, 40
"""Characters of a name and of a sentence in a table of Markdown, where a forge would give all the width to one column;
and cells that a column of sentences prefers."""


class Writer(NamedTuple):
    """An output format.

    Attributes:
        write: Returns the content of a file.
        endings: Of file names.
        has_notes: The content has the notes of the document; else they are written beside it.
    """

    write: Callable[[Document], str | bytes]
    endings: tuple[str, ...]
    has_notes: bool = True


# Text


def _write_text(document: Document) -> str:
    from trex_tui.report.text import render_text  # Rich is no part of JSON

    return "".join(f"{line.rstrip()}\n" for line in render_text(document).plain.split("\n"))


def _write_json(document: Document) -> str:
    return json.dumps(plain_document(document), indent=2, allow_nan=False) + "\n"


def escape_markdown(text: str) -> str:
    """Escape a text for Markdown and HTML, on one line; `@`, `#` and addresses become no links."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for char in "\\`*_{}[]()#|~!":
        text = text.replace(char, "\\" + char)
    return text.replace("@", "&#64;").replace("://", "&#58;//")


def _write_markdown(document: Document) -> str:
    lines = [f"<!-- {document.schema} -->", f"# {escape_markdown(document.title)}", ""]
    if notes := document.all_notes():
        lines += [*(f"> - {note.severity.value}: {escape_markdown(str(note))}" for note in notes), ""]
    for part in (document, *document.parts):
        if document.parts and part is not document:
            lines += [f"## {escape_markdown(part.title)}", ""]
        for section in part.shown:
            lines += section_markdown(section)
    return "\n".join(lines).rstrip("\n") + "\n"


def section_markdown(section: Section) -> Iterable[str]:
    """Return the lines of a section; its chart is drawn in characters."""
    lines = [f"### {escape_markdown(section.title)}", ""] if section.title else []
    mark = "> - " if section.is_warning else "- "
    lines += [f"{mark}{escape_markdown(sentence.strip())}" for sentence in section.sentences]
    lines += [
        f"- **{escape_markdown(fact.column.title)}:** {escape_markdown(str(fact))}"
        for fact in section.facts
        if fact.column.title and not fact.is_folded
    ]
    lines += [""] if lines and lines[-1] else []
    if section.chart is not None:
        from trex_tui.report.plotext_painter import paint

        lines += [
            "```text",
            *(line.replace("```", "'''") for line in paint(section.chart, 100, 20).plain.split("\n")),
        ]
        lines += ["```", ""]
    if section.frame is not None and section.columns:
        lines += [*_markdown_table(section), ""]
    lines += [f"*{escape_markdown(section.rest)}*", ""] if section.rest else []
    return lines


def _markdown_table(section: Section) -> Iterable[str]:
    from trex_tui.frames import is_number

    assert section.frame is not None
    columns = [
        [_shorten(section, column, text) for text in cells]
        for column, cells in zip(section.columns, section.cells(), strict=True)
    ]
    titles = [column.title for column in section.columns]
    rules = ["---:" if is_number(section.frame[column.key]) else "---" for column in section.columns]
    if section.bar:
        columns.append([format_bar(share, _BAR_CELLS) for share in section.bars()])
        titles, rules = [*titles, ""], [*rules, "---"]
    yield f"| {' | '.join(map(escape_markdown, titles))} |"
    yield f"|{'|'.join(rules)}|"
    for row in zip(*columns, strict=True):
        yield f"| {' | '.join(map(escape_markdown, row))} |"


def _shorten(section: Section, column: Column, text: str) -> str:
    is_name = column.key in section.shorten or 0 < column.width < _LEAST_TEXT
    longest = _LONGEST_NAME if is_name and column.width < _LEAST_TEXT else _LONGEST_TEXT
    return text if len(text) <= longest else section.shorten.get(column.key, shorten_middle)(text, longest)


def _write_html(document: Document) -> str:
    from trex_tui.report.html import render_html  # needs Jinja2

    return render_html(document)


def _write_picture(document: Document, *, is_svg: bool) -> str | bytes:
    """Return the chart of a document.

    Raises:
        TrexError: There is none to draw, or Altair is not installed.
    """
    chart = next((section.chart for _, section in document.walk() if section.chart is not None), None)
    if chart is None or chart.frame.empty:
        raise TrexError(f"nothing to draw: {chart.note if chart else 'the result has no chart'}")
    try:
        from trex_tui.report.altair_painter import to_png, to_svg
    except ImportError:
        raise TrexError(f"pictures need Altair and vl-convert: {how_to_install('report')}") from None
    return f"{to_svg(chart)}\n<!-- {document.schema} -->\n" if is_svg else to_png(chart)


# Tables


def _write_csv(document: Document) -> str:
    """Return a header line and a line per row; unknown values are empty.

    A text that a spreadsheet would take for a formula is prefixed by `'`, which spreadsheets do not show. Characters that
    CSV readers cannot handle are escaped. Numbers are unchanged, with all their digits.
    """
    frame = _join_tables(document, lambda value: _guard(_join_values(value)))
    return str(frame.rename(columns=_guard).to_csv(index=False, lineterminator="\n"))


def write_notes(notes: Iterable[Note]) -> str:
    """Return notes as CSV, for a file beside a result without room for them."""
    import pandas as pd

    frame = pd.DataFrame(map(plain_note, notes), columns=NOTE_KEYS)
    return str(frame.map(_guard).to_csv(index=False, lineterminator="\n"))


NOTE_KEYS = ("severity", "file", "where", "message")


def _guard(value: Any) -> Any:  # noqa: ANN401 - a cell
    if not isinstance(value, str):
        return value
    shown = printable(value)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown


def _write_parquet(document: Document) -> bytes:
    """Return Parquet; the schema and the notes are metadata."""
    _require("pyarrow", "Parquet", "parquet")
    frame = _join_tables(document, _valid)
    notes = [f"{note.severity.value}: {note}" for note in document.all_notes()]
    frame.attrs = {"schema": document.schema, "title": document.title, "notes": notes}
    return bytes(frame.to_parquet(engine="pyarrow", index=False))


def _valid(value: Any) -> Any:  # noqa: ANN401 - a cell
    """Escape what UTF-8 cannot hold: lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return list(value) if isinstance(value, tuple) else value


def _write_xlsx(document: Document) -> bytes:
    """Return a sheet with the table, frozen headings and filters; texts are never formulas; notes in a sheet of their own."""
    _require("xlsxwriter", "Excel", "xlsx")
    import pandas as pd

    def convert(value: Any) -> str:  # noqa: ANN401 - a cell
        return "" if value is None else shorten_middle(printable(str(_join_values(value))), _MOST_IN_CELL)

    sheets = {document.key: _join_tables(document, convert)}
    if notes := document.all_notes():
        sheets["notes"] = pd.DataFrame(map(plain_note, notes), columns=NOTE_KEYS)
    data = io.BytesIO()
    options = {"options": {"strings_to_formulas": False, "strings_to_urls": False}}
    with pd.ExcelWriter(data, engine="xlsxwriter", engine_kwargs=options) as workbook:
        # Equal results give equal files.
        workbook.book.set_properties({"created": datetime(2000, 1, 1), "comments": document.schema})
        for name, frame in sheets.items():
            frame.to_excel(workbook, sheet_name=name, index=False, freeze_panes=(1, 0))
            workbook.sheets[name].autofilter(0, 0, max(1, len(frame)), max(0, len(frame.columns) - 1))
    return data.getvalue()


def _require(module: str, format_name: str, extra: str) -> None:
    """Check that a library is installed, since pandas would report it in other words.

    Raises:
        TrexError: It is not.
    """
    try:
        import_module(module)
    except ImportError:
        raise TrexError(f"{format_name} needs {module}: {how_to_install(extra)}") from None


def _join_tables(document: Document, convert: Callable[[Any], Any]) -> pd.DataFrame:
    """Return the table of a document; those of several parts below each other, with the name of the part first.

    Args:
        convert: For values that are no numbers.

    Raises:
        TrexError: There is no table, or there are several different ones.
    """
    import pandas as pd

    from trex_tui.frames import plain_values

    tables = [(part.title, section.key, section.frame) for part, section in document.walk()
              if section.frame is not None and not section.is_aside]  # fmt: skip
    if len({key for _, key, _ in tables}) != 1:
        found = plural(len(tables), "table") if tables else "no table"
        raise TrexError(f"this format is for one table, the result has {found}; use --format json")
    frames = [frame.copy() for _, _, frame in tables]
    if document.parts:
        for (title, _, _), frame in zip(tables, frames, strict=True):
            frame.insert(0, "engine", title)
    table = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    for key in table:
        if not pd.api.types.is_numeric_dtype(table[key]):
            values = map(convert, plain_values(table[key]))
            table[key] = pd.Series(list(values), index=table.index, dtype=object)
    return table


def _join_values(value: Any) -> Any:  # noqa: ANN401 - a cell
    """Return a cell with several values as one text."""
    return ";".join(map(str, value)) if isinstance(value, tuple | list) else value


WRITERS = {
    "text": Writer(_write_text, ("txt",)),
    "json": Writer(_write_json, ("json",)),
    "csv": Writer(_write_csv, ("csv",), has_notes=False),
    "md": Writer(_write_markdown, ("md", "markdown")),
    "html": Writer(_write_html, ("html", "htm")),
    "xlsx": Writer(_write_xlsx, ("xlsx",)),
    "parquet": Writer(_write_parquet, ("parquet",)),
    "svg": Writer(partial(_write_picture, is_svg=True), ("svg",), has_notes=False),
    "png": Writer(partial(_write_picture, is_svg=False), ("png",), has_notes=False),
}
"""Name of a format, as of `--format` -> how it is written."""
