"""Lines that expand: the virtual table, with what stands below a line shown or not."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence

from trex_tui.report.views.build import Node
from trex_tui.widgets.expandable_table import ExpandableTable
from trex_tui.widgets.table_model import Column, SortKey, TableModel


class _OutlineModel(TableModel[Node]):
    """Keeps the sort keys and leaves the order alone: it is made where lines are put below others."""

    def sort(self, keys: Iterable[SortKey]) -> None:
        super().sort(())
        self.sort_keys = tuple(keys)


class Outline(ExpandableTable[Node]):
    """An outline. Sorting changes the order of lines that stand below the same one, and takes what is below along."""

    indent_below_top = " "

    def __init__(self, columns: Sequence[Column[Node]], *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._model = _OutlineModel()
        self.set_columns(columns)
        self._outline: Sequence[Node] = ()

    def show_nodes(self, nodes: Sequence[Node]) -> None:
        """Show other lines, expanded as they say."""
        self._outline = nodes
        self.expanded = {node.key for node in _every(nodes) if node.is_open}
        self.rebuild()

    def rows_below(self, row: Node | None) -> Sequence[Node]:
        return self._in_order(self._outline if row is None else row.children)

    def key_of(self, row: Node) -> Hashable:
        return row.key

    def is_expandable(self, row: Node) -> bool:
        return bool(row.children)

    def _in_order(self, nodes: Sequence[Node]) -> Sequence[Node]:
        """Lines below the same one, by the sort keys."""
        if not self.sort_keys:
            return nodes
        level: TableModel[Node] = TableModel()
        level.set_columns(self.columns)
        level.set_rows(nodes, None)
        level.sort(self.sort_keys)
        return [nodes[index] for index in level.shown]

    def set_sort(self, keys: Iterable[SortKey]) -> None:
        """Sort at every depth; expanded lines stay expanded."""
        before = self.sort_keys
        super().set_sort(keys)
        if self.sort_keys != before:
            self.rebuild()

    @property
    def has_lines(self) -> bool:
        return bool(self._outline)


def _every(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        yield node
        yield from _every(node.children)
