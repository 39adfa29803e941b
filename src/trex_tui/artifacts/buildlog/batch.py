"""Lines of timed tactics, in batches: most of a verbose log is these, so they are read by the column, not by the line.

A batch that does not look exactly as expected is read line by line instead; either way gives the same.
"""

from __future__ import annotations

import math
import re
from array import array

from trex_tui.artifacts.buildlog.tactics import Columns, Tactics, parse_id

_NAN = math.nan
_HEAD = len("Tactic Name: ")
_TIME = " Time: "
NAMELESS = "Tactic Name: - Tactic:"
_FOREIGN = len(" (foreignNode)")
_NAMED = re.compile(r"Tactic Name: (?P<name>.+?) Tactic: (?P<id>-?\w+) [Tt]ime: (?P<time>\S+)\s*$")
_PLAIN = re.compile(r"Tactic: (?P<id>-?\w+) [Tt]ime: (?P<time>\S+)\s*$")
_MYELIN = re.compile(
    r" \(foreignNode\)\s+(?P<number>\d{1,18}), (?P<cost>[^,]+), (?P<ratio>[^,]+), (?P<correlation>[^,]+), (?P<kernel>[^,]+)"
    r", (?P<hash>0x[0-9a-f]{1,16})(?:, ?(?P<rest>.*))?$"
)


class TacticColumns:
    """Writes tactics into columns, with every text once.

    Attributes:
        pending: Messages of timed tactics that are not in the columns yet, each as `Tactic Name: K Tactic: T Time: X`; where
            no name is known, K is `-`. Views of them are handed out already.
        moved: Set by `flush` where messages could not be read: the first place of the batch, and the new place of each.
    """

    def __init__(self) -> None:
        self.columns = Columns()
        self.pending: list[str] = []
        self.moved: tuple[int, list[int]] | None = None
        self._places = {"": 0, "-": 0}
        self._views: list[Tactics] = []
        self._set_names: list[tuple[int, str, int | None]] = []

    def place_of(self, text: str) -> int:
        """Where a text stands in `columns.texts`."""
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self.columns.texts)
            self.columns.texts.append(text)
        return place

    def _places_of(self, texts: list[str]) -> array[int]:
        known = self._places
        try:
            return array("I", [known[text] for text in texts])
        except KeyError:
            return array("I", [self.place_of(text) for text in texts])

    @property
    def next(self) -> int:
        """Place of the tactic that comes next."""
        return len(self.columns.ids) + len(self.pending)

    def view(self, start: int) -> Tactics:
        """The tactics from `start` up to here."""
        found = Tactics(self.columns, start, self.next)
        if self.pending:
            self._views.append(found)
        return found

    def set_name(self, name: str, number: int | None) -> None:
        """Name the tactic that comes next, if it is this one: at the end of a build names are set without timing."""
        self._set_names.append((self.next, name, number))

    def add(self, message: str) -> bool:
        """Take a message that begins with `Tactic`; False if it tells no time."""
        if _TIME in message:
            self.pending.append(NAMELESS + message[7:] if message[6:7] == ":" else message)
            return True
        match = _PLAIN.match(message) or _NAMED.match(message)
        if match is None:
            return False
        self.pending.append(
            f"Tactic Name: {match.groupdict().get('name') or '-'} Tactic: {match['id']} Time: {match['time']}"
        )
        return True

    def flush(self) -> list[str]:
        """Move what is pending into the columns; return the messages that could not be read."""
        batch = self.pending
        count = len(batch)
        if not count:
            return []
        left: list[str] = []
        try:
            heads, numbers, seconds = _columns_of(batch)
            ids, times = _ids(numbers), array("d", map(float, seconds))
            names = self._places_of(heads)
        except (ValueError, OverflowError):
            ids, times, names, left = self._one_by_one()
        columns = self.columns
        columns.ids.extend(ids)
        columns.times.extend(times)
        columns.names.extend(names)
        for place, name, number in self._set_names:
            if place < len(columns.names) and number in (None, columns.ids[place]):
                columns.names[place] = self.place_of(name)
        self._set_names = [one for one in self._set_names if one[0] >= len(columns.names)]
        self._views.clear()
        batch.clear()
        return left

    def _one_by_one(self) -> tuple[array[int], array[float], array[int], list[str]]:
        """As the columns would have it, without the messages that cannot be read; whatever is behind them moves up."""
        ids, times, names = array("Q"), array("d"), array("I")
        left: list[str] = []
        first = len(self.columns.ids)
        new_places = [first]
        for message in self.pending:
            match = _NAMED.match(message)
            number = parse_id(match["id"]) if match else None
            if match is None or number is None:
                left.append(message)
            else:
                ids.append(number)
                times.append(float_of(match["time"]))
                names.append(self.place_of(match["name"]))
            new_places.append(first + len(ids))
        if left:
            for view in self._views:
                view.move(first, new_places)
            self._set_names = [
                (moved(place, first, new_places), name, number) for place, name, number in self._set_names
            ]
            self.moved = (first, new_places)
        return ids, times, names, left

    def add_myelin(self, batch: list[str]) -> None:
        """Add rows of a Myelin table; lines that are none are left out."""
        count = len(batch)
        parts = ", ".join(batch).split(", ")
        width = len(parts) // count
        columns = self.columns
        try:
            if width not in (6, 7, 8) or width * count != len(parts):
                raise ValueError
            numbers = array("Q", [int(text[_FOREIGN:]) for text in parts[0::width]])
            costs, ratios, correlations = (array("d", map(float, parts[place::width])) for place in (1, 2, 3))
            hashes = array("Q", [int(text.rstrip(","), 16) for text in parts[5::width]])
            kernels = self._places_of(parts[4::width])
            if width == 6:
                parameters = array("I", bytes(4 * count))
            else:
                rest = [parts[place + 6 : place + width] for place in range(0, len(parts), width)]
                parameters = self._places_of([", ".join(one).strip() for one in rest])
        except (ValueError, OverflowError):
            self._myelin_one_by_one(batch)
            return
        columns.numbers.extend(numbers)
        columns.costs.extend(costs)
        columns.ratios.extend(ratios)
        columns.correlations.extend(correlations)
        columns.kernels.extend(kernels)
        columns.hashes.extend(hashes)
        columns.parameters.extend(parameters)

    def _myelin_one_by_one(self, batch: list[str]) -> None:
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


