"""Charts as SVG: well-formed, harmless, the same numbers as in the terminal."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

from helpers import ARTIFACTS, REPOSITORY
from test_charts import HOSTILE, with_queries
from trex_tui.old.engine import load_engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.report.charts.catalogue import CHARTS, CHARTS_BY_ID
from trex_tui.old.report.charts.figure import (
    Bar,
    Bars,
    Bins,
    Columns,
    Dot,
    Histogram,
    Key,
    Lines,
    Mark,
    Points,
    Roof,
    Series,
    Subject,
    Target,
    log_scale,
    spread,
)
from trex_tui.old.report.charts.svg_elements import (
    PALETTE,
    SIGNS,
    classes_and_colour,
    cut,
    kind_class,
    measure_width,
    precision_class,
    sign,
    stylesheet,
)
from trex_tui.old.report.charts.svg_painter import IDS, draw_svg, picture
from trex_tui.old.report.charts.svg_plot import Caption
from trex_tui.old.report.colours import DARK, LIGHT, kind_style, precision_style
from tui import named_engine, small_engine

GOLDEN = Path(__file__).parent / "golden" / "svg"
SAMPLES = REPOSITORY / "tests/old/sample_artifacts"
XMLNS = "{http://www.w3.org/2000/svg}"
CAPTION = Caption("A title", ("One sentence.",))
NAMES = [*HOSTILE, "< > & \" '", "]]><script>alert(1)</script>", "\ufffe\uffff\ud800"]


def draw(chart, engine, **options):
    return picture(chart, engine, **options).svg


def parsed(svg: str) -> ET.Element:
    """The picture, which has what every picture has, and lies within its own borders."""
    root = ET.fromstring(svg)
    assert root.tag == f"{XMLNS}svg"
    assert root.get("role") == "img"
    assert root[0].tag == f"{XMLNS}title"
    assert root[0].text
    width, height = (float(one) for one in root.get("viewBox", "").split()[2:])
    assert (width, height) == (float(root.get("width", "")), float(root.get("height", "")))
    assert {one.tag.removeprefix(XMLNS) for one in root.iter()} <= {
        "svg", "title", "desc", "style", "g", "rect", "path", "circle", "text"
    }  # fmt: skip
    for one in root.iter():
        assert not {name for name in one.attrib if name.startswith("on") or name in ("style", "id", "href")}
        for name, value in one.items():
            if name in ("x", "y", "width", "height", "cx", "cy"):
                assert -20 <= float(value) <= max(width, height) + 20
    return root


def texts(root: ET.Element, tag: str = "text") -> list[str]:
    return [
        "".join(one.itertext()) if tag == "title" else (one.text or one[-1].tail or "")
        for one in root.iter(XMLNS + tag)
    ]


@pytest.fixture(scope="module")
def samples():
    return {name: load_engine(SAMPLES / name) for name in ("alexnet", "transformer_fp8", "names_only")}


def test_every_chart_of_the_terminal_is_drawn_with_its_sentences(samples):
    assert tuple(chart.id for chart in CHARTS) == IDS
    drawn = set()
    for engine in samples.values():
        for chart in CHARTS:
            found = picture(chart.id, engine)
            figure = chart.make(Subject(engine, engine.layers, PALETTE, width=760))
            assert (found.words, found.missing) == (figure.words, figure.missing)
            assert (found.svg is None) == (figure.form is None)
            if found.svg:
                root = parsed(found.svg)
                assert root.findtext(f"{XMLNS}desc") == " ".join((*figure.words, *figure.missing))
                drawn.add(chart.id)
    assert drawn == set(IDS) - {
        "power",
        "temperature",
        "clock",
        "spread",
    }  # the samples have no sensors and no single times; test_power and test_layer_spread draw them


def test_a_picture_that_stands_alone_has_title_sentences_ground_and_style(samples):
    engine = samples["alexnet"]
    root = parsed(draw("kind", engine, standalone=True) or "")
    assert texts(root)[0] == f"Time by kind · {engine.name}"
    assert " ".join(texts(root)[-2:]).endswith("of the engine.")
    assert root.findtext(f"{XMLNS}style", "").count("prefers-color-scheme: dark") == 2
    ground = next(root.iter(f"{XMLNS}rect"))
    assert (ground.get("class"), ground.get("width")) == ("tone-background", root.get("width"))
    inline = parsed(draw("kind", engine) or "")
    assert inline.find(f"{XMLNS}style") is None
    assert "Time by kind" not in texts(inline)


def test_names_are_data(tmp_path):
    engine = load_engine(named_engine(tmp_path, NAMES))
    for chart in IDS:
        for alone in (False, True):
            svg = draw(chart, engine, standalone=alone)
            if svg:
                root = parsed(svg)
                assert all(one.isprintable() for one in "".join(root.itertext()).split("\n"))
    shown = parsed(draw_svg(Bars([Bar(name, 1.0) for name in NAMES]), CAPTION))
    assert {"< > & \" '", "]]><script>alert(1)</script>"} <= set(texts(shown, "title"))


@pytest.mark.parametrize(("sample", "chart"), [
    ("alexnet", "kind"), ("alexnet", "histogram"), ("transformer_fp8", "roofline"), ("transformer_fp8", "layers")
])  # fmt: skip
def test_golden(samples, sample, chart):
    svg = draw(chart, samples[sample], standalone=True) or ""
    path = GOLDEN / f"{sample}-{chart}.svg"
    if os.environ.get("UPDATE_GOLDENS"):
        path.write_text(svg, encoding="utf-8")
    assert svg == path.read_text(encoding="utf-8")


def test_bars_are_as_long_as_their_values():
    bars = [Bar("a", 4.0, ("4",), "kind-gemm"), Bar("b", 1.0), Bar("c", -2.0), Bar("d", None)]
    root = parsed(draw_svg(Bars(bars, ("n",), "ms"), CAPTION))
    widths = [float(one.get("width", "")) for one in root.iter(f"{XMLNS}rect")]
    assert widths[1] / widths[0] == pytest.approx(0.25, abs=0.01)
    assert widths[2] / widths[0] == pytest.approx(0.5, abs=0.01)
    assert len(widths) == 3  # nothing for what is unknown
    assert {"–", "ms", "n"} <= set(texts(root))


def test_a_histogram_counts_every_value():
    bins = Bins(0.5, 1.0, (2, 1, 1), 0, 1)
    marks = [Mark(2.0, "median"), Mark(500.0, "p99")]
    root = parsed(draw_svg(Histogram(lambda _: bins, "latency, ms", "queries", marks), CAPTION))
    assert {"latency, ms", "queries", "median", "p99 ▸"} <= set(texts(root))
    told = [int(title.rpartition(": ")[2]) for title in texts(root, "title") if ": " in title]
    assert sum(told) == 4
    assert "1 above the plot" in texts(root, "title")


def test_lines_have_gaps_where_nothing_is_known():
    series = [Series("a", [(0, 1), (1, 2), (2, math.nan), (3, 1), (4, 5)]), Series("b", [(0, 3)])]
    x, y = spread([0, 4], "iteration"), spread([1, 5], "latency, ms")
    root = parsed(draw_svg(Lines(series, x, y, marks=[Mark(2, "here")]), CAPTION))
    named = [one for one in root.iter(f"{XMLNS}path") if one.findtext(f"{XMLNS}title") == "a"]
    assert len(named) == 2
    assert {"a", "b", "iteration", "latency, ms", "here"} <= set(texts(root))
    parsed(draw_svg(Lines([], x, y), CAPTION))
    beyond = Lines([Series("a", [(0, 1), (1, 90)])], x, replace(spread([1, 2], "y"), high=3.0))
    assert "90" in texts(parsed(draw_svg(beyond, CAPTION)), "title")


def test_of_many_columns_the_largest_shows():
    def target(index):
        return Target(str(index))

    def columns(values):
        y = spread(values, "ms", from_zero=True)
        return Columns(values, ["$primary"] * len(values), y, "layer", lambda _: [(0.5, "2500")], target)

    root = parsed(draw_svg(columns([1.0 + (one == 777) for one in range(5000)]), CAPTION))
    bars_drawn = list(root.iter(f"{XMLNS}rect"))
    assert len(bars_drawn) < 760
    assert max(bars_drawn, key=lambda one: float(one.get("height", ""))).findtext(f"{XMLNS}title") == "777"
    parsed(draw_svg(columns([]), CAPTION))


def test_points_that_share_a_spot_are_one():
    x, y = log_scale([1.0, 100.0], "x", str), log_scale([1.0, 1000.0], "y", str)
    dots = [Dot(10.0, 10.0, title=f"dot {one}") for one in range(9)]
    dots.append(Dot(1.0, 1000.0, sign="◆", title="end"))
    roofs = [Roof("roof", [(1.0, 1.0), (100.0, 900.0)]), Roof("other", [(1.0, 1.0), (100.0, 880.0)])]
    root = parsed(draw_svg(Points(dots, x, y, [Key("●", "dots", "$primary")], roofs=roofs), CAPTION))
    assert [title for title in texts(root, "title") if title.startswith("dot")] == ["dot 8  (9 in one place)"]
    assert "in a ring: several in one place" in texts(root, "text")
    bases = [float(one.get("y", "")) for one in root.iter(f"{XMLNS}text") if one.text in ("roof", "other")]
    assert abs(bases[0] - bases[1]) >= 14


@pytest.mark.parametrize("char", sorted(SIGNS))
def test_every_sign_is_a_shape(char):
    shape = ET.fromstring(sign(char, 10, 10, "kind-gemm", "a < b"))
    assert shape.tag in ("path", "circle", "rect")
    assert shape.findtext("title") == "a < b"


@pytest.mark.parametrize("text", [*HOSTILE, "plain", "漢字" * 30])
def test_cut_text_fits(text):
    assert measure_width(cut(text, 100.0)) <= 100.0
    assert cut("short", 100.0) == "short"


def test_colours_are_those_of_the_terminal():
    sheet = stylesheet()
    light, dark = sheet.split("@media")
    for style, token in [(kind_class(kind), kind_style(kind)) for kind in LayerKind] + [
        (precision_class(None), precision_style(None))
    ]:
        name = token.rpartition("$")[2]
        if name != "muted":
            assert classes_and_colour(style) == (style, LIGHT[name])
            for theme, part in ((LIGHT, light), (DARK, dark)):
                rule = next(
                    line for line in part.splitlines() if f".{style}{{" in line or f".{style}," in line
                )
                assert rule.endswith(f"{{color:{theme[name]}}}")
    assert "$" not in sheet
    assert not re.search(r"[<&]", sheet)


def test_of_a_filter_only_what_it_leaves(samples):
    engine = samples["alexnet"]
    few = engine.layers[:3]
    found = picture("layers", engine, layers=few)
    figure = CHARTS_BY_ID["layers"].make(Subject(engine, few, PALETTE, is_filtered=True, width=760))
    assert found.words == figure.words
    assert len(list(parsed(found.svg or "").iter(f"{XMLNS}rect"))) <= 3 + 6


def test_outliers_are_marked(tmp_path):
    engine = with_queries(tmp_path, [1.0 + 0.001 * (one % 7) for one in range(400)] + [1.5] * 400 + [9.0])
    root = parsed(draw("over-time", engine) or "")
    assert "9" in texts(root, "title")


def test_without_times_bars_are_layers(tmp_path):
    engine = load_engine(small_engine(tmp_path, profiled=False))
    assert "layers" in texts(parsed(draw("kind", engine) or ""))
    assert picture("layers", engine).svg is None


def test_nothing_heavy_is_loaded():
    code = (
        "import sys; from trex_tui.old.engine import load_engine; from trex_tui.old.report.charts.svg_painter import IDS, picture\n"
        "engine = load_engine(sys.argv[1]); assert all(picture(one, engine).svg for one in ('kind', 'layers', 'histogram'))\n"
        "print(*sorted({'textual', 'rich', 'numpy', 'pandas', 'plotext'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(SAMPLES / "alexnet")], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []


@pytest.mark.parametrize("folder", ["edge-vision/results/alexnet", "bev-multitask-blackwell"])
def test_real_sets(folder):
    if not ARTIFACTS.is_dir():
        pytest.skip(f"no real artifacts at {ARTIFACTS}")
    engine = load_engine(ARTIFACTS / folder)
    for chart in IDS:
        svg = draw(chart, engine, standalone=True)
        assert svg is None or parsed(svg) is not None
