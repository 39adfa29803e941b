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
from dataclasses import dataclass
from typing import Any, NamedTuple

from trex_tui.capture.process import StopRequest
from trex_tui.capture.scripts import HOLD, SMI
from trex_tui.capture.shell import ConnectionLostError, Shell
from trex_tui.errors import TrexError
from trex_tui.text import plural

MAX = "max"


class GpuSetting(NamedTuple):
    """A setting that nvidia-smi can hold.

    Attributes:
        key: In the manifest.
        noun, verb, done: Parts of sentences: `GPU clocks`, `are`, `locked`.
        option: Option of `trex-tui capture`.
        unit: Unit of the value.
        change: Option of nvidia-smi that changes the setting.
        restore: Option that restores it; empty if the previous value is set again.
        said: Text that nvidia-smi prints on success only. A text that is too narrow would leave a change unrestored.
        query: Field with the highest value, or with the previous value.
    """

    key: str
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
    *("clocks", "GPU clocks", "are", "locked", "--lock-clocks", "MHz"),
    *("-lgc", "-rgc", "GPU clocks set to", "clocks.max.sm"),
)
MEMORY_CLOCK = GpuSetting(
    *("memory_clock", "memory clock", "is", "locked", "--memory-clock", "MHz"),
    *("-lmc", "-rmc", "set to", "clocks.max.mem"),
)
POWER_LIMIT = GpuSetting(
    *("power_limit", "power limit", "is", "set", "--power-limit", "W"),
    *("-pl", "", "set to", "power.limit"),
)
SETTINGS = (POWER_LIMIT, MEMORY_CLOCK, CLOCKS)
"""In the order in which they are set."""
_SLICE = "MIG-"
_LOCK_S, _FREE_S = 60.0, 30.0
_POLL_S = 0.1
_IDS = re.compile(r"\b(?:GPU|MIG)-[0-9A-Za-z/-]+|\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]\b")


@dataclass(slots=True)
class HeldSetting:
    """Result of a request to lock clocks or limit power.

    Attributes:
        asked: `max`, MHz or watts.
        gpu: Index or UUID as nvidia-smi takes it; None on a Jetson, where nothing is changed.
        target: Value passed to the driver.
        before: Previous power limit; None if it is not needed to restore the setting.
        is_locked: Whether the driver confirmed the change. The clock may still be lower.
        answer: Output of nvidia-smi.
        is_released: Whether the driver confirmed that it was restored; None before, or without a change.
        ended_early: Whether the process that holds the setting ended before the capture; the time of release is unknown.
    """

    setting: GpuSetting
    asked: str
    gpu: str | None = None
    target: float | None = None
    before: float | None = None
    is_locked: bool = False
    answer: str = ""
    is_released: bool | None = None
    ended_early: bool = False

    @property
    def change(self) -> tuple[str, str]:
        """Arguments of nvidia-smi that change the setting."""
        return self.setting.change, self.setting.value(self.target or 0)

    @property
    def restore(self) -> tuple[str, ...]:
        """Arguments of nvidia-smi that restore the setting."""
        setting = self.setting
        return (setting.restore,) if setting.restore else (setting.change, setting.value(self.before or 0))

    def document(self) -> dict[str, Any]:
        """Return the content for the manifest, without UUIDs and bus addresses."""
        return {
            "asked": self.asked,
            f"target_{self.setting.unit.lower()}": self.target,
            "before_w": self.before,
            "gpu": None if self.gpu is None else without_ids(self.gpu),
            "locked": self.is_locked,
            "answer": without_ids(self.answer),
            "released": self.is_released,
            "ended_early": self.ended_early,
        }

    def describe(self) -> str:
        """Return what happened."""
        setting = self.setting
        if self.is_locked:
            return f"{setting.noun} {setting.done} to {self.target:g} {setting.unit}"
        first = (self.answer.strip().splitlines() or ["nvidia-smi printed nothing"])[0]
        by_hand = f"sudo nvidia-smi -i {self.gpu} {' '.join(self.change)}"
        afterwards = " ".join(self.restore)
        return f"{setting.noun} {setting.verb} NOT {setting.done}: {first} (by hand: {by_hand}, afterwards {afterwards})"


def without_ids(text: str) -> str:
    """Remove UUIDs and bus addresses, which identify a GPU, from a text."""
    return _IDS.sub("…", text)


@contextmanager
def hold_setting(
    setting: GpuSetting, asked: str, device: int | None, host: Mapping[str, Any], driver: ClockDriver
) -> Iterator[tuple[HeldSetting, list[str]]]:
    """Lock the clocks of a GPU, or limit its power, for the time of the context.

    Args:
        asked: `max`, MHz or watts.
        device: trtexec's `--device`.
        host: Facts of the machine.
        driver: nvidia-smi of the machine that measures.

    Yields:
        The result, and messages for the user; both may be extended until the context ends.

    Raises:
        TrexError: The GPU, or its highest clock, is unknown.
    """
    held = prepare_setting(setting, asked, device, host, driver)
    if held.gpu is None:
        yield held, [_describe_jetson(host)]
        return
    sentences: list[str] = []
    with driver.hold(held):
        sentences.append(held.describe())
        yield held, sentences
    noun, done = setting.noun, setting.done
    if held.ended_early:
        sentences.append(
            f"the process that held the {noun}{driver.where} ended early: it may not have been {done} all the time"
        )
    if held.is_locked and not held.is_released:
        by_hand = f"sudo nvidia-smi -i {held.gpu} {' '.join(held.restore)}"
        sentences.append(f"the {noun} may still be {done}{driver.where}; restore: {by_hand}")


