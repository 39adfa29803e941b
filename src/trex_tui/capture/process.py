"""Run one process: write its whole output to a log, and end it and its children in every case.

The process leads its own session, so Ctrl-C reaches only trex-tui, which ends it, first with SIGTERM. stdout and stderr share
one pipe, which keeps their order. A thread waits for the end of the process without reaping it: the process id stays reserved
until its group is gone.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol

from trex_tui.errors import ExitCode, TrexError

INTERRUPTED, TIMED_OUT = "interrupted", "timed out"
GRACE_S = 5.0
"""Time between SIGTERM and SIGKILL."""
_GIVE_UP_S = 30.0
"""Time to wait after SIGKILL: a process that hangs in a driver cannot be ended."""
_ENDINGS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)
"""Windows lacks two of them, and this module is imported there when two ONNX models are compared."""
_TICK_S = 0.25
_GUARD = (
    "trap '' HUP INT TERM PIPE QUIT; read -r p || exit; read -r _; "
    'kill -TERM -"$p"; sleep "$1"; kill -KILL -"$p"'
)
"""Shell that ends a group when its input pipe closes: nothing else does if trex-tui is killed.

It runs before the group does, and reads its number first: started afterwards, it would come too late on a busy machine.
"""
_CHUNK = 1 << 16
_SIGNAL_REMEDIES = {
    "SIGILL": "the CPU lacks an instruction; use the TensorRT for this platform, in a virtual machine pass its CPU through",
    "SIGBUS": "a mapped file was truncated, or shared memory is full: check df, and --shm-size of the container",
    "SIGKILL": "probably by the kernel, out of memory (see dmesg); check what else runs, add swap, lower --workspace",
}


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """End of a process.

    Attributes:
        exit_code: None if a signal ended the process, or it could not be ended.
        signal: The signal that ended it.
        stopped: `INTERRUPTED`, `TIMED_OUT`, or empty if it ended by itself.
        started, ended: UTC.
        wall_s: Duration by a monotonic clock.
        children: Remaining child processes, which were ended.
        is_gone: False if the process survived SIGKILL.
        timeout_s: Time limit; None is unlimited. `wall_s` includes the grace period.
    """

    exit_code: int | None
    signal: int | None
    stopped: str
    started: datetime
    ended: datetime
    wall_s: float
    children: int = 0
    is_gone: bool = True
    timeout_s: float | None = None


class Stop:
    """Request to end a run, from a signal handler or another thread. A second request ends it at once.

    Attributes:
        times: Number of requests.
        exit_code: Exit code of a command that it ended: 128 and the number of the first signal.
    """

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        if hasattr(os, "set_blocking"):  # on Windows from 3.12 on; nothing waits for these pipe ends there
            os.set_blocking(self._read, False)
            os.set_blocking(self._write, False)
        self.times = 0
        self.exit_code = int(ExitCode.INTERRUPTED)

    def request(self, number: int = signal.SIGINT) -> None:
        if not self.times:
            self.exit_code = 128 + number
        self.times += 1
        with contextlib.suppress(BlockingIOError):
            os.write(self._write, b"x")

    def fileno(self) -> int:
        return self._read

    def drain(self) -> None:
        """Discard the wake-ups, not the requests."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._read, 4096)

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


class StopRequest(Protocol):
    """Number of requests to end."""

    @property
    def times(self) -> int:
        """Return the number of requests."""


@dataclass(frozen=True, slots=True)
class LaterStop:
    """Requests to a `Stop` from now on: for work that remains after the first request."""

    stop: Stop
    before: int

    @property
    def times(self) -> int:
        return self.stop.times - self.before


@contextlib.contextmanager
def stop_on_signals() -> Iterator[Stop]:
    """Yield a `Stop` triggered by Ctrl-C, SIGTERM, SIGHUP and SIGQUIT; outside the main thread signals are not handled."""
    stop = Stop()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in _ENDINGS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup
                before[number] = signal.signal(number, lambda number, _: stop.request(number))
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        stop.close()


