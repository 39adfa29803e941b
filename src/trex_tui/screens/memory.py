"""Memory: activations that are live along the execution, the layers by their bytes, and the tensors that are live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import pandas as pd
from rich.cells import cell_len
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widget import Widget

from trex_tui.analysis.memory import live_at, live_bytes, memory_facts, memory_totals
from trex_tui.engine.model import Engine
from trex_tui.frames import plain_rows, total
from trex_tui.report.document import Section
from trex_tui.report.selection import sort_rows
from trex_tui.report.views.memory import describe_weights, memory_sections
from trex_tui.screens import dialogs
from trex_tui.screens.layer_rows import make_section
from trex_tui.screens.pane import EnginePane
from trex_tui.text import format_bytes, format_shape, plural, printable, shorten_middle
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.facts import EMPTY, Bar, bar_lines, fact, heading, sentence
from trex_tui.widgets.strip import LayerStrip
from trex_tui.widgets.table import FrameTable
from trex_tui.widgets.text import Line, LinkedText, styled
from trex_tui.widgets.theme import kind_style

MOST_TENSORS = 12
_MAIN = "footprint_allocated_bytes"
_ACTIVATIONS = "io_allocated_bytes"
_KEYS = ("index", "name", _MAIN, "weights_bytes", "io_bytes", "kind", "footprint_bytes")
_NAME = 24


class Figures(NamedTuple):
    """What is computed in a thread.

    Attributes:
        totals: A row per kind.
        doubts: What the numbers leave out.
    """

    live: pd.Series
    totals: list[dict[str, Any]]
    doubts: list[str]


def compute_figures(engine: Engine) -> Figures:
    """Return the live bytes of each layer, and the totals."""
    doubts = [
        text
        for section in memory_sections(engine)
        if section.key == "memory"
        for text in section.sentences[1:]
    ]
    return Figures(live_bytes(engine), plain_rows(memory_totals(engine)), doubts)


class MemoryPane(EnginePane):
    DEFAULT_CSS = """
    MemoryPane {
        & > LayerStrip { height: 5; }
        &.-unknown > LayerStrip, &.-unknown > #main, &.-unknown > #status { display: none; }
        &.-unknown > #details { border: none; }
    }
    MainScreen.-wide MemoryPane.-split { grid-size: 2 3; grid-rows: 8 1fr 1; & > LayerStrip { column-span: 2; height: 8; } }
    MainScreen.-wide MemoryPane.-split.-unsized { grid-rows: 1 1fr 1; & > LayerStrip { height: 1; } }
    MemoryPane.-unsized > LayerStrip { height: 1; }
    """
    SCOPED_CSS = False
    tab = "memory"
    BINDINGS: ClassVar[list[BindingType]] = bindings("memory")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.is_known = engine.has_graph and not engine.has_names_only
        self.add_class("-split" if self.is_known else "-unknown")
        # Layers of unknown weights have no footprint: their activations still have an order.
        self.main_key = min(_MAIN, _ACTIVATIONS, key=lambda key: engine.column(key).isna().sum())
        self.sort, self.is_reversed = self.main_key, False
        self._figures: Figures | None = None
        self._detailed: int | None = -1

    def compose(self) -> ComposeResult:
        yield LayerStrip()
        yield FrameTable(id="main")
        yield LinkedText(id="details")
        yield StatusLine("status")

    @property
    def main(self) -> Widget:
        return self.query_one("#main" if self.is_known else "#details")

    def on_mount(self) -> None:
        if self.is_known:
            self.compute(lambda: compute_figures(self.engine), self._take_figures)
        else:
            self.query_one("#details", LinkedText).show(self._unknown_lines())

    def _take_figures(self, figures: Figures) -> None:
        self._figures, live, facts = figures, figures.live, memory_facts(self.engine)
        peak = facts.peak_layer
        if peak is not None and facts.activation_peak_bytes is not None:
            at_least = "≥ " if facts.is_peak_at_least else ""
            title = f"▲ peak {at_least}{format_bytes(facts.activation_peak_bytes)} live at layer {peak}"
            self.query_one(LayerStrip).show(live.astype(float).tolist(), title, peak)
        else:
            self.add_class("-unsized")
            self.query_one(LayerStrip).show((), "No sizes of tensors: live activations unknown.")
        self.show_layer(self.current_layer)

    # The table

    def watch_shown(self) -> None:
        self.show_rows()

    def watch_lint(self) -> None:
        self.show_rows()

    def watch_current_layer(self, layer: int | None) -> None:
        self.query_one(FrameTable).move_to(layer)
        self.show_layer(layer)

    def show_rows(self) -> None:
        """Show the layers that the filter leaves, in the order of the sort."""
        if self.shown is None or not self.is_known:
            return
        table = self.query_one(FrameTable)
        index = sort_rows(self.engine, self.shown.rows, self.sort or None, is_reversed=self.is_reversed)
        table.sort, table.is_descending = self.sort, not self.is_reversed
        keys = dict.fromkeys((*_KEYS[:2], self.main_key, *_KEYS[2:]))
        section = make_section(self.engine, index, tuple(keys), self.lint)
        titles = {_MAIN: "Allocated", _ACTIVATIONS: "Activations"}
        columns = [
            replace(
                column,
                title=titles.get(column.key, column.title),
                priority=0 if column.key == self.main_key else column.priority,
            )
            for column in section.columns
        ]
        table.show(replace(section, columns=columns, bar=self.main_key))
        self._detailed = -1
        self.show_layer(self.current_layer)

    @on(FrameTable.SortAsked)
    def _sort(self, event: FrameTable.SortAsked) -> None:
        self.sort_by(event.key)

    def sort_by(self, key: str) -> None:
        """Sort by a column; again to reverse."""
        self.is_reversed = not self.is_reversed if key == self.sort else False
        self.sort = key
        self.show_rows()

    def action_choose_sort(self) -> None:
        options = {key: self.engine.columns[key].title for key in dict.fromkeys((*_KEYS, self.main_key))}
        dialogs.choose(self.app, "Sort by", options, self.sort_by, self.sort)

    def action_reverse_sort(self) -> None:
        self.sort_by(self.sort)

    def action_go_to_peak(self) -> None:
        peak = memory_facts(self.engine).peak_layer if self.is_known else None
        if peak is None or not self.query_one(FrameTable).move_to(peak):
            self.notify(
                "No peak is known." if peak is None else f"The filter hides layer {peak}.", markup=False
            )

    @on(LayerStrip.Clicked)
    def _click(self, event: LayerStrip.Clicked) -> None:
        self.query_one(FrameTable).move_to(event.layer)

    # Details

    def show_layer(self, layer: int | None) -> None:
        """Show what is live while a layer runs."""
        if self._figures is None or layer is None or layer == self._detailed:
            return
        self._detailed = layer
        size = total(self._figures.live.iloc[[layer]])
        note = "" if size is None or self.has_class("-unsized") else f"layer {layer}: {format_bytes(size)}"
        self.query_one(LayerStrip).mark(layer, note)
        self.query_one("#details", LinkedText).show(partial(self._detail_lines, layer))

    def _detail_lines(self, layer: int, width: int) -> Iterator[Line]:
        peak = memory_facts(self.engine).peak_layer
        if peak is not None and layer != peak:
            yield from self._live_lines(f"Live at layer {layer}", layer, width)
        if peak is not None:
            yield from self._live_lines(f"Live at peak, layer {peak}", peak, width)
        yield fact("All weights", describe_weights(self.engine))
        yield from self._total_lines(width)
        if self._figures is not None:
            yield from (sentence(text, "$warning") for text in self._figures.doubts)

    def _live_lines(self, title: str, layer: int, width: int) -> Iterator[Line]:
        """Yield the largest tensors that are live: size, first and last layer, shape and type, name."""
        alive = live_at(self.engine, layer)
        yield heading(f"{title}: {plural(len(alive), 'tensor')}")
        if alive.empty:
            yield sentence("Only network inputs, outputs and weights.", "$muted")
        else:
            yield Line(styled((f"{'bytes':>9}  {'layers':<9} shape and type", "$muted")))
        for row in plain_rows(alive.head(MOST_TENSORS)):
            size = "–" if row["allocated_bytes"] is None else format_bytes(row["allocated_bytes"])
            head = f"{size:>9}  {row['first']}–{row['last']:<{max(1, 8 - len(str(row['first'])))}} "
            shape = self._describe_tensor(row["name"], row["first"])
            room = width - cell_len(head) - cell_len(shape) - 2
            name = printable(row["name"])
            if room >= min(_NAME, cell_len(name)):
                yield Line(styled(head, shape, "  ", (shorten_middle(name, room), "$muted")), row["first"])
            else:
                yield Line(styled(head, shape), row["first"], indent=len(head))
                yield Line(styled(" " * 11, (shorten_middle(name, width - 11), "$muted")))
        if len(alive) > MOST_TENSORS:
            rest = total(alive["allocated_bytes"].iloc[MOST_TENSORS:])
            yield sentence(f"{len(alive) - MOST_TENSORS} smaller, {format_bytes(rest)}", "$muted")
        yield EMPTY

    def _describe_tensor(self, name: str, layer: int) -> str:
        ports = (
            port for port in (*self.engine.outputs[layer], *self.engine.inputs[layer]) if port.name == name
        )
        port = next(ports, None)
        if port is None:
            return ""
        return " ".join(filter(None, (format_shape(port.shape), port.dtype, port.format)))

    def _total_lines(self, width: int) -> Iterator[Line]:
        """Yield weights and traffic by kind as bars."""
        table = [] if self._figures is None else self._figures.totals
        name = 1 + max((len(row["kind"]) for row in table), default=7)
        keys = {"Weights": ("weights_bytes", "weights_unknown"), "Traffic": (_MAIN, "footprint_unknown")}
        for title, (key, unknown) in keys.items():
            bars = []
            for row in sorted(table, key=lambda row: -(row[key] or 0)):
                size = ("≥ " if row[unknown] else "") + format_bytes(row[key] or 0)
                size = "unknown" if row[unknown] == row["layers"] else size
                if row[key] or row[unknown]:
                    bars.append(
                        Bar(row["kind"], (str(row["layers"]), size), row[key] or 0, kind_style(row["kind"]))
                    )
            if bars:
                yield from (EMPTY, *bar_lines(title, (("n", 5), ("bytes", 11)), bars, width, name))

    def _unknown_lines(self) -> Iterator[Line]:
        """Yield why nothing is known, and what a log states."""
        for section in memory_sections(self.engine):
            yield from (sentence(text, "$warning") for text in section.sentences)
        stated = self.engine.facts.memory
        for title, size in (
            ("Weights", stated.weights_bytes), ("Activations", stated.activation_bytes), ("Scratch", stated.scratch_bytes),
            ("Context", stated.context_bytes), ("Engine", stated.engine_bytes),
        ):  # fmt: skip
            if size is not None:
                yield fact(title, f"{format_bytes(size)} (stated in the log)")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without sizes there is nothing to sort, and no peak."""
        if action in ("choose_sort", "reverse_sort", "go_to_peak", "mark", "search"):
            return self.is_known
        return super().check_action(action, parameters)

    def sections(self) -> list[Section]:
        return [*super().sections(), *memory_sections(self.engine)]
