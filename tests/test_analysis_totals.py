"""Live memory, totals of groups, critical path, reformats: by hand, at random against the definition, on real sets."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from helpers import (
    ARTIFACTS,
    REPOSITORY,
    RealSet,
    layer,
    real_sets,
    tensor,
    write_json,
)
from trex_tui.analysis.columns import ALL_COLUMNS as COLUMNS
from trex_tui.analysis.memory import live_at, live_bytes, memory_facts, memory_totals
from trex_tui.analysis.structure import (
    compute_totals,
    critical_path,
    dla_facts,
    dla_times,
    find_reformats,
    find_transitions,
    slowest,
    stream_totals,
)
from trex_tui.api import load_engine
from trex_tui.artifacts.metadata import Facts
from trex_tui.engine.frame import build_bindings, build_frames, build_queries
from trex_tui.engine.model import Engine
from trex_tui.frames import FLOAT, plain_values, total

SIZES = {"a": 1, "b": 10, "c": 100, "d": 1000, "e": 10_000, "x": 7, "y": 9}
"""Bytes of a tensor, by name: so that a sum shows its parts. `x` and `y` are the network's."""
NHWC8 = "Channel major FP16 format where channel % 8 == 0"


def sized(name: str, size: int | None = None) -> dict[str, Any]:
    return tensor(name, SIZES.get(name, 50) if size is None else size, dtype="UInt8")


def step(reads: str, writes: str, layer_type: str = "kgen", **more: Any) -> dict[str, Any]:
    """A layer that reads and writes the tensors of these letters."""
    return layer("k", layer_type, [sized(name) for name in reads], [sized(name) for name in writes], **more)


def engine_of(layers: Sequence[dict[str, Any]], times: Sequence[float | None] = ()) -> Engine:
    """An engine in memory: hypothesis makes hundreds."""
    frame, tensors = build_frames(layers, ["x", "y"]) if layers else build_frames([layer("none")], [])
    known = [*times, *[None] * (len(frame) - len(times))]
    frame["latency_ms"] = frame["median_ms"] = pd.array(known, FLOAT)
    bindings = build_bindings(None, tensors, 0, ())
    names = pd.Series(["x", "y"], dtype=bindings["name"].dtype)
    bindings = bindings.reindex(range(2)).assign(name=names)
    return Engine(
        name="made",
        files={},
        layers=frame,
        tensors=tensors,
        bindings=bindings,
        queries=build_queries(None),
        facts=Facts(),
        columns=COLUMNS,
        attributes=list(layers),
        has_profile=bool(times),
    )


def live(*layers: dict[str, Any]) -> list[int]:
    return live_bytes(engine_of(layers)).tolist()


# Memory


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([step("x", "a"), step("a", "b"), step("b", "c"), step("c", "y")], [1, 11, 110, 100]),
        # A skip waits.
        (
            [step("x", "a"), step("a", "b"), step("b", "c"), step("ca", "d"), step("d", "y")],
            [1, 11, 111, 1101, 1000],
        ),
        # A name written anew is a new value; an update in place takes no memory of its own.
        ([step("x", "a"), step("a", "c"), step("c", "a"), step("a", "y")], [1, 101, 101, 1]),
        ([step("x", "c"), step("c", "c"), step("c", "cb"), step("cb", "y")], [100, 100, 110, 110]),
        # `b` is read before it is written: its value goes around a loop.
        (
            [step("x", "a"), step("ab", "c"), step("x", "d"), step("cd", "b"), step("x", "y")],
            [1, 111, 1110, 1110, 0],
        ),
        # What nobody reads lives for one layer.
        ([step("x", "ae"), step("a", "b"), step("b", "y")], [10_001, 11, 10]),
        # A NoOp is another name, of memory or of what the caller holds.
        (
            [
                step("x", "a"),
                layer("n", "NoOp", [sized("a")], [sized("v", 1)]),
                step("x", "c"),
                layer("r", "kgen", [sized("v", 1)], [sized("y")]),
            ],
            [1, 1, 101, 1],
        ),
        ([step("x", "b", "NoOp"), step("b", "a"), step("a", "y")], [0, 1, 1]),
        ([layer("k", "Constant", [], [sized("d")]), step("xdw", "a"), step("aw", "y")], [0, 1, 1]),
        # Parts of one tensor, behind a removed concat: whole from the first writer on.
        (
            [
                layer("l", "kgen", [sized("x")], [sized("c", 40)]),
                step("x", "a"),
                layer("r", "kgen", [sized("x")], [sized("c", 60)]),
                step("ca", "y"),
            ],
            [100, 101, 101, 101],
        ),
    ],
)
def test_live_bytes_by_hand(layers: list[dict[str, Any]], expected: list[int]) -> None:
    assert live(*layers) == expected


