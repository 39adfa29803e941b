"""The sandwich: who feeds a layer and whom it feeds, what fits of it, and how it is drawn."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from helpers import layer, real_sets, tensor
from test_engine_properties import LAYERS, ROWS, engine_of
from trex_tui.old.analysis.dataflow import (
    Branch,
    Neighbour,
    Rest,
    fitted,
    list_consumers,
    list_producers,
    neighbourhood,
)
from trex_tui.old.artifacts.profile import ProfileRow
from trex_tui.old.widgets.neighbourhood import (
    ARROW,
    NOTHING_BEFORE,
    NOTHING_BEHIND,
    NOTHING_KNOWN,
    SLOT,
    Drawing,
    draw,
)


def net(**reads: str):
    """An engine of layers that write a tensor of their own name and read those of others; each takes 1 ms per place."""
    layers = [
        layer(name, "kgen", [tensor(one, 1) for one in sources.split()], [tensor(name, 1)])
        for name, sources in reads.items()
    ]
    return engine_of(
        layers, [ProfileRow(name, None, 1.0 + place, None, None) for place, name in enumerate(reads)]
    )


def names(root: Neighbour) -> dict[str, object]:
    return {one.layer.name + "=" * one.is_repeated: names(one) for one in root.behind}


DIAMOND = {"a": "", "b": "a", "c": "a", "d": "b c", "e": "d a"}


def test_both_sides_to_each_depth():
    engine = net(**DIAMOND)
    d = engine.layers[3]
    assert names(neighbourhood(engine, d, 1).producers) == {"b": {}, "c": {}}
    around = neighbourhood(engine, d, 2)
    assert names(around.producers) == {"b": {"a": {}}, "c": {"a=": {}}}
    assert names(around.consumers) == {"e": {}}


def test_a_layer_is_followed_where_it_is_nearest():
    engine = net(a="", b="a", c="b", d="c b", e="d")
    around = neighbourhood(engine, engine.layers[3], 3)
    assert names(around.producers) == {"b": {"a": {}}, "c": {"b=": {}}}


def test_several_tensors_between_two_layers_are_one_neighbour():
    writer = layer("writer", "kgen", [], [tensor("x", 1), tensor("y", 1)])
    reader = layer("reader", "kgen", [tensor("x", 1), tensor("y", 1), tensor("x", 1)], [])
    engine = engine_of([writer, reader], [])
    (one,) = list_producers(engine, engine.layers[1])
    assert (one.layer.name, one.tensors, one.is_loop) == ("writer", ("x", "y"), False)


def test_loops_are_marked_and_end():
    first = layer("first", "kgen", [tensor("state", 1)], [tensor("x", 1)])
    second = layer("second", "kgen", [tensor("x", 1)], [tensor("state", 1)])
    engine = engine_of([first, second], [])
    around = neighbourhood(engine, engine.layers[0], 3)
    assert names(around.producers) == {"second": {"first=": {}}}
    assert around.producers.behind[0].is_loop
    assert not around.consumers.behind[0].is_loop


# What fits


def shown(branch: Branch) -> object:
    inside = [shown(one) for one in branch.behind]
    if isinstance(branch.shown, Rest):
        return f"+{len(branch.shown.layers)}, {branch.shown.latency_ms} ms"
    name = branch.shown.layer.name
    return {name: inside} if inside else name


def test_the_slowest_stay_where_there_is_no_room_for_all():
    engine = net(a="", b="", c="", d="", e="a b c d")
    around = neighbourhood(engine, engine.layers[4], 1).producers
    assert shown(fitted(around, 4)) == {"e": ["a", "b", "c", "d"]}
    assert shown(fitted(around, 3)) == {"e": ["c", "d", "+2, 3.0 ms"]}
    assert shown(fitted(around, 1)) == {"e": ["+4, 10.0 ms"]}


def test_near_layers_go_before_far_ones():
    engine = net(a="", b="", c="a b", d="", e="c d")
    around = neighbourhood(engine, engine.layers[4], 2).producers
    assert shown(fitted(around, 3)) == {"e": [{"c": ["a", "b"]}, "d"]}
    assert shown(fitted(around, 2)) == {"e": [{"c": ["+2, 3.0 ms"]}, "d"]}


def count_layers(branch: Branch) -> int:
    own = len(branch.shown.layers) if isinstance(branch.shown, Rest) else 1
    return own + sum(map(count_layers, branch.behind))


@given(LAYERS.filter(bool), ROWS, st.integers(1, 3), st.integers(1, 7))
def test_nothing_is_lost_and_nothing_needs_more_room(layers, rows, depth, slots):
    engine = engine_of(layers, rows)
    one = engine.layers[-1]
    around = neighbourhood(engine, one, depth)
    for root, direct in (
        (around.producers, list_producers(engine, one)),
        (around.consumers, list_consumers(engine, one)),
    ):
        branch = fitted(root, slots)
        assert branch.slots <= slots
        first = [child.shown for child in branch.behind]
        told = [other.layer.index for other in first if isinstance(other, Neighbour)]
        told += [layer.index for rest in first if isinstance(rest, Rest) for layer in rest.layers]
        assert sorted(told) == [other.layer.index for other in direct]


# The drawing


def text(drawing: Drawing) -> list[str]:
    return [line.plain.rstrip() for line in drawing.lines]


def test_looks():
    engine = net(**DIAMOND)
    assert text(draw(neighbourhood(engine, engine.layers[3], 1), 48)) == [
        " ┌────────────────────┐  ┌────────────────────┐",
        " │ 1 b                │  │ 2 c                │",
        " │ myelin FP16 2.0000 │  │ myelin FP16 3.0000 │",
        " └──────────┬─────────┘  └──────────┬─────────┘",
        "            └───────────┬───────────┘",
        " ╔══════════════════════▼═════════════════════╗",
        " ║ 3 d                                        ║",
        " ║ myelin                      FP16 4.0000 ms ║",
        " ╚══════════════════════╤═════════════════════╝",
        "                        │",
        "  ┌─────────────────────▼────────────────────┐",
        "  │ 4 e                                      │",
        "  │ myelin                    FP16 5.0000 ms │",
        "  └──────────────────────────────────────────┘",
    ]


# Where each character of a connection leads: up, down, left, right.
LEADS = {
    "│": "ud", "┼": "udlr", "┤": "udl", "├": "udr", "┴": "ulr", "┬": "dlr",
    "┘": "ul", "└": "ur", "┐": "dl", "┌": "dr", "─": "lr", " ": "",
}  # fmt: skip


def check_connections(drawing: Drawing, width: int) -> None:
    """Between two levels every line goes on in both directions, from a way out of a box above to an arrow below."""
    grid = [line.plain for line in drawing.lines]
    bottoms = {box.level: box.region.bottom for box in drawing.boxes}
    for level, y in bottoms.items():
        if level + 1 not in bottoms:
            continue
        row = [LEADS[char] for char in grid[y]]
        for x, leads in enumerate(row):
            assert ("u" in leads) == (grid[y - 1][x] in "┬╤"), (x, y)
            assert ("d" in leads) == (grid[y + 1][x] == ARROW), (x, y)
            assert ("r" in leads) == (x + 1 < width and "l" in row[x + 1]), (x, y)
    for box in drawing.boxes:
        border = grid[box.region.y] if box.level > 0 else grid[box.region.bottom - 1]
        assert box.level == 0 or border[box.centre] in ("▼" if box.level > 0 else "┬")


def check(drawing: Drawing, width: int) -> None:
    assert {line.cell_length for line in drawing.lines} <= {max(width, SLOT)}
    if all(line.plain.isprintable() and cell_len(line.plain) == len(line.plain) for line in drawing.lines):
        check_connections(drawing, max(width, SLOT))
    assert [box.level for box in drawing.boxes] == sorted(box.level for box in drawing.boxes)
    assert drawing.boxes[drawing.middle].level == 0
    for number, box in enumerate(drawing.boxes):
        region = box.region
        assert (
            drawing.box_at(region.x, region.y)
            == number
            == drawing.box_at(region.right - 1, region.bottom - 1)
        )
        assert region.x < box.centre < region.right
        assert drawing.step(number, 0, 1) in (number, number + 1)
        assert abs(drawing.boxes[drawing.step(number, 1, 0)].level - box.level) <= 1


@given(LAYERS.filter(bool), ROWS, st.integers(1, 3), st.integers(1, 140))
def test_every_line_is_as_wide_as_asked_and_every_arrow_has_a_line(layers, rows, depth, width):
    engine = engine_of(layers, rows)
    for one in engine.layers:
        check(draw(neighbourhood(engine, one, depth), width, selected=0), width)


@pytest.mark.parametrize("real", real_sets(having=["graph"]))
def test_real_engines_are_drawn(real):
    engine = real.engine()
    for one in engine.layers[:: max(1, len(engine.layers) // 40)]:
        for width in (40, 78):
            drawing = draw(neighbourhood(engine, one, 3), width)
            check(drawing, width)


def test_what_is_missing_is_said():
    engine = net(a="", b="a")
    assert NOTHING_BEFORE in text(draw(neighbourhood(engine, engine.layers[0], 1), 60))[0]
    assert NOTHING_BEHIND in text(draw(neighbourhood(engine, engine.layers[1], 1), 60))[-1]
    names_only = load_names_only()
    drawn = text(draw(neighbourhood(names_only, names_only.layers[0], 1), 60))
    assert NOTHING_KNOWN in drawn[-1]
    assert NOTHING_BEFORE not in drawn[0]


def load_names_only():
    from dataclasses import replace

    engine = net(a="")
    return replace(engine, layers=(engine.layers[0]._replace(layer_type=None, outputs=()),))


def test_names_are_data_and_boxes_keep_their_width():
    evil = "[bold]\x1b[31m" + "層" * 40 + "\u202e/Conv"
    engine = net(**{evil: "", "b": evil})
    drawing = draw(neighbourhood(engine, engine.layers[1], 1), 50)
    assert "\x1b" not in "\n".join(text(drawing))
    assert "[bold]" in "\n".join(text(drawing))
    assert {cell_len(line.plain) for line in drawing.lines} == {50}
