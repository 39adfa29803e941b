"""Read all sets below some paths into one table: discovery, then each set on its own, in this process or in others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trex_tui.old.analysis.load_options import LoadOptions
from trex_tui.old.artifacts.discover import ArtifactSet, Discovery, is_damage, with_unique_names
from trex_tui.old.artifacts.file_kinds import display_name, engine_stem
from trex_tui.old.errors import Diagnostic
from trex_tui.old.fleet.engine_columns import Need
from trex_tui.old.fleet.row_cache import ReadSet, RowCache, read_set
from trex_tui.old.fleet.table import FleetRow, make_table
from trex_tui.old.lazy_dataclass import dataclass

Job = Callable[[ArtifactSet], ReadSet]
Mapper = Callable[[Job, Sequence[ArtifactSet]], Iterator[ReadSet]]
"""Applies the job to each set, here or elsewhere, and yields the results in order."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """A table of engines.

    Attributes:
        diagnostics: Of all files, each once.
        cached: Sets whose rows were in the cache.
    """

    rows: list[FleetRow]
    diagnostics: tuple[Diagnostic, ...]
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Read:
    """Reads one set: what a process needs for it."""

    options: LoadOptions
    need: Need
    is_kept: bool = True

    def __call__(self, source: ArtifactSet) -> ReadSet:
        return read_set(source, self.options, self.need, is_kept=self.is_kept)


def read_fleet(
    discovery: Discovery,
    options: LoadOptions,
    need: Need = Need.LOGS,
    *,
    map_sets: Mapper = map,
    cache: RowCache | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Fleet:
    """Return the rows of all sets found, with a row for each broken file that belongs to no set.

    Args:
        options: As for a single engine.
        need: What the columns read.
        map_sets: Where the sets are read.
        cache: Rows read before; None to read all.
        progress: Called with the number of sets read and their total.
    """
    broken = dict(_broken_sets(discovery))
    sets = with_unique_names([*discovery.sets, *broken.values()])
    readable = sets[: len(discovery.sets)]
    rows: list[FleetRow] = []
    diagnostics: dict[Diagnostic, None] = dict.fromkeys(discovery.diagnostics)
    known = [None if cache is None else cache.find(source, need) for source in readable]
    if cache is not None and None in known:
        known = [
            cache.find_copy(source, need) if found is None else found
            for source, found in zip(readable, known, strict=True)
        ]
    unknown = [source for source, found in zip(readable, known, strict=True) if found is None]
    read_one = Read(options, need, is_kept=cache is not None)
    new = iter(map_sets(read_one, unknown)) if unknown else iter(())
    cached = len(readable) - len(unknown)
    try:
        for number, (source, found) in enumerate(zip(readable, known, strict=True), start=1):
            result = found
            if result is None:
                read = next(new)
                result = read.result
                if cache is not None:
                    cache.keep(source, read, need)
            rows += result.rows
            diagnostics.update(dict.fromkeys(result.diagnostics))
            if progress is not None:
                progress(number, len(readable))
    finally:  # also of what was read before an interruption
        if cache is not None:
            cache.save()
    for source, error in zip(sets[len(readable) :], broken, strict=True):
        rows.append(FleetRow({"error": str(error)}, None, source))
    return Fleet(make_table(rows), tuple(diagnostics), cached)


def _broken_sets(discovery: Discovery) -> Iterator[tuple[Diagnostic, ArtifactSet]]:
    """Yield the first error of each engine of which every file is damaged."""
    known = {
        (source.directory, engine_stem(path)) for source in discovery.sets for path in source.files.values()
    }
    for note in discovery.diagnostics:
        if note.file is None or note.file.is_dir() or not is_damage(note):
            continue
        stem = engine_stem(note.file)
        if (note.file.parent, stem) not in known:
            known.add((note.file.parent, stem))
            name = display_name(stem) or note.file.parent.absolute().name
            yield note, ArtifactSet(name, note.file.parent, {})
