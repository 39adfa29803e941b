"""The work directory of a capture, and the move of its files to the target: completely, or not at all.

The work directory lies beside the target (`.<directory>.<name>.partial`, or `.<name>.partial` if both have the same name), or
in it if it contains files (`.<name>.partial`), so that captures of two models never share one; two captures of one set see
each other's lock. If the target does not exist, the work directory is renamed to it; otherwise the old files of the set are
moved aside and the new ones moved in, and any failure moves everything back. A failed run leaves its logs, and the engine if
there is one, in `<name>.failed/`; the existing set is unchanged.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from trex_tui.artifacts.stems import engine_stem, is_canonical
from trex_tui.errors import TrexError, describe_os_error

_LOCK = ".lock"
_OLD = ".old"
_LONGEST_NAME = 255
"""Bytes that file systems allow for a name."""
_BUILD_ENDINGS = ("engine", "engine.build.log", "build.metadata.json")
_EXPORTS = (".graph.json", ".profile.json", ".timing.json")


@dataclass(frozen=True, slots=True)
class Names:
    """File names of a set called `name` in `directory`."""

    directory: Path
    name: str

    def file(self, ending: str, number: int = 1) -> Path:
        """Return `<name>.<ending>`; later profile runs have their own directory."""
        folder = self.directory if number == 1 else self.directory / f"{self.name}.repeat-{number}"
        return folder / f"{self.name}.{ending}"

    @property
    def engine(self) -> Path:
        return self.file("engine")

    @property
    def manifest(self) -> Path:
        return self.file("capture.json")


class Workspace:
    """Work directory of a capture; a context manager that holds its lock.

    Args:
        outdir: Directory of the set.
        name: Name of the set.
        engine: Engine of a profile-only capture. If it belongs to the set in `outdir`, the files of its build are kept; if a
            failed capture of the set built it, they become part of the set.
    """

    def __init__(self, outdir: Path, name: str, engine: Path | None = None) -> None:
        self.outdir = outdir
        self.name = name
        self.keeps_build = engine is not None and _is_same(engine, Names(outdir, name).engine)
        self.adopts_build = engine is not None and _is_same(engine, Names(self.failed, name).engine)
        self.becomes_target = _is_absent_or_empty(outdir) and _takes_rename(outdir)
        if self.becomes_target:
            self.path = outdir.parent / _work_name(outdir.name, name)
        else:
            self.path = outdir / f".{name}.partial"
        self.is_kept = False
        self._lock: IO[bytes] | None = None

    @property
    def names(self) -> Names:
        return Names(self.path, self.name)

    @property
    def failed(self) -> Path:
        """Directory for the logs of a failed run."""
        return self.outdir / f"{self.name}.failed"

    def existing(self) -> list[Path]:
        """Return the files in the target that would be replaced."""
        wanted = engine_stem(Path(f"{self.name}.graph.json"))
        kept = {Names(self.outdir, self.name).file(ending) for ending in _BUILD_ENDINGS if self.keeps_build}
        try:
            entries = sorted(self.outdir.iterdir())
        except FileNotFoundError:
            return []
        except OSError as error:
            raise TrexError(f"--outdir: {self.outdir} {describe_os_error(error)}") from None
        repeats = f"{self.name}.repeat-"
        return [
            entry
            for entry in entries
            if entry not in kept
            and (
                (is_canonical(entry) and engine_stem(entry) == wanted and entry.is_file())
                or (entry.name.startswith(repeats) and entry.is_dir())
            )
        ]

    def __enter__(self) -> Workspace:
        """Create the directory; files of a killed capture stay until `clear`.

        Raises:
            TrexError: It cannot be created, or another capture uses it.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                self.path.mkdir()
            self._lock = _locked(self.path / _LOCK)
        except OSError as error:
            raise TrexError(describe_os_error(error, f"{self.path} cannot be created")) from None
        if self._lock is None:
            raise TrexError(
                f"another capture of {self.name} works in {self.path}; wait for its end, or choose another --name"
            )
        # Only while holding our own lock: of two captures that start at once, at least one sees the other.
        if _is_held(other := self._other_path() / _LOCK):
            self.__exit__()
            raise TrexError(
                f"another capture of {self.name} works in {other.parent}; wait for its end, or choose another --name"
            )
        self._recover()
        return self

    def __exit__(self, *_: object) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        # It must not be removed while it has an old set that could not be moved back.
        if not self.is_kept and not _has_entries(self.path / _OLD):
            shutil.rmtree(self.path, ignore_errors=True)

    def commit(self, *, force: bool = False) -> None:
        """Move the set into place.

        Args:
            force: Replace a set of this name, even one that appeared during the capture.

        Raises:
            TrexError: It cannot or must not be moved; the target is unchanged, and the files are in `failed`.
        """
        if not force and (there := self.existing()):
            self.keep_failed(everything=True)
            raise TrexError(
                f"{self.outdir} has a set called {self.name} by now ({there[0].name}), which is kept; the new one is in "
                f"{self.failed}"
            )
        (self.path / _LOCK).unlink(missing_ok=True)
        try:
            if not (self.becomes_target and _renamed(self.path, self.outdir)):
                self._exchange()
        except OSError as error:
            self.keep_failed(everything=True)
            raise TrexError(
                f"the set cannot be moved to {self.outdir}: {error.strerror}; it is in {self.failed}"
            ) from error
        shutil.rmtree(self.failed, ignore_errors=True)

    def _exchange(self) -> None:
        """Move old files out and new files in; move all back on an error."""
        self.outdir.mkdir(parents=True, exist_ok=True)
        new = [entry for entry in sorted(self.path.iterdir()) if entry.name not in (_LOCK, _OLD)]
        aside = self.path / _OLD
        aside.mkdir(exist_ok=True)
        moved: list[tuple[Path, Path]] = []
        try:
            for old in self.existing():
                _move(old, aside / old.name, moved)
            for entry in new:
                target = self.outdir / entry.name
                if os.path.lexists(target):
                    _move(target, aside / entry.name, moved)
                _move(entry, target, moved)
        except BaseException:
            for source, target in reversed(moved):
                with contextlib.suppress(OSError):
                    target.rename(source)
            raise
        shutil.rmtree(aside, ignore_errors=True)

    def adopt_build(self) -> None:
        """Take the engine that a failed capture built, with its log.

        Raises:
            OSError: It cannot be copied.
        """
        for ending in _BUILD_ENDINGS if self.adopts_build else ():
            source, target = Names(self.failed, self.name).file(ending), self.names.file(ending)
            if source.is_file():
                try:
                    os.link(source, target)
                except OSError:
                    shutil.copyfile(source, target)

    def keep_failed(self, *, everything: bool = False) -> Path | None:
        """Move the files of a failed run to `failed`; None if it left nothing.

        Incomplete exports are removed: they would be mistaken for a set.
        """
        kept = [
            entry
            for entry in sorted(self.path.iterdir())
            if entry.name not in (_LOCK, _OLD) and (everything or not entry.name.endswith(_EXPORTS))
        ]
        if not kept:
            return None
        shutil.rmtree(self.failed, ignore_errors=True)
        self.failed.mkdir(parents=True, exist_ok=True)
        for entry in kept:
            if entry.is_dir() and not everything:
                for export in entry.rglob("*.json"):
                    export.unlink(missing_ok=True)
            shutil.move(entry, self.failed / entry.name)
        return self.failed

    def rescue(self) -> Path | None:
        """As `keep_failed`; files stay in place if they cannot be moved (full disk). Never raises."""
        try:
            return self.keep_failed()
        except OSError:
            self.is_kept = True
            return self.path

    def clear(self) -> None:
        """Delete the files of a killed capture."""
        for entry in self.path.iterdir():
            if entry.name == _LOCK:
                continue
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()

    def _recover(self) -> None:
        """Recover from a capture that was killed while it exchanged the sets: move the old set back, or keep it as failed."""
        aside = self.path / _OLD
        if not aside.is_dir():
            return
        for entry in sorted(aside.iterdir()):
            directory = self.outdir if not os.path.lexists(self.outdir / entry.name) else self.failed
            directory.mkdir(parents=True, exist_ok=True)
            entry.rename(directory / entry.name)

    def _other_path(self) -> Path:
        """Return the other possible work directory of the set: in the target, or beside it."""
        if self.becomes_target:
            return self.outdir / f".{self.name}.partial"
        real = self.outdir.resolve()
        return real.parent / _work_name(real.name, self.name)


