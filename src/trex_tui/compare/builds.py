"""Explain from both build logs why the builder chose another tactic for layers that do the same work.

For each block whose tactic changed: what each build timed in its final formats, the margin of its choice, skipped tactics,
results from a timing cache, and what became of the other build's tactic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from trex_tui.analysis.build import NEAR_TIE_PCT, BuildJoin, Contender, LayerChoice, join_build, list_timed
from trex_tui.buildlog.tactics import FormatCombination, SkippedTactic
from trex_tui.compare.blocks import key_of, letter
from trex_tui.compare.changes import ChangeKind
from trex_tui.compare.comparison import Comparison, has_other_device
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine
from trex_tui.errors import ArtifactError
from trex_tui.text import format_bytes, format_ms, plural

TACTIC_DIGITS = 6
"""Digits of the builder's times of tactics in milliseconds."""
_LEAST_HASH = 1 << 32
"""Smallest tactic number that is a hash of a kernel, equal in all versions; smaller ones count the tactics of a runner."""


class Fate(str, Enum):
    """What became of a tactic in a build."""

    CHOSEN = "chosen"
    TIMED = "timed"
    """In the formats of the choice."""
    OTHER_FORMATS = "timed in other formats"
    SKIPPED = "skipped"
    NOT_TRIED = "not tried"
    UNKNOWN = "unknown"
    """There is no log, the log does not have the layer, or it has only a timing cache result."""


class Because(str, Enum):
    """Reason why the builds differ in a block, as far as their logs show; the first that applies."""

    SKIPPED = "skipped"
    """A build skipped the other engine's tactic."""
    PRECISION = "precision"
    """The layers compute in another type."""
    NEAR_TIE = "near tie"
    """A build timed both, and they are a near tie."""
    DEVICE = "device"
    """The builds ran on different devices."""
    CACHE = "timing cache"
    """A build took its choice from a timing cache."""
    TIMES = "times"
    """The builds timed the same tactics, with different rankings."""
    FORMATS = "formats"
    """The other engine's tactic was timed in other formats only."""
    NOT_TRIED = "not tried"
    """A build did not try the other engine's tactic."""
    UNKNOWN = "unknown"


class OtherTactic(NamedTuple):
    """The other engine's tactic in a build.

    Attributes:
        time_ms: The builder's time; None if unknown.
        pct: Additional time over this build's choice, in percent; negative if it is faster.
        rank: Rank among the candidates, from 1; None unless it was timed in the formats of the choice.
        skipped: For `SKIPPED`, why.
    """

    fate: Fate
    time_ms: float | None = None
    pct: float | None = None
    rank: int | None = None
    skipped: str = ""

    def __str__(self) -> str:
        if self.skipped:
            return f"skipped: {self.skipped}"
        if self.time_ms is None:
            return self.fate.value
        pct = "" if self.pct is None else f" ({self.pct:+.1f} %)".replace("-", "−")
        rank = "" if self.rank is None else f", rank {self.rank}"
        return f"{self.fate.value}: {format_ms(self.time_ms, TACTIC_DIGITS)} ms{pct}{rank}"


class BuildChoice(NamedTuple):
    """Choice of a build for the main layer of a block.

    Attributes:
        tactic: Name of the engine's tactic, else its number; None if unknown.
        problem: Why nothing is known; empty otherwise.
        chosen: The chosen tactic, with its time.
        margin_pct: Additional time of the fastest of the others, in percent.
        candidates: All tactics timed in the formats of the choice, the fastest first.
        skipped: Number of tactics not timed in these formats.
        formats: Formats of the choice, as printed; empty if unknown.
        reused_from: Name of an equal layer that was timed instead; None if the layer was timed itself.
        other_precision_ms: Best time with inputs of the other engine's type; None if the type is equal, or none was timed.
    """

    engine: int
    layer: int
    tactic: str | None
    problem: str = ""
    chosen: Contender | None = None
    margin_pct: float | None = None
    candidates: tuple[Contender, ...] = ()
    skipped: int = 0
    formats: str = ""
    is_cached: bool = False
    reused_from: str | None = None
    other: OtherTactic = OtherTactic(Fate.UNKNOWN)
    other_precision_ms: float | None = None


class BlockBuild(NamedTuple):
    """A block whose tactic changed.

    Attributes:
        choices: Choices of the baseline and of the engine.
    """

    block: int
    because: Because
    choices: tuple[BuildChoice, BuildChoice]


class BuildDifference(NamedTuple):
    """Differences between the builds of an engine and the baseline.

    Attributes:
        problems: Missing information, with the remedy.
        blocks: Blocks whose tactic changed, the largest difference of time first; empty if both logs are missing.
    """

    engine: int
    problems: tuple[str, ...]
    blocks: tuple[BlockBuild, ...]

    def of(self, index: Container[int]) -> list[BlockBuild]:
        """Return those of some blocks."""
        return [block for block in self.blocks if block.block in index]

    @property
    def summary(self) -> str:
        """Number of blocks with another tactic, by reason."""
        counts = Counter(block.because for block in self.blocks)
        texts = [f"{counts[because]} {because.value}" for because in Because if counts[because]]
        return f"{plural(len(self.blocks), 'block')} with another tactic: {', '.join(texts)}."


