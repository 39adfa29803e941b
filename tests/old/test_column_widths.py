"""A person sets the width of a column with the mouse or with keys, and it is remembered."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import pytest
from tui import LARGE, SMALL, Session, running

from helpers import DIGITS
from small_engines import small_engine, write_set
from trex_tui.old.analysis.modules import Group, Grouping
from trex_tui.old.config import settings_file
from trex_tui.old.engine import load_engine
from trex_tui.old.screens.settings import settings_from
from trex_tui.old.widgets.table import TableColumn
from trex_tui.old.widgets.table_columns import latency_columns
from trex_tui.old.widgets.table_model import place_columns

COLUMNS: list[TableColumn[str]] = [
    TableColumn("name", "Layer", str, width=20, flex=True),
    TableColumn("kind", "Kind", str, width=8, priority=2),
    TableColumn("note", "Note", str, width=10, priority=1),
    TableColumn("ms", "ms", str, width=6, align="right"),
]


def placed(width: int, widths: dict[str, int], pinned: str | None = None) -> dict[str, int]:
    cells = place_columns(COLUMNS, width, pinned, widths)
    assert all(left.end < right.start for left, right in pairwise(cells))
    return {cell.column.key: cell.text_width for cell in cells}


def test_a_set_width_replaces_the_automatic_one_and_the_names_take_the_rest():
    assert placed(60, {}) == {"name": 32, "kind": 8, "note": 10, "ms": 6}
    assert placed(60, {"kind": 14}) == {"name": 26, "kind": 14, "note": 10, "ms": 6}
    assert placed(60, {"name": 24}) == {"name": 24, "kind": 8, "note": 10, "ms": 6}


def test_a_column_with_a_set_width_goes_last_and_leaves_room_for_others():
    assert placed(48, {"kind": 18}) == {"name": 21, "kind": 18, "ms": 6}
    assert placed(40, {"name": 500}) == {"name": 30, "ms": 6}
    assert placed(40, {"name": -5, "ms": 0})["name"] == placed(40, {"ms": -1})["ms"] == 3


def width_of(session: Session, key: str) -> int:
    cells = session.screen.pane.table._place()
    return next(cell.text_width for cell in cells if cell.column.key == key)


def border_of(session: Session, key: str) -> tuple[int, int]:
    """Where the right border of a title is on the screen."""
    table = session.screen.pane.table
    cell = next(cell for cell in table._place() if cell.column.key == key)
    edge = table.scrollable_content_region.width - 1
    return table.content_region.x + min(cell.end, edge), table.content_region.y


@pytest.mark.parametrize("tab", ["latency", "memory", "lint"])
async def test_the_mouse_drags_the_border_of_a_title(tmp_path, tab):
    async with running(small_engine(tmp_path), LARGE, tab=tab) as session:
        key = session.screen.pane.table.visible_columns[-2].key
        x, y = border_of(session, key)
        before, order = width_of(session, key), session.screen.pane.table.sort_keys
        await session.pilot.mouse_down(offset=(x, y))
        await session.pilot.hover(offset=(x + 4, y + 3))
        await session.pilot.mouse_up(offset=(x + 4, y))
        assert width_of(session, key) == before + 4
        assert session.screen.pane.table.sort_keys == order, "a title was not clicked"
        await session.pilot.hover(offset=(x - 4, y))
        assert width_of(session, key) == before + 4, "only while the button is down"
        await session.pilot.click(offset=border_of(session, key), times=2)
        assert width_of(session, key) == before


async def test_keys_resize_the_names_or_the_chosen_column_and_the_widths_are_remembered(tmp_path):
    engine = small_engine(tmp_path)
    async with running(engine, SMALL, tab="latency") as session:
        names = width_of(session, "name")
        await session.press("left_curly_bracket")
        assert width_of(session, "name") == names - 2
        await session.press("right", "right", "right", "right_curly_bracket")
        assert session.screen.pane.table.current_column == "kind"
        assert width_of(session, "kind") == 13
        assert width_of(session, "name") == names - 2
    document = json.loads(settings_file(os.environ).read_text())
    assert dict(document["column_widths"]) == {"latency-table.name": names - 2, "latency-table.kind": 13}
    async with running(engine, SMALL, tab="latency") as session:
        assert width_of(session, "kind") == 13
        await session.press(DIGITS["memory"])
        assert "memory-table.name" not in dict(session.app.settings.column_widths), "a list has its own"
        await session.press(DIGITS["latency"], "vertical_line")
        assert (width_of(session, "name"), width_of(session, "kind")) == (names, 11)
    assert json.loads(settings_file(os.environ).read_text())["column_widths"] == []


@pytest.mark.parametrize(
    "widths", [5, [["latency-table.name"]], [["a.b", "9"]], [["a.b", True]], [["a.b", 0]]]
)
def test_wrong_widths_in_the_file_are_left_out(widths):
    assert settings_from({"column_widths": widths}).column_widths == ()
    assert settings_from({"column_widths": [["a.b", 9]]}).column_widths == (("a.b", 9),)


def test_columns_follow_what_the_layers_hold(tmp_path):
    timed = load_engine(small_engine(tmp_path / "timed"))
    columns = {column.key: column.width for column in latency_columns(timed)}
    assert (columns["index"], columns["kind"], columns["latency_ms"]) == (2, len("convolution"), 6)
    untimed = latency_columns(load_engine(small_engine(tmp_path / "untimed", profiled=False)))
    assert [
        column.key for column in untimed if column.key.startswith(("latency", "cumulative", "median"))
    ] == []
    assert "precision" in [column.key for column in untimed]
    names = write_set(tmp_path / "names", "net", ["Conv_0", "Relu_1"], None)  # type: ignore[list-item]  # names only
    assert [column.key for column in latency_columns(load_engine(names))] == [
        "index",
        "name",
        "kind",
        "layer_type",
    ]


async def test_the_tree_has_no_column_that_repeats_its_groups(tmp_path):
    async with running(small_engine(tmp_path), SMALL, tab="layers") as session:
        tree = session.screen.pane.table
        for grouping, absent in (
            (Grouping.MODULE, set()),
            (Grouping.KIND, {"kind"}),
            (Grouping.PRECISION, {"precision"}),
        ):
            tree.group_by(grouping)
            assert {"kind", "precision", "latency_ms"} - {column.key for column in tree.columns} == absent
            names = next(column for column in tree.columns if column.key == "name")
            group = next(row for row in tree.shown_rows if isinstance(row, Group))
            assert names.shorten is not None
            assert names.shorten(group, 40).endswith(f" ({len(group.layers)})")
            assert len(names.shorten(group, 4)) <= 4
