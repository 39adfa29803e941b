"""What each message means: collectors for the options, passes, memory, devices and results of one run or build.

Each collector lists the beginnings of its messages in `heads`: the first six characters decide who reads a message, so that a
log of millions of lines costs one look-up per line.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, TypeVar

from trex_tui.artifacts.profile import ProfileRow
from trex_tui.buildlog.lines import find_stated_version
from trex_tui.buildlog.tactics import Handler, parse_number
from trex_tui.buildlog.trace import (
    BackendStrategy,
    ContextMemory,
    Dla,
    DlaFallback,
    Fusion,
    MemoryPoint,
    MemoryTotals,
    Message,
    OptimizerPass,
    Performance,
    Phase,
    PhaseKind,
    PrintedBinding,
    ProfileTable,
    StatedOptions,
    Streams,
    TimingCache,
    TraceAverage,
)

KEY = 6
"""Characters of a message that decide its handler."""
_LONGEST_SENTENCE = 400


def table_of(*entries: tuple[str, Handler]) -> dict[str, Handler]:
    """Return beginning -> handler; an entry may have several beginnings, separated by `|`."""
    return {head[:KEY]: handler for heads, handler in entries for head in heads.split("|")}


# --- warnings and errors -----------------------------------------------------------------------------------------------

MOST_GROUPS = 2000
"""Maximum number of groups of messages; later ones are counted as one group."""
LONGEST_TEXT = 4000
_VARYING = re.compile(r"0x[0-9a-fA-F]+|'[^']*'|\"[^\"]*\"|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_ABOUT_LAYER = re.compile(
    r"(?<=\b[Ll]ayer )\S.*?(?= (?:is|a|on|exceeds|has)\b)|(?<=for layer ).*|(?<=for tensor ).*?(?=, |$)"
    r"|(?<=with inputs ).*?(?=: )|(?<=[Tt]ensor )\S+(?= is uniformly)|^\S+(?=: )|(?<=- )\S+(?= weights)"
)
_FOREIGN = re.compile(
    r"Traceback \(most recent call last\)|=== \w|={4,}|```|#{1,4} \w|  --\w|\w+: (?=input |output |building |export )"
)
"""Beginnings of lines of other programs after a message: Python, trtexec's help, Ultralytics, notes in Markdown."""
_REST = "further messages of other kinds"


