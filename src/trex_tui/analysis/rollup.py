"""Time by what the network was made of: its ONNX nodes and its modules.

A layer that came from several nodes does not tell which of them took its time. By node, it is shared equally among them:
wrong in detail (the Conv of a Conv + Relu does nearly all), but sums stay exact, and nothing is counted twice. By module, it
stands whole in one, that of its first node, as in the tree of layers: a table of modules, a chart of them and the tree show
the same number for each. Fusion over the border of two modules is rare, and `fused_over_modules` tells where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trex_tui.analysis.hierarchy import module_of_name, module_path
from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.text import format_ms, plural

NO_NODE = "(no ONNX node)"
"""Layers that TensorRT put in, such as reformats, and engines without `Metadata`."""


@dataclass(frozen=True, slots=True)
class Share:
    """Time that falls to something.

    Attributes:
        name: An ONNX node, or a module.
        latency_ms: Its part of the layers' times; None if none of them was profiled.
        layers: Layers that it is, at least partly, in.
    """

    name: str
    latency_ms: float | None
    layers: int


def by_onnx_node(engine: Engine) -> list[Share]:
    """Time by ONNX node, the slowest first; adds up to `engine.latency_sum_ms`."""
    return _shared(engine, lambda layer: layer.onnx_nodes or (NO_NODE,))


def by_module(engine: Engine, depth: int = 1) -> list[Share]:
    """Time by module, `depth` levels deep, each layer in one: where `hierarchy.module_path` has it.

    Adds up to `engine.latency_sum_ms`, the layers to all layers. Layers outside any module are under the empty name.
    """
    groups: dict[str, list[Layer]] = {}
    for layer in engine.layers:
        groups.setdefault(module_of(layer, depth), []).append(layer)
    return _slowest_first(Share(name, sum_latency_ms(group), len(group)) for name, group in groups.items())


def module_of(layer: Layer, depth: int = 1) -> str:
    """The module that a layer counts for, `depth` levels deep; empty outside of any."""
    return "/".join(module_path(layer)[:depth])


def fused_over_modules(layers: Iterable[Layer]) -> list[Layer]:
    """The layers whose ONNX nodes lie in several of the outermost modules, of which the first has all of the time."""
    return [layer for layer in layers if len({module_of_name(node)[:1] for node in layer.onnx_nodes}) > 1]


def fused_words(layers: Sequence[Layer]) -> str | None:
    """How layers fused over the borders of modules are counted; None if there are none."""
    fused = fused_over_modules(layers)
    if not fused:
        return None
    time = sum_latency_ms(fused)
    took = f" of {format_ms(time)} ms" if time is not None else ""
    several = plural(len(fused), f"layer{took} has", f"layers{took} have")
    return f"Each layer counts once, in the module of its first ONNX node; {several} nodes in other outermost modules too."


def _shared(engine: Engine, names_of: Callable[[Layer], tuple[str, ...]]) -> list[Share]:
    times: dict[str, float | None] = {}
    layers: dict[str, int] = {}
    for layer in engine.layers:
        names = names_of(layer)
        for name in dict.fromkeys(names):
            layers[name] = layers.get(name, 0) + 1
        for name in names:
            part = None if layer.latency_ms is None else layer.latency_ms / len(names)
            times[name] = part if times.get(name) is None else (times[name] or 0.0) + (part or 0.0)
    return _slowest_first(Share(name, time, layers[name]) for name, time in times.items())


def _slowest_first(shares: Iterable[Share]) -> list[Share]:
    return sorted(shares, key=lambda share: (-(share.latency_ms or 0.0), share.name))
