"""Table of the blocks of a comparison, each with the layers of every engine below it.

Rows are ordered by block, so that layers stay below theirs: titles and choices set an `Order`, not the sort of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual.binding import BindingType

from trex_tui.old.analysis.compare.model import Block, Comparison, Match, Outcome, letter
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.colours import precision_style
from trex_tui.old.report.views.compare import ComparisonNames, describe_changes
from trex_tui.old.report.views.compare_story import (
    describe_formats,
    format_delta_ms,
    format_ratio,
    is_changed,
    layer_ms,
)
from trex_tui.old.text import MISSING, format_ms
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.expandable_table import ExpandableTable
from trex_tui.old.widgets.table_model import SortKey, TableColumn

SIZE, ORDER, TIME, DELTA = "size", "order", "ms:", "delta:"
"""Sort keys of blocks: largest difference, execution; with an engine index, its time or difference."""
RATIO = "ratio:"
LEAST_NUMBER = 6
_NOISE_WORDS = {
    Outcome.SLOWER: "beyond",
    Outcome.FASTER: "beyond",
    Outcome.SAME: "within",
    Outcome.UNKNOWN: MISSING,
}
_MOST_NAME = 40
"""Cells of a name before the column of changes takes the rest."""
_MOST_CHANGE = 27
"""Cells of changes before other columns get the rest: `FP32⇒INT8, tactic, formats` and an ellipsis."""
_LAYER_INDENT = 3
"""Cells before the letter of a layer."""
PINNED = "pinned"
"""Mark of a block matched manually, since narrow terminals have no column of matches."""


class Order(NamedTuple):
    """Sort of blocks. Unknown values come last in both directions."""

    by: str = SIZE
    descending: bool = True


class BlockRow(NamedTuple):
    """A line: a block, or a layer in it.

    Attributes:
        engine_index: Index of the layer's engine; None for the block itself.
    """

    block: Block
    engine_index: int | None = None
    layer: Layer | None = None

    @property
    def key(self) -> Hashable:
        """Identity of the row while the comparison exists."""
        if self.engine_index is None or self.layer is None:
            return self.block.index
        return self.block.index, self.engine_index, self.layer.index


def ordered(blocks: Iterable[Block], order: Order) -> list[Block]:
    """Return the blocks in an order; ties stay in execution order."""
    if order.by == ORDER:
        return sorted(blocks, key=lambda block: block.index, reverse=order.descending)
    value = _block_value(order.by)
    valued = [(value(block), block) for block in sorted(blocks, key=lambda block: block.index)]
    known = [(number, block) for number, block in valued if number is not None]
    known.sort(key=lambda pair: pair[0], reverse=order.descending)
    return [block for _, block in known] + [block for number, block in valued if number is None]


def _block_value(by: str) -> Callable[[Block], float | None]:
    if by == SIZE:
        return lambda block: None if block.delta_ms is None else abs(block.delta_ms)
    name, _, digits = by.partition(":")
    engine_index = int(digits)
    if name + ":" == TIME:
        return lambda block: block.latency_ms[engine_index]
    return lambda block: block.deltas_ms[engine_index]


def orders(comparison: Comparison) -> dict[str, str]:
    """Return the sort keys of blocks, with their labels."""
    others = comparison.others
    single = len(others) == 1
    return {
        SIZE: "|Δ| ms: largest difference first",
        **{
            f"{DELTA}{engine_index}": f"Δ ms{'' if single else f' of {letter(engine_index)}'}: slower first, faster last"
            for engine_index in others
        },
        **{
            f"{TIME}{engine_index}": f"{letter(engine_index)} ms"
            for engine_index in range(len(comparison.engines))
        },
        ORDER: "execution order",
    }


class BlockTable(ExpandableTable[BlockRow]):
    """Table of blocks, some with their layers. The parent sets the content; messages are the table's."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.BLOCKS)

    def __init__(self, *, id: str) -> None:  # noqa: A002 - Textual's name
        self.comparison: Comparison | None = None
        self.names: ComparisonNames | None = None
        self.order = Order()
        self._widths = LEAST_NUMBER, LEAST_NUMBER
        """Cells for a time and a difference."""
        self.all_blocks: Sequence[Block] = ()
        """All blocks of the comparison in their order, shown or hidden."""
        self._blocks: Sequence[Block] = ()
        self._longest_change: int | None = None
        """Cells that the column of changes has use for; None until it is placed."""
        super().__init__(id=id)

    @property
    def shown_blocks(self) -> Sequence[Block]:
        return self._blocks

    def show(self, comparison: Comparison) -> None:
        """Prepare another comparison, which `show_blocks` then shows."""
        self.comparison, self.names = comparison, ComparisonNames(comparison)
        self._widths = _widths(comparison)
        self._longest_change = None
        self.expanded = set()
        if self.order.by not in orders(comparison):
            self.order = Order()
        self.all_blocks, self._blocks = ordered(comparison.blocks, self.order), ()
        self.set_rows(())
        self.set_columns(self._columns(comparison))

    def show_blocks(self, blocks: Sequence[Block]) -> None:
        """Show only these blocks of `all_blocks`, in that order."""
        self._blocks = blocks
        self.rebuild()

    def rows_below(self, row: BlockRow | None) -> Sequence[BlockRow]:
        if row is None:
            return [BlockRow(block) for block in self._blocks]
        assert self.comparison is not None
        return [
            BlockRow(row.block, engine_index, self.comparison.engines[engine_index].layers[index])
            for engine_index, indices in enumerate(row.block.layers)
            for index in indices
        ]

    def row_key(self, row: BlockRow) -> Hashable:
        return row.key

    def is_expandable(self, row: BlockRow) -> bool:
        return row.layer is None

    def draw_name(self, row: BlockRow, name: str) -> str:
        """Return no guides: layers are below the name of their block, after their letter."""
        return f"{_LAYER_INDENT * ' '}{name}" if row.layer is not None else super().draw_name(row, name)

    def go_to(self, block: Block, engine_index: int | None = None, layer: int | None = None) -> bool:
        """Put the cursor on a block, or on a visible layer in it; return False if the block is hidden."""
        is_layer_shown = (
            engine_index is not None
            and layer is not None
            and self.go_to_key((block.index, engine_index, layer))
        )
        return is_layer_shown or self.go_to_key(block.index)

    # Order

    def set_order(self, order: Order) -> None:
        shown = {block.index for block in self._blocks}
        self.order = order
        self.all_blocks = ordered(self.all_blocks, order)
        self._blocks = [block for block in self.all_blocks if block.index in shown]
        if self.comparison is not None:
            self.set_columns(self._columns(self.comparison))
        self.rebuild()

    def order_by(self, by: str) -> None:
        """Sort by a key, the largest first; by the current key, reverse."""
        if by == self.order.by:
            self.reverse_sort()
        else:
            self.set_order(Order(by, by != ORDER))

    def reverse_sort(self) -> None:
        self.set_order(Order(self.order.by, not self.order.descending))

    def cycle_sort(self, column_key: str) -> None:
        """Handle a click on a title: times and differences sort by themselves, other columns by execution."""
        if column_key.startswith((DELTA, RATIO)):
            by = DELTA + column_key.partition(":")[2]
            self.order_by(SIZE if self.order.by not in (SIZE, by) else by)
        elif column_key.startswith(TIME):
            self.order_by(column_key)
        else:
            self.order_by(ORDER)

    @property
    def title_keys(self) -> tuple[SortKey, ...]:
        by = self.order.by
        if by == SIZE and self.comparison is not None:
            # With several engines it is the largest of the differences, which has no column.
            others = self.comparison.others
            by = f"{DELTA}{others[0]}" if len(others) == 1 else ORDER
        return (SortKey("name" if by == ORDER else by, self.order.descending),)

    # Columns

    def _columns(self, comparison: Comparison) -> list[TableColumn[BlockRow]]:
        places, others = range(len(comparison.engines)), comparison.others
        width, delta_width = self._widths
        title = "Block: max |Δ|" if self.order.by == SIZE and len(others) > 1 else "Block"
        return [
            TableColumn(
                "name",
                title,
                self._format_name,
                shorten=self._shorten_name,
                longest=self._find_longest if len(others) == 1 else None,
                flex=True,
                width=24,
                style=_name_style,
                descending=False,
            ),
            TableColumn(
                "layers",
                "Layers",
                lambda row: row.block.shape,
                text=lambda row: "" if row.layer else row.block.shape,
                width=max(6, 2 * len(places) - 1),
                priority=4,
                description="Layers of each engine in the block.",
            ),
            TableColumn(
                "match",
                "Match",
                _match,
                width=9,
                priority=5,
                style=_match_style,
                description="The weakest evidence of the block; for a layer, its precision.",
            ),
            *(self._time_column(engine_index, width) for engine_index in places),
            *(
                self._delta_column(engine_index, delta_width, rank)
                for rank, engine_index in enumerate(others)
            ),
            *(self._ratio_column(engine_index, rank) for rank, engine_index in enumerate(others)),
            *(
                self._noise_column(engine_index)
                for engine_index in others
                if any(block.verdicts for block in comparison.blocks)
            ),
            TableColumn(
                "changed",
                "Changed",
                self._changed,
                longest=self._find_longest_change if len(others) == 1 else None,
                flex=True,
                keeps_head=True,
                width=12,
                priority=1 if len(others) == 1 else 2,
                style=lambda row: "$muted" if row.layer else "",
                description="Difference from the baseline; for a layer, its kernel, types and layouts.",
            ),
        ]

    def _time_column(self, engine_index: int, width: int) -> TableColumn[BlockRow]:
        def value(row: BlockRow) -> float | None:
            if row.layer is None:
                return row.block.latency_ms[engine_index] if row.block.layers[engine_index] else None
            assert self.comparison is not None
            return (
                layer_ms(self.comparison, engine_index, row.layer)
                if row.engine_index == engine_index
                else None
            )

        return TableColumn(
            f"{TIME}{engine_index}",
            f"{letter(engine_index)} ms",
            value,
            text=lambda row: "" if row.layer and row.engine_index != engine_index else format_ms(value(row)),
            align="right",
            width=width,
            description=f"Latency of the block in engine {letter(engine_index)}; – where it has no layer in it.",
        )

    def _delta_column(self, engine_index: int, width: int, rank: int) -> TableColumn[BlockRow]:
        assert self.comparison is not None
        comparison = self.comparison
        name = "Δ" if len(comparison.others) == 1 else f"Δ{letter(engine_index)}"
        sign = f"|{name}|" if self.order.by == SIZE and name == "Δ" else name
        return TableColumn(
            f"{DELTA}{engine_index}",
            f"{sign} ms",
            lambda row: comparison.delta_ms(row.block, engine_index),
            text=lambda row: (
                "" if row.layer else format_delta_ms(comparison.delta_ms(row.block, engine_index))
            ),
            align="right",
            width=width,
            priority=2 * rank,
            style=lambda row: _delta_style(row, engine_index),
            description="Latency minus the baseline's: ▲ slower, ▼ faster.",
        )

    def _ratio_column(self, engine_index: int, rank: int) -> TableColumn[BlockRow]:
        assert self.comparison is not None
        return TableColumn(
            f"{RATIO}{engine_index}",
            "Δ %" if len(self.comparison.others) == 1 else f"Δ{letter(engine_index)} %",
            lambda row: row.block.ratios[engine_index],
            text=lambda row: "" if row.layer else format_ratio(row.block.ratios[engine_index]),
            align="right",
            width=8,
            priority=(2 if len(self.comparison.others) == 1 else 6) + rank,
            style=lambda row: _delta_style(row, engine_index),
            description="Difference in percent of the baseline's latency.",
        )

    def _noise_column(self, engine_index: int) -> TableColumn[BlockRow]:
        assert self.comparison is not None

        def words(row: BlockRow) -> str:
            verdict = row.block.verdicts[engine_index] if row.block.verdicts and row.layer is None else None
            return "" if verdict is None else _NOISE_WORDS[verdict.outcome]

        return TableColumn(
            f"noise:{engine_index}",
            "Noise" if len(self.comparison.others) == 1 else f"Noise {letter(engine_index)}",
            words,
            width=7,
            priority=3,
            style=lambda row: "" if words(row) == _NOISE_WORDS[Outcome.SLOWER] else "$muted",
            description="Difference within or beyond the noise of the layers' single times.",
        )

    def _format_name(self, row: BlockRow) -> str:
        if row.layer is not None and row.engine_index is not None:
            return f"{_lane(row.engine_index, row.layer)}{row.layer.name}"
        assert self.names is not None
        return self.names.label(row.block)

    def _shorten_name(self, row: BlockRow, width: int) -> str:
        assert self.names is not None
        if row.layer is None or row.engine_index is None:
            return self.names.fit_block(row.block, width)
        lane = _lane(row.engine_index, row.layer)
        return lane + self.names.fit_layer(row.layer, max(0, width - len(lane)))

    def _find_longest(self) -> int | None:
        longest = self.names.longest if self.names is not None else None
        if longest is None or self.comparison is None:
            return None
        digits = max(len(str(len(engine.layers))) for engine in self.comparison.engines)
        return min(_MOST_NAME, longest + _LAYER_INDENT + len("A ") + digits + 1)

    def _find_longest_change(self) -> int:
        """Cells of the longest change of a block: those of layers get no more."""
        if self._longest_change is None:
            changes = (len(self._changed(BlockRow(block))) for block in self.all_blocks)
            self._longest_change = min(_MOST_CHANGE, max(changes, default=0))
        return self._longest_change

    def _changed(self, row: BlockRow) -> str:
        if row.layer is None:
            pinned = PINNED if row.block.match is Match.MANUAL else ""
            return "; ".join(part for part in (pinned, describe_changes(row.block, brief=True)) if part)
        return " · ".join(part for part in (describe_formats(row.layer), row.layer.tactic or "") if part)


