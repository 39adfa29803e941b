"""The layers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.actions import Place
from trex_tui.analysis.totals import sum_latency_ms
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.screens.choose import ChooseScreen
from trex_tui.screens.pane import EnginePane, LayerChosen, LayerOpened
from trex_tui.text import format_ms, format_pct, plural
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.columns import latency_columns
from trex_tui.widgets.summary_line import SummaryLine
from trex_tui.widgets.table import RowHighlighted, RowSelected, VirtualTable

NO_PROFILE = "No profile in this set: latency is unknown."


class LatencyPane(EnginePane):
    """The table, and a line with the sum over what it shows."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LATENCY)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.table: VirtualTable[Layer] = VirtualTable(
            latency_columns(engine), id="latency-table", empty_text="No layer matches the filter."
        )
        if engine.has_profile:
            self.table.sort_by("latency_ms")
        self.table.set_rows(engine.layers, keep=lambda layer: layer.index)

    def compose(self) -> ComposeResult:
        """Table, sum."""
        yield self.table
        yield SummaryLine(id="latency-sum")

    def on_mount(self) -> None:
        """Say the sum over all layers."""
        self._say_sum(self.engine.layers)

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:
        """Show these layers and their sum."""
        self.table.set_visible([layer.index for layer in layers] if is_filtered else None)
        self._say_sum(layers)

    def _say_sum(self, layers: Sequence[Layer]) -> None:
        line = self.query_one(SummaryLine)
        total, whole = sum_latency_ms(layers), self.engine.latency_sum_ms
        if not layers:
            line.text = "0 layers"
        elif not self.engine.has_profile:
            line.text = NO_PROFILE
        elif total is None or not whole:
            line.text = f"{plural(len(layers), 'layer')}, none of them profiled"
        else:
            share = format_pct(100.0 * total / whole)
            line.text = f"{plural(len(layers), 'layer')} · {format_ms(total)} ms · {share} % of all"

    def show_layer(self, layer: Layer | None) -> None:
        """Put the cursor on the layer."""
        if layer is not None and self.table.cursor_item is not layer:
            self.table.move_to(layer)

    @property
    def cursor_layer(self) -> Layer | None:
        """The layer under the cursor."""
        return self.table.cursor_item

    @property
    def main_part(self) -> VirtualTable[Layer]:
        """The table."""
        return self.table

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted[Layer]) -> None:
        event.stop()
        if self.display and event.item is not None:
            self.post_message(LayerChosen(event.item))

    @on(RowSelected)
    def _selected(self, event: RowSelected[Layer]) -> None:
        event.stop()
        self.post_message(LayerOpened(event.item))

    def action_choose_sort(self) -> None:
        """Offer the columns; the choice sorts, choosing the sorted one again reverses."""
        titles = {column.key: f"{column.title}  ({column.key})" for column in self.table.columns}
        current = self.table.sort_keys[0].column if self.table.sort_keys else None
        options = {"": "execution order", **titles}
        self.app.push_screen(
            ChooseScreen("Sort by", options, self.table.current_column or current), self._sort
        )

    def _sort(self, key: str | None) -> None:
        if key is None:
            return
        if key and self.table.sort_keys and self.table.sort_keys[0].column == key:
            self.table.reverse_sort()
        else:
            self.table.sort_by(key or None)

    def action_reverse(self) -> None:
        """Turn the order round."""
        self.table.reverse_sort()
