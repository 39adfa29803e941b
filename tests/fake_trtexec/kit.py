"""What tests of captures share: a trtexec of each release, and a place to capture in."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onnx_bytes import MODEL


class Bench:
    """A place to capture in: a model, the programs, and what a capture leaves."""

    def __init__(self, place: Path, programs: Callable[[str], Any]) -> None:
        self.place = place
        self.programs = programs
        self.model = place / "net.onnx"
        self.model.write_bytes(MODEL)
        self.outdir = place / "results" / "net"

    def names(self) -> list[str]:
        """The files of the set, and everything else in its place."""
        return sorted(str(one.relative_to(self.outdir)) for one in self.outdir.rglob("*") if one.is_file())

    def bytes(self) -> dict[str, bytes]:
        return {name: (self.outdir / name).read_bytes() for name in self.names()}


COMPLETE = sorted(
    f"net.{ending}"
    for ending in (
        *("engine", "engine.build.log", "engine.profile.log"),
        *("graph.json", "profile.json", "timing.json", "capture.json"),
    )
)


def is_running(pid: int) -> bool:
    """Whether a process lives; a zombie does not."""
    try:
        state = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="ascii", errors="replace")
            .rpartition(")")[2]
            .split()[0]
        )
    except FileNotFoundError:
        return False
    return state not in ("Z", "X")


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def wait_for(path: Path) -> int:
    """Block until a run says through its pipe that it hangs; its process id."""
    with path.open() as pipe:
        return int(pipe.readline().split()[1])


def wait_for_end(pid: int) -> None:
    """Block until a process that is not our child has ended; an error if it does not."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([handle], [], [], 150)[0], f"process {pid} runs on"
    finally:
        os.close(handle)
