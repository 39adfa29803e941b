"""One rule for all commands: which files are replaced, and how."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from helpers import chain, timing_row, write_graph, write_json, write_profile
from trex_tui.artifacts.output_files import OutputKind, check_output, write_atomically
from trex_tui.cli import main
from trex_tui.errors import TrexError

KIND = OutputKind("trex-tui show", ("trex-tui/show/",), {"index", "name"})
REFUSED = "exists and was not written by `{}`; write elsewhere, or replace it with --force"
FOREIGN = "important,of,mine\n1,2,3\n"


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    write_graph(tmp_path / "set/net.graph.json", chain("a", "b"), ["t0", "t2"])
    write_profile(tmp_path / "set/net.profile.json", [("a", 1.0), ("b", 2.0)])
    return tmp_path / "set"


@pytest.mark.parametrize("name", ["x.dot", "x.svg", "x.graphml", "x.json", "x.onnx", "x.csv", "x.parquet"])
@pytest.mark.parametrize("more", [["--layout", "builtin"]])
def test_export(
    engine: Path, tmp_path: Path, name: str, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / name
    command = ["export", str(engine), "-o", str(target), *more]
    target.write_text(FOREIGN)
    assert main(command) == 2
    assert REFUSED.format("trex-tui export") in capsys.readouterr().err
    assert target.read_text() == FOREIGN
    assert main([*command, "--force"]) == 0
    assert target.read_bytes() != FOREIGN.encode()
    assert main([*command, "--query", "name:a"]) == 0  # its own file, with another content


@pytest.mark.parametrize("name", ["x.xlsx", "x.perfetto.json"])
def test_export_of_tables_and_traces(engine: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    command = ["export", str(engine), "-o", str(target)]
    target.write_text(FOREIGN)
    assert main(command) == 2
    target.write_bytes(b"PK\x03\x04 no archive")
    assert main(command) == 2
    assert main([*command, "--force"]) == 0
    assert main(command) == 0


@pytest.mark.parametrize("name", ["x.html", "x.md", "x.json"])
def test_report(engine: Path, tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / name
    command = ["report", str(engine), "-o", str(target)]
    target.write_text(FOREIGN)
    assert main(command) == 2
    assert REFUSED.format("trex-tui report") in capsys.readouterr().err
    assert target.read_text() == FOREIGN
    assert main([*command, "--force"]) == 0
    assert main(command) == 0


def test_a_picture_painted_by_another_program(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A PNG keeps its header first; what `export` adds behind it is a chunk that every reader skips."""
    header = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\x0dIHDR" + bytes(17)
    (tmp_path / "plain").write_bytes(header + b"IDAT")
    painter = tmp_path / "bin/rsvg-convert"
    painter.parent.mkdir()
    painter.write_text(f"#!/bin/sh\n/bin/cat > /dev/null; /bin/cat {tmp_path / 'plain'}\n")
    painter.chmod(0o755)
    monkeypatch.setenv("PATH", str(painter.parent))
    target = tmp_path / "x.png"
    command = ["export", str(engine), "-o", str(target), "--layout", "builtin"]
    target.write_bytes(header)
    assert main(command) == 2
    assert main([*command, "--force"]) == 0
    written = target.read_bytes()
    assert written.startswith(header + b"\0\0\0\x19tEXtSoftware\0trex-tui/graph/1")
    assert written.endswith(b"IDAT")
    assert main(command) == 0


def test_times_and_files_of_trex(engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_json(engine / "net.timing.json", [timing_row(float(row), 0.5) for row in range(50)])
    for command, option, name in (
        ("times", "--outdir", "summary.csv"),
        ("export --format trex", "-o", "net.graph.json"),
    ):
        directory = tmp_path / name
        arguments = [*command.split(), str(engine), option, str(directory)]
        directory.mkdir()
        (directory / name).write_text(FOREIGN)
        assert main(arguments) == 2
        assert f"{directory / name} " + REFUSED.format(f"trex-tui {command}") in capsys.readouterr().err
        assert (directory / name).read_text() == FOREIGN
        assert main([*arguments, "--force"]) == 0
        assert main(arguments) == 0


def test_neither_command_replaces_what_the_other_wrote(engine: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    assert main(["report", str(engine), "-o", str(target)]) == 0
    assert main(["export", str(engine), "-o", str(target)]) == 2
    assert main(["export", str(engine), "-o", str(target), "--force"]) == 0
    assert main(["report", str(engine), "-o", str(target)]) == 2


class TestRule:
    @pytest.mark.parametrize(
        "content",
        [b"", b'{"schema": "trex-tui/show/2"}', b"index,name\n1,a\n", b"x" * 200_000 + b"trex-tui/show/1"],
    )
    def test_own(self, tmp_path: Path, content: bytes) -> None:
        target = tmp_path / "x"
        target.write_bytes(content)
        check_output(target, KIND, force=False)

    @pytest.mark.parametrize("content", [b"mine", b"index,of,mine\n", b"\xff\xfe", b"PK\x03\x04", b"\n"])
    def test_foreign(self, tmp_path: Path, content: bytes) -> None:
        target = tmp_path / "x"
        target.write_bytes(content)
        with pytest.raises(TrexError, match="exists and was not written by"):
            check_output(target, KIND, force=False)
        check_output(target, KIND, force=True)
        check_output(target, KIND, force=False, content=content)  # nothing would change

    def test_what_is_no_file(self, tmp_path: Path) -> None:
        for target, message in (
            (tmp_path, "is no regular file"),
            (tmp_path / "no/x", "there is no directory"),
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
