"""Weights and activations in memory: sentences, tables, and the figures of the memory screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import attrgetter

from trex_tui.old.analysis.memory import (
    ActivationMemory,
    LiveTensor,
    MemoryTotal,
    activation_memory,
    find_tensor,
    live_tensors,
    memory_by_kind,
)
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.cache import per_engine
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.document import ChartReference, Column, Section, Table, make_table
from trex_tui.old.report.views.engine import EngineSubject, memory_facts
from trex_tui.old.text import as_sentence, format_bytes, format_shape, plural

NO_LAYER_INFO = "Memory by layer unknown (needs --exportLayerInfo)."
NAMES_ONLY = "Memory by layer unknown: names only (needs --profilingVerbosity=detailed)."
MOST_TENSORS = 20


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """Lifetimes of all tensors, the memory that is live at each layer, and the totals by kind of layer."""

    values: tuple[LiveTensor, ...]
    activations: ActivationMemory
    totals: Sequence[MemoryTotal]


@per_engine
def memory_figures(engine: Engine) -> MemoryFigures:
    """Compute the figures: a few hundred milliseconds for 20 000 layers."""
    return MemoryFigures(live_tensors(engine), activation_memory(engine), memory_by_kind(engine.layers))


@dataclass(frozen=True, slots=True)
class TensorText:
    """A tensor in memory as text: size, first and last layer, shape and type, name."""

    size: str
    span: str
    type: str
    name: str


def describe_peak(engine: Engine, activations: ActivationMemory) -> str:
    """Describe the peak, or why it is unknown."""
    if not engine.has_graph:
        return engine.explain_absence(NO_LAYER_INFO, ArtifactKind.GRAPH)
    if engine.names_only:
        return NAMES_ONLY
    if activations.peak_bytes is None:
        return "Activation memory unknown: no tensor sizes."
    at_least = "at least " if activations.unknown else ""
    return f"peak {at_least}{format_bytes(activations.peak_bytes)} live at layer {activations.peak_index}"


def describe_live(activations: ActivationMemory, index: int) -> str:
    """Describe the memory that is live at a layer."""
    if activations.peak_bytes is None:
        return ""
    at_least = "at least " if activations.unknown else ""
    return f"layer {index}: {at_least}{format_bytes(activations.live_bytes[index])}"


def unknown_sentences(engine: Engine, activations: ActivationMemory | None) -> list[str]:
    """Return sentences on items missing in the sums."""
    if not engine.has_graph:
        return [engine.explain_absence(NO_LAYER_INFO, ArtifactKind.GRAPH)]
    if engine.names_only:
        return [NAMES_ONLY]
    hidden = engine.layers_hiding_weights
    sentences = (
        [f"{plural(hidden, 'layer hides its', 'layers hide their')} weights: sums are lower bounds."]
        if hidden
        else []
    )
    if activations is not None and activations.unknown:
        tensors = plural(activations.unknown, "tensor has", "tensors have")
        sentences.append(f"{tensors} a dynamic shape or no type: excluded from live memory.")
    return sentences


def describe_tensors(engine: Engine, values: Sequence[LiveTensor]) -> list[TensorText]:
    """Describe tensors, in their order."""
    return [_describe_tensor(engine, value) for value in values]


def _describe_tensor(engine: Engine, value: LiveTensor) -> TensorText:
    return TensorText(
        "unknown" if value.allocated_bytes is None else format_bytes(value.allocated_bytes),
        f"{value.first}–{value.last}" if value.last > value.first else str(value.first),
        _type_text(engine, value),
        value.name,
    )


def _type_text(engine: Engine, value: LiveTensor) -> str:
    tensor = find_tensor(engine, value)
    return f"{format_shape(tensor.shape)} {tensor.description}" if tensor else ""


def memory_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield weights and activations, and the tensors that are live at the peak."""
    engine = subject.engine
    activations = memory_figures(engine).activations
    sentences = [as_sentence(describe_peak(engine, activations)), *unknown_sentences(engine, activations)]
    facts = memory_facts(engine, subject.analysis)
    if not engine.has_graph or engine.names_only:
        yield Section("memory", "Memory", sentences=list(dict.fromkeys(sentences)), facts=facts)
        return
    totals = memory_by_kind(engine.layers)
    styles = [f"kind-{total.key}" for total in totals]
    tables = [make_table("memory_by_kind", KIND_COLUMNS, totals, noun="kind", title="By kind", styles=styles)]
    charts = []
    if activations.peak_bytes is not None:
        charts.append(ChartReference("memory", engine))
        tables.append(_live_table(engine, activations.live_at_peak, subject.top))
    yield Section("memory", "Memory", sentences=sentences, facts=facts, charts=charts, tables=tables)


