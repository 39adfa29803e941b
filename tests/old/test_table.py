"""The virtual table: order, filter and identity of rows; columns that fit; keys, mouse and messages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from rich.cells import cell_len
from textual import on
from textual.app import App, ComposeResult
from textual.message import Message

from trex_tui.old.text import format_bar
from trex_tui.old.widgets.table import (
    RowHighlighted,
    RowSelected,
    SortChanged,
    SortKey,
    TableColumn,
    VirtualTable,
    sort_arrow,
)
from trex_tui.old.widgets.table_model import TableModel, fit, is_missing, place_columns


@dataclass(frozen=True)
class Layer:
    index: int
    name: str
    kind: str
    ms: float | None


COLUMNS: list[TableColumn[Layer]] = [
    TableColumn(
        "index", "#", lambda layer: layer.index, width=5, align="right", descending=False, priority=2
    ),
    TableColumn("name", "Layer", lambda layer: layer.name, width=20, flex=True, description="Its full name"),
    TableColumn(
        "kind", "Kind", lambda layer: layer.kind, width=8, priority=1, style=lambda _: "bold $text-warning"
    ),
    TableColumn(
        "ms",
        "ms",
        lambda layer: layer.ms,
        format=lambda ms: f"{ms:.2f}",
        width=6,
        align="right",
        bar=lambda layer: None if layer.ms is None else layer.ms / 10,
        bar_width=4,
    ),
    TableColumn("note", "Note", lambda layer: layer.index % 2, text=lambda _: "note", width=30, priority=3),
]

LAYERS = [
    Layer(0, "conv_a", "conv", 2.0),
    Layer(1, "relu_b", "relu", None),
    Layer(2, "conv_c", "conv", 5.0),
    Layer(3, "relu_d", "relu", 0.5),
    Layer(4, "pool_e", "pool", math.nan),
    Layer(5, "conv_f", "conv", 5.0),
]


def many(count: int) -> list[Layer]:
    return [Layer(i, f"layer{i}", "conv" if i % 2 else "relu", float(i % 100)) for i in range(count)]


class TableApp(App[None]):
    def __init__(self, rows: Sequence[Layer] = LAYERS) -> None:
        super().__init__()
        self.table: VirtualTable[Layer] = VirtualTable(COLUMNS, empty_text="No layer matches", id="layers")
        self.table.set_rows(rows, keep=lambda layer: layer.index)
        self.messages: list[Message] = []

    def compose(self) -> ComposeResult:
        yield self.table

    def on_virtual_table_row_highlighted(self, message: RowHighlighted[Layer]) -> None:
        self.messages.append(message)

    @on(RowSelected, "#layers")
    def selected(self, message: RowSelected[Layer]) -> None:
        self.messages.append(message)

    def on_virtual_table_sort_changed(self, message: SortChanged[Layer]) -> None:
        self.messages.append(message)

    def take(self, kind: type[Message]) -> list[Any]:
        """The messages of one kind since the last call."""
        taken = [message for message in self.messages if isinstance(message, kind)]
        self.messages = [message for message in self.messages if not isinstance(message, kind)]
        return taken


def screen_lines(app: App[None]) -> list[str]:
    """What is on the terminal, line by line. The one place that touches Textual's private compositor."""
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def names(table: VirtualTable[Layer]) -> str:
    """The shown rows by the last letter of their names, in order."""
    return "".join(layer.name[-1] for layer in table.shown_rows)


@pytest.fixture
def table() -> VirtualTable[Layer]:
    """A table without an app: its state must not depend on one."""
    table: VirtualTable[Layer] = VirtualTable(COLUMNS)
    table.set_rows(LAYERS, keep=lambda layer: layer.index)
    return table


# Order


@pytest.mark.parametrize(("descending", "expected"), [(True, "cfadbe"), (False, "dacfbe")])
def test_missing_sorts_last_in_both_directions(table, descending, expected):
    table.sort_by("ms", descending)
    assert names(table) == expected


