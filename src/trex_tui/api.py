"""Load engines with the columns of all rooms."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trex_tui.artifacts.discover import find_sets
from trex_tui.engine.columns import COLUMNS
from trex_tui.engine.load import load_set
from trex_tui.engine.model import Engine
from trex_tui.errors import TrexError


def load_engine(
    path: str | Path | Iterable[str | Path], optimization_profile: int | None = None, run: int | None = None
) -> Engine:
    """Load the one engine at a directory or file, or at several files of one set.

    Args:
        path: Directory, file or files.
        optimization_profile: Optimization profile to show, if there are several; None for the profiled one.
        run: Run to show, from 1, if a file has several; None for the last one that fits the graph.

    Raises:
        ArtifactError: There is no usable file.
        TrexError: There are several engines, or the optimization profile does not exist.
    """
    sets = find_sets(path).sets
    if len(sets) > 1:
        names = ", ".join(source.name for source in sets[:8]) + (", …" if len(sets) > 8 else "")
        raise TrexError(f"{path}: has {len(sets)} engines ({names}); choose one, or use load_engines()")
    return load_set(sets[0], columns=COLUMNS, optimization_profile=optimization_profile, run=run)


def load_engines(path: str | Path | Iterable[str | Path]) -> list[Engine]:
    """Load every engine at a path.

    Raises:
        ArtifactError: There is no engine, or a set has no usable file.
    """
    return [load_set(source, columns=COLUMNS) for source in find_sets(path).sets]
