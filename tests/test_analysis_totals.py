"""Live memory, totals of groups, critical path, reformats: by hand, at random against the definition, on real sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pytest

from helpers import (
    RealSet,
    layer,
    real_sets,
    tensor,
)
from trex_tui.analysis.columns import ALL_COLUMNS as COLUMNS
from trex_tui.analysis.memory import live_bytes, memory_facts, memory_totals
from trex_tui.analysis.structure import (
    compute_totals,
    critical_path,
    find_reformats,
    slowest,
)
from trex_tui.api import load_engine
from trex_tui.artifacts.metadata import Facts
from trex_tui.engine.frame import build_bindings, build_frames, build_queries
from trex_tui.engine.model import Engine
from trex_tui.frames import FLOAT, total

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


# Totals


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
