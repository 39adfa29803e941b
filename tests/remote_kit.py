"""A real sshd on loopback for tests of captures elsewhere: own keys, own configuration, a free port."""

from __future__ import annotations

import getpass
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fake_trtexec import install
from helpers import free_port
from test_capture_clocks import SMI

HERE = Path(__file__).resolve().parent
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")


def why_not() -> str:
    """Why there can be no sshd here; empty if there can."""
    if SSHD is None:
        return "no sshd here (Debian: openssh-server)"
    if shutil.which("ssh") is None or shutil.which("ssh-keygen") is None:
        return "no ssh here (Debian: openssh-client)"
    if sys.platform != "linux":
        return "asks /proc"
    return ""


@dataclass
class Server:
    """A running sshd.

    Attributes:
        config: For `ssh -F`; every host name leads here, but for `nowhere`.
        temporary: TMPDIR of its sessions, with a name that must be quoted.
        programs: First on PATH of its sessions; empty.
        process: The listener.
    """

    config: Path
    temporary: Path
    programs: Path
    process: subprocess.Popen[bytes]

    def left(self) -> list[str]:
        """What captures left in the temporary directory."""
        return sorted(one.name for one in self.temporary.iterdir())

    def cut(self) -> None:
        """End every session at once, as a broken line does."""
        sessions = [pid for pid in descendants(self.process.pid) if name_of(pid).startswith("sshd")]
        for number in (
            signal.SIGSTOP,
            signal.SIGKILL,
        ):  # Stopped first, so that none reports how what it ran has ended.
            for pid in sessions:
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


@contextmanager
def serving(place: Path, *, multiplexed: bool) -> Iterator[Server]:
    """Run an sshd; afterwards nothing of it is left."""
    port = free_port()
    temporary = place / "t mp 'q\" $(x)"
    programs = place / "bin"
    temporary.mkdir()
    programs.mkdir()
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
    (place / "keys").write_bytes((place / "user.pub").read_bytes())
    value = str(temporary).replace("\\", "\\\\").replace('"', '\\"')
    (place / "sshd.conf").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {place / 'host'}\nPidFile none\nUsePAM no\n"
        f"KexAlgorithms curve25519-sha256\nAuthorizedKeysFile {place / 'keys'}\nStrictModes no\nPasswordAuthentication no\n"
        # A HOME of its own: the shell would read the start-up files of the user who runs the tests, for every command.
        f'SetEnv "HOME={place}" "TMPDIR={value}" "PATH={programs}:/usr/local/bin:/usr/bin:/bin"\n',
        encoding="utf-8",
    )
    shared = (
        f"  ControlMaster auto\n  ControlPath {place / 'c'}\n  ControlPersist 60\n" if multiplexed else ""
    )
    config = place / "ssh.conf"
    config.write_text(
        f"Host nowhere\n  Port 1\n  ControlPath none\nHost *\n  HostName 127.0.0.1\n  Port {port}\n"
        f"  User {getpass.getuser()}\n  IdentityFile {place / 'user'}\n"
        f"  IdentitiesOnly yes\n  StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n{shared}",
        encoding="utf-8",
    )
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where it locks itself up; Debian's service makes it at boot
    assert SSHD is not None
    process = subprocess.Popen(
        [SSHD, "-D", "-e", "-f", place / "sshd.conf"], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    server = Server(config, temporary, programs, process)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if b"listening" in line:
                break
        else:
            raise AssertionError("sshd does not start")
        yield server
    finally:
        if multiplexed:
            subprocess.run(["ssh", "-F", config, "-O", "exit", "x"], capture_output=True, check=False)
        server.cut()
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                words = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            parents.setdefault(int(words[1]), []).append(int(entry.name))
    found = list(parents.get(pid, []))
    for one in found:
        found.extend(parents.get(one, []))
    return found


def name_of(pid: int) -> str:
    try:
        return (Path("/proc") / str(pid) / "comm").read_text(errors="replace").strip()
    except OSError:
        return ""


def program(directory: Path, version: str = "10.4.0", **environment: str) -> Path:
    """A trtexec of the other side, which gets no environment of ours."""
    return wrapped(directory / "trtexec", install(directory / "real", version), **environment)


def wrapped(path: Path, real: Path, **environment: str) -> Path:
    """A program that is another one with this environment."""
    words = " ".join(f"{key}={shlex.quote(value)}" for key, value in environment.items())
    path.write_text(f'#!/bin/sh\n{words} exec {shlex.quote(str(real))} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path


def smi(server: Server, place: Path, **environment: str) -> Path:
    """An nvidia-smi of the other side that writes down what it is told; the file that gets that."""
    real = place / "smi"
    real.write_text(SMI, encoding="ascii")
    real.chmod(0o755)
    calls = place / "smi-calls"
    wrapped(server.programs / "nvidia-smi", real, SMI_CALLS=str(calls), **environment)
    return calls
