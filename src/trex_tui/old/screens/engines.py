"""List of engines with their key numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content

from trex_tui.old.analysis.filter import FilterError
from trex_tui.old.artifacts import ArtifactSet, Discovery
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import Severity
from trex_tui.old.fleet.engine_columns import COLUMNS_BY_NAME, DEFAULT_COLUMNS
from trex_tui.old.fleet.split_model import find_parts
from trex_tui.old.fleet.table import default_columns, filter_rows
from trex_tui.old.screens.compare_job import MOST_OTHERS
from trex_tui.old.screens.dialogs import (
    ChooseScreen,
    ColumnsScreen,
    TextScreen,
    choose_sort,
)
from trex_tui.old.screens.engine_rows import (
    GROUPINGS,
    LISTED,
    STATE,
    EngineRow,
    EnginesTable,
    column_titles,
    describe_row,
    find_variants,
    list_differences,
    make_columns,
    with_models,
)
from trex_tui.old.screens.list_actions import (
    CopiedRows,
    Explanation,
    ListActions,
    ListOffer,
    copy_engines,
    explain_row,
    offer_engines,
)
from trex_tui.old.screens.list_view import EngineOpened, ListView, SetsOpened
from trex_tui.old.screens.pane import restore_sort
from trex_tui.old.screens.services import EngineHolder, ReloadAsked, get_services
from trex_tui.old.screens.text_screens import diagnostic_lines
from trex_tui.old.text import format_ms, plural, printable
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.chrome import SummaryLine, TooSmall
from trex_tui.old.widgets.filter_bar import FilterBar, FilterChanged, FilterClosed
from trex_tui.old.widgets.table import RowHighlighted, RowSelected, SortChanged, SortKey
from trex_tui.old.widgets.text_view import TextLine

_HINT = "words · device:orin · precision:fp16 · latency_p99_ms<5 · -word · or"


class EnginesScreen(ListActions, EngineHolder):
    """The list of engines; it fills while they are read.

    Args:
        discovery: What was found.
        current: Name of the engine that the cursor begins on, if it is among them.
        rows: The engines, where they are read already.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.ENGINES)

    help_places: ClassVar[list[Place]] = [
        Place.ENGINES,
        Place.MOVE,
        Place.DIALOG,
        Place.EVERYWHERE,
    ]

    def __init__(self, discovery: Discovery, current: str = "", rows: Sequence[EngineRow] = ()) -> None:
        super().__init__()
        self._current = current
        self._discovery = discovery
        self._rows = list(rows) or [EngineRow.unread(source) for source in discovery.sets]
        self._marked: list[str] = []
        """Names of the marked engines, in the order of marking: the first is the baseline."""
        self.table = EnginesTable(
            make_columns(self._default_names), id="engines", empty_text="No engine matches the filter."
        )
        self.filter_bar = FilterBar(lambda _: None, _HINT)
        self._filter_text = ""
        self._refused: FilterError | None = None
        self._chosen: tuple[str, ...] = ()
        """Columns chosen by the user; empty for the default columns that have a value."""
        self._split_words = ""
        self.title_line = SummaryLine(id="engines-title")
        self.words = SummaryLine(id="engines-words")

    def compose(self) -> ComposeResult:
        yield self.title_line
        yield self.table
        yield self.filter_bar
        yield self.words
        yield self.footer()
        yield TooSmall()

    def on_mount(self) -> None:
        settings = get_services(self).settings
        self._chosen = tuple(name for name in settings.engine_columns if name in LISTED)
        if self._chosen:
            self._show_columns(self._chosen)
        if settings.engine_sort is not None:
            restore_sort(self.table, [SortKey(*key) for key in settings.engine_sort])
        self._show()
        self.go_to(self._current)
        self.table.focus()

    def go_to(self, name: str) -> None:
        """Put the cursor on an engine, if there is one of that name."""
        row = self.table.find_row(name)
        if row is not None:
            self.table.move_to(row)

    @property
    def rows(self) -> list[EngineRow]:
        return self._rows

    def held_engines(self) -> list[Engine]:
        return [row.engine for row in self._rows if row.engine is not None]

    def listed_sets(self, *, unread: bool = False) -> list[ArtifactSet]:
        """Return the listed sets; optionally only those whose engine is not held."""
        rows = [row for row in self._rows if not unread or (row.engine is None and row.error is None)]
        return [row.source for row in rows]

    @property
    def current_name(self) -> str:
        """Name of the engine under the cursor; empty if there is none."""
        row = self.current_row
        return row.source.name if row else ""

    @property
    def current_row(self) -> EngineRow | None:
        """The engine under the cursor; on a heading, the first engine below it."""
        row = self.table.cursor_item
        return row.members[0] if row is not None and row.members else row

    @property
    def shown_engines(self) -> Sequence[EngineRow]:
        return self.table.shown_engines

    @property
    def marked_names(self) -> Sequence[str]:
        return self._marked

    def action_reload(self) -> None:
        self.post_message(ReloadAsked())

    def set_rows(self, rows: list[EngineRow]) -> None:
        self._rows = rows
        self._show()
        for screen in self.app.screen_stack:
            if isinstance(screen, ListView):
                screen.follow_list()

    def replace_engine(self, old: Engine, new: Engine) -> None:
        rows = []
        for row in self._rows:
            if row.engine is old:
                rows.append(EngineRow.loaded(row.source, new))
            elif row.engine is None and row.source == old.source:
                rows.append(replace(EngineRow.loaded(row.source, new), engine=None))
            else:
                rows.append(row)
        self.set_rows(with_models(rows))

    def _show(self) -> None:
        if not self._chosen:
            self._show_columns(self._default_names)
        wanted = get_services(self).settings.engine_grouping
        is_complete = all(row.is_read for row in self._rows)  # the model depends on the other engines
        self._split_words = self._describe_split_models() if is_complete else ""
        self.table.show_engines(self._rows, wanted if is_complete and wanted in GROUPINGS else "")
        self._apply_filter()
        self._say_title()

    def _describe_split_models(self) -> str:
        return "".join(
            f" · {printable(name)}: {len(parts)} parts, Σ layers {_format_sum(parts)} ms"
            for name, parts in find_parts((row.source, row) for row in self._rows if row.is_readable)
        )

    def _say_title(self) -> None:
        read = sum(row.is_read for row in self._rows)
        words = plural(len(self._rows), "engine")
        if read < len(self._rows):
            words += f", {read} read"
        if self._filter_text.strip():
            shown = len(self.table.shown_engines)
            words = f"{shown} of {words} · /{printable(self._filter_text.strip())}"
        if self.table.grouping:
            words += f" · by {COLUMNS_BY_NAME[self.table.grouping].title}"
        words += self._split_words
        if self._discovery.diagnostics:
            words += f" · {plural(len(self._discovery.diagnostics), 'file')} skipped"
        if self._marked:
            words += f" · {len(self._marked)} marked, A is {self._marked[0]}"
        if len(self._marked) == 1:
            words += "; = compares it with the one under the cursor"
        elif not self._marked and len(self._pair()) == 2:
            words += " · = compares both"
        self.title_line.text = words
        self._say_row()

    @on(RowHighlighted)
    def _say_row(self) -> None:
        row = self.table.cursor_item
        self.words.text = describe_row(row, self._rows) if row else ""

    def action_notes(self) -> None:
        errors = [row.error.diagnostic for row in self._rows if row.error is not None]
        notes = [note for row in self._rows for note in row.notes if note.severity is not Severity.INFO]
        lines = diagnostic_lines([*errors, *self._discovery.diagnostics, *notes])
        self.app.push_screen(TextScreen("Notes", lines or [TextLine(Content("No skipped files."))]))

    def action_mark(self) -> None:
        """Toggle the mark, on a heading those of all engines below it; the cursor stays."""
        row = self.table.cursor_item
        if row is not None:
            self.toggle_marks(row.members or (row,))

    def toggle_marks(self, rows: Sequence[EngineRow]) -> None:
        """Mark engines; if all are marked, unmark them."""
        names = [row.source.name for row in rows]
        new = [name for name in names if name not in self._marked]
        self._marked = [*self._marked, *new] if new else [name for name in self._marked if name not in names]
        self._mark()

    def _mark(self) -> None:
        self.table.marked = frozenset(self._marked)
        self._say_title()
        self.refresh_bindings()

    # Order and columns

    def action_choose_sort(self) -> None:
        choose_sort(self.table, "order found")

    def action_reverse(self) -> None:
        self.table.reverse_sort()

    @on(SortChanged)
    def _sorted(self, event: SortChanged[EngineRow]) -> None:
        keys = tuple((key.column, key.descending) for key in event.keys)
        get_services(self).remember(engine_sort=keys)

    def action_group_engines(self) -> None:
        """Group by the next column in which the engines differ."""
        known = [
            name
            for name in GROUPINGS
            if not name or len({row.facts.value(name) for row in self._rows if row.is_read}) > 1
        ]
        now = self.table.grouping
        place = known.index(now) + 1 if now in known else 0
        get_services(self).remember(engine_grouping=known[place % len(known)])
        if len(known) < 2:
            self.notify("All engines are of one group.", markup=False)
        self._show()

    @property
    def _default_names(self) -> list[str]:
        """Return the columns of `trex-tui engines`; once engines are read, only those with a value."""
        if not any(row.is_readable for row in self._rows):
            return [name for name in DEFAULT_COLUMNS if name in LISTED]
        names = [
            column.name
            for column in default_columns(row.facts for row in self._rows)
            if column.name in LISTED
        ]
        return [name for name in names if any(row.facts.value(name) is not None for row in self._rows)]

    @property
    def _column_names(self) -> list[str]:
        return [column.key for column in self.table.columns if column.key != STATE]

    def _show_columns(self, names: Sequence[str]) -> None:
        if list(names) != self._column_names:
            with self.table.prevent(SortChanged):  # A sort of another list may have no column here.
                self.table.set_columns(make_columns(names))

    def action_choose_columns(self) -> None:
        screen = ColumnsScreen(column_titles(), self._column_names, self._default_names, self._fitting)
        self.app.push_screen(screen, self._choose_columns)

    def _choose_columns(self, names: tuple[str, ...] | None) -> None:
        if names:
            self._chosen = () if list(names) == self._default_names else names
            self._show_columns(names)
            get_services(self).remember(engine_columns=self._chosen)

    def _fitting(self, names: Sequence[str]) -> set[str]:
        """Return which of some columns fit into the table."""
        return {column.key for column in self.table.choose_fitting(make_columns(names))}

    # Filter

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc needs a filter or marks; a typed `/` is text."""
        if action == "clear":
            return bool(self._filter_text or self._marked)
        if action == "filter":
            return not self.filter_bar.is_open
        return super().check_action(action, parameters)

    def action_filter(self) -> None:
        self.filter_bar.open(self._filter_text)
        self.filter_bar.error = self._refused
        self.refresh_bindings()

    def action_clear(self) -> None:
        """Clear the filter; without one the marks."""
        if self._filter_text:
            self._set_filter("")
        else:
            self._marked.clear()
            self._mark()

    @on(FilterChanged)
    def _filter_changed(self, event: FilterChanged) -> None:
        self._set_filter(event.text)

    @on(FilterClosed)
    def _filter_closed(self, event: FilterClosed) -> None:
        if not event.keep:
            self._set_filter("")
        elif self._refused is not None:
            words = printable(str(self._refused))
            self.notify(words, title="Filter unchanged", severity="warning", markup=False)
        self.refresh_bindings()

    def on_descendant_focus(self) -> None:
        """Close the filter line when the focus moves elsewhere."""
        bar = self.filter_bar
        if bar.is_open and self.focused is not None and bar not in self.focused.ancestors:
            bar.close()
            self.refresh_bindings()

    def _set_filter(self, text: str) -> None:
        """Apply a filter; keep the previous one if the text is invalid."""
        before, self._filter_text, self._refused = self._filter_text, text, None
        try:
            self._apply_filter()
        except FilterError as error:
            self._filter_text, self._refused = before, error
        self.filter_bar.error = self._refused
        is_empty = self._refused is None and not self.table.shown_count
        self.filter_bar.note = "0 engines match" if is_empty else ""
        self._say_title()
        self.refresh_bindings()

    def _apply_filter(self) -> None:
        if not self._filter_text.strip():
            self.table.show_matching(None)
            return
        facts = [row.facts for row in self._rows]
        self.table.show_matching({id(row) for row in filter_rows(facts, self._filter_text)})

    # Comparison

    def action_compare(self) -> None:
        self.compare_marked(self.current_row)

    def compare_marked(self, row: EngineRow | None) -> None:
        """Compare the marked engines, the first as the baseline; one marked engine with that of the row; or the only two."""
        by_name = {row.source.name: row for row in self._rows}
        rows = [by_name[name] for name in self._marked if name in by_name] or self._pair()
        if len(rows) == 1 and row is not None and row not in rows:
            rows.append(row)
        lacking = [row.source.name for row in rows if not row.is_readable]
        if len(rows) < 2:
            words = "Mark at least two engines with Space; the first is the baseline."
        elif len(rows) > MOST_OTHERS + 1:
            words = f"{len(rows)} engines marked; at most {MOST_OTHERS + 1} can be compared."
        elif lacking:
            words = f"{printable(lacking[0])} is not loaded or unreadable."
        else:
            self._open(rows)
            return
        self.notify(words, markup=False)

    def action_compare_variant(self) -> None:
        """Choose an engine of the same model (other device, precision or batch) and compare with it."""
        row = self.current_row
        variants = [] if row is None else find_variants(row, self._rows)
        if row is None or not variants:
            self.notify("No other engine of this model or a similar one in the list.", markup=False)
            return
        by_name = {other.source.name: other for other in variants}
        width = max(map(len, by_name))
        options = {
            name: f"{name:<{width}}  {', '.join(list_differences(row, other)) or 'another build'}"
            for name, other in by_name.items()
        }

        def chosen(name: str | None) -> None:
            if name is not None:
                self._open([row, by_name[name]])

        self.app.push_screen(ChooseScreen("Compare with the same model", options), chosen)

    def _open(self, rows: Sequence[EngineRow]) -> None:
        """Open an engine, or compare several; those that the list does not hold are read first."""
        engines = [row.engine for row in rows if row.engine is not None]
        if len(engines) == len(rows):
            self.post_message(EngineOpened(engines[0], tuple(engines[1:])))
        else:
            self.post_message(SetsOpened(tuple(row.source for row in rows)))

    # Explain, copy, export

    def explanation(self) -> Explanation:
        """Return the values of the row: the sorted column, then numbers, then texts."""
        row = self.current_row
        first = [key.column for key in self.table.sort_keys]
        columns = [COLUMNS_BY_NAME[name] for name in self._column_names]
        columns.sort(key=lambda column: (column.name not in first, not column.is_number))
        numbers = explain_row(columns, None if row is None else row.facts)
        return Explanation(self.current_name, numbers, {} if row is None else row.source.files)

    def copied_rows(self) -> CopiedRows:
        rows = [row for name in self._marked if (row := self.table.find_row(name)) is not None]
        if not rows and (row := self.table.cursor_item) is not None:
            rows = list(row.members or (row,))
        return copy_engines([row.facts for row in rows])

    def export_offers(self) -> list[ListOffer]:
        columns = [COLUMNS_BY_NAME[name] for name in self._column_names]
        facts = [row.facts for row in self.table.shown_engines if row.is_read]
        return [offer_engines(facts, columns, len(self._rows))]

    def exported_sets(self) -> Sequence[ArtifactSet]:
        return [row.source for row in self._rows]

    # Other views of the list

    def action_charts(self) -> None:
        from trex_tui.old.screens.fleet_charts import FleetChartsScreen  # charts take 40 ms

        self.app.push_screen(FleetChartsScreen(self))

    def action_history(self) -> None:
        from trex_tui.old.screens.build_history import BuildHistoryScreen  # 30 ms, with what it compares

        self.app.push_screen(BuildHistoryScreen(self))

    def _pair(self) -> list[EngineRow]:
        """Return the only two engines of the list; empty if there are more or fewer."""
        return list(self._rows) if len(self._rows) == 2 else []

    @on(RowSelected)
    def _selected(self, event: RowSelected[EngineRow]) -> None:
        self.open_row(event.item)

    def open_row(self, row: EngineRow) -> None:
        """Open the engine of a row, or show its error; a heading opens nothing."""
        if row.is_readable:
            self._open([row])
        elif row.error is not None:
            notes = [row.error.diagnostic, *row.error.diagnostics]
            self.app.push_screen(
                TextScreen(f"{printable(row.source.name)} cannot be opened", diagnostic_lines(notes))
            )


def _format_sum(parts: Sequence[EngineRow]) -> str:
    """Return the sum of the layer times of the parts with times."""
    known = [time for row in parts if (time := row.facts.value("latency_sum_ms")) is not None]
    return format_ms(sum(known) if known else None)
