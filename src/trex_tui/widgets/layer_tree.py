"""The layers in their modules (or kinds, or precisions): a tree drawn as rows of the table.

The same virtual table as everywhere gives it its keys, its speed and its columns; only expanding is its own.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import BindingType

from trex_tui.actions import Place
from trex_tui.analysis.grouping import Grouping, arrange, entries, path_to
from trex_tui.analysis.hierarchy import Module, label_in
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.text import format_ms, format_pct
from trex_tui.theme import kind_style, precision_style
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.columns import BAR_WIDTH
from trex_tui.widgets.table import VirtualTable
from trex_tui.widgets.table_model import Column

EXPANDED_AT_FIRST = 60
"""An engine of this many layers or fewer opens with all its modules expanded."""


@dataclass(frozen=True, slots=True, eq=False)
class TreeRow:
    """A line of the tree.

    Attributes:
        entry: A module, or a layer.
        key: Identifies it as long as the grouping stays.
        label: Its name, as it reads where it stands.
        guides: What is drawn before the name.
        parent: Key of the module it stands in; None at the top.
        expanded: None for a layer.
    """

    entry: Module | Layer
    key: Hashable
    label: str
    guides: str
    parent: Hashable | None
    expanded: bool | None


@dataclass(frozen=True, slots=True)
class _Line:
    """A line that is to be made: what stands there, in what, how far indented, and how many modules of its path are above."""

    entry: Module | Layer
    parent: tuple[str, ...]
    indent: str
    depth: int
    is_last: bool


class LayerTree(VirtualTable[TreeRow]):
    """The tree of layers. The parent sets engine, filter and current layer; `RowHighlighted` tells where the cursor is."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.LAYERS)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        self.engine = engine
        self.grouping = Grouping.MODULE
        self.by_latency = False
        self._layers: Sequence[Layer] = engine.layers
        self._root = arrange(self._layers, self.grouping)
        self._expanded: set[Hashable] = set()
        super().__init__(self._tree_columns(), id=id, empty_text="No layer matches the filter.")
        if len(engine.layers) <= EXPANDED_AT_FIRST:
            self._expand_everything()
        self._rebuild()

    def show_layers(self, layers: Sequence[Layer], *, expand: bool) -> None:
        """Show these layers only; with `expand`, all of them at once, as after a filter."""
        self._layers = layers
        self._root = arrange(layers, self.grouping)
        if expand:
            self._expand_everything()
        self._rebuild()

    def show_layer(self, layer: Layer) -> None:
        """Put the cursor on a layer, expanding what it is in."""
        path = path_to(self._root, layer)
        if path is None:
            return
        self._expanded.update(
            tuple(module.name for module in path[: depth + 1]) for depth in range(len(path))
        )
        self._rebuild()
        self._go_to(layer.index)

    @property
    def current_layer(self) -> Layer | None:
        """The layer under the cursor; None on a module."""
        row = self.cursor_item
        return row.entry if row is not None and isinstance(row.entry, Layer) else None

    # What is on screen

    def _rebuild(self) -> None:
        rows: list[TreeRow] = []
        # Depth first without recursion: names may nest as deep as they like.
        pending = self._lines_in(self._root, (), "", 0)
        while pending:
            line = pending.pop()
            entry, parent = line.entry, line.parent
            guides = line.indent + ("└╴" if line.is_last else "├╴") if parent else ""
            if isinstance(entry, Layer):
                named = label_in(entry, line.depth) if self.grouping is Grouping.MODULE else entry.name
                rows.append(TreeRow(entry, entry.index, named, guides, parent or None, None))
                continue
            key = (*parent, entry.name)
            expanded = key in self._expanded
            rows.append(TreeRow(entry, key, entry.name, guides, parent or None, expanded))
            if expanded:
                below = line.indent + ("  " if line.is_last else "│ ") if parent else ""
                pending.extend(self._lines_in(entry, key, below, line.depth + entry.levels))
        self.set_rows(rows, keep=lambda row: row.key)

    def _lines_in(self, module: Module, key: tuple[str, ...], indent: str, depth: int) -> list[_Line]:
        """The lines of what stands in a module, the last one first: they are taken from the end."""
        inside = self._entries(module)
        lines = [
            _Line(one, key, indent, depth, number == len(inside)) for number, one in enumerate(inside, 1)
        ]
        return lines[::-1]

    def _entries(self, module: Module) -> list[Module | Layer]:
        return entries(module, self.grouping, by_latency=self.by_latency)

    def _go_to(self, key: Hashable) -> None:
        row = next((row for row in self._model.rows if row.key == key), None)
        if row is not None:
            self.move_to(row)

    def _tree_columns(self) -> list[Column[TreeRow]]:
        return [
            Column("name", self.grouping.value.capitalize(), _name, flex=True, width=24),
            Column("layers", "Layers", _count, align="right", width=6, priority=3),
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
        elif row.parent is not None:
            self._go_to(row.parent)

    def _toggle(self, row: TreeRow) -> None:
        self._expanded.symmetric_difference_update({row.key})
        self._rebuild()

    def action_expand_all(self) -> None:
        """Expand every module."""
        self._expand_everything()
        self._rebuild()

    def _expand_everything(self) -> None:
        pending: list[tuple[Module, tuple[str, ...]]] = [(self._root, ())]
        while pending:
            module, path = pending.pop()
            for child in module.children.values():
                key = (*path, child.name)
                self._expanded.add(key)
                pending.append((child, key))

    def action_collapse_all(self) -> None:
        """Collapse every module; the cursor goes to the outermost module it was in."""
        row = self.cursor_item
        outermost = row.parent[:1] if row is not None and isinstance(row.parent, tuple) else None
        self._expanded.clear()
        self._rebuild()
        if outermost:
            self._go_to(outermost)

    def action_next_grouping(self) -> None:
        """Group by something else; the cursor stays on its layer."""
        modes = list(Grouping)
        layer = self.current_layer
        self.grouping = modes[(modes.index(self.grouping) + 1) % len(modes)]
        self._expanded.clear()
        self.set_columns(self._tree_columns())
        self.show_layers(self._layers, expand=len(self._layers) <= EXPANDED_AT_FIRST)
        if layer is not None:
            self.show_layer(layer)

    def action_toggle_order(self) -> None:
        """Order by time, or by execution."""
        self._set_order(by_latency=not self.by_latency)
        self.notify("ordered by time" if self.by_latency else "in execution order", timeout=2)


def _name(row: TreeRow) -> str:
    icon = "" if row.expanded is None else "▾ " if row.expanded else "▸ "
    return row.guides + icon + row.label


def _count(row: TreeRow) -> int | str:
    return row.entry.layer_count if isinstance(row.entry, Module) else ""


def _kind(row: TreeRow) -> str:
    return row.entry.kind.value if isinstance(row.entry, Layer) else ""


def _kind_style(row: TreeRow) -> str | None:
    return kind_style(row.entry.kind) if isinstance(row.entry, Layer) else None


def _precision(row: TreeRow) -> str:
    entry = row.entry
    return entry.precision.value if isinstance(entry, Layer) and entry.precision else ""


def _precision_style(row: TreeRow) -> str | None:
    return precision_style(row.entry.precision) if isinstance(row.entry, Layer) else None
