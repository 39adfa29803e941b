"""Special files: irregular, endless, changing or forbidden ones; directories where nothing can be written."""

from __future__ import annotations

import gc
import gzip
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from helpers import (
    GRAPH,
    PROFILE,
    STAMP,
    chain,
    messages,
    timing_row,
    write_files,
)
from test_odd_files import LOG, no_room_beyond
from trex_tui import ArtifactError
from trex_tui.__main__ import main
from trex_tui.old.artifacts import ArtifactKind, find, scan
from trex_tui.old.artifacts import input_files as opening
from trex_tui.old.artifacts.file_kinds import sniff
from trex_tui.old.artifacts.output_files import write_output
from trex_tui.old.buildlog import lines, read_build_log
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.engine import load_set
from trex_tui.old.screens.settings import SettingsStore

NOBODY = 65534


@contextmanager
def unprivileged() -> Iterator[None]:
    """As somebody who may not do everything; root becomes nobody meanwhile."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared_place() -> Iterator[Path]:
    """A directory that everybody can reach: those of pytest are for their owner alone."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def test_a_directory_with_all_kinds_of_things_in_it(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH})
    os.mkfifo(tmp_path / "a.profile.json")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "a.timing.json"))
    for name, target in {"zero.log": "/dev/zero", "full.json": "/dev/full", "loop.json": "loop.json"}.items():
        (tmp_path / name).symlink_to(target)
    (found,) = find(tmp_path)
    assert list(found.files) == [ArtifactKind.GRAPH]
    for path in tmp_path.iterdir():
        if path.name != "a.graph.json":
            with pytest.raises(ArtifactError):
                find(path)


def test_a_log_may_come_through_a_pipe() -> None:
    reading, writing = os.pipe()
    os.write(writing, LOG.encode())
    os.close(writing)
    try:
        trace = read_build_log(Path(f"/dev/fd/{reading}"))
    finally:
        os.close(reading)
    assert trace.lines == 2


