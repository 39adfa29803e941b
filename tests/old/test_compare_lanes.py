"""Two engines side by side: every layer once, aligned by blocks, in execution order; and on the screen."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from comparing import FP16, INT8, TO_FIND, comparing, four_engines, two_engines
from helpers import ARTIFACTS
from trex_tui.old.analysis.compare import Comparison, Match, compare
from trex_tui.old.analysis.compare.lanes import LaneRow, align_lanes
from trex_tui.old.cli import main
from trex_tui.old.engine import load_engine, load_engines
from trex_tui.old.report.views.compare_lanes import draw_link, lane_columns, lanes_listing
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.widgets.theme import to_ascii
from tui import LARGE, SMALL, check_golden

NARROW, WIDE = (80, 24), (120, 35)


@pytest.fixture(autouse=True)
def _short_paths(tmp_path, monkeypatch):
    """Paths on screen are relative."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def pair() -> Comparison:
    folder = two_engines(Path("nets"))
    return compare([load_engine(folder / FP16), load_engine(folder / INT8)])


def _check(comparison: Comparison, engine: int) -> list[LaneRow]:
    """Each layer of both engines is in one row exactly, with its own block, and blocks stand in order."""
    rows = align_lanes(comparison, engine)
    for lane, index in enumerate((comparison.baseline, engine)):
        layers = [layer for row in rows if (layer := row.layers[lane]) is not None]
        assert sorted(layer.index for layer in layers) == list(range(len(comparison.engines[index].layers)))
        for row in rows:
            layer = row.layers[lane]
            assert layer is None or layer.index in row.block.layers[index]
        highest = -1
        for row in rows:
            layer = row.layers[lane]
            if layer is not None:
                assert row.are_early[lane] is (layer.index < highest)
                highest = max(highest, layer.index)
    assert [row.block.index for row in rows] == sorted(row.block.index for row in rows)
    assert all(any(row.layers) for row in rows)
    return rows


def test_each_layer_is_in_one_row(pair):
    rows = _check(pair, 1)
    several = [row for row in rows if row.counts == (1, 2)]
    assert [[layer and layer.name for layer in row.layers] for row in several] == [
        ["/stem/conv/Conv + /stem/relu/Relu", "/stem/conv/Conv"],
        [None, TO_FIND],
    ]
    only_right = next(row for row in rows if row.counts == (0, 1))
    assert only_right.layers[0] is None
    assert only_right.number == 0


def test_lanes_of_the_third_engine():
    found = {engine.name: engine for engine in load_engines(four_engines(Path("nets")))}
    comparison = compare([found[name] for name in (FP16, INT8, "other")])
    rows = _check(comparison, 2)
    assert all(row.counts == (1, 1) for row in rows)
    assert [column.key for column in lane_columns(comparison, 2)][-2] == "c_index"


REAL_PAIRS = [
    (("trex", "resnet-A100", "fp16"), ("trex", "resnet-A100", "qat")),
    (("trex", "resnet-A100", "qat"), ("trex", "resnet-A100", "qat-residual")),
    (("trex", "tf-resnet-RTX3090", "fp32"), ("trex", "tf-resnet-RTX3090", "fp16")),
    (("edge-vision", "results", "mobilenet_v2"), ("torch-trt", "mobilenet_v2")),
]


@pytest.mark.parametrize(("left", "right"), REAL_PAIRS, ids=lambda parts: parts[-1])
def test_each_layer_of_real_pairs_is_in_one_row_and_differences_add_up(left, right):
    paths = [ARTIFACTS.joinpath(*parts) for parts in (left, right)]
    for path in paths:
        if not path.is_dir():
            pytest.skip(f"no real artifacts at {path}")
    comparison = compare([load_engine(path) for path in paths])
    rows = _check(comparison, 1)
    delta = next(column for column in lane_columns(comparison, 1) if column.key == "delta_ms")
    assert delta.value is not None
    known = [value for row in rows if (value := delta.value(row)) is not None]
    difference = comparison.differences[1]
    assert difference is not None
    if difference.delta_ms is not None:
        assert sum(known) == pytest.approx(difference.delta_ms - difference.unattributed_ms)


def test_layers_that_run_earlier_than_those_above_are_stated(pair):
    blocks = list(pair.blocks)
    last = next(block for block in blocks if block.layers == ((7,), (8,)))
    moved = replace(pair, blocks=[replace(last, index=-1), *(block for block in blocks if block is not last)])
    rows = align_lanes(moved, 1)
    assert rows[0].are_early == (False, False)
    assert all(
        early
        for row in rows[1:]
        for layer, early in zip(row.layers, row.are_early, strict=True)
        if layer is not None and layer.index < 7
    )


