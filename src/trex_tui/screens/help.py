"""The keys that work here, made from the table of actions."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from trex_tui.actions import Place, keys_table
from trex_tui.filtering import EXAMPLES
from trex_tui.screens.text import TextScreen
from trex_tui.widgets.wrapped_lines import TextLine


def help_lines(places: Iterable[Place]) -> list[TextLine]:
    """Keys and sentences, under a heading per place."""
    rows = keys_table(places)
    width = max(len(keys) for _, keys, _ in rows)
    lines: list[TextLine] = []
    heading = ""
    for place, keys, sentence in rows:
        if place != heading:
            lines += [TextLine(Content(""))] if lines else []
            lines.append(TextLine(Content.styled(place, "bold $primary")))
            heading = place
        row = Content.assemble((f"  {keys:<{width}}  ", "bold $accent"), sentence)
        lines.append(TextLine(row, width + 4))
    return lines


def filter_lines() -> list[TextLine]:
    """The filter language by example."""
    lines = [TextLine(Content("")), TextLine(Content.styled("Filter", "bold $primary"))]
    for expression, meaning in EXAMPLES:
        lines.append(TextLine(Content.styled(f"  {expression}", "bold $accent")))
        lines.append(TextLine(Content(f"    {meaning}"), 4))
    return lines


class HelpScreen(TextScreen):
    """The keys of some places, and the filter language where there is a filter."""

    def __init__(self, places: Iterable[Place]) -> None:
        shown = list(places)
        super().__init__("Keys", help_lines(shown) + (filter_lines() if Place.ENGINE in shown else []))
