"""One engine: its header, its screens, and what they share — the current layer and the filter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.command import Provider
from textual.reactive import reactive
from textual.screen import Screen
from textual.widgets import ContentSwitcher, Footer

from trex_tui.actions import Place
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.filtering import filter_layers
from trex_tui.screens.latency import LatencyPane
from trex_tui.screens.layers import LayersPane
from trex_tui.screens.notes import NotesScreen
from trex_tui.screens.pane import EnginePane, LayerChosen, LayerOpened
from trex_tui.text import plural
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.filter_bar import FilterBar, FilterChanged, FilterClosed
from trex_tui.widgets.header import EngineHeader
from trex_tui.widgets.tab_bar import TabBar, TabChosen

TABS = {"layers": "Layers", "latency": "Latency"}
BREAKPOINTS = [(0, "-tiny"), (60, "-narrow"), (80, "-medium"), (120, "-wide")]


def _layer_commands() -> type[Provider]:
    from trex_tui.screens.palette import LayerCommands  # it knows this screen

    return LayerCommands


class EngineScreen(Screen[None]):
    """An engine. The panes follow `current_layer` and `filter_text`; they post what a person does in them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.ENGINE)
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {_layer_commands}
    PLACES: ClassVar[dict[str, Place]] = {"layers": Place.LAYERS, "latency": Place.LATENCY}

    current_layer: reactive[Layer | None] = reactive(None)
    filter_text: reactive[str] = reactive("")

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.engine = engine
        self._matching: Sequence[Layer] = engine.layers
        self._behind: set[str] = set()
        """Panes that do not show what the filter left."""

    def compose(self) -> ComposeResult:
        """Header, tabs, the screens on top of each other, filter line, footer."""
        yield EngineHeader(self.engine)
        yield TabBar(TABS)
        with ContentSwitcher(initial=None, id="screens"):
            yield LayersPane(self.engine, id="layers")
            yield LatencyPane(self.engine, id="latency")
        yield FilterBar()
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Start where the time goes, on the slowest layer."""
        timed = [layer for layer in self.engine.layers if layer.latency_ms is not None]
        slowest = max(timed, key=lambda layer: layer.latency_ms or 0.0, default=None)
        self.current_layer = slowest or next(iter(self.engine.layers), None)
        self.action_show("latency" if self.engine.has_profile else "layers")

    @property
    def pane(self) -> EnginePane:
        """The pane on screen."""
        return self.query_one(f"#{self.query_one(ContentSwitcher).current}", EnginePane)

    @property
    def help_places(self) -> list[Place]:
        """Whose keys work now, the most special first."""
        return [self.PLACES[self.pane.id or ""], Place.MOVE, Place.ENGINE, Place.EVERYWHERE]

    def action_show(self, tab: str) -> None:
        """Show one of the screens, on the current layer."""
        self.query_one(ContentSwitcher).current = tab
        self.query_one(TabBar).active = tab
        self._bring_up_to_date()
        self.pane.show_layer(self.current_layer)
        self.pane.take_focus()

    @on(TabChosen)
    def _tab_chosen(self, event: TabChosen) -> None:
        self.action_show(event.tab)

    @on(LayerChosen)
    def _layer_chosen(self, event: LayerChosen) -> None:
        self.current_layer = event.layer

    @on(LayerOpened)
    def _layer_opened(self, event: LayerOpened) -> None:
        self.current_layer = event.layer
        self.action_show("layers")

    # Filter

    def action_filter(self) -> None:
        """Open the filter line."""
        self.query_one(FilterBar).open(self.filter_text)

    def action_clear(self) -> None:
        """Clear the filter."""
        self.filter_text = ""

    @on(FilterChanged)
    def _filter_changed(self, event: FilterChanged) -> None:
        self.filter_text = event.text

    @on(FilterClosed)
    def _filter_closed(self, event: FilterClosed) -> None:
        if not event.keep:
            self.filter_text = ""
        self.query_one(FilterBar).close()
        self.pane.take_focus()

    def watch_filter_text(self, text: str) -> None:
        """Show the matching layers everywhere, and say how many they are."""
        if not self.is_mounted:
            return
        self._matching = filter_layers(self.engine.layers, text)
        self._behind = {pane.id or "" for pane in self.query(EnginePane)}
        self._bring_up_to_date()
        remark = f"/{text}  {len(self._matching)} of {plural(len(self.engine.layers), 'layer')}"
        self.query_one(TabBar).remark = remark if text.strip() else ""

    def _bring_up_to_date(self) -> None:
        """Let the pane on screen follow the filter. The others follow when they are shown: a keystroke must not wait for
        what nobody sees."""
        if self.pane.id in self._behind:
            self._behind.discard(self.pane.id)
            self.pane.show_layers(self._matching, is_filtered=bool(self.filter_text.strip()))

    def action_notes(self) -> None:
        """Show what was wrong with the files."""
        self.app.push_screen(NotesScreen(self.engine))