def _columns_of(batch: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Names, numbers and times of messages of the form `Tactic Name: K Tactic: T Time: X`.

    Raises:
        ValueError: One has another form.
    """
    count = len(batch)
    words = " ".join(batch).split(" ")
    if len(words) == 7 * count and words[3::7].count("Tactic:") == words[5::7].count("Time:") == count:
        return words[2::7], words[4::7], words[6::7]
    # Names of GEMM kernels hold spaces: `… numSplitK: 1 numBuffers: 0 numKernels: 1`.
    parts = "\n".join(batch).replace(" Tactic: ", "\n").replace(_TIME, "\n").split("\n")
    if len(parts) != 3 * count:
        raise ValueError
    return [part[_HEAD:] for part in parts[0::3]], parts[1::3], parts[2::3]


def _ids(texts: list[str]) -> array[int]:
    """Tactic numbers, if all are hexadecimal.

    Raises:
        ValueError, OverflowError: One is something else.
    """
    if "".join(texts).count("0x") != len(texts):
        raise ValueError
    return array("Q", [int(text, 16) for text in texts])


def moved(place: int, first: int, new_places: list[int]) -> int:
    """Where an entry stands after `TacticColumns.moved`."""
    return new_places[min(place - first, len(new_places) - 1)] if place >= first else place


def float_of(text: str) -> float:
    """The number that a text is; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return _NAN
