"""Latency: the layers as a table to sort, filter and mark."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import pandas as pd
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.engine.model import Engine
from trex_tui.frames import is_number
from trex_tui.report.document import Section
from trex_tui.report.selection import sort_rows
from trex_tui.report.views.layers import describe_total
from trex_tui.screens import dialogs
from trex_tui.screens.layer_rows import layer_styles, make_section
from trex_tui.screens.pane import EnginePane
from trex_tui.screens.settings import Settings
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.table import FrameTable

_COLUMNS = ("index", "name", "latency_ms", "latency_pct", "kind", "precision", "cumulative_pct", "bound", "roof_pct",
            "output_precision", "tactic", "output_shapes")  # fmt: skip
"""Of most value first: the last ones leave a narrow table."""
_ORDER = ("index", "name", "kind", "precision", "latency_ms", "latency_pct")
"""Where they stand; the others follow."""


class LatencyPane(EnginePane):
    """Sort and columns are those that the user chose; columns are remembered, the sort is not."""

    tab = "latency"
    BINDINGS: ClassVar[list[BindingType]] = bindings("latency")
    DEFAULT_CSS = "LatencyPane #total { background: $panel; }"

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.sort = "latency_ms" if engine.has_profile else ""
        self.then_by = ""
        self.is_reversed = False

    def compose(self) -> ComposeResult:
        yield FrameTable(id="main", cell_styles=layer_styles(self.engine))
        yield StatusLine("status")
        yield StatusLine("total")

    def watch_shown(self) -> None:
        self.show_rows()

    def watch_lint(self) -> None:
        self.show_rows()

    def watch_current_layer(self, layer: int | None) -> None:
        self.query_one(FrameTable).move_to(layer)

    @property
    def keys(self) -> list[str]:
        """The columns: those that the user chose, else the usual ones."""
        chosen = [key for key in Settings.of(self).words("columns") if key in self.engine.columns]
        keys = chosen or [*_ORDER, *(key for key in _COLUMNS if key not in _ORDER)]
        return keys if self.sort in (*keys, "") else [*keys, self.sort]

    def show_rows(self) -> None:
        """Show the layers that the filter leaves, in the order of the sort."""
        if self.shown is None:
            return
        table = self.query_one(FrameTable)
        index = sort_rows(self.engine, self.shown.rows, self.sort or None, is_reversed=self.is_reversed)
        if self.then_by:
            keys = [self.sort, self.then_by]
            values = self.engine.frame(*keys).loc[index]
            ascending = [is_number(values[key]) is self.is_reversed for key in keys]
            index = values.sort_values(keys, ascending=ascending, kind="stable", na_position="last").index
        table.sort = self.sort
        table.is_descending = (
            bool(self.sort) and is_number(self.engine.column(self.sort)) is not self.is_reversed
        )
        section = make_section(self.engine, index, self.keys, self.lint)
        if self.shown.text and section.frame is not None and "cumulative_pct" in section.frame:
            shares = self.engine.column("latency_pct").loc[index].sort_values(ascending=False, kind="stable")
            section = replace(section, frame=section.frame.assign(cumulative_pct=shares.cumsum()))
        table.show(section)
        table.move_to(self.current_layer)
        self.query_one("#total", StatusLine).update(describe_total(self.engine, index))

    def sections(self) -> list[Section]:
        """Return the rows on screen with the values of the file."""
        index = pd.Index(self.query_one(FrameTable).rows)
        columns = [self.engine.columns[key] for key in self.keys]
        return [
            Section(
                "layers",
                "Layers",
                frame=self.engine.frame(*self.keys).loc[index],
                columns=columns,
                noun="layer",
            )
        ]

    # Sort and columns

    def _sort_by(self, key: str) -> None:
        self.is_reversed = not self.is_reversed if key == self.sort else False
        self.sort, self.then_by = key, ""
        self.show_rows()

    @on(FrameTable.SortAsked)
    def _click_header(self, event: FrameTable.SortAsked) -> None:
        self._sort_by("" if event.key == "index" else event.key)

    def action_reverse_sort(self) -> None:
        self.is_reversed = not self.is_reversed
        self.show_rows()

    def action_choose_sort(self) -> None:
        options = {"": "execution order", **{key: _describe(self.engine, key) for key in self._sortable}}
        dialogs.choose(self.app, "Sort by", options, self._sort_by, self.sort)

    def action_then_by(self) -> None:
        def finish(key: str) -> None:
            self.then_by = key
            self.show_rows()

        options = {key: _describe(self.engine, key) for key in self._sortable if key != self.sort}
        if self.sort:
            dialogs.choose(
                self.app, f"Then by, after {self.engine.columns[self.sort].title}", options, finish
            )

    @property
    def _sortable(self) -> list[str]:
        """The columns with values, those on screen first."""
        others = [
            key for key, column in self.engine.columns.items() if column.priority < 9 or key in self.keys
        ]
        return list(dict.fromkeys([*self.keys, *others]))

    def action_choose_columns(self) -> None:
        def finish(keys: list[str]) -> None:
            Settings.of(self).set("columns", keys or None)
            self.show_rows()

        options = {
            key: _describe(self.engine, key) for key in dict.fromkeys([*self.keys, *self.engine.columns])
        }
        dialogs.choose_columns(self.app, "Columns", options, self.keys, finish)

    def place(self) -> Any:  # noqa: ANN401 - as in the base class
        return (super().place(), self.sort, self.then_by, self.is_reversed)

    def return_to(self, place: Any) -> None:  # noqa: ANN401 - as in the base class
        inner, self.sort, self.then_by, self.is_reversed = place
        self.show_rows()
        super().return_to(inner)


def _describe(engine: Engine, key: str) -> str:
    column = engine.columns[key]
    return f"{column.title:<14} {key:<22} {column.help}"
