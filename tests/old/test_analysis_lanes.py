"""Lanes beside the layers: what is drawn is what is linked, no more and no less."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_engine_properties import engine_of

from helpers import chain, layer, real_sets, tensor
from trex_tui.old.analysis.dataflow import ALONE, LAYER, LOOP, SHARED, Lanes, draw_lanes, layer_lanes
from trex_tui.old.engine.model import Layer

JOINED = "├└┼┴┤┘╢╜"
ENDING = "└┴┘╜"
PLENTY = 99


@st.composite
def graphs(draw):
    count = draw(st.integers(0, 14))
    pairs = [(low, high) for high in range(count) for low in range(high)]
    return count, draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []


def cells(lanes: Lanes, row: int) -> dict[int, str]:
    return {lane: char for lane, char in enumerate(lanes.rows[row][::2]) if char != " "}


def place_of(lanes: Lanes, row: int) -> int:
    (lane,) = (lane for lane, char in cells(lanes, row).items() if char in LAYER + ALONE + LOOP)
    return lane


def is_connected(lanes: Lanes, row: int, first: int, last: int) -> bool:
    """Whether the line between two lanes has no gap: it may pass behind a lane, and through joints."""
    low, high = sorted((first, last))
    between = lanes.rows[row][2 * low + 1 : 2 * high]
    return all(char in "─│║" + JOINED for char in between) and set(between[::2]) == {"─"}


def readers_drawn(lanes: Lanes, source: int) -> set[int]:
    """The rows that a person finds who follows the lane of a row down with a finger."""
    lane, found = place_of(lanes, source), set()
    for row in range(source + 1, len(lanes.rows)):
        char = cells(lanes, row).get(lane)
        if char is None or char == "─":
            return found
        if char in LAYER + LOOP:
            return found | {row}
        if char == ALONE:
            return found
        if char in JOINED:
            assert is_connected(lanes, row, lane, place_of(lanes, row))
            found.add(row)
        if char in ENDING:
            return found
    return found


def readers_linked(links, source):
    return {target for start, target in links if start == source}


@given(graphs())
def test_every_link_is_a_path_and_every_path_is_a_link(graph):
    count, links = graph
    lanes = draw_lanes(count, links, PLENTY)
    assert lanes.shared == 0
    for row in range(count):
        expected = readers_linked(links, row)
        assert (readers_drawn(lanes, row) if expected else set()) == expected
        if not expected:
            below = cells(lanes, row + 1).get(place_of(lanes, row)) if row + 1 < count else None
            assert below is None or below in LAYER + ALONE + "─", "nothing hangs below a layer nobody reads"


@given(graphs(), st.integers(0, 3))
def test_with_few_lanes_those_that_are_drawn_are_still_exact(graph, most):
    count, links = graph
    lanes = draw_lanes(count, links, most)
    own = draw_lanes(count, links, PLENTY)
    assert max((len(row) for row in lanes.rows), default=0) <= 2 * most + 1
    assert (lanes.shared == 0) == all(
        place_of(lanes, row) < most or not readers_linked(links, row) for row in range(count)
    )
    for row in range(count):
        expected = readers_linked(links, row)
        if expected and place_of(lanes, row) < most:
            assert readers_drawn(lanes, row) == expected
        elif expected:
            # In the shared lane a path leads to each reader, perhaps past the readers of others.
            lane = place_of(lanes, row)
            for target in expected:
                assert all(cells(lanes, between).get(lane) for between in range(row + 1, target + 1))
                assert is_connected(lanes, target, lane, place_of(lanes, target)) or lane == place_of(
                    lanes, target
                )
    if lanes.shared == 0 and all(place_of(own, row) < most for row in range(count)):
        assert lanes.rows == own.rows


@given(graphs())
def test_rows_are_as_wide_as_they_say(graph):
    lanes = draw_lanes(*graph, 2)
    assert {len(row) for row in lanes.rows} <= {lanes.width}
    assert all(len(one) == 1 for row in lanes.rows for one in row)


def test_looks():
    links = [(0, 1), (0, 3), (1, 2), (2, 3), (3, 4), (3, 5), (3, 6), (4, 6), (5, 6)]
    assert [row.rstrip() for row in draw_lanes(8, links, 5).rows] == [
        "●",
        "├─●",
        "│ ●",
        "●─┘",
        "├─●",
        "├─│─●",
        "●─┴─┘",
        "○",
    ]


def test_too_wide_a_graph_says_so():
    links = [(start, 4) for start in range(4)]
    lanes = draw_lanes(5, links, 2)
    assert lanes.shared == 2
    assert [row.rstrip() for row in lanes.rows] == ["●", "│ ●", "│ │ ●", "│ │ ●", "●─┴─╜"]
    lanes = draw_lanes(6, [(0, 5), (1, 5), (2, 5), (3, 4), (4, 5)], 2)
    assert lanes.rows[4] == f"│ ● {SHARED}", "what ends soon has a lane of its own"


def test_layers_left_out_take_their_links_along():
    engine = engine_of(chain("a", "b", "c"), [])
    assert layer_lanes(engine, engine.layers, 4).rows == ("●", "●", "●")
    assert layer_lanes(engine, [engine.layers[0], engine.layers[2]], 4).rows == ("○", "○")
    assert layer_lanes(engine, [], 4) == Lanes((), 0, 0)


def test_links_of_the_iteration_before_are_marked():
    first = layer("first", "kgen", [tensor("state", 1)], [tensor("x", 1)])
    second = layer("second", "kgen", [tensor("x", 1)], [tensor("state", 1)])
    engine = engine_of([first, second, layer("other", "kgen")], [])
    assert layer_lanes(engine, engine.layers, 4).rows == (LOOP, LOOP, ALONE)


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_real_engines_are_drawn_whole(real):
    engine = real.engine()
    lanes = layer_lanes(engine, engine.layers, PLENTY)
    links: dict[int, set[int]] = {}
    for link in engine.links:
        if not link.is_loop:
            links.setdefault(link.source, set()).add(link.target)
    layers: tuple[Layer, ...] = engine.layers
    assert len(lanes.rows) == len(layers)
    for source, targets in links.items():
        assert readers_drawn(lanes, source) == targets
