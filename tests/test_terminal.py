"""The explorer in a real pseudo-terminal: what it draws, how it leaves the terminal, and its exit code.

Ctrl-C is a key of the interface and a normal way to quit: 0. (130 is for commands that a signal interrupts.)
"""

from __future__ import annotations

import base64
import csv
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from helpers import some
from small_engines import NET, POOLING, small_engine
from terminal_kit import ALTERNATE_SCREEN, Shell, Terminal, ended

pytestmark = [pytest.mark.terminal, pytest.mark.skipif(os.name != "posix", reason="no pseudo-terminals")]
TIMEOUT_S = 150.0
"""Nothing waits for so long unless it fails, also on a machine under load."""
COLOUR = re.compile(
    rb"\x1b\[(?:[\d;:]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[;:m\d]*m|\x1b\[(?:[\d;]*;)?[34]8[:;]"
)
RICH_COLOUR = re.compile(rb"\x1b\[[\d;]*[34]8;[25]")
"""A colour that is none of the terminal's own sixteen."""
CRASH = """
import sys, trex_tui.app
from trex_tui.cli.main import main

class Broken(trex_tui.app.TrexApp):
    def action_redraw(self):
        raise ValueError("no\\x1b[31mthing")

trex_tui.app.TrexApp = Broken
sys.exit(main())
"""


@pytest.fixture
def start():
    """Start the program; it is gone when the test ends."""
    started: list[Terminal] = []

    def start(
        *arguments: object, size: tuple[int, int] = (80, 24), code: str = "", **environment: str
    ) -> Terminal:
        started.append(Terminal([str(one) for one in arguments], size, environment, code))
        return started[-1]

    yield start
    for terminal in started:
        terminal.end()


@pytest.fixture
def shell():
    """bash in a terminal."""
    with ended(Shell()) as started:
        yield started


@pytest.fixture(scope="module")
def engine(tmp_path_factory) -> Path:
    return small_engine(tmp_path_factory.mktemp("engine"))


# The end


@pytest.mark.parametrize("keys", some(["/conv\x03", "\x10\x03", "\x03", "?\x03", "q"], 2))
def test_ctrl_c_is_a_normal_quit(start, engine, keys):
    terminal = start(engine)
    terminal.shows("q close")
    for key in keys:
        terminal.send(key)
    assert terminal.finish() == 0
    terminal.check_restored()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 0)]
)
def test_signals_leave_the_terminal_as_it_was(start, engine, number, code):
    terminal = start(engine)
    terminal.shows("q close")
    terminal.child.kill(number)
    assert terminal.finish() == code
    terminal.check_restored()


def test_a_signal_before_the_first_frame(start, engine):
    terminal = start(engine)
    terminal.until(lambda: ALTERNATE_SCREEN in terminal.written, "the other screen")
    terminal.child.kill(signal.SIGQUIT)
    assert terminal.finish() == 131
    terminal.check_restored()
    assert b"internal error" not in terminal.written


