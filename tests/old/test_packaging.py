"""The wheel: what is in it, and what it says of itself."""

from __future__ import annotations

import email
import os
import sys
import zipfile
from pathlib import Path

import pytest

from helpers import REPOSITORY
from trex_tui.old.cli import demo, main
from trex_tui.old.report.schemas import DOCUMENTS

sys.path.insert(0, str(REPOSITORY / "scripts"))
import make_man

MOST_SAMPLES, MOST_WHEEL = 150_000, 1_700_000
"""Bytes, packed."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling")
    from hatchling.builders.wheel import WheelBuilder

    folder = tmp_path_factory.mktemp("wheel")
    (path,) = WheelBuilder(str(REPOSITORY)).build(directory=str(folder), versions=["standard"])
    return zipfile.ZipFile(path)


def test_every_file_of_the_package_is_there_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = {name for name in wheel.namelist() if not name.startswith("trex_tui/samples/")}
    package = REPOSITORY / "src" / "trex_tui"
    files = {
        f"trex_tui/{path.relative_to(package)}"
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files - names == set()
    rest = {name.split("/", 1)[1] for name in names - files}
    assert rest == {
        "METADATA",
        "WHEEL",
        "RECORD",
        "entry_points.txt",
        "licenses/LICENSE",
        "data/share/man/man1/trex-tui.1",
    }
    assert {f"trex_tui/old/report/schemas/{name}.json" for name in DOCUMENTS} <= files
    assert "trex_tui/py.typed" in files


def test_samples_are_those_of_the_demo_and_small(wheel: zipfile.ZipFile) -> None:
    packed = {
        info.filename: info for info in wheel.infolist() if info.filename.startswith("trex_tui/samples/")
    }
    samples = REPOSITORY / "tests/old/sample_artifacts"
    wanted = {
        f"trex_tui/samples/{folder}/{path.name}": path
        for folder in demo.SETS.values()
        for path in (samples / folder).iterdir()
        if demo.is_shipped(folder, path.name)
    }
    assert set(packed) == set(wanted)
    assert all(wheel.read(name) == path.read_bytes() for name, path in wanted.items())
    assert sum(info.compress_size for info in packed.values()) <= MOST_SAMPLES


def test_the_wheel_stays_small(wheel: zipfile.ZipFile) -> None:
    assert sum(info.compress_size for info in wheel.infolist()) <= MOST_WHEEL


def test_metadata(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = email.message_from_bytes(wheel.read(name))
    assert metadata["Author"] == "trex-tui contributors"
    urls = dict(url.split(", ") for url in metadata.get_all("Project-URL") or [])
    assert urls["Homepage"] == "https://github.com/trex-tui/trex-tui"
    assert set(urls) == {"Homepage", "Documentation", "Issues", "Changelog"}
    classifiers = metadata.get_all("Classifier") or []
    assert "Development Status :: 4 - Beta" in classifiers
    for minor in range(10, 15):
        assert f"Programming Language :: Python :: 3.{minor}" in classifiers


def test_docs_have_the_manual_of_the_parser() -> None:
    """UPDATE_GOLDENS=1 writes it."""
    if os.environ.get("UPDATE_GOLDENS"):
        make_man.main()
    assert make_man.FILE.read_text(encoding="utf-8") == make_man.manual(), "run scripts/make_man.py"


# The demo


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "trex-tui"


def demo_path(capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["demo", "--path"]) == 0
    return Path(capsys.readouterr().out.strip())


def test_the_demo_has_four_sets(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = demo_path(capsys)
    assert path.parent == cache
    assert sorted(folder.name for folder in path.iterdir()) == ["after", "before", "broken", "transformer"]
    assert [left for left in cache.iterdir() if left != path] == []
    assert main(["summary", str(path)]) == 0
    out, err = capsys.readouterr()
    assert "before/alexnet_fp16" in out
    assert "encoder_fp8" in out
    assert "broken" in err
    assert main(["diff", str(path / "before"), str(path / "after")]) == 0
    assert "faster" in capsys.readouterr().out
    assert main(["summary", str(path / "broken"), "--strict"]) == 2


def test_the_demo_is_written_once_and_mended(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = demo_path(capsys)
    graph = path / "before" / "alexnet_fp16.graph.json"
    assert not graph.stat().st_mode & 0o222
    state = graph.stat()
    assert demo_path(capsys) == path
    assert (graph.stat().st_ino, graph.stat().st_mtime_ns) == (state.st_ino, state.st_mtime_ns)
    graph.unlink()
    assert demo_path(capsys) == path
    assert graph.is_file()
    assert cache.is_dir()


def test_samples_without_a_clone(
    cache: Path,
    wheel: zipfile.ZipFile,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    wheel.extractall(tmp_path / "site", [name for name in wheel.namelist() if "/samples/" in name])
    monkeypatch.setattr(demo.resources, "files", lambda _: tmp_path / "site" / "trex_tui")
    monkeypatch.setattr(demo, "__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    path = demo_path(capsys)
    assert len(list(path.rglob("*.graph.json"))) == 4
    assert cache.is_dir()


def test_without_a_terminal_the_demo_names_another_command(
    cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo"]) == 2
    assert "trex-tui summary" in capsys.readouterr().err
    assert cache.is_dir()


def test_a_cache_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["demo", "--path"]) == 2
    assert "samples cannot be written" in capsys.readouterr().err
