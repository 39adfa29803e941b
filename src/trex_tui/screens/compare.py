"""Compare: two to four engines side by side, or a list by difference; above it the verdict, and its causes on request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.compare.blocks import describe_columns
from trex_tui.compare.comparison import MOST_ENGINES, compare
from trex_tui.engine.filter import FilterError, find_matches
from trex_tui.engine.model import Engine
from trex_tui.errors import ArtifactError
from trex_tui.frames import plain_rows
from trex_tui.report.document import Section
from trex_tui.report.views.compare import Shown, blocks_section
from trex_tui.screens import dialogs
from trex_tui.screens.block_rows import ORDER, SIZE, BlockRows, Blocks
from trex_tui.screens.compare_lines import (
    CauseChosen,
    cause_lines,
    describe_row,
    head_line,
    status_lines,
    sum_line,
)
from trex_tui.screens.compare_offers import Offers, find_place, invitation_lines, list_offers
from trex_tui.screens.engines import EnginesScreen
from trex_tui.screens.pane import EnginePane, LayerOpened
from trex_tui.text import printable, shorten_middle
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.side_by_side import BlockTable
from trex_tui.widgets.table import FrameTable, Row
from trex_tui.widgets.text import LinkedText

LEAST_WIDTH = 120
"""Cells of a terminal from which two engines stand side by side."""


@dataclass
class OtherOpened(Message):
    """Show a layer of another engine of the comparison, on a screen of its own."""

    engine: Engine
    layer: int
    others: Sequence[Engine]


class ComparePane(EnginePane):
    """Two engines stand side by side from 120 columns on; more, and narrow terminals, have a row per block for all.

    Attributes:
        blocks: The comparison; None before there is one.
        view: The engine beside the baseline, 0 for all engines in a row; None as the width has it.
        is_only_changed: Blocks in which nothing differs are hidden.
        sort: `SIZE`, `ORDER`, or the key of a column; empty for the usual of the view.
    """

    tab = "compare"
    BINDINGS: ClassVar[list[BindingType]] = bindings("compare")
    DEFAULT_CSS = """
    ComparePane {
        & > Static { height: auto; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
        & > #sums, & > #status, & > #block { color: $muted; }
        & > #sums { background: $panel; }
        & > #details { display: none; max-height: 50%; border-top: none; border-bottom: solid $panel; }
        &.-told > #details { display: block; }
        &.-empty > #details { display: block; height: 1fr; max-height: 100%; border-bottom: none; }
        &.-empty > #main, &.-empty > Static { display: none; }
    }
    MainScreen.-narrow ComparePane > #block { display: none; }
    """
    SCOPED_CSS = False

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.blocks: Blocks | None = None
        self.view: int | None = None
        self.is_only_changed = self.is_reversed = False
        self.sort = ""
        self.is_per_sample: bool | None = None
        self._baseline = engine
        self._rows: BlockRows | None = None
        self._offers: Offers | None = None
        self._asked = 0

    def compose(self) -> ComposeResult:
        yield Static(id="verdict", markup=False)
        yield Static(id="sums", markup=False)
        yield LinkedText(id="details")
        yield BlockTable(id="main")
        yield Static(id="block", markup=False)
        yield Static(id="status", markup=False)

    def on_mount(self) -> None:
        if self.others:
            self._compare()
        else:
            self.set_class(True, "-empty")
            self._invite()
            self._find_offers(self._invite)

    def on_resize(self) -> None:
        if self.blocks is not None:
            self.show_rows()
            self._show_details()

    @property
    def main(self) -> Widget:
        return self.query_one("#details" if self.has_class("-empty") else "#main")

    # Comparing

    @property
    def engines(self) -> list[Engine]:
        """All engines, the baseline first."""
        everyone = [self.engine, *self.others]
        return [self._baseline, *(engine for engine in everyone if engine is not self._baseline)]

    def _compare(self) -> None:
        """Compare in a thread; the comparison before stays on screen meanwhile."""
        self._asked += 1
        engines, unit = self.engines, self.is_per_sample
        names = ", ".join(shorten_middle(printable(engine.name), 40) for engine in engines[1:])
        self.query_one("#verdict", Static).update(f"Comparing {printable(engines[0].name)} with {names} …")
        self.remove_class("-empty")
        self.compute(
            lambda: Blocks(compare(engines, is_per_sample=unit)), partial(self._take_blocks, self._asked)
        )

    def _take_blocks(self, number: int, blocks: Blocks) -> None:
        if number != self._asked:
            return
        place = self._find_place()
        self.blocks = blocks
        if self.view is not None and self.view >= len(blocks.layers):
            self.view = None
        self.sort = self.sort if self.sort in (SIZE, ORDER) else ""
        self.show_rows()
        self._show_details()
        engines = blocks.comparison.engines
        if place is not None and place[0] in engines:
            self._move_to(blocks.block_of[engines.index(place[0])][place[1]])
        else:
            self._open_on_largest()
        self.refresh_bindings()
        if self.screen.focused in (None, self.query_one("#details")) and self.display:
            self.screen.set_focus(self.main)

    def _find_place(self) -> tuple[Engine, int] | None:
        """Return a layer of the row under the cursor."""
        row = self.query_one(BlockTable).row
        if self.blocks is None or self._rows is None or row not in self._rows.layers:
            return None
        layers = self._rows.layers[row]
        end = next(end for end, own in enumerate(layers) if own)
        return self.blocks.comparison.engines[end], layers[end][0]

    def _open_on_largest(self) -> None:
        """Put the cursor on the largest difference; the current layer stays, and is followed once it changes."""
        assert self.blocks is not None
        others = self._others
        order = self.blocks.arrange(range(len(self.blocks)), others, SIZE)
        changed = (block for block in order if self.blocks.is_changed(block, others))
        if order:
            self._move_to(next(changed, order[0]))

    def _move_to(self, row: Row) -> None:
        """Move the cursor without a change of the current layer."""
        table = self.query_one(BlockTable)
        with table.prevent(FrameTable.Moved):
            table.move_to(row)
        table.call_after_refresh(_show_around, table)  # after the table has kept its cursor in view
        self.show_status(None)

    # Rows

    @property
    def other(self) -> int | None:
        """The engine beside the baseline; None if all are in a row."""
        if self.view is None:
            is_wide = self.app.size.width >= LEAST_WIDTH
            return 1 if is_wide and self.blocks is not None and len(self.blocks.layers) == 2 else None
        return self.view or None

    @property
    def _others(self) -> tuple[int, ...]:
        """The engines on screen, without the baseline."""
        assert self.blocks is not None
        return self.blocks.comparison.others if self.other is None else (self.other,)

    def watch_shown(self) -> None:
        self.show_rows()

    def watch_current_layer(self, layer: int | None) -> None:
        """Go to the block of the layer; the first one is left alone, so that the largest difference comes first."""
        if self.blocks is None or layer is None or self._rows is None:
            return
        block = self.blocks.block_of[self._own][layer]
        row = self.query_one(BlockTable).row
        if row not in self._rows.blocks or self._rows.blocks[row] != block:
            self._move_to(block)

    @property
    def _own(self) -> int:
        """Position of the engine of this screen."""
        assert self.blocks is not None
        return self.blocks.comparison.engines.index(self.engine)

    def show_rows(self) -> None:
        """Show the blocks that the filter leaves."""
        if self.blocks is None:
            return
        other, chosen = self.other, self._find_matching()
        if self.is_only_changed:
            chosen = [block for block in chosen if self.blocks.is_changed(block, self._others)]
        sort = self.sort or (SIZE if other is None else ORDER)
        order = self.blocks.arrange(chosen, self._others, sort, is_reversed=self.is_reversed)
        self._rows = self.blocks.rows(order, other, sort)
        table = self.query_one(BlockTable)
        deltas = [column.key for column in self._rows.section.columns if column.key.endswith("_delta_ms")]
        table.sort = (
            "" if sort == ORDER else sort if sort != SIZE else deltas[0] if len(deltas) == 1 else "name"
        )
        table.is_descending = not self.is_reversed
        table.show(self._rows.section, self._rows.levels, is_folded=True)
        self._show_head(order)
        self.show_status(None)

    def _find_matching(self) -> list[int]:
        """Return the blocks with a layer that matches the filter, of any engine."""
        assert self.blocks is not None
        engines = self.blocks.comparison.engines
        if self.shown is None or not self.shown.text:
            return list(range(len(self.blocks)))
        found: set[int] = set()
        for end, engine in enumerate(engines):
            rows = self.shown.rows
            if engine is not self.engine:
                try:
                    rows = find_matches(engine, self.shown.text, others=engines, is_typing=True)
                except FilterError:  # a column that only this engine has
                    continue
            found.update(self.blocks.block_of[end][layer] for layer in rows.index[rows])
        return sorted(found)

    def _show_head(self, order: Sequence[int]) -> None:
        assert self.blocks is not None
        width = max(20, self.size.width - 2)
        self.query_one("#verdict", Static).update(head_line(self.blocks, self._others, width))
        self.query_one("#sums", Static).update(sum_line(self.blocks, self._others, order))

    def layer_of(self, row: Row) -> int | None:
        """Return the layer of this engine in a row: the current one, else the slowest."""
        layers = (
            () if self._rows is None or row not in self._rows.layers else self._rows.layers[row][self._own]
        )
        if not layers or self.blocks is None:
            return None
        return (
            self.current_layer if self.current_layer in layers else self.blocks.main_layer(self._own, layers)
        )

    def show_status(self, layer: int | None) -> None:  # noqa: ARG002 - the row has layers of all engines
        """Show what changed in the block under the cursor; kernel, formats and name in each engine."""
        if self.blocks is None or self._rows is None:
            return
        row, ends = self.query_one(BlockTable).row, (0, *self._others)
        block = None if row is None else self._rows.blocks.get(row)
        self.query_one("#block", Static).update(describe_row(self.blocks, block, self._others))
        layers = () if row is None else self._rows.layers.get(row, ())
        self.query_one("#status", Static).update(status_lines(self.blocks, layers, ends))

    # Causes

    def _show_details(self) -> None:
        if self.has_class("-told") and self.blocks is not None:
            lines = [*cause_lines(self.blocks, self._others, max(20, self.size.width - 3))]
            details = self.query_one("#details", LinkedText)
            details.styles.height = (
                len(lines) + 1
            )  # and its border; `auto` depends on the scrollbar, which depends on it
            details.show(lines)

    def action_toggle_causes(self) -> None:
        self.toggle_class("-told")
        self._show_details()
        if not self.has_class("-told"):
            self.screen.set_focus(self.main)

    # Following

    def open_row(self, table: FrameTable, row: Row) -> None:
        """Expand a row that has others below; else open its layer on Layers, of another engine on a screen of that."""
        layers = () if self._rows is None else self._rows.layers.get(row, ())
        if isinstance(table, BlockTable) and table.is_expandable(row):
            table.toggle(row)
        elif (layer := self.layer_of(row)) is not None:
            self.post_message(LayerOpened(layer))
        elif self.blocks is not None:
            end, own = next((end, own) for end, own in enumerate(layers) if own)
            engines = self.blocks.comparison.engines
            others = [engine for engine in engines if engine is not engines[end]]
            self.post_message(OtherOpened(engines[end], own[0], others))

    @on(LinkedText.Followed)
    def _follow_link(self, event: LinkedText.Followed) -> None:
        if isinstance(event.link, CauseChosen):
            self.screen.set_focus(self.main)
            if self._rows is None or event.link.blocks[0] not in self._rows.layers:
                self.is_only_changed = False
                self.show_rows()
            self._move_to(event.link.blocks[0])
        elif isinstance(event.link, ArtifactSet):
            self._load(event.link, is_more=False)

    def action_next_change(self, step: int) -> None:
        """Go to the next row in which something differs."""
        table = self.query_one(BlockTable)
        if self.blocks is None or self._rows is None:
            return
        rows = table.rows
        places = range(table.cursor + step, len(rows) if step > 0 else -1, step)
        blocks = ((place, self._rows.blocks.get(rows[place])) for place in places)
        here = None if table.row is None else self._rows.blocks.get(table.row)
        for place, block in blocks:
            if block is not None and block != here and self.blocks.is_changed(block, self._others):
                table.cursor = place
                return
        self.notify("No further change.", markup=False)

    # Views

    def action_switch_view(self) -> None:
        """Show the next view: all engines in a row, then the baseline beside each of the others."""
        if self.blocks is not None:
            views = [0, *self.blocks.comparison.others]
            self.view = views[(views.index(self.other or 0) + 1) % len(views)]
            self.sort = ""
            self._show_again()

    def action_toggle_changed(self) -> None:
        self.is_only_changed = not self.is_only_changed
        self.show_rows()

    def _show_again(self) -> None:
        self.show_rows()
        self._show_details()
        self._move_to(self.query_one(BlockTable).row)

    def action_choose_sort(self) -> None:
        if self.blocks is None:
            return
        known = describe_columns(len(self.blocks.layers))
        options = {SIZE: "largest difference", ORDER: "execution order"} | {
            key: f"{column.title}  {column.help}"
            for key, column in known.items()
            if key.endswith(("_latency_ms", "_delta_ms", "_delta_pct"))
        }
        dialogs.choose(self.app, "Sort blocks by", options, self._sort_by, self.sort)

    def _sort_by(self, sort: str) -> None:
        self.is_reversed = not self.is_reversed if sort == self.sort else False
        self.sort = sort
        self.show_rows()

    def action_reverse_sort(self) -> None:
        self.is_reversed = not self.is_reversed
        self.show_rows()

    @on(FrameTable.SortAsked)
    def _click_header(self, event: FrameTable.SortAsked) -> None:
        is_delta = event.key.endswith("_delta_ms") and len(self._others) == 1
        by_column = event.key.endswith(("_ms", "_pct"))
        self._sort_by(SIZE if is_delta and self.sort != SIZE else event.key if by_column else ORDER)

    def action_swap(self) -> None:
        """Make another engine the baseline, A; ask which if there are several."""
        engines = self.engines
        if len(engines) == 2:
            self._set_baseline("1")
        else:
            names = {str(end): printable(engine.name) for end, engine in enumerate(engines)}
            dialogs.choose(self.app, "Baseline", names, self._set_baseline, "0")

    def _set_baseline(self, place: str) -> None:
        self._baseline = self.engines[int(place)]
        self._compare()

    def action_per_sample(self) -> None:
        """Compare times per sample, or per inference."""
        if self.blocks is not None:
            self.is_per_sample = not self.blocks.comparison.is_per_sample
            self._compare()

    # Engines to compare with

    def action_choose_other(self) -> None:
        self._find_offers(partial(self._offer, is_more=False))

    def action_add_other(self) -> None:
        if len(self.others) + 1 >= MOST_ENGINES:
            self.notify(f"{MOST_ENGINES} engines at most; c chooses others.", markup=False)
        else:
            self._find_offers(partial(self._offer, is_more=True))

    def _find_offers(self, finish: Callable[[Offers], object], path: str = "") -> None:
        """Find engines in the list, or at a path, by default near this engine; `finish` takes them."""
        lists = [screen.source for screen in self.app.screen_stack if isinstance(screen, EnginesScreen)]
        find, engines = getattr(self.app, "find_engines"), self.engines  # noqa: B009 - screens do not know the app

        def search() -> Offers:
            if lists and not path:
                return list_offers(lists[0], engines)
            try:
                return list_offers(find([path or str(find_place(self.engine))]), engines)
            except ArtifactError:
                if path:
                    raise
                return Offers(None, ())

        self.compute(search, finish)

    def _invite(self, offers: Offers | None = None) -> None:
        """Say how to compare, in place of a comparison."""
        if self.blocks is None:
            self._offers = offers
            self.query_one("#details", LinkedText).show(invitation_lines(offers))

    def _offer(self, offers: Offers, *, is_more: bool) -> None:
        """Let the user choose an engine, or a path with others."""
        self._offers = offers

        def finish(key: str) -> None:
            if key:
                self._load(offers.sets[int(key)], is_more=is_more)
            else:
                then = partial(self._find_offers, partial(self._take_path, is_more=is_more))
                dialogs.ask_path(self.app, "Compare with", "", then)

        dialogs.choose(self.app, "Compare with", {**offers.options, "": "another path …"}, finish)

    def _take_path(self, offers: Offers, *, is_more: bool) -> None:
        if len(offers.sets) > 1:
            self._offer(offers, is_more=is_more)
        elif offers.sets:
            self._offers = offers
            self._load(offers.sets[0], is_more=is_more)
        else:
            self.notify("No other engine there.", severity="warning", markup=False)

    def _load(self, found: ArtifactSet, *, is_more: bool) -> None:
        assert self._offers is not None
        source = self._offers.source
        self.compute(lambda: source.load(found), partial(self._add, is_more=is_more))

    def _add(self, engine: Engine, *, is_more: bool) -> None:
        self.others[:] = [*self.others, engine] if is_more else [engine]
        self._baseline = self._baseline if self._baseline in self.others else self.engine
        self._compare()

    # What the screen asks

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Hide keys that need a comparison."""
        return self.blocks is not None or action in ("choose_other", "add_other", "zoom")

    def sections(self) -> list[Section]:
        """Return the blocks on screen, after the verdicts."""
        if self.blocks is None or self._rows is None:
            return []
        comparison = self.blocks.comparison
        index = comparison.blocks.index[[*dict.fromkeys(self._rows.blocks.values())]]
        filter_text = self.shown.text if self.shown is not None else ""
        heads = [Section("", head_line(self.blocks, self._others, 10_000).plain)]
        return [*heads, blocks_section(Shown(comparison, index, None, filter_text))]

    def copied(self) -> list[dict[str, Any]]:
        """Return the blocks of the marked rows, else of that under the cursor."""
        table = self.query_one(BlockTable)
        if self.blocks is None or self._rows is None:
            return []
        rows = [row for row in table.rows if row in table.marked] or [table.row]
        chosen = [
            block for row in rows if row is not None and (block := self._rows.blocks.get(row)) is not None
        ]
        blocks = plain_rows(self.blocks.comparison.blocks.loc[[*dict.fromkeys(chosen)]])
        return [{"name": block["label"], **block} for block in blocks]

    def place(self) -> Any:  # noqa: ANN401 - as in the base class
        return (super().place(), self.view, self.sort, self.is_reversed, self.is_only_changed)

    def return_to(self, place: Any) -> None:  # noqa: ANN401 - as in the base class
        inner, self.view, self.sort, self.is_reversed, self.is_only_changed = place
        self.show_rows()
        super().return_to(inner)


def _show_around(table: FrameTable) -> None:
    """Scroll so that the cursor is in the upper third; the tab may have been closed meanwhile."""
    if table.is_attached:
        table.scroll_to(y=max(0, table.cursor - table.page_rows // 3), animate=False, immediate=True)
