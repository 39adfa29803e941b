"""Screen of an engine: header, tabs, and the shared current layer and filter."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import ContentSwitcher

from trex_tui.old.analysis.columns import derived
from trex_tui.old.analysis.dataflow import whole_lanes
from trex_tui.old.analysis.filter import FilterError, complete, describe_no_match, filter_layers, join_filters
from trex_tui.old.analysis.filter.selection import engine_values
from trex_tui.old.analysis.short_names import short_names
from trex_tui.old.analysis.structure import find_by_time
from trex_tui.old.crash_log import internal, note
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.lint.model import LintResult
from trex_tui.old.report.views.layer_details import node_shares
from trex_tui.old.report.views.lint import tab_badge
from trex_tui.old.report.views.runs import list_run_choices
from trex_tui.old.screens.compare_job import CompareJob
from trex_tui.old.screens.dialogs import ChooseScreen, ColumnsScreen, bring_to_top
from trex_tui.old.screens.explanation import ExplainScreen
from trex_tui.old.screens.history import History, Visit
from trex_tui.old.screens.jobs import BuildAsked, BuildJob, LintJob, ModelJob, SuppressionAsked
from trex_tui.old.screens.layer_actions import choose_neighbour, copy_json, copy_names
from trex_tui.old.screens.overview import OverviewPane
from trex_tui.old.screens.pane import (
    EnginePane,
    FindingOpened,
    LayerChosen,
    LayerJumped,
    LayerOpened,
    LayersFiltered,
    MarksChanged,
    NeighboursAsked,
    OtherOpened,
    ShowsBuild,
    ShowsLint,
)
from trex_tui.old.screens.reload import changes, corresponding
from trex_tui.old.screens.search import ListSearch
from trex_tui.old.screens.services import EngineHolder, ReloadAsked
from trex_tui.old.screens.text_screens import NotesScreen
from trex_tui.old.screens.textual_caches import forget_widgets
from trex_tui.old.text import plural, printable, shorten_middle
from trex_tui.old.widgets.actions import TABS, Place, bindings_in
from trex_tui.old.widgets.chrome import EngineHeader, MainScreen, TabBar, TabChosen, TooSmall
from trex_tui.old.widgets.filter_bar import FilterBar, FilterChanged, FilterClosed
from trex_tui.old.widgets.search_bar import SearchBar, SearchChanged, SearchClosed

if TYPE_CHECKING:
    from trex_tui.old.screens.latency import LatencyPane


def import_pane(tab: str) -> Callable[..., EnginePane]:
    """Import the class of a pane: all of them take 50 ms, and the first frame of an engine shows one.

    Args:
        tab: Its identifier in `actions.TABS`. That of the comparison takes its job as well.
    """
    if tab == "compare":
        from trex_tui.old.screens.compare import ComparePane

        return ComparePane
    if tab == "layers":
        from trex_tui.old.screens.layers import LayersPane

        return LayersPane
    if tab == "latency":
        from trex_tui.old.screens.latency import LatencyPane

        return LatencyPane
    if tab == "charts":
        from trex_tui.old.screens.charts import ChartsPane

        return ChartsPane
    if tab == "memory":
        from trex_tui.old.screens.memory import MemoryPane

        return MemoryPane
    if tab == "lint":
        from trex_tui.old.screens.lint import LintPane

        return LintPane
    if tab == "build":
        from trex_tui.old.screens.build import BuildPane

        return BuildPane
    return OverviewPane


_MOST_NAME = 30
"""Characters of an engine's name in a window title."""


def warm(engine: Engine) -> None:
    """Compute what is kept of an engine: products and roofs, names to filter by, the dataflow, times by ONNX node.

    Imports all panes first, so that no first visit waits for imports.
    Half a second at 20 000 layers; meant for a thread, once the engine is on screen.
    """
    try:
        _warm(engine)
    except Exception as error:  # noqa: BLE001 - who wants one of these computes it again, and tells what is wrong
        note(error)


def _warm(engine: Engine) -> None:
    for tab in TABS:
        import_pane(tab.id)
    # Imported with their panes, as above.
    from trex_tui.old.report.views.memory import main_sizes, memory_figures
    from trex_tui.old.widgets.layer_tree import MOST_LANES, MOST_LANES_NARROW

    derived(engine)
    values = engine_values(engine)
    _ = values.folded_names
    for column in ("kind", "precision", "latency_ms", "latency_pct"):
        values.counts(column)
    short_names(engine).prepare()
    main_sizes(engine)
    memory_figures(engine)
    for most in (MOST_LANES, MOST_LANES_NARROW):
        whole_lanes(engine, most)
    node_shares(engine)


