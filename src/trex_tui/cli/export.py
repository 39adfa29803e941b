"""`trex-tui export`: an engine as a file for another program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.analysis.columns import ALL_COLUMNS
from trex_tui.artifacts.output_files import check_output, list_inputs, write_output
from trex_tui.cli.engines import load_one
from trex_tui.cli.output import complain
from trex_tui.errors import ExitCode, TrexError
from trex_tui.report.export import BINARY, ENDINGS, EXPORT, export_engine, file_stem, find_target
from trex_tui.report.views.layers import columns_named

if TYPE_CHECKING:
    import argparse

    from trex_tui.engine.engine import Engine
    from trex_tui.report.graph.engine_graph import GraphOptions


def run_export(options: argparse.Namespace) -> int:
    """Write one engine in one format, and say on stderr what was written.

    Raises:
        TrexError: The format is not known, the engine not one, an option makes no sense, or a library is missing.
    """
    form = choose_format(options.output, options.format)
    if form == "trex":
        return _export_trex(options)
    engine, strays = load_one(options)
    target = _target(options, form, engine)
    for diagnostic in (*engine.diagnostics, *strays):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    names = [name.strip() for name in options.columns.split(",")] if options.columns else []
    columns = columns_named(names) if names else ALL_COLUMNS
    exported = export_engine(engine, form, columns, _graph_options(options), options.layout)
    for note in exported.notes:
        complain(note)
    if target is not None:
        write_output(target, exported.content)
        complain(f"{exported.summary} written to {target}")
    elif isinstance(exported.content, str):
        sys.stdout.write(exported.content)
    else:
        sys.stdout.buffer.write(exported.content)
    return int(ExitCode.OK)


def choose_format(output: str, stated: str | None) -> str:
    """The format that is stated, or that the ending tells.

    Raises:
        TrexError: Neither tells one, or it cannot go to a terminal.
    """
    is_stdout = output == "-"
    name = Path(output).name.lower()
    form = stated or next((form for ending, form in ENDINGS.items() if name.endswith(ending)), None)
    if form is None:
        if is_stdout:
            raise TrexError("-o - needs --format: there is no ending to tell it")
        raise TrexError(
            f"{output}: the ending tells no format; known are {' '.join(ENDINGS)}, or use --format"
        )
    if is_stdout and form == "trex":
        raise TrexError("--format trex writes several files; name a directory with -o")
    if is_stdout and form in BINARY and sys.stdout.isatty():
        raise TrexError(f"{form} is nothing for a terminal; name a file with -o, or pipe it")
    return form


def _target(options: argparse.Namespace, form: str, engine: Engine) -> Path | None:
    """The file to write, named after the engine where the output is a directory; None for stdout."""
    if options.output == "-":
        return None
    ending = next(ending for ending, one in ENDINGS.items() if one == form)
    target = find_target(options.output, file_stem(engine.name) + ending)
    check_output(target, EXPORT, list_inputs([engine.source], options.paths), force=options.force)
    return target


def _graph_options(options: argparse.Namespace) -> GraphOptions:
    from trex_tui.report.graph.engine_graph import DEFAULT_LABELS, GraphOptions, label_parts
    from trex_tui.report.graph.model import ColorBy

    return GraphOptions(
        color=ColorBy(options.color),
        labels=tuple(label_parts(options.labels or ",".join(DEFAULT_LABELS))),
        query=options.query,
        around=options.around,
        radius=options.radius,
        highlight=options.highlight,
        constants=options.constants,
        metadata=options.metadata,
    )


def _export_trex(options: argparse.Namespace) -> int:
    """A directory with the files of every engine under trex's names.

    A file that cannot be read makes the exit code 2, though the rest is written: a set in which it is missing looks like one
    that never had it.
    """
    from trex_tui.artifacts import scan
    from trex_tui.report.trex_files import costs_a_file, describe, write_trex_files

    found = scan(options.paths or ["."])
    written = write_trex_files(
        found.sets, Path(options.output), force=options.force, with_engine=options.with_engine
    )
    diagnostics = (*found.diagnostics, *(note for source in found.sets for note in source.diagnostics))
    for diagnostic in diagnostics:
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    for trex_set in written:
        for line in describe(trex_set):
            complain(line)
    is_whole = all(trex_set.is_whole for trex_set in written)
    is_whole = is_whole and not any(costs_a_file(one, options.paths) for one in diagnostics)
    return int(ExitCode.OK if is_whole else ExitCode.BAD_INPUT)
