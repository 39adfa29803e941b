"""Why each layer runs the kernel it runs: the engine joined with the log of its build.

Times are the builder's: a tactic alone, on the builder's inputs, a few iterations each. They tell tactics of one layer apart;
they are no latencies of the engine. What a layer would cost in another precision is its own time there, without the
reformats that such a choice may need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from trex_tui.analysis.build_match import (
    Subject,
    by_onnx_node,
    candidates_for,
    owner_of,
    precision_of,
    subjects_of_dump,
    subjects_of_engine,
)
from trex_tui.artifacts.buildlog.model import BuildTrace, Phase, PhaseKind
from trex_tui.artifacts.buildlog.tuning import (
    FormatCombination,
    InsertedReformat,
    LayerTuning,
    MyelinTable,
    RunnerTrial,
)
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.engine import Engine

NEAR_TIE_PCT = 2.0
"""Two tactics whose times differ by less are a matter of chance: the builder averages a handful of runs (`avgTiming`, 8 by
default), and clocks vary by more."""


@dataclass(frozen=True, slots=True)
class Contender:
    """A tactic that was timed for the combination in question.

    Attributes:
        id: None for a row of a Myelin table, which has no tactic number.
    """

    runner: str
    id: int | None
    name: str | None
    time_ms: float


@dataclass(frozen=True, slots=True)
class PrecisionCost:
    """The best that was timed for a layer with inputs of one type."""

    precision: DataType
    time_ms: float
    combination: FormatCombination


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """One layer of the engine, and how it came to its tactic.

    Attributes:
        name, occurrence: Of the layer in the engine.
        layer_type: `LayerType`, equal to the chosen runner but for `NoOp`.
        tactic_id: The engine's tactic number; None if it tells none.
        tuning: What was tried; None if the log has nothing about it.
        combination: The formats it ended up with; None if they cannot be told.
        is_ambiguous: Several combinations agree with what the engine tells, and `combination` is the first of them.
        table: For a part of a Myelin layer, the table of its operator.
        chosen: What was chosen, with its time; None if it has none.
        fastest: The fastest of the combination, over all runners; the builder may prefer another.
        second: The fastest but `chosen`.
        agrees: Whether the log's choice is the engine's tactic; None where either is silent.
        reformat: For a reformat layer, why it was inserted and what it was found to cost.
        precisions: The best time per type of input, the fastest first.
    """

    name: str
    occurrence: int
    layer_type: str | None
    tactic_id: int | None
    tuning: LayerTuning | None = None
    combination: FormatCombination | None = None
    is_ambiguous: bool = False
    table: MyelinTable | None = None
    chosen: Contender | None = None
    fastest: Contender | None = None
    second: Contender | None = None
    agrees: bool | None = None
    reformat: InsertedReformat | None = None
    precisions: tuple[PrecisionCost, ...] = ()

    @property
    def margin_pct(self) -> float | None:
        """How much longer the second takes than the choice, in percent of the choice; negative if it is faster."""
        if self.chosen is None or self.second is None or self.chosen.time_ms <= 0:
            return None
        return 100.0 * (self.second.time_ms - self.chosen.time_ms) / self.chosen.time_ms

    @property
    def is_near_tie(self) -> bool:
        """Whether another tactic is as good, within `NEAR_TIE_PCT`."""
        margin = self.margin_pct
        return margin is not None and abs(margin) < NEAR_TIE_PCT

    @property
    def precision(self) -> DataType | None:
        """Type of the first input, in the chosen formats."""
        return precision_of(self.combination) if self.combination else None

    @property
    def other_precision(self) -> PrecisionCost | None:
        """The best in any other type: what the next precision would have cost; None if none was timed."""
        return next((one for one in self.precisions if one.precision != self.precision), None)


@dataclass(frozen=True, slots=True)
class PhaseShare:
    """A phase, summed up over its lines.

    Attributes:
        strategy: Of several candidate engines, which; None for what belongs to the whole build.
        count: How many lines state it.
    """

    kind: PhaseKind
    strategy: int | None
    seconds: float
    count: int


def layer_choices(trace: BuildTrace, engine: Engine | None = None) -> tuple[LayerChoice, ...]:
    """One entry per layer of the engine, or of the log's own list of layers if no engine is given, in execution order."""
    subjects = subjects_of_engine(engine) if engine is not None else subjects_of_dump(trace)
    tunings: dict[str, LayerTuning] = {}
    for tuning in trace.tunings:
        if tuning.strategy in (trace.winner, None):
            tunings[tuning.name] = tuning
    by_node = by_onnx_node(tunings.values())
    timed = _timed_before(trace)
    owners = {one.name: one for one in subjects_of_dump(trace)}
    reformats = {one.layer_name: one for one in trace.reformats if one.strategy in (trace.winner, None)}
    entry_formats = {(one.consumer, one.tensor): one.to_format for one in reformats.values()}
    choices = []
    for one in subjects:
        found = tunings.get(one.name) or owner_of(one, by_node)
        owner = owners.get(found.name) if found is not None and found.name != one.name else None
        choices.append(_choice(one, found, reformats.get(one.name), _Known(entry_formats, timed, owner)))
    return tuple(choices)


