"""`trex-tui times`: print the timing run as a table or JSON, or write it as a directory of files."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.analysis.load import load
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import ArtifactKind, display_name, engine_stem, sniff
from trex_tui.old.artifacts.output_files import Inputs, refusal, write_all
from trex_tui.old.cli.engines import collect_inputs, load_each, load_options
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity, TrexError, describe_reason
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.timing import (
    FILE_NAMES,
    Times,
    read_times,
    runs_csv,
    timed_file_runs,
    times_document,
    times_files,
    times_text,
)
from trex_tui.old.text import plural

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine

_SUMMARY, _DIAGNOSTICS = "summary.json", "diagnostics.csv"
_NAMES = frozenset({_SUMMARY, _DIAGNOSTICS, *FILE_NAMES})


def run_times(options: argparse.Namespace) -> int:
    """Print or write the timing runs of the engines.

    Raises:
        TrexError: There is no timing run, or a file cannot be written or is not from trex-tui.
    """
    if options.batch == 0:
        raise TrexError("--batch 0: must be at least 1")
    result = ResultWriter(options)
    engines, strays = _engines(options)
    result.inputs = collect_inputs(engines, options)
    result.report(strays)
    result.report(note for engine in engines for note in _timing_diagnostics(engine))
    runs = _runs(engines, options.batch)
    shown = {id(run.engine) for run in runs}
    unshown = [
        *strays,
        *(note for engine in engines if id(engine) not in shown for note in engine.diagnostics),
    ]
    if options.outdir is not None:
        _write_runs(runs, collect_inputs(engines, options), options, result.damage)
    elif options.png:
        raise TrexError("--png needs --outdir DIR")
    if result.format == "json":
        result.write_json(times_document(runs, unshown), known=result.damage)
    elif result.format == "csv":
        result.write(runs_csv(runs))
    elif options.outdir is None or result.path is not None:
        result.write("\n".join(map(times_text, runs)))
    return result.exit_code()


def _runs(engines: Sequence[Engine], batch: int | None) -> list[Times]:
    times = [(engine, read_times(engine, batch)) for engine in engines]
    runs = [run for _, run in times if run is not None]
    if not runs:
        remedy = engines[0].explain_need("`trtexec --exportTimes` writes the rows", ArtifactKind.TIMING)
        raise TrexError(f"{engines[0].name}: {_explain_missing(engines[0])}; {remedy}")
    for engine, run in times:
        if run is None:
            complain(f"{engine.name}: {_explain_missing(engine)}; left out")
    return runs


def _explain_missing(engine: Engine) -> str:
    if engine.timing is None:
        return "no timing rows and no performance summary"
    rows = plural(engine.timing.rows, "row")
    return f"neither latency nor compute time in {rows} of the timing file, and no performance summary"


def _timing_diagnostics(engine: Engine) -> list[Diagnostic]:
    """Return remarks on the timing file, and errors of all files: a badly damaged timing file is known by its name only."""
    files = {engine.files.get(ArtifactKind.TIMING), *(run.file for run in timed_file_runs(engine))}
    return [
        diagnostic
        for diagnostic in engine.diagnostics
        if diagnostic.severity is Severity.ERROR or diagnostic.file in files
    ]


def _engines(options: argparse.Namespace) -> tuple[list[Engine], list[Diagnostic]]:
    """Load engines at the paths; a file that is not recognized as an artifact is read as timing rows."""
    alone = [Path(path) for path in options.paths if _is_unknown(Path(path))]
    paths = [path for path in options.paths if Path(path) not in alone]
    engines: list[Engine] = []
    strays: list[Diagnostic] = []
    if paths or not alone:
        engines, strays = load_each(argparse.Namespace(**{**vars(options), "paths": paths}), finds_onnx=False)
    wanted = load_options(options, finds_onnx=False)
    for path in alone:
        name = display_name(engine_stem(path)) or path.stem
        try:
            engines.append(load(ArtifactSet(name, path.parent, {ArtifactKind.TIMING: path}), wanted))
        except ArtifactError as error:
            if len(options.paths) == 1:
                raise
            strays += error.diagnostics or (error.diagnostic,)
    if not engines:
        raise TrexError(str(strays[-1]))
    return engines, strays


def _is_unknown(path: Path) -> bool:
    """Return whether a file has a JSON name but no known content of trtexec."""
    try:
        return path.is_file() and path.suffix.lower() == ".json" and sniff(path).kind is None
    except (OSError, ValueError):
        return False


@dataclass(frozen=True, slots=True)
class _Output:
    """Files of one run, and files of an earlier run to remove, so that two runs in a directory do not look like one."""

    directory: Path
    files: Mapping[str, str | bytes]
    stale: Sequence[Path]


def _write_runs(
    runs: Sequence[Times], inputs: Inputs, options: argparse.Namespace, damage: Sequence[Diagnostic]
) -> None:
    """Write the files of each run, into a directory per engine if there are several; its damaged files in one of them.

    Raises:
        TrexError: A directory holds artifacts, or a file cannot be written, or must not be overwritten; then none is.
    """
    directory = Path(options.outdir)
    directories = {directory: runs[0]} if len(runs) == 1 else _name_directories(directory, runs)
    folders = {file.resolve().parent for run in runs for file in run.engine.files.values()}
    taken = next((path for path in directories if path.resolve() in folders), None)
    if taken is not None and not options.force:
        raise TrexError(
            f"{taken} holds the artifacts; write to another directory ({taken / 'times'}), or use --force"
        )
    outputs = [
        _prepare_output(path, _make_files(run, options, damage), inputs, options)
        for path, run in directories.items()
    ]
    if len(runs) > 1:
        outputs.append(_prepare_output(directory, {}, inputs, options))
    content = {
        output.directory / name: content for output in outputs for name, content in output.files.items()
    }
    try:
        write_all(content)
    except OSError as error:
        raise TrexError(f"{directory} cannot be written: {describe_reason(error)}") from error
    for output in outputs:
        _finish_output(output)
    for path in _list_directories(directory):
        if path not in directories and _list_own_files(path):
            complain(f"warning: {path}: stale file of an earlier run, not removed")


def _name_directories(directory: Path, runs: Sequence[Times]) -> dict[Path, Times]:
    from trex_tui.old.report.export import file_stem

    directories: dict[Path, Times] = {}
    for run in runs:
        stem = file_stem(run.engine.name)
        names = (stem, *(f"{stem}-{number}" for number in range(2, len(runs) + 1)))
        free = next(directory / name for name in names if directory / name not in directories)
        directories[free] = run
    return directories


def _make_files(
    run: Times, options: argparse.Namespace, damage: Sequence[Diagnostic]
) -> dict[str, str | bytes]:
    from trex_tui.old.report.charts.png import render_png
    from trex_tui.old.report.views.damage import damage_csv

    files: dict[str, str | bytes] = dict(times_files(run))
    own = [diagnostic for diagnostic in damage if diagnostic in run.engine.diagnostics]
    if own:
        files[_DIAGNOSTICS] = damage_csv(own)
    if options.png:
        pictures = [name for name in files if name.endswith(".svg")]
        files |= {str(Path(name).with_suffix(".png")): render_png(str(files[name])) for name in pictures}
    summary = times_document([run]) | {"files": [_SUMMARY, *files]}
    return {_SUMMARY: json.dumps(summary, indent=2, allow_nan=False) + "\n", **files}


def _prepare_output(
    directory: Path, files: Mapping[str, str | bytes], inputs: Inputs, options: argparse.Namespace
) -> _Output:
    if directory.exists() and not directory.is_dir():
        raise TrexError(f"{directory} is not a directory; name a directory")
    own = _list_own_files(directory)
    for path in (directory / name for name in files):
        if path.is_dir():
            raise TrexError(f"{path} is a directory; remove it, or name another directory")
        if not options.force and path.name not in own and os.path.lexists(path):
            raise refusal(path, "trex-tui times")
    old = _list_own_files(directory, force=options.force).difference(files)
    stale = [directory / name for name in sorted(old)]
    for path in (*(directory / name for name in files), *stale):
        inputs.check(path)
    return _Output(directory, files, stale)


def _finish_output(output: _Output) -> None:
    """Print the names of the written files, and remove obsolete files of an earlier run."""
    for name in output.files:
        complain(f"wrote {output.directory / name}")
    for path in output.stale:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise TrexError(f"stale file {path} cannot be removed: {describe_reason(error)}") from error
        complain(f"removed stale {path}")
    for name in sorted(_NAMES.difference(output.files)):
        if os.path.lexists(output.directory / name):
            complain(f"warning: {output.directory / name} is not from this run; not removed")


def _list_directories(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.is_dir())
    except OSError:
        return []


def _list_own_files(directory: Path, *, force: bool = False) -> frozenset[str]:
    """Return the files there that an earlier `times` wrote, according to its summary; only names that `times` uses.

    Without a summary, `force` includes every file with such a name.
    """
    try:
        summary = json.loads((directory / _SUMMARY).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return frozenset()
    if not isinstance(summary, dict) or not str(summary.get("schema")).startswith("trex-tui/times/"):
        return frozenset()
    files = summary.get("files")
    known = _NAMES
    if isinstance(files, list):
        known = known.intersection(name for name in files if isinstance(name, str))
    elif not force:
        return frozenset()
    return frozenset(name for name in known if os.path.lexists(directory / name))
