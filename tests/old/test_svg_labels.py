"""Every text of a chart is readable: no line, point, bar or other text covers it, and it is inside of the picture."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import ARTIFACTS, REPOSITORY, examples
from trex_tui.old.engine import load_engine
from trex_tui.old.report.charts.figure import Bins, Dot, Histogram, Lines, Mark, Points, Roof, Scale, Series
from trex_tui.old.report.charts.grid import split_cells
from trex_tui.old.report.charts.svg_elements import CHAR
from trex_tui.old.report.charts.svg_painter import IDS, block_name, draw_svg, picture
from trex_tui.old.report.charts.svg_plot import Caption

XMLNS = "{http://www.w3.org/2000/svg}"
ASCENT, DESCENT = 9.0, 2.0
"""Of a line of text of 12 pixels, above and below its base line: capitals and digits, and a little."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass
class Drawn:
    """What a picture shows, in its own coordinates; `marks` are points and bars, `strokes` pieces of lines."""

    width: float
    height: float
    texts: list[tuple[str, Box]] = field(default_factory=list)
    strokes: list[tuple[str, Box]] = field(default_factory=list)
    marks: list[tuple[str, Box]] = field(default_factory=list)


def drawn(svg: str) -> Drawn:
    root = ET.fromstring(svg)
    width, height = (float(one) for one in root.get("viewBox", "").split()[2:])
    found = Drawn(width, height)
    collect(root, 0.0, 0.0, found)
    return found


def collect(parent: ET.Element, dx: float, dy: float, found: Drawn) -> None:
    for one in parent:
        tag = one.tag.removeprefix(XMLNS)
        if tag == "g":
            moved = re.fullmatch(r"translate\(([\d.-]+) ([\d.-]+)\)", one.get("transform", "translate(0 0)"))
            assert moved is not None
            collect(one, dx + float(moved[1]), dy + float(moved[2]), found)
        elif tag == "text":
            found.texts.append(text_box(one, dx, dy))
        elif tag == "circle":
            x, y, radius = (float(one.get(key, "")) for key in ("cx", "cy", "r"))
            found.marks.append(
                ("circle", moved_box((x - radius, y - radius, x + radius, y + radius), dx, dy))
            )
        elif tag == "rect" and one.get("class") != "tone-background" and not one.get("fill-opacity"):
            x, y, wide, tall = (float(one.get(key, "")) for key in ("x", "y", "width", "height"))
            found.marks.append(("rect", moved_box((x, y, x + wide, y + tall), dx, dy)))
        elif tag == "path":
            collect_path(one, dx, dy, found)


def moved_box(box: Box, dx: float, dy: float) -> Box:
    return box[0] + dx, box[1] + dy, box[2] + dx, box[3] + dy


def text_box(one: ET.Element, dx: float, dy: float) -> tuple[str, Box]:
    text = one.text or (one[-1].tail if len(one) else "") or ""
    width = CHAR * len(split_cells(text)) * float(one.get("font-size", "12")) / 12.0
    x, y = float(one.get("x", "")) + dx, float(one.get("y", "")) + dy
    x -= {"start": 0.0, "middle": width / 2, "end": width}[one.get("text-anchor", "start")]
    return text, (x, y - ASCENT, x + width, y + DESCENT)


def collect_path(one: ET.Element, dx: float, dy: float, found: Drawn) -> None:
    """A filled shape is a point; a line counts piece by piece. The faint lines of the grid lie below everything."""
    if one.get("class") == "tone-panel":
        return
    d = one.get("d", "")
    places = [tuple(map(float, part.split())) for part in re.split("[MLZ]", d) if part]
    if d.endswith("Z"):
        xs, ys = zip(*places, strict=True)
        found.marks.append(("shape", moved_box((min(xs), min(ys), max(xs), max(ys)), dx, dy)))
        return
    name = one.findtext(f"{XMLNS}title") or one.get("class") or ""
    for (x1, y1), (x2, y2) in pairwise(places):
        found.strokes.append((name, (x1 + dx, y1 + dy, x2 + dx, y2 + dy)))


def crosses(stroke: Box, box: Box) -> bool:
    """Whether a piece of a line runs through a rectangle (Liang and Barsky, 1984)."""
    x1, y1, x2, y2 = stroke
    start, end = 0.0, 1.0
    for step, low, high in ((x2 - x1, box[0] - x1, box[2] - x1), (y2 - y1, box[1] - y1, box[3] - y1)):
        if step == 0:
            if low >= 0 or high <= 0:
                return False
            continue
        near, far = sorted((low / step, high / step))
        start, end = max(start, near), min(end, far)
    return start < end


def overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def faults(svg: str, *, is_icicle: bool = False) -> Iterator[str]:
    """What lies on a text. In an icicle texts stand on blocks: those are their ground."""
    found = drawn(svg)
    for text, box in found.texts:
        if box[0] < -1 or box[2] > found.width + 1 or box[1] < 0 or box[3] > found.height:
            yield f"{text!r} leaves the picture"
        for name, stroke in found.strokes:
            if crosses(stroke, box):
                yield f"{text!r} is crossed by the line {name!r}"
        if not is_icicle:
            yield from (f"{text!r} lies on a {name}" for name, mark in found.marks if overlap(box, mark))
    for (one, first), (other, second) in combinations(found.texts, 2):
        if overlap(first, second):
            yield f"{one!r} lies on {other!r}"


