"""From an engine to the graph that is drawn of it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer, Tensor
from trex_tui.graphs.choosing import chosen_layers, matching
from trex_tui.graphs.labels import layer_lines, layer_tooltip, tensor_lines, tensor_text, tensor_tooltip
from trex_tui.graphs.model import Edge, EdgeRole, EngineGraph, Node, NodeRole
from trex_tui.graphs.paint import BINDING, TENSOR, ColorBy, Painter, tensor_line
from trex_tui.graphs.regions import Generation, all_values, close_loops, follow_regions
from trex_tui.text import format_ms, plural, printable


@dataclass(frozen=True, slots=True)
class GraphOptions:
    """What to draw, and how.

    Attributes:
        color: What the colours of layers tell.
        labels: What is written into the boxes of layers, as `labels.label_parts` returns it.
        query, around, radius: See `choosing.chosen_layers`.
        highlight: Expression of the filter language; the layers that match get a thick frame.
        constants: Draw weights that stand among the inputs of layers.
        metadata: Tell every column and all keys of the file in the tooltips.
    """

    color: ColorBy = ColorBy.KIND
    labels: tuple[str, ...] = ("name", "kind", "precision", "latency_ms")
    query: str | None = None
    around: str | None = None
    radius: int | None = None
    highlight: str | None = None
    constants: bool = False
    metadata: bool = False


def build_graph(engine: Engine, options: GraphOptions) -> EngineGraph:
    """The graph of an engine, or of the chosen part of it. Linear in layers and tensors.

    Raises:
        TrexError: An expression makes no sense, or chooses nothing.
    """
    return _Builder(engine, options).graph()


class _Builder:
    def __init__(self, engine: Engine, options: GraphOptions) -> None:
        self._engine = engine
        self._options = options
        chosen = chosen_layers(engine, options.query, options.around, options.radius)
        self._layers = [layer for layer in engine.layers if chosen is None or layer.index in chosen]
        self._is_part = chosen is not None
        highlight = options.highlight
        self._marked = matching(engine, highlight, "--highlight") if highlight else frozenset()
        self._bindings = {binding.name: binding for binding in engine.bindings}
        self._nodes: list[Node] = []
        self._edges: list[tuple[str, str, EdgeRole, Tensor, int | None]] = []
        self._chosen = {layer.index for layer in self._layers}

    def graph(self) -> EngineGraph:
        """Everything put together."""
        painter = Painter(self._options.color, self._layers)
        for layer in self._layers:
            self._add_layer(layer, painter)
        regions = follow_regions(self._engine.layers)
        close_loops(regions, frozenset(self._bindings))
        numbers = {name: number for number, name in enumerate(regions)}
        for name, value, is_last in all_values(regions):
            self._add_value(name, value, numbers[name], is_last)
        if not self._is_part:
            self._add_unseen_bindings(regions)
        self._nodes.sort(key=lambda node: node.order)
        places = {node.id: place for place, node in enumerate(self._nodes)}
        edges = [
            Edge(
                places[source],
                places[target],
                role,
                tensor.name,
                port,
                tensor.dtype,
                f"{printable(tensor.name)}\n{tensor_text(tensor)}",
                tensor_line(tensor.dtype),
            )
            for source, target, role, tensor, port in self._edges
        ]
        edges.sort(key=lambda edge: (edge.target, -1 if edge.port is None else edge.port, edge.source))
        return EngineGraph(
            self._engine.name, self._title(), tuple(self._nodes), tuple(edges), tuple(painter.legend())
        )

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

    def _add_value(self, name: str, value: Generation, region: int, is_last: bool) -> None:
        """Draw a value as a box, or as arrows from those who write it to those who read it."""
        writers = [index for index in value.writers if index in self._chosen]
        readers = [(*reader, EdgeRole.DATA) for reader in value.readers if reader[0] in self._chosen]
        readers += [(*reader, EdgeRole.LOOP) for reader in value.loop_readers if reader[0] in self._chosen]
        if not writers and not readers:
            return
        role = self._role(name, value, is_last)
        if role is None:
            for index, port, kind in readers:
                tensor = self._engine.layers[index].inputs[port]
                self._edges += [(f"layer_{one}", f"layer_{index}", kind, tensor, port) for one in writers]
            return
        identity = f"{role.value}_{region}_{value.number}"
        self._nodes.append(_tensor_node(identity, role, name, value))
        self._edges += [(f"layer_{one}", identity, EdgeRole.DATA, value.tensor, None) for one in writers]
        self._edges += [(identity, f"layer_{one}", kind, value.tensor, port) for one, port, kind in readers]

    def _role(self, name: str, value: Generation, is_last: bool) -> NodeRole | None:
        """What a value is drawn as; None for arrows alone."""
        if name in self._bindings:
            if not value.writers:
                return NodeRole.INPUT
            if is_last:
                return NodeRole.OUTPUT
        elif not value.writers and self._options.constants:
            return NodeRole.CONSTANT
        return None

    def _add_unseen_bindings(self, seen: Container[str]) -> None:
        """Inputs and outputs that no layer names, as where the file holds names only."""
        for place, binding in enumerate(self._engine.bindings):
            if binding.name in seen:
                continue
            known = {True: NodeRole.INPUT, False: NodeRole.OUTPUT}
            role = NodeRole.BINDING if binding.is_input is None else known[binding.is_input]
            self._nodes.append(
                Node(
                    f"binding_{place}",
                    role,
                    binding.name,
                    tensor_lines(binding.name, None),
                    tensor_tooltip(binding.name, None, role.value),
                    BINDING,
                    (-1, place),
                )
            )


def _tensor_node(identity: str, role: NodeRole, name: str, value: Generation) -> Node:
    """Behind the last that writes it, or before the first that reads it."""
    order = (2 * max(value.writers) + 1, 1) if value.writers else (2 * min(value.readers)[0], 0)
    return Node(
        identity,
        role,
        name,
        tensor_lines(name, value.tensor),
        tensor_tooltip(name, value.tensor, role.value),
        BINDING if role in (NodeRole.INPUT, NodeRole.OUTPUT) else TENSOR,
        order,
        tensor=value.tensor,
    )
