"""Follows the builder through the tuning of layers and reformats, line by line."""

from __future__ import annotations

import math
import re

from trex_tui.artifacts.buildlog.batch import TacticColumns, float_of
from trex_tui.artifacts.buildlog.tactics import NO_TACTIC, MyelinTactics, parse_id
from trex_tui.artifacts.buildlog.tuner_state import CombinationState, LayerState, RunnerState
from trex_tui.artifacts.buildlog.tuning import (
    InsertedReformat,
    LayerTuning,
    MyelinTable,
    ReformatCost,
    SkippedTactic,
    SkipReason,
)

_STARS = "*" * 15
_AUTOTUNE = {f"{_STARS} Autotuning format combination:": False, f"{_STARS} Autotuning Reformat:": True}
_RUNNER = re.compile(
    r"-{15} Timing Runner: (?P<layer>.*) \((?P<runner>[^()\[\]]+)(?:\[(?P<id>[^\]]*)\])?\)\s*$"
)
_CHOSE = re.compile(r">{15} Chose Runner Type: (?P<runner>\S+) Tactic: (?P<id>-?\w+)")
_RESULT = re.compile(r"(?P<runner>\S+), tactic (?P<id>-?\w+), (?P<time>\S+) ms")
_REFORMAT = re.compile(r"(?:Optimizer Reformat|<reformat>)(?:\((?P<source>.*) -> (?P<target>.*)\))?$")
_SET_NAME = re.compile(r"Set Tactic Name: (?P<name>.+?)(?: Tactic: (?P<id>-?\w+)(?P<more>.*))?$")
_SKIPPED = re.compile(
    r"Tactic: (?P<id>-?\w+) skipped\. Scratch requested: (?P<wanted>\d{1,18}), available: (?P<there>\d{1,18})"
)
_DEVICE_MEMORY = re.compile(r"Tactic Device request: (?P<wanted>\d{1,9})MB Available: (?P<there>\d{1,9})MB")
_INSUFFICIENT = re.compile(
    r"Skipping tactic \w+ due to (?P<why>insuff?icient memory )?(?:on )?requested size of (?P<size>\d{1,18})"
    r"(?: detected for tactic (?P<id>-?\w+))?"
)
_BEYOND_BUDGET = re.compile(r"Exceeded mem budget of (?P<there>\d{1,18})\. Need (?P<wanted>\d{1,18})")
_PRUNED = re.compile(r"(?P<available>\d{1,9}) available tactics, .*?(?P<pruned>\d{1,9}) pruned")
_OPERATOR = re.compile(r"Autotuning op (?P<name>.*?): (?P<nodes>\[ONNX Layer: .*)?$")
_NODE = re.compile(r"\[ONNX Layer: ([^\]\x1e\x1f]*)\]")
_FORMAT_END = re.compile(r"(?<=\)), ")
_LONGEST_COUNTS = 200
MYELIN_ROW = re.compile(r" \(foreignNode\)\s+\d+, ")


def parts_of_cached(message: str) -> tuple[str, str, str, re.Match[str]] | None:
    """Layer, formats of inputs and outputs, and result in `L [A -> B] got cached result: R, tactic T, X ms`."""
    before, _, after = message.partition("] got cached result: ")
    layer, _, formats = before.rpartition(" [")
    inputs, arrow, outputs = formats.partition(" -> ")
    match = _RESULT.match(after)
    return (layer, inputs, outputs, match) if match and arrow and layer else None


