"""Signatures of models: which engines of a table were built from the same network, without keeping the engines.

Two engines are of one model if the names of their inputs and outputs are equal and most of the nodes in the names of their
layers are. The signature holds a sample of these nodes: the smallest of their hashes, from which the share of common nodes
is estimated. Only main nodes count (convolutions, matrix products), since quantization adds and removes others.

Exports of one network by different tools, or with quantization, often have other names. Models whose inputs and outputs have
equal shapes, and nine tenths of whose main layers have equal shapes, are similar: a suggestion, by which nothing is grouped.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from trex_tui.old.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from trex_tui.old.engine.engine import Engine

_SAMPLE = 64
_ALIKE = 0.8
"""Share of common nodes from which two engines are of one model, as in histories."""
_SIMILAR = 0.9
"""Share of main layers with equal shapes from which two models are similar; other networks share less than 0.65."""
_LEAST_SHAPES = 4
_MOST_COMPARED = 200
"""Models with equal inputs and outputs that a model is compared with."""
_HASH_BYTES = 8
_SHORTEST_NAME = 3
_SEPARATORS = " ._-/"


@dataclass(frozen=True, slots=True)
class Signature:
    """Identity of a network, in JSON-able parts.

    Attributes:
        stem: Common part of the file names, which counts if nothing else is known.
        tensors: Hash of the names of inputs and outputs; empty if unknown.
        nodes: The smallest hashes of its nodes, sorted; empty if unknown.
        form: Hash of the shapes of inputs and outputs; empty if unknown.
        shapes: Sample of the shapes of its main layers: hash and number of layers, sorted. No shape has the batch.
    """

    stem: str
    tensors: str = ""
    nodes: tuple[str, ...] = ()
    form: str = ""
    shapes: tuple[tuple[str, int], ...] = ()


def make_signature(engine: Engine, stem: str) -> Signature:
    """Return the signature of an engine."""
    from trex_tui.old.analysis.compare.names import HEAVY, take_apart  # only for engines that are read

    tensors = sorted(f"{binding.is_input is not False}:{binding.name}" for binding in engine.bindings)
    weights: dict[str, float] = {}
    for layer in engine.layers:
        for name in layer.onnx_nodes or (layer.name,):
            weights.update(take_apart(name).nodes)
    named = {node: weight for node, weight in weights.items() if not node.startswith("@")}
    main = [node for node, weight in named.items() if weight >= HEAVY]
    hashes = sorted({_hash(node) for node in main or named})
    form = sorted(f"{binding.is_input is not False}:{_inner(binding.shape)}" for binding in engine.bindings)
    is_known = bool(form) and all(binding.shape is not None for binding in engine.bindings)
    return Signature(
        stem,
        _hash("\0".join(tensors)) if tensors else "",
        tuple(hashes[:_SAMPLE]),
        _hash("\0".join(form)) if is_known else "",
        tuple(sorted(_count_shapes(engine).items())[:_SAMPLE]),
    )


def _count_shapes(engine: Engine) -> Counter[str]:
    """Return the number of main layers by the hash of their first input's and output's shape."""
    from trex_tui.old.engine.kinds import LayerKind  # only for engines that are read

    counts: Counter[str] = Counter()
    for layer in engine.layers:
        if layer.kind in (LayerKind.CONVOLUTION, LayerKind.GEMM) and layer.data_inputs and layer.outputs:
            read, written = layer.data_inputs[0].shape, layer.outputs[0].shape
            if read is not None and written is not None:
                counts[_hash(f"{_inner(read)} {_inner(written)}")] += 1
    return counts


def _inner(shape: Sequence[int] | None) -> tuple[int, ...]:
    """Return a shape without the batch and extents of 1, which exports keep or drop."""
    return tuple(extent for extent in shape[1:] if extent != 1) if shape is not None else ()


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).hexdigest()


def group_models(signatures: Sequence[Signature | None]) -> list[str | None]:
    """Return the name of the model of each engine; None for an engine that could not be read."""
    groups: list[list[int]] = []
    exact: dict[Signature, int] = {}
    by_tensors: dict[str, list[int]] = defaultdict(list)
    for index, signature in enumerate(signatures):
        if signature is None:
            continue
        own = Signature("" if signature.nodes else signature.stem, signature.tensors, signature.nodes)
        place = exact.get(own)
        if place is None:
            candidates = by_tensors[own.tensors]
            place = next(
                (group for group in candidates if _are_alike(own, signatures[groups[group][0]])), None
            )
            if place is None:
                place = len(groups)
                groups.append([])
                candidates.append(place)
            exact[own] = place
        groups[place].append(index)
    names: list[str | None] = [None] * len(signatures)
    for group, name in zip(groups, _name_groups(groups, signatures), strict=True):
        for index in group:
            names[index] = name
    return names


def find_similar(
    signatures: Sequence[Signature | None], names: Sequence[str | None]
) -> list[tuple[str, ...]]:
    """Return for each engine the other models that are similar, which are perhaps the same network.

    Args:
        names: Name of the model of each engine, from `group_models`.
    """
    firsts: dict[str, Signature] = {}
    for signature, name in zip(signatures, names, strict=True):
        if signature is not None and name is not None and signature.form and signature.shapes:
            firsts.setdefault(name, signature)
    by_form: dict[str, dict[tuple[tuple[str, int], ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, signature in firsts.items():
        by_form[signature.form][signature.shapes].append(name)
    similar: dict[str, list[str]] = defaultdict(list)
    for kinds in by_form.values():
        for shapes, members in kinds.items():
            for other, others in islice(kinds.items(), _MOST_COMPARED):
                if _have_equal_shapes(shapes, other):
                    for name in members:
                        similar[name] += [each for each in others if each != name]
    return [tuple(similar.get(name or "", ())) for name in names]


def _have_equal_shapes(shapes: Sequence[tuple[str, int]], other: Sequence[tuple[str, int]]) -> bool:
    """Return whether nine tenths of the main layers have equal shapes; False for a few layers, which are no evidence."""
    counts, others = dict(shapes), dict(other)
    sample = sorted({*counts, *others})[:_SAMPLE]
    pairs = [(counts.get(key, 0), others.get(key, 0)) for key in sample]
    most = sum(max(pair) for pair in pairs)
    return most >= _LEAST_SHAPES and sum(min(pair) for pair in pairs) >= _SIMILAR * most


def _are_alike(signature: Signature, other: Signature | None) -> bool:
    if other is None:
        return False
    if not signature.nodes or not other.nodes:
        return signature.nodes == other.nodes and signature.stem == other.stem
    smallest = sorted({*signature.nodes, *other.nodes})[:_SAMPLE]
    shared = set(signature.nodes) & set(other.nodes)
    return sum(node in shared for node in smallest) >= _ALIKE * len(smallest)


def _name_groups(groups: Sequence[Sequence[int]], signatures: Sequence[Signature | None]) -> list[str]:
    """Return the common beginning of the names of each group, else its most frequent name; equal names get a number."""
    names = []
    for group in groups:
        stems = [signature.stem for index in group if (signature := signatures[index]) is not None]
        names.append(common_words(stems) or Counter(stems).most_common(1)[0][0])
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return result


def common_words(stems: Sequence[str]) -> str:
    """Return the words that all names begin with: `alexnet` of `alexnet_fp16` and `alexnet_fp32`; empty without any."""
    first, last = min(stems), max(stems)
    length = next(
        (place for place, pair in enumerate(zip(first, last, strict=False)) if len(set(pair)) > 1), None
    )
    shared = first[:length]
    is_whole = all(stem[len(shared) : len(shared) + 1] in ("", *_SEPARATORS) for stem in stems)
    if not is_whole:
        shared = shared[: max(map(shared.rfind, _SEPARATORS)) + 1]
    shared = shared.rstrip(_SEPARATORS)
    return shared if len(shared) >= _SHORTEST_NAME else ""
