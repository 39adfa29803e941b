"""Windows and macOS, as far as they can be played here: what POSIX alone has is taken away, and nothing must miss it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from helpers import GRAPH, PROFILE, REPOSITORY, write_files

ELSEWHERE = REPOSITORY / "tests/elsewhere.py"
PACKAGE = REPOSITORY / "src" / "trex_tui"


def test_windows_imports_explores_and_says_what_it_cannot(tmp_path: Path) -> None:
    """Every module imports; the files of others can be looked at; what takes trtexec says so in a line."""
    net = write_files(tmp_path / "net", {"a.graph.json": GRAPH, "a.profile.json": PROFILE})
    engine = tmp_path / "a.engine"
    engine.write_bytes(b"ftrt")
    commands = [
        ["summary", "--json", str(net)],
        ["layers", str(net), "--format", "csv"],
        ["export", str(net), "-o", str(tmp_path / "net.json")],
        ["export", str(net), "-o", str(tmp_path / "net.dot")],
        ["capture", "--engine", str(engine)],
        ["doctor"],
        ["accuracy", "--ref", str(engine), "--test", str(engine)],
        ["--stop-on-signals"],
    ]
    lines = [word for command in commands for word in (*command, "--next")]
    done = subprocess.run(
        [sys.executable, str(ELSEWHERE), *lines], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    # The servers of `serve` and `mcp` need aiohttp and pydantic, which are optional and take Windows' own modules.
    left_out = ("__main__.py", "posix_driver.py", "web_server.py", "agent/server.py")
    modules = len([path for path in PACKAGE.rglob("*.py") if not path.as_posix().endswith(left_out)])
    assert done.stdout.split() == [str(modules), "0", "0", "0", "0", "2", "2", "2", "0"], done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("trex-tui: error:")]
    assert ["Linux" in one for one in errors] == [True] * 3, done.stderr