class Messages:
    """Collects messages of severity W, E and F. Those that differ only in names and numbers are one group."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], Message] = {}
        self._last: tuple[str, str] | None = None

    def add(self, line: int, severity: str, message: str, *, is_trtexec: bool) -> None:
        text = message.strip()[:LONGEST_TEXT]
        if not text:
            return
        continues = self._last[0] == severity if self._last else is_trtexec and bool(self._groups)
        if message.startswith("  ") and continues:
            self.more(line, text)  # trtexec indents the second half of its advice
            return
        key = (severity, _VARYING.sub("#", _ABOUT_LAYER.sub("#", text)))
        if key not in self._groups and len(self._groups) >= MOST_GROUPS:
            key, text = (severity, ""), _REST
        known = self._groups.get(key)
        if known is None:
            self._groups[key] = Message(severity, text, 1, line, line, is_trtexec)
        else:
            self._groups[key] = replace(known, count=known.count + 1, last_line=line)
        self._last = key if known is None else None

    def more(self, line: int, text: str) -> None:
        """Append a line without a prefix to the previous message, if that is the first of its group and was just before."""
        if _FOREIGN.match(text):
            self.end()
        if self._last is None:
            return
        last = self._groups[self._last]
        if line == last.last_line + 1:
            rest = text.strip()
            whole = (
                f"{last.text} {rest}"[:LONGEST_TEXT] if rest and len(last.text) < LONGEST_TEXT else last.text
            )
            self._groups[self._last] = replace(last, text=whole, last_line=line)

    def end(self) -> None:
        """End the last message: another message begins."""
        self._last = None

    def finished(self) -> tuple[Message, ...]:
        return tuple(self._groups.values())


# --- options and network -----------------------------------------------------------------------------------------------

SECTIONS = {
    "Model Options": "model",
    "Build Options": "build",
    "System Options": "system",
    "Inference Options": "inference",
    "Reporting Options": "reporting",
    "Device Information": "device",
}
"""Heading -> name of the section in `StatedOptions`."""
_INPUT = re.compile(
    r"Adding network input: (?P<name>.+) with dtype: (?P<dtype>\w*)(?:, dimensions: \((?P<dims>[-\d, ]*)\))?"
)
_OUTPUT = re.compile(r"Marking .+ as output: (?P<name>.+?)\s*$")
_EXPORT = re.compile(
    r"TensorRT: (?:starting export with TensorRT (?P<version>\d[\d.]*\d)"
    r"|(?P<side>in|out)put \"(?P<name>.+)\" with shape ?\((?P<dims>[-\d, ]*)\) (?:DataType\.)?(?P<dtype>\w+))"
)
"""Lines that Ultralytics prints between the messages of the builder."""
_CHOSEN_SHAPE = re.compile(r"Automatically (?:overriding|setting) shape to:? ?\S+", re.IGNORECASE)
_ONNX = re.compile(
    r"(?P<label>Input filename|ONNX IR version|Opset version|Producer name|Producer version|Domain|Model version|Doc string):"
    r"\s*(?P<value>.*)$"
)
_MOST_LABELS, _MOST_VALUES, _MOST_SHAPES = 1000, 10_000, 1000


class Options:
    """Collects options and network of one run."""

    def __init__(self) -> None:
        self.version: str | None = None
        self.onnx: dict[str, str] = {}
        self.tensors: list[PrintedBinding] = []
        self.chosen_shapes: list[str] = []
        self._values: dict[str, dict[str, list[str]]] = {}
        self._open = ""
        self._label = ""
        self.heads = table_of(
            ("Marking", self.binding),
            ("ONNX IR|Opset |Produc|Domain|Model |Doc st", self.header),
            ("Tensor", self._version),
        )

    @property
    def is_open(self) -> bool:
        """True if the following lines are options."""
        return bool(self._open)

    @property
    def is_stated(self) -> bool:
        return any(self._values.values())

    def has(self, heading: str) -> bool:
        return SECTIONS.get(heading) in self._values

    def begin(self, heading: str) -> bool:
        """Open a section; False if the heading is of another block."""
        self._open, self._label = SECTIONS.get(heading, ""), ""
        if self._open:
            self._values.setdefault(self._open, {})
        return bool(self._open)

    def close(self) -> None:
        self._open = ""

    def option(self, message: str) -> None:
        """Parse a line of an open section; an empty line ends it.

        Input files follow their label, one per line: `Inputs:`, then `x<-x.bin`.
        """
        text = message.strip()
        if not text:
            self._open = ""
            return
        values = self._values[self._open]
        label, colon, value = text.partition(":")
        before = values.get(self._label)
        if before is not None and (
            (self._label == "Inputs" and "<-" in text) or (not colon and not before[0])
        ):
            if len(before) < _MOST_VALUES:
                before.append(text)
            return
        self._label = label.strip()
        if self._label in values or len(values) < _MOST_LABELS:
            known = values.setdefault(self._label, [])
            if len(known) < _MOST_VALUES:
                known.append(value.strip())

    def stated(self) -> StatedOptions:
        joined = {
            name: {label: ", ".join(filter(None, parts)) for label, parts in values.items()}
            for name, values in self._values.items()
        }
        return StatedOptions(**joined)

    def value(self, label: str) -> str | None:
        """Return the last value of an option, in any section; None if no section has it."""
        values = [section[label][-1] for section in self._values.values() if label in section]
        return values[-1] if values else None

    def _version(self, _line: int, message: str) -> None:
        """Parse `TensorRT version: 10.16.1`; 8.0 prints 8003."""
        self.version = find_stated_version(message) or self.version

    def chose_shape(self, message: str) -> None:
        """Parse a warning that may report a shape chosen by trtexec."""
        match = _CHOSEN_SHAPE.search(message)
        if match is not None and len(self.chosen_shapes) < _MOST_SHAPES:
            self.chosen_shapes.append(match[0])

    def header(self, _line: int, message: str) -> None:
        """Parse the ONNX parser's block about the model."""
        if match := _ONNX.match(message):
            if match["label"] == "Input filename":
                self.onnx, self.tensors = {}, []
            self.onnx[match["label"]] = match["value"].strip()

    def binding(self, line: int, message: str) -> None:
        """Parse an input or output of the network, as the ONNX parser prints it."""
        if match := _INPUT.match(message):
            dims = (match["dims"] or "").replace(", ", "x")
            self.tensors.append(PrintedBinding(line, match["name"], True, dims, match["dtype"] or None))
        elif match := _OUTPUT.match(message):
            self.tensors.append(PrintedBinding(line, match["name"], False, "", None))

    def export(self, line: int, text: str) -> bool:
        """Parse a line of Ultralytics: the version, an input or an output of the network; False for any other line."""
        match = _EXPORT.match(text) if text.startswith("TensorRT: ") else None
        if match is None:
            return False
        if match["version"]:
            self.version = match["version"]
        else:
            dims = match["dims"].rstrip(", ").replace(", ", "x")
            is_input, dtype = match["side"] == "in", match["dtype"].lower()
            self.tensors.append(PrintedBinding(line, match["name"], is_input, dims, dtype))
        return True


