"""`?`: the keys that work here; typed letters filter them, Enter runs one."""

from __future__ import annotations

from typing import Any

from textual.app import App


def show_help(app: App[Any]) -> None:
    app.notify("not yet")
