"""Read a log as a stream: remove prefixes, parse tactics in batches, pass everything else to the parser.

There are two depths. A full trace holds every tactic. Most of a verbose log is about tuning, which an engine view does not
need: the outline skips lines about tuning, recognized by 16 characters at a fixed position, and has everything else. This
requires lines as trtexec and Python's logger write them; if two streams were written into one file and a line about tuning is
split, the full log is read instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import compress
from operator import itemgetter
from pathlib import Path

from trex_tui.artifacts.open import gc_paused
from trex_tui.buildlog.layer_dump import with_kernel_names
from trex_tui.buildlog.layer_tuning import InsertedReformat, ReformatCost
from trex_tui.buildlog.lines import LONGEST_LINE, LogStreams, Prefix, ReadState, parse_prefix, read_lines
from trex_tui.buildlog.messages import KEY, SILENT, MessageParser
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.buildlog.tuner import MYELIN_ROW, NAME_HEAD, STAMP_INSIDE, TIME, Tuner, parts_of_cached
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural

_STAMP = len("[MM/DD/YYYY-HH:MM:SS] ")
_VERBOSE = ("[V] [TRT] ", "[TRT] [V] ")
"""Prefix of the library's verbose messages, from trtexec and from Python."""
_PREFIX = _STAMP + len(_VERBOSE[0])
_key = itemgetter(slice(_STAMP, _PREFIX + KEY))
_said = itemgetter(slice(_STAMP, _PREFIX))

_NAME_END = _PREFIX + len(NAME_HEAD)
_TACTIC, _ROW, _PASSED = object(), object(), object()
_ROW_NUMBER = _PREFIX + len(" (foreignNode) ")
_ROW_BEGINS = frozenset(" 0123456789")
_MANY_ROWS = 1024

_TUNING = ("======", "******", "------", ">>>>>>", "Fastes", "Skippi", "Foreig", " (fore")
"""Beginnings of verbose messages that only `Tuner` reads."""
_MORE = (": Fusing ", "] got cached result: ", " Set Tactic Name: ")
"""Marks of verbose messages that begin with a name but are not about tuning."""
_HEADINGS = (" Computing ", " Autotuning ", " Timing Runner: ")


class _IrregularError(Exception):
    """The outline cannot skip lines of this log safely."""


class _PassedTuner(Tuner):
    """Replaces the tuner in an outline and counts. Messages it cannot handle end the reading."""

    def __init__(self) -> None:
        super().__init__()
        for names, instead in (
            (("cached",), self._count),
            (("insufficient",), lambda *_: None),  # a warning, counted with the others
            (("heading", "formats", "runner"), self._ruled),
            (("timed", "fastest", "chose", "no_valid_tactic", "set_name"), self._refuse),
            (("myelin_rows", "myelin_note"), self._refuse),
        ):
            for name in names:
                setattr(self, name, instead)

    def _count(self, _line: int, message: str) -> None:
        self.cached_results += parts_of_cached(message) is not None

    def _ruled(self, _line: int, message: str) -> None:
        """Handle a message that begins with a horizontal rule; some of them belong to the parser."""
        if any(words in message for words in _HEADINGS):
            raise _IrregularError

    def _refuse(self, *_: object) -> None:
        """Reject a line about tuning with an unexpected form."""
        raise _IrregularError


