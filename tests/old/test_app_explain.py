"""`i` on every screen: the numbers that are there, the selected one first, in the words of `trex-tui explain`."""

from __future__ import annotations

from pathlib import Path

import pytest
from comparing import comparing, two_engines
from tui import LARGE, Session, running

from helpers import DIGITS, OLD_SAMPLES
from trex_tui.old.lint.model import Evidence
from trex_tui.old.report.charts.catalogue import CHARTS
from trex_tui.old.report.glossary.charts import CHART_TERMS
from trex_tui.old.report.glossary.registry import find_terms
from trex_tui.old.report.views.lint import describe_evidence
from trex_tui.old.screens.explanation import ExplainScreen, ShownNumber
from trex_tui.old.screens.pane import TablePane
from trex_tui.old.widgets.build_tables import View

SAMPLE = OLD_SAMPLES / "alexnet"


def keys(numbers: list[ShownNumber]) -> list[str]:
    return [number.entry.term.key for number in numbers if number.entry is not None]


def values(numbers: list[ShownNumber]) -> dict[str, str]:
    return {
        number.entry.term.key: number.value for number in numbers if number.entry is not None and number.value
    }


def unexplained(pane: TablePane) -> list[str]:
    """Titles of the table that `i` leaves out."""
    shown = {number.label for number in pane.numbers()}
    return [column.title for column in pane.table.columns if column.title and column.title not in shown]


async def opened(session: Session, tab: str) -> TablePane:
    await session.press(DIGITS[tab])
    await session.until(lambda: session.screen.pane.id == tab)
    return session.screen.pane


async def test_every_screen_of_an_engine():
    async with running(SAMPLE, LARGE, tab="overview") as session:
        await session.until(lambda: session.overview.analysis is not None, "the analysis")
        await session.until(lambda: session.screen.lint is not None, "lint")
        shown = values(session.overview.numbers())
        assert shown["engines.throughput_qps"].endswith(" qps")
        assert float(shown["latency.p99_ms"]) >= float(shown["latency.median_ms"])
        assert {"timing.stability", "critical_path", "known_weights_bytes", "tensorrt_version"} <= set(shown)
        assert {"timing.h2d", "timing.enqueue", "by_kind.*.latency_pct"} <= set(
            keys(session.overview.numbers())
        )
        assert shown["engines.gap"].endswith(" ms")
        assert shown["overhead_us_per_layer"].endswith(" µs/layer")
        assert "ms (" in shown["engines.saving_ms"]
        assert {"bound", "kind", "precision"} <= set(keys(session.overview.numbers()))
        await session.press("i")
        assert isinstance(session.app.screen, ExplainScreen)
        assert "Queries per second over the whole run." in session.text
        await session.press("escape")

        layers = await opened(session, "layers")
        assert keys(layers.numbers())[0] == "latency_ms"
        assert {"macs", "tactic", "roof_pct"} <= set(values(layers.numbers()))

        lint = await opened(session, "lint")
        assert keys(lint.numbers())[0] == "findings.saving_ms"
        assert {"engines.saving_ms", "findings.severity", "findings.layer_ms"} <= set(values(lint.numbers()))
        evidence = lint.table.cursor_item.judged.finding.evidence
        assert {describe_evidence(item)[0] for item in evidence} <= {
            number.label for number in lint.numbers()
        }
        assert len(lint.numbers()) < 20, "not the columns of layers"
        assert unexplained(lint) == []
        await session.press("i")
        assert "Time that this finding alone could save" in session.text
        await session.press("escape")

        memory = await opened(session, "memory")
        await session.until(lambda: memory.figures is not None)
        assert "live at layer" in values(memory.numbers())["peak_live_activation_bytes"]
        assert unexplained(memory) == []

        charts = await opened(session, "charts")
        assert keys(charts.numbers())[0] == "engines.latency"

        assert unexplained(await opened(session, "latency")) == []


async def test_every_view_of_a_build():
    async with running(SAMPLE, LARGE, tab="build") as session:
        pane = await opened(session, "build")
        await session.until(lambda: pane.facts is not None and pane.facts.trace.is_whole, "the log")
        for view in View:
            pane.show_view(view)
            await session.pilot.pause()
            assert unexplained(pane) == [], view
        assert "build_seconds" in values(pane.numbers())


async def test_a_comparison():
    async with comparing(two_engines(Path("nets"))) as (session, pane):
        shown = {number.label: number.value for number in pane.numbers()}
        assert shown["B, verdict"] == pane.comparison.verdict.outcome.value
        assert "B, difference of layer times" in shown
        assert unexplained(pane) == []
        await session.press("i")
        assert isinstance(session.app.screen, ExplainScreen)
        assert "Layers of all engines that do the same work" in session.text or "block" in session.text


def test_every_chart_has_terms():
    assert {chart.id for chart in CHARTS} == set(CHART_TERMS), "add the chart to report/glossary/charts.py"
    assert all(find_terms(key)[0].term.key == key for terms in CHART_TERMS.values() for key in terms)


async def test_y_copies_the_selected_number_with_all_its_digits():
    async with running(SAMPLE, LARGE, tab="latency") as session:
        table = session.latency.table
        await session.press("right")
        while table.current_column != "latency_ms":
            await session.press("right")
        await session.press("i")
        assert "y copies ms" in session.text
        await session.press("y")
        layer = table.cursor_item
        assert float(session.app.clipboard) == layer.latency_ms
        await session.until(
            lambda: "Copied the value of ms." in [note.message for note in session.app._notifications]
        )
        await session.press("escape")
        assert not isinstance(session.app.screen, ExplainScreen)


async def test_without_a_value_nothing_is_copied():
    async with running(OLD_SAMPLES / "names_only", tab="build") as session:
        session.app.push_screen(ExplainScreen(session.screen.engine.files, "Numbers", "", []))
        await session.until(lambda: isinstance(session.app.screen, ExplainScreen))
        await session.press("y")
        assert session.app.clipboard == ""


@pytest.mark.parametrize(("value", "text"), [(True, "yes"), (False, "no"), (None, "–"), (1, "1")])
def test_evidence_is_in_words(value, text):
    assert describe_evidence(Evidence("names_only", value)) == ("names only", text)
