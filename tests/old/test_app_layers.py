"""Layers: groupings, lanes, details with links, walking along the dataflow, the neighbourhood."""

from __future__ import annotations

import pytest
from tui import LARGE, check_golden, running

from helpers import TO_LATENCY, layer, tensor
from small_engines import BY_TIME, NET, SLOWEST, named_engine, small_engine, write_set
from trex_tui.old.analysis.modules import Group, Grouping
from trex_tui.old.engine import load_engine
from trex_tui.old.report.views.layer_details import layer_lines
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.widgets.neighbourhood import Rest

PREVIOUS, NEXT, BACK, FORWARD = "left_square_bracket", "right_square_bracket", "minus", "plus"
KERNEL = (
    "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_"
    "tilesize128x64x32_stage4_warpsize2x2x1_g1_tensor16x8x16_t1r3s3"
)
# A residual block behind a fork, and its consumers: name, type, what it reads, milliseconds.
BRANCHED = [
    ("/stem/Conv", "CaskConvolution", ["image"], 0.4),
    ("/block/conv1/Conv", "CaskConvolution", ["/stem/Conv"], 0.3),
    ("/block/conv2/Conv", "CaskConvolution", ["/block/conv1/Conv"], 0.2),
    ("/block/Add", "PointWiseV2", ["/block/conv2/Conv", "/stem/Conv"], 0.1),
    *((f"/heads/{number}/Relu", "PointWiseV2", ["/block/Add"], 0.01 * (number + 1)) for number in range(6)),
]
STEM, CONV1, CONV2, ADD, HEADS = 0, 1, 2, 3, list(range(4, 10))


def branched_engine(folder, *, profiled=True):
    layers = [
        layer(
            name,
            layer_type,
            [tensor(one, 1, 16, 8, 8) for one in reads],
            [tensor(name, 1, 16, 8, 8)],
            StreamId=number % 2,
            TacticName=KERNEL if "Conv" in name else "",
            Kernel=[3, 3],
            Groups=1,
            OutMaps=16,
            Metadata=f"[ONNX Layer: {name}]\x1e[ONNX Layer: {name}/more]",
        )
        for number, (name, layer_type, reads, _) in enumerate(BRANCHED)
    ]
    times = {name: time for name, _, _, time in BRANCHED}
    return write_set(folder, "branched", layers, times if profiled else None)


def told(session):
    """What was said in passing."""
    return "\n".join(note.message for note in session.app._notifications)


async def complete(session):
    """Wait for what is computed beside the screen."""
    await session.until(
        lambda: session.app.screen.query("LayersPane") and session.layers.facts is not None, "facts"
    )
    await session.pilot.pause()


def boxes(session):
    drawing = session.layers.neighbourhood.current
    assert drawing is not None
    return drawing.boxes


def levels(session):
    """Indices of the boxes' layers by level; the number of a rest as text."""
    found = {}
    for box in boxes(session):
        shown = f"+{len(box.shown.layers)}" if isinstance(box.shown, Rest) else box.shown.index
        found.setdefault(box.level, []).append(shown)
    return found


# Groupings and lanes


