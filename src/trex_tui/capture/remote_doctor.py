"""What `doctor` judges, of another machine: three questions over ssh, and nothing made there."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path
from typing import Any

from trex_tui.capture.doctor import Findings
from trex_tui.capture.remote_find import find_there
from trex_tui.capture.remote_host import ask_remote
from trex_tui.capture.run import Stop
from trex_tui.capture.scripts import AROUND
from trex_tui.capture.ssh import Ssh
from trex_tui.capture.surroundings import Disk, Surroundings, capability, installed, stubs

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


def read_around(said: bytes, word: str, probes: dict[str, Any]) -> Surroundings:
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
    return Surroundings(
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
