"""Windows and macOS, as far as they can be played here: what POSIX alone has is taken away, and nothing must miss it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path, PureWindowsPath

import pytest

from helpers import GRAPH, PROFILE, write_files
from trex_tui.old.artifacts import archive, find
from trex_tui.old.cli import main
from trex_tui.old.config import config_files
from trex_tui.old.report import trex_files

ELSEWHERE = Path(__file__).with_name("elsewhere.py")
PACKAGE = Path(__file__).resolve().parent.parent / "src" / "trex_tui"


def test_windows_imports_explores_and_says_what_it_cannot(tmp_path: Path) -> None:
    """Every module imports; the files of others can be looked at; what takes trtexec says so in a line."""
    net = write_files(tmp_path / "net", {"a.graph.json": GRAPH, "a.profile.json": PROFILE})
    engine = tmp_path / "a.engine"
    engine.write_bytes(b"ftrt")
    commands = [
        ["summary", "--json", str(net)],
        ["layers", str(net), "--format", "csv"],
        ["export", str(net), "-o", str(tmp_path / "made"), "--format", "trex"],
        ["export", str(net), "--layout", "builtin", "-o", str(tmp_path / "net.svg")],
        ["capture", "--engine", str(engine)],
        ["doctor"],
        ["accuracy", "--ref", str(engine), "--test", str(engine)],
        ["--stop-on-signals"],
    ]
    lines = [word for command in commands for word in (*command, "--next")]
    done = subprocess.run(
        [sys.executable, str(ELSEWHERE), *lines], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # The servers of `serve` and `mcp` need aiohttp and pydantic, which are optional and take Windows' own modules.
    left_out = ("__main__.py", "posix_driver.py", "web_server.py", "agent/server.py")
    modules = len([path for path in PACKAGE.rglob("*.py") if not path.as_posix().endswith(left_out)])
    assert done.stdout.split() == [str(modules), "0", "0", "0", "0", "2", "2", "2", "0"], done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("trex-tui: error:")]
    assert ["Linux" in one for one in errors] == [True] * 3, done.stderr


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
