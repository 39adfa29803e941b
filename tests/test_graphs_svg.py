"""The layout of our own, and the picture made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_cases import HOSTILE, chain_of, names_only_engine, reusing_engine
from helpers import RealSet, examples, real_sets
from trex_tui.engine import Engine, load_engine
from trex_tui.report.graph.engine_graph import GraphOptions, build_graph
from trex_tui.report.graph.graph_svg import write_svg
from trex_tui.report.graph.layout import GAP, layered, middles, spread
from trex_tui.report.graph.model import EngineGraph
from trex_tui.text import printable

SVG = "{http://www.w3.org/2000/svg}"
DRAWN = {"svg", "title", "style", "defs", "marker", "path", "rect", "g", "text"}

edges_of_boxes = st.integers(1, 40).flatmap(
    lambda boxes: st.tuples(
        st.just(boxes),
        st.lists(st.tuples(st.integers(0, boxes - 1), st.integers(0, boxes - 1)), max_size=80),
    )
)


@settings(max_examples=examples(30))
@given(edges_of_boxes)
def test_rows_hold_everything_once_and_run_downwards(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    boxes, edges = drawn
    layering = layered(boxes, edges)
    placed = [number for row in layering.rows for number in row]
    assert sorted([*placed, *layering.alone]) == list(range(len(layering.row_of)))
    assert all(layering.row_of[one] == row for row, row_of in enumerate(layering.rows) for one in row_of)
    assert sorted([*layering.chains, *layering.beside]) == list(range(len(edges)))
    for number, (source, target) in enumerate(edges):
        if number in layering.chains:
            chain = layering.chains[number]
            assert (chain[0], chain[-1]) == (source, target)
            assert all(
                layering.row_of[lower] == layering.row_of[upper] + 1 for upper, lower in pairwise(chain)
            )
            assert all(piece >= boxes for piece in chain[1:-1])
        else:
            assert source >= target, "only loops run beside the rows of a small graph"
    assert layered(boxes, edges) == layering


@settings(max_examples=examples(30))
@given(edges_of_boxes, st.integers(10, 300))
def test_boxes_of_a_row_never_overlap(drawn: tuple[int, list[tuple[int, int]]], width: int) -> None:
    layering = layered(*drawn)
    widths = [float(width + 10 * (box % 3)) for box in range(drawn[0])]
    x = middles(layering, widths)
    wide = [*widths, *[0.0] * (len(x) - len(widths))]
    for row in layering.rows:
        for left, right in pairwise(row):
            assert x[right] - x[left] >= (wide[left] + wide[right]) / 2 + GAP - 1e-6


numbers = st.floats(-1e4, 1e4)


@settings(max_examples=examples(30))
@given(st.lists(st.tuples(numbers, st.floats(0.1, 10.0), st.floats(0, 50)), min_size=1, max_size=12))
def test_spread_is_the_nearest_that_keeps_the_gaps(rows: list[tuple[float, float, float]]) -> None:
    wanted, weights, widths = (list(one) for one in zip(*rows, strict=True))
    found = spread(wanted, weights, widths, 5.0)
    gaps = [(widths[i] + widths[i + 1]) / 2 + 5.0 for i in range(len(rows) - 1)]
    assert all(b - a >= gap - 1e-6 for (a, b), gap in zip(pairwise(found), gaps, strict=True))
    # Optimal: each group of boxes that touch stands at the weighted mean of what its boxes want.
    start = 0
    for end in range(1, len(rows) + 1):
        if end == len(rows) or found[end] - found[end - 1] > gaps[end - 1] + 1e-6:
            pull = sum(weights[i] * (wanted[i] - found[i]) for i in range(start, end))
            assert abs(pull) < 1e-3 * max(1.0, sum(weights[start:end]))
            start = end


def test_what_touches_pulls_evenly() -> None:
    assert spread([0, 0, 0], [1, 1, 1], [10, 10, 10], 2) == [-12, 0, 12]
    assert spread([0, 100], [1, 1], [10, 10], 2) == [0, 100]
    assert spread([0, 0], [3, 1], [10, 10], 2) == [-3, 9]


def test_too_many_long_arrows_run_beside_the_rows() -> None:
    """A chain with an arrow from every box to the last: cut into pieces, they would grow with the square."""
    boxes = 1500
    edges = [(box, box + 1) for box in range(boxes - 1)] + [(box, boxes - 1) for box in range(boxes - 2)]
    layering = layered(boxes, edges)
    assert len(layering.row_of) <= boxes + 1000 + 4 * boxes
    assert len(layering.beside) > 1000
    spans = {number: edges[number][1] - edges[number][0] for number in range(len(edges))}
    assert min(spans[one] for one in layering.beside) >= max(spans[one] for one in layering.chains)


def check_picture(graph: EngineGraph) -> ElementTree.Element:
    """Every box with its text and tooltip, every arrow, all inside the picture; and nothing that runs or leads elsewhere."""
    text = write_svg(graph)
    assert text == write_svg(graph)
    root = ElementTree.fromstring(text)
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= DRAWN
    assert not [key for one in root.iter() for key in one.attrib if key.startswith("on") or "href" in key]
    boxes = {one.get("id"): one for one in root.iter(f"{SVG}g") if one.get("class") == "n"}
    assert list(boxes) == [node.id for node in graph.nodes]
    _, _, width, height = map(float, str(root.get("viewBox")).split())
    for node in graph.nodes:
        box = boxes[node.id]
        assert [one.text or "" for one in box.iter(f"{SVG}text")] == list(node.lines)
        assert box.findtext(f"{SVG}title") == "\n".join(map(printable, node.tooltip.split("\n")))
        rect = box.find(f"{SVG}rect")
        assert rect is not None
        x, y, w, h = (float(str(rect.get(key))) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    assert sum(one.get("class") == "e" for one in root.iter(f"{SVG}path")) == len(graph.edges)
    return root


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    labels = ("name", "tactic", "kind", "onnx_nodes")
    check_picture(build_graph(chain_of(HOSTILE, tmp_path), GraphOptions(labels=labels, metadata=True)))


@settings(max_examples=15)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=10))
def test_any_names_stay_names(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_picture(build_graph(chain_of(names, Path(folder)), GraphOptions(constants=True)))


@pytest.mark.parametrize("real", real_sets(having=["graph"])[::5])
def test_real_engines(real: RealSet) -> None:
    check_picture(build_graph(load_engine(real.paths()), GraphOptions(highlight="ms>0.1")))


def boxes_of(root: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    rects = (one.find(f"{SVG}rect") for one in root.iter(f"{SVG}g") if one.get("class") == "n")
    return [
        (x, y, x + w, y + h)
        for one in rects
        if one is not None
        for x, y, w, h in [tuple(float(str(one.get(key))) for key in ("x", "y", "width", "height"))]
    ]


@pytest.mark.parametrize(
    ("build", "dashes"),
    [(reusing_engine, {None, "5 3"}), (names_only_engine, set())],
    ids=["loop", "names"],
)
def test_no_box_covers_another(
    build: Callable[[Path], Engine], dashes: set[str | None], tmp_path: Path
) -> None:
    options = GraphOptions(constants=True, highlight="ms>0.1")
    root = check_picture(build_graph(build(tmp_path), options))
    boxes = sorted(boxes_of(root))
    for place, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[place + 1 :]:
            assert other[0] >= right or other[1] >= bottom or other[3] <= top or other[2] <= left
    assert {one.get("stroke-dasharray") for one in root.iter(f"{SVG}path")} == dashes
