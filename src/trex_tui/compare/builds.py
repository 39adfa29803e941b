"""Explain from both build logs why the builder chose another tactic for layers that do the same work.

For each block whose tactic changed: what each build timed in its final formats, the margin of its choice, skipped tactics,
results from a timing cache, and what became of the other build's tactic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pandas as pd

from trex_tui.analysis.build import NEAR_TIE_PCT, BuildJoin, Contender, LayerChoice, join_build, list_timed
from trex_tui.buildlog.tactics import FormatCombination, SkippedTactic
from trex_tui.compare.blocks import key_of, letter
from trex_tui.compare.changes import ChangeKind
from trex_tui.compare.comparison import Comparison, has_other_device
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine
from trex_tui.errors import ArtifactError
from trex_tui.text import format_bytes, format_ms, plural

_DIGITS = 6
"""Digits of the builder's times of tactics in milliseconds."""
_LEAST_HASH = 1 << 32
"""Smallest tactic number that is a hash of a kernel, equal in all versions; smaller ones count the tactics of a runner."""
CHOSEN, TIMED, OTHER_FORMATS = "chosen", "timed", "timed in other formats"
SKIPPED, NOT_TRIED, UNKNOWN = "skipped", "not tried", "unknown"
"""What became of a tactic in a build; unknown without a log, and where it has only a timing cache result."""
REASONS = (
    *(SKIPPED, "precision", "near tie", "device", "timing cache", "times", "formats", NOT_TRIED),
    UNKNOWN,
)
"""Why the builds differ in a block, as far as their logs show; the first that applies."""
_COLUMNS = ("block", "because", "engine", "tactic", "builder_ms", "margin_pct", "timed", "skipped", "other")


class BuildDifference(NamedTuple):
    """Differences between the builds of an engine and the baseline.

    Attributes:
        problems: Missing information, with the remedy.
        choices: Two rows per block whose tactic changed, of the baseline and of the engine, the largest difference of time
            first: block, because, engine, tactic, builder_ms, margin_pct (of the fastest other tactic), timed and skipped
            (numbers of tactics in the formats of the choice), other (what became of the other engine's tactic).
    """

    engine: int
    problems: tuple[str, ...]
    choices: pd.DataFrame

    @property
    def summary(self) -> str:
        """Number of blocks with another tactic, by reason."""
        counts = Counter(self.choices["because"][::2])
        texts = [f"{counts[reason]} {reason}" for reason in REASONS if counts[reason]]
        return f"{plural(counts.total(), 'block')} with another tactic: {', '.join(texts)}."


def explain_builds(comparison: Comparison, engine: int) -> BuildDifference:
    """Explain all blocks of an engine whose tactic differs from that of the baseline; reads the logs."""
    joins, problems = zip(*(_load_build(comparison.engines[own], own) for own in (0, engine)), strict=True)
    order = comparison.blocks[key_of(engine, "delta_ms")].abs().sort_values(ascending=False, kind="stable")
    changed = comparison.blocks[key_of(engine, "changed")]
    rows = [
        row
        for block in (order.index if any(joins) else ())
        if ChangeKind.TACTIC.value in changed[block]
        for row in _explain_block(comparison, engine, block, joins)
    ]
    return BuildDifference(engine, tuple(filter(None, problems)), pd.DataFrame(rows, columns=_COLUMNS))


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


class _Side(NamedTuple):
    """The main layer of a block in one engine.

    Attributes:
        tactic: Name of the engine's tactic, else its number.
        choice: Its choice; None if the log does not have it.
        name: Name of the kernel.
        runner, number: None unless they mean the same in both builds.
    """

    has_log: bool
    tactic: str | None
    choice: LayerChoice | None
    name: str | None
    runner: str | None
    number: str | None

    def is_tactic(self, runner: str, number: str | None, name: str | None) -> bool:
        if self.number is not None and number is not None:
            return number == self.number and (self.runner is None or runner == self.runner)
        return name is not None and name == self.name


