"""Explain why each layer runs its kernel, by joining the engine with the log of its build.

Times are the builder's: a tactic alone, on the builder's inputs, a few iterations each. They allow comparing the tactics of
one layer; they are not latencies of the engine. The cost of a layer in another precision is its own time there, without
reformats that this may require.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

from trex_tui.old.analysis.tactic_reuse import TimedLayers
from trex_tui.old.buildlog.build_trace import BuildTrace, Phase, PhaseKind
from trex_tui.old.buildlog.layer_tuning import (
    FormatCombination,
    InsertedReformat,
    LayerTuning,
    MyelinTable,
    RunnerTrial,
    SkippedTactic,
    hex_id,
    parse_id,
)
from trex_tui.old.engine.build import build_layers
from trex_tui.old.engine.dtypes import DataType, parse_data_type
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.lazy_dataclass import dataclass

ONNX_NODE = re.compile(r"\[ONNX Layer: ([^\]\x1e\x1f]*)\]")
_VECTOR = re.compile(r":(\d{1,6})")


def layers_of_dump(trace: BuildTrace) -> tuple[Layer, ...]:
    """Return the layers of the most detailed list in a log."""
    dumped = [layer.raw for layer in trace.dump.layers] if trace.dump else []
    return build_layers(dumped, (), [None] * len(dumped))


def _tactic_id(layer: Layer) -> int | None:
    return parse_id(layer.tactic_value) if layer.tactic_value else None


def by_onnx_node(tunings: Iterable[LayerTuning]) -> dict[str, LayerTuning]:
    """Return name of an ONNX node -> the Myelin layer that contains it."""
    return {
        node: tuning for tuning in tunings if tuning.metadata for node in ONNX_NODE.findall(tuning.metadata)
    }


def find_owner(layer: Layer, by_node: dict[str, LayerTuning]) -> LayerTuning | None:
    """Return the Myelin layer that a kernel of the engine was made from."""
    owners = {id(by_node[node]): by_node[node] for node in layer.onnx_nodes if node in by_node}
    return next(iter(owners.values())) if len(owners) == 1 else None


def candidates_for(layer: Layer, tuning: LayerTuning, *, is_part: bool) -> list[FormatCombination]:
    """Return the combinations that the engine's layer may have been built with, the most likely first."""
    chosen = [combination for combination in tuning.combinations if combination.chosen_id is not None]
    if is_part:
        return chosen[:1] if len(chosen) == 1 else _of_types(layer, chosen, only_types=True)
    if _tactic_id(layer) is not None:
        chosen = [combination for combination in chosen if combination.chosen_id == _tactic_id(layer)]
    if layer.layer_type not in (None, "NoOp"):
        chosen = [
            combination for combination in chosen if combination.chosen_runner == layer.layer_type
        ] or chosen
    return _of_types(layer, chosen, only_types=False)


def _of_types(
    layer: Layer, combinations: list[FormatCombination], *, only_types: bool
) -> list[FormatCombination]:
    """Return the combinations whose types and vectors are the engine's; all of them if none matches."""
    if only_types:
        wanted = {tensor.dtype for tensor in (*layer.inputs, *layer.outputs) if tensor.dtype}
        fitting = [combination for combination in combinations if find_precision(combination) in wanted]
        return fitting or combinations
    return [
        combination
        for combination in combinations
        if _fits(layer.inputs, combination.inputs) and _fits(layer.outputs, combination.outputs)
    ] or combinations


def _fits(tensors: Sequence[Tensor], formats: Sequence[str]) -> bool:
    return all(
        _same(tensor.dtype, parse_data_type(text)) and _same(tensor.format.vector, _vector_width(text))
        for tensor, text in zip(tensors, formats, strict=False)
    )


def _same(first: object, other: object) -> bool:
    return first is None or other is None or first == other


def _vector_width(text: str) -> int:
    match = _VECTOR.search(text)
    return int(match[1]) if match else 1


def find_precision(combination: FormatCombination) -> DataType | None:
    """Return the type of the first input, or of the first output of a layer without inputs."""
    formats = combination.inputs or combination.outputs
    return parse_data_type(formats[0]) if formats else None


