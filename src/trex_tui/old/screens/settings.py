"""Remembered settings: theme, columns, sort.

`settings.json` in the configuration directory is written by the program, one choice at a time; `trex-tui.toml` beside it is
for people and is never written. Invalid values of a file are ignored, never an error.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from trex_tui.old.artifacts.output_files import write_atomically
from trex_tui.old.config import read_content
from trex_tui.old.errors import describe_reason
from trex_tui.old.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Settings:
    """Remembered settings; empty by default.

    Attributes:
        theme: In terminals of many colours.
        plain_theme: In terminals of 16 colours.
        columns: Of the table of layers, in order.
        sort: Columns that the table is sorted by, each with whether it descends; None if nobody chose.
        grouping: How the tree groups.
        engine_columns, engine_sort, engine_grouping: Of the list of engines, as those of layers.
        dividers: Pane and direction -> share of its first part, where a person moved the divider.
        column_widths: Table and column, `latency-table.name` -> cells, where a person set the width.
    """

    theme: str = ""
    plain_theme: str = ""
    columns: tuple[str, ...] = ()
    sort: tuple[tuple[str, bool], ...] | None = None
    grouping: str = ""
    engine_columns: tuple[str, ...] = ()
    engine_sort: tuple[tuple[str, bool], ...] | None = None
    engine_grouping: str = ""
    dividers: tuple[tuple[str, float], ...] = ()
    column_widths: tuple[tuple[str, int], ...] = ()


class SettingsStore:
    """The settings and their file.

    Args:
        file: Where they lie; None keeps them for this session only.
        may_write: Whether the file may be changed.
    """

    def __init__(self, file: Path | None, *, may_write: bool = True) -> None:
        self._file = file
        self._may_write = may_write
        self.settings = Settings()
        self.note = ""
        """Problem with the file; empty if none."""
        document, self.note = _document(file)
        self._is_broken = bool(self.note)
        self.settings = settings_from(document)

    def remember(self, **choices: Any) -> str:  # noqa: ANN401 - any field
        """Remember choices and merge them into the file; return an error the first time."""
        chosen = replace(self.settings, **choices)
        if chosen == self.settings:
            return ""
        self.settings = chosen
        if not self._may_write:
            return ""
        try:
            self._write(choices)
        except OSError as error:
            self._may_write = False
            return f"settings not saved: {self._file}: {describe_reason(error)}"
        return ""

    def _write(self, choices: Mapping[str, Any]) -> None:
        """Merge choices into the file, which another session may have changed."""
        if self._file is None:
            raise OSError(0, "no home directory")
        document, _ = _document(self._file)
        if self._is_broken:
            with contextlib.suppress(OSError):
                self._file.replace(self._file.with_suffix(".json.broken"))
            self._is_broken = False
        text = json.dumps(document | dict(choices), indent=1) + "\n"
        write_atomically(self._file, text, make_directory=True)


def _document(file: Path | None) -> tuple[dict[str, Any], str]:
    """Return the object in a file, and the problem with it."""
    document, problem = _read_json(file)
    if isinstance(document, dict):
        return document, problem
    return {}, f"{file} is not a JSON object; ignored"


def _read_json(file: Path | None) -> tuple[Any, str]:
    """Return the content of a file (an empty object if it is absent or invalid) and the problem with it."""
    try:
        return ({} if file is None else json.loads(read_content(file))), ""
    except (FileNotFoundError, NotADirectoryError):
        return {}, ""
    except OSError as error:
        return {}, f"{file} cannot be read: {describe_reason(error)}"
    except (ValueError, RecursionError):
        return {}, f"{file} is not JSON; ignored"


def settings_from(document: Mapping[str, Any]) -> Settings:
    """Return the settings of a document; values of a wrong type are ignored."""
    readers = {
        **dict.fromkeys(("columns", "engine_columns"), _names),
        **dict.fromkeys(("sort", "engine_sort"), _sort),
        "dividers": _shares,
        "column_widths": _widths,
    }
    values: dict[str, Any] = {}
    for field in fields(Settings):
        value = readers.get(field.name, _text)(document.get(field.name))
        if value is not None:
            values[field.name] = value
    return Settings(**values)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _names(value: object) -> tuple[str, ...] | None:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return tuple(dict.fromkeys(value))
    return None


def _sort(value: object) -> tuple[tuple[str, bool], ...] | None:
    if not isinstance(value, list):
        return None
    keys = [tuple(key) for key in value if isinstance(key, list) and len(key) == 2]
    right = all(isinstance(name, str) and isinstance(descends, bool) for name, descends in keys)
    return tuple(keys) if right and len(keys) == len(value) else None


def _pairs(value: object, is_right: Callable[[Any], bool]) -> tuple[tuple[str, Any], ...] | None:
    """Return the names with their numbers; None if any is wrong."""
    if not isinstance(value, list):
        return None
    pairs = [tuple(pair) for pair in value if isinstance(pair, list) and len(pair) == 2]
    right = all(isinstance(name, str) and is_right(number) for name, number in pairs)
    return tuple(pairs) if right and len(pairs) == len(value) else None


def _shares(value: object) -> tuple[tuple[str, float], ...] | None:
    return _pairs(value, lambda share: isinstance(share, float) and 0 < share < 1)


def _widths(value: object) -> tuple[tuple[str, int], ...] | None:
    return _pairs(value, lambda cells: type(cells) is int and cells > 0)


MOST = 20


def read_recent(file: Path | None) -> list[str]:
    """Return the recent paths; none if the file is absent or invalid."""
    document, _ = _read_json(file)
    paths = document if isinstance(document, list) else []
    return [path for path in paths if isinstance(path, str) and path and "\0" not in path][:MOST]


def with_opened(recent: Iterable[str], opened: Sequence[str]) -> list[str]:
    """Return the list with the opened paths first: absolute, each once."""
    first = [os.path.abspath(path) for path in opened]  # noqa: PTH100 - a link stays what a person calls it
    return list(dict.fromkeys([*first, *recent]))[:MOST]


def remember_opened(file: Path | None, opened: Sequence[str]) -> str:
    """Put paths at the top of the list; return an error, or an empty text."""
    if file is None:
        return "no home directory"
    try:
        before = read_recent(file)
        after = with_opened(before, opened)
        if after != before:
            write_atomically(file, json.dumps(after, indent=1) + "\n", make_directory=True)
    except OSError as error:
        return f"{file}: {describe_reason(error)}"
    return ""
