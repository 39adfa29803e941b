"""`trex-tui engines`: rows, models, groups, filters, formats, and sets that cannot be read."""

from __future__ import annotations

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from helpers import OLD_SAMPLES
from trex_tui.__main__ import main

SAMPLES = OLD_SAMPLES
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


def test_similar_models_are_not_grouped(artifacts: Path, capsys: Captured) -> None:
    groups = read(capsys, artifacts / "trex", "--by", "device")["row_groups"]
    for group in groups:
        if "resnet-qat" in group["engines"]:
            assert group["engines"] == ["resnet-qat"]
            break
    else:
        raise AssertionError("resnet-qat is in no group")


def test_a_model_that_repeats_each_name_is_no_default_column(capsys: Captured) -> None:
    assert main(["engines", str(SAMPLES / "alexnet"), str(SAMPLES / "names_only")]) == 0
    assert "  model  " not in capsys.readouterr().out
    assert main(["engines", str(SAMPLES / "alexnet"), "--columns", "engine,model"]) == 0
    assert "model" in capsys.readouterr().out
    assert main(["engines", str(SAMPLES)]) == 0
    assert "  model  " in capsys.readouterr().out
