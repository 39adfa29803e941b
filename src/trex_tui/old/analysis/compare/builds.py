"""Explain from both build logs why the builder chose another tactic for layers that do the same work.

For each block whose tactic changed: what each build timed in its final formats, the margin of its choice, skipped tactics,
results from a timing cache, and the result of the other build's tactic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum

from trex_tui.old.analysis.build import (
    NEAR_TIE_PCT,
    BuildFacts,
    Contender,
    LayerChoice,
    Timings,
    build_facts,
    list_contenders,
)
from trex_tui.old.analysis.compare.comparison import has_other_device
from trex_tui.old.analysis.compare.model import Block, ChangeKind, Comparison, letter
from trex_tui.old.artifacts.file_kinds import engine_stem, kind_of_build_log
from trex_tui.old.buildlog.layer_tuning import FormatCombination, SkippedTactic, SkipReason, TimedTactic
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import ArtifactError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import format_bytes, format_ms, plural

TACTIC_DIGITS = 6
"""Digits of the builder's times of tactics in milliseconds."""
_LEAST_HASH = 1 << 32
"""Smallest tactic number that is a hash of a kernel, equal in all versions; smaller ones count the tactics of a runner."""


class Fate(str, Enum):
    """Result of a tactic in a build; the values are those of the JSON."""

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


@dataclass(frozen=True, slots=True)
class OtherTactic:
    """The other engine's tactic in a build.

    Attributes:
        time_ms: The builder's time; None if unknown.
        pct: Additional time over this build's choice, in percent; negative if it is faster.
        rank: Rank among the candidates, from 1; None unless it was timed in the formats of the choice.
        skipped: For `SKIPPED`, the text of the log.
    """

    fate: Fate
    time_ms: float | None = None
    pct: float | None = None
    rank: int | None = None
    skipped: SkippedTactic | None = None


@dataclass(frozen=True, slots=True)
class BuildChoice:
    """Choice of a build for the main layer of a block.

    Attributes:
        engine: Index of the engine.
        layer: Index of the layer.
        tactic: Name of the engine's tactic, else its number; None if unknown.
        problem: Why nothing is known; empty otherwise.
        chosen: The chosen tactic, with its time.
        second: The fastest of the other candidates.
        margin_pct: Additional time of `second`, in percent.
        candidates: All tactics timed in the formats of the choice, the fastest first.
        skipped: Tactics not timed in these formats.
        formats: Formats of the choice, as printed; empty if unknown.
        is_cached: The choice came from a timing cache.
        reused_from: Name of an equal layer that was timed instead; None if the layer was timed itself.
        other: Result of the other engine's tactic.
        other_precision_ms: Best time with inputs of the other engine's type; None if the type is equal, or none was timed.
    """

    engine: int
    layer: int
    tactic: str | None
    problem: str = ""
    chosen: Contender | None = None
    second: Contender | None = None
    margin_pct: float | None = None
    candidates: tuple[Contender, ...] = ()
    skipped: tuple[SkippedTactic, ...] = ()
    formats: str = ""
    is_cached: bool = False
    reused_from: str | None = None
    other: OtherTactic = OtherTactic(Fate.UNKNOWN)
    other_precision_ms: float | None = None


@dataclass(frozen=True, slots=True)
class BlockBuild:
    """A block whose tactic changed.

    Attributes:
        block: Index of the block.
        because: The reason.
        why: Explanation in sentences; engines are called A, B, … by their position.
        choices: Choices of the baseline and of the engine.
    """

    block: int
    because: Because
    why: str
    choices: tuple[BuildChoice, BuildChoice]


@dataclass(frozen=True, slots=True)
class BuildDifference:
    """Differences between the builds of an engine and the baseline.

    Attributes:
        engine: Index of the engine.
        problems: Missing information, with the remedy.
        blocks: Blocks whose tactic changed, the largest difference of time first; empty if both logs are missing.
    """

    engine: int
    problems: tuple[str, ...]
    blocks: tuple[BlockBuild, ...]


@dataclass(frozen=True, eq=False)
class EngineBuild:
    """Build of an engine in a comparison.

    Attributes:
        facts: The log joined with the layers; None without a usable log.
        problem: Why there is none, with the remedy; empty otherwise.
    """

    facts: BuildFacts | None
    problem: str = ""


