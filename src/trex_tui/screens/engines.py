"""The list of engines: a row per set; open one, or compare the marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, ClassVar, NamedTuple

import pandas as pd
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Resize
from textual.message import Message

from trex_tui.analysis.engines import (
    EngineTable,
    ReadRows,
    Row,
    SetRows,
    Signature,
    make_table,
    sort_by_date,
    varying_columns,
)
from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.column import RARE, Column
from trex_tui.engine.filter import FilterError, describe_no_match, find_matches
from trex_tui.engine.names import ShortNames
from trex_tui.errors import Note
from trex_tui.frames import plain_rows, plain_values
from trex_tui.report.document import Document, Section, drop_empty_columns, plain
from trex_tui.report.selection import sort_rows
from trex_tui.screens import dialogs
from trex_tui.screens.explain import show_explanation
from trex_tui.screens.export import ask_export, show_notes
from trex_tui.screens.jobs import JobDone, finish_job, start_job
from trex_tui.screens.settings import Settings
from trex_tui.text import format_ms, plural, printable
from trex_tui.widgets.actions import ENGINES, bindings
from trex_tui.widgets.chrome import Fact, HeaderLine, KeyLine, MainScreen, StatusLine
from trex_tui.widgets.filter_bar import FilterBar
from trex_tui.widgets.table import FrameTable

MOST_COMPARED = 4
_SETTING = "engine_columns"
_SECONDS_BETWEEN = 0.3
"""Between two updates of the list while sets are read."""
LOOK_SECONDS = 5.0
"""Between two looks for new sets, at least."""
Stamp = tuple[tuple[str, str, int], ...]
"""Kind, path and time of change of each file of a set."""
_PER_SAMPLE, _WHOLE = "per_sample_ms", "latency_median_ms"
_LEFT_OUT = ("throughput_qps", "is_peak_at_least", "error")
_WIDTHS = {"device": 18, "directory": 32, "main_kinds": 28, "cautions": 16, "error": 32, "missing": 40}
_PRIORITIES = {
    "precision": 2,
    "missing": 3,
    "device": 4,
    "batch": 4,
    "tensorrt": 6,
    "per_sample_ms": 5,
    "directory": 8,
}
_TITLES = {"per_sample_ms": "ms/sample", "throughput_qps": "qps", "latency_p99_ms": "p99 ms"}


class EnginesAsked(Message):
    """Open an engine of the list; with several sets compare the first with the others.

    Attributes:
        source: Loads them (`cli.loading.Loader`: `discovery`, `load(set, run=None)`).
        tab: Where to begin; empty for the usual.
    """

    def __init__(self, source: Any, sets: Sequence[ArtifactSet], tab: str = "") -> None:  # noqa: ANN401
        super().__init__()
        self.source, self.sets, self.tab = source, sets, tab


@dataclass
class RowsRead(Message):
    """Some sets were read; the others have a row with their name alone."""

    table: EngineTable
    count: int

    bubble = False


class News(NamedTuple):
    """What a look for new sets found: the table, and the names of those that are new."""

    table: EngineTable
    names: list[str]


class EnginesScreen(MainScreen):
    """The list of engines, which is also the table that its filter bar completes.

    Args:
        source: `cli.loading.Loader`: `discovery`, `find()`, `load(set, run=None)`.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(ENGINES)
    AUTO_FOCUS = "#main"

    def __init__(self, source: Any) -> None:  # noqa: ANN401
        super().__init__()
        self.source = source
        self._sets: Sequence[ArtifactSet] = source.discovery.sets
        self.engines = make_table([(_place(found), None) for found in self._sets])
        self._filter = self._sort = ""
        self._is_reversed = False
        self._columns: list[str] = []
        """Chosen by the user; empty for those that differ."""
        self._count = 0
        self._known: dict[Stamp, SetRows] = {}
        """Rows of the sets that were read, by the state of their files."""

    def compose(self) -> ComposeResult:
        yield HeaderLine([Fact("trex-tui", 0, "bold $accent")])
        yield FrameTable(id="main")
        yield StatusLine("status")
        yield FilterBar(self)
        yield KeyLine()

    def on_mount(self) -> None:
        self._columns = [key for key in Settings.of(self).words(_SETTING) if key in self.columns]
        self._show()
        start_job(self, self._read, self._begin, self._fail)

    def _begin(self, table: EngineTable) -> None:
        self._show_table(table)
        self.set_timer(LOOK_SECONDS, self._look)

    # The table, for the filter bar too

    @property
    def columns(self) -> Mapping[str, Column]:
        return self.engines.columns

    def column(self, key: str) -> pd.Series:
        """Return a column; words of the filter are searched in the names."""
        return self.engines.column(key)

    @property
    def table(self) -> FrameTable:
        return self.query_one(FrameTable)

    # Reading

    def _read(self) -> EngineTable:
        """Read the sets in turn; show what is known from time to time. Runs in a thread."""
        read = ReadRows(self.source.load, None)
        rows: list[tuple[Row, Signature | None]] = []
        notes: dict[Note, None] = dict.fromkeys(self.source.discovery.notes)
        known, shown = {}, monotonic()
        for count, found in enumerate(self._sets, start=1):
            stamp = _stamp(found)
            of_set, notes_of_set = known[stamp] = self._known.get(stamp) or read(found)
            rows += [({**row, "engine": found.name}, signature) for row, signature in of_set]
            notes.update(dict.fromkeys(notes_of_set))
            if monotonic() - shown > _SECONDS_BETWEEN:
                rest: list[tuple[Row, Signature | None]] = [
                    (_place(later), None) for later in self._sets[count:]
                ]
                self.post_message(RowsRead(make_table([*rows, *rest]), count))
                shown = monotonic()
        self._known = known
        return make_table(rows, notes=tuple(notes))

    # Following the directory

    def _look(self) -> None:
        """Look for new and changed sets, with at most a twentieth of the time."""
        began = monotonic()

        def finish(news: News | None) -> None:
            self.set_timer(max(LOOK_SECONDS, 20 * (monotonic() - began)), self._look)
            self._show_news(news)

        start_job(self, self._read_again, finish, lambda _: finish(None))

    def _read_again(self) -> News | None:
        """Return the table and the names of new sets; None if no file changed. Runs in a thread."""
        discovery = self.source.find()
        if {_stamp(found) for found in discovery.sets} == self._known.keys():
            return None
        files = {path for found in self._sets for path in found.files.values()}
        self.source.discovery, self._sets = discovery, discovery.sets
        new = [found.name for found in self._sets if files.isdisjoint(found.files.values())]
        return News(self._read(), new)

    def _show_news(self, news: News | None) -> None:
        """Show the table with the cursor and marks where they were; announce new sets."""
        if news is None:
            return
        table, before = self.table, _identify(self.engines)
        cursor, marked = before.get(table.row), [before[row] for row in table.marked if row in before]
        self._show_table(news.table)
        labels = {identity: label for label, identity in _identify(news.table).items()}
        table.marked = {labels[identity] for identity in marked if identity in labels}
        if cursor in labels:
            table.move_to(labels[cursor])
        dated = sort_by_date(news.table).frame
        for row in plain_rows(dated[dated["engine"].isin(news.names)]):
            latency, change = row["latency_median_ms"], row["latency_median_ms_change_pct"]
            words = "" if latency is None else f": median {format_ms(latency)} ms"
            if change is not None and row["date"] is not None:
                words += f", {change:+.1f} % to the one before"
            self.notify(f"New: {printable(row['engine'])}{words}", markup=False, timeout=10)

    @on(RowsRead)
    def _show_some(self, event: RowsRead) -> None:
        self.engines, self._count = event.table, event.count
        self._show()

    def _show_table(self, table: EngineTable) -> None:
        self.engines, self._count = table, len(self._sets)
        self._show()

    @on(JobDone)
    def _finish_job(self, event: JobDone) -> None:
        finish_job(event)

    def _fail(self, error: Exception) -> None:
        self.notify(printable(str(error)) or type(error).__name__, severity="error", markup=False)

    # Showing

    def _show(self) -> None:
        """Show the rows that the filter leaves, in the order of the sort."""
        try:
            rows = find_matches(self.engines, self._filter)
        except FilterError:
            return
        index = sort_rows(self.engines, rows, self._sort or None, is_reversed=self._is_reversed)
        names = ShortNames({name: printable(name) for name in self.engines.frame["engine"]})
        frame = _shorten_cells(self.engines.frame.loc[index])
        table = self.table
        table.sort, table.is_descending = self._sort, not self._is_reversed
        section = Section(
            "engines", "Engines", frame=frame, columns=list(self._shown_columns()), noun="engine"
        )
        table.show(replace(drop_empty_columns(section), shorten={"engine": names.fit}))
        self._show_header(rows)
        self._tell(table.row)

    def _shown_columns(self) -> Iterator[Column]:
        """Yield the chosen columns, else those with more than one value."""
        table = self.engines
        keys = self._columns or [key for key in varying_columns(table) if table.columns[key].priority < RARE]
        if not self._columns:
            is_single = table.frame[_PER_SAMPLE].isna() | table.frame[_PER_SAMPLE].eq(table.frame[_WHOLE])
            left_out = {*_LEFT_OUT, *([_PER_SAMPLE] if is_single.all() else [])}
            keys = [key for key in keys if key not in left_out]
            keys += [key for key in ("missing", "directory") if key not in keys]
        for key in dict.fromkeys(("engine", *keys)):
            column = table.columns[key]
            title = _TITLES.get(key) or column.title[:1].upper() + column.title[1:]
            priority = _PRIORITIES.get(key, column.priority)
            yield replace(column, title=title, width=_WIDTHS.get(key, column.width), priority=priority)

    def _show_header(self, rows: pd.Series) -> None:
        frame = self.engines.frame
        shown = plural(len(frame), "engine")
        counted = f"{int(rows.sum())} of {shown}" if self._filter else shown
        facts = [Fact("trex-tui", 0, "bold $accent"), Fact(counted, 1)]
        models = frame["model"].nunique()
        if 1 < models < len(frame):
            facts.append(Fact(f"{models} models", 3))
        if self._filter:
            facts.append(Fact(f"/{printable(self._filter)}", 2, "$warning"))
        if self._count < len(self._sets):
            facts.append(Fact(f"reading {self._count} of {len(self._sets)} …", 1, "$muted", is_right=True))
        elif self.engines.notes:
            facts.append(Fact(f"! {plural(len(self.engines.notes), 'note')}", 4, "$warning", is_right=True))
        self.query_one(HeaderLine).show(facts)

    @on(FrameTable.Moved)
    def _move(self, event: FrameTable.Moved) -> None:
        self._tell(event.row)

    def _tell(self, index: Any) -> None:  # noqa: ANN401 - a label of a frame
        """Say the full name, the directory and the doubts of an engine."""
        if index not in self.engines.frame.index:
            text = describe_no_match(self.engines, self._filter, "engine") if self._filter else "No engines."
        else:
            row = plain_rows(self.engines.frame.loc[[index]])[0]
            parts = (row["error"], row["engine"], row["directory"], *(row["cautions"] or ()))
            text = " · ".join(part for part in parts if part)
        self.query_one("#status", StatusLine).update(printable(text))

    def on_resize(self, event: Resize) -> None:
        super().on_resize(event)
        self._show()

    # Opening

    def _sets_of(self, rows: Sequence[Any]) -> list[ArtifactSet]:
        """Return the sets of rows, without those that cannot be read; several runs of one count once."""
        frame = self.engines.frame.loc[list(rows)]
        readable = dict.fromkeys(plain_values(frame["engine"][frame["error"].isna()]))
        by_name = {found.name: found for found in self._sets}
        return [by_name[name] for name in readable]

    @on(FrameTable.Chosen)
    def _open(self, event: FrameTable.Chosen) -> None:
        if event.row != event.table.row:
            return
        sets = self._sets_of([event.row])
        if sets:
            self.post_message(EnginesAsked(self.source, sets))
        else:
            error = plain_values(self.engines.frame.loc[[event.row]]["error"])[0]
            self.notify(printable(str(error)), severity="error", markup=False)

    def action_compare(self) -> None:
        """Compare the marked engines; a single one with that under the cursor."""
        table = self.table
        rows = [row for row in table.rows if row in table.marked]
        if len(rows) < 2 and table.row is not None:
            rows = list(dict.fromkeys([*rows, table.row]))
        sets = self._sets_of(rows)
        if len(sets) < 2:
            self.notify("Mark two to four engines with Space, then press =.", markup=False)
            return
        if len(sets) > MOST_COMPARED:
            self.notify(f"The first {MOST_COMPARED} of {len(sets)} engines are compared.", markup=False)
        self.post_message(EnginesAsked(self.source, sets[:MOST_COMPARED], "compare"))

    def action_mark(self) -> None:
        self.table.mark()

    # Filter, sort, columns

    def action_filter(self) -> None:
        self.query_one(FilterBar).open(self._filter)

    @on(FilterBar.Changed)
    def _type(self, event: FilterBar.Changed) -> None:
        """Apply a text while it is typed; an invalid one leaves the rows as they are."""
        bar = self.query_one(FilterBar)
        try:
            rows = find_matches(self.engines, event.text, is_typing=True)
        except FilterError as error:
            bar.tell(str(error), is_error=not error.is_incomplete)
            return
        none = describe_no_match(self.engines, event.text, "engine", is_typing=True)
        bar.tell("" if rows.any() else none, is_error=not rows.any())
        self._filter = event.text.strip()
        self._show()

    @on(FilterBar.Closed)
    def _close_bar(self, event: FilterBar.Closed) -> None:
        self._filter = event.text.strip()
        self._show()
        self.table.focus()

    def action_escape(self) -> None:
        """Clear the filter; without one the marks."""
        if self._filter:
            self._filter = ""
            self._show()
        else:
            self.table.clear_marks()

    @on(FrameTable.SortAsked)
    def _sort_by(self, event: FrameTable.SortAsked) -> None:
        self._is_reversed = not self._is_reversed if event.key == self._sort else False
        self._sort = event.key
        self._show()

    def action_choose_sort(self) -> None:
        options = {"": "order found"} | {column.key: column.title for column in self._shown_columns()}
        dialogs.choose(self.app, "Sort by", options, self._choose_sort, self._sort)

    def _choose_sort(self, key: str) -> None:
        self._sort, self._is_reversed = key, False
        self._show()

    def action_choose_columns(self) -> None:
        options = {
            key: column.title for key, column in self.columns.items() if self.engines.frame[key].notna().any()
        }
        shown = [column.key for column in self._shown_columns() if column.key in options]
        dialogs.choose_columns(self.app, "Columns", options, shown, self._choose_columns)

    def _choose_columns(self, keys: list[str]) -> None:
        self._columns = keys
        Settings.of(self).set(_SETTING, keys or None)
        self._show()

    def action_reverse_sort(self) -> None:
        self._is_reversed = not self._is_reversed
        self._show()

    # Copy, explain, notes

    def _copied(self) -> list[dict[str, Any]]:
        table = self.table
        rows = [row for row in table.rows if row in table.marked] or (
            [] if table.row is None else [table.row]
        )
        return plain_rows(self.engines.frame.loc[rows])

    def action_copy(self) -> None:
        dialogs.copy(self.app, "\n".join(row["engine"] for row in self._copied()), "name")

    def action_copy_json(self) -> None:
        dialogs.copy(self.app, "\n".join(dialogs.to_json(plain(row)) for row in self._copied()), "row")

    def action_explain(self) -> None:
        show_explanation(self.app, self.table.section, self.table.row)

    def action_reload(self) -> None:
        self._known = {}
        start_job(self, self._read_again, self._show_news, self._fail)

    def action_export(self) -> None:
        document = Document("engines", "Engines", [self.table.section], self.engines.notes, version=2)
        ask_export(self.app, document, (path for found in self._sets for path in found.files.values()))

    def action_notes(self) -> None:
        show_notes(self.app, "Notes", self.engines.notes)


