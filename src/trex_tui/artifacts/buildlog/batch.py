"""Lines of timed tactics, in batches: most of a verbose log is these, so they are read by the column, not by the line.

A batch that does not look exactly as expected is read line by line instead; either way gives the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from trex_tui.artifacts.buildlog.tactics import Columns, parse_id

_NAN = math.nan
_NAMED = re.compile(r"Tactic Name: (?P<name>.+?) Tactic: (?P<id>-?\w+) [Tt]ime: (?P<time>\S+)\s*$")
_PLAIN = re.compile(r"Tactic: (?P<id>-?\w+) [Tt]ime: (?P<time>\S+)\s*$")
_MYELIN = re.compile(
    r" \(foreignNode\)\s+(?P<number>\d{1,18}), (?P<cost>[^,]+), (?P<ratio>[^,]+), (?P<correlation>[^,]+), (?P<kernel>[^,]+)"
    r", (?P<hash>0x[0-9a-f]{1,16})(?:, ?(?P<rest>.*))?$"
)


class TacticColumns:
    """Writes tactics into columns, with every text once."""

    __slots__ = ("_places", "columns")

    def __init__(self) -> None:
        self.columns = Columns()
        self._places = {"": 0}

    def place_of(self, text: str) -> int:
        """Where a text stands in `columns.texts`."""
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.columns.texts)
            self.columns.texts.append(text)
        return place

    def places_of(self, texts: Sequence[str]) -> list[int]:
        """As `place_of`, for many."""
        known = self._places
        try:
            return [known[text] for text in texts]
        except KeyError:
            return [self.place_of(text) for text in texts]

    def add_tactics(self, batch: list[str], name: str) -> list[str]:
        """Add lines that begin with `Tactic`; return those that tell no time.

        Args:
            batch: The messages.
            name: Of the kernel, where a line before has set it (`Set Tactic Name`); it goes with the first line.
        """
        count = len(batch)
        words = " ".join(batch).split(" ")
        columns = self.columns
        try:
            if not name and len(words) == 7 * count and words[1::7].count("Name:") == count:
                ids, times = _ids(words[4::7]), list(map(float, words[6::7]))
                if words[3::7].count("Tactic:") == count and words[5::7].count("Time:") == count:
                    places = self.places_of(words[2::7])
                    columns.ids.extend(ids)
                    columns.times.extend(times)
                    columns.names.extend(places)
                    return []
            elif not name and len(words) == 4 * count and words[2::4].count("Time:") == count:
                ids, times = _ids(words[1::4]), list(map(float, words[3::4]))
                if words[0::4].count("Tactic:") == count:
                    columns.ids.extend(ids)
                    columns.times.extend(times)
                    columns.names.extend([0] * count)
                    return []
        except ValueError:
            pass
        return [line for line in self._one_by_one(batch, name)]  # noqa: C416 - the loop does the adding

    def _one_by_one(self, batch: list[str], name: str) -> Iterator[str]:
        for line in batch:
            match = _NAMED.match(line) or _PLAIN.match(line)
            number = parse_id(match["id"]) if match else None
            if match is None or number is None:
                yield line
                continue
            own = match.groupdict().get("name")
            self.columns.ids.append(number)
            self.columns.times.append(float_of(match["time"]))
            self.columns.names.append(self.place_of(own or name))
            name = ""

    def add_myelin(self, batch: list[str]) -> None:
        """Add rows of a Myelin table; lines that are none are left out."""
        columns = self.columns
        for line in batch:
            match = _MYELIN.match(line)
            if match is None:
                continue
            columns.numbers.append(int(match["number"]))
            columns.costs.append(float_of(match["cost"]))
            columns.ratios.append(float_of(match["ratio"]))
            columns.correlations.append(float_of(match["correlation"]))
            columns.kernels.append(self.place_of(match["kernel"]))
            columns.hashes.append(int(match["hash"], 16))
            columns.parameters.append(self.place_of((match["rest"] or "").strip()))


def _ids(texts: list[str]) -> list[int]:
    """Tactic numbers; hexadecimal ones alone.

    Raises:
        ValueError: One is something else.
    """
    numbers = [int(text, 16) for text in texts]
    if min(numbers) < 0 or max(numbers) >= 2**64 or not all(text.startswith("0x") for text in texts):
        raise ValueError
    return numbers


def float_of(text: str) -> float:
    """The number that a text is; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return _NAN
