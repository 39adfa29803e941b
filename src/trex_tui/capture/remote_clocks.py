"""`--lock-clocks` on another machine: a connection of its own holds them, and a script there lets go when it ends.

That end is ours, a failure, a lost line or our death: each closes the input of the script, which then frees the clocks.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping

from trex_tui.capture.clocks import ClockLock, note_lock, note_release
from trex_tui.capture.run import Stop
from trex_tui.capture.scripts import HOLD, SMI
from trex_tui.capture.ssh import ConnectionLostError, Ssh, first_answer, start

_LET_GO_S = 30.0
_POLL_S = 0.1


class RemoteDriver:
    """nvidia-smi of another machine, as a `Driver`.

    Args:
        ssh: How to reach it.
        stop: Ends questions; clocks that are locked are let go first.
        word: Marks what our scripts say.
    """

    def __init__(self, ssh: Ssh, stop: Stop, word: str) -> None:
        self.ssh = ssh
        self.stop = stop
        self.word = word

    @property
    def where(self) -> str:
        """Its name, as typed."""
        return f" on {self.ssh.host}"

    def _call(self, *arguments: str) -> tuple[Mapping[str, str] | None, str]:
        said = self.ssh.call(self.stop, SMI, self.word, *arguments).decode("utf-8", errors="replace")
        _, _, found = said.partition(f"\n{self.word}\n")
        lines = found.split("\n", 3)
        if len(lines) < 4:
            raise ConnectionLostError(f"{self.ssh.host}: its answer about nvidia-smi is cut off")
        visible, order, program, answer = lines
        choices = {"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order}
        return (choices if program else None), answer

    def choices(self) -> Mapping[str, str] | None:
        """Of a command over ssh: what .bashrc sets does not apply, to trtexec neither."""
        return self._call()[0]

    def ask(self, *arguments: str) -> str:
        """What it answers."""
        return self._call(*arguments)[1]

    @contextlib.contextmanager
    def hold(self, lock: ClockLock) -> Iterator[None]:
        """Lock, and have the script there let go."""
        with tempfile.TemporaryFile() as said:
            argv = self.ssh.argv(HOLD, self.word, str(lock.gpu), str(lock.target_mhz))
            process = start(argv, subprocess.PIPE, said)
            try:
                answer = first_answer(self.ssh, process, self.word, self.stop, said)
                note_lock(lock, answer.decode("utf-8", errors="replace"))
                yield
            finally:
                self._let_go(process, lock)

    def _let_go(self, process: subprocess.Popen[bytes], lock: ClockLock) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        lock.ended_early = lock.locked and process.poll() is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        out = self._rest(process.stdout.fileno())
        answer, mark, code = out.rpartition(self.word.encode() + b" ")
        if lock.locked:
            note_release(lock, 0 if mark and code.strip() == b"0" else None, answer)
        if process.poll() is None:
            process.kill()  # it lets go there without us
        process.stdout.close()
        process.wait()

    def _rest(self, pipe: int) -> bytes:
        """What the script says in the end; a person who asks again is not made to wait."""
        out, asked, until = b"", self.stop.times, time.monotonic() + _LET_GO_S
        while time.monotonic() < until and self.stop.times == asked:
            if not select.select([pipe], [], [], _POLL_S)[0]:
                continue
            data = os.read(pipe, 1 << 16)
            if not data:
                break
            out += data
        return out
