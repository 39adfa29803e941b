"""Tables of documents as pandas frames: the raw values that JSON and CSV have, under the same keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from trex_tui.old.report.document import Section, Table, is_missing, raw

if TYPE_CHECKING:
    import pandas as pd


def table_frame(table: Table) -> pd.DataFrame:
    """Return a row per row of the table; unknown values are missing, never 0. Imports pandas (260 ms).

    Columns are `Int64`, `float64`, `boolean` or `string` where all known values are; others, such as lists, are `object`.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            column.key: _series([row[index] for row in table.rows], is_number=column.is_number)
            for index, column in enumerate(table.columns)
        }
    )


def columns_frame(columns: Mapping[str, Sequence[Any]]) -> pd.DataFrame:
    """Return columns of numbers or texts as a frame, typed as in `table_frame`."""
    import pandas as pd

    return pd.DataFrame({name: _series(values) for name, values in columns.items()})


def name_tables(sections: Iterable[Section]) -> dict[str, Table]:
    """Return the tables of sections by id; by `SECTION.TABLE` where several sections have a table of that id."""
    placed = [(section.id, table) for section in sections for table in section.tables]
    ids = [table.id for _, table in placed]
    return {
        table.id if ids.count(table.id) == 1 else f"{section}.{table.id}": table for section, table in placed
    }


def _series(cells: Iterable[Any], *, is_number: bool = False) -> pd.Series[Any]:
    import pandas as pd

    values = [None if is_missing(value := raw(cell)) else value for cell in cells]
    values = [value.value if isinstance(value, Enum) else value for value in values]
    return pd.Series(values, dtype=_find_dtype(values, is_number=is_number))


def _find_dtype(values: Sequence[Any], *, is_number: bool) -> Any:  # noqa: ANN401 - a name, or a type of pandas
    import pandas as pd

    known = {type(value) for value in values if value is not None}
    if not known:
        known = {float if is_number else str}
    if known == {bool}:
        return "boolean"
    if known == {int}:
        return "Int64"
    if known <= {int, float}:
        return "float64"
    # Not Arrow's texts, the default if pyarrow is installed: they cannot hold the lone surrogates of a damaged name.
    return pd.StringDtype("python") if known == {str} else "object"
