"""Rows of the table of engines from their files. A set that cannot be read is a row with its error."""

from __future__ import annotations

import math
from dataclasses import replace

from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import display_name, engine_stem
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity, TrexError
from trex_tui.old.fleet.engine_columns import COLUMNS_BY_NAME, Need
from trex_tui.old.fleet.engine_values import VALUES
from trex_tui.old.fleet.models import make_signature
from trex_tui.old.fleet.table import FleetRow, SetRows, Value


def read_rows(source: ArtifactSet, options: LoadOptions, need: Need = Need.LOGS) -> SetRows:
    """Return the rows of a set: one per run of its files, or the only one. Never raises for the content of files.

    Args:
        options: With a run, that run only.
        need: Columns that need more are left out.
    """
    try:
        engine = load(source, replace(options, skips_logs=need < Need.LOGS))
        if need < Need.LOGS and engine.weights_bytes is None:  # a log may have the sum
            engine = load(source, options)
        engines = [engine, *_load_runs(engine, options)]
    except (ArtifactError, TrexError) as error:
        notes = getattr(error, "diagnostics", ()) or (
            getattr(error, "diagnostic", Diagnostic(Severity.ERROR, source.directory, "", str(error))),
        )
        values = {"error": str(error)}
        return SetRows((FleetRow(values, None, source),), tuple(notes))
    notes = tuple(dict.fromkeys(note for engine in engines for note in engine.diagnostics))
    return SetRows(tuple(make_row(engine, need) for engine in engines), notes)


def _load_runs(engine: Engine, options: LoadOptions) -> list[Engine]:
    """Return the further timed runs in the files of an engine."""
    if options.run is not None or engine.run_number is None:
        return []
    numbers = sorted({run.number for run in engine.runs if run.queries is not None} - {engine.run_number})
    return [load(engine.source, replace(options, run=number)) for number in numbers]


def make_row(engine: Engine, need: Need = Need.LOGS) -> FleetRow:
    """Return the row of a loaded engine; `make_table` adds the columns that depend on other rows."""
    values = {
        name: _plain(value(engine)) for name, value in VALUES.items() if COLUMNS_BY_NAME[name].need <= need
    }
    stem = find_stem(engine.source)
    return FleetRow(values, make_signature(engine, stem), engine.source)


def find_stem(source: ArtifactSet) -> str:
    """Return the part of the file names that identifies the engine, else the name of the set."""
    stems = (display_name(engine_stem(path)) for path in source.files.values())
    return next(filter(None, stems), source.name)


def _plain(value: Value) -> Value:
    """Return a value as JSON has it."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return list(value) if isinstance(value, tuple) else value
