"""The ways to arrange layers in a tree. Nothing below a group is looked at before somebody expands it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property

from trex_tui.analysis.hierarchy import label_in, module_path
from trex_tui.analysis.rollup import NO_NODE
from trex_tui.analysis.totals import UNKNOWN, sum_latency_ms
from trex_tui.engine.model import Layer

Path = tuple[str, ...]


class Grouping(str, Enum):
    """What the groups of the tree have in common. The values are what people read."""

    MODULE = "by module"
    KIND = "by kind"
    PRECISION = "by precision"
    ONNX = "by ONNX node"
    STREAM = "by stream"
    ORDER = "in execution order"


class Group:
    """Layers that have the first parts of a path in common.

    Attributes:
        path: These parts.
        name: The last of them, or several where a chain of groups with nothing beside them became one.
        layers: All layers here and below, in execution order.
    """

    def __init__(
        self, name: str, path: Path, layers: Sequence[Layer], path_of: Callable[[Layer], Path], *, flat: bool
    ) -> None:
        """Args: flat: A layer that is alone in a group stands in its place."""
        self.name, self.path, self.layers, self._path_of, self._flat = name, path, layers, path_of, flat

    @cached_property
    def latency_ms(self) -> float | None:
        """Sum over the layers; None if none was profiled."""
        return sum_latency_ms(self.layers)

    @property
    def first_index(self) -> int:
        """Index of the first layer."""
        return self.layers[0].index

    @cached_property
    def entries(self) -> Sequence[Group | Layer]:
        """The groups and layers directly in this one, in execution order.

        A group around a single layer of a deeper path is that layer.
        """
        depth = len(self.path)
        groups: dict[str, list[Layer]] = {}
        inside: list[Group | Layer] = []
        for layer in self.layers:
            path = self._path_of(layer)
            if len(path) > depth:
                groups.setdefault(path[depth], []).append(layer)
            else:
                inside.append(layer)
        for name, layers in groups.items():
            inside.append(layers[0] if len(layers) == 1 and self._flat else self._group(name, layers))
        return sorted(inside, key=lambda one: one.index if isinstance(one, Layer) else one.first_index)

    def _group(self, name: str, layers: Sequence[Layer]) -> Group:
        path = (*self.path, name)
        names = [name]
        while True:
            depth = len(path)
            part = next(iter(self._path_of(layers[0])[depth : depth + 1]), None)
            if part is None or any(self._path_of(layer)[depth : depth + 1] != (part,) for layer in layers):
                return Group("/".join(names), path, layers, self._path_of, flat=self._flat)
            names.append(part)
            path = (*path, part)

    def groups_around(self, layer: Layer) -> list[Group]:
        """The groups from below this one down to the one that a layer stands in."""
        around: list[Group] = []
        current = self
        wanted = self._path_of(layer)
        while True:
            inside = (one for one in current.entries if isinstance(one, Group))
            found = next((one for one in inside if wanted[: len(one.path)] == one.path), None)
            if found is None:
                return around
            around.append(found)
            current = found


def arrange(layers: Sequence[Layer], grouping: Grouping) -> Group:
    """Arrange layers in execution order as a tree; its root stands for all of them.

    Each layer stands in one group, so that the groups add up: one of several ONNX nodes stands under the first.
    """
    return Group("", (), layers, _PATHS[grouping], flat=grouping in (Grouping.MODULE, Grouping.ONNX))


def _onnx_path(layer: Layer) -> Path:
    return (layer.onnx_nodes[0] if layer.onnx_nodes else NO_NODE,)


def _stream_path(layer: Layer) -> Path:
    stream = f"stream {layer.stream if layer.stream is not None else UNKNOWN}"
    return (f"{layer.device.value}, {stream}" if layer.device else stream,)


_PATHS: dict[Grouping, Callable[[Layer], Path]] = {
    Grouping.MODULE: module_path,
    Grouping.KIND: lambda layer: (layer.kind.value,),
    Grouping.PRECISION: lambda layer: (layer.precision.value if layer.precision else UNKNOWN,),
    Grouping.ONNX: _onnx_path,
    Grouping.STREAM: _stream_path,
    Grouping.ORDER: lambda _: (),
}


def layer_label(layer: Layer, grouping: Grouping, depth: int) -> str:
    """How a layer is called in a tree, inside `depth` groups.

    A layer that stands for its ONNX node has the node's name. `+2` says that it does the work of two nodes more.
    """
    if grouping is Grouping.MODULE:
        return label_in(layer, depth)
    if grouping is not Grouping.ONNX or not layer.onnx_nodes:
        return layer.name
    name = layer.name if depth else layer.onnx_nodes[0]
    more = len(layer.onnx_nodes) - 1
    return f"{name} +{more}" if more else name


def ordered_entries(group: Group, grouping: Grouping, *, by_latency: bool) -> Sequence[Group | Layer]:
    """What stands directly in a group: in execution order, or the slowest first.

    Kinds and precisions have no place in the execution, so they always stand by time.
    """
    if by_latency or (not group.path and grouping in (Grouping.KIND, Grouping.PRECISION)):
        return sorted(group.entries, key=lambda one: -(one.latency_ms or 0.0))
    return group.entries