def _weights(total: MemoryTotal) -> int | None:
    return total.weights_bytes if total.weights_unknown < total.layers else None


def _footprint(total: MemoryTotal) -> int | None:
    return total.footprint_bytes if total.footprint_unknown < total.layers else None


KIND_COLUMNS = (
    Column("key", "Kind", value=lambda total: total.key),
    Column("layers", "Layers", value=lambda total: total.layers, is_number=True),
    Column(
        "weights_bytes", "Weights", value=_weights, is_number=True, help="Over the layers with known weights."
    ),
    Column(
        "weights_unknown",
        "Weights unknown",
        value=lambda total: total.weights_unknown,
        is_number=True,
        help="Layers whose size of weights is unknown.",
    ),
    Column(
        "footprint_bytes",
        "Footprint",
        value=_footprint,
        is_number=True,
        has_bar=True,
        help="Footprint of each layer, padded.",
    ),
    Column(
        "footprint_unknown",
        "Footprint unknown",
        value=lambda total: total.footprint_unknown,
        is_number=True,
        help="Layers whose footprint is unknown.",
    ),
)


def _live_table(engine: Engine, alive: Sequence[LiveTensor], top: int | None) -> Table:
    columns = (
        Column("name", "Tensor", value=lambda tensor: tensor.name),
        Column(
            "allocated_bytes",
            "Size",
            value=lambda tensor: tensor.allocated_bytes,
            is_number=True,
            has_bar=True,
        ),
        Column(
            "first",
            "First",
            value=lambda tensor: tensor.first,
            is_number=True,
            help="Index of the layer that writes it first.",
        ),
        Column(
            "last",
            "Last",
            value=lambda tensor: tensor.last,
            is_number=True,
            help="Index of the layer that reads it last.",
        ),
        Column("type", "Shape and type", value=lambda tensor: _type_text(engine, tensor)),
    )
    return make_table("live_at_peak", columns, alive, top=top, noun="tensor", title="Live at peak")


def padding_pct(layer: Layer) -> float | None:
    """Return the share of padding in the bytes that a layer accesses, in percent."""
    allocated, logical = layer.footprint_allocated_bytes, layer.footprint_bytes
    if allocated is None or logical is None:
        return None
    return 100.0 * (allocated - logical) / allocated if allocated else 0.0


def main_column(engine: Engine) -> str:
    """Return the main column for a layer's memory: all bytes it accesses or, if weights are hidden, its activations."""
    return "activation_bytes" if engine.layers_hiding_weights else "footprint_allocated_bytes"


LAYER_COLUMNS = (
    Column(
        "index",
        "#",
        value=attrgetter("index"),
        is_number=True,
        width=5,
    ),
    Column("name", "Layer", value=attrgetter("name"), width=24, flex=True),
    Column("kind", "Kind", value=attrgetter("kind.value"), width=11, priority=6),
    Column(
        "weights_bytes",
        "Weights",
        value=attrgetter("weights_bytes"),
        is_number=True,
        width=9,
        priority=1,
    ),
    Column(
        "activation_bytes",
        "Activations",
        value=attrgetter("activation_bytes"),
        is_number=True,
        width=12,
        priority=2,
    ),
    Column(
        "footprint_bytes",
        "Footprint",
        value=attrgetter("footprint_bytes"),
        is_number=True,
        width=10,
        priority=4,
    ),
    Column(
        "footprint_allocated_bytes",
        "Allocated",
        value=attrgetter("footprint_allocated_bytes"),
        is_number=True,
        width=10,
        priority=3,
    ),
    Column(
        "padding_pct",
        "Pad %",
        value=padding_pct,
        is_number=True,
        width=6,
        priority=5,
        help="Share of the allocated bytes that is layout padding.",
    ),
)
"""Allocated bytes, footprint and padding by layer."""


@per_engine
def main_sizes(engine: Engine) -> Sequence[float | None]:
    """Return the main column's value of each layer, in bytes; None where it is unknown."""
    key = main_column(engine)
    size = next(column.value for column in LAYER_COLUMNS if column.key == key)
    assert size is not None
    return [size(layer) for layer in engine.layers]
