"""`trex-tui history`: the builds of a model in order, with the builds at which a measure changes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.artifacts import scan
from trex_tui.old.artifacts.temporary_files import temporary_prefix
from trex_tui.old.cli.engines import collect_inputs
from trex_tui.old.cli.options import top_rows
from trex_tui.old.cli.output import complain
from trex_tui.old.cli.result_writer import ResultWriter
from trex_tui.old.cli.runs import load_runs
from trex_tui.old.errors import ArtifactError, ExitCode, TrexError
from trex_tui.old.fleet.git_history import CommitFiles, find_changed, find_place, split_place, write_commits
from trex_tui.old.fleet.history import AS_GIVEN, find_build, find_first_builds, make_histories, natural_path
from trex_tui.old.fleet.history_gates import judge_history, parse_history_gate
from trex_tui.old.fleet.spread import find_spread
from trex_tui.old.report.views.history import ShownHistory, history_object, history_sections
from trex_tui.old.text import plural, printable

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.errors import Diagnostic

    Loaded = tuple[list[tuple[Engine, ...]], list[Diagnostic]]

_TITLE = "History"
GIT = "git"
"""Key of builds that are commits."""


def run_history(options: argparse.Namespace) -> int:
    """Print the histories of the engines; the exit code shows whether a gate failed.

    Raises:
        TrexError: An invalid gate, or builds without the key or of several models where one is needed.
        ArtifactError: No engine can be read.
    """
    if options.git is None and options.key != GIT:
        groups, strays = _load(options, options.paths)
        return _show(options, groups, strays, options.key)
    import tempfile  # 8 ms, and most histories are directories

    repository, path = _find_repository(options)
    with tempfile.TemporaryDirectory(prefix=temporary_prefix()) as directory:
        commits = write_commits(repository, path, Path(directory))
        for commit in commits:
            for name in commit.skipped:
                complain(printable(f"note: {commit.commit[:10]}: {name} is too large; left out"))
        groups, strays = _load(options, [str(commit.directory) for commit in commits if _has_set(commit)])
        files = [list(runs[0].files.values()) for runs in groups]
        kept = find_changed(commits, files)
        changed = [runs for runs, is_changed in zip(groups, kept, strict=True) if is_changed]
        return _show(options, changed, strays, AS_GIVEN)


def _find_repository(options: argparse.Namespace) -> tuple[Path, str]:
    """Return repository and path of `--git`, or of the PATH of `--key git`."""
    if options.git is None:
        if len(options.paths) > 1:
            raise TrexError(
                f"--key git: {len(options.paths)} paths given; give one directory of a repository"
            )
        return find_place(options.paths[0] if options.paths else ".")
    if options.paths or options.key is not None:
        raise TrexError("--git cannot be combined with PATH or --key; remove one of them")
    return split_place(options.git)


def _has_set(commit: CommitFiles) -> bool:
    try:
        return commit.directory.is_dir() and bool(scan([commit.directory]).sets)
    except ArtifactError:
        return False


def _load(options: argparse.Namespace, paths: list[str]) -> Loaded:
    if not paths and (options.git is not None or options.key == GIT):
        place = f"--git {options.git}" if options.git is not None else "--key git"
        raise TrexError(f"{place}: no commit has files of an engine; give another PATH")
    given = vars(options) | {"paths": paths, "runs": [], "run_a": None, "run_b": None}
    given |= {"no_onnx": True}  # one file per set, for columns that a history does not show
    groups, strays = load_runs(argparse.Namespace(**given))
    roots = [Path(path).absolute() for path in paths or ["."]]
    return sorted(groups, key=lambda runs: (_rank(runs[0], roots), natural_path(runs[0]))), strays


def _rank(engine: Engine, roots: list[Path]) -> int:
    """Return the position of the first given path that contains an engine."""
    directory = engine.source.directory.absolute()
    places = (
        place
        for place, root in enumerate(roots)
        if directory.is_relative_to(root) or root.parent == directory
    )
    return next(places, len(roots))


def _show(
    options: argparse.Namespace, groups: list[tuple[Engine, ...]], strays: list[Diagnostic], key: str | None
) -> int:
    result = ResultWriter(options)
    gates = [parse_history_gate(text) for text in options.fail_on]
    engines = [run for runs in groups for run in runs]
    result.inputs = collect_inputs(engines, options)
    diagnostics = list(dict.fromkeys([*strays, *(note for engine in engines for note in engine.diagnostics)]))
    result.report(diagnostics, errors_only=True)
    histories = make_histories(groups, key, are_builds=len(options.paths) > 1)
    if options.bisect is not None and len(histories) > 1:
        raise TrexError(
            f"--bisect: {plural(len(histories), 'history', 'histories')} found; give the paths of one"
        )
    shown = []
    for history in histories:
        bisected = None
        if options.bisect is not None:
            good, bad = (find_build(history, wanted) for wanted in options.bisect)
            if good >= bad:
                raise TrexError("--bisect: GOOD is not before BAD; swap them, or choose another --key")
            bisected = find_first_builds(history, good, bad)
        spread = find_spread(history.builds) if options.spread and len(history.builds) > 1 else None
        shown.append(
            ShownHistory(history, judge_history(history, gates), bisected, top_rows(options), spread)
        )
    _write(shown, result)
    results = [gate for one in shown for gate in one.gates]
    excused = [
        gate
        for one in shown
        for given, gate in zip(gates, one.gates, strict=True)
        if options.allow_first and len(one.history.builds) <= given.last
    ]
    for gate in results:
        if gate.fell is not False:
            allowed = " (allowed: --allow-first)" if gate in excused else ""
            complain(printable(f"gate {gate.state}: {gate.gate.text}: {gate.why}{allowed}"))
    if any(gate.fell is None for gate in results if gate not in excused):
        return result.exit_code(ExitCode.BAD_INPUT)
    return result.exit_code(ExitCode.FINDINGS if any(gate.fell for gate in results) else ExitCode.OK)


def _write(shown: list[ShownHistory], result: ResultWriter) -> None:
    if result.format == "json":
        result.write_json(history_object(shown, result.damage), known=result.damage)
    else:
        result.write_sections(_TITLE, list(history_sections(shown)))
