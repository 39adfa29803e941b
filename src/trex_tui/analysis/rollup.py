"""Time by what the network was made of: its ONNX nodes and its modules.

A layer that came from several nodes does not tell which of them took its time. It is shared equally among them: wrong in
detail (the Conv of a Conv + Relu does nearly all), but sums stay exact, and nothing is counted twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from trex_tui.analysis.hierarchy import module_of_name, module_path
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer

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
    """Time by module, `depth` levels deep; each node of a fused layer counts for its own module.

    Adds up to `engine.latency_sum_ms`. Layers outside any module are under the empty name.
    """

    def modules(layer: Layer) -> tuple[str, ...]:
        paths = [module_of_name(node) for node in layer.onnx_nodes] or [module_path(layer)]
        return tuple("/".join(path[:depth]) for path in paths)

    return _shared(engine, modules)


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
    shares = [Share(name, time, layers[name]) for name, time in times.items()]
    return sorted(shares, key=lambda share: (-(share.latency_ms or 0.0), share.name))