# --- passes, strategies, phases ----------------------------------------------------------------------------------------

_COUNT = re.compile(r"(?:After )?(?P<name>.+): (?P<layers>\d{1,9}) layers\s*$")
_RUNNING = re.compile(r"Running: (?P<rule>\S+) on ")
_FUSING = re.compile(r"(?P<rule>\w+): Fusing (?P<layer>.+) with (?P<other>.+)$")
_CONVERT = re.compile(
    r"(?:Convert layer type of|Swap the layer type of) (?P<layer>.+) from (?P<before>\w+) to (?P<after>\w+)\s*$"
)
_BUILDING = re.compile(r"Building graph using backend strategy (?P<number>\d{1,9})")
_ESTIMATE = re.compile(
    r"(?P<verb>Use|Chose this engine with|Skip) backend strategy (?P<number>\d{1,9}) ?(?:with|since its) "
    r"estimated inference time \((?P<estimate>[^)]+)\)"
)
_SECONDS = re.compile(r"(?P<seconds>\d[\d.eE+-]*)(?: (?:sec|seconds|s)\b)?\.?\s*$")
_PHASES: tuple[tuple[str, PhaseKind], ...] = (
    ("Finished parsing network model. Parse time:", "ONNX parsing"),
    ("Graph construction and optimization completed in", "graph optimization"),
    ("Graph construction completed in", "graph construction"),
    ("Graph optimization time:", "graph optimization"),
    ("Formats and tactics selection completed in", "formats and tactics selection"),
    ("Calibration completed in", "calibration"),
    ("Subgraph compilation completed in", "subgraph compilation"),
    ("[MS] Multi stream splitting completed in", "multi-stream splitting"),
    ("Engine generation completed in", "engine generation"),
    ("Engine built in", "engine build"),
    ("Finished engine building in", "engine build"),
    ("Engine loaded in", "engine loading"),
    ("Engine deserialized in", "engine deserialization"),
    ("Timing trace has", "inference"),
)
_WHOLE = ("ONNX parsing", "engine build", "engine loading", "engine deserialization", "inference")
"""Phases that belong to no strategy."""
_QUERIES = re.compile(r"Timing trace has (?P<queries>\d{1,18}) queries")


