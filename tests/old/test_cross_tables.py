"""Layers grouped by columns: sums, order, unknown values, and the forms of `summary --by`."""

from __future__ import annotations

import csv
import io
import json
import math
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explained import assert_keys_explained, assert_sections_explained
from helpers import REPOSITORY, RealSet, examples, layer, real_sets, tensor, write_graph, write_profile
from trex_tui.old.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.structure import known_value, total_by_columns
from trex_tui.old.cli import main
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.lint.run import run
from trex_tui.old.report.views.cross_tables import Grouping, cross_sections
from trex_tui.old.report.views.engine import make_subject
from trex_tui.old.report.views.lint import EngineReport

SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
ALEXNET, NAMES_ONLY = str(SAMPLES / "alexnet_int8"), str(SAMPLES / "names_only")
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


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["summary", *arguments]) == 0
    return capsys.readouterr().out


def test_every_form_has_the_same_groups(capsys: pytest.CaptureFixture[str]) -> None:
    by = ("--by", "kind,precision")
    document = json.loads(output(capsys, ALEXNET, *by, "--json"))
    assert (document["schema"], document["by"]) == ("trex-tui/cross-table/1", ["kind", "precision"])
    groups = document["engines"][0]["groups"]
    rows = list(csv.DictReader(io.StringIO(output(capsys, ALEXNET, *by, "--format", "csv"))))
    assert [
        (row["kind"], row["precision"], int(row["layers"]), float(row["latency_ms"])) for row in rows
    ] == [(group["kind"], group["precision"], group["layers"], group["latency_ms"]) for group in groups]
    text, markdown = (output(capsys, ALEXNET, *by, "--format", form) for form in ("text", "md"))
    for group in groups:
        words = [group["kind"], group["precision"], str(group["layers"]), f"{group['latency_ms']:.4f}"]
        assert any(line.split()[:4] == words for line in text.splitlines())
        assert any(line.replace("|", " ").split()[:4] == words for line in markdown.splitlines())


def test_a_layer_without_an_attribute_has_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    lines = output(capsys, ALEXNET, "--by", "kind,kernel").splitlines()
    assert any(line.split()[:2] == ["pooling", "–"] for line in lines)
    assert "unknown" not in "".join(lines)


def test_a_filter_chooses_the_layers(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = (ALEXNET, "--by", "kind", "--filter", "kind:gemm,pooling")
    groups = json.loads(output(capsys, *chosen, "--json"))["engines"][0]["groups"]
    everything = json.loads(output(capsys, *chosen[:3], "--json"))["engines"][0]["groups"]
    assert groups == [group for group in everything if group["kind"] in ("gemm", "pooling")]
    assert sum(group["layers"] for group in groups) > 1
    text = output(capsys, *chosen)
    assert (
        f"{sum(group['layers'] for group in groups)} of {sum(group['layers'] for group in everything)} layers, "
        in text
    )
    assert main(["summary", ALEXNET, "--filter", "kind:gemm"]) == 2
    assert "--filter needs --by" in capsys.readouterr().err


def test_no_column_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", ALEXNET, "--by", ""]) == 2
    assert "no column ''" in capsys.readouterr().err


def test_an_unknown_value_is_a_group_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    by = ("--by", "precision")
    assert "unknown" in output(capsys, NAMES_ONLY, *by)
    document = json.loads(output(capsys, NAMES_ONLY, ALEXNET, *by, "--json"))
    assert [group["precision"] for group in document["engines"][0]["groups"]] == [None]
    rows = list(csv.DictReader(io.StringIO(output(capsys, NAMES_ONLY, ALEXNET, *by, "--format", "csv"))))
    assert [row["engine"] for row in rows if row["precision"] == ""] == ["squeezenet_fp16"]
    assert {row["engine"] for row in rows} == {"squeezenet_fp16", "alexnet.qat"}


def test_what_states_nothing_is_unknown() -> None:
    for value in (None, float("nan"), "", ()):
        assert known_value(value) is None
    for stated in (0, False, "0", (0,), 0.0):
        assert known_value(stated) is stated
    (total,) = total_by_columns(load_engine(ALEXNET), [ALL_COLUMNS_BY_NAME["onnx_nodes"]])
    assert total.values == (None,)


def test_short_names_attributes_and_top(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(output(capsys, ALEXNET, "--by", "prec,attr.HasBias,groups", "--top", "2", "--json"))
    assert document["by"] == ["precision", "attr.HasBias", "groups"]
    assert len(document["engines"][0]["groups"]) == 2
    whole = json.loads(output(capsys, ALEXNET, "--by", "name", "--json"))["engines"][0]["groups"]
    assert len(whole) > 5, "without --top all groups are shown"


@pytest.mark.parametrize(
    ("by", "message"),
    [
        ("latency_ms", "--by: latency_ms differs for every layer"),
        ("kind,kid", "no column 'kid'; did you mean kind?"),
        ("kind,kind", "--by: kind is given twice"),
        ("kind,", "no column ''"),
        ("attr.Nothing", "attr.Nothing"),
    ],
)
def test_columns_that_make_no_sense(by: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["summary", ALEXNET, "--by", by]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert main(["summary", ALEXNET, "--format", "csv"]) == 2, "only groups are rows of one table"


def test_its_own_file_is_replaced(tmp_path: Path) -> None:
    target = str(tmp_path / "x.json")
    for by in ("kind", "precision"):
        assert main(["summary", ALEXNET, "--by", by, "-o", target]) == 0
    assert main(["summary", ALEXNET, "-o", target]) == 0


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