NEAR_TIE_PCT = 2.0
"""Two tactics with a smaller difference are a near tie: the builder averages a few runs (`avgTiming`, 8 by default), and
clocks vary by more.
"""


@dataclass(frozen=True, slots=True)
class Contender:
    """A tactic that was timed for a combination.

    Attributes:
        id: None for a row of a Myelin table, which has no tactic number.
    """

    runner: str
    id: int | None
    name: str | None
    time_ms: float


@dataclass(frozen=True, slots=True)
class PrecisionCost:
    """The best timed result for a layer with inputs of one type."""

    precision: DataType
    time_ms: float
    combination: FormatCombination


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """One layer of the engine, and how its tactic was chosen.

    Attributes:
        name, occurrence: Name and occurrence of the layer in the engine.
        layer_type: `LayerType`, equal to the chosen runner except for `NoOp`.
        tactic_id: The engine's tactic number; None if unknown.
        tuning: Everything that was tried; None if the log does not have the layer.
        combination: The final formats; None if unknown.
        is_ambiguous: Several combinations agree with the engine, and `combination` is the first of them.
        table: For a part of a Myelin layer, the table of its operator.
        chosen: The chosen tactic, with its time; None without a time.
        fastest: The fastest of the combination, over all runners; the builder may prefer another.
        second: The fastest other than `chosen`.
        agrees: Whether the log's choice is the engine's tactic; None if either is unknown.
        reformat: For a reformat layer, why it was inserted and its measured cost.
        precisions: The best time per type of input, the fastest first.
        reused_from: Name of the equal layer that was timed instead, to which `tuning` belongs; None if it was timed itself.
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
    reused_from: str | None = None

    @property
    def margin_pct(self) -> float | None:
        """Additional time of the second over the choice, in percent of the choice; negative if it is faster."""
        if self.chosen is None or self.second is None or self.chosen.time_ms <= 0:
            return None
        return 100.0 * (self.second.time_ms - self.chosen.time_ms) / self.chosen.time_ms

    @property
    def is_near_tie(self) -> bool:
        margin = self.margin_pct
        return margin is not None and abs(margin) < NEAR_TIE_PCT

    @property
    def precision(self) -> DataType | None:
        return find_precision(self.combination) if self.combination else None

    @property
    def other_precision(self) -> PrecisionCost | None:
        """The best result in any other type: the cost of the next precision; None if none was timed."""
        return next(
            (precision for precision in self.precisions if precision.precision != self.precision), None
        )


@dataclass(frozen=True, slots=True)
class PhaseShare:
    """A phase, summed over its lines.

    Attributes:
        strategy: Number of the candidate engine, if there are several; None for phases of the whole build.
        count: Number of its lines.
    """

    kind: PhaseKind
    strategy: int | None
    seconds: float
    count: int


def layer_choices(trace: BuildTrace, engine: Engine | None = None) -> tuple[LayerChoice, ...]:
    """Return one entry per layer of the engine, or of the log's own list of layers without an engine, in execution order."""
    dumped = layers_of_dump(trace)
    tunings: dict[str, LayerTuning] = {}
    for tuning in trace.tunings:
        if tuning.strategy in (trace.winner, None):
            tunings[tuning.name] = tuning
    by_node = by_onnx_node(tunings.values())
    timings = Timings(trace)
    owners = {layer.name: layer for layer in dumped}
    reformats = {
        reformat.layer_name: reformat
        for reformat in trace.reformats
        if reformat.strategy in (trace.winner, None)
    }
    entry_formats = {
        (reformat.consumer, reformat.tensor): reformat.to_format for reformat in reformats.values()
    }
    layers = dumped if engine is None else engine.layers
    timed_layers = TimedLayers(tunings.values(), layers)
    choices = []
    for layer in layers:
        layer_tuning = tunings.get(layer.name) or find_owner(layer, by_node)
        owner = (
            owners.get(layer_tuning.name)
            if layer_tuning is not None and layer_tuning.name != layer.name
            else None
        )
        reformat = reformats.get(layer.name)
        if layer_tuning is None:
            equal = timed_layers.find_equal(layer)
            if equal:
                choices.append(_reused_choice(layer, equal, timings))
                continue
        choices.append(_choice(layer, layer_tuning, reformat, owner, entry_formats, timings))
    return tuple(choices)