def describe_missing_log(engine: Engine, position: int) -> str:
    """Return a message that an engine has no build log, with the remedy."""
    file = next(iter(engine.files.values()), None)
    stem = engine_stem(file) if file is not None else engine.name
    return (
        f"{letter(position)} has no build log: save the output of `trtexec --verbose` as {stem}.build.log "
        "in its set."
    )


def load_build(engine: Engine, position: int) -> EngineBuild:
    """Read the log of a build and join it with the engine; a log of hundreds of megabytes takes seconds.

    Args:
        position: Position of the engine in the comparison.
    """
    kind = kind_of_build_log(engine.files)
    if kind is None:
        return EngineBuild(None, describe_missing_log(engine, position))
    from trex_tui.old.buildlog.reader import shared_log  # 25 ms, and most comparisons read no log

    path = engine.files[kind]
    try:
        trace = shared_log(path, run=engine.log_runs.get(path))
    except ArtifactError as error:
        return EngineBuild(None, f"The log of {letter(position)} cannot be read: {error}.")
    return check_build(build_facts(trace, engine), position)


def check_build(facts: BuildFacts, position: int) -> EngineBuild:
    """Return the build of an engine, with a problem if its log has no tactics."""
    trace = facts.trace
    if trace.tunings:
        return EngineBuild(facts)
    if trace.only_loads:
        problem = f"The log of {letter(position)} is from a run of a loaded engine: save the build log."
    elif not trace.is_verbose:
        problem = f"The log of {letter(position)} is not verbose: build with `trtexec --verbose`."
    else:
        problem = f"The log of {letter(position)} has no tactics: it is truncated, or from another run."
    return EngineBuild(None, problem)


class BuildComparison:
    """Explains blocks of a comparison from the build logs.

    Args:
        comparison: The comparison.
        builds: Per engine, its build.
    """

    def __init__(self, comparison: Comparison, builds: Sequence[EngineBuild]) -> None:
        self.comparison = comparison
        self.builds = tuple(builds)
        self._timings = [None if build.facts is None else Timings(build.facts.trace) for build in self.builds]

    def explain(self, engine: int) -> BuildDifference:
        """Explain all blocks of an engine whose tactic differs from that of the baseline."""
        positions = (self.comparison.baseline, engine)
        problems = tuple(self.builds[index].problem for index in positions if self.builds[index].problem)
        blocks = []
        if any(self.builds[index].facts is not None for index in positions):
            found = (
                self.explain_block(block, engine)
                for block in self.comparison.by_delta()
                if ChangeKind.TACTIC in block.changed_in(engine)
            )
            blocks = [block for block in found if block is not None]
        return BuildDifference(engine, problems, tuple(blocks))

    def explain_block(self, block: Block, engine: int) -> BlockBuild | None:
        """Explain a block; None if the tactic of the engine is that of the baseline."""
        baseline = self.comparison.baseline
        if ChangeKind.TACTIC not in block.changed_in(engine):
            return None
        layers = [self._main_layer(block, index) for index in (baseline, engine)]
        own = [self._choice(index, layer) for index, layer in zip((baseline, engine), layers, strict=True)]
        choices = (
            self._build_choice(baseline, layers[0], own[0], layers[1], own[1], engine),
            self._build_choice(engine, layers[1], own[1], layers[0], own[0], baseline),
        )
        sentences = [text for index in (1, 0) for text in _sentences(choices[index], choices[1 - index])]
        sides = self.comparison.sides
        because = _because(
            choices,
            has_other_precision=ChangeKind.PRECISION in block.changed_in(engine),
            has_other_device=has_other_device(sides[engine], sides[baseline]),
        )
        return BlockBuild(block.index, because, " ".join(sentences), choices)

    def _main_layer(self, block: Block, position: int) -> Layer:
        layers = [self.comparison.engines[position].layers[index] for index in block.layers[position]]
        return max(
            layers,
            key=lambda layer: (
                bool(layer.tactic or layer.tactic_value),
                layer.kind.is_work,
                layer.latency_ms or 0.0,
                layer.kind.multiplies,
                -layer.index,
            ),
        )

    def _choice(self, position: int, layer: Layer) -> LayerChoice | None:
        facts = self.builds[position].facts
        if facts is None or layer.index >= len(facts.choices):
            return None
        choice = facts.choices[layer.index]
        return None if choice.tuning is None else choice

    def _build_choice(
        self,
        position: int,
        layer: Layer,
        choice: LayerChoice | None,
        other_layer: Layer,
        other: LayerChoice | None,
        other_position: int,
    ) -> BuildChoice:
        tactic = layer.tactic or layer.tactic_value
        timings = self._timings[position]
        if choice is None or timings is None:
            missing = "no log" if self.builds[position].facts is None else "not in the log"
            return BuildChoice(position, layer.index, tactic, missing)
        candidates = list_contenders(choice, timings)
        combination = choice.combination
        identity = _Identity.of(
            other_layer, other, is_same_version=self._version(position) == self._version(other_position)
        )
        return BuildChoice(
            engine=position,
            layer=layer.index,
            tactic=tactic,
            chosen=choice.chosen,
            second=choice.second,
            margin_pct=choice.margin_pct,
            candidates=tuple(candidates),
            skipped=tuple(_skipped_in(combination))
            if combination
            else choice.tuning.skipped
            if choice.tuning
            else (),
            formats=combination.text if combination else "",
            is_cached=bool(combination and combination.is_cached),
            reused_from=choice.reused_from,
            other=_find_other(identity, choice, candidates),
            other_precision_ms=_other_precision_ms(choice, other),
        )

    def _version(self, position: int) -> str | None:
        return self.comparison.sides[position].tensorrt_version


