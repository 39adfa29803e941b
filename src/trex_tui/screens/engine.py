"""One engine: its header, its screens, and what they share — the current layer and the filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import ContentSwitcher

from trex_tui.analysis.columns import derived
from trex_tui.analysis.dataflow import whole_lanes
from trex_tui.analysis.filter import FilterError, filter_layers
from trex_tui.analysis.filter.selection import values_of
from trex_tui.crash_log import internal, note
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.views.layer_details import node_shares
from trex_tui.screens.build import BuildPane
from trex_tui.screens.build_job import BuildingScreen
from trex_tui.screens.charts import ChartsPane
from trex_tui.screens.compare import ComparePane
from trex_tui.screens.compare_job import ComparingPane, OtherOpened
from trex_tui.screens.latency import LatencyPane
from trex_tui.screens.layers import LayersPane
from trex_tui.screens.lint import LintPane
from trex_tui.screens.main_screen import TooSmall
from trex_tui.screens.memory import MemoryPane
from trex_tui.screens.navigation import Trail
from trex_tui.screens.overview import OverviewPane
from trex_tui.screens.pane import EnginePane, LayerChosen, LayerOpened, MarksChanged
from trex_tui.screens.reload import changes, corresponding
from trex_tui.screens.text_screens import NotesScreen
from trex_tui.text import plural, printable
from trex_tui.widgets.actions import TABS, Place, bindings_in
from trex_tui.widgets.chrome import EngineHeader, TabBar, TabChosen
from trex_tui.widgets.filter_bar import FilterBar, FilterChanged, FilterClosed
from trex_tui.widgets.layer_tree import MOST_LANES, MOST_LANES_NARROW

PANES: dict[str, type[EnginePane]] = {
    "overview": OverviewPane,
    "layers": LayersPane,
    "latency": LatencyPane,
    "charts": ChartsPane,
    "memory": MemoryPane,
    "lint": LintPane,
    "build": BuildPane,
    "compare": ComparePane,
}
"""By the identifier of `actions.TABS`."""


def warm(engine: Engine) -> None:
    """Compute what is kept of an engine: products and roofs, names to filter by, the dataflow, times by ONNX node.

    Half a second at 20 000 layers; meant for a thread, once the engine is on screen.
    """
    try:
        _warm(engine)
    except Exception as error:  # noqa: BLE001 - who wants one of these computes it again, and tells what is wrong
        note(error)


def _warm(engine: Engine) -> None:
    derived(engine)
    values = values_of(engine)
    _ = values.folded_names
    for column in ("kind", "precision", "latency_ms", "latency_pct"):
        values.counts(column)
    for most in (MOST_LANES, MOST_LANES_NARROW):
        whole_lanes(engine, most)
    node_shares(engine)


@dataclass
class EngineReplaced(Message):
    """The engine was read again."""

    engine: Engine


class EngineScreen(BuildingScreen):
    """An engine. The panes follow `current_layer` and `filter_text`; they post what a person does in them.

    Args:
        engine: What is shown.
        is_listed: Whether there is a list of engines, or an engine, to go back to.
        others: Engines to compare it with.
        layer: The first current layer; the slowest without one.
        tab: The first screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.ENGINE)

    # Neither is drawn by the screen itself: repainting it would be all of the terminal, for each `j`.
    current_layer: reactive[Layer | None] = reactive(None, repaint=False)
    filter_text: reactive[str] = reactive("", repaint=False)

    def __init__(
        self,
        engine: Engine,
        *,
        is_listed: bool = False,
        others: Sequence[Engine] = (),
        layer: Layer | None = None,
        tab: str = TABS[0].id,
    ) -> None:
        super().__init__()
        self.engine = engine
        self.is_listed = is_listed
        self._others, self._first_layer, self._first_tab = others, layer, tab
        self._matching: Sequence[Layer] = engine.layers
        self._refused: FilterError | None = None
        """Why what was typed last is not the filter."""
        self._behind: set[str] = set()
        """Panes that do not show what the filter left."""
        self._stand_in: Layer | None = None
        """Where the cursor stands because the filter hides the current layer; a person did not choose it."""

    def compose(self) -> ComposeResult:
        """Header, tabs, the screens on top of each other, filter line, footer."""
        yield EngineHeader(self.engine)
        yield TabBar({tab.id: tab.title for tab in TABS})
        with ContentSwitcher(initial=None, id="screens"):
            for tab in TABS:
                yield PANES[tab.id](self.engine, id=tab.id)
        yield FilterBar(self.engine)
        yield self.footer()
        yield TooSmall()

    def on_mount(self) -> None:
        """Start where the time goes, on the slowest layer."""
        timed = [layer for layer in self.engine.layers if layer.latency_ms is not None]
        slowest = max(timed, key=lambda layer: layer.latency_ms or 0.0, default=None)
        self.current_layer = self._first_layer or slowest or next(iter(self.engine.layers), None)
        self.query_one(ComparingPane).compare_with(self._others)
        self._show(self._first_tab)
        self.call_after_refresh(self.run_worker, partial(warm, self.engine), thread=True, group="warm")
        self.call_after_refresh(self.start_lint)

    @property
    def pane(self) -> EnginePane:
        """The pane on screen."""
        return self.query_one(f"#{self.query_one(ContentSwitcher).current}", EnginePane)

    @property
    def help_places(self) -> list[Place]:
        """Whose keys work now, the most special first."""
        special = next(tab.places for tab in TABS if tab.id == self.pane.id)
        return [*special, Place.MOVE, Place.ENGINE, Place.DIALOG, Place.EVERYWHERE]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc clears a filter or marks that are there, `q` goes back to a list that is there, `/` typed is text."""
        if action == "clear":
            return bool(self.filter_text or self._has_marks)
        if action == "back":
            return self.is_listed
        if action == "filter":
            return not self._is_typing
        return super().check_action(action, parameters)

    @property
    def matching(self) -> Sequence[Layer]:
        """The layers that the filter leaves."""
        return self._matching

    @property
    def _has_marks(self) -> bool:
        return self.is_mounted and any(pane.marked_layers for pane in self.query(EnginePane))

    @property
    def _is_typing(self) -> bool:
        return self.is_mounted and self.query_one(FilterBar).is_open

    def action_show(self, tab: str) -> None:
        """Show one of the screens, on the layer that is under the cursor of the one before."""
        # The messages that tell of the cursor may still be waiting behind this key.
        if self.pane.cursor_layer is not None:
            self._choose(self.pane.cursor_layer)
        self._show(tab)

    def _show(self, tab: str) -> None:
        self.query_one(ContentSwitcher).current = tab
        self.query_one(TabBar).active = tab
        self._bring_up_to_date()
        self._show_current_layer()
        self._focus_pane()

    def _focus_pane(self) -> None:
        # At once, not when the messages now waiting are done: the next key may be among them.
        self.set_focus(self.pane.main_part)

    @on(TabChosen)
    def _tab_chosen(self, event: TabChosen) -> None:
        self.action_show(event.tab)

    @on(LayerChosen)
    def _layer_chosen(self, event: LayerChosen) -> None:
        if event.layer is not self._stand_in and self._has(event.layer):
            self._choose(event.layer)

    @on(LayerOpened)
    def _layer_opened(self, event: LayerOpened) -> None:
        if not self._has(event.layer):
            return
        self._choose(event.layer)
        self._show("layers")

    @property
    def layer_here(self) -> Layer | None:
        """The layer under the cursor, or the current one where the screen has no cursor; None on a group."""
        return None if self.pane.is_on_group else self.pane.cursor_layer or self.current_layer

    def stand_on(self, layer: Layer) -> None:
        """Make a layer the current one, wherever it is; a filter that hides it is cleared."""
        self._choose(layer)
        if all(one is not layer for one in self._matching):
            self.filter_text = ""
        self._show_current_layer()

    def _has(self, layer: Layer) -> bool:
        """Whether a layer is of this engine. A message of a pane that is gone may name one of the engine before."""
        layers = self.engine.layers
        return layer.index < len(layers) and layers[layer.index] is layer

    def _choose(self, layer: Layer) -> None:
        self.current_layer, self._stand_in = layer, None

    def go_to(self, layer: Layer) -> None:
        """Show a layer among its neighbours, wherever it is; a filter that hides it is cleared."""
        self.jump(layer)
        self._show("layers")

    # Filter

    def action_filter(self) -> None:
        """Open the filter line."""
        bar = self.query_one(FilterBar)
        bar.open(self._refused.text if self._refused else self.filter_text)
        bar.error = self._refused
        self.refresh_bindings()

    def action_clear(self) -> None:
        """Clear the filter; the marks where there is none."""
        if self.filter_text:
            self.filter_text = ""
            return
        for pane in self.query(EnginePane):
            pane.clear_marks()

    @on(MarksChanged)
    def _marks_changed(self) -> None:
        self.refresh_bindings()

    @on(FilterChanged)
    def _filter_changed(self, event: FilterChanged) -> None:
        self.filter_text = event.text
        bar = self.query_one(FilterBar)
        bar.error = self._refused
        if not bar.is_open:
            self._tell_refusal()

    @on(FilterClosed)
    def _filter_closed(self, event: FilterClosed) -> None:
        if not event.keep:
            self.filter_text = ""
        self._tell_refusal()
        if self.focused is None:
            self._focus_pane()
        self.refresh_bindings()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Who goes elsewhere, by Tab or with the mouse, has done with typing."""
        line = self.query_one(FilterBar)
        if line.is_open and line not in event.widget.ancestors:
            line.close()
            self.refresh_bindings()

    def _tell_refusal(self) -> None:
        """Say, to a person who no longer sees the filter line, why the filter is not what they typed."""
        if self._refused is not None:
            self.notify(
                printable(str(self._refused)),
                title="The filter was not changed",
                severity="warning",
                markup=False,
            )

    def validate_filter_text(self, text: str) -> str:
        """Find the matching layers; a text that is no expression leaves the last one that was."""
        try:
            self._matching = filter_layers(self.engine, text)
        except FilterError as error:
            self._refused = error
            return self.filter_text
        except Exception as error:  # noqa: BLE001 - it costs this expression
            self._refused = FilterError(text, 0, internal(error))
            return self.filter_text
        self._refused = None
        return text

    def watch_filter_text(self, text: str) -> None:
        """Show the matching layers everywhere, and say how many they are."""
        if not self.is_mounted:
            return
        self._behind = {pane.id or "" for pane in self.query(EnginePane)}
        self._bring_up_to_date()
        remark = f"/{text.strip()}  {len(self._matching)} of {plural(len(self.engine.layers), 'layer')}"
        self.query_one(TabBar).remark = remark if text.strip() else ""
        self.refresh_bindings()

    def _bring_up_to_date(self) -> None:
        """Let the pane on screen follow the filter. The others follow when they are shown: a keystroke must not wait for
        what nobody sees."""
        if self.pane.id in self._behind:
            self._behind.discard(self.pane.id)
            was_on_group = self.pane.is_on_group
            self.pane.show_layers(self._matching, is_filtered=bool(self.filter_text.strip()))
            if not (was_on_group and self.pane.is_on_group):
                self._show_current_layer()

    def _show_current_layer(self) -> None:
        self.pane.show_layer(self.current_layer)
        layer = self.pane.cursor_layer
        self._stand_in = None if layer is self.current_layer else layer

    @on(OtherOpened)
    def _other_opened(self, event: OtherOpened) -> None:
        """Show a layer of an engine that this one is compared with: on the screen below if it is that engine's."""
        event.stop()
        below = self.app.screen_stack[-2]
        if isinstance(below, EngineScreen) and below.engine is event.engine:
            self.app.pop_screen()
            below.go_to(event.layer)
            return
        self.open_other(event.engine, others=event.others, layer=event.layer, tab="layers")

    def open_other(
        self, engine: Engine, *, others: Sequence[Engine], tab: str, layer: Layer | None = None
    ) -> None:
        """Show another engine on a screen over this one."""
        self.app.push_screen(EngineScreen(engine, is_listed=True, others=others, layer=layer, tab=tab))

    def compare_also(self, engine: Engine) -> None:
        """Compare with one more engine, and show that."""
        self.query_one(ComparingPane).take(engine)
        self._show("compare")

    def action_capture(self) -> None:
        """Measure the engine once more, after asking."""
        from trex_tui.screens.capture import Capturer

        Capturer(self._trex_app, self).ask()

    def replace_other(self, old: Engine, new: Engine) -> None:
        """Another engine was read again, on a screen of its own."""
        self.query_one(ComparingPane).replace_other(old, new)

    def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002 - as in the class above, which Textual calls too
        """Somebody looks again."""
        if self.is_mounted and self.query_one(ContentSwitcher).current == "compare":
            self.query_one(ComparingPane).start_if_due()

    def action_notes(self) -> None:
        """Show what was wrong with the files."""
        self.app.push_screen(NotesScreen(self.engine))

    def action_back(self) -> None:
        """Go back to the list of engines."""
        self.app.pop_screen()

    def replace_engine(self, engine: Engine) -> None:
        """Show the engine as it is on disk now; tab, filter, order, marks and current layer stay. Say what changed."""
        # In the queue of the screen: it may not be mounted yet, and nothing else may look at it half composed.
        self.post_message(EngineReplaced(engine))

    @on(EngineReplaced)
    async def _show_engine(self, event: EngineReplaced) -> None:
        engine = event.engine
        old, tab, text = self.engine, self.pane.id or "", self.filter_text
        states = {pane.id: pane.view_state() for pane in self.query(EnginePane)}
        layer = corresponding(old, engine, self.pane.cursor_layer or self.current_layer)
        self.engine, self._matching = engine, engine.layers
        self.set_reactive(EngineScreen.current_layer, layer or next(iter(engine.layers), None))
        self._stand_in = None
        self.trail = Trail()
        await self.recompose()
        if self not in self.app.screen_stack:
            return  # A person left meanwhile.
        for pane in self.query(EnginePane):
            if states[pane.id] is not None:
                pane.restore_view(states[pane.id], old)
        self.query_one(ContentSwitcher).current = tab
        self.validate_filter_text(text)
        self.watch_filter_text(text)
        self._show(tab)
        self.lint = None
        self.start_lint()
        self.read_build_again()
        self.notify(changes(old, engine), markup=False)