def test_the_peak_and_what_is_alive_there() -> None:
    engine = engine_of([step("x", "a"), step("a", "b"), step("b", "c"), step("c", "y")])
    facts = memory_facts(engine)
    assert (facts.activation_peak_bytes, facts.peak_layer, facts.is_peak_at_least) == (110, 2, False)
    assert live_at(engine, 2)[["name", "first", "last"]].to_numpy().tolist() == [["c", 2, 3], ["b", 1, 2]]


def test_an_unknown_size_makes_the_peak_a_lower_bound() -> None:
    dynamic = layer("d", "kgen", [sized("x")], [sized("e", -1)])
    reader = layer("r", "kgen", [sized("e", -1), sized("a")], [sized("y")])
    facts = memory_facts(engine_of([step("x", "a"), dynamic, reader]))
    assert (facts.activation_peak_bytes, facts.is_peak_at_least, facts.tensors_of_unknown_size) == (
        1,
        True,
        1,
    )
    nothing = memory_facts(engine_of([dynamic]))
    assert (nothing.activation_peak_bytes, nothing.peak_layer, nothing.is_peak_at_least) == (
        None,
        None,
        False,
    )


def test_a_constant_of_several_layers_counts_once() -> None:
    """As the time steps of an LSTM use the same weights."""
    matrix = [tensor("x", 4, 8), tensor("w", 8, 4)]
    engine = engine_of([layer("g", "gemm", matrix, [tensor(name, 4, 4)]) for name in ("a", "b", "y")])
    assert engine.layers["weights_bytes"].tolist() == [64, 64, 64]
    assert memory_facts(engine).weights_bytes == 64


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_memory_of_real_engines(real: RealSet) -> None:
    engine = load_engine(real.path("graph"))
    facts, live, totals = memory_facts(engine), live_bytes(engine), memory_totals(engine)
    assert totals["layers"].sum() == len(engine)
    if engine.has_names_only:
        assert (facts.activation_peak_bytes, facts.weights_bytes) == (None, None)
        return
    assert facts.activation_peak_bytes == live.max() == live[facts.peak_layer]
    written = engine.tensors[
        engine.tensors["role"].eq("output") & ~engine.tensors["name"].isin(engine.bindings["name"])
    ]
    moving = engine.layers["kind"].isin(["constant", "noop"])
    assert facts.activation_peak_bytes >= written["allocated_bytes"][~written["layer"].map(moving)].max()


@pytest.mark.skipif(not (ARTIFACTS / "rtx").is_dir(), reason="no real artifacts")
@pytest.mark.parametrize(
    ("name", "constants"),
    [("conv3d.rtx-sm89", 62_000), ("lstm.rtx-sm89", 2_390_088), ("gpt2l_fp8.rtx-sm89", 8_593_508)],
)
def test_weights_of_real_logs_are_those_they_state(name: str, constants: int) -> None:
    facts = memory_facts(load_engine(ARTIFACTS / "rtx" / f"{name}.log"))
    assert facts.weights_bytes == constants
    assert facts.is_traffic_at_least == name.startswith("lstm")


# Totals


