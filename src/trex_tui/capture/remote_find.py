"""The trtexec of another machine: the places of `locate.py`, looked at by a script there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from trex_tui.capture.abilities import Trtexec
from trex_tui.capture.locate import TrtexecNotFoundError, understand
from trex_tui.capture.run import Stop
from trex_tui.capture.scripts import FIND
from trex_tui.capture.ssh import Ssh

_NOWHERE = (
    "no trtexec on the PATH of a command over ssh (.bashrc does not apply), "
    "in /usr/src/tensorrt/bin, /opt/tensorrt/bin or a TensorRT-*/bin; $TRTEXEC names none there; state --trtexec"
)


@dataclass(frozen=True, slots=True)
class Found:
    """What was found there.

    Attributes:
        trtexec: The one that a capture would use, or None.
        refusal: Why there is none; without the name of the machine.
        others: More of them, which are not used.
    """

    trtexec: Trtexec | None
    refusal: str
    others: tuple[str, ...]


def find_there(ssh: Ssh, stop: Stop, word: str, given: str | None, *, with_others: bool = False) -> Found:
    """Look for it, in the order of `locate.find_trtexec`.

    Args:
        ssh: How to reach the machine.
        stop: Ends the question.
        word: Marks what the script says itself.
        given: What a person named, with a path of there.
        with_others: Name also those that come after the one to use.

    Raises:
        RemoteError: It cannot be asked.
    """
    more = ("1",) if with_others else ()
    return read_found(ssh.call(stop, FIND, word, given or "", *more), word, given)


def read_found(said: bytes, word: str, given: str | None) -> Found:
    """Understand what the script printed."""
    used: Trtexec | None = None
    refusal, by, path = "", "", ""
    others: list[str] = []
    for part in said.split(f"\n{word} ".encode())[1:]:
        heading, _, body = part.partition(b"\n")
        if heading == b"other":
            others.append(os.fsdecode(body.rstrip(b"\n")))
        elif heading != b"help":
            by, path = heading.decode("utf-8", errors="replace"), os.fsdecode(body)
        else:
            try:
                used = understand(body.decode("utf-8", errors="replace"), Path(path), by)
            except TrtexecNotFoundError as error:
                refusal = str(error)
                others.append(path)
    if used is not None:
        return Found(used, "", tuple(others))
    if not refusal and given:
        refusal = f"--trtexec: there is no {given} there that may be executed"
    return Found(None, refusal or _NOWHERE, ())
