"""What was read must never be written over, by whatever name it is reached: its own, another, a link, a second hard link."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from trex_tui.artifacts.discover import ArtifactSet
from trex_tui.artifacts.naming import is_archive
from trex_tui.errors import TrexError


class Inputs:
    """The files that a command, or a person in the explorer, read."""

    def __init__(self, paths: Iterable[str | Path]) -> None:
        self._paths = [Path(one) for one in paths]
        self._known = {key: one for one in self._paths for key in _keys(one)}

    def check(self, target: Path) -> None:
        """Refuse a target that is one of them.

        Raises:
            TrexError: It is; the message names it.
        """
        found = next((self._known[key] for key in _keys(target) if key in self._known), None)
        if found is not None:
            which = "" if found == target else f" {found},"
            raise TrexError(f"{target} is{which} one of the files that were read; write elsewhere")

    def check_directory(self, directory: Path) -> None:
        """Refuse a directory that is replaced as a whole, if one of them lies in it.

        Raises:
            TrexError: One does; the message names it.
        """
        root = os.path.realpath(directory)
        for one in self._paths:
            real = os.path.realpath(one)
            if real == root or real.startswith(root.rstrip(os.sep) + os.sep):
                raise TrexError(f"{directory} would be replaced, and {one} in it was read; write elsewhere")


def inputs_of(sets: Iterable[ArtifactSet], paths: Iterable[str | Path] = ()) -> Inputs:
    """The files of some sets, with the archives that these come from.

    Args:
        sets: What was found.
        paths: What a person named beside it: files, or directories, which count for nothing.
    """
    files = [file for one in sets for file in one.files.values()]
    archives = [found for file in files if (found := _archive_of(file)) is not None]
    return Inputs([*files, *archives, *paths])


def _archive_of(file: Path) -> Path | None:
    if not any(map(is_archive, file.parents)):
        return None
    from trex_tui.artifacts.archive import archive_of  # 20 ms for zipfile

    return archive_of(file)


def _keys(path: Path) -> tuple[object, ...]:
    """What two paths to one file share: where it is in the end, and what the file system calls it, which hard links share."""
    try:
        status = os.stat(path)  # noqa: PTH116 - takes what is no valid path as well
        return os.path.realpath(path), *([(status.st_dev, status.st_ino)] if status.st_ino else [])
    except OSError:
        return (os.path.realpath(path),)
    except ValueError:  # a NUL in the path
        return ()
