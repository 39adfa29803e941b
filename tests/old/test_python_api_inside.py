"""The Python API: what docs/python.md shows, the same numbers as the commands, short representations, safe files."""

from __future__ import annotations

import trex_tui
from test_python_api import PAGE, engine
from trex_tui import Engine
from trex_tui.old.analysis.columns import ALL_COLUMNS, full_frame

__all__ = ["engine"]


def test_every_name_is_there_and_every_class_of_results_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for name in trex_tui.__all__:
        member = getattr(trex_tui, name)
        if str(getattr(member, "__module__", "")).startswith("trex_tui.old.api"):
            assert f"\n### {name}" in text


def test_frame_has_every_column_and_attribute_with_its_type(engine: Engine) -> None:
    frame = engine.frame
    assert list(frame.columns[: len(ALL_COLUMNS)]) == [column.name for column in ALL_COLUMNS]
    assert any(name.startswith("attr.") for name in frame.columns)
    assert frame.equals(full_frame(engine))
    for column in ALL_COLUMNS:
        assert str(frame[column.name].dtype) in (column.dtype, "str" if column.dtype == "string" else "")
    assert len(engine.graph) == len(frame)
