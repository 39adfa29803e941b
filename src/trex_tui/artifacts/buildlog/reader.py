"""A log, read as a stream: prefixes off, tactics in batches, everything else to the parser."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trex_tui.artifacts.buildlog.lines import LONGEST_LINE, ReadState, read_lines
from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.artifacts.buildlog.parser import KEY, MessageParser
from trex_tui.artifacts.buildlog.prefix import pattern_of, take_apart
from trex_tui.artifacts.buildlog.tuner import MYELIN_ROW
from trex_tui.artifacts.buildlog.tuning import InsertedReformat, ReformatCost
from trex_tui.artifacts.jsonfile import gc_paused
from trex_tui.errors import Diagnostic, Severity
from trex_tui.text import plural

PREFIX = len("[MM/DD/YYYY-HH:MM:SS] [V] [TRT] ")
"""Length of the prefix of everything that the library says, from trtexec and from Python alike."""

_PREFIX_ENDS = ("[TRT] ", "] [V] ")
_LONGEST_BATCH = 4096
_STAMP_INSIDE = "/20"
"""In every time stamp; where it is found again behind the prefix, two streams may have been mixed into one line."""


def read_build_log(path: Path) -> BuildTrace:
    """Read a log of a build or a run, of TensorRT 8.0 to 11, packed or not, whole or cut off.

    What cannot be read is left out; `diagnostics` say so. Memory depends on what the log tells, not on its length.

    Raises:
        ArtifactError: The file cannot be opened.
    """
    with gc_paused():
        return _Reader(path).read()


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.state = ReadState()
        self.parser = MessageParser()
        self.number = 0
        self._first_stamp: int | None = None
        self._last_stamp: int | None = None
        self._prefix = ""
        self._severity = ""
        self._is_library = False
        self._foreign: str | None = None
        self._broken = ""

    def read(self) -> BuildTrace:
        batch: list[str] = []
        rows: list[str] = []
        number = 0
        known = {
            **dict.fromkeys((f"{end}Tactic" for end in _PREFIX_ENDS), batch),
            **dict.fromkeys((f"{end} (fore" for end in _PREFIX_ENDS), rows),
        }.get
        for lines in read_lines(self.path, self.state):
            for line in lines:
                number += 1
                kind = known(line[PREFIX - KEY : PREFIX + KEY])
                if kind is not None and (kind is batch or MYELIN_ROW.match(line, PREFIX)):
                    kind.append(line[PREFIX:])
                    continue
                if batch or rows:
                    self._flush(number - 1, batch, rows)
                self.number = number
                self._line(line)
            if len(batch) + len(rows) > _LONGEST_BATCH:
                self._flush(number, batch, rows)
        self._flush(number, batch, rows)
        self.number = number
        self._settle()
        return self._finished()

    def _flush(self, number: int, batch: list[str], rows: list[str]) -> None:
        """Hand over tactics and rows of Myelin tables, which never stand between each other."""
        if batch:
            self.parser.tuner.timed(number, batch)
            batch.clear()
        if rows:
            self.parser.tuner.myelin_rows(number, rows)
            rows.clear()

    # --- one line -------------------------------------------------------------------------------------------------

    def _line(self, line: str) -> None:
        if line[:PREFIX] == self._prefix and not self._broken and _STAMP_INSIDE not in line[PREFIX:]:
            self.parser.message(self.number, self._severity, line[PREFIX:], is_library=self._is_library)
            return
        if not self._broken and (line.startswith("&&&& ") or not line):
            self._bare(line)
            return
        self._unusual(line)

    def _unusual(self, line: str) -> None:
        """A line whose prefix is another than that of the line before, or that has none, or two."""
        found = take_apart(line)
        if not found.severity:
            self._without_prefix(line)
            return
        if found.before and self._is_foreign(found.before):
            found = found._replace(before="")
        if found.before:
            # Two streams in one line: what stands before belongs to a line that goes on further down.
            self._settle()
            self._broken = found.before
        elif self._broken:
            self._settle()
        if found.stamp is not None:
            self._at(found.stamp)
        message = found.message
        if _STAMP_INSIDE in message:
            message = self._cut(message)
        if not found.before and line[PREFIX:] == found.message:
            self._prefix, self._severity, self._is_library = (
                line[:PREFIX],
                found.severity,
                found.is_library,
            )
        self._message(found.severity, message, is_library=found.is_library)

    def _cut(self, message: str) -> str:
        """Cut a message off where the prefix of another begins, and read that one first."""
        inner = take_apart(message)
        if not inner.severity or inner.stamp is None or not inner.before:
            return message
        self._message(inner.severity, inner.message, is_library=inner.is_library)
        return inner.before

    def _message(self, severity: str, message: str, *, is_library: bool) -> None:
        if is_library and message.startswith("Tactic"):
            self.parser.tuner.timed(self.number, [message])
        elif is_library and MYELIN_ROW.match(message):
            self.parser.tuner.myelin_rows(self.number, [message])
        else:
            self.parser.message(self.number, severity, message, is_library=is_library)

    def _without_prefix(self, line: str) -> None:
        if self._foreign:
            match = pattern_of(self._foreign).match(line)
            line = line[match.end() :] if match else line
        elif self._foreign is None and (place := line.find("&&&& ")) > 0:
            self._foreign = line[:place]
            line = line[place:]
        if self._broken and line and not line.startswith("&&&& "):
            joined, self._broken = self._broken + line, ""
            self._unusual(joined)
            return
        self._settle()
        self._bare(line)

    def _bare(self, line: str) -> None:
        if line.startswith("&&&& "):
            self.parser.banner(self.number, line)
        else:
            self.parser.bare(self.number, line)

    def _settle(self) -> None:
        """The rest of a broken line has not come."""
        line, self._broken = self._broken, ""
        if line:
            found = take_apart(line)
            if found.severity:
                self._message(found.severity, found.message, is_library=found.is_library)
            else:
                self._bare(line)

    def _is_foreign(self, before: str) -> bool:
        """Whether what stands before a time stamp is a prefix of docker's or journald's kind: the same on every line."""
        if self._foreign is None:
            self._foreign = before if len(before) <= 200 and not self._prefix else ""
        return bool(self._foreign) and pattern_of(self._foreign).fullmatch(before) is not None

    def _at(self, stamp: int) -> None:
        if stamp == self._last_stamp:
            return
        if self._first_stamp is None:
            self._first_stamp = stamp
        self._last_stamp = stamp
        self.parser.at(float(stamp - self._first_stamp))

    # --- the end --------------------------------------------------------------------------------------------------

    def _finished(self) -> BuildTrace:
        parser = self.parser
        parser.tuner.end()
        parser.optimizer.finish(self.number)
        tuner, optimizer, resources, results = (
            parser.tuner,
            parser.optimizer,
            parser.resources,
            parser.results,
        )
        runs = parser.sections.runs
        decoded = [run.tensorrt_version for run in runs if run.tensorrt_version]
        trace = BuildTrace(
            path=self.path,
            lines=self.number,
            runs=tuple(runs),
            tensorrt_version=parser.sections.version or (decoded[-1] if decoded else None),
            stated_seconds=self._stated_seconds(),
            options=parser.sections.options,
            onnx=parser.sections.onnx,
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
            context_bytes=resources.context_bytes,
            engine_bytes=resources.engine_bytes,
            cache=replace(resources.cache, cached_results=tuner.cached_results),
            dla=resources.dla,
            messages=parser.messages.finished(),
            dumps=parser.dumps.finished(),
            performance=results.performance,
            trace=results.trace,
            profile=results.profile,
            network_inputs=tuple(parser.sections.inputs),
            network_outputs=tuple(parser.sections.outputs),
            bindings=tuple(results.bindings),
            diagnostics=self._diagnostics(),
        )
        winner = trace.winner
        names = [name for strategy, name in parser.non_conforming if strategy in (winner, None)]
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
            note(Severity.ERROR, f"{state.damage}; {plural(self.number, 'line')} before were read")
        elif state.cut_off:
            note(
                Severity.WARNING,
                "is cut off in the middle of a line, which was left out",
                f"line {self.number + 1}",
            )
        runs = self.parser.sections.runs
        if runs and runs[-1].status is None:
            note(Severity.WARNING, "ends before trtexec does: there is no PASSED or FAILED at its end")
        if state.shortened:
            what = plural(state.shortened, "line")
            note(Severity.WARNING, f"has {what} of more than {LONGEST_LINE} characters, which were cut there")
        if self.parser.builds > 1:
            note(Severity.INFO, f"tells of {self.parser.builds} builds; the last one is shown")
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
