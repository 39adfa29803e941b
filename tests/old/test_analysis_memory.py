"""Live activations: hand-made engines, and random ones against the definition itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples, layer, real_sets, tensor, write_graph
from trex_tui.old.analysis.memory import ActivationMemory, activation_memory, live_tensors, traffic_bytes
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.layer_info import LayerInfo
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.artifacts.records import Records
from trex_tui.old.engine import Engine, load_engine

# Bytes of a tensor, by name: one UInt8 element each.
SIZES = {"a": 1, "b": 10, "c": 100, "d": 1000, "e": 10_000, "x": 7, "y": 9}


def sized(name: str, size: int | None = None) -> dict[str, Any]:
    return tensor(name, SIZES.get(name, 50) if size is None else size, dtype="UInt8")


def step(reads: str, writes: str, layer_type: str = "kgen") -> dict[str, Any]:
    """A layer that reads and writes the tensors of these letters."""
    return layer("k", layer_type, [sized(one) for one in reads], [sized(one) for one in writes])


def engine_of(layers: Sequence[dict[str, Any]], bindings: Sequence[str] = ("x", "y")) -> Engine:
    info = LayerInfo(tuple(layers), tuple(bindings))
    return Engine.from_records(
        Records(ArtifactSet("made", Path(), {}), info, None, None, Metadata(), None, ())
    )


def memory_of(*layers: dict[str, Any]) -> ActivationMemory:
    return activation_memory(engine_of(layers))


class TestByHand:
    """`x` and `y` are the network's; a to e have 1, 10, … 10 000 bytes, so that a sum shows its parts."""

    def test_a_chain(self) -> None:
        memory = memory_of(step("x", "a"), step("a", "b"), step("b", "c"), step("c", "y"))
        assert memory.live_bytes == (1, 11, 110, 100)
        assert (memory.peak_bytes, memory.peak_index, memory.unknown) == (110, 2, 0)
        assert [one.name for one in memory.live_at_peak] == ["c", "b"]
        assert [(one.first, one.last) for one in memory.live_at_peak] == [(2, 3), (1, 2)]

    def test_a_skip_waits(self) -> None:
        memory = memory_of(step("x", "a"), step("a", "b"), step("b", "c"), step("ca", "d"), step("d", "y"))
        assert memory.live_bytes == (1, 11, 111, 1101, 1000)
        assert [one.name for one in memory.live_at_peak] == ["d", "c", "a"]

    def test_layers_that_write_parts_of_one_tensor(self) -> None:
        """Behind a removed concat: the value is whole from its first writer on, and its reader tells its size."""
        left = layer("l", "kgen", [sized("x")], [sized("c", 40)])
        right = layer("r", "kgen", [sized("x")], [sized("c", 60)])
        engine = engine_of([left, step("x", "a"), right, step("ca", "y")])
        assert [(one.name, one.allocated_bytes) for one in live_tensors(engine)] == [("c", 100), ("a", 1)]
        assert activation_memory(engine).live_bytes == (100, 101, 101, 101)

    def test_a_noop_is_another_name(self) -> None:
        noop = layer("n", "NoOp", [sized("a")], [sized("v", 1)])
        reader = layer("r", "kgen", [sized("v", 1)], [sized("y")])
        memory = memory_of(step("x", "a"), noop, step("x", "c"), reader)
        assert memory.live_bytes == (1, 1, 101, 1)

    def test_a_noop_of_what_the_caller_holds(self) -> None:
        constant = layer("k", "Constant", [], [sized("d")])
        memory = memory_of(
            step("x", "b", "NoOp"), constant, step("d", "e", "NoOp"), step("be", "a"), step("a", "y")
        )
        assert memory.live_bytes == (0, 0, 0, 1, 1)

    def test_a_name_written_anew_is_a_new_value(self) -> None:
        memory = memory_of(step("x", "a"), step("a", "c"), step("c", "a"), step("a", "y"))
        assert memory.live_bytes == (1, 101, 101, 1)
        engine = engine_of([step("x", "a"), step("a", "y"), step("x", "c"), step("c", "a"), step("a", "y")])
        assert [one.name for one in live_tensors(engine)] == ["a", "c", "a"]
        assert activation_memory(engine).live_bytes == (1, 1, 100, 101, 1)

    def test_an_update_in_place_takes_no_memory_of_its_own(self) -> None:
        memory = memory_of(step("x", "c"), step("c", "c"), step("c", "cb"), step("cb", "y"))
        assert memory.live_bytes == (100, 100, 110, 110)

    def test_what_a_loop_carries_waits(self) -> None:
        """`b` is read before it is written: its value goes around."""
        memory = memory_of(step("x", "a"), step("ab", "c"), step("x", "d"), step("cd", "b"), step("x", "y"))
        assert memory.live_bytes == (1, 111, 1110, 1110, 0)

    def test_what_nobody_reads_lives_for_one_layer(self) -> None:
        memory = memory_of(step("x", "ae"), step("a", "b"), step("b", "y"))
        assert memory.live_bytes == (10_001, 11, 10)
        assert memory.peak_index == 0

    def test_bindings_and_constants_are_not_activations(self) -> None:
        constant = layer("k", "Constant", [], [sized("d")])
        memory = memory_of(constant, step("xdw", "a"), step("aw", "y"))
        assert memory.live_bytes == (0, 1, 1)

    def test_padding_counts(self) -> None:
        text = "Channel major FP16 format where channel % 8 == 0"
        writer = layer("w", "kgen", [sized("x")], [tensor("a", 1, 3, 4, 4, dtype=text)])
        reader = layer("r", "kgen", [tensor("a", 1, 3, 4, 4, dtype=text)], [sized("y")])
        assert memory_of(writer, reader).live_bytes == (256, 256)

    def test_sizes_that_are_not_known(self) -> None:
        dynamic = layer("d", "kgen", [sized("x")], [sized("e", -1)])
        memory = memory_of(
            step("x", "a"), dynamic, layer("r", "kgen", [sized("e", -1), sized("a")], [sized("y")])
        )
        assert (memory.live_bytes, memory.peak_bytes, memory.unknown) == ((1, 1, 1), 1, 1)
        nothing = memory_of(dynamic)
        assert (nothing.live_bytes, nothing.peak_bytes, nothing.peak_index) == ((0,), None, None)

    def test_no_layers(self) -> None:
        assert memory_of() == ActivationMemory((), None, None, (), 0)


