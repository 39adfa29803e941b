"""Make the graph to draw from an engine: select layers, write their labels, connect them."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence

from trex_tui.old.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME, find_column, suggest_column
from trex_tui.old.analysis.filter import FilterError, describe_no_match, filter_layers, select, unparse
from trex_tui.old.analysis.filter.parser import Word
from trex_tui.old.analysis.structure import sum_latency_ms
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer, Tensor, Value, follow_values
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.grid import wrap_text
from trex_tui.old.report.graph.model import (
    BINDING,
    TENSOR,
    ColorBy,
    Edge,
    EdgeRole,
    EngineGraph,
    Node,
    NodeRole,
    Painter,
    tensor_line,
)
from trex_tui.old.report.views.layer_table import cell_text
from trex_tui.old.text import (
    MISSING,
    format_bytes,
    format_ms,
    format_shape,
    plural,
    printable,
    shorten_middle,
)

_MOST_NAMED = 3


def matching(engine: Engine, text: str, option: str) -> frozenset[int]:
    """Return the indices of the layers that a filter expression matches; may be empty.

    Args:
        option: Option of the expression, for the message.

    Raises:
        TrexError: The expression is invalid.
    """
    try:
        return frozenset(layer.index for layer in filter_layers(engine, text))
    except FilterError as error:
        raise TrexError(f"{option}: {error.pointed}") from None


def layer_named(engine: Engine, text: str) -> int:
    """Return the index of the one layer that the user means.

    By its full name, else by its index, else by its full name ignoring case, else by a substring that no other name has, as a
    bare word of the filter finds it.

    Raises:
        TrexError: No layer matches, or several do.
    """
    layers = engine.layers
    indices = [layer.index for layer in layers if layer.name == text]
    number = text.removeprefix("#")
    if not indices and number.isascii() and number.isdecimal() and len(number) < 10:
        if int(number) >= len(layers):
            raise TrexError(f"--around: layer {number} does not exist; use 0 to {len(layers) - 1}")
        return int(number)
    if not indices:
        having = select(engine, Word(text))
        folded = text.casefold()
        indices = [layer.index for layer in having if layer.name.casefold() == folded]
        indices = indices or [layer.index for layer in having]
    if len(indices) == 1:
        return indices[0]
    if not indices:
        raise TrexError(f"--around: no layer name contains {text!r}; use another name or an index")
    some = ", ".join(
        f"{index} {shorten_middle(printable(layers[index].name), 40)}" for index in indices[:_MOST_NAMED]
    )
    more = ", …" if len(indices) > _MOST_NAMED else ""
    raise TrexError(
        f"--around: {plural(len(indices), 'layer')} match ({some}{more}); use an index, or select all with "
        f"--filter {unparse(Word(text))!r} --radius N"
    )


def with_neighbours(engine: Engine, indices: Iterable[int], radius: int) -> frozenset[int]:
    """Return the layers, with those up to `radius` links downstream and upstream."""
    start = frozenset(indices)
    return start.union(
        _reached(engine, start, radius, downstream=True), _reached(engine, start, radius, downstream=False)
    )


def _reached(engine: Engine, start: frozenset[int], radius: int, *, downstream: bool) -> set[int]:
    seen, level = set(start), list(start)
    for _ in range(radius):
        beyond = []
        for index in level:
            layer = engine.layers[index]
            links = engine.consumers(layer) if downstream else engine.producers(layer)
            for link in links:
                other = link.target if downstream else link.source
                if other not in seen:
                    seen.add(other)
                    beyond.append(other)
        level = beyond
        if not level:
            break
    return seen


def chosen_layers(
    engine: Engine, query: str | None, around: str | None, radius: int | None
) -> frozenset[int] | None:
    """Return the indices of the layers to draw or to list; None for all.

    `around` selects a layer and its neighbours up to `radius` (2) links away; `query` selects matching layers and their
    neighbours up to `radius` (0) links away. Both together: the union.

    Raises:
        TrexError: As `matching` and `layer_named`.
    """
    if around is None:
        if query is None:
            return None
        return with_neighbours(engine, matching(engine, query, "--filter"), radius or 0)
    near = with_neighbours(engine, [layer_named(engine, around)], 2 if radius is None else radius)
    if query is None:
        return near
    return near & matching(engine, query, "--filter")


def describe_choice(engine: Engine, options: GraphOptions) -> str:
    """Return why `chosen_layers` selects no layer."""
    query = options.query or ""
    if matching(engine, query, "--filter"):
        return "no layer matches both --around and --filter"
    return describe_no_match(engine, query)


WIDEST = 48
"""Characters per line in a box."""
_MOST_LINES = 3
"""Lines of a long text in a box; longer texts are cut in the middle."""
DEFAULT_LABELS = ("name", "kind", "precision", "latency")

_ARROWS = {"shape": ("input_shapes", "output_shapes"), "format": ("input_formats", "output_formats")}
_UNITS = {"_ms": " ms", "_pct": " %"}
_UNIT_OF = {
    column.name: next((unit for ending, unit in _UNITS.items() if column.name.endswith(ending)), "")
    for column in ALL_COLUMNS
}
# Long values have a line of their own; the others share lines.
_LONG = {"name", "layer_type", "tactic", "tactic_value", "onnx_nodes", "compute_note", *_ARROWS}
_LONG |= {column for pair in _ARROWS.values() for column in pair}
_TOLD = (
    *("name", "index", "kind", "layer_type", "precision", "latency_ms", "latency_pct", "stream"),
    *("tactic", "input_shapes", "output_shapes", "input_formats", "output_formats"),
    *("weights_bytes", "onnx_nodes"),
)
_MOST_ATTRIBUTE = 2000


def label_parts(text: str) -> list[str]:
    """Parse `--labels`: columns, short names of columns, `shape` and `format`.

    Raises:
        TrexError: A name is none of these.
    """
    parts: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        column = find_column(part)
        if part not in _ARROWS and column is None:
            hint = suggest_column(part) or f"`trex-tui explain` lists them; more are {', '.join(_ARROWS)}"
            raise TrexError(f"--labels: no column {part!r}; {hint}")
        parts.append(part if column is None else column.name)
    return parts


def layer_lines(engine: Engine, layer: Layer, parts: Sequence[str]) -> tuple[str, ...]:
    """Return the lines in the box of a layer; short values side by side, without unknown ones."""
    lines: list[str] = []
    side_by_side: list[str] = []
    for part in parts:
        if part in _LONG:
            lines += [" · ".join(side_by_side)] if side_by_side else []
            side_by_side = []
            lines += _wrap(_part(engine, layer, part))
        else:
            text = _part(engine, layer, part)
            side_by_side += [] if text == MISSING else [shorten_middle(text, WIDEST // 2)]
    return (*lines, *([" · ".join(side_by_side)] if side_by_side else []))


def _wrap(text: str) -> list[str]:
    """Wrap a text in a box, between words unless this takes more lines than wrapping anywhere."""
    lines = wrap_text(text, WIDEST)
    if len(lines) <= _MOST_LINES:
        return lines or [text]
    text = shorten_middle(text, _MOST_LINES * WIDEST)
    return [text[start : start + WIDEST] for start in range(0, len(text), WIDEST)]


def _part(engine: Engine, layer: Layer, part: str) -> str:
    if part in _ARROWS:
        before, after = (_value(engine, layer, ALL_COLUMNS_BY_NAME[name]) for name in _ARROWS[part])
        return f"{before} → {after}"
    column = find_column(part, engine)
    if column is None:  # an attribute that no layer has
        return MISSING
    text = _value(engine, layer, column)
    # A number needs its unit, and a time its name.
    says_what = not column.is_number or _UNIT_OF.get(column.name, "") or text == MISSING
    return text if says_what else f"{column.title} {text}"


def _value(engine: Engine, layer: Layer, column: LayerColumn) -> str:
    text = cell_text(column, column.value(engine, layer)) or MISSING
    return text if text == MISSING else text + _UNIT_OF.get(column.name, "")


def layer_tooltip(engine: Engine, layer: Layer, *, metadata: bool) -> str:
    """Return the layer's full name, and its most important values.

    Args:
        metadata: Include every known column, and the file's own keys.
    """
    columns = ALL_COLUMNS if metadata else [ALL_COLUMNS_BY_NAME[name] for name in _TOLD]
    lines = []
    for column in columns:
        text = _value(engine, layer, column)
        if text != MISSING:
            lines.append(f"{column.name}: {text}")
    if metadata:
        for key, value in layer.attributes.items():
            shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
            lines.append(f"{printable(key)}: {shorten_middle(printable(shown), _MOST_ATTRIBUTE)}")
    return "\n".join(lines)


def tensor_text(tensor: Tensor) -> str:
    """Return shape, type and format: `1×3×224×224 FP16 NHWC8`."""
    return f"{format_shape(tensor.shape)} {printable(tensor.description)}"


def tensor_lines(name: str, tensor: Tensor | None) -> tuple[str, ...]:
    """Return the lines in the box of a tensor."""
    shown = shorten_middle(printable(name), WIDEST)
    return (shown,) if tensor is None else (shown, shorten_middle(tensor_text(tensor), WIDEST))


def tensor_tooltip(name: str, tensor: Tensor | None, what: str) -> str:
    """Return the tensor's full name, its role, and its size with padding."""
    lines = [f"{what}: {printable(name)}"]
    if tensor is not None:
        lines.append(f"{tensor_text(tensor)}, {format_bytes(tensor.allocated_bytes)}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """Content and form of a drawing.

    Attributes:
        color: Meaning of the colours of layers.
        labels: Text in the boxes of layers, as `label_parts` returns it.
        query, around, radius: See `chosen_layers`.
        highlight: Filter expression; matching layers get a thick frame.
        constants: Draw weights among the inputs of layers.
        metadata: Include every column and all keys of the file in the tooltips.
        edges: Write shape and format beside the arrows between layers.
    """

    color: ColorBy = ColorBy.KIND
    labels: tuple[str, ...] = ("name", "kind", "precision", "latency_ms")
    query: str | None = None
    around: str | None = None
    radius: int | None = None
    highlight: str | None = None
    constants: bool = False
    metadata: bool = False
    edges: bool = False


def build_graph(engine: Engine, options: GraphOptions) -> EngineGraph:
    """Return the graph of an engine, or of the chosen part of it. Linear in layers and tensors.

    Raises:
        TrexError: An expression is invalid, or selects nothing.
    """
    return _GraphBuilder(engine, options).graph()


class _GraphBuilder:
    def __init__(self, engine: Engine, options: GraphOptions) -> None:
        self._engine = engine
        self._options = options
        chosen = chosen_layers(engine, options.query, options.around, options.radius)
        if chosen is not None and not chosen:
            raise TrexError(f"{describe_choice(engine, options)}; nothing to draw")
        self._layers = [layer for layer in engine.layers if chosen is None or layer.index in chosen]
        self._is_part = chosen is not None
        highlight = options.highlight
        self._marked = matching(engine, highlight, "--highlight") if highlight else frozenset()
        self._bindings = {binding.name: binding for binding in engine.bindings}
        self._nodes: list[Node] = []
        self._edges: list[tuple[str, str, EdgeRole, Tensor, int | None]] = []
        self._chosen = {layer.index for layer in self._layers}

    def graph(self) -> EngineGraph:
        """Return the whole graph."""
        painter = Painter(self._options.color, self._layers)
        for layer in self._layers:
            self._add_layer(layer, painter)
        values_of = follow_values(self._engine.layers)
        for number, (name, values) in enumerate(values_of.items()):
            self._add_values(name, number, values)
        if not self._is_part:
            self._add_unseen_bindings(values_of)
        self._nodes.sort(key=lambda node: node.order)
        numbers = {node.id: number for number, node in enumerate(self._nodes)}
        edges = [
            Edge(
                numbers[source],
                numbers[target],
                role,
                tensor.name,
                port,
                tensor.dtype,
                f"{printable(tensor.name)}\n{tensor_text(tensor)}",
                tensor_line(tensor.dtype),
                self._edge_label(self._nodes[numbers[source]], self._nodes[numbers[target]], tensor),
            )
            for source, target, role, tensor, port in self._edges
        ]
        edges.sort(key=lambda edge: (edge.target, -1 if edge.port is None else edge.port, edge.source))
        return EngineGraph(
            self._engine.name, self._title(), tuple(self._nodes), tuple(edges), tuple(painter.legend())
        )

    def _edge_label(self, source: Node, target: Node, tensor: Tensor) -> str:
        """Return shape and format of data between layers; empty if the box of a tensor has them."""
        if not self._options.edges or source.layer is None or target.layer is None:
            return ""
        return shorten_middle(tensor_text(tensor), WIDEST)

    def _title(self) -> str:
        count, every = len(self._layers), len(self._engine.layers)
        layers = f"{count} of {plural(every, 'layer')}" if self._is_part else plural(every, "layer")
        time = sum_latency_ms(self._layers)
        parts = [self._engine.name, layers, "" if time is None else f"{format_ms(time)} ms in layers"]
        parts.append(self._engine.device_name or "")
        return " · ".join(printable(part) for part in parts if part)

    def _add_layer(self, layer: Layer, painter: Painter) -> None:
        self._nodes.append(
            Node(
                f"layer_{layer.index}",
                NodeRole.LAYER,
                layer.name,
                layer_lines(self._engine, layer, self._options.labels),
                layer_tooltip(self._engine, layer, metadata=self._options.metadata),
                painter.of(layer),
                (2 * layer.index + 1, 0),
                layer=layer,
                is_highlighted=layer.index in self._marked,
            )
        )

    def _add_values(self, name: str, number: int, values: Sequence[Value]) -> None:
        """Draw the values of a name in order.

        A value that is read before it is written is from the previous iteration, unless it comes from the caller.
        """
        loop_readers: Sequence[tuple[int, int]] = ()
        if len(values) > 1 and not values[0].writers and name not in self._bindings:
            loop_readers, values = values[0].readers, values[1:]
        for generation, value in enumerate(values):
            is_last = value is values[-1]
            role = self._role(name, value, is_last=is_last)
            identity = f"{role.value}_{number}_{generation}" if role else ""
            self._add_value(name, value, loop_readers if is_last else (), role, identity)

    def _role(self, name: str, value: Value, *, is_last: bool) -> NodeRole | None:
        """Return the role of a value's box; None for arrows only."""
        if name in self._bindings:
            return NodeRole.INPUT if not value.writers else NodeRole.OUTPUT if is_last else None
        return NodeRole.CONSTANT if not value.writers and self._options.constants else None

    def _add_value(
        self,
        name: str,
        value: Value,
        loop_readers: Sequence[tuple[int, int]],
        role: NodeRole | None,
        identity: str,
    ) -> None:
        """Draw a value as a box, or as arrows from its writers to its readers."""
        writers = [f"layer_{index}" for index in value.writers if index in self._chosen]
        readers = [
            (index, port, kind)
            for kind, reading in ((EdgeRole.DATA, value.readers), (EdgeRole.LOOP, loop_readers))
            for index, port in reading
            if index in self._chosen
        ]
        if role is None:
            for index, port, kind in readers:
                tensor = self._engine.layers[index].inputs[port]
                self._edges += [(writer, f"layer_{index}", kind, tensor, port) for writer in writers]
        elif writers or readers:
            tensor = self._described(name, value)
            self._nodes.append(_tensor_node(identity, role, name, value, tensor))
            self._edges += [(writer, identity, EdgeRole.DATA, tensor, None) for writer in writers]
            self._edges += [(identity, f"layer_{index}", kind, tensor, port) for index, port, kind in readers]

    def _described(self, name: str, value: Value) -> Tensor:
        """Return the tensor of the layer with the largest size: parts of a removed concat share a name."""
        layers = self._engine.layers
        written = [
            tensor for index in value.writers for tensor in layers[index].outputs if tensor.name == name
        ]
        read = [layers[index].inputs[port] for index, port in value.readers]
        return max([*written, *read], key=lambda tensor: tensor.volume or 0)

    def _add_unseen_bindings(self, seen: Container[str]) -> None:
        """Add inputs and outputs that no layer names, as in files with names only."""
        for index, binding in enumerate(self._engine.bindings):
            if binding.name in seen:
                continue
            known = {True: NodeRole.INPUT, False: NodeRole.OUTPUT}
            role = NodeRole.BINDING if binding.is_input is None else known[binding.is_input]
            self._nodes.append(
                Node(
                    f"binding_{index}",
                    role,
                    binding.name,
                    tensor_lines(binding.name, None),
                    tensor_tooltip(binding.name, None, role.value),
                    BINDING,
                    (-1, index),
                )
            )


def _tensor_node(identity: str, role: NodeRole, name: str, value: Value, tensor: Tensor) -> Node:
    """Add a tensor after its last writer, or before its first reader."""
    order = (2 * max(value.writers) + 1, 1) if value.writers else (2 * min(value.readers)[0], 0)
    return Node(
        identity,
        role,
        name,
        tensor_lines(name, tensor),
        tensor_tooltip(name, tensor, role.value),
        TENSOR if role is NodeRole.CONSTANT else BINDING,
        order,
        tensor=tensor,
    )
