"""The command line itself: help, dispatch, hints, imports, signals and crashes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trex_tui.__main__ import main
from trex_tui.cli.main import COMMANDS, SYNONYMS, make_parser

SAMPLES = Path(__file__).resolve().parents[1] / "sample_artifacts"
SLOW_LIBRARIES = ("pandas", "numpy", "networkx", "rich", "textual", "plotext", "altair", "jinja2")
NEW = [name for name, command in COMMANDS.items() if command.module is not None]
Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "--version",
        "help layers",
        "layers --bogus",
        "layers --format nothing",
        *(f"{name} --help" for name in NEW),
    ],
)
def test_help_and_errors_of_usage_load_no_library(arguments: str) -> None:
    code = (
        "import sys\n"
        "from trex_tui.__main__ import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        f"sys.exit(' '.join(set({SLOW_LIBRARIES!r}) & set(sys.modules)) or 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_help_groups_the_commands(capsys: Captured) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for group in ("explore:", "one engine:", "several engines:", "GPU host:", "tools:"):
        assert f"\n{group}\n" in shown
    for name, command in COMMANDS.items():
        assert bool(re.search(rf"^  {name} ", shown, re.MULTILINE)) == bool(command.group)
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("name", NEW)
def test_help_fits_80_columns_and_examples_name_the_command(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        main([name, "--help"])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines()[1:])) <= 80
    assert f"trex-tui {name}" in shown.split("examples:")[1]


@pytest.mark.parametrize("name", NEW)
def test_options_are_not_abbreviated(name: str, capsys: Captured) -> None:
    option = next(
        word for action in make_parser(name)._actions for word in action.option_strings if len(word) > 6
    )
    with pytest.raises(SystemExit):
        main([name, option[:-1]])
    err = capsys.readouterr().err
    assert f"unknown option {option[:-1]}" in err or "required" in err


@pytest.mark.parametrize(("word", "command"), SYNONYMS.items())
def test_synonyms_point_to_the_command(
    word: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command in COMMANDS
    assert main([word, "net"]) == 2
    expected = f"{word}: no such file or command; did you mean `trex-tui {command}`?"
    assert capsys.readouterr().err == f"trex-tui: error: {expected}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_completion_knows_every_command(shell: str, capsys: Captured) -> None:
    assert main(["--print-completion", shell]) == 0
    shown = capsys.readouterr().out
    for name, command in COMMANDS.items():
        if command.group:
            assert re.search(rf"[ ('\":]{name}[ )'\":]", shown), name
    assert "color-by" in shown


def test_a_crash_is_one_line_and_keeps_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setenv("TREX_TUI_LOG", "")

    def crash(_: object) -> None:
        raise RuntimeError("\x1b[31mbroken")

    monkeypatch.setattr("trex_tui.cli.loading.Loader", crash)
    assert main(["summary", "net"]) == 70
    assert capsys.readouterr().err == (
        "trex-tui: internal error: RuntimeError: ␛[31mbroken; --log-file FILE keeps the traceback\n"
    )
    log = tmp_path / "crash.log"
    assert main(["summary", "net", "--log-file", str(log)]) == 70
    assert f"; report it with {log}" in capsys.readouterr().err
    assert "raise RuntimeError" in log.read_text(encoding="utf-8")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_command_without_a_traceback(number: int, tmp_path: Path) -> None:
    pipe = tmp_path / "net.graph.json"
    os.mkfifo(pipe)
    call = [sys.executable, "-m", "trex_tui", "summary", "-"]
    with subprocess.Popen(
        call, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        process.stdin.write(b" " * 300_000)  # more than a pipe holds: it returns when the command reads
        process.stdin.flush()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == (130 if number == signal.SIGINT else -number)
    assert b"Traceback" not in err


class TestStandardInput:
    def run(self, data: bytes, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "trex_tui", *arguments],
            input=data,
            capture_output=True,
            check=False,
            timeout=150,
        )

    def test_json_is_recognized(self) -> None:
        data = (SAMPLES / "alexnet" / "alexnet_fp16.graph.json").read_bytes()
        done = self.run(data, "layers", "-", "--format", "csv")
        assert (done.returncode, done.stdout.count(b"\n")) == (0, 15)

    def test_a_packed_log_is_recognized(self) -> None:
        (path,) = (SAMPLES / "build-log").iterdir()
        done = self.run(path.read_bytes(), "summary", "-")
        assert done.returncode == 0
        assert b"10.16.1" in done.stdout

    @pytest.mark.parametrize("data", [b"", b" \n", b"hello\n"])
    def test_nothing_is_said(self, data: bytes) -> None:
        done = self.run(data, "summary", "-")
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.startswith(b"trex-tui: error: -: ")
        assert done.stderr.count(b"\n") == 1