@dataclass(frozen=True, slots=True)
class _Identity:
    """A tactic, in a form comparable between builds.

    Attributes:
        name: Name of the kernel; None if unknown.
        runner, number: None unless they mean the same in both builds.
    """

    name: str | None
    runner: str | None
    number: int | None

    @classmethod
    def of(cls, layer: Layer, choice: LayerChoice | None, *, is_same_version: bool) -> _Identity:
        chosen = choice.chosen if choice else None
        number = chosen.id if chosen is not None else choice.tactic_id if choice else None
        if number is not None and not is_same_version and number < _LEAST_HASH:
            number = None
        name = (chosen.name if chosen else None) or layer.tactic
        return cls(name, chosen.runner if chosen else layer.layer_type, number)

    @property
    def is_known(self) -> bool:
        return self.name is not None or self.number is not None

    def is_tactic(self, runner: str, number: int | None, name: str | None) -> bool:
        if self.number is not None and number is not None:
            return number == self.number and (self.runner is None or runner == self.runner)
        return name is not None and name == self.name


def _find_other(identity: _Identity, choice: LayerChoice, candidates: Sequence[Contender]) -> OtherTactic:
    """Find the result of another engine's tactic."""
    if not identity.is_known:
        return OtherTactic(Fate.UNKNOWN)
    chosen = choice.chosen
    for rank, contender in enumerate(candidates, start=1):
        if identity.is_tactic(contender.runner, contender.id, contender.name):
            is_chosen = chosen is not None and identity.is_tactic(chosen.runner, chosen.id, chosen.name)
            fate = Fate.CHOSEN if is_chosen else Fate.TIMED
            return OtherTactic(fate, contender.time_ms, _pct(contender.time_ms, chosen), rank)
    combinations = choice.tuning.combinations if choice.tuning else ()
    own = [choice.combination] if choice.combination else []
    if skip := _find_skipped(identity, own):
        return OtherTactic(Fate.SKIPPED, skipped=skip)
    times = [
        tactic.time_ms
        for combination in combinations
        for runner, tactic in _timed_in(combination)
        if tactic.time_ms is not None and identity.is_tactic(runner, tactic.id, tactic.name)
    ]
    if times:
        return OtherTactic(Fate.OTHER_FORMATS, min(times), _pct(min(times), chosen))
    if skip := _find_skipped(identity, combinations):
        return OtherTactic(Fate.SKIPPED, skipped=skip)
    if not candidates:
        return OtherTactic(Fate.UNKNOWN)
    return OtherTactic(Fate.NOT_TRIED)


def _pct(time_ms: float, chosen: Contender | None) -> float | None:
    return 100.0 * (time_ms / chosen.time_ms - 1.0) if chosen is not None and chosen.time_ms > 0.0 else None


def _timed_in(combination: FormatCombination) -> Iterator[tuple[str, TimedTactic]]:
    for trial in combination.runners:
        for tactic in trial.tactics:
            yield trial.runner, tactic


def _skipped_in(combination: FormatCombination) -> Iterator[SkippedTactic]:
    for trial in combination.runners:
        yield from trial.skipped


def _find_skipped(identity: _Identity, combinations: Sequence[FormatCombination]) -> SkippedTactic | None:
    for combination in combinations:
        for trial in combination.runners:
            for skipped in trial.skipped:
                if skipped.id is not None and identity.is_tactic(trial.runner, skipped.id, None):
                    return skipped
    return None


