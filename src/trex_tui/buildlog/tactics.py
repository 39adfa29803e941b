"""The builder's trials: layers, formats, runners, tactics with their times, tactics that were skipped, and reformats.

A build times millions of tactics, so a tactic is a plain tuple, and every text is kept once. The number of a tactic is that
of `TacticValue`, `0x` and 16 digits, also where a log prints a signed decimal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple


class TimedTactic(NamedTuple):
    """A timed tactic, or a row of a table of Myelin.

    Attributes:
        id: Its number, equal to `TacticValue` of the layer information; of a row `tactic_hash`, which is none.
        name: Name of the kernel; None if the log has only numbers (shuffles, reformats, cuBLAS, all of cuDNN).
        time_ms: None if the log has no finite time.
    """

    id: str
    name: str | None
    time_ms: float | None


SkipReason = Literal["workspace", "device memory", "other"]
"""Too little workspace for its scratch memory, or too little free memory of the device."""


class SkippedTactic(NamedTuple):
    """A tactic that the builder did not time.

    Attributes:
        requested_bytes, available_bytes: Memory needed and available; None if not printed. For Myelin the available memory is
            its budget: the workspace and the layer's own weights.
        message: The line's text.
        layer: Layer that was tuned; empty if the log does not name it.
    """

    line: int
    id: str | None
    reason: SkipReason
    requested_bytes: int | None
    available_bytes: int | None
    message: str
    layer: str = ""


class MyelinTable(NamedTuple):
    """`Sorted table of all evaluated tactics` of one operator inside a Myelin layer (TensorRT 10 and later).

    Attributes:
        operator: Name after `Autotuning op`; empty if not printed.
        tactics: The rows, the fastest first, which Myelin uses.
    """

    line: int
    operator: str
    onnx_nodes: tuple[str, ...]
    tactics: list[TimedTactic]


Outcome = Literal["timed", "no valid tactic", "skipped", "unfinished"]
"""`skipped` if it had tactics, and all were skipped; `unfinished` if the log ends, or the build failed here."""


class RunnerTrial(NamedTuple):
    """One runner (a library or family of kernels) tried on one format combination.

    Attributes:
        runner: `CaskConvolution`, `Myelin`, …
        fastest_id, fastest_ms: `Fastest Tactic` of the log; None if not printed, or if none was valid.
        seconds: Duration of timing this runner; printed by 8.6 and later.
        myelin: Tables of the operators inside, for the Myelin runner.
    """

    line: int
    runner: str
    outcome: Outcome
    tactics: list[TimedTactic]
    skipped: tuple[SkippedTactic, ...] = ()
    fastest_id: str | None = None
    fastest_ms: float | None = None
    seconds: float | None = None
    myelin: tuple[MyelinTable, ...] = ()

    @property
    def tactic_count(self) -> int:
        """Number of tactics timed: those with a line of their own, and the rows of Myelin's tables."""
        return len(self.tactics) + sum(len(table.tactics) for table in self.myelin)

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
        runners: In the order tried; empty for a result from the timing cache (`is_cached`), whose time is `cached_ms`.
        chosen_runner, chosen_id: None without a choice: no runner had a valid tactic, or the log ends.
    """

    line: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    runners: tuple[RunnerTrial, ...] = ()
    chosen_runner: str | None = None
    chosen_id: str | None = None
    cached_ms: float | None = None
    is_cached: bool = False

    @property
    def text(self) -> str:
        """As printed: `Half(25088,784,28,1) -> Half(6272,196,14,1)`."""
        return f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"

    @property
    def chosen_ms(self) -> float | None:
        """Time of the choice; None without a choice or a time."""
        trial = next((trial for trial in self.runners if trial.runner == self.chosen_runner), None)
        if trial is None or self.chosen_id is None:
            return self.cached_ms
        times = [tactic.time_ms for tactic in trial.tactics if tactic.id == self.chosen_id]
        fastest = trial.fastest_ms if trial.fastest_id == self.chosen_id else None
        return min((time for time in times if time is not None), default=fastest)

    @property
    def tactic_count(self) -> int:
        return sum(trial.tactic_count for trial in self.runners)


class LayerTuning(NamedTuple):
    """Everything tried for one layer, under one backend strategy and optimization profile.

    Attributes:
        name: Name of the layer while it was tuned; equal to its name in the engine unless Myelin or a later pass renames it.
        optimization_profile: Index of the profile, from 0.
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

    def trials(self) -> Iterator[RunnerTrial]:
        for combination in self.combinations:
            yield from combination.runners

    @property
    def seconds(self) -> float | None:
        """Duration of timing, as printed for its runners (8.6 and later); None before: see `began_s`."""
        known = [trial.seconds for trial in self.trials() if trial.seconds is not None]
        return sum(known) if known else None

    @property
    def tactic_count(self) -> int:
        return sum(trial.tactic_count for trial in self.trials())

    @property
    def skipped(self) -> tuple[SkippedTactic, ...]:
        return tuple(tactic for trial in self.trials() for tactic in trial.skipped)

    @property
    def is_cached(self) -> bool:
        return bool(self.combinations) and all(combination.is_cached for combination in self.combinations)


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
        times = [self.combination.cached_ms]
        for trial in self.combination.runners:
            fastest = trial.fastest
            times.append(trial.fastest_ms if trial.fastest_ms is not None else fastest and fastest.time_ms)
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


