"""A log without its tactics: most of a verbose log is about tuning, and whoever opens an engine need not wait for that.

Lines about tuning are told by 16 characters at a fixed place and passed over; everything else is read by the reader of whole
logs, with the same result. That takes lines that look as trtexec and Python's logger write them. Where another program has
put something before every line, or two streams were written into one, the log is read whole instead.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

from trex_tui.artifacts.buildlog.batch import STAMP_INSIDE
from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.artifacts.buildlog.reader import PASSED, PREFIX, STAMP, VERBOSE, Reader, read_build_log
from trex_tui.artifacts.buildlog.tuner import Tuner, parts_of_cached
from trex_tui.artifacts.jsonfile import gc_paused

_TUNING = (
    "======",
    "******",
    "------",
    ">>>>>>",
    "Fastes",
    "Skippi",
    "Foreig",
    "Tactic",
    " (fore",
)
"""Beginnings of verbose messages that only `Tuner` reads."""
_MORE = (": Fusing ", "] got cached result: ")
"""What else may stand in a verbose message that begins with a name, and is not about tuning."""
_HEADINGS = (" Computing ", " Autotuning ", " Timing Runner: ")
_key = itemgetter(slice(STAMP, PREFIX + len(_TUNING[0])))
_said = itemgetter(slice(STAMP, PREFIX))


class _IrregularError(Exception):
    """The log has a line that takes a closer look."""


def read_outline(path: Path, progress: Callable[[int], None] | None = None) -> BuildTrace:
    """Read a log but for its tactics, several times as fast as `read_build_log` does, with the same arguments.

    Returns:
        A trace whose `is_whole` tells whether it has tunings after all: they were read where the log is not regular.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    try:
        with gc_paused():
            return _OutlineReader(path, progress).read()
    except _IrregularError:
        return read_build_log(path, progress)


class _PassedTuner(Tuner):
    """Stands where a tuner stands, and counts. What should not come to it ends the reading."""

    def __init__(self) -> None:
        super().__init__()
        for names, instead in (
            (("cached",), self._count),
            (("insufficient",), self._ignore),
            (("heading", "formats", "runner"), self._ruled),
            (("timed", "fastest", "chose", "no_valid_tactic", "set_name"), self._refuse),
            (("myelin_rows", "myelin_note"), self._refuse),
        ):
            for name in names:
                setattr(self, name, instead)

    def _count(self, _line: int, message: str) -> None:
        self.cached_results += parts_of_cached(message) is not None

    def _ignore(self, _line: int, _message: str) -> None:
        """A warning, counted with the others."""

    def _ruled(self, _line: int, message: str) -> None:
        """A message that begins with a rule; some of the parser's do."""
        if any(words in message for words in _HEADINGS):
            raise _IrregularError

    def _refuse(self, *_: object) -> None:
        """A line about tuning that does not look as such lines do."""
        raise _IrregularError


class _OutlineReader(Reader):
    is_whole = False

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        super().__init__(path, progress, _PassedTuner)
        self._before = ""

    def read(self) -> BuildTrace:
        """Read the log.

        Raises:
            _IrregularError: It takes a closer look.
        """
        trace = super().read()
        if self._before.find(STAMP_INSIDE, PREFIX) >= 0:
            raise _IrregularError  # another line was written into the last one, and no second half follows
        return trace

    def _routes(self) -> dict[str, object]:
        routes = super()._routes()
        routes.update({said + key: PASSED for said in VERBOSE for key in _TUNING})
        return routes

    def _piece(self, lines: list[str]) -> int:
        """Read some lines; return how many, which is fewer than there are where another build begins."""
        tuner = self.parser.tuner
        number, earlier = self.number, self._before
        actions: list[object] = list(map(self._route, map(_key, lines)))
        last = -1  # of the lines read
        for place in [place for place, action in enumerate(actions) if action is not PASSED]:
            line, action = lines[place], actions[place]
            if action is None and _said(line) in VERBOSE and _MORE[0] not in line and _MORE[1] not in line:
                continue
            passed = earlier if not place else lines[place - 1] if last < place - 1 else ""
            if passed.find(STAMP_INSIDE, PREFIX) >= 0:
                # The second half of a line that another was written into stands behind it, and looks like no tactic.
                raise _IrregularError
            last = place
            self._line(number + place + 1, line, action)
            if self._streams.broken:
                raise _IrregularError
            if self.parser.tuner is not tuner:
                self._route = self._routes().get
                self.number, self._before = number + place + 1, ""
                return place + 1
        self.number, self._before = number + len(lines), lines[-1] if last < len(lines) - 1 else ""
        return len(lines)
