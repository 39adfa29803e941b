"""The ways to arrange layers in a tree, and to walk it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum

from trex_tui.analysis.hierarchy import Module, build_hierarchy
from trex_tui.analysis.totals import UNKNOWN, sum_latency_ms
from trex_tui.engine.model import Layer


class Grouping(str, Enum):
    """What the groups of the tree have in common. The values are what people read."""

    MODULE = "by module"
    KIND = "by kind"
    PRECISION = "by precision"
    ORDER = "in execution order"


def arrange(layers: Sequence[Layer], grouping: Grouping) -> Module:
    """Arrange layers in execution order as a tree; its root stands for all of them."""
    if grouping is Grouping.MODULE:
        return build_hierarchy(layers)
    if grouping is Grouping.KIND:
        return _by(layers, lambda layer: layer.kind.value)
    if grouping is Grouping.PRECISION:
        return _by(layers, lambda layer: layer.precision.value if layer.precision else UNKNOWN)
    return _module("", list(layers))


def _by(layers: Sequence[Layer], key: Callable[[Layer], str]) -> Module:
    groups: dict[str, list[Layer]] = {}
    for layer in layers:
        groups.setdefault(key(layer), []).append(layer)
    modules = [_module(name, group) for name, group in groups.items()]
    root = _module("", list(layers))
    root.layers = []
    root.children = {module.name: module for module in modules}
    return root


def _module(name: str, layers: list[Layer]) -> Module:
    first = layers[0].index if layers else -1
    return Module(name, {}, layers, sum_latency_ms(layers), len(layers), first)


def entries(module: Module, grouping: Grouping, *, by_latency: bool) -> list[Module | Layer]:
    """What stands directly in a module: in execution order, or the slowest first. Kinds and precisions have no place in
    the execution, so they always stand by time."""
    inside: list[Module | Layer] = [*module.children.values(), *module.layers]
    if by_latency or (module.children and grouping is not Grouping.MODULE):
        return sorted(inside, key=lambda one: -(one.latency_ms or 0.0))
    return sorted(inside, key=lambda one: one.index if isinstance(one, Layer) else one.first_index)


def path_to(root: Module, layer: Layer) -> list[Module] | None:
    """The modules from below the root down to the one that holds `layer` itself; None if it is not in the tree."""
    pending: list[tuple[Module, list[Module]]] = [(root, [])]
    while pending:
        module, path = pending.pop()
        if any(one is layer for one in module.layers):
            return path
        pending.extend((child, [*path, child]) for child in module.children.values())
    return None
