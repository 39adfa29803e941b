"""`trex-tui times`: the timing run as a table, as JSON, or as a directory of files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.analysis.load import LoadOptions, load
from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.naming import ArtifactKind, display_name, stem_of
from trex_tui.artifacts.output_files import Inputs, inputs_of, refusal
from trex_tui.artifacts.sniff import sniff
from trex_tui.cli.engines import load_each
from trex_tui.cli.output import complain, print_json
from trex_tui.errors import ArtifactError, Diagnostic, ExitCode, Severity, TrexError
from trex_tui.report.views.timing import (
    FILE_NAMES,
    Times,
    read_times,
    times_document,
    times_files,
    times_text,
)
from trex_tui.text import plural

if TYPE_CHECKING:
    from trex_tui.engine.engine import Engine

_SUMMARY = "summary.json"


def run_times(options: argparse.Namespace) -> int:
    """Print or write the timing runs of the engines.

    Raises:
        TrexError: Nothing is timed, or a file cannot be written or is not ours to write.
    """
    if options.batch == 0:
        raise TrexError("--batch 0: a query holds one sample at least")
    engines, strays = _engines(options)
    for diagnostic in (*strays, *(diagnostic for engine in engines for diagnostic in _told(engine))):
        complain(f"{diagnostic.severity.value}: {diagnostic}")
    runs = _runs(engines, options.batch)
    if options.outdir is not None:
        _write_all(
            runs,
            Path(options.outdir),
            inputs_of((engine.source for engine in engines), options.paths),
            options,
        )
    elif options.png:
        raise TrexError("--png writes files: say where, with --outdir")
    if options.json:
        print_json(times_document(runs))
    elif options.outdir is None:
        sys.stdout.write("\n".join(map(times_text, runs)))
    return int(ExitCode.OK)


def _runs(engines: Sequence[Engine], batch: int | None) -> list[Times]:
    found = [(engine, read_times(engine, batch)) for engine in engines]
    runs = [run for _, run in found if run is not None]
    if not runs:
        raise TrexError(f"{engines[0].name}: {_nothing(engines[0])}; `trtexec --exportTimes` writes the rows")
    for engine, run in found:
        if run is None:
            complain(f"{engine.name}: {_nothing(engine)}; left out")
    return runs


def _nothing(engine: Engine) -> str:
    if engine.timing is None:
        return "no timing rows and no performance summary"
    rows = plural(engine.timing.rows, "row")
    return f"neither latency nor compute time in {rows} of the timing file, and no performance summary"


def _told(engine: Engine) -> list[Diagnostic]:
    """What is to be known of the timing file; the rest of the engine is not what is asked about."""
    file = engine.files.get(ArtifactKind.TIMING)
    return [
        diagnostic
        for diagnostic in engine.diagnostics
        if diagnostic.file in engine.files.values()
        and (diagnostic.severity is Severity.ERROR or diagnostic.file == file)
    ]


def _engines(options: argparse.Namespace) -> tuple[list[Engine], list[Diagnostic]]:
    """Engines at the paths; a file that nothing else would take for an artifact is read as timing rows."""
    alone = [Path(path) for path in options.paths if _is_unknown(Path(path))]
    paths = [path for path in options.paths if Path(path) not in alone]
    engines: list[Engine] = []
    strays: list[Diagnostic] = []
    if paths or not alone:
        engines, strays = load_each(argparse.Namespace(**{**vars(options), "paths": paths}))
    wanted = LoadOptions.of(options.optimization_profile, options.peak)
    for path in alone:
        name = display_name(stem_of(path)) or path.stem
        try:
            engines.append(load(ArtifactSet(name, path.parent, {ArtifactKind.TIMING: path}), wanted))
        except ArtifactError as error:
            if len(options.paths) == 1:
                raise
            strays.append(error.diagnostic)
    if not engines:
        raise TrexError(str(strays[-1]))
    return engines, strays


def _is_unknown(path: Path) -> bool:
    """Whether it is a file that is JSON by its name, and none of trtexec's by what it holds."""
    try:
        return path.is_file() and path.suffix.lower() == ".json" and sniff(path).kind is None
    except (OSError, ValueError):
        return False


