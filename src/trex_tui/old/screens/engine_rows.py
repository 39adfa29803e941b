"""Rows of the list of engines: a set with its facts, groups of sets, and the table that keeps groups together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, replace
from statistics import median
from typing import Any

from trex_tui.old.artifacts import ArtifactSet
from trex_tui.old.engine.dtypes import DataType
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import ArtifactError, Diagnostic
from trex_tui.old.fleet.engine_columns import COLUMNS, COLUMNS_BY_NAME, FleetColumn, Need
from trex_tui.old.fleet.rows import make_row
from trex_tui.old.fleet.table import FleetRow, SetRows, make_table
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.views.fleet import document_column
from trex_tui.old.report.views.runs import run_words
from trex_tui.old.text import MISSING, fit_device_name, plural, printable
from trex_tui.old.widgets.table import VirtualTable
from trex_tui.old.widgets.table_columns import textual_column
from trex_tui.old.widgets.table_model import SortKey, TableColumn, TableModel
from trex_tui.old.widgets.theme import precision_style

STATE = "notes"
"""Key of the column with the missing files."""
LISTED = {
    column.name: column
    for column in COLUMNS
    if column.need < Need.LINT and column.name not in ("error", "missing")
}
"""Selectable columns, without those that run lint, missing files, and the error, which is below the table."""
GROUPINGS = ("", "model", "device", "precision", "batch", "tensorrt")
"""Columns by which the list is grouped; the first is no grouping."""
VARIANTS = ("device", "precision", "batch", "tensorrt")
"""Columns in which engines of one model differ."""
_MOST_VALUES = 3


@dataclass(frozen=True, slots=True)
class EngineRow:
    """A set with its facts once read, or its error; or the heading of a group of such rows.

    Attributes:
        engine: None in a list that holds rows only.
        facts: The row of `trex-tui engines`; without values and signature until the files are read.
        notes: Diagnostics of the files.
        members: The rows below a heading; empty for an engine.
    """

    source: ArtifactSet
    engine: Engine | None = None
    error: ArtifactError | None = None
    _: KW_ONLY
    facts: FleetRow
    members: tuple[EngineRow, ...] = ()
    notes: tuple[Diagnostic, ...] = ()

    @classmethod
    def unread(cls, source: ArtifactSet) -> EngineRow:
        return cls(source, facts=_facts(source, {}))

    @classmethod
    def failed(cls, source: ArtifactSet, error: ArtifactError) -> EngineRow:
        return cls(source, error=error, facts=_facts(source, {"error": str(error)}))

    @classmethod
    def loaded(cls, source: ArtifactSet, engine: Engine) -> EngineRow:
        row = make_row(engine)
        facts = replace(_facts(source, row.values), signature=row.signature)
        return cls(source, engine, facts=facts, notes=engine.diagnostics)

    @classmethod
    def known(cls, source: ArtifactSet, read: SetRows) -> EngineRow:
        """Return the row of a set without its engine: that of the run which is shown by default."""
        row = read.rows[0]
        if row.signature is not None:
            facts = replace(_facts(source, row.values), signature=row.signature)
            return cls(source, facts=facts, notes=read.diagnostics)
        note = next((note for note in read.diagnostics if note.file is not None), None)
        if note is None or note.file is None:
            return cls.failed(source, ArtifactError(source.directory, str(row.value("error"))))
        return cls.failed(source, ArtifactError(note.file, note.message, note.where, read.diagnostics))

    @classmethod
    def heading(cls, column: str, members: Sequence[EngineRow]) -> EngineRow:
        """Return the heading of rows with an equal value of a column."""
        value = members[0].facts.value(column)
        title = COLUMNS_BY_NAME[column].title
        name = f"{title} {MISSING if value is None else value} · {plural(len(members), 'engine')}"
        facts = FleetRow({"engine": name}, None, members[0].source)
        return cls(members[0].source, facts=facts, members=tuple(members))

    @property
    def is_read(self) -> bool:
        return self.is_readable or self.error is not None

    @property
    def is_readable(self) -> bool:
        """Whether the files were read without an error."""
        return self.engine is not None or self.facts.signature is not None

    @property
    def key(self) -> object:
        """Identity of the row, kept over reloads."""
        return (self.facts.value("engine"), True) if self.members else self.source.name

    def value(self, column: str) -> Any:  # noqa: ANN401 - a text or a number
        """Value of a column as it is sorted and shown; None if unknown."""
        value = self.facts.value(column)
        return "; ".join(value) if isinstance(value, list) else value

    @property
    def description(self) -> str:
        """Location, device and version, or the error; of a group the range of its latency."""
        if self.members:
            return " · ".join(_describe_group(self.members))
        if self.error is not None:
            return f"cannot be read: {self.error.diagnostic.message}"
        parts = [str(self.source.directory)]
        version, run = self.facts.value("tensorrt"), self.facts.value("run")
        parts += [self.facts.value("device") or "", f"TensorRT {version}" if version else ""]
        if self.engine is not None:
            parts += run_words(self.engine)
        elif run is not None:
            parts.append(f"run {run}")
        parts += self.facts.value("missing") or ()
        return " · ".join(part for part in parts if part)


def with_models(rows: Sequence[EngineRow]) -> list[EngineRow]:
    """Return the rows with their models, which depend on all rows."""
    tabled = make_table([row.facts for row in rows])
    return [replace(row, facts=facts) for row, facts in zip(rows, tabled, strict=True)]


def _facts(source: ArtifactSet, values: Mapping[str, Any]) -> FleetRow:
    names = {"engine": source.name, "directory": str(source.directory)}
    return FleetRow({**names, **values}, None, source)


def find_variants(row: EngineRow, rows: Iterable[EngineRow]) -> list[EngineRow]:
    """Return the other engines of the row's model, then of similar ones; those that differ in the fewest columns first."""
    every = list(rows)
    known = row.facts.value("similar") or ()
    similar = [other for other in every if other.is_readable and other.facts.value("model") in known]
    return [
        other
        for others in (_others(row, every), similar)
        for other in sorted(others, key=lambda other: len(list(list_differences(row, other))))
    ]


