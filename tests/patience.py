"""Waiting for another process: as long as it works or gets no turn, not for a time.

On a machine under load a process may get no processor for minutes, and a limit in seconds fails without a fault. A fault is
a process that spends its processor time without an answer, or sleeps and answers nothing.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from time import monotonic

SPENT_S = 60.0
"""Of processor time: no answer takes as long."""
ASLEEP_S = 30.0
"""How long a process may sleep before its answer, in all, with the processes that it started."""
LOOK_S = 0.1
"""Between two looks at the process."""
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Patience:
    """The limit of one wait for a process. Where there is no /proc all of the time counts as sleep, with a longer limit."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._asleep_s, self._limit_s = 0.0, ASLEEP_S if _stat(f"/proc/{pid}/stat") else 5 * ASLEEP_S
        self._looked = monotonic()
        self._before_s = self._spent_s()

    def is_over(self) -> bool:
        """Return whether nothing is to be expected any more; call it several times a second."""
        now = monotonic()
        if now < self._looked + LOOK_S:
            return False
        if not _is_awake(self._pid):
            # No more than two looks: this process, too, may have had no turn.
            self._asleep_s += min(now - self._looked, 2 * LOOK_S)
        self._looked = now
        return self._spent_s() - self._before_s > SPENT_S or self._asleep_s > self._limit_s

    def _spent_s(self) -> float:
        """Return the processor time that the process has used; 0 once it has ended."""
        fields = _stat(f"/proc/{self._pid}/stat")
        return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S if fields else 0.0


def _is_awake(pid: int) -> bool:
    """Return whether a thread of the process, or of one that it started, runs, waits for a turn or for a disk."""
    for task in Path(f"/proc/{pid}/task").glob("*"):
        if _stat(task / "stat")[:1] in (["R"], ["D"]):
            return True
        with suppress(OSError):
            if any(_is_awake(int(child)) for child in (task / "children").read_text().split()):
                return True
    return False


def _stat(path: str | Path) -> list[str]:
    """Return the fields of a process or a thread from its state on; none if it has ended."""
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
