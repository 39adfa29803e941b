"""Build the tables of an engine from the objects of its files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trex_tui.artifacts.layer_info import LayerInfo
from trex_tui.artifacts.metadata import StatedTensor
from trex_tui.artifacts.profile import Profile
from trex_tui.artifacts.timing import TIMING_KEYS, Timing
from trex_tui.engine.dtypes import DataType, TensorFormat, allocated_bytes, parse_data_type, parse_format
from trex_tui.engine.kinds import LayerKind, classify, classify_name
from trex_tui.engine.tactics import parse_tactic
from trex_tui.errors import Note, Severity
from trex_tui.frames import FLOAT, INT, text_array
from trex_tui.text import plural, shorten_middle

Record = dict[str, Any]
"""The object of a layer or tensor in the layer information."""
MOST_ELEMENTS = 2**44
"""A larger product of dimensions means a damaged file. Sums of smaller ones fit 64 bits."""
_PROFILE_SUFFIX = re.compile(r"\[profile +(\d{1,9})\]")
_ONNX_PREFIX = "[ONNX Layer: "
_NO_CONSTANT = ("l2_cache_policy", "l2_cache_management")
"""Inputs that no layer writes and that hold no data of the network."""


def parse_optimization_profile(name: str) -> int:
    """Return N of a ` [profile N]` in a name (TensorRT up to 9 repeats the layers per profile), else 0."""
    match = _PROFILE_SUFFIX.search(name) if "[profile" in name else None
    return int(match[1]) if match else 0


def parse_onnx_nodes(metadata: object) -> tuple[str, ...]:
    """Return the ONNX node names in a layer's `Metadata`: `[ONNX Layer: a]` entries, separated by U+001E, U+001F or
    not at all.
    """
    if not isinstance(metadata, str) or not metadata:
        return ()
    metadata = metadata.replace(f"]{_ONNX_PREFIX}", f"]\x1f{_ONNX_PREFIX}")
    if "\x1e" not in metadata and "\x1f" not in metadata:
        metadata = metadata.strip()
        is_node = metadata.startswith(_ONNX_PREFIX)
        return (metadata[len(_ONNX_PREFIX) :].removesuffix("]"),) if is_node else ()
    entries = map(str.strip, metadata.replace("\x1e", "\x1f").split("\x1f"))
    nodes = (
        entry[len(_ONNX_PREFIX) :].removesuffix("]") for entry in entries if entry.startswith(_ONNX_PREFIX)
    )
    return tuple(dict.fromkeys(nodes))


def count_occurrences(names: Iterable[str]) -> list[int]:
    """Return, for each name, the number of equal names before it."""
    seen: Counter[str] = Counter()
    occurrences = []
    for name in names:
        occurrences.append(seen[name])
        seen[name] += 1
    return occurrences


# Tensors


class _Tensor(NamedTuple):
    """A tensor of a layer, parsed, with the columns of `Engine.tensors` as fields."""

    name: str
    shape: tuple[int, ...]
    dtype: DataType | None
    format: TensorFormat
    location: str | None
    volume: int | None
    bytes: int | None
    allocated_bytes: int | None


def parse_shape(raw: object) -> tuple[int, ...]:
    """Return dimensions as a tuple; anything that is not an extent counts as dynamic."""
    if not isinstance(raw, list):
        return (-1,)
    return tuple([extent if type(extent) is int and extent >= 0 else -1 for extent in raw])


def _parse_tensor(raw: Record) -> _Tensor:
    """Convert an entry of `Inputs` or `Outputs`: `Format/Datatype` up to TensorRT 10, `Datatype` and `Format` from 11 on."""
    name, location = raw.get("Name"), raw.get("Location")
    both = raw.get("Format/Datatype") or raw.get("Format/DataType")
    stated, text = (both, both) if both else (raw.get("Datatype") or raw.get("DataType"), raw.get("Format"))
    text = text if isinstance(text, str) else ""
    dtype, layout = _parse_types(stated if isinstance(stated, str) else text, text)
    shape = parse_shape(raw.get("Dimensions"))
    return _Tensor(
        name if isinstance(name, str) else "",
        shape,
        dtype,
        layout,
        location if isinstance(location, str) else None,
        *_measure(shape, dtype, layout),
    )


@lru_cache(maxsize=1024)
def _parse_types(stated: str, layout: str) -> tuple[DataType | None, TensorFormat]:
    return parse_data_type(stated), parse_format(layout)


@lru_cache(maxsize=8192)  # an engine has few different ones
def _measure(
    shape: tuple[int, ...], dtype: DataType | None, layout: TensorFormat
) -> tuple[int | None, int | None, int | None]:
    """Return elements, bytes, and bytes with the padding of vectorized layouts; None where a dimension or type is unknown."""
    volume = math.prod(shape)
    if min(shape, default=0) < 0 or volume > MOST_ELEMENTS:
        return None, None, None
    if dtype is None:
        return volume, None, None
    return volume, -(-volume * dtype.bits // 8), allocated_bytes(shape, dtype, layout)


def _list_tensors(listed: object) -> list[_Tensor]:
    if not listed or not isinstance(listed, list):
        return []
    return [_parse_tensor(entry) for entry in listed if isinstance(entry, dict)]


def _tensor_frame(
    inputs: Sequence[list[_Tensor]], outputs: Sequence[list[_Tensor]], known: Collection[str]
) -> pd.DataFrame:
    layers: list[int] = []
    roles: list[str] = []
    ports: list[int] = []
    rows: list[_Tensor] = []
    for layer, sides in enumerate(zip(inputs, outputs, strict=True)):
        for role, tensors in zip(("input", "output"), sides, strict=True):
            layers += [layer] * len(tensors)
            roles += [role] * len(tensors)
            ports += range(len(tensors))
            rows += tensors
    names, shapes, dtypes, formats, locations, volumes, sizes, allocated = (
        zip(*rows, strict=True) if rows else [()] * 8
    )
    are_constant = [
        role == "input" and name not in known and not name.startswith(_NO_CONSTANT) and -1 not in shape
        for role, name, shape in zip(roles, names, shapes, strict=True)
    ]
    return pd.DataFrame(
        {
            "layer": np.array(layers, dtype="int64"),
            "role": text_array(roles),
            "port": np.array(ports, dtype="int64"),
            "name": text_array(names),
            "shape": _objects(shapes),
            "dtype": text_array(dtype and dtype.value for dtype in dtypes),
            "format": text_array(layout.layout for layout in formats),
            "format_text": text_array(layout.text or None for layout in formats),
            "location": text_array(locations),
            "volume": pd.array(volumes, INT),
            "bytes": pd.array(sizes, INT),
            "allocated_bytes": pd.array(allocated, INT),
            "is_constant": np.array(are_constant, dtype=bool),
        }
    )


def _objects(values: Sequence[object]) -> pd.Series:
    """Return a column of tuples, which pandas would take for rows."""
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return pd.Series(column)


# Layers


def build_frames(objects: Sequence[Record], bindings: Iterable[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the layers, without times, and their tensors.

    Args:
        objects: Layers in execution order, each with a `Name`.
        bindings: Names of the network's inputs and outputs; an input that is not among them and that no layer writes is a
            constant.
    """
    names = [raw["Name"] for raw in objects]
    if all(len(raw) == 1 for raw in objects):
        kinds = [classify_name(name).value for name in names]
        return _layer_frame(names, {"kind": kinds}), _tensor_frame([[]] * len(names), [[]] * len(names), ())
    inputs = [_list_tensors(raw.get("Inputs")) for raw in objects]
    outputs = [_list_tensors(raw.get("Outputs")) for raw in objects]
    known = set(bindings)
    if not known:
        # Inputs of the network are not named: those of layers that list their weights are no constants.
        listing = (tensors for raw, tensors in zip(objects, inputs, strict=True) if raw.get("ParameterType"))
        known.update(tensor.name for tensors in listing for tensor in tensors)
    known.update(tensor.name for tensors in outputs for tensor in tensors)
    for raw, reads in zip(objects, inputs, strict=True):
        reads += _list_tensors(raw.get("Constants"))  # TensorRT 10 lists them among the inputs
    tensors = _tensor_frame(inputs, outputs, known)
    rows = [
        _describe_layer(raw, reads, writes, known)
        for raw, reads, writes in zip(objects, inputs, outputs, strict=True)
    ]
    return _layer_frame(names, {key: [row[key] for row in rows] for key in rows[0]}), tensors


