"""The layer table in formats that take a library: Parquet and Excel. CSV is `reports.layers.layers_csv`."""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.errors import TrexError
from trex_tui.reports.layers import is_missing
from trex_tui.text import printable, shorten_middle

SCHEMA = "trex-tui/layers/1"
"""In the metadata of a file: by it `export` knows what it may replace."""
_MOST_IN_CELL = 32_767
"""Characters of a cell in Excel (Microsoft: "Excel specifications and limits")."""


def write_parquet(engine: Engine, columns: Sequence[Column], chosen: Collection[int] | None = None) -> bytes:
    """The columns of `Engine.frame`'s kind, unknown values missing, ONNX nodes as lists. The engine's name is metadata.

    Raises:
        TrexError: pyarrow is not installed.
    """
    try:
        import pyarrow  # noqa: F401 - 60 ms; pandas would say in other words that it is missing
    except ImportError:
        raise TrexError(_missing("Parquet", "pyarrow", "parquet")) from None
    from trex_tui.engine.frame import build_frame

    frame = build_frame(engine, columns)
    if chosen is not None:
        frame = frame.iloc[sorted(chosen)].reset_index(drop=True)
    for column in columns:
        # Arrow holds UTF-8, which has no lone surrogates.
        if column.dtype == "string":
            frame[column.name] = frame[column.name].map(_encodable, na_action="ignore").astype("string")
        elif column.dtype == "object":
            frame[column.name] = [
                [_encodable(one) for one in cell] if isinstance(cell, tuple) else cell
                for cell in frame[column.name]
            ]
    frame.attrs["schema"] = SCHEMA
    data = io.BytesIO()
    frame.to_parquet(data, engine="pyarrow", index=False)
    return data.getvalue()


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def write_xlsx(engine: Engine, columns: Sequence[Column], chosen: Collection[int] | None = None) -> bytes:
    """One sheet, `layers`: headings that stay in view and filter, numbers as numbers, every text as text, never a formula.

    Raises:
        TrexError: XlsxWriter is not installed.
    """
    try:
        import xlsxwriter
    except ImportError:
        raise TrexError(_missing("Excel", "XlsxWriter", "xlsx")) from None
    data = io.BytesIO()
    book = xlsxwriter.Workbook(data, {"in_memory": True, "constant_memory": True})
    # Equal engines give equal files.
    book.set_properties(
        {"created": datetime(2000, 1, 1), "title": printable(engine.name)[:255], "comments": SCHEMA}
    )
    sheet = book.add_worksheet("layers")
    bold = book.add_format({"bold": True})
    for place, column in enumerate(columns):
        sheet.set_column(place, place, 48 if column.name == "name" else 12 if column.is_number else 18)
        sheet.write_string(0, place, column.name, bold)
    layers = [layer for layer in engine.layers if chosen is None or layer.index in chosen]
    values = [column.values(engine) for column in columns]
    for row, layer in enumerate(layers, start=1):
        for place, cells in enumerate(values):
            _write_cell(sheet, row, place, cells[layer.index])
    sheet.freeze_panes(1, 2)
    sheet.autofilter(0, 0, max(1, len(layers)), max(0, len(columns) - 1))
    book.close()
    return data.getvalue()


def _write_cell(sheet: Any, row: int, place: int, value: Any) -> None:  # noqa: ANN401 - untyped library, any cell
    if is_missing(value):
        return
    if isinstance(value, bool):
        sheet.write_boolean(row, place, value)
    elif isinstance(value, (int, float)):
        sheet.write_number(row, place, value)
    else:
        text = ";".join(map(printable, value)) if isinstance(value, tuple) else printable(str(value))
        sheet.write_string(row, place, shorten_middle(text, _MOST_IN_CELL))


def _missing(what: str, library: str, extra: str) -> str:
    return f"{what} takes {library}, which is not installed: pip install 'trex-tui[{extra}]'"
