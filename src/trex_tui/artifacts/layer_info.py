"""Read layer information: `--exportLayerInfo`, and the same JSON from `IEngineInspector`.

TensorRT 8.2 to 10 write `{"Layers": […], "Bindings": […]}`; 11 writes `I/O Tensors` instead of `Bindings`; Torch-TensorRT
dumps a bare list of layers. Engines built without `--profilingVerbosity=detailed` list strings instead of objects.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trex_tui.artifacts.open import load_json
from trex_tui.errors import ArtifactError, Note, Severity

NAMES_ONLY = "has layer names only (no shapes, types, tactics): build with --profilingVerbosity=detailed"


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
        ArtifactError: The file is not JSON, or has no list of layers.
    """
    root = load_json(path)
    if isinstance(root, list):
        root = {"Layers": root}
    if not isinstance(root, dict) or not isinstance(root.get("Layers"), list):
        raise ArtifactError(
            path, 'is not layer information: no list "Layers"; export it with --exportLayerInfo'
        )
    notes: list[Note] = []

    def note(where: str, message: str) -> None:
        notes.append(Note(Severity.WARNING, path, where, message))

    raw: list[Any] = root["Layers"]
    names_only = bool(raw) and all(isinstance(entry, str) for entry in raw)
    layers = [
        entry
        if isinstance(entry, dict) and isinstance(entry.get("Name"), str)
        else _checked_layer(entry, index, note)
        for index, entry in enumerate(raw)
    ]
    if names_only:
        notes.append(Note(Severity.WARNING, path, "", NAMES_ONLY))
    io_tensors = _dicts(root.get("I/O Tensors"), "I/O Tensors", note)
    bindings = _bindings(root.get("Bindings"), note) or tuple(str(tensor["Name"]) for tensor in io_tensors)
    return LayerInfo(
        layers=tuple(layer for layer in layers if layer is not None),
        bindings=bindings,
        io_tensors=io_tensors,
        names_only=names_only,
        extra={key: value for key, value in root.items() if key not in ("Layers", "Bindings", "I/O Tensors")},
        notes=tuple(notes),
    )


def _checked_layer(raw: Any, index: int, note: Any) -> dict[str, Any] | None:  # noqa: ANN401
    """Convert an entry that is not an object with a name; None for one that is no layer."""
    if isinstance(raw, str):
        return {"Name": raw}
    if not isinstance(raw, dict):
        note(f"Layers[{index}]", f"is {_name_type(raw)}, not a layer; skipped")
        return None
    note(f"Layers[{index}]", "has no Name; using its index")
    return raw | {"Name": f"(layer {index} without a name)"}


def _dicts(raw: Any, where: str, note: Any) -> tuple[dict[str, Any], ...]:  # noqa: ANN401
    if raw is None:
        return ()
    if not isinstance(raw, list):
        note(where, f"is {_name_type(raw)}, not a list; ignored")
        return ()
    good = tuple(entry for entry in raw if isinstance(entry, dict) and isinstance(entry.get("Name"), str))
    if len(good) < len(raw):
        note(where, f"{len(raw) - len(good)} entries are not tensors; skipped")
    return good


def _bindings(raw: Any, note: Any) -> tuple[str, ...]:  # noqa: ANN401
    if raw is None:
        return ()
    if not isinstance(raw, list):
        note("Bindings", f"is {_name_type(raw)}, not a list; ignored")
        return ()
    names = [
        entry if isinstance(entry, str) else entry.get("Name") if isinstance(entry, dict) else None
        for entry in raw
    ]
    good = tuple(name for name in names if isinstance(name, str))
    if len(good) < len(raw):
        note("Bindings", f"{len(raw) - len(good)} entries have no name; skipped")
    return good


def _name_type(value: Any) -> str:  # noqa: ANN401
    kinds = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "a number")
