"""`trex-tui doctor --host`: can a capture run on other machines; all are asked at once, and answer in the order given."""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from trex_tui.capture.doctor import Check, Findings, can_capture, examine
from trex_tui.capture.remote_doctor import look_there
from trex_tui.capture.run import Stop, stop_on_signals
from trex_tui.capture.ssh import Ssh, checked_hosts
from trex_tui.commands.doctor import FINDINGS, OK, document, draw
from trex_tui.commands.output import print_json, print_text
from trex_tui.errors import TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "trex-tui/doctor-hosts/1"
BAD, INTERRUPTED = 2, 130


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from one machine.

    Attributes:
        host: Its name as typed.
        findings: What was found; None if it could not be asked.
        checks: The judgement.
        error: Why it could not be asked; empty if it could.
    """

    host: str
    findings: Findings | None = None
    checks: tuple[Check, ...] = ()
    error: str = ""

    @property
    def code(self) -> int:
        """As an exit code."""
        if self.findings is None:
            return BAD
        return OK if can_capture(self.checks) else FINDINGS

    def document(self) -> dict[str, Any]:
        """For JSON: as without `--host`, beside the name of the machine."""
        if self.findings is None:
            return {"host_asked": self.host, "error": self.error, "can_capture": False}
        found = document(self.findings, self.checks, f"on {self.host}")
        return {"host_asked": self.host, "error": None, **found}


def run_doctor_hosts(options: argparse.Namespace) -> int:
    """Look at every machine; the worst exit code.

    Raises:
        TrexError: One has no name or is there twice, or an option is of this machine alone.
    """
    if options.outdir is not None:
        raise TrexError("--outdir is of this machine; with --host the temporary directory there counts")
    machines = checked_hosts(options.host)
    with stop_on_signals() as stop, ThreadPoolExecutor(len(machines)) as pool:
        answers = list(pool.map(partial(_ask, given=options.trtexec, stop=stop), machines))
        interrupted = bool(stop.times)
    if interrupted:
        sys.stderr.write("trex-tui: interrupted\n")
        return INTERRUPTED
    if options.json:
        print_json(
            {
                "schema": SCHEMA,
                "can_capture": all(one.code == OK for one in answers),
                "hosts": [one.document() for one in answers],
            }
        )
    elif any(one.checks for one in answers):
        print_text(partial(_draw, answers))
    for one in answers:
        if one.error:
            sys.stderr.write(f"trex-tui: error: {printable(one.error)}\n")
    return max(one.code for one in answers)


def _ask(ssh: Ssh, given: str | None, stop: Stop) -> Answer:
    try:
        found = look_there(ssh, stop, given)
    except (TrexError, OSError) as error:
        return Answer(ssh.host, error=str(error))
    return Answer(ssh.host, found, tuple(examine(found)))


def _draw(answers: list[Answer], console: Console) -> None:
    from rich.text import Text

    for place, one in enumerate(one for one in answers if one.checks):
        if place:
            console.print()
        if len(answers) > 1:
            console.print(Text(printable(one.host), style="bold underline"))
        draw(one.checks, console, f"on {one.host}")
