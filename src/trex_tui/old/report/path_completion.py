"""Complete a path while it is typed."""

from __future__ import annotations

import os
from pathlib import Path

from trex_tui.old.errors import TrexError

MOST_MATCHES = 200


def completions(text: str) -> list[str]:
    """Return completions of a typed path: directories, with a trailing separator, then files; hidden ones on request.

    The beginning stays as typed: `~` is not replaced, a relative path stays relative.
    """
    head, tail = os.path.split(text)
    directory = Path(_expanded(head) or ".")
    wanted = tail.casefold()
    folders: list[str] = []
    files: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if not entry.name.casefold().startswith(wanted) or (
                    entry.name.startswith(".") and not tail.startswith(".")
                ):
                    continue
                (folders if _is_directory(entry) else files).append(entry.name)
    except (OSError, ValueError):
        return []
    names = [f"{name}{os.sep}" for name in sorted(folders)] + sorted(files)
    return [os.path.join(head, name) for name in names[:MOST_MATCHES]]  # noqa: PTH118 - `~` and `.` stay as typed


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def common_beginning(candidates: list[str], typed: str) -> str:
    """Return the text after Tab: the common prefix of all candidates, never less than was typed."""
    beginning = os.path.commonprefix(candidates)  # noqa: RUF071 - names half typed
    return beginning if len(beginning) > len(typed) else typed


def typed_path(text: str) -> str:
    """Return the typed path, without surrounding blanks and with `~` expanded.

    Raises:
        TrexError: Nothing was typed, or it is not a path.
    """
    path = _expanded(text.strip())
    if not path:
        raise TrexError("type a path")
    if "\0" in path:
        raise TrexError("paths cannot contain NUL; remove it")
    return path


def _expanded(text: str) -> str:
    return os.path.expanduser(text)  # noqa: PTH111 - an unknown user is no error here
