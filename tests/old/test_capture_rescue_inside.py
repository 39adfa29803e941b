"""No engine is lost: after a failed run, Ctrl-C or a full disk it is kept, the message names it, and --resume takes it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from capture_kit import Bench

from fake_trtexec import REHEARSAL
from test_capture_rescue import HINT, here, resume
from trex_tui import TrexError
from trex_tui.__main__ import main
from trex_tui.old.capture import machine
from trex_tui.old.capture.environment_probe import read_free_bytes
from trex_tui.old.capture.process import ProcessOutcome, Stop
from trex_tui.old.capture.staging import Workspace

__all__ = ["here"]


class TestFullDisk:
    @pytest.fixture
    def full(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        """The disk is full from the run of a role on."""
        real = machine.run_process

        def fill(role: str) -> None:
            def run(argv: Any, log: Path, *more: Any, **options: Any) -> ProcessOutcome:
                is_profile = any(word.startswith("--loadEngine") for word in argv)
                if argv[-1] != REHEARSAL and is_profile == (role == "profile"):
                    error = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(log))
                    raise TrexError(f"{log}: {error.strerror}") from error
                return real(argv, log, *more, **options)

            monkeypatch.setattr(machine, "run_process", run)

        return fill

    def test_in_the_profile_run(
        self,
        here: Bench,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        full: Callable[[str], None],
    ) -> None:
        full("profile")
        assert main(["capture", "--onnx", "net.onnx"]) == 2
        assert capsys.readouterr().err.splitlines()[-1] == (
            "trex-tui: error: results/net/net.failed/net.engine.profile.log: No space left on device; make room there; "
            f"partial results are in results/net/net.failed, with the engine: {HINT}"
        )
        assert (here.outdir / "net.failed/net.engine.build.log").is_file()
        monkeypatch.undo()
        monkeypatch.chdir(here.place)
        monkeypatch.setenv("TRTEXEC", str(here.programs("10.4.0").path))
        monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(here.place / "calls"))
        resume(here)

    def test_where_nothing_can_be_moved(
        self,
        here: Bench,
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
        full: Callable[[str], None],
    ) -> None:
        """A directory takes room, too: all stays where it is, and is taken from there."""

        def refuse(_: Workspace) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        full("profile")
        with monkeypatch.context() as patched:
            patched.setattr(Workspace, "keep_failed", refuse)
            assert main(["capture", "--onnx", "net.onnx"]) == 2
        told = capsys.readouterr().err.splitlines()[-1]
        assert f"partial results are in results/.net.partial, with the engine: {HINT}" in told
        assert not Path("results/.net.partial/.reserve").exists()
        monkeypatch.undo()
        monkeypatch.chdir(here.place)
        monkeypatch.setenv("TRTEXEC", str(here.programs("10.4.0").path))
        monkeypatch.setenv("FAKE_TRTEXEC_CALLS", str(here.place / "calls"))
        resume(here)

    def test_an_old_set_stays(
        self, here: Bench, capsys: pytest.CaptureFixture[str], full: Callable[[str], None]
    ) -> None:
        assert main(["capture", "--onnx", "net.onnx"]) == 0
        before = here.bytes()
        full("build")
        assert main(["capture", "--onnx", "net.onnx", "--force"]) == 2
        told = capsys.readouterr().err.splitlines()[-1]
        assert "No space left on device; make room there" in told
        assert "--resume" not in told
        assert {name: data for name, data in here.bytes().items() if ".failed/" not in name} == before


def test_free_space() -> None:
    table = "Filesystem 1024-blocks Used Available Capacity Mounted on\n"
    assert read_free_bytes(f"{table}/dev/root 100 60 40 60% /\n") == 40 * 1024
    assert read_free_bytes(f"{table}nas:/a b 100 60 40 60% /m n") == 40 * 1024
    assert read_free_bytes(f"{table}nas:/a 100 60 - - /mnt\n") is None
    assert read_free_bytes("") is None


def test_asked_once_more() -> None:
    from trex_tui.old.capture.process import LaterStop

    stop = Stop()
    stop.request()
    later = LaterStop(stop, stop.times)
    assert later.times == 0
    stop.request()
    assert later.times == 1
    stop.close()
