"""Reasons for the difference of two engines: blocks summed by cause.

The cause is determined per block. Differences within the noise of layer times are unchanged, whatever else changed, unless
their sum exceeds noise: a clock that is 1 % lower makes every layer a little slower.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from trex_tui.analysis.stability import SCALED_MAD, TIMER_RESOLUTION_MS
from trex_tui.compare.blocks import key_of, letter
from trex_tui.compare.changes import Change, ChangeKind, PartChange
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.frames import FLOAT, TEXT, plain_values
from trex_tui.text import format_signed_ms, plural

BECOMES = "⇒"
"""From the baseline to the other engine; `→` is from inputs to outputs."""
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
_IN_TEXT = 3
"""Number of parts named in a reason, and of causes in a headline."""
_LEAST_OF_LARGEST = 0.05
"""Causes below this share of the largest are omitted from the headline."""
_LEAST_UNATTRIBUTED_MS = 1e-9
"""Smaller values are rounding errors of the sum."""

_NOUNS = {
    "gemm": ("GEMM", "GEMMs"),
    "attention": ("attention layer", "attention layers"),
    "pointwise": ("pointwise layer", "pointwise layers"),
    "softmax": ("softmax layer", "softmax layers"),
    "scale": ("scale layer", "scale layers"),
    "quantize": ("Q/DQ layer", "Q/DQ layers"),
    "plugin": ("plugin layer", "plugin layers"),
    "fused": ("fused layer", "fused layers"),
    "myelin": ("Myelin layer", "Myelin layers"),
    "shape": ("shape computation", "shape computations"),
    "sync": ("signal or wait", "signals and waits"),
    "noop": ("NoOp", "NoOps"),
    "other": ("other layer", "other layers"),
}


class Cause(str, Enum):
    """Cause of a difference in time between layers of two engines.

    The causes of matched layers are in order of precedence: the first that applies is the cause.
    """

    DEVICE = "device"
    """The engines ran on different devices."""
    SHAPES = "shapes"
    """The tensors differ in shape, or the engines in batch."""
    PRECISION = "precision"
    """The layers compute in another type."""
    FUSION = "fusion"
    """The work is split into layers differently, or other operators are fused in."""
    KERNEL = "kernel"
    """Another tactic, with the same precision."""
    FORMATS = "formats"
    """Type or layout of the tensors, with the same tactic."""
    WEIGHTS = "weights"
    """Bytes of the constants, with the same tactic."""
    TIME = "time"
    """Only the time differs."""
    UNCHANGED = "unchanged"
    """The difference is within the noise of layer times, whatever else changed."""
    REFORMATS = "reformats"
    """Copies that change type or layout, of one engine or of both."""
    QDQ = "qdq"
    """Quantize and dequantize layers, of one engine or of both."""
    ONE_ENGINE = "one engine"
    """Other layers that only one engine has."""
    NO_TIME = "no time"
    """Layers without a time in one engine."""


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
"""Cause -> its name in tables and sentences."""
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
_GROUPS = dict.fromkeys(("xmma", "cutlass", "cudnn"), "prebuilt")
"""Library of a kernel -> its group, if it has several: builders choose freely among prebuilt kernels."""
_BITS = {dtype.value: dtype.bits for dtype in DataType}
_MOST_BY_PRECISION = 16.0
"""Largest ratio of times that a type explains: FP16 on tensor cores has 16 times the rate of FP32 on CUDA cores."""
_UNCHANGED_DETAILS = {
    Cause.SHAPES: "of other shapes",
    Cause.FUSION: "fused differently",
    Cause.KERNEL: "with another kernel",
    Cause.FORMATS: "in other formats",
    Cause.WEIGHTS: "with other weights",
}
"""Changes in layers of unchanged time."""


class LayerNoise(NamedTuple):
    """Thresholds below which differences of layer times are noise.

    Attributes:
        tick_ms: Differences up to this are noise: the step of the profile's timer.
        pct: Differences up to this share of the larger time are noise too.
        source: Source of the share.
        sum_ms: Noise of the sum of layer times: that of all matched layers, added up as independent.
    """

    tick_ms: float
    pct: float
    source: str
    sum_ms: float


class _Block(NamedTuple):
    """A block in the baseline and in an engine.

    Attributes:
        layers: Number of layers in each.
        times_ms: Their times; None if unknown.
        noise_ms: Differences up to this are noise; negative if only one of the engines has layers.
    """

    number: int
    kind: str
    layers: tuple[int, int]
    times_ms: tuple[float | None, float | None]
    delta_ms: float | None
    changes: Mapping[ChangeKind, Change]
    noise_ms: float = -1.0

    @property
    def is_matched(self) -> bool:
        """Whether both engines have layers in it."""
        return all(self.layers)


_COLUMNS = ("cause", "delta_ms", "decrease_ms", "increase_ms", "baseline_layers", "layers", "what", "blocks")
_TYPES: dict[str, Any] = {"cause": TEXT, "what": TEXT, "baseline_layers": "int64", "layers": "int64"}
_TYPES |= {key: FLOAT for key in _COLUMNS if key.endswith("_ms")}
NO_REASONS = pd.DataFrame(columns=_COLUMNS).astype(_TYPES)


def find_reasons(
    blocks: pd.DataFrame,
    changes: Sequence[Sequence[Change]],
    engine: int,
    times: Sequence[Sequence[pd.Series]],
    cause_of_all: Cause | None,
    unattributed_ms: float,
) -> tuple[pd.DataFrame, LayerNoise]:
    """Return a row per cause, the largest magnitude first, and the noise of layer times.

    Columns: cause, delta_ms, decrease_ms, increase_ms, baseline_layers, layers, what, blocks (tuples, the largest magnitude
    first; no block has two causes). The sum of delta_ms is the difference of the engines.

    Args:
        changes: Per block, its changes in the engine.
        times: Layer times of each run of the baseline, and of the engine; the first run is the compared one.
        cause_of_all: Cause of all matched layers: another device or batch.
        unattributed_ms: The part of the difference in blocks without a time in one of the engines.
    """
    listed, noise = _measure_noise(_list_blocks(blocks, changes, engine), times)
    groups: dict[Cause, list[_Block]] = {}
    for block in listed:
        if block.delta_ms is not None and (block.delta_ms or block.is_matched):
            groups.setdefault(_find_cause(block, cause_of_all), []).append(block)
    unchanged: list[tuple[_Block, Cause]] = []
    rows: list[dict[str, Any]] = []
    for cause, members in groups.items():
        small = [block for block in members if abs(block.delta_ms or 0.0) <= block.noise_ms]
        if abs(_add_deltas(small)) <= _add_independent(small):
            unchanged += [(block, cause) for block in small]
            members = [block for block in members if block not in small]
        rows.append(_sum_up(cause, [(block, cause) for block in members], engine))
    rows.append(_sum_up(Cause.UNCHANGED, unchanged, engine))
    rows = [row for row in rows if row["decrease_ms"] or row["increase_ms"]]
    if abs(unattributed_ms) > _LEAST_UNATTRIBUTED_MS:
        untimed = [(block, Cause.NO_TIME) for block in listed if block.delta_ms is None]
        edges = {"decrease_ms": min(unattributed_ms, 0.0), "increase_ms": max(unattributed_ms, 0.0)}
        rows.append({**_sum_up(Cause.NO_TIME, untimed, engine), "delta_ms": unattributed_ms, **edges})
    order = [cause.value for cause in Cause]
    rows.sort(key=lambda row: (-abs(row["delta_ms"]), order.index(row["cause"])))
    return pd.DataFrame(rows, columns=_COLUMNS).astype(_TYPES), noise


def _add_deltas(blocks: Iterable[_Block]) -> float:
    return math.fsum(block.delta_ms or 0.0 for block in blocks)


def _sum_up(cause: Cause, members: Sequence[tuple[_Block, Cause]], engine: int) -> dict[str, Any]:
    """Return the row of a cause.

    Args:
        members: Blocks with their own cause, which those within noise keep in their description.
    """
    ordered = sorted(members, key=lambda member: (-abs(member[0].delta_ms or 0.0), member[0].number))
    blocks = [block for block, _ in ordered]
    return {
        "cause": cause.value,
        "delta_ms": _add_deltas(blocks),
        "decrease_ms": _add_deltas(block for block in blocks if (block.delta_ms or 0.0) < 0.0),
        "increase_ms": _add_deltas(block for block in blocks if (block.delta_ms or 0.0) > 0.0),
        "baseline_layers": sum(block.layers[0] for block in blocks),
        "layers": sum(block.layers[1] for block in blocks),
        "what": _describe_parts(ordered, engine, is_unchanged=cause is Cause.UNCHANGED),
        "blocks": tuple(block.number for block in blocks),
    }


def _list_blocks(blocks: pd.DataFrame, changes: Sequence[Sequence[Change]], engine: int) -> list[_Block]:
    counts = zip(*(blocks[key_of(end, "layers")].map(len) for end in (0, engine)), strict=True)
    times = zip(*(plain_values(blocks[key_of(end, "latency_ms")]) for end in (0, engine)), strict=True)
    deltas = plain_values(blocks[key_of(engine, "delta_ms")])
    rows = zip(blocks.index.tolist(), blocks["kind"].tolist(), counts, times, deltas, changes, strict=True)
    return [
        _Block(index, kind, layers, times_ms, delta, {change.kind: change for change in own})
        for index, kind, layers, times_ms, delta, own in rows
        if any(layers)
    ]


# Noise


def _measure_noise(
    blocks: Sequence[_Block], times: Sequence[Sequence[pd.Series]]
) -> tuple[list[_Block], LayerNoise]:
    """Measure noise by the spread between runs of an engine; else by that of layers without changes."""
    tick = max(_find_tick_ms(runs[0]) for runs in times)
    ratios = [
        ratio
        for first, *further in times
        for run in further
        if len(run) == len(first)
        for ratio in _center_ratios(zip(plain_values(first), plain_values(run), strict=True), tick)
    ]
    source = "spread between runs"
    if len(ratios) < _LEAST_RATIOS:
        pairs = [block.times_ms for block in blocks if block.is_matched and not block.changes]
        ratios = _center_ratios(pairs, tick)
        source = f"spread of {len(ratios)} equal layers"
    pct = NOISE_PCT
    if len(ratios) >= _LEAST_RATIOS:
        sigma = SCALED_MAD * float(np.median(np.abs(ratios)))
        pct = min(MOST_NOISE_PCT, max(NOISE_PCT, 100.0 * math.expm1(_SIGMAS * sigma)))
    if pct == NOISE_PCT:
        source = "default"
    noisy = [
        block._replace(noise_ms=max(tick * 1.001, *(pct / 100.0 * (time or 0.0) for time in block.times_ms)))
        if block.is_matched
        else block
        for block in blocks
    ]
    whole = _add_independent(block for block in noisy if block.is_matched)
    return noisy, LayerNoise(tick, pct, source, whole)


def _add_independent(blocks: Iterable[_Block]) -> float:
    """Return the noise of the sum of blocks, as of independent numbers."""
    return math.sqrt(math.fsum(block.noise_ms**2 for block in blocks))


def _find_tick_ms(times: pd.Series) -> float:
    """Return the common step of all layer times, such as the 1.024 µs of many timers; else the timer's resolution."""
    known = np.unique(times.dropna().to_numpy(float))
    known = known[known > 0]
    steps = np.diff(known)
    steps = steps[steps >= TIMER_RESOLUTION_MS / 2.0]
    step = float(steps.min()) if len(steps) else 0.0
    if len(known) < _LEAST_RATIOS or not TIMER_RESOLUTION_MS <= step <= _MOST_TICK_MS:
        return TIMER_RESOLUTION_MS
    multiples = known / step
    return step if (np.abs(multiples - multiples.round()) < 0.05).all() else TIMER_RESOLUTION_MS


