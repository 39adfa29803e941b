"""The command palette: every action, and layers by the words of their names.

Titles are `Text`, never strings: Textual reads strings as markup.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from rich.text import Text
from textual.command import DiscoveryHit, Hit, Hits, Provider

from trex_tui.actions import Action, Place, actions_in, key_label
from trex_tui.engine.model import Layer
from trex_tui.filtering import filter_layers
from trex_tui.screens.engine import EngineScreen
from trex_tui.text import format_ms, printable, shorten_middle

if TYPE_CHECKING:
    from trex_tui.app import TrexApp

MOST_HITS = 40


class ActionCommands(Provider):
    """The actions that work on the screen below the palette, out of the table of actions."""

    async def discover(self) -> Hits:
        """All of them."""
        for action in self._actions():
            yield DiscoveryHit(
                _action_title(action), self._runner(action), text=action.title, help=action.help
            )

    async def search(self, query: str) -> Hits:
        """Those whose title or sentence matches, by Textual's matcher: they are few."""
        matcher = self.matcher(query)
        for action in self._actions():
            score = max(matcher.match(action.title), matcher.match(action.help) * 0.8)
            if score > 0:
                yield Hit(
                    score, _action_title(action), self._runner(action), text=action.title, help=action.help
                )

    def _actions(self) -> list[Action]:
        places = getattr(self.screen, "help_places", [Place.EVERYWHERE])
        wanted = [place for place in places if place is not Place.MOVE]
        return [action for action in actions_in(*wanted) if action.id != "app.palette"]

    def _runner(self, action: Action) -> Callable[[], Awaitable[None]]:
        return partial(cast("TrexApp", self.app).run_where_focused, action.action)


def _action_title(action: Action) -> Text:
    return Text.assemble(action.title, "  ", (key_label(action.keys), "bold"))


class LayerCommands(Provider):
    """Finds layers by words, in any order; Textual's own matcher takes half a second on 20 000 names."""

    async def discover(self) -> Hits:
        """Before anything is typed: the slowest layers."""
        screen = self.screen
        if not isinstance(screen, EngineScreen):
            return
        slowest = sorted(screen.engine.layers, key=lambda layer: -(layer.latency_ms or 0.0))[:5]
        for layer in slowest:
            title = _title(layer)
            yield DiscoveryHit(
                title, partial(self._go_to, screen, layer), text=title.plain, help=_help(layer)
            )

    async def search(self, query: str) -> Hits:
        """The layers whose names have all the words; shorter names first, as they match more of the name."""
        screen = self.screen
        if not isinstance(screen, EngineScreen):
            return
        found = sorted(filter_layers(screen.engine.layers, query), key=lambda layer: len(layer.name))
        for layer in found[:MOST_HITS]:
            score = min(1.0, len(query) / max(1, len(layer.name)))
            title = _title(layer)
            yield Hit(score, title, partial(self._go_to, screen, layer), text=title.plain, help=_help(layer))

    @staticmethod
    def _go_to(screen: EngineScreen, layer: Layer) -> None:
        screen.filter_text = ""
        screen.current_layer = layer
        screen.action_show("layers")


def _title(layer: Layer) -> Text:
    return Text(shorten_middle(printable(layer.name), 70))


def _help(layer: Layer) -> str:
    return f"layer {layer.index}: {layer.kind.value}, {format_ms(layer.latency_ms)} ms"