class _Reader:
    """Reads one log once, at one of the two depths."""

    def __init__(
        self,
        path: Path,
        progress: Callable[[int], None] | None = None,
        *,
        is_whole: bool = True,
        has_names: bool = True,
        run: int | None = None,
    ) -> None:
        self._path = path
        self._has_names = has_names
        self._run = run
        self._progress = progress
        self._is_whole = is_whole
        self._state = ReadState()
        self._parser = MessageParser(Tuner if is_whole else _PassedTuner, run)
        self._route = self._routes().get
        self._number = 0
        self._first_stamp: int | None = None
        self._last_stamp: int | None = None
        self._rows: list[str] = []
        self._now: int | None = None
        self._stamp: str | None = None
        self._streams = LogStreams(self._said, self._bare)
        self._passed = ""

    def read(self) -> BuildTrace:
        read_piece = self._whole_piece if self._is_whole else self._outline_piece
        lines: list[str] = []
        for lines in read_lines(self._path, self._state):
            rest = lines
            while rest:
                rest = rest[read_piece(rest) :]
            if self._progress is not None:
                self._progress(self._state.read_bytes)
        self._flush_rows(self._number)
        self._look_at_passed(self._number, self._passed)
        self._streams.settle()
        self._move_on(lines)
        return self._finished()

    def _move_on(self, lines: list[str]) -> None:
        """Advance to the time of the last of some lines; lines in batches are not parsed for theirs."""
        for line in reversed(lines):
            stamp = parse_prefix(line).stamp
            if stamp is not None:
                self._last_stamp = max(stamp, self._last_stamp or stamp)
                return

    def _whole_piece(self, lines: list[str]) -> int:
        """Read some lines; return the number read, which is smaller if another build begins.

        Frequent lines are recognized by 16 characters at a fixed position. All tactics are parsed first, in columns; then the
        other lines one by one.
        """
        tuner = self._parser.tuner
        tactics, rows, before = tuner.tactics, self._rows, self._number
        actions: list[object] = list(map(self._route, map(_key, lines)))
        others, is_taken = self._taken(lines, actions)
        end = 0  # end of the lines to read, within `lines`
        for index in others:
            line, action = lines[index], actions[index]
            tactics.next += index - end
            end = index + 1
            if action is _PASSED:
                continue
            if action is None:
                self._look_before(before, index, lines, actions)
            elif action is _ROW and line[_ROW_NUMBER : _ROW_NUMBER + 1] in _ROW_BEGINS:
                if line.find(STAMP_INSIDE, _PREFIX) < 0:
                    rows.append(line[_PREFIX:])
                    continue
            elif action is _TACTIC and not is_taken and TIME in line and line.find(STAMP_INSIDE, _PREFIX) < 0:
                tuner.timed(before + end, line[_PREFIX:])
                continue
            if rows:
                self._flush_rows(before + index)
            self._line(before + end, line, action)
            if self._parser.tuner is not tuner:
                return self._enter_span(before, end)
        tactics.next += len(lines) - end
        if len(rows) > _MANY_ROWS:
            self._flush_rows(before + len(lines))
        self._number, self._passed = before + len(lines), lines[-1] if actions[-1] is _PASSED else ""
        return len(lines)

    def _outline_piece(self, lines: list[str]) -> int:
        """As `_whole_piece`, without lines about tuning."""
        tuner, before = self._parser.tuner, self._number
        fusing, cached, named = _MORE
        actions: list[object] = list(map(self._route, map(_key, lines)))
        last = -1  # number of lines read
        for index in [
            index for index, action in enumerate(actions) if action is not _PASSED and action is not _TACTIC
        ]:
            line, action = lines[index], actions[index]
            if action is None and _said(line) in _VERBOSE and fusing not in line and cached not in line:
                if self._has_names and named in line:
                    tuner.tactics.state_names((line[_PREFIX:],))
                continue
            if last < index - 1 or not index:
                self._look_at_passed(before + index, lines[index - 1] if index else self._passed)
            last = index
            self._line(before + index + 1, line, action)
            if self._streams.broken:
                raise _IrregularError
            if self._parser.tuner is not tuner:
                self._state_names(tuner, lines[: index + 1], actions)
                return self._enter_span(before, index + 1)
        self._state_names(tuner, lines, actions)
        self._number, self._passed = before + len(lines), lines[-1] if last < len(lines) - 1 else ""
        return len(lines)

    def _state_names(self, tuner: Tuner, lines: list[str], actions: list[object]) -> None:
        """Store the names of kernels in lines that an outline skips."""
        if self._has_names:
            tuner.tactics.state_names(
                [
                    line[_PREFIX:].partition(TIME)[0]
                    for line, action in zip(lines, actions, strict=False)
                    if action is _TACTIC
                ]
            )

    def _enter_span(self, before: int, count: int) -> int:
        """Start another build after the lines read: other collectors receive its messages."""
        self._route = self._routes().get
        self._number, self._passed = before + count, ""
        return count

    def _look_before(self, before: int, index: int, lines: list[str], actions: list[object]) -> None:
        passed = self._passed if not index else lines[index - 1] if actions[index - 1] is _PASSED else ""
        if passed:
            self._look_at_passed(before + index, passed)

    def _look_at_passed(self, number: int, passed: str) -> None:
        """Parse a line that was skipped, if another line begins in it."""
        if passed.find(STAMP_INSIDE, _PREFIX) >= 0:
            if not self._is_whole:
                raise _IrregularError
            self._line(number, passed, None)

    def _taken(self, lines: list[str], actions: list[object]) -> tuple[list[int], bool]:
        """Parse the tactics among some lines; return the indices of all other lines, and whether parsing succeeded."""
        tactics = self._parser.tuner.tactics
        timed = [line for line, action in zip(lines, actions, strict=True) if action is _TACTIC]
        if not timed or tactics.take(timed, _PREFIX):
            return [index for index, action in enumerate(actions) if action is not _TACTIC], True
        # Most likely one of them was skipped for lack of memory and has no time.
        is_timed = [action is _TACTIC and TIME in line for line, action in zip(lines, actions, strict=True)]
        if tactics.take(list(compress(lines, is_timed)), _PREFIX):
            return [index for index, timed in enumerate(is_timed) if not timed], True
        return list(range(len(lines))), False

    def _line(self, number: int, line: str, action: object) -> None:
        """Read one line that is neither a tactic nor a row; `action` is the handler of its route."""
        if line[:_STAMP] == self._stamp and not self._streams.broken and line.find(STAMP_INSIDE, _PREFIX) < 0:
            if callable(action):
                action(number, line[_PREFIX:])
                return
            if action is _ROW:
                self._parser.tuner.myelin_note(number, line[_PREFIX:])
                return
            if line[_STAMP:_PREFIX] in _VERBOSE:
                self._parser.other(number, line[_PREFIX:])
                return
        self._number = number
        if not self._streams.broken and (not line or (line.startswith("&&&& ") and STAMP_INSIDE not in line)):
            self._bare(line)
        else:
            self._streams.line(number, line)

    def _routes(self) -> dict[str, object]:
        """Return kind of line -> route: a batch, nothing, or a handler."""
        routes: dict[str, object] = {}
        for mark in _VERBOSE:
            routes.update({mark + key: handler for key, handler in self._parser.handlers.items()})
            routes.update(dict.fromkeys((mark + key for key in SILENT), _PASSED))
            routes[f"{mark}Tactic"] = _TACTIC
            routes[f"{mark} (fore"] = _ROW
            if not self._is_whole:
                routes.update(dict.fromkeys((mark + key for key in _TUNING), _PASSED))
        return routes

    def _flush_rows(self, number: int) -> None:
        """Pass on the rows of a table, of which line `number` is the last."""
        if self._rows:
            self._parser.tuner.myelin_rows(number, self._rows)
            self._rows.clear()

    # --- one line -------------------------------------------------------------------------------------------------

    def _said(self, prefix: Prefix) -> None:
        if prefix.stamp is not None:
            self._at(prefix.stamp)
            # Lines with the same second need no further parsing.
            self._stamp = prefix.text
        self._message(prefix.severity, prefix.message, is_library=prefix.is_library)

    def _message(self, severity: str, message: str, *, is_library: bool) -> None:
        if severity not in "WEF" and is_library and message.startswith("Tactic"):
            self._parser.tuner.timed(self._number, message)
        elif is_library and MYELIN_ROW.match(message):
            self._parser.tuner.myelin_rows(self._number, [message])
        else:
            self._parser.message(self._number, severity, message, is_library=is_library)

    def _bare(self, line: str) -> None:
        if line.startswith("&&&& "):
            self._parser.banner(self._number, line)
        else:
            self._parser.bare(self._number, line)

    def _at(self, stamp: int) -> None:
        if stamp == self._now:
            return
        # Streams that are flushed later may have earlier time stamps.
        self._now = stamp
        self._first_stamp = min(stamp, stamp if self._first_stamp is None else self._first_stamp)
        self._last_stamp = max(stamp, self._last_stamp or stamp)
        self._parser.at(float(stamp - self._first_stamp))

    # --- the end --------------------------------------------------------------------------------------------------

    def _finished(self) -> BuildTrace:
        parser, spans = self._parser, self._parser.spans
        shown, timed = parser.finish(self._number)
        self._check_run(len(spans.measured))
        sections, tuner, optimizer, resources = shown.sections, shown.tuner, shown.optimizer, shown.resources
        runs = tuple(parser.runs.all)
        built_by, timed_by = (None if span.run is None else runs[span.run] for span in (shown, timed))
        decoded = [run.tensorrt_version for run in (built_by, *reversed(runs)) if run is not None]
        version = sections.version or next(filter(None, decoded), None)
        library = None if version else parser.library
        kernel_names = tuner.tactics.kernel_names()
        trace = BuildTrace(
            path=self._path,
            is_whole=self._is_whole,
            has_names=self._has_names,
            lines=self._number,
            runs=runs,
            shown_run=built_by,
            timed_run=timed_by,
            tensorrt_version=library[0] if library else version,
            tensorrt_library=library[1] if library else None,
            stated_seconds=self._stated_seconds(),
            began_s=self._first_stamp,
            options=sections.options,
            run_options=timed.sections.options,
            onnx=sections.onnx,
            phases=tuple(optimizer.phases),
            passes=tuple(optimizer.passes),
            strategies=tuple(optimizer.strategies),
            tunings=tuple(tuner.tunings),
            kernel_names=kernel_names,
            reformat_costs=tuple(tuner.costs),
            reformats=_with_costs(tuner.added, tuner.costs),
            memory=tuple(resources.points),
            layer_memory=tuple(resources.layers),
            memory_totals=tuple(resources.totals.values()),
            peak_cpu_mib=resources.peak[0] if resources.peak else None,
            peak_gpu_mib=resources.peak[1] if resources.peak else None,
            context_bytes=spans.context_bytes,
            engine_bytes=spans.engine_bytes,
            engine_mib=spans.engine_mib,
            cache=resources.cache._replace(cached_results=tuner.cached_results),
            dla=resources.dla,
            workspace_shortage=resources.workspace_shortage,
            messages=parser.messages.finished(),
            dumps=tuple(with_kernel_names(dump, kernel_names) for dump in spans.dumps),
            performance=spans.performance,
            trace=spans.trace,
            profile=spans.profile,
            measured=tuple(
                measured._replace(
                    run=None if index is None else runs[index],
                    is_shown=measured.number == timed.number,
                )
                for index, measured in spans.measured
            ),
            chosen_shapes=tuple(timed.sections.chosen_shapes),
            network_inputs=tuple(tensor.name for tensor in sections.tensors if tensor.is_input),
            network_outputs=tuple(tensor.name for tensor in sections.tensors if not tensor.is_input),
            network_tensors=tuple(sections.tensors),
            bindings=spans.bindings,
            notes=self._diagnostics(),
        )
        winner = trace.winner
        names = [name for strategy, name in shown.non_conforming if strategy in (winner, None)]
        return replace(trace, streams=resources.streams(winner), non_conforming=tuple(dict.fromkeys(names)))

    def _check_run(self, count: int) -> None:
        if self._run is not None and not 1 <= self._run <= count:
            known = f"holds runs 1 to {count}" if count > 1 else f"holds {plural(count, 'measured run')}"
            raise ArtifactError(self._path, f"no run {self._run}; the log {known}")

    def _stated_seconds(self) -> float | None:
        if self._first_stamp is None or self._last_stamp is None:
            return None
        return float(max(self._last_stamp - self._first_stamp, 0))

    def _diagnostics(self) -> tuple[Note, ...]:
        notes = []

        def note(severity: Severity, message: str, where: str = "") -> None:
            notes.append(Note(severity, self._path, where, message))

        state = self._state
        if state.damage:
            note(Severity.ERROR, f"{state.damage}; the {self._number} lines before were read")
        elif state.cut_off:
            note(
                Severity.WARNING,
                "is cut off in the middle of a line, which was left out",
                f"line {self._number + 1}",
            )
        if self._parser.runs.is_open:
            note(Severity.WARNING, "ends before trtexec does: there is no PASSED or FAILED at its end")
        if state.shortened:
            message = (
                f"has lines of more than {LONGEST_LINE} characters ({state.shortened}), which were cut there"
            )
            note(Severity.WARNING, message)
        if self._streams.lost:
            message = f"has lines whose second half is missing ({self._streams.lost}), which were left out"
            note(Severity.WARNING, message)
        if self._parser.builds > 1:
            which = "the last one" if self._run is None else f"the one of run {self._run}"
            note(Severity.INFO, f"holds {self._parser.builds} builds; {which} is shown")
        if self._parser.spans.left_out is not None:
            line, why = self._parser.spans.left_out
            note(Severity.INFO, f"{why}: what was measured there is left out", f"line {line}")
        return tuple(notes)


