"""The engines that a command is about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trex_tui.analysis.load import LoadOptions, load
from trex_tui.artifacts import ArtifactSet, scan
from trex_tui.artifacts.discover import with_unique_names
from trex_tui.errors import ArtifactError, TrexError

if TYPE_CHECKING:
    import argparse

    from trex_tui.engine.engine import Engine
    from trex_tui.errors import Diagnostic


def load_all(options: argparse.Namespace) -> tuple[list[Engine], list[Diagnostic]]:
    """Every engine that can be loaded; one that cannot costs only itself, unless it is the only one.

    Raises:
        ArtifactError: No engine is there, or none can be loaded.
    """
    wanted = LoadOptions.of(options.optimization_profile, options.peak)
    found = scan(options.paths or ["."])
    engines, strays = [], list(found.diagnostics)
    for source in found.sets:
        try:
            engines.append(load(source, wanted))
        except ArtifactError as error:
            if len(found.sets) == 1:
                raise
            strays.append(error.diagnostic)
    if not engines:
        raise ArtifactError(strays[-1].file or found.sets[0].directory, strays[-1].message, strays[-1].where)
    return engines, strays


def load_one(options: argparse.Namespace) -> tuple[Engine, list[Diagnostic]]:
    """The one engine that a command is about.

    Raises:
        ArtifactError: As `load_all`.
        TrexError: Several engines are there.
    """
    engines, strays = load_all(options)
    if len(engines) > 1:
        known = ", ".join(engine.name for engine in engines)
        raise TrexError(f"{len(engines)} engines are there ({known}); name the path of one")
    return engines[0], strays


def load_each(options: argparse.Namespace) -> tuple[list[Engine], list[Diagnostic]]:
    """As `load_all`, in the order of the paths, and one given twice is there twice. Names are unique among all.

    Raises:
        ArtifactError: A path has no engine, or none that can be loaded.
    """
    wanted = LoadOptions.of(options.optimization_profile, options.peak)
    sets: list[ArtifactSet] = []
    strays: list[Diagnostic] = []
    for path in options.paths or ["."]:
        found = scan([path])
        sets += found.sets
        strays += found.diagnostics
    unique = {tuple(source.files.values()): source for source in sets}
    named = dict(zip(unique, with_unique_names(list(unique.values())), strict=True))
    loaded: dict[tuple[object, ...], Engine] = {}
    for key, source in named.items():
        try:
            loaded[key] = load(source, wanted)
        except ArtifactError as error:
            if len(named) <= len(options.paths):
                raise
            strays.append(error.diagnostic)
    return [loaded[key] for source in sets if (key := tuple(source.files.values())) in loaded], strays
