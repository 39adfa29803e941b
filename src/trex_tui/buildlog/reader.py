"""Read a log as a stream: each line to its run, each message to its collector, and all of it to a `BuildTrace`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from trex_tui.artifacts.kinds import MESSAGE
from trex_tui.artifacts.open import COPY_AGAIN, gc_paused
from trex_tui.buildlog.command import find_requests, options_of_command
from trex_tui.buildlog.layer_lists import with_kernel_names
from trex_tui.buildlog.lines import (
    STAMP_INSIDE,
    Prefix,
    ReadState,
    find_stated_version,
    parse_prefix,
    read_lines,
    split_mixed,
    version_of_library,
)
from trex_tui.buildlog.messages import FIGURE, KEY, Messages, table_of
from trex_tui.buildlog.spans import Runs, Span, Spans, Stage
from trex_tui.buildlog.tactics import Handler
from trex_tui.buildlog.trace import BuildTrace, LayerList, StatedOptions
from trex_tui.errors import ArtifactError, Note, Severity
from trex_tui.text import plural

_known: dict[tuple[Path, int | None, int, int], BuildTrace] = {}
"""The last traces, so that a command reads a log once."""
_MOST_KNOWN = 6


def read_log(path: Path, run: int | None = None, progress: Callable[[int], None] | None = None) -> BuildTrace:
    """Read a log of a build or a run, of any producer, compressed or not, complete or truncated.

    Unreadable parts are skipped and reported in `notes`. Memory depends on the content of the log, not on its length. The
    last few traces are kept.

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
        key = (path, run, -1, 0)
    if key in _known and path.is_file():
        return _known[key]
    with gc_paused():
        trace = _Reader(path, run).read(progress)
    while len(_known) >= _MOST_KNOWN:
        _known.pop(next(iter(_known)), None)
    _known[key] = trace
    return trace


_STAMP = len("[MM/DD/YYYY-HH:MM:SS] ")
_PREFIX = _STAMP + len("[V] [TRT] ")
"""Length of the prefix of the library's messages, from trtexec and from Python."""
_SILENT = "Regist|Search|Import|Plugin|Parsin|Static|Using |Block |Kernel|    In|    Ou|      "
"""Beginnings of frequent verbose messages of parsers and registries that contain nothing of use."""
_NO_VALID = " has no valid tactics for this config"
_BLOCKS = {"Performance summary": "summary", "Trace details": "trace"}
_TABLE_HEAD = re.compile(r"(?=.*\bLayer\b)(?:Layer)?\s*Time ?\(ms\)\s+Avg\. ?(?:Time )?\(ms\)")
_ADVICE = re.compile(
    r"\* (?:GPU compute time is unstable|Throughput may be bound)|  (?:If not already in use|Add --)"
)
"""Sentences after a summary; an item of a list in a document begins like them."""
_CRASH = re.compile(
    r"Cuda failure|terminate called|Segmentation fault|Illegal instruction|Aborted\b|\S+: error while loading shared "
    r"|\S*NvRmMemInitNvmap failed|NvMapMemAllocInternalTagged: "
)
"""What a program prints without a prefix when it ends."""
_NO_DEVICE = ("Cannot find device ID ", "Cannot find any available devices")
"""What trtexec 10 prints as information before it exits."""
_COMMAND = re.compile(r"(?:\$ )?((?:\S*/)?(?:trtexec|tensorrt_rtx)(?:\.exe)? .*--?[a-zA-Z].*)")
"""A pasted command line."""
_LONGEST_WARNING = 4000


def _pass(_line: int, _message: str) -> None:
    """Read a message that contains nothing of use."""


