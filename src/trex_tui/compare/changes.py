"""Find what differs between the layers of two engines that do the same work.

Compares the layers that do the work; copies and Q/DQ layers have their own blocks, and count here as surroundings.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import NamedTuple, TypeAlias

from trex_tui.analysis.structure import describe
from trex_tui.compare.layers import EngineLayers, Layer
from trex_tui.compare.names import numbered_operator
from trex_tui.engine.dtypes import DataType
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Port
from trex_tui.engine.tactics import list_parts, parse_tactic
from trex_tui.text import format_bytes, format_shape, plural

NOTHING, UNKNOWN = "none", "unknown"


class ChangeKind(str, Enum):
    """Property that may differ inside a block."""

    PRECISION = "precision"
    """Precision of the layers."""
    TACTIC = "tactic"
    """The kernel."""
    FORMATS = "formats"
    """Type and layout of the tensors."""
    SHAPES = "shapes"
    """Shapes of the tensors, the batch included."""
    WEIGHTS = "weights"
    """Bytes of the constants."""
    FUSION = "fusion"
    """Split of the work into layers: fused, split, or with other operators fused in."""
    REFORMATS = "reformats"
    """Number of copies directly before and after that change type or layout; each is a separate block."""
    QDQ = "qdq"
    """Number of quantize and dequantize layers."""
    KIND = "kind"
    """Kind of the layers."""


class PartChange(NamedTuple):
    """A part of a tactic that differs: `tile`, `stages`, …; empty texts if a name does not have it."""

    part: str
    before: str
    after: str


class Change(NamedTuple):
    """A difference between the baseline and an engine within one block.

    Attributes:
        before, after: Short texts; `none` for nothing.
        parts: For a tactic, the differing parts of the names; empty if the names cannot be parsed, or there are several.
    """

    kind: ChangeKind
    before: str
    after: str
    parts: tuple[PartChange, ...] = ()


_BUILD_HASH = re.compile(r"(?:_myl\d*_\d+)?(?:_0x[0-9a-f]+)?$")
_AROUND = {LayerKind.REFORMAT: ChangeKind.REFORMATS, LayerKind.QUANTIZE: ChangeKind.QDQ}
_OFTEN_EMPTY = frozenset({"split K", "special"})
"""Parts whose absence from a name means that the tactic has none."""
_SHOWN_NODES = 3
_NUMERIC = frozenset(dtype.value for dtype in DataType if dtype.is_float or dtype.is_quantized)

Layers: TypeAlias = Sequence[Layer]
Surroundings: TypeAlias = dict[int, set[int]]
"""Layer -> copies and Q/DQ layers directly before and after it."""


def find_surroundings(engine: EngineLayers) -> Surroundings:
    """Return the copies and Q/DQ layers directly around each layer."""
    near: Surroundings = {}
    is_around = [layer.kind in _AROUND for layer in engine.layers]
    links = engine.engine.links
    for source, target in zip(links["source"].tolist(), links["target"].tolist(), strict=True):
        for layer, other in ((source, target), (target, source)):
            if is_around[layer] and not is_around[other]:
                near.setdefault(other, set()).add(layer)
    return near


def find_changes(
    before: Layers,
    after: Layers,
    engines: tuple[EngineLayers, EngineLayers],
    around: tuple[Surroundings, Surroundings],
    *,
    are_names_shared: bool,
) -> list[Change]:
    """Return the changes in a block, in the order of `ChangeKind`.

    Args:
        before, after: Layers of the baseline and of the engine.
        are_names_shared: Whether names mean the same in both engines.
    """
    before, after = _list_working(before), _list_working(after)
    changes = {change.kind: change for change in _compare(before, after)}
    changes[ChangeKind.FUSION] = _compare_fusion(before, after, are_names_shared=are_names_shared)
    if any(layer.kind not in _AROUND for layer in before):
        for kind, change in _AROUND.items():
            counts = [
                str(_count_around(layers, engine, near, kind) or NOTHING)
                for layers, engine, near in zip((before, after), engines, around, strict=True)
            ]
            changes[change] = Change(change, counts[0], counts[1])
    found = (changes[kind] for kind in ChangeKind if kind in changes)
    return [change for change in found if change.before != change.after]


def _list_working(layers: Layers) -> Layers:
    """Return the layers that do work of the network, or all if none does."""
    return [layer for layer in layers if layer.kind.is_work and layer.kind not in _AROUND] or layers


def _count_around(layers: Layers, engine: EngineLayers, near: Surroundings, kind: LayerKind) -> int:
    """Return the number of layers of a kind around some layers, each counted once."""
    found = {neighbour for layer in layers for neighbour in near.get(layer.index, ())}
    return sum(engine.layers[index].kind is kind for index in found)


def _compare(before: Layers, after: Layers) -> Iterator[Change]:
    """Yield the differences; texts are only made for these, since most blocks of a large engine are unchanged."""
    yield Change(ChangeKind.PRECISION, *_compare_precision(before, after))
    yield Change(ChangeKind.TACTIC, *_compare_tactics(before, after), _compare_parts(before, after))
    formats = [_read_ports(layers, lambda port: (port.dtype, port.format)) for layers in (before, after)]
    if formats[0] != formats[1] and all(any(side) for side in formats):
        yield Change(ChangeKind.FORMATS, _arrow(before, describe), _arrow(after, describe))
    shapes = [_read_ports(layers, _trim_shape) for layers in (before, after)]
    is_one_to_one = len(before) == len(after) == 1 and all(any(side) for side in shapes)
    if is_one_to_one and _differ(*shapes) and _count_elements(before[0]) != _count_elements(after[0]):
        first, second = (_arrow(layers, lambda port: format_shape(port.shape)) for layers in (before, after))
        yield Change(ChangeKind.SHAPES, first, second)
    sizes = [_sum_weights(layers) for layers in (before, after)]
    if None not in sizes and sizes[0] != sizes[1]:
        yield Change(ChangeKind.WEIGHTS, format_bytes(sizes[0]), _format_other_bytes(sizes[0], sizes[1]))
    yield Change(ChangeKind.KIND, *_compare_values(before, after, lambda layer: layer.kind.value))


def _compare_values(before: Layers, after: Layers, read: Callable[[Layer], str | None]) -> tuple[str, str]:
    first, second = ({read(layer) for layer in layers} for layers in (before, after))
    if first == second or None in first | second:
        return "", ""
    texts = [" + ".join(sorted(filter(None, values))) for values in (first, second)]
    return texts[0], texts[1]


def _compare_precision(before: Layers, after: Layers) -> tuple[str, str]:
    """Return different precisions; one that is unknown counts if the types of the tensors differ."""
    first, second = ({_find_precision(layer) for layer in layers} for layers in (before, after))
    types = [_read_ports(layers, lambda port: port.dtype) for layers in (before, after)]
    if first == second or (None in first | second and (types[0] == types[1] or not all(map(any, types)))):
        return "", ""
    texts = [" + ".join(sorted(value or UNKNOWN for value in values)) for values in (first, second)]
    return texts[0], texts[1]


def _find_precision(layer: Layer) -> str | None:
    """Return the precision of a layer; of a closed block with several types, that of its largest input, else output."""
    if layer.row.precision is not None or layer.kind is not LayerKind.MYELIN:
        return layer.row.precision
    for ports in (layer.row.inputs, layer.row.outputs):
        numbers = [port for port in ports if port.dtype in _NUMERIC]
        if numbers:
            return max(numbers, key=lambda port: port.bytes or 0).dtype
    return None


def _compare_tactics(before: Layers, after: Layers) -> tuple[str, str]:
    """Return different kernels, without suffixes that change with each build; else different tactic values."""
    first, second = ([layer.row.tactic for layer in layers if layer.row.tactic] for layers in (before, after))
    if first and second and first != second:
        kernels = [sorted({_BUILD_HASH.sub("", name) for name in names}) for names in (first, second)]
        if kernels[0] != kernels[1]:
            return " + ".join(dict.fromkeys(first)), " + ".join(dict.fromkeys(second))
    ours, theirs = (
        [layer.row.tactic_value for layer in layers if layer.row.tactic_value] for layers in (before, after)
    )
    if ours and theirs and len(before) == len(after) and ours != theirs:
        return " + ".join(ours), " + ".join(theirs)
    return "", ""


def _compare_parts(before: Layers, after: Layers) -> tuple[PartChange, ...]:
    """Return the parts in which two tactics differ; empty unless each side has one tactic whose name can be parsed.

    Tactics of different libraries have different parts: parts that one name lacks are then skipped, except for a split of K
    and a special algorithm.
    """
    names = [
        list(dict.fromkeys(layer.row.tactic for layer in layers if layer.row.tactic))
        for layers in (before, after)
    ]
    if any(len(own) != 1 for own in names) or names[0] == names[1]:
        return ()
    first, second = (parse_tactic(own[0]) for own in names)
    if first is None or second is None or UNKNOWN in (first.library, second.library):
        return ()
    is_same_library = first.library == second.library
    return tuple(
        PartChange(part, text, other)
        for (part, text), (_, other) in zip(list_parts(first), list_parts(second), strict=True)
        if text != other and (is_same_library or (text and other) or part in _OFTEN_EMPTY)
    )


def _read_ports(layers: Layers, read: Callable[[Port], object]) -> tuple[list[object], list[object]]:
    """Return a property of all data inputs, and of all outputs."""
    return (
        [read(port) for layer in layers for port in layer.row.inputs],
        [read(port) for layer in layers for port in layer.row.outputs],
    )


def _trim_shape(port: Port) -> object:
    """Return the dimensions above 1, since only some layers have those of 1: a GEMM has 1×4096, a convolution 1×4096×1×1."""
    return tuple(extent for extent in port.shape if extent != 1) or port.shape


def _differ(shapes: tuple[list[object], list[object]], others: tuple[list[object], list[object]]) -> bool:
    """Return whether shapes differ, except for an additional input: that of a fused sum."""
    (inputs, outputs), (other_inputs, other_outputs) = shapes, others
    return outputs != other_outputs or (len(inputs) == len(other_inputs) and inputs != other_inputs)


def _count_elements(layer: Layer) -> object:
    """Return the elements of all tensors: equal counts in other dimensions are the same work, as a reshape is fused in."""
    shapes = [port.shape for ports in (layer.row.inputs, layer.row.outputs) for port in ports]
    is_dynamic = any(extent < 0 for shape in shapes for extent in shape)
    return tuple(shapes) if is_dynamic else sorted(map(math.prod, shapes))


def _arrow(layers: Layers, text: Callable[[Port], str]) -> str:
    sides = (dict.fromkeys(map(str, side)) for side in _read_ports(layers, text))
    return " → ".join(", ".join(side) or NOTHING for side in sides)


def _sum_weights(layers: Layers) -> int | None:
    known = [layer.row.weights_bytes for layer in layers if layer.row.layer_type is not None]
    return None if None in known or not known else sum(size for size in known if size is not None)


def _format_other_bytes(before: int | None, after: int | None) -> str:
    text = format_bytes(after)
    return text if text != format_bytes(before) else f"{text} ({(after or 0) - (before or 0):+d} B)"


def _compare_fusion(before: Layers, after: Layers, *, are_names_shared: bool) -> Change:
    counts = plural(len(before), "layer"), plural(len(after), "layer")
    if len(before) == len(after) == 1 and before[0].nodes == after[0].nodes:
        return Change(ChangeKind.FUSION, "", "")
    if any(layer.row.layer_type is None for layer in (*before, *after)):
        # A name alone lists fewer nodes than a graph: this is no difference between the engines.
        return Change(ChangeKind.FUSION, *counts)
    nodes = [{node for layer in layers for node in layer.working_nodes} for layers in (before, after)]
    first, second = _drop_renumbered(nodes[0] - nodes[1], nodes[1] - nodes[0])
    is_shared = len(first) < len(nodes[0])
    if not are_names_shared or not is_shared or not (first or second):
        return Change(ChangeKind.FUSION, *counts)
    texts = _describe_nodes(first), _describe_nodes(second)
    if counts[0] == counts[1]:
        return Change(ChangeKind.FUSION, *texts)
    return Change(ChangeKind.FUSION, f"{counts[0]}, {texts[0]}", f"{counts[1]}, {texts[1]}")


def _drop_renumbered(nodes: Iterable[str], others: Iterable[str]) -> tuple[set[str], set[str]]:
    """Return the nodes without those that differ only in their number: `Add_36` of one export is `Add_42` of another."""
    sides = [sorted(nodes), sorted(others)]
    operators = [Counter(filter(None, map(numbered_operator, side))) for side in sides]
    left: list[set[str]] = []
    for side in sides:
        alike = operators[0] & operators[1]
        left.append(set())
        for node in side:
            operator = numbered_operator(node)
            if operator and alike[operator]:
                alike[operator] -= 1
            else:
                left[-1].add(node)
    return left[0], left[1]


def _describe_nodes(nodes: set[str]) -> str:
    ordered = sorted(nodes)
    more = f" and {len(ordered) - _SHOWN_NODES} more" if len(ordered) > _SHOWN_NODES else ""
    return f"with {', '.join(ordered[:_SHOWN_NODES])}{more}" if ordered else "without"
