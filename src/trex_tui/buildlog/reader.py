"""A log, read as a stream: prefixes off, tactics in batches, everything else to the parser.

A log without its tactics: most of a verbose log is about tuning, and whoever opens an engine need not wait for that.

Lines about tuning are told by 16 characters at a fixed place and passed over; everything else is read by the reader of whole
logs, with the same result. That takes lines that look as trtexec and Python's logger write them. Where another program has
put something before every line, or two streams were written into one, the log is read whole instead.

Parts of a log, where the rest is not asked for: its options and results.

They stand under headings of trtexec's own, so that a log of hundreds of megabytes need only be searched, not read.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import compress
from operator import itemgetter
from pathlib import Path
from typing import BinaryIO

from trex_tui.artifacts.input_files import gc_paused
from trex_tui.artifacts.log_prefixes import LONGEST_LINE
from trex_tui.artifacts.sniff import GZIP_MARK
from trex_tui.buildlog.build_trace import BuildTrace
from trex_tui.buildlog.layer_tuning import InsertedReformat, ReformatCost
from trex_tui.buildlog.lines import Prefix, ReadState, Streams, lines_of, open_log, read_lines, take_apart
from trex_tui.buildlog.messages import KEY, SILENT, MessageParser
from trex_tui.buildlog.tuner import MYELIN_ROW, STAMP_INSIDE, TIME, Tuner, parts_of_cached
from trex_tui.errors import Diagnostic, Severity

STAMP = len("[MM/DD/YYYY-HH:MM:SS] ")
VERBOSE = ("[V] [TRT] ", "[TRT] [V] ")
"""What stands before everything that the library says for its own sake, from trtexec and from Python."""
PREFIX = STAMP + len(VERBOSE[0])
_KEY_END = PREFIX + KEY

_TACTIC, _ROW, PASSED = object(), object(), object()
_ROW_NUMBER = PREFIX + len(" (foreignNode) ")
_ROW_BEGINS = frozenset(" 0123456789")
_key = itemgetter(slice(STAMP, _KEY_END))
_MANY_ROWS = 1024


def read_build_log(path: Path, progress: Callable[[int], None] | None = None) -> BuildTrace:
    """Read a log of a build or a run, of TensorRT 8.0 to 11, packed or not, whole or cut off.

    What cannot be read is left out; `diagnostics` say so. Memory depends on what the log tells, not on its length.

    Args:
        path: The file.
        progress: Called every few kilobytes with the bytes of the file that have been read; what it raises ends the
            reading.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    with gc_paused():
        return Reader(path, progress).read()


