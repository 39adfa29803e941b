"""Collectors of the messages of a build and of a run: `Optimizer`, `Resources` and `Results`.

`Optimizer` has the passes and their steps, candidate engines, and the duration of each phase. `Resources` has memory, timing
cache, streams and DLA. `Results` has the results of a run: performance summary, trace averages, profile table, and bindings.
"""

from __future__ import annotations

import math
import re
from array import array
from typing import Any

from trex_tui.artifacts.profile import ProfileRow
from trex_tui.buildlog.trace import (
    BackendStrategy,
    Dla,
    DlaFallback,
    Fusion,
    FusionKind,
    LayerMemory,
    MemoryPoint,
    MemoryTotals,
    OptimizerPass,
    Performance,
    Phase,
    PhaseKind,
    PrintedBinding,
    ProfileTable,
    StrategyVerdict,
    Streams,
    TimingCache,
    TraceAverages,
)
from trex_tui.buildlog.tuner import parse_float

_COUNT = re.compile(r"(?:After )?(?P<name>.+): (?P<layers>\d{1,9}) layers\s*$")
_RUNNING = re.compile(r"Running: (?P<rule>\S+) on (?P<layer>.+)$")
_FUSING = re.compile(r"(?P<rule>\w+): Fusing (?P<layer>.+) with (?P<other>.+)$")
_CONVERT = re.compile(
    r"(?:Convert layer type of|Swap the layer type of) (?P<layer>.+) from (?P<before>\w+) to (?P<after>\w+)\s*$"
)
_BUILDING = re.compile(r"Building graph using backend strategy (?P<number>\d{1,9})")
_ESTIMATE = re.compile(
    r"(?P<verb>Use|Chose this engine with|Skip) backend strategy (?P<number>\d{1,9}) ?(?:with|since its) "
    r"estimated inference time \((?P<estimate>[^)]+)\)"
)
_SECONDS = re.compile(r"(?P<seconds>\d[\d.eE+-]*)(?P<micro> microseconds)?(?: (?:sec|seconds|s)\b)?\.?\s*$")
_LONGEST_SENTENCE = 400
_SUBGRAPH = "Subgraph compilation completed in"
_VERDICTS = {
    "Use": StrategyVerdict.INITIAL,
    "Chose this engine with": StrategyVerdict.CHOSEN,
    "Skip": StrategyVerdict.SKIPPED,
}
_PHASES: tuple[tuple[str, PhaseKind], ...] = (
    ("Finished parsing network model. Parse time:", PhaseKind.PARSING),
    ("Graph construction and optimization completed in", PhaseKind.GRAPH_OPTIMIZATION),
    ("Graph construction completed in", PhaseKind.GRAPH_CONSTRUCTION),
    ("Graph optimization time:", PhaseKind.GRAPH_OPTIMIZATION),
    ("Formats and tactics selection completed in", PhaseKind.TACTIC_SELECTION),
    ("Calibration completed in", PhaseKind.CALIBRATION),
    (_SUBGRAPH, PhaseKind.SUBGRAPH_COMPILATION),
    ("[MS] Multi stream splitting completed in", PhaseKind.STREAM_SPLITTING),
    ("Engine generation completed in", PhaseKind.ENGINE_GENERATION),
    ("Engine built in", PhaseKind.ENGINE_BUILD),
    ("Engine loaded in", PhaseKind.LOADING),
    ("Engine deserialized in", PhaseKind.DESERIALIZATION),
    ("Timing trace has", PhaseKind.INFERENCE),
)

_WHOLE_BUILD = (
    PhaseKind.PARSING,
    PhaseKind.ENGINE_BUILD,
    PhaseKind.LOADING,
    PhaseKind.DESERIALIZATION,
    PhaseKind.INFERENCE,
)