def _write_all(runs: Sequence[Times], directory: Path, inputs: Inputs, options: argparse.Namespace) -> None:
    from trex_tui.report.export import file_stem

    places: dict[str, Times] = {}
    for run in runs:
        stem = file_stem(run.engine.name)
        name, number = stem, 1
        while name in places:
            number += 1
            name = f"{stem}-{number}"
        places[name] = run
    if len(runs) == 1:
        _write(runs[0], directory, inputs, options)
    else:
        stale = _stale(directory, (), inputs, force=options.force)
        for name, run in places.items():
            _write(run, directory / name, inputs, options)
        _remove(stale)
        _tell_left(directory, ())
    _tell_other_runs(directory, places if len(runs) > 1 else ())


def _write(run: Times, directory: Path, inputs: Inputs, options: argparse.Namespace) -> None:
    """Write the files of one run: all of them, or none where one may not be written over.

    What an earlier `times` wrote and this one does not is removed: of two runs in one directory, neither could be told.
    """
    from trex_tui.artifacts.output_files import reason, write_atomically
    from trex_tui.report.charts.png import png_of

    files = times_files(run)
    pictures = {
        str(Path(name).with_suffix(".png")): text for name, text in files.items() if name.endswith(".svg")
    }
    names = [_SUMMARY, *files, *(pictures if options.png else ())]
    _check_free(directory, names, force=options.force)
    for name in names:
        inputs.check(directory / name)
    stale = _stale(directory, names, inputs, force=options.force)
    drawn = {name: png_of(text) for name, text in pictures.items()} if options.png else {}
    document = times_document([run]) | {"files": names}
    try:
        summary = json.dumps(document, indent=2, allow_nan=False) + "\n"
        for name, text in {_SUMMARY: summary, **files}.items():
            write_atomically(directory / name, text, make_directory=True)
        for name, data in drawn.items():
            write_atomically(directory / name, data)
    except OSError as error:
        raise TrexError(f"{directory} cannot be written: {reason(error)}") from error
    for name in names:
        complain(f"wrote {directory / name}")
    _remove(stale)
    _tell_left(directory, names)


def _stale(directory: Path, names: Sequence[str], inputs: Inputs, *, force: bool) -> list[Path]:
    """Files of an earlier run that this one does not write anew; no input is among them."""
    paths = [directory / name for name in sorted(_written_before(directory, force=force).difference(names))]
    for path in paths:
        inputs.check(path)
    return paths


def _remove(stale: Sequence[Path]) -> None:
    from trex_tui.artifacts.output_files import reason

    for path in stale:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise TrexError(f"{path}, of an earlier run, cannot be removed: {reason(error)}") from error
        complain(f"removed {path}, of an earlier run")


def _tell_left(directory: Path, names: Sequence[str]) -> None:
    """Name what has the name of a file of a run, and is not of this one."""
    for name in sorted({_SUMMARY, *FILE_NAMES}.difference(names)):
        if os.path.lexists(directory / name):
            complain(f"warning: {directory / name} is not of this run; left as it was")


def _tell_other_runs(directory: Path, names: Iterable[str]) -> None:
    """Name the directories of engines that an earlier `times` wrote below, and this one did not."""
    try:
        below = sorted(path for path in directory.iterdir() if path.is_dir() and path.name not in {*names})
    except OSError:
        return
    for path in below:
        if _written_before(path):
            complain(f"warning: {path} is of an earlier run; left as it was")


def _check_free(directory: Path, names: Sequence[str], *, force: bool) -> None:
    """Raise for a file that is there, unless an earlier `times` wrote it."""
    if directory.exists() and not directory.is_dir():
        raise TrexError(f"{directory} is no directory")
    ours = _written_before(directory)
    for name in names:
        path = directory / name
        if path.is_dir():
            raise TrexError(f"{path} is a directory")
        if not force and name not in ours and (path.exists() or path.is_symlink()):
            raise refusal(path, "trex-tui times")


def _written_before(directory: Path, *, force: bool = False) -> frozenset[str]:
    """Which of the files there an earlier `times` says it wrote. Names that it never gives count for nothing.

    Where its summary lists none, `force` takes every file with such a name for one of them.
    """
    try:
        found = json.loads((directory / _SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return frozenset()
    if not isinstance(found, dict) or not str(found.get("schema")).startswith("trex-tui/times/"):
        return frozenset()
    files = found.get("files")
    known = {_SUMMARY, *FILE_NAMES}
    if isinstance(files, list):
        known &= {name for name in files if isinstance(name, str)}
    elif not force:
        return frozenset()
    return frozenset(name for name in known if os.path.lexists(directory / name))