class Reader:
    """Reads one log, once.

    Attributes:
        is_whole: Whether the result holds what the log says about tuning.
        number: Of the line that is read, from 1.
    """

    is_whole = True

    def __init__(
        self,
        path: Path,
        progress: Callable[[int], None] | None = None,
        make_tuner: Callable[[], Tuner] = Tuner,
    ) -> None:
        self.path = path
        self.progress = progress
        self.state = ReadState()
        self.parser = MessageParser(make_tuner)
        self._route = self._routes().get
        self.number = 0
        self._first_stamp: int | None = None
        self._last_stamp: int | None = None
        self._rows: list[str] = []
        self._now: int | None = None
        self._stamp: str | None = None
        self._streams = Streams(self._said, self._bare)
        self._passed = ""

    def read(self) -> BuildTrace:
        """Read all lines of the file."""
        return self.read_pieces(read_lines(self.path, self.state))

    def read_pieces(self, pieces: Iterable[list[str]]) -> BuildTrace:
        """Read these lines, whatever file they are of."""
        lines: list[str] = []
        for lines in pieces:
            rest = lines
            while rest:
                rest = rest[self._piece(rest) :]
            if self.progress is not None:
                self.progress(self.state.read_bytes)
        self._flush_rows(self.number)
        if self._passed.find(STAMP_INSIDE, PREFIX) >= 0:
            self._line(self.number, self._passed, None)
        self._streams.settle()
        self._move_on(lines)
        return self._finished()

    def _move_on(self, lines: list[str]) -> None:
        """To the time of the last of some lines: those that come in masses are not asked for theirs."""
        for line in reversed(lines):
            stamp = take_apart(line).stamp
            if stamp is not None:
                self._last_stamp = max(stamp, self._last_stamp or stamp)
                return

    def _piece(self, lines: list[str]) -> int:
        """Read some lines; return how many, which is fewer than there are where another build begins.

        What is frequent is told by 16 characters at a fixed place. All tactics are taken first, by the column; then the other
        lines are looked at one by one.
        """
        tuner = self.parser.tuner
        tactics, rows, before = tuner.tactics, self._rows, self.number
        actions: list[object] = list(map(self._route, map(_key, lines)))
        others, is_taken = self._taken(lines, actions)
        end = 0  # of what is read, within `lines`
        for place in others:
            line, action = lines[place], actions[place]
            tactics.next += place - end
            end = place + 1
            if action is PASSED:
                continue
            if action is None:
                self._after_passed(before, place, lines, actions)
            elif action is _ROW and line[_ROW_NUMBER : _ROW_NUMBER + 1] in _ROW_BEGINS:
                if line.find(STAMP_INSIDE, PREFIX) < 0:
                    rows.append(line[PREFIX:])
                    continue
            elif action is _TACTIC and not is_taken and TIME in line and line.find(STAMP_INSIDE, PREFIX) < 0:
                tuner.timed(before + end, line[PREFIX:])
                continue
            if rows:
                self._flush_rows(before + place)
            self._line(before + end, line, action)
            if self.parser.tuner is not tuner:
                self._route = self._routes().get
                self.number, self._passed = before + end, ""
                return end
        tactics.next += len(lines) - end
        self.number = before + len(lines)
        self._passed = lines[-1] if actions[-1] is PASSED else ""
        if len(rows) > _MANY_ROWS:
            self._flush_rows(self.number)
        return len(lines)

    def _after_passed(self, before: int, place: int, lines: list[str], actions: list[object]) -> None:
        """Read the line before one of an unknown kind after all, if it was passed over and another begins in it."""
        passed = self._passed if not place else lines[place - 1] if actions[place - 1] is PASSED else ""
        if passed.find(STAMP_INSIDE, PREFIX) >= 0:
            self._line(before + place, passed, None)

    def _taken(self, lines: list[str], actions: list[object]) -> tuple[list[int], bool]:
        """Take the tactics among some lines; return the places of all others, and whether it could be done."""
        tactics = self.parser.tuner.tactics
        timed = [line for line, action in zip(lines, actions, strict=True) if action is _TACTIC]
        if not timed or tactics.take(timed, PREFIX):
            return [place for place, action in enumerate(actions) if action is not _TACTIC], True
        # Most likely one of them was skipped for want of memory, and tells no time.
        is_timed = [action is _TACTIC and TIME in line for line, action in zip(lines, actions, strict=True)]
        if tactics.take(list(compress(lines, is_timed)), PREFIX):
            return [place for place, is_one in enumerate(is_timed) if not is_one], True
        return list(range(len(lines))), False

    def _line(self, number: int, line: str, action: object) -> None:
        """Read one line that is neither a tactic nor a row; `action` is who its route leads to."""
        if line[:STAMP] == self._stamp and not self._streams.broken and line.find(STAMP_INSIDE, PREFIX) < 0:
            if callable(action):
                action(number, line[PREFIX:])
                return
            if action is _ROW:
                self.parser.tuner.myelin_note(number, line[PREFIX:])
                return
            if line[STAMP:PREFIX] in VERBOSE:
                self.parser.other(number, line[PREFIX:])
                return
        self.number = number
        if not self._streams.broken and (not line or (line.startswith("&&&& ") and STAMP_INSIDE not in line)):
            self._bare(line)
        else:
            self._streams.line(number, line)

    def _routes(self) -> dict[str, object]:
        """Kind of line -> where it goes: a batch, nowhere, or who reads it."""
        routes: dict[str, object] = {}
        for said in VERBOSE:
            routes.update({said + key: handler for key, handler in self.parser.handlers.items()})
            routes.update(dict.fromkeys((said + key for key in SILENT), PASSED))
            routes[f"{said}Tactic"] = _TACTIC
            routes[f"{said} (fore"] = _ROW
        return routes

    def _flush_rows(self, number: int) -> None:
        """Hand on the rows of a table, of which line `number` is the last."""
        if self._rows:
            self.parser.tuner.myelin_rows(number, self._rows)
            self._rows.clear()

    # --- one line -------------------------------------------------------------------------------------------------

    def _said(self, found: Prefix) -> None:
        if found.stamp is not None:
            self._at(found.stamp)
            # What is said within the same second needs no closer look.
            self._stamp = found.text
        self._message(found.severity, found.message, is_library=found.is_library)

    def _message(self, severity: str, message: str, *, is_library: bool) -> None:
        if severity not in "WEF" and is_library and message.startswith("Tactic"):
            self.parser.tuner.timed(self.number, message)
        elif is_library and MYELIN_ROW.match(message):
            self.parser.tuner.myelin_rows(self.number, [message])
        else:
            self.parser.message(self.number, severity, message, is_library=is_library)

    def _bare(self, line: str) -> None:
        if line.startswith("&&&& "):
            self.parser.banner(self.number, line)
        else:
            self.parser.bare(self.number, line)

    def _at(self, stamp: int) -> None:
        if stamp == self._now:
            return
        # What comes of a stream that is written later may have been said earlier.
        self._now = stamp
        self._first_stamp = min(stamp, stamp if self._first_stamp is None else self._first_stamp)
        self._last_stamp = max(stamp, self._last_stamp or stamp)
        self.parser.at(float(stamp - self._first_stamp))

    # --- the end --------------------------------------------------------------------------------------------------

    def _finished(self) -> BuildTrace:
        parser, spans = self.parser, self.parser.spans
        shown, timed = parser.finish(self.number)
        sections, tuner, optimizer, resources = shown.sections, shown.tuner, shown.optimizer, shown.resources
        runs = tuple(parser.runs.all)
        built_by, timed_by = (None if one.run is None else runs[one.run] for one in (shown, timed))
        decoded = [run.tensorrt_version for run in (built_by, *reversed(runs)) if run is not None]
        trace = BuildTrace(
            path=self.path,
            is_whole=self.is_whole,
            lines=self.number,
            runs=runs,
            shown_run=built_by,
            timed_run=timed_by,
            tensorrt_version=sections.version or next(filter(None, decoded), None),
            stated_seconds=self._stated_seconds(),
            options=sections.options,
            run_options=timed.sections.options,
            onnx=sections.onnx,
            phases=tuple(optimizer.phases),
            passes=tuple(optimizer.passes),
            strategies=tuple(optimizer.strategies),
            tunings=tuple(tuner.tunings),
            reformat_costs=tuple(tuner.costs),
            reformats=_with_costs(tuner.added, tuner.costs),
            memory=tuple(resources.points),
            layer_memory=tuple(resources.layers),
            memory_totals=tuple(resources.totals.values()),
            peak_cpu_mib=resources.peak[0] if resources.peak else None,
            peak_gpu_mib=resources.peak[1] if resources.peak else None,
            context_bytes=spans.context_bytes,
            engine_bytes=spans.engine_bytes,
            cache=replace(resources.cache, cached_results=tuner.cached_results),
            dla=resources.dla,
            messages=parser.messages.finished(),
            dumps=spans.dumps,
            performance=spans.performance,
            trace=spans.trace,
            profile=spans.profile,
            chosen_shapes=tuple(timed.sections.chosen_shapes),
            network_inputs=tuple(sections.inputs),
            network_outputs=tuple(sections.outputs),
            bindings=spans.bindings,
            diagnostics=self._diagnostics(),
        )
        winner = trace.winner
        names = [name for strategy, name in shown.non_conforming if strategy in (winner, None)]
        return replace(trace, streams=resources.streams(winner), non_conforming=tuple(dict.fromkeys(names)))

    def _stated_seconds(self) -> float | None:
        if self._first_stamp is None or self._last_stamp is None:
            return None
        return float(max(self._last_stamp - self._first_stamp, 0))

    def _diagnostics(self) -> tuple[Diagnostic, ...]:
        notes = []

        def note(severity: Severity, message: str, where: str = "") -> None:
            notes.append(Diagnostic(severity, self.path, where, message))

        state = self.state
        if state.damage:
            note(Severity.ERROR, f"{state.damage}; the {self.number} lines before were read")
        elif state.cut_off:
            note(
                Severity.WARNING,
                "is cut off in the middle of a line, which was left out",
                f"line {self.number + 1}",
            )
        if self.parser.runs.is_open:
            note(Severity.WARNING, "ends before trtexec does: there is no PASSED or FAILED at its end")
        if state.shortened:
            message = (
                f"has lines of more than {LONGEST_LINE} characters ({state.shortened}), which were cut there"
            )
            note(Severity.WARNING, message)
        if self._streams.lost:
            message = f"has lines whose second half is missing ({self._streams.lost}), which were left out"
            note(Severity.WARNING, message)
        if self.parser.builds > 1:
            note(Severity.INFO, f"tells of {self.parser.builds} builds; the last one is shown")
        if self.parser.spans.left_out is not None:
            line, why = self.parser.spans.left_out
            note(Severity.INFO, f"{why}: what was measured there is left out", f"line {line}")
        return tuple(notes)