def test_totals_say_what_they_leave_out() -> None:
    layers = [step("x", "a"), step("a", "b", "Reformat"), step("b", "c"), step("c", "y")]
    engine = engine_of(layers, [1.0, 4.0, None, 2.0])
    table = compute_totals(engine, "layer_type")
    assert table["layer_type"].tolist() == ["Reformat", "kgen"]
    assert table["layers"].tolist() == [1, 3]
    assert table["unmeasured"].tolist() == [0, 1]
    assert table["latency_ms"].tolist() == [4.0, 3.0]
    assert table["latency_pct"].sum() == pytest.approx(100)
    some = compute_totals(engine, "layer_type", rows=engine.layers["latency_ms"].gt(1.5).fillna(False))
    assert plain_values(some["latency_pct"]) == pytest.approx([400 / 7, 200 / 7])
    assert plain_values(compute_totals(engine_of(layers), "layer_type")["latency_ms"]) == [None, None]


def test_groups_with_the_same_first_value_are_adjacent() -> None:
    types = [("kgen", 0), ("Reformat", 0), ("kgen", 1), ("Reformat", 1)]
    layers = [step("x", "a", layer_type, StreamId=stream) for layer_type, stream in types]
    table = compute_totals(engine_of(layers, [1.0, 4.0, 5.0, 1.5]), "layer_type", "stream")
    order = list(zip(table["layer_type"], table["stream"], table["latency_ms"], strict=True))
    assert order == [("kgen", 1, 5.0), ("kgen", 0, 1.0), ("Reformat", 0, 4.0), ("Reformat", 1, 1.5)]


@pytest.mark.parametrize("real", real_sets(having=["graph", "profile"]))
def test_totals_of_real_engines_are_sums_of_the_profile(real: RealSet) -> None:
    engine = load_engine(real.paths())
    for keys in (
        ["kind"],
        ["precision"],
        ["kind", "precision"],
        ["tactic_library", "accumulate_type", "stream"],
    ):
        table = compute_totals(engine, *keys)
        assert table["layers"].sum() == len(engine)
        assert total(table["latency_ms"]) == pytest.approx(total(engine.layers["latency_ms"]))
        assert table["unmeasured"].sum() == engine.layers["latency_ms"].isna().sum()
    assert slowest(engine, 1)[0] == engine.layers["latency_ms"].fillna(0).argmax()


# Critical path


def path_of(layers: list[dict[str, Any]], times: Sequence[float | None]) -> tuple[Any, ...] | None:
    path = critical_path(engine_of(layers, times))
    return None if path is None else (list(path.layers), path.latency_ms, pytest.approx(path.latency_pct))


BRANCHES = [step("x", "a"), step("a", "b"), step("a", "c"), step("c", "d"), step("bd", "y")]


@pytest.mark.parametrize(
    ("layers", "times", "expected"),
    [
        ([step("x", "a"), step("a", "b"), step("b", "y")], [1, None, 2], ([0, 1, 2], 3, 100)),
        (BRANCHES, [1, 5, 2, 2, 1], ([0, 1, 4], 7, 100 * 7 / 11)),
        (BRANCHES, [1, 3, 2, 2, 1], ([0, 2, 3, 4], 6, 100 * 6 / 9)),
        # It need not reach the end; loops are left out; all who write a tensor lead to its reader.
        ([step("x", "a"), step("x", "b"), step("a", "y")], [1, 9, 1], ([1], 9, 900 / 11)),
        ([step("xc", "a"), step("a", "b"), step("b", "c")], [1, 2, 3], ([0, 1, 2], 6, 100)),
        ([step("x", "a"), step("x", "a"), step("a", "y")], [5, 1, 1], ([0, 2], 6, 600 / 7)),
        ([step("x", "y")], [0.0], None),
    ],
)
def test_critical_paths_by_hand(
    layers: list[dict[str, Any]], times: list[float | None], expected: tuple[Any, ...] | None
) -> None:
    assert path_of(layers, times) == expected


