"""What every screen of an engine has in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.containers import Container
from textual.message import Message
from textual.widget import Widget

from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer

if TYPE_CHECKING:
    from trex_tui.analysis.build import BuildFacts
    from trex_tui.lint.model import LintResult
    from trex_tui.report.listing import ListingOffer
    from trex_tui.report.views.compare import Shown


@dataclass
class LayerChosen(Message):
    """The cursor came to stand on a layer: it is the current one now."""

    layer: Layer


@dataclass
class LayerOpened(Message):
    """A person wants to see all of a layer."""

    layer: Layer


@dataclass
class MarksChanged(Message):
    """Other layers are marked now."""


class EnginePane(Container):
    """A screen of an engine. It shows what it is told, and posts what a person does."""

    def __init__(self, engine: Engine, *, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.engine = engine

    def show_layers(self, layers: Sequence[Layer], *, is_filtered: bool) -> None:
        """Show only these layers, which a filter left."""
        raise NotImplementedError

    def show_layer(self, layer: Layer | None) -> None:
        """Stand on this layer, or near it if the filter hides it."""
        raise NotImplementedError

    def show_lint(self, result: LintResult) -> None:
        """Show what lint found, as far as this screen has something to show of it."""

    def show_lint_problem(self, problem: str) -> None:
        """Show why there will be no findings, where they would be."""

    def show_build(self, facts: BuildFacts) -> None:
        """Show what the log of the build tells, as far as this screen has something to show of it."""

    def show_build_outline(self, facts: BuildFacts) -> None:
        """Show what it tells beside tactics, which are still being read; `show_build` follows."""

    def show_build_progress(self, read_bytes: int, size: int | None) -> None:
        """Show how much of that log, packed as it is, has been read."""

    def show_build_problem(self, problem: str) -> None:
        """Show why that log could not be read."""

    @property
    def cursor_layer(self) -> Layer | None:
        """The layer under the cursor; None if it is on something else."""
        raise NotImplementedError

    @property
    def is_on_group(self) -> bool:
        """Whether the cursor is on a group of layers."""
        return False

    @property
    def main_part(self) -> Widget:
        """Where the keyboard belongs."""
        raise NotImplementedError

    # What the actions of an engine ask of each screen; a screen without an answer leaves them as they are.

    @property
    def explained_column(self) -> Column | None:
        """The column that an explanation would be about; None leaves it to be chosen."""
        return None

    @property
    def shown_table(self) -> tuple[list[Layer], list[Column]] | None:
        """The layers and columns that an export would be of; None for all that the filter leaves."""
        return None

    @property
    def shown_text(self) -> str | None:
        """What is drawn here, for a file of text; None where an export is of layers only."""
        return None

    @property
    def shown_comparison(self) -> Shown | None:
        """The comparison that an export is of; None where it is of layers."""
        return None

    @property
    def shown_listings(self) -> dict[str, ListingOffer]:
        """What an export may be of beside layers: in words; empty where it is of layers only."""
        return {}

    @property
    def copied(self) -> tuple[Engine, list[Layer]] | None:
        """Layers of another engine that copying is about; None where it is about this one's."""
        return None

    @property
    def marked_layers(self) -> list[Layer]:
        """What copy and export are about; empty where nothing is marked."""
        return []

    def clear_marks(self) -> None:
        """Take all marks away."""

    def view_state(self) -> object:
        """What a person did to the looks of this screen, to be kept when the engine is read again; None for nothing."""
        return None

    def restore_view(self, state: object, old: Engine) -> None:
        """Take over what `view_state` of the screen on `old` gave."""
