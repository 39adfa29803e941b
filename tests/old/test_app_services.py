"""Copy, export, explain, marks, columns, order, reading again, opening another: each with its key, on the screen."""

from __future__ import annotations

import csv
import json
import os
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input, OptionList
from tui import SMALL, Session, is_loaded, running, wait_until

from small_engines import BY_TIME, NET, SLOWEST, named_engine, several_engines, small_engine
from trex_tui.old.analysis.modules import Grouping
from trex_tui.old.app import TrexApp
from trex_tui.old.report.export import ExportFormat, default_directory, file_stem, find_target, with_ending
from trex_tui.old.report.path_completion import common_beginning, completions, typed_path
from trex_tui.old.screens.charts import ChartsPane
from trex_tui.old.screens.dialogs import ColumnsScreen, OpenScreen
from trex_tui.old.screens.engine import EngineScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.explanation import ExplainScreen
from trex_tui.old.screens.export import ExportScreen
from trex_tui.old.screens.layer_actions import MOST_BYTES, describe_copy
from trex_tui.old.screens.loading import EngineLoaded, LoadingScreen
from trex_tui.old.screens.services import ReadingCancelled
from trex_tui.old.widgets.actions import TABS
from trex_tui.old.widgets.chrome import SummaryLine
from trex_tui.old.widgets.table_columns import LATENCY_COLUMNS, chosen_columns
from trex_tui.old.widgets.table_model import SortKey

DIGIT = {tab.id: str(number) for number, tab in enumerate(TABS, start=1)}


@asynccontextmanager
async def table(path: Path, size: tuple[int, int] = (80, 24)):
    """The app on the table of layers."""
    async with running(path, size) as session:
        if isinstance(session.app.screen, EngineScreen):
            await session.press(DIGIT["latency"])
        yield session


