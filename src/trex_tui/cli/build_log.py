"""`trex-tui build-log` and `trex-tui metadata`: what a log of trtexec tells."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse


def run_build_log(options: argparse.Namespace) -> int:
    """Print what the log tells.

    Raises:
        TrexError: The log cannot be read, is none, or has no such layer.
    """
    from pathlib import Path

    from trex_tui.analysis.build import build_facts
    from trex_tui.buildlog import read_build_log
    from trex_tui.cli.output import complain, print_json
    from trex_tui.report.views.build import check_build_log
    from trex_tui.report.views.build_summary import (
        build_log_document,
        build_log_text,
        find_tuned,
        layers_text,
    )

    trace = read_build_log(Path(options.log))
    check_build_log(trace)
    facts = build_facts(trace)
    tuned = find_tuned(facts, options.layer) if options.layer else None
    if options.json:
        print_json(build_log_document(facts, tuned, options.top))
        return 0
    for diagnostic in trace.diagnostics:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    top = options.top
    lines = build_log_text(facts, top) if tuned is None else layers_text(facts, tuned, top)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in lines)
    return 0


def run_metadata(options: argparse.Namespace) -> int:
    """Print or write the metadata.

    Raises:
        TrexError: The log cannot be read or holds no section, or the file is there already or cannot be written.
    """
    import json
    from pathlib import Path

    from trex_tui.artifacts.output_files import Inputs, OutputKind, check_output, write_output
    from trex_tui.buildlog.log_records import metadata_document
    from trex_tui.buildlog.reader import read_outline
    from trex_tui.cli.output import complain
    from trex_tui.errors import ArtifactError

    path = Path(options.log)
    trace = read_outline(path)
    document = metadata_document(trace)
    if not document:
        raise ArtifactError(path, "holds no section of options, no device and no performance summary")
    for diagnostic in trace.diagnostics:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    text = _harmless(json.dumps(document, indent=4, ensure_ascii=False, allow_nan=False)) + "\n"
    if options.output is None:
        sys.stdout.write(text)
        return 0
    target = Path(options.output)
    # The keys are those of TensorRT's own tools: only equal content tells that trex-tui wrote the file.
    kind = OutputKind("trex-tui metadata")
    check_output(target, kind, Inputs([path]), force=options.force, content=text)
    write_output(target, text)
    return 0


def _harmless(text: str) -> str:
    """JSON as it was, in which what a terminal might act on is written as its escape. It can only stand in strings."""
    import json

    if text.replace("\n", "").isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)