def _work_name(folder: str, name: str) -> str:
    """Return the name of the work directory beside a target, different for each set."""
    whole = f".{name}.partial" if folder == name else f".{folder}.{name}.partial"
    if len(os.fsencode(whole)) <= _LONGEST_NAME:
        return whole
    return f".{hashlib.sha256(os.fsencode(whole)).hexdigest()[:32]}.partial"


def _renamed(path: Path, target: Path) -> bool:
    """Rename a directory to an empty or absent one; False if the target has files, such as another capture's set.

    Raises:
        OSError: It cannot be renamed for another reason.
    """
    if not _is_absent_or_empty(target):
        return False
    try:
        path.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            return False
        raise
    return True


def _move(source: Path, target: Path, moved: list[tuple[Path, Path]]) -> None:
    source.rename(target)
    moved.append((source, target))


def _locked(path: Path) -> IO[bytes] | None:
    """Return the file, locked until it is closed or this process ends; None if another process holds the lock."""
    import fcntl  # not on Windows, which runs no captures

    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _is_held(path: Path) -> bool:
    """Return whether a process holds the lock; does not create the file."""
    try:
        if not path.is_file():
            return False
        lock = _locked(path)
    except OSError:  # of another user, who may be working there
        return True
    if lock is None:
        return True
    lock.close()
    return False


def _has_entries(path: Path) -> bool:
    try:
        return any(path.iterdir())
    except OSError:
        return False


def _is_absent_or_empty(path: Path) -> bool:
    try:
        with os.scandir(path) as entries:
            return next(entries, None) is None and not path.is_symlink()
    except FileNotFoundError:
        return not path.is_symlink()
    except OSError:
        return False


def _takes_rename(outdir: Path) -> bool:
    """Return whether a directory beside `outdir` can be renamed to it: same file system, and writable."""
    if not outdir.name:
        return False
    if not outdir.exists():
        return True
    try:
        same = outdir.stat().st_dev == outdir.parent.stat().st_dev
    except OSError:
        return False
    return same and not outdir.is_mount() and os.access(outdir.parent, os.W_OK)


def _is_same(first: Path, other: Path) -> bool:
    try:
        return first.samefile(other)
    except OSError:
        return False


def list_files(directory: Path) -> Iterator[Path]:
    """Yield every file of a set, sorted, without the lock."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name != _LOCK:
            yield path


def describe_file(path: Path) -> dict[str, Any]:
    """Return size and digest of a file.

    Raises:
        OSError: The file cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return {"bytes": path.stat().st_size, "sha256": digest.hexdigest()}
