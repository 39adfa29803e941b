"""An engine on screen: keys and mouse of Layers and Latency, and what the two share."""

from __future__ import annotations

import pytest
from tui import Session, running

from helpers import DIGITS, TO_LATENCY, TO_LAYERS, some
from small_engines import (
    BY_TIME,
    CONV,
    NET,
    SLOWEST,
    named_engine,
    quantized_engine,
    raw_layer,
    small_engine,
    write_set,
)
from trex_tui.old.analysis.modules import Grouping
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.pane import FindingOpened, LayersFiltered
from trex_tui.old.screens.text_screens import NotesScreen
from trex_tui.old.widgets.chrome import TabBar
from trex_tui.old.widgets.table_model import SortKey

ALL = list(range(len(NET)))


# Latency


async def test_table_stands_on_the_slowest_layer(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        assert session.screen.pane is session.latency
        assert session.app.focused is session.latency.table
        assert session.shown == BY_TIME
        assert session.current == SLOWEST
        assert "9 layers (1 without a time) · 0.9150 ms · 100.00 % of all" in session.text


async def test_movement(tmp_path):
    names = [f"layer{number}" for number in range(60)]
    async with running(named_engine(tmp_path, names)) as session:
        table = session.latency.table
        page = table.page_height
        steps = [
            ("j", 1), ("down", 2), ("k", 1), ("up", 0), ("G", 59), ("g", 0), ("end", 59), ("home", 0),
            ("ctrl+d", page // 2), ("ctrl+u", 0), ("pagedown", page), ("pageup", 0),
        ]  # fmt: skip
        for key, row in steps:
            await session.press(key)
            assert table.cursor_row == row, key
            await session.until(lambda row=row: session.current == 59 - row)


async def test_sort_is_chosen_reversed_and_given_up(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        table = session.latency.table
        await session.press("s")
        assert isinstance(session.app.screen, ChooseScreen)
        assert "ms  (latency_ms, latency, time)" in session.text
        await session.press("enter")
        assert table.sort_keys == (SortKey("latency_ms", descending=False),)
        await session.press("r")
        assert session.shown == BY_TIME
        await session.press("S")
        assert session.shown == [7, 0, 2, 5, 3, 4, 1, 6, 8]
        await session.press("s", "g", "j", "j", "enter")
        assert table.sort_keys == (SortKey("name", descending=False),)
        assert session.shown[0] == 6
        await session.press("s", "g", "enter")
        assert session.shown == ALL
        assert session.current == SLOWEST, "sorting takes the cursor along"


@pytest.mark.parametrize("key", ["q", "escape"])
async def test_window_closes_without_a_choice(tmp_path, key):
    async with running(small_engine(tmp_path)) as session:
        await session.press("s", "k", key)
        assert session.screen.pane is session.latency
        assert session.shown == BY_TIME
        assert session.app.is_running


async def test_column_keys_choose_what_to_sort_by(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        table = session.latency.table
        await session.press("right", "right", "right", "left")
        assert table.current_column == "name"
        await session.press("s", "enter")
        assert table.sort_keys == (SortKey("name", descending=False),)


async def test_enter_shows_the_details_of_a_layer(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("j", "enter")
        assert session.screen.pane is session.layers
        await session.until(lambda: session.layers.cursor_layer is session.screen.engine.layers[1])
        assert session.details.startswith(NET[1][0])
        assert "rank 2/9 · layer 1" in session.details


async def test_mouse_sorts_moves_opens_and_changes_screens(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        table = session.latency.table
        await session.pilot.click(table, offset=(session.text.splitlines()[2].index("Layer"), 0))
        assert table.sort_keys == (SortKey("name", descending=False),)
        await session.pilot.click(table, offset=(8, 3))
        assert table.cursor_row == 2
        await session.until(lambda: session.current == session.shown[2])
        chosen = session.current
        await session.pilot.click(TabBar, offset=(16, 0))
        assert session.screen.pane is session.layers
        assert session.current == chosen
        await session.pilot.click(TabBar, offset=(28, 0))
        assert session.screen.pane is session.latency
        await session.pilot.click(table, offset=(8, 3))
        await session.until(lambda: session.screen.pane is session.layers)


async def test_footer_key_can_be_clicked(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.pilot.click(offset=(session.footer.index("/ filter"), 23))
        await session.until(lambda: session.filter_bar.is_open)


# Layers


async def test_tree_opens_on_the_current_layer_and_moves(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(TO_LAYERS)
        assert session.app.focused is session.layers.table
        assert session.layers.cursor_layer is session.screen.engine.layers[SLOWEST]
        await session.press("h")
        assert session.layers.cursor_layer is None
        assert "3 layers" in session.details
        await session.press("h")
        assert "▸ head" in session.tree_names
        await session.press("l", "l")
        assert session.layers.cursor_layer is session.screen.engine.layers[SLOWEST]
        await session.press("left", "left", "right")
        assert "▾ head" in session.tree_names
        await session.press("enter")
        assert "▸ head" in session.tree_names


async def test_expand_and_collapse_all(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(TO_LAYERS, "C")
        assert session.tree_names == ["▸ stem", "▸ layer1", "▸ head"]
        assert session.layers.table.cursor_row == 2
        await session.press("E")
        assert len(session.tree_names) == len(NET) + 5


async def test_grouping_and_order_work_in_the_tree_and_in_the_details(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(TO_LAYERS, "t")
        tree = session.layers.table
        assert tree.grouping is Grouping.KIND
        assert session.tree_names[0] == "▾ convolution"
        assert session.layers.cursor_layer is session.screen.engine.layers[SLOWEST]
        await session.press("tab", *["t"] * (len(Grouping) - 2))
        assert tree.grouping is Grouping.ORDER
        assert session.tree_names == [name for name, *_ in NET]
        await session.press("t")
        assert tree.grouping is Grouping.MODULE
        assert [name for name in session.tree_names if name[0] in "▸▾"] == ["▾ stem", "▾ layer1", "▾ head"]
        await session.press("s")
        assert [name for name in session.tree_names if name[0] in "▸▾"] == ["▾ layer1", "▾ head", "▾ stem"]
        assert "By module, slowest first" in session.text
        assert "t group  s sort" in session.footer


async def test_tab_goes_round_and_details_scroll(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(TO_LAYERS, "tab")
        tree, pane = session.layers.table, session.layers.details
        assert session.app.focused is pane
        for key, place in [
            ("G", pane.max_scroll_y),
            ("k", pane.max_scroll_y - 1),
            ("g", 0),
            ("j", 1),
            ("g", 0),
        ]:
            await session.press(key)
            await session.until(lambda place=place: pane.scroll_y == place)
        await session.press("ctrl+d")
        await session.until(lambda: pane.scroll_y == pane.size.height // 2)
        await session.press("ctrl+u")
        await session.until(lambda: pane.scroll_y == 0)
        await session.press("shift+tab")
        assert session.app.focused is tree
        await session.press("enter")
        assert session.app.focused is pane


async def test_zoom_gives_the_room_to_the_pane_with_the_keyboard(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(TO_LAYERS)
        tree, pane = session.layers.table, session.layers.details
        await session.press("z")
        await session.until(lambda: not pane.display and session.app.focused is tree)
        await session.press("z", "tab", "z")
        await session.until(lambda: not tree.display and session.app.focused is pane)
        await session.press(TO_LAYERS)
        await session.until(lambda: tree.display and session.app.focused is tree)
        await session.press("z", "enter")
        await session.until(lambda: pane.display and session.app.focused is pane)


async def test_details_tell_where_a_long_name_goes_on(tmp_path):
    name = "/module/" + "x" * 3000 + "/Conv"
    async with running(named_engine(tmp_path, ["/module/a/Conv", name])) as session:
        await session.press(TO_LAYERS)
        lines = session.layers.details.wrapped(78)
        assert max(line.cell_length for line in lines) <= 78
        assert "rank 1/2" in "\n".join(line.plain for line in lines[:8])
        assert name in "".join(line.plain.strip() for line in lines)


# What is missing, and sizes


async def test_without_a_profile_it_says_so(tmp_path):
    async with running(small_engine(tmp_path, profiled=False), tab="layers") as session:
        assert session.screen.pane is session.layers
        assert "no profile" in session.text.splitlines()[0]
        assert "latency unknown: no profile in this set" in session.details
        await session.press(TO_LATENCY)
        assert session.shown == ALL
        assert "No layer times (needs --exportProfile)." in session.text


async def test_without_layers_no_filter_is_blamed(tmp_path):
    (tmp_path / "a.profile.log").write_text(
        "[I] === Performance summary ===\n[I] Throughput: 10 qps\n"
        "[I] Latency: min = 1 ms, max = 3 ms, mean = 2 ms, median = 2 ms, percentile(99%) = 3 ms\n"
    )
    async with running(tmp_path, tab="layers") as session:
        for tab in ("2", TO_LATENCY):
            await session.press(tab)
            assert "No layers (needs --exportLayerInfo or --exportProfile)." in session.text
            assert "filter." not in session.text


async def test_notes(tmp_path):
    async with running(small_engine(tmp_path), (160, 45)) as session:
        assert "! 1 note" in session.text.splitlines()[0]
        await session.press("exclamation_mark")
        assert isinstance(session.app.screen, NotesScreen)
        assert "tiny.profile.json" in session.text
        await session.press("q")
        assert session.screen.pane is session.latency


async def test_too_small_a_terminal_says_so_and_the_keyboard_stays_where_it_was(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(TO_LAYERS, "tab")
        for size in [(59, 24), (80, 15), (30, 8), (1, 1)]:
            await session.pilot.resize_terminal(*size)
            await session.pilot.pause()
            assert "Latency" not in session.text, size
            assert size == (1, 1) or f"This terminal has {size[0]}×{size[1]} cells" in " ".join(
                session.text.split()
            )
        for size in [(60, 16), (200, 60)]:
            await session.pilot.resize_terminal(*size)
            await session.pilot.pause()
            assert f"{TO_LATENCY} Lat" in session.text
            assert "This terminal" not in session.text
        assert session.app.focused is session.layers.details


async def test_details_stand_beside_the_tree_where_there_is_room(tmp_path):
    async with running(small_engine(tmp_path), (120, 30)) as session:
        await session.press(TO_LAYERS)
        tree, pane = session.layers.table, session.layers.details
        assert tree.region.y == pane.region.y
        await session.pilot.resize_terminal(119, 30)
        await session.until(lambda: pane.region.y == tree.region.bottom)


async def test_twenty_thousand_layers(tmp_path):
    count = 20_000
    layers = [
        {"Name": f"/block{n // 100}/conv{n}/Conv", "LayerType": CONV, "Inputs": [], "Outputs": []}
        for n in range(count)
    ]
    times = {layer["Name"]: 0.001 + n % 977 / 1000 for n, layer in enumerate(layers)}
    async with running(write_set(tmp_path, "large", layers, times)) as session:
        table = session.latency.table
        assert table.shown_count == count
        await session.press("G")
        assert table.cursor_row == count - 1
        await session.press("slash", *"/conv1999", "enter")
        assert sorted(session.shown) == [1999, *range(19990, 20000)]
        await session.press(TO_LAYERS)
        assert len(session.layers.table.shown_rows) == 12
        await session.press("escape", "C")
        assert len(session.tree_names) == 200
        await session.press("E")
        assert len(session.tree_names) == count + 200


# Jumps and the way back


async def until_pane(session: Session, tab: str) -> None:
    await session.until(lambda: session.screen.pane.id == tab, tab)


@pytest.mark.parametrize("back", ["minus", "escape"])
async def test_a_jump_is_undone_with_cursor_and_scroll_position(tmp_path, back):
    async with running(named_engine(tmp_path, [f"layer{number}" for number in range(90)])) as session:
        table = session.latency.table
        await session.press("G", "k", "k")
        where = table.cursor_row, table.scroll_offset.y
        assert where[1] > 0
        await session.press("enter", "G", "g", TO_LATENCY)
        await session.until(lambda: session.current == 0)
        assert table.cursor_row == 89
        await session.press(TO_LAYERS, back)
        await until_pane(session, "latency")
        assert (table.cursor_row, table.scroll_offset.y) == where
        assert session.current == 2


async def test_the_header_names_the_way_that_jumps_took(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        header = session.text.splitlines()[0]
        assert "›" not in header
        await session.press("enter")
        await until_pane(session, "layers")
        assert "Latency › Layers: 6" in session.text.splitlines()[0]
        await session.press("left_square_bracket")
        assert "Latency › Layers: 6 › 5" in session.text.splitlines()[0]
        await session.press("minus", "minus")
        await until_pane(session, "latency")
        assert session.text.splitlines()[0] == header


async def test_a_filter_that_a_jump_brought_goes_with_it(tmp_path):
    async with running(small_engine(tmp_path), tab="layers") as session:
        screen = session.screen
        await session.press("slash", *"layer1 or head", "enter")
        current = session.current
        screen.post_message(LayersFiltered("kind:convolution"))
        await until_pane(session, "latency")
        await session.pilot.pause()
        assert screen.filter_text == "(layer1 or head) kind:convolution"
        assert sorted(session.shown) == [3, 4, 5, 6]
        assert "Layers › Latency: kind convolution" in session.text.splitlines()[0]
        await session.press("escape")
        await until_pane(session, "layers")
        assert (screen.filter_text, session.current) == ("layer1 or head", current)
        await session.press("escape")
        assert screen.filter_text == ""
        await session.press("plus")
        await until_pane(session, "latency")
        assert sorted(session.shown) == [3, 4, 5, 6]


async def test_a_filter_typed_after_a_jump_is_cleared_first(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("enter", "slash", *"head", "enter", "escape")
        assert (session.screen.filter_text, session.screen.pane.id) == ("", "layers")
        await session.press("escape")
        await until_pane(session, "latency")


async def test_looking_at_screens_never_moves_the_current_layer(tmp_path):
    async with running(quantized_engine(tmp_path)) as session:
        for layer in some(session.screen.engine.layers[::-1], 2):
            session.screen.stand_on(layer)
            for tab, digit in DIGITS.items():
                await session.press(digit)
                assert session.current == layer.index, tab


async def test_a_finding_is_shown_on_lint_and_left_again(tmp_path):
    async with running(quantized_engine(tmp_path)) as session:
        judged = session.screen.lint.findings[-1]
        await session.press("j")
        current = session.current
        session.screen.post_message(FindingOpened(judged))
        await until_pane(session, "lint")
        await session.pilot.pause()
        assert session.screen.pane.table.cursor_item.judged == judged
        assert f"Latency › Lint: {judged.rule.id}" in session.text.splitlines()[0]
        await session.press("minus")
        await until_pane(session, "latency")
        assert session.current == current


def view(session: Session) -> tuple[object, ...]:
    """What a way back brings back."""
    pane = session.screen.pane
    table = pane.table
    return (
        pane.id,
        session.screen.filter_text,
        session.current,
        table.cursor_row,
        table.scroll_offset.y,
        session.app.focused,
    )


JUMPS = [
    ("overview", ("G", "enter")),
    ("latency", ("G", "k", "enter")),
    ("memory", ("G", "enter")),
    ("lint", ("g", "enter")),
    ("layers", ("j", "left_square_bracket")),
    ("layers", ("j", "tab", "l", "enter")),
    ("latency", ("G", "colon", "enter")),
    ("memory", ("j", "j", "right_square_bracket")),
]


@pytest.mark.parametrize("back", ["minus", "escape"])
async def test_every_jump_is_undone(tmp_path, back):
    names = [f"/block{n // 9}/conv{n}" for n in range(70)]
    layers = [raw_layer(n, name, CONV, [1, 8]) for n, name in enumerate(names)]
    path = write_set(tmp_path, "chain", layers, {name: 1.0 + n for n, name in enumerate(names)})
    async with running(path) as session:
        if back == "minus":  # Esc clears the filter first
            await session.press("slash", *"block", "enter")
        for tab, keys in JUMPS:
            what = f"{tab} {' '.join(keys)} {back}"
            await session.press(DIGITS[tab])
            first, last = (keys[:-2], keys[-2:]) if "colon" in keys else (keys[:-1], keys[-1:])
            await session.press(*first)
            before_jump = view(session)
            if "colon" in keys:
                await session.press("colon", "2")
                await session.until(lambda: "layer 2" in session.text, what)
            await session.press("enter" if "colon" in keys else last[0])
            await session.until(lambda before=before_jump: view(session) != before, f"the jump: {what}")
            await session.pilot.pause()
            await session.press(back)
            await session.until(lambda before=before_jump: view(session) == before, f"{before_jump}: {what}")
            await session.pilot.pause()
            assert view(session) == before_jump, what
            assert "›" not in session.text.splitlines()[0], what
