"""The cache of rows, other processes, Dask, and the Parquet dataset of `trex-tui engines`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from helpers import REPOSITORY
from trex_tui.old.analysis.load import LoadOptions
from trex_tui.old.artifacts import discover, scan
from trex_tui.old.cli import main
from trex_tui.old.fleet.engine_columns import COLUMNS, Need
from trex_tui.old.fleet.rows import read_rows

SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
Captured = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("alexnet", "names_only"):
        shutil.copytree(SAMPLES / name, tmp_path / "tree" / name)
    return tmp_path / "tree"


def read(capsys: Captured, *arguments: object) -> Any:
    assert main(["engines", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def count_reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []

    def counted(source: Any, *arguments: Any, **more: Any) -> Any:
        names.append(source.name)
        return read_rows(source, *arguments, **more)

    monkeypatch.setattr("trex_tui.old.fleet.rows.read_rows", counted)
    return names


def test_a_second_run_reads_nothing(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    names = count_reads(monkeypatch)
    first = read(capsys, tree)
    assert len(names) == 2
    assert read(capsys, tree) == first
    assert len(names) == 2
    assert read(capsys, tree, "--no-cache") == first
    assert len(names) == 4


def test_a_changed_file_is_read_again(tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    first = read(capsys, tree)["rows"]
    names = count_reads(monkeypatch)
    timing = tree / "alexnet" / "alexnet_fp16.timing.json"
    rows = json.loads(timing.read_text())
    timing.write_text(json.dumps([{**row, "latencyMs": 2.0 * row["latencyMs"]} for row in rows]))
    second = read(capsys, tree)["rows"]
    assert names == ["alexnet_fp16"]
    assert second[0]["latency_median_ms"] == pytest.approx(2 * first[0]["latency_median_ms"])
    assert second[1] == first[1]


def test_a_changed_file_of_another_stage_is_read_again(tree: Path, capsys: Captured) -> None:
    header = "layer_name,time_ms_mean,time_ms_std,time_ms_min,time_ms_max"
    stages = [tree / "llm" / f"layer_{name}.csv" for name in ("prefill_inputlen128", "decode_pastkvlen128")]
    stages[0].parent.mkdir()
    for stage in stages:
        stage.write_text(f"{header}\nattention,1.0,0.1,0.9,1.2\nmlp,2.0,0.1,1.9,2.2\n", encoding="utf-8")
    first = read(capsys, tree / "llm")
    assert read(capsys, tree / "llm") == first
    for stage in stages:
        whole = stage.read_text(encoding="utf-8")
        stage.write_text(f"{header}\n", encoding="utf-8")
        changed = read(capsys, tree / "llm")
        assert changed != first
        assert changed == read(capsys, tree / "llm", "--no-cache")
        stage.write_text(whole, encoding="utf-8")


def test_a_copy_is_known_by_its_content(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    first = read(capsys, tree)["rows"]
    names = count_reads(monkeypatch)
    shutil.copytree(tree, tmp_path / "copy")
    second = read(capsys, tmp_path / "copy")["rows"]
    assert names == []
    place = str(tmp_path / "copy")
    assert all(row["directory"].startswith(place) for row in second)
    for row in (*first, *second):
        del row["directory"]
    assert first == second


def test_other_options_are_other_rows(tree: Path, capsys: Captured) -> None:
    assert "engine_bytes" in read(capsys, tree)["rows"][0]
    (row, _) = read(capsys, tree, "--columns", "engine,findings")["rows"]
    assert row["findings"] > 0


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"sets": [{}]}', b'{"columns": 1, "sets": 2}', b"\xff\x00"]
)
def test_damaged_entries_are_ignored_and_written_again(
    tree: Path, tmp_path: Path, content: bytes, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read(capsys, tree)
    entries = list((tmp_path / "cache").rglob("*.json"))
    assert len(entries) == 2
    for path in entries:
        path.write_bytes(content)
    names = count_reads(monkeypatch)
    assert read(capsys, tree) == first
    assert len(names) == 2
    assert read(capsys, tree) == first
    assert len(names) == 2


def test_a_cache_that_cannot_be_written_is_no_error(tree: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "cache").write_text("a file")
    assert len(read(capsys, tree)["rows"]) == 2


def test_two_processes_share_the_cache(tree: Path) -> None:
    command = [sys.executable, "-m", "trex_tui", "engines", str(tree), "--json"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) for _ in range(2)]
    results = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert results[0] == results[1]


def test_errors_come_from_the_cache_too(tree: Path, capsys: Captured) -> None:
    profile = tree / "alexnet" / "alexnet_fp16.profile.json"
    profile.write_text(profile.read_text()[:100])
    first = read(capsys, tree)
    assert any("profile.json" in note["file"] for note in first["diagnostics"])
    assert read(capsys, tree) == first
    assert main(["engines", str(tree), "--strict"]) == 2
    capsys.readouterr()


def test_rows_without_logs_have_the_same_values() -> None:
    for source in scan(SAMPLES).sets:
        (short,) = read_rows(source, LoadOptions(), Need.FILES).rows
        (whole,) = read_rows(source, LoadOptions(), Need.LOGS).rows
        for column in COLUMNS:
            if column.need is Need.FILES:
                assert short.value(column.name) == whole.value(column.name), column.name
        assert short.signature == whole.signature


def test_processes_give_the_same_table(tree: Path, capsys: Captured) -> None:
    assert read(capsys, tree, "--no-cache", "--jobs", "2") == read(capsys, tree, "--no-cache")


def test_two_workers_of_dask_give_the_same_table(tree: Path, capsys: Captured) -> None:
    distributed = pytest.importorskip("distributed")
    expected = read(capsys, tree, "--no-cache")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        assert read(capsys, tree, "--no-cache", "--dask", cluster.scheduler_address) == expected


def test_no_scheduler_is_one_line(tree: Path, capsys: Captured) -> None:
    pytest.importorskip("distributed")
    assert main(["engines", str(tree), "--no-cache", "--dask", "nonsense://x"]) == 2
    assert "--dask nonsense://x: no scheduler" in capsys.readouterr().err


def test_a_dataset_grows_by_new_rows_only(tree: Path, tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    out = tmp_path / "fleet"
    command = ["engines", str(tree), "--out", str(out)]
    assert main(command) == 0
    assert "2 rows added, 0 known" in capsys.readouterr().err
    before = {path: path.read_bytes() for path in out.rglob("*.parquet")}
    shutil.copytree(SAMPLES / "alexnet_fp32", tree / "alexnet_fp32")
    assert main(command) == 0
    assert "1 row added, 2 known" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in before} == before
    frame = pd.read_parquet(out)
    assert sorted(frame["engine"]) == ["alexnet_fp16", "alexnet_fp32", "squeezenet_fp16"]
    assert set(frame["model"]) >= {"squeezenet_fp16"}
    assert frame["row_digest"].is_unique


def test_a_directory_of_other_files_is_refused(tree: Path, tmp_path: Path, capsys: Captured) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    (tmp_path / "other").mkdir()
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other" / "x.parquet")
    assert main(["engines", str(tree), "--out", str(tmp_path / "other")]) == 2
    assert "was not written by trex-tui engines" in capsys.readouterr().err
    assert main(["engines", str(tree), "--out", str(tmp_path / "d"), "--by", "device"]) == 2
    assert "--out: not with --by" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["", "foreign", "half", "columns", "pipe"])
def test_damaged_files_of_a_dataset_are_one_line(
    tree: Path, tmp_path: Path, content: str, capsys: Captured
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "fleet"
    assert main(["engines", str(tree), "--out", str(target)]) == 0
    path = next(iter(target.rglob("*.parquet")))
    whole = path.read_bytes()
    path.unlink()
    if content == "pipe":
        os.mkfifo(path)
    elif content == "columns":
        table = pyarrow.table({"a": [1]}).replace_schema_metadata({"trex-tui": "trex-tui/engines/1"})
        parquet.write_table(table, path)
    else:
        path.write_bytes(whole[: len(whole) // 2] if content == "half" else content.encode())
    capsys.readouterr()
    assert main(["engines", str(tree), "--out", str(target)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert path.name in line
    assert "; remove it" in line


@pytest.mark.parametrize("kind", ["directory", "pipe", "types"])
def test_foreign_files_in_the_cache_are_ignored(
    tree: Path, tmp_path: Path, kind: str, capsys: Captured
) -> None:
    def corrupt(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: corrupt(each) for name, each in value.items()}
        if isinstance(value, list):
            return list(map(corrupt, value))
        return "fast" if isinstance(value, float) else value

    first = read(capsys, tree)
    for path in list((tmp_path / "cache").rglob("*.json")):
        document = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
        if kind == "types":
            path.write_text(json.dumps(corrupt(document)), encoding="utf-8")
        else:
            (os.mkfifo if kind == "pipe" else os.mkdir)(path)
    assert read(capsys, tree) == first


def test_known_directories_are_not_grouped_again(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    folders: list[str] = []
    group = discover._sets_of_folder

    def counted(directory: Path, files: Any) -> Any:
        folders.append(directory.name)
        return group(directory, files)

    first = read(capsys, tree)
    monkeypatch.setattr(discover, "_sets_of_folder", counted)
    assert read(capsys, tree) == first
    assert folders == []
    (tree / "names_only" / "other.profile.json").write_bytes(
        (tree / "alexnet" / "alexnet_fp16.profile.json").read_bytes()
    )
    assert len(read(capsys, tree)["rows"]) == 3
    assert folders == ["names_only"]
    (tree / "names_only" / "other.profile.json").unlink()
    assert read(capsys, tree) == first


def test_files_of_other_directories_are_found_with_the_cache(tree: Path, capsys: Captured) -> None:
    """Sets of toolkits have logs elsewhere, and comparisons and idle power have directories of their own."""
    for folder in ("results", "models"):
        (tree / folder).mkdir()
    shutil.move(tree / "alexnet", tree / "results" / "alexnet")
    (tree / "models" / "alexnet").mkdir()
    for run in range(2):
        assert read(capsys, tree) == read(capsys, tree, "--no-cache"), run
    log = tree / "results" / "alexnet" / "alexnet_fp16.build.log"
    shutil.move(log, tree / "models" / "alexnet" / log.name)
    for run in range(2):
        found = read(capsys, tree)
        assert found == read(capsys, tree, "--no-cache"), run
    (row,) = (row for row in found["rows"] if row["engine"] == "alexnet_fp16")
    assert row["engine_bytes"] is not None


def test_a_damaged_directory_entry_is_ignored(tree: Path, tmp_path: Path, capsys: Captured) -> None:
    first = read(capsys, tree)
    (entry,) = (tmp_path / "cache").rglob("searches/*.json")
    document = json.loads(entry.read_text())
    for damage in (1, [], [[], 1], [[["a", 1, 2]], [["x", {"graph": "../b"}]]], [[], [["x", {"what": "a"}]]]):
        damaged = document | {"folders": dict.fromkeys(document["folders"], damage)}
        entry.write_text(json.dumps(damaged))
        assert read(capsys, tree) == first
