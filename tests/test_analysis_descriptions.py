"""Every number of the analysis is described once: keys, aliases, units, and columns that compute."""

from __future__ import annotations

from collections import Counter

import pytest

from helpers import REPOSITORY
from trex_tui.analysis import columns, engines, roofline
from trex_tui.api import load_engine
from trex_tui.column import Column
from trex_tui.report.subjects import SUBJECTS


@pytest.mark.parametrize("subject", [subject for subject in SUBJECTS if not subject.startswith("charts")])
def test_descriptions_are_whole(subject: str) -> None:
    for key, column in SUBJECTS[subject].items():
        assert (key, bool(column.title), column.help[-1:]) == (column.key, key != "mark", ".")


@pytest.mark.parametrize("table", [columns.ALL_COLUMNS, engines.COLUMNS], ids=["layers", "engines"])
def test_names_of_columns_are_unambiguous(table: dict[str, Column]) -> None:
    names = Counter([*table, *(alias for column in table.values() for alias in column.aliases)])
    assert [name for name, number in names.items() if number > 1] == []


def test_columns_have_a_value_per_layer() -> None:
    engine = load_engine(REPOSITORY / "sample_artifacts" / "resnet18")
    for key in columns.COLUMNS:
        assert engine.column(key).index.equals(engine.layers.index), key
    assert engine.column("macs").sum() > 1e9
    assert set(engine.column("bound").dropna()) <= roofline.BOUNDS.keys()
