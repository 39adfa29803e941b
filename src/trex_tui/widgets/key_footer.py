"""The line of keys that work now, in as many cells as there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.screen import Screen
from textual.widget import Widget

from trex_tui.actions import ACTIONS

_SPARE = [action.action for action in ACTIONS if action.spare]
"""What leaves the line first: the last of these."""


@dataclass(frozen=True, slots=True)
class FooterKey:
    """A key and its words.

    Attributes:
        key: Textual's name of the key.
        display: As a person knows it.
        title: What it does, in a word or two.
        action: Textual's action.
        is_enabled: Whether it does anything now.
        tooltip: The same in a sentence.
    """

    key: str
    display: str
    title: str
    action: str
    is_enabled: bool = True
    tooltip: str = ""

    @property
    def cells(self) -> int:
        """Key, blank, words."""
        return cell_len(self.display) + 1 + cell_len(self.title)


class KeyFooter(Widget):
    """One line that is drawn, not composed of a widget for each key as Textual's own is: keys change with every other key
    pressed, and mounting a dozen widgets costs more than the frame that shows what the key did.

    Where there is no room for all keys, those go that the table of actions calls spare.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyFooter {
        dock: bottom;
        height: 1;
        color: $footer-description-foreground;
        background: $panel;
        text-wrap: nowrap;
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[FooterKey, ...] = ()

    def on_mount(self) -> None:
        """Follow the bindings."""
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        if not screen.app.app_focus or screen is not self.screen:
            return
        keys: dict[str, FooterKey] = {}
        for _, binding, enabled, tooltip in screen.active_bindings.values():
            if binding.show and binding.action not in keys:
                display = self.app.get_key_display(binding)
                keys[binding.action] = FooterKey(
                    binding.key, display, binding.description, binding.action, enabled, tooltip
                )
        if tuple(keys.values()) != self._keys:
            self._keys = tuple(keys.values())
            self.refresh()

    @property
    def shown_keys(self) -> list[FooterKey]:
        """The keys that there is room for."""
        return fitting(self._keys, self.app.size.width)

    def render(self) -> RenderResult:
        """Keys and words, a blank between each two."""
        return Content(" ").join(
            Content.assemble((key.display, "bold $footer-key-foreground"), f" {key.title}").stylize(
                "" if key.is_enabled else "dim"
            )
            for key in self.shown_keys
        )

    def _key_at(self, column: int) -> FooterKey | None:
        start = 0
        for key in self.shown_keys:
            if start <= column < start + key.cells:
                return key
            start += key.cells + 1
        return None

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Tell what the key under the mouse does."""
        key = self._key_at(event.x)
        self.tooltip = (key.tooltip or None) if key else None

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Press the key that was clicked."""
        key = self._key_at(event.x)
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
