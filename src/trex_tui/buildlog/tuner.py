"""Parse timed tactics in batches: they are most of a verbose log, so they are parsed in columns, not line by line.

A batch with an unexpected form is parsed line by line instead; both ways give the same result.
"""

from __future__ import annotations

import math
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from trex_tui.buildlog.layer_tuning import (
    NO_TACTIC,
    FormatCombination,
    InsertedReformat,
    LayerTuning,
    MyelinTable,
    MyelinTactics,
    ReformatCost,
    RunnerTrial,
    SkippedTactic,
    SkipReason,
    TacticColumns,
    Tactics,
    TuningOutcome,
    parse_id,
)

_NAN = math.nan
NAME_HEAD = "Tactic Name: "
TIME = " Time: "
STAMP_INSIDE = "/20"
"""Part of every time stamp; a second one after the prefix may mean that two streams were mixed into one line."""
_FOREIGN = len(" (foreignNode)")
_NAMED = re.compile(r"Tactic Name: (?P<name>.+?) Tactic: (?P<id>-?\w+) [Tt]ime: (?P<time>\S+)\s*$")
_STATED_NAME = re.compile(
    r"(?:^| Set )Tactic Name: (?P<name>.+?) Tactic: (?P<id>-?\w+)(?: [Tt]ime: \S+)?\s*$"
)
_PLAIN = re.compile(r"Tactic: (?P<id>-?\w+) [Tt]ime: (?P<time>\S+)\s*$")
_MYELIN = re.compile(
    r" \(foreignNode\)\s+(?P<number>\d{1,18}), (?P<cost>[^,]+), (?P<ratio>[^,]+), (?P<correlation>[^,]+), (?P<kernel>[^,]+)"
    r", (?P<hash>0x[0-9a-f]{1,16})(?:, ?(?P<rest>.*))?$"
)


