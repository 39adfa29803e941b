"""The memory screen: chart, table and text, its keys, and its text if sizes are unknown."""

from __future__ import annotations

import pytest
from tui import LARGE, SMALL, Session, check_golden, running

from helpers import OLD_SAMPLES, TO_LATENCY, TO_MEMORY
from small_engines import POOLING, SLOWEST, small_engine, tensor, write
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.views.memory import NAMES_ONLY
from trex_tui.old.screens.dialogs import ChooseScreen
from trex_tui.old.screens.explanation import ExplainScreen
from trex_tui.old.widgets.bars import PEAK
from trex_tui.old.widgets.table_columns import memory_columns
from trex_tui.old.widgets.table_model import SortKey

SAMPLE = OLD_SAMPLES / "alexnet"
PEAK_LAYER = 1
BY_SIZE = [1, 2, 0, 3, 4, 5, 6, 7, 8]
"""By activations, as the weights of the convolutions are hidden."""


def memory(path, size=SMALL):
    return running(path, size, tab="memory")


async def computed(session: Session) -> None:
    await session.until(lambda: session.memory.figures is not None, "what is live")
    await session.pilot.pause()


def shown(session: Session) -> list[int]:
    return [layer.index for layer in session.memory.table.shown_rows]


def words(session: Session) -> str:
    return "\n".join(line.plain.rstrip() for line in session.memory.words.wrapped(200))


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "160x45"])
async def test_golden(size):
    async with memory(SAMPLE, size) as session:
        await computed(session)
        check_golden(session.app, f"memory_{size[0]}x{size[1]}")


