"""Reasons for the difference of two engines: blocks summed by cause, and a summary sentence.

The cause is determined per block. Differences within the noise of layer times are unchanged, whatever else changed, unless
their sum exceeds noise: a clock that is 1 % lower makes every layer a little slower.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from trex_tui.old.analysis.compare.model import (
    BECOMES,
    Block,
    Cause,
    Change,
    ChangeKind,
    Difference,
    LayerNoise,
    Match,
    Outcome,
    Reason,
    ReasonPart,
    Side,
    Verdict,
    letter,
)
from trex_tui.old.analysis.stability import TIMER_RESOLUTION_MS
from trex_tui.old.analysis.statistics import median
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.text import plural

NOISE_PCT = 3.0
"""Default noise of a layer's time if its scatter is unknown."""
MOST_NOISE_PCT = 20.0
"""Upper limit of the noise: differences above this share count, however much times scatter."""
_LEAST_RATIOS = 8
"""Minimum number of time ratios of equal layers to estimate their scatter."""
_LEAST_TICKS = 10
"""Shorter layers show the timer resolution, not the scatter."""
_MOST_TICK_MS = 0.0021
"""Longest step of GPU timers; larger common multiples are coincidence."""
_SIGMAS = 3.0
_MAD_TO_SIGMA = 1.4826
_IN_TEXT = 3
"""Number of parts named in a reason, and of causes in a headline."""
_LEAST_OF_LARGEST = 0.05
"""Causes below this share of the largest are omitted from the headline."""
_LEAST_UNATTRIBUTED_MS = 1e-9
"""Smaller values are rounding errors of the sum."""

_PLURALS = {
    "convolution": "convolutions",
    "gemm": "GEMMs",
    "attention": "attention layers",
    "pointwise": "pointwise layers",
    "normalization": "normalizations",
    "reduction": "reductions",
    "softmax": "softmax layers",
    "pooling": "poolings",
    "scale": "scale layers",
    "quantize": "Q/DQ layers",
    "reformat": "reformats",
    "shuffle": "shuffles",
    "slice": "slices",
    "concat": "concats",
    "resize": "resizes",
    "constant": "constants",
    "plugin": "plugin layers",
    "fused": "fused layers",
    "myelin": "Myelin layers",
    "shape": "shape computations",
    "sync": "signals and waits",
    "noop": "NoOps",
    "other": "other layers",
}
_SINGULARS = {
    "gemm": "GEMM",
    "pointwise": "pointwise layer",
    "attention": "attention layer",
    "softmax": "softmax layer",
    "scale": "scale layer",
    "quantize": "Q/DQ layer",
    "plugin": "plugin layer",
    "fused": "fused layer",
    "myelin": "Myelin layer",
    "shape": "shape computation",
    "sync": "signal or wait",
    "noop": "NoOp",
    "other": "other layer",
}
CAUSE_NAMES = {
    Cause.DEVICE: "other device",
    Cause.SHAPES: "other shapes",
    Cause.PRECISION: "precision",
    Cause.FUSION: "fusion",
    Cause.KERNEL: "kernel",
    Cause.FORMATS: "formats",
    Cause.WEIGHTS: "weights",
    Cause.TIME: "time only",
    Cause.UNCHANGED: "unchanged",
    Cause.REFORMATS: "reformats",
    Cause.QDQ: "Q/DQ",
    Cause.ONE_ENGINE: "layers of one engine",
    Cause.NO_TIME: "no time in one engine",
}
_BY_KIND = {LayerKind.REFORMAT.value: Cause.REFORMATS, LayerKind.QUANTIZE.value: Cause.QDQ}
_BY_CHANGE = {
    ChangeKind.SHAPES: Cause.SHAPES,
    ChangeKind.FUSION: Cause.FUSION,
    ChangeKind.PRECISION: Cause.PRECISION,
    ChangeKind.TACTIC: Cause.KERNEL,
    ChangeKind.KIND: Cause.KERNEL,
    ChangeKind.FORMATS: Cause.FORMATS,
    ChangeKind.WEIGHTS: Cause.WEIGHTS,
}
"""Cause of a change, in order of precedence."""
_UNCHANGED_DETAILS = {
    Cause.SHAPES: "of other shapes",
    Cause.FUSION: "fused differently",
    Cause.KERNEL: "with another kernel",
    Cause.FORMATS: "in other formats",
    Cause.WEIGHTS: "with other weights",
}
"""Changes in layers of unchanged time."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Properties of the two engines as a whole.

    Attributes:
        engine, baseline: Their indices.
        sides: Sides of all engines.
        repeats: All runs of the baseline and of the engine.
        verdict: End-to-end verdict on the engine.
        has_other_device, has_other_batch: Whether both values are known and differ.
        related: Whether they seem to be of one model.
    """

    engine: int
    baseline: int
    sides: Sequence[Side]
    repeats: tuple[Sequence[Engine], Sequence[Engine]]
    verdict: Verdict
    has_other_device: bool
    has_other_batch: bool
    related: bool


