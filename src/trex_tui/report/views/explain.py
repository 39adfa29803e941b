"""What a column means: the same words for the command, for help and for the screens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trex_tui.engine.columns import Column

EXPLAIN_SCHEMA = "trex-tui/explain/1"


def explain_column(column: Column) -> str:
    """Definition, unit, formula and source of a column, a line each."""
    lines = [column.name, f"  {column.description}"]
    facts = (("unit", column.unit), ("formula", column.formula), ("source", column.source))
    lines += [f"  {label:<8}{text}" for label, text in facts if text]
    return "\n".join(lines)


def columns_overview(columns: Sequence[Column]) -> str:
    """A line per column: its name and the first sentence of its definition."""
    width = max(len(column.name) for column in columns)
    return "\n".join(f"{column.name:<{width}}  {_first_sentence(column.description)}" for column in columns)


def _first_sentence(text: str) -> str:
    return text.split(". ", 1)[0].rstrip(".") + "."


def explain_document(columns: Sequence[Column]) -> dict[str, Any]:
    """The object that `explain --json` prints."""
    return {
        "schema": EXPLAIN_SCHEMA,
        "columns": [
            {
                "name": column.name,
                "title": column.title,
                "description": column.description,
                "unit": column.unit or None,
                "formula": column.formula or None,
                "source": column.source,
            }
            for column in columns
        ],
    }
