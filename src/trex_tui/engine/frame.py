"""The engine as a DataFrame. Imports pandas (260 ms): reach it through `Engine.frame`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from trex_tui.engine.columns import COLUMNS, Column

if TYPE_CHECKING:
    from trex_tui.engine.engine import Engine

_TEXT = pd.StringDtype("python")
"""Not that of Arrow, which pandas takes by itself where it is installed: names with lone surrogates have no place there."""


# Where pyarrow is installed, pandas would keep texts in it, which cannot hold the lone surrogates of a damaged name.
_TEXT = pd.StringDtype("python")


def build_frame(engine: Engine, columns: Sequence[Column] = COLUMNS) -> pd.DataFrame:
    """One row per layer, in execution order; unknown values are missing, never 0."""
    return pd.DataFrame(
        {
            column.name: pd.array(column.values(engine), dtype="object")
            if column.dtype == "object"
            else pd.Series(column.values(engine), dtype=_TEXT if column.dtype == "string" else column.dtype)
            for column in columns
        }
    )