def _lane(engine_index: int, layer: Layer) -> str:
    """Letter of the engine and index of a layer, before its name."""
    return f"{letter(engine_index)} {layer.index} "


def _widths(comparison: Comparison) -> tuple[int, int]:
    times = [time for block in comparison.blocks for time in block.latency_ms if time is not None]
    deltas = [abs(delta) for block in comparison.blocks for delta in block.deltas_ms if delta is not None]
    sign = len(format_delta_ms(1.0)) - len(format_ms(1.0))
    return (
        max(LEAST_NUMBER, len(format_ms(max(times, default=0.0)))),
        max(len("▼ |Δ| ms"), sign + len(format_ms(max(deltas, default=0.0)))),
    )


def _match(row: BlockRow) -> str:
    if row.layer is not None:
        return row.layer.precision.value if row.layer.precision else MISSING
    return row.block.match.value


def _match_style(row: BlockRow) -> str:
    if row.layer is not None:
        return precision_style(row.layer.precision)
    return "bold $warning" if row.block.match is Match.MANUAL else "$muted"


def _name_style(row: BlockRow) -> str:
    return "$muted" if row.layer is not None or not is_changed(row.block) else ""


def _delta_style(row: BlockRow, engine_index: int) -> str:
    delta = row.block.deltas_ms[engine_index]
    if row.layer is not None or not delta:
        return "$muted"
    return "$error" if delta > 0 else "$success"
