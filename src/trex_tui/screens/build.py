"""Build: what the log says about the build, view by view; `o` opens the log at the line of a row."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from trex_tui.analysis.build import BuildJoin
from trex_tui.artifacts.kinds import FileKind
from trex_tui.buildlog.trace import BuildTrace
from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_names
from trex_tui.frames import is_number, plain_rows, plain_values
from trex_tui.report.absence import explain_absence
from trex_tui.report.document import Section, is_empty
from trex_tui.report.views.build import memory_sections, tactics_section
from trex_tui.report.views.log import result_section
from trex_tui.screens import dialogs
from trex_tui.screens.build_views import View, list_tactics, read_build
from trex_tui.screens.pane import EnginePane, is_stale
from trex_tui.text import printable
from trex_tui.widgets.actions import bindings
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.facts import EMPTY, fact, fact_lines, heading, sentence
from trex_tui.widgets.table import FrameTable, Row, TreeTable
from trex_tui.widgets.text import Line, LinkedText

_READING = "Reading the log …"
_LOGS = (FileKind.BUILD_LOG, FileKind.PROFILE_LOG)
_MOST_LAYERS = 4
_SIGNS = {"warning": "$warning", "error": "bold $error", "fatal error": "bold $error"}
_STATES = {"in the engine": "bold $success", "chosen": "$success"}


class BuildPane(EnginePane):
    DEFAULT_CSS = """
    BuildPane {
        & > #views { height: 1; padding: 0 1; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
        &.-nothing > #main, &.-nothing > #status { display: none; }
        &.-nothing > #details { border: none; }
    }
    MainScreen.-wide BuildPane.-split { grid-size: 2 3; grid-rows: 1 1fr 1; & > #views { column-span: 2; } }
    """
    SCOPED_CSS = False
    tab = "build"
    BINDINGS: ClassVar[list[BindingType]] = bindings("build")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.view = ""
        """Title of the view on screen."""
        self.tuning: int | None = None
        """The layer whose tactics are shown, by its place in the log; None for none."""
        self.sort, self.is_reversed = "", False
        self._join: BuildJoin | None = None
        self._views: dict[str, View] = {}
        self.set_class(True, "-nothing")

    def compose(self) -> ComposeResult:
        yield Static(_READING, id="views", markup=False)
        styles = {
            "severity": lambda word: _SIGNS.get(word, ""),
            "state": lambda word: _STATES.get(word, "$muted"),
        }
        yield TreeTable(id="main", cell_styles=styles)
        yield LinkedText(id="details")
        yield StatusLine("status")

    @property
    def main(self) -> Widget:
        return self.query_one("#details" if self.has_class("-nothing") else "#main")

    def on_mount(self) -> None:
        self.compute(lambda: read_build(self.engine), self._take)

    def _fail(self, error: Exception) -> None:
        super()._fail(error)
        self.query_one("#views", Static).update(printable(str(error)))

    def _take(self, found: tuple[BuildJoin, dict[str, View]] | None) -> None:
        if found is None:
            reason = explain_absence(self.engine, "No build log in this set.", *_LOGS)
            self.query_one("#views", Static).update(printable(reason))
            self.query_one("#details", LinkedText).show(_missing_lines(self.engine))
            return
        self._join, self._views = found
        if self._views:
            self.remove_class("-nothing")
            self.add_class("-split")
        had_focus = self.query_one("#details").has_focus
        self.show_view(next(iter(self._views), ""))
        if had_focus:
            self.main.focus()

    # Views

    def show_view(self, title: str) -> None:
        """Show a view from its first row."""
        self.view, self.tuning = title, None
        self.sort, self.is_reversed = "", False
        self.show_rows()
        self.query_one(TreeTable).action_jump(0)

    def show_rows(self) -> None:
        """Show the rows of the view, or the tactics of a layer, in the order of the sort."""
        if self._join is None:
            return
        table = self.query_one(TreeTable)
        shown = self.shown_view
        section, levels = shown.section, shown.levels
        if self.sort and section.frame is not None and not levels:
            ascending = is_number(section.frame[self.sort]) is self.is_reversed
            frame = section.frame.sort_values(
                self.sort, ascending=ascending, kind="stable", na_position="last"
            )
            section = replace(section, frame=frame)
        table.sort, table.is_descending = self.sort, not self.is_reversed
        table.show(section, levels, is_folded=self.view == "Passes")
        self._show_strip(section)
        self.refresh_bindings()
        if not self._views:
            self.query_one("#details", LinkedText).show(self._build_lines())

    @property
    def shown_view(self) -> View:
        """The view on screen."""
        if self.tuning is not None and self._join is not None:
            return list_tactics(self._join, self.tuning)
        return self._views.get(self.view, View(Section("")))

    def _show_strip(self, section: Section) -> None:
        """Show the titles of all views, and what the one on screen says in total."""
        parts: list[Any] = []
        for number, title in enumerate(self._views):
            style = "bold reverse" if title == self.view else "$muted"
            parts.append((f" {title} ", f"{style} @click=show_view_at({number})"))
        total = section.sentences[0] if section.sentences else ""
        if self.tuning is not None:
            total = f"‹ {section.title}: {total}"
        self.query_one("#views", Static).update(
            Content.assemble(*parts, "  ", (printable(total), "$foreground"))
        )

    def action_show_view_at(self, number: int) -> None:
        self.show_view(list(self._views)[number])

    def action_next_view(self, step: int) -> None:
        titles = list(self._views)
        if titles:
            self.show_view(titles[(titles.index(self.view) + step) % len(titles)])

    def open_row(self, table: FrameTable, row: Row) -> None:
        """Show the tactics of a layer, then the layer; expand a pass."""
        number = self._tuning_of(row)
        if number is not None:
            self.tuning, self.sort = number, ""
            self.show_rows()
            table.action_jump(0)
        elif self.shown_view.levels:
            table.toggle(row)
        else:
            super().open_row(table, row)

    def action_leave_layer(self) -> None:
        number, self.tuning = self.tuning, None
        self.sort = ""
        self.show_rows()
        rows = self.query_one(TreeTable).rows
        self.query_one(TreeTable).move_to(next((row for row in rows if self._tuning_of(row) == number), None))

    def _tuning_of(self, row: Row | None) -> int | None:
        """Return the place in the log of the layer of a row of `Tactics`."""
        if self._join is None or self.view != "Tactics" or self.tuning is not None or row is None:
            return None
        values = self._values(row)
        if not values:
            return None  # a row of the view before
        place = (values["line"], values["name"])
        tunings = self._join.trace.tunings
        return next(
            (number for number, tuning in enumerate(tunings) if (tuning.line, tuning.name) == place), None
        )

    def layer_of(self, row: Row) -> int | None:
        number = self._tuning_of(row) if self.tuning is None else self.tuning
        layers = self._join.layers_of_tuning.get(number, ()) if self._join and number is not None else ()
        return layers[0] if layers else None

    def _values(self, row: Row) -> dict[str, Any]:
        frame = self.query_one(TreeTable).section.frame
        return {} if frame is None or row not in frame.index else plain_rows(frame.loc[[row]])[0]

    # Details

    @on(FrameTable.Moved)
    def _explain(self, event: FrameTable.Moved) -> None:
        if self._join is not None and event.row is not None and not is_stale(event):
            self.query_one("#details", LinkedText).show(self._detail_lines(event.row))

    def _detail_lines(self, row: Row) -> Iterator[Line]:
        """Yield the values of a row, uncut, then what belongs to its view."""
        section, values = self.query_one(TreeTable).section, self._values(row)
        known = [column for column in section.columns if not is_empty(values.get(column.key))]
        head = next(iter(section.shorten), "")
        for column in sorted(known, key=lambda column: column.key != head):
            text = column.format(values[column.key], with_unit=True)
            yield heading(text) if column is known[0] or column.key == head else fact(column.title, text)
        number = self._tuning_of(row) if self.tuning is None else self.tuning
        if number is not None and self._join is not None:
            yield from (EMPTY, *map(sentence, tactics_section(self._join, number, 1).sentences))
            names, of_layers = short_names(self.engine), plain_values(self.engine.layers["name"])
            for layer in self._join.layers_of_tuning.get(number, ())[:_MOST_LAYERS]:
                yield Line(Content(f"› layer {layer} {names.fit(of_layers[layer], 36)}"), layer, indent=2)
        elif self.view == "Memory":
            yield from self._memory_lines()
        elif self.view in ("Phases", "Messages"):
            yield from (EMPTY, *self._build_lines())

    def _memory_lines(self) -> Iterator[Line]:
        """Yield what the builder sums up, by strategy."""
        totals = next(memory_sections(self._trace))
        for row in plain_rows(totals.frame) if totals.frame is not None else ():
            words = [
                f"strategy {row['strategy']}" if row["strategy"] is not None else "",
                row["verdict"] or "",
            ]
            yield from (EMPTY, heading(", ".join(filter(None, ["Memory of the engine", *words]))))
            for column in totals.columns[2:]:
                if row[column.key] is not None:
                    yield fact(column.title, column.format(row[column.key]), 20)

    def _build_lines(self) -> Iterator[Line]:
        """Yield how the build ended, and its facts."""
        if self._join is not None:
            section = result_section(self._join, self.engine)
            yield heading(section.title)
            yield from fact_lines(section)

    @property
    def _trace(self) -> BuildTrace:
        assert self._join is not None
        return self._join.trace

    # What the screen asks, and actions

    def sections(self) -> list[Section]:
        if self._join is None:
            return []
        return [result_section(self._join, self.engine), *super().sections()]

    def copied(self) -> list[dict[str, Any]]:
        return [
            {"name": next((str(value) for value in row.values() if value), ""), **row}
            for row in super().copied()
        ]

    def action_choose_sort(self) -> None:
        options = {"": "Order of the log"} | {
            column.key: column.title for column in self.shown_view.section.columns
        }
        dialogs.choose(self.app, "Sort by", options, self.sort_by, self.sort)

    @on(FrameTable.SortAsked)
    def _sort(self, event: FrameTable.SortAsked) -> None:
        if not self.shown_view.levels:
            self.sort_by(event.key)

    def sort_by(self, key: str) -> None:
        """Sort by a column; again to reverse."""
        self.is_reversed = not self.is_reversed if key == self.sort else False
        self.sort = key
        self.show_rows()

    def action_reverse_sort(self) -> None:
        self.sort_by(self.sort)

    def action_open_log(self) -> None:
        """Open the log in the pager, at the line of the row under the cursor."""
        row = self.query_one(TreeTable).row
        line = None if row is None else self._values(row).get("line")
        command = [
            *shlex.split(os.environ.get("PAGER") or "less"),
            *([f"+{line}"] if line else []),
            str(self._trace.path),
        ]
        try:
            with self.app.suspend():
                subprocess.run(command, check=False)
        except (OSError, SuspendNotSupported) as error:
            self.notify(
                f"{command[0]}: {printable(str(error)) or 'not possible here'}",
                severity="error",
                markup=False,
            )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide keys that do nothing here."""
        if action == "leave_layer":
            return self.tuning is not None
        if action in ("choose_sort", "reverse_sort"):
            return bool(self._views) and not self.shown_view.levels
        if action in ("next_view", "open_log"):
            return self._join is not None
        return super().check_action(action, parameters)


def _missing_lines(engine: Engine) -> Iterator[Line]:
    name = f"{engine.name}.build.log"
    yield sentence(f"Create one with `trtexec --verbose … > {name}`.")
    yield sentence("Without --verbose it has only phases, memory and warnings.", "$muted")
