"""`./dev`: its messages, and the directory that it runs in. The environment is made up: pip is not run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import REPOSITORY

DEV = REPOSITORY / "dev"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="./dev is a shell script")


def dev(cwd: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(DEV), *arguments],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )


@pytest.fixture
def environment(tmp_path: Path) -> str:
    """An environment that counts as installed; its trex-tui prints its directory and arguments."""
    venv = tmp_path / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / ".installed-run").touch()
    program = venv / "bin" / "trex-tui"
    program.write_text('#!/bin/sh\npwd\nfor argument; do echo "$argument"; done\n')
    program.chmod(0o755)
    return str(venv)


def test_paths_are_relative_to_the_callers_directory(tmp_path: Path, environment: str) -> None:
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    done = dev(elsewhere, "open", "a.json", "--ascii", TREX_TUI_VENV=environment)
    assert done.stdout.splitlines() == [str(elsewhere.resolve()), "open", "a.json", "--ascii"]
    for arguments in ([], ["open"]):
        done = dev(elsewhere, *arguments, TREX_TUI_VENV=environment)
        assert done.stdout.splitlines()[1:] == ["open", str(REPOSITORY / "sample_artifacts" / "alexnet")]


def test_help_is_a_result(tmp_path: Path) -> None:
    for option in ("-h", "--help", "help"):
        done = dev(tmp_path, option)
        assert (done.returncode, done.stderr) == (0, "")
        assert "./dev open [PATH ...]" in done.stdout
        assert "#" not in done.stdout
    done = dev(tmp_path, "nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert "./dev test" in done.stderr


def test_without_a_package_index(tmp_path: Path) -> None:
    """A Python whose pip fails, as it does without network."""
    fake = tmp_path / "bin" / "python"
    fake.parent.mkdir()
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *pip*) echo "no index" >&2; exit 1 ;; --version) echo Python 3.11 ;; esac\n'
    )
    fake.chmod(0o755)
    (tmp_path / "venv").mkdir()
    shutil.copytree(fake.parent, tmp_path / "venv" / "bin")
    done = dev(tmp_path, "open", PYTHON=str(fake), TREX_TUI_VENV=str(tmp_path / "venv"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-2:] == [
        "no index",
        "dev: pip could not install the dependencies (above); without network set PIP_INDEX_URL to a mirror",
    ]
