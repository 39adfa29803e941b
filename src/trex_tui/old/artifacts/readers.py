"""Readers of plug-ins: files of other producers, converted to the JSON of trtexec.

A package provides one by an entry point of the group `trex_tui.readers`, which names a `Reader` or an iterable of them::

    [project.entry-points."trex_tui.readers"]
    ours = "our_package.reader:READER"

A reader is asked for files that trex-tui does not know itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trex_tui.old.artifacts.input_files import convert_with
from trex_tui.old.errors import ArtifactError, Diagnostic, Severity
from trex_tui.old.lazy_dataclass import dataclass
from trex_tui.old.plugins import as_list, describe_failure, find_entry_points, load_plugins

if TYPE_CHECKING:
    from trex_tui.old.artifacts.file_kinds import ArtifactKind  # which asks the readers here

GROUP = "trex_tui.readers"
KINDS = ("graph", "profile", "timing")
"""Values of `ArtifactKind`."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader of a format.

    Attributes:
        name: A few words, for messages.
        kind: What the file becomes: layer information, a profile, or a timing file.
        recognizes: Whether a file has the format, from its path and the beginning of its text.
        convert: Returns the JSON value that trtexec writes for this kind, from the whole text.
    """

    name: str
    kind: ArtifactKind
    recognizes: Callable[[Path, str], bool]
    convert: Callable[[str], Any]


@lru_cache(maxsize=1)
def all_readers() -> tuple[tuple[Reader, ...], tuple[Diagnostic, ...]]:
    """Return the readers of this installation, and those that cannot be used."""
    readers: list[Reader] = []
    problems: list[Diagnostic] = []
    for loaded in load_plugins(find_entry_points(GROUP), "readers", as_list(Reader)):
        problems += [loaded.problem] if loaded.problem else []
        for reader in loaded.objects:
            if isinstance(reader, Reader) and reader.kind.value in KINDS:
                readers.append(reader)
            else:
                message = "is not a Reader of layer information, profiles or timing files; skipped"
                problems.append(Diagnostic(Severity.WARNING, None, loaded.where, message))
    return tuple(readers), tuple(problems)


def find_reader(path: Path, head: str) -> Reader | None:
    """Return the reader that recognizes a file, whose text is converted from now on; None if there is none."""
    for reader in all_readers()[0]:
        try:
            is_known = reader.recognizes(path, head)
        except Exception as error:  # noqa: BLE001 - a foreign function
            describe_failure(error, reader.name)
            continue
        if is_known:
            convert_with(path, partial(_converted, reader, path))
            return reader
    return None


def _converted(reader: Reader, path: Path, text: str) -> str:
    try:
        return json.dumps(reader.convert(text))
    except Exception as error:
        failure = describe_failure(error, reader.name, "failed")
        raise ArtifactError(
            path, f"cannot be read: reader {reader.name} {failure.message}; ask its author"
        ) from error
