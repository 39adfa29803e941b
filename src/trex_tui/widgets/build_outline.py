"""Lines that expand: the virtual table, with what stands below a line shown or not."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from trex_tui.report.views.build import Node
from trex_tui.widgets.table import VirtualTable
from trex_tui.widgets.table_model import Column, SortKey, TableModel

EXPANDED_SIGN, COLLAPSED_SIGN = "▾", "▸"


class OutlineRow(NamedTuple):
    """A line as it is shown.

    Attributes:
        guides: What is drawn before the label.
        parent: Key of the line it stands below; None at the top.
        expanded: None where nothing stands below.
    """

    node: Node
    guides: str
    parent: Hashable
    expanded: bool | None


class _OutlineModel(TableModel[OutlineRow]):
    """Keeps the sort keys and leaves the order alone: it is made where lines are put below others."""

    def sort(self, keys: Iterable[SortKey]) -> None:
        super().sort(())
        self.sort_keys = tuple(keys)


class Outline(VirtualTable[OutlineRow]):
    """An outline. Sorting changes the order of lines that stand below the same one, and takes what is below along."""

    def __init__(self, columns: Sequence[Column[OutlineRow]], *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._model = _OutlineModel()
        self._model.set_columns(columns)
        self._entries: Sequence[Node] = ()
        self._expanded: set[Hashable] = set()

    def show_nodes(self, nodes: Sequence[Node]) -> None:
        """Show other lines, expanded as they say."""
        self._entries = nodes
        self._expanded = {node.key for node in _every(nodes) if node.is_open}
        self._rebuild()

    def _rebuild(self) -> None:
        self.set_rows(list(self._rows(self._entries, None, "")), keep=lambda row: row.node.key)

    def _rows(self, nodes: Sequence[Node], parent: Hashable, indent: str) -> Iterator[OutlineRow]:
        """The lines in view. Outlines of a build are three deep at most."""
        for place, node in enumerate(self._in_order(nodes)):
            is_last = place == len(nodes) - 1
            guides = indent + ("└╴" if is_last else "├╴") if parent is not None else ""
            expanded = node.key in self._expanded if node.children else None
            yield OutlineRow(node, guides, parent, expanded)
            if expanded:
                below = indent + ("  " if is_last else "│ ") if parent is not None else " "
                yield from self._rows(node.children, node.key, below)

    def _in_order(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Lines below the same one, by the sort keys."""
        if not self.sort_keys:
            return nodes
        level: TableModel[OutlineRow] = TableModel()
        level.set_columns(self.columns)
        level.set_rows([OutlineRow(node, "", None, None) for node in nodes], None)
        level.sort(self.sort_keys)
        return [nodes[index] for index in level.shown]

    def set_sort(self, keys: Iterable[SortKey]) -> None:
        """Sort at every depth; expanded lines stay expanded."""
        before = self.sort_keys
        super().set_sort(keys)
        if self.sort_keys != before:
            self._rebuild()

    @property
    def has_lines(self) -> bool:
        """Whether there is anything in it."""
        return bool(self._entries)

    @property
    def cursor_node(self) -> Node | None:
        """What the cursor stands on."""
        row = self.cursor_item
        return row.node if row is not None else None

    # Actions

    def action_select(self) -> None:
        """Expand or collapse; a line with nothing below is for the parent."""
        row = self.cursor_item
        if row is not None and row.expanded is not None:
            self._toggle(row.node)
        else:
            super().action_select()

    def expand_line(self) -> None:
        """Expand the line; step into one that is expanded."""
        row = self.cursor_item
        if row is None:
            return
        if row.expanded is False:
            self._toggle(row.node)
        elif row.expanded:
            self.cursor_row += 1

    def collapse_line(self) -> None:
        """Collapse the line; elsewhere go to the line around."""
        row = self.cursor_item
        if row is None:
            return
        if row.expanded:
            self._toggle(row.node)
        elif row.parent is not None:
            self._go_to(row.parent)

    def expand_all(self) -> None:
        """Expand every line."""
        self._expanded = {node.key for node in _every(self._entries)}
        self._rebuild()

    def collapse_all(self) -> None:
        """Collapse every line; the cursor goes to the outermost line it was in."""
        row = self.cursor_item
        around = {line.node.key: line.parent for line in self._model.rows}
        key = row.node.key if row is not None else None
        while around.get(key) is not None:
            key = around[key]
        self._expanded = set()
        self._rebuild()
        self._go_to(key)

    def _toggle(self, node: Node) -> None:
        self._expanded ^= {node.key}
        self._rebuild()

    def _go_to(self, key: Hashable) -> None:
        index = self._model.index_of_key(key)
        if index is not None:
            self.move_to(self._model.rows[index])


def _every(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _every(node.children)


def outline_label(row: OutlineRow) -> str:
    """The label with what is drawn before it."""
    sign = "" if row.expanded is None else f"{EXPANDED_SIGN if row.expanded else COLLAPSED_SIGN} "
    return row.guides + sign + row.node.label
