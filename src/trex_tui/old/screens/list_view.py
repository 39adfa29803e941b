"""Screens that show the engines of the list in another form."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from textual.message import Message

from trex_tui.old.artifacts import ArtifactSet
from trex_tui.old.engine.engine import Engine
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.screens.dialogs import bring_to_top
from trex_tui.old.screens.engine_rows import EngineRow
from trex_tui.old.screens.list_actions import ListActions


@dataclass
class EngineOpened(Message):
    """An engine was chosen, possibly with others to compare."""

    engine: Engine
    others: tuple[Engine, ...] = ()


@dataclass
class SetsOpened(Message):
    """Engines were chosen that the list does not hold: the first is opened, others are compared with it."""

    sources: tuple[ArtifactSet, ...]


class EngineList(Protocol):
    """Interface of the list of engines for the screens over it."""

    @property
    def current_row(self) -> EngineRow | None:
        """The engine under the cursor; None if there is none."""

    @property
    def shown_engines(self) -> Sequence[EngineRow]:
        """The engines that the filter leaves, in the order of the list."""

    @property
    def marked_names(self) -> Sequence[str]:
        """The marked engines in the order of marking; the first is the baseline."""

    def go_to(self, name: str) -> None:
        """Put the cursor on an engine, if there is one of that name."""

    def open_row(self, row: EngineRow) -> None:
        """Open the engine of a row, or show its error; a heading opens nothing."""

    def toggle_marks(self, rows: Sequence[EngineRow]) -> None:
        """Mark engines; if all are marked, unmark them."""

    def compare_marked(self, row: EngineRow | None) -> None:
        """Compare the marked engines, the first as the baseline; one marked engine with that of the row; or the only two."""


class ListView(ListActions):
    """A screen over the list of engines."""

    def follow_list(self) -> None:
        """Update to the engines of the list."""
        raise NotImplementedError

    def action_back(self) -> None:
        if bring_to_top(self):
            self.app.pop_screen()
