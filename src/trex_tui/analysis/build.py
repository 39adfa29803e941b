"""Why each layer runs its kernel: the engine joined with the log of its build.

Times are the builder's: a tactic alone, on the builder's inputs, a few iterations each. They allow comparing the tactics of
one layer; they are not latencies of the engine. The cost of a layer in another precision is its own time there, without
reformats that this may require.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import pandas as pd

from trex_tui.buildlog.tactics import (
    FormatCombination,
    InsertedReformat,
    LayerTuning,
    MyelinTable,
    RunnerTrial,
    parse_id,
)
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.column import Column, by_key
from trex_tui.engine.dtypes import parse_data_type, parse_format
from trex_tui.engine.frame import build_frames
from trex_tui.engine.model import Engine, Port, per_engine
from trex_tui.frames import FLAG, FLOAT, INT, TEXT, plain_values

NEAR_TIE_PCT = 2.0
"""Two tactics with a smaller difference are a near tie: the builder averages a few runs (`avgTiming`, 8 by default), and
clocks vary by more.
"""
ONNX_NODE = re.compile(r"\[ONNX Layer: ([^\]\x1e\x1f]*)\]")
_VECTOR = re.compile(r":(\d{1,6})")
_NOT_TIMED = frozenset({"NoOp", "Reformat", "Myelin", None})
_DIFFERING = frozenset({"Metadata", "Origin", "StreamId"})
"""Attributes in which equal layers differ."""


class Contender(NamedTuple):
    """A tactic that was timed for a combination; `id` is None for a row of a Myelin table, which has no tactic number."""

    runner: str
    id: str | None
    name: str | None
    time_ms: float


class PrecisionCost(NamedTuple):
    """The best timed result for a layer with inputs of one type."""

    precision: str
    time_ms: float
    combination: FormatCombination


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """One layer of the engine, and how its tactic was chosen.

    Attributes:
        tactic_id: The engine's tactic number; None if unknown.
        tuning: Everything that was tried; None if the log does not have the layer.
        combination: The final formats; None if unknown.
        is_ambiguous: Several combinations agree with the engine, and `combination` is the first of them.
        table: For a part of a Myelin layer, the table of its operator.
        chosen: The chosen tactic, with its time; None without a time.
        contenders: Everything timed in the combination, over all runners, the fastest first.
        agrees: Whether the log's choice is the engine's tactic; None if either is unknown.
        reformat: For a reformat layer, why it was inserted and its measured cost.
        precisions: The best time per type of input, the fastest first.
        reused_from: Name of the equal layer that was timed instead, to which `tuning` belongs; None if it was timed itself.
    """

    name: str
    tactic_id: str | None = None
    tuning: LayerTuning | None = None
    combination: FormatCombination | None = None
    is_ambiguous: bool = False
    table: MyelinTable | None = None
    chosen: Contender | None = None
    contenders: tuple[Contender, ...] = ()
    agrees: bool | None = None
    reformat: InsertedReformat | None = None
    precisions: tuple[PrecisionCost, ...] = ()
    reused_from: str | None = None

    @property
    def fastest(self) -> Contender | None:
        """The first of the contenders; the builder may prefer another."""
        return self.contenders[0] if self.contenders else None

    @property
    def second(self) -> Contender | None:
        """The fastest contender other than the chosen one."""
        chosen = self.chosen
        return next((other for other in self.contenders if chosen and not _is_same(other, chosen)), None)

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
    def precision(self) -> str | None:
        return find_precision(self.combination) if self.combination else None

    @property
    def other_precision(self) -> PrecisionCost | None:
        """The best result in any other type: the cost of the next precision; None if none was timed."""
        return next((cost for cost in self.precisions if cost.precision != self.precision), None)


class _Layer(NamedTuple):
    """What is compared of a layer of the engine, or of the list in a log."""

    name: str
    kind: str
    layer_type: str | None
    tactic: str | None
    tactic_id: str | None
    onnx_nodes: tuple[str, ...]
    attributes: Mapping[str, Any]
    inputs: Sequence[Port]
    outputs: Sequence[Port]


def _list_layers(
    layers: pd.DataFrame, attributes: Sequence[Mapping[str, Any]], ports: Sequence[Sequence[Sequence[Port]]]
) -> list[_Layer]:
    keys = ("name", "kind", "layer_type", "tactic", "tactic_value", "onnx_nodes")
    columns = [plain_values(layers[key]) for key in keys]
    columns[4] = [parse_id(value) if value else None for value in columns[4]]
    return [_Layer(*row) for row in zip(*columns, attributes or [{}] * len(layers), *ports, strict=True)]


def _listed_in_log(trace: BuildTrace) -> list[_Layer]:
    """Return the layers of the most detailed list in a log."""
    objects = [layer.raw for layer in trace.layer_list.layers] if trace.layer_list else []
    if not objects:
        return []
    layers, tensors = build_frames(objects, ())
    ports: dict[str, list[list[Port]]] = {role: [[] for _ in objects] for role in ("input", "output")}
    values = [plain_values(tensors[key]) for key in ("role", "layer", *Port._fields)]
    for role, layer, *port in zip(*values, strict=True):
        ports[role][layer].append(Port(*port))
    return _list_layers(layers, objects, [ports["input"], ports["output"]])


def find_precision(combination: FormatCombination) -> str | None:
    """Return the type of the first input, or of the first output of a layer without inputs."""
    formats = combination.inputs or combination.outputs
    dtype = parse_data_type(formats[0]) if formats else None
    return dtype.value if dtype else None


# Choices


class _Log:
    """Indices into the tunings of a log: by layer, by ONNX node, by result."""

    def __init__(self, trace: BuildTrace, layers: Sequence[_Layer]) -> None:
        self.kernel_names = trace.kernel_names
        kept = [tuning for tuning in trace.tunings if tuning.strategy in (trace.winner, None)]
        self.tunings = {tuning.name: tuning for tuning in kept}
        self.owners = {layer.name: layer for layer in _listed_in_log(trace)}
        self.reformats = {
            reformat.layer_name: reformat
            for reformat in trace.reformats
            if reformat.strategy in (trace.winner, None)
        }
        self.entry_formats = {
            (reformat.consumer, reformat.tensor): reformat.to_format for reformat in self.reformats.values()
        }
        self._by_node = {
            node: tuning
            for tuning in self.tunings.values()
            if tuning.metadata
            for node in ONNX_NODE.findall(tuning.metadata)
        }
        self._timed_as: dict[tuple[str, ...], FormatCombination] = {}
        self._with_result: dict[tuple[Any, ...], FormatCombination] = {}
        for tuning in trace.tunings:
            for combination in tuning.combinations:
                if combination.runners:
                    self._timed_as[(tuning.name, combination.text)] = combination
                    self._with_result[_result(combination)] = combination
        self._layers = {layer.name: layer for layer in reversed(layers)}
        self._by_choice: dict[tuple[str, str], list[tuple[LayerTuning, FormatCombination]]] = {}
        for tuning in self.tunings.values():
            for combination in tuning.combinations if tuning.name else ():
                runner, number = combination.chosen_runner, combination.chosen_id
                if runner is not None and number is not None and combination.chosen_ms is not None:
                    self._by_choice.setdefault((runner, number), []).append((tuning, combination))

    def find_tuning(self, layer: _Layer) -> LayerTuning | None:
        """Return the tuning of a layer, or of the only Myelin layer that it was made from."""
        if layer.name in self.tunings:
            return self.tunings[layer.name]
        made_from = {
            id(self._by_node[node]): self._by_node[node] for node in layer.onnx_nodes if node in self._by_node
        }
        return next(iter(made_from.values())) if len(made_from) == 1 else None

    def find_timed(self, layer: str, combination: FormatCombination) -> FormatCombination:
        """Return where a cached combination was timed: the same layer under another strategy, else one with the same formats
        and result; the combination itself if it was not.
        """
        if not combination.is_cached:
            return combination
        own = self._timed_as.get((layer, combination.text))
        return own or self._with_result.get(_result(combination), combination)

    def find_equal(self, layer: _Layer) -> list[tuple[LayerTuning, FormatCombination]]:
        """Return the tunings of equal layers, each with the combination of formats of this layer, in the order of the log.

        TensorRT 8 times equal layers once, and prints no runner for the others. An equal layer has the same tactic number of
        the same runner, tensors of the same types and memory layouts, and the same attributes, as far as stated.
        """
        if layer.tactic_id is None or layer.layer_type is None or layer.layer_type in _NOT_TIMED:
            return []
        return [
            (tuning, combination)
            for tuning, combination in self._by_choice.get((layer.layer_type, layer.tactic_id), ())
            if tuning.name != layer.name
            and _fits(layer.inputs, combination.inputs)
            and _fits(layer.outputs, combination.outputs)
            and self._is_equal(layer, self._layers.get(tuning.name))
        ]

    @staticmethod
    def _is_equal(layer: _Layer, other: _Layer | None) -> bool:
        if other is None or layer.kind != other.kind:
            return False
        keys = (layer.attributes.keys() & other.attributes.keys()) - _DIFFERING - _OWN_KEYS
        tensors = (
            [(port.shape, port.dtype, port.format) for side in (each.inputs, each.outputs) for port in side]
            for each in (layer, other)
        )
        return next(tensors) == next(tensors) and all(
            layer.attributes[key] == other.attributes[key] for key in keys
        )


_OWN_KEYS = frozenset(
    {"Name", "LayerType", "ParameterType", "Inputs", "Outputs", "Constants", "TacticName", "TacticValue"}
)


def _result(combination: FormatCombination) -> tuple[Any, ...]:
    return (combination.text, combination.chosen_runner, combination.chosen_id, combination.chosen_ms)


def find_choices(trace: BuildTrace, engine: Engine | None = None) -> list[LayerChoice]:
    """Return how the tactic of each layer was chosen: of the engine, or of the log's own list, in execution order."""
    if engine is None:
        layers = _listed_in_log(trace)
    else:
        layers = _list_layers(engine.layers, engine.attributes, [engine.inputs, engine.outputs])
    log = _Log(trace, layers)
    return [_choose(layer, log) for layer in layers]


