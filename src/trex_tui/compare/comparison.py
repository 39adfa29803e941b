"""Compare two to four engines: blocks, verdicts, reasons, totals, and cautions to know before any number."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import NamedTuple

import pandas as pd

from trex_tui.analysis.conditions import compare_conditions, find_doubts
from trex_tui.analysis.energy import throttling
from trex_tui.analysis.options import find_batch
from trex_tui.analysis.timing import FEW_ITERATIONS
from trex_tui.artifacts.open import gc_paused
from trex_tui.compare.blocks import Block, build_frame, find_blocks, key_of, list_changes, objects
from trex_tui.compare.changes import Change
from trex_tui.compare.layers import read_layers
from trex_tui.compare.match import Matched, match_layers
from trex_tui.compare.names import Rename
from trex_tui.compare.reasons import NO_REASONS, Cause, LayerNoise, find_reasons
from trex_tui.compare.verdicts import Runs, Verdict, judge_blocks, judge_engines
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError
from trex_tui.frames import INT, plain_values
from trex_tui.text import join_words, plural

MOST_ENGINES = 4


class Caution(NamedTuple):
    """A fact that limits the comparison.

    Attributes:
        kind: model, device, batch, version, profile, or the subject of a condition of the capture.
        engine: Position of the engine that it concerns.
        text: A sentence.
    """

    kind: str
    engine: int
    text: str


class Side(NamedTuple):
    """An engine in the comparison.

    Attributes:
        label: Its name, with a number if engines have equal names.
        matched_layers: Number of layers in a block with a layer of another engine.
        matched_pct: Share of its time in such blocks, in percent; of its layers if there are no times.
        latency_sum_ms: Sum of its layers' times, per sample if the comparison is; None without a profile.
        untimed_layers: Number of layers without a time, which are in no sum.
        batch: Samples per inference; None if unknown.
        per: Divisor of the times: the batch, or 1.
    """

    label: str
    layers: int
    matched_layers: int
    matched_pct: float | None
    latency_sum_ms: float | None
    untimed_layers: int
    batch: int | None
    per: int
    device: str | None
    tensorrt_version: str | None


class Difference(NamedTuple):
    """Difference of layer times between an engine and the baseline.

    Attributes:
        delta_ms: Difference of the sums of layer times; None if one is unknown. `delta_pct` is in percent of the baseline's.
        unattributed_ms: The part of `delta_ms` in no block's delta, since a time in the block is unknown. Usually 0.0.
        reasons: A row per cause; see `find_reasons`.
        noise: Noise of layer times; None without a difference of layer times.
        is_related: Whether the engines seem to be of one network. If not, blocks may pair unrelated layers.
    """

    delta_ms: float | None
    delta_pct: float | None
    unattributed_ms: float
    reasons: pd.DataFrame
    noise: LayerNoise | None
    is_related: bool


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two or more engines, matched layer to layer. Deltas are "this engine minus the first one", the baseline.

    Attributes:
        engines: As given; names in texts are A, B, … by position.
        runs: Per engine, all its runs, itself first. Verdicts and latencies end to end use all of them, layers the first.
        is_per_sample: Times are divided by the batch.
        is_unit_stated: The user chose the unit; otherwise times are per sample if the batches are known and differ.
        blocks: A row per block of layers that do the same work: label, kind, evidence, confidence, why; per engine
            `a_layers` (tuples) and `a_latency_ms`; per engine but the baseline `b_delta_ms`, `b_delta_pct`, `b_changed`
            (tuples), `b_cause`, `b_verdict`. The sum of `a_latency_ms` is the sum of the engine's layer times.
        changes: Per engine but the baseline, the changes in each block.
        verdicts, differences: Per engine but the baseline.
        cautions: Facts to know before any number, the most severe first.
    """

    engines: tuple[Engine, ...]
    runs: tuple[Runs, ...]
    is_per_sample: bool
    is_unit_stated: bool
    sides: tuple[Side, ...]
    blocks: pd.DataFrame
    changes: Mapping[int, list[list[Change]]]
    verdicts: Mapping[int, Verdict]
    differences: Mapping[int, Difference]
    cautions: tuple[Caution, ...]

    def __repr__(self) -> str:
        names = ", ".join(repr(side.label) for side in self.sides)
        return f"<Comparison of {names}: {len(self.blocks)} blocks>"

    @property
    def others(self) -> tuple[int, ...]:
        """Positions of the engines but the baseline."""
        return tuple(range(1, len(self.engines)))

    @property
    def unit(self) -> str:
        """Unit of the times."""
        return "ms per sample" if self.is_per_sample else "ms"

    def blocks_of(self, engine: int) -> list[int]:
        """Return the block of each layer of an engine."""
        blocks = [0] * len(self.engines[engine])
        for block, layers in enumerate(self.blocks[key_of(engine, "layers")]):
            for layer in layers:
                blocks[layer] = block
        return blocks


