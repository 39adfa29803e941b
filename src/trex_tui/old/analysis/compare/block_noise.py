"""Judge whether the times of blocks differ by more than noise, where the profiles have the single times of layers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from trex_tui.old.analysis.compare.model import Block, BlockVerdict, Comparison, Outcome
from trex_tui.old.analysis.compare.noise import Statistic, judge
from trex_tui.old.analysis.layer_samples import has_samples
from trex_tui.old.engine.engine import Engine
from trex_tui.old.text import plural

_NO_NAMES = ("", "")


def judge_blocks(
    blocks: Sequence[Block], engines: Sequence[Engine], per: Sequence[int], baseline: int
) -> tuple[Block, ...]:
    """Return the blocks with verdicts on the mean of the calls; as they are, if not both engines of a pair have single times.

    Args:
        per: Per engine, the divisor of its times.
    """
    are_sampled = [has_samples(engine) for engine in engines]
    if not are_sampled[baseline] or sum(are_sampled) < 2:
        return tuple(blocks)
    return tuple(_judge_block(block, engines, per, baseline) for block in blocks)


def _judge_block(block: Block, engines: Sequence[Engine], per: Sequence[int], baseline: int) -> Block:
    first = _sum_calls(block, engines[baseline], baseline, per[baseline])
    verdicts: list[BlockVerdict | None] = []
    for index, engine in enumerate(engines):
        calls = _sum_calls(block, engine, index, per[index])
        if index == baseline or first is None or calls is None:
            verdicts.append(None)
            continue
        found = judge([first], [calls], Statistic.MEAN, _NO_NAMES)
        verdicts.append(
            BlockVerdict(found.outcome, found.difference, found.interval, found.rows, found.method)
        )
    return replace(block, verdicts=tuple(verdicts))


def _sum_calls(block: Block, engine: Engine, index: int, per: int) -> list[float] | None:
    """Return the time of the block's layers in each call; None if it has none, or a layer lacks a call."""
    spreads = [
        latency.spread if (latency := engine.layers[layer].latency) else None for layer in block.layers[index]
    ]
    known = [spread.times_ms for spread in spreads if spread is not None]
    if len(known) < len(spreads) or len(set(map(len, known))) != 1 or not known[0]:
        return None
    return [math.fsum(times) / per for times in zip(*known, strict=True)]


def describe_block_verdicts(comparison: Comparison, engine: int) -> str:
    """Return how many blocks of an engine differ from the baseline beyond noise; empty without verdicts."""
    verdicts = [
        verdict
        for block in comparison.blocks
        if block.verdicts and (verdict := block.verdicts[engine]) is not None
    ]
    if not verdicts:
        return ""
    counts = Counter(verdict.outcome for verdict in verdicts)
    parts = [
        f"{counts[outcome]} {words}"
        for outcome, words in (
            (Outcome.SLOWER, "slower"),
            (Outcome.FASTER, "faster"),
            (Outcome.SAME, "within noise"),
            (Outcome.UNKNOWN, "not judged"),
        )
        if counts[outcome]
    ]
    return f"Single times of layers judge {plural(len(verdicts), 'block')}: {', '.join(parts)} (95 % each, within one run)."
