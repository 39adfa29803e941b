"""Load the engines of a command."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from trex_tui.old.analysis.load import LoadOptions, check_model, load
from trex_tui.old.artifacts import ArtifactSet, scan
from trex_tui.old.artifacts.discover import with_unique_names
from trex_tui.old.artifacts.output_files import Inputs, list_inputs
from trex_tui.old.cli.output import complain
from trex_tui.old.errors import ArtifactError, TrexError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence

    from trex_tui.old.engine.engine import Engine
    from trex_tui.old.errors import Diagnostic


def load_options(
    options: argparse.Namespace, run: int | None = None, *, finds_onnx: bool = True
) -> LoadOptions:
    """Return how a command loads its engines.

    Args:
        run: The run to show; by default the one of `--run`.
        finds_onnx: Whether the command shows something of a model beside the files.

    Raises:
        TrexError: An option or a configuration file has an invalid value.
    """
    return LoadOptions.of(
        options.optimization_profile,
        options.peak,
        options.run if run is None else run,
        options.onnx,
        finds_onnx=finds_onnx and not options.no_onnx,
        roots=options.paths or ["."],
    )


def load_all(
    options: argparse.Namespace, *, finds_onnx: bool = True
) -> tuple[list[Engine], list[Diagnostic]]:
    """Load every engine that can be loaded; an error affects only its engine, unless it is the only one.

    Args:
        finds_onnx: As in `load_options`.

    Raises:
        ArtifactError: There is no engine, or none can be loaded.
    """
    wanted = load_options(options, finds_onnx=finds_onnx)
    discovery = scan(options.paths or ["."])
    engines, strays = [], list(discovery.diagnostics)
    for source in discovery.sets:
        try:
            engines.append(load(source, wanted))
        except ArtifactError as error:
            if len(discovery.sets) == 1:
                raise
            strays += error.diagnostics or (error.diagnostic,)
    if not engines:
        raise ArtifactError(
            strays[-1].file or discovery.sets[0].directory, strays[-1].message, strays[-1].where
        )
    check_model(engines, wanted)
    return engines, strays


def load_one(options: argparse.Namespace, *, finds_onnx: bool = True) -> Engine:
    """Load the one engine of a command; its diagnostics cover all files at the paths.

    Args:
        finds_onnx: As in `load_options`.

    Raises:
        ArtifactError: As `load_all`.
        TrexError: There are several engines.
    """
    engines, strays = load_all(options, finds_onnx=finds_onnx)
    if len(engines) > 1:
        known = ", ".join(engine.name for engine in engines)
        raise TrexError(f"{len(engines)} engines found ({known}); give the path of one")
    return replace(engines[0], diagnostics=(*engines[0].diagnostics, *strays)) if strays else engines[0]


def collect_inputs(engines: Iterable[Engine], options: argparse.Namespace) -> Inputs:
    """Return the files that the engines were read from, which must never be overwritten."""
    known = list(engines)
    models = [str(engine.onnx.model.path) for engine in known if engine.onnx is not None]
    return list_inputs((engine.source for engine in known), [*options.paths, *models])


def load_each(
    options: argparse.Namespace, *, finds_onnx: bool = True
) -> tuple[list[Engine], list[Diagnostic]]:
    """Load engines as `load_all`, in the order of the paths; a path given twice is loaded twice. Names are unique among all.

    Args:
        finds_onnx: As in `load_options`.

    Raises:
        ArtifactError: A path has no engine, or none that can be loaded.
    """
    wanted = load_options(options, finds_onnx=finds_onnx)
    sets: list[ArtifactSet] = []
    strays: list[Diagnostic] = []
    for path in options.paths or ["."]:
        discovery = scan([path])
        sets += discovery.sets
        strays += discovery.diagnostics
    unique = {tuple(source.files.values()): source for source in sets}
    named = dict(zip(unique, with_unique_names(list(unique.values())), strict=True))
    loaded: dict[tuple[object, ...], Engine] = {}
    for key, source in named.items():
        try:
            loaded[key] = load(source, wanted)
        except ArtifactError as error:
            if len(named) <= len(options.paths):
                raise
            strays += error.diagnostics or (error.diagnostic,)
    check_model(list(loaded.values()), wanted)
    return [loaded[key] for source in sets if (key := tuple(source.files.values())) in loaded], strays


def uses_model(options: argparse.Namespace) -> bool:
    """Return whether a column, a filter or an order of the command is of the ONNX model."""
    words = (value for value in vars(options).values() if isinstance(value, str))
    return any("onnx" in word or "op:" in word for word in words)


def filter_indices(engines: Sequence[Engine], text: str | None) -> list[list[int]]:
    """Return the indices of the layers that `--filter` keeps in each engine; all without a filter. Prints a message if none.

    Raises:
        TrexError: The text is not a filter.
    """
    if not text:
        return [list(range(len(engine.layers))) for engine in engines]
    from trex_tui.old.analysis.filter import FilterError, describe_no_match, filter_engines

    try:
        matching = filter_engines(engines, text)
    except FilterError as error:
        raise TrexError(f"--filter: {error.pointed}") from None
    for engine, layers in zip(engines, matching, strict=True):
        if not layers:
            name = f"{engine.name}: " if len(engines) > 1 else ""
            complain(f"{name}{describe_no_match(engine, text)}")
    return [[layer.index for layer in layers] for layers in matching]