@pytest.fixture
def elsewhere(tmp_path, monkeypatch) -> Path:
    """A current directory that has no artifacts."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def net(tmp_path) -> Path:
    return small_engine(tmp_path / "net")


def sum_line(session: Session) -> str:
    return session.latency.query_one(SummaryLine).text


def toasts(session: Session) -> str:
    return "\n".join(one.message for one in session.app._notifications)


async def typed(session: Session, text: str) -> None:
    """Replace what the line of a window says."""
    line = session.app.screen.query_one(Input)
    line.value = text
    line.cursor_position = len(text)
    await session.pilot.pause()


# Marks


async def test_space_marks_goes_on_and_the_sum_follows(net):
    async with table(net) as session:
        await session.press("space", "space")
        assert session.latency.table.marked == {6, 1}
        assert session.latency.table.cursor_row == 2
        assert (
            "9 layers (1 without a time) · 0.9150 ms · 100.00 % of all   2 marked · 0.5000 ms · 54.64 %"
            in sum_line(session)
        )
        assert session.text.count("•") == 2
        assert "esc undo" in session.footer
        await session.press("k", "space")
        assert session.latency.table.marked == {6}
        await session.press("slash", *"pool", "enter", "escape")
        assert session.latency.table.marked == {6}, "Esc clears the filter first"
        await session.press("escape")
        assert session.latency.table.marked == frozenset()
        assert "marked" not in sum_line(session)


# Copy


async def test_copies_the_current_layer_on_every_screen(net):
    async with running(net) as session:
        for tab, digit in DIGIT.items():
            session.app.copy_to_clipboard("")
            session.app.clear_notifications()
            await session.press(digit, "y")
            assert session.app.clipboard == "/head/fc/Gemm", tab
            assert "Copied the name of /head/fc/Gemm." in toasts(session), tab
            await session.press("Y")
            document = json.loads(session.app.clipboard)
            assert document["name"] == "/head/fc/Gemm", tab
            assert document["latency_ms"] == 0.3, tab


async def test_copies_what_is_marked_and_says_what_tmux_needs(net, monkeypatch):
    monkeypatch.setenv("TMUX", "/tmp/tmux-0/default,1,0")
    async with table(net) as session:
        await session.press("space", "space", "y")
        assert session.app.clipboard.split("\n") == [NET[6][0], NET[1][0]]
        assert "Copied the 2 names. For the clipboard in tmux" in toasts(session)
        assert "set -g set-clipboard on" in toasts(session)
        await session.press("Y")
        assert [row["index"] for row in json.loads(session.app.clipboard)] == [6, 1]
        assert "2 layers as JSON" in toasts(session)


async def test_hostile_names_are_copied_as_they_are_and_shown_harmless(tmp_path):
    async with table(named_engine(tmp_path, ["\x1b[31m[red]\x07"])) as session:
        await session.press("y")
        assert session.app.clipboard == "\x1b[31m[red]\x07"
        assert "␛[31m[red]␇" in toasts(session)


def test_words_about_a_copy():
    assert describe_copy("name of x", "x", {}) == "Copied the name of x."
    assert "screen" in describe_copy("x", "x", {"STY": "1.pts"})
    assert "e exports" in describe_copy("x", "x" * (MOST_BYTES + 1), {})
    assert describe_copy("x", "\udc80", {})


# Explain


async def test_explains_the_sorted_and_the_current_column_with_value_and_file(net):
    async with table(net, (120, 40)) as session:
        await session.press("i")
        assert isinstance(session.app.screen, ExplainScreen)
        for words in ("/head/fc/Gemm", "0.3000", "latency_ms", "profile", "tiny.profile.json"):
            assert words in session.text
        await session.press("escape", "right", "right", "right", "i")
        assert "Kind  convolution" in session.text


async def test_explains_all_columns_of_a_layer_in_the_tree(net):
    async with running(net, (120, 40)) as session:
        await session.press(DIGIT["layers"], "i")
        assert isinstance(session.app.screen, ExplainScreen)
        assert "0.3000" in session.text


# Columns and order


DEFAULT_COLUMNS = [name for name in LATENCY_COLUMNS if name not in ("bound", "roof_pct")]
"""The device of the engine is unknown."""


async def test_columns_are_chosen_and_remembered(net):
    async with table(net) as session:
        await session.press("c")
        assert isinstance(session.app.screen, ColumnsScreen)
        await session.press("space", "J", "K", "G", "space", "enter")
        keys = session.latency_columns
        assert keys[0] == "name"
        assert "index" not in keys
        assert len(keys) == len(DEFAULT_COLUMNS)
    async with table(net) as session:
        assert session.latency_columns == keys
        await session.press("c", "d", "enter")
        assert session.latency_columns == DEFAULT_COLUMNS
        assert session.app.settings.columns == ()


async def test_the_chooser_says_which_columns_do_not_fit(net):
    async with table(net) as session:
        visible = [column.key for column in session.latency.table.visible_columns]
        hidden = [key for key in session.latency_columns if key not in visible]
        await session.press("c")
        choices = session.app.screen.query_one(OptionList)
        assert choices.border_title == f"Columns: {len(hidden)} of {len(DEFAULT_COLUMNS)} off screen"

        def marked() -> list[str]:
            texts = [str(option.prompt) for option in choices.options[: len(DEFAULT_COLUMNS)]]
            return [
                key for key, text in zip(DEFAULT_COLUMNS, texts, strict=True) if text.endswith("· off screen")
            ]

        assert marked() == hidden
        await session.press("slash", *"tactic", "enter", "space")
        assert "tactic" not in marked()
        await session.pilot.resize_terminal(300, 30)
        await session.pilot.pause()
        assert marked() == []
        assert choices.border_title == "Columns"


@pytest.mark.parametrize("size", [(60, 24), SMALL, (100, 30)])
async def test_index_and_name_stay_while_further_columns_come_into_view(net, size):
    async with running(net, size) as session:
        table_ = session.latency.table
        for columns in (
            table_.columns,
            chosen_columns(session.app.screen.engine, ["kind", *reversed(DEFAULT_COLUMNS)]),
        ):
            table_.set_columns(columns)
            for _ in table_.columns:
                await session.press("right")
                visible = {column.key for column in table_.visible_columns}
                assert {"index", "name", table_.current_column or "name"} <= visible


async def test_columns_move_and_the_last_one_stays(net):
    async with table(net) as session:
        await session.press("c", "J", "enter")
        assert session.latency_columns[:2] == ["name", "index"]
        await session.press("c", *["space"] * len(DEFAULT_COLUMNS), "escape")
        assert len(session.latency_columns) == len(DEFAULT_COLUMNS), "Esc changes nothing"
        await session.press("c", *["space"] * len(DEFAULT_COLUMNS), "enter")
        assert len(session.latency_columns) == 1


async def test_further_column_decides_ties_and_order_is_remembered(net):
    async with table(net, (160, 45)) as session:
        await session.press("s", "g", "j", "j", "j", "enter", "a", "g", "j", "enter")
        keys = (SortKey("kind", descending=False), SortKey("name", descending=False))
        assert session.latency.table.sort_keys == keys
        assert "▲¹" in session.text
        assert "▲²" in session.text
    async with table(net) as session:
        assert session.latency.table.sort_keys == keys


async def test_sorting_by_a_column_that_is_not_shown_shows_it(net):
    async with table(net) as session:
        await session.press("s", "G", "enter")
        table_ = session.latency.table
        assert table_.sort_keys[0].column == table_.columns[-1].key == table_.current_column
        assert table_.columns[-1] in table_.visible_columns


# Export


async def test_exports_the_table_as_it_is_shown(net, elsewhere):
    texts = {}
    async with table(net) as session:
        await session.press("slash", *"layer1", "enter", "S")
        for place, form in enumerate(("csv", "json", "md")):
            await session.press("e")
            assert isinstance(session.app.screen, ExportScreen)
            assert "Export 3 layers" in session.text
            assert session.app.screen.line.value == "tiny.layers.layer1.csv"
            await session.press(*["down"] * place, "enter")
            file = elsewhere / f"tiny.layers.layer1.{form}"
            await session.until(lambda file=file: f"to {file.name}" in toasts(session))
            assert [path.name for path in elsewhere.iterdir()] == [file.name]
            texts[form] = file.read_text(encoding="utf-8")
            file.unlink()
    rows = list(csv.DictReader(texts["csv"].splitlines()))
    assert [int(row["index"]) for row in rows] == [5, 3, 4]
    assert list(rows[0]) == DEFAULT_COLUMNS
    assert [row["index"] for row in json.loads(texts["json"])["layers"]] == [5, 3, 4]
    assert len(texts["md"].splitlines()) == 5


async def test_exports_what_is_marked(net, elsewhere):
    async with table(net) as session:
        await session.press("space", "e")
        assert "Export 1 marked layer" in session.text
        await session.press("enter")
        await session.until(lambda: "Exported 1 layer, 16 columns to tiny.layers.csv" in toasts(session))
        assert len((elsewhere / "tiny.layers.csv").read_text(encoding="utf-8").splitlines()) == 2


async def test_exports_a_picture_without_the_window_that_asked(net, elsewhere):
    async with table(net) as session:
        await session.press("e", "up", "enter")
        await session.until(lambda: "Exported the screen" in toasts(session))
        picture = (elsewhere / "tiny.layers.svg").read_text(encoding="utf-8")
        assert picture.startswith("<svg")
        assert "MaxPool" in picture
        assert "Export" not in picture.replace("Exported", "")


async def test_a_chart_is_exported_with_its_numbers(net, elsewhere):
    texts = {}
    async with running(net, tab="charts") as session:
        pane = session.screen.query_one(ChartsPane)
        while pane.chart.id != "bar":
            await session.press("n")
        await session.until(lambda: pane.is_up_to_date, "the chart")
        for place, form in enumerate(("svg", "csv", "json", "md", "txt")):
            await session.press("e")
            assert "the chart Top layers" in session.text
            assert "the engine's layers: 9 layers" in session.text
            await session.press("enter", *["down"] * place, "enter")
            file = elsewhere / f"tiny.bar.{form}"
            await session.until(
                lambda file=file: f"Exported chart Top layers to {file.name}" in toasts(session)
            )
            texts[form] = file.read_text(encoding="utf-8")
        assert texts["txt"].split() == pane.view.plain.split()
    assert texts["svg"].startswith("<svg")
    assert "Top layers · tiny" in texts["svg"]
    rows = list(csv.DictReader(texts["csv"].splitlines()))
    assert [int(row["layer"]) for row in rows] == BY_TIME[:-1]
    assert float(rows[0]["value"]) == NET[SLOWEST][3]
    document = json.loads(texts["json"])
    assert document["schema"] == "trex-tui/chart-data/1"
    assert document["bar"][0] == {"name": NET[SLOWEST][0], "layer": SLOWEST, "value": NET[SLOWEST][3]}
    assert len(texts["md"].splitlines()) == 10


async def test_export_of_another_screen_has_all_columns(net, elsewhere):
    async with running(net) as session:
        await session.press(DIGIT["layers"], "e", "enter")
        await session.until(lambda: "Exported 9 layers" in toasts(session))
        header = (elsewhere / "tiny.layers.csv").read_text(encoding="utf-8").splitlines()[0]
        assert "roof_pct" in header


async def test_export_asks_before_it_overwrites(net, elsewhere):
    file = elsewhere / "tiny.layers.csv"
    file.write_text("mine", encoding="utf-8")
    async with table(net) as session:
        await session.press("e", "enter")
        assert "tiny.layers.csv exists" in session.text
        await session.press("enter")
        assert isinstance(session.app.screen, ExportScreen), "the question starts on no"
        assert file.read_text(encoding="utf-8") == "mine"
        await session.press("enter", "j", "enter")
        await session.until(lambda: "Exported" in toasts(session))
        assert file.read_text(encoding="utf-8").startswith("index,")


async def test_export_to_where_nothing_may_be_is_told_in_the_window(net, elsewhere):
    before = (net / "tiny.graph.json").read_bytes()
    refused = {
        "absent/x.csv": "does not exist",
        "": "type a path",
        "../net/tiny.graph.json/x": "directory ../net",
        "../net/tiny.graph.json": "tiny.graph.json is ",
        "../net/link.csv": "link.csv is ",
        "../net/hard.csv": "hard.csv is ",
    }
    async with table(net) as session:
        (net / "link.csv").symlink_to("tiny.graph.json")
        os.link(net / "tiny.graph.json", net / "hard.csv")
        await session.press("e")
        for path, words in refused.items():
            await typed(session, path)
            await session.press("enter")
            assert words in session.text
            assert isinstance(session.app.screen, ExportScreen)
        await session.press("escape")
    assert list(elsewhere.iterdir()) == []
    assert (net / "tiny.graph.json").read_bytes() == before


@pytest.mark.usefixtures("elsewhere")
async def test_export_that_cannot_be_written_asks_again(net, monkeypatch):
    def fail(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("trex_tui.old.artifacts.output_files.write_atomically", fail)
    async with table(net) as session:
        await session.press("e", "enter")
        await session.until(lambda: "Permission denied" in session.text)
        assert isinstance(session.app.screen, ExportScreen)
        assert session.app.screen.line.value == "tiny.layers.csv"


async def test_export_follows_a_typed_ending(net, elsewhere):
    async with table(net) as session:
        await session.press("e")
        await typed(session, "mine.JSON")
        await session.press("enter")
        await session.until(lambda: "Exported" in toasts(session))
        assert json.loads((elsewhere / "mine.JSON").read_text(encoding="utf-8"))["engine"] == "tiny"


def test_export_never_starts_beside_the_artifacts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert default_directory([tmp_path / "net"]) == Path()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    assert default_directory([tmp_path]) == tmp_path / "home"
    assert default_directory([tmp_path, tmp_path / "home"]).is_dir()


def test_names_of_exports(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_stem("fast/tiny engine\x1b[31m") == "fast_tiny_engine_31m"
    assert file_stem("../..") == "engine"
    assert with_ending("a.b.csv", ExportFormat.SVG) == "a.b.svg"
    assert with_ending("a.b", ExportFormat.SVG) == "a.b"
    assert find_target("~/x.csv", "y") == tmp_path / "x.csv"
    assert find_target(str(tmp_path), "y.csv") == tmp_path / "y.csv"


async def test_list_of_engines_is_exported_as_a_picture(tmp_path, elsewhere):
    async with table(several_engines(tmp_path / "nets")) as session:
        await session.press("e")
        assert "Export 3 engines" in session.text
        await session.press("down", "down", "down", "enter")
        await session.until(lambda: "Exported the screen" in toasts(session))
        assert (elsewhere / "engines.svg").is_file()


# Reading again


async def test_reads_again_and_keeps_tab_filter_order_marks_and_layer(net):
    async with table(net) as session:
        await session.press("S", "slash", *"conv", "enter", "j", "space")
        before, marked = session.latency.cursor_layer, session.latency.marked_layers[0].name
        graph = json.loads((net / "tiny.graph.json").read_text(encoding="utf-8"))
        graph["Layers"].insert(0, graph["Layers"][0] | {"Name": "a new layer"})
        (net / "tiny.graph.json").write_text(json.dumps(graph), encoding="utf-8")
        await session.press("R")
        await session.until(lambda: "Read again" in toasts(session))
        assert "9 layers → 10" in toasts(session)
        assert session.screen.pane is session.latency
        assert session.screen.filter_text == "conv"
        assert session.current == before.index + 1
        assert session.screen.current_layer.name == before.name
        assert session.latency.cursor_layer is session.screen.current_layer
        assert session.latency.table.sort_keys == (SortKey("latency_ms", descending=False),)
        assert [layer.name for layer in session.latency.marked_layers] == [marked]
        assert session.app.focused is session.latency.table
        await session.until(lambda: "5 of 10" in session.text)
        await session.press("escape", "g", DIGIT["layers"], DIGIT["overview"], "R")
        await session.until(lambda: "nothing changed" in toasts(session))


async def test_reading_again_that_fails_keeps_what_was_read(net):
    async with table(net) as session:
        engine = session.screen.engine
        (net / "tiny.graph.json").write_text("{", encoding="utf-8")
        (net / "tiny.profile.json").unlink()
        await session.press("R")
        await session.until(lambda: "Reload failed" in toasts(session))
        assert session.screen.engine is engine
        assert session.shown == BY_TIME


async def test_reading_again_from_the_list_changes_the_list_too(tmp_path):
    nets = several_engines(tmp_path)
    async with running(nets) as session:
        await session.press("j", "enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        (nets / "fast" / "tiny.profile.json").unlink()
        await session.press("R")
        await session.until(lambda: "tiny.profile.json went" in toasts(session))
        await session.press("q")
        assert session.listed.table.cursor_item.engine.has_profile is False


async def test_reading_the_list_again_finds_what_came_and_keeps_the_cursor(tmp_path):
    nets = several_engines(tmp_path)
    async with running(nets) as session:
        await session.press("G")
        name = session.listed.current_name
        small_engine(nets / "another")
        before = session.app.screen
        await session.press("R")
        await session.until(lambda: session.app.screen is not before and is_loaded(session.app), "the list")
        assert session.listed.table.total_count == 4
        assert session.listed.current_name == name


async def test_reading_again_keeps_what_is_expanded(net):
    async with running(net, tab="layers") as session:
        await session.press("t", "E", "G", "h", "h", "g", "j")
        tree = session.layers.table
        grouping, names = tree.grouping, session.tree_names
        assert "▸" in "".join(names)
        assert "▾" in "".join(names)
        await session.press("R")
        await session.until(lambda: session.layers.table is not tree and "Read again" in toasts(session))
        await session.until(lambda: session.screen.focused is session.layers.table)
        assert session.layers.table.grouping is grouping
        assert session.tree_names == names


async def test_the_grouping_is_remembered(net):
    async with running(net, tab="layers") as session:
        await session.press("t", "t")
        assert session.layers.table.grouping is Grouping.PRECISION
    async with running(net, tab="layers") as session:
        assert session.layers.table.grouping is Grouping.PRECISION
        session.app.remember(grouping="by colour")
    async with running(net, tab="layers") as session:
        assert session.layers.table.grouping is Grouping.MODULE, "there is no such grouping"


# Opening another


async def test_opens_another_by_a_path_completed_with_tab(net, tmp_path):
    other = named_engine(tmp_path / "other", ["a layer"])
    async with table(net) as session:
        await session.press("o")
        assert isinstance(session.app.screen, OpenScreen)
        assert str(net)[-20:] in session.text, "the open engine is a recent one"
        await typed(session, str(tmp_path / "oth"))
        await session.until(lambda: "other/" in session.text)
        await session.press("tab", "enter")
        await session.until(lambda: session.screen.engine.name == "named" and session.screen.focused)
        assert [type(screen) for screen in session.app.screen_stack] == [LoadingScreen, EngineScreen]
        await session.press("o", "down", "down")
        assert session.app.screen.line.value == str(net)
        await session.press("up")
        assert session.app.screen.line.value == str(other)
        await session.press("down", "enter")
        await session.until(lambda: session.screen.engine.name == "tiny")


async def test_path_that_cannot_be_opened_is_told_and_what_was_open_stays(net, tmp_path):
    async with table(net) as session:
        await session.press("o", "enter")
        assert "type a path" in session.text
        await typed(session, str(tmp_path / "absent"))
        await session.press("enter")
        await session.until(
            lambda: isinstance(session.app.screen, OpenScreen) and "does not exist" in session.text
        )
        await session.press("escape")
        assert session.screen.engine.name == "tiny"
        assert session.shown == BY_TIME


async def test_letters_that_are_keys_elsewhere_are_text_in_a_path(net):
    async with table(net) as session:
        await session.press("o", "q", "e", "j", "question_mark", "colon")
        assert session.app.screen.line.value == "qej?:"


async def test_opens_a_list_and_a_person_goes_on_from_there(net, tmp_path):
    nets = several_engines(tmp_path / "nets")
    async with table(net) as session:
        await session.press("o")
        await typed(session, str(nets))
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EnginesScreen))
        await session.until(lambda: all(row.engine or row.error for row in session.listed.table.shown_rows))
        assert len(session.app.screen_stack) == 2


async def test_reading_is_given_up_with_escape(net, tmp_path, monkeypatch):
    other = named_engine(tmp_path / "other", ["a layer"])
    async with table(net) as session:
        held = []
        keep = TrexApp.post_message

        def hold(app, message):
            if isinstance(message, EngineLoaded):
                held.append(message)
                return True
            return keep(app, message)

        monkeypatch.setattr(TrexApp, "post_message", hold)
        await session.press("o")
        await typed(session, str(other))
        await session.press("enter")
        await session.until(lambda: held and isinstance(session.app.screen, LoadingScreen))
        assert "Esc goes back" in session.text
        await session.press("escape")
        assert session.screen.engine.name == "tiny"
        monkeypatch.undo()
        session.app.post_message(held[0])
        await session.pilot.pause()
        assert session.screen.engine.name == "tiny", "what was given up does not come after all"


async def test_keys_typed_right_after_escape_are_for_the_screen_before(net, tmp_path, monkeypatch):
    other = named_engine(tmp_path / "other", ["a layer"])
    async with table(net) as session:
        monkeypatch.setattr("trex_tui.old.app.read_engines", lambda *_: None)
        await session.press("o")
        await typed(session, str(other))
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, LoadingScreen))
        cancelled = []
        monkeypatch.setattr(LoadingScreen, "action_cancel", lambda screen: cancelled.append(screen))
        session.type_ahead(DIGIT["layers"], "escape", DIGIT["memory"])
        await session.until(lambda: cancelled)
        await session.pilot.pause()  # The key after Escape arrives before its message does.
        cancelled[0].post_message(ReadingCancelled())
        await session.until(lambda: isinstance(session.app.screen, EngineScreen))
        await session.until(lambda: session.screen.pane.id == "memory")


@pytest.mark.parametrize("key", ["q", "escape"])
async def test_giving_up_the_first_reading_quits(net, monkeypatch, key):
    monkeypatch.setattr("trex_tui.old.app.read_engines", lambda *_: None)
    app = TrexApp([str(net)])
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app._wanted is not None)
        session = Session(app, pilot)
        assert "Esc quits" in session.text
        await session.press(key)
    assert app.return_code == 0


def test_completion_of_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "Results" / "alexnet").mkdir(parents=True)
    (tmp_path / "results.json").touch()
    (tmp_path / ".hidden").touch()
    assert completions("res") == ["Results/", "results.json"]
    assert completions("Results/") == ["Results/alexnet/"]
    assert completions("~/Res") == ["~/Results/", "~/results.json"]
    assert completions(".h") == [".hidden"]
    assert completions("absent/x") == []
    assert completions("nul\0/x") == []
    assert common_beginning(["ab/c", "ab/d"], "a") == "ab/"
    assert common_beginning([], "a") == "a"
    assert typed_path(" ~/x ") == str(tmp_path / "x")


async def test_recent_list_that_cannot_be_written_is_told_once(net, tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(blocked))
    async with table(net) as session:
        await session.until(lambda: "Recent paths were" in toasts(session))
        await session.press("o")
        await typed(session, str(net))
        await session.press("enter")
        await session.until(lambda: isinstance(session.app.screen, EngineScreen) and is_loaded(session.app))
        assert toasts(session).count("Recent paths were") == 1
        assert session.current == SLOWEST


async def test_shapes_are_drawn_with_times_signs_and_found_either_way(net):
    async with table(net, (240, 40)) as session:
        assert "1×16×32×32" in session.text
        assert "1x16x32x32" not in session.text
        await session.press("slash", *"out_shape:1×16×32×32", "enter")
        assert session.shown == [1]
        await session.press("slash", *["backspace"] * 30, *"out_shape:1x16x32x32", "enter")
        assert session.shown == [1]
