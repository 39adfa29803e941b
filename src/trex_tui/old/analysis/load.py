"""Load an engine with the user's options: optimization profile, run, and facts about the device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trex_tui.old.analysis.load_options import LoadOptions
from trex_tui.old.engine.engine import Engine, load_set
from trex_tui.old.errors import TrexError

if TYPE_CHECKING:
    from trex_tui.old.artifacts import ArtifactSet

__all__ = ["LoadOptions", "check_model", "load", "options_of"]


def options_of(engine: Engine, options: LoadOptions) -> LoadOptions:
    """Return options to load an engine again, with its requested run and optimization profile."""
    return replace(options, run=engine.requested_run, optimization_profile=engine.requested_profile)


def load(source: ArtifactSet, options: LoadOptions, begin: Callable[[Path], None] | None = None) -> Engine:
    """Read and join one set, and store the stated facts about its device in the engine.

    Args:
        source: The set.
        options: See `LoadOptions`.
        begin: Called with each file before it is read; an exception from it ends the reading.

    Raises:
        ArtifactError: None of its files could be used, or none has this run.
        TrexError: The optimization profile does not exist.
    """
    engine = load_set(source, options.optimization_profile, begin, options.run, skips_logs=options.skips_logs)
    if options.onnx is not None:
        from trex_tui.old.analysis.onnx_model.search import join_file  # only a model needs onnx

        engine = join_file(engine, options.onnx)
    elif options.finds_onnx:
        from trex_tui.old.analysis.onnx_model.search import join_model_beside

        engine = join_model_beside(engine, options.roots)
    if options.peaks is None and not options.configured:
        return engine
    from trex_tui.old.analysis.device_overrides import overrides_for

    stated = overrides_for(engine.device_name, options.configured)
    if options.peaks is not None:
        stated = options.peaks if stated is None else stated.updated_with(options.peaks)
    return engine if stated is None else replace(engine, stated_device=stated)


def check_model(engines: Sequence[Engine], options: LoadOptions) -> None:
    """Refuse a model that could be used for none of the engines.

    Raises:
        TrexError: With the reason of the first engine.
    """
    model = options.onnx
    if model is None or any(engine.onnx is not None for engine in engines):
        return
    for note in (note for engine in engines for note in engine.diagnostics):
        if note.file is not None and (note.file == model or model in note.file.parents):
            raise TrexError(str(note))
