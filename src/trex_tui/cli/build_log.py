"""`build-log`: what the log of a build says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.cli.options import CommandParser, add_file, add_result, add_top, positive
from trex_tui.cli.results import Result
from trex_tui.errors import ArtifactError, ExitCode, Severity

if TYPE_CHECKING:
    from trex_tui.engine.model import Engine

HELP = "Analyze the log of a build"
ARGUMENTS = "[LOG]"
EPILOG = """\
Exit code: 0 done; 1 the run in the log failed; 2 bad input or a damaged log
(its readable part is shown).

examples:
  trex-tui build-log net.build.log
  trex-tui build-log results/alexnet                     the log of a set
  trex-tui build-log net.build.log --top 0               all rows
  trex-tui build-log net.build.log --layer conv1
  trex-tui build-log net.build.log.gz --json | jq .phases
  ssh board cat net.log | trex-tui build-log -
"""


def add_arguments(parser: CommandParser) -> None:
    add_file(
        parser,
        "log",
        nargs="?",
        default=".",
        metavar="LOG",
        help="log of trtexec or of another builder, verbose or not, also .gz; the directory of a set; - for standard input; "
        "default: the current directory",
    )
    parser.add_argument(
        "--run",
        type=positive,
        metavar="N",
        help="measured run to show from a log of several; default: the last",
    )
    parser.add_argument(
        "--layer", metavar="NAME", help="list the tactics timed for a layer (name or part of it)"
    )
    add_top(parser, 10)
    add_result(parser, ("text", "json", "md", "html"), schema="build-log/3")


def run(options: argparse.Namespace) -> int:
    from trex_tui.artifacts.write import Inputs
    from trex_tui.buildlog.reader import read_log
    from trex_tui.report.views.log import check_log, describe_log, find_log_failure

    result = Result(options)
    path = _find_log(options.log)
    trace = read_log(path, options.run)
    check_log(trace)
    document = describe_log(trace, _load(path, options.run), options.top or None, options.layer or "")
    code = result.write(document, Inputs([path, options.log]))
    if any(note.severity is Severity.ERROR for note in document.notes):
        return int(ExitCode.BAD_INPUT)
    return int(ExitCode.FINDINGS) if not code and find_log_failure(trace) else code


def _find_log(given: str) -> Path:
    """Return a log; of a directory that of the build, else of the profile run; a copy of what comes from a pipe.

    Raises:
        ArtifactError: A directory has no log, or several engines.
        TrexError: Standard input is empty.
    """
    from trex_tui.artifacts.discover import find_one
    from trex_tui.artifacts.kinds import FileKind
    from trex_tui.cli.loading import STDIN, read_stdin

    path = read_stdin() if given == STDIN else Path(given).expanduser()
    if not path.is_dir():
        return path
    files = find_one(path).files
    log = files.get(FileKind.BUILD_LOG) or files.get(FileKind.PROFILE_LOG)
    if log is None:
        raise ArtifactError(
            path, "has no log; build with trtexec --verbose and keep its output as NAME.build.log"
        )
    return log


def _load(path: Path, run: int | None) -> Engine | None:
    """Return the engine that a log describes; None if its build failed, or the log comes from a pipe."""
    from trex_tui.analysis.columns import ALL_COLUMNS as COLUMNS
    from trex_tui.artifacts.discover import ArtifactSet
    from trex_tui.artifacts.kinds import FileKind
    from trex_tui.engine.load import load_set

    try:
        source = ArtifactSet(path.stem, path.parent, {FileKind.BUILD_LOG: path})
        return load_set(source, columns=COLUMNS, run=run) if path.is_file() else None
    except ArtifactError:
        return None