def explain_builds(comparison: Comparison, engine: int) -> BuildDifference:
    """Explain all blocks of an engine whose tactic differs from that of the baseline; reads the logs."""
    positions = 0, engine
    joins, problems = zip(*(_load_build(comparison.engines[own], own) for own in positions), strict=True)
    order = comparison.blocks[key_of(engine, "delta_ms")].abs().sort_values(ascending=False, kind="stable")
    changed = (block for block in order.index if ChangeKind.TACTIC in _kinds(comparison, engine, block))
    found = [_explain_block(comparison, engine, block, joins) for block in changed] if any(joins) else []
    return BuildDifference(engine, tuple(filter(None, problems)), tuple(found))


def _kinds(comparison: Comparison, engine: int, block: int) -> set[ChangeKind]:
    return {change.kind for change in comparison.changes[engine][block]}


def _load_build(engine: Engine, position: int) -> tuple[BuildJoin | None, str]:
    """Return the log of a build joined with the engine; else why there is none, with the remedy."""
    name = letter(position)
    try:
        join = join_build(engine)
    except ArtifactError as error:
        return None, f"The log of {name} cannot be read: {error}."
    if join is None:
        file = f"{engine.name.rpartition('/')[2]}.build.log"
        return None, f"{name} has no build log: save the output of `trtexec --verbose` as {file} in its set."
    if join.trace.tunings:
        return join, ""
    if join.trace.only_loads:
        return None, f"The log of {name} is from a run of a loaded engine: save the build log."
    return None, f"The log of {name} has no tactics: it is truncated, or from another run."


class _Identity(NamedTuple):
    """A tactic, in a form comparable between builds.

    Attributes:
        name: Name of the kernel; None if unknown.
        runner, number: None unless they mean the same in both builds.
    """

    tactic: str | None
    name: str | None
    runner: str | None
    number: str | None

    def is_tactic(self, runner: str, number: str | None, name: str | None) -> bool:
        if self.number is not None and number is not None:
            return number == self.number and (self.runner is None or runner == self.runner)
        return name is not None and name == self.name


class _Side(NamedTuple):
    """The main layer of a block in one engine.

    Attributes:
        choice: Its choice; None if the log does not have it.
    """

    position: int
    layer: int
    has_log: bool
    choice: LayerChoice | None
    tactic: _Identity


def _explain_block(
    comparison: Comparison, engine: int, block: int, joins: Sequence[BuildJoin | None]
) -> BlockBuild:
    ends = comparison.sides[0], comparison.sides[engine]
    is_same_version = ends[0].tensorrt_version == ends[1].tensorrt_version
    sides = []
    for position, join in zip((0, engine), joins, strict=True):
        layer = _find_main_layer(comparison, position, block)
        choice = join.choices[layer] if join is not None and layer < len(join.choices) else None
        choice = choice if choice is not None and choice.tuning is not None else None
        tactic = _identify(comparison.engines[position], layer, choice, is_same_version=is_same_version)
        sides.append(_Side(position, layer, join is not None, choice, tactic))
    choices = _describe_choice(sides[0], sides[1]), _describe_choice(sides[1], sides[0])
    because = _find_reason(
        choices,
        has_other_precision=ChangeKind.PRECISION in _kinds(comparison, engine, block),
        has_other_device=has_other_device(*ends),
    )
    return BlockBuild(block, because, choices)


def _find_main_layer(comparison: Comparison, position: int, block: int) -> int:
    rows = comparison.engines[position].layers.loc[
        list(comparison.blocks[key_of(position, "layers")].iloc[block])
    ]
    kinds = [LayerKind[kind.upper()] for kind in rows["kind"]]
    rows = rows.assign(
        has_tactic=rows["tactic"].notna() | rows["tactic_value"].notna(),
        is_work=[kind.is_work for kind in kinds],
        multiplies=[kind.multiplies for kind in kinds],
        latency_ms=rows["latency_ms"].fillna(0.0),
    )
    order = ["has_tactic", "is_work", "latency_ms", "multiplies"]
    return int(rows.sort_values(order, ascending=False, kind="stable").index[0])


def _identify(engine: Engine, layer: int, choice: LayerChoice | None, *, is_same_version: bool) -> _Identity:
    kernel, value, layer_type = (
        str(text) if isinstance(text := engine.layers[key].iloc[layer], str) else None
        for key in ("tactic", "tactic_value", "layer_type")
    )
    chosen = choice.chosen if choice else None
    number = chosen.id if chosen is not None else choice.tactic_id if choice else None
    if number is not None and not is_same_version and int(number, 16) < _LEAST_HASH:
        number = None
    name = (chosen.name if chosen else None) or kernel
    return _Identity(kernel or value, name, chosen.runner if chosen else layer_type, number)


