"""Lines of timed tactics, in batches: most of a verbose log is these, so they are read by the column, not by the line.

A batch that does not look exactly as expected is read line by line instead; either way gives the same.
"""

from __future__ import annotations

import math
import re
import sys
from array import array

from trex_tui.artifacts.buildlog.tactics import Columns, Tactics, parse_id

_NAN = math.nan
_HEAD = "Tactic Name: "
TIME = " Time: "
STAMP_INSIDE = "/20"
"""In every time stamp; where it is found again behind the prefix, two streams may have been mixed into one line."""
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
        next: Place of the tactic that comes next in the log. `take` writes ahead of it; whoever reads the lines in between
            moves it on.
    """

    def __init__(self) -> None:
        self.columns = Columns()
        self.next = 0
        self._places = {"": 0, "-": 0}
        self._heads = {"": 0}
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

    def view(self, start: int) -> Tactics:
        """The tactics from `start` up to here."""
        if self._set_names:
            self._settle_names()
        return Tactics(self.columns, start, self.next)

    def set_name(self, name: str, number: int | None) -> None:
        """Name the tactic that comes next, if it is this one: at the end of a build names are set without timing."""
        self._set_names.append((self.next, name, number))

    def _settle_names(self) -> None:
        columns = self.columns
        for place, name, number in self._set_names:
            if place < self.next and number in (None, columns.ids[place]):
                columns.names[place] = self.place_of(name)
        self._set_names = [one for one in self._set_names if one[0] >= self.next]

    def add(self, message: str) -> bool:
        """Take a message that begins with `Tactic`, at `next`; False if it tells no time."""
        match = _PLAIN.match(message) or _NAMED.match(message)
        number = parse_id(match["id"]) if match else None
        if match is None or number is None:
            return False
        columns = self.columns
        columns.ids.insert(self.next, number)
        columns.times.insert(self.next, float_of(match["time"]))
        columns.names.insert(self.next, self.place_of(match.groupdict().get("name") or ""))
        self.next += 1
        return True

    def take(self, lines: list[str], prefix: int) -> bool:
        """Take whole lines of the form `P Tactic: T Time: X` or `P Tactic Name: K Tactic: T Time: X`; `next` stays.

        Args:
            prefix: Length of P with the space behind it.

        Returns:
            False if one has another form, or holds a second time stamp: then none is taken.
        """
        count = len(lines)
        text = "\n".join(lines)
        parts = text.replace(" Tactic: ", "\n").replace(TIME, "\n").split("\n")
        if len(parts) != 3 * count:
            return False
        known = self._heads
        try:
            ids, times = _ids(parts[1::3]), array("d", map(float, parts[2::3]))
            try:
                names = array("I", [known[head[prefix:]] for head in parts[0::3]])
            except KeyError:
                names = array("I", [self._place_of_head(head[prefix:]) for head in parts[0::3]])
        except (ValueError, OverflowError):
            return False
        columns = self.columns
        columns.ids.extend(ids)
        columns.times.extend(times)
        columns.names.extend(names)
        return True

    def _place_of_head(self, head: str) -> int:
        """Where the name in `Tactic Name: K` stands; 0 where there is none.

        Raises:
            ValueError: The head is another.
        """
        place = self._heads.get(head)
        if place is None:
            name = head[len(_HEAD) :]
            if not head.startswith(_HEAD) or not name or STAMP_INSIDE in name:
                raise ValueError
            place = self._heads[head] = self.place_of(name)
        return place

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


def _ids(texts: list[str]) -> array[int]:
    """Tactic numbers.

    Raises:
        ValueError, OverflowError: One is no number of 64 bits.
    """
    joined = "".join(texts)
    count = len(texts)
    if len(joined) == 18 * count and joined[0::18].count("0") == joined[1::18].count("x") == count:
        # All have 16 hexadecimal digits, as since TensorRT 8.2.
        ids = array("Q", bytes.fromhex(joined.replace("0x", "")))
        if len(ids) == count:
            if sys.byteorder == "little":
                ids.byteswap()
            return ids
    if joined.split() != [joined]:
        raise ValueError  # `int` allows blanks around a number
    numbers = [parse_id(text) for text in texts]
    known = [number for number in numbers if number is not None]
    if len(known) != count:
        raise ValueError
    return array("Q", known)


def float_of(text: str) -> float:
    """The number that a text is; NaN if it is none."""
    try:
        return float(text)
    except ValueError:
        return _NAN
