"""The Compare screen: choosing engines, the blocks, sums that add up, the way to layers of every engine, pins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from math import fsum
from pathlib import Path

import pytest
from comparing import (
    BARE,
    FP16,
    INT8,
    TO_FIND,
    comparing,
    cursor_row,
    four_engines,
    layer_rows,
    names,
    pane_of,
    stand_on,
    two_engines,
    until_compared,
    write_fp16,
    write_int8,
)
from test_app_actions import TOGETHER, check_bindings
from test_app_list import HOSTILE, check_harmless
from textual.widgets import Input
from tui import LARGE, SMALL, Session, check_golden, running

from helpers import ARTIFACTS, DIGITS, TO_LAYERS
from small_engines import SLOWEST, named_engine, several_engines, small_engine
from test_compare_builds import FAST, HALF, SLOW, combination, skipped, timed, write_build
from trex_tui.__main__ import main
from trex_tui.old.analysis.compare import Align, Match
from trex_tui.old.app import TrexApp
from trex_tui.old.report.views.compare import Matrix
from trex_tui.old.screens.compare_job import CompareJob
from trex_tui.old.screens.dialogs import ChooseScreen, OpenScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.loading import LoadingScreen
from trex_tui.old.widgets.actions import Place
from trex_tui.old.widgets.block_table import ORDER, SIZE, Order

TO_COMPARE = DIGITS["compare"]
SIZES = [pytest.param(SMALL, id="80x24"), pytest.param(LARGE, id="160x45")]


@pytest.fixture(autouse=True)
def _short_paths(tmp_path, monkeypatch):
    """Paths on screen are relative."""
    monkeypatch.chdir(tmp_path)


def is_listed(app: TrexApp) -> bool:
    return isinstance(app.screen, EnginesScreen)


def told(session) -> str:
    """Every notification."""
    return "\n".join(one.message for one in session.app._notifications)


def check_sums(pane) -> None:
    """Over all blocks each engine's latency is its sum, and the deltas are the difference."""
    comparison = pane.comparison
    assert sorted(block.index for block in pane.table.shown_blocks) == list(range(len(comparison.blocks)))
    for place, side in enumerate(comparison.sides):
        shown = fsum(block.latency_ms[place] or 0.0 for block in pane.table.shown_blocks)
        assert shown == pytest.approx(side.latency_sum_ms)
    for place in comparison.others:
        shown = fsum(block.deltas_ms[place] or 0.0 for block in pane.table.shown_blocks)
        assert shown == pytest.approx(comparison.differences[place].delta_ms)


# What is on screen


@pytest.mark.parametrize("size", SIZES)
async def test_goldens(size):
    async with comparing(two_engines(Path("nets")), size) as (session, pane):
        await stand_on(session, pane, 0, "/stem/conv/Conv + /stem/relu/Relu")
        check_golden(session.app, f"compare_{size[0]}x{size[1]}")
        check_sums(pane)


async def test_golden_of_four_engines():
    async with comparing(four_engines(Path("nets")), LARGE, (1, 2, 3, 0)) as (session, pane):
        assert [engine.name for engine in pane.job.engines] == [FP16, INT8, "other", BARE]
        check_golden(session.app, "compare_four_160x45")
        await session.press("w")
        assert "no profile" in session.text


async def test_nothing_chosen_is_a_sentence_and_no_key_fails(tmp_path):
    async with running(small_engine(tmp_path), tab="compare") as session:
        pane = pane_of(session)
        assert "Press c to pick an engine" in session.text
        assert "No comparison yet." in session.text
        assert not pane.table.display
        assert session.app.focused is pane.words
        assert session.footer.startswith("c compare  / filter"), "only keys that mean something now"
        for key in ("s", "S", "d", "x", "t", "v", "z", "m", "M", "b", "y"):
            await session.press(key)
            assert isinstance(session.app.screen, EngineScreen), key
        await session.press("slash", *"conv", "enter", "escape")
        assert pane.comparison is None
        assert pane.cursor_layer is None
        assert session.screen.layer_here is session.screen.current_layer


