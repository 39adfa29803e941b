"""Spread between builds of one model: layers that change their tactic, times of each block, near ties, and advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trex_tui.old.analysis.compare import Block, compare
from trex_tui.old.analysis.compare.builds import EngineBuild, load_build
from trex_tui.old.analysis.conditions import clocks_locked
from trex_tui.old.analysis.statistics import median
from trex_tui.old.analysis.trtexec_runs import build_run
from trex_tui.old.engine.engine import Engine
from trex_tui.old.fleet.history import Build
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

_DEFAULT_AVG_TIMING = 8


@dataclass(frozen=True, slots=True)
class BlockSpread:
    """Layers that do the same work in several builds.

    Attributes:
        label: Name of the main layer, as in the files.
        builds: Number of builds that have the block.
        tactics: Number of different tactics, or combinations of them if the block has several layers; None if unknown.
        min_ms, median_ms, max_ms: Of the builds that have a time.
        near_tie_pct: Smallest margin between the two fastest tactics in a build log, if it is a near tie.
    """

    label: str
    kind: str
    builds: int
    tactics: int | None
    min_ms: float | None
    median_ms: float | None
    max_ms: float | None
    near_tie_pct: float | None

    @property
    def range_ms(self) -> float | None:
        return None if self.max_ms is None or self.min_ms is None else self.max_ms - self.min_ms

    @property
    def range_pct(self) -> float | None:
        """The range in percent of the median."""
        return (
            100.0 * self.range_ms / self.median_ms if self.range_ms is not None and self.median_ms else None
        )

    @property
    def has_other_tactics(self) -> bool:
        return self.tactics is not None and self.tactics > 1


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread between builds.

    Attributes:
        blocks: Those in at least two builds, the largest range of time first.
        logs: Number of builds with a log of tactics.
        advice: Sentences on how to make builds alike.
    """

    blocks: tuple[BlockSpread, ...]
    builds: int
    logs: int
    advice: tuple[str, ...]

    @property
    def changing(self) -> int:
        return sum(block.has_other_tactics for block in self.blocks)

    @property
    def near_ties(self) -> int:
        return sum(block.near_tie_pct is not None for block in self.blocks)


def find_spread(builds: Sequence[Build]) -> Spread:
    """Compare at least two builds layer by layer, and read their build logs."""
    engines = [build.engine for build in builds]
    comparison = compare(engines)
    logs = [load_build(engine, position) for position, engine in enumerate(engines)]
    blocks = [_block(block, engines, logs) for block in comparison.blocks if sum(map(bool, block.layers)) > 1]
    blocks.sort(key=lambda block: (-(block.range_ms or 0.0), not block.has_other_tactics))
    known = sum(log.facts is not None for log in logs)
    spread = Spread(tuple(blocks), len(builds), known, ())
    return Spread(spread.blocks, spread.builds, known, tuple(_advice(spread, engines)))


def _block(block: Block, engines: Sequence[Engine], logs: Sequence[EngineBuild]) -> BlockSpread:
    places = [place for place, layers in enumerate(block.layers) if layers]
    tactics = {tuple(_tactic(engines[place], index) for index in block.layers[place]) for place in places}
    is_known = all(tactic is not None for combination in tactics for tactic in combination)
    times = [time for place in places if (time := block.latency_ms[place]) is not None]
    margins = [
        abs(choice.margin_pct)
        for place in places
        if (facts := logs[place].facts) is not None
        for index in block.layers[place]
        if index < len(facts.choices)
        and (choice := facts.choices[index]).is_near_tie
        and choice.margin_pct is not None
    ]
    return BlockSpread(
        block.label,
        block.kind,
        len(places),
        len(tactics) if is_known else None,
        min(times, default=None),
        median(times) if times else None,
        max(times, default=None),
        min(margins, default=None),
    )


def _tactic(engine: Engine, index: int) -> str | None:
    layer = engine.layers[index]
    return layer.tactic or layer.tactic_value


def _advice(spread: Spread, engines: Sequence[Engine]) -> Iterator[str]:
    if not spread.changing and not spread.near_ties:
        return
    options = [build_run(engine).options for engine in engines]
    uncached = sum("Timing cache file" not in stated for stated in options)
    if uncached:
        yield f"Keep the choices: build with --timingCacheFile=FILE ({plural(uncached, 'build')} without)."
    if spread.near_ties or not spread.logs:
        averages = [_number(stated.get("avgTiming")) or _DEFAULT_AVG_TIMING for stated in options]
        if min(averages) <= _DEFAULT_AVG_TIMING:
            yield f"Decide near ties with more runs: raise --avgTiming (now {min(averages)})."
    unlocked = sum(engine.capture is None or clocks_locked(engine.capture) is not True for engine in engines)
    if unlocked:
        yield f"Lock the clocks during the build ({plural(unlocked, 'build')} without, or unknown)."


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdecimal() else None
