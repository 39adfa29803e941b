"""Load the runs of each engine for `trex-tui diff`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from trex_tui.old.analysis.compare.repeats import (
    find_difference,
    group_repeats,
    load_run,
    numbers_of_repeats,
)
from trex_tui.old.analysis.load import load
from trex_tui.old.artifacts import ArtifactSet, scan
from trex_tui.old.artifacts.discover import with_unique_names
from trex_tui.old.cli import RUNS_SEPARATOR
from trex_tui.old.cli.engines import load_each, load_options
from trex_tui.old.cli.output import complain
from trex_tui.old.errors import TrexError
from trex_tui.old.text import printable

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.errors import Diagnostic


def load_runs(options: argparse.Namespace) -> tuple[list[tuple[Engine, ...]], list[Diagnostic]]:
    """Return the runs of each engine: paths grouped by `--runs`, else sets that are runs of another by their names.

    The first run of each is the engine that is compared layer by layer.

    Raises:
        TrexError: `--runs` names fewer than two engines, or there are paths beside it.
        ArtifactError: As `load_each`.
    """
    if options.run_a is not None or options.run_b is not None:
        return _load_file_runs(options)
    return _load_stated_runs(options) if options.runs else _load_repeats(options)


def _load_alike(options: argparse.Namespace) -> tuple[list[Engine], list[Diagnostic]]:
    """Load engines as `load_each`; a model that is found for one is used for others of the same network."""
    engines, strays = load_each(options)
    if options.no_onnx or all(engine.onnx is None for engine in engines):
        return engines, strays
    from trex_tui.old.analysis.onnx_model.search import share_models

    return share_models(engines), strays


def _load_repeats(options: argparse.Namespace) -> tuple[list[tuple[Engine, ...]], list[Diagnostic]]:
    """Group sets that are runs of another by their names."""
    engines, strays = _load_alike(options)
    grouped = group_repeats(engines)
    for note in grouped.notes:
        complain(f"note: {printable(note)}")
    if options.run is None and _find_same_run(engines):
        complain("note: both paths are the same run; choose two runs with --run-a and --run-b")
    return [_with_file_runs(runs, options) for runs in grouped.groups], strays


def _load_stated_runs(options: argparse.Namespace) -> tuple[list[tuple[Engine, ...]], list[Diagnostic]]:
    """Load the paths that `--runs` groups."""
    if options.paths:
        raise TrexError(
            f"--runs: {printable(options.paths[0])} does not belong to an engine; list its runs in --runs, "
            "engines separated by --"
        )
    sides = _split_runs(options.runs)
    if len(sides) < 2:
        raise TrexError("--runs: diff compares two or more engines; write --runs A1 A2 -- B1 B2")
    options.paths = [path for paths in sides for path in paths]
    engines, strays = _load_alike(options)
    groups: list[tuple[Engine, ...]] = []
    first = 0
    for paths in sides:
        count = sum(len(scan([path]).sets) for path in paths)
        groups.append(tuple(engines[first : first + count]))
        first += count
    if first != len(engines):
        raise TrexError(f"--runs: {first - len(engines)} of {first} runs cannot be read")
    for runs in groups:
        for run in runs[1:]:
            if difference := find_difference(runs[0], run):
                complain(
                    f"warning: {printable(run.name)} is a run of {printable(runs[0].name)} with {printable(difference)}"
                )
    return [_with_file_runs(runs, options, is_stated=True) for runs in groups], strays


def _find_same_run(engines: Sequence[Engine]) -> bool:
    """Return whether two of the engines are the same run of files that hold several."""
    several = [(tuple(engine.files.values()), engine.run_number) for engine in engines if engine.runs]
    return len(set(several)) < len(several)


def _load_file_runs(options: argparse.Namespace) -> tuple[list[tuple[Engine, ...]], list[Diagnostic]]:
    """Load the runs that `--run-a` and `--run-b` choose, from two paths or one.

    Raises:
        TrexError: Other options choose runs too, there are more than two engines, or both are the same run.
        ArtifactError: As `load`.
    """
    if options.runs or options.run is not None:
        other = "--runs" if options.runs else "--run"
        raise TrexError(f"{other} cannot be combined with --run-a and --run-b; remove one of them")
    paths = options.paths or ["."]
    if len(paths) > 2:
        raise TrexError(f"--run-a and --run-b need one or two paths; {len(paths)} given")
    sources: list[ArtifactSet] = []
    strays: list[Diagnostic] = []
    for path in paths:
        discovery = scan([path])
        strays += discovery.diagnostics
        if len(discovery.sets) > 1:
            known = ", ".join(printable(source.name) for source in discovery.sets)
            raise TrexError(
                f"{printable(str(path))}: {len(discovery.sets)} engines found ({known}); give the path of one"
            )
        sources += discovery.sets
    first, second = sources if len(sources) > 1 else sources * 2
    is_one = first.files == second.files
    if not is_one:
        first, second = with_unique_names([first, second])
    sides = []
    for source, number in ((first, options.run_a), (second, options.run_b)):
        engine = load(source, load_options(options, number))
        shown = engine.run_number
        is_named = shown is not None and (is_one or number is not None)
        sides.append(replace(engine, name=f"{engine.name} run {shown}") if is_named else engine)
    if is_one and sides[0].run_number == sides[1].run_number:
        raise TrexError(
            f"{printable(first.name)}: both are run {sides[0].run_number or 1}; choose two runs with --run-a and --run-b"
        )
    return [(side,) for side in sides], strays


def _split_runs(words: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the paths of each engine."""
    sides: list[list[str]] = []
    for group in words:
        sides.append([])
        for word in group:
            if word == RUNS_SEPARATOR:
                sides.append([])
            else:
                sides[-1].append(word)
    return [side for side in sides if side]


def _with_file_runs(
    runs: tuple[Engine, ...], options: argparse.Namespace, *, is_stated: bool = False
) -> tuple[Engine, ...]:
    """Add the further runs in the files of each run.

    Args:
        is_stated: The user stated that the paths are runs of one engine, so that those in a file are, too.
    """
    if options.run is not None:
        return runs
    every_run: list[Engine] = []
    for engine in runs:
        numbers = numbers_of_repeats(engine)
        if is_stated and not numbers:
            timed = [run.number for run in engine.runs if run.queries is not None]
            numbers = [number for number in timed if number != engine.run_number]
        every_run.append(engine)
        every_run += [load_run(engine, number, load_options(options)) for number in numbers]
    return tuple(every_run)
