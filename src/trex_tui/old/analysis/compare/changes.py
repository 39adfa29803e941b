"""Find changes within one block against the baseline.

Compares the layers that do the work; copies and Q/DQ layers have their own blocks, and count here as surroundings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from trex_tui.old.analysis.compare.model import Change, ChangeKind
from trex_tui.old.analysis.compare.names import LIGHT, numbered_operator
from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.analysis.tactic_parts import PartChange, compare_tactics
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer, Tensor
from trex_tui.old.text import format_bytes, format_shape, plural

NOTHING = "none"
_BUILD_HASH = re.compile(r"(?:_myl\d*_\d+)?(?:_0x[0-9a-f]+)?$")
_AROUND = {LayerKind.REFORMAT: ChangeKind.REFORMATS, LayerKind.QUANTIZE: ChangeKind.QDQ}

Pair = tuple[Sequence[Layer], Sequence[Layer]]
Tensors = tuple[list[object], list[object]]
"""A property of the inputs, and of the outputs."""


class Surroundings:
    """Copies and Q/DQ layers directly before and after each layer of an engine."""

    def __init__(self, engine: Engine) -> None:
        self._near: dict[int, list[int]] = {}
        self._layers = engine.layers
        for link in engine.links:
            for layer, other in ((link.source, link.target), (link.target, link.source)):
                if engine.layers[layer].kind in _AROUND and engine.layers[other].kind not in _AROUND:
                    self._near.setdefault(other, []).append(layer)

    def count(self, layers: Iterable[Layer], kind: LayerKind) -> int:
        """Return the number of layers of a kind around some layers, each counted once."""
        near = {neighbour for layer in layers for neighbour in self._near.get(layer.index, ())}
        return sum(self._layers[index].kind is kind for index in near)


def changes_between(
    engine: int,
    members: Pair,
    traits: tuple[Traits, Traits],
    around: tuple[Surroundings, Surroundings],
    *,
    named: bool,
) -> list[Change]:
    """Return the changes in a block, in the order of `ChangeKind`.

    Args:
        engine: Index of the engine that is compared with the baseline.
        members: Its layers of the block, the baseline's first.
        traits, around: Traits and surroundings of both engines.
        named: Whether names mean the same in both engines.
    """
    before, after = (_working(layers) for layers in members)
    values = dict(_pairs(before, after))
    values[ChangeKind.FUSION] = _fusion(before, after, traits, named=named)
    if any(layer.kind not in _AROUND for layer in before):
        for kind, change in _AROUND.items():
            counts = [near.count(layers, kind) for near, layers in zip(around, (before, after), strict=True)]
            values[change] = (_some(counts[0]), _some(counts[1]))
    return [
        Change(kind, engine, *values[kind], _tactic_parts(before, after) if kind is ChangeKind.TACTIC else ())
        for kind in ChangeKind
        if kind in values and values[kind][0] != values[kind][1]
    ]


def _working(layers: Sequence[Layer]) -> Sequence[Layer]:
    """Return the layers that do work of the network, or all if none does."""
    return [layer for layer in layers if layer.kind.is_work and layer.kind not in _AROUND] or layers


def _pairs(before: Sequence[Layer], after: Sequence[Layer]) -> Iterator[tuple[ChangeKind, tuple[str, str]]]:
    """Yield the differences; texts are only made for differences, since most blocks of a large engine are unchanged."""
    sides = (before, after)
    yield ChangeKind.PRECISION, _values(sides, _precision)
    yield ChangeKind.TACTIC, _tactics(before, after)
    formats, shapes = (
        [_tensors(layers, what) for layers in sides] for what in (_tensor_format, _tensor_shape)
    )
    if formats[0] != formats[1] and all(any(side) for side in formats):
        yield ChangeKind.FORMATS, (_formats(before), _formats(after))
    if len(before) == len(after) == 1 and all(any(side) for side in shapes) and _differ(*shapes):
        yield ChangeKind.SHAPES, (_shapes(before[0]), _shapes(after[0]))
    weights = [_weights(layers) for layers in sides]
    if None not in weights and weights[0] != weights[1]:
        yield ChangeKind.WEIGHTS, (format_bytes(weights[0]), _bytes_apart(weights[0], weights[1]))
    yield ChangeKind.KIND, _values(sides, lambda layer: layer.kind.value)


def _precision(layer: Layer) -> str | None:
    return layer.precision.value if layer.precision else None


def _values(sides: Pair, value: Callable[[Layer], str | None]) -> tuple[str, str]:
    side_values = [{value(layer) for layer in layers} for layers in sides]
    if side_values[0] == side_values[1] or None in side_values[0] | side_values[1]:
        return "", ""
    texts = [" + ".join(sorted(filter(None, known))) for known in side_values]
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


def _tactic_parts(before: Sequence[Layer], after: Sequence[Layer]) -> tuple[PartChange, ...]:
    return compare_tactics(
        *([layer.tactic for layer in layers if layer.tactic] for layers in (before, after))
    )


def _tensor_format(tensor: Tensor) -> object:
    return tensor.dtype, tensor.format


def _tensor_shape(tensor: Tensor) -> object:
    """Return the extents without those of 1, which only some layers have: a GEMM has 1×4096, a convolution 1×4096×1×1."""
    return tuple(extent for extent in tensor.shape if extent != 1) or tensor.shape


def _tensors(layers: Sequence[Layer], what: Callable[[Tensor], object]) -> Tensors:
    """Return a property of all data inputs, and of all outputs."""
    return (
        [what(source) for layer in layers for source in layer.data_inputs],
        [what(output) for layer in layers for output in layer.outputs],
    )


def _differ(shapes: Tensors, others: Tensors) -> bool:
    """Return whether shapes differ, except for an additional input: that of a fused sum."""
    (inputs, outputs), (other_inputs, other_outputs) = shapes, others
    return outputs != other_outputs or (len(inputs) == len(other_inputs) and inputs != other_inputs)


def _formats(layers: Sequence[Layer]) -> str:
    return _arrow(layers, lambda tensor: tensor.description)


def _shapes(layer: Layer) -> str:
    return _arrow([layer], lambda tensor: format_shape(tensor.shape))


def _arrow(layers: Sequence[Layer], text: Callable[[Tensor], str]) -> str:
    descriptions = [", ".join(dict.fromkeys(map(str, part))) or NOTHING for part in _tensors(layers, text)]
    return " → ".join(descriptions)


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
        alike = [
            side_traits.of[layers[0].index].nodes
            for side_traits, layers in zip(traits, (before, after), strict=True)
        ]
        if alike[0] == alike[1]:
            return "", ""
    counts = (plural(len(before), "layer"), plural(len(after), "layer"))
    if any(layer.layer_type is None for layer in (*before, *after)):
        return (
            counts  # A name alone lists fewer nodes than a graph: this is no difference between the engines.
        )
    nodes = [
        {
            node
            for layer in layers
            for node, weight in side_traits.of[layer.index].nodes.items()
            if weight >= LIGHT and node[0] != "@"
        }
        for side_traits, layers in zip(traits, (before, after), strict=True)
    ]
    alone = _unlike(nodes[0] - nodes[1], nodes[1] - nodes[0])
    is_shared = len(alone[0]) < len(nodes[0])
    if not named or not is_shared or not any(alone):
        return counts
    texts = _with(alone[0]), _with(alone[1])
    if counts[0] == counts[1]:
        return texts
    return f"{counts[0]}, {texts[0]}", f"{counts[1]}, {texts[1]}"


def _unlike(nodes: set[str], others: set[str]) -> tuple[set[str], set[str]]:
    """Remove nodes that differ only in their number: `Add_36` of one export is `Add_42` of another."""
    left = list(map(sorted, (nodes, others)))
    operators = [Counter(operator for node in side if (operator := numbered_operator(node))) for side in left]
    for side in left:
        alike = operators[0] & operators[1]
        for node in tuple(side):
            operator = numbered_operator(node)
            if operator and alike[operator]:
                alike[operator] -= 1
                side.remove(node)
    return set(left[0]), set(left[1])


def _with(nodes: set[str]) -> str:
    ordered = sorted(nodes)
    more = f" and {len(ordered) - 3} more" if len(ordered) > 3 else ""
    return f"with {', '.join(ordered[:3])}{more}" if ordered else "without"


def _some(count: int) -> str:
    return str(count) if count else NOTHING
