"""Overview screen: facts, time breakdown and hottest layers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget

from trex_tui.old.analysis import conditions
from trex_tui.old.analysis.gap import gap
from trex_tui.old.analysis.structure import hottest
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.lint.model import Judged, LintResult
from trex_tui.old.report.absence import no_layer, no_profile
from trex_tui.old.report.colours import severity_style
from trex_tui.old.report.document import Section, Table
from trex_tui.old.report.views.engine import (
    Analysis,
    analyse,
    bound_sentences,
    engine_sections,
)
from trex_tui.old.report.views.lint import MARKS, describe_clean
from trex_tui.old.report.views.plan import plan_sections
from trex_tui.old.report.views.timing import latency_facts, no_run, performance_sections
from trex_tui.old.report.views.totals import group_filter
from trex_tui.old.screens.explanation import (
    ShownNumber,
    gap_numbers,
    group_numbers,
    saving_numbers,
    section_numbers,
    statistic_numbers,
)
from trex_tui.old.screens.jobs import LintJob
from trex_tui.old.screens.pane import FindingOpened, LayersFiltered, LayerTablePane, Selection, ShowsLint
from trex_tui.old.screens.services import compute
from trex_tui.old.text import MISSING, format_ms, plural, printable
from trex_tui.old.widgets.actions import ACTIONS, Place, bindings_in, key_label
from trex_tui.old.widgets.bars import bar_lines, computed_share_tables, share_tables
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.table_columns import latency_columns
from trex_tui.old.widgets.table_model import TableColumn, fit
from trex_tui.old.widgets.text_columns import TargetOpened, TextColumns, column_width
from trex_tui.old.widgets.text_view import (
    EMPTY,
    LABEL_WIDTH,
    TextLine,
    fact_lines,
    heading_line,
    sections,
    sentence_line,
    text_lines,
)

MOST_FINDINGS = 8
"""Findings shown; the Lint screen has the rest."""
MOST_HOT, MOST_HOT_TALL = 10, 100
"""Fewest layers in the list of the hottest, and most if they fit."""
_TWO_COLUMNS, _THREE_COLUMNS = 79, 139
"""Widths from which the facts have two and three columns."""
_HOT_COLUMNS = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "cumulative_pct", "tactic")
_NAME_WIDTH = 24
"""Narrower than on Latency: the cumulative share fits in 80 columns."""
_UNFOLD = next(key_label(action.keys) for action in ACTIONS if action.id == "overview.all")
_STATISTIC, _FIGURE = 6, 8
"""Cells for the name of a statistic and, with the gap before it, for a figure."""


class OverviewPane(LayerTablePane, ShowsLint):
    """Facts and shares above the hottest layers."""

    DEFAULT_CSS = """
    /* Overview: facts, in as many columns as there is room for, above the hottest layers. */
    OverviewPane {
        layout: vertical;
        & > #overview-facts {
            height: 1fr;
            background: $surface;
            border-bottom: solid $panel;
            border-subtitle-color: $text-muted;
            &:focus { border-bottom: solid $primary; }
        }
        &.-only-words > #hot-layers, &.-no-list > #hot-layers { display: none; }
        &.-no-list > #overview-facts { border-bottom: none; }
    }
    """
    SCOPED_CSS = False

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.OVERVIEW)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.analysis: Analysis | None = None
        self.lint: LintResult | None = None
        self._lint_waiting = self._waiting = "…"
        """Placeholder for pending findings and figures."""
        self._is_hopeless = False
        """True if pending figures will never be computed."""
        self._layers: Sequence[Layer] = engine.layers
        self._hottest: Sequence[Layer] = ()
        """The hottest layers, up to the most that fit any terminal."""
        self._room_for_hot = MOST_HOT
        self._extra: Layer | None = None
        """The current layer, shown below the hottest if it is not one of them."""
        self._is_filtered = False
        self.is_unfolded = False
        self._tables: list[Table] | None = None
        self.table = VirtualTable(
            hot_columns(engine, "Hottest layers"), id="hot-layers", empty_text=no_layer(engine)
        )
        self.words: TextColumns = TextColumns(self._make_columns, id="overview-facts")

    def compose(self) -> ComposeResult:
        yield self.words
        yield self.table

    def on_mount(self) -> None:
        """Show the known facts; compute the others after the first frame."""
        self.set_class(not self.engine.has_profile, "-no-list")
        self._find_hottest()
        make = partial(analyse, self.engine)
        take, refuse = self._take_analysis, self._refuse_analysis
        self.call_after_refresh(compute, self, "Computing the overview", make, take, refuse)

    def _take_analysis(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._renew()
        self.place_divider()
        self.refresh_bindings()

    def _refuse_analysis(self, problem: str) -> bool:
        self._waiting, self._is_hopeless = problem, True
        self._renew()
        return bool(self.display)

    def _renew(self) -> None:
        self._tables = None
        self.words.renew()

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        self._layers, self._is_filtered = layers, bool(filter_text)
        self._renew()
        self._find_hottest()

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
            self._extra = extra
            self._show_hot()
        super().show_layer(layer)

    def _find_hottest(self) -> None:
        self._hottest, self._extra = hottest(self._layers, MOST_HOT_TALL), None
        self.place_divider()
        self._show_hot()

    @property
    def _hot(self) -> Sequence[Layer]:
        """Return the hottest layers that fit."""
        return self._hottest[: max(MOST_HOT, self._room_for_hot)]

    def _show_hot(self) -> None:
        if self.engine.has_profile:
            rows = [*self._hot, *([self._extra] if self._extra is not None else [])]
            self.table.set_columns(hot_columns(self.engine, self._hot_title()))
            self.table.set_rows(rows, keep=lambda layer: layer.index)

    def _hot_title(self) -> str:
        has_extra = self._extra is not None
        if self._is_filtered:
            return f"Hottest of {len(self._layers)}" + (", and current" if has_extra else " that match")
        return "Hottest and current layer" if has_extra else "Hottest layers"

    @property
    def divided_parts(self) -> tuple[Widget, Widget]:
        return self.words, self.table

    def _divide(self, cells: int | None) -> None:
        super()._divide(cells)
        self._take_room_for_hot(self._own_room_for_hot() if cells is None else self.size.height - cells - 1)

    def _own_extents(self) -> tuple[str | None, str | None]:
        shown = min(self._own_room_for_hot(), len(self._hottest) + (self._extra is not None))
        return None, str(1 + max(1, shown))

    def _own_room_for_hot(self) -> int:
        """Return the rows of the list until the user moves the divider: half of the height, and what the facts leave."""
        room = self.size.height
        width = self.words.text_width if self.analysis is not None or self._is_hopeless else 0
        facts = len(self.words.wrapped(width)) + 1 if width > 0 else room
        return max(room // 2, room - facts) - 1

    def _take_room_for_hot(self, rows: int) -> None:
        before = len(self._hot)
        self._room_for_hot = rows
        if len(self._hot) != before:
            if any(hot is self._extra for hot in self._hot):
                self._extra = None
            self._show_hot()

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
        if self.analysis is not None:
            facts += gap_numbers(gap(self.engine, self.analysis.statistics))
        facts += group_numbers(self._share_tables())
        facts += section_numbers([Section("shares", "", tables=self._share_tables())])
        facts += [] if self.lint is None else saving_numbers(self.engine, self.lint)
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
        """Disable zoom without a list, and the toggle without folded options."""
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

    @on(TargetOpened)
    def _open_target(self, event: TargetOpened) -> None:
        """Show the layers of a group, or a finding."""
        event.stop()
        target = event.target
        if isinstance(target, Judged):
            self.post_message(FindingOpened(target))
        elif isinstance(target, str):
            group, _, _ = target.partition(" ")
            self.post_message(LayersFiltered(target, group.replace(":", " ")))

    # Lines

    def _make_columns(self, width: int) -> list[list[TextLine]]:
        """Return the columns: times and findings first, shares beside them, the rest below the shorter column."""
        count = 1 + (width >= _TWO_COLUMNS) + (width >= _THREE_COLUMNS)
        cells = column_width(width, count)
        lead = sections(*self._lead_sections(cells))
        shares = sections(*self._share_sections(cells))
        middle: list[list[TextLine]] = [[] for _ in range(count - 2)]
        columns = [sections(lead, shares)] if count == 1 else [lead, *middle, shares]
        for lines in (*self._run_sections(cells), *self._fact_sections(cells)):
            shortest = min(columns, key=lambda column: sum(len(line.wrap(cells)) for line in column))
            shortest += [*([EMPTY] if shortest else []), *lines]
        return columns

    def _lead_sections(self, width: int) -> Iterator[list[TextLine]]:
        """Return the latency, the worst findings, and doubts about the measurement."""
        yield [heading_line("Performance"), *self._latency_lines()]
        yield self._finding_lines(width)
        yield [
            sentence_line(sentence, "$warning")
            for section in self._engine_sections()
            if section.is_warning
            for sentence in section.sentences
        ]

    def _latency_lines(self) -> list[TextLine]:
        if self.analysis is None:
            return [sentence_line(self._waiting, "$muted")]
        statistics = self.analysis.statistics
        return fact_lines(latency_facts(statistics)) if statistics else [sentence_line(no_run(self.engine))]

    def _finding_lines(self, width: int) -> list[TextLine]:
        if self.lint is None:
            return [heading_line("Findings"), sentence_line(self._lint_waiting, "$muted")]
        findings = self.lint.findings
        count = f": {MOST_FINDINGS} of {len(findings)}" if len(findings) > MOST_FINDINGS else ""
        lines = [heading_line(f"Findings{count}")]
        if not findings:
            return [*lines, *text_lines([describe_clean(self.lint)])]
        longest = max(len(judged.rule.id) for judged in findings[:MOST_FINDINGS])
        for judged in findings[:MOST_FINDINGS]:
            mark = f"{MARKS[judged.severity]} {judged.rule.id:<{longest}}  "
            saving = "" if judged.saving_ms is None else f"{format_ms(judged.saving_ms)} ms  "
            # The message begins with the name of a layer, which would take the whole width; the title matters most.
            title, room = judged.rule.title, width - len(mark)
            forms = (printable(judged.message), saving + title, title)
            words = next((form for form in forms if cell_len(form) <= room), "")
            if not words:
                words = set_cell_size(title, max(0, room - 1)).rstrip(" …") + "…"
            content = Content.assemble((mark, severity_style(judged.severity)), words)
            lines.append(TextLine(content, target=judged))
        return lines

    def _run_sections(self, width: int) -> Iterator[list[TextLine]]:
        """The gap to the layer times, then the statistics of the run."""
        if self.analysis is None:
            return
        most = max(1, (width - _STATISTIC) // _FIGURE)
        for section in reversed(list(performance_sections(self.engine, self.analysis, most))):
            lines = [
                *(line for table in section.tables for line in _table_lines(table)),
                *fact_lines(fact for fact in section.facts if fact[0] != "Throughput"),
            ]
            if section.id == "gap":
                lines += map(sentence_line, section.sentences)
            if lines:
                yield [heading_line("Statistics" if section.tables else section.title), *lines]

    def _engine_sections(self) -> Iterable[Section]:
        return engine_sections(self.engine, self.analysis, conditions.utc_now())

    def _fact_sections(self, width: int) -> Iterator[list[TextLine]]:
        for section in self._engine_sections():
            facts = self._fact_lines(section, width)
            sentences = () if section.is_warning else map(sentence_line, section.sentences)
            yield [heading_line(section.title), *facts, *sentences]

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

    def _share_sections(self, width: int) -> Iterator[Sequence[TextLine]]:
        if self._is_filtered:
            words = f"Filtered: {plural(len(self._layers), 'layer')}" if self._layers else ""
            yield [sentence_line(words or no_layer(self.engine), "$warning")]
        if not self.engine.has_profile:
            yield [sentence_line(no_profile(self.engine), "$warning")]
        if self.analysis is None and self._layers:
            yield [heading_line("Bound by"), sentence_line(self._waiting, "$muted")]
        tables = self._share_tables()
        notes = [sentence_line(note, "$muted") for note in bound_sentences(self.analysis) if self._layers]
        for table, (head, *rows) in zip(tables, bar_lines(tables, width), strict=True):
            targets = [group_filter(table.id, row[0]) for row in table.rows]
            lines = [TextLine(line, target=target) for line, target in zip(rows, targets, strict=True)]
            why = [] if rows else [notes.pop(0)] if notes else []
            yield [TextLine(head), *lines, *why]
        yield notes

    def _share_tables(self) -> list[Table]:
        if self._tables is None:
            self._tables = share_tables(self.engine, self._layers) if self._layers else []
            if self._layers and self.analysis is not None:
                bound, *others = computed_share_tables(self.engine, self._layers)
                self._tables = [bound, *self._tables, *others]
        return self._tables


def hot_columns(engine: Engine, title: str) -> list[TableColumn[Layer]]:
    """Return the columns of the hottest layers; `title` is that of the names."""
    columns = {column.key: column for column in latency_columns(engine)}
    columns["name"] = replace(columns["name"], title=title, width=max(_NAME_WIDTH, len(title)))
    return [columns[name] for name in _HOT_COLUMNS if name in columns]


def _table_lines(table: Table) -> list[TextLine]:
    titles = [column.title for column in table.columns]
    texts = [table.texts(index) for index in range(len(titles))]
    lines = []
    for number, (name, *cells) in enumerate((titles, *zip(*texts, strict=True)) if table.rows else ()):
        figures = "".join(fit(cell, _FIGURE, right=True) for cell in cells)
        style = "" if number else "$muted"
        lines.append(TextLine(Content.assemble((fit(name, _STATISTIC), "$muted"), (figures, style))))
    return lines
