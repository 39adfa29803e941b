"""Walking along the links of an engine, and back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from textual.screen import Screen

from trex_tui.analysis.dataflow import Neighbour, list_consumers, list_producers
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.text import format_ms, printable, shorten_middle

LONGEST_TRAIL = 500


@dataclass(slots=True)
class History:
    """Layers to go back to, and forward."""

    behind: list[Layer] = field(default_factory=list)
    ahead: list[Layer] = field(default_factory=list)

    def leave(self, here: Layer | None, there: Layer) -> None:
        """Remember where a jump began, and forget what was ahead, like a browser."""
        if here is not None and here is not there:
            self.behind = [*self.behind, here][-LONGEST_TRAIL:]
            self.ahead = []

    def back(self, here: Layer | None) -> Layer | None:
        return self._step(self.behind, self.ahead, here)

    def forward(self, here: Layer | None) -> Layer | None:
        return self._step(self.ahead, self.behind, here)

    @staticmethod
    def _step(source: list[Layer], target: list[Layer], here: Layer | None) -> Layer | None:
        if not source:
            return None
        if here is not None:
            target.append(here)
        return source.pop()


def choose_neighbour(
    screen: Screen[Any], engine: Engine, layer: Layer, go: Callable[[Layer], None], *, outgoing: bool
) -> None:
    """Go to the only consumer or producer of a layer, or offer them all."""
    neighbours = (list_consumers if outgoing else list_producers)(engine, layer)
    if not neighbours:
        screen.notify(_why_none(engine, layer, outgoing=outgoing), markup=False)
    elif len(neighbours) == 1:
        go(neighbours[0].layer)
    else:
        room = max(16, int(screen.app.size.width * 0.96) - 8 - 36)
        options = {str(neighbour.layer.index): _option(neighbour, room) for neighbour in neighbours}
        title = f"{'Consumers' if outgoing else 'Producers'} of layer {layer.index}"
        screen.app.push_screen(
            ChooseScreen(title, options), lambda key: go(engine.layers[int(key)]) if key is not None else None
        )


def _why_none(engine: Engine, layer: Layer, *, outgoing: bool) -> str:
    if not engine.has_graph or layer.layer_type is None:
        return "The files do not tell what feeds what: only names are known."
    if outgoing:
        return "No layer reads what this one writes."
    return "No layer writes what this one reads: it comes from outside, or is constant."


def _option(neighbour: Neighbour, room: int) -> str:
    """Format a neighbour for the window: number, time, kind, name, and the tensor between."""
    layer = neighbour.layer
    name = shorten_middle(printable(layer.name), room * 2 // 3)
    tensor = shorten_middle(printable(", ".join(neighbour.tensors)), room - len(name))
    loop = "◉ " if neighbour.is_loop else ""
    time = f"{format_ms(layer.latency_ms)} ms"
    return f"{layer.index:>5} {time:>12} {layer.kind.value:<11} {loop}{name}  {tensor}"