class TacticWriter:
    """Writes tactics into columns, with every text once.

    Attributes:
        next: Position of the next tactic in the log. `take` writes ahead of it; the reader of the lines in between advances
            it.
    """

    def __init__(self) -> None:
        self.columns = TacticColumns()
        self.next = 0
        self._indices = {"": 0, "-": 0}
        self._heads = {"": 0}
        self._set_names: list[tuple[int, str, int | None]] = []
        self._stated_names: set[str] = set()

    def intern_text(self, text: str) -> int:
        index = self._indices.get(text)
        if index is None:
            index = self._indices[text] = len(self.columns.texts)
            self.columns.texts.append(text)
        return index

    def _intern_texts(self, texts: list[str]) -> array[int]:
        known = self._indices
        try:
            return array("I", [known[text] for text in texts])
        except KeyError:
            return array("I", [self.intern_text(text) for text in texts])

    def view(self, start: int) -> Tactics:
        if self._set_names:
            self._settle_names()
        return Tactics(self.columns, start, self.next)

    def set_name(self, name: str, number: int | None) -> None:
        """Name the next tactic if it has this number: at the end of a build names are printed without timing."""
        self._set_names.append((self.next, name, number))

    def _settle_names(self) -> None:
        columns = self.columns
        for index, name, number in self._set_names:
            if index < self.next and number in (None, columns.ids[index]):
                columns.names[index] = self.intern_text(name)
        self._set_names = [entry for entry in self._set_names if entry[0] >= self.next]

    def state_names(self, heads: Iterable[str]) -> None:
        """Store messages `Tactic Name: K Tactic: T` or `L Set Tactic Name: K Tactic: T` for the names, without a tactic."""
        self._stated_names.update(heads)

    def kernel_names(self) -> dict[int, str]:
        """Return tactic number -> kernel name; without numbers that have several names in the log."""
        columns = self.columns
        named = {pair for pair in set(zip(columns.ids, columns.names, strict=True)) if pair[1]}
        pairs = {(number, columns.texts[index]) for number, index in named}
        for head in self._stated_names:
            match = None if STAMP_INSIDE in head else _STATED_NAME.search(head)
            number = parse_id(match["id"]) if match else None
            if match is not None and number is not None:
                pairs.add((number, match["name"]))
        counts = Counter(number for number, _ in pairs)
        return {number: name for number, name in sorted(pairs) if counts[number] == 1}

    def add(self, message: str) -> bool:
        """Add a message that begins with `Tactic`, at `next`; False if it has no time."""
        match = _PLAIN.match(message) or _NAMED.match(message)
        number = parse_id(match["id"]) if match else None
        if match is None or number is None:
            return False
        columns = self.columns
        columns.ids.insert(self.next, number)
        columns.times.insert(self.next, parse_float(match["time"]))
        columns.names.insert(self.next, self.intern_text(match.groupdict().get("name") or ""))
        self.next += 1
        return True

    def take(self, lines: list[str], prefix: int) -> bool:
        """Add whole lines of the form `P Tactic: T Time: X` or `P Tactic Name: K Tactic: T Time: X`; `next` is unchanged.

        Args:
            prefix: Length of P with the following space.

        Returns:
            False if a line has another form, or a second time stamp: then none is added.
        """
        count = len(lines)
        text = "\n".join(lines)
        parts = text.replace(" Tactic: ", "\n").replace(TIME, "\n").split("\n")
        if len(parts) != 3 * count:
            return False
        known = self._heads
        try:
            ids, times = _ids(parts[1::3]), array("d", map(float, parts[2::3]))
            try:
                names = array("I", [known[head[prefix:]] for head in parts[0::3]])
            except KeyError:
                names = array("I", [self._index_of_head(head[prefix:]) for head in parts[0::3]])
        except (ValueError, OverflowError):
            return False
        columns = self.columns
        columns.ids.extend(ids)
        columns.times.extend(times)
        columns.names.extend(names)
        return True

    def _index_of_head(self, head: str) -> int:
        """Return the index of the name in `Tactic Name: K`; 0 without a name.

        Raises:
            ValueError: The head has another form.
        """
        index = self._heads.get(head)
        if index is None:
            name = head[len(NAME_HEAD) :]
            if not head.startswith(NAME_HEAD) or not name or STAMP_INSIDE in name:
                raise ValueError
            index = self._heads[head] = self.intern_text(name)
        return index

    def add_myelin(self, batch: list[str]) -> None:
        count = len(batch)
        parts = ", ".join(batch).split(", ")
        width = len(parts) // count
        columns = self.columns
        try:
            if width not in (6, 7, 8) or width * count != len(parts):
                raise ValueError
            numbers = array("Q", [int(text[_FOREIGN:]) for text in parts[0::width]])
            costs, ratios, correlations = (
                array("d", map(float, parts[column::width])) for column in (1, 2, 3)
            )
            hashes = array("Q", [int(text.rstrip(","), 16) for text in parts[5::width]])
            kernels = self._intern_texts(parts[4::width])
            if width == 6:
                parameters = array("I", bytes(4 * count))
            else:
                rest = [parts[start + 6 : start + width] for start in range(0, len(parts), width)]
                parameters = self._intern_texts([", ".join(words).strip() for words in rest])
        except (ValueError, OverflowError):
            self._myelin_one_by_one(batch)
            return
        columns.numbers.extend(numbers)
        columns.costs.extend(costs)
        columns.ratios.extend(ratios)
        columns.correlations.extend(correlations)
        columns.kernels.extend(kernels)
        columns.hashes.extend(hashes)
        columns.parameters.extend(parameters)

    def _myelin_one_by_one(self, batch: list[str]) -> None:
        columns = self.columns
        for line in batch:
            match = _MYELIN.match(line)
            if match is None:
                continue
            columns.numbers.append(int(match["number"]))
            columns.costs.append(parse_float(match["cost"]))
            columns.ratios.append(parse_float(match["ratio"]))
            columns.correlations.append(parse_float(match["correlation"]))
            columns.kernels.append(self.intern_text(match["kernel"]))
            columns.hashes.append(int(match["hash"], 16))
            columns.parameters.append(self.intern_text((match["rest"] or "").strip()))


def _ids(texts: list[str]) -> array[int]:
    """Parse tactic numbers.

    Raises:
        ValueError, OverflowError: A text is not a 64-bit number.
    """
    joined = "".join(texts)
    count = len(texts)
    if len(joined) == 18 * count and joined[0::18].count("0") == joined[1::18].count("x") == count:
        # All have 16 hexadecimal digits, as since TensorRT 8.2.
        ids = array("Q", bytes.fromhex(joined.replace("0x", "")))
        if len(ids) == count:
            if sys.byteorder == "little":
                ids.byteswap()
            return ids
    if joined.split() != [joined]:
        raise ValueError  # `int` allows blanks around a number
    numbers = [parse_id(text) for text in texts]
    known = [number for number in numbers if number is not None]
    if len(known) != count:
        raise ValueError
    return array("Q", known)