def _other_precision_ms(choice: LayerChoice, other: LayerChoice | None) -> float | None:
    if other is None or other.precision is None or other.precision == choice.precision:
        return None
    return next((cost.time_ms for cost in choice.precisions if cost.precision == other.precision), None)


# Text


def _because(
    choices: tuple[BuildChoice, BuildChoice], *, has_other_precision: bool, has_other_device: bool
) -> Because:
    if all(choice.problem for choice in choices):
        return Because.UNKNOWN
    fates = [choice.other.fate for choice in choices]
    pcts = [choice.other.pct for choice in choices if choice.other.fate is Fate.TIMED]
    if Fate.SKIPPED in fates:
        return Because.SKIPPED
    if has_other_precision:
        return Because.PRECISION
    if any(pct is not None and abs(pct) < NEAR_TIE_PCT for pct in pcts):
        return Because.NEAR_TIE
    if has_other_device:
        return Because.DEVICE
    if any(choice.is_cached and not choice.candidates for choice in choices):
        return Because.CACHE
    if fates == [Fate.TIMED, Fate.TIMED]:
        return Because.TIMES
    return _because_of(fates)


def _because_of(fates: Sequence[Fate]) -> Because:
    if Fate.OTHER_FORMATS in fates:
        return Because.FORMATS
    if Fate.NOT_TRIED in fates:
        return Because.NOT_TRIED
    return Because.TIMES if Fate.TIMED in fates else Because.UNKNOWN


def _sentences(choice: BuildChoice, other: BuildChoice) -> Iterator[str]:
    """Yield sentences about the choice of one build and the other engine's tactic, from its log."""
    own, theirs = letter(choice.engine), letter(other.engine)
    if choice.problem:
        yield f"{own}: {choice.problem}."
        return
    text = describe_fate(choice.other)
    if choice.other.fate is not Fate.UNKNOWN:
        yield f"{own}: {theirs}'s tactic {text}."
    if choice.margin_pct is not None and abs(choice.margin_pct) < NEAR_TIE_PCT:
        yield f"{own}: near tie, the second is {choice.margin_pct:+.1f} %.".replace("-", "−")
    if choice.is_cached:
        yield f"{own}: from the timing cache."
    if choice.reused_from is not None:
        yield f"{own}: timed for an identical layer."
    if choice.other_precision_ms is not None and choice.chosen is not None:
        pct = _pct(choice.other_precision_ms, choice.chosen)
        share = "" if pct is None else f" ({pct:+.1f} %)".replace("-", "−")
        best = format_ms(choice.other_precision_ms, TACTIC_DIGITS)
        yield f"{own}: best {best} ms with inputs of {theirs}'s type{share}."


def describe_fate(other: OtherTactic) -> str:
    """Return `timed 0.0221 ms (+9.5 %), rank 3`; `skipped: needs 832 KiB of workspace, 2.63 KiB available`."""
    if other.fate is Fate.SKIPPED and other.skipped is not None:
        return f"skipped: {_describe_skip(other.skipped)}"
    if other.time_ms is None:
        return other.fate.value
    pct = "" if other.pct is None else f" ({other.pct:+.1f} %)".replace("-", "−")
    rank = "" if other.rank is None else f", rank {other.rank}"
    return f"{other.fate.value}: {format_ms(other.time_ms, TACTIC_DIGITS)} ms{pct}{rank}"


def _describe_skip(skipped: SkippedTactic) -> str:
    if skipped.reason is SkipReason.OTHER:
        return skipped.message
    what = "workspace" if skipped.reason is SkipReason.WORKSPACE else "device memory"
    needs = (
        "" if skipped.requested_bytes is None else f"needs {format_bytes(skipped.requested_bytes)} of {what}"
    )
    there = "" if skipped.available_bytes is None else f"{format_bytes(skipped.available_bytes)} available"
    return ", ".join(filter(None, (needs, there))) or f"too little {what}"


def count_because(difference: BuildDifference) -> str:
    """Return `3 skipped, 2 near tie, 1 unknown`."""
    counts = dict.fromkeys(Because, 0)
    for block in difference.blocks:
        counts[block.because] += 1
    return ", ".join(f"{count} {because.value}" for because, count in counts.items() if count)


def describe_blocks(difference: BuildDifference) -> str:
    """Return the number of blocks with another tactic, by reason."""
    return f"{plural(len(difference.blocks), 'block')} with another tactic: {count_because(difference)}."
