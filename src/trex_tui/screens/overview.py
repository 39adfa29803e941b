"""What an engine is and where its time goes, at a glance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from trex_tui.analysis import conditions
from trex_tui.analysis.structure import hottest
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.lint.model import LintResult
from trex_tui.report.document import Section, Table
from trex_tui.report.views.engine import (
    Analysis,
    analyse,
    bound_sentences,
    engine_sections,
)
from trex_tui.report.views.lint import worst_lines
from trex_tui.report.views.plan import plan_sections
from trex_tui.report.views.timing import performance_sections
from trex_tui.report.views.totals import no_profile
from trex_tui.screens.explanation import ShownNumber, section_numbers, statistic_numbers
from trex_tui.screens.jobs import LintJob
from trex_tui.screens.pane import LayerTablePane, Selection, ShowsLint
from trex_tui.screens.services import compute
from trex_tui.text import MISSING, plural
from trex_tui.widgets.actions import ACTIONS, Place, bindings_in, key_label
from trex_tui.widgets.bars import bar_lines, computed_share_tables, share_tables
from trex_tui.widgets.table import VirtualTable
from trex_tui.widgets.table_columns import latency_columns
from trex_tui.widgets.table_model import TableColumn, fit
from trex_tui.widgets.text_view import (
    LABEL_WIDTH,
    TextBlock,
    TextLine,
    TextScroll,
    fact_lines,
    heading_line,
    sections,
    sentence_line,
    text_lines,
)

MOST_FINDINGS = 4
"""Findings shown; the Lint screen has the rest."""
MOST_HOT = 10
"""Layers in the list of the hottest."""
_HOT_COLUMNS = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "cumulative_pct", "tactic")
_NAME_WIDTH = 24
"""Narrower than on Latency: the cumulative share fits in 80 columns."""
_UNFOLD = next(key_label(action.keys) for action in ACTIONS if action.id == "overview.all")
_STATISTIC, _FIGURE = 6, 8
"""Cells for the name of a statistic and, with the gap before it, for a figure."""


class OverviewPane(LayerTablePane, ShowsLint):
    """Facts and shares above the hottest layers."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.OVERVIEW)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.analysis: Analysis | None = None
        self.lint: LintResult | None = None
        self._lint_waiting = self._waiting = "…"
        """Placeholder for pending findings and figures."""
        self._is_hopeless = False
        """Whether what was to be computed never will be."""
        self._layers: Sequence[Layer] = engine.layers
        self._hot: Sequence[Layer] = ()
        self._extra: Layer | None = None
        """The current layer, shown below the hottest if it is not one of them."""
        self._is_filtered = False
        self.is_unfolded = False
        self._tables: list[Table] | None = None
        self.table = VirtualTable(
            _hot_columns(engine, "Hottest layers"), id="hot-layers", empty_text="No layer matches the filter."
        )
        self.words = TextScroll(id="overview-facts")

    def compose(self) -> ComposeResult:
        with self.words, Container(id="overview-columns"):
            with Container(id="overview-words"):
                yield TextBlock(make=self._performance_lines, id="overview-performance")
                yield TextBlock(make=self._engine_lines, id="overview-engine")
            yield TextBlock(make=self._share_lines, id="overview-shares")
        yield self.table

    def on_mount(self) -> None:
        """Show what is known; analyse after the first frame."""
        self.set_class(not self.engine.has_profile, "-no-list")
        self._show_hot(None)
        make = partial(analyse, self.engine)
        take, refuse = self._take_analysis, self._refuse_analysis
        self.call_after_refresh(compute, self, "Computing the overview", make, take, refuse)

    def _take_analysis(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._renew()
        self.refresh_bindings()

    def _refuse_analysis(self, problem: str) -> bool:
        self._waiting, self._is_hopeless = problem, True
        self._renew()
        return bool(self.display)

    def _renew(self) -> None:
        self._tables = None
        for lines in self.query(TextBlock):
            lines.renew()

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        self._layers, self._is_filtered = layers, bool(filter_text)
        self._show_hot(None)
        self._renew()

    def show_lint(self, job: LintJob) -> None:
        self.lint = job.result
        if job.problem:
            self._lint_waiting = f"Rules not checked: {job.problem}"
        self._renew()

    def show_layer(self, layer: Layer | None) -> None:
        """Select the layer; add it to the list if it is not among the hottest."""
        if layer is None:
            return
        is_shown = any(shown is layer for shown in self._layers)
        extra = layer if is_shown and not any(hot is layer for hot in self._hot) else None
        if extra is not self._extra:
            self._show_hot(extra)
        super().show_layer(layer)

    def _show_hot(self, extra: Layer | None) -> None:
        if not self.engine.has_profile:
            return
        self._hot, self._extra = hottest(self._layers, MOST_HOT), extra
        rows = [*self._hot, *([extra] if extra is not None else [])]
        self.table.set_columns(_hot_columns(self.engine, self._hot_title()))
        self.table.set_rows(rows, keep=lambda layer: layer.index)
        self.place_divider()

    def _hot_title(self) -> str:
        has_extra = self._extra is not None
        if self._is_filtered:
            return f"Hottest of {len(self._layers)}" + (", and current" if has_extra else " that match")
        return "Hottest and current layer" if has_extra else "Hottest layers"

    @property
    def divided_parts(self) -> tuple[Widget, Widget]:
        return self.words, self.table

    def _divide(self, cells: int | None) -> None:
        """Give the list the lines that it has rows for, until somebody moves the divider."""
        super()._divide(cells)
        self.table.styles.max_height = None if cells is None else "100%"
        if cells is None:
            self.table.styles.height = len(self.table.shown_rows) + 1 if self.table.shown_rows else 2

    @property
    def main_part(self) -> Widget:
        """The list; without a profile the facts."""
        table = super().main_part
        return table if self.engine.has_profile else self.words

    def selection(self) -> Selection:
        """All matching layers."""
        return Selection(self.engine)

    def numbers(self) -> list[ShownNumber]:
        """The facts, statistics and shares, and the columns of the list; these first if one is chosen."""
        columns = super().numbers()
        shown = [*self._performance(), *self._engine_sections()]
        facts = [*section_numbers(shown), *statistic_numbers(shown)]
        facts += section_numbers([Section("shares", "", tables=self._share_tables())])
        return [*columns, *facts] if self.table.current_column else [*facts, *columns]

    @property
    def explained_thing(self) -> str:
        return super().explained_thing if self.table.current_column else self.engine.name

    def _performance(self) -> Iterator[Section]:
        if self.analysis is not None:
            yield from performance_sections(self.engine, self.analysis)

    def view_state(self) -> object:
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a list there is nothing to zoom, without folded options nothing to show."""
        if action == "zoom":
            return self.engine.has_profile
        if action == "toggle_all":
            return self.analysis is not None and any(
                part.folded for part in plan_sections(self.analysis.plan)
            )
        return super().check_action(action, parameters)

    def action_toggle_all(self) -> None:
        self.is_unfolded = not self.is_unfolded
        self._renew()
        state = "shown" if self.is_unfolded else "folded"  # they may be below the edge of the pane
        self.notify(f"Options at their default: {state}.", markup=False)

    def action_zoom(self) -> None:
        if self.has_class("-only-words"):
            self.screen.set_focus(self.main_part)
        else:
            self.add_class("-only-words")
            self.screen.set_focus(self.words)

    # Lines

    def _performance_lines(self, width: int) -> list[TextLine]:
        return sections(
            *self._run_lines(width),
            [
                sentence_line(sentence, "$warning")
                for section in self._engine_sections()
                if section.is_warning
                for sentence in section.sentences
            ],
            self._finding_lines(),
        )

    def _finding_lines(self) -> list[TextLine]:
        title = heading_line("Findings")
        if self.lint is None:
            return [title, sentence_line(self._lint_waiting, "$muted")]
        return [title, *text_lines(worst_lines(self.lint, MOST_FINDINGS), None)]

    def _run_lines(self, width: int) -> Iterator[list[TextLine]]:
        if self.analysis is None:
            yield [heading_line("Performance"), sentence_line(self._waiting, "$muted")]
            return
        most = max(1, (width - _STATISTIC) // _FIGURE)
        for section in performance_sections(self.engine, self.analysis, most):
            yield [
                heading_line(section.title),
                *map(sentence_line, section.sentences),
                *(line for table in section.tables for line in _table_lines(table)),
                *fact_lines(section.facts),
            ]

    def _engine_sections(self) -> Iterable[Section]:
        return engine_sections(self.engine, self.analysis, conditions.utc_now())

    def _engine_lines(self, width: int) -> list[TextLine]:
        return sections(
            *(
                [
                    heading_line(section.title),
                    *self._fact_lines(section, width),
                    *(() if section.is_warning else map(sentence_line, section.sentences)),
                ]
                for section in self._engine_sections()
            )
        )

    def _fact_lines(self, section: Section, width: int) -> list[TextLine]:
        facts = [*self._known(section.facts), *(section.folded if self.is_unfolded else ())]
        longest = max((len(label) for label, _ in facts), default=0)
        lines = fact_lines(facts, max(LABEL_WIDTH, min(longest, width // 3)))
        if section.folded and not self.is_unfolded:
            lines.append(sentence_line(f"{len(section.folded)} more: {_UNFOLD}", "$muted"))
        return lines

    def _known(self, facts: Sequence[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        """Replace pending values that will not come."""
        if not self._is_hopeless:
            return facts
        return [(label, MISSING if value == "…" else value) for label, value in facts]

    def _share_lines(self, width: int) -> list[TextLine]:
        return sections(*self._share_sections(width))

    def _share_sections(self, width: int) -> Iterator[Sequence[TextLine]]:
        if self._is_filtered:
            words = (
                f"Of the {plural(len(self._layers), 'layer')} that match the filter" if self._layers else ""
            )
            yield [sentence_line(words or "No layer matches the filter.", "$warning")]
        if not self.engine.has_profile:
            yield [sentence_line(no_profile(self.engine), "$warning")]
        for table, lines in zip(self._share_tables(), bar_lines(self._share_tables(), width), strict=True):
            notes = bound_sentences(self.analysis) if self.analysis and table.id == "by_bound" else ()
            yield [*map(TextLine, lines), *(sentence_line(note, "$muted") for note in notes)]
        if self.analysis is None and self._layers:
            yield [heading_line("Bound by"), sentence_line(self._waiting, "$muted")]

    def _share_tables(self) -> list[Table]:
        if self._tables is None:
            self._tables = share_tables(self.engine, self._layers) if self._layers else []
            if self._layers and self.analysis is not None:
                self._tables += computed_share_tables(self.engine, self._layers)
        return self._tables


def _hot_columns(engine: Engine, title: str) -> list[TableColumn[Layer]]:
    columns = {column.key: column for column in latency_columns(engine)}
    columns["name"] = replace(columns["name"], title=title, width=max(_NAME_WIDTH, len(title)))
    return [columns[name] for name in _HOT_COLUMNS]


def _table_lines(table: Table) -> list[TextLine]:
    titles = [column.title for column in table.columns]
    texts = [table.texts(index) for index in range(len(titles))]
    lines = []
    for number, (name, *cells) in enumerate((titles, *zip(*texts, strict=True)) if table.rows else ()):
        figures = "".join(fit(cell, _FIGURE, right=True) for cell in cells)
        style = "" if number else "$muted"
        lines.append(TextLine(Content.assemble((fit(name, _STATISTIC), "$muted"), (figures, style))))
    return lines
