"""What was wrong with an engine's files, and which files there are."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from trex_tui.engine.engine import Engine
from trex_tui.errors import Diagnostic
from trex_tui.screens.text import TextScreen
from trex_tui.text import printable
from trex_tui.theme import severity_style
from trex_tui.widgets.wrapped_lines import TextLine

_EMPTY = TextLine(Content(""))


def diagnostic_lines(diagnostics: Iterable[Diagnostic]) -> list[TextLine]:
    """Severity, place and sentence of each, with an empty line between."""
    lines: list[TextLine] = []
    for one in diagnostics:
        lines += [_EMPTY] if lines else []
        lines.append(TextLine(Content.styled(one.severity.value, severity_style(one.severity))))
        place = " · ".join(part for part in (one.file.name if one.file else "", one.where) if part)
        if place:
            lines.append(TextLine(Content.styled(f"  {printable(place)}", "$muted"), 2))
        lines.append(TextLine(Content(f"  {printable(one.message)}"), 2))
    return lines


def notes_lines(engine: Engine) -> list[TextLine]:
    """The diagnostics, then the files by kind."""
    lines = diagnostic_lines(engine.diagnostics)
    if not engine.diagnostics:
        lines.append(TextLine(Content("Nothing was wrong with the files of this set.")))
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
