"""What the program does behind one's back: nothing. No connection, no process, no file but what was asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from build_cases import QUIET as BUILD_LOG
from helpers import write_sample_set

QUIET = [
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
    "net.dot": ["export", "net", "-o", "net.dot"],
    "found.json": ["build-log", "build.log", "-o", "found.json"],
}
THROUGH_GRAPHVIZ = ["export", "net", "--format", "svg", "-o", "-"]
MISBEHAVING = ["--test-the-watch"]
Records = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("quiet")
    write_sample_set(place / "net")
    write_sample_set(place / "other")
    (place / "build.log").write_text(BUILD_LOG, encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def seen(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Records:
    """What was seen of each command; all run in one process, with a `dot` first on the PATH."""
    programs = tmp_path_factory.mktemp("programs")
    (programs / "dot").write_text(
        "#!/bin/sh\ncat >/dev/null\necho '<svg xmlns=\"http://www.w3.org/2000/svg\"/>'\n"
    )
    (programs / "dot").chmod(0o755)
    homes = {f"XDG_{name}_HOME": str(place / "xdg" / name) for name in ("CONFIG", "STATE", "CACHE", "DATA")}
    commands = [*QUIET, *WRITING.values(), THROUGH_GRAPHVIZ, MISBEHAVING]
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("watching.py")), json.dumps(commands)],
        env=os.environ | homes | {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        cwd=place,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return {" ".join(record.pop("command")): record for record in json.loads(done.stdout.splitlines()[-1])}


@pytest.mark.parametrize("command", QUIET, ids=" ".join)
def test_commands_do_nothing_else(seen: Records, command: list[str]) -> None:
    assert seen[" ".join(command)] == {"code": 0, "network": [], "processes": [], "written": []}


def test_files_are_written_where_asked_and_nothing_beside_them(seen: Records, place: Path) -> None:
    for asked, command in WRITING.items():
        record = seen[" ".join(command)]
        assert (record["code"], record["network"], record["processes"]) == (0, [], [])
        assert record["written"]
        assert all(Path(path).is_relative_to(place) for path in record["written"])
        assert (place / asked).exists()
    assert {path.name for path in place.iterdir()} == {"net", "other", "build.log", *WRITING}


def test_graphviz_alone_is_started_for_an_export(seen: Records) -> None:
    record = seen[" ".join(THROUGH_GRAPHVIZ)]
    assert [Path(program).name for program in record["processes"]] == ["dot"]
    assert record["network"] == record["written"] == []


def test_the_watch_sees(seen: Records) -> None:
    """What must not happen would be noted."""
    record = seen[" ".join(MISBEHAVING)]
    assert [len(record[key]) for key in ("network", "processes", "written")] == [1, 1, 2]
