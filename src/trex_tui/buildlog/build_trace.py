"""What a log tells about a run: command line and options, performance summary, trace averages, time per layer, layers.

`BuildTrace`: everything that a log of trtexec or of the builder tells, in plain immutable objects (named tuples
where there are many).

Every part says on which line of the log it stands (`line`, from 1), so that a number can be looked up. What a log does not
tell is None or empty. `strategy` is the number of the backend strategy a part belongs to: TensorRT 8.6 and later name them,
10 builds several candidate engines one after the other and keeps one; None where no strategy is named.
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
from trex_tui.errors import Diagnostic


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a program, between its banners.

    Attributes:
        program: `TensorRT.trtexec`, or the name of another program of NVIDIA's samples.
        tensorrt_version: As decoded from the banner; None for 7.x.
        build: `b11` of 10.4 and later, as a number.
        command: The command line, as the banner has it.
        status: `PASSED`, `FAILED` or `WAIVED`; None if there is no such banner: the run died, or the log is cut off.
    """

    line: int
    program: str
    tensorrt_version: str | None
    build: int | None
    command: str
    status: str | None

    @property
    def loads_engine(self) -> bool:
        """Whether it ran an engine out of a file, and built none."""
        return "--loadEngine" in self.command


@dataclass(frozen=True, slots=True)
class Performance:
    """`=== Performance summary ===`, as printed.

    Attributes:
        values: Label (`Latency`, `Throughput`, …) -> everything behind the colon; `metadata.parse_latency` reads the pairs.
        warnings: The sentences with a star behind the summary, each with its advice.
        explanations: Label -> definition, out of a verbose log.
    """

    line: int
    values: dict[str, str]
    warnings: tuple[str, ...] = ()
    explanations: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceAverages:
    """`Average on N runs`, one entry per line, in milliseconds; NaN where a line has no such number.

    Attributes:
        omitted: Queries that trtexec left out (`... Omitting N lines`, 9.1 and later, which counts queries).
    """

    line: int
    runs: array[int]
    gpu_ms: array[float]
    host_ms: array[float]
    enqueue_ms: array[float]
    end_to_end_ms: array[float]
    omitted: int = 0


@dataclass(frozen=True, slots=True)
class ProfileTable:
    """`=== Profile (N iterations ) ===`, out of `--dumpProfile`.

    Attributes:
        rows: In execution order, without `Total`; rounded as printed, coarser than `--exportProfile`.
        total: The row of that name; None if the log ends before.
    """

    line: int
    iterations: int | None
    rows: tuple[ProfileRow, ...]
    total: ProfileRow | None = None


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One of the runs of a log that printed a performance summary or a profile table.

    Attributes:
        number: Position among these runs, from 1.
        line: Of its first result.
        run: Its banner; None where that is lost.
        inference: Its inference options, label -> value.
        is_shown: Whether the results of the trace are those of this run.
    """

    number: int
    line: int
    run: Run | None
    inference: dict[str, str]
    performance: Performance | None
    profile: ProfileTable | None
    is_shown: bool = False


class DumpForm(str, Enum):
    """Which of three lists of layers it is, the richest last."""

    NAMES = "names"
    """`--dumpLayerInfo` of an engine without detailed verbosity."""
    BUILDER = "builder"
    """`Engine Layer Information` of a verbose build: types, tactics, tensors."""
    INSPECTOR = "inspector"
    """`--dumpLayerInfo` of an engine with detailed verbosity, or what `IEngineInspector` returned to a program that
    printed it: all that the JSON has."""


@dataclass(frozen=True, slots=True)
class DumpedLayer:
    """A layer as the builder printed it in the end, which is what runs.

    Attributes:
        raw: The layer as an object of `--exportLayerInfo`, with the keys that the log fills.
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
        """Its 64 bits; None if not told."""
        value = self.raw.get("TacticValue")
        return parse_id(value) if isinstance(value, str) else None


@dataclass(frozen=True, slots=True)
class LayerDump:
    """The final layers of the engine.

    Attributes:
        bindings: Names behind `Bindings:`; empty for the builder's form.
    """

    line: int
    form: DumpForm
    layers: tuple[DumpedLayer, ...]
    bindings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PrintedBinding:
    """`Input binding for x with dimensions 1x3x224x224 and type fp32 is created.`

    Attributes:
        dimensions: `1x3x224x224`, `-1` for dynamic ones; empty where they are not printed.
        dtype: None up to 8.x, which does not print it.
    """

    line: int
    name: str
    is_input: bool
    dimensions: str
    dtype: str | None