class TestTraffic:
    def test_a_tensor_counts_for_every_layer_that_touches_it(self) -> None:
        engine = engine_of([step("x", "c"), step("c", "c", "NoOp"), step("c", "b"), step("cb", "y")])
        assert traffic_bytes(engine) == (7 + 100) + (100 + 10) + (100 + 10 + 9)

    def test_weights_are_part_of_it(self) -> None:
        conv = layer("c", "CaskConvolution", [sized("x")], [sized("y")], ParameterType="Convolution")
        assert traffic_bytes(engine_of([conv | {"Weights": {"Type": "Half", "Count": 8}}])) == 7 + 9 + 16

    def test_one_unknown_makes_the_sum_unknown(self) -> None:
        assert (
            traffic_bytes(engine_of([step("x", "a"), layer("g", "gemm", [sized("a")], [sized("y")])])) is None
        )

    def test_names_alone(self, tmp_path: Path) -> None:
        engine = load_engine(write_graph(tmp_path / "net.graph.json", ["a", "b"]))
        assert traffic_bytes(engine) is None
        assert activation_memory(engine).peak_bytes is None


NAMES = st.lists(st.sampled_from("abcdexw"), max_size=3).map("".join)
LAYERS = st.lists(
    st.builds(step, NAMES, NAMES, st.sampled_from(["kgen", "Reformat", "Constant"])), max_size=10
)


def brute_force(engine: Engine) -> list[int]:
    """For every step: each name that holds a value now, by looking at all reads and writes of the engine."""
    outside = {one.name for one in engine.bindings}
    names = {one.name for row in engine.layers for one in (*row.inputs, *row.outputs)} - outside
    live = [0] * len(engine.layers)
    for name in names:
        for first, last in intervals(engine, name):
            for index in range(first, last + 1):
                live[index] += SIZES.get(name, 50)
    return live


def intervals(engine: Engine, name: str) -> list[tuple[int, int]]:
    spans: list[list[int]] = []
    is_read, is_constant, early = False, False, None
    for row in engine.layers:
        reads = any(one.name == name for one in row.inputs)
        if reads and spans and not is_constant:
            spans[-1][1] = row.index
            is_read = True
        elif reads and not is_constant and early is None:
            early = row.index
        if not any(one.name == name for one in row.outputs):
            continue
        if row.kind.value == "constant":
            is_constant = True
            continue
        if not spans or is_constant or (is_read and not reads):
            spans.append([row.index, row.index])
            is_read = False
        spans[-1][1] = row.index
        is_constant = False
    if early is not None and spans and not is_constant:
        spans[-1][0] = min(early, spans[-1][0])
    return [(first, last) for first, last in spans]


@given(LAYERS)
@settings(max_examples=examples(300))
def test_random_engines_against_the_definition(layers: list[dict[str, Any]]) -> None:
    engine = engine_of(layers)
    memory = activation_memory(engine)
    assert list(memory.live_bytes) == brute_force(engine)
    values = live_tensors(engine)
    assert memory.peak_bytes == (max(memory.live_bytes) if values else None)
    if memory.peak_bytes is not None:
        assert memory.peak_bytes >= max(one.allocated_bytes or 0 for one in values)
        assert memory.peak_bytes == sum(one.allocated_bytes or 0 for one in memory.live_at_peak)


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_real_engines(real: Any) -> None:
    engine = real.engine()
    memory = activation_memory(engine)
    assert len(memory.live_bytes) == len(engine.layers)
    if engine.names_only:
        assert memory.peak_bytes is None
        return
    assert memory.peak_bytes is not None
    assert memory.peak_index is not None
    assert min(memory.live_bytes) >= 0
    assert memory.peak_bytes == max(memory.live_bytes) == memory.live_bytes[memory.peak_index]
    assert memory.peak_bytes == sum(one.allocated_bytes or 0 for one in memory.live_at_peak)
    outside = {one.name for one in engine.bindings}
    written = [
        one.allocated_bytes or 0
        for layer_ in engine.layers
        if layer_.kind.value not in ("constant", "noop")
        for one in layer_.outputs
        if one.name not in outside
    ]
    assert memory.peak_bytes >= max(written)
