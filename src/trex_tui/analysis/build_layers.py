"""The log of a build as a person looks at it: the layers that were tuned, and every tactic of one of them in a row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from trex_tui.analysis.build_trace import NEAR_TIE_PCT, LayerChoice, layer_choices
from trex_tui.artifacts.buildlog.model import BuildTrace
from trex_tui.artifacts.buildlog.tactics import hex_id
from trex_tui.artifacts.buildlog.tuning import FormatCombination, LayerTuning, RunnerTrial, SkippedTactic
from trex_tui.artifacts.kinds import ArtifactKind
from trex_tui.engine.engine import Engine

CACHED = "out of the timing cache"


class TunedLayer(NamedTuple):
    """A layer that the builder tuned, under one backend strategy.

    Attributes:
        number: Place among the tunings of the log.
        tuning: What was tried.
        layers: Indices of the engine's layers that came of it: one, several for Myelin, none if another strategy won.
        choice: How its only layer came to its tactic; None if there is none, or the layer was taken apart.
        seconds: What tuning it took; None where the log does not print it (before TensorRT 8.6).
        tactics: How many were timed, rows of Myelin's tables included.
        skipped: How many were not.
        chosen_ms: The builder's time of what the engine has; None if that cannot be told.
        fastest_ms: The fastest in the same formats, over all runners.
        margin_pct: See `LayerChoice.margin_pct`.
    """

    number: int
    tuning: LayerTuning
    layers: tuple[int, ...]
    choice: LayerChoice | None
    seconds: float | None
    tactics: int
    skipped: int
    chosen_ms: float | None
    fastest_ms: float | None
    margin_pct: float | None

    @property
    def is_near_tie(self) -> bool:
        """Whether another tactic is as good, within `NEAR_TIE_PCT`."""
        return self.margin_pct is not None and abs(self.margin_pct) < NEAR_TIE_PCT


class TacticRow(NamedTuple):
    """One tactic of a layer, in one format combination.

    Attributes:
        line: Of the log, where the trial of its runner begins.
        formats: Number of the combination, from 1.
        runner: `CaskConvolution`, `Myelin`, …
        id: Tactic number; None for a kernel out of a table of Myelin's, and where a skipped one is not named.
        name: Of the kernel; None where the log gives none.
        operator: For a kernel of Myelin's, the operator it was tried for.
        time_ms: None if it was not timed.
        is_chosen: The builder took it for this combination (a kernel of Myelin's: for its operator).
        is_fastest: It is the fastest of this combination (or operator).
        in_engine: The engine has it: it was chosen, in the formats that the engine's layer has.
        skipped: Why it was not timed; None if it was.
        is_cached: Its time was not measured in this build.
    """

    line: int
    formats: int
    runner: str
    id: int | None
    name: str | None
    operator: str
    time_ms: float | None
    is_chosen: bool = False
    is_fastest: bool = False
    in_engine: bool = False
    skipped: SkippedTactic | None = None
    is_cached: bool = False

    @property
    def label(self) -> str:
        """The kernel's name, else its number."""
        if self.name:
            return self.name
        if self.skipped is not None and self.id is None:
            return self.skipped.message
        return hex_id(self.id) if self.id is not None else ""


@dataclass(frozen=True, eq=False)
class BuildFacts:
    """A log, and what it says of the layers of an engine.

    Attributes:
        trace: All that the log tells.
        choices: One per layer of the engine, by its index.
        tuned: Every tuning of the log, in its order.
    """

    trace: BuildTrace
    choices: tuple[LayerChoice, ...]
    tuned: tuple[TunedLayer, ...]

    @cached_property
    def by_layer(self) -> dict[int, TunedLayer]:
        """What the engine's layers came of, by their index."""
        return {index: one for one in self.tuned for index in one.layers}

    @property
    def near_ties(self) -> int:
        """How many layers of the engine have a tactic that was chosen by chance."""
        return sum(one.is_near_tie for one in self.tuned)


def kind_of_build_log(engine: Engine) -> ArtifactKind | None:
    """The log to read: that of the build, else that of a run, which may have built what it ran; None if there is none."""
    kinds = (ArtifactKind.BUILD_LOG, ArtifactKind.PROFILE_LOG)
    return next((kind for kind in kinds if kind in engine.files), None)


def build_facts(trace: BuildTrace, engine: Engine) -> BuildFacts:
    """Join a log with the engine it is about. Half a second for thousands of layers; meant for a thread."""
    choices = layer_choices(trace, engine)
    made: dict[int, list[int]] = {}
    for index, choice in enumerate(choices):
        if choice.tuning is not None:
            made.setdefault(id(choice.tuning), []).append(index)
    tuned = [
        _tuned(number, tuning, tuple(made.get(id(tuning), ())), choices)
        for number, tuning in enumerate(trace.tunings)
    ]
    return BuildFacts(trace, choices, tuple(tuned))


def _tuned(
    number: int, tuning: LayerTuning, layers: tuple[int, ...], choices: tuple[LayerChoice, ...]
) -> TunedLayer:
    whole = [choices[index] for index in layers if choices[index].name == tuning.name]
    choice = whole[0] if len(layers) == 1 and whole else None
    chosen = choice.chosen.time_ms if choice and choice.chosen else None
    if choice is None and layers:
        formats = {id(choices[index].combination): choices[index].combination for index in layers}
        only = next(iter(formats.values())) if len(formats) == 1 else None
        chosen = only.chosen_ms if only else None
    return TunedLayer(
        number,
        tuning,
        layers,
        choice,
        tuning.seconds,
        tuning.tactic_count,
        len(tuning.skipped),
        chosen,
        choice.fastest.time_ms if choice and choice.fastest else None,
        choice.margin_pct if choice else None,
    )


# Tactics


def tactic_rows(facts: BuildFacts, tuned: TunedLayer) -> list[TacticRow]:
    """Every tactic of a layer, in the order of the log: timed, skipped, or out of the cache."""
    built = {id(facts.choices[index].combination) for index in tuned.layers}
    kernels = {
        facts.choices[index].chosen.name  # type: ignore[union-attr]
        for index in tuned.layers
        if facts.choices[index].table is not None and facts.choices[index].chosen is not None
    }
    rows: list[TacticRow] = []
    for number, combination in enumerate(tuned.tuning.combinations, start=1):
        rows += _rows_of(combination, number, id(combination) in built, frozenset(kernels))
    return rows


def _rows_of(
    combination: FormatCombination, number: int, in_engine: bool, kernels: frozenset[str | None]
) -> Iterator[TacticRow]:
    if combination.is_cached:
        runner = combination.chosen_runner or ""
        time, chosen = combination.cached_ms, combination.chosen_id
        yield TacticRow(
            combination.line, number, runner, chosen, None, "", time, True, True, in_engine, None, True
        )
        return
    rows = [row for trial in combination.runners for row in _timed_rows(trial, number)]
    times = [row.time_ms for row in rows if row.time_ms is not None]
    fastest = min(times, default=None)
    chosen_at = _place_of_choice(rows, combination)
    for place, row in enumerate(rows):
        is_chosen = place == chosen_at
        is_fastest = fastest is not None and row.time_ms == fastest
        yield row._replace(is_chosen=is_chosen, is_fastest=is_fastest, in_engine=is_chosen and in_engine)
    for trial in combination.runners:
        for skipped in trial.skipped:
            yield TacticRow(skipped.line, number, trial.runner, skipped.id, None, "", None, skipped=skipped)
        yield from _kernel_rows(trial, number, kernels if in_engine else frozenset())


def _timed_rows(trial: RunnerTrial, number: int) -> Iterator[TacticRow]:
    for one in trial.tactics:
        yield TacticRow(trial.line, number, trial.runner, one.id, one.name, "", one.time_ms)
    if not len(trial.tactics) and trial.fastest_ms is not None:
        yield TacticRow(trial.line, number, trial.runner, trial.fastest_id, None, "", trial.fastest_ms)


def _place_of_choice(rows: list[TacticRow], combination: FormatCombination) -> int | None:
    """Which row was chosen; the fastest of them if a tactic was timed more than once."""
    if combination.chosen_id is None:
        return None
    places = [
        place
        for place, row in enumerate(rows)
        if row.runner == combination.chosen_runner and row.id == combination.chosen_id
    ]
    return min(
        places,
        key=lambda place: math.inf if (time := rows[place].time_ms) is None else time,
        default=None,
    )


def _kernel_rows(trial: RunnerTrial, number: int, kernels: frozenset[str | None]) -> Iterator[TacticRow]:
    """What Myelin tried for each operator inside; it takes the first of each table."""
    for table in trial.myelin:
        for place, one in enumerate(table.tactics):
            is_first = place == 0
            yield TacticRow(
                table.line,
                number,
                trial.runner,
                None,
                one.kernel or None,
                table.operator,
                one.time_ms,
                is_first,
                is_first,
                is_first and one.kernel in kernels,
            )
