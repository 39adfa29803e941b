"""Base classes of the tabs of an engine, and their messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Generic, cast

from textual import on
from textual.message import Message
from textual.widget import Widget

from trex_tui.old.analysis.columns import find_column
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.screens.dialogs import choose_sort
from trex_tui.old.screens.divider import DividedContainer
from trex_tui.old.screens.explanation import LAYERS, ShownNumber, column_numbers
from trex_tui.old.widgets.table import RowHighlighted, RowSelected, VirtualTable
from trex_tui.old.widgets.table_model import Row, SortKey
from trex_tui.old.widgets.text_view import LinkedText

if TYPE_CHECKING:
    from trex_tui.old.lint.model import Judged
    from trex_tui.old.report.chart_file import ShownChart
    from trex_tui.old.report.document import ListingOffer
    from trex_tui.old.report.views.compare import Shown
    from trex_tui.old.screens.jobs import BuildJob, LintJob


@dataclass
class LayerChosen(Message):
    """The cursor moved to a layer, which becomes the current one."""

    layer: Layer


@dataclass
class LayerOpened(Message):
    """Show the details of a layer."""

    layer: Layer


@dataclass
class LayerJumped(Message):
    """Select a layer; the focus stays."""

    layer: Layer


@dataclass
class LayersFiltered(Message):
    """Show the layers that match a filter, in addition to the present one: `kind:gemm`.

    Attributes:
        title: For the trail in the header; by default the filter.
        tab: Where to show them.
    """

    filter_text: str
    title: str = ""
    tab: str = "latency"


@dataclass
class FindingOpened(Message):
    """Show a finding on Lint."""

    judged: Judged


@dataclass
class NeighboursAsked(Message):
    """Choose among all consumers or producers of a layer."""

    layer: Layer
    outgoing: bool


@dataclass
class OtherOpened(Message):
    """Show a layer of another engine."""

    engine: Engine
    layer: Layer
    others: tuple[Engine, ...]


@dataclass
class MarksChanged(Message):
    """The marks changed."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Content that copy and export apply to.

    Attributes:
        engine: Whose layers are copied: with `layers` another one than that of the screen where those are another's.
        layers: The marked layers, or those of another engine under the cursor; empty for the current layer.
        rows: The layers of the table on screen; None for all that the filter leaves.
        columns: The columns of that table.
        chart: The chart on screen.
        comparison: What an export is of instead of layers.
        listings: What an export may be of beside layers, by its words.
    """

    engine: Engine
    layers: Sequence[Layer] = ()
    rows: Sequence[Layer] | None = None
    columns: Sequence[LayerColumn] = ()
    chart: ShownChart | None = None
    comparison: Shown | None = None
    listings: Mapping[str, ListingOffer] = field(default_factory=dict)


class ShowsLint:
    """A pane that shows findings."""

    def show_lint(self, job: LintJob) -> None:
        """Show the result of the rules, or why there is none."""
        raise NotImplementedError


class ShowsBuild:
    """A pane that shows the build log."""

    def show_build(self, job: BuildJob) -> None:
        """Show what has been read of the log, or why it cannot be read."""
        raise NotImplementedError


class EnginePane(DividedContainer):
    """A tab of an engine: shows layers, and posts what the user does.

    Attributes:
        begins_at_slowest: Whether the slowest layer is selected where nobody chose one.
        has_layer_rows: Whether rows are layers. Then a row selected in place of the current layer, which the filter hides,
            is current on the next tab. A finding or block selected that way changes nothing.
    """

    DEFAULT_CSS = """
    EnginePane { width: 100%; height: 100%; }
    """
    # Each pane has its own layout: the first frame parses one. It is not scoped, since breakpoints are classes of the screen.

    begins_at_slowest = True
    has_layer_rows = False

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.engine = engine
        self.is_searched = False
        """True while a search is active: its keys go from match to match."""

    @property
    def searched_table(self) -> VirtualTable[Any] | None:
        """The list in view; None if there is no list to search."""
        return None

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Show the layers that match the filter; all without one."""
        raise NotImplementedError

    def show_layer(self, layer: Layer | None) -> None:
        """Select the layer, or a near one if the filter hides it."""
        raise NotImplementedError

    @property
    def cursor_layer(self) -> Layer | None:
        """The layer under the cursor; None on anything else."""
        raise NotImplementedError

    @property
    def is_on_group(self) -> bool:
        """True if the cursor is on something other than a layer of this engine."""
        return False

    @property
    def main_part(self) -> Widget:
        """The widget that gets the focus."""
        raise NotImplementedError

    def selection(self) -> Selection:
        """Layers for copy and export."""
        return Selection(self.engine)

    def numbers(self) -> list[ShownNumber]:
        """Return the numbers on screen for `i`, the selected one first."""
        return []

    @property
    def explained_thing(self) -> str:
        """Subject of the values of `numbers`; empty for none."""
        layer = self.cursor_layer
        return "" if layer is None else layer.name

    def place(self) -> object:
        """Return the state of the view for a later return: cursor, scroll position, focus."""
        return None

    def return_to(self, place: object) -> None:
        """Restore the view saved in `place`."""

    def view_state(self) -> object:
        """State of the view to keep when the engine is reloaded; None for nothing."""
        return None

    def restore_view(self, state: object, old: Engine) -> None:
        """Apply the `view_state` of the previous engine's pane."""


_ZOOMS = ("-only-table", "-only-words")


