"""Dispatch each message to its collector, by its first six characters or by words in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from trex_tui.buildlog.banner import version_of_library
from trex_tui.buildlog.spans import Runs, Span, Spans, Stage
from trex_tui.buildlog.trace import Message
from trex_tui.buildlog.tuner import Tuner

MOST_GROUPS = 2000
"""Maximum number of groups of messages; later ones are counted as one group."""
LONGEST_TEXT = 4000

_VARYING = re.compile(r"0x[0-9a-fA-F]+|'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ABOUT_LAYER = re.compile(
    r"(?<=\b[Ll]ayer )\S.*?(?= (?:is|a|on|exceeds|has)\b)|(?<=for layer ).*|(?<=for tensor ).*?(?=, |$)"
    r"|(?<=with inputs ).*?(?=: )|(?<=[Tt]ensor )\S+(?= is uniformly)|^\S+(?=: )|(?<=- )\S+(?= weights)"
)
_FOREIGN = re.compile(
    r"Traceback \(most recent call last\)|=== \w|  --\w|\w+: (?=input |output |building |export )"
)
"""Beginnings of lines of other programs after a message: Python, trtexec's help, Ultralytics."""
_PASTED = re.compile(r"=== (?:Performance summary ===|Profile \(\d+ iterations ?\) ===)")
_FIGURE = re.compile(
    r"\s*(?:Throughput|(?:End-to-End Host |H2D |D2H )?Latency|Enqueue Time|(?:Total )?GPU Compute Time|Total Host Walltime): "
)
_REST = "further messages of other kinds"


@dataclass(slots=True)
class _Group:
    severity: str
    text: str
    count: int
    line: int
    last_line: int
    is_trtexec: bool


