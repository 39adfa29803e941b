"""`trex-tui doctor`: can a capture run on this machine, and what to do where not."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.commands.output import print_json, print_text

if TYPE_CHECKING:
    from rich.console import Console

    from trex_tui.capture.doctor import Check, Findings

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
        from trex_tui.commands.doctor_hosts import run_doctor_hosts

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
    from trex_tui.capture.host import probe_host
    from trex_tui.capture.locate import TrtexecNotFoundError, candidates, find_trtexec
    from trex_tui.capture.surroundings import probe_surroundings

    trtexec, refusal = None, ""
    try:
        trtexec = find_trtexec(given, environ, root)
    except TrtexecNotFoundError as error:
        refusal = str(error)
    used = os.path.realpath(trtexec.path) if trtexec else None
    others = [str(path) for path, _ in candidates(environ, root) if os.path.realpath(path) != used]
    host = probe_host(environ=environ, root=root)
    around = probe_surroundings(host, outdir, environ=environ, root=root, may=may)
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
