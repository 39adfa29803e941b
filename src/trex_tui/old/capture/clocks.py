"""Lock GPU clocks and the power limit while trtexec measures, and restore them however the capture ends.

A second process restores them: the script `HOLD`, on the machine that measures. It waits for the end of its input, which only
this process holds, so it acts when the capture is done, crashes, is killed or loses the connection. Jetsons use another
mechanism that needs root: there the state is only reported.

`nvidia-smi` prints `All done.` and exits with 0 even where it changed nothing, so only its line about the clocks counts.
"""

from __future__ import annotations

import os
import re
import secrets
import select
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from trex_tui.old.capture.process import Stop
from trex_tui.old.capture.scripts import HOLD, SMI
from trex_tui.old.capture.shell import ConnectionLostError, Shell, first_answer
from trex_tui.old.errors import TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

MAX = "max"


@dataclass(frozen=True, slots=True)
class GpuSetting:
    """A setting that nvidia-smi can hold.

    Attributes:
        noun, verb, done: Parts of sentences: `GPU clocks`, `are`, `locked`.
        option: Option of `trex-tui capture`.
        unit: Unit of the value.
        change: Option of nvidia-smi that changes the setting.
        restore: Option that restores it; empty if the previous value is set again.
        said: Text that nvidia-smi prints on success only. A text that is too narrow would leave a change unrestored.
        query: Field with the highest value, or with the previous value.
    """

    noun: str
    verb: str
    done: str
    option: str
    unit: str
    change: str
    restore: str
    said: str
    query: str

    def value(self, target: float) -> str:
        """Return the argument of nvidia-smi: `2100,2100` (lowest and highest clock), or watts."""
        return f"{target:g},{target:g}" if self.restore else f"{target:g}"


CLOCKS = GpuSetting(
    *("GPU clocks", "are", "locked", "--lock-clocks", "MHz"),
    *("-lgc", "-rgc", "GPU clocks set to", "clocks.max.sm"),
)
MEMORY_CLOCK = GpuSetting(
    *("memory clock", "is", "locked", "--memory-clock", "MHz"),
    *("-lmc", "-rmc", "set to", "clocks.max.mem"),
)
POWER_LIMIT = GpuSetting(
    *("power limit", "is", "set", "--power-limit", "W"), *("-pl", "", "set to", "power.limit")
)
_SLICE = "MIG-"
_LOCK_S, _FREE_S = 60.0, 30.0
_POLL_S = 0.1
_IDS = re.compile(r"\b(?:GPU|MIG)-[0-9A-Za-z/-]+|\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]\b")


@dataclass(slots=True)
class ClockLockAttempt:
    """Result of a request to lock clocks or limit power, for the manifest.

    Attributes:
        asked: `max`, or MHz.
        target_mhz: Value passed to the driver.
        gpu: Index or UUID as nvidia-smi takes it.
        locked: Whether the driver confirmed the lock. The clock may still be lower.
        answer: Output of nvidia-smi.
        released: Whether the driver confirmed the release; None before, or if the clocks never were locked.
        target_w, before_w: Requested and previous power limit.
        setting: The setting that is changed.
        whole: Whether trtexec uses only a slice (MIG) of the GPU, whose clocks all slices share.
        ended_early: Whether the process that holds the clocks ended before the capture; the time of release is unknown.
    """

    asked: str
    target_mhz: int | None = None
    gpu: str | None = None
    locked: bool = False
    answer: str = ""
    released: bool | None = None
    ended_early: bool = False
    whole: bool = False
    target_w: float | None = None
    before_w: float | None = None
    setting: GpuSetting = CLOCKS

    @property
    def change(self) -> tuple[str, str]:
        """Arguments of nvidia-smi that change the setting."""
        target = self.target_w if self.setting.unit == "W" else self.target_mhz
        return self.setting.change, self.setting.value(target or 0)

    @property
    def restore(self) -> tuple[str, ...]:
        """Arguments of nvidia-smi that restore the setting."""
        if self.setting.restore:
            return (self.setting.restore,)
        return (self.setting.change, self.setting.value(self.before_w or 0))

    def document(self, *, with_ids: bool) -> dict[str, Any]:
        """Return the attempt for JSON; without `with_ids` UUIDs and bus addresses are removed."""
        attempt = asdict(self)
        del attempt["setting"]
        for key in ("target_mhz",) if self.setting.unit == "W" else ("target_w", "before_w"):
            del attempt[key]
        if not with_ids:
            attempt["gpu"] = None if self.gpu is None else without_ids(self.gpu)
            attempt["answer"] = without_ids(self.answer)
        return attempt


def without_ids(text: str) -> str:
    """Remove UUIDs and bus addresses, which identify a GPU, from a text."""
    return _IDS.sub("…", text)


