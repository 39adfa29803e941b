"""Tuning on its way: what the log has told so far of a runner, a format combination and a layer."""

from __future__ import annotations

from trex_tui.artifacts.buildlog.tactics import Tactics
from trex_tui.artifacts.buildlog.tuning import (
    FormatCombination,
    MyelinTable,
    Outcome,
    RunnerTrial,
    SkippedTactic,
    SkipReason,
)


class RunnerState:
    """A runner that is being timed."""

    __slots__ = (
        "available",
        "budget",
        "fastest_id",
        "fastest_ms",
        "id",
        "invalid",
        "line",
        "myelin",
        "name",
        "operator",
        "pruned",
        "seconds",
        "skipped",
        "start",
        "table",
    )

    def __init__(self, line: int, name: str, runner_id: str | None, start: int) -> None:
        self.line = line
        self.name = name
        self.id = runner_id
        self.start = start
        self.seconds: float | None = None
        self.fastest_id: int | None = None
        self.fastest_ms: float | None = None
        self.available: int | None = None
        self.pruned: int | None = None
        self.invalid = False
        self.skipped: list[SkippedTactic] = []
        self.myelin: list[MyelinTable] = []
        self.table: tuple[int, int] | None = None
        self.operator: tuple[str, tuple[str, ...]] = ("", ())
        self.budget: tuple[int, int] | None = None

    def beyond_budget(self, wanted: int, there: int) -> None:
        """`Exceeded mem budget of B. Need N`: Myelin says it before it gives a tactic up; of several, what needs most."""
        if self.budget is None or wanted > self.budget[0]:
            self.budget = (wanted, there)

    def lacked(self, line: int, number: int | None, why: str, size: int, message: str) -> None:
        """`Skipping tactic I due to insufficient memory on requested size of S detected for tactic T`.

        What S is depends on who says it. For Myelin it repeats the budget, which is the workspace and the layer's weights;
        what is needed stands in the line before (`beyond_budget`), or nowhere. Up to 8.x, which writes `insuficient`, it
        is in MiB, of device memory, and mostly a second word on `Tactic Device request`.
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
        """The trial, with the tactics that were timed under it."""
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

    def _outcome(self, tactics: Tactics) -> Outcome:
        if len(tactics) or self.fastest_id is not None:
            return Outcome.TIMED
        if self.skipped:
            return Outcome.SKIPPED
        return Outcome.NO_VALID_TACTIC if self.invalid or self.seconds is not None else Outcome.UNFINISHED


class CombinationState:
    """A format combination that is being tried."""

    __slots__ = (
        "cached_ms",
        "chosen_id",
        "chosen_runner",
        "inputs",
        "is_cached",
        "line",
        "outputs",
        "runners",
    )

    def __init__(self, line: int, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> None:
        self.line = line
        self.inputs = inputs
        self.outputs = outputs
        self.runners: list[RunnerTrial] = []
        self.chosen_runner: str | None = None
        self.chosen_id: int | None = None
        self.cached_ms: float | None = None
        self.is_cached = False

    def finished(self) -> FormatCombination:
        """The combination, with all its trials."""
        return FormatCombination(
            self.line,
            self.inputs,
            self.outputs,
            tuple(self.runners),
            self.chosen_runner,
            self.chosen_id,
            self.cached_ms,
            self.is_cached,
        )


class LayerState:
    """A layer that is being tuned."""

    __slots__ = ("began_s", "combinations", "line", "metadata", "name")

    def __init__(self, line: int, name: str, began_s: float | None) -> None:
        self.line = line
        self.name = name
        self.began_s = began_s
        self.metadata = ""
        self.combinations: list[FormatCombination] = []
