"""Memory screen: weights and activations by layer and kind, and live tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget

from trex_tui.old.analysis.memory import LiveTensor, MemoryTotal, live_at, memory_by_kind
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.model import Layer
from trex_tui.old.report.absence import no_layer
from trex_tui.old.report.document import Cell, Column, Table
from trex_tui.old.report.views.engine import describe_weights, stated_memory_facts
from trex_tui.old.report.views.memory import (
    MOST_TENSORS,
    MemoryFigures,
    TensorText,
    describe_live,
    describe_peak,
    describe_tensors,
    main_column,
    memory_figures,
    unknown_sentences,
)
from trex_tui.old.screens.explanation import ShownNumber, term_numbers
from trex_tui.old.screens.pane import LayerTablePane, Selection
from trex_tui.old.screens.services import compute
from trex_tui.old.text import format_bytes, plural, printable
from trex_tui.old.widgets.actions import Place, bindings_in
from trex_tui.old.widgets.bars import StripChart, StripClicked, bar_lines, find_kind_style
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.table_columns import memory_columns
from trex_tui.old.widgets.table_model import fit
from trex_tui.old.widgets.text_view import (
    TextLine,
    TextView,
    fact_lines,
    heading_line,
    sections,
    sentence_line,
)

_OF_TABLE = ("choose_sort", "reverse", "zoom", "go_to_peak")
_SIZE, _SPAN, _GAP = 9, 9, 2
"""Cells for a size, for the first and last layer of a tensor, and between."""


class MemoryPane(LayerTablePane):
    """Live activations over the execution, the layers as a table, totals and live tensors."""

    DEFAULT_CSS = """
    /* Memory: the chart over everything; the words below the table, or beside it where there is room. */
    MemoryPane {
        layout: vertical;
        & > #memory-strip { height: 5; }
        & > #memory-parts { height: 1fr; layout: vertical; }
        & #memory-table { height: 1fr; }
        & #memory-words {
            height: 1fr;
            padding: 0 1;
            background: $surface;
            border-top: solid $panel;
            &:focus { border-top: solid $primary; }
        }
        &.-only-table #memory-words { display: none; }
        &.-only-words #memory-table { display: none; }
        &.-unknown #memory-strip { display: none; }
        &.-unknown #memory-table { display: none; }
        &.-unknown #memory-words { border: none; }
    }

    EngineScreen.-wide MemoryPane {
        & > #memory-strip { height: 8; }
        & > #memory-parts { layout: horizontal; }
        & #memory-table { width: 2fr; height: 100%; }
        & #memory-words {
            width: 1fr;
            height: 100%;
            border-top: none;
            border-left: solid $panel;
            &:focus { border-left: solid $primary; }
        }
        &.-only-words #memory-words { width: 1fr; border-left: none; }
        &.-unknown #memory-words { border: none; }
    }
    """
    SCOPED_CSS = False

    BINDINGS: ClassVar[list[BindingType]] = bindings_in(Place.MEMORY)

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(engine, id=id)
        self.figures: MemoryFigures | None = None
        self._layers: Sequence[Layer] = engine.layers
        self._is_filtered = False
        self._is_filled = False
        self._is_computing = False
        self._totals: Sequence[MemoryTotal] | None = None
        self._weights = ""
        self.strip = StripChart(id="memory-strip")
        self.table = VirtualTable(memory_columns(engine), id="memory-table", empty_text=no_layer(engine))
        self.words: TextView = TextView(self._make_lines, id="memory-words")
        self.set_class(not self._has_sizes, "-unknown")

    def compose(self) -> ComposeResult:
        yield self.strip
        with Container(id="memory-parts"):
            yield self.table
            yield self.words

    @property
    def _has_sizes(self) -> bool:
        """True if anything is known by layer; otherwise the pane is a sentence and the totals of the log."""
        return self.engine.has_graph and not self.engine.names_only

    @property
    def divided_parts(self) -> tuple[Widget, Widget] | None:
        return super().divided_parts if self._has_sizes else None

    @property
    def main_part(self) -> Widget:
        table = super().main_part
        return table if self._has_sizes else self.words

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without sizes there is no table to sort or zoom, and no peak."""
        if action in _OF_TABLE and not self._has_sizes:
            return False
        return super().check_action(action, parameters)

    def selection(self) -> Selection:
        return super().selection() if self._has_sizes else Selection(self.engine)

    def _fill(self) -> None:
        """Fill the table when first shown, so that an engine opens faster."""
        if self._is_filled or not self._has_sizes:
            return
        self._is_filled = True
        self.table.set_rows(self.engine.layers, keep=lambda layer: layer.index)
        self.table.sort_by(main_column(self.engine))
        self.strip.show((), "…", None)
        self._is_computing = True
        compute(
            self,
            "Computing live memory",
            partial(memory_figures, self.engine),
            self._take_figures,
            self._refuse_figures,
        )

    def _take_figures(self, figures: MemoryFigures) -> None:
        self._is_computing = False
        self.figures = figures
        activations = figures.activations
        values = activations.live_bytes if activations.peak_bytes is not None else ()
        self.strip.show(values, describe_peak(self.engine, activations), activations.peak_index)
        self.row_changed()

    def _refuse_figures(self, problem: str) -> bool:
        self._is_computing = False
        self.strip.show((), problem, None)
        self.words.renew()
        return bool(self.display)

    # Filter and current layer

    def show_layers(self, layers: Sequence[Layer], *, filter_text: str) -> None:
        """Show these layers and their totals; live memory is of all layers."""
        self._fill()
        self._layers, self._is_filtered, self._totals = layers, bool(filter_text), None
        if self._is_filled:  # Without sizes the table has no rows.
            self.table.set_visible([layer.index for layer in layers] if filter_text else None)
        self.words.renew()

    def show_layer(self, layer: Layer | None) -> None:
        self._fill()
        if self._is_filled:
            super().show_layer(layer)
        self.row_changed()

    def view_state(self) -> object:
        return super().view_state() if self._is_filled else None

    def restore_view(self, state: object, old: Engine) -> None:
        self._fill()
        if self._is_filled:
            super().restore_view(state, old)

    def row_changed(self) -> None:
        layer = self.cursor_layer
        if self.figures is not None and layer is not None:
            self.strip.mark(layer.index, describe_live(self.figures.activations, layer.index))
        else:
            self.strip.mark(None, "")
        self.words.renew()

    @on(StripClicked)
    def _strip_clicked(self, event: StripClicked) -> None:
        event.stop()
        self.table.move_to(self.engine.layers[event.index])

    def numbers(self) -> list[ShownNumber]:
        """Return the columns of the table, then the numbers of totals and strip."""
        facts = [("Weights", describe_weights(self.engine, self._layers), "known_weights_bytes")]
        if self.figures is not None:
            peak = describe_peak(self.engine, self.figures.activations)
            facts.append(("Live", peak, "peak_live_activation_bytes"))
        return [*(super().numbers() if self._has_sizes else ()), *term_numbers(facts)]

    # Actions

    def action_go_to_peak(self) -> None:
        peak = self.figures.activations.peak_index if self.figures else None
        if peak is not None and not self.table.move_to(self.engine.layers[peak]):
            self.notify(f"The filter hides layer {peak}, the memory peak.", markup=False)

    # Lines

    def _make_lines(self, width: int) -> list[TextLine]:
        if not self._has_sizes:
            sentences = [sentence_line(sentence, "$warning") for sentence in self._unknown()]
            return sections(sentences, *self._total_sections(width))
        return sections(
            self._live_section(width),
            self._peak_section(width),
            *self._total_sections(width),
            [sentence_line(sentence, "$warning") for sentence in self._unknown()],
        )

    def _unknown(self) -> list[str]:
        return unknown_sentences(self.engine, self.figures.activations if self.figures else None)

    def _live_section(self, width: int) -> list[TextLine]:
        layer = self.cursor_layer
        if layer is None or self.figures is None or self.figures.activations.peak_bytes is None:
            return []
        if layer.index == self.figures.activations.peak_index:
            return []
        alive = live_at(self.figures.values, layer.index)
        title = f"Live at layer {layer.index}: {plural(len(alive), 'tensor')}"
        return [heading_line(title), *self._tensor_lines(alive, width)]

    def _peak_section(self, width: int) -> list[TextLine]:
        if self.figures is None or self.figures.activations.peak_bytes is None:
            return []
        peak = self.figures.activations
        title = f"Live at peak, layer {peak.peak_index}: {plural(len(peak.live_at_peak), 'tensor')}"
        return [heading_line(title), *self._tensor_lines(peak.live_at_peak, width)]

    def _tensor_lines(self, values: Sequence[LiveTensor], width: int) -> list[TextLine]:
        if not values:
            return [sentence_line("Only network inputs, outputs and weights.", "$muted")]
        lines = _live_lines(describe_tensors(self.engine, values[:MOST_TENSORS]), width)
        if len(values) > MOST_TENSORS:
            rest = values[MOST_TENSORS:]
            size = sum(value.allocated_bytes or 0 for value in rest)
            lines.append(sentence_line(f"and {len(rest)} smaller ones, {format_bytes(size)}", "$muted"))
        return lines

    def _total_sections(self, width: int) -> list[list[TextLine]]:
        if not self._is_filled:
            facts = stated_memory_facts(self.engine)
            return [fact_lines(facts)] if facts else []
        if not self._is_filtered and self._is_computing:
            return []
        if self._totals is None:
            known = None if self._is_filtered or self.figures is None else self.figures.totals
            self._totals = memory_by_kind(self._layers) if known is None else known
            self._weights = describe_weights(self.engine, self._layers)
        which = f"Filtered: {plural(len(self._layers), 'layer')}"
        facts = [("All weights", self._weights)]
        first = [*([sentence_line(which, "$warning")] if self._is_filtered else []), *fact_lines(facts)]
        tables = bar_lines(_total_tables(self._totals), width)
        return [first, *([TextLine(line) for line in lines] for lines in tables)]