@gc_paused()
def compare(
    engines: Sequence[Engine],
    *,
    renames: Sequence[Rename] = (),
    is_per_sample: bool | None = None,
    further_runs: Sequence[Runs] | None = None,
) -> Comparison:
    """Compare two to four engines with the first one. Nearly linear in the number of layers.

    Args:
        renames: Substitutions in the names of layers and ONNX nodes of all engines, for matching only.
        is_per_sample: Divide every time by the engine's batch. None does so if the batches are known and differ.
        further_runs: Per engine, further runs of it: for the verdict and end-to-end latencies.

    Raises:
        TrexError: Too few or too many engines, or times per sample with an unknown batch.
    """
    if not 2 <= len(engines) <= MOST_ENGINES:
        advice = f"{len(engines)} given" + ("; `trex-tui engines` lists them" if len(engines) > 2 else "")
        raise TrexError(f"a comparison needs two to four engines; {advice}")
    runs = tuple((engine, *more) for engine, more in zip(engines, further_runs or repeat(()), strict=False))
    batches = [batch[0] if (batch := find_batch(engine)) else None for engine in engines]
    is_unit_stated = is_per_sample is not None
    if is_per_sample is None:
        is_per_sample = None not in batches and len(set(batches)) > 1
    per = [1] * len(engines)
    if is_per_sample:
        if None in batches:
            name = engines[batches.index(None)].name
            raise TrexError(f"batch of {name} unknown: no times per sample; leave out --per-sample")
        per = [batch or 1 for batch in batches]
    layers = [read_layers(engine, renames) for engine in engines]
    matched = {other: match_layers(layers[0], layers[other]) for other in range(1, len(engines))}
    blocks = find_blocks(layers, matched)
    frame = build_frame(layers, per, blocks)
    sides = _describe_sides(engines, batches, per, blocks)
    changes, differences = {}, {}
    for other, found in matched.items():
        changes[other] = list_changes(layers, other, blocks)
        kinds = (tuple(change.kind.value for change in own) for own in changes[other])
        frame[key_of(other, "changed")] = objects(kinds)
        differences[other] = _find_difference(frame, changes[other], runs, sides, other, found.is_related)
        causes = differences[other].reasons[["cause", "blocks"]].explode("blocks").set_index("blocks")
        frame[key_of(other, "cause")] = causes["cause"].reindex(frame.index)
    cautions = _list_cautions(runs, sides, matched, is_per_sample=is_per_sample)
    return Comparison(
        engines=tuple(engines),
        runs=runs,
        is_per_sample=is_per_sample,
        is_unit_stated=is_unit_stated,
        sides=sides,
        blocks=judge_blocks(frame, engines, per),
        changes=changes,
        verdicts=judge_engines(runs, per),
        differences=differences,
        cautions=tuple(sorted(cautions, key=lambda caution: (_rank(caution.kind), caution.engine))),
    )


# Sides


def _describe_sides(
    engines: Sequence[Engine], batches: Sequence[int | None], per: Sequence[int], blocks: Sequence[Block]
) -> tuple[Side, ...]:
    sides = []
    for position, (engine, label) in enumerate(zip(engines, _make_labels(engines), strict=True)):
        matched = [layer for block in blocks if block.matches for layer in block.layers[position]]
        total, share = engine.latency_sum_ms, None
        if total:
            share = 100.0 * math.fsum(layer.row.latency_ms or 0.0 for layer in matched) / total
        elif len(engine):
            share = 100.0 * len(matched) / len(engine)
        side = Side(
            label=label,
            layers=len(engine),
            matched_layers=len(matched),
            matched_pct=share,
            latency_sum_ms=None if total is None else total / per[position],
            untimed_layers=int(engine.layers["latency_ms"].isna().sum()),
            batch=batches[position],
            per=per[position],
            device=engine.facts.device_name,
            tensorrt_version=engine.facts.tensorrt_version,
        )
        sides.append(side)
    return tuple(sides)