async def test_answer_is_at_the_top_and_cautions_are_folded_into_a_line():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        line = session.text.splitlines()[2]
        cautions = [caution.text for caution in pane.comparison.cautions]
        assert cautions
        assert "⚠" in line
        assert "A fp16 0.9500 ms · B int8 0.8000 ms: faster (−15.8 %)" in line
        lines = [one.text for one in pane.words.lines]
        assert lines[0].startswith("B against A: faster −0.1500 ms (−15.79 %), 95 % interval −0.15")
        assert not any("Method" in one for one in lines), "i states it"
        assert lines[1] == pane.comparison.differences[1].headline
        assert not set(cautions) & set(lines) or len(cautions) == 1

        def warnings() -> list[str]:
            return [one.text for one in pane.words.lines if one.style == "warning"]

        assert len(warnings()) == 1
        await session.press("w")
        assert warnings() == cautions
        assert cautions[0].split()[0] in session.text, "scrolled to"
        await session.press("w")
        assert len(warnings()) == 1
        folded = next(number for number, one in enumerate(pane.words.lines) if one.style == "warning")
        if len(cautions) > 1:
            await session.press("tab")
            pane.words._choose(folded)
            await session.press("enter")
            assert warnings() == cautions, "Enter on the line"
            await session.press("w", "tab")
        await session.press("v", "w")
        assert warnings() == cautions, "from the details of a block to the cautions"


async def test_opens_at_the_largest_difference_and_follows_a_layer_that_somebody_chose():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        assert session.screen.current_layer is pane.cursor_layer
        assert pane.table.cursor_row == 0
        largest = max(pane.comparison.blocks, key=lambda block: abs(block.delta_ms or 0.0))
        assert cursor_row(pane).block is largest
        assert 6 not in largest.layers[0], "the slowest layer is elsewhere"
    async with running(two_engines(Path("more"))) as session:
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen) and session.screen.focused)
        await session.press(TO_LAYERS)
        session.screen.stand_on(session.screen.engine.layers[3])
        await session.press(TO_COMPARE, "c", "enter")
        pane = await until_compared(session)
        assert cursor_row(pane).block.layers[0] == (3,)


async def test_filter_matches_layers_of_any_engine_and_sums_follow():
    async with comparing(two_engines(Path("nets")), (160, 24)) as (session, pane):
        total = len(pane.comparison.blocks)
        await session.press("slash", *"kind:pointwise", "enter")
        assert names(pane) == ["/stem/conv/Conv + /stem/relu/Relu"]
        assert (
            f"1 of {total} blocks · A 0.2000/0.9150 · B 0.1200/0.7400 · Δ −0.0800/−0.1750 ms" in session.text
        )
        await session.press("slash", *["backspace"] * 20, *"QuantizeLinear", "enter")
        assert names(pane) == ["/stem/QuantizeLinear"], "no layer of this engine matches"
        await session.press("slash", *"xyz", "enter")
        assert names(pane) == []
        assert "No block matches the filter." in session.text
        await session.press("escape")
        check_sums(pane)
        await session.press(TO_LAYERS, "slash", *"relu", "enter", TO_COMPARE)
        assert 0 < len(names(pane)) < total, "the filter came along"


async def test_bars_filter_or_lead_to_a_block():
    async with comparing(two_engines(Path("nets")), (160, 24)) as (session, pane):
        await session.press("B")
        window = session.app.screen
        assert window.view.plain.startswith("Compare by kind")
        kinds = {row.key for row in pane.comparison.by_kind}
        shown = [spot.target(0) for spot in window.view.drawing.spots]
        assert {target.label[3:] for target in shown} <= kinds
        assert [target.label[0] for target in shown[:4]] == ["A", "B", "A", "B"]
        await session.press("G", "enter")
        assert session.screen.pane is pane
        assert session.screen.filter_text.startswith("kind:")
        assert "Compare › kind " in session.text.splitlines()[0]
        await session.press("escape")
        assert session.screen.filter_text == ""
        await session.press("B", "t", "t", "t")
        window = session.app.screen
        assert window.view.plain.startswith("Compare blocks")
        total = 2 * len(pane.comparison.blocks)
        reached = {window.view.target}
        for _ in range(total):
            await session.press("j")
            reached.add(window.view.target)
        assert len(reached) == total
        own = next(target for target in window.view.drawing.bars or () if target.layer == SLOWEST)
        while window.view.target != own:
            await session.press("k")
        await session.press("enter")
        assert pane.get_layer(pane.cursor).index == SLOWEST
        await session.press("B")
        assert session.app.screen.view.plain.startswith("Compare blocks")
        await session.press("escape")
        assert session.screen.pane is pane


async def test_only_what_changed():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        total = len(names(pane))
        await session.press("d")
        shown = pane.table.shown_blocks
        assert 0 < len(shown) < total
        assert all(block.changes or block.is_one_sided for block in shown)
        assert f"{len(shown)} of {total} changed" in session.text
        await session.press("d")
        check_sums(pane)


