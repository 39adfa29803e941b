"""Rows as Parquet: one file, or a dataset of files that grows by the sets that it does not have yet."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from trex_tui.errors import TrexError
from trex_tui.fleet.engine_columns import FleetColumn
from trex_tui.fleet.table import FleetRow

SCHEMA = "trex-tui/engines/1"


def write_parquet(rows: Sequence[FleetRow], columns: Sequence[FleetColumn]) -> bytes:
    """Return a Parquet file with a row per engine. Types follow the columns, so that files of different rows fit together.

    Raises:
        TrexError: pyarrow is not installed.
    """
    pyarrow, parquet = _import_pyarrow()
    types = {
        "float64": pyarrow.float64(),
        "Int64": pyarrow.int64(),
        "string": pyarrow.string(),
        "object": pyarrow.list_(pyarrow.string()),
    }
    fields = [pyarrow.field(column.name, types[column.dtype]) for column in columns]
    schema = pyarrow.schema(fields, metadata={"trex-tui": SCHEMA})
    data = {column.name: [_encode(row.value(column.name)) for row in rows] for column in columns}
    sink = io.BytesIO()
    parquet.write_table(pyarrow.table(data, schema=schema), sink, compression="zstd")
    return sink.getvalue()


def _import_pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # 90 ms
        import pyarrow.parquet
    except ImportError:
        raise TrexError(
            "Parquet needs pyarrow, which is not installed: pip install 'trex-tui[parquet]'"
        ) from None
    return pyarrow, pyarrow.parquet


def _encode(value: Any) -> Any:  # noqa: ANN401 - any cell
    """Return a value that Arrow can hold: UTF-8 has no lone surrogates."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return [_encode(part) for part in value] if isinstance(value, list) else value