class Tuner:
    """Collects tunings, costs of reformats, and the reformats made.

    Attributes:
        strategy, profile: Which backend strategy and optimization profile the builder is at.
        at_s: Seconds since the log's first time stamp; None without stamps.
        cached_results: Lines that say `got cached result`.
    """

    def __init__(self) -> None:
        self.tactics = TacticColumns()
        self.tunings: list[LayerTuning] = []
        self.costs: list[ReformatCost] = []
        self.added: list[InsertedReformat] = []
        self.strategy: int | None = None
        self.profile = 0
        self.at_s: float | None = None
        self.cached_results = 0
        self._layer: LayerState | None = None
        self._combination: CombinationState | None = None
        self._runner: RunnerState | None = None
        self._reformat: tuple[str, str] | None = None
        self._in_reformats = False
        self._counts: tuple[int, int] | None = None
        self._formats: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, str] = {}
        self._known_formats: dict[str, tuple[bool, tuple[str, ...], tuple[str, ...]]] = {}
        self._taken = 0
        self._last_line = 0
        self._runners: dict[str, tuple[str, str, str | None, tuple[str, str] | None]] = {}

    # --- the builder's headings -----------------------------------------------------------------------------------

    def heading(self, line: int, message: str) -> None:
        """`=============== Computing costs for L` or `… Computing reformatting costs`."""
        if message.startswith("=============== Computing costs for"):
            self._end_layer()
            self._in_reformats = False
            self._layer = LayerState(line, self._name(message[35:].strip()), self.at_s)
        elif message.startswith("=============== Computing reformatting costs"):
            self._end_layer()
            self._in_reformats = True

    def formats(self, line: int, message: str) -> None:
        """`*************** Autotuning format combination: … ***************`, or the same of a reformat."""
        known = self._known_formats.get(message)
        if known is None:
            heading, _, rest = message.partition(":")
            is_reformat = _AUTOTUNE.get(f"{heading}:")
            inputs_text, arrow, outputs_text = rest.partition(" -> ")
            if is_reformat is None or not arrow or not outputs_text.rstrip().endswith(_STARS):
                return
            inputs, outputs = self._split(inputs_text), self._split(outputs_text.rstrip()[: -len(_STARS)])
            known = (is_reformat, inputs, outputs)
            self._known_formats[message] = known
        is_reformat, inputs, outputs = known
        self._end_combination()
        self._in_reformats = is_reformat
        if is_reformat:
            self._end_layer()
        elif self._layer is None:
            self._layer = LayerState(line, "", self.at_s)
        self._combination = CombinationState(line, inputs, outputs)

    def runner(self, line: int, message: str) -> None:
        """`--------------- Timing Runner: L (R[id])`."""
        known = self._runners.get(message)
        if known is None:
            match = _RUNNER.match(message)
            if match is None:
                return
            ends = _REFORMAT.match(match["layer"])
            known = (
                self._name(match["layer"]),
                self._name(match["runner"]),
                match["id"],
                (ends["source"] or "", ends["target"] or "") if ends else None,
            )
            if len(self._runners) > 4096:
                self._runners.clear()
            self._runners[message] = known
        layer, runner, runner_id, reformat = known
        self._last_line = line
        self._end_runner()
        if reformat:
            self._reformat = reformat
        elif not self._in_reformats:
            self._belongs_to(line, layer)
        if self._combination is None:
            self._combination = CombinationState(line, (), ())
        self._runner = RunnerState(line, runner, runner_id, self.tactics.next)
        if self._counts:
            self._runner.available, self._runner.pruned = self._counts
            self._counts = None

    def _belongs_to(self, line: int, name: str) -> None:
        """Name the layer by its first runner; before 8.2 nothing else tells that another layer has begun."""
        if self._layer is None:
            self._layer = LayerState(line, name, self.at_s)
        elif not self._layer.name:
            self._layer.name = name
        elif self._layer.name != name and not (self._combination and self._combination.runners):
            combination, self._combination = self._combination, None
            self._end_layer()
            self._combination = combination
            self._layer = LayerState(combination.line if combination else line, name, self.at_s)

    # --- what happens under a runner ------------------------------------------------------------------------------

    def timed(self, line: int, message: str) -> None:
        """A message that begins with `Tactic`; those that plainly tell a time may go to `tactics.take` without asking."""
        if not self.tactics.add(message):
            self._skip(line, message)

    def myelin_rows(self, line: int, batch: list[str]) -> None:
        """Rows of a Myelin table, in a row; `line` is that of the last."""
        if self._runner is None:
            self._begin_unnamed(line)
        runner = self._runner
        if runner is None:
            return
        if runner.table is None:
            runner.table = (line - len(batch), len(self.tactics.columns.costs))
        self.tactics.add_myelin(batch)

    def myelin_note(self, line: int, message: str) -> None:
        """` (foreignNode) …` that is no row: a new operator, or the head of a table."""
        runner = self._runner
        if runner is None:
            return
        if match := _OPERATOR.search(message):
            self._end_table()
            runner.operator = (self._name(match["name"]), tuple(_NODE.findall(match["nodes"] or "")))
        elif "tactic_id, cost" in message:
            self._end_table()
            runner.table = (line, len(self.tactics.columns.costs))
        elif match := _BEYOND_BUDGET.search(message):
            runner.beyond_budget(int(match["wanted"]), int(match["there"]))

    def fastest(self, message: str) -> None:
        """`Fastest Tactic: … Time: …`, alone or behind `profiling completed in S seconds.`"""
        runner = self._current()
        before, said, after = message.rpartition("Fastest Tactic: ")
        number_text, _, time_text = after.partition(" Time: ")
        if runner is None or not said:
            return
        number, time = parse_id(number_text), float_of(time_text)
        if number != NO_TACTIC and math.isfinite(time):
            runner.fastest_id, runner.fastest_ms = number, time
        if before:
            seconds = float_of(before.rpartition(" completed in ")[2].partition(" ")[0])
            runner.seconds = seconds if math.isfinite(seconds) else None

    def chose(self, message: str) -> None:
        """`>>>>>>>>>>>>>>> Chose Runner Type: R Tactic: T`."""
        match = _CHOSE.match(message)
        if match is None:
            return
        self._end_runner()
        if self._combination is not None:
            self._combination.chosen_runner = self._name(match["runner"])
            self._combination.chosen_id = parse_id(match["id"])

    def no_valid_tactic(self, line: int, runner: str) -> None:
        """`R has no valid tactics for this config, skipping`, or 10's `Skipping R: No valid tactics for L`."""
        if self._runner is not None and self._runner.name == runner:
            self._runner.invalid = True
            self._end_runner()
        elif self._combination is not None:
            # TensorRT 10 prints no `Timing Runner` before.
            self._end_runner()
            self._runner = RunnerState(line, self._name(runner), None, self.tactics.next)
            self._runner.invalid = True
            self._end_runner()

    def set_name(self, message: str) -> None:
        """`L Set Tactic Name: K Tactic: T`: the time follows on the next line."""
        if match := _SET_NAME.search(message):
            number = parse_id(match["id"]) if match["id"] else None
            self.tactics.set_name(match["name"] + (match["more"] or "").rstrip(), number)

    def pruned(self, message: str) -> None:
        """`L: N available tactics, …, M pruned, …`, printed before the runner it is about."""
        if match := _PRUNED.search(message[-_LONGEST_COUNTS:]):
            self._counts = (int(match["available"]), int(match["pruned"]))

    def insufficient(self, line: int, message: str) -> None:
        """A tactic left out for want of memory, in the words of a warning."""
        runner = self._runner
        if runner is None:
            return
        if match := _DEVICE_MEMORY.search(message):
            wanted, there = int(match["wanted"]) << 20, int(match["there"]) << 20
            runner.skipped.append(SkippedTactic(line, None, SkipReason.DEVICE_MEMORY, wanted, there, message))
        elif match := _INSUFFICIENT.search(message):
            runner.lacked(line, parse_id(match["id"] or ""), match["why"] or "", int(match["size"]), message)

    def _skip(self, line: int, message: str) -> None:
        match = _SKIPPED.match(message)
        if match and self._runner is not None:
            number, wanted, there = parse_id(match["id"]), int(match["wanted"]), int(match["there"])
            skipped = SkippedTactic(line, number, SkipReason.WORKSPACE, wanted, there, message)
            self._runner.skipped.append(skipped)
        elif "Device request" in message:
            self.insufficient(line, message)

    # --- results that need no runner ------------------------------------------------------------------------------

    def cached(self, line: int, message: str) -> None:
        """`L [A -> B] got cached result: R, tactic T, X ms`."""
        parts = parts_of_cached(message)
        if parts is None:
            return
        layer, inputs, outputs, match = parts
        self.cached_results += 1
        self._end_combination()
        found = CombinationState(line, self._split(inputs), self._split(outputs))
        found.chosen_runner, found.chosen_id = self._name(match["runner"]), parse_id(match["id"])
        time = float_of(match["time"])
        found.cached_ms = time if math.isfinite(time) else None
        found.is_cached = True
        name = self._name(layer)
        if reformat := _REFORMAT.match(name):
            self._end_layer()
            self.costs.append(
                ReformatCost(
                    line, self.strategy, reformat["source"] or "", reformat["target"] or "", found.finished()
                )
            )
            return
        if self._layer is None or self._layer.name != name:
            if self._layer is None or self._layer.name or self._layer.combinations:
                self._end_layer()
                self._layer = LayerState(line, name, self.at_s)
            self._layer.name = name
        self._layer.combinations.append(found.finished())

    def foreign_metadata(self, message: str) -> None:
        """`ForeignNode N metadata: [ONNX Layer: …]…`."""
        if self._layer is not None:
            self._layer.metadata = message.partition(" metadata:")[2].strip()

    def adding(self, line: int, message: str) -> None:
        """`Adding reformat layer: …`."""
        before, said, after = message.removeprefix("Adding reformat layer: ").rpartition(") from ")
        name, _, tensor = before.rpartition(" (")
        source, to, target = after.strip().partition(" to ")
        if said and to and name:
            self._end_layer()
            names = (self._name(name), self._name(tensor), self._name(source), self._name(target))
            self.added.append(InsertedReformat(line, self.strategy, *names))

    def end(self) -> None:
        """The tuning is over, or the log is."""
        self._end_layer()
        self._in_reformats = False

    @property
    def layer_name(self) -> str | None:
        """Name of the layer that is being tuned."""
        return self._layer.name if self._layer else None

    # --- putting things away --------------------------------------------------------------------------------------

    def _begin_unnamed(self, line: int) -> None:
        """Tactics without a heading: the log begins in the middle, or lines are missing."""
        if self._combination is None:
            if self._layer is None and not self._in_reformats:
                self._layer = LayerState(line, "", self.at_s)
            self._combination = CombinationState(line, (), ())
        self._runner = RunnerState(line, "", None, self._taken)

    def _current(self) -> RunnerState | None:
        """The runner being timed; one without a name where tactics have come without its heading."""
        if self._runner is None and self.tactics.next > self._taken:
            self._begin_unnamed(self._last_line + 1)
        return self._runner

    def _end_table(self) -> None:
        runner = self._runner
        if runner is None or runner.table is None:
            return
        line, start = runner.table
        rows = MyelinTactics(self.tactics.columns, start, len(self.tactics.columns.costs))
        runner.myelin.append(MyelinTable(line, *runner.operator, rows))
        runner.table = None

    def _end_runner(self) -> None:
        runner = self._runner
        if runner is None:
            if self.tactics.next <= self._taken:
                return
            runner = self._current()
            if runner is None:
                return
        if runner.table is not None:
            self._end_table()
        self._runner = None
        if self._combination is not None:
            self._combination.runners.append(runner.finished(self.tactics.view(runner.start)))
        self._taken = self.tactics.next

    def _end_combination(self) -> None:
        self._end_runner()
        combination = self._combination
        if combination is None:
            return
        self._combination = None
        if self._in_reformats or (self._reformat and self._layer is None):
            source, target = self._reformat or ("", "")
            self.costs.append(
                ReformatCost(combination.line, self.strategy, source, target, combination.finished())
            )
        elif self._layer is not None:
            self._layer.combinations.append(combination.finished())
        self._reformat = None

    def _end_layer(self) -> None:
        self._end_combination()
        layer = self._layer
        if layer is None:
            return
        self._layer = None
        self.tunings.append(
            LayerTuning(
                layer.line,
                layer.name,
                self.strategy,
                self.profile,
                tuple(layer.combinations),
                layer.metadata,
                layer.began_s,
                self.at_s,
            )
        )

    def _split(self, text: str) -> tuple[str, ...]:
        """`Float(1,1), Int32(1,1)` -> two formats; the same ones come again and again."""
        known = self._formats.get(text)
        if known is None:
            known = tuple(self._name(part) for part in _FORMAT_END.split(text.strip()) if part)
            self._formats[text] = known
        return known

    def _name(self, text: str) -> str:
        return self._names.setdefault(text, text)