def _choose(layer: _Layer, log: _Log) -> LayerChoice:
    plain = LayerChoice(layer.name, layer.tactic_id, reformat=log.reformats.get(layer.name))
    tuning = log.find_tuning(layer)
    if tuning is None:
        return _reuse(layer, equal, log) if (equal := log.find_equal(layer)) else plain
    is_part = tuning.name != layer.name
    owner = log.owners.get(tuning.name) if is_part else None
    whole = owner or layer
    candidates = _find_candidates(whole, tuning, is_part=is_part and owner is None)
    for port in whole.inputs:
        wanted = log.entry_formats.get((tuning.name, port.name.removeprefix("Reformatted ")))
        candidates = [fitting for fitting in candidates if wanted in fitting.inputs] or candidates
    combination = candidates[0] if candidates else None
    table = _find_table(layer, combination) if is_part and combination else None
    choice = replace(
        plain,
        tuning=tuning,
        combination=combination,
        is_ambiguous=len(candidates) > 1,
        table=table,
        agrees=_agrees(layer, tuning, candidates, table),
        precisions=_find_precisions(tuning),
    )
    return _with_contenders(choice, layer, log)


def _reuse(layer: _Layer, equal: Sequence[tuple[LayerTuning, FormatCombination]], log: _Log) -> LayerChoice:
    """Return how the tactic of a layer was chosen that was timed for equal layers."""
    tuning, combination = equal[0]
    choice = LayerChoice(
        layer.name,
        layer.tactic_id,
        tuning,
        combination,
        is_ambiguous=len({combination.chosen_ms for _, combination in equal}) > 1,
        agrees=True,
        precisions=_find_precisions(tuning),
        reused_from=tuning.name,
    )
    return _with_contenders(choice, layer, log)


