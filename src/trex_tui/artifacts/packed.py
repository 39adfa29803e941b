"""What an archive adds to the sets of its directory, or sets of its own where it holds several engines.

trex packs the files of one engine, all in one folder. Who packs a directory of results packs several; files of one name are
then those of different engines, so each folder keeps its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trex_tui.artifacts.elsewhere import Found
from trex_tui.artifacts.naming import is_archive, stem_of
from trex_tui.artifacts.sniff import sniff


@dataclass(slots=True)
class Contents:
    """What is in an archive.

    Attributes:
        found: Its artifacts, if at most one of its folders describes an engine.
        apart: Else its folders, and what lies in each.
        problem: Why there is nothing, as the end of a sentence whose subject is the archive.
    """

    found: list[Found] = field(default_factory=list)
    apart: list[tuple[Path, list[Path]]] = field(default_factory=list)
    problem: str = ""

    @property
    def paths(self) -> list[Path]:
        """The artifacts of `found`."""
        return [one.path for one in self.found]


def contents(path: Path) -> Contents:
    """Unpack an archive, and say what its files are. Never raises."""
    from trex_tui.artifacts.archive import unpack  # 20 ms for zipfile

    unpacked = unpack(path)
    found = [
        Found(one, kind, stem_of(one), is_packed=True)
        for one in unpacked.files
        if (kind := sniff(one).kind) is not None
    ]
    if len({one.path.parent for one in found if one.kind.describes_engine}) < 2:
        return Contents(found, problem=unpacked.problem)
    folders: dict[Path, list[Path]] = {}
    for one in unpacked.files:
        folders.setdefault(one.parent, []).append(one)
    return Contents(apart=list(folders.items()), problem=unpacked.problem)


def without_strangers(files: list[Path], named: Path) -> list[Path]:
    """Files beside one that was named, without the archives that neither are it nor can be of its engine: their names, and
    those of what they hold, tell of others. Nothing is unpacked to see that."""
    return [one for one in files if not is_archive(one) or one == named or _may_be_of(one, named)]


def _may_be_of(archive: Path, named: Path) -> bool:
    from trex_tui.artifacts.archive import names_in

    if is_archive(named):
        return False
    stem = stem_of(named)
    return stem_of(archive) == stem or any(stem_of(Path(name)) == stem for name in names_in(archive))
