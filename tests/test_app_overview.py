"""The overview: what it says of whole and of poor sets, its list of the hottest layers, its keys, and what it follows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trex_tui.screens.pane import EnginePane
from trex_tui.widgets.table_model import MISSING
from trex_tui.widgets.text_view import TextBlock
from tui import (
    BY_TIME,
    CONV,
    LARGE,
    NET,
    SLOWEST,
    SMALL,
    TO_LATENCY,
    TO_LAYERS,
    TO_OVERVIEW,
    Session,
    check_golden,
    named_engine,
    raw_layer,
    running,
    small_engine,
    write,
    write_set,
)

SAMPLE = Path(__file__).parent.parent / "sample_artifacts" / "transformer_fp8"
LABELS = NET[-1][0]


def overview(path, size=SMALL):
    return running(path, size, tab="overview")


async def analysed(session: Session) -> None:
    await session.until(lambda: session.overview.analysis is not None, "the analysis")
    await session.pilot.pause()


def words(session: Session, name: str) -> str:
    """The text of one of the columns, not wrapped."""
    lines = session.overview.query_one(f"#overview-{name}", TextBlock)
    return "\n".join(line.plain.rstrip() for line in lines.wrapped(400))


def hot(session: Session) -> list[int]:
    return [layer.index for layer in session.overview.table.shown_rows]


@pytest.mark.parametrize("size", [SMALL, LARGE], ids=["80x24", "160x45"])
async def test_golden(size):
    async with overview(SAMPLE, size) as session:
        await analysed(session)
        check_golden(session.app, f"overview_{size[0]}x{size[1]}")


async def test_it_opens_first_and_stands_on_the_slowest_layer(tmp_path):
    async with running(small_engine(tmp_path), tab="overview") as session:
        assert session.screen.pane is session.overview
        assert session.app.focused is session.overview.table
        assert hot(session) == BY_TIME[:-1]
        assert session.current == SLOWEST


async def test_computation_is_shown_when_it_is_there():
    async with overview(SAMPLE, LARGE) as session:
        await analysed(session)
        performance, engine, shares = (words(session, name) for name in ("performance", "engine", "shares"))
        assert "…" not in performance + engine + shares
        assert "Throughput    10986.00 qps" in performance
        assert "median  0.0896  0.0896  0.0020  0.0000  0.0000" in performance
        assert "p99     0.0903" in performance
        assert "Stability     Stable. Medians of ten windows" in performance
        assert "Layer sum 0.1101 ms vs. median latency" in performance
        for fact in (
            "Name               NVIDIA GeForce RTX 4090",
            "TensorRT      11.0.0",
            "CUDA graph    enabled",
        ):
            assert fact in engine
        assert "Weights       unknown: missing for 10 layers" in engine
        assert "Activations   3.62 MiB live at once, at layer 15" in engine
        for bar in (
            "gemm         10  0.0475   43.14",
            "BF16         20",
            "bandwidth    9",
            "yes          12",
        ):
            assert " ".join(bar.split()) in " ".join(shares.split())


async def test_options_at_their_default_unfold():
    async with overview(SAMPLE, LARGE) as session:
        await analysed(session)
        assert "avgTiming" not in words(session, "engine")
        assert re.search(r"^\d+ more: a$", words(session, "engine"), re.MULTILINE)
        await session.press("a")
        (note,) = session.app._notifications
        assert note.message == "Options at their default: shown."
        assert re.search(r"^avgTiming +8$", words(session, "engine"), re.MULTILINE)
        assert "more: a" not in words(session, "engine")
        await session.press("a")
        assert "avgTiming" not in words(session, "engine")


async def test_before_that_it_says_that_something_is_to_come(tmp_path, monkeypatch):
    monkeypatch.setattr("trex_tui.screens.overview.compute", lambda *_: None)
    async with overview(small_engine(tmp_path)) as session:
        assert words(session, "performance").splitlines()[:2] == ["Performance", "…"]
        assert words(session, "shares").splitlines()[-2:] == ["Bound by", "…"]
        assert "Activations   …" in words(session, "engine")
        assert "convolution" in words(session, "shares")


async def test_missing_facts_are_sentences(tmp_path):
    async with overview(small_engine(tmp_path, profiled=False)) as session:
        await analysed(session)
        assert "No profile in this set: latency is unknown." in words(session, "shares")
        assert "No end-to-end latency" in words(session, "performance")
        assert "end to end\n" not in words(session, "performance")
        assert "0.0000" not in session.text
        assert MISSING not in words(session, "shares")
        assert not session.overview.table.is_on_screen
        assert session.app.focused is session.overview.words
        assert "z zoom" not in session.footer
        await session.press("z", TO_LAYERS)
        assert session.current == 0


async def test_names_only(tmp_path):
    write(tmp_path / "a.graph.json", {"Layers": ["conv + relu", "fc"], "Bindings": ["x", "y"]})
    async with overview(tmp_path) as session:
        await analysed(session)
        assert "2; names only" in words(session, "engine")
        assert "Weights       unknown" in words(session, "engine")


async def test_enter_and_click_go_to_the_layer(tmp_path):
    async with overview(small_engine(tmp_path)) as session:
        await session.press("j", "enter")
        await session.until(lambda: session.screen.pane is session.layers)
        assert session.layers.cursor_layer is session.screen.engine.layers[BY_TIME[1]]
        await session.press(TO_OVERVIEW)
        await session.pilot.click(session.overview.table, offset=(8, 2))
        await session.until(lambda: session.screen.pane is session.layers)
        assert session.current == BY_TIME[1]


async def test_movement_makes_a_layer_current(tmp_path):
    async with overview(named_engine(tmp_path, [f"layer{number}" for number in range(30)])) as session:
        assert hot(session) == list(range(29, 19, -1))
        for key, layer in [
            ("j", 28),
            ("G", 20),
            ("k", 21),
            ("g", 29),
            ("down", 28),
            ("end", 20),
            ("home", 29),
        ]:
            await session.press(key)
            await session.until(lambda layer=layer: session.current == layer, key)


async def test_current_layer_that_is_not_hot_joins_the_list(tmp_path):
    async with running(named_engine(tmp_path, [f"layer{number}" for number in range(30)])) as session:
        await session.press("G", TO_OVERVIEW)
        assert session.current == 0
        assert hot(session) == [*range(29, 19, -1), 0]
        assert session.overview.cursor_layer is session.screen.engine.layers[0]
        assert "Hottest and current layer" in session.text
        await session.press(TO_LATENCY)
        assert session.current == 0
        await session.press("g", TO_OVERVIEW)
        assert hot(session) == list(range(29, 19, -1))
        assert "Hottest layers" in session.text


async def test_layer_without_a_time_can_be_the_current_one(tmp_path):
    async with running(small_engine(tmp_path)) as session:
        await session.press("G", TO_OVERVIEW)
        assert session.overview.cursor_layer.name == LABELS
        await session.press(TO_LAYERS)
        assert session.layers.cursor_layer.name == LABELS


async def test_filter_is_followed_and_told(tmp_path):
    async with overview(small_engine(tmp_path), LARGE) as session:
        await analysed(session)
        await session.press("slash", *"layer1", "enter")
        assert hot(session) == [4, 3, 5]
        assert "Hottest of 3 that match" in session.text
        shares = words(session, "shares").splitlines()
        assert shares[0] == "Of the 3 layers that match the filter"
        assert [line.split()[:4] for line in shares if line.startswith(("conv", "FP16"))] == [
            ["convolution", "3", "0.3600", "39.34"],
            ["FP16", "3", "0.3600", "39.34"],
        ]
        await session.press("escape")
        assert hot(session) == BY_TIME[:-1]
        assert session.current == SLOWEST
        assert "match" not in words(session, "shares")


async def test_filter_without_a_match(tmp_path):
    async with overview(small_engine(tmp_path)) as session:
        await session.press("slash", *"zzz", "enter", "j", "enter", "z", "z")
        assert hot(session) == []
        assert words(session, "shares").startswith("No layer matches the filter.")
        assert session.text.count("No layer matches the filter.") == 2
        await session.press("escape")
        assert session.overview.cursor_layer is session.screen.engine.layers[SLOWEST]


async def test_facts_scroll_and_zoom(tmp_path):
    async with overview(small_engine(tmp_path)) as session:
        await analysed(session)
        facts, table = session.overview.words, session.overview.table
        await session.press("tab")
        if session.app.focused is not facts:
            await session.press("tab")
        assert session.app.focused is facts
        for key, place in [("j", 1), ("G", facts.max_scroll_y), ("k", facts.max_scroll_y - 1), ("g", 0)]:
            await session.press(key)
            await session.until(lambda place=place: facts.scroll_y == place, key)
        await session.press("z")
        await session.until(lambda: not table.is_on_screen and facts.size.height > 15)
        assert session.app.focused is facts
        await session.press("z")
        await session.until(lambda: table.is_on_screen and session.app.focused is table)


async def test_columns_by_width(tmp_path):
    async with overview(small_engine(tmp_path), (79, 40)) as session:
        await analysed(session)
        for width, columns in [(79, 1), (80, 2), (119, 2), (120, 3), (200, 3)]:
            await session.pilot.resize_terminal(width, 40)
            starts = {lines.region.x for lines in session.overview.query(TextBlock)}
            assert len(starts) == columns, width
            assert max(len(line) for line in session.text.splitlines()) <= width


async def test_smallest_terminal(tmp_path):
    async with overview(small_engine(tmp_path), (60, 16)) as session:
        lines = session.text.splitlines()
        assert lines[2].strip() == "Performance"
        assert session.overview.table.size.height >= 6


async def test_hostile_names_do_nothing(tmp_path):
    names = ["[red]markup[/]", "\x1b[31mred", "a\nb\u202e"]
    async with overview(named_engine(tmp_path, names), LARGE) as session:
        await analysed(session)
        assert "[red]markup[/]" in session.text
        assert "\x1b" not in session.text
        assert "␛[31mred" in session.text


async def test_twenty_thousand_layers(tmp_path):
    layers = [raw_layer(0, f"/block{n // 100}/conv{n}", CONV, [1, 8]) for n in range(20_000)]
    times = {layer["Name"]: 0.001 + n % 977 / 1000 for n, layer in enumerate(layers)}
    async with overview(write_set(tmp_path, "large", layers, times)) as session:
        assert [layer % 977 for layer in hot(session)] == [976] * 10
        await analysed(session)
        assert "20 k" in words(session, "shares")
        assert [pane.id for pane in session.screen.query(EnginePane)] == [
            "overview"
        ]  # others at their first visit