class PhaseKind(str, Enum):
    """What a stated duration is of. `ENGINE_BUILD` contains the others up to `ENGINE_GENERATION`, which is per strategy."""

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
    """trtexec's time of the whole build."""
    LOADING = "engine loading"
    """From the file: up to 8.2 with the deserialization, which later versions state of its own."""
    DESERIALIZATION = "engine deserialization"
    INFERENCE = "inference"
    """The measured part of the run, without warm-up."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A duration that the log states.

    Attributes:
        layer: The layer it is about, for `SUBGRAPH_COMPILATION`.
        ended_s: Time stamp of the line, in seconds since the log's first; None without stamps.
    """

    line: int
    kind: PhaseKind
    seconds: float
    strategy: int | None = None
    layer: str | None = None
    ended_s: float | None = None


class FusionKind(str, Enum):
    """What a pass did to a layer."""

    FUSED = "fused"
    REMOVED = "removed"
    CONVERTED = "converted"
    """Made a layer of another type: `Convert layer type of X from A to B`, `Swap the layer type …`."""
    TRIED = "tried"
    """`Running: F on X` without a word about what came of it."""


class Fusion(NamedTuple):
    """One step of a graph pass.

    Attributes:
        rule: `ConvReluFusion`, …; empty if not in the log.
        layer: The layer it was run on.
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


@dataclass(frozen=True, slots=True)
class OptimizerPass:
    """A pass, or a group of them: what happened up to a line that counts the layers.

    Attributes:
        name: `Original`, `dead-layer removal`, `vertical fusions`, `reformat layers`, …
        layers: How many layers there are afterwards; None if the log ends before it says so.
        fusions: What was done since the count before.
    """

    line: int
    strategy: int | None
    name: str
    layers: int | None
    fusions: tuple[Fusion, ...] = ()


class StrategyVerdict(str, Enum):
    """What became of a backend strategy."""

    INITIAL = "initial"
    CHOSEN = "chosen"
    """Faster than the one before, and taken instead."""
    SKIPPED = "skipped"
    ONLY = "only"
    """The log compares it with no other."""


@dataclass(frozen=True, slots=True)
class BackendStrategy:
    """A candidate engine.

    Attributes:
        number: As in the log.
        estimate: `estimated inference time`; the log states no unit, so it is for comparing alone.
    """

    line: int
    number: int
    verdict: StrategyVerdict
    estimate: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryPoint:
    """A line that tells memory in use.

    Attributes:
        event: `Init CUDA`, `TensorRT-managed allocation in building engine`, …
        at_s: Time stamp in seconds since the log's first; None without stamps.
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


@dataclass(frozen=True, slots=True)
class LayerMemory:
    """`Layer: X Host Persistent: … Device Persistent: … Scratch Memory: …`, up to 8.0 without scratch, which is None then."""

    line: int
    strategy: int | None
    name: str
    host_persistent_bytes: int
    device_persistent_bytes: int
    scratch_bytes: int | None


@dataclass(frozen=True, slots=True)
class MemoryTotals:
    """Memory of an engine as the builder sums it up; None where it does not say.

    Attributes:
        scratch_bytes: `Total Scratch Memory`, since 10 `Max Scratch Memory`.
        activation_bytes: `Total Activation Memory`, the last one printed: that of the optimized block assignment.
        silent_layers: Layers whose memory was not printed because it is 0; None if not stated.
    """

    strategy: int | None
    host_persistent_bytes: int | None = None
    device_persistent_bytes: int | None = None
    scratch_bytes: int | None = None
    activation_bytes: int | None = None
    weights_bytes: int | None = None
    silent_layers: int | None = None


@dataclass(frozen=True, slots=True)
class TimingCache:
    """What the log says about the timing cache.

    Attributes:
        mode: `local` or `global`; None if not told.
        loaded_bytes, saved_bytes: Size of the cache file read and written; None if none was.
        unreadable: Name of a file that `Could not read cache from`; None if there is no such line.
        entries: Of the cache when it was last counted (`Deleting timing cache`, `Serialized … entries`).
        hits: `served N hits`, over all caches deleted; None if not told.
        cached_results: How many lines say `got cached result`.
    """

    mode: str | None = None
    loaded_bytes: int | None = None
    saved_bytes: int | None = None
    file: str | None = None
    unreadable: str | None = None
    entries: int | None = None
    hits: int | None = None
    cached_results: int = 0


@dataclass(frozen=True, slots=True)
class Streams:
    """Multi-stream execution (10.x); None where not told."""

    streams: int | None = None
    auxiliary: int | None = None
    events: int | None = None
    disabled_because: str | None = None


@dataclass(frozen=True, slots=True)
class DlaFallback:
    """A layer that DLA was asked for and cannot run.

    Attributes:
        layer: Its name; empty if the message names none.
        message: The whole message.
        reason: The message before it about the same layer, where there is one.
    """

    line: int
    layer: str
    message: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Dla:
    """Which layers run where. The lists are printed for GPU-only builds too, up to 8.x: then `dla_layers` is empty."""

    dla_layers: tuple[str, ...] = ()
    gpu_layers: tuple[str, ...] = ()
    fallbacks: tuple[DlaFallback, ...] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """Warnings or errors that say the same but for names and numbers, counted.

    Attributes:
        severity: `W`, `E` or `F`.
        text: The first of them, with its continuation lines.
        count: How many there are.
        line, last_line: Of the first and the last.
        is_trtexec: Said by trtexec itself, not by the library.
    """

    severity: str
    text: str
    count: int
    line: int
    last_line: int
    is_trtexec: bool


