"""The table of actions: no key means two things at once, and help, palette and footer are made from it."""

from __future__ import annotations

from collections import Counter

import pytest
from rich.cells import cell_len
from textual.binding import Binding
from tui import running

from helpers import DIGITS, TO_LATENCY, TO_LAYERS, TO_MEMORY, TO_OVERVIEW, some
from small_engines import several_engines, small_engine, write_set
from trex_tui.old.analysis.modules import Grouping
from trex_tui.old.app import TrexApp
from trex_tui.old.screens.build import BuildPane
from trex_tui.old.screens.build_history import BuildHistoryScreen
from trex_tui.old.screens.charts import ChartsPane, ChartView
from trex_tui.old.screens.compare import ComparePane
from trex_tui.old.screens.compare_bars import ComparisonBars
from trex_tui.old.screens.dialogs import ChoiceList, Dialog
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.fleet_charts import FleetChartsScreen
from trex_tui.old.screens.latency import LatencyPane
from trex_tui.old.screens.layers import LayersPane
from trex_tui.old.screens.lint import LintPane
from trex_tui.old.screens.loading import LoadingScreen
from trex_tui.old.screens.memory import MemoryPane
from trex_tui.old.screens.overview import OverviewPane
from trex_tui.old.screens.text_screens import HelpScreen, help_lines
from trex_tui.old.widgets.actions import ACTIONS, Action, Place, actions_in, key_label, keys_table
from trex_tui.old.widgets.block_table import BlockTable
from trex_tui.old.widgets.chrome import KeyFooter
from trex_tui.old.widgets.lane_table import LaneTable
from trex_tui.old.widgets.layer_tree import LayerTree
from trex_tui.old.widgets.neighbourhood import NeighbourhoodView
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.text_columns import TextColumns
from trex_tui.old.widgets.text_view import LinkedText, TextScroll, TextView

