"""Build screen: phases, passes, tactics of every layer, memory, strategies and warnings of the build log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.widget import Widget

from trex_tui.old.analysis.build import BuildFacts, TacticRow, TunedLayer, tactic_rows
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.document import Section
from trex_tui.old.report.views.build import overview_facts
from trex_tui.old.report.views.build_details import empty_view_text
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.explanation import ShownNumber, section_numbers
from trex_tui.old.screens.jobs import BuildAsked, BuildJob, log_of_build
from trex_tui.old.screens.pane import (
    LayerChosen,
    LayerOpened,
    Selection,
    ShowsBuild,
    TablePane,
    restore_sort,
)
from trex_tui.old.text import format_bytes, format_ms
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.build_tables import (
    OUTLINES,
    Outline,
    View,
    collect_listings,
    describe_tactics,
    describe_view,
    fill_tables,
    fill_tactics,
    is_empty,
    make_tables,
    memory_text,
    summarize_view,
    tactics_summary,
)
from trex_tui.old.widgets.chrome import SummaryLine
from trex_tui.old.widgets.table import SortKey, VirtualTable
from trex_tui.old.widgets.text_view import TextLine, TextView, sentence_line

_OF_LOG = ("next_view", "choose_view", "go_into", "go_out", "expand_all", "collapse_all", "zoom")
"""Actions that need a log."""
_OF_OUTLINE = (View.MEMORY, View.MESSAGES)
"""Views whose rows are complete before the tactics are read, so that a chosen sort applies."""
NO_LOG = (
    "No build log in this set.",
    "Create one with `trtexec --verbose … > {name}.engine.build.log`.",
    "Without --verbose: phases, memory and warnings only.",
)


class BuildPane(TablePane[Any], ShowsBuild):
    """Table of a view of the build log, with details of the selected row.

    Attributes:
        view: What is shown.
        tuned: The layer whose tactics are shown in place of the layers; None for none.
    """

    DEFAULT_CSS = """
    /* Build: details of the row under the cursor below the table; beside it if there is room. */
    BuildPane {
        layout: vertical;
        & > #build-parts { height: 1fr; layout: vertical; }
        & #build-main { height: 1fr; layout: vertical; }
        & #build-main > VirtualTable { height: 1fr; }
        & #build-chart { height: 8; padding: 0 1; background: $surface; }
        & #build-words {
            height: 1fr;
            padding: 0 1;
            background: $surface;
            border-top: solid $panel;
            &:focus { border-top: solid $primary; }
        }
        &.-memory #build-main { height: 2fr; }
        &.-only-table #build-words { display: none; }
        &.-only-words #build-main { display: none; }
        &.-nothing #build-main { display: none; }
        &.-nothing #build-words { display: block; border-top: none; }
    }

    EngineScreen.-wide BuildPane {
        & > #build-parts { layout: horizontal; }
        & #build-main, &.-memory #build-main { width: 3fr; height: 100%; }
        & #build-chart { height: 16; }
        & #build-words {
            width: 2fr;
            height: 100%;
            border-top: none;
            border-left: solid $panel;
            &:focus { border-left: solid $primary; }
        }
        &.-only-words #build-words, &.-nothing #build-words { width: 1fr; border-left: none; }
    }
    """
    SCOPED_CSS = False

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.BUILD)
    natural_order = "order of the log"

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.facts: BuildFacts | None = None
        self.problem = ""
        self.view = View.PHASES
        self.tuned: TunedLayer | None = None
        self._rows: list[TacticRow] = []
        self._layers: frozenset[int] | None = None
        """Layers that match the filter; None without one."""
        self._chosen_elsewhere: tuple[TunedLayer | None, Layer | None] = None, None
        """Layer selected on another screen and its row; the layer stays current while the cursor is on that row."""
        self._progress = ""
        self._summaries: dict[View, str] = {}
        self._orders: dict[View, tuple[SortKey, ...]] = {}
        """Sort orders to restore after the log is read again."""
        self.tables = make_tables()
        self.chart = TextView(self._make_chart, id="build-chart")
        self.main = Vertical(id="build-main")
        self.words: TextView = TextView(self._make_lines, id="build-words")
        self.summary = SummaryLine(id="build-summary")

    def compose(self) -> ComposeResult:
        yield self.summary
        with Container(id="build-parts"):
            with self.main:
                yield self.chart
                yield from self.tables
            yield self.words

    def on_mount(self) -> None:
        self._arrange()

    # What is read

    def show_build(self, job: BuildJob) -> None:
        """Show the part of the log read so far, the progress, or the reason why it cannot be read."""
        facts = job.facts or job.outline
        of = f" of {format_bytes(job.size)}" if job.size else ""
        self._progress = f" {format_bytes(job.read_bytes)}{of}" if job.read_bytes else ""
        if job.problem:
            self.problem, self.facts = job.problem, None
            self._arrange()
        elif facts is None or facts is self.facts:
            self._tell()
        else:
            self._show_facts(facts)

    def _show_facts(self, facts: BuildFacts) -> None:
        outline = self.facts
        self.facts, self.problem, self.tuned = facts, "", None
        self._summaries.clear()
        if outline is not None:
            self._orders |= {view: self.tables.of(view).sort_keys for view in _OF_OUTLINE}
        fill_tables(self.tables, facts)
        self._restore_orders()
        self._filter_rows()
        self._stand_on(self._chosen_elsewhere[1])
        had_keyboard = self.screen.focused is self.words
        self._arrange()
        if had_keyboard and self.display:
            self.screen.set_focus(self.main_part)

    def _restore_orders(self) -> None:
        for view, keys in self._orders.items():
            restore_sort(self.tables.of(view), keys)

    # The table on screen

    @property
    def table(self) -> VirtualTable[Any]:  # type: ignore[override]  # one of several
        return self.tables.tactics if self.tuned is not None else self.tables.of(self.view)

    @property
    def divided_parts(self) -> tuple[Widget, Widget]:
        return self.main, self.words

    @property
    def is_nothing(self) -> bool:
        return self.facts is None or (self.tuned is None and is_empty(self.tables, self.facts, self.view))

    def _arrange(self) -> None:
        for table in self.tables:
            table.display = table is self.table
        self.chart.display = self.view is View.MEMORY and self.tuned is None
        self.set_class(self.is_nothing, "-nothing")
        self.set_class(self.chart.display, "-memory")
        self._tell()
        self.refresh_bindings()

    def _tell(self) -> None:
        line = self.summary
        if self.facts is None:
            line.text = ""  # The words below say why.
        else:
            line.text = tactics_summary(self.tuned) if self.tuned else self._summarize(self.facts)
        self.words.renew()
        self.chart.renew()

    def _summarize(self, facts: BuildFacts) -> str:
        """Summary of the view, computed once because it scans the whole log."""
        if self.view not in self._summaries:
            self._summaries[self.view] = summarize_view(facts, self.view)
        reading = "" if facts.trace.is_whole else f"Reading tactics …{self._progress} · "
        return reading + self._summaries[self.view]

    def _waiting_sentences(self) -> tuple[str, ...]:
        path = log_of_build(self.engine)
        if path is None:
            return tuple(line.format(name=self.engine.name) for line in NO_LOG)
        if self.problem:
            return (f"Cannot read the build log: {self.problem}",)
        return (f"Reading {path.name} …{self._progress}",)

    def _make_lines(self, width: int) -> list[TextLine]:
        if self.facts is None:
            style = "$error" if self.problem else ""
            return [sentence_line(text, style) for text in self._waiting_sentences()]
        if self.tuned is not None:
            row = self.tables.tactics.cursor_item
            return describe_tactics(self.engine, self.facts, self.tuned, self._rows, row, width)
        if self.is_nothing:
            trace = self.facts.trace
            reading = "" if trace.is_whole else f"Reading the tactics …{self._progress}"
            nothing = sentence_line(reading or empty_view_text(trace, self.view.value))
            return [nothing, *describe_view(self.engine, self.facts, self.view, None)]
        return describe_view(self.engine, self.facts, self.view, self._cursor_thing)

    def _make_chart(self, width: int) -> list[TextLine]:
        if self.facts is None or self.view is not View.MEMORY:
            return []
        return memory_text(self.facts, self._cursor_thing, width, self.chart.content_size.height)

    @property
    def _cursor_thing(self) -> Any:  # noqa: ANN401 - whatever the view lists
        table = self.table
        if isinstance(table, Outline):
            node = table.cursor_item
            return node.item if node is not None else None
        return table.cursor_item

    @property
    def main_part(self) -> Widget:
        """Return the table, shown again if the text was zoomed; the text if there is no table."""
        return self.words if self.is_nothing else super().main_part

    def selection(self) -> Selection:
        """Rows of the table on screen; for the tactics of a layer, also the rows of all layers."""
        if self.facts is None or self.is_nothing:
            return Selection(self.engine)
        return Selection(
            self.engine, listings=collect_listings(self.tables, self.facts, self.view, self.tuned)
        )

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Show the tuned layers that became one of these; without a filter, all."""
        self._layers = frozenset(layer.index for layer in layers) if filter_text else None
        self._filter_rows()

    def _filter_rows(self) -> None:
        if self.facts is None:
            return
        wanted = self._layers
        rows = self.facts.tuned
        shown = (
            None
            if wanted is None
            else [tuned.number for tuned in rows if not wanted.isdisjoint(tuned.layers)]
        )
        self.tables.layers.set_visible(shown)
        self._tell()

    def show_layer(self, layer: Layer | None) -> None:
        """Move the cursor to the tuned layer, and request the log if it is not read yet."""
        self._chosen_elsewhere = self.tables.layers.cursor_item, layer
        if self.facts is None:
            self.post_message(BuildAsked())
            return
        self._stand_on(layer)

    def _stand_on(self, layer: Layer | None) -> None:
        tuned = self.facts.by_layer.get(layer.index) if self.facts and layer else None
        table = self.tables.layers
        here = table.cursor_item
        if tuned is not None and here is not tuned:
            table.move_to(tuned)
        self._chosen_elsewhere = table.cursor_item, layer
        if self.tuned is not None and tuned is not None and tuned is not self.tuned:
            self._show_tactics(tuned)
        self._tell()

    @property
    def cursor_layer(self) -> Layer | None:
        """Engine layer of the row under the cursor, else the layer selected on another screen."""
        row, chosen = self.tables.layers.cursor_item, self._chosen_elsewhere
        if self.view is not View.LAYERS or row is None or row is chosen[0] or not row.layers:
            return chosen[1]
        return self.engine.layers[row.layers[0]]

    def place(self) -> object:
        return self.view, self.tuned, super().place()

    def return_to(self, place: object) -> None:
        if place is None or self.facts is None:
            return
        view, tuned, rows = cast("tuple[View, TunedLayer | None, object]", place)
        if (view, tuned) != (self.view, self.tuned):
            self.show_view(view)
            if tuned is not None:
                self._show_tactics(tuned)
        super().return_to(rows)

    def view_state(self) -> object:
        """Current view and the sort of each view; without a log, sorts to apply later."""
        orders = {view: self.tables.of(view).sort_keys for view in View} if self.facts else self._orders
        return self.view, orders

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - of no engine
        """Restore the view; its sort is applied when there are rows."""
        self.view, self._orders = cast("tuple[View, dict[View, tuple[SortKey, ...]]]", state)
        self._arrange()

    def row_changed(self) -> None:
        self._tell()
        row = self.tables.layers.cursor_item
        is_list = self.view is View.LAYERS and self.tuned is None and self.display
        if is_list and row is not None and row is not self._chosen_elsewhere[0] and row.layers:
            layer = self.engine.layers[row.layers[0]]
            self._chosen_elsewhere = row, layer
            self.post_message(LayerChosen(layer))

    def choose_layer(self, layer: Layer) -> None:
        """Rows that are not layers of the engine select none."""

    def open_row(self, row: Any) -> None:  # noqa: ANN401 - whatever the view lists
        if self.table is self.tables.layers:
            self._show_tactics(row)
            self.screen.set_focus(self.main_part)
        else:
            self.focus_text()

    def _show_tactics(self, tuned: TunedLayer) -> None:
        assert self.facts is not None
        self.tuned = tuned
        self._rows = tactic_rows(self.facts, tuned)
        fill_tactics(self.tables.tactics, self._rows)
        self.words.scroll_to(y=0, animate=False)
        self._arrange()

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if self.facts is None and action in _OF_LOG:
            return False
        is_outline = self.tuned is None and self.view in OUTLINES
        if action in ("choose_sort", "reverse"):
            return not self.is_nothing
        if action == "leave_tactics":
            return self.tuned is not None
        if action in ("go_out", "expand_all", "collapse_all"):
            return is_outline or (action == "go_out" and self.tuned is not None)
        if action == "go_into":
            return is_outline or self.view is View.LAYERS
        return super().check_action(action, parameters)

    def show_view(self, view: View) -> None:
        had_keyboard = self.screen.focused in (self.words, *self.tables)
        self.view, self.tuned = view, None
        self.words.scroll_to(y=0, animate=False)
        self._arrange()
        if had_keyboard:
            self.screen.set_focus(self.main_part)

    def action_next_view(self) -> None:
        views = list(View)
        self.show_view(views[(views.index(self.view) + 1) % len(views)])

    def action_choose_view(self) -> None:
        width = max(len(view.value) for view in View)
        options = {view.value: f"{view.value:<{width}}  {view.help}" for view in View}
        self.app.push_screen(ChooseScreen("View", options, self.view.value), self._view_chosen)

    def _view_chosen(self, view: str | None) -> None:
        if view is not None:
            self.show_view(View(view))

    def action_go_into(self) -> None:
        """Expand a row of an outline; on a layer, go to the layer of the engine."""
        if isinstance(self.table, Outline):
            self.table.action_expand()
            return
        row = self.tuned or self.tables.layers.cursor_item
        if row is None or not row.layers:
            self.notify("No engine layer for it in the log.", markup=False)
        elif len(row.layers) == 1:
            self._open(self.engine.layers[row.layers[0]])
        else:
            options = {str(index): self._option(self.engine.layers[index]) for index in row.layers}
            self.app.push_screen(ChooseScreen("Go to", options), self._option_chosen)

    @staticmethod
    def _option(layer: Layer) -> str:
        return f"{layer.index:>5} {format_ms(layer.latency_ms):>9} ms  {layer.name}"

    def _option_chosen(self, key: str | None) -> None:
        if key is not None:
            self._open(self.engine.layers[int(key)])

    def _open(self, layer: Layer) -> None:
        self.post_message(LayerOpened(layer))

    def action_go_out(self) -> None:
        """Collapse a row of an outline, or leave the tactics."""
        if isinstance(self.table, Outline):
            self.table.action_collapse()
        else:
            self.action_leave_tactics()

    def action_leave_tactics(self) -> None:
        if self.tuned is not None:
            self.show_view(View.LAYERS)

    def action_expand_all(self) -> None:
        if isinstance(self.table, Outline):
            self.table.action_expand_all()

    def action_collapse_all(self) -> None:
        if isinstance(self.table, Outline):
            self.table.action_collapse_all()

    @property
    def table_id(self) -> str:  # type: ignore[override]  # of several tables
        """Return the numbers under the keys of `build-log --json`."""
        if self.tuned is not None:
            return "tactics"
        return "tunings" if self.view is View.LAYERS else self.view.value

    def numbers(self) -> list[ShownNumber]:
        """The columns of the table on screen, then the facts about the build."""
        if self.facts is None:
            return []
        facts = Section("build", "Build", facts=list(overview_facts(self.facts.trace, self.engine)))
        return [*super().numbers(), *section_numbers([facts])]

    @property
    def explained_thing(self) -> str:
        return str(log_of_build(self.engine))