def test_a_log_that_takes_too_long_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Empty lines by the million are few bytes."""
    monkeypatch.setattr(lines, "_LEAST_READING_S", 0.0)
    monkeypatch.setattr(lines, "_READING_S_PER_MIB", 0.0)
    slow = tmp_path / "net.build.log.gz"
    slow.write_bytes(gzip.compress(LOG.encode() + b"\n" * (1 << 17)))
    assert main(["build-log", str(slow)]) == 2
    printed = capsys.readouterr()
    assert "takes too long to read for its size; unpack it to read all of it" in printed.err
    assert "takes too long to read" in printed.out
    plain = tmp_path / "net.build.log"
    plain.write_bytes(gzip.decompress(slow.read_bytes()))
    assert main(["build-log", str(plain)]) == 0
    capsys.readouterr()


def test_a_bomb_in_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_HARMLESS_BYTES", 1 << 20)
    bomb = tmp_path / "net.build.log.gz"
    bomb.write_bytes(gzip.compress(LOG.encode() + (b"-" * 1023 + b"\n") * (8 << 10)))
    trace = read_build_log(bomb)
    assert 1 << 10 < trace.lines < 6 << 10
    assert any("unpacks to more than 250 times its size" in one for one in messages(trace.diagnostics))
    honest = tmp_path / "honest.build.log.gz"
    said = b"".join(
        b"[11/02/2024-10:21:35] [V] [TRT] Tactic: 0x%016x Time: 0.01\n" % (n * n) for n in range(20_000)
    )
    honest.write_bytes(gzip.compress(LOG.encode() + said))
    assert read_build_log(honest).lines == 20_002


def test_a_line_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "_ENDLESS_LINE", 4 << 20)
    path = tmp_path / "net.build.log"
    with path.open("wb") as file:
        file.write(LOG.encode())
        file.truncate(100 << 30)
    trace = read_build_log(path)
    assert trace.lines == 2
    assert any("has a line of more than 4 million characters" in one for one in messages(trace.diagnostics))


def test_a_file_that_is_too_large_costs_itself(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH, "a.profile.json": '[ { "count" : 5 }\n'})
    with (tmp_path / "a.profile.json").open("ab") as file:
        file.truncate(5 << 30)
    engine = load_engine(tmp_path)
    assert [one.message for one in engine.diagnostics] == [
        "is too large: 5.0 GiB; at most 2 GiB are read, so export less"
    ]


def test_packed_json_is_not_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.graph.json.gz").write_bytes(gzip.compress(b'{"Layers": [' + b" " * (1 << 20)))
    with pytest.raises(ArtifactError, match="is compressed JSON; unpack it first"):
        find(tmp_path)


def test_a_file_that_shrinks_while_it_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"padding": "' + b"x" * (2 << 20) + b'", "Layers": []}')
    read = opening.read_piece

    def read_and_cut(file, size):
        piece = read(file, size)
        os.truncate(path, 100_000)
        return piece

    monkeypatch.setattr(opening, "read_piece", read_and_cut)
    assert sniff(path).kind is None


def test_a_file_that_grows_or_goes_after_it_was_found(tmp_path: Path) -> None:
    write_files(tmp_path, {"a.graph.json": GRAPH, "a.profile.json": PROFILE})
    (found,) = find(tmp_path)
    (tmp_path / "a.profile.json").unlink()
    assert messages(load_set(found).diagnostics) == [
        "cannot be read: No such file or directory; check the path"
    ]
    os.mkfifo(tmp_path / "a.profile.json")
    assert messages(load_set(found).diagnostics) == [
        "cannot be read: it is not a regular file; name a regular file"
    ]
    (tmp_path / "a.graph.json").unlink()
    with pytest.raises(ArtifactError, match="No such file"):
        load_set(found)


def test_files_and_directories_without_permission(shared_place: Path) -> None:
    write_files(
        shared_place, {"a.graph.json": GRAPH, "a.profile.json": PROFILE, "closed/b.graph.json": GRAPH}
    )
    write_files(shared_place, {"blind/c.graph.json": {"Layers": chain("x")}})
    (shared_place / "a.profile.json").chmod(0)
    (shared_place / "closed").chmod(0)
    (shared_place / "blind").chmod(0o444)  # its names can be listed, and that is all
    find(shared_place)  # what is imported late is imported now
    with unprivileged():
        found = scan(shared_place)
        engine = load_set(found.sets[0])
        with pytest.raises(ArtifactError, match="Permission denied"):
            find(shared_place / "closed/b.graph.json")
        with pytest.raises(ArtifactError):
            find(shared_place / "blind")
    (shared_place / "closed").chmod(0o755)
    (shared_place / "blind").chmod(0o755)
    assert [one.name for one in found.sets] == ["a"]
    assert messages(engine.diagnostics) == ["cannot be read: Permission denied; check its permissions"]
    assert "cannot be listed: Permission denied; check its permissions" in messages(found.diagnostics)


def test_nothing_is_written_where_nothing_can_be(
    shared_place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = write_files(shared_place, {"net.build.log": LOG + f"{STAMP} Format: ONNX\n"}) / "net.build.log"
    target = shared_place / "metadata.json"
    assert main(["metadata", str(log)]) == 0
    with unprivileged():
        assert main(["metadata", str(log), "-o", str(target)]) == 2
        with pytest.raises(Exception, match="cannot be written: Permission denied"):
            write_output(shared_place / "export.csv", "a\n")
        store = SettingsStore(shared_place / "config" / "settings.json")
        assert "Permission denied" in store.remember(theme="x")
    assert f"{target} cannot be written: Permission denied" in capsys.readouterr().err
    assert [path.name for path in shared_place.iterdir()] == ["net.build.log"]


def test_a_full_disk_leaves_no_half_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = write_files(tmp_path, {"net.build.log": LOG + f"{STAMP} Format: ONNX\n"}) / "net.build.log"
    target = tmp_path / "metadata.json"
    with no_room_beyond(8):
        code = main(["metadata", str(log), "-o", str(target)])
        with pytest.raises(Exception, match="cannot be written: File too large"):
            write_output(tmp_path / "export.csv", "a" * 100_000)
        assert "File too large" in SettingsStore(tmp_path / "settings.json").remember(theme="x")
    assert code == 2
    assert "cannot be written: File too large" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["net.build.log"]


@pytest.mark.parametrize("length", [5, 60, 150])
def test_what_is_cut_within_its_first_row_is_truncated(tmp_path: Path, length: int) -> None:
    text = json.dumps([timing_row(0, 1)])
    write_files(tmp_path, {"a.timing.json": text[:length]})
    with pytest.raises(ArtifactError, match=r"a\.timing\.json: .*is truncated: the JSON ends in the middle"):
        load_engine(tmp_path)


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The explorer freezes all that is open; each file that it reads afterwards would count all of it."""
    called: list[str] = []
    for name in ("freeze", "unfreeze"):
        monkeypatch.setattr(gc, name, lambda name=name: called.append(name))
    monkeypatch.setattr(gc, "get_freeze_count", lambda: called.append("count") or 3)
    monkeypatch.setattr(opening, "_is_frozen", False)
    for _ in range(2):
        with opening.gc_paused():
            pass
    assert called == ["count"]
