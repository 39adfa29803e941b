"""The layers as a tree, and everything about one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.actions import Place
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.screens.pane import EnginePane, LayerChosen
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.layer_details import LayerDetails
from trex_tui.widgets.layer_tree import LayerTree
from trex_tui.widgets.table import RowHighlighted, RowSelected


class LayersPane(EnginePane):
    """Tree and details: side by side where there is room, else one above the other."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LAYERS)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.layer_tree = LayerTree(engine, id="layer-tree")
        self.details = LayerDetails(id="layer-details")

    def compose(self) -> ComposeResult:
        """Tree, details."""
        yield self.layer_tree
        yield self.details

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:
        """Show the modules of these layers."""
        self.layer_tree.show_layers(layers, is_filtered=is_filtered)

    def show_layer(self, layer: Layer | None) -> None:
        """Put the tree on the layer, unless it is already there."""
        if layer is not None and self.layer_tree.current_layer is not layer:
            self.layer_tree.show_layer(layer)
        self._show_details()

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
        self.remove_class("-only-details")
        return self.layer_tree

    def _show_details(self) -> None:
        row = self.layer_tree.cursor_item
        self.details.show(self.engine, row.entry if row else None)

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted[object]) -> None:
        event.stop()
        self._show_details()
        # A tree that is not on screen moves because of a filter, not because a person chose.
        if self.display and self.cursor_layer is not None:
            self.post_message(LayerChosen(self.cursor_layer))

    @on(RowSelected)
    def _selected(self, event: RowSelected[object]) -> None:
        event.stop()
        self.remove_class("-only-tree")
        self.screen.set_focus(self.details)

    def action_next_grouping(self) -> None:
        """Group the tree by something else."""
        self.layer_tree.next_grouping()

    def action_toggle_order(self) -> None:
        """Order the tree by time, or by execution."""
        self.layer_tree.toggle_order()

    def action_zoom(self) -> None:
        """Give the whole room to the part that has the keyboard, or take it back."""
        if self.has_class("-only-tree") or self.has_class("-only-details"):
            self.remove_class("-only-tree", "-only-details")
        else:
            self.add_class("-only-details" if self.screen.focused is self.details else "-only-tree")