class Passes:
    """Collects passes, strategies and phases. `strategy` and `at_s` as in `Tuner`.

    Attributes:
        queries: Number of queries of the timing trace; None if not printed.
    """

    def __init__(self) -> None:
        self.passes: list[OptimizerPass] = []
        self.strategies: list[BackendStrategy] = []
        self.phases: list[Phase] = []
        self.queries: int | None = None
        self.strategy: int | None = None
        self.at_s: float | None = None
        self._fusions: list[Fusion] = []
        self._rule = ""
        self.heads = table_of(
            ("Running", self._runs),
            ("Removing", self._removing),
            ("Conver|Swap t", self._converting),
            ("After ", self.counted),
        )

    def _runs(self, _line: int, message: str) -> None:
        """Parse `Running: F on X`, which names the rule of the next step."""
        match = _RUNNING.match(message)
        self._rule = match["rule"] if match else ""

    def fusing(self, line: int, message: str) -> None:
        """Parse `ConvReluFusion: Fusing A with B`."""
        if match := _FUSING.match(message):
            self._rule = ""
            self._fusions.append(Fusion(line, "fused", match["rule"], match["layer"], match["other"]))

    def _removing(self, line: int, message: str) -> None:
        self._fusions.append(Fusion(line, "removed", self._end_rule(), message[9:].strip()))

    def _converting(self, line: int, message: str) -> None:
        if match := _CONVERT.match(message):
            types = match["before"], match["after"]
            self._fusions.append(Fusion(line, "converted", self._end_rule(), match["layer"], None, *types))

    def _end_rule(self) -> str:
        rule, self._rule = self._rule, ""
        return rule

    def counted(self, line: int, message: str) -> None:
        """Parse `After vertical fusions: 5 layers`: the end of a pass."""
        if match := _COUNT.match(message):
            fusions = tuple(self._fusions)
            self._fusions.clear()
            self._rule = ""
            self.passes.append(
                OptimizerPass(line, self.strategy, match["name"], int(match["layers"]), fusions)
            )

    def begin_strategy(self, line: int, message: str) -> int | None:
        """Parse `Building graph using backend strategy N`; return N, None for another line."""
        match = _BUILDING.match(message)
        if match is None:
            return None
        self.finish(line)
        self.strategy = int(match["number"])
        if all(strategy.number != self.strategy for strategy in self.strategies):
            self.strategies.append(BackendStrategy(line, self.strategy, "only"))
        return self.strategy

    def judged(self, line: int, message: str) -> None:
        """Parse which strategy is used, chosen or skipped."""
        match = _ESTIMATE.match(message)
        if match is None:
            return
        number = int(match["number"])
        judged = BackendStrategy(line, number, "skipped", parse_number(match["estimate"]))
        if match["verb"] != "Skip":
            judged = judged._replace(verdict="initial" if match["verb"] == "Use" else "chosen")
        for index, known in enumerate(self.strategies):
            if known.number == number:
                self.strategies[index] = judged._replace(line=known.line)
                return
        self.strategies.append(judged)

    def phase(self, line: int, message: str, layer: str) -> None:
        """Parse a line with a duration; `layer` is the one being tuned."""
        kind = next((kind for beginning, kind in _PHASES if message.startswith(beginning)), None)
        match = _SECONDS.search(message[:_LONGEST_SENTENCE]) if kind else None
        seconds = parse_number(match["seconds"]) if match else None
        if kind is None or seconds is None:
            return
        about = layer or None if kind == "subgraph compilation" else None
        strategy = None if kind in _WHOLE else self.strategy
        self.phases.append(Phase(line, kind, seconds, strategy, about, self.at_s))
        if kind == "inference" and (queries := _QUERIES.match(message)):
            self.queries = int(queries["queries"])

    def finish(self, line: int) -> None:
        """Add a pass without a count for the steps since the last count."""
        if self._fusions:
            self.passes.append(OptimizerPass(line, self.strategy, "", None, tuple(self._fusions)))
            self._fusions.clear()


# --- memory, cache, streams --------------------------------------------------------------------------------------------

_CHANGE = re.compile(
    r"\[MemUsageChange\] (?P<event>.+?): CPU (?P<cpu_change>[+-]\d{1,12}), GPU (?P<gpu_change>[+-]\d{1,12}), "
    r"now: CPU (?P<cpu>-?\d{1,12}), GPU (?P<gpu>-?\d{1,12}) \(MiB\)"
)
_SNAPSHOT = re.compile(
    r"\[MemUsageSnapshot\] (?P<event>.+?): CPU (?P<cpu>\d{1,12}) MiB, GPU (?P<gpu>\d{1,12}) MiB"
)
_MIB = re.compile(r"(?P<mib>\d[\d.eE+-]*) MiB\s*$")
_TOTALS = (
    re.compile(r"Total Host Persistent Memory: (?P<host_persistent_bytes>\d{1,18})"),
    re.compile(r"Total Device Persistent Memory: (?P<device_persistent_bytes>\d{1,18})"),
    re.compile(r"(?:Total|Max) Scratch Memory: (?P<scratch_bytes>\d{1,18})"),
    re.compile(r"Total Activation Memory: (?P<activation_bytes>\d{1,18})"),
    re.compile(r"Total Weights Memory: (?P<weights_bytes>\d{1,18})"),
)
_CONTEXT = (
    re.compile(r"Total per-runner device persistent memory is (?P<device_persistent_bytes>\d{1,18})"),
    re.compile(
        r"Allocated (?:activation device|device scratch) memory of size (?P<activation_bytes>\d{1,18})"
    ),
)
_CACHE = (
    re.compile(r"(?P<mode>Local|Global) timing cache in use"),
    re.compile(r"Could not read cache from: (?P<unreadable>.+?)\. A new cache"),
    re.compile(r"Loaded \d{1,18} bytes of timing cache from (?P<file>.+?)\s*$"),
    re.compile(r"Saved (?P<saved_bytes>\d{1,18}) bytes of timing cache to (?P<file>.+?)\s*$"),
    re.compile(r"Serialized (?P<entries>\d{1,12}) timing cache entries"),
    re.compile(r"Deleting timing cache: (?P<entries>\d{1,12}) entries, served (?P<hits>\d{1,12}) hits"),
)
_STREAMS = (
    re.compile(r"\[MS\] Number of streams used is (?P<streams>\d{1,6})"),
    re.compile(r"\[MS\] Multi stream is disabled (?:because|as) (?P<disabled_because>.+?)\s*$"),
)
"""Messages whose groups are the fields of a record."""
_Record = TypeVar("_Record", MemoryTotals, ContextMemory, TimingCache, Streams)


