"""The keys that work here, made from the table of actions."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from trex_tui.actions import Place, keys_table
from trex_tui.screens.text import TextScreen


def help_text(places: Iterable[Place]) -> Content:
    """Keys and sentences, under a heading per place."""
    rows = keys_table(places)
    width = max(len(keys) for _, keys, _ in rows)
    lines: list[Content] = []
    heading = ""
    for place, keys, sentence in rows:
        if place != heading:
            lines += [Content("")] if lines else []
            lines.append(Content.styled(place, "bold $primary"))
            heading = place
        lines.append(Content.assemble((f"  {keys:<{width}}  ", "bold $accent"), sentence))
    return Content("\n").join(lines)


class HelpScreen(TextScreen):
    """The keys of some places."""

    def __init__(self, places: Iterable[Place]) -> None:
        super().__init__("Keys", help_text(places))
