"""What the builder tried for each layer: format combinations, runners, tactics, and what it chose."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from trex_tui.artifacts.buildlog.tactics import MyelinTactics, Tactic, Tactics


class SkipReason(str, Enum):
    """Why a tactic was not timed."""

    WORKSPACE = "workspace"
    """Its scratch memory exceeds the workspace: `skipped. Scratch requested: N, available: M`."""
    DEVICE_MEMORY = "device memory"
    """The device has too little memory free: `Device memory is insufficient to use tactic`."""
    OTHER = "other"


class SkippedTactic(NamedTuple):
    """A tactic that the builder did not time.

    Attributes:
        line: Line of the log, from 1; likewise everywhere below.
        id: Its number; None where the message does not say.
        requested_bytes, available_bytes: Memory it needs, and what there was; None where not said. For Myelin what there was
            is its budget: the workspace and the layer's own weights.
        message: The line's text.
    """

    line: int
    id: int | None
    reason: SkipReason
    requested_bytes: int | None
    available_bytes: int | None
    message: str


@dataclass(frozen=True, slots=True)
class MyelinTable:
    """`Sorted table of all evaluated tactics` of one operator inside a Myelin layer.

    Attributes:
        operator: Name behind `Autotuning op`; empty if none was printed.
        onnx_nodes: Names out of the `[ONNX Layer: …]` behind it.
        tactics: The rows, the fastest first, which is the one Myelin takes.
    """

    line: int
    operator: str
    onnx_nodes: tuple[str, ...]
    tactics: MyelinTactics


class Outcome(str, Enum):
    """How timing a runner ended."""

    TIMED = "timed"
    """At least one tactic has a time."""
    NO_VALID_TACTIC = "no valid tactic"
    SKIPPED = "skipped"
    """Tactics were there, and each was skipped."""
    UNFINISHED = "unfinished"
    """The log says no more about it: it is cut off, or the build failed here."""


class RunnerTrial(NamedTuple):
    """One runner (a library or family of kernels) tried on one format combination.

    Attributes:
        runner: `CaskConvolution`, `Myelin`, …
        runner_id: The number in brackets behind it (8.6 and later), verbatim.
        tactics: Those timed.
        skipped: Those not timed, with the reason.
        fastest_id, fastest_ms: What the log prints as `Fastest Tactic`; None if it does not, or none was valid.
        seconds: What timing this runner took; printed by 8.6 and later.
        available, pruned: How many tactics there were, and how many of them heuristics took away (8.6 and later).
        myelin: Tables of the operators inside, for the Myelin runner.
    """

    line: int
    runner: str
    runner_id: str | None
    outcome: Outcome
    tactics: Tactics
    skipped: tuple[SkippedTactic, ...] = ()
    fastest_id: int | None = None
    fastest_ms: float | None = None
    seconds: float | None = None
    available: int | None = None
    pruned: int | None = None
    myelin: tuple[MyelinTable, ...] = ()

    @property
    def myelin_count(self) -> int:
        """Rows of Myelin's tables: kernels that Myelin timed for the operators inside, on its own."""
        return sum(len(table.tactics) for table in self.myelin)

    @property
    def tactic_count(self) -> int:
        """Number of tactics timed: those that have a line of their own, and the rows of Myelin's tables.

        This is what screens, commands, lint and reports all call `tactics`; the sums below add it up.
        """
        return len(self.tactics) + self.myelin_count

    @property
    def fastest(self) -> Tactic | None:
        """The timed tactic that took least; None if none has a time."""
        timed = [tactic for tactic in self.tactics if tactic.time_ms is not None]
        return min(timed, key=lambda tactic: tactic.time_ms or 0.0, default=None)


class FormatCombination(NamedTuple):
    """One way to lay out a layer's inputs and outputs, and what was timed for it.

    Attributes:
        inputs, outputs: As printed: `Float(784,784,28,1)` is type and strides, `Half(3136,1:8,112,4)` has 8 elements per
            vector in the dimension with the colon.
        runners: In the order tried; empty for a cached result.
        chosen_runner, chosen_id: What the log says was chosen for this combination; None if nothing was (no runner had a
            valid tactic, or the log ends).
        cached_ms: Time out of the timing cache (`got cached result`); None if the combination was timed in this build.
        is_cached: Whether the result came out of the timing cache.
    """

    line: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    runners: tuple[RunnerTrial, ...] = ()
    chosen_runner: str | None = None
    chosen_id: int | None = None
    cached_ms: float | None = None
    is_cached: bool = False

    @property
    def text(self) -> str:
        """As printed: `Half(25088,784,28,1) -> Half(6272,196,14,1)`."""
        return f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"

    @property
    def chosen_trial(self) -> RunnerTrial | None:
        """The trial of the chosen runner; None for a cached result."""
        return next((one for one in self.runners if one.runner == self.chosen_runner), None)

    @property
    def chosen_name(self) -> str | None:
        """Name of the chosen kernel, where the log gives one."""
        trial = self.chosen_trial
        return next((one.name for one in trial.tactics if one.id == self.chosen_id), None) if trial else None

    @property
    def chosen_ms(self) -> float | None:
        """Time of the choice; None if nothing was chosen or it has no time."""
        if self.is_cached:
            return self.cached_ms
        trial = self.chosen_trial
        if trial is None or self.chosen_id is None:
            return None
        times = [one.time_ms for one in trial.tactics if one.id == self.chosen_id and one.time_ms is not None]
        if times:
            return min(times)
        return trial.fastest_ms if trial.fastest_id == self.chosen_id else None

    @property
    def seconds(self) -> float | None:
        """What timing all its runners took; None where the log does not say for any."""
        return sum_of_known(one.seconds for one in self.runners)

    @property
    def tactic_count(self) -> int:
        """Number of tactics timed, over all runners; see `RunnerTrial.tactic_count`."""
        return sum(one.tactic_count for one in self.runners)

    @property
    def myelin_count(self) -> int:
        """How many of them are rows of Myelin's tables."""
        return sum(one.myelin_count for one in self.runners)


