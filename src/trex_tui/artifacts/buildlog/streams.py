"""Two streams in one file: trtexec writes warnings and errors to stderr, all else to stdout.

A pipe or a file gets stdout in blocks, so that a line of it may be cut in two; what stderr said meanwhile, whole lines of it,
stands between the halves. The first half is held until the second comes.
"""

from __future__ import annotations

from collections.abc import Callable

from trex_tui.artifacts.buildlog.batch import STAMP_INSIDE
from trex_tui.artifacts.buildlog.prefix import Prefix, starts_of, take_apart
from trex_tui.artifacts.containers import LONGEST_LINE
from trex_tui.artifacts.foreign import BANNER

_ON_STDERR = frozenset("WEF")
_MOST_BETWEEN = 10_000
"""Lines of stderr after which the second half is not expected any more."""


class Streams:
    """Reads lines that may be half of one, and hands on whole ones.

    Args:
        said: Takes a line with a prefix.
        bare: Takes a line without.

    Attributes:
        broken: The first half of a line; empty if none is held.
        lost: How many lines were left out, as their second half did not come: half a number is not a number.
    """

    def __init__(self, said: Callable[[Prefix], None], bare: Callable[[str], None]) -> None:
        self._said = said
        self._bare = bare
        self.broken = ""
        self.lost = 0
        self._began = self._until = 0
        self._severity = ""

    def line(self, number: int, line: str) -> None:
        """Read a line with any prefix, with none, or with two."""
        if self.broken and (number > self._until + 1 or number > self._began + _MOST_BETWEEN):
            self.settle()
        found = take_apart(line)
        if not found.severity or (self.broken and not found.text):
            self._without_prefix(number, line)  # a line may also be cut between its stamp and `[TRT]`
            return
        starts = []
        if found.before or STAMP_INSIDE in found.message:
            starts = starts_of(line)[0 if found.before else 1 :]
        if starts:
            self._two_in_one(number, line, starts, is_rest=bool(found.before))
            return
        if self.broken and found.severity in _ON_STDERR and found.stamp is not None:
            self._until, self._severity = number, found.severity
        else:
            self.settle()
        self._said(found)

    def _two_in_one(self, number: int, line: str, starts: list[int], *, is_rest: bool) -> None:
        """A half, and a line behind it; `is_rest` if the half has no prefix, and may be the middle of one before."""
        half = line[: starts[0]]
        if is_rest and self.broken and len(self.broken) < LONGEST_LINE:
            half = self.broken + half
        else:
            self.settle()
            self._began = number
        self.broken, self._until = half, number
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            found = take_apart(line[start:end])
            self._severity = found.severity
            self._said(found)

    def _without_prefix(self, number: int, line: str) -> None:
        match = BANNER.search(line) if "&&&& " in line else None
        if match is not None:
            self.settle()
            self._bare(line[match.start() :])
        elif self.broken and line[:2].isspace() and len(line) > 2 and self._severity in "EF":
            self._until = number  # of an error of several lines
            self._bare(line)
        elif self.broken and line:
            joined, self.broken = self.broken + line, ""
            self.line(number, joined)
        elif self.broken:
            self._hand_on()  # the second half was no more than its end
        elif line:
            self._bare(line)

    def settle(self) -> None:
        """The second half of a line does not come any more."""
        if self.broken and self._severity in _ON_STDERR and take_apart(self.broken).severity:
            self.broken = ""
            self.lost += 1
        self._hand_on()

    def _hand_on(self) -> None:
        line, self.broken = self.broken, ""
        if line:
            found = take_apart(line)
            if found.severity:
                self._said(found)
            else:
                self._bare(line)
