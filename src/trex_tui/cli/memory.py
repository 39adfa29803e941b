"""`memory`: the device memory that engines take together at run time."""

from __future__ import annotations

import argparse
import re

from trex_tui.cli.options import CommandParser, add_paths, add_result
from trex_tui.cli.results import Result
from trex_tui.errors import ExitCode, TrexError

HELP = "Add up the device memory of engines, and judge a budget"
EPILOG = """\
Engine (weights and kernels), execution context (activations, scratch) and
persistent memory, from the engine file, the logs or the layer information; a
part that no file states makes the sum a lower bound. Verbose logs of a build or
a run state all parts.

Exit code with --budget: 0 fits; 1 does not fit; 2 cannot be judged.

examples:
  trex-tui memory results/ --budget 4GiB
  trex-tui memory detector/ classifier/ --json
"""
_SIZE = re.compile(
    r"(?P<number>[0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(?P<unit>[KMGT]?)(?P<binary>i?)B?", re.IGNORECASE
)


def size_bytes(text: str) -> int:
    """Return bytes from a size such as `4GiB`, `512M` (both binary, as trtexec's) or `4GB` (decimal).

    Raises:
        ArgumentTypeError: It is none.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"not a size such as 4GiB or 512MiB: {text!r}")
    is_decimal = text.strip().upper().endswith("B") and match["unit"] and not match["binary"]
    base = 1000 if is_decimal else 1024
    return int(float(match["number"]) * base ** " KMGT".index(match["unit"].upper() or " "))


def add_arguments(parser: CommandParser) -> None:
    add_paths(parser)
    parser.add_argument(
        "--budget", type=size_bytes, metavar="SIZE", help="memory for all of them: 4GiB, 512MiB, 4GB"
    )
    add_result(parser, ("text", "json", "csv", "md", "html"), schema="memory/1")


def run(options: argparse.Namespace) -> int:
    from trex_tui.cli.loading import Loader
    from trex_tui.report.views.deployment import memory_document

    result = Result(options)
    loader = Loader(options)
    engines, strays = loader.load_all()
    document = memory_document(engines, strays, options.budget)
    code = result.write(document, loader.inputs())
    if options.budget is None or code != ExitCode.OK:
        return code
    if document.data["fits"] is None:
        raise TrexError(
            "the budget cannot be judged: memory is a lower bound; add verbose logs of the builds"
        )
    return ExitCode.OK if document.data["fits"] else ExitCode.FINDINGS