# Whose keys work at the same time. Over a window only those of the window do, and those with priority.
TOGETHER = {
    "overview": [Place.OVERVIEW, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "facts of the overview": [Place.OVERVIEW, Place.FACTS, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "layers": [Place.LAYERS, Place.TREE, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "details": [Place.LAYERS, Place.DETAILS, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "neighbourhood": [Place.LAYERS, Place.NEIGHBOURHOOD, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "latency": [Place.LATENCY, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "charts": [Place.CHARTS, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    # The chart takes its keys from the tab while it has the focus.
    "marks of a chart": [Place.CHART, Place.ENGINE, Place.EVERYWHERE],
    "memory": [Place.MEMORY, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "lint": [Place.LINT, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "what a finding means": [Place.LINT, Place.DETAILS, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "build": [Place.BUILD, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "compare": [Place.COMPARE, Place.BLOCKS, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "lanes of a comparison": [Place.COMPARE, Place.LANES, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "words of a comparison": [Place.COMPARE, Place.DETAILS, Place.MOVE, Place.ENGINE, Place.EVERYWHERE],
    "bars of a comparison": [Place.BARS, Place.DIALOG],
    "list of engines": [Place.ENGINES, Place.MOVE, Place.EVERYWHERE],
    "charts of engines": [Place.FLEET_CHARTS, Place.CHART, Place.EVERYWHERE],
    "history of builds": [Place.BUILDS, Place.MOVE, Place.EVERYWHERE],
    "while reading": [Place.LOADING, Place.EVERYWHERE],
    "window": [Place.DIALOG, Place.MOVE],
}
OWNERS = {
    Place.EVERYWHERE: TrexApp,
    Place.ENGINE: EngineScreen,
    Place.OVERVIEW: OverviewPane,
    Place.FACTS: TextColumns,
    Place.LAYERS: LayersPane,
    Place.TREE: LayerTree,
    Place.DETAILS: LinkedText,
    Place.NEIGHBOURHOOD: NeighbourhoodView,
    Place.LATENCY: LatencyPane,
    Place.CHARTS: ChartsPane,
    Place.CHART: ChartView,
    Place.MEMORY: MemoryPane,
    Place.LINT: LintPane,
    Place.BUILD: BuildPane,
    Place.COMPARE: ComparePane,
    Place.BLOCKS: BlockTable,
    Place.LANES: LaneTable,
    Place.BARS: ComparisonBars,
    Place.ENGINES: EnginesScreen,
    Place.FLEET_CHARTS: FleetChartsScreen,
    Place.BUILDS: BuildHistoryScreen,
    Place.LOADING: LoadingScreen,
    Place.MOVE: VirtualTable,
    Place.DIALOG: Dialog,
}


def keys_of(action: Action) -> list[str]:
    return action.keys.split(",")


def test_ids_are_unique():
    assert [key for key, count in Counter(action.id for action in ACTIONS).items() if count > 1] == []


def test_every_place_belongs_to_a_screen():
    assert set(Place) == {place for places in TOGETHER.values() for place in places}


@pytest.mark.parametrize("where", TOGETHER)
def test_no_key_means_two_things(where):
    taken: dict[str, Action] = {}
    for action in actions_in(*TOGETHER[where]):
        for key in keys_of(action):
            other = taken.setdefault(key, action)
            assert other is action or action.id == other.overrides or other.id == action.overrides, key


def test_keys_with_priority_work_over_windows_and_mean_nothing_else_there():
    urgent = {key for action in ACTIONS if action.priority for key in keys_of(action)}
    assert not urgent & {key for action in actions_in(*TOGETHER["window"]) for key in keys_of(action)}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_can_be_done_and_is_explained(action):
    where, _, rest = action.action.partition(".")
    owner = {"app": TrexApp, "screen": EngineScreen}.get(where, OWNERS[action.place])
    name = (rest if where in ("app", "screen") else action.action).split("(")[0]
    if action.place is Place.LATENCY and action.bound_by_widget:
        owner = VirtualTable
    assert callable(getattr(owner, f"action_{name}"))
    assert action.title
    assert action.help.endswith(".")


def test_tables_bind_what_the_table_of_actions_says_of_them():
    bound = {binding.id: binding for binding in VirtualTable.BINDINGS if isinstance(binding, Binding)}
    listed = {action.id: action for action in ACTIONS if action.bound_by_widget}
    assert set(bound) == set(listed)
    for name, action in listed.items():
        assert set(bound[name].key.split(",")) == set(keys_of(action))
        assert bound[name].action == action.action


@pytest.mark.parametrize("widget", [TextScroll, TextView, ChoiceList])
def test_texts_and_choices_move_by_the_same_keys(widget):
    moves = {key for action in actions_in(Place.MOVE) for key in keys_of(action)}
    assert {key for binding in widget.BINDINGS for key in binding.key.split(",")} <= moves


def test_labels_are_what_people_write():
    assert key_label("ctrl+p,colon") == "Ctrl-p :"
    assert key_label("j,down") == "j ↓"
    assert key_label("shift+tab,question_mark,f1,G") == "Shift-Tab ? F1 G"


def test_table_of_keys_has_every_action():
    assert [row[2] for row in keys_table()] == [
        action.help for place in Place for action in ACTIONS if action.place is place
    ]


def test_help_shows_keys_and_sentence_of_every_action():
    shown = "\n".join(line.content.plain for line in help_lines(Place))
    for action in ACTIONS:
        assert any(key_label(action.keys) in line and action.help in line for line in shown.splitlines())


async def check_bindings(session, places, *, without=()):
    """What a key would do now is what the table of actions says."""
    active = session.app.screen.active_bindings
    for action in actions_in(*places):
        if action.id in (*without, "engine.run"):  # which needs several runs
            continue
        if "divider" in action.id and not session.screen.pane.has_divider:
            continue
        for key in keys_of(action):
            assert active[key].binding.action == action.action, (action.id, key)


async def test_keys_do_what_the_table_says_on_each_screen(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        absent = ("engine.clear", "engine.back")
        await check_bindings(session, TOGETHER["latency"], without=absent)
        assert session.app.screen.active_bindings["q"].binding.action == "close"
        await session.press(TO_LAYERS)
        await check_bindings(
            session, TOGETHER["layers"], without=(*absent, "layers.deeper", "layers.shallower")
        )
        await session.press("v")
        await check_bindings(session, TOGETHER["layers"], without=absent)
        await session.press("v")
        for tab in ("overview", "memory"):
            await session.press(DIGITS[tab])
            # The engine of this test has no options that could fold away.
            await check_bindings(session, TOGETHER[tab], without=(*absent, "overview.all"))
        await session.press(TO_LAYERS, "v", "v", "tab")
        assert session.app.focused is session.layers.details
        without = (*absent, "layers.deeper", "layers.shallower")
        await check_bindings(session, [Place.LAYERS, Place.ENGINE, Place.EVERYWHERE], without=without)
        await session.press("question_mark")
        await check_bindings(session, [Place.DIALOG])


async def test_keys_do_what_the_table_says_in_the_list_and_back(tmp_path):
    async with running(several_engines(tmp_path)) as session:
        await check_bindings(session, TOGETHER["list of engines"], without=("engines.clear",))
        await session.press("j", "enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.press(TO_LATENCY, "slash", "c", "enter")
        await check_bindings(session, TOGETHER["latency"], without=("app.close",))
        assert "q engines" in session.footer
        assert "esc undo" in session.footer


async def test_help_is_about_the_screen_it_was_asked_on(tmp_path):
    async with running(small_engine(tmp_path), (160, 60)) as session:
        for tab, heading, other in (
            (TO_LATENCY, "Latency", "Tree of layers"),
            (TO_LAYERS, "Tree of layers", "Latency"),
            (TO_OVERVIEW, "Overview", "Memory"),
            (TO_MEMORY, "Memory", "Overview"),
        ):
            await session.press(tab, "question_mark")
            await session.until(lambda: isinstance(session.app.screen, HelpScreen))
            assert f"│ {heading}  " in session.text
            assert f"│ {other}  " not in session.text
            await session.press("escape")


async def test_palette_lists_every_action_and_finds_layers(tmp_path):
    async with running(small_engine(tmp_path), (120, 200)) as session:
        for tab in ("overview", "memory", "layers", "latency"):
            places = TOGETHER[tab]
            await session.press(DIGITS[tab], "ctrl+p")
            await session.until(lambda: "Command, layer name" in session.text and "Quit." in session.text)
            for action in actions_in(*places):
                if not action.bound_by_widget and action.id != "app.palette":
                    assert f"{action.title}  {key_label(action.keys)}" in session.text, action.id
                    assert action.help in session.text
            assert "/head/fc/Gemm" in session.text
            await session.press("escape")
        await session.press("ctrl+p", *"pool stem")
        await session.until(lambda: "layer 2: pooling" in session.text)
        assert "layer 1:" not in session.text
        await session.press("enter")
        await session.until(lambda: session.app.screen.id != "_commands" and session.current == 2)
        assert session.screen.pane is session.layers
        assert session.layers.cursor_layer is session.screen.engine.layers[2]


def sorted_by(pane):
    return pane.table.sort_keys[0].column


@pytest.mark.parametrize(
    ("query", "title", "tab", "is_shown"),
    [
        ("sort by weights", "Latency: sort by Weights", "latency", lambda pane: sorted_by(pane) == "weights_bytes"),
        ("sort by gemm_k", "Latency: sort by", "latency", lambda pane: sorted_by(pane) == "gemm_k"),
        ("group by bound", "Layers: group by bound", "layers", lambda pane: pane.table.grouping is Grouping.BOUND),
        ("chart: pareto", "Charts: Pareto", "charts", lambda pane: pane.chart.id == "pareto"),
    ],
)  # fmt: skip
async def test_palette_sorts_groups_and_draws_from_any_tab(tmp_path, query, title, tab, is_shown):
    async with running(small_engine(tmp_path), tab="overview") as session:
        await session.press("ctrl+p", *query)
        await session.until(lambda: title in session.text)
        await session.press("enter")
        await session.until(lambda: session.app.screen.id != "_commands" and session.screen.pane.id == tab)
        await session.until(lambda: is_shown(session.screen.pane), query)
        await session.press("minus")
        assert session.screen.pane.id == "overview"


async def test_palette_runs_an_action_of_the_tree_while_the_details_have_the_keyboard(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press(TO_LAYERS, "tab", "ctrl+p", *"collapse all")
        await session.until(lambda: "Tree of layers: collapse all" in session.text)
        await session.press("enter")
        await session.until(lambda: session.tree_names == ["▸ stem", "▸ layer1", "▸ head"])


async def test_footer_has_room_for_all_its_keys_in_the_narrowest_terminal(tmp_path):
    layers = [{"Name": "conv", "LayerType": "CaskConvolution", "Inputs": [], "Outputs": []}]
    write_set(tmp_path / "a", "a", layers, {"conv": 1.0})
    write_set(tmp_path / "b", "b", layers, {"conv": 1.0})
    async with running(tmp_path, (60, 16)) as session:
        assert session.footer == "space mark  = compare  / filter  s sort  ? help  q quit  …"
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.press(TO_LATENCY, "slash", "c", "enter")
        await session.until(lambda: "esc undo" in session.footer)
        assert session.footer == "s sort  S reverse  / filter  esc undo  q engines  ? help  …"
        await session.press(TO_LAYERS)
        await session.until(lambda: "t group" in session.footer)
        assert session.footer == "t group  s sort  / filter  esc undo  q engines  ? help  …"


async def test_footer_stays_within_the_width_and_says_where_keys_have_left_it(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        for width in some([60, 80, 160, 100, 120], 3):
            await session.pilot.resize_terminal(width, 24)
            for tab, digit in DIGITS.items():
                await session.press(digit)
                await session.until(lambda: session.screen.pane.id == tab)  # noqa: B023
                footer = session.screen.query_one(KeyFooter)
                active = session.screen.active_bindings.values()
                is_cut = len(footer.shown) < len({key.binding.action for key in active if key.binding.show})
                keys = [f"{key.label} {key.words}" for key in footer.shown]
                assert session.footer == "  ".join([*keys, *(["…"] if is_cut else [])]), "none is cut"
                assert cell_len(session.footer) <= width
                assert "? help" in session.footer
                assert "q quit" in session.footer


async def test_the_sign_for_more_keys_opens_the_help(tmp_path):
    async with running(small_engine(tmp_path), (60, 16)) as session:
        await session.until(lambda: session.footer.endswith("…"))
        await session.pilot.click(KeyFooter, offset=(len(session.footer) - 1, 0))
        await session.until(lambda: isinstance(session.app.screen, HelpScreen))


async def test_palette_finds_a_layer_before_actions_with_the_same_letters(tmp_path):
    async with running(small_engine(tmp_path), tab="layers") as session:
        await session.press("ctrl+p", *"pool stem")
        await session.until(lambda: "layer 2: pooling" in session.text)
        await session.press("enter")
        await session.until(lambda: session.current == 2)
