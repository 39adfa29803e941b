"""`BuildTrace`: the content of a log, as records of plain values that `pandas.DataFrame(records)` takes as they are.

Every record has its line in the log (`line`, from 1), so that a number can be looked up. Values that the log does not have
are None or empty. `strategy` is the number of the backend strategy of a record: TensorRT 8.6 and later name strategies, 10
builds several candidate engines in sequence and keeps one; None if no strategy is named. Seconds count from the log's first
time stamp; None without time stamps.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from trex_tui.artifacts.profile import ProfileRow
from trex_tui.buildlog.lines import Run
from trex_tui.buildlog.tactics import InsertedReformat, LayerTuning, ReformatCost, SkippedTactic
from trex_tui.errors import Note

# --- runs and their results --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StatedOptions:
    """The sections `=== … Options ===` and `=== Device Information ===` of one run: label -> value, whole and verbatim.

    Values of a label that repeats within a section, and lines below a label without a value, are joined by `, `.
    """

    model: dict[str, str] = field(default_factory=dict)
    build: dict[str, str] = field(default_factory=dict)
    system: dict[str, str] = field(default_factory=dict)
    inference: dict[str, str] = field(default_factory=dict)
    reporting: dict[str, str] = field(default_factory=dict)
    device: dict[str, str] = field(default_factory=dict)


_VARIATION = re.compile(r"coefficient of varia(?:nce|tion) = ([\d.]+)%")


class Performance(NamedTuple):
    """`=== Performance summary ===`, or the lines of it that the log has.

    Attributes:
        values: Label (`Latency`, `Throughput`, …) -> text after the colon; `artifacts.metadata.parse_latency` reads the
            pairs. The blocks of TensorRT 7 are converted to these labels.
        warnings: The sentences with a star after the summary, each with its advice.
    """

    line: int
    values: dict[str, str]
    warnings: tuple[str, ...] = ()

    @property
    def variation_pct(self) -> float | None:
        """Coefficient of variation of the GPU compute time, which trtexec states if it is unstable; None otherwise."""
        match = next(filter(None, map(_VARIATION.search, self.warnings)), None)
        return float(match[1]) if match else None


class TraceAverage(NamedTuple):
    """`Average on N runs`, in milliseconds; None where the line has no such number."""

    line: int
    runs: int
    gpu_ms: float | None
    host_ms: float | None
    enqueue_ms: float | None
    end_to_end_ms: float | None


class Bursts(NamedTuple):
    """Groups of `Average on N runs` that are at least 5 % above the median GPU time.

    Attributes:
        slow_ms: Mean of the slow groups.
        every: Groups from the first of some slow groups to the first of the next ones, on the average.
    """

    median_ms: float
    slow_ms: float
    slow_groups: int
    groups: int
    every: float


_SLOW, _FEWEST_BURSTS, _LARGEST_SHARE = 1.05, 3, 0.5


def find_bursts(averages: tuple[TraceAverage, ...]) -> Bursts | None:
    """Return the bursts of slow queries in the averages of a run; None if there are less than three, or if most are slow."""
    times = [row.gpu_ms for row in averages if row.gpu_ms is not None]
    typical = median(times) if times else 0.0
    slow = [place for place, time in enumerate(times) if time > _SLOW * typical]
    starts = [place for place, before in zip(slow, (-2, *slow), strict=False) if before != place - 1]
    if len(starts) < _FEWEST_BURSTS or len(slow) > _LARGEST_SHARE * len(times):
        return None
    every = (starts[-1] - starts[0]) / (len(starts) - 1)
    return Bursts(typical, fmean(times[place] for place in slow), len(slow), len(times), every)


class ProfileTable(NamedTuple):
    """`=== Profile (N iterations ) ===`, from `--dumpProfile`.

    Attributes:
        rows: In execution order, without `Total`; rounded as printed, less precise than `--exportProfile`.
        total: The row `Total`; None if the log ends before it.
        decimals: Decimals of the average times: 4, or 2 up to TensorRT 7.
    """

    line: int
    iterations: int | None
    rows: tuple[ProfileRow, ...]
    total: ProfileRow | None = None
    decimals: int = 4


class MeasuredRun(NamedTuple):
    """A run in the log with a measurement: a performance summary, a profile table, or trace averages.

    Attributes:
        number: Position among these runs, from 1.
        line: Line of its first result.
        run: Its banner; None if missing.
        inference: Its inference options, label -> value.
        is_shown: Whether the trace has the results of this run.
    """

    number: int
    line: int
    run: Run | None
    inference: dict[str, str]
    performance: Performance | None
    profile: ProfileTable | None
    averages: tuple[TraceAverage, ...] = ()
    is_shown: bool = False


class PrintedBinding(NamedTuple):
    """An input or output of the network, as trtexec, the ONNX parser or Ultralytics prints it.

    Attributes:
        dimensions: `1x3x224x224`, `-1` for dynamic ones; empty if not printed.
        dtype: None if not printed, as up to 8.x for the bindings of an engine.
    """

    line: int
    name: str
    is_input: bool
    dimensions: str
    dtype: str | None


class Request(NamedTuple):
    """A type or device that was requested for layers by their names.

    Attributes:
        layer: Name, or a pattern with `*`.
        value: `fp32`, `fp16+fp32` for several outputs, `GPU`, `DLA`.
        constraints: `obey` or `prefer`; empty if precisions are not constrained, and for devices.
    """

    kind: Literal["precision", "output type", "device"]
    layer: str
    value: str
    constraints: str


# --- lists of layers ---------------------------------------------------------------------------------------------------

ListForm = Literal["names", "builder", "inspector"]
LIST_FORMS: tuple[ListForm, ...] = ("names", "builder", "inspector")
"""Forms of a list of layers, the most detailed last: `--dumpLayerInfo` of an engine without detailed verbosity; `Engine Layer
Information` of a verbose build (types, tactics, tensors); `--dumpLayerInfo` of a detailed engine, or a printed result of
`IEngineInspector` (all JSON keys)."""


class ListedLayer(NamedTuple):
    """A layer of the final engine: `raw` is an object of `--exportLayerInfo`, with the keys that the log has."""

    line: int
    raw: dict[str, Any]

    @property
    def name(self) -> str:
        name: str = self.raw["Name"]
        return name

    @property
    def layer_type(self) -> str | None:
        """`CaskConvolution`, `Reformat`, `NoOp`, …; None if only the name is known."""
        return self.raw.get("LayerType")


class LayerList(NamedTuple):
    """The final layers of the engine.

    Attributes:
        bindings: Names of the network's inputs and outputs after `Bindings:`; empty in the builder's form.
        io_tensors: TensorRT 11's `I/O Tensors` as objects of `--exportLayerInfo`; empty before.
    """

    line: int
    form: ListForm
    layers: tuple[ListedLayer, ...]
    bindings: tuple[str, ...] = ()
    io_tensors: tuple[dict[str, Any], ...] = ()


# --- the builder -------------------------------------------------------------------------------------------------------

PhaseKind = Literal[
    "ONNX parsing",
    "graph construction",
    "graph optimization",
    "calibration",
    "subgraph compilation",
    "formats and tactics selection",
    "multi-stream splitting",
    "engine generation",
    "engine build",
    "engine loading",
    "engine deserialization",
    "inference",
]
"""Subjects of printed durations. `engine build` is the whole build by trtexec's clock; `engine generation`, from graph
optimization to the engine, is per strategy, and contains those before it except for parsing; `subgraph compilation` is of one
Myelin layer, within the selection of tactics. `engine loading` contains the deserialization up to 8.2."""


class Phase(NamedTuple):
    """A duration printed in the log; `layer` is that of a `subgraph compilation`."""

    line: int
    kind: PhaseKind
    seconds: float
    strategy: int | None = None
    layer: str | None = None
    ended_s: float | None = None


class Fusion(NamedTuple):
    """One step of a graph pass.

    Attributes:
        rule: `ConvReluFusion`, …; empty if not in the log.
        layer, other: The layer that the pass processed, and the one fused with it.
        from_type, to_type: Of a conversion.
    """

    line: int
    kind: Literal["fused", "removed", "converted"]
    rule: str
    layer: str
    other: str | None = None
    from_type: str | None = None
    to_type: str | None = None


class OptimizerPass(NamedTuple):
    """A pass, or a group of passes: the steps up to a line that counts the layers.

    Attributes:
        name: `Original`, `dead-layer removal`, `vertical fusions`, `reformat layers`, …
        layers: Number of layers afterwards; None if the log ends before it.
    """

    line: int
    strategy: int | None
    name: str
    layers: int | None
    fusions: tuple[Fusion, ...] = ()


class BackendStrategy(NamedTuple):
    """A candidate engine.

    Attributes:
        verdict: `initial`, `chosen` (faster than the previous strategy, and replaces it), `skipped`, or `only` without a
            comparison in the log.
        estimate: `estimated inference time`; the log prints no unit, so it is only good for comparison.
    """

    line: int
    number: int
    verdict: Literal["initial", "chosen", "skipped", "only"]
    estimate: float | None = None


class MemoryPoint(NamedTuple):
    """A log line with memory in use.

    Attributes:
        event: `Init CUDA`, `TensorRT-managed allocation in building engine`, …
        cpu_mib, gpu_mib: In use afterwards: by the process and on the device, or (`is_managed`) by TensorRT's allocators.
        cpu_change_mib, gpu_change_mib: None for a snapshot.
    """

    line: int
    event: str
    at_s: float | None
    cpu_mib: int
    gpu_mib: int
    cpu_change_mib: int | None
    gpu_change_mib: int | None
    is_managed: bool


class MemoryTotals(NamedTuple):
    """Memory of an engine as summed by the builder.

    Attributes:
        scratch_bytes: `Total Scratch Memory`, since 10 `Max Scratch Memory`.
        activation_bytes: `Total Activation Memory`, the last one printed: that of the optimized block assignment.
    """

    strategy: int | None
    host_persistent_bytes: int | None = None
    device_persistent_bytes: int | None = None
    scratch_bytes: int | None = None
    activation_bytes: int | None = None
    weights_bytes: int | None = None


class ContextMemory(NamedTuple):
    """Memory that an execution context allocates, as a run prints it.

    Attributes:
        context_bytes: `Created execution context with device memory size`, which holds the activations.
        activation_bytes: `Allocated activation device memory`, of a verbose log.
        device_persistent_bytes: `Total per-runner device persistent memory`, likewise.
    """

    context_bytes: int | None = None
    activation_bytes: int | None = None
    device_persistent_bytes: int | None = None


class TimingCache(NamedTuple):
    """State of the timing cache.

    Attributes:
        mode: `local` or `global`.
        saved_bytes: Size of the cache file written.
        unreadable: Name of a file that `Could not read cache from`.
        entries: Last printed number of entries (`Deleting timing cache`, `Serialized … entries`).
        hits: `served N hits`, over all deleted caches.
        cached_results: Number of lines with `got cached result`.
    """

    mode: str | None = None
    saved_bytes: int | None = None
    file: str | None = None
    unreadable: str | None = None
    entries: int | None = None
    hits: int | None = None
    cached_results: int = 0


class Streams(NamedTuple):
    """Multi-stream execution (10.x)."""

    streams: int | None = None
    disabled_because: str | None = None


class DlaFallback(NamedTuple):
    """A layer requested on DLA that runs on the GPU.

    Attributes:
        layer: Its name; empty if the message is about all layers.
        layer_type: `SHUFFLE`, `MATRIX_MULTIPLY`, …; empty if the message does not state it.
        reason: `unsupported on DLA`, `limit of 16 subgraphs per DLA core`, …: equal for equal causes.
        detail: The preceding message about the same layer.
    """

    line: int
    layer: str
    layer_type: str
    reason: str
    message: str
    detail: str = ""


class Dla(NamedTuple):
    """Layers by device. Up to 8.x the lists are printed for GPU-only builds too: then `dla_layers` is empty.

    Attributes:
        subgraph_limit: Number of subgraphs that one DLA core supports, if it was reached; the rest runs on the GPU.
    """

    dla_layers: tuple[str, ...] = ()
    gpu_layers: tuple[str, ...] = ()
    fallbacks: tuple[DlaFallback, ...] = ()
    subgraph_limit: int | None = None

    @property
    def by_reason(self) -> Counter[tuple[str, str]]:
        """Return the number of fallbacks by reason and type of the layer."""
        return Counter((fallback.reason, fallback.layer_type) for fallback in self.fallbacks)


@dataclass(frozen=True, slots=True)
class Message:
    """Warnings (W) or errors (E, F) that differ only in names and numbers, counted.

    Attributes:
        text: The first message, with its continuation lines.
        line, last_line: Lines of the first and last message.
        is_trtexec: Printed by trtexec or another program, not by the library.
    """

    severity: str
    text: str
    count: int
    line: int
    last_line: int
    is_trtexec: bool


# --- the whole ---------------------------------------------------------------------------------------------------------

_NO_CONTEXT, _NO_CACHE, _NO_STREAMS, _NO_DLA = ContextMemory(), TimingCache(), Streams(), Dla()


@dataclass(frozen=True, slots=True)
class BuildTrace:
    """Content of a log. A log of several builds describes the last build; results come from its run and later runs. A log
    without a build describes the last run.

    Attributes:
        runs: The runs, by their banners.
        shown_run: The run of `options`, phases and passes; None if it has no banner.
        timed_run: The run of `performance`, else of `profile`, else the last run; None likewise.
        tensorrt_version: Printed version, else decoded from the banner, else from a library's name (`tensorrt_library`).
        stated_seconds: From the first to the last time stamp.
        began_s: The first time stamp, in seconds since 1970 in the time zone of the log.
        options: Printed options of `shown_run`; those of its command line where no section is printed.
        run_options: Options of `timed_run`; equal to `options` if the build itself was timed, and in a log of one run.
        has_printed_options: False if `options` come from the command line alone.
        requests: Types and devices requested for layers by name.
        onnx: The parser's block about the model; label (`Input filename`, `Opset version`, …) -> value, verbatim.
        tunings: Tuning per layer, in the log's order, over all strategies.
        skipped: Tactics that were not timed, over all layers, also where the log does not name the layer.
        kernel_names: Tactic number -> kernel name, as far as printed; without numbers that have several names.
        reformat_costs, reformats: Measured costs of layout changes, and the inserted reformats.
        non_conforming: Names in `For layer X a non-conforming implementation was chosen than was requested`.
        memory, memory_totals: Memory of the build; totals by strategy.
        engine_bytes: `Created engine with size` or `Loaded engine with size`, as precise as printed.
        engine_mib: `Loaded engine size`, which is printed in whole MiB, rounded down.
        workspace_shortage: Line that states that tactics lack workspace, without their number.
        messages: In order of appearance.
        layer_lists: At most one of each form, the last of each; the most detailed last.
        performance, averages, profile: Results of the last measured run, or of the requested one.
        queries: Number of queries in the timing trace of that run.
        omitted_queries: Queries without a line of averages (`... Omitting N lines`, 9.1 and later, which counts queries).
        measured: All runs with measurements, including those of other engines.
        chosen_shapes: Messages of `timed_run` about input shapes that trtexec chose because none was given.
        network_tensors: Inputs and outputs of the network, as the ONNX parser or Ultralytics prints them.
        bindings: Bindings that trtexec created for the engine.
        notes: Unreadable parts and other notes.
    """

    path: Path
    lines: int = 0
    runs: tuple[Run, ...] = ()
    shown_run: Run | None = None
    timed_run: Run | None = None
    tensorrt_version: str | None = None
    tensorrt_library: str | None = None
    stated_seconds: float | None = None
    began_s: int | None = None
    options: StatedOptions = field(default_factory=StatedOptions)
    run_options: StatedOptions = field(default_factory=StatedOptions)
    has_printed_options: bool = False
    requests: tuple[Request, ...] = ()
    onnx: Mapping[str, str] = field(default_factory=dict)
    phases: tuple[Phase, ...] = ()
    passes: tuple[OptimizerPass, ...] = ()
    strategies: tuple[BackendStrategy, ...] = ()
    tunings: tuple[LayerTuning, ...] = ()
    skipped: tuple[SkippedTactic, ...] = ()
    kernel_names: Mapping[str, str] = field(default_factory=dict)
    reformat_costs: tuple[ReformatCost, ...] = ()
    reformats: tuple[InsertedReformat, ...] = ()
    non_conforming: tuple[str, ...] = ()
    memory: tuple[MemoryPoint, ...] = ()
    memory_totals: tuple[MemoryTotals, ...] = ()
    context: ContextMemory = _NO_CONTEXT
    engine_bytes: int | None = None
    engine_mib: int | None = None
    cache: TimingCache = _NO_CACHE
    streams: Streams = _NO_STREAMS
    dla: Dla = _NO_DLA
    workspace_shortage: int | None = None
    messages: tuple[Message, ...] = ()
    layer_lists: tuple[LayerList, ...] = ()
    performance: Performance | None = None
    averages: tuple[TraceAverage, ...] = ()
    omitted_queries: int = 0
    queries: int | None = None
    profile: ProfileTable | None = None
    measured: tuple[MeasuredRun, ...] = ()
    chosen_shapes: tuple[str, ...] = ()
    network_tensors: tuple[PrintedBinding, ...] = ()
    bindings: tuple[PrintedBinding, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def winner(self) -> int | None:
        """Number of the strategy whose engine was kept; None if no strategy is named."""
        for verdict in ("chosen", "initial", "only"):
            numbers = [strategy.number for strategy in self.strategies if strategy.verdict == verdict]
            if numbers:
                return numbers[-1]
        return None

    @property
    def layer_list(self) -> LayerList | None:
        """The most detailed list of layers; None without a list."""
        return self.layer_lists[-1] if self.layer_lists else None

    @property
    def shown_number(self) -> int | None:
        """Number of the measured run with the results of this trace; None without results."""
        return next((measured.number for measured in self.measured if measured.is_shown), None)

    @property
    def only_loads(self) -> bool:
        """True if the described run loads an engine, so that the log has no information about a build."""
        if self.shown_run is None:
            return bool(self.options.build.get("Load engine"))
        return self.shown_run.loads_engine

    @property
    def is_verbose(self) -> bool:
        """True if the log has the builder's trials."""
        return bool(self.tunings or self.passes)

    @property
    def has_errors(self) -> bool:
        """True if a message is an error."""
        return any(message.severity in "EF" for message in self.messages)

    @property
    def is_empty(self) -> bool:
        """True if the log has nothing of TensorRT: no run, no message of the library that is kept."""
        records = (
            self.runs,
            self.messages,
            self.phases,
            self.passes,
            self.tunings,
            self.memory,
            self.memory_totals,
            self.layer_lists,
        )
        results = (self.measured, self.skipped, self.options.build, self.network_tensors, self.engine_mib)
        return not any((*records, *results, self.dla.dla_layers, self.dla.gpu_layers))

    @property
    def fusions(self) -> tuple[Fusion, ...]:
        """Return every step of every pass, over all strategies."""
        return tuple(fusion for graph_pass in self.passes for fusion in graph_pass.fusions)

    def count_messages(self) -> Counter[str]:
        """Return the number of messages by severity letter."""
        counts: Counter[str] = Counter()
        for message in self.messages:
            counts[message.severity] += message.count
        return counts