class Messages:
    """Collects messages of severity W, E and F."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}
        self._last: _Group | None = None

    def add(self, line: int, severity: str, message: str, *, is_trtexec: bool) -> None:
        text = message.strip()
        if not text:
            return
        if message.startswith("  ") and self._last is not None and self._last.severity == severity:
            self.more(line, text)  # trtexec indents the second half of its advice
            return
        key = (severity, _VARYING.sub("#", _ABOUT_LAYER.sub("#", text[:LONGEST_TEXT])))
        group = self._groups.get(key)
        if group is None and len(self._groups) >= MOST_GROUPS:
            key = (severity, "")
            text = _REST
            group = self._groups.get(key)
        if group is None:
            group = _Group(severity, text[:LONGEST_TEXT], 0, line, line, is_trtexec)
            self._groups[key] = group
        group.count += 1
        group.last_line = line
        self._last = group if group.count == 1 else None

    def more(self, line: int, text: str) -> None:
        """Append a line without a prefix to the previous message, if that is the first of its group.

        The rest of a message ends where another program's output begins.
        """
        if _FOREIGN.match(text):
            self._last = None
        last = self._last
        if last is not None and line == last.last_line + 1:
            last.last_line = line
            if (rest := text.strip()) and len(last.text) < LONGEST_TEXT:
                last.text = f"{last.text} {rest}"[:LONGEST_TEXT]

    def finished(self) -> tuple[Message, ...]:
        return tuple(
            Message(group.severity, group.text, group.count, group.line, group.last_line, group.is_trtexec)
            for group in self._groups.values()
        )


KEY = 6
_NO_VALID = " has no valid tactics for this config"
SILENT = [
    "Regist",
    "Search",
    "Import",
    "Plugin",
    "Parsin",
    "Static",
    "Using ",
    "Block ",
    "Kernel",
    "    In",
    "    Ou",
    "      ",
]
"""Beginnings of frequent verbose messages of parsers and registries that contain nothing of use."""
_LONGEST_WARNING = 4000
_BLOCK_HEADS = {
    "Performance summary": "summary",
    "Explanations of the performance metrics": "explanations",
    "Trace details": "trace",
}

Handler = Callable[[int, str], None]


class MessageParser:
    """Parses messages and stores their content.

    Args:
        make_tuner: Creates the collector of tuning messages for each span.
        wanted: As for `Spans`.

    Attributes:
        spans: The finished spans.
        library: TensorRT version in the name of a library, and that name; None if no message has one.
        builds: Number of builds that went beyond reading a network.
        handlers: First six characters of a message -> handler; these and `tuner` change with each span.
    """

    def __init__(self, make_tuner: Callable[[], Tuner] = Tuner, wanted: int | None = None) -> None:
        self._make_tuner = make_tuner
        self.runs = Runs()
        self.messages = Messages()
        self.spans = Spans(wanted)
        self.library: tuple[str, str] | None = None
        self.builds = 0
        self._block = ""
        self._pasted = False
        self._at_s: float | None = None
        self._enter(Span(make_tuner()))

    def _enter(self, span: Span) -> None:
        self._span = span
        self.tuner, self.optimizer, self.resources = span.tuner, span.optimizer, span.resources
        self.sections, self.results, self.dumps = span.sections, span.results, span.dumps
        self.at(self._at_s)
        self.handlers = self._table()

    def _begin_span(self, line: int) -> None:
        self.spans.add(self._span, line)
        is_run = self.runs.is_open
        index, command = (len(self.runs.all) - 1, self.runs.all[-1].command) if is_run else (None, "")
        self._enter(Span(self._make_tuner(), index, command))

    def finish(self, line: int) -> tuple[Span, Span]:
        """Finish the log; return the spans of the build and of the run that describe it, which may be the same."""
        self.dumps.close()
        self.spans.add(self._span, line)
        return self.spans.shown or self._span, self.spans.timed or self._span

    def at(self, seconds: float | None) -> None:
        """Set the current time; None if the log has no time stamps."""
        self._at_s = seconds
        self.tuner.at_s = self.optimizer.at_s = self.resources.at_s = seconds

    # --- builds ---------------------------------------------------------------------------------------------------

    def _reach(self, stage: Stage) -> None:
        span = self._span
        if not span.builds:
            self.builds += stage >= Stage.UNDER_WAY
        span.stage = max(span.stage, stage)

    def _begins(self, line: int, stage: Stage, *, behind: Stage) -> None:
        """Handle a library message that starts a build: a new one if the last is beyond `behind`. A run of trtexec has only
        one build.
        """
        if self._span.stage > behind and not self.runs.is_open:
            before = self.sections
            self._begin_span(line)
            self.sections.take_model(before)
        self._reach(stage)

    # --- lines ----------------------------------------------------------------------------------------------------

    def banner(self, line: int, text: str) -> None:
        self.dumps.close()
        self.sections.close()
        self._block = ""
        known = len(self.runs.all)
        if self.runs.banner(line, text):
            self._begin_span(line)
        elif len(self.runs.all) > known and self._span.run is None:
            self._span.run = known  # its first banner is missing

    def bare(self, line: int, text: str) -> None:
        if _PASTED.match(text):
            self.dumps.close()
            self._pasted = True
        if self._pasted:
            self._pasted = not text.strip() or self._read_pasted(line, text)
            if self._pasted:
                return
        if self.dumps.is_open or self.dumps.goes_on(text):
            self.dumps.line(line, text)
        elif not self.dumps.begins(line, text):
            self.sections.export(line, text)
            self.messages.more(line, text)

    def _read_pasted(self, line: int, text: str) -> bool:
        """Read a line of a summary or a profile whose prefixes were removed; False if it belongs to neither."""
        if _PASTED.match(text):
            return self._trtexec(line, "I", text)
        if self._block == "summary" and _FIGURE.match(text):
            self._trtexec(line, "I", text.strip())
            return True
        return self._block == "profile" and self._trtexec(line, "I", text)

    def message(self, line: int, severity: str, message: str, *, is_library: bool) -> None:
        self._pasted = False
        if self.dumps.is_open and severity not in "WEF" and not message.startswith("Layer("):
            self.dumps.interrupt()
        if not is_library and self._trtexec(line, severity, message):
            return
        if severity in "WEF" and self._complaint(line, severity, message, is_trtexec=not is_library):
            return
        handler = self.handlers.get(message[:KEY])
        if handler is not None:
            handler(line, message)
        else:
            self.other(line, message)

    def _complaint(self, line: int, severity: str, message: str, *, is_trtexec: bool) -> bool:
        """Count a warning or an error; True if no other handler needs it."""
        self.messages.add(line, severity, message, is_trtexec=is_trtexec)
        if is_trtexec and "utomatically " in message:
            self.sections.chose_shape(message)
        if "DLA" in message:
            self.resources.about_dla(line, message)
        if "nvinfer" in message:
            self._name_library(message)
        if "insufficient" in message or "requested size" in message:
            self.tuner.insufficient(line, message[:_LONGEST_WARNING])
            return True
        return False

    def _name_library(self, message: str) -> None:
        """Parse a message that names a library of TensorRT; the most precise version wins."""
        known = version_of_library(message)
        if known is not None and (self.library is None or known[0].count(".") > self.library[0].count(".")):
            self.library = known

    def _trtexec(self, line: int, severity: str, message: str) -> bool:
        """Parse sections and tables of trtexec; False if the message belongs to none of them."""
        if message.startswith("=== "):
            heading = message.strip("= ")
            if self.sections.has(heading):
                self._begin_span(line)  # trtexec prints each once: the banner of another run is missing
            if self.sections.begin(heading):
                self._block = ""
            else:
                self._begin_block(line, heading)
            return True
        if self.sections.is_open:
            if severity == "I":
                self.sections.option(message)
                return True
            return False
        if self._block == "profile":
            if not self.results.profiled(message):
                self._block = ""
                return False
            return severity == "I"
        if self._block == "summary":
            self.results.in_summary(severity, message)
        elif self._block == "explanations" and severity == "V":
            self.results.explained(message)
        return False

    def _begin_block(self, line: int, heading: str) -> None:
        self._block = "profile" if heading.startswith("Profile (") else _BLOCK_HEADS.get(heading, "")
        if self.results.holds(self._block):
            self._begin_span(
                line
            )  # trtexec prints each once: notes with the results of several runs, without banners
        if self._block == "profile":
            self.results.begin_profile(line, heading)
        elif self._block == "summary":
            self.results.begin_summary(line)
        elif self._block == "trace":
            self.results.begin_trace(line)

    # --- what messages are ----------------------------------------------------------------------------------------

    def _table(self) -> dict[str, Handler]:
        """Return first six characters -> handler."""
        tuner, optimizer, resources = self.tuner, self.optimizer, self.resources
        sections, results = self.sections, self.results
        readers: tuple[tuple[str, Handler], ...] = (
            ("======", tuner.heading),
            ("******", tuner.formats),
            ("------", self._ruled),
            (">>>>>>", tuner.chose),
            ("Fastes", tuner.fastest),
            ("Skippi", self._skipping),
            ("Adding", self._adding),
            ("Markin", sections.binding),
            ("Foreig", tuner.foreign_metadata),
            (" (fore", tuner.myelin_note),
            ("Runnin", optimizer.running),
            ("Removi", optimizer.removing),
            ("Conver|Swap t", optimizer.converting),
            ("Origin", self._original),
            ("After ", optimizer.counted),
            ("Buildi", self._building),
            ("Constr", self._constructing),
            ("Use ba|Chose |Skip b", self._judging),
            ("For la", self._non_conforming),
            ("[MemUs", self._usage),
            ("Layer:", resources.layer),
            ("Skippe|Total |Max Sc", resources.total),
            ("Could |Saved |Serial|Deleti", resources.about_cache),
            ("Local |Global", self._cache_in_use),
            ("[MS] M|[MS] N|The en", self._streams),
            ("[DlaLa|[GpuLa", resources.placed),
            ("Averag|... Om", results.averaged),
            ("Some t", resources.lacks_workspace),
            ("Input ", self._input),
            ("Output", results.bound),
            ("Create|Loaded", self._sized),
            ("Start ", self._starting),
            ("Engine", self._engine),
            ("Finish|Graph |Format|Calibr|Subgra|Timing", self._phase),
            ("ONNX I|Opset |Produc|Domain|Model |Doc st", sections.header),
            ("Tensor", sections.stated_version),
            ("Trying", lambda _line, message: self._name_library(message)),
            ("Layer(|Layers", self._dumped),
        )
        return {beginning: reader for beginnings, reader in readers for beginning in beginnings.split("|")}

    def other(self, line: int, message: str) -> None:
        if message.startswith("Tactic"):
            self.tuner.timed(line, message)
        elif ") profiling completed in " in message:
            self.tuner.fastest(line, message)
        elif "Set Tactic Name: " in message:
            self.tuner.set_name(message)
        elif ": Fusing " in message:
            self.optimizer.fusing(line, message)
        elif "] got cached result: " in message:
            self.tuner.cached(line, message)
        elif _NO_VALID in message:
            self.tuner.no_valid_tactic(line, message.partition(_NO_VALID)[0])
        elif " available tactics, " in message:
            self.tuner.pruned(message)
        elif self.resources.listed_device and message.strip():
            self.resources.listed(message)

    def _ruled(self, line: int, message: str) -> None:
        """Parse a message that begins with a horizontal rule."""
        if " Layers running on " in message:
            self.resources.begin_list(message)
        elif " Layers Running on DLA " in message:
            self.resources.begin_placement()
        else:
            self.tuner.runner(line, message)

    def _skipping(self, line: int, message: str) -> None:
        runner, separator, _ = message[len("Skipping ") :].partition(": No valid tactics for ")
        if separator:
            self.tuner.no_valid_tactic(line, runner)
        else:
            self.tuner.insufficient(line, message)

    def _adding(self, line: int, message: str) -> None:
        if message.startswith("Adding reformat layer"):
            self.tuner.adding(line, message)
        else:
            if message.startswith("Adding network input: "):
                self._begins(line, Stage.BEGUN, behind=Stage.BEGUN)
            self.sections.binding(line, message)

    def _building(self, line: int, message: str) -> None:
        if message.startswith("Building graph"):
            self._reach(Stage.UNDER_WAY)
            self.tuner.end()
            number = self.optimizer.begin_strategy(line, message)
            if number is not None:
                self.tuner.strategy = self.resources.strategy = number

    def _constructing(self, _line: int, message: str) -> None:
        _, separator, rest = message.partition("Constructing optimization profile number ")
        number = rest.partition(" ")[0]
        if separator and number.isdecimal() and len(number) < 6:
            self.tuner.end()
            self.tuner.profile = int(number)

    def _judging(self, line: int, message: str) -> None:
        self.tuner.end()
        self.optimizer.judged(line, message)
        self.resources.strategy = None  # what follows is of the engine that is kept

    def _non_conforming(self, _line: int, message: str) -> None:
        layer, separator, _ = message[len("For layer ") :].partition(
            " a non-conforming implementation was chosen"
        )
        if separator:
            self._span.non_conforming.append((self.tuner.strategy, layer))

    def _streams(self, line: int, message: str) -> None:
        if " completed in " in message:
            self._phase(line, message)
        else:
            self.resources.about_streams(message)

    def _input(self, line: int, message: str) -> None:
        if message.startswith("Input filename"):
            self._begins(line, Stage.BEGUN, behind=Stage.BEGUN)
            self.sections.header(line, message)
        else:
            self.results.bound(line, message)

    def _starting(self, line: int, message: str) -> None:
        if message.startswith("Start parsing network model"):
            if self._span.stage > Stage.BEGUN:
                self._begin_span(line)
            self._reach(Stage.BEGUN)

    def _original(self, line: int, message: str) -> None:
        if message.startswith("Original: "):
            # Calibration builds its own engine first.
            self._begins(line, Stage.UNDER_WAY, behind=Stage.UNDER_WAY)
        self.optimizer.counted(line, message)

    def _usage(self, line: int, message: str) -> None:
        if " Init builder kernel library: " in message:
            self._begins(line, Stage.BEGUN, behind=Stage.BEGUN)
        elif " allocation in building engine: " in message:
            self._reach(Stage.OVER)
        self.resources.usage(line, message)

    def _cache_in_use(self, line: int, message: str) -> None:
        if " timing cache in use" in message:
            self._reach(Stage.UNDER_WAY)
        self.resources.about_cache(line, message)

    def _engine(self, line: int, message: str) -> None:
        if message.startswith("Engine Layer Information"):
            self.tuner.end()
            self.dumps.begin_builder(line)
        else:
            self._phase(line, message)

    def _dumped(self, line: int, message: str) -> None:
        if message.startswith("Layers:"):
            self.dumps.begin_inspector(line)
        elif message.startswith("Layer("):
            if not self.dumps.is_open and not self.dumps.goes_on(message):
                self.dumps.begin_builder(line)
            self.dumps.line(line, message)

    def _sized(self, line: int, message: str) -> None:
        if "timing cache" in message:
            self.resources.about_cache(line, message)
        elif " binding for " in message:
            self.results.bound(line, message)
        elif " library " in message:
            self._name_library(message)
        else:
            self.resources.size(message)

    def _phase(self, line: int, message: str) -> None:
        self.optimizer.phase(line, message, self.tuner.layer_name)
        if message.startswith(("Formats and tactics", "Engine generation")):
            self.tuner.end()
            self._reach(Stage.UNDER_WAY if message.startswith("Formats") else Stage.OVER)
        elif message.startswith("Engine built in"):
            self._reach(Stage.OVER)
        elif message.startswith("Calibration completed"):
            self._span.stage = min(self._span.stage, Stage.UNDER_WAY)  # its own engine is not the build's
