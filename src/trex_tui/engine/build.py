"""From the verbatim objects of the files to layers and bindings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from trex_tui.artifacts.input_files import without_depths
from trex_tui.artifacts.layer_info import LayerInfo
from trex_tui.artifacts.profile import Profile, ProfileRow
from trex_tui.engine.dtypes import DataType, TensorFormat, parse_data_type, parse_format
from trex_tui.engine.kinds import LayerKind, classify
from trex_tui.engine.model import MOST_ELEMENTS, Binding, Device, Layer, LayerLatency, Tensor
from trex_tui.engine.tactics import parse_tactic
from trex_tui.errors import Diagnostic, Severity
from trex_tui.text import plural, shorten_middle

_PROFILE_SUFFIX = re.compile(r"\[profile +(\d{1,9})\]")
_SEPARATOR = re.compile("[\x1e\x1f]")
_ONNX_PREFIX = "[ONNX Layer: "
# Keys of a layer that have a field of their own.
_OWN_KEYS = frozenset(
    {"Name", "LayerType", "ParameterType", "Inputs", "Outputs", "TacticName", "TacticValue", "StreamId"}
)
_NO_NAMES: frozenset[str] = frozenset()
# Inputs that nobody produces and that hold no data of the network.
_NO_CONSTANT = ("l2_cache_policy", "l2_cache_management")


def parse_optimization_profile(name: str) -> int:
    """N of a ` [profile N]` in a layer's or binding's name (TensorRT up to 9 repeats the layers per profile), else 0."""
    if "[profile" not in name:
        return 0
    match = _PROFILE_SUFFIX.search(name)
    return int(match[1]) if match else 0


def parse_onnx_nodes(metadata: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Names of the ONNX nodes in a layer's `Metadata`: `[ONNX Layer: a]` entries separated by U+001E or U+001F."""
    if not isinstance(metadata, str) or not metadata:
        return ()
    nodes = []
    for entry in _SEPARATOR.split(metadata):
        text = entry.strip()
        if text.startswith(_ONNX_PREFIX):
            nodes.append(text[len(_ONNX_PREFIX) :].removesuffix("]"))
    return tuple(dict.fromkeys(nodes))


def build_tensor(raw: dict[str, Any]) -> Tensor:
    """One entry of `Inputs` or `Outputs`: `Format/Datatype` up to TensorRT 10, `Datatype` and `Format` from 11 on."""
    both = raw.get("Format/Datatype") or raw.get("Format/DataType")
    if isinstance(both, str):
        dtype, layout = parse_data_type(both), parse_format(both)
    else:
        stated, layout_text = raw.get("Datatype") or raw.get("DataType"), raw.get("Format")
        layout_text = layout_text if isinstance(layout_text, str) else ""
        layout = parse_format(layout_text)
        dtype = parse_data_type(stated) if isinstance(stated, str) else parse_data_type(layout_text)
    location = raw.get("Location")
    return Tensor(
        raw["Name"] if isinstance(raw.get("Name"), str) else "",
        parse_shape(raw.get("Dimensions")),
        dtype,
        layout,
        location if isinstance(location, str) else None,
    )


def parse_shape(raw: Any) -> tuple[int, ...]:  # noqa: ANN401
    """Dimensions as a tuple; anything that is no extent counts as dynamic."""
    if not isinstance(raw, list):
        return (-1,)
    for extent in raw:
        if type(extent) is not int or extent < 0:
            return _shared(tuple(entry if type(entry) is int and entry >= 0 else -1 for entry in raw))
    return _shared(tuple(raw))