def test_first_direction_is_the_columns_own_and_natural_order_is_reachable(table):
    table.sort_by("ms")
    assert table.sort_keys == (SortKey("ms", descending=True),)
    table.sort_by("kind")
    assert table.sort_keys == (SortKey("kind", descending=False),)
    table.sort_by(None)
    assert (table.sort_keys, names(table)) == ((), "abcdef")


def test_several_keys_and_ties_in_natural_order(table):
    table.sort_by("kind")
    assert names(table) == "acfebd"
    table.add_sort("ms")
    assert names(table) == "cfaedb"
    table.add_sort("ms")
    assert table.sort_keys == (SortKey("kind", descending=False), SortKey("ms", descending=False))
    assert names(table) == "acfedb"
    table.reverse_sort()
    assert [key.descending for key in table.sort_keys] == [True, True]
    assert names(table) == "dbecfa"


def test_cycling_a_column_and_stepping_through_columns(table):
    table.cycle_sort("ms")
    table.cycle_sort("ms")
    assert table.sort_keys == (SortKey("ms", descending=False),)
    table.cycle_sort("ms")
    assert table.sort_keys == ()


def test_unknown_column_says_which_there_are(table):
    with pytest.raises(KeyError, match=r"no column 'latency' among index, name"):
        table.sort_by("latency")


def test_values_of_several_types_still_sort():
    model: TableModel[Any] = TableModel()
    model.set_columns([TableColumn("v", "V", lambda row: row)])
    model.set_rows(["b", 2, None, "a", 1], None)
    model.sort([SortKey("v", descending=False)])
    assert [model.rows[index] for index in model.shown] == [1, 2, "a", "b", None]


def test_pandas_missing_values_are_missing():
    pandas = pytest.importorskip("pandas")
    assert all(map(is_missing, (None, math.nan, pandas.NA, pandas.NaT)))
    assert not any(map(is_missing, (0, "", False, -1.5)))


# Identity of the current row


def test_cursor_stays_on_its_row_over_sort_and_filter(table):
    assert table.move_to(LAYERS[3])
    table.sort_by("ms")
    assert (table.cursor_item, table.cursor_row) == (LAYERS[3], 3)
    table.set_filter(lambda layer: layer.kind == "relu")
    assert (table.cursor_item, table.cursor_row) == (LAYERS[3], 0)
    assert (table.shown_count, table.total_count) == (2, 6)


def test_cursor_goes_near_a_hidden_row_and_back_to_it(table):
    table.move_to(LAYERS[3])
    table.set_visible([0, 4])
    assert table.cursor_item == LAYERS[4]
    table.set_visible([0])
    assert table.cursor_item == LAYERS[0]
    table.set_visible([])
    assert (table.cursor_item, table.cursor_row, table.shown_count) == (None, 0, 0)
    assert not table.move_to(LAYERS[3])
    table.set_visible(None)
    assert table.cursor_item == LAYERS[3]
    table.set_visible([0])
    table.action_select()
    table.set_visible(None)
    assert table.cursor_item == LAYERS[0], "going into a row is choosing it"


def test_sorted_before_its_first_rows_the_table_begins_at_the_top():
    table: VirtualTable[Layer] = VirtualTable(COLUMNS)
    table.sort_by("ms")
    table.set_rows(LAYERS, keep=lambda layer: layer.index)
    assert (table.cursor_row, table.cursor_item) == (0, LAYERS[2])


def test_reload_keeps_row_order_and_filter(table):
    table.sort_by("ms")
    table.set_filter(lambda layer: layer.kind == "conv")
    table.move_to(LAYERS[5])
    reloaded = [replace(layer, ms=9.0 if layer.index == 5 else layer.ms) for layer in reversed(LAYERS)]
    table.set_rows(reloaded, keep=lambda layer: layer.index)
    assert names(table) == "fca"
    assert table.cursor_item is reloaded[0]


