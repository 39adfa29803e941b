"""The limit of waits for another process: its work counts, and its sleep; a turn that it does not get does not."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import patience
from patience import Patience

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

BUSY = "while True: pass"
ASLEEP = "import time; time.sleep(600)"
WAITS_FOR_A_BUSY_ONE = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{BUSY}'])"


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    monkeypatch.setattr(patience, "LOOK_S", 0.01)
    processes: list[subprocess.Popen[bytes]] = []

    def start(code: str) -> Patience:
        process = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
        processes.append(process)
        return Patience(process.pid)

    yield start
    for process in processes:
        subprocess.run(["pkill", "-KILL", "-s", str(process.pid)], check=True)
        process.wait()


def wait_for_its_end(limit: Patience) -> None:
    while not limit.is_over():
        time.sleep(0.01)


def test_a_process_that_works_has_its_processor_time(start, monkeypatch):
    monkeypatch.setattr(patience, "SPENT_S", 0.3)
    monkeypatch.setattr(patience, "ASLEEP_S", 600.0)
    wait_for_its_end(start(BUSY))


def test_a_process_that_sleeps_has_its_time(start, monkeypatch):
    monkeypatch.setattr(patience, "ASLEEP_S", 0.3)
    wait_for_its_end(start(ASLEEP))


def test_the_work_of_a_process_that_it_started_is_no_sleep(start):
    limit = start(WAITS_FOR_A_BUSY_ONE)
    children = Path(f"/proc/{limit._pid}/task/{limit._pid}/children")
    while not children.read_text():
        time.sleep(0.01)
    limit._limit_s = 0.5
    for _ in range(100):
        assert not limit.is_over()
        time.sleep(0.01)