@pytest.mark.parametrize(
    ("counts", "links"),
    [
        ((1, 0), ["‹──"]),
        ((0, 2), ["──›", "──›"]),
        ((1, 2), ["─┬─", " └─"]),
        ((3, 1), ["─┬─", "─┤ ", "─┘ "]),
        ((2, 2), ["─┬─", "─┴─"]),
        ((2, 4), ["─┬─", "─┼─", " ├─", " └─"]),
    ],
)
def test_links(pair, counts, links):
    block, layer = pair.blocks[0], pair.engines[0].layers[0]
    rows = [
        LaneRow(
            block,
            number,
            counts,
            tuple(layer if number < count else None for count in counts),
            (False, False),
        )
        for number in range(max(counts))
    ]
    assert [draw_link(row) for row in rows] == links
    assert all(cell_len(to_ascii(link)) == 3 and "?" not in to_ascii(link) for link in links)


def test_a_change_is_part_of_the_link(pair):
    rows = [row for row in align_lanes(pair, 1) if row.counts == (1, 1)]
    assert {draw_link(row) for row in rows} == {"───", "─≠─"}
    assert all((draw_link(row) == "─≠─") is bool(row.block.changes) for row in rows)


def test_the_listing_has_raw_values_of_both_lanes(pair):
    listing = lanes_listing(pair, 1)
    keys = [column.key for column in listing.table.columns]
    assert keys == [
        "block", "a_index", "a_layer", "a_precision", "a_latency_ms", "delta_ms",
        "b_latency_ms", "b_precision", "b_layer", "b_index", "changed",
    ]  # fmt: skip
    for key, engine in (("a_latency_ms", 0), ("b_latency_ms", 1)):
        times = [row[keys.index(key)] for row in listing.table.rows]
        assert sum(time for time in times if time is not None) == pytest.approx(
            pair.sides[engine].latency_sum_ms
        )


# On the screen


def _here(pane) -> tuple[int | None, int | None]:
    """Engine and index of the layer under the cursor."""
    row = pane.cursor
    return row.engine_index, None if row.layer is None else row.layer.index


@pytest.mark.parametrize("size", [NARROW, WIDE, LARGE], ids=lambda size: f"{size[0]}x{size[1]}")
async def test_golden(size):
    async with comparing(two_engines(Path("nets")), size) as (session, _):
        await session.press("L")
        await session.pilot.pause()
        check_golden(session.app, f"compare_lanes_{size[0]}x{size[1]}")


async def test_lanes_and_back_with_the_cursor_on_its_layer():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        block = pane.comparison.find_block(1, 2)
        pane.table.go_to(block)
        await session.press("l", "j", "j")
        assert _here(pane) == (1, 1)
        await session.press("L")
        assert pane.table is pane.lane_table
        assert session.app.focused is pane.lane_table
        assert not pane.block_table.display
        assert _here(pane) == (1, 1)
        await session.press("j")
        assert _here(pane) == (1, 2), "the gap of A is passed"
        await session.press("h")
        assert _here(pane) == (None, None), "a gap"
        assert pane.cursor.block is block
        await session.press("k", "right")
        assert _here(pane) == (1, 1)
        await session.press("left")
        assert _here(pane) == (0, 1)
        assert session.current == 1, "the current layer follows the left lane"
        await session.press("L")
        assert pane.table is pane.block_table
        assert session.app.focused is pane.block_table
        assert _here(pane) == (0, 1)


async def test_enter_goes_to_the_layer_of_the_chosen_lane(monkeypatch):
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        copied: list[str] = []
        monkeypatch.setattr(session.app, "copy_to_clipboard", copied.append)
        await session.press("L", "g", "l")
        while _here(pane) != (1, 2):
            await session.press("j")
        await session.press("y")
        assert copied == [TO_FIND]
        assert TO_FIND in session.text.splitlines()[-2]
        first = session.screen
        await session.press("enter")
        await session.until(lambda: session.app.screen is not first and session.screen.focused is not None)
        assert session.screen.engine.name == INT8
        assert session.layers.cursor_layer.name == TO_FIND


