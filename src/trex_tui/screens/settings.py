"""What the explorer remembers: theme, columns, grouping. `trex-tui.toml` is for people and is never written.

Imports no Textual, which looks at the environment once.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.artifacts.write import write_atomically

if TYPE_CHECKING:
    from textual.dom import DOMNode


PLAIN_THEME, DEFAULT_THEME = "ansi-dark", "trex-dark"
"""Textual's theme of the terminal's own 16 colors: with NO_COLOR it alone sends none, others are turned into greys."""
_SIXTEEN_COLORS = ("linux", "vt100", "vt220", "ansi", "cons25", "screen")


def choose_theme(environ: Mapping[str, str], remembered: object) -> str:
    """Return the theme at the start: what the terminal can show, else the one chosen last."""
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR"):
        return PLAIN_THEME
    if stated := environ.get("TEXTUAL_THEME"):
        return stated
    chosen = remembered if isinstance(remembered, str) else ""
    if (term in _SIXTEEN_COLORS or term.endswith("-16color")) and not environ.get("COLORTERM"):
        return chosen if chosen.startswith("ansi-") else PLAIN_THEME
    return chosen or DEFAULT_THEME


class Settings:
    """Values by name, in a JSON file that other sessions may change too. Invalid content counts as none.

    Args:
        path: The file; None keeps the values for this session only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._values = self._read()

    @staticmethod
    def of(node: DOMNode) -> Settings:
        """Return the settings of the app that a widget or screen is in."""
        settings = getattr(node.app, "settings", None)
        return settings if isinstance(settings, Settings) else Settings(None)

    def get(self, name: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return a value; None if there is none."""
        return self._values.get(name)

    def words(self, name: str) -> list[str]:
        """Return a list of words; empty if the value is none."""
        value = self.get(name)
        return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []

    def set(self, name: str, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Remember a value; None forgets it. A file that cannot be written costs the memory, not the session."""
        if self._values.get(name) == value:
            return
        self._values = self._read() | self._values | {name: value}
        if self._path is not None:
            try:
                content = json.dumps(
                    {key: kept for key, kept in self._values.items() if kept is not None}, indent=1
                )
                write_atomically(self._path, content + "\n", make_directory=True)
            except OSError:
                self._path = None

    def reset(self) -> None:
        """Forget everything but the theme."""
        for name in self._values:
            if name != "theme":
                self.set(name, None)

    def _read(self) -> dict[str, Any]:
        try:
            values = json.loads(self._path.read_text("utf-8")) if self._path else {}
        except (OSError, ValueError):
            return {}
        return values if isinstance(values, dict) else {}
