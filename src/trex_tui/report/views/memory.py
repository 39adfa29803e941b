"""What the memory screen says in words, and what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trex_tui.analysis.memory import (
    ActivationMemory,
    LiveTensor,
    activation_memory,
    live_at,
    live_tensors,
    tensor_of,
)
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.text import format_bytes, format_shape, plural

NO_LAYER_INFO = "No layer information in this set: what is in memory is unknown."
NAMES_ONLY = "The layer information holds names only: what is in memory is unknown."
MOST_TENSORS = 20


@dataclass(frozen=True, slots=True)
class MemoryFigures:
    """What the memory screen has to compute: every value that is in memory for a while, and the sums along the execution."""

    values: tuple[LiveTensor, ...]
    activations: ActivationMemory


def memory_figures(engine: Engine) -> MemoryFigures:
    """Compute it: a few hundred milliseconds for 20 000 layers."""
    values = tuple(live_tensors(engine))
    return MemoryFigures(values, activation_memory(engine, values))


@dataclass(frozen=True, slots=True)
class LiveWords:
    """A value in memory, in words: its size, the layers it lives from and to, shape and type, name."""

    size: str
    span: str
    type: str
    name: str


def peak_words(engine: Engine, activations: ActivationMemory) -> str:
    """The peak, or why it is unknown."""
    if not engine.has_graph:
        return NO_LAYER_INFO
    if engine.names_only:
        return NAMES_ONLY
    if activations.peak_bytes is None:
        return "No layer writes a tensor of known size: memory for activations is unknown."
    at_least = "at least " if activations.unknown else ""
    return f"peak {at_least}{format_bytes(activations.peak_bytes)} live at layer {activations.peak_index}"


def here_words(activations: ActivationMemory, index: int) -> str:
    """What is live at a layer."""
    if activations.peak_bytes is None:
        return ""
    at_least = "at least " if activations.unknown else ""
    return f"layer {index}: {at_least}{format_bytes(activations.live_bytes[index])}"


def unknown_sentences(engine: Engine, activations: ActivationMemory | None) -> list[str]:
    """What the sums could not include."""
    if not engine.has_graph:
        return [NO_LAYER_INFO]
    if engine.names_only:
        return [NAMES_ONLY]
    hidden = engine.layers_hiding_weights
    told = (
        [f"{plural(hidden, 'layer hides its', 'layers hide their')} weights: sums are lower bounds."]
        if hidden
        else []
    )
    if activations is not None and activations.unknown:
        tensors = plural(activations.unknown, "tensor has", "tensors have")
        told.append(f"{tensors} a dynamic shape or no type: not in the sums of what is live.")
    return told


def weights_sentence(engine: Engine, layers: Sequence[Layer]) -> str:
    """The weights of some layers, as far as they are known."""
    known = [layer.weights_bytes for layer in layers if layer.weights_bytes is not None]
    hidden = len(layers) - len(known)
    if engine.known_weights_bytes is None or not known:
        return "unknown"
    size = format_bytes(sum(known))
    return f"at least {size}; {plural(hidden, 'layer hides its', 'layers hide theirs')}" if hidden else size


def live_words(engine: Engine, values: Sequence[LiveTensor]) -> list[LiveWords]:
    """Values in words, with the most telling first as they come."""
    return [_live_words(engine, value) for value in values]


def _live_words(engine: Engine, value: LiveTensor) -> LiveWords:
    tensor = tensor_of(engine, value)
    return LiveWords(
        "unknown" if value.allocated_bytes is None else format_bytes(value.allocated_bytes),
        f"{value.first}–{value.last}" if value.last > value.first else str(value.first),
        f"{format_shape(tensor.shape)} {tensor.description}" if tensor else "",
        value.name,
    )


def live_here(figures: MemoryFigures, index: int) -> list[LiveTensor]:
    """The values alive at a layer, the largest first."""
    return live_at(figures.values, index)