class Optimizer:
    """Collects passes, strategies and phases. `strategy` and `at_s` as in `Tuner`."""

    def __init__(self) -> None:
        self.passes: list[OptimizerPass] = []
        self.strategies: list[BackendStrategy] = []
        self.phases: list[Phase] = []
        self.strategy: int | None = None
        self.at_s: float | None = None
        self._fusions: list[Fusion] = []
        self._running: tuple[int, str, str] | None = None

    def running(self, line: int, message: str) -> None:
        self._settle()
        if match := _RUNNING.match(message):
            self._running = (line, match["rule"], match["layer"])

    def fusing(self, line: int, message: str) -> None:
        if match := _FUSING.match(message):
            self._running = None
            kind = FusionKind.FUSED
            self._fusions.append(Fusion(line, kind, match["rule"], match["layer"], match["other"]))

    def removing(self, line: int, message: str) -> None:
        rule = self._running[1] if self._running else ""
        self._running = None
        self._fusions.append(Fusion(line, FusionKind.REMOVED, rule, message[9:].strip()))

    def converting(self, line: int, message: str) -> None:
        if match := _CONVERT.match(message):
            rule = self._running[1] if self._running else ""
            self._running = None
            before, after = match["before"], match["after"]
            kind = FusionKind.CONVERTED
            self._fusions.append(Fusion(line, kind, rule, match["layer"], None, before, after))

    def counted(self, line: int, message: str) -> None:
        match = _COUNT.match(message)
        if match is None:
            return
        self._settle()
        fusions = tuple(self._fusions)
        self._fusions.clear()
        layers = int(match["layers"])
        self.passes.append(OptimizerPass(line, self.strategy, match["name"], layers, fusions))

    def begin_strategy(self, line: int, message: str) -> int | None:
        """Parse `Building graph using backend strategy N`; return N, None for another line."""
        match = _BUILDING.match(message)
        if match is None:
            return None
        self.finish(line)
        self.strategy = int(match["number"])
        if all(strategy.number != self.strategy for strategy in self.strategies):
            self.strategies.append(BackendStrategy(line, self.strategy, StrategyVerdict.ONLY))
        return self.strategy

    def judged(self, line: int, message: str) -> None:
        match = _ESTIMATE.match(message)
        if match is None:
            return
        number = int(match["number"])
        estimate = parse_float(match["estimate"])
        verdict = _VERDICTS[match["verb"]]
        judged = BackendStrategy(line, number, verdict, estimate if math.isfinite(estimate) else None)
        for index, known in enumerate(self.strategies):
            if known.number == number:
                self.strategies[index] = judged._replace(line=known.line)
                return
        self.strategies.append(judged)

    def phase(self, line: int, message: str, layer: str | None) -> None:
        """Parse a line with a duration; `layer` is the one being tuned."""
        for beginning, kind in _PHASES:
            if not message.startswith(beginning):
                continue
            match = _SECONDS.search(message[:_LONGEST_SENTENCE])
            seconds = parse_float(match["seconds"]) if match else math.nan
            if math.isfinite(seconds):
                about = layer if kind is PhaseKind.SUBGRAPH_COMPILATION else None
                strategy = None if kind in _WHOLE_BUILD else self.strategy
                self.phases.append(Phase(line, kind, seconds, strategy, about, self.at_s))
            return

    def finish(self, line: int) -> None:
        """Add a pass without a count for the steps since the last count."""
        self._settle()
        if self._fusions:
            self.passes.append(OptimizerPass(line, self.strategy, "", None, tuple(self._fusions)))
            self._fusions.clear()

    def _settle(self) -> None:
        """Store a rule that ran without a result."""
        if self._running is not None:
            line, rule, layer = self._running
            self._fusions.append(Fusion(line, FusionKind.TRIED, rule, layer))
            self._running = None


