"""Command palette: available actions, themes, and layers by name.

Titles are `Text`, never strings: Textual reads strings as markup.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from rich.text import Text
from textual import on, work
from textual.await_complete import AwaitComplete
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.css.query import NoMatches
from textual.message import Message
from textual.widgets import Input, OptionList

from trex_tui.old.analysis.filter import FilterError, filter_layers
from trex_tui.old.engine.model import Layer
from trex_tui.old.screens.dialogs import bring_to_top, has_room, is_open
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.pane import EnginePane
from trex_tui.old.screens.services import get_services
from trex_tui.old.text import format_ms, printable, shorten_middle
from trex_tui.old.widgets.actions import Action, Place, actions_in, key_label

if TYPE_CHECKING:
    from textual.app import SystemCommand

MOST_LAYERS = 40
_WORD_SCORE = 0.3
"""Below most layers and actions, because a typed word mostly means a layer."""
_SLOWEST = 5
_MOST_DIGITS = 10
_VIEW_SCORE = 0.5
"""Highest score; scaled by the typed share of the title. Layers and actions mostly come first."""
_LEAST_VIEW_QUERY = 3
"""Characters of a query before sorts, groupings and charts are offered: shorter ones match too many titles."""
_INDEX_SCORE = 2.0
"""Above the scores of all other hits, which are at most 1."""


_gather: Callable[[CommandPalette, str], Awaitable[None]] = inspect.unwrap(CommandPalette._gather_commands)


class PaletteWindow(CommandPalette):
    """Textual's palette, robust against repeated commands and tiny terminals."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        return super().dismiss(result) if bring_to_top(self) else AwaitComplete()

    @work(exclusive=True, group=CommandPalette._GATHER_COMMANDS_GROUP)
    async def _gather_commands(self, search_value: str) -> None:
        """List the matches, unless the window is closed meanwhile: its widgets go before this ends."""
        try:
            await _gather(self, search_value)
        except NoMatches:
            if self.query(CommandList):
                raise

    @on(Input.Submitted)
    @on(OptionList.OptionSelected)
    def _ignore_after_dismissal(self, event: Message) -> None:
        """Ignore a second Enter, which would run the command again."""
        if not is_open(self):
            event.prevent_default()

    def _action_command_list(self, action: str) -> None:
        if is_open(self) and (not action.startswith("page_") or has_room(self.query_one(CommandList))):
            super()._action_command_list(action)


class CommandWindow(PaletteWindow):
    """The palette of commands and layers."""

    @on(Input.Submitted)
    def _go_to_index(self, event: Input.Submitted) -> None:
        """Go to the layer of a typed index at once: its entry may not be in the list yet."""
        screen, chosen = self._calling_screen, self.query_one(CommandList).highlighted
        layer = find_layer(screen, event.value) if isinstance(screen, EngineScreen) and not chosen else None
        if layer is not None and isinstance(screen, EngineScreen) and is_open(self):
            event.prevent_default()
            self.dismiss()
            _jump(screen, layer)()


class Commands(Provider):
    """All commands and layers, from one provider: Textual queries several in no fixed order."""

    async def discover(self) -> Hits:
        """Offer all actions, those of the screen first, and the slowest layers."""
        for action in self._actions():
            yield DiscoveryHit(_title(action), self._runner(action), text=action.title, help=action.help)
        for command in self._system_commands():
            yield DiscoveryHit(Text(command.title), command.callback, text=command.title, help=command.help)
        screen = self.screen
        if isinstance(screen, EngineScreen):
            for layer in sorted(screen.engine.layers, key=lambda layer: -(layer.latency_ms or 0.0))[
                :_SLOWEST
            ]:
                title = _layer_title(layer)
                yield DiscoveryHit(title, _jump(screen, layer), text=title.plain, help=_layer_help(layer))

    async def search(self, query: str) -> Hits:
        """Match actions by Textual's matcher, layers by words."""
        matcher = self.matcher(query)
        for action in self._actions():
            score = matcher.match(_title(action).plain)
            # By whole words: the letters of many names occur in order in a long sentence.
            if all(word in action.help.casefold() for word in query.casefold().split()):
                score = max(score, matcher.match(action.help) * 0.8)
            if score > 0:
                yield Hit(score, _title(action), self._runner(action), text=action.title, help=action.help)
        for command in self._system_commands():
            score = matcher.match(command.title)
            if score > 0:
                yield Hit(score, Text(command.title), command.callback, text=command.title, help=command.help)
        for hit in self._views(query):
            yield hit
        for hit in self._layers(query):
            yield hit
        for hit in self._words(query):
            yield hit

    def _actions(self) -> list[Action]:
        places = getattr(self.screen, "help_places", [Place.EVERYWHERE])
        wanted = [place for place in places if place not in (Place.MOVE, Place.DIALOG)]
        actions = [action for place in wanted for action in actions_in(place)]
        return [action for action in actions if action.id != "app.palette" and not action.bound_by_widget]

    def _runner(self, action: Action) -> Callable[[], Awaitable[None]]:
        return partial(get_services(self.screen).run_where_focused, action.action)

    def _system_commands(self) -> list[SystemCommand]:
        return list(self.app.get_system_commands(self.screen))

    def _views(self, query: str) -> list[Hit]:
        """Sorts, groupings and charts whose title has all words of the query."""
        screen = self.screen
        words = query.casefold().replace(":", " ").split()
        if not isinstance(screen, EngineScreen) or len(query) < _LEAST_VIEW_QUERY:
            return []
        return [
            Hit(
                _VIEW_SCORE * min(1.0, len(query) / len(view.title)),
                Text(view.title),
                partial(screen.call_later, screen.show_view, view.tab, view.trail, view.choose),
                text=view.title,
                help=view.help,
            )
            for view in find_views()
            if all(word in view.title.casefold() for word in words)
        ]

    def _words(self, query: str) -> list[Hit]:
        """Return the words of TensorRT named in the query, with or without `explain`, and signs in names of layers."""
        from trex_tui.old.engine.layer_names import describe_layer_name
        from trex_tui.old.report.glossary.words import find_words
        from trex_tui.old.screens.explanation import open_words

        first, _, rest = query.strip().partition(" ")
        is_asked = first.casefold() == "explain" and bool(rest)
        word = rest if is_asked else query
        found = [(term.key, term.definition) for _, term in find_words(word)]
        if not found and (meaning := describe_layer_name(word)):
            found = [(printable(word), meaning)]
        score = 1.0 if is_asked else _WORD_SCORE
        return [
            Hit(score, title, partial(open_words, self.app, word), text=title.plain, help=meaning)
            for key, meaning in found
            for title in (Text(f"Explain: {shorten_middle(key, 60)}"),)
        ]

    def _layers(self, query: str) -> list[Hit]:
        """Return the layers that match the query as a filter, shorter names first.

        Textual's own matcher takes half a second on 20 000 names, and wants the words in order.
        """
        screen = self.screen
        if not isinstance(screen, EngineScreen):
            return []
        try:
            matching = sorted(
                filter_layers(screen.engine, query, is_typing=True), key=lambda layer: len(layer.name)
            )
        except FilterError:
            return []
        indexed = find_layer(screen, query)
        hits = [_index_hit(screen, indexed)] if indexed is not None else []
        return hits + [
            Hit(
                min(1.0, len(query) / max(1, len(layer.name))),
                _layer_title(layer),
                _jump(screen, layer),
                text=_layer_title(layer).plain,
                help=_layer_help(layer),
            )
            for layer in matching[:MOST_LAYERS]
        ]


