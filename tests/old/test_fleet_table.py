"""`trex-tui engines`: rows, models, groups, filters, formats, and sets that cannot be read."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import REPOSITORY
from trex_tui import load_engine
from trex_tui.old.analysis.filter import FilterError
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.artifacts import scan
from trex_tui.old.cli import main
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

SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
Captured = pytest.CaptureFixture[str]


def read(capsys: Captured, *arguments: object) -> Any:
    assert main(["engines", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_row_has_the_numbers_of_summary(capsys: Captured) -> None:
    rows = {row["engine"]: row for row in read(capsys, SAMPLES)["rows"]}
    assert len(rows) == 5
    assert main(["summary", str(SAMPLES), "--json"]) == 0
    for summary in json.loads(capsys.readouterr().out)["engines"]:
        row = rows[summary["name"]]
        latency = summary["latency"] or {}
        assert row["latency_median_ms"] == latency.get("median_ms")
        assert row["latency_p99_ms"] == latency.get("p99_ms")
        assert row["throughput_qps"] == summary["throughput_qps"]
        assert row["weights_bytes"] == summary["weights_bytes"]
        assert row["layers"] == summary["layers"]
        assert row["latency_sum_ms"] == summary["latency_sum_ms"]
        assert row["precision"] == summary["precision"]
        for kind, total in summary["by_kind"].items():
            assert row[f"{kind}_time_pct"] == (total["latency_pct"] or 0.0)


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


def test_precisions_of_a_network_are_one_model(capsys: Captured) -> None:
    models = {row["engine"]: row["model"] for row in read(capsys, SAMPLES)["rows"]}
    assert models["alexnet_fp16"] == models["alexnet_fp32"] == "alexnet"
    assert len(set(models.values())) == 4


def test_groups_never_mix_models(capsys: Captured) -> None:
    document = read(capsys, SAMPLES, "--by", "device", "--columns", "engine,median")
    groups = document["row_groups"]
    on_laptop = [group for group in groups if group["keys"]["device"].endswith("Laptop GPU")]
    assert [group["model"] for group in on_laptop] == ["alexnet", "alexnet.qat", "squeezenet_fp16"]
    found = on_laptop[0]["ranges"]["latency_median_ms"]
    assert found == {"count": 2, "min": 0.499023, "median": pytest.approx(0.705078), "max": 0.911133}
    assert on_laptop[0]["best"] == "alexnet_fp16"
    assert on_laptop[2]["ranges"] == {}
    assert on_laptop[2]["best"] is None


def test_the_best_of_a_rate_is_the_largest(capsys: Captured) -> None:
    document = read(capsys, SAMPLES, "--by", "device", "--columns", "engine,qps")
    assert document["row_groups"][0]["best"] == "alexnet_fp16"


def test_filter_sort_and_top(capsys: Captured) -> None:
    rows = read(capsys, SAMPLES, "--filter", "device:laptop p99<1ms", "--sort", "p99")["rows"]
    assert [row["engine"] for row in rows] == ["alexnet_fp32", "alexnet_fp16", "alexnet.qat"]
    rows = read(capsys, SAMPLES, "--filter", "not (alexnet or kinds:gemm)", "--columns", "engine")["rows"]
    assert rows == [{"engine": "squeezenet_fp16"}]
    document = read(capsys, SAMPLES, "--sort", "median", "--reverse", "--top", "2", "--columns", "engine")
    assert [row["engine"] for row in document["rows"]] == ["encoder_fp8", "alexnet.qat"]
    assert document["rows_total"] == 5


def test_missing_values_are_sorted_last(capsys: Captured) -> None:
    for more in ([], ["--reverse"]):
        rows = read(capsys, SAMPLES, "--sort", "median", *more, "--columns", "engine,median")["rows"]
        assert rows[-1] == {"engine": "squeezenet_fp16", "latency_median_ms": None}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "engine,devise"], "--columns: no column 'devise'; did you mean device?"),
        (["--sort", "zeal"], "--sort: no column 'zeal'; columns: engine, run,"),
        (["--by", "devise"], "--by: no column 'devise'; did you mean device?"),
        (["--filter", "p99<"], "--filter: expected a number after `<`"),
        (["--filter", "devise:x"], "--filter: no column 'devise'"),
        (["--pareto", "median"], "--pareto: name two measures"),
        (["--pareto", "median,device"], "--pareto: device is not a number"),
        (["--by", "device", "--format", "parquet"], "--by: not with Parquet"),
    ],
)
def test_bad_options_are_one_line(arguments: list[str], message: str, capsys: Captured) -> None:
    assert main(["engines", str(SAMPLES / "names_only"), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


def test_broken_sets_are_rows_with_their_error(tmp_path: Path, capsys: Captured) -> None:
    shutil.copytree(SAMPLES / "alexnet", tmp_path / "good")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "net.graph.json").write_text('{"Layers": [')
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "net.profile.json").write_text('[{"count": 3}, {"name": ')
    document = read(capsys, tmp_path)
    rows = {row["engine"]: row for row in document["rows"]}
    broken = {name: row for name, row in rows.items() if row["error"]}
    assert len(rows) == 3
    assert len(broken) == 2
    for row in broken.values():
        assert row["model"] is row["layers"] is row["latency_median_ms"] is None
    files = " ".join(str(note["file"]) for note in document["diagnostics"])
    assert "net.graph.json" in files
    assert "net.profile.json" in files
    assert main(["engines", str(tmp_path), "--strict"]) == 2
    out = capsys.readouterr().out
    assert "2 cannot be read" in out


def test_nothing_readable_is_one_line(tmp_path: Path, capsys: Captured) -> None:
    assert main(["engines", str(tmp_path)]) == 2
    assert main(["engines", str(tmp_path / "absent")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


def test_every_run_of_a_file_is_a_row(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "net"
    shutil.copytree(SAMPLES / "alexnet", folder)
    for path in folder.glob("*.log"):
        path.unlink()
    timing = folder / "alexnet_fp16.timing.json"
    rows = json.loads(timing.read_text())
    slower = [{**row, "latencyMs": row["latencyMs"] * 2} for row in rows]
    timing.write_text(json.dumps(rows) + "\n" + json.dumps(slower))
    found = read(capsys, folder, "--columns", "engine,run,median")["rows"]
    assert sorted(row["run"] for row in found) == [1, 2]
    by_run = {row["run"]: row["latency_median_ms"] for row in found}
    assert by_run[2] == pytest.approx(2 * by_run[1])
    (only,) = read(capsys, folder, "--run", "1", "--columns", "run,median")["rows"]
    assert only == {"run": 1, "latency_median_ms": by_run[1]}


def test_csv_has_the_columns_of_json(capsys: Captured) -> None:
    document = read(capsys, SAMPLES)
    assert main(["engines", str(SAMPLES), "--format", "csv"]) == 0
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    for line, row in zip(lines, document["rows"], strict=True):
        assert set(line) == set(row)
        for key, value in row.items():
            if value is None:
                assert line[key] == ""
            elif isinstance(value, (int, float)):
                assert float(line[key]) == value
            elif isinstance(value, str):
                assert line[key].lstrip("'") == value


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


def test_the_page_has_charts_of_models_with_several_engines(tmp_path: Path, capsys: Captured) -> None:
    target = tmp_path / "fleet.html"
    arguments = ["engines", str(SAMPLES), "--pareto", "median,weights,precision", "-o", str(target)]
    assert main(arguments) == 0
    page = target.read_text()
    assert page.count("<figure>") == 2
    assert "front of 1: alexnet_fp16" in page
    assert main(arguments) == 0, "its own file is replaced"
    assert main(["engines", str(SAMPLES), "--format", "md"]) == 0
    text = capsys.readouterr().out
    assert "```text" in text
    assert "◆ front" in text


def test_names_are_data(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "<script>alert(1)"
    shutil.copytree(SAMPLES / "names_only", folder)
    for path in list(folder.iterdir()):
        path.rename(folder / path.name.replace("squeezenet", "=cmd\x1b[2J"))
    for form in ("text", "md", "html", "csv"):
        assert main(["engines", str(tmp_path), "--columns", "engine,directory", "--format", form]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert form not in ("html", "md") or "<script>alert" not in out
        assert form != "csv" or "\n=cmd" not in out


# Models


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


def test_similar_models_are_not_grouped(artifacts: Path, capsys: Captured) -> None:
    groups = read(capsys, artifacts / "trex", "--by", "device")["row_groups"]
    for group in groups:
        if "resnet-qat" in group["engines"]:
            assert group["engines"] == ["resnet-qat"]
            break
    else:
        raise AssertionError("resnet-qat is in no group")


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


# Pareto

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


# Columns


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


def test_a_model_that_repeats_each_name_is_no_default_column(capsys: Captured) -> None:
    assert main(["engines", str(SAMPLES / "alexnet"), str(SAMPLES / "names_only")]) == 0
    assert "  model  " not in capsys.readouterr().out
    assert main(["engines", str(SAMPLES / "alexnet"), "--columns", "engine,model"]) == 0
    assert "model" in capsys.readouterr().out
    assert main(["engines", str(SAMPLES)]) == 0
    assert "  model  " in capsys.readouterr().out


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
