"""The tree of layers: every layer once, whatever they are grouped by."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from test_engine_properties import LAYERS, ROWS, engine_of

from helpers import OLD_SAMPLES, layer, real_sets
from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME
from trex_tui.old.analysis.modules import (
    NO_NODE,
    Group,
    Grouping,
    arrange,
    label_of_name,
    layer_label,
    module_of_name,
    ordered_entries,
)
from trex_tui.old.artifacts.profile import ProfileRow
from trex_tui.old.engine.engine import Engine, load_engine
from trex_tui.old.engine.model import Layer

SEPARATOR = "\x1e"


def from_nodes(name: str, *nodes: str, **more):
    return layer(name, "kgen", Metadata=SEPARATOR.join(f"[ONNX Layer: {node}]" for node in nodes), **more)


def timed(layers, *times):
    rows = [ProfileRow(one["Name"], None, time, None, None) for one, time in zip(layers, times, strict=True)]
    return engine_of(layers, rows)


def layers_below(group: Group) -> list[Layer]:
    found: list[Layer] = []
    for entry in group.entries:
        found += [entry] if isinstance(entry, Layer) else layers_below(entry)
    return found


def outline(group: Group, grouping: Grouping) -> list[object]:
    """Names of the layers, and of the groups with what is in them."""
    return [
        layer_label(one, grouping, len(group.path))
        if isinstance(one, Layer)
        else {one.name: outline(one, grouping)}
        for one in group.entries
    ]


def check_whole(engine: Engine, grouping: Grouping) -> None:
    layers = engine.layers
    root = arrange(layers, grouping, engine)
    assert sorted(one.index for one in layers_below(root)) == [one.index for one in layers]
    times = [one.latency_ms for one in root.entries if one.latency_ms is not None]
    assert (root.latency_ms is None) == (not times)
    assert math.fsum(times) == pytest.approx(root.latency_ms or 0.0)


def test_groups_by_bound_kernel_and_shape_have_the_values_of_the_columns():
    engine = load_engine(OLD_SAMPLES / "alexnet")
    for grouping, column in (
        (Grouping.BOUND, "bound"),
        (Grouping.KERNEL, "tactic_family"),
        (Grouping.SHAPE, "output_shapes"),
    ):
        values = [value or "unknown" for value in ALL_COLUMNS_BY_NAME[column].values(engine)]
        groups = ordered_entries(arrange(engine.layers, grouping, engine), grouping, by_latency=False)
        assert {group.name: len(group.layers) for group in groups} == Counter(values)
        times = [group.latency_ms for group in groups]
        assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("grouping", Grouping)
@given(LAYERS, ROWS)
def test_every_layer_stands_in_one_place_and_sums_add_up(grouping, layers, rows):
    check_whole(engine_of(layers, rows), grouping)


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_real_engines_are_whole_in_every_grouping(real):
    engine = real.engine()
    for grouping in Grouping:
        check_whole(engine, grouping)


def test_layers_of_several_onnx_nodes_stand_under_the_first():
    layers = [
        from_nodes("conv", "/a/Conv", "/a/Relu", "/a/Add"),
        from_nodes("split 1", "/b/Split"),
        from_nodes("split 2", "/b/Split", "/b/Cast"),
        layer("Reformatting CopyNode", "Reformat"),
        layer("another", "Reformat"),
    ]
    root = arrange(timed(layers, 1.0, 2.0, 4.0, 8.0, 16.0).layers, Grouping.ONNX)
    assert outline(root, Grouping.ONNX) == [
        "/a/Conv +2",
        {"/b/Split": ["split 1", "split 2 +1"]},
        {NO_NODE: ["Reformatting CopyNode", "another"]},
    ]
    assert [one.latency_ms for one in root.entries] == [1.0, 6.0, 24.0]


def test_streams_tell_the_device_where_it_is_known():
    layers = [
        layer("a", "CaskConvolution", StreamId=0),
        layer("b", "CaskConvolution", StreamId=1),
        layer("c", "CaskConvolution", StreamId=0),
    ]
    engine = engine_of(layers, [])
    names = [one.name for one in arrange(engine.layers, Grouping.STREAM).entries if isinstance(one, Group)]
    assert [name.split(", ")[-1] for name in names] == ["stream 0", "stream 1"]
    unknown = arrange(engine_of([], [ProfileRow("a", None, 1.0, None, None)]).layers, Grouping.STREAM)
    assert not unknown.entries


def test_execution_order_has_no_groups():
    engine = engine_of([layer("a/b"), layer("a/c")], [])
    assert list(arrange(engine.layers, Grouping.ORDER).entries) == list(engine.layers)


def test_kinds_stand_by_time_and_modules_by_execution_unless_asked():
    engine = timed([layer("x/a", "kgen"), layer("y/b", "gemm")], 1.0, 2.0)
    for grouping, by_latency, expected in [
        (Grouping.KIND, False, [2.0, 1.0]),
        (Grouping.STREAM, True, [3.0]),
        (Grouping.MODULE, False, [1.0, 2.0]),
        (Grouping.MODULE, True, [2.0, 1.0]),
    ]:
        root = arrange(engine.layers, grouping)
        assert [one.latency_ms for one in ordered_entries(root, grouping, by_latency=by_latency)] == expected


def test_a_pointwise_of_a_pointwise_is_no_module():
    name = "Reformatting CopyNode for Input Tensor 0 to PWN(PWN(/input_blocks.1/0/Sigmoid), /input_blocks.1/0/Mul)"
    assert module_of_name(name) == module_of_name("/input_blocks.1/0/Sigmoid")


def test_names_of_tensorrt_keep_their_parentheses():
    assert module_of_name("(Unnamed Layer* 354) [Shuffle]") == ()
    label = label_of_name("fc.weight + Gemm_305 + (Unnamed Layer* 354) [Shuffle]", "fc.weight", 0)
    assert label == "fc/weight + Gemm_305 + (Unnamed Layer* 354) [Shuffle]"