class View(NamedTuple):
    """A sort, a grouping or a chart in the palette.

    Attributes:
        tab: Tab that shows it.
        title: `Latency: sort by Weights (weights_bytes)`.
        trail: Title in the header.
        help: Description.
        choose: Sets the pane of the tab.
    """

    tab: str
    title: str
    trail: str
    help: str
    choose: Callable[[EnginePane], object]


@lru_cache(maxsize=1)
def find_views() -> list[View]:
    """Return all sorts, groupings and charts."""
    from trex_tui.old.analysis.columns import ALL_COLUMNS
    from trex_tui.old.analysis.modules import Grouping
    from trex_tui.old.report.charts.catalogue import CHARTS
    from trex_tui.old.screens.charts import ChartsPane
    from trex_tui.old.screens.latency import LatencyPane
    from trex_tui.old.screens.layers import LayersPane
    from trex_tui.old.widgets.table_columns import describe_column

    def sort(key: str, pane: EnginePane) -> None:
        if isinstance(pane, LatencyPane):
            pane.sort_by(key)

    def group(grouping: Grouping, pane: EnginePane) -> None:
        if isinstance(pane, LayersPane):
            pane.group_by(grouping)

    def draw(chart: str, pane: EnginePane) -> None:
        if isinstance(pane, ChartsPane):
            pane.choose(chart)

    return [
        *(
            View("charts", f"Charts: {chart.title}", chart.title, chart.help, partial(draw, chart.id))
            for chart in CHARTS
        ),
        *(
            View(
                "layers",
                f"Layers: group {mode.value}",
                mode.value,
                "Group the tree of layers.",
                partial(group, mode),
            )
            for mode in Grouping
        ),
        *(
            View(
                "latency",
                f"Latency: sort by {describe_column(column)}",
                f"by {column.title}",
                column.description,
                partial(sort, column.name),
            )
            for column in ALL_COLUMNS
        ),
    ]


def find_layer(screen: EngineScreen, text: str) -> Layer | None:
    """Return the layer with this index; None if the text is no index."""
    digits = text.strip()
    is_index = digits.isascii() and digits.isdigit() and len(digits) < _MOST_DIGITS
    return screen.engine.layers[int(digits)] if is_index and int(digits) < len(screen.engine.layers) else None


def _index_hit(screen: EngineScreen, layer: Layer) -> Hit:
    """Return the entry of a layer by index, before layers with the digits in their names."""
    title = Text(f"Layer {layer.index}: ") + _layer_title(layer)
    return Hit(_INDEX_SCORE, title, _jump(screen, layer), text=title.plain, help=_layer_help(layer))


def _jump(screen: EngineScreen, layer: Layer) -> Callable[[], object]:
    """Go to a layer in the queue of the screen: the app also runs commands while the panes are replaced."""
    return partial(screen.call_later, screen.go_to, layer)


def _title(action: Action) -> Text:
    where = "" if action.place is Place.EVERYWHERE else f"{action.place.value}: "
    return Text.assemble(f"{where}{action.title}", "  ", (key_label(action.keys), "bold"))


def _layer_title(layer: Layer) -> Text:
    return Text(shorten_middle(printable(layer.name), 70))


def _layer_help(layer: Layer) -> str:
    from trex_tui.old.engine.layer_names import (
        describe_layer_name,  # the start of the app needs no glossary
    )

    text = f"layer {layer.index}: {layer.kind.value}, {format_ms(layer.latency_ms)} ms"
    meaning = describe_layer_name(layer.name, layer.layer_type, layer.parameter_type)
    return f"{text}. {meaning}" if meaning else text