def _with_costs(added: list[InsertedReformat], costs: list[ReformatCost]) -> tuple[InsertedReformat, ...]:
    """Put to each reformat what the builder found it to cost."""
    known: dict[tuple[int | None, str, str, str], float] = {}
    for cost in costs:
        formats = (*cost.combination.inputs, *cost.combination.outputs)
        time = cost.time_ms
        if len(formats) == 2 and time is not None:
            key = (cost.strategy, cost.tensor, *formats)
            known[key] = min(time, known.get(key, time))
    return tuple(
        replace(one, cost_ms=known.get((one.strategy, one.tensor, one.from_format, one.to_format)))
        for one in added
    )


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
_key_outline = itemgetter(slice(STAMP, PREFIX + len(_TUNING[0])))
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
        actions: list[object] = list(map(self._route, map(_key_outline, lines)))
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


SHORT_BYTES = 4 << 20
"""Logs up to this size are read rather than searched."""

_CHUNK = 4 << 20
_MARKS = (b"[I] === ", b"utomatically overriding shape", b"utomatically setting shape")
"""Headings, and what is said where trtexec chose a shape."""
_BEFORE, _BEHIND = 16 * 1024, 128 * 1024
"""What is read around a heading: the banner before the first, and all of the longest section."""


def read_sections(path: Path) -> BuildTrace:
    """Read what stands under headings, options, device and performance of all runs, and the shapes that trtexec chose.

    All else is left out or in part.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    with open_log(path) as file:
        try:
            head = file.read(4)
            size = file.seek(0, io.SEEK_END)
            if size <= SHORT_BYTES or head.startswith((GZIP_MARK, b"\xff\xfe", b"\xfe\xff")):
                return read_outline(path)
            parts = b"\n".join(_around_headings(file))
        except OSError:
            return read_outline(path)
    with gc_paused():
        return Reader(path).read_pieces(lines_of(io.BytesIO(parts), ReadState()))


def _around_headings(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines around each heading and the like, without overlap."""
    done = 0
    for place in _marked(file):
        if place + _BEHIND // 2 <= done:
            continue
        start = max(place - _BEFORE, done)
        file.seek(start)
        data = file.read(place + _BEHIND - start)
        done = start + len(data)
        if start:
            data = data[data.find(b"\n") + 1 :]
        yield data[: data.rfind(b"\n")]


def _marked(file: BinaryIO) -> list[int]:
    """Where headings and the like stand in a file."""
    places = []
    file.seek(0)
    offset, rest = 0, b""
    longest = max(map(len, _MARKS))
    while chunk := file.read(_CHUNK):
        data = rest + chunk
        for mark in _MARKS:
            # What ends within the bytes that were there before has been found.
            place = data.find(mark, max(len(rest) - len(mark) + 1, 0))
            while place >= 0:
                places.append(offset + place)
                place = data.find(mark, place + 1)
        rest = data[-(longest - 1) :]
        offset += len(data) - len(rest)
    return sorted(places)