def _find_candidates(layer: _Layer, tuning: LayerTuning, *, is_part: bool) -> list[FormatCombination]:
    """Return the combinations that the engine's layer may have been built with, the most likely first."""
    chosen = [combination for combination in tuning.combinations if combination.chosen_id is not None]
    if is_part:
        wanted = {port.dtype for port in (*layer.inputs, *layer.outputs) if port.dtype}
        fitting = [combination for combination in chosen if find_precision(combination) in wanted]
        return chosen[:1] if len(chosen) == 1 else fitting or chosen
    if layer.tactic_id is not None:
        chosen = [combination for combination in chosen if combination.chosen_id == layer.tactic_id]
    if layer.layer_type not in (None, "NoOp"):
        own = [combination for combination in chosen if combination.chosen_runner == layer.layer_type]
        chosen = own or chosen
    return [
        combination
        for combination in chosen
        if _fits(layer.inputs, combination.inputs) and _fits(layer.outputs, combination.outputs)
    ] or chosen


def _fits(ports: Sequence[Port], formats: Sequence[str]) -> bool:
    """Return whether types and vectors are equal, as far as known."""
    for port, text in zip(ports, formats, strict=False):
        dtype, match = parse_data_type(text), _VECTOR.search(text)
        if port.dtype is not None and dtype is not None and port.dtype != dtype.value:
            return False
        if parse_format(port.format_text or "").vector != (int(match[1]) if match else 1):
            return False
    return True


