"""Signatures of models: which engines of a table were built from the same network, without keeping the engines.

Two engines are of one model if the names of their inputs and outputs are equal and most of the nodes in the names of their
layers are. The signature holds a sample of these nodes: the smallest of their hashes, from which the share of common nodes
is estimated. Only main nodes count (convolutions, matrix products), since quantization adds and removes others.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trex_tui.engine.engine import Engine

_SAMPLE = 64
_ALIKE = 0.8
"""Share of common nodes from which two engines are of one model, as in histories."""
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
    """

    stem: str
    tensors: str = ""
    nodes: tuple[str, ...] = ()


def make_signature(engine: Engine, stem: str) -> Signature:
    """Return the signature of an engine."""
    from trex_tui.analysis.compare.names import HEAVY, take_apart  # only for engines that are read

    tensors = sorted(f"{binding.is_input is not False}:{binding.name}" for binding in engine.bindings)
    weights: dict[str, float] = {}
    for layer in engine.layers:
        for name in layer.onnx_nodes or (layer.name,):
            weights.update(take_apart(name).nodes)
    named = {node: weight for node, weight in weights.items() if not node.startswith("@")}
    main = [node for node, weight in named.items() if weight >= HEAVY]
    hashes = sorted({_hash(node) for node in main or named})
    return Signature(stem, _hash("\0".join(tensors)) if tensors else "", tuple(hashes[:_SAMPLE]))


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