def near_ties(choices: Iterable[LayerChoice]) -> list[LayerChoice]:
    """Return layers whose choice of tactic is a near tie, the narrowest first."""
    ties = [choice for choice in choices if choice.is_near_tie]
    return sorted(ties, key=lambda choice: abs(choice.margin_pct or 0.0))


def by_tuning_time(trace: BuildTrace) -> list[LayerTuning]:
    """Return tunings, the longest first; those without a time in the log come last, by their number of tactics.

    Tunings without a name and tactics are left out: for a layer that the builder did not time, the log has only formats.
    """
    return sorted(
        (tuning for tuning in trace.tunings if tuning.name or tuning.tactic_count),
        key=lambda tuning: (-(tuning.seconds or 0.0), -tuning.tactic_count, tuning.line),
    )


def phase_shares(trace: BuildTrace) -> list[PhaseShare]:
    """Return phases in the order they appear, one entry per kind and strategy."""
    seconds: dict[tuple[PhaseKind, int | None], list[float]] = {}
    for phase in trace.phases:
        seconds.setdefault((phase.kind, phase.strategy), []).append(phase.seconds)
    return [PhaseShare(*key, sum(parts), len(parts)) for key, parts in seconds.items()]


def build_seconds(phases: Iterable[Phase]) -> float | None:
    """Return the duration of the whole build: trtexec's clock, else the sum over the candidate engines; None if unknown."""
    known = list(phases)
    whole = [phase.seconds for phase in known if phase.kind is PhaseKind.ENGINE_BUILD]
    if whole:
        return whole[-1]
    parts = [phase.seconds for phase in known if phase.kind is PhaseKind.ENGINE_GENERATION]
    return sum(parts) if parts else None


class Timings:
    """Timings in a log, and the names of kernels, to find where results from the timing cache were timed."""

    def __init__(self, trace: BuildTrace) -> None:
        self.kernel_names = trace.kernel_names
        self._by_layer: dict[tuple[str, tuple[str, ...], tuple[str, ...]], FormatCombination] = {}
        self._by_result: dict[tuple[object, ...], FormatCombination] = {}
        for tuning in trace.tunings:
            for combination in tuning.combinations:
                if combination.runners:
                    self._by_layer[tuning.name, combination.inputs, combination.outputs] = combination
                    self._by_result[_result(combination)] = combination

    def find(self, layer: str, combination: FormatCombination) -> FormatCombination:
        """Find where a cached combination was timed; the combination itself if it was not.

        Searches the same layer under another strategy, then layers with the same formats and result.
        """
        if not combination.is_cached:
            return combination
        key = (layer, combination.inputs, combination.outputs)
        return self._by_layer.get(key) or self._by_result.get(_result(combination), combination)


def _result(combination: FormatCombination) -> tuple[object, ...]:
    chosen = (combination.chosen_runner, combination.chosen_id, combination.chosen_ms)
    return (combination.inputs, combination.outputs, *chosen)


def _choice(
    layer: Layer,
    tuning: LayerTuning | None,
    reformat: InsertedReformat | None,
    owner: Layer | None,
    entry_formats: dict[tuple[str, str], str],
    timings: Timings,
) -> LayerChoice:
    """Return how the tactic of a layer was chosen.

    Args:
        owner: For a kernel of a Myelin layer, the whole layer as the log lists it.
        entry_formats: Layer and tensor -> target format of a reformat of the tensor.
        timings: Timings in the log.
    """
    plain = LayerChoice(layer.name, layer.occurrence, layer.layer_type, _tactic_id(layer), reformat=reformat)
    if tuning is None:
        return plain
    is_part = tuning.name != layer.name
    whole = owner or layer
    candidates = candidates_for(whole, tuning, is_part=is_part and owner is None)
    for tensor in whole.inputs:
        wanted = entry_formats.get((tuning.name, tensor.name.removeprefix("Reformatted ")))
        matching = [combination for combination in candidates if wanted in combination.inputs]
        candidates = matching or candidates
    combination = candidates[0] if candidates else None
    table = _table(layer, combination) if is_part and combination else None
    choice = replace(
        plain,
        tuning=tuning,
        combination=combination,
        is_ambiguous=len(candidates) > 1,
        table=table,
        agrees=_agrees(layer, tuning, candidates, table),
        precisions=_precisions(tuning),
    )
    return _with_contenders(choice, layer, timings)


