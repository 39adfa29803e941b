"""`i`: the numbers of a screen with exact value, meaning, unit, formula, source and file, as in `trex-tui explain`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from textual.app import App
from textual.binding import Binding, BindingType
from textual.content import Content

from trex_tui.artifacts.kinds import FileKind
from trex_tui.column import Column, is_missing
from trex_tui.engine.names import describe_name
from trex_tui.frames import plain_values
from trex_tui.report.document import Section
from trex_tui.report.terms import Term, describe_column, explain
from trex_tui.screens.dialogs import TextDialog
from trex_tui.text import MISSING, printable
from trex_tui.widgets.table import Row
from trex_tui.widgets.text import Line, styled

_LOGS = (FileKind.BUILD_LOG, FileKind.PROFILE_LOG)
_FILES = {
    "layer information": (FileKind.GRAPH,),
    "profile": (FileKind.PROFILE,),
    "timing": (FileKind.TIMING,),
    "manifest": (FileKind.MANIFEST,),
    "metadata": (FileKind.BUILD_METADATA, FileKind.PROFILE_METADATA, FileKind.DEVICE_METADATA),
    "log": _LOGS,
}
"""Word in the source of a column -> files that may hold it."""
_LABEL = 9


class Shown(NamedTuple):
    """A number on screen.

    Attributes:
        value: As in the frame; missing for a column without a row.
        text: As on screen, if it is not what the column writes.
    """

    column: Column
    value: Any
    text: str = ""

    @property
    def exact(self) -> str:
        """The value with all digits."""
        return repr(self.value) if isinstance(self.value, int | float) else str(self.value)


def show_explanation(
    app: App[Any],
    section: Section,
    row: Row | None,
    files: Mapping[FileKind, Path] | None = None,
    others: Iterable[Section] = (),
) -> None:
    """Explain the columns of a table with the values of a row, then the facts of further sections.

    Args:
        files: Of the engine, to name the one that a number is from.
        others: Sections whose facts are on screen too.
    """
    numbers = [
        *list_numbers(section, row),
        *(number for other in others for number in list_numbers(other, None)),
    ]
    app.push_screen(ExplainDialog(section.title, numbers, files or {}))


def list_numbers(section: Section, row: Row | None) -> Iterator[Shown]:
    """Yield the columns of a table with their values in a row, that of the bars first; then the facts."""
    rows = section.frame.loc[[row]] if section.frame is not None and row in section.frame.index else None
    for column in sorted(section.columns, key=lambda column: column.key != section.bar):
        if column.help:
            is_known = rows is not None and column.key in rows
            yield Shown(column, plain_values(rows[column.key])[0] if rows is not None and is_known else None)
    for fact in section.facts:
        if fact.column.title and fact.column.help:
            yield Shown(fact.column, fact.value, str(fact))


class ExplainDialog(TextDialog):
    """Definitions of the numbers on a screen; `y` copies the first value with all its digits."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "copy_value", "copy value")]

    def __init__(self, title: str, numbers: Iterable[Shown], files: Mapping[FileKind, Path]) -> None:
        numbers = [number for number in numbers if number.text or not is_missing(number.value)] or list(
            numbers
        )
        super().__init__(f"Numbers: {title.lower()}" if title else "Numbers", explain_numbers(numbers, files))
        self._first = next((number for number in numbers if not is_missing(number.value)), None)

    def action_copy_value(self) -> None:
        """Copy the first value."""
        if self._first is None:
            self.notify("No value to copy.", markup=False)
        else:
            self.app.copy_to_clipboard(self._first.exact)
            self.notify(f"Copied {self._first.column.title}: {printable(self._first.exact)}", markup=False)


def explain_numbers(numbers: Iterable[Shown], files: Mapping[FileKind, Path]) -> Iterator[Line]:
    """Yield value, meaning, unit, formula and source of each number, and the file that it is from."""
    seen: set[str] = set()
    for number in numbers:
        if number.column.key in seen:
            continue
        if seen:
            yield Line(Content(""))
        seen.add(number.column.key or number.column.title)
        yield _value_line(number)
        yield from _term_lines(describe_column(number.column, ""), number.column.title)
        if (
            number.column.key == "name"
            and isinstance(number.value, str)
            and (meaning := describe_name(number.value))
        ):
            yield _fact("here", meaning)
        for path in _find_files(number.column.source, files):
            yield _fact("file", str(path))
    if not seen:
        yield Line(Content.styled("No numbers here.", "$muted"))


def explain_words(query: str) -> list[Line]:
    """Return the lines that explain a word of TensorRT, or the name of a layer or tactic."""
    lines: list[Line] = []
    for term in explain(query):
        lines += [*([Line(Content(""))] if lines else []), Line(Content.styled(term.name, "bold $accent"))]
        lines += _term_lines(term, term.name)
    return lines


def _value_line(number: Shown) -> Line:
    column, value = number.column, number.value
    shown = number.text or ("" if is_missing(value) else column.format(value, with_unit=True))
    is_rounded = isinstance(value, float) and number.exact not in shown
    exact = f"  exactly {number.exact}" if is_rounded else ""
    title = f"{column.title or column.key}  "
    return Line(styled((title, "bold"), (shown or MISSING, "bold $accent"), (exact, "$muted")), indent=2)


def _term_lines(term: Term, title: str) -> Iterator[Line]:
    yield Line(styled("  ", (term.meaning or term.name, "")), indent=2)
    also = [label for label in (term.name, *term.labels) if label and label.casefold() != title.casefold()]
    words = [word for word, meaning in (term.words or {}).items() if meaning]
    texts = {
        "also": ", ".join(dict.fromkeys(also)),
        "unit": term.unit,
        "formula": term.formula,
        "source": term.source,
    }
    yield from (_fact(label, text) for label, text in texts.items() if text)
    yield from (_fact(word, (term.words or {})[word]) for word in words)


def _fact(label: str, text: str) -> Line:
    return Line(styled((f"  {label:<{_LABEL}}", "$muted"), printable(text)), indent=_LABEL + 2)


def _find_files(source: str, files: Mapping[FileKind, Path]) -> Iterator[Path]:
    kinds = [kind for word, kinds in _FILES.items() if word in source for kind in kinds if kind in files]
    yield from (files[kind] for kind in dict.fromkeys(kinds))
