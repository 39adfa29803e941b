"""Layers and Latency: the tree, the details, lanes and neighbours, the table, its sort and its columns."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from helpers import ARTIFACTS
from screens_kit import SAMPLES, explore
from trex_tui.api import load_engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.screens.layer_tree import GROUPINGS, make_tree
from trex_tui.widgets.details import layer_lines
from trex_tui.widgets.lanes import draw_lanes

QAT = SAMPLES / "resnet-a100/qat"
BEV = ARTIFACTS / "bev-multitask-blackwell"


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def names_on_screen(lines: list[str]) -> list[str]:
    """Return the names of the rows of a table of layers: what is between the number and the kind."""
    kinds = "|".join(kind.value for kind in LayerKind)
    rows = (re.match(rf"[▌ ][EWi ]? *\d+ (.+?) +({kinds}) ", line) for line in lines[3:-3])
    return [row[1] for row in rows if row]


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("path", [QAT, BEV], ids=["qat", "bev"])
async def test_no_two_rows_of_the_table_look_alike(path: Path, width: int):
    if not path.is_dir():
        pytest.skip("no real artifacts here")
    async with explore(path, size=(width, 60)) as e:
        await e.press("3")
        for _ in range(3):
            alike = [name for name, count in Counter(names_on_screen(e.lines)).items() if count > 1]
            assert not alike
            await e.press("pagedown")


async def test_columns_leave_a_narrow_table_by_priority_and_names_get_the_room():
    headings = {}
    for width in (60, 80, 120, 160):
        async with explore(QAT, size=(width, 24)) as e:
            await e.press("3")
            headings[width] = e.lines[2].replace("▼ ", "").split()
            assert not any("…" in line[:30] for line in e.lines[3:8] if width >= 120)
    assert headings[60] == ["#", "Layer", "Prec", "ms", "%"]
    assert set(headings[60]) < set(headings[120]) < set(headings[160])
    assert "Tactic" in headings[160]


async def test_the_status_line_has_tactic_formats_and_full_name():
    async with explore(QAT, size=(200, 24)) as e:
        await e.press("3")
        status = e.lines[-3]
        assert "ampere_fp32_icudnn_int8x4_128x64_relu_medium_nn_v1 · INT8 NC/4HW4 → FP32 NCHW" in status
        assert status.endswith("conv1.weight + QuantizeLinear_7 + Conv_9")


async def test_sort_by_header_by_dialog_and_reverse():
    async with explore(QAT) as e:
        await e.press("3")
        column = e.lines[2].index("Kind")
        await e.pilot.click("#latency #main", offset=(column + 1, 0))
        assert e.screen.pane.sort == "kind"
        assert "Kind ▲" in e.lines[2]
        await e.press("s", *"roof_pct", "enter")
        await e.wait(lambda: e.screen.pane.sort == "roof_pct")
        values = e.screen.pane.table.section.frame["roof_pct"].dropna()
        assert values.is_monotonic_decreasing
        await e.press("r")
        assert e.screen.pane.table.section.frame["roof_pct"].dropna().is_monotonic_increasing


async def test_chosen_columns_are_remembered_but_not_the_direction():
    async with explore(QAT) as e:
        await e.press("3", "r", "c", *"tactic_value", "tab", "enter")
        await e.wait(lambda: "Tactic id" in [column.title for column in e.screen.pane.table.section.columns])
    async with explore(QAT) as e:
        await e.press("3")
        assert "Tactic id" in [column.title for column in e.screen.pane.table.section.columns]
        assert not e.screen.pane.is_reversed
        await e.press("c", "ctrl+r")
        await e.wait(
            lambda: "Tactic id" not in [column.title for column in e.screen.pane.table.section.columns]
        )


async def test_a_step_of_the_cursor_repaints_two_lines():
    async with explore(QAT) as e:
        await e.press("3")
        table = e.screen.pane.table
        painted: list[int] = []
        render = table.render_line
        table.render_line = lambda y: painted.append(y) or render(y)  # type: ignore[method-assign]
        await e.press("j")
        assert sorted(set(painted)) == [1, 2]


async def test_groupings_that_do_not_divide_the_layers_are_not_offered():
    async with explore(QAT) as e:
        await e.press("2", "T")
        await e.see("In execution order")
        assert "By ONNX node" not in e.text
        assert "By stream" not in e.text
        await e.press("escape")
        headings = [next(w for w in GROUPINGS.values() if w in e.lines[2])]
        for _ in range(6):
            await e.press("t")
            headings.append(next(w for w in (*GROUPINGS.values(), "║") if w in e.lines[2]))
        assert headings[0] == headings[-1]
        assert len(set(headings)) == 6


@pytest.mark.parametrize("grouping", list(GROUPINGS))
def test_every_layer_is_once_in_the_tree_and_sums_add_up(grouping: str):
    engine = load_engine(QAT)
    rows = engine.layers["name"].notna()
    tree = make_tree(engine, rows, grouping, is_by_time=False)
    frame = tree.section.frame
    layers = [label for label in frame.index if isinstance(label, int)]
    assert sorted(layers) == list(range(len(engine)))
    tops = frame["latency_ms"][[level == 0 for level in tree.levels]]
    assert tops.sum() == pytest.approx(engine.latency_sum_ms)
    for label, inside in tree.layers.items():
        assert frame["latency_ms"][label] == pytest.approx(engine.layers["latency_ms"].iloc[inside].sum())


async def test_groups_fold_and_unfold():
    async with explore(QAT, size=(120, 50)) as e:
        await e.press("2", "C")
        table = e.screen.pane.table
        assert "▸ layer1 (4)" in e.text
        folded = len(table.rows)
        table.move_to("/layer1")
        await e.press("l", "l")
        assert table.row == "/layer1/0"
        await e.press("h", "h")
        assert len(table.rows) == folded
        await e.press("E")
        assert len([row for row in table.rows if isinstance(row, int)]) == 37


async def test_details_of_a_layer_in_their_order():
    async with explore(QAT, size=(160, 60)) as e:
        await e.wait(lambda: e.screen.lint)
        await e.press("2")
        text = "\n".join(line[97:] for line in e.lines)
        parts = ["conv1.weight + QuantizeLinear_7 + Conv_9", "rank 1/37", "Tactic", "Inputs (1)", "Outputs (1)",
                 "Findings", "PREC002", "Producers (1)", "Consumers (1)", "Compute", "Bytes"]  # fmt: skip
        places = [text.index(part) for part in parts]
        assert places == sorted(places)
        header = "0.2017 ms · 18.41 % · rank 1/37 · layer 1 · compute-bound · 48.02 % of roof"
        assert header in " ".join(text.split())


def test_details_of_a_reformat_say_from_to_and_why():
    engine = load_engine(QAT)
    text = "\n".join(line.content.plain for line in layer_lines(engine, 3))
    assert (
        "FP32 NCHW → FP16 NC/32HW32 · 24.5 MiB → 12.2 MiB · after MaxPool_12 (FP32), for QuantizeLinear_15"
        in text
    )


async def test_links_of_the_details_lead_to_layers_and_findings():
    async with explore(QAT, size=(160, 60)) as e:
        await e.wait(lambda: e.screen.lint)
        await e.press("2", "enter")
        details = e.screen.pane.query_one("#details")
        assert e.app.focused is details
        await e.press("l", "l", "enter")  # the finding is the first link, its producer the second
        assert e.screen.current_layer == 0
        await e.press("minus")
        assert e.screen.current_layer == 1


async def test_neighbours_are_drawn_and_opened():
    async with explore(QAT, size=(120, 40)) as e:
        await e.press("2", "v")
        assert "╔" in e.text
        assert "0 QuantizeLinear_2" in e.text
        await e.press("tab", "down", "enter")
        assert e.screen.current_layer == 2


async def test_lanes_stand_beside_the_execution_order():
    async with explore(QAT, size=(120, 40)) as e:
        await e.press("2", "T", *"order", "enter")
        await e.see("In execution order")
        assert any("├─● QuantizeLinear_15" in line for line in e.lines)


def test_lanes_of_a_skip_connection():
    assert draw_lanes(4, [(0, 1), (1, 2), (0, 3), (2, 3)], 4).rows == ["●  ", "├─●", "│ ●", "●─┘"]
    assert draw_lanes(3, [(0, 2), (1, 2)], 1).shared == 1
