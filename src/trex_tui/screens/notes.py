"""What was wrong with an engine's files, and which files there are."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from trex_tui.engine.engine import Engine
from trex_tui.errors import Diagnostic
from trex_tui.screens.text import TextScreen
from trex_tui.text import printable
from trex_tui.theme import severity_style


def diagnostic_lines(diagnostics: Iterable[Diagnostic]) -> list[Content]:
    """Severity, place and sentence of each, with an empty line behind."""
    lines = []
    for one in diagnostics:
        lines.append(Content.styled(one.severity.value, severity_style(one.severity)))
        place = " · ".join(part for part in (one.file.name if one.file else "", one.where) if part)
        if place:
            lines.append(Content.styled(f"  {printable(place)}", "$text-muted"))
        lines.append(Content(f"  {printable(one.message)}"))
        lines.append(Content(""))
    return lines


def notes_text(engine: Engine) -> Content:
    """The diagnostics, then the files by kind."""
    lines = diagnostic_lines(engine.diagnostics)
    if not engine.diagnostics:
        lines += [Content("Nothing was wrong with the files of this set."), Content("")]
    lines.append(Content.styled("Files", "bold $primary"))
    for kind, path in engine.files.items():
        lines.append(Content.assemble((f"  {kind.value:<17}", "$text-muted"), printable(str(path))))
    return Content("\n").join(lines)


class NotesScreen(TextScreen):
    """The notes of an engine."""

    def __init__(self, engine: Engine) -> None:
        super().__init__("Notes", notes_text(engine))
