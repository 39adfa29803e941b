"""The search in lists: it starts with `f`, `n` and `N` repeat it, and all rows stay."""

from __future__ import annotations

from comparing import comparing, two_engines
from tui import Session, running

from build_cases import BUILD, write_log
from helpers import DIGITS, TO_LATENCY, TO_LAYERS
from small_engines import BY_TIME, CONV, NET, SLOWEST, named_engine, quantized_engine, small_engine, write_set
from trex_tui.old.screens.build import BuildPane
from trex_tui.old.widgets.build_tables import View


def remark(session: Session) -> str:
    """The line about the engine and that of the tabs: one of them has the filter and the search."""
    return "\n".join(session.text.splitlines()[:2])


async def search(session: Session, text: str) -> None:
    await session.press("f", *text, "enter")


async def test_a_search_goes_from_match_to_match_and_hides_nothing(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await search(session, "LAYER1")
        assert session.shown == BY_TIME
        assert session.current == 4
        assert "search LAYER1  1 of 3" in remark(session)
        for key, layer, number in [("n", 3, 2), ("n", 5, 3), ("n", 4, 1), ("N", 5, 3), ("N", 3, 2)]:
            await session.press(key)
            assert session.current == layer
            assert f"search LAYER1  {number} of 3" in remark(session)
        await session.press("escape")
        assert "search" not in remark(session)
        assert session.current == 3
        await session.press("n")
        assert session.current == 5


async def test_the_list_follows_while_a_person_types_and_goes_back_with_escape(tmp_path):
    async with running(named_engine(tmp_path, [f"layer{number}" for number in range(90)])) as session:
        table = session.latency.table
        await session.press("G", "k")
        place = table.cursor_row, table.scroll_offset.y
        await session.press("f", *"layer8")
        assert session.screen.current_layer.name == "layer89", "behind the last row comes the first"
        assert " 1 of 11\n" in session.text
        await session.press("2")
        assert session.screen.current_layer.name == "layer82"
        assert " 1 of 1\n" in session.text
        await session.press("escape")
        assert (table.cursor_row, table.scroll_offset.y) == place
        assert session.app.focused is table
        assert "search" not in remark(session)


async def test_no_match_and_no_search_are_told(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("n")
        await session.press("f", *"zzz")
        assert "no match" in session.text
        assert session.current == SLOWEST
        await session.press("enter")
        notes = [note.message for note in session.app._notifications]
        assert notes == ["No search yet (f searches).", "No match: zzz"]
        assert session.app.focused is session.latency.table
        assert session.current == SLOWEST


async def test_keys_typed_ahead_are_text_and_then_keys(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        session.type_ahead("f", *"conv", "enter", "n")
        await session.until(lambda: "search conv  2 of" in remark(session))
        assert session.current == BY_TIME[1]


async def test_the_tree_finds_layers_in_collapsed_groups(tmp_path):
    async with running(small_engine(tmp_path), tab="layers") as session:
        await session.press("C", "g")
        await search(session, "conv1")
        assert session.current == 3
        assert session.layers.cursor_layer is session.screen.engine.layers[3]
        await session.press("n")
        assert session.current == 5
        assert "2 of 2" in remark(session)
        await session.press("h", "h", "h", "N")
        assert session.current in (3, 5)
        assert len(session.layers.table._layers_in_order()) == len(NET)


async def test_a_search_keeps_to_what_the_filter_leaves(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("slash", *"layer1", "enter")
        await search(session, "conv")
        assert "/layer1  3 of 9 layers · search conv  1 of 3" in remark(session)
        await session.press("escape")
        assert "/layer1  3 of 9 layers" in remark(session)
        await session.press("escape")
        assert session.shown == BY_TIME


async def test_the_same_search_goes_on_in_other_lists(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await search(session, "pool")
        for tab in ("memory", "layers", "overview", "latency"):
            session.screen.stand_on(session.screen.engine.layers[0])
            await session.press(DIGITS[tab])
            assert "search" not in remark(session)
            await session.press("n")
            assert session.current == 2, tab
            assert "search pool  1 of 1" in remark(session), tab


async def test_findings(tmp_path):
    async with running(quantized_engine(tmp_path), tab="lint") as session:
        pane = session.screen.pane
        rules = [entry.rule for entry in pane.table.shown_rows]
        await search(session, "qdq")
        found = [row for row, rule in enumerate(rules) if rule.startswith("QDQ")]
        assert len(found) > 1
        assert pane.table.cursor_row == found[0]
        await session.press("n")
        assert pane.table.cursor_row == found[1]
        await session.press("N", "escape")
        assert pane.table.cursor_row == found[0]
        assert pane.check_action("step_layer", (1,)), "the keys are those of the findings again"


async def test_builds(tmp_path):
    small_engine(tmp_path)
    async with running(write_log(tmp_path, BUILD), tab="build") as session:
        pane = session.screen.query_one(BuildPane)
        await session.until(lambda: pane.facts is not None, "the log")
        while pane.view is not View.LAYERS:
            await session.press("t")
        await session.press("g")
        await search(session, "stem")
        assert "stem" in pane.table.search_text(pane.table.cursor_item)
        assert "1 of " in remark(session)


async def test_comparisons(tmp_path):
    async with comparing(two_engines(tmp_path)) as (session, pane):
        await session.press("g")
        await search(session, "pool")
        assert "pool" in pane.table.search_text(pane.table.cursor_item)
        assert "1 of " in remark(session)


async def test_a_chart_is_no_list(tmp_path):
    async with running(small_engine(tmp_path), tab="charts") as session:
        await session.press("f")
        assert [note.message for note in session.app._notifications] == ["No list to search here."]


async def test_twenty_thousand_layers(tmp_path):
    layers = [
        {"Name": f"/block{n // 100}/conv{n}/Conv", "LayerType": CONV, "Inputs": [], "Outputs": []}
        for n in range(20_000)
    ]
    times = {layer["Name"]: 0.001 + n / 1000 for n, layer in enumerate(layers)}
    async with running(write_set(tmp_path, "large", layers, times)) as session:
        for tab in (TO_LATENCY, TO_LAYERS):
            await session.press(tab, "g")
            await search(session, "conv1999")
            assert " 1 of 11" in remark(session), tab
            first = session.current
            await session.press("n")
            assert session.current != first, tab
            assert "2 of 11" in remark(session), tab
            await session.press("escape")
