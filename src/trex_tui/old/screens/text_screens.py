"""Text windows: keys, and problems in the input files."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from trex_tui.old.analysis.filter import EXAMPLES
from trex_tui.old.engine.engine import Engine
from trex_tui.old.errors import Diagnostic
from trex_tui.old.screens.dialogs import TextScreen
from trex_tui.old.text import printable
from trex_tui.old.widgets.actions import Place, keys_table
from trex_tui.old.widgets.text_view import TextLine
from trex_tui.old.widgets.theme import severity_style


def help_lines(places: Iterable[Place]) -> list[TextLine]:
    """Format keys and sentences under a heading per place."""
    rows = keys_table(places)
    width = max(len(keys) for _, keys, _ in rows)
    lines: list[TextLine] = []
    heading = ""
    for context, keys, sentence in rows:
        if context != heading:
            lines += [TextLine(Content(""))] if lines else []
            lines.append(TextLine(Content.styled(context, "bold $primary")))
            heading = context
        row = Content.assemble((f"  {keys:<{width}}  ", "bold $accent"), sentence)
        lines.append(TextLine(row, width + 4))
    return lines


def filter_lines() -> list[TextLine]:
    """Format the filter language by example."""
    lines = [TextLine(Content("")), TextLine(Content.styled("Filter", "bold $primary"))]
    for expression, meaning in EXAMPLES:
        lines.append(TextLine(Content.styled(f"  {expression}", "bold $accent")))
        lines.append(TextLine(Content(f"    {meaning}"), 4))
    return lines


class HelpScreen(TextScreen):
    """Window with the keys of some places, and the filter language if they have a filter."""

    def __init__(self, places: Iterable[Place]) -> None:
        shown = list(places)
        super().__init__("Keys", help_lines(shown) + (filter_lines() if Place.ENGINE in shown else []))


_EMPTY = TextLine(Content(""))


def diagnostic_lines(diagnostics: Iterable[Diagnostic]) -> list[TextLine]:
    """Format diagnostics with an empty line between."""
    lines: list[TextLine] = []
    for diagnostic in diagnostics:
        lines += [_EMPTY] if lines else []
        lines.append(TextLine(Content.styled(diagnostic.severity.value, severity_style(diagnostic.severity))))
        file = diagnostic.file.name if diagnostic.file else ""
        where = " · ".join(part for part in (file, diagnostic.where) if part)
        if where:
            lines.append(TextLine(Content.styled(f"  {printable(where)}", "$muted"), 2))
        lines.append(TextLine(Content(f"  {printable(diagnostic.message)}"), 2))
    return lines


def notes_lines(engine: Engine) -> list[TextLine]:
    """Format the diagnostics, then the files by kind."""
    lines = diagnostic_lines(engine.diagnostics)
    if not engine.diagnostics:
        lines.append(TextLine(Content("No problems in the input files.")))
    lines += [_EMPTY, TextLine(Content.styled("Files", "bold $primary"))]
    width = max((len(kind.value) for kind in engine.files), default=0)
    for kind, path in engine.files.items():
        row = Content.assemble((f"  {kind.value:<{width}} ", "$muted"), printable(str(path)))
        lines.append(TextLine(row, width + 3))
    return lines


class NotesScreen(TextScreen):
    """The notes of an engine."""

    def __init__(self, engine: Engine) -> None:
        super().__init__("Notes", notes_lines(engine))
