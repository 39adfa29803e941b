"""The layers as a tree, and everything about one of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.screens.pane import EnginePane, LayerChosen
from trex_tui.widgets.layer_details import LayerDetails
from trex_tui.widgets.layer_tree import LayerTree
from trex_tui.widgets.table import RowHighlighted, RowSelected


class LayersPane(EnginePane):
    """Tree and details: side by side where there is room, else one above the other."""

    BINDINGS: ClassVar[list[BindingType]] = []

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
        row = self.layer_tree.cursor_item
        self.details.show(self.engine, row.entry if row else None)

    def take_focus(self) -> None:
        """The keyboard goes to the tree."""
        self.layer_tree.focus()

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted[object]) -> None:
        event.stop()
        row = self.layer_tree.cursor_item
        self.details.show(self.engine, row.entry if row else None)
        # A tree that is not on screen moves because of a filter, not because a person chose.
        if self.display and row is not None and isinstance(row.entry, Layer):
            self.post_message(LayerChosen(row.entry))

    @on(RowSelected)
    def _selected(self, event: RowSelected[object]) -> None:
        event.stop()
        self.details.focus()

    def action_zoom(self) -> None:
        """Give the whole room to the part that has the keyboard, or take it back."""
        self.toggle_class("-zoomed")
