"""Parse the lists of layers in a log: the builder's, the inspector's one-line text or JSON, and bare names.

Each is converted to the objects of `--exportLayerInfo`, so that an engine can be made from any of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from trex_tui.buildlog.layer_tuning import hex_id, parse_id
from trex_tui.buildlog.trace import DumpedLayer, DumpForm, LayerDump

_LAYER = re.compile(r"Layer\((?P<type>\w+)\): (?P<name>.*?), Tactic: (?P<tactic>-?\w+), (?P<io>.*)$")
_INSPECTED = re.compile(r"Name: (?P<name>.*?), LayerType: (?P<type>\w+), Inputs: \[")
_ATTRIBUTE = re.compile(r"(?:^|, )(?P<key>[A-Za-z][A-Za-z/_]*):(?: |$)")
_PORT = re.compile(r":\d{1,6}$")
_PART = re.compile(r"Name: (?P<name>.*?), (?:Location: (?P<location>\w+), )?Dimensions: \[(?P<dims>[^\]]*)\]")
_TYPE = re.compile(r"Format/Datatype: (?P<text>.+?)\s*$")
_SPLIT_TYPE = re.compile(  # TensorRT 11
    r"Data[Tt]ype: (?P<dtype>[\w/]+)(?:, Format: (?P<format>.+?))?(?:, (?:StrideOrder|Strides): .*)?\s*$"
)
_BINDING = re.compile(r"Name: (?P<name>.*?), IOMode: (?P<mode>\w+)")
_HEADING = "Layers:"
_BINDINGS = ("Bindings:", "I/O Tensors:")
_NUMBER = re.compile(r"-?\d{1,18}$")
_JSON_HEAD = re.compile(r'\s*(?P<brace>\{?)\s*"Layers"\s*:')
_JSON_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
LONGEST_DUMP = 2_000_000
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

    def parse(self) -> LayerDump | None:
        """Return the list; None if the JSON is incomplete or has no layer information."""
        try:
            root = json.loads("\n".join(self._lines), strict=False)
        except (ValueError, RecursionError):
            return None
        raw = root.get("Layers") if isinstance(root, dict) else None
        if not isinstance(raw, list) or not raw:
            return None
        layers = [{"Name": layer} if isinstance(layer, str) else layer for layer in raw[:LONGEST_DUMP]]
        if not all(isinstance(layer, dict) and isinstance(layer.get("Name"), str) for layer in layers):
            return None
        form = DumpForm.NAMES if all(isinstance(layer, str) for layer in raw) else DumpForm.INSPECTOR
        return LayerDump(
            self.line, form, tuple(DumpedLayer(self.line, layer) for layer in layers), _name_bindings(root)
        )


def _name_bindings(root: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the network's inputs and outputs; `I/O Tensors` holds objects."""
    raw = root.get("Bindings") or root.get("I/O Tensors")
    names = (
        [entry.get("Name") if isinstance(entry, dict) else entry for entry in raw]
        if isinstance(raw, list)
        else []
    )
    return tuple(name for name in names if isinstance(name, str))


class Dumps:
    """Collects lists of layers. `line` receives every line while `is_open`."""

    def __init__(self) -> None:
        self._found: dict[DumpForm, LayerDump] = {}
        self._form: DumpForm | None = None
        self._interrupted: DumpForm | None = None
        self._line = 0
        self._layers: list[DumpedLayer] = []
        self._bindings: list[str] = []
        self._in_bindings = False
        self._needs_bindings = False
        self._json: _PrintedJson | None = None
        self._brace = 0  # the line of a brace that stands alone

    @property
    def is_open(self) -> bool:
        return self._form is not None or self._json is not None

    def begin_builder(self, line: int) -> None:
        self._open(line, DumpForm.BUILDER)

    def begin_inspector(self, line: int) -> None:
        """Start at `Layers:`; the first layer shows whether the list has names only."""
        self._open(line, DumpForm.INSPECTOR)

    def begins(self, line: int, text: str) -> bool:
        """Return whether a line without a prefix starts a list: programs may print the result of an `IEngineInspector`."""
        if text.startswith("Layer("):
            self.begin_builder(line)
            self.line(line, text)
        elif _INSPECTED.match(text):
            self.begin_inspector(line)
            self.line(line, text)
        elif text.rstrip() == _HEADING:
            # Other programs print that too: names alone count only if the heading of the bindings follows.
            self._open(line, DumpForm.INSPECTOR)
            self._needs_bindings = True
        elif text.strip() == "{":
            self._brace = line
            return True
        elif (match := _JSON_HEAD.match(text)) and (match["brace"] or self._brace == line - 1):
            self._json = _PrintedJson(line, text if match["brace"] else "{" + text)
            self._end_json()
            return True
        return self.is_open

    def interrupt(self) -> None:
        """End the list at another message, unless a further layer of it follows: streams get mixed."""
        if self._form is not None:
            form = self._form
            self.close()
            self._interrupted = form

    def goes_on(self, text: str) -> bool:
        """Return whether a line continues an interrupted list, and reopen the list."""
        form = self._interrupted
        if form is DumpForm.BUILDER:
            is_layer = text.startswith("Layer(")
        elif form is DumpForm.NAMES:
            # Such a list ends with the bindings: until then, any line without a prefix is a name, or their heading.
            is_layer = not self._in_bindings and bool(text.strip())
        else:
            is_layer = bool(_INSPECTED.match(text))
        if form is None or not is_layer:
            return False
        self._form, self._interrupted = self._interrupted, None
        return True

    def line(self, line: int, text: str) -> None:
        if self._json is not None:
            self._json.add(text)
            self._end_json()
        elif self._form is None:
            return
        elif text.startswith("Layer("):
            self._add(layer_of_builder(line, text))
        elif self._form is DumpForm.BUILDER:
            if text.strip():
                self.interrupt()
        elif text.rstrip() in _BINDINGS:
            self._in_bindings, self._needs_bindings = True, False
        elif not text.strip() or text.startswith("&&&& "):
            # The inspector puts a blank line in front of the bindings.
            if self._in_bindings:
                self.close()
        elif self._in_bindings:
            match = _BINDING.match(text)
            self._bindings.append(match["name"] if match else text.strip())
        else:
            self._inspected(line, text)

    def _inspected(self, line: int, text: str) -> None:
        if _INSPECTED.match(text):
            if self._form is DumpForm.NAMES:
                # The preceding line is from another program and not a name.
                self._form, self._layers = DumpForm.INSPECTOR, []
            self._add(layer_of_inspector(line, text))
        elif not self._layers or self._layers[0].layer_type is None:
            self._form = DumpForm.NAMES if not self._layers else self._form
            self._add(DumpedLayer(line, {"Name": text.strip()}))

    def _end_json(self) -> None:
        if self._json is not None and self._json.is_over:
            dump, self._json = self._json.parse(), None
            if dump is not None:
                self._found[dump.form] = dump

    def close(self) -> None:
        if self._form is not None and self._layers and not self._is_stray:
            dump = LayerDump(self._line, self._form, tuple(self._layers), tuple(self._bindings))
            self._found[self._form] = dump
        self._form = self._interrupted = None

    @property
    def _is_stray(self) -> bool:
        """Return whether the open list may be unrelated text: names without bindings after them."""
        return self._needs_bindings and self._layers[0].layer_type is None

    def finished(self) -> tuple[LayerDump, ...]:
        self.close()
        return tuple(self._found[form] for form in DumpForm if form in self._found)

    def _open(self, line: int, form: DumpForm) -> None:
        self.close()
        self._form, self._line, self._in_bindings = form, line, False
        self._layers, self._bindings = [], []
        self._needs_bindings = False

    def _add(self, layer: DumpedLayer | None) -> None:
        if layer is not None and len(self._layers) < LONGEST_DUMP:
            self._layers.append(layer)


