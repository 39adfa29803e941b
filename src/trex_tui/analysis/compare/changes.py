"""Changes within one block against the baseline, and reasons for the difference of two engines.

The layers that do the work are compared; copies and Q/DQ layers speak for themselves, in blocks of their own, and are told as
what surrounds the work. Reasons are blocks of one cause added up, the largest sum first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from trex_tui.analysis.compare.model import Block, Change, ChangeKind, Difference, Match, Reason, Side
from trex_tui.analysis.compare.traits import LIGHT, Traits
from trex_tui.engine.engine import Engine
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Layer, Tensor
from trex_tui.text import format_bytes, format_shape, plural

NOTHING = "none"
_BUILD_HASH = re.compile(r"(?:_myl\d*_\d+)?(?:_0x[0-9a-f]+)?$")
_AROUND = {LayerKind.REFORMAT: ChangeKind.REFORMATS, LayerKind.QUANTIZE: ChangeKind.QDQ}

Pair = tuple[Sequence[Layer], Sequence[Layer]]


class Surroundings:
    """Copies and Q/DQ layers directly before and after each layer of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._near: dict[int, list[int]] = {}
        self._layers = engine.layers
        for link in engine.links:
            for one, other in ((link.source, link.target), (link.target, link.source)):
                if engine.layers[one].kind in _AROUND and engine.layers[other].kind not in _AROUND:
                    self._near.setdefault(other, []).append(one)

    def count(self, layers: Iterable[Layer], kind: LayerKind) -> int:
        """How many of a kind are around some layers, each counting once."""
        near = {neighbour for layer in layers for neighbour in self._near.get(layer.index, ())}
        return sum(self._layers[one].kind is kind for one in near)


def changes_between(
    engine: int,
    members: Pair,
    traits: tuple[Traits, Traits],
    around: tuple[Surroundings, Surroundings],
    *,
    named: bool,
) -> list[Change]:
    """What changed in a block, in the order of `ChangeKind`.

    Args:
        engine: Place of the engine that is compared with the baseline.
        members: Its layers of the block, the baseline's first.
        traits, around: The same of both engines.
        named: Whether names mean the same in both engines.
    """
    before, after = (_working(layers) for layers in members)
    found = dict(_pairs(before, after))
    found[ChangeKind.FUSION] = _fusion(before, after, traits, named=named)
    if any(layer.kind not in _AROUND for layer in before):
        for kind, change in _AROUND.items():
            counts = [near.count(layers, kind) for near, layers in zip(around, (before, after), strict=True)]
            found[change] = (_some(counts[0]), _some(counts[1]))
    return [
        Change(kind, engine, *found[kind])
        for kind in ChangeKind
        if kind in found and found[kind][0] != found[kind][1]
    ]


def _working(layers: Sequence[Layer]) -> Sequence[Layer]:
    """The layers that are there for the network's sake, or all if none is."""
    return [layer for layer in layers if layer.kind.is_work and layer.kind not in _AROUND] or layers


def _pairs(before: Sequence[Layer], after: Sequence[Layer]) -> Iterator[tuple[ChangeKind, tuple[str, str]]]:
    """What differs; texts are made only where something does, since most of a large engine is as it was."""
    sides = (before, after)
    yield ChangeKind.PRECISION, _values(sides, _precision)
    yield ChangeKind.TACTIC, _tactics(before, after)
    formats, shapes = (
        [_tensors(layers, what) for layers in sides] for what in (_tensor_format, _tensor_shape)
    )
    if formats[0] != formats[1] and all(any(side) for side in formats):
        yield ChangeKind.FORMATS, (_formats(before), _formats(after))
    if len(before) == len(after) == 1 and shapes[0] != shapes[1] and all(any(side) for side in shapes):
        yield ChangeKind.SHAPES, (_shapes(before[0]), _shapes(after[0]))
    weights = [_weights(layers) for layers in sides]
    if None not in weights and weights[0] != weights[1]:
        yield ChangeKind.WEIGHTS, (format_bytes(weights[0]), _bytes_apart(weights[0], weights[1]))
    yield ChangeKind.KIND, _values(sides, lambda layer: layer.kind.value)


def _precision(layer: Layer) -> str | None:
    return layer.precision.value if layer.precision else None


