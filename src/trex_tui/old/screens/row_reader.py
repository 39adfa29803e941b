"""Rows of a long list of engines, from the cache of `trex-tui engines` or from the files; the engines are not kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from trex_tui.old.analysis.load_options import LoadOptions
from trex_tui.old.artifacts import ArtifactSet
from trex_tui.old.crash_log import internal
from trex_tui.old.errors import ArtifactError
from trex_tui.old.fleet.engine_columns import Need
from trex_tui.old.fleet.row_cache import RowCache, read_set
from trex_tui.old.screens.engine_rows import EngineRow


class RowReader:
    """Reads the rows of a list.

    Args:
        directory: Of the cache; None for no cache.
        paths: The searched paths.
        options: How engines are loaded. A model beside the files is no part of a row.
    """

    def __init__(self, directory: Path | None, paths: Sequence[str], options: LoadOptions) -> None:
        self._options = replace(options, finds_onnx=False, roots=())
        is_cached = directory is not None and options.onnx is None
        self._cache = RowCache.of(directory, paths, self._options) if directory and is_cached else None

    def find(self, source: ArtifactSet) -> EngineRow | None:
        """Return the row of a set that was read before; None if it is unknown or has changed."""
        found = None if self._cache is None else self._cache.find(source, Need.LOGS)
        return None if found is None else EngineRow.known(source, found)

    def read(self, source: ArtifactSet) -> EngineRow:
        """Return the row of a set, from a copy that was read before or from its files."""
        try:
            copy = None if self._cache is None else self._cache.find_copy(source, Need.LOGS)
            if copy is not None:
                return EngineRow.known(source, copy)
            read = read_set(source, self._options, Need.LOGS)
            row = EngineRow.known(source, read.result)
        except Exception as error:  # noqa: BLE001 - it costs this row
            return EngineRow.failed(source, ArtifactError(next(iter(source.files.values())), internal(error)))
        if self._cache is not None:
            self._cache.keep(source, read, Need.LOGS)
        return row

    def save(self) -> None:
        """Keep the rows read for the next time."""
        if self._cache is not None:
            self._cache.save()