def _find_table(layer: _Layer, combination: FormatCombination) -> MyelinTable | None:
    """Return the table of the operator of a kernel: found by its kernel, else by its ONNX nodes."""
    tables = [table for trial in combination.runners for table in trial.myelin if len(table.tactics)]
    nodes = set(layer.onnx_nodes)
    fitting = [table for table in tables if nodes & {*table.onnx_nodes, table.operator}]
    if layer.tactic:
        fitting = [table for table in fitting if _has_kernel(table, layer.tactic)] or fitting
    return fitting[0] if len(fitting) == 1 else None


def _has_kernel(table: MyelinTable, kernel: str) -> bool:
    return any(row.name == kernel for row in table.tactics)


def _agrees(
    layer: _Layer, tuning: LayerTuning, candidates: list[FormatCombination], table: MyelinTable | None
) -> bool | None:
    if table is not None:
        return None if layer.tactic is None else _has_kernel(table, layer.tactic)
    has_choice = any(combination.chosen_id is not None for combination in tuning.combinations)
    if layer.tactic_id is None or tuning.name != layer.name or not has_choice:
        return None
    return bool(candidates)


def _find_precisions(tuning: LayerTuning) -> tuple[PrecisionCost, ...]:
    best: dict[str, PrecisionCost] = {}
    for combination in tuning.combinations:
        precision, time_ms = find_precision(combination), combination.chosen_ms
        if precision is None or time_ms is None:
            continue
        if precision not in best or time_ms < best[precision].time_ms:
            best[precision] = PrecisionCost(precision, time_ms, combination)
    return tuple(sorted(best.values(), key=attrgetter("time_ms")))


# Contenders


def _list_contenders(choice: LayerChoice, log: _Log) -> list[Contender]:
    """Return everything timed in the formats of a layer, or for its operator, the fastest first; each with its best time."""
    if choice.table is not None:
        rows = choice.table.tactics
        found = [Contender("Myelin", None, row.name, row.time_ms) for row in rows if row.time_ms is not None]
        return sorted(found, key=attrgetter("time_ms"))
    if choice.combination is None:
        return []
    best: dict[tuple[str, str | None], Contender] = {}
    for trial in log.find_timed(choice.tuning.name if choice.tuning else "", choice.combination).runners:
        for contender in list_timed(trial):
            key = (contender.runner, contender.id)
            if key not in best or contender.time_ms < best[key].time_ms:
                best[key] = contender
    return sorted(best.values(), key=attrgetter("time_ms"))