class _Reader:
    """Reads one log once."""

    def __init__(self, path: Path, wanted: int | None) -> None:
        self._path = path
        self._wanted = wanted
        self._state = ReadState()
        self._runs = Runs()
        self._spans = Spans(wanted)
        self._messages = Messages()
        self._lost = 0
        self._incomplete: dict[str, int] = {}
        self._half = ""
        self._library: tuple[str, str] | None = None
        self._builds = 0
        self._block = ""
        self._is_pasted = self._is_bare = False
        self._number = 0
        self._now: int | None = None
        self._first_stamp: int | None = None
        self._last_stamp: int | None = None
        self._at_s: float | None = None
        self._frequent: dict[str, Prefix] = {}
        self._heads: dict[str, Handler] = {}
        self._enter(Span())

    def read(self, progress: Callable[[int], None] | None) -> BuildTrace:
        number = 0
        for lines in read_lines(self._path, self._state):
            for line in lines:
                number += 1
                self._number = number
                # Most lines of a verbose log are the library's, of the same second, and whole.
                known = self._frequent.get(line[:_PREFIX])
                if known is None or self._half or line.find(STAMP_INSIDE, _PREFIX) >= 0:
                    self._line(line)
                    continue
                if known.stamp != self._now:
                    self._at(known.stamp)
                message = line[_PREFIX:]
                if known.severity != "V" or self._span.lists.is_open or self._is_pasted:
                    self._message(known.severity, message, is_library=True)
                elif (handler := self._heads.get(message[:KEY])) is not None:
                    handler(number, message)
                else:
                    self._other(number, message)
            if progress is not None:
                progress(self._state.read_bytes)
        self._lost += bool(self._half)
        self._spans.add(self._span, number)
        return self._finished()

    def _line(self, line: str) -> None:
        if self._is_bare and not self._span.lists.is_open:  # a log without any prefix
            handler = self._heads.get(line[:KEY])
            if handler is not None:
                handler(self._number, line)
                return
        if not line and not self._half:
            self._on_bare(line)
            return
        prefix = parse_prefix(line)
        if self._half and (prefix.stamp is None or prefix.before) and not line.startswith(("&&&& ", "  ")):
            line, self._half = self._half + line, ""  # the rest of a line that a warning has split
            prefix = parse_prefix(line)
        if prefix.stamp is not None and (prefix.before or STAMP_INSIDE in prefix.message):
            prefixes, self._half = split_mixed(line)
            for prefix in prefixes:
                self._on_message(prefix)
            return
        if not prefix.severity:
            self._on_bare(line)
            return
        if self._half and prefix.severity not in "WEF":
            self._lost += 1
            self._half = ""
        if prefix.is_library and line[3:4] == "/" and len(prefix.message) == len(line) - _PREFIX:
            self._frequent[line[:_PREFIX]] = parse_prefix(line[:_PREFIX])
        self._on_message(prefix)

    # --- spans ------------------------------------------------------------------------------------------------------------

    def _enter(self, span: Span) -> None:
        self._span = span
        span.lists.incomplete = self._incomplete
        self._set_time()
        tuner, passes, resources, results = span.tuner, span.passes, span.resources, span.results
        own = table_of(
            ("Origin", self._original),
            ("Buildi", self._building),
            ("Constr", self._constructing),
            ("Use ba|Chose |Skip b", self._judging),
            ("For la", self._non_conforming),
            ("[MemUs", self._usage),
            ("Local |Global", self._cache_in_use),
            ("[MS] M|[MS] N", self._about_streams),
            ("------", self._ruled),
            ("Adding", self._adding),
            ("Input ", self._input),
            ("Create|Loaded", self._sized),
            ("Start ", self._starting),
            ("Engine", self._engine),
            ("Finish|Graph |Format|Calibr|Subgra|Timing", self._phase),
            ("Trying", lambda _, message: self._name_library(message)),
            ("Layer(|Layers", self._listed),
            (_SILENT, _pass),
        )
        self._heads = tuner.heads | span.options.heads | passes.heads | resources.heads | span.devices.heads
        self._heads |= results.heads | own

    def _begin_span(self, command: str = "") -> None:
        """Begin another run: the one whose banner was read, or that of a pasted command line."""
        self._spans.add(self._span, self._number)
        is_run = self._runs.is_open
        index, command = (len(self._runs.all) - 1, self._runs.all[-1].command) if is_run else (None, command)
        self._enter(Span(index, command))

    def _reach(self, stage: Stage) -> None:
        span = self._span
        if not span.builds:
            self._builds += stage >= Stage.UNDER_WAY
        span.stage = max(span.stage, stage)

    def _begins(self, stage: Stage, *, behind: Stage) -> None:
        """Handle a library message that starts a build: a new one if the last is beyond `behind`. A run of trtexec has only
        one build.
        """
        if self._span.stage > behind and not self._runs.is_open:
            before = self._span.options
            self._begin_span()
            self._span.options.onnx, self._span.options.tensors = dict(before.onnx), list(before.tensors)
            self._span.options.version = before.version
        self._reach(stage)

    # --- lines ------------------------------------------------------------------------------------------------------------

    def _at(self, stamp: int | None) -> None:
        """Set the current time. Streams that are flushed later may have earlier time stamps."""
        if stamp is None or stamp == self._now:
            return
        self._now = stamp
        self._first_stamp = stamp if self._first_stamp is None else min(stamp, self._first_stamp)
        self._last_stamp = stamp if self._last_stamp is None else max(stamp, self._last_stamp)
        self._at_s = float(stamp - self._first_stamp)
        self._set_time()

    def _set_time(self) -> None:
        span = self._span
        span.tuner.at_s = span.passes.at_s = span.resources.at_s = self._at_s

    def _on_message(self, prefix: Prefix) -> None:
        self._at(prefix.stamp)
        self._message(prefix.severity, prefix.message, is_library=prefix.is_library)

    def _on_bare(self, text: str) -> None:
        """Read a line without a prefix: a banner, a line of a list, a pasted result, or the rest of a message."""
        line, span = self._number, self._span
        if (
            text.startswith(("  ", "> "))
            and ", LayerType: " in text
            and text.lstrip(" >").startswith("Name: ")
        ):
            text = text.lstrip(" >")  # a layer in a list or a quotation of a document
        if text.startswith("&&&& "):
            self._banner(text)
        elif _CRASH.match(text):
            self._messages.add(line, "E", text, is_trtexec=True)
        elif span.lists.ends_quoted(line, text):
            return
        elif span.lists.is_open or span.lists.goes_on(text):
            span.lists.line(line, text)
        elif not text or self._read_pasted(text):
            return
        elif not self._runs.is_open and (match := _COMMAND.match(text)):
            self._begin_span(match[1])
        elif span.lists.begins(line, text) or span.options.export(line, text):
            self._messages.end()
        elif self._is_bare or MESSAGE.match(text):
            self._messages.end()
            self._message("V", text, is_library=True)
            self._is_bare = True
        else:
            self._messages.more(line, text)

    def _banner(self, text: str) -> None:
        self._span.lists.close()
        self._span.options.close()
        self._block, self._is_pasted = "", False
        known = len(self._runs.all)
        if self._runs.banner(self._number, text):
            self._begin_span()
        elif len(self._runs.all) > known and self._span.run is None:
            self._span.run = known  # its first banner is missing
            self._span.command = self._runs.all[known].command

    def _read_pasted(self, text: str) -> bool:
        """Read a line of a summary or a profile whose prefixes were removed; False if it belongs to neither."""
        is_head = text.startswith(
            ("=== Performance summary", "=== Performance Summary", "=== Profile (", "=== Trace details")
        ) or (_TABLE_HEAD.match(text.strip()) is not None)
        self._is_pasted = is_head or self._is_pasted
        if self._span.results.figure_goes_on(text):
            return True
        if is_head or FIGURE.match(text) or text.startswith("Average on "):
            self._messages.end()
            if not self._trtexec("I", text.strip() if not is_head else text):
                self._span.results.averaged(self._number, text)
            return True
        if self._is_pasted and self._block == "summary" and _ADVICE.match(text):
            self._trtexec("W", text)
            self._messages.add(self._number, "W", text, is_trtexec=True)
            return True
        if self._is_pasted and self._block == "profile":
            return not text.strip() or self._trtexec("I", text)
        return False

    def _message(self, severity: str, message: str, *, is_library: bool) -> None:
        line, lists = self._number, self._span.lists
        self._is_pasted = self._is_bare = False
        severity = "E" if message.startswith(_NO_DEVICE) else severity
        if lists.is_open and severity not in "WEF" and not message.startswith("Layer("):
            lists.interrupt()
        if not is_library and self._trtexec(severity, message):
            return
        if severity in "WEF" and self._complaint(severity, message, is_trtexec=not is_library):
            return
        handler = self._heads.get(message[:KEY])
        if handler is not None:
            handler(line, message)
        else:
            self._other(line, message)

    def _complaint(self, severity: str, message: str, *, is_trtexec: bool) -> bool:
        """Count a warning or an error; True if no other handler needs it."""
        line = self._number
        self._messages.add(line, severity, message, is_trtexec=is_trtexec)
        if "utomatically " in message:
            self._span.options.chose_shape(message)
        if "DLA" in message:
            self._span.devices.complain(line, message)
        if "nvinfer" in message:
            self._name_library(message)
        if "insufficient" in message or "requested size" in message:
            self._span.tuner.insufficient(line, message[:_LONGEST_WARNING])
            return True
        return False

    def _name_library(self, message: str) -> None:
        """Parse a message that names a library of TensorRT; the most precise version wins."""
        known = version_of_library(message)
        if known is not None and (self._library is None or known[0].count(".") > self._library[0].count(".")):
            self._library = known

    # --- blocks of trtexec ------------------------------------------------------------------------------------------------

    def _trtexec(self, severity: str, message: str) -> bool:
        """Parse sections, tables and figures of trtexec; False if the message belongs to none of them."""
        if message.startswith("=== "):
            self._heading(message.strip("= "))
            return True
        if self._span.options.is_open:
            if severity == "I":
                self._span.options.option(message)
            return severity == "I"
        if self._block == "profile":
            if self._span.results.profiled(message):
                return severity == "I"
            self._block = ""
            return False
        if severity == "I":
            return self._figure(message)
        if self._block == "summary":
            self._span.results.advice(message)
        return False

    def _figure(self, message: str) -> bool:
        """Parse a figure of the summary or the head of a table, whose heading may be missing; False if it is neither."""
        if match := FIGURE.match(message):
            if self._block != "summary" and self._span.results.has_figure(match["label"]):
                self._begin_span()  # of another run, whose banner is missing too
            self._span.results.figure(self._number, match["label"], match["value"])
            return True
        if _TABLE_HEAD.match(message.strip()):
            self._begin_block("profile", "")
            return self._span.results.profiled(message)
        return self._span.results.old_figure(self._number, message)

    def _heading(self, heading: str) -> None:
        if self._span.options.has(heading):
            self._begin_span()  # trtexec prints each once: the banner of another run is missing
        if self._span.options.begin(heading):
            self._block = ""
        else:
            block = (
                "profile"
                if heading.startswith("Profile (")
                else _BLOCKS.get(heading.partition(" (")[0].capitalize(), "")
            )
            self._begin_block(block, heading)

    def _begin_block(self, block: str, heading: str) -> None:
        if self._span.results.holds(block):
            self._begin_span()  # likewise: notes with the results of several runs
        self._block = block
        if block == "profile":
            self._span.results.begin_profile(self._number, heading)
        elif block == "summary":
            self._span.results.begin_summary(self._number)

    # --- messages that concern more than one collector ---------------------------------------------------------------------

    def _other(self, line: int, message: str) -> None:
        """Read a message that begins with the name of a layer, or with nothing known."""
        span = self._span
        if ") profiling completed in " in message:
            span.tuner.fastest(line, message)
        elif "Set Tactic Name: " in message:
            span.tuner.set_name(message)
        elif ": Fusing " in message:
            span.passes.fusing(line, message)
        elif "] got cached result: " in message:
            span.tuner.cached(line, message)
        elif _NO_VALID in message:
            span.tuner.no_valid_tactic(line, message.partition(_NO_VALID)[0])

    def _ruled(self, line: int, message: str) -> None:
        """Parse a message that begins with a horizontal rule."""
        if not self._span.devices.begin_list(message):
            self._span.tuner.runner(line, message)

    def _adding(self, line: int, message: str) -> None:
        if message.startswith("Adding reformat layer"):
            self._span.tuner.adding(line, message)
        else:
            if message.startswith("Adding network input: "):
                self._begins(Stage.BEGUN, behind=Stage.BEGUN)
            self._span.options.binding(line, message)

    def _building(self, line: int, message: str) -> None:
        if message.startswith("Building engine with configuration"):  # Polygraphy
            self._begins(Stage.UNDER_WAY, behind=Stage.UNDER_WAY)
        elif message.startswith("Building graph"):
            self._reach(Stage.UNDER_WAY)
            self._span.tuner.end()
            number = self._span.passes.begin_strategy(line, message)
            if number is not None:
                self._span.tuner.strategy = self._span.resources.strategy = number

    def _constructing(self, _line: int, message: str) -> None:
        _, separator, rest = message.partition("Constructing optimization profile number ")
        number = rest.partition(" ")[0]
        if separator and number.isdecimal() and len(number) < 6:
            self._span.tuner.end()
            self._span.tuner.profile = int(number)

    def _judging(self, line: int, message: str) -> None:
        self._span.tuner.end()
        self._span.passes.judged(line, message)
        self._span.resources.strategy = None  # what follows is of the engine that is kept

    def _non_conforming(self, _line: int, message: str) -> None:
        layer, separator, _ = message[len("For layer ") :].partition(
            " a non-conforming implementation was chosen"
        )
        if separator:
            self._span.non_conforming.append((self._span.tuner.strategy, layer))

    def _about_streams(self, line: int, message: str) -> None:
        if " completed in " in message:
            self._phase(line, message)
        else:
            self._span.resources.about_streams(message)

    def _input(self, line: int, message: str) -> None:
        if message.startswith("Input filename"):
            self._begins(Stage.BEGUN, behind=Stage.BEGUN)
            self._span.options.header(line, message)
        else:
            self._span.results.bound(line, message)

    def _starting(self, _line: int, message: str) -> None:
        if message.startswith("Start parsing network model"):
            if self._span.stage > Stage.BEGUN:
                self._begin_span()
            self._reach(Stage.BEGUN)

    def _original(self, line: int, message: str) -> None:
        if message.startswith("Original: "):
            # Calibration builds its own engine first.
            self._begins(Stage.UNDER_WAY, behind=Stage.UNDER_WAY)
        self._span.passes.counted(line, message)

    def _usage(self, line: int, message: str) -> None:
        if " Init builder kernel library: " in message:
            self._begins(Stage.BEGUN, behind=Stage.BEGUN)
        elif " allocation in building engine: " in message:
            self._reach(Stage.OVER)
        self._span.resources.usage(line, message)

    def _cache_in_use(self, line: int, message: str) -> None:
        if " timing cache in use" in message:
            self._reach(Stage.UNDER_WAY)
        self._span.resources.about_cache(line, message)

    def _engine(self, line: int, message: str) -> None:
        if message.startswith("Engine Layer Information"):
            self._span.tuner.end()
            self._span.lists.begin(line, "builder")
        else:
            self._phase(line, message)

    def _listed(self, line: int, message: str) -> None:
        lists = self._span.lists
        if message.startswith("Layers:"):
            lists.begin(line, "inspector")
        elif message.startswith("Layer("):
            if not lists.is_open and not lists.goes_on(message):
                lists.begin(line, "builder")
            lists.line(line, message)

    def _sized(self, line: int, message: str) -> None:
        if "timing cache" in message:
            self._span.resources.about_cache(line, message)
        elif " binding for " in message:
            self._span.results.bound(line, message)
        elif " library " in message:
            self._name_library(message)
        elif version := find_stated_version(message):
            self._span.options.version = version
        else:
            self._span.resources.size(message)

    def _phase(self, line: int, message: str) -> None:
        self._span.passes.phase(line, message, self._span.tuner.layer_name)
        if message.startswith(("Formats and tactics", "Engine generation")):
            self._span.tuner.end()
            self._reach(Stage.UNDER_WAY if message.startswith("Formats") else Stage.OVER)
        elif message.startswith(("Engine built in", "Finished engine building")):
            self._reach(Stage.OVER)
        elif message.startswith("Calibration completed"):
            self._span.stage = min(self._span.stage, Stage.UNDER_WAY)  # its own engine is not the build's

    # --- the end ----------------------------------------------------------------------------------------------------------

    def _finished(self) -> BuildTrace:
        spans = self._spans
        self._check_run(len(spans.measured))
        shown, timed = spans.shown or self._span, spans.timed or self._span
        tuner, passes, resources = shown.tuner, shown.passes, shown.resources
        runs = tuple(self._runs.all)
        built_by, timed_by = (None if span.run is None else runs[span.run] for span in (shown, timed))
        decoded = [run.tensorrt_version for run in (built_by, *reversed(runs)) if run is not None]
        version = shown.options.version or next(filter(None, decoded), None)
        library = None if version else self._library
        lists: dict[str, LayerList] = {}
        for span in spans.kept:
            lists |= {found.form: found for found in span.layer_lists}
        options = _complete(shown.options.stated(), shown.command, version)
        trace = BuildTrace(
            path=self._path,
            lines=self._number,
            runs=runs,
            shown_run=built_by,
            timed_run=timed_by,
            tensorrt_version=library[0] if library else version,
            tensorrt_library=library[1] if library else None,
            stated_seconds=self._stated_seconds(),
            began_s=self._first_stamp,
            options=options,
            run_options=_complete(timed.options.stated(), timed.command, version),
            has_printed_options=shown.options.is_stated,
            requests=find_requests(options, shown.command),
            onnx=shown.options.onnx,
            phases=tuple(passes.phases),
            passes=tuple(passes.passes),
            strategies=tuple(passes.strategies),
            tunings=tuple(tuner.tunings),
            skipped=tuple(tuner.skipped),
            kernel_names=tuner.kernel_names,
            reformat_costs=tuple(tuner.costs),
            reformats=tuner.reformats(),
            memory=tuple(resources.points),
            memory_totals=tuple(resources.totals.values()),
            context=spans.last(lambda span: span.resources.context, own=True) or resources.context,
            engine_bytes=spans.last(lambda span: span.resources.engine_bytes, own=True),
            engine_mib=spans.last(lambda span: span.resources.engine_mib, own=True),
            cache=resources.cache._replace(cached_results=tuner.cached_results),
            dla=shown.devices.finished(),
            workspace_shortage=resources.workspace_shortage,
            messages=self._messages.finished(),
            layer_lists=tuple(
                with_kernel_names(lists[form], tuner.kernel_names)
                for form in ("names", "builder", "inspector")
                if form in lists
            ),
            performance=spans.timed_last(lambda span: span.results.performance),
            averages=spans.timed_last(lambda span: tuple(span.results.averages)) or (),
            omitted_queries=spans.timed_last(lambda span: span.results.omitted) or 0,
            queries=spans.timed_last(lambda span: span.passes.queries),
            profile=spans.timed_last(lambda span: span.results.profile),
            measured=tuple(
                run._replace(run=None if index is None else runs[index], is_shown=run.number == timed.number)
                for index, run in spans.measured
            ),
            chosen_shapes=tuple(timed.options.chosen_shapes),
            network_tensors=tuple(shown.options.tensors),
            bindings=spans.last(lambda span: tuple(span.results.bindings)) or (),
            notes=tuple(self._notes()),
        )
        winner = trace.winner
        names = [name for strategy, name in shown.non_conforming if strategy in (winner, None)]
        return replace(trace, streams=resources.streams(winner), non_conforming=tuple(dict.fromkeys(names)))

    def _check_run(self, count: int) -> None:
        if self._wanted is not None and not 1 <= self._wanted <= count:
            known = f"holds runs 1 to {count}" if count > 1 else f"holds {plural(count, 'measured run')}"
            raise ArtifactError(self._path, f"no run {self._wanted}; the log {known}")

    def _stated_seconds(self) -> float | None:
        if self._first_stamp is None or self._last_stamp is None:
            return None
        return float(max(self._last_stamp - self._first_stamp, 0))

    def _notes(self) -> Iterable[Note]:
        def note(severity: Severity, message: str, where: str = "") -> Note:
            return Note(severity, self._path, where, message)

        state, stage = self._state, self._span.stage
        if state.damage:
            yield note(Severity.ERROR, f"{state.damage}; the {self._number} lines before were read")
        elif state.cut_off:
            # A pasted part may lack the end of its last line; a program that was running has not written it.
            is_cut = self._runs.is_open or Stage.NOTHING < stage < Stage.OVER
            severity = Severity.ERROR if is_cut else Severity.WARNING
            message = "is cut off in the middle of a line, which was left out"
            yield note(severity, message, f"line {self._number + 1}")
        if self._runs.is_open:
            ended = note(
                Severity.WARNING, "ends before trtexec does: there is no PASSED or FAILED at its end"
            )
            yield ended._replace(is_incomplete=True)
        if state.replaced:
            message = f"has bytes that are not UTF-8, read as U+FFFD ({state.replaced}); {COPY_AGAIN}"
            place = f"line {state.replaced_line}"
            yield note(Severity.WARNING, message, place)._replace(is_incomplete=True)
        if self._lost:
            message = f"has lines whose second half is missing ({self._lost}), which were left out"
            yield note(Severity.WARNING, message)
        for message, line in self._incomplete.items():
            yield note(Severity.WARNING, message, f"line {line}")._replace(is_incomplete=True)
        if self._builds > 1:
            which = "the last one" if self._wanted is None else f"the one of run {self._wanted}"
            yield note(Severity.INFO, f"holds {self._builds} builds; {which} is shown")
        if self._spans.left_out is not None:
            line, why = self._spans.left_out
            yield note(Severity.INFO, f"{why}: what was measured there is left out", f"line {line}")


def _complete(printed: StatedOptions, command: str, version: str | None) -> StatedOptions:
    """Return the printed options; of a run that printed no section, those of its command line."""
    if not command or printed.build or printed.model or printed.inference:
        return printed
    major = (version or "").partition(".")[0]
    given = options_of_command(command, int(major) if major.isdecimal() else None)
    return replace(given, device=printed.device)
