"""Engines made out of others, with the truth about which layer is which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from helpers import ARTIFACTS, REPOSITORY, tensor, write_graph, write_profile
from helpers import layer as raw_layer
from trex_tui.api import load_engine
from trex_tui.compare.layers import read_layers
from trex_tui.compare.match import Matched, match_layers
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine
from trex_tui.frames import text_array

CASES = ARTIFACTS.parent / "cases"
SAMPLES = REPOSITORY / "sample_artifacts"
WORKING = {kind.value for kind in LayerKind if kind.is_work} - {"reformat", "quantize"}


@cache
def load(path: Path) -> Engine:
    return load_engine(path)


def match(left: Engine, right: Engine) -> Matched:
    return match_layers(read_layers(left), read_layers(right))


def pairs_of(found: Matched) -> list[tuple[list[int], list[int]]]:
    """The layers of each match, by index."""
    return sorted(
        (sorted(layer.index for layer in matched.left), sorted(layer.index for layer in matched.right))
        for matched in found.pair.matches
    )


@dataclass(frozen=True)
class Changed:
    """An engine made of another one; per layer, the layers it was made of."""

    engine: Engine
    origins: tuple[frozenset[int], ...]

    def count(self, found: Matched) -> tuple[int, int]:
        """How many pairs of layers that share a match are of one origin, and how many are not."""
        pairs = [(left, right) for lefts, rights in pairs_of(found) for left in lefts for right in rights]
        right = sum(left in self.origins[right] for left, right in pairs)
        return right, len(pairs) - right


def choose(engine: Engine, order: Sequence[int]) -> Engine:
    """The engine with some of its layers, in an order."""
    positions = {layer: position for position, layer in enumerate(order)}
    tensors = engine.tensors[engine.tensors["layer"].isin(order)].copy()
    tensors["layer"] = tensors["layer"].map(positions)
    tensors = tensors.sort_values(["layer", "role", "port"], kind="stable", ignore_index=True)
    return replace(
        engine,
        layers=engine.layers.iloc[list(order)].reset_index(drop=True),
        tensors=tensors,
        attributes=[engine.attributes[layer] for layer in order],
    )


def with_names(engine: Engine, names: Sequence[str], nodes: Sequence[tuple[str, ...]]) -> Engine:
    layers = engine.layers.copy()
    layers["name"], layers["onnx_nodes"] = text_array(names), list(nodes)
    return replace(engine, layers=layers)


def without(engine: Engine, layer: int) -> Changed:
    kept = [index for index in range(len(engine)) if index != layer]
    return Changed(choose(engine, kept), tuple(frozenset([index]) for index in kept))


def renamed(engine: Engine, chosen: Sequence[int]) -> Changed:
    names, nodes = engine.layers["name"].tolist(), engine.layers["onnx_nodes"].tolist()
    for index in chosen:
        names[index], nodes[index] = f"renamed {index}", ()
    return Changed(with_names(engine, names, nodes), themselves(engine))


def with_permuted_names(engine: Engine, seed: int) -> Changed:
    """Every layer has name and nodes of another: names that lie."""
    order = list(range(len(engine)))
    Random(seed).shuffle(order)
    names, nodes = engine.layers["name"].tolist(), engine.layers["onnx_nodes"].tolist()
    return Changed(
        with_names(engine, [names[i] for i in order], [nodes[i] for i in order]), themselves(engine)
    )


def shuffled(engine: Engine, seed: int) -> Changed:
    order = list(range(len(engine)))
    Random(seed).shuffle(order)
    return Changed(choose(engine, order), tuple(frozenset([index]) for index in order))


def themselves(engine: Engine) -> tuple[frozenset[int], ...]:
    return tuple(frozenset([index]) for index in range(len(engine)))


def fused(engine: Engine, share: float, seed: int) -> Changed:
    """Some layers joined with the only layer that reads from them, as a builder fuses them."""
    drawn = Random(seed)
    layers, links = engine.layers, engine.links
    kinds, names, nodes = (layers[key].tolist() for key in ("kind", "name", "onnx_nodes"))
    readers = links.groupby("source")["target"].agg(set)
    into: dict[int, int] = {}
    used: set[int] = set()
    for index in range(len(engine)):
        targets = readers.get(index, set())
        if index in used or len(targets) != 1 or drawn.random() > share:
            continue
        (target,) = targets
        are_work = kinds[index] in WORKING and kinds[target] in WORKING
        if target > index and target not in used and are_work and bool(nodes[index]) == bool(nodes[target]):
            into[target] = index
            used |= {index, target}
    tensors = engine.tensors.copy()
    attributes = list(engine.attributes)
    for second, first in into.items():
        inner = set(tensors["name"][tensors["layer"].eq(first) & tensors["role"].eq("output")])
        is_own = tensors["layer"].eq(second) & tensors["role"].eq("input") & tensors["name"].isin(inner)
        is_result = tensors["layer"].eq(first) & tensors["role"].eq("output")
        tensors = tensors[~is_own & ~is_result]
        tensors.loc[tensors["layer"].eq(first), "layer"] = second
        names[second] = (
            f"__myl_Fused_myl0_{second}"
            if names[first].startswith("__my")
            else f"{names[first]} + {names[second]}"
        )
        nodes[second] = tuple(dict.fromkeys((*nodes[first], *nodes[second])))
        if LayerKind[kinds[first].upper()].multiplies:
            kinds[second], attributes[second] = kinds[first], attributes[first]
    tensors["port"] = tensors.groupby(["layer", "role"]).cumcount()
    whole = with_names(engine, names, nodes)
    whole.layers["kind"] = text_array(kinds)
    gone = set(into.values())
    kept = [index for index in range(len(engine)) if index not in gone]
    joined = choose(replace(whole, tensors=tensors, attributes=attributes), kept)
    origins = tuple(
        frozenset([index, into[index]]) if index in into else frozenset([index]) for index in kept
    )
    return Changed(joined, origins)


# Small engines


def conv(name: str, source: str, target: str, channels: int = 8, **more: Any) -> dict[str, Any]:
    """A 3×3 convolution on 1×?×8×8."""
    dtype = more.pop("dtype", "Half")
    inputs = [tensor(source, 1, 8, 8, 8, dtype=dtype)]
    raw = raw_layer(name, "CaskConvolution", inputs, [tensor(target, 1, channels, 8, 8, dtype=dtype)])
    return raw | {"ParameterType": "Convolution", "Kernel": [3, 3], "OutMaps": channels} | more


def pointwise(name: str, *tensors: str, dtype: str = "Half", **more: Any) -> dict[str, Any]:
    """Reads all tensors but the last, which it writes."""
    *sources, target = [tensor(each, 1, 8, 8, 8, dtype=dtype) for each in tensors]
    return raw_layer(name, "PointWiseV2", sources, [target]) | {"ParameterType": "PointWise"} | more


def write_engine(
    folder: Path,
    layers: Sequence[dict[str, Any]],
    times: Sequence[float] = (),
    bindings: Sequence[str] = ("x",),
) -> Engine:
    write_graph(folder / "net.graph.json", list(layers), list(bindings))
    if times:
        names = [raw["Name"] for raw in layers]
        write_profile(folder / "net.profile.json", list(zip(names, times, strict=True)))
    return load_engine(folder)