def _others(row: EngineRow, rows: Iterable[EngineRow]) -> list[EngineRow]:
    model = row.facts.value("model")
    if model is None or not row.is_readable:
        return []
    return [
        other
        for other in rows
        if other.facts.value("model") == model and other.is_readable and other is not row
    ]


def list_differences(row: EngineRow, other: EngineRow) -> Iterator[str]:
    """Yield the values that another engine of the model has and the row's engine has not: `precision INT8`."""
    model = other.facts.value("model")
    if model != row.facts.value("model"):
        yield f"similar model {model}"
    for name in VARIANTS:
        value = other.facts.value(name)
        if value is not None and value != row.facts.value(name):
            yield f"{COLUMNS_BY_NAME[name].title} {value}"


def _describe_group(members: Sequence[EngineRow]) -> Iterator[str]:
    """Yield the range of the median latency, of one model only, and the values in which engines differ."""
    column = COLUMNS_BY_NAME["latency_median_ms"]
    models = {row.facts.value("model") for row in members} - {None}
    known = [value for row in members if (value := row.facts.value(column.name)) is not None]
    if known and len(models) < 2:
        text = document_column(column).text
        yield f"{column.title} {text(min(known))} to {text(max(known))}, median {text(median(known))}"
    for name in ("model", *VARIANTS):
        values = list(dict.fromkeys(str(row.facts.value(name)) for row in members if row.facts.value(name)))
        if len(values) > 1:
            rest = f" and {len(values) - _MOST_VALUES} more" if len(values) > _MOST_VALUES else ""
            yield f"{COLUMNS_BY_NAME[name].title} {', '.join(values[:_MOST_VALUES])}{rest}"


