"""`doctor`: check what a capture can do, here or over ssh."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.cli.capture import add_builder, add_host, find_machine
from trex_tui.cli.options import CommandParser, add_file, add_result
from trex_tui.cli.results import Result, complain
from trex_tui.errors import ExitCode, TrexError

if TYPE_CHECKING:
    from trex_tui.capture.machine import Host
    from trex_tui.capture.trtexec import Trtexec
    from trex_tui.report.document import Document

HELP = "Check whether this machine can capture"
ARGUMENTS = ""
EPILOG = """\
Read-only: no sudo, no change of power mode or clocks. The last line states what
can run: all, build only, or nothing.

Exit code: 0 capture can build and measure; 1 something is missing; 2 the host
is unreachable.

examples:
  trex-tui doctor
  trex-tui doctor --trtexec ~/TensorRT-10.16/bin
  trex-tui doctor --host user@jetson
  trex-tui doctor --json | jq '.checks[] | select(.status != "ok")'
"""


def add_arguments(parser: CommandParser) -> None:
    add_builder(parser)
    add_file(
        parser, "--outdir", metavar="DIR", help="check the disk of DIR; default: results; not with --host"
    )
    add_host(parser)
    add_result(parser, ("text", "json"), schema="doctor/2", has_strict=False)


def run(options: argparse.Namespace) -> int:
    from trex_tui.capture.doctor import ALL
    from trex_tui.capture.machine import ask_host
    from trex_tui.capture.process import stop_on_signals
    from trex_tui.capture.remote import find_there
    from trex_tui.capture.trtexec import find_builder

    if os.name != "posix":
        raise TrexError("capture runs on Linux only; doctor has nothing to check here")
    result, ssh = Result(options), find_machine(options)
    if ssh is None:
        host = ask_host(outdir=Path(options.outdir or "results"), has_environment=True)
        document = _examine(lambda: find_builder(options.builder, options.trtexec), host)
    elif options.outdir is not None:
        raise TrexError("--outdir is local; with --host, doctor checks the remote temporary directory")
    else:
        with stop_on_signals() as stop:
            try:
                host = ask_host(ssh, stop, has_environment=True)
                document = _examine(partial(find_there, ssh, stop, options.trtexec), host, ssh.host)
            except TrexError:
                if not stop.times:
                    raise
                complain("interrupted")
                return stop.exit_code
    code = ExitCode.OK if document.data["can_capture"] == ALL else ExitCode.FINDINGS
    return max(result.write(document), code)


def _examine(find: Callable[[], Trtexec], host: Host, name: str = "") -> Document:
    from trex_tui.capture.doctor import Findings, conclude, examine
    from trex_tui.capture.trtexec import TrtexecNotFoundError
    from trex_tui.report.views.capture import describe_machine

    trtexec, refusal = None, ""
    try:
        trtexec = find()
    except TrtexecNotFoundError as error:
        refusal = str(error).removeprefix(f"{name}: ")
    findings = Findings(trtexec, refusal, host.document())
    checks = examine(findings)
    scope, conclusion = conclude(findings, checks, f"on {name}" if name else "here")
    return describe_machine(name or "This machine", scope, conclusion, checks, trtexec, findings.facts)