def _fill(record: _Record, patterns: tuple[re.Pattern[str], ...], message: str) -> _Record:
    """Return the record with the fields in a message."""
    match = next(filter(None, (pattern.match(message) for pattern in patterns)), None)
    groups = match.groupdict() if match else {}
    values: dict[str, Any] = {key: int(text) if text.isdecimal() else text for key, text in groups.items()}
    return record._replace(**values)


class Resources:
    """Collects memory, timing cache and streams. `strategy` and `at_s` as in `Tuner`."""

    def __init__(self) -> None:
        self.points: list[MemoryPoint] = []
        self.totals: dict[int | None, MemoryTotals] = {}
        self.context = ContextMemory()
        self.engine_bytes: int | None = None
        self.engine_mib: int | None = None
        self.cache = TimingCache()
        self.strategy: int | None = None
        self.at_s: float | None = None
        self.workspace_shortage: int | None = None
        self._streams: dict[int | None, Streams] = {}
        self.heads = table_of(
            ("Total |Max Sc|Alloca", self._total),
            ("Could |Saved |Serial|Deleti", self.about_cache),
            ("Some t", self._lacks_workspace),
        )

    def usage(self, line: int, message: str) -> None:
        """Parse a line that begins with `[MemUsage`."""
        if match := _CHANGE.match(message) or _SNAPSHOT.match(message):
            fields = match.groupdict()
            cpu, gpu = (int(fields[key]) if key in fields else None for key in ("cpu_change", "gpu_change"))
            used = int(match["cpu"]), int(match["gpu"])
            is_managed = match["event"].startswith("TensorRT-managed")
            self.points.append(MemoryPoint(line, match["event"], self.at_s, *used, cpu, gpu, is_managed))

    def _total(self, _line: int, message: str) -> None:
        known = self.totals.get(self.strategy) or MemoryTotals(self.strategy)
        totals = _fill(known, _TOTALS, message)
        if totals != known:
            self.totals[self.strategy] = totals
        self.context = _fill(self.context, _CONTEXT, message)

    def size(self, message: str) -> None:
        """Parse the size of the execution context or the engine, in MiB."""
        match = _MIB.search(message[:_LONGEST_SENTENCE])
        number = parse_number(match["mib"]) if match else None
        if number is None:
            return
        size = round(number * 2**20)
        if "device memory size" in message:
            self.context = self.context._replace(context_bytes=size)
        elif message.startswith("Loaded engine size"):
            self.engine_mib = size >> 20  # printed as whole MiB
        else:
            self.engine_bytes = size

    def about_cache(self, _line: int, message: str) -> None:
        """Parse a message about the timing cache; hits add up over all deleted caches."""
        hits = self.cache.hits or 0
        cache = _fill(self.cache._replace(hits=None), _CACHE, message)
        self.cache = cache._replace(
            mode=cache.mode and cache.mode.lower(),
            hits=self.cache.hits if cache.hits is None else hits + cache.hits,
        )

    def about_streams(self, message: str) -> None:
        """Parse a message about multi-stream execution."""
        known = self._streams.get(self.strategy) or Streams()
        streams = _fill(known, _STREAMS, message)
        first = known.disabled_because or streams.disabled_because
        self._streams[self.strategy] = streams._replace(disabled_because=first)

    def streams(self, strategy: int | None) -> Streams:
        """Return the streams of a candidate engine, or of a loaded engine."""
        return self._streams.get(strategy) or self._streams.get(None) or Streams()

    def _lacks_workspace(self, line: int, message: str) -> None:
        """Parse `Some tactics do not have sufficient workspace memory to run`, of any verbosity up to 8.x."""
        if "sufficient workspace memory" in message:
            self.workspace_shortage = self.workspace_shortage or line


