"""Bars, facts and the strip chart as text: the parts of the overview and of the memory screen that need no app."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trex_tui.report.document import Column, Table
from trex_tui.widgets.bars import bar_lines
from trex_tui.widgets.chrome import fit_remark
from trex_tui.widgets.strip_chart import column_at, column_values, index_at, strip_rows
from trex_tui.widgets.text_view import fact_lines, heading_line, sections, sentence_line

COLUMNS = (
    Column("key", "Kind"),
    Column("layers", "n", is_number=True),
    Column("latency_ms", "ms", is_number=True, has_bar=True),
    Column("latency_pct", "%", is_number=True),
)
ROWS = [("convolution", 53, 0.3833, 81.49), ("noop", 1, 0.0, 0.0)]
TABLES = [
    Table("by_kind", COLUMNS, ROWS, title="By kind", styles=["", ""]),
    Table("by_bound", COLUMNS, [], title="Bound by"),
]


def plain(width: int) -> list[str]:
    return [line.plain.rstrip() for lines in bar_lines(TABLES, width) for line in lines]


def test_bars_stand_below_each_other():
    assert plain(42) == [
        "By kind       n      ms      %",
        "convolution  53  0.3833  81.49  ██████████",
        "noop          1  0.0000   0.00",
        "Bound by",
    ]


def test_figures_go_before_bars_where_there_is_little_room():
    assert plain(35)[1] == "convolution  0.3833  81.49  ███████"
    assert plain(30)[1] == "convolution  81.49  ██████████"[:30].rstrip()
    assert plain(18)[1].startswith("convolution  81.49")


@given(st.integers(1, 200))
def test_bars_never_exceed_the_width(width):
    assert all(line.cell_length <= max(width, 20) for lines in bar_lines(TABLES, width) for line in lines)


def test_no_tables():
    assert bar_lines([], 40) == []


def test_facts_wrap_below_their_beginning():
    (line,) = fact_lines([("Device", "NVIDIA GeForce RTX 4090 in a long sentence")], 8)
    assert [part.plain for part in line.wrap(32)] == [
        "Device   NVIDIA GeForce RTX 4090",
        "         in a long sentence",
    ]


def test_sections_that_say_nothing_are_left_out():
    lines = sections([], [heading_line("One")], [], [sentence_line("Two")])
    assert [line.content.plain for line in lines] == ["One", "", "Two"]


def test_strip_fills_cells_by_eighths():
    assert strip_rows([0, 1, 4, 8, 16], 5, 2) == ["    █", " ▁▄██"]
    assert strip_rows([], 5, 2) == ["", ""]
    assert strip_rows([0, 0], 4, 1) == ["    "]


def test_few_values_are_stretched_and_many_keep_their_peaks():
    assert column_values([1, 2], 4) == [1, 1, 2, 2]
    assert column_values([1, 9, 1, 1, 2, 1], 3) == [9, 1, 2]


@pytest.mark.parametrize(
    ("index", "count", "width", "column"), [(0, 10, 5, 0), (9, 10, 5, 4), (1, 2, 10, 5), (0, 0, 5, 0)]
)
def test_column_of(index, count, width, column):
    assert column_at(index, count, width) == column


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=400), st.integers(1, 200), st.integers(1, 8))
def test_strip_shows_the_largest_value_at_full_height(values, width, height):
    rows = strip_rows(values, width, height)
    assert [len(row) for row in rows] == [width] * height
    column = column_at(values.index(max(values)), len(values), width)
    assert rows[0][column] == ("█" if max(values) else " ")


@given(st.integers(1, 500), st.integers(1, 200))
def test_every_column_leads_to_a_value_that_stands_in_it(count, width):
    for column in range(width):
        index = index_at(column, count, width)
        assert 0 <= index < count
        if count >= width:
            assert column_at(index, count, width) == column


@pytest.mark.parametrize(
    ("room", "shown"),
    [(21, "/conv1  2 of 9 layers"), (20, "/conv1  2 of 9"), (13, "/c…v1  2 of 9"), (6, "2 of 9"), (0, "")],
)
def test_remark_keeps_its_count(room, shown):
    assert fit_remark("/conv1  2 of 9 layers", room) == shown
