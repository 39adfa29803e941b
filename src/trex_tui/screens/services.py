"""What screens ask of the application, without knowing its class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from textual.dom import DOMNode
from textual.message import Message

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trex_tui.analysis.load import LoadOptions
    from trex_tui.artifacts import ArtifactSet
    from trex_tui.engine.engine import Engine
    from trex_tui.screens.settings import Settings


@dataclass
class ReloadAsked(Message):
    """A person wants the files of an engine to be read again; without an engine, all that was opened."""

    engine: Engine | None = None


@dataclass
class ReadingCancelled(Message):
    """A person no longer waits for what is being read."""


class Services(Protocol):
    """The application, as screens see it."""

    captured: list[Engine]
    """What was measured again from here."""
    paths: list[str]
    """What was opened first."""

    @property
    def settings(self) -> Settings:
        """What is remembered."""

    @property
    def load_options(self) -> LoadOptions:
        """How engines are to be loaded."""

    def remember(self, **choices: object) -> None:
        """Keep a choice for the next time."""

    def engines_at_hand(self) -> Sequence[Engine]:
        """Engines that need not be read: captured, on a list, and on the screens that are open."""

    def unread_sets(self) -> Sequence[ArtifactSet]:
        """What is on a list of engines and was not read yet."""

    def listed_sets(self) -> Sequence[ArtifactSet]:
        """All that is on a list of engines."""

    async def run_where_focused(self, action: str) -> None:
        """Run an action as if its key had been pressed where the keyboard is."""


def services_of(node: DOMNode) -> Services:
    """Return the application that a screen or pane is part of."""
    return cast("Services", node.app)
