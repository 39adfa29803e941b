"""The modules of the network, out of the names of its layers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.engine.model import Layer

MOST_LEVELS = 24
"""Modules nested deeper than this stand at this depth: no network nests so, but a name may hold anything."""

_REFORMAT = re.compile(
    r"^Reformatting CopyNode for (?:(?P<role>Input|Output) Tensor (?P<port>\d+) to |Network (?:Input|Output) )"
)
_WRAPPERS = re.compile(r"^(?:PWN\(+|\{ForeignNode\[|\(+)")
_INSERTED = re.compile(r"^(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:before|after)_")
# Torch-TensorRT writes `[CONVOLUTION]-[aten_ops.convolution.default]-[/conv1/convolution]`.
_TORCH = re.compile(r"^.*?\[[A-Z_]*[\w.]*\]-\[(?=/)")
_FUSED = re.compile(r" \+ ")
_SEVERAL = re.compile(r" \+ |\.\.\.|, |\|\|")
_PARTS = re.compile(r"[/.]")


@dataclass(slots=True)
class Module:
    """A node of the hierarchy: sub-modules by name, and the layers that stand here themselves.

    Attributes:
        latency_ms: Sum over everything below; None if nothing there was profiled.
        layer_count: Layers here and below.
        first_index: Index of the first layer here or below, so that modules can stand in execution order.
        levels: How many parts of a path its name stands for.
    """

    name: str
    children: dict[str, Module] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=list)
    latency_ms: float | None = None
    layer_count: int = 0
    first_index: int = -1
    levels: int = 1


def module_path(layer: Layer) -> tuple[str, ...]:
    """The modules a layer lies in, outermost first, without its own operator.

    The first ONNX node stands for a fused layer; without metadata, the first name in the layer's own name. A reformat
    lies where the layer lies that it serves. Layers with no path in their name lie at the top.
    """
    return _path_and_operator(layer.onnx_nodes[0] if layer.onnx_nodes else layer.name)[0]


def _path_and_operator(name: str) -> tuple[tuple[str, ...], str]:
    """The modules that the first of the names in `name` lies in, and what remains of it."""
    name = _SEVERAL.split(_REFORMAT.sub("", name), maxsplit=1)[0]
    name = _TORCH.sub("", _WRAPPERS.sub("", _INSERTED.sub("", name)))
    if name.startswith(("__myl", "(Unnamed", "entry^")):
        return (), name
    parts = [part for part in _PARTS.split(name.strip("])} ")) if part]
    return tuple(_without_repeats(parts[:-1])[:MOST_LEVELS]), parts[-1] if parts else name


def label_in(layer: Layer, depth: int) -> str:
    """A layer's name as it reads inside the first `depth` modules of its path.

    `/layer1/layer1.0/conv1/Conv + /layer1/layer1.0/relu/Relu` reads `conv1/Conv + Relu` inside `layer1/0`. A name that tells
    no path stays whole.
    """
    path = module_path(layer)
    if not path:
        return layer.name
    reformat = _REFORMAT.match(layer.name)
    names = _FUSED.split(_REFORMAT.sub("", layer.name))
    operators = " + ".join(_path_and_operator(name)[1] for name in names)
    label = "/".join([*path[depth:], operators])
    if reformat is None:
        return label
    role = f"{reformat['role'].lower()} {reformat['port']} of " if reformat["role"] else "network "
    return f"{role}{label}"


def _without_repeats(parts: list[str]) -> list[str]:
    """PyTorch writes `/layer1/layer1.0/conv1/Conv`: once split at dots, `layer1` repeats."""
    kept: list[str] = []
    for part in parts:
        if not kept or part != kept[-1]:
            kept.append(part)
    return kept


def build_hierarchy(layers: Iterable[Layer]) -> Module:
    """Arrange layers in their modules.

    A chain of modules with nothing beside them becomes one, and a module around a single layer becomes that layer.
    """
    root = Module("")
    for layer in layers:
        module = root
        for part in module_path(layer):
            module = module.children.setdefault(part, Module(part))
        module.layers.append(layer)
    _close(root)
    return root


def _close(root: Module) -> None:
    """Add up times bottom-up and join single chains. Without recursion: names may nest as deep as they like."""
    order = [root]
    for module in order:
        order.extend(module.children.values())
    for module in reversed(order):
        for key, child in list(module.children.items()):
            if len(child.children) == 1 and not child.layers:
                (grandchild,) = child.children.values()
                grandchild.name = f"{child.name}/{grandchild.name}"
                grandchild.levels += child.levels
                module.children[key] = grandchild
            elif not child.children and len(child.layers) == 1:
                module.layers += child.layers
                del module.children[key]
        module.layers.sort(key=lambda layer: layer.index)
        times = [child.latency_ms for child in module.children.values()] + [sum_latency_ms(module.layers)]
        known = [time for time in times if time is not None]
        module.latency_ms = sum(known) if known else None
        module.layer_count = len(module.layers) + sum(child.layer_count for child in module.children.values())
        firsts = [child.first_index for child in module.children.values()]
        module.first_index = min(firsts + [layer.index for layer in module.layers[:1]], default=-1)
