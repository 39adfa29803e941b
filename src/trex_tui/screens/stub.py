"""A tab that is not written yet."""

from __future__ import annotations

from collections.abc import Callable

from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from trex_tui.engine.model import Engine
from trex_tui.screens.pane import EnginePane


class StubPane(EnginePane):
    tab = ""

    @classmethod
    def for_tab(cls, tab: str) -> Callable[[Engine], EnginePane]:
        return type(f"Stub{tab}", (cls,), {"tab": tab})

    def compose(self) -> ComposeResult:
        yield Static(self.tab, id="main")

    @property
    def main(self) -> Widget:
        return self.query_one("#main")
