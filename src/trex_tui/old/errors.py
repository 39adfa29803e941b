"""Errors in one line: diagnostics for parts, `TrexError` for the whole."""

from __future__ import annotations

import errno
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # with dataclasses it is a third of what --help imports
    from pathlib import Path


class ExitCode(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FINDINGS = 1
    BAD_INPUT = 2
    TRTEXEC_FAILED = 3
    INTERNAL_ERROR = 70
    """Internal error: EX_SOFTWARE of sysexits.h."""
    INTERRUPTED = 130


class Severity(str, Enum):
    """Effect of a diagnostic on what is shown."""

    ERROR = "error"
    """A file could not be used."""
    WARNING = "warning"
    """A number is affected or a part is missing."""
    INFO = "info"
    """Information; nothing is wrong."""


ARCHIVES: dict[Path, Path] = {}
"""Temporary directory in which an archive was unpacked -> the archive; its files lie below `NUMBER/NAME.tea` there."""
_ABOVE_MEMBERS = 2


def describe_file(file: Path) -> str:
    """Return the path of a file for a message; for an unpacked file, its path in the archive."""
    for directory, archive in ARCHIVES.items():
        if directory in file.parents:
            return str(archive.joinpath(*file.relative_to(directory).parts[_ABOVE_MEMBERS:]))
    return str(file)


class Diagnostic(NamedTuple):
    """A problem, or a note, of a reader.

    Attributes:
        severity: See `Severity`.
        file: The file; None for the set as a whole.
        where: Position in the file (`line 3 column 7`, `Layers[12]`), or empty.
        message: One sentence.
    """

    severity: Severity
    file: Path | None
    where: str
    message: str

    def __str__(self) -> str:
        file = describe_file(self.file) if self.file else ""
        words = self.where.split()
        if file and words[:1] == ["line"] and words[1:] and words[1].isdecimal():
            origin = f"{file}:{words[1]}"  # as compilers write it: editors open the file at the line
        else:
            origin = ": ".join(part for part in (file, self.where) if part)
        return f"{origin}: {self.message}" if origin else self.message


class TrexError(Exception):
    """A failure that the user can act on; its text is one line. Commands convert it into `exit_code`."""

    exit_code = ExitCode.BAD_INPUT


NOT_THERE = "does not exist; check the path"
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
    """Return the reason why a file could not be used, and the remedy, for a message that begins with the file."""
    return f"{failed}: {describe_reason(error, 'check the disk, or copy it again')}"


def describe_reason(error: OSError, otherwise: str = "check the disk") -> str:
    """Return the system's reason why something could not be read or written, and the remedy.

    Args:
        otherwise: The remedy of unusual errors.
    """
    return f"{error.strerror or str(error) or type(error).__name__}; {_REMEDIES.get(error.errno or 0, otherwise)}"


class ArtifactError(TrexError):
    """A file, or a searched directory, cannot be used.

    Args:
        file: The file or directory.
        message: What is wrong, one sentence.
        where: Position in the file, if known.
        diagnostics: Diagnostics up to the error, for callers that show the details.
    """

    def __init__(
        self, file: Path, message: str, where: str = "", diagnostics: tuple[Diagnostic, ...] = ()
    ) -> None:
        self.diagnostic = Diagnostic(Severity.ERROR, file, where, message)
        self.diagnostics = diagnostics
        super().__init__(str(self.diagnostic))
