"""The line of keys that work now, in as many cells as there are.

Textual's footer has a widget for each key, and makes all of them anew when one key comes or goes: two layouts of the screen
for each letter typed into a filter, and for each other tab. This one is a line of text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from trex_tui.actions import ACTIONS

_SPARE = [action.action for action in sorted(ACTIONS, key=lambda action: -action.spare) if action.spare]
"""What leaves the line first: the last of these."""


@dataclass(frozen=True, slots=True)
class FooterKey:
    """A key, and what it does.

    Attributes:
        key: Textual's name.
        label: What is on the key.
        words: A word or two.
        action: What a click on it does as well.
        is_enabled: False where it would do nothing now.
        tooltip: A sentence, or nothing.
    """

    key: str
    label: str
    words: str
    action: str
    is_enabled: bool = True
    tooltip: str = ""

    @property
    def cells(self) -> int:
        """Cells for both and the blank between."""
        return cell_len(self.label) + 1 + cell_len(self.words)


class KeyFooter(Widget):
    """Where there is no room for all keys, those go that the table of actions calls spare."""

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyFooter { dock: bottom; height: 1; background: $panel; text-wrap: nowrap; text-overflow: clip; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[FooterKey] = []

    def on_mount(self) -> None:
        """Follow the keys."""
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    @property
    def shown(self) -> list[FooterKey]:
        """The keys that fit."""
        return fitting(self._keys, self.size.width)

    def _bindings_changed(self, screen: Screen[Any]) -> None:
        if screen is self.screen and self.app.app_focus:
            self.follow(screen)

    def follow(self, screen: Screen[Any]) -> None:
        """Show the keys of a screen: of the one that this line is on, or of a window over that."""
        keys = self._active_keys(screen)
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def _active_keys(self, screen: Screen[Any]) -> list[FooterKey]:
        """The first key of each action that is shown."""
        found: dict[str, FooterKey] = {}
        for _, binding, is_enabled, tooltip in screen.active_bindings.values():
            if binding.show and binding.action not in found:
                label = self.app.get_key_display(binding)
                key = FooterKey(binding.key, label, binding.description, binding.action, is_enabled, tooltip)
                found[binding.action] = key
        return list(found.values())

    def render(self) -> RenderResult:
        """Keys and words."""
        parts = [
            Content.assemble(
                (key.label, "bold $footer-key-foreground" if key.is_enabled else "dim"),
                (f" {key.words}", "$footer-description-foreground" if key.is_enabled else "dim"),
            )
            for key in self.shown
        ]
        return Content(" ").join(parts)

    def key_at(self, x: int) -> FooterKey | None:
        """The key that is drawn in a column."""
        return next((key for start, key in self._places() if start <= x < start + key.cells), None)

    def _places(self) -> Iterator[tuple[int, FooterKey]]:
        start = 0
        for key in self.shown:
            yield start, key
            start += key.cells + 1

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Say in a sentence what the key does that the mouse is on."""
        key = self.key_at(event.x)
        tooltip = Content(key.tooltip) if key is not None and key.tooltip else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """A click on a key is the key."""
        key = self.key_at(event.x)
        if key is not None and key.is_enabled:
            self.app.simulate_key(key.key)
        elif key is not None:
            self.app.bell()


def fitting(keys: Sequence[FooterKey], width: int) -> list[FooterKey]:
    """The keys that fit into `width` cells."""
    kept = list(keys)
    for action in reversed(_SPARE):
        if sum(key.cells + 1 for key in kept) <= width + 1:
            break
        kept = [key for key in kept if key.action != action]
    return kept
