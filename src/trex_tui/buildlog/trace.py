"""`BuildTrace`: the content of a log of trtexec or of the builder, as immutable objects (named tuples for long lists).

Every part has its line in the log (`line`, from 1), so that a number can be looked up. Values missing in the log are None or
empty. `strategy` is the number of the backend strategy of a part: TensorRT 8.6 and later name strategies, 10 builds several
candidate engines in sequence and keeps one; None if no strategy is named.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.artifacts.profile import ProfileRow
from trex_tui.buildlog.layer_tuning import InsertedReformat, LayerTuning, ReformatCost, parse_id
from trex_tui.buildlog.log_options import StatedOptions
from trex_tui.errors import Note


class Run(NamedTuple):
    """One run of a program, between its banners.

    Attributes:
        program: `TensorRT.trtexec`, or the name of another program of NVIDIA's samples.
        tensorrt_version: Decoded from the banner; None for 7.x.
        build: `b11` of 10.4 and later, as a number.
        command: The command line of the banner.
        status: `PASSED`, `FAILED` or `WAIVED`; None without such a banner: the run died, or the log is truncated.
    """

    line: int
    program: str
    tensorrt_version: str | None
    build: int | None
    command: str
    status: str | None

    @property
    def loads_engine(self) -> bool:
        """True if the run loaded an engine from a file instead of building one."""
        return "--loadEngine" in self.command


@dataclass(frozen=True, slots=True)
class Performance:
    """`=== Performance summary ===`, as printed.

    Attributes:
        values: Label (`Latency`, `Throughput`, …) -> text after the colon; `metadata.parse_latency` reads the pairs.
        warnings: The sentences with a star after the summary, each with its advice.
        explanations: Label -> definition, from a verbose log.
    """

    line: int
    values: dict[str, str]
    warnings: tuple[str, ...] = ()
    explanations: dict[str, str] = field(default_factory=dict)


class TraceAverages(NamedTuple):
    """`Average on N runs`, one entry per line, in milliseconds; NaN if a line has no such number.

    Attributes:
        omitted: Queries that trtexec omitted (`... Omitting N lines`, 9.1 and later, which counts queries).
    """

    line: int
    runs: array[int]
    gpu_ms: array[float]
    host_ms: array[float]
    enqueue_ms: array[float]
    end_to_end_ms: array[float]
    omitted: int = 0


class ProfileTable(NamedTuple):
    """`=== Profile (N iterations ) ===`, from `--dumpProfile`.

    Attributes:
        rows: In execution order, without `Total`; rounded as printed, less precise than `--exportProfile`.
        total: The row `Total`; None if the log ends before it.
    """

    line: int
    iterations: int | None
    rows: tuple[ProfileRow, ...]
    total: ProfileRow | None = None


class MeasuredRun(NamedTuple):
    """A run in the log that printed a performance summary or a profile table.

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
    is_shown: bool = False


class DumpForm(str, Enum):
    """Form of a list of layers, the most detailed last."""

    NAMES = "names"
    """`--dumpLayerInfo` of an engine without detailed verbosity."""
    BUILDER = "builder"
    """`Engine Layer Information` of a verbose build: types, tactics, tensors."""
    INSPECTOR = "inspector"
    """`--dumpLayerInfo` of an engine with detailed verbosity, or a printed result of `IEngineInspector`: all JSON keys."""


class DumpedLayer(NamedTuple):
    """A layer of the final engine, as the builder printed it.

    Attributes:
        raw: The layer as an object of `--exportLayerInfo`, with the keys that the log has.
    """

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

    @property
    def tactic_id(self) -> int | None:
        """The 64-bit number of the tactic; None if unknown."""
        value = self.raw.get("TacticValue")
        return parse_id(value) if isinstance(value, str) else None


class LayerDump(NamedTuple):
    """The final layers of the engine.

    Attributes:
        bindings: Names after `Bindings:`; empty for the builder's form.
    """

    line: int
    form: DumpForm
    layers: tuple[DumpedLayer, ...]
    bindings: tuple[str, ...] = ()