def near_ties(choices: Iterable[LayerChoice]) -> list[LayerChoice]:
    """Layers whose tactic was chosen by chance, the narrowest first."""
    ties = [one for one in choices if one.is_near_tie]
    return sorted(ties, key=lambda one: abs(one.margin_pct or 0.0))


def by_tuning_time(trace: BuildTrace) -> list[LayerTuning]:
    """Tunings, the longest first; those whose time the log does not tell come last, by their number of tactics."""
    return sorted(trace.tunings, key=lambda one: (-(one.seconds or 0.0), -one.tactic_count, one.line))


def phase_shares(trace: BuildTrace) -> list[PhaseShare]:
    """Phases in the order they appear, one entry per kind and strategy."""
    seconds: dict[tuple[PhaseKind, int | None], float] = {}
    counts: Counter[tuple[PhaseKind, int | None]] = Counter()
    for phase in trace.phases:
        key = (phase.kind, phase.strategy)
        seconds[key] = seconds.get(key, 0.0) + phase.seconds
        counts[key] += 1
    return [
        PhaseShare(kind, strategy, total, counts[kind, strategy])
        for (kind, strategy), total in seconds.items()
    ]


def build_seconds(phases: Iterable[Phase]) -> float | None:
    """What the whole build took: trtexec's clock, else the sum over the candidate engines; None if not told."""
    known = list(phases)
    whole = [one.seconds for one in known if one.kind is PhaseKind.ENGINE_BUILD]
    if whole:
        return whole[-1]
    parts = [one.seconds for one in known if one.kind is PhaseKind.ENGINE_GENERATION]
    return sum(parts) if parts else None


_Timed = dict[tuple[str, tuple[str, ...], tuple[str, ...]], FormatCombination]


@dataclass(frozen=True, slots=True)
class _Known:
    """What is known beside a layer and its tuning.

    Attributes:
        entry_formats: Layer and tensor -> the format a reformat brings the tensor into.
        timed: See `_timed_before`.
        owner: For a kernel of a Myelin layer, the whole layer as the log lists it.
    """

    entry_formats: dict[tuple[str, str], str]
    timed: _Timed
    owner: Subject | None


def _choice(
    subject: Subject,
    tuning: LayerTuning | None,
    reformat: InsertedReformat | None,
    known: _Known,
) -> LayerChoice:
    plain = LayerChoice(
        subject.name, subject.occurrence, subject.layer_type, subject.tactic_id, reformat=reformat
    )
    if tuning is None:
        return plain
    is_part = tuning.name != subject.name
    whole = known.owner or subject
    candidates = candidates_for(whole, tuning, is_part=is_part and known.owner is None)
    for tensor in whole.input_names:
        wanted = known.entry_formats.get((tuning.name, tensor.removeprefix("Reformatted ")))
        matching = [one for one in candidates if wanted in one.inputs]
        candidates = matching or candidates
    combination = candidates[0] if candidates else None
    table = _table(subject, combination) if is_part and combination else None
    contenders = _contenders_of_table(table) if table else _contenders(combination, tuning.name, known.timed)
    chosen = _chosen(subject, combination, table, contenders)
    others = [one for one in contenders if chosen is None or not _is_same(one, chosen)]
    return LayerChoice(
        subject.name,
        subject.occurrence,
        subject.layer_type,
        subject.tactic_id,
        tuning,
        combination,
        len(candidates) > 1,
        table,
        chosen,
        contenders[0] if contenders else None,
        others[0] if chosen and others else None,
        _agrees(subject, tuning, candidates, table),
        reformat,
        _precisions(tuning),
    )


