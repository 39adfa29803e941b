"""Convert the verbatim objects of the files to layers and bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import count, repeat
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

from trex_tui.old.artifacts.input_files import without_depths
from trex_tui.old.artifacts.layer_info import LayerInfo
from trex_tui.old.artifacts.metadata import StatedTensor
from trex_tui.old.artifacts.profile import Profile, ProfileRow
from trex_tui.old.engine.dtypes import DataType, TensorFormat, parse_data_type, parse_format
from trex_tui.old.engine.kinds import LayerKind, classify, classify_names
from trex_tui.old.engine.model import MOST_ELEMENTS, Binding, Device, Layer, LayerLatency, Tensor
from trex_tui.old.engine.tactics import parse_tactic
from trex_tui.old.errors import Diagnostic, Severity
from trex_tui.old.lazy_pattern import lazy_pattern
from trex_tui.old.text import plural, shorten_middle

_PROFILE_SUFFIX = lazy_pattern(r"\[profile +(\d{1,9})\]")
_ONNX_PREFIX = "[ONNX Layer: "
# Keys with their own field in `Layer`. TensorRT 11 lists constants apart, TensorRT 10 among the inputs: so they are here.
_OWN_KEYS = frozenset(
    {
        "Name",
        "LayerType",
        "ParameterType",
        "Inputs",
        "Constants",
        "Outputs",
        "TacticName",
        "TacticValue",
        "StreamId",
    }
)
_NO_NAMES: frozenset[str] = frozenset()
# Inputs that no layer writes and that hold no data of the network.
_NO_CONSTANT = ("l2_cache_policy", "l2_cache_management")


def parse_optimization_profile(name: str) -> int:
    """Return N of a ` [profile N]` in a name (TensorRT up to 9 repeats the layers per profile), else 0."""
    if "[profile" not in name:
        return 0
    match = _PROFILE_SUFFIX.search(name)
    return int(match[1]) if match else 0


def parse_onnx_nodes(metadata: Any) -> tuple[str, ...]:  # noqa: ANN401
    """Return the ONNX node names in a layer's `Metadata`: `[ONNX Layer: a]` entries separated by U+001E or U+001F."""
    if not isinstance(metadata, str) or not metadata:
        return ()
    if metadata.startswith(_ONNX_PREFIX) and metadata[-1] == "]" and "\x1f" not in metadata:
        nodes = metadata[len(_ONNX_PREFIX) : -1].split("]\x1e" + _ONNX_PREFIX)
        if len(nodes) == metadata.count("\x1e") + 1:  # nothing else between them, as nearly always
            return tuple(nodes if len(nodes) < 2 else dict.fromkeys(nodes))
    entries = map(str.strip, metadata.replace("\x1e", "\x1f").split("\x1f"))
    nodes = [
        entry[len(_ONNX_PREFIX) :].removesuffix("]") for entry in entries if entry.startswith(_ONNX_PREFIX)
    ]
    return tuple(nodes if len(nodes) < 2 else dict.fromkeys(nodes))


def build_tensor(raw: dict[str, Any]) -> Tensor:
    """Convert one entry of `Inputs` or `Outputs`: `Format/Datatype` up to TensorRT 10, `Datatype` and `Format` from 11 on."""
    name, location, both = raw.get("Name"), raw.get("Location"), raw.get("Format/Datatype")
    dtype, layout = _parse_both(both) if type(both) is str and both else _parse_apart(raw)
    return _make_tensor(
        (
            name if type(name) is str else "",
            parse_shape(raw.get("Dimensions")),
            dtype,
            layout,
            location if type(location) is str else None,
        )
    )


def _parse_apart(raw: dict[str, Any]) -> tuple[DataType | None, TensorFormat]:
    both = raw.get("Format/Datatype") or raw.get("Format/DataType")
    if isinstance(both, str):
        return _parse_both(both)
    stated, layout = raw.get("Datatype") or raw.get("DataType"), raw.get("Format")
    layout = layout if isinstance(layout, str) else ""
    return parse_data_type(stated if isinstance(stated, str) else layout), parse_format(layout)


def parse_shape(raw: Any) -> tuple[int, ...]:  # noqa: ANN401
    """Return dimensions as a tuple; anything that is not an extent counts as dynamic."""
    if not isinstance(raw, list):
        return (-1,)
    if not raw or _ONLY_INT.issuperset(map(type, raw)):
        return _shape(tuple(raw))
    return _shape(tuple(entry if type(entry) is int else -1 for entry in raw))


