"""DOT, as Graphviz itself reads it."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
from graph_cases import HOSTILE, chain_of, names_only_engine, reusing_engine
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS, GOLDEN
from trex_tui.old.engine import Engine, load_engine
from trex_tui.old.errors import TrexError
from trex_tui.old.report.graph.engine_graph import GraphOptions, build_graph
from trex_tui.old.report.graph.graph_files import (
    MOST_BYTES,
    DotTimeoutError,
    drawn_by_dot,
    escaped,
    write_dot,
)
from trex_tui.old.report.graph.model import EngineGraph

needs_dot = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
SVG = "{http://www.w3.org/2000/svg}"
XLINK = "{http://www.w3.org/1999/xlink}"


def drawn(graph: EngineGraph) -> ElementTree.Element:
    picture, said = drawn_by_dot(str(shutil.which("dot")), write_dot(graph), "svg", 60)
    assert said == ""
    return ElementTree.fromstring(picture)


def check_as_drawn(graph: EngineGraph) -> None:
    """Graphviz shows exactly the nodes, edges, texts and tooltips that it was given, and nothing that leads elsewhere."""
    root = drawn(graph)
    boxes = {one.findtext(f"{SVG}title"): one for one in root.iter(f"{SVG}g") if one.get("class") == "node"}
    assert boxes.keys() == {node.id for node in graph.nodes}
    for node in graph.nodes:
        texts = [text for one in boxes[node.id].iter(f"{SVG}text") if (text := plain(one.text))]
        assert texts == [plain(line) for line in node.lines if plain(line)], node.name[:50]
        (link,) = boxes[node.id].iter(f"{SVG}a")
        assert link.get(f"{XLINK}href") is None
        told = plain(link.get(f"{XLINK}title"))
        whole = plain(node.tooltip)
        assert told == whole or (
            told.endswith("…") and whole.startswith(told[:-1]) and len(told) > MOST_BYTES / 7
        )
    arrows = [one for one in root.iter(f"{SVG}g") if one.get("class") == "edge"]
    assert len(arrows) == len(graph.edges)
    assert not any(one.tag in (f"{SVG}image", f"{SVG}script", f"{SVG}table") for one in root.iter())


def plain(text: str | None) -> str:
    """Without what Graphviz does to blanks."""
    return re.sub(r"\s+", " ", (text or "").replace("\u00a0", " ")).strip()


@needs_dot
def test_hostile_names_stay_names(tmp_path: Path) -> None:
    graph = build_graph(
        chain_of(HOSTILE, tmp_path), GraphOptions(labels=("name", "tactic", "kind"), metadata=True)
    )
    assert max(len(node.tooltip) for node in graph.nodes) > 16_384
    check_as_drawn(graph)


@needs_dot
@settings(max_examples=4)
@given(st.lists(st.text(min_size=1, max_size=30), min_size=15, max_size=25))
def test_any_names_stay_names(names: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        check_as_drawn(
            build_graph(chain_of(names, Path(folder)), GraphOptions(labels=("name", "onnx_nodes")))
        )


@given(st.text(max_size=200) | st.text(st.sampled_from('\\"&\n<>'), max_size=60))
def test_strings_end_where_they_should(text: str) -> None:
    """As the scanner reads: two backslashes are one letter, and a quote ends the string unless one is before it."""
    inside = escaped(text)[1:-1]
    assert re.fullmatch(r'(?:[^"\\\n]|\\\\|\\"|\\n)*', inside)
    assert re.sub(r"&amp;", "", inside).count("&") == 0


@pytest.mark.parametrize("letter", ["x", "&", '"', "\\", "漢", "\n", "\x1b"])
def test_no_string_is_longer_than_graphviz_reads(letter: str) -> None:
    assert len(escaped(letter * 20_000).encode()) <= MOST_BYTES + 2
    assert escaped(letter * 20_000).endswith('…"')
    assert "…" not in escaped(letter * 1_000)


@needs_dot
def test_loops_constants_and_names_only(tmp_path: Path) -> None:
    for engine in (reusing_engine(tmp_path / "a"), names_only_engine(tmp_path / "b")):
        check_as_drawn(build_graph(engine, GraphOptions(constants=True)))


@needs_dot
def test_values_can_be_asked_for_with_gvpr(tmp_path: Path) -> None:
    text = write_dot(build_graph(reusing_engine(tmp_path), GraphOptions()))
    program = 'N[role=="layer"]{printf("%s %s\\n", name, latency_ms)}'
    asked = subprocess.run(["gvpr", program], input=text, capture_output=True, text=True, check=True)
    assert sorted(asked.stdout.split()) == sorted(
        [
            "layer_0",
            "1.000000",
            "layer_1",
            "0.500000",
            "layer_2",
            "0.250000",
            "layer_3",
            "0.125000",
            "layer_4",
            "2.000000",
        ]
    )


@needs_dot
def test_dot_is_given_a_time_and_heard(tmp_path: Path) -> None:
    slow = tmp_path / "dot"
    slow.write_text("#!/bin/sh\nexec sleep 30\n", encoding="utf-8")
    slow.chmod(0o755)
    with pytest.raises(DotTimeoutError, match=r"longer than 0\.1 s"):
        drawn_by_dot(str(slow), "digraph {}", "svg", 0.1)
    with pytest.raises(TrexError, match=r"dot failed: .*syntax error"):
        drawn_by_dot(str(shutil.which("dot")), "digraph {", "svg", 10)
    with pytest.raises(TrexError, match="cannot be run"):
        drawn_by_dot(str(tmp_path / "absent"), "digraph {}", "svg", 10)


def engine_of(folder: str) -> Engine:
    if not ARTIFACTS.is_dir():
        pytest.skip(f"no real artifacts at {ARTIFACTS}")
    return load_engine(ARTIFACTS / folder)


def test_golden_of_a_small_engine() -> None:
    text = write_dot(build_graph(engine_of("inspector-dumps/vgg16_trt_engine_info.json"), GraphOptions()))
    path = GOLDEN / "vgg16.dot"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_golden_of_a_large_engine() -> None:
    graph = build_graph(engine_of("bev-multitask-blackwell"), GraphOptions())
    mark = hashlib.sha256(write_dot(graph).encode()).hexdigest()
    text = f"{graph.title}\n{len(graph.nodes)} nodes\n{len(graph.edges)} edges\nsha256 of the DOT {mark}\n"
    path = GOLDEN / "bev.dot.txt"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@needs_dot
def test_graphviz_draws_every_label_of_an_edge(tmp_path: Path) -> None:
    graph = build_graph(chain_of(("a", "b <c>", "d"), tmp_path), GraphOptions(edges=True))
    labels = [edge.label for edge in graph.edges if edge.label]
    in_boxes = [line for node in graph.nodes for line in node.lines if line in labels]
    assert len(labels) == 2
    picture, _ = drawn_by_dot(str(shutil.which("dot")), write_dot(graph), "svg", 60)
    for label in set(labels):
        assert picture.decode().count(f">{label}</text>") == [*labels, *in_boxes].count(label)
