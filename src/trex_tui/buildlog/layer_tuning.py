"""The tactics that a builder timed, stored in columns: a build times millions, and an object each would take gigabytes.

Kernel and time of a tactic take 20 bytes. `Tactics` and `MyelinTactics` are sequences that create an object on access.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, NamedTuple, TypeVar, overload

_T = TypeVar("_T")

NO_TACTIC = 0xD15EA5EDD15EA5ED
"""Number that the builder prints as the fastest if no tactic was valid (its time is `inf`)."""


class TimedTactic(NamedTuple):
    """A timed tactic.

    Attributes:
        id: Its 64-bit number, unsigned; equal to `TacticValue` of the layer information.
        name: Name of the kernel; None if the log has only numbers (shuffles, reformats, cuBLAS, all of cuDNN).
        time_ms: None if the log has no finite time.
    """

    id: int
    name: str | None
    time_ms: float | None

    @property
    def hex(self) -> str:
        return hex_id(self.id)


class MyelinTactic(NamedTuple):
    """One row of a Myelin autotuning table (TensorRT 10 and later).

    Attributes:
        number: `tactic_id`, which counts from 0 within a table.
        time_ms: `cost(in ms)`.
        ratio: `cost/fastest_cost`.
        correlation: `prediction_correlation`, how well Myelin's model predicted the time.
        kernel: `kernel_name`.
        hash: `tactic_hash`; not a 64-bit tactic number.
        parameters: `tunable_parameter` and the rest of the row, verbatim.
    """

    number: int
    time_ms: float | None
    ratio: float | None
    correlation: float | None
    kernel: str
    hash: int
    parameters: str

    @property
    def hex(self) -> str:
        return f"0x{self.hash:x}"


def hex_id(number: int) -> str:
    """Format a tactic number as TensorRT 8.2 and later print it, with 16 digits."""
    return f"0x{number:016x}"


def parse_id(text: str) -> int | None:
    """Parse a tactic number: hexadecimal, or signed decimal as TensorRT 8.0 prints; None for anything else.

    >>> parse_id("-1") == parse_id("0xffffffffffffffff")
    True
    """
    try:
        number = int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    except ValueError:
        return None
    return number & 0xFFFF_FFFF_FFFF_FFFF if -(2**63) <= number < 2**64 else None


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(slots=True)
class TacticColumns:
    """Columns of all tactics of one log. Only the reader writes to them.

    Attributes:
        ids, times, names: One entry per tactic; `names` are indices of `texts`.
        numbers, costs, ratios, correlations, kernels, hashes, parameters: One entry per row of Myelin's tables.
        texts: Names and parameters, each once; the first one is empty.
    """

    ids: array[int] = field(default_factory=lambda: array("Q"))
    times: array[float] = field(default_factory=lambda: array("d"))
    names: array[int] = field(default_factory=lambda: array("I"))
    numbers: array[int] = field(default_factory=lambda: array("Q"))
    costs: array[float] = field(default_factory=lambda: array("d"))
    ratios: array[float] = field(default_factory=lambda: array("d"))
    correlations: array[float] = field(default_factory=lambda: array("d"))
    kernels: array[int] = field(default_factory=lambda: array("I"))
    hashes: array[int] = field(default_factory=lambda: array("Q"))
    parameters: array[int] = field(default_factory=lambda: array("I"))
    texts: list[str] = field(default_factory=lambda: [""])


class _View(Sequence[_T], Generic[_T]):
    """A range of the columns."""

    __slots__ = ("_columns", "_start", "_stop")

    def __init__(self, columns: TacticColumns, start: int, stop: int) -> None:
        self._columns = columns
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, index: int) -> _T: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[_T]: ...

    def __getitem__(self, index: int | slice) -> _T | Sequence[_T]:
        rows = range(self._start, self._stop)[index]
        return self._at(rows) if isinstance(rows, int) else [self._at(row) for row in rows]

    def __iter__(self) -> Iterator[_T]:
        return map(self._at, range(self._start, self._stop))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self)}>"

    @abstractmethod
    def _at(self, row: int) -> _T: ...


class Tactics(_View[TimedTactic]):
    """Tactics of one runner, in the order they were timed."""

    __slots__ = ()

    def _at(self, row: int) -> TimedTactic:
        columns = self._columns
        name = columns.texts[columns.names[row]]
        return TimedTactic(columns.ids[row], name or None, _known(columns.times[row]))

    @property
    def times_ms(self) -> array[float]:
        return self._columns.times[self._start : self._stop]


class MyelinTactics(_View[MyelinTactic]):
    """Rows of one Myelin table, the fastest first."""

    __slots__ = ()

    def _at(self, row: int) -> MyelinTactic:
        columns = self._columns
        return MyelinTactic(
            columns.numbers[row],
            _known(columns.costs[row]),
            _known(columns.ratios[row]),
            _known(columns.correlations[row]),
            columns.texts[columns.kernels[row]],
            columns.hashes[row],
            columns.texts[columns.parameters[row]],
        )

    @property
    def times_ms(self) -> array[float]:
        return self._columns.costs[self._start : self._stop]


class SkipReason(str, Enum):
    """Reason why a tactic was not timed."""

    WORKSPACE = "workspace"
    """Its scratch memory exceeds the workspace: `skipped. Scratch requested: N, available: M`."""
    DEVICE_MEMORY = "device memory"
    """The device has too little free memory: `Device memory is insufficient to use tactic`."""
    OTHER = "other"


class SkippedTactic(NamedTuple):
    """A tactic that the builder did not time.

    Attributes:
        line: Line of the log, from 1; likewise everywhere below.
        id: Its number; None if the message has none.
        requested_bytes, available_bytes: Memory needed and available; None if not printed. For Myelin the available memory is
            its budget: the workspace and the layer's own weights.
        message: The line's text.
    """

    line: int
    id: int | None
    reason: SkipReason
    requested_bytes: int | None
    available_bytes: int | None
    message: str


class MyelinTable(NamedTuple):
    """`Sorted table of all evaluated tactics` of one operator inside a Myelin layer.

    Attributes:
        operator: Name after `Autotuning op`; empty if not printed.
        onnx_nodes: Names in the `[ONNX Layer: …]` after it.
        tactics: The rows, the fastest first, which Myelin uses.
    """

    line: int
    operator: str
    onnx_nodes: tuple[str, ...]
    tactics: MyelinTactics


class TuningOutcome(str, Enum):
    """Outcome of timing a runner."""

    TIMED = "timed"
    """At least one tactic has a time."""
    NO_VALID_TACTIC = "no valid tactic"
    SKIPPED = "skipped"
    """It had tactics, and all were skipped."""
    UNFINISHED = "unfinished"
    """The log has no result: it is truncated, or the build failed here."""


class RunnerTrial(NamedTuple):
    """One runner (a library or family of kernels) tried on one format combination.

    Attributes:
        runner: `CaskConvolution`, `Myelin`, …
        runner_id: The number in brackets after it (8.6 and later), verbatim.
        tactics: Timed tactics.
        skipped: Tactics not timed, with the reason.
        fastest_id, fastest_ms: `Fastest Tactic` of the log; None if not printed, or if none was valid.
        seconds: Duration of timing this runner; printed by 8.6 and later.
        available, pruned: Number of tactics, and number removed by heuristics (8.6 and later).
        myelin: Tables of the operators inside, for the Myelin runner.
    """

    line: int
    runner: str
    runner_id: str | None
    outcome: TuningOutcome
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
        """Number of rows in Myelin's tables: kernels that Myelin timed itself for the operators inside."""
        return sum(len(table.tactics) for table in self.myelin)

    @property
    def tactic_count(self) -> int:
        """Number of tactics timed: those with a line of their own, and the rows of Myelin's tables.

        Screens, commands, lint and reports all use this number as `tactics`; the totals below add it up.
        """
        return len(self.tactics) + self.myelin_count

    @property
    def fastest(self) -> TimedTactic | None:
        """The fastest timed tactic; None if none has a time."""
        timed = [tactic for tactic in self.tactics if tactic.time_ms is not None]
        return min(timed, key=lambda tactic: tactic.time_ms or 0.0, default=None)