# Order


def values_of(pane, value) -> tuple[list[float], int]:
    """What blocks are ordered by, from the top, and how many have no such value; those come last."""
    found = [value(block) for block in pane.table.shown_blocks]
    known = [one for one in found if one is not None]
    assert found[len(known) :] == [None] * (len(found) - len(known))
    return known, len(found) - len(known)


async def test_every_order_and_its_reverse():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        wanted = {
            SIZE: lambda block: None if block.delta_ms is None else abs(block.delta_ms),
            "delta:1": lambda block: block.deltas_ms[1],
            "ms:0": lambda block: block.latency_ms[0],
            "ms:1": lambda block: block.latency_ms[1],
            ORDER: lambda block: block.index,
        }
        for steps, (by, value) in enumerate(wanted.items()):
            if by != pane.table.order.by:
                await session.press("s", "g", *["j"] * steps, "enter")
            assert pane.table.order == Order(by, by != ORDER)
            values, unknown = values_of(pane, value)
            assert values == sorted(values, reverse=by != ORDER)
            here = cursor_row(pane).block
            await session.press("S")
            assert values_of(pane, value) == (sorted(values, reverse=by == ORDER), unknown)
            assert cursor_row(pane).block is here
            await session.press("r")
        await session.press("s", "enter")
        assert pane.table.order == Order(ORDER, descending=True), "the same again reverses"


async def test_clicks_on_titles_order():
    async with comparing(two_engines(Path("nets")), LARGE) as (session, pane):

        def at(key):
            return next(place.start for place in pane.table._place() if place.column.key == key)

        for key, order in [
            ("delta:1", Order("delta:1")),
            ("delta:1", Order("delta:1", descending=False)),
            ("ms:1", Order("ms:1")),
            ("delta:1", Order(SIZE)),
            ("ratio:1", Order("delta:1")),
            ("name", Order(ORDER, descending=False)),
        ]:
            await session.pilot.click(pane.table, offset=(at(key), 0))
            assert pane.table.order == order, key
            arrow = "▼" if order.descending else "▲"
            assert arrow in session.text.splitlines()[3]


# Blocks and layers


async def test_blocks_expand_to_the_layers_of_each_engine():
    async with comparing(two_engines(Path("nets")), LARGE) as (session, pane):
        block = pane.comparison.find_block(0, 1)
        assert block.layers == ((1,), (1, 2))
        assert pane.table.go_to(block)
        await session.press("l")
        assert layer_rows(pane) == [(0, 1), (1, 1), (1, 2)]
        line = next(line for line in session.text.splitlines() if "B 2 stem/relu/Relu" in line)
        assert "INT8" in line
        assert "0.0300" in line
        await session.press("l", "h")
        assert cursor_row(pane).layer is None, "from a layer to its block"
        await session.press("h")
        assert layer_rows(pane) == []
        await session.press("right")
        assert len(layer_rows(pane)) == 3
        await session.press("left")
        assert layer_rows(pane) == []
        await session.press("enter")
        assert len(layer_rows(pane)) == 3
        await session.press("C")
        assert layer_rows(pane) == []
        assert cursor_row(pane).block is block
        await session.press("E")
        engines = pane.comparison.engines
        assert sorted(layer_rows(pane)) == [
            (place, layer.index) for place, engine in enumerate(engines) for layer in engine.layers
        ], "every layer of every engine, once"


async def test_current_layer_comes_and_goes():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        for _ in range(len(names(pane))):
            row = cursor_row(pane)
            if row.block.layers[0]:
                assert session.current in row.block.layers[0]
            else:
                assert pane.is_on_group
                assert session.screen.layer_here is None
            await session.press("j")
        await session.press(TO_LAYERS)
        session.screen.stand_on(session.screen.engine.layers[3])
        await session.press(TO_COMPARE)
        assert cursor_row(pane).block.layers[0] == (3,)
        await stand_on(session, pane, 0, "/stem/pool/MaxPool")
        assert session.current == 2
        await stand_on(session, pane, 1, "/stem/pool/MaxPool")
        assert session.current == 2, "a layer of another engine is not the current one"