@contextmanager
def locked_clocks(
    asked: str | None,
    device: int | None,
    host: Mapping[str, Any],
    driver: ClockDriver | None = None,
    setting: GpuSetting = CLOCKS,
) -> Iterator[tuple[ClockLockAttempt | None, list[str]]]:
    """Lock the clocks of a GPU, or limit its power, for the time of the context.

    Args:
        asked: `max`, MHz, watts, or None to change nothing.
        device: trtexec's `--device`.
        host: Facts of `probe_host`.
        driver: nvidia-smi of the machine that measures; None is this machine.
        setting: The setting to change.

    Yields:
        The attempt, and messages for the user; both may be extended until the context ends.

    Raises:
        TrexError: The GPU, or its highest clock, is unknown.
    """
    sentences: list[str] = []
    if asked is None:
        yield None, sentences
        return
    driver = driver or ClockDriver()
    lock = prepare_lock(asked, device, host, driver, setting)
    if lock.gpu is None:
        sentences.append(_jetson_state(host))
        yield lock, sentences
        return
    with driver.hold(lock):
        sentences.append(_what_happened(lock))
        yield lock, sentences
    if lock.ended_early:
        sentences.append(
            f"the process that held the {setting.noun}{driver.where} ended early: it may not have been {setting.done} all "
            "the time"
        )
    if lock.locked and not lock.released:
        by_hand = f"sudo nvidia-smi -i {lock.gpu} {' '.join(lock.restore)}"
        sentences.append(f"the {setting.noun} may still be {setting.done}{driver.where}; restore: {by_hand}")


def prepare_lock(
    asked: str,
    device: int | None,
    host: Mapping[str, Any],
    driver: ClockDriver,
    setting: GpuSetting = CLOCKS,
) -> ClockLockAttempt:
    """Find the GPU and the value to lock its clocks to; on a Jetson, where nothing is locked, the attempt has no GPU.

    Raises:
        TrexError: As `locked_clocks`.
    """
    lock = ClockLockAttempt(asked, setting=setting)
    if host.get("jetson"):
        if setting is not CLOCKS:
            raise TrexError(f"{setting.option}: not on a Jetson; sudo nvpmodel -m chooses a power mode")
        return lock
    choices = driver.choices()
    if choices is None:
        raise TrexError(
            f"{setting.option}: nvidia-smi not found on PATH{driver.where}; install it, or leave out the option"
        )
    count = len(host.get("gpus") or [])
    lock.gpu = which_gpu(device, count, choices)
    if lock.gpu.startswith(_SLICE):
        lock.gpu, lock.whole = _find_gpu_of_slice(lock.gpu, count, driver), True
    if setting is POWER_LIMIT:
        lock.target_w = int(asked)
        lock.before_w = _ask_number(
            driver, lock.gpu, setting, "the current limit, which must be known to restore it"
        )
    elif asked == MAX:
        lock.target_mhz = int(_ask_number(driver, lock.gpu, setting, "the highest clock; give it in MHz"))
    else:
        lock.target_mhz = int(asked)
    return lock


