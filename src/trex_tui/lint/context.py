"""Facts of an engine shared by all rules, one value per layer, and phrases for messages.

Shared definitions keep the rules consistent about which layers are quantized or fast. A layer is its index; every
list here has an entry per layer, None where unknown.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from trex_tui.analysis.build import LayerChoice, find_choices
from trex_tui.analysis.compute import Product, count, products, volume
from trex_tui.analysis.device import Device, find_device
from trex_tui.analysis.options import TrtexecRun, build_run, find_log
from trex_tui.analysis.roofline import Tiling, launch_floor_ms, roofline, tilings
from trex_tui.analysis.structure import describe
from trex_tui.artifacts.kinds import FileKind
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, Port
from trex_tui.engine.tactics import Tactic, parse_tactic
from trex_tui.errors import Severity
from trex_tui.frames import plain_values
from trex_tui.lint.remedies import Platform, find_platform
from trex_tui.lint.rule import NotChecked, not_checked
from trex_tui.text import plural, printable, shorten_middle, shorten_name_list

if TYPE_CHECKING:
    from trex_tui.buildlog.trace import BuildTrace

_Result = TypeVar("_Result")

QUANTIZED = frozenset(dtype.value for dtype in DataType if dtype.is_quantized)
FLOATING = frozenset(("FP32", "TF32", "FP16", "BF16"))
REDUCED = frozenset(("FP16", "BF16")) | QUANTIZED
"""Types that normally run on tensor cores."""
WIDE = frozenset(("FP32", "TF32", "FP64"))
PRODUCTS = tuple(kind for kind in LayerKind if kind.multiplies)
"""Convolutions, GEMMs and attention."""
IDLE = frozenset((LayerKind.NOOP, LayerKind.SYNC))
"""Kinds that a search for the next layer passes through: they take no time."""
TRANSPARENT = IDLE | {LayerKind.REFORMAT, LayerKind.SCALE, LayerKind.SHUFFLE, LayerKind.QUANTIZE}
"""Kinds that a search for the nearest product passes through."""
BIG_COPY_BYTES = 1_000_000
"""Size in bytes from which the transfers of a layer indicate the memory bandwidth."""
MOVING_OPERATORS = frozenset(("Cast", "Move", "Tran", "Resh", "Res", "Slic", "Conc", "Repl", "Copy"))
"""Operators of generated kernels, as Myelin shortens them, that move data or change its type."""
TERSE = "the build log is not verbose: build with trtexec --verbose, to log tactics and choices"
NO_BUILD_LOG = "needs the verbose build log: build with trtexec --verbose and keep its output as NAME.build.log in the set"
NO_DEVICE = "the device is unknown: keep trtexec's log, or set [device] in trex-tui.toml"
TIMED_ALONE = "Tuning times are a few runs of each tactic alone, not latencies in the engine."
MOST_VISITED = 64
"""Limit of layers per search: real engines have a handful between two relevant layers, damaged files any number."""
MOVEMENT = frozenset(
    [
        LayerKind.REFORMAT,
        LayerKind.POINTWISE,
        LayerKind.POOLING,
        LayerKind.SHUFFLE,
        LayerKind.SLICE,
        LayerKind.FUSED,
    ]
)
"""Kinds whose time is limited by the bytes they move, for large tensors."""
_NAME_WIDTH = 60
_VECTOR = re.compile(r"\d+$")


class Link(NamedTuple):
    """An input of a layer, and the layer that wrote it."""

    source: int
    target: int
    tensor: str
    is_loop: bool


class Flow(NamedTuple):
    """Layers that read an input of the network or write an output, directly or beyond NoOps."""

    at_input: frozenset[int]
    at_output: frozenset[int]

    @property
    def at_edge(self) -> frozenset[int]:
        return self.at_input | self.at_output


def _column(key: str) -> cached_property[list[Any]]:
    """Return a property: a column of the layers as plain values."""
    return cached_property(lambda context: context.values(key))


@dataclass(eq=False)
class Context:
    """An engine with the facts used by rules.

    Attributes:
        kept: Results of `per_context` functions.
    """

    engine: Engine
    kept: dict[object, Any] = field(default_factory=dict, repr=False)

    # Columns

    def values(self, key: str) -> list[Any]:
        """Return a column as plain values."""
        if key not in self.kept:
            self.kept[key] = plain_values(self.engine.column(key))
        values: list[Any] = self.kept[key]
        return values

    names = _column("name")
    kinds = _column("kind")
    ms = _column("latency_ms")
    layer_types = _column("layer_type")
    parameter_types = _column("parameter_type")
    precisions = _column("precision")
    streams = _column("stream")
    devices = _column("device")
    weights_bytes = _column("weights_bytes")
    nodes = _column("onnx_nodes")
    tactic_names = _column("tactic")
    bytes = _column("footprint_allocated_bytes")
    """All bytes that a layer accesses, with padding."""

    @cached_property
    def tactics(self) -> list[Tactic | None]:
        """Parsed tactics; None if a layer has no tactic name, or one of unknown form."""
        return [parse_tactic(name) for name in self.tactic_names]

    @cached_property
    def products(self) -> list[Product]:
        frame = products(self.engine)
        sizes = [plain_values(frame[key]) for key in ("macs", "gemm_m", "gemm_n", "gemm_k", "gemm_batch")]
        notes = (note or "" for note in plain_values(frame["compute_note"]))
        return [Product(*row) for row in zip(*sizes, notes, strict=True)]

    def roof(self, key: str) -> list[Any]:
        """Return a column of the roofline as plain values."""
        if ("roof", key) not in self.kept:
            self.kept["roof", key] = plain_values(roofline(self.engine)[key])
        values: list[Any] = self.kept["roof", key]
        return values

    @cached_property
    def tilings(self) -> list[Tiling | None]:
        return tilings(self.engine)

    @property
    def attributes(self) -> list[dict[str, Any]]:
        return self.engine.attributes or [{}] * len(self.engine)

    # Tensors

    @property
    def inputs(self) -> list[list[Port]]:
        return self.engine.inputs

    @property
    def outputs(self) -> list[list[Port]]:
        return self.engine.outputs

    @cached_property
    def data_inputs(self) -> list[list[Port]]:
        """Inputs that are not constants."""
        return [[port for port in ports if not port.is_constant] for ports in self.inputs]

    @cached_property
    def input_types(self) -> list[str | None]:
        """Type of the first input that is not a constant."""
        return [ports[0].dtype if ports else None for ports in self.data_inputs]

    @cached_property
    def output_types(self) -> list[str | None]:
        """Type of the first output."""
        return [ports[0].dtype if ports else None for ports in self.outputs]

    def is_quantized(self, layer: int) -> bool:
        return self.input_types[layer] in QUANTIZED

    def is_reduced(self, layer: int) -> bool:
        return self.input_types[layer] in REDUCED

    def groups(self, layer: int) -> int:
        """Return the groups of a convolution."""
        return count(self.attributes[layer], "Groups") or 1

    def channels(self, layer: int) -> int | None:
        """Return the channels of a convolution's first input; None if dynamic or unknown."""
        shape = self.inputs[layer][0].shape if self.inputs[layer] else ()
        return shape[1] if len(shape) >= 3 and shape[1] > 0 else None

    def is_depthwise(self, layer: int) -> bool:
        """Return whether a convolution has one group per input channel, of several."""
        if "depthwise" in (self.layer_types[layer] or "").lower():
            return True
        channels = self.channels(layer)
        return channels is not None and channels > 1 and self.groups(layer) == channels

    @cached_property
    def matrix_vectors(self) -> frozenset[int]:
        """Products of one row or one column, so that reading the weights is all of their work."""
        return frozenset(
            layer
            for layer, product in enumerate(self.products)
            if (product.m == 1 or product.n == 1) and product.batch in (1, None)
        )

    def operators(self, layer: int) -> tuple[str, ...]:
        """Return the operators of a generated Myelin kernel, from its tactic or its name; empty for every other layer."""
        if self.layer_types[layer] != "kgen":
            return ()
        tactic = parse_tactic(self.tactic_names[layer] or self.names[layer])
        return tactic.operators if tactic else ()

    def conversion(self, layer: int) -> tuple[Port, Port] | None:
        """Return the first data input and the first output; None if one is missing or has no type."""
        sources, targets = self.data_inputs[layer], self.outputs[layer]
        if not sources or not targets or sources[0].dtype is None or targets[0].dtype is None:
            return None
        return sources[0], targets[0]

    def is_movement(self, layer: int) -> bool:
        """Return whether a layer only moves data or changes its type: copies, transposes, concatenations, Q and DQ."""
        if self.kinds[layer] in (LayerKind.REFORMAT, LayerKind.QUANTIZE, LayerKind.SHUFFLE, LayerKind.CONCAT):
            return True
        names = self.operators(layer)
        return bool(names) and MOVING_OPERATORS.issuperset(names)

    def is_inserted_copy(self, layer: int) -> bool:
        """Return whether TensorRT inserted a copy: a reformat, or a generated kernel that only moves data. A reshape or
        transpose of its own is a node of the model.
        """
        is_generated = self.layer_types[layer] == "kgen" and self.kinds[layer] == LayerKind.SHUFFLE
        return (self.kinds[layer] == LayerKind.REFORMAT or is_generated) and self.takes_time(layer)

    # Selections

    @cached_property
    def by_kind(self) -> dict[str, list[int]]:
        layers: dict[str, list[int]] = {}
        for layer, kind in enumerate(self.kinds):
            layers.setdefault(kind, []).append(layer)
        return layers

    def select(self, *kinds: str) -> list[int]:
        """Return the layers of some kinds, in execution order."""
        chosen = [layer for kind in set(kinds) for layer in self.by_kind.get(kind, ())]
        return sorted(chosen) if len(kinds) > 1 else chosen

    @cached_property
    def multiplying(self) -> list[int]:
        """Convolutions, deconvolutions, GEMMs and attention."""
        return self.select(*PRODUCTS)

    @cached_property
    def closed_blocks(self) -> list[int]:
        """Myelin subgraphs of unknown content, as TensorRT 8 and 9 list them."""
        return [
            layer for layer in self.select(LayerKind.MYELIN) if self.layer_types[layer] not in (None, "kgen")
        ]

    def is_work(self, layer: int) -> bool:
        """Return whether a layer computes or moves data."""
        return LayerKind(self.kinds[layer]).is_work

    def takes_time(self, layer: int) -> bool:
        """Return whether a layer may take time: true without a profile, false for a measured time of 0."""
        ms = self.ms[layer]
        return ms is None or ms > 0

    # Times

    @cached_property
    def total_ms(self) -> float | None:
        return self.engine.latency_total_ms

    @property
    def has_profile(self) -> bool:
        return bool(self.total_ms)

    @cached_property
    def has_details(self) -> bool:
        """True if layers have more than names."""
        return any(layer_type is not None for layer_type in self.layer_types)

    @cached_property
    def floor_ms(self) -> float | None:
        """Time of the shortest layers; None with too few timed layers."""
        return launch_floor_ms(self.engine)

    def times(self, layers: Iterable[int]) -> dict[int, float]:
        """Return the savings if layers were removed: layer -> milliseconds, without layers of unknown time."""
        return {layer: ms for layer in layers if (ms := self.ms[layer]) is not None}

    def sum_ms(self, layers: Iterable[int]) -> float | None:
        """Return the time of layers; None if all are unknown."""
        known = list(self.times(layers).values())
        return math.fsum(known) if known else None

    def longest(self, layers: Iterable[int]) -> int:
        """Return the slowest layer, the first of several."""
        return max(layers, key=lambda layer: (self.ms[layer] or 0.0, -layer))

    def pct(self, ms: float | None) -> float | None:
        return None if ms is None or not self.total_ms else 100.0 * ms / self.total_ms

    def share_pct(self, layer: int) -> float:
        """Return a layer's time in percent of the engine's; 0 if unknown."""
        return self.pct(self.ms[layer]) or 0.0

    def share_of(self, layers: Iterable[int]) -> float | None:
        return self.pct(self.sum_ms(layers))

    # Device and build

    @cached_property
    def device(self) -> Device:
        return find_device(self.engine)

    @cached_property
    def platform(self) -> Platform:
        """TensorRT's version, the GPU and the producer, which decide what a remedy may name."""
        return find_platform(self.engine)

    @cached_property
    def build(self) -> TrtexecRun:
        """Options of the build."""
        return build_run(self.engine)

    @cached_property
    def build_trace(self) -> BuildTrace | None:
        """Content of the build log; None without a log. Read on first use."""
        return find_log(self.engine, FileKind.BUILD_LOG)

    @property
    def log(self) -> BuildTrace:
        """The same, for rules that require it."""
        assert self.build_trace is not None
        return self.build_trace

    @cached_property
    def choices(self) -> list[LayerChoice]:
        """How the tactic of each layer was chosen, by the log of the build."""
        return find_choices(self.log, self.engine)

    @cached_property
    def layers_by_tuning(self) -> dict[str, list[int]]:
        """Name of a layer as the builder tuned it -> the layers of the engine made from it."""
        layers: dict[str, list[int]] = {}
        for layer, choice in enumerate(self.choices):
            layers.setdefault(choice.tuning.name if choice.tuning else choice.name, []).append(layer)
        return layers

    # Neighbours

    @cached_property
    def links_into(self) -> list[list[Link]]:
        """The inputs of each layer that a layer wrote."""
        links = self.engine.links
        columns = [links[key].tolist() for key in ("source", "target", "tensor", "is_loop")]
        into: list[list[Link]] = [[] for _ in range(len(self.engine))]
        for link in map(Link._make, zip(*columns, strict=True)):
            into[link.target].append(link)
        return into

    @cached_property
    def producers(self) -> list[list[int]]:
        """The layers that feed a layer, each once, in execution order."""
        return [sorted({link.source for link in links}) for links in self.links_into]

    @cached_property
    def consumers(self) -> list[list[int]]:
        """The layers that read a layer, each once, in execution order."""
        consumers: list[list[int]] = [[] for _ in range(len(self.engine))]
        for target, sources in enumerate(self.producers):
            for source in sources:
                consumers[source].append(target)
        return consumers

    @cached_property
    def network_tensors(self) -> frozenset[str]:
        return frozenset(self.engine.bindings["name"])

    def reads_network_input(self, layer: int) -> bool:
        """Return whether a layer reads an input of the network: if none is stated, a value that no layer writes."""
        named = {port.name for port in self.data_inputs[layer]}
        named &= self.network_tensors or named
        return bool(named) and not {link.tensor for link in self.links_into[layer]}.issuperset(named)

    @cached_property
    def output_writers(self) -> frozenset[int]:
        """Layers that write an output of the network."""
        network = self.network_tensors
        return frozenset(
            layer for layer, ports in enumerate(self.outputs) if any(port.name in network for port in ports)
        )

    def beyond(self, start: int, through: Collection[str], *, forward: bool) -> Iterator[int]:
        """Yield the nearest layers whose kind is not in `through`, before or after `start`; each once, nearest first."""
        neighbours = self.consumers if forward else self.producers
        seen, waiting = {start}, deque(neighbours[start])
        while waiting and len(seen) < MOST_VISITED:
            layer = waiting.popleft()
            if layer in seen:
                continue
            seen.add(layer)
            if self.kinds[layer] in through:
                waiting.extend(neighbours[layer])
            else:
                yield layer

    def only_reader(self, layer: int) -> int | None:
        """Return the only layer that reads the outputs of a layer; None if there are several, or it feeds an output."""
        readers = self.consumers[layer]
        if len(readers) != 1 or layer in self.output_writers or len(self.outputs[layer]) != 1:
            return None
        return readers[0]

    def only_reader_beyond(self, layer: int, through: Collection[str]) -> tuple[list[int], int] | None:
        """Return the only reader after layers of some kinds, each with a single reader, and the layers between."""
        between: list[int] = []
        reader = self.only_reader(layer)
        while reader is not None and self.kinds[reader] in through and len(between) < MOST_VISITED:
            between.append(reader)
            reader = self.only_reader(reader)
        return None if reader is None or reader == layer else (between, reader)

    @cached_property
    def flow(self) -> Flow:
        """Layers at the edge of the network; values that loops carry are not followed."""

        def spread(edge: set[int], neighbours: list[list[int]]) -> frozenset[int]:
            """Add the layers beyond NoOps of the edge."""
            waiting = [layer for layer in edge if self.kinds[layer] == LayerKind.NOOP]
            while waiting:
                found = set(neighbours[waiting.pop()]) - edge
                edge |= found
                waiting += [layer for layer in found if self.kinds[layer] == LayerKind.NOOP]
            return frozenset(edge)

        inputs = set(filter(self.reads_network_input, range(len(self.engine))))
        return Flow(spread(inputs, self.consumers), spread(set(self.output_writers), self.producers))

    @cached_property
    def main_stream(self) -> int | None:
        """Stream with most time; None if layers have no stream."""
        sums: dict[int, float] = {}
        for stream, ms in zip(self.streams, self.ms, strict=True):
            if stream is not None:
                sums[stream] = sums.get(stream, 0.0) + (ms or 0.0)
        return max(sums, key=lambda stream: (sums[stream], -stream)) if sums else None

    # Phrases

    def quote(self, layer: int) -> str:
        """Return a layer's name for a sentence."""
        return quote(self.names[layer])

    def format_time(self, *layers: int) -> str:
        """Return `0.0412 ms, 3.1 %`: the total time of layers; `time unknown` without a profile."""
        total = self.sum_ms(layers)
        return format_time(total, self.pct(total))

    def format_types(self, layer: int) -> str:
        """Return `INT8 NC/32HW32 → FP16 NC/32HW32`: first input and first output."""
        ends = [
            describe(ports[0]) if ports else "nothing" for ports in (self.inputs[layer], self.outputs[layer])
        ]
        return " → ".join(ends)

    def evidence(self, layer: int, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - any value
        """Return values of a rule, then known facts of the layer: tactic, types with layouts, time."""
        values = {
            **more,
            "tactic": self.tactic_names[layer],
            "input_formats": ", ".join(map(describe, self.inputs[layer][:4])) or None,
            "output_formats": ", ".join(map(describe, self.outputs[layer][:4])) or None,
            "latency_ms": self.ms[layer],
        }
        return {name: value for name, value in values.items() if value is not None}

    @property
    def needs_for_details(self) -> str:
        """Return how to get more than the names of layers, without an option that the build was given."""
        stated = self.build.options.get("Profiling verbosity", "")
        words = f"{self.build.argument('--profilingVerbosity')} {stated}"
        is_detailed = "detailed" in words or "2" in words.split()
        return f"{'' if is_detailed else 'build with --profilingVerbosity=detailed and '}export with --exportLayerInfo"

    def explain_absence(self, missing: str, *kinds: FileKind) -> str:
        """Return why a file of these kinds cannot be used; `missing` if none of them is damaged."""
        files = [self.engine.files[kind] for kind in kinds if kind in self.engine.files]
        notes = (note for note in self.engine.notes if note.severity is Severity.ERROR and note.file in files)
        damage = next(notes, None)
        if damage is None or damage.file is None:
            return missing
        return f"unusable: {printable(str(damage._replace(file=Path(damage.file.name))).rstrip('.'))}"


def per_context(compute: Callable[[Context], _Result]) -> Callable[[Context], _Result]:
    """Compute the result of a function of a context once."""

    @wraps(compute)
    def find(context: Context) -> _Result:
        if compute not in context.kept:
            context.kept[compute] = compute(context)
        result: _Result = context.kept[compute]
        return result

    return find


def size_of(port: Port) -> int | None:
    """Return the number of elements of a tensor; None if a dimension is dynamic."""
    return volume(port.shape)


def bits_of(port: Port) -> int:
    """Return the bits of an element; 0 for an unknown type."""
    return DataType(port.dtype).bits if port.dtype else 0


def vector_of(port: Port) -> int:
    """Return the channels that a layout packs: 8 for NHWC8; 1 for others."""
    match = _VECTOR.search(port.format or "")
    return int(match[0]) if match else 1


def quote(name: str) -> str:
    """Return a name for a sentence: without control characters, and at most half a line long."""
    return f"'{shorten_middle(printable(shorten_name_list(name)), _NAME_WIDTH)}'"


def format_time(milliseconds: float | None, share_pct: float | None = None) -> str:
    """Return `0.0412 ms, 3.1 %` for the middle of a sentence; `time unknown` without a profile."""
    if milliseconds is None:
        return "time unknown"
    text = f"{milliseconds:.4g} ms"
    return text if share_pct is None else f"{text}, {share_pct:.1f} %"


# Requirements of rules


def details(context: Context) -> str:
    """Types, shapes and tactics of layers."""
    missing = f"no layer details: {context.needs_for_details}"
    return "" if context.has_details else context.explain_absence(missing, FileKind.GRAPH)


def profile(context: Context) -> str:
    """Times of layers."""
    return "" if context.has_profile else no_profile(context)


def no_profile(context: Context) -> str:
    """Return why layers have no times."""
    missing = "no layer times: run trtexec with --exportProfile and --separateProfileRun"
    return context.explain_absence(missing, FileKind.PROFILE)


def no_timing(context: Context) -> str:
    """Return why there is no timing run."""
    missing = "no timing run: run trtexec with --exportTimes, or keep its log or performance summary"
    return context.explain_absence(missing, FileKind.TIMING, FileKind.PROFILE_LOG)


def build_log(context: Context) -> str:
    """The log of the build at any verbosity."""
    if FileKind.BUILD_LOG not in context.engine.files:
        return NO_BUILD_LOG
    if context.build_trace is None:
        return "the build log cannot be read"
    if context.log.only_loads:
        return f"the log is from a run that loaded the engine, not from its build: this {NO_BUILD_LOG}"
    return ""


def skip_closed_blocks(context: Context) -> Iterator[NotChecked]:
    """Yield how many closed blocks a rule cannot look into; nothing without any."""
    if number := len(context.closed_blocks):
        are = "is" if number == 1 else "are"
        yield not_checked(
            f"{plural(number, 'Myelin block')} {are} closed: TensorRT 10 and later list their kernels", number
        )


# Public documents that rules refer to, by name and address.

_TENSORRT = "https://docs.nvidia.com/deeplearning/tensorrt"
_PERFORMANCE = "https://docs.nvidia.com/deeplearning/performance"
TENSOR_CORES = f"Optimizing for Tensor Cores: {_TENSORRT}/developer-guide/index.html#optimize-tensor-cores"
MATRIX_GUIDE = f"Matrix Multiplication: {_PERFORMANCE}/dl-performance-matrix-multiplication/index.html"
CUTLASS = "CUTLASS, Functionality: https://docs.nvidia.com/cutlass/media/docs/cpp/functionality.html"
QUANTIZED_TYPES = f"Quantized Types: {_TENSORRT}/latest/inference-library/work-quantized-types.html"
RESIDUAL_QDQ = (
    f"Custom QDQ Cases: {_TENSORRT}/tensorflow-quantization-toolkit/docs/docs/add_custom_qdq_cases.html"
)
FUSION_CATALOG = f"Layer Fusion Catalog: {_TENSORRT}/latest/performance/fusion-catalog.html"
COMMAND_LINE_PROGRAMS = f"trtexec: {_TENSORRT}/latest/reference/command-line-programs.html"
BEST_PRACTICES = f"Performance Best Practices: {_TENSORRT}/10.16.1/performance/best-practices.html"
BUILDER_PERFORMANCE = f"Builder Performance: {_TENSORRT}/10.16.1/performance/builder-performance.html"
WORKSPACE_FAQ = f"FAQ, workspace size: {_TENSORRT}/latest/reference/troubleshooting-faq.html"


def issue(number: int) -> str:
    """Return the reference to a thread of NVIDIA/TensorRT."""
    return f"NVIDIA/TensorRT#{number}: https://github.com/NVIDIA/TensorRT/issues/{number}"
