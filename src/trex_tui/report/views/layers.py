"""The layers as a table, and where time goes: hot layers, kinds, precisions, modules, the roofline."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from trex_tui.analysis.columns import ALL_COLUMNS, ALL_COLUMNS_BY_NAME, derived
from trex_tui.analysis.modules import by_module, describe_fusion
from trex_tui.analysis.structure import hottest, total_by_kind, total_by_precision
from trex_tui.engine.columns import LayerColumn
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import TrexError
from trex_tui.report.charts.figure import as_sentence
from trex_tui.report.charts.svg_elements import kind_class
from trex_tui.report.document import ChartReference, Column, Listing, Section, Table, is_missing, make_table
from trex_tui.report.render_text import print_table
from trex_tui.report.views.engine import EngineSubject, by_bound, by_tensor_cores, no_profile, totals_table
from trex_tui.text import MISSING, format_bytes, format_count, format_ms, format_pct, plural, printable

if TYPE_CHECKING:
    from rich.console import Console

LAYERS_SCHEMA = "trex-tui/layers/1"
EXPLAIN_SCHEMA = "trex-tui/explain/1"

BRIEF_COLUMNS = ("index", "name", "kind", "precision", "latency_ms", "latency_pct", "tactic")
"""Columns that fit a terminal."""
NO_MODULE = "(no module)"
"""Name of the group of layers that belong to no module."""
_HOT_COLUMNS = (*BRIEF_COLUMNS[:-1], "roof_pct", "bound", "tactic")
_LEAST_CELLS = 16


def columns_named(names: Sequence[str]) -> list[LayerColumn]:
    """Find the columns of these names, in this order.

    Raises:
        TrexError: A name is no column; the message lists them all.
    """
    unknown = [name for name in names if name not in ALL_COLUMNS_BY_NAME]
    if unknown:
        known = ", ".join(column.name for column in ALL_COLUMNS)
        raise TrexError(f"no column {unknown[0]!r}; the columns are: {known}")
    return [ALL_COLUMNS_BY_NAME[name] for name in names]


def sorted_layers(engine: Engine, column: LayerColumn | None, *, reverse: bool = False) -> list[Layer]:
    """Sort layers by a column: numbers from the largest, text from A, missing values last in either direction.

    Args:
        column: None keeps the execution order.
        reverse: Reverse the direction.
    """
    if column is None:
        return list(reversed(engine.layers)) if reverse else list(engine.layers)
    values = {layer.index: column.value(engine, layer) for layer in engine.layers}
    known = [layer for layer in engine.layers if not is_missing(values[layer.index])]
    known.sort(key=lambda layer: values[layer.index], reverse=column.is_number is not reverse)
    return known + [layer for layer in engine.layers if is_missing(values[layer.index])]


def layers_table(engine: Engine, layers: Iterable[Layer], columns: Iterable[LayerColumn]) -> Table:
    """Layers with some of the columns of `trex-tui layers`, under the names of the columns."""
    heads = [layer_column(engine, column, column.name) for column in columns]
    return make_table("layers", heads, layers, noun="layer")


def layer_column(engine: Engine, column: LayerColumn, title: str) -> Column:
    """A column of the layers of an engine."""
    return Column(
        column.name,
        title,
        value=partial(column.value, engine),
        is_number=column.is_number,
        unit=column.unit,
        format=partial(cell_text, column),
        help=column.description.replace("`", ""),
        has_bar=column.name == "latency_ms",
        flex=not column.is_number,
    )


def layers_listing(
    engine: Engine, layers: Iterable[Layer], columns: Iterable[LayerColumn] = ALL_COLUMNS
) -> Listing:
    """Layers as `trex-tui layers` writes them: under the names of the columns, names of ONNX nodes as a list."""
    return Listing(LAYERS_SCHEMA, engine.name, layers_table(engine, layers, columns), "engine")


def print_layers(
    engine: Engine, layers: Sequence[Layer], columns: Sequence[LayerColumn], console: Console
) -> None:
    """Print the table; in a terminal no text is wider than a third of it, in a pipe nothing is cut."""
    most = max(_LEAST_CELLS, console.width // 3)
    print_table(layers_table(engine, layers, columns), console, "bold", most)


def cell_text(column: LayerColumn, value: Any) -> str:  # noqa: ANN401 - any cell
    """Format a cell for people, safe for a terminal; the unit is in the column's name."""
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


