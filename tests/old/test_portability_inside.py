"""Windows and macOS, as far as they can be played here: what POSIX alone has is taken away, and nothing must miss it."""

from __future__ import annotations

import zipfile
from pathlib import Path, PureWindowsPath

import pytest

from helpers import GRAPH, PROFILE, write_files
from trex_tui.__main__ import main
from trex_tui.old.artifacts import archive, find
from trex_tui.old.config import config_files
from trex_tui.old.report import trex_files


def test_names_in_an_archive_that_windows_reads_as_places(tmp_path: Path) -> None:
    path = tmp_path / "net.tea"
    with zipfile.ZipFile(path, "w") as made:
        for name in ("c:evil.json", "d\\..\\evil.json", "dir/x:stream.json", "..\\..\\evil.log"):
            made.writestr(name, "{}")
    names = [one.name for one in archive.unpack(path).files]
    assert len(names) == 4
    for name in names:
        place = PureWindowsPath("C:/tmp") / name
        assert place.parent == PureWindowsPath("C:/tmp")
        assert ":" not in name


def test_two_names_that_are_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only where the file system knows no case; a set replaces no other in silence."""
    files = {f"{name}.{kind}.json": content for name in ("Net", "net") for kind, content in _KINDS.items()}
    write_files(tmp_path / "in", files)
    assert len(find(tmp_path / "in")) == 2
    assert main(["export", str(tmp_path / "in"), "--format", "trex", "-o", str(tmp_path / "out")]) == 0
    monkeypatch.setattr(trex_files, "ignores_case", lambda _: True)
    assert main(["export", str(tmp_path / "in"), "--format", "trex", "-o", str(tmp_path / "none")]) == 2
    assert "are the same file here" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


def test_configuration_without_a_home_lies_beside_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows has no HOME."""
    here = [Path("pyproject.toml"), Path("trex-tui.toml")]
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: Path("/AppData/trex-tui"))
    assert config_files({}) == [Path("/AppData/trex-tui/trex-tui.toml"), *here]
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: Path("nowhere"))
    assert config_files({}) == here


_KINDS = {"graph": GRAPH, "profile": PROFILE}
