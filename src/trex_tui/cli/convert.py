"""`trex-tui convert`: any accepted input as the files that trex wrote."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from trex_tui.cli.argument_types import FILES

if TYPE_CHECKING:
    from trex_tui.errors import Diagnostic

_EXAMPLES = """\
examples:
  trex-tui convert results/ -o for-trex/               every engine below: NAME.graph.json, NAME.profile.json, …;
                                                       names such as resnet.onnx.engine.graph.json stay
  trex-tui convert build.log.gz -o for-trex/           layers, times and metadata out of a log
  trex-tui convert results/bert -o for-trex/ --json    what was changed, for a script

Files that trex reads as they are are copied byte for byte; every change is told. Nothing is invented: what no file tells is
named as missing. A file that cannot be read costs that file, and makes the exit code 2.
What TensorRT 11 calls otherwise gets the keys of 10 as well; its own stay beside them.
"""


def add_convert(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "convert",
        help="write any accepted input under the names and keys of trex, for older notebooks",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    paths = parser.add_argument("paths", nargs="+", metavar="PATH", help="directory or file")
    paths.complete = FILES  # type: ignore[attr-defined]
    parser.add_argument("-o", "--outdir", required=True, metavar="DIR", help="where the files are written")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    parser.add_argument("--with-engine", action="store_true", help="copy the serialized engines too")
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object (schema trex-tui/convert/1)"
    )


def run_convert(options: argparse.Namespace) -> int:
    """Convert, and tell what was done.

    A file that cannot be read makes the exit code 2, though the rest is written: a set in which it is missing looks like one
    that never had it.

    Raises:
        TrexError: There is nothing to convert, or files lie in the way.
    """
    from pathlib import Path

    from trex_tui.artifacts import scan
    from trex_tui.cli.output import complain, print_json
    from trex_tui.errors import ExitCode
    from trex_tui.report.trex_files import convert_sets, said

    outdir = Path(options.outdir)
    found = scan(options.paths)
    done = convert_sets(found.sets, outdir, force=options.force, with_engine=options.with_engine)
    diagnostics = (*found.diagnostics, *(note for one in found.sets for note in one.diagnostics))
    for diagnostic in diagnostics:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    if options.json:
        engines = [
            {
                "name": one.name,
                "files": [
                    {
                        "kind": file.kind.value,
                        "source": str(file.source),
                        "target": str(file.target),
                        "changes": list(file.changes),
                    }
                    for file in one.files
                ],
                "missing": one.missing,
                "remarks": one.remarks,
            }
            for one in done
        ]
        print_json({"schema": "trex-tui/convert/1", "outdir": str(outdir), "engines": engines})
    else:
        sys.stdout.writelines(f"{line}\n" for one in done for line in said(one))
    is_whole = all(one.is_whole for one in done) and not any(
        _costs_a_file(one, options.paths) for one in diagnostics
    )
    return int(ExitCode.OK if is_whole else ExitCode.BAD_INPUT)


def _costs_a_file(diagnostic: Diagnostic, named: Sequence[str]) -> bool:
    """Whether something is not converted that should be. A `config.json` that lies beside an engine is nothing to convert."""
    from pathlib import Path

    from trex_tui.artifacts.naming import tells_role
    from trex_tui.errors import Severity

    file = diagnostic.file
    if diagnostic.severity is not Severity.ERROR or file is None:
        return False
    return tells_role(file) or file.is_dir() or file in map(Path, named)