@dataclass(frozen=True, slots=True)
class TablePlace:
    """Cursor, scroll positions and zoom of a pane with a table.

    Attributes:
        rows: Cursor and scroll position of the table.
        words_y: Scroll position of the text beside it.
        chosen: The link that is chosen in that text.
        is_beside: Whether the text has the focus.
        zooms: Classes of the pane where a part is zoomed.
    """

    rows: object
    words_y: float
    chosen: int | None
    is_beside: bool
    zooms: Sequence[str]


class TablePane(EnginePane, Generic[Row]):
    """A pane with a table and text beside it.

    Attributes:
        table: The table on screen.
        words: The text beside it.
        natural_order: Name of the order of its rows without a sort.
        table_id: Id under which the columns of the table are explained.
    """

    table: VirtualTable[Row]
    words: Widget
    natural_order = "execution order"
    table_id = LAYERS

    @property
    def searched_table(self) -> VirtualTable[Any] | None:
        return self.table if self.table.display else None

    @property
    def first_column(self) -> str | None:
        """Key of the chosen column, else of the sort column."""
        keys = self.table.sort_keys
        return self.table.current_column or (keys[0].column if keys else None)

    def numbers(self) -> list[ShownNumber]:
        """The columns of the table, the chosen one first."""
        return column_numbers(self.table, self.table_id, self.first_column)

    def get_layer(self, row: Row) -> Layer | None:
        """Return the layer of a row."""
        raise NotImplementedError

    def row_changed(self) -> None:
        """Update the parts that depend on the row under the cursor."""

    def choose_layer(self, layer: Layer) -> None:
        self.post_message(LayerChosen(layer))

    def open_row(self, row: Row) -> None:
        """Show the details of a row."""
        layer = self.get_layer(row)
        if layer is not None:
            self.post_message(LayerOpened(layer))
        else:
            self.focus_text()

    def focus_text(self) -> None:
        self.remove_class("-only-table")
        self.screen.set_focus(self.words)

    @property
    def divided_parts(self) -> tuple[Widget, Widget] | None:
        return self.table, self.words

    @property
    def cursor_layer(self) -> Layer | None:
        row = self.table.cursor_item
        return None if row is None else self.get_layer(row)

    @property
    def main_part(self) -> Widget:
        """Return the table, shown again if the text was zoomed."""
        self.remove_class("-only-words")
        return self.table

    @property
    def is_beside(self) -> bool:
        """True if the focus is on the text."""
        return self.screen.focused is self.words

    @on(RowHighlighted)
    def _highlight_row(self, event: RowHighlighted[Any]) -> None:
        event.stop()
        if event.table is not self.table:
            return
        self.row_changed()
        # A table that is not on screen moves because of a filter, not because of the user.
        layer = self.cursor_layer if self.display else None
        if layer is not None:
            self.choose_layer(layer)

    @on(RowSelected)
    def _select_row(self, event: RowSelected[Any]) -> None:
        event.stop()
        self.open_row(event.item)

    def action_choose_sort(self) -> None:
        choose_sort(self.table, self.natural_order)

    def action_reverse(self) -> None:
        self.table.reverse_sort()

    def action_zoom(self) -> None:
        """Zoom the part with the focus, or unzoom."""
        if self.has_class("-only-table") or self.has_class("-only-words"):
            self.remove_class("-only-table", "-only-words")
        else:
            self.add_class("-only-words" if self.is_beside else "-only-table")

    def place(self) -> object:
        zooms = [name for name in _ZOOMS if self.has_class(name)]
        words = None if self.divided_parts is None else self.words
        if words is None:
            return TablePlace(self.table.place(), 0, None, is_beside=False, zooms=zooms)
        chosen = words.chosen if isinstance(words, LinkedText) else None
        return TablePlace(self.table.place(), words.scroll_offset.y, chosen, self.is_beside, zooms)

    def return_to(self, place: object) -> None:
        if not isinstance(place, TablePlace):
            return
        self.table.return_to(place.rows)
        self.remove_class(*_ZOOMS)
        self.add_class(*place.zooms)
        if self.divided_parts is None:
            return
        if isinstance(self.words, LinkedText):
            self.words.choose(place.chosen)
        self.words.scroll_to(y=place.words_y, animate=False)
        self.screen.set_focus(self.words if place.is_beside else self.main_part)

    def view_state(self) -> object:
        return self.table.sort_keys, self.table.current_column

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - the order is of no engine
        keys, column = cast("tuple[tuple[SortKey, ...], str | None]", state)
        restore_sort(self.table, keys)
        self.table.current_column = column


class LayerTablePane(TablePane[Layer]):
    """A pane around a table of layers."""

    has_layer_rows = True

    def get_layer(self, row: Layer) -> Layer:
        return row

    def show_layer(self, layer: Layer | None) -> None:
        if layer is not None and self.table.cursor_item is not layer:
            self.table.move_to(layer)

    def selection(self) -> Selection:
        """The rows and columns of the table."""
        table = self.table
        known = [find_column(column.key, self.engine) for column in table.columns]
        return Selection(
            self.engine,
            rows=table.shown_rows,
            columns=[column for column in known if column is not None],
        )


def restore_sort(table: VirtualTable[Any], keys: Sequence[SortKey]) -> None:
    """Sort by those of the columns that are shown."""
    shown = {column.key for column in table.columns}
    table.set_sort(key for key in keys if key.column in shown)
