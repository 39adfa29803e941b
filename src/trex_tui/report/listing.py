"""Rows of anything as CSV, JSON and Markdown, for those who take them elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from trex_tui.report.render_csv import csv_text
from trex_tui.report.render_markdown import escaped
from trex_tui.text import MISSING, format_bytes, format_ms, format_pct

_DIGITS = 6
"""Decimals of milliseconds, as many as TensorRT's builder needs to tell tactics apart."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A table as data.

    Attributes:
        schema: What the JSON object says it is: `trex-tui/build-tactics/1`.
        key: What the rows are called in JSON: `tactics`.
        source: The file that the rows are out of.
        columns: Their names; units at the end.
        rows: A value for each column: text, number, bool, or None where it is unknown.
    """

    schema: str
    key: str
    source: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


class ListingOffer(NamedTuple):
    """A listing that is made when it is wanted: of all tactics of a long build that takes seconds.

    Attributes:
        key: Of the listing that `make` makes.
    """

    key: str
    make: Callable[[], Listing]


def listing_document(one: Listing) -> dict[str, Any]:
    """The object that a file of JSON holds."""
    rows = [dict(zip(one.columns, map(_known, row), strict=True)) for row in one.rows]
    return {"schema": one.schema, "file": one.source, one.key: rows}


def listing_csv(one: Listing) -> str:
    """Comma-separated values with a header line; missing cells are empty."""
    return csv_text(one.columns, one.rows)


def listing_markdown(one: Listing) -> str:
    """A table that a forge renders; names are escaped."""
    numbers = [_is_number(row[place] for row in one.rows) for place in range(len(one.columns))]
    lines = [
        "| " + " | ".join(one.columns) + " |",
        "|" + "|".join("---:" if is_number else "---" for is_number in numbers) + "|",
    ]
    for row in one.rows:
        cells = (escaped(_cell(name, value)) for name, value in zip(one.columns, row, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _known(value: Any) -> Any:  # noqa: ANN401 - any cell
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in known
    )


def _cell(name: str, value: Any) -> str:  # noqa: ANN401 - any cell
    """A cell as people read it; the unit is in the column's name."""
    value = _known(value)
    if value is None:
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        if name.endswith("_ms"):
            return format_ms(value, _DIGITS)
        if name.endswith("_pct"):
            return format_pct(value)
        if name.endswith("_bytes"):
            return format_bytes(int(value))
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    return str(value)
