"""The layers as a table: for the terminal, and as CSV, JSON and Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from trex_tui.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME, derived
from trex_tui.analysis.memory import LiveTensor, MemoryTotal, memory_by_kind
from trex_tui.analysis.modules import by_module, fused_words
from trex_tui.analysis.structure import Total, hottest, total_by_kind, total_by_precision
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.report.charts.figure import as_sentence
from trex_tui.report.charts.svg_elements import kind_class
from trex_tui.report.document import Chart, Section, Table, make_table
from trex_tui.report.document import Column as DocumentColumn
from trex_tui.report.render_csv import csv_text
from trex_tui.report.render_markdown import escaped
from trex_tui.report.render_text import Grid, print_grid
from trex_tui.report.views.engine import by_bound, by_tensor_cores, memory_facts, no_profile
from trex_tui.report.views.memory import live_words, memory_figures, peak_words, unknown_sentences
from trex_tui.report.views.subject import Subject
from trex_tui.text import MISSING, format_bytes, format_count, format_ms, format_pct, plural, printable

if TYPE_CHECKING:
    from rich.console import Console

LAYERS_SCHEMA = "trex-tui/layers/1"

BRIEF_COLUMNS = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "tactic")
"""What fits a terminal, and what a person asks first."""
_LEAST_CELLS = 16


def columns_named(names: Sequence[str]) -> list[Column]:
    """The columns of these names, in this order.

    Raises:
        TrexError: A name is no column; the message lists them all.
    """
    unknown = [name for name in names if name not in ALL_COLUMNS_BY_NAME]
    if unknown:
        known = ", ".join(column.name for column in ALL_COLUMNS)
        raise TrexError(f"no column {unknown[0]!r}; the columns are: {known}")
    return [ALL_COLUMNS_BY_NAME[name] for name in names]


def sorted_layers(engine: Engine, column: Column | None, *, reverse: bool = False) -> list[Layer]:
    """Layers by a column: numbers from the largest, text from A, missing values last in either direction.

    Args:
        column: None keeps the execution order.
        reverse: Turn the direction round.
    """
    if column is None:
        return list(reversed(engine.layers)) if reverse else list(engine.layers)
    values = {layer.index: column.value(engine, layer) for layer in engine.layers}
    known = [layer for layer in engine.layers if not is_missing(values[layer.index])]
    known.sort(key=lambda layer: values[layer.index], reverse=column.is_number is not reverse)
    return known + [layer for layer in engine.layers if is_missing(values[layer.index])]


def is_missing(value: Any) -> bool:  # noqa: ANN401 - any cell
    """Whether a cell holds nothing: None, or no number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def layers_document(engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]) -> dict[str, Any]:
    """The object that `layers --format json` prints."""
    return {
        "schema": LAYERS_SCHEMA,
        "engine": engine.name,
        "layers": [{column.name: column.value(engine, layer) for column in columns} for layer in layers],
    }


def layers_csv(engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]) -> str:
    """Comma-separated values with a header line; missing cells are empty, several ONNX nodes are joined by `;`."""
    rows = ([column.value(engine, layer) for column in columns] for layer in layers)
    return csv_text([column.name for column in columns], rows)