@lru_cache(maxsize=4096)
def _shared(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The same object for equal shapes: an engine has few different ones, and they are a tenth of its memory."""
    return shape


def _tensors(raw: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
    return (
        tuple([build_tensor(entry) for entry in raw if isinstance(entry, dict)])
        if isinstance(raw, list)
        else ()
    )


@dataclass(frozen=True, slots=True)
class _Parts:
    """A layer's tensors, parsed before it is known which of them nobody produces."""

    raw: dict[str, Any]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


def select_profile(info: LayerInfo, profile: int) -> list[dict[str, Any]]:
    """The layers of one optimization profile; all of them where names carry no suffix."""
    return [raw for raw in info.layers if parse_optimization_profile(raw["Name"]) == profile]


def build_layers(
    selected: Sequence[dict[str, Any]],
    bindings: Iterable[str],
    latencies: Sequence[LayerLatency | None],
) -> tuple[Layer, ...]:
    """Make layers of their objects.

    Args:
        selected: Objects in execution order, each with a `Name`.
        bindings: Names of the network's inputs and outputs; an input that is none of them and that no layer writes is a
            constant.
        latencies: One per object.
    """
    parts = [_Parts(raw, _tensors(raw.get("Inputs")), _tensors(raw.get("Outputs"))) for raw in selected]
    known = set(bindings)
    if not known:
        # Which inputs are the network's is not told: not those of layers that list their weights.
        native = (part for part in parts if part.raw.get("ParameterType"))
        known.update(tensor.name for part in native for tensor in part.inputs)
    known.update(tensor.name for part in parts for tensor in part.outputs)
    seen: Counter[str] = Counter()
    layers = []
    for index, (part, latency) in enumerate(zip(parts, latencies, strict=True)):
        name = part.raw["Name"]
        layers.append(_layer(index, seen[name], part, known, latency))
        seen[name] += 1
    return tuple(layers)


def _layer(index: int, occurrence: int, part: _Parts, known: set[str], latency: LayerLatency | None) -> Layer:
    raw, inputs, outputs = part.raw, part.inputs, part.outputs
    name = raw["Name"]
    layer_type, parameter_type, tactic = (
        _text(raw, "LayerType"),
        _text(raw, "ParameterType"),
        _text(raw, "TacticName"),
    )
    stream = raw.get("StreamId")
    kind = classify(
        layer_type,
        parameter_type,
        name,
        tactic,
        origin=_text(raw, "Origin"),
        input_types=[tensor.dtype for tensor in inputs],
        output_types=[tensor.dtype for tensor in outputs],
    )
    constants = [one for one in inputs if one.name not in known and not one.name.startswith(_NO_CONSTANT)]
    constant_bytes = _constant_bytes(constants) if layer_type else None
    listed_bytes = _listed_weights_bytes(raw) if layer_type else None
    if not constant_bytes and not listed_bytes and _hides_weights(kind, layer_type, parameter_type, inputs):
        listed_bytes = None
    return Layer(
        index=index,
        name=name,
        occurrence=occurrence,
        kind=kind,
        layer_type=layer_type,
        parameter_type=parameter_type,
        inputs=inputs,
        outputs=outputs,
        precision=_precision(kind, tactic, inputs, outputs),
        tactic=tactic,
        tactic_value=_text(raw, "TacticValue"),
        stream=stream if type(stream) is int and 0 <= stream < 2**31 else None,
        device=_device(layer_type),
        onnx_nodes=parse_onnx_nodes(raw.get("Metadata")),
        weights_bytes=_sum(listed_bytes, constant_bytes),
        constant_input_bytes=constant_bytes,
        constant_inputs=frozenset([constant.name for constant in constants]) if constants else _NO_NAMES,
        latency=latency,
        optimization_profile=parse_optimization_profile(name),
        attributes=without_depths({key: value for key, value in raw.items() if key not in _OWN_KEYS}),
    )


def _text(raw: dict[str, Any], key: str) -> str | None:
    value = raw.get(key)
    return value if isinstance(value, str) and value else None


def _device(layer_type: str | None) -> Device | None:
    if layer_type is None:
        return None
    return Device.DLA if "DLA" in layer_type else Device.GPU


def _precision(
    kind: LayerKind, tactic_name: str | None, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> DataType | None:
    """What a layer computes in.

    A kernel that multiplies tells by its name: tensors of FP32 say nothing of TF32, nor halves that are widened first.
    Elsewhere the first tensor of a floating-point or quantized type decides; indices and masks do not, as they do in trex.
    """
    if kind.multiplies:
        tactic = parse_tactic(tactic_name)
        if tactic is not None and tactic.compute_type is not None:
            return tactic.compute_type
    first = None
    for tensor in (*inputs, *outputs):
        if tensor.dtype is None:
            continue
        if tensor.dtype.is_float or tensor.dtype.is_quantized:
            return tensor.dtype
        first = first or tensor.dtype
    return first


def _hides_weights(
    kind: LayerKind, layer_type: str | None, parameter_type: str | None, inputs: Sequence[Tensor]
) -> bool:
    """Whether a layer without a visible constant must have one: some engines (the real BEV set) do not list those of Myelin
    layers, and opaque subgraphs never do. A convolution needs a filter; a GEMM with one input needs a second operand."""
    if parameter_type is not None:
        return False
    if kind in (LayerKind.MYELIN, LayerKind.FUSED) and layer_type != "kgen":
        return True
    return kind is LayerKind.CONVOLUTION or (kind is LayerKind.GEMM and len(inputs) < 2)


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second


def _constant_bytes(constants: Sequence[Tensor]) -> int | None:
    total = 0
    for tensor in constants:
        size = tensor.logical_bytes
        if size is None:
            return None
        total += size
    return total


def _listed_weights_bytes(raw: dict[str, Any]) -> int | None:
    """Bytes of all `{"Type", "Count"}` objects of a layer: `Weights`, `Bias`, `ConvWeights`, `Scale`, …"""
    total = 0
    for value in raw.values():
        if type(value) is not dict or "Count" not in value:
            continue
        count, type_text = value["Count"], value.get("Type")
        if type(count) is not int or not 0 <= count <= MOST_ELEMENTS:
            return None
        dtype = parse_data_type(type_text) if isinstance(type_text, str) else None
        if count and dtype is None:
            return None
        total += -(-count * dtype.bits // 8) if dtype else 0
    return total


def build_bindings(info: LayerInfo, layers: Sequence[Layer], profile: int) -> tuple[Binding, ...]:
    """Tell inputs from outputs: TensorRT 11 says so; before, an input is read before it is written.

    A tensor that is read first and written later (a cache updated in place) is listed as both.
    """
    if info.io_tensors:
        return tuple(_stated_binding(raw) for raw in info.io_tensors)
    names = [name for name in info.bindings if parse_optimization_profile(name) == profile]
    wanted = set(names)
    reads = _first_uses(((layer.index, layer.inputs) for layer in layers), wanted)
    writes = _first_uses(((layer.index, layer.outputs) for layer in layers), wanted)
    bindings = []
    for name in names:
        read, write = reads.get(name), writes.get(name)
        if read and (write is None or read[0] <= write[0]):
            bindings.append(_binding(name, True, read[1]))
        if write:
            bindings.append(_binding(name, False, write[1]))
        if not read and not write:
            bindings.append(Binding(name, None))
    return tuple(bindings)


def _first_uses(
    uses: Iterable[tuple[int, Sequence[Tensor]]], wanted: set[str]
) -> dict[str, tuple[int, Tensor]]:
    """Name -> the first layer that has a tensor of this name, and the tensor."""
    found: dict[str, tuple[int, Tensor]] = {}
    for index, tensors in uses:
        for tensor in tensors:
            if tensor.name in wanted:
                found.setdefault(tensor.name, (index, tensor))
    return found


def _binding(name: str, is_input: bool, tensor: Tensor) -> Binding:
    return Binding(name, is_input, tensor.shape, tensor.dtype, tensor.format)


def _stated_binding(raw: dict[str, Any]) -> Binding:
    tensor = build_tensor(raw)
    mode = str(raw.get("IOMode", "")).lower()
    layout = tensor.format if tensor.format.text else _profile_format(raw)
    is_input = True if mode.endswith("input") else False if mode.endswith("output") else None
    return Binding(tensor.name, is_input, tensor.shape, tensor.dtype, layout)


def _profile_format(raw: dict[str, Any]) -> TensorFormat:
    profiles = raw.get("ProfileInfo")
    first = profiles[0] if isinstance(profiles, list) and profiles else None
    text = first.get("Format") if isinstance(first, dict) else None
    return parse_format(text if isinstance(text, str) else "")


@dataclass(frozen=True, slots=True)
class JoinedProfile:
    """One latency per layer, None where no row belongs to it, and what was left over on both sides.

    Attributes:
        unmatched: Rows that name no layer.
    """

    latencies: list[LayerLatency | None]
    diagnostics: list[Diagnostic]
    unmatched: int = 0


def join_profile(names: Sequence[str], profile: Profile | None, file: Path | None) -> JoinedProfile:
    """Join rows to layers by (name, occurrence): trtexec reports equal names in execution order.

    Args:
        names: Layer names in execution order.
        profile: None if there is none, which is no finding here.
        file: The profile's file, for diagnostics.
    """
    if profile is None:
        return JoinedProfile([None] * len(names), [])
    rows: dict[tuple[str, int], ProfileRow] = {}
    seen: Counter[str] = Counter()
    for row in profile.rows:
        rows[row.name, seen[row.name]] = row
        seen[row.name] += 1
    seen.clear()
    latencies: list[LayerLatency | None] = []
    for name in names:
        found = rows.pop((name, seen[name]), None)
        seen[name] += 1
        latencies.append(_latency(found) if found else None)
    notes = _leftovers(names, latencies, list(rows.values()), len(profile.rows), file)
    return JoinedProfile(latencies, notes, len(rows))


def _latency(row: ProfileRow) -> LayerLatency:
    return LayerLatency(row.average_ms, row.median_ms, row.total_ms, row.percentage)


def _leftovers(
    names: Sequence[str],
    latencies: Sequence[LayerLatency | None],
    unmatched: Sequence[ProfileRow],
    row_count: int,
    file: Path | None,
) -> list[Diagnostic]:
    missing = [name for name, latency in zip(names, latencies, strict=True) if latency is None]
    if row_count and names and len(unmatched) == row_count:
        message = (
            f"does not belong to this graph: not one of its {plural(row_count, 'row')} names a layer of it"
        )
        return [Diagnostic(Severity.ERROR, file, "", message)]
    notes = []
    if unmatched:
        lost_ms = sum(row.average_ms or 0.0 for row in unmatched)
        message = (
            f"{len(unmatched)} of {plural(row_count, 'row')} match no layer of the graph and are in no total "
            f"({lost_ms:.6g} ms; the first: {_quoted(unmatched[0].name)})"
        )
        notes.append(Diagnostic(Severity.WARNING, file, "", message))
    if missing and row_count:
        message = f"has no row for {len(missing)} of {plural(len(names), 'layer')} (the first: {_quoted(missing[0])})"
        notes.append(Diagnostic(Severity.WARNING, file, "", message))
    return notes


def _quoted(name: str) -> str:
    return f"'{shorten_middle(name, 60)}'"
