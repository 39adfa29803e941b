"""Read layer information: `--exportLayerInfo`, and the same JSON from `IEngineInspector`.

TensorRT 8.2 to 10 write `{"Layers": […], "Bindings": […]}`; 11 writes `I/O Tensors` instead of `Bindings`; Torch-TensorRT
dumps a bare list of layers; programs that ask the inspector for one layer after the other print an object for each. Engines
built without `--profilingVerbosity=detailed` list strings instead of objects.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trex_tui.artifacts.open import parse_documents, parse_json, read_text
from trex_tui.errors import ArtifactError, Note, Severity

NAMES_ONLY = "has layer names only (no shapes, types, tactics): build with --profilingVerbosity=detailed"
PRINTED_LAYER = re.compile(r"^--- Layer (\d{1,9}) ---[ \t]*\r?$", re.MULTILINE)
"""Line before each layer in the output of programs that print `get_layer_information(i)` in a loop."""


@dataclass(frozen=True, slots=True)
class LayerInfo:
    """Content of the file, checked to have the right form but otherwise verbatim.

    Attributes:
        layers: One dict per layer, each with a string `Name`; possibly only names.
        bindings: Names of the network's inputs and outputs, in the file's order.
        io_tensors: TensorRT 11's `I/O Tensors`, verbatim; empty before.
        names_only: The engine was built without detailed profiling verbosity.
        extra: All other keys of the root.
        details_source: Kind of the log with types, tensors and tactics; None if they are not from a log.
    """

    layers: tuple[dict[str, Any], ...]
    bindings: tuple[str, ...]
    io_tensors: tuple[dict[str, Any], ...] = ()
    names_only: bool = False
    extra: dict[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    details_source: str | None = None


def read_layer_info(path: Path) -> LayerInfo:
    """Read one layer-info file.

    Raises:
        ArtifactError: The file is not JSON, or lists no layers.
    """
    notes: list[Note] = []
    root = _parse(read_text(path, notes), path)
    if not isinstance(root, dict) or not isinstance(root.get("Layers"), list):
        raise ArtifactError(
            path, 'is not layer information: no list "Layers"; export it with --exportLayerInfo'
        )

    def note(where: str, message: str) -> None:
        notes.append(Note(Severity.WARNING, path, where, message))

    raw: list[Any] = root["Layers"]
    names_only = bool(raw) and all(isinstance(entry, str) for entry in raw)
    checked = [_check_layer(entry, index, note) for index, entry in enumerate(raw)]
    layers = tuple(layer for layer in checked if layer is not None)
    if not layers:
        raise ArtifactError(path, "lists no layers; export it again with --exportLayerInfo")
    if names_only:
        note("", NAMES_ONLY)
    io_tensors = _list_tensors(root.get("I/O Tensors"), note)
    bindings = _list_bindings(root.get("Bindings"), note) or tuple(
        str(tensor["Name"]) for tensor in io_tensors
    )
    return LayerInfo(
        layers=layers,
        bindings=bindings,
        io_tensors=io_tensors,
        names_only=names_only,
        extra={key: value for key, value in root.items() if key not in ("Layers", "Bindings", "I/O Tensors")},
        notes=tuple(notes),
    )


def _parse(text: str, path: Path) -> Any:  # noqa: ANN401 - JSON is whatever the file holds
    """Return the root of the file; that of `IEngineInspector` for every other form."""
    if PRINTED_LAYER.search(text):
        pieces = PRINTED_LAYER.split(text)
        layers = [parse_json(piece, path) for piece in pieces[2::2]]
        return {"Layers": layers}
    documents = parse_documents(text, path)
    if all(isinstance(root, dict) and "LayerType" in root for root in documents):
        return {"Layers": documents}
    return {"Layers": documents[0]} if isinstance(documents[0], list) else documents[0]


def _check_layer(raw: Any, index: int, note: Callable[[str, str], None]) -> dict[str, Any] | None:  # noqa: ANN401
    """Return a layer as an object with a name; None for an entry that is no layer."""
    if isinstance(raw, str):
        return {"Name": raw}
    if not isinstance(raw, dict):
        note(f"Layers[{index}]", f"is {_describe_type(raw)}, not a layer; skipped")
        return None
    if isinstance(raw.get("Name"), str):
        return raw
    note(f"Layers[{index}]", "has no Name; using its index")
    return raw | {"Name": f"(layer {index} without a name)"}


def _list_tensors(raw: Any, note: Callable[[str, str], None]) -> tuple[dict[str, Any], ...]:  # noqa: ANN401
    if not isinstance(raw, list):
        if raw is not None:
            note("I/O Tensors", f"is {_describe_type(raw)}, not a list; ignored")
        return ()
    good = tuple(entry for entry in raw if isinstance(entry, dict) and isinstance(entry.get("Name"), str))
    if len(good) < len(raw):
        note("I/O Tensors", f"{len(raw) - len(good)} entries are not tensors; skipped")
    return good


def _list_bindings(raw: Any, note: Callable[[str, str], None]) -> tuple[str, ...]:  # noqa: ANN401
    if not isinstance(raw, list):
        if raw is not None:
            note("Bindings", f"is {_describe_type(raw)}, not a list; ignored")
        return ()
    names = [entry.get("Name") if isinstance(entry, dict) else entry for entry in raw]
    good = tuple(name for name in names if isinstance(name, str))
    if len(good) < len(raw):
        note("Bindings", f"{len(raw) - len(good)} entries have no name; skipped")
    return good


def _describe_type(value: object) -> str:
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