def test_the_faults_are_seen() -> None:
    frame = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><text x="20" y="50">label</text>{}</svg>'
    for more, told in (
        ('<path class="a" d="M0 0L100 100"/>', "is crossed"),
        ('<path class="tone-panel" d="M0 0L100 100"/>', ""),
        ('<path class="a" d="M0 0L10 100"/>', ""),
        ('<circle cx="30" cy="45" r="2"/>', "lies on a circle"),
        ('<rect x="0" y="0" width="22" height="44"/>', "lies on a rect"),
        ('<g transform="translate(15 10)"><path d="M1 31L9 31L9 33Z"/></g>', "lies on a shape"),
        ('<text x="50" y="55" text-anchor="end">other</text>', "lies on 'other'"),
        ('<text x="80" y="20">outside</text>', "leaves"),
    ):
        assert [bool(told) and told in one for one in faults(frame.format(more))] == [True] * bool(told)


SETS = [
    *(REPOSITORY / "tests/old/sample_artifacts" / name for name in ("alexnet", "transformer_fp8", "names_only")),
    *(ARTIFACTS / name for name in ("edge-vision/results/alexnet", "bev-multitask-blackwell")),
    *(ARTIFACTS / name for name in ("edge-vision/results/resnet18", "trex/mobilenet-qat-8.4EA")),
]


@pytest.mark.parametrize("folder", SETS, ids=lambda one: one.name)
def test_every_text_of_every_chart_can_be_read(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip(f"no artifacts at {folder}")
    engine = load_engine(folder)
    for chart in IDS:
        svg = picture(chart, engine, standalone=True).svg
        if svg:
            assert list(faults(svg, is_icicle=chart == "icicle")) == [], chart


PLACES = st.lists(st.floats(-0.1, 1.1), min_size=1, max_size=7)
LABELS = st.sampled_from(["p50", "p90 0.4980", "80 % in 1234 layers", "+12.5 % from here on"])


@settings(max_examples=examples(60))
@given(PLACES, LABELS)
def test_marks_wherever_they_are(places: list[float], label: str) -> None:
    """Upright lines as near to each other as they like, at the edges and beyond, over bars of full height."""
    spread = [Series("a", [(0.0, 0.0), (1.0, 9.0)]), Series("b", [(0.0, 9.0), (1.0, 0.0)])]
    marks = [Mark(at, f"{label} {place}") for place, at in enumerate(places)]
    caption = Caption("t", standalone=True)
    lines = Lines(spread, Scale(0, 1, "x"), Scale(0, 9, "y"), marks=marks)
    assert list(faults(draw_svg(lines, caption))) == []
    bins = Histogram(lambda _: Bins(0.0, 0.25, (2, 0, 1, 2), 0, 0), "x", "queries", marks)
    assert list(faults(draw_svg(bins, caption))) == []


@settings(max_examples=examples(40))
@given(st.lists(st.floats(1.0, 1e6), min_size=1, max_size=6), st.lists(st.floats(1.0, 1e6), max_size=9))
def test_roofs_wherever_they_are(levels: list[float], points: list[float]) -> None:
    """Roofs on each other, slopes, and points on all of them."""
    x, y = Scale(1, 1e6, "x", is_log=True), Scale(1, 1e6, "y", is_log=True)
    roofs = [
        Roof(f"FP16 on CUDA cores {at:.3g}FLOP/s, ridge {at:.3g} FLOP/B", [(1.0, 1.0), (at, at), (1e6, at)])
        for at in levels
    ]
    dots = [Dot(point, level, title="dot") for point in points for level in levels]
    marks = [Mark(points[0], "roof", is_level=True)] if points else []
    svg = draw_svg(Points(dots, x, y, roofs=roofs, marks=marks), Caption("t", standalone=True))
    assert list(faults(svg)) == []


def test_cut_names_of_modules_can_be_told_from_the_others_of_their_row():
    row = ["16/conv", "15/conv", "2/conv", "conv"]
    assert [block_name(one, 3 * CHAR, row) for one in row] == ["16…", "15…", "2…v", "c…v"]
    row = ["layer1.conv1", "layer2.conv1", "layer1.relu1", "+3"]
    assert [block_name(one, 3 * CHAR, row) for one in row] == ["", "", "", "+3"]
    assert block_name("decoder", 3 * CHAR, ["decoder", "decoder"]) == "d…r"


def test_no_two_modules_of_a_real_row_read_alike(artifacts):
    svg = picture("icicle", load_engine(artifacts / "trex/mobilenet-qat-8.4EA")).svg
    rows: dict[str, list[str]] = {}
    for one in ET.fromstring(svg).iter(f"{XMLNS}text"):
        rows.setdefault(one.get("y", ""), []).append(one.text or "")
    assert {"16…", "15…", "2…v"} <= {text for texts in rows.values() for text in texts}
    cut = [[text for text in texts if "…" in text] for texts in rows.values()]
    assert all(len(texts) == len(set(texts)) for texts in cut)
