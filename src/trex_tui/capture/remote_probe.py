"""The trtexec of another machine: the places of `locate.py`, looked at by a script there."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui.capture.doctor import Findings
from trex_tui.capture.environment_probe import (
    Disk,
    Environment,
    Host,
    Recording,
    capability,
    installed,
    probe_host,
    smi_queries,
    stubs,
)
from trex_tui.capture.process import Stop
from trex_tui.capture.ssh import AROUND, FIND, PROBE, Ssh
from trex_tui.capture.trtexec import Trtexec, TrtexecNotFoundError, understand
from trex_tui.errors import TrexError

_NOWHERE = (
    "no trtexec on the PATH of a command over ssh (.bashrc does not apply), "
    "in /usr/src/tensorrt/bin, /opt/tensorrt/bin or a TensorRT-*/bin; $TRTEXEC names none there; state --trtexec"
)


@dataclass(frozen=True, slots=True)
class RemoteTrtexec:
    """What was found there.

    Attributes:
        trtexec: The one that a capture would use, or None.
        refusal: Why there is none; without the name of the machine.
        others: More of them, which are not used.
    """

    trtexec: Trtexec | None
    refusal: str
    others: tuple[str, ...]


def find_there(
    ssh: Ssh, stop: Stop, word: str, given: str | None, *, with_others: bool = False
) -> RemoteTrtexec:
    """Look for it, in the order of `locate.find_trtexec`.

    Args:
        ssh: How to reach the machine.
        stop: Ends the question.
        word: Marks what the script says itself.
        given: What a person named, with a path of there.
        with_others: Name also those that come after the one to use.

    Raises:
        RemoteError: It cannot be asked.
    """
    more = ("1",) if with_others else ()
    return read_found(ssh.call(stop, FIND, word, given or "", *more), word, given)


def read_found(said: bytes, word: str, given: str | None) -> RemoteTrtexec:
    """Understand what the script printed."""
    used: Trtexec | None = None
    refusal, by, path = "", "", ""
    others: list[str] = []
    for part in said.split(f"\n{word} ".encode())[1:]:
        heading, _, body = part.partition(b"\n")
        if heading == b"other":
            others.append(os.fsdecode(body.rstrip(b"\n")))
        elif heading != b"help":
            by, path = heading.decode("utf-8", errors="replace"), os.fsdecode(body)
        else:
            try:
                used = understand(body.decode("utf-8", errors="replace"), Path(path), by)
            except TrtexecNotFoundError as error:
                refusal = str(error)
                others.append(path)
    if used is not None:
        return RemoteTrtexec(used, "", tuple(others))
    if not refusal and given:
        refusal = f"--trtexec: there is no {given} there that may be executed"
    return RemoteTrtexec(None, refusal or _NOWHERE, ())


_PLACES = re.compile(r"/(?:[\w.,@:+-]+/)*[\w.,@:+-]+")


def probe_remote(ssh: Ssh, stop: Stop, word: str, *, with_ids: bool) -> dict[str, Any]:
    """Ask it; never raises. What could not be asked is missing, and `probes` says why."""
    try:
        return ask_remote(ssh, stop, word, with_ids=with_ids)
    except (TrexError, OSError) as error:
        return Host(probes={"errors": {"raw": f"{error}\n"}}).document()


def ask_remote(ssh: Ssh, stop: Stop, word: str, *, with_ids: bool) -> dict[str, Any]:
    """The same.

    Raises:
        RemoteError: It cannot be asked.
    """
    said = ssh.call(stop, PROBE, word, "1" if with_ids else "0", *smi_queries(with_ids=with_ids))
    return read_probe(said, word, with_ids=with_ids)


def read_probe(said: bytes, word: str, *, with_ids: bool) -> dict[str, Any]:
    """Understand what the script printed."""
    system: dict[str, str] = {}
    environment: dict[str, str] = {}
    programs: dict[str, str] = {}
    answers: dict[str, tuple[int, str]] = {}
    with tempfile.TemporaryDirectory(prefix="trex-tui.") as directory:
        root = Path(directory)
        for part in said.split(f"\n{word} ".encode())[1:]:
            heading, _, raw = part.partition(b"\n")
            kind, _, name = heading.decode("utf-8", errors="replace").partition(" ")
            text = raw.decode("utf-8", errors="replace")
            if kind == "file" and _PLACES.fullmatch(name) and ".." not in name:
                target = root / name.lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(raw)
            elif kind == "uname":
                system[name] = text.strip()
            elif kind == "env":
                environment[name] = text.strip()
            elif kind in ("smi", "nvpmodel"):
                asked, _, code = name.rpartition(" ")
                program = "nvidia-smi" if kind == "smi" else kind
                programs[program] = program
                key = f"--query-gpu={asked}" if kind == "smi" else asked
                answers[key] = (int(code) if code.isdecimal() else 127, text)
        recording = Recording(system, programs, answers, environment)
        document = probe_host(with_ids=with_ids, environ={}, root=root, recording=recording).document()
    for probe in document["probes"].values():
        if "directory" in probe:  # it names the copy
            probe["directory"] = probe["directory"].removeprefix(directory)
    return document


_FREE = re.compile(r"\s\d+\s+\d+\s+(\d{1,18})\s+\d+%\s")
"""Blocks, used, available, capacity: the columns of `df -P`, whatever the names around them hold."""


def look_there(ssh: Ssh, stop: Stop, given: str | None) -> Findings:
    """Ask it; the disk is that of its temporary directory, where a capture works.

    Raises:
        RemoteError: It cannot be reached, or no longer.
    """
    word = secrets.token_hex(16)
    found = find_there(ssh, stop, word, given, with_others=True)
    host = ask_remote(ssh, stop, word, with_ids=False)
    probes: dict[str, Any] = host.pop("probes")
    around = read_around(ssh.call(stop, AROUND, word), word, probes)
    return Findings(found.trtexec, found.refusal, found.others, host, probes, around)


def read_around(said: bytes, word: str, probes: dict[str, Any]) -> Environment:
    """Understand what the script printed; the text of what drifts goes to `probes`."""
    parts: dict[tuple[str, str], str] = {}
    for part in said.split(f"\n{word} ".encode())[1:]:
        heading, _, body = part.partition(b"\n")
        kind, _, name = heading.decode("utf-8", errors="replace").strip().partition(" ")
        parts[kind, name] = os.fsdecode(body)

    def text(kind: str, name: str = "") -> str:
        return parts.get((kind, name), "").strip()

    may_lock = capability(text("file", "/proc/self/status"))
    if may_lock is not None:
        probes["proc/self/status"] = {"file": "/proc/self/status", "raw": may_lock[0]}
    for name in ("packages", "free"):
        if text(name):
            probes[name] = {"command": "dpkg-query -W" if name == "packages" else "df -Pk", "raw": text(name)}
    uptime = re.match(r"\d+(?:\.\d+)?", text("file", "/proc/uptime"))
    return Environment(
        devices={
            name: "r" in body.split() and (name == "/dev/nvmap" or "w" in body.split())
            for (kind, name), body in parts.items()
            if kind == "device"
        },
        may_lock_clocks=None if may_lock is None else may_lock[1],
        has_nvidia_smi=bool(text("program", "nvidia-smi")),
        tegrastats=text("program", "tegrastats") or None,
        is_graphical=next(
            (
                Path(body.strip()).name == "graphical.target"
                for (kind, _), body in parts.items()
                if kind == "link"
            ),
            None,
        ),
        uptime_s=float(uptime[0]) if uptime else None,
        packages=installed(text("packages")),
        stub_libraries=stubs(text("libraries")),
        disk=_disk(text("disk"), text("free")),
    )


def _disk(said: str, free: str) -> Disk:
    """`d` behind the path says that it is a directory, `w` that something may be made in it."""
    path, *words = said.split("\n")
    while words and words[0] not in ("d", "w"):  # a newline in its name
        path = f"{path}\n{words.pop(0)}"
    match = _FREE.search(f"{free}\n")
    return Disk(
        wanted=Path(path),
        existing=Path(path),
        is_directory="d" in words,
        is_writable="w" in words,
        free_bytes=int(match[1]) * 1024 if match else None,
        is_temporary=True,
    )