class FormatCombination(NamedTuple):
    """One choice of layouts for a layer's inputs and outputs, and what was timed for it.

    Attributes:
        inputs, outputs: As printed: `Float(784,784,28,1)` is type and strides, `Half(3136,1:8,112,4)` has 8 elements per
            vector in the dimension with the colon.
        runners: In the order tried; empty for a cached result.
        chosen_runner, chosen_id: Choice for this combination according to the log; None without a choice (no runner had a
            valid tactic, or the log ends).
        cached_ms: Time from the timing cache (`got cached result`); None if the combination was timed in this build.
        is_cached: Whether the result came from the timing cache.
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
        return next((trial for trial in self.runners if trial.runner == self.chosen_runner), None)

    @property
    def chosen_ms(self) -> float | None:
        """Time of the choice; None without a choice or a time."""
        if self.is_cached:
            return self.cached_ms
        trial = self.chosen_trial
        if trial is None or self.chosen_id is None:
            return None
        times = [
            tactic.time_ms
            for tactic in trial.tactics
            if tactic.id == self.chosen_id and tactic.time_ms is not None
        ]
        if times:
            return min(times)
        return trial.fastest_ms if trial.fastest_id == self.chosen_id else None

    @property
    def tactic_count(self) -> int:
        return sum(trial.tactic_count for trial in self.runners)


class LayerTuning(NamedTuple):
    """Everything tried for one layer, under one backend strategy and optimization profile.

    Attributes:
        name: Name of the layer while it was tuned; equal to its name in the engine unless Myelin or a later pass renames it.
        strategy: Number of the backend strategy; None before 8.6, which has no strategies.
        optimization_profile: Index of the profile, from 0.
        combinations: In the order tried.
        metadata: `ForeignNode … metadata`: the ONNX nodes inside, verbatim; empty if not printed.
        began_s, ended_s: Time stamps of its first and last line, in seconds since the log's first; whole seconds, None if the
            log has no time stamps.
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
        """Duration of timing, as printed for its runners (8.6 and later); None before: see `began_s`."""
        return sum_of_known(trial.seconds for trial in self.trials())

    @property
    def tactic_count(self) -> int:
        return sum(trial.tactic_count for trial in self.trials())

    @property
    def myelin_count(self) -> int:
        return sum(trial.myelin_count for trial in self.trials())

    @property
    def skipped(self) -> tuple[SkippedTactic, ...]:
        return tuple(tactic for trial in self.trials() for tactic in trial.skipped)

    @property
    def is_cached(self) -> bool:
        return bool(self.combinations) and all(combination.is_cached for combination in self.combinations)

    def trials(self) -> Iterator[RunnerTrial]:
        for combination in self.combinations:
            yield from combination.runners


class ReformatCost(NamedTuple):
    """Measured cost of a change of layout.

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
        """Time of the fastest way; None without times."""
        if self.combination.is_cached:
            return self.combination.cached_ms
        times = []
        for trial in self.combination.runners:
            tactic = trial.fastest if trial.fastest_ms is None else None
            times.append(tactic.time_ms if tactic else trial.fastest_ms)
        return min((time for time in times if time is not None), default=None)


class InsertedReformat(NamedTuple):
    """`Adding reformat layer`: a copy that the choice of formats requires.

    Attributes:
        name: `Reformatted Input Tensor 0 to conv2`.
        tensor: The tensor that is copied.
        from_format, to_format: As in `FormatCombination`.
        cost_ms: Measured cost (`ReformatCost` of this tensor and these formats); None if not in the log.
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
        return self.name.partition(" to ")[2]


def sum_of_known(values: Iterator[float | None]) -> float | None:
    """Return the sum of the known values; None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