def _make_labels(engines: Sequence[Engine]) -> list[str]:
    """Return names of engines; those that are equal get a number."""
    names = [engine.name for engine in engines]
    counts = [names[: position + 1].count(name) for position, name in enumerate(names)]
    return [f"{name} ({count})" if count > 1 else name for name, count in zip(names, counts, strict=True)]


# Differences


def has_other_batch(side: Side, first: Side) -> bool:
    """Return whether the batches of both are known and differ."""
    return bool(side.batch and first.batch) and side.batch != first.batch


def has_other_device(side: Side, first: Side) -> bool:
    """Return whether the devices of both are known and differ."""
    return bool(side.device and first.device) and side.device != first.device


def _find_difference(
    frame: pd.DataFrame,
    changes: list[list[Change]],
    runs: Sequence[Runs],
    sides: Sequence[Side],
    engine: int,
    is_related: bool,
) -> Difference:
    side, first = sides[engine], sides[0]
    if side.latency_sum_ms is None or first.latency_sum_ms is None:
        return Difference(None, None, 0.0, NO_REASONS, None, is_related)
    delta = side.latency_sum_ms - first.latency_sum_ms
    is_there = frame[key_of(engine, "layers")].map(bool) | frame["a_layers"].map(bool)
    deltas = plain_values(frame[key_of(engine, "delta_ms")][is_there])
    attributed = math.fsum(value for value in deltas if value is not None)
    unattributed = delta - attributed if None in deltas else 0.0
    times = [[run.layers["latency_ms"] / sides[end].per for run in runs[end]] for end in (0, engine)]
    cause = None
    if has_other_device(side, first) or has_other_batch(side, first):
        cause = Cause.DEVICE if has_other_device(side, first) else Cause.SHAPES
    reasons, noise = find_reasons(frame, changes, engine, times, cause, unattributed)
    pct = 100.0 * delta / first.latency_sum_ms if first.latency_sum_ms else None
    return Difference(delta, pct, unattributed, reasons, noise, is_related)


# Totals


def total_by(comparison: Comparison, key: str) -> pd.DataFrame:
    """Return the time of each engine by a column of its layers, the largest difference first.

    Columns: the key, per engine `a_layers` and `a_latency_ms`, per engine but the baseline `b_delta_ms`.

    Args:
        key: `kind` or `precision`.
    """
    columns = {}
    for position, engine in enumerate(comparison.engines):
        times = engine.layers["latency_ms"] / comparison.sides[position].per
        values = engine.layers[key].fillna("unknown").tolist()
        own = times.groupby(_find_kinds(comparison, position) if key == "kind" else values)
        columns[key_of(position, "layers")] = own.size()
        columns[key_of(position, "latency_ms")] = own.sum(min_count=1)
    table = pd.DataFrame(columns).rename_axis(key)
    for position, engine in enumerate(comparison.engines):
        counts = table[key_of(position, "layers")].fillna(0).astype(INT)
        table[key_of(position, "layers")] = counts
        if engine.has_profile:  # an engine without such layers spends no time in them
            times = table[key_of(position, "latency_ms")]
            table[key_of(position, "latency_ms")] = times.mask(counts.eq(0), 0.0)
    first = table["a_latency_ms"]
    for position in comparison.others:
        table[key_of(position, "delta_ms")] = table[key_of(position, "latency_ms")] - first
    order = pd.DataFrame(
        {end: table.filter(like=end).abs().max(axis=1).fillna(0.0) for end in ("_delta_ms", "_latency_ms")}
    )
    order = order.sort_values([*order], ascending=False, kind="stable")
    return table.sort_index().loc[order.index].reset_index()