def difference(blocks: Sequence[Block], given: Circumstances) -> Difference:
    """Return the difference between an engine and the baseline, with reasons."""
    engine, baseline = given.engine, given.baseline
    here = [block for block in blocks if block.layers[engine] or block.layers[baseline]]
    ours, first = given.sides[engine].latency_sum_ms, given.sides[baseline].latency_sum_ms
    delta = None if ours is None or first is None else ours - first
    deltas = [block.deltas_ms[engine] for block in here]
    attributed = math.fsum(delta_ms for delta_ms in deltas if delta_ms is not None)
    unattributed = 0.0 if delta is None or None not in deltas else delta - attributed
    noise: LayerNoise | None = None
    reasons: tuple[Reason, ...] = ()
    if delta is not None:
        found = _Noise.measure(here, given)
        noise = found.described
        reasons = _reasons(here, given, found, unattributed)
    return Difference(
        engine=engine,
        delta_ms=delta,
        ratio=ours / first if ours is not None and first else None,
        unattributed_ms=unattributed,
        headline=_headline(delta, reasons, noise, given),
        reasons=reasons,
        noise=noise,
        matches=dict(Counter(_match(block, engine, baseline) for block in here)),
        changes=dict(Counter(kind for block in here for kind in block.changed_in(engine))),
        related=given.related,
    )


def _match(block: Block, engine: int, baseline: int) -> Match:
    match = block.matches[engine]
    return match if match and block.layers[engine] and block.layers[baseline] else Match.NONE


def causes_by_block(difference: Difference) -> dict[int, Cause]:
    """Return block index -> cause of its difference; without blocks that contribute nothing."""
    return {block: reason.cause for reason in difference.reasons for block in reason.blocks}


# Noise


class _Noise:
    """Noise of the differences of blocks."""

    def __init__(self, described: LayerNoise, by_block: dict[int, float]) -> None:
        self.described = described
        self._by_block = by_block

    @classmethod
    def measure(cls, blocks: Sequence[Block], given: Circumstances) -> _Noise:
        """Measure noise by the spread between runs of an engine; else by that of layers without changes."""
        engine, baseline = given.engine, given.baseline
        tick = max(
            _tick_ms(runs[0]) / given.sides[place].per
            for runs, place in zip(given.repeats, (baseline, engine), strict=True)
        )
        ratios = [ratio for runs in given.repeats for ratio in _ratios_of_runs(runs, tick)]
        source = "spread between runs"
        if len(ratios) < _LEAST_RATIOS:
            pairs = [
                (block.latency_ms[baseline], block.latency_ms[engine])
                for block in blocks
                if not (block.changes and block.changed_in(engine))
                and block.layers[baseline]
                and block.layers[engine]
            ]
            ratios = _centred_ratios(pairs, tick)
            source = f"spread of {len(ratios)} equal layers"
        pct = NOISE_PCT
        if len(ratios) >= _LEAST_RATIOS:
            sigma = _MAD_TO_SIGMA * median([abs(ratio) for ratio in ratios])
            pct = min(MOST_NOISE_PCT, max(NOISE_PCT, 100.0 * math.expm1(_SIGMAS * sigma)))
        if pct == NOISE_PCT:
            source = "default"
        least, share = tick * 1.001, pct / 100.0
        by_block = {
            block.index: max(
                least, share * (block.latency_ms[engine] or 0.0), share * (block.latency_ms[baseline] or 0.0)
            )
            for block in blocks
            if block.layers[engine] and block.layers[baseline]
        }
        return cls(LayerNoise(tick, pct, source, _add_independent(by_block.values())), by_block)

    def is_within(self, block: Block, delta: float | None) -> bool:
        """Return whether the difference of a block of both engines is within noise."""
        return abs(delta or 0.0) <= self._by_block.get(block.index, -1.0)

    def of_sum(self, blocks: Iterable[Block]) -> float:
        """Return the noise of the sum of the differences of blocks of both engines."""
        return _add_independent(self._by_block[block.index] for block in blocks)