def _center_ratios(pairs: Iterable[tuple[float | None, float | None]], tick: float) -> list[float]:
    least = _LEAST_TICKS * tick
    ratios = [math.log(other / time) for time, other in pairs if time and other and min(time, other) >= least]
    middle = median(ratios) if ratios else 0.0
    return [ratio - middle for ratio in ratios]


# Causes


def _find_cause(block: _Block, cause_of_all: Cause | None) -> Cause:
    """Return the cause of a block's difference, if it exceeds noise."""
    if not block.is_matched:
        return _BY_KIND.get(block.kind, Cause.ONE_ENGINE)
    if cause_of_all is not None:
        return cause_of_all
    if not block.changes:
        return Cause.TIME
    if block.kind in _BY_KIND:
        return _BY_KIND[block.kind]
    precision = block.changes.get(ChangeKind.PRECISION)
    if _find_library_change(block) is not None and not (precision and _explains(precision, block)):
        return Cause.KERNEL
    if ChangeKind.SHAPES not in block.changes and precision is not None and _is_replaced(precision):
        return Cause.PRECISION
    return next((cause for kind, cause in _BY_CHANGE.items() if kind in block.changes), Cause.TIME)


def _find_library_change(block: _Block) -> PartChange | None:
    """Return the change between generated kernels, cuBLAS and prebuilt kernels; None without one."""
    tactic = block.changes.get(ChangeKind.TACTIC)
    for part in tactic.parts if tactic else ():
        if part.part == "library" and _GROUPS.get(part.before, part.before) != _GROUPS.get(
            part.after, part.after
        ):
            return part
    return None