class PrintedBinding(NamedTuple):
    """`Input binding for x with dimensions 1x3x224x224 and type fp32 is created.`

    Attributes:
        dimensions: `1x3x224x224`, `-1` for dynamic extents; empty if not printed.
        dtype: None up to 8.x, which does not print it.
    """

    line: int
    name: str
    is_input: bool
    dimensions: str
    dtype: str | None


class PhaseKind(str, Enum):
    """Subject of a printed duration. `ENGINE_BUILD` contains the others up to `ENGINE_GENERATION`, which is per strategy."""

    PARSING = "ONNX parsing"
    GRAPH_CONSTRUCTION = "graph construction"
    GRAPH_OPTIMIZATION = "graph optimization"
    CALIBRATION = "calibration"
    SUBGRAPH_COMPILATION = "subgraph compilation"
    """One Myelin layer; part of `TACTIC_SELECTION`."""
    TACTIC_SELECTION = "formats and tactics selection"
    STREAM_SPLITTING = "multi-stream splitting"
    ENGINE_GENERATION = "engine generation"
    """From graph optimization to the engine, for one strategy."""
    ENGINE_BUILD = "engine build"
    """Whole build, as timed by trtexec."""
    LOADING = "engine loading"
    """From the file: up to 8.2 with the deserialization, which later versions print separately."""
    DESERIALIZATION = "engine deserialization"
    INFERENCE = "inference"
    """The measured part of the run, without warm-up."""


class Phase(NamedTuple):
    """A duration printed in the log.

    Attributes:
        layer: Layer of a `SUBGRAPH_COMPILATION`.
        ended_s: Time stamp of the line, in seconds since the log's first; None without time stamps.
    """

    line: int
    kind: PhaseKind
    seconds: float
    strategy: int | None = None
    layer: str | None = None
    ended_s: float | None = None


class FusionKind(str, Enum):
    """Effect of a pass on a layer."""

    FUSED = "fused"
    REMOVED = "removed"
    CONVERTED = "converted"
    """The layer type changed: `Convert layer type of X from A to B`, `Swap the layer type …`."""
    TRIED = "tried"
    """`Running: F on X` without a result in the log."""


