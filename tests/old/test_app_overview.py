"""The overview for complete and incomplete sets: its text, its list of the hottest layers, its keys, and its updates."""

from __future__ import annotations

import json
import re
from shutil import copytree

import pytest
from textual.content import Content
from tui import LARGE, SMALL, Session, check_golden, running

from helpers import OLD_SAMPLES, THOROUGH, TO_LATENCY, TO_LAYERS, TO_OVERVIEW
from small_engines import (
    BY_TIME,
    CONV,
    NET,
    POOLING,
    SLOWEST,
    named_engine,
    raw_layer,
    small_engine,
    write,
    write_set,
)
from trex_tui.old.analysis.filter import filter_layers
from trex_tui.old.report.views.totals import group_filter
from trex_tui.old.screens.pane import EnginePane
from trex_tui.old.widgets.table_model import MISSING
from trex_tui.old.widgets.text_columns import TextColumns
from trex_tui.old.widgets.text_view import TextLine

SAMPLE = OLD_SAMPLES / "transformer_fp8"
LABELS = NET[-1][0]


def overview(path, size=SMALL):
    return running(path, size, tab="overview")


async def analysed(session: Session) -> None:
    await session.until(lambda: session.overview.analysis is not None, "the analysis")
    await session.pilot.pause()


def columns(session: Session, width: int = 1200) -> list[str]:
    """The text of each column: at this width three, and not wrapped."""
    lines = session.overview.words._wrap_columns(width)
    return ["\n".join(line.plain.rstrip() for line in column) for column in lines]


def words(session: Session) -> str:
    return "\n".join(columns(session))


def shares(session: Session) -> str:
    return columns(session)[-1]


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
        facts = words(session)
        assert "…" not in facts.replace("re…", "")
        assert "Latency       0.0896 ms, p99 0.0903" in facts
        assert "Throughput    10986.00 qps" in facts
        assert "median  0.0896  0.0896  0.0020" in facts
        assert "H2D, D2H ms   – (no transfers)" in facts
        assert "p99     0.0903" in facts
        assert "Stability     stable" in facts
        assert "Stability     Stable. Medians of ten windows" in facts
        assert "Layer sum 0.1101 ms vs. median latency" in facts
        for fact in (
            "Name               NVIDIA GeForce RTX 4090",
            "TensorRT      11.0.0",
            "CUDA graph    enabled",
        ):
            assert fact in facts
        assert "Weights       1.70 MiB" in facts
        assert "Activations   3.62 MiB live at once, at layer 15" in facts
        for bar in (
            "gemm         10  0.0475   43.14",
            "BF16         20",
            "bandwidth    13",
            "yes          12",
        ):
            assert " ".join(bar.split()) in " ".join(facts.split())


async def test_options_at_their_default_unfold():
    async with overview(SAMPLE, LARGE) as session:
        await analysed(session)
        assert "avgTiming" not in words(session)
        assert re.search(r"^\d+ more: a$", words(session), re.MULTILINE)
        await session.press("a")
        (note,) = session.app._notifications
        assert note.message == "Options at their default: shown."
        assert re.search(r"^avgTiming +8$", words(session), re.MULTILINE)
        assert "more: a" not in words(session)
        await session.press("a")
        assert "avgTiming" not in words(session)


async def test_before_that_it_says_that_something_is_to_come(tmp_path, monkeypatch):
    monkeypatch.setattr("trex_tui.old.screens.overview.compute", lambda *_: None)
    async with overview(small_engine(tmp_path)) as session:
        assert words(session).splitlines()[:2] == ["Performance", "…"]
        assert shares(session).splitlines()[:2] == ["Bound by", "…"]
        assert "Activations   …" in words(session)
        assert "convolution" in shares(session)


async def test_missing_facts_are_sentences(tmp_path):
    async with overview(small_engine(tmp_path, profiled=False)) as session:
        await analysed(session)
        assert "No layer times (needs --exportProfile)." in shares(session)
        assert "No end-to-end latency" in words(session)
        assert "end to end\n" not in words(session)
        assert "0.0000" not in session.text
        assert MISSING not in shares(session)
        assert not session.overview.table.is_on_screen
        assert session.app.focused is session.overview.words
        assert "z zoom" not in session.footer
        await session.press("z", TO_LAYERS)
        assert session.current == 0


async def test_names_only(tmp_path):
    write(tmp_path / "a.graph.json", {"Layers": ["conv + relu", "fc"], "Bindings": ["x", "y"]})
    async with overview(tmp_path) as session:
        await analysed(session)
        assert "2; names only" in words(session)
        assert "Weights       unknown" in words(session)


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
        lines = shares(session).splitlines()
        assert lines[0] == "Filtered: 3 layers"
        assert [line.split()[:4] for line in lines if line.startswith(("conv", "FP16"))] == [
            ["convolution", "3", "0.3600", "39.34"],
            ["FP16", "3", "0.3600", "39.34"],
        ]
        await session.press("escape")
        assert hot(session) == BY_TIME[:-1]
        assert session.current == SLOWEST
        assert "match" not in shares(session)


async def test_filter_without_a_match(tmp_path):
    async with overview(small_engine(tmp_path)) as session:
        await session.press("slash", *"zzz", "enter", "j", "enter", "z", "z")
        assert hot(session) == []
        assert shares(session).startswith("No layer matches the filter.")
        assert session.text.count("No layer matches the filter.") == 2
        await session.press("escape")
        assert session.overview.cursor_layer is session.screen.engine.layers[SLOWEST]


