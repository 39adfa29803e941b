"""Archives that are written: reading one gives what reading the set gives."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from fake_trtexec.kit import Bench
from helpers import ARTIFACTS, GRAPH, PROFILE, REPOSITORY, write_files
from trex_tui.old.artifacts import archive
from trex_tui.old.cli import main

SAMPLE = REPOSITORY / "tests/old/sample_artifacts" / "alexnet"
PLAN = b"ftrt" + bytes(20) + bytes([10, 9, 1]) + bytes(100_000)


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    archive.forget()


def summary(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """`summary --json` of one engine; what differs of its files are the places, and names that were none of an engine."""
    capsys.readouterr()
    assert main(["summary", str(path), "--json"]) == 0
    root = json.loads(capsys.readouterr().out)
    (engine,) = root["engines"]
    engine["files"] = list(engine["files"])
    for diagnostic in (*engine["diagnostics"], *root["diagnostics"]):
        diagnostic["file"] = diagnostic["file"] and Path(diagnostic["file"]).name.split(".")[-2:]
    return dict(root)


def members(path: Path) -> list[str]:
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        return file.namelist()


def export(source: Path, target: Path, *more: str) -> int:
    return main(["export", str(source), "-o", str(target), *more])


@pytest.mark.parametrize(
    "folder",
    [
        SAMPLE,
        SAMPLE.parent / "transformer_fp8",
        SAMPLE.parent / "names_only",
        ARTIFACTS / "trex" / "resnet-A100" / "qat",
        ARTIFACTS / "edge-vision" / "results" / "alexnet",
        ARTIFACTS / "bev-multitask-blackwell",
        ARTIFACTS / "diffusion-controlnet",
    ],
    ids=lambda folder: folder.name,
)
def test_the_archive_has_the_summary_of_the_set(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not folder.is_dir():
        pytest.skip("no artifacts")
    target = tmp_path / "elsewhere.tea"
    assert export(folder, target) == 0
    assert summary(target, capsys) == summary(folder, capsys)
    again = tmp_path / "again.tea"
    assert export(target, again) == 0, "an archive is a source like any other"
    assert summary(again, capsys) == summary(folder, capsys)
    assert again.read_bytes() == target.read_bytes()


def test_power_packed_logs_and_bare_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "net"
    log = gzip.compress((SAMPLE / "alexnet_fp16.build.log").read_bytes(), mtime=0)
    power = "timestamp, power.draw [W]\n" + "".join(
        f"2026/01/01 10:00:0{second}.000, {100 + second}.00 W\n" for second in range(8)
    )
    write_files(
        folder, {"graph.json": GRAPH, "profile.json": PROFILE, "build.log.gz": log, "power.csv": power}
    )
    target = tmp_path / "x.tea"
    assert export(folder, target) == 0
    assert members(target) == [
        *("net.graph.json", "net.profile.json", "net.engine.build.log.gz", "net.monitor.csv")
    ]
    found = summary(target, capsys)
    assert found == summary(folder, capsys)
    assert found["engines"][0]["name"] == "net"
    assert "monitor" in found["engines"][0]["files"]


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
@pytest.mark.parametrize(
    "name",
    [
        *(
            "-rf",
            "..",
            "...",
            "a b",
            "net.engine",
            "n\u00e4t\u202e",
            "a\nb",
            "=cmd|' -C calc'!A0",
            "[red]x[b]",
        ),
        *("trex-tui-graph", "con", "%s{}", "a.tea", "net.onnx"),
    ],
)
def test_hostile_names(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "set"
    write_files(folder, {f"{name}.graph.json": GRAPH, f"{name}.profile.json": PROFILE})
    target = tmp_path / "x.tea"
    assert export(folder, target) == 0
    assert members(target) == [f"{name}.graph.json", f"{name}.profile.json"]
    assert summary(target, capsys) == summary(folder, capsys)


@pytest.mark.skipif(sys.platform == "win32", reason="no such names there")
@pytest.mark.parametrize("name", [b"a\\..\\b", b"c:x", b"a\xff\xfeb"])
def test_names_that_other_systems_lack(
    name: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "set"
    try:
        write_files(
            folder,
            {
                f"{os.fsdecode(name)}.{end}.json": what
                for end, what in (("graph", GRAPH), ("profile", PROFILE))
            },
        )
    except OSError:
        pytest.skip("the file system refuses this name")
    target = tmp_path / "x.tea"
    assert export(folder, target) == 0
    err = capsys.readouterr().err
    names = members(target)
    assert len(names) == 2
    for member in names:
        assert PurePosixPath(member).name == member
        assert not set(member) & set("\\/:")
        assert f"renamed to {member} in the archive" in err
    inside, outside = summary(target, capsys), summary(folder, capsys)
    inside["engines"][0]["name"] = outside["engines"][0]["name"]
    assert inside == outside


def test_the_serialized_engine_is_included_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "set"
    write_files(folder, {"net.graph.json": GRAPH, "net.engine": PLAN})
    without, whole = tmp_path / "without.tea", tmp_path / "whole.tea"
    assert export(folder, without) == 0
    assert members(without) == ["net.graph.json"]
    assert "skipped net.engine; include it with --with-engine" in capsys.readouterr().err
    assert export(folder, whole, "--with-engine") == 0
    with zipfile.ZipFile(whole) as file:
        assert file.read("net.engine") == PLAN
    assert summary(whole, capsys) == summary(folder, capsys)
    for form in ("tea", "trex"):  # what was unpacked of it is no engine
        target = tmp_path / f"copy.{form}"
        assert main(["export", str(whole), "--format", form, "-o", str(target), "--with-engine"]) == 0
        assert "skipped net.engine; only its header was unpacked from whole.tea" in capsys.readouterr().err
        names = members(target) if form == "tea" else [path.name for path in target.iterdir()]
        assert names == ["net.graph.json"]


def test_a_damaged_file_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "set"
    write_files(folder, {"net.graph.json": GRAPH, "net.profile.json": '[{"count": 3}, {"name": "one", '})
    target = tmp_path / "x.tea"
    assert export(folder, target) == 2
    err = capsys.readouterr().err
    assert "error: " in err
    assert "skipped damaged net.profile.json" in err
    assert members(target) == ["net.graph.json"]


def test_what_is_there_stays_without_force(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "set"
    write_files(folder, {"net.graph.json": GRAPH, "net.profile.json": PROFILE})
    target = tmp_path / "x.tea"
    assert export(folder, target) == 0
    assert export(folder, target) == 0, "the same content"
    (folder / "net.profile.json").unlink()
    before = target.read_bytes()
    capsys.readouterr()
    assert export(folder, target) == 2
    assert "x.tea exists; write elsewhere, or replace it with --force" in capsys.readouterr().err
    assert target.read_bytes() == before
    assert export(folder, target, "--force") == 0
    assert members(target) == ["net.graph.json"]
    assert export(target, target, "--force") == 2
    assert "is an input file" in capsys.readouterr().err
    assert export(folder, folder / "net.graph.json", "--force", "--format", "tea") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", "x.tea"]


def test_nothing_is_left_where_it_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    target = tmp_path / "x.tea"
    monkeypatch.setattr(shutil, "copyfileobj", fail)
    assert export(SAMPLE, target) == 2
    assert "x.tea cannot be written: No space left on device" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_makes_no_sense_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(SAMPLE), "--format", "tea"]) == 2
    assert "name a file with -o" in capsys.readouterr().err
    assert export(SAMPLE.parent, tmp_path / "x.tea") == 2
    assert "engines found" in capsys.readouterr().err
    assert main(["--run", "1", "export", str(SAMPLE), "-o", str(tmp_path / "x.tea")]) == 2
    assert "an archive always contains all runs" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_archive_beside_its_set_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "set"
    shutil.copytree(SAMPLE, folder)
    before = summary(folder, capsys)
    assert export(folder, folder, "--format", "tea") == 0
    assert (folder / "alexnet_fp16.tea").is_file()
    assert summary(folder, capsys) == before


@pytest.mark.skipif(os.name != "posix", reason="capture runs on Linux")
@pytest.mark.parametrize("more", [(), ("--repeat", "2"), ("--with-engine",)], ids=" ".join)
def test_capture_writes_an_archive(
    more: tuple[str, ...], bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["capture", "--onnx", str(bench.model), "--outdir", str(bench.outdir), "--no-open", "--archive"]
    command += ["--trtexec", str(bench.programs("10.4.0").path), *more]
    assert main(command) == 0, capsys.readouterr().err
    folders = [bench.outdir, *([bench.outdir / "net.repeat-2"] if "--repeat" in more else [])]
    for folder in folders:
        moved = tmp_path / "moved.tea"
        shutil.copyfile(folder / "net.tea", moved)
        assert ("net.engine" in members(moved)) == ("--with-engine" in more)
        with zipfile.ZipFile(moved) as file:
            for name in file.namelist():
                assert file.read(name) in [path.read_bytes() for path in bench.outdir.rglob(name)]
        assert main(["summary", str(moved)]) == 0
    assert main(command) == 2, "the set is there already"
    assert main([*command, "--build-only"]) == 2
    assert "--build-only" in capsys.readouterr().err
    (bench.outdir / "net.tea").write_bytes(b"old")
    assert main([*command, "--force"]) == 0
    assert members(bench.outdir / "net.tea")