def _table(subject: Subject, combination: FormatCombination) -> MyelinTable | None:
    """The table of the operator that a kernel runs: by its kernel, else by its ONNX nodes."""
    tables = [table for trial in combination.runners for table in trial.myelin if len(table.tactics)]
    nodes = set(subject.onnx_nodes)
    fitting = [table for table in tables if nodes & {*table.onnx_nodes, table.operator}]
    if subject.tactic_name:
        named = [one for one in fitting if any(row.kernel == subject.tactic_name for row in one.tactics)]
        fitting = named or fitting
    return fitting[0] if len(fitting) == 1 else None


def _timed_before(trace: BuildTrace) -> _Timed:
    """Layer and formats -> the combination that was timed: one that is cached later on was timed for another strategy."""
    return {
        (tuning.name, one.inputs, one.outputs): one
        for tuning in trace.tunings
        for one in tuning.combinations
        if one.runners
    }


def _contenders(combination: FormatCombination | None, layer: str, timed: _Timed) -> list[Contender]:
    """All that was timed for a combination, the fastest first; a tactic timed twice counts with its best time."""
    if combination is not None and combination.is_cached:
        combination = timed.get((layer, combination.inputs, combination.outputs), combination)
    best: dict[tuple[str, int | None], Contender] = {}
    for trial in combination.runners if combination else ():
        for one in _timed(trial):
            known = best.get((one.runner, one.id))
            if known is None or one.time_ms < known.time_ms:
                best[one.runner, one.id] = one
    return sorted(best.values(), key=lambda one: one.time_ms)


def _timed(trial: RunnerTrial) -> list[Contender]:
    found = [
        Contender(trial.runner, one.id, one.name, one.time_ms)
        for one in trial.tactics
        if one.time_ms is not None
    ]
    if not found and trial.fastest_ms is not None:
        found.append(Contender(trial.runner, trial.fastest_id, None, trial.fastest_ms))
    return found


def _contenders_of_table(table: MyelinTable) -> list[Contender]:
    rows = [
        Contender("Myelin", None, one.kernel, one.time_ms) for one in table.tactics if one.time_ms is not None
    ]
    return sorted(rows, key=lambda one: one.time_ms)


def _chosen(
    subject: Subject,
    combination: FormatCombination | None,
    table: MyelinTable | None,
    contenders: list[Contender],
) -> Contender | None:
    if combination is None:
        return None
    if table is not None:
        named = [one for one in contenders if one.name == subject.tactic_name]
        return (named or contenders)[0] if contenders else None
    runner, number, time = combination.chosen_runner, combination.chosen_id, combination.chosen_ms
    if runner is None or time is None:
        return None
    name = next((one.name for one in contenders if (one.runner, one.id) == (runner, number)), None)
    return Contender(runner, number, name, time)


def _is_same(one: Contender, other: Contender) -> bool:
    if one.id is None or other.id is None:
        return one.name == other.name
    return (one.runner, one.id) == (other.runner, other.id)


def _agrees(
    subject: Subject, tuning: LayerTuning, candidates: list[FormatCombination], table: MyelinTable | None
) -> bool | None:
    if table is not None:
        if subject.tactic_name is None:
            return None
        return any(row.kernel == subject.tactic_name for row in table.tactics)
    if (
        subject.tactic_id is None
        or tuning.name != subject.name
        or not any(one.chosen_id is not None for one in tuning.combinations)
    ):
        return None
    return bool(candidates)


def _precisions(tuning: LayerTuning) -> tuple[PrecisionCost, ...]:
    best: dict[DataType, PrecisionCost] = {}
    for one in tuning.combinations:
        kind, time = precision_of(one), one.chosen_ms
        if kind is not None and time is not None and (kind not in best or time < best[kind].time_ms):
            best[kind] = PrecisionCost(kind, time, one)
    return tuple(sorted(best.values(), key=lambda one: one.time_ms))
