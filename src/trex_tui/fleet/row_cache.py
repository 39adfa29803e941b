"""A cache of rows in the user's cache directory, so that a large tree is read once.

A set is known by its paths with size and time of change of each file; else by a digest of the content of its files, which
holds after a copy or a checkout. Entries are separate files, written beside their place and moved there: several processes
may use the cache at once, and an entry that is damaged is read as if it were missing. The sets of each directory and the
kinds of its files are kept as well, in one entry for each group of searched paths. A change of the content that leaves size
and time is not seen; `--no-cache` reads everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trex_tui._version import __version__
from trex_tui.analysis.load import LoadOptions
from trex_tui.artifacts.discover import ArtifactSet, KnownFolders, remember_folders
from trex_tui.artifacts.file_kinds import ArtifactKind, KnownKinds, Sniffed, remember_kinds
from trex_tui.errors import Diagnostic, Severity
from trex_tui.fleet.engine_columns import Need
from trex_tui.fleet.models import Signature
from trex_tui.fleet.table import FleetRow, SetRows, read_rows

ROW_VERSION = 2
"""Rises if a column of a row means something else, or entries have another form."""
_PIECE_BYTES = 1 << 20
_KINDS = {kind.value: kind for kind in ArtifactKind}
Stats = list[list[int]]
"""Size and time of change in nanoseconds of each file of a set."""


@dataclass(frozen=True, slots=True)
class RowCache:
    """The cache for one kind of rows; it can be sent to other processes.

    Attributes:
        directory: Where entries are.
        key: What rows depend on beside the files: versions, options, columns.
    """

    directory: Path
    key: str

    @classmethod
    def of(cls, directory: Path, options: LoadOptions, need: Need) -> RowCache:
        """Return the cache for rows read with some options."""
        return cls(directory, f"{ROW_VERSION} {__version__} {need.name} {options!r}")

    def find(self, source: ArtifactSet) -> SetRows | None:
        """Return the rows of a set whose files have the same size and time as before; None if unknown."""
        entry = _read_entry(self._path_entry(source))
        stats = _read_stats(source)
        return _decode(entry, source) if entry is not None and stats and entry.get("stats") == stats else None

    def read(self, source: ArtifactSet, options: LoadOptions, need: Need) -> SetRows:
        """Return the rows of a set by the content of its files, and keep them."""
        stats = _read_stats(source)
        digest = _digest(source) if stats else None
        if stats is None or digest is None:
            return read_rows(source, options, need)
        content = self._entry(f"content {digest}")
        entry = _read_entry(content)
        known = _decode(entry, source) if entry is not None else None
        result = known or read_rows(source, options, need)
        if _read_stats(source) != stats:  # written while it was read
            return result
        document = _encode(result, source, stats)
        _write_entry(self._path_entry(source), document)
        # Errors and remarks on files beside the set name paths, which a copy does not have.
        is_movable = all(row.signature is not None for row in result.rows) and all(
            note.file is None or note.file in source.files.values() for note in result.diagnostics
        )
        if known is None and is_movable:
            _write_entry(content, document)
        return result

    def _path_entry(self, source: ArtifactSet) -> Path:
        paths = "\0".join(os.path.abspath(path) for path in source.files.values())  # noqa: PTH100 - as text
        return self._entry(f"paths {paths}")

    def _entry(self, name: str) -> Path:
        name = hashlib.blake2b(
            f"{self.key}\0{name}".encode("utf-8", "surrogateescape"), digest_size=16
        ).hexdigest()
        return self.directory / "rows" / name[:2] / f"{name[2:]}.json"


def _read_stats(source: ArtifactSet) -> Stats | None:
    try:
        return [[status.st_size, status.st_mtime_ns] for status in map(os.stat, source.files.values())]
    except OSError:
        return None


def _digest(source: ArtifactSet) -> str | None:
    """Return the digest of the kinds, names and contents of the files; None if one cannot be read."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for kind, path in source.files.items():
            size = path.stat().st_size
            digest.update(f"{kind.value}\0{path.name}\0{size}\0".encode("utf-8", "surrogateescape"))
            if kind is ArtifactKind.PLAN:  # gigabytes, of which a row has the size and the head
                size = min(size, _PIECE_BYTES)
            with path.open("rb") as file:
                while size > 0 and (piece := file.read(min(size, _PIECE_BYTES))):
                    digest.update(piece)
                    size -= len(piece)
    except OSError:
        return None
    return digest.hexdigest()


def _encode(result: SetRows, source: ArtifactSet, stats: Stats) -> dict[str, Any]:
    kinds = {path: kind.value for kind, path in source.files.items()}
    return {
        "stats": stats,
        "rows": [
            {
                "values": dict(row.values),
                "signature": None
                if row.signature is None
                else [row.signature.stem, row.signature.tensors, list(row.signature.nodes)],
            }
            for row in result.rows
        ],
        "diagnostics": [
            [
                note.severity.value,
                None if note.file is None else kinds.get(note.file) or str(note.file),
                note.file in kinds,
                note.where,
                note.message,
            ]
            for note in result.diagnostics
        ],
    }


def _decode(entry: dict[str, Any], source: ArtifactSet) -> SetRows | None:
    """Return the rows of an entry; None if it is damaged."""
    try:
        rows = tuple(
            FleetRow(
                dict(row["values"]),
                None
                if row["signature"] is None
                else Signature(row["signature"][0], row["signature"][1], tuple(row["signature"][2])),
                source,
            )
            for row in entry["rows"]
        )
        notes = tuple(
            Diagnostic(
                Severity(severity),
                None if file is None else source.files[ArtifactKind(file)] if is_own else Path(file),
                where,
                message,
            )
            for severity, file, is_own, where, message in entry["diagnostics"]
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return None
    return SetRows(rows, notes) if rows else None


def _read_entry(path: Path) -> dict[str, Any] | None:
    try:
        entry = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _write_entry(path: Path, document: object) -> None:
    """Write an entry; without room or rights there is none."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
                json.dump(document, file, allow_nan=False)
            Path(name).replace(path)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def known_kinds(directory: Path, paths: Sequence[str]) -> Iterator[None]:
    """Remember the sets of the directories below some paths, and the kinds of their files, from the last search."""
    names = "\0".join(sorted(os.path.abspath(path) for path in paths))  # noqa: PTH100 - as text
    key = hashlib.blake2b(
        f"{ROW_VERSION} {__version__}\0{names}".encode("utf-8", "surrogateescape"), digest_size=16
    ).hexdigest()
    path = directory / "searches" / f"{key}.json"
    entry = _read_entry(path) or {}
    kinds, folders = _decode_kinds(entry.get("kinds")), _decode_folders(entry.get("folders"))
    with remember_kinds(kinds), remember_folders(folders):
        yield
    if folders.used == folders.entries and all(
        kinds.entries.get(file) == found for file, found in kinds.used.items()
    ):
        return
    # Nothing asked for the kinds of the files of known directories.
    used = {os.path.abspath(folder) for folder in folders.used}  # noqa: PTH100 - as text
    kept = {file: found for file, found in kinds.entries.items() if os.path.dirname(file) in used}  # noqa: PTH120
    _write_entry(
        path,
        {
            "kinds": {
                file: [size, time_ns, sniffed.kind and sniffed.kind.value, sniffed.reason, sniffed.claims]
                for file, (size, time_ns, sniffed) in (kept | kinds.used).items()
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
