"""Pins in a file: layers that the user matched, by name, so that they apply to later builds.

The file is JSON with a pin per line. Layers are identified by name; repeated names by their index in execution order:

    {"schema": "trex-tui/pins/1",
     "pins": [
      {"baseline": "conv1.weight + Conv_9", "other": "/conv1/Conv"},
      {"baseline": "Reformat", "other": "Reformat", "other_occurrence": 2}
     ]}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from trex_tui.old.analysis.compare.model import Comparison, Pin
from trex_tui.old.artifacts.input_files import parse_json, read_text
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_dataclass import dataclass

PINS_SCHEMA = "trex-tui/pins/1"
_KEYS = frozenset({"baseline", "other", "baseline_occurrence", "other_occurrence"})


@dataclass(frozen=True, slots=True)
class LayerName:
    """A layer by its name.

    Attributes:
        occurrence: Index among the layers of this name, from 0, in execution order.
    """

    name: str
    occurrence: int = 0

    def find_in(self, engine: Engine) -> int | None:
        """Return the index of the layer in an engine; None if there is none."""
        named = [layer.index for layer in engine.layers if layer.name == self.name]
        return named[self.occurrence] if self.occurrence < len(named) else None


@dataclass(frozen=True, slots=True)
class NamedPin:
    """Two matched layers, by name.

    Attributes:
        where: Position in the file.
    """

    baseline: LayerName
    other: LayerName
    where: str = ""


def read_pins(path: Path) -> list[NamedPin]:
    """Read a file of pins.

    Raises:
        ArtifactError: It cannot be read, is not JSON, or has another content than pins.
    """
    text = read_text(path)
    root = parse_json(text, path)
    entries = root.get("pins") if isinstance(root, dict) else None
    if not isinstance(root, dict) or not isinstance(entries, list):
        raise ArtifactError(
            path, f'is not a file of pins ({{"schema": "{PINS_SCHEMA}", "pins": […]}}); export the pins again'
        )
    if root.get("schema") != PINS_SCHEMA:
        raise ArtifactError(path, f"has another schema than {PINS_SCHEMA}; export the pins again")
    places = _find_lines(text, entries) or [f"pins[{index}]" for index in range(len(entries))]
    return [_read_pin(path, where, entry) for where, entry in zip(places, entries, strict=True)]


def _find_lines(text: str, entries: Sequence[object]) -> list[str]:
    """Return the line of each pin, as `line 3`; empty if the list is not found in the text."""
    decoder = json.JSONDecoder(strict=False)
    position = text.find("[", text.find('"pins"')) + 1
    lines, decoded = [], []
    try:
        for _ in entries:
            while text[position].isspace() or text[position] == ",":
                position += 1
            lines.append(f"line {text.count(chr(10), 0, position) + 1}")
            entry, position = decoder.raw_decode(text, position)
            decoded.append(entry)
    except (ValueError, IndexError):
        return []
    return lines if decoded == entries else []


def _read_pin(path: Path, where: str, entry: object) -> NamedPin:
    if not isinstance(entry, dict) or not entry.keys() <= _KEYS:
        raise ArtifactError(path, f"is not a pin; its keys are {', '.join(sorted(_KEYS))}", where)
    ends = []
    for key in ("baseline", "other"):
        name, occurrence = entry.get(key), entry.get(f"{key}_occurrence", 0)
        if not isinstance(name, str) or not name:
            raise ArtifactError(path, f"'{key}' is not the name of a layer; write its full name", where)
        if not isinstance(occurrence, int) or isinstance(occurrence, bool) or occurrence < 0:
            raise ArtifactError(
                path,
                f"'{key}_occurrence' is not a whole number; write 0 for the first layer of the name",
                where,
            )
        ends.append(LayerName(name, occurrence))
    return NamedPin(ends[0], ends[1], where)


def find_pins(
    named: Sequence[NamedPin], engines: Sequence[Engine], baseline: int
) -> tuple[list[Pin], list[NamedPin]]:
    """Find the layers of pins in engines, whichever is the baseline now.

    Returns:
        The pins, and those for which no pair of the baseline and another engine has both layers.
    """
    pins: list[Pin] = []
    missing = []
    for pin in named:
        found = [
            Pin(left, index, right)
            for index, engine in enumerate(engines)
            if index != baseline
            for first, second in ((pin.baseline, pin.other), (pin.other, pin.baseline))
            if (left := first.find_in(engines[baseline])) is not None
            and (right := second.find_in(engine)) is not None
        ]
        # If both engines have both names, the file states which one is the baseline's.
        per_engine = {own.engine: own for own in reversed(found)}
        pins += per_engine.values()
        if not found:
            missing.append(pin)
    return list(dict.fromkeys(pins)), missing


def format_pins(comparison: Comparison) -> str:
    """Return the pins of a comparison as the text of a file."""
    baseline = comparison.engines[comparison.baseline]
    lines = []
    for pin in comparison.pins:
        entry: dict[str, str | int] = {}
        for key, engine, index in (
            ("baseline", baseline, pin.baseline_layer),
            ("other", comparison.engines[pin.engine], pin.layer),
        ):
            name = engine.layers[index].name
            occurrence = sum(layer.name == name for layer in engine.layers[:index])
            entry[key] = name
            if occurrence:
                entry[f"{key}_occurrence"] = occurrence
        lines.append("  " + json.dumps(entry))
    body = ",\n".join(dict.fromkeys(lines))
    return f'{{"schema": {json.dumps(PINS_SCHEMA)},\n "pins": [\n{body}\n ]}}\n'