@dataclass
class EngineReplaced(Message):
    """The engine was reloaded."""

    engine: Engine


class LayerFilter:
    """Result of a filter.

    Attributes:
        layers: The matching layers.
        refused: Error in the last typed text; None if it is valid.
        note: Reason why no layer matches; empty if any does.
    """

    def __init__(self, engine: Engine) -> None:
        self.layers: Sequence[Layer] = engine.layers
        self.refused: FilterError | None = None
        self.note = ""
        self._engine = engine

    def apply(self, text: str) -> bool:
        """Find the matching layers; False, and those before, if the text is no expression."""
        self.refused, self.note = None, ""
        try:
            self.layers = filter_layers(self._engine, text, is_typing=True)
            if not self.layers:
                self.note = describe_no_match(self._engine, text, is_typing=True)
        except FilterError as error:
            self.refused = error
        except Exception as error:  # noqa: BLE001 - it costs this expression
            self.refused = FilterError(text, 0, internal(error))
        return self.refused is None


class EngineScreen(MainScreen, EngineHolder):
    """Tabs of an engine. Panes follow `current_layer` and `filter_text`, and post user actions.

    Args:
        engine: What is shown.
        is_listed: Whether there is a list of engines, or an engine, to go back to.
        others: Engines to compare it with.
        layer: The first current layer; the slowest without one.
        tab: The first screen.
        is_jump: Whether a jump from another engine opened it: to go back leads there.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.ENGINE)
    AUTO_FOCUS = (
        ""  # The first widget would be styled and painted as focused, before the main part of the pane is.
    )

    # Not reactive on the screen: repainting the screen would redraw the whole terminal for each `j`.
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
        is_jump: bool = False,
    ) -> None:
        super().__init__()
        self.engine = engine
        self.is_listed, self.is_jump = is_listed, is_jump
        self.history = History()
        self.search = ListSearch()
        self.lint_job = LintJob(self, self._show_lint)
        self.build_job = BuildJob(self, self._show_build)
        self.model_job = ModelJob(self)
        self.compare_job = CompareJob(self, engine)
        self.compare_job.compare_with(others)
        self._first_layer = layer
        self._visited = [tab]
        """Tabs whose panes are mounted, at the first visit: all eight would double the time of the start."""
        self._mounting = asyncio.Lock()
        self._filter = LayerFilter(engine)
        self._behind: set[str] = set()
        """Panes that do not show the filtered layers yet."""
        self._stand_in: Layer | None = None
        """Layer under the cursor while the filter hides the current layer; not chosen by the user."""
        self._is_chosen = layer is not None
        """True if the user chose the current layer; otherwise it is the slowest, the default."""
        self._switcher: ContentSwitcher | None = None
        self._lines: tuple[FilterBar | SearchBar, ...] = ()
        """The lines of filter and search. Asked for by every key, like the panes: a query looks at all widgets."""
        self._reloads = 0
        """Reloaded engines that are not shown yet."""
        self.asks_for_run = False
        """True if the screen opens with the choice of a run."""

    def compose(self) -> ComposeResult:
        yield EngineHeader(self.engine)
        yield TabBar({tab.id: tab.title for tab in TABS})
        self._switcher = ContentSwitcher(initial=None, id="screens")
        with self._switcher:
            for tab in self._visited:
                yield self._make_pane(tab)
        self._lines = FilterBar(partial(complete, self.engine)), SearchBar()
        yield from self._lines
        yield self.footer()
        yield TooSmall()

    def _make_pane(self, tab: str) -> EnginePane:
        job = (self.compare_job,) if tab == "compare" else ()
        return import_pane(tab)(self.engine, *job, id=tab)

    async def on_mount(self) -> None:
        """Select the slowest layer."""
        if self not in self.app.screen_stack:
            return  # A screen that is removed while it mounts has no panes.
        timed = [layer for layer in self.engine.layers if layer.latency_ms is not None]
        slowest = max(timed, key=lambda layer: layer.latency_ms or 0.0, default=None)
        self.current_layer = self._first_layer or slowest or next(iter(self.engine.layers), None)
        if not await self._show(self._visited[0]):
            return
        self.call_after_refresh(self.run_worker, partial(warm, self.engine), thread=True, group="warm")
        self.call_after_refresh(self.lint_job.start, self.engine)
        if self.asks_for_run:
            self.action_choose_run()
        else:
            self.call_after_refresh(self._find_models)

    def on_screen_resume(self, event: events.ScreenResume) -> None:  # noqa: ARG002 - as in the class above, which Textual calls too
        if self.is_mounted and self.query_one(ContentSwitcher).current == "compare":
            self.compare_job.start_if_due()

    @property
    def _panes(self) -> list[EnginePane]:
        """The mounted panes."""
        children = () if self._switcher is None else self._switcher.children
        return [pane for pane in children if isinstance(pane, EnginePane)]

    @property
    def pane(self) -> EnginePane:
        return self.query_one(f"#{self.query_one(ContentSwitcher).current}", EnginePane)

    @property
    def matching(self) -> Sequence[Layer]:
        return self._filter.layers

    @property
    def is_rebuilt(self) -> bool:
        """Return whether the panes are being replaced, or will be: keys wait meanwhile."""
        return self._reloads > 0

    @property
    def help_places(self) -> list[Place]:
        """Places whose keys are active, the most specific first."""
        special = next(tab.places for tab in TABS if tab.id == self.pane.id)
        return [*special, Place.MOVE, Place.ENGINE, Place.DIALOG, Place.EVERYWHERE]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc needs a filter or marks, `q` a screen below; while typing, `/` is text."""
        if self.is_rebuilt:
            return False
        if action == "clear":
            return bool(
                self.search.is_shown
                or self.filter_text
                or self._marking
                or self.history.has_way_back
                or self.is_jump
            )
        if action == "back":
            return self.is_listed
        if action == "choose_run":
            return bool(self.engine.runs) or self.engine.optimization_profiles > 1
        if action == "move_divider":
            return any(pane.display and pane.has_divider for pane in self._panes)
        if action in ("filter", "search"):
            return not any(line.is_open for line in self._lines)
        return super().check_action(action, parameters)

    # Tabs

    async def action_show(self, tab: str) -> None:
        """Show a tab, with the layer under the cursor selected."""
        # Messages about the cursor may still be queued after this key.
        layer = self.pane.cursor_layer
        if layer is not None and (self.pane.has_layer_rows or layer is not self._stand_in):
            self._choose(layer)
        await self._show(tab)

    async def _show(self, tab: str) -> bool:
        """Show a tab; False if the screen was removed meanwhile."""
        async with self._mounting:
            if tab not in self._visited:
                await self._mount_pane(tab)
        if not self.query(f"#{tab}"):
            return False
        if self.query_one(ContentSwitcher).current != tab:
            self._end_search()
        self.query_one(ContentSwitcher).current = tab
        self.query_one(TabBar).active = tab
        self._bring_up_to_date()
        self._show_current_layer()
        self._focus_pane()
        self._show_trail()
        return True

    async def _mount_pane(self, tab: str) -> None:
        self._visited.append(tab)
        pane = self._make_pane(tab)
        pane.display = False
        await self.query_one(ContentSwitcher).mount(pane)
        if isinstance(pane, ShowsLint):
            pane.show_lint(self.lint_job)
        if isinstance(pane, ShowsBuild):
            pane.show_build(self.build_job)
        if self.filter_text:
            self._behind.add(tab)

    def _focus_pane(self) -> None:
        # At once, not after the queued messages: the next key may be among them.
        self.set_focus(self.pane.main_part)

    def get_focusable_widget_at(self, x: int, y: int) -> Widget | None:
        """Keep the focus when the mouse drags a divider."""
        is_on_divider = self.is_mounted and not self.is_rebuilt and self.pane.is_on_divider(x, y)
        return None if is_on_divider else super().get_focusable_widget_at(x, y)

    def action_move_divider(self, step: int) -> None:
        self.pane.move_divider(step)

    @on(TabChosen)
    async def _tab_chosen(self, event: TabChosen) -> None:
        await self.action_show(event.tab)

    # Current layer

    @property
    def layer_here(self) -> Layer | None:
        """The layer under the cursor, else the current one; None on a group."""
        return None if self.pane.is_on_group else self.pane.cursor_layer or self.current_layer

    @on(LayerChosen)
    def _layer_chosen(self, event: LayerChosen) -> None:
        if event.layer is not self._stand_in and self._has(event.layer):
            self._choose(event.layer)

    @on(LayerOpened)
    async def _layer_opened(self, event: LayerOpened) -> None:
        await self.go_to(event.layer)

    def _has(self, layer: Layer) -> bool:
        """Return whether a layer belongs to this engine: messages of removed panes may name a layer of the previous one."""
        layers = self.engine.layers
        return layer.index < len(layers) and layers[layer.index] is layer

    def _choose(self, layer: Layer) -> None:
        self._is_chosen |= layer is not self.current_layer
        self.current_layer, self._stand_in = layer, None

    def stand_on(self, layer: Layer) -> None:
        """Select a layer; clear a filter that hides it."""
        self._choose(layer)
        if all(matching is not layer for matching in self.matching):
            self.filter_text = ""
        self._show_current_layer()

    def jump(self, layer: Layer, tab: str | None = None) -> None:
        """Select a layer to show on `tab`, and record the jump."""
        is_shown = any(matching is layer for matching in self.matching)
        filter_text = self.filter_text if is_shown else ""
        self.history.leave(self._visit, Visit(tab or self._tab, layer, filter_text, str(layer.index)))
        self.stand_on(layer)
        self._show_trail()

    @property
    def _tab(self) -> str:
        return self.pane.id or ""

    @property
    def _visit(self) -> Visit:
        """The visible pane."""
        pane = self.pane
        layer = self.layer_here
        if layer is None or (layer is self._stand_in and not pane.has_layer_rows):
            layer = self.current_layer
        return Visit(self._tab, layer, self.filter_text, place=pane.place())

    def _show_trail(self) -> None:
        self.query_one(EngineHeader).trail = self.history.format_trail(self._tab)

    async def go_to(self, layer: Layer) -> None:
        """Select a layer and show it in the tree; clear a filter that hides it. Ignore layers of a replaced engine."""
        if self._has(layer):
            self.jump(layer, "layers")
            await self._show("layers")

    async def show_view(self, tab: str, title: str, choose: Callable[[EnginePane], object]) -> None:
        """Show a tab prepared by `choose`, as a jump with a title in the header."""
        self.history.leave(self._visit, Visit(tab, self.current_layer, self.filter_text, title))
        if await self._show(tab):
            choose(self.pane)

    @on(LayersFiltered)
    async def _layers_filtered(self, event: LayersFiltered) -> None:
        """Show the layers that match a term added to the filter."""
        text = join_filters(self.filter_text, event.filter_text)
        title = event.title or event.filter_text.replace(":", " ", 1)
        self.history.leave(self._visit, Visit(event.tab, self.current_layer, text, title))
        self.filter_text = text
        await self._show(event.tab)

    @on(FindingOpened)
    async def _finding_opened(self, event: FindingOpened) -> None:
        """Show a finding on Lint; the current layer becomes one of its layers."""
        judged, current = event.judged, self.current_layer
        here = self._visit
        if judged.layers and (current is None or current.index not in judged.layers):
            self.stand_on(self.engine.layers[judged.layers[0]])
        self.history.leave(here, Visit("lint", self.current_layer, self.filter_text, judged.rule.id))
        if await self._show("lint"):
            from trex_tui.old.screens.lint import LintPane

            self.query_one(LintPane).show_finding(judged, self.current_layer)

    @on(LayerJumped)
    def _layer_jumped(self, event: LayerJumped) -> None:
        if self._has(event.layer):
            self.jump(event.layer)

    @on(NeighboursAsked)
    def _neighbours_asked(self, event: NeighboursAsked) -> None:
        if self._has(event.layer):
            choose_neighbour(self, self.engine, event.layer, self.jump, outgoing=event.outgoing)

    def action_walk(self, outgoing: bool) -> None:
        """Select a consumer or producer of the layer."""
        layer = self.layer_here
        if layer is None:
            self.notify("Select a layer first.", markup=False)
        else:
            choose_neighbour(self, self.engine, layer, self.jump, outgoing=outgoing)

    def action_producer(self) -> None:
        self.action_walk(outgoing=False)

    def action_consumer(self) -> None:
        self.action_walk(outgoing=True)

    def action_step_by_time(self, step: int) -> None:
        """Select the next layer by time, or the previous one, among those that match the filter."""
        here = self.layer_here or self.current_layer
        layer = find_by_time(self.matching, here, step)
        if layer is None:
            words = (
                "No layer times." if here is None or here.latency_ms is None else "No further layer by time."
            )
            self.notify(words, markup=False)
        else:
            self.stand_on(layer)

    async def action_trail_back(self) -> None:
        visit = self.history.back(self._visit)
        if visit is None and self.is_jump:
            self.action_back()
        else:
            await self._follow(visit, "History is empty.")

    async def action_trail_forward(self) -> None:
        await self._follow(self.history.forward(self._visit), "No forward history.")

    async def _follow(self, visit: Visit | None, otherwise: str) -> None:
        if visit is None:
            self.notify(otherwise, markup=False)
            return
        self.filter_text = visit.filter_text
        if visit.layer is not None:
            self._choose(visit.layer)
        if visit.tab == self._tab:  # The focus stays where it is: perhaps on the neighbourhood.
            self._show_current_layer()
            self._show_trail()
        elif not await self._show(visit.tab):
            return
        self.pane.return_to(visit.place)
        self.refresh_bindings()

    # Filter

    def action_filter(self) -> None:
        bar, refused = self.query_one(FilterBar), self._filter.refused
        bar.open(refused.text if refused else self.filter_text)
        bar.error, bar.note = refused, self._filter.note
        self.refresh_bindings()

    async def action_clear(self) -> None:
        """End the search; without one clear the filter, unless a jump brought it; then the marks; then go back."""
        if self.search.is_shown:
            self._end_search()
        elif self.filter_text and not self.history.has_led_to(self.filter_text):
            self.filter_text = ""
        elif self._marking:
            self._marking[0].clear_marks()
        else:
            await self.action_trail_back()

    @property
    def _marking(self) -> list[LatencyPane]:
        if "latency" not in self._visited:
            return []
        from trex_tui.old.screens.latency import LatencyPane

        return [pane for pane in self._panes if isinstance(pane, LatencyPane) and pane.marked_layers]

    @on(MarksChanged)
    def _marks_changed(self) -> None:
        self.refresh_bindings()

    @on(FilterChanged)
    def _filter_changed(self, event: FilterChanged) -> None:
        self.filter_text = event.text
        bar = self.query_one(FilterBar)
        bar.error, bar.note = self._filter.refused, self._filter.note
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

    def on_descendant_focus(self) -> None:
        """Close filter and search line when the focus moves elsewhere."""
        # Not by the widget of the message: a key may have opened the line since.
        for line in self._lines:
            if line.is_open and self.focused is not None and line not in self.focused.ancestors:
                line.close()
                self.refresh_bindings()

    def _tell_refusal(self) -> None:
        """Notify of a filter error once the filter line is closed."""
        refused = self._filter.refused
        if refused is not None:
            words = printable(str(refused))
            self.notify(words, title="Filter unchanged", severity="warning", markup=False)

    def validate_filter_text(self, text: str) -> str:
        """Apply the filter; keep the previous one if the text is invalid."""
        return text if self._filter.apply(text) else self.filter_text

    def watch_filter_text(self) -> None:
        """Show the matching layers, and their number."""
        if not self.is_mounted:
            return
        self._behind = {pane.id or "" for pane in self._panes}
        self._end_search()
        self._bring_up_to_date()
        self._show_remark()
        self.refresh_bindings()

    def on_resize(self) -> None:
        if self.is_mounted and not self.is_rebuilt:
            self.call_after_refresh(self._show_remark)

    def _show_remark(self) -> None:
        """Show filter, number of layers and search beside the tabs, or in the header if they do not fit."""
        text, count = self.filter_text.strip(), plural(len(self.engine.layers), "layer")
        remark = f"/{text}  {len(self.matching)} of {count}" if text else ""
        if self.search.is_shown:
            remark = f"{remark} · {self.search.remark}" if remark else self.search.remark
        for bar, header in zip(self.query(TabBar), self.query(EngineHeader), strict=True):
            is_beside = bar.has_room_for(remark)
            bar.remark = remark if is_beside else ""
            header.remark = "" if is_beside else remark

    def _bring_up_to_date(self) -> None:
        """Let the pane on screen follow the filter. The others follow when they are shown: a keystroke must not wait for
        hidden panes."""
        if self.pane.id in self._behind:
            self._behind.discard(self.pane.id)
            was_on_group = self.pane.is_on_group
            self.pane.show_layers(self.matching, filter_text=self.filter_text.strip())
            if not (was_on_group and self.pane.is_on_group):
                self._show_current_layer()

    def _show_current_layer(self) -> None:
        is_wanted = self._is_chosen or self.pane.begins_at_slowest
        self.pane.show_layer(self.current_layer if is_wanted else None)
        layer = self.pane.cursor_layer
        self._stand_in = None if layer is self.current_layer else layer

    # Search

    def action_search(self) -> None:
        table = self.pane.searched_table
        if table is None:
            self.notify("No list to search here.", markup=False)
            return
        self.search.begin(table)
        self.query_one(SearchBar).open()
        self.refresh_bindings()

    @on(SearchChanged)
    def _search_changed(self, event: SearchChanged) -> None:
        bar = self.query_one(SearchBar)
        if bar.is_open:
            self.search.look_for(event.text)
            bar.tell(self.search.result if event.text.strip() else "")

    @on(SearchClosed)
    def _search_closed(self, event: SearchClosed) -> None:
        if event.keep:
            self.search.look_for(event.text)
        else:
            self.search.cancel()
        if self.focused is None:
            self._focus_pane()
        self._tell_search()

    def action_next_match(self, step: int) -> None:
        """Repeat the search in the list in view."""
        table = self.pane.searched_table
        if table is None or not self.search.text.strip():
            self.notify(
                "No list to search here." if table is None else "No search yet (f searches).", markup=False
            )
            return
        self.search.go(table, step)
        self._tell_search()

    def _tell_search(self) -> None:
        search = self.search
        if search.is_shown and not search.count:
            self.notify(f"No match: {printable(search.text)}", severity="warning", markup=False)
            search.is_shown = False
        self.pane.is_searched = search.is_shown
        self._show_remark()
        self.refresh_bindings()

    def _end_search(self) -> None:
        if self.search.is_shown:
            self.search.is_shown = self.pane.is_searched = False
            self._show_remark()
            self.refresh_bindings()

    # Lint and build

    @property
    def lint(self) -> LintResult | None:
        return self.lint_job.result

    def _show_lint(self) -> None:
        for pane in self._panes:
            if isinstance(pane, ShowsLint):
                pane.show_lint(self.lint_job)
        if self.query_one(ContentSwitcher).current == "lint":
            self._show_current_layer()  # The first finding, now under the cursor, may be about another.
        if self.lint is not None:
            self.query_one(TabBar).badge("lint", tab_badge(self.lint))

    @on(SuppressionAsked)
    def _suppression_asked(self, event: SuppressionAsked) -> None:
        event.stop()
        self.lint_job.leave_out(event.rule, event.layers)

    def action_write_suppressions(self) -> None:
        self.lint_job.write_suppressions()

    @on(BuildAsked)
    def _build_asked(self, event: BuildAsked) -> None:
        event.stop()
        self.build_job.ask(self.engine)

    def _show_build(self) -> None:
        for pane in self._panes:
            if isinstance(pane, ShowsBuild):
                pane.show_build(self.build_job)

    # Other engines

    def held_engines(self) -> list[Engine]:
        return [self.engine, *self.compare_job.choice.others]

    @on(OtherOpened)
    def _other_opened(self, event: OtherOpened) -> None:
        """Show a layer of a compared engine: on the screen below if that shows the engine."""
        event.stop()
        if not bring_to_top(self):
            return  # A second Enter, which came before the first had closed this screen.
        below = self.app.screen_stack[-2]
        if isinstance(below, EngineScreen) and below.engine is event.engine:
            self.app.pop_screen()
            below.call_later(below.go_to, event.layer)  # Its panes may be about to be replaced.
            return
        self.open_other(event.engine, others=event.others, layer=event.layer, tab="layers", is_jump=True)

    def open_other(
        self,
        engine: Engine,
        *,
        others: Sequence[Engine],
        tab: str,
        layer: Layer | None = None,
        is_jump: bool = False,
    ) -> None:
        screen = EngineScreen(engine, is_listed=True, others=others, layer=layer, tab=tab, is_jump=is_jump)
        self.app.push_screen(screen)

    async def compare_also(self, engine: Engine) -> None:
        """Add an engine to the comparison and show it."""
        self.compare_job.take(engine)
        await self._show("compare")

    def action_capture(self) -> None:
        from trex_tui.old.screens.capture import Capturer

        Capturer(self).ask()

    def action_back(self) -> None:
        if bring_to_top(self):
            self.app.pop_screen()

    # Copy, explain, notes

    def _copied(self) -> tuple[Engine, Sequence[Layer]]:
        """Return the engine and layers to copy: marked, else under the cursor, else current."""
        selection = self.pane.selection()
        current = self.pane.cursor_layer or self.current_layer
        return selection.engine, selection.layers or ([current] if current is not None else [])

    def action_copy_name(self) -> None:
        copy_names(self, self._copied()[1])

    def action_copy_json(self) -> None:
        copy_json(self, *self._copied())

    def action_explain(self) -> None:
        """Explain the numbers on screen."""
        pane = self.pane
        title = f"Numbers: {pane.id}"
        self.app.push_screen(ExplainScreen(self.engine.files, title, pane.explained_thing, pane.numbers()))

    def action_notes(self) -> None:
        self.app.push_screen(NotesScreen(self.engine))

    # Reload

    def action_reload(self) -> None:
        self.post_message(ReloadAsked(self.engine))

    def action_choose_run(self) -> None:
        """Choose the run or the optimization profile to show."""
        choices = {str(index): choice for index, choice in enumerate(list_run_choices(self.engine))}
        if len(choices) < 2:
            return
        texts = {
            key: f"{choice.text}{', shown' if choice.is_shown else ''}" for key, choice in choices.items()
        }
        shown = next((key for key, choice in choices.items() if choice.is_shown), None)
        titles = ["runs"] if self.engine.runs else []
        titles += ["optimization profiles"] if self.engine.optimization_profiles > 1 else []

        name = shorten_middle(printable(self.engine.name), _MOST_NAME)

        def choose(key: str | None) -> None:
            if key is not None and not choices[key].is_shown:
                self.post_message(ReloadAsked(self.engine, choices[key]))
            else:
                self._find_models()

        self.app.push_screen(ChooseScreen(f"{name}: {' and '.join(titles)}", texts, shown), choose)

    def _find_models(self) -> None:
        self.model_job.start((self.engine, *self.compare_job.choice.others))

    def replace_engine(self, engine: Engine) -> None:
        """Show the reloaded engine: tab, filter, sort, marks and current layer stay. Notify of changes."""
        # In the queue of the screen: it may not be mounted yet, and nothing else may look at it half composed.
        self._reloads += 1
        self.post_message(EngineReplaced(engine))

    @on(EngineReplaced)
    async def _show_engine(self, event: EngineReplaced) -> None:
        engine = event.engine
        old, tab, text = self.engine, self.pane.id or "", self.filter_text
        states = {pane.id: pane.view_state() for pane in self._panes}
        is_typed = self.query_one(FilterBar).is_open
        layer = corresponding(old, engine, self.pane.cursor_layer or self.current_layer)
        self.engine, self._filter = engine, LayerFilter(engine)
        self.set_reactive(EngineScreen.current_layer, layer or next(iter(engine.layers), None))
        self._stand_in = None
        self.history, self.search = History(), ListSearch()
        self.compare_job.replace_own(engine)
        while isinstance(self.app.screen, (ChooseScreen, ColumnsScreen)):
            self.app.pop_screen()  # Its choice would apply to a pane that is removed.
        async with self._mounting:  # A key may be about to mount a pane.
            await self.recompose()
        forget_widgets(self)
        if self not in self.app.screen_stack or not self.query(f"#{tab}"):
            return  # The user left meanwhile, or the app ends.
        for pane in self._panes:
            if states.get(pane.id) is not None:
                pane.restore_view(states[pane.id], old)
        self._reloads -= 1
        self.query_one(ContentSwitcher).current = tab
        self.validate_filter_text(text)
        self.watch_filter_text()
        await self._show(tab)
        if is_typed:
            self.action_filter()
        self.lint_job.start(engine)
        self.build_job.restart(engine)
        self.notify(changes(old, engine), markup=False)