def _explains(precision: Change, block: _Block) -> bool:
    """Return whether a change of type explains the time: a wider type takes longer, but not by more than a factor."""
    bits = [_BITS.get(text) for text in (precision.before, precision.after)]
    before, after = block.times_ms
    if bits[0] is None or bits[1] is None or not before or not after or bits[0] == bits[1]:
        return True
    ratio = after / before if bits[1] > bits[0] else before / after
    return 1.0 <= ratio <= _MOST_BY_PRECISION


def _is_replaced(change: Change) -> bool:
    """Return whether none of the previous precisions remains: FP32 + INT8 that becomes INT8 is a layer fused in, or moved."""
    return not {*change.before.split(" + ")} & {*change.after.split(" + ")}


def _describe_parts(members: Iterable[tuple[_Block, Cause]], engine: int, *, is_unchanged: bool) -> str:
    """Return `18 convolutions FP16⇒INT8, 1 pooling FP32⇒INT8`: blocks by kind and change, the largest sum first."""
    groups: dict[tuple[str, str], list[_Block]] = {}
    for block, cause in members:
        detail = _describe_change(block, cause, engine)
        if is_unchanged:
            detail = detail or _UNCHANGED_DETAILS.get(cause, "")
        groups.setdefault((block.kind, detail), []).append(block)
    parts = [
        (-abs(_add_deltas(own)), -sum(1 if block.is_matched else sum(block.layers) for block in own), *group)
        for group, own in groups.items()
    ]
    parts.sort()
    texts = [
        f"{plural(-count, *_NOUNS.get(kind, (kind,)))} {detail}".rstrip()
        for _, count, kind, detail in parts[:_IN_TEXT]
    ]
    rest = -sum(count for _, count, _, _ in parts[_IN_TEXT:])
    return ", ".join([*texts, f"{rest} more"] if rest else texts)


def _describe_change(block: _Block, cause: Cause, engine: int) -> str:
    if not block.is_matched:
        return f"only in {letter(0 if block.layers[0] else engine)}"
    library = _find_library_change(block)
    if cause is Cause.PRECISION:
        precision = block.changes[ChangeKind.PRECISION]
        return f"{precision.before}{BECOMES}{precision.after}"
    return f"{library.before}{BECOMES}{library.after}" if cause is Cause.KERNEL and library else ""


def describe_causes(reasons: pd.DataFrame) -> str:
    """Return `−1.2646 ms precision, +0.2324 ms Q/DQ`: the causes that are not small compared with the largest."""
    shown = reasons[reasons["cause"].ne(Cause.UNCHANGED.value)].head(_IN_TEXT)
    least = _LEAST_OF_LARGEST * shown["delta_ms"].abs().max()
    return ", ".join(
        f"{format_signed_ms(delta)} ms {CAUSE_NAMES[Cause(cause)]}"
        for cause, delta in zip(shown["cause"], shown["delta_ms"], strict=True)
        if abs(delta) >= least
    )
