"""Every number of the analysis is described once: keys, aliases, units, and columns that compute."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from helpers import REPOSITORY
from trex_tui.analysis import (
    build,
    columns,
    compute,
    conditions,
    device,
    energy,
    engines,
    memory,
    options,
    roofline,
    structure,
    timing,
)
from trex_tui.api import load_engine
from trex_tui.column import Column
from trex_tui.engine.columns import COLUMNS as ENGINE_COLUMNS

TABLES: dict[str, dict[str, Column]] = {
    "columns": columns.COLUMNS,
    "compute": compute.FACTS,
    "conditions": conditions.FACTS,
    "device": device.FACTS,
    "energy": energy.FACTS,
    "layer energy": energy.LAYER_ENERGY,
    "engines": engines.COLUMNS,
    "memory": memory.FACTS,
    "live tensors": memory.LIVE_TENSORS,
    "roofline": roofline.COLUMNS | roofline.DETAILS,
    "totals": structure.TOTALS,
    "reformats": structure.REFORMATS,
    "dla": structure.DLA,
    "dla blocks": structure.DLA_BLOCKS,
    "statistics": timing.STATISTICS,
    "timing": timing.FACTS,
    "gap": timing.GAP,
    "tuned": build.TUNED,
    "tactics": build.TACTICS,
    "settings": options.SETTINGS,
}
FACTS: list[tuple[Any, dict[str, Column]]] = [
    (compute.ComputeFacts, compute.FACTS),
    (energy.PowerFacts, energy.FACTS),
    (memory.MemoryFacts, memory.FACTS),
    (structure.CriticalPath, structure.PATH),
    (structure.DlaFacts, structure.DLA),
    (timing.TimingFacts, timing.FACTS),
    (timing.LayerGap, timing.GAP),
]


@pytest.mark.parametrize("name", TABLES)
def test_descriptions_are_whole(name: str) -> None:
    for key, column in TABLES[name].items():
        assert (key, bool(column.title), column.help[-1:]) == (column.key, True, ".")


def test_names_of_columns_are_unambiguous() -> None:
    every = {**ENGINE_COLUMNS, **columns.COLUMNS}
    assert len(every) == len(ENGINE_COLUMNS) + len(columns.COLUMNS)
    names = Counter([*every, *(alias for column in every.values() for alias in column.aliases)])
    assert [name for name, number in names.items() if number > 1] == []
    own = Counter(
        [*engines.COLUMNS, *(alias for column in engines.COLUMNS.values() for alias in column.aliases)]
    )
    assert max(own.values()) == 1


def test_columns_have_a_value_per_layer() -> None:
    engine = load_engine(REPOSITORY / "sample_artifacts" / "resnet18")
    for key in columns.COLUMNS:
        assert engine.column(key).index.equals(engine.layers.index), key
    assert engine.column("macs").sum() > 1e9
    assert set(engine.column("bound").dropna()) <= roofline.BOUNDS.keys()
