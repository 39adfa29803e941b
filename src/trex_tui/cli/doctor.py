"""`doctor`: check what a capture can do, here or over ssh."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.cli.capture import add_builder, add_host
from trex_tui.cli.options import CommandParser, add_result, complete_files
from trex_tui.cli.results import Result, complain
from trex_tui.errors import ExitCode, TrexError

if TYPE_CHECKING:
    from trex_tui.capture.doctor import Findings
    from trex_tui.report.document import Document

HELP = "Check whether this machine can capture"
ARGUMENTS = ""
EPILOG = """\
Read-only: no sudo, no change of power mode or clocks. The last line states what
can run: all, build only, or nothing.

Exit code: 0 capture can build and measure; 1 something is missing; 2 a host is
unreachable.

examples:
  trex-tui doctor
  trex-tui doctor --trtexec ~/TensorRT-10.16/bin
  trex-tui doctor --host user@jetson --host xavier
  trex-tui doctor --json | jq '.checks[] | select(.status != "ok")'
"""


def add_arguments(parser: CommandParser) -> None:
    add_builder(parser)
    outdir = parser.add_argument(
        "--outdir", metavar="DIR", help="check the disk of DIR; default: results; not with --host"
    )
    complete_files(outdir)
    add_host(parser)
    add_result(parser, ("text", "json"), schema="doctor/2", has_strict=False)


def run(options: argparse.Namespace) -> int:
    from trex_tui.capture.process import stop_on_signals
    from trex_tui.capture.remote import look_there
    from trex_tui.capture.shell import make_connections

    if os.name != "posix":
        raise TrexError("capture runs on Linux only; doctor has nothing to check here")
    result = Result(options)
    if not options.host:
        document = _examine(_look_here(options), "here", "This machine")
        return max(result.write(document), _exit_code(document))
    if options.outdir is not None:
        raise TrexError("--outdir is local; with --host, doctor checks the remote temporary directory")
    from trex_tui.capture.doctor import Findings
    from trex_tui.report.document import Document

    documents: list[Document] = []
    errors: list[str] = []
    with stop_on_signals() as stop:
        for ssh in make_connections(options.host):
            try:
                found, host = look_there(ssh, stop, options.trtexec)
            except (TrexError, OSError) as error:
                errors.append(str(error))
                documents.append(
                    Document("doctor", ssh.host, data={"can_capture": None, "error": str(error)})
                )
            else:
                findings = Findings(found.trtexec, found.refusal, found.others, host)
                documents.append(_examine(findings, f"on {ssh.host}", ssh.host))
            if stop.times:
                complain("interrupted")
                return stop.exit_code
    result.write(Document("doctor-hosts", "Machines", parts=documents, parts_key="hosts", version=2))
    for text in errors:
        complain(f"error: {text}")
    return ExitCode.BAD_INPUT if errors else max(map(_exit_code, documents))


def _exit_code(document: Document) -> int:
    from trex_tui.capture.doctor import ALL

    return ExitCode.OK if document.data["can_capture"] == ALL else ExitCode.FINDINGS


def _look_here(options: argparse.Namespace) -> Findings:
    from trex_tui.capture.doctor import Findings
    from trex_tui.capture.machine import ask_host
    from trex_tui.capture.trtexec import TrtexecNotFoundError, find_builder, list_candidates

    trtexec, refusal = None, ""
    try:
        trtexec = find_builder(options.builder, options.trtexec, note=complain)
    except TrtexecNotFoundError as error:
        refusal = str(error)
    used = os.path.realpath(trtexec.path) if trtexec else None
    others = [str(path) for path, _ in list_candidates(os.environ) if os.path.realpath(path) != used]
    host = ask_host(outdir=Path(options.outdir or "results"), has_environment=True)
    # If none can be used, the error lists those found.
    return Findings(trtexec, refusal, others if trtexec else [], host)


def _examine(findings: Findings, where: str, title: str) -> Document:
    from trex_tui.capture.doctor import examine, find_scope, summarize
    from trex_tui.report.views.capture import describe_machine

    checks = examine(findings)
    scope = find_scope(findings, checks)
    conclusion = summarize(scope, checks, where)
    return describe_machine(title, scope, conclusion, checks, findings.trtexec, findings.host.document())
