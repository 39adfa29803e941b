"""Facts of an engine shared by all rules, computed once (types, bytes, rates, neighbours), and phrases for messages.

Shared definitions keep the rules consistent about which layers are quantized or fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

from trex_tui.old.analysis import trtexec_runs
from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.compute import Compute
from trex_tui.old.analysis.device import DeviceModel
from trex_tui.old.analysis.roofline import Roofline, RooflinePoint, latency_floor_ms
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.analysis.timing import TimingStatistics, timing_statistics
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.attributes import GROUPS
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Link
from trex_tui.old.engine.tactics import Tactic, parse_tactic
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import printable, shorten_middle, shorten_name_list

if TYPE_CHECKING:  # the reader of logs takes 25 ms to import, and most sets have no log
    from trex_tui.old.analysis.build import LayerChoice
    from trex_tui.old.buildlog import BuildTrace
    from trex_tui.old.lint.model import Check, Finding, NotChecked

_NO_PROFILE = "no layer times: run trtexec with --exportProfile and --separateProfileRun"
_NO_DETAILS = "no layer details: build with --profilingVerbosity=detailed and export with --exportLayerInfo"
_NO_TIMING = "no timing run: run trtexec with --exportTimes, or keep its log or performance summary"
NO_BUILD_LOG = (
    "needs the verbose build log: build with trtexec --verbose and keep its output as NAME.build.log in the "
    "set"
)
TIMED_ALONE = "Tuning times are a few runs of each tactic alone, not latencies in the engine."

_NAME_WIDTH = 60


def quote(name: str) -> str:
    """Return a name for a sentence: without control characters, and at most half a line long."""
    return f"'{shorten_middle(printable(shorten_name_list(name)), _NAME_WIDTH)}'"


def quote_layer(layer: Layer) -> str:
    """Return a layer's name for a sentence."""
    return quote(layer.name)


def latencies(layers: Iterable[Layer]) -> dict[int, float]:
    """Return the savings if layers were removed: index -> milliseconds. Layers without a time are left out."""
    return {layer.index: layer.latency_ms for layer in layers if layer.latency_ms is not None}


def format_time(milliseconds: float | None, share_pct: float | None = None) -> str:
    """Return `0.0412 ms, 3.1 %` for the middle of a sentence; `time unknown` without a profile."""
    if milliseconds is None:
        return "time unknown"
    text = f"{milliseconds:.4g} ms"
    return text if share_pct is None else f"{text}, {share_pct:.1f} %"


def takes_time(layer: Layer) -> bool:
    """Return whether a layer may take time: true without a profile, false for a measured time of 0."""
    return layer.latency_ms is None or layer.latency_ms > 0


# Public documents that rules refer to, by name and address.

_TENSORRT = "https://docs.nvidia.com/deeplearning/tensorrt"
_PERFORMANCE = "https://docs.nvidia.com/deeplearning/performance"

TENSOR_CORES = (
    "TensorRT Developer Guide, Optimizing for Tensor Cores: "
    f"{_TENSORRT}/developer-guide/index.html#optimize-tensor-cores"
)
CONVOLUTION_GUIDE = (
    f"Convolutional Layers User's Guide: {_PERFORMANCE}/dl-performance-convolutional/index.html"
)
MATRIX_GUIDE = (
    "Matrix Multiplication Background User's Guide: "
    f"{_PERFORMANCE}/dl-performance-matrix-multiplication/index.html"
)
CUTLASS = (
    "CUTLASS, Functionality (Simt: CUDA cores, TensorOp: tensor cores): "
    "https://docs.nvidia.com/cutlass/media/docs/cpp/functionality.html"
)
QUANTIZED_TYPES = (
    f"TensorRT, Working with Quantized Types: {_TENSORRT}/latest/inference-library/work-quantized-types.html"
)
RESIDUAL_QDQ = (
    "TensorFlow Quantization Toolkit, Add Custom QDQ Insertion Case: "
    f"{_TENSORRT}/tensorflow-quantization-toolkit/docs/docs/add_custom_qdq_cases.html"
)
FUSIONS = f"TensorRT, Layer Fusion Catalog: {_TENSORRT}/latest/performance/fusion-catalog.html"
TRTEXEC = f"TensorRT, Command-Line Programs: {_TENSORRT}/latest/reference/command-line-programs.html"
COMMAND_LINE_PROGRAMS = (
    "Command-Line Programs (trtexec): "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html"
)
BEST_PRACTICES = (
    "Best Practices for TensorRT Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/best-practices.html"
)
BUILDER_PERFORMANCE = (
    "Optimizing Builder Performance: "
    "https://docs.nvidia.com/deeplearning/tensorrt/10.16.1/performance/builder-performance.html"
)
FUSION_CATALOG = (
    "Layer Fusion Catalog, TensorRT documentation: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/performance/fusion-catalog.html"
)
WORKSPACE_FAQ = (
    "Frequently Asked Questions, workspace size: "
    "https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/troubleshooting-faq.html"
)


