"""Tables that can be exported as files of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from trex_tui.report.document import Table


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
