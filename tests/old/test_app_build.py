"""The build screen: its views and keys, jumps to layers and back, and its text without a log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tui import LARGE, SMALL, Session, check_golden, running

from build_cases import BUILD, GONE, HEAD, QUIET, STEM, write_log
from helpers import ARTIFACTS, DIGITS, TO_LATENCY, TO_LAYERS, some
from small_engines import small_engine
from trex_tui.old.analysis import trtexec_runs as logs
from trex_tui.old.buildlog import reader as shared
from trex_tui.old.screens import jobs as building
from trex_tui.old.screens.build import BuildPane
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.engines import EnginesScreen
from trex_tui.old.screens.explanation import ExplainScreen
from trex_tui.old.widgets.build_tables import View
from trex_tui.old.widgets.table_model import SortKey

TO_BUILD = DIGITS["build"]
SIZES = pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "160x45"])
LOGS = ARTIFACTS / "logs"
REAL = sorted(path.stem for path in LOGS.glob("*.log")) if LOGS.is_dir() else []
H100 = "trt10.16.1_H100_build_verbose_onnx_fp16_dynshape"


def built(folder: Path, text: str = BUILD) -> Path:
    """The small engine with its log."""
    small_engine(folder)
    return write_log(folder, text)


def pane(session: Session) -> BuildPane:
    return session.screen.query_one(BuildPane)


async def read(session: Session) -> BuildPane:
    """Wait until the log has been read, and lint has looked: it marks a tab."""
    await session.until(lambda: pane(session).facts is not None, "the log")
    await session.until(lambda: session.screen.lint is not None, "lint")
    await session.pilot.pause()
    return pane(session)


async def show(session: Session, view: View) -> BuildPane:
    found = await read(session)
    while found.view is not view:
        await session.press("t")
    return found


def words(session: Session) -> str:
    return "\n".join(line.plain.rstrip() for line in pane(session).words.wrapped(200))


def names(found: BuildPane) -> list[str]:
    column = next(column for column in found.table.columns if column.key == "name")
    return [column.cell_text(row) for row in found.table.shown_rows]


@SIZES
async def test_goldens(size):
    async with running(built(Path("net")), size, tab="build") as session:
        await read(session)
        check_golden(session.app, f"build_{size[0]}x{size[1]}")
        await show(session, View.LAYERS)
        check_golden(session.app, f"build_layers_{size[0]}x{size[1]}")
        await session.press("g", "enter")
        check_golden(session.app, f"build_tactics_{size[0]}x{size[1]}")


@pytest.fixture(autouse=True)
def _short_paths(tmp_path, monkeypatch):
    """Paths on screen are relative: a golden must not hold the name of a temporary directory."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.skipif(H100 not in REAL, reason=f"no real log at {LOGS}")
@SIZES
async def test_golden_of_a_real_log(size):
    async with running(LOGS / f"{H100}.log", size, tab="build") as session:
        await show(session, View.STRATEGIES)
        check_golden(session.app, f"build_real_strategies_{size[0]}x{size[1]}")
        await session.press("T", "g", "j", "j", "enter")
        assert pane(session).view is View.LAYERS
        check_golden(session.app, f"build_real_layers_{size[0]}x{size[1]}")


# Views