def hot_sections(subject: EngineSubject) -> Iterator[Section]:
    """The layers that take longest."""
    engine = subject.engine
    timed = sum(layer.latency_ms is not None for layer in engine.layers)
    if not timed:
        yield Section("hot-layers", "Hot layers", sentences=[no_profile(engine)])
        return
    layers = hottest(engine.layers, timed if subject.top is None else subject.top)
    lacking = len(engine.layers) - timed
    columns = [layer_column(engine, column, column.title) for column in columns_named(_HOT_COLUMNS)]
    styles = [kind_class(layer.kind) for layer in layers]
    table = make_table("hot_layers", columns, layers, total=timed, noun="layer", styles=styles)
    yield Section(
        "hot-layers",
        "Hot layers",
        sentences=[f"{plural(lacking, 'layer has', 'layers have')} no time in the profile."]
        if lacking
        else [],
        charts=[ChartReference("pareto", engine), ChartReference("layers", engine)],
        tables=[table],
    )


def group_sections(subject: EngineSubject) -> Iterator[Section]:
    """Time by kind, by precision, and of what multiplies by tensor cores; then by module."""
    engine = subject.engine
    kinds, precisions = total_by_kind(engine), total_by_precision(engine)
    tables = [
        totals_table("by_kind", "Kind", kinds, styles=[f"kind-{total.key}" for total in kinds]),
        totals_table(
            "by_precision",
            "Precision",
            precisions,
            styles=[f"precision-{total.key}" for total in precisions],
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
        fused = describe_fusion(engine.layers)
        yield Section(
            "modules",
            "Time by kernel and module",
            sentences=[fused] if fused else [],
            charts=[ChartReference("tactic", engine), ChartReference("icicle", engine)],
            tables=[
                make_table("by_module", _MODULE_COLUMNS, by_module(engine), top=subject.top, noun="module")
            ],
        )


_MODULE_COLUMNS = (
    Column("module", "Module", value=lambda module: module.name or NO_MODULE),
    Column(
        "layers",
        "Layers",
        value=lambda module: module.layers,
        is_number=True,
        help="Each counts once, for the module of its first ONNX node.",
    ),
    Column("latency_ms", "ms", value=lambda module: module.latency_ms, is_number=True, has_bar=True),
)


def roofline_sections(subject: EngineSubject) -> Iterator[Section]:
    """How close the layers come to what the device can do."""
    engine, roofline = subject.engine, derived(subject.engine).roofline
    points = [point for point in roofline.points.values() if point.roof_ms is not None]
    is_drawn = any(point.roof_pct is not None for point in points)
    bounds = totals_table("by_bound", "Bound by", by_bound(engine, engine.layers), "What layers are bound by")
    yield Section(
        "roofline",
        "Roofline",
        sentences=[as_sentence(line) for line in roofline.sentences],
        facts=[("Assumed", as_sentence(line)) for line in roofline.assumptions] if points else [],
        charts=[ChartReference("roofline", engine), ChartReference("efficiency", engine)] if is_drawn else [],
        tables=[bounds],
    )


# What columns mean


def explain_column(column: LayerColumn) -> str:
    """Explain a column: definition, unit, formula and source, a line each."""
    lines = [column.name, f"  {column.description}"]
    facts = (("unit", column.unit), ("formula", column.formula), ("source", column.source))
    lines += [f"  {label:<8}{text}" for label, text in facts if text]
    return "\n".join(lines)


def columns_overview(columns: Sequence[LayerColumn]) -> str:
    """A line per column: its name and the first sentence of its definition."""
    width = max(len(column.name) for column in columns)
    return "\n".join(f"{column.name:<{width}}  {_first_sentence(column.description)}" for column in columns)


def _first_sentence(text: str) -> str:
    return text.split(". ", 1)[0].rstrip(".") + "."


def explain_document(columns: Sequence[LayerColumn]) -> dict[str, Any]:
    """The object that `explain --json` prints."""
    return {
        "schema": EXPLAIN_SCHEMA,
        "columns": [
            {
                "name": column.name,
                "title": column.title,
                "description": column.description,
                "unit": column.unit or None,
                "formula": column.formula or None,
                "source": column.source,
            }
            for column in columns
        ],
    }
