"""Which layer of an engine a log speaks of, and which of the format combinations tried it ended up with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.artifacts.buildlog.run import DumpedLayer, DumpedTensor
from trex_tui.artifacts.buildlog.tactics import parse_id
from trex_tui.artifacts.buildlog.tuning import FormatCombination, LayerTuning
from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer

ONNX_NODE = re.compile(r"\[ONNX Layer: ([^\]\x1e\x1f]*)\]")
_VECTOR = re.compile(r":(\d{1,6})")
_Signature = tuple[tuple[DataType | None, int | None], ...]


@dataclass(frozen=True, slots=True)
class Subject:
    """What is known of a layer from the engine's side."""

    name: str
    occurrence: int
    layer_type: str | None
    tactic_id: int | None
    tactic_name: str | None
    inputs: _Signature
    outputs: _Signature
    input_names: tuple[str, ...]
    onnx_nodes: tuple[str, ...]


def subjects_of_engine(engine: Engine) -> list[Subject]:
    """The layers of an engine."""
    return [_subject(layer) for layer in engine.layers]


def _subject(layer: Layer) -> Subject:
    return Subject(
        layer.name,
        layer.occurrence,
        layer.layer_type,
        parse_id(layer.tactic_value) if layer.tactic_value else None,
        layer.tactic,
        tuple((one.dtype, one.format.vector) for one in layer.inputs),
        tuple((one.dtype, one.format.vector) for one in layer.outputs),
        tuple(one.name for one in layer.inputs),
        layer.onnx_nodes,
    )


def subjects_of_dump(trace: BuildTrace) -> list[Subject]:
    """The layers of the richest list in a log."""
    seen: Counter[str] = Counter()
    subjects = []
    for layer in trace.dump.layers if trace.dump else ():
        subjects.append(_dumped(layer, seen[layer.name]))
        seen[layer.name] += 1
    return subjects


def _dumped(layer: DumpedLayer, occurrence: int) -> Subject:
    name = layer.raw.get("TacticName")
    nodes = layer.raw.get("Metadata")
    return Subject(
        layer.name,
        occurrence,
        layer.layer_type,
        layer.tactic_id,
        name if isinstance(name, str) else None,
        _signature(layer.inputs),
        _signature(layer.outputs),
        tuple(one.name for one in layer.inputs),
        tuple(ONNX_NODE.findall(nodes)) if isinstance(nodes, str) else (),
    )


def _signature(tensors: Sequence[DumpedTensor]) -> _Signature:
    return tuple((parse_data_type(one.dtype), one.vector[0] if one.vector else 1) for one in tensors)


def by_onnx_node(tunings: Iterable[LayerTuning]) -> dict[str, LayerTuning]:
    """Name of an ONNX node -> the Myelin layer that holds it."""
    return {node: one for one in tunings if one.metadata for node in ONNX_NODE.findall(one.metadata)}


def owner_of(subject: Subject, by_node: dict[str, LayerTuning]) -> LayerTuning | None:
    """The Myelin layer that a kernel of the engine was made from."""
    owners = {id(by_node[node]): by_node[node] for node in subject.onnx_nodes if node in by_node}
    return next(iter(owners.values())) if len(owners) == 1 else None


def candidates_for(subject: Subject, tuning: LayerTuning, *, is_part: bool) -> list[FormatCombination]:
    """The combinations that the engine's layer can have been built with, the likeliest first."""
    chosen = [one for one in tuning.combinations if one.chosen_id is not None]
    if is_part:
        return chosen[:1] if len(chosen) == 1 else _of_types(subject, chosen, only_types=True)
    if subject.tactic_id is not None:
        chosen = [one for one in chosen if one.chosen_id == subject.tactic_id]
    if subject.layer_type not in (None, "NoOp"):
        chosen = [one for one in chosen if one.chosen_runner == subject.layer_type] or chosen
    return _of_types(subject, chosen, only_types=False)


def _of_types(
    subject: Subject, combinations: list[FormatCombination], *, only_types: bool
) -> list[FormatCombination]:
    """Those whose types and vectors are the engine's; all of them if none is."""
    if only_types:
        wanted = {kind for kind, _ in (*subject.inputs, *subject.outputs) if kind}
        fitting = [one for one in combinations if precision_of(one) in wanted]
        return fitting or combinations
    return [
        one
        for one in combinations
        if _fits(subject.inputs, one.inputs) and _fits(subject.outputs, one.outputs)
    ] or combinations


def _fits(signature: _Signature, formats: Sequence[str]) -> bool:
    return all(
        _same(kind, parse_data_type(text)) and _same(vector, _vector_of(text))
        for (kind, vector), text in zip(signature, formats, strict=False)
    )


def _same(one: object, other: object) -> bool:
    return one is None or other is None or one == other


def _vector_of(text: str) -> int:
    match = _VECTOR.search(text)
    return int(match[1]) if match else 1


def precision_of(combination: FormatCombination) -> DataType | None:
    """Type of the first input, or of the first output of a layer without inputs."""
    formats = combination.inputs or combination.outputs
    return parse_data_type(formats[0]) if formats else None