def _add_independent(noises: Iterable[float]) -> float:
    """Return the noise of a sum of independent numbers."""
    return math.sqrt(math.fsum(noise * noise for noise in noises))


def _tick_ms(engine: Engine) -> float:
    """Return the common step of all layer times, such as the 1.024 µs of many timers; else the timer's resolution."""
    times = sorted({layer.latency_ms for layer in engine.layers if layer.latency_ms})
    steps = [late - early for early, late in pairwise(times)]
    step = min((step for step in steps if step >= TIMER_RESOLUTION_MS / 2.0), default=0.0)
    if len(times) < _LEAST_RATIOS or not TIMER_RESOLUTION_MS <= step <= _MOST_TICK_MS:
        return TIMER_RESOLUTION_MS
    is_common = all(abs(time / step - round(time / step)) < 0.05 for time in times)
    return step if is_common else TIMER_RESOLUTION_MS


def _ratios_of_runs(runs: Sequence[Engine], tick: float) -> list[float]:
    """Return logarithms of the ratios of layer times to the first run, without the ratio common to all layers."""
    if not runs or not runs[0].has_profile:
        return []
    return [
        ratio
        for run in runs[1:]
        if run.has_profile and len(run.layers) == len(runs[0].layers)
        for ratio in _centred_ratios(
            [
                (layer.latency_ms, other.latency_ms)
                for layer, other in zip(runs[0].layers, run.layers, strict=True)
            ],
            tick,
        )
    ]


def _centred_ratios(pairs: Iterable[tuple[float | None, float | None]], tick: float) -> list[float]:
    least = _LEAST_TICKS * tick
    ratios = [math.log(other / time) for time, other in pairs if time and other and min(time, other) >= least]
    middle = median(ratios) if ratios else 0.0
    return [ratio - middle for ratio in ratios]


# Causes


def _cause(block: Block, given: Circumstances) -> Cause:
    """Return the cause of a block's difference, if it exceeds noise."""
    if not block.layers[given.engine] or not block.layers[given.baseline]:
        return _BY_KIND.get(block.kind, Cause.ONE_ENGINE)
    if given.has_other_device:
        return Cause.DEVICE
    if given.has_other_batch:
        return Cause.SHAPES
    if not block.changes:
        return Cause.TIME
    changes = {change.kind: change for change in block.changes if change.engine == given.engine}
    precision = changes.get(ChangeKind.PRECISION)
    if block.kind in _BY_KIND and changes:
        return _BY_KIND[block.kind]
    if ChangeKind.SHAPES not in changes and precision is not None and _is_replaced(precision):
        return Cause.PRECISION
    return next((cause for kind, cause in _BY_CHANGE.items() if kind in changes), Cause.TIME)


def _is_replaced(change: Change) -> bool:
    """Return whether none of the previous precisions remains: FP32 + INT8 that becomes INT8 is a layer fused in, or moved."""
    return not {*change.before.split(" + ")} & {*change.after.split(" + ")}


def _detail(block: Block, cause: Cause, given: Circumstances) -> str:
    """Return the change of a block as a short text."""
    if not block.layers[given.engine]:
        return f"only in {letter(given.baseline)}"
    if not block.layers[given.baseline]:
        return f"only in {letter(given.engine)}"
    if cause is Cause.PRECISION:
        precision = next(
            change
            for change in block.changes
            if change.engine == given.engine and change.kind is ChangeKind.PRECISION
        )
        return f"{precision.before}{BECOMES}{precision.after}"
    return ""