def list_timed(trial: RunnerTrial) -> list[Contender]:
    """Return the tactics of a runner with their times; if none is listed, its fastest."""
    timed = [(tactic.id, tactic.name, tactic.time_ms) for tactic in trial.tactics]
    if not any(time_ms is not None for *_, time_ms in timed):
        timed = [(trial.fastest_id or "", None, trial.fastest_ms)]
    return [
        Contender(trial.runner, number or None, name, time_ms)
        for number, name, time_ms in timed
        if time_ms is not None
    ]


def _with_contenders(choice: LayerChoice, layer: _Layer, log: _Log) -> LayerChoice:
    contenders = _list_contenders(choice, log)
    return replace(choice, contenders=tuple(contenders), chosen=_find_chosen(choice, layer, contenders, log))


def _find_chosen(
    choice: LayerChoice, layer: _Layer, contenders: list[Contender], log: _Log
) -> Contender | None:
    combination = choice.combination
    if combination is None:
        return None
    if choice.table is not None:
        named = [contender for contender in contenders if contender.name == layer.tactic]
        return (named or contenders)[0] if contenders else None
    runner, number, time_ms = combination.chosen_runner, combination.chosen_id, combination.chosen_ms
    if runner is None or time_ms is None:
        return None
    same = (
        contender.name for contender in contenders if (contender.runner, contender.id) == (runner, number)
    )
    return Contender(runner, number, next(same, None) or log.kernel_names.get(number or ""), time_ms)


def _is_same(contender: Contender, other: Contender) -> bool:
    if contender.id is None or other.id is None:
        return contender.name == other.name
    return (contender.runner, contender.id) == (other.runner, other.id)


# Tables


@dataclass(frozen=True, eq=False)
class BuildJoin:
    """A log, joined with the layers of an engine.

    Attributes:
        choices: One per layer of the engine, by its index.
    """

    trace: BuildTrace
    choices: list[LayerChoice]

    @cached_property
    def layers_of_tuning(self) -> dict[int, tuple[int, ...]]:
        """Index of a tuning in the trace -> layers made from it: one, several for Myelin and for equal layers, or none."""
        numbers = {id(tuning): number for number, tuning in enumerate(self.trace.tunings)}
        made: dict[int, tuple[int, ...]] = {}
        for layer, choice in enumerate(self.choices):
            if choice.tuning is not None:
                number = numbers[id(choice.tuning)]
                made[number] = (*made.get(number, ()), layer)
        return made

    def choice_of_tuning(self, number: int) -> LayerChoice | None:
        """Return the choice for the layer of the tuning's name; None if there is none, or the layer was split."""
        layers = self.layers_of_tuning.get(number, ())
        own = [self.choices[layer] for layer in layers if self.choices[layer].reused_from is None]
        return own[0] if len(own) == 1 and own[0].name == self.trace.tunings[number].name else None

    @cached_property
    def tuned(self) -> pd.DataFrame:
        """A row per tuning of the log, in its order; the columns are described in `TUNED`."""
        rows = [self._tuned_row(number, tuning) for number, tuning in enumerate(self.trace.tunings)]
        table = pd.DataFrame(rows, columns=[*TUNED], dtype=object)
        floats = ("seconds", "chosen_ms", "fastest_ms", "second_ms", "margin_pct")
        types: dict[str, Any] = dict.fromkeys(floats, FLOAT) | dict.fromkeys(
            ("line", "tactics", "skipped"), INT
        )
        types |= dict.fromkeys(("name", "tactic", "precision"), TEXT)
        return table.astype(types | {"strategy": INT, "is_near_tie": FLAG, "is_cached": FLAG})

    def _tuned_row(self, number: int, tuning: LayerTuning) -> tuple[Any, ...]:
        layers, choice = self.layers_of_tuning.get(number, ()), self.choice_of_tuning(number)
        chosen_ms = choice.chosen.time_ms if choice and choice.chosen else None
        if choice is None and layers:
            formats = {id(found): found for layer in layers if (found := self.choices[layer].combination)}
            known = len(formats) == 1 and all(self.choices[layer].combination for layer in layers)
            chosen_ms = next(iter(formats.values())).chosen_ms if known else None
        chosen = choice.chosen if choice else None
        return (
            tuning.line,
            tuning.name,
            tuning.strategy,
            layers,
            tuning.seconds,
            tuning.tactic_count,
            len(tuning.skipped),
            chosen.name if chosen else None,
            chosen_ms,
            choice.fastest.time_ms if choice and choice.fastest else None,
            choice.second.time_ms if choice and choice.second else None,
            choice.margin_pct if choice else None,
            choice is not None and choice.is_near_tie,
            choice.precision if choice else None,
            tuning.is_cached,
        )

    def tactics(self, number: int) -> pd.DataFrame:
        """Return every tactic of a tuning, in the order of the log: timed, skipped, or from the cache. Columns: `TACTICS`."""
        layers = [self.choices[layer] for layer in self.layers_of_tuning.get(number, ())]
        built = {id(choice.combination) for choice in layers}
        kernels = {
            choice.chosen.name for choice in layers if choice.table is not None and choice.chosen is not None
        }
        rows = [
            row
            for place, combination in enumerate(self.trace.tunings[number].combinations, start=1)
            for row in _list_tactics(combination, place, id(combination) in built, kernels)
        ]
        table = pd.DataFrame(rows, columns=[*TACTICS], dtype=object)
        types: dict[str, Any] = dict.fromkeys(("line", "formats"), INT) | {"time_ms": FLOAT}
        types |= dict.fromkeys(("runner", "id", "tactic", "operator", "skipped"), TEXT)
        return table.astype(
            types | dict.fromkeys(("is_chosen", "is_fastest", "in_engine", "is_cached"), FLAG)
        )