async def test_enter_goes_to_the_layer_in_either_engine_and_back():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        await stand_on(session, pane, 0, "/stem/pool/MaxPool")
        await session.press("enter")
        assert session.screen.pane is session.layers
        assert session.current == 2
        await session.press(TO_COMPARE)
        first = session.screen
        await stand_on(session, pane, 1, TO_FIND)
        await session.press("enter")
        await session.until(lambda: session.app.screen is not first and session.screen.focused is not None)
        assert session.screen.engine.name == INT8
        assert session.screen.pane is session.layers
        assert session.layers.cursor_layer.name == TO_FIND
        await session.press("left_square_bracket", "minus", "escape")
        assert session.screen is first
        assert cursor_row(pane).layer.name == TO_FIND

        await session.press("enter")
        await session.until(lambda: session.app.screen is not first and session.screen.focused is not None)
        await session.press(TO_COMPARE)
        back = await until_compared(session)
        assert [engine.name for engine in back.job.engines] == [INT8, FP16], (
            "compared with where it was opened"
        )
        await stand_on(session, back, 1, "/head/fc/Gemm")
        await session.press("enter")
        await session.until(lambda: session.app.screen is first)
        assert session.screen.pane is session.layers
        assert session.current == 6


async def test_copy_is_about_the_layer_under_the_cursor_of_whatever_engine(monkeypatch):
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        copied = []
        monkeypatch.setattr(session.app, "copy_to_clipboard", copied.append)
        await stand_on(session, pane, 1, TO_FIND)
        await session.press("y", "Y")
        assert copied[0] == TO_FIND
        assert json.loads(copied[1])["name"] == TO_FIND
        assert json.loads(copied[1])["latency_ms"] == 0.03


# Words


async def test_reasons_lead_to_blocks_and_all_about_a_block_can_be_told():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        pane.table.go_to(pane.comparison.find_block(0, 7))
        await session.press("shift+tab")
        assert session.app.focused is pane.words
        await session.press("l", "enter")
        reason = pane.comparison.differences[1].reasons[0]
        assert cursor_row(pane).block.index == reason.blocks[0]
        assert session.app.focused is pane.table
        pane.table.go_to(pane.comparison.find_block(1, 2))
        await session.press("v")
        told = [line.text for line in pane.words.lines]
        assert "What changed" in told
        assert TO_FIND in told
        await session.press("shift+tab", "G", "h", "enter")
        await session.until(lambda: session.screen.engine.name == INT8 and session.screen.focused is not None)
        assert session.layers.cursor_layer.name == TO_FIND


async def test_totals_by_kind_precision_and_module_add_up():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        await session.press("t")
        await session.pilot.pause()
        for matrix in (Matrix.KIND, Matrix.PRECISION, Matrix.MODULE):
            assert pane.matrix is matrix
            assert f"By {matrix.value}, ms" in session.text, "in view, even where there is little room"
            *_, line = (line.text for line in pane.words.lines if line.text.startswith("Σ"))
            assert line.split()[1:3] == ["0.9150", "0.7400"]
            await session.press("t")


async def test_zoom_gives_the_room_to_one_part():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        before = pane.table.size.height
        await session.press("z")
        await session.pilot.pause()
        assert pane.table.size.height > before
        await session.press("z", "shift+tab", "z")
        await session.pilot.pause()
        assert pane.words.size.height > before
        await session.press(TO_LAYERS, TO_COMPARE)
        assert session.app.focused is pane.table


# How to compare


async def test_swap_turns_every_sign():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        await stand_on(session, pane, 1, TO_FIND)
        before = pane.comparison
        await session.press("x")
        await session.until(lambda: pane.comparison is not before)
        after = pane.comparison
        assert [engine.name for engine in after.engines] == [INT8, FP16]
        assert after.differences[1].delta_ms == pytest.approx(-before.differences[1].delta_ms)
        assert cursor_row(pane).layer.name == TO_FIND, "the cursor stays on its layer"
        assert cursor_row(pane).engine_index == 0
        check_sums(pane)
        assert "A int8" in session.text
        await stand_on(session, pane, 1, "/stem/pool/MaxPool")
        assert session.current == 2, "this engine is B now"
        await session.press("x")
        await session.until(lambda: pane.comparison is not after)
        assert pane.comparison.engines[0].name == FP16


