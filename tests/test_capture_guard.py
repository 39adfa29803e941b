"""One process: its output byte for byte, and its end. Synchronized by pipes; nothing waits for fixed times."""

from __future__ import annotations

import signal
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from fake_trtexec.kit import fifo, is_running, wait_for
from trex_tui.capture.process import (
    INTERRUPTED,
    ProcessOutcome,
    Stop,
    run_process,
)
from trex_tui.errors import TrexError

PYTHON = [sys.executable, "-S", "-E", "-c"]


def start(code: str, log: Path, **more: Any) -> tuple[ProcessOutcome, bytes]:
    """Run Python code; the outcome, and what was fed on the way."""
    pieces: list[bytes] = []
    stop = more.pop("stop", None) or Stop()
    outcome = run_process([*PYTHON, code], log, stop, pieces.append, **{"grace_s": 0.2, **more})
    return outcome, b"".join(pieces)


class TestOutput:
    def test_byte_for_byte_and_in_order(self, tmp_path: Path) -> None:
        code = (
            "import os\n"
            "for i in range(200):\n"
            "    os.write(1, b'out %d\\n' % i); os.write(2, b'err %d \\xff\\x00\\x1b[31m\\r\\n' % i)\n"
            "os.write(1, b'no newline at the end')"
        )
        outcome, fed = start(code, tmp_path / "log")
        expected = b"".join(b"out %d\nerr %d \xff\x00\x1b[31m\r\n" % (i, i) for i in range(200))
        assert (tmp_path / "log").read_bytes() == fed == expected + b"no newline at the end"
        assert (outcome.exit_code, outcome.signal, outcome.stopped, outcome.children) == (0, None, "", 0)
        assert outcome.started <= outcome.ended


class TestEnds:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
    def test_a_full_disk_ends_the_process(self, tmp_path: Path) -> None:
        pid_file = tmp_path / "pid"
        code = (
            f"import os, signal; open({str(pid_file)!r}, 'w').write(str(os.getpid())); "
            "os.write(1, b'x'); signal.pause()"
        )
        with pytest.raises(TrexError, match="No space left"):
            start(code, Path("/dev/full"))
        assert not is_running(int(pid_file.read_text()))


WAITS = (
    "import os, signal\n"
    "{before}\n"
    "with open({pipe!r}, 'w') as pipe: pipe.write('ready %d\\n' % os.getpid())\n"
    "while True: signal.pause()"
)
IGNORES = "[signal.signal(n, signal.SIG_IGN) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]"


def interrupted(tmp_path: Path, before: str, times: int = 1, **more: Any) -> tuple[ProcessOutcome, int]:
    """Run something that waits for ever, and ask for its end when it says that it waits."""
    pipe = fifo(tmp_path / "fifo")
    stop = more.pop("stop", None) or Stop()
    pids: list[int] = []

    def ask() -> None:
        pids.append(wait_for(pipe))
        for _ in range(times):
            stop.request()

    asker = threading.Thread(target=ask)
    asker.start()
    outcome, _ = start(WAITS.format(before=before, pipe=str(pipe)), tmp_path / "log", stop=stop, **more)
    asker.join()
    return outcome, pids[0]


class TestInterrupts:
    def test_then_by_force(self, tmp_path: Path) -> None:
        outcome, pid = interrupted(tmp_path, IGNORES, grace_s=0.05)
        assert (outcome.stopped, outcome.signal) == (INTERRUPTED, signal.SIGKILL)
        assert not is_running(pid)

    def test_asked_twice_it_ends_at_once(self, tmp_path: Path) -> None:
        pipe = fifo(tmp_path / "fifo")
        stop = Stop()
        seen: list[str] = []

        def asker() -> None:
            wait_for(pipe)
            stop.request()

        def tick(_: int) -> None:
            if stop.times == 1:
                seen.append("asked")
                stop.request()

        thread = threading.Thread(target=asker)
        thread.start()
        code = WAITS.format(before=IGNORES, pipe=str(pipe))
        outcome, _ = start(code, tmp_path / "log", stop=stop, tick=tick, grace_s=3600)
        thread.join()
        assert seen
        assert outcome.signal == signal.SIGKILL


class TestChildrenLeftBehind:
    def test_they_are_ended_and_counted(self, tmp_path: Path) -> None:
        child_pid = tmp_path / "child"
        code = (
            "import os, signal\n"
            "r, w = os.pipe()\n"
            "if not os.fork():\n"
            f"    {IGNORES}\n"
            f"    open({str(child_pid)!r}, 'w').write(str(os.getpid()))\n"
            "    os.write(1, b'of the child\\n'); os.write(w, b'x'); signal.pause()\n"
            "os.read(r, 1)"
        )
        outcome, _ = start(code, tmp_path / "log", grace_s=0.05)
        assert (outcome.exit_code, outcome.children, outcome.stopped) == (0, 1, "")
        assert (tmp_path / "log").read_bytes() == b"of the child\n"
        assert not is_running(int(child_pid.read_text()))

    def test_one_in_a_session_of_its_own_does_not_hold_us_up(self, tmp_path: Path) -> None:
        """A daemon on purpose is not ours to end; its hold on the pipe must not keep us waiting."""
        pipe = fifo(tmp_path / "fifo")
        code = (
            "import os, subprocess, sys\n"
            f"subprocess.Popen(['sh', '-c', 'read line < \"$0\"', {str(pipe)!r}], start_new_session=True)\n"
            "print('over')"
        )
        outcome, fed = start(code, tmp_path / "log")
        assert (outcome.exit_code, fed) == (0, b"over\n")
        pipe.write_text("end\n")
