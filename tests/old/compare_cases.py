"""Engines made out of others, with the truth about which layer is which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from helpers import RealSet, tensor, timing_row, write_graph, write_json, write_profile
from helpers import layer as raw_layer
from trex_tui.old.analysis.compare import Align, Comparison, Match
from trex_tui.old.analysis.compare.align import Aligned, align_pair
from trex_tui.old.analysis.compare.traits import Traits
from trex_tui.old.artifacts import find
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.engine.model import Layer


@dataclass(frozen=True)
class Changed:
    """An engine made of another one.

    Attributes:
        engine: The engine.
        origins: Per layer, the indices of the layers it was made of.
    """

    engine: Engine
    origins: tuple[frozenset[int], ...]

    def wrong_pairs(self, aligned: Aligned) -> int:
        """How many pairs of layers share a block that are not of one origin."""
        return sum(
            left not in self.origins[right]
            for block in aligned.pairing.blocks
            for left in block.left
            for right in block.right
        )

    def right_pairs(self, aligned: Aligned) -> int:
        return sum(
            left in self.origins[right]
            for block in aligned.pairing.blocks
            for left in block.left
            for right in block.right
        )

    @property
    def pairs(self) -> int:
        return sum(map(len, self.origins))


def load_real(source: RealSet) -> Engine:
    engine: Engine = source.engine()
    return engine


def with_layers(engine: Engine, layers: Sequence[Layer]) -> Engine:
    return replace(engine, layers=tuple(layer._replace(index=place) for place, layer in enumerate(layers)))


def without(engine: Engine, index: int) -> Changed:
    kept = [layer for layer in engine.layers if layer.index != index]
    return Changed(with_layers(engine, kept), tuple(frozenset([layer.index]) for layer in kept))


def renamed(engine: Engine, indices: Sequence[int]) -> Changed:
    chosen = set(indices)
    layers = [
        layer._replace(name=f"renamed {layer.index}", onnx_nodes=()) if layer.index in chosen else layer
        for layer in engine.layers
    ]
    return Changed(with_layers(engine, layers), _themselves(layers))


def with_permuted_names(engine: Engine, seed: int) -> Changed:
    """Every layer has name and nodes of another: names that lie."""
    others = list(engine.layers)
    Random(seed).shuffle(others)
    layers = [
        layer._replace(name=other.name, onnx_nodes=other.onnx_nodes)
        for layer, other in zip(engine.layers, others, strict=True)
    ]
    return Changed(with_layers(engine, layers), _themselves(layers))


def shuffled(engine: Engine, seed: int) -> Changed:
    layers = list(engine.layers)
    Random(seed).shuffle(layers)
    return Changed(with_layers(engine, layers), _themselves(layers))


def _themselves(layers: Sequence[Layer]) -> tuple[frozenset[int], ...]:
    return tuple(frozenset([layer.index]) for layer in layers)


def fused(engine: Engine, share: float, seed: int) -> Changed:
    """Some layers joined with the only layer that reads from them, as a builder fuses them."""
    drawn = Random(seed)
    into: dict[int, int] = {}
    used: set[int] = set()
    for layer in engine.layers:
        targets = {link.target for link in engine.consumers(layer)}
        if layer.index in used or len(targets) != 1 or drawn.random() > share:
            continue
        target = targets.pop()
        working = all(
            one.kind.is_work and one.kind.value not in ("reformat", "quantize")
            for one in (layer, engine.layers[target])
        )
        named = bool(layer.onnx_nodes) == bool(engine.layers[target].onnx_nodes)
        if target > layer.index and target not in used and working and named:
            into[target] = layer.index
            used |= {layer.index, target}
    gone = set(into.values())
    layers = [
        _joined(engine.layers[into[layer.index]], layer) if layer.index in into else layer
        for layer in engine.layers
        if layer.index not in gone
    ]
    origins = [
        frozenset([layer.index, into[layer.index]]) if layer.index in into else frozenset([layer.index])
        for layer in engine.layers
        if layer.index not in gone
    ]
    return Changed(with_layers(engine, layers), tuple(origins))


def _joined(first: Layer, second: Layer) -> Layer:
    inner = {one.name for one in first.outputs}
    generated = first.name.startswith("__my")
    return second._replace(
        name=f"__myl_Fused_myl0_{second.index}" if generated else f"{first.name} + {second.name}",
        onnx_nodes=tuple(dict.fromkeys(first.onnx_nodes + second.onnx_nodes)),
        inputs=first.inputs + tuple(one for one in second.inputs if one.name not in inner),
        kind=first.kind if first.kind.multiplies else second.kind,
        attributes=dict(first.attributes) if first.kind.multiplies else second.attributes,
    )


def aligned(one: Engine, other: Engine, mode: Align = Align.AUTO) -> Aligned:
    return align_pair(Traits(one), Traits(other), mode)


def write_engine(
    folder: Path,
    layers: Sequence[dict[str, Any]],
    times: Sequence[float] | None = None,
    *,
    bindings: Sequence[str] = (),
    latencies: Sequence[float] = (),
    metadata: dict[str, Any] | None = None,
) -> Engine:
    """Write a set and read it."""
    write_graph(folder / "net.graph.json", layers, bindings)
    if times is not None:
        write_profile(
            folder / "net.profile.json",
            [(raw["Name"], time) for raw, time in zip(layers, times, strict=True)],
        )
    if latencies:
        rows = [timing_row(300.0 + place, one) for place, one in enumerate(latencies)]
        write_json(folder / "net.timing.json", rows)
    if metadata:
        write_json(folder / "net.profile.metadata.json", metadata)
    return load_set(find(folder)[0])


def conv(
    name: str, source: str, target: str, channels: int = 64, dtype: str = "Half", **more: Any
) -> dict[str, Any]:
    """A convolution of 56 x 56 with so many channels."""
    return raw_layer(
        name,
        "CaskConvolution",
        [tensor(source, 1, 64, 56, 56, dtype=dtype)],
        [tensor(target, 1, channels, 56, 56, dtype=dtype)],
        ParameterType="Convolution",
        Kernel=[3, 3],
        OutMaps=channels,
        Groups=1,
        **more,
    )


def pointwise(
    name: str, source: str, target: str, channels: int = 64, dtype: str = "Half", **more: Any
) -> dict[str, Any]:
    return raw_layer(
        name,
        "PointWiseV2",
        [tensor(source, 1, channels, 56, 56, dtype=dtype)],
        [tensor(target, 1, channels, 56, 56, dtype=dtype)],
        ParameterType="PointWise",
        **more,
    )


def reformat(name: str, source: str, target: str, channels: int = 64, **more: Any) -> dict[str, Any]:
    return raw_layer(
        name,
        "Reformat",
        [tensor(source, 1, channels, 56, 56, dtype="Float")],
        [tensor(target, 1, channels, 56, 56, dtype="Half")],
        ParameterType="Reformat",
        Origin="REFORMAT",
        **more,
    )


def nodes(*names: str) -> str:
    """`Metadata` of a layer."""
    return "\x1e".join(f"[ONNX Layer: {name}]" for name in names)


def names_in(comparison: Comparison) -> list[tuple[list[str], ...]]:
    """The blocks, as names per engine."""
    return [
        tuple(
            [engine.layers[layer].name for layer in layers]
            for engine, layers in zip(comparison.engines, block.layers, strict=True)
        )
        for block in comparison.blocks
    ]


def check(comparison: Comparison) -> None:
    """What holds for every comparison."""
    for place, engine in enumerate(comparison.engines):
        seen = [layer for block in comparison.blocks for layer in block.layers[place]]
        assert sorted(seen) == list(range(len(engine.layers)))
        assert all(
            comparison.find_block(place, layer.index).layers[place].count(layer.index) == 1
            for layer in engine.layers
        )
        side = comparison.sides[place]
        for parts in (comparison.blocks, comparison.by_kind, comparison.by_precision, comparison.by_module):
            known = [one.latency_ms[place] for one in parts]
            total = math.fsum(one for one in known if one is not None)
            assert total == pytest.approx(side.latency_sum_ms or 0.0, rel=1e-9, abs=1e-12)
        assert sum(row.layers[place] for row in comparison.by_kind) == len(engine.layers)
    for block in comparison.blocks:
        assert comparison.blocks[block.index] is block
        assert any(block.layers)
        assert block.is_one_sided == (block.match is Match.NONE)
        assert 0.0 <= block.confidence <= 1.0
        assert block.why
        assert all(change.before != change.after for change in block.changes)
        assert not (block.is_one_sided and block.changes)
    for place in comparison.others:
        found = comparison.differences[place]
        assert found is not None
        deltas = [block.deltas_ms[place] for block in comparison.blocks]
        known = math.fsum(one for one in deltas if one is not None)
        if found.delta_ms is not None:
            assert known + found.unattributed_ms == pytest.approx(found.delta_ms, abs=1e-9)
            assert math.fsum(one.delta_ms for one in found.reasons) == pytest.approx(found.delta_ms, abs=1e-9)
        assert len({one.cause for one in found.reasons}) == len(found.reasons)
        for one in found.reasons:
            assert one.decrease_ms <= 0.0 <= one.increase_ms
            assert one.decrease_ms + one.increase_ms == pytest.approx(one.delta_ms, abs=1e-9)
        spoken = [block for reason in found.reasons for block in reason.blocks]
        assert len(spoken) == len(set(spoken))
        sizes = [abs(reason.delta_ms) for reason in found.reasons]
        assert sizes == sorted(sizes, reverse=True)
    assert sorted(comparison.ranking) == list(range(len(comparison.engines)))