async def to_facts(session: Session) -> TextColumns:
    await analysed(session)
    facts = session.overview.words
    await session.press("tab")
    if session.app.focused is not facts:
        await session.press("tab")
    assert session.app.focused is facts
    return facts


async def test_facts_scroll_and_zoom(tmp_path):
    async with overview(small_engine(tmp_path)) as session:
        facts, table = await to_facts(session), session.overview.table
        assert f"↓ {facts.lines_below} more" in session.text
        await session.press("G")
        await session.until(lambda: facts.scroll_y == facts.max_scroll_y, "G")
        assert "more" not in session.text.splitlines()[12]
        await session.press("g")
        await session.until(lambda: facts.scroll_y == 0, "g")
        await session.press("z")
        await session.until(lambda: not table.is_on_screen and facts.size.height > 15)
        assert session.app.focused is facts
        await session.press("z")
        await session.until(lambda: table.is_on_screen and session.app.focused is table)


@pytest.mark.parametrize("size", [SMALL, (120, 35), LARGE])
async def test_what_matters_most_is_on_the_first_page(size):
    async with overview(SAMPLE, size) as session:
        await analysed(session)
        for words_on_screen in ("0.0896 ms, p99 0.0903", "Bound by", "bandwidth", "Hottest layers"):
            assert words_on_screen in session.text
        findings = session.screen.lint.findings
        shown = [judged.rule.id for judged in findings if f" {judged.rule.id} " in session.text]
        assert len(shown) >= min(4, len(findings))
        assert len(hot(session)) == (10 if size == SMALL else session.overview.table.size.height - 1)


@pytest.mark.parametrize("has_unknown_bounds", [False, True])
async def test_every_group_leads_to_its_layers_and_back(has_unknown_bounds, tmp_path):
    folder = SAMPLE
    if has_unknown_bounds:  # without weights the bytes of a matrix product are not known
        folder = copytree(SAMPLE, tmp_path / "net")
        graph = folder / "encoder_fp8.graph.json"
        root = json.loads(graph.read_text(encoding="utf-8"))
        for one in root["Layers"]:
            one.pop("Constants", None)
        graph.write_text(json.dumps(root), encoding="utf-8")
    async with overview(folder) as session:
        facts = await to_facts(session)
        engine, page = session.screen.engine, session.screen
        targets = [link.target for link in facts._links if isinstance(link.target, str)]
        assert {target.partition(":")[0] for target in targets} == {
            "bound", "kind", "precision", "tensor_cores"
        }  # fmt: skip
        counts = {
            group_filter(table.id, row[0]): row[1]
            for table in session.overview._share_tables()
            for row in table.rows
        }
        assert sorted(targets) == sorted(counts)
        assert any(target.startswith("bound:none ") for target in targets) is has_unknown_bounds
        for target in targets:
            assert len(filter_layers(engine, target)) == counts[target], target
        firsts = {target.partition(":")[0]: target for target in reversed(targets)}
        unknown = [target for target in targets if target.startswith("bound:none ")]
        for target in targets if THOROUGH else unknown or firsts.values():
            facts.choose(target)
            y = facts.scroll_offset.y
            await session.press("enter")
            await session.until(lambda: page.pane.id == "latency", target)
            assert page.filter_text == target
            assert len(session.shown) == counts[target]
            await session.press("escape")
            await session.until(lambda: page.pane is session.overview, target)
            assert (page.filter_text, facts.chosen, facts.scroll_offset.y) == ("", target, y)
            assert session.app.focused is facts


async def test_keys_choose_groups_and_findings():
    async with overview(SAMPLE) as session:
        facts = await to_facts(session)
        findings = session.screen.lint.findings
        assert facts.chosen == findings[0]
        await session.press("j")
        assert facts.chosen == findings[1]
        await session.press("k", "l")
        assert isinstance(facts.chosen, str)
        column = [link.target for link in facts._links if link.column == 1]
        await session.press("g")
        assert facts.chosen == column[0]
        await session.press("j", "down")
        assert facts.chosen == column[2]
        await session.press("h")
        assert facts.chosen in findings
        await session.press("enter")
        await session.until(lambda: session.screen.pane.id == "lint")
        assert session.screen.pane.table.cursor_item.judged == facts.chosen
        assert "Overview › Lint" in session.text.splitlines()[0]
        await session.press("minus")
        await session.until(lambda: session.app.focused is facts)


async def test_a_click_opens_a_group(tmp_path):
    async with overview(small_engine(tmp_path)) as session:
        facts = await to_facts(session)
        link = next(link for link in facts._links if link.target == "kind:pooling")
        await session.pilot.click(facts, offset=(45, link.row))
        await session.until(lambda: session.screen.pane.id == "latency")
        assert session.shown == [POOLING]


async def test_columns_by_width(tmp_path):
    async with overview(small_engine(tmp_path), (79, 40)) as session:
        await analysed(session)
        for width, count in [(79, 1), (80, 2), (139, 2), (140, 3), (200, 3)]:
            await session.pilot.resize_terminal(width, 40)
            assert len(columns(session, session.overview.words.text_width)) == count, width
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
        assert "20 k" in shares(session)
        assert [pane.id for pane in session.screen.query(EnginePane)] == [
            "overview"
        ]  # others at their first visit


@pytest.mark.parametrize("text", ["/", "//a/b", "/a b/c", "a/"])
def test_names_are_wrapped_to_any_width(text):
    for width in range(1, 8):
        parts = TextLine(Content(text)).wrap(width)
        assert "".join(part.plain for part in parts).replace(" ", "") == text.replace(" ", "")
        assert all(0 < part.cell_length <= width for part in parts)