def _reused_choice(
    layer: Layer, equal: Sequence[tuple[LayerTuning, FormatCombination]], timings: Timings
) -> LayerChoice:
    """Return how the tactic of a layer was chosen that was timed for equal layers."""
    tuning, combination = equal[0]
    choice = LayerChoice(
        layer.name,
        layer.occurrence,
        layer.layer_type,
        _tactic_id(layer),
        tuning,
        combination,
        is_ambiguous=len({combination.chosen_ms for _, combination in equal}) > 1,
        agrees=True,
        precisions=_precisions(tuning),
        reused_from=tuning.name,
    )
    return _with_contenders(choice, layer, timings)


def list_contenders(choice: LayerChoice, timings: Timings) -> list[Contender]:
    """Return everything timed in the formats of a layer, or for its operator, the fastest first."""
    if choice.table is not None:
        return _contenders_of_table(choice.table)
    return _contenders(choice.combination, choice.tuning.name if choice.tuning else "", timings)


def _with_contenders(choice: LayerChoice, layer: Layer, timings: Timings) -> LayerChoice:
    table, combination = choice.table, choice.combination
    contenders = list_contenders(choice, timings)
    chosen = _chosen(layer, combination, table, contenders)
    if chosen is not None and chosen.name is None and chosen.id is not None:
        chosen = replace(chosen, name=timings.kernel_names.get(chosen.id))
    others = [contender for contender in contenders if chosen is None or not _is_same(contender, chosen)]
    return replace(
        choice,
        chosen=chosen,
        fastest=contenders[0] if contenders else None,
        second=others[0] if chosen and others else None,
    )


def _table(layer: Layer, combination: FormatCombination) -> MyelinTable | None:
    """Return the table of the operator of a kernel: found by its kernel, else by its ONNX nodes."""
    tables = [table for trial in combination.runners for table in trial.myelin if len(table.tactics)]
    nodes = set(layer.onnx_nodes)
    fitting = [table for table in tables if nodes & {*table.onnx_nodes, table.operator}]
    if layer.tactic:
        named = [table for table in fitting if any(row.kernel == layer.tactic for row in table.tactics)]
        fitting = named or fitting
    return fitting[0] if len(fitting) == 1 else None


def _contenders(combination: FormatCombination | None, layer: str, timings: Timings) -> list[Contender]:
    """Return everything timed for a combination, the fastest first; a tactic timed twice counts with its best time."""
    if combination is not None:
        combination = timings.find(layer, combination)
    best: dict[tuple[str, int | None], Contender] = {}
    for trial in combination.runners if combination else ():
        for contender in _timed(trial):
            key = (contender.runner, contender.id)
            if key not in best or contender.time_ms < best[key].time_ms:
                best[key] = contender
    return sorted(best.values(), key=attrgetter("time_ms"))


def _timed(trial: RunnerTrial) -> list[Contender]:
    contenders = [
        Contender(trial.runner, tactic.id, tactic.name, tactic.time_ms)
        for tactic in trial.tactics
        if tactic.time_ms is not None
    ]
    if not contenders and trial.fastest_ms is not None:
        contenders.append(Contender(trial.runner, trial.fastest_id, None, trial.fastest_ms))
    return contenders


def _contenders_of_table(table: MyelinTable) -> list[Contender]:
    rows = [
        Contender("Myelin", None, tactic.kernel, tactic.time_ms)
        for tactic in table.tactics
        if tactic.time_ms is not None
    ]
    return sorted(rows, key=attrgetter("time_ms"))