class Fusion(NamedTuple):
    """One step of a graph pass.

    Attributes:
        rule: `ConvReluFusion`, …; empty if not in the log.
        layer: The layer that the pass processed.
        other: For `FUSED`, the layer fused with it.
        from_type, to_type: For `CONVERTED`.
    """

    line: int
    kind: FusionKind
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
        fusions: Steps since the previous count.
    """

    line: int
    strategy: int | None
    name: str
    layers: int | None
    fusions: tuple[Fusion, ...] = ()


class StrategyVerdict(str, Enum):
    """Result of a backend strategy."""

    INITIAL = "initial"
    CHOSEN = "chosen"
    """Faster than the previous strategy, and replaces it."""
    SKIPPED = "skipped"
    ONLY = "only"
    """Not compared with another strategy in the log."""


class BackendStrategy(NamedTuple):
    """A candidate engine.

    Attributes:
        number: Number in the log.
        estimate: `estimated inference time`; the log prints no unit, so it is only good for comparison.
    """

    line: int
    number: int
    verdict: StrategyVerdict
    estimate: float | None = None


class MemoryPoint(NamedTuple):
    """A log line with memory in use.

    Attributes:
        event: `Init CUDA`, `TensorRT-managed allocation in building engine`, …
        at_s: Time stamp in seconds since the log's first; None without time stamps.
        cpu_mib, gpu_mib: In use afterwards: by the process and on the device, or (`is_managed`) by TensorRT's allocators.
        cpu_change_mib, gpu_change_mib: None for a snapshot.
        is_managed: Whether it counts TensorRT's own allocations only.
    """

    line: int
    event: str
    at_s: float | None
    cpu_mib: int
    gpu_mib: int
    cpu_change_mib: int | None
    gpu_change_mib: int | None
    is_managed: bool


class LayerMemory(NamedTuple):
    """`Layer: X Host Persistent: … Device Persistent: … Scratch Memory: …`; up to 8.0 without scratch (None)."""

    line: int
    strategy: int | None
    name: str
    host_persistent_bytes: int
    device_persistent_bytes: int
    scratch_bytes: int | None


class MemoryTotals(NamedTuple):
    """Memory of an engine as summed by the builder; None where not printed.

    Attributes:
        scratch_bytes: `Total Scratch Memory`, since 10 `Max Scratch Memory`.
        activation_bytes: `Total Activation Memory`, the last one printed: that of the optimized block assignment.
        silent_layers: Number of layers without a line because their memory is 0; None if not printed.
    """

    strategy: int | None
    host_persistent_bytes: int | None = None
    device_persistent_bytes: int | None = None
    scratch_bytes: int | None = None
    activation_bytes: int | None = None
    weights_bytes: int | None = None
    silent_layers: int | None = None


class TimingCache(NamedTuple):
    """State of the timing cache.

    Attributes:
        mode: `local` or `global`; None if not printed.
        loaded_bytes, saved_bytes: Size of the cache file read and written; None without a file.
        unreadable: Name of a file that `Could not read cache from`; None without such a line.
        entries: Last printed number of entries (`Deleting timing cache`, `Serialized … entries`).
        hits: `served N hits`, over all deleted caches; None if not printed.
        cached_results: Number of lines with `got cached result`.
    """

    mode: str | None = None
    loaded_bytes: int | None = None
    saved_bytes: int | None = None
    file: str | None = None
    unreadable: str | None = None
    entries: int | None = None
    hits: int | None = None
    cached_results: int = 0


class Streams(NamedTuple):
    """Multi-stream execution (10.x); None where not printed."""

    streams: int | None = None
    auxiliary: int | None = None
    events: int | None = None
    disabled_because: str | None = None


class DlaFallback(NamedTuple):
    """A layer requested on DLA that DLA cannot run.

    Attributes:
        layer: Its name; empty if the message has none.
        message: The whole message.
        reason: The preceding message about the same layer, if any.
    """

    line: int
    layer: str
    message: str
    reason: str = ""


class Dla(NamedTuple):
    """Layers by device. Up to 8.x the lists are printed for GPU-only builds too: then `dla_layers` is empty."""

    dla_layers: tuple[str, ...] = ()
    gpu_layers: tuple[str, ...] = ()
    fallbacks: tuple[DlaFallback, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """Warnings or errors that differ only in names and numbers, counted.

    Attributes:
        severity: `W`, `E` or `F`.
        text: The first message, with its continuation lines.
        count: Number of messages.
        line, last_line: Lines of the first and last message.
        is_trtexec: Printed by trtexec itself, not by the library.
    """

    severity: str
    text: str
    count: int
    line: int
    last_line: int
    is_trtexec: bool


class OnnxHeader(NamedTuple):
    """The parser's block about the model; label (`Input filename`, `Opset version`, …) -> value, verbatim."""

    line: int
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class BuildTrace:
    """Content of a log.

    Attributes:
        path: The file.
        is_whole: False for the result of `read_outline`: then there are no tunings, no costs of reformats, and no layers in
            phases; everything else is complete.
        lines: Number of lines.
        runs: The runs, by their banners. A log of several builds describes the last build; results come from its run and
            later runs. A log without a build describes the last run.
        shown_run: The run of `options`, phases and passes; None if it has no banner.
        timed_run: The run of `performance`, else of `profile`, else the last run; None likewise.
        tensorrt_version: Printed version, else decoded from the banner, else from a library's name; None if all are missing.
        tensorrt_library: Name of that library; None if the version is printed.
        stated_seconds: From the first to the last time stamp; None without time stamps.
        began_s: The first time stamp, in seconds since 1970 in the time zone of the log; None without time stamps.
        options, onnx, phases, passes, strategies: See their types.
        run_options: Options of `timed_run`; equal to `options` if the build itself was timed, and in a log of one run.
        tunings: Tuning per layer, in the log's order, over all strategies.
        has_names: False if the names of kernels were not read.
        kernel_names: Tactic number -> kernel name, as far as printed; without numbers that have several names.
        reformat_costs, reformats: Measured costs of layout changes, and the inserted reformats.
        non_conforming: Names in `For layer X a non-conforming implementation was chosen than was requested`.
        memory, layer_memory, memory_totals: Memory of the build; totals by strategy.
        peak_cpu_mib, peak_gpu_mib: `Peak memory usage of TRT CPU/GPU memory allocators`.
        context_bytes: `Created execution context with device memory size`, in bytes, as precise as printed.
        engine_bytes: `Created engine with size` or `Loaded engine with size`, likewise.
        engine_mib: `Loaded engine size`, which is printed in whole MiB, rounded down.
        cache, streams, dla: See their types.
        workspace_shortage: Line that states that tactics lack workspace, without their number; None without one.
        messages: Warnings and errors, grouped, in order of appearance.
        dumps: The lists of layers, at most one of each form, the last of each.
        performance, trace, profile: Results of the last measured run, or of the requested one; None without results.
        measured: All runs with measurements, including those of other engines.
        chosen_shapes: Messages of `timed_run` about input shapes that trtexec chose because none was given.
        network_inputs, network_outputs: Names as the ONNX parser of a verbose build prints them.
        network_tensors: The same with shapes and types, as far as printed.
        bindings: Bindings that trtexec created for the engine.
        notes: Unreadable parts and other notes.
    """

    path: Path
    is_whole: bool = True
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
    onnx: OnnxHeader | None = None
    phases: tuple[Phase, ...] = ()
    passes: tuple[OptimizerPass, ...] = ()
    strategies: tuple[BackendStrategy, ...] = ()
    tunings: tuple[LayerTuning, ...] = ()
    has_names: bool = True
    kernel_names: Mapping[int, str] = field(default_factory=dict)
    reformat_costs: tuple[ReformatCost, ...] = ()
    reformats: tuple[InsertedReformat, ...] = ()
    non_conforming: tuple[str, ...] = ()
    memory: tuple[MemoryPoint, ...] = ()
    layer_memory: tuple[LayerMemory, ...] = ()
    memory_totals: tuple[MemoryTotals, ...] = ()
    peak_cpu_mib: int | None = None
    peak_gpu_mib: int | None = None
    context_bytes: int | None = None
    engine_bytes: int | None = None
    engine_mib: int | None = None
    cache: TimingCache = field(default_factory=TimingCache)
    streams: Streams = field(default_factory=Streams)
    dla: Dla = field(default_factory=Dla)
    workspace_shortage: int | None = None
    messages: tuple[Message, ...] = ()
    dumps: tuple[LayerDump, ...] = ()
    performance: Performance | None = None
    trace: TraceAverages | None = None
    profile: ProfileTable | None = None
    measured: tuple[MeasuredRun, ...] = ()
    chosen_shapes: tuple[str, ...] = ()
    network_inputs: tuple[str, ...] = ()
    network_outputs: tuple[str, ...] = ()
    network_tensors: tuple[PrintedBinding, ...] = ()
    bindings: tuple[PrintedBinding, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def winner(self) -> int | None:
        """Number of the strategy whose engine was kept; None if no strategy is named."""
        for verdict in (StrategyVerdict.CHOSEN, StrategyVerdict.INITIAL, StrategyVerdict.ONLY):
            numbers = [strategy.number for strategy in self.strategies if strategy.verdict is verdict]
            if numbers:
                return numbers[-1]
        return None

    @property
    def dump(self) -> LayerDump | None:
        """The most detailed list of layers; None without a list."""
        order = list(DumpForm)
        return max(self.dumps, key=lambda dump: order.index(dump.form), default=None)

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
    def fusions(self) -> tuple[Fusion, ...]:
        """Return every step of every pass, over all strategies."""
        return tuple(fusion for graph_pass in self.passes for fusion in graph_pass.fusions)

    def count_messages(self) -> Counter[str]:
        """Return the number of messages by severity letter."""
        counts: Counter[str] = Counter()
        for message in self.messages:
            counts[message.severity] += message.count
        return counts
