"""`trex-tui build-log` and `trex-tui metadata`: logs of trtexec, and the metadata of a set."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from trex_tui.old.artifacts.file_kinds import ArtifactKind
    from trex_tui.old.cli.result_writer import ResultWriter
    from trex_tui.old.errors import Diagnostic


def run_build_log(options: argparse.Namespace) -> int:
    """Print the content of a log.

    Raises:
        TrexError: The log cannot be read, is not a log, or has no such layer; or a directory has no log, or several engines.
    """
    from trex_tui.old.analysis.build import build_facts
    from trex_tui.old.artifacts.output_files import Inputs
    from trex_tui.old.buildlog import read_build_log
    from trex_tui.old.buildlog.log_records import note_runs
    from trex_tui.old.cli.result_writer import ResultWriter
    from trex_tui.old.report.views.build import check_build_log
    from trex_tui.old.report.views.build_summary import (
        build_log_document,
        build_log_text,
        find_tuned,
        layers_text,
    )

    result, top = ResultWriter(options), options.top or sys.maxsize
    path = _find_log(options.log)
    result.inputs = Inputs([path])
    trace = read_build_log(path, run=options.run)
    check_build_log(trace)
    facts = build_facts(trace)
    tuned = find_tuned(facts, options.layer) if options.layer else None
    if result.format == "json":
        result.report(trace.diagnostics, errors_only=True)
        result.write_json(build_log_document(facts, tuned, top), known=trace.diagnostics)
        return _exit_code(result)
    result.report((*trace.diagnostics, *note_runs(trace, is_chosen=options.run is not None)))
    lines = build_log_text(facts, top) if tuned is None else layers_text(facts, tuned, top)
    result.write("".join(f"{line.rstrip()}\n" for line in lines))
    return _exit_code(result)


def _find_log(given: str) -> Path:
    """Return the log itself, or that of the one set in a directory: of its build, else of its profile run.

    Raises:
        TrexError: The directory has no log, or several engines.
    """
    from pathlib import Path

    from trex_tui.old.artifacts.run_choice import LOGS
    from trex_tui.old.engine.engine import find_one
    from trex_tui.old.errors import ArtifactError

    path = Path(given)
    if not path.is_dir():
        return path
    files = find_one(path).files
    log = next((files[kind] for kind in LOGS if kind in files), None)
    if log is None:
        raise ArtifactError(
            path, "has no log; build with trtexec --verbose and keep its output as NAME.build.log"
        )
    return log


def _exit_code(result: ResultWriter) -> int:
    """Return the exit code for bad input if the log is damaged, since nothing else was read."""
    from trex_tui.old.errors import ExitCode

    return result.exit_code(ExitCode.BAD_INPUT if result.damage else ExitCode.OK)


def run_metadata(options: argparse.Namespace) -> int:
    """Print or write the metadata.

    Raises:
        TrexError: The path has no metadata, or that of several engines, or the file exists or cannot be written.
    """
    import json
    from pathlib import Path

    from trex_tui.old.artifacts.output_files import Inputs, OutputKind
    from trex_tui.old.buildlog.log_records import read_set_metadata
    from trex_tui.old.cli.result_writer import ResultWriter
    from trex_tui.old.errors import ArtifactError, TrexError
    from trex_tui.old.report.render_json import plain

    path = Path(options.path)
    files, strays = _metadata_files(path)
    document, notes = read_set_metadata(files, options.run)
    notes = [*strays, *notes]
    if not document:
        if notes:
            raise TrexError(str(notes[0]))
        raise ArtifactError(path, "no options, device or performance summary found; give the log of trtexec")
    is_dump = list(document) == ["device_attributes"]
    root = [document["device_attributes"]] if is_dump else document
    text = _harmless(json.dumps(plain(root), indent=4, ensure_ascii=False, allow_nan=False)) + "\n"
    # The keys are those of TensorRT's own tools: only equal content shows that trex-tui wrote the file.
    inputs = Inputs([path, *files.values()])
    result = ResultWriter(options, kind=OutputKind("trex-tui metadata"), inputs=inputs)
    result.report(notes)
    result.write(text)
    return result.exit_code()


def _metadata_files(path: Path) -> tuple[dict[ArtifactKind, Path], list[Diagnostic]]:
    """Return the files with metadata: those of the set for a directory or another file of a set; else the file alone.

    Also returns the errors of all files of the set: `--strict` is about the set, not about the metadata alone.

    Raises:
        TrexError: There are several engines, or none.
    """
    from trex_tui.old.artifacts.discover import find
    from trex_tui.old.artifacts.file_kinds import ArtifactKind, Sniffed, sniff
    from trex_tui.old.artifacts.records import find_errors
    from trex_tui.old.errors import ArtifactError, TrexError

    metadata = (ArtifactKind.DEVICE_METADATA, ArtifactKind.BUILD_METADATA, ArtifactKind.PROFILE_METADATA)
    sniffed = sniff(path) if path.is_file() else Sniffed(None)
    kind = sniffed.kind
    if kind in metadata:
        return {kind: path}, []
    if kind is None and sniffed.claims and path.suffix == ".json":
        raise ArtifactError(path, sniffed.reason)
    is_log = kind in (None, ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
    if is_log and not path.is_dir():
        return {ArtifactKind.BUILD_LOG: path}, []
    sets = find(path)
    if len(sets) > 1:
        known = ", ".join(source.name for source in sets)
        raise TrexError(f"{path}: {len(sets)} engines found ({known}); give the path of one")
    return sets[0].files, find_errors(sets[0])


def _harmless(text: str) -> str:
    """Escape control characters in JSON, which can only occur in strings."""
    import json

    if text.replace("\n", "").isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)