# --- DLA ---------------------------------------------------------------------------------------------------------------

_PLACED = re.compile(r"\[(?P<device>Dla|Gpu)Layer\] (?:[A-Z][A-Z0-9_]*: )?(?P<name>.+?)\s*$")
_FALLBACKS = (
    (re.compile(r"Layer '(?P<layer>.+)' \((?P<type>\w+)\): Unsupported on DLA"), "unsupported on DLA"),
    (
        re.compile(r"Default DLA is enabled but layer (?P<layer>.+) is not (?:supported|running) on DLA"),
        "unsupported on DLA",
    ),
    (
        re.compile(
            r"DLA supports only (?P<limit>\d{1,6}) subgraphs per DLA core\..* for layer (?P<layer>.+?)\s*$"
        ),
        "limit of {limit} subgraphs per DLA core",
    ),
    (
        re.compile(
            r"DLA only supports FP16 and Int8 precision type\. Switching (?P<layer>.+?) device type to GPU"
        ),
        "DLA has FP16 and INT8 only",
    ),
    (
        re.compile(r"Validation failed for DLA layer: (?P<layer>.+?)\. Switching to GPU"),
        "DLA validation failed",
    ),
    (
        re.compile(r"DLA requests all profiles have same min, max, and opt value(?P<layer>)"),
        "DLA needs profiles whose min, opt and max shapes are equal",
    ),
)
_UNNAMED = re.compile(r"\(Unnamed Layer\* \d+\) \[(\w+)\]$")
_LONGEST_WARNING = 4000
_MOST_PLACED = 200_000


class Devices:
    """Collects the layers by device, and why layers requested on DLA run on the GPU."""

    def __init__(self) -> None:
        self._layers: dict[str, list[str]] = {"DLA": [], "GPU": []}
        self._fallbacks: list[DlaFallback] = []
        self._limit: int | None = None
        self._before = ""
        self.heads = table_of(("[DlaLa|[GpuLa", self._placed))

    def finished(self) -> Dla:
        dla, gpu = tuple(self._layers["DLA"]), tuple(self._layers["GPU"])
        return Dla(dla, gpu, tuple(self._fallbacks), self._limit)

    def begin_list(self, message: str) -> bool:
        """Parse a heading: `---------- Layers Running on DLA ----------`."""
        if " Layers Running on DLA " in message:
            self._layers = {"DLA": [], "GPU": []}  # calibration builds an engine of its own first
        return " Layers Running on " in message

    def _placed(self, _line: int, message: str) -> None:
        match = _PLACED.match(message)
        if match is not None and len(self._layers["DLA"]) + len(self._layers["GPU"]) < _MOST_PLACED:
            self._layers[match["device"].upper()].append(match["name"])

    def complain(self, line: int, message: str) -> None:
        """Parse a warning that mentions DLA: a fallback, or the reason for the next one."""
        text, before, self._before = message[:_LONGEST_WARNING], self._before, message
        match, reason = next(
            ((match, reason) for pattern, reason in _FALLBACKS if (match := pattern.search(text))), (None, "")
        )
        if match is None:
            return
        groups = match.groupdict()
        layer, unnamed = groups["layer"], _UNNAMED.match(groups["layer"])
        layer_type = groups.get("type") or (unnamed[1].upper() if unnamed else "")
        self._limit = int(groups["limit"]) if "limit" in groups else self._limit
        if len(self._fallbacks) < _MOST_PLACED:
            detail = before if layer and layer in before else ""
            fallback = DlaFallback(line, layer, layer_type, reason.format(**groups), message, detail)
            self._fallbacks.append(fallback)
        self._before = ""


# --- results of a run --------------------------------------------------------------------------------------------------