def prepare_setting(
    setting: GpuSetting, asked: str, device: int | None, host: Mapping[str, Any], driver: ClockDriver
) -> HeldSetting:
    """Find the GPU and the value; on a Jetson, where nothing is changed, the result has no GPU.

    Raises:
        TrexError: As `hold_setting`.
    """
    held = HeldSetting(setting, asked)
    if host.get("jetson"):
        if setting is not CLOCKS:
            raise TrexError(f"{setting.option}: not on a Jetson; sudo nvpmodel -m chooses a power mode")
        return held
    choices = driver.choices()
    if choices is None:
        raise TrexError(
            f"{setting.option}: nvidia-smi not found on PATH{driver.where}; install it, or leave out the option"
        )
    count = len(host.get("gpus") or [])
    held.gpu = choose_gpu(device, count, choices, setting.option)
    if held.gpu.startswith(_SLICE):
        raise TrexError(
            f"{setting.option}: {held.gpu} is a slice (MIG), and its GPU has one clock for all; set it by hand "
            f"(sudo nvidia-smi -i GPU {setting.change} …), or leave out the option"
        )
    if setting is POWER_LIMIT:
        held.before = _ask_number(driver, held, "the current limit, which must be known to restore it")
    is_max = asked == MAX
    held.target = int(_ask_number(driver, held, "the highest clock; give it in MHz") if is_max else asked)
    return held


class ClockDriver:
    """nvidia-smi of a machine.

    Args:
        shell: Shell of the machine; this machine by default.
        stop: Ends queries; locked clocks are released first.
    """

    def __init__(self, shell: Shell | None = None, stop: StopRequest | None = None) -> None:
        self.shell = shell or Shell()
        self.stop = stop
        self.word = secrets.token_hex(16)
        self.where = self.shell.where

    def _call(self, *arguments: str) -> tuple[Mapping[str, str] | None, str]:
        output = self.shell.call(self.stop, SMI, self.word, *arguments).decode("utf-8", errors="replace")
        lines = output.partition(f"\n{self.word}\n")[2].split("\n", 3)
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
    def hold(self, held: HeldSetting) -> Iterator[None]:
        """Change the setting, and restore it at the end, also after SIGKILL; `held` gets the driver's answers.

        Raises:
            TrexError: The machine cannot be queried.
        """
        with tempfile.TemporaryFile() as stderr:
            arguments = (str(held.gpu), *held.change, held.setting.said, *held.restore)
            argv = self.shell.argv(HOLD, self.word, *arguments)
            process = self.shell.start(argv, subprocess.PIPE, stderr)
            try:
                answer = self.shell.first_answer(process, self.word, self.stop, stderr, timeout_s=_LOCK_S)
                held.answer = answer.decode("utf-8", errors="replace")
                held.is_locked = held.setting.said in held.answer
                yield
            finally:
                self._free(process, held)

    def _free(self, process: subprocess.Popen[bytes], held: HeldSetting) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        held.ended_early = held.is_locked and process.poll() is not None
        with suppress(OSError):
            process.stdin.close()
        output = self._rest(process.stdout.fileno())
        answer, mark, code = output.rpartition(self.word.encode() + b" ")
        said = b"eset" if held.setting.restore else held.setting.said.encode()
        if held.is_locked:
            held.is_released = bool(mark) and code.strip() == b"0" and said in answer
        if process.poll() is None:
            process.kill()  # the process it started releases the clocks
        process.stdout.close()
        process.wait()
        if held.ended_early and not held.is_released and not self.shell.host:  # no other process would do it
            held.is_released = said.decode() in self.ask("-i", str(held.gpu), *held.restore)

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


def choose_gpu(device: int | None, count: int, environ: Mapping[str, str], option: str) -> str:
    """Return nvidia-smi's name for the GPU of trtexec's `--device`, or for a slice (`MIG-…`): CUDA numbers GPUs differently.

    Args:
        option: The option that needs to know, for messages.

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
            f"{option}: no device {number}, for there {'is' if there == 1 else 'are'} {plural(there, 'GPU')}"
            f"{whose}, counted from 0"
        )
    if visible:
        chosen = visible[number]
        if chosen.startswith(("GPU-", _SLICE)) or (chosen.isdecimal() and (by_bus or count <= 1)):
            return chosen
    elif by_bus or (count <= 1 and number == 0):
        return str(number)
    raise TrexError(
        f"{option}: {plural(count, 'GPU')}, and CUDA's device {number} is unknown: CUDA and nvidia-smi number GPUs in "
        "different orders; set CUDA_DEVICE_ORDER=PCI_BUS_ID, or give a UUID in CUDA_VISIBLE_DEVICES"
    )


def _ask_number(driver: ClockDriver, held: HeldSetting, what: str) -> float:
    query = f"--query-gpu={held.setting.query}"
    text = driver.ask("-i", str(held.gpu), query, "--format=csv,noheader,nounits")
    match = re.match(r"\s*(\d{1,9}(?:\.\d{1,9})?)", text)
    if match is None:
        first = (text.strip().splitlines() or ["no output"])[0]
        raise TrexError(
            f"{held.setting.option}: nvidia-smi does not state {what} ({first}); leave out the option"
        )
    return float(match[1])


def _describe_jetson(host: Mapping[str, Any]) -> str:
    clock = host.get("gpu_clock") or {}
    state = {True: "locked", False: "not locked", None: "in an unknown state"}[clock.get("locked")]
    mode = (host.get("jetson") or {}).get("power_mode") or "unknown"
    return (
        f"power mode {mode}, GPU clocks {state}; capture changes neither on a Jetson: "
        "sudo jetson_clocks locks them, sudo nvpmodel -m changes the mode"
    )
