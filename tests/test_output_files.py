"""One rule for all commands: which files are replaced, and how."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import chain, timing_row, write_graph, write_json, write_profile
from trex_tui.__main__ import main

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
    assert main([*command, "--filter", "name:a"]) == 0  # its own file, with another content


def test_a_foreign_table_whose_columns_have_names_of_ours(engine: Path, tmp_path: Path) -> None:
    target = tmp_path / "x.csv"
    command = ["export", str(engine), "-o", str(target), "--columns", "name,latency_ms"]
    target.write_text("name,latency_ms\nmeasured by hand,3.25\n")
    assert main(command) == 2
    assert target.read_text() == "name,latency_ms\nmeasured by hand,3.25\n"
    assert main([*command, "--force"]) == 0
    assert main([*command, "--filter", "name:a"]) == 2  # no mark tells whose it is


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