def issue(number: int) -> str:
    """Return the reference to a thread of NVIDIA/TensorRT."""
    return f"NVIDIA/TensorRT#{number}: https://github.com/NVIDIA/TensorRT/issues/{number}"


QUANTIZED = frozenset({DataType.INT8, DataType.FP8, DataType.FP4, DataType.INT4})
FLOATING = frozenset({DataType.FP32, DataType.TF32, DataType.FP16, DataType.BF16})
REDUCED = frozenset({DataType.FP16, DataType.BF16}) | QUANTIZED
"""Types that normally run on tensor cores."""
TRANSPARENT = frozenset(
    {
        LayerKind.REFORMAT,
        LayerKind.SCALE,
        LayerKind.SHUFFLE,
        LayerKind.QUANTIZE,
        LayerKind.NOOP,
        LayerKind.SYNC,
    }
)
"""Kinds that a search for the nearest product passes through."""
MOVEMENT = frozenset(
    {
        LayerKind.REFORMAT,
        LayerKind.POINTWISE,
        LayerKind.POOLING,
        LayerKind.SHUFFLE,
        LayerKind.SLICE,
        LayerKind.FUSED,
    }
)
"""Kinds whose time is limited by the bytes they move, for large tensors."""
TERSE = "the build log is not verbose: build with trtexec --verbose, to log tactics and choices"
BIG_COPY_BYTES = 1_000_000
"""Size in bytes from which the transfers of a layer indicate the memory bandwidth."""


