"""Latency screen: table of layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType

from trex_tui.old.analysis.columns import Derived, derived, find_column
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.model import FindingSeverity
from trex_tui.old.report.absence import no_layer, no_profile
from trex_tui.old.report.views.layer_table import describe_total
from trex_tui.old.report.views.lint import layer_marks
from trex_tui.old.screens.dialogs import ChooseScreen, ColumnsScreen
from trex_tui.old.screens.jobs import LintJob
from trex_tui.old.screens.pane import LayerTablePane, MarksChanged, Selection, ShowsLint, restore_sort
from trex_tui.old.screens.reload import corresponding
from trex_tui.old.screens.services import compute, get_services
from trex_tui.old.text import plural
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.chrome import SummaryLine
from trex_tui.old.widgets.table import SortChanged, SortKey, VirtualTable
from trex_tui.old.widgets.table_columns import (
    MARK_COLUMN,
    chosen_columns,
    column_titles,
    latency_columns,
    mark_column,
)
from trex_tui.old.widgets.table_model import TableColumn


class LatencyPane(LayerTablePane, ShowsLint):
    """Table of layers, with sums of shown and marked layers."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LATENCY)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.summary = SummaryLine(id="latency-sum")
        self.table = VirtualTable(latency_columns(engine), id="latency-table", empty_text=no_layer(engine))
        self._layers: Sequence[Layer] = engine.layers
        self._marks: dict[int, FindingSeverity] = {}
        self._has_bounds = False

    def compose(self) -> ComposeResult:
        self._take_settings()
        self.table.set_rows(self.engine.layers, keep=lambda layer: layer.index)
        yield self.table
        yield self.summary

    @property
    def divided_parts(self) -> None:
        """Return None: there is no text beside the table."""

    def on_mount(self) -> None:
        self._say_sum()
        make = partial(derived, self.engine)
        compute(self, "Products and roofs", make, self._take_facts, lambda _: False)

    def _take_facts(self, facts: Derived) -> None:
        """Show bounds and roofs if they are known, unless the user chose the columns."""
        is_default = self._column_keys == self._default_keys
        self._has_bounds = any(point.bound for point in facts.roofline.points.values())
        if is_default and self._has_bounds:
            self._set_columns(latency_columns(self.engine, has_bounds=True))

    @property
    def _default_keys(self) -> list[str]:
        return [column.key for column in latency_columns(self.engine, has_bounds=self._has_bounds)]

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        self._layers = layers
        self.table.set_visible([layer.index for layer in layers] if filter_text else None)
        self._say_sum()

    def _say_sum(self) -> None:
        words = self._format_sum(self._layers, plural(len(self._layers), "layer"))
        marked = self.marked_layers
        if marked:
            words += "   " + self._format_sum(marked, f"{len(marked)} marked").removesuffix(" of all")
        self.summary.text = words

    def _format_sum(self, layers: Sequence[Layer], counted: str) -> str:
        if layers and not self.engine.has_profile:
            return no_profile(self.engine) if layers is self._layers else counted
        return describe_total(self.engine, layers, counted)

    def selection(self) -> Selection:
        return replace(super().selection(), layers=self.marked_layers)

    # Earlier choices of the user

    def _take_settings(self) -> None:
        settings = get_services(self).settings
        columns = [name for name in settings.columns if find_column(name, self.engine)]
        if columns:
            self._set_columns(chosen_columns(self.engine, columns))
        if settings.sort is not None:
            restore_sort(self.table, [SortKey(*key) for key in settings.sort])
        elif self.engine.has_profile and "latency_ms" in self._column_keys:
            self.table.sort_by("latency_ms")

    def view_state(self) -> object:
        return super().view_state(), self.marked_layers

    def restore_view(self, state: object, old: Engine) -> None:
        order, marked = cast("tuple[object, list[Layer]]", state)
        super().restore_view(order, old)
        layers = (corresponding(old, self.engine, layer) for layer in marked)
        self._mark(frozenset(layer.index for layer in layers if layer is not None))

    # Order

    def action_choose_sort(self) -> None:
        """Choose the sort column; choosing the current one reverses."""
        self._offer_columns("Sort by", self._sort, {"": self.natural_order})

    def sort_by(self, key: str) -> None:
        """Sort by a column, which is added if it is hidden."""
        self._bring_in(key)
        self.table.sort_by(key)

    def action_then_by(self) -> None:
        self._offer_columns("Then by", self._then_by, {})

    def _offer_columns(self, title: str, choose: Callable[[str | None], None], first: dict[str, str]) -> None:
        table = self.table
        current = table.sort_keys[0].column if table.sort_keys else None
        options = first | self._titles(self._column_keys)
        self.app.push_screen(ChooseScreen(title, options, table.current_column or current), choose)

    def _sort(self, key: str | None) -> None:
        if key is None:
            return
        if key and self.table.sort_keys and self.table.sort_keys[0].column == key:
            self.table.reverse_sort()
        elif key:
            self.sort_by(key)
        else:
            self.table.sort_by(None)

    def _then_by(self, key: str | None) -> None:
        if key:
            self._bring_in(key)
            self.table.add_sort(key)

    @on(SortChanged)
    def _sorted(self, event: SortChanged[Layer]) -> None:
        event.stop()
        get_services(self).remember(sort=tuple((key.column, key.descending) for key in event.keys))

    # Columns

    def _titles(self, first: Sequence[str]) -> dict[str, str]:
        """Name -> title of all columns, `first` before the others."""
        titles = column_titles(self.engine)
        return {name: titles[name] for name in (*first, *titles)}

    @property
    def _column_keys(self) -> list[str]:
        """Keys of the shown columns without the lint marks."""
        return [column.key for column in self.table.columns if column.key != MARK_COLUMN]

    def _set_columns(self, columns: Sequence[TableColumn[Layer]]) -> None:
        self.table.set_columns(self._with_marks(columns))

    def _with_marks(self, columns: Sequence[TableColumn[Layer]]) -> list[TableColumn[Layer]]:
        if not self._marks:
            return list(columns)
        return [mark_column(lambda layer: self._marks.get(layer.index)), *columns]

    def show_lint(self, job: LintJob) -> None:
        if job.result is not None:
            self._marks = layer_marks(job.result)
            self._set_columns([column for column in self.table.columns if column.key != MARK_COLUMN])

    def _bring_in(self, key: str) -> None:
        """Show a hidden column that is sorted by."""
        shown = self._column_keys
        if key and key not in shown:
            self._show_columns((*shown, key))
            self.table.current_column = key

    def action_choose_columns(self) -> None:
        screen = ColumnsScreen(self._titles([]), self._column_keys, self._default_keys, self._fitting)
        self.app.push_screen(screen, lambda names: self._show_columns(names) if names else None)

    def _show_columns(self, names: tuple[str, ...]) -> None:
        self._set_columns(self._make_columns(names))
        is_default = list(names) == self._default_keys
        get_services(self).remember(columns=() if is_default else names)

    def _make_columns(self, names: Sequence[str]) -> list[TableColumn[Layer]]:
        if list(names) == self._default_keys:
            return latency_columns(self.engine, has_bounds=self._has_bounds)
        return chosen_columns(self.engine, names)

    def _fitting(self, names: Sequence[str]) -> set[str]:
        """Return the columns that fit into the table."""
        columns = self._with_marks(self._make_columns(names))
        return {column.key for column in self.table.choose_fitting(columns)}

    # Marks

    @property
    def marked_layers(self) -> list[Layer]:
        """The marked layers in table order; filtered ones last."""
        marked = self.table.marked
        if not marked:
            return []
        shown = [layer for layer in self.table.shown_rows if layer.index in marked]
        hidden = marked - {layer.index for layer in shown}
        return shown + [layer for layer in self.engine.layers if layer.index in hidden]

    def action_mark(self) -> None:
        """Toggle the mark and move down."""
        layer = self.cursor_layer
        if layer is not None:
            self._mark(self.table.marked ^ {layer.index})
            self.table.action_cursor_down()

    def clear_marks(self) -> None:
        self._mark(frozenset())

    def _mark(self, marked: frozenset[object]) -> None:
        self.table.marked = marked
        self._say_sum()
        self.post_message(MarksChanged())
