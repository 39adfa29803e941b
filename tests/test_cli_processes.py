"""The commands as real processes: pipes, encodings, closed and full streams."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import (
    ARTIFACTS,
    chain,
    strict_json,
    write_graph,
    write_profile,
    write_sample_set,
)
from trex_tui.__main__ import main


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return write_sample_set(tmp_path / "net")


def run(*arguments: str | bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    known = {
        key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")
    }
    return subprocess.run(
        [sys.executable, "-m", "trex_tui", *arguments],
        capture_output=True,
        env=known | {"TERM": "xterm-256color"} | environment,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=150,
    )


def test_a_pipe_gets_no_escape_codes(sample: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["layers"], ["layers", "--format", "md"], ["summary", "--json"]):
        assert main([*command, str(sample)]) == 0
        out, err = capsys.readouterr()
        assert "\x1b" not in out + err
        assert not any(line.endswith(" ") for line in out.splitlines())
    done = run("summary", str(sample))
    assert done.returncode == 0
    assert b"\x1b" not in done.stdout + done.stderr


def test_no_color_wins(sample: Path) -> None:
    coloured = run("summary", str(sample), FORCE_COLOR="1")
    assert b"\x1b[1m" in coloured.stdout
    plain = run("summary", str(sample)).stdout
    assert b"\x1b" not in plain
    assert run("summary", str(sample), FORCE_COLOR="1", NO_COLOR="1").stdout == plain
    assert run("summary", str(sample), "--color", "never", FORCE_COLOR="1").stdout == plain
    assert run("summary", str(sample), "--color", "always", NO_COLOR="1").stdout == coloured.stdout
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", coloured.stdout) == plain, "colour changes nothing else"


@pytest.mark.parametrize("command", [["layers"], ["layers", "--format", "csv"]])
def test_the_reader_may_leave(tmp_path: Path, command: list[str]) -> None:
    write_graph(tmp_path / "a.graph.json", chain(*(f"layer {place} {'x' * 200}" for place in range(2000))))
    write_profile(tmp_path / "a.profile.json", [])
    call = [sys.executable, "-m", "trex_tui", *command, str(tmp_path)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        assert process.wait(150) == 0
    assert b"Traceback" not in err
    assert b"Broken" not in err


@pytest.mark.parametrize(
    ("command", "encoding"),
    [(["summary"], "cp1252"), (["layers"], "ascii"), (["layers", "--format", "md"], "latin-1")],
)
def test_an_encoding_that_lacks_characters(sample: Path, command: list[str], encoding: str) -> None:
    done = run(*command, str(sample), PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert done.returncode == 0
    assert done.stdout.decode(encoding)
    assert b"Traceback" not in done.stderr


def test_ascii_shows_what_it_can(sample: Path) -> None:
    done = run("summary", str(sample), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert "input 1x3x8x8 FP32" in done.stdout.decode("ascii")
    assert "60.00           0  ########################" in done.stdout.decode("ascii")


def test_paths_that_are_not_utf_8(sample: Path) -> None:
    odd = os.fsencode(sample.parent) + b"/caf\xe9"
    try:
        sample.rename(os.fsdecode(odd))
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    for command in (["summary", "--json"], ["layers"]):
        done = run(*command, odd)
        assert done.returncode == 0
        assert b"Traceback" not in done.stderr
    done = run("summary", odd + b"/nothing")
    assert done.returncode == 2
    assert done.stderr.endswith(b"caf\\udce9/nothing: does not exist; check the path\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk(sample: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        call = [sys.executable, "-m", "trex_tui", "summary", "--json", str(sample)]
        done = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, check=False, timeout=150)
    assert done.returncode == 2
    assert (
        done.stderr.splitlines()[-1] == b"trex-tui: error: cannot write the result: No space left on device"
    )
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("summary {} >&-", 2),
        ("summary {} 2>&-", 0),
        ("summary {} >&- 2>&- <&-", 2),
        ("layers {} 2>/dev/full", 0),
        ("layers --nonsense 2>/dev/full", 2),
        ("diff {} {} --fail-on 'layers > 1' 2>/dev/full", 1),
        ("export {} --format csv -o {}.csv 2>/dev/full", 0),
        ("--version >&-", 2),
        ("--help >/dev/full", 2),
        ("export {} --format csv -o {}.csv >&-", 0),
    ],
)
def test_a_result_that_cannot_be_written_is_an_error(sample: Path, command: str, code: int) -> None:
    if "/dev/full" in command and not Path("/dev/full").exists():
        pytest.skip("this system has no /dev/full")
    shell = f'"{sys.executable}" -m trex_tui {command.replace("{}", str(sample))}'
    done = subprocess.run(["sh", "-c", shell], capture_output=True, check=False, timeout=150)
    assert done.returncode == code
    assert b"Traceback" not in done.stderr
    if code and "2>" not in command:
        assert done.stderr.count(b"\n") == 1
        assert done.stderr.startswith(b"trex-tui: error: cannot write the result: ")


@pytest.mark.skipif(not ARTIFACTS.is_dir(), reason=f"no real artifacts at {ARTIFACTS}")
def test_everything_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    folders = (
        "diffusion-controlnet",
        "edge-vision",
        "inspector-dumps",
        "logs",
        "names-only",
        "torch-trt",
        "trex",
    )
    code = main(["summary", "--json", *(str(ARTIFACTS / folder) for folder in folders)])
    out, err = capsys.readouterr()
    document = strict_json(out)
    assert (code, err) == (0, "")
    assert len(document["engines"]) >= 16
    assert {note["severity"] for note in document["diagnostics"]} <= {"info"}