async def test_views_one_after_the_other_and_chosen(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await read(session)
        for view in [*View, View.PHASES]:
            assert found.view is view
            assert f"{list(View).index(view) + 1}/6 {view.value.capitalize()}" in session.text
            assert session.app.focused is (found.words if found.is_nothing else found.table)
            await session.press("t")
        await session.press("T")
        assert isinstance(session.app.screen, ChooseScreen)
        await session.press("G", "enter")
        assert found.view is View.MESSAGES
        assert session.app.focused is found.tables.messages


async def test_phases_and_options(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await read(session)
        assert names(found) == ["formats and tactics selection", "engine build"]
        assert "1/6 Phases · build 2.500 s · 2 warnings · 1 error · TensorRT 8.6.1" in session.text
        assert "70.00" in session.text
        assert "Memory Pools  workspace: 1024 MiB" in words(session)
        assert "Selected Device  NVIDIA Test GPU" in words(session)
        await session.press("j")
        assert words(session).startswith("engine build\ntook ")
        assert "line 51" in words(session)


async def test_passes_expand(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.PASSES)
        assert names(found) == ["Original", "▸ vertical fusions", "reformat layers"]
        assert "12 → 12 layers · 1 step" in session.text
        await session.press("j", "l")
        assert names(found)[2] == " └╴fused /stem/conv/Conv with /stem/relu/Relu"
        await session.press("l")
        assert "ConvReluFusion" in words(session)
        await session.press("h")
        assert found.tables.passes.cursor_row == 1
        await session.press("h")
        assert len(names(found)) == 3
        await session.press("enter")
        assert len(names(found)) == 4
        await session.press("C")
        assert len(names(found)) == 3
        await session.press("E", "j", "C")
        assert len(names(found)) == 3
        assert found.tables.passes.cursor_row == 1
        await session.press("E", "s")
        assert isinstance(session.app.screen, ChooseScreen)
        await session.press("g", "j", "enter")
        fused = " └╴fused /stem/conv/Conv with /stem/relu/Relu"
        assert names(found) == ["Original", "reformat layers", "▾ vertical fusions", fused]
        await session.press("S")
        assert names(found) == ["▾ vertical fusions", fused, "reformat layers", "Original"]
        found.table.sort_by(None)
        assert names(found) == ["Original", "▾ vertical fusions", fused, "reformat layers"]


async def test_messages_and_memory(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.MESSAGES)
        assert [(one.severity, one.count) for one in found.table.shown_rows] == [("E", 1), ("W", 2)]
        assert "6/6 Messages · 2 warnings · 1 error · 2 different" in session.text
        await session.press("j")
        assert "Layer 7 is odd" in words(session)
        await show(session, View.MEMORY)
        assert found.chart.is_on_screen
        assert "GPU up to 600 MiB" in session.text
        await session.press("j")
        assert "600 MiB, +100 MiB" in words(session)


async def test_strategies_that_are_none(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.STRATEGIES)
        assert session.app.focused is found.words
        assert words(session).startswith("No backend strategies")
        await session.press("s", "l", "h", "E", "C", "z", "enter", "j", "t")
        assert found.view is View.MESSAGES


# Layers and tactics


async def test_layers_and_their_tactics(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.LAYERS)
        assert names(found) == [STEM, HEAD, GONE]
        assert "3 tuned · 8 tactics · 1 skipped · 1 near tie · 2 of 9 layers" in session.text
        await session.press("g")
        assert "near tie" in words(session)
        assert "in FP32      0.400000 ms, +100.0 %" in words(session)
        await session.press("enter")
        assert found.tuned is not None
        assert [row.id for row in found.table.shown_rows] == [4, 3, 2, 1, 5, 6]
        assert [row.split()[0] for row in session.text.splitlines()[4:10]][:1] == ["◆F"]
        assert "C chosen F fastest" in words(session)
        assert "1: scratch memory exceeds the workspace, up to 4.00 KiB requested" in words(session)
        assert "CudnnConvolution: no valid tactic" in words(session)
        await session.press("escape")
        assert found.tuned is None
        assert found.view is View.LAYERS
        await session.press("enter", "h")
        assert found.tuned is None


async def test_every_column_of_tactics_sorts(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.LAYERS)
        await session.press("g", "enter")
        count = len(found.table.columns)
        for place in range(1, count + 1):
            await session.press("s")
            assert isinstance(session.app.screen, ChooseScreen)
            await session.press("g", *["j"] * place, "enter")
            column = found.table.columns[place - 1].key
            assert [key.column for key in found.table.sort_keys] == [column]
            first = found.table.shown_rows
            await session.press("S")
            assert sorted(map(id, found.table.shown_rows)) == sorted(map(id, first))
        found.table.set_sort([SortKey("time_ms", True)])
        await session.press("r")
        assert found.table.sort_keys == (SortKey("time_ms", False),)


async def test_tactics_stay_in_the_order_chosen_from_layer_to_layer(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.LAYERS)
        await session.press("g", "enter", "S", "h", "j", "enter")
        assert found.tuned is not None
        assert found.tuned.tuning.name == HEAD
        assert [row.id for row in found.table.shown_rows] == [8, 7]


# The way to the layers, and back


async def test_the_current_layer_is_selected_and_followed(tmp_path):
    async with running(built(tmp_path)) as session:
        await session.press("g")
        assert session.current == 6
        await session.press(TO_BUILD)
        found = await show(session, View.LAYERS)
        assert found.tables.layers.cursor_item.tuning.name == HEAD
        await session.press("k")
        assert session.current == 1
        await session.press(TO_LATENCY)
        assert session.latency.cursor_layer.index == 1
        await session.press("G", TO_BUILD)
        last = session.current
        assert last not in (1, 6)
        assert found.tables.layers.cursor_item.tuning.name == STEM, "that layer was not tuned"
        await session.press(TO_LATENCY)
        assert session.current == last, "looking at the build chooses nothing"


async def test_tactics_follow_the_current_layer(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.LAYERS)
        await session.press("g", "enter", TO_LAYERS)
        session.screen.stand_on(session.screen.engine.layers[6])
        await session.press(TO_BUILD)
        assert found.tuned is not None
        assert found.tuned.tuning.name == HEAD
        assert [row.id for row in found.table.shown_rows] == [7, 8]


async def test_l_goes_to_the_layer(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.LAYERS)
        await session.press("g", "l")
        await session.until(lambda: session.screen.pane is session.layers)
        assert session.layers.cursor_layer.index == 1
        await session.press(TO_BUILD, "j", "enter", "l")
        await session.until(lambda: session.screen.pane is session.layers)
        assert session.current == 6
        await session.press(TO_BUILD, "h", "G", "l")
        assert session.screen.pane is found
        told = [note.message for note in session.app._notifications]
        assert told[-1] == "No engine layer for it in the log."


async def test_details_of_a_layer_tell_of_the_build_once_it_was_read(tmp_path):
    async with running(built(tmp_path), tab="layers") as session:
        session.screen.stand_on(session.screen.engine.layers[1])
        await session.pilot.pause()
        assert "second best" not in session.details
        await session.press(TO_BUILD)
        await read(session)
        await session.press(TO_LAYERS)
        assert "Build\n" in session.details
        assert "5 tactics timed in 2 format combinations, 1 skipped" in session.details
        assert "second best  0.202000 ms · CaskConvolution · sm80_f16_a" in session.details
        assert "+1.00 %" in session.details


async def test_filter_applies_to_layers(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.LAYERS)
        await session.press("slash", *"head", "enter")
        assert names(found) == [HEAD]
        await session.press("slash", *"zzz", "enter")
        assert names(found) == []
        assert "No tuned layer matches the filter." in session.text
        await session.press("j", "l", "enter", "s", "escape", "escape")
        assert names(found) == [STEM, HEAD, GONE]


async def test_explained():
    async with running(built(Path("net")), tab="build") as session:
        found = await show(session, View.LAYERS)
        await session.press("right", "right", "i")
        assert isinstance(session.app.screen, ExplainScreen)
        assert "Index of the layer of the engine that it became" in session.text
        assert "tiny.build.log" in session.text
        await session.press("escape", "z")
        await session.until(lambda: not found.words.is_on_screen)
        await session.press("z", "tab")
        assert session.app.focused is found.words
        await session.press("z")
        await session.until(lambda: not found.table.is_on_screen)
        await session.press("z")
        await session.until(lambda: found.table.is_on_screen and found.words.is_on_screen)


async def test_view_is_kept_when_read_again(tmp_path):
    async with running(built(tmp_path), tab="build") as session:
        before = await show(session, View.MESSAGES)
        write_log(tmp_path, BUILD.replace("Something broke", "Nothing broke"))
        await session.press("R")
        await session.until(lambda: pane(session) is not before and pane(session).facts is not None)
        await session.pilot.pause()
        assert pane(session).view is View.MESSAGES
        assert "Nothing broke" in session.text


@pytest.mark.parametrize(
    ("view", "keys"),
    [
        (View.LAYERS, (SortKey("chosen_ms", descending=True),)),
        (View.MESSAGES, (SortKey("line", descending=False), SortKey("severity", descending=True))),
        (View.MEMORY, (SortKey("line", descending=True),)),
    ],
)
async def test_order_is_kept_when_read_again(tmp_path, view, keys):
    async with running(built(tmp_path), tab="build") as session:
        before = await show(session, view)
        assert before.table.sort_keys != keys
        before.table.set_sort(keys)
        shown = list(before.table.shown_rows)
        await session.press("R")
        await session.until(lambda: pane(session) is not before and pane(session).facts is not None)
        assert pane(session).table.sort_keys == keys
        await session.until(
            lambda: list(pane(session).table.shown_rows) == shown
        )  # first comes the outline of the log


# No log, bad logs


async def test_no_log_is_told(tmp_path):
    async with running(small_engine(tmp_path), tab="build") as session:
        found = pane(session)
        assert "No build log in this set" in words(session)
        assert "`trtexec --verbose … > tiny.engine.build.log`" in words(session)
        assert "Without --verbose: phases, memory and warnings only" in words(session)
        assert session.text.count("No build log") == 1
        assert session.footer.startswith("/ filter"), "only keys that mean something now"
        assert session.app.focused is found.words
        await session.press(
            "t", "T", "escape", "s", "S", "l", "h", "E", "C", "enter", "z", "z", "i", "escape", "j"
        )
        assert session.app.is_running
        await session.press(TO_LATENCY)
        assert session.current == 6


async def test_log_that_is_not_verbose(tmp_path):
    async with running(built(tmp_path, QUIET), tab="build") as session:
        found = await read(session)
        assert names(found) == ["engine build"]
        assert "not verbose" in session.text
        for view in (View.PASSES, View.LAYERS, View.STRATEGIES):
            await show(session, view)
            assert words(session).startswith(f"No {view.value}: the log is not verbose.")
        await show(session, View.MESSAGES)
        assert len(found.table.shown_rows) == 2


@pytest.mark.parametrize("share", some([0.6, 0.3, 0.9]))
async def test_log_that_is_cut_off(tmp_path, share):
    async with running(built(tmp_path, BUILD[: int(len(BUILD) * share)]), tab="build") as session:
        found = await read(session)
        assert "cut off in the middle of a line" in words(session) or "ends before trtexec does" in words(
            session
        )
        for _ in View:
            await session.press("t", "G", "enter", "h")
        assert found.facts is not None


async def test_log_that_is_none(tmp_path):
    async with running(built(tmp_path, "[11/21/2026-10:00:00] [I] hello\n"), tab="build") as session:
        await session.until(lambda: "Cannot read the build log" in session.text)
        assert "is not a log of trtexec or a TensorRT builder" in words(session)
        await session.press(TO_LATENCY, TO_BUILD)
        assert "Cannot read the build log" in session.text


async def test_log_that_is_gone(tmp_path):
    async with running(built(tmp_path)) as session:
        (tmp_path / "tiny.build.log").unlink()
        await session.press(TO_BUILD)
        await session.until(lambda: "Cannot read the build log" in session.text)
        assert "tiny.build.log: cannot be read" in words(session)


async def test_hostile_names(tmp_path):
    evil = "\x1b[31m[bold]\u202ename[/bold]"
    text = BUILD.replace(GONE, evil).replace("Something broke", f"Broke {evil} [/] \x07")
    text = text.replace("Fusing /stem/conv/Conv", f"Fusing {evil}")
    async with running(built(tmp_path, text), LARGE, tab="build") as session:
        await read(session)
        for _ in View:
            await session.press("E", "G", "enter", "k")
            assert "\x1b" not in session.text
            assert "\u202e" not in session.text
            assert "\x07" not in session.text
            await session.press("t")
        await show(session, View.LAYERS)
        assert "[bold]\\u202ename[/bold]" in session.text


# Reading in the background


class SlowReader:
    """Stands for `read_build_log` of a log that takes for ever: it reads until it is stopped."""

    def __init__(self) -> None:
        self.stopped = threading.Event()

    def __call__(self, path: Path, progress: Callable[[int], None], run: int | None) -> None:  # noqa: ARG002
        try:
            while not self.stopped.wait(0.02):
                progress(1234)
        finally:
            self.stopped.set()


async def test_reading_blocks_nothing_and_ends_when_the_engine_is_left(tmp_path, monkeypatch):
    reader = SlowReader()
    small_engine(tmp_path / "a")
    write_log(tmp_path / "a")
    small_engine(tmp_path / "b")
    async with running(tmp_path) as session:
        monkeypatch.setattr(shared, "read_build_log", reader)
        monkeypatch.setattr(logs, "read_trace", lambda *_: None)
        await session.press("enter")
        await session.until(lambda: not isinstance(session.app.screen, EnginesScreen))
        await session.press(TO_BUILD)
        await session.until(lambda: "Reading tiny.build.log … 1.21 KiB of" in session.text)
        await session.press("t", TO_LATENCY, "j", TO_BUILD)
        assert not reader.stopped.is_set()
        await session.press("q")
        await session.until(lambda: isinstance(session.app.screen, EnginesScreen))
        await session.until(reader.stopped.is_set, "the end of reading")


async def test_of_a_long_log_all_but_tactics_comes_first(tmp_path, monkeypatch):
    go_on = threading.Event()
    whole = shared.read_build_log

    def slowly(path: Path, progress: Callable[[int], None], run: int | None) -> object:
        progress(99)
        while not go_on.wait(0.02):
            progress(1234)
        return whole(path, progress, run)

    monkeypatch.setattr(building, "LONG_BYTES", 0)
    monkeypatch.setattr(shared, "read_build_log", slowly)
    monkeypatch.setattr(logs, "read_trace", lambda *_: None)
    shared.forget_logs()
    async with running(built(tmp_path)) as session:
        await session.press(TO_BUILD)
        await session.until(lambda: "Reading tactics … 1.21 KiB of " in session.text)
        found = pane(session)
        assert "· 1/6 Phases · build 2.500 s" in session.text
        assert names(found) == ["formats and tactics selection", "engine build"]
        await session.press("t", "t")
        await session.until(lambda: "Reading the tactics … 1.21 KiB" in session.text)
        assert found.is_nothing
        go_on.set()
        await read(session)
        await session.until(lambda: not found.is_nothing)
        assert found.view is View.LAYERS
        assert session.app.focused is found.tables.layers
        assert "reading" not in session.text.lower()


async def test_a_log_is_read_when_it_is_first_looked_at(tmp_path):
    async with running(built(tmp_path)) as session:
        assert session.screen.build_job.facts is None
        await session.press(TO_BUILD)
        found = await read(session)
        facts = found.facts
        await session.press(TO_LAYERS, TO_BUILD)
        assert found.facts is facts


# Real logs


@pytest.mark.parametrize("name", some(REAL, 2))
async def test_real_logs(name):
    async with running(LOGS / f"{name}.log", SMALL, tab="build") as session:
        found = await read(session)
        trace = found.facts.trace
        for view in View:
            await show(session, view)
            await session.press("E", "G", "enter")
        assert len(found.tables.layers.shown_rows) == len(trace.tunings)
        assert len(found.tables.messages.shown_rows) == len(trace.messages)
        assert len(found.tables.memory.shown_rows) == len(trace.memory)


@pytest.mark.parametrize("is_deep", [False, True], ids=["layers", "tactics"])
async def test_a_jump_to_the_engine_is_undone(tmp_path, is_deep):
    async with running(built(tmp_path), tab="build") as session:
        found = await show(session, View.LAYERS)
        await session.press("g", *(["enter", "j"] if is_deep else []))
        before = found.view, found.tuned, found.table.cursor_row, session.current
        assert (found.tuned is not None) is is_deep
        await session.press("l")
        await session.until(lambda: session.screen.pane is session.layers)
        await session.press("G", "minus")
        await session.until(lambda: session.screen.pane is found)
        await session.pilot.pause()
        assert (found.view, found.tuned, found.table.cursor_row, session.current) == before
        assert session.app.focused is found.table