def _live_lines(values: Sequence[TensorText], width: int) -> list[TextLine]:
    """Format a line per tensor; long names get a separate line."""
    types = [printable(value.type) for value in values]
    widest = max(cell_len("shape and type"), *map(cell_len, types))
    room = width - _SIZE - _SPAN - widest - 3 * _GAP
    is_beside = room >= max(cell_len(printable(value.name)) for value in values)
    gap = " " * _GAP
    head = f"{'bytes':>{_SIZE}}{gap}{'layers':<{_SPAN}}{gap}{'shape and type':<{widest}}{gap}"
    lines = [TextLine(Content.styled(head + ("name" if is_beside else ""), "$muted"))]
    for value, type_words in zip(values, types, strict=True):
        figures = f"{value.size:>{_SIZE}}{gap}{value.span:<{_SPAN}}{gap}"
        if is_beside:
            name = printable(value.name)
            lines.append(TextLine(Content.assemble(figures, fit(type_words, widest), gap, (name, "$muted"))))
        else:
            name = fit(value.name, max(8, width - _SIZE - _GAP), middle=True).rstrip()
            lines.append(TextLine(Content(figures + type_words), _SIZE + _SPAN + 2 * _GAP))
            lines.append(TextLine(Content.assemble(" " * (_SIZE + _GAP), (name, "$muted"))))
    return lines


_TOTAL_COLUMNS = (
    Column("kind", ""),
    Column("layers", "n", is_number=True),
    Column("total_bytes", "bytes", is_number=True, has_bar=True),
)


def _total_tables(totals: Sequence[MemoryTotal]) -> list[Table]:
    def table(title: str, sizes: Sequence[tuple[MemoryTotal, int, int]]) -> Table:
        known = sorted((size for size in sizes if size[1] or size[2]), key=lambda size: -size[1])
        rows = [
            (total.key, total.layers, _size_cell(size, unknown, total.layers))
            for total, size, unknown in known
        ]
        styles = [find_kind_style(total.key) for total, _, _ in known]
        return Table(title.lower(), _TOTAL_COLUMNS, rows, title=title, styles=styles)

    tables = (
        table("Weights", [(total, total.weights_bytes, total.weights_unknown) for total in totals]),
        table("Traffic", [(total, total.footprint_bytes, total.footprint_unknown) for total in totals]),
    )
    return [shown for shown in tables if shown.rows]


def _size_cell(size: int, unknown: int, layers: int) -> Cell:
    if unknown == layers:
        return Cell(None, "unknown")
    return Cell(size, f"≥ {format_bytes(size)}" if unknown else format_bytes(size))