def run_process(
    argv: Sequence[str],
    log: Path,
    stop: Stop,
    feed: Callable[[bytes], None],
    tick: Callable[[int], None] = lambda _: None,
    *,
    timeout_s: float | None = None,
    grace_s: float = GRACE_S,
    stdin: int = subprocess.DEVNULL,
    ask: Callable[[], None] | None = None,
) -> ProcessOutcome:
    """Run one command to its end.

    Args:
        argv: The command; no shell is involved.
        log: File for the whole output; created, or truncated.
        stop: Requests the end.
        feed: Receives the output too, in pieces as they arrive.
        tick: Called with the process id several times a second.
        timeout_s: Longest duration; None is unlimited.
        grace_s: Time between SIGTERM and SIGKILL.
        stdin: Descriptor of the standard input; empty by default.
        ask: Called to request the end, in place of SIGTERM.

    Raises:
        TrexError: The program cannot be started, or the log cannot be written; nothing is left running.
    """
    try:
        with log.open("wb", buffering=0) as file, _started_guard(grace_s) as guard:
            process = subprocess.Popen(
                list(argv),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                bufsize=0,
            )
            return _Runner(process, guard, stop, timeout_s, grace_s, ask).follow(
                lambda data: _tee(data, file, feed), tick
            )
    except OSError as error:
        path = error.filename if isinstance(error.filename, str) else log
        raise TrexError(f"{path}: {error.strerror or error}") from error


def _tee(data: bytes, file: object, feed: Callable[[bytes], None]) -> None:
    view = memoryview(data)
    while view:  # a raw file may write less than all
        view = view[file.write(view) :]  # type: ignore[attr-defined]
    feed(data)


