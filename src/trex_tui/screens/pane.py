"""Base of the tabs of an engine, and the messages that they send to the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import pandas as pd
from textual import on
from textual.containers import Container
from textual.message import Message
from textual.reactive import var
from textual.widget import Widget

from trex_tui.analysis.structure import describe
from trex_tui.engine.model import Engine
from trex_tui.engine.names import short_names
from trex_tui.frames import plain_rows, plain_values
from trex_tui.lint.rule import Finding
from trex_tui.lint.run import LintResult
from trex_tui.report.document import Section
from trex_tui.screens.jobs import JobDone, finish_job, start_job
from trex_tui.text import printable
from trex_tui.widgets.chrome import StatusLine
from trex_tui.widgets.table import FrameTable, Row
from trex_tui.widgets.text import LinkedText

Result = TypeVar("Result")


@dataclass
class LayerChosen(Message):
    """The cursor moved to a layer: it becomes the current one."""

    layer: int


@dataclass
class LayerOpened(Message):
    """Show a layer on Layers, as a jump; with `tab`, there."""

    layer: int
    tab: str = "layers"


@dataclass
class LayersFiltered(Message):
    """Show the layers that match a term too, on Latency: `kind:gemm`."""

    term: str
    tab: str = "latency"


@dataclass
class FindingOpened(Message):
    """Show a finding on Lint."""

    finding: Finding


class RulesChanged(Message):
    """The configuration of the rules changed: run them again."""


@dataclass
class TabOpened(Message):
    """Show a tab, as a jump."""

    tab: str


@dataclass(eq=False, frozen=True)
class Shown:
    """The layers that the filter leaves.

    Attributes:
        text: The filter; empty for none.
        rows: Mask of the layers.
    """

    text: str
    rows: pd.Series


class EnginePane(Container):
    """A tab. The screen sets `current_layer`, `shown` and `lint` of the visible tab; watchers update it.

    Attributes:
        tab: Its id in `actions.TABS`.
        current_layer: The current layer, which all tabs share; None without layers.
        shown: The layers that the filter leaves.
        lint: The findings, once the rules have run.
        others: Engines that this one is compared with.
    """

    DEFAULT_CSS = """
    EnginePane {
        width: 100%; height: 100%; layout: vertical;
        & > #main { height: 3fr; }
        & > #details, & > .beside { height: 2fr; border-top: solid $panel; }
        &.-zoom-main > .beside, &.-zoom-main > #details, &.-zoom-details > #main { display: none; }
    }
    MainScreen.-wide EnginePane.-split {
        layout: grid; grid-size: 2 2; grid-columns: 3fr 2fr; grid-rows: 1fr 1;
        & > #main { height: 1fr; }
        & > #details, & > .beside { height: 1fr; border-top: none; border-left: solid $panel; }
        & > StatusLine { column-span: 2; }
        &.-zoom-main, &.-zoom-details { layout: vertical; }
    }
    """
    SCOPED_CSS = False
    """Breakpoints are classes of the screen."""
    tab: ClassVar[str]

    current_layer: var[int | None] = var(None, init=False)
    shown: var[Shown | None] = var(None, init=False)
    lint: var[LintResult | None] = var(None, init=False)

    def __init__(self, engine: Engine) -> None:
        super().__init__(id=self.tab)
        self.engine = engine
        self.others: list[Engine] = []

    # What the screen asks

    @property
    def main(self) -> Widget:
        """The widget that gets the focus."""
        return self.query_one("#main")

    @property
    def beside(self) -> Widget | None:
        """The widget beside or below it; None for none."""
        found = self.query("#details")
        return found.first() if found else None

    @property
    def is_beside(self) -> bool:
        """Whether the focus is on what is beside the main part."""
        return self.is_attached and self.beside is not None and self.beside.has_focus

    @property
    def table(self) -> FrameTable | None:
        """The table on screen, in which `f` finds and `space` marks; None for none."""
        mains = self.query("#main")
        return mains.first() if mains and isinstance(mains.first(), FrameTable) else None  # type: ignore[return-value]

    def layer_of(self, row: Row) -> int | None:
        """Return the layer of a row of the table: the row itself, unless a tab overrides it."""
        return row if isinstance(row, int) else None

    def sections(self) -> list[Section]:
        """Return what `e` exports: what the tab shows, as sections."""
        table = self.table
        return [] if table is None else [table.section]

    def copied(self) -> list[dict[str, Any]]:
        """Return what `y` and `Y` copy, a dictionary with `name` per row: the marked rows, else that under the cursor.

        Of layers it has all usual columns.
        """
        table = self.table
        if table is None or table.section.frame is None:
            return []
        rows = [row for row in table.rows if row in table.marked] or (
            [] if table.row is None else [table.row]
        )
        layers = [layer for row in rows if (layer := self.layer_of(row)) is not None]
        return plain_rows(
            self.engine.frame().loc[layers] if len(layers) == len(rows) else table.section.frame.loc[rows]
        )

    def explained(self) -> tuple[Section, Row | None] | None:
        """Return the table and the row whose numbers `i` explains; None for nothing."""
        table = self.table
        return None if table is None else (table.section, table.row)

    def place(self) -> Any:  # noqa: ANN401 - of each tab its own
        """Return where the reader is, for `-`: by default row, scroll position, focus on the details, zoom."""
        table = self.table
        zoom = next((name for name in _ZOOMS if self.has_class(name)), "")
        return (None if table is None else (table.row, table.scroll_offset.y), self.is_beside, zoom)

    def return_to(self, place: Any) -> None:  # noqa: ANN401 - as `place`
        """Go back to where the reader was."""
        at, is_beside, zoom = place
        if self.table is not None and at is not None:
            self.table.move_to(at[0])
            self.table.scroll_to(y=at[1], animate=False)
        self.remove_class(*_ZOOMS)
        self.set_class(bool(zoom), zoom or _ZOOMS[0])
        if is_beside and self.beside is not None:
            self.beside.focus()

    # What a tab uses

    def compute(self, work: Callable[[], Result], finish: Callable[[Result], object]) -> None:
        """Call `work` in a thread, then `finish` with its result. An error is a message to the user."""
        start_job(self, work, finish, self._fail)

    def _fail(self, error: Exception) -> None:
        self.app.notify(printable(str(error)) or type(error).__name__, severity="error", markup=False)

    @on(JobDone)
    def _finish_job(self, event: JobDone) -> None:
        finish_job(event)

    @on(FrameTable.Moved)
    def _move(self, event: FrameTable.Moved) -> None:
        """Make the layer under the cursor the current one, and say its kernel under the table."""
        if is_stale(event):
            return
        layer = None if event.row is None else self.layer_of(event.row)
        if event.table is self.table and self.display:
            self.show_status(layer)
            if layer is not None and event.is_by_user and layer != self.current_layer:
                self.post_message(LayerChosen(layer))

    @on(FrameTable.Chosen)
    def _choose(self, event: FrameTable.Chosen) -> None:
        if not is_stale(event):
            self.open_row(event.table, event.row)

    def open_row(self, table: FrameTable, row: Row) -> None:  # noqa: ARG002 - for tabs with several
        """Open a row: its layer on Layers, unless a tab overrides it."""
        layer = self.layer_of(row)
        if layer is not None:
            self.post_message(LayerOpened(layer))

    @on(LinkedText.Followed)
    def _follow(self, event: LinkedText.Followed) -> None:
        """Follow a link of a text: a message is sent to the screen, a number is a layer."""
        link = event.link
        if isinstance(link, Finding):
            self.post_message(FindingOpened(link))
        elif isinstance(link, Message):
            self.post_message(link)
        elif isinstance(link, int):
            self.post_message(LayerOpened(link))

    def show_status(self, layer: int | None) -> None:
        """Show tactic, formats and full name of a layer in the status line."""
        for line in self.query("#status").results(StatusLine):
            line.update("" if layer is None else describe_layer(self.engine, layer))

    def action_zoom(self) -> None:
        """Show the part with the focus alone, or both again."""
        if self.beside is None:
            return
        name = "-zoom-details" if self.is_beside else "-zoom-main"
        was_zoomed = any(self.has_class(zoom) for zoom in _ZOOMS)
        self.remove_class(*_ZOOMS)
        self.set_class(not was_zoomed, name)


_ZOOMS = ("-zoom-main", "-zoom-details")


def describe_layer(engine: Engine, layer: int) -> str:
    """Return the status of a layer: tactic · in formats → out formats · full name."""
    row = {key: plain_values(engine.layers[key].iloc[[layer]])[0] for key in ("tactic", "name")}
    formats = " → ".join(
        ", ".join(dict.fromkeys(filter(None, map(describe, ports[layer])))) or "?"
        for ports in (engine.inputs, engine.outputs)
    )
    parts = (row["tactic"], formats if formats != "? → ?" else "", row["name"])
    return " · ".join(printable(part) for part in parts if part)


def layer_shorteners(engine: Engine) -> dict[str, Callable[[str, int], str]]:
    """Return the functions that cut names of layers so that different ones stay different, for `Section.shorten`."""
    return {"name": short_names(engine).fit}


def as_layers(index: Iterable[Any]) -> list[int]:
    """Return the labels of rows that are layers."""
    return [int(label) for label in index]


def is_stale(event: FrameTable.Moved | FrameTable.Chosen) -> bool:
    """Return whether the cursor or the rows moved on meanwhile, or the tab is being closed."""
    return not event.table.is_attached or event.row != event.table.row
