"""What a search found, remembered in the cache directory: sets of directories, kinds of files; and how entries are kept.

Entries are written beside their place and moved there: several processes may use the cache at once. Damaged ones are read as
if missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from trex_tui._version import __version__
from trex_tui.old.artifacts.discover import KnownFolders, remember_folders
from trex_tui.old.artifacts.file_kinds import ArtifactKind, KnownKinds, Sniffed, remember_kinds
from trex_tui.old.artifacts.input_files import open_bytes
from trex_tui.old.lazy_dataclass import dataclass

ROW_VERSION = 4
"""Rises if a column of a row means something else, or entries have another form."""
_KINDS = {kind.value: kind for kind in ArtifactKind}


def make_key(*parts: str) -> str:
    """Return a key that another version of rows does not share."""
    text = "\0".join((f"{ROW_VERSION} {__version__}", *parts))
    return hashlib.blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def name_paths(paths: Sequence[str]) -> str:
    """Return the searched paths as given, since names of files begin with them, and where relative ones begin."""
    is_absolute = all(map(os.path.isabs, paths))
    return "\0".join(["" if is_absolute else os.getcwd(), *sorted(map(str, paths))])  # noqa: PTH109 - as text


def read_entry(path: Path) -> dict[str, Any] | None:
    """Return an entry; None if it is missing or damaged."""
    try:
        with open_bytes(path) as file:
            entry = json.loads(file.read())
    except (OSError, ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def write_entry(path: Path, document: object) -> None:
    """Write an entry; without room or rights there is none."""
    import tempfile  # 10 ms, and most runs have nothing to write

    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
                # In one piece: `json.dump` encodes in Python.
                file.write(json.dumps(document, allow_nan=False, separators=(",", ":")))
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


@dataclass(slots=True)
class Search:
    """A running search.

    Attributes:
        is_kept: Whether it is remembered for the next one.
    """

    is_kept: bool = True


@contextlib.contextmanager
def known_kinds(directory: Path, paths: Sequence[str]) -> Iterator[Search]:
    """Remember the sets of the directories below some paths, and the kinds of their files, from the last search."""
    search = Search()
    path = directory / "searches" / f"{make_key(name_paths(paths))}.json"
    entry = read_entry(path) or {}
    kinds, folders = _decode_kinds(entry.get("kinds")), _decode_folders(entry.get("folders"))
    with remember_kinds(kinds), remember_folders(folders):
        yield search
    # The sets of a known directory need no kinds of its files.
    known = {os.path.abspath(folder) for folder in folders.used}  # noqa: PTH100 - as text
    used = {
        file: found
        for file, found in kinds.used.items()
        if os.path.dirname(file) not in known  # noqa: PTH120 - as text
    }
    if not search.is_kept or (folders.used == folders.entries and kinds.entries == used):
        return
    write_entry(
        path,
        {
            "kinds": {
                file: [size, time_ns, sniffed.kind and sniffed.kind.value, sniffed.reason, sniffed.claims]
                for file, (size, time_ns, sniffed) in used.items()
            },
            "folders": {
                folder: [
                    listing,
                    [[name, {kind.value: file for kind, file in files.items()}] for name, files in sets],
                ]
                for folder, (listing, sets) in folders.used.items()
            },
        },
    )


def _decode_kinds(entries: object) -> KnownKinds:
    """Return kinds of files, without damaged entries."""
    known = KnownKinds()
    for file, entry in (entries if isinstance(entries, dict) else {}).items():
        with contextlib.suppress(ValueError, TypeError):
            size, time_ns, kind, reason, claims = entry
            sniffed = Sniffed(None if kind is None else ArtifactKind(kind), str(reason), bool(claims))
            known.entries[file] = (size, time_ns, sniffed)
    return known


def _decode_folders(entries: object) -> KnownFolders:
    """Return sets of directories, without damaged entries."""
    known = KnownFolders()
    for folder, entry in (entries if isinstance(entries, dict) else {}).items():
        with contextlib.suppress(KeyError, ValueError, TypeError, AttributeError):
            listing, sets = entry
            listed = {name: name for name, _, _ in listing}
            decoded = [
                (str(name), {_KINDS[kind]: listed[file] for kind, file in files.items()})
                for name, files in sets
            ]
            known.entries[folder] = (listing, decoded)
    return known
