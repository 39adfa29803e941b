"""Windows of text: what a number is, the keys that work here, and what was wrong with the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from trex_tui.analysis.filter import EXAMPLES
from trex_tui.artifacts import ArtifactKind
from trex_tui.engine.columns import LayerColumn
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.errors import Diagnostic
from trex_tui.report.views.layers import cell_text, explain_column
from trex_tui.screens.dialogs import TextScreen
from trex_tui.text import printable
from trex_tui.widgets.actions import Place, keys_table
from trex_tui.widgets.text_view import TextLine
from trex_tui.widgets.theme import severity_style

_FILES = {
    "layer information": (ArtifactKind.GRAPH,),
    "profile": (ArtifactKind.PROFILE,),
    "metadata": (ArtifactKind.DEVICE_METADATA, ArtifactKind.BUILD_METADATA, ArtifactKind.PROFILE_METADATA),
}
_INDENT, _LITTLE = 10, 2


def explanation_lines(engine: Engine, column: LayerColumn, layer: Layer | None) -> list[TextLine]:
    """Format a value, the definition of its column, and the files."""
    lines: list[TextLine] = []
    if layer is not None:
        value = column.value(engine, layer)
        shown = cell_text(column, value)
        exact = f"  (exactly {value!r})" if isinstance(value, float) and repr(value) != shown else ""
        lines.append(TextLine(Content.styled(printable(layer.name), "$muted")))
        row = Content.assemble((f"{column.title}  ", "bold"), (shown, "bold $accent"), (exact, "$muted"))
        lines += [TextLine(row, _INDENT), TextLine(Content(""))]
    name, definition, *facts = explain_column(column).splitlines()
    lines += [TextLine(Content(name)), TextLine(Content(definition), _LITTLE)]
    lines += [TextLine(Content(line), _INDENT) for line in facts]
    lines += [TextLine(Content(f"  file    {printable(path)}"), _INDENT) for path in _files(engine, column)]
    return lines


def _files(engine: Engine, column: LayerColumn) -> Iterator[str]:
    for word, kinds in _FILES.items():
        if word in column.source:
            yield from (str(engine.files[kind]) for kind in kinds if kind in engine.files)


class ExplainScreen(TextScreen):
    """The explanation of a column, and of its value in a layer."""

    def __init__(self, engine: Engine, column: LayerColumn, layer: Layer | None) -> None:
        super().__init__(printable(column.title), explanation_lines(engine, column, layer))


def help_lines(places: Iterable[Place]) -> list[TextLine]:
    """Format keys and sentences under a heading per place."""
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
    """Format the filter language by example."""
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
