"""The lists of layers in a log: the builder's, the inspector's one-line text or JSON, and bare names.

Each is converted to the objects of `--exportLayerInfo`, so that an engine can be made from any of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from trex_tui.buildlog.tactics import parse_id
from trex_tui.buildlog.trace import LIST_FORMS, LayerList, ListedLayer, ListForm

_LAYER = re.compile(r"Layer\((?P<type>\w+)\): (?P<name>.*?), Tactic: (?P<tactic>-?\w+), (?P<io>.*)$")
_INSPECTED = re.compile(r"Name: (?P<name>.*?), LayerType: (?P<type>\w+), Inputs: \[")
_ATTRIBUTE = re.compile(r"(?:^|, )(?P<key>[A-Za-z][A-Za-z/_]*):(?: |$)")
_TENSOR = re.compile(
    r"Name: (?P<name>.*?), (?:Location: (?P<location>\w+), )?Dimensions: \[(?P<dims>[^\]]*)\]"
)
_IO_TENSOR = re.compile(r"Name: (?P<name>.*?), IOMode: ")
_PORT = re.compile(r":\d{1,6}$")
_NUMBER = re.compile(r"-?\d{1,18}$")
_JSON_HEAD = re.compile(r'(?P<brace>\{\s*)?"Layers"\s*:')
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_HEADING = "Layers:"
_BINDINGS = ("Bindings:", "I/O Tensors:")
_TENSOR_KEYS = {"DataType": "Datatype"}
_CUT_JSON = "has layer information whose JSON ends in the middle, which was left out"
_LEFT_OUT = "has a list of layers that leaves some out (...)"
MOST_LAYERS = 2_000_000
"""Maximum number of layers kept per list."""
LONGEST_JSON = 256 << 20
"""Maximum number of characters kept per JSON list."""


class _PrintedJson:
    """Layer information as JSON, collected line by line until its last brace."""

    def __init__(self, line: int, text: str) -> None:
        self.line = line
        self._depth = self._length = 0
        self._lines: list[str] = []
        self.add(text)

    def add(self, text: str) -> None:
        bare = _JSON_STRING.sub("", text)
        self._depth += bare.count("{") + bare.count("[") - bare.count("}") - bare.count("]")
        self._length += len(text)
        self._lines.append(text)

    @property
    def is_over(self) -> bool:
        return self._depth <= 0 or self._length > LONGEST_JSON

    def parse(self) -> LayerList | None:
        """Return the list; None if the JSON is incomplete or has no layer information."""
        try:
            root = json.loads("\n".join(self._lines), strict=False)
        except (ValueError, RecursionError):
            return None
        raw = root.get("Layers") if isinstance(root, dict) else None
        if not isinstance(raw, list) or not raw:
            return None
        layers = [{"Name": layer} if isinstance(layer, str) else layer for layer in raw[:MOST_LAYERS]]
        if not all(isinstance(layer, dict) and isinstance(layer.get("Name"), str) for layer in layers):
            return None
        form: ListForm = "names" if all(isinstance(layer, str) for layer in raw) else "inspector"
        listed = tuple(ListedLayer(self.line, layer) for layer in layers)
        entries = root.get("Bindings") or root.get("I/O Tensors")
        entries = entries if isinstance(entries, list) else []
        tensors = tuple(entry for entry in entries if isinstance(entry, dict))
        names = [entry.get("Name") if isinstance(entry, dict) else entry for entry in entries]
        bindings = tuple(name for name in names if isinstance(name, str))
        return LayerList(self.line, form, listed, bindings, tensors)


class LayerLists:
    """Collects lists of layers. `line` receives every line while `is_open`.

    Attributes:
        incomplete: What is missing, as the end of a sentence whose subject is the file -> line of the first.
    """

    def __init__(self) -> None:
        self.incomplete: dict[str, int] = {}
        self._found: dict[ListForm, LayerList] = {}
        self._form: ListForm | None = None
        self._interrupted: ListForm | None = None
        self._line = 0
        self._layers: list[ListedLayer] = []
        self._tensors: list[dict[str, Any]] = []
        self._bindings: list[str] = []
        self._in_bindings = False
        self._needs_bindings = False
        self._json: _PrintedJson | None = None
        self._brace = 0  # the line of a brace that stands alone

    @property
    def is_open(self) -> bool:
        return self._form is not None or self._json is not None

    def begin(self, line: int, form: ListForm) -> None:
        """Start a list: at `Engine Layer Information:`, or at `Layers:`, whose first layer shows if it has names only."""
        self.close()
        self._form, self._line, self._in_bindings = form, line, False
        self._layers, self._bindings, self._tensors = [], [], []
        self._needs_bindings = False

    def begins(self, line: int, text: str) -> bool:
        """Return whether a line without a prefix starts a list: programs may print the result of an `IEngineInspector`."""
        if text.startswith("Layer("):
            self.begin(line, "builder")
            self.line(line, text)
        elif _INSPECTED.match(text):
            self.begin(line, "inspector")
            self.line(line, text)
        elif text.rstrip() == _HEADING:
            # Other programs print that too: names alone count only if the heading of the bindings follows.
            self.begin(line, "inspector")
            self._needs_bindings = True
        elif text.strip() == "{":
            self._brace = line
            return True
        elif (
            '"Layers"' in text
            and (match := _JSON_HEAD.match(text.strip()))
            and self._begins_json(line, match)
        ):
            self._json = _PrintedJson(line, text if match["brace"] else "{" + text)
            self._end_json()
            return True
        return self.is_open

    def _begins_json(self, line: int, match: re.Match[str]) -> bool:
        return bool(match["brace"]) or self._brace == line - 1

    def ends_quoted(self, line: int, text: str) -> bool:
        """Handle the end of a quotation, or the sign that a part of the open list is left out; False for another line."""
        if self.is_open and text.startswith("```"):
            self.close()
            return True
        if self._form is None or text.strip() not in ("...", "…"):
            return False
        self.incomplete.setdefault(_LEFT_OUT, line)
        return True

    def interrupt(self) -> None:
        """End the list at another message, unless a further layer of it follows: streams get mixed."""
        if self._form is not None:
            form = self._form
            self.close()
            self._interrupted = form

    def goes_on(self, text: str) -> bool:
        """Return whether a line continues an interrupted list, and reopen the list."""
        form = self._interrupted
        if form == "builder":
            is_layer = text.startswith("Layer(")
        elif form == "names":
            # Such a list ends with the bindings: until then, any line without a prefix is a name, or their heading.
            is_layer = not self._in_bindings and bool(text.strip())
        else:
            is_layer = _INSPECTED.match(text) is not None
        if form is None or not is_layer:
            return False
        self._form, self._interrupted = form, None
        return True

    def line(self, line: int, text: str) -> None:
        """Read a line of the open list."""
        if self._json is not None:
            self._json.add(text)
            self._end_json()
        elif text.startswith("Layer("):
            self._add(layer_of_builder(line, text))
        elif self._form == "builder":
            if text.strip():
                self.interrupt()
        elif text.rstrip() in _BINDINGS:
            self._in_bindings, self._needs_bindings = True, False
        elif not text.strip() or text.startswith("&&&& "):
            if self._in_bindings:  # the inspector puts a blank line in front of the bindings
                self.close()
        elif self._in_bindings:
            name = text.strip()
            if match := _IO_TENSOR.match(name):
                self._tensors.append(parse_io_tensor(name))
                name = match["name"]
            self._bindings.append(name)
        else:
            self._inspected(line, text)

    def _inspected(self, line: int, text: str) -> None:
        if _INSPECTED.match(text):
            if self._form == "names":
                # The preceding line is from another program and not a name.
                self._form, self._layers = "inspector", []
            self._add(layer_of_inspector(line, text))
        elif not self._layers or self._layers[0].layer_type is None:
            self._form = "names" if not self._layers else self._form
            self._add(ListedLayer(line, {"Name": text.strip()}))

    def _end_json(self) -> None:
        if self._json is not None and self._json.is_over:
            found, self._json = self._json.parse(), None
            if found is not None:
                self._found[found.form] = found

    def close(self) -> None:
        """End the open list. Names without bindings after them may be unrelated text."""
        if self._json is not None:
            self.incomplete.setdefault(_CUT_JSON, self._json.line)
            self._json = None
        is_stray = self._needs_bindings and bool(self._layers) and self._layers[0].layer_type is None
        if self._form is not None and self._layers and not is_stray:
            parts = tuple(self._layers), tuple(self._bindings), tuple(self._tensors)
            self._found[self._form] = LayerList(self._line, self._form, *parts)
        self._form = self._interrupted = None

    def finished(self) -> tuple[LayerList, ...]:
        self.close()
        return tuple(self._found[form] for form in LIST_FORMS if form in self._found)

    def _add(self, layer: ListedLayer | None) -> None:
        if layer is not None and len(self._layers) < MOST_LAYERS:
            self._layers.append(layer)


# --- the builder's form ------------------------------------------------------------------------------------------------


def layer_of_builder(line: int, text: str) -> ListedLayer | None:
    """Parse `Layer(CaskConvolution): n, Tactic: 0x…, a (Half[-1,1:2,28,28]) -> b (Half[…])`; None if truncated."""
    match = _LAYER.match(text)
    if match is None:
        return None
    inputs, arrow, outputs = _sides(match["io"])
    if not arrow:
        return None
    raw: dict[str, Any] = {"Name": match["name"], "LayerType": match["type"]}
    raw["Inputs"], raw["Outputs"] = _tensors(inputs), _tensors(outputs)
    number = parse_id(match["tactic"])
    if number is not None:
        raw["TacticValue"] = number
    return ListedLayer(line, raw)


def with_kernel_names(found: LayerList, kernel_names: Mapping[str, str]) -> LayerList:
    """Add kernel names to the builder's list, which has only tactic numbers."""
    if found.form != "builder":
        return found
    names = [kernel_names.get(layer.raw.get("TacticValue", "")) for layer in found.layers]
    layers = tuple(
        layer._replace(raw=layer.raw | {"TacticName": name}) if name else layer
        for layer, name in zip(found.layers, names, strict=True)
    )
    return found._replace(layers=layers)


