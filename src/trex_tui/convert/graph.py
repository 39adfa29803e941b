"""Layer information as trex wants it: strict JSON, `Bindings` as names, every tensor with `Format/Datatype`.

TensorRT 11 writes `I/O Tensors` for `Bindings`, and `Format` and `Datatype` for `Format/Datatype`; its keys stay beside those
that are added. trex looks the format up among the texts of TensorRT 8 to 10, of which the linear FP32, Int32 and BOOL do not
end in ` format`, and none ends in the enumerator that 11 puts in parentheses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trex_tui.artifacts.jsonfile import load_json
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.artifacts.layer_info import LayerInfo, read_layer_info
from trex_tui.convert.model import Converted, is_plain_json, json_bytes
from trex_tui.engine.dtypes import DataType, parse_data_type
from trex_tui.text import plural

BOTH = "Format/Datatype"
_ENUMERATOR = re.compile(r"\s*\(k\w+\)\.?$")
_SHORT_LINEAR = re.compile(r"^(Row major linear (?:FP32|Int32|BOOL)) format$", re.IGNORECASE)
_SHORT_NAMES = {
    DataType.FP32: "Float",
    DataType.FP16: "Half",
    DataType.BF16: "BFloat16",
    DataType.INT8: "Int8",
    DataType.INT32: "Int32",
    DataType.INT64: "Int64",
    DataType.INT4: "Int4",
    DataType.UINT8: "UInt8",
    DataType.BOOL: "Bool",
    DataType.FP8: "FP8",
    DataType.FP4: "FP4",
}
NAMES_ONLY = "trex opens no engine of which only the names of layers are known (built without --profilingVerbosity=detailed)"


def convert_graph(path: Path) -> Converted:
    """The layer information of a set.

    Raises:
        ArtifactError: It cannot be read.
    """
    info = read_layer_info(path)
    root = load_json(path)
    counts: Counter[str] = Counter()
    raw = root if isinstance(root, list) else root["Layers"]
    if info.names_only:
        layers: list[Any] = list(raw)
    else:
        layers = [_layer(one, counts) for one in info.layers]
        counts["entries left out that are no layers"] += len(raw) - len(layers)
        counts["layers that got a name"] += sum(not isinstance(one, dict) or "Name" not in one for one in raw)
    changes = [f"{what}: {count}" for what, count in counts.items() if count]
    whole: dict[str, Any] = root if isinstance(root, dict) else {}
    if not whole:
        changes.append("the list of layers is in an object")
    bindings, why = _bindings(whole, info)
    changes += [why] if why else []
    if not changes and is_plain_json(path.read_bytes()):
        return Converted(ArtifactKind.GRAPH, path, None, (), _remarks(info))
    document = {**whole, "Layers": layers, "Bindings": bindings}
    changes = changes or ["written as UTF-8, control characters in names escaped"]
    return Converted(ArtifactKind.GRAPH, path, json_bytes(document), changes, _remarks(info))


def graph_of(info: LayerInfo, path: Path) -> Converted:
    """Layers that a log lists, for a set without layer information."""
    layers: list[Any] = [one["Name"] for one in info.layers]
    if not info.names_only:
        layers = [_layer(one, Counter()) for one in info.layers]
    content = json_bytes({"Layers": layers, "Bindings": list(info.bindings)})
    return Converted(ArtifactKind.GRAPH, path, content, ["layers taken from the log"], _remarks(info))


def _remarks(info: LayerInfo) -> list[str]:
    if info.names_only:
        return [NAMES_ONLY]
    found = []
    if not info.layers:
        found.append("trex opens no engine without layers")
    untyped = sum("LayerType" not in one for one in info.layers)
    if untyped:
        found.append(f"{plural(untyped, 'layer')} without a LayerType, which trex needs")
    tensors = [one for layer in info.layers for one in _tensors(layer)]
    shapeless = sum("Dimensions" not in one for one in tensors)
    if shapeless:
        found.append(f"{plural(shapeless, 'tensor')} without Dimensions, which trex needs")
    unformatted = sum(not (one.get(BOTH) or _combined(one)) for one in tensors)
    if unformatted:
        found.append(
            f"{plural(unformatted, 'tensor')} of a format that is not told; trex counts them as nothing"
        )
    return found


def _tensors(layer: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for side in ("Inputs", "Outputs"):
        tensors = layer.get(side)
        yield from (one for one in tensors if isinstance(one, dict)) if isinstance(tensors, list) else ()


def _layer(layer: Mapping[str, Any], counts: Counter[str]) -> dict[str, Any]:
    found = dict(layer)
    for side in ("Inputs", "Outputs"):
        tensors = found.get(side)
        if not isinstance(tensors, list):
            counts[f"layers that got empty {side}"] += 1
            found[side] = []
            continue
        good = [_tensor(one, counts) for one in tensors if isinstance(one, dict)]
        counts["entries left out that are no tensors"] += len(tensors) - len(good)
        found[side] = good
    return found


def _tensor(tensor: dict[str, Any], counts: Counter[str]) -> dict[str, Any]:
    if isinstance(tensor.get(BOTH), str):
        return tensor
    counts[f"tensors that got {BOTH}"] += 1
    return {**tensor, BOTH: _combined(tensor)}


def _combined(tensor: Mapping[str, Any]) -> str:
    """One text out of the two of TensorRT 11; empty where it tells neither."""
    other = tensor.get("Format/DataType")
    if isinstance(other, str):
        return other
    layout = tensor.get("Format")
    layout = _ENUMERATOR.sub("", layout).strip() if isinstance(layout, str) else ""
    stated = tensor.get("Datatype") or tensor.get("DataType")
    dtype = parse_data_type(stated) if isinstance(stated, str) else None
    if layout and (dtype is None or parse_data_type(layout) is dtype):
        return _SHORT_LINEAR.sub(r"\1", layout)
    if dtype is None:
        return str(stated or "")
    short: str = _SHORT_NAMES.get(dtype, dtype.value)
    return short


def _bindings(root: Mapping[str, Any], info: LayerInfo) -> tuple[list[str], str]:
    """Names of inputs and outputs, and what was done to have them; empty for nothing."""
    raw = root.get("Bindings")
    if isinstance(raw, list) and raw and raw == list(info.bindings):
        return raw, ""
    if info.bindings:
        return list(info.bindings), "Bindings are the names of the inputs and outputs listed"
    if info.names_only:
        return [], "" if isinstance(raw, list) else "empty Bindings"
    native = [layer for layer in info.layers if layer.get("ParameterType")]
    written = dict.fromkeys(one for layer in info.layers for one in _names(layer, "Outputs"))
    read = dict.fromkeys(one for layer in info.layers for one in _names(layer, "Inputs"))
    inputs = dict.fromkeys(one for layer in native for one in _names(layer, "Inputs") if one not in written)
    names = [*inputs, *(name for name in written if name not in read)]
    return names, "Bindings inferred: what layers read that none writes, and what they write that none reads"


def _names(layer: Mapping[str, Any], side: str) -> list[str]:
    tensors = layer.get(side)
    if not isinstance(tensors, list):
        return []
    return [one["Name"] for one in tensors if isinstance(one, dict) and isinstance(one.get("Name"), str)]
