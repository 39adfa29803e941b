"""Lock the GPU clocks while trtexec measures, and restore them however the capture ends.

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
from typing import Any, Final

from trex_tui.capture.process import StopRequest
from trex_tui.capture.shell import WITHIN, ConnectionLostError, Shell
from trex_tui.errors import TrexError
from trex_tui.text import plural

MAX = "max"
HIGHEST_CLOCK = ("--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits")
"""Arguments of nvidia-smi."""
_OPTION = "--lock-clocks"
_SLICE = "MIG-"
_LOCK_S, _FREE_S = 60.0, 30.0
_POLL_S = 0.1
_IDS = re.compile(r"\b(?:GPU|MIG)-[0-9A-Za-z/-]+|\b[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9]\b")
SMI: Final = (
    # word argument…: `word`, the variables that choose GPUs, the path of nvidia-smi (empty: not found), and its output.
    WITHIN
    + 't=$1; shift; printf "\\n%s\\n%s\\n%s\\n%s\\n" "$t" "${CUDA_VISIBLE_DEVICES-}" "${CUDA_DEVICE_ORDER-}" '
    '"$(command -v nvidia-smi)"; [ "$#" = 0 ] || within 30 nvidia-smi "$@"; exit 0'
)
HOLD: Final = (
    # word gpu clocks. Locks the clocks and prints the answer between two lines `word`; if they were locked, they are
    # restored when the input ends: then the answer, and `word code`. The inner process does all this; the outer one
    # restores if the inner one is killed. Both ignore signals, as nvidia-smi does then.
    "trap '' HUP INT TERM PIPE QUIT; t=$1 i=$2 v=$3; exec 3<&0 </dev/null; "
    "free() { while read -r x <&3; do :; done; "
    'o=$(nvidia-smi -i "$i" -rgc 2>&1 3<&-); c=$?; printf "%s\\n%s %s\\n" "$o" "$t" "$c"; }; '
    '( o=$(nvidia-smi -i "$i" -lgc "$v" 2>&1 3<&-); printf "%s\\n%s\\n%s\\n" "$t" "$o" "$t"; '
    'case $o in *"GPU clocks set to"*) free;; esac; exit 0 ) 2>/dev/null & wait "$!" || free 2>/dev/null; exit 0'
)


@dataclass(slots=True)
class HeldClocks:
    """Result of a request to lock clocks.

    Attributes:
        asked: `max` or MHz.
        gpu: Index or UUID as nvidia-smi takes it; None on a Jetson, where nothing is changed.
        is_locked: Whether the driver confirmed the change. The clock may still be lower.
        answer: Output of nvidia-smi.
        is_released: Whether the driver confirmed that they were restored; None before, or without a change.
        ended_early: Whether the process that holds them ended before the capture; the time of release is unknown.
    """

    asked: str
    gpu: str | None = None
    target_mhz: int | None = None
    is_locked: bool = False
    answer: str = ""
    is_released: bool | None = None
    ended_early: bool = False

    def document(self) -> dict[str, Any]:
        """Return the content for the manifest, without UUIDs and bus addresses."""
        return {
            "asked": self.asked,
            "target_mhz": self.target_mhz,
            "gpu": None if self.gpu is None else without_ids(self.gpu),
            "locked": self.is_locked,
            "answer": without_ids(self.answer),
            "released": self.is_released,
            "ended_early": self.ended_early,
        }

    def describe(self) -> str:
        """Return what happened."""
        if self.is_locked:
            return f"GPU clocks locked to {self.target_mhz} MHz"
        first = (self.answer.strip().splitlines() or ["nvidia-smi printed nothing"])[0]
        by_hand = f"sudo nvidia-smi -i {self.gpu} -lgc {self.target_mhz},{self.target_mhz}"
        return f"GPU clocks are NOT locked: {first} (by hand: {by_hand}, afterwards -rgc)"


def without_ids(text: str) -> str:
    """Remove UUIDs and bus addresses, which identify a GPU, from a text."""
    return _IDS.sub("…", text)


@contextmanager
def hold_clocks(
    asked: str, device: int | None, host: Mapping[str, Any], shell: Shell, stop: StopRequest | None = None
) -> Iterator[tuple[HeldClocks, list[str]]]:
    """Lock the clocks of a GPU for the time of the context, also restored after SIGKILL.

    Args:
        asked: `max` or MHz.
        device: trtexec's `--device`.
        host: Facts of the machine.
        shell: Shell of the machine that measures.
        stop: Ends queries; locked clocks are released first.

    Yields:
        The result, and messages for the user; both may be extended until the context ends.

    Raises:
        TrexError: The GPU, or its highest clock, is unknown, or the machine cannot be queried.
    """
    held = HeldClocks(asked)
    if host.get("jetson"):
        yield held, [_describe_jetson(host)]
        return
    held.gpu, held.target_mhz = _choose(asked, device, host, shell, stop)
    sentences: list[str] = []
    word = secrets.token_hex(16)
    with tempfile.TemporaryFile() as stderr:
        clocks = f"{held.target_mhz},{held.target_mhz}"
        process = shell.start(shell.argv(HOLD, word, held.gpu, clocks), subprocess.PIPE, stderr)
        try:
            answer = shell.first_answer(process, word, stop, stderr, timeout_s=_LOCK_S)
            held.answer = answer.decode("utf-8", errors="replace")
            held.is_locked = "GPU clocks set to" in held.answer
            sentences.append(held.describe())
            yield held, sentences
        finally:
            _free(process, held, word, shell, stop)
    if held.ended_early:
        sentences.append(
            f"the process that held the GPU clocks{shell.where} ended early: they may not have been locked all the time"
        )
    if held.is_locked and not held.is_released:
        sentences.append(
            f"the GPU clocks may still be locked{shell.where}; restore: sudo nvidia-smi -i {held.gpu} -rgc"
        )


def _choose(
    asked: str, device: int | None, host: Mapping[str, Any], shell: Shell, stop: StopRequest | None
) -> tuple[str, int]:
    choices, _ = ask_smi(shell, stop)
    if choices is None:
        raise TrexError(
            f"{_OPTION}: nvidia-smi not found on PATH{shell.where}; install it, or leave out the option"
        )
    gpu = choose_gpu(device, len(host.get("gpus") or []), choices, _OPTION)
    if gpu.startswith(_SLICE):
        raise TrexError(
            f"{_OPTION}: {gpu} is a slice (MIG), and its GPU has one clock for all; set it by hand "
            "(sudo nvidia-smi -i GPU -lgc …), or leave out the option"
        )
    if asked != MAX:
        return gpu, int(asked)
    _, text = ask_smi(shell, stop, "-i", gpu, *HIGHEST_CLOCK)
    match = re.match(r"\s*(\d{1,9})", text)
    if match is None:
        first = (text.strip().splitlines() or ["no output"])[0]
        raise TrexError(f"{_OPTION}: nvidia-smi does not state the highest clock ({first}); give it in MHz")
    return gpu, int(match[1])


def ask_smi(shell: Shell, stop: StopRequest | None, *arguments: str) -> tuple[dict[str, str] | None, str]:
    """Return the variables that choose GPUs (over ssh without those of .bashrc; None without nvidia-smi), and what nvidia-smi
    prints.

    Raises:
        TrexError: The machine cannot be queried.
    """
    word = secrets.token_hex(16)
    output = shell.call(stop, SMI, word, *arguments).decode("utf-8", errors="replace")
    lines = output.partition(f"\n{word}\n")[2].split("\n", 3)
    if len(lines) < 4:
        raise ConnectionLostError(f"{shell.name}: the answer of nvidia-smi is truncated; try again")
    visible, order, program, answer = lines
    choices = {"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": order}
    return (choices if program else None), answer


def _free(
    process: subprocess.Popen[bytes], held: HeldClocks, word: str, shell: Shell, stop: StopRequest | None
) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    held.ended_early = held.is_locked and process.poll() is not None
    with suppress(OSError):
        process.stdin.close()
    answer, mark, code = _read_rest(process.stdout.fileno(), stop).rpartition(word.encode() + b" ")
    if held.is_locked:
        held.is_released = bool(mark) and code.strip() == b"0" and b"eset" in answer
    if process.poll() is None:
        process.kill()  # the process it started releases the clocks
    process.stdout.close()
    process.wait()
    if held.ended_early and not held.is_released and not shell.host:  # no other process would do it
        held.is_released = "eset" in ask_smi(shell, stop, "-i", str(held.gpu), "-rgc")[1]


def _read_rest(pipe: int, stop: StopRequest | None) -> bytes:
    """Read the rest of the pipe; a second interrupt ends the wait."""
    output, until = b"", time.monotonic() + _FREE_S
    asked = stop.times if stop else 0
    while time.monotonic() < until and (stop is None or stop.times == asked):
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


def _describe_jetson(host: Mapping[str, Any]) -> str:
    clock = host.get("gpu_clock") or {}
    state = {True: "locked", False: "not locked", None: "in an unknown state"}[clock.get("locked")]
    mode = (host.get("jetson") or {}).get("power_mode") or "unknown"
    return (
        f"power mode {mode}, GPU clocks {state}; capture changes neither on a Jetson: "
        "sudo jetson_clocks locks them, sudo nvpmodel -m changes the mode"
    )
