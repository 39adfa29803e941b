"""The shell that runs scripts on the machine that measures: `/bin/sh` of this machine; `ssh.Ssh` that of another."""

from __future__ import annotations

import math
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import IO

from trex_tui.old.capture.process import StopRequest
from trex_tui.old.errors import TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass

_POLL_S = 0.1
_END_S = 30.0
_CHUNK = 1 << 20
LOST = 255
"""Exit code of ssh itself. The scripts never exit with it."""


class RemoteError(TrexError):
    """The machine cannot be reached, or refused something; the message names the machine."""


class ConnectionLostError(RemoteError):
    """The connection to the machine was lost."""


@dataclass(frozen=True, slots=True)
class Shell:
    """`/bin/sh` of this machine; the base class for other machines.

    Attributes:
        host: The other machine; empty for this machine.
        environ: Environment of the local command; None is that of this process.
    """

    host: str = ""
    environ: Mapping[str, str] | None = field(default=None, kw_only=True)

    @property
    def where(self) -> str:
        """Return ` on jetson`, for sentences; empty for this machine."""
        return f" on {self.host}" if self.host else ""

    @property
    def name(self) -> str:
        """Name of the machine, for messages."""
        return self.host or "this machine"

    def argv(self, script: str, *arguments: str) -> tuple[str, ...]:
        """Return the local command that makes `/bin/sh` run a script with arguments."""
        return ("/bin/sh", "-c", script, "trex-tui", *arguments)

    def start(
        self, argv: Sequence[str], stdin: IO[bytes] | int, stderr: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a command returned by `argv`, out of reach of Ctrl-C.

        Raises:
            RemoteError: The program does not exist here.
        """
        try:
            return subprocess.Popen(
                list(argv),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=self.environ,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise RemoteError(f"{argv[0]} cannot be started: {describe_reason(error)}") from None
        except ValueError as error:  # a NUL
            raise RemoteError(f"{argv[0]} cannot be started: {error}") from None

    def call(
        self,
        stop: StopRequest | None,
        script: str,
        *arguments: str,
        source: Path | None = None,
        tick: Callable[[int], None] = lambda _: None,
    ) -> bytes:
        """Return the output of a script.

        Args:
            stop: Ends the script; None if nothing does.
            script: Script for `/bin/sh`.
            arguments: Its `$1`, …
            source: File for its standard input; None for no input.
            tick: Receives the number of bytes read several times a second.

        Raises:
            RemoteError: The script or the connection failed.
            OSError: The file cannot be read.
        """
        return b"".join(self.stream(stop, script, *arguments, source=source, tick=tick))

    def stream(
        self,
        stop: StopRequest | None,
        script: str,
        *arguments: str,
        source: Path | None = None,
        tick: Callable[[int], None] = lambda _: None,
    ) -> Generator[bytes, None, None]:
        """Yield the output of a script, in pieces as they arrive.

        Raises:
            RemoteError: As `call`.
            OSError: As `call`.
        """
        with (
            tempfile.TemporaryFile() as stderr,
            source.open("rb", buffering=0) if source else _nothing() as taken,
        ):
            process = self.start(self.argv(script, *arguments), taken, stderr)
            try:
                # The process shares this open file and moves its position.
                yield from _pieces(process, stop, lambda: tick(taken.tell()) if source else None)
                code = process.wait(_END_S)
            except subprocess.TimeoutExpired:
                raise ConnectionLostError(
                    f"{self.name}: a command did not end; check the connection"
                ) from None
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                assert process.stdout is not None
                process.stdout.close()
            if stop is not None and stop.times:
                raise RemoteError(f"{self.name}: interrupted")
            if code != 0:
                raise self.failure(code, stderr)

    def failure(self, code: int | None, stderr: IO[bytes]) -> RemoteError:
        """Return the error for a command that ended with this exit code; `stderr` is its standard error."""
        last = last_line(stderr)
        if code == LOST:
            return RemoteError(f"{self.name}: {last or 'ssh failed without a message; try ssh by hand'}")
        return RemoteError(f"{self.name}: {last or f'a command failed with exit code {code}'}")


def _nothing() -> IO[bytes]:
    return open(os.devnull, "rb")  # noqa: PTH123


def _pieces(
    process: subprocess.Popen[bytes], stop: StopRequest | None, tick: Callable[[], None]
) -> Iterator[bytes]:
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    while stop is None or not stop.times:
        tick()
        if not select.select([pipe], [], [], _POLL_S)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        if not data:
            return
        yield data
    process.terminate()


def first_answer(
    shell: Shell,
    process: subprocess.Popen[bytes],
    word: str,
    stop: StopRequest | None,
    stderr: IO[bytes],
    *,
    timeout_s: float = math.inf,
) -> bytes:
    """Read the first answer of a script that keeps running.

    The answer is between two lines `word`; profiles of the shell may print text before them.

    Raises:
        RemoteError: The script ended, `stop` ended it, or nothing arrived in time.
    """
    until = time.monotonic() + timeout_s
    begin, mark = f"{word}\n".encode(), f"\n{word}\n".encode()
    assert process.stdout is not None
    pipe, out = process.stdout.fileno(), b""
    while stop is None or not stop.times:
        if time.monotonic() > until:
            raise RemoteError(f"{shell.name}: no answer within {timeout_s:.0f} s")
        if not select.select([pipe], [], [], _POLL_S)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        out += data
        if out.endswith(mark) and out.count(mark[1:]) > 1:
            return out[out.index(begin) + len(begin) : -len(mark)]
        if not data:
            raise shell.failure(process.wait(), stderr)
    raise RemoteError(f"{shell.name}: interrupted")


def last_line(output: IO[bytes]) -> str:
    """Return the last non-blank line of a file."""
    output.seek(0)
    lines = [line.strip() for line in output.read(1 << 16).decode("utf-8", errors="replace").splitlines()]
    return next((line for line in reversed(lines) if line), "")
