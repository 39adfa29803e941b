"""Time by what the network was made of: nothing is lost, nothing counts twice."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import examples, layer, real_sets, write_graph, write_profile
from trex_tui.old.analysis.modules import (
    NO_NODE,
    Group,
    Grouping,
    Share,
    arrange,
    by_module,
    by_onnx_node,
    describe_fusion,
    fused_over_modules,
    module_of_name,
    module_path,
)
from trex_tui.old.analysis.structure import by_stream, total_by_kind, total_by_precision
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.layer_info import LayerInfo
from trex_tui.old.artifacts.metadata import Metadata
from trex_tui.old.artifacts.profile import Profile, ProfileRow
from trex_tui.old.artifacts.records import Records
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.report.charts.module_charts import build_blocks
from trex_tui.old.report.charts.svg_painter import picture


def engine_of(layers: list[dict[str, Any]], times: list[float | None]) -> Engine:
    rows = [ProfileRow(raw["Name"], None, time, None, None) for raw, time in zip(layers, times, strict=False)]
    source = ArtifactSet("made", Path(), {})
    info, profile = LayerInfo(tuple(layers), ()), Profile(tuple(rows), 1)
    return Engine.from_records(Records(source, info, profile, None, Metadata(), None, ()))


def of_nodes(name: str, *nodes: str, **more: Any) -> dict[str, Any]:
    return layer(name, "kgen", Metadata="\x1e".join(f"[ONNX Layer: {node}]" for node in nodes), **more)


@pytest.fixture
def engine() -> Engine:
    layers = [
        of_nodes("fused", "/block1/conv/Conv", "/block1/relu/Relu"),
        of_nodes("bridge", "/block1/conv/Conv", "/block2/add/Add", "/block2/mul/Mul"),
        of_nodes("reformat"),
        of_nodes("not profiled", "/block3/Conv"),
    ]
    return engine_of(layers, [8.0, 3.0, 1.0])


def test_a_fused_layer_is_shared_equally(engine: Engine) -> None:
    assert by_onnx_node(engine) == [
        Share("/block1/conv/Conv", 5.0, 2),
        Share("/block1/relu/Relu", 4.0, 1),
        Share(NO_NODE, 1.0, 1),
        Share("/block2/add/Add", 1.0, 1),
        Share("/block2/mul/Mul", 1.0, 1),
        Share("/block3/Conv", None, 1),
    ]


def test_each_layer_counts_once_in_the_module_of_its_first_node(engine: Engine) -> None:
    assert by_module(engine) == [Share("block1", 11.0, 2), Share("", 1.0, 1), Share("block3", None, 1)]
    assert [share.name for share in by_module(engine, depth=2)] == ["block1/conv", "", "block3"]
    assert fused_over_modules(engine.layers) == [engine.layers[1]]
    assert describe_fusion(engine.layers) == (
        "Each layer counts once, in the module of its first ONNX node; "
        "1 layer of 3.0000 ms has nodes in other outermost modules too."
    )
    assert describe_fusion(engine.layers[:1]) is None


def test_without_metadata_the_names_tell_the_module() -> None:
    made = engine_of([layer("/stem/conv/Conv + /stem/relu/Relu", "kgen")], [2.0])
    assert by_onnx_node(made) == [Share(NO_NODE, 2.0, 1)]
    assert by_module(made) == [Share("stem", 2.0, 1)]


def test_without_a_profile(tmp_path: Path) -> None:
    made = load_engine(write_graph(tmp_path / "net.graph.json", [of_nodes("a", "/m/Conv")]))
    assert by_onnx_node(made) == [Share("/m/Conv", None, 1)]
    assert by_module(made) == [Share("m", None, 1)]


def test_a_profile_alone(tmp_path: Path) -> None:
    write_profile(tmp_path / "net.profile.json", [("/m/Conv", 1.0), ("/n/Conv", 2.0)])
    made = load_engine(tmp_path)
    assert by_module(made) == [Share("n", 2.0, 1), Share("m", 1.0, 1)]


_STEPS = st.sampled_from(["a", "b", "ab", "a", "conv_1", "", "a.0", "x y", "é", "-"])


@given(st.lists(_STEPS, min_size=1, max_size=5), st.booleans())
@settings(max_examples=examples(300))
def test_the_outermost_module_is_the_first_of_the_path(steps: list[str], is_absolute: bool) -> None:
    name = "/" * is_absolute + "/".join(steps)
    (share,) = by_module(engine_of([layer(name, "kgen")], [1.0]))
    assert share.name == "/".join(module_of_name(name)[:1])


def sums_add_up(engine: Engine) -> None:
    whole = engine.latency_sum_ms
    groups: list[Any] = [total_by_kind(engine), total_by_precision(engine), by_stream(engine)]
    modules = [by_module(engine, depth) for depth in range(1, 5)]
    assert all(sum(row.layers for row in rows) == len(engine.layers) for rows in modules)
    shares = [by_onnx_node(engine), *modules]
    for rows in (*groups, *shares):
        times = [row.latency_ms for row in rows if row.latency_ms is not None]
        assert all(time >= 0 for time in times)
        if whole is None:
            assert times == []
        else:
            assert math.fsum(times) == pytest.approx(whole, rel=1e-9, abs=0)
    for rows in groups:
        assert sum(row.layers for row in rows) == len(engine.layers)
    for rows in shares:
        assert sum(row.layers for row in rows) >= len(engine.layers)
        assert len({row.name for row in rows}) == len(rows)


@pytest.mark.parametrize("real", real_sets())
def test_sums_of_real_engines(real: Any) -> None:
    engine = real.engine()
    sums_add_up(engine)
    tree_and_chart_say_the_same(engine)


def tree_and_chart_say_the_same(engine: Engine) -> None:
    """The table of modules has the numbers of the tree, and of the blocks that the chart has room for."""
    rows = {share.name: share for share in by_module(engine)}
    groups = [one for one in arrange(engine.layers, Grouping.MODULE).entries if isinstance(one, Group)]
    for group in groups:
        row = rows[group.path[0]]
        assert (len(group.layers), group.latency_ms) == (row.layers, row.latency_ms)
    figure = picture("icicle", engine)
    if engine.latency_sum_ms:
        blocks = build_blocks(engine.layers, 10**6, None, is_timed=True).inside
        found = {block.label: block.size for block in blocks}
        for group in groups:
            if group.name in found:
                assert found[group.name] == group.latency_ms
    no_modules = "No modules in these layer names."
    assert (no_modules in figure.missing) == (set(rows) <= {""})


PARTS = st.sampled_from(["a", "b", "layer1", "layer1.0", "", "Conv", "x y", "[", ", ", " + "])
NODES = st.lists(PARTS, min_size=1, max_size=6).map(lambda parts: "/" + "/".join(parts))
RANDOM_LAYERS = st.lists(
    st.builds(
        lambda name, nodes, stream: of_nodes(name, *nodes, StreamId=stream),
        st.sampled_from(["a", "b", "/m/n/Conv", "Reformatting CopyNode for Input Tensor 0 to /m/n/Conv"]),
        st.lists(NODES, max_size=5),
        st.one_of(st.none(), st.integers(0, 3)),
    ),
    max_size=12,
)
TIMES = st.lists(st.one_of(st.none(), st.just(0.0), st.floats(1e-6, 1e6)), max_size=12)


@given(RANDOM_LAYERS, TIMES)
@settings(max_examples=examples(200))
def test_sums_of_random_engines(layers: list[dict[str, Any]], times: list[float | None]) -> None:
    sums_add_up(engine_of(layers, times))


PATHS = ["/a/conv", "/a/b/a", "/conv", "//x", "/a//", "/a/", "/enc/enc", "a/b/c", "/b-1/c_2/d", "/a/ba"]


@settings(max_examples=examples(200))
@given(
    st.lists(st.sampled_from(PATHS), min_size=1, max_size=8),
    st.lists(
        st.sampled_from(["", "plain", "/a/b + /c/d", "/é/b", "/a/x\n/b/y", "a.b.c", "\ud800/x"]), max_size=2
    ),
)
def test_time_by_module_is_that_of_the_module_of_each_layer(paths: list[str], others: list[str]) -> None:
    """Names of which all, or only some, are plain paths: two ways to the same groups."""
    engine = engine_of(
        [layer(name, "kgen") for name in (*paths, *others)], [1.0] * (len(paths) + len(others))
    )
    expected: dict[str, int] = {}
    for one in engine.layers:
        name = "/".join(module_path(one)[:1])
        expected[name] = expected.get(name, 0) + 1
    assert {share.name: share.layers for share in by_module(engine)} == expected