def test_reload_without_the_row_stays_in_place_and_without_keys_goes_to_the_top(table):
    table.cursor_row = 4
    table.set_rows(LAYERS[:3], keep=lambda layer: layer.index)
    assert table.cursor_row == 2
    table.set_rows(list(LAYERS))
    assert table.cursor_row == 0
    assert table.move_to(Layer(9, "new", "conv", 1.0)) is False
    assert table.move_to(replace(LAYERS[5])), "an equal row will do where rows have no key"


def test_columns_can_go_and_take_their_sort_keys_along(table):
    table.sort_by("kind")
    table.add_sort("ms")
    table.set_columns([column for column in COLUMNS if column.key != "kind"])
    assert table.sort_keys == (SortKey("ms", descending=True),)
    assert names(table) == "cfadbe"


# Cells and columns


@pytest.mark.parametrize(
    ("available", "shown"),
    [
        (80, ["index", "name", "kind", "ms", "note"]),
        (79, ["index", "name", "kind", "ms", "note"]),
        (78, ["index", "name", "kind", "ms"]),
        (40, ["name", "ms"]),
        (20, ["name", "ms"]),
        (1, []),
        (0, []),
    ],
)
def test_columns_drop_by_priority(available, shown):
    placed = place_columns(COLUMNS, available)
    assert [place.column.key for place in placed] == shown
    assert not placed or placed[-1].end <= available


def test_flexible_column_grows_then_bars_go_then_it_shrinks_then_the_line_is_cut():
    assert [(place.text_width, place.bar_width) for place in place_columns(COLUMNS, 90)][1] == (31, 0)
    assert [(place.text_width, place.bar_width) for place in place_columns(COLUMNS, 40)] == [(27, 0), (6, 4)]
    assert [(place.text_width, place.bar_width) for place in place_columns(COLUMNS, 31)] == [(23, 0), (6, 0)]
    assert [(place.text_width, place.bar_width) for place in place_columns(COLUMNS, 16)] == [(8, 0), (6, 0)]
    assert [(place.text_width, place.bar_width) for place in place_columns(COLUMNS, 12)] == [(8, 0), (2, 0)]


def test_pinned_column_stays():
    assert [place.column.key for place in place_columns(COLUMNS, 78, pinned="note")][-1] == "note"


@pytest.mark.parametrize("width", [0, 1, 2, 3, 7, 8, 9, 20])
@pytest.mark.parametrize("middle", [True, False])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "conv2d",
        "层" * 9,
        "a层b层c层d",
        "e\u0301" * 12,
        "\u0301abc",
        "❤\ufe0f" * 6,
        "\x1b[31m\n",
        "👍🏽" * 4,
    ],
)
def test_fit_is_exact_in_cells(text, width, middle):
    assert cell_len(fit(text, width, middle=middle)) == width
    assert cell_len(fit(text, width, middle=middle, right=True)) == width


def test_fit_keeps_head_and_tail():
    assert fit("/model/layer1/conv2", 11, middle=True) == "/mod…/conv2"
    assert fit("模型层一二三四五六", 11, middle=True) == "模型…四五六"
    assert fit("Activations", 6) == "Activ…"
    assert fit("42", 5, right=True) == "   42"


@pytest.mark.parametrize(
    ("fraction", "drawn"),
    [
        (None, "    "),
        (math.nan, "    "),
        (0.0, "    "),
        (0.001, "▏   "),
        (0.5, "██  "),
        (0.6, "██▍ "),
        (7.0, "████"),
    ],
)
def test_bar(fraction, drawn):
    assert format_bar(fraction, 4).ljust(4) == drawn


def test_arrows_show_direction_and_rank():
    both = [SortKey("kind", descending=False), SortKey("ms", descending=True)]
    assert [sort_arrow(key, both) for key in ("kind", "ms", "name")] == ["▲¹", "▼²", ""]
    assert sort_arrow("ms", both[1:]) == "▼"


# On screen


