"""A command line that trtexec does not take is refused before anything is built, sent or made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fake_trtexec import ENDS, calls
from fake_trtexec.kit import COMPLETE, Bench, fifo, is_running, wait_for
from helpers import ARTIFACTS
from trex_tui.old.capture.rehearsal import NONSENSE, Answer, read_answer
from trex_tui.old.cli import main

STAMP = "[11/23/2026-15:00:00]"
UNKNOWN = f"{STAMP} [E] Unknown option: {NONSENSE} \n"
HELPS = sorted((ARTIFACTS / "help").glob("trt*_help.txt")) if (ARTIFACTS / "help").is_dir() else []


@pytest.fixture
def here(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(bench.place / "calls"))
    return bench


def refused(here: Bench, capsys: pytest.CaptureFixture[str], version: str, *arguments: str) -> str:
    """Capture, which must be refused in one line with nothing done; that line."""
    program = str(here.programs(version).path)
    before = sorted(here.place.rglob("*"))
    assert main(["capture", "--onnx", "net.onnx", "--trtexec", program, *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert calls(here.place / "calls") == [], "nothing ran"
    assert {path.name for path in set(here.place.rglob("*")) - set(before)} <= {"calls"}
    return err


@pytest.mark.parametrize("version", ENDS)
@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--percentile", "a"], "rejects --percentile=a: a number is expected (stof)"),
        (["--percentile", "101"], "rejects --percentile=101: Percentile 101 is not in the range"),
        (["--shapes", "x=1x3"], "rejects --shapes=x=1x3: a number is expected (stoi)"),
        (["--", "--avgRuns=many"], "rejects --avgRuns=many: a number is expected (stoi)"),
        (["--", "--typo"], "does not know --typo; check the arguments after --"),
        (["--", "--typo=1", "--verbos"], "does not know --typo, --verbos; check"),
        (["--", "--verbose", "--verbose"], "does not know --verbose; check"),
    ],
)
def test_refused(
    here: Bench, capsys: pytest.CaptureFixture[str], version: str, arguments: list[str], part: str
) -> None:
    assert f"trtexec of TensorRT {version} {part}" in refused(here, capsys, version, *arguments)


@pytest.mark.parametrize(
    ("version", "arguments", "part"),
    [
        ("10.4.0", ["--fp8", "--int8"], "rejects --int8 with --fp8: Invalid usage, fp8 and int8"),
        (
            "8.6.1",
            ["--hardware-compatibility", "bogus"],
            "rejects --hardwareCompatibilityLevel=bogus: Unknown hardwareCompatibilityLevel option",
        ),
        ("11.1.0", ["--percentile", "a", "--shapes", "x=1x3"], "rejects --"),
    ],
)
def test_combinations(
    here: Bench, capsys: pytest.CaptureFixture[str], version: str, arguments: list[str], part: str
) -> None:
    assert part in refused(here, capsys, version, *arguments)


@pytest.mark.parametrize("version", ENDS)
def test_good_lines(here: Bench, version: str) -> None:
    """Nothing is said, and each different command is rehearsed once."""
    program = here.programs(version).path
    arguments = ["--onnx", "net.onnx", "--repeat", "3", "--trtexec", str(program)]
    assert main(["capture", *arguments, "--", "--avgTiming=4"]) == 0
    told = (here.place / "calls").read_text(encoding="ascii")
    assert told.count(NONSENSE) == 2
    assert len(calls(here.place / "calls")) == 4


def test_an_engine(here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    program = str(here.programs("10.4.0").path)
    (here.place / "e.engine").write_bytes(b"ftrt")
    assert main(["capture", "--engine", "e.engine", "--percentile", "x", "--trtexec", program]) == 2
    assert "--percentile=x" in capsys.readouterr().err


class TestOdd:
    def wrapper(self, here: Bench, text: str) -> str:
        path = here.place / "wrapper"
        path.write_text(f"#!/bin/sh\nreal={here.programs('10.4.0').path}\n{text}\n", encoding="ascii")
        path.chmod(0o755)
        return str(path)

    def test_that_takes_everything(self, here: Bench, capsys: pytest.CaptureFixture[str]) -> None:
        """It is ended when it goes beyond its options, and the capture goes on."""
        drop = f'for a do shift; [ "$a" = {NONSENSE} ] || set -- "$@" "$a"; done; exec "$real" "$@"'
        program = self.wrapper(here, drop)
        assert main(["capture", "--onnx", "net.onnx", "--trtexec", program]) == 0
        assert capsys.readouterr().err.count("options not checked in advance") == 1
        assert here.names() == COMPLETE

    @pytest.mark.parametrize("failure", ["missing_library", "no_gpu", "killed", "bad_onnx"])
    def test_other_failures_are_left_to_the_runs(
        self,
        here: Bench,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        failure: str,
    ) -> None:
        program = str(here.programs("10.4.0").path)
        if failure == "no_gpu":  # 10.16 asks CUDA while it reads options
            cuda = 'echo "Cuda failure: no CUDA-capable device is detected"; exit 1'
            program = self.wrapper(here, f'[ "$1" = --help ] && exec "$real" --help; {cuda}')
        else:
            monkeypatch.setattr(
                "trex_tui.old.cli.capture_run.find_trtexec", lambda *_, **__: here.programs("10.4.0")
            )
            monkeypatch.setenv("FAKE_TRTEXEC_FAIL", failure)
        assert main(["capture", "--onnx", "net.onnx", "--trtexec", program]) == 3
        assert "rehearsed" not in capsys.readouterr().err

    def test_interrupted(self, here: Bench) -> None:
        pipe = fifo(here.place / "fifo")
        hang = f'[ "$1" = --help ] && exec "$real" --help; echo "ready $$" > {pipe}; exec sleep 600'
        process = subprocess.Popen(
            [sys.executable, "-m", "trex_tui", "capture", "--onnx", "net.onnx"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TRTEXEC": self.wrapper(here, hang)},
        )
        pid = wait_for(pipe)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=150)
        assert (process.returncode, out) == (130, b"")
        assert b"Traceback" not in err
        assert not is_running(pid)

    def test_what_is_waited_for(
        self, here: Bench, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("trex_tui.old.capture.rehearsal._WAIT_S", 0.0)
        program = str(here.programs("10.4.0").path)
        assert main(["capture", "--onnx", "net.onnx", "--trtexec", program]) == 0
        assert f"waiting for {program} to check its options" in capsys.readouterr().err


@pytest.mark.skipif(not HELPS, reason="no recorded help texts")
@pytest.mark.parametrize("path", HELPS, ids=lambda path: path.name)
class TestRecordedHelp:
    """trtexec prints its help before or behind the complaint; none of its lines is one."""

    def test_good(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        for output in (text + UNKNOWN, UNKNOWN + text):
            assert read_answer(output.encode()) == Answer(is_good=True)

    def test_complaints(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        for output in (f"{text}{STAMP} [E] stof\n", f"{STAMP} [E] stof\n{text}"):
            assert read_answer(output.encode()) == Answer(complaint="stof")
        typo = f"{text}{STAMP} [E] Unknown option: --typo 1\n{UNKNOWN}"
        assert read_answer(typo.encode()) == Answer(unknown=("--typo",))

    def test_something_else(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert read_answer(f"{text}Cuda failure: no CUDA-capable device is detected\n".encode()) == Answer()
        assert read_answer(text.encode()) == Answer()


def test_a_value_out_of_range() -> None:
    """What no parser catches ends the process; the C++ library says what it was."""
    output = b"terminate called after throwing an instance of 'std::out_of_range'\n  what():  stoi\n"
    assert read_answer(output) == Answer(complaint="stoi")