def _describe_choice(side: _Side, other: _Side) -> BuildChoice:
    choice = side.choice
    if choice is None or choice.tuning is None:
        missing = "not in the log" if side.has_log else "no log"
        return BuildChoice(side.position, side.layer, side.tactic.tactic, missing)
    combination = choice.combination
    skipped = [*_list_skipped([combination])] if combination else choice.tuning.skipped
    precision = other.choice.precision if other.choice else None
    others = (cost.time_ms for cost in choice.precisions if cost.precision == precision)
    return BuildChoice(
        engine=side.position,
        layer=side.layer,
        tactic=side.tactic.tactic,
        chosen=choice.chosen,
        margin_pct=choice.margin_pct,
        candidates=choice.contenders,
        skipped=len(skipped),
        formats=combination.text if combination else "",
        is_cached=bool(combination and combination.is_cached),
        reused_from=choice.reused_from,
        other=_find_other(other.tactic, choice),
        other_precision_ms=next(others, None) if precision not in (None, choice.precision) else None,
    )


def _list_skipped(combinations: Iterable[FormatCombination]) -> Iterator[tuple[str, SkippedTactic]]:
    for combination in combinations:
        for trial in combination.runners:
            yield from ((trial.runner, skipped) for skipped in trial.skipped)


def _find_other(identity: _Identity, choice: LayerChoice) -> OtherTactic:
    """Find what became of another engine's tactic."""
    if identity.name is None and identity.number is None:
        return OtherTactic(Fate.UNKNOWN)
    chosen = choice.chosen
    for rank, contender in enumerate(choice.contenders, start=1):
        if identity.is_tactic(contender.runner, contender.id, contender.name):
            is_chosen = chosen is not None and identity.is_tactic(chosen.runner, chosen.id, chosen.name)
            fate = Fate.CHOSEN if is_chosen else Fate.TIMED
            return OtherTactic(fate, contender.time_ms, _compare(contender.time_ms, chosen), rank)
    own = [choice.combination] if choice.combination else []
    combinations = choice.tuning.combinations if choice.tuning else ()
    if skipped := _find_skipped(identity, own):
        return OtherTactic(Fate.SKIPPED, skipped=skipped)
    trials = (trial for combination in combinations for trial in combination.runners)
    times = [
        timed.time_ms
        for trial in trials
        for timed in list_timed(trial)
        if identity.is_tactic(timed.runner, timed.id, timed.name)
    ]
    if times:
        return OtherTactic(Fate.OTHER_FORMATS, min(times), _compare(min(times), chosen))
    if skipped := _find_skipped(identity, combinations):
        return OtherTactic(Fate.SKIPPED, skipped=skipped)
    return OtherTactic(Fate.NOT_TRIED if choice.contenders else Fate.UNKNOWN)


def _compare(time_ms: float, chosen: Contender | None) -> float | None:
    return 100.0 * (time_ms / chosen.time_ms - 1.0) if chosen is not None and chosen.time_ms > 0.0 else None


def _find_skipped(identity: _Identity, combinations: Iterable[FormatCombination]) -> str:
    """Return why a tactic was skipped; empty if it was not."""
    for runner, skipped in _list_skipped(combinations):
        if skipped.id is not None and identity.is_tactic(runner, skipped.id, None):
            return _describe_skip(skipped)
    return ""


def _describe_skip(skipped: SkippedTactic) -> str:
    if skipped.reason == "other":
        return skipped.message
    needs, there = (
        "" if size is None else format_bytes(size)
        for size in (skipped.requested_bytes, skipped.available_bytes)
    )
    parts = [f"needs {needs} of {skipped.reason}" if needs else "", f"{there} available" if there else ""]
    return ", ".join(filter(None, parts)) or f"too little {skipped.reason}"


def _find_reason(
    choices: tuple[BuildChoice, BuildChoice], *, has_other_precision: bool, has_other_device: bool
) -> Because:
    fates = [choice.other.fate for choice in choices]
    pcts = [choice.other.pct for choice in choices if choice.other.fate is Fate.TIMED]
    reasons = {
        Because.UNKNOWN: all(choice.problem for choice in choices),
        Because.SKIPPED: Fate.SKIPPED in fates,
        Because.PRECISION: has_other_precision,
        Because.NEAR_TIE: any(pct is not None and abs(pct) < NEAR_TIE_PCT for pct in pcts),
        Because.DEVICE: has_other_device,
        Because.CACHE: any(choice.is_cached and not choice.candidates for choice in choices),
        Because.TIMES: fates == [Fate.TIMED, Fate.TIMED],
        Because.FORMATS: Fate.OTHER_FORMATS in fates,
        Because.NOT_TRIED: Fate.NOT_TRIED in fates,
    }
    found = next((because for because, is_true in reasons.items() if is_true), None)
    return found or (Because.TIMES if Fate.TIMED in fates else Because.UNKNOWN)