def _list_tactics(
    combination: FormatCombination, number: int, in_engine: bool, kernels: set[str | None]
) -> Iterator[tuple[Any, ...]]:
    runner, chosen_id = combination.chosen_runner, combination.chosen_id
    if combination.is_cached:
        fixed = (combination.line, number, runner or "", chosen_id, None, None, combination.cached_ms)
        yield (*fixed, True, True, in_engine, None, True)
        return
    timed: list[tuple[Any, ...]] = []
    for trial in combination.runners:
        rows = [(tactic.id, tactic.name, tactic.time_ms) for tactic in trial.tactics]
        if not rows and trial.fastest_ms is not None:
            rows = [(trial.fastest_id or "", None, trial.fastest_ms)]
        timed += [(trial.line, number, trial.runner, row[0], row[1], None, row[2]) for row in rows]
    fastest_ms = min((row[6] for row in timed if row[6] is not None), default=None)
    own = [
        place
        for place, row in enumerate(timed)
        if chosen_id is not None and (row[2], row[3]) == (runner, chosen_id)
    ]
    chosen = min(
        own, key=lambda place: math.inf if timed[place][6] is None else timed[place][6], default=None
    )
    for place, row in enumerate(timed):
        is_chosen = place == chosen
        is_fastest = fastest_ms is not None and row[6] == fastest_ms
        yield (*row, is_chosen, is_fastest, is_chosen and in_engine, None, False)
    for trial in combination.runners:
        for tactic in trial.skipped:
            head = (tactic.line, number, trial.runner, tactic.id, None, None, None)
            yield (*head, False, False, False, tactic.message, False)
        for table in trial.myelin:  # Myelin uses the first of each table
            for place, row in enumerate(table.tactics):
                times = (None, row.name or None, table.operator, row.time_ms)
                is_used = not place and in_engine and row.name in kernels
                yield (table.line, number, trial.runner, *times, not place, not place, is_used, None, False)


@per_engine
def join_build(engine: Engine) -> BuildJoin | None:
    """Return the log of the build joined with the engine; None without a log of a build. Takes long for a verbose log."""
    trace = engine.build
    return None if trace is None else BuildJoin(trace, find_choices(trace, engine))


