"""The first page of a report: verdict, numbers, actions, dates, charts of a comparison, and links to layers."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path
from typing import Any

import pytest
from compare_cases import conv, pointwise, reformat, write_engine

from browser import Page, browsing, find_chromium
from test_report_page import Reader
from trex_tui.__main__ import main
from trex_tui.old.analysis.compare import compare
from trex_tui.old.artifacts import find
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.lint.run import run
from trex_tui.old.report.charts.svg_painter import figure_picture
from trex_tui.old.report.document import Cell, Document, Section
from trex_tui.old.report.render_html import document_page
from trex_tui.old.report.views.compare import Shown, signed_ms
from trex_tui.old.report.views.compare_charts import kinds_figure, reasons_figure
from trex_tui.old.report.views.lint import EngineReport
from trex_tui.old.report.views.report import make_report

LEAST_PT = 6.0
"""Height of a letter that can be read on paper."""
MOST_PAGES = 6
LAYERS = 60


def reported(engine: Engine) -> EngineReport:
    return EngineReport(engine, run(engine))


def report(*engines: Engine, top: int | None = 20) -> Document:
    compared = None
    if len(engines) > 1:
        comparison = compare(engines)
        compared = Shown(comparison, comparison.by_delta(), top)
    return make_report([reported(engine) for engine in engines], compared, top=top)


def cover(document: Document) -> Section:
    return document.parts[0].sections[0]


def slow_engine(folder: Path, layers: int = LAYERS) -> Engine:
    """Convolutions between reformats, so that many layers have findings; as many as a small network has."""
    raw = []
    for place in range(layers):
        make = reformat if place % 3 == 1 else pointwise if place % 3 == 2 else conv
        raw.append(make(f"/block.{place // 3}/{make.__name__}_{place}", f"t{place}", f"t{place + 1}"))
    times = [0.01 + 0.001 * (place % 7) for place in range(layers)]
    return write_engine(folder, raw, times, bindings=["t0", f"t{layers}"], latencies=[0.9, 1.0, 1.1] * 40)


def test_first_page_of_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    engine = slow_engine(tmp_path)
    os.utime(tmp_path / "net.timing.json", (1_700_000_000, 1_700_000_000))
    page = cover(report(engine))
    assert page.sentences[0].startswith(("Much to gain: ", "Little to gain: "))
    assert [label for label, _ in page.highlights] == [
        "Median latency, end to end",
        "Throughput",
        "Possible saving",
    ]
    facts = dict(page.facts)
    assert list(facts) == ["Device", "TensorRT", "Measured", "Report"]
    assert facts["Measured"] == "– (no capture manifest; files of 2023-11-14)"
    assert facts["Report"].startswith("2026-01-01, by trex-tui ")
    (actions,) = page.tables
    savings = [row[1] or 0.0 for row in actions.rows]
    assert 1 <= len(savings) <= 3
    assert savings == sorted(savings, reverse=True)


def test_files_newer_than_a_reproducible_report_have_its_date(tmp_path: Path) -> None:
    facts = dict(cover(report(slow_engine(tmp_path))).facts)
    assert facts["Measured"] == "– (no capture manifest; files of 2000-01-01)"


def test_first_page_of_a_comparison_has_the_causes_and_the_kinds(tmp_path: Path) -> None:
    one = slow_engine(tmp_path / "a")
    layers = [
        conv(f"/block.{place}/conv_{3 * place}", f"t{place}", f"t{place + 1}", dtype="Int8")
        for place in range(20)
    ]
    two = write_engine(tmp_path / "b", layers, [0.004] * 20, bindings=["t0", "t20"])
    document = report(one, two)
    assert [chart.id for chart in cover(document).charts] == ["compare-reasons", "compare-kinds"]
    comparison = compare([one, two])
    (difference,) = filter(None, comparison.differences)
    waterfall = reasons_figure(comparison, difference)
    assert waterfall is not None
    first, *steps, last = waterfall.form.bars
    sums = [side.latency_sum_ms for side in comparison.sides]
    assert [first.value, last.value] == sums
    assert [step.texts for step in steps] == [(signed_ms(reason.delta_ms),) for reason in difference.reasons]
    level = sums[0]
    for step, reason in zip(steps, difference.reasons, strict=True):
        offset, size = (part.value for part in step.parts)
        assert (offset, offset + size) == pytest.approx(tuple(sorted((level, level + reason.delta_ms))))
        level += reason.delta_ms
    assert level == pytest.approx(sums[1])
    assert "NaN" not in figure_picture("r", "Causes", "", waterfall).svg
    kinds = kinds_figure(Shown(comparison, comparison.blocks))
    assert [bar.value for bar in kinds.form.bars] == pytest.approx(sums)


def test_comparison_without_times_has_no_charts_of_times(tmp_path: Path) -> None:
    engines = [write_engine(tmp_path / name, [conv("a", "x", "y"), reformat("b", "y", "z")]) for name in "ab"]
    assert cover(report(*engines)).charts == []


def linked(document: Document) -> dict[str, set[str]]:
    """Names of layers in findings -> where their links lead; empty for a name without a link."""
    html = document_page(document)
    ids = {value for _, name, value in Reader(html).attributes if name == "id"}
    names = {
        part
        for section in [section for part in document.parts for section in part.sections]
        for table in section.tables
        for row in table.rows
        for cell in row
        if isinstance(cell, Cell)
        for part, layer in cell.parts
        if layer is not None
    }
    links: dict[str, set[str]] = {name: set() for name in names}
    for target, text in re.findall(r'<a href="#([^"]*-layer-\d+)">([^<]*)</a>', html):
        assert target in ids
        links.setdefault(text, set()).add(target)
    return links


@pytest.mark.parametrize("top", [2, 20, None])
@pytest.mark.parametrize("times", [True, False])
def test_every_layer_of_a_finding_is_a_link_to_its_row(tmp_path: Path, top: int | None, times: bool) -> None:
    engine = slow_engine(tmp_path)
    if not times:
        (tmp_path / "net.profile.json").unlink()
        (tmp_path / "net.timing.json").unlink()
        engine = load_set(find(tmp_path)[0])
    links = linked(report(engine, top=top))
    assert links
    assert {name for name, targets in links.items() if not targets} == set()


def test_actions_of_a_comparison_lead_to_the_layers_of_their_engine(tmp_path: Path) -> None:
    document = report(slow_engine(tmp_path / "a"), slow_engine(tmp_path / "b"))
    html = document_page(document)
    actions = html[html.index("What to do first") : html.index("<nav")]
    assert re.search(r'<a href="#engine-[12]-layer-\d+">', actions)
    assert {name for name, targets in linked(document).items() if not targets} == set()


# On paper


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium on the path; Debian: apt-get install chromium")
    folder = tmp_path_factory.mktemp("printed")
    slow_engine(folder / "set")
    assert main(["report", str(folder / "set"), "-o", str(folder / "report.html")]) == 0
    with browsing(program, tmp_path_factory.mktemp("chromium")) as page:
        page.open(folder / "report.html")
        yield page


def test_a_small_engine_has_at_most_six_pages(printed: Page) -> None:
    pdf = printed.call("Page.printToPDF", preferCSSPageSize=True)["data"]
    pages = len(re.findall(rb"/Type\s*/Page\b", base64.b64decode(pdf)))
    assert 2 <= pages <= MOST_PAGES


def test_letters_in_printed_charts_can_be_read(printed: Page) -> None:
    """At the width of A4 across: 281 mm between its margins are 1062 CSS pixels, of 0.75 points."""
    printed.call(
        "Emulation.setDeviceMetricsOverride", width=1062, height=733, deviceScaleFactor=1, mobile=False
    )
    printed.call("Emulation.setEmulatedMedia", media="print", features=[])
    sizes = printed.evaluate(
        """[...document.querySelectorAll("figure:not(.screen) svg text")].filter((text) => text.getClientRects().length)
        .map((text) => 0.75 * parseFloat(getComputedStyle(text).fontSize) * text.getScreenCTM().a)"""
    )
    assert len(sizes) > 20
    assert min(sizes) >= LEAST_PT
    titles = printed.evaluate(
        """[...document.querySelectorAll("figure:not(.screen) b")].map((title) => title.textContent)"""
    )
    assert titles[:2] == ["Histogram.", "Layers in order."]
    assert len(titles) <= 4
