"""`trex-tui engines`: rows, models, groups, filters, formats, and sets that cannot be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import strict_json
from trex_tui.__main__ import main

SAMPLES = Path(__file__).resolve().parents[1] / "sample_artifacts"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six engines of five models: one twice, one with names only."""
    folder = tmp_path_factory.mktemp("fleet")
    for name in ("alexnet", "resnet18", "resnet-a100", "names-only"):
        shutil.copytree(SAMPLES / name, folder / name)
    for path in (SAMPLES / "alexnet").iterdir():
        name = path.name.replace("fp16", "fp32")
        text = path.read_text(encoding="utf-8")
        if ".timing." in name:
            rows = json.loads(text)
            text = json.dumps([{**row, "latencyMs": 2 * row["latencyMs"]} for row in rows])
        (folder / "alexnet" / name).write_text(text, encoding="utf-8")
    return folder


def read(capsys: Captured, *arguments: object) -> Any:
    assert main(["engines", *map(str, arguments), "--json"]) == 0
    return strict_json(capsys.readouterr().out)


def test_a_row_has_the_numbers_of_summary(fleet: Path, capsys: Captured) -> None:
    rows = {row["engine"]: row for row in read(capsys, fleet)["rows"]}
    assert len(rows) == 7
    assert main(["summary", str(fleet), "--json"]) == 0
    for summary in strict_json(capsys.readouterr().out)["engines"]:
        row = rows[summary["name"]]
        timing = summary["timing"] or {"latency": {}}
        assert row["latency_median_ms"] == timing["latency"].get("median_ms")
        assert row["latency_p99_ms"] == timing["latency"].get("p99_ms")
        assert row["throughput_qps"] == timing.get("throughput_qps")
        assert row["weights_bytes"] == summary["memory"].get("weights_bytes")
        for key in ("layers", "latency_sum_ms", "precision"):
            assert row[key] == summary[key]
        for total in summary["by_kind"] if summary["latency_sum_ms"] else ():
            assert row[f"{total['kind']}_time_pct"] == pytest.approx(total["latency_pct"])


def test_precisions_of_a_network_are_one_model(fleet: Path, capsys: Captured) -> None:
    models = {row["engine"]: row["model"] for row in read(capsys, fleet)["rows"]}
    assert models["alexnet_fp16"] == models["alexnet_fp32"] == "alexnet"
    assert len(set(models.values())) == 6


