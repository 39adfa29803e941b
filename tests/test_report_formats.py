"""Documents in every format: nothing is lost, nothing acts, nothing is cut that should not be."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from helpers import strict_json
from trex_tui.column import Column
from trex_tui.errors import Note, Severity, TrexError
from trex_tui.frames import FLOAT, INT, TEXT
from trex_tui.report.document import Document, Fact, Section, drop_empty_columns, plain
from trex_tui.report.formats import WRITERS, write_notes
from trex_tui.report.text import align_table, render_text, to_ascii, wrap

COLUMNS = (
    Column("name", "Layer", "Name.", width=12, priority=0),
    Column("latency_ms", "ms", "Time.", priority=1),
    Column("weights_bytes", "Weights", "Bytes.", priority=7),
    Column("formats", "Formats", "Formats of the inputs.", is_list=True, priority=5),
)
ROWS = {
    "name": pd.array(["conv + relu", None, '=HYPERLINK("x")'], TEXT),
    "latency_ms": pd.array([0.123456789, None, 2.0], FLOAT),
    "weights_bytes": pd.array([1024, 0, None], INT),
    "formats": [("FP16 NCHW", "FP32"), (), None],
}
DAMAGE = Note(Severity.ERROR, Path("net.json"), "line 3", "is truncated")
DOUBT = Note(Severity.WARNING, Path("net.json"), "", "may be old")


def make_document(**more: object) -> Document:
    frame = pd.DataFrame({key: pd.Series(values) for key, values in ROWS.items()})
    facts = [
        Fact(Column("batch", "Batch", "Samples."), 4),
        Fact(Column("weights_bytes", "Weights"), 2048),
        Fact(Column("p99_ms", "p99"), None),
        Fact(Column("", "Note"), None, "for people"),
        Fact(Column("tf32", "TF32"), False, is_folded=True),
    ]
    sections = [
        Section("model", "Model", facts, ["Two inputs."]),
        Section("layers", "Layers", frame=frame, columns=COLUMNS, bar="latency_ms", noun="layer"),
        Section("more", data={"count": 3, "gone": float("nan")}, audience="programs"),
    ]
    return Document("summary", "net", sections, [DOUBT, DAMAGE], **more)  # type: ignore[arg-type]


def test_json_has_everything_and_null_for_the_unknown() -> None:
    document = strict_json(str(WRITERS["json"].write(make_document(version=3))))
    assert document["schema"] == "trex-tui/summary/3"
    assert document["model"] == {
        "batch": 4, "weights_bytes": 2048, "p99_ms": None, "tf32": False, "sentences": ["Two inputs."],
    }  # fmt: skip
    assert document["layers"][0] == {
        "name": "conv + relu",
        "latency_ms": 0.123456789,
        "weights_bytes": 1024,
        "formats": ["FP16 NCHW", "FP32"],
    }
    assert document["layers"][1]["name"] is document["layers"][2]["weights_bytes"] is None
    assert document["more"] == {"count": 3, "gone": None}
    assert [note["severity"] for note in document["diagnostics"]] == ["warning", "error"]


def test_csv_has_plain_numbers_and_no_formula() -> None:
    rows = list(csv.reader(io.StringIO(str(WRITERS["csv"].write(make_document())))))
    assert rows[0] == ["name", "latency_ms", "weights_bytes", "formats"]
    assert rows[1] == ["conv + relu", "0.123456789", "1024", "FP16 NCHW;FP32"]
    assert rows[2] == ["", "", "0", ""]
    assert rows[3][0] == '\'=HYPERLINK("x")'


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5))
def test_any_text_is_one_cell_and_never_a_formula(texts: list[str]) -> None:
    document = Document("x", "x", [Section("x", frame=pd.DataFrame({"name": pd.array(texts, TEXT)}))])
    rows = list(csv.reader(io.StringIO(str(WRITERS["csv"].write(document)))))
    assert len(rows) == len(texts) + 1
    for row in rows[1:]:
        cell = row[0] if row else ""
        assert not cell.lstrip().startswith(("=", "+", "-", "@", "\t", "\r"))
        assert cell.isprintable()


def test_notes_are_in_every_format_or_beside_it() -> None:
    document = make_document()
    for name in ("text", "json", "md"):
        content = str(WRITERS[name].write(document))
        assert "is truncated" in content
        assert "may be old" in content
    assert [name for name, writer in WRITERS.items() if not writer.has_notes] == [
        "csv",
        "svg",
        "png",
    ]
    assert write_notes(document.damage()).splitlines() == [
        "severity,file,where,message", "error,net.json,line 3,is truncated",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["parquet", "xlsx"])
def test_files_of_tables(name: str) -> None:
    data = WRITERS[name].write(make_document())
    assert isinstance(data, bytes)
    assert data == WRITERS[name].write(make_document()), "equal results give equal files"
    if name == "parquet":
        pytest.importorskip("pyarrow")
        frame = pd.read_parquet(io.BytesIO(data))
        assert frame["latency_ms"].tolist()[0] == 0.123456789
        assert frame.attrs["notes"] == ["warning: net.json: may be old", "error: net.json:3: is truncated"]
    else:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.load_workbook(io.BytesIO(data))
        rows = list(book["summary"].iter_rows(values_only=True))
        assert rows[3][0] == '=HYPERLINK("x")'
        assert {cell.data_type for row in book["summary"].iter_rows() for cell in row} <= {"s", "n"}
        assert [row[3] for row in book["notes"].iter_rows(values_only=True)][1:] == [
            "may be old",
            "is truncated",
        ]


def test_markdown_shows_what_people_see() -> None:
    text = str(WRITERS["md"].write(make_document()))
    assert text.startswith("<!-- trex-tui/summary/1 -->\n# net\n")
    assert "- **Weights:** 2.00 KiB" in text
    assert "| Layer | ms | Weights | Formats |  |\n|---|---:|---:|---|---|\n" in text
    assert "| conv + relu | 0.1235 | 1.00 KiB | FP16 NCHW, FP32 | █" in text
    assert "| – | – | 0 B | – |  |" in text
    assert "TF32" not in text


def test_html_is_one_page_without_scripts() -> None:
    pytest.importorskip("jinja2")
    page = str(WRITERS["html"].write(make_document()))
    assert "<script" not in page
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page
    assert '<p role="note" class="warning">error: net.json:3: is truncated</p>' in page
    assert "=HYPERLINK(&#34;x&#34;)" in page


def test_a_table_that_is_not_one_is_refused() -> None:
    document = make_document()
    two = Document("x", "x", [*document.sections, Section("others", frame=pd.DataFrame({"a": [1]}))])
    with pytest.raises(TrexError, match="the result has 2 tables; use --format json"):
        WRITERS["csv"].write(two)
    aside = Document(
        "x", "x", [*document.sections, Section("others", frame=pd.DataFrame({"a": [1]}), is_aside=True)]
    )
    assert WRITERS["csv"].write(aside) == WRITERS["csv"].write(document)
    with pytest.raises(TrexError, match="no table"):
        WRITERS["csv"].write(Document("x", "x"))


# Text


def test_text_in_a_pipe_is_whole() -> None:
    lines = render_text(make_document()).plain.split("\n")
    assert lines[:6] == [
        "Model",
        "Two inputs.",
        "Batch    4",
        "Weights  2.00 KiB",
        "p99      –",
        "Note     for people",
    ]
    assert lines[6] == "1 more: --all"
    assert "TF32     no" in render_text(make_document(), is_unfolded=True).plain
    assert lines[9].split() == ["Layer", "ms", "Weights", "Formats"]
    assert lines[10].rstrip("█▏▎▍▌▋▊▉ ") == "conv + relu      0.1235  1.00 KiB  FP16 NCHW, FP32"
    assert lines[-2:] == ["error: net.json:3: is truncated", "warning: net.json: may be old"]


@pytest.mark.parametrize("width", range(8, 130, 7))
def test_lines_fit_a_terminal(width: int) -> None:
    table = align_table(make_document().sections[1], width)
    assert max(map(cell_len, table)) <= max(width, 40)
    assert len({cell_len(line[: line.index("█")]) for line in table[1:] if "█" in line}) <= 1


@given(st.text(max_size=60), st.integers(10, 40))
def test_words_wrap_and_none_is_lost(text: str, width: int) -> None:
    words = text.split()
    lines = wrap(" ".join(words), width)
    assert " ".join(lines).split() == words or any(len(word) > width for word in words)


def test_ascii_keeps_the_width() -> None:
    text = render_text(make_document()).plain
    assert to_ascii(text).isascii()
    assert len(to_ascii(text)) == len(text)


def test_columns_without_a_value_are_dropped() -> None:
    frame = pd.DataFrame({"a": pd.array([None, None], INT), "b": pd.array([1, None], INT)})
    section = Section("x", frame=frame, columns=(Column("a", "A"), Column("b", "B")))
    assert [column.key for column in drop_empty_columns(section).columns] == ["b"]
    assert len(drop_empty_columns(Section("x", frame=frame[:0], columns=section.columns)).columns) == 2


def test_values_for_programs() -> None:
    assert plain({"a": pd.NA, "b": (1, 2.5), "c": Path("x"), None: float("inf"), 99.9: "p"}) == {
        "a": None, "b": [1, 2.5], "c": "x", "unknown": None, "p99.9": "p",
    }  # fmt: skip
    assert plain(DAMAGE) == {
        "severity": "error",
        "file": "net.json",
        "where": "line 3",
        "message": "is truncated",
    }
    with pytest.raises(TypeError):
        plain(object())
