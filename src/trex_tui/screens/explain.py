"""What a number is: its value, definition, unit, formula, and the file it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from trex_tui.artifacts import ArtifactKind
from trex_tui.engine.columns import Column
from trex_tui.engine.engine import Engine
from trex_tui.engine.model import Layer
from trex_tui.reports.explain import explain_column
from trex_tui.reports.layers import cell_text
from trex_tui.screens.text import TextScreen
from trex_tui.text import printable
from trex_tui.widgets.wrapped_lines import TextLine

_FILES = {
    "layer information": (ArtifactKind.GRAPH,),
    "profile": (ArtifactKind.PROFILE,),
    "metadata": (ArtifactKind.DEVICE_METADATA, ArtifactKind.BUILD_METADATA, ArtifactKind.PROFILE_METADATA),
}
_INDENT, _LITTLE = 10, 2


def explanation_lines(engine: Engine, column: Column, layer: Layer | None) -> list[TextLine]:
    """The value in a layer, what `trex-tui explain` says of the column, and the files."""
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


def _files(engine: Engine, column: Column) -> Iterator[str]:
    for word, kinds in _FILES.items():
        if word in column.source:
            yield from (str(engine.files[kind]) for kind in kinds if kind in engine.files)


class ExplainScreen(TextScreen):
    """The explanation of a column, and of its value in a layer."""

    def __init__(self, engine: Engine, column: Column, layer: Layer | None) -> None:
        super().__init__(printable(column.title), explanation_lines(engine, column, layer))
