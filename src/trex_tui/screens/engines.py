"""List of engines with their key numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message

from trex_tui.analysis.timing import EndToEnd, end_to_end
from trex_tui.artifacts import ArtifactSet, Discovery
from trex_tui.engine.engine import Engine
from trex_tui.errors import ArtifactError, Severity
from trex_tui.fleet.split_model import find_split_models
from trex_tui.report.document import Column
from trex_tui.report.views.runs import run_words
from trex_tui.screens.compare_job import MOST_OTHERS
from trex_tui.screens.dialogs import TextScreen
from trex_tui.screens.services import EngineHolder, ReloadAsked
from trex_tui.screens.text_screens import diagnostic_lines
from trex_tui.text import format_bytes, format_ms, plural, printable
from trex_tui.widgets.actions import Place, bindings_in
from trex_tui.widgets.chrome import MainScreen, SummaryLine, TooSmall, missing_parts
from trex_tui.widgets.table import RowHighlighted, RowSelected, VirtualTable
from trex_tui.widgets.table_columns import textual_columns
from trex_tui.widgets.table_model import TableColumn
from trex_tui.widgets.text_view import TextLine
from trex_tui.widgets.theme import precision_style


@dataclass(frozen=True, slots=True)
class EngineRow:
    """A set with its engine once loaded, or its error."""

    source: ArtifactSet
    engine: Engine | None = None
    latency: EndToEnd | None = None
    error: ArtifactError | None = None

    @classmethod
    def loaded(cls, source: ArtifactSet, engine: Engine) -> EngineRow:
        return cls(source, engine, end_to_end(engine))

    @property
    def description(self) -> str:
        """What the table has no room for: location, device and version, or the error."""
        if self.error is not None:
            return f"cannot be read: {self.error.diagnostic.message}"
        parts = [str(self.source.directory)]
        if self.engine is not None:
            version = self.engine.tensorrt_version
            parts += [self.engine.device_name or "", f"TensorRT {version}" if version else ""]
            parts += [*run_words(self.engine), *missing_parts(self.engine)]
        return " · ".join(part for part in parts if part)


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
        self._rows = list(rows) or [EngineRow(source) for source in discovery.sets]
        self._marked: list[str] = []
        """Names of the marked engines, in the order of marking: the first is the baseline."""
        self.table: VirtualTable[EngineRow] = VirtualTable(_columns(), id="engines")
        self.title_line = SummaryLine(id="engines-title")
        self.words = SummaryLine(id="engines-words")

    def compose(self) -> ComposeResult:
        yield self.title_line
        yield self.table
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
        self.set_rows(rows)

    def _show(self) -> None:
        self.table.set_rows(self._rows, keep=lambda row: row.source.name)
        read = sum(row.engine is not None or row.error is not None for row in self._rows)
        words = plural(len(self._rows), "engine")
        if read < len(self._rows):
            words += f", {read} read"
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
        self.table.marked = frozenset(self._marked)
        self._show()

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


def _of_engine(get: Callable[[Engine], object]) -> Callable[[EngineRow], object]:
    return lambda row: None if row.engine is None else get(row.engine)


def _of_latency(get: Callable[[EndToEnd], object]) -> Callable[[EngineRow], object]:
    return lambda row: None if row.latency is None else get(row.latency)


def _notes(row: EngineRow) -> str:
    if row.error is not None:
        return "cannot be read"
    if row.engine is None:
        return "reading …"
    return next(iter(missing_parts(row.engine)), "")


_precision = _of_engine(lambda engine: engine.precision.value if engine.precision else None)
_COLUMNS = (
    Column("name", "Engine", value=lambda row: row.source.name, width=20, flex=True),
    Column("device", "Device", value=_of_engine(lambda engine: engine.device_name), width=24, priority=4),
    Column("tensorrt", "TensorRT", value=_of_engine(lambda engine: engine.tensorrt_version), width=9, priority=5),
    Column("precision", "Prec", value=_precision, width=5, priority=1),
    Column(
        "layers", "Layers", value=_of_engine(lambda engine: len(engine.layers)), is_number=True, format=str,
        width=7, priority=2,
    ),
    Column(
        "median_ms", "Median ms", value=_of_latency(lambda latency: latency.summary.median_ms), is_number=True,
        width=11,
    ),
    Column(
        "throughput_qps", "qps", value=_of_latency(lambda latency: latency.throughput_qps), is_number=True,
        format="{:.1f}".format, width=9, priority=1,
    ),
    Column(
        "latency_sum_ms", "Σ layers ms", value=_of_engine(lambda engine: engine.latency_sum_ms), is_number=True,
        width=12, priority=3,
    ),
    Column(
        "weights", "Weights", value=_of_engine(lambda engine: engine.weights_bytes), is_number=True,
        format=format_bytes, width=9, priority=6,
    ),
    Column("notes", "Missing", value=_notes, width=14, priority=1),
)  # fmt: skip


def _columns() -> list[TableColumn[EngineRow]]:
    return textual_columns(
        _COLUMNS,
        "engines",
        precision={"style": lambda row: precision_style(row.engine.precision) if row.engine else None},
        notes={"style": lambda _: "$warning"},
    )
