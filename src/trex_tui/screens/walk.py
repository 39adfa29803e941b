"""Walking along the links of an engine, and back."""

from __future__ import annotations

from dataclasses import dataclass, field

from textual import on
from textual.message import Message

from trex_tui.analysis.neighbourhood import Neighbour, consumers_of, producers_of
from trex_tui.engine.model import Layer
from trex_tui.screens.choose import ChooseScreen
from trex_tui.screens.services import EngineServices
from trex_tui.text import format_ms, printable, shorten_middle

LONGEST_TRAIL = 500


@dataclass
class LayerJumped(Message):
    """A person goes from one layer to another that may be anywhere; the keyboard stays where it is."""

    layer: Layer


@dataclass
class NeighboursAsked(Message):
    """A person wants to choose among all consumers of a layer, or all its producers."""

    layer: Layer
    outgoing: bool


@dataclass(slots=True)
class Trail:
    """The layers that a person came from, and those that going back has left."""

    behind: list[Layer] = field(default_factory=list)
    ahead: list[Layer] = field(default_factory=list)

    def leave(self, here: Layer | None, there: Layer) -> None:
        """Remember where a jump began. What was ahead is forgotten, as in a browser."""
        if here is not None and here is not there:
            self.behind = [*self.behind, here][-LONGEST_TRAIL:]
            self.ahead = []

    def back(self, here: Layer | None) -> Layer | None:
        """Where the last jump began; None if there is no way back."""
        return self._step(self.behind, self.ahead, here)

    def forward(self, here: Layer | None) -> Layer | None:
        """Where going back began."""
        return self._step(self.ahead, self.behind, here)

    @staticmethod
    def _step(source: list[Layer], target: list[Layer], here: Layer | None) -> Layer | None:
        if not source:
            return None
        if here is not None:
            target.append(here)
        return source.pop()


class WalkingScreen(EngineServices):
    """A screen with a current layer from which one can walk."""

    def __init__(self) -> None:
        super().__init__()
        self.trail = Trail()

    @property
    def layer_here(self) -> Layer | None:
        """The layer a walk begins at; None where the cursor is on a group."""
        raise NotImplementedError

    def stand_on(self, layer: Layer) -> None:
        """Make a layer the current one, wherever it is; the keyboard stays where it is."""
        raise NotImplementedError

    def jump(self, layer: Layer) -> None:
        """Go to a layer, and remember the way back."""
        self.trail.leave(self.layer_here, layer)
        self.stand_on(layer)

    @on(LayerJumped)
    def _layer_jumped(self, event: LayerJumped) -> None:
        self.jump(event.layer)

    @on(NeighboursAsked)
    def _neighbours_asked(self, event: NeighboursAsked) -> None:
        self._ask(event.layer, outgoing=event.outgoing)

    def action_producer(self) -> None:
        """Go to the layer that feeds this one."""
        self._walk(outgoing=False)

    def action_consumer(self) -> None:
        """Go to the layer that this one feeds."""
        self._walk(outgoing=True)

    def action_trail_back(self) -> None:
        """Go back to where the last jump began."""
        self._follow(self.trail.back(self.layer_here), "There is no way back: no jump led here.")

    def action_trail_forward(self) -> None:
        """Go where going back began."""
        self._follow(self.trail.forward(self.layer_here), "There is nothing ahead.")

    def _follow(self, layer: Layer | None, otherwise: str) -> None:
        if layer is None:
            self.notify(otherwise, markup=False)
        else:
            self.stand_on(layer)

    def _walk(self, *, outgoing: bool) -> None:
        layer = self.layer_here
        if layer is None:
            self.notify("Choose a layer first: a group has no links of its own.", markup=False)
        else:
            self._ask(layer, outgoing=outgoing)

    def _ask(self, layer: Layer, *, outgoing: bool) -> None:
        """Go to the only neighbour, or offer them all."""
        others = (consumers_of if outgoing else producers_of)(self.engine, layer)
        if not others:
            self.notify(self._why_none(layer, outgoing=outgoing), markup=False)
        elif len(others) == 1:
            self.jump(others[0].layer)
        else:
            words = "Consumers of" if outgoing else "Producers of"
            options = {str(one.layer.index): self._option(one) for one in others}
            title = f"{words} layer {layer.index}"
            self.app.push_screen(ChooseScreen(title, options), self._chosen)

    def _chosen(self, key: str | None) -> None:
        if key is not None:
            self.jump(self.engine.layers[int(key)])

    def _why_none(self, layer: Layer, *, outgoing: bool) -> str:
        if not self.engine.has_graph or layer.layer_type is None:
            return "The files do not tell what feeds what: only names are known."
        if outgoing:
            return "No layer reads what this one writes."
        return "No layer writes what this one reads: it comes from outside, or is constant."

    def _option(self, one: Neighbour) -> str:
        """A line that fits into the window: number, time, kind, name, and the tensor between."""
        room = max(16, int(self.app.size.width * 0.96) - 8 - 36)
        name = shorten_middle(printable(one.layer.name), room * 2 // 3)
        tensor = shorten_middle(printable(", ".join(one.tensors)), room - len(name))
        loop = "◉ " if one.is_loop else ""
        time = f"{format_ms(one.layer.latency_ms)} ms"
        return f"{one.layer.index:>5} {time:>12} {one.layer.kind.value:<11} {loop}{name}  {tensor}"
