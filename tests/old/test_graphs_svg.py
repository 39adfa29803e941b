"""The layout of our own, and the picture made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_cases import HOSTILE, chain_of, names_only_engine, reusing_engine
from helpers import RealSet, examples, layer, real_sets, tensor, write_graph
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.report.graph.engine_graph import WIDEST, GraphOptions, build_graph
from trex_tui.old.report.graph.graph_svg import GAP, layered, middles, spread, write_svg
from trex_tui.old.report.graph.model import EngineGraph
from trex_tui.old.text import printable

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
    check_picture(build_graph(real.engine(), GraphOptions(highlight="ms>0.1")))


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


def test_a_title_that_is_wider_than_the_picture_is_wrapped(tmp_path: Path) -> None:
    graph = build_graph(chain_of(["a", "b"], tmp_path), GraphOptions())
    title = "an engine of a long name · " + " · ".join(f"fact {number}" for number in range(40))
    root = ElementTree.fromstring(write_svg(replace(graph, title=title)))
    lines = [text for text in root.iter(f"{SVG}text") if text.get("class") == "t"]
    assert " ".join(str(line.text) for line in lines) == title
    room = float(str(root.get("width")))
    assert all(float(str(line.get("x"))) + 7.9 * len(str(line.text)) <= room for line in lines)
    first_box = min(top for _, top, _, _ in boxes_of(root))
    shift = float(str(next(g.get("transform") for g in root.iter(f"{SVG}g"))).rstrip(")").split()[1])
    assert max(float(str(line.get("y"))) for line in lines) < shift + first_box


def test_a_long_name_stands_whole_in_its_box_and_an_endless_one_loses_its_middle(tmp_path: Path) -> None:
    name = "/features/features.7/conv/conv.0/Conv + /features/features.7/conv/conv.0/conv.0.2/Clip"
    graph = build_graph(chain_of([name, "x" * 400], tmp_path), GraphOptions(labels=("name",)))
    lines = {node.name: node.lines for node in graph.nodes}
    assert "".join(lines[name]).replace(" ", "") == name.replace(" ", "")
    assert len(lines["x" * 400]) == 3
    assert "…" in "".join(lines["x" * 400])
    assert all(len(line) <= WIDEST for node in graph.nodes for line in node.lines)


@pytest.mark.parametrize("real", real_sets(having=["graph"])[::7])
def test_labels_of_edges_cover_nothing(real: RealSet) -> None:
    graph = build_graph(real.engine(), GraphOptions(edges=True))
    root = ElementTree.fromstring(write_svg(graph))
    in_boxes = {id(text) for box in root.iter(f"{SVG}g") if box.get("class") == "n" for text in box}
    labels = [
        text for text in root.iter(f"{SVG}text") if id(text) not in in_boxes and text.get("class") is None
    ]
    expected = {(edge.source, edge.role, edge.tensor, edge.label) for edge in graph.edges if edge.label}
    assert sorted(str(label.text) for label in labels) == sorted(label for *_, label in expected)
    rects = list(boxes_of(root))
    for label in labels:
        x, y, half = float(str(label.get("x"))), float(str(label.get("y"))), 3.0 * len(str(label.text))
        rects.append((x - half, y - 10, x + half, y))
    rects.sort()
    for place, (_, top, right, bottom) in enumerate(rects):
        for other in rects[place + 1 :]:
            if other[0] >= right:
                break
            assert other[1] >= bottom or other[3] <= top
    heads = [path for path in root.iter(f"{SVG}path") if path.get("marker-end")]
    assert len(heads) == len(graph.edges)


def test_a_tensor_that_several_layers_read_has_one_label(tmp_path: Path) -> None:
    shape = tensor("t", 1, 8, 4, 4)
    layers = [
        layer("a", "kgen", [tensor("in", 1, 8)], [shape]),
        layer("b", "kgen", [shape], [tensor("u", 2)]),
        layer("c", "kgen", [shape, tensor("u", 2)], [tensor("out", 1)]),
    ]
    write_graph(tmp_path / "net.graph.json", layers, ["in", "out"])
    graph = build_graph(load_engine(tmp_path), GraphOptions(edges=True))
    assert [edge.label for edge in graph.edges].count("1×8×4×4 FP16") == 2
    drawn = write_svg(graph)
    assert drawn.count(">1×8×4×4 FP16</text>") == 1
    assert drawn.count("marker-end") == len(graph.edges)
    assert drawn == write_svg(graph)
    assert not any(edge.label for edge in build_graph(load_engine(tmp_path), GraphOptions()).edges)
