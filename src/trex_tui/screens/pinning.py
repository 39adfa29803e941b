"""Layers that a person says belong together."""

from __future__ import annotations

from collections.abc import Sequence

from trex_tui.analysis.compare import Block, Match
from trex_tui.engine.engine import Engine
from trex_tui.reports.diff.choice import letter
from trex_tui.screens.comparing import ComparingPane
from trex_tui.services.compared import Tie, place_of
from trex_tui.text import printable, shorten_middle
from trex_tui.widgets.block_table import BlockTable

_MOST_NAME = 50


class PinningPane(ComparingPane):
    """The part of the screen that pins matches in the table of blocks.

    Attributes:
        pinning: The layer that waits for the other end of a pin.
    """

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.table = BlockTable(id="compare-table")
        self.pinning: tuple[Engine, int] | None = None

    def action_pin(self) -> None:
        """Pin the layer under the cursor: the first end, and then the other. Pins that share a layer make one block."""
        end = self._end_here()
        if end is None:
            self.notify("Choose a layer: l shows the layers of a block.", markup=False)
            return
        first = self.pinning
        if first is None or first[0] is end[0]:
            self._wait_for_end(end)
            return
        assert self.comparison is not None
        if self.comparison.engines[self.comparison.baseline] not in (first[0], end[0]):
            self.notify("One of both must be a layer of the baseline, A.", severity="warning", markup=False)
            return
        ties = [tie for tie in self.choice.ties if {*tie.ends} != {first, end}]
        self.choice.ties = (*ties, Tie((first, end)))
        self._forget_end()
        self.start()

    def _wait_for_end(self, end: tuple[Engine, int]) -> None:
        assert self.comparison is not None
        self.pinning = end
        row = self.table.cursor_item
        self.table.marked = frozenset({row.key}) if row is not None else frozenset()
        name = shorten_middle(printable(end[0].layers[end[1]].name), _MOST_NAME)
        where = letter(place_of(self.comparison, end[0]))
        self.notify(f"{where} {name}: m on a layer of another engine pins the two; M lets go.", markup=False)

    def _forget_end(self) -> None:
        self.pinning, self.table.marked = None, frozenset()

    def _end_here(self) -> tuple[Engine, int] | None:
        """The layer under the cursor, or the only one of the block."""
        row = self.table.cursor_item
        if row is None or self.comparison is None:
            return None
        engines = self.comparison.engines
        if row.place is not None and row.layer is not None:
            return engines[row.place], row.layer.index
        only = sum(map(len, row.block.layers)) == 1
        return first_layer(engines, row.block) if only else None

    def action_unpin(self) -> None:
        """Let go of a first end; else take back the pins of the block, or the last pin."""
        if self.pinning is not None:
            self._forget_end()
            return
        if not self.choice.ties:
            self.notify("Nothing is pinned: m on two layers does that.", markup=False)
            return
        row = self.table.cursor_item
        here = self._ties_of(row.block) if row is not None and row.block.match is Match.MANUAL else []
        gone = here or [self.choice.ties[-1]]
        self.choice.ties = tuple(tie for tie in self.choice.ties if tie not in gone)
        self.start()

    def _ties_of(self, block: Block) -> list[Tie]:
        assert self.comparison is not None
        ends = {
            (engine, index)
            for engine, indices in zip(self.comparison.engines, block.layers, strict=True)
            for index in indices
        }
        return [tie for tie in self.choice.ties if not ends.isdisjoint(tie.ends)]


def first_layer(engines: Sequence[Engine], block: Block) -> tuple[Engine, int]:
    """The first layer of a block: of the baseline, or of the first engine that has one."""
    place = next(place for place, layers in enumerate(block.layers) if layers)
    return engines[place], block.layers[place][0]