def _stamp(found: ArtifactSet) -> Stamp:
    """Return the files of a set and when each was changed."""
    stamps = []
    for kind, path in found.files.items():
        try:
            stamps.append((kind.value, str(path), path.stat().st_mtime_ns))
        except OSError:
            stamps.append((kind.value, str(path), 0))
    return tuple(stamps)


def _identify(table: EngineTable) -> dict[Any, tuple[Any, ...]]:
    """Return row -> what stays the same when the names of engines get other prefixes."""
    frame = table.frame
    names = frame["engine"].str.rpartition("/")[2]
    return dict(
        zip(frame.index, zip(frame["directory"], names, plain_values(frame["run"]), strict=True), strict=True)
    )


def _place(found: ArtifactSet) -> Row:
    return {"engine": found.name, "directory": str(found.directory)}


def _shorten_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without models that repeat the name and brands of devices, and with errors among what is missing."""
    last = frame["engine"].map(lambda name: name.rpartition("/")[2])
    is_repeated = frame["model"].eq(frame["engine"]).fillna(False) | frame["model"].eq(last).fillna(False)
    missing = [
        (_give_reason(error),) if error else parts
        for error, parts in zip(plain_values(frame["error"]), plain_values(frame["missing"]), strict=True)
    ]
    return frame.assign(
        model=frame["model"].mask(is_repeated, ""),
        device=frame["device"].str.replace(r"NVIDIA |GeForce | GPU", "", regex=True),
        missing=pd.Series(missing, frame.index, object),
    )


def _give_reason(error: str) -> str:
    """Return what is wrong with a file, without its name and the remedy: the status line has them."""
    reason = re.split(r"; | \(", error.partition(": ")[2] or error)[0]
    return reason.removeprefix("is ")
