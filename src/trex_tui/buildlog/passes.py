"""Follows the optimizer: passes and what they do to layers, candidate engines, and how long each phase takes."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from trex_tui.buildlog.build_trace import (
    BackendStrategy,
    Fusion,
    FusionKind,
    OptimizerPass,
    Phase,
    PhaseKind,
    StrategyVerdict,
)
from trex_tui.buildlog.tuner import parse_float

_COUNT = re.compile(r"(?:After )?(?P<name>.+): (?P<layers>\d{1,9}) layers\s*$")
_RUNNING = re.compile(r"Running: (?P<rule>\S+) on (?P<layer>.+)$")
_FUSING = re.compile(r"(?P<rule>\w+): Fusing (?P<layer>.+) with (?P<other>.+)$")
_CONVERT = re.compile(
    r"(?:Convert layer type of|Swap the layer type of) (?P<layer>.+) from (?P<before>\w+) to (?P<after>\w+)\s*$"
)
_BUILDING = re.compile(r"Building graph using backend strategy (?P<number>\d{1,9})")
_ESTIMATE = re.compile(
    r"(?P<verb>Use|Chose this engine with|Skip) backend strategy (?P<number>\d{1,9}) ?(?:with|since its) "
    r"estimated inference time \((?P<estimate>[^)]+)\)"
)
_SECONDS = re.compile(r"(?P<seconds>\d[\d.eE+-]*)(?P<micro> microseconds)?(?: (?:sec|seconds|s)\b)?\.?\s*$")
_LONGEST_SENTENCE = 400
_SUBGRAPH = "Subgraph compilation completed in"
_VERDICTS = {
    "Use": StrategyVerdict.INITIAL,
    "Chose this engine with": StrategyVerdict.CHOSEN,
    "Skip": StrategyVerdict.SKIPPED,
}
_PHASES: tuple[tuple[str, PhaseKind], ...] = (
    ("Finished parsing network model. Parse time:", PhaseKind.PARSING),
    ("Graph construction and optimization completed in", PhaseKind.GRAPH_OPTIMIZATION),
    ("Graph construction completed in", PhaseKind.GRAPH_CONSTRUCTION),
    ("Graph optimization time:", PhaseKind.GRAPH_OPTIMIZATION),
    ("Formats and tactics selection completed in", PhaseKind.TACTIC_SELECTION),
    ("Calibration completed in", PhaseKind.CALIBRATION),
    (_SUBGRAPH, PhaseKind.SUBGRAPH_COMPILATION),
    ("[MS] Multi stream splitting completed in", PhaseKind.STREAM_SPLITTING),
    ("Engine generation completed in", PhaseKind.ENGINE_GENERATION),
    ("Engine built in", PhaseKind.ENGINE_BUILD),
    ("Engine loaded in", PhaseKind.LOADING),
    ("Engine deserialized in", PhaseKind.DESERIALIZATION),
    ("Timing trace has", PhaseKind.INFERENCE),
)

_WHOLE_BUILD = (
    PhaseKind.PARSING,
    PhaseKind.ENGINE_BUILD,
    PhaseKind.LOADING,
    PhaseKind.DESERIALIZATION,
    PhaseKind.INFERENCE,
)


class Optimizer:
    """Collects passes, strategies and phases. `strategy` and `at_s` are kept as for `Tuner`."""

    def __init__(self) -> None:
        self.passes: list[OptimizerPass] = []
        self.strategies: list[BackendStrategy] = []
        self.phases: list[Phase] = []
        self.strategy: int | None = None
        self.at_s: float | None = None
        self._fusions: list[Fusion] = []
        self._running: tuple[int, str, str] | None = None

    def running(self, line: int, message: str) -> None:
        self._settle()
        if match := _RUNNING.match(message):
            self._running = (line, match["rule"], match["layer"])

    def fusing(self, line: int, message: str) -> None:
        if match := _FUSING.match(message):
            self._running = None
            kind = FusionKind.FUSED
            self._fusions.append(Fusion(line, kind, match["rule"], match["layer"], match["other"]))

    def removing(self, line: int, message: str) -> None:
        rule = self._running[1] if self._running else ""
        self._running = None
        self._fusions.append(Fusion(line, FusionKind.REMOVED, rule, message[9:].strip()))

    def converting(self, line: int, message: str) -> None:
        if match := _CONVERT.match(message):
            rule = self._running[1] if self._running else ""
            self._running = None
            before, after = match["before"], match["after"]
            kind = FusionKind.CONVERTED
            self._fusions.append(Fusion(line, kind, rule, match["layer"], None, before, after))

    def counted(self, line: int, message: str) -> None:
        match = _COUNT.match(message)
        if match is None:
            return
        self._settle()
        fusions = tuple(self._fusions)
        self._fusions.clear()
        layers = int(match["layers"])
        self.passes.append(OptimizerPass(line, self.strategy, match["name"], layers, fusions))

    def begin_strategy(self, line: int, message: str) -> int | None:
        """`Building graph using backend strategy N`; returns N, None if it is another line."""
        match = _BUILDING.match(message)
        if match is None:
            return None
        self.finish(line)
        self.strategy = int(match["number"])
        if all(strategy.number != self.strategy for strategy in self.strategies):
            self.strategies.append(BackendStrategy(line, self.strategy, StrategyVerdict.ONLY))
        return self.strategy

    def judged(self, line: int, message: str) -> None:
        match = _ESTIMATE.match(message)
        if match is None:
            return
        number = int(match["number"])
        estimate = parse_float(match["estimate"])
        verdict = _VERDICTS[match["verb"]]
        judged = BackendStrategy(line, number, verdict, estimate if math.isfinite(estimate) else None)
        for index, known in enumerate(self.strategies):
            if known.number == number:
                self.strategies[index] = replace(judged, line=known.line)
                return
        self.strategies.append(judged)

    def phase(self, line: int, message: str, layer: str | None) -> None:
        """Any line that states a duration; `layer` is the one being tuned."""
        for beginning, kind in _PHASES:
            if not message.startswith(beginning):
                continue
            match = _SECONDS.search(message[:_LONGEST_SENTENCE])
            seconds = parse_float(match["seconds"]) if match else math.nan
            if math.isfinite(seconds):
                about = layer if kind is PhaseKind.SUBGRAPH_COMPILATION else None
                strategy = None if kind in _WHOLE_BUILD else self.strategy
                self.phases.append(Phase(line, kind, seconds, strategy, about, self.at_s))
            return

    def finish(self, line: int) -> None:
        """What was done since the last count goes with a pass that has none."""
        self._settle()
        if self._fusions:
            self.passes.append(OptimizerPass(line, self.strategy, "", None, tuple(self._fusions)))
            self._fusions.clear()

    def _settle(self) -> None:
        """A rule that was run, and of which nothing came."""
        if self._running is not None:
            line, rule, layer = self._running
            self._fusions.append(Fusion(line, FusionKind.TRIED, rule, layer))
            self._running = None
