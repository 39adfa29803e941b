"""Cross tables: layers and their time by the values of one or several columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from trex_tui.old.analysis.columns import ALL_COLUMNS_BY_NAME, columns_named
from trex_tui.old.analysis.structure import UNKNOWN, CrossTotal, known_value, sum_latency_ms, total_by_columns
from trex_tui.old.engine.columns import LayerColumn
from trex_tui.old.engine.engine import Engine
from trex_tui.old.engine.kinds import LayerKind
from trex_tui.old.engine.model import Layer
from trex_tui.old.errors import Diagnostic, TrexError
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.absence import no_profile
from trex_tui.old.report.colours import kind_class
from trex_tui.old.report.document import Cell, ChartReference, Column, Section, Table, make_table
from trex_tui.old.report.render_json import diagnostic_object, row_objects
from trex_tui.old.report.render_markdown import sections_markdown
from trex_tui.old.report.table_files import table_csv
from trex_tui.old.report.views.engine import EngineSubject
from trex_tui.old.report.views.layer_table import layer_column
from trex_tui.old.text import format_ms, plural, printable

CROSS_TABLE_SCHEMA = "trex-tui/cross-table/1"
_PRECISIONS = ("precision", "output_precision")


@dataclass(frozen=True, slots=True)
class _CrossTable:
    """A cross table of the report.

    Attributes:
        columns: Names of the columns; the table is omitted without a known value of the last.
        includes: Selects its layers; None for all.
    """

    id: str
    title: str
    columns: tuple[str, ...]
    includes: Callable[[Engine, Layer], bool] | None = None


def _is_reformat(engine: Engine, layer: Layer) -> bool:
    """Return whether TensorRT runs the layer as a reformat, as some quantizations do."""
    return layer.kind is LayerKind.REFORMAT or ALL_COLUMNS_BY_NAME["origin"].value(engine, layer) is not None


_TABLES = (
    _CrossTable("kind_precision", "Precision by kind", ("kind", "precision")),
    _CrossTable("kind_output_precision", "Output precision by kind", ("kind", "output_precision")),
    _CrossTable("reformat_origin", "Reformats by origin", ("origin",), _is_reformat),
    _CrossTable(
        "pointwise_operations",
        "Pointwise layers by number of operations",
        ("n_operations",),
        lambda _, layer: layer.kind is LayerKind.POINTWISE,
    ),
    _CrossTable("kind_tactic", "Tactics by kind", ("kind", "tactic")),
)


def find_group_columns(names: Sequence[str], engine: Engine | None = None) -> list[LayerColumn]:
    """Find the columns to group by.

    Args:
        engine: For the attributes of its layers, `attr.X`; None for any attribute.

    Raises:
        TrexError: A name is not a column, is a measurement, or is repeated.
    """
    columns = columns_named(names, engine)
    seen: set[str] = set()
    for column in columns:
        if column.dtype == "float64":
            raise TrexError(
                f"--by: {column.name} differs for every layer; choose kind, precision, tactic, ..."
            )
        if column.name in seen:
            raise TrexError(f"--by: {column.name} is given twice")
        seen.add(column.name)
    return columns


def cross_table(
    id: str,  # noqa: A002 - as the field of Table
    engine: Engine,
    columns: Sequence[LayerColumn],
    layers: Iterable[Layer] | None = None,
    *,
    title: str = "",
    top: int | None = None,
) -> Table:
    """Return layers and time by the values of columns; a row for each combination that occurs.

    Args:
        layers: Some of the engine's layers; by default all.
        top: Maximum number of rows; None for all.
    """
    totals = total_by_columns(engine, columns, layers)
    heads = (
        *(_group_column(engine, column, position) for position, column in enumerate(columns)),
        Column("layers", "Layers", value=lambda total: total.layers, is_number=True),
        Column("latency_ms", "ms", value=lambda total: total.latency_ms, is_number=True, has_bar=True),
        Column("latency_pct", "%", value=lambda total: total.latency_pct, is_number=True),
    )
    styles = [
        next(filter(None, map(_style, reversed(columns), reversed(total.values))), "") for total in totals
    ]
    return make_table(id, heads, totals, top=top, title=title, noun="group", styles=styles)


def _group_column(engine: Engine, column: LayerColumn, position: int) -> Column:
    def value(total: CrossTotal) -> Any:  # noqa: ANN401 - any cell
        raw = total.values[position]
        if raw is not None:
            return raw
        # Every layer has a precision; other columns have no value for many layers.
        return Cell(None, UNKNOWN) if column.name in _PRECISIONS else None

    return replace(layer_column(engine, column, column.title), value=value)


def _style(column: LayerColumn, value: Any) -> str:  # noqa: ANN401 - any cell
    """Return the style of the bar of a kind or a precision; empty for other columns."""
    if column.name == "kind":
        return kind_class(LayerKind(value))
    return f"precision-{value or UNKNOWN}" if column.name in _PRECISIONS else ""


def cross_sections(subject: EngineSubject) -> Iterator[Section]:
    """Yield the cross tables of the report."""
    engine = subject.engine
    tables = []
    for kind in _TABLES:
        columns = columns_named(kind.columns)
        layers = [layer for layer in engine.layers if kind.includes is None or kind.includes(engine, layer)]
        if any(known_value(columns[-1].value(engine, layer)) is not None for layer in layers):
            tables.append(cross_table(kind.id, engine, columns, layers, title=kind.title, top=subject.top))
    if tables:
        chart = ChartReference("kind-precision", engine, is_printed=False)
        yield Section("cross-tables", "Cross tables", charts=[chart], tables=tables, is_printed=False)


@dataclass(frozen=True, slots=True)
class Grouping:
    """Content of `summary --by` for each engine.

    Attributes:
        engines: Engines with their layers to group.
        top: Maximum number of groups; None for all.
    """

    engines: Sequence[tuple[Engine, Sequence[Layer]]]
    columns: Sequence[LayerColumn]
    top: int | None = None

    def tables(self) -> list[Table]:
        """Return the groups of each engine."""
        return [
            cross_table("groups", engine, self.columns, layers, top=self.top)
            for engine, layers in self.engines
        ]

    def sections(self) -> Iterator[tuple[Engine, Section]]:
        """Yield the groups of each engine, with the totals of its layers."""
        names = ", ".join(column.name for column in self.columns)
        for (engine, layers), table in zip(self.engines, self.tables(), strict=True):
            time = sum_latency_ms(layers)
            counted = plural(len(engine.layers), "layer")
            if len(layers) < len(engine.layers):
                counted = f"{len(layers)} of {counted}"
            sentence = (
                f"{counted}. {no_profile(engine)}" if time is None else f"{counted}, {format_ms(time)} ms."
            )
            title = f"Layers by {printable(names)}"
            yield engine, Section("groups", title, sentences=[sentence], tables=[table])

    def markdown(self) -> str:
        """Return the sections of all engines."""
        return "\n".join(sections_markdown(engine.name, [section]) for engine, section in self.sections())

    def csv(self) -> str:
        """Return the groups of all engines, with the name of the engine in the first column."""
        tables = self.tables()
        rows = [
            [engine.name, *row]
            for (engine, _), table in zip(self.engines, tables, strict=True)
            for row in table.rows
        ]
        return table_csv(Table("groups", (Column("engine", "Engine"), *tables[0].columns), rows))

    def document(self, diagnostics: Iterable[Diagnostic] = ()) -> dict[str, Any]:
        """Return the object that `summary --by --json` prints; unknown values are null."""
        return {
            "schema": CROSS_TABLE_SCHEMA,
            "by": [column.name for column in self.columns],
            "engines": [
                {
                    "name": engine.name,
                    "groups": row_objects(table),
                    "diagnostics": list(map(diagnostic_object, engine.diagnostics)),
                }
                for (engine, _), table in zip(self.engines, self.tables(), strict=True)
            ],
            "diagnostics": [diagnostic_object(diagnostic) for diagnostic in diagnostics],
        }