_LABELS = (
    "Throughput|Latency|End-to-End Host Latency|Enqueue Time|H2D Latency|GPU Compute Time|D2H Latency|Total Host Walltime"
    "|Total GPU Compute Time"
)
FIGURE = re.compile(rf"\s*(?P<label>{_LABELS}): (?P<value>min ?=? ?\d.*|\d[\d.eE+-]* (?:qps|s)\b.*)$")
"""A line of the performance summary."""
_WRAPPED = re.compile(r"\s*(?:min|max|mean|median|(?P<tail>[Pp]ercentile\([\d.]+%\))) ?= ?\d")
_OLD_BLOCKS = {"Host Latency": "Latency", "Host latency": "Latency", "GPU Compute": "GPU Compute Time"} | {
    "Enqueue Time": "Enqueue Time"
}
"""Headings of TensorRT 7 -> labels of later versions."""
_OLD_FIGURE = re.compile(
    r"(?P<what>min|max|mean|median|percentile): (?P<ms>[\d.eE+-]+) ms(?: at (?P<percent>[\d.]+)%)?"
    r"(?: \(end to end (?P<end>[\d.eE+-]+) ms)?"
)
_OLD_TOTALS = {
    "throughput": "Throughput",
    "walltime": "Total Host Walltime",
    "total compute time": "Total GPU Compute Time",
}
_AVERAGE = re.compile(
    r"Average (?:on|over) (?P<runs>\d{1,9}) runs (?:- GPU latency:|is) (?P<gpu>\S+) ms(?P<rest>.*)"
)
_HOST = re.compile(r"(?:Host latency:|host walltime is) (?P<ms>\S+) ms")
_END = re.compile(r"end to end (?P<ms>\S+) ms")
_ENQUEUE = re.compile(r"enqueue (?P<ms>\S+) ms")
_OMITTED = re.compile(r"\.\.\. Omitting (?P<lines>\d{1,12}) lines")
_PROFILE_HEAD = re.compile(r"Profile \((?P<iterations>\d{1,18}) iterations")
_ROW_NUMBER = re.compile(r"(?:\d[\d.eE+-]*|-?nan|-?inf)$")
_BINDING = re.compile(
    r"(?:Created )?(?P<side>[Ii]nput|[Oo]utput) binding for (?P<name>.+) with dimensions (?P<dims>\S+)"
    r"(?: and type (?P<dtype>\S+) is created\.)?\s*$"
)