async def test_groupings_come_round_and_can_be_chosen(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        tree = session.layers.table
        for grouping in [*list(Grouping)[1:], Grouping.MODULE]:
            await session.press("t")
            assert tree.grouping is grouping
            assert session.layers.cursor_layer is session.screen.engine.layers[STEM]
        await session.press("T")
        assert isinstance(session.app.screen, ChooseScreen)
        await session.press(*["j"] * list(Grouping).index(Grouping.ONNX), "enter")
        assert tree.grouping is Grouping.ONNX
        assert session.tree_names[0] == "/stem/Conv +1"
        await session.press("T", "escape")
        assert tree.grouping is Grouping.ONNX


async def test_groups_add_up_and_say_what_they_are(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        tree = session.layers.table
        tree.group_by(Grouping.STREAM)
        assert [name for name in session.tree_names if name[0] in "▸▾"] == [
            "▾ GPU, stream 0",
            "▾ GPU, stream 1",
        ]
        total = session.screen.engine.latency_sum_ms
        groups = [row for row in tree.shown_rows if isinstance(row, Group)]
        assert sum(group.latency_ms for group in groups) == pytest.approx(total)
        await session.press("g")
        await session.until(lambda: session.details.startswith("GPU, stream 0"))
        assert "Slowest" in session.details
        await session.press("tab", "l", "enter")
        await session.until(lambda: session.current == STEM)


async def test_lanes_stand_beside_the_execution_order_only(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        tree = session.layers.table

        def lanes():
            column = next((one for one in tree.columns if one.key == "lanes"), None)
            return column and [column.cell_text(row).rstrip() for row in tree.shown_rows]

        assert lanes() is None
        tree.group_by(Grouping.ORDER)
        assert lanes() == ["●", "├─●", "│ ●", "●─┘", *["├─●"] * 5, "●"]
        await session.press("s")
        assert lanes() is None
        await session.press("s", "slash", *"block", "enter")
        await session.until(lambda: lanes() == ["●", "●", "●"])
        await session.press("escape")
        await session.until(lambda: len(lanes()) == len(BRANCHED))


# Details


async def test_the_slowest_row_fills_the_bar(tmp_path):
    async with running(small_engine(tmp_path), LARGE, tab="layers") as session:
        tree = session.layers.table
        share = next(column for column in tree.columns if column.key == "latency_pct")
        for grouping in (Grouping.MODULE, Grouping.KIND, Grouping.ORDER):
            tree.group_by(grouping)
            bars = {tree.row_key(row): share.bar(row) or 0.0 for row in tree.shown_rows}
            assert max(bars.values()) == 1.0
            slowest = max(tree.shown_rows, key=lambda row: row.latency_ms or 0.0)
            assert bars[tree.row_key(slowest)] == 1.0
            await session.pilot.pause()
            assert "% 0–max" in session.text


async def test_details_take_everything_apart(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        assert "Tactic" in session.details, "details wait for no computation"
        await complete(session)
        for words in [
            "0.4000 ms · 33.06 % · rank 1/10 · layer 0 · bound unknown (needs --peak) · 72 FLOP/B",
            "1×16×8×8 · FP16 · 2.00 KiB",
            "in and out  4.00 KiB",
            "library       xmma",
            "written for   sm_80",
            "tensor cores  yes",
            "types         in FP16 → compute FP16 → accumulate FP32",
            "tile          128×64×32 (M×N×K)",
            "stages        4",
            "instruction   16×8×16 (M×N×K)",
            "64×16×144: 147 k MACs",
            "ONNX nodes (2)",
            "Consumers (2)",
            "→ 1 · 0.3000 ms · convolution · /block/conv1/Conv",
        ]:
            assert words in session.details, words
        assert "GEMM005" in session.details
        assert "being computed" not in session.details


async def test_details_keep_their_place_when_the_rest_arrives(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await complete(session)
        pane = session.layers.details
        await session.press("tab", "j", "j")
        await session.until(lambda: pane.scroll_y == 2)
        session.layers._show_side()
        await session.pilot.pause()
        assert pane.scroll_y == 2
        await session.press("shift+tab", "j")
        await session.until(lambda: pane.scroll_y == 0)


async def test_links_in_the_details_lead_to_other_layers(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await session.screen.go_to(session.screen.engine.layers[ADD])
        await session.press("tab", "l")
        details = session.layers.details
        while details.lines[details.chosen].target != CONV2:
            await session.press("l")
        await session.press("enter")
        await session.until(lambda: session.current == CONV2)
        assert session.layers.cursor_layer is session.screen.engine.layers[CONV2]
        assert session.app.focused is session.layers.details
        await session.press("h", "enter")
        await session.until(lambda: session.current == ADD)
        await session.press("l")
        while details.lines[details.chosen].target != STEM:
            await session.press("l")
        await session.press("enter")
        await session.until(lambda: session.current == STEM)


async def test_a_click_on_a_link_follows_it(tmp_path):
    async with running(branched_engine(tmp_path), LARGE, tab="layers") as session:
        await session.until(lambda: "→ 1 · " in session.text)
        y = next(n for n, line in enumerate(session.text.splitlines()) if "→ 1 · " in line)
        x = session.text.splitlines()[y].index("→ 1 · ")
        await session.pilot.click(offset=(x + 4, y))
        await session.until(lambda: session.current == CONV1)


# Walking


async def test_walking_asks_where_there_are_several_and_comes_back(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await session.press(NEXT)
        assert isinstance(session.app.screen, ChooseScreen)
        assert "Consumers of layer 0" in session.text
        assert "0.1000 ms pointwise" in session.text
        await session.press("j", "enter")
        await session.until(lambda: session.current == ADD)
        await session.press(PREVIOUS, "enter")
        await session.until(lambda: session.current == STEM)
        await session.press(BACK)
        await session.until(lambda: session.current == ADD)
        await session.press(BACK)
        await session.until(lambda: session.current == STEM)
        await session.press(FORWARD, FORWARD)
        await session.until(lambda: session.current == STEM)
        await session.press(BACK, NEXT, "escape")
        assert session.current == ADD


async def test_a_single_neighbour_is_gone_to_at_once_and_none_is_said(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await session.screen.go_to(session.screen.engine.layers[CONV1])
        await session.press(NEXT)
        await session.until(lambda: session.current == CONV2)
        await session.press(PREVIOUS, PREVIOUS)
        await session.until(lambda: session.current == STEM)
        await session.press(PREVIOUS)
        await session.until(lambda: "No producers" in told(session))
        assert session.current == STEM


async def test_walking_works_in_the_table_and_clears_a_filter_that_hides_the_way(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await session.screen.go_to(session.screen.engine.layers[CONV1])
        await session.press(TO_LATENCY, "slash", *"conv1", "enter", NEXT)
        await session.until(lambda: session.current == CONV2)
        assert session.screen.filter_text == ""
        assert session.latency.cursor_layer is session.screen.engine.layers[CONV2]
        await session.press(BACK)
        await session.until(lambda: session.latency.cursor_layer is session.screen.engine.layers[CONV1])


async def test_a_group_has_no_links_and_no_history_is_said(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await session.press("j", NEXT)
        assert session.layers.is_on_group
        await session.until(lambda: "Select a layer first" in told(session))
        await session.press(BACK)
        await session.until(lambda: "History is empty" in told(session))


# The neighbourhood


async def test_neighbourhood_takes_the_place_of_the_details(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        pane = session.layers
        await session.screen.go_to(session.screen.engine.layers[ADD])
        await session.press("v")
        await session.until(lambda: pane.neighbourhood.display and not pane.details.display)
        assert levels(session) == {-1: [STEM, CONV2], 0: [ADD], 1: [8, 9, "+4"]}
        await session.press("enter")
        assert session.app.focused is pane.neighbourhood
        await session.press("v")
        await session.until(lambda: pane.details.display and session.app.focused is pane.details)


async def test_layers_by_time_from_any_tab_and_within_the_filter(tmp_path):
    """From zoomed details too: the tree need not be in view. A step is no jump."""
    async with running(small_engine(tmp_path), tab="layers") as session:
        session.screen.stand_on(session.screen.engine.layers[BY_TIME[0]])
        await session.press("tab", "z")
        for index in BY_TIME[1:4]:
            await session.press("J")
            assert session.current == index
        await session.press("z", TO_LATENCY, "K")
        assert session.current == BY_TIME[2]
        await session.press("slash", *"layer1", "enter")
        shown = [index for index in BY_TIME if "layer1" in NET[index][0]]
        session.screen.stand_on(session.screen.engine.layers[shown[0]])
        await session.press("J", "J", "J")
        assert session.current == shown[-1]
        await session.until(lambda: "No further layer by time." in told(session))
        await session.press("K", "K", "K")
        assert session.current == shown[0]
        assert not session.screen.history.has_way_back


async def test_layers_by_time_begin_at_the_slowest(tmp_path):
    async with running(small_engine(tmp_path), tab="memory") as session:
        session.screen.stand_on(session.screen.engine.layers[BY_TIME[-1]])  # It has no time.
        await session.press("J")
        assert session.current == BY_TIME[0]


async def test_neighbourhood_is_walked_in(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        view = session.layers.neighbourhood
        await session.screen.go_to(session.screen.engine.layers[ADD])
        await session.press("v", "enter", "k", "h")
        assert boxes(session)[view.selected].shown.index == STEM
        await session.press("l", "enter")
        await session.until(lambda: session.current == CONV2 and levels(session)[0] == [CONV2])
        assert session.app.focused is view
        assert boxes(session)[view.selected].level == 0
        await session.press(BACK)
        await session.until(lambda: levels(session)[0] == [ADD])
        await session.press("G", "enter")
        assert isinstance(session.app.screen, ChooseScreen)
        assert "Consumers of layer 3" in session.text
        await session.press("G", "enter")
        await session.until(lambda: session.current == HEADS[-1])


async def test_depth_of_the_neighbourhood(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await session.screen.go_to(session.screen.engine.layers[HEADS[0]])
        await session.press("v", "enter", "greater_than_sign")
        assert levels(session) == {-2: [STEM, CONV2], -1: [ADD], 0: [4]}
        await session.press("greater_than_sign", "greater_than_sign")
        assert sorted(levels(session)) == [-3, -2, -1, 0]
        await session.press("less_than_sign", "less_than_sign", "less_than_sign")
        assert sorted(levels(session)) == [-1, 0]


async def test_a_click_on_a_box_goes_there(tmp_path):
    async with running(branched_engine(tmp_path), LARGE, tab="layers") as session:
        await session.press("v")
        view = session.layers.neighbourhood
        await session.until(lambda: view.size.width and "▼" in session.text)
        lines = session.text.splitlines()
        y = next(n for n, line in enumerate(lines) if "│ 1 /block/conv1/Conv" in line)
        await session.pilot.click(offset=(lines[y].index("│ 1 /block") + 3, y))
        await session.until(lambda: session.current == CONV1)


async def test_zoom_gives_the_neighbourhood_the_room(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        pane = session.layers
        await session.press("v", "enter", "z")
        await session.until(lambda: not pane.table.display and pane.neighbourhood.display)
        await session.press("z")
        await session.until(lambda: pane.table.display)


async def test_looks_survive_reading_again(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        await session.press("T", "G", "enter", "v", "enter", "greater_than_sign")
        before = session.layers
        await session.press("R")
        await session.until(lambda: session.screen.query("LayersPane") and session.layers is not before)
        await session.until(lambda: session.layers.table.grouping is Grouping.ORDER)
        await session.until(lambda: session.layers.words is session.layers.neighbourhood)
        await session.until(lambda: session.layers.neighbourhood.depth == 2)


async def test_where_there_is_room_details_and_neighbours_stand_together(tmp_path):
    async with running(branched_engine(tmp_path), LARGE, tab="layers") as session:
        pane = session.layers
        await session.screen.go_to(session.screen.engine.layers[ADD])
        await session.press("v")
        await session.until(
            lambda: pane.details.display and pane.neighbourhood.display and "▼" in session.text
        )
        await session.press("k", "greater_than_sign")
        await session.until(
            lambda: session.details.startswith("/block/conv2/Conv"), "details that follow the cursor"
        )
        await session.until(lambda: "depth 2 of 3" in session.text)
        await session.press("tab", "z")
        await session.until(lambda: not pane.table.display and pane.details.display)
        await session.press("z", "v")
        await session.until(lambda: pane.table.display and not pane.neighbourhood.display)
        await session.pilot.resize_terminal(80, 24)
        await session.press("v")
        await session.until(lambda: pane.neighbourhood.display and not pane.details.display)


async def test_another_grouping_shows_the_cursor_in_the_middle_or_all_from_the_top(tmp_path):
    names = [f"/block{number}/conv{number % 7}/Conv" for number in range(200)]
    async with running(named_engine(tmp_path, names), tab="layers") as session:
        await session.screen.go_to(session.screen.engine.layers[100])
        tree = session.layers.table
        await session.press("T", "G", "enter")
        await session.until(lambda: tree.grouping is Grouping.ORDER)
        await session.until(lambda: abs(tree.cursor_row - tree.scroll_offset.y - tree.page_height // 2) <= 1)
        await session.screen.go_to(session.screen.engine.layers[2])
        await session.press("T", "g", "j", "enter")
        await session.until(lambda: tree.grouping is Grouping.KIND and tree.scroll_offset.y == 0)


# Whole screens


@pytest.mark.parametrize("size", [pytest.param((80, 24), id="80x24"), pytest.param(LARGE, id="160x45")])
async def test_looks(tmp_path, monkeypatch, size):
    monkeypatch.chdir(tmp_path)
    name = f"{size[0]}x{size[1]}"
    async with running(branched_engine(tmp_path), size, tab="layers") as session:
        await session.screen.go_to(session.screen.engine.layers[ADD])
        session.layers.table.group_by(Grouping.ORDER)
        await complete(session)
        check_golden(session.app, f"layers_order_{name}")
        await session.press("v")
        await session.until(lambda: "▼" in session.text)
        await session.pilot.pause()
        check_golden(session.app, f"neighbourhood_{name}")


async def test_without_a_profile_times_are_unknown(tmp_path):
    async with running(small_engine(tmp_path, profiled=False), tab="layers") as session:
        await complete(session)
        assert "latency unknown: no profile in this set" in session.details
        assert "time unknown" in session.details
        await session.press("v")
        await session.until(lambda: "▼" in session.text)
        assert session.current in (0, SLOWEST)


def test_a_type_that_is_the_kind_is_not_repeated_and_long_sums_have_fewer_digits(tmp_path):
    layers = [layer("head", "gemm", [], [tensor("x", [1, 8])]), layer("tail", "Convolution", [], [])]
    engine = load_engine(write_set(tmp_path, "net", layers, {"head": 26.98, "tail": 0.5}))
    head, tail = ([line.text for line in layer_lines(engine, row)] for row in engine.layers)
    assert any(text.startswith("gemm · ") for text in head)
    assert not any("· gemm" in text for text in head)
    assert not any("Convolution" in text for text in tail if not text.startswith("Convolution"))
    assert "median 26.9800 ms · total 2698.0 ms in 100 iterations" in head
    assert "median 0.5000 ms · total 50.0000 ms in 100 iterations" in tail


async def test_zoom_on_a_group_leaves_the_tree_on_screen(tmp_path):
    async with running(branched_engine(tmp_path), tab="layers") as session:
        tree = session.layers.table
        await session.press("t", "C", "g", "v", "tab")
        assert session.layers.is_on_group
        assert session.app.focused is session.layers.neighbourhood
        await session.press("z")
        assert tree.is_on_screen
        assert session.app.focused is tree
        row = tree.cursor_row
        await session.press("j")
        assert tree.cursor_row == row + 1
