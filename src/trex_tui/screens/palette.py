"""The palette, with every action of every tab and its synonyms, layers and themes; and `?`, the keys that work here.

`:q` quits, `:123` goes to layer 123.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.app import App
from textual.await_complete import AwaitComplete
from textual.binding import BindingType
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.css.query import NoMatches
from textual.errors import NoWidget
from textual.geometry import Region
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from trex_tui.screens.dialogs import ChooseDialog
from trex_tui.screens.engine import EngineScreen
from trex_tui.text import printable
from trex_tui.widgets.actions import (
    ACTIONS,
    APP,
    ENGINE,
    ENGINES,
    GRAPH,
    MOVE,
    PLACES,
    TABS,
    TEXT,
    TREE,
    Action,
    spell_keys,
)
from trex_tui.widgets.chrome import Clickable

_MOST_LAYERS = 20
_TABS = [tab.id for tab in TABS]
LEGEND = (
    ("▌ ◆", "row under the cursor, marked row"),
    ("E W i ✓", "worst finding of the layer: error, warning, info, strength"),
    ("█ ━", "share of the time: of a layer, of a group"),
    ("● ○ ◉", "layer, without links, in a loop; ║ is a lane that several values share"),
    ("– …", "unknown value; cut text"),
    ("FP32 FP16 INT8", "precisions by width; the main one of the engine is quiet"),
)
"""Signs and their meaning."""


async def run_action(app: App[Any], screen: Screen[Any], action: Action) -> None:
    """Run an action from wherever the screen is; that of a tab there."""
    if action.place in _TABS and isinstance(screen, EngineScreen):
        await screen.action_show(action.place)
        with suppress(NoMatches):  # the tab is being closed
            await app.run_action(action.action, screen.pane)
    elif action.place in (MOVE, TREE, TEXT, GRAPH):
        await app.run_action(action.action, screen.focused or screen)
    else:
        await app.run_action(action.action, app if action.place == APP else screen)


def _actions_of(screen: Screen[Any]) -> list[Action]:
    places = {APP, ENGINE, *_TABS} if isinstance(screen, EngineScreen) else {APP, ENGINES}
    return [action for action in ACTIONS if action.place in places]


class Palette(Clickable, CommandPalette):
    """Textual's. In 8.2.8 a page key is an error until its list is drawn, and keys that come after its end are errors too."""

    BINDINGS: ClassVar[list[BindingType]] = [("pagedown", "page(1)"), ("pageup", "page(-1)")]

    def action_page(self, step: int) -> None:
        commands = self.query_one("CommandList", OptionList)
        with suppress(KeyError):
            (commands.action_page_down if step > 0 else commands.action_page_up)()  # type: ignore[no-untyped-call]

    is_dismissed = False

    def get_widget_at(self, x: int, y: int) -> tuple[Widget, Region]:
        """Return what is under a place; the palette itself once its widgets are gone."""
        try:
            return super().get_widget_at(x, y)
        except NoWidget:
            return self, self.region

    def dismiss(self, result: Any = None) -> AwaitComplete:  # noqa: ANN401 - as Textual's
        if self.is_dismissed or not self.is_current:
            return AwaitComplete()
        self.is_dismissed = True
        return super().dismiss(result)

    @on(Input.Changed)
    def _drop_late_text(self, event: Input.Changed) -> None:
        if not self.is_current:
            event.prevent_default()


