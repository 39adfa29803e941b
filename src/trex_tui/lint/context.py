"""What rules ask of an engine, computed once: types, bytes, rates, and the neighbours that compute.

The definitions are those that every rule shares, so that two rules never disagree about what is quantized or fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from trex_tui.analysis.columns import derived
from trex_tui.analysis.compute import Compute
from trex_tui.analysis.device import DeviceModel
from trex_tui.analysis.roofline import Roofline, RooflinePoint, latency_floor_ms
from trex_tui.analysis.structure import sum_latency_ms
from trex_tui.analysis.timing import TimingStatistics, timing_statistics
from trex_tui.artifacts.naming import ArtifactKind
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.links import Link
from trex_tui.engine.model import Layer
from trex_tui.engine.tactics import Tactic, parse_tactic
from trex_tui.lint import trtexec_runs
from trex_tui.lint.lint_text import NO_BUILD_LOG, NO_DETAILS, NO_PROFILE, format_time

if TYPE_CHECKING:  # the reader of logs takes 25 ms to import, and most sets have no log
    from trex_tui.analysis.build import LayerChoice
    from trex_tui.buildlog import BuildTrace

QUANTIZED = frozenset({DataType.INT8, DataType.FP8, DataType.FP4, DataType.INT4})
FLOATING = frozenset({DataType.FP32, DataType.TF32, DataType.FP16, DataType.BF16})
REDUCED = frozenset({DataType.FP16, DataType.BF16}) | QUANTIZED
"""Types for which tensor cores are the rule."""
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
"""Kinds that a search for the nearest product looks through."""
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
"""Kinds whose time is that of the bytes they move, where there are enough of them."""
TERSE = "the build log is not verbose: build with trtexec --verbose, so that it tells what the builder tried and chose"
BIG_COPY_BYTES = 1_000_000
"""Movement of at least this size can show what the memory is able to do."""


@dataclass
class Context:
    """An engine as rules see it.

    Attributes:
        engine: The engine.
        thresholds: Numbers that a configuration changed, by name: `CONV003.waste_pct`.
    """

    engine: Engine
    thresholds: Mapping[str, float] = field(default_factory=dict)

    def threshold(self, name: str, default: float) -> float:
        """A number of a rule that does not declare it, as configured or its own."""
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
        """A layer's time in percent of the sum over layers; 0 if unknown."""
        return self.pct(layer.latency_ms) or 0.0

    def total_share_pct(self, layers: Iterable[Layer]) -> float | None:
        return self.pct(sum_latency_ms(layers))

    def format_time(self, *layers: Layer) -> str:
        """`0.0412 ms, 3.1 %`: the time of layers together."""
        total = sum_latency_ms(layers)
        return format_time(total, self.pct(total))

    def select(self, *kinds: LayerKind) -> list[Layer]:
        return [layer for layer in self.layers if layer.kind in kinds]

    @cached_property
    def multiplying(self) -> list[Layer]:
        """Convolutions, deconvolutions, GEMMs and attention."""
        return [layer for layer in self.layers if layer.kind.multiplies]

    @cached_property
    def opaque_blocks(self) -> list[Layer]:
        """Myelin subgraphs that do not tell what is inside, as TensorRT 8 and 9 list them."""
        return [layer for layer in self.select(LayerKind.MYELIN) if layer.layer_type not in (None, "kgen")]

    @property
    def has_profile(self) -> bool:
        return bool(self.total_ms)

    @cached_property
    def has_details(self) -> bool:
        """Whether layers have more than names."""
        return any(layer.layer_type is not None for layer in self.layers)

    @property
    def compute(self) -> tuple[Compute, ...]:
        return derived(self.engine).compute

    @property
    def roofline(self) -> Roofline:
        return derived(self.engine).roofline

    @property
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
        """What the shortest layers take; None with too few timed layers."""
        return latency_floor_ms(self.layers)

    def tactic(self, layer: Layer) -> Tactic | None:
        """The tactic taken apart; None if it has no name or none that can be read."""
        return parse_tactic(layer.tactic)

    # The log of the build

    @cached_property
    def build_trace(self) -> BuildTrace | None:
        """What the log of the build tells; None without one. The first to ask pays for reading it."""
        return trtexec_runs.read_trace(self.engine, ArtifactKind.BUILD_LOG)

    @property
    def log(self) -> BuildTrace:
        """The same, for rules that need it."""
        assert self.build_trace is not None
        return self.build_trace

    @cached_property
    def choices(self) -> tuple[LayerChoice, ...]:
        """How each layer came to its tactic, by index; empty without a log."""
        trace = self.build_trace
        if trace is None:
            return ()
        from trex_tui.analysis.build import layer_choices

        return layer_choices(trace, self.engine)

    @cached_property
    def layers_by_tuning(self) -> Mapping[str, tuple[Layer, ...]]:
        """Name of a layer as the builder tuned it -> the layers of the engine made from it."""
        found: dict[str, list[Layer]] = {}
        for layer, choice in zip(self.layers, self.choices, strict=True):
            found.setdefault(choice.tuning.name if choice.tuning else layer.name, []).append(layer)
        return {name: tuple(layers) for name, layers in found.items()}

    # Types

    def input_type(self, layer: Layer) -> DataType | None:
        return next((tensor.dtype for tensor in layer.data_inputs), None)

    def is_quantized(self, layer: Layer) -> bool:
        return self.input_type(layer) in QUANTIZED

    def is_reduced(self, layer: Layer) -> bool:
        return self.input_type(layer) in REDUCED

    def groups(self, layer: Layer) -> int:
        groups = layer.attributes.get("Groups", 1)
        return groups if isinstance(groups, int) and not isinstance(groups, bool) and groups > 0 else 1

    def channels(self, layer: Layer) -> int | None:
        """Channels of a convolution's first input; None while dynamic or unknown."""
        shape = layer.inputs[0].shape if layer.inputs else ()
        return shape[1] if len(shape) >= 3 and shape[1] > 0 else None

    def is_depthwise(self, layer: Layer) -> bool:
        """Whether each channel is convolved alone: no tensor-core kernel does that."""
        if "depthwise" in (layer.layer_type or "").lower():
            return True
        groups = self.groups(layer)
        return groups > 1 and groups == self.channels(layer)

    def is_matrix_vector(self, layer: Layer) -> bool:
        """Whether the product has one row or one column: then reading the weights is all of its work."""
        product = self.compute[layer.index]
        return 1 in (product.m, product.n) and product.batch in (1, None)

    # Bytes and rates

    def bytes(self, layer: Layer) -> int | None:
        """All that it touches, with padding."""
        return layer.footprint_allocated_bytes

    @cached_property
    def best_copy_bytes_per_ms(self) -> float | None:
        """The 95th percentile of bytes over time among large movement layers: what the memory does here, measured."""
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

    @property
    def bandwidth_bytes_per_ms(self) -> float | None:
        """Of the device, or else the best copy of this engine; None if neither is known."""
        stated = self.device.peak_bandwidth_bytes_per_s
        return stated / 1000 if stated else self.best_copy_bytes_per_ms

    # Neighbours

    def producers(self, layer: Layer) -> list[Layer]:
        """Layers that feed it, each once, in execution order."""
        return self._ends(self.engine.producers(layer), lambda link: link.source)

    def consumers(self, layer: Layer) -> list[Layer]:
        return self._ends(self.engine.consumers(layer), lambda link: link.target)

    def _ends(self, links: Sequence[Link], end: Callable[[Link], int]) -> list[Layer]:
        return [self.layers[index] for index in sorted({end(link) for link in links})]

    @cached_property
    def network_tensors(self) -> frozenset[str]:
        return frozenset(binding.name for binding in self.engine.bindings)

    def reads_network_input(self, layer: Layer) -> bool:
        """Whether it reads an input of the network that no layer writes."""
        fed = {link.tensor for link in self.engine.producers(layer)}
        return any(t.name in self.network_tensors and t.name not in fed for t in layer.inputs)

    def writes_network_output(self, layer: Layer) -> bool:
        return any(tensor.name in self.network_tensors for tensor in layer.outputs)


# What rules may need


def details(context: Context) -> str:
    """Types, shapes and tactics of layers."""
    return "" if context.has_details else NO_DETAILS


def profile(context: Context) -> str:
    """Times of layers."""
    return "" if context.has_profile else NO_PROFILE


def build_log(context: Context) -> str:
    """The log of the build at any verbosity."""
    if ArtifactKind.BUILD_LOG not in context.engine.files:
        return NO_BUILD_LOG
    if context.build_trace is None:
        return "the build log cannot be read"
    if context.log.only_loads:
        return f"the log is of a run that loaded the engine, not of its build: this {NO_BUILD_LOG}"
    return ""


def verbose_log(context: Context) -> str:
    """The log of the build with all that the builder tried."""
    return build_log(context) or ("" if context.log.is_verbose else TERSE)