def _chosen(
    layer: Layer,
    combination: FormatCombination | None,
    table: MyelinTable | None,
    contenders: list[Contender],
) -> Contender | None:
    if combination is None:
        return None
    if table is not None:
        named = [contender for contender in contenders if contender.name == layer.tactic]
        return (named or contenders)[0] if contenders else None
    runner, number, time = combination.chosen_runner, combination.chosen_id, combination.chosen_ms
    if runner is None or time is None:
        return None
    name = next(
        (contender.name for contender in contenders if (contender.runner, contender.id) == (runner, number)),
        None,
    )
    return Contender(runner, number, name, time)


def _is_same(contender: Contender, other: Contender) -> bool:
    if contender.id is None or other.id is None:
        return contender.name == other.name
    return (contender.runner, contender.id) == (other.runner, other.id)


def _agrees(
    layer: Layer, tuning: LayerTuning, candidates: list[FormatCombination], table: MyelinTable | None
) -> bool | None:
    if table is not None:
        if layer.tactic is None:
            return None
        return any(row.kernel == layer.tactic for row in table.tactics)
    if (
        _tactic_id(layer) is None
        or tuning.name != layer.name
        or not any(combination.chosen_id is not None for combination in tuning.combinations)
    ):
        return None
    return bool(candidates)


def _precisions(tuning: LayerTuning) -> tuple[PrecisionCost, ...]:
    best: dict[DataType, PrecisionCost] = {}
    for combination in tuning.combinations:
        kind, time = find_precision(combination), combination.chosen_ms
        if kind is not None and time is not None and (kind not in best or time < best[kind].time_ms):
            best[kind] = PrecisionCost(kind, time, combination)
    return tuple(sorted(best.values(), key=attrgetter("time_ms")))


CACHED = "from the timing cache"


@dataclass(frozen=True)
class TunedLayer:
    """A layer that the builder tuned, under one backend strategy.

    Attributes:
        number: Index among the tunings of the log.
        layers: Indices of the engine's layers made from it: one, several for Myelin and for equal layers that reuse it, none
            if another strategy won.
        choice: Choice for the layer of this name; None if there is none, or the layer was split.
        chosen_ms: The builder's time of the engine's choice; None if unknown.
    """

    number: int
    tuning: LayerTuning
    layers: tuple[int, ...]
    choice: LayerChoice | None
    chosen_ms: float | None

    @cached_property
    def seconds(self) -> float | None:
        """Duration of the tuning; None if the log does not have it (before TensorRT 8.6)."""
        return self.tuning.seconds

    @cached_property
    def tactics(self) -> int:
        """Number of timed tactics, including rows of Myelin's tables."""
        return self.tuning.tactic_count

    @cached_property
    def skipped(self) -> int:
        return len(self.tuning.skipped)

    @property
    def fastest_ms(self) -> float | None:
        """The fastest time in the same formats, over all runners."""
        return self.choice.fastest.time_ms if self.choice and self.choice.fastest else None

    @property
    def margin_pct(self) -> float | None:
        return self.choice.margin_pct if self.choice else None

    @property
    def is_near_tie(self) -> bool:
        return self.choice is not None and self.choice.is_near_tie