_CHANGE = re.compile(
    r"\[MemUsageChange\] (?P<event>.+?): CPU (?P<cpu_change>[+-]\d{1,12}), GPU (?P<gpu_change>[+-]\d{1,12}), "
    r"now: CPU (?P<cpu>-?\d{1,12}), GPU (?P<gpu>-?\d{1,12}) \(MiB\)"
)
_SNAPSHOT = re.compile(
    r"\[MemUsageSnapshot\] (?P<event>.+?): CPU (?P<cpu>\d{1,12}) MiB, GPU (?P<gpu>\d{1,12}) MiB"
)
_PEAK = re.compile(
    r"\[MemUsageStats\] Peak memory usage of .*: CPU (?P<cpu>\d{1,12}) MiB, GPU (?P<gpu>\d{1,12}) MiB"
)
_LAYER = re.compile(
    r"Layer: (?P<name>.+) Host Persistent: (?P<host>\d{1,18})(?: bytes)? Device Persistent: (?P<device>\d{1,18})(?: bytes)? "
    r"Scratch Memory: (?P<scratch>\d{1,18})(?: bytes)?\s*$"
)
_OLD_LAYER = re.compile(
    r"Layer: (?P<name>.+?)(?: Weights: \d{1,18})? HostPersistent: (?P<host>\d{1,18}) "
    r"DevicePersistent: (?P<device>\d{1,18})\s*$"
)
"""Up to 8.0, which does not print the scratch memory; 7.x also prints the weights."""
_SILENT = re.compile(r"Skipped printing memory information for (?P<layers>\d{1,9}) layers")
_TOTAL = re.compile(
    r"(?:Total|Max) (?P<what>Host Persistent|Device Persistent|Scratch|Activation|Weights) Memory: (?P<bytes>\d{1,18})"
)
_MIB = re.compile(r"(?P<mib>\d[\d.eE+-]*) MiB\s*$")
_TOTALS = {
    "Host Persistent": "host_persistent_bytes",
    "Device Persistent": "device_persistent_bytes",
    "Scratch": "scratch_bytes",
    "Activation": "activation_bytes",
    "Weights": "weights_bytes",
}
_UNREADABLE = re.compile(r"Could not read cache from: (?P<file>.+?)\. A new cache")
_CACHE_FILE = re.compile(
    r"(?P<verb>Loaded|Saved) (?P<bytes>\d{1,18}) bytes of timing cache (?:from|to) (?P<file>.+?)\s*$"
)
_ENTRIES = re.compile(r"Serialized (?P<entries>\d{1,12}) timing cache entries")
_DELETED = re.compile(r"Deleting timing cache: (?P<entries>\d{1,12}) entries, served (?P<hits>\d{1,12}) hits")
_STREAMS = re.compile(
    r"\[MS\] Number of (?P<what>streams used|aux streams|events used) is (?P<count>\d{1,6})"
)
_DISABLED = re.compile(r"\[MS\] Multi stream is disabled (?:because|as) (?P<why>.+?)\s*$")
_AUXILIARY = re.compile(r"The engine uses (?P<count>\d{1,6}) auxiliary streams")
_LIST_HEAD = re.compile(r"-+ Layers running on (?P<device>DLA|GPU):")
_PLACED = re.compile(r"\[(?P<device>Dla|Gpu)Layer\] (?:[A-Z][A-Z0-9_]*: )?(?P<name>.+?)\s*$")
_FALLBACKS = (
    re.compile(r"Layer '(?P<layer>.+)' \(\w+\): Unsupported on DLA"),
    re.compile(r"Default DLA is enabled but layer (?P<layer>.+) is not (?:supported|running) on DLA"),
    re.compile(r"DLA supports only \d+ subgraphs per DLA core\..* for layer (?P<layer>.+?)\s*$"),
    re.compile(
        r"DLA only supports FP16 and Int8 precision type\. Switching (?P<layer>.+?) device type to GPU"
    ),
    re.compile(r"Validation failed for DLA layer: (?P<layer>.+?)\. Switching to GPU"),
)
_STREAM_COUNTS = {"streams used": "streams", "aux streams": "auxiliary", "events used": "events"}
_LONGEST_WARNING = 4000
_MOST_PLACED = 200_000


