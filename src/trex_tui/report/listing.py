"""Rows of anything as CSV, JSON and Markdown, for those who take them elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from trex_tui.report.document import Table
from trex_tui.report.render_csv import csv_text
from trex_tui.report.render_json import plain
from trex_tui.report.render_markdown import escaped


@dataclass(frozen=True, slots=True)
class Listing:
    """A table as a file of its own.

    Attributes:
        schema: What the JSON object says it is: `trex-tui/build-tactics/1`.
        source: The file that the rows are out of.
        table: Its id is what the rows are called in JSON.
    """

    schema: str
    source: str
    table: Table


class ListingOffer(NamedTuple):
    """A listing that is made when it is wanted: of all tactics of a long build that takes seconds.

    Attributes:
        key: The id of the table that `make` makes.
    """

    key: str
    make: Callable[[], Listing]


def listing_document(listing: Listing) -> dict[str, Any]:
    """The object that a file of JSON holds."""
    table = listing.table
    keys = [column.key for column in table.columns]
    rows = [dict(zip(keys, plain(row), strict=True)) for row in table.rows]
    return {"schema": listing.schema, "file": listing.source, table.id: rows}


def listing_csv(listing: Listing) -> str:
    """Comma-separated values with a header line; missing cells are empty."""
    return csv_text([column.key for column in listing.table.columns], listing.table.rows)


def listing_markdown(listing: Listing) -> str:
    """A table that a forge renders; names are escaped."""
    columns = listing.table.columns
    lines = [
        "| " + " | ".join(column.title for column in columns) + " |",
        "|" + "|".join("---:" if column.is_number else "---" for column in columns) + "|",
    ]
    for row in listing.table.rows:
        cells = (escaped(column.text(value)) for column, value in zip(columns, row, strict=True))
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
