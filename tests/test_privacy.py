"""What the program does behind one's back: nothing. No connection, no process, no file but what was asked for.

The same of the explorer is looked at where every screen is shown: test_app_tour_golden.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from build_cases import QUIET as BUILD_LOG
from helpers import write_sample_set

WATCH = Path(__file__).with_name("watching.py")


def watched(folder: Path, *commands: list[str], **environment: str) -> list[dict[str, Any]]:
    """Run commands one after the other in a process in which everything is noted; a record of each."""
    homes = {
        f"XDG_{name}_HOME": str(folder / "xdg" / name.lower())
        for name in ("CONFIG", "STATE", "CACHE", "DATA")
    }
    done = subprocess.run(
        [sys.executable, str(WATCH), json.dumps(commands)],
        env=os.environ | homes | environment,
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    records: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    assert len(records) == len(commands)
    return records


QUIET = [
    ["summary", "net"],
    ["summary", "--json", "net"],
    ["layers", "net", "--filter", "conv"],
    ["layers", "net", "--chart", "roofline"],
    ["lint", "net", "--fail-on", "never"],
    ["diff", "net", "other"],
    ["report", "net"],
    ["times", "net"],
    ["export", "net", "--format", "csv", "-o", "-"],
    ["build-log", "net/net.build.log"],
    ["explain"],
]
WRITING = {
    "page.html": ["report", "net", "other", "-o", "page.html"],
    "times.csv": ["times", "net", "--format", "csv", "-o", "times.csv"],
    "net.json": ["export", "net", "--format", "trace", "-o", "net.json"],
    "net.dot": ["export", "net", "-o", "net.dot"],
    "found.json": ["build-log", "build.log", "-o", "found.json"],
    "net.metadata.json": ["export", "net", "-o", "net.metadata.json"],
}
THROUGH_GRAPHVIZ = ["export", "net", "--format", "svg", "-o", "-"]
MISBEHAVING = ["--test-the-watch"]


@dataclass(frozen=True)
class Watched:
    """What was seen of each command, the directory it ran in, and a `dot` that was on the PATH."""

    folder: Path
    dot: Path
    records: list[dict[str, Any]]

    def of(self, command: list[str]) -> dict[str, Any]:
        return next(one for one in self.records if one["command"] == command)


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """All commands, in one process."""
    place, programs = tmp_path_factory.mktemp("quiet"), tmp_path_factory.mktemp("programs")
    write_sample_set(place / "net")
    write_sample_set(place / "other")
    (place / "build.log").write_text(BUILD_LOG, encoding="utf-8")
    dot = programs / "dot"
    dot.write_text("#!/bin/sh\ncat >/dev/null\necho '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\n")
    dot.chmod(0o755)
    commands = [*QUIET, *WRITING.values(), THROUGH_GRAPHVIZ, MISBEHAVING]
    path = str(programs) + os.pathsep + os.environ["PATH"]
    return Watched(place, dot, watched(place, *commands, PATH=path))


@pytest.mark.parametrize("command", QUIET, ids=" ".join)
def test_commands_do_nothing_else(seen: Watched, command: list[str]) -> None:
    assert seen.of(command) == {"command": command, "code": 0, "network": [], "processes": [], "written": []}


@pytest.mark.parametrize("asked", WRITING)
def test_files_are_written_where_asked(seen: Watched, asked: str) -> None:
    record = seen.of(WRITING[asked])
    assert (record["code"], record["network"], record["processes"]) == (0, [], [])
    assert record["written"]
    assert [one for one in record["written"] if not Path(one).is_relative_to(seen.folder)] == []
    assert (seen.folder / asked).exists()


def test_nothing_is_left_beside_them(seen: Watched) -> None:
    assert {one.name for one in seen.folder.iterdir()} == {"net", "other", "build.log", *WRITING}


def test_graphviz_alone_is_started_for_an_export(seen: Watched) -> None:
    record = seen.of(THROUGH_GRAPHVIZ)
    assert record["processes"] == [str(seen.dot)]
    assert record["network"] == record["written"] == []


def test_the_watch_sees(seen: Watched) -> None:
    """What must not happen would be noted."""
    record = seen.of(MISBEHAVING)
    assert [len(record[key]) for key in ("network", "processes", "written")] == [1, 1, 2]