def _sides(text: str) -> tuple[str, str, str]:
    """Split inputs and outputs at the arrow after a closing bracket, or at the beginning."""
    if text.startswith("-> "):
        return "", "->", text[3:]
    for mark in (") -> ", "] -> "):
        start = text.find(mark)
        if start >= 0:
            return text[: start + 1], "->", text[start + 5 :]
    return text.partition("->")


def _tensors(text: str) -> list[dict[str, Any]]:
    """Parse `a (Half[-1,32:8]), b (Float[])`, or before 8.6 `a[Half(-1,32)], b:0[Float()]`."""
    is_new = text.rstrip().endswith("])")
    end_mark, name_mark, dims_mark = ("])", " (", "[") if is_new else (")]", "[", "(")
    tensors = []
    start = 0
    while (end := text.find(end_mark, start)) >= 0:
        described, _, inside = text[start:end].rpartition(dims_mark)
        name, _, dtype = described.rpartition(name_mark)
        extents, vector = _extents(inside)
        if not is_new:
            name = _PORT.sub("", name)
        tensors.append({"Name": name, "Dimensions": extents, "Format/Datatype": dtype + vector})
        start = end + len(end_mark)
        start += 2 if text.startswith(", ", start) else 0
    return tensors


def _extents(text: str) -> tuple[list[int], str]:
    """Parse `-1,32:8,28,28` into [-1, 32, 28, 28] and the vectorized layout; no dimensions if one is not a number."""
    extents = []
    vector = ""
    for index, part in enumerate(text.split(",") if text.strip() else []):
        extent, _, elements = part.strip().partition(":")
        if not _NUMBER.match(extent):
            return [], vector
        extents.append(max(int(extent), -1))  # 8.2 to 8.5 print -2 for a dynamic one
        if _NUMBER.match(elements):
            where = "channel" if index in (1, 0) else f"dimension {index}"
            vector = f", {int(elements)} elements of the {where} in a vector"
    return extents, vector