async def test_pins_and_taking_them_back():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        before = pane.comparison
        await stand_on(session, pane, 0, "/head/softmax/Softmax")
        await session.press("m")
        assert pane.pins.first is not None
        assert "m pins A /head/softmax/Softmax to a layer of another engine" in session.text.splitlines()[2]
        assert not told(session), "a notification would lie over the table"
        await session.press("M")
        assert pane.pins.first is None
        assert "A fp16" in session.text.splitlines()[2]
        await session.press("m")
        await stand_on(session, pane, 1, "/stem/pool/MaxPool")
        await session.press("m")
        await session.until(lambda: pane.comparison is not before and pane.comparison)
        pinned = pane.comparison.find_block(0, 7)
        assert pinned.match is Match.MANUAL
        assert pinned.layers == ((7,), (3,))
        assert any("pinned; " in line for line in session.text.splitlines()[10:])
        assert cursor_row(pane).layer.name == "/stem/pool/MaxPool"
        check_sums(pane)
        swapped = pane.comparison
        await session.press("x")
        await session.until(lambda: pane.comparison is not swapped)
        assert pane.comparison.find_block(1, 7).match is Match.MANUAL, "a pin survives a swap"
        again = pane.comparison
        await session.press("M")
        await session.until(lambda: pane.comparison is not again)
        assert all(block.match is not Match.MANUAL for block in pane.comparison.blocks)
        await session.press("M")
        assert "No pins" in told(session)


async def test_pin_needs_a_layer_of_the_baseline():
    async with comparing(four_engines(Path("nets")), LARGE, (1, 2, 3)) as (session, pane):
        await stand_on(session, pane, 1, TO_FIND)
        await session.press("m")
        await stand_on(session, pane, 2, "/stem/pool/MaxPool")
        await session.press("m")
        assert "One of the two must be a layer of the baseline" in told(session)
        assert not pane.job.choice.ties


async def test_evidence_can_be_chosen():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        before = pane.comparison
        await session.press("a", "g", "j", "j", "enter")
        await session.until(lambda: pane.comparison is not before)
        assert pane.comparison.align is Align.NAME
        assert "by name" in session.text.splitlines()[-3]
        check_sums(pane)


async def test_times_per_sample_or_why_not():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        before = pane.comparison
        await session.press("b")
        await session.until(lambda: not pane.job.waiting)
        if pane.comparison is before:
            assert "batch of" in told(session)
            assert not pane.job.choice.per_batch
        else:
            assert pane.comparison.per_batch
        check_sums(pane)


# Choosing engines


async def test_numbers_of_a_comparison_are_explained_before_there_is_one(tmp_path):
    async with running(small_engine(tmp_path), tab="compare") as session:
        await session.press("i")
        assert "press c to pick an engine" in session.text
        assert "verdict.outcome" in session.text


@asynccontextmanager
async def opened(*paths: Path, size: tuple[int, int] = SMALL) -> AsyncIterator[Session]:
    """The app on several paths, until something of them is shown."""
    app = TrexApp([str(path) for path in paths])
    app.animation_level = "none"
    async with app.run_test(size=size) as pilot:
        session = Session(app, pilot)
        await session.until(lambda: not isinstance(app.screen, LoadingScreen), "what is there")
        yield session


async def test_two_paths_are_compared_at_once_in_their_order():
    folder = two_engines(Path("nets"))
    async with opened(folder / INT8, folder / FP16) as session:
        pane = await until_compared(session)
        assert session.screen.pane is pane
        assert [engine.name for engine in pane.job.engines] == [INT8, FP16]
        assert session.app.focused is pane.table
        await session.press("q")
        assert [row.source.name for row in session.listed.rows] == [INT8, FP16], "the list is below"
        assert all(row.engine is not None for row in session.listed.rows)
        await session.press("R")
        await session.until(lambda: is_listed(session.app) and len(session.listed.held_engines()) == 2)
        assert session.listed, "reading again shows the list again"


async def test_a_file_and_a_directory_are_compared_in_their_order():
    folder = two_engines(Path("nets"))
    async with opened(folder / INT8 / "int8.graph.json", folder / FP16) as session:
        pane = await until_compared(session)
        assert [engine.name for engine in pane.job.engines] == [INT8, FP16]


async def test_of_two_paths_one_that_cannot_be_read_is_listed():
    folder = two_engines(Path("nets"))
    for path in (folder / FP16).iterdir():
        path.unlink()
    (folder / FP16 / "net.graph.json").write_text('{"Layers": [', encoding="utf-8")
    async with opened(folder / INT8, folder / FP16) as session:
        assert is_listed(session.app)
        assert "cannot be read" in session.text
        await session.press("equals_sign")
        assert "is not loaded or unreadable" in told(session)