class TacticRow(NamedTuple):
    """One tactic of a layer, in one format combination.

    Attributes:
        line: Line of the log where the trial of its runner begins.
        formats: Number of the combination, from 1.
        runner: `CaskConvolution`, `Myelin`, …
        id: Tactic number; None for a kernel from a Myelin table, and if a skipped tactic has none in the log.
        name: Name of the kernel; None if the log has none.
        operator: For a Myelin kernel, the operator it was tried for.
        time_ms: None if it was not timed.
        is_chosen: The builder chose it for this combination (a Myelin kernel: for its operator).
        is_fastest: It is the fastest of this combination (or operator).
        in_engine: The engine uses it: it was chosen, in the formats of the engine's layer.
        skipped: Why it was not timed; None if it was.
        is_cached: Its time was not measured in this build.
        tuned: The layer.
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
    tuned: TunedLayer | None = None

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
    """A log, joined with the layers of an engine.

    Attributes:
        trace: Content of the log.
        choices: One per layer of the engine, by its index.
        tuned: Every tuning of the log, in its order.
    """

    trace: BuildTrace
    choices: tuple[LayerChoice, ...]
    tuned: tuple[TunedLayer, ...]

    @cached_property
    def by_layer(self) -> dict[int, TunedLayer]:
        return {index: tuned for tuned in self.tuned for index in tuned.layers}

    @property
    def near_ties(self) -> int:
        """Number of layers of the engine whose choice of tactic is a near tie."""
        return sum(tuned.is_near_tie for tuned in self.tuned)


def build_facts(trace: BuildTrace, engine: Engine | None = None) -> BuildFacts:
    """Join a log with its engine, or with its own list of layers.

    Takes half a second for thousands of layers; meant for a thread.
    """
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
    own = [index for index in layers if choices[index].reused_from is None]
    choice = choices[own[0]] if len(own) == 1 and choices[own[0]].name == tuning.name else None
    chosen = choice.chosen.time_ms if choice and choice.chosen else None
    if choice is None and layers:
        formats = {id(choices[index].combination): choices[index].combination for index in layers}
        only = next(iter(formats.values())) if len(formats) == 1 else None
        chosen = only.chosen_ms if only else None
    return TunedLayer(number, tuning, layers, choice, chosen)


# Tactics


def tactic_rows(facts: BuildFacts, tuned: TunedLayer) -> list[TacticRow]:
    """Return every tactic of a layer, in the order of the log: timed, skipped, or from the cache."""
    built = {id(facts.choices[index].combination) for index in tuned.layers}
    kernels = {
        facts.choices[index].chosen.name  # type: ignore[union-attr]
        for index in tuned.layers
        if facts.choices[index].table is not None and facts.choices[index].chosen is not None
    }
    rows: list[TacticRow] = []
    for number, combination in enumerate(tuned.tuning.combinations, start=1):
        rows += _list_rows(combination, number, id(combination) in built, frozenset(kernels))
    return [row._replace(tuned=tuned) for row in rows]


def _list_rows(
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
    chosen_at = _index_of_choice(rows, combination)
    for index, row in enumerate(rows):
        is_chosen = index == chosen_at
        is_fastest = fastest is not None and row.time_ms == fastest
        yield row._replace(is_chosen=is_chosen, is_fastest=is_fastest, in_engine=is_chosen and in_engine)
    for trial in combination.runners:
        for skipped in trial.skipped:
            yield TacticRow(skipped.line, number, trial.runner, skipped.id, None, "", None, skipped=skipped)
        yield from _kernel_rows(trial, number, kernels if in_engine else frozenset())


def _timed_rows(trial: RunnerTrial, number: int) -> Iterator[TacticRow]:
    for tactic in trial.tactics:
        yield TacticRow(trial.line, number, trial.runner, tactic.id, tactic.name, "", tactic.time_ms)
    if not len(trial.tactics) and trial.fastest_ms is not None:
        yield TacticRow(trial.line, number, trial.runner, trial.fastest_id, None, "", trial.fastest_ms)


def _index_of_choice(rows: list[TacticRow], combination: FormatCombination) -> int | None:
    """Return the index of the chosen row; the fastest one if a tactic was timed more than once."""
    if combination.chosen_id is None:
        return None
    indices = [
        index
        for index, row in enumerate(rows)
        if row.runner == combination.chosen_runner and row.id == combination.chosen_id
    ]
    return min(
        indices,
        key=lambda index: math.inf if (time := rows[index].time_ms) is None else time,
        default=None,
    )


def _kernel_rows(trial: RunnerTrial, number: int, kernels: frozenset[str | None]) -> Iterator[TacticRow]:
    """Yield the kernels that Myelin tried for each operator inside; it uses the first of each table."""
    for table in trial.myelin:
        for index, tactic in enumerate(table.tactics):
            is_first = index == 0
            yield TacticRow(
                table.line,
                number,
                trial.runner,
                None,
                tactic.kernel or None,
                table.operator,
                tactic.time_ms,
                is_first,
                is_first,
                is_first and tactic.kernel in kernels,
            )
