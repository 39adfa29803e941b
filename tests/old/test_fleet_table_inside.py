"""`trex-tui engines`: rows, models, groups, filters, formats, and sets that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from test_fleet_table import SAMPLES, Captured, read
from trex_tui import load_engine
from trex_tui.__main__ import main
from trex_tui.old.analysis.filter import FilterError
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.artifacts import scan
from trex_tui.old.fleet.engine_columns import COLUMNS, COLUMNS_BY_NAME, Need
from trex_tui.old.fleet.models import Signature, group_models
from trex_tui.old.fleet.pareto import find_front
from trex_tui.old.fleet.reader import read_fleet
from trex_tui.old.fleet.rows import read_rows
from trex_tui.old.fleet.table import filter_rows, find_column, make_table
from trex_tui.old.fleet.table import find_column as named
from trex_tui.old.lint.run import run as run_lint
from trex_tui.old.report.charts.fleet_charts import kind_shares_figure, pareto_figure, trend_figure
from trex_tui.old.report.views.fleet import document_column


def test_findings_are_those_of_lint(capsys: Captured) -> None:
    (row,) = read(capsys, SAMPLES / "alexnet", "--columns", "findings,saving")["rows"]
    result = run_lint(load_engine(SAMPLES / "alexnet"))
    assert row == {"findings": len(result.findings), "saving_ms": result.saving_ms}


def test_lint_runs_only_for_its_columns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Captured
) -> None:
    monkeypatch.setattr("trex_tui.old.fleet.engine_values._lint", lambda _: pytest.fail("lint ran"))
    for form in ("txt", "json", "csv", "md", "html", "parquet"):
        assert main(["engines", str(SAMPLES / "names_only"), "-o", str(tmp_path / f"x.{form}")]) == 0
    capsys.readouterr()


def test_parquet_has_the_values_and_types(tmp_path: Path, capsys: Captured) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "fleet.parquet"
    assert main(["engines", str(SAMPLES), "-o", str(target)]) == 0
    table = parquet.read_table(target)
    document = read(capsys, SAMPLES)
    assert table.to_pylist() == document["rows"]
    types = {"float64": "double", "Int64": "int64", "string": "string", "object": "list<element: string>"}
    assert {field.name: str(field.type) for field in table.schema} == {
        column.name: types[column.dtype] for column in COLUMNS if column.need < Need.LINT
    }
    assert main(["engines", str(SAMPLES), "-o", str(target)]) == 0, "its own file is replaced"


def test_other_networks_with_equal_inputs_are_other_models() -> None:
    nodes = [f"{number:016x}" for number in range(200)]
    small, large = Signature("net_a", "io", tuple(nodes[:40])), Signature("net_b", "io", tuple(nodes[:64]))
    similar = Signature("net_c", "io", (*nodes[:38], *nodes[100:102]))
    assert group_models([small, similar, None, large]) == ["net", "net", None, "net_b"]
    assert group_models([small, Signature("net_a", "other", small.nodes)]) == ["net_a", "net_a (2)"]


def similar_models(*paths: object) -> dict[str, list[str]]:
    rows = [row for source in scan(paths).sets for row in read_rows(source, LoadOptions()).rows]
    return {row.source.name: row.value("similar") or [] for row in make_table(rows)}


def test_exports_with_other_names_are_similar(artifacts: Path) -> None:
    found = similar_models(artifacts)
    assert {"resnet-qat", "resnet-qat-residual"} <= set(found["resnet-A100/fp16/resnet"])
    assert "resnet" in found["resnet-qat"]
    assert not found["tf-resnet-RTX3090/fp16/resnet"], "a ResNet-50"
    assert found["mobilenet_v2_fp16"] == ["mobilenet_v2", "mobilenet.qat"]
    assert not found["vgg16"]


def test_layers_of_other_shapes_are_no_evidence(tmp_path: Path) -> None:
    def write(name: str, channels: int, count: int) -> None:
        layers = [
            {
                "Name": f"{name}{index}",
                "LayerType": "CaskConvolution",
                "Inputs": [{"Name": f"{name}{index}", "Dimensions": [1, 3, 8, 8], "Format/Datatype": "Half"}],
                "Outputs": [
                    {
                        "Name": f"{name}{index + 1}",
                        "Dimensions": [1, 3 if index + 1 == count else channels, 8, 8],
                        "Format/Datatype": "Half",
                    }
                ],
            }
            for index in range(count)
        ]
        bindings = [f"{name}0", f"{name}{count}"]
        text = json.dumps({"Layers": layers, "Bindings": bindings})
        (tmp_path / f"{name}.graph.json").write_text(text, encoding="utf-8")

    for name, channels, count in (("a", 16, 8), ("b", 16, 8), ("c", 32, 8), ("d", 16, 3), ("e", 16, 3)):
        write(name, channels, count)
    assert similar_models(tmp_path) == {"a": ["b"], "b": ["a"], "c": [], "d": [], "e": []}


def test_an_engine_without_layers_is_a_model_of_its_name() -> None:
    assert group_models([Signature("a"), Signature("b"), Signature("a")]) == ["a", "b", "a"]


Points = st.lists(
    st.tuples(st.none() | st.integers(0, 9).map(float), st.none() | st.integers(0, 9).map(float)), max_size=30
)


@given(Points, st.booleans(), st.booleans())
def test_the_front_is_what_nothing_beats(points: list[Any], x_higher: bool, y_higher: bool) -> None:
    front = find_front(points, is_x_higher=x_higher, is_y_higher=y_higher)
    signs = (-1 if x_higher else 1), (-1 if y_higher else 1)
    costs = {
        index: (x * signs[0], y * signs[1])
        for index, (x, y) in enumerate(points)
        if x is not None and y is not None
    }

    def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
        return one != other and one[0] <= other[0] and one[1] <= other[1]

    expected = {i for i, cost in costs.items() if not any(beats(other, cost) for other in costs.values())}
    assert set(front) == expected
    assert [costs[index][0] for index in front] == sorted(costs[index][0] for index in front)


def test_figures_without_data_have_a_sentence() -> None:
    rows = make_table(
        read_rows(source, LoadOptions()).rows[0] for source in scan(SAMPLES / "names_only").sets
    )
    median, weights = COLUMNS_BY_NAME["latency_median_ms"], COLUMNS_BY_NAME["weights_bytes"]
    for figure in (
        pareto_figure(rows, median, weights),
        trend_figure(rows, median),
        pareto_figure([], median, weights),
        kind_shares_figure([]),
    ):
        assert figure.form is None
        assert figure.words


def test_columns_are_found_by_short_names() -> None:
    for name, full in (("p99", "latency_p99_ms"), ("ENG", None), ("engine_b", "engine_bytes"), ("x", None)):
        column = named(name)
        assert (column.name if column else None) == full


def test_all_columns_have_texts() -> None:
    assert len(COLUMNS_BY_NAME) == len(COLUMNS)
    for column in COLUMNS:
        assert column.description.endswith(".")
        assert find_column(column.name) is column


def test_an_invalid_filter_has_a_position() -> None:
    from trex_tui.old.fleet.table import filter_rows

    with pytest.raises(FilterError) as caught:
        filter_rows([], "p99<1 devise:a")
    assert caught.value.position == 6


@pytest.mark.parametrize(
    ("text", "engines"),
    [
        ("int8", ["alexnet.qat"]),
        ("4090", ["encoder_fp8"]),
        ("-rtx", []),
        ("attention", ["encoder_fp8"]),
        ("modelled", ["alexnet_fp16"]),
        ("sample_artifacts/names_only", []),
    ],
)
def test_a_word_is_searched_in_all_texts(text: str, engines: list[str]) -> None:
    rows = read_fleet(scan([SAMPLES]), LoadOptions()).rows
    assert [row.value("engine") for row in filter_rows(rows, text)] == engines


def test_weights_of_a_log_with_several_strategies(tmp_path: Path) -> None:
    log = tmp_path / "encoder.build.log"
    log.write_bytes((SAMPLES / "transformer_fp8" / "encoder_fp8.build.log").read_bytes())
    (row,) = read_fleet(scan([log]), LoadOptions()).rows
    assert row.value("weights_bytes") == 1769472


@pytest.mark.parametrize(
    ("width", "text"),
    [
        (40, "NVIDIA GeForce RTX 3060 Laptop GPU"),
        (30, "GeForce RTX 3060 Laptop GPU"),
        (21, "RTX 3060 Laptop GPU"),
        (17, "RTX 3060 Laptop"),
    ],
)
def test_a_device_loses_its_brand_first(width: int, text: str) -> None:
    name = "NVIDIA GeForce RTX 3060 Laptop GPU"
    shown = document_column(COLUMNS_BY_NAME["device"]).shorten(name, width)
    assert shown == text
