"""The ways to arrange layers in a tree. Nothing below a group is looked at before somebody expands it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cached_property

from trex_tui.analysis.hierarchy import module_path
from trex_tui.analysis.totals import UNKNOWN, sum_latency_ms
from trex_tui.engine.model import Layer

Path = tuple[str, ...]


class Grouping(str, Enum):
    """What the groups of the tree have in common. The values are what people read."""

    MODULE = "by module"
    KIND = "by kind"
    PRECISION = "by precision"
    ORDER = "in execution order"


class Group:
    """Layers that have the first parts of a path in common.

    Attributes:
        path: These parts.
        name: The last of them, or several where a chain of groups with nothing beside them became one.
        layers: All layers here and below, in execution order.
    """

    def __init__(
        self, name: str, path: Path, layers: Sequence[Layer], path_of: Callable[[Layer], Path]
    ) -> None:
        self.name, self.path, self.layers, self._path_of = name, path, layers, path_of

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
            inside.append(layers[0] if len(layers) == 1 and self._is_nested else self._group(name, layers))
        return sorted(inside, key=lambda one: one.index if isinstance(one, Layer) else one.first_index)

    @property
    def _is_nested(self) -> bool:
        return self._path_of is module_path

    def _group(self, name: str, layers: Sequence[Layer]) -> Group:
        path = (*self.path, name)
        names = [name]
        while True:
            depth = len(path)
            part = next(iter(self._path_of(layers[0])[depth : depth + 1]), None)
            if part is None or any(self._path_of(layer)[depth : depth + 1] != (part,) for layer in layers):
                return Group("/".join(names), path, layers, self._path_of)
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
    """Arrange layers in execution order as a tree; its root stands for all of them."""
    path_of: dict[Grouping, Callable[[Layer], Path]] = {
        Grouping.MODULE: module_path,
        Grouping.KIND: lambda layer: (layer.kind.value,),
        Grouping.PRECISION: lambda layer: (layer.precision.value if layer.precision else UNKNOWN,),
        Grouping.ORDER: lambda _: (),
    }
    return Group("", (), layers, path_of[grouping])


def ordered_entries(group: Group, grouping: Grouping, *, by_latency: bool) -> Sequence[Group | Layer]:
    """What stands directly in a group: in execution order, or the slowest first.

    Kinds and precisions have no place in the execution, so they always stand by time.
    """
    if by_latency or (not group.path and grouping in (Grouping.KIND, Grouping.PRECISION)):
        return sorted(group.entries, key=lambda one: -(one.latency_ms or 0.0))
    return group.entries
