"""Several engines: their key numbers, to choose one from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Footer

from trex_tui.actions import Place
from trex_tui.analysis.latency import EndToEnd, end_to_end
from trex_tui.artifacts import ArtifactSet, Discovery
from trex_tui.engine.engine import Engine
from trex_tui.errors import ArtifactError
from trex_tui.screens.engine import BREAKPOINTS
from trex_tui.screens.notes import diagnostic_lines
from trex_tui.screens.text import TextScreen
from trex_tui.text import format_bytes, format_ms, plural
from trex_tui.theme import precision_style
from trex_tui.widgets.bindings import bindings_in
from trex_tui.widgets.header import missing_parts
from trex_tui.widgets.summary_line import SummaryLine
from trex_tui.widgets.table import RowSelected, VirtualTable
from trex_tui.widgets.table_model import Column


@dataclass(frozen=True, slots=True)
class EngineRow:
    """A set, and its engine once it is loaded, or why it cannot be."""

    source: ArtifactSet
    engine: Engine | None = None
    latency: EndToEnd | None = None
    error: ArtifactError | None = None

    @classmethod
    def loaded(cls, source: ArtifactSet, engine: Engine) -> EngineRow:
        """The row of an engine that could be read."""
        return cls(source, engine, end_to_end(engine))


@dataclass
class EngineOpened(Message):
    """A person chose an engine."""

    engine: Engine


class EnginesScreen(Screen[None]):
    """The list of engines; it fills while they are read."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.ENGINES)
    HORIZONTAL_BREAKPOINTS = BREAKPOINTS

    help_places: ClassVar[list[Place]] = [Place.ENGINES, Place.MOVE, Place.EVERYWHERE]

    def __init__(self, discovery: Discovery) -> None:
        super().__init__()
        self._discovery = discovery
        self._rows = [EngineRow(source) for source in discovery.sets]
        self.table: VirtualTable[EngineRow] = VirtualTable(_columns(), id="engines")

    def compose(self) -> ComposeResult:
        """Title, table, what the row says in words, footer."""
        yield SummaryLine(id="engines-title")
        yield self.table
        yield Footer(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Show the names at once."""
        self._show()
        self.table.focus()

    def set_rows(self, rows: list[EngineRow]) -> None:
        """Show what has been read by now."""
        self._rows = rows
        self._show()

    def _show(self) -> None:
        self.table.set_rows(self._rows, keep=lambda row: row.source.name)
        read = sum(row.engine is not None or row.error is not None for row in self._rows)
        words = plural(len(self._rows), "engine")
        if read < len(self._rows):
            words += f", {read} read"
        if self._discovery.diagnostics:
            words += f" · {plural(len(self._discovery.diagnostics), 'file')} of no use here"
        self.query_one(SummaryLine).text = words

    def action_notes(self) -> None:
        """Show which files were of no use."""
        lines = diagnostic_lines(self._discovery.diagnostics)
        lines += diagnostic_lines(row.error.diagnostic for row in self._rows if row.error is not None)
        text = Content("\n").join(lines) if lines else Content("Every file was of use.")
        self.app.push_screen(TextScreen("Notes", text))

    @on(RowSelected)
    def _selected(self, event: RowSelected[EngineRow]) -> None:
        row = event.item
        if row.engine is not None:
            self.post_message(EngineOpened(row.engine))
        elif row.error is not None:
            self.notify(str(row.error), title="cannot be opened", severity="error", markup=False)


def _columns() -> list[Column[EngineRow]]:
    def of_engine(get: Callable[[Engine], object]) -> Callable[[EngineRow], object]:
        return lambda row: None if row.engine is None else get(row.engine)

    def median_ms(row: EngineRow) -> float | None:
        return row.latency.summary.median_ms if row.latency else None

    return [
        Column("name", "Engine", lambda row: row.source.name, flex=True, width=20),
        Column("device", "Device", of_engine(lambda engine: engine.device_name), width=24, priority=4),
        Column(
            "tensorrt", "TensorRT", of_engine(lambda engine: engine.tensorrt_version), width=9, priority=5
        ),
        Column(
            "precision",
            "Prec",
            of_engine(lambda engine: engine.precision.value if engine.precision else None),
            width=5,
            priority=1,
            style=lambda row: precision_style(row.engine.precision) if row.engine else None,
        ),
        Column(
            "layers",
            "Layers",
            of_engine(lambda engine: len(engine.layers)),
            align="right",
            width=7,
            priority=2,
        ),
        Column("median_ms", "Median ms", median_ms, format=format_ms, align="right", width=11),
        Column(
            "throughput_qps",
            "qps",
            lambda row: row.latency.throughput_qps if row.latency else None,
            format=lambda value: f"{value:.1f}",
            align="right",
            width=9,
            priority=1,
        ),
        Column(
            "latency_sum_ms",
            "Σ layers ms",
            of_engine(lambda engine: engine.latency_sum_ms),
            format=format_ms,
            align="right",
            width=12,
            priority=3,
        ),
        Column(
            "weights",
            "Weights",
            of_engine(lambda engine: engine.weights_bytes),
            format=format_bytes,
            align="right",
            width=9,
            priority=6,
        ),
        Column("notes", "", _notes, width=16, priority=3, style=lambda _: "$warning"),
    ]


def _notes(row: EngineRow) -> str:
    if row.error is not None:
        return "unreadable"
    if row.engine is None:
        return "reading …"
    return ", ".join(missing_parts(row.engine))