def _values(sides: Pair, value: Callable[[Layer], str | None]) -> tuple[str, str]:
    found = [{value(layer) for layer in layers} for layers in sides]
    if found[0] == found[1] or None in found[0] | found[1]:
        return "", ""
    texts = [" + ".join(sorted(filter(None, known))) for known in found]
    return texts[0], texts[1]


def _tactics(before: Sequence[Layer], after: Sequence[Layer]) -> tuple[str, str]:
    names = [[layer.tactic for layer in layers if layer.tactic] for layers in (before, after)]
    if all(names) and names[0] != names[1]:
        kernels = [sorted({_BUILD_HASH.sub("", name) for name in side}) for side in names]
        if kernels[0] != kernels[1]:
            return " + ".join(dict.fromkeys(names[0])), " + ".join(dict.fromkeys(names[1]))
    values = [[layer.tactic_value for layer in layers if layer.tactic_value] for layers in (before, after)]
    if all(values) and len(before) == len(after) and values[0] != values[1]:
        return " + ".join(map(str, values[0])), " + ".join(map(str, values[1]))
    return "", ""


def _tensor_format(tensor: Tensor) -> object:
    return tensor.dtype, tensor.format


def _tensor_shape(tensor: Tensor) -> object:
    return tensor.shape


def _tensors(layers: Sequence[Layer], what: Callable[[Tensor], object]) -> tuple[list[object], list[object]]:
    """Something of all data inputs, and of all outputs."""
    return (
        [what(source) for layer in layers for source in layer.data_inputs],
        [what(output) for layer in layers for output in layer.outputs],
    )


def _formats(layers: Sequence[Layer]) -> str:
    return _arrow(layers, lambda tensor: tensor.description)


def _shapes(layer: Layer) -> str:
    return _arrow([layer], lambda tensor: format_shape(tensor.shape))


def _arrow(layers: Sequence[Layer], text: Callable[[Tensor], str]) -> str:
    told = [", ".join(dict.fromkeys(map(str, part))) or NOTHING for part in _tensors(layers, text)]
    return " → ".join(told)


def _weights(layers: Sequence[Layer]) -> int | None:
    known = [layer.weights_bytes for layer in layers if layer.layer_type is not None]
    return None if None in known or not known else sum(count for count in known if count is not None)


def _bytes_apart(before: int | None, after: int | None) -> str:
    text = format_bytes(after)
    return text if text != format_bytes(before) else f"{text} ({(after or 0) - (before or 0):+d} B)"


def _fusion(
    before: Sequence[Layer], after: Sequence[Layer], traits: tuple[Traits, Traits], *, named: bool
) -> tuple[str, str]:
    if len(before) == len(after) == 1:
        alike = [one.of[layers[0].index].nodes for one, layers in zip(traits, (before, after), strict=True)]
        if alike[0] == alike[1]:
            return "", ""
    counts = (plural(len(before), "layer"), plural(len(after), "layer"))
    if any(layer.layer_type is None for layer in (*before, *after)):
        return (
            counts  # A name alone tells fewer nodes than a graph: that is no difference between the engines.
        )
    nodes = [
        {
            node
            for layer in layers
            for node, weight in one.of[layer.index].nodes.items()
            if weight >= LIGHT and node[0] != "@"
        }
        for one, layers in zip(traits, (before, after), strict=True)
    ]
    if not named or not nodes[0] & nodes[1] or nodes[0] == nodes[1]:
        return counts
    alone = [_with(nodes[0] - nodes[1]), _with(nodes[1] - nodes[0])]
    if counts[0] == counts[1]:
        return alone[0], alone[1]
    return f"{counts[0]}, {alone[0]}", f"{counts[1]}, {alone[1]}"


def _with(nodes: set[str]) -> str:
    ordered = sorted(nodes)
    more = f" and {len(ordered) - 3} more" if len(ordered) > 3 else ""
    return f"with {', '.join(ordered[:3])}{more}" if ordered else "without"


def _some(count: int) -> str:
    return str(count) if count else NOTHING


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
    attributed = math.fsum(delta_ms for delta_ms in known if delta_ms is not None)
    reasons = () if delta is None else _reasons(engine, baseline, here, sides)
    return Difference(
        engine=engine,
        delta_ms=delta,
        ratio=ours / first if ours is not None and first else None,
        unattributed_ms=0.0 if delta is None or None not in known else delta - attributed,
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
