"""Tables of raw values: their text, units and what they leave out."""

from __future__ import annotations

import math
import re
from functools import partial
from pathlib import Path

import pytest

import trex_tui.old.report
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.report.document import Cell, Column, Table, find_unit, make_table, number
from trex_tui.old.text import MISSING, format_ms


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("latency_ms", 1.23456, "1.2346"),
        ("latency_pct", 12.3456, "12.35"),
        ("weights_bytes", 2048, "2.00 KiB"),
        ("throughput_qps", 1234.567, "1234.57"),
        ("seconds", 1.23456, "1.235"),
        ("index", 123456, "123456"),
        ("layers", 123456, "123 k"),
        ("layers", None, MISSING),
        ("latency_ms", math.nan, MISSING),
        ("is_cached", True, "yes"),
        ("precision", DataType.FP16, "FP16"),
        ("nodes", ("a\x1b", "b"), "a␛, b"),
        ("name", "", MISSING),
        ("any", Cell(3, "at least 3"), "at least 3"),
    ],
)
def test_the_key_gives_the_text(key, value, text):
    assert Column(key, "Title").text(value) == text


def test_a_format_of_its_own():
    column = Column("latency_ms", "ms", format=partial(format_ms, digits=6))
    assert (column.text(1.0), column.text(None)) == ("1.000000", MISSING)


def test_units():
    keys = ("latency_ms", "latency_pct", "weights_bytes", "layers")
    assert [find_unit(Column(key, "")) for key in keys] == ["milliseconds", "percent", "bytes", ""]
    assert find_unit(Column("sqnr", "", unit="decibels")) == "decibels"


def test_rows_of_items():
    columns = (Column("name", "Name", value=str), Column("length", "Length", value=len, is_number=True))
    table = make_table("words", columns, ["one", "three", "seventeen"], top=2, noun="word")
    assert table.rows == [["one", 3], ["three", 5]]
    assert (table.rows_total, table.rest) == (3, "2 of 3 words; --top 0 shows all.")
    assert table.largest(1) == 5
    assert table.texts(1) == ["3", "5"]


def test_numbers_of_cells():
    assert [number(value) for value in (1, 2.5, Cell(3, "x"), Cell(None, "∞"), math.inf, True, "4")] == [
        1,
        2.5,
        3,
        None,
        None,
        None,
        None,
    ]
    assert Table("t", (Column("a", ""),), []).largest(0) == 0.0


def test_no_view_reads_a_value_out_of_text():
    folder = Path(trex_tui.old.report.__file__).parent
    readers = [
        path.name
        for path in (*(folder / "views").glob("*.py"), *folder.glob("render_*.py"))
        if re.search(r"^\s*(import|from) re\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert set(readers) <= {"render_markdown.py"}, "which looks for backticks in a chart"
