"""Fixtures that every test may use."""

from __future__ import annotations

import gc
import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from helpers import ARTIFACTS, examples

_KEPT = ("HOME", "PATH", "LANG", "TERM", "TMPDIR", "USER", "CI")
_KEPT += ("LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
_KEPT_PREFIXES = ("COV_", "COVERAGE_", "HYPOTHESIS_", "PYENV_", "PYTEST_", "UPDATE_GOLDENS")
_KEPT_PREFIXES += ("TREX_TUI_ARTIFACTS", "TREX_TUI_RANDOM_", "TREX_TUI_REPLAY", "TREX_TUI_THOROUGH")


def _clean_environment() -> None:
    """Drop the developer's variables, so that programs under test run as on an ordinary machine.

    PYTHONUNBUFFERED, for one, hides what a failing flush at the end of a program does.
    """
    for variable in list(os.environ):
        if variable not in _KEPT and not variable.startswith(_KEPT_PREFIXES):
            del os.environ[variable]


_clean_environment()
# Keep compiled tests even under PYTHONDONTWRITEBYTECODE: compiling them takes each process 15 s.
sys.dont_write_bytecode = False
os.environ["SOURCE_DATE_EPOCH"] = "946684800"  # Reports are of 2000-01-01, older than any file.

# A shell has its jobs in the background ignore these, nohup the last, and so would the programs under test.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
for ignored in (signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(ignored) is signal.SIG_IGN:
        signal.signal(ignored, signal.SIG_DFL)

settings.register_profile("local", deadline=None, max_examples=examples(80))
settings.register_profile("ci", deadline=None, max_examples=examples(80), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

_HOMES = count()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name.startswith("test_screen_"):
            item.add_marker("screens")


def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are processors: captures, and programs in a terminal, are waited for."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1))


def pytest_collection_finish() -> None:
    """Leave what was imported and collected to itself: the garbage collector would look through it again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and state of a test are its own, and those of the person who runs it are not touched."""
    # Not created: most tests write nothing there, and pytest would look through all of its directories for a free name.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    for variable in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(home / variable.lower()))
    for variable in ("TREX_TUI_ASCII", "TEXTUAL_THEME", "NO_COLOR", "TMUX", "STY", "LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")


@pytest.fixture(scope="session")
def artifacts() -> Path:
    """The directory of real artifacts."""
    if not ARTIFACTS.is_dir():
        pytest.skip(f"no real artifacts at {ARTIFACTS}; set TREX_TUI_ARTIFACTS")
    return ARTIFACTS


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The stand-ins for trtexec, by version, each asked for its abilities."""
    from capture_bench import programs_in

    return programs_in(tmp_path_factory.mktemp("trtexec"))


@pytest.fixture
def bench(tmp_path: Path, programs: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A place to capture in."""
    from capture_bench import Bench

    for variable in ("FAKE_TRTEXEC_FAIL", "FAKE_TRTEXEC_CALLS", "FAKE_TRTEXEC_FIFO", "TRTEXEC"):
        monkeypatch.delenv(variable, raising=False)
    return Bench(tmp_path, programs)


@pytest.fixture
def here(bench: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A place to capture in, which is the current directory; trtexec of 10.4 is found."""
    monkeypatch.chdir(bench.place)
    monkeypatch.setenv("TRTEXEC", str(bench.programs("10.4.0").path))
    return bench
