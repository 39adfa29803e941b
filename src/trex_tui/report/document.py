"""The one result model of commands, reports and screens: a document is a list of sections, or of parts that have sections.

Imports no pandas: commands on the GPU host describe their results with it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from trex_tui.column import Column, is_missing
from trex_tui.errors import Note, describe_file
from trex_tui.text import plural

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from trex_tui.report.charts import Chart

Json = Any
"""A value as JSON has it."""


class Fact(NamedTuple):
    """A named value.

    Attributes:
        text: For people, where the format of the column does not suffice: `at least 37.0 KiB`.
        is_folded: Shown on request only: an option at its default.
    """

    column: Column
    value: Any
    text: str = ""
    is_folded: bool = False

    def __str__(self) -> str:
        return self.text or self.column.format(self.value, with_unit=True)


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A titled part of a result.

    Attributes:
        key: Machine word, in JSON and in links. The values of a section without one belong to its document.
        sentences: Explanations, the answer first.
        frame: The table; JSON, CSV and the like have all of its columns.
        columns: The columns that people see.
        bar: Key of the column whose values are drawn as bars; empty for none.
        total: Number of rows, if the frame has some of them only.
        noun: A row, in words.
        shorten: Key of a column -> function that cuts a text to a number of characters, better than in the middle.
        data: Further values for programs: anything that `plain` takes.
        is_warning: To be seen before any number.
        audience: `programs` for JSON alone, `people` for all other formats, which show what JSON has elsewhere.
        is_aside: CSV and the like leave the table out, which is not that of the result.
    """

    key: str
    title: str = ""
    facts: Sequence[Fact] = ()
    sentences: Sequence[str] = ()
    frame: pd.DataFrame | None = None
    columns: Sequence[Column] = ()
    bar: str = ""
    chart: Chart | None = None
    total: int | None = None
    noun: str = "row"
    shorten: Mapping[str, Callable[[str, int], str]] = field(default_factory=dict)
    data: Any = None
    is_warning: bool = False
    audience: Literal["all", "people", "programs"] = "all"
    is_aside: bool = False

    def cells(self) -> Iterator[list[str]]:
        """Yield the cells of each shown column as text for people."""
        if self.frame is not None:
            for column in self.columns:
                yield [column.format(value) for value in self.frame[column.key].tolist()]

    def rows(self) -> Iterator[list[str]]:
        """Yield the cells of each row as text for people."""
        yield from map(list, zip(*self.cells(), strict=True))

    def bars(self) -> list[float]:
        """Return the length of the bar of each row, 1 for the longest; none without bars."""
        if self.frame is None or not self.bar:
            return []
        values = [0.0 if is_missing(value) else float(value) for value in self.frame[self.bar].tolist()]
        top = max(values, default=0.0)
        return [value / top if top > 0 else 0.0 for value in values]

    @property
    def rest(self) -> str:
        """A sentence about rows that are left out; empty for none."""
        if self.frame is None or self.total is None or self.total <= len(self.frame):
            return ""
        return f"{len(self.frame)} of {plural(self.total, self.noun)}; --top 0 shows all."


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """The result of a command, or its part about one subject.

    Attributes:
        key: Machine word: the schema of its JSON is `trex-tui/KEY/VERSION`.
        sections: About the whole.
        notes: Damage and doubts; every format shows them.
        parts: About one subject each: an engine.
        data: Further values for programs.
        version: Of the JSON: it grows when a key changes its meaning or leaves.
    """

    key: str
    title: str
    sections: Sequence[Section] = ()
    notes: Sequence[Note] = ()
    parts: Sequence[Document] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    version: int = 1

    @property
    def schema(self) -> str:
        """Name and version of its JSON."""
        return f"trex-tui/{self.key}/{self.version}"

    @property
    def shown(self) -> list[Section]:
        """The sections for people."""
        return [section for section in self.sections if section.audience != "programs"]

    def walk(self) -> Iterator[tuple[Document, Section]]:
        """Yield each section for people with its document or part."""
        for section in self.shown:
            yield self, section
        for part in self.parts:
            yield from part.walk()

    def all_notes(self) -> list[Note]:
        """Return the notes of the document and its parts, each once."""
        return list(dict.fromkeys([*self.notes, *(note for part in self.parts for note in part.all_notes())]))

    def damage(self) -> list[Note]:
        """Return the notes about files that are damaged or may lack a part."""
        return [note for note in self.all_notes() if note.is_damage]


def drop_empty_columns(section: Section) -> Section:
    """Return the section without the shown columns that have no value in any row; all stay if there are no rows."""
    frame = section.frame
    if frame is None or frame.empty:
        return section
    shown = [column for column in section.columns if not all(map(is_empty, frame[column.key].tolist()))]
    return replace(section, columns=shown)


def is_empty(value: Any) -> bool:  # noqa: ANN401 - a cell
    """Return whether a cell shows nothing."""
    return is_missing(value) or (isinstance(value, str | tuple | list) and not value)


# Values for programs


def plain(value: Any) -> Json:  # noqa: ANN401 - any result
    """Return a value as JSON has it. Missing and infinite numbers are null; records are objects, frames lists of them.

    Raises:
        TypeError: The value has no such form.
    """
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_name(key): plain(item) for key, item in value.items()}
    if isinstance(value, Note):
        return plain_note(value)
    if hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, tuple | list | Set):
        return [plain(item) for item in value]
    if isinstance(value, PurePath):
        return str(value)
    if is_dataclass(value):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    return _plain_of_pandas(value)


def _plain_of_pandas(value: Any) -> Json:  # noqa: ANN401 - a frame, a column, or a scalar
    if is_missing(value):
        return None
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        from trex_tui.frames import plain_rows

        return [plain(row) for row in plain_rows(value)]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise TypeError(f"no plain form of {type(value).__name__}")


def _name(key: Any) -> str:  # noqa: ANN401 - a key
    """Return the key of an object: percentiles as `p99.9`, None as `unknown`."""
    if isinstance(key, Enum):
        return str(key.value)
    if isinstance(key, float):
        return f"p{key:g}"
    return "unknown" if is_missing(key) else str(key)


def plain_note(note: Note) -> dict[str, Json]:
    """Return a note as an object."""
    return {
        "severity": note.severity.value,
        "file": describe_file(note.file) if note.file else None,
        "where": note.where or None,
        "message": note.message,
    }


def plain_document(document: Document) -> dict[str, Json]:
    """Return a document as the object that `--json` prints."""
    return {"schema": document.schema, **_content(document)}


def _content(document: Document) -> dict[str, Json]:
    content: dict[str, Json] = {key: plain(value) for key, value in document.data.items()}
    for section in document.sections:
        inner = plain_section(section) if section.audience != "people" else None
        if section.key and inner is not None:
            content[section.key] = inner
        elif inner:
            content |= inner
    if document.parts:
        content["engines"] = [{"name": part.title, **_content(part)} for part in document.parts]
    content["diagnostics"] = [plain_note(note) for note in document.notes]
    return content


def plain_section(section: Section) -> Json:
    """Return a section as an object of its facts and values, the rows of its table as `rows`; without others, the rows.

    None if it has sentences alone.
    """
    rows = None if section.frame is None else plain(section.frame)
    if section.data is None and not section.facts:
        return rows
    content = plain(section.data) or {}
    content |= {fact.column.key: plain(fact.value) for fact in section.facts if fact.column.key}
    if section.sentences:
        content["sentences"] = list(section.sentences)
    return content if rows is None else content | {"rows": rows}
