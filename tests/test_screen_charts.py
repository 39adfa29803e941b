"""Charts: the list of those with data, the one on screen, its axes, and the current layer in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from screens_kit import SAMPLES, Explorer, explore
from trex_tui.screens.charts import ChartView, make_look
from trex_tui.widgets.theme import to_ascii

QAT = SAMPLES / "resnet-a100/qat"


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


async def _open(e: Explorer) -> None:
    await e.press("4")
    await e.wait(lambda: e.screen.pane.chart)


async def test_the_histogram_has_marks_and_says_what_is_not_shown():
    async with explore(QAT) as e:
        await _open(e)
        await e.see("Latency of 3392 queries")
        text = e.text
        for word in (
            "│p50",
            "│p90",
            "│p95",
            "p99│",
            "p50 0.8826 · p90 0.8837",
            "222 queries of warm-up excluded",
        ):
            assert word in text
        assert "19 queries outside not shown" in " ".join(text.split())


@pytest.mark.parametrize(
    ("name", "missing"),
    [("names-only", "Latency histogram"), ("build-log", "Roofline"), ("damaged", "Percentiles")],
)
async def test_charts_without_data_are_not_in_the_list(name: str, missing: str):
    async with explore(SAMPLES / name) as e:
        await _open(e)
        table = e.screen.pane.table
        titles = table.section.frame["name"].tolist()
        assert missing not in titles
        assert any("by kind" in title for title in titles)
        for _ in titles:  # every one has something to see
            await e.press("n")
            assert e.screen.pane.query_one(ChartView).chart.frame.shape[0] > 0


async def test_next_and_previous_go_around_and_the_list_moves_with_them():
    async with explore(QAT) as e:
        await _open(e)
        first = e.screen.pane.chart
        await e.press("p")
        last = e.screen.pane.chart
        assert last != first
        assert e.screen.pane.table.row == last
        await e.press("n")
        assert e.screen.pane.chart == first
        await e.press("j", "j", "j")
        assert e.screen.pane.chart == "kind"
        await e.see("convolution 0.7107 ms █")


async def test_a_narrow_terminal_has_a_line_instead_of_the_list():
    async with explore(QAT, size=(80, 24)) as e:
        await _open(e)
        await e.see("1/12  ▸Latency histogram  Latency over time")
        await e.press("n", "n")
        await e.see("3/12  ▸Percentiles")
        assert "p99.9" in e.text
        assert "Percentile" in e.text


async def test_charts_follow_the_filter_and_mark_the_current_layer():
    async with explore(QAT) as e:
        await _open(e)
        await e.press("c", *"order", "enter")
        await e.see("Time of the layers in order")
        await e.press("slash", *"kind:pooling", "enter")
        await e.wait(lambda: "■ convolution" not in e.text and "■ pooling" in e.text)
        await e.see("conv1")  # the status line names the current layer


async def test_columns_colors_and_log_axes_can_be_chosen():
    async with explore(QAT) as e:
        await _open(e)
        await e.press("c", *"scatter", "enter")
        await e.see("Time against MACs")
        await e.see("16 layers without MACs not shown")
        await e.press("L")
        await e.wait(lambda: not e.screen.pane.query_one(ChartView).chart.is_log)
        await e.press("x", *"weights_bytes", "enter")
        await e.see("Time against Weights")
        await e.press("C", *"precision", "enter")
        await e.see("■ INT8")


async def test_few_bars_fit_where_it_is_low():
    async with explore(QAT, size=(80, 16)) as e:
        await _open(e)
        await e.press("c", *"slowest", "enter")
        await e.see("of 37 layers shown")
        assert "ms" in e.text


def test_the_terminals_own_colors_stay_where_the_theme_has_them():
    look = make_look({"primary": "ansi_cyan", "muted": "ansi_default", "current": "ansi_bright_magenta"})
    assert look.tone("convolution", 6) == 6
    assert isinstance(look.mark, int)
    look = make_look({"primary": "#5fc3c3"})
    assert look.tone("convolution", 6) == (95, 195, 195)


def test_every_block_of_a_chart_has_an_ascii_sign():
    assert "?" not in to_ascii("".join(map(chr, range(0x2580, 0x25A0))))


async def test_the_current_layer_has_a_shape_in_columns_too():
    async with explore(QAT, size=(80, 24)) as e:
        await e.press("4", "p")
        await e.see("Live activations by layer")
        await e.see("●")
