"""Memory of an engine: weights, activations that are live at the same time, and bytes moved.

A tensor lives from the layer that writes it first to the layer that reads it last. Names identify memory: a layer that reads
and writes one name updates it in place. A value carried by a loop lives from its first reader to its writer. Network inputs
and outputs belong to the caller, constants to the weights; both are left out. The remaining bytes at the peak are the minimum
with perfect sharing: TensorRT's own figure adds alignment, scratch space of tactics and, with several streams, tensors that
must not share memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from trex_tui.analysis.compute import WORKING
from trex_tui.column import Column, by_key
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine, Port, per_engine
from trex_tui.frames import INT, TEXT, total


@dataclass(slots=True, eq=False)
class _Value:
    """A value in memory: allocated bytes of its largest part, first writer (in a loop: first reader), last reader."""

    name: str
    allocated_bytes: int | None
    first: int
    last: int
    is_read: bool = False


@dataclass(slots=True)
class _Values:
    """The values of memory names at a point of the execution.

    Attributes:
        outside: Names of inputs and outputs of the network.
        unwritten: Name that is read before any write (a constant, or carried by a loop) -> its first reader.
        elsewhere: Names of memory that is not counted, until a layer writes to them.
    """

    outside: frozenset[str]
    current: dict[str, _Value] = field(default_factory=dict)
    unwritten: dict[str, int] = field(default_factory=dict)
    elsewhere: set[str] = field(default_factory=set)
    every: list[_Value] = field(default_factory=list)

    def read(self, layer: int, inputs: list[Port]) -> None:
        for port in inputs:
            value = self.current.get(port.name)
            if value is not None:
                value.last, value.is_read = layer, True
                value.allocated_bytes = _larger(value.allocated_bytes, port.allocated_bytes)
            elif port.name not in self.outside and port.name not in self.elsewhere:
                self.unwritten.setdefault(port.name, layer)

    def write(self, layer: int, kind: str, inputs: list[Port], outputs: list[Port]) -> None:
        """Start and extend values. A NoOp moves nothing: its output is its input under another name."""
        moves_nothing = kind == LayerKind.NOOP.value and len(inputs) == len(outputs) == 1
        alias = self.current.get(inputs[0].name) if moves_nothing else None
        for port in outputs:
            if port.name in self.outside:
                continue
            value = self.current.get(port.name)
            if alias is not None:
                self.current[port.name] = alias
            elif moves_nothing or kind == LayerKind.CONSTANT.value:
                self.current.pop(port.name, None)
                self.elsewhere.add(port.name)
            elif value is None or (value.is_read and value.last < layer):
                self.current[port.name] = _Value(port.name, port.allocated_bytes, layer, layer)
                self.elsewhere.discard(port.name)
                self.every.append(self.current[port.name])
            else:
                value.last = layer
                value.allocated_bytes = _larger(value.allocated_bytes, port.allocated_bytes)


def _larger(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else max(first, second)


@per_engine
def live_tensors(engine: Engine) -> pd.DataFrame:
    """Return every written value that is no input or output of the network: name, allocated_bytes, first, last.

    The size is that of the largest part if several layers write it, as after a removed concat; NA for a dynamic dimension or
    an unknown type. In order of the first writer.
    """
    values = _Values(frozenset(engine.bindings["name"]))
    kinds = engine.layers["kind"].mask(
        engine.layers["layer_type"].eq("memset"), "memset"
    )  # writes memory of its own
    for layer, (kind, inputs, outputs) in enumerate(zip(kinds, engine.inputs, engine.outputs, strict=True)):
        values.read(layer, inputs)
        values.write(layer, kind, inputs, outputs)
    for (
        name,
        reader,
    ) in values.unwritten.items():  # from the writer in the previous iteration to the first reader
        if (value := values.current.get(name)) is not None:
            value.first = min(value.first, reader)
    rows = [(value.name, value.allocated_bytes, value.first, value.last) for value in values.every]
    table = pd.DataFrame(rows, columns=["name", "allocated_bytes", "first", "last"], dtype=object)
    return table.astype({"name": TEXT, "allocated_bytes": INT, "first": "int64", "last": "int64"})


@per_engine
def live_bytes(engine: Engine) -> pd.Series:
    """Return the bytes that are live while each layer runs: its inputs, its outputs, and values for later layers."""
    values = live_tensors(engine).dropna(subset="allocated_bytes")
    sizes = values["allocated_bytes"].to_numpy("int64")
    changes = np.zeros(len(engine) + 1, dtype="int64")
    np.add.at(changes, values["first"], sizes)
    np.add.at(changes, values["last"] + 1, -sizes)
    return pd.Series(changes[:-1].cumsum(), engine.layers.index, INT, name="live_bytes")


def live_at(engine: Engine, layer: int) -> pd.DataFrame:
    """Return the values that are alive while a layer runs, the largest first, those of unknown size last."""
    values = live_tensors(engine)
    alive = values[(values["first"] <= layer) & (values["last"] >= layer)]
    return alive.sort_values("allocated_bytes", ascending=False, kind="stable", na_position="last")


class MemoryFacts(NamedTuple):
    """Memory of an engine; the keys are described in `FACTS`."""

    weights_bytes: int | None
    known_weights_bytes: int | None
    layers_hiding_weights: int
    traffic_bytes: float | None
    is_traffic_at_least: bool
    activation_peak_bytes: int | None
    is_peak_at_least: bool
    peak_layer: int | None
    tensors_of_unknown_size: int


@per_engine
def memory_facts(engine: Engine) -> MemoryFacts:
    """Return weights, traffic and the peak of live activations."""
    values, live = live_tensors(engine), live_bytes(engine)
    unknown = int(values["allocated_bytes"].isna().sum())
    has_sizes = len(values) > unknown
    known, hiding = engine.known_weights_bytes, int(engine.layers["weights_bytes"].isna().sum())
    stated = engine.facts.memory.weights_bytes if known is None or hiding else None
    is_work = engine.layers["kind"].isin(WORKING)
    moved = engine.column("footprint_bytes")[is_work]
    return MemoryFacts(
        weights_bytes=stated or (None if hiding else known),
        known_weights_bytes=known,
        layers_hiding_weights=hiding,
        traffic_bytes=total(moved) if engine.has_graph and moved.notna().all() else None,
        is_traffic_at_least=engine.has_loops,
        activation_peak_bytes=int(live.max()) if has_sizes else None,
        is_peak_at_least=has_sizes and unknown > 0,
        peak_layer=int(live.to_numpy().argmax()) if has_sizes else None,
        tensors_of_unknown_size=unknown,
    )


def memory_totals(engine: Engine) -> pd.DataFrame:
    """Return a row per kind of layer, the largest footprint first.

    Columns: kind, layers, weights_bytes, weights_unknown, footprint_allocated_bytes, footprint_unknown. Unknown sizes are
    left out of the sums and counted; a sum of unknown sizes alone is NA.
    """
    keys = {"weights_bytes": "weights_unknown", "footprint_allocated_bytes": "footprint_unknown"}
    frame = engine.frame("kind", *keys)
    groups = frame.groupby("kind")
    table = pd.DataFrame({"layers": groups.size()})
    for key, unknown in keys.items():
        table[key] = groups[key].sum(min_count=1)
        table[unknown] = table["layers"] - groups[key].count()
    sizes = ["footprint_allocated_bytes", "weights_bytes"]
    return table.reset_index().sort_values(
        [*sizes, "kind"], ascending=[False, False, True], ignore_index=True
    )


_GRAPH = "layer information"
LIVE_TENSORS = by_key(
    Column("name", "Tensor", "Name of the tensor.", source=_GRAPH),
    Column("allocated_bytes", "Size", "Size with the padding of vectorized layouts.", source=_GRAPH),
    Column("first", "From", "Layer that writes it first; for a value carried by a loop, that reads it "
        "first."),
    Column("last", "To", "Layer that reads it last."),
)  # fmt: skip
FACTS = by_key(
    Column("weights_bytes", "Weights", "Size of all constants; unknown if one layer hides its own and no log "
        "has the sum.", "Σ over distinct constants", f"{_GRAPH}, else a log"),
    Column("known_weights_bytes", "Known weights", "Weights of the layers that list theirs: a lower bound."),
    Column("layers_hiding_weights", "Hidden weights", "Layers with weights of unknown size."),
    Column("traffic_bytes", "Traffic", "Bytes read and written by all layers, weights included; a tensor "
        "counts once per layer that uses it.", "Σ footprint_bytes", _GRAPH),
    Column("is_traffic_at_least", "Traffic at least", "A loop may run again."),
    Column("activation_peak_bytes", "Peak memory",
        "Activations that are live at once, at most; the weights are separate.",
        "largest sum of live tensors over the layers", _GRAPH),
    Column("is_peak_at_least", "Peak at least", "Tensors of unknown size are left out of the peak."),
    Column("peak_layer", "Peak at", "First layer at the peak."),
    Column("tensors_of_unknown_size", "Unknown sizes",
        "Tensors with a dynamic dimension or an unknown type."),
)  # fmt: skip
TOTALS = by_key(
    Column("weights_unknown", "Unknown weights", "Layers with unknown weights, which the sum leaves out."),
    Column("footprint_unknown", "Unknown bytes", "Layers with unknown sizes, which the sum leaves out."),
)  # fmt: skip
