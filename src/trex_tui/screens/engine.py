"""The screen of an engine: header, tabs, the current layer and the filter that all tabs share, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pandas as pd
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import ContentSwitcher, Tabs

from trex_tui.analysis.conditions import find_doubts
from trex_tui.analysis.engines import find_precision
from trex_tui.analysis.memory import memory_facts
from trex_tui.analysis.timing import find_latency, timing_facts
from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.engine.filter import FilterError, describe_no_match, find_matches, join_filters
from trex_tui.engine.model import Engine
from trex_tui.errors import Severity
from trex_tui.frames import plain_rows
from trex_tui.lint.config import find_config
from trex_tui.lint.rules import load_rules
from trex_tui.lint.run import LintResult, run_rules
from trex_tui.report.document import Document, plain
from trex_tui.screens import dialogs
from trex_tui.screens.build import BuildPane
from trex_tui.screens.charts import ChartsPane
from trex_tui.screens.compare import ComparePane, OtherOpened
from trex_tui.screens.explain import show_explanation
from trex_tui.screens.export import ask_export, show_notes
from trex_tui.screens.jobs import JobDone, finish_job, start_job
from trex_tui.screens.latency import LatencyPane
from trex_tui.screens.layers import LayersPane
from trex_tui.screens.lint import LintPane
from trex_tui.screens.memory import MemoryPane
from trex_tui.screens.overview import OverviewPane
from trex_tui.screens.pane import (
    EnginePane,
    FindingOpened,
    LayerChosen,
    LayerOpened,
    LayersFiltered,
    RulesChanged,
    Shown,
    TabOpened,
)
from trex_tui.screens.settings import Settings
from trex_tui.text import format_bytes, format_ms, plural, printable, short_device_name
from trex_tui.widgets.actions import ENGINE, TABS, bindings
from trex_tui.widgets.chrome import Fact, HeaderLine, KeyLine, MainScreen, TabLine, shorten_engine
from trex_tui.widgets.filter_bar import FilterBar

PANES: dict[str, Callable[[Engine], EnginePane]] = {
    "overview": OverviewPane,
    "layers": LayersPane,
    "latency": LatencyPane,
    "charts": ChartsPane,
    "memory": MemoryPane,
    "lint": LintPane,
    "build": BuildPane,
    "compare": ComparePane,
}
"""Id of a tab -> its pane, made at the first visit."""
_CHECK_SECONDS = 3.0
"""How often the files are looked at for changes."""


class Visit(NamedTuple):
    """A place that `-` goes back to."""

    tab: str
    layer: int | None
    filter_text: str
    place: Any = None


class EngineScreen(MainScreen):
    """The tabs of an engine.

    Args:
        engine: What is shown.
        source: Its files, for a reload.
        others: Engines that it is compared with.
        start: The tab, layer and filter to begin with.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(ENGINE)
    AUTO_FOCUS = ""

    current_layer: reactive[int | None] = reactive(None, repaint=False, init=False)
    filter_text: reactive[str] = reactive("", repaint=False, init=False)

    def __init__(
        self,
        engine: Engine,
        source: ArtifactSet,
        others: Sequence[Engine] = (),
        start: Visit = Visit("overview", None, ""),  # noqa: B008 - it is constant
    ) -> None:
        super().__init__()
        self.engine, self.source, self.others = engine, source, list(others)
        self.shown = Shown("", pd.Series(True, engine.layers.index, dtype=bool))
        self.lint: LintResult | None = None
        self._start = start
        self._back: list[Visit] = []
        self._forward: list[Visit] = []
        self.search = ""
        """The word that `n` goes to; empty for none."""
        self._stamps = self._read_stamps()
        self._panes: dict[str, EnginePane] = {}
        self._tab = ""
        self._mounting = asyncio.Lock()

    def compose(self) -> ComposeResult:
        yield HeaderLine(header_facts(self.engine))
        yield TabLine()
        yield ContentSwitcher(id="screens")
        yield FilterBar(self.engine)
        yield KeyLine()

    async def on_mount(self) -> None:
        times = self.engine.layers["latency_ms"]
        slowest = int(times.fillna(-1.0).argmax()) if len(times) else None
        self.set_reactive(
            EngineScreen.current_layer, slowest if self._start.layer is None else self._start.layer
        )
        self.filter_text = self._start.filter_text
        await self._show(self._start.tab)
        self.call_after_refresh(self._run_rules)
        self.set_interval(_CHECK_SECONDS, self._look_at_files)

    # Tabs

    @property
    def pane(self) -> EnginePane:
        """The visible tab."""
        return self._panes[self._tab]

    async def action_show(self, tab: str) -> None:
        """Show a tab; `-` goes back."""
        if tab != self._tab:
            self._leave()
            await self._show(tab)

    async def _show(self, tab: str) -> None:
        async with self._mounting:  # a command of the palette and a key may ask for the same tab
            if self not in self.app.screen_stack:
                return  # closed meanwhile
            switcher = self.query_one(ContentSwitcher)
            if tab not in self._panes:
                pane = PANES[tab](self.engine)
                pane.others = self.others
                pane.display = False
                await switcher.mount(pane)
                self._panes[tab] = pane
        if self not in self.app.screen_stack:
            return
        self._tab = switcher.current = tab
        self.query_one(TabLine).active = tab
        self._update_pane()
        self.set_focus(self.pane.main)
        self.refresh_bindings()

    def _update_pane(self) -> None:
        """Give the visible tab what it may have missed."""
        pane = self.pane
        pane.lint, pane.shown, pane.current_layer = self.lint, self.shown, self.current_layer

    @on(Tabs.TabActivated)
    async def _click_tab(self, event: Tabs.TabActivated) -> None:
        active = self.query_one(TabLine).active
        if (
            self._tab and event.tab.id == active
        ):  # else it comes late, and two of them would answer each other
            await self.action_show(active)

    @on(TabOpened)
    async def _open_tab(self, event: TabOpened) -> None:
        await self.action_show(event.tab)

    @on(OtherOpened)
    def _open_other(self, event: OtherOpened) -> None:
        """Show a layer of an engine that is compared, on a screen of its own."""
        files = dict(event.engine.files)
        source = ArtifactSet(event.engine.name, next(iter(files.values())).parent, files)
        self.app.push_screen(
            EngineScreen(event.engine, source, event.others, Visit("layers", event.layer, ""))
        )

    # The current layer

    @on(LayerChosen)
    def _choose_layer(self, event: LayerChosen) -> None:
        self.current_layer = event.layer

    def watch_current_layer(self, layer: int | None) -> None:
        if self._tab:
            self.pane.current_layer = layer

    @on(LayerOpened)
    async def _open_layer(self, event: LayerOpened) -> None:
        await self.go_to(event.layer, event.tab)

    async def go_to(self, layer: int, tab: str = "") -> None:
        """Stand on a layer, on a tab; `-` goes back. A filter that hides it is cleared."""
        self._leave()
        if not self.shown.rows[layer]:
            self.filter_text = ""
        self.current_layer = layer
        await self._show(tab or self.pane.tab)

    async def action_producer(self) -> None:
        await self._walk("target", "source", "producers")

    async def action_consumer(self) -> None:
        await self._walk("source", "target", "consumers")

    async def _walk(self, here: str, there: str, noun: str) -> None:
        """Go to a neighbour of the current layer; ask which if there are several."""
        if self.current_layer is None:
            return
        links = self.engine.links
        layers = sorted(set(links[there][links[here].eq(self.current_layer)].tolist()))
        if not layers:
            self.notify(f"No {noun}.", markup=False)
        elif len(layers) == 1:
            await self.go_to(layers[0])
        else:
            names = self.engine.layers["name"]
            dialogs.choose(
                self.app,
                noun.capitalize(),
                {str(layer): f"{layer:4} {names[layer]}" for layer in layers},
                self._go_to_chosen,
            )

    async def _go_to_chosen(self, layer: str) -> None:
        await self.go_to(int(layer))

    def action_by_time(self, step: int) -> None:
        """Stand on the next layer by time, among those that the filter leaves."""
        times = self.engine.layers["latency_ms"][self.shown.rows].dropna()
        order = times.sort_values(ascending=False, kind="stable").index.tolist()
        if self.current_layer in order and 0 <= order.index(self.current_layer) + step < len(order):
            self.current_layer = order[order.index(self.current_layer) + step]
        else:
            self.notify("No further layer by time.", markup=False)

    # The way back

    def _visit(self) -> Visit:
        return Visit(self.pane.tab, self.current_layer, self.filter_text, self.pane.place())

    def _leave(self) -> None:
        self._back.append(self._visit())
        self._forward.clear()

    async def action_back(self) -> None:
        await self._follow(self._back, self._forward, "Nothing to go back to.")

    async def action_forward(self) -> None:
        await self._follow(self._forward, self._back, "Nothing to go forward to.")

    async def _follow(self, visits: list[Visit], others: list[Visit], otherwise: str) -> None:
        if not visits:
            self.notify(otherwise, markup=False)
            return
        others.append(self._visit())
        visit = visits.pop()
        self.filter_text, self.current_layer = visit.filter_text, visit.layer
        await self._show(visit.tab)
        self.pane.return_to(visit.place)

    async def action_escape(self) -> None:
        """Clear the filter; without one the marks; without any go back."""
        table = self.pane.table
        if self.filter_text:
            self.filter_text = ""
        elif table is not None and table.marked:
            table.clear_marks()
        elif self._back:
            await self.action_back()

    def action_close(self) -> None:
        """Go back to the list of engines; without one quit."""
        if not (self.is_current and self._tab):
            return  # a second key, which came before the first had closed it, or before the first tab is there
        if len(self.app.screen_stack) > 2:
            self.app.pop_screen()
        else:
            self.app.exit()

    # Filter and search

    def action_filter(self) -> None:
        self.query_one(FilterBar).open(self.filter_text)

    def action_search(self) -> None:
        if self.pane.table is None:
            self.notify("No list to search here.", markup=False)
        else:
            self.query_one(FilterBar).open("", is_search=True)

    @on(FilterBar.Changed)
    def _type(self, event: FilterBar.Changed) -> None:
        if event.is_search:
            self._find(event.text)
        else:
            self._filter(event.text)

    def _filter(self, text: str) -> None:
        """Apply a text while it is typed; an invalid one leaves the layers as they are."""
        bar = self.query_one(FilterBar)
        try:
            rows = find_matches(self.engine, text, is_typing=True)
        except FilterError as error:
            bar.tell(str(error), is_error=not error.is_incomplete)
            return
        bar.tell(
            "" if rows.any() else describe_no_match(self.engine, text, is_typing=True),
            is_error=not rows.any(),
        )
        self.shown = Shown(text.strip(), rows)
        self.set_reactive(EngineScreen.filter_text, text.strip())
        self._show_filter()

    def validate_filter_text(self, text: str) -> str:
        """Find the layers; a text that is no filter changes nothing."""
        if text != self.shown.text:
            try:
                self.shown = Shown(text, find_matches(self.engine, text))
            except FilterError as error:
                self.notify(printable(str(error)), title="Filter unchanged", severity="warning", markup=False)
        return self.shown.text

    def watch_filter_text(self) -> None:
        self._show_filter()

    def _show_filter(self) -> None:
        text, count = self.shown.text, int(self.shown.rows.sum())
        remark = f"/{text}  {count} of {plural(len(self.engine), 'layer')}" if text else ""
        has_room = self.query_one(TabLine).show_remark(shorten_engine(remark, 48))
        self.query_one(HeaderLine).show(
            remark="" if has_room else shorten_engine(remark, max(24, self.size.width // 2))
        )
        if self._tab:
            self.pane.shown = self.shown
            self.refresh_bindings()

    def _find(self, text: str) -> None:
        self.search = text.strip()
        table = self.pane.table
        if table is not None and self.search:
            table.cursor -= 1  # the row under the cursor may match
            is_found = table.find(self.search, 1)
            self.query_one(FilterBar).tell("" if is_found else "no match", is_error=not is_found)

    def action_next_match(self, step: int) -> None:
        table = self.pane.table
        if not self.search or table is None:
            self.notify("No search yet (f searches).", markup=False)
        elif not table.find(self.search, step):
            self.notify(f"No match: {printable(self.search)}", markup=False)

    @on(FilterBar.Closed)
    def _close_bar(self, event: FilterBar.Closed) -> None:
        if not event.is_search:
            self.filter_text = event.text.strip() if event.is_kept else event.text
        self.set_focus(self.pane.main)

    @on(LayersFiltered)
    async def _add_filter(self, event: LayersFiltered) -> None:
        self._leave()
        self.filter_text = join_filters(self.filter_text, event.term)
        await self._show(event.tab)

    # Findings

    @on(RulesChanged)
    def _run_rules(self) -> None:
        start_job(self, self._check, self._show_lint, self._check_without_config)

    def _check(self) -> LintResult:
        rules = load_rules()
        return run_rules(self.engine, find_config(rules), rules)

    def _check_without_config(self, error: Exception) -> None:
        """State what is wrong with the configuration, and run the rules without it."""
        self._fail(error)
        start_job(self, lambda: run_rules(self.engine), self._show_lint, self._fail)

    def _show_lint(self, result: LintResult) -> None:
        self.lint = result
        self.pane.lint = result
        warnings = sum(finding.severity.value in ("error", "warning") for finding in result.findings)
        self.query_one(TabLine).badge("lint", f" ⚠{warnings}" if warnings else "")

    @on(FindingOpened)
    async def _open_finding(self, event: FindingOpened) -> None:
        await self.action_show("lint")
        pane = self.pane
        if hasattr(pane, "show_finding"):
            pane.show_finding(event.finding)

    @on(JobDone)
    def _finish_job(self, event: JobDone) -> None:
        finish_job(event)

    def _fail(self, error: Exception) -> None:
        self.notify(printable(str(error)) or type(error).__name__, severity="error", markup=False)

    # Copy, export, notes

    def action_mark(self) -> None:
        if self.pane.table is not None:
            self.pane.table.mark()

    def action_zoom(self) -> None:
        self.pane.action_zoom()

    def action_copy(self) -> None:
        dialogs.copy(self.app, "\n".join(str(row.get("name", "")) for row in self.pane.copied()), "name")

    def action_copy_json(self) -> None:
        dialogs.copy(self.app, "\n".join(dialogs.to_json(plain(row)) for row in self.pane.copied()), "row")

    def action_export(self) -> None:
        document = Document(self.pane.tab, self.engine.name, self.pane.sections(), self.engine.notes)
        ask_export(self.app, document, self.engine.files.values())

    def action_explain(self) -> None:
        explained = self.pane.explained()
        if explained is None:
            self.notify("No numbers here.", markup=False)
        else:
            show_explanation(self.app, *explained, self.engine.files)

    def action_notes(self) -> None:
        show_notes(self.app, self.engine.name, self.engine.notes)

    # Files

    def action_reload(self) -> None:
        """Read the files again; tab, layer and filter stay."""
        self.post_message(ReloadAsked(self))

    def action_choose_run(self) -> None:
        """Choose a run of files with several, or an optimization profile."""
        runs, profiles = self.engine.runs, self.engine.optimization_profiles
        options = {}
        for number, rows in runs.groupby("number") if len(runs) else ():
            parts = [f"{row['file'].name}: {_describe_run(row)}" for row in plain_rows(rows)]
            options[f"run {number}"] = f"run {number}  {'; '.join(parts)}"
        if len(profiles) > 1:
            options |= {
                f"profile {number}": f"profile {number}  {plural(count, 'layer')}"
                for number, count in profiles.items()
            }

        def finish(key: str) -> None:
            word, _, number = key.partition(" ")
            self.post_message(ReloadAsked(self, **{word: int(number)}))

        dialogs.choose(self.app, "Runs and optimization profiles", options, finish)

    def action_reset_views(self) -> None:
        """Forget chosen columns and groupings, of all tabs and of the list of engines."""
        Settings.of(self).reset()
        self.notify("Columns and groupings are the usual ones.", markup=False)
        self.post_message(ReloadAsked(self))

    def made_again(self, engine: Engine, source: ArtifactSet) -> EngineScreen:
        """Return the screen of the same engine read again, at the same place."""
        layer = None
        if self.current_layer is not None:
            here = self.engine.layers[["name", "occurrence"]].iloc[self.current_layer]
            same = engine.layers["name"].eq(here["name"]) & engine.layers["occurrence"].eq(here["occurrence"])
            layer = int(same.argmax()) if same.any() else None
        before, after = self.engine.latency_sum_ms, engine.latency_sum_ms
        words = (
            f", layer times {format_ms(before)} → {format_ms(after)} ms"
            if before and after and before != after
            else ""
        )
        self.notify(f"Read again: {plural(len(engine), 'layer')}{words}.", markup=False)
        return EngineScreen(engine, source, self.others, Visit(self.pane.tab, layer, self.filter_text))

    def _read_stamps(self) -> dict[str, float]:
        """Return when each file was changed."""
        stamps = {}
        for path in self.engine.files.values():
            try:
                stamps[str(path)] = path.stat().st_mtime
            except OSError:
                stamps[str(path)] = 0.0
        return stamps

    def _look_at_files(self) -> None:
        stamps = self._read_stamps()
        if stamps != self._stamps:
            self._stamps = stamps
            self.notify("The files changed on disk; R reads them again.", markup=False, timeout=10)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Hide keys that do nothing now; before there is a tab all of them."""
        if not self._tab or not self.is_attached:
            return action == "close"
        if action == "choose_run":
            return not self.engine.runs.empty or len(self.engine.optimization_profiles) > 1
        if action == "escape":
            return bool(self.filter_text or self._back or (self.pane.table and self.pane.table.marked))
        return True


class ReloadAsked(Message):
    """Read the files of a screen again; with another run or optimization profile if one is given."""

    def __init__(self, screen: EngineScreen, run: int | None = None, profile: int | None = None) -> None:
        super().__init__()
        self.screen, self.run, self.profile = screen, run, profile


def _describe_run(row: Mapping[str, Any]) -> str:
    """Return what is known of a run: `2000 queries, median 0.4956 ms`."""
    parts = [
        plural(row["queries"], "query", "queries") if row["queries"] else "",
        f"median {format_ms(row['median_ms'])} ms" if row["median_ms"] is not None else "",
        plural(row["iterations"], "iteration") if row["iterations"] else "",
        f"layers {format_ms(row['sum_ms'])} ms" if row["sum_ms"] is not None else "",
        "shown" if row["is_shown"] else "",
    ]
    return ", ".join(filter(None, parts))


def header_facts(engine: Engine) -> list[Fact]:
    """Return the parts of the header line, in order."""
    facts = [Fact(shorten_engine(engine.name), 0, "bold $accent")]
    if engine.facts.device_name:
        facts.append(Fact(short_device_name(engine.facts.device_name), 4))
    if engine.facts.tensorrt_version:
        facts.append(Fact(f"TensorRT {engine.facts.tensorrt_version}", 5))
    if precision := find_precision(engine):
        facts.append(Fact(precision, 2))
    missing = [] if engine.has_graph else ["no layer information"]
    missing += [] if engine.has_profile else ["no profile"]
    facts += [Fact(text, 3, "bold $warning") for text in missing]
    if any(doubt.kind == "throttled" for doubt in find_doubts(engine)):
        facts.append(Fact("throttled", 2, "bold $warning"))
    latency = find_latency(engine, "median_ms", "latency")
    if latency is not None:
        facts.append(Fact(f"{format_ms(latency)} ms", 1, "bold", is_right=True))
        facts_of_run = timing_facts(engine)
        if facts_of_run is not None and facts_of_run.throughput_qps is not None:
            facts.append(Fact(f"{facts_of_run.throughput_qps:.0f} qps", 6, is_right=True))
    elif engine.latency_sum_ms is not None:
        facts.append(Fact(f"{format_ms(engine.latency_sum_ms)} ms in layers", 6, is_right=True))
    facts.append(Fact(plural(len(engine), "layer"), 7, is_right=True))
    weights = memory_facts(engine).weights_bytes
    if weights is not None:
        facts.append(Fact(format_bytes(weights), 8, is_right=True))
    if engine.notes:
        severities = {note.severity for note in engine.notes}
        style = (
            "bold $error"
            if Severity.ERROR in severities
            else "$warning"
            if Severity.WARNING in severities
            else "$muted"
        )
        facts.append(Fact(f"! {plural(len(engine.notes), 'note')}", 2, style, is_right=True))
    return facts


assert list(PANES) == [tab.id for tab in TABS]
