"""Damage is stated by every command that reads sets, in every format; `--strict` and gates make it an exit code."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from helpers import write_sample_set
from trex_tui.__main__ import main

SAMPLE = Path(__file__).resolve().parents[1] / "sample_artifacts" / "alexnet"
PROFILE, TIMING = "alexnet_fp16.profile.json", "alexnet_fp16.timing.json"
METADATA, LOG = "alexnet_fp16.profile.metadata.json", "alexnet_fp16.build.log.gz"


def half(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A set of which the profile, the timing, the metadata and the packed log end in the middle."""
    folder = tmp_path / "broken"
    shutil.copytree(SAMPLE, folder)
    log = (write_sample_set(tmp_path / "other") / "net.build.log").read_bytes()
    shutil.rmtree(tmp_path / "other")
    (folder / LOG).write_bytes(gzip.compress(log, mtime=0))
    for name in (PROFILE, TIMING, METADATA, LOG):
        half(folder / name)
    return folder


def errors_in(value: object, only: str = "") -> list[str]:
    """The files of all errors under `diagnostics`, and of tables of remarks in reports.

    Args:
        only: The file that a document without names of files is about.
    """
    if isinstance(value, list):
        return [text for item in value for text in errors_in(item, only)]
    if not isinstance(value, dict):
        return []
    is_error = value.get("severity") == "error" and value.get("message")
    own = [value.get("file") or only] if is_error else []
    return own + [text for item in value.values() for text in errors_in(item, only)]


def test_a_file_of_another_program_is_no_damage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(SAMPLE, tmp_path / "set")
    (tmp_path / "set" / "tsconfig.json").write_text('{"compilerOptions": []}')
    for command in ("summary", "layers", "lint"):
        assert main([command, str(tmp_path / "set"), "--strict"]) == 0
    (tmp_path / "set" / "alexnet_fp16.timing.json").write_text("[{")
    assert main(["summary", str(tmp_path / "set"), "--strict"]) == 2
    capsys.readouterr()


def test_the_gate_of_lint_is_not_judged_on_damaged_files(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint", str(broken), "-o", str(tmp_path / "x")]) == 2
    assert "are unknown; replace the file, or use --fail-on never" in capsys.readouterr().err
    assert (tmp_path / "x").is_file()
    assert main(["lint", str(broken), "--fail-on", "never"]) == 0
    capsys.readouterr()


def test_every_file_of_an_engine_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "good")
    (tmp_path / "bad").mkdir()
    for kind, size in (("graph", 70), ("profile", 70), ("timing", 2)):
        data = (SAMPLE / f"alexnet_fp16.{kind}.json").read_bytes()
        (tmp_path / "bad" / f"bad.{kind}.json").write_bytes(data[:size])
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "x.html")]) == 0
    err = capsys.readouterr().err
    assert "bad.graph.json" in err
    assert "bad.profile.json" in err
    assert "bad.timing.json" in err
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "x.html"), "--strict"]) == 2
    capsys.readouterr()


@pytest.mark.parametrize(
    "command",
    [
        "summary",
        "layers",
        "lint --fail-on never",
        "diff",
        "report",
        "times",
        "export --format json",
    ],
)
def test_json_states_damaged_files_of_no_engine(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(SAMPLE, tmp_path / "set")
    (tmp_path / "set" / "other").mkdir()
    (tmp_path / "set" / "other" / "other.graph.json").write_text('{"Layers": [')
    name, *more = command.split()
    paths = [str(SAMPLE), str(tmp_path / "set")] if name == "diff" else [str(tmp_path / "set")]
    form = [] if more[:1] == ["--format"] else ["--json"]
    assert main([name, *paths, *more, *form]) == 0
    assert any("other.graph.json" in file for file in errors_in(json.loads(capsys.readouterr().out)))


def test_a_damaged_file_is_not_called_missing_in_a_comparison(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = str(SAMPLE)
    (broken / PROFILE).write_bytes((broken / PROFILE).read_bytes()[:30])
    main(["diff", whole, str(broken)])
    out = " ".join(capsys.readouterr().out.split())
    assert f"B has no profile ({PROFILE} is unusable)" in out
    assert f"has no timing rows ({TIMING} is unusable)" in out
    assert "--export" not in out
    (broken / PROFILE).unlink()
    (broken / TIMING).unlink()
    main(["diff", whole, str(broken)])
    out = " ".join(capsys.readouterr().out.split())
    assert "B has no profile (needs --exportProfile)" in out
    assert "has no timing rows (`trtexec --exportTimes`)" in out