async def test_table_stands_on_the_current_layer(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("G", "k", TO_MEMORY)
        assert session.app.focused is session.memory.table
        assert session.memory.cursor_layer is session.screen.engine.layers[7]
        assert shown(session) == BY_SIZE
        await session.press("k", TO_LATENCY)
        assert session.current == 6
        assert session.latency.cursor_layer is session.screen.engine.layers[6]


async def test_what_is_live_follows_the_cursor(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        await computed(session)
        heading = session.text.splitlines()[2]
        assert f"{PEAK} peak 56.0 KiB live at layer 1" in heading
        assert heading.endswith("● layer 6: 8.02 KiB")
        assert words(session).startswith("Live at layer 6: 2 tensors")
        assert "8.00 KiB  5–6        1×16×16×16 FP16  t6" in words(session)
        assert "Live at peak, layer 1: 2 tensors" in words(session)
        await session.press("k")
        await session.until(lambda: "● layer 5: 16.0 KiB" in session.text)
        await session.press("p")
        await session.until(lambda: session.current == PEAK_LAYER)
        assert "Live at layer" not in words(session), "said once, as the peak"
        assert "◆" in session.text


async def test_click_on_the_chart_goes_to_the_layer(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        await computed(session)
        await session.pilot.click(session.memory.strip, offset=(1 + 78 * 2 // 9 + 1, 2))
        await session.until(lambda: session.current == POOLING)


async def test_sort_is_chosen_and_reversed(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        table = session.memory.table
        assert table.sort_keys == (SortKey("activation_bytes", descending=True),)
        await session.press("r")
        assert shown(session) == [8, 7, 6, 3, 4, 5, 0, 2, 1]
        await session.press("S", "s")
        assert isinstance(session.app.screen, ChooseScreen)
        assert "Weights  (weights_bytes)" in session.text
        await session.press("g", "j", "j", "enter")
        assert table.sort_keys == (SortKey("name", descending=False),)
        assert session.current == SLOWEST


async def test_what_is_exported_explained_and_kept(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        pane = session.memory
        rows, columns = pane.selection().rows, pane.selection().columns
        assert [layer.index for layer in rows] == BY_SIZE
        assert {"name", "weights_bytes", "footprint_allocated_bytes"} <= {column.name for column in columns}
        pane.table.sort_by("weights_bytes")
        assert pane.numbers()[0].entry.term.key == "weights_bytes"
        state = pane.view_state()
        pane.table.sort_by(None)
        pane.restore_view(state, pane.engine)
        assert pane.table.sort_keys == (SortKey("weights_bytes", descending=True),)


async def test_enter_opens_the_layer(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        await session.press("g", "enter")
        await session.until(lambda: session.screen.pane is session.layers)
        assert session.current == BY_SIZE[0]


async def test_filter_is_followed_and_told(tmp_path):
    async with memory(small_engine(tmp_path), LARGE) as session:
        await computed(session)
        await session.press("slash", *"head", "enter")
        assert shown(session) == [6, 7, 8]
        assert "Filtered: 3 layers" in words(session)
        assert "softmax" in words(session)
        assert "pooling" not in words(session)
        assert "Live at peak, layer 1" in words(session), "what is live depends on all layers"
        await session.press("p")
        assert session.current == SLOWEST
        told = [note.message for note in session.app._notifications]
        assert told == ["The filter hides layer 1, the memory peak."]
        await session.press("escape")
        assert shown(session) == BY_SIZE


async def test_filter_without_a_match(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        await session.press("slash", *"zzz", "enter", "j", "p", "enter", "s", "escape", "r")
        assert "No layer matches the filter." in session.text
        await session.press("escape")
        assert session.memory.cursor_layer is session.screen.engine.layers[SLOWEST]


async def test_words_scroll_and_zoom(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        await computed(session)
        pane, table = session.memory.words, session.memory.table
        await session.press("tab")
        await session.until(lambda: session.app.focused is pane, "the keyboard on the words")
        for key, place in [("j", 1), ("G", pane.max_scroll_y), ("k", pane.max_scroll_y - 1), ("g", 0)]:
            await session.press(key)
            await session.until(lambda place=place: pane.scroll_y == place, key)
        await session.press("z")
        await session.until(lambda: not table.is_on_screen)
        await session.press("z", "shift+tab", "z")
        await session.until(lambda: table.is_on_screen and not pane.is_on_screen)
        await session.press("z")
        await session.until(lambda: pane.is_on_screen)


async def test_hidden_weights_are_told(tmp_path):
    async with memory(small_engine(tmp_path)) as session:
        await computed(session)
        assert "5 layers hide their weights: sums are lower bounds." in words(session)
        assert "All weights   at least 24.0 KiB; missing for 5 layers" in words(session)
        line = next(line for line in words(session).splitlines() if line.startswith("convolution"))
        assert line.split() == ["convolution", "5", "unknown"]


async def test_names_only(tmp_path):
    write(tmp_path / "a.graph.json", {"Layers": ["conv + relu", "fc"], "Bindings": ["x", "y"]})
    async with memory(tmp_path) as session:
        assert words(session) == NAMES_ONLY
        assert session.text.count("Memory by layer unknown") == 1
        lines = [line for line in session.text.splitlines() if line.strip()]
        assert len(lines) == 4, "header, tabs, the sentence, footer"
        await session.press("p", "j", "k", "G", "s", "r", "z", "tab")
        assert session.app.is_running
        assert session.app.screen is session.screen
        assert "sort" not in lines[-1]
        await session.press("slash", *"conv", "enter", *"345")
        assert words(session) == NAMES_ONLY, "a filter has no table to act on"
        await session.press("escape", "3", "j", "5", "i")
        assert isinstance(session.app.screen, ExplainScreen)


async def test_no_layer_information(tmp_path):
    write(tmp_path / "a.profile.json", [{"count": 10}, {"name": "fc", "timeMs": 10.0, "averageMs": 1.0}])
    async with memory(tmp_path) as session:
        assert "Memory by layer unknown" in session.text


async def test_memory_of_an_engine_known_by_its_log(tmp_path):
    log = "[08/12/2023-10:00:00] [I] {}\n"
    lines = ["[TRT] Total Weights Memory: 4096 bytes", "Created engine with size: 0.5 MiB"]
    (tmp_path / "a.build.log").write_text("".join(map(log.format, lines)))
    async with memory(tmp_path) as session:
        stated = words(session).splitlines()
        assert "Weights       4.00 KiB (stated in the log)" in stated
        assert "Engine size   512 KiB (stated in the log)" in stated


async def test_dynamic_shapes_are_told(tmp_path):
    layers = [
        {
            "Name": "one",
            "LayerType": "kgen",
            "Inputs": [tensor("x", [1, 8])],
            "Outputs": [tensor("a", [-1, 8])],
        },
        {
            "Name": "two",
            "LayerType": "kgen",
            "Inputs": [tensor("a", [-1, 8])],
            "Outputs": [tensor("b", [1, 8])],
        },
        {
            "Name": "three",
            "LayerType": "kgen",
            "Inputs": [tensor("b", [1, 8])],
            "Outputs": [tensor("y", [1, 8])],
        },
    ]
    write(tmp_path / "a.graph.json", {"Layers": layers, "Bindings": ["x", "y"]})
    async with memory(tmp_path) as session:
        await computed(session)
        assert "peak at least 16 B live at layer 1" in session.text
        assert "1 tensor has a dynamic shape or no type: excluded from live memory." in words(session)
        await session.press("p")
        await session.until(lambda: session.current == 1)


def test_the_size_of_a_layer_is_computed_once_for_order_and_bar(monkeypatch):
    engine = load_engine(SAMPLE)
    sized: list[int] = []
    size = Layer.footprint_allocated_bytes.fget

    def count(layer: Layer) -> int | None:
        sized.append(layer.index)
        return size(layer)

    monkeypatch.setattr(Layer, "footprint_allocated_bytes", property(count))
    (main,) = [column for column in memory_columns(engine) if column.bar is not None]
    assert max(filter(None, map(main.value, engine.layers)))
    assert all(0 <= main.bar(layer) <= 1 for layer in engine.layers)
    assert sorted(sized) == [layer.index for layer in engine.layers]
