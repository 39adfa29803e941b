"""The line of keys that work now, in as many cells as there are."""

from __future__ import annotations

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from trex_tui.actions import ACTIONS

_SPARE = [action.action for action in sorted(ACTIONS, key=lambda action: -action.spare) if action.spare]
"""What leaves the line first: the last of these."""


class KeyFooter(Footer):
    """Where there is no room for all keys, those go that the table of actions calls spare."""

    def compose(self) -> ComposeResult:
        """The keys that fit."""
        yield from fitting(list(super().compose()), self.app.size.width)

    def on_resize(self, event: events.Resize) -> None:
        """Choose the keys anew."""
        self.call_after_refresh(self.recompose) if event.size.width else None


def fitting(keys: list[Widget], width: int) -> list[Widget]:
    """The keys that fit into `width` cells."""
    kept = list(keys)
    for action in reversed(_SPARE):
        if sum(map(_cells, kept)) <= width + 1:
            break
        kept = [key for key in kept if not (isinstance(key, FooterKey) and key.action == action)]
    return kept


def _cells(key: Widget) -> int:
    """Key, blank, words, and the blank to the next."""
    if not isinstance(key, FooterKey):
        return 0
    return cell_len(key.key_display) + cell_len(key.description) + 2