@pytest.mark.parametrize("real", real_sets(having=["graph", "profile"]))
def test_critical_paths_of_real_engines(real: RealSet) -> None:
    engine = load_engine(real.paths())
    path = critical_path(engine)
    assert path is not None
    assert engine.layers["latency_ms"].max() <= path.latency_ms <= (engine.latency_sum_ms or 0) * (1 + 1e-12)
    assert set(pairwise(path.layers)) <= set(zip(engine.links["source"], engine.links["target"], strict=True))


# Reformats and devices


def reformat(source: str, target: str, reads: str, writes: str, **more: Any) -> dict[str, Any]:
    ends = [tensor(reads, 1, 8, 4, 4, dtype=source)], [tensor(writes, 1, 8, 4, 4, dtype=target)]
    return layer("r", "Reformat", *ends, ParameterType="Reformat", **more)


def test_reformats_and_their_neighbours() -> None:
    layers = [
        reformat("Row major linear FP32", NHWC8, "x", "a"),
        step("aa", "b"),
        reformat(NHWC8, "Row major linear FP16 format", "b", "c"),
        step("c", "d"),
        step("c", "y"),
        reformat(NHWC8, "Row major Int8 format", "x", "z", Origin="QDQ"),
    ]
    table = find_reformats(engine_of(layers, [1.0, 9.0, 3.0]))
    assert table.drop(columns="latency_ms").to_numpy().tolist() == [
        [2, "FP16 NHWC8", "FP16 NCHW", False, (1,), (3, 4)],
        [0, "FP32 NCHW", "FP16 NHWC8", True, (), (1,)],
    ]
    assert table["latency_ms"].tolist() == [3.0, 1.0]


def test_streams_and_devices() -> None:
    streams = [
        step("x", "a", StreamId=0),
        step("a", "b", StreamId=1),
        step("b", "y", StreamId=0),
        step("x", "c"),
    ]
    table = stream_totals(engine_of(streams, [1.0, 5.0, 2.0, 9.0]))
    assert table[["stream", "layers", "latency_ms"]].to_numpy().tolist() == [[1, 1, 5.0], [0, 2, 3.0]]
    mixed = [step("x", "ab"), step("ab", "c", "DLA"), step("c", "d", "DLA"), step("d", "y")]
    assert find_transitions(engine_of(mixed)).to_numpy().tolist() == [[0, 1, "a"], [0, 1, "b"], [2, 3, "d"]]


def test_use_of_the_dla(tmp_path: Path) -> None:
    names = ["data to nvm", "{conv1,relu1}", "conv1 copy finish", "p from nvm", "big"]
    names += ["mid + act", "q to nvm", "{conv2,relu2,pool2}", "out from nvm", "conv3", "conv4", "conv5"]
    times = [0.1, 0.2, 0.01, 9.0, 0.1, 0.5, 0.1, 0.3, 0.1, 0.2, 0.2, 0.2]
    rows = [
        {"name": name, "timeMs": time * 10, "averageMs": time, "percentage": 1}
        for name, time in zip(names, times, strict=True)
    ]
    write_json(tmp_path / "net.profile.json", [{"count": 10}, *rows])
    engine = load_engine(tmp_path)
    facts, blocks = dla_facts(engine), dla_times(engine)
    assert facts is not None
    assert (facts.blocks, facts.crossings) == (2, 4)
    assert blocks["layer"].tolist() == [1, 7]
    assert blocks["operators"].tolist() == [2, 3]
    assert blocks["wait"].tolist()[0] == 3
    assert blocks["execution_ms"].tolist()[0] == pytest.approx(9.2)
    assert facts.dla_ms == pytest.approx(9.2 + total(blocks["execution_ms"][1:]))
    assert facts.dla_ms + (facts.gpu_ms or 0) == pytest.approx(sum(times))
    assert dla_facts(load_engine(REPOSITORY / "sample_artifacts" / "alexnet")) is None
