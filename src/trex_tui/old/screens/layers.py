"""Layers screen: tree of layers, with details or neighbourhood of one."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from trex_tui.old.analysis.build import BuildFacts
from trex_tui.old.analysis.columns import Derived, derived, engine_columns
from trex_tui.old.analysis.modules import Group, Grouping
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.model import LintResult
from trex_tui.old.report.views.build_details import layer_build_lines
from trex_tui.old.report.views.layer_details import Line, group_lines, layer_lines
from trex_tui.old.report.views.lint import layer_finding_lines, layer_marks
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.explanation import ShownNumber, layer_numbers
from trex_tui.old.screens.jobs import BuildJob, LintJob
from trex_tui.old.screens.pane import (
    FindingOpened,
    LayerJumped,
    NeighboursAsked,
    ShowsBuild,
    ShowsLint,
    TablePane,
)
from trex_tui.old.screens.services import compute, get_services
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.layer_tree import LayerTree
from trex_tui.old.widgets.neighbourhood import BoxOpened, NeighbourhoodView, RestOpened
from trex_tui.old.widgets.text_view import LinkedText, LinkFollowed


class LayersPane(TablePane[Any], ShowsLint, ShowsBuild):
    """Tree and details: side by side, or one above the other in narrow terminals.

    Attributes:
        facts: Products and roofs for the details; None until they are computed on request.
    """

    DEFAULT_CSS = """
    /* Layers: details or neighbourhood below the tree, or beside it where there is room. */
    LayersPane {
        layout: vertical;
        & > #layer-tree { height: 3fr; }
        & > #layer-details, & > #layer-neighbourhood {
            height: 2fr;
            padding: 0 1;
            border-top: solid $panel;
            border-title-color: $text-muted;
            border-title-align: right;
            background: $surface;
            &:focus { border-top: solid $primary; }
        }
        & > #layer-neighbourhood { display: none; }
        &.-neighbourhood > #layer-details { display: none; }
        &.-neighbourhood > #layer-neighbourhood { display: block; height: 2fr; }
        &.-neighbourhood > #layer-tree { height: 1fr; }
        &.-only-table > #layer-details, &.-only-table > #layer-neighbourhood { display: none; }
        &.-only-words > #layer-tree { display: none; }
    }

    EngineScreen.-wide LayersPane {
        layout: horizontal;
        & > #layer-tree { width: 5fr; height: 100%; }
        & > #layer-details, & > #layer-neighbourhood {
            width: 3fr;
            height: 100%;
            border-top: none;
            border-left: solid $panel;
            &:focus { border-left: solid $primary; }
        }
        &.-neighbourhood > #layer-tree { width: 1fr; }
        &.-neighbourhood > #layer-neighbourhood { width: 1fr; height: 100%; }
        &.-only-words > #layer-details, &.-only-words > #layer-neighbourhood { width: 1fr; border-left: none; }
    }

    /* Wide and tall: the neighbourhood below the details. */
    EngineScreen.-wide.-tall LayersPane.-neighbourhood {
        layout: grid;
        grid-size: 2 2;
        grid-columns: 1fr 1fr;
        grid-rows: 1fr 1fr;
        & > #layer-tree { row-span: 2; width: 100%; }
        & > #layer-details { display: block; width: 100%; }
        & > #layer-neighbourhood { width: 100%; border-top: solid $panel; &:focus { border-top: solid $primary; } }
        &.-only-words { grid-size: 1 2; grid-columns: 1fr; }
        &.-only-table { grid-size: 1 1; grid-rows: 1fr; & > #layer-details { display: none; } }
    }
    """
    SCOPED_CSS = False

    has_layer_rows = True
    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LAYERS)

    table: LayerTree

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.table = LayerTree(engine, id="layer-tree")
        self.details = LinkedText(id="layer-details")
        self.details.border_title = Content("v neighbours · [ ] walk · - back · l h links").markup
        self._detailed: Layer | Group | None = None
        self.neighbourhood = NeighbourhoodView(engine, id="layer-neighbourhood")
        self.facts: Derived | str | None = None
        """Products and roofs; a text with the reason if there are none."""
        self._is_computing = False
        self.lint: LintResult | None = None
        self.build: BuildFacts | None = None

    def compose(self) -> ComposeResult:
        chosen = get_services(self).settings.grouping
        if chosen in {grouping.value for grouping in Grouping}:
            self.table.group_by(Grouping(chosen))
        yield self.table
        yield self.details
        yield self.neighbourhood

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        self.table.show_layers(layers, is_filtered=bool(filter_text))

    def show_lint(self, job: LintJob) -> None:
        if job.result is not None:
            self.lint = job.result
            self.table.show_marks(layer_marks(job.result))
            self._show_side()

    def show_build(self, job: BuildJob) -> None:
        """Show build details of the layer once the whole log is read."""
        if job.facts is not None and job.facts is not self.build:
            self.build = job.facts
            self._show_side()

    def show_layer(self, layer: Layer | None) -> None:
        if layer is not None and self.table.current_layer is not layer:
            self.table.show_layer(layer)
        self._show_side()

    @property
    def cursor_layer(self) -> Layer | None:
        return self.table.current_layer

    @property
    def is_on_group(self) -> bool:
        return self.table.cursor_item is not None and self.cursor_layer is None

    @property
    def words(self) -> Widget:  # type: ignore[override]  # which of two it is follows from a class
        """The part beside the tree."""
        return self.neighbourhood if self.has_class("-neighbourhood") else self.details

    @property
    def divided_parts(self) -> tuple[Widget, Widget]:
        return self.table, self.words

    @property
    def divider_id(self) -> str:
        """Key of the divider: details and neighbourhood have separate shares."""
        return "neighbourhood" if self.words is self.neighbourhood else "layers"

    @property
    def _has_room_for_both(self) -> bool:
        return self.screen.has_class("-wide") and self.screen.has_class("-tall")

    @property
    def is_beside(self) -> bool:
        return self.screen.focused in (self.details, self.neighbourhood)

    def on_resize(self) -> None:
        if self.is_mounted and self.display:
            self._show_side()

    def view_state(self) -> object:
        tree, is_drawn = self.table, self.words is self.neighbourhood
        return tree.grouping, tree.expanded_by_hand, tree.by_latency, is_drawn, self.neighbourhood.depth

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - as in the base class
        grouping, expanded, by_latency, is_drawn, depth = cast(
            "tuple[Grouping, set[Hashable], bool, bool, int]", state
        )
        self.table.arrange_as(grouping, expanded, by_latency=by_latency)
        self.set_class(is_drawn, "-neighbourhood")
        self.neighbourhood.depth = depth

    def _show_side(self) -> None:
        entry = self.table.cursor_item
        if self.words is self.neighbourhood:
            self.neighbourhood.show(self.cursor_layer)
            if not self._has_room_for_both:
                return
        self.details.show_lines(list(self._detail_lines(entry)), from_top=entry is not self._detailed)
        self._detailed = entry
        if self.facts is None and not self._is_computing and self.display:
            self._is_computing = True
            compute(
                self,
                "Products and roofs",
                partial(derived, self.engine),
                self._take_facts,
                self._refuse_facts,
            )

    def _detail_lines(self, entry: Layer | Group | None) -> Iterable[Line]:
        if entry is None:
            return [Line("No selection.", "muted")]
        if isinstance(entry, Group):
            return group_lines(self.engine, entry, self.table.grouping)
        findings = layer_finding_lines(self.lint, entry.index) if self.lint else ()
        build = layer_build_lines(self.build, entry.index)
        nodes: tuple[Line, ...] = ()
        if self.engine.onnx is not None:
            from trex_tui.old.report.views.onnx_model import onnx_lines  # most engines have no model

            nodes = tuple(onnx_lines(self.engine, entry))
        return layer_lines(self.engine, entry, self.facts, findings, build, nodes)

    def _take_facts(self, facts: Derived | str) -> None:
        self.facts = facts
        self._show_side()

    def _refuse_facts(self, problem: str) -> bool:
        self._take_facts(problem)
        return bool(self.display)

    def row_changed(self) -> None:
        self._show_side()

    def numbers(self) -> list[ShownNumber]:
        """Return all columns with the values of the layer, its time first; on a group, the columns of the tree."""
        if self.is_on_group:
            return super().numbers()
        return layer_numbers(self.engine, engine_columns(self.engine), self.cursor_layer, "latency_ms")

    def open_row(self, row: object) -> None:  # noqa: ARG002 - its details are beside it already
        self.focus_text()

    @on(LinkFollowed)
    def _link_followed(self, event: LinkFollowed) -> None:
        event.stop()
        target = event.target
        self.post_message(
            LayerJumped(self.engine.layers[target]) if isinstance(target, int) else FindingOpened(target)
        )

    @on(BoxOpened)
    def _box_opened(self, event: BoxOpened) -> None:
        event.stop()
        self.post_message(LayerJumped(event.layer))

    @on(RestOpened)
    def _rest_opened(self, event: RestOpened) -> None:
        event.stop()
        self.post_message(NeighboursAsked(event.layer, event.outgoing))

    def action_next_grouping(self) -> None:
        self.table.next_grouping()
        self._grouped()

    def action_choose_grouping(self) -> None:
        options = {grouping.value: grouping.value for grouping in Grouping}
        screen = ChooseScreen("Group by", options, self.table.grouping.value)
        self.app.push_screen(screen, lambda value: self.group_by(Grouping(value)) if value else None)

    def group_by(self, grouping: Grouping) -> None:
        """Group the tree, and remember the grouping."""
        self.table.group_by(grouping)
        self._grouped()

    def _grouped(self) -> None:
        self._show_side()
        get_services(self).remember(grouping=self.table.grouping.value)

    def action_toggle_order(self) -> None:
        self.table.toggle_order()

    def action_zoom(self) -> None:
        """Zoom the part with the focus; the tree if a group is selected, which has no neighbourhood."""
        if self.is_on_group and self.words is self.neighbourhood and self.is_beside:
            self.screen.set_focus(self.table)
        super().action_zoom()

    def action_neighbourhood(self) -> None:
        """Toggle between details and neighbourhood."""
        had_focus = self.is_beside
        self.toggle_class("-neighbourhood")
        self.remove_class("-only-table")
        self.place_divider()
        self._show_side()
        self.refresh_bindings()
        if had_focus:
            self.screen.set_focus(self.words)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Depth applies to the neighbourhood only."""
        if action == "deeper":
            return self.words is self.neighbourhood
        return super().check_action(action, parameters)

    def action_deeper(self, step: int) -> None:
        self.neighbourhood.go_deeper(step)