class Resources:
    """Collects memory, timing cache, streams and DLA of a build. `strategy` and `at_s` as in `Tuner`."""

    def __init__(self) -> None:
        self.points: list[MemoryPoint] = []
        self.layers: list[LayerMemory] = []
        self.totals: dict[int | None, MemoryTotals] = {}
        self.peak: tuple[int, int] | None = None
        self.context_bytes: int | None = None
        self.engine_bytes: int | None = None
        self.engine_mib: int | None = None
        self.cache = TimingCache()
        self._streams: dict[int | None, Streams] = {}
        self.strategy: int | None = None
        self.at_s: float | None = None
        self._dla: list[str] = []
        self._gpu: list[str] = []
        self._fallbacks: list[DlaFallback] = []
        self.workspace_shortage: int | None = None
        self.listed_device = ""
        """Device of the layers listed in the next message, as TensorRT 7 prints them."""
        self._about_dla = ""

    @property
    def dla(self) -> Dla:
        return Dla(tuple(self._dla), tuple(self._gpu), tuple(self._fallbacks))

    def usage(self, line: int, message: str) -> None:
        if match := _CHANGE.match(message) or _SNAPSHOT.match(message):
            fields = match.groupdict()
            cpu, gpu = (int(fields[key]) if key in fields else None for key in ("cpu_change", "gpu_change"))
            event = match["event"]
            managed = event.startswith("TensorRT-managed")
            self.points.append(
                MemoryPoint(line, event, self.at_s, int(match["cpu"]), int(match["gpu"]), cpu, gpu, managed)
            )
        elif match := _PEAK.match(message):
            self.peak = (int(match["cpu"]), int(match["gpu"]))

    def layer(self, line: int, message: str) -> None:
        if match := _LAYER.match(message) or _OLD_LAYER.match(message):
            sizes = match.groupdict()
            scratch = int(sizes["scratch"]) if "scratch" in sizes else None
            held = (int(sizes["host"]), int(sizes["device"]), scratch)
            self.layers.append(LayerMemory(line, self.strategy, match["name"], *held))

    def total(self, _line: int, message: str) -> None:
        known = self.totals.get(self.strategy) or MemoryTotals(self.strategy)
        if match := _TOTAL.match(message):
            self.totals[self.strategy] = known._replace(**{_TOTALS[match["what"]]: int(match["bytes"])})
        elif match := _SILENT.match(message):
            self.totals[self.strategy] = known._replace(silent_layers=int(match["layers"]))

    def size(self, message: str) -> None:
        """Parse the size of the execution context or the engine, in MiB."""
        match = _MIB.search(message[:_LONGEST_SENTENCE])
        if match is None:
            return
        try:
            size = round(float(match["mib"]) * 2**20)
        except (ValueError, OverflowError):
            return
        if "device memory size" in message:
            self.context_bytes = size
        elif message.startswith("Loaded engine size"):
            self.engine_mib = size >> 20  # printed as whole MiB
        else:
            self.engine_bytes = size

    def about_cache(self, _line: int, message: str) -> None:
        cache = self.cache
        if message.startswith(("Local timing cache", "Global timing cache")):
            self.cache = cache._replace(mode=message.partition(" ")[0].lower())
        elif match := _UNREADABLE.match(message):
            self.cache = cache._replace(unreadable=match["file"])
        elif match := _CACHE_FILE.match(message):
            size = int(match["bytes"])
            if match["verb"] == "Loaded":
                self.cache = cache._replace(file=match["file"], loaded_bytes=size)
            else:
                self.cache = cache._replace(file=match["file"], saved_bytes=size)
        elif match := _ENTRIES.match(message):
            self.cache = cache._replace(entries=int(match["entries"]))
        elif match := _DELETED.match(message):
            hits = (cache.hits or 0) + int(match["hits"])
            self.cache = cache._replace(entries=int(match["entries"]), hits=hits)

    def about_streams(self, message: str) -> None:
        known = self._streams.get(self.strategy) or Streams()
        if match := _STREAMS.match(message):
            change: dict[str, Any] = {_STREAM_COUNTS[match["what"]]: int(match["count"])}
            self._streams[self.strategy] = known._replace(**change)
        elif match := _DISABLED.match(message):
            why = known.disabled_because or match["why"]
            self._streams[self.strategy] = known._replace(disabled_because=why)
        elif match := _AUXILIARY.match(message):
            self._streams[self.strategy] = known._replace(auxiliary=int(match["count"]))

    def streams(self, strategy: int | None) -> Streams:
        """Return the streams of a candidate engine, or of a loaded engine."""
        return self._streams.get(strategy) or self._streams.get(None) or Streams()

    def lacks_workspace(self, line: int, message: str) -> None:
        """Parse `Some tactics do not have sufficient workspace memory to run`, of any verbosity up to 8.x."""
        if "sufficient workspace memory" in message:
            self.workspace_shortage = self.workspace_shortage or line

    def begin_placement(self) -> None:
        """Forget the lists of an earlier engine: calibration builds its own first."""
        self._dla.clear()
        self._gpu.clear()

    def placed(self, _line: int, message: str) -> None:
        match = _PLACED.match(message)
        if match is not None and len(self._dla) + len(self._gpu) < _MOST_PLACED:
            (self._dla if match["device"] == "Dla" else self._gpu).append(match["name"])

    def begin_list(self, message: str) -> None:
        """Parse `--- Layers running on DLA:` of TensorRT 7; the next message lists their names."""
        match = _LIST_HEAD.match(message)
        self.listed_device = match["device"] if match else ""

    def listed(self, message: str) -> None:
        names = self._dla if self.listed_device == "DLA" else self._gpu
        parts = (
            part.strip(" ,") for part in message.split(", ")
        )  # commas within a name are not followed by a blank
        names += [part for part in parts if part][: _MOST_PLACED - len(names)]
        self.listed_device = ""

    def about_dla(self, line: int, message: str) -> None:
        """Parse a warning that mentions DLA: a fallback, or the reason for the next one."""
        text = message[:_LONGEST_WARNING]
        for pattern in _FALLBACKS:
            if match := pattern.search(text):
                layer = match["layer"]
                reason = self._about_dla if layer and layer in self._about_dla else ""
                if len(self._fallbacks) < _MOST_PLACED:
                    self._fallbacks.append(DlaFallback(line, layer, message, reason))
                self._about_dla = ""
                return
        self._about_dla = message


