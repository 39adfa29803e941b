"""`trex-tui export`: write an engine as a file for another program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.analysis.columns import ALL_COLUMNS, columns_named
from trex_tui.old.cli.engines import collect_inputs, load_one, uses_model
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.errors import ExitCode, TrexError
from trex_tui.old.report.export import BINARY, ENDINGS, EXPORT, export_engine, file_stem, find_target

if TYPE_CHECKING:
    import argparse

    from trex_tui.old.report.graph.engine_graph import GraphOptions


_HAS_MODEL = ("onnx-annotated", "csv", "json", "graphml", "parquet", "xlsx", "trace")
"""Formats with the columns of an ONNX model."""


def run_export(options: argparse.Namespace) -> int:
    """Write one engine in one format, and print the file name on stderr.

    Raises:
        TrexError: The format is unknown, there is not exactly one engine, an option is invalid, or a library is missing.
    """
    form = choose_format(options.output, options.format)
    if form == "trex":
        return _export_trex(options)
    if form == "tea":
        return _export_archive(options)
    engine = load_one(options, finds_onnx=form in _HAS_MODEL or uses_model(options))
    result = ResultWriter(options, (form,), EXPORT)
    if result.path is not None:  # a directory gets a file named after the engine
        ending = next(ending for ending, name in ENDINGS.items() if name == form)
        result.path = find_target(options.output, file_stem(engine.name) + ending)
    result.inputs = collect_inputs([engine], options)
    result.report(engine.diagnostics)
    names = [name.strip() for name in options.columns.split(",")] if options.columns else []
    columns = columns_named(names, engine) if names else ALL_COLUMNS
    exported = export_engine(engine, form, columns, _graph_options(options), options.layout)
    for note in exported.notes:
        complain(note)
    result.write(exported.content, exported.summary, engine.diagnostics if form in ("json", "trace") else ())
    return result.exit_code()


def choose_format(output: str, stated: str | None) -> str:
    """Return the stated format, or the one of the file suffix.

    Raises:
        TrexError: There is neither, or the format cannot be printed on a terminal.
    """
    is_stdout = output == "-"
    name = Path(output).name.lower()
    form = stated or next((form for ending, form in ENDINGS.items() if name.endswith(ending)), None)
    if form is None:
        if is_stdout:
            raise TrexError("name a file with -o, or the format with --format")
        raise TrexError(f"{output}: unknown extension; use one of {' '.join(ENDINGS)}, or use --format")
    if is_stdout and form == "trex":
        raise TrexError("--format trex writes several files; name a directory with -o")
    if is_stdout and form == "tea":
        raise TrexError("--format tea writes an archive; name a file with -o")
    if is_stdout and form in BINARY and sys.stdout.isatty():
        raise TrexError(f"{form} is binary; name a file with -o, or pipe it")
    return form


def _graph_options(options: argparse.Namespace) -> GraphOptions:
    from trex_tui.old.report.graph.engine_graph import DEFAULT_LABELS, GraphOptions, label_parts
    from trex_tui.old.report.graph.model import ColorBy

    return GraphOptions(
        color=ColorBy(options.color),
        labels=tuple(label_parts(options.labels or ",".join(DEFAULT_LABELS))),
        query=options.filter,
        around=options.around,
        radius=options.radius,
        highlight=options.highlight,
        constants=options.constants,
        metadata=options.metadata,
        edges=options.edges,
    )


def _export_archive(options: argparse.Namespace) -> int:
    """Write one file with the files of an engine; damaged files are left out and make the exit code 2.

    Raises:
        TrexError: There is no engine or several, a run is chosen, or the archive must not or cannot be written.
    """
    from trex_tui.old.artifacts.discover import is_damage
    from trex_tui.old.report.archive_file import ENDING, write_archive

    if options.run is not None:
        raise TrexError("--run: an archive always contains all runs; use --run when you open it")
    engine = load_one(options, finds_onnx=False)
    for diagnostic in engine.diagnostics:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    target = find_target(options.output, file_stem(engine.name) + ENDING)
    written = write_archive(engine, target, force=options.force, with_engine=options.with_engine)
    for note in written.notes:
        complain(f"note: {note}")
    complain(written.describe())
    is_whole = written.is_whole and not any(is_damage(note, options.paths) for note in engine.diagnostics)
    return int(ExitCode.OK if is_whole else ExitCode.BAD_INPUT)


def _export_trex(options: argparse.Namespace) -> int:
    """Write a directory with the files of every engine under trex's names.

    An unreadable file makes the exit code 2, though the rest is written: without it the set looks as if it never had that
    file.
    """
    from trex_tui.old.artifacts import scan
    from trex_tui.old.artifacts.discover import is_damage
    from trex_tui.old.artifacts.records import find_errors
    from trex_tui.old.report.trex_files import describe, write_trex_files

    discovery = scan(options.paths or ["."])
    written = write_trex_files(
        discovery.sets,
        Path(options.output),
        force=options.force,
        with_engine=options.with_engine,
        run=options.run,
    )
    diagnostics = (
        *discovery.diagnostics,
        *(note for source in discovery.sets for note in (*source.diagnostics, *find_errors(source))),
        *(note for trex_set in written for note in trex_set.damage),
    )
    for diagnostic in dict.fromkeys(diagnostics):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    for trex_set in written:
        for line in describe(trex_set):
            complain(line)
    is_damaged = any(is_damage(diagnostic, options.paths) for diagnostic in diagnostics)
    return int(ExitCode.BAD_INPUT if is_damaged else ExitCode.OK)
