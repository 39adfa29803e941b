"""A cache of rows in the user's cache directory, so that a large tree is read once.

A set is known by its paths with size and time of change of each file; else by a digest of the content of its files, which
holds after a copy or a checkout. All rows of a search are one file, and its directories and kinds of files another; both are
written beside their place and moved there: several processes may use the cache at once, and damaged entries are read as if
missing. A change of the content that leaves size and time is not seen; `--no-cache` reads everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from trex_tui.old.analysis.load_options import LoadOptions
from trex_tui.old.artifacts.discover import ArtifactSet
from trex_tui.old.artifacts.file_kinds import ArtifactKind
from trex_tui.old.errors import Diagnostic, Severity
from trex_tui.old.fleet.engine_columns import COLUMNS, Need
from trex_tui.old.fleet.models import Signature
from trex_tui.old.fleet.search_cache import make_key, name_paths, read_entry, write_entry
from trex_tui.old.fleet.table import FleetRow, SetRows
from trex_tui.old.lazy_dataclass import dataclass

_PIECE_BYTES = 1 << 20
_MOST_BYTES = 1 << 26
"""Size of all files of other searches that are looked through for copies."""
_COLUMNS = [column for column in sorted(COLUMNS, key=lambda column: column.need) if column.is_of_engine]
_STORED = tuple(column.name for column in _COLUMNS)
"""Columns of an entry: a row that was read for less has the first of them only."""
_TYPES = tuple(
    (list if column.is_list else (int, float) if column.is_number else str, type(None)) for column in _COLUMNS
)
Stats = list[list[int]]
"""Size and time of change in nanoseconds of each file of a set."""


@dataclass(frozen=True, slots=True)
class ReadSet:
    """Rows of a set as they were read, with the state of its files; None for both if it cannot be kept.

    Attributes:
        digest: Of the content; None too where the rows name paths that a copy does not have.
    """

    result: SetRows
    stats: Stats | None = None
    digest: str | None = None


def read_set(source: ArtifactSet, options: LoadOptions, need: Need, *, is_kept: bool = True) -> ReadSet:
    """Read a set, with what identifies it in a cache if it is kept in one."""
    from trex_tui.old.fleet.rows import (
        read_rows,  # 250 ms, with everything that reads; a known tree needs none of it
    )

    stats = read_stats(source) if is_kept else None
    result = read_rows(source, options, need)
    if stats is None or read_stats(source) != stats:  # written while it was read
        return ReadSet(result)
    is_movable = all(row.signature is not None for row in result.rows) and all(
        note.file is None or note.file in source.files.values() for note in result.diagnostics
    )
    return ReadSet(result, stats, digest_files(source) if is_movable else None)


@dataclass(slots=True)
class RowCache:
    """The rows of one search.

    Attributes:
        path: Its file.
        prefix: Beginning of the names of files with rows of the same options.
    """

    path: Path
    prefix: str
    _entries: dict[str, Any] = field(default_factory=dict)
    _signatures: list[Signature | None] = field(default_factory=list)
    _kept: dict[str, tuple[Need, ReadSet, ArtifactSet]] = field(default_factory=dict)
    _used: dict[str, tuple[Need, ReadSet, ArtifactSet]] = field(default_factory=dict)
    _copies: dict[str, tuple[Any, list[Signature | None]]] | None = None
    _sizes: set[tuple[int, ...]] = field(default_factory=set)
    """Sizes of the files of all copies: other sets need no digest."""

    @classmethod
    def of(cls, directory: Path, paths: Sequence[str], options: LoadOptions) -> RowCache:
        """Return the cache for rows of a search, read with some options."""
        prefix = make_key(repr(options))[:16]
        path = directory / "rows" / f"{prefix}-{make_key(name_paths(paths))[:16]}.json"
        entries, signatures = _read_rows_file(path)
        return cls(path, prefix, entries, signatures)

    def find(self, source: ArtifactSet, need: Need) -> SetRows | None:
        """Return the rows of a set whose files have the same size and time as before; None if unknown."""
        key = _key_of(source)
        entry = self._entries.get(key)
        if entry is None:
            return None
        stats = read_stats(source)
        with contextlib.suppress(*_DAMAGE):
            known, kept_stats, digest, *rest = entry
            if kept_stats == stats and known >= need:
                result = _decode(rest, self._signatures, source)
                self._used[key] = Need(known), ReadSet(result, stats, digest), source
                return result
        return None

    def find_copy(self, source: ArtifactSet, need: Need) -> SetRows | None:
        """Return the rows of a set whose files have the content of others; None if unknown."""
        if self._copies is None:
            self._copies = self._read_copies()
        stats = read_stats(source) if self._copies else None
        is_likely = stats is not None and tuple(size for size, _ in stats) in self._sizes
        digest = digest_files(source) if is_likely else None
        if digest is None or digest not in self._copies:
            return None
        entry, signatures = self._copies[digest]
        with contextlib.suppress(*_DAMAGE):
            known, _, _, *rest = entry
            if known >= need and read_stats(source) == stats:
                result = _decode(rest, signatures, source)
                self._kept[_key_of(source)] = Need(known), ReadSet(result, stats, digest), source
                return result
        return None

    def _read_copies(self) -> dict[str, tuple[Any, list[Signature | None]]]:
        """Return the entries of all searches with the same options by digest, the newest searches first."""
        files = [(self._entries, self._signatures)]
        left = _MOST_BYTES
        with contextlib.suppress(OSError):
            found = [(path.stat(), path) for path in self.path.parent.glob(f"{self.prefix}-*.json")]
            for status, path in sorted(found, key=lambda each: -each[0].st_mtime_ns):
                left -= status.st_size
                if path != self.path and left >= 0:
                    files.append(_read_rows_file(path))
        copies: dict[str, tuple[Any, list[Signature | None]]] = {}
        for entries, signatures in files:
            for entry in entries.values():
                with contextlib.suppress(*_DAMAGE):
                    _, stats, digest, *_ = entry
                    if isinstance(digest, str):
                        self._sizes.add(tuple(size for size, _ in stats))
                        copies.setdefault(digest, (entry, signatures))
        return copies

    def keep(self, source: ArtifactSet, read: ReadSet, need: Need) -> None:
        """Keep rows that were read."""
        if read.stats is not None:
            self._kept[_key_of(source)] = need, read, source

    def save(self) -> None:
        """Write the rows of the sets of this search, if there are new ones or some are gone."""
        if not self._kept and len(self._used) == len(self._entries):
            return
        signatures: dict[Signature | None, int] = {}
        entries = {
            key: [need, read.stats, read.digest, *_encode(read.result, source, signatures)]
            for key, (need, read, source) in (self._used | self._kept).items()
        }
        parts = [
            signature
            and [signature.stem, signature.tensors, signature.nodes, signature.form, signature.shapes]
            for signature in signatures
        ]
        write_entry(self.path, {"columns": _STORED, "signatures": parts, "sets": entries})


_DAMAGE = (KeyError, IndexError, TypeError, ValueError, AttributeError)


def _read_rows_file(path: Path) -> tuple[dict[str, Any], list[Signature | None]]:
    """Return the entries of a file with the signatures that they number; none if it is damaged."""
    document = read_entry(path)
    with contextlib.suppress(*_DAMAGE):
        if document is not None and document["columns"] == list(_STORED):
            signatures = [
                None
                if parts is None
                else Signature(parts[0], parts[1], tuple(parts[2]), parts[3], tuple(map(tuple, parts[4])))
                for parts in document["signatures"]
            ]
            return dict(document["sets"]), signatures
    return {}, []


def _key_of(source: ArtifactSet) -> str:
    return "\0".join(map(str, source.files.values()))


def _files_read(source: ArtifactSet) -> dict[Path, ArtifactKind]:
    """Return every file that the rows of a set come from: with a profile of one stage those of the others are read."""
    files = {path: kind for kind, path in source.files.items()}
    profile = source.files.get(ArtifactKind.PROFILE)
    if profile is not None and profile.suffix.lower() == ".csv":
        from trex_tui.old.artifacts.stage_times import find_stages  # csv, for files that few directories have

        files |= dict.fromkeys(find_stages(profile), ArtifactKind.PROFILE)
    return files


def read_stats(source: ArtifactSet) -> Stats | None:
    """Return size and time of change of each file; None if one cannot be read."""
    try:
        return [[status.st_size, status.st_mtime_ns] for status in map(os.stat, _files_read(source))]
    except OSError:
        return None


def digest_files(source: ArtifactSet) -> str | None:
    """Return the digest of the kinds, names and contents of the files; None if one cannot be read."""
    digest = hashlib.sha256()  # processors have instructions for it
    try:
        for path, kind in _files_read(source).items():
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
    return digest.hexdigest()[:32]


def _encode(
    result: SetRows, source: ArtifactSet, signatures: dict[Signature | None, int]
) -> tuple[list[Any], list[Any]]:
    """Return rows and diagnostics as JSON; new signatures are added to those that rows number."""
    kinds = {path: kind.value for kind, path in source.files.items()}
    rows = [
        [
            [row.values[name] for name in _STORED if name in row.values],
            signatures.setdefault(row.signature, len(signatures)),
            row.values.get("error"),
        ]
        for row in result.rows
    ]
    notes = [
        [
            note.severity.value,
            None if note.file is None else kinds.get(note.file) or str(note.file),
            note.file in kinds,
            note.where,
            note.message,
        ]
        for note in result.diagnostics
    ]
    return rows, notes


def _decode(parts: Sequence[Any], signatures: Sequence[Signature | None], source: ArtifactSet) -> SetRows:
    """Return the rows of an entry; any of `_DAMAGE` if it is damaged."""
    rows, notes = parts
    if not rows:
        raise ValueError("no row")
    return SetRows(
        tuple(
            FleetRow(_decode_values(values, error), signatures[signature], source)
            for values, signature, error in rows
        ),
        tuple(
            Diagnostic(
                Severity(severity),
                None if file is None else source.files[ArtifactKind(file)] if is_own else Path(file),
                where,
                message,
            )
            for severity, file, is_own, where, message in notes
        ),
    )


def _decode_values(values: list[Any], error: str | None) -> Mapping[str, Any]:
    if not all(map(isinstance, values, _TYPES)):
        raise TypeError("a value of another type")
    known = dict(zip(_STORED, values, strict=False))
    return known if error is None else {**known, "error": error}