_LABELS = (
    "Throughput",
    "Latency",
    "End-to-End Host Latency",
    "Enqueue Time",
    "H2D Latency",
    "GPU Compute Time",
    "D2H Latency",
    "Total Host Walltime",
    "Total GPU Compute Time",
)
_AVERAGE = re.compile(
    r"Average on (?P<runs>\d{1,9}) runs - GPU latency: (?P<gpu>\S+) ms - Host latency: (?P<host>\S+) ms "
    r"\((?:end to end (?P<end>\S+) ms, )?enqueue (?P<enqueue>\S+) ms\)"
)
_OMITTED = re.compile(r"\.\.\. Omitting (?P<lines>\d{1,12}) lines")
_PROFILE_HEAD = re.compile(r"Profile \((?P<iterations>\d{1,18}) iterations")
_NUMBER = re.compile(r"(?:\d[\d.eE+-]*|-?nan|-?inf)$")
_BINDING = re.compile(
    r"(?:Created )?(?P<side>[Ii]nput|[Oo]utput) binding for (?P<name>.+) with dimensions (?P<dims>\S+)"
    r"(?: and type (?P<dtype>\S+) is created\.)?\s*$"
)


class Results:
    """Collects the results of one run."""

    def __init__(self) -> None:
        self.bindings: list[PrintedBinding] = []
        self._values: dict[str, str] = {}
        self._values_line = 0
        self._warnings: list[str] = []
        self._explanations: dict[str, str] = {}
        self._trace: TraceAverages | None = None
        self._omitted = 0
        self._profile_line = 0
        self._iterations: int | None = None
        self._median = False
        self._name_first = False
        self._rows: list[ProfileRow] = []
        self._total: ProfileRow | None = None

    def holds(self, block: str) -> bool:
        """Return whether this run has printed a block, or one after it: `trace`, `summary` or `profile`."""
        if block == "trace":
            return self._trace is not None or bool(self._values)
        return bool(self._values if block == "summary" else block == "profile" and self._rows)

    # --- performance summary --------------------------------------------------------------------------------------

    def begin_summary(self, line: int) -> None:
        self._values, self._values_line, self._warnings = {}, line, []

    def in_summary(self, severity: str, message: str) -> None:
        label, colon, value = message.partition(": ")
        if colon and label in _LABELS and severity == "I":
            self._values[label] = value.strip()
        elif message.startswith("* "):
            self._warnings.append(message[2:].strip())
        elif message.startswith("  ") and self._warnings:
            self._warnings[-1] += " " + message.strip()

    def explained(self, message: str) -> None:
        label, colon, text = message.partition(": ")
        if colon and len(self._explanations) < 100:
            self._explanations[label] = text.strip()

    # --- trace ----------------------------------------------------------------------------------------------------

    def begin_trace(self, line: int) -> None:
        self._trace = TraceAverages(line, array("I"), array("d"), array("d"), array("d"), array("d"))
        self._omitted = 0

    def averaged(self, line: int, message: str) -> None:
        if match := _OMITTED.match(message):
            self._omitted += int(match["lines"])
        match = _AVERAGE.match(message)
        if match is None:
            return
        if self._trace is None:
            self.begin_trace(line)
        trace = self._trace
        if trace is None:
            return
        trace.runs.append(min(int(match["runs"]), 2**32 - 1))
        trace.gpu_ms.append(parse_float(match["gpu"]))
        trace.host_ms.append(parse_float(match["host"]))
        trace.enqueue_ms.append(parse_float(match["enqueue"]))
        trace.end_to_end_ms.append(parse_float(match["end"]) if match["end"] else math.nan)

    # --- profile --------------------------------------------------------------------------------------------------

    def begin_profile(self, line: int, heading: str) -> None:
        match = _PROFILE_HEAD.match(heading)
        self._profile_line = line
        self._iterations = int(match["iterations"]) if match else None
        self._rows, self._total = [], None
        self._median = self._name_first = False

    def profiled(self, message: str) -> bool:
        """Parse a row of the profile table; False after its end."""
        if "Time(ms)" in message or "Time (ms)" in message:
            self._median = "Median" in message
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
        count = 4 if self._median else 3
        parts = message.rsplit(None, count) if self._name_first else message.split(None, count)
        if len(parts) != count + 1:
            return None
        name, numbers = (parts[0], parts[1:]) if self._name_first else (parts[-1], parts[:-1])
        if not all(map(_NUMBER.match, numbers)):
            return None
        values = [value if math.isfinite(value) else None for value in map(parse_float, numbers)]
        median = values.pop(2) if self._median else None
        return ProfileRow(name.strip(), values[0], values[1], median, values[2])

    # --- the rest -------------------------------------------------------------------------------------------------

    def bound(self, line: int, message: str) -> None:
        if match := _BINDING.match(message):
            is_input = match["side"].lower() == "input"
            self.bindings.append(PrintedBinding(line, match["name"], is_input, match["dims"], match["dtype"]))

    @property
    def performance(self) -> Performance | None:
        if not self._values:
            return None
        return Performance(
            self._values_line, dict(self._values), tuple(self._warnings), dict(self._explanations)
        )

    @property
    def trace(self) -> TraceAverages | None:
        trace = self._trace
        if trace is None or not trace.runs:
            return None
        return trace._replace(omitted=self._omitted)

    @property
    def profile(self) -> ProfileTable | None:
        if not self._profile_line:
            return None
        return ProfileTable(self._profile_line, self._iterations, tuple(self._rows), self._total)
