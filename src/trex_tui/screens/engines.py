"""List of engines with their key numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from trex_tui.analysis.filter import FilterError
from trex_tui.artifacts import ArtifactSet, Discovery
from trex_tui.engine.engine import Engine
from trex_tui.errors import ArtifactError, Severity
from trex_tui.fleet.engine_columns import COLUMNS, COLUMNS_BY_NAME, DEFAULT_COLUMNS, FleetColumn, Need
from trex_tui.fleet.split_model import find_split_models
from trex_tui.fleet.table import FleetRow, filter_rows, make_row, make_table
from trex_tui.report.views.fleet import document_column
from trex_tui.report.views.runs import run_words
from trex_tui.screens.compare_job import MOST_OTHERS
from trex_tui.screens.dialogs import ColumnsScreen, TextScreen, choose_sort
from trex_tui.screens.services import EngineHolder, ReloadAsked
from trex_tui.screens.text_screens import diagnostic_lines
from trex_tui.text import format_ms, plural, printable
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.chrome import MainScreen, SummaryLine, TooSmall, missing_parts
from trex_tui.widgets.filter_bar import FilterBar, FilterChanged, FilterClosed
from trex_tui.widgets.table import RowHighlighted, RowSelected, VirtualTable
from trex_tui.widgets.table_columns import textual_column
from trex_tui.widgets.table_model import TableColumn
from trex_tui.widgets.text_view import TextLine
from trex_tui.widgets.theme import precision_style

_HINT = "words of the name · device:orin · precision:fp16 · latency_p99_ms<5 · -word · or"
_STATE = "notes"
"""Key of the column that says what is missing."""
_LISTED = {column.name: column for column in COLUMNS if column.need < Need.LINT and column.name != "error"}
"""Columns to choose from: the rules of lint take too long for a list, and the line below the table has the error."""


@dataclass(frozen=True, slots=True)
class EngineRow:
    """A set with its engine once loaded, or its error.

    Attributes:
        facts: The row of `trex-tui engines`; without values until the engine is loaded.
    """

    source: ArtifactSet
    engine: Engine | None = None
    error: ArtifactError | None = None
    _: KW_ONLY
    facts: FleetRow

    @classmethod
    def unread(cls, source: ArtifactSet) -> EngineRow:
        return cls(source, facts=_facts(source, {}))

    @classmethod
    def failed(cls, source: ArtifactSet, error: ArtifactError) -> EngineRow:
        return cls(source, error=error, facts=_facts(source, {"error": str(error)}))

    @classmethod
    def loaded(cls, source: ArtifactSet, engine: Engine) -> EngineRow:
        facts = make_row(engine)
        return cls(source, engine, facts=replace(_facts(source, facts.values), signature=facts.signature))

    def value(self, column: str) -> Any:  # noqa: ANN401 - a text or a number
        """Value of a column as it is sorted and shown; None if unknown."""
        value = self.facts.value(column)
        return "; ".join(value) if isinstance(value, list) else value

    @property
    def description(self) -> str:
        """Details without room in the table: location, device and version, or the error."""
        if self.error is not None:
            return f"cannot be read: {self.error.diagnostic.message}"
        parts = [str(self.source.directory)]
        if self.engine is not None:
            version = self.engine.tensorrt_version
            parts += [self.engine.device_name or "", f"TensorRT {version}" if version else ""]
            parts += [*run_words(self.engine), *missing_parts(self.engine)]
        return " · ".join(part for part in parts if part)


def with_models(rows: Sequence[EngineRow]) -> list[EngineRow]:
    """Return the rows with the model of each, which depends on the others."""
    tabled = make_table([row.facts for row in rows])
    return [replace(row, facts=facts) for row, facts in zip(rows, tabled, strict=True)]


def _facts(source: ArtifactSet, values: Mapping[str, Any]) -> FleetRow:
    names = {"engine": source.name, "directory": str(source.directory)}
    return FleetRow({**names, **values}, None, source)


@dataclass
class EngineOpened(Message):
    """An engine was chosen, possibly with others to compare."""

    engine: Engine
    others: tuple[Engine, ...] = ()


class EnginesScreen(MainScreen, EngineHolder):
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
        self.table: VirtualTable[EngineRow] = VirtualTable(
            _make_columns(self._default_names), id="engines", empty_text="No engine matches the filter."
        )
        self.filter_bar = FilterBar(lambda _: None, _HINT)
        self._filter_text = ""
        self._refused: FilterError | None = None
        self._chosen: tuple[str, ...] = ()
        """Columns that a person chose; empty for those by default that have a value."""
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
        self._show()
        for row in self._rows:
            if row.source.name == self._current:
                self.table.move_to(row)
        self.table.focus()

    @property
    def rows(self) -> list[EngineRow]:
        return self._rows

    def held_engines(self) -> list[Engine]:
        return [row.engine for row in self._rows if row.engine is not None]

    def listed_sets(self, *, unread: bool = False) -> list[ArtifactSet]:
        rows = [row for row in self._rows if not unread or (row.engine is None and row.error is None)]
        return [row.source for row in rows]

    @property
    def current_name(self) -> str:
        """Name of the engine under the cursor; empty if there is none."""
        row = self.table.cursor_item
        return row.source.name if row else ""

    def action_reload(self) -> None:
        self.post_message(ReloadAsked())

    def set_rows(self, rows: list[EngineRow]) -> None:
        self._rows = rows
        self._show()

    def replace_engine(self, old: Engine, new: Engine) -> None:
        rows = [EngineRow.loaded(row.source, new) if row.engine is old else row for row in self._rows]
        self.set_rows(with_models(rows))

    def _show(self) -> None:
        if not self._chosen:
            self._show_columns(self._default_names)
        self.table.set_rows(self._rows, keep=lambda row: row.source.name)
        self._apply_filter()
        self._say_title()

    def _say_title(self) -> None:
        read = sum(row.engine is not None or row.error is not None for row in self._rows)
        words = plural(len(self._rows), "engine")
        if read < len(self._rows):
            words += f", {read} read"
        if self._filter_text.strip():
            words = f"{self.table.shown_count} of {words} · /{printable(self._filter_text.strip())}"
        words += "".join(
            f" · {printable(model.name)}: {len(model.parts)} parts, Σ layers {format_ms(model.latency_sum_ms)} ms"
            for model in find_split_models(self.held_engines())
        )
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
        self.words.text = row.description if row else ""

    def action_notes(self) -> None:
        errors = [row.error.diagnostic for row in self._rows if row.error is not None]
        notes = [
            note
            for row in self._rows
            if row.engine is not None
            for note in row.engine.diagnostics
            if note.severity is not Severity.INFO
        ]
        lines = diagnostic_lines([*errors, *self._discovery.diagnostics, *notes])
        self.app.push_screen(TextScreen("Notes", lines or [TextLine(Content("No skipped files."))]))

    def action_mark(self) -> None:
        """Toggle the mark; the cursor stays."""
        row = self.table.cursor_item
        if row is None:
            return
        if row.source.name in self._marked:
            self._marked.remove(row.source.name)
        else:
            self._marked.append(row.source.name)
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

    @property
    def _default_names(self) -> list[str]:
        """The columns of `trex-tui engines`; without those that no engine has a value of, once any is read."""
        names = [name for name in DEFAULT_COLUMNS if name in _LISTED]
        if not self.held_engines():
            return names
        return [name for name in names if any(row.facts.value(name) is not None for row in self._rows)]

    @property
    def _column_names(self) -> list[str]:
        return [column.key for column in self.table.columns if column.key != _STATE]

    def _show_columns(self, names: Sequence[str]) -> None:
        if list(names) != self._column_names:
            self.table.set_columns(_make_columns(names))

    def action_choose_columns(self) -> None:
        titles = {
            name: column.title if column.title == name else f"{column.title}  ({name})"
            for name, column in _LISTED.items()
        }
        screen = ColumnsScreen(titles, self._column_names, self._default_names, self._fitting)
        self.app.push_screen(screen, self._choose_columns)

    def _choose_columns(self, names: tuple[str, ...] | None) -> None:
        if names:
            self._chosen = () if list(names) == self._default_names else names
            self._show_columns(names)

    def _fitting(self, names: Sequence[str]) -> set[str]:
        """Return which of some columns fit into the table."""
        return {column.key for column in self.table.choose_fitting(_make_columns(names))}

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
        """Apply a filter; keep the one before if the text is invalid."""
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
            self.table.set_filter(None)
            return
        matching = {id(row) for row in filter_rows([row.facts for row in self._rows], self._filter_text)}
        self.table.set_filter(lambda row: id(row.facts) in matching)

    # Comparison

    def action_compare(self) -> None:
        """Compare the marked engines, the first as the baseline; one with that under the cursor; of two both."""
        by_name = {row.source.name: row for row in self._rows}
        rows = [by_name[name] for name in self._marked if name in by_name] or self._pair()
        row = self.table.cursor_item
        if len(rows) == 1 and row is not None and row not in rows:
            rows.append(row)
        lacking = [row.source.name for row in rows if row.engine is None]
        if len(rows) < 2:
            words = "Mark at least two engines with Space; the first is the baseline."
        elif len(rows) > MOST_OTHERS + 1:
            words = f"{len(rows)} engines marked; at most {MOST_OTHERS + 1} can be compared."
        elif lacking:
            words = f"{printable(lacking[0])} is not loaded or unreadable."
        else:
            first, *others = (row.engine for row in rows if row.engine is not None)
            self.post_message(EngineOpened(first, tuple(others)))
            return
        self.notify(words, markup=False)

    def _pair(self) -> list[EngineRow]:
        """The only two engines of the list; nothing if there are more, or fewer."""
        return list(self._rows) if len(self._rows) == 2 else []

    @on(RowSelected)
    def _selected(self, event: RowSelected[EngineRow]) -> None:
        row = event.item
        if row.engine is not None:
            self.post_message(EngineOpened(row.engine))
        elif row.error is not None:
            notes = [row.error.diagnostic, *row.error.diagnostics]
            self.app.push_screen(
                TextScreen(f"{printable(row.source.name)} cannot be opened", diagnostic_lines(notes))
            )


def _state(row: EngineRow) -> str:
    if row.error is not None:
        return "cannot be read"
    if row.engine is None:
        return "reading …"
    return next(iter(missing_parts(row.engine)), "")


def _make_columns(names: Sequence[str]) -> list[TableColumn[EngineRow]]:
    state: TableColumn[EngineRow] = TableColumn(
        _STATE,
        "missing",
        _state,
        width=14,
        priority=1,
        style=lambda _: "$warning",
        description="Missing files.",
    )
    return [*(_make_column(COLUMNS_BY_NAME[name]) for name in names), state]


def _make_column(column: FleetColumn) -> TableColumn[EngineRow]:
    source, name = document_column(column), column.name
    least = len(source.title) + (1 if column.is_number else 0)
    return textual_column(
        source,
        table="engines",
        value=lambda row: row.value(name),
        format=source.text if column.is_number else str,
        width=source.width if source.flex else max(least, 8 if column.unit else 5),
        style=(lambda row: precision_style(row.engine.precision) if row.engine else None)
        if name == "precision"
        else None,
    )