def parse_float(text: str) -> float:
    """Parse a number; NaN if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return _NAN


@dataclass(slots=True)
class RunnerState:
    """A runner that is being timed; `start` is the position of its first tactic.

    Attributes:
        table: Line and first row of the Myelin table that is being read.
        operator: Its name and ONNX nodes.
        budget: Memory that Myelin needed and had.
    """

    line: int
    name: str
    id: str | None
    start: int
    seconds: float | None = None
    fastest_id: int | None = None
    fastest_ms: float | None = None
    available: int | None = None
    pruned: int | None = None
    invalid: bool = False
    skipped: list[SkippedTactic] = field(default_factory=list)
    myelin: list[MyelinTable] = field(default_factory=list)
    table: tuple[int, int] | None = None
    operator: tuple[str, tuple[str, ...]] = ("", ())
    budget: tuple[int, int] | None = None

    def beyond_budget(self, wanted: int, there: int) -> None:
        """Handle `Exceeded mem budget of B. Need N`, printed by Myelin before it skips a tactic; the largest is kept."""
        if self.budget is None or wanted > self.budget[0]:
            self.budget = (wanted, there)

    def lacked(self, line: int, number: int | None, why: str, size: int, message: str) -> None:
        """Parse `Skipping tactic I due to insufficient memory on requested size of S detected for tactic T`.

        The meaning of S depends on the source. For Myelin it repeats the budget, which is the workspace and the layer's
        weights; the need is in the line before (`beyond_budget`), or missing. Up to 8.x, which writes `insuficient`, it is
        device memory in MiB, and mostly repeats `Tactic Device request`.
        """
        budget, self.budget = self.budget, None
        last = self.skipped[-1] if self.skipped else None
        if last and last.reason is SkipReason.DEVICE_MEMORY and last.id is None:
            self.skipped[-1] = last._replace(id=number)
            return
        reason = SkipReason.WORKSPACE if why else SkipReason.OTHER
        wanted: int | None = size
        there: int | None = None
        if budget is not None and budget[1] == size:
            wanted, there = budget
        elif why.startswith("insuficient"):
            reason, wanted = SkipReason.DEVICE_MEMORY, size << 20
        elif self.name == "Myelin":
            wanted, there = None, size
        self.skipped.append(SkippedTactic(line, number, reason, wanted, there, message))

    def finished(self, tactics: Tactics) -> RunnerTrial:
        return RunnerTrial(
            self.line,
            self.name,
            self.id,
            self._outcome(tactics),
            tactics,
            tuple(self.skipped),
            self.fastest_id,
            self.fastest_ms,
            self.seconds,
            self.available,
            self.pruned,
            tuple(self.myelin),
        )

    def _outcome(self, tactics: Tactics) -> TuningOutcome:
        if len(tactics) or self.fastest_id is not None:
            return TuningOutcome.TIMED
        if self.skipped:
            return TuningOutcome.SKIPPED
        return (
            TuningOutcome.NO_VALID_TACTIC
            if self.invalid or self.seconds is not None
            else TuningOutcome.UNFINISHED
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
    """Return layer, formats of inputs and outputs, and result of `L [A -> B] got cached result: R, tactic T, X ms`."""
    before, _, after = message.partition("] got cached result: ")
    layer, _, formats = before.rpartition(" [")
    inputs, arrow, outputs = formats.partition(" -> ")
    match = _RESULT.match(after)
    return (layer, inputs, outputs, match) if match and arrow and layer else None


class Tuner:
    """Collects tunings, costs of reformats, and inserted reformats.

    Attributes:
        strategy, profile: Current backend strategy and optimization profile of the builder.
        at_s: Seconds since the log's first time stamp; None without time stamps.
        cached_results: Number of lines with `got cached result`.
    """

    def __init__(self) -> None:
        self.tactics = TacticWriter()
        self.tunings: list[LayerTuning] = []
        self.costs: list[ReformatCost] = []
        self.added: list[InsertedReformat] = []
        self.strategy: int | None = None
        self.profile = 0
        self.at_s: float | None = None
        self.cached_results = 0
        self._layer: LayerTuning | None = None
        self._combinations: list[FormatCombination] = []
        self._combination: FormatCombination | None = None
        self._trials: list[RunnerTrial] = []
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
        if message.startswith("=============== Computing costs for"):
            self._end_layer()
            self._in_reformats = False
            self._begin_layer(line, message[35:].strip())
        elif message.startswith("=============== Computing reformatting costs"):
            self._end_layer()
            self._in_reformats = True

    def formats(self, line: int, message: str) -> None:
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
            self._begin_layer(line)
        self._combination = FormatCombination(line, inputs, outputs)

    def runner(self, line: int, message: str) -> None:
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
            self._combination = FormatCombination(line, (), ())
        self._runner = RunnerState(line, runner, runner_id, self.tactics.next)
        if self._counts:
            self._runner.available, self._runner.pruned = self._counts
            self._counts = None

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

    # --- events of a runner ---------------------------------------------------------------------------------------

    def timed(self, line: int, message: str) -> None:
        """Parse a message that begins with `Tactic`; messages certain to have a time may go directly to `tactics.take`."""
        if not self.tactics.add(message):
            self._skip(line, message)

    def myelin_rows(self, line: int, batch: list[str]) -> None:
        """Parse consecutive rows of a Myelin table; `line` is that of the last."""
        if self._runner is None:
            self._begin_unnamed(line)
        runner = self._runner
        if runner is None:
            return
        if runner.table is None:
            runner.table = (line - len(batch), len(self.tactics.columns.costs))
        self.tactics.add_myelin(batch)

    def myelin_note(self, line: int, message: str) -> None:
        """Parse ` (foreignNode) …` that is not a row: a new operator, or the head of a table."""
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

    def fastest(self, _line: int, message: str) -> None:
        """Parse `Fastest Tactic: … Time: …`, alone or after `profiling completed in S seconds.`"""
        runner = self._current()
        before, separator, after = message.rpartition("Fastest Tactic: ")
        number_text, _, time_text = after.partition(" Time: ")
        if runner is None or not separator:
            return
        number, time = parse_id(number_text), parse_float(time_text)
        if number != NO_TACTIC and math.isfinite(time):
            runner.fastest_id, runner.fastest_ms = number, time
        if before:
            seconds = parse_float(before.rpartition(" completed in ")[2].partition(" ")[0])
            runner.seconds = seconds if math.isfinite(seconds) else None

    def chose(self, _line: int, message: str) -> None:
        match = _CHOSE.match(message)
        if match is None:
            return
        self._end_runner()
        if self._combination is not None:
            runner, number = self._name(match["runner"]), parse_id(match["id"])
            self._combination = self._combination._replace(chosen_runner=runner, chosen_id=number)

    def no_valid_tactic(self, line: int, runner: str) -> None:
        """Parse `R has no valid tactics for this config, skipping`, or 10's `Skipping R: No valid tactics for L`."""
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
        """Parse `L Set Tactic Name: K Tactic: T`: the time follows on the next line."""
        if match := _SET_NAME.search(message):
            number = parse_id(match["id"]) if match["id"] else None
            self.tactics.state_names((message,))
            self.tactics.set_name(match["name"] + (match["more"] or "").rstrip(), number)

    def pruned(self, message: str) -> None:
        """Parse `L: N available tactics, …, M pruned, …`, printed before its runner."""
        if match := _PRUNED.search(message[-_LONGEST_COUNTS:]):
            self._counts = (int(match["available"]), int(match["pruned"]))

    def insufficient(self, line: int, message: str) -> None:
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
        parts = parts_of_cached(message)
        if parts is None:
            return
        layer, inputs, outputs, match = parts
        self.cached_results += 1
        self._end_combination()
        time = parse_float(match["time"])
        combination = FormatCombination(
            line,
            self._split(inputs),
            self._split(outputs),
            chosen_runner=self._name(match["runner"]),
            chosen_id=parse_id(match["id"]),
            cached_ms=time if math.isfinite(time) else None,
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

    def foreign_metadata(self, _line: int, message: str) -> None:
        if self._layer is not None:
            self._layer = self._layer._replace(metadata=message.partition(" metadata:")[2].strip())

    def adding(self, line: int, message: str) -> None:
        before, separator, after = message.removeprefix("Adding reformat layer: ").rpartition(") from ")
        name, _, tensor = before.rpartition(" (")
        source, to, target = after.strip().partition(" to ")
        if separator and to and name:
            self._end_layer()
            names = (self._name(name), self._name(tensor), self._name(source), self._name(target))
            self.added.append(InsertedReformat(line, self.strategy, *names))

    def end(self) -> None:
        self._end_layer()
        self._in_reformats = False

    @property
    def layer_name(self) -> str | None:
        return self._layer.name if self._layer else None

    # --- storing results ------------------------------------------------------------------------------------------

    def _begin_unnamed(self, line: int) -> None:
        """Start a runner for tactics without a heading: the log begins in the middle, or lines are missing."""
        if self._combination is None:
            if self._layer is None and not self._in_reformats:
                self._begin_layer(line)
            self._combination = FormatCombination(line, (), ())
        self._runner = RunnerState(line, "", None, self._taken)

    def _current(self) -> RunnerState | None:
        """Return the runner being timed; an unnamed one for tactics without a heading."""
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
            self._trials.append(runner.finished(self.tactics.view(runner.start)))
        self._taken = self.tactics.next

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
        """Split `Float(1,1), Int32(1,1)` into two formats; cached, since the same formats recur."""
        known = self._formats.get(text)
        if known is None:
            known = tuple(self._name(part) for part in _FORMAT_END.split(text.strip()) if part)
            self._formats[text] = known
        return known

    def _name(self, text: str) -> str:
        return self._names.setdefault(text, text)
