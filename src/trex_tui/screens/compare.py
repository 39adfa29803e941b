"""Two to four engines side by side: what can be said, and block by block where the difference is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.widget import Widget

from trex_tui.analysis.compare import Block, Comparison, Match
from trex_tui.analysis.filter import filter_layers
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.views.compare import Shown, letter
from trex_tui.report.views.compare_story import (
    Matrix,
    Story,
    block_story,
    describe_block,
    describe_engines,
    describe_layer,
    describe_sums,
    is_changed,
    overview_story,
)
from trex_tui.screens.compare_job import CompareJob, Tie, find_engine_index
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.pane import LayerJumped, LayerOpened, OtherOpened, Selection, TablePane
from trex_tui.text import printable, shorten_middle
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.block_table import BlockRow, BlockTable, Order, orders
from trex_tui.widgets.chrome import SummaryLine
from trex_tui.widgets.linked_text import CompareText, LinkFollowed

NOTHING = (
    "Nothing is compared yet. Press c to choose the engine that this one is compared with: one from the list of engines, "
    "one opened lately, or another by its path. A adds up to two more. In the list of engines, Space marks and = compares."
)
NO_MATCH = "No block has a layer that matches the filter."
_OF_COMPARISON = (
    "choose_sort", "reverse", "only_changed", "swap", "next_matrix", "tell_block", "pin", "unpin", "per_batch", "zoom",
)  # fmt: skip
"""Actions that mean nothing before there are engines to compare."""
NO_CHANGE = "Nothing changed but times: d shows all blocks again."
_MOST_NAME = 50

LayerEnd = tuple[Engine, int]
"""A layer of an engine, by its index."""


class Pins:
    """Matches of layers pinned by hand in the table of blocks.

    Attributes:
        first: The layer that waits for the other end of a pin.
    """

    def __init__(self, table: BlockTable, job: CompareJob) -> None:
        self.first: LayerEnd | None = None
        self._table, self._job = table, job

    def pin(self) -> None:
        """Pin the layer under the cursor: the first end, and then the other. Pins that share a layer make one block."""
        end, first, comparison = self._end_here(), self.first, self._job.comparison
        if end is None or comparison is None:
            self._table.notify("Choose a layer: l shows the layers of a block.", markup=False)
        elif first is None or first[0] is end[0]:
            self._wait_for_other(end, comparison)
        elif comparison.engines[comparison.baseline] not in (first[0], end[0]):
            words = "One of both must be a layer of the baseline, A."
            self._table.notify(words, severity="warning", markup=False)
        else:
            choice = self._job.choice
            choice.ties = (*(tie for tie in choice.ties if {*tie.ends} != {first, end}), Tie((first, end)))
            self.forget()
            self._job.start()

    def _wait_for_other(self, end: LayerEnd, comparison: Comparison) -> None:
        self.first = end
        row = self._table.cursor_item
        self._table.marked = frozenset({row.key}) if row is not None else frozenset()
        name = shorten_middle(printable(end[0].layers[end[1]].name), _MOST_NAME)
        where = letter(find_engine_index(comparison, end[0]))
        self._table.notify(
            f"{where} {name}: m on a layer of another engine pins the two; M lets go.", markup=False
        )

    def forget(self) -> None:
        """Let go of a first end."""
        self.first, self._table.marked = None, frozenset()

    def _end_here(self) -> LayerEnd | None:
        """The layer under the cursor, or the only one of its block."""
        row, comparison = self._table.cursor_item, self._job.comparison
        if row is None or comparison is None:
            return None
        if row.layer is None and sum(map(len, row.block.layers)) != 1:
            return None
        return row_end(row, comparison)

    def unpin(self) -> None:
        """Let go of a first end; else take back the pins of the block, or the last pin."""
        choice, row = self._job.choice, self._table.cursor_item
        if self.first is not None:
            self.forget()
        elif not choice.ties:
            self._table.notify("Nothing is pinned: m on two layers does that.", markup=False)
        else:
            is_pinned = row is not None and row.block.match is Match.MANUAL
            here = self._find_ties(row.block) if row is not None and is_pinned else []
            gone = here or [choice.ties[-1]]
            choice.ties = tuple(tie for tie in choice.ties if tie not in gone)
            self._job.start()

    def _find_ties(self, block: Block) -> list[Tie]:
        assert self._job.comparison is not None
        engines = self._job.comparison.engines
        ends = {
            (engine, index) for engine, layers in zip(engines, block.layers, strict=True) for index in layers
        }
        return [tie for tie in self._job.choice.ties if not ends.isdisjoint(tie.ends)]


class ComparePane(TablePane[BlockRow]):
    """The blocks of a comparison, and text about it above or beside them."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.COMPARE)

    table: BlockTable

    def __init__(self, engine: Engine, job: CompareJob, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.job = job
        self.table = BlockTable(id="compare-table")
        self.table.display = False
        self.words: CompareText = CompareText(id="compare-words")
        self.pins = Pins(self.table, job)
        self.only_changed = False
        self.matrix = Matrix.KIND
        self.tells_block = False
        """Whether the words are about the block under the cursor, not about the whole."""
        self._filter_text = ""
        self._matching: Sequence[Layer] = engine.layers
        self._current: Layer | None = None
        self._has_blocks = False
        self._blocks: Sequence[Block] = ()
        """What the filter leaves."""

    def compose(self) -> ComposeResult:
        yield SummaryLine(id="compare-title")
        with Container(id="compare-parts"):
            yield self.words
            yield self.table
        yield SummaryLine(id="compare-sum")
        yield SummaryLine(id="compare-why")

    def on_mount(self) -> None:
        self.job.view = self
        self.show_state()

    def on_resize(self) -> None:
        """Fit the names in the title."""
        self._tell_title()

    # Showing

    @property
    def comparison(self) -> Comparison | None:
        return self.job.comparison

    def show_state(self) -> None:
        """Show what is running, or how to start; blocks that are there stay."""
        had_focus = self.screen.focused in (self.words, self.table)
        self._show_parts(has_blocks=self.comparison is not None)
        self._tell_title()
        self._show_story(from_top=not self._has_blocks)
        if had_focus and self.display and not self._has_blocks:
            self.screen.set_focus(self.words)

    def _show_parts(self, *, has_blocks: bool) -> None:
        """Hide what is empty: at once and not by a class, as the focus may move there in the same moment."""
        self._has_blocks = has_blocks
        for part in (self.table, self.query_one("#compare-sum"), self.query_one("#compare-why")):
            if has_blocks:
                part.styles.clear_rule("display")
            else:
                part.styles.display = "none"
            part.refresh(layout=True)
        self.refresh_bindings()

    def show_comparison(self, comparison: Comparison) -> None:
        had_blocks, anchors = self._has_blocks, find_anchors(self.table)
        self.pins.forget()
        self.table.show(comparison)
        self._show_parts(has_blocks=True)
        if anchors:
            known = [end for end in anchors[1:] if end[0] in comparison.engines]
            self.table.expanded = {self._find_block(*end).index for end in known}
        self._fill()
        if anchors and anchors[0][0] in comparison.engines:
            engine, index = anchors[0]
            self.table.go_to(self._find_block(engine, index), find_engine_index(comparison, engine), index)
        elif not had_blocks:
            self.show_layer(self._current)
        if self.display and self.screen.focused in (None, self.words) and not had_blocks:
            self.screen.set_focus(self.table)
        self._tell_title()
        self._show_story(from_top=not had_blocks)

    def _find_block(self, engine: Engine, layer: int) -> Block:
        assert self.comparison is not None
        return self.comparison.block_of(find_engine_index(self.comparison, engine), layer)

    def _fill(self) -> None:
        comparison = self.comparison
        if comparison is None:
            return
        matching = matching_blocks(comparison, self.engine, self._matching, self._filter_text)
        self._blocks = [
            block
            for block in self.table.all_blocks
            if (matching is None or block.index in matching) and (is_changed(block) or not self.only_changed)
        ]
        self.table.empty_text = NO_CHANGE if self.only_changed and matching is None else NO_MATCH
        self.table.show_blocks(self._blocks)
        remarks = [f"by {comparison.align.value}"] if comparison.align.value != "auto" else []
        words = describe_sums(comparison, self._blocks, remarks, only_changed=self.only_changed)
        self.query_one("#compare-sum", SummaryLine).text = words
        self.row_changed()

    def _tell_title(self) -> None:
        line = self.query_one("#compare-title", SummaryLine)
        if self.job.waiting or self.comparison is None:
            line.text = self.job.waiting or "Nothing is compared yet: c chooses another engine."
        else:
            line.text = describe_engines(self.comparison, max(0, self.size.width - 2))
        line.set_class(bool(self.comparison and self.comparison.cautions), "-warning")

    def _show_story(self, *, from_top: bool) -> None:
        comparison, row = self.comparison, self.table.cursor_item
        if comparison is None:
            story = partial(_sentence, self.job.waiting or NOTHING)
        elif self.tells_block and row is not None:
            story = partial(_block_story, comparison, row.block)
        else:
            story = partial(overview_story, comparison, self.matrix)
        self.words.tell(story, from_top=from_top)

    def row_changed(self) -> None:
        row = self.table.cursor_item
        words = ""
        if row is not None:
            words = describe_block(row.block)
            if row.place is not None and row.layer is not None:
                words = describe_layer(row.place, row.layer)
        self.query_one("#compare-why", SummaryLine).text = words
        if self.tells_block:
            self._show_story(from_top=True)

    def choose_layer(self, layer: Layer) -> None:
        self._current = layer
        super().choose_layer(layer)

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Show the blocks with a matching layer in any engine."""
        self._matching, self._filter_text = layers, filter_text
        self._fill()

    def show_layer(self, layer: Layer | None) -> None:
        """Select the block of the layer; start a comparison that is due."""
        self._current = layer
        self.job.start_if_due()
        if layer is None or self.comparison is None:
            return
        block, row, place = self._find_block(self.engine, layer.index), self.table.cursor_item, self.job.place
        is_here = row is not None and (
            row.block is block if row.layer is None or row.place != place else row.layer is layer
        )
        if not is_here:
            self.table.go_to(block, place, layer.index)

    def get_layer(self, row: BlockRow) -> Layer | None:
        """Return the row's layer of this engine; for a block the current one, or its slowest."""
        if self.comparison is None:
            return None
        place = self.job.place
        if row.layer is not None:
            return row.layer if row.place == place else None
        own = [self.engine.layers[index] for index in row.block.layers[place]]
        if self._current in own:
            return self._current
        return max(own, key=lambda layer: layer.latency_ms or 0.0, default=None)

    @property
    def is_on_group(self) -> bool:
        return self.table.cursor_item is not None and self.cursor_layer is None

    @property
    def main_part(self) -> Widget:
        """Show the table again if it was hidden; without a comparison, the text."""
        table = super().main_part
        return table if self.comparison is not None else self.words

    def selection(self) -> Selection:
        """The blocks on display, sorted as in reports; layers of another engine under the cursor."""
        comparison, row = self.comparison, self.table.cursor_item
        if comparison is None:
            return Selection(self.engine)
        shown = {block.index for block in self._blocks}
        blocks = [block for block in comparison.by_delta() if block.index in shown]
        exported = Shown(comparison, blocks, None, self._filter_text)
        if row is None or self.cursor_layer is not None:
            return Selection(self.engine, comparison=exported)
        engine, index = row_end(row, comparison)
        indices = (
            [index] if row.layer is not None else row.block.layers[find_engine_index(comparison, engine)]
        )
        return Selection(engine, [engine.layers[index] for index in indices], comparison=exported)

    def view_state(self) -> object:
        return self.only_changed, self.matrix, self.tells_block, self.table.order

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - the engines are the job's
        self.only_changed, self.matrix, self.tells_block, self.table.order = cast(
            "tuple[bool, Matrix, bool, Order]", state
        )

    # Going elsewhere

    def open_row(self, row: BlockRow) -> None:
        if row.place is not None and row.layer is not None:
            self._open(row.place, row.layer)

    @on(LinkFollowed)
    def _link_followed(self, event: LinkFollowed) -> None:
        event.stop()
        goal = self.words.goal(event.index)
        assert self.comparison is not None
        if goal.block is None:
            self._open(goal.engine, self.comparison.engines[goal.engine].layers[goal.layer])
        elif self.table.go_to(self.comparison.blocks[goal.block]):
            self.screen.set_focus(self.main_part)
        else:
            self.notify("The block is not shown: Esc clears the filter, d shows all blocks.", markup=False)

    def _open(self, place: int, layer: Layer) -> None:
        """Show a layer on the screen of its engine."""
        assert self.comparison is not None
        engine = self.comparison.engines[place]
        if engine is self.engine:
            self.post_message(LayerJumped(layer))
            self.post_message(LayerOpened(layer))
        else:
            others = tuple(other for other in self.comparison.engines if other is not engine)
            self.post_message(OtherOpened(engine, layer, others))

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that need a comparison."""
        is_waiting = self.comparison is None and not self.job.choice.others
        return False if is_waiting and action in _OF_COMPARISON else super().check_action(action, parameters)

    def action_choose_other(self) -> None:
        self.job.choose_other()

    def action_add_other(self) -> None:
        self.job.add_other()

    def action_swap(self) -> None:
        self.job.swap()

    def action_choose_align(self) -> None:
        self.job.choose_align()

    def action_per_batch(self) -> None:
        self.job.toggle_per_batch()

    def action_pin(self) -> None:
        self.pins.pin()

    def action_unpin(self) -> None:
        self.pins.unpin()

    def action_only_changed(self) -> None:
        if self.comparison is not None:
            self.only_changed = not self.only_changed
            self._fill()

    def action_next_matrix(self) -> None:
        """Scroll to the totals; then sum by the next property."""
        if self.tells_block:
            self.tells_block = False
            self._show_story(from_top=True)
        self.remove_class("-only-table")
        if self.comparison is not None and not self.words.show_totals():
            self.matrix = list(Matrix)[(list(Matrix).index(self.matrix) + 1) % len(Matrix)]
            self._show_story(from_top=False)

    def action_tell_block(self) -> None:
        """Toggle between the block under the cursor and the whole comparison."""
        self.tells_block = not self.tells_block
        self.remove_class("-only-table")
        self._show_story(from_top=True)

    def action_choose_sort(self) -> None:
        """Choose what blocks are sorted by; choosing the same again reverses."""
        if self.comparison is None:
            return
        screen = ChooseScreen("Order blocks by", orders(self.comparison), self.table.order.by)
        self.app.push_screen(screen, lambda by: self.table.order_by(by) if by else None)

    def action_reverse(self) -> None:
        if self.comparison is not None:
            self.table.reverse_sort()

    def action_zoom(self) -> None:
        if self.comparison is not None or self.has_class("-only-table") or self.has_class("-only-words"):
            super().action_zoom()


def first_layer(engines: Sequence[Engine], block: Block) -> LayerEnd:
    """The first layer of a block: of the baseline, or of the first engine that has one."""
    number = next(number for number, layers in enumerate(block.layers) if layers)
    return engines[number], block.layers[number][0]


def row_end(row: BlockRow, comparison: Comparison) -> LayerEnd:
    """The layer of a row, or the first of its block."""
    if row.place is not None and row.layer is not None:
        return comparison.engines[row.place], row.layer.index
    return first_layer(comparison.engines, row.block)


def find_anchors(table: BlockTable) -> list[LayerEnd]:
    """Return a layer of the row under the cursor, and one of each expanded block."""
    row, comparison = table.cursor_item, table.comparison
    if comparison is None or row is None:
        return []
    expanded = [comparison.blocks[index] for index in sorted(table.expanded)]
    return [row_end(row, comparison), *(first_layer(comparison.engines, block) for block in expanded)]


def matching_blocks(
    comparison: Comparison, own: Engine, matching: Sequence[Layer], filter_text: str
) -> set[int] | None:
    """Return the indices of blocks with a matching layer in any engine; None without a filter.

    Args:
        own: The engine of which the matching layers are known already.
        matching: Those layers.
    """
    if not filter_text:
        return None
    indices: set[int] = set()
    for number, engine in enumerate(comparison.engines):
        layers = matching if engine is own else filter_layers(engine, filter_text)
        indices.update(comparison.block_of(number, layer.index).index for layer in layers)
    return indices


def _sentence(words: str, _: int) -> Story:
    story = Story()
    story.say(words)
    return story


def _block_story(comparison: Comparison, block: Block, _: int) -> Story:
    return block_story(comparison, block)
