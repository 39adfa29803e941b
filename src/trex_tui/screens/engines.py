"""The list of engines: a row per set; open one, or compare the marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import Static

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.widgets.actions import ENGINES, bindings
from trex_tui.widgets.chrome import Fact, HeaderLine, KeyLine, MainScreen

if TYPE_CHECKING:
    from typing import Any


class EnginesAsked(Message):
    """Open an engine of the list; with several sets compare the first with the others.

    Attributes:
        source: Loads them (`cli.loading.Loader`: `discovery`, `load(set, run=None)`).
        tab: Where to begin; empty for the usual.
    """

    def __init__(self, source: Any, sets: Sequence[ArtifactSet], tab: str = "") -> None:
        super().__init__()
        self.source, self.sets, self.tab = source, sets, tab


class EnginesScreen(MainScreen):
    """The list of engines.

    Args:
        source: `cli.loading.Loader`: `discovery`, `load(set, run=None)`.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings(ENGINES)

    def __init__(self, source: Any) -> None:
        super().__init__()
        self.source = source

    def compose(self) -> ComposeResult:
        yield HeaderLine([Fact("trex-tui", 0, "bold $accent")])
        yield Static("\n".join(found.name for found in self.source.discovery.sets), markup=False)
        yield KeyLine()
