"""Read what `polygraphy inspect model X.engine --show layers attrs` prints, in the form of trtexec's layer information.

Polygraphy prints names, types, shapes and tactic numbers of layers. Newer releases print formats, which contain the
data types of tensors inside the engine. Each optimization profile has its own layers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trex_tui.errors import ArtifactError

_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
ENGINE_TEXT = "==== TensorRT Engine ===="
_INPUTS, _OUTPUTS = " Engine Input(s) ----", " Engine Output(s) ----"
_LAYER = re.compile(r"\s*Layer (?P<index>\d+)\s*\| (?P<name>.*?)(?: \[Op: (?P<type>[^\]]*)\])?\s*$")
_TENSOR = re.compile(r"(?P<name>\S.*?) \[(?P<facts>(?:dtype=[^,\]]*, )?shape=\([^)]*\)[^\]]*)\]")
_SHAPE = re.compile(r"shape=\((?P<shape>[^)]*)\)")
_DTYPE = re.compile(r"dtype=(?P<dtype>[\w.]+)")
_FORMAT = re.compile(r"Format: (?P<format>[^,\]]+(?:, [^=\]]+)*)")
_ATTRIBUTE = re.compile(r"\s*(?P<key>\w+) = (?P<value>.*?)\s*$")
_PROFILE = re.compile(
    r"\s*(?:Tensor: (?P<name>\S.*?)\s+\(Input\)|Binding Index: \d+ \(Input\) \s*\[Name: (?P<old>.+?)\]\s*)[^|]*"
    r"\| Shapes: min=\((?P<min>[^)]*)\), opt=\((?P<opt>[^)]*)\), max=\((?P<max>[^)]*)\)"
)
_UNKNOWN = "Unknown"
_TYPES = {
    "float32": "Float",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "float8": "FP8",
    "fp8": "FP8",
    "int8": "Int8",
    "uint8": "UInt8",
    "int32": "Int32",
    "int64": "Int64",
    "int4": "Int4",
    "bool": "Bool",
}
"""Names of types in NumPy, which Polygraphy prints -> TensorRT's."""
_KEYS = {"Tactic": "TacticValue"}


def read_engine_text(text: str, path: Path) -> dict[str, Any]:
    """Return the root of layer information.

    Raises:
        ArtifactError: The text lists no layers.
    """
    lines = _ESCAPE.sub("", text[text.index(ENGINE_TEXT) :]).splitlines()
    layers = list(_read_layers(lines))
    if not layers:
        raise ArtifactError(path, "lists no layers; run polygraphy inspect model ENGINE --show layers attrs")
    has_types = any("LayerType" in layer for layer in layers)
    tensors = [*_read_io(lines, _INPUTS, "Input"), *_read_io(lines, _OUTPUTS, "Output")]
    shapes = _read_profiles(lines)
    for tensor in tensors:
        if tensor["Name"] in shapes:
            tensor["ProfileInfo"] = shapes[tensor["Name"]]
    return {"Layers": layers if has_types else [layer["Name"] for layer in layers], "I/O Tensors": tensors}


def _read_io(lines: list[str], title: str, mode: str) -> Iterator[dict[str, Any]]:
    start = next((index + 1 for index, line in enumerate(lines) if title in line), len(lines))
    block = []
    for line in lines[start:]:
        if not line.strip():
            break
        block.append(line)
    for tensor in _read_tensors(" ".join(block), "DataType"):
        yield tensor | {"IOMode": mode}


def _read_profiles(lines: list[str]) -> dict[str, list[dict[str, list[int]]]]:
    shapes: dict[str, list[dict[str, list[int]]]] = {}
    for line in lines:
        if match := _PROFILE.match(line):
            name = (match["name"] or match["old"]).partition(" [profile ")[0]
            ranges = {f"{side.title()}Shape": _extents(match[side]) for side in ("min", "opt", "max")}
            shapes.setdefault(name, []).append(ranges)
    return shapes


def _read_layers(lines: list[str]) -> Iterator[dict[str, Any]]:
    layer: dict[str, Any] | None = None
    block: list[str] = []
    for line in lines:
        if match := _LAYER.match(line):
            if layer is not None:
                yield _finish(layer, block)
            layer, block = {"Name": match["name"]}, []
            if match["type"] not in (None, _UNKNOWN):
                layer["LayerType"] = match["type"]
        elif layer is not None:
            block.append(line)
    if layer is not None:
        yield _finish(layer, block)


def _finish(layer: dict[str, Any], block: list[str]) -> dict[str, Any]:
    """Add tensors and attributes of a layer from the lines after its heading."""
    tensors: list[str] = []
    for line in block:
        stripped = line.strip()
        if (
            (match := _ATTRIBUTE.match(line))
            and not stripped.startswith(("{", "->"))
            and "shape=" not in line
        ):
            if match["value"] != _UNKNOWN:
                layer[_KEYS.get(match["key"], match["key"])] = _value(match["value"])
        elif not stripped.startswith("-") or stripped.startswith("->"):
            tensors.append(stripped)
    inputs, arrow, outputs = " ".join(tensors).partition("-> {")
    if arrow:
        layer["Inputs"], layer["Outputs"] = (
            list(_read_tensors(side, "Format/Datatype")) for side in (inputs, outputs)
        )
    return layer


def _read_tensors(text: str, key: str) -> Iterator[dict[str, Any]]:
    for match in _TENSOR.finditer(text.lstrip(" {")):
        facts = match["facts"]
        shape, dtype, layout = _SHAPE.search(facts), _DTYPE.search(facts), _FORMAT.search(facts)
        tensor: dict[str, Any] = {"Name": match["name"].lstrip("{, ")}
        if shape is not None:
            tensor["Dimensions"] = _extents(shape["shape"])
        if layout is not None:
            tensor["Format/Datatype"] = layout["format"]
        elif dtype is not None and dtype["dtype"] != "None":
            name = dtype["dtype"].rpartition(".")[2].lower()
            tensor[key] = _TYPES.get(name, name)
        yield tensor


def _extents(text: str) -> list[int]:
    return [int(extent) for extent in re.findall(r"-?\d+", text)]


def _value(text: str) -> Any:  # noqa: ANN401 - a value of JSON
    """Parse a value that Python printed; text that is none stays text."""
    try:
        return ast.literal_eval(text) if not text.startswith("0x") else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
