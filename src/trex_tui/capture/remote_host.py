"""The facts of `host.py` about another machine: one script there, its answers read as if it were this one."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from trex_tui.capture.host import Host, Recording, probe_host, smi_queries
from trex_tui.capture.run import Stop
from trex_tui.capture.scripts import PROBE
from trex_tui.capture.ssh import Ssh
from trex_tui.errors import TrexError

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
