"""Tree of layers by module, kind or precision, drawn as rows of the table.

Keys, speed and columns are those of the virtual table; only expanding is added here.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import ClassVar, cast

from textual.binding import BindingType

from trex_tui.old.analysis.dataflow import Lanes, layer_lanes, whole_lanes
from trex_tui.old.analysis.modules import Group, Grouping, Path, arrange, layer_label, ordered_entries
from trex_tui.old.analysis.short_names import (
    MOST_COMPARED,
    ShortLabels,
    distinguish,
    short_names,
    shorten_label,
)
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.model import FindingSeverity
from trex_tui.old.report.absence import no_layer
from trex_tui.old.report.colours import kind_style, precision_style
from trex_tui.old.text import format_ms, format_pct, plural, printable, shorten_name_list
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.expandable_table import ExpandableTable
from trex_tui.old.widgets.table import next_match
from trex_tui.old.widgets.table_columns import (
    SHARE_BAR_WIDTH,
    index_width,
    kind_width,
    mark_column,
    ms_width,
    muted,
)
from trex_tui.old.widgets.table_model import MIN_FLEX_WIDTH, TableColumn

EXPANDED_AT_FIRST = 60
"""Most layers of an engine that opens with all modules expanded."""
MOST_EXPANDED = 500
"""Most matches of a filter whose modules are expanded."""
MOST_LANES, MOST_LANES_NARROW, WIDE_TREE = 12, 5, 96
"""Lanes beside layers in execution order: in a tree of at least `WIDE_TREE` cells, and in a narrower one."""


Entry = Group | Layer


def _index(row: Entry) -> int | str:
    return "" if isinstance(row, Group) else row.index


def _kind(row: Entry) -> str:
    return row.kind.value if isinstance(row, Layer) else ""


def _kind_style(row: Entry) -> str | None:
    return kind_style(row.kind) if isinstance(row, Layer) else None


def _precision(row: Entry) -> str:
    return row.precision.value if isinstance(row, Layer) and row.precision else ""


def _precision_style(row: Entry) -> str | None:
    return precision_style(row.precision) if isinstance(row, Layer) else None


class LayerTree(ExpandableTable[Entry]):
    """Tree of layers. The parent sets filter and current layer; `RowHighlighted` reports the cursor."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.TREE)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        self.engine = engine
        self.grouping = Grouping.MODULE
        self.by_latency = False
        self._layers: Sequence[Layer] = engine.layers
        self._whole: dict[Grouping, Group] = {}
        """Trees of all layers, which the first letters of a filter and its end show again."""
        self._root = self._arrange()
        self._expanded_before: set[Hashable] | None = None
        """Groups expanded before a filter expanded its matches; None without a filter."""
        self._lanes: Lanes | None = None
        """Lanes beside the rows; None if the rows are not in execution order."""
        self._most_lanes = 0
        self._entries: dict[Hashable, Sequence[Entry]] = {}
        """Rows of each expanded group; the top rows under None."""
        self._short: dict[Hashable, tuple[dict[Hashable, str], ShortLabels]] = {}
        """Full and short labels of the rows of each group."""
        self._largest_ms: float | None = None
        """Time that fills a bar; None until one is drawn."""
        self._found: tuple[str, list[Layer], list[int]] | None = None
        """Last search: its text, the layers in tree order, and the positions of the matches."""
        self._marks: Mapping[int, FindingSeverity] = {}
        """Lint marks, by the index of the layer."""
        super().__init__(id=id, empty_text=no_layer(engine))
        self.set_columns(self._tree_columns())
        if len(engine.layers) <= EXPANDED_AT_FIRST:
            self.expanded = self.expandable_keys()
        self.rebuild()

    def rows_below(self, row: Entry | None) -> Sequence[Entry]:
        group = row if isinstance(row, Group) else self._root
        entries = ordered_entries(group, self.grouping, by_latency=self.by_latency)
        self._entries[None if row is None else group.path] = entries
        return entries

    def _arrange(self) -> Group:
        if len(self._layers) < len(self.engine.layers):
            return arrange(self._layers, self.grouping, self.engine)
        if self.grouping not in self._whole:
            self._whole[self.grouping] = arrange(self._layers, self.grouping, self.engine)
        return self._whole[self.grouping]

    def _group_layers(self) -> None:
        """Regroup the layers."""
        self._root = self._arrange()
        self._entries.clear()
        self._short.clear()
        self._largest_ms = None
        self._found = None

    def search(self, text: str, step: int) -> tuple[int, int]:
        """Go to the next layer that contains `text`, in collapsed groups too."""
        wanted = text.casefold()
        if self._found is None or self._found[0] != wanted:
            layers = self._layers_in_order()
            texts = ("\n".join((layer.name, _kind(layer), layer.tactic or "")) for layer in layers)
            numbers = [number for number, words in enumerate(texts) if wanted in words.casefold()]
            self._found = wanted, layers, numbers
        _, layers, found = self._found
        if not found:
            return 0, 0
        row = self.cursor_item
        first = row.layers[0] if isinstance(row, Group) else row
        here = next((number for number, layer in enumerate(layers) if layer is first), 0)
        number = next_match(found, here, 0 if step > 0 and isinstance(row, Group) else step)
        self.show_layer(layers[found[number]])
        return number + 1, len(found)

    def _layers_in_order(self) -> list[Layer]:
        """Return all layers in the order of the fully expanded tree."""
        layers: list[Layer] = []
        pending: list[Entry] = list(reversed(self.rows_below(None)))
        while pending:
            row = pending.pop()
            if isinstance(row, Group):
                pending += reversed(self.rows_below(row))
            else:
                layers.append(row)
        return layers

    def row_key(self, row: Entry) -> Path | int:
        return row.path if isinstance(row, Group) else row.index

    def is_expandable(self, row: Entry) -> bool:
        return isinstance(row, Group)

    def on_resize(self) -> None:
        if self._lanes is not None and self._room_for_lanes != self._most_lanes:
            self._draw_lanes()

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:
        """Show only these layers, with matches expanded unless they are half the engine; None restores the previous tree."""
        self._layers = layers
        self._draw_lanes()
        self._group_layers()
        if is_filtered:
            if self._expanded_before is None:
                self._expanded_before = self.expanded
            self.expanded = self.expandable_keys() if len(layers) <= MOST_EXPANDED else set()
        elif self._expanded_before is not None:
            self.expanded, self._expanded_before = self._expanded_before, None
        self.rebuild()

    def show_marks(self, marks: Mapping[int, FindingSeverity]) -> None:
        self._marks = marks
        self.set_columns(self._tree_columns())

    def show_layer(self, layer: Layer) -> None:
        """Put the cursor on a layer and expand its groups; if it is hidden, on the nearest in execution order."""
        if not self._layers:
            return
        at = bisect_left(self._layers, layer.index, key=lambda other: other.index)
        nearest = min(self._layers[max(0, at - 1) : at + 1], key=lambda other: abs(other.index - layer.index))
        around = {group.path for group in self._root.groups_around(nearest)}
        if not around <= self.expanded:
            self.expanded |= around
            self.rebuild()
        self.go_to_key(nearest.index)

    def place(self) -> object:
        return super().place(), self.grouping, set(self.expanded)

    def return_to(self, place: object) -> None:
        rows, grouping, expanded = cast("tuple[object, Grouping, set[Hashable]]", place)
        if grouping is self.grouping and expanded != self.expanded:
            self.expanded = expanded
            self.rebuild()
        super().return_to(rows)

    @property
    def current_layer(self) -> Layer | None:
        row = self.cursor_item
        return row if isinstance(row, Layer) else None

    # The table on screen

    @property
    def _room_for_lanes(self) -> int:
        return MOST_LANES if self.size.width >= WIDE_TREE else MOST_LANES_NARROW

    def _draw_lanes(self) -> None:
        """Draw the dataflow beside the layers if they are in execution order."""
        had_lanes, self._lanes = self._lanes is not None, None
        if self.grouping is Grouping.ORDER and not self.by_latency:
            self._most_lanes = self._room_for_lanes
            if len(self._layers) == len(self.engine.layers):
                self._lanes = whole_lanes(self.engine, self._most_lanes)
            else:
                self._lanes = layer_lanes(self.engine, self._layers, self._most_lanes)
        if had_lanes or self._lanes is not None:
            self.set_columns(self._tree_columns())

    def _tree_columns(self) -> list[TableColumn[Entry]]:
        title = self.grouping.value[:1].upper() + self.grouping.value[1:]
        title += ", slowest first" if self.by_latency else ""
        return [
            *self._lane_columns(),
            *([mark_column(self._find_mark)] if self._marks else []),
            TableColumn(
                "index",
                "#",
                _index,
                align="right",
                width=index_width(self.engine),
                style=muted,
                description="Index of the layer in execution order.",
            ),
            TableColumn(
                "name",
                title,
                self._entry_name,
                shorten=self._fit_name,
                flex=True,
                width=24,
                description="Layer, or group with its number of layers.",
            ),
            *self._type_columns(),
            *(self._time_columns() if self.engine.latency_sum_ms is not None else []),
        ]

    def _type_columns(self) -> Iterable[TableColumn[Entry]]:
        """Kind and precision, but where the groups say the same, and a precision if any is known."""
        if self.grouping is not Grouping.KIND:
            yield TableColumn(
                "kind", "Kind", _kind, width=kind_width(self.engine), priority=2, style=_kind_style
            )
        if self.grouping is not Grouping.PRECISION and any(layer.precision for layer in self.engine.layers):
            yield TableColumn("precision", "Prec", _precision, width=5, priority=1, style=_precision_style)

    def _time_columns(self) -> list[TableColumn[Entry]]:
        return [
            TableColumn(
                "latency_ms",
                "ms",
                lambda row: row.latency_ms,
                format=format_ms,
                align="right",
                width=ms_width(self.engine.latency_sum_ms),
            ),
            TableColumn(
                "latency_pct",
                "%",
                self._pct,
                format=format_pct,
                align="right",
                width=6,
                bar=self._fraction_of_largest,
                bar_width=SHARE_BAR_WIDTH,
            ),
        ]

    def _lane_columns(self) -> list[TableColumn[Entry]]:
        lanes = self._lanes
        if lanes is None or not lanes.width:
            return []
        order = {layer.index: number for number, layer in enumerate(self._layers)}

        def drawn(row: Entry) -> str:
            number = order.get(row.index) if isinstance(row, Layer) else None
            return "" if number is None else lanes.rows[number]

        shared = f"║ = {lanes.shared}" if lanes.shared else ""
        words = "Data flow: one lane per value, from its writer to its last reader."
        if shared:
            words += f" {plural(lanes.shared, 'value')} without a separate lane share the double one."
        return [
            TableColumn(
                "lanes", shared, drawn, width=lanes.width, style=lambda _: "$secondary", description=words
            )
        ]

    def _find_mark(self, row: Entry) -> FindingSeverity | None:
        return self._marks.get(row.index) if isinstance(row, Layer) else None

    def _entry_name(self, row: Entry) -> str:
        if isinstance(row, Group):
            return row.name
        module = cast("Path | None", self.position(row).parent)
        return layer_label(row, self.grouping, len(module or ()))

    def _fit_name(self, row: Entry, width: int) -> str:
        if isinstance(row, Layer) and self.grouping not in (Grouping.MODULE, Grouping.ONNX):
            return short_names(self.engine).fit(row, width)
        count = f" ({len(row.layers)})" if isinstance(row, Group) else ""
        room = width - len(count)
        return self._fit_entry(row, room) + count if room > MIN_FLEX_WIDTH else self._fit_entry(row, width)

    def _fit_entry(self, row: Entry, width: int) -> str:
        parent = self.position(row).parent
        if parent not in self._short:
            self._short[parent] = self._shorten_entries(self._entries[parent])
        labels, short = self._short[parent]
        label = labels.get(self.row_key(row))
        return shorten_label(self._label(row), width) if label is None else short.fit(label, width)

    def _shorten_entries(self, entries: Sequence[Entry]) -> tuple[dict[Hashable, str], ShortLabels]:
        """Return the labels in a group; none if there are too many to compare."""
        if len(entries) > MOST_COMPARED:
            return {}, ShortLabels(())
        labels = distinguish([row.name for row in entries], list(map(self._label, entries)))
        return dict(zip(map(self.row_key, entries), labels, strict=True)), ShortLabels(labels)

    def _label(self, row: Entry) -> str:
        return printable(shorten_name_list(self._entry_name(row)))

    def _pct(self, row: Entry) -> float | None:
        total = self.engine.latency_sum_ms
        return 100.0 * row.latency_ms / total if total and row.latency_ms is not None else None

    def _fraction_of_largest(self, row: Entry) -> float | None:
        """Return the time relative to that of the slowest row, which is on the first level."""
        if self._largest_ms is None:
            self._largest_ms = max((entry.latency_ms or 0.0 for entry in self._root.entries), default=0.0)
        return row.latency_ms / self._largest_ms if self._largest_ms and row.latency_ms is not None else None

    def cycle_sort(self, column_key: str) -> None:
        """Handle a click on a title: the time sorts every module by time, other columns by execution."""
        self._set_order(by_latency=column_key in ("latency_ms", "latency_pct"))

    def _set_order(self, *, by_latency: bool) -> None:
        self.by_latency = by_latency
        self._found = None
        self._draw_lanes()
        self.set_columns(self._tree_columns())
        self.rebuild()

    def next_grouping(self) -> None:
        modes = list(Grouping)
        self.group_by(modes[(modes.index(self.grouping) + 1) % len(modes)])

    def group_by(self, grouping: Grouping) -> None:
        layer = self.current_layer
        self.grouping = grouping
        self._group_layers()
        self.expanded = self.expandable_keys() if len(self._layers) <= EXPANDED_AT_FIRST else set()
        self._expanded_before = None if self._expanded_before is None else set()
        if layer is not None:
            self.expanded |= {group.path for group in self._root.groups_around(layer)}
        self._draw_lanes()
        self.set_columns(self._tree_columns())
        self.rebuild()
        if layer is not None:
            self.show_layer(layer)
        self.centre_cursor()

    @property
    def expanded_by_hand(self) -> set[Hashable]:
        """Paths of the groups that the user expanded, without those that a filter expanded."""
        return set(self.expanded if self._expanded_before is None else self._expanded_before)

    def arrange_as(self, grouping: Grouping, expanded: set[Hashable], *, by_latency: bool) -> None:
        """Restore grouping, sort and expanded groups of another tree; missing groups are ignored."""
        self.by_latency = by_latency
        self.group_by(grouping)
        self.expanded = expanded
        self.rebuild()

    def toggle_order(self) -> None:
        self._set_order(by_latency=not self.by_latency)
