"""Critical path, streams, devices and reformats, on graphs made by hand and at random."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_analysis_rollup import engine_of

from helpers import examples, layer, real_sets, tensor, write_graph, write_json, write_profile
from trex_tui.old.analysis.structure import (
    by_stream,
    critical_path,
    describe_streams,
    device_transitions,
    reformat_latency_ms,
    reformats,
)
from trex_tui.old.engine import Engine, LayerKind, load_engine
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.report.views.engine import number_sentences, numbers

NHWC8 = "Channel major FP16 format where channel % 8 == 0"


def step(reads: str, writes: str, layer_type: str = "kgen", **more: Any) -> dict[str, Any]:
    """A layer that reads and writes tensors of one letter each."""
    return layer(
        "k", layer_type, [tensor(one, 8) for one in reads], [tensor(one, 8) for one in writes], **more
    )


def path_of(layers: list[dict[str, Any]], times: Sequence[float | None]) -> tuple[list[int], float, float]:
    path = critical_path(engine_of(layers, list(times)))
    assert path is not None
    return [one.index for one in path.layers], path.latency_ms, path.latency_pct


class TestCriticalPath:
    def test_a_chain_is_all_of_it(self) -> None:
        layers = [step("x", "a"), step("a", "b"), step("b", "y")]
        assert path_of(layers, [0.1, 0.2, 0.3]) == ([0, 1, 2], pytest.approx(0.6), 100.0)

    def test_the_slower_branch(self) -> None:
        layers = [step("x", "a"), step("a", "b"), step("a", "c"), step("c", "d"), step("bd", "y")]
        assert path_of(layers, [1, 5, 2, 2, 1]) == ([0, 1, 4], 7, pytest.approx(100 * 7 / 11))
        assert path_of(layers, [1, 3, 2, 2, 1]) == ([0, 2, 3, 4], 6, pytest.approx(100 * 6 / 9))

    def test_it_need_not_reach_the_end(self) -> None:
        layers = [step("x", "a"), step("x", "b"), step("a", "y")]
        assert path_of(layers, [1, 9, 1])[0] == [1]

    def test_layers_without_a_time_take_none(self) -> None:
        layers = [step("x", "a"), step("a", "b"), step("b", "y")]
        assert path_of(layers, [1.0, None, 2.0]) == ([0, 1, 2], 3.0, 100.0)

    def test_loops_are_left_out(self) -> None:
        layers = [step("xc", "a"), step("a", "b"), step("b", "c")]
        assert path_of(layers, [1, 2, 3])[:2] == ([0, 1, 2], 6)

    def test_all_who_write_a_tensor_lead_to_its_reader(self) -> None:
        layers = [step("x", "a"), step("x", "a"), step("a", "y")]
        assert path_of(layers, [5, 1, 1])[0] == [0, 2]

    def test_without_a_profile_there_is_none(self, tmp_path: Path) -> None:
        assert critical_path(load_engine(write_graph(tmp_path / "a.graph.json", [step("x", "y")]))) is None
        assert critical_path(engine_of([step("x", "y")], [0.0])) is None

    def test_without_a_graph_there_is_none(self, tmp_path: Path) -> None:
        write_profile(tmp_path / "net.profile.json", [("a", 1.0)])
        assert critical_path(load_engine(tmp_path)) is None

    @pytest.mark.parametrize("real", real_sets(having=["graph", "profile"]))
    def test_real_engines(self, real: Any) -> None:
        engine = real.engine()
        path = critical_path(engine)
        assert path is not None
        assert engine.latency_sum_ms is not None
        slowest = max(one.latency_ms or 0 for one in engine.layers)
        assert slowest <= path.latency_ms <= engine.latency_sum_ms
        assert 0 < path.latency_pct <= 100
        linked = {(one.source, one.target) for one in engine.links}
        indices = [one.index for one in path.layers]
        assert set(pairwise(indices)) <= linked


NAMES = st.lists(st.sampled_from("abcd"), max_size=2).map("".join)
LAYERS = st.lists(st.builds(step, NAMES, NAMES), min_size=1, max_size=7)
TIMES = st.lists(st.integers(0, 9), min_size=7, max_size=7)


@given(LAYERS, TIMES)
@settings(max_examples=examples(300))
def test_no_path_is_longer(layers: list[dict[str, Any]], times: list[int]) -> None:
    engine = engine_of(layers, [float(one) for one in times])
    path = critical_path(engine)
    if path is None:
        assert not engine.latency_sum_ms or not any(layer.inputs for layer in engine.layers)
        return
    forward: dict[int, set[int]] = {}
    for link in engine.links:
        if not link.is_loop:
            forward.setdefault(link.source, set()).add(link.target)

    def longest(index: int) -> int:
        return times[index] + max((longest(other) for other in forward.get(index, ())), default=0)

    assert path.latency_ms == max(longest(one.index) for one in engine.layers)
    assert path.latency_ms == sum(times[one.index] for one in path.layers)
    assert path.latency_pct <= 100


class TestStreams:
    def engine(self, *streams: int | None, times: Sequence[float] = ()) -> Engine:
        layers = [step("x", "y", **({} if one is None else {"StreamId": one})) for one in streams]
        return engine_of(layers, list(times))

    def test_times(self) -> None:
        found = by_stream(self.engine(0, 1, 0, times=[1.0, 5.0, 2.0]))
        assert [(one.key, one.layers, one.latency_ms) for one in found] == [("1", 1, 5.0), ("0", 2, 3.0)]

    def test_words(self) -> None:
        assert "unknown" in describe_streams(self.engine(None, None))
        assert describe_streams(self.engine(0, 0)) == "One stream."
        assert "overlap unknown without a profile" in describe_streams(self.engine(0, 1))
        words = describe_streams(self.engine(0, 1, 2, times=[1.0, 5.0, 2.0]))
        assert "3 streams, 0 signals and waits: stream 1 is busiest with 5.0000 ms" in words
        assert "at most 3.0000 ms" in words

    def test_signals_and_waits_are_counted(self) -> None:
        layers = [
            step("x", "a", StreamId=0),
            layer("s", "signal"),
            layer("w", "wait"),
            step("a", "y", StreamId=1),
        ]
        assert "2 streams, 2 signals and waits" in describe_streams(engine_of(layers, [1.0]))

    def test_a_real_engine_of_several(self, artifacts: Path) -> None:
        engine = load_engine(artifacts / "bev-multitask-blackwell")
        assert len([one for one in by_stream(engine) if one.key != "unknown"]) > 1
        assert "streams" in describe_streams(engine)


def test_transitions_between_devices() -> None:
    layers = [step("x", "ab"), step("ab", "c", "DLA"), step("c", "d", "DLA"), step("d", "y")]
    found = device_transitions(engine_of(layers, []))
    assert [(one.source.index, one.target.index, one.tensor) for one in found] == [
        (0, 1, "a"),
        (0, 1, "b"),
        (2, 3, "d"),
    ]


class TestReformats:
    def reformat(self, source: str, target: str, reads: str, writes: str, **more: Any) -> dict[str, Any]:
        inputs = [tensor(reads, 1, 8, 4, 4, dtype=source)]
        outputs = [tensor(writes, 1, 8, 4, 4, dtype=target)]
        return layer("r", "Reformat", inputs, outputs, ParameterType="Reformat", **more)

    def test_between_whom(self) -> None:
        layers = [
            self.reformat("Row major linear FP32", NHWC8, "x", "a"),
            step("a", "b"),
            self.reformat(NHWC8, "Row major linear FP16 format", "b", "c"),
            step("c", "d"),
            step("c", "y"),
        ]
        engine = engine_of(layers, [1.0, 9.0, 3.0])
        second, first = reformats(engine)
        assert (first.layer.index, first.source, first.target) == (0, "FP32 NCHW", "FP16 NHWC8")
        assert (first.changes_type, first.producers) == (True, ())
        assert [one.index for one in first.consumers] == [1]
        assert (second.layer.index, second.changes_type) == (2, False)
        assert [one.index for one in second.producers] == [1]
        assert [one.index for one in second.consumers] == [3, 4]
        assert reformat_latency_ms(engine) == 4.0

    def test_a_quantization_is_none(self) -> None:
        raw = self.reformat(NHWC8, "Row major Int8 format", "x", "y", Origin="QDQ")
        engine = engine_of([raw], [1.0])
        assert reformats(engine) == []
        assert reformat_latency_ms(engine) is None

    def test_a_reader_of_both_inputs_is_named_once(self) -> None:
        layers = [self.reformat(NHWC8, NHWC8, "x", "a"), step("aa", "y")]
        assert [one.index for one in reformats(engine_of(layers, []))[0].consumers] == [1]

    @pytest.mark.parametrize("real", real_sets(having=["graph"]))
    def test_real_engines(self, real: Any) -> None:
        engine = real.engine()
        found = reformats(engine)
        kinds = [
            one for one in engine.layers if one.kind is LayerKind.REFORMAT and one.inputs and one.outputs
        ]
        assert {one.layer.index for one in found} == {one.index for one in kinds}
        times = [one.layer.latency_ms or 0 for one in found]
        assert times == sorted(times, reverse=True)
        for one in found:
            assert one.producers or one.layer.inputs[0].name in {tensor.name for tensor in engine.bindings}


def test_precision_of_an_opaque_block_with_inputs_of_several_types(tmp_path: Path) -> None:
    wide, half = tensor("a", 8, dtype="Float"), tensor("b", 4096, dtype="Half")
    out = [tensor("c", 8, dtype="Float")]
    layers = [
        layer("{ForeignNode[x...y]}", "Myelin", [wide, half], out),
        layer("{ForeignNode[u...v]}", "Myelin", [wide], out),
    ]
    write_graph(tmp_path / "net.graph.json", layers, ["a", "b"])
    assert [one.precision for one in load_engine(tmp_path).layers] == [None, DataType.FP32]


def test_names_alone_have_no_path_and_no_streams(tmp_path: Path) -> None:
    """Without tensors nothing links the layers: the longest path would be the slowest layer."""
    write_json(tmp_path / "net.graph.json", {"Layers": ["a", "b"], "Bindings": []})
    rows = [{"name": name, "timeMs": 10, "averageMs": 1.0, "percentage": 50} for name in "ab"]
    write_json(tmp_path / "net.profile.json", [{"count": 10}, *rows])
    engine = load_engine(tmp_path)
    assert engine.latency_sum_ms == 2.0
    assert critical_path(engine) is None
    assert describe_streams(engine) == "unknown: layer names only"
    assert numbers(engine)["structure"]["critical_path"] is None
    assert number_sentences(engine)["Compute"] == ["unknown: layer names only"]
