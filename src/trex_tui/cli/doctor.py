"""`trex-tui doctor`: can a capture run on this machine, and what to do where not."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.capture.doctor import Check, Findings, can_capture, examine
from trex_tui.capture.process import Stop, stop_on_signals
from trex_tui.capture.remote_probe import look_there
from trex_tui.capture.ssh import Ssh, checked_hosts
from trex_tui.cli.output import print_json, print_text
from trex_tui.errors import TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA = "trex-tui/doctor/1"
OK, FINDINGS = 0, 1
_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "bold red"}
"""Of the terminal's own sixteen, as every status is a word too."""


def run_doctor(options: argparse.Namespace) -> int:
    """Look, print, and say by the exit code whether a capture can run.

    Raises:
        TrexError: This is no Linux machine, or what was named as another one is none.
    """
    from trex_tui.capture.doctor import can_capture, examine

    if os.name != "posix":
        from trex_tui.errors import TrexError

        raise TrexError("capture runs on Linux, so there is nothing to look at here")
    if options.host:
        return run_doctor_hosts(options)
    found = look(options.trtexec, Path(options.outdir or "results"))
    checks = examine(found)
    if options.json:
        print_json(document(found, checks))
    else:
        print_text(partial(draw, checks))
    return OK if can_capture(checks) else FINDINGS


def look(
    given: str | None,
    outdir: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
    may: Callable[[Path, int], bool] = os.access,
) -> Findings:
    """Ask this machine.

    Args:
        given: The trtexec that a person named.
        outdir: Where sets are to lie.
        environ: Where PATH and TRTEXEC are read.
        root: What stands for `/`.
        may: Whether a file may be opened.
    """
    from trex_tui.capture.doctor import Findings
    from trex_tui.capture.environment_probe import probe_environment, probe_host
    from trex_tui.capture.trtexec import TrtexecNotFoundError, candidates, find_trtexec

    trtexec, refusal = None, ""
    try:
        trtexec = find_trtexec(given, environ, root)
    except TrtexecNotFoundError as error:
        refusal = str(error)
    used = os.path.realpath(trtexec.path) if trtexec else None
    others = [str(path) for path, _ in candidates(environ, root) if os.path.realpath(path) != used]
    host = probe_host(environ=environ, root=root)
    around = probe_environment(host, outdir, environ=environ, root=root, may=may)
    # Where none can be used, the refusal tells of those that are there.
    return Findings(trtexec, refusal, others if trtexec else [], host.facts, host.probes, around)


def document(found: Findings, checks: Sequence[Check], where: str = "here") -> dict[str, Any]:
    """For JSON: the judgement, and all that it rests on."""
    from trex_tui._version import __version__
    from trex_tui.capture.doctor import can_capture, summary

    program = found.trtexec
    return {
        "schema": SCHEMA,
        "trex_tui": __version__,
        "can_capture": can_capture(checks),
        "summary": summary(checks, where),
        "checks": [one.document() for one in checks],
        "trtexec": None
        if program is None
        else {
            "path": str(program.path),
            "version": program.version,
            "build": program.build,
            "found_by": program.found_by,
        },
        "host": {**found.facts, **found.around.document(), "probes": found.probes},
    }


def draw(checks: Sequence[Check], console: Console, where: str = "here") -> None:
    """A line for each finding, and the judgement."""
    from rich.table import Table
    from rich.text import Text

    from trex_tui.capture.doctor import summary
    from trex_tui.text import printable

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for check in checks:
        status = Text(check.status, style=_STYLES[check.status])
        table.add_row(status, Text(check.name), Text(printable(check.found)))
        if check.remedy:
            table.add_row("", "", Text(f"do: {printable(check.remedy)}", style="dim"))
    console.print(table)
    console.print(Text(printable(summary(checks, where)), style="bold"))


SCHEMA_DOCTOR_HOSTS = "trex-tui/doctor-hosts/1"
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
                "schema": SCHEMA_DOCTOR_HOSTS,
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
