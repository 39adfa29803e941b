"""Windows and macOS, as far as they can be played here: what POSIX alone has is taken away, and nothing must miss it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from elsewhere import ABSENT
from helpers import GRAPH, PROFILE, REPOSITORY, write_files


def test_windows_imports_explores_and_says_what_it_cannot(tmp_path: Path) -> None:
    """Every module imports; the files of others can be looked at; what takes trtexec says so in a line."""
    net = write_files(tmp_path / "net", {"a.graph.json": GRAPH, "a.profile.json": PROFILE})
    engine = tmp_path / "a.engine"
    engine.write_bytes(b"ftrt")
    commands = [
        ["summary", "--json", str(net)],
        ["layers", str(net), "--format", "csv"],
        ["export", str(net), "-o", str(tmp_path / "net.json")],
        ["capture", "--engine", str(engine)],
        ["doctor"],
        ["accuracy", "--ref", str(engine), "--test", str(engine)],
    ]
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "tests/elsewhere.py"), json.dumps(commands)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    files = [path.as_posix() for path in (REPOSITORY / "src/trex_tui").rglob("*.py")]
    left_out = tuple(f"{name.replace('.', '/')}.py" for name in ABSENT)
    count = sum(not path.endswith(left_out) for path in files)
    assert done.stdout.split() == [str(count), "0", "0", "0", "2", "2", "2"], done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("trex-tui: error:")]
    assert ["Linux" in error for error in errors] == [True] * 3, done.stderr