async def test_a_pin_across_the_lanes_is_exported_for_diff(tmp_path, capsys):
    target = tmp_path / "pins.json"
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        before = pane.comparison
        pane.table.go_to(before.find_block(0, 7))
        await session.press("L", "h", "m")
        assert pane.pins.first is not None
        assert len(pane.lane_table.marked) == 1
        pane.table.go_to(before.find_block(1, 3), 1, 3)
        await session.press("m")
        await session.until(lambda: pane.comparison is not before and pane.comparison)
        assert pane.comparison.find_block(0, 7).match is Match.MANUAL
        assert pane.comparison.find_block(0, 7).layers == ((7,), (3,))
        assert pane.table is pane.lane_table, "the lanes stay"
        assert _here(pane) == (1, 3)
        assert "─●─" in next(
            line for line in session.text.splitlines() if "Softmax" in line and "MaxPool" in line
        )
        await session.press("e", "G", "enter")
        await session.until(lambda: "Export 1 pin" in session.text)
        session.app.screen.query_one(Input).value = str(target)
        await session.press("enter")
        await session.until(target.is_file)
    folder = Path("nets")
    for names in ([FP16, INT8], [INT8, FP16]):
        assert main(["diff", *(str(folder / name) for name in names), "--pins", str(target), "--json"]) == 0
        blocks = json.loads(capsys.readouterr().out)["blocks"]
        (pinned,) = [block for block in blocks if block["evidence"] == "manual"]
        assert sorted(pinned["layers"]) == [["/head/softmax/Softmax"], ["/stem/pool/MaxPool"]]


async def test_filter_and_changes_apply_to_lanes():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        await session.press("L")
        every = pane.table.shown_count
        await session.press("slash", *"kind:pointwise", "enter")
        assert pane.table.shown_count == 2, "a layer of A beside two of B"
        await session.press("escape", "d")
        assert 0 < pane.table.shown_count < every
        assert all(row.block.changes or row.block.is_one_sided for row in pane.table.shown_rows)
        await session.press("L", "d")
        assert len(pane.table.shown_blocks) == len(pane.comparison.blocks)


async def test_of_four_engines_the_next_is_shown_and_no_key_sorts():
    async with comparing(four_engines(Path("nets")), LARGE, (1, 2, 3, 0)) as (session, pane):
        for engine, name in ((1, "B int8"), (2, "C other"), (3, "D bare")):
            await session.press("L")
            assert pane.lanes == engine
            assert name in session.text
            assert f"lanes A and {name[0]}" in session.text
            order = pane.table.shown_rows
            await session.press("s", "S", "r")
            assert isinstance(session.app.screen, EngineScreen)
            assert pane.table.shown_rows == order
        await session.press("L")
        assert pane.lanes is None


async def test_swap_and_reading_again_keep_the_lanes():
    folder = two_engines(Path("nets"))
    async with comparing(folder) as (session, pane):
        await session.press("L", "g", "l", "j", "j")
        name = pane.cursor.layer.name
        before = pane.comparison
        await session.press("x")
        await session.until(lambda: pane.comparison is not before and pane.comparison)
        assert pane.table is pane.lane_table
        assert pane.cursor.layer.name == name
        assert pane.cursor.engine_index == 0
        assert "A int8" in session.text
        await session.press("R")
        await session.until(lambda: session.screen.query_one("#compare") is not pane)
        again = session.screen.query_one("#compare")
        await session.until(lambda: again.comparison is not None and not again.job.waiting)
        assert again.lanes == 1


async def test_export_of_lanes(tmp_path):
    target = tmp_path / "lanes.csv"
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        await session.press("L", "e", "j", "enter")
        await session.until(lambda: "Export the two engines side by side" in session.text)
        session.app.screen.query_one(Input).value = str(target)
        await session.press("enter")
        await session.until(target.is_file)
        rows = list(csv.DictReader(target.read_text(encoding="utf-8").splitlines()))
        assert len(rows) == pane.table.shown_count
        assert sum(float(row["b_latency_ms"] or 0.0) for row in rows) == pytest.approx(0.74)


@pytest.mark.parametrize("width", [60, 120, 200])
async def test_both_lanes_have_the_same_columns(width):
    async with comparing(two_engines(Path("nets")), (width, 24)) as (session, pane):
        await session.press("L")
        await session.pilot.pause()
        keys = [column.key for column in pane.table.visible_columns]
        lanes = [sorted(key[2:] for key in keys if key.startswith(f"{lane}_")) for lane in "ab"]
        assert lanes[0] == lanes[1]
        assert {"layer", "latency_ms"} <= set(lanes[0])
        assert {"link", "delta_ms"} <= set(keys)


async def test_a_click_chooses_the_lane_and_only_lines_in_view_are_drawn():
    async with comparing(two_engines(Path("nets")), SMALL) as (session, pane):
        await session.press("L", "h")
        place = next(cell for cell in pane.table._place() if cell.column.key == "b_layer")
        await session.pilot.click(pane.table, offset=(place.start + 2, 0))
        assert pane.lane_table.lane == 1
        assert pane.table.title_keys == (), "no title sorts"
        await session.press("i")
        assert "Latency of the layer of B" in session.text or "Layer of B" in session.text