# --- reading -----------------------------------------------------------------------------------------------------------

Handler = Callable[[int, str], None]
"""Takes the number of a line and its message."""
_NO_TACTIC = "0xd15ea5edd15ea5ed"
"""Number that the builder prints as the fastest if no tactic was valid (its time is `inf`)."""
_TIME = " Time: "
_NAMED = "Tactic Name: "
_STARS = "*" * 15
_AUTOTUNE = {f"{_STARS} Autotuning format combination": False, f"{_STARS} Autotuning Reformat": True}
_SLOWLY_TIMED = re.compile(
    r"Tactic(?: Name: (?P<name>.+?) Tactic)?: (?P<id>-?\w+)(?: [Tt]ime: (?P<time>\S+))?\s*$"
)
_RUNNER = re.compile(r"-{15} Timing Runner: (?P<layer>.*) \((?P<runner>[^()\[\]]+)(?:\[[^\]]*\])?\)\s*$")
_CHOSE = re.compile(r">{15} Chose Runner Type: (?P<runner>\S+) Tactic: (?P<id>-?\w+)")
_CACHED = re.compile(r"(?P<runner>\S+), tactic (?P<id>-?\w+), (?P<time>\S+) ms")
_REFORMAT = re.compile(r"(?:Optimizer Reformat|<reformat>)(?:\((?P<source>.*) -> (?P<target>.*)\))?$")
_SET_NAME = re.compile(r"Set Tactic Name: (?P<name>.+?)(?: Tactic: (?P<id>-?\w+)(?P<more>.*))?$")
_SKIPPED = re.compile(
    r"Tactic: (?P<id>-?\w+) skipped\. Scratch requested: (?P<wanted>\d{1,18}), available: (?P<there>\d{1,18})"
)
_DEVICE_MEMORY = re.compile(r"Tactic Device request: (?P<wanted>\d{1,9})MB Available: (?P<there>\d{1,9})MB")
_INSUFFICIENT = re.compile(
    r"[Ss]kipping tactic \w+ due to (?P<memory>insuff?icient memory )?(?:on )?requested size of (?P<size>\d{1,18})"
    r"(?: detected for tactic (?P<id>-?\w+))?"
)
_BEYOND_BUDGET = re.compile(r"Exceeded mem budget of (?P<there>\d{1,18})\. Need (?P<wanted>\d{1,18})")
_OPERATOR = re.compile(r"Autotuning op (?P<name>.*?): (?P<nodes>\[ONNX Layer: .*)?$")
_NODE = re.compile(r"\[ONNX Layer: ([^\]\x1e\x1f]*)\]")
_FORMAT_END = re.compile(r"(?<=\)), ")
_FOREIGN = len(" (foreignNode)")
_LARGEST_MIB = 1 << 20
"""A larger size is in bytes, where a release may print MiB."""


def parse_id(text: str) -> str | None:
    """Return the number of a tactic with 16 digits: from hexadecimal, or from a signed decimal as TensorRT 8.0 prints; None
    for anything else.

    >>> parse_id("-1"), parse_id("0x3e8")
    ('0xffffffffffffffff', '0x00000000000003e8')
    """
    try:
        number = int(text, 16) if text[:2] in ("0x", "0X") else int(text)
    except ValueError:
        return None
    return f"0x{number & 0xFFFF_FFFF_FFFF_FFFF:016x}" if -(2**63) <= number < 2**64 else None


