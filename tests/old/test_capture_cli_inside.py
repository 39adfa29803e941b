"""`trex-tui capture` from the outside: exit codes, streams, hostile names, Ctrl-C, the live view."""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from capture_kit import Bench

from fake_trtexec.kit import COMPLETE
from test_capture_cli import _SHAPES, capture, here
from trex_tui.__main__ import main
from trex_tui.old.artifacts import find
from trex_tui.old.capture.plan import RunPlan
from trex_tui.old.capture.process import ProcessOutcome, RunProgress
from trex_tui.old.capture.verdict import RunVerdict
from trex_tui.old.report.views import capture as capture_view
from trex_tui.old.report.views.capture import CaptureView, LiveView, clock, make_view, transfer_text

__all__ = ["here"]

HOSTILE = [
    b"a b;$(touch x)'\".onnx",
    b"-rf.onnx",
    b"--fp16=1.onnx",
    b"new\nline\x1b[31m.onnx",
    b"caf\xe9 \xff.onnx",
    "名前%s{0}[red].onnx".encode(),
    b"*?.onnx",
]


def entries(directory: bytes) -> set[bytes]:
    """Names as bytes, as the file system has them."""
    return set(os.listdir(directory))  # noqa: PTH208 - pathlib has no bytes


class TestCommandInside:
    def test_options_arrive(
        self, here: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Each option of the command changes what would be run; trtexec is not asked each time."""
        program = here.programs("10.4.0")
        monkeypatch.setattr("trex_tui.old.capture.trtexec.ask", lambda *_: program)
        (here.place / "c").write_bytes(b"x")
        options = [
            *("--fp16", "--bf16", "--int8", "--fp8", "--int4", "--best", "--strongly-typed", "--no-tf32"),
            *("--calib=c", "--sparsity=force", "--shapes=x:1", "--min-shapes=x:1", "--opt-shapes=x:2"),
            *("--max-shapes=x:3", "--profile-index=1", "--load-inputs=x:c", "--dla=0"),
            "--allow-gpu-fallback",
            *("--device=1", "--workspace=64", "--timing-cache=t", "--plugin=c", "--optimization-level=2"),
            *("--version-compatible", "--hardware-compatibility=ampere+", "--warmup=1", "--duration=0.5"),
            *("--iterations=3", "--avg-runs=4", "--percentile=5", "--inf-streams=6", "--no-cuda-graph"),
            *("--data-transfers", "--repeat=2", "--name=other", "--outdir=there", "--build-only"),
            *(f"--profile={_SHAPES}", "--timeout=9s"),
        ]
        assert capture("--onnx=net.onnx", "--dry-run") == 0
        plain = capsys.readouterr().out
        for option in options:
            assert capture("--onnx=net.onnx", "--dry-run", option) == 0
            assert capsys.readouterr().out != plain, option

    @pytest.mark.usefixtures("here")
    def test_only_posix(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from trex_tui import TrexError
        from trex_tui.old.cli import capture as command

        monkeypatch.setattr(command.os, "name", "nt")
        options = command.argparse.Namespace(onnx="net.onnx")
        with pytest.raises(TrexError, match="on Linux"):
            command.run_capture(options)


class TestHostileNames:
    @pytest.mark.parametrize(
        ("name", "outdir"),
        list(zip(HOSTILE, itertools.cycle([None, b"out dir\nwith $(touch y) `z`", b"\xff\xfe"]))),
    )
    def test_nothing_is_executed(self, here: Bench, name: bytes, outdir: bytes | None) -> None:
        Path(os.fsdecode(name)).write_bytes(b"model")
        before = entries(b".")
        more = [] if outdir is None else [f"--outdir={os.fsdecode(outdir)}"]
        with (
            (here.place / "printed").open("w", encoding="utf-8", errors="backslashreplace") as file,
            contextlib.redirect_stdout(file),
            contextlib.redirect_stderr(file),
        ):
            assert capture(f"--onnx={os.fsdecode(name)}", *more) == 0
        assert entries(b".") - before == {outdir or b"results", b"printed"}
        printed = (here.place / "printed").read_text(encoding="utf-8")
        assert all(line.isprintable() for line in printed.splitlines())
        made = (
            Path(os.fsdecode(outdir))
            if outdir
            else Path("results") / os.fsdecode(name.removesuffix(b".onnx"))
        )
        stem = name.removesuffix(b".onnx")
        assert sorted(entries(os.fsencode(made))) == sorted(stem + one[3:].encode() for one in COMPLETE)
        assert len(find(made)) == 1


class Tty(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def plan_of(role: str) -> RunPlan:
    return RunPlan(role, 1, ("trtexec",), Path("log"), Path("engine"))


def outcome() -> ProcessOutcome:
    import datetime

    now = datetime.datetime.now(datetime.timezone.utc)
    return ProcessOutcome(0, None, "", now, now, 75.0)


class TestViews:
    def test_which(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TERM", "xterm")
        assert isinstance(make_view(Tty()), LiveView)
        assert not isinstance(make_view(io.StringIO()), LiveView)
        monkeypatch.setenv("TERM", "dumb")
        assert not isinstance(make_view(Tty()), LiveView)

    def test_plain(self) -> None:
        stream = io.StringIO()
        with CaptureView(stream) as view:
            seen = RunProgress(warnings=["first \x1b[31m", "second"])
            view.begin(plan_of("build"), 1, 2, None)
            for second in range(0, 200, 10):
                seen.stage, seen.layer, seen.tactics = "timing tactics", "conv", second
                view.progress(seen, second, 1 << 30)
            view.end(outcome(), RunVerdict(True))
        lines = stream.getvalue().splitlines()
        assert lines[:3] == [
            "trex-tui: warning: first ␛[31m",
            "trex-tui: warning: second",
            "trex-tui: [1/2] build: 0:00 timing tactics",
        ]
        assert (
            lines[3] == "trex-tui: [1/2] build: 0:30 timing tactics · conv · 30 tactics timed · 1.00 GiB host"
        )
        assert len(lines) == 10, "a sign of life twice a minute, not every time"
        assert lines[-1] == "trex-tui: [1/2] build: 1:15 passed"

    def test_many_warnings(self) -> None:
        stream = io.StringIO()
        view = CaptureView(stream)
        view.begin(plan_of("build"), 1, 2, None)
        seen = RunProgress()
        for number in range(50):
            seen.warnings.append(f"warning number {number} " + "x" * 10_000)
            view.progress(seen, 0, None)
        told = [line for line in stream.getvalue().splitlines() if "warning number" in line]
        assert len(told) == capture_view.MOST_WARNINGS
        assert all(len(line) < 2 * capture_view.LONGEST_WARNING for line in told)
        assert stream.getvalue().count("more warnings are in the log") == 1

    def test_messages_that_cannot_be_written_are_lost(self) -> None:
        class Full(io.StringIO):
            def write(self, text: str) -> int:  # noqa: ARG002
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with CaptureView(Full()) as view:
            view.say("one")
            view.note("two")

    @pytest.mark.parametrize("width", [20, 80])
    def test_live(self, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", str(width))
        stream = Tty()
        with LiveView(stream) as view:
            view.begin(plan_of("build"), 1, 2, None)
            seen = RunProgress("timing tactics", "conv [red] \x1b[2J" + "x" * 300, 7, gpu_mib=1021)
            seen.warnings.append("low memory \x1b[2J")
            view.progress(seen, 3723, 1 << 20)
            view.end(outcome(), RunVerdict(True))
        text = stream.getvalue()
        assert "\x1b[2J" not in text, "what names hold does not reach the terminal"
        assert "low memory ␛[2J" in text
        assert "[1/2] build  1:0" in text
        if width == 80:
            for part in ("7 tactics timed", "1.00 GiB GPU", "1 warning", "conv [red]"):
                assert part in text
        assert text.rstrip().endswith("[1/2] build: 1:15 passed")

    def test_what_is_left(self) -> None:
        stream = io.StringIO()
        view = CaptureView(stream)
        view.begin(plan_of("build"), 1, 2, 100.0)
        for second in range(0, 130, 10):
            view.progress(RunProgress("timing tactics"), second, None)
        lines = stream.getvalue().splitlines()
        assert lines[1] == "trex-tui: [1/2] build: 0:30 timing tactics · about 1:10 left"
        assert lines[-1] == "trex-tui: [1/2] build: 2:00 timing tactics · last time 1:40"

    def test_transfer(self) -> None:
        assert transfer_text("sending m", 0, 100, 0.0) == "sending m: 0 %"
        assert transfer_text("sending m", 0, 100, 2.0) == "sending m: 0 %"
        assert (
            transfer_text("sending m", 43 << 20, 100 << 20, 10) == "sending m: 43 % · 4.30 MiB/s · 0:13 left"
        )
        assert transfer_text("sending m", 0, 0, 0.0) == "sending m: 0 %"
        stream = io.StringIO()
        view = CaptureView(stream)
        for second in range(100):
            view.transferring("sending m", second << 20, 100 << 20, second)
        assert stream.getvalue().splitlines() == [
            "trex-tui: sending m (100 MiB)",
            "trex-tui: sending m: 30 % · 1.00 MiB/s · 1:10 left",
            "trex-tui: sending m: 60 % · 1.00 MiB/s · 0:40 left",
            "trex-tui: sending m: 90 % · 1.00 MiB/s · 0:10 left",
        ]

    def test_transfer_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv("COLUMNS", "80")
        stream = Tty()
        with LiveView(stream, "jet: ") as view:
            for done in (0, 40, 100):
                view.transferring("sending a\x1b[2J", done << 20, 100 << 20, 2.0)
            assert view.live is None, "over"
            view.note("next")
        text = stream.getvalue()
        assert "\x1b[2J" not in text
        assert "jet: sending a␛[2J: 40 % · 20.0 MiB/s · 0:03 left" in text
        assert text.rstrip().endswith("trex-tui: jet: next")

    def test_clock(self) -> None:
        told = " ".join(clock(one) for one in (0, 59.9, 60, 3599, 3600))
        assert told == "0:00 0:59 1:00 59:59 1:00:00"


class TestOpening:
    @pytest.fixture
    def opened(self, here: Bench, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
        """What the program was told to open, instead of drawing."""
        seen: list[list[str]] = []
        real = main
        assert Path.cwd() == here.place

        def instead(argv: Any = None) -> int:
            if argv and argv[0] == "open":
                seen.append(argv)
                return 0
            return real(argv)

        monkeypatch.setattr("trex_tui.old.cli.main", instead)
        return seen

    def test_not_in_a_pipe(self, opened: list[list[str]]) -> None:
        assert capture("--onnx", "net.onnx") == 0
        assert opened == []

    def test_when_told(self, here: Bench, opened: list[list[str]]) -> None:
        assert capture("--onnx", "net.onnx", "--open") == 0
        assert opened == [["open", str(here.outdir)]]

    @pytest.mark.parametrize(("answer", "yes"), [("\n", True), ("y\n", True), ("n\n", False), ("", True)])
    def test_asked_on_a_terminal(
        self, opened: list[list[str]], monkeypatch: pytest.MonkeyPatch, answer: str, yes: bool
    ) -> None:
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setattr(sys, "stdin", Tty(answer))
        monkeypatch.setattr(sys, "stdout", Tty())
        monkeypatch.setattr(sys, "stderr", Tty())
        assert capture("--onnx", "net.onnx") == 0
        assert "explore it now?" in sys.stderr.getvalue()  # type: ignore[attr-defined]
        assert bool(opened) is yes

    def test_not_when_told_not_to(self, opened: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", Tty("y\n"))
        monkeypatch.setattr(sys, "stdout", Tty())
        monkeypatch.setattr(sys, "stderr", Tty())
        assert capture("--onnx", "net.onnx", "--no-open") == 0
        assert opened == []