class Results:
    """Collects the results of one run: summary, trace averages, profile table, bindings."""

    def __init__(self) -> None:
        self.bindings: list[PrintedBinding] = []
        self.averages: list[TraceAverage] = []
        self.omitted = 0
        self._values: dict[str, str] = {}
        self._values_line = 0
        self._warnings: list[str] = []
        self._old_block = ""
        self._profile_line = 0
        self._iterations: int | None = None
        self._has_median = self._name_first = False
        self._rows: list[ProfileRow] = []
        self._total: ProfileRow | None = None
        self._decimals: set[int] = set()
        self.heads = table_of(("Averag|... Om", self.averaged), ("Output", self.bound))

    @property
    def line(self) -> int:
        """Line of the first result; 0 without one."""
        lines = [self._values_line, self._profile_line, self.averages[0].line if self.averages else 0]
        return next(filter(None, lines), 0)

    def holds(self, block: str) -> bool:
        """Return whether this run has printed a block, or one after it: `trace`, `summary` or `profile`."""
        if block == "trace":
            return bool(self.averages or self._values)
        return bool(self._values if block == "summary" else block == "profile" and self._rows)

    # --- performance summary ----------------------------------------------------------------------------------------------

    def begin_summary(self, line: int) -> None:
        self._values, self._values_line, self._warnings = {}, line, []

    def has_figure(self, label: str) -> bool:
        return label in self._values

    @property
    def has_main_figure(self) -> bool:
        """Whether the summary states how fast the engine is, beyond the parts of its latency."""
        return not self._values.keys().isdisjoint(("Throughput", "Latency", "GPU Compute Time"))

    def figure(self, line: int, label: str, value: str) -> None:
        """Store a line of the summary, whose heading may be missing."""
        self._values_line = self._values_line or line
        self._values[label] = value.strip()

    def figure_goes_on(self, message: str) -> bool:
        """Parse the rest of a figure that a document has wrapped behind a comma; False for another line."""
        label, value = next(reversed(self._values.items()), ("", ""))
        match = _WRAPPED.match(message)
        if match is None or not (value.endswith(",") or (value and match["tail"])):
            return False
        self._values[label] = f"{value.rstrip(',')}, {message.strip()}"
        return True

    def advice(self, message: str) -> None:
        """Parse a sentence after the summary: with a star, or the continuation of one."""
        if message.startswith("* "):
            self._warnings.append(message[2:].strip())
        elif message.startswith("  ") and self._warnings:
            self._warnings[-1] += " " + message.strip()

    def old_figure(self, line: int, message: str) -> bool:
        """Parse a line of TensorRT 7's summary; False for another line."""
        if label := _OLD_BLOCKS.get(message.strip()):
            self._old_block = label
            return True
        what, colon, value = message.partition(": ")
        if colon and what in _OLD_TOTALS:
            if parse_number(value.partition(" ")[0]) != 0.0:  # of an explicit batch it prints 0 qps
                self.figure(line, _OLD_TOTALS[what], value)
            return True
        match = _OLD_FIGURE.match(message) if self._old_block else None
        if match is None:
            return False
        name = f"percentile({match['percent'] or 99}%)" if match["what"] == "percentile" else match["what"]
        times = [(self._old_block, match["ms"])]
        times += [("End-to-End Host Latency", match["end"])] if match["end"] else []
        for label, time in times:
            before = self._values.get(label)
            self.figure(line, label, f"{before + ', ' if before else ''}{name} = {time} ms")
        return True

    # --- trace and profile ------------------------------------------------------------------------------------------------

    def averaged(self, line: int, message: str) -> None:
        """Parse `Average on N runs`, or the number of omitted ones."""
        if match := _OMITTED.match(message):
            self.omitted += int(match["lines"])
        if match := _AVERAGE.match(message):
            rest = [pattern.search(match["rest"]) for pattern in (_HOST, _ENQUEUE, _END)]
            times = [parse_number(found["ms"]) if found else None for found in rest]
            self.averages.append(TraceAverage(line, int(match["runs"]), parse_number(match["gpu"]), *times))

    def begin_profile(self, line: int, heading: str) -> None:
        match = _PROFILE_HEAD.match(heading)
        self._profile_line = line
        self._iterations = int(match["iterations"]) if match else None
        self._rows, self._total, self._decimals = [], None, set()
        self._has_median = self._name_first = False

    def profiled(self, message: str) -> bool:
        """Parse a row of the profile table; False after its end."""
        if "Time(ms)" in message or "Time (ms)" in message:
            self._has_median = "Median" in message
            self._name_first = message.lstrip().startswith("Layer")
            return True
        row = self._row(message)
        if row is None:
            return bool(message.strip())
        if row.name == "Total":
            self._total = row
            return False
        self._rows.append(row)
        return True

    def _row(self, message: str) -> ProfileRow | None:
        count = 4 if self._has_median else 3
        parts = message.rsplit(None, count) if self._name_first else message.split(None, count)
        if len(parts) != count + 1:
            return None
        name, numbers = (parts[0], parts[1:]) if self._name_first else (parts[-1], parts[:-1])
        if not all(map(_ROW_NUMBER.match, numbers)):
            return None
        self._decimals.add(len(numbers[1].partition(".")[2]))
        values = [parse_number(number) for number in numbers]
        middle = values.pop(2) if self._has_median else None
        return ProfileRow(name.strip(), values[0], values[1], middle, values[2])

    # --- the rest ---------------------------------------------------------------------------------------------------------

    def bound(self, line: int, message: str) -> None:
        """Parse `Input binding for x with dimensions 1x3x224x224 and type fp32 is created.`"""
        if match := _BINDING.match(message):
            is_input = match["side"].lower() == "input"
            self.bindings.append(PrintedBinding(line, match["name"], is_input, match["dims"], match["dtype"]))

    @property
    def performance(self) -> Performance | None:
        if not self._values:
            return None
        return Performance(self._values_line, dict(self._values), tuple(self._warnings))

    @property
    def profile(self) -> ProfileTable | None:
        if not self._profile_line:
            return None
        decimals = max(self._decimals, default=4)
        return ProfileTable(self._profile_line, self._iterations, tuple(self._rows), self._total, decimals)