@dataclass(frozen=True, slots=True)
class LayerTuning:
    """All that was tried for one layer, under one backend strategy and optimization profile.

    Attributes:
        name: Name of the layer while it was tuned; equal to its name in the engine unless Myelin or a later pass renames it.
        strategy: Number of the backend strategy; None before 8.6, which has no such thing.
        optimization_profile: Which of several was constructed; from 0.
        combinations: In the order tried.
        metadata: `ForeignNode … metadata`: which ONNX nodes are inside, verbatim; empty if not printed.
        began_s, ended_s: Time stamps of its first and last line, in seconds since the log's first; whole seconds, None where
            the log has no stamps.
    """

    line: int
    name: str
    strategy: int | None
    optimization_profile: int
    combinations: tuple[FormatCombination, ...]
    metadata: str = ""
    began_s: float | None = None
    ended_s: float | None = None

    @property
    def seconds(self) -> float | None:
        """What timing it took, as the log prints it for its runners (8.6 and later); before, None: see `began_s`."""
        return sum_of_known(one.seconds for one in self.combinations)

    @property
    def tactic_count(self) -> int:
        """Number of tactics timed in this build; see `RunnerTrial.tactic_count`."""
        return sum(one.tactic_count for one in self.combinations)

    @property
    def myelin_count(self) -> int:
        """How many of them are rows of Myelin's tables."""
        return sum(one.myelin_count for one in self.combinations)

    @property
    def skipped(self) -> tuple[SkippedTactic, ...]:
        """All tactics skipped, over all combinations and runners."""
        return tuple(one for trial in self.trials() for one in trial.skipped)

    @property
    def is_cached(self) -> bool:
        """Whether every result came out of the timing cache."""
        return bool(self.combinations) and all(one.is_cached for one in self.combinations)

    def trials(self) -> Iterator[RunnerTrial]:
        """Every runner tried, over all combinations."""
        for combination in self.combinations:
            yield from combination.runners


@dataclass(frozen=True, slots=True)
class ReformatCost:
    """What the builder found a change of layout to cost.

    Attributes:
        source, target: Tensor names: `Optimizer Reformat(tensor-0 -> <out>)`; `<in>` and `<out>` are the builder's own.
        combination: The layouts, one on each side, and what was timed.
    """

    line: int
    strategy: int | None
    source: str
    target: str
    combination: FormatCombination

    @property
    def tensor(self) -> str:
        """The network's tensor that is reformatted."""
        return self.target if self.source == "<in>" else self.source

    @property
    def time_ms(self) -> float | None:
        """The fastest way; None if nothing has a time."""
        if self.combination.is_cached:
            return self.combination.cached_ms
        times = []
        for trial in self.combination.runners:
            tactic = trial.fastest if trial.fastest_ms is None else None
            times.append(tactic.time_ms if tactic else trial.fastest_ms)
        return min((time for time in times if time is not None), default=None)


@dataclass(frozen=True, slots=True)
class InsertedReformat:
    """`Adding reformat layer`: a copy that the choice of formats made necessary.

    Attributes:
        name: `Reformatted Input Tensor 0 to conv2`.
        tensor: The tensor that is copied.
        from_format, to_format: As in `FormatCombination`.
        cost_ms: What the builder found it to cost (`ReformatCost` of this tensor and these formats); None if not in the log.
    """

    line: int
    strategy: int | None
    name: str
    tensor: str
    from_format: str
    to_format: str
    cost_ms: float | None = None

    @property
    def layer_name(self) -> str:
        """Name of the layer in the engine: `Reformatting CopyNode for Input Tensor 0 to conv2`."""
        return self.name.replace("Reformatted ", "Reformatting CopyNode for ", 1)

    @property
    def consumer(self) -> str:
        """The layer it was inserted for."""
        return self.name.partition(" to ")[2]


def sum_of_known(values: Iterator[float | None]) -> float | None:
    """Sum of what is known; None if nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
