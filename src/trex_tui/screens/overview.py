"""Overview: what the engine is, what dominates, and the worst findings, at a glance, above the hottest layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import ClassVar, NamedTuple

import numpy as np
import pandas as pd
from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from trex_tui.analysis.structure import compute_totals, slowest
from trex_tui.analysis.timing import find_latency, measured_queries, stability
from trex_tui.engine.kinds import LayerKind
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_rows
from trex_tui.lint.rule import Finding
from trex_tui.report.absence import no_layers, no_profile
from trex_tui.report.document import Section
from trex_tui.report.views.build import cut_end
from trex_tui.report.views.engine import engine_sections
from trex_tui.report.views.layers import describe_total, roofline_sections
from trex_tui.report.views.lint import MARKS, Linted, fit_summary
from trex_tui.report.views.timing import performance_sections
from trex_tui.screens.layer_rows import layer_styles, make_section
from trex_tui.screens.pane import EnginePane, FindingOpened, LayersFiltered
from trex_tui.text import MISSING, format_ms, format_pct
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.facts import (
    EMPTY,
    LABEL,
    Bar,
    FactColumns,
    bar_lines,
    fact,
    fact_lines,
    heading,
    sentence,
    table_lines,
)
from trex_tui.widgets.strip import draw_sparkline
from trex_tui.widgets.table import FrameTable, Row
from trex_tui.widgets.text import Line, styled
from trex_tui.widgets.theme import kind_style, precision_style, severity_style

MOST_FINDINGS = 8
MOST_HOT = 100
_HOT = (
    "index",
    "name",
    "kind",
    "precision",
    "latency_ms",
    "latency_pct",
    "cumulative_pct",
    "tactic",
    "bound",
)
_COLUMNS = ((140, 3), (79, 2), (0, 1))
"""Cells from which the facts have so many columns."""
_WINDOWS = 16
"""Parts of the run in the sparkline."""
_LEAST_RANGE = 0.02
"""Range of the sparkline as part of the median: the noise of a stable run stays flat."""
_FEWEST_BLOCKS = 4
_WIDE_FACTS = 45
"""Cells of a column from which labels have their usual room."""
BOUND_STYLES = {"compute": "$success", "bandwidth": "$secondary", "latency": "$accent", "launch": "$muted"}
_GROUPS = {
    "bound": "Bound by",
    "kind": "By kind",
    "precision": "By precision",
    "device": "By device",
    "tensor_cores": "Tensor cores",
}
"""Column of the layers -> title of the shares by its values."""


class Figures(NamedTuple):
    """What is computed in a thread.

    Attributes:
        performance, facts: Sections of the timing run, and of what the files state.
        reasons: Why layers have no bound.
        medians: Median latency of the parts of the run.
    """

    performance: list[Section]
    facts: list[Section]
    reasons: list[str]
    medians: list[float]


class OverviewPane(EnginePane):
    DEFAULT_CSS = """
    OverviewPane {
        & > #facts { height: 1fr; border-bottom: solid $panel; }
        &.-no-list > #main, &.-no-list > #status, &.-zoom-details > #status { display: none; }
        &.-no-list > #facts { border-bottom: none; }
        &.-zoom-main > #facts { display: none; }
    }
    """
    tab = "overview"
    BINDINGS: ClassVar[list[BindingType]] = bindings("overview")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.set_class(not engine.has_profile, "-no-list")
        self.is_unfolded = False
        self._figures: Figures | None = None
        self._totals: dict[str, pd.DataFrame] = {}

    def compose(self) -> ComposeResult:
        yield FactColumns(id="facts")
        yield FrameTable(
            id="main",
            cell_styles={"bound": lambda bound: BOUND_STYLES.get(bound, ""), **layer_styles(self.engine)},
        )
        yield StatusLine("status")

    def on_mount(self) -> None:
        self.compute(lambda: compute_figures(self.engine), self._take_figures)

    def _take_figures(self, figures: Figures) -> None:
        self._figures = figures
        self.show_facts()

    @property
    def main(self) -> Widget:
        return self.query_one("#main") if self.engine.has_profile else self.query_one(FactColumns).columns[0]

    @property
    def beside(self) -> Widget | None:
        """The column of facts with the focus, else the first."""
        columns = self.query_one(FactColumns).columns
        return next((column for column in columns if column.has_focus), columns[0])

    # What is shown

    def watch_shown(self) -> None:
        self.show_hottest()
        rows = None if self.shown is None or not self.shown.text else self.shown.rows
        self.compute(lambda: compute_shares(self.engine, rows), self._take_totals)

    def _take_totals(self, totals: dict[str, pd.DataFrame]) -> None:
        self._totals = totals
        self.show_facts()

    def watch_lint(self) -> None:
        self.show_hottest()
        self.show_facts()

    def watch_current_layer(self, layer: int | None) -> None:
        table = self.query_one(FrameTable)
        if layer is not None and not table.move_to(layer):
            self.show_hottest()
            table.move_to(layer)

    def show_hottest(self) -> None:
        """Show the slowest layers that the filter leaves, and the current one."""
        if self.shown is None or not self.engine.has_profile:
            return
        layers = slowest(self.engine, MOST_HOT, self.shown.rows)
        current = self.current_layer
        if current is not None and current not in layers and self.shown.rows[current]:
            layers.append(current)
        section = make_section(self.engine, pd.Index(layers), _HOT, self.lint)
        columns = [
            replace(column, title="Hottest layers") if column.key == "name" else column
            for column in section.columns
        ]
        self.query_one(FrameTable).show(replace(section, columns=columns))

    def on_resize(self) -> None:
        self.show_facts()

    def show_facts(self) -> None:
        """Show the shares in the last column, performance and findings in the first, the rest where there is room."""
        count = next(columns for least, columns in _COLUMNS if self.size.width >= least)
        width = self.size.width // count - 3
        facts = self.query_one(FactColumns)
        if width <= 0:
            return
        rows = facts.show(count, width, self._blocks(width))
        is_alone = not self.engine.has_profile or self.has_class("-zoom-details")
        facts.styles.height = "1fr" if is_alone else min(rows + 1, self.size.height - self.size.height // 2)

    def _blocks(self, width: int) -> Iterator[tuple[int | None, list[Line]]]:
        """Yield performance and findings, shares, then everything else that is known."""
        figures = self._figures
        yield 0, [heading("Performance"), *self._performance_lines(width)]
        yield 0, list(self._finding_lines(width))
        facts = figures.facts if figures else []
        yield 0, [sentence(text, "$warning") for part in facts if part.is_warning for text in part.sentences]
        yield -1, list(self._share_lines(width))
        for section in sorted(
            figures.performance if figures else [], key=lambda section: section.key != "gap"
        ):
            if section.key == "gap":
                yield None, [heading(section.title), *map(sentence, section.sentences)]
            elif section.frame is not None:
                yield None, [heading("Statistics"), *table_lines(section, width)]
        for section in facts:
            shown = replace(section, sentences=()) if section.is_warning else section
            if lines := list(fact_lines(shown, is_unfolded=self.is_unfolded, key="a")):
                yield None, [heading(section.title), *lines]

    def _performance_lines(self, width: int) -> Iterator[Line]:
        """Yield the latency with the run beside it, throughput and stability; or why there is none."""
        latency, p99 = (find_latency(self.engine, key) for key in ("median_ms", "p99_ms"))
        figures, label = self._figures, LABEL if width >= _WIDE_FACTS else LABEL - 2
        if latency is not None:
            time, tail = f"{format_ms(latency)} ms ", "" if p99 is None else f" p99 {format_ms(p99)}"
            spark = _draw_run(figures.medians if figures else [], latency, width - label - len(time + tail))
            title = f"{'Latency':<{label}}"
            yield Line(styled((title, "$muted"), (time, "bold"), (spark, "$primary"), tail), indent=label)
        for section in figures.performance if figures else []:
            if section.key == "timing":
                yield from map(sentence, section.sentences)
                texts = {fact.column.title: str(fact) for fact in section.facts}
                if texts.get("Stability", "").startswith("Stable."):
                    texts["Stability"] = "stable"
                wanted = ("Throughput", "Stability", "Doubt")
                yield from (fact(title, texts[title], label) for title in wanted if title in texts)

    def _finding_lines(self, width: int) -> Iterator[Line]:
        """Yield the worst findings: rule, saving, first layer and count; a narrow column keeps saving and title."""
        lint = self.lint
        if lint is None:
            yield from (heading("Findings"), sentence("…", "$muted"))
            return
        if not lint.findings:
            yield heading("Findings")
            yield sentence(fit_summary(Linted(self.engine, lint)))
            return
        shown, is_wide = lint.findings[:MOST_FINDINGS], width >= _WIDE_FACTS
        rows = [(finding.rule.id, describe_place(finding)) if is_wide else ("", "") for finding in shown]
        rule = max(10 - 7 * (not is_wide), *(3 + len(rule) for rule, _ in rows))
        place = 2 + max(5, *(len(place) for _, place in rows)) if is_wide else 0
        heads = f"{'saving ms' if is_wide else 'ms':>{rule}}  {'layer' if is_wide else ''}"
        yield Line(styled(("Findings", "bold $primary"), (heads, "$muted")))
        for finding, (name, where) in zip(shown, rows, strict=True):
            saving = MISSING if finding.saving_ms is None else format_ms(finding.saving_ms)
            head = f"{MARKS[finding.severity]} {name}"
            numbers = f"{saving:>{8 + rule - len(head)}}  {where:<{place}}"
            title = cut_end(finding.rule.title, max(1, width - len(head) - len(numbers)))
            yield Line(
                styled((head, severity_style(finding.severity.value)), (numbers, "bold"), title),
                FindingOpened(finding),
            )
        if more := len(lint.findings) - len(shown):
            yield sentence(f"{more} more in Lint", "$muted")

    def _share_lines(self, width: int) -> Iterator[Line]:
        """Yield a bar per bound, kind, precision: Enter shows its layers."""
        engine, shown = self.engine, self.shown
        if shown is not None and shown.text:
            yield from (sentence(describe_total(engine, shown.rows.index[shown.rows]), "$warning"), EMPTY)
        if not engine.has_profile:
            yield from (sentence(no_profile(engine) if len(engine) else no_layers(engine), "$warning"), EMPTY)
        reasons = list(self._figures.reasons) if self._figures else []
        bars = {key: list(_make_bars(engine, key, table)) for key, table in self._totals.items()}
        name = 1 + max(
            cell_len(text)
            for text in (*_GROUPS.values(), *(bar.name for rows in bars.values() for bar in rows))
        )
        count = 1 + max(4, len(str(len(engine))))
        sum_ms = 2 + max(7, len(format_ms(engine.latency_total_ms or 0.0)))
        heads = [("n", count), ("ms", sum_ms), ("%", 7)] if engine.has_profile else [("n", count)]
        if width < _WIDE_FACTS and engine.has_profile:  # the bar needs the room
            heads = heads[1:]
            bars = {
                key: [bar._replace(numbers=bar.numbers[1:]) for bar in rows] for key, rows in bars.items()
            }
        for key, rows in bars.items():
            is_unknown = key == "bound" and reasons and all(bar.link is None for bar in rows)
            yield from bar_lines(_GROUPS[key], heads, () if is_unknown else rows, width, name)
            if is_unknown:
                yield sentence(reasons.pop(0))
            yield EMPTY
        yield from (sentence(reason, "$muted") for reason in reasons)

    # What the screen asks

    def explained(self) -> tuple[Section, Row | None] | None:
        """Return the list with the facts after it; the facts alone while one of them has the focus."""
        figures = self._figures
        facts = (
            [fact for section in (*figures.performance, *figures.facts) for fact in section.facts]
            if figures
            else []
        )
        table = self.query_one(FrameTable)
        if self.is_beside or not self.engine.has_profile:
            return Section("engine", "engine", facts=facts), None
        return replace(table.section, facts=facts), table.row

    def sections(self) -> list[Section]:
        figures = self._figures
        return [
            *(figures.performance if figures else ()),
            *(figures.facts if figures else ()),
            *super().sections(),
        ]

    def action_toggle_all(self) -> None:
        self.is_unfolded = not self.is_unfolded
        self.show_facts()
        state = "shown" if self.is_unfolded else "folded"  # they may be below the edge of the pane
        self.notify(f"Options at their default: {state}.", markup=False)

    def action_zoom(self) -> None:
        super().action_zoom()
        self.show_facts()


def compute_figures(engine: Engine) -> Figures:
    """Return what takes longer than a frame."""
    reasons = [
        sentence
        for section in roofline_sections(engine)
        if section.audience == "people"
        for sentence in section.sentences
    ]
    stability(engine)
    return Figures(
        list(performance_sections(engine)),
        list(engine_sections(engine)),
        reasons if len(engine) else [],
        _medians(engine),
    )


def _medians(engine: Engine) -> list[float]:
    """Return the median latency of equal parts of the run; empty without queries."""
    times = measured_queries(engine)["latency_ms"].dropna().to_numpy(float)
    parts = np.array_split(times, min(_WINDOWS, len(times))) if len(times) else []
    return [float(np.median(part)) for part in parts]


def _draw_run(medians: Sequence[float], latency: float, cells: int) -> str:
    """Return the medians as blocks; the noise of a stable run stays flat. Empty if they do not fit."""
    if len(medians) < 2 or cells < _FEWEST_BLOCKS:
        return ""
    shown = [float(np.median(part)) for part in np.array_split(medians, min(cells, len(medians)))]
    middle, half = (max(shown) + min(shown)) / 2, max(_LEAST_RANGE * latency, max(shown) - min(shown)) / 2
    return draw_sparkline(shown, middle - half, middle + half)


def compute_shares(engine: Engine, rows: pd.Series | None) -> dict[str, pd.DataFrame]:
    """Return layers and time by bound, kind and precision, by device if there are several, and on tensor cores."""
    if not len(engine):
        return {}
    chosen = pd.Series(True, engine.layers.index) if rows is None else rows
    multiplies = engine.layers["kind"].isin([kind.value for kind in LayerKind if kind.multiplies]) & chosen
    masks = {"bound": chosen, "kind": chosen, "precision": chosen}
    if engine.layers["device"].nunique() > 1:
        masks["device"] = chosen
    if multiplies.any():
        masks["tensor_cores"] = multiplies
    totals = {key: compute_totals(engine, key, rows=mask) for key, mask in masks.items()}
    bounds = totals["bound"]
    totals["bound"] = bounds[bounds["bound"].notna() | bounds["latency_ms"].gt(0).fillna(True)]
    return {key: table for key, table in totals.items() if len(table)}


def describe_place(finding: Finding) -> str:
    """Return the first layer and the number of further ones: `1 +24`; empty for the engine as a whole."""
    more = f" +{len(finding.layers) - 1}" if len(finding.layers) > 1 else ""
    return f"{finding.layers[0]}{more}" if finding.layers else ""


_STYLES: dict[str, Callable[[str], str]] = {
    "kind": kind_style,
    "precision": precision_style,
    "bound": lambda bound: BOUND_STYLES.get(bound, ""),
}


def _make_bars(engine: Engine, key: str, table: pd.DataFrame) -> Iterator[Bar]:
    for row in plain_rows(table):
        word = "unknown" if row[key] is None else engine.columns[key].format(row[key])
        times = (format_ms(row["latency_ms"]), format_pct(row["latency_pct"])) if engine.has_profile else ()
        style = "$muted" if row[key] is None else _STYLES[key](word) if key in _STYLES else ""
        link = None if row[key] is None else LayersFiltered(f"{key}:{word}")
        yield Bar(
            word,
            (str(row["layers"]), *times),
            row["latency_ms" if engine.has_profile else "layers"],
            style,
            link,
        )
