"""Layers grouped by columns: sums, order, unknown values, and the forms of `summary --by`."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from explained import assert_keys_explained, assert_sections_explained
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import (
    RealSet,
    examples,
    layer,
    real_sets,
    tensor,
    write_graph,
    write_profile,
)
from test_cross_tables import ALEXNET, SAMPLES
from trex_tui.old.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.structure import known_value, total_by_columns
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.lint.run import run
from trex_tui.old.report.views.cross_tables import Grouping, cross_sections
from trex_tui.old.report.views.engine import make_subject
from trex_tui.old.report.views.lint import EngineReport

GROUPABLE = [column.name for column in ALL_COLUMNS if column.dtype != "float64"]
MEASURED = [column.name for column in ALL_COLUMNS if column.dtype == "float64"]


def check_sums(engine: Engine, names: tuple[str, ...]) -> None:
    """The groups hold every layer once, and add up to the totals of the engine."""
    columns = [ALL_COLUMNS_BY_NAME[name] for name in names]
    totals = total_by_columns(engine, columns)
    assert sum(total.layers for total in totals) == len(engine.layers)
    assert len({total.values for total in totals}) == len(totals)
    times = [total.latency_ms for total in totals if total.latency_ms is not None]
    if engine.latency_sum_ms is None:
        assert not times
    else:
        assert math.fsum(times) == pytest.approx(engine.latency_sum_ms, abs=1e-12)
    shares = [total.latency_pct for total in totals if total.latency_pct is not None]
    if engine.latency_sum_ms:
        assert math.fsum(shares) == pytest.approx(100.0)
    for total in totals:
        members = [
            one
            for one in engine.layers
            if tuple(known_value(column.value(engine, one)) for column in columns) == total.values
        ]
        assert len(members) == total.layers
        known = [one.latency_ms for one in members if one.latency_ms is not None]
        assert total.latency_ms == (pytest.approx(math.fsum(known)) if known else None)


@settings(max_examples=examples(30), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(("Convolution", "Reformat", "PointWise", "kgen", "Constant")),
            st.sampled_from(("Half", "Float", "Int8", "Nothing known")),
            st.sampled_from((None, "QDQ", "REFORMAT")),
            st.one_of(st.none(), st.floats(0, 10)),
        ),
        min_size=1,
        max_size=12,
    ),
    st.lists(st.sampled_from(GROUPABLE), min_size=1, max_size=3, unique=True),
)
def test_sums_are_those_of_the_engine(rows: list[tuple[Any, ...]], names: list[str]) -> None:
    layers = [
        layer(
            f"l{place}",
            kind,
            [tensor("in", 1, 8, dtype=dtype)],
            [tensor(f"t{place}", 1, 8, dtype=dtype)],
            **({} if origin is None else {"Origin": origin}),
        )
        for place, (kind, dtype, origin, _) in enumerate(rows)
    ]
    with tempfile.TemporaryDirectory() as folder:
        write_graph(Path(folder) / "x.graph.json", layers, ["in"])
        times = {f"l{place}": row[3] for place, row in enumerate(rows) if row[3] is not None}
        if times:
            write_profile(Path(folder) / "x.profile.json", times.items())
        check_sums(load_engine(folder), tuple(names))


@pytest.mark.parametrize("real", real_sets(having=["graph"])[::4])
def test_sums_of_real_engines(real: RealSet) -> None:
    engine = real.engine()
    for names in (("kind", "precision"), ("kind", "output_precision"), ("origin",), ("n_operations", "kind")):
        check_sums(engine, names)


def test_groups_of_the_first_column_follow_each_other_the_slowest_first() -> None:
    engine = load_engine(SAMPLES / "transformer_fp8")
    totals = total_by_columns(engine, [ALL_COLUMNS_BY_NAME["kind"], ALL_COLUMNS_BY_NAME["precision"]])
    kinds = [total.values[0] for total in totals]
    first = list(dict.fromkeys(kinds))
    assert kinds == sorted(kinds, key=first.index)
    times = {
        kind: math.fsum(total.latency_ms or 0.0 for total in totals if total.values[0] == kind)
        for kind in first
    }
    assert [times[kind] for kind in first] == sorted(times.values(), reverse=True)
    gemm = [total.latency_ms for total in totals if total.values[0] == "gemm"]
    assert len(gemm) > 1
    assert gemm == sorted(gemm, reverse=True)


def test_what_states_nothing_is_unknown() -> None:
    for value in (None, float("nan"), "", ()):
        assert known_value(value) is None
    for stated in (0, False, "0", (0,), 0.0):
        assert known_value(stated) is stated
    (total,) = total_by_columns(load_engine(ALEXNET), [ALL_COLUMNS_BY_NAME["onnx_nodes"]])
    assert total.values == (None,)


def sections_of(engine: Engine) -> list[Any]:
    return list(cross_sections(make_subject(EngineReport(engine, run(engine)))))


def test_the_report_leaves_out_tables_of_which_nothing_is_known() -> None:
    (section,) = sections_of(load_engine(SAMPLES / "alexnet_int8"))
    tables = {table.id: table for table in section.tables}
    assert list(tables) == ["kind_precision", "kind_output_precision", "reformat_origin", "kind_tactic"]
    origins = {row[0]: row[1] for row in tables["reformat_origin"].rows}
    assert origins == {"QDQ": 1, "REFORMAT": 2}
    assert sections_of(load_engine(SAMPLES / "names_only")) == []


def test_pointwise_layers_by_number_of_operations(tmp_path: Path) -> None:
    layers = [
        layer("a", "PointWise", [tensor("in", 1)], [tensor("a", 1)], NbOperations=3),
        layer("b", "PointWise", [tensor("a", 1)], [tensor("b", 1)], NbOperations=3),
        layer("c", "PointWise", [tensor("b", 1)], [tensor("c", 1)], NbOperations=1),
        layer("d", "Convolution", [tensor("c", 1)], [tensor("d", 1)]),
    ]
    write_graph(tmp_path / "x.graph.json", layers, ["in", "d"])
    (section,) = sections_of(load_engine(tmp_path))
    (table,) = (table for table in section.tables if table.id == "pointwise_operations")
    assert [row[:2] for row in table.rows] == [[3, 2], [1, 1]]


def test_everything_is_explained() -> None:
    for name in ("alexnet", "transformer_fp8"):
        engine = load_engine(SAMPLES / name)
        columns = [ALL_COLUMNS_BY_NAME[column] for column in ("kind", "precision", "groups")]
        grouping = Grouping([(engine, engine.layers)], columns)
        assert_keys_explained("cross-table", grouping.document())
        sections = [section for _, section in grouping.sections()]
        assert_sections_explained([*sections, *sections_of(engine)])


def test_measurements_are_no_groups() -> None:
    assert "latency_ms" in MEASURED
    assert {"kind", "precision", "groups", "kernel", "n_operations", "origin"} <= set(GROUPABLE)