def test_filter_sort_and_top(fleet: Path, capsys: Captured) -> None:
    rows = read(capsys, fleet, "--filter", "device:laptop p99<2ms", "--sort", "p99")["rows"]
    assert [row["engine"] for row in rows] == ["alexnet_fp32", "alexnet_fp16", "resnet18_fp16"]
    rows = read(capsys, fleet, "--filter", "not (alexnet or resnet)", "--columns", "engine")["rows"]
    assert rows == [{"engine": "trt8.6.0_exportLayerInfo_names_only"}]
    document = read(capsys, fleet, "--sort", "median", "--reverse", "--top", "2", "--columns", "engine")
    assert [row["engine"] for row in document["rows"]] == ["resnet18_fp16", "alexnet_fp16"]
    assert document["rows_total"] == 7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "engine,devise"], "no column 'devise'; did you mean device?"),
        (["--sort", "zeal"], "no column 'zeal'; `trex-tui explain` lists the columns"),
        (["--filter", "p99<"], "--filter: expected a number after `<`"),
        (["--filter", "devise:x"], "--filter: no column 'devise'"),
    ],
)
def test_bad_options_are_one_line(arguments: list[str], message: str, capsys: Captured) -> None:
    assert main(["engines", str(SAMPLES / "names-only"), *arguments]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert err.count("\n") == 1


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    shutil.copytree(SAMPLES / "alexnet", tmp_path / "good")
    for name, text in (
        ("cut/net.graph.json", '{"Layers": ['),
        ("bad/net.profile.json", '[{"count": 3}, {"name": '),
    ):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_broken_sets_are_rows_with_their_error(broken: Path, capsys: Captured) -> None:
    document = read(capsys, broken)
    rows = [row for row in document["rows"] if row["error"]]
    assert len(document["rows"]) == 3
    assert len(rows) == 2
    for row in rows:
        assert row["model"] is row["layers"] is row["latency_median_ms"] is None
    assert {Path(note["file"]).name for note in document["diagnostics"]} == {
        "net.graph.json",
        "net.profile.json",
    }
    assert main(["engines", str(broken), "--strict"]) == 2
    shown = capsys.readouterr().out
    assert "\n3 engines of 1 model; 2 cannot be read.\n" in shown
    assert "0.4956" in shown


def test_every_run_of_a_file_is_a_row(tmp_path: Path, capsys: Captured) -> None:
    folder = tmp_path / "net"
    shutil.copytree(SAMPLES / "alexnet", folder)
    for path in folder.glob("*.metadata.json"):
        path.unlink()
    timing = folder / "alexnet_fp16.timing.json"
    rows = json.loads(timing.read_text(encoding="utf-8"))
    slower = [{**row, "latencyMs": row["latencyMs"] * 2} for row in rows]
    timing.write_text(json.dumps(rows) + "\n" + json.dumps(slower), encoding="utf-8")
    found = read(capsys, folder, "--columns", "engine,run,median")["rows"]
    assert sorted(row["run"] for row in found) == [1, 2]
    by_run = {row["run"]: row["latency_median_ms"] for row in found}
    assert by_run[2] == pytest.approx(2 * by_run[1])
    (only,) = read(capsys, folder, "--run", "1", "--columns", "run,median")["rows"]
    assert only == {"run": 1, "latency_median_ms": by_run[1]}


@pytest.mark.parametrize("form", ["parquet", "xlsx"])
def test_files_of_tables(form: str, fleet: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    for needed in {"parquet": ["pyarrow"], "xlsx": ["xlsxwriter", "openpyxl"]}.get(form, []):
        pytest.importorskip(needed)
    target = tmp_path / f"fleet.{form}"
    assert main(["engines", str(fleet), "-o", str(target)]) == 0
    reader = {
        "parquet": pandas.read_parquet,
        "xlsx": pandas.read_excel,
    }
    frame = reader[form](target)
    assert len(frame) == 7
    assert frame["latency_median_ms"].notna().sum() == 6


def test_processes_read_the_same(fleet: Path, capsys: Captured) -> None:
    assert read(capsys, fleet, "--jobs", "2") == read(capsys, fleet)


def test_the_front_is_what_nothing_beats(fleet: Path, capsys: Captured) -> None:
    """By hand: fewer milliseconds and fewer bytes are better, more queries per second too."""
    rows = read(capsys, fleet, "--pareto", "median,weights,qps")["rows"]
    known = [
        row for row in rows if row["latency_median_ms"] and row["weights_bytes"] and row["throughput_qps"]
    ]
    costs = [(row["latency_median_ms"], row["weights_bytes"], -row["throughput_qps"]) for row in known]
    for row, cost in zip(known, costs, strict=True):
        is_beaten = any(
            other != cost and all(a <= b for a, b in zip(other, cost, strict=True)) for other in costs
        )
        assert row["is_on_front"] is not is_beaten
    assert {row["is_on_front"] for row in known} == {True, False}
    assert any(row["is_on_front"] is None for row in rows)  # without times
    document = read(capsys, fleet, "--pareto", "median", "--filter", "name:alexnet")
    assert [row["is_on_front"] for row in document["rows"]].count(True) == 1


def test_options_of_the_build_are_those_that_differ(fleet: Path, capsys: Captured) -> None:
    rows = {row["engine"].rpartition("/")[2]: row for row in read(capsys, fleet)["rows"]}
    assert rows["alexnet_fp16"]["build_options"] is None  # its twin has the same
    assert rows["resnet-qat"]["build_options"] == ["Precision FP32+FP16+INT8"]


def test_a_front_of_texts_is_an_error(fleet: Path, capsys: Captured) -> None:
    assert main(["engines", str(fleet), "--pareto", "median,device"]) == 2
    assert "--pareto: device is not a number" in capsys.readouterr().err


def test_a_measure_over_another_is_drawn(fleet: Path, capsys: Captured) -> None:
    assert main(["engines", str(fleet), "--chart", "weights"]) == 0
    text = capsys.readouterr().out
    assert "median ms over weights" in text
    assert "2 engines without values" in text or "1 engine without values" in text
    assert main(["engines", str(fleet), "--chart", "weights,p99", "--format", "html"]) == 0
    assert "<svg" in capsys.readouterr().out
    for wrong in ("device", "weights,device", "weights,p99,qps"):
        assert main(["engines", str(fleet), "--chart", wrong]) == 2
        assert "--chart" in capsys.readouterr().err