_ONLY_INT = frozenset((int,))


@lru_cache(maxsize=4096)
def _shape(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Return the same object for equal shapes: an engine has few different ones, and they take a tenth of its memory."""
    return tuple(extent if extent >= 0 else -1 for extent in extents)


@lru_cache(maxsize=4096)
def _parse_both(text: str) -> tuple[DataType | None, TensorFormat]:
    return parse_data_type(text), parse_format(text)


def _tensors(raw: Any) -> tuple[Tensor, ...]:  # noqa: ANN401
    if not raw or not isinstance(raw, list):
        return ()
    return tuple([build_tensor(entry) for entry in raw if isinstance(entry, dict)])


def select_profile(info: LayerInfo, profile: int) -> list[dict[str, Any]]:
    """Return the layers of one optimization profile; all of them if names have no suffix."""
    return [raw for raw in info.layers if parse_optimization_profile(raw["Name"]) == profile]


def build_layers(
    selected: Sequence[dict[str, Any]],
    bindings: Iterable[str],
    latencies: Sequence[LayerLatency | None],
) -> tuple[Layer, ...]:
    """Create layers from their objects.

    Args:
        selected: Objects in execution order, each with a `Name`.
        bindings: Names of the network's inputs and outputs; an input that is not among them and that no layer writes is a
            constant.
        latencies: One per object.
    """
    names = [raw["Name"] for raw in selected]
    if all(len(raw) == 1 for raw in selected):
        return build_named_layers(names, latencies)
    inputs = [_tensors(raw.get("Inputs")) for raw in selected]
    outputs = [_tensors(raw.get("Outputs")) for raw in selected]
    known = set(bindings)
    if not known:
        # Network inputs are unknown here: inputs of layers that list their weights are not constants.
        listing = [tensors for raw, tensors in zip(selected, inputs, strict=True) if raw.get("ParameterType")]
        known.update([tensor.name for tensors in listing for tensor in tensors])
    known.update([tensor.name for tensors in outputs for tensor in tensors])
    have_suffixes = any("[profile" in name for name in names)
    profiles = map(parse_optimization_profile, names) if have_suffixes else repeat(0)
    columns = (count(), _occurrences(names), selected, inputs, outputs, repeat(known), latencies, profiles)
    return tuple(map(_layer, *columns))


def build_named_layers(names: Sequence[str], latencies: Sequence[LayerLatency | None]) -> tuple[Layer, ...]:
    """Create layers of which only the names are known, in columns: a profile may have hundreds of thousands.

    Args:
        names: In execution order.
        latencies: One per name.
    """
    have_suffixes = any("[profile" in name for name in names)
    columns: dict[str, Iterable[Any]] = dict.fromkeys(Layer._fields, repeat(None)) | {
        "index": range(len(names)),
        "name": names,
        "occurrence": _occurrences(names),
        "kind": classify_names(names),
        "inputs": repeat(()),
        "outputs": repeat(()),
        "onnx_nodes": repeat(()),
        "constant_inputs": repeat(_NO_NAMES),
        "latency": latencies,
        "optimization_profile": map(parse_optimization_profile, names) if have_suffixes else repeat(0),
        "attributes": repeat({}),
    }
    return tuple(map(_make_layer, zip(*columns.values(), strict=False)))


_make_tensor: Callable[[tuple[Any, ...]], Tensor] = partial(tuple.__new__, Tensor)
_make_layer: Callable[[tuple[Any, ...]], Layer] = partial(tuple.__new__, Layer)
_make_latency: Callable[[tuple[Any, ...]], LayerLatency] = partial(tuple.__new__, LayerLatency)


def _occurrences(names: Sequence[str]) -> Iterable[int]:
    """Return, for each name, the number of equal names before it."""
    if len(set(names)) == len(names):
        return repeat(0, len(names))
    seen: dict[str, int] = {}
    occurrences = []
    for name in names:
        occurrence = seen.get(name, 0)
        seen[name] = occurrence + 1
        occurrences.append(occurrence)
    return occurrences


def _layer(
    index: int,
    occurrence: int,
    raw: dict[str, Any],
    inputs: tuple[Tensor, ...],
    outputs: tuple[Tensor, ...],
    known: set[str],
    latency: LayerLatency | None,
    optimization_profile: int,
) -> Layer:
    if stated := raw.get("Constants"):
        inputs += _tensors(stated)
    name = raw["Name"]
    layer_type, parameter_type, tactic = (
        _text(raw.get("LayerType")),
        _text(raw.get("ParameterType")),
        _text(raw.get("TacticName")),
    )
    stream = raw.get("StreamId")
    onnx_nodes = parse_onnx_nodes(raw.get("Metadata"))
    kind = classify(
        layer_type,
        parameter_type,
        name,
        tactic,
        origin=raw.get("Origin"),
        input_type=inputs[0].dtype if inputs else None,
        output_type=outputs[0].dtype if outputs else None,
        onnx_nodes=onnx_nodes,
    )
    constants = [
        tensor for tensor in inputs if tensor.name not in known and not tensor.name.startswith(_NO_CONSTANT)
    ]
    attributes = raw.copy()
    for key in _OWN_KEYS:
        attributes.pop(key, None)
    constant_bytes = _constant_bytes(constants) if layer_type else None
    listed_bytes = _listed_weights_bytes(attributes) if layer_type else None
    if not constant_bytes and not listed_bytes and _hides_weights(kind, layer_type, parameter_type, inputs):
        listed_bytes = None
    fields = (
        index,
        name,
        occurrence,
        kind,
        layer_type,
        parameter_type,
        inputs,
        outputs,
        _precision(kind, tactic, inputs, outputs),
        tactic,
        _text(raw.get("TacticValue")),
        stream if type(stream) is int and 0 <= stream < 2**31 else None,
        _device(layer_type),
        onnx_nodes,
        _sum(listed_bytes, constant_bytes),
        constant_bytes,
        frozenset([constant.name for constant in constants]) if constants else _NO_NAMES,
        latency,
        optimization_profile,
        without_depths(attributes),
    )
    return _make_layer(fields)


def _text(value: Any) -> str | None:  # noqa: ANN401 - any JSON value
    return value if isinstance(value, str) and value else None


def _device(layer_type: str | None) -> Device | None:
    if layer_type is None:
        return None
    return Device.DLA if "DLA" in layer_type else Device.GPU


def _precision(
    kind: LayerKind, tactic_name: str | None, inputs: Sequence[Tensor], outputs: Sequence[Tensor]
) -> DataType | None:
    """Return the type that a layer computes in.

    For kernels that multiply, the name decides: FP32 tensors do not show TF32, nor halves that are converted first. Otherwise
    the first tensor of a floating-point or quantized type decides; indices and masks do not, unlike in trex. The precision of
    an opaque block is unknown if its inputs have several such types.
    """
    if kind.multiplies:
        tactic = parse_tactic(tactic_name)
        if tactic is not None and tactic.compute_type is not None:
            return tactic.compute_type
    if kind is LayerKind.MYELIN:
        types = {
            tensor.dtype
            for tensor in inputs
            if tensor.dtype and (tensor.dtype.is_float or tensor.dtype.is_quantized)
        }
        if len(types) > 1:
            return None
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
    """Return whether a layer without a visible constant must have one: some engines (the real BEV set) do not list those of
    Myelin layers, and opaque subgraphs never do. A convolution needs a filter; a GEMM with one input needs a second operand.
    """
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


def _listed_weights_bytes(attributes: dict[str, Any]) -> int | None:
    """Return the bytes of all `{"Type", "Count"}` objects of a layer: `Weights`, `Bias`, `ConvWeights`, `Scale`, …"""
    total = 0
    for value in attributes.values():
        if type(value) is not dict or "Count" not in value:
            continue
        elements, type_text = value["Count"], value.get("Type")
        if type(elements) is not int or not 0 <= elements <= MOST_ELEMENTS:
            return None
        dtype = parse_data_type(type_text) if isinstance(type_text, str) else None
        if elements and dtype is None:
            return None
        total += -(-elements * dtype.bits // 8) if dtype else 0
    return total


def build_bindings(info: LayerInfo, layers: Sequence[Layer], profile: int) -> tuple[Binding, ...]:
    """Return the bindings as inputs and outputs: TensorRT 11 states which; before, an input is read before it is written.

    A tensor that is read first and written later (a cache updated in place) is listed as both.
    """
    if info.io_tensors:
        return tuple(_stated_binding(raw) for raw in info.io_tensors)
    names = [name for name in info.bindings if parse_optimization_profile(name) == profile]
    wanted = set(names)
    reads = _first_uses([layer.inputs for layer in layers], wanted)
    writes = _first_uses([layer.outputs for layer in layers], wanted)
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


def complete_bindings(bindings: Sequence[Binding], stated: Sequence[StatedTensor]) -> tuple[Binding, ...]:
    """Complete inputs and outputs with facts missing in the layers; take all of them if the layer information names none."""
    by_name = {tensor.name: tensor for tensor in stated}
    if not bindings:
        bindings = [Binding(tensor.name, tensor.is_input) for tensor in stated]
    return tuple(_completed(binding, by_name.get(binding.name)) for binding in bindings)


def _completed(binding: Binding, stated: StatedTensor | None) -> Binding:
    if stated is None or (binding.is_input is not None and binding.shape is not None):
        return binding
    dtype = parse_data_type(stated.dtype) if stated.dtype else None
    is_input = stated.is_input if binding.is_input is None else binding.is_input
    shape = stated.shape if binding.shape is None else binding.shape
    return replace(binding, is_input=is_input, shape=shape, dtype=binding.dtype or dtype)


def _first_uses(
    tensors_of_layers: Sequence[tuple[Tensor, ...]], wanted: set[str]
) -> dict[str, tuple[int, Tensor]]:
    """Return name -> index of the first layer with a tensor of this name, and the tensor."""
    uses = [
        (tensor.name, (index, tensor))
        for index, tensors in enumerate(tensors_of_layers)
        for tensor in tensors
        if tensor.name in wanted
    ]
    return dict(reversed(uses))


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


class JoinedProfile(NamedTuple):
    """One latency per layer, None for layers without a row, and what could not be joined on either side.

    Attributes:
        unmatched: Number of rows that name no layer.
    """

    latencies: list[LayerLatency | None]
    diagnostics: list[Diagnostic]
    unmatched: int = 0


def join_profile(names: Sequence[str], profile: Profile | None, file: Path | None) -> JoinedProfile:
    """Join rows to layers by (name, occurrence): trtexec reports equal names in execution order.

    Args:
        names: Layer names in execution order.
        profile: None if there is none, which gives no diagnostic here.
        file: The profile's file, for diagnostics.
    """
    if profile is None:
        return JoinedProfile([None] * len(names), [])
    rows = profile.rows
    if list(names) == [row.name for row in rows]:
        return JoinedProfile(list(_make_latencies(profile)), [])
    waiting: dict[str, list[int]] = {}
    for position in range(len(rows) - 1, -1, -1):
        waiting.setdefault(rows[position].name, []).append(position)
    none: list[int] = []
    of_rows = list(_make_latencies(profile))
    latencies = [of_rows[found.pop()] if (found := waiting.get(name, none)) else None for name in names]
    left = [
        rows[position] for position in sorted(position for found in waiting.values() for position in found)
    ]
    notes = _leftovers(names, latencies, left, len(profile.rows), file)
    return JoinedProfile(latencies, notes, len(left))


def _make_latencies(profile: Profile) -> Iterator[LayerLatency]:
    """The latency that each row states."""
    keys = ("average_ms", "median_ms", "total_ms", "percentage")
    columns = [map(attrgetter(key), profile.rows) for key in keys]
    return map(_make_latency, zip(*columns, profile.spreads or repeat(None), strict=False))


def _leftovers(
    names: Sequence[str],
    latencies: Sequence[LayerLatency | None],
    unmatched: Sequence[ProfileRow],
    row_count: int,
    file: Path | None,
) -> list[Diagnostic]:
    missing = [name for name, latency in zip(names, latencies, strict=True) if latency is None]
    if row_count and names and len(unmatched) == row_count:
        message = f"does not match this graph: none of its {plural(row_count, 'row')} names a layer; profile this engine"
        return [Diagnostic(Severity.ERROR, file, "", message)]
    notes = []
    if unmatched:
        lost_ms = sum(row.average_ms or 0.0 for row in unmatched)
        message = (
            f"{len(unmatched)} of {plural(row_count, 'row')} match no layer of the graph and are excluded "
            f"({lost_ms:.6g} ms; the first: {_quoted(unmatched[0].name)})"
        )
        notes.append(Diagnostic(Severity.WARNING, file, "", message))
    if missing and row_count:
        message = f"has no row for {len(missing)} of {plural(len(names), 'layer')} (the first: {_quoted(missing[0])})"
        notes.append(Diagnostic(Severity.WARNING, file, "", message))
    return notes


def _quoted(name: str) -> str:
    return f"'{shorten_middle(name, 60)}'"