# --- the inspector's form ----------------------------------------------------------------------------------------------


def layer_of_inspector(line: int, text: str) -> ListedLayer | None:
    """Parse `Name: n, LayerType: T, Inputs: [ { … }], Outputs: [ { … }], Key: value, …`; None if truncated. TensorRT 11 has
    `Constants` between the two.
    """
    match = _INSPECTED.match(text)
    if match is None:
        return None
    inputs, mark, rest = text[match.end() :].partition("], Outputs: [")
    inputs, has_constants, constants = inputs.partition("], Constants: [")
    # The list ends at the bracket after the last brace; brackets occur in names, and always in dimensions.
    end = 0 if rest.startswith("]") else rest.find("}]") + 1
    if not mark or not (end or rest.startswith("]")):
        return None
    raw: dict[str, Any] = {"Name": match["name"], "LayerType": match["type"], "Inputs": _parts(inputs)}
    if has_constants:
        raw["Constants"] = _parts(constants)
    raw["Outputs"] = _parts(rest[:end])
    raw.update({key: value for key, value in _attributes(rest[end + 1 :]).items() if key not in raw})
    return ListedLayer(line, raw)


def _parts(text: str) -> list[dict[str, Any]]:
    parts = []
    for piece in text.split("{ ")[1:]:
        body = piece.rstrip(" ,}")
        if match := _TENSOR.match(body):
            raw: dict[str, Any] = {"Name": match["name"]}
            if match["location"]:
                raw["Location"] = match["location"]
            raw["Dimensions"] = _extents(match["dims"])[0]
            described = _attributes(body[match.end() :])
            parts.append(raw | {_TENSOR_KEYS.get(key, key): value for key, value in described.items()})
    return parts