@dataclass
class Context:
    """An engine with the facts used by rules.

    Attributes:
        engine: The engine.
        thresholds: Thresholds changed by the configuration, by name: `CONV003.waste_pct`.
        answers: Results of rules.
    """

    engine: Engine
    thresholds: Mapping[str, float] = field(default_factory=dict)
    answers: dict[tuple[str, Check], list[Finding | NotChecked]] = field(default_factory=dict)

    def threshold(self, name: str, default: float) -> float:
        """Return a threshold of a rule that does not declare it, from the configuration or the default."""
        return self.thresholds.get(name, default)

    @property
    def layers(self) -> Sequence[Layer]:
        return self.engine.layers

    @cached_property
    def total_ms(self) -> float | None:
        return self.engine.latency_sum_ms

    def pct(self, ms: float | None) -> float | None:
        return None if ms is None or not self.total_ms else 100.0 * ms / self.total_ms

    def share_pct(self, layer: Layer) -> float:
        """Return a layer's time in percent of the sum over layers; 0 if unknown."""
        return self.pct(layer.latency_ms) or 0.0

    def total_share_pct(self, layers: Iterable[Layer]) -> float | None:
        return self.pct(sum_latency_ms(layers))

    def format_time(self, *layers: Layer) -> str:
        """Return `0.0412 ms, 3.1 %`: the total time of layers."""
        total = sum_latency_ms(layers)
        return format_time(total, self.pct(total))

    @cached_property
    def _layers_by_kind(self) -> dict[LayerKind, list[Layer]]:
        by_kind: dict[LayerKind, list[Layer]] = {}
        for layer in self.layers:
            by_kind.setdefault(layer.kind, []).append(layer)
        return by_kind

    def select(self, *kinds: LayerKind) -> list[Layer]:
        """Return the layers of some kinds, in execution order."""
        chosen = [layer for kind in set(kinds) for layer in self._layers_by_kind.get(kind, ())]
        return sorted(chosen, key=attrgetter("index")) if len(kinds) > 1 else chosen

    @cached_property
    def multiplying(self) -> list[Layer]:
        """Return convolutions, deconvolutions, GEMMs and attention."""
        return self.select(*(kind for kind in LayerKind if kind.multiplies))

    @cached_property
    def opaque_blocks(self) -> list[Layer]:
        """Return Myelin subgraphs with unknown content, as TensorRT 8 and 9 list them."""
        return [layer for layer in self.select(LayerKind.MYELIN) if layer.layer_type not in (None, "kgen")]

    @property
    def has_profile(self) -> bool:
        return bool(self.total_ms)

    @cached_property
    def has_details(self) -> bool:
        """True if layers have more than names."""
        return any(layer.layer_type is not None for layer in self.layers)

    @cached_property
    def compute(self) -> tuple[Compute, ...]:
        return derived(self.engine).compute

    @cached_property
    def roofline(self) -> Roofline:
        return derived(self.engine).roofline

    @cached_property
    def device(self) -> DeviceModel:
        return self.roofline.device

    def point(self, layer: Layer) -> RooflinePoint | None:
        return self.roofline.points.get(layer.index)

    @cached_property
    def timing(self) -> TimingStatistics | None:
        """End-to-end times; None without rows or a summary."""
        return timing_statistics(self.engine)

    @cached_property
    def floor_ms(self) -> float | None:
        """Time of the shortest layers; None with too few timed layers."""
        return latency_floor_ms(self.layers)

    def tactic(self, layer: Layer) -> Tactic | None:
        """Return the parsed tactic; None if it has no name or an unknown form."""
        return parse_tactic(layer.tactic)

    # Build log

    @cached_property
    def build_trace(self) -> BuildTrace | None:
        """Content of the build log; None without a log. Read on first use."""
        return trtexec_runs.read_trace(self.engine, ArtifactKind.BUILD_LOG)

    @property
    def log(self) -> BuildTrace:
        """Return the same, for rules that require it."""
        assert self.build_trace is not None
        return self.build_trace

    @cached_property
    def choices(self) -> tuple[LayerChoice, ...]:
        """Tactic choice of each layer, by index; empty without a log."""
        trace = self.build_trace
        if trace is None:
            return ()
        from trex_tui.old.analysis.build import layer_choices

        return layer_choices(trace, self.engine)

    @cached_property
    def layers_by_tuning(self) -> Mapping[str, tuple[Layer, ...]]:
        """Name of a layer as the builder tuned it -> the layers of the engine made from it."""
        layers_by_name: dict[str, list[Layer]] = {}
        for layer, choice in zip(self.layers, self.choices, strict=True):
            layers_by_name.setdefault(choice.tuning.name if choice.tuning else layer.name, []).append(layer)
        return {name: tuple(layers) for name, layers in layers_by_name.items()}

    # Types

    @cached_property
    def _input_types(self) -> list[DataType | None]:
        return [
            next((tensor.dtype for tensor in layer.inputs if tensor.name not in layer.constant_inputs), None)
            if layer.constant_inputs
            else layer.inputs[0].dtype
            if layer.inputs
            else None
            for layer in self.layers
        ]

    def input_type(self, layer: Layer) -> DataType | None:
        """Return the type of the first input that is not a constant."""
        return self._input_types[layer.index]

    def is_quantized(self, layer: Layer) -> bool:
        return self.input_type(layer) in QUANTIZED

    def is_reduced(self, layer: Layer) -> bool:
        return self.input_type(layer) in REDUCED

    def groups(self, layer: Layer) -> int:
        return GROUPS(layer) or 1

    def channels(self, layer: Layer) -> int | None:
        """Return the channels of a convolution's first input; None if dynamic or unknown."""
        shape = layer.inputs[0].shape if layer.inputs else ()
        return shape[1] if len(shape) >= 3 and shape[1] > 0 else None

    def is_matrix_vector(self, layer: Layer) -> bool:
        """Return whether the product has one row or one column, so that reading the weights is all of its work."""
        return layer.index in self._matrix_vectors

    @cached_property
    def _matrix_vectors(self) -> frozenset[int]:
        products = enumerate(self.compute)
        vectors = [(index, product) for index, product in products if product.m == 1 or product.n == 1]
        return frozenset(index for index, product in vectors if product.batch in (1, None))

    # Bytes and rates

    @cached_property
    def _sizes(self) -> list[int | None]:
        """Return sizes as `bytes`; those of layers in the roofline are known already."""
        points = self.roofline.points
        return [
            points[layer.index].bytes if layer.index in points else layer.footprint_allocated_bytes
            for layer in self.layers
        ]

    def bytes(self, layer: Layer) -> int | None:
        """Return all bytes a layer accesses, with padding."""
        return self._sizes[layer.index]

    @cached_property
    def best_copy_bytes_per_ms(self) -> float | None:
        """95th percentile of bytes over time among large movement layers: the measured memory bandwidth."""
        floor = self.floor_ms or 0.0
        rates = sorted(
            size / layer.latency_ms
            for layer in self.layers
            if layer.kind in MOVEMENT
            and layer.latency_ms
            and layer.latency_ms >= 10 * floor
            and (size := self.bytes(layer)) is not None
            and size >= BIG_COPY_BYTES
        )
        return rates[min(len(rates) - 1, int(0.95 * len(rates)))] if rates else None

    @cached_property
    def bandwidth_bytes_per_ms(self) -> float | None:
        """Bandwidth of the device, else the best copy of this engine; None if neither is known."""
        stated = self.device.peak_bandwidth_bytes_per_s
        return stated / 1000 if stated else self.best_copy_bytes_per_ms

    # Neighbours

    def producers(self, layer: Layer) -> list[Layer]:
        """Return the layers that feed a layer, each once, in execution order."""
        return self._ends(self.engine.producers(layer), attrgetter("source"))

    def consumers(self, layer: Layer) -> list[Layer]:
        return self._ends(self.engine.consumers(layer), attrgetter("target"))

    def _ends(self, links: Sequence[Link], end: Callable[[Link], int]) -> list[Layer]:
        if len(links) == 1:
            return [self.layers[end(links[0])]]
        return [self.layers[index] for index in sorted(set(map(end, links)))]

    @cached_property
    def network_tensors(self) -> frozenset[str]:
        return frozenset(binding.name for binding in self.engine.bindings)

    def reads_network_input(self, layer: Layer) -> bool:
        """Return whether a layer reads an input of the network that no layer writes."""
        named = [tensor.name for tensor in layer.inputs if tensor.name in self.network_tensors]
        return bool(named) and not {link.tensor for link in self.engine.producers(layer)}.issuperset(named)

    @cached_property
    def _output_writers(self) -> frozenset[int]:
        network = self.network_tensors
        writers = (layer for layer in self.layers for tensor in layer.outputs if tensor.name in network)
        return frozenset(layer.index for layer in writers)

    def writes_network_output(self, layer: Layer) -> bool:
        return layer.index in self._output_writers