@contextlib.contextmanager
def _started_guard(grace_s: float) -> Iterator[subprocess.Popen[bytes]]:
    """Start the guard; if it was given no group, it ends with the block."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "trex-tui", str(max(1, round(grace_s)))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield guard
    finally:
        if guard.returncode is None:
            guard.kill()
            guard.communicate()


class _Runner:
    """A started process until its end."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        guard: subprocess.Popen[bytes],
        stop: Stop,
        timeout_s: float | None,
        grace_s: float,
        ask: Callable[[], None] | None = None,
    ) -> None:
        assert guard.stdin is not None
        guard.stdin.write(b"%d\n" % process.pid)
        guard.stdin.flush()
        self.process, self._guard = process, guard
        self.ask = ask
        self.stop = stop
        self.grace_s = grace_s
        self.started = datetime.now(timezone.utc)
        self.clock = time.monotonic()
        self.timeout_s = timeout_s
        self.timeout_at = None if timeout_s is None else self.clock + timeout_s
        self.kill_at: float | None = None
        self.give_up_at: float | None = None
        self.stopped = ""
        self.heeded = 0
        self.is_open = True
        self.is_over = False
        self.children: set[int] = set()
        self._woken, self._wake = os.pipe()
        threading.Thread(target=self._wait, daemon=True).start()

    def _wait(self) -> None:
        with contextlib.suppress(ChildProcessError, OSError):
            os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(OSError):
            os.write(self._wake, b"x")

    def follow(self, take: Callable[[bytes], None], tick: Callable[[int], None]) -> ProcessOutcome:
        pipe = self.process.stdout
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
        try:
            with selectors.DefaultSelector() as selector:
                for descriptor in (pipe.fileno(), self._woken, self.stop.fileno()):
                    selector.register(descriptor, selectors.EVENT_READ)
                self._heed()  # requested before the start, or just now: once, and with SIGTERM
                while not self._is_done():
                    ready = {key.fd for key, _ in selector.select(self._patience())}
                    if pipe.fileno() in ready and not self._read(pipe.fileno(), take):
                        selector.unregister(pipe.fileno())
                        self.is_open = False
                    if self._woken in ready:
                        selector.unregister(self._woken)
                        self.is_over = True
                        self._drain(pipe.fileno(), take)
                        self._end_children()
                    self._heed()
                    tick(self.process.pid)
            self._drain(pipe.fileno(), take)
            return self._outcome()
        finally:
            self._clean_up(pipe)

    def _read(self, pipe: int, take: Callable[[bytes], None]) -> bool:
        """Read available output; return whether the pipe is still open."""
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        if data:
            take(data)
        return bool(data)

    def _drain(self, pipe: int, take: Callable[[bytes], None]) -> None:
        """Read what the process wrote before its end; its children may hold the pipe open for ever."""
        while self.is_open:
            try:
                data = os.read(pipe, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                return
            take(data)

    def _is_done(self) -> bool:
        now = time.monotonic()
        if self.give_up_at is not None and now >= self.give_up_at:
            return True
        return self.is_over and not self._members()

    def _patience(self) -> float:
        moments = [
            moment for moment in (self.timeout_at, self.kill_at, self.give_up_at) if moment is not None
        ]
        wait = 0.02 if self.is_over else _TICK_S
        return max(0.0, min([wait, *(moment - time.monotonic() for moment in moments)]))

    def _heed(self) -> None:
        """Act on requests to end and on the time limit."""
        now = time.monotonic()
        self.stop.drain()
        if self.stop.times > self.heeded:
            self.heeded = self.stop.times
            if self.kill_at is not None:
                self.kill_at = now  # A second request skips the grace period.
            elif not self.is_over:
                self._end(INTERRUPTED)
        if self.timeout_at is not None and now >= self.timeout_at and not self.is_over:
            self.timeout_at = None
            self._end(TIMED_OUT)
        if self.kill_at is not None and now >= self.kill_at and self.give_up_at is None:
            alive = set(_list_group(self.process.pid))
            if (
                self.process.pid not in alive
            ):  # ended, though the thread has not reported it yet: these are the children it left
                self.children |= alive
            self._signal(signal.SIGKILL)
            self.give_up_at = now + _GIVE_UP_S

    def _end(self, why: str) -> None:
        if not self.stopped:
            self.stopped = why
        if self.kill_at is None:
            if self.ask is None:
                self._signal(signal.SIGTERM)
            else:
                self.ask()
            self.kill_at = time.monotonic() + self.grace_s

    def _end_children(self) -> None:
        """End the remaining group after the process has ended."""
        self.children |= self._members()
        if self.children:
            self._signal(signal.SIGTERM)
            if self.kill_at is None:
                self.kill_at = time.monotonic() + self.grace_s

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def _members(self) -> set[int]:
        """Return the ids of running processes of the group, without the leader."""
        return {pid for pid in _list_group(self.process.pid) if pid != self.process.pid}

    def _dismiss_guard(self) -> None:
        """End the guard before the process is reaped: afterwards the process id may be reused."""
        self._guard.kill()
        self._guard.communicate()

    def _outcome(self) -> ProcessOutcome:
        self._dismiss_guard()
        code: int | None = self.process.wait() if self.is_over else None
        number = None if code is None or code >= 0 else -code
        return ProcessOutcome(
            exit_code=None if number else code,
            signal=number,
            stopped=self.stopped,
            started=self.started,
            ended=datetime.now(timezone.utc),
            wall_s=time.monotonic() - self.clock,
            children=len(self.children),
            is_gone=self.is_over,
            timeout_s=self.timeout_s,
        )

    def _clean_up(self, pipe: object) -> None:
        """Leave nothing running, even after an internal error."""
        if self._guard.returncode is None:
            self._dismiss_guard()
        if self.process.returncode is None and not (self.give_up_at and not self.is_over):
            self._signal(signal.SIGKILL)
            self.process.wait()
        pipe.close()  # type: ignore[attr-defined]
        if self.is_over:
            os.close(self._wake)
        os.close(self._woken)


def _list_group(group: int) -> Iterator[int]:
    """Yield the ids of live processes of a group, from /proc; nothing on systems without it."""
    try:
        entries = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return
    for entry in entries:
        if not entry.isdecimal():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123 - hundreds of them, several times a second
                state, _, group_id = file.read(4096).rpartition(b")")[2].split()[:3]
        except (OSError, ValueError):
            continue
        if int(group_id) == group and state not in (b"Z", b"X"):
            yield int(entry)


def name_signal(number: int) -> str:
    """Return `SIGSEGV` for 11."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def signal_remedy(number: int) -> str:
    """Return what to do about a program that a signal ended."""
    return _SIGNAL_REMEDIES.get(name_signal(number), "see the end of the log")
