"""The shell that runs scripts on the machine that measures: `/bin/sh` of this machine, or of another over the user's `ssh`.

ssh joins the words of a command with spaces and a shell of the other side splits them again, so everything is quoted for a
POSIX shell and passed to `/bin/sh`. The user's configuration, keys, jump hosts and multiplexing apply; no passwords.
"""

from __future__ import annotations

import math
import os
import re
import select
import shlex
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from trex_tui.capture.process import StopRequest
from trex_tui.errors import TrexError

# Scripts, here and in the modules that run them, are for POSIX sh only, each on one line. busybox rejects
# `kill -s TERM -- -1`, though POSIX allows it, hence `kill -TERM -1`; ksh adds 256 to a signal, others 128. The first
# argument of every script is a random word that marks its own output: no program can print it by chance or by intent.
WITHIN: Final = (
    # Runs a program for so many seconds at most.
    'within() { s=$1; shift; if command -v timeout >/dev/null; then timeout -s KILL "$s" "$@"; '
    'else "$@"; fi </dev/null 2>&1; }; '
)

CONFIG_VARIABLE = "TREX_TUI_SSH_CONFIG"
"""A configuration file that replaces ~/.ssh/config, as with `ssh -F`."""
_OPTIONS = (
    *("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=4"),
    # Settings of the user's configuration for interactive sessions would break a command.
    *("RemoteCommand=none", "ClearAllForwardings=yes"),
)
_POLL_S = 0.1
_END_S = 30.0
_CHUNK = 1 << 20
_LOST = 255
"""Exit code of ssh itself. The scripts never exit with it."""
_REFUSALS = (
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed: it was installed anew, or another machine answers in its place; if you know that it was "
        "installed anew: {forget}, then ssh {host}",
    ),
    (
        r"Host key verification failed|host key is known for",
        "its host key is unknown; connect once by hand and check it: ssh {host}",
    ),
    (
        r"Permission denied \(",
        "it accepts none of your keys (no passwords are asked for): ssh-copy-id {host}",
    ),
    (r"Could not resolve hostname", "the name cannot be resolved; check it, or add it to ~/.ssh/config"),
)
"""What ssh prints -> why there is no connection."""
_FORGET = re.compile(r"^\s*(ssh-keygen .*-R .*?)\s*$", re.MULTILINE)


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
            raise RemoteError(f"{argv[0]} cannot be started: {error.strerror}") from None
        except ValueError as error:  # a NUL
            raise RemoteError(f"{argv[0]} cannot be started: {error}") from None

    def call(
        self, stop: StopRequest | None, script: str, *arguments: str, source: Path | None = None
    ) -> bytes:
        """Return the output of a script.

        Args:
            stop: Ends the script; None if nothing does.
            script: Script for `/bin/sh`.
            arguments: Its `$1`, …
            source: File for its standard input; None for no input.

        Raises:
            RemoteError: The script or the connection failed.
            OSError: The file cannot be read.
        """
        return b"".join(self.stream(stop, script, *arguments, source=source))

    def stream(
        self, stop: StopRequest | None, script: str, *arguments: str, source: Path | None = None
    ) -> Generator[bytes, None, None]:
        """Yield the output of a script in pieces as they arrive; otherwise as `call`."""
        with (
            tempfile.TemporaryFile() as stderr,
            (source or Path(os.devnull)).open("rb", buffering=0) as taken,
        ):
            process = self.start(self.argv(script, *arguments), taken, stderr)
            try:
                yield from _read_pieces(process, stop)
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

    def first_answer(
        self,
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
                raise RemoteError(f"{self.name}: no answer within {timeout_s:.0f} s")
            if not select.select([pipe], [], [], _POLL_S)[0]:
                continue
            data = os.read(pipe, _CHUNK)
            out += data
            if out.endswith(mark) and out.count(mark[1:]) > 1:
                return out[out.index(begin) + len(begin) : -len(mark)]
            if not data:
                raise self.failure(process.wait(), stderr)
        raise RemoteError(f"{self.name}: interrupted")

    def failure(self, code: int | None, stderr: IO[bytes]) -> RemoteError:
        """Return the error for a command that ended with this exit code; `stderr` is its standard error."""
        stderr.seek(0)
        text = stderr.read(1 << 16).decode("utf-8", errors="replace")
        if code == _LOST:
            return RemoteError(f"{self.name}: {describe_refusal(text, self.host)}")
        return RemoteError(f"{self.name}: {last_line(text) or f'a command failed with exit code {code}'}")


def _read_pieces(process: subprocess.Popen[bytes], stop: StopRequest | None) -> Iterator[bytes]:
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    while stop is None or not stop.times:
        if not select.select([pipe], [], [], _POLL_S)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        if not data:
            return
        yield data
    process.terminate()


def describe_refusal(text: str, host: str) -> str:
    """Return why ssh has no connection, by what it printed: a known reason with the remedy, else its last line."""
    forget = _FORGET.search(text)
    words = {
        "host": shlex.quote(host),
        "forget": forget[1] if forget else f"ssh-keygen -R {shlex.quote(host)}",
    }
    for pattern, reason in _REFUSALS:
        if re.search(pattern, text):
            return reason.format_map(words)
    return last_line(text) or "ssh failed without a message; try ssh by hand"


def last_line(text: str) -> str:
    """Return the last non-blank line."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "")


# Over ssh


@dataclass(frozen=True, slots=True)
class Ssh(Shell):
    """`/bin/sh` of another machine, over ssh.

    Attributes:
        host: As ssh takes it: `jetson`, `user@jetson`, `ssh://user@jetson:2222`.
        config: A configuration file; None is the user's.
    """

    config: str | None = None

    def argv(self, script: str, *arguments: str) -> tuple[str, ...]:
        remote = shlex.join(("exec", "/bin/sh", "-c", script, "trex-tui", *arguments))
        options = [word for option in _OPTIONS for word in ("-o", option)]
        config = () if self.config is None else ("-F", self.config)
        return ("ssh", "-T", *config, *options, "--", self.host, remote)


def connect(host: str, environ: Mapping[str, str] = os.environ) -> Ssh:
    """Return the connection for a host.

    Raises:
        TrexError: It cannot be a host name.
    """
    if not host or host.startswith("-") or not host.isprintable() or " " in host:
        raise TrexError(f"--host {host!r}: not a host name; use one that ssh knows")
    return Ssh(host, environ.get(CONFIG_VARIABLE) or None)