_TEXTS = ("kind", "layer_type", "parameter_type", "precision", "tactic", "tactic_value")


def _layer_frame(names: Sequence[str], columns: dict[str, list[Any]]) -> pd.DataFrame:
    nothing = [None] * len(names)
    return pd.DataFrame(
        {
            "name": text_array(names),
            "occurrence": pd.array(count_occurrences(names), INT),
            **{key: text_array(columns.get(key, nothing)) for key in _TEXTS},
            "stream": pd.array(columns.get("stream", nothing), INT),
            "device": text_array(columns.get("device", nothing)),
            "onnx_nodes": _objects(columns.get("onnx_nodes", [()] * len(names))),
            "weights_bytes": pd.array(columns.get("weights_bytes", nothing), INT),
            "constant_bytes": pd.array(columns.get("constant_bytes", nothing), INT),
        }
    )


def _describe_layer(raw: Record, inputs: list[_Tensor], outputs: list[_Tensor], known: set[str]) -> Record:
    layer_type, parameter_type = _text(raw.get("LayerType")), _text(raw.get("ParameterType"))
    tactic, stream = _text(raw.get("TacticName")), raw.get("StreamId")
    nodes = parse_onnx_nodes(raw.get("Metadata"))
    kind = classify(
        layer_type,
        parameter_type,
        raw["Name"],
        tactic,
        origin=raw.get("Origin"),
        input_type=inputs[0].dtype if inputs else None,
        output_type=outputs[0].dtype if outputs else None,
        onnx_nodes=nodes,
    )
    constants = [
        tensor for tensor in inputs if tensor.name not in known and not tensor.name.startswith(_NO_CONSTANT)
    ]
    constant_bytes = _add([tensor.bytes for tensor in constants]) if layer_type else None
    listed_bytes = _listed_weights_bytes(raw) if layer_type else None
    if not constant_bytes and not listed_bytes and _hides_weights(kind, layer_type, parameter_type, inputs):
        listed_bytes = None
    precision = _find_precision(kind, tactic, inputs, outputs)
    return {
        "kind": kind.value,
        "layer_type": layer_type,
        "parameter_type": parameter_type,
        "precision": precision and precision.value,
        "tactic": tactic,
        "tactic_value": _text(raw.get("TacticValue")),
        "stream": stream if type(stream) is int and 0 <= stream < 2**31 else None,
        "device": None if layer_type is None else "DLA" if "DLA" in layer_type else "GPU",
        "onnx_nodes": nodes,
        "weights_bytes": _add([listed_bytes, constant_bytes]),
        "constant_bytes": constant_bytes,
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _add(sizes: list[int | None]) -> int | None:
    return None if None in sizes else sum(size for size in sizes if size is not None)


def _find_precision(
    kind: LayerKind, tactic_name: str | None, inputs: Sequence[_Tensor], outputs: Sequence[_Tensor]
) -> DataType | None:
    """Return the type that a layer computes in.

    For kernels that multiply, the name decides: FP32 tensors do not show TF32, nor halves that are converted first. Otherwise
    the first tensor of a floating-point or quantized type decides; indices and masks do not, unlike in trex. The precision of
    a closed block is unknown if its inputs have several such types.
    """
    tactic = parse_tactic(tactic_name) if kind.multiplies else None
    if tactic is not None and tactic.compute_type is not None:
        return tactic.compute_type
    types = [tensor.dtype for tensor in (*inputs, *outputs) if tensor.dtype]
    numeric = [dtype for dtype in types if dtype.is_float or dtype.is_quantized]
    if kind is LayerKind.MYELIN and len(_numeric_types(inputs)) > 1:
        return None
    return next(iter(numeric or types), None)


def _numeric_types(tensors: Iterable[_Tensor]) -> set[DataType]:
    return {
        tensor.dtype
        for tensor in tensors
        if tensor.dtype and (tensor.dtype.is_float or tensor.dtype.is_quantized)
    }


def _hides_weights(
    kind: LayerKind, layer_type: str | None, parameter_type: str | None, inputs: Sequence[_Tensor]
) -> bool:
    """Return whether a layer without a visible constant must have one: some engines do not list those of Myelin layers, and
    closed blocks never do. A convolution needs a filter; a GEMM with one input needs a second operand.
    """
    if parameter_type is not None:
        return False
    if kind in (LayerKind.MYELIN, LayerKind.FUSED) and layer_type != "kgen":
        return True
    return kind is LayerKind.CONVOLUTION or (kind is LayerKind.GEMM and len(inputs) < 2)


def _listed_weights_bytes(raw: Record) -> int | None:
    """Return the bytes of all `{"Type", "Count"}` objects of a layer: `Weights`, `Bias`, `ConvWeights`, `Scale`, …"""
    total = 0
    for value in raw.values():
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


# Times


def join_profile(
    layers: pd.DataFrame, profile: Profile | None, file: Path | None
) -> tuple[pd.DataFrame, list[Note], int]:
    """Return the layers with their times, notes on what could not be joined, and the number of rows that name no layer.

    Rows belong to layers by (name, occurrence): trtexec reports equal names in execution order.
    """
    rows = profile.rows if profile else ()
    names, totals, averages, medians, shares = zip(*rows, strict=True) if rows else [()] * 5
    spreads = (profile.spreads if profile else ()) or [None] * len(rows)
    times = pd.DataFrame(
        {
            "latency_ms": pd.array(averages, FLOAT),
            "median_ms": pd.array(medians, FLOAT),
            "total_ms": pd.array(totals, FLOAT),
            "trtexec_pct": pd.array(shares, FLOAT),
            "p99_ms": pd.array([spread.p99_ms if spread else None for spread in spreads], FLOAT),
            "cv_pct": pd.array([spread.cv_pct if spread else None for spread in spreads], FLOAT),
        }
    )
    # Not a merge: pandas 2 takes "" and "\0" for one name.
    numbers = {key: number for number, key in enumerate(zip(names, count_occurrences(names), strict=True))}
    keys = zip(layers["name"], layers["occurrence"].tolist(), strict=True)
    row = pd.Series([numbers.get(key, -1) for key in keys], layers.index, "int64")
    joined = layers.join(times.reindex(row).set_axis(layers.index))
    if profile is None:
        return joined, [], 0
    unmatched = times.assign(name=text_array(names))[~times.index.isin(row)]
    return (
        joined,
        _note_leftovers(joined["name"][row.eq(-1)], len(joined), unmatched, len(rows), file),
        len(unmatched),
    )


def build_calls(layers: pd.DataFrame, profile: Profile | None) -> pd.DataFrame:
    """Return a row per single time of a layer, in order: layer, time_ms. Empty for profiles of trtexec, which have none."""
    spreads = profile.spreads if profile else ()
    names = [row.name for row in profile.rows] if profile and spreads else []
    keys = zip(layers["name"], layers["occurrence"].tolist(), strict=True)
    indices = {key: layer for layer, key in enumerate(keys)}
    rows = zip(zip(names, count_occurrences(names), strict=True), spreads, strict=True)
    times = [(indices[key], spread.times_ms) for key, spread in rows if spread and key in indices]
    numbers = [layer for layer, series in times for _ in series]
    return pd.DataFrame(
        {
            "layer": np.array(numbers, dtype="int64"),
            "time_ms": np.array([time for _, series in times for time in series], dtype=float),
        }
    )


def _note_leftovers(
    missing: pd.Series, layer_count: int, unmatched: pd.DataFrame, row_count: int, file: Path | None
) -> list[Note]:
    if row_count and layer_count and len(unmatched) == row_count:
        message = f"does not match this graph: none of its {plural(row_count, 'row')} names a layer; profile this engine"
        return [Note(Severity.ERROR, file, "", message)]
    notes = []
    if len(unmatched):
        message = (
            f"{len(unmatched)} of {plural(row_count, 'row')} match no layer of the graph and are excluded "
            f"({unmatched['latency_ms'].sum():.6g} ms; the first: {_quote(unmatched['name'].iloc[0])})"
        )
        notes.append(Note(Severity.WARNING, file, "", message))
    if len(missing) and row_count:
        message = f"has no row for {len(missing)} of {plural(layer_count, 'layer')} (the first: {_quote(missing.iloc[0])})"
        notes.append(Note(Severity.WARNING, file, "", message))
    return notes


def _quote(name: str) -> str:
    return f"'{shorten_middle(name, 60)}'"


_QUERY_COLUMNS = {
    "startEnqMs": "start_ms",
    "latencyMs": "latency_ms",
    "enqueueMs": "enqueue_ms",
    "h2dMs": "h2d_ms",
    "computeMs": "compute_ms",
    "d2hMs": "d2h_ms",
    "endToEndMs": "end_to_end_ms",
    "endEnqMs": "end_enqueue_ms",
}
_STAMPS = {key: re.sub(r"(?=[A-Z])", "_", key).lower() for key in TIMING_KEYS if key not in _QUERY_COLUMNS}


def build_queries(timing: Timing | None) -> pd.DataFrame:
    """Return a row per query of a timing file; a column that the file lacks is NA."""
    columns = timing.columns if timing else {}
    count = timing.rows if timing else 0
    queries = pd.DataFrame(index=pd.RangeIndex(count))
    for key, name in (_QUERY_COLUMNS | _STAMPS).items():
        values = np.asarray(columns[key]) if key in columns else np.full(count, np.nan)
        queries[name] = pd.array(values, FLOAT)
    queries["enqueue_ms"] = queries["enqueue_ms"].fillna(queries["end_enqueue_ms"] - queries["start_ms"])
    return queries


# Bindings


def build_bindings(
    info: LayerInfo | None, tensors: pd.DataFrame, optimization_profile: int, stated: Sequence[StatedTensor]
) -> pd.DataFrame:
    """Return a row per input and output of the network.

    TensorRT 11 states which is which; before, an input is read before it is written. A tensor that is read first and written
    later (a cache updated in place) is listed as both. What the layers lack comes from a log.
    """
    rows: list[Record] = []
    if info is not None and info.io_tensors:
        rows = [_stated_binding(raw) for raw in info.io_tensors]
    elif info is not None:
        names = [name for name in info.bindings if parse_optimization_profile(name) == optimization_profile]
        rows = _used_bindings(names, tensors)
    rows = rows or [{"name": tensor.name, "role": _role(tensor.is_input)} for tensor in stated]
    by_name = {tensor.name: tensor for tensor in stated}
    for row in rows:
        tensor = by_name.get(row["name"])
        if tensor is None or (row["role"] is not None and row.get("shape") is not None):
            continue
        dtype = parse_data_type(tensor.dtype) if tensor.dtype else None
        row["role"] = row["role"] or _role(tensor.is_input)
        row["shape"] = tensor.shape if row.get("shape") is None else row["shape"]
        row["dtype"] = row.get("dtype") or (dtype and dtype.value)
    texts = {key: text_array(row.get(key) for row in rows) for key in ("name", "role", "dtype", "format")}
    shapes = {
        key: _objects([row.get(key) for row in rows])
        for key in ("shape", "min_shape", "opt_shape", "max_shape")
    }
    return pd.DataFrame(texts | shapes)[
        ["name", "role", "shape", "dtype", "format", "min_shape", "opt_shape", "max_shape"]
    ]


def _role(is_input: bool | None) -> str | None:
    return None if is_input is None else "input" if is_input else "output"


def _used_bindings(names: Sequence[str], tensors: pd.DataFrame) -> list[Record]:
    wanted = tensors[tensors["name"].isin(names)]
    keys = ("layer", "shape", "dtype", "format")
    uses: dict[str, dict[str, Record]] = {"input": {}, "output": {}}
    for name, role, *values in zip(
        wanted["name"], wanted["role"], *(wanted[key] for key in keys), strict=True
    ):
        use = {key: None if value is pd.NA else value for key, value in zip(keys, values, strict=True)}
        uses[role].setdefault(name, {"name": name, "role": role, **use})
    rows = []
    for name in names:
        read, write = uses["input"].get(name), uses["output"].get(name)
        if read and (write is None or read["layer"] <= write["layer"]):
            rows.append(dict(read))
        if write:
            rows.append(dict(write))
        if not read and not write:
            rows.append({"name": name, "role": None})
    return rows


def _stated_binding(raw: Record) -> Record:
    tensor = _parse_tensor(raw)
    mode = str(raw.get("IOMode", "")).lower()
    profiles = raw.get("ProfileInfo")
    profile = profiles[0] if isinstance(profiles, list) and profiles and isinstance(profiles[0], dict) else {}
    text = profile.get("Format")
    layout = tensor.format if tensor.format.text else parse_format(text if isinstance(text, str) else "")
    ranges = {"min_shape": "MinShape", "opt_shape": "OptShape", "max_shape": "MaxShape"}
    return {
        "name": tensor.name,
        "role": "input" if mode.endswith("input") else "output" if mode.endswith("output") else None,
        "shape": tensor.shape,
        "dtype": tensor.dtype and tensor.dtype.value,
        "format": layout.layout,
        **{
            key: parse_shape(profile[word])
            for key, word in ranges.items()
            if isinstance(profile.get(word), list)
        },
    }
