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

ENGINE_TEXT = "==== TensorRT Engine ===="
_ESCAPE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_INPUTS, _OUTPUTS = " Engine Input(s) ----", " Engine Output(s) ----"
_LAYER = re.compile(r"Layer \d+ *\| (?P<name>.*)")
_OPERATOR = " [Op: "
_FACTS = re.compile(
    r" \[(?:dtype=(?P<dtype>[^,\[\]]*), )?shape=\((?P<shape>[^()\[]*)\)(?P<format>[^\[\]]*)\]"
)
_FORMAT = re.compile(r"Format: (?P<format>[^,\]]+(?:, [^=\]]+)*)")
_PROFILE = re.compile(
    r"(?:Tensor: (?P<name>.*)\(Input\)|Binding Index: \d+ \(Input\) *\[Name: (?P<old>.*)\])[^|]*"
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
    body = _ESCAPE.sub("", text[text.index(ENGINE_TEXT) :])
    lines = [line.strip() for line in body.splitlines()]
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
    end = next((index for index in range(start, len(lines)) if not lines[index]), len(lines))
    for tensor in _read_tensors(" ".join(lines[start:end]), "DataType"):
        yield tensor | {"IOMode": mode}


def _read_profiles(lines: list[str]) -> dict[str, list[dict[str, list[int]]]]:
    """Return the shapes of each input per optimization profile."""
    shapes: dict[str, list[dict[str, list[int]]]] = {}
    for line in lines:
        if match := _PROFILE.match(line):
            name = (match["name"] or match["old"]).strip().partition(" [profile ")[0]
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
            name, mark, operator = match["name"].rpartition(_OPERATOR)
            layer, block = {"Name": name if mark else match["name"]}, []
            if mark and operator.rstrip("]") != _UNKNOWN:
                layer["LayerType"] = operator.rstrip("]")
        elif layer is not None:
            block.append(line)
    if layer is not None:
        yield _finish(layer, block)


def _finish(layer: dict[str, Any], block: list[str]) -> dict[str, Any]:
    """Add tensors and attributes of a layer from the lines after its heading."""
    tensors: list[str] = []
    for line in block:
        key, is_attribute, value = line.partition(" = ")
        if is_attribute and key.isidentifier() and "shape=" not in line:
            if value != _UNKNOWN:
                layer[_KEYS.get(key, key)] = _value(value)
        elif line.startswith("->") or not line.startswith("-"):
            tensors.append(line)
    inputs, arrow, outputs = " ".join(tensors).partition("-> {")
    if arrow:
        layer["Inputs"] = list(_read_tensors(inputs, "Format/Datatype"))
        layer["Outputs"] = list(_read_tensors(outputs, "Format/Datatype"))
    return layer


def _read_tensors(text: str, key: str) -> Iterator[dict[str, Any]]:
    """Yield the tensors of a list: names may have brackets, so each is what stands between two lists of facts."""
    end = 0
    for match in _FACTS.finditer(text):
        tensor: dict[str, Any] = {
            "Name": text[end : match.start()].lstrip("{}, "),
            "Dimensions": _extents(match["shape"]),
        }
        end = match.end()
        layout, dtype = _FORMAT.search(match["format"]), match["dtype"]
        if layout is not None:
            tensor["Format/Datatype"] = layout["format"]
        elif dtype not in (None, "None"):
            name = dtype.rpartition(".")[2].lower()
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
