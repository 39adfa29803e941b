"""Latency: the layers as a table to sort, filter and mark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.column import Column
from trex_tui.engine.model import Engine
from trex_tui.report.document import Section, drop_empty_columns
from trex_tui.report.selection import sort_rows
from trex_tui.report.views.layers import describe_total
from trex_tui.screens.pane import EnginePane, layer_shorteners
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.table import FrameTable

DEFAULT = (
    "index",
    "name",
    "kind",
    "precision",
    "latency_ms",
    "latency_pct",
    "cumulative_pct",
    "bound",
    "roof_pct",
    "output_precision",
    "tactic",
)


class LatencyPane(EnginePane):
    tab = "latency"
    BINDINGS: ClassVar[list[BindingType]] = bindings("latency")
    DEFAULT_CSS = "LatencyPane #total { color: $muted; background: $panel; }"

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.sort = "latency_ms" if engine.has_profile else ""
        self.is_reversed = False
        self.columns: Sequence[Column] = [engine.columns[key] for key in DEFAULT]

    def compose(self) -> ComposeResult:
        yield FrameTable(id="main")
        yield StatusLine("status")
        yield StatusLine("total")

    def watch_shown(self) -> None:
        self.show_rows()

    def watch_current_layer(self, layer: int | None) -> None:
        self.query_one(FrameTable).move_to(layer)

    def show_rows(self) -> None:
        """Show the layers that the filter leaves, in the order of the sort."""
        if self.shown is None:
            return
        table = self.query_one(FrameTable)
        index = sort_rows(self.engine, self.shown.rows, self.sort or None, is_reversed=self.is_reversed)
        frame = self.engine.frame(*(column.key for column in self.columns)).loc[index]
        table.sort = self.sort
        section = Section(
            "layers",
            "Layers",
            frame=frame,
            columns=self.columns,
            bar="latency_pct",
            shorten=layer_shorteners(self.engine),
        )
        table.show(drop_empty_columns(section))
        self.query_one("#total", StatusLine).update(describe_total(self.engine, index))

    @on(FrameTable.SortAsked)
    def _sort(self, event: FrameTable.SortAsked) -> None:
        self.is_reversed = not self.is_reversed if event.key == self.sort else False
        self.sort = event.key
        self.show_rows()

    def action_reverse_sort(self) -> None:
        self.is_reversed = not self.is_reversed
        self.show_rows()