@dataclass(frozen=True, slots=True)
class OnnxHeader:
    """The block that the parser prints about the model; label (`Input filename`, `Opset version`, …) -> value, verbatim."""

    line: int
    values: dict[str, str]


@dataclass(frozen=True, slots=True)
class BuildTrace:
    """Everything a log tells.

    Attributes:
        path: The file.
        is_whole: False for what `read_outline` makes of a log: then there are no tunings, no costs of reformats, and no
            layers in phases; all else is as in the whole.
        lines: How many lines it has.
        runs: The programs run, by their banners. A log of several builds describes the last one, and of a build that very
            run; results are of the runs from there on. A log of no build describes the last run.
        shown_run: The one that `options`, phases and passes are of; None if it has no banner.
        timed_run: The one that `performance` is of, else the one that `profile` is of, else the last; None likewise.
        tensorrt_version: As stated in words, else as decoded from the banner, else as a library's name has it; None without.
        tensorrt_library: The name of that library; None where the version is stated.
        stated_seconds: From the first to the last time stamp; None without stamps.
        began_s: The first time stamp, in seconds since 1970 in whatever zone it was printed; None without stamps.
        options, onnx, phases, passes, strategies: See there.
        run_options: The same sections of `timed_run`: those of `options` if the build itself was timed, and in a log of one
            run.
        tunings: What was tried for each layer, in the log's order, over all strategies.
        has_names: False where the names of kernels were not read.
        kernel_names: Tactic number -> name of its kernel, as far as the log names them; none for a number with several.
        reformat_costs, reformats: What changes of layout cost, and those that were made.
        non_conforming: Names in `For layer X a non-conforming implementation was chosen than was requested`.
        memory, layer_memory, memory_totals: Over the build; totals by strategy.
        peak_cpu_mib, peak_gpu_mib: `Peak memory usage of TRT CPU/GPU memory allocators`.
        context_bytes: `Created execution context with device memory size`, in bytes as far as the printed digits tell.
        engine_bytes: `Created engine with size` or `Loaded engine with size`, likewise.
        engine_mib: `Loaded engine size`, which is printed in whole MiB, rounded down.
        cache, streams, dla: See there.
        messages: Warnings and errors, grouped, in order of appearance.
        dumps: The lists of layers, at most one of each form, the last of each.
        performance, trace, profile: Of the last measured run, or of the one that was asked for; None if there is none.
        measured: All runs that measured, also those of other engines.
        chosen_shapes: What trtexec says in `timed_run` where it chose an input's shape because none was given.
        network_inputs, network_outputs: Names as the ONNX parser of a verbose build prints them.
        network_tensors: The same with shapes and types, as far as they are printed.
        bindings: What trtexec created to feed the engine.
        diagnostics: What could not be read, and what is worth knowing.
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
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def winner(self) -> int | None:
        """Number of the strategy whose engine was kept; None where no strategy is named."""
        for verdict in (StrategyVerdict.CHOSEN, StrategyVerdict.INITIAL, StrategyVerdict.ONLY):
            numbers = [strategy.number for strategy in self.strategies if strategy.verdict is verdict]
            if numbers:
                return numbers[-1]
        return None

    @property
    def dump(self) -> LayerDump | None:
        """The richest list of layers; None if there is none."""
        order = list(DumpForm)
        return max(self.dumps, key=lambda dump: order.index(dump.form), default=None)

    @property
    def shown_number(self) -> int | None:
        """Number of the measured run that the results are of; None if they are of none."""
        return next((measured.number for measured in self.measured if measured.is_shown), None)

    @property
    def only_loads(self) -> bool:
        """Whether the run it tells of loads an engine, so that it says nothing about a build."""
        if self.shown_run is None:
            return bool(self.options.build.get("Load engine"))
        return self.shown_run.loads_engine

    @property
    def is_verbose(self) -> bool:
        """Whether the log tells what the builder tried, so that there is something to look into."""
        return bool(self.tunings or self.passes)

    @property
    def fusions(self) -> tuple[Fusion, ...]:
        """Every step of every pass, over all strategies."""
        return tuple(fusion for graph_pass in self.passes for fusion in graph_pass.fusions)

    def count_messages(self) -> Counter[str]:
        """Messages by severity letter."""
        counts: Counter[str] = Counter()
        for message in self.messages:
            counts[message.severity] += message.count
        return counts