async def test_equals_compares_the_only_two_engines_or_the_marked_one_with_that_under_the_cursor():
    async with running(two_engines(Path("nets"))) as session:
        assert "= compares both" in session.text.splitlines()[0]
        await session.press("equals_sign")
        pane = await until_compared(session)
        assert [engine.name for engine in pane.job.engines] == [FP16, INT8]
    async with running(four_engines(Path("more"))) as session:
        session.listed.table.cursor_row = 2
        await session.press("space", "G")
        assert "= compares it with the one under the cursor" in session.text.splitlines()[0]
        await session.press("equals_sign")
        pane = await until_compared(session)
        assert [engine.name for engine in pane.job.engines] == [INT8, "other"]


async def test_engines_beside_this_one_are_offered(tmp_path):
    folder = four_engines(tmp_path / "nets")
    async with running(folder / FP16, tab="overview") as session:
        await session.press(TO_COMPARE, "c", "j", "enter")
        pane = await until_compared(session)
        assert [engine.name for engine in pane.job.engines] == [FP16, INT8], "keys may come at once"
        await session.press("c")
        offers = list(session.app.screen._options.values())
        assert offers[0].startswith(INT8), "read by now"
        assert [offer.partition("  ")[0] for offer in offers[1:3]] == ["bare in ../bare", "other in ../other"]
        await session.press("escape")
    async with running(folder / FP16, tab="compare") as session:
        await session.until(lambda: "Beside this engine" in session.text)
        assert "int8 in ../int8" in session.text


async def test_marks_in_the_list():
    async with running(four_engines(Path("nets"))) as session:
        await session.press("equals_sign")
        assert "Mark at least two engines" in told(session)
        session.listed.table.cursor_row = 2
        await session.press("space")
        session.listed.table.cursor_row = 1
        await session.press("space")
        assert "2 marked, A is int8" in session.text.splitlines()[0]
        assert session.listed.table.cursor_row == 1, "marking does not move"
        session.listed.table.cursor_row = 2
        await session.press("space", "space")
        assert "2 marked, A is fp16" in session.text.splitlines()[0], "int8 was taken away, and marked again"
        await session.press("equals_sign")
        pane = await until_compared(session)
        assert session.screen.pane is pane
        assert [engine.name for engine in pane.job.engines] == [FP16, INT8]
        assert session.app.focused is pane.table
        await session.press("q")
        assert session.listed.table.marked


async def test_what_cannot_be_read_is_not_compared():
    folder = two_engines(Path("nets"))
    (folder / "broken").mkdir()
    (folder / "broken" / "net.graph.json").write_text('{"Layers": [', encoding="utf-8")
    async with running(folder) as session:
        await session.press("space", "j", "space", "equals_sign")
        assert "is not loaded or unreadable" in told(session)
        assert session.listed


async def test_other_engine_from_the_list():
    async with running(four_engines(Path("nets"))) as session:
        session.listed.table.cursor_row = 1
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen) and session.screen.focused)
        await session.press(TO_COMPARE, "c")
        assert isinstance(session.app.screen, ChooseScreen)
        options = list(session.app.screen._options.values())
        assert [text.split()[0] for text in options[:3]] == [BARE, INT8, "other"], "all but this one"
        await session.press("j", "enter")
        pane = await until_compared(session)
        assert [engine.name for engine in pane.job.engines] == [FP16, INT8]
        assert session.app.focused is pane.table
        await session.press("A", "enter")
        await session.until(lambda: pane.comparison and len(pane.comparison.engines) == 3)
        await session.press("A", "enter")
        await session.until(lambda: pane.comparison and len(pane.comparison.engines) == 4)
        await session.press("A")
        assert "4 engines at most" in told(session)
        await session.press("x")
        assert session.app.screen._title == "Baseline"
        await session.press("enter")
        await session.until(lambda: pane.comparison and not pane.job.waiting)
        assert pane.job.engines[0].name == INT8


async def choose_path(session, text: str) -> None:
    """Open the line for another path, and type."""
    await session.press("c", "G", "enter")
    await session.until(lambda: isinstance(session.app.screen, OpenScreen))
    session.app.screen.query_one(Input).value = text
    await session.press("enter")


