"""Why an engine is faster or slower than the baseline, in sentences: blocks of one cause added up, the largest sum first."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from trex_tui.analysis.compare.model import Block, ChangeKind, Difference, Match, Reason, Side
from trex_tui.text import plural

_PLURALS = {
    "convolution": "convolutions",
    "gemm": "GEMMs",
    "attention": "attention layers",
    "pointwise": "pointwise layers",
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
_IN_HEADLINE = 3

Cause = tuple[str, str, str, bool]


def difference(
    engine: int, baseline: int, blocks: Sequence[Block], sides: Sequence[Side], *, related: bool
) -> Difference:
    """An engine against the baseline, and why."""
    here = [block for block in blocks if block.layers[engine] or block.layers[baseline]]
    ours, first = sides[engine].latency_sum_ms, sides[baseline].latency_sum_ms
    delta = None if ours is None or first is None else ours - first
    known = [block.deltas_ms[engine] for block in here]
    told = math.fsum(one for one in known if one is not None)
    reasons = () if delta is None else _reasons(engine, baseline, here, sides)
    return Difference(
        engine=engine,
        delta_ms=delta,
        ratio=ours / first if ours is not None and first else None,
        unattributed_ms=0.0 if delta is None or None not in known else delta - told,
        headline=_headline(engine, baseline, delta, sides, reasons),
        reasons=reasons,
        matches=dict(Counter(_match(block, engine, baseline) for block in here)),
        changes=dict(
            Counter(
                kind
                for block in here
                for kind in {change.kind for change in block.changes if change.engine == engine}
            )
        ),
        related=related,
    )


def _match(block: Block, engine: int, baseline: int) -> Match:
    found = block.matches[engine]
    return found if found and block.layers[engine] and block.layers[baseline] else Match.NONE


def _cause(block: Block, engine: int, baseline: int) -> Cause:
    """Blocks of the same cause are added up: where they run, their kind, their change of precision, and the sign."""
    where = "here" if not block.layers[baseline] else "there" if not block.layers[engine] else ""
    changes = {change.kind: change for change in block.changes if change.engine == engine}
    precision = changes.get(ChangeKind.PRECISION)
    if precision is not None and not where:
        how = f"that went from {precision.before} to {precision.after}"
    elif not where and len(block.layers[engine]) != len(block.layers[baseline]):
        how = "that are fused differently"
    else:
        how = ""
    return where, block.kind, how, (block.deltas_ms[engine] or 0.0) > 0.0


def _reasons(
    engine: int, baseline: int, blocks: Sequence[Block], sides: Sequence[Side]
) -> tuple[Reason, ...]:
    groups: dict[Cause, list[Block]] = {}
    for block in blocks:
        if block.deltas_ms[engine]:
            groups.setdefault(_cause(block, engine, baseline), []).append(block)
    reasons = []
    for cause, members in groups.items():
        members.sort(key=lambda block: (-abs(block.deltas_ms[engine] or 0.0), block.index))
        delta = math.fsum(block.deltas_ms[engine] or 0.0 for block in members)
        text = f"{signed_ms(delta)} in {_told(cause, members, engine, baseline, sides)}"
        reasons.append(Reason(text, delta, tuple(block.index for block in members)))
    return tuple(sorted(reasons, key=lambda reason: (-abs(reason.delta_ms), reason.text)))


def signed_ms(delta: float) -> str:
    """`+0.1300 ms`, with a real minus sign."""
    return f"{delta:+.4f} ms".replace("-", "−")


def _told(cause: Cause, blocks: Sequence[Block], engine: int, baseline: int, sides: Sequence[Side]) -> str:
    where, kind, how, _ = cause
    holder = engine if where == "here" else baseline
    layers = sum(len(block.layers[holder]) for block in blocks) if where else len(blocks)
    what = plural(layers, _SINGULARS.get(kind, kind), _PLURALS.get(kind, kind))
    if where:
        return f"{what} that {sides[baseline if where == 'here' else engine].label} does not have"
    if how:
        return f"{what} {how.replace('that are', 'that is') if layers == 1 else how}"
    tactics = sum(
        any(change.kind is ChangeKind.TACTIC and change.engine == engine for change in block.changes)
        for block in blocks
    )
    if not tactics:
        return what
    return (
        f"{what} with other kernels"
        if tactics == len(blocks)
        else f"{what}, {tactics} of them with other kernels"
    )


def _headline(
    engine: int, baseline: int, delta: float | None, sides: Sequence[Side], reasons: Sequence[Reason]
) -> str:
    ours, first = sides[engine], sides[baseline]
    if delta is None:
        missing = ours.label if ours.latency_sum_ms is None else first.label
        return f"{missing} has no profile: no difference of layer times can be told."
    parts = ", ".join(reason.text for reason in reasons[:_IN_HEADLINE])
    if not delta or not first.latency_sum_ms:
        start = f"{ours.label} and {first.label} take the same by the sum of layer times"
    else:
        word = "slower" if delta > 0 else "faster"
        pct = 100.0 * abs(delta) / first.latency_sum_ms
        start = f"{ours.label} is {abs(delta):.4f} ms ({pct:.1f} %) {word} than {first.label} by the sum of layer times"
    return f"{start}: {parts}." if parts else f"{start}."