def _find_kinds(comparison: Comparison, position: int) -> list[str]:
    """Return the kind of each layer of an engine; of those that match layers of the baseline, a kind that these have.

    TensorRT calls one layer a convolution in one build and a GEMM in the next.
    """
    first = comparison.engines[0].layers["kind"].tolist()
    kinds = comparison.engines[position].layers["kind"].tolist()
    columns = comparison.blocks[["kind", "a_layers", key_of(position, "layers")]]
    for main, baseline, own in columns.itertuples(index=False):
        known = {first[layer] for layer in baseline}
        missing = known.difference(kinds[layer] for layer in own)
        other = min(missing, key=lambda kind: (kind != main, kind), default=main)
        for layer in own if known else ():
            if kinds[layer] not in known:
                kinds[layer] = other
    return kinds


# Cautions

_GRAVITY = ("model", "device", "throttled", "power_mode", "clocks", "driver", "version", "batch", "profile")


def _rank(kind: str) -> int:
    return _GRAVITY.index(kind) if kind in _GRAVITY else len(_GRAVITY)


def _list_cautions(
    runs: Sequence[Runs], sides: Sequence[Side], matched: Mapping[int, Matched], *, is_per_sample: bool
) -> Iterator[Caution]:
    for index, (own, side) in enumerate(zip(runs, sides, strict=True)):
        texts = [("profile", text) for text in _doubt_profile(own[0], side)]
        texts += [(doubt.kind, f"{side.label}: {doubt.text}.") for doubt in find_doubts(own[0])]
        texts += [("throttled", text) for text in _list_throttling(own, side)]
        if index:
            texts += _compare_facts(side, sides[0], is_per_sample=is_per_sample)
            texts += [("model", text) for text in _doubt_model(matched[index], side, sides[0])]
            for kind, text in compare_conditions((own[0], runs[0][0]), (side.label, sides[0].label)):
                texts.append((kind, f"{text[:1].upper()}{text[1:]}."))
        yield from (Caution(kind, index, text) for kind, text in texts)
    if is_per_sample:
        divisors = ", ".join(f"{side.label} by {side.per}" for side in sides)
        yield Caution("batch", 0, f"Times are per sample: divided by the batch ({divisors}).")


def _list_throttling(runs: Runs, side: Side) -> Iterator[str]:
    for number, run in enumerate(runs, start=1):
        table = throttling(run)
        if table is not None and len(table):
            during = f" during run {number}" if len(runs) > 1 else ""
            pairs = zip(table["reason"], table["samples"], strict=True)
            reasons = (f"{reason} in {plural(samples, 'sample')}" for reason, samples in pairs)
            yield f"{side.label}: throttled{during}: {', '.join(reasons)}."


def _doubt_profile(engine: Engine, side: Side) -> Iterator[str]:
    if not engine.has_profile:
        yield f"{side.label} has no profile: layer times unknown."
    elif side.untimed_layers:
        count = f"{side.untimed_layers} of {plural(side.layers, 'layer')}"
        yield f"{count} of {side.label} have no time and are excluded."
    if engine.has_profile and engine.iterations is not None and engine.iterations < FEW_ITERATIONS:
        count = plural(engine.iterations, "iteration")
        yield f"Profile of {side.label}: {count} only, layer times are mostly noise."


def _doubt_model(matched: Matched, side: Side, first: Side) -> Iterator[str]:
    pair = f"{side.label} and {first.label}"
    empty = [compared.label for compared in (first, side) if not compared.layers]
    if empty:
        yield f"No layers known of {join_words(empty)}: totals only."
    elif matched.is_related and matched.are_few:
        count = f"{first.matched_layers} of {plural(first.layers, 'layer')}"
        yield f"{pair} have similar layers, but few names match: {count} matched. Rename modules (--rename)."
    if matched.are_names_refused and matched.is_related:
        yield f"Equal names mean different layers in {pair}: names were not used for matching."


def _compare_facts(side: Side, first: Side, *, is_per_sample: bool) -> Iterator[tuple[str, str]]:
    for kind, what, own, other in (
        ("device", "devices", side.device, first.device),
        ("version", "TensorRT versions", side.tensorrt_version, first.tensorrt_version),
    ):
        if own != other:
            start = "Different" if own and other else "Possibly different"
            values = f"{own or 'unknown'} for {side.label}, {other or 'unknown'} for {first.label}"
            yield kind, f"{start} {what}: {values}."
    if has_other_batch(side, first) and not is_per_sample:
        batches = f"{side.batch} in {side.label}, {first.batch} in {first.label}"
        yield "batch", f"Different batches: {batches}; times are per inference, not per sample."