async def test_other_engine_by_its_path_and_what_is_wrong_with_a_path(tmp_path):
    write_fp16(tmp_path / FP16)
    write_int8(tmp_path / INT8)
    async with running(tmp_path / FP16, tab="compare") as session:
        await choose_path(session, "absent")
        await session.until(lambda: isinstance(session.app.screen, OpenScreen) and "absent" in session.text)
        await session.press("escape")
        pane = pane_of(session)
        assert "Press c to pick an engine" in session.text, "nothing has changed"
        await choose_path(session, FP16)
        await session.until(lambda: "same engine" in session.text)
        await session.press("escape")
        await choose_path(session, INT8)
        await until_compared(session)
        assert [engine.name for engine in pane.job.engines] == [FP16, INT8]
        await session.press("c")
        recent = [one for one in session.app.screen._options.values() if "recent: " in one]
        assert [one.rpartition("/")[2] for one in recent] == [INT8], "without this one itself"
        await session.press("escape")
        await stand_on(session, pane, 1, TO_FIND)
        first = session.screen
        await session.press("enter")
        await session.until(lambda: session.app.screen is not first and session.screen.focused is not None)
        write_int8(tmp_path / INT8, times={TO_FIND: 0.5})
        await session.press("R")
        await session.until(lambda: session.screen.engine.latency_sum_ms > 1.2, "it lies elsewhere")
        await session.press("q")
        await session.until(
            lambda: pane.comparison and pane.comparison.sides[1].latency_sum_ms > 1.2, "and is compared anew"
        )


async def test_path_with_several_engines_asks_which(tmp_path):
    four_engines(tmp_path / "nets")
    small_engine(tmp_path / "net")
    async with running(tmp_path / "net", tab="compare") as session:
        await choose_path(session, "nets")
        await session.until(lambda: isinstance(session.app.screen, ChooseScreen) and INT8 in session.text)
        await session.press("j", "j", "enter")
        pane = await until_compared(session)
        assert [engine.name for engine in pane.job.engines] == ["tiny", INT8]


async def test_reading_again_keeps_the_comparison(tmp_path):
    folder = two_engines(tmp_path / "nets")
    async with comparing(folder) as (session, pane):
        await stand_on(session, pane, 0, "/head/softmax/Softmax")
        await session.press("m")
        await stand_on(session, pane, 1, "/stem/pool/MaxPool")
        before = pane.comparison
        await session.press("m", "d")
        await session.until(lambda: pane.comparison is not before)
        write_fp16(folder / FP16, times={"/head/fc/Gemm": 1.3})
        write_int8(folder / INT8, times={TO_FIND: 0.53})
        await session.press("R")
        await session.until(lambda: pane_of(session) is not pane)
        pane = await until_compared(session)
        assert session.screen.pane is pane
        assert [side.latency_sum_ms for side in pane.comparison.sides] == pytest.approx([1.915, 1.24])
        assert pane.comparison.find_block(0, 7).match is Match.MANUAL
        assert pane.only_changed
        assert session.app.focused is pane.table


async def test_keys_do_what_the_table_says():
    async with comparing(two_engines(Path("nets")), LARGE) as (session, pane):
        await check_bindings(session, TOGETHER["compare"], without=("engine.clear", "app.close"))
        await session.press("L")
        unsorted = ("compare.sort", "compare.reverse", "engine.clear", "app.close")
        await check_bindings(session, TOGETHER["lanes of a comparison"], without=unsorted)
        await session.press("shift+tab")
        assert session.app.focused is pane.words
        await check_bindings(session, [Place.COMPARE, Place.DETAILS], without=unsorted)


# Names, export


async def test_hostile_names(tmp_path):
    named_engine(tmp_path / "a", HOSTILE)
    named_engine(tmp_path / "b\x1b[31m[red]", HOSTILE[::-1])
    async with comparing(tmp_path, LARGE) as (session, pane):
        check_harmless(session.text)
        await session.press("E", "v")
        for _ in range(len(pane.table.shown_rows)):
            check_harmless(session.text)
            await session.press("j")
        await session.press("x")
        await session.until(lambda: not pane.job.waiting)
        await session.press("t", "t", "t", "c")
        check_harmless(session.text)
        assert session.app.is_running


BEGINNINGS = {
    "csv": "block,",
    "json": "{",
    "md": "### ",
    "txt": "Cautions",
    "html": "<!DOCTYPE",
    "svg": "<svg",
}


async def test_export(tmp_path):
    async with comparing(two_engines(tmp_path / "nets")) as (session, pane):
        await session.press("d")
        for ending, begins in BEGINNINGS.items():
            target = tmp_path / f"out.{ending}"
            await session.press("e")
            await session.until(lambda: "Export the comparison" in session.text)
            session.app.screen.query_one(Input).value = str(target)
            await session.press("enter")
            await session.until(target.is_file)
            await session.until(lambda: isinstance(session.app.screen, EngineScreen))
            assert target.read_text(encoding="utf-8").startswith(begins)
        document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
        assert document["schema"] == "trex-tui/diff/1"
        assert len(document["blocks"]) == len(pane.table.shown_blocks) < document["blocks_total"]