# Requirements of rules


def no_details(context: Context) -> str:
    """Why layers have no types, shapes and tactics."""
    return context.engine.explain_absence(_NO_DETAILS, ArtifactKind.GRAPH)


def no_profile(context: Context) -> str:
    """Why layers have no times."""
    return context.engine.explain_absence(_NO_PROFILE, ArtifactKind.PROFILE)


def no_timing_rows(context: Context, missing: str) -> str:
    """Why single queries are unknown: the damage of the timing file, or what is `missing`."""
    return context.engine.explain_absence(missing, ArtifactKind.TIMING)


def no_timing(context: Context) -> str:
    """Why there is no timing run."""
    return context.engine.explain_absence(_NO_TIMING, ArtifactKind.TIMING, ArtifactKind.PROFILE_LOG)


def details(context: Context) -> str:
    """Types, shapes and tactics of layers."""
    return "" if context.has_details else no_details(context)


def profile(context: Context) -> str:
    """Times of layers."""
    return "" if context.has_profile else no_profile(context)


def build_log(context: Context) -> str:
    """The log of the build at any verbosity."""
    if ArtifactKind.BUILD_LOG not in context.engine.files:
        return NO_BUILD_LOG
    if context.build_trace is None:
        return "the build log cannot be read"
    if context.log.only_loads:
        return f"the log is from a run that loaded the engine, not from its build: this {NO_BUILD_LOG}"
    return ""


def verbose_log(context: Context) -> str:
    """The log of the build with all that the builder tried."""
    return build_log(context) or ("" if context.log.is_verbose else TERSE)