def _reasons(
    blocks: Sequence[Block], given: Circumstances, noise: _Noise, unattributed: float
) -> tuple[Reason, ...]:
    engine, baseline = given.engine, given.baseline
    groups: dict[Cause, list[Block]] = {}
    for block in blocks:
        if block.deltas_ms[engine] is None:
            groups.setdefault(Cause.NO_TIME, []).append(block)
        elif block.deltas_ms[engine] or (block.layers[engine] and block.layers[baseline]):
            groups.setdefault(_cause(block, given), []).append(block)
    own = {block.index: cause for cause, members in groups.items() for block in members}
    unchanged: list[Block] = []
    for cause in tuple(groups):
        if cause is not Cause.NO_TIME:
            groups[cause], small = _split_noise(groups[cause], given, noise)
            unchanged += small
    groups[Cause.UNCHANGED] = unchanged
    if abs(unattributed) <= _LEAST_UNATTRIBUTED_MS:
        groups.pop(Cause.NO_TIME, None)
    reasons = [
        _reason(cause, members, own, given, unattributed)
        for cause, members in groups.items()
        if cause is Cause.NO_TIME or any(block.deltas_ms[engine] for block in members)
    ]
    order = tuple(Cause)
    return tuple(sorted(reasons, key=lambda reason: (-abs(reason.delta_ms), order.index(reason.cause))))


def _split_noise(
    blocks: Sequence[Block], given: Circumstances, noise: _Noise
) -> tuple[list[Block], list[Block]]:
    """Split the blocks of a cause into those beyond noise and the others; no split if the others add up to more."""
    engine = given.engine
    small = [block for block in blocks if noise.is_within(block, block.deltas_ms[engine])]
    if abs(math.fsum(block.deltas_ms[engine] or 0.0 for block in small)) > noise.of_sum(small):
        return list(blocks), []
    places = {block.index for block in small}
    return [block for block in blocks if block.index not in places], small


def _reason(
    cause: Cause,
    blocks: Sequence[Block],
    own: dict[int, Cause],
    given: Circumstances,
    unattributed: float,
) -> Reason:
    """Return a reason.

    Args:
        own: Block index -> its cause apart from noise.
        unattributed: The sum of the reason without times.
    """
    engine, baseline = given.engine, given.baseline
    ordered = sorted(blocks, key=lambda block: (-abs(block.deltas_ms[engine] or 0.0), block.index))
    deltas = (
        [unattributed] if cause is Cause.NO_TIME else [block.deltas_ms[engine] or 0.0 for block in ordered]
    )
    decrease = math.fsum(delta for delta in deltas if delta < 0.0)
    increase = math.fsum(delta for delta in deltas if delta > 0.0)
    parts = _parts(cause, ordered, own, given)
    return Reason(
        cause,
        _describe_parts(parts),
        math.fsum(deltas),
        decrease,
        increase,
        (
            sum(len(block.layers[baseline]) for block in ordered),
            sum(len(block.layers[engine]) for block in ordered),
        ),
        parts,
        tuple(block.index for block in ordered),
    )


def _parts(
    cause: Cause, blocks: Sequence[Block], own: dict[int, Cause], given: Circumstances
) -> tuple[ReasonPart, ...]:
    engine, baseline = given.engine, given.baseline
    groups: dict[tuple[str, str], list[Block]] = {}
    for block in blocks:
        detail = _detail(block, own[block.index], given)
        if cause is Cause.UNCHANGED:
            detail = detail or _UNCHANGED_DETAILS.get(own[block.index], "")
        groups.setdefault((block.kind, detail), []).append(block)
    parts = []
    for (kind, detail), members in groups.items():
        is_matched = members[0].layers[engine] and members[0].layers[baseline]
        count = sum(
            1 if is_matched else len(block.layers[engine]) + len(block.layers[baseline]) for block in members
        )
        deltas = [block.deltas_ms[engine] for block in members]
        delta = (
            None
            if cause is Cause.NO_TIME
            else math.fsum(delta_ms for delta_ms in deltas if delta_ms is not None)
        )
        parts.append(ReasonPart(kind, detail, count, delta))
    return tuple(
        sorted(parts, key=lambda part: (-abs(part.delta_ms or 0.0), -part.count, part.kind, part.detail))
    )


