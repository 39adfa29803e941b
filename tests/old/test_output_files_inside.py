"""One rule for all commands: which files are replaced, and how."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trex_tui import TrexError
from trex_tui.old.artifacts.output_files import (
    OutputKind,
    check_output,
    place_files,
    write_all,
    write_atomically,
)
from trex_tui.old.artifacts.temporary_files import remove_stale

KIND = OutputKind("trex-tui show", ("trex-tui/show/",), "index,name,kind")


class TestRule:
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b'{"schema": "trex-tui/show/2"}',
            b"index,name,kind\n1,a,conv\n",
            b"x" * 200_000 + b"trex-tui/show/1",
        ],
    )
    def test_own(self, tmp_path: Path, content: bytes) -> None:
        target = tmp_path / "x"
        target.write_bytes(content)
        check_output(target, KIND, force=False)

    @pytest.mark.parametrize(
        "content",
        [
            b"mine",
            b"index,of,mine\n",
            b"index\n1\n",
            b"index,name\n1,a\n",
            b"index,name,kind,mine\n",
            b"\xff\xfe",
            b"PK\x03\x04",
            b"\n",
        ],
    )
    def test_foreign(self, tmp_path: Path, content: bytes) -> None:
        target = tmp_path / "x"
        target.write_bytes(content)
        with pytest.raises(TrexError, match="exists and was not written by"):
            check_output(target, KIND, force=False)
        check_output(target, KIND, force=True)
        check_output(target, KIND, force=False, content=content)  # nothing would change

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        for target, message in (
            (tmp_path, "is not a regular file"),
            (tmp_path / "no/x", "does not exist"),
        ):
            with pytest.raises(TrexError, match=message):
                check_output(target, KIND, force=True)


def test_stale_temporary_files_are_removed(tmp_path: Path) -> None:
    names = (".trex-tui-1-0a.tmp", ".trex-tui-2-0b.tmp", ".trex-tui-3-0c.tmp", ".trex-tui-notes", "mine.tmp")
    for name in names:
        (tmp_path / name).write_text("part of")
    (tmp_path / ".trex-tui-4-0d.tmp").mkdir()
    (tmp_path / ".trex-tui-4-0d.tmp/file").write_text("part of")
    for name in (*names[1:], ".trex-tui-4-0d.tmp"):
        os.utime(tmp_path / name, (time.time() - 2 * 86_400,) * 2)
    write_atomically(tmp_path / "new", "text")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {".trex-tui-1-0a.tmp", ".trex-tui-notes", "mine.tmp", "new"}


def test_what_a_killed_process_left_goes_soon(tmp_path: Path) -> None:
    """Not what a running process writes, another user's, or what is no name of a temporary file."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, written = f".trex-tui-{ended.pid}-0a.tmp", f".trex-tui-{os.getppid()}-0b.tmp"
    others = (".trex-tui-x-0c.tmp", f".trex-tui-{10**30}-0d.tmp", f"trex-tui-{ended.pid}-0e.tmp")
    for name in (left, written, *others):
        (tmp_path / name).write_text("part of")
        os.utime(tmp_path / name, (time.time() - 60,) * 2)
    fresh = f".trex-tui-{ended.pid}-0f.tmp"
    (tmp_path / fresh).write_text("a container of the same directory may know the process")
    write_atomically(tmp_path / "new", "text")
    assert {path.name for path in tmp_path.iterdir()} == {written, *others, fresh, "new"}


def test_a_directory_that_a_killed_process_left_goes(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    old, young = tmp_path / f"trex-tui-tea-{ended.pid}-0a", tmp_path / f"trex-tui-tea-{ended.pid}-0b"
    linked = tmp_path / f"trex-tui-tea-{ended.pid}-0c"
    for directory in (old, young):
        directory.mkdir()
        (directory / "x.graph.json").write_text("{}")
    linked.symlink_to(young)
    os.utime(old, (time.time() - 3_000,) * 2)
    os.utime(linked, (time.time() - 3_000,) * 2, follow_symlinks=False)
    remove_stale(tmp_path, "trex-tui-tea-", "")
    assert not old.exists()
    assert (young / "x.graph.json").is_file()


def test_a_file_that_appears_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "x.json"
    target.write_text("another's")
    with pytest.raises(FileExistsError):
        write_atomically(target, "mine", replace=False)

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)  # a file system without hard links
    with pytest.raises(FileExistsError):
        write_atomically(target, "mine", replace=False)
    write_atomically(tmp_path / "new", "mine", replace=False)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {
        "x.json": "another's",
        "new": "mine",
    }


@pytest.mark.parametrize("has_links", [True, False])
def test_several_files_are_written_all_or_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, has_links: bool
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not has_links:
        monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "old").write_text("old")
    (tmp_path / "in the way").mkdir()
    files = {tmp_path / name: name for name in ("old", "a/b/new", "in the way", "later")}
    with pytest.raises(OSError, match="in the way"):
        write_all(files)
    assert {path.name for path in tmp_path.rglob("*")} == {"old", "in the way"}
    assert (tmp_path / "old").read_text() == "old"
    (tmp_path / "in the way").rmdir()
    write_all(files)
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {
        "old",
        "new",
        "in the way",
        "later",
    }
    assert (tmp_path / "a/b/new").read_text() == "a/b/new"
    with pytest.raises(FileNotFoundError):
        place_files({tmp_path / "old": tmp_path / "absent"})
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.parametrize("is_there", [False, True])
def test_a_new_directory_appears_with_all_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    """Nothing between two files is a moment to be killed at; a directory that is there is filled file by file."""
    top = tmp_path / "a"
    seen: list[int] = []
    if is_there:
        top.mkdir()
    replace = Path.replace

    def look(self: Path, target: Path) -> Path:
        files = [path for path in top.rglob("*") if path.is_file() and ".trex-tui-" not in str(path)]
        seen.append(len(files))
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", look)
    write_all({top / "b/1": "1", top / "b/2": "2", top / "3": "3"})
    assert seen == ([0, 1, 2] if is_there else [0, 0, 0])
    assert {path.name: path.read_text() for path in top.rglob("*") if path.is_file()} == {
        "1": "1",
        "2": "2",
        "3": "3",
    }
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
