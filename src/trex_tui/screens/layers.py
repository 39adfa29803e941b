"""Layers: the tree, and beside it the details or the neighbours of a layer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from trex_tui.column import Column
from trex_tui.engine.model import Engine
from trex_tui.frames import text_array
from trex_tui.report.document import Section
from trex_tui.screens import dialogs
from trex_tui.screens.layer_rows import add_marks, layer_styles
from trex_tui.screens.layer_tree import GROUPINGS, Tree, divides, make_tree
from trex_tui.screens.pane import EnginePane, LayerOpened
from trex_tui.screens.settings import Settings
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.details import group_lines, layer_lines
from trex_tui.widgets.lanes import Sandwich, layer_lanes
from trex_tui.widgets.table import FrameTable, Row, TreeTable
from trex_tui.widgets.text import LinkedText

_LANES = ((200, 12), (150, 8), (0, 5))
"""Cells of the tab -> the most lanes."""


class LayersPane(EnginePane):
    """The grouping is remembered; the sort is not."""

    DEFAULT_CSS = """
    LayersPane {
        & > #neighbours { display: none; }
        &.-sandwich > #neighbours { display: block; }
        &.-sandwich > #details { display: none; }
    }
    """
    tab = "layers"
    BINDINGS: ClassVar[list[BindingType]] = bindings("layers")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.add_class("-split")
        self.is_by_time = False
        self._tree: Tree | None = None
        self._detailed: tuple[object, ...] = ()

    def compose(self) -> ComposeResult:
        yield TreeTable(id="main", cell_styles=layer_styles(self.engine))
        yield LinkedText(id="details")
        yield Sandwich(self.engine, id="neighbours", classes="beside")
        yield StatusLine("status")

    @property
    def beside(self) -> Widget:
        return self.query_one("#neighbours" if self.has_class("-sandwich") else "#details")

    @property
    def grouping(self) -> str:
        chosen = Settings.of(self).get("grouping")
        return chosen if chosen in GROUPINGS and divides(self.engine, chosen) else "module"

    def watch_shown(self) -> None:
        self.show_tree()

    def watch_lint(self) -> None:
        self.show_tree()

    def watch_current_layer(self, layer: int | None) -> None:
        self.query_one(TreeTable).move_to(layer)

    def show_tree(self) -> None:
        """Show the layers that the filter leaves."""
        if self.shown is None:
            return
        tree = make_tree(self.engine, self.shown.rows, self.grouping, is_by_time=self.is_by_time)
        self._tree = tree
        is_few = bool(self.shown.text) and self.shown.rows.sum() <= 500
        table = self.query_one(TreeTable)
        section = (
            self._add_lanes(tree.section)
            if self.grouping == "order" and not self.is_by_time
            else tree.section
        )
        table.show(add_marks(section, self.lint), tree.levels, is_folded=tree.is_folded and not is_few)
        table.move_to(self.current_layer)
        self._show_details(table.row)

    def _add_lanes(self, section: Section) -> Section:
        """Return the layers in execution order with the data flow beside them."""
        frame = section.frame
        if frame is None or self.engine.links.empty:
            return section
        lanes = layer_lanes(
            self.engine,
            frame.index.tolist(),
            next(most for least, most in _LANES if self.app.size.width >= least),
        )
        title = f"║ = {lanes.shared}" if lanes.shared else ""
        column = Column(
            "lanes",
            title,
            "Data flow: a lane per value.",
            width=lanes.width,
            priority=0,
        )
        frame = frame.assign(lanes=text_array(lanes.rows))
        return replace(section, frame=frame, columns=[section.columns[0], column, *section.columns[1:]])

    def show_status(self, layer: int | None) -> None:
        super().show_status(layer)
        self._show_details(self.query_one(TreeTable).row)

    def _show_details(self, row: Row | None) -> None:
        if self._tree is None or (row, self.lint) == self._detailed:
            return
        self._detailed = (row, self.lint)
        if self.has_class("-sandwich"):
            self.query_one(Sandwich).show(row if isinstance(row, int) else None)
            self._detailed = ()
            return
        details = self.query_one("#details", LinkedText)
        if isinstance(row, int):
            details.show(partial(layer_lines, self.engine, row, self.lint))
        else:
            details.show(
                group_lines(self.engine, str(row).lstrip("/"), self._tree.layers[row])
                if isinstance(row, str)
                else []
            )

    def open_row(self, table: FrameTable, row: Row) -> None:
        """Expand or collapse a group; of a layer read the details."""
        if isinstance(row, str):
            table.toggle(row)
        else:
            self.remove_class("-zoom-main")
            self.beside.focus()

    def action_toggle_neighbours(self) -> None:
        had_focus = self.is_beside
        self.toggle_class("-sandwich")
        self._detailed = ()
        self._show_details(self.query_one(TreeTable).row)
        if had_focus:
            self.beside.focus()

    @on(Sandwich.Opened)
    def _open_neighbours(self, event: Sandwich.Opened) -> None:
        """Go to the layer of a box; of several ask which."""
        names = self.engine.layers["name"]
        if len(event.layers) == 1:
            self.post_message(LayerOpened(event.layers[0]))
        else:
            options = {str(layer): f"{layer:4} {names[layer]}" for layer in event.layers}
            dialogs.choose(
                self.app, "Neighbours", options, lambda key: self.post_message(LayerOpened(int(key)))
            )

    def action_next_grouping(self) -> None:
        names = list(GROUPINGS)
        place = names.index(self.grouping) + 1
        self._group(next(name for name in names[place:] + names[:place] if divides(self.engine, name)))

    def action_choose_grouping(self) -> None:
        options = {name: title for name, title in GROUPINGS.items() if divides(self.engine, name)}
        dialogs.choose(self.app, "Group by", options, self._group, self.grouping)

    def _group(self, grouping: str) -> None:
        Settings.of(self).set("grouping", grouping)
        self.show_tree()
        self.query_one(TreeTable).move_to(self.current_layer)

    def action_toggle_sort(self) -> None:
        self.is_by_time = not self.is_by_time
        self.show_tree()
