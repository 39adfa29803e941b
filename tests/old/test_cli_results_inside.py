"""`--format`, `--json`, `-o` and `--force` mean the same in every command that has a result."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers import OLD_SAMPLES, write_sample_set
from test_cli_results import SUBJECTS
from trex_tui.old.cli.parser import build_parser

NO_RESULT = {"open", "demo", "serve", "capture", "mcp"}
NEEDS_TRTEXEC = {"doctor", "accuracy"}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_sample_set(tmp_path / "net")
    log = next((OLD_SAMPLES / "alexnet").glob("*build.log*"))
    (tmp_path / "build.log").write_bytes(log.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_list_is_complete() -> None:
    options = build_parser().parse_args(["keys"])
    assert options.formats
    from trex_tui.old.cli import COMMANDS

    assert set(COMMANDS) == {*SUBJECTS, *NO_RESULT, *NEEDS_TRTEXEC}