def layer_of_builder(line: int, text: str) -> DumpedLayer | None:
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
        raw["TacticValue"] = hex_id(number)
    return DumpedLayer(line, raw)


def with_kernel_names(dump: LayerDump, kernel_names: Mapping[int, str]) -> LayerDump:
    """Add kernel names to the builder's list, which has only tactic numbers."""
    if dump.form is not DumpForm.BUILDER:
        return dump
    return dump._replace(layers=tuple(_with_kernel_name(layer, kernel_names) for layer in dump.layers))


def _with_kernel_name(layer: DumpedLayer, kernel_names: Mapping[int, str]) -> DumpedLayer:
    name = None if layer.tactic_id is None else kernel_names.get(layer.tactic_id)
    return layer if name is None else layer._replace(raw=layer.raw | {"TacticName": name})


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
    """Parse `-1,32:8,28,28` into [-1, 32, 28, 28] and the vectorized layout; no extents if one is not a number."""
    extents = []
    vector = ""
    for index, part in enumerate(text.split(",") if text.strip() else []):
        extent, _, elements = part.strip().partition(":")
        if not _NUMBER.match(extent):
            return [], vector
        extents.append(max(int(extent), -1))  # 8.2 to 8.5 print -2 for a dynamic extent
        if _NUMBER.match(elements):
            where = "channel" if index in (1, 0) else f"dimension {index}"
            vector = f", {int(elements)} elements of the {where} in a vector"
    return extents, vector


def layer_of_inspector(line: int, text: str) -> DumpedLayer | None:
    """Parse `Name: n, LayerType: T, Inputs: [ { … }], Outputs: [ { … }], Key: value, …`; None if truncated."""
    match = _INSPECTED.match(text)
    if match is None:
        return None
    before, mark, rest = text[match.end() :].partition("], Outputs: [")
    # The list ends at the bracket after the last brace; brackets occur in names, and always in dimensions.
    outputs, behind = _list_end(rest)
    if not mark or behind is None:
        return None
    raw: dict[str, Any] = {"Name": match["name"], "LayerType": match["type"]}
    raw["Inputs"], raw["Outputs"] = _parts(before), _parts(outputs)
    raw.update({key: value for key, value in _attributes(behind).items() if key not in raw})
    return DumpedLayer(line, raw)


def _list_end(text: str) -> tuple[str, str | None]:
    if text.startswith("]"):
        return "", text[1:]
    for mark in ("}], ", "}]"):
        start = text.find(mark)
        if start >= 0:
            return text[: start + 1], text[start + 2 :]
    return text, None


def _parts(text: str) -> list[dict[str, Any]]:
    parts = []
    for piece in text.split("{ ")[1:]:
        body = piece.rstrip(" ,}")
        match = _PART.match(body)
        if match is None:
            continue
        raw: dict[str, Any] = {"Name": match["name"]}
        if match["location"]:
            raw["Location"] = match["location"]
        raw["Dimensions"] = _extents(match["dims"])[0]
        if kind := _TYPE.search(body):
            raw["Format/Datatype"] = kind["text"]
        elif kind := _SPLIT_TYPE.search(body, match.end()):
            raw["Datatype"] = kind["dtype"]
            if kind["format"]:
                raw["Format"] = kind["format"]
        parts.append(raw)
    return parts


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
            if match["key"] == "Facts":
                break
    for match, following in zip(matches, [*matches[1:], None], strict=False):
        attributes[match["key"]] = _value(text[match.end() : following.start() if following else len(text)])
        if match["key"] == "Facts":
            attributes["Facts"] = text[match.end() :].strip()
            break
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
