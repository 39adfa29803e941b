"""The layers as a tree, and beside it everything about one of them, or its neighbourhood."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from trex_tui.analysis.build import BuildFacts
from trex_tui.analysis.columns import Derived, derived
from trex_tui.analysis.modules import Group, Grouping
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.lint.model import LintResult
from trex_tui.report.views.build_details import layer_build_lines
from trex_tui.report.views.layer_details import Line, group_lines, layer_lines
from trex_tui.report.views.lint import layer_finding_lines, layer_marks
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.navigation import LayerJumped, NeighboursAsked
from trex_tui.screens.pane import EnginePane, LayerChosen
from trex_tui.screens.worker_errors import AnswerFailed, posts_errors
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.layer_tree import LayerTree
from trex_tui.widgets.linked_text import LinkedText, LinkFollowed
from trex_tui.widgets.neighbourhood import BoxOpened, NeighbourhoodView, RestOpened
from trex_tui.widgets.table import RowHighlighted, RowSelected

if TYPE_CHECKING:
    from trex_tui.app import TrexApp


@dataclass
class FactsComputed(Message):
    """What takes a computation over the whole engine is there."""

    facts: Derived


class LayersPane(EnginePane):
    """Tree and details: side by side where there is room, else one above the other.

    Attributes:
        facts: What the details tell of products and roofs; None until it is computed, which begins when it is first
            wanted.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LAYERS)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.layer_tree = LayerTree(engine, id="layer-tree")
        self.details = LinkedText(id="layer-details")
        self.details.border_title = Content("v neighbours · [ ] walk · - back · l h links").markup
        self._detailed: Layer | Group | None = None
        self.neighbourhood = NeighbourhoodView(engine, id="layer-neighbourhood")
        self.facts: Derived | str | None = None
        """A text says why there are none."""
        self._is_computing = False
        self.lint: LintResult | None = None
        self.build: BuildFacts | None = None

    def compose(self) -> ComposeResult:
        """Tree, details, neighbourhood; one of the last two is shown."""
        chosen = self._trex_app.settings.grouping
        if chosen in {one.value for one in Grouping}:
            self.layer_tree.group_by(Grouping(chosen))
        yield self.layer_tree
        yield self.details
        yield self.neighbourhood

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:
        """Show the modules of these layers."""
        self.layer_tree.show_layers(layers, is_filtered=is_filtered)

    def show_lint(self, result: LintResult) -> None:
        """Mark the layers in the tree, and tell the findings of the current one."""
        self.lint = result
        self.layer_tree.show_marks(layer_marks(result))
        self._show_side()

    def show_build(self, facts: BuildFacts) -> None:
        """Tell what the log says of the current layer."""
        self.build = facts
        self._show_side()

    def show_layer(self, layer: Layer | None) -> None:
        """Put the tree on the layer, unless it is already there."""
        if layer is not None and self.layer_tree.current_layer is not layer:
            self.layer_tree.show_layer(layer)
        self._show_side()

    @property
    def cursor_layer(self) -> Layer | None:
        """The layer under the cursor; None on a group."""
        return self.layer_tree.current_layer

    @property
    def is_on_group(self) -> bool:
        """Whether the cursor is on a group of layers."""
        return self.layer_tree.cursor_item is not None and self.cursor_layer is None

    @property
    def main_part(self) -> LayerTree:
        """The tree; it comes back if the details had all the room."""
        self.remove_class("-only-side")
        return self.layer_tree

    @property
    def side(self) -> Widget:
        """What stands beside the tree."""
        return self.neighbourhood if self.has_class("-neighbourhood") else self.details

    @property
    def _has_room_for_both(self) -> bool:
        """Whether details and neighbourhood are shown together."""
        return self.screen.has_class("-wide") and self.screen.has_class("-tall")

    @property
    def _is_aside(self) -> bool:
        """Whether the keyboard is beside the tree."""
        return self.screen.focused in (self.details, self.neighbourhood)

    def on_resize(self) -> None:
        """Fill what there is room for now."""
        if self.is_mounted and self.display:
            self._show_side()

    def view_state(self) -> object:
        """Grouping, order, what is expanded, and what stands beside the tree."""
        tree, is_drawn = self.layer_tree, self.side is self.neighbourhood
        return tree.grouping, tree.expanded_by_hand, tree.by_latency, is_drawn, self.neighbourhood.depth

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - as in the base class
        """Group, order, expand and draw as before."""
        grouping, expanded, by_latency, is_drawn, depth = cast(
            "tuple[Grouping, set[Hashable], bool, bool, int]", state
        )
        self.layer_tree.arrange_as(grouping, expanded, by_latency=by_latency)
        self.set_class(is_drawn, "-neighbourhood")
        self.neighbourhood.depth = depth

    def _show_side(self) -> None:
        entry = self.layer_tree.cursor_item
        if self.side is self.neighbourhood:
            self.neighbourhood.show(self.cursor_layer)
            if not self._has_room_for_both:
                return
        self.details.show_lines(list(self._detail_lines(entry)), from_top=entry is not self._detailed)
        self._detailed = entry
        if self.facts is None and not self._is_computing and self.display:
            self._is_computing = True
            self._compute()

    def _detail_lines(self, entry: Layer | Group | None) -> Iterable[Line]:
        if entry is None:
            return [Line("Nothing is selected.", "muted")]
        if isinstance(entry, Group):
            return group_lines(self.engine, entry, self.layer_tree.grouping)
        findings = layer_finding_lines(self.lint, entry.index) if self.lint else ()
        build = layer_build_lines(self.build, entry.index)
        return layer_lines(self.engine, entry, self.facts, findings, build)

    @work(thread=True)
    @posts_errors("Products and roofs")
    def _compute(self) -> None:
        self.post_message(FactsComputed(derived(self.engine)))

    @on(FactsComputed)
    def _computed(self, event: FactsComputed) -> None:
        self.facts = event.facts
        self._show_side()

    @on(AnswerFailed)
    def _not_computed(self, event: AnswerFailed) -> None:
        self.facts = event.problem
        if self.display:
            event.stop()
        self._show_side()

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted[object]) -> None:
        event.stop()
        self._show_side()
        # A tree that is not on screen moves because of a filter, not because a person chose.
        if self.display and self.cursor_layer is not None:
            self.post_message(LayerChosen(self.cursor_layer))

    @on(RowSelected)
    def _selected(self, event: RowSelected[object]) -> None:
        event.stop()
        self.remove_class("-only-tree")
        self.screen.set_focus(self.side)

    @on(LinkFollowed)
    def _link_followed(self, event: LinkFollowed) -> None:
        event.stop()
        self.post_message(LayerJumped(self.engine.layers[event.index]))

    @on(BoxOpened)
    def _box_opened(self, event: BoxOpened) -> None:
        event.stop()
        self.post_message(LayerJumped(event.layer))

    @on(RestOpened)
    def _rest_opened(self, event: RestOpened) -> None:
        event.stop()
        self.post_message(NeighboursAsked(event.layer, event.outgoing))

    def action_next_grouping(self) -> None:
        """Group the tree by the next thing."""
        self.layer_tree.next_grouping()
        self._grouped()

    def action_choose_grouping(self) -> None:
        """Offer what the tree can be grouped by."""
        options = {one.value: one.value for one in Grouping}
        screen = ChooseScreen("Show the layers", options, self.layer_tree.grouping.value)
        self.app.push_screen(screen, self._group)

    def _group(self, value: str | None) -> None:
        if value is not None:
            self.layer_tree.group_by(Grouping(value))
            self._grouped()

    def _grouped(self) -> None:
        self._show_side()
        self._trex_app.remember(grouping=self.layer_tree.grouping.value)

    @property
    def _trex_app(self) -> TrexApp:
        return cast("TrexApp", self.app)

    def action_toggle_order(self) -> None:
        """Order the tree by time, or by execution."""
        self.layer_tree.toggle_order()

    def action_neighbourhood(self) -> None:
        """Show the neighbourhood of the layer in place of its details, or the other way round."""
        had_focus = self._is_aside
        self.toggle_class("-neighbourhood")
        self.remove_class("-only-tree")
        self._show_side()
        self.refresh_bindings()
        if had_focus:
            self.screen.set_focus(self.side)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Links are followed where neighbours are drawn."""
        if action == "deeper":
            return self.side is self.neighbourhood
        return super().check_action(action, parameters)

    def action_deeper(self, step: int) -> None:
        """Follow one link more between the neighbours, or one less."""
        self.neighbourhood.go_deeper(step)

    def action_zoom(self) -> None:
        """Give the whole room to the part that has the keyboard, or take it back."""
        if self.has_class("-only-tree") or self.has_class("-only-side"):
            self.remove_class("-only-tree", "-only-side")
        else:
            self.add_class("-only-side" if self._is_aside else "-only-tree")
