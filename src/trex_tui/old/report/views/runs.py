"""Runs of the files that hold several: lists for text and JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trex_tui.old.analysis.trtexec_options import PROFILE_SHAPES
from trex_tui.old.analysis.trtexec_runs import build_run
from trex_tui.old.artifacts.runs import FileRun, describe_run, join_runs
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural, printable, shorten_middle

MOST_RUNS = 50
_MOST_SHAPES = 80


def run_document(run: FileRun) -> dict[str, Any]:
    """Return one of several runs in a file, for the JSON of `summary`, `times` and `build-log`."""
    return {
        "file": str(run.file),
        "run": run.number,
        "shown": run.is_shown,
        "profile_layers": run.layers,
        "iterations": run.iterations,
        "latency_sum_ms": run.sum_ms,
        "queries": run.queries,
        "median_ms": run.median_ms,
        "throughput_qps": run.throughput_qps,
        "options": run.options,
        "stage": run.stage,
    }


def run_sentences(runs: Sequence[FileRun]) -> list[str]:
    """Return each run, at most `MOST_RUNS`; files with the same runs are listed together."""
    files = list(dict.fromkeys(run.file for run in runs))
    heads = []
    if len(files) > 1 and _are_same_runs(runs):
        names = ", ".join(file.name for file in files)
        heads = [f"{names}: {plural(len(runs) // len(files), 'run')}, matched by order"]
        joined = _join_by_number(runs)
        texts = [describe_run(run) for run in joined]
    else:
        joined = list(runs)
        texts = [f"{run.file.name}: {describe_run(run)}" for run in runs]
    lines = [
        text + (", shown" if run.is_shown else "")
        for text, run in zip(texts[:MOST_RUNS], joined[:MOST_RUNS], strict=True)
    ]
    left_out = len(texts) - len(lines)
    ends = [f"{left_out} more (--json lists all)"] if left_out else []
    return [printable(line) for line in (*heads, *lines, *ends)]


def _are_same_runs(runs: Sequence[FileRun]) -> bool:
    """Return whether all files hold equally many runs and show the same one."""
    by_file: dict[Path, list[tuple[int, bool]]] = {}
    for run in runs:
        by_file.setdefault(run.file, []).append((run.number, run.is_shown))
    return len({tuple(positions) for positions in by_file.values()}) == 1


def _join_by_number(runs: Sequence[FileRun]) -> list[FileRun]:
    numbers = dict.fromkeys(run.number for run in runs)
    return [join_runs([run for run in runs if run.number == number]) for number in numbers]


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A part of the files that an engine can be loaded from: a run or an optimization profile.

    Attributes:
        text: Its description, printable.
        run: Number of the run; None for an optimization profile.
        profile: Number of the optimization profile; None for a run.
    """

    text: str
    is_shown: bool
    run: int | None = None
    profile: int | None = None


def list_run_choices(engine: Engine) -> list[RunChoice]:
    """Return the runs of the files that hold several, then the optimization profiles if there are several."""
    choices = []
    are_same = _are_same_runs(engine.runs)
    for number in sorted({run.number for run in engine.runs}):
        of_files = [run for run in engine.runs if run.number == number]
        if are_same:
            text = describe_run(join_runs(of_files))
        else:  # which runs of two files belong together is unknown
            text = "; ".join(f"{run.file.name}: {describe_run(run)}" for run in of_files)
        choices.append(RunChoice(printable(text), number == engine.run_number, run=number))
    if engine.optimization_profiles > 1:
        choices += [
            RunChoice(_profile_text(engine, number), number == engine.optimization_profile, profile=number)
            for number in sorted(engine.profile_layers)
        ]
    return choices


def _profile_text(engine: Engine, number: int) -> str:
    parts = [plural(engine.profile_layers[number], "layer")]
    label = f"{PROFILE_SHAPES.labels[0]} (profile {number})"
    shapes = build_run(engine).options.get(label)
    parts += [shorten_middle(shapes, _MOST_SHAPES)] if shapes else []
    return printable(f"optimization profile {number} ({', '.join(parts)})")


def run_words(engine: Engine) -> list[str]:
    """Return the shown run and optimization profile, in a few words each; nothing if there is only one."""
    words = []
    if engine.runs:
        count = max(run.number for run in engine.runs)
        number = engine.run_number
        stage = next((run.stage for run in engine.runs if run.is_shown and run.stage), "")
        named = f" ({printable(stage.partition(' ')[0])})" if stage else ""
        words.append(f"one of {count} runs" if number is None else f"run {number} of {count}{named}")
    if engine.optimization_profiles > 1:
        words.append(f"profile {engine.optimization_profile} of {engine.optimization_profiles}")
    return words
