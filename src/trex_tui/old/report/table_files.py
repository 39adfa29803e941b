"""Tables as files: CSV, without a library, and the layer table as Parquet and Excel, by pandas."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import TrexError
from trex_tui.old.report.document import Cell, Table
from trex_tui.old.text import printable, shorten_middle

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "trex-tui/layers/1"
"""In the metadata of a file: identifies files that `export` may replace."""
_MOST_IN_CELL = 32_767
"""Characters of a cell in Excel (Microsoft: "Excel specifications and limits")."""


def write_parquet(
    engine: Engine, columns: Sequence[LayerColumn], chosen: Collection[int] | None = None
) -> bytes:
    """Return the columns as in `Engine.frame`, unknown values missing, ONNX nodes as lists. The engine's name is metadata.

    Raises:
        TrexError: pyarrow is not installed.
    """
    _require("pyarrow", "Parquet", "pyarrow", "parquet")
    # Arrow holds UTF-8, which has no lone surrogates.
    frame = _frame(
        engine, columns, chosen, lambda text: text.encode("utf-8", "backslashreplace").decode(), list
    )
    frame.attrs["schema"] = SCHEMA
    data = io.BytesIO()
    frame.to_parquet(data, engine="pyarrow", index=False)
    return data.getvalue()


def write_xlsx(
    engine: Engine, columns: Sequence[LayerColumn], chosen: Collection[int] | None = None
) -> bytes:
    """Return one sheet, `layers`: frozen headings with filters, numbers as numbers, every text as text, never a formula.

    Raises:
        TrexError: XlsxWriter is not installed.
    """
    _require("xlsxwriter", "Excel", "XlsxWriter", "xlsx")
    import pandas as pd

    frame = _frame(
        engine, columns, chosen, lambda text: shorten_middle(printable(text), _MOST_IN_CELL), ";".join
    )
    data = io.BytesIO()
    options = {"strings_to_formulas": False, "strings_to_urls": False}
    with pd.ExcelWriter(data, engine="xlsxwriter", engine_kwargs={"options": options}) as writer:
        # Equal engines give equal files.
        title = printable(engine.name)[:255]
        writer.book.set_properties({"created": datetime(2000, 1, 1), "title": title, "comments": SCHEMA})
        frame.to_excel(writer, sheet_name="layers", index=False, freeze_panes=(1, 2))
        sheet = writer.sheets["layers"]
        sheet.autofilter(0, 0, max(1, len(frame)), max(0, len(columns) - 1))
        for index, column in enumerate(columns):
            sheet.set_column(index, index, 48 if column.name == "name" else 12 if column.is_number else 18)
    return data.getvalue()


def _frame(
    engine: Engine,
    columns: Sequence[LayerColumn],
    chosen: Collection[int] | None,
    encode: Callable[[str], str],
    join: Callable[[list[str]], Any],
) -> pd.DataFrame:
    """Return the chosen layers, their texts as a format can hold them."""
    from trex_tui.old.engine.columns import build_frame

    frame = build_frame(engine, columns)
    if chosen is not None:
        frame = frame.iloc[sorted(chosen)].reset_index(drop=True)
    for column in columns:
        if column.dtype == "string":
            frame[column.name] = frame[column.name].map(encode, na_action="ignore").astype("string")
        elif column.dtype == "object":
            frame[column.name] = [
                join(list(map(encode, cell))) if isinstance(cell, tuple) else cell
                for cell in frame[column.name]
            ]
    return frame


def _require(module: str, what: str, library: str, extra: str) -> None:
    """Check that a library is installed, since pandas would report it in other words."""
    try:
        import_module(module)
    except ImportError:
        message = f"{what} needs {library}, which is not installed: pip install 'trex-tui[{extra}]'"
        raise TrexError(message) from None


_FORMULA = tuple("=+-@＝＋－＠﹦﹢﹣﹫−")
"""Signs that begin a formula, with the full-width and small forms that spreadsheets of East Asian locales accept."""


def csv_text(headings: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return a header line and a line per row. Unknown values are empty, several in a cell are joined by `;`.

    Names are data for programs as well: a text that a spreadsheet would take for a formula is prefixed by `'`, which
    spreadsheets do not show, and characters that CSV readers cannot handle (surrogates, NUL, tabs, carriage returns) are
    escaped. Numbers are unchanged, with all their digits.
    """
    text = io.StringIO()
    import csv  # 2 ms, and most results are none

    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(heading) for heading in headings])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return text.getvalue()


def table_csv(table: Table) -> str:
    """Return the CSV of a table: keys of the columns, raw values."""
    return csv_text([column.key for column in table.columns], table.rows)


def _cell(value: Any) -> Any:  # noqa: ANN401 - any cell
    if value is None:
        return ""
    if isinstance(value, float):
        return value if math.isfinite(value) else ""
    if isinstance(value, int):
        return value
    if isinstance(value, (Cell, Enum)):
        return _cell(value.value)
    if isinstance(value, tuple):
        value = ";".join(map(str, value))
    shown = printable(str(value))
    # LibreOffice and Excel skip blanks before they look for a formula.
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) else shown