class ClockDriver:
    """nvidia-smi of a machine.

    Args:
        shell: Shell of the machine; this machine by default.
        stop: Ends queries; locked clocks are released first.
    """

    def __init__(self, shell: Shell | None = None, stop: Stop | None = None) -> None:
        self.shell = shell or Shell()
        self.stop = stop
        self.word = secrets.token_hex(16)
        self.where = self.shell.where

    def _call(self, *arguments: str) -> tuple[Mapping[str, str] | None, str]:
        output = self.shell.call(self.stop, SMI, self.word, *arguments).decode("utf-8", errors="replace")
        _, _, answer_lines = output.partition(f"\n{self.word}\n")
        lines = answer_lines.split("\n", 3)
        if len(lines) < 4:
            raise ConnectionLostError(f"{self.shell.name}: the answer of nvidia-smi is truncated; try again")
        visible, order, program, answer = lines
        choices = {"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order}
        return (choices if program else None), answer

    def choices(self) -> Mapping[str, str] | None:
        """Return the variables that choose GPUs, over ssh without those of .bashrc; None without nvidia-smi.

        Raises:
            TrexError: The machine cannot be queried.
        """
        return self._call()[0]

    def ask(self, *arguments: str) -> str:
        """Return what nvidia-smi prints.

        Raises:
            TrexError: The machine cannot be queried.
        """
        return self._call(*arguments)[1]

    @contextmanager
    def hold(self, lock: ClockLockAttempt) -> Iterator[None]:
        """Lock the clocks, and release them at the end, also after SIGKILL; `lock` gets the driver's answers.

        Raises:
            TrexError: The machine cannot be queried.
        """
        with tempfile.TemporaryFile() as stderr:
            success = lock.setting.said
            argv = self.shell.argv(HOLD, self.word, str(lock.gpu), *lock.change, success, *lock.restore)
            process = self.shell.start(argv, subprocess.PIPE, stderr)
            try:
                answer = first_answer(self.shell, process, self.word, self.stop, stderr, timeout_s=_LOCK_S)
                note_lock(lock, answer.decode("utf-8", errors="replace"))
                yield
            finally:
                self._free(process, lock)

    def _free(self, process: subprocess.Popen[bytes], lock: ClockLockAttempt) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        lock.ended_early = lock.locked and process.poll() is not None
        with suppress(OSError):
            process.stdin.close()
        output = self._rest(process.stdout.fileno())
        answer, mark, code = output.rpartition(self.word.encode() + b" ")
        if lock.locked:
            note_release(lock, 0 if mark and code.strip() == b"0" else None, answer)
        if process.poll() is None:
            process.kill()  # the process it started releases the clocks
        process.stdout.close()
        process.wait()
        if lock.ended_early and not lock.released and not self.shell.host:  # no other process would do it
            note_release(lock, 0, self.ask("-i", str(lock.gpu), *lock.restore).encode())

    def _rest(self, pipe: int) -> bytes:
        """Read the rest of the pipe; a second interrupt ends the wait."""
        output, until = b"", time.monotonic() + _FREE_S
        asked = self.stop.times if self.stop else 0
        while time.monotonic() < until and (self.stop is None or self.stop.times == asked):
            if not select.select([pipe], [], [], _POLL_S)[0]:
                continue
            data = os.read(pipe, 1 << 16)
            if not data:
                break
            output += data
        return output


def note_lock(lock: ClockLockAttempt, answer: str) -> None:
    """Store the driver's answer to the change."""
    lock.answer = answer
    lock.locked = lock.setting.said in answer


def note_release(lock: ClockLockAttempt, code: int | None, answer: bytes) -> None:
    """Store the driver's answer to the release."""
    said = b"eset" if lock.setting.restore else lock.setting.said.encode()
    lock.released = code == 0 and said in answer


def which_gpu(device: int | None, count: int, environ: Mapping[str, str]) -> str:
    """Return nvidia-smi's name for the GPU of trtexec's `--device`, or for a slice (`MIG-…`): CUDA numbers GPUs differently.

    Raises:
        TrexError: No GPU has this number, or the environment does not identify it among several.
    """
    number = device or 0
    visible = [part.strip() for part in environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if part.strip()]
    by_bus = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    there = len(visible) or count
    if there and number >= there:
        whose = " that CUDA_VISIBLE_DEVICES names" if visible else ""
        raise TrexError(
            f"--lock-clocks: no device {number}, for there {'is' if there == 1 else 'are'} {plural(there, 'GPU')}"
            f"{whose}, counted from 0"
        )
    if visible:
        chosen = visible[number]
        if chosen.startswith(("GPU-", _SLICE)) or (chosen.isdecimal() and (by_bus or count <= 1)):
            return chosen
    elif by_bus or (count <= 1 and number == 0):
        return str(number)
    raise TrexError(
        f"--lock-clocks: {plural(count, 'GPU')}, and CUDA's device {number} is unknown: CUDA and "
        "nvidia-smi number GPUs in different orders; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or give a UUID in CUDA_VISIBLE_DEVICES"
    )


def _find_gpu_of_slice(chosen: str, count: int, driver: ClockDriver) -> str:
    """Return the GPU that a slice (MIG) belongs to: clocks apply to the whole GPU.

    Before driver 470 a slice was named after its GPU (`MIG-GPU-…/1/0`); now `nvidia-smi -L` lists it below its GPU.

    Raises:
        TrexError: There are several GPUs, and nvidia-smi lists the slice under none of them.
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
    raise TrexError(f"--lock-clocks: {count} GPUs, and nvidia-smi -L does not list the one with {chosen}")


def _ask_number(driver: ClockDriver, gpu: str, setting: GpuSetting, what: str) -> float:
    text = driver.ask("-i", gpu, f"--query-gpu={setting.query}", "--format=csv,noheader,nounits")
    match = re.match(r"\s*(\d{1,9}(?:\.\d{1,9})?)", text)
    if match is None:
        first = (text.strip().splitlines() or ["no output"])[0]
        raise TrexError(f"{setting.option}: nvidia-smi does not state {what} ({first}); leave out the option")
    return float(match[1])


def _what_happened(lock: ClockLockAttempt) -> str:
    setting = lock.setting
    if lock.locked:
        of_all = ", those of the whole GPU with all its slices" if lock.whole else ""
        value = lock.target_w if setting.unit == "W" else lock.target_mhz
        return f"{setting.noun} {setting.done} to {value:g} {setting.unit}{of_all}"
    first = (lock.answer.strip().splitlines() or ["nvidia-smi printed nothing"])[0]
    by_hand = f"sudo nvidia-smi -i {lock.gpu} {' '.join(lock.change)}"
    return (
        f"{setting.noun} {setting.verb} NOT {setting.done}: {first} (by hand: {by_hand}, afterwards "
        f"{' '.join(lock.restore)})"
    )


def _jetson_state(host: Mapping[str, Any]) -> str:
    clock = host.get("gpu_clock") or {}
    locked = {True: "locked", False: "not locked", None: "in an unknown state"}[clock.get("locked")]
    mode = (host.get("jetson") or {}).get("power_mode") or "unknown"
    return (
        f"power mode {mode}, GPU clocks {locked}; capture changes neither on a Jetson: "
        "sudo jetson_clocks locks them, sudo nvpmodel -m changes the mode"
    )