def _explain_block(
    comparison: Comparison, engine: int, block: int, joins: Sequence[BuildJoin | None]
) -> Iterator[tuple[Any, ...]]:
    ends = comparison.sides[0], comparison.sides[engine]
    is_same_version = ends[0].tensorrt_version == ends[1].tensorrt_version
    first, second = (
        _read_side(comparison, position, block, join, is_same_version=is_same_version)
        for position, join in zip((0, engine), joins, strict=True)
    )
    others = [_find_other(second, first.choice), _find_other(first, second.choice)]
    fates = [fate for fate, _, _ in others]
    choices = [side.choice for side in (first, second)]
    reasons = {
        UNKNOWN: not any(choices),
        SKIPPED: SKIPPED in fates,
        "precision": ChangeKind.PRECISION.value in comparison.blocks[key_of(engine, "changed")][block],
        "near tie": any(
            fate == TIMED and pct is not None and abs(pct) < NEAR_TIE_PCT for fate, pct, _ in others
        ),
        "device": has_other_device(*ends),
        "timing cache": any(map(_is_from_cache, choices)),
        "times": fates == [TIMED, TIMED],
        "formats": OTHER_FORMATS in fates,
        NOT_TRIED: NOT_TRIED in fates,
    }
    last = "times" if TIMED in fates else UNKNOWN
    because = next((reason for reason, is_true in reasons.items() if is_true), last)
    for position, side, (_, _, text) in zip((0, engine), (first, second), others, strict=True):
        choice = side.choice
        if choice is None:
            missing = "not in the log" if side.has_log else "no log"
            yield block, because, letter(position), side.tactic, None, None, None, None, missing
            continue
        other = second.choice if side is first else first.choice
        precision = other.precision if other and other.precision != choice.precision else None
        best = [cost.time_ms for cost in choice.precisions if precision and cost.precision == precision]
        combination = choice.combination
        skipped = [*_list_skipped([combination])] if combination else choice.tuning and choice.tuning.skipped
        yield (
            *(block, because, letter(position), side.tactic),
            choice.chosen.time_ms if choice.chosen else None,
            *(choice.margin_pct, len(choice.contenders), len(skipped or ())),
            f"{text}; best in its precision: {format_ms(best[0], _DIGITS)} ms" if best else text,
        )


def _is_from_cache(choice: LayerChoice | None) -> bool:
    combination = choice.combination if choice else None
    return bool(choice and combination and combination.is_cached and not choice.contenders)


def _read_side(
    comparison: Comparison, position: int, block: int, join: BuildJoin | None, *, is_same_version: bool
) -> _Side:
    layer = _find_main_layer(comparison, position, block)
    choice = join.choices[layer] if join is not None and layer < len(join.choices) else None
    choice = choice if choice is not None and choice.tuning is not None else None
    kernel, value, layer_type = (
        text if isinstance(text := comparison.engines[position].layers[key].iloc[layer], str) else None
        for key in ("tactic", "tactic_value", "layer_type")
    )
    chosen = choice.chosen if choice else None
    number = chosen.id if chosen is not None else choice.tactic_id if choice else None
    if number is not None and not is_same_version and int(number, 16) < _LEAST_HASH:
        number = None
    name, runner = (chosen.name if chosen else None) or kernel, chosen.runner if chosen else layer_type
    return _Side(join is not None, kernel or value, choice, name, runner, number)


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


def _list_skipped(combinations: Iterable[FormatCombination]) -> Iterator[tuple[str, SkippedTactic]]:
    for combination in combinations:
        for trial in combination.runners:
            yield from ((trial.runner, skipped) for skipped in trial.skipped)


def _find_other(side: _Side, choice: LayerChoice | None) -> tuple[str, float | None, str]:
    """Return what became of the tactic of a side in the other build, its time over that of the choice, and both in words."""
    if choice is None or (side.name is None and side.number is None):
        return UNKNOWN, None, UNKNOWN
    chosen = choice.chosen
    for rank, contender in enumerate(choice.contenders, start=1):
        if side.is_tactic(contender.runner, contender.id, contender.name):
            is_chosen = chosen is not None and side.is_tactic(chosen.runner, chosen.id, chosen.name)
            return _describe(CHOSEN if is_chosen else TIMED, contender.time_ms, chosen, f", rank {rank}")
    combinations = choice.tuning.combinations if choice.tuning else ()
    times = [
        timed.time_ms
        for combination in combinations
        for trial in combination.runners
        for timed in list_timed(trial)
        if side.is_tactic(timed.runner, timed.id, timed.name)
    ]
    own = [choice.combination] if choice.combination else []
    for runner, skipped in (*_list_skipped(own), *_list_skipped(() if times else combinations)):
        if skipped.id is not None and side.is_tactic(runner, skipped.id, None):
            return SKIPPED, None, f"skipped: {_describe_skip(skipped)}"
    if times:
        return _describe(OTHER_FORMATS, min(times), chosen)
    fate = NOT_TRIED if choice.contenders else UNKNOWN
    return fate, None, fate


def _describe(
    fate: str, time_ms: float, chosen: Contender | None, rank: str = ""
) -> tuple[str, float | None, str]:
    pct = 100.0 * (time_ms / chosen.time_ms - 1.0) if chosen is not None and chosen.time_ms > 0.0 else None
    more = "" if pct is None else f" ({pct:+.1f} %)".replace("-", "−")
    return fate, pct, f"{fate}: {format_ms(time_ms, _DIGITS)} ms{more}{rank}"


def _describe_skip(skipped: SkippedTactic) -> str:
    if skipped.reason == "other":
        return skipped.message
    needs, there = (
        "" if size is None else format_bytes(size)
        for size in (skipped.requested_bytes, skipped.available_bytes)
    )
    parts = [f"needs {needs} of {skipped.reason}" if needs else "", f"{there} available" if there else ""]
    return ", ".join(filter(None, parts)) or f"too little {skipped.reason}"
