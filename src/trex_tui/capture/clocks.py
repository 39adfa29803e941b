"""GPU clocks held still while trtexec measures, and let go again whatever happens to us.

A second process lets them go: it waits on a pipe that only we hold, so it acts when we are done, crash or are killed. It is
there before the clocks are locked. Jetsons have another mechanism, for the superuser alone: there we say how it stands.

`nvidia-smi` answers `All done.` and 0 even where it did nothing, so only its own line about the clocks counts.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from trex_tui.errors import TrexError

MAX = "max"
_TIMEOUT_S = 30
_LET_GO = 'trap \'\' HUP INT TERM PIPE; read -r _; said=$("$@" 2>&1); code=$?; echo "$said"; exit $code'
"""`read` ends when the last writer of the pipe is gone. The answer is taken whole first: with nobody left to read it, the
program would die of its first word."""


@dataclass(slots=True)
class ClockLock:
    """What became of the wish for locked clocks, for the manifest.

    Attributes:
        asked: `max`, or MHz.
        target_mhz: What was asked of the driver.
        gpu: Index or UUID as nvidia-smi takes it.
        locked: Whether the driver said so. It may still deliver less.
        answer: What the driver said.
        released: Whether the driver said that they are free again; None before, or if they never were locked.
    """

    asked: str
    target_mhz: int | None = None
    gpu: str | None = None
    locked: bool = False
    answer: str = ""
    released: bool | None = None

    def document(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


@contextmanager
def locked_clocks(
    asked: str | None,
    device: int | None,
    host: Mapping[str, Any],
    environ: Mapping[str, str] = os.environ,
) -> Iterator[tuple[ClockLock | None, list[str]]]:
    """Lock the clocks of a GPU for a while; without a wish nothing happens.

    Args:
        asked: `max`, MHz, or None.
        device: trtexec's `--device`.
        host: Facts of `probe_host`.
        environ: Where PATH and the choice of GPUs are read.

    Yields:
        What became of it, and sentences for people; both may grow until the end.

    Raises:
        TrexError: It cannot be told which GPU is meant, or how fast it can go.
    """
    said: list[str] = []
    if asked is None:
        yield None, said
        return
    lock = ClockLock(asked)
    if host.get("jetson"):
        said.append(_jetson_state(host))
        yield lock, said
        return
    program = shutil.which("nvidia-smi", path=environ.get("PATH", os.defpath))
    if program is None:
        raise TrexError("--lock-clocks: there is no nvidia-smi on PATH")
    lock.gpu = which_gpu(device, len(host.get("gpus") or []), environ)
    lock.target_mhz = _target(program, lock.gpu, asked)
    with _let_go_at_the_end(program, lock):
        _, lock.answer = _ask([program, "-i", lock.gpu, "-lgc", f"{lock.target_mhz},{lock.target_mhz}"])
        lock.locked = "GPU clocks set to" in lock.answer
        said.append(_what_happened(lock))
        yield lock, said
    if lock.locked and not lock.released:
        said.append(f"the GPU clocks may still be locked; free them: sudo nvidia-smi -i {lock.gpu} -rgc")


@contextmanager
def _let_go_at_the_end(program: str, lock: ClockLock) -> Iterator[None]:
    waiting = subprocess.Popen(
        ["/bin/sh", "-c", _LET_GO, "trex-tui", program, "-i", str(lock.gpu), "-rgc"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield
    finally:
        # Nothing was locked: then there is nothing to let go, and a lock that somebody else set stays.
        if not lock.locked:
            waiting.kill()
            waiting.communicate()
        else:
            try:
                out, _ = waiting.communicate(timeout=_TIMEOUT_S)
                lock.released = waiting.returncode == 0 and b"eset" in out
            except subprocess.TimeoutExpired:
                lock.released = False


def which_gpu(device: int | None, count: int, environ: Mapping[str, str]) -> str:
    """The GPU of trtexec's `--device`, as nvidia-smi calls it: CUDA counts in an order of its own.

    Raises:
        TrexError: There are several, and the environment does not say which is which.
    """
    place = device or 0
    visible = [one.strip() for one in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one.strip()]
    by_bus = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    if visible:
        chosen = visible[place] if place < len(visible) else ""
        if chosen.startswith("GPU-") or (chosen.isdecimal() and (by_bus or count <= 1)):
            return chosen
    elif by_bus or (count <= 1 and place == 0):
        return str(place)
    raise TrexError(
        f"--lock-clocks: {count} GPUs, and CUDA numbers them in another order than nvidia-smi; "
        "set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name one by its UUID in CUDA_VISIBLE_DEVICES"
    )


def _target(program: str, gpu: str, asked: str) -> int:
    if asked != MAX:
        return int(asked)
    _, text = _ask([program, "-i", gpu, "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits"])
    match = re.match(r"\s*(\d+)", text)
    if match is None:
        first = (text.strip().splitlines() or ["it says nothing"])[0]
        raise TrexError(
            f"--lock-clocks max: nvidia-smi does not tell the highest clock ({first}); state it in MHz"
        )
    return int(match[1])


def _what_happened(lock: ClockLock) -> str:
    if lock.locked:
        return f"GPU clocks locked to {lock.target_mhz} MHz"
    first = (lock.answer.strip().splitlines() or ["nvidia-smi said nothing"])[0]
    by_hand = f"sudo nvidia-smi -i {lock.gpu} -lgc {lock.target_mhz},{lock.target_mhz}"
    return f"GPU clocks are NOT locked: {first} (by hand: {by_hand}, afterwards -rgc)"


def _jetson_state(host: Mapping[str, Any]) -> str:
    clock = host.get("gpu_clock") or {}
    locked = {True: "locked", False: "not locked", None: "in an unknown state"}[clock.get("locked")]
    mode = (host.get("jetson") or {}).get("power_mode") or "unknown"
    return (
        f"power mode {mode}, GPU clocks {locked}; capture changes neither on a Jetson: "
        "sudo jetson_clocks locks them, sudo nvpmodel -m changes the mode"
    )


def _ask(argv: Sequence[str]) -> tuple[int | None, str]:
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_TIMEOUT_S,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    return done.returncode, done.stdout.decode("utf-8", errors="replace")
