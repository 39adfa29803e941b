"""The palette: every action of every tab with its synonyms, layers, themes; `:q` quits, `:123` goes to layer 123."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from textual.command import DiscoveryHit, Hit, Hits, Provider

from trex_tui.text import printable
from trex_tui.widgets.actions import ACTIONS, APP, ENGINE, ENGINES, PLACES, TABS, Action, spell_keys

_MOST_LAYERS = 20


class Commands(Provider):
    """Actions, layers and themes."""

    async def discover(self) -> Hits:
        for action in self._actions():
            yield DiscoveryHit(_describe(action), partial(self._run, action), help=action.tooltip)

    async def search(self, query: str) -> Hits:
        words = query.casefold().lstrip(":").split()
        if not words:
            return
        for action in self._actions():
            if score := _score(words, _describe(action), f"{action.tooltip} {action.words}"):
                yield Hit(score, _describe(action), partial(self._run, action), help=action.tooltip)
        for theme in self.app.available_themes:
            if score := _score(words, f"Theme: {theme}", "color dark light"):
                yield Hit(score * 0.8, f"Theme: {theme}", partial(setattr, self.app, "theme", theme))
        for score, text, run in self._layers(words):
            yield Hit(score, text, run)

    def _actions(self) -> Iterator[Action]:
        """Yield the actions that can run from here: all of an engine, or all of the list."""
        has_engine = hasattr(self.screen, "engine")
        tabs = {tab.id for tab in TABS}
        places = {APP, ENGINE, *tabs} if has_engine else {APP, ENGINES}
        yield from (action for action in ACTIONS if action.place in places)

    def _layers(self, words: list[str]) -> Iterator[tuple[float, str, Callable[[], Any]]]:
        engine = getattr(self.screen, "engine", None)
        if engine is None:
            return
        names = engine.layers["name"].tolist()
        count = 0
        for layer, name in enumerate(names):
            is_number = len(words) == 1 and words[0] == str(layer)
            if is_number or all(word in name.casefold() for word in words):
                count += 1
                yield (
                    1.0 if is_number else 0.3,
                    printable(f"Layer {layer}: {name}"),
                    partial(self.screen.go_to, layer, "layers"),
                )  # type: ignore[attr-defined]
            if count == _MOST_LAYERS:
                return

    async def _run(self, action: Action) -> None:
        """Run an action; that of a tab there."""
        screen = self.screen
        if action.place in {tab.id for tab in TABS}:
            await screen.action_show(action.place)  # type: ignore[attr-defined]
            await self.app.run_action(action.action, screen.pane)  # type: ignore[attr-defined]
        elif action.place == APP:
            await self.app.run_action(action.action)
        else:
            await self.app.run_action(action.action, screen)


def _describe(action: Action) -> str:
    heading = "" if action.place in (APP, "engine", ENGINES) else f"{PLACES[action.place]}: "
    return f"{heading}{action.title}  [{spell_keys(action.keys)}]"


def _score(words: list[str], title: str, others: str) -> float:
    """Return how well all words fit: in the title better than in the synonyms, at the start of a word better still."""
    folded, rest = title.casefold(), others.casefold()
    if not all(word in folded or word in rest for word in words):
        return 0.0
    in_title = sum(word in folded for word in words)
    starts = sum(f" {word}" in f" {folded}" for word in words)
    return 0.5 + (0.2 * in_title + 0.2 * starts) / len(words)