async def test_lines_headers_and_empty_state():
    app = TableApp()
    async with app.run_test(size=(50, 8)) as pilot:
        app.table.sort_by("kind")
        app.table.add_sort("ms")
        app.table.marked = frozenset({0})
        await pilot.pause()
        assert screen_lines(app) == [
            "     # Layer                 Kind ▲¹   ▼² ms",
            "     2 conv_c                conv       5.00 ██",
            "     5 conv_f                conv       5.00 ██",
            "•    0 conv_a                conv       2.00 ▊",
            "     4 pool_e                pool          –",
            "     3 relu_d                relu       0.50 ▎",
            "     1 relu_b                relu          –",
            "",
        ]
        app.take(RowHighlighted)
        app.table.set_filter(lambda _: False)
        await pilot.pause()
        assert screen_lines(app)[1] == " No layer matches"
        highlighted = app.take(RowHighlighted)
        assert [(message.item, message.row_index) for message in highlighted] == [(None, -1)]
        await pilot.press("j", "G", "enter", "pagedown")
        assert (app.table.cursor_row, app.take(RowSelected)) == (0, [])
        app.table.empty_text = "A sentence that is longer than one line of this table is wide"
        await pilot.pause()
        assert screen_lines(app)[1:3] == [
            " A sentence that is longer than one line of this",
            " table is wide",
        ]


