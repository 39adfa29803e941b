"""The table of keys, for a terminal, a README and a script."""

from __future__ import annotations

from typing import Any

from trex_tui.widgets.actions import ACTIONS, Place, key_label, keys_table

KEYS_SCHEMA = "trex-tui/keys/1"


def keys_text() -> str:
    """Keys and sentences under a heading per place."""
    rows = keys_table()
    width = max(len(keys) for _, keys, _ in rows)
    lines: list[str] = []
    heading = ""
    for place, keys, sentence in rows:
        if place != heading:
            lines += ["", place] if lines else [place]
            heading = place
        lines.append(f"  {keys:<{width}}  {sentence}")
    return "\n".join(lines) + "\n"


def keys_markdown() -> str:
    """A table per place; keys as code."""
    lines = ["| where | keys | |", "|---|---|---|"]
    heading = ""
    for place, keys, sentence in keys_table():
        marked = " ".join(f"`{key}`" for key in keys.split(" "))
        lines.append(f"| {place if place != heading else ''} | {marked} | {sentence} |")
        heading = place
    return "\n".join(lines) + "\n"


def keys_document() -> dict[str, Any]:
    """The object that `keys --format json` prints; `id` is stable."""
    return {
        "schema": KEYS_SCHEMA,
        "keys": [
            {
                "id": action.id,
                "place": place.value,
                "keys": key_label(action.keys).split(" "),
                "title": action.title,
                "help": action.help,
            }
            for place in Place
            for action in ACTIONS
            if action.place is place
        ],
    }
