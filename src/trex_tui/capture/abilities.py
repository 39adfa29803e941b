"""What a trtexec can do, out of its `--help`: version from the banner, options from the lines that explain them.

`--help` needs no GPU, and there is no `--version`. Which options it explains decides; the table of releases answers only for
deprecated ones, which help texts hide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from trex_tui.artifacts.header import version_of_number
from trex_tui.capture.flags import Version, flag_table, parse_version

_BANNER = re.compile(
    r"&&&& \w+ TensorRT\.trtexec(?: \[TensorRT v(?P<number>\d{1,9})\])?(?: \[b(?P<build>\d{1,9})\])?"
)
# An explained option stands at the margin; its explanation, which may name others, is indented far.
_EXPLAINED = re.compile(r"^ {1,4}(--\w+)[^\s,]*((?:, --?\w+)*)", re.MULTILINE)
_OLDEST: Version = (8, 2)
"""The first that exports layer information."""


class NotTrtexecError(ValueError):
    """A help text that is none of a usable trtexec; the message ends a sentence whose subject is the program."""


@dataclass(frozen=True, slots=True)
class Trtexec:
    """A trtexec that has been asked.

    Attributes:
        path: The program.
        version: `10.16.1`.
        build: Build number of the banner (`11`), which 10.4 and later print.
        explained: Options in its help text.
        found_by: How it was found: `--trtexec`, `$TRTEXEC`, `PATH`, or a directory.
    """

    path: Path
    version: str
    build: int | None
    explained: frozenset[str] = field(repr=False)
    found_by: str = ""

    @property
    def numbers(self) -> Version:
        """The version as numbers."""
        return parse_version(self.version)

    def knows(self, flag: str) -> bool:
        """Whether it reads an option: `--help` explains it, or its release is known to read it (deprecated ones are not
        explained)."""
        return flag in self.explained or flag_table().has(flag, self.numbers)

    @property
    def is_strongly_typed_only(self) -> bool:
        """Whether precision comes out of the model alone, as from TensorRT 11 on."""
        return not self.knows("--fp16")

    @property
    def measures_by_default(self) -> bool:
        """Whether CUDA graph, spin wait, no transfers and a separate profile run are defaults, as from TensorRT 11 on."""
        return self.knows("--noCudaGraph")


def read_help(text: str, path: Path, found_by: str = "") -> Trtexec:
    """Understand what `trtexec --help` printed.

    Raises:
        NotTrtexecError: It is no help text of trtexec, or of one that is too old.
    """
    match = _BANNER.search(text)
    if match is None:
        raise NotTrtexecError("is no trtexec: its --help prints no banner of TensorRT")
    if match["number"] is None:
        raise NotTrtexecError("is of TensorRT 7 or older; capture needs 8.2 or later")
    version = version_of_number(int(match["number"]))
    if parse_version(version) < _OLDEST:
        raise NotTrtexecError(
            f"is of TensorRT {version}, which exports no layer information; capture needs 8.2 or later"
        )
    explained: set[str] = set()
    for option in _EXPLAINED.finditer(text):
        explained.add(option[1])
        explained.update(name for name in option[2].split(", ") if name.startswith("--"))
    return Trtexec(
        path, version, int(match["build"]) if match["build"] else None, frozenset(explained), found_by
    )