def phase_totals(trace: BuildTrace) -> pd.DataFrame:
    """Return a row per kind of phase and strategy, in the order of the log: kind, strategy, seconds, count."""
    rows = [(phase.kind, phase.strategy, phase.seconds) for phase in trace.phases]
    frame = pd.DataFrame(rows, columns=["kind", "strategy", "seconds"], dtype=object)
    frame = frame.astype({"kind": TEXT, "strategy": INT, "seconds": FLOAT})
    groups = frame.groupby(["kind", "strategy"], dropna=False, sort=False)["seconds"]
    return groups.agg(seconds="sum", count="size").reset_index()


def build_seconds(trace: BuildTrace) -> float | None:
    """Return the duration of the whole build: trtexec's clock, else the sum over the candidate engines; None if unknown."""
    whole = [phase.seconds for phase in trace.phases if phase.kind == "engine build"]
    parts = [phase.seconds for phase in trace.phases if phase.kind == "engine generation"]
    return whole[-1] if whole else sum(parts) if parts else None


def near_ties(choices: Iterable[LayerChoice]) -> list[LayerChoice]:
    """Return layers whose choice of tactic is a near tie, the narrowest first."""
    ties = [choice for choice in choices if choice.is_near_tie]
    return sorted(ties, key=lambda choice: abs(choice.margin_pct or 0.0))


_LOG = "verbose build log"
TUNED = by_key(
    Column("line", "Line", "First line of the tuning in the log.", source=_LOG),
    Column("name", "Layer", "Name of the layer while it was tuned.", source=_LOG, is_free_text=True),
    Column("strategy", "Strategy", "Number of the backend strategy.", source=_LOG),
    Column("layers", "Layers", "Layers of the engine made from it; none if another strategy won.",
        is_list=True),
    Column("seconds", "s", "Duration of the tuning; missing before TensorRT 8.6.", source=_LOG),
    Column("tactics", "Tactics", "Tactics timed, including rows of Myelin's tables.", source=_LOG),
    Column("skipped", "Skipped", "Tactics that were not timed.", source=_LOG),
    Column("tactic", "Tactic", "Kernel that was chosen.", source=_LOG, is_free_text=True),
    Column("chosen_ms", "Chosen ms", "The builder's time of the engine's choice.", source=_LOG),
    Column("fastest_ms", "Fastest ms", "Fastest time in the same formats, over all runners.", source=_LOG),
    Column("second_ms", "Second ms", "Fastest time other than that of the choice.", source=_LOG),
    Column("margin_pct", "Margin %", "Additional time of the second; negative if it is faster.",
        "100 · (second_ms - chosen_ms) / chosen_ms", _LOG),
    Column("is_near_tie", "Near tie", "The next build may choose differently.",
        f"|margin_pct| < {NEAR_TIE_PCT:g}"),
    Column("precision", "Prec", "Type of the first input.", source=_LOG),
    Column("is_cached", "Cached", "All results came from the timing cache.", source=_LOG),
)  # fmt: skip
"""Columns of `BuildJoin.tuned`."""
TACTICS = by_key(
    Column("line", "Line", "Line of the log where the trial of its runner begins.", source=_LOG),
    Column("formats", "Formats", "Number of the combination of formats, from 1.", source=_LOG),
    Column("runner", "Runner", "Runner of the tactic: CaskConvolution, Myelin and others.", source=_LOG),
    Column("id", "Tactic id", "Tactic number.", source=_LOG),
    Column("tactic", "Tactic", "Name of the kernel.", source=_LOG, is_free_text=True),
    Column("operator", "Operator", "For a Myelin kernel, the operator it was tried for.", source=_LOG),
    Column("time_ms", "ms", "Time that the builder measured; missing if it was not timed.", source=_LOG),
    Column("is_chosen", "Chosen", "The builder chose it for this combination (or operator).", source=_LOG),
    Column("is_fastest", "Fastest", "The fastest of this combination (or operator).", source=_LOG),
    Column("in_engine", "In engine", "The engine uses it: chosen, in the formats of the engine's layer."),
    Column("skipped", "Skipped", "Why it was not timed.", source=_LOG, is_free_text=True),
    Column("is_cached", "Cached", "Its time is from the timing cache.", source=_LOG),
)  # fmt: skip
"""Columns of `BuildJoin.tactics`."""
