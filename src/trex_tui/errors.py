"""Errors and notes in one line each: `FILE:LINE: what is wrong; what to do`."""

from __future__ import annotations

import errno
from enum import Enum, IntEnum
from pathlib import Path
from typing import NamedTuple


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FINDINGS = 1
    """Findings, or a gate that failed."""
    BAD_INPUT = 2
    """Bad usage or input, or a gate that cannot be judged."""
    TRTEXEC_FAILED = 3
    INTERNAL_ERROR = 70
    """EX_SOFTWARE of sysexits.h."""
    INTERRUPTED = 130


class Severity(str, Enum):
    """Effect of a note on what is shown."""

    ERROR = "error"
    """A file could not be used, or a part of it is lost."""
    WARNING = "warning"
    """A number is affected or a part is missing."""
    INFO = "info"
    """Nothing is wrong."""


class Note(NamedTuple):
    """Damage, doubt or information about the input. Every renderer shows it.

    Attributes:
        file: The file; None for the set as a whole.
        where: Position in the file (`line 3 column 7`, `Layers[12]`), or empty.
        message: What is wrong, and what to do.
        is_incomplete: The file may lack a part although nothing in it is broken; counts as damage for `--strict`.
    """

    severity: Severity
    file: Path | None
    where: str
    message: str
    is_incomplete: bool = False

    @property
    def is_damage(self) -> bool:
        """True if the file is damaged or may lack a part."""
        return self.severity is Severity.ERROR or self.is_incomplete

    def __str__(self) -> str:
        file = describe_file(self.file) if self.file else ""
        words = self.where.split()
        if file and words[:1] == ["line"] and words[1:] and words[1].isdecimal():
            origin = f"{file}:{words[1]}"  # as compilers write it: editors open the file at the line
        else:
            origin = ": ".join(part for part in (file, self.where) if part)
        return f"{origin}: {self.message}" if origin else self.message


ARCHIVES: dict[Path, Path] = {}
"""Directory in which an archive was unpacked -> the archive, for messages. Standard input is one file."""


def describe_file(file: Path) -> str:
    """Return the path of a file for a message; for a file of an unpacked archive, its path in the archive."""
    for place, archive in ARCHIVES.items():
        if place == file or place in file.parents:
            return str(archive.joinpath(*file.relative_to(place).parts))
    return str(file)


class TrexError(Exception):
    """An error that the user can act on; its text is one line. Commands return its `exit_code`."""

    exit_code = ExitCode.BAD_INPUT


class ArtifactError(TrexError):
    """A file or directory cannot be used.

    Args:
        file: The file or directory.
        message: What is wrong, and what to do.
        where: Position in the file, if known.
        notes: Notes up to the error, for callers that show details.
    """

    def __init__(self, file: Path, message: str, where: str = "", notes: tuple[Note, ...] = ()) -> None:
        self.note = Note(Severity.ERROR, file, where, message)
        self.notes = notes
        super().__init__(str(self.note))


_REMEDIES = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.ENAMETOOLONG: "check the path",
    errno.ELOOP: "check the links of the path",
    errno.EISDIR: "name a file in it",
    errno.EACCES: "check its permissions",
    errno.EPERM: "check its permissions",
    errno.EFBIG: "use a smaller file, or raise `ulimit -f`",
    errno.EINVAL: "name a regular file",
    errno.EMFILE: "close other programs, or raise `ulimit -n`",
    errno.ENOSPC: "free space on the disk",
    errno.EROFS: "name another directory",
    errno.EEXIST: "name another one",
    errno.EXDEV: "name a directory of the same disk",
}


def describe_os_error(error: OSError, failed: str = "cannot be read") -> str:
    """Return why a file could not be used, with the remedy, for a message that begins with the file."""
    remedy = _REMEDIES.get(error.errno or 0, "check the disk, or copy it again")
    return f"{failed}: {error.strerror or str(error) or type(error).__name__}; {remedy}"