async def test_keys_move_the_cursor_and_the_view():
    app = TableApp(many(20_000))
    async with app.run_test(size=(60, 12)) as pilot:
        table = app.table
        table.focus()
        await pilot.pause()
        assert table.page_height == 11
        for key, row in [
            ("j", 1),
            ("down", 2),
            ("k", 1),
            ("up", 0),
            ("up", 0),
            ("ctrl+d", 5),
            ("pagedown", 16),
            ("pageup", 5),
            ("ctrl+u", 0),
            ("G", 19_999),
            ("pagedown", 19_999),
            ("g", 0),
            ("end", 19_999),
            ("home", 0),
        ]:
            await pilot.press(key)
            assert table.cursor_row == row, key
        await pilot.press("G")
        assert "layer19999" in screen_lines(app)[-1]
        assert screen_lines(app)[0].split()[:2] == ["#", "Layer"], "the header stays"
        app.take(RowHighlighted)
        await pilot.press("enter")
        assert [message.item.index for message in app.take(RowSelected)] == [19_999]
        await pilot.press("k")
        assert [message.row_index for message in app.take(RowHighlighted)] == [19_998]

        table.move_to(table.shown_rows[10_000])
        await pilot.pause()
        assert "layer10000" in screen_lines(app)[1 + 11 // 2]
        await pilot.resize_terminal(60, 5)
        await pilot.pause()
        assert any("layer10000" in line for line in screen_lines(app))
        table.cursor_row = 19_999
        table.action_cursor_up()
        table.set_filter(lambda layer: layer.index != 5)
        await pilot.pause()
        assert "layer19999" in screen_lines(app)[-1], "no blank lines below the last row"
        table.set_filter(lambda layer: layer.index < 3)
        await pilot.pause()
        assert table.scroll_offset.y == 0
        assert "layer0" in screen_lines(app)[1]


async def test_bursts_of_moves_announce_the_last_row():
    app = TableApp(many(100))
    async with app.run_test(size=(60, 12)) as pilot:
        await pilot.pause()
        assert [message.row_index for message in app.take(RowHighlighted)] == [0], (
            "rows set before the app ran"
        )
        for _ in range(20):
            app.table.action_cursor_down()
        await pilot.pause()
        assert app.take(RowHighlighted)[-1].row_index == 20
        app.table.sort_by("index")
        await pilot.pause()
        assert app.take(RowHighlighted) == [], "neither the row nor its place changed"


async def test_mouse_sorts_moves_and_selects():
    app = TableApp()
    async with app.run_test(size=(50, 8)) as pilot:
        table = app.table
        header = screen_lines(app)[0]
        ms, kind = header.index("ms"), header.index("Kind")
        await pilot.click(table, offset=(ms, 0))
        await pilot.click(table, offset=(ms, 0))
        await pilot.click(table, offset=(kind, 0), shift=True)
        changed = [message.keys for message in app.take(SortChanged)]
        by_kind = SortKey("kind", descending=False)
        assert changed[:2] == [(SortKey("ms", descending=True),), (SortKey("ms", descending=False),)]
        assert changed[2] == (SortKey("ms", descending=False), by_kind)
        await pilot.click(table, offset=(kind, 0))
        assert table.sort_keys == (by_kind,)
        await pilot.click(table, offset=(0, 0))
        assert table.sort_keys == (by_kind,), "no column there"
        table.sort_by(None)

        await pilot.click(table, offset=(12, 4))
        assert (table.cursor_row, app.take(RowSelected)) == (3, [])
        await pilot.click(table, offset=(12, 4))
        assert [message.item for message in app.take(RowSelected)] == [LAYERS[3]]
        await pilot.click(table, offset=(12, 7))
        assert table.cursor_row == 3, "nothing there"

        await pilot.hover(table, offset=(header.index("Layer"), 0))
        assert str(table.tooltip) == "Its full name"
        await pilot.hover(table, offset=(12, 3))
        assert table.tooltip is None


async def test_width_follows_the_terminal_and_arrows_reach_every_column():
    app = TableApp()
    async with app.run_test(size=(80, 8)) as pilot:
        table = app.table
        table.focus()
        shown = {}
        for width in (80, 79, 40, 20, 2, 1):
            await pilot.resize_terminal(width, 8)
            await pilot.pause()
            shown[width] = " ".join(column.key for column in table.visible_columns)
            assert all(cell_len(line) <= width for line in screen_lines(app))
        assert shown == {
            80: "index name kind ms note",
            79: "index name kind ms",
            40: "name ms",
            20: "name ms",
            2: "",
            1: "",
        }
        await pilot.resize_terminal(79, 8)
        await pilot.press("left")
        assert table.current_column == "note"
        assert "note" in [column.key for column in table.visible_columns]
        await pilot.press("right")
        assert table.current_column is None
        await pilot.press("right", "right")
        assert table.current_column == "name"
        table.current_column = "gone"
        assert table.current_column is None
        table.action_sort_next()
        table.action_reverse()
        assert table.sort_keys == (SortKey("index", descending=True),)


async def test_hostile_and_wide_names_are_shown_harmlessly_and_in_line():
    hostile = [
        "\x1b[31mred\x1b[0m",
        "two\nlines",
        "[red]x[/]",
        "\u202eevil",
        "nul\x00\x7f",
        "\ud800",
        "层" * 40,
        "e\u0301",
    ]
    rows = [Layer(index, name, name, 1.0) for index, name in enumerate(hostile)]
    app = TableApp(rows)
    async with app.run_test(size=(50, 10)) as pilot:
        await pilot.pause()
        table = app.table
        widths = {cell_len("".join(segment.text for segment in table.render_line(y))) for y in range(10)}
        assert widths == {49}
        lines = screen_lines(app)
        assert all(char.isprintable() for line in lines for char in line)
        for expected, line in zip(
            ["␛[31mred␛[0m", "two␊lines", "[red]x[/]", "\\u202eevil", "nul␀␡", "\\ud800", "层…层", "e\u0301"],
            lines[1:],
            strict=False,
        ):
            assert expected in line
        assert len({cell_len(line[: line.rindex("1.00")]) for line in lines[1:9]}) == 1


async def test_cursor_shows_without_colours_and_follows_theme_and_focus():
    app = TableApp()
    app.theme = "ansi-dark"
    async with app.run_test(size=(50, 8)) as pilot:
        table = app.table

        def cursor_style():
            return next(iter(table.render_line(1))).style

        table.focus()
        await pilot.pause()
        assert cursor_style().reverse
        app.set_focus(None)
        await pilot.pause()
        assert cursor_style().underline
        assert not cursor_style().reverse
        app.theme = "textual-dark"
        await pilot.pause()
        blurred = cursor_style()
        table.focus()
        await pilot.pause()
        assert (
            len({blurred.bgcolor, cursor_style().bgcolor, next(iter(table.render_line(2))).style.bgcolor})
            == 3
        )
