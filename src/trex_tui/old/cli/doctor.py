"""`trex-tui doctor`: check whether a capture can run, here or over ssh."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui._version import __version__
from trex_tui.old.artifacts.output_files import NO_INPUTS
from trex_tui.old.capture.doctor import Check, Findings, can_capture, examine, summary
from trex_tui.old.capture.environment_probe import ask_host, probe_environment
from trex_tui.old.capture.process import stop_on_signals
from trex_tui.old.capture.shell import Shell
from trex_tui.old.capture.trtexec import (
    TrtexecNotFoundError,
    candidates,
    find_trtexec,
)
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.text import printable

if TYPE_CHECKING:
    from trex_tui.old.report.render_text import Console


SCHEMA, SCHEMA_HOSTS = "trex-tui/doctor/1", "trex-tui/doctor-hosts/1"

_STYLES = {"ok": "green", "note": "cyan", "warning": "yellow", "error": "bold red"}
"""The terminal's own 16 colours; every status is a word too."""


def run_doctor(options: argparse.Namespace) -> int:
    """Examine the machine and print the findings; the exit code is 0 if a capture can run.

    Raises:
        TrexError: This is not a Linux machine, or a host is invalid.
    """
    if os.name != "posix":
        raise TrexError("capture runs on Linux only; doctor has nothing to check here")
    result = ResultWriter(options)
    result.check(NO_INPUTS)
    if options.host:
        return _examine_hosts(options, result)
    findings = look(options.trtexec, Path(options.outdir or "results"))
    checks = examine(findings)
    if result.format == "json":
        result.write_json(document(findings, checks))
    else:
        result.draw(partial(draw, checks))
    return int(ExitCode.OK if can_capture(checks) else ExitCode.FINDINGS)


def look(
    given: str | None,
    outdir: Path,
    *,
    environ: Mapping[str, str] = os.environ,
    root: Path = Path("/"),
) -> Findings:
    """Probe this machine.

    Args:
        given: The trtexec chosen by the user.
        outdir: Output directory of sets.
        environ: Environment with PATH and TRTEXEC.
        root: Replaces `/`.

    Raises:
        TrexError: Its shell does not work.
    """
    trtexec, refusal = None, ""
    try:
        trtexec = find_trtexec(given, environ, root, complain)
    except TrtexecNotFoundError as error:
        refusal = str(error)
    used = os.path.realpath(trtexec.path) if trtexec else None
    others = [str(path) for path, _ in candidates(environ, root) if os.path.realpath(path) != used]
    shell = Shell(environ=environ)
    host = ask_host(shell, root=str(root))
    environment = probe_environment(host, outdir, shell, root=str(root))
    # If none can be used, the error lists those found.
    return Findings(trtexec, refusal, others if trtexec else [], host.facts, host.probes, environment)


def document(findings: Findings, checks: Sequence[Check], where: str = "here") -> dict[str, Any]:
    """Return the JSON document: the checks and their input."""
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
    """Print a line for each check, and the summary."""
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


def draw_hosts(
    examined: Sequence[tuple[str, Sequence[Check]]], console: Console, *, has_titles: bool
) -> None:
    """Print the checks of each machine."""
    for host, checks in examined:
        draw(checks, console, f"on {host}", host if has_titles else "")


def _examine_hosts(options: argparse.Namespace, result: ResultWriter) -> int:
    """Examine each machine in turn; return the worst exit code.

    Raises:
        TrexError: A machine has no name or is repeated, or an option only applies to this machine.
    """
    from trex_tui.old.capture.remote import look_there
    from trex_tui.old.capture.ssh import checked_hosts

    if options.outdir is not None:
        raise TrexError("--outdir is local; with --host, doctor checks the remote temporary directory")
    machines = checked_hosts(options.host)
    documents: list[dict[str, Any]] = []
    examined: list[tuple[str, Sequence[Check]]] = []
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
                examined.append((ssh.host, checks))
            if stop.times:
                complain("interrupted")
                return int(ExitCode.INTERRUPTED)
    can_all = all(document["can_capture"] for document in documents)
    if result.format == "json":
        result.write_json({"schema": SCHEMA_HOSTS, "can_capture": can_all, "hosts": documents})
    else:
        result.draw(partial(draw_hosts, examined, has_titles=len(machines) > 1))
    for text in errors:
        complain(f"error: {text}")
    if errors:
        return int(ExitCode.BAD_INPUT)
    return int(ExitCode.OK if can_all else ExitCode.FINDINGS)
