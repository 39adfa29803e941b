"""Rows and columns of a table that the user chose: `--filter`, `--sort`, `--columns`."""

from __future__ import annotations

from collections.abc import Iterable

import pandas as pd

from trex_tui.column import Column
from trex_tui.engine.attributes import RAW_PREFIX
from trex_tui.engine.filter import FilterError, Table, find_column, find_matches, suggest_column
from trex_tui.errors import TrexError
from trex_tui.frames import is_number


def named_column(table: Table, name: str) -> Column:
    """Return a column by its key or a short name.

    Raises:
        TrexError: There is none; the message has the nearest.
    """
    column = find_column(table, name)
    if column is None:
        hint = suggest_column(table, name) or "`trex-tui explain` lists the columns"
        raise TrexError(f"no column {name!r}; {hint}")
    return column


def named_columns(table: Table, names: Iterable[str]) -> list[Column]:
    """Return columns as `named_column`; `attr.*` is every attribute of the file, `all` every other column.

    Raises:
        TrexError: As `named_column`.
    """
    columns: dict[str, Column] = {}
    for name in names:
        if name == "all":
            found = [column for key, column in table.columns.items() if not key.startswith(RAW_PREFIX)]
        elif name == "attr.*":
            found = [column for key, column in table.columns.items() if key.startswith(RAW_PREFIX)]
        else:
            found = [named_column(table, name)]
        columns |= {column.key: column for column in found}
    return list(columns.values())


def choose_rows(table: Table, expression: str) -> pd.Series:
    """Return a mask of the rows that match a filter; all without one.

    Raises:
        TrexError: It is not a filter; the message points to the place.
    """
    try:
        return find_matches(table, expression)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None


def sort_rows(table: Table, rows: pd.Series, sort: str | None, *, is_reversed: bool = False) -> pd.Index:
    """Return the index of the rows of a mask: numbers descending, texts ascending, missing values last in either direction.

    Args:
        sort: Name of a column; None keeps the order.
    """
    if sort is None:
        index = rows.index[rows]
        return index[::-1] if is_reversed else index
    values = table.column(named_column(table, sort).key)[rows]
    is_ascending = is_number(values) is is_reversed
    if values.dtype == object:
        values = values.map(str)
    return values.sort_values(ascending=is_ascending, kind="stable", na_position="last").index
