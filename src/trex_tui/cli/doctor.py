"""`trex-tui doctor`: can a capture run on this machine or another, and what to do where not."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui._version import __version__
from trex_tui.capture.doctor import Check, Findings, can_capture, examine, summary
from trex_tui.capture.environment_probe import probe_environment, probe_host
from trex_tui.capture.process import stop_on_signals
from trex_tui.capture.trtexec import TrtexecNotFoundError, candidates, find_trtexec
from trex_tui.cli.output import print_json, print_text
from trex_tui.errors import ExitCode, TrexError
from trex_tui.text import printable

if TYPE_CHECKING:
    from rich.console import Console

SCHEMA, SCHEMA_HOSTS = "trex-tui/doctor/1", "trex-tui/doctor-hosts/1"
_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "bold red"}
"""Of the terminal's own sixteen, as every status is a word too."""


def run_doctor(options: argparse.Namespace) -> int:
    """Look, print, and say by the exit code whether a capture can run.

    Raises:
        TrexError: This is no Linux machine, or what was named as another one is none.
    """
    if os.name != "posix":
        raise TrexError("capture runs on Linux, so there is nothing to look at here")
    if options.host:
        return _examine_hosts(options)
    findings = look(options.trtexec, Path(options.outdir or "results"))
    checks = examine(findings)
    if options.json:
        print_json(document(findings, checks))
    else:
        print_text(partial(draw, checks))
    return int(ExitCode.OK if can_capture(checks) else ExitCode.FINDINGS)


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
    trtexec, refusal = None, ""
    try:
        trtexec = find_trtexec(given, environ, root)
    except TrtexecNotFoundError as error:
        refusal = str(error)
    used = os.path.realpath(trtexec.path) if trtexec else None
    others = [str(path) for path, _ in candidates(environ, root) if os.path.realpath(path) != used]
    host = probe_host(environ=environ, root=root)
    environment = probe_environment(host, outdir, environ=environ, root=root, may=may)
    # Where none can be used, the refusal tells of those that are there.
    return Findings(trtexec, refusal, others if trtexec else [], host.facts, host.probes, environment)


def document(findings: Findings, checks: Sequence[Check], where: str = "here") -> dict[str, Any]:
    """Return the JSON document: the judgement, and all that it rests on."""
    program = findings.trtexec
    return {
        "schema": SCHEMA,
        "trex_tui": __version__,
        "can_capture": can_capture(checks),
        "summary": summary(checks, where),
        "checks": [check.document() for check in checks],
        "trtexec": None
        if program is None
        else {
            "path": str(program.path),
            "version": program.version,
            "build": program.build,
            "found_by": program.found_by,
        },
        "host": {**findings.facts, **findings.environment.document(), "probes": findings.probes},
    }


def draw(checks: Sequence[Check], console: Console, where: str = "here", title: str = "") -> None:
    """Draw a line for each finding, and the judgement."""
    from rich.table import Table
    from rich.text import Text

    if title:
        console.print(Text(printable(title), style="bold underline"))
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


def _examine_hosts(options: argparse.Namespace) -> int:
    """Look at one machine after the other; the worst exit code.

    Raises:
        TrexError: One has no name or is there twice, or an option is of this machine alone.
    """
    from trex_tui.capture.remote import look_there
    from trex_tui.capture.ssh import checked_hosts

    if options.outdir is not None:
        raise TrexError("--outdir is of this machine; with --host the temporary directory there counts")
    machines = checked_hosts(options.host)
    documents: list[dict[str, Any]] = []
    errors: list[str] = []
    with stop_on_signals() as stop:
        for ssh in machines:
            try:
                findings = look_there(ssh, stop, options.trtexec)
            except (TrexError, OSError) as error:
                errors.append(str(error))
                documents.append({"host_asked": ssh.host, "error": str(error), "can_capture": False})
            else:
                checks, where = examine(findings), f"on {ssh.host}"
                documents.append({"host_asked": ssh.host, "error": None, **document(findings, checks, where)})
                if not options.json:
                    title = ssh.host if len(machines) > 1 else ""
                    print_text(partial(draw, checks, where=where, title=title))
            if stop.times:
                sys.stderr.write("trex-tui: interrupted\n")
                return int(ExitCode.INTERRUPTED)
    can_all = all(document["can_capture"] for document in documents)
    if options.json:
        print_json({"schema": SCHEMA_HOSTS, "can_capture": can_all, "hosts": documents})
    for text in errors:
        sys.stderr.write(f"trex-tui: error: {printable(text)}\n")
    if errors:
        return int(ExitCode.BAD_INPUT)
    return int(ExitCode.OK if can_all else ExitCode.FINDINGS)
