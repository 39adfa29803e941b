"""Actions of the list of engines and of the screens over it: explain numbers, copy rows, export rows and charts."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from trex_tui.old.artifacts import ArtifactKind, ArtifactSet
from trex_tui.old.errors import TrexError
from trex_tui.old.fleet.engine_columns import COLUMNS, FleetColumn, Need
from trex_tui.old.fleet.table import FleetRow
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.report.charts.figure import Figure
from trex_tui.old.report.document import Table
from trex_tui.old.report.export import CHART_FORMS, ExportFormat
from trex_tui.old.report.json_text import format_json
from trex_tui.old.report.render_json import row_objects
from trex_tui.old.report.render_markdown import table_markdown
from trex_tui.old.report.table_files import table_csv
from trex_tui.old.report.views.fleet import ShownFleet, engines_table, fleet_object
from trex_tui.old.screens.explanation import ExplainScreen, ShownNumber
from trex_tui.old.screens.layer_actions import copy_text
from trex_tui.old.text import plural, printable, shorten_middle
from trex_tui.old.widgets.chrome import MainScreen

DATA_COLUMNS = [column for column in COLUMNS if column.need < Need.LINT]
"""Columns of data: those of `trex-tui engines --json`."""
_MOST_NAME = 60
Make = Callable[[ExportFormat], str]


@dataclass(frozen=True, slots=True)
class ListOffer:
    """Exportable content of a screen.

    Attributes:
        choice: Its name if there are several.
        title: What it is: `9 engines`.
        stem: Default name of the file, without the ending.
        forms: The formats with their labels.
        make: Returns its text; called in a thread.
        is_drawn: SVG is what `make` returns, not a picture of the screen.
    """

    choice: str
    title: str
    stem: str
    forms: Mapping[ExportFormat, str]
    make: Make
    is_drawn: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """Numbers under the cursor.

    Attributes:
        heading: What they are of; empty for nothing.
        files: The files that they come from.
    """

    heading: str
    numbers: Sequence[ShownNumber]
    files: Mapping[ArtifactKind, Path]


@dataclass(frozen=True, slots=True)
class CopiedRows:
    """Rows to copy: the marked ones, else the one under the cursor.

    Attributes:
        noun: `engine` or `build`.
        rows: As in JSON.
    """

    noun: str
    names: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


class ListActions(MainScreen):
    """A screen of engines with `i`, `y`, `Y` and `e`."""

    def explanation(self) -> Explanation:
        """Return the numbers to explain."""
        raise NotImplementedError

    def copied_rows(self) -> CopiedRows:
        """Return the rows to copy."""
        raise NotImplementedError

    def export_offers(self) -> list[ListOffer]:
        """Return what can be exported."""
        raise NotImplementedError

    def exported_sets(self) -> Sequence[ArtifactSet]:
        """Return the sets beside which exports are offered."""
        raise NotImplementedError

    def action_explain(self) -> None:
        shown = self.explanation()
        self.app.push_screen(ExplainScreen(shown.files, "Numbers", printable(shown.heading), shown.numbers))

    def action_copy_name(self) -> None:
        copied = self.copied_rows()
        self._copy(copied, "\n".join(copied.names), "name")

    def action_copy_json(self) -> None:
        copied = self.copied_rows()
        rows = copied.rows[0] if len(copied.rows) == 1 else copied.rows
        self._copy(copied, json.dumps(rows, indent=2), "JSON")

    def _copy(self, copied: CopiedRows, text: str, what: str) -> None:
        if not copied.names:
            self.notify(f"No {copied.noun} selected.", severity="warning", markup=False)
            return
        count = len(copied.names)
        name = shorten_middle(printable(copied.names[0]), _MOST_NAME)
        copy_text(self, text, f"{what} of {name if count == 1 else plural(count, copied.noun)}")


def explain_row(columns: Sequence[FleetColumn], row: FleetRow | None) -> list[ShownNumber]:
    """Return columns of the table of engines with the values of a row."""
    from trex_tui.old.report.glossary.registry import find_path  # 20 ms, for those who ask
    from trex_tui.old.report.views.fleet import document_column

    numbers = []
    for column in columns:
        shown = document_column(column)
        value = None if row is None else row.value(column.name)
        text = "; ".join(value) if isinstance(value, list) else "" if value is None else str(value)
        text = shown.text(value) if column.is_number and value is not None else text
        exact = repr(value) if isinstance(value, float) and repr(value) != text else ""
        entry = find_path(("engines", "rows", column.name))
        numbers.append(
            ShownNumber(column.title, text, entry, column.description, exact, source=column.source)
        )
    return numbers


def copy_engines(rows: Sequence[FleetRow]) -> CopiedRows:
    """Return engines as `trex-tui engines --json` has them."""
    table = engines_table(ShownFleet(rows, DATA_COLUMNS, len(rows)))
    return CopiedRows("engine", [row.source.name for row in rows], row_objects(table))


def offer_engines(rows: Sequence[FleetRow], columns: Sequence[FleetColumn], total: int) -> ListOffer:
    """Offer the rows on screen: all columns as data, those on screen as Markdown."""

    def make(form: ExportFormat) -> str:
        if form is ExportFormat.JSON:
            return format_json(fleet_object(ShownFleet(rows, DATA_COLUMNS, total), ())) + "\n"
        is_data = form is ExportFormat.CSV
        return table_text(form, engines_table(ShownFleet(rows, DATA_COLUMNS if is_data else columns, total)))

    title = plural(len(rows), "engine")
    forms = table_forms("JSON, as `engines --format json`")
    return ListOffer(f"the table: {title}", title, "engines", forms, make)


def offer_chart(
    id: str,  # noqa: A002 - as the field of FleetChart
    title: str,
    figure: Figure,
    table: Table,
    text: str,
) -> ListOffer:
    """Offer a chart as drawn, and its numbers."""

    def make(form: ExportFormat) -> str:
        if form is ExportFormat.TEXT:
            return text
        if form is not ExportFormat.SVG:
            return table_text(form, table)
        from trex_tui.old.report.charts.svg_painter import figure_picture  # 20 ms, for those who export

        svg = figure_picture(id, printable(title), "", figure, standalone=True).svg
        if svg is None:
            raise TrexError("the chart has no data; choose other columns")
        return svg

    name = f"chart {shorten_middle(printable(title), _MOST_NAME)}"
    return ListOffer(f"the {name}", name, f"engines.{id}", CHART_FORMS, make, is_drawn=True)


def table_forms(json_label: str) -> dict[ExportFormat, str]:
    """Return the formats of a table with their labels."""
    forms = (ExportFormat.CSV, ExportFormat.JSON, ExportFormat.MARKDOWN, ExportFormat.SVG)
    return {form: json_label if form is ExportFormat.JSON else form.description for form in forms}


def table_text(form: ExportFormat, table: Table) -> str:
    """Return a table as CSV or Markdown, or its rows as a JSON list."""
    if form is ExportFormat.CSV:
        return table_csv(table)
    if form is ExportFormat.MARKDOWN:
        return "\n".join(table_markdown(table, has_bars=False)) + "\n"
    return format_json(row_objects(table)) + "\n"
