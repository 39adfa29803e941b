"""Properties of every engine: sums add up, links are correct, the join uses nothing twice."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples, layer, tensor
from trex_tui.old.analysis.columns import columns_named
from trex_tui.old.analysis.structure import total_by, total_by_kind, total_by_precision
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.layer_info import LayerInfo
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.artifacts.profile import Profile, ProfileRow
from trex_tui.old.artifacts.records import Records
from trex_tui.old.engine import COLUMNS, Engine
from trex_tui.old.engine.build import join_profile
from trex_tui.old.engine.columns import build_frame
from trex_tui.old.engine.model import follow_tensors
from trex_tui.old.report.views.layer_table import sorted_layers

NAMES = st.sampled_from(["a", "b", "c", "d"])
TIMES = st.one_of(st.none(), st.just(0.0), st.floats(1e-6, 1e6))
TYPES = st.sampled_from(["kgen", "CaskConvolution", "gemm", "NoOp", "Reformat", "signal", "Unheard"])
DTYPES = st.sampled_from(["Half", "Float", "Int8", "Int32", "Unknown format"])
TENSORS = st.lists(
    st.builds(lambda name, dtype: tensor(name, 2, dtype=dtype), st.sampled_from("xyz"), DTYPES), max_size=3
)
LAYERS = st.lists(st.builds(layer, NAMES, TYPES, TENSORS, TENSORS), max_size=12)
ROWS = st.lists(st.builds(ProfileRow, NAMES, TIMES, TIMES, TIMES, TIMES), max_size=12)


def engine_of(layers: list[dict[str, Any]], rows: list[ProfileRow]) -> Engine:
    source = ArtifactSet("made", Path(), {})
    info, profile = LayerInfo(tuple(layers), ()), Profile(tuple(rows), 1)
    return Engine.from_records(Records(source, info, profile, None, Metadata(), None, ()))


@given(LAYERS, ROWS)
@settings(max_examples=examples(150))
def test_sums_add_up(layers: list[dict[str, Any]], rows: list[ProfileRow]) -> None:
    engine = engine_of(layers, rows)
    for totals in (total_by_kind(engine), total_by_precision(engine), total_by(engine, lambda one: one.name)):
        assert sum(total.layers for total in totals) == len(layers)
        assert len({total.key for total in totals}) == len(totals)
        times = [total.latency_ms for total in totals if total.latency_ms is not None]
        if engine.latency_sum_ms is None:
            assert times == []
            continue
        assert math.fsum(times) == pytest.approx(engine.latency_sum_ms, rel=1e-9)
        shares = [total.latency_pct for total in totals if total.latency_pct is not None]
        if engine.latency_sum_ms > 0:
            assert math.fsum(shares) == pytest.approx(100.0, rel=1e-9)
        else:
            assert shares == []
    shown = [engine.latency_pct(one) for one in engine.layers]
    assert [share is None for share in shown] == [
        one.latency_ms is None or not engine.latency_sum_ms for one in engine.layers
    ]


@given(LAYERS)
@settings(max_examples=examples(150))
def test_links_point_to_a_writer_and_a_reader(layers: list[dict[str, Any]]) -> None:
    engine = engine_of(layers, [])
    links = follow_tensors(engine.layers)
    assert len(set(links)) == len(links)
    for link in links:
        assert link.tensor in {one.name for one in engine.layers[link.source].outputs}
        assert engine.layers[link.target].inputs[link.port].name == link.tensor
        assert link.is_loop is (link.source >= link.target)
    written = {tensor.name for one in engine.layers for tensor in one.outputs}
    ports = {
        (one.index, port)
        for one in engine.layers
        for port, read in enumerate(one.inputs)
        if read.name in written
    }
    assert {(link.target, link.port) for link in links} == ports


@given(st.lists(NAMES, max_size=12), ROWS)
@settings(max_examples=examples(200))
def test_the_join_is_a_partition(names: list[str], rows: list[ProfileRow]) -> None:
    """Every row goes to at most one layer, in order; what is left on either side has nothing left to go to."""
    marked = [ProfileRow(row.name, None, float(place), None, None) for place, row in enumerate(rows)]
    joined = join_profile(names, Profile(tuple(marked), 1), None)
    used = [one.average_ms for one in joined.latencies if one is not None]
    assert len(set(used)) == len(used)
    for name in set(names) | {row.name for row in rows}:
        places = [joined.latencies[place] for place, one in enumerate(names) if one == name]
        got = [one.average_ms for one in places if one is not None]
        available = [row.average_ms for row in marked if row.name == name]
        assert got == available[: len(places)]
        assert len(got) == min(len(places), len(available))
    lost = Counter(row.name for row in rows) - Counter(names)
    told = [
        one for one in joined.diagnostics if "match no layer" in one.message or "none of its" in one.message
    ]
    assert len(told) == bool(lost)


@given(LAYERS, ROWS, st.sampled_from([column.name for column in COLUMNS]), st.booleans())
def test_sorting_keeps_every_layer_and_puts_missing_last(
    layers: list[dict[str, Any]], rows: list[ProfileRow], name: str, reverse: bool
) -> None:
    engine = engine_of(layers, rows)
    (column,) = columns_named([name])
    ordered = sorted_layers(engine, column, reverse=reverse)
    assert sorted(one.index for one in ordered) == list(range(len(layers)))
    values = [column.value(engine, one) for one in ordered]
    known = [value for value in values if value is not None]
    assert values == known + [None] * (len(values) - len(known))
    assert known == sorted(known, reverse=column.is_number is not reverse)


@given(LAYERS, ROWS)
def test_the_frame_agrees_with_the_columns(layers: list[dict[str, Any]], rows: list[ProfileRow]) -> None:
    engine = engine_of(layers, rows)
    frame = build_frame(engine)
    assert list(frame.columns) == [column.name for column in COLUMNS]
    for column in COLUMNS:
        cells = frame[column.name]
        missing = cells.isna().tolist()
        values = [column.value(engine, one) for one in engine.layers]
        assert [None if gone else cell for cell, gone in zip(cells, missing, strict=True)] == values
