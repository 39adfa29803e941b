"""Compare screen: two to four engines, their verdict and causes, and their blocks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.widget import Widget

from trex_tui.old.analysis.compare import Block, Comparison, Match
from trex_tui.old.analysis.compare.model import ChangeKind, letter
from trex_tui.old.analysis.filter import filter_layers
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.charts.figure import Target
from trex_tui.old.report.document import ListingOffer
from trex_tui.old.report.glossary.registry import find_terms
from trex_tui.old.report.views.compare import Matrix, Shown, block_name, verdict_values
from trex_tui.old.report.views.compare_builds import WHY_TITLE, block_why_lines
from trex_tui.old.report.views.compare_lanes import LANES, lanes_listing
from trex_tui.old.report.views.compare_story import (
    Story,
    block_story,
    describe_block,
    describe_engines,
    describe_layer,
    describe_sums,
    is_changed,
    overview_story,
)
from trex_tui.old.report.views.layer_details import Line
from trex_tui.old.screens.compare_job import CompareJob, Tie, describe_place, find_engine_index
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.explanation import ShownNumber, column_numbers, term_numbers
from trex_tui.old.screens.pane import LayerOpened, LayersFiltered, OtherOpened, Selection, TablePane
from trex_tui.old.text import printable, shorten_middle
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.block_table import BlockRow, BlockTable, Order, orders
from trex_tui.old.widgets.chrome import SummaryLine
from trex_tui.old.widgets.compare_text import CompareText
from trex_tui.old.widgets.lane_table import LaneTable
from trex_tui.old.widgets.text_view import LinkFollowed

NOTHING = (
    "Press c to pick an engine to compare with: from the list, the same directory, recent paths, or any "
    "path. A adds up to two more.",
    "The comparison matches layers, groups the difference by cause, and separates it from noise.",
)
"""Hint without a comparison."""
MOST_SHOWN = 6
"""Number of engines in the same directory that are named."""
_WILL_HAVE = {
    "verdict": "verdict.outcome",
    "difference of medians": "verdict.difference_ms",
    "difference of layer times": "differences.delta_ms",
    "Δ ms": "blocks.deltas_ms",
    "match": "blocks.evidence",
}
"""Numbers of a comparison: labels, and keys of the terms."""
NO_MATCH = "No block matches the filter."
_OF_COMPARISON = (
    "bars", "choose_sort", "reverse", "only_changed", "lanes", "swap", "next_matrix", "cautions", "tell_block", "pin",
    "unpin", "per_batch", "zoom",
)  # fmt: skip
"""Actions that need a comparison."""
NO_CHANGE = "Only times changed: d shows all blocks."
_MOST_NAME = 50

LayerEnd = tuple[Engine, int]
"""A layer of an engine, by its index."""


class CompareLook(NamedTuple):
    """View settings of a comparison, as in the attributes of the pane."""

    only_changed: bool
    shows_cautions: bool
    matrix: Matrix
    tells_block: bool
    order: Order
    lanes: int | None


class Pins:
    """Pins of layers in the table of blocks.

    Attributes:
        first: First layer of an incomplete pin.
        hint: Next step for it; empty without one.
    """

    def __init__(self, pane: ComparePane, job: CompareJob) -> None:
        self.first: LayerEnd | None = None
        self.hint = ""
        self._pane, self._job = pane, job

    def pin(self) -> None:
        """Pin the layer under the cursor: first one layer, then the other. Pins that share a layer make one block."""
        end, first, comparison = self._end_here(), self.first, self._job.comparison
        if end is None or comparison is None:
            self._pane.notify("Choose a layer: l shows the layers of a block.", markup=False)
        elif first is None or first[0] is end[0]:
            self._wait_for_other(end, comparison)
        elif comparison.engines[comparison.baseline] not in (first[0], end[0]):
            words = "One of the two must be a layer of the baseline, A."
            self._pane.notify(words, severity="warning", markup=False)
        else:
            choice = self._job.choice
            choice.ties = (*(tie for tie in choice.ties if {*tie.ends} != {first, end}), Tie((first, end)))
            self.forget()
            self._job.start()

    def _wait_for_other(self, end: LayerEnd, comparison: Comparison) -> None:
        self.first = end
        self._pane.mark_cursor()
        name = shorten_middle(printable(end[0].layers[end[1]].name), _MOST_NAME)
        where = letter(find_engine_index(comparison, end[0]))
        self.hint = f"m pins {where} {name} to a layer of another engine, M unpins"
        self._pane.show_title()

    def forget(self) -> None:
        """Discard an incomplete pin."""
        self.first, self.hint = None, ""
        self._pane.clear_mark()
        self._pane.show_title()

    def _end_here(self) -> LayerEnd | None:
        """The layer under the cursor, or the only one of its block."""
        row, comparison = self._pane.cursor, self._job.comparison
        if row is None or comparison is None:
            return None
        if row.layer is None and sum(map(len, row.block.layers)) != 1:
            return None
        return row_end(row, comparison)

    def unpin(self) -> None:
        """Discard an incomplete pin; else remove the pins of the block, or the last pin."""
        choice, row = self._job.choice, self._pane.cursor
        if self.first is not None:
            self.forget()
        elif not choice.ties:
            self._pane.notify("No pins: press m on two layers.", markup=False)
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


class ComparePane(TablePane[Any]):
    """Blocks of a comparison, or two engines side by side, with text above or beside them."""

    DEFAULT_CSS = """
    /* Compare: words above the blocks, or beside them where there is room. */
    ComparePane {
        layout: vertical;
        & > #compare-title { color: $foreground; text-style: bold; }
        & > #compare-title.-warning { color: $warning; }
        & > #compare-parts { height: 1fr; layout: vertical; }
        & #compare-words {
            height: 2fr;
            padding: 0 1;
            background: $surface;
            border-bottom: solid $panel;
            &:focus { border-bottom: solid $primary; }
        }
        & #compare-table, & #compare-lanes { height: 3fr; }
        &.-only-table #compare-words { display: none; }
        &.-only-words #compare-table, &.-only-words #compare-lanes { display: none; }
        &.-empty #compare-words { border: none !important; }
    }

    EngineScreen.-wide ComparePane {
        & > #compare-parts { layout: horizontal; }
        & #compare-words {
            width: 1fr;
            height: 100%;
            border-bottom: none;
            border-right: solid $panel;
            &:focus { border-right: solid $primary; }
        }
        & #compare-table { width: 2fr; height: 100%; }
        & #compare-lanes { width: 3fr; height: 100%; }
    }
    """
    SCOPED_CSS = False

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.COMPARE)

    begins_at_slowest = False  # The list begins with the largest difference.

    def __init__(self, engine: Engine, job: CompareJob, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.job = job
        self.block_table = BlockTable(id="compare-table")
        self.lane_table = LaneTable(id="compare-lanes")
        for table in (self.block_table, self.lane_table):
            table.display = False
        self.lanes: int | None = None
        """Index of the engine next to the baseline in the lanes; None if the blocks are a list."""
        self.words: CompareText = CompareText(id="compare-words")
        self.title_line = SummaryLine(id="compare-title")
        self.sum_line = SummaryLine(id="compare-sum")
        self.why_line = SummaryLine(id="compare-why")
        self.pins = Pins(self, job)
        self.only_changed = False
        self.shows_cautions = False
        """True if the cautions are shown in full, not in one line."""
        self.matrix = Matrix.KIND
        self.bars = 0
        """Index of the chart of the bars."""
        self.tells_block = False
        """True if the text describes the block under the cursor, not the comparison."""
        self._filter_text = ""
        self._matching: Sequence[Layer] = engine.layers
        self._current: Layer | None = None
        self._has_blocks = False
        self._blocks: Sequence[Block] = ()
        """Blocks that match the filter."""

    def compose(self) -> ComposeResult:
        yield self.title_line
        with Container(id="compare-parts"):
            yield self.words
            yield self.block_table
            yield self.lane_table
        yield self.sum_line
        yield self.why_line

    def on_mount(self) -> None:
        self.job.view = self
        self.show_state()

    def on_resize(self) -> None:
        """Fit the names in the title."""
        self.show_title()

    # The table on screen

    @property
    def divided_parts(self) -> tuple[Widget, Widget]:
        return self.words, self.table

    @property
    def divider_id(self) -> str:
        """Key of the divider: blocks and lanes have separate shares."""
        return "compare" if self.lanes is None else "lanes"

    @property
    def table(self) -> BlockTable | LaneTable:  # type: ignore[override]  # one of two
        return self.block_table if self.lanes is None else self.lane_table

    @property
    def cursor(self) -> BlockRow | None:
        """The block or the layer under the cursor."""
        return self.block_table.cursor_item if self.lanes is None else self.lane_table.cursor_block_row

    @property
    def cursor_layer(self) -> Layer | None:
        row = self.cursor
        return None if row is None else self.get_layer(row)

    def mark_cursor(self) -> None:
        """Mark the row under the cursor."""
        self.table.mark_cursor()

    def clear_mark(self) -> None:
        self.block_table.marked = self.lane_table.marked = frozenset()

    # Showing

    @property
    def comparison(self) -> Comparison | None:
        return self.job.comparison

    def show_state(self) -> None:
        """Show the pending work, or how to start; existing blocks stay."""
        had_focus = self.screen.focused in (self.words, self.block_table, self.lane_table)
        self._show_parts(has_blocks=self.comparison is not None)
        self.show_title()
        self._show_story(from_top=not self._has_blocks)
        if had_focus and self.display and not self._has_blocks:
            self.screen.set_focus(self.words)

    def _show_parts(self, *, has_blocks: bool) -> None:
        """Hide empty parts: at once and not by a class, because the focus may move there in the same moment."""
        self._has_blocks = has_blocks
        self.set_class(has_blocks and self.lanes is not None, "-lanes")
        self.set_class(not has_blocks, "-empty")
        for part in (self.block_table, self.lane_table, self.sum_line, self.why_line):
            if has_blocks and (part is self.table or isinstance(part, SummaryLine)):
                part.styles.clear_rule("display")
            else:
                part.styles.display = "none"
            part.refresh(layout=True)
        self.place_divider()
        self.refresh_bindings()

    def show_comparison(self, comparison: Comparison) -> None:
        had_blocks, anchors = self._has_blocks, find_anchors(self.block_table, self.cursor)
        self.pins.forget()
        self.block_table.show(comparison)
        if self.lanes is not None:
            self.lanes = min(self.lanes, len(comparison.engines) - 1)
            self.lane_table.show(comparison, self.lanes)
        self._show_parts(has_blocks=True)
        if anchors:
            known = [end for end in anchors[1:] if end[0] in comparison.engines]
            self.block_table.expanded = {self._find_block(*end).index for end in known}
        self._fill()
        if anchors and anchors[0][0] in comparison.engines:
            engine, index = anchors[0]
            self.table.go_to(self._find_block(engine, index), find_engine_index(comparison, engine), index)
        elif not had_blocks:
            self.show_layer(self._current)
        if self.display and self.screen.focused in (None, self.words) and not had_blocks:
            self.screen.set_focus(self.table)
        self.show_title()
        self._show_story(from_top=not had_blocks)

    def _find_block(self, engine: Engine, layer: int) -> Block:
        assert self.comparison is not None
        return self.comparison.find_block(find_engine_index(self.comparison, engine), layer)

    def _fill(self) -> None:
        comparison = self.comparison
        if comparison is None:
            return
        matching = matching_blocks(comparison, self.engine, self._matching, self._filter_text)
        self._blocks = [
            block
            for block in self.block_table.all_blocks
            if (matching is None or block.index in matching) and (is_changed(block) or not self.only_changed)
        ]
        self.table.empty_text = NO_CHANGE if self.only_changed and matching is None else NO_MATCH
        self.table.show_blocks(self._blocks)
        remarks = [f"by {comparison.align.value}"] if comparison.align.value != "auto" else []
        if self.lanes is not None and len(comparison.others) > 1:
            remarks.append(f"lanes {letter(comparison.baseline)} and {letter(self.lanes)}")
        words = describe_sums(comparison, self._blocks, remarks, only_changed=self.only_changed)
        self.sum_line.text = words
        self.row_changed()

    def show_title(self) -> None:
        """Name the engines and the verdicts, or the pending work."""
        line = self.title_line
        if self.pins.hint:
            line.text = self.pins.hint
        elif self.job.waiting or self.comparison is None:
            line.text = self.job.waiting or "No comparison yet."
        else:
            line.text = describe_engines(self.comparison, max(0, self.size.width - 2))
        line.set_class(bool(self.comparison and self.comparison.cautions), "-warning")

    def _show_story(self, *, from_top: bool) -> None:
        comparison, row = self.comparison, self.cursor
        if comparison is None:
            story = partial(_invitation, self.job)
        elif self.tells_block and row is not None:
            story = partial(_block_story, comparison, row.block, self._why(row.block))
        else:
            story = partial(overview_story, comparison, self.matrix, has_all_cautions=self.shows_cautions)
        self.words.tell(story, from_top=from_top)

    def _why(self, block: Block) -> list[Line]:
        """Reasons for the changed tactics of a block; the logs are read at the first call."""
        if ChangeKind.TACTIC not in block.changed:
            return []
        self.job.read_builds()
        if self.job.builds is None:
            return [Line(WHY_TITLE, "section"), Line("Reading the build logs …", "muted", indent=2)]
        return list(block_why_lines(self.job.builds, block))

    def show_builds(self) -> None:
        """Show why the builder chose differently, in the details of the block."""
        if self.tells_block:
            self._show_story(from_top=False)

    def row_changed(self) -> None:
        row = self.cursor
        words = ""
        if row is not None:
            words = describe_block(row.block)
            if row.engine_index is not None and row.layer is not None:
                words = describe_layer(row.engine_index, row.layer)
        self.why_line.text = words
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
        """Select the block of the layer; start a pending comparison."""
        self._current = layer
        self.job.look_around()
        self.job.start_if_due()
        if layer is None or self.comparison is None:
            return
        block, row, engine_index = (
            self._find_block(self.engine, layer.index),
            self.cursor,
            self.job.engine_index,
        )
        is_here = row is not None and (
            row.block is block
            if row.layer is None or row.engine_index != engine_index
            else row.layer is layer
        )
        if not is_here:
            self.table.go_to(block, engine_index, layer.index)

    def get_layer(self, row: BlockRow) -> Layer | None:
        """Return the row's layer of this engine; for a block the current one, or its slowest."""
        if self.comparison is None:
            return None
        engine_index = self.job.engine_index
        if row.layer is not None:
            return row.layer if row.engine_index == engine_index else None
        own = [self.engine.layers[index] for index in row.block.layers[engine_index]]
        if self._current in own:
            return self._current
        return max(own, key=lambda layer: layer.latency_ms or 0.0, default=None)

    @property
    def is_on_group(self) -> bool:
        return self.cursor is not None and self.cursor_layer is None

    @property
    def main_part(self) -> Widget:
        """Show the table again if it was hidden; without a comparison, the text."""
        table = super().main_part
        return table if self.comparison is not None else self.words

    def _shown(self, comparison: Comparison) -> Shown:
        """The blocks on display, sorted as in reports."""
        shown = {block.index for block in self._blocks}
        blocks = [block for block in comparison.by_delta() if block.index in shown]
        return Shown(comparison, blocks, None, self._filter_text)

    def selection(self) -> Selection:
        """The blocks on display, sorted as in reports; layers of another engine under the cursor."""
        comparison, row = self.comparison, self.cursor
        if comparison is None:
            return Selection(self.engine)
        exported = self._shown(comparison)
        listings = {}
        if self.lanes is not None:
            make = partial(lanes_listing, comparison, self.lanes, exported.blocks)
            listings["the two engines side by side"] = ListingOffer(LANES, make)
        if row is None or self.cursor_layer is not None:
            return Selection(self.engine, comparison=exported, listings=listings)
        engine, index = row_end(row, comparison)
        indices = (
            [index] if row.layer is not None else row.block.layers[find_engine_index(comparison, engine)]
        )
        layers = [engine.layers[index] for index in indices]
        return Selection(engine, layers, comparison=exported, listings=listings)

    def numbers(self) -> list[ShownNumber]:
        """Return the columns of the block, then verdict and difference of each engine; without a comparison, its columns."""
        comparison = self.comparison
        if comparison is None:
            return [
                ShownNumber(label, "", entry)
                for label, key in _WILL_HAVE.items()
                for entry in find_terms(key)[:1]
            ]
        table_id = "blocks" if self.lanes is None else LANES
        shown = column_numbers(self.table, table_id, self.table.current_column)
        for engine_index in comparison.others:
            shown += term_numbers(verdict_values(comparison, engine_index))
        return shown

    @property
    def explained_thing(self) -> str:
        comparison, row = self.comparison, self.cursor
        if comparison is None:
            return "No comparison yet: press c to pick an engine."
        return "" if row is None else block_name(comparison, row.block)

    def view_state(self) -> object:
        return CompareLook(
            self.only_changed,
            self.shows_cautions,
            self.matrix,
            self.tells_block,
            self.block_table.order,
            self.lanes,
        )

    def restore_view(self, state: object, old: Engine) -> None:  # noqa: ARG002 - the engines are the job's
        look = cast("CompareLook", state)
        self.only_changed, self.shows_cautions, self.matrix = (
            look.only_changed,
            look.shows_cautions,
            look.matrix,
        )
        self.tells_block, self.block_table.order, self.lanes = look.tells_block, look.order, look.lanes

    # Going elsewhere

    def open_row(self, row: object) -> None:  # noqa: ARG002 - of lanes, the layer in one of them
        """Show the layer under the cursor."""
        here = self.cursor
        if here is not None and here.engine_index is not None and here.layer is not None:
            self._open(here.engine_index, here.layer)

    @on(LinkFollowed)
    def _link_followed(self, event: LinkFollowed) -> None:
        event.stop()
        assert self.comparison is not None
        assert isinstance(event.target, int)
        goal = self.words.goal(event.target)
        if goal.is_cautions:
            self.action_cautions()
        elif goal.block is None:
            self._open(goal.engine, self.comparison.engines[goal.engine].layers[goal.layer])
        elif self.table.go_to(self.comparison.blocks[goal.block]):
            self.screen.set_focus(self.main_part)
        else:
            self.notify("Block hidden: Esc clears the filter, d shows all blocks.", markup=False)

    def _open(self, engine_index: int, layer: Layer) -> None:
        """Show a layer on the screen of its engine."""
        assert self.comparison is not None
        engine = self.comparison.engines[engine_index]
        if engine is self.engine:
            self.post_message(LayerOpened(layer))
        else:
            others = tuple(other for other in self.comparison.engines if other is not engine)
            self.post_message(OtherOpened(engine, layer, others))

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Disable actions that need a comparison."""
        is_waiting = self.comparison is None and not self.job.choice.others
        if is_waiting and action in _OF_COMPARISON:
            return False
        if self.lanes is not None and action in ("choose_sort", "reverse"):
            return False  # Lanes are in execution order.
        return super().check_action(action, parameters)

    async def action_choose_other(self) -> None:
        await self.job.choose_other()

    async def action_add_other(self) -> None:
        await self.job.add_other()

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

    def action_bars(self) -> None:
        """Show the times as bars; opening a bar filters, or goes to its block."""
        comparison = self.comparison
        if comparison is None:
            return
        from trex_tui.old.screens.compare_bars import (
            ComparisonBars,  # 40 ms, for charts only.
        )

        window = ComparisonBars(self.engine, self._shown(comparison), self.bars)

        def opened(target: Target | None) -> None:
            self.bars = window.index
            if target is None or self.comparison is not comparison:
                return
            if target.layer is not None:
                self.table.go_to(self._find_block(self.engine, target.layer))
                self.screen.set_focus(self.main_part)
            else:
                self.post_message(LayersFiltered(target.filter_text, tab="compare"))

        self.app.push_screen(window, opened)

    def action_lanes(self) -> None:
        """Show the lanes of the baseline and of the next engine; after the last the list of blocks."""
        comparison, here = self.comparison, self.cursor
        had_focus = self.screen.focused is self.table
        views = [None, *range(1, len(self.job.engines))]
        self.lanes = views[(views.index(self.lanes) + 1) % len(views)]
        if comparison is None:
            return  # Applied when the comparison exists.
        if self.lanes is not None:
            self.lane_table.show(comparison, self.lanes)
        self._show_parts(has_blocks=True)
        self._fill()
        if here is not None:
            layer = None if here.layer is None else here.layer.index
            self.table.go_to(here.block, here.engine_index, layer)
        if had_focus:
            self.screen.set_focus(self.table)

    def action_next_matrix(self) -> None:
        """Scroll to the totals; then sum by the next property."""
        if self.tells_block:
            self.tells_block = False
            self._show_story(from_top=True)
        self.remove_class("-only-table")
        if self.comparison is not None and not self.words.show_totals():
            self.matrix = list(Matrix)[(list(Matrix).index(self.matrix) + 1) % len(Matrix)]
            self._show_story(from_top=False)

    def action_cautions(self) -> None:
        """Show the cautions in full, or in a line."""
        if self.comparison is None:
            return
        if not self.comparison.cautions:
            self.notify("No cautions.", markup=False)
            return
        self.shows_cautions = self.tells_block or not self.shows_cautions
        self.tells_block = False
        self.remove_class("-only-table")
        self._show_story(from_top=False)
        self.words.show_cautions()

    def action_tell_block(self) -> None:
        """Toggle between the block under the cursor and the whole comparison."""
        self.tells_block = not self.tells_block
        self.remove_class("-only-table")
        self._show_story(from_top=True)

    def action_choose_sort(self) -> None:
        """Choose the sort key of the blocks; choosing the current one reverses."""
        if self.comparison is None:
            return
        screen = ChooseScreen("Sort blocks by", orders(self.comparison), self.block_table.order.by)
        self.app.push_screen(screen, lambda by: self.block_table.order_by(by) if by else None)

    def action_reverse(self) -> None:
        if self.comparison is not None:
            self.block_table.reverse_sort()

    def action_zoom(self) -> None:
        if self.comparison is not None or self.has_class("-only-table") or self.has_class("-only-words"):
            super().action_zoom()


def first_layer(engines: Sequence[Engine], block: Block) -> LayerEnd:
    """The first layer of a block: of the baseline, or of the first engine that has one."""
    number = next(number for number, layers in enumerate(block.layers) if layers)
    return engines[number], block.layers[number][0]


def row_end(row: BlockRow, comparison: Comparison) -> LayerEnd:
    """The layer of a row, or the first of its block."""
    if row.engine_index is not None and row.layer is not None:
        return comparison.engines[row.engine_index], row.layer.index
    return first_layer(comparison.engines, row.block)


def find_anchors(table: BlockTable, row: BlockRow | None) -> list[LayerEnd]:
    """Return a layer of the row under the cursor, and one of each expanded block."""
    comparison = table.comparison
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
        layers = (
            matching
            if engine is own
            else filter_layers(engine, filter_text, is_typing=True, allows_absent=True)
        )
        indices.update(comparison.find_block(number, layer.index).index for layer in layers)
    return indices


def _invitation(job: CompareJob, _: int) -> Story:
    """Return the pending work; else how to compare, and the engines in the same directory."""
    story = Story()
    for words in (job.waiting,) if job.waiting else NOTHING:
        story.say(words)
    if job.beside and not job.waiting:
        story.say("Beside this engine", "section")
        for source in job.beside[:MOST_SHOWN]:
            story.say(describe_place(source, job.engine), indent=2)
        if (more := len(job.beside) - MOST_SHOWN) > 0:
            story.say(f"and {more} more", "muted", indent=2)
    return story


def _block_story(comparison: Comparison, block: Block, why: Sequence[Line], _: int) -> Story:
    return block_story(comparison, block, why)
