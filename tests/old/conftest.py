"""Fixtures of the tests of the old packages."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers import THOROUGH


@pytest.fixture(autouse=True)
def _screens(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An app under test waits for what it does instead of for time, and leaves nothing behind."""
    if not inspect.iscoroutinefunction(request.function):
        yield
        return
    import settle

    settle.install(monkeypatch, is_every_frame_painted=THOROUGH)
    # An app has its engine, and all else that is there, left out of collections: with one app after the other in a process
    # none would ever be freed, and each test would take longer than the one before.
    monkeypatch.setattr("trex_tui.old.screens.driver.gc", _NoCollector)
    yield
    monkeypatch.undo()
    gc.collect(1)  # A whole collection looks through the engines that tests share: up to a second.


class _NoCollector:
    """The garbage collector as an app under test has it: it changes nothing."""

    get_threshold = staticmethod(gc.get_threshold)

    @staticmethod
    def _nothing(*_: int) -> int:
        return 0

    collect = freeze = unfreeze = set_threshold = enable = disable = _nothing


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The stand-ins for trtexec, by version, each asked for its abilities."""
    from capture_kit import programs_in

    return programs_in(tmp_path_factory.mktemp("trtexec"))


@pytest.fixture
def bench(tmp_path: Path, programs: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A place to capture in."""
    from capture_kit import Bench

    for variable in ("FAKE_TRTEXEC_FAIL", "FAKE_TRTEXEC_CALLS", "FAKE_TRTEXEC_FIFO", "TRTEXEC"):
        monkeypatch.delenv(variable, raising=False)
    return Bench(tmp_path, programs)
