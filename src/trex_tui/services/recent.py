"""The engines opened lately, the last one first."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from trex_tui.artifacts.output_files import reason, write_atomically

MOST = 20
_MOST_BYTES = 1 << 20


def read_recent(file: Path | None) -> list[str]:
    """The paths in the file; none if it is absent or says something else."""
    try:
        if file is None or file.stat().st_size > _MOST_BYTES:
            return []
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    paths = found if isinstance(found, list) else []
    return [path for path in paths if isinstance(path, str) and path and "\0" not in path][:MOST]


def with_opened(recent: Iterable[str], opened: Sequence[str]) -> list[str]:
    """The list after opening something: absolute paths, each once."""
    first = [os.path.abspath(path) for path in opened]  # noqa: PTH100 - a link stays what a person calls it
    return list(dict.fromkeys([*first, *recent]))[:MOST]


def remember_opened(file: Path | None, opened: Sequence[str]) -> str:
    """Put paths at the top of the list; return why that was not possible, or nothing."""
    if file is None:
        return "there is no home directory"
    try:
        before = read_recent(file)
        after = with_opened(before, opened)
        if after != before:
            write_atomically(file, json.dumps(after, indent=1) + "\n", make_directory=True)
    except OSError as error:
        return f"{file}: {reason(error)}"
    return ""