def parse_io_tensor(text: str) -> dict[str, Any]:
    """Parse a line of TensorRT 11's `I/O Tensors`: `Name: x, IOMode: Input, …, ProfileInfo: [ { MinShape: [1,3], … }]`."""
    match = _IO_TENSOR.match(text)
    raw = {"Name": match["name"]} | _attributes(text[match.end("name") :]) if match else {}
    if isinstance(raw.get("ProfileInfo"), str):
        pieces = raw["ProfileInfo"].split("{ ")[1:]
        raw["ProfileInfo"] = [_attributes(piece.rstrip(" ,}]") + "]" * _is_open(piece)) for piece in pieces]
    if raw.get("IsShapeInferenceIO") in ("true", "false"):
        raw["IsShapeInferenceIO"] = raw["IsShapeInferenceIO"] == "true"
    return raw


def _is_open(piece: str) -> bool:
    body = piece.rstrip(" ,}]")
    return body.count("[") > body.count("]")


def _attributes(text: str) -> dict[str, Any]:
    """Parse `, Key: value` pairs; values may contain commas and colons in brackets, so keys are searched outside of them."""
    attributes: dict[str, Any] = {}
    matches = []
    depth = start = 0
    for match in _ATTRIBUTE.finditer(text):
        between = text[start : match.start()]
        depth += between.count("[") + between.count("{") - between.count("]") - between.count("}")
        start = match.start()
        if depth <= 0:
            matches.append(match)
            if match["key"] == "Metadata":
                break
    ends = [*(match.start() for match in matches[1:]), len(text)]
    for match, end in zip(matches, ends, strict=False):
        value = text[match.end() : end]
        attributes[match["key"]] = value.strip() if match["key"] == "Metadata" else _value(value)
    return attributes


def _value(text: str) -> Any:  # noqa: ANN401 - a JSON value
    text = text.strip()
    if _NUMBER.match(text):
        return int(text)
    if text.startswith("{") and text.endswith("}"):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    if text.startswith("[") and text.endswith("]"):
        parts = [part.strip() for part in text[1:-1].split(",") if part.strip()]
        if all(map(_NUMBER.match, parts)):
            return [int(part) for part in parts]
    return text