class _GroupedModel(TableModel[EngineRow]):
    """Sort within groups: a group has the position of its first row, below its heading."""

    grouping = ""

    def sort(self, keys: Iterable[SortKey]) -> None:
        super().sort(keys)
        if not self.grouping:
            return
        groups: dict[Any, list[int]] = defaultdict(list)
        headings: dict[Any, int] = {}
        for index in self._order:
            row = self.rows[index]
            value = (row.members[0] if row.members else row).facts.value(self.grouping)
            if row.members:
                headings[value] = index
            else:
                groups[value].append(index)
        self._order = [index for value, rows in groups.items() for index in (headings[value], *rows)]
        self._show()


class EnginesTable(VirtualTable[EngineRow]):
    """The list of engines, optionally in groups with headings."""

    def __init__(self, columns: Sequence[TableColumn[EngineRow]], *, id: str, empty_text: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, empty_text=empty_text)
        self._grouped = _GroupedModel()
        self._model = self._grouped
        self.set_columns(columns)

    @property
    def grouping(self) -> str:
        """Name of the grouping column; empty for none."""
        return self._grouped.grouping

    def show_engines(self, rows: Sequence[EngineRow], grouping: str) -> None:
        """Show rows, with a heading for each group."""
        self._grouped.grouping = grouping
        groups: dict[Any, list[EngineRow]] = defaultdict(list)
        for row in rows if grouping else ():
            groups[row.facts.value(grouping)].append(row)
        headings = [EngineRow.heading(grouping, members) for members in groups.values()]
        self.set_rows([*headings, *rows], keep=lambda row: row.key)

    def show_matching(self, matching: set[int] | None) -> None:
        """Show the rows whose facts have one of these identities, with their headings; None shows all."""
        if matching is None:
            self.set_filter(None)
        else:
            self.set_filter(lambda row: any(id(each.facts) in matching for each in (row.members or (row,))))

    def heading_text(self, row: EngineRow) -> str:
        return str(row.facts.value("engine")) if row.members else ""

    @property
    def shown_engines(self) -> list[EngineRow]:
        """The rows of engines on display, without headings."""
        return [row for row in self.shown_rows if not row.members]

    def find_row(self, name: str) -> EngineRow | None:
        """Return the row of an engine by its name."""
        index = self._model.index_of_key(name)
        return None if index is None else self._model.rows[index]


def _state(row: EngineRow) -> str:
    if row.error is not None:
        return "cannot be read"
    if not row.is_readable:
        return "reading …"
    return next(iter(row.facts.value("missing") or ()), "")


def make_columns(names: Sequence[str]) -> list[TableColumn[EngineRow]]:
    """Return columns by name, and the column of missing files."""
    state: TableColumn[EngineRow] = TableColumn(
        STATE,
        "missing",
        _state,
        width=14,
        priority=1,
        style=lambda _: "$warning",
        description="Files that are missing.",
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
        style=_precision_style if name == "precision" else None,
        shorten=(lambda row, width: fit_device_name(row.value(name) or MISSING, width))
        if name == "device"
        else None,
    )


def _precision_style(row: EngineRow) -> str | None:
    name = row.facts.value("precision")
    return None if name is None else precision_style(DataType[name])


def column_titles() -> dict[str, str]:
    """Return name -> title and name of all columns of the list, to choose from."""
    return {
        name: column.title if column.title == name else f"{column.title}  ({name})"
        for name, column in LISTED.items()
    }


def describe_row(row: EngineRow, rows: Iterable[EngineRow]) -> str:
    """Return the line below the table: the row, and the number of other engines of its model."""
    others = _others(row, rows)
    count = f"m: {plural(len(others), 'other engine')} of {printable(str(row.facts.value('model')))}"
    parts = [count] if others else []
    if similar := row.facts.value("similar"):
        parts.append(
            f"{'' if others else 'm: '}similar to {', '.join(map(printable, similar[:_MOST_VALUES]))}"
        )
    return " · ".join([*parts, row.description])
