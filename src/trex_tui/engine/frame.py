"""The engine as a DataFrame. Imports pandas (260 ms): reach it through `Engine.frame`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from trex_tui.engine.columns import COLUMNS, Column

if TYPE_CHECKING:
    from trex_tui.engine.engine import Engine


def build_frame(engine: Engine, columns: Sequence[Column] = COLUMNS) -> pd.DataFrame:
    """One row per layer, in execution order; unknown values are missing, never 0."""
    # Strings in Python objects, whether pyarrow is installed or not: its own refuse a lone surrogate, which JSON may hold.
    text = pd.StringDtype("python")
    return pd.DataFrame(
        {
            column.name: pd.array(column.values(engine), dtype="object")
            if column.dtype == "object"
            else pd.Series(column.values(engine), dtype=text if column.dtype == "string" else column.dtype)
            for column in columns
        }
    )
