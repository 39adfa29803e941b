"""How the program uses pandas: types of columns, and the way from a frame to plain values.

Unknown is NA, never 0. Numbers are `Float64` and `Int64`, flags `boolean`, texts `TEXT`; no categories.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pandas as pd

TEXT = pd.StringDtype("python")
"""Type of texts. With pyarrow installed the default would be its storage and its grammar of regular expressions."""
FLOAT: Final = "Float64"
INT: Final = "Int64"
FLAG: Final = "boolean"


def text_array(values: Iterable[str | None]) -> Any:  # noqa: ANN401 - an array of pandas
    """Return an array of texts; None is NA."""
    return pd.array(list(values), TEXT)


def frame_of(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return a table whose columns get the types of their values; pandas alone refuses texts that UTF-8 cannot hold."""
    return pd.DataFrame({key: _type_column(values) for key, values in columns.items()})


def _type_column(values: Sequence[Any]) -> Any:  # noqa: ANN401 - an array or a column
    known = [value for value in values if value is not None]
    is_text = bool(known) and all(isinstance(value, str) for value in known)
    return text_array(values) if is_text else pd.Series(values, dtype=object).convert_dtypes()


def is_number(series: pd.Series) -> bool:
    """Return whether a column holds numbers; flags are none."""
    return pd.api.types.is_numeric_dtype(series) and not pd.api.types.is_bool_dtype(series)


def plain_values(series: pd.Series) -> list[Any]:
    """Return a column as plain Python values; NA is None."""
    values, are_known = series.tolist(), series.notna().tolist()
    return [value if is_known else None for value, is_known in zip(values, are_known, strict=True)]


def plain_rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return a dictionary of plain Python values per row; NA is None."""
    columns = [plain_values(frame[key]) for key in frame]
    return [dict(zip(frame.columns, row, strict=True)) for row in zip(*columns, strict=True)]


def total(series: pd.Series) -> float | int | None:
    """Return the sum of the known values; None if none is known."""
    value = series.sum(min_count=1)
    return None if pd.isna(value) else value.item() if hasattr(value, "item") else value
