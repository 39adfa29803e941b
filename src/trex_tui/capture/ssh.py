"""Commands on another machine, over the user's own `ssh`: its configuration, keys, jump hosts and multiplexing.

ssh joins the words of a command with spaces and a shell of the other side splits them again, so everything is quoted for a
POSIX shell and handed to `/bin/sh` at once. No passwords: BatchMode. Files go through `cat`, for the other side may have
neither sftp nor scp, and because a path is then an argument that no shell expands.
"""

from __future__ import annotations

import os
import select
import shlex
import subprocess
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from trex_tui.capture.run import Stop
from trex_tui.errors import TrexError

CONFIG_VARIABLE = "TREX_TUI_SSH_CONFIG"
"""A configuration file to use in place of ~/.ssh/config, as `ssh -F` takes it."""
_OPTIONS = (
    *("BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=15", "ServerAliveCountMax=4"),
    # Of the user's configuration, what is meant for a person at a prompt would break a command.
    *("RemoteCommand=none", "ClearAllForwardings=yes"),
)
_POLL_S = 0.1
_END_S = 30.0
_CHUNK = 1 << 20
LOST = 255
"""Exit code of ssh itself. Our scripts never end with it."""


class RemoteError(TrexError):
    """The other machine cannot be reached, or refused something; the message names it."""


class ConnectionLostError(RemoteError):
    """It was reached, and is no longer."""


@dataclass(frozen=True, slots=True)
class Ssh:
    """How to reach a machine.

    Attributes:
        host: As ssh takes it: `jetson`, `user@jetson`, `ssh://user@jetson:2222`.
        config: A configuration file; None is the user's.
    """

    host: str
    config: str | None = None

    def argv(self, script: str, *arguments: str) -> tuple[str, ...]:
        """The local command that has `/bin/sh` of the other side run a script with arguments."""
        remote = shlex.join(("exec", "/bin/sh", "-c", script, "trex-tui", *arguments))
        options = [word for one in _OPTIONS for word in ("-o", one)]
        config = () if self.config is None else ("-F", self.config)
        return ("ssh", "-T", *config, *options, "--", self.host, remote)

    def call(self, stop: Stop, script: str, *arguments: str, source: Path | None = None) -> bytes:
        """What a script prints.

        Args:
            stop: Ends it.
            script: For `/bin/sh`.
            arguments: Its `$1`, …
            source: A file for its standard input; None is without.

        Raises:
            RemoteError: It failed, or the connection did.
            OSError: The file cannot be read.
        """
        return b"".join(self.stream(stop, script, *arguments, source=source))

    def stream(
        self, stop: Stop, script: str, *arguments: str, source: Path | None = None
    ) -> Generator[bytes, None, None]:
        """The same in pieces as they come.

        Raises:
            RemoteError: As `call`.
            OSError: As `call`.
        """
        with tempfile.TemporaryFile() as said, source.open("rb") if source else _nothing() as taken:
            process = start(self.argv(script, *arguments), taken, said)
            try:
                yield from _pieces(process, stop)
                code = process.wait(_END_S)
            except subprocess.TimeoutExpired:
                raise ConnectionLostError(f"{self.host}: ssh does not end") from None
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()
                assert process.stdout is not None
                process.stdout.close()
            if stop.times:
                raise RemoteError(f"{self.host}: interrupted")
            if code != 0:
                raise self.failure(code, said)

    def failure(self, code: int | None, said: IO[bytes]) -> RemoteError:
        """What to tell of an ssh that ended so; `said` is its standard error."""
        last = last_line(said)
        if code == LOST:
            return RemoteError(f"{self.host}: {last or 'ssh failed without a word'}")
        return RemoteError(f"{self.host}: {last or f'a command failed with exit code {code}'}")


def _nothing() -> IO[bytes]:
    return open(os.devnull, "rb")  # noqa: PTH123


def start(argv: Sequence[str], stdin: IO[bytes] | int, stderr: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start ssh; Ctrl-C does not reach it.

    Raises:
        RemoteError: There is no ssh here.
    """
    try:
        return subprocess.Popen(
            list(argv),
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        raise RemoteError(f"ssh cannot be started: {error.strerror or error}") from None
    except ValueError as error:  # a NUL
        raise RemoteError(f"ssh cannot be told: {error}") from None


def _pieces(process: subprocess.Popen[bytes], stop: Stop) -> Iterator[bytes]:
    assert process.stdout is not None
    pipe = process.stdout.fileno()
    while not stop.times:
        if not select.select([pipe], [], [], _POLL_S)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        if not data:
            return
        yield data
    process.terminate()


def first_answer(ssh: Ssh, process: subprocess.Popen[bytes], word: str, stop: Stop, said: IO[bytes]) -> bytes:
    """What a script that runs on says first, between two lines `word`; before them may be what a profile of the shell prints.

    Raises:
        RemoteError: It ended, or we are to.
    """
    begin, mark = f"{word}\n".encode(), f"\n{word}\n".encode()
    assert process.stdout is not None
    pipe, out = process.stdout.fileno(), b""
    while not stop.times:
        if not select.select([pipe], [], [], _POLL_S)[0]:
            continue
        data = os.read(pipe, _CHUNK)
        out += data
        if out.endswith(mark) and out.count(mark[1:]) > 1:
            return out[out.index(begin) + len(begin) : -len(mark)]
        if not data:
            raise ssh.failure(process.wait(), said)
    raise RemoteError(f"{ssh.host}: interrupted")


def last_line(said: IO[bytes]) -> str:
    """The last line that says something, of a file."""
    said.seek(0)
    lines = [one.strip() for one in said.read(1 << 16).decode("utf-8", errors="replace").splitlines()]
    return next((one for one in reversed(lines) if one), "")


def checked_hosts(hosts: Sequence[str], environ: Mapping[str, str] = os.environ) -> list[Ssh]:
    """The machines that a person named.

    Raises:
        TrexError: One is none, or is there twice.
    """
    for host in hosts:
        if not host or host.startswith("-") or not host.isprintable() or " " in host:
            raise TrexError(f"--host {host!r}: not the name of a machine")
    folders = [folder_of(one) for one in hosts]
    twice = next((host for host, folder in zip(hosts, folders, strict=True) if folders.count(folder) > 1), "")
    if twice:
        raise TrexError(f"--host {twice}: there twice, or it cannot be told from another in a directory name")
    return [Ssh(one, environ.get(CONFIG_VARIABLE) or None) for one in hosts]


def folder_of(host: str) -> str:
    """What the directory of a machine is called: its name, without what means something in a path."""
    kept = "".join(one if one.isalnum() or one in "-_.@" else "_" for one in host)
    return f"_{kept[1:]}" if kept.startswith(".") else kept