def _describe_parts(parts: Sequence[ReasonPart]) -> str:
    texts = [
        f"{plural(part.count, _SINGULARS.get(part.kind, part.kind), _PLURALS.get(part.kind, part.kind))} {part.detail}"
        for part in parts[:_IN_TEXT]
    ]
    if rest := sum(part.count for part in parts[_IN_TEXT:]):
        texts.append(f"{rest} more")
    return ", ".join(text.rstrip() for text in texts)


# Sentences


def signed_ms(delta: float) -> str:
    """Return `+0.1300 ms`, with a real minus sign."""
    return f"{delta:+.4f} ms".replace("-", "−")


def _describe_causes(reasons: Sequence[Reason]) -> str:
    """Return `: −1.2646 ms precision, +0.2324 ms Q/DQ`: the causes that are not small compared with the largest."""
    causes = [reason for reason in reasons if reason.cause is not Cause.UNCHANGED][:_IN_TEXT]
    least = _LEAST_OF_LARGEST * max((abs(reason.delta_ms) for reason in causes), default=0.0)
    texts = [
        f"{signed_ms(reason.delta_ms)} {CAUSE_NAMES[reason.cause]}"
        for reason in causes
        if abs(reason.delta_ms) >= least
    ]
    return f": {', '.join(texts)}" if texts else ""


def _headline(
    delta: float | None, reasons: Sequence[Reason], noise: LayerNoise | None, given: Circumstances
) -> str:
    """Return a sentence: the verdict, then layer times; reasons only if these differ beyond noise."""
    engine, baseline = letter(given.engine), letter(given.baseline)
    ours, first = given.sides[given.engine], given.sides[given.baseline]
    if delta is None or noise is None:
        missing = engine if ours.latency_sum_ms is None else baseline
        pct = given.verdict.difference_pct
        printed = (
            f"The printed median of {engine} is {pct:+.2f} % against {baseline}. " if pct is not None else ""
        )
        side = given.repeats[1 if ours.latency_sum_ms is None else 0][0]
        why = side.explain_need("needs --exportProfile", ArtifactKind.PROFILE)
        return f"{printed.replace('-', '−')}{missing} has no profile ({why}): layer times are not compared."
    pct = 100.0 * abs(delta) / first.latency_sum_ms if first.latency_sum_ms else None
    share = "" if pct is None else f" ({pct:.1f} %)"
    is_noise = abs(delta) <= noise.sum_ms
    outcome, moved = given.verdict.outcome, given.verdict.difference_pct
    word = "slower" if delta > 0 else "faster"
    whole = f"{engine} is {abs(delta):.4f} ms{share} {word} than {baseline} by the sum of layer times"
    because = _describe_causes(reasons)
    agrees = f"layer times agree within noise ({signed_ms(delta)})"
    if outcome is Outcome.SAME:
        sums = (
            agrees if is_noise else f"by the sum of layer times {engine} is {abs(delta):.4f} ms{share} {word}"
        )
        return f"{engine} and {baseline} do not differ beyond noise end to end; {sums}."
    if outcome is Outcome.UNKNOWN:
        if is_noise:
            return f"{engine} and {baseline} take the same: {agrees}."
        return f"{whole}{because}."
    change = "" if moved is None else f" ({moved:+.2f} %)".replace("-", "−")
    end_to_end = f"{engine} is {outcome.value} than {baseline} end to end{change}"
    if is_noise:
        return f"{end_to_end}; {agrees}."
    if outcome.value == word:
        return f"{whole}{because}."
    sums = f"{abs(delta):.4f} ms{share} {'more' if delta > 0 else 'less'}"
    return f"{end_to_end}, but its layer times add up to {sums}{because}."
