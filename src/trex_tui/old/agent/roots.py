"""Paths that an agent may name: below the directories given at the start, links resolved."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from trex_tui.old.artifacts.archive import find_archive
from trex_tui.old.artifacts.input_files import confine, is_allowed
from trex_tui.old.errors import TrexError
from trex_tui.old.text import printable, shorten_middle

_MOST_PATH = 200
"""Characters of a path in a message."""


class Roots:
    """Directories that are read, and nothing else: every file that is opened is checked as well (`input_files.confine`)."""

    def __init__(self, directories: Sequence[str]) -> None:
        """Take the directories, and confine the whole process to them.

        Raises:
            TrexError: One is not a directory.
        """
        self._listed: dict[str, Path] = {}
        self.directories = [Path(os.path.realpath(directory)) for directory in directories]
        for given, directory in zip(directories, self.directories, strict=True):
            if not directory.is_dir():
                raise TrexError(f"{given}: is not a directory; name a directory")
        confine(self.directories)

    def resolve(self, path: str) -> Path:
        """Return the real path of a file or directory; a relative path is below the first directory that has it. A path that
        `show` changed to be printable is that of the file.

        Raises:
            TrexError: It does not exist, or is outside of the directories; the message is the same for both.
        """
        if "\0" not in path:
            for directory in self.directories:
                real = Path(os.path.realpath(directory / self._listed.get(path, Path(path))))
                if is_allowed(real) and real.exists():
                    return real
        shown = shorten_middle(printable(path), _MOST_PATH)
        known = ", ".join(map(str, self.directories))
        raise TrexError(f"{shown}: does not exist below {known}; the tool engines lists the paths")

    def show(self, path: Path) -> str:
        """Return the text that names a file in a tool: relative below a single directory; for unpacked files the archive."""
        path = find_archive(path) or path
        real = Path(os.path.realpath(path))
        if len(self.directories) == 1 and real.is_relative_to(self.directories[0]):
            path = real.relative_to(self.directories[0])
        shown = shorten_middle(printable(str(path)), _MOST_PATH)
        if shown != str(path):
            self._listed[shown] = path
        return shown
