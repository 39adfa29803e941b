"""Group several runs of one engine in a comparison: sets that measured it again with the same batch and options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.analysis.load import LoadOptions, load
from trex_tui.old.artifacts.file_kinds import display_name, engine_stem
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

_AGAIN = re.compile(r"\.again-\d+$")
_REPEAT = re.compile(r"\.repeat-\d+$")
_FREE_OPTIONS = frozenset(
    {
        *("Duration", "Iterations", "Separate profiling", "NVTX verbosity", "Time Deserialize", "Time Refit"),
        *("Profile", "Dump output", "Percentile", "Averages", "Skip inference"),
    }
)
"""Inference options that affect duration or verbosity of a measurement, not its subject."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Engines grouped by measurement.

    Attributes:
        groups: The runs of each engine; the first is compared layer by layer.
        notes: Sets that look like further runs but are not, and why.
    """

    groups: tuple[tuple[Engine, ...], ...]
    notes: tuple[str, ...] = ()


def group_repeats(engines: Sequence[Engine]) -> Repeats:
    """Group further runs of an engine with it, if names suggest it and batch, options, device and layers agree.

    Nothing is grouped if fewer than two engines would remain: then the runs are compared.
    """
    places = [_place(engine) for engine in engines]
    originals = {
        place: index for index, place in reversed(list(enumerate(places))) if not _is_repeat(engines[index])
    }
    groups: dict[int, list[Engine]] = {}
    notes = []
    for index, (engine, place) in enumerate(zip(engines, places, strict=True)):
        owner = originals.get(place) if _is_repeat(engine) else None
        difference = "" if owner is None else find_difference(engines[owner], engine)
        if owner is None or difference:
            groups.setdefault(index, []).insert(0, engine)
        else:
            groups.setdefault(owner, []).append(engine)
        if owner is not None and difference:
            name = engines[owner].name
            notes.append(f"{engine.name} is compared as an engine, not as a run of {name}: {difference}")
    if len(groups) < 2:
        return Repeats(tuple((engine,) for engine in engines))
    return Repeats(tuple(tuple(groups[index]) for index in sorted(groups)), tuple(notes))


def _stem(engine: Engine) -> str:
    return display_name(engine_stem(next(iter(engine.files.values()), Path())))


def _is_repeat(engine: Engine) -> bool:
    folder = engine.source.directory.absolute().name
    return bool(_AGAIN.search(_stem(engine)) or _REPEAT.search(folder))


def _place(engine: Engine) -> tuple[Path, str]:
    """Return directory and name of the set that the engine is a run of."""
    directory, stem = engine.source.directory.absolute(), _AGAIN.sub("", _stem(engine))
    return (directory.parent if _REPEAT.search(directory.name) else directory), stem


def find_difference(engine: Engine, other: Engine) -> str:
    """Return why two sets are not runs of the same measurement; empty if they are."""
    names = [[layer.name for layer in run.layers] for run in (engine, other)]
    if all(names) and names[0] != names[1]:
        return "other layers"
    batches = [Traits(run).batch for run in (engine, other)]
    if None not in batches and batches[0] != batches[1]:
        return f"batch {batches[1]} against {batches[0]}"
    for what, values in (
        ("device", [run.device_name for run in (engine, other)]),
        ("TensorRT", [run.tensorrt_version for run in (engine, other)]),
    ):
        if None not in values and values[0] != values[1]:
            return f"{what} {values[1]} against {values[0]}"
    stated = [run.metadata.inference_options for run in (engine, other)]
    if all(stated):
        different = [
            key
            for key in dict.fromkeys((*stated[0], *stated[1]))
            if key not in _FREE_OPTIONS and stated[0].get(key) != stated[1].get(key)
        ]
        if different:
            return f"other {plural(len(different), 'option')} ({', '.join(different[:3])})"
    return ""


def load_repeats(engine: Engine, options: LoadOptions) -> list[Engine]:
    """Load the further runs in an engine's files that repeat the shown run, with their number in the name."""
    return [load_run(engine, number, options) for number in numbers_of_repeats(engine)]


def load_run(engine: Engine, number: int, options: LoadOptions) -> Engine:
    """Load another run of the engine's files."""
    run = load(engine.source, replace(options, run=number))
    return replace(run, name=f"{engine.name} run {number}")


def numbers_of_repeats(engine: Engine) -> list[int]:
    """Return the numbers of the further runs in the engine's files that repeat the shown run: the log has the same options.

    Without a log it is unknown whether the runs have the same batch.
    """
    timed = {run.number: run for run in engine.runs if run.queries is not None}
    shown = engine.run_number
    stated = [run.options for run in timed.values()]
    if len(timed) < 2 or shown not in timed or any(options is None or options for options in stated):
        return []
    return [number for number in timed if number != shown]
