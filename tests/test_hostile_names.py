"""Names that attack, through every command: what comes out is text, whatever the terminal, the forge or the spreadsheet."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hostile import (
    COMMANDS,
    FOLDER,
    STEM,
    check_plain,
    judge,
    write_hostile_model,
    write_hostile_set,
    write_hostile_trace,
)
from onnx_bytes import MODEL
from trex_tui.__main__ import main


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("hostile")
    one = write_hostile_set(root / "one")
    other = write_hostile_set(root / "other", factor=1.5)
    return {
        "set": str(one),
        "other": str(other),
        "log": str(one / f"{STEM}.build.log"),
        "model": str(write_hostile_model(root / f"{STEM}.onnx")),
        "trace": str(write_hostile_trace(root / f"{STEM}.sqlite")),
    }


@pytest.mark.parametrize(("command", "form"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_names_are_data(
    command: str, form: str, places: dict[str, str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    code = main([word.format(**places) for word in command.split()])
    output, said = capsysbinary.readouterr()
    check_plain(said.decode("utf-8", errors="strict"))
    assert all(line.startswith(b"trex-tui: ") for line in said.splitlines())
    if "nothing" in command:
        assert (code, output) == (2, b"")
        return
    assert code in (0, 1)
    assert output
    judge(form, output)


def test_commands_are_shown_as_they_would_be_typed(
    tmp_path: Path,
    programs: Callable[[str], Any],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    trtexec = str(programs("10.4.0").path)
    name = "=d [red]&<b>|$(x)`'\"$(touch pwned).onnx"
    for file in (name, f"{FOLDER}\n.onnx"):
        Path(file).write_bytes(MODEL)
    assert main(["capture", "--onnx", f"{FOLDER}\n.onnx", "--dry-run", "--trtexec", trtexec]) == 2
    error = capsys.readouterr().err
    check_plain(error)
    assert "control characters" in error
    assert main(["capture", "--onnx", name, "--dry-run", "--trtexec", trtexec]) == 0
    shown = capsys.readouterr().out
    check_plain(shown)
    command = next(line for line in shown.splitlines() if "--onnx" in line)
    typed = subprocess.run(
        ["bash", "-c", f"nl='\n'; set -f; printf '%s\\0' {command}"],
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    assert f"--onnx={name}".encode() in typed.stdout.split(b"\0")
    assert not Path("pwned").exists()