def layers_markdown(engine: Engine, layers: Sequence[Layer], columns: Sequence[Column]) -> str:
    """A table that a forge renders; names are escaped."""
    lines = [
        "| " + " | ".join(column.name for column in columns) + " |",
        "|" + "|".join("---:" if column.is_number else "---" for column in columns) + "|",
    ]
    for layer in layers:
        cells = (escaped(cell_text(column, column.value(engine, layer))) for column in columns)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def print_layers(
    engine: Engine, layers: Sequence[Layer], columns: Sequence[Column], console: Console
) -> None:
    """The table for a person: in a terminal no text is wider than a third of it, in a pipe nothing is cut."""
    numbers = frozenset(place for place, column in enumerate(columns) if column.is_number)
    grid = Grid(
        [column.name for column in columns],
        [[cell_text(column, column.value(engine, layer)) for column in columns] for layer in layers],
        on_the_right=numbers,
        giving_way=frozenset(range(len(columns))) - numbers,
    )
    print_grid(grid, console, "bold", max(_LEAST_CELLS, console.width // 3))


def cell_text(column: Column, value: Any) -> str:  # noqa: ANN401 - any cell
    """A cell as people read it, safe for a terminal; the unit is in the column's name."""
    if is_missing(value):
        return MISSING
    if isinstance(value, tuple):
        return ", ".join(map(printable, value))
    if isinstance(value, str):
        return printable(value)
    if column.name.endswith("_ms"):
        return format_ms(value)
    if column.name.endswith("_pct"):
        return format_pct(value)
    if column.name.endswith("_bytes"):
        return format_bytes(value)
    if column.name == "macs" or column.name.endswith("_per_s"):
        return format_count(value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


_BARS = frozenset({"latency_ms"})


def layer_table(
    id: str,  # noqa: A002 - as the field of Table
    engine: Engine,
    layers: Sequence[Layer],
    names: Iterable[str],
    total: int,
    title: str = "",
) -> Table:
    """Layers with some of the columns of `trex-tui layers`.

    Args:
        layers: Those that are shown.
        total: How many there are to show.
    """
    columns = [ALL_COLUMNS_BY_NAME[name] for name in names]
    heads = [
        DocumentColumn(
            one.name,
            one.title,
            is_number=one.is_number,
            unit=one.unit,
            format=partial(cell_text, one),
            help=one.description.replace("`", ""),
            has_bar=one.name in _BARS,
        )
        for one in columns
    ]
    rows = [[column.value(engine, layer) for column in columns] for layer in layers]
    styles = [kind_class(layer.kind) for layer in layers]
    return Table(id, heads, rows, total=total, noun="layer", title=title, styles=styles)


def totals_table(
    id: str,  # noqa: A002
    heading: str,
    totals: Sequence[Total],
    title: str = "",
    styles: Sequence[str] = (),
) -> Table:
    """Groups of layers with their time, a bar for each.

    Args:
        styles: Of the bars, as `svg.style` names them.
    """
    heads = (
        word_column("key", heading),
        number_column("layers", "Layers"),
        number_column("latency_ms", "ms", has_bar=True),
        number_column("latency_pct", "%"),
    )
    rows = [(one.key, one.layers, one.latency_ms, one.latency_pct) for one in totals]
    return table(id, heads, rows, what="group", title=title or f"By {heading.lower()}", styles=styles)


def table(
    id: str,  # noqa: A002
    columns: Sequence[DocumentColumn],
    rows: Iterable[Sequence[Any]],
    *,
    top: int | None = None,
    what: str = "row",
    title: str = "",
    styles: Sequence[str] = (),
) -> Table:
    """Raw values of any kind, told as the names of the columns ask for.

    Args:
        top: Rows to show; None for all.
    """
    return make_table(id, columns, rows, top=top, noun=what, title=title, styles=styles)


def word_column(name: str, heading: str, help: str = "") -> DocumentColumn:  # noqa: A002
    """A column of text."""
    return DocumentColumn(name, heading, help=help)


def number_column(name: str, heading: str, *, has_bar: bool = False, help: str = "") -> DocumentColumn:  # noqa: A002
    """A column of numbers, in the unit that its name ends with."""
    return DocumentColumn(name, heading, is_number=True, has_bar=has_bar, help=help)


NO_MODULE = "(no module)"
"""Layers whose names and nodes are in none."""
_HOT_COLUMNS = (*BRIEF_COLUMNS[:-1], "roof_pct", "bound", "tactic")


def _charts(subject: Subject, *ids: str) -> list[Chart]:
    return [Chart(id_, subject.engine) for id_ in ids]


def hot_sections(subject: Subject) -> Iterator[Section]:
    """The layers that take longest."""
    engine = subject.engine
    timed = sum(layer.latency_ms is not None for layer in engine.layers)
    if not timed:
        yield Section("hot-layers", "Hot layers", sentences=[no_profile(engine)])
        return
    layers = hottest(engine.layers, timed if subject.top is None else subject.top)
    lacking = len(engine.layers) - timed
    sentences = [f"{plural(lacking, 'layer has', 'layers have')} no time in the profile."] if lacking else []
    found = layer_table("hot_layers", engine, layers, _HOT_COLUMNS, timed)
    charts = _charts(subject, "pareto", "layers")
    yield Section("hot-layers", "Hot layers", sentences=sentences, charts=charts, tables=[found])


def group_sections(subject: Subject) -> Iterator[Section]:
    """Time by kind, by precision, and of what multiplies by tensor cores."""
    engine = subject.engine
    kinds, precisions = total_by_kind(engine), total_by_precision(engine)
    tables = [
        totals_table("by_kind", "Kind", kinds, styles=[f"kind-{one.key}" for one in kinds]),
        totals_table(
            "by_precision", "Precision", precisions, styles=[f"precision-{one.key}" for one in precisions]
        ),
    ]
    if cores := by_tensor_cores(engine):
        tables.append(totals_table("by_tensor_cores", "Tensor cores", cores))
    yield Section(
        "groups",
        "Time by kind and precision",
        sentences=[] if engine.has_profile else [no_profile(engine)],
        tables=tables,
    )
    if engine.has_profile:
        modules = by_module(engine)
        rows = [(one.name or NO_MODULE, one.layers, one.latency_ms) for one in modules]
        columns = (
            word_column("module", "Module"),
            number_column(
                "layers", "Layers", help="Each counts once, for the module of its first ONNX node."
            ),
            number_column("latency_ms", "ms", has_bar=True),
        )
        found = table("by_module", columns, rows, top=subject.top, what="module")
        fused = fused_words(engine.layers)
        yield Section(
            "modules",
            "Time by kernel and module",
            sentences=[fused] if fused else [],
            charts=_charts(subject, "tactic", "icicle"),
            tables=[found],
        )


def memory_sections(subject: Subject) -> Iterator[Section]:
    """Weights and activations, and what is alive when most is."""
    engine = subject.engine
    figures = memory_figures(engine)
    activations = figures.activations
    sentences = [as_sentence(peak_words(engine, activations)), *unknown_sentences(engine, activations)]
    facts = memory_facts(engine, subject.analysis)
    if not engine.has_graph or engine.names_only:
        yield Section("memory", "Memory", sentences=list(dict.fromkeys(sentences)), facts=facts)
        return
    tables = [_memory_by_kind(memory_by_kind(engine.layers))]
    charts: list[Chart] = []
    if activations.peak_bytes is not None:
        charts = _charts(subject, "memory")
        tables.append(_live_at_peak(subject, activations.live_at_peak))
    yield Section("memory", "Memory", sentences=sentences, facts=facts, charts=charts, tables=tables)


def _memory_by_kind(totals: list[MemoryTotal]) -> Table:
    columns = (
        word_column("key", "Kind"),
        number_column("layers", "Layers"),
        number_column("weights_bytes", "Weights", help="Over the layers that tell."),
        number_column("weights_unknown", "not told", help="Layers whose weights are unknown."),
        number_column("footprint_bytes", "Footprint", has_bar=True, help="What each layer touches, padded."),
        number_column("footprint_unknown", "not told", help="Layers whose footprint is unknown."),
    )
    rows = [
        (
            one.key,
            one.layers,
            one.weights_bytes if one.weights_unknown < one.layers else None,
            one.weights_unknown,
            one.footprint_bytes if one.footprint_unknown < one.layers else None,
            one.footprint_unknown,
        )
        for one in totals
    ]
    return table(
        "memory_by_kind",
        columns,
        rows,
        what="kind",
        title="By kind",
        styles=[f"kind-{one.key}" for one in totals],
    )


def _live_at_peak(subject: Subject, alive: Sequence[LiveTensor]) -> Table:
    columns = (
        word_column("name", "Tensor"),
        number_column("allocated_bytes", "Size", has_bar=True),
        number_column("first", "First", help="Index of the layer that writes it first."),
        number_column("last", "Last", help="Index of the layer that reads it last."),
        word_column("type", "Shape and type"),
    )
    shown = alive[: subject.top]
    words = live_words(subject.engine, shown)
    found = table(
        "live_at_peak",
        columns,
        [
            (one.name, one.allocated_bytes, one.first, one.last, said.type)
            for one, said in zip(shown, words, strict=True)
        ],
        what="tensor",
        title="Live at the peak",
    )
    return replace(found, total=len(alive))


def roofline_sections(subject: Subject) -> Iterator[Section]:
    """How close the layers come to what the device can do."""
    engine, roofline = subject.engine, derived(subject.engine).roofline
    points = [point for point in roofline.points.values() if point.roof_ms is not None]
    facts = [("Assumed", as_sentence(assumption)) for assumption in roofline.assumptions] if points else []
    is_drawn = any(point.roof_pct is not None for point in points)
    charts = _charts(subject, "roofline", "efficiency") if is_drawn else []
    tables = [
        totals_table("by_bound", "Bound by", by_bound(engine, engine.layers), "What layers are bound by")
    ]
    sentences = [as_sentence(line) for line in roofline.sentences]
    yield Section("roofline", "Roofline", sentences=sentences, facts=facts, charts=charts, tables=tables)
