"""The modules of the network, out of the names of its layers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.engine.model import Layer

_REFORMAT = re.compile(
    r"^Reformatting CopyNode for (?:(?:Input|Output) Tensor \d+ to |Network (?:Input|Output) )"
)
_WRAPPERS = re.compile(r"^(?:PWN\(+|\{ForeignNode\[|\(+)")
_INSERTED = re.compile(r"^(?:copied_)?(?:reshape|squeeze|unsqueeze)_(?:before|after)_")
# Torch-TensorRT writes `[CONVOLUTION]-[aten_ops.convolution.default]-[/conv1/convolution]`.
_TORCH = re.compile(r"^.*?\[[A-Z_]*[\w.]*\]-\[(?=/)")
_PARTS = re.compile(r"[/.]")


@dataclass(slots=True)
class Module:
    """A node of the hierarchy: sub-modules by name, and the layers that stand here themselves.

    Attributes:
        latency_ms: Sum over everything below; None if nothing there was profiled.
        layer_count: Layers here and below.
        first_index: Index of the first layer here or below, so that modules can stand in execution order.
    """

    name: str
    children: dict[str, Module] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=list)
    latency_ms: float | None = None
    layer_count: int = 0
    first_index: int = -1


def module_path(layer: Layer) -> tuple[str, ...]:
    """The modules a layer lies in, outermost first, without its own operator.

    The first ONNX node stands for a fused layer; without metadata, the first name in the layer's own name. A reformat
    lies where the layer lies that it serves. Layers with no path in their name lie at the top.
    """
    name = layer.onnx_nodes[0] if layer.onnx_nodes else layer.name
    name = _REFORMAT.sub("", name)
    name = re.split(r" \+ |\.\.\.|, |\|\|", name, maxsplit=1)[0]
    name = _TORCH.sub("", _WRAPPERS.sub("", _INSERTED.sub("", name)))
    if name.startswith(("__myl", "(Unnamed", "entry^")):
        return ()
    parts = [part for part in _PARTS.split(name.strip("])} ")) if part]
    return tuple(_without_repeats(parts[:-1]))


def _without_repeats(parts: list[str]) -> list[str]:
    """PyTorch writes `/layer1/layer1.0/conv1/Conv`: once split at dots, `layer1` repeats."""
    kept: list[str] = []
    for part in parts:
        if not kept or part != kept[-1]:
            kept.append(part)
    return kept


def build_hierarchy(layers: Iterable[Layer]) -> Module:
    """Arrange layers in their modules; a chain of modules with nothing beside them becomes one."""
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
                module.children[key] = grandchild
        times = [child.latency_ms for child in module.children.values()] + [sum_latency_ms(module.layers)]
        known = [time for time in times if time is not None]
        module.latency_ms = sum(known) if known else None
        module.layer_count = len(module.layers) + sum(child.layer_count for child in module.children.values())
        firsts = [child.first_index for child in module.children.values()]
        module.first_index = min(firsts + [layer.index for layer in module.layers[:1]], default=-1)
