"""The one description of a column or fact: tables, filters, charts, files, `explain` and tooltips read it.

Imports no pandas, so that commands on the GPU host can describe their results with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from trex_tui.text import (
    MISSING,
    format_bytes,
    format_count,
    format_energy,
    format_ms,
    format_pct,
    format_shape,
    format_signed_ms,
    format_watts,
    printable,
    shorten_name_list,
)

if TYPE_CHECKING:
    import pandas as pd


class Unit(NamedTuple):
    """A unit, how its numbers are written, and whether the text then names the unit itself."""

    name: str
    write: Callable[[Any], str]
    is_written: bool = False


_UNITS = {
    "delta_ms": Unit("ms", format_signed_ms),
    "flops_per_s": Unit("FLOP/s", format_count),
    "bytes_per_s": Unit("B/s", format_count),
    "flops_per_byte": Unit("FLOP/B", "{:.4g}".format),
    "_ms": Unit("ms", format_ms),
    "_us": Unit("µs", "{:.4g}".format),
    "_s": Unit("s", "{:.4g}".format),
    "_pct": Unit("%", format_pct),
    "_bytes": Unit("B", format_bytes, is_written=True),
    "_qps": Unit("qps", "{:.2f}".format),
    "_mhz": Unit("MHz", "{:.0f}".format),
    "_ghz": Unit("GHz", "{:.4g}".format),
    "_celsius": Unit("°C", "{:.0f}".format),
    "temperature_c": Unit("°C", "{:.4g}".format),
    "_mib": Unit("MiB", "{:.0f}".format),
    "_w": Unit("W", format_watts, is_written=True),
    "_mj": Unit("mJ", lambda value: format_energy(value / 1e3), is_written=True),
    "_j": Unit("J", format_energy, is_written=True),
    "line": Unit("", "{:.0f}".format),
}
"""Suffix of a key -> unit; the first that fits."""
_NO_UNIT = Unit("", lambda value: format_count(value) if value == int(value) else f"{value:.4g}")
RARE = 9
"""Priority of columns that only full tables have."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, or a fact. The suffix of its key is its unit: `latency_ms`, `weights_bytes`.

    Attributes:
        key: Name in JSON, CSV, filters and options.
        title: Heading, short.
        help: Meaning, one or two sentences.
        formula: How it is computed; empty if it is read.
        source: File and field that it comes from.
        aliases: Short names in filters and `--sort`.
        width: Preferred number of cells in a terminal; 0 for the width of the values.
        priority: Columns with a larger number are left out first where a terminal is narrow; 0 is always shown. `RARE`
            ones are left out of frames by default.
        words: Known values of a text column with their meaning, for completion and `explain`.
        is_list: Cells hold several values, as a tuple or separated by `, `; a filter matches any of them.
        is_free_text: `:` in a filter searches within the text.
        compute: Computes the values of all rows from the owner of the table (the engine); None if the table has them.
    """

    key: str
    title: str
    help: str = ""
    formula: str = ""
    source: str = ""
    aliases: tuple[str, ...] = ()
    width: int = 0
    priority: int = 5
    words: Mapping[str, str] | None = None
    is_list: bool = False
    is_free_text: bool = False
    compute: Callable[[Any], pd.Series] | None = None

    @property
    def unit(self) -> Unit:
        """Unit by the suffix of the key."""
        return next((unit for suffix, unit in _UNITS.items() if self.key.endswith(suffix)), _NO_UNIT)

    @property
    def label(self) -> str:
        """Title with the unit, for axes."""
        name = self.unit.name
        return f"{self.title}, {name}" if name and name not in self.title else self.title

    def format(self, value: Any, *, with_unit: bool = False) -> str:  # noqa: ANN401 - a cell holds anything
        """Write a value for people; `–` for a missing one. Lists of names in names of layers are shortened."""
        if is_missing(value):
            return MISSING
        if isinstance(value, str):
            return printable(shorten_name_list(value))
        if isinstance(value, bool) or type(value).__name__ == "bool_":
            return "yes" if value else "no"
        if isinstance(value, tuple | list):
            if self.is_list and not value:
                return MISSING
            is_shape = all(type(entry) is int for entry in value)
            return format_shape(value) if is_shape else printable(", ".join(map(str, value)))
        text = self.unit.write(value)
        return (
            f"{text} {self.unit.name}" if with_unit and self.unit.name and not self.unit.is_written else text
        )


def by_key(*columns: Column) -> dict[str, Column]:
    """Return the columns of a table by their keys."""
    return {column.key: column for column in columns}


def is_missing(value: Any) -> bool:  # noqa: ANN401
    """Return whether a value is None, NaN or pandas' NA, without importing pandas."""
    return value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and value != value)


def columns_of(
    frame: pd.DataFrame, known: Mapping[str, Column], keys: Iterable[str] | None = None
) -> tuple[Column, ...]:
    """Return the descriptions of the columns of a frame; a key that nobody declared is its own title."""
    return tuple(known.get(key) or Column(key, key) for key in (map(str, frame) if keys is None else keys))