class Commands(Provider):
    """Actions, layers and themes."""

    async def discover(self) -> Hits:
        tab = getattr(getattr(self.screen, "pane", None), "tab", "")
        for action in sorted(_actions_of(self.screen), key=lambda action: action.place not in (tab, ENGINES)):
            yield DiscoveryHit(_describe(action), self._runner(action), help=action.tooltip)

    async def search(self, query: str) -> Hits:
        words = query.casefold().lstrip(":").split()
        if words == ["q"]:
            yield Hit(9.0, "Quit", self.app.exit, help="Quit.")
        for action in _actions_of(self.screen):
            if score := _score(words, _describe(action), f"{action.tooltip} {action.words}"):
                yield Hit(score, _describe(action), self._runner(action), help=action.tooltip)
        for theme in self.app.available_themes:
            if score := _score(words, f"Theme: {theme}", "color dark light"):
                yield Hit(score * 0.8, f"Theme: {theme}", partial(setattr, self.app, "theme", theme))
        for score, text, run in self._layers(words):
            yield Hit(score, text, run)

    def _runner(self, action: Action) -> Callable[[], Any]:
        return partial(run_action, self.app, self.screen, action)

    def _layers(self, words: Sequence[str]) -> Iterator[tuple[float, str, Callable[[], Any]]]:
        """Yield the layer of a number, and those whose names have all words."""
        screen = self.screen
        if not isinstance(screen, EngineScreen) or not words:
            return
        names = screen.engine.layers["name"].tolist()
        number = int(words[0]) if len(words) == 1 and words[0].isdecimal() else -1
        found = [layer for layer, name in enumerate(names) if all(word in name.casefold() for word in words)]
        for layer in dict.fromkeys([*([number] if 0 <= number < len(names) else []), *found[:_MOST_LAYERS]]):
            score = 8.0 if layer == number else 0.3
            yield score, printable(f"Layer {layer}: {names[layer]}"), partial(screen.go_to, layer, "layers")


def _describe(action: Action) -> str:
    heading = "" if action.place in (APP, ENGINE, ENGINES) else f"{PLACES[action.place]}: "
    return f"{heading}{action.title}  ({spell_keys(action.keys)})"


def _score(words: Sequence[str], title: str, others: str) -> float:
    """Return how well all words fit: in the title better than in the synonyms, at the start of a word better still."""
    folded, rest = title.casefold(), others.casefold()
    if not words or not all(word in folded or word in rest for word in words):
        return 0.0
    in_title = sum(word in folded for word in words)
    starts = sum(f" {word}" in f" {folded}" for word in words)
    return 0.5 + (0.2 * in_title + 0.2 * starts) / len(words)


class HelpDialog(ChooseDialog):
    """The keys that work here, by place; Enter runs one. At the end the signs."""

    def __init__(self, places: Sequence[str]) -> None:
        self._actions = {action.id: action for place in places for action in ACTIONS if action.place == place}
        options = {
            id_: f"{spell_keys(action.keys):<12} {action.title:<16} {action.tooltip}"
            for id_, action in self._actions.items()
        }
        legend = {f"sign {signs}": f"{signs:<29} {meaning}" for signs, meaning in LEGEND}
        super().__init__("Keys", {**options, **legend})
        self._keys = "type to filter · Enter runs · Esc closes"

    def show_options(self) -> None:
        """Show the keys that have all typed words, under the headings of their places."""
        super().show_options()
        options = self.query_one(OptionList)
        shown: list[Option] = []
        heading = ""
        for option in options.options:
            action = self._actions.get(option.id or "")
            title = PLACES[action.place] if action else "Signs"
            if title != heading:
                heading = title
                shown.append(Option(Content.styled(title, "bold $accent"), disabled=True))
            shown.append(option)
        options.set_options(shown)
        options.highlighted = 1 if shown else None

    def finish(self, key: str) -> None:
        self.close(self._actions.get(key))


def show_help(app: App[Any]) -> None:
    """Show the keys that work on the screen, in its tab first."""
    screen = app.screen
    is_engine = isinstance(screen, EngineScreen)
    places = [screen.pane.tab, MOVE, TREE, TEXT, GRAPH, ENGINE, APP] if is_engine else [ENGINES, MOVE, APP]  # type: ignore[attr-defined]

    async def run(action: Action | None) -> None:
        if action is not None:
            await run_action(app, screen, action)

    app.push_screen(HelpDialog(places), run)
