"""Bars, facts and the strip chart as text: the parts of the overview and of the memory screen that need no app."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from trex_tui.old.report.charts.sampling import column_span, index_at
from trex_tui.old.report.document import Column, Table
from trex_tui.old.widgets.bars import BOTH, HERE, PEAK, bar_lines, draw_bars, draw_marks
from trex_tui.old.widgets.chrome import fit_remark
from trex_tui.old.widgets.text_view import TextLine, fact_lines, heading_line, sections, sentence_line
from trex_tui.old.widgets.theme import to_ascii

COLUMNS = (
    Column("key", "Kind"),
    Column("layers", "n", is_number=True),
    Column("latency_ms", "ms", is_number=True),
    Column("latency_pct", "%", is_number=True, has_bar=True),
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
        "By kind       n      ms      %  of all",
        "convolution  53  0.3833  81.49  ████████▏∙",
        "noop          1  0.0000   0.00  ∙∙∙∙∙∙∙∙∙∙",
        "Bound by",
    ]


def test_bars_and_dots_differ_in_ascii():
    texts = [to_ascii(text) for text in plain(42)]
    assert texts[1].endswith("########-.")
    assert texts[2].endswith("..........")


def test_figures_go_before_bars_where_there_is_little_room():
    assert plain(35)[1] == "convolution  0.3833  81.49  █████▊∙"
    assert plain(30)[1] == "convolution  81.49  ████████▏∙"
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


def strip(values: list[int], width: int, height: int, **marks: int) -> list[str]:
    grid = draw_marks(draw_bars(values, width, height), len(values), **marks)
    return ["".join(span.text for span in line) for line in grid.lines()]


def test_strip_fills_cells_by_eighths():
    assert strip([0, 1, 4, 8, 16], 5, 3) == ["    █", " ▁▄██", "0   4"]
    assert strip([0, 0], 4, 2) == ["    ", "0  1"]


def test_few_values_are_stretched_and_many_keep_their_peaks():
    assert strip([1, 2], 4, 2)[0] == "▄▄██"
    assert strip([1, 9, 1, 1, 2, 1], 3, 2)[0] == "█▁▂"


def test_marks_of_one_value_become_one_sign():
    assert strip([1, 2], 10, 2, peak=1, here=0)[1] == f"0 {HERE}    {PEAK} 1"
    assert strip([1, 2], 10, 2, peak=1, here=1)[1] == f"0      {BOTH} 1"


def test_marks_at_the_ends_move_the_numbers_of_the_axis():
    values = [1] * 26
    assert strip(values, 26, 2, here=0)[1] == f"{HERE}0{' ' * 22}25"
    assert strip(values, 26, 2, here=25)[1] == f"0{' ' * 22}25{HERE}"
    assert strip(values, 26, 2, here=24, peak=0)[1] == f"{PEAK}0{' ' * 20}25{HERE} "


@given(st.lists(st.integers(0, 2**40), min_size=1, max_size=400), st.integers(1, 200), st.integers(2, 8))
def test_strip_shows_the_largest_value_at_full_height(values, width, height):
    rows = strip(values, width, height)
    assert [len(row) for row in rows] == [width] * height
    column, _ = column_span(values.index(max(values)), len(values), width)
    assert rows[0][column] == ("█" if max(values) else " ")


@given(st.integers(1, 500), st.integers(1, 200))
def test_every_column_leads_to_a_value_that_stands_in_it(count, width):
    for column in range(width):
        index = index_at(column, count, width)
        assert 0 <= index < count
        start, end = column_span(index, count, width)
        assert start <= column < end


@pytest.mark.parametrize(
    ("room", "shown"),
    [(21, "/conv1  2 of 9 layers"), (20, "/conv1  2 of 9"), (13, "/c…v1  2 of 9"), (6, "2 of 9"), (0, "")],
)
def test_remark_keeps_its_count(room, shown):
    assert fit_remark("/conv1  2 of 9 layers", room) == shown


def test_names_break_behind_a_separator_where_there_is_no_space():
    line = TextLine(Content("/classifier/classifier_1/Gemm_myl4_2 + /classifier/classifier_4/Gemm"))
    assert [part.plain for part in line.wrap(24)] == [
        "/classifier/classifier_1",
        "/Gemm_myl4_2 +",
        "/classifier/classifier_4",
        "/Gemm",
    ]
    line = TextLine(Content("of 'DequantizeLinear_291' 1.8 %"))
    assert [part.plain for part in line.wrap(24)] == ["of 'DequantizeLinear_", "291' 1.8 %"]
    assert [part.plain for part in TextLine(Content("a" * 20)).wrap(8)] == ["a" * 8, "a" * 8, "a" * 4]
