"""Layers that a person says belong together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container

from trex_tui.analysis.compare import Block, Comparison, Match
from trex_tui.analysis.filter import filter_layers
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.report.views.compare import Shown, letter
from trex_tui.report.views.compare_story import (
    Matrix,
    Story,
    block_story,
    block_words,
    is_changed,
    layer_words,
    overview_story,
    sum_words,
    title_words,
)
from trex_tui.screens.compare_job import ComparingPane, OtherOpened
from trex_tui.screens.comparison_choice import Choice, Tie, place_of
from trex_tui.screens.dialogs import ChooseScreen
from trex_tui.screens.navigation import LayerJumped
from trex_tui.screens.pane import LayerChosen, LayerOpened
from trex_tui.text import printable, shorten_middle
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.block_table import BlockRow, BlockTable, Order, orders
from trex_tui.widgets.chrome import SummaryLine
from trex_tui.widgets.linked_text import CompareText, LinkFollowed
from trex_tui.widgets.table import RowHighlighted, RowSelected

if TYPE_CHECKING:
    from trex_tui.screens.engine import EngineScreen

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


class ComparePane(PinningPane):
    """Words and blocks: one above the other, or side by side where there is room."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.COMPARE)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.only_changed = False
        self.matrix = Matrix.KIND
        self.tells_block = False
        """Whether the words are about the block under the cursor, not about the whole."""
        self._current: Layer | None = None
        self._blocks: Sequence[Block] = ()
        """What the filter leaves."""
        self.words = CompareText(id="compare-words")
        self.table.display = False

    def compose(self) -> ComposeResult:
        """Verdict, words, blocks, sums, and why the block under the cursor is one."""
        yield SummaryLine(id="compare-title")
        with Container(id="compare-parts"):
            yield self.words
            yield self.table
        yield SummaryLine(id="compare-sum")
        yield SummaryLine(id="compare-why")

    def on_mount(self) -> None:
        """Say that nothing was chosen, or what is waited for."""
        self.show_state()

    def on_resize(self) -> None:
        """Names have another room now."""
        self._tell_title()

    # Showing

    def show_state(self) -> None:
        """Say what is waited for, or that nothing was chosen; blocks stay where there are any."""
        has_blocks = self.comparison is not None
        had_focus = self.screen.focused in (self.words, self.table)
        self._show_parts(has_blocks=has_blocks)
        self._tell_title()
        self._tell_words(from_top=not has_blocks)
        if had_focus and self.display and not has_blocks:
            self.screen.set_focus(self.words)

    def _show_parts(self, *, has_blocks: bool) -> None:
        """Hide what would be empty. At once, and not by a class: the keyboard may go there in the same moment."""
        for part in (self.table, self.query_one("#compare-sum"), self.query_one("#compare-why")):
            if has_blocks:
                part.styles.clear_rule("display")
            else:
                part.styles.display = "none"
            part.refresh(layout=True)
        self.refresh_bindings()

    def show_comparison(self, comparison: Comparison) -> None:
        """Show other blocks; cursor and what is expanded stay where the same layers are."""
        anchors = self._anchors()
        had_comparison = self.comparison is not None
        self.comparison = comparison
        self._forget_end()
        self.table.show(comparison)
        self._show_parts(has_blocks=True)
        if anchors:
            known = [one for one in anchors[1:] if one[0] in comparison.engines]
            self.table.expanded = {self._block_of(*one).index for one in known}
        self._fill()
        if anchors and anchors[0][0] in comparison.engines:
            engine, index = anchors[0]
            self.table.go_to(self._block_of(engine, index), place_of(comparison, engine), index)
        elif not had_comparison:
            self.show_layer(self._current)
        if self.display and self.screen.focused in (None, self.words) and not had_comparison:
            self.screen.set_focus(self.table)
        self._tell_title()
        self._tell_words(from_top=not had_comparison)

    def _anchors(self) -> list[tuple[Engine, int]]:
        """A layer of the row under the cursor, and one of each expanded block."""
        row = self.table.cursor_item
        if self.table.comparison is None or row is None:
            return []
        engines, blocks = self.table.comparison.engines, self.table.comparison.blocks
        first = (
            (engines[row.place], row.layer.index)
            if row.place is not None and row.layer is not None
            else first_layer(engines, row.block)
        )
        return [first, *(first_layer(engines, blocks[index]) for index in sorted(self.table.expanded))]

    def _block_of(self, engine: Engine, layer: int) -> Block:
        assert self.comparison is not None
        return self.comparison.block_of(place_of(self.comparison, engine), layer)

    def _fill(self) -> None:
        """Show the blocks that filter and choice leave."""
        if self.comparison is None:
            return
        found = self._found()
        self._blocks = [
            block
            for block in self.table.all_blocks
            if (found is None or block.index in found) and (is_changed(block) or not self.only_changed)
        ]
        self.table.empty_text = NO_CHANGE if self.only_changed and found is None else NO_MATCH
        self.table.show_blocks(self._blocks)
        self._tell_sum()
        self._tell_row()

    def _found(self) -> set[int] | None:
        """Places of the blocks of which a layer in any engine matches the filter; None without one."""
        comparison, text = self.comparison, self._filter_text
        if not text or comparison is None:
            return None
        found: set[int] = set()
        for place, engine in enumerate(comparison.engines):
            layers = self._screen.matching if engine is self.engine else filter_layers(engine, text)
            found.update(comparison.block_of(place, layer.index).index for layer in layers)
        return found

    @property
    def _screen(self) -> EngineScreen:
        return cast("EngineScreen", self.screen)

    @property
    def _filter_text(self) -> str:
        return self._screen.filter_text.strip()

    def _tell_title(self) -> None:
        line = self.query_one("#compare-title", SummaryLine)
        if self.waiting or self.comparison is None:
            line.text = self.waiting or "Nothing is compared yet: c chooses another engine."
        else:
            line.text = title_words(self.comparison, max(0, self.size.width - 2))
        line.set_class(bool(self.comparison and self.comparison.cautions), "-warning")

    def _tell_sum(self) -> None:
        assert self.comparison is not None
        remarks = [f"by {self.comparison.align.value}"] if self.comparison.align.value != "auto" else []
        words = sum_words(self.comparison, self._blocks, remarks, only_changed=self.only_changed)
        self.query_one("#compare-sum", SummaryLine).text = words

    def _tell_row(self) -> None:
        row = self.table.cursor_item
        words = ""
        if row is not None:
            words = block_words(row.block)
            if row.place is not None and row.layer is not None:
                words = layer_words(row.place, row.layer)
        self.query_one("#compare-why", SummaryLine).text = words
        if self.tells_block:
            self._tell_words(from_top=True)

    def _tell_words(self, *, from_top: bool) -> None:
        comparison, row = self.comparison, self.table.cursor_item
        if comparison is None:
            self.words.tell(partial(_sentence, self.waiting or NOTHING), from_top=from_top)
        elif self.tells_block and row is not None:
            block = row.block
            self.words.tell(lambda _: block_story(comparison, block), from_top=from_top)
        else:
            self.words.tell(partial(overview_story, comparison, self.matrix), from_top=from_top)

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:  # noqa: ARG002 - of all engines
        """Show the blocks of which a layer of any engine matches the filter."""
        self._fill()

    def show_layer(self, layer: Layer | None) -> None:
        """Stand on the block that has the layer; somebody looks, so what is due begins."""
        self._current = layer
        self.start_if_due()
        if layer is None or self.comparison is None:
            return
        block, row = self._block_of(self.engine, layer.index), self.table.cursor_item
        is_here = row is not None and (
            row.block is block if row.layer is None or row.place != self.place else row.layer is layer
        )
        if not is_here:
            self.table.go_to(block, self.place, layer.index)

    @property
    def cursor_layer(self) -> Layer | None:
        """The layer of this engine under the cursor; of a block the current one, or its slowest."""
        row = self.table.cursor_item
        if row is None or self.comparison is None:
            return None
        if row.layer is not None:
            return row.layer if row.place == self.place else None
        own = [self.engine.layers[index] for index in row.block.layers[self.place]]
        if self._current in own:
            return self._current
        return max(own, key=lambda layer: layer.latency_ms or 0.0, default=None)

    @property
    def is_on_group(self) -> bool:
        """Whether the cursor is on what this engine does not have."""
        return self.table.cursor_item is not None and self.cursor_layer is None

    @property
    def copied(self) -> tuple[Engine, list[Layer]] | None:
        """The layers of another engine under the cursor."""
        row = self.table.cursor_item
        if row is None or self.comparison is None or self.cursor_layer is not None:
            return None
        if row.place is not None and row.layer is not None:
            return self.comparison.engines[row.place], [row.layer]
        place = next(place for place, layers in enumerate(row.block.layers) if layers)
        engine = self.comparison.engines[place]
        return engine, [engine.layers[index] for index in row.block.layers[place]]

    @property
    def main_part(self) -> BlockTable | CompareText:
        """The blocks; they come back if the words had all the room. The words, where there are no blocks."""
        self.remove_class("-only-words")
        return self.table if self.comparison is not None else self.words

    @property
    def shown_comparison(self) -> Shown | None:
        """What an export is of: the blocks on display, in the order in which reports tell them."""
        if self.comparison is None:
            return None
        shown = {block.index for block in self._blocks}
        blocks = [block for block in self.comparison.by_delta() if block.index in shown]
        return Shown(self.comparison, blocks, None, self._filter_text)

    def view_state(self) -> object:
        """What is compared, and how it is shown."""
        if not self.choice.others:
            return None
        return self.choice, self.only_changed, self.matrix, self.tells_block, self.table.order

    def restore_view(self, state: object, old: Engine) -> None:
        """Compare again, once somebody looks."""
        choice, self.only_changed, self.matrix, self.tells_block, self.table.order = cast(
            "tuple[Choice, bool, Matrix, bool, Order]", state
        )
        choice.replace_engine(old, self.engine)
        self.choice, self.is_due, self.rereads = choice, True, True

    # Messages

    @on(RowHighlighted)
    def _highlighted(self, event: RowHighlighted[BlockRow]) -> None:
        event.stop()
        self._tell_row()
        layer = self.cursor_layer
        if self.display and layer is not None:
            self._current = layer
            self.post_message(LayerChosen(layer))

    @on(RowSelected)
    def _selected(self, event: RowSelected[BlockRow]) -> None:
        event.stop()
        if event.item.place is not None and event.item.layer is not None:
            self._open(event.item.place, event.item.layer)

    @on(LinkFollowed)
    def _link_followed(self, event: LinkFollowed) -> None:
        event.stop()
        goal = self.words.goal(event.index)
        assert self.comparison is not None
        if goal.block is None:
            self._open(goal.engine, self.comparison.engines[goal.engine].layers[goal.layer])
        elif self.table.go_to(self.comparison.blocks[goal.block]):
            self.remove_class("-only-words")
            self.screen.set_focus(self.table)
        else:
            self.notify("The block is not shown: Esc clears the filter, d shows all blocks.", markup=False)

    def _open(self, place: int, layer: Layer) -> None:
        """Show all about a layer, on the screen of its engine."""
        assert self.comparison is not None
        engine = self.comparison.engines[place]
        if engine is self.engine:
            self.post_message(LayerJumped(layer))
            self.post_message(LayerOpened(layer))
        else:
            others = tuple(one for one in self.comparison.engines if one is not engine)
            self.post_message(OtherOpened(engine, layer, others))

    # Actions

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Until engines are compared, there is only one to choose."""
        is_waiting = self.comparison is None and not self.choice.others
        return False if is_waiting and action in _OF_COMPARISON else super().check_action(action, parameters)

    def action_only_changed(self) -> None:
        """Show only blocks that changed in more than time, or all."""
        if self.comparison is None:
            return
        self.only_changed = not self.only_changed
        self._fill()

    def action_next_matrix(self) -> None:
        """Go to the totals; from there, sum times by the next thing."""
        if self.tells_block:
            self.tells_block = False
            self._tell_words(from_top=True)
        self.remove_class("-only-table")
        if self.comparison is not None and not self.words.show_totals():
            self.matrix = list(Matrix)[(list(Matrix).index(self.matrix) + 1) % len(Matrix)]
            self._tell_words(from_top=False)

    def action_tell_block(self) -> None:
        """Tell all about the block under the cursor, or about the whole."""
        self.tells_block = not self.tells_block
        self.remove_class("-only-table")
        self._tell_words(from_top=True)

    def action_choose_sort(self) -> None:
        """Offer what blocks can be ordered by; the one they are ordered by reverses."""
        if self.comparison is None:
            return
        screen = ChooseScreen("Order blocks by", orders(self.comparison), self.table.order.by)
        self.app.push_screen(screen, lambda by: self.table.order_by(by) if by else None)

    def action_reverse(self) -> None:
        """Turn the order round."""
        if self.comparison is not None:
            self.table.reverse_sort()

    def action_zoom(self) -> None:
        """Give the whole room to the part that has the keyboard, or take it back."""
        if self.has_class("-only-table") or self.has_class("-only-words"):
            self.remove_class("-only-table", "-only-words")
        elif self.comparison is not None:
            self.add_class("-only-words" if self.screen.focused is self.words else "-only-table")


def _sentence(words: str, _: int) -> Story:
    story = Story()
    story.say(words)
    return story