def _with_costs(added: list[InsertedReformat], costs: list[ReformatCost]) -> tuple[InsertedReformat, ...]:
    """Add the measured cost to each reformat."""
    known: dict[tuple[int | None, str, str, str], float] = {}
    for cost in costs:
        formats = (*cost.combination.inputs, *cost.combination.outputs)
        time = cost.time_ms
        if len(formats) == 2 and time is not None:
            key = (cost.strategy, cost.tensor, *formats)
            known[key] = min(time, known.get(key, time))
    return tuple(
        reformat._replace(
            cost_ms=known.get((reformat.strategy, reformat.tensor, reformat.from_format, reformat.to_format)),
        )
        for reformat in added
    )


_known: dict[tuple[Path, int | None, int, int], BuildTrace] = {}
"""The last traces, so that a command reads a log once."""
_MOST_KNOWN = 4


def read_log(path: Path, run: int | None = None, progress: Callable[[int], None] | None = None) -> BuildTrace:
    """Read a log of a build or a run, of any producer, compressed or not, complete or truncated.

    Unreadable parts are skipped and reported in `notes`. Memory depends on the content of the log, not on its length. The
    last few traces are kept, so that a command reads a log once.

    Args:
        path: The file, which may be a pipe.
        run: Number of the measured run to describe, as if the log ended after it; None for the last.
        progress: Called every few kilobytes with the bytes of the file read so far; an exception from it ends the reading.

    Raises:
        ArtifactError: The file cannot be opened, or has no run of this number.
    """
    try:
        status = path.stat()
        key = (path, run, status.st_size, status.st_mtime_ns)
    except (OSError, ValueError):  # a NUL in the path
        key = (path, run, 0, 0)
    if key not in _known:
        with gc_paused():
            trace = _Reader(path, progress, run=run).read()
        while len(_known) >= _MOST_KNOWN:
            del _known[next(iter(_known))]
        _known[key] = trace
    return _known[key]