async def test_pins_are_exported_for_the_next_comparison(tmp_path, capsys):
    folder = two_engines(tmp_path / "nets")
    target = tmp_path / "pins.json"
    async with comparing(folder) as (session, pane):
        before = pane.comparison
        await stand_on(session, pane, 0, "/head/softmax/Softmax")
        await session.press("m")
        await stand_on(session, pane, 1, "/stem/pool/MaxPool")
        await session.press("m")
        await session.until(lambda: pane.comparison is not before and pane.comparison)
        await session.press("e", "G", "enter")
        await session.until(lambda: "Export 1 pin" in session.text)
        session.app.screen.query_one(Input).value = str(target)
        await session.press("enter")
        await session.until(target.is_file)
    assert main(["diff", str(folder / FP16), str(folder / "int8"), "--pins", str(target), "--json"]) == 0
    blocks = json.loads(capsys.readouterr().out)["blocks"]
    (pinned,) = [block for block in blocks if block["evidence"] == "manual"]
    assert pinned["layers"] == [["/head/softmax/Softmax"], ["/stem/pool/MaxPool"]]


# Why the builder chose other tactics


async def test_details_of_a_block_state_why_the_builder_chose_differently(tmp_path):
    left = write_build(
        tmp_path / "left", FAST, [combination(HALF, [timed(FAST, 0.5), timed(SLOW, 0.6)], FAST)]
    )
    right = write_build(
        tmp_path / "right", SLOW, [combination(HALF, [timed(SLOW, 0.6), skipped(FAST)], SLOW)]
    )
    async with opened(left, right, size=LARGE) as session:
        pane = await until_compared(session)
        assert pane.job.builds is None, "logs are read when somebody asks"
        await session.press("v")
        await session.until(lambda: any("B: A's tactic skipped" in line.text for line in pane.words.lines))
        told_lines = [line.text for line in pane.words.lines]
        assert told_lines.count("Why the builder chose other tactics") == 1
        assert any("0.600000 ms" in text for text in told_lines)
        await session.press("x")
        await session.until(lambda: any("A: B's tactic skipped" in line.text for line in pane.words.lines))


async def test_without_logs_the_details_state_what_is_missing():
    async with comparing(two_engines(Path("nets")), LARGE) as (session, pane):
        await session.press("v")
        await session.until(lambda: any("A has no build log" in line.text for line in pane.words.lines))
        assert any("B has no build log" in line.text for line in pane.words.lines)
        pane.table.go_to(pane.comparison.find_block(0, 8))
        await session.pilot.pause()
        assert "Why the builder chose other tactics" not in [line.text for line in pane.words.lines]


# Real engines


def real(*parts: str) -> Path:
    path = ARTIFACTS.joinpath(*parts)
    if not path.is_dir():
        pytest.skip(f"no real artifacts at {path}")
    return path


@pytest.mark.parametrize("size", SIZES)
async def test_real_pair(size):
    async with comparing(real("trex", "resnet-A100"), size, (1, 2)) as (session, pane):
        check_sums(pane)
        check_golden(session.app, f"compare_resnet_{size[0]}x{size[1]}")
        await session.press("E")
        assert len(layer_rows(pane)) == sum(len(engine.layers) for engine in pane.job.engines)


async def test_real_engines_of_other_models_say_so():
    async with comparing(real("edge-vision", "results"), LARGE) as (session, pane):
        check_sums(pane)
        assert not pane.comparison.differences[1].related
        assert "⚠" in session.text.splitlines()[2]


async def test_a_choice_of_engines_is_not_opened_over_another_screen(tmp_path, monkeypatch):
    """The engines beside this one are looked for; a person leaves meanwhile."""
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def look(_: CompareJob) -> None:
        begun.set()
        await may_end.wait()

    monkeypatch.setattr(CompareJob, "_until_found", look)
    async with running(several_engines(tmp_path)) as session:
        await session.press("j", "enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen) and session.screen.lint)
        left = session.screen
        session.type_ahead("8", "c")
        await begun.wait()
        session.app.pop_screen()
        may_end.set()
        await session.until(lambda: not left.is_running)
        assert isinstance(session.app.screen, EnginesScreen)
