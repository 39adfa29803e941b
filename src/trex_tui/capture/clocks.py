"""GPU clocks held still while trtexec measures, and let go again whatever happens to us.

A second process lets them go: it waits on a pipe that only we hold, so it acts when we are done, crash or are killed. It is
there before the clocks are locked. Jetsons have another mechanism, for the superuser alone: there we say how it stands.
`remote.py` does the same on another machine.

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
from trex_tui.text import plural

MAX = "max"
_SLICE = "MIG-"
_TIMEOUT_S = 30
_IDS = re.compile(r"\b(?:GPU|MIG)-[0-9A-Za-z/-]+|\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]\b")
_LET_GO = 'trap \'\' HUP INT TERM PIPE; read -r _; said=$("$@" 2>&1); code=$?; echo "$said"; exit $code'
"""`read` ends when the last writer of the pipe is gone. The answer is taken whole first: with nobody left to read it, the
program would die of its first word."""


@dataclass(slots=True)
class ClockLockAttempt:
    """What became of the wish for locked clocks, for the manifest.

    Attributes:
        asked: `max`, or MHz.
        target_mhz: What was asked of the driver.
        gpu: Index or UUID as nvidia-smi takes it.
        locked: Whether the driver said so. It may still deliver less.
        answer: What the driver said.
        released: Whether the driver said that they are free again; None before, or if they never were locked.
        whole: Whether trtexec has a slice (MIG) of that GPU only, and the clocks are those of all slices.
        ended_early: Whether what holds them was gone before we were done; then nobody knows since when they are free.
    """

    asked: str
    target_mhz: int | None = None
    gpu: str | None = None
    locked: bool = False
    answer: str = ""
    released: bool | None = None
    ended_early: bool = False
    whole: bool = False

    def document(self, *, with_ids: bool) -> dict[str, Any]:
        """For JSON; without what names this GPU among others of its kind."""
        attempt = asdict(self)
        if not with_ids:
            attempt["gpu"] = None if self.gpu is None else without_ids(self.gpu)
            attempt["answer"] = without_ids(self.answer)
        return attempt


def without_ids(text: str) -> str:
    """A text without what names a GPU among others of its kind: UUIDs, and addresses on the bus."""
    return _IDS.sub("…", text)


@contextmanager
def locked_clocks(
    asked: str | None, device: int | None, host: Mapping[str, Any], driver: ClockDriver | None = None
) -> Iterator[tuple[ClockLockAttempt | None, list[str]]]:
    """Lock the clocks of a GPU for a while; without a wish nothing happens.

    Args:
        asked: `max`, MHz, or None.
        device: trtexec's `--device`.
        host: Facts of `probe_host`.
        driver: Of that machine; None is this one's.

    Yields:
        What became of it, and sentences for people; both may grow until the end.

    Raises:
        TrexError: It cannot be told which GPU is meant, or how fast it can go.
    """
    sentences: list[str] = []
    if asked is None:
        yield None, sentences
        return
    lock = ClockLockAttempt(asked)
    if host.get("jetson"):
        sentences.append(_jetson_state(host))
        yield lock, sentences
        return
    driver = driver or ClockDriver()
    choices = driver.choices()
    if choices is None:
        raise TrexError(f"--lock-clocks: there is no nvidia-smi on PATH{driver.where}")
    count = len(host.get("gpus") or [])
    lock.gpu = which_gpu(device, count, choices)
    if lock.gpu.startswith(_SLICE):
        lock.gpu, lock.whole = _find_gpu_of_slice(lock.gpu, count, driver), True
    lock.target_mhz = _target(driver, lock.gpu, asked)
    with driver.hold(lock):
        sentences.append(_what_happened(lock))
        yield lock, sentences
    if lock.ended_early:
        sentences.append(
            f"what held the GPU clocks{driver.where} was ended meanwhile: they may not have been locked all the time"
        )
    if lock.locked and not lock.released:
        sentences.append(
            f"the GPU clocks may still be locked{driver.where}; free them: sudo nvidia-smi -i {lock.gpu} -rgc"
        )


class ClockDriver:
    """nvidia-smi of this machine; the base of that of another one.

    Args:
        environ: Where PATH and the choice of GPUs are read.
    """

    where = ""
    """` on jetson`, for sentences; empty here."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.environ = environ
        self.program = shutil.which("nvidia-smi", path=environ.get("PATH", os.defpath))

    def choices(self) -> Mapping[str, str] | None:
        """Return the variables that choose GPUs; None where there is no nvidia-smi.

        Raises:
            TrexError: The machine cannot be asked.
        """
        return None if self.program is None else self.environ

    def ask(self, *arguments: str) -> str:
        """Return what it answers, or why it does not.

        Raises:
            TrexError: The machine cannot be asked.
        """
        return _ask([self.program or "nvidia-smi", *arguments])

    @contextmanager
    def hold(self, lock: ClockLockAttempt) -> Iterator[None]:
        """Lock, and let go at the end, whatever becomes of us; `lock` gets what the driver said.

        Raises:
            TrexError: The machine cannot be asked.
        """
        program, gpu = self.program or "nvidia-smi", str(lock.gpu)
        waiting = subprocess.Popen(
            ["/bin/sh", "-c", _LET_GO, "trex-tui", program, "-i", gpu, "-rgc"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            note_lock(lock, self.ask("-i", gpu, "-lgc", f"{lock.target_mhz},{lock.target_mhz}"))
            yield
        finally:
            # Nothing was locked: then there is nothing to let go, and a lock that somebody else set stays.
            if not lock.locked:
                waiting.kill()
                waiting.communicate()
            else:
                self._let_go(waiting, lock)

    def _let_go(self, waiting: subprocess.Popen[bytes], lock: ClockLockAttempt) -> None:
        lock.ended_early = waiting.poll() is not None
        try:
            out, _ = waiting.communicate(timeout=_TIMEOUT_S)
            note_release(lock, waiting.returncode, out)
        except subprocess.TimeoutExpired:
            lock.released = False
        if lock.ended_early and not lock.released:  # nobody else is left to do it
            note_release(lock, 0, self.ask("-i", str(lock.gpu), "-rgc").encode())


def note_lock(lock: ClockLockAttempt, answer: str) -> None:
    """What the driver said to the wish."""
    lock.answer = answer
    lock.locked = "GPU clocks set to" in answer


def note_release(lock: ClockLockAttempt, code: int | None, answer: bytes) -> None:
    """What it said in the end."""
    lock.released = code == 0 and b"eset" in answer


def which_gpu(device: int | None, count: int, environ: Mapping[str, str]) -> str:
    """The GPU of trtexec's `--device`, as nvidia-smi calls it, or a slice, `MIG-…`: CUDA counts in an order of its own.

    Raises:
        TrexError: There is none of that number, or the environment does not say which of several is which.
    """
    number = device or 0
    visible = [part.strip() for part in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if part.strip()]
    by_bus = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    there = len(visible) or count
    if there and number >= there:
        whose = " that CUDA_VISIBLE_DEVICES names" if visible else ""
        raise TrexError(
            f"--lock-clocks: there is no device {number}, for there {'is' if there == 1 else 'are'} {plural(there, 'GPU')}"
            f"{whose}, counted from 0"
        )
    if visible:
        chosen = visible[number]
        if chosen.startswith(("GPU-", _SLICE)) or (chosen.isdecimal() and (by_bus or count <= 1)):
            return chosen
    elif by_bus or (count <= 1 and number == 0):
        return str(number)
    raise TrexError(
        f"--lock-clocks: {plural(count, 'GPU')}, and it cannot be told which is CUDA's device {number}, for CUDA numbers "
        "them in another order than nvidia-smi; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name one by its UUID in "
        "CUDA_VISIBLE_DEVICES"
    )


def _find_gpu_of_slice(chosen: str, count: int, driver: ClockDriver) -> str:
    """The GPU that a slice (MIG) is of: clocks are those of the whole.

    Before driver 470 a slice was called after its GPU (`MIG-GPU-…/1/0`); now `nvidia-smi -L` lists it below its GPU.

    Raises:
        TrexError: There are several GPUs, and nvidia-smi does not say which has it.
    """
    old = re.match(r"MIG-(GPU-[0-9A-Fa-f-]+)", chosen)
    if old is not None:
        return old[1]
    if count <= 1:
        return "0"
    gpu = ""
    for line in driver.ask("-L").splitlines():
        if match := re.match(r"GPU [0-9]+:.*\(UUID: (GPU-[0-9A-Fa-f-]+)\)", line):
            gpu = match[1]
        elif f"(UUID: {chosen}" in line and gpu:
            return gpu
    raise TrexError(
        f"--lock-clocks: {count} GPUs, and nvidia-smi -L does not tell which of them has {chosen}"
    )


def _target(driver: ClockDriver, gpu: str, asked: str) -> int:
    if asked != MAX:
        return int(asked)
    text = driver.ask("-i", gpu, "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits")
    match = re.match(r"\s*(\d{1,9})", text)
    if match is None:
        first = (text.strip().splitlines() or ["it says nothing"])[0]
        raise TrexError(
            f"--lock-clocks max: nvidia-smi does not tell the highest clock ({first}); state it in MHz"
        )
    return int(match[1])


def _what_happened(lock: ClockLockAttempt) -> str:
    if lock.locked:
        of_all = ", those of the whole GPU with all its slices" if lock.whole else ""
        return f"GPU clocks locked to {lock.target_mhz} MHz{of_all}"
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


def _ask(argv: Sequence[str]) -> str:
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
        return str(error)
    return done.stdout.decode("utf-8", errors="replace")