@pytest.mark.parametrize("is_its_own", [True, False], ids=["with a signal", "without a signal"])
def test_a_terminal_that_is_gone_ends_the_program(engine, tmp_path, is_its_own):
    """The system sends SIGHUP only to those whose terminal it is; others find out when they read or write."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def prepare() -> None:
        os.setsid()
        if is_its_own:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    log = tmp_path / "log"
    child = subprocess.Popen(
        [sys.executable, "-m", "trex_tui", "--log-file", str(log), str(engine)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        preexec_fn=prepare,
        env=os.environ | {"TERM": "xterm-256color"},
    )
    try:
        os.close(theirs)
        seen = b""
        while b"Overview" not in seen:
            seen += os.read(ours, 65536)
        os.close(ours)
        assert child.wait(TIMEOUT_S) == 129
    finally:
        child.kill()
        child.wait()
    assert not log.exists(), "that is nobody's fault"


def test_a_crash_is_one_line_and_keeps_its_traceback(start, engine, tmp_path):
    terminal = start(engine, code=CRASH, XDG_STATE_HOME=str(tmp_path))
    terminal.shows("q close")
    terminal.send("\x0c")
    assert terminal.finish() == 70
    terminal.check_restored()
    log = tmp_path / "trex-tui" / "trex-tui.log"
    end = terminal.written.rsplit(b"\x1b[?1049l", 1)[1].decode()
    (line,) = re.findall(r"trex-tui: .*", end)
    assert line.rstrip() == f"trex-tui: internal error: ValueError: no␛[31mthing; report it with {log}"
    assert "Traceback" not in end
    assert "in action_redraw" in log.read_text(encoding="utf-8")


# Stopped and continued


def test_suspended_to_the_shell_and_back(shell, engine):
    shell.explore(engine)
    for _ in range(2):
        shell.send("\x1a")
        shell.prompts()
        shell.check_sane()
        shell.resumes(lambda: shell.send("fg\n"))
    shell.press(("3", "% of all"))
    shell.send("q")
    shell.prompts()
    shell.check_sane()
    shell.says("echo co''de $?", "code 0")


def test_stopped_from_outside_and_continued_by_the_shell(shell, engine):
    """The program cannot leave its screen then; the shell changes the modes of the terminal under it."""
    shell.explore(engine)
    os.kill(shell.program, signal.SIGSTOP)
    shell.shows("Stopped")
    # A key that comes before the screen has started again may be dropped: what was typed for the shell is.
    shell.resumes(lambda: shell.send("fg\n"))
    shell.press(("3", "% of all"), ("2", "By module"))
    shell.send("q")
    shell.prompts()
    shell.check_sane()


@pytest.mark.parametrize("wait", [b"", b"\x1b[?1003l", b"\x1b[?1049l"], ids=["at once", "in between", "late"])
def test_suspended_while_it_ends(shell, engine, wait):
    shell.explore(engine)
    count = shell.written.count(wait)
    shell.send("q")
    shell.until(lambda: not wait or shell.written.count(wait) > count, "a step of the end")
    shell.send("\x1a")
    shell.prompts()
    shell.says("fg; echo ov''er", "over")
    shell.check_sane()


def test_without_a_shell_nothing_is_suspended(start, engine):
    """Then bytes that are no text, as a terminal of another encoding sends them: they are dropped, with what comes along."""
    terminal = start(engine)
    terminal.shows("q close")
    terminal.resumes(lambda: terminal.send("\x1a"))
    terminal.send(b"\xe9\xff")
    terminal.until(lambda: "% of all" in terminal.text or terminal.send("3"), "the table")
    terminal.send("q")
    assert terminal.finish() == 0
    terminal.check_restored()


# Visits


def visit(terminal: Terminal, target: Path) -> None:
    """What a person does from the command to the file that they take home; each key after what the one before showed."""
    terminal.press(
        ("", "q close"),
        ("2", "By module"),
        ("t", "By kind"),
        ("/", "/words"),
        ("conv -layer1", "2 of 9"),
        ("\r", "v neighbours"),
        (":", "Search for commands"),
        # Its layer is hidden by the filter, which is cleared.
        ("stem/pool", f"Layer {POOLING}: "),
        ("\r", f"rank 6/9 · layer {POOLING}"),
        ("3", "% of all"),
        ("y", "Copied 1 name"),
        ("e", "tiny-latency.csv"),
    )
    terminal.send("\x15")  # clears the line
    terminal.until(lambda: "tiny-latency" not in terminal.text, "an empty line")
    terminal.press((str(target), target.name[-8:]))
    terminal.send("\r")
    terminal.until(target.is_file, "the file")
    terminal.shows("q close")
    terminal.send("q")


@pytest.mark.parametrize(
    ("environment", "colours"),
    some([({"TERM": "xterm-256color"}, "many"), ({"NO_COLOR": "1"}, "none"), ({"TERM": "xterm-16color"}, "sixteen"),
          ({"TERM": "vt100"}, "sixteen"), ({"TERM": "linux"}, "sixteen")], 3),
)  # fmt: skip
def test_a_whole_visit(start, engine, tmp_path, environment, colours):
    target = tmp_path / "taken home.csv"
    terminal = start(engine, **environment)
    visit(terminal, target)
    assert terminal.finish() == 0
    terminal.check_restored()
    assert bool(COLOUR.search(terminal.written)) is (colours != "none")
    assert bool(RICH_COLOUR.search(terminal.written)) is (colours == "many")
    name = NET[POOLING][0].encode()
    assert b"\x1b]52;c;" + base64.b64encode(name) in terminal.written, "copied by OSC 52"
    with target.open(encoding="utf-8", newline="") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    assert sorted(names) == sorted(name for name, *_ in NET)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("how", ["option", "variable", "locale"])
def test_a_visit_in_ascii_is_ascii_to_the_last_byte(start, engine, how):
    arguments = ["--ascii"] if how == "option" else []
    environment = {"variable": {"TREX_TUI_ASCII": "1"}, "locale": {"LC_ALL": "de_DE.ISO-8859-1"}}.get(how, {})
    terminal = start(engine, *arguments, TERM="vt100", PYTHONCOERCECLOCALE="0", **environment)
    terminal.press(
        ("", "q close"), ("2", "By module"), ("t", "By kind"), ("v", "/head/fc/Gemm"), ("3", "% of all"), ("/", "/words"),
        ("lat", "latency_ms"), ("\x1b", "s sort"), ("4", "convolution 0.8600"),
        ("n", "FP16 0.9150"), ("nnnn", "n next"), ("5", "live at layer"),
        ("6", "rules not checked"), ("7", "No build log"), ("8", "c compare"), ("?", "type to filter"),
    )  # fmt: skip
    terminal.send("\x03")
    assert terminal.finish() == 0
    assert terminal.written.isascii()


def test_what_another_program_overwrote_is_drawn_again(start, engine):
    """Ctrl-L, and another size."""
    terminal = start(engine)
    terminal.press(("", "q close"), ("3", "% of all"))
    terminal.display.erase_in_display(2)
    terminal.press(("\x0c", "% of all"))
    for width, height, shown in [(50, 12, "60"), (160, 45, "Tactic"), (80, 24, "q close")]:
        terminal.child.setwinsize(height, width)
        terminal.display.resize(height, width)
        terminal.display.reset()
        terminal.shows(shown)
    terminal.send("q")
    assert terminal.finish() == 0
    terminal.check_restored()


# Terminals that cannot be drawn on


@pytest.mark.parametrize("term", some(["dumb", "unknown", ""], 2))
def test_terminal_that_cannot_draw(start, engine, term):
    terminal = start(engine, TERM=term)
    assert terminal.finish() == 2
    assert terminal.after == terminal.before
    assert b"\x1b" not in terminal.written
    assert b"trex-tui summary" in terminal.written


def test_nothing_to_open_is_stated_on_the_terminal_that_was(start, tmp_path):
    terminal = start(tmp_path)
    assert terminal.finish() == 2
    terminal.check_restored()
    assert b"trex-tui: error: " in terminal.written.rsplit(b"\x1b[?1049l", 1)[1]


def test_no_terminal_at_all(engine):
    done = subprocess.run(
        [sys.executable, "-m", "trex_tui", str(engine)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"TERM": "xterm-256color"},
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"trex-tui summary {engine}" in done.stderr
