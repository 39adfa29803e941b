"""The layers in their modules (or kinds, or precisions): a tree drawn as rows of the table.

The same virtual table as everywhere gives it its keys, its speed and its columns; only expanding is its own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual.binding import BindingType

from trex_tui.analysis.dataflow import Lanes, layer_lanes, whole_lanes
from trex_tui.analysis.modules import Group, Grouping, Path, arrange, layer_label, ordered_entries
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.lint.model import Severity
from trex_tui.report.colours import kind_style, precision_style
from trex_tui.text import format_ms, format_pct, plural
from trex_tui.widgets.actions import Place
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.layer_columns import BAR_WIDTH, mark_column
from trex_tui.widgets.table import VirtualTable
from trex_tui.widgets.table_model import Column

EXPANDED_AT_FIRST = 60
"""An engine of this many layers or fewer opens with all its modules expanded."""
MOST_EXPANDED = 500
"""More hits of a filter than this are left in their modules."""
MOST_LANES, MOST_LANES_NARROW, WIDE_TREE = 12, 5, 96
"""Lanes beside the layers in execution order, in a tree of `WIDE_TREE` cells and more, and in a narrower one."""


class TreeRow(NamedTuple):
    """A line of the tree. (A tuple, because 20 000 of them are made in a keystroke.)

    Attributes:
        entry: A group, or a layer.
        key: Path of a group, index of a layer: identifies the row as long as the grouping stays.
        guides: What is drawn before the name.
        parent: Path of the group it stands in; empty at the top.
        expanded: None for a layer.
    """

    entry: Group | Layer
    key: Path | int
    guides: str
    parent: Path
    expanded: bool | None


class _Line(NamedTuple):
    """A line that is to be made: what stands there, in what, how far indented, and whether more follows beside it."""

    entry: Group | Layer
    parent: Path
    indent: str
    is_last: bool


class LayerTree(VirtualTable[TreeRow]):
    """The tree of layers. The parent sets filter and current layer; `RowHighlighted` tells where the cursor is."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.TREE)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        self.engine = engine
        self.grouping = Grouping.MODULE
        self.by_latency = False
        self._layers: Sequence[Layer] = engine.layers
        self._root = arrange(self._layers, self.grouping)
        self._expanded: set[Path] = set()
        self._expanded_before: set[Path] | None = None
        """What was expanded before a filter expanded its hits; None without a filter."""
        self._lanes: Lanes | None = None
        """What is drawn beside the rows; None where they are not in execution order."""
        self._most_lanes = 0
        self._marks: Mapping[int, Severity] = {}
        """What lint found, by the index of the layer."""
        super().__init__(self._tree_columns(), id=id, empty_text="No layer matches the filter.")
        if len(engine.layers) <= EXPANDED_AT_FIRST:
            self._expanded = self._all_groups()
        self._rebuild()

    def on_resize(self) -> None:
        """Draw as many lanes as there is room for."""
        if self._lanes is not None and self._room_for_lanes != self._most_lanes:
            self._draw_lanes()

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:
        """Show these layers only. What a filter found is expanded, unless it is half the engine, and as before without."""
        self._layers = layers
        self._draw_lanes()
        self._root = arrange(layers, self.grouping)
        if is_filtered:
            if self._expanded_before is None:
                self._expanded_before = self._expanded
            self._expanded = self._all_groups() if len(layers) <= MOST_EXPANDED else set()
        elif self._expanded_before is not None:
            self._expanded, self._expanded_before = self._expanded_before, None
        self._rebuild()

    def show_marks(self, marks: Mapping[int, Severity]) -> None:
        """Mark layers that something was found about."""
        self._marks = marks
        self.set_columns(self._tree_columns())

    def show_layer(self, layer: Layer) -> None:
        """Put the cursor on a layer, expanding what it is in; on the nearest in the execution, if it is not shown."""
        if not self._layers:
            return
        at = bisect_left(self._layers, layer.index, key=lambda one: one.index)
        nearest = min(self._layers[max(0, at - 1) : at + 1], key=lambda one: abs(one.index - layer.index))
        around = {group.path for group in self._root.groups_around(nearest)}
        if not around <= self._expanded:
            self._expanded |= around
            self._rebuild()
        self._go_to(nearest.index)

    @property
    def current_layer(self) -> Layer | None:
        """The layer under the cursor; None on a group."""
        row = self.cursor_item
        return row.entry if row is not None and isinstance(row.entry, Layer) else None

    # What is on screen

    def _rebuild(self) -> None:
        rows: list[TreeRow] = []
        # Depth first without recursion: names may nest as deep as they like.
        pending = self._lines_in(self._root, "")
        while pending:
            line = pending.pop()
            entry = line.entry
            guides = line.indent + ("└╴" if line.is_last else "├╴") if line.parent else ""
            if isinstance(entry, Layer):
                rows.append(TreeRow(entry, entry.index, guides, line.parent, None))
                continue
            expanded = entry.path in self._expanded
            rows.append(TreeRow(entry, entry.path, guides, line.parent, expanded))
            if expanded:
                below = line.indent + ("  " if line.is_last else "│ ") if line.parent else ""
                pending.extend(self._lines_in(entry, below))
        self.set_rows(rows, keep=lambda row: row.key)

    def _lines_in(self, group: Group, indent: str) -> list[_Line]:
        """The lines of what stands in a group, the last one first: they are taken from the end."""
        inside = ordered_entries(group, self.grouping, by_latency=self.by_latency)
        last = len(inside) - 1
        lines = [_Line(one, group.path, indent, number == last) for number, one in enumerate(inside)]
        return lines[::-1]

    def _go_to(self, key: Path | int) -> None:
        index = self._model.index_of_key(key)
        if index is not None:
            self.move_to(self._model.rows[index])

    @property
    def _room_for_lanes(self) -> int:
        return MOST_LANES if self.size.width >= WIDE_TREE else MOST_LANES_NARROW

    def _draw_lanes(self) -> None:
        """Draw the dataflow beside the layers, where they stand in the order in which it flows."""
        had_lanes, self._lanes = self._lanes is not None, None
        if self.grouping is Grouping.ORDER and not self.by_latency:
            self._most_lanes = self._room_for_lanes
            if len(self._layers) == len(self.engine.layers):
                self._lanes = whole_lanes(self.engine, self._most_lanes)
            else:
                self._lanes = layer_lanes(self.engine, self._layers, self._most_lanes)
        if had_lanes or self._lanes is not None:
            self.set_columns(self._tree_columns())

    def _tree_columns(self) -> list[Column[TreeRow]]:
        title = self.grouping.value[:1].upper() + self.grouping.value[1:]
        title += ", slowest first" if self.by_latency else ""
        return [
            *self._lane_columns(),
            *([mark_column(self._mark_of)] if self._marks else []),
            Column("name", title, self._entry_name, flex=True, width=24),
            *(
                [Column("layers", "Layers", _count, align="right", width=6, priority=3)]
                if not self._lanes
                else []
            ),
            Column("kind", "Kind", _kind, width=11, priority=2, style=_kind_style),
            Column("precision", "Prec", _precision, width=5, priority=1, style=_precision_style),
            Column(
                "latency_ms", "ms", lambda row: row.entry.latency_ms, format=format_ms, align="right", width=9
            ),
            Column(
                "latency_pct",
                "%",
                self._pct,
                format=format_pct,
                align="right",
                width=6,
                bar=self._share,
                bar_width=BAR_WIDTH,
            ),
        ]

    def _lane_columns(self) -> list[Column[TreeRow]]:
        lanes = self._lanes
        if lanes is None or not lanes.width:
            return []
        place = {layer.index: number for number, layer in enumerate(self._layers)}

        def drawn(row: TreeRow) -> str:
            number = place.get(row.entry.index) if isinstance(row.entry, Layer) else None
            return "" if number is None else lanes.rows[number]

        shared = f"║ = {lanes.shared}" if lanes.shared else ""
        words = (
            "What feeds what: each value has a lane from the layer that writes it to the last that reads it."
        )
        if shared:
            words += f" {plural(lanes.shared, 'value')} without room for a lane share the double one."
        return [
            Column("lanes", shared, drawn, width=lanes.width, style=lambda _: "$secondary", description=words)
        ]

    def _mark_of(self, row: TreeRow) -> Severity | None:
        return self._marks.get(row.entry.index) if isinstance(row.entry, Layer) else None

    def _entry_name(self, row: TreeRow) -> str:
        entry = row.entry
        if isinstance(entry, Group):
            return f"{row.guides}{'▾' if row.expanded else '▸'} {entry.name}"
        return row.guides + layer_label(entry, self.grouping, len(row.parent))

    def _pct(self, row: TreeRow) -> float | None:
        share = self._share(row)
        return None if share is None else 100.0 * share

    def _share(self, row: TreeRow) -> float | None:
        total = self.engine.latency_sum_ms
        return row.entry.latency_ms / total if total and row.entry.latency_ms is not None else None

    def cycle_sort(self, column_key: str) -> None:
        """A click on a title: time orders every module by time, anything else by execution. Rows stay in their modules."""
        self._set_order(by_latency=column_key in ("latency_ms", "latency_pct"))

    def _set_order(self, *, by_latency: bool) -> None:
        self.by_latency = by_latency
        self._draw_lanes()
        self.set_columns(self._tree_columns())
        self._rebuild()

    # Actions

    def action_select(self) -> None:
        """Expand or collapse a module; a layer is for the parent."""
        row = self.cursor_item
        if row is not None and row.expanded is not None:
            self._toggle(row)
        else:
            super().action_select()

    def action_expand(self) -> None:
        """Expand a module; step into one that is expanded."""
        row = self.cursor_item
        if row is None:
            return
        if row.expanded is False:
            self._toggle(row)
        elif row.expanded:
            self.cursor_row += 1

    def action_collapse(self) -> None:
        """Collapse a module; elsewhere go to the module around."""
        row = self.cursor_item
        if row is None:
            return
        if row.expanded:
            self._toggle(row)
        elif row.parent:
            self._go_to(row.parent)

    def _toggle(self, row: TreeRow) -> None:
        if isinstance(row.entry, Group):
            self._expanded ^= {row.entry.path}
            self._rebuild()

    def action_expand_all(self) -> None:
        """Expand every module."""
        self._expanded = self._all_groups()
        self._rebuild()

    def _all_groups(self) -> set[Path]:
        paths: set[Path] = set()
        pending = [self._root]
        while pending:
            groups = [one for one in pending.pop().entries if isinstance(one, Group)]
            paths.update(group.path for group in groups)
            pending.extend(groups)
        return paths

    def action_collapse_all(self) -> None:
        """Collapse every module; the cursor goes to the outermost module it was in."""
        layer = self.current_layer
        around = self._root.groups_around(layer) if layer is not None else []
        self._expanded = set()
        self._rebuild()
        if around:
            self._go_to(around[0].path)

    def next_grouping(self) -> None:
        """Group by the next thing; the cursor stays on its layer."""
        modes = list(Grouping)
        self.group_by(modes[(modes.index(self.grouping) + 1) % len(modes)])

    def group_by(self, grouping: Grouping) -> None:
        """Group by something else; the cursor stays on its layer."""
        layer = self.current_layer
        self.grouping = grouping
        self._root = arrange(self._layers, self.grouping)
        self._expanded = self._all_groups() if len(self._layers) <= EXPANDED_AT_FIRST else set()
        self._expanded_before = None if self._expanded_before is None else set()
        if layer is not None:
            self._expanded |= {group.path for group in self._root.groups_around(layer)}
        self._draw_lanes()
        self.set_columns(self._tree_columns())
        self._rebuild()
        if layer is not None:
            self.show_layer(layer)
        self.centre_cursor()

    @property
    def expanded(self) -> set[Path]:
        """Paths of the groups that a person expanded; those that a filter expanded are none of them."""
        return set(self._expanded if self._expanded_before is None else self._expanded_before)

    def arrange_as(self, grouping: Grouping, expanded: set[Path], *, by_latency: bool) -> None:
        """Group, order and expand as it was in another tree; groups that are not there are left out."""
        self.by_latency = by_latency
        self.group_by(grouping)
        self._expanded = expanded
        self._rebuild()

    def toggle_order(self) -> None:
        """Order by time, or by execution."""
        self._set_order(by_latency=not self.by_latency)


def _count(row: TreeRow) -> int | str:
    return len(row.entry.layers) if isinstance(row.entry, Group) else ""


def _kind(row: TreeRow) -> str:
    return row.entry.kind.value if isinstance(row.entry, Layer) else ""


def _kind_style(row: TreeRow) -> str | None:
    return kind_style(row.entry.kind) if isinstance(row.entry, Layer) else None


def _precision(row: TreeRow) -> str:
    entry = row.entry
    return entry.precision.value if isinstance(entry, Layer) and entry.precision else ""


def _precision_style(row: TreeRow) -> str | None:
    return precision_style(row.entry.precision) if isinstance(row.entry, Layer) else None
