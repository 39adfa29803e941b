"""Unexpected errors: one sentence and exit code 70, and a log file with the details that overwrites no foreign file."""

from __future__ import annotations

import argparse
import os
import re
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from trex_tui.__main__ import main
from trex_tui.old import crash_log as faults
from trex_tui.old.cli.parser import build_parser
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.screens.capture import CaptureScreen, capture_and_load
from trex_tui.old.screens.posix_driver import LastingDriver, LastingOutput
from trex_tui.old.widgets.terminal import check_driver

PACKAGE = Path(faults.__file__).parent
THEIRS = b"TRT engine\x00" * 20


@pytest.fixture(autouse=True)
def _no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(faults.LOG_VARIABLE, "")
    monkeypatch.setattr(faults, "_written", set())


def broken(*_: object, **__: object) -> None:
    secret = "name of a layer"
    raise RuntimeError("it\x1b[31m broke\nbadly" + secret[:0])


@pytest.fixture
def keys_break(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trex_tui.old.cli.explore.keys_text", broken)


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.usefixtures("keys_break")
def test_a_command_that_breaks_says_so_in_a_line(capsys):
    assert main(["keys"]) == ExitCode.INTERNAL_ERROR == 70
    expected = "internal error: RuntimeError: it␛[31m broke␊badly (--log-file FILE keeps the traceback)"
    assert one_line(capsys) == f"trex-tui: {expected}\n"


@pytest.mark.usefixtures("keys_break")
@pytest.mark.parametrize("how", ["option", "variable"])
def test_the_log_tells_the_rest(tmp_path, monkeypatch, capsys, how):
    log = tmp_path / "trex.log"
    monkeypatch.setattr(sys, "argv", ["trex-tui", "keys", "a b\x1b[2J"])
    monkeypatch.setenv("TERM", "some-terminal")
    if how == "variable":
        monkeypatch.setenv(faults.LOG_VARIABLE, str(log))
    arguments = ["keys", "--log-file", str(log)] if how == "option" else ["keys"]
    for _ in range(2):
        assert main(arguments) == 70
        assert f"the traceback is in {log}" in one_line(capsys)
    told = log.read_text(encoding="utf-8")
    assert told.startswith(faults.FIRST_LINE)
    assert told.count("Traceback (most recent call last)") == 1, "the same again is not told again"
    assert "RuntimeError: it␛[31m broke" in told
    assert "command: trex-tui keys 'a b␛[2J'" in told
    assert f"Python {sys.version_info.major}.{sys.version_info.minor}" in told
    assert "TERM=some-terminal" in told
    assert "name of a layer" not in told, "no local variables"
    assert "\x1b" not in told
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    monkeypatch.setattr("trex_tui.old.cli.explore.keys_text", lambda: 1 // 0)
    assert main(arguments) == 70
    both = log.read_text(encoding="utf-8")
    assert both.startswith(told)
    assert "ZeroDivisionError" in both[len(told) :]


def test_without_a_fault_there_is_no_log(tmp_path, capsys):
    log = tmp_path / "trex.log"
    assert main(["keys", "--log-file", str(log)]) == 0
    assert not log.exists()
    capsys.readouterr()


def _directory(path: Path) -> None:
    path.mkdir()


def _link(path: Path) -> None:
    path.with_name("engine").write_bytes(THEIRS)
    path.symlink_to(path.with_name("engine"))


REFUSED = {
    "somebody's": lambda path: path.write_bytes(THEIRS),
    "a link to it": _link,
    "shorter than our first line": lambda path: path.write_bytes(b"# tre"),
    "a directory": _directory,
    "a pipe": os.mkfifo,
    "in no directory": lambda _: None,
}


@pytest.mark.parametrize("what", REFUSED)
def test_no_file_but_ours_is_written_to(tmp_path, monkeypatch, capsys, what):
    log = tmp_path / ("absent/log" if what == "in no directory" else "log")
    REFUSED[what](log)
    before = log.read_bytes() if log.is_file() else None
    assert main(["keys", "--log-file", str(log)]) == ExitCode.BAD_INPUT
    assert one_line(capsys).startswith(f"trex-tui: error: --log-file: {log}: ")
    # The variable is no reason to refuse a command; what it names is left alone all the same.
    monkeypatch.setenv(faults.LOG_VARIABLE, str(log))
    monkeypatch.setattr("trex_tui.old.cli.explore.keys_text", broken)
    assert main(["keys"]) == 70
    assert f"the log {log} cannot be written: " in one_line(capsys)
    assert (log.read_bytes() if log.is_file() else None) == before


def test_an_empty_file_becomes_a_log(tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.touch()
    monkeypatch.setenv(faults.LOG_VARIABLE, str(log))
    faults.note(ValueError("x"))
    assert log.read_text(encoding="utf-8").startswith(faults.FIRST_LINE)


def test_every_command_takes_the_option():
    (commands,) = (
        action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction)
    )
    without = [
        name for name, one in commands.choices.items() if "--log-file" not in one._option_string_actions
    ]
    assert without == []
    assert len(commands.choices) > 10


def test_what_a_person_can_act_on_is_no_fault(tmp_path, monkeypatch):
    monkeypatch.setenv(faults.LOG_VARIABLE, str(tmp_path / "log"))
    assert faults.sentence(TrexError("no such file")) == "no such file"
    assert not (tmp_path / "log").exists()


class Gone:
    """A stream of a terminal that is no more."""

    def write(self, _: str) -> int:
        raise OSError(5, "Input/output error")

    def flush(self) -> None:
        raise OSError(5, "Input/output error")


def test_no_stream_to_tell_it_on_is_no_second_fault(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Gone())
    assert faults.report(ValueError("x")) == 70


def test_output_outlives_its_terminal():
    told: list[str] = []
    output = LastingOutput(Gone(), lambda: told.append("gone"))  # type: ignore[arg-type]
    assert [output.write("ab"), output.write("c")] == [2, 1]
    output.flush()
    assert told == ["gone"]


@pytest.mark.parametrize("name", ["junk", "junk:Driver", "textual.driver", "textual.driver:Junk"])
def test_a_driver_that_cannot_be_loaded_is_refused(name):
    with pytest.raises(TrexError, match=f"TEXTUAL_DRIVER={name}: there is no such driver"):
        check_driver({"TEXTUAL_DRIVER": name})
    check_driver({"TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"})
    check_driver({})


def test_stdin_that_is_closed_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", None)
    monkeypatch.setenv("TERM", "xterm")
    assert main(["open", "."]) == ExitCode.BAD_INPUT
    assert "not a terminal" in one_line(capsys)
    sys.stdin.close()


# What a capture runs in threads of its windows


def test_windows_of_a_capture_are_told_of_faults(monkeypatch):
    posted: list[SimpleNamespace] = []
    window = SimpleNamespace(again=SimpleNamespace(options=None), post_message=posted.append)
    CaptureScreen._locate(window)  # type: ignore[arg-type]
    monkeypatch.setattr("trex_tui.old.screens.capture.capture", broken)
    chosen = SimpleNamespace(request=None, trtexec=None)
    capture_and_load(chosen, None, None, SimpleNamespace(post=posted.append))  # type: ignore[arg-type]
    assert len(posted) == 2
    assert all(one.problem.startswith("internal error: ") for one in posted)


# Clocks that are set


def test_no_duration_is_taken_from_a_clock_that_can_be_set():
    """`datetime.now` stamps manifests and the log; what is subtracted or waited for is monotonic.

    The age of a stale temporary file is the exception: its time stamp is of the clock that can be set.
    """
    settable = re.compile(r"\btime\.time(_ns)?\b|^\s*from time import .*\btime(_ns)?\b", re.MULTILINE)
    found = [path.name for path in PACKAGE.rglob("*.py") if settable.search(path.read_text(encoding="utf-8"))]
    assert found == ["temporary_files.py"]


def test_signals_to_stop_and_to_continue_write_nothing_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """The main thread may hold the lock of the output's queue: a handler that writes would wait for itself."""
    later: list[str] = []
    driver = LastingDriver.__new__(LastingDriver)
    loop = SimpleNamespace(call_soon_threadsafe=lambda function: later.append(function.__name__))
    monkeypatch.setattr(driver, "_loop", loop, raising=False)
    for change in ("suspend_application_mode", "resume_application_mode", "write"):
        monkeypatch.setattr(driver, change, lambda *_: pytest.fail("in the handler"))
    driver._sigcont_application()
    driver._sigtstp_application()
    assert later == ["_continue", "_stop"]
