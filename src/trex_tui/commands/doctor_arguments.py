"""The options of `trex-tui doctor`."""

from __future__ import annotations

import argparse

from trex_tui.commands.argument_types import FILES

_EXAMPLES = """\
examples:
  trex-tui doctor                                     can a capture run here, and what to do where not
  trex-tui doctor --trtexec ~/TensorRT-10.16/bin      with this trtexec
  trex-tui doctor --json | jq '.checks[] | select(.status != "ok")'
  trex-tui doctor --host user@jetson --host xavier    the same there, over your ssh

It asks as an ordinary user and changes nothing: no sudo, no power mode, no clocks. Exit code: 0 capture can run,
1 something that it needs is missing, 2 a --host cannot be asked (of several hosts the worst counts).
"""


def add_doctor(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    doctor = commands.add_parser(
        "doctor",
        help="can a capture run here: trtexec, GPU, clocks, disk, and what to do",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    program = doctor.add_argument(
        "--trtexec", metavar="FILE", help="default: $TRTEXEC, PATH, the usual places"
    )
    outdir = doctor.add_argument(
        "--outdir", metavar="DIR", help="where sets are to lie; default: results; not with --host"
    )
    for action in (program, outdir):
        action.complete = FILES  # type: ignore[attr-defined]
    doctor.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="HOST",
        help="look there, over your ssh (keys, no passwords); may be repeated",
    )
    doctor.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object (schema trex-tui/doctor/1; with --host trex-tui/doctor-hosts/1)",
    )
