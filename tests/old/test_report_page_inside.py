"""The page of a report: what a browser makes of it, and what any reader of HTML can check."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples
from test_report_page import Reader
from trex_tui.old.report.document import Column, Document, Part, Section, make_table
from trex_tui.old.report.render_html import document_page
from trex_tui.old.report.render_markdown import document_markdown
from trex_tui.old.text import printable


def tiny(text: str, value: float | None) -> Document:
    """A report in which a text stands wherever one can."""
    columns = (
        Column("name", "Name", help=text),
        Column("latency_ms", text, is_number=True, has_bar=True),
    )
    found = make_table("t", columns, [(text, value), ("other", 1.0)], title=text)
    section = Section("s", text, sentences=[text], facts=[(text, text)], tables=[found])
    return Document(text, [Part("p", text, [section])])


@given(st.text(max_size=40), st.none() | st.floats(allow_nan=True, allow_infinity=True))
@settings(max_examples=examples(25))
def test_any_text_and_number_make_a_sound_page(text: str, value: float | None) -> None:
    written = document_page(tiny(text, value))
    page = Reader(written)
    assert written.count("<script") == 1
    assert printable(text) in "".join(page.texts)
    rows = [line for line in document_markdown(tiny(text, value)).splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) for row in rows} == {4}