def parse_number(text: str) -> float | None:
    """Return a finite number; None for anything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@dataclass(slots=True)
class _Runner:
    """A runner that is being timed; attributes as in `RunnerTrial`.

    Attributes:
        table: Line of the Myelin table that is being read, and its rows.
        operator: Its name and ONNX nodes.
        budget: Memory that Myelin needed and had.
    """

    line: int
    name: str
    tactics: list[TimedTactic] = field(default_factory=list)
    seconds: float | None = None
    fastest_id: str | None = None
    fastest_ms: float | None = None
    is_invalid: bool = False
    skipped: list[SkippedTactic] = field(default_factory=list)
    myelin: list[MyelinTable] = field(default_factory=list)
    table: tuple[int, list[TimedTactic]] | None = None
    operator: tuple[str, tuple[str, ...]] = ("", ())
    budget: tuple[int, int] | None = None

    def end_table(self) -> None:
        if self.table is not None:
            line, rows = self.table
            self.myelin.append(MyelinTable(line, *self.operator, rows))
            self.table = None

    def finished(self) -> RunnerTrial:
        self.end_table()
        outcome: Outcome = "unfinished"
        if self.tactics or self.fastest_id is not None:
            outcome = "timed"
        elif self.skipped:
            outcome = "skipped"
        elif self.is_invalid or self.seconds is not None:
            outcome = "no valid tactic"
        timing = self.fastest_id, self.fastest_ms, self.seconds
        parts = self.tactics, tuple(self.skipped), *timing, tuple(self.myelin)
        return RunnerTrial(self.line, self.name, outcome, *parts)


class Tuner:
    """Collects tunings, costs of reformats, and inserted reformats.

    Attributes:
        heads: First six characters of a message -> handler.
        strategy, profile: Current backend strategy and optimization profile of the builder.
        at_s: Seconds since the log's first time stamp; None without time stamps.
        skipped: All skipped tactics.
        cached_results: Number of lines with `got cached result`.
    """

    def __init__(self) -> None:
        self.tunings: list[LayerTuning] = []
        self.costs: list[ReformatCost] = []
        self.added: list[InsertedReformat] = []
        self.skipped: list[SkippedTactic] = []
        self.strategy: int | None = None
        self.profile = 0
        self.at_s: float | None = None
        self.cached_results = 0
        self._layer: LayerTuning | None = None
        self._combinations: list[FormatCombination] = []
        self._combination: FormatCombination | None = None
        self._trials: list[RunnerTrial] = []
        self._runner: _Runner | None = None
        self._reformat: tuple[str, str] | None = None
        self._in_reformats = False
        self._set_name: tuple[str | None, str] | None = None
        self._ids: dict[str, str | None] = {}
        self._names: dict[str, str] = {}
        self._formats: dict[str, tuple[str, ...]] = {}
        self._kernels: dict[str, str] = {}
        self._ambiguous: set[str] = set()
        self.heads: dict[str, Handler] = {
            "Tactic": self.timed,
            "======": self._heading,
            "******": self._autotuning,
            ">>>>>>": self._chose,
            "Fastes": self.fastest,
            "Skippi": self._skipping,
            "Foreig": self._foreign_metadata,
            " (fore": self._myelin,
        }

    @property
    def layer_name(self) -> str:
        """Name of the layer that is being tuned; empty without one."""
        return self._layer.name if self._layer else ""

    @property
    def kernel_names(self) -> dict[str, str]:
        """Return tactic number -> kernel name; without numbers that have several names in the log."""
        return {number: name for number, name in self._kernels.items() if number not in self._ambiguous}

    def end(self) -> None:
        """End the layer that is being tuned."""
        self._end_layer()
        self._in_reformats = False

    # --- tactics ----------------------------------------------------------------------------------------------------------

    def timed(self, line: int, message: str) -> None:
        """Parse `Tactic: T Time: X`, `Tactic Name: K Tactic: T Time: X`, and why a tactic was skipped."""
        head, is_timed, time = message.rpartition(_TIME)
        name = ""
        if is_timed and head.startswith(_NAMED):
            name, _, text = head[len(_NAMED) :].rpartition(" Tactic: ")
        else:
            text = head[len("Tactic: ") :]
        number = self._id(text)
        if not is_timed or number is None:
            self._timed_otherwise(line, message)
            return
        self._add(line, number, name, time)

    def _timed_otherwise(self, line: int, message: str) -> None:
        if (match := _SLOWLY_TIMED.match(message)) and (number := self._id(match["id"])):
            if match["time"]:
                self._add(line, number, match["name"] or "", match["time"])
            elif match["name"]:  # printed for the choices at the end of a build
                self._note_kernel(number, match["name"])
        elif match := _SKIPPED.match(message):
            sizes = int(match["wanted"]), int(match["there"])
            self._skip(
                SkippedTactic(line, self._id(match["id"]), "workspace", *sizes, message, self.layer_name)
            )
        else:
            self.insufficient(line, message)

    def _add(self, line: int, number: str, name: str, time: str) -> None:
        if self._set_name is not None:
            wanted, known = self._set_name
            self._set_name = None
            name = known if wanted in (None, number) else name
        if name:
            name = self._note_kernel(number, name)
        if self._runner is None:
            self._begin_unnamed(line)
        if self._runner is not None:
            try:
                time_ms = float(time)
            except ValueError:
                time_ms = math.inf
            is_known = -math.inf < time_ms < math.inf
            self._runner.tactics.append(TimedTactic(number, name or None, time_ms if is_known else None))

    def _id(self, text: str) -> str | None:
        number = self._ids.get(text)
        if number is None and text not in self._ids:
            number = self._ids[text] = parse_id(text)
        return number

    def _note_kernel(self, number: str, name: str) -> str:
        known = self._kernels.setdefault(number, name)
        if known == name:
            return known
        self._ambiguous.add(number)
        return self._name(name)

    def set_name(self, message: str) -> None:
        """Parse `L Set Tactic Name: K Tactic: T`: the time follows on the next line."""
        if match := _SET_NAME.search(message):
            number = self._id(match["id"]) if match["id"] else None
            name = match["name"] + (match["more"] or "").rstrip()
            self._set_name = number, name
            if number is not None:
                self._note_kernel(number, name)

    def insufficient(self, line: int, message: str) -> None:
        """Parse why a tactic was skipped: too little workspace, or too little memory of the device."""
        if match := _DEVICE_MEMORY.search(message):
            wanted, there = int(match["wanted"]) << 20, int(match["there"]) << 20
            self._skip(SkippedTactic(line, None, "device memory", wanted, there, message, self.layer_name))
        elif match := _INSUFFICIENT.search(message):
            self._lacked(
                line, self._id(match["id"] or ""), match["memory"] or "", int(match["size"]), message
            )

    def _lacked(self, line: int, number: str | None, memory: str, size: int, message: str) -> None:
        """Parse `Skipping tactic I due to insufficient memory on requested size of S detected for tactic T`.

        The meaning of S depends on the source. For Myelin it repeats the budget, which is the workspace and the layer's
        weights; the need is in the line before (`Exceeded mem budget`), or missing. Up to 8.x, which writes `insuficient`, it
        may be device memory in MiB; mostly it repeats `Tactic Device request`.
        """
        budget = self._runner.budget if self._runner else None
        if self._runner is not None:
            self._runner.budget = None
        last = self.skipped[-1] if self.skipped else None
        if last is not None and last.reason == "device memory" and last.id is None:
            self._skip(last._replace(id=number), replaces=True)
            return
        reason: SkipReason = "workspace" if memory else "other"
        sizes: tuple[int | None, int | None] = (size, None)
        if budget is not None and budget[1] == size:
            sizes = budget
        elif memory.startswith("insuficient") and size < _LARGEST_MIB:
            reason, sizes = "device memory", (size << 20, None)
        elif self._runner is not None and self._runner.name == "Myelin":
            sizes = (None, size)
        self._skip(SkippedTactic(line, number, reason, *sizes, message, self.layer_name))

    def _skip(self, tactic: SkippedTactic, *, replaces: bool = False) -> None:
        for known in (self.skipped, self._runner.skipped if self._runner else []):
            if replaces and known:
                known.pop()
            known.append(tactic)

    # --- Myelin -----------------------------------------------------------------------------------------------------------

    def _myelin(self, line: int, message: str) -> None:
        """Parse ` (foreignNode) …`: a row of a table, its head, a new operator, or too small a budget."""
        parts = message[_FOREIGN:].split(", ", 6)
        if len(parts) >= 6 and (row := self._myelin_row(parts)):
            if self._runner is None:
                self._begin_unnamed(line)
            if self._runner is not None:
                self._runner.table = self._runner.table or (line - 1, [])
                self._runner.table[1].append(row)
            return
        runner = self._runner
        if runner is None:
            return
        if match := _OPERATOR.search(message):
            runner.end_table()
            runner.operator = (self._name(match["name"]), tuple(_NODE.findall(match["nodes"] or "")))
        elif "tactic_id, cost" in message:
            runner.end_table()
            runner.table = (line, [])
        elif match := _BEYOND_BUDGET.search(message):
            wanted = int(match["wanted"])
            if runner.budget is None or wanted > runner.budget[0]:
                runner.budget = wanted, int(match["there"])

    def _myelin_row(self, parts: list[str]) -> TimedTactic | None:
        """Return a row `tactic_id, cost(in ms), cost/fastest_cost, prediction_correlation, kernel_name, tactic_hash, …`."""
        number, cost, _, _, kernel, digest, *_ = parts
        digest = digest.partition(",")[0]
        if not number.strip().isdecimal() or not digest.startswith("0x"):
            return None
        return TimedTactic(digest, self._name(kernel), parse_number(cost))

    # --- runners ----------------------------------------------------------------------------------------------------------

    def runner(self, line: int, message: str) -> None:
        """Parse `--------------- Timing Runner: L (R[0x…])`."""
        match = _RUNNER.match(message)
        if match is None:
            return
        reformat = _REFORMAT.match(match["layer"])
        self._end_runner()
        if reformat:
            self._reformat = reformat["source"] or "", reformat["target"] or ""
        elif not self._in_reformats:
            self._belongs_to(line, self._name(match["layer"]))
        if self._combination is None:
            self._combination = FormatCombination(line, (), ())
        self._runner = _Runner(line, self._name(match["runner"]))

    def _belongs_to(self, line: int, name: str) -> None:
        """Name the layer by its first runner; before 8.2 nothing else marks the start of another layer."""
        if self._layer is None:
            self._begin_layer(line, name)
        elif not self._layer.name:
            self._layer = self._layer._replace(name=name)
        elif self._layer.name != name and not (self._combination and self._trials):
            combination, self._combination = self._combination, None
            self._end_layer()
            self._combination = combination
            self._begin_layer(combination.line if combination else line, name)

    def fastest(self, _line: int, message: str) -> None:
        """Parse `Fastest Tactic: … Time: …`, alone or after `profiling completed in S seconds.`"""
        before, separator, after = message.rpartition("Fastest Tactic: ")
        runner = self._runner
        if not separator or runner is None:
            return
        number_text, _, time_text = after.partition(_TIME)
        number, time = self._id(number_text), parse_number(time_text)
        if number != _NO_TACTIC and time is not None:
            runner.fastest_id, runner.fastest_ms = number, time
        if before:
            runner.seconds = parse_number(before.rpartition(" completed in ")[2].partition(" ")[0])

    def _skipping(self, line: int, message: str) -> None:
        runner, separator, _ = message[len("Skipping ") :].partition(": No valid tactics for ")
        if separator:
            self.no_valid_tactic(line, runner)
        else:
            self.insufficient(line, message)

    def no_valid_tactic(self, line: int, runner: str) -> None:
        """Handle `R has no valid tactics for this config, skipping`, or 10's `Skipping R: No valid tactics for L`."""
        if self._runner is not None and self._runner.name == runner:
            self._runner.is_invalid = True
            self._end_runner()
        elif self._combination is not None:
            # TensorRT 10 prints no `Timing Runner` before.
            self._end_runner()
            self._runner = _Runner(line, self._name(runner), is_invalid=True)
            self._end_runner()

    def _begin_unnamed(self, line: int) -> None:
        """Start a runner for tactics without a heading: the log begins in the middle, or lines are missing."""
        if self._combination is None:
            if self._layer is None and not self._in_reformats:
                self._begin_layer(line)
            self._combination = FormatCombination(line, (), ())
        self._runner = _Runner(line, "")

    def _end_runner(self) -> None:
        runner, self._runner = self._runner, None
        if runner is not None and self._combination is not None:
            self._trials.append(runner.finished())

    # --- formats and layers -----------------------------------------------------------------------------------------------

    def _heading(self, line: int, message: str) -> None:
        if message.startswith("=============== Computing costs for"):
            self._end_layer()
            self._in_reformats = False
            self._begin_layer(line, message[35:].strip())
        elif message.startswith("=============== Computing reformatting costs"):
            self._end_layer()
            self._in_reformats = True

    def _autotuning(self, line: int, message: str) -> None:
        """Parse `*************** Autotuning format combination: A -> B ***************`."""
        heading, _, rest = message.partition(":")
        inputs, arrow, outputs = rest.rstrip().partition(" -> ")
        is_reformat = _AUTOTUNE.get(heading)
        if is_reformat is None or not arrow or not outputs.endswith(_STARS):
            return
        self._end_combination()
        self._in_reformats = is_reformat
        if is_reformat:
            self._end_layer()
        elif self._layer is None:
            self._begin_layer(line)
        self._combination = FormatCombination(
            line, self._split(inputs), self._split(outputs.removesuffix(_STARS))
        )

    def _chose(self, _line: int, message: str) -> None:
        if match := _CHOSE.match(message):
            self._end_runner()
            if self._combination is not None:
                runner, number = self._name(match["runner"]), self._id(match["id"])
                self._combination = self._combination._replace(chosen_runner=runner, chosen_id=number)

    def cached(self, line: int, message: str) -> None:
        """Parse `L [A -> B] got cached result: R, tactic T, X ms`."""
        before, _, after = message.partition("] got cached result: ")
        layer, _, formats = before.rpartition(" [")
        inputs, arrow, outputs = formats.partition(" -> ")
        match = _CACHED.match(after)
        if match is None or not arrow or not layer:
            return
        self.cached_results += 1
        self._end_combination()
        combination = FormatCombination(
            line,
            self._split(inputs),
            self._split(outputs),
            chosen_runner=self._name(match["runner"]),
            chosen_id=self._id(match["id"]),
            cached_ms=parse_number(match["time"]),
            is_cached=True,
        )
        name = self._name(layer)
        if reformat := _REFORMAT.match(name):
            self._end_layer()
            ends = reformat["source"] or "", reformat["target"] or ""
            self.costs.append(ReformatCost(line, self.strategy, *ends, combination))
            return
        if self._layer is not None and not self._layer.name and not self._combinations:
            self._layer = self._layer._replace(name=name)
        elif self._layer is None or self._layer.name != name:
            self._end_layer()
            self._begin_layer(line, name)
        self._combinations.append(combination)

    def _foreign_metadata(self, _line: int, message: str) -> None:
        if self._layer is not None:
            self._layer = self._layer._replace(metadata=message.partition(" metadata:")[2].strip())

    def adding(self, line: int, message: str) -> None:
        """Parse `Adding reformat layer: N (T) from A to B`."""
        before, separator, after = message.removeprefix("Adding reformat layer: ").rpartition(") from ")
        name, _, tensor = before.rpartition(" (")
        source, to, target = after.strip().partition(" to ")
        if separator and to and name:
            self._end_layer()
            names = (self._name(name), self._name(tensor), self._name(source), self._name(target))
            self.added.append(InsertedReformat(line, self.strategy, *names))

    def reformats(self) -> tuple[InsertedReformat, ...]:
        """Return the inserted reformats with their measured costs."""
        known: dict[tuple[int | None, str, str, str], float] = {}
        for cost in self.costs:
            formats, time = (*cost.combination.inputs, *cost.combination.outputs), cost.time_ms
            if len(formats) == 2 and time is not None:
                key = (cost.strategy, cost.tensor, *formats)
                known[key] = min(time, known.get(key, time))
        return tuple(
            added._replace(
                cost_ms=known.get((added.strategy, added.tensor, added.from_format, added.to_format))
            )
            for added in self.added
        )

    def _end_combination(self) -> None:
        self._end_runner()
        combination = self._combination
        if combination is None:
            return
        combination = combination._replace(runners=tuple(self._trials))
        self._combination, self._trials = None, []
        if self._in_reformats or (self._reformat and self._layer is None):
            ends = self._reformat or ("", "")
            self.costs.append(ReformatCost(combination.line, self.strategy, *ends, combination))
        elif self._layer is not None:
            self._combinations.append(combination)
        self._reformat = None

    def _begin_layer(self, line: int, name: str = "") -> None:
        self._layer = LayerTuning(line, self._name(name), self.strategy, self.profile, (), began_s=self.at_s)
        self._combinations = []

    def _end_layer(self) -> None:
        self._end_combination()
        layer, self._layer = self._layer, None
        if layer is not None:
            # Strategy and profile may be printed after the name.
            self.tunings.append(
                layer._replace(
                    strategy=self.strategy,
                    optimization_profile=self.profile,
                    combinations=tuple(self._combinations),
                    ended_s=self.at_s,
                )
            )

    def _split(self, text: str) -> tuple[str, ...]:
        """Split `Float(1,1), Int32(1,1)` into two formats; the same formats recur."""
        if text not in self._formats:
            self._formats[text] = tuple(self._name(part) for part in _FORMAT_END.split(text.strip()) if part)
        return self._formats[text]

    def _name(self, text: str) -> str:
        return self._names.setdefault(text, text)
